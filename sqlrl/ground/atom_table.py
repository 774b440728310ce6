"""Ground atoms by predicate and arguments, as arrays: which query atom a tuple is, or that its truth is fixed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sqlrl.ground.network import IntArray
from sqlrl.kernels import inlined, kernel

Int32Array = npt.NDArray[np.int32]

FIXED_TRUE = -1
"""What `AtomTable.find` says of an atom that evidence makes true."""
FIXED_FALSE = -2
"""What it says of one that is given false, or outside the scope without a fact."""
NO_EXAMPLE = -1
"""The example in the key of an atom whose predicate has no column for it."""


class AtomArrays(NamedTuple):
    """A table of atoms as compiled loops read it: a hash table with linear probing.

    Parameters
    ----------
    keys : int32 array, shape (r, 2 + greatest arity)
        Predicate, example (-1 if its tables have no column for it), arguments.
    value : int64 array, shape (r,)
        The number of a query atom, or `FIXED_TRUE`.
    places : int64 array
        The row at each place of the hash table, -1 for none; a power of two.
    """

    keys: Int32Array
    value: IntArray
    places: IntArray


class AtomTable:
    """All atoms that can be true in the examples of a window, by predicate and arguments.

    Parameters
    ----------
    numbers : mapping of str to int
        Numbers the predicates.
    width : int
        The greatest arity.

    Examples
    --------
    >>> table = AtomTable({"Smokes": 0, "Friends": 1}, 2)
    >>> table.add("Smokes", NO_EXAMPLE, np.array([[4], [7]]), np.array([0, FIXED_TRUE]))
    >>> table.add("Friends", NO_EXAMPLE, np.array([[4, 7]]), np.array([1]))
    >>> table.find("Smokes", NO_EXAMPLE, np.array([[7], [5], [4]])).tolist()
    [-1, -2, 0]
    """

    def __init__(self, numbers: Mapping[str, int], width: int) -> None:
        self.numbers = dict(numbers)
        self._width = width
        self.predicates: set[str] = set()
        self.arrays = _hashed(np.zeros((0, 2 + width), np.int32), np.zeros(0, np.int64))

    def add(self, predicate: str, example: IntArray | int, arguments: npt.ArrayLike, value: IntArray | int) -> None:
        """Add atoms of a predicate, all of them new.

        Parameters
        ----------
        predicate : str
        example : int64 array, shape (r,), or int
            -1 if the predicate's tables have no column for the example.
        arguments : array of int, shape (r, arity)
            Ids of constants.
        value : int64 array, shape (r,), or int
            Numbers of query atoms, or `FIXED_TRUE`.
        """
        found = np.asarray(arguments, dtype=np.int32)
        keys = np.full((len(found), 2 + self._width), -1, np.int32)
        keys[:, 0], keys[:, 1] = self.numbers[predicate], example
        keys[:, 2 : 2 + found.shape[1]] = found
        values = np.empty(len(found), np.int64)
        values[:] = value
        self.predicates.add(predicate)
        old = self.arrays
        self.arrays = _hashed(np.concatenate([old.keys, keys]), np.concatenate([old.value, values]))

    def find(self, predicate: str, example: IntArray | int, arguments: npt.ArrayLike) -> IntArray:
        """Return for each tuple the number of its query atom, `FIXED_TRUE` or `FIXED_FALSE`.

        Parameters
        ----------
        predicate, example, arguments
            As for `add`.

        Returns
        -------
        int64 array, shape (r,)
        """
        given = np.asarray(arguments, dtype=np.int32)
        keys = np.empty((len(given), 2 + given.shape[1]), np.int32)
        keys[:, 0], keys[:, 1], keys[:, 2:] = self.numbers[predicate], example, given
        found: IntArray = _find_all(self.arrays.keys, self.arrays.value, self.arrays.places, keys)
        return found


def _hashed(keys: Int32Array, value: IntArray) -> AtomArrays:
    size = 1 << max(2 * len(keys), 8).bit_length()
    return AtomArrays(keys, value, _filled(keys, size))


@inlined
def mixed(code: np.uint64, value: int) -> np.uint64:
    """Mix an integer into a hash code."""
    code = (code ^ np.uint64(np.int64(value))) * np.uint64(0x9E3779B97F4A7C15)
    return code ^ (code >> np.uint64(32))


@kernel
def _filled(keys: Int32Array, size: int) -> IntArray:
    """Put rows into a hash table; the hash leaves the padding of a row out."""
    places = np.full(size, -1, np.int64)
    mask = np.uint64(size - 1)
    for row in range(len(keys)):
        code = np.uint64(0)
        for j in range(keys.shape[1]):
            if j < 2 or keys[row, j] >= 0:
                code = mixed(code, keys[row, j])
        place = code & mask
        while places[place] >= 0:
            place = (place + np.uint64(1)) & mask
        places[place] = row
    return places


@kernel
def find_atom(keys: Int32Array, value: IntArray, places: IntArray, key: Int32Array, width: int) -> int:
    """Return the value of an atom, `FIXED_FALSE` if the table does not have it; its key is the first `width` of `key`.

    Examples
    --------
    >>> arrays = AtomTable({"Smokes": 0}, 1).arrays
    >>> find_atom(arrays.keys, arrays.value, arrays.places, np.array([0, -1, 4], np.int32), 3) == FIXED_FALSE
    True
    """
    mask = np.uint64(len(places) - 1)
    code = np.uint64(0)
    for j in range(width):
        if j < 2 or key[j] >= 0:
            code = mixed(code, key[j])
    place = code & mask
    while places[place] >= 0:
        row = places[place]
        same = True
        for j in range(width):
            if keys[row, j] != key[j]:
                same = False
                break
        if same:
            return int(value[row])
        place = (place + np.uint64(1)) & mask
    return FIXED_FALSE


@kernel
def _find_all(keys: Int32Array, value: IntArray, places: IntArray, wanted: Int32Array) -> IntArray:
    found = np.empty(len(wanted), np.int64)
    for i in range(len(wanted)):
        found[i] = find_atom(keys, value, places, wanted[i], wanted.shape[1])
    return found
