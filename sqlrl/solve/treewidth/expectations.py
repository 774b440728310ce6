"""Sums over the worlds of components, for any costs: log partition functions, and how probable states and violations are.

Messages go up in logarithms, and each table is left as the probabilities of its variable's states given the neighbours that it had when it
was eliminated. The way down only multiplies these: a table costs one exponential a cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.solve.treewidth.buckets import Buckets, BucketScratch, load_states, project, row_cells

LISTED = 1024
"""Cells of the largest table whose rows have their cells listed."""


class RowCells(NamedTuple):
    """The cells in which all sides of a row hold, found once for all costs, since finding them takes longer than using them."""

    # Shape (rows + 1,): the r-th row that stands in a bucket (`Buckets.row`) has the cells `cell[start[r]:start[r + 1]]`; none is listed in tables of
    # more than `LISTED` cells, where a row may have thousands.
    start: IntArray
    cell: npt.NDArray[np.int32]  # places in the tables of the component


def list_row_cells(buckets: Buckets, scratch: BucketScratch) -> RowCells:
    """Find the cells of all rows in narrow tables."""
    start = np.zeros(len(buckets.row) + 1, dtype=np.int64)
    cell = np.empty(0, dtype=np.int32)
    _list(buckets, scratch, start, cell, fill=False)
    np.cumsum(start, out=start)
    cell = np.empty(int(start[-1]), dtype=np.int32)
    _list(buckets, scratch, start, cell, fill=True)
    return RowCells(start, cell)


@kernel
def _list(buckets: Buckets, scratch: BucketScratch, start: IntArray, cell: npt.NDArray[np.int32], fill: bool) -> None:
    # How many cells each row has, into the place after its own; or the cells, where these numbers are sums already.
    for i in range(len(buckets.cells)):
        if buckets.cells[i] > LISTED:
            continue
        for r in range(buckets.row_start[i], buckets.row_start[i + 1]):
            count = row_cells(buckets, scratch, i, buckets.row[r])
            if fill:
                for o in range(count):
                    cell[start[r] + o] = scratch.cell[o]
            else:
                start[r + 1] = count


@inner
def _load(buckets: Buckets, scratch: BucketScratch, listed: RowCells, c: int) -> None:
    # As `load`.
    load_states(buckets, scratch, c)
    rows, row_start, cost, tables, cell = buckets.row, buckets.row_start, buckets.cost, scratch.tables, scratch.cell
    start, places = listed.start, listed.cell
    for i in range(buckets.component_start[c], buckets.component_start[c + 1]):
        narrow = buckets.cells[i] <= LISTED
        for r in range(row_start[i], row_start[i + 1]):
            each = cost[rows[r]]
            if narrow:
                for k in range(start[r], start[r + 1]):
                    tables[places[k]] -= each
            else:
                for o in range(row_cells(buckets, scratch, i, rows[r])):
                    tables[cell[o]] -= each


@inner
def _condition(table: FloatArray, width: int, message: FloatArray) -> float:
    # Of each run of cells the logarithm of the sum of their exponentials; the cells become shares of it. Returns the greatest.
    top = -np.inf
    for m in range(len(table) // width):
        first = m * width
        best = table[first]
        for p in range(first + 1, first + width):
            best = max(best, table[p])
        if best == -np.inf:
            message[m] = best
            for p in range(first, first + width):
                table[p] = 0.0
            continue
        total = 0.0
        for p in range(first, first + width):
            table[p] = np.exp(table[p] - best)
            total += table[p]
        for p in range(first, first + width):
            table[p] /= total
        message[m] = best + np.log(total)
        top = max(top, message[m])
    return top


@inner
def _rise(buckets: Buckets, scratch: BucketScratch, listed: RowCells, c: int) -> float:
    # The log partition function of component c, and conditional probabilities in its tables.
    _load(buckets, scratch, listed, c)
    tables, message, cell = scratch.tables, scratch.message, scratch.cell
    table_start, cells, parent = buckets.table_start, buckets.cells, buckets.parent
    dim, dim_start, widths = buckets.dim, buckets.dim_start, buckets.width
    value = 0.0
    for i in range(buckets.component_start[c], buckets.component_start[c + 1]):
        top = _condition(tables[table_start[i] : table_start[i] + cells[i]], widths[i], message)
        # Messages have 0 as their greatest entry, so that rounding does not grow with the component.
        value += top
        up = parent[i]
        if top == -np.inf or up < 0:
            break
        start, width = table_start[up], widths[up]
        for o in range(project(dim, dim_start, widths, i, up, cell)):
            for s in range(width):
                tables[start + o * width + s] += message[cell[o] + s] - top
    return value


@inner
def _fall(buckets: Buckets, scratch: BucketScratch, c: int) -> None:
    # From conditional probabilities to those of the cells of every table, the root's first.
    tables, cell, sums = scratch.tables, scratch.cell, scratch.sums
    table_start, cells, parent = buckets.table_start, buckets.cells, buckets.parent
    dim, dim_start, widths = buckets.dim, buckets.dim_start, buckets.width
    for i in range(buckets.component_start[c + 1] - 2, buckets.component_start[c] - 1, -1):
        width, up = widths[i], parent[i]
        start, size = table_start[i], cells[i] // width
        for m in range(size):
            sums[m] = 0.0
        above, step = table_start[up], widths[up]
        for o in range(project(dim, dim_start, widths, i, up, cell)):
            for s in range(step):
                sums[cell[o] + s] += tables[above + o * step + s]
        for m in range(size):
            for p in range(start + m * width, start + (m + 1) * width):
                tables[p] *= sums[m]


@inner
def _read(
    buckets: Buckets, scratch: BucketScratch, listed: RowCells, c: int, state: FloatArray, violated: FloatArray
) -> None:
    # Probabilities of the states of each variable, and that each row is violated, from those of cells.
    tables, table_start, cells, widths = scratch.tables, buckets.table_start, buckets.cells, buckets.width
    state_start, row_start, row, cell = buckets.state_start, buckets.row_start, buckets.row, scratch.cell
    start, places = listed.start, listed.cell
    for i in range(buckets.component_start[c], buckets.component_start[c + 1]):
        at, width = state_start[i], widths[i]
        for s in range(width):
            state[at + s] = 0.0
        for first in range(table_start[i], table_start[i] + cells[i], width):
            for s in range(width):
                state[at + s] += tables[first + s]
        for r in range(row_start[i], row_start[i + 1]):
            total = 0.0
            if cells[i] <= LISTED:
                for k in range(start[r], start[r + 1]):
                    total += tables[places[k]]
            else:
                for o in range(row_cells(buckets, scratch, i, row[r])):
                    total += tables[cell[o]]
            violated[row[r]] = total


@kernel
def expectations(
    buckets: Buckets,
    scratch: BucketScratch,
    listed: RowCells,
    components: IntArray,
    work: IntArray,
    first: int,
    value: FloatArray,
    state: FloatArray,
    violated: FloatArray,
    limit: int,
) -> tuple[int, bool]:
    """Sum over the worlds of some `components`, from the `first` of them on, for about `limit` steps; each takes `work` of them, shape (c,).

    Of these components `value`, shape (c,), gets the log partition function, `state` the probability of each state, and `violated`, shape
    (r,), that a row in a table is violated. Returns the place in `components` to go on from (their number at the end) and True, or that of
    the component that has no world and False.
    """
    steps = 0
    for place in range(first, len(components)):
        if steps > limit:
            return place, True
        c = components[place]
        steps += work[c]
        value[c] = _rise(buckets, scratch, listed, c)
        if value[c] == -np.inf:
            return place, False
        _fall(buckets, scratch, c)
        _read(buckets, scratch, listed, c, state, violated)
    return len(components), True
