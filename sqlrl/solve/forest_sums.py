"""Sums over the worlds of forests whose edges share tables: log partition functions, probabilities of states, and expected entries of each table.

A table is exponentiated once for all edges that have it. A message is then a product with a small matrix, so that a variable costs one
exponential for each of its states, not one for each cell of its table. Where weights are so large that such products would leave the range of
floats, messages are sums in logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import FloatArray, IntArray, ragged_ranges
from sqlrl.kernels import inner, kernel
from sqlrl.solve.forest import ForestArrays, ForestProgram
from sqlrl.solve.restriction import UnsatisfiableError
from sqlrl.solve.structure import pointers, sequences

LEAST = 1e-150
"""Messages whose greatest entry falls below this, before they are scaled, may have lost others: then logarithms are taken."""


class DenseTables(NamedTuple):
    """The tables of a forest with all their cells, a row for each state of the parent: shared ones, and those of edges with entries of their own."""

    table: IntArray  # shape (f,): the table of the edge from each variable to its parent
    start: IntArray  # shape (t + 1,): table i has the cells `start[i]` to `start[i + 1] - 1`
    entry: IntArray  # shape (p,): the cell of each pair entry
    copied: IntArray  # shape (k,): cells that add what cells of shared tables do, `source`
    source: IntArray
    forbidden: IntArray  # cells that hard clauses forbid
    value: FloatArray  # shape (c,): what each cell adds
    top: FloatArray  # shape (t,): the greatest of these
    exponential: FloatArray  # shape (c,): e to the power of what a cell adds less the greatest


class SumScratch(NamedTuple):
    """Working memory for any component."""

    belief: FloatArray  # of each state of the forest: what it adds with the messages of its children
    message: FloatArray  # of each edge and each state of its parent
    message_start: IntArray  # shape (f + 1,)


def dense_tables(forest: ForestArrays) -> DenseTables:
    """Return the tables of a forest, of which no cell adds anything."""
    width = np.diff(forest.state_start)
    shared, own = len(forest.table_start) - 1, np.diff(forest.pair_start)
    child = np.flatnonzero(forest.parent >= 0)
    size = np.zeros(len(width), dtype=np.int64)
    size[child] = width[child] * width[forest.parent[child]]
    cells = np.zeros(shared, dtype=np.int64)
    cells[forest.table[child]] = size[child]
    cells[-1] = 0  # of edges that share none
    edge, first = _other_edges(forest, own)
    start = pointers(np.concatenate([cells, size[edge[first]]]))
    table = forest.table.copy()
    number = np.zeros(len(edge), dtype=np.int64)
    number[first] = 1
    table[edge] = shared + np.cumsum(number) - 1
    entry = np.concatenate(
        [
            np.repeat(start[table], own) + forest.pair_cell[: forest.pair_start[-1]],
            np.repeat(start[:shared], np.diff(forest.table_start)) + forest.pair_cell[forest.pair_start[-1] :],
        ]
    )
    single = edge[first]
    copy = single[np.diff(forest.table_start)[forest.table[single]] > 0]
    banned = np.diff(forest.forbidden_start)[single]
    cell = forest.forbidden_cell[ragged_ranges(forest.forbidden_start[single], banned)]
    value = np.zeros(int(start[-1]))
    return DenseTables(
        table,
        start,
        entry,
        ragged_ranges(start[table[copy]], size[copy]),
        ragged_ranges(start[forest.table[copy]], size[copy]),
        np.repeat(start[table[single]], banned) + cell,
        value,
        np.zeros(len(start) - 1),
        np.ones(len(value)),
    )


def _other_edges(forest: ForestArrays, own: IntArray) -> tuple[IntArray, IntArray]:
    """Return the edges that need tables besides the shared ones, in groups that need the same, and where the first of each group stands."""
    banned = np.diff(forest.forbidden_start)
    edge = np.flatnonzero((own > 0) | (banned > 0))
    # What hard clauses forbid is often the same for all edges of a table; entries of its own no other edge has.
    kind = np.where(own[edge] > 0, len(forest.table_start) + edge, forest.table[edge])
    kind = sequences(kind, banned[edge], forest.forbidden_cell)
    order = np.argsort(kind, kind="stable")
    return edge[order], np.flatnonzero(np.diff(kind[order], prepend=-1))


def filled(dense: DenseTables, theta: FloatArray) -> DenseTables:
    """Return the tables with what pair entries add, shape (p,); other cells add nothing."""
    value = np.zeros(len(dense.value))
    value[dense.entry] = theta
    value[dense.copied] += value[dense.source]
    value[dense.forbidden] = -np.inf
    top, some = np.zeros(len(dense.top)), np.flatnonzero(np.diff(dense.start))
    top[some] = np.maximum.reduceat(value, dense.start[some]) if len(some) else 0.0
    top[top == -np.inf] = 0.0
    return dense._replace(value=value, top=top, exponential=np.exp(value - np.repeat(top, np.diff(dense.start))))


def scratch_of(forest: ForestArrays) -> SumScratch:
    """Return working memory."""
    width = np.diff(forest.state_start)
    size = np.where(forest.parent >= 0, width[forest.parent], 0)
    start = pointers(size)
    return SumScratch(np.empty(int(forest.state_start[-1])), np.empty(int(start[-1])), start)


@inner
def _rise(
    forest: ForestArrays,
    dense: DenseTables,
    scratch: SumScratch,
    best: FloatArray,
    odds: FloatArray,
    first: int,
    last: int,
) -> float:
    # The log partition function of the component at these places, beliefs and messages as shares; NaN if a product left the range of floats.
    start, parent, belief, message = forest.state_start, forest.parent, scratch.belief, scratch.message
    table = dense.exponential
    value = 0.0
    for v in range(first, last):
        value += best[v]
    for s in range(start[first], start[last]):
        belief[s] = odds[s]
    for v in range(last - 1, first - 1, -1):
        begin, width = start[v], start[v + 1] - start[v]
        top = 0.0
        for s in range(begin, begin + width):
            top = max(top, belief[s])
        if top < LEAST:
            return np.nan
        value += np.log(top)
        for s in range(begin, begin + width):
            belief[s] /= top
        up = parent[v]
        if up < 0:
            total = 0.0
            for s in range(begin, begin + width):
                total += belief[s]
            value += np.log(total)
            for s in range(begin, begin + width):
                belief[s] /= total
            continue
        cell, out, above = dense.start[dense.table[v]], scratch.message_start[v], start[up]
        value += dense.top[dense.table[v]]
        for a in range(start[up + 1] - above):
            total = 0.0
            for s in range(width):
                total += table[cell + s] * belief[begin + s]
            cell += width
            message[out + a] = total
            belief[above + a] *= total
    return value


@inner
def _rise_in_logs(
    forest: ForestArrays,
    dense: DenseTables,
    scratch: SumScratch,
    theta: FloatArray,
    first: int,
    last: int,
) -> float:
    # As `_rise`, of which beliefs and messages are logarithms here; minus infinity if there is no world.
    start, parent, belief, message = forest.state_start, forest.parent, scratch.belief, scratch.message
    table = dense.value
    for s in range(start[first], start[last]):
        belief[s] = theta[s]
    value = 0.0
    for v in range(last - 1, first - 1, -1):
        begin, width, up = start[v], start[v + 1] - start[v], parent[v]
        top = -np.inf
        for s in range(begin, begin + width):
            top = max(top, belief[s])
        if top == -np.inf:
            return top
        value += top
        for s in range(begin, begin + width):
            belief[s] -= top
        if up < 0:
            total = 0.0
            for s in range(begin, begin + width):
                total += np.exp(belief[s])
            total = np.log(total)
            value += total
            for s in range(begin, begin + width):
                belief[s] -= total
            continue
        cell, out, above = dense.start[dense.table[v]], scratch.message_start[v], start[up]
        for a in range(start[up + 1] - above):
            best = -np.inf
            for s in range(width):
                best = max(best, table[cell + s] + belief[begin + s])
            if best == -np.inf:
                # Hard clauses allow no state of v beside this one.
                cell += width
                message[out + a] = belief[above + a] = best
                continue
            total = 0.0
            for s in range(width):
                total += np.exp(table[cell + s] + belief[begin + s] - best)
            cell += width
            message[out + a] = best + np.log(total)
            belief[above + a] += message[out + a]
    return value


@inner
def _fall(
    forest: ForestArrays,
    dense: DenseTables,
    scratch: SumScratch,
    first: int,
    last: int,
    logs: bool,
    share: FloatArray,
    expected: FloatArray,
) -> None:
    # Probabilities of states into `share`, and of the cells of each edge's table added to `expected`, from the root on.
    start, parent, belief, message = forest.state_start, forest.parent, scratch.belief, scratch.message
    table = dense.value if logs else dense.exponential
    for v in range(first, last):
        begin, width, up = start[v], start[v + 1] - start[v], parent[v]
        if up < 0:
            for s in range(begin, begin + width):
                share[s] = np.exp(belief[s]) if logs else belief[s]
            continue
        for s in range(begin, begin + width):
            share[s] = 0.0
        cell, out, above = dense.start[dense.table[v]], scratch.message_start[v], start[up]
        for a in range(start[up + 1] - above):
            likely = share[above + a]
            if likely > 0.0 and (logs or message[out + a] > 0.0):
                each = likely if logs else likely / message[out + a]
                for s in range(width):
                    if logs:
                        found = each * np.exp(table[cell + s] + belief[begin + s] - message[out + a])
                    else:
                        found = each * table[cell + s] * belief[begin + s]
                    share[begin + s] += found
                    expected[cell + s] += found
            cell += width


@kernel
def forest_sums(
    forest: ForestArrays,
    dense: DenseTables,
    scratch: SumScratch,
    component_start: IntArray,
    components: IntArray,
    begin: int,
    end: int,
    theta: FloatArray,
    best: FloatArray,
    odds: FloatArray,
    value: FloatArray,
    share: FloatArray,
    expected: FloatArray,
) -> int:
    """Sum over the worlds of `components[begin:end]`; return -1, or a place in `components` of one that has no world.

    `theta`, shape (s,), is what states add, minus infinity where they are forbidden; `best`, shape (f,), the greatest of each variable, and
    `odds` e to the power of what a state adds less that. Of these components `value`, shape (c,), gets the log partition function, and `share`, shape (s,),
    the probabilities of states; `expected`, of the shape of the tables' cells, is raised by the expected number of edges in each cell.
    """
    for place in range(begin, end):
        c = components[place]
        first, last = component_start[c], component_start[c + 1]
        value[c] = _rise(forest, dense, scratch, best, odds, first, last)
        logs = bool(np.isnan(value[c]))
        if logs:
            value[c] = _rise_in_logs(forest, dense, scratch, theta, first, last)
        if value[c] == -np.inf:
            return place
        _fall(forest, dense, scratch, first, last, logs, share, expected)
    return -1


SLICE = 4096
"""Components that one call of the kernel takes before Python looks for Ctrl-C."""


@dataclass(frozen=True, eq=False)
class ForestPartition:
    """Components of a forest that share tables, laid out once: sums over their worlds for any weights, of f atoms and p pair entries."""

    program: ForestProgram
    components: IntArray  # shape (c,): those of the forest
    state: IntArray  # shape (f,): the state of the forest that makes each atom true
    component: IntArray  # shape (f,): which of the c components each atom is of

    def __len__(self) -> int:
        return len(self.components)

    @cached_property
    def _dense(self) -> DenseTables:
        return dense_tables(self.program.arrays)

    @cached_property
    def _variable(self) -> IntArray:
        """The variable of each state."""
        width = np.diff(self.program.arrays.state_start)
        return np.repeat(np.arange(len(width), dtype=np.int64), width)

    @cached_property
    def _scratch(self) -> SumScratch:
        return scratch_of(self.program.arrays)

    def expectations(self, score: FloatArray, components: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return log partition functions, the probability of each atom, and how many edges are expected in each pair entry, which add `score`.

        Atoms outside `components` have 0.
        """
        forest, f = self.program.arrays, len(self.state)
        components = np.arange(len(self)) if components is None else components
        theta, share = np.zeros(int(forest.state_start[-1])), np.zeros(int(forest.state_start[-1]))
        theta[self.state] = score[:f]
        theta[forest.state_forbidden] = -np.inf
        best = np.maximum.reduceat(theta, forest.state_start[:-1]) if len(theta) else theta
        # A variable without a state is met again in logarithms.
        odds = np.exp(theta - np.where(best > -np.inf, best, 0.0)[self._variable])
        dense = filled(self._dense, score[f:])
        found, expected = np.zeros(len(self.program.component_start) - 1), np.zeros(len(dense.value))
        mine = self.components[components]
        for begin in range(0, len(mine), SLICE):
            stuck = forest_sums(
                forest, dense, self._scratch, self.program.component_start, mine, begin, min(begin + SLICE, len(mine)),
                theta, best, odds, found, share, expected,
            )  # fmt: skip
            if stuck >= 0:
                raise UnsatisfiableError(self._an_atom(int(mine[stuck])))
        value = np.zeros(len(self))
        value[components] = found[mine]
        expected += np.bincount(dense.source, weights=expected[dense.copied], minlength=len(expected))
        return value, np.concatenate([share[self.state], expected[dense.entry]])

    def _an_atom(self, component: int) -> int:
        first, last = self.program.component_start[component : component + 2]
        begin, end = self.program.arrays.state_start[[first, last]]
        return int(self.program.arrays.state_atom[begin:end].max())


def partition_of(program: ForestProgram, atoms: int) -> ForestPartition:
    """Return all components of a forest that has all n atoms of its network."""
    forest = program.arrays
    size = np.diff(program.component_start)
    of_place = np.repeat(np.arange(len(size), dtype=np.int64), size)
    of_state = np.repeat(of_place, np.diff(forest.state_start))
    state = np.empty(atoms, dtype=np.int64)
    real = np.flatnonzero(forest.state_atom >= 0)
    state[forest.state_atom[real]] = real
    return ForestPartition(program, np.arange(len(size), dtype=np.int64), state, of_state[state])
