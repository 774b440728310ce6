"""The cutting-plane method (Algorithm 2.1): weights for the cuts so far, the margin that they violate most, again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.learn.margin.cuts import Cut, Cuts
from sqlrl.learn.margin.masters import Master, Plan
from sqlrl.learn.margin.separation import LABELS, ViolatedMargin
from sqlrl.progress import at_stage

PRECISION = 0.1
"""The master problem is solved up to this part of epsilon."""


POLISHES = 10
"""Vertices to try where weights that are good enough are none; the best weights are taken if none of these is good enough."""


class Separator(Protocol):
    """What finds most violated margins; see `sqlrl.learn.margin.separation.Oracle`."""

    def most_violated(self, weights: FloatArray, known: int) -> ViolatedMargin:
        """Return the margin that weights, shape (m,), violate most; `known` is the worst of its earlier answers, or `LABELS`."""
        ...

    def rounded(self, weights: FloatArray) -> FloatArray:
        """Return weights, shape (m,), as it can take them."""
        ...


Opening = Callable[[float], tuple[FloatArray, Cut]]
"""Weights to start from, shape (m,), and a cut that no single world makes, from C: the price of the loss of an atom."""


@dataclass(frozen=True)
class Stopping:
    """When to stop, and when to set cuts aside."""

    epsilon: float  # margins may be violated by this beyond the slack, so that the objective is off by C times this
    max_iterations: int  # searches for the most violated margin
    cache: int  # iterations without a part in the solution after which a cut is set aside, until it is violated


@dataclass(frozen=True)
class MarginState:
    """Training after an iteration; what belongs to cuts is None where there are none."""

    iteration: int  # from 1
    objective: float  # lowest so far, of the worlds that were found
    upper: float  # lowest so far for sure: what the oracle may have missed is added
    lower: float  # no weights have a lower objective
    violation: float | None = None  # of the margin that was found, beyond the slack
    cuts: int | None = None  # in all
    used: int | None = None  # cuts that the master problem has
    errors: int | None = None  # atoms in which the found world differs from the labels
    # makes the weights with the lowest objective so far, shape (m,)
    best: Callable[[], FloatArray] | None = field(default=None, compare=False, repr=False)

    @property
    def gap(self) -> float:
        """Upper less lower bound of the least objective: that of the returned weights is at most this above it."""
        return max(self.upper - self.lower, 0.0)


@dataclass(frozen=True, eq=False)
class Trained:
    """Weights of one C, shape (m,), with the last state, and whether epsilon was reached."""

    weights: FloatArray
    state: MarginState
    converged: bool


class CuttingPlanes:
    """Trains weights for one C after the other; cuts stay, as they hold for every C.

    Source: Huynh (2011), Algorithm 2.1, after Joachims, Finley and Yu (2009), with the average over mega-examples of
    both sides: for one mega-example it is OP4. Their constraint cache (section 4.4) is kept for whole cuts: those set
    aside are tried before the oracle. Stopping by the violation of the last weights implies the rule here, by the
    objective of the best weights seen.
    """

    def __init__(
        self,
        separator: Separator,
        master: Master,
        clauses: int,
        examples: int,
        stopping: Stopping,
        report: Callable[[MarginState], None],
        opening: Opening | None = None,
    ) -> None:
        self.separator, self.master, self.stopping, self.report = separator, master, stopping, report
        self.opening = opening
        self.cuts = Cuts(clauses, examples)
        self._idle: IntArray = np.empty(0, dtype=np.int64)
        # Of each cut the number of the separator's answer; `LABELS` for those that are none.
        self._answer: IntArray = np.empty(0, dtype=np.int64)
        self._answers = 0

    def train(self, price: float) -> Trained:
        """Find the weights where slack costs `price`."""
        stopping, n = self.stopping, self.cuts.examples
        best, objective, upper, lower = np.zeros(self.cuts.matrix.shape[1]), np.inf, np.inf, 0.0
        enough = -np.inf
        state: MarginState | None = None
        vertex, at_vertex, surely, polishes = best, np.inf, np.inf, 0
        self.master.begin(self._open(price / n))
        for iteration in range(1, stopping.max_iterations + 1):
            plan = self._plan(price, vertex=polishes > 0)
            lower = max(lower, plan.lower)
            found = self.separator.most_violated(plan.weights, self._worst(plan.weights))
            self._answers += 1
            short = found.cut.shortfall(plan.weights) / n
            penalty = self.master.penalty(plan.weights)
            here = penalty + price * max(short, plan.slack)
            if here <= objective:
                best, objective = plan.weights, here
            sure = penalty + price * max(short + found.gap / n, plan.slack)
            upper = min(upper, sure)
            violation, used = short - plan.slack, int((self._idle <= stopping.cache).sum())
            state = MarginState(
                iteration,
                objective,
                upper,
                lower,
                violation,
                len(self.cuts),
                used,
                found.errors,
                partial(np.asarray, best),
            )
            self._add(found.cut, self._answers - 1)
            self.report(state)
            if plan.vertex and here <= at_vertex:
                vertex, at_vertex, surely = plan.weights, here, sure
            # The master problem itself is solved up to a part of epsilon only.
            enough = lower + (1 + PRECISION) * stopping.epsilon * price
            if at_vertex <= enough:
                return Trained(vertex, replace(state, objective=at_vertex, upper=surely), True)
            if objective <= enough:
                polishes += 1
                if polishes > POLISHES:
                    return Trained(best, state, True)
            self.master.observe(plan, here, price)
        assert state is not None
        return Trained(best, state, objective <= enough)

    def _open(self, price: float) -> FloatArray | None:
        if self.opening is None:
            return None
        weights, cut = self.opening(price)
        self._add(cut, LABELS)
        return weights

    def _add(self, cut: Cut, answer: int) -> None:
        self.cuts.add(cut)
        self._idle, self._answer = np.append(self._idle, 0), np.append(self._answer, answer)

    def _worst(self, weights: FloatArray) -> int:
        # A cut that is just kept is as bad as the labels, and its world keeps the hard clauses, as labels need not.
        short = np.where(self._answer == LABELS, -np.inf, self.cuts.shortfall(weights))
        if len(short) == 0 or float(short.max()) <= -self.stopping.epsilon:
            return LABELS
        return int(self._answer[np.argmax(short)])

    @at_stage("weights for the cuts so far")
    def _plan(self, price: float, *, vertex: bool) -> Plan:
        # Solve the master problem until it keeps the cuts that were set aside, too.
        epsilon = self.stopping.epsilon
        while True:
            used = self._idle <= self.stopping.cache
            plan = self.master.solve(self.cuts, used, price, PRECISION * epsilon, vertex=vertex)
            aside = ~used & (self.cuts.shortfall(plan.weights) > plan.slack + epsilon)
            if not aside.any():
                self._idle = np.where(plan.active, 0, self._idle + 1)
                weights = self.separator.rounded(plan.weights)
                slack = max(float(self.cuts.shortfall(weights)[used].max(initial=0.0)), 0.0)
                return replace(plan, weights=weights, slack=slack)
            self._idle[aside] = 0
