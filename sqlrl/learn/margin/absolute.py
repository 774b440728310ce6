"""The weights of least 1-norm for some cuts: a proximal bundle of soft-thresholded steps, and linear programs for its bound."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.learn.margin.cuts import Cuts
from sqlrl.learn.margin.masters import Plan
from sqlrl.learn.margin.quadratic import solve_dual
from sqlrl.solve.result import UnsolvedError
from sqlrl.solve.scaling import in_background

PERIOD = 10
"""Every so often the weights are those of the linear program over the cuts: a vertex, with few weights and the best bound."""

SHORT, LONG = 0.01, 0.1
"""Steps that promise to close less than the first part of the gap are too short; those that promise more than the second, and do
not keep it, too long."""

GOOD = 0.5
"""After weights that keep this part of the promise steps become longer."""

PATIENCE = 5
"""Steps in a row that may fail before they become shorter."""

ACCEPTED = 0.1
"""The centre moves to weights that keep this part of the promise."""

ENTERING = 50
"""Columns that enter the linear program at once; most clauses of a model never have a weight."""

ROUNDS = 60
"""Changes of the support in one proximal step, at most; what is left of its gap only makes it a slightly other step."""


def shrunk(values: FloatArray) -> FloatArray:
    """Move values towards 0 by 1, not beyond it.

    Examples
    --------
    >>> shrunk(np.array([-3.0, 0.5, 1.5])).tolist()
    [-2.0, 0.0, 0.5]
    """
    return np.asarray(np.sign(values) * np.maximum(np.abs(values) - 1.0, 0.0), dtype=np.float64)


def lower_bound(alpha: FloatArray, demand: FloatArray, sums: FloatArray, strength: float) -> float:
    """A bound on the least objective from any multipliers: scaled until they keep the bounds of the dual linear program.

    Parameters
    ----------
    alpha, demand : float arrays, shape (k,)
        Multipliers of 0 or more, and what the cuts ask for.
    sums : float array, shape (m,)
        ``alpha @ cuts``; the dual asks for at most 1 in each place, and for ``sum(alpha) <= strength``.
    strength : float

    Examples
    --------
    >>> lower_bound(np.array([2.0]), np.array([3.0]), np.array([4.0]), 10.0)
    1.5
    """
    scale = max(1.0, float(np.abs(sums).max(initial=0.0)), float(alpha.sum()) / strength)
    return max(float(alpha @ demand) / scale, 0.0)


class AbsoluteNorm:
    """The 1-norm: most weights are 0.

    Notes
    -----
    The optimum is that of the linear program with ``w = w+ - w-``. Its vertices alone are a poor way there: far from the optimum
    they jump, and hundreds of cuts are spent on weights that no good solution has (Kelley's method). So most steps minimise
    ``|w|_1 + C * slack + rho / 2 * |w - centre|^2`` over the cuts, where the centre is the best weights so far (Lemarechal;
    Kiwiel 1990); the dual of that is a quadratic program once the signs of the weights are known, and they settle within a few
    rounds. rho follows the gap, as the level of Lemarechal, Nemirovskii and Nesterov (1995) does.

    Examples
    --------
    >>> from sqlrl.learn.margin.cuts import Cut
    >>> cuts = Cuts(2, 1)
    >>> cuts.add(Cut(np.array([0, 1]), np.array([2, 1]), 1))
    >>> plan = AbsoluteNorm().solve_linear(cuts, np.array([True]), 1.0)
    >>> plan.weights.tolist(), plan.slack, plan.lower
    ([0.5, 0.0], 0.0, 0.5)
    """

    def __init__(self) -> None:
        self._alpha: FloatArray = np.empty(0)
        self._centre: FloatArray | None = None
        self._value = np.inf
        self._lower = 0.0
        self._rho = 0.0
        self._turn = self._missed = 0

    def penalty(self, weights: FloatArray) -> float:
        """Return the 1-norm."""
        return float(np.abs(weights).sum())

    def begin(self, start: FloatArray | None = None) -> None:
        """Forget the value of the centre: it was that for another C. A start is not used: its weights are those of another norm."""
        self._value, self._lower, self._turn = np.inf, 0.0, 0

    def told(self, plan: Plan, objective: float, strength: float) -> None:
        """Take the objective at planned weights: move the centre there or stay, and change the length of steps."""
        if np.isinf(self._value):
            self._centre, self._value = plan.weights, objective
            return
        promise = self._value - (self.penalty(plan.weights) + strength * plan.slack)
        accepted = objective <= self._value - ACCEPTED * max(promise, 0.0)
        if not plan.vertex:
            self._missed = 0 if accepted else self._missed + 1
            gap = self._value - self._lower
            if promise < SHORT * gap or (accepted and objective <= self._value - GOOD * promise):
                self._rho /= 1.5
            elif self._missed >= PATIENCE and promise > LONG * gap:
                self._rho *= 1.5
                self._missed = 0
        if accepted:
            self._centre, self._value = plan.weights, objective

    def solve(self, cuts: Cuts, used: BoolArray, strength: float, tolerance: float, *, vertex: bool = False) -> Plan:
        """Propose weights over the used cuts; see `Master`."""
        if not used.any():
            return Plan(np.zeros(cuts.matrix.shape[1]), 0.0, 0.0, np.zeros(len(cuts), dtype=np.bool_))
        self._turn += 1
        if vertex or self._turn % PERIOD == 0:
            plan = self.solve_linear(cuts, used, strength)
        else:
            plan = self._solve_near(cuts, used, strength, tolerance)
        self._lower = max(self._lower, plan.lower)
        return plan

    # ---- proximal steps ----------------------------------------------------------------------------------------

    def _solve_near(self, cuts: Cuts, used: BoolArray, strength: float, tolerance: float) -> Plan:
        places = np.flatnonzero(used)
        matrix, demand = cuts.matrix[places], cuts.demand[places]
        centre = np.zeros(matrix.shape[1]) if self._centre is None else self._centre
        if self._rho == 0.0:
            self._rho = _first_rho(cuts, places, strength)
        known = np.concatenate([self._alpha, np.zeros(len(cuts) - len(self._alpha))])
        alpha, rho = known[places], self._rho
        if alpha.sum() > strength:
            alpha *= strength / alpha.sum()
        slack_of = tolerance * strength
        if np.isfinite(self._value):
            slack_of = max(slack_of, 0.01 * (self._value - self._lower))
        for _ in range(ROUNDS):
            sums = np.asarray(matrix.T @ alpha, dtype=np.float64)
            raw = rho * centre + sums
            weights = shrunk(raw) / rho
            short = demand - matrix @ weights
            slack = max(float(short.max()), 0.0)
            if strength * slack - float(alpha @ short) <= slack_of:
                break
            alpha = self._toward(matrix[:, np.abs(raw) > 1].toarray(), short, alpha, raw, matrix, strength, slack_of)
        else:
            sums = np.asarray(matrix.T @ alpha, dtype=np.float64)
            weights = shrunk(rho * centre + sums) / rho
            slack = max(float((demand - matrix @ weights).max()), 0.0)
        self._alpha = np.zeros(len(cuts))
        self._alpha[places] = alpha
        return Plan(weights, slack, lower_bound(alpha, demand, sums, strength), self._alpha > 0, vertex=False)

    def _toward(
        self,
        support: FloatArray,
        short: FloatArray,
        alpha: FloatArray,
        raw: FloatArray,
        matrix: sparse.csr_array,
        strength: float,
        tolerance: float,
    ) -> FloatArray:
        # The quadratic program of the signs as they are, then as far towards its solution as the dual grows.
        gram = support @ support.T / self._rho
        target = solve_dual(gram, short + gram @ alpha, strength, 0.1 * tolerance, alpha)
        step = target - alpha
        change = np.asarray(matrix.T @ step, dtype=np.float64)
        # short is demand - matrix @ weights, so that this is demand @ step.
        gain = float(short @ step) + float(change @ shrunk(raw)) / self._rho
        low, high = 0.0, 1.0
        if gain >= float(change @ shrunk(raw + change)) / self._rho:
            return target
        for _ in range(40):
            middle = 0.5 * (low + high)
            if gain > float(change @ shrunk(raw + middle * change)) / self._rho:
                low = middle
            else:
                high = middle
        return alpha + low * step

    # ---- linear programs ---------------------------------------------------------------------------------------

    def solve_linear(self, cuts: Cuts, used: BoolArray, strength: float) -> Plan:
        """Solve the linear program over the used cuts; columns enter when their reduced cost asks for it.

        Raises
        ------
        UnsolvedError
            HiGHS gave up.
        """
        places = np.flatnonzero(used)
        matrix, demand = cuts.matrix[places], cuts.demand[places]
        k, m = matrix.shape
        inside: IntArray = np.empty(0, dtype=np.int64) if self._centre is None else np.flatnonzero(self._centre)
        while True:
            part = matrix[:, inside].toarray()
            cost = np.concatenate([np.ones(2 * len(inside)), [strength]])
            rows = np.hstack([-part, part, -np.ones((k, 1))])
            program = partial(linprog, cost, A_ub=rows, b_ub=-demand, bounds=(0, None), method="highs")
            result = in_background(program)
            if result.x is None:
                raise UnsolvedError(f"HiGHS did not solve the linear program of {k} cuts: {result.message}")
            alpha = np.maximum(-np.asarray(result.ineqlin.marginals), 0.0)
            sums = np.asarray(matrix.T @ alpha, dtype=np.float64)
            beyond = np.abs(sums)
            beyond[inside] = 0.0
            entering = np.flatnonzero(beyond > 1 + 1e-7)
            if len(entering) == 0:
                break
            most = entering[np.argsort(-beyond[entering], kind="stable")[:ENTERING]]
            inside = np.union1d(inside, most)
        weights = np.zeros(m)
        weights[inside] = result.x[: len(inside)] - result.x[len(inside) : 2 * len(inside)]
        slack = max(float((demand - matrix @ weights).max()), 0.0)
        active = np.zeros(len(cuts), dtype=np.bool_)
        active[places] = alpha > 0
        return Plan(weights, slack, lower_bound(alpha, demand, sums, strength), active)


def _first_rho(cuts: Cuts, places: IntArray, strength: float) -> float:
    # A hundredth of what lets the first step just keep the most demanding cut.
    first = places[int(np.argmax(cuts.demand[places]))]
    row = cuts.matrix[[first]].toarray()[0]
    reach = float(row @ shrunk(strength * row))
    return 0.01 * reach / float(cuts.demand[first]) if reach > 0 and cuts.demand[first] > 0 else 1.0
