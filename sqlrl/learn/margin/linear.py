"""The weights of least 1-norm for a joint program: one linear program."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from sqlrl.ground.network import FloatArray
from sqlrl.learn.margin.interior import Reached
from sqlrl.learn.margin.joint import Joint
from sqlrl.solve.result import UnsolvedError
from sqlrl.solve.scaling import in_background


class Linear:
    """Minimises ``|v|_1 + strength * slack(v)`` over the weights v of a joint program.

    Parameters
    ----------
    joint : Joint
        k truths, g groups.

    Notes
    -----
    With v as the difference of two parts and a multiplier for each row, the slack is that of a linear program, whose dual values
    are the truths. HiGHS solves it to a vertex, so that few weights are not 0.

    Examples
    --------
    >>> one = Joint(-np.eye(1), np.ones(1), np.ones(1), sparse.csr_array((0, 1)), np.empty(0), np.zeros(1), 0.0)
    >>> found = Linear(one).solve(10.0, 1e-6, 50, lambda upper, lower: None)
    >>> found.weights.tolist(), found.upper, found.lower
    ([1.0], 1.0, 1.0)
    """

    def __init__(self, joint: Joint) -> None:
        self.joint = joint
        k = len(joint.gain)
        counts, none = sparse.csr_array(joint.features), sparse.csr_array((k, 1))
        # Each truth's part of the slack is what it adds, less what the rows cost it; all parts together are the slack.
        each = sparse.hstack([counts, -counts, -joint.rows.T, -sparse.eye_array(k), none])
        whole = np.concatenate([-joint.offset, joint.offset, joint.limit, joint.high, [-1.0]])
        self._matrix = sparse.vstack([each, sparse.csr_array(whole[np.newaxis])], format="csc")

    def solve(self, strength: float, tolerance: float, limit: int, report: Callable[[float, float], None]) -> Reached:
        """Solve; parameters and result are those of `Interior.solve`, and there is one step.

        Raises
        ------
        UnsolvedError
            HiGHS gave up.
        """
        joint = self.joint
        (k, g), r = joint.features.shape, len(joint.limit)
        cost = np.concatenate([np.ones(2 * g), np.zeros(r + k), [strength]])
        below = np.append(-joint.gain, -joint.constant)
        program = partial(linprog, cost, A_ub=self._matrix, b_ub=below, bounds=(0, None), method="highs-ipm")
        result = in_background(program)
        if result.x is None:
            raise UnsolvedError(f"HiGHS did not solve the linear program of {k} truths: {result.message}")
        weights = np.asarray(result.x[:g] - result.x[g : 2 * g], dtype=np.float64)
        excess = joint.excess(weights, np.asarray(result.x[2 * g : 2 * g + r], dtype=np.float64))
        upper = float(np.abs(weights).sum()) + strength * max(excess, 0.0)
        lower = self._lower(np.maximum(-np.asarray(result.ineqlin.marginals, dtype=np.float64), 0.0), strength)
        report(upper, lower)
        return Reached(weights, upper, lower, excess, 1)

    def _lower(self, dual: FloatArray, strength: float) -> float:
        # Of truths in the polytope the most mass with which no weight gains more than its norm.
        joint, mass = self.joint, dual[-1]
        inside = joint.inside(dual[:-1] / mass) if mass > 0 else None
        if inside is None:
            return 0.0
        most = float(np.abs(joint.offset - joint.features.T @ inside).max(initial=0.0))
        mass = strength if most * strength <= 1.0 else 1.0 / most
        return mass * max(joint.constant + float(joint.gain @ inside), 0.0)
