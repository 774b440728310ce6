"""Transfer: a model of one domain, diagnosed on the data of another and revised only where it is marked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, Unpack

import pyarrow as pa
from threadpoolctl import threadpool_limits

from sqlrl.errors import InputError, NothingFoundWarning, Parameter, Phrase, Written, warn
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.learn.parameters import Above, Option, Whole, check_parameters, fit_options
from sqlrl.learn.settings import Seed
from sqlrl.logic.mapping import PredicateMapping
from sqlrl.logic.mapping_parser import read_mapping
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.printer import format_formula
from sqlrl.logic.subformulas import atoms_of
from sqlrl.logic.transfer import transferred
from sqlrl.progress import Stage
from sqlrl.report import Table
from sqlrl.solve.sampling.chains import Effort
from sqlrl.structure.beam.clauses import ADD, CONSTANT, DELETE, FLIP, KEEP, Language, Operations, SearchClause
from sqlrl.structure.beam.estimator import (
    SearchCommon,
    Searching,
    SearchOutcome,
    SearchTask,
    member_of,
    starting_clause,
)
from sqlrl.structure.beam.search import ClauseSearcher, SearchResult, SearchStep
from sqlrl.structure.diagnosis.bins import THRESHOLD, check_threshold
from sqlrl.structure.diagnosis.diagnosis import Diagnosis, diagnosis
from sqlrl.structure.diagnosis.found_mapping import find_mapping
from sqlrl.structure.diagnosis.repair import RepairSearch, in_place
from sqlrl.training.clause_search import ClauseSearch
from sqlrl.training.learning import TrainingDatabase

Mapped = PredicateMapping | Mapping[str, str | None] | str | Path

FOUND = "found"
"""In place of a mapping: it is to be found."""

_MAPPING = pa.schema(
    {"rule": pa.string(), "becomes": pa.string(), "source": pa.string(), "target": pa.string(), "gain": pa.float64()}
)

_DROPPED = pa.schema({"rule": pa.string(), "why": pa.string(), "reason": pa.string()})


class Transfer(Searching):
    r"""Carries a model over to another domain and revises only the clauses that its self-diagnosis marks: TransferNew (Mihalkova and Mooney 2006).

    Clauses that speak against the truth too often are too general, and get literals; those that hold idly where they would speak for it are too specific, and lose some. So a
    search looks at few candidates. A rule of one atom, `Smokes(v0)`, is added for each predicate of the data that has none, those that no rule mentions too: its weight says how
    frequent the predicate is. `unit_clauses=False` adds none.

    Parameters
    ----------
    threshold : float
        The share of a bin of the diagnosis above which a clause is marked, above 0 and below 1.
    mapping : PredicateMapping, dict, path or "found", optional
        Which predicate of the data stands for which one of the source; None for those that have no counterpart. By default predicates have the same names. "found"
        looks for the mapping, rule by rule: of all that keep types and numbers of arguments the one under which the rule raises the score most
        (`sqlrl.structure.diagnosis.found_mapping`), which is beyond the paper.
    further : bool
        For models that are to be mended. Signs and constants of clauses that are marked may be changed, too, since that may be the fault. The clauses that are marked are in question: each
        comes back as it is, or as the clause that is made of it and raises the score most, with a positive weight, or not at all. Literals that are added have the variables
        of the clause alone, and unit clauses, which say how frequent atoms are, stay. `strategy="shortest-first"` looks for changes of one literal first.
    samples, burn_in, chains : int
        Of the diagnosis, where a clause has several literals of one predicate.
    random_state : int, optional
        Seed of these; None is 0.
    strategy, beam, max_literals, max_variables, literal_cost, strength, least_weight, equalities, unit_clauses, max_clauses, then
        As in `MSL`; with `unit_clauses=False` rules of one atom that the source has may be revised, too.

    Attributes
    ----------
    model_ : Model
        The clauses of the source that are left, unit clauses, and what revision made of others, with weights.
    diagnosis_ : Diagnosis
        The bins of each clause, and how it is marked; `sqlrl.diagnosis` has them too.
    dropped_ : Table
        Rules of the source that the target's predicates cannot say, and those that were in question and did not come back: `rule`, `why`, `reason`.
    mapping_ : Table
        `source` and `target` predicates; of a mapping that was found with the `rule`, what it `becomes`, and the `gain` in the score.
    added_, candidates_, n_statements_, equalities_, score_, weights_, iterations_, run_, found_, relearned_
        As in `MSL`.
    seconds_ : dict of str to float
        Wall time of `mapping`, `diagnosis`, `search`, `learning` and `statistics`.

    Notes
    -----
    Source: Mihalkova and Mooney, "Transfer learning with Markov logic networks" (2006), section 3. Each predicate in turn is the target; a clause is marked if its share of a bin is above the
    threshold for some target, and may be marked both ways. The restriction to removing or adding literals holds for the candidates that are made
    of a clause as well. The search and its score are those of `MSL`; clauses that were revised stay if the score is lower without them. What the diagnosis leaves
    open is in `sqlrl.structure.diagnosis.bins`. Hard rules stay as they are. So do clauses of a single atom, which say how frequent a predicate is, as long as `unit_clauses`
    gives one to each predicate: to revise them would be a search from scratch, and nothing of the source is in it. The paper says nothing of them, nor of negative
    weights: a clause that has one is diagnosed as its negation, since that is what it speaks for. What `further` does is beyond the paper
    (`sqlrl.structure.diagnosis.repair`).

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Smokes", [(f"p{i}",) for i in range(20)], types=["person"])
    >>> db.load("Coughs", [(f"p{i}",) for i in range(10)], types=["person"])
    >>> db.load("Old", [(f"p{i}",) for i in range(10)] + [(f"p{i}",) for i in range(20, 40)], types=["person"])
    >>> source = sqlrl.parse_mln("Smoker(p)\nCough(p)\n1 Smoker(x) => Cough(x)")
    >>> fit = Transfer(mapping={"Smoker": "Smokes", "Cough": "Coughs"}).fit(db, source)
    >>> print(fit.diagnosis_)
    Smokes(x) => Coughs(x): of Coughs and Smokes too general (25 % against the truth)
    >>> [(row["revises"], row["clause"]) for row in fit.added_]
    [('Smokes(x) => Coughs(x)', 'Smokes(x) ^ Old(x) => Coughs(x)')]
    """

    diagnosis_: Diagnosis
    dropped_: Table
    mapping_: Table

    word: ClassVar[str] = "transfer"
    learned = (*Searching.learned, "diagnosis_", "dropped_", "mapping_")

    def __init__(
        self,
        *,
        threshold: Annotated[
            float, Above(0.0, "0.1 is the default"), Option("of a bin, above which a clause is marked")
        ] = THRESHOLD,
        mapping: Annotated[
            Mapped | None,
            Option(
                "which predicate stands for which of the source; found looks for it",
                value="FILE",
                default="the same names",
            ),
        ] = None,
        further: Annotated[
            bool, Option("mend clauses that are marked: one for each, by changed signs and constants, too")
        ] = False,
        samples: Annotated[int, Whole(1), Option("worlds that each chain draws")] = 100,
        burn_in: Annotated[int, Whole(0), Option("worlds that each chain forgets first")] = 20,
        chains: Annotated[int, Whole(1), Option("independent ones")] = 4,
        random_state: Seed = None,
        **common: Unpack[SearchCommon],
    ) -> None:
        super().__init__(**common)
        self.threshold, self.mapping, self.further = threshold, mapping, further
        self.samples, self.burn_in, self.chains, self.random_state = samples, burn_in, chains, random_state

    def recorded(self) -> dict[str, object]:
        """Return the constructor's arguments by name as values of JSON: what is kept with a run."""
        found = super().recorded()
        if self.mapping == FOUND:
            return found
        mapping = _as_mapping(self.mapping)
        return {**found, "mapping": None if mapping is None else str(mapping)}

    def _check(self) -> None:
        check_parameters(self)
        check_threshold(self.threshold)
        if self.further and self.max_clauses is not None:
            raise InputError(
                f"{Parameter('max_clauses', self.max_clauses)} would leave out marked clauses that come back as they are: with {Parameter('further', True)} there is one clause for "
                "each that is marked at the most, so leave it None"
            )

    def fit(
        self,
        db: TrainingDatabase,
        model: Model,
        *,
        examples: object = None,
        callback: Callable[[SearchStep], object] | None = None,
        checkpoint: bool = False,
        resume: int | None = None,
        limit: int | None = GROUNDING_LIMIT,
    ) -> Self:
        """Carry a model over, diagnose it, and revise it.

        Parameters
        ----------
        db : Database
            The data of the target domain; predicates and types are those of the data.
        model : Model
            The source: rules with weights, in the predicates of their own domain.
        examples : query or list of names, optional
            What to learn from; all examples by default.
        callback, checkpoint, resume
            As `MSL.fit`. A run that goes on maps and diagnoses again, and searches on after its last clause.
        limit : int, optional
            The most ground clauses of a rule that is sampled, and groundings that counting may enumerate; None for no limit.

        Returns
        -------
        Self

        Raises
        ------
        InputError
            A parameter is out of range, the model has no rules, or some of predicates that the data do not have without a mapping, or a rule that is sampled has no weight.
        ModelError
            The mapping does not fit the predicates of both sides.
        UnsupportedError
            A rule is no disjunction of literals.

        Warns
        -----
        NothingFoundWarning
            No rule can be carried over, no clause is marked, or no revision raises the score; the model then has the source's rules with new weights.
        """
        self._check()
        return self._fit(db, model, examples, fit_options(callback, checkpoint, resume), limit)

    doing = "revising clauses"

    def _sought(self, task: SearchTask) -> SearchOutcome:
        mapped, dropped, mapping = self._mapped(task)
        fit = task.fit
        fit.lap("mapping")
        with task.clause_search(mapped) as search:
            known = self._diagnosed(search)
            fit.lap("diagnosis")
            revised = self._asked(known, search)
            # With a negative weight a faulty rule could have a part in what hides it.
            held = [i for i in range(len(search.rules)) if not (self.further and i in revised)]
            begun = replace(search, rules=[search.rules[i] for i in held])

            def ended(found: SearchResult, rules: list[Rule]) -> SearchOutcome:
                left = dropped
                if self.further:
                    found, rules, without = in_place(found, rules, held, [each.rule for each in search.rules])
                    left = _with_marked(dropped, without)
                nothing = "no clause is marked by the diagnosis, so none was revised; weights are learned anew"
                diagnosed = Diagnosis(known.found, known.groundings, known.general, known.specific, fit.run)
                return SearchOutcome(
                    search.model.with_rules(tuple(rules)),
                    found,
                    search.rules,
                    search.equalities,
                    None if known.general or known.specific else nothing,
                    {"diagnosis": known.found.to_arrow(), "diagnosis_grounding": known.groundings.to_arrow()},
                    {"diagnosis_": diagnosed, "dropped_": left, "mapping_": mapping},
                )

            return self._searched(begun, lambda *_: list(revised.values()), fit, ended, search.rules)

    def _mapped(self, task: SearchTask) -> tuple[Model, Table, Table]:
        """Return the model in the predicates of the data, what these cannot say, and the mapping."""
        model = task.model
        assert model is not None, "transfer has a source"
        if not model.rules:
            raise InputError(
                "the model has no rules, so there is nothing to transfer: give one that has, or learn from scratch with sqlrl.MSL"
            )
        if self.mapping == FOUND:
            return self._found(task, model)
        mapping = _as_mapping(self.mapping)
        declared = task.learning.declarations()
        if mapping is None:
            used = dict.fromkeys(atom.predicate for rule in model.rules for atom in atoms_of(rule.formula))
            unknown = [name for name in used if name not in declared]
            if unknown:
                raise InputError(
                    f"the data have no {' and no '.join(unknown)}, which the rules of the source mention: say with {Parameter('mapping', {unknown[0]: Written('...')})} which of the data's predicates "
                    f"({', '.join(sorted(declared)) or 'none'}) stands for each, or None"
                )
            return model, Table(_DROPPED.empty_table()), Table(_MAPPING.empty_table())
        found = transferred(model, mapping, declared)
        rows: list[dict[str, Any]] = [
            {"rule": format_formula(each.rule.formula), "why": each.why, "reason": each.reason}
            for each in found.dropped
        ]
        self._check_left(found.model)
        pairs = [{"source": name, "target": other} for name, other in mapping.targets.items()]
        return found.model, Table(pa.Table.from_pylist(rows, _DROPPED)), Table(pa.Table.from_pylist(pairs, _MAPPING))

    def _found(self, task: SearchTask, model: Model) -> tuple[Model, Table, Table]:
        """Look for the mapping of each rule."""
        nothing = Model(task.learning.declarations())
        with (
            task.clause_search(nothing) as search,
            threadpool_limits(limits=1, user_api="blas"),
        ):
            found = find_mapping(model, search, self._language(search), self.strength)
        self._check_left(found.model)
        rows: list[dict[str, Any]] = [
            {"rule": format_formula(rule.formula), "why": why, "reason": reason} for rule, why, reason in found.dropped
        ]
        pairs: list[dict[str, Any]] = [
            {
                "rule": format_formula(each.source.formula),
                "becomes": format_formula(each.rule.formula),
                "source": name,
                "target": other,
                "gain": each.gain,
            }
            for each in found.rules
            for name, other in each.mapping.targets.items()
        ]
        return found.model, Table(pa.Table.from_pylist(rows, _DROPPED)), Table(pa.Table.from_pylist(pairs, _MAPPING))

    def _check_left(self, model: Model) -> None:
        """Warn if no rule is left."""
        if not model.rules:
            warn(
                "no rule of the source can be said with the predicates of the data; dropped_ lists why",
                NothingFoundWarning,
            )

    def _diagnosed(self, search: ClauseSearch) -> Diagnosis:
        members = [member_of(rule, self._language(search)) for rule in search.rules]
        effort = Effort(samples=self.samples, burn_in=self.burn_in, chains=self.chains, seed=self.random_state or 0)
        with Stage("diagnosing"):
            return diagnosis(search.rules, members, search.source, effort, self.threshold)

    def _language(self, search: ClauseSearch) -> Language:
        """Of a clause that is to be mended, literals speak of what it speaks of: counts of what is related to that would stand in for the literal that is missing."""
        return replace(super()._language(search), new_variables=not self.further)

    def _searcher(self) -> type[ClauseSearcher]:
        """Return what searches."""
        return RepairSearch if self.further else super()._searcher()

    def _asked(self, known: Diagnosis, search: ClauseSearch) -> dict[int, SearchClause]:
        """Return the clauses that are to be revised, by the places of their rules."""
        language, found = self._language(search), dict[int, SearchClause]()
        for i, rule in enumerate(search.rules):
            operations = self._operations(known, i)
            clause = starting_clause(i, rule, operations) if operations else None
            # With a literal what says how frequent atoms are would say together with a faulty rule what the right one says.
            if clause is not None and not ((self.unit_clauses or self.further) and language.is_unit(clause)):
                found[i] = clause
        return found

    def _operations(self, known: Diagnosis, rule: int) -> Operations:
        """Return what may be done to a rule: a too general one gets literals, a too specific one loses some."""
        found = set[str]()
        if rule in known.general:
            found.add(ADD)
        if rule in known.specific:
            found.add(DELETE)
        if found and self.further:
            found.update((FLIP, CONSTANT, KEEP))
        return frozenset(found)


def _with_marked(dropped: Table, rules: Sequence[Rule]) -> Table:
    """Add rules that are marked and did not come back to those that were dropped."""
    reason = "it is marked, and neither it nor a clause that is made of it raises the score with a positive weight"
    rows = [{"rule": format_formula(rule.formula), "why": "marked", "reason": reason} for rule in rules]
    return Table(pa.concat_tables([dropped.to_arrow(), pa.Table.from_pylist(rows, _DROPPED)]))


def _as_mapping(given: Mapped | None) -> PredicateMapping | None:
    """Return a mapping from what a user may give."""
    if given is None or isinstance(given, PredicateMapping):
        return given
    if isinstance(given, str | Path):
        return read_mapping(given)
    if isinstance(given, Mapping):
        return PredicateMapping(dict(given))
    raise InputError(
        f"{Parameter('mapping', given)} must be {Phrase('a dict of predicates, a sqlrl.PredicateMapping, or ')}the path of a file with a mapping of predicates"
    )
