"""Linear programs over some components: whether hard hinges can hold, a point where they do, and the best one if no hinge is squared.

They are solved by HiGHS (Huangfu and Hall 2018), as scipy has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.solve.hinge.problem import ABSOLUTE, AT_MOST, EQUAL, Hinges, matrix_of

EXACT = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}


@dataclass(frozen=True, eq=False)
class Conflict:
    """Hard hinges, by their places, of which in every point one is violated by `excess` or more."""

    rows: IntArray
    excess: float


def _program(
    cost: FloatArray, above: Any, low: FloatArray, bounds: FloatArray, equal: Any = None, to: Any = None
) -> Any:
    from scipy.optimize import linprog

    return linprog(cost, above, low, equal, to, bounds, method="highs", options=EXACT)


def _two_sided(hinges: Hinges) -> tuple[sparse.csr_array, FloatArray, IntArray]:
    # Hard hinges as `matrix @ y + constant <= 0`, equalities twice; with the hinge of each row.
    hard = np.flatnonzero(hinges.kind >= AT_MOST)
    equal = hard[hinges.kind[hard] == EQUAL]
    rows = np.concatenate([hard, equal])
    sign = np.repeat([1.0, -1.0], [len(hard), len(equal)])
    matrix = sparse.csr_array(sparse.diags_array(sign) @ matrix_of(hinges)[rows])
    return matrix, sign * hinges.constant[rows], rows


def hard_point(hinges: Hinges, near: FloatArray, tolerance: float) -> FloatArray | Conflict:
    """Return a point near another one, shape (n,), at which hard hinges hold within the tolerance, or why there is none."""
    n = int(hinges.atom_start[-1])
    matrix, constant, rows = _two_sided(hinges)
    # The least t such that no hinge is violated by more than t.
    least = _program(
        np.append(np.zeros(n), 1.0),
        sparse.hstack([matrix, sparse.csr_array(np.full((len(rows), 1), -1.0))], format="csr"),
        -constant,
        np.append(np.tile([0.0, 1.0], (n, 1)), [[0.0, np.inf]], axis=0),
    )
    if least.status != 0:
        return near
    if least.fun > tolerance:
        # The dual solution is a vertex, so that it names few hinges; that they are in conflict is computed again from it (Farkas' lemma over the
        # box).
        share = np.maximum(-least.ineqlin.marginals, 0.0)
        share /= max(share.sum(), 1.0)
        excess = float(share @ constant + np.minimum(matrix.T @ share, 0.0).sum())
        if excess > tolerance:
            return Conflict(np.unique(rows[share > 1e-9]), excess)
    slack = max(float(least.fun), min(tolerance, 1e-6) / 2)
    closest = _program(
        np.repeat([0.0, 1.0], n),
        sparse.vstack(
            [
                sparse.hstack([matrix, sparse.csr_array((len(rows), n))]),
                sparse.hstack([sparse.eye_array(n), -sparse.eye_array(n)]),
                sparse.hstack([-sparse.eye_array(n), -sparse.eye_array(n)]),
            ],
            format="csr",
        ),
        np.concatenate([slack - constant, near, -near]),
        np.tile([0.0, 1.0], (2 * n, 1)),
    )
    point: FloatArray = least.x[:n] if closest.status != 0 else closest.x[:n]
    return np.clip(point, 0.0, 1.0)


def linear_point(hinges: Hinges) -> tuple[FloatArray, FloatArray] | None:
    """Return the best point and duals of components without squared hinges, shapes (n,) and (h,); None if HiGHS finds none."""
    matrix, n, h = matrix_of(hinges), int(hinges.atom_start[-1]), len(hinges.constant)
    soft = np.flatnonzero(hinges.kind < AT_MOST)
    both = np.flatnonzero(hinges.kind == ABSOLUTE)
    above = np.flatnonzero(hinges.kind == AT_MOST)
    equal = np.flatnonzero(hinges.kind == EQUAL)
    # The distance of each soft hinge is a variable of its own, of cost 1 for each unit of the hinge's.
    distance = sparse.csr_array((np.ones(len(soft)), (soft, np.arange(len(soft)))), shape=(h, len(soft)))
    found = _program(
        np.concatenate([np.zeros(n), hinges.cost[soft]]),
        sparse.vstack(
            [
                sparse.hstack([matrix[soft], -distance[soft]]),
                sparse.hstack([-matrix[both], -distance[both]]),
                sparse.hstack([matrix[above], distance[above]]),
            ],
            format="csr",
        ),
        np.concatenate([-hinges.constant[soft], hinges.constant[both], -hinges.constant[above]]),
        np.concatenate([np.tile([0.0, 1.0], (n, 1)), np.tile([0.0, np.inf], (len(soft), 1))]),
        sparse.hstack([matrix[equal], distance[equal]], format="csr"),
        -hinges.constant[equal],
    )
    if found.status != 0:
        return None
    dual = np.zeros(h)
    one, other, hard = np.split(-found.ineqlin.marginals, [len(soft), len(soft) + len(both)])
    dual[soft] += one
    dual[both] -= other
    dual[above] = hard
    dual[equal] = -found.eqlin.marginals
    return np.clip(found.x[:n], 0.0, 1.0), dual
