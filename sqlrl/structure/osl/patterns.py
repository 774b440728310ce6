"""Patterns: paths with their constants taken out, and the two clauses that each stands for.

Source: Huynh & Mooney, "Online Structure Learning for Markov Logic Networks" (2011), section 3.1.

A constant that a clause mode keeps at one place of a path is kept at all its places, since the paper turns all constants
into variables "except those" that are declared as constants. So what joined two atoms of a path joins their literals too.
Each place of a kept constant is a parameter of its own, so that one shape serves paths whose constants coincide or not.
All other constants become variables, equal ones the same.

A pattern's literals are in canonical order and its constants in the least of the orders that the pattern's symmetries allow.
So two paths have the same pattern and constants exactly if they are the same up to the names of variables, start included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from math import factorial, prod
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.logic.modes import Modes
from sqlrl.logic.shapes import ORDERINGS_TRIED, Shape, ShapeLiteral, Shaper, Slot, parameter_symmetries
from sqlrl.logic.terms import And, Atom, Clause, Constant, Formula, Implies, Literal, Not, Or, Term, Variable
from sqlrl.structure.osl.hypergraph import Hypergraph
from sqlrl.structure.osl.paths import Paths
from sqlrl.structure.osl.row_hashing import distinct_rows, slot_of, table_of

_OPERATOR = "v"

Constants = npt.NDArray[np.int32]
Integer = TypeVar("Integer", bound=np.integer[Any])

_PADDING, _PARAMETER, _VARIABLE = 0, 1, 2
"""Codes of places in a signature; variable i is `_VARIABLE + i`."""


# ---- clauses in the user's words ---------------------------------------------------------------------


def clause_of(shape: Shape, names: Sequence[str], *, horn: bool = False) -> Clause:
    """Return a clause of a shape of plain literals with `names` for its parameters; with `horn` its first literal is positive."""
    variables = variable_names(shape.variables)

    def term(slot: Slot) -> Term:
        """Return the variable or constant of a slot."""
        return Constant(names[slot.index]) if slot.parameter else Variable(variables[slot.index])

    literals = tuple(
        Literal(x.predicate, tuple(map(term, x.terms)), x.positive or (horn and i == 0))
        for i, x in enumerate(shape.literals)
    )
    return Clause(tuple(zip(variables, shape.variables, strict=True)), literals)


def formula_of(atoms: Sequence[Atom], *, horn: bool) -> Formula:
    """Return the clause of a path's atoms, the start first: an implication of the start if it is positive, else a disjunction."""
    start, *rest = atoms
    if not horn:
        return Or(tuple(map(Not, atoms))) if rest else Not(start)
    if not rest:
        return start
    return Implies(And(tuple(rest)) if len(rest) > 1 else rest[0], start)


def variable_names(types: Sequence[str]) -> tuple[str, ...]:
    """Return names for variables of some types: their initials, numbered where several share one."""
    initials = [kind[0].lower() for kind in types]
    count: dict[str, int] = {}
    names = []
    for initial in initials:
        count[initial] = count.get(initial, 0) + 1
        alone = initials.count(initial) == 1 and initial != _OPERATOR
        names.append(initial if alone else f"{initial}{count[initial]}")
    return tuple(names)


# ---- patterns ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variant:
    """One of the clauses of a pattern, in canonical form."""

    shape: Shape  # as `Shaper` returns it
    order: tuple[int, ...]  # the pattern's parameter that fills each parameter of the shape
    symmetries: tuple[tuple[int, ...], ...]  # `parameter_symmetries` of the shape
    start: int | None = None  # of the Horn clause, the literal of the shape that was the start: the only positive one

    def rows(self, constants: Constants) -> Constants:
        """Return rows of the pattern's constants, shape (n, k), as rows of the shape's: equal exactly if the clauses are."""
        return least_rows(constants[:, list(self.order)], self.symmetries)


@dataclass(frozen=True)
class Pattern:
    """A path without its constants."""

    shape: Shape  # all literals are negative; the first is the start, the others are in canonical order
    symmetries: tuple[tuple[int, ...], ...]  # exchanges of its parameters that leave it, and its start, the same
    negative: Variant  # the clause of all its literals
    horn: Variant  # the one in which the start is positive

    @property
    def variants(self) -> tuple[Variant, Variant]:
        """The all-negative clause and the Horn clause."""
        return self.negative, self.horn


class Candidates(NamedTuple):
    """The distinct paths of one pattern, up to their variables."""

    pattern: int  # a place in `PatternBook.patterns`
    constants: Constants  # ids of the pattern's parameters, shape (n, k)
    start: IntArray  # the hyperedge that each started from, shape (n,)


class PatternBook:
    """Turns paths into patterns and constants, and keeps `patterns` in the order met; `types` are of the predicates that paths may have."""

    def __init__(self, modes: Modes, types: Mapping[str, tuple[str, ...]]) -> None:
        self.patterns: list[Pattern] = []
        self._names = modes.in_paths()
        self._types = {name: types[name] for name in self._names}
        self._shaper = Shaper(lambda predicate, place: types[predicate][place])
        self._numbers: dict[Shape, int] = {}
        self._known: dict[bytes, tuple[int, tuple[int, ...]]] = {}
        kinds = {kind: i for i, kind in enumerate(dict.fromkeys(t for name in self._names for t in types[name]))}
        self._width = max((len(types[name]) for name in self._names), default=0)
        self._kind = np.full((len(self._names), self._width), -1, dtype=np.int64)
        self._constant = np.zeros((len(self._names), self._width), dtype=np.bool_)
        for i, name in enumerate(self._names):
            self._kind[i, : len(types[name])] = [kinds[kind] for kind in types[name]]
            self._constant[i, : len(types[name])] = modes.of[name].constants

    def number_of(self, shape: Shape) -> int:
        """Return the place of a pattern in `patterns`; it is added if it is new."""
        # When a run is resumed, the shapes of its patterns in their order get their places again.
        if shape not in self._numbers:
            self._numbers[shape] = len(self.patterns)
            self.patterns.append(_pattern(shape, self._shaper))
        return self._numbers[shape]

    def grouped(self, graph: Hypergraph, paths: Paths) -> tuple[list[Candidates], IntArray]:
        """Return the distinct paths by pattern, and each path's candidate, shape (p,), with candidates numbered through the list."""
        pattern, constants = self._read(graph, paths)
        start = paths.atom[paths.indptr[:-1]]
        first, group = distinct_rows(np.column_stack([pattern, start, constants]))
        order = np.argsort(pattern[first], kind="stable")
        rank = np.empty(len(first), dtype=np.int64)
        rank[order] = np.arange(len(first))
        chosen = first[order]
        pattern, constants, start = pattern[chosen], constants[chosen].astype(np.int32), start[chosen]
        begins = np.flatnonzero(np.diff(pattern, prepend=-1))
        ends = np.append(begins[1:], len(chosen))[: len(begins)]
        candidates = []
        for number, a, b in zip(pattern[begins].tolist(), begins.tolist(), ends.tolist(), strict=True):
            size = len(self.patterns[number].shape.parameters)
            candidates.append(Candidates(number, np.ascontiguousarray(constants[a:b, :size]), start[a:b]))
        return candidates, rank[group]

    def _read(self, graph: Hypergraph, paths: Paths) -> tuple[IntArray, IntArray]:
        """The pattern of each path, shape (p,), and its constants, -1 past their number."""
        if graph.predicates != self._names:
            raise ValueError(f"the graph has the predicates {graph.predicates}, the book {self._names}")
        longest = int(np.diff(paths.indptr).max(initial=0))
        pattern = np.empty(len(paths), dtype=np.int64)
        constants = np.full((len(paths), longest * self._width), -1, dtype=np.int64)
        for which, rows in paths.by_length():
            signs, values = _signatures(rows, graph.predicate, graph.arguments, self._kind, self._constant)
            first, group = distinct_rows(signs)
            known = [self._recognised(signs[i]) for i in first]
            pattern[which] = np.array([number for number, _ in known], dtype=np.int64)[group]
            places = np.array([columns for _, columns in known], dtype=np.int64)[group]
            constants[which, : places.shape[1]] = np.take_along_axis(values, places, axis=1)
        for number in np.unique(pattern).tolist():
            symmetries = self.patterns[number].symmetries
            if len(symmetries) > 1:
                rows = np.flatnonzero(pattern == number)
                size = len(symmetries[0])
                constants[rows, :size] = least_rows(constants[rows, :size], symmetries)
        return pattern, constants

    def _recognised(self, signature: IntArray) -> tuple[int, tuple[int, ...]]:
        """The pattern of a signature and the column of each constant, past their number one that holds -1."""
        key = signature.tobytes()
        if key not in self._known:
            atoms = signature.reshape(-1, 1 + self._width).tolist()
            shape, columns = self._canonical(atoms)
            none = len(atoms) * self._width
            self._known[key] = (self.number_of(shape), columns + (none,) * (none - len(columns)))
        return self._known[key]

    def _canonical(self, signature: Sequence[Sequence[int]]) -> tuple[Shape, tuple[int, ...]]:
        """The least shape over the orders of look-alike literals, and the column of each of its parameters."""
        column = 0
        literals: list[tuple[str, list[tuple[bool, int]]]] = []
        for predicate, *codes in signature:
            terms: list[tuple[bool, int]] = []
            for code in codes:
                if code == _PARAMETER:
                    terms.append((True, column))
                    column += 1
                elif code != _PADDING:
                    terms.append((False, code))
            literals.append((self._names[predicate], terms))
        start, rest = literals[0], sorted(literals[1:], key=lambda x: (x[0], [t[0] for t in x[1]]))
        groups: dict[tuple[str, tuple[bool, ...]], list[tuple[str, list[tuple[bool, int]]]]] = {}
        for literal in rest:
            groups.setdefault((literal[0], tuple(t[0] for t in literal[1])), []).append(literal)
        many = prod(factorial(len(group)) for group in groups.values()) > ORDERINGS_TRIED
        orders: Iterable[tuple[tuple[tuple[str, list[tuple[bool, int]]], ...], ...]]
        orders = [tuple(map(tuple, groups.values()))] if many else product(*map(permutations, groups.values()))
        numbered = (self._numbered([start, *(x for group in order for x in group)]) for order in orders)
        return min(numbered, key=lambda found: (found[0].literals, found[1]))

    def _numbered(self, literals: Sequence[tuple[str, list[tuple[bool, int]]]]) -> tuple[Shape, tuple[int, ...]]:
        """Number variables and parameters by their first occurrence."""
        slots: dict[tuple[bool, int], Slot] = {}
        types: tuple[list[str], list[str]] = ([], [])
        columns: list[int] = []
        written = []
        for name, terms in literals:
            for term, kind in zip(terms, self._types[name], strict=True):
                if term not in slots:
                    slots[term] = Slot(term[0], len(types[term[0]]))
                    types[term[0]].append(kind)
                    if term[0]:
                        columns.append(term[1])
            written.append(ShapeLiteral(name, False, tuple(slots[term] for term in terms)))
        return Shape(tuple(types[0]), tuple(types[1]), tuple(written)), tuple(columns)


def least_rows(rows: npt.NDArray[Integer], symmetries: Sequence[tuple[int, ...]]) -> npt.NDArray[Integer]:
    """Return for each row the least of those to which `symmetries`, permutations of columns with the identity first, lead."""
    least = rows
    for symmetry in symmetries[1:]:
        other = rows[:, list(symmetry)]
        place = np.argmax(other != least, axis=1)[:, None]
        less = np.take_along_axis(other, place, axis=1) < np.take_along_axis(least, place, axis=1)
        least = np.where(less, other, least)
    return least


def _pattern(shape: Shape, shaper: Shaper) -> Pattern:
    marks = [str(i) for i in range(len(shape.parameters))]
    variants = []
    for horn in (False, True):
        instance = shaper(clause_of(shape, marks, horn=horn))
        order = tuple(int(x.name) for x in instance.arguments if isinstance(x, Constant))
        start = next((i for i, x in enumerate(instance.shape.literals) if x.positive), None)
        variants.append(Variant(instance.shape, order, parameter_symmetries(instance.shape), start))
    head = replace(shape.literals[0], positive=True)
    # The positive start can only take its own place.
    symmetries = parameter_symmetries(replace(shape, literals=(head, *shape.literals[1:])))
    return Pattern(shape, symmetries, variants[0], variants[1])


@inner
def _code_so_far(
    x: int, kinds: IntArray, ids: IntArray, path: IntArray, signs: IntArray, predicate: IntArray, constant: BoolArray
) -> int:
    """The code of place x of a path: a parameter, the variable of an equal place before it, or 0 for a variable not met yet."""
    width = constant.shape[1]
    code = 0
    for y in range(len(kinds)):
        if kinds[y] == kinds[x] and ids[y] == ids[x]:
            if constant[predicate[path[y // width]], y % width]:
                return _PARAMETER
            if y < x and code == 0:
                code = signs[y // width * (1 + width) + 1 + y % width]
    return code


@kernel
def _signatures(
    rows: Annotated[IntArray, 2],
    predicate: IntArray,
    arguments: Annotated[IntArray, 2],
    kind: Annotated[IntArray, 2],
    constant: Annotated[BoolArray, 2],
) -> tuple[IntArray, IntArray]:
    """Of each path: for each atom its predicate and the codes of its places; and its kept constants in order, then -1."""
    length, width = rows.shape[1], arguments.shape[1]
    signs = np.zeros((len(rows), length * (1 + width)), dtype=np.int64)
    values = np.full((len(rows), length * width + 1), -1, dtype=np.int64)
    kinds, ids = np.empty(length * width, dtype=np.int64), np.empty(length * width, dtype=np.int64)
    for i in range(len(rows)):
        for j in range(length):
            for a in range(width):
                kinds[j * width + a] = kind[predicate[rows[i, j]], a]
                ids[j * width + a] = arguments[rows[i, j], a]
        kept = variables = 0
        for j in range(length):
            place = j * (1 + width)
            signs[i, place] = predicate[rows[i, j]]
            for a in range(width):
                x = j * width + a
                if kinds[x] < 0:
                    continue
                code = _code_so_far(x, kinds, ids, rows[i], signs[i], predicate, constant)
                if code == _PARAMETER:
                    values[i, kept] = ids[x]
                    kept += 1
                elif code == 0:
                    code = _VARIABLE + variables
                    variables += 1
                signs[i, place + 1 + a] = code
    return signs, values


# ---- candidates that say less than longer ones -------------------------------------------------------


def sub_clauses(paths: Paths, row: IntArray, kept: BoolArray) -> BoolArray:
    """Tell which of c candidates are sub-clauses of longer kept ones; `row`, shape (p,), is the candidate of each path."""
    # A candidate is one if a path of it is a part of a path with the same start of a kept one: its literals are some of the other's, or more
    # general where only the longer path keeps a constant. So no two clauses are compared.
    longest = int(np.diff(paths.indptr).max(initial=0))
    atoms = np.full((len(paths), longest), -1, dtype=np.int64)
    for which, members in paths.by_length():
        atoms[which, : members.shape[1]] = members
    found = np.zeros(len(kept), dtype=np.bool_)
    _mark(atoms, np.diff(paths.indptr), row, np.ascontiguousarray(kept), found)
    return found


@kernel
def _mark(atoms: Annotated[IntArray, 2], length: IntArray, row: IntArray, kept: BoolArray, found: BoolArray) -> None:
    table = table_of(atoms, len(atoms), len(atoms))
    part = np.empty(atoms.shape[1], dtype=np.int64)
    for i in range(len(atoms)):
        others = length[i] - 1
        # Bit j says that atom j + 1 is in the part; neither none nor all.
        for chosen in range(1, (1 << others) - 1 if kept[row[i]] else 0):
            for j in range(len(part)):
                part[j] = -1
            part[0] = atoms[i, 0]
            count = 1
            for j in range(others):
                if chosen >> j & 1:
                    part[count] = atoms[i, j + 1]
                    count += 1
            slot = slot_of(table, atoms, part)
            if table[slot] >= 0:
                found[row[table[slot]]] = True
