"""Bindings of patterns in a window of examples, one query for each closed part; and the truth of all atoms there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from sqlrl.catalog.layout import PredicateInfo, TableName
from sqlrl.errors import GroundingLimitError
from sqlrl.ground.atom_table import FIXED_TRUE, NO_EXAMPLE, AtomTable, Int32Array
from sqlrl.ground.bound_pattern import Bindings, PatternCode
from sqlrl.ground.network import IntArray
from sqlrl.ground.program import Program
from sqlrl.ground.rows import AtomIndex
from sqlrl.logic.shapes import Shape, Slot
from sqlrl.plan.bindings import ClosedPart, ClosedParts, PatternPart, bindings_query
from sqlrl.plan.facts import closed_atoms, given_atoms, query_atoms
from sqlrl.plan.slots import bind
from sqlrl.wording import counted

ROWS_PER_BATCH = 262_144
MOST_BINDINGS = 10_000_000
"""Bindings of one closed part in a window: more than that fill the memory."""


class WindowBindings:
    r"""The bindings of patterns in the examples of a window; each closed part is asked for once.

    Parameters
    ----------
    program : Program
    examples : TableName
        Table with a column `example`: those of the window, each once.
    chosen : int64 array, shape (e,)
        The same examples, in the order of learning.
    atoms : int64 array, shape (n,)
        `Network.atoms` of the window.
    parts : ClosedParts, optional
        Those of the run, so that patterns of earlier windows are known.
    limit : int
        The most bindings of a closed part.

    Attributes
    ----------
    table : AtomTable
        All query atoms of the window by predicate and arguments, numbered as in `atoms`, and what evidence makes true.

    Examples
    --------
    >>> import numpy as np
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> from sqlrl.logic.shapes import ShapeLiteral
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> x, y = Slot(False, 0), Slot(False, 1)
    >>> literals = (ShapeLiteral("Smokes", False, (x,)), ShapeLiteral("Friends", False, (y, x)))
    >>> with program.only(np.array([0])) as examples:
    ...     window = WindowBindings(program, examples, np.array([0]), np.array([1, 2, 3]))
    ...     found = window.of(Shape(("person", "person"), (), literals))
    >>> found.values[:, found.variables].tolist(), found.first.tolist(), found.last.tolist()
    ([[1, 0], [2, 1]], [0], [2])
    """

    def __init__(
        self,
        program: Program,
        examples: TableName,
        chosen: IntArray,
        atoms: IntArray,
        *,
        parts: ClosedParts | None = None,
        limit: int = MOST_BINDINGS,
    ) -> None:
        self.program, self.examples, self.chosen, self.limit = program, examples, chosen, limit
        self.parts = parts or ClosedParts(program.layout)
        self._found: dict[ClosedPart, tuple[IntArray, Int32Array]] = {}
        self._known: dict[Shape, Bindings] = {}
        self._asked: dict[int, Bindings] = {}
        predicates = program.layout.predicates
        numbers = {name: i for i, name in enumerate(sorted(predicates))}
        self.table = AtomTable(numbers, max((len(info.types) for info in predicates.values()), default=0))
        index = AtomIndex(atoms)
        for info in program.public_layout.predicates.values():
            if info.open:
                self._add_open(info, index)

    def of(self, pattern: Shape) -> Bindings:
        """Return the bindings of a pattern in the examples of the window.

        Parameters
        ----------
        pattern : Shape
            All of its literals are negative; the first is of an open predicate.

        Raises
        ------
        GroundingLimitError
            If there are more than the limit; names the pattern.
        ModelError
            If its open literals belong to several examples.
        """
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
                    "length of paths, so that fewer of its atoms meet, or take a smaller window="
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
