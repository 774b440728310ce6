"""Delta n of candidate clauses in one example, exactly, from the bindings of their pattern.

Of each pattern there are two clauses: the conjunction's negation (all literals negative), violated where all of its atoms are
true, and the Horn clause whose only positive literal is the first one, the start: violated where the others are true and the
start is false.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import numpy.typing as npt

from sqlrl.ground.bindings import FIXED_TRUE, AtomArrays, Bindings, Int32Array, PatternCode, find_atom
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.structure.osl.row_hashing import agree, chain_of, heads_for, link


def delta_counts(
    bindings: Bindings, place: int, constants: npt.ArrayLike, observed: BoolArray, predicted: BoolArray
) -> IntArray:
    """Return delta n of the all-negative and the Horn clause of each candidate of one pattern in one chosen example: int64, shape (c, 2).

    Delta n is true groundings in the observed world minus those in the predicted one (OSL paper, section 3.1). `constants` are by parameter, shape
    (c, k); both worlds are over the atoms of the window's network.
    """
    return _counted(bindings, place, constants, (observed, predicted), compared=True)


def violations(bindings: Bindings, place: int, constants: npt.ArrayLike, world: BoolArray) -> IntArray:
    """Return how many groundings a world violates, those that evidence violates in every world too; shapes are as in `delta_counts`."""
    return _counted(bindings, place, constants, (world, world), compared=False)


def _counted(
    bindings: Bindings,
    place: int,
    constants: npt.ArrayLike,
    worlds: tuple[BoolArray, BoolArray],
    *,
    compared: bool,
) -> IntArray:
    rows = np.ascontiguousarray(constants, dtype=np.int32)
    heads, following = heads_for(len(rows)), np.empty(len(rows), np.int64)
    found = np.zeros((len(rows), 2), np.int64)
    first, last = int(bindings.first[place]), int(bindings.last[place])
    if first < last:
        example = int(bindings.example[first])
        _count(
            bindings.values, first, last, example, bindings.code, bindings.table.arrays, rows, heads, following, worlds,
            compared, found,
        )  # fmt: skip
    return found


@inner
def literal_value(
    code: PatternCode,
    literal: int,
    atoms: AtomArrays,
    example: int,
    values: Int32Array,
    row: int,
    constants: Int32Array,
    clause: int,
    key: Int32Array,
) -> int:
    """Return what the atom of an undecided literal is, given a binding and a clause's constants: as `AtomTable.find`."""
    key[0] = code.predicate[literal]
    key[1] = example if code.has_example[literal] else -1
    width = code.arity[literal]
    for j in range(width):
        term = code.term[literal, j]
        key[2 + j] = values[row, term] if term >= 0 else constants[clause, -term - 1]
    return int(find_atom(atoms.keys, atoms.value, atoms.places, key, width + 2))


@kernel
def _count(
    values: Annotated[Int32Array, 2],
    first: int,
    last: int,
    example: int,
    code: PatternCode,
    atoms: AtomArrays,
    constants: Annotated[Int32Array, 2],
    heads: IntArray,
    following: IntArray,
    worlds: tuple[BoolArray, BoolArray],
    compared: bool,
    delta: Annotated[IntArray, 2],
) -> None:
    """Add up what each binding changes: violated(predicted) - violated(observed), the latter only if `compared`."""
    observed, predicted = worlds
    link(constants, code.place, heads, following, 0)
    key = np.empty(atoms.keys.shape[1], np.int32)
    for row in range(first, last):
        clause = heads[chain_of(values, row, code.column, len(heads))]
        while clause >= 0:
            if agree(values, row, code.column, constants, clause, code.place):
                here, there = compared, True
                for literal in range(1, len(code.arity)):
                    atom = literal_value(code, literal, atoms, example, values, row, constants, clause, key)
                    here = here and (observed[atom] if atom >= 0 else atom == FIXED_TRUE)
                    there = there and (predicted[atom] if atom >= 0 else atom == FIXED_TRUE)
                    if not (here or there):
                        break
                if here or there:
                    atom = literal_value(code, 0, atoms, example, values, row, constants, clause, key)
                    start_here = observed[atom] if atom >= 0 else atom == FIXED_TRUE
                    start_there = predicted[atom] if atom >= 0 else atom == FIXED_TRUE
                    delta[clause, 0] += int(there and start_there) - int(here and start_here)
                    delta[clause, 1] += int(there and not start_there) - int(here and not start_here)
            clause = following[clause]
