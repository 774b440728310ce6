"""From the query of a shape to its ground clauses: one pipeline, whatever is asked about a shape and whatever becomes of its rows.

Its stages are: the batches of the query; the limit, where there is one; the budget of a network; multiplicities as int64; and the
reader, which makes arrays of a batch. What is asked is the *grounder*, a function that plans a query of a bound shape: `ground` for
whole networks, `few` and its like for cutting planes. The stages before the reader look at no column but `clause` and
`multiplicity`, and at the literals to count them and to see whether a row has any: a query with further columns goes through
`Pipeline.batches` as it is, and brings a reader of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlrl.catalog.layout import TableName
from sqlrl.ground.counts import Counts, limited
from sqlrl.ground.network import IntArray
from sqlrl.ground.program import Extent, ShapeUse
from sqlrl.ground.rows import (
    ROWS_PER_BATCH,
    AtomIndex,
    Budget,
    GroundRows,
    integers,
    narrowed,
    read_batch,
    read_rows,
    with_clause,
)
from sqlrl.logic.shapes import Shape, Slot
from sqlrl.plan.disjunct_factors import domain_size
from sqlrl.plan.grounding import GroundingQuery, ground
from sqlrl.plan.slots import BoundShape
from sqlrl.progress import Stage, staged

# ---- which query of a shape --------------------------------------------------------------------------


Grounder = Callable[[BoundShape, TableName | None], GroundingQuery | None]
"""Plans a query of a bound shape over some examples; None where there can be no row."""


@dataclass(frozen=True)
class ShapePlan:
    """A query of one shape of a program, and the clauses whose ground clauses are its rows."""

    use: ShapeUse
    plan: GroundingQuery
    clauses: tuple[int, ...]  # of a shape without parameters, each once for every time it is there


def plans(extent: Extent, grounder: Grounder = ground, *, without: Collection[Shape] = ()) -> Iterator[ShapePlan]:
    """Yield the query of each shape that has an open literal, in the program's order; some shapes are left out."""
    chosen = [use for shape, use in extent.program.shapes.items() if shape not in without and use.bound.is_open]
    for use in staged("grounding shapes of clauses", chosen):
        plan = grounder(use.bound, extent.examples)
        if plan is not None:
            yield ShapePlan(use, plan, tuple(use.clauses))


def stream(extent: Extent, *, rows: int = ROWS_PER_BATCH) -> Iterator[pa.RecordBatch]:
    """Yield the ground clauses of a program batch by batch, as they leave the database; nothing is kept."""
    for each in plans(extent):
        yield from extent.program.engine.stream(each.plan.query, step=f"ground {each.use.shape}", rows=rows)


LEAST_ROWS = 2_048
"""Rows of a batch at the least: the database makes as many at a time."""


def batch_rows(bound: BoundShape, plan: GroundingQuery) -> int:
    """Return how many rows a batch of a grounding query has: fewer where each has a list of witnesses, which may be as many as constants."""
    if not plan.list_signs:
        return ROWS_PER_BATCH
    inside = (group.variables for group in bound.shape.exists)
    most = max((math.prod(domain_size(bound, Slot(False, i)) for i in variables) for variables in inside), default=1)
    return max(ROWS_PER_BATCH // max(most, 1), LEAST_ROWS)


# ---- from its batches to rows ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pipeline:
    """Runs the queries of shapes and reads their rows; the extent's limit is one of the rows of each query."""

    extent: Extent
    index: AtomIndex  # of the query atoms in the examples
    evidence: Counts  # shape (m,), receives violated groundings that are too many for 64 bits
    budget: Budget | None = None  # counts the literals, and stops the work when they are too many

    def batches(self, each: ShapePlan) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a query, as far as limit and budget allow, with multiplicities as int64."""
        program, use, plan = self.extent.program, each.use, each.plan
        found = _told(self.stream(each))
        found = limited(found, self.extent, use)
        if self.budget is not None:
            found = self.budget.taken(found, plan)
        return narrowed(found, plan, program, use, self.evidence)

    def stream(self, each: ShapePlan) -> Iterator[pa.RecordBatch]:
        """Run a query."""
        rows = batch_rows(each.use.bound, each.plan)
        return self.extent.program.engine.stream(each.plan.query, step=f"ground {each.use.shape}", rows=rows)

    def rows(self, each: ShapePlan) -> list[GroundRows]:
        """Return the rows of a query in canonical order; of a shape without parameters once for each clause."""
        first = each.clauses[0] if each.clauses else 0
        rows = read_rows(self.batches(each), each.plan, self.index, first, self.extent.program.clause_count)
        return list(_of_clauses(each, rows))

    def literals(self, each: ShapePlan) -> tuple[IntArray, IntArray]:
        """Return the local atoms of a query's rows, shape (r, literals), and their multiplicities; each has all its literals, in the query's order."""
        atoms = [np.zeros((0, len(each.plan.signs)), dtype=np.int64)]
        multiplicity = [np.zeros(0, dtype=np.int64)]
        for batch in self.batches(each):
            found = [self.index.local(integers(batch, f"l{i}")) for i in range(len(each.plan.signs))]
            atoms.append(np.stack(found, axis=1))
            many = integers(batch, "multiplicity") if each.plan.has_multiplicity else np.ones(len(found[0]), np.int64)
            multiplicity.append(many)
        return np.concatenate(atoms), np.concatenate(multiplicity)

    def unordered(self, each: ShapePlan) -> Iterator[GroundRows]:
        """Yield the rows of a query batch by batch, in no order, keeping none; equal ones may recur."""
        for batch in self.batches(each):
            if batch.num_rows:
                yield from _of_clauses(each, read_batch(batch, each.plan, self.index, 0))


def _told(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Say how many ground clauses have come so far."""
    with Stage("ground clauses of this shape", brief=True) as stage:
        for batch in batches:
            yield batch
            stage.advance(batch.num_rows)


def _of_clauses(each: ShapePlan, rows: GroundRows) -> Iterator[GroundRows]:
    if each.plan.has_clause:
        yield rows
    else:
        yield from (with_clause(rows, clause) for clause in each.clauses)
