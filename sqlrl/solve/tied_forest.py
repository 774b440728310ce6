"""Networks of which some components are forests over tied tables: compiled without a look at single ground clauses of these.

Each kind of edge has one table for all its edges. What is listed beside the tables may stand on the same edges; of components that are no forests
the tables are listed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from sqlrl.ground.network import BoolArray, IntArray, Network, TiedTable
from sqlrl.ground.tied import with_tables
from sqlrl.solve.forest import ForestProgram, canonical, compile_forest
from sqlrl.solve.sampling.propagation import propagate
from sqlrl.solve.structure import StateVariables, Structure, joined, sequences, sides_of, variables_of
from sqlrl.solve.weighted import FREE, weigh

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
    tied, variable = network.rows.tied, _of_block(network, variables)
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
    kind = sequences(kind, count, label)
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
    """A network compiled for any weights, of which some components are forests over tied tables."""

    structure: Structure  # of whose network these components have the tables; the rows are what is listed
    program: ForestProgram

    @property
    def summable(self) -> bool:
        """Whether all components are forests that have all their worlds from blocks, and from rows that join two of their variables."""
        structure = self.structure
        if not structure.forest.all() or (np.diff(structure.sides.row_start) != 2).any():
            return False
        hard = weigh(replace(structure.network, rows=structure.rows), np.zeros(len(structure.network.clauses)))
        return not len(hard.cost) or bool((propagate(hard) == FREE).all())


def compile_tied(network: Network) -> TiedForest | None:
    """Compile a network; None if it has no tied tables, or they join no component that is a forest."""
    tied = network.rows.tied
    if not tied or any(_size(table) > MOST for table in tied):
        return None
    variables = variables_of(network)
    variable = _of_block(network, variables)
    edges, sides = _edges(network, variables), sides_of(network.rows.rest, variables)
    parts = joined(variables, sides, edges.pair)
    component, _, forest, _ = parts
    inside = [forest[component[variable[table.left]]] for table in tied]
    if not any(each.any() for each in inside):
        return None
    if not all(each.all() for each in inside):
        network = _split(network, inside)
        edges, sides = _edges(network, variables), sides_of(network.rows.rest, variables)
        parts = joined(variables, sides, edges.pair)
    structure = Structure(network, variables, sides, *parts)
    return TiedForest(structure, _with_tables(structure, compile_forest(structure), edges))


def _of_block(network: Network, variables: StateVariables) -> IntArray:
    inside = np.flatnonzero(network.block >= 0)
    variable = np.zeros(len(network.block_exact), dtype=np.int64)
    variable[network.block[inside]] = variables.of_atom[inside]
    return variable


def _split(network: Network, kept: list[BoolArray]) -> Network:
    # The same network whose tables have the kept pairs of blocks alone: what others say is listed.
    rows, block, sizes = network.rows, network.block, (len(network.block_exact), len(network.clauses))
    tables = [
        [table.select(each) for table, each in zip(rows.tied, flags, strict=True) if each.any()]
        for flags in ([~each for each in kept], kept)
    ]
    rest = with_tables(rows.rest, tables[0], block, *sizes).listed
    return replace(network, rows=with_tables(rest, tables[1], block, *sizes))


def _with_tables(structure: Structure, program: ForestProgram, edges: _Edges) -> ForestProgram:
    # The program of what is listed, with a table for each kind of edge besides.
    arrays, network, exact = program.arrays, structure.network, structure.variables.exact
    tied, width = network.rows.tied, np.diff(arrays.state_start)
    place = np.full(len(exact), -1, dtype=np.int64)
    place[program.variable] = np.arange(len(program.variable))
    first, second = place[edges.pair[:, 0]], place[edges.pair[:, 1]]
    down = arrays.parent[second] == first  # the second of a pair is the child
    child = np.where(down, second, first)
    numbers, number = np.unique(2 * edges.kind + down, return_inverse=True)
    # Variables without a parent, and those that no table joins with theirs, have an empty table.
    table = np.full(len(width), len(numbers), dtype=np.int64)
    table[child] = number
    some = np.unique(number, return_index=True)[1]
    cells, starts, parts = [], [0], []
    for mixed, edge in zip(numbers.tolist(), some.tolist(), strict=True):
        one, other = edges.pair[edge].tolist()
        ends = bool(exact[one]), bool(exact[other])
        rows, clauses, values = [], [], []
        for which, ahead, many in edges.tables[mixed // 2]:
            # States of the left and of the right block, then of the parent and of the child.
            left, right, clause, value = _entries(tied[which], ends if ahead else ends[::-1], network.sign)
            above, below = (left, right) if ahead == bool(mixed % 2) else (right, left)
            rows.append(above * int(width[child[edge]]) + below)
            clauses.append(clause)
            values.append(many * value)
        cell, index = np.unique(np.concatenate(rows), return_inverse=True)
        parts.append((np.concatenate(values), starts[-1] + index, np.concatenate(clauses)))
        starts.append(starts[-1] + len(cell))
        cells.append(cell)
    data, row, column = (np.concatenate(each) for each in zip(*parts, strict=True))
    shared = canonical(data, row, column, (starts[-1], len(network.clauses)))
    starts.append(starts[-1])
    uses = np.bincount(table, minlength=len(numbers) + 1)
    uses[-1] = 0
    own = len(arrays.pair_cell)
    return replace(
        program,
        arrays=arrays._replace(
            table=table,
            table_start=own + np.array(starts, dtype=np.int64),
            pair_cell=np.concatenate([arrays.pair_cell, *cells]),
        ),
        pairs=sparse.vstack([program.pairs, shared], format="csr") if own else shared,
        uses=uses,
        rows=program.rows + sum(len(each.left) * len(each.clauses) for each in tied),
    )
