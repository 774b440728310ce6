"""Forests whose edges are tied tables: compiled without a look at single ground clauses, each kind of edge with one table for all its edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from sqlrl.ground.network import BoolArray, IntArray, Network, TiedTable, ragged_ranges
from sqlrl.solve.forest import ForestArrays, ForestLayout, ForestProgram, canonical
from sqlrl.solve.structure import Sides, StateVariables, Structure, pointers, variables_of

MOST = 2**22
"""The most entries of the matrix that says which clauses a table violates in which states."""


@dataclass(frozen=True, eq=False)
class _Edges:
    # The e distinct pairs of variables that tables join, the smaller first, ascending.

    pair: IntArray  # shape (e, 2)
    kind: IntArray  # shape (e,): edges of one kind have the same tables, and blocks that are alike
    # Of each kind its tables: the number of the table, whether its left block is the first of the pair, and its multiplicity.
    tables: list[list[tuple[int, bool, int]]]


def _edges(network: Network, variables: StateVariables) -> _Edges:
    tied = network.rows.tied
    inside = np.flatnonzero(network.block >= 0)
    variable = np.zeros(len(network.block_exact), dtype=np.int64)
    variable[network.block[inside]] = variables.of_atom[inside]
    v = len(variables.exact)
    keys, labels, known = [], [], list[tuple[int, bool, int]]()
    for number, table in enumerate(tied):
        left, right = variable[table.left], variable[table.right]
        keys.append(np.minimum(left, right) * v + np.maximum(left, right))
        many, place = np.unique(table.multiplicity, return_inverse=True)
        labels.append(len(known) + 2 * place + (left < right))
        known += [(number, ahead, times) for times in many.tolist() for ahead in (False, True)]
    key, label = np.concatenate(keys), np.concatenate(labels)
    order = np.lexsort((label, key))
    key, label = key[order], label[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    count = np.diff(first, append=len(key))
    pair = np.stack([key[first] // v, key[first] % v], axis=1)
    # Blocks of which exactly one member is true have a state less.
    kind = 2 * variables.exact[pair[:, 0]] + variables.exact[pair[:, 1]].astype(np.int64)
    for turn in range(int(count.max(initial=0))):
        more = np.full(len(first), len(known), dtype=np.int64)
        more[count > turn] = label[first[count > turn] + turn]
        kind = kind * (len(known) + 1) + more
        _, kind = np.unique(kind, return_inverse=True)
    _, some = np.unique(kind, return_index=True)
    tables = [[known[x] for x in label[first[e] : first[e] + count[e]].tolist()] for e in some.tolist()]
    return _Edges(pair, kind, tables)


def _holds(members: int, positive: bool, exact: bool) -> BoolArray:
    # Whether each member's literal is false in each state of its block, shape (members, states).
    states = members + (not exact)
    own = np.arange(states)[None, :] == np.arange(members)[:, None] + (not exact)
    return np.asarray(~own if positive else own, dtype=np.bool_)


def _entries(
    table: TiedTable, exact: tuple[bool, bool], sign: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    # The states of the left and right block in which each clause is violated, the clause, and what that adds to its count.
    i, j = np.nonzero(table.clause >= 0)
    left, right = (
        _holds(size, positive, known)
        for size, positive, known in zip(table.clause.shape, table.positive, exact, strict=True)
    )
    place, above, below = np.nonzero(left[i][:, :, None] & right[j][:, None, :])
    clause = table.clause[i, j][place]
    return above, below, clause, -sign[clause]


def _size(table: TiedTable) -> int:
    cells = [size if positive else 1 for size, positive in zip(table.clause.shape, table.positive, strict=True)]
    return len(table.clauses) * cells[0] * cells[1]


@dataclass(frozen=True, eq=False)
class TiedForest:
    """A network whose components are all forests over tied tables, compiled for any weights."""

    structure: Structure  # without the sides of rows, which nobody lists
    program: ForestProgram


def compile_tied(network: Network) -> TiedForest | None:
    """Compile a network whose longer ground clauses are all tied tables; None if it is none, or has a component that is no forest."""
    tied = network.rows.tied
    if not tied or network.rows.rest.entries or any(_size(table) > MOST for table in tied):
        return None
    variables = variables_of(network)
    edges, v = _edges(network, variables), len(variables.exact)
    graph = sparse.coo_array((np.ones(len(edges.pair), dtype=np.int8), edges.pair.T), shape=(v, v))
    components, component = csgraph.connected_components(graph, directed=False)
    component = component.astype(np.int64)
    joined = np.bincount(component[edges.pair[:, 0]], minlength=components)
    if (joined != np.bincount(component, minlength=components) - 1).any():
        return None
    none, one = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    sides = Sides(none, none, np.zeros(0, dtype=np.bool_), one, none, one)
    forest = np.ones(components, dtype=np.bool_)
    structure = Structure(network, variables, sides, component, none, forest, edges.pair)
    return TiedForest(structure, _program(ForestLayout(structure), edges, tied))


def _program(layout: ForestLayout, edges: _Edges, tied: Sequence[TiedTable]) -> ForestProgram:
    network, variables = layout.structure.network, layout.variables
    place = np.empty(len(variables.exact), dtype=np.int64)
    place[layout.order] = np.arange(len(layout.order))
    first, second = place[edges.pair[:, 0]], place[edges.pair[:, 1]]
    down = layout.parent[second] == first  # the second of a pair is the child
    child = np.where(down, second, first)
    numbers, number = np.unique(2 * edges.kind + down, return_inverse=True)
    # Variables without a parent have an empty table.
    table = np.full(len(layout.order), len(numbers), dtype=np.int64)
    table[child] = number
    some = np.unique(number, return_index=True)[1]
    cells, starts, parts = [], [0], []
    for mixed, edge in zip(numbers.tolist(), some.tolist(), strict=True):
        exact = tuple(bool(x) for x in variables.exact[edges.pair[edge]])
        rows, clauses, values = [], [], []
        width = int(layout.width[child[edge]])
        for which, ahead, many in edges.tables[mixed // 2]:
            # States of the left and of the right block, then of the parent and of the child.
            known = (exact[0], exact[1]) if ahead else (exact[1], exact[0])
            left, right, clause, value = _entries(tied[which], known, network.sign)
            above, below = (left, right) if ahead == bool(mixed % 2) else (right, left)
            rows.append(above * width + below)
            clauses.append(clause)
            values.append(many * value)
        row = np.concatenate(rows)
        cell, index = np.unique(row, return_inverse=True)
        parts.append((np.concatenate(values), starts[-1] + index, np.concatenate(clauses)))
        starts.append(starts[-1] + len(cell))
        cells.append(cell)
    data, row, column = (np.concatenate(each) for each in zip(*parts, strict=True))
    m, f = len(network.clauses), len(layout.order)
    starts.append(starts[-1])
    arrays = ForestArrays(
        layout.state_start,
        layout.state_atom,
        layout.forbidden_states(),
        layout.parent,
        table,
        np.array(starts, dtype=np.int64),
        np.concatenate(cells),
        np.zeros(f + 1, dtype=np.int64),
        np.zeros(0, dtype=np.int64),
    )
    uses = np.bincount(table, minlength=len(numbers) + 1)
    uses[-1] = 0
    ground = sum(len(each.left) * len(each.clauses) for each in tied)
    return layout.program(arrays, _unary(layout, m), canonical(data, row, column, (starts[-1], m)), uses, ground)


def _unary(layout: ForestLayout, clauses: int) -> sparse.csr_array:
    # What each clause adds to each state: the units of the network in the order of states.
    network, atom = layout.structure.network, layout.state_atom
    units, real = network.units, atom >= 0
    pointer = np.asarray(units.indptr, dtype=np.int64)
    length = np.where(real, np.diff(pointer)[atom], 0)
    place = ragged_ranges(np.where(real, pointer[:-1][atom], 0), length)
    data, indices = np.asarray(units.data[place], dtype=np.int64), units.indices[place]
    found = sparse.csr_array((data, indices, pointers(length)), shape=(len(atom), clauses))
    found.data[network.hard[indices]] = 0
    found.eliminate_zeros()
    return found
