"""Exact max-sum elimination on forests of multi-state variables: integer matrices that weights multiply, and one compiled pass.

The kernel `solve_range` is a numba function that other numba code may call, so that an online learner's loop (predict
one example, update the weights, next) can live in one compiled function.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from sqlrl.distinct import distinct_values
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, ragged_ranges
from sqlrl.kernels import inner, kernel
from sqlrl.solve.structure import Sides, StateVariables, Structure, pointers

# ---- elimination, compiled ---------------------------------------------------------------------------


class ForestArrays(NamedTuple):
    """A forest of f variables, s states, p pair entries and q forbidden ones, and t shared tables; components are contiguous, parents before children."""

    # Shape (f + 1,): variable u has the states `state_start[u]` to `state_start[u + 1] - 1`: none first, if there is one, then members in ascending
    # order of atoms.
    state_start: IntArray
    state_atom: IntArray  # shape (s,): the local atom that each state makes true, -1 for none
    state_forbidden: BoolArray  # shape (s,): states that a hard ground clause forbids
    parent: IntArray  # shape (f,): the parent of each variable, -1 for roots
    # Shape (f + 1,): the edge from variable u to its parent has pair entries `pair_start[u]` to `pair_start[u + 1] - 1` of its own, besides
    # those of a table that edges which are alike share: `table`, shape (f,), which may be empty.
    pair_start: IntArray
    table: IntArray
    table_start: IntArray  # shape (t + 1,): table i has the pair entries `table_start[i]` to `table_start[i + 1] - 1`
    # Shape (p,), ascending per edge and per table: (state of the parent) * (number of states of u) + (state of u).
    pair_cell: IntArray
    forbidden_start: IntArray  # pairs of states that hard rows forbid, laid out likewise: shapes (f + 1,) and (q,)
    forbidden_cell: IntArray


@kernel
def weigh_range(
    indptr: IntArray, indices: IntArray, data: IntArray, weights: FloatArray, first: int, last: int, out: FloatArray
) -> None:
    """Write rows `first` to `last - 1` of (CSR matrix @ weights) to the same places of `out`."""
    # Sums run in the order of the indices, so they are the same however the rows are divided into calls. Scipy makes `indptr` and `indices`
    # int32 where they fit.
    for row in range(first, last):
        total = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * weights[indices[k]]
        out[row] = total


@inner
def _first(cells: IntArray, begin: int, end: int, cell: int) -> int:
    # The first entry in begin..end-1 that stands at `cell` or after it.
    while begin < end:
        middle = (begin + end) // 2
        if cells[middle] < cell:
            begin = middle + 1
        else:
            end = middle
    return begin


@inner
def _edge_row(
    forest: ForestArrays,
    theta_pair: FloatArray,
    v: int,
    width: int,
    above: int,
    message: FloatArray,
    t: int,
    i: int,
    j: int,
    out: FloatArray,
) -> tuple[int, int, int]:
    # What each state of v is worth when its parent is in state `above`; t, i and j are the first entries of that state: of the table, of the edge, and
    # forbidden ones.
    for s in range(width):
        out[s] = message[s]
    low, high = above * width, (above + 1) * width
    while t < forest.table_start[forest.table[v] + 1] and forest.pair_cell[t] < high:
        out[forest.pair_cell[t] - low] += theta_pair[t]
        t += 1
    while i < forest.pair_start[v + 1] and forest.pair_cell[i] < high:
        out[forest.pair_cell[i] - low] += theta_pair[i]
        i += 1
    while j < forest.forbidden_start[v + 1] and forest.forbidden_cell[j] < high:
        out[forest.forbidden_cell[j] - low] = -np.inf
        j += 1
    return t, i, j


@inner
def _best(values: FloatArray, count: int) -> int:
    best = 0
    for k in range(1, count):
        if values[k] > values[best]:
            best = k
    return best


@kernel
def solve_range(
    forest: ForestArrays,
    theta_unary: FloatArray,
    theta_pair: FloatArray,
    first: int,
    last: int,
    world: BoolArray,
) -> tuple[int, float]:
    """Write the most probable states of the variables `first` to `last - 1`, which must be whole components, into `world`.

    Returns -1 and the best value; or, when hard clauses cannot hold, the root of a component that has no world, and minus infinity, `world`
    untouched. States add `theta_unary` (log-odds, 0 for none), and pair entries `theta_pair` when both of their states are taken.
    """
    base = forest.state_start[first]
    belief = np.empty(forest.state_start[last] - base)
    widest = 1
    for v in range(first, last):
        widest = max(widest, forest.state_start[v + 1] - forest.state_start[v])
        for s in range(forest.state_start[v], forest.state_start[v + 1]):
            belief[s - base] = -np.inf if forest.state_forbidden[s] else theta_unary[s]
    row = np.empty(widest)
    value = 0.0
    for v in range(last - 1, first - 1, -1):
        start, width = forest.state_start[v] - base, forest.state_start[v + 1] - forest.state_start[v]
        message = belief[start : start + width]
        up = forest.parent[v]
        if up < 0:
            best = message[_best(message, width)]
            if best == -np.inf:
                return v, -np.inf
            value += best
            continue
        t, i, j = forest.table_start[forest.table[v]], forest.pair_start[v], forest.forbidden_start[v]
        for s in range(forest.state_start[up + 1] - forest.state_start[up]):
            t, i, j = _edge_row(forest, theta_pair, v, width, s, message, t, i, j, row)
            belief[forest.state_start[up] - base + s] += row[_best(row, width)]
    # Ties go to the lowest state: of all best worlds this is the one whose states are lexicographically first in the order of the variables
    # (roots first), as far as float sums that should be equal are equal.
    chosen = np.empty(last - first, dtype=np.int64)
    for v in range(first, last):
        start, width = forest.state_start[v] - base, forest.state_start[v + 1] - forest.state_start[v]
        message = belief[start : start + width]
        up = forest.parent[v]
        if up < 0:
            chosen[v - first] = _best(message, width)
        else:
            above = chosen[up - first]
            t = forest.table[v]
            t = _first(forest.pair_cell, forest.table_start[t], forest.table_start[t + 1], above * width)
            i = _first(forest.pair_cell, forest.pair_start[v], forest.pair_start[v + 1], above * width)
            j = _first(forest.forbidden_cell, forest.forbidden_start[v], forest.forbidden_start[v + 1], above * width)
            _edge_row(forest, theta_pair, v, width, above, message, t, i, j, row)
            chosen[v - first] = _best(row, width)
        for s in range(width):
            atom = forest.state_atom[base + start + s]
            if atom >= 0:
                world[atom] = s == chosen[v - first]
    return -1, value


# ---- the forests of a network ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ForestProgram:
    """All forest components of a network, compiled once and solved for any weights.

    With `w` the weights (0 for hard clauses) and `u` a number for each atom (soft evidence, a loss), a world y of the forest scores, up to
    a constant, `sum over true states of (unary @ w + u)` + `sum over pair entries whose two states are true of pairs @ w`.
    """

    arrays: ForestArrays  # sorted by example, then by component, each component's parents before their children
    # Integers, canonical, shape (s, m): what each state adds to the counts n; columns of hard clauses are empty.
    unary: sparse.csr_array
    # Integers, canonical, shape (p, m): what each pair entry, first of edges, then of tables, adds to the counts n.
    pairs: sparse.csr_array
    uses: IntArray  # shape (t,): how many edges have each table
    rows: int  # ground clauses of two or more literals that all these are
    variable: IntArray  # shape (f,): the variable of `Structure.variables` at each place
    # Shape (c + 1,): component i has the places `component_start[i]` to `component_start[i + 1] - 1`.
    component_start: IntArray
    examples: IntArray  # shape (e,): the examples that have forest components, ascending
    # Shape (e + 1,): example i has the places `example_start[i]` to `example_start[i + 1] - 1`: the range for `solve_range`.
    example_start: IntArray

    def weigh(self, weights: FloatArray, linear: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what states and pair entries add to the objective, for `solve_range`, with `linear` what each true atom adds besides clauses."""
        # Weights are finite also for hard clauses, whose entries do not matter.
        unary = np.asarray(self.unary @ weights, dtype=np.float64)
        atom = self.arrays.state_atom
        unary[atom >= 0] += linear[atom[atom >= 0]]
        return unary, np.asarray(self.pairs @ weights, dtype=np.float64)

    @cached_property
    def entry_uses(self) -> IntArray:
        """How many edges have each pair entry, shape (p,)."""
        own = np.ones(int(self.arrays.pair_start[-1]), dtype=np.int64)
        return np.concatenate([own, np.repeat(self.uses, np.diff(self.arrays.table_start))])

    def pair_magnitude(self, size: FloatArray) -> float:
        """Return a bound on what the pair entries of all edges add, in absolute values, if clauses add up to `size`, shape (m,)."""
        alone = np.repeat(self.entry_uses == 1, np.diff(self.pairs.indptr))
        # Integers by clause, and a sum that is rounded once: no order of edges or tables is in it.
        once = np.bincount(self.pairs.indices[alone], weights=np.abs(self.pairs.data[alone]), minlength=len(size))
        shared = np.flatnonzero(self.uses > 1)
        if not len(shared):
            return float(once @ size)
        # Of a table that many edges have one entry counts for each of them.
        cells, start = np.asarray(abs(self.pairs) @ size, dtype=np.float64), self.arrays.table_start
        most = [float(cells[start[t] : start[t + 1]].max(initial=0.0)) for t in shared.tolist()]
        return float(once @ size) + math.fsum((self.uses[shared] * np.array(most)).tolist())

    def solve(self, theta_unary: FloatArray, theta_pair: FloatArray, world: BoolArray) -> int:
        """Write the most probable states of all forest components into `world`; return -1, or a variable whose component has no world."""
        place, _ = solve_range(self.arrays, theta_unary, theta_pair, 0, len(self.variable), world)
        return place if place < 0 else int(self.variable[place])


def _order(structure: Structure) -> tuple[IntArray, IntArray]:
    # Breadth-first from one virtual root that points at the first variable of every component: all trees in one call.
    variables, component, edges = structure.variables, structure.component, structure.edges
    v = len(component)
    _, root = np.unique(component, return_index=True)
    root = root[structure.forest]
    tail = np.concatenate([edges[:, 0], edges[:, 1], np.full(len(root), v)])
    head = np.concatenate([edges[:, 1], edges[:, 0], root])
    graph = sparse.coo_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(v + 1, v + 1)).tocsr()
    reached, before = csgraph.breadth_first_order(graph, v, directed=True)
    reached = reached[1:].astype(np.int64)
    rank = np.zeros(v, dtype=np.int64)
    rank[reached] = np.arange(len(reached))
    first_atom = variables.atom[variables.start[:-1] + ~variables.exact]
    first = np.unique(component, return_index=True)[1]
    example = structure.network.example[first_atom[first]][component] if v else component
    order = reached[np.lexsort((rank[reached], component[reached], example[reached]))]
    place = np.full(v + 1, -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    return order, place[before.astype(np.int64)[order]]


def _cross(
    start_a: IntArray, count_a: IntArray, start_b: IntArray, count_b: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    # All pairs (one of range a, one of range b) of each group: the group, and the two positions.
    total = count_a * count_b
    group = np.repeat(np.arange(len(total), dtype=np.int64), total)
    inner = ragged_ranges(np.zeros_like(total), total)
    return group, start_a[group] + inner // count_b[group], start_b[group] + inner % count_b[group]


def _holding(sides: Sides, variables: StateVariables) -> tuple[IntArray, IntArray]:
    # The states in which each side holds, as (start of each side, states inside the variable).
    width = np.where(sides.member, 1, variables.size[sides.variable])
    begin = pointers(width)
    term_state = variables.state_of_atom[sides.term]
    states = ragged_ranges(np.where(sides.member, term_state[sides.term_start[:-1]], 0), width)
    kept = np.ones(len(states), dtype=np.bool_)
    per_side = np.diff(sides.term_start)
    excluded = ~np.repeat(sides.member, per_side)
    kept[(np.repeat(begin[:-1], per_side) + term_state)[excluded]] = False
    return pointers(np.add.reduceat(kept, begin[:-1], dtype=np.int64) if len(width) else width), states[kept]


class _Compiler:
    # Where the variables of the forest components of a network stand, their states, and intermediate arrays that the pieces of a program share.

    def __init__(self, structure: Structure) -> None:
        self.structure, self.variables, self.sides = structure, structure.variables, structure.sides
        self.order, self.parent = _order(structure)
        size = self.variables.size
        self.place = np.full(len(size), -1, dtype=np.int64)
        self.place[self.order] = np.arange(len(self.order))
        self.width = size[self.order]
        self.state_start = pointers(self.width)
        self.state_atom = self.variables.atom[ragged_ranges(self.variables.start[self.order], self.width)]
        self.state_of = np.full(len(structure.network.atoms), -1, dtype=np.int64)
        real = np.flatnonzero(self.state_atom >= 0)
        self.state_of[self.state_atom[real]] = real

        # Where the dense table of each edge would start if all tables stood in one array: keys of pair entries.
        self.table = pointers(np.where(self.parent >= 0, self.width * self.width[self.parent], 0))
        inside = np.zeros(len(structure.row_component), dtype=np.bool_)
        linked = structure.row_component >= 0
        inside[linked] = structure.forest[structure.row_component[linked]]
        hard = structure.network.hard[structure.rows.clause]
        self.soft_rows, self.hard_rows = inside & ~hard, inside & hard
        self.per_row = np.diff(self.sides.row_start)

    def cells(self, left: IntArray, right: IntArray, state_left: IntArray, state_right: IntArray) -> IntArray:
        """Return keys of pair entries between sides `left` and `right` of one row, whichever of them is the child."""
        a, b = self.place[self.sides.variable[left]], self.place[self.sides.variable[right]]
        swapped = self.parent[b] == a
        child = np.where(swapped, b, a)
        above = np.where(swapped, state_left, state_right)
        below = np.where(swapped, state_right, state_left)
        return np.asarray(self.table[child] + above * self.width[child] + below, dtype=np.int64)

    def edge_entries(self, key: IntArray) -> tuple[IntArray, IntArray]:
        """Return sorted keys of pair entries as (start of each edge, cell inside the edge's table)."""
        start = np.searchsorted(key, self.table)
        return start, key - np.repeat(self.table[:-1], np.diff(start))

    def unary(self, columns: int) -> sparse.csr_array:
        """Return what each clause adds to each state of a single variable, as a matrix."""
        network, sides = self.structure.network, self.sides
        side = np.flatnonzero(self.soft_rows[sides.row])
        units = self._units(columns)
        if not len(side):
            return units
        row = sides.row[side]
        # The other side of a two-sided row multiplies by its constant, which is 0 for a member side.
        other = np.where(side == sides.row_start[row], side + 1, side - 1)
        other = np.where(self.per_row[row] == 1, side, other)
        times = np.where((self.per_row[row] == 2) & sides.member[other], 0, np.where(sides.member[side], 1, -1))
        side, row, times = side[times != 0], row[times != 0], times[times != 0]
        clause = self.structure.rows.clause[row]
        value = -network.sign[clause] * self.structure.rows.multiplicity[row] * times
        terms = np.diff(sides.term_start)[side]
        atom = sides.term[ragged_ranges(sides.term_start[side], terms)]
        shape = len(self.state_atom), columns
        found = units + canonical(np.repeat(value, terms), self.state_of[atom], np.repeat(clause, terms), shape)
        found.sum_duplicates()
        return found

    def _units(self, columns: int) -> sparse.csr_array:
        # Ground clauses of one literal, which are many: the rows of a matrix in another order.
        network, atom = self.structure.network, self.state_atom
        units, real = network.units, atom >= 0
        pointer = np.asarray(units.indptr, dtype=np.int64)
        length = np.where(real, np.diff(pointer)[atom], 0)
        place = ragged_ranges(np.where(real, pointer[:-1][atom], 0), length)
        data, indices = np.asarray(units.data[place], dtype=np.int64), units.indices[place]
        found = sparse.csr_array((data, indices, pointers(length)), shape=(len(atom), columns))
        found.sum_duplicates()
        found.data[network.hard[found.indices]] = 0
        found.eliminate_zeros()
        return found

    def pairs(self, columns: int) -> tuple[IntArray, sparse.csr_array]:
        """Return the entries of pair tables that clauses touch, and what each clause adds to them, as a matrix."""
        network, sides = self.structure.network, self.sides
        row = np.flatnonzero(self.soft_rows & (self.per_row == 2))
        left = sides.row_start[row]
        count = np.diff(sides.term_start)
        group, a, b = _cross(sides.term_start[left], count[left], sides.term_start[left + 1], count[left + 1])
        left, row = left[group], row[group]
        state = self.variables.state_of_atom
        key = self.cells(left, left + 1, state[sides.term[a]], state[sides.term[b]])
        clause = self.structure.rows.clause[row]
        value = -network.sign[clause] * self.structure.rows.multiplicity[row]
        value = np.where(sides.member[left] == sides.member[left + 1], value, -value)
        keys, index = np.unique(key, return_inverse=True)
        return keys, canonical(value, index, clause, (len(keys), columns))

    def forbidden_states(self) -> BoolArray:
        """Return which states hard ground clauses of one variable forbid."""
        forbidden = np.zeros(len(self.state_atom), dtype=np.bool_)
        literal = distinct_values(self.structure.network.hard_units[:, 1])
        literal = literal[self.state_of[np.abs(literal) - 1] >= 0]
        forbidden[self.state_of[-literal[literal < 0] - 1]] = True
        forced = self.state_of[literal[literal > 0] - 1]
        place = np.searchsorted(self.state_start, forced, side="right") - 1
        required: IntArray = np.repeat(np.bincount(place, minlength=len(self.order)), self.width)
        required[forced] -= 1
        forbidden |= required > 0
        sides = self.sides
        side = np.flatnonzero(self.hard_rows[sides.row] & (self.per_row[sides.row] == 1))
        if not len(side):
            return forbidden
        begin, states = _holding(sides, self.variables)
        inner = states[ragged_ranges(begin[side], np.diff(begin)[side])]
        start = self.state_start[self.place[sides.variable[side]]]
        forbidden[np.repeat(start, np.diff(begin)[side]) + inner] = True
        return forbidden

    def forbidden_pairs(self) -> IntArray:
        """Return the entries of pair tables that hard rows forbid."""
        row = np.flatnonzero(self.hard_rows & (self.per_row == 2))
        if not len(row):
            return np.zeros(0, dtype=np.int64)
        left = self.sides.row_start[row]
        begin, states = _holding(self.sides, self.variables)
        count = np.diff(begin)
        group, a, b = _cross(begin[left], count[left], begin[left + 1], count[left + 1])
        return distinct_values(self.cells(left[group], left[group] + 1, states[a], states[b]))

    def program(
        self, arrays: ForestArrays, unary: sparse.csr_array, pairs: sparse.csr_array, uses: IntArray, rows: int
    ) -> ForestProgram:
        """Return the program of tables; the arguments are its fields."""
        component = self.structure.component[self.order]
        start = np.flatnonzero(np.diff(component, prepend=-1))
        first_atom = self.state_atom[self.state_start[:-1][start] + ~self.variables.exact[self.order[start]]]
        example = self.structure.network.example[first_atom]
        examples, first = np.unique(example, return_index=True)
        total = np.array([len(self.order)], dtype=np.int64)
        return ForestProgram(
            arrays,
            unary,
            pairs,
            uses,
            rows,
            self.order,
            np.concatenate([start, total]),
            examples,
            np.concatenate([start[first], total]),
        )


def canonical(data: IntArray, row: IntArray, column: IntArray, shape: tuple[int, int]) -> sparse.csr_array:
    """Return a sparse matrix that is sorted, merged and without zeros, so that sums of floats always run in the same order."""
    matrix = sparse.coo_array((data, (row, column)), shape=shape).tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def compile_forest(structure: Structure) -> ForestProgram:
    """Compile the forest components of a network, for any weights; components that are no forests are left out."""
    make = _Compiler(structure)
    m = len(structure.network.clauses)
    pair_key, pairs = make.pairs(m)
    pair_start, pair_cell = make.edge_entries(pair_key)
    forbidden_start, forbidden_cell = make.edge_entries(make.forbidden_pairs())
    arrays = ForestArrays(
        make.state_start,
        make.state_atom,
        make.forbidden_states(),
        make.parent,
        pair_start,
        np.zeros(len(make.parent), dtype=np.int64),
        np.zeros(2, dtype=np.int64),
        pair_cell,
        forbidden_start,
        forbidden_cell,
    )
    rows = int((make.soft_rows | make.hard_rows).sum())
    return make.program(arrays, make.unary(m), pairs, np.zeros(1, dtype=np.int64), rows)
