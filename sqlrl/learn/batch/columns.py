"""Clauses whose counts are the same everywhere."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from sqlrl.ground.network import IntArray


def equal_columns(counts: sparse.csc_array, columns: IntArray) -> IntArray:
    """Number the distinct ones of some columns.

    Parameters
    ----------
    counts : scipy.sparse.csc_array, shape (n, m)
        With sorted indices, without duplicates and stored zeros.
    columns : int64 array
        Those to number.

    Returns
    -------
    int64 array, shape (m,)
        From 0, in the order of the first column of each; -1 for other columns.

    Examples
    --------
    >>> equal_columns(sparse.csc_array([[1, 0, 1, 2]]), np.array([0, 2, 3])).tolist()
    [0, -1, 0, 1]
    """
    known: dict[tuple[bytes, bytes], int] = {}
    found = np.full(counts.shape[1], -1, dtype=np.int64)
    for j in columns.tolist():
        part = slice(counts.indptr[j], counts.indptr[j + 1])
        key = (counts.indices[part].tobytes(), counts.data[part].tobytes())
        found[j] = known.setdefault(key, len(known))
    return found
