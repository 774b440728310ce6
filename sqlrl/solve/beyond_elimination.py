"""Which component of a log-linear model is beyond the bounds of elimination, and which clause widens it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sqlrl.ground.network import BLOCK, BoolArray, IntArray, Network, ragged_ranges
from sqlrl.solve.log_linear import LogLinear
from sqlrl.solve.restriction import component_labels
from sqlrl.solve.structure import pointers
from sqlrl.solve.treewidth.order import BUCKET_CELLS, COMPONENT_CELLS, elimination_order
from sqlrl.solve.weighted import FREE, equal_rows
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.solve.conflict import Describe

TRIES = 20
"""The most clauses without which a component is tried."""

ALL_LITERALS = 4_000_000
"""The most literals of all tries together, if the first has fewer: some seconds."""

SHOWN = 3
"""So many atoms are named."""


@dataclass(frozen=True, eq=False)
class Wide:
    """A component beyond the bounds of elimination, of a network of n atoms, and a clause that widens it."""

    atoms: IntArray  # shape (a,): the places of its free atoms in the network, ascending
    clause: int  # a local clause of the network
    # The signed local atoms of a ground clause of that clause in the component, one with the most free atoms.
    row: tuple[int, ...]
    rows: int  # ground clauses that the clause has in the component
    # Whether the component without them would be within the bounds; else no clause that was tried does that, and it is the one with the most
    # ground clauses.
    suffices: bool
    components: int  # how many components of the model are beyond the bounds
    beyond: int  # how many free atoms these have

    def words(self, describe: Describe) -> str:
        """Return a part of a sentence that names some atoms and the clause; `describe` as for `mpe`."""
        named = describe(BLOCK, [int(atom) + 1 for atom in self.atoms[:SHOWN]])
        dots = ", ..." if len(self.atoms) > SHOWN else ""
        whose = f"{counted(self.rows, 'ground clause')} of one clause, such as {describe(self.clause, self.row)}"
        size = counted(len(self.atoms), "atom")
        if self.suffices:
            return f"one of {size} ({named}{dots}) would be within it without the {whose}"
        return f"one of {size} ({named}{dots}) has {whose}"


class _Joined(NamedTuple):
    # Rows and blocks of a component: `Rows`.

    indptr: IntArray
    literals: IntArray
    block: IntArray
    block_exact: BoolArray

    def without(self, dropped: BoolArray) -> _Joined:
        """Return it without some of its rows."""
        rows = np.flatnonzero(~dropped)
        length = np.diff(self.indptr)[rows]
        literals = self.literals[ragged_ranges(self.indptr[rows], length)]
        return _Joined(pointers(length), literals, self.block, self.block_exact)


class _Ground(NamedTuple):
    # The ground clauses of a network that have free atoms of a component and no others: rows of it, and what is left of them.

    row: IntArray
    indptr: IntArray
    literals: IntArray


def _ground(network: Network, model: LogLinear, atoms: IntArray) -> _Ground:
    # `atoms` are the free atoms of the component, by their places in the network.
    place = np.full(len(model.value), -1, dtype=np.int64)
    place[atoms] = np.arange(len(atoms))
    atom, rows = np.abs(network.literals) - 1, len(network.indptr) - 1
    row = np.repeat(np.arange(rows, dtype=np.int64), np.diff(network.indptr))
    value = model.value[atom]
    free = value == FREE
    gone = np.zeros(rows, dtype=np.bool_)
    gone[row[~free & ((value == 1) == (network.literals > 0))]] = True
    gone[row[free & (place[atom] < 0)]] = True
    kept = free & ~gone[row]
    size = np.bincount(row[kept], minlength=rows)
    mine = np.flatnonzero(size)
    literals = np.sign(network.literals[kept]) * (place[atom[kept]] + 1)
    return _Ground(mine, pointers(size[mine]), np.asarray(literals, dtype=np.int64))


def _owners(joined: _Joined, ground: _Ground, clause: IntArray) -> tuple[IntArray, BoolArray]:
    # Of each row the clause whose ground clauses alone are the row, -1 if several clauses have it; and which ground clauses are rows.
    r = len(joined.indptr) - 1
    start = np.concatenate([joined.indptr, joined.indptr[-1] + ground.indptr[1:]])
    label, first = equal_rows(start, np.concatenate([joined.literals, ground.literals]))
    low, high = np.full(len(first), np.iinfo(np.int64).max), np.full(len(first), -1)
    np.minimum.at(low, label[r:], clause)
    np.maximum.at(high, label[r:], clause)
    present = np.zeros(len(first), dtype=np.bool_)
    present[label[:r]] = True
    return np.where(low == high, low, -1)[label[:r]], present[label[r:]]


def widest(
    model: LogLinear,
    network: Network,
    *,
    outside: BoolArray | None = None,
    bucket_cells: int = BUCKET_CELLS,
    component_cells: int = COMPONENT_CELLS,
) -> Wide | None:
    """Find the first component of a model of `network` that is beyond the bounds of elimination, and a clause that widens it; None if none is."""
    if outside is None:
        order = elimination_order(model, bucket_cells=bucket_cells, component_cells=component_cells)
        outside = np.asarray(~order.within[order.component[order.variables.of_atom]], dtype=np.bool_)
    if not outside.any():
        return None
    _, label = component_labels(model)
    part = model.select(np.asarray(label == label[np.argmax(outside)], dtype=np.bool_))
    joined = _Joined(part.indptr, part.literals, part.block, part.block_exact)
    ground = _ground(network, model, part.free)
    clause = network.row_clause[ground.row]
    owner, present = _owners(joined, ground, clause)
    own = np.bincount(owner[owner >= 0], minlength=len(network.clauses))
    # How many ground clauses each clause has; of those with equally many the first.
    count = np.bincount(clause[present], minlength=len(network.clauses))
    # The elimination order is greedy, so that a clause may suffice although another order would not need it gone.
    candidates = np.argsort(-count, kind="stable")
    tries = min(max(ALL_LITERALS // max(len(joined.literals), 1), 1), TRIES)
    chosen, suffices = int(candidates[0]), False
    for each in candidates[own[candidates] > 0][:tries].tolist():
        left = joined.without(owner == each)
        if elimination_order(left, bucket_cells=bucket_cells, component_cells=component_cells).within.all():
            chosen, suffices = each, True
            break
    mine = present & (clause == chosen)
    size = np.where(mine, np.diff(ground.indptr), 0)
    row = int(ground.row[np.argmax(size)])
    literals = network.literals[network.indptr[row] : network.indptr[row + 1]].tolist()
    return Wide(
        part.free,
        chosen,
        tuple(literals),
        int(count[chosen]),
        suffices,
        len(np.unique(label[outside])),
        int(outside.sum()),
    )
