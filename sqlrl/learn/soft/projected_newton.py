"""Newton's method over weights of at least 0, for a concave function."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import OptimizeResult, minimize

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.learn.soft.settings import projected

SUFFICIENT = 1e-4
"""Share of the increase that the slope promises which a step must have (Armijo)."""
SHORTEST = 40
"""Halvings after which no step helps: rounding hides what is left."""
MANY = 50
"""Weights from which on steps without second derivatives come first."""
NEAR = 1e-3
"""A weight of at most this that would fall is held at 0 for a step, unless the point is nearer than this to an optimum."""


class Concave(Protocol):
    """A concave function of weights, shape (m,)."""

    def __call__(self, weights: FloatArray, /) -> tuple[float, FloatArray]:
        """Return the value and the gradient."""
        ...

    def information(self, weights: FloatArray, free: IntArray, /) -> FloatArray:
        """Return the Hessian of f of the weights, with its sign changed, shape (f, f)."""
        ...


Progress = Callable[[int, float, float, FloatArray], None]
"""Called with the number, the value, the largest violation and the point of each iteration."""


class Maximum(NamedTuple):
    """Where a maximisation ended; `converged` if each weight is as optimal as was asked."""

    point: FloatArray
    value: float
    gradient: FloatArray
    iterations: int
    converged: bool


def maximise(
    function: Concave,
    start: FloatArray,
    *,
    allowed: FloatArray,
    max_iterations: int,
    done: int = 0,
    report: Progress | None = None,
) -> Maximum:
    """Maximise a concave function over weights of at least 0, until the gradient violates optimality by at most `allowed`, shape (m,).

    Source: Bertsekas, "Projected Newton methods for optimization problems with simple constraints" (1982): weights at
    or near 0 that would fall take steps of their own, the others those of Newton, each cut at 0; a step is halved until
    the value rises enough or, where rounding hides that, until the gradient violates optimality less. `done` iterations
    before the start count, too.
    """
    point, iterations = np.maximum(start, 0.0), done
    # Covariances of many rules are expensive: L-BFGS-B (Zhu, Byrd, Lu, Nocedal 1997) comes near the maximum first.
    if len(point) > MANY and done < max_iterations:
        point, iterations = _nearer(function, point, max_iterations, done, report)
    value, gradient = function(point)
    while True:
        violation = projected(point, gradient)
        if report is not None:
            report(iterations, value, float(violation.max(initial=0.0)), point)
        if (violation <= allowed).all() or iterations >= max_iterations:
            break
        following = _step(function, point, value, gradient)
        if following is None:
            break
        point, value, gradient = following
        iterations += 1
    return Maximum(point, value, gradient, iterations, bool((projected(point, gradient) <= allowed).all()))


def _nearer(
    function: Concave, start: FloatArray, max_iterations: int, done: int, report: Progress | None
) -> tuple[FloatArray, int]:
    """Return a point near the maximum, and after how many iterations, those before it among them."""
    left = max_iterations - done

    def down(weights: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(weights)
        return -value, -gradient

    def iterated(intermediate_result: OptimizeResult) -> None:
        nonlocal done
        done += 1
        if report is not None:
            report(done, -float(intermediate_result.fun), float("nan"), np.maximum(intermediate_result.x, 0.0))

    options = {"maxiter": left, "maxfun": 20 * left, "ftol": 1e-10, "maxcor": 20}
    found = minimize(
        down, start, jac=True, bounds=[(0.0, None)] * len(start), method="L-BFGS-B", options=options, callback=iterated
    )
    return np.maximum(found.x, 0.0), done


def _step(
    function: Concave, point: FloatArray, value: float, gradient: FloatArray
) -> tuple[FloatArray, float, FloatArray] | None:
    """Return the next point with its value and gradient; None if no step helps."""
    near = min(NEAR, float(np.abs(point - np.maximum(point + gradient, 0.0)).max()))
    falling = (point <= near) & (gradient < 0)
    free = np.flatnonzero(~falling)
    direction = gradient.copy()
    direction[free] = _newton(function.information(point, free), gradient[free])
    length, violation = 1.0, float(projected(point, gradient).max())
    for _ in range(SHORTEST):
        moved = np.maximum(point + length * direction, 0.0)
        promised = length * float(gradient[free] @ direction[free]) + float(
            gradient[falling] @ (moved[falling] - point[falling])
        )
        found, slope = function(moved)
        hidden = promised <= 1e-9 * abs(value) and float(projected(moved, slope).max()) < violation
        if found - value >= SUFFICIENT * promised or (hidden and found >= value - 1e-9 * abs(value)):
            return (moved, found, slope) if (moved != point).any() else None
        length /= 2
    return None


def _newton(information: FloatArray, gradient: FloatArray) -> FloatArray:
    """Solve for a direction of ascent; where rounding or rules that say the same make the matrix singular, with more on its diagonal."""
    if not len(gradient):
        return gradient
    curvature = np.diagonal(information)
    scale = np.sqrt(np.where(curvature > 0, curvature, 1.0))
    unit = information / np.outer(scale, scale)
    np.fill_diagonal(unit, 1.0)
    more = 0.0
    while True:
        try:
            factor = cho_factor(unit + more * np.eye(len(unit)))
        except LinAlgError:
            more = max(10.0 * more, 1e-12)
            continue
        found: FloatArray = cho_solve(factor, gradient / scale) / scale
        return found
