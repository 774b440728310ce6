"""Smaller weighted networks: some atoms fixed, or some components only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from sqlrl.distinct import numbered
from sqlrl.errors import SqlrlError
from sqlrl.ground.network import BoolArray, IntArray, ragged_ranges
from sqlrl.solve.structure import StructureRows, grouped, pointers
from sqlrl.solve.weighted import EPSILON, FREE, WeightedNetwork, merge_rows

Values = npt.NDArray[np.int8]


class UnsatisfiableError(SqlrlError):
    """Hard rows and blocks cannot all hold in the component of `atom`, a local atom; `mpe` turns it into a `ConflictError`."""

    def __init__(self, atom: int) -> None:
        self.atom = atom
        super().__init__(f"hard clauses cannot all hold in the component of local atom {atom}")


def _kept_blocks(weighted: WeightedNetwork, value: Values) -> tuple[IntArray, BoolArray, BoolArray]:
    # Blocks of the free atoms, renumbered; which blocks are exact; of which one atom is left.
    count, free = len(weighted.block_exact), value == FREE
    inside = weighted.block >= 0
    true = np.bincount(weighted.block[inside & (value == 1)], minlength=count)
    left = np.bincount(weighted.block[inside & free], minlength=count)
    wrong = (true > 1) | (weighted.block_exact & (true == 0) & (left == 0))
    stuck = np.flatnonzero(inside & np.append(wrong, False)[weighted.block])
    if len(stuck):
        raise UnsatisfiableError(int(weighted.atoms[stuck[0]]))
    if np.any((true == 1) & (left > 0)):
        raise ValueError("atoms are free in a block that has a true one: fix them to false")
    used = np.flatnonzero(left)
    number = np.full(count + 1, -1, dtype=np.int64)
    number[used] = np.arange(len(used))
    return number[weighted.block[free]], weighted.block_exact[used], left[used] == 1


def restrict(weighted: WeightedNetwork, value: Values) -> WeightedNetwork:
    """Return the network over the atoms that `value` leaves free (-1), in which worlds score what they score with the others fixed."""
    kept = value == FREE
    number = np.cumsum(kept) - 1
    atom, row = np.abs(weighted.literals) - 1, weighted.row
    fixed = value[atom]
    satisfied = np.zeros(len(weighted.cost), dtype=np.bool_)
    satisfied[row[(fixed != FREE) & ((fixed == 1) == (weighted.literals > 0))]] = True
    free = (fixed == FREE) & ~satisfied[row]
    left = np.bincount(row[free], minlength=len(weighted.cost))
    broken = ~satisfied & (left == 0)
    impossible = np.flatnonzero(broken & weighted.hard)
    if len(impossible):
        raise UnsatisfiableError(int(weighted.atoms[atom[weighted.indptr[impossible[0]]]]))
    block, exact, single = _kept_blocks(weighted, value)
    linear = weighted.linear[kept].copy()
    constant = weighted.constant + float(weighted.linear[value == 1].sum()) - float(weighted.cost[broken].sum())
    literals = np.sign(weighted.literals) * (number[atom] + 1)
    unit = free & (left == 1)[row] & ~weighted.hard[row]
    price = weighted.cost[row[unit]]
    np.add.at(linear, number[atom[unit]], np.where(literals[unit] > 0, price, -price))
    constant -= float(price[literals[unit] > 0].sum())
    stays = free & ~unit
    rows = np.flatnonzero(~satisfied & (left > 0) & ((left > 1) | weighted.hard))
    forced = np.flatnonzero((block >= 0) & np.append(exact & single, False)[block])
    indptr, merged_literals, cost, clause, lost = merge_rows(
        pointers(np.concatenate([left[rows], np.ones(len(forced), dtype=np.int64)])),
        np.concatenate([literals[stays], forced + 1]),
        np.concatenate([weighted.cost[rows], np.full(len(forced), np.inf)]),
        np.concatenate([weighted.clause[rows], np.full(len(forced), -1, dtype=np.int64)]),
    )
    moved = EPSILON * (int(np.bincount(atom[unit]).max(initial=0)) + 1) * float(np.abs(price).sum())
    rounding = weighted.rounding + lost + moved
    return WeightedNetwork(
        weighted.atoms[kept], linear, indptr, merged_literals, cost, clause, block, exact, constant, rounding
    )


def component_labels(weighted: StructureRows) -> tuple[int, IntArray]:
    """Return how many components of atoms that share a row or a block there are, and that of each atom, numbered by their first atoms."""
    n, b = len(weighted.block), len(weighted.block_exact)
    atom = np.abs(weighted.literals) - 1
    anchor = atom[np.repeat(weighted.indptr[:-1], np.diff(weighted.indptr))] if len(atom) else atom
    inside = np.flatnonzero(weighted.block >= 0)
    tail, head = np.concatenate([anchor, inside]), np.concatenate([atom, n + weighted.block[inside]])
    if n == 0:
        return 0, np.empty(0, dtype=np.int64)
    if len(tail) == 0:
        return n, np.arange(n)
    graph = sparse.coo_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(n + b, n + b))
    _, label = csgraph.connected_components(graph, directed=False)
    return numbered(label[:n])


def with_components(weighted: WeightedNetwork, atoms: BoolArray) -> BoolArray:
    """The atoms of all components that have one of some atoms; both of shape (n,)."""
    count, label = component_labels(weighted)
    touched = np.zeros(count, dtype=np.bool_)
    touched[label[atoms]] = True
    return np.asarray(touched[label], dtype=np.bool_)


def select(weighted: WeightedNetwork, chosen: BoolArray) -> WeightedNetwork:
    """Return the part over whole components, whose atoms are chosen; constant and rounding are 0: add those of the whole once."""
    number = np.cumsum(chosen) - 1
    length = np.diff(weighted.indptr)
    atom = np.abs(weighted.literals) - 1
    rows = np.flatnonzero(chosen[atom[weighted.indptr[:-1]]]) if len(atom) else np.empty(0, dtype=np.int64)
    place = ragged_ranges(weighted.indptr[rows], length[rows])
    used = np.unique(weighted.block[chosen & (weighted.block >= 0)])
    block = np.full(len(weighted.block_exact) + 1, -1, dtype=np.int64)
    block[used] = np.arange(len(used))
    return WeightedNetwork(
        weighted.atoms[chosen],
        weighted.linear[chosen],
        pointers(length[rows]),
        np.sign(weighted.literals[place]) * (number[atom[place]] + 1),
        weighted.cost[rows],
        weighted.clause[rows],
        block[weighted.block[chosen]],
        weighted.block_exact[used],
        0.0,
        0.0,
    )


def select_each(weighted: WeightedNetwork, label: IntArray, count: int) -> Iterator[tuple[IntArray, WeightedNetwork]]:
    """Yield the local atoms of each part and what `select` makes of them, in linear time; a part is a component, or a union of some."""
    start, order = grouped(label, count)
    number = np.empty(len(label), dtype=np.int64)
    number[order] = np.arange(len(order)) - start[label[order]]
    atom = np.abs(weighted.literals) - 1
    row_start, rows = grouped(label[atom[weighted.indptr[:-1]]] if len(atom) else atom, count)
    length = np.diff(weighted.indptr)[rows]
    place, indptr = ragged_ranges(weighted.indptr[rows], length), pointers(length)
    literals = np.sign(weighted.literals[place]) * (number[atom[place]] + 1)
    cost, clause = weighted.cost[rows], weighted.clause[rows]
    for c in range(count):
        atoms, first, last = order[start[c] : start[c + 1]], row_start[c], row_start[c + 1]
        block = weighted.block[atoms]
        inside = block >= 0
        used, block[inside] = np.unique(block[inside], return_inverse=True)
        part = WeightedNetwork(
            weighted.atoms[atoms],
            weighted.linear[atoms],
            indptr[first : last + 1] - indptr[first],
            literals[indptr[first] : indptr[last]],
            cost[first:last],
            clause[first:last],
            block,
            weighted.block_exact[used],
            0.0,
            0.0,
        )
        yield atoms, part
