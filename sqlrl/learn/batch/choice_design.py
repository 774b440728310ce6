"""The design of an exact conditional likelihood: independent choices among states, each with the counts that it adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy import sparse

from sqlrl.ground.network import BoolArray, FloatArray, IntArray, ragged_ranges
from sqlrl.learn.batch.problem import equal_columns
from sqlrl.solve.structure import pointers

INT32_MAX = 2**31 - 1
ROWS = 4096
"""Rows that are made dense together."""
DENSE = 60.0
"""How many products of a dense matrix take the time of one of a sparse one."""


@dataclass(frozen=True, eq=False)
class Choices:
    """Independent choices among states: each is an atom (false or true) or a block (none where that is possible, or a member)."""

    features: sparse.csr_array  # shape (s, m): what each state adds to the counts; 0 for hard clauses
    offset: FloatArray  # shape (s,): log-odds of soft evidence
    start: IntArray  # shape (c + 1,): choice u has the states `start[u]` to `start[u + 1] - 1`, two or more
    observed: IntArray  # shape (c,): the state that the labels say
    example: IntArray  # shape (c,)
    label: IntArray  # shape (c,): which state of its choice is observed, from 0; of an atom 1 for true
    # shape (s,): the place in the network of the atom that each state makes true, -1 for none
    atom: IntArray | None = None

    def __len__(self) -> int:
        return len(self.observed)

    @cached_property
    def _by_clause(self) -> sparse.csc_array:
        found = self.features.tocsc()
        found.sort_indices()
        return found

    @cached_property
    def _transposed(self) -> sparse.csr_array:
        return self._by_clause.T

    @cached_property
    def _paired(self) -> bool:
        """Whether each choice has two states, of which the first one adds nothing, as those of atoms do."""
        return len(self.offset) == 2 * len(self) and not np.diff(self.features.indptr)[::2].any()

    @cached_property
    def _true(self) -> sparse.csr_array:
        """Of paired choices what the second state adds, shape (c, m)."""
        table = self.features
        return sparse.csr_array((table.data, table.indices, table.indptr[::2]), shape=(len(self), self.clauses))

    def _of_pairs(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The log-likelihood of each of paired choices, and the probability of its second state, shapes (c,)."""
        margin: FloatArray = self._true @ weights + (self.offset[1::2] - self.offset[::2])
        # One exponential function for both, which never overflows, and a logarithm of numbers from 1 to 2.
        small = np.exp(-np.abs(margin))
        total = 1.0 + small
        found = np.minimum(np.where(self.label == 1, margin, -margin), 0.0) - np.log(total)
        return found, np.where(margin >= 0.0, 1.0, small) / total

    @cached_property
    def owner(self) -> IntArray:
        """The choice of each state, shape (s,)."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.start))

    @property
    def clauses(self) -> int:
        """How many clauses have weights, m."""
        return int(self.features.shape[1])

    def members(self) -> tuple[IntArray, IntArray]:
        """Return the places of atoms in their network, and the choice that each belongs to."""
        assert self.atom is not None
        state = np.flatnonzero(self.atom >= 0)
        return self.atom[state], self.owner[state]

    def equal_columns(self, columns: IntArray) -> IntArray:
        """Number the distinct ones of some clauses by what is counted of them, see `problem.equal_columns`; shape (m,)."""
        return equal_columns(self._by_clause, columns)

    def _shares(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The log-likelihood of each choice, and the probability of each state."""
        if len(self) == 0:
            return np.zeros(0), np.zeros(0)
        if self._paired:
            found, share = self._of_pairs(weights)
            return found, np.stack([1.0 - share, share], axis=1).ravel()
        score = self.features @ weights + self.offset
        first = self.start[:-1]
        score -= np.maximum.reduceat(score, first)[self.owner]
        share = np.exp(score)
        total = np.add.reduceat(share, first)
        return score[self.observed] - np.log(total), share / total[self.owner]

    def log_likelihood(self, weights: FloatArray) -> FloatArray:
        """Return the log-likelihood of each choice, shape (c,), under weights of shape (m,)."""
        return self._shares(weights)[0]

    def value_and_gradient(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return the conditional log-likelihood of the labels and its gradient, observed less expected counts, shape (m,).

        Source: Huynh (2011), section 3.2.2: without clauses that join query atoms the conditional likelihood is a
        product over the query atoms (here: and blocks), so that it and its gradient are exact.
        """
        if self._paired:
            found, share = self._of_pairs(weights)
            return float(found.sum()), self._differences.T @ (self.label - share)
        found, share = self._shares(weights)
        np.negative(share, out=share)
        share[self.observed] += 1.0
        return float(found.sum()), self._transposed @ share

    @cached_property
    def _differences(self) -> sparse.csc_array:
        """What each state but the first of its choice adds to the counts, less what the first one adds."""
        if self._paired:
            table = self._by_clause
            return sparse.csc_array((table.data, table.indices // 2, table.indptr), shape=(len(self), self.clauses))
        others = np.ones(len(self.offset), dtype=np.bool_)
        others[self.start[:-1]] = False
        rows = np.flatnonzero(others)
        first = self.features[self.start[:-1]]
        rest = self.features[rows]
        return (rest - first[self.owner[rows]] if first.nnz else rest).tocsc()

    def hessian(self, weights: FloatArray, columns: IntArray) -> FloatArray:
        """Return the negative Hessian in k of the clauses (ascending), the covariances of their counts, shape (k, k)."""
        share = np.delete(self._shares(weights)[1], self.start[:-1])
        size = np.diff(self.start) - 1
        several = np.repeat(size > 1, size)
        rest = self._differences[:, columns].tocsr()
        # Of an atom p (1 - p) x x'; of a block sum p x x' less the square of its mean.
        found = weighted_squares(rest, np.where(several, share, share * (1.0 - share)))
        if several.any():
            blocks = pointers(size[size > 1])
            rows = np.flatnonzero(several)
            shape = (len(blocks) - 1, len(rows))
            means = sparse.csr_array((share[rows], np.arange(len(rows)), blocks), shape=shape) @ rest[rows]
            found -= weighted_squares(means.tocsr(), np.ones(shape[0]))
        return found

    def curvature(self, weights: FloatArray) -> FloatArray:
        """Return the diagonal of the negative Hessian, shape (m,): the variances of the counts."""
        rest = self._differences
        if self._paired:
            share = self._of_pairs(weights)[1]
            return np.asarray(rest.power(2).T @ (share * (1.0 - share)), dtype=np.float64)
        share = np.delete(self._shares(weights)[1], self.start[:-1])
        size = np.diff(self.start) - 1
        each = sparse.csr_array((share, np.arange(len(share)), pointers(size)), shape=(len(self), len(share)))
        means = each @ rest
        squares = rest.multiply(rest).T @ share
        return np.asarray(np.maximum(squares - means.multiply(means).sum(axis=0), 0.0), dtype=np.float64)

    def product(self, weights: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the negative Hessian times a vector, both of shape (m,)."""
        if len(self) == 0:
            return np.zeros_like(direction)
        share, grows = self._shares(weights)[1], self.features @ direction
        mean = np.add.reduceat(share * grows, self.start[:-1])
        return np.asarray(self._transposed @ (share * (grows - mean[self.owner])), dtype=np.float64)

    def chosen(self, which: BoolArray) -> Choices:
        """Return some of the choices, shape (c,)."""
        size = np.diff(self.start)[which]
        rows = ragged_ranges(self.start[:-1][which], size)
        start = pointers(size)
        return Choices(
            self.features[rows],
            self.offset[rows],
            start,
            start[:-1] + self.label[which],
            self.example[which],
            self.label[which],
            None if self.atom is None else self.atom[rows],
        )

    def columns(self, which: IntArray, scale: FloatArray) -> Self:
        """Return the choices with some of the clauses only, their counts multiplied by `scale`."""
        if np.array_equal(which, np.arange(self.clauses)):
            table = self.features
            data = table.data if (scale == 1.0).all() else table.data * scale[table.indices]
            kept = sparse.csr_array((data, table.indices, table.indptr), shape=table.shape)
        else:
            kept = (self._by_clause[:, which] @ sparse.diags_array(scale)).tocsr()
        return replace(self, features=_narrow(kept))


def _narrow(table: sparse.csr_array) -> sparse.csr_array:
    # Products read half as many bytes of places.
    if max(table.nnz, *table.shape) > INT32_MAX or table.indices.dtype == np.int32:
        return table
    places = table.indices.astype(np.int32), table.indptr.astype(np.int32)
    return sparse.csr_array((table.data, *places), shape=table.shape)


def weighted_squares(rows: sparse.csr_array, weight: FloatArray) -> FloatArray:
    """The sum of `weight x x'` over the rows x, as a dense matrix."""
    n, k = rows.shape
    filled = np.diff(rows.indptr).astype(np.float64)
    if DENSE * float(filled @ filled) < float(n) * k * k:
        return np.asarray((rows.T @ (sparse.diags_array(weight) @ rows)).toarray(), dtype=np.float64)
    found, root = np.zeros((k, k)), np.sqrt(weight)
    for at in range(0, n, ROWS):
        part = rows[at : at + ROWS].toarray() * root[at : at + ROWS, None]
        found += part.T @ part
    return found


def joined_choices(parts: Sequence[Choices], *, atoms: bool = False) -> Choices:
    """Return all choices of several parts, which know more and more clauses; `atoms` if their places are those of one network."""
    if len(parts) == 1:
        return parts[0]
    most = max(part.clauses for part in parts)
    features = [
        sparse.csr_array((f.data, f.indices, f.indptr), (f.shape[0], most)) for f in (p.features for p in parts)
    ]
    states = pointers(np.array([len(part.offset) for part in parts]))
    return Choices(
        sparse.vstack(features, format="csr"),
        np.concatenate([part.offset for part in parts]),
        np.append(np.concatenate([at + part.start[:-1] for at, part in zip(states, parts, strict=False)]), states[-1]),
        np.concatenate([at + part.observed for at, part in zip(states, parts, strict=False)]),
        np.concatenate([part.example for part in parts]),
        np.concatenate([part.label for part in parts]),
        np.concatenate([part.atom for part in parts if part.atom is not None]) if atoms else None,
    )
