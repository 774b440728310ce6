"""The search behind elimination orders: prices of variables in a heap, cheapest first.

Kernels work in slices, and stop when the arrays of the graph are full, so that Python can heed Ctrl-C and enlarge them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.solve.structure import Sides, pointers
from sqlrl.solve.treewidth.interaction import InteractionGraph, empty_graph, grown, join, join_rows, joined

VARIABLE_CELLS = 32
"""A component may have this many cells for each of its variables, however long it is."""

NEVER = np.iinfo(np.int64).max
"""The key of a variable whose table would be too large."""

SLICE = 20_000_000
"""Steps of one call of a kernel before Python looks for Ctrl-C: about a tenth of a second."""

_DONE, _MORE, _ROOM = 0, 1, 2


class OrderSearch(NamedTuple):
    """What the search for an order reads and changes."""

    # Shape (v,): states of each variable, at least two, so that a bound on cells bounds the number of neighbours too.
    width: FloatArray
    member: IntArray  # shape (v,): variables by component, ascending
    start: IntArray  # shape (components + 1,): where each component begins in `member` and in `order`
    order: IntArray  # shape (v,): variables in elimination order; no more than begun where `within` is false
    within: BoolArray  # shape (components,): components that are within the bounds, as far as is known
    gone: BoolArray  # shape (v,): eliminated
    cells: FloatArray  # shape (components,): of all tables so far
    key: IntArray  # shape (v,): the price of each variable: new pairs * (bound + 1) + cells, or `NEVER`
    heap: IntArray  # variables of the component at hand, the cheapest first
    where: IntArray  # where each one is
    near: IntArray  # neighbours of the variable that is priced
    around: IntArray  # neighbours of the variable that is eliminated
    progress: IntArray  # shape (4,): component, next variable to load, size of the heap, next place of the order


@kernel
def _peel(graph: InteractionGraph, search: OrderSearch) -> None:
    # Eliminate leaves, always the highest of a component, so that the root of a tree is its lowest variable.
    for c in range(len(search.within)):
        at = search.start[c]
        for i in range(search.start[c + 1] - 1, search.start[c] - 1, -1):
            v = search.member[i]
            while search.within[c] and not search.gone[v] and graph.degree[v] <= 1:
                search.gone[v] = True
                search.order[at] = v
                at += 1
                search.cells[c] += search.width[v]
                if graph.degree[v] == 0:
                    break
                w = graph.mates[v]
                search.cells[c] += search.width[v] * (search.width[w] - 1)
                graph.degree[w] -= 1
                graph.mates[w] ^= v
                if w < search.member[i]:
                    break
                v = w


@inner
def _before(key: IntArray, u: int, v: int) -> bool:
    # Of equals the highest goes first: worlds are read off in the opposite order, and ties go to low states there.
    return bool(key[u] < key[v] or (key[u] == key[v] and u > v))


@inner
def _sift(key: IntArray, heap: IntArray, where: IntArray, v: int, size: int) -> None:
    # Move v to its place in the heap.
    i = where[v]
    while i > 0 and _before(key, v, heap[(i - 1) // 2]):
        heap[i] = heap[(i - 1) // 2]
        where[heap[i]] = i
        i = (i - 1) // 2
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and _before(key, heap[child + 1], heap[child]):
            child += 1
        if not _before(key, heap[child], v):
            break
        heap[i] = heap[child]
        where[heap[i]] = i
        i = child
    heap[i] = v
    where[v] = i


@inner
def _look(graph: InteractionGraph, search: OrderSearch, v: int) -> int:
    # List the neighbours of v, and drop the eliminated ones from its half-edges.
    target, link, gone, near = graph.target, graph.link, search.gone, search.near
    count, before, h = 0, -1, graph.head[v]
    while h >= 0:
        after = link[h]
        if gone[target[h]]:
            if before < 0:
                graph.head[v] = after
            else:
                link[before] = after
        else:
            near[count] = target[h]
            count += 1
            before = h
        h = after
    return count


@inner
def _price(graph: InteractionGraph, search: OrderSearch, v: int, bound: int, most: int) -> int:
    # The key of v; returns the steps it took.
    search.key[v] = NEVER
    if graph.degree[v] > most:
        return 1
    count = _look(graph, search, v)
    near, cells = search.near, search.width[v]
    for i in range(count):
        cells *= search.width[near[i]]
    if cells > bound:
        return int(count + 1)
    table, n, missing = graph.table, len(graph.head), 0
    for i in range(count):
        for j in range(i + 1, count):
            missing += 0 if joined(table, n, near[i], near[j]) else 1
    search.key[v] = missing * (bound + 1) + np.int64(cells)
    return int(count + 1 + 10 * count * count // 2)


@inner
def _shared(graph: InteractionGraph, search: OrderSearch, u: int, v: int, bound: int, size: int) -> int:
    # The new pair u, v is no longer missing around the common neighbours of both; returns the steps it took.
    table, target, link = graph.table, graph.target, graph.link
    gone, key, heap, where = search.gone, search.key, search.heap, search.where
    if graph.degree[v] < graph.degree[u]:
        u, v = v, u
    h, steps = graph.head[u], 1
    while h >= 0:
        w = target[h]
        h = link[h]
        steps += 10
        if not gone[w] and key[w] != NEVER and w != v and joined(table, len(graph.head), v, w):
            key[w] -= bound + 1
            _sift(key, heap, where, w, size)
    return steps


@inner
def _remove(graph: InteractionGraph, search: OrderSearch, x: int, bound: int, most: int, size: int) -> int:
    # Eliminate x, which left the heap: join its neighbours and price them anew; returns the steps it took.
    table, degree = graph.table, graph.degree
    key, heap, where = search.key, search.heap, search.where
    search.gone[x] = True
    count, steps = _look(graph, search, x), 1
    near = search.around
    for i in range(count):
        near[i] = search.near[i]
        degree[near[i]] -= 1
    if key[x] > bound:
        for i in range(count):
            for j in range(i + 1, count):
                if not joined(table, len(graph.head), near[i], near[j]):
                    join(graph, near[i], near[j])
                    steps += _shared(graph, search, near[i], near[j], bound, size)
    for i in range(count):
        steps += _price(graph, search, near[i], bound, most)
        _sift(key, heap, where, near[i], size)
    return steps


@kernel
def _min_fill(graph: InteractionGraph, search: OrderSearch, bound: int, total: int, most: int, limit: int) -> int:
    # Order what the leaves left over; returns _DONE, or why it stopped for now.
    steps = 0
    c, loaded, size, at = search.progress[0], search.progress[1], search.progress[2], search.progress[3]
    while c < len(search.within):
        status = _DONE
        while loaded < search.start[c + 1] and search.within[c] and status == _DONE:
            v = search.member[loaded]
            loaded += 1
            if search.gone[v]:
                at += 1
                continue
            steps += _price(graph, search, v, bound, most)
            search.heap[size], search.where[v] = v, size
            size += 1
            _sift(search.key, search.heap, search.where, v, size)
            status = _MORE if steps > limit else _DONE
        while size > 0 and search.within[c] and status == _DONE:
            x = search.heap[0]
            if search.key[x] == NEVER:
                search.within[c] = False
                break
            search.cells[c] += search.key[x] % (bound + 1)
            if search.cells[c] > max(total, VARIABLE_CELLS * (search.start[c + 1] - search.start[c])):
                search.within[c] = False
                break
            size -= 1
            last = search.heap[size]
            if size:
                search.where[last] = 0
                search.heap[0] = last
                _sift(search.key, search.heap, search.where, last, size)
            search.order[at] = x
            at += 1
            steps += _remove(graph, search, x, bound, most, size)
            if 2 * graph.edges[0] + most * most > len(graph.target):
                status = _ROOM
            elif steps > limit:
                status = _MORE
        if status != _DONE:
            for i, value in enumerate((c, loaded, size, at)):
                search.progress[i] = value
            return status
        c += 1
        size, loaded, at = 0, search.start[min(c, len(search.within))], search.start[min(c, len(search.within))]
    return _DONE


def start_search(component: IntArray, size: IntArray, allowed: BoolArray, most: int) -> OrderSearch:
    """Prepare the search for elimination orders of `allowed` components, which is overwritten; a table has room for `most` neighbours."""
    v, members = len(component), np.bincount(component, minlength=len(allowed))
    return OrderSearch(
        width=np.maximum(size, 2).astype(np.float64),
        member=np.argsort(component, kind="stable"),
        start=pointers(members),
        order=np.empty(v, dtype=np.int64),
        within=allowed,
        gone=np.zeros(v, dtype=np.bool_),
        cells=np.zeros(len(allowed)),
        key=np.full(v, NEVER),
        heap=np.empty(int(members.max(initial=0)), dtype=np.int64),
        where=np.zeros(v, dtype=np.int64),
        near=np.empty(most + 1, dtype=np.int64),
        around=np.empty(most + 1, dtype=np.int64),
        progress=np.zeros(4, dtype=np.int64),
    )


def search_order(
    sides: Sides, skip: BoolArray, search: OrderSearch, bound: int, total: int, most: int
) -> InteractionGraph:
    """Order the variables of all allowed components into `search.order`; return the graph with all pairs that elimination added."""
    # Components with more than `bound` cells in a table, or `total` in all tables, leave `search.within`; rows of `skip` join nothing.
    room = most * most + 2
    graph = grown(empty_graph(len(search.gone)), max(room, 2 * int((~skip).sum())))
    at = 0
    while (at := join_rows(graph, sides.row_start, sides.variable, skip, at, SLICE)) < len(skip):
        graph = grown(graph, room)
    _peel(graph, search)
    size = np.diff(search.start)
    search.within[(search.cells > np.maximum(total, VARIABLE_CELLS * size)) & (size > 1)] = False
    graph = grown(graph, room)
    while (status := _min_fill(graph, search, bound, total, most, SLICE)) != _DONE:
        if status == _ROOM:
            graph = grown(graph, room)
    return graph
