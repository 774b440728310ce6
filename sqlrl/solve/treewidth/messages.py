"""Messages between the tables of bucket elimination: max-sum with traceback, and beliefs of all variables."""

from __future__ import annotations

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.solve.treewidth.buckets import Buckets, BucketScratch, load, project


@inner
def _reduce(table: FloatArray, width: int, total: bool, message: FloatArray) -> float:
    # The maximum of each run of cells, or the logarithm of the sum of their exponentials; returns the greatest.
    top = -np.inf
    for m in range(len(table) // width):
        best = table[m * width]
        for s in range(m * width + 1, (m + 1) * width):
            best = max(best, table[s])
        if total and best > -np.inf:
            weight = 0.0
            for s in range(m * width, (m + 1) * width):
                weight += np.exp(table[s] - best)
            best += np.log(weight)
        message[m] = best
        top = max(top, best)
    return top


@inner
def _collect(buckets: Buckets, scratch: BucketScratch, c: int, total: bool, centred: bool) -> float:
    # Fill the tables of component c and send all messages up; returns its best score, or its log partition function.
    # Centred messages have 0 as their greatest entry, so that rounding does not grow with the component.
    load(buckets, scratch, c)
    tables, message, cell = scratch.tables, scratch.message, scratch.cell
    table_start, cells, parent = buckets.table_start, buckets.cells, buckets.parent
    dim, dim_start, widths = buckets.dim, buckets.dim_start, buckets.width
    value = 0.0
    for i in range(buckets.component_start[c], buckets.component_start[c + 1]):
        top = _reduce(tables[table_start[i] : table_start[i] + cells[i]], widths[i], total, message)
        if top == -np.inf:
            return float(top)
        up = parent[i]
        if up < 0:
            return float(value + top)
        shift = top if centred else 0.0
        value += shift
        start, width = table_start[up], widths[up]
        for o in range(project(dim, dim_start, widths, i, up, cell)):
            for s in range(width):
                tables[start + o * width + s] += message[cell[o] + s] - shift
    return value


@inner
def _trace(buckets: Buckets, scratch: BucketScratch, c: int, chosen: IntArray, world: BoolArray) -> None:
    # Read the best states off the tables of component c, from its root on; of equals the lowest.
    tables, table_start, widths = scratch.tables, buckets.table_start, buckets.width
    dim, dim_start, atoms, state_start = buckets.dim, buckets.dim_start, buckets.state_atom, buckets.state_start
    for i in range(buckets.component_start[c + 1] - 1, buckets.component_start[c] - 1, -1):
        place, stride = table_start[i], widths[i]
        for d in range(dim_start[i] + 1, dim_start[i + 1]):
            place += chosen[dim[d]] * stride
            stride *= widths[dim[d]]
        best = 0
        for s in range(1, widths[i]):
            if tables[place + s] > tables[place + best]:
                best = s
        chosen[i] = best
        for s in range(widths[i]):
            atom = atoms[state_start[i] + s]
            if atom >= 0:
                world[atom] = s == best


@inner
def best_world(buckets: Buckets, scratch: BucketScratch, c: int, chosen: IntArray, world: BoolArray) -> bool:
    """Find a best world of one component, with the arrays of `best_worlds`; False, and nothing written, if there is none."""
    if _collect(buckets, scratch, c, False, False) == -np.inf:
        return False
    _trace(buckets, scratch, c, chosen, world)
    return True


@kernel
def best_worlds(
    buckets: Buckets, scratch: BucketScratch, work: IntArray, first: int, chosen: IntArray, world: BoolArray, limit: int
) -> tuple[int, bool]:
    """Find a best world of each component from `first` on, for about `limit` steps; each takes `work` of them, shape (c,).

    `chosen`, shape (b,), gets the state of each variable, and `world`, shape (n,), the truth of each atom. Returns the next component (c at the
    end) and True, or the one that has no world and False.
    """
    steps = 0
    for c in range(first, len(work)):
        if steps > limit:
            return c, True
        steps += work[c]
        if not best_world(buckets, scratch, c, chosen, world):
            return c, False
    return len(work), True


@inner
def _gather(table: FloatArray, width: int, cell: IntArray, total: bool, out: FloatArray, sums: FloatArray) -> None:
    # Reduce the parent's table to the cells of a child's message.
    for m in range(len(out)):
        out[m] = -np.inf
    for o in range(len(cell)):
        for s in range(width):
            out[cell[o] + s] = max(out[cell[o] + s], table[o * width + s])
    if not total:
        return
    for m in range(len(out)):
        sums[m] = 0.0
    for o in range(len(cell)):
        for s in range(width):
            value = table[o * width + s]
            if value > -np.inf:
                sums[cell[o] + s] += np.exp(value - out[cell[o] + s])
    for m in range(len(out)):
        if out[m] > -np.inf:
            out[m] += np.log(sums[m])


@inner
def _distribute(buckets: Buckets, scratch: BucketScratch, c: int, total: bool) -> None:
    # Send messages down in component c: each table then holds the scores of its cells with all else at its best, or
    # the logarithms of their probabilities, up to a constant.
    tables, message, cell, sums = scratch.tables, scratch.message, scratch.cell, scratch.sums
    table_start, cells, parent = buckets.table_start, buckets.cells, buckets.parent
    dim, dim_start, widths = buckets.dim, buckets.dim_start, buckets.width
    for i in range(buckets.component_start[c + 1] - 2, buckets.component_start[c] - 1, -1):
        width, up = widths[i], parent[i]
        table = tables[table_start[i] : table_start[i] + cells[i]]
        size = len(table) // width
        _reduce(table, width, total, message)
        count, down = project(dim, dim_start, widths, i, up, cell), scratch.gathered[:size]
        _gather(tables[table_start[up] : table_start[up] + cells[up]], widths[up], cell[:count], total, down, sums)
        top = -np.inf
        for m in range(size):
            if message[m] > -np.inf:
                down[m] -= message[m]  # what the child itself sent up
                top = max(top, down[m])
        for m in range(size):
            for s in range(m * width, (m + 1) * width):
                table[s] += down[m] - top


@inner
def _compare(table: FloatArray, total: bool, state: FloatArray, other: FloatArray) -> None:
    # Of each state of a table's own variable: its share (log probability, or score below the best), and that of the best
    # other state.
    width = len(state)
    for s in range(width):
        best = -np.inf
        for p in range(s, len(table), width):
            best = max(best, table[p])
        if total and best > -np.inf:
            weight = 0.0
            for p in range(s, len(table), width):
                weight += np.exp(table[p] - best)
            best += np.log(weight)
        state[s] = best
    first, second = 0, -1
    for s in range(1, width):
        if state[s] > state[first]:
            first, second = s, first
        elif second < 0 or state[s] > state[second]:
            second = s
    top = state[first]
    if total:
        weight = 0.0
        for s in range(width):
            weight += np.exp(state[s] - top)
        top += np.log(weight)
    for s in range(width):
        state[s] -= top
    for s in range(width):
        if s != first:
            other[s] = state[first]
        else:
            other[s] = state[second] if second >= 0 else -np.inf


@kernel
def beliefs(
    buckets: Buckets,
    scratch: BucketScratch,
    work: IntArray,
    first: int,
    total: bool,
    value: FloatArray,
    state: FloatArray,
    other: FloatArray,
    limit: int,
) -> tuple[int, bool]:
    """Compare the states of each variable by best worlds, or by sums over worlds if `total`; other arguments and the result as in `best_worlds`.

    `value`, shape (c,), gets the best score of each component, or its log partition function; `state` how far the best world with each state is
    from the best of all (0 or less), or the log probability of the state; `other` the same of the best of the other states of its variable.
    """
    tables, table_start, cells, state_start = scratch.tables, buckets.table_start, buckets.cells, buckets.state_start
    steps = 0
    for c in range(first, len(work)):
        if steps > limit:
            return c, True
        steps += work[c]
        value[c] = _collect(buckets, scratch, c, total, True)
        if value[c] == -np.inf:
            return c, False
        _distribute(buckets, scratch, c, total)
        for i in range(buckets.component_start[c], buckets.component_start[c + 1]):
            table = tables[table_start[i] : table_start[i] + cells[i]]
            low, high = state_start[i], state_start[i + 1]
            _compare(table, total, state[low:high], other[low:high])
    return len(work), True
