"""Bindings of patterns in a window of examples, one query for each closed part; and the atoms there, as compiled loops look them up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.catalog.layout import PredicateInfo, TableName
from sqlrl.errors import GroundingLimitError, Parameter
from sqlrl.ground.network import IntArray
from sqlrl.ground.program import Program
from sqlrl.ground.rows import ROWS_PER_BATCH, AtomIndex
from sqlrl.kernels import inlined, kernel
from sqlrl.logic.shapes import Shape, Slot
from sqlrl.plan.bindings import ClosedPart, ClosedParts, PatternPart, bindings_query
from sqlrl.plan.slots import bind
from sqlrl.plan.sources import closed_atoms, given_atoms, query_atoms
from sqlrl.wording import counted

# ---- ground atoms by predicate and arguments ---------------------------------------------------------


Int32Array = npt.NDArray[np.int32]

FIXED_TRUE = -1
"""What `AtomTable.find` says of an atom that evidence makes true."""

FIXED_FALSE = -2
"""What it says of one that is given false, or outside the scope without a fact."""

NO_EXAMPLE = -1
"""The example in the key of an atom whose predicate has no column for it."""


class AtomArrays(NamedTuple):
    """A table of atoms as compiled loops read it: a hash table with linear probing."""

    # Shape (r, 2 + greatest arity): predicate, example (`NO_EXAMPLE` if there is no column for it), arguments, then -1.
    keys: Annotated[Int32Array, 2]
    value: IntArray  # shape (r,), the number of a query atom, or `FIXED_TRUE`
    places: IntArray  # the row at each place of the hash table, -1 for none; the length is a power of two


class AtomTable:
    """All atoms that can be true in a window, by predicate and arguments; `width` is the greatest arity."""

    def __init__(self, numbers: Mapping[str, int], width: int) -> None:
        self.numbers = dict(numbers)
        self._width = width
        self.predicates: set[str] = set()
        self.arrays = _hashed(np.zeros((0, 2 + width), np.int32), np.zeros(0, np.int64))

    def add(self, predicate: str, example: IntArray | int, arguments: npt.ArrayLike, value: IntArray | int) -> None:
        """Add r new atoms: `example` (r,) or -1, `arguments` (r, arity) as ids, `value` (r,) as numbers or `FIXED_TRUE`."""
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
        """Return for each tuple the number of its query atom, `FIXED_TRUE` or `FIXED_FALSE`."""
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
def _filled(keys: Annotated[Int32Array, 2], size: int) -> IntArray:
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
def find_atom(keys: Annotated[Int32Array, 2], value: IntArray, places: IntArray, key: Int32Array, width: int) -> int:
    """Return the value of an atom, `FIXED_FALSE` if the table does not have it; its key is the first `width` of `key`."""
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
def _find_all(
    keys: Annotated[Int32Array, 2], value: IntArray, places: IntArray, wanted: Annotated[Int32Array, 2]
) -> IntArray:
    found = np.empty(len(wanted), np.int64)
    for i in range(len(wanted)):
        found[i] = find_atom(keys, value, places, wanted[i], wanted.shape[1])
    return found


# ---- patterns and their bindings as arrays -----------------------------------------------------------


class PatternCode(NamedTuple):
    """A pattern as compiled loops read it: the atoms of its l undecided literals, given a binding and the constants."""

    predicate: IntArray  # shape (l,), the start first, as are `arity` and `has_example`
    arity: IntArray
    has_example: npt.NDArray[np.bool_]  # whether the example of the binding is part of the atom
    term: Annotated[IntArray, 2]  # shape (l, greatest arity), a column of the bindings (from 0) or -(parameter + 1)
    column: IntArray  # shape (k,), the column of the bindings of each parameter that the closed part mentions
    place: IntArray  # shape (k,), its place among the pattern's parameters


@dataclass(frozen=True, eq=False)
class Bindings:
    """The bindings of a pattern in the examples of a window."""

    pattern: Shape
    example: IntArray  # shape (b,), ascending
    # Shape (b, w): ids of constants, rows ascending in an example; patterns with the same closed part share the array.
    values: Int32Array
    variables: IntArray  # shape (v,), the column of `values` of each variable of the pattern
    parameters: IntArray  # shape (k,), the same for parameters; -1 for those that only undecided literals mention
    first: IntArray  # shape (e,): the i-th chosen example has the bindings first[i] to last[i] - 1
    last: IntArray
    code: PatternCode
    table: AtomTable  # the atoms of the window


# ---- queries -----------------------------------------------------------------------------------------


MOST_BINDINGS = 10_000_000
"""Bindings of one closed part in a window: more than that fill the memory."""


class WindowBindings:
    """The bindings of patterns in the examples of a window; each closed part is queried once."""

    def __init__(
        self,
        program: Program,
        examples: TableName,
        chosen: IntArray,  # shape (e,), the examples of the table in the order of learning
        atoms: IntArray,  # shape (n,), `Network.atoms` of the window
        *,
        parts: ClosedParts | None = None,  # those of a run, which know the patterns of earlier windows
        limit: int = MOST_BINDINGS,
    ) -> None:
        self.program, self.examples, self.chosen, self.limit = program, examples, chosen, limit
        self.parts = parts or ClosedParts(program.layout)
        self._found: dict[ClosedPart, tuple[IntArray, Int32Array]] = {}
        self._known: dict[Shape, Bindings] = {}
        self._asked: dict[int, Bindings] = {}
        predicates = program.layout.predicates
        numbers = {name: i for i, name in enumerate(sorted(predicates))}
        # All query atoms of the window, numbered as in `atoms`, and what evidence makes true.
        self.table = AtomTable(numbers, max((len(info.types) for info in predicates.values()), default=0))
        index = AtomIndex(atoms)
        for info in program.public_layout.predicates.values():
            if info.open:
                self._add_open(info, index)

    def of(self, pattern: Shape) -> Bindings:
        """Return a pattern's bindings in the window; its literals are all negative, the first of an open predicate."""
        found = self._asked.get(id(pattern))
        if found is None or found.pattern is not pattern:
            if pattern not in self._known:
                self._known[pattern] = self._bindings(pattern)
            # A shape's hash takes longer than all else here; a pattern is asked for in each example by the same object.
            found = self._asked[id(pattern)] = replace(self._known[pattern], pattern=pattern)
        return found

    def _bindings(self, pattern: Shape) -> Bindings:
        found = self.parts.of(pattern)
        for name in sorted({pattern.literals[i].predicate for i in found.undecided} - self.table.predicates):
            self._add_closed(self.program.layout.predicates[name])
        if found.part not in self._found:
            self._found[found.part] = self._read(pattern, found.part)
        example, values = self._found[found.part]
        return Bindings(
            pattern,
            example,
            values,
            np.array(found.variables, np.int64),
            np.array(found.parameters, np.int64),
            np.searchsorted(example, self.chosen).astype(np.int64),
            np.searchsorted(example, self.chosen, side="right").astype(np.int64),
            self._code(pattern, found),
            self.table,
        )

    def _read(self, pattern: Shape, part: ClosedPart) -> tuple[IntArray, Int32Array]:
        """Run the query of a closed part: the example of each binding, and its other columns."""
        query = bindings_query(part, self.program.layout, self.examples, self.limit + 1)
        examples, values, size = [np.zeros(0, np.int64)], [np.zeros((0, len(part.columns)), np.int32)], 0
        for batch in self.program.engine.stream(query, step=f"bind the pattern {pattern}", rows=ROWS_PER_BATCH):
            size += batch.num_rows
            if size > self.limit:
                raise GroundingLimitError(
                    f"the pattern {pattern} has more than {counted(self.limit, 'binding')} in "
                    f"{counted(len(self.chosen), 'example')} (joined from {part}): lower the recall in its modes or the "
                    f"length of paths, so that fewer of its atoms meet, or take a smaller {Parameter('window')}"
                )
            examples.append(batch.column("example").to_numpy().astype(np.int64))
            values.append(_matrix(batch, part.columns))
        return np.concatenate(examples), np.ascontiguousarray(np.concatenate(values))

    def _code(self, pattern: Shape, found: PatternPart) -> PatternCode:
        literals = [pattern.literals[i] for i in found.undecided]
        assert found.undecided[:1] == (0,), "the first literal of a pattern is open"
        bound = bind(pattern, self.program.layout)
        width = max((len(x.terms) for x in literals), default=0)
        term = np.zeros((len(literals), width), np.int64)
        for i, literal in enumerate(literals):
            for j, slot in enumerate(literal.terms):
                term[i, j] = _place(slot, found)
        shown = [i for i, place in enumerate(found.parameters) if place >= 0]
        return PatternCode(
            np.array([self.table.numbers[x.predicate] for x in literals], np.int64),
            np.array([len(x.terms) for x in literals], np.int64),
            np.array([bound.info(x).example_column for x in literals], np.bool_),
            term,
            np.array([found.parameters[i] for i in shown], np.int64),
            np.array(shown, np.int64),
        )

    # ---- atoms ------------------------------------------------------------------------------------------

    def _add_open(self, info: PredicateInfo, index: AtomIndex) -> None:
        """Add the query atoms of a predicate and what is given true; what is not in the table is false."""
        layout, engine = self.program.layout, self.program.engine
        found = engine.fetch(query_atoms(info, layout, self.examples), step=f"read the atoms of {info.name}")
        self._add(info, found, index.local(found.column("atom").to_numpy().astype(np.int64)))
        if info.has_given:
            given = engine.fetch(given_atoms(info, layout, self.examples), step=f"read what is given of {info.name}")
            self._add(info, given, FIXED_TRUE)

    def _add_closed(self, info: PredicateInfo) -> None:
        found = self.program.engine.fetch(closed_atoms(info), step=f"read the facts of {info.name}")
        self._add(info, found, FIXED_TRUE)

    def _add(self, info: PredicateInfo, found: pa.Table, value: IntArray | int) -> None:
        example = found.column("example").to_numpy() if info.example_column else NO_EXAMPLE
        self.table.add(info.name, example, _matrix(found, [f"a{i}" for i in range(len(info.types))]), value)


def _place(slot: Slot, found: PatternPart) -> int:
    return -(slot.index + 1) if slot.parameter else found.variables[slot.index]


def _matrix(data: pa.Table | pa.RecordBatch, names: list[str] | tuple[str, ...]) -> Int32Array:
    matrix = np.empty((data.num_rows, len(names)), np.int32)
    for j, name in enumerate(names):
        matrix[:, j] = data.column(name).to_numpy()
    return matrix
