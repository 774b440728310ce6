"""The integer program of the most probable world as a CPLEX LP file, which every solver of such programs reads."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.solve.exchange.text import (
    PIECE,
    ExportedNames,
    ExportedPlace,
    joined,
    map_path,
    names_or_local,
    new_file,
    pieces,
    texts,
    write_lines,
    write_map,
)
from sqlrl.solve.relaxation import LinearProgram, linear_program
from sqlrl.solve.weighted import WeightedNetwork

TERMS = 8
"""Terms of one line; CPLEX reads lines of up to 510 characters."""


def program_of(weighted: WeightedNetwork) -> LinearProgram:
    """The linear program whose variables a file has: the atoms, then z1, z2, ..."""
    if len(weighted.atoms) == 0:
        return LinearProgram(np.empty(0), sparse.csr_array((0, 0), dtype=np.float64), np.empty(0), 0)
    return linear_program(weighted)


def column_names(program: LinearProgram, ids: IntArray) -> pa.Array:
    """The name of each variable: `a` and the id of the atom, or `z` and a number from 1."""
    others = np.arange(1, len(program.cost) - program.atoms + 1, dtype=np.int64)
    parts = (("a", texts(ids)), ("z", texts(others)))
    return pa.concat_arrays([pc.binary_join_element_wise(letter, numbers, "") for letter, numbers in parts])


def _terms(coefficients: FloatArray, names: pa.Array) -> pa.Array:
    sign = pc.if_else(pa.array(coefficients < 0), "-", "+")
    size = np.abs(coefficients)
    if np.all(size == 1):
        return pc.binary_join_element_wise(sign, names, " ")
    return pc.binary_join_element_wise(sign, texts(size), names, " ")


def _write_wrapped(file: TextIO, items: pa.Array) -> None:
    # One long list, some items a line.
    for low in range(0, len(items), PIECE):
        part = items[low : low + PIECE]
        start = np.append(np.arange(0, len(part), TERMS), len(part)).astype(np.int64)
        write_lines(file, "", joined(start, part))


def _write_constraints(file: TextIO, program: LinearProgram, names: pa.Array) -> None:
    start, column = program.matrix.indptr.astype(np.int64), program.matrix.indices
    for low, high in pieces(start):
        part = start[low : high + 1]
        inside = slice(int(part[0]), int(part[-1]))
        items = _terms(program.matrix.data[inside], names.take(pa.array(column[inside])))
        place = np.arange(inside.start, inside.stop) - np.repeat(part[:-1], np.diff(part))
        broken = pa.array((place % TERMS == 0) & (place > 0))
        items = pc.if_else(broken, pc.binary_join_element_wise("\n ", items, ""), items)
        number = pc.binary_join_element_wise(" c", texts(np.arange(low + 1, high + 1)), ":", "")
        write_lines(file, number, joined(part, items), ">=", texts(program.low[low:high]))


def place_in_lp(weighted: WeightedNetwork, names: ExportedNames) -> ExportedPlace:
    """The variable of each atom: `a` and its id."""
    return ExportedPlace([f"a{i}" for i in names.of(weighted).tolist()])


def write_lp(weighted: WeightedNetwork, path: str | Path, *, names: ExportedNames | None = None) -> None:
    """Write the integer program of a weighted network in CPLEX LP format, and beside it the map from variables to atoms.

    Source: Huynh (2011), section 4.3.1, in the form of `sqlrl.solve.relaxation.linear_program` with all variables binary. Minimised is
    the cost of violation: a world scores ``constant - objective``.
    """
    names = names_or_local(names, weighted)
    program = program_of(weighted)
    columns = column_names(program, names.of(weighted))
    # The constant is in a comment alone: in the objective it would hide a gap.
    note = f"the score of a world is {weighted.constant!r} - objective"
    with new_file(path) as file:
        file.write("\\ the most probable world of a ground network as an integer program\n")
        file.write(f"\\ variables that begin with a are atoms, listed in {map_path(path).name}\n\\ {note}\n")
        # Coefficients are exact, but solvers work within tolerances of their own: a relative gap of 1e-4 is usual.
        file.write("\\ for an exact answer set the solver's relative and absolute gap to 0\n")
        file.write("Minimize\n obj:\n")
        # All variables stand here, so that every solver has them in this order; -0.0 becomes 0.
        for low in range(0, len(columns), PIECE):
            _write_wrapped(file, _terms(program.cost[low : low + PIECE] + 0.0, columns[low : low + PIECE]))
        file.write("Subject To\n")
        _write_constraints(file, program, columns)
        file.write("Binary\n")
        _write_wrapped(file, columns)
        file.write("End\n")
    write_map(weighted, path, place_in_lp(weighted, names), names, [note])
