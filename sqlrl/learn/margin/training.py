"""Training by one convex program for each C, where the problem is one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sqlrl.ground.network import FloatArray
from sqlrl.learn.batch.fixed import fixed_values
from sqlrl.learn.batch.problem import Problem
from sqlrl.learn.margin.interior import Interior, Reached
from sqlrl.learn.margin.joint import group_clauses, make_joint
from sqlrl.learn.margin.linear import Linear
from sqlrl.learn.margin.masters import Penalty
from sqlrl.learn.margin.planes import State, Stopping, Trained


class JointTraining:
    """Trains weights for one C after the other as `planes.CuttingPlanes` does, with no cuts; see `joint.is_joint`.

    Parameters
    ----------
    problem : Problem
        n atoms, m clauses.
    penalty : {"l2", "l1"}
    stopping : Stopping
    report : callable
        Called with the `State` after each step.
    seed : int
        For the error where hard clauses cannot all hold.

    Raises
    ------
    ConflictError
        The hard clauses cannot all hold, and units show it.

    Examples
    --------
    >>> from sqlrl.learn.labels import Names
    >>> from sqlrl.solve.sample import network
    >>> problem = Problem(network(2, [(0, [1]), (1, [2])]), np.array([True, False]), Names())
    >>> training = JointTraining(problem, "l1", Stopping(1e-6, 50, 50), lambda state: None)
    >>> training.train(10.0).weights.tolist()
    [1.0, -1.0]
    """

    def __init__(
        self, problem: Problem, penalty: Penalty, stopping: Stopping, report: Callable[[State], None], *, seed: int = 0
    ) -> None:
        self.stopping, self.report = stopping, report
        self.examples = len(np.unique(problem.network.example))
        self._groups, self._squared = group_clauses(problem.network), penalty == "l2"
        size = self._groups.size.astype(np.float64)
        # Equal clauses share their weight W equally: half its squared norm is (W / sqrt(size))^2 / 2.
        self._scale: FloatArray = np.sqrt(size) if self._squared else np.ones(len(size))
        joint = make_joint(problem, fixed_values(problem, seed=seed), self._groups, self._scale)
        self._program: Interior | Linear = Interior(joint) if self._squared else Linear(joint)

    def train(self, strength: float) -> Trained | None:
        """Find the weights for C = `strength`, the price of the average slack.

        Returns
        -------
        Trained or None
            None where the labels break hard clauses and outscore all worlds: there the program is another one.
        """
        steps = 0

        def tell(upper: float, lower: float) -> None:
            nonlocal steps
            steps += 1
            self.report(State(steps, upper, upper, lower))

        # The program has the slack of all examples together, not the average.
        tolerance = self.stopping.epsilon * strength
        found = self._program.solve(strength / self.examples, tolerance, self.stopping.max_iterations, tell)
        if found.excess < -self.stopping.epsilon and found.upper - found.lower > tolerance:
            return None
        return self._trained(found, steps, tolerance)

    def _trained(self, found: Reached, steps: int, tolerance: float) -> Trained:
        whole, groups = found.weights * self._scale, self._groups
        weights = groups.spread(whole) if self._squared else groups.at_first(whole)
        state = State(steps, found.upper, found.upper, found.lower)
        return Trained(weights, state, state.gap <= tolerance)
