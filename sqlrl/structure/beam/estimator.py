"""MSL: the clauses of a generative model and their weights, by weighted pseudo-log-likelihood."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypedDict

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from sqlrl.errors import NothingFoundWarning, Parameter, Written, warn
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.learn.batch.penalised import fit_weights, make_design
from sqlrl.learn.convergence import warn_unconverged
from sqlrl.learn.fitted import Fitted
from sqlrl.learn.parameters import Above, AtLeast, Option, Whole, check_database, check_parameters, fit_options
from sqlrl.learn.pseudo.atoms import atom_rows
from sqlrl.learn.pseudo.estimator import STRENGTH, keep_weights
from sqlrl.logic.candidates import concluded, implication
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.printer import format_formula
from sqlrl.logic.shapes import Instance
from sqlrl.logic.terms import Clause, EqualityLiteral, Formula, Literal, terms_in
from sqlrl.progress import Stage
from sqlrl.report import Table
from sqlrl.structure.beam.clauses import ALL, Language, Operations, SearchClause, place_of
from sqlrl.structure.beam.scores import Member
from sqlrl.structure.beam.search import (
    Added,
    ClauseSearcher,
    SearchParameters,
    SearchResult,
    SearchSnapshot,
    SearchStep,
    Strategy,
)
from sqlrl.structure.relearning import Relearning, Then, relearner
from sqlrl.training.clause_search import ClauseSearch, GivenRule, SearchRun
from sqlrl.training.fit import DONE, INTERRUPTED, Fit, SetAttributes
from sqlrl.training.learning import Learning, TrainingDatabase
from sqlrl.training.options import FitOptions
from sqlrl.training.records import Iteration, iteration_table
from sqlrl.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlrl.learn.fitted import WeightLearner

TOLERANCE, ITERATIONS = 1e-7, 2000
"""Of the weights that are learned in the end."""


class SearchCommon(TypedDict, total=False):
    """The parameters of all searches for clauses; see `MSL`."""

    strategy: Strategy
    beam: int
    max_literals: int
    max_variables: int
    literal_cost: float
    strength: float
    least_weight: float
    equalities: bool
    unit_clauses: bool
    max_clauses: int | None
    then: Then


class Searching(Fitted, Relearning):
    """What learners have that search for clauses by weighted pseudo-log-likelihood; parameters are those of `MSL`."""

    added_: Table
    candidates_: int
    n_statements_: int
    equalities_: tuple[str, ...]
    score_: float
    iterations_: pa.Table
    interrupted_: bool

    learned: ClassVar[tuple[str, ...]] = (
        "added_",
        "candidates_",
        "n_statements_",
        "equalities_",
        "score_",
        "iterations_",
        "found_",
        "relearned_",
        "interrupted_",
    )

    def __init__(
        self,
        *,
        strategy: Annotated[Strategy, Option("how clauses are searched")] = "beam",
        beam: Annotated[
            int, Whole(1, reason="a step must go on from some clause"), Option("clauses that a step goes on from")
        ] = 5,
        max_literals: Annotated[int, Whole(1), Option("of a clause")] = 6,
        max_variables: Annotated[int, Whole(1), Option("of a clause")] = 6,
        literal_cost: Annotated[float, AtLeast(0.0, "0.01 is the default"), Option("what each literal costs")] = 0.01,
        strength: Annotated[
            float,
            Above(0, "it weighs the prior, without which weights can grow without bounds"),
            Option("strength of the L2 penalty"),
        ] = STRENGTH,
        least_weight: Annotated[float, AtLeast(0.0, "0.01 is the default"), Option("of a candidate")] = 0.01,
        equalities: Annotated[
            bool, Option("clauses say of no variables that they are equal", name="--no-equalities")
        ] = True,
        unit_clauses: Annotated[bool, Option("no clause for each predicate alone", name="--no-unit-clauses")] = True,
        max_clauses: Annotated[int | None, Whole(0), Option("clauses that are added at the most")] = None,
        then: Then = None,
    ) -> None:
        self.strategy, self.beam, self.max_literals, self.max_variables = strategy, beam, max_literals, max_variables
        self.literal_cost, self.strength, self.least_weight = literal_cost, strength, least_weight
        self.equalities, self.unit_clauses, self.max_clauses = equalities, unit_clauses, max_clauses
        self.then = then

    def _language(self, search: ClauseSearch) -> Language:
        return Language(
            search.predicates,
            self.max_literals,
            self.max_variables,
            search.example_type,
            self.equalities,
            search.constants,
        )

    def _searcher(self) -> type[ClauseSearcher]:
        """Return what searches."""
        return ClauseSearcher

    def _search_parameters(self) -> SearchParameters:
        return SearchParameters(
            strategy=self.strategy,
            beam=self.beam,
            penalty=self.literal_cost,
            least_weight=self.least_weight,
            max_clauses=self.max_clauses,
        )

    def _take(self, learner: WeightLearner) -> None:
        self.weights_, self._table = learner.weights_, learner.clauses().to_arrow()

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("candidates", f"{self.candidates_:,} by {counted(self.n_statements_, 'statement')}"),
            *super()._facts(),
            *self._relearning_facts(),
        ]

    def _fit(
        self, db: TrainingDatabase, model: Model | None, examples: object, options: FitOptions, limit: int | None
    ) -> Self:
        """Search, and learn the weights of what was found."""
        learner = relearner(self.then)
        check_database(db)
        with db.advanced.learning.search_run(model, examples=examples) as run:
            fit = Fit(
                run,
                type(self).__name__,
                self.recorded(),
                0,
                options,
                stage=self.doing,
                things="clauses",
                part="search",
            )

            def keep(sought: Callable[[], SearchOutcome], status: str) -> SetAttributes:
                found = sought()
                kept = self._keep(task, run, found, status)
                if found.remark is not None and status == DONE:
                    warn(found.remark, NothingFoundWarning)
                return kept

            task = SearchTask(db, model, examples, limit, fit)
            set_attributes = fit.learn(lambda: self._sought(task), keep)
        set_attributes()
        self._relearn(learner, db, examples, limit=limit)
        return self

    doing: ClassVar[str] = "searching for clauses"
    """What the search says that it does."""

    def _sought(self, task: SearchTask) -> SearchOutcome:
        """Search, and report the steps to the fit; subclasses do it."""
        raise NotImplementedError

    def _searched(
        self,
        search: ClauseSearch,
        starts: Callable[[Language, Sequence[SearchClause | None]], Sequence[SearchClause]],
        fit: Fit,
        ended: Callable[
            [SearchResult, list[Rule]], SearchOutcome
        ],  # makes what was sought of what was found and the rules of the model
        origins: Sequence[GivenRule],  # what clauses of the search are made of
    ) -> SearchOutcome:
        """Search from some clauses."""
        language = self._language(search)
        given = [starting_clause(i, rule) for i, rule in enumerate(search.rules)]
        members = [member_of(rule, language) for rule in search.rules]
        rules = [rule.rule for rule in search.rules]
        begun = list(starts(language, given))
        if self.unit_clauses:
            shaper = language.shaper()
            known = {instance for member in members for instance in member.instances}
            for name in search.predicates:
                unit = language.unit(name)
                instance = shaper(unit.clause)
                if instance not in known:
                    members.append(Member((instance,)))
                    rules.append(Rule(unit.formula))
        may_go = [not rule.hard and not rule.fixed for rule in rules]
        after = None if fit.saved is None else fit.saved.arrays
        before = 0 if after is None else int(after["statements"])

        def sought(found: SearchResult) -> SearchOutcome:
            kept = [rules[i] for i in found.remaining]
            made = ended(found, [*kept, *(Rule(as_written(each.clause, origins)) for each in found.added)])
            return replace(made, statements=before + search.source.statements)

        def report(step: SearchStep, so_far: SearchSnapshot | None) -> None:
            step = replace(step, statements=before + step.statements)
            if so_far is None:
                fit.step(step, fit.done)
                return
            fit.step(
                step,
                fit.done + 1,
                state=lambda: {**so_far.state(), "statements": np.array(step.statements)},
                so_far=lambda: sought(so_far.result()),
                share=None if self.max_clauses is None else step.clauses / self.max_clauses,
            )

        searcher = self._searcher()(search.source, language, self._search_parameters(), self.strength, report)
        return sought(searcher.run(members, begun, may_go, after))

    def _keep(self, task: SearchTask, run: SearchRun, sought: SearchOutcome, status: str) -> SetAttributes:
        """Learn the weights of what was found, and keep the run."""
        iterations, fit = list[Iteration](), task.fit
        with task.learning.found_blankets(sought.model, run, examples=task.examples, limit=task.limit) as training:
            atoms = atom_rows(
                training.partitions, training.sign, training.hard, training.fixed, training.priors, averaged=True
            )
            with threadpool_limits(limits=1, user_api="blas"), Stage("learning weights"):
                found = fit_weights(
                    make_design(atoms),
                    "l2",
                    self.strength,
                    tolerance=TOLERANCE,
                    max_iterations=ITERATIONS,
                    report=iterations.append,
                )
            if not found.converged:
                off = f"the optimality condition is still violated by {found.optimality:.3g}"
                warn_unconverged(
                    type(self).__name__, found.iterations, off, f"raise {Parameter('strength', self.strength)}"
                )
            fit.lap("learning")
            table = iteration_table(iterations)
            training.keep(sought.rows)
            kept = keep_weights(training, found.weights, fit, status, table)

        def set_attributes() -> None:
            self.model_, self.weights_, self.iterations_, self._table = kept.model, kept.weights, table, kept.clauses
            self.run_, self.seconds_, self.found_, self.relearned_ = fit.run, fit.seconds, kept.model, None
            self.interrupted_ = status == INTERRUPTED
            self.added_ = Table(_added_table(sought.result.added, sought.rules))
            self.candidates_, self.score_ = sought.result.candidates, found.objective
            self.equalities_, self.n_statements_ = sought.equalities, sought.statements
            vars(self).update(sought.learned)

        return set_attributes


@dataclass(frozen=True, eq=False)
class SearchTask:
    """What a search learns from, and the fit to which it reports."""

    db: TrainingDatabase
    model: Model | None
    examples: object
    limit: int | None
    fit: Fit

    @property
    def learning(self) -> Learning:
        """What the database gives to learners."""
        return self.db.advanced.learning

    def clause_search(self, model: Model | None) -> AbstractContextManager[ClauseSearch]:
        """Sort the atoms of the examples for clauses that a search may add to a model, while the context is open."""
        return self.learning.clause_search(model, examples=self.examples, limit=self.limit)


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """What a search has come to."""

    model: Model  # declarations and rules, whose weights are still to be learned
    result: SearchResult
    rules: Sequence[GivenRule]  # what clauses of the search are made of
    equalities: tuple[str, ...]
    remark: str | None  # what there is to say of it
    rows: Mapping[str, pa.Table] = field(default_factory=dict)  # what is kept of the run besides, by table
    learned: Mapping[str, object] = field(default_factory=dict)  # what the estimator learns besides, by attribute
    statements: int = 0  # how many counted


class MSL(Searching):
    r"""Learns the clauses of a generative model and their weights: Markov logic structure learning (Kok and Domingos 2005).

    Parameters
    ----------
    strategy : {"beam", "shortest-first"}
        Beam search goes on from the best clauses of each step; shortest-first search adds all good clauses of a length before it looks at longer ones.
    beam : int
        How many clauses a step goes on from.
    max_literals, max_variables : int
        Of a clause.
    literal_cost : float
        What each literal costs, in units of the weighted pseudo-log-likelihood: of a new clause each that it has, of a clause of the model each by which it
        differs.
    strength : float
        Of the Gaussian prior, whose standard deviation is `strength ** -0.5`: 100 by default.
    least_weight : float
        A clause whose weight is smaller is no candidate.
    equalities : bool
        Whether clauses may say that two variables are equal or differ.
    unit_clauses : bool
        Whether the model has the clause of one atom of each predicate, too, which says how frequent it is.
    max_clauses : int, optional
        How many clauses are added at the most; None for as many as raise the score.
    then : estimator, optional
        A learner that learns the weights of what was found again, such as `PseudoLikelihood(penalty="l1")`, or one of the weights of what is predicted;
        see `sqlrl.structure.relearning.Relearning`.

    Attributes
    ----------
    model_ : Model
        The rules of the model that was given and are left, unit clauses, and the clauses that were found, with weights.
    added_ : Table
        The clauses that were found in order: `clause`, `revises` (the rule that it was made of, if it was of one), `gain` (what each added to the score, less what its literals cost), `literals` and `candidates`, how many had been scored.
    candidates_ : int
        How many candidates were scored.
    n_statements_ : int
        How many statements counted for them.
    equalities_ : tuple of str
        Predicates all of whose facts say that something is itself: they are read as `=`.
    score_ : float
        The weighted pseudo-log-likelihood of the model, less the prior.
    seconds_ : dict of str to float
        Wall time of `search`, `learning` and `statistics`.
    interrupted_ : bool
        Whether Ctrl-C ended the search: then the model has the clauses that it had added, none of which was taken out again.
    weights_, iterations_, run_
        As of `PseudoLikelihood`.
    found_, relearned_
        As of `OSL`.

    Notes
    -----
    Source: Kok and Domingos, "Learning the structure of Markov logic networks" (2005); the defaults are those of its implementation, Alchemy: beam 5, at most 6 literals and 6
    variables, .01 for each literal, least weight .01, a standard deviation of 100. What it leaves open is in
    `sqlrl.structure.beam.search`. All predicates count, targets and evidence. What is loaded of a predicate is true, all else is false. Hard rules stay as they are.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> people = [f"p{i}" for i in range(12)]
    >>> db.load("Smokes", [(p,) for p in people[:6]], types=["person"])
    >>> db.load("Coughs", [(p,) for p in people[:5]], types=["person"])
    >>> db.load("Lives", [(p, "here") for p in people], types=["person", "place"])
    >>> fit = MSL(literal_cost=0.05).fit(db)
    >>> [(row["clause"], round(row["weight"], 1)) for row in fit.clauses() if row["clause"].count("(") > 1]
    [('Smokes(v0) v !Coughs(v0)', 8.7)]
    """

    word: ClassVar[str] = "msl"

    def fit(
        self,
        db: TrainingDatabase,
        model: Model | None = None,
        *,
        examples: object = None,
        callback: Callable[[SearchStep], object] | None = None,
        checkpoint: bool = False,
        resume: int | None = None,
        limit: int | None = GROUNDING_LIMIT,
    ) -> Self:
        """Find clauses and learn their weights.

        Parameters
        ----------
        db : Database
        model : Model, optional
            Predicates that clauses are about, and rules that the search begins with: hard ones stay, others may be revised. By default all predicates
            that have data, and no rules.
        examples : query or list of names, optional
            What to learn from; all examples by default.
        callback : callable, optional
            Called with a `SearchStep` after each step of the search.
        checkpoint : bool
            Save the run in the database after each clause that is added (`sqlrl.learner_state`), so that it can be resumed.
        resume : int, optional
            The number of a run (`sqlrl.run`) that was saved and stopped: go on after its last clause, and go on saving. What is found is
            what a run finds that was never stopped.
        limit : int, optional
            The most groundings that counting may enumerate at the end; None for no limit.

        Returns
        -------
        Self

        Raises
        ------
        InputError
            A parameter is out of range, nothing is loaded, or a run cannot be resumed because parameters, model, examples or data differ.
        UnsupportedError
            A rule has quantifiers inside, or is a template, or a declaration says that exactly one atom of a block is true.

        Warns
        -----
        NothingFoundWarning
            No clause raises the score.
        """
        check_parameters(self)
        return self._fit(db, model, examples, fit_options(callback, checkpoint, resume), limit)

    def _sought(self, task: SearchTask) -> SearchOutcome:
        def starts(language: Language, given: Sequence[SearchClause | None]) -> Sequence[SearchClause]:
            return [*(language.unit(name) for name in language.predicates), *(x for x in given if x is not None)]

        with task.clause_search(task.model) as search:

            def ended(found: SearchResult, rules: list[Rule]) -> SearchOutcome:
                remark = (
                    f"none of {counted(found.candidates, 'candidate')} raises the score by more than its literals cost: lower {Parameter('literal_cost', Written(f'{self.literal_cost:g}'))}, or "
                    "look whether predicates share constants"
                )
                model = search.model.with_rules(tuple(rules))
                return SearchOutcome(model, found, search.rules, search.equalities, None if found.added else remark)

            return self._searched(search, starts, task.fit, ended, search.rules)


# ---- clauses of rules ------------------------------------------------------------------------------------------------


def starting_clause(place: int, given: GivenRule, operations: Operations = ALL) -> SearchClause | None:
    """Return a rule as a clause that a search may begin with; None for a hard one, and for a formula that is no clause."""
    if given.hard or given.rule.fixed or len(given.clauses) != 1:
        return None
    (clause,) = given.clauses
    literals = tuple(x for x in clause.literals if isinstance(x, Literal | EqualityLiteral))
    used = {term.name for x in literals for term in terms_in(x)}
    if len(literals) < len(clause.literals) or any(name not in used for name, _ in clause.variables):
        return None
    marks = tuple(range(len(literals)))
    return SearchClause(clause.variables, literals, marks, place, len(literals), 0, operations, sign=given.stance)


def as_written(clause: SearchClause, given: Sequence[GivenRule]) -> Formula:
    """Return a clause as a formula: as an implication if the rule that it was made of is one, which concludes what is left of its conclusion."""
    if clause.origin is None:
        return clause.formula
    origin = given[clause.origin]
    heads = concluded(origin.rule.formula)
    literals = origin.clauses[0].literals
    places = [place_of(mark) for mark in clause.marks]
    return implication(clause.literals, [place is not None and literals[place] in heads for place in places])


def member_of(rule: GivenRule, language: Language) -> Member:
    """Return a rule as a member of a model."""
    shaper = language.shaper()
    instances: list[Instance] = [shaper(Clause(c.variables, c.literals)) for c in rule.clauses]
    return Member(tuple(instances), rule.sign, rule.hard, rule.rule.weight if rule.rule.fixed else None)


def _added_table(added: Sequence[Added], given: Sequence[GivenRule]) -> pa.Table:
    rows: list[dict[str, Any]] = [
        {
            "clause": format_formula(as_written(each.clause, given)),
            "revises": None if each.clause.origin is None else format_formula(given[each.clause.origin].rule.formula),
            "gain": each.gain,
            "literals": len(each.clause.literals),
            "candidates": each.candidates,
        }
        for each in added
    ]
    schema = pa.schema(
        {
            "clause": pa.string(),
            "revises": pa.string(),
            "gain": pa.float64(),
            "literals": pa.int64(),
            "candidates": pa.int64(),
        }
    )
    return pa.Table.from_pylist(rows, schema)
