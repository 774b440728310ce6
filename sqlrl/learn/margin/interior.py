"""The weights of least squared norm for a joint program: a primal-dual interior-point method on its dual."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sqlrl.ground.network import FloatArray
from sqlrl.learn.margin.joint import Joint
from sqlrl.learn.margin.systems import Systems

SHORT = 0.995
"""Part of the way to the nearest bound that a step goes."""

MOST_STEPS = 200
"""A program that needs more steps than these is beyond the precision of floats; its gap is then what is reported."""

DONE = 0.001
"""A program whose gap is this part of the tolerance is solved: what is left of the bounds' difference is not its."""


@dataclass(frozen=True, eq=False)
class Reached:
    """Weights with bounds on the least objective.

    Parameters
    ----------
    weights : float array, shape (g,)
    upper : float
        The objective of the weights.
    lower : float
        No weights have a lower one.
    excess : float
        By how much the labels score less than a world and its loss; below 0 only where the labels are no world.
    steps : int
    """

    weights: FloatArray
    upper: float
    lower: float
    excess: float
    steps: int


@dataclass(eq=False)
class _Point:
    # Truths with the room that is left to each constraint, and the multipliers: of rows, lower and upper bounds.
    truth: FloatArray
    room: FloatArray
    price: FloatArray


class Interior:
    """Minimises ``|v|^2 / 2 + strength * slack(v)`` over the weights v of a joint program.

    Parameters
    ----------
    joint : Joint
        k truths, g groups.

    Notes
    -----
    The dual is the quadratic program of largest ``strength * (constant + gain @ u) - |v|^2 / 2`` with
    ``v = strength * (offset - features.T @ u)`` over the polytope of truths u. Mehrotra's predictor-corrector
    method (Nocedal and Wright, "Numerical Optimization" (2006), algorithm 16.4) solves it within a few dozen steps, whatever the
    strength is; for support vector machines see Ferris and Munson (2003). The lower bound is that of any truths in the polytope, the
    upper one that of any multipliers, so that neither depends on how exact the solution is.

    Examples
    --------
    >>> from scipy import sparse
    >>> one = Joint(-np.eye(1), np.ones(1), np.ones(1), sparse.csr_array((0, 1)), np.empty(0), np.zeros(1), 0.0)
    >>> found = Interior(one).solve(10.0, 1e-6, 50, lambda upper, lower: None)
    >>> found.weights.round(5).tolist(), round(found.upper, 5), round(found.lower, 5)
    ([1.0], 0.5, 0.5)
    """

    def __init__(self, joint: Joint) -> None:
        self.joint = joint
        self._systems = Systems(joint)
        k = len(joint.gain)
        self._turned = joint.rows.T.tocsr()
        self._size = len(joint.limit) + 2 * k

    def solve(self, strength: float, tolerance: float, limit: int, report: Callable[[float, float], None]) -> Reached:
        """Solve until the bounds differ by `tolerance`, in at most `limit` steps.

        Parameters
        ----------
        strength : float
            What the slack costs.
        tolerance : float
        limit : int
        report : callable
            Called with upper and lower bound in each step.

        Returns
        -------
        Reached
            The best weights seen.
        """
        linear = self.joint.gain + strength * (self.joint.features @ self.joint.offset)
        point = self._start(strength, linear)
        best = Reached(np.zeros(len(self.joint.offset)), np.inf, 0.0, 0.0, 0)
        for step in range(1, min(limit, MOST_STEPS) + 1):
            best = self._bounds(point, strength, best, step)
            report(best.upper, best.lower)
            # The sum of products is the gap of the program, where the slack may be below 0.
            left = strength * float(point.room @ point.price)
            if best.upper - best.lower <= tolerance or left <= DONE * tolerance:
                break
            if not self._move(point, strength, linear):
                break
        return best

    def _start(self, strength: float, linear: FloatArray) -> _Point:
        # The middle of the bounds; the multipliers of bounds take up what the rows leave of the gradient.
        joint = self.joint
        truth = 0.5 * joint.high
        rows = np.maximum(joint.limit - joint.rows @ truth, 0.1)
        gradient = linear - self._systems.times(strength, truth)
        level = 0.1 * max(float(np.abs(gradient).mean()), 1e-3) if len(gradient) else 1.0
        price = np.full(len(rows), level)
        left = gradient - self._turned @ price
        room = np.concatenate([rows, truth, joint.high - truth])
        return _Point(truth, room, np.concatenate([price, np.maximum(-left, 0) + level, np.maximum(left, 0) + level]))

    def _bounds(self, point: _Point, strength: float, best: Reached, step: int) -> Reached:
        joint = self.joint
        weights = strength * (joint.offset - joint.features.T @ point.truth)
        prices = point.price[: len(joint.limit)]
        excess = joint.excess(weights, prices)
        upper = 0.5 * float(weights @ weights) + strength * max(excess, 0.0)
        lower = max(best.lower, self._lower(point.truth, strength))
        if upper < best.upper:
            return Reached(weights, upper, lower, excess, step)
        return Reached(best.weights, best.upper, lower, best.excess, step)

    def _lower(self, truth: FloatArray, strength: float) -> float:
        # The dual objective of truths, of the best part of their mass.
        joint, inside = self.joint, self.joint.inside(truth)
        if inside is None:
            return 0.0
        away = joint.offset - joint.features.T @ inside
        value, square = joint.constant + float(joint.gain @ inside), float(away @ away)
        mass = strength if value >= strength * square else max(value, 0.0) / square
        return mass * value - 0.5 * mass * mass * square

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what overflows ends the steps
    def _move(self, point: _Point, strength: float, linear: FloatArray) -> bool:
        # A predictor and corrector step; False where rounding allows none.
        joint, k = self.joint, len(self.joint.gain)
        stationary = self._systems.times(strength, point.truth) - linear + self._across(point.price)
        short = self._along(point.truth) + point.room - np.concatenate([joint.limit, np.zeros(k), joint.high])
        pressure = point.price / point.room
        solve = self._systems.solver(strength, pressure[-2 * k : -k] + pressure[-k:], pressure[: -2 * k])
        if solve is None:
            return False

        def direction(target: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            right = -stationary - self._across((target + point.price * short) / point.room)
            truth = solve(right)
            room = -short - self._along(truth)
            return truth, room, (target - point.price * room) / point.room

        product = point.room * point.price
        mean = float(product.sum()) / self._size
        _, room, price = direction(-product)
        part = min(_reach(point.room, room), _reach(point.price, price))
        ahead = float((point.room + part * room) @ (point.price + part * price)) / self._size
        target = (ahead / mean) ** 3 * mean - product - room * price
        truth, room, price = direction(target)
        part = SHORT * min(_reach(point.room, room), _reach(point.price, price))
        if not np.isfinite(part) or part < 1e-12:
            return False
        point.truth, point.room, point.price = (
            point.truth + part * truth,
            point.room + part * room,
            point.price + part * price,
        )
        return True

    def _along(self, truth: FloatArray) -> FloatArray:
        return np.concatenate([self.joint.rows @ truth, -truth, truth])

    def _across(self, price: FloatArray) -> FloatArray:
        k = len(self.joint.gain)
        return np.asarray(self._turned @ price[: -2 * k] - price[-2 * k : -k] + price[-k:], dtype=np.float64)


def _reach(values: FloatArray, change: FloatArray) -> float:
    falling = change < 0
    return min(1.0, float((-values[falling] / change[falling]).min(initial=np.inf)))
