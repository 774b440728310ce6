"""The best weights for some cuts: the master problem of the cutting planes, for either norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.learn.margin.cuts import Cuts
from sqlrl.learn.margin.quadratic import solve_dual

Penalty = Literal["l2", "l1"]

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
    """What to try next.

    Parameters
    ----------
    weights : float array, shape (m,)
        The solution of the master problem, or weights on the way there.
    slack : float
        The least slack with which the weights keep all cuts that were used.
    lower : float
        No weights have a lower objective: the objective of a point within the bounds of the dual problem.
    active : bool array, shape (k,)
        Cuts with a multiplier other than 0.
    vertex : bool
        Whether they may be the last ones. Of the 1-norm only vertices of the master problem may, so that few weights are not 0; with
        the 2-norm all may.
    """

    weights: FloatArray
    slack: float
    lower: float
    active: BoolArray
    vertex: bool = True


class Master(Protocol):
    """Minimises the penalty of the weights plus the price of the slack over the cuts."""

    def penalty(self, weights: FloatArray) -> float:
        """Return what is added to C times the slack."""
        ...

    def begin(self, start: FloatArray | None = None) -> None:
        """Begin with another C, if there are weights to start from with those, shape (m,)."""
        ...

    def solve(self, cuts: Cuts, used: BoolArray, strength: float, tolerance: float, *, vertex: bool = False) -> Plan:
        """Propose weights over the used cuts, shape (k,), where the slack costs `strength`; `tolerance` is in the slack.

        With `vertex` they solve the master problem itself.
        """
        ...

    def told(self, plan: Plan, objective: float, strength: float) -> None:
        """Take the objective at the weights that were proposed last."""
        ...


class SquaredNorm:
    """Half the squared 2-norm: a level bundle of dual quadratic programs over the cuts.

    Notes
    -----
    The weights that are best for the cuts so far (Joachims, Finley and Yu 2009) jump between regions without cuts; most of thousands
    of iterations only find out where no good weights are. So steps minimise the same objective plus ``rho / 2 * |w - centre|^2``,
    where the centre is the best weights so far, with the rho for which it is a level between the bounds (Lemarechal, Nemirovskii and
    Nesterov 1995). With half the squared norm that is the same quadratic program with another centre. Where the
    cuts are as good as promised levels are lower, down to the best weights for the cuts.

    Examples
    --------
    >>> from sqlrl.learn.margin.cuts import Cut
    >>> cuts = Cuts(2, 1)
    >>> cuts.add(Cut(np.array([0]), np.array([2]), 1))
    >>> plan = SquaredNorm().solve(cuts, np.array([True]), 1.0, 1e-9)
    >>> plan.weights.tolist(), plan.slack, plan.lower
    ([0.5, 0.0], 0.0, 0.125)
    """

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
        return 0.5 * float(weights @ weights)

    def begin(self, start: FloatArray | None = None) -> None:
        """Forget the bounds: they were those for another C."""
        self._value, self._lower, self._level = np.inf, 0.0, HIGH
        self._waiting = [weights for weights in (self._centre, start) if weights is not None]
        self._centre = None

    def told(self, plan: Plan, objective: float, strength: float) -> None:
        """Take the objective at planned weights: move the centre there or stay, and choose the level."""
        promised = self.penalty(plan.weights) + strength * plan.slack
        if self._proposed:
            self._waiting.pop()
        elif np.isfinite(self._value):
            kept = objective - promised <= KEPT * (self._value - self._lower)
            self._level = 0.5 * self._level if kept else min(max(2.0 * self._level, LOW), HIGH)
        if objective < self._value:
            self._centre, self._value = plan.weights, objective

    def solve(self, cuts: Cuts, used: BoolArray, strength: float, tolerance: float, *, vertex: bool = False) -> Plan:
        """Propose weights over the used cuts; see `Master`."""
        places = np.flatnonzero(used)
        self._best = self._solve(cuts, places, strength, 0.0, self._best, tolerance * strength)
        weights = np.asarray(cuts.matrix.T @ self._best, dtype=np.float64)
        lower = float(cuts.demand @ self._best) - self.penalty(weights)
        self._lower = max(self._lower, lower)
        active = self._best > 0
        self._proposed = bool(self._waiting) and len(places) > 0 and not vertex
        if len(places) and not vertex:
            if self._proposed:
                weights = self._waiting[-1]
            elif self._centre is not None and self._level >= LOW and self._value - self._lower > tolerance * strength:
                weights = self._at_level(cuts, places, strength)
                active |= self._near > 0
        slack = max(float(cuts.shortfall(weights)[places].max(initial=0.0)), 0.0)
        return Plan(weights, slack, lower, active)

    def _at_level(self, cuts: Cuts, places: IntArray, strength: float) -> FloatArray:
        assert self._centre is not None
        gap, weights = self._value - self._lower, self._centre
        for _ in range(TRIES):
            self._near = self._solve(cuts, places, strength, self._rho, self._near, ROUGH * gap)
            weights = (self._rho * self._centre + cuts.matrix.T @ self._near) / (1.0 + self._rho)
            slack = max(float(cuts.shortfall(weights)[places].max(initial=0.0)), 0.0)
            off = (self.penalty(weights) + strength * slack - self._lower) / gap - self._level
            if abs(off) <= BAND * self._level:
                break
            factor = 2.0 if abs(off) <= 3 * BAND * self._level else 5.0
            self._rho = min(max(self._rho / factor if off > 0 else self._rho * factor, SMALLEST), 1 / SMALLEST)
        return np.asarray(weights, dtype=np.float64)

    def _solve(
        self, cuts: Cuts, places: IntArray, strength: float, rho: float, known: FloatArray, tolerance: float
    ) -> FloatArray:
        start = np.concatenate([known, np.zeros(len(cuts) - len(known))])
        gram, demand = cuts.gram[np.ix_(places, places)] / (1.0 + rho), cuts.demand[places]
        if rho > 0 and self._centre is not None:
            demand = cuts.shortfall(rho / (1.0 + rho) * self._centre)[places]
        alpha = np.zeros(len(cuts))
        alpha[places] = solve_dual(gram, demand, strength, tolerance, start[places])
        return alpha
