"""Elimination orders by min-fill over multi-state variables, for all components at once, within a bound on tables.

Eliminating a variable needs a table over it and its neighbours, and joins those neighbours to each other. An order with
small tables is found greedily: first leaves, which join nothing, then always a variable that adds the fewest new pairs.
A component of which every remaining table would be too large is given up at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from sqlrl.ground.network import BoolArray, IntArray, ragged_ranges
from sqlrl.solve.structure import Sides, StateVariables, StructureRows, pointers, sides_of, variables_of
from sqlrl.solve.treewidth.interaction import later_neighbours
from sqlrl.solve.treewidth.minfill import search_order, start_search

BUCKET_CELLS = 2**18
"""The default bound on the cells of one table."""

COMPONENT_CELLS = 2**22
"""The default bound on the cells of all tables of one component."""


@dataclass(frozen=True, eq=False)
class Order:
    """In which order to eliminate variables, and between which of them tables stand."""

    variables: StateVariables
    sides: Sides
    component: IntArray  # shape (v,): of each variable, in ascending order of the first variable
    within: BoolArray  # shape (components,): which stay within the bounds
    # Shape (b,): the variables of these components in elimination order, components one after the other.
    sequence: IntArray
    # Of the components within the bounds, the i-th one has the places `component_start[i]` to `component_start[i + 1] - 1` of `sequence`.
    component_start: IntArray
    # Shape (b + 1,): the neighbours of place i when it is eliminated are `scope[scope_start[i]:scope_start[i + 1]]`.
    scope_start: IntArray
    scope: IntArray  # places in `sequence`, ascending; all after the place whose neighbours they are


def _components(sides: Sides, v: int) -> tuple[int, IntArray]:
    # csgraph numbers components in ascending order of their first nodes.
    if v == 0:
        return 0, np.empty(0, dtype=np.int64)
    first = sides.variable[sides.row_start[sides.row]]
    link = sparse.coo_array((np.ones(len(first), dtype=np.int8), (first, sides.variable)), shape=(v, v))
    count, label = csgraph.connected_components(link, directed=False)
    return count, label.astype(np.int64)


def _wide(sides: Sides, width: IntArray, bound: int) -> BoolArray:
    # Rows whose own table would be too large; those of one variable need no other table than its own.
    length = np.diff(sides.row_start)
    wide = np.zeros(len(length), dtype=np.bool_)
    filled = np.flatnonzero(length)
    with np.errstate(over="ignore"):
        states = width[sides.variable].astype(np.float64)
        cells = np.multiply.reduceat(states, sides.row_start[filled]) if len(filled) else states
    wide[filled] = (cells > bound) & (length[filled] > 1)
    return wide


def elimination_order(
    rows: StructureRows, *, bucket_cells: int = BUCKET_CELLS, component_cells: int = COMPONENT_CELLS
) -> Order:
    """Find an elimination order for every component whose tables stay within bounds; the same for the same input.

    Min-fill (Kjaerulff, "Triangulation of graphs", 1990), among the variables whose tables are small enough; ties go to the smaller table,
    then to the higher variable. Leaves come first, the highest one first, so that the root of a tree is its lowest variable. Whether a
    component is within the bounds depends on the greedy order: one that is not may have a better order.
    """
    if not 1 <= bucket_cells <= 2**40:
        raise ValueError(f"bucket_cells is {bucket_cells}: give 1 to 2**40")
    variables = variables_of(rows)
    sides = sides_of(rows, variables)
    v, most = len(variables.exact), bucket_cells.bit_length() - 1
    components, component = _components(sides, v)
    wide = _wide(sides, np.maximum(variables.size, 2), bucket_cells)
    within = np.ones(components, dtype=np.bool_)
    within[component[sides.variable[sides.row_start[:-1][wide]]]] = False
    if v == 0:
        # The search would be compiled first, which takes seconds.
        nothing, start = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
        return Order(variables, sides, component, within, nothing, start, start, nothing)
    skip = np.diff(sides.row_start) < 2
    linked = np.flatnonzero(~skip)
    skip[linked] = ~within[component[sides.variable[sides.row_start[linked]]]]
    search = start_search(component, variables.size, within, most)
    graph = search_order(sides, skip, search, bucket_cells, component_cells, most)
    size = np.diff(search.start)
    kept = np.repeat(within, size)
    sequence = search.order[kept]
    place = np.full(v, -1, dtype=np.int64)
    place[sequence] = np.arange(len(sequence))
    scope_start = np.zeros(len(sequence) + 1, dtype=np.int64)
    later_neighbours(graph, sequence, place, scope_start, np.empty(0, dtype=np.int64))
    scope = np.empty(int(scope_start[-1]), dtype=np.int64)
    if len(scope):
        later_neighbours(graph, sequence, place, scope_start, scope)
    return Order(variables, sides, component, within, sequence, pointers(size[within]), scope_start, scope)


def part_of_order(order: Order, rows: StructureRows, atoms: BoolArray) -> Order:
    """Return what `elimination_order` finds under the same bounds for whole components, those of `atoms`, without another search."""
    variables = variables_of(rows)
    chosen = np.zeros(len(order.variables.exact), dtype=np.bool_)
    chosen[order.variables.of_atom[atoms]] = True
    used = np.zeros(len(order.within), dtype=np.bool_)
    used[order.component[chosen]] = True
    # Variables, components and places keep their order, so that they only move up.
    kept = chosen[order.sequence]
    size = np.diff(order.scope_start)[kept]
    scope = order.scope[ragged_ranges(order.scope_start[:-1][kept], size)]
    return Order(
        variables,
        sides_of(rows, variables),
        (np.cumsum(used) - 1)[order.component[chosen]],
        np.ones(int(used.sum()), dtype=np.bool_),
        (np.cumsum(chosen) - 1)[order.sequence[kept]],
        pointers(np.diff(order.component_start)[used[order.within]]),
        pointers(size),
        (np.cumsum(kept) - 1)[scope],
    )
