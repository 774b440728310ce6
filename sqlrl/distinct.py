"""Rows of integers in order, and the distinct ones among them, by one sort of packed columns.

`np.unique` along an axis compares rows byte by byte, and without an axis it hashes: both are several times slower than a sort of
64-bit integers. So columns are packed into as few integers as they fit into, and these are sorted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
Columns = npt.NDArray[Any] | Sequence[npt.NDArray[Any]]
"""Arrays of one length, the most significant first: a list of them, or a matrix whose rows they are (`matrix.T` has the columns of `matrix`)."""
Value = TypeVar("Value", bound=np.generic)

_DENSE = 4
"""An array of up to so many times as many entries as there are rows takes less time than a sort of the rows."""

SPAN = 2**63
"""So many values a packed integer may take."""


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The d distinct rows of n, numbered in ascending order."""

    columns: Columns
    order: IntArray  # shape (n,): the rows in ascending order, equal ones as they come
    starts: IntArray  # shape (d + 1,): where each distinct row starts in `order`, and n

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def first(self) -> IntArray:
        """Where each stands first, shape (d,)."""
        return self.order[self.starts[:-1]]

    @property
    def counts(self) -> IntArray:
        """How often each stands there, shape (d,)."""
        return np.diff(self.starts)

    @cached_property
    def inverse(self) -> IntArray:
        """The number of each row, shape (n,)."""
        found = np.empty(len(self.order), dtype=np.int64)
        found[self.order] = np.repeat(np.arange(len(self)), self.counts)
        return found

    @cached_property
    def rows(self) -> npt.NDArray[Any]:
        """The distinct rows, shape (d, number of columns)."""
        if isinstance(self.columns, np.ndarray):
            return np.ascontiguousarray(self.columns.T[self.first])
        return np.stack([column[self.first] for column in self.columns], axis=1)


def distinct(columns: Columns) -> DistinctRows:
    """Return the distinct rows of columns of integers or floats; a list must have one at least, rows of a matrix without columns are all equal."""
    size = columns.shape[1] if isinstance(columns, np.ndarray) else len(columns[0])
    keys = _packed(columns) if size else []
    order = _order(keys)
    new = np.zeros(size, dtype=np.bool_)
    new[:1] = True
    for key in keys:
        ordered = key if order is None else key[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    return DistinctRows(columns, np.arange(size) if order is None else order, np.append(np.flatnonzero(new), size))


def distinct_values(values: npt.NDArray[Value]) -> npt.NDArray[Value]:
    """Return the distinct values, ascending."""
    ascending = np.sort(values)
    first = np.ones(len(ascending), dtype=np.bool_)
    first[1:] = ascending[1:] != ascending[:-1]
    return ascending[first]


def rows_and_numbers(columns: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return `rows` and `inverse` of `distinct`, of columns of integers whose ranges are mostly about as large as they are long, such as ids."""
    keys = _packed(columns)
    size = len(columns[0])
    if len(keys) != 1 or int(keys[0].max()) > _DENSE * size:
        found = distinct(columns)
        return found.rows, found.inverse
    (key,) = keys
    place = np.full(int(key.max()) + 1, -1, dtype=np.int64)
    place[key] = np.arange(size)
    there = place >= 0
    number = np.cumsum(there) - 1
    return np.stack([column[place[there]] for column in columns], axis=1), number[key]


def numbered(labels: IntArray) -> tuple[int, IntArray]:
    """Return how many different labels of at least 0 there are, and for each its number, from 0 in the order in which they come first."""
    if not len(labels):
        return 0, labels
    # Labels of components are mostly numbered so, as to be seen in a hundredth of the time of a sort.
    most = np.maximum.accumulate(labels)
    if most[0] == 0 and (most[1:] <= most[:-1] + 1).all():
        return int(most[-1]) + 1, labels.astype(np.int64)
    found = distinct([labels])
    rank = np.empty(len(found), dtype=np.int64)
    rank[np.argsort(found.first)] = np.arange(len(found))
    return len(found), rank[found.inverse]


def ascending_order(columns: Columns) -> IntArray | None:
    """Return the order of rows, equal ones as they come; None where they are seen to stand in it."""
    return _order(_packed(columns))


def _packed(columns: Iterable[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """Return as few keys as columns of integers fit into, in the same order; those of floats are keys themselves, and what is the same everywhere is none."""
    keys: list[npt.NDArray[Any]] = []
    span = SPAN + 1  # of the last key: nothing fits into it
    for column in columns:
        if not len(column):
            return []
        if column.dtype.kind == "f":
            keys.append(column)
            span = SPAN + 1
            continue
        low, high = int(column.min()), int(column.max())
        width = high - low + 1
        if width == 1:
            continue
        if width > SPAN:
            keys.append(column)
        else:
            # Unsigned integers of 64 bits are held against the lowest before they become signed ones.
            offset = column - np.uint64(low) if column.dtype == np.uint64 else column
            offset = offset.astype(np.int64)
            if column.dtype != np.uint64 and low:
                offset -= low
            if span * width <= SPAN:
                keys[-1] = keys[-1] * width + offset
                span *= width
                continue
            keys.append(offset)
        span = width
    return keys


def _order(keys: list[npt.NDArray[Any]]) -> IntArray | None:
    """Return the stable order by some keys; where the first has ties, the others are sorted for these alone."""
    if not keys:
        return None
    lead, *rest = keys
    order = None if (lead[1:] >= lead[:-1]).all() else lead.argsort(kind="stable")
    if not rest:
        return order
    ordered = lead if order is None else lead[order]
    same = ordered[1:] == ordered[:-1]
    if not same.any():
        return order
    tied = np.zeros(len(lead), dtype=np.bool_)
    tied[1:] = same
    tied[:-1] |= same
    places = np.flatnonzero(tied)
    group = np.append(0, np.cumsum(~same))[places]
    if order is None:
        order = np.arange(len(lead))
    among = order[places]
    order[places] = among[np.lexsort((*(key[among] for key in reversed(rest)), group))]
    return order


def mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return numbers whose bits depend each on all bits of one of the given, which are overwritten; different ones stay different.

    The finalizer of SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014), figure 17.
    """
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    bits ^= bits >> np.uint64(31)
    return bits
