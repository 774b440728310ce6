"""The weights of least norm for a joint program: by interior points for the squared norm, by a linear program for the 1-norm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import linprog

from sqlrl.ground.network import FloatArray, Indices
from sqlrl.kernels import kernel
from sqlrl.learn.margin.cuts import ROOM, best_multiple, penalty_of
from sqlrl.learn.margin.joint import JointMargin
from sqlrl.solve.result import UnsolvedError
from sqlrl.solve.solvers import in_background

# ---- the linear equations of a step ------------------------------------------------------------------


RIDGE = 1e-15
"""Of the largest diagonal entry: added where rounding makes a matrix indefinite, then ten times as much again."""

REFINED = 4
"""Times that what rounding left is solved for, where the equations are reduced: that loses digits."""


Solver = Callable[[FloatArray], FloatArray]


class Systems:
    """Equations with the matrix ``slack_price * F @ F.T + diag(d) + R.T @ diag(p) @ R``, of features F and rows R of a program.

    Without rows and with fewer groups than truths they are reduced to g unknowns by the Woodbury formula (Ferris and
    Munson 2003, section 3).
    """

    def __init__(self, joint: JointMargin) -> None:
        k, g = joint.features.shape
        self.joint = joint
        self._turned = joint.rows.T.tocsr()
        self._gram = None if is_reduced(k, g, len(joint.limit)) else joint.features @ joint.features.T

    def times(self, slack_price: float, truth: FloatArray) -> FloatArray:
        """Return ``slack_price * F @ F.T @ truth``."""
        features = self.joint.features
        return np.asarray(slack_price * (features @ (features.T @ truth)), dtype=np.float64)

    def solver(self, slack_price: float, diagonal: FloatArray, pressure: FloatArray) -> Solver | None:
        """Return what solves the equations for a right side; None if rounding left nothing of the matrix."""
        once = (
            self._reduced(slack_price, diagonal) if self._gram is None else self._whole(slack_price, diagonal, pressure)
        )
        if once is None:
            return None

        def solve(right: FloatArray) -> FloatArray:
            found = once(right)
            # Solve again for what rounding and the ridge have left.
            for _ in range(REFINED if self._gram is None else 1):
                product = self.times(slack_price, found) + diagonal * found
                product += self._turned @ (pressure * (self.joint.rows @ found))
                found = found + once(right - product)
            return found

        return solve

    def _whole(self, slack_price: float, diagonal: FloatArray, pressure: FloatArray) -> Solver | None:
        assert self._gram is not None
        matrix = slack_price * self._gram
        matrix.flat[:: len(matrix) + 1] += diagonal
        rows = self.joint.rows
        _add_products(matrix, rows.indptr, rows.indices, rows.data, pressure)
        return _factored(matrix)

    def _reduced(self, slack_price: float, diagonal: FloatArray) -> Solver | None:
        features = self.joint.features
        matrix = features.T @ (features / diagonal[:, np.newaxis])
        matrix.flat[:: len(matrix) + 1] += 1.0 / slack_price
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
def _add_products(
    matrix: Annotated[FloatArray, 2], start: Indices, column: Indices, value: FloatArray, pressure: FloatArray
) -> None:
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


# ---- the least slack that any weights leave ----------------------------------------------------------


def least_slack(joint: JointMargin) -> tuple[float, FloatArray]:
    """Return s and r, shape (g,), such that all weights v need a slack of ``s - r @ v`` or more; r is 0 up to rounding."""
    balanced = sparse.csr_array(joint.features.T)
    program = partial(
        linprog,
        -joint.gain,
        A_ub=joint.rows,
        b_ub=joint.limit,
        A_eq=balanced,
        b_eq=joint.offset,
        bounds=np.column_stack([np.zeros(len(joint.high)), joint.high]),
        method="highs-ds",
    )
    result = in_background(program)
    inside = None if result.x is None else joint.inside(result.x)
    if inside is None or (slack := joint.constant + float(joint.gain @ inside)) <= 0.0:
        return 0.0, np.zeros(len(joint.offset))
    return slack, joint.offset - joint.features.T @ inside


# ---- least squared norm ------------------------------------------------------------------------------


SHORT = 0.995
"""Part of the way to the nearest bound that a step goes."""

MOST_STEPS = 200
"""A program that needs more steps than these is beyond the precision of floats; its gap is then what is reported."""

DONE = 0.001
"""A program whose gap is this part of what is allowed is solved: what is left of the bounds' difference is not its."""

Allowed = Callable[[float], float]
"""The difference of the bounds that is allowed, from the lower one."""


@dataclass(frozen=True, eq=False)
class InteriorPoint:
    """Weights, shape (g,), with bounds on the least objective."""

    weights: FloatArray
    upper: float  # the objective of `weights`
    lower: float  # no weights have a lower objective
    # By how much the labels score less than a world and its loss; below 0 only where the labels are no world.
    excess: float
    steps: int
    # Truths that prove `lower`, shape (k,); None where it is that of no truths, 0.
    truth: FloatArray | None = None
    here: float = 0.0  # no weights have a lower objective where the slack costs what the steps reckon with


def stretched(
    joint: JointMargin,
    weights: FloatArray,
    multipliers: FloatArray,
    slack_price: float,
    penalty: Callable[[FloatArray], float],
) -> tuple[FloatArray, float, float]:
    """Return the multiple of weights, 1 or more, with the least bound on its objective, with that and the excess of the weights themselves."""
    # Where slack costs much its rounding does: weights that are slightly larger need none.
    excess = joint.excess(weights, multipliers)
    best, least = weights, penalty(weights) + slack_price * max(excess, 0.0)
    for t in (ROOM + 2.0 * excess, ROOM / (1.0 - excess)) if 0.0 < excess < 0.5 else ():
        there = penalty(t * weights) + slack_price * max(joint.excess(t * weights, t * multipliers), 0.0)
        if there < least:
            best, least = t * weights, there
    return best, least, excess


@dataclass(eq=False)
class _Point:
    # Truths with the room that is left to each constraint, and the multipliers: of rows, lower and upper bounds.
    truth: FloatArray
    room: FloatArray
    price: FloatArray


class Interior:
    """Minimises ``|v|^2 / 2 + slack_price * slack(v)`` over the weights v of a joint program, by interior points.

    The dual maximises ``slack_price * (constant + gain @ u) - |v|^2 / 2`` over the polytope of truths u, with
    ``v = slack_price * (offset - features.T @ u)``. Source: Mehrotra's predictor-corrector method (Nocedal and Wright,
    "Numerical Optimization" (2006), algorithm 16.4), a few dozen steps for any price of the slack; for support vector machines
    Ferris and Munson (2003).
    """

    def __init__(self, joint: JointMargin) -> None:
        self.joint = joint
        self._systems = Systems(joint)
        k = len(joint.gain)
        self._turned = joint.rows.T.tocsr()
        self._size = len(joint.limit) + 2 * k

    def solve(
        self, slack_price: float, whole: float, allowed: Allowed, limit: int, report: Callable[[InteriorPoint], None]
    ) -> InteriorPoint:
        """Step until the bounds differ by no more than is allowed, at most `limit` times; return the best weights.

        Steps are those of the program where the slack costs `slack_price`; weights and bounds are for the price `whole`, which is no lower.
        """
        linear = self.joint.gain + slack_price * (self.joint.features @ self.joint.offset)
        point = self._start(slack_price, linear)
        best = InteriorPoint(np.zeros(len(self.joint.offset)), np.inf, 0.0, 0.0, 0)
        for step in range(1, min(limit, MOST_STEPS) + 1):
            own = self._lower(point.truth, slack_price)
            best = replace(self._bounds(point, slack_price, whole, best, step), here=max(own, best.here))
            report(best)
            # The sum of products is the gap of the program, where the slack may be below 0.
            left = slack_price * float(point.room @ point.price)
            if best.upper - best.lower <= allowed(best.lower) or left <= DONE * allowed(min(own, best.lower)):
                break
            if not self._move(point, slack_price, linear):
                break
        return best

    def _start(self, slack_price: float, linear: FloatArray) -> _Point:
        # The middle of the bounds; the multipliers of bounds take up what the rows leave of the gradient.
        joint = self.joint
        truth = 0.5 * joint.high
        rows = np.maximum(joint.limit - joint.rows @ truth, 0.1)
        gradient = linear - self._systems.times(slack_price, truth)
        level = 0.1 * max(float(np.abs(gradient).mean()), 1e-3) if len(gradient) else 1.0
        price = np.full(len(rows), level)
        left = gradient - self._turned @ price
        room = np.concatenate([rows, truth, joint.high - truth])
        return _Point(truth, room, np.concatenate([price, np.maximum(-left, 0) + level, np.maximum(left, 0) + level]))

    def _bounds(self, point: _Point, slack_price: float, whole: float, best: InteriorPoint, step: int) -> InteriorPoint:
        joint = self.joint
        # Any multipliers give an upper bound, any truths in the polytope a lower one, however exact the solution is.
        weights = slack_price * (joint.offset - joint.features.T @ point.truth)
        prices = point.price[: len(joint.limit)]
        weights, upper, excess = stretched(joint, weights, prices, whole, partial(penalty_of, penalty="l2"))
        lower, truth = best.lower, best.truth
        if (found := self._lower(point.truth, whole)) > lower:
            lower, truth = found, point.truth
        if upper < best.upper:
            return InteriorPoint(weights, upper, lower, excess, step, truth)
        return InteriorPoint(best.weights, best.upper, lower, best.excess, step, truth)

    def _lower(self, truth: FloatArray, slack_price: float) -> float:
        # The dual objective of truths, of the best part of their mass.
        joint, inside = self.joint, self.joint.inside(truth)
        if inside is None:
            return 0.0
        away = joint.offset - joint.features.T @ inside
        return best_multiple(joint.constant + float(joint.gain @ inside), float(away @ away), slack_price)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what overflows ends the steps
    def _move(self, point: _Point, slack_price: float, linear: FloatArray) -> bool:
        # A predictor and corrector step; False where rounding allows none.
        joint, k = self.joint, len(self.joint.gain)
        stationary = self._systems.times(slack_price, point.truth) - linear + self._across(point.price)
        short = self._along(point.truth) + point.room - np.concatenate([joint.limit, np.zeros(k), joint.high])
        pressure = point.price / point.room
        solve = self._systems.solver(slack_price, pressure[-2 * k : -k] + pressure[-k:], pressure[: -2 * k])
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


# ---- least 1-norm ------------------------------------------------------------------------------------


class Linear:
    """Minimises ``|v|_1 + slack_price * slack(v)`` over the weights v of a joint program, by one linear program."""

    def __init__(self, joint: JointMargin) -> None:
        self.joint = joint
        k = len(joint.gain)
        # Unknowns: v as the difference of two parts, multipliers of the rows, each truth's part of the slack, the
        # slack; the dual values are the truths.
        counts, none = sparse.csr_array(joint.features), sparse.csr_array((k, 1))
        # Each truth's part of the slack is what it adds, less what the rows cost it; all parts together are the slack.
        each = sparse.hstack([counts, -counts, -joint.rows.T, -sparse.eye_array(k), none])
        whole = np.concatenate([-joint.offset, joint.offset, joint.limit, joint.high, [-1.0]])
        self._matrix = sparse.vstack([each, sparse.csr_array(whole[np.newaxis])], format="csc")

    def solve(
        self, slack_price: float, whole: float, allowed: Allowed, limit: int, report: Callable[[InteriorPoint], None]
    ) -> InteriorPoint:
        """Solve; parameters and result are those of `Interior.solve`, and there is one step."""
        joint = self.joint
        (k, g), r = joint.features.shape, len(joint.limit)
        cost = np.concatenate([np.ones(2 * g), np.zeros(r + k), [slack_price]])
        below = np.append(-joint.gain, -joint.constant)
        # HiGHS ends at a vertex, so that few weights are not 0.
        program = partial(linprog, cost, A_ub=self._matrix, b_ub=below, bounds=(0, None), method="highs-ipm")
        result = in_background(program)
        if result.x is None:
            raise UnsolvedError(f"HiGHS did not solve the linear program of {k} truths: {result.message}")
        weights = np.asarray(result.x[:g] - result.x[g : 2 * g], dtype=np.float64)
        multipliers = np.asarray(result.x[2 * g : 2 * g + r], dtype=np.float64)
        weights, upper, excess = stretched(joint, weights, multipliers, whole, partial(penalty_of, penalty="l1"))
        dual = np.maximum(-np.asarray(result.ineqlin.marginals, dtype=np.float64), 0.0)
        lower, here = (self._lower(dual, each) for each in (whole, slack_price))
        reached = InteriorPoint(weights, upper, lower, excess, 1, here=here)
        report(reached)
        return reached

    def _lower(self, dual: FloatArray, slack_price: float) -> float:
        # Of truths in the polytope the most mass with which no weight gains more than its norm.
        joint, mass = self.joint, dual[-1]
        inside = joint.inside(dual[:-1] / mass) if mass > 0 else None
        if inside is None:
            return 0.0
        most = float(np.abs(joint.offset - joint.features.T @ inside).max(initial=0.0))
        mass = slack_price if most * slack_price <= 1.0 else 1.0 / most
        return mass * max(joint.constant + float(joint.gain @ inside), 0.0)
