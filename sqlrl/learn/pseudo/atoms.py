"""The pseudo-log-likelihood of the atoms of a world, those that are alike counted together, and its derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy import sparse, special

from sqlrl.ground.atom_kinds import AtomKinds
from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.learn.batch.choice_design import weighted_squares
from sqlrl.learn.batch.problem import equal_columns


@dataclass(frozen=True, eq=False)
class AtomRows:
    """Atoms given all others: for each row of atoms that are alike, what its clauses say and what it counts.

    The pseudo-log-likelihood is `sum_j weight_j log sigmoid(s_j (features_j w + offset_j))` with s = 1 for true and -1
    for false atoms.
    """

    # shape (r, m): n of each clause if the atom is true minus n if it is false; 0 for hard clauses
    features: sparse.csr_array
    truth: BoolArray  # shape (r,)
    weight: FloatArray  # how many atoms a row has, or what share of those of its predicate
    offset: FloatArray  # log-odds of clauses of fixed weight and of soft evidence
    predicate: IntArray  # the predicate of each row, from 0
    atoms: IntArray  # how many atoms are in each row
    averaged: bool = False  # whether rows count as shares

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def clauses(self) -> int:
        """How many clauses have weights, m."""
        return int(self.features.shape[1])

    def equal_columns(self, columns: IntArray) -> IntArray:
        """Number the distinct ones of some clauses by what they say, see `problem.equal_columns`; shape (m,)."""
        table = self.features.tocsc()
        table.sort_indices()
        return equal_columns(table, columns)

    @cached_property
    def _sign(self) -> FloatArray:
        return np.where(self.truth, 1.0, -1.0)

    @cached_property
    def _transposed(self) -> sparse.csr_array:
        return self.features.T.tocsr()

    def log_probability(self, weights: FloatArray) -> FloatArray:
        """Return the log-probability of the truth of an atom of each row, shape (r,)."""
        found: FloatArray = special.log_expit(self._sign * (self.features @ weights + self.offset))
        return found

    def log_likelihood(self, weights: FloatArray) -> FloatArray:
        """Return what each row adds to the pseudo-log-likelihood, shape (r,)."""
        found: FloatArray = self.weight * self.log_probability(weights)
        return found

    def value_and_gradient(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return the pseudo-log-likelihood and its gradient, shape (m,)."""
        margin = self._sign * (self.features @ weights + self.offset)
        pull = self._sign * self.weight * special.expit(-margin)
        return float((self.weight * special.log_expit(margin)).sum()), self._transposed @ pull

    def _variance(self, weights: FloatArray) -> FloatArray:
        chance = special.expit(self.features @ weights + self.offset)
        found: FloatArray = self.weight * chance * (1.0 - chance)
        return found

    def hessian(self, weights: FloatArray, columns: IntArray) -> FloatArray:
        """Return the negative Hessian in some of the clauses, shape (k, k) for k columns, ascending."""
        rows = self.features.tocsc()[:, columns].tocsr()
        return weighted_squares(rows, self._variance(weights))

    def curvature(self, weights: FloatArray) -> FloatArray:
        """Return the diagonal of the negative Hessian, shape (m,)."""
        squares = self.features.multiply(self.features)
        return np.asarray(squares.T @ self._variance(weights), dtype=np.float64)

    def columns(self, which: IntArray, scale: FloatArray) -> Self:
        """Return the rows with some of the clauses only, what they say multiplied by `scale`."""
        kept = self.features.tocsc()[:, which] @ sparse.diags_array(scale)
        return replace(self, features=kept.tocsr())


def atom_rows(
    partitions: Mapping[str, AtomKinds],
    sign: IntArray,  # shape (m,), as `hard` and `fixed`
    hard: BoolArray,
    fixed: FloatArray,  # NaN for weights to be learned
    priors: FloatArray | None = None,  # see `training.blankets.BlanketTraining`
    *,
    averaged: bool,
    # how many atoms the rows of each partition count as, by default those that they have
    weights: Sequence[FloatArray] | None = None,
) -> AtomRows:
    """Return the rows of all partitions for m clauses; with `averaged` each counts as its share of its predicate's atoms (WPLL)."""
    learned = ~hard & np.isnan(fixed)
    features, truth, weight, offset, predicate, atoms = [], [], [], [], [], []
    for number, partition in enumerate(partitions.values()):
        negative, positive = (sparse.csr_array(x, dtype=np.float64) for x in (partition.negative, partition.positive))
        delta = (positive - negative) @ sparse.diags_array(sign.astype(np.float64))
        # Atoms on which a hard ground clause depends have no choice: they add 0. What is violated already says nothing.
        # A true atom holds up what would be violated without it, a false one what would be violated with it.
        held = np.where(
            partition.truth, (positive @ hard.astype(np.float64)) > 0, (negative @ hard.astype(np.float64)) > 0
        )
        number_of = partition.count.astype(np.float64) if weights is None else weights[number]
        kept = np.flatnonzero(~held & (number_of > 0))
        features.append((delta @ sparse.diags_array(learned.astype(np.float64))).tocsr()[kept])
        known = delta @ np.where(np.isnan(fixed), 0.0, fixed)
        if priors is not None and len(priors):
            known += priors[positive[:, [-1]].toarray()[:, 0].astype(np.int64)]
        offset.append(known[kept])
        truth.append(partition.truth[kept])
        share = number_of[kept]
        weight.append(share / max(partition.total, 1) if averaged else share)
        predicate.append(np.full(len(kept), number, dtype=np.int64))
        atoms.append(partition.count[kept])
    if not features:
        none, empty = np.zeros(0), np.zeros(0, dtype=np.int64)
        features, truth, weight, offset = [sparse.csr_array((0, len(sign)))], [none.astype(bool)], [none], [none]
        predicate, atoms = [empty], [empty]
    stacked = sparse.csr_array(sparse.vstack(features))
    stacked.eliminate_zeros()
    return AtomRows(
        stacked,
        np.concatenate(truth),
        np.concatenate(weight),
        np.concatenate(offset),
        np.concatenate(predicate),
        np.concatenate(atoms),
        averaged,
    )
