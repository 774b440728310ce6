"""Maximum piecewise pseudo-likelihood: the weight of each rule as if it were alone, one concave function of one weight for each rule."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from sqlrl.deprecated import takes_old_parameters
from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.ground.network import FloatArray, IntArray, ragged_ranges
from sqlrl.learn.parameters import Above, Option
from sqlrl.learn.soft.atom_hinges import AtomHinges, atom_hinges
from sqlrl.learn.soft.densities import EXPECTATIONS, VARIANCES, densities, least_incompatibility
from sqlrl.learn.soft.estimator import SoftEstimator
from sqlrl.learn.soft.settings import (
    Method,
    OnUnlabelled,
    Penalty,
    PerRule,
    Rate,
    SoftWeights,
    Steps,
    Strength,
    check_bounded,
    check_soft_parameters,
    gradient_steps,
    l2_and_l1,
    projected,
    saved,
    starting,
    step_rates,
)  # fmt: skip
from sqlrl.training.labels import Names
from sqlrl.training.records import Iteration, Report, share_of_fall
from sqlrl.training.soft import SoftTraining

Tolerance = Annotated[float, Above(0, "1e-8 is the default"), Option("when to stop")]

MOST = 200
"""Rounds after which a weight is as good as rounding allows: bisection alone needs no more."""


class _Point(NamedTuple):
    # Of rules at their weights: the gradient, the expectation of hinges and its derivative with its sign changed.
    gradient: FloatArray
    expected: FloatArray
    variance: FloatArray


@takes_old_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class SoftPiecewiseLikelihood(SoftEstimator):
    r"""Learns the weight of each rule by the pseudo-likelihood of the model that has only this rule.

    Parameters
    ----------
    penalty, strength
        As in `SoftPseudoLikelihood`; the penalty is taken from the sum over atoms for each rule.
    tolerance : float
        Done when no gradient is above this, or as near as floats come.
    unlabelled : {"error", "zero"}
        What an atom without a label is to those that it shares a hinge with: refused, or 0.
    method : {"exact", "steps"}
        Find each maximum; or take `steps` steps along the gradient from 0, as in the source, each weight cut at 0.
    steps : int
    learning_rate : float
        What the gradient is taken times in a step.
    per_rule : bool
        Divide it in steps by the number of the rule's ground rules, each as often as it is about an atom, so that rules with many do not overshoot.

    Notes
    -----
    Source: Embar, Sridhar, Farnadi, Getoor, "Scalable Structure Learning for Probabilistic Soft Logic" (2018), equations 7 to 10 and
    algorithm 2. The gradient is the expectation of hinges less what they are at labels: equation 10 as printed has the other
    sign, with which algorithm 2 descends. Its loop goes on as long as one criterion is not met; here it ends with its number of steps. The
    source has no hard rules: those of the network bound the truth of an atom for each rule.

    A gradient of at most 0 at 0 gives a weight of exactly 0. Else the expectation, less its limit, is approximated by A / (w + B), which has its value
    and its derivative at the last weight and its limit, the optimum for that is the next weight, and between two weights with gradients of
    both signs is bisected what does not converge so.

    Examples
    --------
    >>> from sqlrl.learn.soft.sample_hinges import hinge_network
    >>> rules = [(0, {i: -1.0}, 1.0, 1) for i in range(3)] + [(1, {i: 1.0}, 0.0, 1) for i in range(3)]
    >>> found = SoftPiecewiseLikelihood().learn(hinge_network(rules), np.array([1.0, 1.0, 0.0]))
    >>> found.weights.round(4).tolist(), found.optimality < 1e-8
    ([0.4002, 0.0], True)
    """

    word: ClassVar[str] = "soft-piecewise-likelihood"

    penalty: Penalty = "l2"
    strength: Strength = 1.0
    tolerance: Tolerance = 1e-8
    unlabelled: OnUnlabelled = "error"
    method: Method = "exact"
    steps: Steps = 150
    learning_rate: Rate = 1.0
    per_rule: PerRule = True

    def __post_init__(self) -> None:
        check_soft_parameters(self)

    def _learned(
        self, training: SoftTraining, start: FloatArray | None, report: Report, after: Iteration | None
    ) -> SoftWeights:
        return self.learn(
            training.network, training.truth, names=training.names, start=start, report=report, after=after
        )

    def learn(
        self,
        network: HingeNetwork,
        truth: FloatArray,
        *,
        names: Names | None = None,
        start: FloatArray | None = None,
        report: Report | None = None,
        after: Iteration | None = None,
    ) -> SoftWeights:
        """Learn the weights of the rules of a network that are not hard.

        Parameters
        ----------
        network, truth, names, report, after
            As `SoftPseudoLikelihood.learn`.
        start : array of float64, shape (m,), optional
            Where to look for each weight first, or where steps begin; 0 by default.

        Returns
        -------
        SoftWeights

        Raises
        ------
        InputError
            As `atom_hinges`; or a weight to start from is not a finite number of at least 0.
        UnboundedWeightError
            There is no penalty, and labels never violate a rule.
        """
        begun = starting(network.hard, start, 0.0)
        hinges = atom_hinges(network, truth, names=names, unlabelled=self.unlabelled, piecewise=True)
        return self.learn_hinges(hinges, names=names, start=begun, report=report, after=after)

    def learn_hinges(
        self,
        hinges: AtomHinges,
        *,
        names: Names | None = None,
        start: FloatArray | None = None,
        report: Report | None = None,
        after: Iteration | None = None,
    ) -> SoftWeights:
        """Learn weights from rows of rules and atoms that are there already; parameters as of `learn`."""
        l2, l1 = l2_and_l1(self)
        pieces = _Pieces(hinges, l2, l1)
        first = start if after is None else saved(after)["weight"]
        begun = np.zeros(pieces.rules) if first is None else np.where(hinges.support > 0, first, 0.0)
        done = 0 if after is None else after.iteration
        zero = pieces.at(np.zeros(pieces.rules), np.arange(pieces.rules))
        if not (l2 or l1):
            check_bounded(zero.gradient > 0, hinges, pieces.least, names.clause if names else None)
        if self.method == "steps":
            weights, rounds = self._walk(pieces, begun, report, done), self.steps
        else:
            weights, rounds = self._solve(pieces, zero, begun, report, done)
        found = densities(hinges, weights)
        gradient = found.expected - hinges.observed - l2 * weights - l1
        value = -float(hinges.count @ found.log_z) - float(weights @ hinges.observed)
        value -= l2 / 2 * float(weights @ weights) + l1 * float(weights.sum())
        done = bool((projected(weights, gradient) <= self.tolerance).all())
        return SoftWeights(weights, gradient, value, rounds, done, hinges.labelled, hinges.outside, hinges.narrow)

    def _solve(
        self, pieces: _Pieces, zero: _Point, start: FloatArray, report: Report | None, rounds: int
    ) -> tuple[FloatArray, int]:
        """Return the weights that are best, and after how many rounds, those before the start among them."""
        weights = np.zeros(pieces.rules)
        open_ = np.flatnonzero(zero.gradient > self.tolerance)
        low = np.zeros(pieces.rules)
        # The expectation falls as the weight grows, so the prior alone stops it here.
        high = zero.gradient / pieces.l2 if pieces.l2 else np.full(pieces.rules, np.inf)
        last, steepest = np.full(pieces.rules, np.inf), 0.0
        first = pieces.better(weights[open_], open_, _Point(*(x[open_] for x in zero)))
        begun = np.where((start[open_] > 0) & (start[open_] < high[open_]), start[open_], first)
        weights[open_] = _inside(begun, low[open_], high[open_])
        while len(open_) and rounds < MOST:
            now = pieces.at(weights, open_)
            rounds += 1
            if report is not None:
                worst = float(np.abs(now.gradient).max())
                steepest = max(steepest, worst)
                share = share_of_fall(steepest, worst, self.tolerance)
                report(
                    Iteration(
                        iteration=rounds, optimality=worst, share=share, state=partial(dict, weight=weights.copy())
                    )
                )
            w = weights[open_]
            low[open_] = np.where(now.gradient > 0, w, low[open_])
            high[open_] = np.where(now.gradient > 0, high[open_], w)
            left = np.abs(now.gradient) > self.tolerance
            left &= high[open_] - low[open_] > 4 * np.finfo(float).eps * high[open_]
            slow = np.abs(now.gradient) > 0.5 * last[open_]
            last[open_] = np.abs(now.gradient)
            following = pieces.better(w, open_, now)
            following[slow] = np.nan
            open_, following = open_[left], following[left]
            weights[open_] = _inside(following, low[open_], high[open_])
        return weights, rounds

    def _walk(self, pieces: _Pieces, start: FloatArray, report: Report | None, done: int) -> FloatArray:
        """Return the weights after the steps along the gradient that are left."""
        every = np.arange(pieces.rules)
        rate = step_rates(self.learning_rate, pieces.hinges.ground, per_rule=self.per_rule)

        def gradient(weights: FloatArray) -> FloatArray:
            return pieces.at(weights, every, second=EXPECTATIONS).gradient

        return gradient_steps(gradient, start, self.steps, rate, report, done=done)


def _inside(found: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return what was found where it is between bounds; else what halves them, by their ratio where they are far apart."""
    with np.errstate(invalid="ignore"):
        middle = np.where(low > 0, np.sqrt(low) * np.sqrt(high), np.minimum(high / 2, 1.0))
        middle = np.where(np.isfinite(high), np.where(high < 2 * low, (low + high) / 2, middle), 10.0 * low + 1.0)
        return np.where((found > low) & (found < high), found, middle)


class _Pieces:
    # Rows of rules and atoms, in order of rules.

    def __init__(self, hinges: AtomHinges, l2: float, l1: float) -> None:
        self.hinges, self.l2, self.l1, self.rules = hinges, l2, l1, len(hinges.squared)
        owner = hinges.rule[hinges.pointer[:-1]]
        self.pointer: IntArray = np.searchsorted(owner, np.arange(self.rules + 1))
        self.least = least_incompatibility(hinges)

    def at(self, weights: FloatArray, rules: IntArray, *, second: int = VARIANCES) -> _Point:
        """Evaluate some rules."""
        rows = ragged_ranges(self.pointer[rules], np.diff(self.pointer)[rules])
        found = densities(self.hinges, weights, rows, second=second)
        expected = found.expected[rules]
        gradient = expected - self.hinges.observed[rules] - self.l2 * weights[rules] - self.l1
        return _Point(gradient, expected, found.covariance[rules, 0] if second else np.zeros(len(rules)))

    def better(self, weights: FloatArray, rules: IntArray, now: _Point) -> FloatArray:
        """Return where gradients are 0 if what expectations are above their limits is A / (w + B); NaN where that is nowhere."""
        excess = now.expected - self.least[rules]
        known = self.hinges.observed[rules] - self.least[rules] + self.l1
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            # (known + prior w) (w + B) = A, with B + w = excess / variance and A = excess^2 / variance.
            shift = excess / now.variance - weights
            half, rest = known + self.l2 * shift, known * shift - excess * excess / now.variance
            root = np.sqrt(half * half - 4 * self.l2 * rest)
            # Of the two forms of the root the one in which nothing cancels.
            found = np.where(half >= 0, -2 * rest / (half + root), (root - half) / (2 * self.l2))
        found = np.where(np.isfinite(found), found, np.nan)
        return np.asarray(found, dtype=np.float64)
