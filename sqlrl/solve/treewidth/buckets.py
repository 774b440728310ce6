"""Tables of bucket elimination: one for each variable, over it and the neighbours it has when it is eliminated.

A table has its own variable as the fastest dimension, then the neighbours in elimination order, so that the message to
the parent (the first of the neighbours) is a reduction over contiguous cells, and has the parent as its fastest
dimension.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray, ragged_ranges
from sqlrl.kernels import inlined, inner
from sqlrl.solve.structure import pointers
from sqlrl.solve.treewidth.order import Order


class Buckets(NamedTuple):
    """Tables of elimination with the rows of a network: b buckets, one for each variable, in elimination order, component by component."""

    # Shape (c + 1,): component i has the buckets `component_start[i]` to `component_start[i + 1] - 1`; the last is its root.
    component_start: IntArray
    parent: IntArray  # shape (b,): the bucket that gets the message, -1 for roots; always a later one
    children: IntArray  # shape (b,): how many messages it gets
    dim_start: IntArray  # shape (b + 1,): bucket i has the dimensions `dim[dim_start[i]:dim_start[i + 1]]`
    dim: IntArray  # the bucket of each dimension's variable: the bucket itself, its parent, then others, ascending
    width: IntArray  # shape (b,): states of its own variable
    cells: IntArray  # shape (b,): cells of its table
    # Shape (b,): where its table begins if the tables of its component stand one after the other.
    table_start: IntArray
    # Shape (b + 1,): its own variable has the states `state_start[i]` to `state_start[i + 1] - 1`.
    state_start: IntArray
    state_atom: IntArray  # the atom that each state makes true, -1 for none
    state_value: FloatArray  # what each state adds to the score
    # Shape (b + 1,): bucket i has the rows of which its variable is eliminated first, `row[row_start[i]:row_start[i + 1]]`, ascending.
    row_start: IntArray
    row: IntArray
    side_start: IntArray  # shape (r + 1,): row j has the sides `side_start[j]` to `side_start[j + 1] - 1`, see `Sides`
    side_bucket: IntArray  # the bucket of the side's variable
    side_member: BoolArray  # the side holds in one state only
    # Shape (sides + 1,): that state, or the states in which the side does not hold, ascending, are its terms.
    term_start: IntArray
    term_state: IntArray
    cost: FloatArray  # shape (r,): of violating the row, infinite for hard rows


class BucketScratch(NamedTuple):
    """Working memory for one component at a time, large enough for each."""

    tables: FloatArray  # those of a component
    cell: IntArray  # places in a table
    states: IntArray  # those of one variable
    message: FloatArray  # it and the next two are of the shape of a message
    gathered: FloatArray
    sums: FloatArray


def component_sums(buckets: Buckets, values: IntArray) -> IntArray:
    """Sums of one integer for each bucket over the buckets of each component, shape (c,)."""
    total = pointers(values)
    return np.asarray(np.diff(total[buckets.component_start]), dtype=np.int64)


def compile_buckets(order: Order, linear: FloatArray, cost: FloatArray) -> Buckets:
    """Lay out the tables of an order within its bounds; true atoms add `linear`, violated rows cost `cost`, infinite for hard rows."""
    variables, sides, b = order.variables, order.sides, len(order.sequence)
    place = np.empty(len(variables.exact), dtype=np.int64)
    place[order.sequence] = np.arange(b)
    width = variables.size[order.sequence]
    dim_start = order.scope_start + np.arange(b + 1)
    dim = np.empty(int(dim_start[-1]), dtype=np.int64)
    own = np.zeros(len(dim), dtype=np.bool_)
    own[dim_start[:-1]] = True
    dim[own], dim[~own] = np.arange(b), order.scope
    has_parent = np.diff(order.scope_start) > 0
    parent = np.full(b, -1, dtype=np.int64)
    parent[has_parent] = order.scope[order.scope_start[:-1][has_parent]]
    cells = np.multiply.reduceat(width[dim], dim_start[:-1]) if b else width
    before = pointers(cells)
    at_root = before[order.component_start[:-1]]
    state = ragged_ranges(variables.start[order.sequence], width)
    atom = variables.atom[state]
    value = np.where(atom >= 0, np.append(linear, 0.0)[atom], 0.0)
    side_bucket = place[sides.variable]
    filled = np.flatnonzero(np.diff(sides.row_start))
    first = np.minimum.reduceat(side_bucket, sides.row_start[filled]) if len(filled) else filled
    return Buckets(
        component_start=order.component_start,
        parent=parent,
        children=np.bincount(parent[has_parent], minlength=b),
        dim_start=dim_start,
        dim=dim,
        width=width,
        cells=cells,
        table_start=before[:-1] - np.repeat(at_root, np.diff(order.component_start)),
        state_start=pointers(width),
        state_atom=atom,
        state_value=value,
        row_start=pointers(np.bincount(first, minlength=b)),
        row=filled[np.argsort(first, kind="stable")],
        side_start=sides.row_start,
        side_bucket=side_bucket,
        side_member=sides.member,
        term_start=sides.term_start,
        term_state=variables.state_of_atom[sides.term],
        cost=cost,
    )


def scratch_for(buckets: Buckets) -> BucketScratch:
    """Working memory for the largest component."""
    tables = int(component_sums(buckets, buckets.cells).max(initial=0))
    width = int(buckets.width.max(initial=1))
    cells = int(buckets.cells.max(initial=1))
    messages = [np.empty(int((buckets.cells // buckets.width).max(initial=1))) for _ in range(3)]
    return BucketScratch(np.empty(tables), np.empty(cells, np.int64), np.empty(width, np.int64), *messages)


@inlined
def row_cells(buckets: Buckets, scratch: BucketScratch, i: int, j: int) -> int:
    """Write to `scratch.cell` the places in `scratch.tables` of bucket i's cells in which all sides of row j hold; return their number."""
    dim, dim_start, width = buckets.dim, buckets.dim_start, buckets.width
    side_start, side_bucket, member = buckets.side_start, buckets.side_bucket, buckets.side_member
    term_start, term_state, cell, states = buckets.term_start, buckets.term_state, scratch.cell, scratch.states
    count, stride = 1, 1
    cell[0] = buckets.table_start[i]
    for d in range(dim_start[i], dim_start[i + 1]):
        side = -1
        for s in range(side_start[j], side_start[j + 1]):
            if side_bucket[s] == dim[d]:
                side = s
        size, term, last = 0, 0, 0
        if side >= 0:
            term, last = term_start[side], term_start[side + 1]
        if side >= 0 and member[side]:
            states[0] = term_state[term]
            size = 1
        else:
            for s in range(width[dim[d]]):
                if term < last and term_state[term] == s:
                    term += 1
                else:
                    states[size] = s
                    size += 1
        for t in range(size - 1, -1, -1):
            step = states[t] * stride
            for o in range(count):
                cell[t * count + o] = cell[o] + step
        count *= size
        stride *= width[dim[d]]
    return count


@inner
def _add_rows(buckets: Buckets, scratch: BucketScratch, begin: int, end: int) -> None:
    # Take the cost of each row of buckets begin to end - 1 from the cells in which all of its sides hold. One call for
    # all of them: a call costs a reference count for each array.
    rows, row_start, cost, tables, cell = buckets.row, buckets.row_start, buckets.cost, scratch.tables, scratch.cell
    for i in range(begin, end):
        for r in range(row_start[i], row_start[i + 1]):
            j = rows[r]
            for o in range(row_cells(buckets, scratch, i, j)):
                tables[cell[o]] -= cost[j]


@inner
def load(buckets: Buckets, scratch: BucketScratch, c: int) -> None:
    """Write the tables of component c, into `scratch.tables`: what states add, less the costs of rows."""
    load_states(buckets, scratch, c)
    _add_rows(buckets, scratch, buckets.component_start[c], buckets.component_start[c + 1])


@inlined
def load_states(buckets: Buckets, scratch: BucketScratch, c: int) -> None:
    """Write the tables of component c, into `scratch.tables`, without its rows."""
    tables, value, state_start = scratch.tables, buckets.state_value, buckets.state_start
    table_start, cells, width = buckets.table_start, buckets.cells, buckets.width
    for i in range(buckets.component_start[c], buckets.component_start[c + 1]):
        for first in range(table_start[i], table_start[i] + cells[i], width[i]):
            for s in range(width[i]):
                tables[first + s] = value[state_start[i] + s]


@inner
def project(dim: IntArray, dim_start: IntArray, width: IntArray, i: int, up: int, cell: IntArray) -> int:
    """Write to `cell` where runs of cells of the parent's table are in the message of bucket i; return how many runs there are."""
    # Entry o is the place of the o-th run of cells that differ in the parent's own state only; those stand side by side in both.
    count, stride = 1, width[up]
    mine, end = dim_start[i] + 2, dim_start[i + 1]
    cell[0] = 0
    for d in range(dim_start[up] + 1, dim_start[up + 1]):
        size, step = width[dim[d]], 0
        if mine < end and dim[mine] == dim[d]:
            step = stride
            stride *= size
            mine += 1
        for t in range(1, size):
            for o in range(count):
                cell[t * count + o] = cell[o] + t * step
        count *= size
    return count
