"""Rows of integers by hashing, in compiled loops: tables that keep every path and candidate once, and chains of the rows with one hash code."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from sqlrl.ground.bindings import Int32Array, mixed
from sqlrl.ground.network import IntArray
from sqlrl.kernels import inner, kernel


def heads_for(rows: int) -> IntArray:
    """Return empty chains for so many rows: a power of two."""
    return np.full(1 << max(rows - 1, 1).bit_length(), -1, np.int64)


@kernel
def chain_of(values: Annotated[Int32Array, 2], row: int, columns: IntArray, size: int) -> int:
    """Return the chain of a row by its values in some columns."""
    code = np.uint64(0)
    for column in columns:
        code = mixed(code, values[row, column])
    return int(code & np.uint64(size - 1))


@kernel
def link(
    constants: Annotated[Int32Array, 2], place: IntArray, heads: IntArray, following: IntArray, start: int
) -> None:
    """Put the rows from `start` on in front of their chains, which the columns `place` give; `heads` and `following` are changed."""
    # `following` has the row after each in its chain, -1 for none.
    for row in range(start, len(constants)):
        chain = chain_of(constants, row, place, len(heads))
        following[row] = heads[chain]
        heads[chain] = row


@kernel
def agree(
    values: Annotated[Int32Array, 2],
    row: int,
    columns: IntArray,
    constants: Annotated[Int32Array, 2],
    other: int,
    place: IntArray,
) -> bool:
    """Return whether a binding has the constants of a clause."""
    same = True
    for i in range(len(columns)):
        same = same and values[row, columns[i]] == constants[other, place[i]]
    return same


@inner
def slot_of(table: IntArray, rows: IntArray, row: IntArray) -> int:
    """Return the slot of a hash table that holds the number of an equal row, or the free slot (-1) where it goes."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for x in row:
        mixed ^= np.uint64(x)
        mixed *= np.uint64(0xFF51AFD7ED558CCD)
        mixed ^= mixed >> np.uint64(32)
    # The length of the table is a power of two and greater than the number of rows, so that there is a free slot.
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


@inner
def empty_table(count: int) -> IntArray:
    """A table of free slots for `count` rows, at most half of them used."""
    size = 16
    while size < 2 * count:
        size *= 2
    return np.full(size, -1, dtype=np.int64)


@inner
def table_of(rows: IntArray, count: int, room: int) -> IntArray:
    """A table that holds the first `count` rows, all distinct, with room for `room`."""
    table: IntArray = empty_table(room)
    for i in range(count):
        table[slot_of(table, rows, rows[i])] = i
    return table


@kernel
def _distinct(rows: Annotated[IntArray, 2], first: IntArray, group: IntArray) -> int:
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
    """Return where each distinct row stands first, ascending, shape (g,), and the index there of each row's equal, shape (n,)."""
    first, group = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    count = _distinct(np.ascontiguousarray(rows, dtype=np.int64), first, group)
    return first[:count], group
