"""A primal-dual interior-point method for small components, whose pieces may differ in scale by more than first-order methods bear.

Source: Mehrotra's predictor and corrector for convex quadratic programs (Nocedal and Wright 2006, algorithm 16.4), with a
regularised sparse system that is refined (Altman and Gondzio 1999). Whoever asks evaluates the points, so that nothing depends on its
own idea of convergence.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from sqlrl.ground.network import FloatArray
from sqlrl.solve.hinge.problem import ABSOLUTE, AT_MOST, EQUAL, LINEAR, QUADRATIC, SQUARED, Hinges, matrix_of

TURNS = 80
REGULARISATION = 1e-10

REFINEMENTS = 2

NEAR = 1e-2
"""Points are worth a look once the mean product of slacks and duals is below this."""


def interior_points(hinges: Hinges) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield better and better points and duals, shapes (n,) and (h,), until steps get too short."""
    # The quadratic program has the truth values and the distance t of each hinge that is no equality of squares: t >= e, and t >= 0 or t >= -e;
    # rows are divided by their norms.
    kind, n = hinges.kind, int(hinges.atom_start[-1])
    norm = np.sqrt(np.add.reduceat(hinges.coefficient**2, hinges.pointer[:-1]))
    matrix = sparse.csr_array(sparse.diags_array(1.0 / norm) @ matrix_of(hinges))
    constant, cost = (
        hinges.constant / norm,
        hinges.cost * np.where(np.isin(kind, (SQUARED, QUADRATIC)), norm * norm, norm),
    )
    apart = np.flatnonzero(np.isin(kind, (LINEAR, SQUARED, ABSOLUTE)))
    count, place = len(apart), np.full(len(kind), -1)
    place[apart] = np.arange(count)
    both, below, hard, equal, bent = (np.flatnonzero(kind == k) for k in (ABSOLUTE, LINEAR, AT_MOST, EQUAL, QUADRATIC))

    def distances(rows: Any) -> sparse.csr_array:
        return sparse.csr_array((np.ones(len(rows)), (np.arange(len(rows)), place[rows])), shape=(len(rows), count))

    nothing, unit = sparse.csr_array((n, count)), sparse.eye_array(n)
    upper = sparse.vstack(
        [
            sparse.hstack([unit, nothing]),
            sparse.hstack([-unit, nothing]),
            sparse.hstack([matrix[apart], -distances(apart)]),
            sparse.hstack([-matrix[both], -distances(both)]),
            sparse.hstack([sparse.csr_array((len(below), n)), -distances(below)]),
            sparse.hstack([matrix[hard], sparse.csr_array((len(hard), count))]),
        ],
        format="csr",
    )
    limit = np.concatenate(
        [np.ones(n), np.zeros(n), -constant[apart], constant[both], np.zeros(len(below)), -constant[hard]]
    )
    level = sparse.hstack([matrix[equal], sparse.csr_array((len(equal), count))], format="csr")
    curve = np.where(kind[apart] == SQUARED, 2.0 * cost[apart], 0.0)
    twice = 2.0 * cost[bent]
    quadratic = sparse.block_diag(
        [matrix[bent].T @ sparse.diags_array(twice) @ matrix[bent], sparse.diags_array(curve)], format="csr"
    )
    linear = np.concatenate(
        [matrix[bent].T @ (twice * constant[bent]), np.where(kind[apart] == SQUARED, 0.0, cost[apart])]
    )
    program = _Program(quadratic, linear, upper, limit, level, -constant[equal])
    first = np.cumsum([0, n, n, count, len(both), len(below)])
    begin = np.concatenate([np.full(n, 0.5), np.maximum(matrix[apart] @ np.full(n, 0.5) + constant[apart], 0.0) + 1.0])
    for x, z, level_dual, _ in program.points(begin):
        y = np.clip(x[:n], 0.0, 1.0)
        dual = np.zeros(len(kind))
        dual[apart] = z[first[2] : first[3]]
        dual[both] -= z[first[3] : first[4]]
        dual[hard] = z[first[5] :]
        dual[equal] = level_dual
        dual[bent] = twice * (matrix[bent] @ y + constant[bent])
        yield y, dual / norm


class _Point(NamedTuple):
    # A point, the duals of `G x <= h` and of `A x = b`, and the slacks of the former.

    x: FloatArray
    z: FloatArray
    level: FloatArray
    slack: FloatArray


class _Program:
    # Minimise x Q x / 2 + q x subject to G x <= h and A x = b.

    def __init__(
        self, quadratic: Any, linear: FloatArray, upper: Any, limit: FloatArray, level: Any, value: FloatArray
    ) -> None:
        self.quadratic, self.linear, self.upper, self.limit = quadratic, linear, upper, limit
        self.level, self.value = level, value

    def points(self, x: FloatArray) -> Iterator[_Point]:
        """Yield better and better points."""
        slack = np.maximum(self.limit - self.upper @ x, 1.0)
        point = _Point(x, np.ones(len(slack)), np.zeros(len(self.value)), slack)
        for _ in range(TURNS):
            # Beyond the precision of floats numbers overflow, or a matrix is singular: then there is no next point.
            following: _Point | None = None
            with np.errstate(all="ignore"), suppress(RuntimeError):
                following = self._next(point)
            if following is None:
                return
            point = following
            mean = float(point.slack @ point.z) / len(point.z)
            if mean < NEAR:
                yield point
            if mean < 1e-15:
                return

    def _next(self, at: _Point) -> _Point | None:
        # The predictor shows how far the products of slacks and duals can fall, the corrector goes there and keeps them alike.
        residuals = (
            self.quadratic @ at.x + self.linear + self.upper.T @ at.z + self.level.T @ at.level,
            self.upper @ at.x + at.slack - self.limit,
            self.level @ at.x - self.value,
        )
        product = at.slack * at.z
        mean = float(product.mean())
        solve = self._solver(at.slack, at.z)
        _, _, slack, z = solve(residuals, product)
        length = min(_longest(at.slack, slack), _longest(at.z, z))
        after = float(((at.slack + length * slack) * (at.z + length * z)).mean())
        x, level, slack, z = solve(residuals, product + slack * z - (after / mean) ** 3 * mean)
        length = min(1.0, 0.995 * min(_longest(at.slack, slack), _longest(at.z, z)))
        moved = _Point(at.x + length * x, at.z + length * z, at.level + length * level, at.slack + length * slack)
        return moved if length > 1e-10 and all(np.isfinite(part).all() for part in moved) else None

    def _solver(self, slack: FloatArray, z: FloatArray) -> Any:
        # What solves for the moves of x, duals of equalities, slacks and duals, for residuals and a product of the last two that is to go.
        ratio, k = z / slack, len(self.linear)
        reduced = self.quadratic + self.upper.T @ sparse.diags_array(ratio) @ self.upper
        exact = sparse.block_array(
            [[reduced, self.level.T], [self.level, sparse.csr_array((len(self.value),) * 2)]], format="csc"
        )
        signs = np.repeat([REGULARISATION, -REGULARISATION], [k, len(self.value)])
        factors = splu((exact + sparse.diags_array(signs)).tocsc(), permc_spec="MMD_AT_PLUS_A")

        def solve(residuals: tuple[FloatArray, FloatArray, FloatArray], product: FloatArray) -> tuple[FloatArray, ...]:
            dual, primal, level = residuals
            right = np.concatenate([-dual - self.upper.T @ ((z * primal - product) / slack), -level])
            found = factors.solve(right)
            for _ in range(REFINEMENTS):
                found += factors.solve(right - exact @ found)
            slack_move = -primal - self.upper @ found[:k]
            return found[:k], found[k:], slack_move, -(product + z * slack_move) / slack

        return solve


def _longest(values: FloatArray, moves: FloatArray) -> float:
    # The longest step, at most 1, that leaves positive values not negative.
    falling = moves < 0
    return float(np.min(-values[falling] / moves[falling], initial=1.0))
