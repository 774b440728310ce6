"""Relational algebra on arrays: relations of integer columns, joined by sorted keys and binary search, without a database.

Constants are ids below 2^31, so that keys of one or two columns are packed into one integer, and of more columns too where their ids
are small; other keys are ranked column by column. A relation keeps what it was sorted by: those that many joins meet are sorted once.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from sqlrl.errors import GroundingLimitError
from sqlrl.ground.network import BoolArray, IntArray, ragged_ranges

MOST_ROWS = 50_000_000
"""Rows of a join at the most, each of which takes 8 bytes a column."""

_BITS = 62
"""Of a packed key, so that it is positive and -1 is none."""

_UNKNOWN = np.int64(-1)


# ---- keys --------------------------------------------------------------------------------------------


class SortedKeys:
    """The rows of some columns in order, for binary search; negative ids meet nothing."""

    def __init__(self, columns: Sequence[IntArray]) -> None:
        self._width = _BITS // len(columns)
        self._levels: list[IntArray] | None = None
        if len(columns) == 1:
            key = columns[0]
        elif all(int(column.max(initial=0)) < 1 << self._width for column in columns):
            key = self._packed(columns)
        else:
            key = self._ranked(columns)
        # Parameters and facts that are there in order are not sorted again.
        ordered = bool((key[1:] >= key[:-1]).all())
        self.order: IntArray | None = None if ordered else np.argsort(key, kind="stable")
        self.keys = key if self.order is None else key[self.order]

    def matches(self, columns: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
        """Return for each row of other columns where the equal rows begin in this order, and how many there are."""
        if len(columns) == 1:
            key = columns[0]
        elif self._levels is None:
            top = np.int64(1) << self._width
            key = self._packed(columns)
            for column in columns:
                # Beyond the width two keys would be one.
                wrong = (column < 0) | (column >= top)
                if wrong.any():
                    key = np.where(wrong, _UNKNOWN, key)
        else:
            key = columns[0]
            for i, values in enumerate(self._levels):
                place = np.minimum(np.searchsorted(values, key), max(len(values) - 1, 0))
                code = np.where(values[place] == key, place, _UNKNOWN) if len(values) else np.full(len(key), _UNKNOWN)
                key = code if i + 1 == len(columns) else _extended(code, columns[i + 1])
        first = np.searchsorted(self.keys, key, side="left")
        count = np.searchsorted(self.keys, key, side="right")
        count -= first
        if len(key) and key.min() < 0:
            count[key < 0] = 0
        return first, count

    def _packed(self, columns: Sequence[IntArray]) -> IntArray:
        key = columns[0].astype(np.int64)
        negative = columns[0] < 0
        for column in columns[1:]:
            key <<= self._width
            key |= column
            negative = negative | (column < 0)
        if negative.any():
            key[negative] = _UNKNOWN
        return key

    def _ranked(self, columns: Sequence[IntArray]) -> IntArray:
        key, self._levels = columns[0], []
        for i in range(len(columns)):
            values, place = np.unique(key, return_inverse=True)
            self._levels.append(values)
            code: IntArray = np.where(key < 0, _UNKNOWN, place)
            key = code if i + 1 == len(columns) else _extended(code, columns[i + 1])
        return key


def _extended(code: IntArray, column: IntArray) -> IntArray:
    """Return the key of a code and one more column."""
    found: IntArray = np.where((code < 0) | (column < 0), _UNKNOWN, code << 31 | column)
    return found


# ---- relations ---------------------------------------------------------------------------------------


class ArrayTable:
    """A relation of int64 columns, each of shape (size,)."""

    def __init__(self, columns: Sequence[IntArray], size: int | None = None) -> None:
        self.columns = tuple(columns)
        self.size = len(self.columns[0]) if size is None else size
        self._sorted: dict[tuple[int, ...], SortedKeys] = {}
        self._equal: dict[tuple[tuple[int, int], ...], ArrayTable] = {}

    def sorted_by(self, places: tuple[int, ...]) -> SortedKeys:
        """Return the order by some columns."""
        if places not in self._sorted:
            self._sorted[places] = SortedKeys([self.columns[i] for i in places])
        return self._sorted[places]

    def where_equal(self, pairs: tuple[tuple[int, int], ...]) -> ArrayTable:
        """Return the rows with equal values in each of some pairs of columns."""
        if not pairs:
            return self
        if pairs not in self._equal:
            same = np.ones(self.size, np.bool_)
            for a, b in pairs:
                same &= self.columns[a] == self.columns[b]
            self._equal[pairs] = self.take(np.flatnonzero(same))
        return self._equal[pairs]

    def take(self, rows: IntArray) -> ArrayTable:
        """Return some rows."""
        return ArrayTable([column[rows] for column in self.columns], len(rows))

    def distinct(self) -> ArrayTable:
        """Return each row once, in order of the columns."""
        if not self.columns:
            return ArrayTable((), min(self.size, 1))
        sorted_ = self.sorted_by(tuple(range(len(self.columns))))
        rows = np.arange(self.size) if sorted_.order is None else sorted_.order
        new = np.ones(self.size, np.bool_)
        np.not_equal(sorted_.keys[1:], sorted_.keys[:-1], out=new[1:])
        return self.take(rows[new])


def stacked(tables: Sequence[ArrayTable]) -> ArrayTable:
    """Return the rows of relations with the same columns, one relation after the other."""
    if len(tables) == 1:
        return tables[0]
    columns = [np.concatenate(parts) for parts in zip(*(table.columns for table in tables), strict=True)]
    return ArrayTable(columns, sum(table.size for table in tables))


# ---- joins -------------------------------------------------------------------------------------------

Names = tuple[Hashable, ...]
"""What the columns of a relation are called where it is joined; columns of one name must be equal."""


class Frame:
    """The rows of joins so far, by the names of their columns."""

    def __init__(self, columns: Mapping[Hashable, IntArray], size: int) -> None:
        self.columns, self.size = dict(columns), size

    def __getitem__(self, name: Hashable) -> IntArray:
        return self.columns[name]

    def __contains__(self, name: Hashable) -> bool:
        return name in self.columns

    @staticmethod
    def one() -> Frame:
        """Return the frame without columns that has one row: what joins begin with."""
        return Frame({}, 1)

    def keep(self, rows: BoolArray | IntArray) -> None:
        """Keep some rows, by a mask or by their places."""
        if rows.dtype == np.bool_:
            if rows.all():
                return
            rows = np.flatnonzero(rows)
        self.columns = {name: column[rows] for name, column in self.columns.items()}
        self.size = len(rows)

    def join(self, table: ArrayTable, names: Names) -> None:
        """Join a relation on the columns that are known, and learn its others."""
        table, first = _apart(table, names)
        known = tuple(place for name, place in first.items() if name in self.columns)
        new = {name: place for name, place in first.items() if name not in self.columns}
        if not known:
            self._cross(table, new)
            return
        found = table.sorted_by(known)
        begin, count = found.matches([self.columns[names[place]] for place in known])
        total = int(count.sum())
        _check_rows(total)
        if total == self.size and (count == 1).all():
            place = begin
        elif int(count.max(initial=0)) <= 1:
            here = np.flatnonzero(count)
            self.keep(here)
            place = begin[here]
        else:
            self.keep(np.repeat(np.arange(self.size), count))
            place = ragged_ranges(begin, count)
        if new:
            rows = place if found.order is None else found.order[place]
            for name, i in new.items():
                self.columns[name] = table.columns[i][rows]

    def _cross(self, table: ArrayTable, new: Mapping[Hashable, int]) -> None:
        size = table.size
        _check_rows(self.size * size)
        if self.columns:
            self.keep(np.repeat(np.arange(self.size), size))
        else:
            self.size *= size
        times = self.size // size if size else 0
        for name, i in new.items():
            column = table.columns[i]
            self.columns[name] = column if times == 1 else np.tile(column, times)

    def counts(self, table: ArrayTable, names: Names) -> IntArray:
        """Return how many rows of a relation, all of whose columns are known, agree with each row."""
        table, first = _apart(table, names)
        if not first:
            return np.full(self.size, table.size)
        return table.sorted_by(tuple(first.values())).matches([self.columns[name] for name in first])[1]

    def without(self, table: ArrayTable, names: Names) -> None:
        """Drop the rows that agree with a row of a relation."""
        self.keep(self.counts(table, names) == 0)

    def looked_up(self, table: ArrayTable, names: Names, value: int) -> IntArray:
        """Return the column `value` of the one row of a relation that agrees with each row, 0 where there is none."""
        table, first = _apart(table, names)
        if not first:
            return np.full(self.size, int(table.columns[value][0]) if table.size else 0)
        found = table.sorted_by(tuple(first.values()))
        begin, count = found.matches([self.columns[name] for name in first])
        if not table.size:
            return np.zeros(self.size, np.int64)
        place = np.minimum(begin, table.size - 1)
        rows = place if found.order is None else found.order[place]
        looked: IntArray = np.where(count > 0, table.columns[value][rows], 0)
        return looked


def _apart(table: ArrayTable, names: Names) -> tuple[ArrayTable, dict[Hashable, int]]:
    """Return the rows in which columns of one name are equal, and the first column of each name."""
    first: dict[Hashable, int] = {}
    pairs = []
    for i, name in enumerate(names):
        if name in first:
            pairs.append((first[name], i))
        else:
            first[name] = i
    return table.where_equal(tuple(pairs)), first


def _check_rows(size: int) -> None:
    if size > MOST_ROWS:
        raise GroundingLimitError(
            f"a rule joins {size:,} groundings of the examples that were handed over, more than the limit of {MOST_ROWS:,}: hand over fewer "
            "examples at a time, or predict with the database"
        )
