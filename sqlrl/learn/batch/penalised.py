"""The weights that maximise a penalised conditional log-likelihood; their last digits are found by proximal Newton steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Annotated, Literal, Protocol, Self

import numpy as np
from scipy import linalg, optimize

from sqlrl.errors import NumericError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.kernels import kernel
from sqlrl.learn.batch.owlqn import SUFFICIENT, DescentState, Smooth, descend, pseudo_gradient
from sqlrl.training.records import Iteration, Report, share_of_fall

# ---- proximal Newton steps ---------------------------------------------------------------------------


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
    hessian: Annotated[FloatArray, 2],
    gradient: FloatArray,
    point: FloatArray,
    penalty: FloatArray,
    enough: float,
    sweeps: int,
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


def moving(state: DescentState, most: int = WIDEST) -> IntArray | None:
    """Return at most `most` coordinates, ascending, that may move: those not 0, then the steepest; None if more are not 0."""
    inside = np.flatnonzero(state.point)
    if len(inside) > most:
        return None
    outside = np.flatnonzero((state.point == 0) & (state.steepest != 0))
    steepest = np.argsort(-np.abs(state.steepest[outside]), kind="stable")
    return np.sort(np.concatenate([inside, outside[steepest[: most - len(inside)]]]))


def _model_minimum(hessian: FloatArray, gradient: FloatArray, point: FloatArray, penalty: FloatArray) -> FloatArray:
    """Return the approximate minimum of `gradient (z - x) + (z - x)' H (z - x) / 2 + penalty |z|`."""
    # Without a penalty there are no orthants: the equations are solved once.
    if not penalty.any():
        return point - _solved(hessian, gradient)
    z, rows = point, np.ascontiguousarray(hessian)
    enough = PRECISE * float(np.abs(pseudo_gradient(point, gradient, penalty)).max())
    # Coordinate descent finds which coordinates are 0, but is slow where columns depend on each other; the others move
    # towards the solution of linear equations, the minimum in their orthant, until one of them reaches 0.
    for _ in range(ROUNDS):
        slope = gradient + hessian @ (z - point)
        z = _descend(rows, slope, z, penalty, enough, SWEEPS)
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


def newton_step(smooth: Smooth, hessian: Hessian, now: DescentState, penalty: FloatArray) -> DescentState | None:
    """Take one proximal Newton step; None if too many coordinates are not 0, or no length decreases the value.

    Source: Yuan, Ho & Lin (2012), "An improved GLMNET for L1-regularized logistic regression", section 3; coordinate
    descent minimises the quadratic model with the exact penalty, so that coordinates become exactly 0.
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
            return DescentState(point, total, gradient, steepest, length)
        length /= 2
    return None


# ---- weights -----------------------------------------------------------------------------------------


Penalty = Literal["l1", "l2"]

FIRST = 40
"""Steps of OWL-QN before those of Newton, from weights of 0."""

AGAIN = 10
"""The same from other weights, and after Newton steps that no longer descend."""

QUASI = 20
"""Steps of L-BFGS before those of Newton; twice as many each time again."""

INSIDE = 60
"""The same without a Hessian, and in an orthant; so many more each time again."""

UNBROKEN = 500
"""The same without a Hessian and without a penalty of absolute values: each start forgets the curvature that steps have met."""

JOINED = 0.35
"""To this power curvatures scale weights of joined atoms: of chains L-BFGS takes a fifth fewer steps than with the root."""

FAR = 10.0
"""Weights whose loss, penalty included, is so many times that at 0 are no start."""

FLATTEST = 1e-12
"""Curvatures below this share of the largest one count as so much: the scale of a coordinate stays finite."""


class Likelihoods(Protocol):
    """A log-likelihood that is concave in the weights of m clauses, a sum over what is observed; `Choices` says what each part is."""

    @property
    def clauses(self) -> int:
        """How many clauses have weights, m."""
        ...

    def equal_columns(self, columns: IntArray) -> IntArray:
        """Number the distinct ones of some clauses by what is counted of them, as `problem.equal_columns` does."""
        ...

    def log_likelihood(self, weights: FloatArray) -> FloatArray:
        """Return the log-likelihood of each observation."""
        ...

    def value_and_gradient(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-likelihood and its gradient, shape (m,)."""
        ...

    @property
    def hessian(self) -> Hessian | None:
        """The negative Hessian in some of the clauses; None where it would cost too much, so that there are no Newton steps."""
        ...

    def curvature(self, weights: FloatArray) -> FloatArray:
        """Return the diagonal of the negative Hessian, shape (m,), or what is of its size: it scales the search."""
        ...

    def columns(self, which: IntArray, scale: FloatArray) -> Self:
        """Return it with some of the clauses only, what is counted of them multiplied by `scale`."""
        ...


@dataclass(frozen=True, eq=False)
class Design:
    """A likelihood in which each distinct column of counts occurs once, and constant ones not at all."""

    choices: Likelihoods  # with k columns
    column: IntArray  # shape (m,): the column of each clause; -1 for a constant count, whose weight is 0
    first: IntArray  # shape (k,): the first clause of each column, of those with the widest prior
    scale: FloatArray  # shape (m,): how wide the prior of each clause is
    curvature: FloatArray  # shape (k,): the variance of each count at weights of 0
    steepest: float  # the largest gradient at weights of 0
    at_zero: float  # the log-likelihood at weights of 0

    @property
    def variances(self) -> FloatArray:
        """The sum over the clauses of each column of their squared scales, shape (k,): how many there are if all scales are 1."""
        known = self.column >= 0
        return np.bincount(self.column[known], self.scale[known] ** 2, minlength=len(self.first)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class PenalisedFit:
    """Penalised maximum-likelihood weights, shape (m,)."""

    weights: FloatArray
    objective: float  # log-likelihood less penalty
    # Largest violation (counts): of weights other than 0 the gradient of the objective, of others how far that of the
    # log-likelihood exceeds the L1 strength.
    optimality: float
    converged: bool  # whether that is within the tolerance
    iterations: int = 0  # those of a run before it went on among them


def make_design(choices: Likelihoods, scale: FloatArray | None = None) -> Design:
    """Merge clauses with equal counts and drop constant ones; the penalty divides weights by `scale`, shape (m,), 1 by default."""
    m = choices.clauses
    zero, scale = np.zeros(m), np.ones(m) if scale is None else scale
    curvature = choices.curvature(zero)
    varies = curvature > FLATTEST * max(float(curvature.max(initial=0.0)), 1e-300)
    inside = np.flatnonzero(varies)
    column = choices.equal_columns(inside)
    # Of each column the clauses of the widest prior come first.
    widest = inside[np.argsort(-scale[inside], kind="stable")]
    chosen = widest[np.unique(column[widest], return_index=True)[1]]
    value, gradient = choices.value_and_gradient(zero)
    steepest = float(np.abs(gradient).max(initial=0.0))
    kept = choices.columns(chosen, np.ones(len(chosen)))
    return Design(kept, column, chosen, scale, curvature[chosen], steepest, value)


def fit_weights(
    design: Design,
    penalty: Penalty,
    strength: float,
    *,
    start: FloatArray | None = None,
    tolerance: float,
    max_iterations: int,
    report: Report | None = None,
    done: int = 0,  # iterations of a run that goes on, which count
) -> PenalisedFit:
    """Maximise log-likelihood less penalty, until no violation of optimality exceeds `tolerance` times the largest gradient at 0.

    With w divided by the scales of the design, the penalty is `strength * sum(|w|)` ("l1", a Laplacian prior) or
    `strength / 2 * sum(w^2)` ("l2", a Gaussian one of variance 1 / strength). Source: Huynh (2011), section 3.2.2. L1:
    OWL-QN (Andrew & Gao 2007), then proximal Newton steps for the last digits; L2: L-BFGS, then Newton; without a
    Hessian, L-BFGS goes on, with L1 inside orthants.
    """
    counts: list[float] = []

    def observe(value: float, optimality: float, step: float, solution: Solution) -> bool:
        """Report an iteration; True if it is the last one."""
        number = done + len(counts)
        counts.append(optimality)
        if report is not None:
            share = share_of_fall(counts[0], min(counts), tolerance * design.steepest)
            report(
                Iteration(
                    iteration=number,
                    objective=-value,
                    optimality=optimality,
                    step=step,
                    share=share,
                    state=lambda: {"weight": _of_clauses(design, penalty, solution())},
                    so_far=(lambda: _of_clauses(design, penalty, solution())) if number else None,
                )
            )
        return optimality <= tolerance * design.steepest

    k, most = len(design.first), max_iterations - done
    value, solution = 0.0, np.zeros(k)
    begin = np.zeros(k)
    if start is not None:
        np.add.at(begin, design.column[design.column >= 0], start[design.column >= 0])
        # From far away, where labels are all but impossible, nothing curves, and steps lead nowhere.
        if not _objective(design, penalty, strength, begin) > FAR * design.at_zero:
            begin = np.zeros(k)
    if k and penalty == "l1":
        value, solution = _lasso(design, strength, begin, observe, most)
    elif k:
        value, solution = _ridge(design, strength, begin, observe, most)
    else:
        value = -float(design.choices.log_likelihood(np.zeros(0)).sum())
        observe(value, 0.0, 0.0, lambda: np.zeros(0))
    weights = _of_clauses(design, penalty, solution)
    converged = counts[-1] <= tolerance * design.steepest
    return PenalisedFit(weights, -value, counts[-1], converged, done + len(counts) - 1)


LOOSE = (1e-2, 1e-3, 1e-4)
"""Strengths that hardly hold weights: each holds them less than the one before."""

STILL = 0.25
"""Weights, each times the deviation of its count at 0, that move by less than this in all are not growing."""


def running_away(design: Design, *, max_iterations: int) -> BoolArray:
    """Return which weights would grow without bound if there were no penalty, shape (m,)."""
    known = design.column >= 0
    size = np.zeros(len(known))
    size[known] = np.sqrt(design.curvature)[design.column[known]]
    found: list[FloatArray] = []
    # As the penalty becomes ten times weaker, weights come ten times closer to their limit, if there is one; else they
    # move as far each time. Several may grow together although no count is certain by itself.
    for strength in LOOSE:
        # The penalty must not be lost in what is left of the gradient.
        tolerance = strength / 100 / max(design.steepest, 1.0)
        start = found[-1] if found else None
        fit = fit_weights(design, "l2", strength, start=start, tolerance=tolerance, max_iterations=max_iterations)
        found.append(fit.weights)
    before, last = (np.abs(b - a) * size for a, b in pairwise(found))
    growing = last.sum() > STILL and last.sum() > before.sum() / 2
    return np.asarray(growing & (last > last.max(initial=0.0) / 10), dtype=np.bool_)


def _objective(design: Design, penalty: Penalty, strength: float, solution: FloatArray) -> float:
    """Log-likelihood less penalty of weights of the columns, shape (k,); NaN or minus infinity where sums overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            value = float(design.choices.log_likelihood(solution).sum())
        except NumericError:
            return -np.inf
        if penalty == "l1":
            return value - strength * float(np.abs(solution / design.scale[design.first]).sum())
        return value - strength / 2 * float((solution**2 / design.variances).sum())


def _of_clauses(design: Design, penalty: Penalty, solution: FloatArray) -> FloatArray:
    """The weights of the clauses, shape (m,), from those of the columns, shape (k,)."""
    # Clauses with equal counts share one weight: with l1 the first has it all, with l2 each has a part in proportion to
    # the variance of its prior.
    weights = np.zeros(len(design.column))
    if penalty == "l1":
        weights[design.first] = solution
    else:
        known = design.column >= 0
        weights[known] = (solution / design.variances)[design.column[known]] * design.scale[known] ** 2
    return weights


Solution = Callable[[], FloatArray]
"""Makes the weights of the columns, shape (k,), from what is known after an iteration."""

Observer = Callable[[float, float, float, Solution], bool]


class _Watch:
    # Reports the start of a search and each step as it comes, and says when the search ends: at the optimum, or after `most` steps.

    def __init__(self, observe: Observer, scale: FloatArray, most: int) -> None:
        self._observe, self._scale, self._left = observe, scale, most
        self.ended = False
        self._now: DescentState | None = None

    def __call__(self, state: DescentState) -> bool:
        """Take a state; True if the search ends with it."""
        self._now = state
        # Of two clauses that share a column the gradient is the same.
        violation = float(np.abs(state.steepest * self._scale).max())
        optimal = self._observe(state.value, violation, state.step, lambda: state.point / self._scale)
        self.ended = optimal or self._left == 0
        self._left -= 1
        return self.ended

    @property
    def now(self) -> DescentState:
        """The last state."""
        assert self._now is not None
        return self._now

    def result(self) -> tuple[float, FloatArray]:
        """Return the value and the weights of the last state."""
        return self.now.value, self.now.point / self._scale


def _lasso(
    design: Design, strength: float, start: FloatArray, observe: Observer, most: int
) -> tuple[float, FloatArray]:
    # Scaling by the roots of the curvatures at 0 changes the path, not the optimum.
    scale = np.sqrt(design.curvature)
    scaled = design.choices.columns(np.arange(len(scale)), 1.0 / scale)
    penalty = strength / (scale * design.scale[design.first])

    def smooth(point: FloatArray) -> tuple[float, FloatArray]:
        """The negative log-likelihood."""
        value, gradient = scaled.value_and_gradient(point)
        return -value, -gradient

    watch = _Watch(observe, scale, most)
    _seek_lasso(smooth, scaled.hessian, start * scale, penalty, watch)
    return watch.result()


def _seek_lasso(smooth: Smooth, hessian: Hessian | None, start: FloatArray, penalty: FloatArray, watch: _Watch) -> None:
    """Take steps of OWL-QN, then of Newton while it descends, or of L-BFGS inside an orthant, and so on."""
    path = descend(smooth, start, penalty)
    if watch(next(path)):
        return
    budget = AGAIN if start.any() else FIRST
    inside = INSIDE
    while True:
        first = watch.now
        if any(watch(state) for state in islice(path, budget)):
            return
        middle, budget = watch.now, AGAIN
        if hessian is None:
            _quasi_newton(smooth, penalty, inside, watch)
            inside += INSIDE
        else:
            _newton(smooth, hessian, penalty, watch)
        if watch.ended or watch.now is first or (hessian is None and _stalled(first, watch.now)):
            return
        if watch.now is not middle:
            path = descend(smooth, watch.now.point, penalty)
            next(path)


def _ridge(
    design: Design, strength: float, start: FloatArray, observe: Observer, most: int
) -> tuple[float, FloatArray]:
    # A column that clauses share has its weight w in parts: a penalty of w^2 / (sum of squared scales) in all.
    penalty = strength / design.variances
    # Curvatures at 0 are exact where there is a Hessian, else those of atoms that nothing joins.
    scale = (design.curvature + penalty) ** (0.5 if design.choices.hessian is not None else JOINED)
    scaled = design.choices.columns(np.arange(len(scale)), 1.0 / scale)
    pull = penalty / scale**2

    def objective(point: FloatArray) -> tuple[float, FloatArray]:
        """Penalty less log-likelihood."""
        value, gradient = scaled.value_and_gradient(point)
        return float(pull @ point**2) / 2 - value, pull * point - gradient

    def curved(point: FloatArray, columns: IntArray) -> FloatArray:
        """The Hessian of the objective."""
        assert scaled.hessian is not None
        found = scaled.hessian(point, columns)
        found[np.diag_indices(len(columns))] += pull[columns]
        return found

    watch = _Watch(observe, scale, most)
    _seek_ridge(objective, None if scaled.hessian is None else curved, start * scale, watch)
    return watch.result()


def _seek_ridge(objective: Smooth, hessian: Hessian | None, start: FloatArray, watch: _Watch) -> None:
    """Take steps of L-BFGS, then of Newton while it descends, and so on."""
    value, gradient = objective(start)
    if watch(DescentState(start, value, gradient, gradient, 0.0)):
        return
    free, budget = np.zeros(len(start)), QUASI if hessian is not None else UNBROKEN
    while True:
        first = watch.now
        _quasi_newton(objective, free, budget, watch)
        if not watch.ended and hessian is not None:
            _newton(objective, hessian, free, watch)
        if watch.ended or watch.now is first or (hessian is None and _stalled(first, watch.now)):
            return
        budget *= 2


def _stalled(before: DescentState, after: DescentState) -> bool:
    """Whether rounding hides what many steps have changed: without a Hessian they would go on for ever."""
    flatter = float(np.abs(after.steepest).max()) <= float(np.abs(before.steepest).max()) / 2
    return before.value - after.value <= ROUNDING * abs(before.value) and not flatter


def _newton(smooth: Smooth, hessian: Hessian, penalty: FloatArray, watch: _Watch) -> None:
    """Take steps of Newton from where a search is while they descend."""
    while (following := newton_step(smooth, hessian, watch.now, penalty)) is not None:
        if watch(following):
            return


def _quasi_newton(smooth: Smooth, penalty: FloatArray, most: int, watch: _Watch) -> None:
    """Take steps of L-BFGS from the current state of a search, with a penalty only in the orthant of its pseudo-gradient."""
    start = known = watch.now
    held = penalty > 0
    # In the orthant absolute values are linear: coordinates that move stay on their side of 0, others stay 0.
    free = np.flatnonzero((start.point != 0) | (start.steepest != 0) | ~held)
    side = np.where(start.point != 0, np.sign(start.point), -np.sign(start.steepest))[free]
    slope = penalty[free] * side

    def evaluate(part: FloatArray) -> tuple[float, FloatArray]:
        """Evaluate, and remember it for the next report."""
        nonlocal known
        point = start.point.copy()
        point[free] = part
        value, gradient = smooth(point)
        total = value + float(penalty @ np.abs(point))
        known = DescentState(point, total, gradient, pseudo_gradient(point, gradient, penalty), 0.0)
        return total, gradient[free] + slope

    def note(intermediate_result: optimize.OptimizeResult) -> None:
        """Report a state; stop if it is the last one."""
        part = np.asarray(intermediate_result.x, dtype=np.float64)
        if not np.array_equal(part, known.point[free]):
            evaluate(part.copy())
        if watch(replace(known, step=float(np.linalg.norm(known.point - watch.now.point)))):
            raise StopIteration

    # For bounds that bound nothing scipy takes longer than for the steps, as it goes through them one by one.
    bounds = None
    if held[free].any():
        bounds = optimize.Bounds(
            np.where(held[free] & (side > 0), 0.0, -np.inf), np.where(held[free] & (side < 0), 0.0, np.inf)
        )
    options = {"maxiter": most, "maxcor": 20, "ftol": 0.0, "gtol": 0.0, "maxfun": 20 * most, "maxls": 50}
    optimize.minimize(
        evaluate, start.point[free], jac=True, method="L-BFGS-B", callback=note, options=options, bounds=bounds
    )
