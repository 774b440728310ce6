"""The pieces of a network, component by component, for solvers that take one component at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sqlrl.ground.network import IntArray, ragged_ranges
from sqlrl.solve.structure import Structure, pointers


@dataclass(frozen=True, eq=False)
class Component:
    """One connected component: its number in the structure, and its atoms, rows and variables, all ascending."""

    number: int
    atoms: IntArray
    rows: IntArray
    hard_units: IntArray  # positions in `Network.hard_units`
    variables: IntArray


def _grouped(label: IntArray, groups: int) -> tuple[IntArray, IntArray]:
    order = np.argsort(label, kind="stable")
    return order[int((label < 0).sum()) :], pointers(np.bincount(label[label >= 0], minlength=groups))


def split(structure: Structure, wanted: IntArray) -> Iterator[Component]:
    """Yield the components with the given numbers, in that order; rows that blocks satisfy in every world belong to none."""
    network, of_atom = structure.network, structure.variables.of_atom
    if len(wanted) == 0:
        return
    groups = len(structure.forest)
    atoms, atom_start = _grouped(structure.component[of_atom], groups)
    rows, row_start = _grouped(structure.row_component, groups)
    literal = network.hard_units[:, 1]
    units, unit_start = _grouped(structure.component[of_atom[np.abs(literal) - 1]], groups)
    variables, variable_start = _grouped(structure.component, groups)
    for number in wanted.tolist():
        yield Component(
            number,
            *(
                values[start[number] : start[number + 1]]
                for values, start in (
                    (atoms, atom_start),
                    (rows, row_start),
                    (units, unit_start),
                    (variables, variable_start),
                )
            ),
        )


def row_literals(structure: Structure, rows: IntArray) -> list[list[int]]:
    """The signed atoms of each row."""
    listed = structure.rows
    length = listed.indptr[rows + 1] - listed.indptr[rows]
    flat = listed.literals[ragged_ranges(listed.indptr[rows], length)].tolist()
    start = pointers(length).tolist()
    return [flat[a:b] for a, b in pairwise(start)]


def block_members(structure: Structure, component: Component) -> list[tuple[list[int], bool]]:
    """The blocks of a component that constrain anything, as (atoms, exactly one true)."""
    variables = structure.variables
    found = []
    for v in component.variables.tolist():
        members = [a for a in variables.atom[variables.start[v] : variables.start[v + 1]].tolist() if a >= 0]
        if len(members) > 1 or variables.exact[v]:
            found.append((members, bool(variables.exact[v])))
    return found
