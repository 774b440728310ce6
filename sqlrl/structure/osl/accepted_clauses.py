"""The clauses that a structure learner has accepted, by pattern, and their ground clauses in one example."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import numpy as np
import numpy.typing as npt

from sqlrl.ground.bindings import (
    FIXED_FALSE,
    FIXED_TRUE,
    AtomArrays,
    Bindings,
    Int32Array,
    PatternCode,
    WindowBindings,
)
from sqlrl.ground.network import IntArray, ragged_ranges
from sqlrl.ground.rows import GroundRows, repeated
from sqlrl.kernels import inner, kernel
from sqlrl.logic.shapes import Shape
from sqlrl.structure.osl.count_differences import literal_value
from sqlrl.structure.osl.row_hashing import agree, chain_of, heads_for, link

NONE = -1
"""Stands for the clause of a variant that was not accepted."""
_ROOM = 1024


class _Clauses:
    """The accepted clauses of one pattern, in growing arrays, chained by the constants that a binding must have."""

    def __init__(self, parameters: int) -> None:
        self.constants = np.zeros((8, parameters), np.int32)
        self.clauses = np.zeros((8, 2), np.int64)
        self.following = np.zeros(8, np.int64)
        self.count = self.linked = 0
        self.heads = heads_for(8)

    def add(self, constants: Int32Array, clauses: IntArray) -> None:
        size = self.count + len(constants)
        if size > len(self.constants):
            room = max(size, 2 * len(self.constants))
            for name in ("constants", "clauses", "following"):
                old = getattr(self, name)
                longer = np.zeros((room, *old.shape[1:]), old.dtype)
                longer[: self.count] = old[: self.count]
                setattr(self, name, longer)
        self.constants[self.count : size] = constants
        self.clauses[self.count : size] = clauses
        self.count = size

    def chained(self, place: IntArray) -> None:
        """Put the clauses that are new into their chains; all of them where there are too few chains."""
        if self.linked == self.count:
            return
        if self.count > len(self.heads):
            self.heads, self.linked = heads_for(2 * self.count), 0
        link(self.constants[: self.count], place, self.heads, self.following, self.linked)
        self.linked = self.count


class AcceptedClauses:
    r"""Accepted clauses, pattern by pattern; asked for their ground clauses in one example after the other."""

    def __init__(self) -> None:
        self._patterns: dict[Shape, _Clauses] = {}
        self._room = _Room(_ROOM, _ROOM)
        # The bindings of the patterns, in their order, in the window that was asked for last.
        self._window: WindowBindings | None = None
        self._bindings: list[Bindings] = []

    def __len__(self) -> int:
        """Number of accepted pairs of a pattern and constants."""
        return sum(found.count for found in self._patterns.values())

    def add(self, pattern: Shape, constants: npt.ArrayLike, clauses: npt.ArrayLike) -> None:
        """Add clauses of a pattern, counting repeats: constants, shape (c, k), and ids of the all-negative and Horn clauses, (c, 2), or `NONE`."""
        if pattern not in self._patterns:
            self._patterns[pattern] = _Clauses(len(pattern.parameters))
        self._patterns[pattern].add(np.asarray(constants, dtype=np.int32), np.asarray(clauses, dtype=np.int64))

    def rows(self, window: WindowBindings, place: int) -> GroundRows:
        """Return the ground clauses that depend on the world in chosen example `place` of a window, by clause; identical ones are not merged."""
        room = self._room
        used = (0, 0)
        for found, bindings in zip(self._patterns.values(), self._bound(window), strict=True):
            first, last = int(bindings.first[place]), int(bindings.last[place])
            if first == last:
                continue
            found.chained(bindings.code.place)
            example = int(bindings.example[first])
            while True:
                rows, literals = _fill(
                    bindings.values,
                    first,
                    last,
                    example,
                    bindings.code,
                    bindings.table.arrays,
                    found.constants,
                    found.clauses,
                    found.heads,
                    found.following,
                    room.clause,
                    room.length,
                    room.literals,
                    used[0],
                    used[1],
                )
                if rows <= len(room.clause) and literals <= len(room.literals):
                    break
                room = self._room = room.grown(rows, literals)
            used = (rows, literals)
        # Literals are over the atoms of the window's network, distinct and ascending in each row, without those that evidence makes false.
        return _in_order(room.clause[: used[0]], room.length[: used[0]], room.literals[: used[1]])

    def _bound(self, window: WindowBindings) -> list[Bindings]:
        if window is not self._window:
            self._window, self._bindings = window, []
        for pattern in islice(self._patterns, len(self._bindings), None):
            self._bindings.append(window.of(pattern))
        return self._bindings


class _Room:
    """Arrays for the ground clauses of an example; they grow and are used again."""

    def __init__(self, rows: int, literals: int) -> None:
        self.clause, self.length = np.empty((2, rows), np.int64)
        self.literals = np.empty(literals, np.int64)

    def grown(self, rows: int, literals: int) -> _Room:
        """Return room for at least so many rows and literals, with what is there."""
        larger = _Room(max(rows, 2 * len(self.clause)), max(literals, 2 * len(self.literals)))
        larger.clause[: len(self.clause)], larger.length[: len(self.length)] = self.clause, self.length
        larger.literals[: len(self.literals)] = self.literals
        return larger


def _in_order(clause: IntArray, length: IntArray, literals: IntArray) -> GroundRows:
    order = np.argsort(clause, kind="stable")
    start = np.cumsum(length) - length
    length = length[order]
    return GroundRows(clause[order], literals[ragged_ranges(start[order], length)], length, repeated(1, len(order)))


@kernel
def _fill(
    values: Annotated[Int32Array, 2],
    first: int,
    last: int,
    example: int,
    code: PatternCode,
    atoms: AtomArrays,
    constants: Annotated[Int32Array, 2],
    clauses: Annotated[IntArray, 2],
    heads: IntArray,
    following: IntArray,
    row_clause: IntArray,
    row_length: IntArray,
    literals: IntArray,
    rows: int,
    size: int,
) -> tuple[int, int]:
    """Write the ground clauses of one pattern behind the first `rows`; return how many rows and literals that makes."""
    key = np.empty(atoms.keys.shape[1], np.int32)
    rest = np.empty(len(code.arity), np.int64)
    for row in range(first, last):
        entry = heads[chain_of(values, row, code.column, len(heads))]
        while entry >= 0:
            fits = agree(values, row, code.column, constants, entry, code.place)
            count = _open_rest(rest, code, atoms, example, values, row, constants, entry, key) if fits else -1
            if count >= 0:
                start = literal_value(code, 0, atoms, example, values, row, constants, entry, key)
                for variant in range(2):
                    clause = clauses[entry, variant]
                    length = _length(rest, count, start, variant == 1)
                    if clause < 0 or length == 0:
                        continue
                    # What does not fit is counted only, so that the caller can make room and ask again.
                    if rows < len(row_clause) and size + length <= len(literals):
                        row_clause[rows], row_length[rows] = clause, length
                        _write(literals, size, rest, count, start, variant == 1)
                    rows += 1
                    size += length
            entry = following[entry]
    return rows, size


@inner
def _open_rest(
    rest: IntArray,
    code: PatternCode,
    atoms: AtomArrays,
    example: int,
    values: Int32Array,
    row: int,
    constants: Int32Array,
    entry: int,
    key: Int32Array,
) -> int:
    """Write the open atoms of all literals but the start, ascending; return how many, or -1 if evidence makes one false."""
    count = 0
    for literal in range(1, len(code.arity)):
        atom = literal_value(code, literal, atoms, example, values, row, constants, entry, key)
        if atom == FIXED_FALSE:
            return -1
        if atom != FIXED_TRUE:
            count = _inserted(rest, count, atom)
    return count


@inner
def _inserted(atoms: IntArray, count: int, atom: int) -> int:
    """Put an atom into its place among `count` ascending ones, unless it is there; return how many there are."""
    place = count
    while place > 0 and atoms[place - 1] > atom:
        place -= 1
    if place > 0 and atoms[place - 1] == atom:
        return count
    for i in range(count, place, -1):
        atoms[i] = atoms[i - 1]
    atoms[place] = atom
    return count + 1


@inner
def _length(rest: IntArray, count: int, start: int, horn: bool) -> int:
    """Return how many literals a ground clause has; 0 if it is true, or false, in every world."""
    if start == (FIXED_TRUE if horn else FIXED_FALSE):
        return 0
    if start < 0:
        return count
    for i in range(count):
        if rest[i] == start:
            return 0 if horn else count
    return count + 1


@inner
def _write(literals: IntArray, size: int, rest: IntArray, count: int, start: int, horn: bool) -> None:
    """Write a ground clause from place `size` on: the negated atoms of `rest` and the start, ascending by atom."""
    waiting = start >= 0
    for i in range(count):
        if waiting and start <= rest[i]:
            if start < rest[i]:
                literals[size] = start + 1 if horn else -start - 1
                size += 1
            waiting = False
        literals[size] = -rest[i] - 1
        size += 1
    if waiting:
        literals[size] = start + 1 if horn else -start - 1
