"""Preconditioned scaled conjugate gradient: climbs a penalised log-likelihood of which only moments of counts are known."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic, Literal, NamedTuple, Protocol, TypeVar, Unpack

import numpy as np

from sqlrl.errors import InputError, Parameter
from sqlrl.ground.network import FloatArray
from sqlrl.learn.batch.estimator import BatchCommon, WholeEstimator
from sqlrl.learn.batch.expectation import CountMoments, ExactSource, SampledSource
from sqlrl.learn.batch.problem import TrainingProblem
from sqlrl.learn.convergence import warn_unconverged
from sqlrl.learn.parameters import AtLeast, Option, Whole, check_integer
from sqlrl.training.records import Iteration, Report

# ---- the climb ---------------------------------------------------------------------------------------


TRUSTED = 0.75
"""Lambda is halved where a step gained more than this share of what was predicted."""

FELT = 1e-3
"""After a step that is taken back lambda is at least this share of the curvature along it; less would hardly shorten the next."""

Known = TypeVar("Known", bound=CountMoments)


class MomentSource(Protocol[Known]):
    """Where counts and their moments come from."""

    @property
    def observed(self) -> FloatArray:
        """The counts of the labels, shape (m,)."""

    def at(self, weights: FloatArray) -> Known:
        """Return the moments under weights that are others than before, shape (m,)."""

    def more(self, weights: FloatArray, moments: Known, *, moved: bool) -> Known:
        """Return better moments under weights for which some are known; `moved`: the last ones asked for were others."""

    def enough(self, moments: Known) -> bool:
        """Whether no more samples are drawn to make sure whether a step went right."""


@dataclass(frozen=True, kw_only=True)
class Climbing:
    """Settings of the ascent."""

    iterations: int  # steps that are kept, at most
    decay: float  # 1 / variance of the Gaussian prior of each weight, whose mean is 0; 0 for no prior
    damping: float  # lambda at first
    distrust: float = 0.25  # lambda grows fourfold where a step gained less than this share of what was predicted
    tolerance: float = 1e-5  # stop where the next step can gain no more than this (log-likelihood)
    significance: float = 2.0  # how many standard errors of a step's gain are taken for a change
    start: FloatArray | None = None  # 0 by default


class Point(NamedTuple, Generic[Known]):
    """Weights with what is known there; `size` is the length of the step to them, None at the start."""

    weights: FloatArray
    moments: Known
    gradient: FloatArray
    objective: float | None
    size: float | None


class _Step(NamedTuple):
    direction: FloatArray
    size: float
    change: FloatArray
    bend: float  # curvature along the direction, for a direction of length 1
    bound: float  # what it can gain at most
    predicted: float  # what it would gain if the function were quadratic


@dataclass(frozen=True, eq=False)
class Climbed:
    """The last or current weights of an ascent."""

    weights: FloatArray
    rejected: int  # steps that were taken back
    converged: bool  # whether it ended because no step could gain more than the tolerance


def climb(
    source: MomentSource[Known],
    plan: Climbing,
    report: Callable[[int, Point[Any], float, int], None] | None = None,
) -> Climbed:
    """Maximise the log-likelihood of the labels minus decay / 2 * (sum of squared weights).

    Source: Lowd & Domingos (2007); Moller (1993); Fletcher, "Practical methods of optimization" (1987), for lambda.
    With gradient g, covariances C of the counts and M the inverse diagonal of H = C + decay: the direction is
    d = M g + beta * (d before), beta by Polak and Ribiere, and the step alpha * d with
    alpha = d g / (d H d + lambda d d). lambda grows with each step that is taken back, so that climbing ends.
    """
    search, kept = _Search(source, plan), 0
    while True:
        if report is not None:
            report(kept, search.here, search.damping, search.rejected)
        if kept == plan.iterations:
            return Climbed(search.here.weights, search.rejected, False)
        if not search.advance():
            return Climbed(search.here.weights, search.rejected, True)
        kept += 1


class _Search(Generic[Known]):
    def __init__(self, source: MomentSource[Known], plan: Climbing) -> None:
        self.source, self.plan, self.damping, self.rejected = source, plan, plan.damping, 0
        start = plan.start if plan.start is not None else np.zeros(len(source.observed))
        self.here = self._point(start, source.at(start), None)
        self._before: tuple[FloatArray, FloatArray] | None = None  # direction and gradient of the step that led here

    def advance(self) -> bool:
        """Go to the next point that is not downhill from here; False if no step could gain more than the tolerance."""
        while True:
            step = self._step()
            if step.bound <= self.plan.tolerance:
                return False
            there, gain = self._take(step)
            self._judge(gain, step)
            if gain >= 0:
                self._before, self.here = (step.direction, self.here.gradient), there
                return True
            self.rejected += 1
            moments = self.source.more(self.here.weights, self.here.moments, moved=True)
            self._before, self.here = None, self._point(self.here.weights, moments, self.here.size)

    def _point(self, weights: FloatArray, moments: Known, size: float | None) -> Point[Known]:
        # The value of the function is known only where that of the log-likelihood is.
        gradient = self.source.observed - moments.mean - self.plan.decay * weights
        likelihood = moments.log_likelihood
        objective = None if likelihood is None else likelihood - self.plan.decay / 2 * float(weights @ weights)
        return Point(weights, moments, gradient, objective, size)

    def _step(self) -> _Step:
        # The next step from here, along a direction conjugate to the one before.
        moments, gradient = self.here.moments, self.here.gradient
        steepest = self._precondition(moments, gradient)
        found = None
        if self._before is not None:
            last, old = self._before
            scale = float(old @ self._precondition(moments, old))
            if scale > 0:
                beta = float(steepest @ (gradient - old)) / scale
                found = self._along(moments, gradient, steepest + beta * last)
        # Noise can turn the conjugate direction downhill; the preconditioned gradient always points uphill.
        return found if found is not None and found.size > 0 else self._along(moments, gradient, steepest)

    def _precondition(self, moments: CountMoments, gradient: FloatArray) -> FloatArray:
        # Without a prior, a count that happened never to vary would have no limit to its step.
        diagonal = (
            moments.variance + self.plan.decay if self.plan.decay else np.maximum(moments.variance, moments.least)
        )
        return np.divide(gradient, diagonal, out=np.zeros_like(gradient), where=diagonal > 0)

    def _along(self, moments: CountMoments, gradient: FloatArray, direction: FloatArray) -> _Step:
        slope, length = float(direction @ gradient), float(direction @ direction)
        curvature = float(direction @ moments.product(direction)) + self.plan.decay * length
        damped = curvature + self.damping * length
        size = slope / damped if damped > 0 else 0.0
        bend = curvature / length if length > 0 else 0.0
        return _Step(direction, size, size * direction, bend, size * slope, size * slope - size**2 * curvature / 2)

    def _take(self, step: _Step) -> tuple[Point[Known], float]:
        # Where the step leads, and what it gains at least.
        # The function is concave: that is the step times the gradient after it.
        weights, source = self.here.weights + step.change, self.source
        moments = source.at(weights)
        there = self._point(weights, moments, step.size)
        gain = float(step.change @ there.gradient)
        while not source.enough(moments) and abs(gain) < self.plan.significance * moments.error(step.change):
            moments = source.more(weights, moments, moved=False)
            there = self._point(weights, moments, step.size)
            gain = float(step.change @ there.gradient)
        return there, gain

    def _judge(self, gain: float, step: _Step) -> None:
        # Trust the quadratic model more or less after a step that gained so much.
        ratio = gain / step.predicted
        if ratio > TRUSTED:
            self.damping /= 2
        elif gain < 0:
            self.damping = max(4 * self.damping, FELT * step.bend)
        elif ratio < self.plan.distrust:
            self.damping *= 4


# ---- the estimator -----------------------------------------------------------------------------------


HowMoments = Literal["mcsat", "exact"]
Iterations = Annotated[int, Whole(1), Option("most iterations")]
Strength = Annotated[
    float, AtLeast(0.0, "use 0 for no penalty; 0.25 is the default"), Option("strength of the L2 penalty")
]


class PSCG(WholeEstimator):
    r"""Learns the weights of a model by preconditioned scaled conjugate gradient (Lowd and Domingos 2007).

    It climbs the conditional log-likelihood of the labels, minus an L2 penalty. Expected counts, variances and covariances are
    those of a few worlds drawn by MC-SAT, so that any model can be learned, roughly.

    Parameters
    ----------
    max_iterations : int
        Steps that are kept, at most. With few samples more iterations are not always better: choose their number on held-out
        examples (Huynh 2011, table 4.4).
    samples : int
        Worlds that are drawn for each iteration, 2 or more; one chain goes on through all iterations.
    most_samples : int, optional
        As long as it is not significant (two standard errors) whether a step helped, `samples` more are drawn, up to this
        many; by default none.
    burn_in : int
        Worlds that are drawn and forgotten after each change of weights.
    strength : float
        What is maximised is the log-likelihood less ``strength / 2 * sum(w^2)``, a Gaussian prior of mean 0 and variance 1 / strength; 0 for none.
    damping : float
        Lambda at first: the larger, the shorter the first steps.
    distrust : float
        Lambda grows fourfold after a step that gained less than this share of what was predicted.
    tolerance : float
        Stop where the next step can gain no more than this (log-likelihood).
    moments : {"mcsat", "exact"}
        "exact" needs a model whose ground clauses have one query atom each, blocks aside, such as non-recursive clauses.
    **common
        See `sqlrl.learn.BatchEstimator`, also for the attributes.

    Attributes
    ----------
    rejected_ : int
        Steps that were taken back.
    converged_ : bool
        Whether learning ended before `max_iterations`, because no step could gain more than `tolerance`.

    Notes
    -----
    Source: Lowd & Domingos, "Efficient weight learning for Markov logic networks" (2007); Moller, "A scaled conjugate gradient
    algorithm for fast supervised learning" (1993). The formulas are in `sqlrl.learn.batch.pscg.climb`. Defaults
    (100 iterations, 5 samples without burn-in, a prior of standard deviation 2, which is the strength 0.25, lambda 100 at first, tolerance 1e-5) are those of the
    authors' own program, Alchemy. What the paper leaves open:

    - A step that is taken back is no iteration. Lambda grows, the samples at the weights before it are kept and as many drawn
      again, so that noise that led astray averages out, and the next direction is the preconditioned gradient.
    - The last step is tested like all others, and the weights after the last kept step are the result, not an average.
    - Lambda grows where a step gained less than a quarter of what was predicted, which is Fletcher's rule (1987); Alchemy has
      0 in place of a quarter, for the sake of noise (`distrust=0`). Lambda scales the identity, not the preconditioner.
    - The prior has part in the Hessian and in its diagonal. Without a prior, a count that does not vary among the samples is
      taken to differ by 1 in one of them.
    - The chain starts in a random world of the hard clauses. Labels that violate hard clauses are taken as they are; with
      "exact" moments, atoms and blocks whose labels no world has play no part.

    `iterations_` has a row for the starting weights and one for each kept step: its length alpha, and after it lambda and the
    largest entry of the gradient (`optimality`), with "mcsat" an estimate. Only "exact" moments give the objective.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Word", [("d1", "good"), ("d2", "bad"), ("d3", "good")], types=["doc", "word"])
    >>> db.load("Liked", [("d1",), ("d3",)], types=["doc"], target=True)
    >>> model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)")
    >>> fit = sqlrl.PSCG(moments="exact", tolerance=1e-12).fit(db, model)
    >>> [(row["clause"], round(row["weight"], 3)) for row in fit.clauses().to_pylist()]
    [('Word(d, "good") => Liked(d)', 1.482), ('Word(d, "bad") => Liked(d)', -1.043)]
    """

    word = "pscg"
    learned = (*WholeEstimator.learned, "rejected_", "converged_")

    rejected_: int
    converged_: bool

    def __init__(
        self,
        max_iterations: Iterations = 100,
        *,
        samples: Annotated[int, Whole(2), Option("worlds drawn for each iteration")] = 5,
        most_samples: int | None = None,
        burn_in: Annotated[int, Whole(0)] = 0,
        strength: Strength = 0.25,
        damping: Annotated[float, AtLeast(0.0, "0 trusts the quadratic model wholly")] = 100.0,
        distrust: Annotated[float, AtLeast(0.0, "it is a share of what a step was predicted to gain")] = 0.25,
        tolerance: Annotated[float, AtLeast(0.0, "it is a gain in log-likelihood"), Option("when to stop")] = 1e-5,
        moments: Annotated[HowMoments, Option("where expected counts come from")] = "mcsat",
        **common: Unpack[BatchCommon],
    ) -> None:
        super().__init__(**common)
        self.max_iterations, self.samples, self.most_samples = max_iterations, samples, most_samples
        self.burn_in, self.strength = burn_in, strength
        self.damping, self.distrust, self.tolerance, self.moments = damping, distrust, tolerance, moments

    def _check(self) -> None:
        super()._check()
        if self.most_samples is not None:
            check_integer("most_samples", self.most_samples, self.samples)
        if self.distrust > 0.75:
            raise InputError(
                f"{Parameter('distrust', self.distrust)} is above 0.75, where a step is trusted: give a smaller number"
            )

    def _learn(self, problem: TrainingProblem, report: Report, after: Iteration | None = None) -> FloatArray:
        going, done = ({}, 0) if after is None or after.state is None else (after.state(), after.iteration)
        before = int(going.get("rejected", 0))
        plan = Climbing(
            iterations=self.max_iterations - done,
            decay=float(self.strength),
            damping=float(going.get("damping", self.damping)),
            distrust=float(self.distrust),
            tolerance=float(self.tolerance),
            start=None if problem.start is None else problem.starting(),
        )

        last: deque[Point[Any]] = deque(maxlen=1)

        def tell(kept: int, point: Point[Any], damping: float, rejected: int) -> None:
            last.append(point)
            optimality = float(np.abs(point.gradient).max(initial=0.0))
            report(
                Iteration(
                    iteration=done + kept,
                    objective=point.objective,
                    optimality=optimality,
                    step=point.size,
                    damping=damping,
                    share=(done + kept) / self.max_iterations,
                    state=lambda: {
                        "weight": point.weights,
                        "damping": np.array(damping),
                        "rejected": np.array(before + rejected),
                    },
                    so_far=(lambda: self._ended(Climbed(point.weights, before + rejected, False)))
                    if done + kept
                    else None,
                )
            )

        if self.moments == "exact":
            found = climb(ExactSource(problem, seed=self.seed), plan, tell)
        else:
            most = self.most_samples or self.samples
            source = SampledSource(problem, samples=self.samples, most=most, burn_in=self.burn_in, seed=self.seed)
            found = climb(source, plan, tell)
        if not found.converged:
            self._warn_of(last, done)
        return self._ended(replace(found, rejected=before + found.rejected))

    def _warn_of(self, last: Sequence[Point[Any]], done: int) -> None:
        point = last[-1]
        estimated = "" if self.moments == "exact" else ", estimated from samples,"
        warn_unconverged(
            type(self).__name__,
            self.max_iterations,
            f"a gradient{estimated} is {float(np.abs(point.gradient).max(initial=0.0)):.3g}",
            f"raise {Parameter('max_iterations')} or {Parameter('tolerance', self.tolerance)}"
            + (
                ""
                if self.moments == "exact"
                else f", or draw more {Parameter('samples')}; choose their numbers on held-out examples"
            ),
        )

    def _ended(self, found: Climbed) -> FloatArray:
        """Take where climbing ended."""
        self.rejected_, self.converged_ = found.rejected, found.converged
        return found.weights
