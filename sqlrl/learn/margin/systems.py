"""The linear equations of an interior-point step, of as many unknowns as truths or as groups of clauses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sqlrl.ground.network import FloatArray
from sqlrl.kernels import kernel
from sqlrl.learn.margin.joint import Joint

RIDGE = 1e-15
"""Of the largest diagonal entry: added where rounding makes a matrix indefinite, then ten times as much again."""

REFINED = 4
"""Times that what rounding left is solved for, where the equations are reduced: that loses digits."""

Indices = npt.NDArray[np.integer[Any]]
Solver = Callable[[FloatArray], FloatArray]


class Systems:
    """Equations with the matrix ``strength * F @ F.T + diag(d) + R.T @ diag(p) @ R``, of the features F and rows R of a program.

    Parameters
    ----------
    joint : Joint
        k truths, g groups.

    Notes
    -----
    Without rows and with fewer groups than truths the equations are reduced to g unknowns by the Woodbury formula (Ferris and
    Munson 2003, section 3). What rounding and the ridge leave is solved for once more.

    Examples
    --------
    >>> from scipy import sparse
    >>> one = Joint(
    ...     np.array([[1.0], [2.0]]), np.ones(2), np.ones(2), sparse.csr_array((0, 2)), np.empty(0), np.zeros(1), 0.0
    ... )
    >>> solve = Systems(one).solver(3.0, np.array([1.0, 1.0]), np.empty(0))
    >>> solve(np.array([10.0, 19.0])).round(6).tolist()
    [1.0, 1.0]
    """

    def __init__(self, joint: Joint) -> None:
        k, g = joint.features.shape
        self.joint = joint
        self._turned = joint.rows.T.tocsr()
        self._gram = None if is_reduced(k, g, len(joint.limit)) else joint.features @ joint.features.T

    def times(self, strength: float, truth: FloatArray) -> FloatArray:
        """Return ``strength * F @ F.T @ truth``."""
        features = self.joint.features
        return np.asarray(strength * (features @ (features.T @ truth)), dtype=np.float64)

    def solver(self, strength: float, diagonal: FloatArray, pressure: FloatArray) -> Solver | None:
        """Return what solves the equations for a right side; None if rounding left nothing of the matrix."""
        once = self._reduced(strength, diagonal) if self._gram is None else self._whole(strength, diagonal, pressure)
        if once is None:
            return None

        def solve(right: FloatArray) -> FloatArray:
            found = once(right)
            for _ in range(REFINED if self._gram is None else 1):
                product = self.times(strength, found) + diagonal * found
                product += self._turned @ (pressure * (self.joint.rows @ found))
                found = found + once(right - product)
            return found

        return solve

    def _whole(self, strength: float, diagonal: FloatArray, pressure: FloatArray) -> Solver | None:
        assert self._gram is not None
        matrix = strength * self._gram
        matrix.flat[:: len(matrix) + 1] += diagonal
        rows = self.joint.rows
        _add_products(matrix, rows.indptr, rows.indices, rows.data, pressure)
        return _factored(matrix)

    def _reduced(self, strength: float, diagonal: FloatArray) -> Solver | None:
        features = self.joint.features
        matrix = features.T @ (features / diagonal[:, np.newaxis])
        matrix.flat[:: len(matrix) + 1] += 1.0 / strength
        inner = _factored(matrix)
        if inner is None:
            return None

        def once(right: FloatArray) -> FloatArray:
            part = right / diagonal
            return np.asarray(part - features @ inner(features.T @ part) / diagonal, dtype=np.float64)

        return once


def is_reduced(truths: int, groups: int, rows: int) -> bool:
    """Whether equations are those of groups, not of truths."""
    return rows == 0 and groups < truths


@kernel
def _add_products(matrix: FloatArray, start: Indices, column: Indices, value: FloatArray, pressure: FloatArray) -> None:
    # Add R.T @ diag(p) @ R for sparse rows R, to the lower triangle alone; as sparse matrices their product takes as long as the
    # factors of the sum.
    for r in range(len(pressure)):
        for a in range(start[r], start[r + 1]):
            part = value[a] * pressure[r]
            for b in range(start[r], start[r + 1]):
                if column[b] <= column[a]:
                    matrix[column[a], column[b]] += part * value[b]


def _factored(matrix: FloatArray) -> Solver | None:
    # Of a symmetric matrix, from its lower triangle: the upper one of its transpose, which has the order that LAPACK wants.
    most, ridge = float(np.diag(matrix).max(initial=1.0)), 0.0
    while np.isfinite(most) and ridge <= most:
        try:
            raised = matrix.T + ridge * np.eye(len(matrix)) if ridge else matrix.T
            factor = cho_factor(raised, lower=False, check_finite=False)
        except LinAlgError:
            ridge = max(10 * ridge, RIDGE * most)
        else:
            return lambda right: np.asarray(cho_solve(factor, right, check_finite=False), dtype=np.float64)
    return None
