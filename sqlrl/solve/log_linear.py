"""A network as a log-linear model: what hard clauses and blocks leave of it, its log partition function and expected counts for any weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network, ragged_ranges
from sqlrl.solve.counts import violated_rows
from sqlrl.solve.presolve import recognise_blocks
from sqlrl.solve.restriction import UnsatisfiableError, Values, restrict
from sqlrl.solve.sampling.propagation import propagate
from sqlrl.solve.structure import pointers, sides_of, variables_of
from sqlrl.solve.treewidth.buckets import Buckets, BucketScratch, compile_buckets, component_sums, scratch_for
from sqlrl.solve.treewidth.expectations import RowCells, expectations, list_row_cells
from sqlrl.solve.treewidth.order import BUCKET_CELLS, COMPONENT_CELLS, Order, elimination_order, part_of_order
from sqlrl.solve.weighted import FREE, WeightedNetwork, equal_rows, weigh

SLICE = 10_000_000
"""Steps that one call of the kernel takes before Python looks for Ctrl-C: about a tenth of a second."""


# ---- what hard clauses and blocks leave ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LogLinear:
    """What hard clauses and blocks leave of a network of n atoms and m clauses, before any weight: `Rows` over f free atoms.

    For a world y of the free atoms in which hard rows and blocks hold, the part of the counts that depends on the world is
    ``fixed + features.T @ (y, violated(y))``: each true atom and each violated row adds what is counted with it.
    """

    free: IntArray  # shape (f,): the places of the free atoms in the network, ascending
    value: Values  # shape (n,): 0 or 1 of atoms that hard clauses and blocks fix, as far as units show it, else -1
    indptr: IntArray  # shape (r + 1,): s distinct soft rows of two literals or more, then hard rows
    literals: IntArray
    clause: IntArray  # shape (r,): a local clause that each row comes from, -1 for what a block says
    block: IntArray
    block_exact: BoolArray
    # Float, shape (f + s, m): what each free atom adds to the counts when it is true, then each soft row when it is violated; 0 for hard clauses.
    features: sparse.csr_array
    offset: FloatArray  # shape (f + s,): log-odds of soft evidence on atoms; 0 for rows
    fixed_counts: FloatArray  # shape (m,): of the fixed atoms' values, in every world, beside `Network.base`

    @property
    def soft(self) -> int:
        """How many rows are soft, s."""
        return len(self.offset) - len(self.free)

    def present(self, world: BoolArray) -> FloatArray:
        """Return 1 for each free atom that is true in a world of all n atoms and each soft row that it violates, shape (f + s,)."""
        mine = world[self.free]
        return np.concatenate([mine, violated_rows(self, mine)[: self.soft]]).astype(np.float64)

    def select(self, chosen: BoolArray) -> LogLinear:
        """Return the part over whole components: of each row and block all atoms are in `chosen`, of shape (f,), or none is."""
        place = np.cumsum(chosen) - 1
        length = np.diff(self.indptr)
        rows = np.flatnonzero(chosen[np.abs(self.literals[self.indptr[:-1]]) - 1])
        literals = self.literals[ragged_ranges(self.indptr[rows], length[rows])]
        blocks, block = np.unique(self.block[chosen], return_inverse=True)
        none = int(len(blocks) > 0 and blocks[0] < 0)
        atoms = np.flatnonzero(chosen)
        part = np.concatenate([atoms, len(chosen) + rows[rows < self.soft]])
        return LogLinear(
            self.free[chosen],
            self.value,
            pointers(length[rows]),
            np.asarray(np.sign(literals) * (place[np.abs(literals) - 1] + 1), dtype=np.int64),
            self.clause[rows],
            np.asarray(block - none, dtype=np.int64),
            self.block_exact[blocks[none:]],
            self.features[part],
            self.offset[part],
            self.fixed_counts,
        )


def log_linear(network: Network, hard: WeightedNetwork | None = None) -> LogLinear:
    """Return what hard clauses and blocks leave of a network, equal rows merged; `hard`, without soft rows, replaces its hard part."""
    hard = hard_part(network) if hard is None else hard
    value = propagate(hard)
    # Hard cliques become blocks, which elimination treats as one variable.
    left = recognise_blocks(restrict(hard, value))
    free, m = np.flatnonzero(value == FREE), len(network.clauses)
    place = np.full(len(value), -1, dtype=np.int64)
    place[free] = np.arange(len(free))
    soft = np.flatnonzero(~network.hard[network.row_clause])
    length = np.diff(network.indptr)[soft]
    literals = network.literals[ragged_ranges(network.indptr[soft], length)]
    row = np.repeat(np.arange(len(soft), dtype=np.int64), length)
    atom = np.abs(literals) - 1
    satisfied = np.zeros(len(soft), dtype=np.bool_)
    satisfied[row[(value[atom] != FREE) & ((value[atom] == 1) == (literals > 0))]] = True
    kept = (value[atom] == FREE) & ~satisfied[row]
    size = np.bincount(row[kept], minlength=len(soft))
    clause = network.row_clause[soft]
    # What violating each row adds to its clause's count.
    loss = -(network.sign[clause] * network.multiplicity[soft]).astype(np.float64)
    fixed = np.zeros(m)
    np.add.at(fixed, clause[~satisfied & (size == 0)], loss[~satisfied & (size == 0)])
    units = network.units.astype(np.float64)
    units.data *= ~network.hard[units.indices]
    fixed += np.asarray(units[np.flatnonzero(value == 1)].sum(axis=0)).ravel()
    # One literal left: violated when its atom is false, or when it is true.
    single = kept & (size[row] == 1)
    positive = literals[single] > 0
    np.add.at(fixed, clause[row[single]][positive], loss[row[single]][positive])
    mine = units if len(free) == len(value) else units[free]
    several = np.flatnonzero(size > 1)
    rest = kept & (size[row] > 1)
    moved = np.sign(literals[rest]) * (place[atom[rest]] + 1)
    start = pointers(size[several])
    label, first = equal_rows(start, moved)
    features = mine
    if single.any() or len(first):
        listed = mine.tocoo()
        features = sparse.coo_array(
            (
                np.concatenate([listed.data, np.where(positive, -1.0, 1.0) * loss[row[single]], loss[several]]),
                (
                    np.concatenate([listed.row, place[atom[single]], len(free) + label]),
                    np.concatenate([listed.col, clause[row[single]], clause[several]]),
                ),
            ),
            shape=(len(free) + len(first), m),
        ).tocsr()
    features.sum_duplicates()
    features.eliminate_zeros()
    soft_length = np.diff(start)[first]
    model = LogLinear(
        free,
        value,
        pointers(np.concatenate([soft_length, np.diff(left.indptr)])),
        np.concatenate([moved[ragged_ranges(start[first], soft_length)], left.literals]).astype(np.int64),
        np.concatenate([clause[several][first], left.clause]),
        np.ascontiguousarray(left.block),
        left.block_exact,
        features,
        np.concatenate([network.prior[free].astype(np.float64), np.zeros(len(first))]),
        fixed,
    )
    return _violable(model) if len(model.block_exact) else model


def _violable(model: LogLinear) -> LogLinear:
    # Rows that blocks satisfy in every world join nothing: without them, rows are within components as elimination sees them.
    kept = np.diff(sides_of(model, variables_of(model)).row_start) > 0
    if kept.all():
        return model
    rows, length = np.flatnonzero(kept), np.diff(model.indptr)
    part = np.concatenate([np.arange(len(model.free)), len(model.free) + rows[rows < model.soft]])
    return replace(
        model,
        indptr=pointers(length[rows]),
        literals=model.literals[ragged_ranges(model.indptr[rows], length[rows])],
        clause=model.clause[rows],
        features=model.features[part],
        offset=model.offset[part],
    )


def hard_part(network: Network) -> WeightedNetwork:
    """Return the hard rows and the blocks of a network, over all atoms."""
    return weigh(network, np.zeros(len(network.clauses)))


# ---- sums over worlds ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LogLinearPartition:
    """Components of a log-linear model with tables of bounded size, laid out once: sums over their worlds for any weights."""

    buckets: Buckets  # tables of the c components
    component: IntArray  # shape (f + s,): of each atom and each soft row

    def __len__(self) -> int:
        return len(self.buckets.component_start) - 1

    @cached_property
    def _scratch(self) -> BucketScratch:
        return scratch_for(self.buckets)

    @cached_property
    def _listed(self) -> RowCells:
        return list_row_cells(self.buckets, self._scratch)

    @cached_property
    def _work(self) -> IntArray:
        buckets = self.buckets
        return component_sums(buckets, buckets.cells * (10 + 2 * buckets.children + 2 * np.diff(buckets.row_start)))

    @cached_property
    def _states(self) -> tuple[IntArray, IntArray]:
        # The states that make an atom true, and that atom.
        real = np.flatnonzero(self.buckets.state_atom >= 0)
        return real, self.buckets.state_atom[real]

    def expectations(self, score: FloatArray, components: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return log partition functions, and probabilities of true atoms and violated soft rows, which add `score`; 0 outside `components`."""
        buckets, (real, atom) = self.buckets, self._states
        f, rows = len(atom), len(score) - len(atom)
        components = np.arange(len(self)) if components is None else components
        value, violated = np.zeros(len(self)), np.zeros(len(buckets.cost))
        state, worth, cost = np.zeros(len(buckets.state_atom)), buckets.state_value.copy(), buckets.cost.copy()
        worth[real] = score[atom]
        cost[:rows] = -score[f:]
        now, at = buckets._replace(state_value=worth, cost=cost), 0
        while at < len(components):
            at, possible = expectations(
                now, self._scratch, self._listed, components, self._work, at, value, state, violated, SLICE
            )
            if not possible:
                raise UnsatisfiableError(self._an_atom(int(components[at])))
        share = np.empty(len(score))
        share[atom] = state[real]
        share[f:] = violated[:rows]
        return value, share

    def _an_atom(self, component: int) -> int:
        begin, end = self.buckets.state_start[self.buckets.component_start[component : component + 2]]
        return int(self.buckets.state_atom[begin:end].max())


@dataclass(frozen=True, eq=False)
class Reach:
    """How far elimination reaches in a log-linear model: the part whose components have tables of bounded size."""

    inside: BoolArray  # shape (f,): the free atoms of these components
    narrow: LogLinear  # the model over these atoms
    partition: LogLinearPartition  # sums of the narrow model


def reach(model: LogLinear, *, bucket_cells: int = BUCKET_CELLS, component_cells: int = COMPONENT_CELLS) -> Reach:
    """Lay out the components of a log-linear model that elimination can sum over; bounds as in `elimination_order`."""
    order = elimination_order(model, bucket_cells=bucket_cells, component_cells=component_cells)
    inside = np.asarray(order.within[order.component[order.variables.of_atom]], dtype=np.bool_)
    narrow = model
    if not inside.all():
        narrow = model.select(inside)
        order = part_of_order(order, narrow, inside)
    return Reach(inside, narrow, partition_of(narrow, order))


def partition_of(model: LogLinear, order: Order) -> LogLinearPartition:
    """Lay out all components of a log-linear model, which are within the bounds of an order."""
    rows = len(model.indptr) - 1
    cost = np.where(np.arange(rows) < model.soft, 0.0, np.inf)
    buckets = compile_buckets(order, np.zeros(len(model.free)), cost)
    of_atom = order.component[order.variables.of_atom]
    of_row = of_atom[np.abs(model.literals[model.indptr[: model.soft]]) - 1]
    return LogLinearPartition(buckets, np.concatenate([of_atom, of_row]).astype(np.int64))
