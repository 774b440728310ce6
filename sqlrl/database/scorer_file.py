"""Files of compiled scorers: a `.npz` of numpy, with the structure as JSON in the array `scorer` and all numbers as arrays beside it.

Arrays, by the number of what they belong to in the JSON: `weights` and `feature_of` by clause; `shape.<i>.clauses` and
`shape.<i>.parameters`, whose rows are the columns `clause, k0, k1, ...`; `closed.<i>`, the columns of a global predicate's facts;
`names.<i>`, the constants of a type in UTF-8 one after the other, and `ends.<i>`, where each ends. Nothing is pickled.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName, TypeInfo
from sqlrl.errors import InputError
from sqlrl.ground.array_grounding import ArrayConjunction
from sqlrl.ground.array_joins import ArrayTable
from sqlrl.ground.array_program import (
    ArrayFeature,
    ArrayHelper,
    ArrayProgram,
    ArrayShape,
    ArrayTemplate,
    BlockCheck,
    FreedInstance,
    TypeNames,
)
from sqlrl.ground.blocks import BlockRule
from sqlrl.logic.shapes import Shape, ShapeEquality, ShapeExists, ShapeLiteral, Slot
from sqlrl.plan.slots import BoundShape, bind

FORMAT, VERSION = "sqlrl-scorer", 1

Arrays = dict[str, npt.NDArray[Any]]


# ---- writing -----------------------------------------------------------------------------------------


def write_scorer(path: Path, program: ArrayProgram, names: Mapping[str, TypeNames]) -> None:
    """Write a program with the constants that it knows."""
    arrays: Arrays = {"weights": program.weights, "feature_of": program.feature_of}
    for i, shape in enumerate(program.shapes):
        arrays[f"shape.{i}.clauses"] = shape.clauses
        arrays[f"shape.{i}.parameters"] = _stacked(shape.parameters)
    for i, table in enumerate(program.closed.values()):
        arrays[f"closed.{i}"] = _stacked(table)
    for i, each in enumerate(names.values()):
        texts = [name.encode() for name in each.names]
        arrays[f"names.{i}"] = np.frombuffer(b"".join(texts), np.uint8)
        arrays[f"ends.{i}"] = np.cumsum([len(text) for text in texts], dtype=np.int64)
    layout = program.layout
    structure = {
        "format": FORMAT,
        "version": VERSION,
        "example_type": layout.example_type,
        "types": [[kind.name, kind.size, kind.local] for kind in layout.types.values()],
        "predicates": [
            [x.name, x.types, x.open, x.block, x.example_column, x.full_scope, x.has_given, x.hidden]
            for x in layout.predicates.values()
        ],
        "columns": program.columns,
        "names": [[kind, each.domain] for kind, each in names.items()],
        "closed": [[name, table.size] for name, table in program.closed.items()],
        "features": [[x.text, x.weight, x.sign, x.hard, _bound(x.bound)] for x in program.features],
        "shapes": [_bound(x.bound) for x in program.shapes],
        "templates": [[x.feature, x.kinds, list(map(_instance, x.instances))] for x in program.templates],
        "helpers": [[x.name, _conjunction(x.definition), x.width, x.place, x.hidden_last] for x in program.helpers],
        "blocks": [[x.predicate, x.positions, x.exact] for x in program.blocks],
        "checks": [[x.predicate, x.given, _bound(x.bound), x.words] for x in program.block_checks],
    }
    arrays["scorer"] = np.frombuffer(json.dumps(structure, ensure_ascii=False).encode(), np.uint8)
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def _stacked(table: ArrayTable) -> npt.NDArray[np.int64]:
    return np.array(table.columns, np.int64).reshape(len(table.columns), table.size)


def _slot(slot: Slot) -> int:
    return -1 - slot.index if slot.parameter else slot.index


def _literal(x: ShapeLiteral) -> list[object]:
    return [x.predicate, x.positive, list(map(_slot, x.terms))]


def _equality(x: ShapeEquality) -> list[object]:
    return [x.positive, _slot(x.left), _slot(x.right)]


def _bound(bound: BoundShape) -> list[object]:
    shape = bound.shape
    exists = [[x.variables, list(map(_literal, x.literals)), list(map(_equality, x.equalities))] for x in shape.exists]
    literals, equalities = list(map(_literal, shape.literals)), list(map(_equality, shape.equalities))
    return [shape.variables, shape.parameters, literals, equalities, exists, sorted(bound.unknown)]


def _instance(x: FreedInstance) -> list[object]:
    places = [None if slot is None else _slot(slot) for slot in x.places]
    return [x.shape, _bound(x.bound), _row(x.constants), places, x.filled]


def _row(table: ArrayTable) -> list[int]:
    return [int(column[0]) for column in table.columns]


def _conjunction(x: ArrayConjunction) -> list[object]:
    parameters = None if x.parameters is None else _row(x.parameters)
    slots, inside = list(map(_slot, x.slots)), list(map(_slot, x.inside))
    return [
        _bound(x.bound),
        parameters,
        slots,
        list(map(_literal, x.literals)),
        list(map(_equality, x.equalities)),
        inside,
    ]


# ---- reading -----------------------------------------------------------------------------------------


def read_scorer(path: Path) -> tuple[ArrayProgram, dict[str, TypeNames]]:
    """Read what `write_scorer` has written."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays: Arrays = {name: file[name] for name in file.files}
        structure = json.loads(arrays["scorer"].tobytes())
        known = (structure["format"], structure["version"])
    except FileNotFoundError:
        raise InputError(f"there is no file {str(path)!r}: give the path of a scorer that scorer.save wrote.") from None
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from None
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        raise InputError(f"{str(path)!r} is no scorer: give the path of a file that scorer.save wrote.") from None
    if known != (FORMAT, VERSION):
        raise InputError(
            f"{str(path)!r} has version {known[1]!r} of the format {known[0]!r}, and this sqlrl reads version {VERSION} of {FORMAT!r}: compile "
            "the model again with this version."
        )
    try:
        return _Reader(structure, arrays).read()
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{str(path)!r} is damaged ({error}): compile the model again.") from None


class _Reader:
    def __init__(self, structure: Mapping[str, Any], arrays: Arrays) -> None:
        self.structure, self.arrays = structure, arrays
        nowhere = TableName("", "", "")
        types = {
            name: TypeInfo(name, nowhere, size, local, nowhere if local else None)
            for name, size, local in structure["types"]
        }
        predicates = {
            name: PredicateInfo(
                name, tuple(kinds), opened, nowhere, nowhere if opened else None, tuple(block), column, full, given,
                hidden=hidden,
            )
            for name, kinds, opened, block, column, full, given, hidden in structure["predicates"]
        }  # fmt: skip
        self.layout = Layout(predicates, types, structure["example_type"], nowhere, 0, ("", ""))

    def read(self) -> tuple[ArrayProgram, dict[str, TypeNames]]:
        """Return the program and the constants."""
        found, arrays = self.structure, self.arrays
        closed = {name: ArrayTable(list(arrays[f"closed.{i}"]), size) for i, (name, size) in enumerate(found["closed"])}
        program = ArrayProgram(
            self.layout,
            tuple(ArrayFeature(text, w, sign, hard, self._bound(x)) for text, w, sign, hard, x in found["features"]),
            arrays["feature_of"],
            arrays["weights"],
            tuple(
                ArrayShape(self._bound(x), arrays[f"shape.{i}.clauses"], ArrayTable(list(arrays[f"shape.{i}.parameters"])))
                for i, x in enumerate(found["shapes"])
            ),
            tuple(ArrayTemplate(i, tuple(kinds), tuple(map(self._instance, x))) for i, kinds, x in found["templates"]),
            tuple(ArrayHelper(name, self._conjunction(x), *rest) for name, x, *rest in found["helpers"]),
            tuple(BlockRule(name, tuple(positions), exact) for name, positions, exact in found["blocks"]),
            tuple(BlockCheck(name, given, self._bound(x), words) for name, given, x, words in found["checks"]),
            closed,
            {name: tuple(columns) for name, columns in found["columns"].items()},
        )  # fmt: skip
        return program, {kind: self._names(i, domain) for i, (kind, domain) in enumerate(found["names"])}

    def _names(self, i: int, domain: int) -> TypeNames:
        text, ends = self.arrays[f"names.{i}"].tobytes(), self.arrays[f"ends.{i}"].tolist()
        return TypeNames([text[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)], domain)

    def _bound(self, found: Sequence[Any]) -> BoundShape:
        variables, parameters, literals, equalities, exists, unknown = found
        groups = [
            ShapeExists(tuple(inside), tuple(map(_read_literal, x)), tuple(map(_read_equality, y)))
            for inside, x, y in exists
        ]
        shape = Shape(
            tuple(variables),
            tuple(parameters),
            tuple(map(_read_literal, literals)),
            tuple(map(_read_equality, equalities)),
            tuple(groups),
        )
        return bind(shape, self.layout, frozenset(unknown))

    def _instance(self, found: Sequence[Any]) -> FreedInstance:
        shape, bound, constants, places, filled = found
        slots = tuple(None if place is None else _read_slot(place) for place in places)
        freed = self._bound(bound)
        # As constants of a clause they are bound to no example's domain.
        owners = {slot: () if slot in slots else owners for slot, owners in freed.owners.items()}
        return FreedInstance(shape, replace(freed, owners=owners), _read_row(constants), slots, tuple(filled))

    def _conjunction(self, found: Sequence[Any]) -> ArrayConjunction:
        bound, parameters, slots, literals, equalities, inside = found
        return ArrayConjunction(
            self._bound(bound),
            None if parameters is None else _read_row(parameters),
            tuple(map(_read_slot, slots)),
            tuple(map(_read_literal, literals)),
            tuple(map(_read_equality, equalities)),
            tuple(map(_read_slot, inside)),
        )


def _read_slot(number: int) -> Slot:
    return Slot(number < 0, -1 - number if number < 0 else number)


def _read_literal(found: Sequence[Any]) -> ShapeLiteral:
    return ShapeLiteral(found[0], found[1], tuple(map(_read_slot, found[2])))


def _read_equality(found: Sequence[Any]) -> ShapeEquality:
    return ShapeEquality(found[0], _read_slot(found[1]), _read_slot(found[2]))


def _read_row(values: Sequence[int]) -> ArrayTable:
    return ArrayTable([np.full(1, value, np.int64) for value in values])
