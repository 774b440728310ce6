"""Clauses of one pattern by the constants that a binding must have: chains of rows with one hash code, in compiled loops."""

from __future__ import annotations

import numpy as np

from sqlrl.ground.atom_table import Int32Array, mixed
from sqlrl.ground.network import IntArray
from sqlrl.kernels import kernel


def heads_for(rows: int) -> IntArray:
    """Return empty chains for so many rows: a power of two.

    Examples
    --------
    >>> heads_for(3).tolist()
    [-1, -1, -1, -1]
    """
    return np.full(1 << max(rows - 1, 1).bit_length(), -1, np.int64)


@kernel
def chain_of(values: Int32Array, row: int, columns: IntArray, size: int) -> int:
    """Return the chain of a row by its values in some columns.

    Examples
    --------
    >>> one, other = np.array([[3, 9, 4]], np.int32), np.array([[4, 3]], np.int32)
    >>> chain_of(one, 0, np.array([0, 2]), 64) == chain_of(other, 0, np.array([1, 0]), 64)
    True
    """
    code = np.uint64(0)
    for column in columns:
        code = mixed(code, values[row, column])
    return int(code & np.uint64(size - 1))


@kernel
def link(constants: Int32Array, place: IntArray, heads: IntArray, following: IntArray, start: int) -> None:
    """Put the rows from `start` on in front of their chains.

    Parameters
    ----------
    constants : int32 array, shape (n, k)
    place : int64 array
        The columns that say to which chain a row belongs.
    heads : int64 array
        The first row of each chain, -1 for none; changed.
    following : int64 array, shape (n,)
        The row after each in its chain, -1 for none; changed.
    start : int

    Examples
    --------
    >>> heads, following = heads_for(2), np.zeros(2, np.int64)
    >>> link(np.array([[5], [5]], np.int32), np.array([0]), heads, following, 0)
    >>> int(heads.max()), following.tolist()
    (1, [-1, 0])
    """
    for row in range(start, len(constants)):
        chain = chain_of(constants, row, place, len(heads))
        following[row] = heads[chain]
        heads[chain] = row


@kernel
def agree(values: Int32Array, row: int, columns: IntArray, constants: Int32Array, other: int, place: IntArray) -> bool:
    """Return whether a binding has the constants of a clause.

    Examples
    --------
    >>> agree(np.array([[3, 9]], np.int32), 0, np.array([1]), np.array([[9]], np.int32), 0, np.array([0]))
    True
    """
    same = True
    for i in range(len(columns)):
        same = same and values[row, columns[i]] == constants[other, place[i]]
    return same
