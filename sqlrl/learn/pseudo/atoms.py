"""The pseudo-log-likelihood of the atoms of a world, those that are alike counted together, and its derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy import sparse, special

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.ground.partitions import Partition
from sqlrl.learn.batch.choices import weighted_squares
from sqlrl.learn.batch.problem import equal_columns


@dataclass(frozen=True, eq=False)
class AtomRows:
    r"""Atoms given all others: for each row of atoms that are alike, what its clauses say and what it counts.

    The pseudo-log-likelihood is `sum_j weight_j log sigmoid(s_j (features_j w + offset_j))` with s = 1 for true and -1 for false atoms.

    Parameters
    ----------
    features : scipy.sparse.csr_array of float, shape (r, m)
        How much greater n of each clause is if the atom is true than if it is false; 0 for hard clauses.
    truth : bool array, shape (r,)
    weight : float array, shape (r,)
        How many atoms a row has, or what share of those of its predicate.
    offset : float array, shape (r,)
        What clauses of fixed weight add (log-odds).
    predicate : int64 array, shape (r,)
        The predicate of each row, from 0.
    atoms : int64 array, shape (r,)
        How many atoms are in it.
    averaged : bool
        Whether rows count as shares.
    """

    features: sparse.csr_array
    truth: BoolArray
    weight: FloatArray
    offset: FloatArray
    predicate: IntArray
    atoms: IntArray
    averaged: bool = False

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
    partitions: Mapping[str, Partition],
    sign: IntArray,
    hard: BoolArray,
    fixed: FloatArray,
    priors: FloatArray | None = None,
    *,
    averaged: bool,
    weights: Sequence[FloatArray] | None = None,
) -> AtomRows:
    """Make rows of partitions by all clauses of a model.

    `sign`, `hard` and `fixed`, all of shape (m,), say of each clause whether n counts true or violated groundings, whether it is
    hard, and what its fixed weight is, NaN if it is to be learned; `priors` is as in `sqlrl.learn.pseudo.protocols`. An atom without which, or with
    which, a ground clause of a hard rule would be violated that is not violated now has no choice: it adds 0 to the log-likelihood. Those that are
    violated already say nothing. With `averaged` each row counts as the share that it has of all atoms of its predicate (WPLL). `weights` are for each partition how many atoms
    its rows count as, by default those that they have.
    """
    learned = ~hard & np.isnan(fixed)
    features, truth, weight, offset, predicate, atoms = [], [], [], [], [], []
    for number, partition in enumerate(partitions.values()):
        negative, positive = (sparse.csr_array(x, dtype=np.float64) for x in (partition.negative, partition.positive))
        delta = (positive - negative) @ sparse.diags_array(sign.astype(np.float64))
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
        weight.append(share / max(partition.domain.count, 1) if averaged else share)
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
