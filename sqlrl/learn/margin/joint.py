"""The whole training problem as one convex program, where hard clauses and blocks alone join atoms: no cutting planes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sqlrl.distinct import distinct
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.learn.batch.problem import TrainingProblem, equal_columns
from sqlrl.solve.relaxation import linear_program
from sqlrl.solve.restriction import Values
from sqlrl.solve.weighted import FREE, weigh
from sqlrl.training.labels import hamming_loss

MOST_UNKNOWNS = 2000
"""More than these make a dense matrix of them too slow to factor dozens of times."""

MOST_COUNTS = 30_000_000
"""More entries than these make a dense matrix of counts too large."""


BROKEN = 1e-9
"""Truths that break rows by no more than this keep them: it is rounding."""


@dataclass(frozen=True, eq=False)
class JointMargin:
    """The slack of the weights v of g groups of clauses: the largest value of a linear function over worlds, or 0 if that is less.

    The function is ``constant + gain @ u + v @ (features.T @ u - offset)``, over ``0 <= u <= high`` and
    ``rows @ u <= limit``, where u are k truths, perhaps between false and true: what the labels score less than a world
    and its loss.
    """

    features: FloatArray  # shape (k, g): what each truth adds to the counts of each group of clauses
    gain: FloatArray  # shape (k,): what it adds to loss and soft evidence
    high: FloatArray  # shape (k,): its largest value
    rows: sparse.csr_array  # shape (r, k)
    limit: FloatArray  # shape (r,)
    offset: FloatArray  # shape (g,): counts of the labels, less those of u = 0
    constant: float  # loss and soft evidence of u = 0, less the soft evidence of the labels

    def excess(self, weights: FloatArray, multipliers: FloatArray) -> float:
        """Return a bound on the slack from multipliers of the rows, 0 or more; the best ones make it tight."""
        # Below 0 only where the labels are no world, and score more than all worlds.
        ahead = self.features @ weights + self.gain - self.rows.T @ multipliers
        best = float(self.high @ np.maximum(ahead, 0.0)) + float(self.limit @ multipliers)
        return best + self.constant - float(weights @ self.offset)

    def inside(self, truth: FloatArray) -> FloatArray | None:
        """Return truths, shape (k,), within their bounds; None unless they keep the rows up to `BROKEN`."""
        kept = np.clip(truth, 0.0, self.high)
        return None if float((self.rows @ kept - self.limit).max(initial=0.0)) > BROKEN else kept


@dataclass(frozen=True, eq=False)
class EqualClauses:
    """Groups of clauses that have the same counts in every world, and so are one up to the penalty."""

    group: IntArray  # shape (m,): -1 for clauses without a weight and those that no truth changes, whose weight is 0
    first: IntArray  # shape (g,): the first clause of each group
    size: IntArray  # shape (g,)

    def spread(self, weights: FloatArray) -> FloatArray:
        """Return the weight of each clause, shape (m,), from one for each group: divided equally."""
        return np.asarray(np.append(weights / self.size, 0.0)[self.group], dtype=np.float64)

    def at_first(self, weights: FloatArray) -> FloatArray:
        """Return the weight of each clause, shape (m,), from one for each group: all on its first clause."""
        found = np.zeros(len(self.group))
        found[self.first] = weights
        return found


def group_clauses(network: Network) -> EqualClauses:
    """Group the clauses of a network in which only hard ones have rows by their counts."""
    counts = sparse.csc_array(network.units)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    inside = np.flatnonzero(~network.hard & (np.diff(counts.indptr) > 0))
    group = equal_columns(counts, inside)
    _, first, size = np.unique(group[inside], return_index=True, return_counts=True)
    return EqualClauses(group, inside[first], size.astype(np.int64))


def is_joint(network: Network, *, relaxed: bool) -> bool:
    """Return whether the training problem of a network is small, and only hard clauses and blocks join its atoms."""
    atoms, clauses = len(network.atoms), len(network.clauses)
    rows = network.rows.entries > 0
    joined = rows or len(network.block_exact) > 0
    # Rows of hard clauses need the worlds of the linear relaxation; with blocks alone these are true worlds anyway. Tied tables have no hard ones.
    if network.rows.tied or not network.hard[network.rows.rest.clause].all() or (rows and not relaxed):
        return False
    # Where nothing joins atoms, unknowns are the fewer of atoms and clauses.
    return (atoms if joined else min(atoms, clauses)) <= MOST_UNKNOWNS and atoms * clauses <= MOST_COUNTS


def make_joint(problem: TrainingProblem, fixed: Values, groups: EqualClauses, scale: FloatArray) -> JointMargin:
    """Return the training problem with Hamming loss as one program; only hard clauses may have rows."""
    network, truth = problem.network, problem.truth.astype(np.float64)
    into, start, rows, limit = _truths(network, fixed)
    counts = network.units[:, groups.first].toarray().astype(np.float64) * scale
    gain = network.prior + hamming_loss(network, problem.truth)
    own = float(truth[~network.helper].sum())
    features = np.asarray(into.T @ counts, dtype=np.float64)
    added, high = np.asarray(into.T @ gain, dtype=np.float64), np.ones(into.shape[1])
    if len(limit) == 0 and len(high):
        # Nothing joins truths: those that add the same are one, as their sum.
        kinds = distinct([*features.T, added])
        features, added, high = features[kinds.first], added[kinds.first], kinds.counts.astype(np.float64)
        rows = sparse.csr_array((0, len(high)))
    offset = np.asarray(counts.T @ (truth - start), dtype=np.float64)
    return JointMargin(
        features, added, high, rows, limit, offset, float(gain @ start) + own - float(network.prior @ truth)
    )


def _truths(network: Network, fixed: Values) -> tuple[sparse.csr_array, FloatArray, sparse.csr_array, FloatArray]:
    # Truths as `into @ u + start`, and what hard clauses and blocks ask of u, as `rows @ u <= limit`.
    n, free = len(network.atoms), fixed == FREE
    start = (fixed == 1).astype(np.float64)
    members, first = _exact_blocks(network, fixed)
    chosen = free.copy()
    chosen[first] = False
    place = np.cumsum(chosen) - 1
    # The first free member of an exactly-one block is 1 less the others.
    start[first] = 1.0
    others = np.flatnonzero(chosen & (members >= 0))
    row = np.concatenate([np.flatnonzero(chosen), first[members[others]]])
    column = np.concatenate([place[chosen], place[others]])
    data = np.concatenate([np.ones(int(chosen.sum())), -np.ones(len(others))])
    into = sparse.csr_array((data, (row, column)), shape=(n, int(chosen.sum())))
    # Hard clauses and blocks as the solvers' relaxation has them; the first of an exactly-one block is no less than false.
    program = linear_program(weigh(network, np.zeros(len(network.clauses))))
    of_first = sparse.csr_array((-np.ones(len(first)), (np.arange(len(first)), first)), shape=(len(first), n))
    matrix = sparse.vstack([-program.matrix, of_first], format="csr")
    limit = np.concatenate([-program.low, np.zeros(len(first))]) - matrix @ start
    rows = sparse.csr_array(matrix @ into)
    rows.eliminate_zeros()
    # What is fixed, and what a block's first member is, leaves rows that hold anyway.
    most = rows.maximum(0).sum(axis=1)
    open_ = np.flatnonzero(most > limit)
    return into, start, rows[open_], limit[open_]


def _exact_blocks(network: Network, fixed: Values) -> tuple[IntArray, IntArray]:
    # Of each atom the number of its exactly-one block, if nothing fixes that, else -1; and the first free member of each.
    inside = network.block >= 0
    open_ = np.zeros(len(network.block_exact), dtype=np.bool_)
    open_[network.block[inside & (fixed == FREE)]] = True
    open_[network.block[inside & (fixed == 1)]] = False
    wanted: BoolArray = inside & (fixed == FREE)
    wanted[inside] &= (network.block_exact & open_)[network.block[inside]]
    atoms = np.flatnonzero(wanted)
    _, first, number = np.unique(network.block[atoms], return_index=True, return_inverse=True)
    member = np.full(len(network.atoms), -1, dtype=np.int64)
    member[atoms] = number
    return member, atoms[first]
