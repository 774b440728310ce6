"""A ground network with its weights folded in: what every solver of one weight vector reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlrl.distinct import distinct, distinct_values
from sqlrl.errors import NumericError
from sqlrl.ground.network import BoolArray, FloatArray, Indices, IntArray, Network, ragged_ranges
from sqlrl.kernels import kernel
from sqlrl.solve.counts import soft_weights, violated_rows
from sqlrl.solve.structure import grouped, pointers

EPSILON = float(np.finfo(np.float64).eps)

FREE = -1
"""The value of an atom that is not fixed, in arrays of 0 (false), 1 (true) and FREE."""


@dataclass(frozen=True, eq=False)
class WeightedNetwork:
    """Atoms, ground clauses with costs, and blocks.

    A world y in {0,1}^n in which every hard row and every block holds scores
    ``constant + linear @ y - sum of the costs of the violated rows``.
    """

    atoms: IntArray  # Shape (n,): the network's local atoms, ascending. Atom k of this object is `atoms[k]` there.
    linear: FloatArray  # shape (n,): what each atom adds when it is true (log-odds): unit clauses, soft evidence, loss
    # Row j has the signed atoms `literals[indptr[j]:indptr[j + 1]]`, +(k + 1) or -(k + 1), ascending by atom. No two soft rows have the same
    # literals. Soft rows have two literals or more, hard rows one or more.
    indptr: IntArray
    literals: IntArray
    cost: FloatArray  # shape (r,): of violating the row: positive or negative, infinite for hard rows, never 0
    # Shape (r,): a local clause of the network that the row comes from, -1 for what a given atom of the same block forces.
    clause: IntArray
    block: IntArray  # shape (n,): the block of each atom, -1 for none
    block_exact: BoolArray  # shape (b,): exactly one member is true; else at most one
    constant: float  # what every world scores
    rounding: float  # the difference of the scores of two worlds is off by no more than this, from sums of floats

    @property
    def hard(self) -> BoolArray:
        """Which rows must hold, shape (r,)."""
        return np.isposinf(self.cost)

    @property
    def row(self) -> IntArray:
        """The row of each literal, shape (literals,)."""
        return np.repeat(np.arange(len(self.cost), dtype=np.int64), np.diff(self.indptr))

    @cached_property
    def block_members(self) -> tuple[IntArray, IntArray]:
        """Where the atoms of each block start, shape (b + 1,), and the atoms of all blocks, ascending inside a block."""
        inside = np.flatnonzero(self.block >= 0)
        start, order = grouped(self.block[inside], len(self.block_exact))
        return start, inside[order]

    def violated(self, world: BoolArray) -> BoolArray:
        """Which rows a world violates, shape (r,)."""
        return violated_rows(self, world)

    def score(self, world: BoolArray) -> float:
        """The score of a world (log-odds); minus infinity if a hard row or a block does not hold."""
        if not self.blocks_hold(world):
            return -np.inf
        return float(self.constant + self.linear[world].sum() - self.cost[self.violated(world)].sum())

    def blocks_hold(self, world: BoolArray) -> bool:
        """Whether each block has one true member, or at most one."""
        true = np.bincount(self.block[world & (self.block >= 0)], minlength=len(self.block_exact))
        return bool(np.all(true <= 1) and np.all(true[self.block_exact] == 1))


def equal_rows(indptr: IntArray, literals: IntArray) -> tuple[IntArray, IntArray]:
    """Return a number for each row, the same for equal literals, ascending by atom, and the first row of each number."""
    length = np.diff(indptr)
    label, first = np.zeros(len(length), dtype=np.int64), np.zeros(0, dtype=np.int64)
    for size in distinct_values(length).tolist():
        rows = np.flatnonzero(length == size)
        different = distinct([literals[indptr[rows] + place] for place in range(size)])
        label[rows] = len(first) + different.inverse
        first = np.concatenate([first, rows[different.first]])
    return label, first


def merge_rows(
    indptr: IntArray, literals: IntArray, cost: FloatArray, clause: IntArray
) -> tuple[IntArray, IntArray, FloatArray, IntArray, float]:
    """Merge rows with equal literals, ascending by atom, and drop those that cancel; return the others, by first occurrence, and lost rounding."""
    length = np.diff(indptr)
    label, first = equal_rows(indptr, literals)
    total = np.bincount(label, weights=cost, minlength=len(first)).astype(np.float64)
    size_of = np.bincount(label, weights=np.abs(cost), minlength=len(first))
    times = np.bincount(label, minlength=len(first))
    with np.errstate(invalid="ignore"):  # infinity of hard rows times 0
        doubt = np.where(np.isfinite(total) & (times > 1), EPSILON * (times + 1) * size_of, 0.0)
    # Costs that cancel leave a residue of rounding, which would be taken for a tiny weight.
    kept = np.flatnonzero(np.abs(total) > doubt)
    lost = float(doubt.sum() + np.abs(np.delete(total, kept)).sum())
    kept = kept[np.argsort(first[kept])]
    rows = first[kept]
    return (
        pointers(length[rows]),
        literals[ragged_ranges(indptr[rows], length[rows])],
        total[kept],
        clause[rows],
        lost,
    )


@kernel
def _unit_sums(indptr: Indices, indices: Indices, counts: IntArray, weights: FloatArray) -> tuple[Any, Any]:
    # What unit clauses add for each atom, and the sum of the absolute terms. Integers as they are: SciPy would first copy millions of
    # counts as floats, and again for their absolute values.
    n = len(indptr) - 1
    total, size = np.zeros(n), np.zeros(n)
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            term = counts[p] * weights[indices[p]]
            total[i] += term
            size[i] += abs(term)
    return total, size


def _linear_terms(network: Network, soft: FloatArray, extra: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what each atom adds when it is true, the sum of the absolute terms of that, and how far it may be off; each of shape (n,)."""
    linear, size = _unit_sums(network.units.indptr, network.units.indices, network.units.data, soft)
    linear += extra
    size += np.abs(extra)
    doubt = np.where(size > 0, EPSILON * (np.diff(network.units.indptr) + 2) * size, 0.0)
    linear[np.abs(linear) <= doubt] = 0.0
    return linear, size, doubt


@np.errstate(over="ignore", invalid="ignore")  # what overflows is looked for and refused
def weigh_unmerged(network: Network, soft: FloatArray, extra: FloatArray) -> WeightedNetwork:
    """Fold weights of shape (m,) and what atoms add into a network without blocks whose rows are all soft; rows may be equal, and cost nothing."""
    linear, size, doubt = _linear_terms(network, soft, extra)
    rows = network.rows.listed
    cost = (soft * network.sign)[rows.clause] * rows.multiplicity
    base = float(network.base.astype(np.float64) @ soft) if len(soft) else 0.0
    if not np.isfinite(float(size.sum()) + float(np.abs(cost).sum()) + base):
        raise NumericError("weights are so large that their sums overflow: scale them down")
    atoms = np.arange(len(network.atoms), dtype=np.int64)
    none = np.full(len(atoms), -1, dtype=np.int64)
    return WeightedNetwork(
        atoms, linear, rows.indptr, rows.literals, cost, rows.clause, none, network.block_exact, base, float(doubt.sum())
    )  # fmt: skip


@np.errstate(over="ignore", invalid="ignore")  # what overflows is looked for and refused
def weigh(network: Network, weights: npt.ArrayLike, *, loss: npt.ArrayLike | None = None) -> WeightedNetwork:
    """Fold weights (log-odds) and a loss into a network, equal rows merged; a world scores `counts.score`, up to rounding, plus the loss."""
    soft = soft_weights(network, weights)
    linear, size, doubt = _linear_terms(network, soft, atom_terms(network, loss))
    hard = network.hard[network.row_clause]
    cost = soft[network.row_clause] * (network.sign[network.row_clause] * network.multiplicity)
    cost[hard] = np.inf
    kept = np.flatnonzero(cost != 0)
    length = np.diff(network.indptr)[kept]
    units = network.hard_units
    indptr, literals, merged, clause, lost = merge_rows(
        pointers(np.concatenate([length, np.ones(len(units), dtype=np.int64)])),
        np.concatenate([network.literals[ragged_ranges(network.indptr[kept], length)], units[:, 1]]),
        np.concatenate([cost[kept], np.full(len(units), np.inf)]),
        np.concatenate([network.row_clause[kept], units[:, 0]]),
    )
    base = float(network.base.astype(np.float64) @ soft) if len(soft) else 0.0
    total = float(size.sum()) + float(np.abs(merged[np.isfinite(merged)]).sum())
    if not (np.isfinite(total) and np.isfinite(base)):
        raise NumericError("weights are so large that their sums overflow: scale them down")
    return WeightedNetwork(
        np.arange(len(network.atoms), dtype=np.int64),
        linear,
        indptr,
        literals,
        merged,
        clause,
        # Kernels are compiled for arrays, not for views of one number.
        np.ascontiguousarray(network.block),
        network.block_exact,
        base,
        float(doubt.sum()) + lost,
    )


def atom_terms(network: Network, loss: npt.ArrayLike | None = None) -> FloatArray:
    """What each atom adds besides clauses: soft evidence and a loss, shape (n,)."""
    extra = network.prior.astype(np.float64, copy=False)
    if loss is not None:
        given = np.asarray(loss, dtype=np.float64)
        if given.shape != extra.shape:
            raise NumericError(f"{len(extra)} atoms need as many losses, but the array has shape {given.shape}")
        extra = extra + given
    wrong = np.flatnonzero(~np.isfinite(extra))
    if len(wrong):
        raise NumericError(
            f"soft evidence and loss of atom {network.atoms[wrong[0]]} add up to {extra[wrong[0]]}: give a finite "
            "number, or load certain evidence as a fact"
        )
    return extra
