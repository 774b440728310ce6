"""Components of clause bodies by number: their canonical forms, each found once, and what they and whole clauses cover, as bitmaps.

Bottom clauses of different seeds grow the same components in the same ways. What a way leads to depends only on the forms of the
components that are joined, and on where the new literal is attached to them. So all ways of a layer are looked up together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sqlrl.ground.coverage import ComponentCounts
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.ground.saturation import Saturated
from sqlrl.logic.components import BodyLiteral, Component, Components

Keys = npt.NDArray[np.generic]

NOTHING = -1
"""No parent, no variable."""

_BITS = 16
"""Variables of a component are fewer than 2 ** _BITS. Where one comes from is one number: the parent and, in these bits, its place there."""

_BROUGHT = 1 << 30
"""Stands for the parent of a variable that no parent has; its place is that among the variables of the literal."""

Bits = npt.NDArray[np.uint64]
"""Rows of bits, 64 in a word; bit i is target atom i."""

_CELLS = 1 << 26
"""Booleans that are packed at once."""


# ---- arrays that grow, and keys of their rows --------------------------------------------------------


class CoverageSource(Protocol):
    """The labelled query atoms of a target, and what the database knows around them.

    A clause covers the atoms that all components of its body cover (`Components.split`); its body groundings at an atom are the product of theirs.
    """

    @property
    def truth(self) -> BoolArray:
        """The label of each target atom, shape (n,)."""
        ...

    @property
    def atoms(self) -> IntArray:
        """The ids of the target atoms in the database, ascending, shape (n,)."""
        ...

    @property
    def examples(self) -> IntArray:
        """The example of each, by its id, shape (n,)."""
        ...

    @property
    def arguments(self) -> IntArray:
        """The ids of their constants, shape (n, h); column j is of the type of the target's argument j."""
        ...

    @property
    def predicates(self) -> tuple[str, ...]:
        """The body predicates, ascending; `BodyLiteral.predicate` is an index into them."""
        ...

    def saturate(self, seeds: IntArray, depth: int) -> Saturated:
        """Return the facts around seeds (places of target atoms), in one query for each depth; too many are a GroundingLimitError."""
        ...

    def evaluate(self, layer: Sequence[Component], *, keep: bool = True) -> ComponentCounts:
        """Return where canonical components hold, row i for `layer[i]`, in a few queries; `keep` keeps bindings for larger components to be built.

        Components are built from known ones and from missing ones, which are evaluated on the way; a row is empty if all ways lead over one with
        more bindings than the limit.
        """
        ...


class GrowingRows:
    """A two-dimensional array that grows by rows and becomes as wide as the widest; `fill` stands in columns that rows were not given."""

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
    """Return keys of rows of integers from 0 to `bound` - 1 as an array: equal for equal rows only."""
    bits = max(int(bound - 1).bit_length(), 1)
    if bits * rows.shape[1] <= 63:
        keys = np.zeros(len(rows), dtype=np.int64)
        for column in rows.T:
            keys = (keys << bits) | column
        return keys
    return _bytes(rows)


def row_bytes(rows: npt.NDArray[Any]) -> list[bytes]:
    """Return a key for each row of integers from 0 on: equal for rows only that are equal but for zeros at their ends."""
    found: list[bytes] = _bytes(rows).tolist()
    return found


class KeyNumbers:
    """Numbers keys in the order in which they are added."""

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


# ---- canonical forms ---------------------------------------------------------------------------------


class Literals(NamedTuple):
    """Literals of a bottom clause, as rows."""

    kind: IntArray  # equal where literals differ in the names of existential variables alone, shape (j,)
    variables: IntArray  # existential variables in order of first appearance, then `NOTHING`, shape (j, t)

    def take(self, rows: IntArray) -> Literals:
        """Return some of them."""
        return Literals(self.kind[rows], self.variables[rows])


class Parents(NamedTuple):
    """Components of a bottom clause that a literal joins, a row for each of q literals."""

    number: IntArray  # of their forms in `Covers`, then `NOTHING`, shape (q, p)
    # The bottom clause's variable for each existential variable of the form, in order, then `NOTHING`, shape (q, p, w).
    variables: IntArray


class Ways(NamedTuple):
    """How components grow, one way for each."""

    keys: list[bytes]  # equal where parents and literal are joined alike
    # For new ways, the form and where each of its variables comes from.
    new: dict[bytes, tuple[Component, list[int]]]


class Forms:
    """Finds forms, and remembers the ways to them; `arity` is the most arguments of a literal."""

    def __init__(self, names: Components, arity: int) -> None:
        self._names, self._arity = names, arity
        self._kinds: dict[BodyLiteral, int] = {}
        self._ways = KeyNumbers()
        # Ways without a number: what their forms cover is not known yet, and several searches may wait for it.
        self._met: dict[bytes, tuple[Component, list[int]]] = {}
        # Of each way the form's number, and where each variable of the form comes from.
        self._found = GrowingRows(1, np.int64, NOTHING)

    def literals(self, literals: Sequence[BodyLiteral]) -> Literals:
        """Return literals as rows."""
        kinds, variables = [], np.full((len(literals), self._arity), NOTHING, dtype=np.int64)
        heads = self._names.heads
        for i, literal in enumerate(literals):
            own = {term: heads + k for k, term in enumerate(dict.fromkeys(x for x in literal.terms if x >= heads))}
            shape = BodyLiteral(literal.predicate, tuple(own.get(term, term) for term in literal.terms))
            kinds.append(self._kinds.setdefault(shape, len(self._kinds)))
            variables[i, : len(own)] = list(own)
        return Literals(np.array(kinds, dtype=np.int64), variables)

    def ways(self, parents: Parents, literal: Literals, members: Callable[[int], Sequence[BodyLiteral]]) -> Ways:
        """Return how components grow from parents and one literal each; `members` gives all literals of the component of a row."""
        # Parents come in the order of their forms, so that ways are few.
        places = _places(parents, literal)
        keys = row_bytes(np.column_stack([literal.kind + 1, places + 1, parents.number + 1]))
        first = self._ways.unknown(keys)
        for key, row in first.items():
            if key not in self._met:
                self._met[key] = self._way(parents.variables[row], literal.variables[row], members(row))
        return Ways(keys, {key: self._met[key] for key in first})

    def _way(self, parents: IntArray, literal: IntArray, members: Sequence[BodyLiteral]) -> tuple[Component, list[int]]:
        """Return the form of a component, and where each of its variables comes from."""
        form, variables = self._names.named(frozenset(members))
        place = {variable: _BROUGHT << _BITS | i for i, variable in enumerate(literal.tolist())} | {
            variable: parent << _BITS | i
            for parent, own in enumerate(parents.tolist())
            for i, variable in enumerate(own)
        }
        return form, [place[variable] for variable in variables]

    def grown(
        self,
        ways: Ways,
        parents: Parents,
        literal: Literals,
        number: Callable[[Sequence[Component]], IntArray],
    ) -> tuple[IntArray, IntArray]:
        """Return the numbers of the forms of grown components, shape (q,), and their variables as in `Parents`, (q, w); remember their ways."""
        # Other searches may have met the same ways since `ways` was called.
        if first := self._ways.unknown(list(ways.new)):
            self._learn(first, [ways.new[key] for key in first], number)
        way = self._ways.of(ways.keys)
        number_of, order = np.split(self._found.values[way], [1], axis=1)
        owned = parents.variables.shape[2]
        # The variables that each component can have, and NOTHING.
        known = np.concatenate(
            [parents.variables.reshape(len(way), -1), literal.variables, np.full((len(way), 1), NOTHING)], axis=1
        )
        parent, place = order >> _BITS, order & ((1 << _BITS) - 1)
        columns = np.where(parent == _BROUGHT, known.shape[1] - 1 - self._arity + place, parent * owned + place)
        columns[order == NOTHING] = known.shape[1] - 1
        return number_of[:, 0], np.take_along_axis(known, columns, axis=1)

    def _learn(
        self,
        keys: Collection[bytes],
        new: Sequence[tuple[Component, list[int]]],
        number: Callable[[Sequence[Component]], IntArray],
    ) -> None:
        """Remember new ways."""
        found = np.full((len(new), 1 + max(len(order) for _, order in new)), NOTHING, dtype=np.int64)
        found[:, 0] = number([form for form, _ in new])
        for row, (_, order) in zip(found, new, strict=True):
            row[1 : 1 + len(order)] = order
        self._found.add(found, len(self._ways))
        self._ways.add(keys)
        for key in keys:
            self._met.pop(key, None)


def _places(parents: Parents, literal: Literals) -> IntArray:
    """Return which parent has each variable of a literal, and where, as one number; `NOTHING` for those that none has."""
    count, width = len(literal.kind), parents.variables.shape[2]
    owned = parents.variables.reshape(count, -1)
    if not owned.shape[1]:
        return np.full_like(literal.variables, NOTHING)
    same = (owned[:, np.newaxis] == literal.variables[:, :, np.newaxis]) & (literal.variables >= 0)[:, :, np.newaxis]
    parent, place = np.divmod(same.argmax(axis=2), width)
    return np.where(same.any(axis=2), parent << _BITS | place, NOTHING)


# ---- covers ------------------------------------------------------------------------------------------


def packed(rows: BoolArray) -> Bits:
    """Return rows of Booleans, shape (r, n), as rows of bits: uint64, shape (r, ceil(n / 64))."""
    count, size = rows.shape
    wide = np.zeros((count, -(-size // 64) * 64), dtype=np.bool_)
    wide[:, :size] = rows
    words: Bits = np.packbits(wide, axis=1, bitorder="little").view("<u8").astype(np.uint64, copy=False)
    return words


def unpacked(bits: Bits, size: int) -> BoolArray:
    """Return rows of bits as rows of Booleans, of which there are `size` in each."""
    little = np.ascontiguousarray(bits.astype("<u8", copy=False))
    rows: BoolArray = np.unpackbits(little.view(np.uint8), axis=1, count=size, bitorder="little").astype(np.bool_)
    return rows


def counted_bits(bits: Bits) -> IntArray:
    """Return the number of bits in each row."""
    counts: IntArray = np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
    return counts


class Covers:
    """Knows which of n target atoms components cover, by their places in `components`; the source evaluates all new ones of a call at once."""

    def __init__(self, source: CoverageSource) -> None:
        self._source, self.size = source, len(source.truth)
        self.components: list[Component] = []
        self._numbers: dict[Component, int] = {}
        self._bits = GrowingRows(-(-self.size // 64), np.uint64)

    @property
    def bits(self) -> Bits:
        """What they cover, shape (c, w)."""
        return self._bits.values

    def numbers(self, components: Sequence[Component]) -> IntArray:
        """Return the numbers of known components."""
        return np.array([self._numbers[x] for x in components], dtype=np.int64)

    def evaluate(self, components: Iterable[Component], *, keep: bool) -> None:
        """Evaluate the components that are not known; `keep` says whether larger ones may be built from them (see `CoverageSource`)."""
        new = [x for x in dict.fromkeys(components) if x not in self._numbers]
        if not new:
            return
        found = self._source.evaluate(new, keep=keep)
        known = len(self.components)
        step = max(1, _CELLS // max(self.size, 1))
        bits = []
        for first in range(0, len(new), step):
            last = min(first + step, len(new))
            rows = np.zeros((last - first, self.size), dtype=np.bool_)
            inside = slice(found.indptr[first], found.indptr[last])
            rows[np.repeat(np.arange(last - first), np.diff(found.indptr[first : last + 1])), found.atom[inside]] = True
            bits.append(packed(rows))
        self._bits.add(np.concatenate(bits), known)
        self.components += new
        self._numbers |= {component: known + i for i, component in enumerate(new)}
