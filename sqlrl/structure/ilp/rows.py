"""Arrays that grow, and keys of their rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.generic]


class Rows:
    """A two-dimensional array to which rows are added; as a list, it is copied when its room is full, and when it gets columns.

    Parameters
    ----------
    width : int
        Columns; there are more as soon as rows with more are added.
    dtype : dtype
    fill : int
        What rows have in columns that they were not given.

    Examples
    --------
    >>> rows = Rows(1, np.int64, -1)
    >>> rows.add(np.array([[5]]))
    >>> rows.add(np.array([[6, 7]]))
    >>> rows.values.tolist(), len(rows)
    ([[5, -1], [6, 7]], 2)
    """

    def __init__(self, width: int, dtype: npt.DTypeLike, fill: int = 0) -> None:
        self._fill, self._size = fill, 0
        self._room: npt.NDArray[Any] = np.full((64, width), fill, dtype=dtype)

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> npt.NDArray[Any]:
        """The array, not to be changed."""
        return self._room[: self._size]

    def add(self, rows: npt.NDArray[Any], at: int | None = None) -> None:
        """Add rows below the others, or below the first `at` of them: what an interruption has left is in nobody's way."""
        known = self._size if at is None else at
        size, width = known + len(rows), max(self._room.shape[1], rows.shape[1])
        if size > len(self._room) or width > self._room.shape[1]:
            shape = (max(size, 2 * len(self._room)) if size > len(self._room) else len(self._room), width)
            room = np.full(shape, self._fill, dtype=self._room.dtype)
            room[: self._size, : self._room.shape[1]] = self.values
            self._room = room
        self._room[known:size] = self._fill
        self._room[known:size, : rows.shape[1]] = rows
        self._size = size


def row_keys(rows: npt.NDArray[Any], bound: int) -> Keys:
    """Return keys of rows of integers from 0 to `bound` - 1 as an array: equal for equal rows only.

    Examples
    --------
    >>> row_keys(np.array([[0, 3], [2, 1]]), 4).tolist()
    [3, 9]
    """
    bits = max(int(bound - 1).bit_length(), 1)
    if bits * rows.shape[1] <= 63:
        keys = np.zeros(len(rows), dtype=np.int64)
        for column in rows.T:
            keys = (keys << bits) | column
        return keys
    return _bytes(rows)


def row_bytes(rows: npt.NDArray[Any]) -> list[bytes]:
    """Return a key for each row of integers from 0 on: equal for rows only that are equal but for zeros at their ends.

    Examples
    --------
    >>> first, second, third = row_bytes(np.array([[1, 2, 0], [1, 2, 3], [0, 1, 2]]))
    >>> first == row_bytes(np.array([[1, 2]]))[0], second == first, third == first
    (True, False, False)
    """
    found: list[bytes] = _bytes(rows).tolist()
    return found


class Numbers:
    """Numbers keys in the order in which they are added.

    Examples
    --------
    >>> numbers = Numbers()
    >>> numbers.unknown([b"a", b"b", b"a"])
    {b'a': 0, b'b': 1}
    >>> numbers.add([b"a", b"b"])
    >>> numbers.unknown([b"c", b"a"]), numbers.of([b"b", b"a"]).tolist()
    ({b'c': 0}, [1, 0])
    """

    def __init__(self) -> None:
        self._of: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._of)

    def unknown(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        """Return keys without a number, each with the place where it comes first."""
        first: dict[bytes, int] = {}
        for place, key in enumerate(keys):
            if key not in self._of:
                first.setdefault(key, place)
        return first

    def add(self, keys: Iterable[bytes]) -> None:
        """Number keys that have none."""
        known = len(self._of)
        self._of.update((key, known + i) for i, key in enumerate(keys))

    def of(self, keys: Sequence[bytes]) -> npt.NDArray[np.int64]:
        """Return the numbers of keys."""
        return np.fromiter((self._of[key] for key in keys), dtype=np.int64, count=len(keys))


def _bytes(rows: npt.NDArray[Any]) -> Keys:
    # numpy leaves out zeros at the end of bytes, and all integers have the same number of bytes.
    return np.ascontiguousarray(rows.astype("<u4")).view(f"S{4 * rows.shape[1]}")[:, 0]
