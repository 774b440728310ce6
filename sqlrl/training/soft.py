"""What learners of soft models are given of a database: the hinges of all training examples, the truths of their atoms, and a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sqlrl.errors import GroundingWarning, InputError, MemoryLimitError, Parameter, Phrase, warn
from sqlrl.ground.atoms import read_values
from sqlrl.ground.clauses import atom_texts
from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.ground.hinges import ground_hinges
from sqlrl.ground.limits import MissingAtoms, check_missing
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.ground.program import Extent
from sqlrl.ground.soft_program import SoftProgram
from sqlrl.ground.unlisted import check_listed
from sqlrl.ground.windows import divided_hinges, is_divisible
from sqlrl.logic.model import Model
from sqlrl.logic.psl import SoftModel
from sqlrl.training.hinge_parts import HingeParts
from sqlrl.training.labels import Names
from sqlrl.training.provenance import keep_learned_from
from sqlrl.training.records import TrainingRecord
from sqlrl.training.runs import LearnedSoftModel, LearnerRun, Run, RunKey, soft_clauses
from sqlrl.training.session import Query, Session
from sqlrl.training.shelf import Shelf, spill_directory
from sqlrl.wording import counted, shortened

SHOWN = 3
"""So many rules are named in a warning."""

PART_ENTRIES = 2**22
"""Atoms and literals of a part, where hinges are learned from part by part: of a GB or two at the worst moment of inference."""


class SoftTraining(LearnerRun):
    """The hinges of a soft model over the training examples; `sqlrl.learn.soft.estimator.SoftTraining` says what each part does."""

    def __init__(
        self, session: Session, soft: SoftProgram, network: HingeNetwork | HingeParts, examples: IntArray
    ) -> None:
        self._soft, self._model, self._examples = soft, soft.model, examples
        self._records = session.records
        self._found = network
        if isinstance(network, HingeParts):
            order = np.argsort(network.atoms)
            network.truth[order] = read_values(session.engine, soft.layout, network.atoms[order])
            self.truth, self.ground = network.truth, network.ground
        else:
            self.truth = read_values(session.engine, soft.layout, network.atoms)
            self.ground = network.ground_rules
        self.run = Run(session.records, unit="iteration")

    @property
    def network(self) -> HingeNetwork:
        """The hinges of all examples, which learners that need them together are given."""
        assert not isinstance(self._found, HingeParts), "parts are for learners that ask for them"
        return self._found

    @property
    def parts(self) -> HingeParts | None:
        """The hinges part by part, if they do not fit into memory together."""
        return self._found if isinstance(self._found, HingeParts) else None

    @property
    def names(self) -> Names:
        """Words for messages."""
        rules = self._model.rules
        return Names(
            clause=lambda i: f"{rules[i].place + ': ' if rules[i].place else ''}{rules[i].formula}",
            atom=lambda i: atom_texts(self._soft.program, np.array([i]))[i],
        )

    def weights(self) -> FloatArray:
        """Return the weights that the model has, 0 for hard rules, shape (m,)."""
        return self._soft.weights()

    def begin(self, learner: str, parameters: Mapping[str, object], seed: int) -> int:
        """Record that the run has begun; return its number."""
        run = super().begin(learner, parameters, seed)
        keep_learned_from(self._records, self._soft.program, self._examples, run)
        return run

    def _key(self, learner: str, parameters: Mapping[str, object]) -> RunKey:
        return RunKey(learner, parameters, self._model, self._examples)

    def learned(self, weights: FloatArray, kept: Sequence[int] | None = None) -> SoftModel:
        """Return the model with other weights, and with some of its rules alone."""
        rules = [
            rule if rule.hard else replace(rule, weight=float(w) + 0.0)
            for rule, w in zip(self._model.rules, weights.tolist(), strict=True)
        ]
        return self._model.with_rules(rules if kept is None else [rules[i] for i in kept])

    def clauses(self, weights: FloatArray) -> pa.Table:
        """Return a row for each rule, with how many of its ground rules have a query atom as its `support`."""
        return soft_clauses(self._model, weights).append_column("support", pa.array(self.ground))

    def finish(self, weights: FloatArray, record: TrainingRecord, kept: Sequence[int] | None = None) -> SoftModel:
        """Make the learned model, of all rules or some, and keep it with the run's parameters and iterations, all or nothing."""
        model = self.learned(weights, kept)
        weights = weights if kept is None else weights[list(kept)]
        rows = {"iteration": record.iterations} if len(record.iterations) else {}
        self.run.finish(
            LearnedSoftModel(model, soft_clauses(model, weights)), rows, origin=record.learner, seconds=record.seconds, status=record.status, learner=record.learner,
            parameters=record.parameters, seed=record.seed,
        )  # fmt: skip
        return model


@contextmanager
def soft_training(
    session: Session,
    model: SoftModel,
    *,
    examples: Any,
    limit: int | None,
    observed_bodies: bool = False,
    missing: MissingAtoms = "error",
    in_parts: bool = False,  # the learner takes hinges part by part where they do not fit into memory together
    written: int
    | None = None,  # so many rules, the first ones, must not reach missing atoms, or open them; by default all
) -> Iterator[SoftTraining]:
    """Hold a soft model against the training examples while the context is open; a run that an error or Ctrl-C ends is kept so."""
    given: object = model
    if not isinstance(given, SoftModel):
        raise InputError(
            f"learners of soft weights learn a program of probabilistic soft logic: {Phrase('read it with sqlrl.read_psl or sqlrl.parse_psl')}"
        )
    if all(rule.hard for rule in model.rules):
        raise InputError("the model has no rules with a weight to learn: write some")
    Query(Model({}), examples, limit=limit).check()
    check_missing(missing)
    session.catalog.store.check_writable()
    count = len(model.rules) if written is None else written
    opens = model.with_rules(model.rules[:count]) if missing == "open" else None
    with (
        session.verb(),
        session.console.progress("learning"),
        session.soft_program(model, training=True, observed_bodies=observed_bodies, opens=opens) as soft,
        session.examples_table(examples) as chosen,
        ExitStack() as stack,
    ):
        ids = session.ids(chosen)
        extent = Extent(soft.program, chosen, limit, len(ids))
        if missing == "error":
            check_listed(soft, extent, rules=count)
        shelf: Shelf[HingeNetwork] = Shelf(spill_directory(session.engine) if in_parts else None)
        stack.callback(shelf.close)
        network = _ground(soft, extent, ids, shelf, in_parts=in_parts)
        if not len(network.atoms):
            raise InputError(
                f"there are no query atoms to learn from: check {Parameter('examples')}, and that what is to be predicted has labels or a scope"
            )
        # Nothing says what they weigh.
        training = SoftTraining(session, soft, network, ids)
        idle = np.flatnonzero(training.ground == 0).tolist()
        warn_of_rules(
            session,
            [model.rules[i].formula for i in idle if not model.rules[i].hard],
            "no ground rule with a query atom, so that the weight stays 0",
        )
        with training.run.ending():
            yield training


def _ground(
    soft: SoftProgram, extent: Extent, ids: IntArray, shelf: Shelf[HingeNetwork], *, in_parts: bool
) -> HingeNetwork | HingeParts:
    """Return the hinges of all examples, or, where these do not fit into memory together and a learner can do without that, in parts."""
    try:
        return ground_hinges(soft, extent, learning=True)
    except MemoryLimitError:
        if not in_parts or len(ids) <= 1 or not is_divisible(soft):
            raise
    windows = divided_hinges(soft, extent, np.sort(ids), entries=PART_ENTRIES, learning=True)
    return HingeParts((found.network for _, found in windows), shelf)


def warn_of_rules(session: Session, rules: Iterable[str], fault: str, remedy: str = "") -> None:
    """Warn of the rules, as texts, of which it was not said before that they have a fault with these data."""
    new = [text for _, text in session.unsaid((fault, rule) for rule in dict.fromkeys(rules))]
    if new:
        shown = "; ".join(shortened(str(text), 80) for text in new[:SHOWN])
        more = f" and {len(new) - SHOWN:,} more" if len(new) > SHOWN else ""
        verb = "has" if len(new) == 1 else "have"
        warn(f"{counted(len(new), 'rule')} {verb} {fault}: {shown}{more}{remedy}", GroundingWarning)
