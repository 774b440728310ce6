"""OWL-QN: a smooth convex function plus weighted absolute values, minimised by quasi-Newton steps inside orthants."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import FloatArray

Smooth = Callable[[FloatArray], tuple[float, FloatArray]]
"""The value and the gradient of the smooth part."""

SUFFICIENT = 1e-4
"""Share of the decrease that the slope promises which a step must have (Armijo)."""
SHORTEST = 50
"""Halvings after which no step helps: rounding hides what is left."""


class Pair(NamedTuple):
    """A step, the change of the gradient along it, and one over their product."""

    step: FloatArray
    change: FloatArray
    rho: float


@dataclass(frozen=True, eq=False)
class DescentState:
    """A point, shape (m,), with the objective and its derivatives there."""

    point: FloatArray
    value: float  # smooth part plus penalty
    gradient: FloatArray  # of the smooth part
    steepest: FloatArray  # pseudo-gradient, 0 exactly at the optimum
    step: float  # length of the last step along its direction


def pseudo_gradient(point: FloatArray, gradient: FloatArray, penalty: FloatArray) -> FloatArray:
    """Return the subgradient of `f(x) + sum(penalty * |x|)` nearest to 0 by coordinate (Andrew & Gao 2007, equation 4)."""
    shrunk = np.sign(gradient) * np.maximum(np.abs(gradient) - penalty, 0.0)
    return np.where(point != 0, gradient + penalty * np.sign(point), shrunk)


def two_loop(memory: deque[Pair], vector: FloatArray) -> FloatArray:
    """The product of the approximate inverse Hessian with a vector (Nocedal & Wright, algorithm 7.4)."""
    found, alphas = vector.copy(), []
    for step, change, rho in reversed(memory):
        alpha = rho * float(step @ found)
        alphas.append(alpha)
        found -= alpha * change
    if memory:
        last = memory[-1]
        found /= last.rho * float(last.change @ last.change)
    for (step, change, rho), alpha in zip(memory, reversed(alphas), strict=True):
        found += (alpha - rho * float(change @ found)) * step
    return found


def descend(smooth: Smooth, start: FloatArray, penalty: FloatArray, *, memory: int = 10) -> Iterator[DescentState]:
    """Minimise `f(x) + sum(penalty * |x|)` for a smooth convex f: yield the start, then each point that decreases the value.

    Source: Andrew & Gao (2007), "Scalable training of L1-regularized log-linear models", section 3.2. The direction of
    L-BFGS (over `memory` steps) from the pseudo-gradient keeps only coordinates in which it descends; a step that would
    cross 0 in a coordinate stops there; its length is halved until the value decreases enough.
    """

    def state(point: FloatArray, step: float) -> DescentState:
        """Evaluate a point."""
        value, gradient = smooth(point)
        total = value + float(penalty @ np.abs(point))
        return DescentState(point, total, gradient, pseudo_gradient(point, gradient, penalty), step)

    pairs: deque[Pair] = deque(maxlen=memory)
    now = state(start, 0.0)
    yield now
    while True:
        following = _step(state, now, pairs)
        if following is None and pairs:
            # Curvature from afar can spoil the direction: start again from the steepest one.
            pairs.clear()
            following = _step(state, now, pairs)
        if following is None:
            return
        step, change = following.point - now.point, following.gradient - now.gradient
        curvature = float(step @ change)
        if curvature > 1e-12 * float(step @ step):
            pairs.append(Pair(step, change, 1.0 / curvature))
        now = following
        yield now


def _step(
    state: Callable[[FloatArray, float], DescentState], now: DescentState, pairs: deque[Pair]
) -> DescentState | None:
    """One step; None if no length decreases the value."""
    direction = -two_loop(pairs, now.steepest)
    direction[direction * now.steepest >= 0] = 0.0
    orthant = np.where(now.point != 0, np.sign(now.point), -np.sign(now.steepest))
    length = 1.0 if pairs else 1.0 / max(float(np.linalg.norm(direction)), 1e-300)
    for _ in range(SHORTEST):
        point = now.point + length * direction
        point[point * orthant <= 0] = 0.0
        slope = float(now.steepest @ (point - now.point))
        following = state(point, length)
        # Strictly less: at the rounding of the value, steps that change nothing would go on for ever.
        if following.value < now.value and following.value <= now.value + SUFFICIENT * slope:
            return following
        length /= 2
    return None
