"""The clauses that a run has added: what caused each, the rules that they are, and how a run is saved and gone on with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sqlrl.errors import InputError
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.logic.rules import Expansions, Rule
from sqlrl.logic.shapes import Shape, ShapeLiteral, Slot
from sqlrl.logic.terms import Atom, Formula, Term, Variable
from sqlrl.structure.osl.accepted_clauses import NONE, AcceptedClauses
from sqlrl.structure.osl.names import StandingNumbers
from sqlrl.structure.osl.patterns import PatternBook, formula_of, variable_names

FIRST = 1 << 40
"""The id of the first added clause inside a network; those of the model come before it."""

Key = tuple[int, bytes]
"""A clause: the number of its canonical shape, and its constants in the order of the shape's parameters."""

# ---- saving ---------------------------------------------------------------------------------------------
_NUMBERS = ("pattern", "horn", "step", "example", "atom", "delta_n")


class Addition(NamedTuple):
    """A clause that was added."""

    pattern: int  # a place in `PatternBook.patterns`
    horn: bool  # whether the start is positive
    constants: tuple[int, ...]  # kept ids (see `names.Numbers`), by the pattern's parameters
    step: int  # that added it, from 0
    example: int  # of that step
    atom: int  # kept id of the wrongly predicted atom from which its path was found first
    delta_n: int  # at that step


class KnownClauses:
    """Recognises clauses by the hash of their canonical form."""

    def __init__(self) -> None:
        self._shapes: dict[Shape, int] = {}
        self._keys: set[Key] = set()

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, shape: Shape, rows: npt.NDArray[np.int32]) -> list[bool]:
        """Add clauses of a canonical shape by rows of constants, as `Variant.rows` returns them; return for each whether it is new."""
        number = self._shapes.setdefault(shape, len(self._shapes))
        new = []
        for row in np.ascontiguousarray(rows, dtype=np.int32):
            key = (number, row.tobytes())
            new.append(key not in self._keys)
            self._keys.add(key)
        return new

    def copy(self) -> KnownClauses:
        """Return a copy that can be added to without changing this one."""
        other = KnownClauses()
        other._shapes, other._keys = dict(self._shapes), set(self._keys)
        return other


def accepted_of(book: PatternBook, additions: Sequence[Addition], numbers: StandingNumbers) -> AcceptedClauses:
    """Return added clauses, numbered in their order from 0, for their ground clauses in a window."""
    accepted = AcceptedClauses()
    groups: dict[int, list[int]] = {}
    for i, addition in enumerate(additions):
        groups.setdefault(addition.pattern, []).append(i)
    for pattern, members in groups.items():
        constants = np.array([additions[i].constants for i in members], dtype=np.int32).reshape(len(members), -1)
        clauses = np.full((len(members), 2), NONE, dtype=np.int64)
        clauses[np.arange(len(members)), [int(additions[i].horn) for i in members]] = members
        shape = book.patterns[pattern].shape
        accepted.add(shape, numbers.to_window_ids(shape.parameters, constants), clauses)
    return accepted


def to_arrays(additions: Sequence[Addition]) -> dict[str, npt.NDArray[Any]]:
    """Return added clauses as arrays: the columns of `Addition`, and `constants` end to end with their `length`."""
    columns = {name: np.array([getattr(x, name) for x in additions], dtype=np.int64) for name in _NUMBERS}
    constants = np.array([c for x in additions for c in x.constants], dtype=np.int64)
    return columns | {"constants": constants, "length": np.array([len(x.constants) for x in additions], dtype=np.int64)}


def from_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> list[Addition]:
    """Return what `to_arrays` was given."""
    ends = np.cumsum(arrays["length"])
    rows = zip(
        *(arrays[name].tolist() for name in _NUMBERS), (ends - arrays["length"]).tolist(), ends.tolist(), strict=True
    )
    constants = arrays["constants"].tolist()
    return [
        Addition(pattern, bool(horn), tuple(constants[first:last]), step, example, atom, delta_n)
        for pattern, horn, step, example, atom, delta_n, first, last in rows
    ]


def patterns_to_text(shapes: Iterable[Shape]) -> str:
    """Return patterns as JSON text."""
    return json.dumps(
        [
            {
                "variables": shape.variables,
                "parameters": shape.parameters,
                "literals": [[x.predicate, [[t.parameter, t.index] for t in x.terms]] for x in shape.literals],
            }
            for shape in shapes
        ]
    )


def patterns_from_text(text: str) -> list[Shape]:
    """Return what `patterns_to_text` was given; another text raises InputError."""
    try:
        return [
            Shape(
                tuple(x["variables"]),
                tuple(x["parameters"]),
                tuple(
                    ShapeLiteral(name, False, tuple(Slot(bool(p), int(i)) for p, i in terms))
                    for name, terms in x["literals"]
                ),
            )
            for x in json.loads(text)
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"the patterns of a saved run cannot be read: {error}") from None


def _kinds_of(additions: Sequence[Addition]) -> list[tuple[int, IntArray]]:
    """Return for each kind of rule that was added, (2 * pattern + horn) ascending, which additions it has."""
    groups: dict[int, list[int]] = {}
    for i, addition in enumerate(additions):
        groups.setdefault(2 * addition.pattern + addition.horn, []).append(i)
    return [(kind, np.array(groups[kind], dtype=np.int64)) for kind in sorted(groups)]


# ---- as rules: one template for each pattern and sign of its start -----------------------------------


def template_of(shape: Shape, *, horn: bool) -> tuple[Formula, tuple[str, ...]]:
    """Return a clause of a pattern with a `+` variable for each parameter, and these variables; with `horn` it implies its first literal."""
    names = variable_names((*shape.variables, *shape.parameters))
    variables, plus = names[: len(shape.variables)], names[len(shape.variables) :]

    def term(slot: Slot) -> Term:
        """Return the variable of a slot."""
        return Variable(plus[slot.index], plus=True) if slot.parameter else Variable(variables[slot.index])

    return formula_of([Atom(x.predicate, tuple(map(term, x.terms))) for x in shape.literals], horn=horn), plus


def rules_of(
    book: PatternBook, additions: Sequence[Addition], weights: FloatArray, names: Callable[[str], Sequence[str]]
) -> tuple[tuple[Rule, ...], list[int]]:
    """Return added clauses as rules, templates that list them, and the additions in the order listed; `weights` are log-odds of each."""
    rules: list[Rule] = []
    order: list[int] = []
    for kind, members in _kinds_of(additions):
        shape = book.patterns[kind // 2].shape
        formula, plus = template_of(shape, horn=bool(kind % 2))
        order += members.tolist()
        if not plus:
            rules.append(Rule(formula, float(weights[members[0]])))
            continue
        words = [names(kind) for kind in shape.parameters]
        rows = tuple(
            tuple(word[i] for word, i in zip(words, additions[m].constants, strict=True)) for m in members.tolist()
        )
        listed = Expansions(plus, rows, tuple(float(weights[m]) for m in members.tolist()), found=True)
        rules.append(Rule(formula, None, expansions=listed))
    return tuple(rules), order
