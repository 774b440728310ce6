"""The components of small treewidth of a network as tables of bucket elimination, laid out once for any weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlrl.ground.network import BoolArray, IntArray, ragged_ranges
from sqlrl.solve.structure import Structure, grouped, pointers
from sqlrl.solve.treewidth.buckets import Buckets, compile_buckets
from sqlrl.solve.treewidth.order import Order, elimination_order, part_of_order

BUCKET_CELLS, COMPONENT_CELLS = 2**12, 2**13
"""Bounds on tables: a component at the bound takes a twentieth of a millisecond. One that is wider is better presolved under its weights."""


@dataclass(frozen=True, eq=False)
class BoundedProgram:
    """The components of a network that are no forests and have small tables, for any weights; c of them, with r rows."""

    # `state_atom` are atoms of the network. `state_value`, and `cost` of rows that are not hard, are 0: whoever has weights writes both.
    buckets: Buckets
    # Shape (r,): the row of `Structure.rows` that each row of the tables is, -1 for a hard clause of one literal.
    row: IntArray
    variable: IntArray  # shape (b,): the variable of `Structure.variables` of each bucket
    examples: IntArray  # shape (e,): the examples that have such components, ascending
    example_start: IntArray  # shape (e + 1,): example i has `component[example_start[i]:example_start[i + 1]]`
    component: IntArray  # shape (c,): components of the buckets
    inside: BoolArray  # shape (n,): the atoms of these components


@dataclass(frozen=True, eq=False)
class _Part:
    # Rows and blocks over some atoms of a network, hard clauses of one literal last: `Rows`.

    indptr: IntArray
    literals: IntArray
    block: IntArray
    block_exact: BoolArray
    row: IntArray
    hard: BoolArray


def _part(structure: Structure, inside: BoolArray) -> _Part:
    # The part of a network over the atoms of whole components; rows that blocks satisfy are left out.
    network, rows = structure.network, structure.rows
    atom = np.abs(rows.literals) - 1
    linked = np.flatnonzero(structure.row_component >= 0)
    row = linked[inside[atom[rows.indptr[linked]]]]
    unit = network.hard_units[inside[np.abs(network.hard_units[:, 1]) - 1], 1]
    length = rows.indptr[row + 1] - rows.indptr[row]
    literals = np.concatenate([rows.literals[ragged_ranges(rows.indptr[row], length)], unit])
    number = np.cumsum(inside) - 1
    used = np.zeros(len(network.block_exact), dtype=np.bool_)
    used[network.block[inside & (network.block >= 0)]] = True
    block = np.append(np.cumsum(used) - 1, -1)[network.block[inside]]
    return _Part(
        pointers(np.concatenate([length, np.ones(len(unit), dtype=np.int64)])),
        np.asarray(np.sign(literals) * (number[np.abs(literals) - 1] + 1), dtype=np.int64),
        block,
        network.block_exact[used],
        np.concatenate([row, np.full(len(unit), -1, dtype=np.int64)]),
        np.concatenate([network.hard[rows.clause[row]], np.ones(len(unit), dtype=np.bool_)]),
    )


def _bounded(structure: Structure) -> tuple[BoolArray, _Part, Order]:
    # The atoms of components within the bounds, the part over them, and its elimination order.
    inside = ~structure.forest[structure.component[structure.variables.of_atom]]
    part = _part(structure, inside)
    order = elimination_order(part, bucket_cells=BUCKET_CELLS, component_cells=COMPONENT_CELLS)
    within = order.within[order.component[order.variables.of_atom]]
    if within.all():
        return inside, part, order
    inside[inside] = within
    part = _part(structure, inside)
    return inside, part, part_of_order(order, part, within)


def compile_bounded(structure: Structure) -> BoundedProgram:
    """Lay out the small tables of components that are no forests, for any weights; ties are broken as in `solve_elimination`."""
    inside, part, order = _bounded(structure)
    cost = np.where(part.hard, np.inf, 0.0)
    buckets = compile_buckets(order, np.zeros(len(part.block)), cost)
    atoms = np.append(np.flatnonzero(inside), -1)
    buckets = buckets._replace(state_atom=atoms[buckets.state_atom])
    # A variable of the part has the atoms that it has in the network.
    own = np.empty(len(order.variables.exact), dtype=np.int64)
    own[order.variables.of_atom] = structure.variables.of_atom[atoms[:-1]]
    variable = own[order.sequence]
    root = variable[buckets.component_start[1:] - 1]
    first = structure.variables.atom[structure.variables.start[root + 1] - 1]
    examples, place = np.unique(structure.network.example[first], return_inverse=True)
    start, component = grouped(place, len(examples))
    return BoundedProgram(buckets, part.row, variable, examples, start, component, inside)
