"""Exact max-sum elimination on forests of multi-state variables, in one compiled pass over all components.

The kernel `solve_range` is a numba function that other numba code may call, so that an online learner's loop (predict
one example, update the weights, next) can live in one compiled function.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.kernels import kernel


class ForestArrays(NamedTuple):
    """A forest as the kernel reads it; f variables, s states, p pair entries, q forbidden pair entries.

    Components are contiguous and a parent comes before its children. States of a variable are contiguous: none first,
    if there is one, then members in ascending order of atoms.

    Parameters
    ----------
    state_start : int64 array, shape (f + 1,)
        Variable u has states `state_start[u]` to `state_start[u + 1] - 1`.
    state_atom : int64 array, shape (s,)
        The local atom that each state makes true, -1 for none.
    state_forbidden : bool array, shape (s,)
        States that a hard ground clause forbids.
    parent : int64 array, shape (f,)
        The parent of each variable, -1 for roots.
    pair_start : int64 array, shape (f + 1,)
        The edge from variable u to its parent has the pair entries `pair_start[u]` to `pair_start[u + 1] - 1`.
    pair_cell : int64 array, shape (p,)
        Where the entry stands: (state of the parent) * (number of states of u) + (state of u), ascending per edge.
    forbidden_start, forbidden_cell : int64 arrays, shapes (f + 1,) and (q,)
        Pairs of states that hard rows forbid, laid out likewise.
    """

    state_start: IntArray
    state_atom: IntArray
    state_forbidden: BoolArray
    parent: IntArray
    pair_start: IntArray
    pair_cell: IntArray
    forbidden_start: IntArray
    forbidden_cell: IntArray


@kernel
def weigh_range(
    indptr: IntArray, indices: IntArray, data: IntArray, weights: FloatArray, first: int, last: int, out: FloatArray
) -> None:
    """Rows first to last - 1 of (CSR matrix @ weights), written to the same places of `out`.

    Sums run in the order of the indices, so they are the same however the rows are divided into calls.

    Parameters
    ----------
    indptr, indices, data : int arrays (scipy makes the first two int32 where they fit)
        The CSR matrix, for example `ForestProgram.unary`.
    weights : float array, shape (m,)
        The weights (log-odds).
    first, last : int
        The rows.
    out : float array
        Overwritten from `first` to `last - 1`.
    """
    for row in range(first, last):
        total = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * weights[indices[k]]
        out[row] = total


@kernel
def _first(cells: IntArray, begin: int, end: int, cell: int) -> int:
    # The first entry in begin..end-1 that stands at `cell` or after it.
    while begin < end:
        middle = (begin + end) // 2
        if cells[middle] < cell:
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel
def _edge_row(
    forest: ForestArrays,
    theta_pair: FloatArray,
    v: int,
    width: int,
    above: int,
    message: FloatArray,
    i: int,
    j: int,
    out: FloatArray,
) -> tuple[int, int]:
    # What each state of v is worth when its parent is in state `above`; i and j are the first entries of that state.
    for s in range(width):
        out[s] = message[s]
    low, high = above * width, (above + 1) * width
    while i < forest.pair_start[v + 1] and forest.pair_cell[i] < high:
        out[forest.pair_cell[i] - low] += theta_pair[i]
        i += 1
    while j < forest.forbidden_start[v + 1] and forest.forbidden_cell[j] < high:
        out[forest.forbidden_cell[j] - low] = -np.inf
        j += 1
    return i, j


@kernel
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
    """The most probable states of the variables first to last - 1, which must be whole components.

    Ties go to the lowest state: of all best worlds it finds the one whose states are lexicographically first in the
    order of the variables (roots first), as far as float sums that should be equal are equal.

    Parameters
    ----------
    forest : ForestArrays
        The forest.
    theta_unary : float array, shape (s,)
        What each state adds to the objective (log-odds); 0 for none.
    theta_pair : float array, shape (p,)
        What each pair entry adds when both of its states are taken.
    first, last : int
        The range of variables, for example those of one example.
    world : bool array, shape (n,)
        The atoms of these variables are overwritten, no others.

    Returns
    -------
    tuple of int and float
        -1 and the best value; or, when hard clauses cannot hold, the root of a component that has no world, and
        minus infinity, `world` untouched.
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
        i, j = forest.pair_start[v], forest.forbidden_start[v]
        for s in range(forest.state_start[up + 1] - forest.state_start[up]):
            i, j = _edge_row(forest, theta_pair, v, width, s, message, i, j, row)
            belief[forest.state_start[up] - base + s] += row[_best(row, width)]
    chosen = np.empty(last - first, dtype=np.int64)
    for v in range(first, last):
        start, width = forest.state_start[v] - base, forest.state_start[v + 1] - forest.state_start[v]
        message = belief[start : start + width]
        up = forest.parent[v]
        if up < 0:
            chosen[v - first] = _best(message, width)
        else:
            above = chosen[up - first]
            i = _first(forest.pair_cell, forest.pair_start[v], forest.pair_start[v + 1], above * width)
            j = _first(forest.forbidden_cell, forest.forbidden_start[v], forest.forbidden_start[v + 1], above * width)
            _edge_row(forest, theta_pair, v, width, above, message, i, j, row)
            chosen[v - first] = _best(row, width)
        for s in range(width):
            atom = forest.state_atom[base + start + s]
            if atom >= 0:
                world[atom] = s == chosen[v - first]
    return -1, value
