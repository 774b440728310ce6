"""The interaction graph of multi-state variables, which grows as elimination joins neighbours.

Functions called in inner loops take plain arrays: a tuple of arrays costs a reference count for each of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.kernels import inner, kernel


class InteractionGraph(NamedTuple):
    """Pairs of variables in a hash table, and the half-edges of each variable in a linked list."""

    table: IntArray  # open addressing: smaller * v + larger of each pair, -1 where empty; the length is a power of two
    target: IntArray  # of each half-edge: the other variable
    link: IntArray  # of each half-edge: the next one of the same variable, or -1
    head: IntArray  # shape (v,): the first half-edge of each variable, or -1
    degree: IntArray  # shape (v,): neighbours that are not eliminated
    mates: IntArray  # shape (v,): their exclusive or: of a leaf it is its neighbour
    edges: IntArray  # shape (1,): how many pairs


@inner
def _slot(table: IntArray, key: int) -> int:
    # Where a pair stands in the hash table, or the empty place where it would.
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    i = np.int64((h ^ (h >> np.uint64(32))) & np.uint64(len(table) - 1))
    while table[i] != -1 and table[i] != key:
        i = (i + 1) & (len(table) - 1)
    return int(i)


@inner
def joined(table: IntArray, v: int, a: int, b: int) -> bool:
    """Whether variables a and b, of v, are a pair of the graph with this hash table."""
    key = min(a, b) * v + max(a, b)
    return bool(table[_slot(table, key)] == key)


@inner
def join(graph: InteractionGraph, u: int, v: int) -> bool:
    """Add a pair, for which there is room, unless it is there; returns whether it was not."""
    key = min(u, v) * len(graph.head) + max(u, v)
    i = _slot(graph.table, key)
    if graph.table[i] == key:
        return False
    graph.table[i] = key
    h = 2 * graph.edges[0]
    graph.edges[0] += 1
    for a, b in ((u, v), (v, u)):
        graph.target[h], graph.link[h] = b, graph.head[a]
        graph.head[a] = h
        graph.degree[a] += 1
        graph.mates[a] ^= b
        h += 1
    return True


@kernel
def _rehash(old: IntArray, new: IntArray) -> None:
    for key in old:
        if key >= 0:
            new[_slot(new, key)] = key


def empty_graph(v: int) -> InteractionGraph:
    """Return a graph of v variables without pairs, and without room for any."""
    none = np.full(v, -1, dtype=np.int64)
    empty = np.empty(0, dtype=np.int64)
    degree, mates = np.zeros(v, dtype=np.int64), np.zeros(v, dtype=np.int64)
    return InteractionGraph(
        np.full(16, -1, dtype=np.int64), empty, empty, none, degree, mates, np.zeros(1, dtype=np.int64)
    )


def grown(graph: InteractionGraph, room: int) -> InteractionGraph:
    """Return the graph with room for so many more pairs; for twice as many as it has, if it must grow."""
    pairs = int(graph.edges[0]) + room
    if 2 * pairs <= len(graph.target):
        return graph
    pairs = max(pairs, 2 * int(graph.edges[0]))
    table = np.full(1 << max(4, (2 * pairs).bit_length()), -1, dtype=np.int64)
    _rehash(graph.table, table)
    more = np.zeros(2 * pairs - len(graph.target), dtype=np.int64)
    target, link = np.concatenate([graph.target, more]), np.concatenate([graph.link, more])
    return graph._replace(table=table, target=target, link=link)


@kernel
def join_rows(
    graph: InteractionGraph, row_start: IntArray, variable: IntArray, skip: BoolArray, first: int, limit: int
) -> int:
    """Join the variables of rows from `first` on, except of `skip`; return the row before which room or (about) `limit` steps ended, or r."""
    steps = 0
    for j in range(first, len(skip)):
        begin, end = row_start[j], row_start[j + 1]
        if skip[j]:
            continue
        pairs = (end - begin) * (end - begin - 1) // 2
        if 2 * (graph.edges[0] + pairs) > len(graph.target) or steps > limit:
            return j
        steps += 10 * pairs
        for p in range(begin, end):
            for q in range(p + 1, end):
                join(graph, variable[p], variable[q])
    return len(skip)


@kernel
def later_neighbours(
    graph: InteractionGraph, sequence: IntArray, place: IntArray, start: IntArray, scope: IntArray
) -> None:
    """List the later neighbours of each variable, ascending, as places in `sequence`; with an empty `scope` only `start` is written."""
    for i in range(len(sequence)):
        count, h = 0, graph.head[sequence[i]]
        while h >= 0:
            other = place[graph.target[h]]
            h = graph.link[h]
            if other < i:
                continue
            if len(scope):
                p = start[i] + count
                while p > start[i] and scope[p - 1] > other:
                    scope[p] = scope[p - 1]
                    p -= 1
                scope[p] = other
            count += 1
        start[i + 1] = start[i] + count
