"""Training of one problem for one C after the other, by one convex program where the problem is one, by cutting planes elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray
from sqlrl.learn.batch.problem import TrainingProblem, fixed_values
from sqlrl.learn.margin.cuts import Loss, Penalty, Separation, penalty_of, where_dearer
from sqlrl.learn.margin.interior import Interior, InteriorPoint, Linear, least_slack
from sqlrl.learn.margin.joint import group_clauses, is_joint, make_joint
from sqlrl.learn.margin.masters import AbsoluteNorm, SquaredNorm
from sqlrl.learn.margin.mixing import Mixing
from sqlrl.learn.margin.planes import CuttingPlanes, MarginState, Opening, Stopping, Trained, rising_prices
from sqlrl.learn.margin.separation import LABELS, Oracle
from sqlrl.training.labels import infeasible_truth

PENALTY_PART = 0.01
"""Where slack that no weights avoid makes up the objective, a small part of that is much of their norm: weights are polished until the gap is this part
of their own penalty, which leaves them a tenth of their length off at most."""

POLISHING_PRICES = 7
"""Powers of 10 from 1 on at which weights are learned for a higher price."""

OUTSCORED = 1e-3
"""A slack below 0 by more than this is no rounding."""


class JointTraining:
    """Trains weights for one C after the other as `planes.CuttingPlanes` does, but without cuts; see `joint.is_joint`."""

    def __init__(
        self,
        problem: TrainingProblem,
        penalty: Penalty,
        stopping: Stopping,
        report: Callable[[MarginState], None],
        *,
        seed: int = 0,
    ) -> None:
        self.stopping, self.report = stopping, report
        self.examples = len(np.unique(problem.network.example))
        self._groups, self._norm = group_clauses(problem.network), penalty
        size = self._groups.size.astype(np.float64)
        # Equal clauses share their weight W equally: half its squared norm is (W / sqrt(size))^2 / 2.
        self._scale: FloatArray = np.sqrt(size) if penalty == "l2" else np.ones(len(size))
        joint = make_joint(problem, fixed_values(problem, seed=seed), self._groups, self._scale)
        self._program: Interior | Linear = Interior(joint) if penalty == "l2" else Linear(joint)

    def train(self, price: float) -> Trained | None:
        """Return the weights where the average slack costs `price`; None where this program differs from the problem."""
        steps, n, best = 0, self.examples, InteriorPoint(np.empty(0), np.inf, 0.0, 0.0, 0)

        def allowed(lower: float) -> float:
            return self.stopping.allowed(price, n, lower)

        def polished(lower: float) -> float:
            return min(
                allowed(lower), self.stopping.polished(price, n, PENALTY_PART * penalty_of(best.weights, self._norm))
            )

        def tell(now: InteriorPoint, bound: float = 0.0) -> None:
            nonlocal steps, best
            steps += 1
            lower = max(best.lower, now.lower, bound)
            best = replace(now if now.upper <= best.upper else best, lower=lower)
            self.report(MarginState(steps, best.upper, best.upper, lower, best=partial(self._weights, best)))

        for working in rising_prices(price, n):
            # The program has the slack of all examples together, not the average.
            self._program.solve(working / n, price / n, polished, max(self.stopping.max_iterations - steps, 1), tell)
            if best.upper - best.lower <= allowed(best.lower) or steps >= self.stopping.max_iterations:
                break
        # It does where the labels break hard clauses and outscore all worlds.
        if best.excess < -OUTSCORED and best.upper - best.lower > allowed(best.lower):
            return None
        if best.upper - best.lower > polished(best.lower):
            # Where no more slack is saved the weights are those for a lower price, at which rounding leaves more of them.
            slack, rest = least_slack(self._program.joint)

            def learn_at(working: float) -> None:
                def sharp(lower: float) -> float:
                    return working / (price / n) * polished(lower)

                def tell_bound(now: InteriorPoint) -> None:
                    tell(now, where_dearer(now.here, price / n - working, slack, rest, self._norm))

                self._program.solve(working, price / n, sharp, max(self.stopping.max_iterations - steps, 1), tell_bound)

            for working in 10.0 ** np.arange(POLISHING_PRICES):
                done = steps >= self.stopping.max_iterations or best.upper - best.lower <= polished(best.lower)
                if done or working >= price / n:
                    break
                learn_at(float(working))
        state = MarginState(steps, best.upper, best.upper, best.lower)
        return Trained(self._weights(best), state, state.gap <= allowed(best.lower))

    def _weights(self, found: InteriorPoint) -> FloatArray:
        whole, groups = found.weights * self._scale, self._groups
        return groups.spread(whole) if self._norm == "l2" else groups.at_first(whole)


@dataclass(frozen=True)
class Settings:
    """What is minimised, and how; see `MaxMargin`."""

    penalty: Penalty
    loss: Loss
    separation: Separation
    stopping: Stopping
    seed: int


class Trainer:
    """Trains weights for one C after the other, from the smallest on: each starts from the cuts of those before."""

    def __init__(self, problem: TrainingProblem, settings: Settings, report: Callable[[MarginState], None]) -> None:
        network, seed = problem.network, settings.seed
        self._oracle = Oracle(problem, settings.loss, settings.separation, seed=seed)
        self._examples = len(self._oracle.examples)
        self._joint: JointTraining | None = None
        if settings.loss == "hamming" and is_joint(network, relaxed=settings.separation == "relaxed"):
            if len(infeasible_truth(network, problem.truth).clause):
                # Hard clauses that cannot all hold may have fractional worlds all the same; the oracle refuses them.
                self._oracle.predicted(np.zeros(len(network.clauses)))
            self._joint = JointTraining(problem, settings.penalty, settings.stopping, report, seed=seed)
        squared = settings.penalty == "l2"
        opening: Opening | None = Mixing(problem, seed=seed).opening if self._opens(settings) else None
        if problem.start is not None:
            opening = self._from_start(problem)
        self._planes = CuttingPlanes(
            self._oracle,
            SquaredNorm() if squared else AbsoluteNorm(),
            len(network.clauses),
            self._examples,
            settings.stopping,
            report,
            opening,
        )

    def _opens(self, settings: Settings) -> bool:
        # Weights of least squared norm that keep the margins of single atoms are a start for no other problem.
        return self._joint is None and settings.penalty == "l2" and settings.loss == "hamming"

    def _from_start(self, problem: TrainingProblem) -> Opening:
        # Any cut holds for all weights: that of the start is the first one.
        weights = self._oracle.rounded(problem.starting())
        return lambda _: (weights, self._oracle.most_violated(weights, LABELS).cut)

    def train(self, price: float) -> Trained:
        """Find the weights where slack costs `price`, the price of the sum of slacks over mega-examples."""
        whole = price * self._examples
        return (self._joint and self._joint.train(whole)) or self._planes.train(whole)

    def predicted(self, weights: FloatArray) -> BoolArray:
        """The most probable world, as well as separation finds worlds, shape (n,)."""
        return self._oracle.predicted(weights)


def predictor(problem: TrainingProblem, settings: Settings) -> Callable[[FloatArray], BoolArray]:
    """What predicts the most probable world of a problem from weights, as well as the separation of `settings` finds worlds."""
    return Oracle(problem, settings.loss, settings.separation, seed=settings.seed).predicted
