"""The weights of least squared norm for some cuts: the dual quadratic program, solved pair by pair."""

from __future__ import annotations

import numpy as np

from sqlrl.ground.network import FloatArray
from sqlrl.kernels import kernel

SLACK = -1
"""Stands for the multiplier of ``slack >= 0``, which makes all multipliers add up to C."""

STEPS = 100_000
"""Steps between two exact gradients; rounding of that many updates is far below any tolerance."""

ROUNDS = 50
"""Exact gradients at most: what is left of the gap then is reported with the solution."""


@kernel
def _pairs(
    gram: FloatArray, gradient: FloatArray, alpha: FloatArray, rest: float, tolerance: float, steps: int
) -> tuple[float, float]:
    # Moves multipliers between pairs; returns that of the slack, and the gap.
    gap = 0.0
    for _ in range(steps):
        up, best = SLACK, 0.0
        for k in range(len(alpha)):
            if gradient[k] > best:
                up, best = k, gradient[k]
        gap = rest * best
        corner = 0.0 if up == SLACK else gram[up, up]
        # The partner that gains most, its multiplier's end reckoned with.
        down, most, move = SLACK, 0.0, 0.0
        if rest > 0.0 and up != SLACK:
            step = min(rest, best / corner) if corner > 0.0 else rest
            most, move = step * (best - 0.5 * step * corner), step
        for k in range(len(alpha)):
            if alpha[k] <= 0.0:
                continue
            ahead = best - gradient[k]
            gap += alpha[k] * ahead
            if ahead <= 0.0:
                continue
            bend = corner + gram[k, k] - (0.0 if up == SLACK else 2.0 * gram[up, k])
            step = min(alpha[k], ahead / bend) if bend > 0.0 else alpha[k]
            gain = step * (ahead - 0.5 * step * bend)
            if gain > most:
                down, most, move = k, gain, step
        if gap <= tolerance or most <= 0.0:
            break
        if up == SLACK:
            rest += move
        else:
            alpha[up] += move
        if down == SLACK:
            rest = max(rest - move, 0.0)
        else:
            alpha[down] = 0.0 if move >= alpha[down] else alpha[down] - move
        for k in range(len(alpha)):
            change = 0.0 if up == SLACK else gram[up, k]
            change -= 0.0 if down == SLACK else gram[down, k]
            gradient[k] -= move * change
    return rest, gap


def solve_dual(
    gram: FloatArray, demand: FloatArray, strength: float, tolerance: float, start: FloatArray | None = None
) -> FloatArray:
    """Maximise ``demand @ alpha - alpha @ gram @ alpha / 2`` subject to ``alpha >= 0`` and ``sum(alpha) <= strength``.

    Parameters
    ----------
    gram : float array, shape (k, k)
        Inner products of the cuts.
    demand : float array, shape (k,)
        The margin that each asks for.
    strength : float
        C: the price of the slack.
    tolerance : float
        The gap between primal and dual objective at which to stop.
    start : float array, shape (k,), optional
        Multipliers to start from, within the bounds.

    Returns
    -------
    float array, shape (k,)
        The multipliers alpha. The weights are ``alpha @ cuts``, and the slack is the largest of 0 and
        ``demand - gram @ alpha``. Where rounding allows no smaller gap than the tolerance, the best that it allows.

    Notes
    -----
    Source: Joachims, Finley and Yu (2009), OP 5, the dual of the 1-slack structural SVM. The solver is sequential minimal
    optimisation: of all pairs with the most violated cut the one that gains most (Fan, Chen and Lin 2005, section 2).

    Examples
    --------
    >>> solve_dual(np.array([[5.0, -2.0], [-2.0, 1.0]]), np.array([3.0, 1.0]), 100.0, 1e-9).round(6).tolist()
    [5.0, 11.0]
    """
    alpha = np.zeros(len(demand)) if start is None else np.maximum(start, 0.0)
    total = float(alpha.sum())
    if total > strength:
        alpha *= strength / total
    table = np.ascontiguousarray(gram)
    for _ in range(ROUNDS):
        gradient = demand - table @ alpha
        rest = max(strength - float(alpha.sum()), 0.0)
        before = alpha.copy()
        _, gap = _pairs(table, gradient, alpha, rest, tolerance, STEPS)
        if gap <= tolerance or np.array_equal(alpha, before):
            break
    return alpha
