"""In how many groundings of a program's clauses each atom of its predicates decides: counted by SQL, put together without a row for each atom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.nodes import column, integer, named, subquery, table, union_all
from sqlrl.errors import CountOverflowError, OverflowEngineError
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.ground.partitions import AtomDomain, ClauseTerms, PartCounts
from sqlrl.ground.program import Program
from sqlrl.logic.shapes import ShapeLiteral, Slot
from sqlrl.plan.blankets import FlipTerm, Summand, TermPlanner
from sqlrl.plan.counted_conjunctions import ConjunctionUse, CountedConjunction, count_conjunctions
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import (
    OBSERVED,
    argument_columns,
    atom_rows,
    domain_rows,
    example_columns,
    given_rows,
    true_rows,
)
from sqlrl.progress import staged

PARTS = 64
"""So many parts are counted by one statement."""

FEW_VALUES = 1000
"""Of a parameter with more values than that all are counted, also those that no clause names."""


# ---- domains ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AtomReader:
    """Reads the atoms of predicates in the `chosen` examples."""

    engine: QueryEngine
    layout: Layout
    chosen: TableName

    def domain(self, info: PredicateInfo, examples: IntArray) -> AtomDomain:
        """Return the atoms of a predicate: all tuples if closed, query and given atoms if open; `examples` are the ids of the chosen ones, ascending."""
        layout = self.layout
        beside = example_columns(info, layout)
        places = tuple(i for i, kind in enumerate(info.types) if kind == layout.example_type)[:1]
        own = examples if beside else np.zeros(1, dtype=np.int64)
        cells: list[IntArray] = []
        sizes: list[int] = []
        for kind in info.types:
            known = layout.types[kind]
            sizes.append(known.size)
            if known.local and beside and known.domain is not None:
                rows = self.engine.fetch(domain_rows(known, self.chosen), step=f"read the domains of {kind}")
                cells.append(np.column_stack([rows.column(i).to_numpy().astype(np.int64) for i in range(2)]))
            elif kind == layout.example_type:
                cells.append(examples)
            else:
                cells.append(np.arange(known.size))
        true = _as_rows(self._data(info, true_rows(info, OBSERVED)), info)
        listed = None
        if info.open and not info.full_scope:
            names = argument_columns(info)
            queries: list[exp.Query] = [exp.select(*map(column, names)).from_(subquery(atom_rows(info), "q"))]
            if info.has_given:
                queries += [given_rows(info, truth) for truth in (True, False)]
            listed = _as_rows(self._data(info, union_all(queries)), info)
        return AtomDomain(info.name, own, places, tuple(sizes), tuple(cells), true, listed)

    def priors(self, info: PredicateInfo) -> tuple[IntArray, FloatArray]:
        """Return the atoms of a predicate that have soft evidence, as rows of an `AtomDomain`, and its log-odds, none of them 0."""
        if info.atoms is None:
            return np.zeros((0, 1 + len(info.types)), np.int64), np.zeros(0)
        names = argument_columns(info)
        some = exp.NEQ(this=column("prior"), expression=integer(0))
        query = exp.select(*map(column, (*names, "prior"))).from_(table(info.atoms)).where(some)
        data = self._data(info, query, "prior")
        return _as_rows(data, info), data.column("prior").to_numpy().astype(np.float64)

    def _data(self, info: PredicateInfo, rows: exp.Query, *more: str) -> pa.Table:
        """Return the atoms of a query, each with its example, in order, and `more` columns of it."""
        beside = example_columns(info, self.layout)
        names = [f"a{i}" for i in range(len(info.types))]
        example = column(beside[0], "r") if beside else integer(0)
        query = (
            exp.select(named(example, "example"), *(column(c, "r") for c in (*names, *more)))
            .distinct()
            .from_(subquery(rows, "r"))
        )
        for i, name in enumerate(beside):
            on = exp.EQ(this=column("example", f"x{i}"), expression=column(name, "r"))
            query = query.join(table(self.chosen, f"x{i}"), on=on)
        query = query.order_by(*(exp.Ordered(this=column(c), nulls_first=False) for c in ("example", *names)))
        return self.engine.fetch(query, step=f"read the atoms of {info.name}")


def _as_rows(data: pa.Table, info: PredicateInfo) -> IntArray:
    names = ("example", *(f"a{i}" for i in range(len(info.types))))
    return np.column_stack([data.column(c).to_numpy().astype(np.int64) for c in names])


def prior_terms(info: PredicateInfo, atoms: IntArray, numbers: IntArray, column: int) -> ClauseTerms:
    """Return terms that give some atoms a number each, which is `positive` of a column then: what soft evidence they have."""
    slots = tuple(Slot(False, i) for i in range(len(info.types) + info.example_column))
    literal = ShapeLiteral(info.name, False, slots[: len(info.types)])
    part = CountedConjunction((literal,), info.types, len(info.types), "kept" if info.example_column else "none")
    term = FlipTerm(slots, ((Summand(1, (ConjunctionUse(part, slots),)),),), 1, (), (0, 1), (0, 1))
    keys = np.column_stack([atoms[:, 1:], atoms[:, 0]]) if info.example_column else atoms[:, 1:]
    none = np.zeros((1, 0), dtype=np.int64)
    return ClauseTerms(np.array([column]), none, [(term, [PartCounts(keys, numbers)])])


# ---- counts of parts -------------------------------------------------------------------------------------------


@dataclass(eq=False)
class PartTable:
    """The counts of parts, each made once, over the groundings of some `examples` (None for all)."""

    engine: QueryEngine
    layout: Layout
    examples: TableName | None
    keys_within: bool = False  # keys of other examples are not counted
    counts: dict[CountedConjunction, PartCounts] = field(default_factory=dict)
    statements: int = 0  # queries so far

    def learn(self, parts: Iterable[CountedConjunction]) -> None:
        """Count those parts that are not known, many by one statement."""
        new = [part for part in dict.fromkeys(parts) if part not in self.counts]
        for first in range(0, len(new), PARTS):
            self._count(new[first : first + PARTS])

    def _count(self, parts: Sequence[CountedConjunction]) -> None:
        query = count_conjunctions(parts, self.layout, self.examples, keys_within=self.keys_within)
        for part in parts:
            self.counts[part] = PartCounts(np.zeros((0, part.width), np.int64), np.zeros(0, np.int64))
        if query is None:
            return
        self.statements += 1
        try:
            data = self.engine.fetch(query, step="count in how many groundings atoms decide")
        except OverflowEngineError as error:
            raise CountOverflowError(f"a count of {parts[0]} or a part like it does not fit into 64 bits") from error
        number = data.column("part").to_numpy()
        order = np.argsort(number, kind="stable")
        ends = np.searchsorted(number[order], np.arange(len(parts) + 1))
        columns = [
            pc.fill_null(data.column(f"s{i}"), -1).to_numpy().astype(np.int64) for i in range(data.num_columns - 2)
        ]
        n = data.column("n").to_numpy().astype(np.int64)
        for i, part in enumerate(parts):
            rows = order[ends[i] : ends[i + 1]]
            keys = np.column_stack(
                [values[rows] for values in columns[: part.width]] or [np.zeros((len(rows), 0), np.int64)]
            )
            counts = PartCounts(keys, n[rows])
            if len(rows):
                self.counts[part] = counts

    def of(self, use: ConjunctionUse) -> PartCounts:
        """Return the counts of a part that is known."""
        return self.counts[use.conjunction]


# ---- programs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ShapeClauses:
    """The clauses of one shape: their ids, shape (r,), and the ids of the constants of each, shape (r, p)."""

    bound: BoundShape
    clauses: IntArray
    parameters: IntArray


def shape_clauses(program: Program) -> list[ShapeClauses]:
    """Return the clauses of each shape of a program with their constants."""
    found = []
    for use in program.shapes.values():
        if use.parameters is None:
            clauses = np.array(use.clauses, dtype=np.int64)
            found.append(ShapeClauses(use.bound, clauses, np.zeros((len(clauses), 0), np.int64)))
            continue
        names = ["clause", *(f"k{i}" for i in range(len(use.shape.parameters)))]
        query = exp.select(*map(column, names)).from_(table(use.parameters)).order_by(*map(column, names))
        data = program.engine.fetch(query, step="read the constants of clauses")
        rows = [data.column(name).to_numpy().astype(np.int64) for name in names]
        found.append(ShapeClauses(use.bound, rows[0], np.column_stack(rows[1:])))
    return found


def with_values(use: ConjunctionUse, parameters: IntArray) -> ConjunctionUse:
    """Return a part that is counted for the constants of some clauses alone, where these are few."""
    values = []
    for i, slot in enumerate(use.slots):
        if slot.parameter:
            ids = np.unique(parameters[:, slot.index])
            ids = ids[ids >= 0]
            if len(ids) <= FEW_VALUES:
                values.append((i, tuple(ids.tolist()) or (-1,)))
    return ConjunctionUse(replace(use.conjunction, values=tuple(values)), use.slots) if values else use


def clause_terms(
    shapes: Sequence[ShapeClauses], predicates: Sequence[str], parts: PartTable, examples: int
) -> dict[str, list[ClauseTerms]]:
    """Return the terms of the clauses for each predicate's atoms, in few statements; `examples` is how many there are."""
    found: dict[str, list[tuple[ShapeClauses, list[tuple[FlipTerm, list[ConjunctionUse]]]]]] = {}
    for shape in staged("planning what flips change", shapes):
        mentioned = {literal.predicate for literal in shape.bound.every_literal}
        # Too many positive literals are a GroundingLimitError, quantifiers that are not counted an UnsupportedError.
        planner = TermPlanner(shape.bound, examples)
        for name in (p for p in predicates if p in mentioned):
            terms = [
                (term, [with_values(use, shape.parameters) for use in term.conjunctions])
                for term in planner.flip_terms(name)
            ]
            found.setdefault(name, []).append((shape, terms))
    parts.learn(use.conjunction for own in found.values() for _, terms in own for _, uses in terms for use in uses)
    return {
        name: [
            ClauseTerms(
                shape.clauses, shape.parameters, [(term, [parts.of(use) for use in uses]) for term, uses in terms]
            )
            for shape, terms in own
        ]
        for name, own in found.items()
    }
