"""Proximal Newton steps: the last digits of an L1-penalised minimum, where few coordinates differ from 0."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.kernels import kernel
from sqlrl.learn.batch.owlqn import SUFFICIENT, Smooth, State, pseudo_gradient

Hessian = Callable[[FloatArray, IntArray], FloatArray]
"""The Hessian of the smooth part at a point, in some coordinates (ascending)."""

WIDEST = 1500
"""The most coordinates in which a step may move."""
SWEEPS = 20
"""Passes of coordinate descent between two solutions of linear equations."""
ROUNDS = 10
CROSSINGS = 20
"""How many coordinates become 0 by linear equations before coordinate descent goes on."""
RESCUE = 1e-6
"""Damping where rounding has left a matrix without a Cholesky factor."""
PRECISE = 1e-3
"""The model is minimised up to this share of the violation at its start."""
SHORTEST = 20
"""Halvings after which no step helps: rounding hides what is left."""
ROUNDING = 1e-13
"""Share of a value below which differences are rounding."""
DAMPING = 1e-10
"""What is added to the diagonal of the Hessian, as a share of its mean: columns may depend on each other."""


@kernel
def _descend(
    hessian: FloatArray, gradient: FloatArray, point: FloatArray, penalty: FloatArray, enough: float, sweeps: int
) -> FloatArray:
    # Minimise gradient (z - x) + (z - x)' H (z - x) / 2 + penalty |z|, one coordinate after the other; between full sweeps
    # only those that are not 0, until none moves.
    z, slope = point.copy(), gradient.copy()
    full = True
    for _ in range(sweeps):
        moved = 0.0
        for j in range(len(z)):
            if not full and z[j] == 0.0:
                continue
            h = hessian[j, j]
            target, threshold = z[j] - slope[j] / h, penalty[j] / h
            new = 0.0
            if target > threshold:
                new = target - threshold
            elif target < -threshold:
                new = target + threshold
            change = new - z[j]
            if change != 0.0:
                z[j] = new
                for i in range(len(z)):
                    slope[i] += change * hessian[j, i]
                moved = max(moved, abs(change) * np.sqrt(h))
        if moved <= enough:
            if full:
                break
            full = True
        else:
            full = False
    return z


def moving(state: State, most: int = WIDEST) -> IntArray | None:
    """The coordinates in which a step may move: those that are not 0, and of the others those with the steepest descent.

    Parameters
    ----------
    state : State
    most : int
        How many.

    Returns
    -------
    int64 array or None
        Ascending; None if more than `most` are not 0.

    Examples
    --------
    >>> point, slope = np.array([0.0, 2.0, 0.0, 0.0]), np.array([0.5, 0.0, 3.0, 0.0])
    >>> moving(State(point, 0.0, slope, slope, 0.0), most=2).tolist()
    [1, 2]
    """
    inside = np.flatnonzero(state.point)
    if len(inside) > most:
        return None
    outside = np.flatnonzero((state.point == 0) & (state.steepest != 0))
    steepest = np.argsort(-np.abs(state.steepest[outside]), kind="stable")
    return np.sort(np.concatenate([inside, outside[steepest[: most - len(inside)]]]))


def _model_minimum(hessian: FloatArray, gradient: FloatArray, point: FloatArray, penalty: FloatArray) -> FloatArray:
    """The minimum of `gradient (z - x) + (z - x)' H (z - x) / 2 + penalty |z|`, nearly.

    Coordinate descent finds which coordinates are 0, but creeps where columns depend on each other; for the others the minimum
    inside their orthant is the solution of linear equations, towards which z moves until a coordinate reaches 0. Without a
    penalty there are no orthants, and the equations are solved once.
    """
    if not penalty.any():
        return point - _solved(hessian, gradient)
    z = point
    enough = PRECISE * float(np.abs(pseudo_gradient(point, gradient, penalty)).max())
    for _ in range(ROUNDS):
        slope = gradient + hessian @ (z - point)
        z = _descend(hessian, slope, z, penalty, enough, SWEEPS)
        for _ in range(CROSSINGS):
            inside = np.flatnonzero(z)
            if len(inside) == 0:
                break
            slope = gradient + hessian @ (z - point)
            pull = slope[inside] + penalty[inside] * np.sign(z[inside])
            step = -_solved(hessian[np.ix_(inside, inside)], pull)
            crossing = z[inside] * (z[inside] + step) < 0
            if not crossing.any():
                z[inside] += step
                break
            share = -z[inside][crossing] / step[crossing]
            z[inside] += float(share.min()) * step
            z[inside[crossing][share == share.min()]] = 0.0
        slope = gradient + hessian @ (z - point)
        if float(np.abs(pseudo_gradient(z, slope, penalty)).max(initial=0.0)) <= enough:
            break
    return z


def _solved(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """The solution of linear equations with a positive definite matrix; if it is not quite that, of a damped one."""
    try:
        factor = linalg.cho_factor(matrix, check_finite=False)
    except linalg.LinAlgError:
        damped = matrix + np.diag(np.full(len(matrix), RESCUE * float(np.trace(matrix)) / len(matrix)))
        factor = linalg.cho_factor(damped, check_finite=False)
    return np.asarray(linalg.cho_solve(factor, right, check_finite=False), dtype=np.float64)


def newton_step(smooth: Smooth, hessian: Hessian, now: State, penalty: FloatArray) -> State | None:
    """Take one proximal Newton step; None if too many coordinates are not 0, or no length decreases the value.

    Parameters
    ----------
    smooth, hessian : callable
        f with its gradient, and its Hessian.
    now : State
    penalty : float array, shape (m,)

    Returns
    -------
    State or None

    Notes
    -----
    Source: Yuan, Ho & Lin (2012), "An improved GLMNET for L1-regularized logistic regression", section 3; the quadratic
    model with the exact penalty is minimised by coordinate descent, so that coordinates become exactly 0.

    Examples
    --------
    (x - 3)^2 / 2 + |x| is its own model:

    >>> start = State(np.zeros(1), 4.5, np.array([-3.0]), np.array([-2.0]), 0.0)
    >>> step = newton_step(
    ...     lambda x: (float((x - 3) @ (x - 3)) / 2, x - 3), lambda x, which: np.eye(1), start, np.ones(1)
    ... )
    >>> round(float(step.point[0]), 6), round(step.value, 6)
    (2.0, 2.5)
    """
    free = moving(now)
    if free is None or len(free) == 0:
        return None
    matrix = hessian(now.point, free)
    matrix[np.diag_indices(len(free))] += DAMPING * max(float(np.trace(matrix)) / len(free), DAMPING)
    target = _model_minimum(matrix, now.gradient[free], now.point[free], penalty[free])
    direction = np.zeros(len(now.point))
    direction[free] = target - now.point[free]
    promised = float(now.gradient @ direction + penalty @ (np.abs(now.point + direction) - np.abs(now.point)))
    length = 1.0
    for _ in range(SHORTEST):
        point = now.point + length * direction
        if length == 1.0:
            point[free] = target
        value, gradient = smooth(point)
        total = value + float(penalty @ np.abs(point))
        steepest = pseudo_gradient(point, gradient, penalty)
        # Where rounding hides the decrease, the gradient still tells.
        same = abs(total - now.value) <= ROUNDING * abs(now.value)
        flatter = float(np.abs(steepest).max()) <= float(np.abs(now.steepest).max()) / 2
        if (total < now.value and total <= now.value + SUFFICIENT * length * promised) or (same and flatter):
            return State(point, total, gradient, steepest, length)
        length /= 2
    return None
