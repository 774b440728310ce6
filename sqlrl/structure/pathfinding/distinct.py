"""Distinct rows of integers, by hashing: what keeps every path and every candidate once."""

from __future__ import annotations

import numpy as np

from sqlrl.ground.network import IntArray
from sqlrl.kernels import kernel


@kernel
def slot_of(table: IntArray, rows: IntArray, row: IntArray) -> int:
    """The slot of an open-addressing table that holds the number of an equal row, or the free slot (-1) where it goes.

    The table's length is a power of two and greater than the number of rows.
    """
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for x in row:
        mixed ^= np.uint64(x)
        mixed *= np.uint64(0xFF51AFD7ED558CCD)
        mixed ^= mixed >> np.uint64(32)
    mask = len(table) - 1
    slot = np.int64(mixed >> np.uint64(1)) & mask
    while table[slot] >= 0:
        other = rows[table[slot]]
        same = True
        for j in range(len(row)):
            same = same and other[j] == row[j]
        if same:
            return int(slot)
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def empty_table(count: int) -> IntArray:
    """A table of free slots for `count` rows, at most half of them used."""
    size = 16
    while size < 2 * count:
        size *= 2
    return np.full(size, -1, dtype=np.int64)


@kernel
def table_of(rows: IntArray, count: int, room: int) -> IntArray:
    """A table that holds the first `count` rows, all distinct, with room for `room`."""
    table: IntArray = empty_table(room)
    for i in range(count):
        table[slot_of(table, rows, rows[i])] = i
    return table


@kernel
def _distinct(rows: IntArray, first: IntArray, group: IntArray) -> int:
    table = empty_table(len(rows))
    count = 0
    for i in range(len(rows)):
        slot = slot_of(table, rows, rows[i])
        if table[slot] < 0:
            table[slot] = i
            first[count] = i
            group[i] = count
            count += 1
        else:
            group[i] = group[table[slot]]
    return count


def distinct_rows(rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return where each distinct row stands first, and the number of each row's equals in that order.

    Parameters
    ----------
    rows : int64 array, shape (n, w)

    Returns
    -------
    first : int64 array, shape (g,)
        Ascending.
    group : int64 array, shape (n,)
        `rows[first[group]]` equals `rows`.

    Examples
    --------
    >>> first, group = distinct_rows(np.array([[3, 1], [2, 2], [3, 1]]))
    >>> first.tolist(), group.tolist()
    ([0, 1], [0, 1, 0])
    """
    first, group = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    count = _distinct(np.ascontiguousarray(rows, dtype=np.int64), first, group)
    return first[:count], group
