"""Tables over multi-state variables whose sum is the score of a world: what a Markov network file holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlrl.distinct import distinct
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, ragged_ranges
from sqlrl.solve.structure import Sides, StateVariables, pointers, sides_of, variables_of
from sqlrl.solve.weighted import WeightedNetwork

LARGEST_TABLE = 1 << 14
"""A row over variables with more joint states is split by helper variables."""


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables of log-odds: what an entry adds to the score, and whether no world may have it."""

    # Table i is over the variables `scope[scope_start[i]:scope_start[i + 1]]`, and its entries are `start[i]` to `start[i + 1] - 1`; the state of
    # the last variable changes fastest.
    scope_start: IntArray
    scope: IntArray
    start: IntArray
    value: FloatArray
    forbidden: BoolArray

    def __len__(self) -> int:
        return len(self.start) - 1


@dataclass(frozen=True, eq=False)
class FactorGraph:
    """Variables, and tables over them, of which the first ones are over each of `variables` alone."""

    variables: StateVariables  # those of the atoms and blocks
    size: IntArray  # states of every variable, helpers last
    tables: Tables


@dataclass(frozen=True, eq=False)
class _Holding:
    # The states in which each side of a row holds: `state[start[s]:start[s + 1]]`.
    start: IntArray
    state: IntArray


def _holding(variables: StateVariables, sides: Sides) -> _Holding:
    size = variables.size[sides.variable]
    offset = pointers(size)
    length = np.diff(sides.term_start)
    holds = np.repeat(~sides.member, size)
    term = np.repeat(offset[:-1], length) + variables.state_of_atom[sides.term]
    holds[term] = np.repeat(sides.member, length)
    found = np.flatnonzero(holds)
    side = np.repeat(np.arange(len(size), dtype=np.int64), size)
    counts = np.bincount(side[found], minlength=len(size))
    return _Holding(pointers(counts), found - offset[side[found]])


def _is_long(variables: StateVariables, sides: Sides) -> BoolArray:
    # Rows whose tables would be too large. Sizes of 2**63 and more overflow integers, so logarithms add up.
    number = len(sides.row_start) - 1
    total = np.bincount(sides.row, weights=np.log2(variables.size[sides.variable]), minlength=number)
    return np.asarray((total > np.log2(LARGEST_TABLE) + 1e-9) & (np.diff(sides.row_start) > 1), dtype=np.bool_)


def helper_count(weighted: WeightedNetwork) -> int:
    """How many variables split long rows."""
    variables = variables_of(weighted)
    sides = sides_of(weighted, variables)
    return int((np.diff(sides.row_start) - 1)[_is_long(variables, sides)].sum())


class _Collector:
    # Collects tables, and what rows put into them.

    def __init__(self, variables: StateVariables) -> None:
        v = len(variables.exact)
        self.scope_size: list[IntArray] = [np.ones(v, dtype=np.int64)]
        self.scope: list[IntArray] = [np.arange(v, dtype=np.int64)]
        self.size: list[IntArray] = [variables.size]
        self.entries = int(variables.start[-1])
        self.place: list[IntArray] = []
        self.cost: list[FloatArray] = []

    def tables(self, scopes: IntArray, size: IntArray) -> IntArray:
        """Add tables, one for each row of `scopes`; return their first entries."""
        self.scope_size.append(np.full(len(scopes), scopes.shape[1], dtype=np.int64))
        self.scope.append(scopes.ravel())
        self.size.append(size)
        first = self.entries + np.cumsum(size) - size
        self.entries += int(size.sum())
        return np.asarray(first, dtype=np.int64)

    def put(self, place: IntArray, cost: FloatArray) -> None:
        """Take costs from entries."""
        self.place.append(place)
        self.cost.append(cost)

    def build(self, variables: StateVariables, linear: FloatArray) -> Tables:
        """Return the tables, with the linear terms in those of single variables."""
        place = np.concatenate([np.empty(0, dtype=np.int64), *self.place])
        cost = np.concatenate([np.empty(0), *self.cost])
        hard = np.isposinf(cost)
        forbidden = np.zeros(self.entries, dtype=np.bool_)
        forbidden[place[hard]] = True
        value = np.bincount(place[~hard], weights=-cost[~hard], minlength=self.entries).astype(np.float64)
        value[variables.start[variables.of_atom] + variables.state_of_atom] += linear
        starts = pointers(np.concatenate(self.size))
        return Tables(pointers(np.concatenate(self.scope_size)), np.concatenate(self.scope), starts, value, forbidden)


def _add_short(
    collector: _Collector,
    weighted: WeightedNetwork,
    variables: StateVariables,
    sides: Sides,
    rows: IntArray,
    holding: _Holding,
) -> None:
    # Rows of k sides each: those over the same variables share a table. One entry for each way of violating a row.
    k = int(sides.row_start[rows[0] + 1] - sides.row_start[rows[0]])
    side = sides.row_start[rows][:, None] + np.arange(k)
    scope = sides.variable[side]
    if k == 1:
        first = variables.start[scope[:, 0]]
    else:
        scopes = distinct(scope.T)
        first = collector.tables(scopes.rows, np.prod(variables.size[scopes.rows], axis=1))[scopes.inverse]
    entry, value = np.arange(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    for j in range(k):
        current = side[entry, j]
        count = np.diff(holding.start)[current]
        value = np.repeat(value * variables.size[sides.variable[current]], count)
        value += holding.state[ragged_ranges(holding.start[current], count)]
        entry = np.repeat(entry, count)
    collector.put(first[entry] + value, weighted.cost[rows[entry]])


def _add_long(
    collector: _Collector, weighted: WeightedNetwork, variables: StateVariables, sides: Sides, row: int, helper: int
) -> None:
    # Helper j is true exactly when the sides up to j hold, so that no table has more than three variables.
    holding = _holding_of(variables, sides, row)
    low, last = int(sides.row_start[row]), len(holding) - 1
    for j, holds in enumerate(holding):
        variable, size = int(sides.variable[low + j]), len(holds)
        before = [helper + j - 1] if j else []
        after = [helper + j] if j < last else []
        table = np.zeros((2 if j else 1, size, 2 if j < last else 1))
        true = np.zeros(table.shape[:2], dtype=np.bool_)
        true[-1] = holds
        if after:
            table[..., 0][true] = table[..., 1][~true] = np.inf
        else:
            table[..., 0][true] = weighted.cost[row]
        scope = np.array([[*before, variable, *after]], dtype=np.int64)
        (first,) = collector.tables(scope, np.array([table.size], dtype=np.int64))
        place = np.flatnonzero(table.ravel())
        collector.put(first + place, table.ravel()[place])


def _holding_of(variables: StateVariables, sides: Sides, row: int) -> list[BoolArray]:
    found = []
    for s in range(int(sides.row_start[row]), int(sides.row_start[row + 1])):
        holds = np.full(int(variables.size[sides.variable[s]]), not sides.member[s])
        holds[variables.state_of_atom[sides.term[sides.term_start[s] : sides.term_start[s + 1]]]] = sides.member[s]
        found.append(holds)
    return found


def factor_graph(weighted: WeightedNetwork) -> FactorGraph:
    """Return tables whose entries in a world add up to its score, less the constant; helper variables split rows with too large tables."""
    variables = variables_of(weighted)
    sides = sides_of(weighted, variables)
    collector = _Collector(variables)
    count = np.diff(sides.row_start)
    is_long = _is_long(variables, sides)
    holding = _holding(variables, sides)
    for k in np.unique(count[~is_long & (count > 0)]).tolist():
        _add_short(collector, weighted, variables, sides, np.flatnonzero(~is_long & (count == k)), holding)
    # Helpers depend on the other variables, so that neither scores nor sums over worlds change.
    helper = len(variables.exact)
    for row in np.flatnonzero(is_long).tolist():
        _add_long(collector, weighted, variables, sides, row, helper)
        helper += int(count[row]) - 1
    size = np.concatenate([variables.size, np.full(helper - len(variables.exact), 2, dtype=np.int64)])
    return FactorGraph(variables, size, collector.build(variables, weighted.linear))
