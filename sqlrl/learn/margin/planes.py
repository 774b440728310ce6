"""The cutting-plane method (Algorithm 2.1): weights for the cuts so far, the margin that they violate most, again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.learn.margin.cuts import ROOM, Cut, Cuts
from sqlrl.learn.margin.masters import Master, Plan
from sqlrl.learn.margin.separation import LABELS, ViolatedMargin
from sqlrl.progress import at_stage
from sqlrl.solve.result import UnsolvedError

PRECISION = 0.1
"""The master problem is solved up to this part of the gap that is allowed."""

HIGH_PRICE = 1e6
"""Above this price of a margin rounding of the slack costs more than weights do: weights are learned at this one, and held against the price that was
asked for. Where they are not as good there, the price rises."""

RISE = 1e3
"""What the price is taken times then."""

POLISHES = 10
"""Vertices to try where weights that are good enough are none, or the gap is more than their own penalty; the best weights are taken if none of these is
good enough."""


class Separator(Protocol):
    """What finds most violated margins; see `sqlrl.learn.margin.separation.Oracle`."""

    def most_violated(self, weights: FloatArray, known: int) -> ViolatedMargin:
        """Return the margin that weights, shape (m,), violate most; `known` is the worst of its earlier answers, or `LABELS`."""
        ...

    def rounded(self, weights: FloatArray) -> FloatArray:
        """Return weights, shape (m,), as it can take them."""
        ...

    @property
    def least_margin(self) -> float:
        """The least margin of any world but the labels, or less."""
        ...


Opening = Callable[[float], tuple[FloatArray, Cut]]
"""Weights to start from, shape (m,), and a cut that no single world makes, from C: the price of the loss of an atom."""


@dataclass(frozen=True)
class Stopping:
    """When to stop, and when to set cuts aside."""

    epsilon: float  # of the lower bound, or of 1 if that is more: the gap that is allowed
    max_iterations: int  # searches for the most violated margin
    cache: int  # iterations without a part in the solution after which a cut is set aside, until it is violated
    # Margins may be violated by this beyond the slack, on the average of mega-examples, whatever the gap is then; None for the gap.
    violation: float | None = None

    def allowed(self, price: float, examples: int, lower: float) -> float:
        """Return the gap that is allowed above a lower bound; `price` is that of the average slack."""
        if self.violation is not None:
            return self.violation * price
        # Below a price of 1 weights are no larger than it times counts, and gain no more than its square.
        least = min(1.0, price / examples)
        return self.epsilon * least * max(least, lower)

    def polished(self, price: float, examples: int, penalty: float) -> float:
        """Return the gap below which weights with some penalty are their own, however much the slack costs; inf where a violation stops."""
        least = min(1.0, price / examples)
        return np.inf if self.violation is not None else max(penalty, (1 + PRECISION) * self.epsilon * least * least)


def rising_prices(price: float, examples: int) -> Iterator[float]:
    """Yield the prices of the average slack at which weights for one are learned, until they are good enough."""
    working = HIGH_PRICE * examples
    while working < price:
        yield working
        working *= RISE
    yield price


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
    """Weights of one C, shape (m,), with the last state, and whether the gap is one that is allowed."""

    weights: FloatArray
    state: MarginState
    converged: bool


class CuttingPlanes:
    """Trains weights for one C after the other; cuts stay, as they hold for every C.

    Source: Huynh (2011), Algorithm 2.1, after Joachims, Finley and Yu (2009), with the average over mega-examples of
    both sides: for one mega-example it is OP4. Their constraint cache (section 4.4) is kept for whole cuts: those set
    aside are tried before the oracle. Stopping by the violation of the last weights implies a rule by the
    objective of the best weights seen, which is here; by default by its gap.
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
        prices = rising_prices(price, n)
        working, least, known = next(prices), np.inf, 0.0
        self.master.begin(self._open(working / n))
        for iteration in range(1, stopping.max_iterations + 1):
            try:
                plan = self._plan(working, price, known, vertex=polishes > 0)
            except UnsolvedError:
                # Rounding allows no program for so high a price: the bounds say how far the weights are that one for a lower price has.
                if state is None or working <= HIGH_PRICE * n:
                    raise
                break
            lower, known = max(lower, plan.whole_lower), max(known, plan.lower)
            found = self.separator.most_violated(
                plan.weights, self._worst(plan.weights, stopping.allowed(working, n, known) / working)
            )
            self._answers += 1
            short = found.cut.shortfall(plan.weights) / n
            penalty = self.master.penalty(plan.weights)
            slack, most = max(short, plan.slack), max(short + found.gap / n, plan.slack)
            here = penalty + working * slack
            least = min(least, here)
            weights, there = self._stretched(plan.weights, slack, price)
            if there <= objective:
                best, objective = weights, there
            _, sure = self._stretched(plan.weights, most, price)
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
            if plan.vertex and there <= at_vertex:
                vertex, at_vertex, surely = weights, there, sure
            solved = least <= known + (1 + PRECISION) * stopping.allowed(working, n, known)
            if working < price and solved:
                lower = max(lower, self.master.dearer(self.cuts, price - working, known))
                state = replace(state, lower=lower)
            # The master problem itself is solved up to a part of what is allowed only.
            enough = lower + (1 + PRECISION) * stopping.allowed(price, n, lower)
            if at_vertex <= enough:
                ended = self._ended(vertex, replace(state, objective=at_vertex, upper=surely), price)
                if polishes >= POLISHES or ended.state.gap <= stopping.polished(price, n, self.master.penalty(vertex)):
                    return ended
            if objective <= enough:
                polishes += 1
                if polishes > POLISHES:
                    return self._ended(best, state, price)
            self.master.observe(plan, here, working)
            if working < price and solved:
                # As good as they get at this price, and not good enough for the one that was asked for.
                working, least = next(prices), np.inf
                self.master.begin()
        assert state is not None
        if at_vertex <= enough:
            return self._ended(vertex, replace(state, objective=at_vertex, upper=surely), price)
        return self._ended(best, state, price)

    def _ended(self, weights: FloatArray, state: MarginState, price: float) -> Trained:
        allowed = (1 + PRECISION) * self.stopping.allowed(price, self.cuts.examples, state.lower)
        return Trained(weights, state, state.gap <= allowed)

    def _stretched(self, weights: FloatArray, slack: float, price: float) -> tuple[FloatArray, float]:
        """Return the multiple of weights, 1 or more, whose objective is least, and that, from the slack or a bound on it."""
        # Worlds other than the labels want a margin of m or more, so that t times the weights need t * slack - (t - 1) * m at most, in units of the sum.
        n, m = self.cuts.examples, min(self.separator.least_margin, 1.0)
        short, choices = slack * n, [1.0]
        if 0.0 < short < m:
            full, penalty = ROOM * m / (m - short), self.master.penalty(weights)
            choices.append(full)
            if penalty > 0.0 and self.master.order == 2:
                choices.append(min(max(price / n * (m - short) / (2.0 * penalty), 1.0), full))
        values = [
            self.master.penalty(t * weights) + price / n * (short if t == 1.0 else max(t * short - (t - 1.0) * m, 0.0))
            for t in choices
        ]
        best = int(np.argmin(values))
        return choices[best] * weights, values[best]

    def _open(self, price: float) -> FloatArray | None:
        if self.opening is None:
            return None
        weights, cut = self.opening(price)
        self._add(cut, LABELS)
        return weights

    def _add(self, cut: Cut, answer: int) -> None:
        self.cuts.add(cut)
        self._idle, self._answer = np.append(self._idle, 0), np.append(self._answer, answer)

    def _worst(self, weights: FloatArray, allowed: float) -> int:
        # A cut that is just kept is as bad as the labels, and its world keeps the hard clauses, as labels need not.
        short = np.where(self._answer == LABELS, -np.inf, self.cuts.shortfall(weights))
        if len(short) == 0 or float(short.max()) <= -allowed:
            return LABELS
        return int(self._answer[np.argmax(short)])

    @at_stage("weights for the cuts so far")
    def _plan(self, price: float, whole: float, known: float, *, vertex: bool) -> Plan:
        # Solve the master problem until it keeps the cuts that were set aside, too.
        allowed = self.stopping.allowed(price, self.cuts.examples, known) / price
        while True:
            used = self._idle <= self.stopping.cache
            plan = self.master.solve(self.cuts, used, price, PRECISION * allowed, vertex=vertex, whole=whole)
            aside = ~used & (self.cuts.shortfall(plan.weights) > plan.slack + allowed)
            if not aside.any():
                self._idle = np.where(plan.active, 0, self._idle + 1)
                weights = self.separator.rounded(plan.weights)
                slack = max(float(self.cuts.shortfall(weights)[used].max(initial=0.0)), 0.0)
                return replace(plan, weights=weights, slack=slack)
            self._idle[aside] = 0
