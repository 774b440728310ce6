"""What clauses that are not in a program say of the atoms: candidates of a search, counted many by one statement and each count once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName, TypeInfo
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.nodes import column, integer, named, subquery, union_all
from sqlrl.ground.blankets import AtomReader, PartTable, prior_terms, with_values
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.ground.partitions import AtomDomain, ClauseTerms, Counts, PartCounts, Partition
from sqlrl.ground.program import ConstantIds
from sqlrl.logic.shapes import Instance, Shape
from sqlrl.logic.terms import Constant
from sqlrl.plan.blankets import FlipTerm, KnownConjunctions, TermPlanner
from sqlrl.plan.counted_conjunctions import AnyPredicateConjunction, ConjunctionUse, CountedConjunction, any_predicate
from sqlrl.plan.slots import bind
from sqlrl.plan.sources import OBSERVED, argument_columns, true_rows

PREDICATE = "#predicate"
"""The type of the column that says of which predicate a row of a relation of several is."""

Signature = tuple[tuple[str, ...], bool]
"""The types of a predicate's arguments, and whether its examples come from a column."""


class ClauseBlankets:
    """Counts in how many groundings atoms decide, for clauses that need not be in a program."""

    def __init__(
        self, engine: QueryEngine, layout: Layout, examples: IntArray, chosen: TableName, names: Sequence[str]
    ) -> None:
        # The ids of the examples of `chosen`, shape (e,), ascending, and the predicates whose atoms count.
        self.engine, self.examples, self.names = engine, examples, tuple(names)
        reader = AtomReader(engine, layout, chosen)
        self.domains: Mapping[str, AtomDomain] = {
            name: reader.domain(layout.predicates[name], examples) for name in names
        }
        self._partitions: Mapping[str, tuple[Partition, FloatArray]] = {
            name: _by_evidence(domain, layout.predicates[name], *reader.priors(layout.predicates[name]))
            for name, domain in self.domains.items()
        }
        self._parts = PartTable(engine, layout, chosen)
        self._constants = ConstantIds(engine, layout, "blanket")
        self._numbers = {name: i for i, name in enumerate(layout.predicates)}
        self._relations: dict[Signature, str] = {}
        self._flips: dict[Shape, dict[str, list[FlipTerm]]] = {}
        self._learned: set[Instance] = set()
        self._planners: dict[object, TermPlanner] = {}
        self._known: KnownConjunctions = {}
        self._split: dict[CountedConjunction, dict[int, PartCounts]] = {}
        self._counts: dict[str, Counts] = {name: {} for name in names}

    @property
    def layout(self) -> Layout:
        """The layout, with the relations of several predicates."""
        return self._parts.layout

    @property
    def statements(self) -> int:
        """How many statements have counted."""
        return self._parts.statements

    def close(self) -> None:
        """Drop the scratch tables."""
        self._constants.close()

    def partition(self, predicate: str) -> tuple[Partition, FloatArray]:
        """Return the true and the false atoms of a predicate, by their soft evidence, and for each row its log-odds: 0 without any."""
        return self._partitions[predicate]

    # ---- clauses ----------------------------------------------------------------------------------------------

    def learn(self, wanted: Iterable[tuple[Instance, str | None]]) -> None:
        """Count what clauses need; with each comes the predicate of the literal that it adds to one that is known, if it does."""
        listed = [pair for pair in dict.fromkeys(wanted) if pair[0] not in self._learned]
        # Plans are large, and those of clauses that were counted before are seldom asked for again.
        self._planners.clear()
        self._flips.clear()
        self._constants.learn_instances(instance for instance, _ in listed)
        plain: list[CountedConjunction] = []
        several: dict[CountedConjunction, list[tuple[CountedConjunction, AnyPredicateConjunction, str]]] = {}
        for instance, added in listed:
            for use in self._uses(instance):
                part = use.conjunction
                # Counts do not depend on signs, and those of a clause without one of its literals are known with its own.
                if part in self._parts.counts:
                    continue
                # Clauses that add one literal need counts that differ in its predicate alone: one query counts those of
                # all predicates with its arguments' types, by a column that says the predicate.
                place = None if added is None else _last(part, added)
                if place is None or added is None:
                    plain.append(part)
                    continue
                found = any_predicate(part, place, self._relation(added), PREDICATE)
                several.setdefault(found.conjunction, []).append((part, found, added))
        self._parts.learn([*plain, *several])
        for whole, members in several.items():
            for part, found, added in members:
                self._parts.counts[part] = self._of_predicate(whole, found, added)
        self._learned.update(instance for instance, _ in listed)

    def terms(self, instance: Instance) -> dict[str, ClauseTerms]:
        """Return what a clause, whose counts are known, says of the atoms of each predicate that it mentions."""
        parameters = self._parameters(instance)
        found = {}
        for name, flips in self._flip_terms(instance.shape).items():
            terms = [
                (term, [self._parts.of(with_values(use, parameters)) for use in term.conjunctions]) for term in flips
            ]
            # What is kept of parts with parameters would be that of one clause.
            known = None if parameters.shape[1] else self._counts[name]
            found[name] = ClauseTerms(np.zeros(1, np.int64), parameters, terms, known)
        return found

    def containing(self, instance: Instance) -> dict[str, ClauseTerms]:
        """Return in how many groundings of a clause the atoms of each predicate are, in negative and in positive literals, whatever else holds."""
        parameters = self._parameters(instance)
        planner = TermPlanner(bind(instance.shape, self.layout), len(self.examples), self._known)
        planned = {
            name: [
                (term, [with_values(use, parameters) for use in term.conjunctions]) for term in planner.containing(name)
            ]
            for name in self._mentioned(instance.shape)
        }
        self._parts.learn(use.conjunction for terms in planned.values() for _, uses in terms for use in uses)
        return {
            name: ClauseTerms(
                np.zeros(1, np.int64),
                parameters,
                [(term, [self._parts.of(use) for use in uses]) for term, uses in terms],
            )
            for name, terms in planned.items()
        }

    def _mentioned(self, shape: Shape) -> list[str]:
        here = {literal.predicate for literal in shape.literals}
        return [name for name in self.names if name in here]

    def _flip_terms(self, shape: Shape) -> dict[str, list[FlipTerm]]:
        if shape not in self._flips:
            # Clauses that differ in signs alone share what is counted: where atoms are true.
            plain = tuple((x.predicate, x.terms) for x in shape.literals)
            key = shape.variables, shape.parameters, tuple(sorted(plain)), shape.equalities
            if key not in self._planners:
                self._planners[key] = TermPlanner(bind(shape, self.layout), len(self.examples), self._known)
            planner = self._planners[key]
            self._flips[shape] = {each: planner.flip_terms(each, shape) for each in self._mentioned(shape)}
        return self._flips[shape]

    def _parameters(self, instance: Instance) -> IntArray:
        """Return the ids of a clause's constants, shape (1, p)."""
        ids = [
            self._constants.of(kind)[term.name]
            for kind, term in zip(instance.shape.parameters, instance.arguments, strict=True)
            if isinstance(term, Constant)
        ]
        return np.array([ids], dtype=np.int64).reshape(1, -1)

    def _uses(self, instance: Instance) -> Iterable[ConjunctionUse]:
        parameters = self._parameters(instance)
        for flips in self._flip_terms(instance.shape).values():
            for term in flips:
                for use in term.conjunctions:
                    yield with_values(use, parameters)

    # ---- relations of several predicates ----------------------------------------------------------------------

    def _relation(self, predicate: str) -> str:
        """Return the relation of all predicates that have the arguments of one, made when it is first asked for."""
        info = self.layout.predicates[predicate]
        signature = info.types, info.example_column
        if signature not in self._relations:
            self._relations[signature] = self._make(signature)
        return self._relations[signature]

    def _make(self, signature: Signature) -> str:
        types, beside = signature
        layout = self.layout
        members = [
            info
            for info in layout.predicates.values()
            if (info.types, info.example_column) == signature and info.name in self._numbers
        ]
        facts = self._constants.scratch("relation", union_all(self._rows(info) for info in members))
        name = f"#{len(self._relations)}"
        relation = PredicateInfo(
            name,
            (PREDICATE, *types),
            False,
            facts,
            example_column=beside,
            rows=sum(x.rows + x.atom_count for x in members),
        )
        kinds = dict(layout.types)
        if PREDICATE not in kinds:
            numbers = pa.table({"id": pa.array(range(len(self._numbers)), pa.int32()), "name": list(self._numbers)})
            kinds[PREDICATE] = TypeInfo(PREDICATE, self._constants.scratch("predicates", numbers), len(self._numbers))
        self._parts.layout = replace(layout, predicates={**layout.predicates, name: relation}, types=kinds)
        return name

    def _rows(self, info: PredicateInfo) -> exp.Select:
        """Select the true atoms of a predicate, with its number in front of the arguments."""
        number = exp.cast(integer(self._numbers[info.name]), exp.DataType.build("INT"))
        columns: list[exp.Expression] = [named(column("example", "r"), "example")] if info.example_column else []
        columns.append(named(number, "a0"))
        columns += [named(column(f"a{i}", "r"), f"a{i + 1}") for i in range(len(info.types))]
        assert len(argument_columns(info)) + 1 == len(columns)
        return exp.select(*columns).from_(subquery(true_rows(info, OBSERVED), "r"))

    def _of_predicate(self, whole: CountedConjunction, found: AnyPredicateConjunction, predicate: str) -> PartCounts:
        """Return the counts of one predicate among those of several."""
        if whole not in self._split:
            counts = self._parts.counts[whole]
            number = counts.keys[:, found.predicate]
            order = np.argsort(number, kind="stable")
            start = np.searchsorted(number[order], np.arange(len(self._numbers) + 1))
            self._split[whole] = {
                i: PartCounts(counts.keys[rows], counts.n[rows])
                for i in range(len(self._numbers))
                if len(rows := order[start[i] : start[i + 1]])
            }
        own = self._split[whole].get(self._numbers[predicate])
        if own is None:
            return PartCounts(np.zeros((0, len(found.keys)), np.int64), np.zeros(0, np.int64))
        return PartCounts(own.keys[:, list(found.keys)], own.n)


def _by_evidence(
    domain: AtomDomain, info: PredicateInfo, atoms: IntArray, odds: FloatArray
) -> tuple[Partition, FloatArray]:
    """Return the atoms of a predicate by truth and soft evidence, `odds` being the log-odds of some, and the log-odds of each row."""
    whole = Partition.of(domain)
    if not len(odds):
        return whole, np.zeros(2)
    values, numbers = np.unique(odds, return_inverse=True)
    found = whole.refined([prior_terms(info, atoms, numbers.reshape(-1) + 1, 0)], 1)
    return found, np.concatenate([[0.0], values])[np.asarray(found.positive)[:, 0]]


def _last(part: CountedConjunction, predicate: str) -> int | None:
    """Return the last literal of a predicate in a part; None if there is none."""
    places = [i for i, literal in enumerate(part.literals) if literal.predicate == predicate]
    return places[-1] if places else None
