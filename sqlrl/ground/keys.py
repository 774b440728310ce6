"""Distinct values of arguments of target atoms: what is the same for many atoms is computed once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlrl.ground.network import IntArray


@dataclass(frozen=True, eq=False)
class Keys:
    """The distinct values of some columns of a matrix, numbered in ascending order, and the rows that have them.

    Parameters
    ----------
    values : int64 array, shape (k, w)
    starts : int64 array, shape (k + 1,)
    rows : int64 array, shape (n,)
        The rows with value i are `rows[starts[i]:starts[i + 1]]`, ascending.
    """

    values: IntArray
    starts: IntArray
    rows: IntArray

    def table(self, names: list[str]) -> pa.Table:
        """Return the values as a table: `key`, then a column for each name."""
        columns = [pa.array(self.values[:, j].astype(np.int32)) for j in range(len(names))]
        return pa.table([pa.array(np.arange(len(self.values), dtype=np.int32)), *columns], names=["key", *names])

    def spread(self, keys: IntArray) -> tuple[IntArray, IntArray]:
        """Return the rows of keys, key by key, and for each of them its place in `keys`.

        Examples
        --------
        >>> [x.tolist() for x in distinct(np.array([[4], [2], [4]])).spread(np.array([1, 0, 1]))]
        [[0, 2, 1, 0, 2], [0, 0, 1, 2, 2]]
        """
        sizes = self.starts[keys + 1] - self.starts[keys]
        place = np.repeat(np.arange(len(keys)), sizes)
        first = np.cumsum(sizes) - sizes
        return self.rows[np.arange(len(place)) - first[place] + self.starts[keys][place]], place


def distinct(columns: IntArray) -> Keys:
    """Return the distinct rows of a matrix of shape (n, w). Without columns all rows are equal.

    Examples
    --------
    >>> keys = distinct(np.array([[4, 1], [2, 7], [4, 1]]))
    >>> keys.values.tolist(), keys.starts.tolist(), keys.rows.tolist()
    ([[2, 7], [4, 1]], [0, 1, 3], [1, 0, 2])
    """
    n, width = columns.shape
    if width == 0:
        return Keys(np.zeros((1, 0), np.int64), np.array([0, n], dtype=np.int64), np.arange(n, dtype=np.int64))
    order = np.lexsort(columns.T[::-1]).astype(np.int64)
    ordered = columns[order]
    new = np.ones(n, bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = np.flatnonzero(new)
    return Keys(ordered[first].astype(np.int64), np.append(first, n).astype(np.int64), order)
