"""Nodes and factors of a program's clauses, example by example, by SQL for whole shapes at once; and whether a constraint is cheap.

Huynh (2011), section 7.2: a constraint is inexpensive if the number of its factors times their degree is linear in the
number of its nodes. The source does not say how to see that in data. Here:

- if the examples differ enough in size, by the exponent of growth: the slope of log(factors * degree) over log(nodes), a point for
  each example. A chain of n atoms has n - 1 factors of degree 2, so a slope near 1 (a little above, as the n - 1 tells in short
  chains); all pairs have a slope near 2, all triples near 3;
- if they do not, as where all data are one example, by density: factors for each node. A chain has less than one, whatever its
  degree, a grid two; all pairs have as many as half the atoms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl.distinct import distinct
from sqlrl.errors import CountOverflowError, InputError, Parameter
from sqlrl.ground.counts import check_limit, overflow_named, rule_place
from sqlrl.ground.limits import DENSITY, GROWTH
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.ground.program import Extent, Program, ShapeUse
from sqlrl.logic.shapes import Shape
from sqlrl.logic.terms import Constant, Literal
from sqlrl.plan.bounds import domain_bound
from sqlrl.plan.factor_graph import count_factors, degree, is_countable, is_exact, list_factors
from sqlrl.progress import staged

MERGED = 100_000
"""As many ground clauses of a shape are compared with each other to count equal ones once; beyond that each grounding counts."""

SPREAD = 2.0
"""The largest example must have this many times the nodes of the smallest for a slope to mean anything."""


@dataclass(frozen=True, eq=False)
class FactorCounts:
    """The sizes of clauses in the factor graphs of examples, in rows ascending by clause, then example."""

    clause: IntArray  # shape (k,); a clause has no row where it leaves no ground clause open
    example: IntArray  # shape (k,)
    nodes: IntArray  # shape (k,), distinct query atoms in open ground clauses, of a formula's clause with the most
    factors: IntArray  # shape (k,), distinct open ground clauses
    edges: IntArray  # shape (k,), factors times their degree
    degree: IntArray  # shape (m,), how often query predicates appear in a clause, or in the longest one of a formula
    exact: BoolArray  # shape (m,), False where ground clauses with the same literals count once for each grounding

    def of(self, clause: int) -> slice:
        """Return the rows of a clause."""
        first, end = np.searchsorted(self.clause, [clause, clause + 1])
        return slice(int(first), int(end))


def factor_counts(extent: Extent, *, merged: int = MERGED) -> FactorCounts:
    """Count nodes and factors of each clause in each example; up to `merged` ground clauses of a shape are compared."""
    program = extent.program
    degrees, exact = np.zeros(program.clause_count, np.int64), np.ones(program.clause_count, np.bool_)
    tables = []
    for use in staged("looking at shapes of clauses", program.shapes.values()):
        number = degree(use.bound)
        if number == 0:
            continue
        for found, is_merged in _found(extent, use, merged):
            tables.append(found)
            clauses = found.column("clause").to_numpy()
            exact[clauses] &= is_merged
        for clause in _clauses(program, use.shape):
            degrees[clause] = max(degrees[clause], number)
    for helper, user in _helpers(program):
        degrees[user] = max(degrees[user], degrees[helper])
        exact[user] &= exact[helper]
    return _added(program, tables, degrees, exact)


def _clauses(program: Program, shape: Shape) -> Iterator[int]:
    """Yield the clauses that have a shape."""
    having = [any(i.shape == shape for i in bound.instances) for bound in program.features]
    yield from (clause for clause, feature in enumerate(program.feature_of) if having[feature])


def _found(extent: Extent, use: ShapeUse, merged: int) -> Iterator[tuple[pa.Table, bool]]:
    """Yield the counts of a shape by clause and example, and whether equal ground clauses are one."""
    program, shape, planned = extent.program, use.shape, use.bound
    if is_countable(planned):
        counted = count_factors(planned, extent.examples)
        once = all(sum(i.shape == shape for i in bound.instances) < 2 for bound in program.features)
        if once and is_exact(planned, _distinct(program, shape)):
            yield from _run(program, use, counted, exact=True)
            return
        if domain_bound(planned) * max(program.clauses_of(use), 1) > merged:
            tables = list(_run(program, use, counted, exact=False))
            if sum(int(sum(t.column("factors").to_pylist())) for t, _ in tables) > merged:
                yield from tables
                return
    else:
        # Quantifiers over query atoms need their ground clauses listed: those the extent limits.
        check_limit(extent, use)
    yield from _run(program, use, list_factors(planned, extent.examples), exact=True)


def _distinct(program: Program, shape: Shape) -> set[frozenset[int]]:
    """Return the pairs of parameters that every clause of a shape fills with different constants."""
    pairs = {frozenset(pair) for pair in combinations(range(len(shape.parameters)), 2)}
    for bound in program.features:
        for instance in (i for i in bound.instances if i.shape == shape):
            terms = instance.arguments
            pairs = {
                pair
                for pair in pairs
                if len({terms[i] for i in pair}) == 2 and all(isinstance(terms[i], Constant) for i in pair)
            }
    return pairs


def _run(program: Program, use: ShapeUse, query: exp.Select, *, exact: bool) -> Iterator[tuple[pa.Table, bool]]:
    """Run a query of a shape; a shape without parameters has its rows once for each of its clauses."""
    with overflow_named(program, use):
        data = program.engine.fetch(query, step=f"count the factors of {use.shape}")
    names = ("nodes", "factors", "edges")
    try:
        columns = {name: data.column(name).cast(pa.int64()) for name in names}
    except pa.ArrowInvalid as error:
        feature = program.feature_of[next(_clauses(program, use.shape))]
        raise CountOverflowError(f"a count of {rule_place(program, feature)} does not fit into 64 bits") from error
    columns["example"] = data.column("example").cast(pa.int64())
    if use.parameters is not None:
        yield pa.table({"clause": data.column("clause"), **columns}), exact
        return
    # Clauses of one formula that share the shape have the same ground clauses.
    for clause in dict.fromkeys(use.clauses):
        yield pa.table({"clause": np.full(data.num_rows, clause, np.int64), **columns}), exact


def _helpers(program: Program) -> Iterator[tuple[int, int]]:
    """Yield (clause that defines a helper predicate, clause whose formula needs it)."""
    for clause, feature in enumerate(program.feature_of):
        bound = program.features[feature]
        if bound.rule is not None:
            continue
        names = {x.predicate for c in bound.feature.clauses for x in c.literals if isinstance(x, Literal)}
        for user, other in enumerate(program.feature_of):
            helpers = program.features[other].feature.helpers
            if any(name.startswith(helper.name) for name in names for helper in helpers):
                yield clause, user


def _added(program: Program, tables: list[pa.Table], degrees: IntArray, exact: BoolArray) -> FactorCounts:
    """Add up the counts of the shapes of each clause; those of a helper's definition count for the clauses that need it."""
    empty = {name: pa.array([], pa.int64()) for name in ("clause", "nodes", "factors", "edges", "example")}
    names = ("clause", "example", "nodes", "factors", "edges")
    data = pa.concat_tables([pa.table(empty).select(names), *(t.select(names) for t in tables)])
    clause, example, nodes, factors, edges = (data.column(name).to_numpy() for name in names)
    moved = [(np.full(int((clause == helper).sum()), user), clause == helper) for helper, user in _helpers(program)]
    clause, example, nodes, factors, edges = (
        np.concatenate([own, *(user if own is clause else own[rows] for user, rows in moved)])
        for own in (clause, example, nodes, factors, edges)
    )
    pairs = distinct([clause, example])
    keys, place = pairs.rows, pairs.inverse
    most = np.zeros(len(keys), np.int64)
    np.maximum.at(most, place, nodes)
    sums = []
    for values in (factors, edges):
        total = np.zeros(len(keys), np.int64)
        np.add.at(total, place, values)
        sums.append(total)
    return FactorCounts(keys[:, 0], keys[:, 1], most, sums[0], sums[1], degrees, exact)


# ---- the "inexpensive" test of selectively constrained training --------------------------------------


def growth_exponent(nodes: npt.ArrayLike, edges: npt.ArrayLike) -> float | None:
    """Return the least-squares slope of log(edges) over log(nodes), None if sizes vary by less than a factor `SPREAD`."""
    x, y = np.asarray(nodes, dtype=np.float64), np.asarray(edges, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or (x <= 0).any() or (y <= 0).any():
        raise InputError(f"nodes and edges must be positive and of one length, not of shapes {x.shape} and {y.shape}")
    if not len(x) or x.max() < SPREAD * x.min():
        return None
    x, y = np.log(x), np.log(y)
    x -= x.mean()
    return float(x @ y / (x @ x))


def is_inexpensive(
    nodes: npt.ArrayLike,  # shape (e,), positive, as the others
    factors: npt.ArrayLike,
    edges: npt.ArrayLike,  # factors times their degree
    *,
    growth_factor: float = GROWTH,  # the largest exponent of growth that counts as linear
    density: float = DENSITY,  # the most factors for each node, all examples together, where sizes do not differ
) -> bool:
    """Return whether a constraint is inexpensive (Huynh 2011, see the module), given its sizes where it has factors."""
    slope = growth_exponent(nodes, edges)
    if slope is not None:
        return slope <= growth_factor
    return float(np.sum(factors)) <= density * float(np.sum(nodes))


def check_thresholds(growth_factor: object, density: object) -> None:
    """Refuse thresholds that are no positive numbers."""
    for name, value, hint in (
        ("growth", growth_factor, "a chain has 1, all pairs have 2"),
        ("density", density, "a chain has 1 factor for each node, a grid 2"),
    ):
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value <= 0:  # type: ignore[arg-type,operator]
            raise InputError(f"{Parameter(name, value)} must be a positive number: {hint}")
