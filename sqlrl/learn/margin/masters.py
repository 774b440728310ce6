"""The best weights for some cuts: the master problem of the cutting planes, for either norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray
from sqlrl.learn.margin.cuts import Cuts
from sqlrl.learn.margin.quadratic import solve_dual

Penalty = Literal["l2", "l1"]


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
        Whether they solve the master problem itself; of the 1-norm, as a vertex, so that few weights are not 0.
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

    def begin(self) -> None:
        """Begin with another C."""
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
    """Half the squared 2-norm: the dual quadratic program over the cuts, started from its last solution.

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
        self._alpha: FloatArray = np.empty(0)

    def penalty(self, weights: FloatArray) -> float:
        """Return half the squared norm."""
        return 0.5 * float(weights @ weights)

    def begin(self) -> None:
        """Do nothing: multipliers are as good a start for another C."""

    def told(self, plan: Plan, objective: float, strength: float) -> None:
        """Do nothing: the next weights depend on the cuts alone."""

    def solve(self, cuts: Cuts, used: BoolArray, strength: float, tolerance: float, *, vertex: bool = False) -> Plan:
        """Solve over the used cuts; see `Master`."""
        start = np.concatenate([self._alpha, np.zeros(len(cuts) - len(self._alpha))])
        places = np.flatnonzero(used)
        gram, demand = cuts.gram[np.ix_(places, places)], cuts.demand[places]
        alpha = np.zeros(len(cuts))
        alpha[places] = solve_dual(gram, demand, strength, tolerance * strength, start[places])
        self._alpha = alpha
        weights = np.asarray(cuts.matrix.T @ alpha, dtype=np.float64)
        lower = float(cuts.demand @ alpha) - self.penalty(weights)
        slack = max(float(cuts.shortfall(weights)[places].max(initial=0.0)), 0.0)
        return Plan(weights, slack, lower, alpha > 0)
