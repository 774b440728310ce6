"""The best weights for some cuts: the master problem of the cutting planes, for either norm."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Protocol

import numpy as np
from scipy import sparse

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.kernels import kernel
from sqlrl.learn.margin.cuts import Cuts, best_multiple, penalty_of, where_dearer
from sqlrl.learn.margin.interior import Interior
from sqlrl.learn.margin.joint import JointMargin
from sqlrl.solve.result import UnsolvedError
from sqlrl.solve.solvers import in_background

# ---- the dual quadratic program, solved pair by pair -------------------------------------------------


SLACK = -1
"""Stands for the multiplier of ``slack >= 0``, which makes all multipliers add up to C."""

STEPS = 100_000
"""Steps between two exact gradients; rounding of that many updates is far below any tolerance."""

ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""Of what all multipliers demand together: a gap of less is rounding."""

MOST_GRADIENTS = 2
"""Exact gradients at most: where multipliers are large pairs creep, and interior points take over."""

MOST_STEPS = 200
"""Steps of these; what is left of the gap then is reported with the solution."""


@kernel
def _pairs(
    gram: Annotated[FloatArray, 2], gradient: FloatArray, alpha: FloatArray, rest: float, tolerance: float, steps: int
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
    gram: FloatArray, demand: FloatArray, price: float, tolerance: float, start: FloatArray | None = None
) -> FloatArray:
    """Maximise ``demand @ alpha - alpha @ gram @ alpha / 2`` subject to ``alpha >= 0`` and ``sum(alpha) <= price``.

    The weights are ``alpha @ cuts``. Source: Joachims, Finley and Yu (2009), OP 5, the dual of the 1-slack structural
    SVM, by sequential minimal optimisation: of all pairs with the most violated cut the one that gains most (Fan, Chen
    and Lin 2005, section 2), down to a duality gap of `tolerance`, or as far as rounding allows; where that takes too many steps, by interior points.
    """
    alpha = np.zeros(len(demand)) if start is None else np.maximum(start, 0.0)
    total = float(alpha.sum())
    if total > price:
        alpha *= price / total
    table = np.ascontiguousarray(gram)
    tolerance = max(tolerance, ROUNDING * price * float(np.abs(demand).max(initial=0.0)))
    for _ in range(MOST_GRADIENTS):
        gradient = demand - table @ alpha
        rest = max(price - float(alpha.sum()), 0.0)
        before = alpha.copy()
        _, gap = _pairs(table, gradient, alpha, rest, tolerance, STEPS)
        if gap <= tolerance or np.array_equal(alpha, before):
            return alpha
    return _by_interior_points(table, demand, price, tolerance, alpha)


def _by_interior_points(
    gram: FloatArray, demand: FloatArray, price: float, tolerance: float, known: FloatArray
) -> FloatArray:
    """Return multipliers that are no worse than those that are known."""
    # Cuts are what a joint program chooses from; of their counts only the inner products matter.
    values, vectors = np.linalg.eigh(gram)
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    k = len(demand)
    once = sparse.csr_array(np.ones((1, k)))
    joint = JointMargin(-features, demand, np.ones(k), once, np.ones(1), np.zeros(k), 0.0)
    found = Interior(joint).solve(price, price, lambda _: tolerance, MOST_STEPS, lambda _: None)
    alpha = known if found.truth is None else price * np.maximum(found.truth, 0.0)
    alpha *= min(1.0, price / alpha.sum()) if alpha.any() else 1.0
    value, before = (float(demand @ each) - 0.5 * float(each @ gram @ each) for each in (alpha, known))
    return alpha if value > before else known


# ---- the least slack that any weights leave ----------------------------------------------------------


def least_slack(cuts: Cuts) -> tuple[float, FloatArray]:
    """Return s and r, shape (m,), such that all weights w need a slack of ``s - r @ w`` or more; r is 0 up to rounding."""
    from scipy.optimize import linprog

    k = len(cuts)
    rows = np.ones((1, k))
    balanced = cuts.matrix.T.tocsr()
    program = partial(
        linprog,
        -cuts.demand,
        A_ub=rows,
        b_ub=[1.0],
        A_eq=balanced,
        b_eq=np.zeros(balanced.shape[0]),
        bounds=(0, None),
        method="highs",
    )
    result = in_background(program)
    if result.x is None:
        return 0.0, np.zeros(balanced.shape[0])
    share = np.maximum(result.x, 0.0)
    share /= max(1.0, float(share.sum()))
    return float(cuts.demand @ share), np.asarray(balanced @ share, dtype=np.float64)


# ---- least squared norm ------------------------------------------------------------------------------


HIGH = 0.5
"""The highest level, as a part of the gap above the lower bound; it is halved as long as the cuts are as good as promised."""

LOW = 0.1
"""Below this the level is that of the best weights for the cuts; it comes back from there."""

KEPT = 0.3
"""Weights keep what the cuts promise if their objective is above that by no more than this part of the gap."""

BAND = 0.15
"""Levels are met up to this part of theirs."""

TRIES = 12
"""Values of rho to try; weights somewhat off the level do as well."""

ROUGH = 1e-3
"""Steps are solved up to this part of the gap."""

SMALLEST = 1e-9
"""The smallest rho, and the inverse of the largest."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Weights to try next, shape (m,)."""

    weights: FloatArray  # shape (m,): the solution of the master problem, or weights on the way there
    slack: float  # the least slack with which the weights keep all cuts that were used
    lower: float  # no weights have a lower objective: that of a point within the bounds of the dual problem
    active: BoolArray  # shape (k,): cuts with a multiplier other than 0
    # The same where slack costs more, the `whole` price.
    whole_lower: float
    # Whether these weights may be the last ones: with the 1-norm only vertices may, so that few weights are not 0.
    vertex: bool = True


class Master(Protocol):
    """Minimises the penalty of the weights plus the price of the slack over the cuts."""

    order: int  # of the penalty: 2 if it grows as the square of the weights, 1 if as the weights

    def penalty(self, weights: FloatArray) -> float:
        """Return what is added to C times the slack."""
        ...

    def begin(self, start: FloatArray | None = None) -> None:
        """Begin with another C, if there are weights to start from with those, shape (m,)."""
        ...

    def solve(
        self,
        cuts: Cuts,
        used: BoolArray,
        price: float,
        tolerance: float,
        *,
        vertex: bool = False,
        whole: float | None = None,
    ) -> Plan:
        """Propose weights over the used cuts, shape (k,), or with `vertex` solve the master problem; `tolerance` is in the slack.

        `whole` is a higher price for which a lower bound is wanted, too.
        """
        ...

    def observe(self, plan: Plan, objective: float, price: float) -> None:
        """Take the objective at the weights that were proposed last."""
        ...

    def dearer(self, cuts: Cuts, more: float, lower: float) -> float:
        """Return a lower bound where slack costs `more` than where `lower` is one."""
        ...


class SquaredNorm:
    """Half the squared 2-norm: a level bundle of dual quadratic programs over the cuts.

    The best weights for the cuts (Joachims, Finley and Yu 2009) jump between regions without cuts, which wastes most
    iterations. So steps add ``rho / 2 * |w - centre|^2`` to that objective, the same program with another centre, which
    is the best weights so far; rho makes the objective a level between the bounds (Lemarechal, Nemirovskii and Nesterov
    1995). Where cuts are as good as promised, levels are lower, down to the best weights for the cuts.
    """

    order = 2

    def __init__(self) -> None:
        self._best: FloatArray = np.empty(0)
        self._near: FloatArray = np.empty(0)
        self._centre: FloatArray | None = None
        # To be tried before anything else for a C: the best weights for the one before, and those to start from.
        self._waiting: list[FloatArray] = []
        self._proposed = False
        self._value = np.inf
        self._lower = 0.0
        self._rho, self._level = 1.0, HIGH

    def penalty(self, weights: FloatArray) -> float:
        """Return half the squared norm."""
        return penalty_of(weights, "l2")

    def begin(self, start: FloatArray | None = None) -> None:
        """Forget the bounds: they were those for another C."""
        self._value, self._lower, self._level = np.inf, 0.0, HIGH
        self._waiting = [weights for weights in (self._centre, start) if weights is not None]
        self._centre = None

    def observe(self, plan: Plan, objective: float, price: float) -> None:
        """Take the objective at planned weights: move the centre there or stay, and choose the level."""
        promised = self.penalty(plan.weights) + price * plan.slack
        if self._proposed:
            self._waiting.pop()
        elif np.isfinite(self._value):
            kept = objective - promised <= KEPT * (self._value - self._lower)
            self._level = 0.5 * self._level if kept else min(max(2.0 * self._level, LOW), HIGH)
        if objective < self._value:
            self._centre, self._value = plan.weights, objective

    def solve(
        self,
        cuts: Cuts,
        used: BoolArray,
        price: float,
        tolerance: float,
        *,
        vertex: bool = False,
        whole: float | None = None,
    ) -> Plan:
        """Propose weights over the used cuts; see `Master`."""
        places = np.flatnonzero(used)
        self._best = self._solve(cuts, places, price, 0.0, self._best, tolerance * price)
        weights = np.asarray(cuts.matrix.T @ self._best, dtype=np.float64)
        value, mass = float(cuts.demand @ self._best), float(self._best.sum())
        lower = value - self.penalty(weights)
        whole_lower = max(
            lower, best_multiple(value, 2.0 * self.penalty(weights), (whole or price) / mass if mass > 0 else 0.0)
        )
        self._lower = max(self._lower, lower)
        active = self._best > 0
        self._proposed = bool(self._waiting) and len(places) > 0 and not vertex
        if len(places) and not vertex:
            if self._proposed:
                weights = self._waiting[-1]
            elif self._centre is not None and self._level >= LOW and self._value - self._lower > tolerance * price:
                weights = self._at_level(cuts, places, price)
                active |= self._near > 0
        slack = max(float(cuts.shortfall(weights)[places].max(initial=0.0)), 0.0)
        return Plan(weights, slack, lower, active, whole_lower)

    def dearer(self, cuts: Cuts, more: float, lower: float) -> float:
        """Return a lower bound where slack costs more; see `Master`."""
        slack, rest = least_slack(cuts)
        return where_dearer(lower, more, slack, rest, "l2")

    def _at_level(self, cuts: Cuts, places: IntArray, price: float) -> FloatArray:
        assert self._centre is not None
        gap, weights = self._value - self._lower, self._centre
        for _ in range(TRIES):
            self._near = self._solve(cuts, places, price, self._rho, self._near, ROUGH * gap)
            weights = (self._rho * self._centre + cuts.matrix.T @ self._near) / (1.0 + self._rho)
            slack = max(float(cuts.shortfall(weights)[places].max(initial=0.0)), 0.0)
            off = (self.penalty(weights) + price * slack - self._lower) / gap - self._level
            if abs(off) <= BAND * self._level:
                break
            factor = 2.0 if abs(off) <= 3 * BAND * self._level else 5.0
            self._rho = min(max(self._rho / factor if off > 0 else self._rho * factor, SMALLEST), 1 / SMALLEST)
        return np.asarray(weights, dtype=np.float64)

    def _solve(
        self, cuts: Cuts, places: IntArray, price: float, rho: float, known: FloatArray, tolerance: float
    ) -> FloatArray:
        start = np.concatenate([known, np.zeros(len(cuts) - len(known))])
        gram, demand = cuts.gram[np.ix_(places, places)] / (1.0 + rho), cuts.demand[places]
        if rho > 0 and self._centre is not None:
            demand = cuts.shortfall(rho / (1.0 + rho) * self._centre)[places]
        alpha = np.zeros(len(cuts))
        alpha[places] = solve_dual(gram, demand, price, tolerance, start[places])
        return alpha


# ---- least 1-norm: a proximal bundle of soft-thresholded steps, and linear programs for its bound ----


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

MOST_SUPPORTS = 60
"""Changes of the support in one proximal step, at most; what is left of its gap only makes it a slightly other step."""


def shrunk(values: FloatArray) -> FloatArray:
    """Move values towards 0 by 1, not beyond it."""
    return np.asarray(np.sign(values) * np.maximum(np.abs(values) - 1.0, 0.0), dtype=np.float64)


def lower_bound(alpha: FloatArray, demand: FloatArray, sums: FloatArray, price: float) -> float:
    """Return a lower bound on the objective from any multipliers of 0 or more, scaled to be feasible in the dual linear program."""
    # The dual allows at most 1 in each place of ``sums = alpha @ cuts``, shape (m,), and ``sum(alpha) <= price``.
    scale = max(float(np.abs(sums).max(initial=0.0)), float(alpha.sum()) / price)
    return max(float(alpha @ demand) / scale, 0.0) if scale > 0.0 else 0.0


class AbsoluteNorm:
    """The 1-norm, which leaves most weights at 0: proximal steps, and linear programs with ``w = w+ - w-`` for the bound.

    The vertices of these jump far from the optimum (Kelley's method), which wastes hundreds of cuts. So most steps
    minimise ``|w|_1 + C * slack + rho / 2 * |w - centre|^2``, where the centre is the best weights so far (Lemarechal;
    Kiwiel 1990): once the signs of the weights are known, within a few rounds, its dual is a quadratic program. rho
    follows the gap, as the level of Lemarechal, Nemirovskii and Nesterov (1995) does.
    """

    order = 1

    def __init__(self) -> None:
        self._alpha: FloatArray = np.empty(0)
        self._centre: FloatArray | None = None
        self._value = np.inf
        self._lower = 0.0
        self._rho = 0.0
        self._turn = self._missed = 0

    def penalty(self, weights: FloatArray) -> float:
        """Return the 1-norm."""
        return penalty_of(weights, "l1")

    def begin(self, start: FloatArray | None = None) -> None:
        """Forget the value of the centre: it was that for another C. A start is not used: its weights are those of another norm."""
        self._value, self._lower, self._turn = np.inf, 0.0, 0

    def observe(self, plan: Plan, objective: float, price: float) -> None:
        """Take the objective at planned weights: move the centre there or stay, and change the length of steps."""
        if np.isinf(self._value):
            self._centre, self._value = plan.weights, objective
            return
        promise = self._value - (self.penalty(plan.weights) + price * plan.slack)
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

    def solve(
        self,
        cuts: Cuts,
        used: BoolArray,
        price: float,
        tolerance: float,
        *,
        vertex: bool = False,
        whole: float | None = None,
    ) -> Plan:
        """Propose weights over the used cuts; see `Master`."""
        if not used.any():
            return Plan(np.zeros(cuts.matrix.shape[1]), 0.0, 0.0, np.zeros(len(cuts), dtype=np.bool_), 0.0)
        self._turn += 1
        if vertex or self._turn % PERIOD == 0:
            plan = self.solve_linear(cuts, used, price, whole)
        else:
            plan = self._solve_near(cuts, used, price, tolerance, whole or price)
        self._lower = max(self._lower, plan.lower)
        return plan

    def dearer(self, cuts: Cuts, more: float, lower: float) -> float:
        """Return a lower bound where slack costs more; see `Master`."""
        slack, rest = least_slack(cuts)
        return where_dearer(lower, more, slack, rest, "l1")

    # ---- proximal steps ----------------------------------------------------------------------------------------

    def _solve_near(self, cuts: Cuts, used: BoolArray, price: float, tolerance: float, whole: float) -> Plan:
        places = np.flatnonzero(used)
        matrix, demand = cuts.matrix[places], cuts.demand[places]
        centre = np.zeros(matrix.shape[1]) if self._centre is None else self._centre
        if self._rho == 0.0:
            self._rho = _first_rho(cuts, places, price)
        known = np.concatenate([self._alpha, np.zeros(len(cuts) - len(self._alpha))])
        alpha, rho = known[places], self._rho
        if alpha.sum() > price:
            alpha *= price / alpha.sum()
        slack_of = tolerance * price
        if np.isfinite(self._value):
            slack_of = max(slack_of, 0.01 * (self._value - self._lower))
        for _ in range(MOST_SUPPORTS):
            sums = np.asarray(matrix.T @ alpha, dtype=np.float64)
            raw = rho * centre + sums
            weights = shrunk(raw) / rho
            short = demand - matrix @ weights
            slack = max(float(short.max()), 0.0)
            if price * slack - float(alpha @ short) <= slack_of:
                break
            alpha = self._toward(matrix[:, np.abs(raw) > 1].toarray(), short, alpha, raw, matrix, price, slack_of)
        else:
            sums = np.asarray(matrix.T @ alpha, dtype=np.float64)
            weights = shrunk(rho * centre + sums) / rho
            slack = max(float((demand - matrix @ weights).max()), 0.0)
        self._alpha = np.zeros(len(cuts))
        self._alpha[places] = alpha
        lower, whole_lower = (lower_bound(alpha, demand, sums, each) for each in (price, whole))
        return Plan(weights, slack, lower, self._alpha > 0, whole_lower, vertex=False)

    def _toward(
        self,
        support: FloatArray,
        short: FloatArray,
        alpha: FloatArray,
        raw: FloatArray,
        matrix: sparse.csr_array,
        price: float,
        tolerance: float,
    ) -> FloatArray:
        # The quadratic program of the signs as they are, then as far towards its solution as the dual grows.
        gram = support @ support.T / self._rho
        target = solve_dual(gram, short + gram @ alpha, price, 0.1 * tolerance, alpha)
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

    def solve_linear(self, cuts: Cuts, used: BoolArray, price: float, whole: float | None = None) -> Plan:
        """Solve the linear program over the used cuts; columns enter when their reduced cost asks for it."""
        from scipy.optimize import linprog

        places = np.flatnonzero(used)
        matrix, demand = cuts.matrix[places], cuts.demand[places]
        k, m = matrix.shape
        inside: IntArray = np.empty(0, dtype=np.int64) if self._centre is None else np.flatnonzero(self._centre)
        while True:
            part = matrix[:, inside].toarray()
            cost = np.concatenate([np.ones(2 * len(inside)), [price]])
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
        lower, whole_lower = (lower_bound(alpha, demand, sums, each) for each in (price, whole or price))
        return Plan(weights, slack, lower, active, whole_lower)


def _first_rho(cuts: Cuts, places: IntArray, price: float) -> float:
    # A hundredth of what lets the first step just keep the most demanding cut.
    first = places[int(np.argmax(cuts.demand[places]))]
    row = cuts.matrix[[first]].toarray()[0]
    reach = float(row @ shrunk(price * row))
    return 0.01 * reach / float(cuts.demand[first]) if reach > 0 and cuts.demand[first] > 0 else 1.0
