"""The learner of weights that suits the data, for those who name none."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sqlrl import markup
from sqlrl.errors import GroundingLimitError, InputError, MemoryLimitError, Parameter, Written
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.ground.network import IntArray
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.windows import Windows, grounded
from sqlrl.learn.adagrad import AdaGrad
from sqlrl.learn.batch.likelihood import Likelihood
from sqlrl.learn.batch.pscg import PSCG
from sqlrl.learn.parameters import check_database
from sqlrl.training.session import Query
from sqlrl.wording import counted, shortened

if TYPE_CHECKING:
    from sqlrl.database.database import Database
    from sqlrl.logic.model import Model

RULE = (
    "Likelihood wherever elimination can sum over what the rules join, however many examples there are; elsewhere AdaGrad in as many passes as make "
    "1,000 steps, or PSCG below ten examples."
)
"""What is chosen, in one sentence, which help and documentation repeat; `experiments/learner_choice.py` has the measurements."""

STEPS = 1000
"""Steps of AdaGrad: so many examples, or fewer in several passes. Of more examples so many are looked at to see what rules join."""

MOST_PASSES = 100
"""Passes that it takes for that at most: below `STEPS / MOST_PASSES` examples data are like one network."""

Word = Literal["adagrad", "likelihood", "pscg"]

Reach = Literal["apart", "narrow", "wide"]
"""Query atoms that no rule joins, that elimination can sum over, or that are too many for it."""

WORDS: tuple[Word, ...] = ("adagrad", "likelihood", "pscg")
"""What is chosen from."""


@dataclass(frozen=True)
class Choice:
    """A learner of weights, and why it was chosen."""

    word: Word
    reason: str  # a phrase
    parameters: Mapping[str, Any] = field(default_factory=dict)  # those without their default values
    _repr_html_ = markup.field_table

    def estimator(self, **parameters: Any) -> AdaGrad | Likelihood | PSCG:
        """Return a new estimator; the parameters given here take the place of those that were chosen."""
        kinds: Mapping[Word, type[AdaGrad | Likelihood | PSCG]]
        kinds = {"adagrad": AdaGrad, "likelihood": Likelihood, "pscg": PSCG}
        return kinds[self.word](**{**self.parameters, **parameters})


def choose_learner(db: Database, model: Model, examples: Any = None, *, among: Collection[Word] = WORDS) -> Choice:
    r"""Choose a learner of the weights of a model by the examples that there are, and by what its rules join.

    Parameters
    ----------
    db : Database
    model : Model
    examples : query or list of names, optional
        What to learn from; all examples by default.
    among : collection of {"adagrad", "likelihood", "pscg"}
        What to choose from. If the one that suits best is not there, it is what suits where the likelihood does not reach, or else the first one.

    Returns
    -------
    Choice

    Raises
    ------
    CatalogError
        Model and data do not fit.
    InputError
        `examples` names none, or `among` nothing that can be chosen.

    Notes
    -----
    The rule: Likelihood wherever elimination can sum over what the rules join, however many examples there are; elsewhere AdaGrad in as many passes as make
    1,000 steps, or PSCG below ten examples.

    `Likelihood` maximises the conditional likelihood of the labels under a Gaussian prior. That is what the weights of a Markov logic
    network mean: they are log-odds, `probabilities` of the model are calibrated as far as its rules are right, the optimum is unique and finite (also where labels can
    be told apart perfectly or break hard clauses), and one width of the prior does, since log-odds are log-odds whatever the data are.
    It is exact where no rule joins two query atoms, blocks aside, and where elimination can sum over what rules join:
    examples are grounded to see that, up to the first component that is too wide, of more than 1,000 examples so many. What is too wide among the others is then
    learned by composite likelihood. Data that are larger than memory are kept in files.

    Measured on sixteen data sets, with a part held out (`experiments/learner_choice.py`), the log-likelihood of its probabilities was higher than that of `AdaGrad` on
    all of them, and the F1 of its worlds on thirteen. AdaGrad in ten passes had a higher F1 on eight, a lower one on five: where only the most probable world
    counts, compare both on held-out data. Its weights are no log-odds.

    Where components are too wide, `AdaGrad` takes as many passes as make a thousand steps. One network, or a few of them, would be a step or a
    few in a pass: there `PSCG` climbs the likelihood with sampled worlds, damped, so that no step runs away. `MaxMargin` is not for
    everybody: where no rule tells most true atoms from false ones, as among links, its weights predict the majority (of the advisors of
    UW-CSE its F1 was 7, that of the other two 38), its margins are no probabilities, and C is to be chosen.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Friends", [("Ann", "Bob"), ("Bob", "Cid")], types=["person", "person"])
    >>> db.load("Smokes", [("Ann",)], types=["person"], target=True)
    >>> declared = "Friends(person, person)\nSmokes(person)\n"
    >>> choose_learner(db, sqlrl.parse_mln(declared + "Friends(x, y) => Smokes(x)")).estimator()
    Likelihood(penalty='l2')
    >>> choice = choose_learner(db, sqlrl.parse_mln(declared + "Friends(x, y) ^ Smokes(x) => Smokes(y)"))
    >>> choice.word, choice.reason
    ('likelihood', 'all data are one network, and elimination sums over what rules join')
    """
    check_database(db)
    if not among or not set(among) <= set(WORDS):
        raise InputError(
            f"{Parameter('among', Written(shortened(repr(among))))} must be some of {', '.join(WORDS)}; leave it out for all."
        )
    session = db.advanced.session
    with session.verb(), session.console.progress("choosing a learner"):
        Query(model, examples).check()
        # Binding says what an example is where declarations of the model do, and where nothing does it makes all data one.
        with session.program(model, training=True) as program:
            ids = session.example_ids(examples)
            if examples is not None and len(ids) == 0:
                raise InputError(
                    f"{Parameter('examples')} names no examples: name some, or leave it out for all; sqlrl.example lists them."
                )
            count = len(ids)
            # Of many examples some, from the first to the last.
            some = ids if count <= STEPS else ids[np.linspace(0, count - 1, STEPS).astype(np.int64)]
            reach = _reach(program, some, ground="likelihood" in among)
    found = _suiting(count, reach, chosen=examples is not None)
    if found.word in among:
        return found
    # What suits second best is what reaches where the exact likelihood does not.
    second = _suiting(count, "wide", chosen=examples is not None).word
    word = second if second in among else next(each for each in WORDS if each in among)
    return Choice(word, f"{found.word} is not to choose from ({found.reason})", _parameters(word, count))


def _suiting(count: int, reach: Reach, *, chosen: bool) -> Choice:
    """Choose by the number of examples, all or chosen ones, and how far the exact likelihood reaches."""
    one = "one example is chosen" if chosen else "all data are one network"
    there = one if count == 1 else f"there are {counted(count, 'example')}"
    if reach != "wide":
        why = "no rule joins query atoms" if reach == "apart" else "elimination sums over what rules join"
        return Choice("likelihood", f"{there}, and {why}", _parameters("likelihood", count, reach))
    if count * MOST_PASSES >= STEPS:
        return Choice("adagrad", f"{there}, and rules join many query atoms", _parameters("adagrad", count))
    few = there if count == 1 else f"there are only {counted(count, 'example')}"
    return Choice("pscg", f"{few}, and rules join many of {'its' if count == 1 else 'their'} query atoms")


def _parameters(word: Word, count: int, reach: Reach = "wide") -> dict[str, Any]:
    """Return the parameters of a learner of so many examples that do not have their default values."""
    if word == "likelihood":
        # Among examples that were not looked at some may be too wide.
        unseen = reach == "narrow" and count > STEPS
        return {"penalty": "l2", **({"wide": "composite-likelihood"} if unseen else {})}
    passes = min(-(-STEPS // max(count, 1)), MOST_PASSES)
    return {"passes": passes} if word == "adagrad" and passes > 1 and count > 1 else {}


def _reach(program: Program, ids: IntArray, *, ground: bool) -> Reach:
    """Return how far the exact likelihood reaches; without `ground` rules that join query atoms are taken for wide."""
    if not _joins(program):
        return "apart"
    return "narrow" if ground and _narrow(program, ids) else "wide"


def _narrow(program: Program, ids: IntArray) -> bool:
    """Tell whether variable elimination can sum over all components of some examples; stop at the first that is too wide."""
    from sqlrl.solve.log_linear import log_linear  # with numba, which rules that join nothing do not need
    from sqlrl.solve.restriction import UnsatisfiableError
    from sqlrl.solve.treewidth.order import elimination_order

    try:
        for _, window in Windows(Extent(program, limit=GROUNDING_LIMIT), [ids], None, ground=grounded).after(0):
            try:
                model = log_linear(window.network)
            except UnsatisfiableError:
                continue  # whoever learns says which hard clauses cannot hold
            if not elimination_order(model).within.all():
                return False
    except (GroundingLimitError, MemoryLimitError):
        # What is too large for the default limits is too wide: a learner has limits of its own, and says what exceeds them.
        return False
    return True


def _joins(program: Program) -> bool:
    """Return whether a ground clause may have several query atoms, blocks aside."""
    shapes = {instance.shape for bound in program.features for instance in bound.instances}
    opened = {name for name, info in program.layout.predicates.items() if info.open}
    return any(
        sum(x.predicate in opened for x in (*shape.literals, *(y for group in shape.exists for y in group.literals)))
        > 1
        for shape in shapes
    )
