"""The bottom-clause learner as an estimator over a database."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
import pyarrow as pa

from sqlrl import markup
from sqlrl.errors import (
    BiasWarning,
    InputError,
    LabelWarning,
    LittleFoundWarning,
    NotFittedError,
    NothingFoundWarning,
    Parameter,
    PassedOverWarning,
    Phrase,
    UnsupportedError,
    ValidationWarning,
    Written,
    warn,
)
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.learn.fitted import call, parameters_html
from sqlrl.learn.parameters import Option, check_database, declarations, fit_options, several
from sqlrl.learn.settings import InOrder, Seed
from sqlrl.logic.bias import Bias, format_bias
from sqlrl.logic.bias_parser import read_bias
from sqlrl.logic.formulas import parse_formula
from sqlrl.logic.printer import format_formula
from sqlrl.logic.rules import Rule
from sqlrl.logic.terms import Atom, Formula, Variable
from sqlrl.report import Table
from sqlrl.slips import no_name
from sqlrl.structure.ilp.bottom import check_reach
from sqlrl.structure.ilp.clauses import ClauseWriter, as_rules
from sqlrl.structure.ilp.commands import MOST_RANKED, Induction, SeedReport
from sqlrl.structure.ilp.independence import Independence, independence
from sqlrl.structure.ilp.settings import (
    CLAUSES,
    ENOUGH,
    FALLBACKS,
    SPARSE,
    BottomLimit,
    ByCommand,
    ByEvaluation,
    ClauseLength,
    Depth,
    Distinct,
    ILPParameters,
    KeepAbove,
    M,
    MinAccuracy,
    MinLift,
    MinPositive,
    MinScore,
    Nodes,
    Noise,
    Significance,
    TestShare,
    TestUnits,
    resolved,
)
from sqlrl.structure.relearning import Relearning, Then, relearner
from sqlrl.structure.time_limit import DAY, SearchTime, TimeLimit
from sqlrl.training.clusters import Cluster
from sqlrl.training.fit import DONE, Fit, SetAttributes, nothing
from sqlrl.training.induction import InductionSession
from sqlrl.training.learning import TrainingDatabase
from sqlrl.wording import both_numbers, counted

if TYPE_CHECKING:
    from sqlrl.learn.fitted import WeightLearner
    from sqlrl.logic.model import Model


CANDIDATE_SCHEMA = pa.schema(
    [
        ("candidate", pa.int64()),
        ("clause", pa.string()),
        ("literals", pa.int32()),
        ("positives", pa.int64()),
        ("negatives", pa.int64()),
        ("score", pa.float64()),
        ("in_theory", pa.bool_()),
        ("atom", pa.int64()),
        ("atom_name", pa.string()),
        ("p_value", pa.float64()),
    ]
)
"""Found clauses as `sqlrl.candidate` keeps them, but for the run."""

COVERAGE_SCHEMA = pa.schema([("candidate", pa.int64()), ("atom", pa.int64())])
"""What found clauses cover as `sqlrl.coverage` keeps it, but for the run."""

SHOWN = 10
"""How many clauses a notebook shows."""


# ---- the estimator -----------------------------------------------------------------------------------


class ILP(Relearning):
    r"""Learns clauses `body => target` whose bodies are evidence, from bottom clauses: the method of Progol and Aleph.

    A positive atom is the *seed*. The facts around it that the modes reach make its bottom clause, whose parts are searched breadth first
    for the clause with the best score. With `keep_above` all clauses that are good enough are kept besides the theory, for
    weight learning to choose from (ALEPH++; Huynh 2011, section 3.2.1).

    Where few atoms are positive hardly a clause is right more often than not, and no threshold suits all relations. There, unless a
    threshold is given, clauses are found that together *rank* atoms (`command="rank"`): each makes the labels likelier, given those before
    it, by more than it costs to describe it. They are right more often than chance, not always, and say something once they have weights.

    Parameters that are None take the value that the bias sets (the name in parentheses); where it sets none, the default.

    Parameters
    ----------
    bias : Bias or path, optional
        Which literals bodies may have: `sqlrl.parse_bias`, or a file for `sqlrl.read_bias`. By default it is derived from the
        types and keys of the data.
    command : {"induce_cover", "induce", "induce_max", "rank"}, optional
        By default "rank" where less than a tenth of the atoms, but at least twenty, are positive, and neither the bias nor a parameter says when
        a clause is good enough (`min_positive`, `noise`, `min_accuracy`, `min_score`, `evaluation`, `m`, `keep_above`, `explore`,
        `above_seed`, `distinct`); else "induce_cover". Seeds are the positive atoms that no clause of the theory covers yet; scores count all positive atoms. "induce": scores
        count only positive atoms that are not covered. "induce_max": every positive atom is a seed, and the theory has for each
        the best clause that covers it. "rank": up to 200 positive atoms are seeds, around each of which a beam search takes what tells positive
        from negative atoms; from all of this the theory is chosen. Its clauses quantify the variables of their bodies, and the model
        begins with the target alone, of weight 0: learned weights say how likely an atom is of which no clause speaks.
    depth : int, optional
        (i) How far from the seed facts may be: the number of literals that lead to a variable, 2 by default.
    clause_length : int, optional
        (clauselength) The most literals of a clause, with the head; 5. Aleph's own default is 4.
    min_positive : int, optional
        (minpos) The least positive atoms that a clause covers; 2. Aleph's own default is 1.
    noise : int, optional
        (noise) The most negative atoms that it covers; 300. Aleph's own default is 0. With "rank" as many as `min_accuracy` leaves to a
        clause that covers all positive atoms.
    nodes : int, optional
        (nodes) The most clauses that are scored for a seed; 5000.
    evaluation : str, optional
        (evalfn) The score: "auto_m" (the default; Aleph's own is "coverage"), "mestimate", "laplace", "accuracy", "coverage" or
        "compression"; see `sqlrl.structure.ilp.scores.Scorer`.
    m : float or "likelihood", optional
        (m) That of "mestimate": a number, or the one under which the coverage of the clauses with one body literal is most likely.
    min_score : float, optional
        (minscore) The least score of a clause of the theory; 0.6. Aleph's own default is -inf. With "rank" the score is the gain in
        log-likelihood (nats) less the cost of a description, see `sqlrl.structure.ilp.ranking`, and the least one 0.
    min_accuracy : float, optional
        (minacc) The least share of positive atoms among those that a clause covers; 0. With "rank" `min_lift` times their share of all.
    min_lift : float
        That multiple.
    keep_above : float, optional
        Keep every clause that covers enough positive and not too many negative atoms, and whose m-estimate exceeds this, of those
        that are scored; see `explore`.
    explore : bool
        (explore) Score also clauses that cannot become better than the best one so far: more are kept, and it takes longer. Without
        it, a search also ends as soon as an acceptable clause covers all positive atoms, as in Aleph, even if longer ones would
        cover fewer negative atoms.
    above_seed : bool
        A clause of the theory must score more than the seed's own fact would as a clause, as in Aleph: more than 0.75 with "auto_m"
        and as many positive as negative atoms. No such bar with "accuracy", of which a fact has all.
    distinct : {"clause", "coverage"}
        Keep clauses that are the same but for the names of variables once; or clauses that cover the same atoms.
    order : {"file", "shuffle"}
        Seeds in the order of the atoms, or in random order.
    random_state : int, optional
        Seed of that order, and of the part that clauses are tested on; None is 0.
    significance : float, optional
        Thousands of clauses are scored, and some of them fit the labels by chance. So a part of the labels is not searched, and the theory keeps a clause only if it
        covers more positive atoms of that part than chance would, given the clauses kept before it: `p_value`, the chance of that times the number of clauses that are tested, is at
        most this. By default 0.01 where at least 20 atoms are positive and 20 are not, and neither the bias nor a parameter says when a clause is good enough (see `command`; of "rank" only `keep_above` does);
        else 1, which searches all labels and tests nothing. Other clauses of `keep_above` are not tested.
    test_share : float
        The share of the labels on which clauses are tested. With at least 40 examples each is searched or tested as a whole, and the test is of examples as well as of atoms.
    test_units : {"found", "atoms"}
        Where all data are one example and `fit` has no `groups`, labels may still depend on each other, as those of all orders of a customer do if customers differ.
        "found": where labels are alike within the constants that atoms belong to, those within which they are most alike count as the examples above do: at least 40 are
        searched or tested as a whole, and of fewer atoms are compared within each. `test_unit_` names them. "atoms": each atom counts alone.
    bottom_limit : int
        The most literals of a bottom clause.
    limit : int, optional
        The most bindings that are kept of components of bodies (10 million), and the most facts around seeds. What has more is counted
        without being kept; a clause that can only be evaluated through it is passed over with its refinements, and a warning says so.
    time_limit : float
        The most seconds that the search may take, a day by default: if it would take more, by what it has done in its first minute, it stops then, and a TimeLimitError says what shortens it.
    keep_coverage : bool
        Keep the coverage of all clauses that were found in `sqlrl.coverage`, not only that of the theory.
    then : estimator, optional
        A learner that learns weights for what was found, such as `Likelihood(penalty="l1")`; see `sqlrl.structure.relearning.Relearning`.

    Attributes
    ----------
    model_ : Model
        The rules of the model that was given, then the clauses that were found, without weights: with `keep_above` all of them,
        else the theory. Ready for a learner of weights. With "rank" the target alone comes before them, if no given rule is that. With `then` it has
        weights, and no clauses of weight 0.
    found_ : Model
        The model before `then` learned weights.
    relearned_ : estimator or None
        With `then` the learner that learned weights; `relearned_.run_` is its own run.
    theory_ : pyarrow.Table
        `clause` (text), `positives`, `negatives`, `score`, `p_value` (None if not tested), `seed` (the atom), in the order in which they were found.
    candidates_ : pyarrow.Table
        The same for all clauses that were found, with `in_theory`.
    bias_ : Bias
        The bias that was used.
    parameters_ : ILPParameters
        The parameters that were used.
    n_nodes_, n_seeds_, n_cut_ : int
        Clauses that were scored; seeds; those of them whose search met as many clauses as `nodes` allows: more may bring better ones.
    n_unconfirmed_ : int
        Clauses that are not in the theory because they failed the test.
    test_unit_ : str
        What the test takes for independent: "atom", "example", "group of groups=", or the constants within which labels are alike, such as
        "customer in Placed(customer, order)".
    seconds_ : dict of str to float
        Wall time of `opening`, `searching` and `keeping`.
    run_ : int
        The run's number in `sqlrl.run`.

    Notes
    -----
    Source: Huynh (2011), sections 2.2 and 3.2.1 (ALEPH and ALEPH++); Srinivasan, "The Aleph Manual" (2001), whose settings are named
    in parentheses above; Muggleton, "Inverse Entailment and Progol" (1995). Where the manual and Aleph's own program differ the program is
    followed: `auto_m` is m = sqrt(positives + negatives), and the order of nodes and the bar of `above_seed` are its own.

    Atoms belong to constants that a fact links them to without another choice, as each order is in one fact of `Placed(customer, order)`. Labels count as alike within these if a
    test of Tarone (1979) says so. Labels are divided by one kind of constant, and never by the target's own or by those that bodies may name: a warning says if labels are alike
    within others, too, and clauses of the theory fail the test where those count together. Types from which no mode goes on are plain values, and left out.

    Negative atoms are the query atoms in the scope of the target that have no fact. The target itself cannot stand in bodies: `OSL`
    learns recursive clauses, and one that is added to `model_` can be weighted by `MaxMargin`, `PSCG` or an online learner.
    An atom cannot be both positive and negative: a predicate has one truth for each tuple, and loading a contradiction is an
    error. Where the example is an argument of predicates, let it be an input (`+`) of every mode, as derived modes do: a body with
    another example in it would ask for facts of that one.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Parent", [("Ann", "Bob"), ("Bob", "Cid"), ("Bob", "Dan"), ("Eve", "Fay")], types=["person", "person"])
    >>> db.load("Grandparent", [("Ann", "Cid"), ("Ann", "Dan")], types=["person", "person"], target=True)
    >>> bias = sqlrl.parse_bias("modeh(1, 'Grandparent'(+person,+person)). modeb(*, 'Parent'(+person,-person)).")
    >>> fit = ILP(bias, noise=0).fit(db, "Grandparent")
    >>> fit.theory_.select(["clause", "positives", "negatives"]).to_pylist()
    [{'clause': 'Parent(p1, p3) ^ Parent(p3, p2) => Grandparent(p1, p2)', 'positives': 2, 'negatives': 0}]
    >>> fit = ILP(bias, noise=0, then=sqlrl.Likelihood(strength=0.1)).fit(db, "Grandparent")
    >>> len(fit.found_.rules), [(row["clause"], round(row["weight"], 2)) for row in fit.clauses()]
    (1, [('Parent(p1, p3) ^ Parent(p3, p2) => Grandparent(p1, p2)', 2.94)])
    """

    model_: Model
    theory_: pa.Table
    candidates_: pa.Table
    bias_: Bias
    parameters_: ILPParameters
    n_nodes_: int
    n_seeds_: int
    n_unconfirmed_: int
    test_unit_: str
    seconds_: dict[str, float]
    run_: int
    found_: Model
    relearned_: WeightLearner | None
    interrupted_: bool

    word = "ilp"
    fallbacks = FALLBACKS

    def __init__(
        self,
        bias: Annotated[
            Bias | str | Path | None,
            Option(
                "Aleph's mode declarations and settings; without it they are derived from types and keys",
                panel=CLAUSES,
                value="FILE",
            ),
        ] = None,
        *,
        command: ByCommand | None = None,
        depth: Depth | None = None,
        clause_length: ClauseLength | None = None,
        min_positive: MinPositive | None = None,
        noise: Noise | None = None,
        nodes: Nodes | None = None,
        evaluation: ByEvaluation | None = None,
        m: M | None = None,
        min_score: MinScore | None = None,
        min_accuracy: MinAccuracy | None = None,
        min_lift: MinLift = 1.5,
        keep_above: KeepAbove = None,
        explore: Annotated[bool, Option("score also clauses that cannot become the best", panel=CLAUSES)] = False,
        above_seed: Annotated[
            bool,
            Option(
                "a theory may have clauses that score no more than the seed's own fact",
                name="--below-seed",
                panel=CLAUSES,
            ),
        ] = True,
        distinct: Annotated[Distinct, Option("what makes two clauses one", panel=CLAUSES)] = "clause",
        order: InOrder = "file",
        random_state: Seed = None,
        significance: Significance | None = None,
        test_share: TestShare = 1 / 3,
        test_units: TestUnits = "found",
        bottom_limit: BottomLimit = 2000,
        limit: int | None = None,
        time_limit: TimeLimit = DAY,
        keep_coverage: Annotated[
            bool, Option("keep what all clauses cover in sqlrl.coverage, not only those of the theory", panel=CLAUSES)
        ] = False,
        then: Then = None,
    ) -> None:
        self.bias, self.command, self.depth, self.clause_length = bias, command, depth, clause_length
        self.min_positive, self.noise, self.nodes = min_positive, noise, nodes
        self.evaluation, self.m, self.min_score, self.min_accuracy = evaluation, m, min_score, min_accuracy
        self.min_lift = min_lift
        self.keep_above, self.explore, self.above_seed, self.distinct = keep_above, explore, above_seed, distinct
        self.order, self.random_state = order, random_state
        self.significance, self.test_share, self.test_units = significance, test_share, test_units
        self.bottom_limit, self.limit, self.keep_coverage = bottom_limit, limit, keep_coverage
        self.time_limit = time_limit
        self.then = then

    def __repr__(self) -> str:
        """Return the constructor call, parameters with default values left out, and below it what was learned."""
        return "\n".join([call(self), *(f"  {name:<12}{value}" for name, value in self.facts())])

    def _repr_html_(self) -> str:
        if not self.facts():
            return parameters_html(self, call(self))
        found = self.theory_.slice(0, SHOWN).to_pylist()
        rows = [[row["clause"], *(f"{row[name]:.6g}" for name in ("positives", "negatives", "score"))] for row in found]
        names = ["clause", "positives", "negatives", "score"]
        listed = markup.table(names, rows, [False, True, True, True], caption="theory")
        return markup.preformatted(call(self)) + markup.pairs(self.facts()) + listed

    def __getattr__(self, name: str) -> Any:
        # Called only for attributes that are not there.
        if name == "model":  # its property has no `model_`
            name = "model_"
        if name in ILP.__annotations__:
            raise NotFittedError(f"this ILP has no {name} yet: call fit(db, target) first")
        raise no_name(type(self).__name__, name, [*dir(ILP), *ILP.__annotations__])

    def facts(self) -> list[tuple[str, str]]:
        """Return what was learned, in words; nothing before `fit`."""
        if "model_" not in vars(self):
            return []
        scored = f"{counted(self.n_seeds_, 'seed')}, {counted(self.n_nodes_, 'clause')} scored"
        theory = counted(len(self.theory_), "clause")
        return [
            ("search", scored),
            ("theory", theory),
            *self._test_facts(),
            ("candidates", counted(len(self.candidates_), "clause")),
            *self._relearning_facts(),
            ("seconds", ", ".join(f"{stage} {seconds:.3f}" for stage, seconds in self.seconds_.items())),
        ]

    def _test_facts(self) -> list[tuple[str, str]]:
        """Return what became of the test, in words."""
        if self.parameters_.significance < 1:
            tested = self.n_unconfirmed_ + len(self.theory_)
            unit = f"; labels of one {self.test_unit_} count together" if self.test_unit_ != "atom" else ""
            return [("tested", f"{counted(tested, 'clause')}, {self.n_unconfirmed_:,} of them may be chance{unit}")]
        return [("tested", "no")]

    @property
    def model(self) -> Model:
        """The learned model; the same as `model_`."""
        return self.model_

    def clauses(self) -> Table:
        """Return the clauses that were found, those of the theory first, then the best ones first; with `then` those that have weights.

        Returns
        -------
        Table
            `clause` (text), `positives`, `negatives`, `score`, `p_value`, `seed`, `in_theory`; the view `sqlrl.found_clauses` has them too. Where `then` learned
            weights the table of that learner: `clause`, `weight`, `hard`, `support`, `id`, the strongest first.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        if self.relearned_ is not None:
            return self.relearned_.clauses()
        keys = [("in_theory", "descending"), ("score", "descending"), ("positives", "descending")]
        # Sorting tables is not stable, so the order in which they were found is a key as well.
        numbered = self.candidates_.append_column("id", pa.array(range(len(self.candidates_)), pa.int64()))
        return Table(numbered.sort_by([*keys, ("id", "ascending")]).drop_columns(["id"]))

    def definitions(self, predicate: str) -> str:
        """Return the theory as the definition of a predicate, for `Database.define`: it holds where some clause of the theory does.

        Parameters
        ----------
        predicate : str
            Its name; not that of the target, which is to be predicted.

        Returns
        -------
        str
            A rule on each line, as in Prolog but for variables in small letters.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ModelError
            A clause covers atoms whose constants its body does not say: there is nothing to find them by.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Tall", [("Ann",), ("Bob",), ("Cid",)], types=["person"])
        >>> db.load("Wins", [("Ann",), ("Bob",)], types=["person"], target=True)
        >>> db.scope("Wins", [("Ann",), ("Bob",), ("Dan",)])
        >>> ilp = sqlrl.ILP(noise=0, min_score=0, above_seed=False).fit(db, "Wins")
        >>> print(ilp.definitions("MayWin"), end="")
        MayWin(p) :- Tall(p).
        >>> db.define(ilp.definitions("MayWin"))
        >>> db.sql("from sqlrl.named_MayWin").fetchall()
        [('Ann',), ('Bob',), ('Cid',)]
        """
        return as_rules([parse_formula(text) for text in self.theory_["clause"].to_pylist()], predicate)

    def fit(
        self,
        db: TrainingDatabase,
        target: Model | str,
        *,
        examples: object = None,
        groups: object = None,
        callback: Callable[[SeedReport], object] | None = None,
        checkpoint: bool = False,
        resume: int | None = None,
    ) -> Self:
        """Learn clauses for a target.

        Parameters
        ----------
        db : Database
            The data, with labels for all query atoms of the target.
        target : str or Model
            The predicate to learn; or a model that declares it, whose rules come before the clauses that are found.
        examples : query or list of names, optional
            What to learn from; all examples by default.
        groups : query, table, path, relation, frame or tuples, optional
            Which query atoms have labels that depend on each other, as those of one customer's orders: a column for each argument of the target, in order, and one
            for the group, as for `Likelihood.fit`; rows of other atoms are passed over. Atoms of a group are searched or tested together and count together in the test; so are groups that share
            an atom. Of fewer than 40 groups atoms are compared within each. A `then` that chooses among several strengths holds out the same groups.
        callback : callable, optional
            Called with a `SeedReport` after each seed, when it has been saved.
        checkpoint : bool
            Save the run in the database after each seed (`sqlrl.learner_state`), so that it can be resumed.
        resume : int, optional
            The number of a run (`sqlrl.run`) that was saved and stopped: go on after its last seed, and go on saving. What is found is what a
            run finds that was never stopped.

        Returns
        -------
        Self
            This estimator. A run that Ctrl-C or an error stops keeps what its seeds have brought, here and in the database; a note of the
            exception says so. If that happens to `then`, what was found is here.

        Raises
        ------
        InputError
            A parameter is out of range, there is no positive or no negative atom, `then` is no learner of weights, a run cannot be resumed because
            parameters, target, examples, groups or data differ; or `groups` has other columns, leaves an atom out, joins all atoms, or nothing is tested.
        ModelError
            The bias does not fit the data, or its modes reach nothing from the head.
        UnsupportedError
            A mode for bodies is of the target.
        GroundingLimitError
            The bottom clauses, or the facts around them, of all seeds are too many, or the bottom clauses of most that come first; names the mode.
        TimeLimitError
            The search would take more time than `time_limit`. What its first minute has found is kept, and it can be resumed if it was saved.

        Warns
        -----
        BiasWarning
            Predicates that the modes do not reach, or of which there is no fact around any seed.
        NothingFoundWarning
            No clause is acceptable, or none of those that are passes the test; says what stopped most of them.
        LittleFoundWarning
            The theory covers less than half of the positive atoms, and no others are kept; names the parameter to change.
        ValidationWarning
            There are fewer than 20 positive or negative atoms, so that the clauses that were found are not tested.
        LabelWarning
            Labels are alike within constants of which a clause speaks, and the test takes them for independent.
        PassedOverWarning
            Clauses could not be evaluated within `limit`, or bottom clauses are above theirs; names the literal or mode that explodes.
        """
        given = {name: value for name, value in self.get_params().items() if name != "bias"}
        given["seed"] = self.random_state
        learner, options, clock = relearner(self.then), fit_options(callback, checkpoint, resume), time.perf_counter()
        check_database(db)
        bias = db.advanced.learning.induction_bias(target, self._bias(target))
        _check_bodies(bias)
        declarations(type(self))["time_limit"].check(self.time_limit)
        parameters = resolved(given, bias.settings)
        unreached = {found.predicate for found in check_reach(bias, parameters.depth)}
        with db.advanced.learning.induction(target, bias, examples=examples, limit=self.limit) as session:
            truth = session.source.truth
            _check_labels(truth, bias.head.predicate)
            positives = int(truth.sum())
            if resume is not None:
                given |= _as_begun(given, session.parameters(resume))
            parameters = resolved(given, bias.settings, positives, int((~truth).sum()))
            passed = _passed_on(learner, groups, session.source.examples)
            if groups is not None and not passed and parameters.significance == 1 and not _few(truth):
                raise InputError(
                    f"{Parameter('groups')} says which atoms count together when clauses are tested, and {Parameter('significance', 1)} tests none: leave one of them out"
                )
            units = independence(session.source, parameters, groups)
            induction = Induction(session.source, bias, parameters, session.components, units.unit)
            _check_parts(induction, parameters, units)
            stored = {
                "bias": format_bias(bias),
                "limit": self.limit,
                **_recorded(parameters),
                **(units.recorded() if parameters.significance < 1 else {}),
            }
            fit = Fit(
                session, "ILP", stored, parameters.seed, options, stage="searching positive atoms", total=induction.planned, things="clauses",
                where=Phrase("`from sqlrl.found_clauses` shows them in SQL, db.models[-1] is their model"), part="searching", since=clock,
            )  # fmt: skip
            if fit.saved is not None:
                induction.go_on(fit.saved.arrays)
            fit.lap("opening")
            gone, before = 0, induction.positives - induction.left
            allowed = SearchTime(self.time_limit)

            def report(seed: SeedReport) -> None:
                """Take a seed: positive atoms that it leaves behind are done."""
                nonlocal gone
                more, gone = seed.positives - seed.left - gone, seed.positives - seed.left
                fit.step(seed, seed.done, state=induction.state, so_far=nothing, advance=more)
                done, left = max(gone - before, 1), induction.planned - gone
                searched = f"{counted(done, 'positive atom')} of {done + left:,}"
                allowed.check(seed.seconds, done / (done + left), searched, _shorter(parameters))

            def keep(_: Callable[[], None], status: str) -> SetAttributes:
                return self._keep(session, induction, bias, parameters, fit, status)

            set_attributes = fit.learn(lambda: induction.run(report), keep, failed=True)
            passed_over, types = session.passed_over(), session.types
        set_attributes()
        self.test_unit_ = units.name
        if not induction.theory:
            warn(_nothing_found(induction, parameters, units), NothingFoundWarning)
        elif little := _little_found(induction, parameters):
            warn(little, LittleFoundWarning)
        if induction.theory and _few(truth) and self._would_test(given, bias, parameters):
            warn(_untested(induction, bias.head.predicate), ValidationWarning)
        for cluster, clauses in _doubtful(induction, units, bias, types):
            warn(_depending(cluster, clauses, bias.head.predicate), LabelWarning)
        if induction.passed_over:
            warn(_seeds_passed_over(induction), PassedOverWarning)
        if passed_over is not None:
            warn(passed_over, PassedOverWarning)
        if induction.facts and (unmatched := induction.unmatched - unreached):
            warn(_unmatched(bias, unmatched), BiasWarning)
        self._relearn(learner, db, examples, **passed)
        return self

    @staticmethod
    def _would_test(given: Mapping[str, Any], bias: Bias, parameters: ILPParameters) -> bool:
        """Tell whether clauses would have been tested if there were more labels."""
        more = resolved({**given, "command": parameters.command}, bias.settings, ENOUGH, ENOUGH)
        return more.significance < parameters.significance

    def _bias(self, target: Model | str) -> Bias | None:
        if self.bias is None or isinstance(self.bias, Bias):
            return self.bias
        if isinstance(self.bias, str | Path):
            # A file may have modes of several heads.
            return read_bias(self.bias, target=target if isinstance(target, str) else None)
        raise InputError(
            f"{Parameter('bias', self.bias)}: give {Phrase('what sqlrl.parse_bias returns, ')}the path of a file with modes, or {Phrase('None')} to derive it"
        )

    def _keep(
        self,
        session: InductionSession,
        induction: Induction,
        bias: Bias,
        parameters: ILPParameters,
        fit: Fit,
        status: str,
    ) -> SetAttributes:
        """Write the clauses out and keep them."""
        source, theory = session.source, set(induction.theory)
        writer = ClauseWriter(bias.head.predicate, source.predicates, session.types, session.names)
        found = induction.candidates
        # By their literals: which component was met first depends on which seeds were searched together.
        bodies = [sorted(induction.components[i] for i in clause.components) for clause in found]
        formulas = [
            writer.formula(clause.head, body, once=induction.ranks) for clause, body in zip(found, bodies, strict=True)
        ]
        atoms = source.atoms[[clause.seed for clause in found]].tolist() if found else []
        texts = session.atom_texts(atoms)
        columns = [
            range(len(found)), [format_formula(x) for x in formulas], [1 + sum(map(len, body)) for body in bodies],
            [x.positives for x in found], [x.negatives for x in found], [x.score for x in found],
            [i in theory for i in range(len(found))], atoms, [texts[atom] for atom in atoms],
            [induction.p_values.get(i) for i in range(len(found))],
        ]  # fmt: skip
        arrays = [pa.array(x, field.type) for x, field in zip(columns, CANDIDATE_SCHEMA, strict=True)]
        candidates = pa.Table.from_arrays(arrays, schema=CANDIDATE_SCHEMA)
        kept = range(len(found)) if self.keep_above is not None else sorted(theory)
        covered = range(len(found)) if self.keep_coverage else sorted(theory)
        pairs = [np.flatnonzero(induction.cover(found[i])) for i in covered]
        coverage = pa.table(
            {
                "candidate": np.repeat(np.array(covered, dtype=np.int64), [len(x) for x in pairs]),
                "atom": source.atoms[np.concatenate([np.zeros(0, dtype=np.int64), *pairs])],
            }
        ).cast(COVERAGE_SCHEMA)
        rules = [Rule(formulas[i]) for i in kept]
        if induction.ranks and not any(_is_of_all(rule.formula) for rule in session.rules):
            # Without it atoms that no clause covers would have probability one half, and most that one covers less.
            rules.insert(0, Rule(writer.formula(range(bias.head.arity), []), 0.0))
        model = session.keep(rules, candidates, coverage, fit.seconds, status)
        fit.lap("keeping")

        def set_attributes() -> None:
            self.model_, self.bias_, self.parameters_, self.run_ = model, bias, parameters, fit.run
            shown_as = ["clause", "positives", "negatives", "score", "p_value", "seed"]
            found = candidates.rename_columns([{"atom_name": "seed"}.get(x, x) for x in candidates.column_names])
            self.candidates_ = found.select([*shown_as, "in_theory"])
            self.theory_ = found.take(pa.array(induction.theory, pa.int64())).select(shown_as)
            self.n_nodes_, self.n_seeds_, self.n_cut_ = induction.nodes, induction.seeds, induction.cut
            self.n_unconfirmed_ = len(induction.unconfirmed)
            self.seconds_, self.found_, self.relearned_ = fit.seconds, model, None
            self.interrupted_ = status != DONE

        return set_attributes


def _recorded(parameters: ILPParameters) -> dict[str, object]:
    """Return the parameters as a run keeps them: without those that earlier runs do not have where they change nothing."""
    left_out: tuple[str, ...] = ("significance", "test_share", "test_units") if parameters.significance == 1 else ()
    if parameters.test_units == "atoms":
        left_out += ("test_units",)
    return {name: value for name, value in vars(parameters).items() if name not in left_out}


def _as_begun(given: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of the test as a run means them that began before there was a test, or before labels were found to be alike."""
    if "significance" not in kept:
        return {"significance": 1.0} if given["significance"] is None else {}
    return {} if "test_units" in kept else {"test_units": "atoms"}


def _passed_on(learner: WeightLearner | None, groups: object, examples: IntArray) -> dict[str, Any]:
    """Return groups as an option of `fit` for a learner that chooses a parameter on atoms that it holds out."""
    if groups is None or learner is None or "groups" not in signature(learner.fit).parameters:
        return {}
    chooses = several(learner.get_params().get("strength")) and len(np.unique(examples)) == 1
    return {"groups": groups} if chooses else {}


# ---- what is refused, and what is said where nothing is found ----------------------------------------


def _check_bodies(bias: Bias) -> None:
    """Refuse a bias that puts the target into bodies, since recursive clauses are not supported."""
    mode = next((mode for mode in bias.body if mode.predicate == bias.head.predicate), None)
    if mode is not None:
        where = f"{bias.path}:{mode.line}: " if mode.line else ""
        raise UnsupportedError(
            f"{where}the mode {mode} would put the target {mode.predicate} into bodies. ILP learns no recursive clauses: what they "
            "cover depends on atoms that are to be predicted, so that clauses could not be scored one by one. Leave the mode out. For "
            "recursive clauses with weights use OSL; or add one, such as transitivity, to the model that ILP learns, and learn the "
            "weights with MaxMargin, PSCG or an online learner such as CDA"
        )


def _check_labels(truth: BoolArray, target: str) -> None:
    """Refuse a target without both positive and negative atoms."""
    if not len(truth):
        raise InputError(
            f"{target} has no labelled query atoms to learn from: check {Parameter('examples')}, its facts and its scope"
        )
    if truth.all():
        raise InputError(
            f"{target} has {counted(len(truth), 'positive atom')} and no negative one, so no clause is better than another: give "
            f"the tuples that are false as well, with {Phrase('db.scope({!r}, ...)', (target,))}, or leave the scope out for all tuples, or check {Parameter('examples')}"
        )
    if not truth.any():
        raise InputError(
            f"{target} has {counted(len(truth), 'negative atom')} and no positive one, so there is nothing to learn from: load "
            f"true atoms of it with {Parameter('target', True)}, or check {Parameter('examples')}"
        )


def _shorter(parameters: ILPParameters) -> str:
    """Return what makes a search shorter."""
    rank = f"{Parameter('command', 'rank')}, which searches at most {MOST_RANKED} positive atoms, "
    return (
        f"{rank if parameters.command != 'rank' else ''}a lower {Parameter('nodes', Written(f'{parameters.nodes:,}'))} or "
        f"{Parameter('clause_length', parameters.clause_length)}, fewer {Parameter('examples')}"
    )


def _few(truth: BoolArray) -> bool:
    """Tell whether labels are too few to divide."""
    return min(int(truth.sum()), int((~truth).sum())) < ENOUGH


def _untested(induction: Induction, target: str) -> str:
    """Say that clauses were not tested for want of labels."""
    _, positives, atoms = induction.covered()
    few = counted(positives, "positive atom") if positives < ENOUGH else counted(atoms - positives, "negative atom")
    n = len(induction.theory)
    found = "the clause that was found has" if n == 1 else f"the {n:,} clauses that were found have"
    return (
        f"{target} has {few}, and fewer than {ENOUGH} are too few to hold labels out: {found} not been tested and may be chance; give more labels, "
        f"or say {Parameter('significance', 1)} to take what is found as it is"
    )


def _doubtful(
    induction: Induction, units: Independence, bias: Bias, types: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Cluster, int]]:
    """Yield further constants within which labels are alike, and how many clauses have a variable for them and would fail a test in which these labels count together."""
    for cluster, unit in units.others if induction.theory else ():
        clauses = sum(
            cluster.own or cluster.type in _variable_types(induction, number, bias, types)
            for number in induction.doubtful(unit)
        )
        if clauses:
            yield cluster, clauses


def _variable_types(induction: Induction, number: int, bias: Bias, types: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the types of the variables of a clause that are not in its head."""
    literals = [x for i in induction.candidates[number].components for x in induction.components[i]]
    return {
        kind
        for literal in literals
        for kind, term in zip(types[induction.predicates[literal.predicate]], literal.terms, strict=True)
        if term >= bias.head.arity
    }


def _depending(cluster: Cluster, clauses: int, target: str) -> str:
    """Say that clauses may be chance if labels depend on each other."""
    return (
        f"labels of {target} are alike within each {cluster.type} in {cluster.link}: if they count together, {counted(clauses, 'clause')} of the theory "
        f"{'fails' if clauses == 1 else 'fail'} the test and may be chance. {Parameter('groups')} says which atoms count together"
    )


def _check_parts(induction: Induction, parameters: ILPParameters, units: Independence) -> None:
    """Refuse a test without positive and negative atoms both to search and to test on."""
    if parameters.significance == 1:
        return
    for part, (atoms, positives) in {"searched": induction.seen, "tested on": induction.tested}.items():
        if not 0 < positives < atoms:
            raise InputError(
                f"{Parameter('significance', parameters.significance)} divides the labels by {Parameter('test_share', parameters.test_share)}, and of the part that is {part} "
                f"{counted(positives, 'atom')} of {atoms:,} {'is' if positives == 1 else 'are'} positive: that is too few to tell clauses from chance{_together(units)}; {Parameter('significance', 1)} tests nothing"
            )


def _together(units: Independence) -> str:
    """Say which labels count together, and what takes them for independent, if that was found in the labels."""
    if not units.found:
        return ""
    return f" where labels are alike within each {units.name} and count together ({Parameter('test_units', 'atoms')} takes them for independent)"


def _is_of_all(formula: Formula) -> bool:
    """Tell whether a formula is an atom without constants, whose variables differ: it is about all atoms of its predicate."""
    if not isinstance(formula, Atom):
        return False
    names = {term.name for term in formula.terms if isinstance(term, Variable)}
    return len(names) == len(formula.terms)


_REMEDIES = {
    "min_positive": "lower min_positive",
    "noise": "raise noise",
    "min_accuracy": "lower min_accuracy",
    "min_score": "lower min_score",
    "above_seed": f"set {Parameter('above_seed', False)}",
}


def _short(value: object) -> str:
    """Return the value of a threshold in a few digits."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _little_found(induction: Induction, parameters: ILPParameters) -> str | None:
    """Say which parameter to change where a theory covers less than half of the positive atoms; None where it covers more."""
    covered, positives, atoms = induction.covered()
    # With `keep_above` the model has other clauses besides, which may cover the rest.
    if 2 * covered >= positives or parameters.keep_above is not None:
        return None
    if parameters.significance < 1 and induction.theory:
        # Where clauses are tested a theory says what is sure, not why all are positive.
        return None
    text = f"the theory covers {covered:,} of {counted(positives, 'positive atom')}"
    if induction.missed.total():
        name, most = induction.missed.most_common(1)[0]
        remedy = "lower min_lift" if induction.ranks and name == "min_accuracy" else _REMEDIES[name]
        text += (
            f": of {counted(induction.nodes, 'clause')} that were scored, {_bar(parameters, name)} stopped most "
            f"({most:,}); "
            f"{remedy}"
        )
    else:
        text += "; give other modes, or let clauses be longer (clause_length) or reach further (depth)"
    if induction.cut:
        text += f", or raise {Parameter('nodes', Written(f'{parameters.nodes:,}'))}, which ended the search of {counted(induction.cut, 'seed')}"
    if not induction.ranks and positives < SPARSE * atoms:
        text += (
            f". Only {100 * positives / atoms:.2g} % of the atoms are positive: {Parameter('command', 'rank')} takes clauses that are right more often "
            "than that, for a learner of weights"
        )
    return text


_EXACT = ("noise", "min_accuracy", "min_score", "above_seed")
"""Thresholds that clauses miss by the negative atoms that they cover, as all do where labels are noisy."""


def _nothing_found(induction: Induction, parameters: ILPParameters, units: Independence) -> str:
    """Say what stopped clauses where none is acceptable."""
    if not induction.facts:
        return (
            f"no clause is acceptable: from {counted(induction.seeds, 'seed')} the modes reach no fact at all. Check that the facts of "
            f"{', '.join(induction.predicates)} name constants of the target's positive atoms"
        )
    if lost := induction.unconfirmed:
        atoms, positives = induction.tested
        least, greatest = both_numbers(min(induction.p_values[i] for i in lost), parameters.significance)
        return (
            f"no clause is kept: on {counted(atoms, 'atom')} that were not searched, {positives:,} of them positive, none of {counted(len(lost), 'clause')} that were found covers "
            f"more positive ones than it may by chance{_together(units)} (the least p-value is {least}, above {Parameter('significance', Written(greatest))}). `from sqlrl.found_clauses` shows "
            f"them; more labels can tell, and {Parameter('significance', 1)} keeps all that are found on all labels"
        )
    if not induction.missed.total():
        bar = (
            f", or take clauses below the score of a seed's own fact, too ({Parameter('above_seed', False)})"
            if parameters.above_seed
            else ""
        )
        return f"no clause is acceptable: only {counted(induction.nodes, 'clause')} could be made; check the modes and depth{bar}"
    name, most = induction.missed.most_common(1)[0]
    others = [f"{Parameter(x, getattr(parameters, x))} {n:,}" for x, n in induction.missed.most_common()[1:] if n]
    rest = f"; {', '.join(others)}" if others else ""
    found = (
        f"no clause is acceptable: of {counted(induction.nodes, 'clause')} that were scored, {_bar(parameters, name)} "
        f"stopped most ({most:,}{rest})"
    )
    noisy = (
        f". Where labels are noisy {Parameter('command', 'rank')} takes clauses that make them likelier, for a learner of weights"
        if name in _EXACT and not induction.ranks
        else ""
    )
    if induction.cut:
        return (
            f"{found}. The search of {counted(induction.cut, 'seed')} of {induction.seeds:,} met as many clauses as "
            f"{Parameter('nodes', Written(f'{parameters.nodes:,}'))} allows: raise nodes, or {Phrase('change above_seed') if name == 'above_seed' else f'change {name}'}{noisy}"
        )
    return f"{found}. Change that, or let clauses be longer (clause_length) or reach further (depth){noisy}"


def _bar(parameters: object, name: str) -> Parameter:
    value = getattr(parameters, name)
    return Parameter(name, value if isinstance(value, bool) else Written(_short(value)))


def _seeds_passed_over(induction: Induction) -> str:
    """Say that some positive atoms were no seeds, and what is to be changed."""
    first = str(next(iter(induction.passed_over.values())))
    return (
        f"{counted(len(induction.passed_over), 'positive atom')} of {len(induction.passed_over) + induction.seeds:,} that were to be seeds "
        f"were passed over; of the first one {first[:1].lower()}{first[1:]}"
    )


def _unmatched(bias: Bias, unmatched: Collection[str]) -> str:
    """Say which predicates no clause could have, though their types can be reached, because no fact of them met a seed."""
    modes = "".join(f"\n  {mode}" for mode in bias.body if mode.predicate in unmatched)
    return (
        f"{bias.path}: no fact of {', '.join(sorted(unmatched))} was met from any seed, so no clause has "
        f"{'it' if len(unmatched) == 1 else 'them'}. Either these facts are about negative atoms only, or they name other constants than the "
        f"predicates that bring the inputs (+); compare them to the letter and its case:{modes}"
    )
