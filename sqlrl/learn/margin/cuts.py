"""Cutting planes: what the labels must score more than a world, as sparse count differences with their inner products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from sqlrl.ground.network import FloatArray, IntArray

Penalty = Literal["l1", "l2"]
Loss = Literal["hamming", "zero-one"]
Separation = Literal["relaxed", "exact"]


@dataclass(frozen=True, eq=False)
class Cut:
    """One constraint: ``weights @ delta + fixed >= loss - n * slack`` for n mega-examples.

    `delta`, `loss` and `fixed` may be means over a distribution of worlds: what holds for each world holds for their
    mean.
    """

    clause: IntArray  # shape (k,): local clauses, ascending, none hard
    delta: IntArray | FloatArray  # shape (k,): counts in the labels minus those in the world; none is 0
    loss: float  # of the world, summed over mega-examples
    fixed: float = 0.0  # what soft evidence adds to the labels' score over the world's (log-odds)

    def shortfall(self, weights: FloatArray) -> float:
        """How much the labels score less than the world and its loss; 0 or less where the margin is kept."""
        return self.loss - self.fixed - float(weights[self.clause] @ self.delta)


ROOM = 1.0 + 1e-9
"""Weights that just keep their margins, times this, keep them whatever rounding does."""


def best_multiple(value: float, square: float, most: float) -> float:
    """Return the largest ``t * value - t * t * square / 2`` with t from 0 to `most`: a dual objective along a ray."""
    t = most if most * square <= value else max(value, 0.0) / square
    return t * (value - 0.5 * t * square)


def penalty_of(weights: FloatArray, penalty: Penalty) -> float:
    """Return half the squared norm of weights, or their 1-norm."""
    return float(np.abs(weights).sum()) if penalty == "l1" else 0.5 * float(weights @ weights)


HALF = 0.5
"""Part of the penalty, at most, that pays for what rounding leaves of a bound on the slack."""


def where_dearer(lower: float, more: float, slack: float, rest: FloatArray, penalty: Penalty) -> float:
    """Return a lower bound on penalty and slack where that costs `more` than where `lower` is one; weights w need a slack of ``slack - rest @ w`` or more."""
    if penalty == "l1":
        part = more * float(np.abs(rest).max(initial=0.0))
        return (1.0 - part) * lower + more * slack if part <= HALF else lower
    off = more * float(np.linalg.norm(rest))
    # A part of half the squared norm is at least what the rest takes, up to a constant.
    part = min(off / max(lower, off, 1e-300), HALF)
    return (1.0 - part) * lower + more * slack - (0.5 * off * off / part if part > 0.0 else 0.0)


class Cuts:
    """All cuts so far, divided by the number of mega-examples: ``matrix @ weights >= demand - slack``."""

    def __init__(self, clauses: int, examples: int) -> None:
        self.examples = examples
        # Count differences of the cuts, shape (k, m).
        self.matrix = sparse.csr_array((0, clauses), dtype=np.float64)
        # The loss of each cut minus its fixed part, shape (k,).
        self.demand: FloatArray = np.empty(0)
        self._gram: FloatArray = np.empty((16, 16))

    def __len__(self) -> int:
        return len(self.demand)

    @property
    def gram(self) -> FloatArray:
        """Inner products of the rows, shape (k, k)."""
        return self._gram[: len(self), : len(self)]

    def add(self, cut: Cut) -> None:
        """Add a cut."""
        k, clauses = self.matrix.shape
        row = cut.delta / self.examples
        place = (row, cut.clause, np.array([0, len(row)]))
        self.matrix = sparse.vstack([self.matrix, sparse.csr_array(place, shape=(1, clauses))], format="csr")
        self.demand = np.append(self.demand, (cut.loss - cut.fixed) / self.examples)
        dense = np.zeros(clauses)
        dense[cut.clause] = row
        if k == len(self._gram):
            grown = np.empty((2 * k, 2 * k))
            grown[:k, :k] = self._gram
            self._gram = grown
        self._gram[k, : k + 1] = self._gram[: k + 1, k] = self.matrix @ dense

    def shortfall(self, weights: FloatArray) -> FloatArray:
        """How much the slack must be at least for each cut, shape (k,)."""
        return np.asarray(self.demand - self.matrix @ weights, dtype=np.float64)
