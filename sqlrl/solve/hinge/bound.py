"""A lower bound of the objective from duals, valid to floating point."""

from __future__ import annotations

import numpy as np

from sqlrl.ground.network import FloatArray
from sqlrl.kernels import kernel
from sqlrl.solve.hinge.problem import Hinges, conjugate_of

EPSILON = float(np.finfo(np.float64).eps)


def dual_bound(hinges: Hinges, dual: FloatArray) -> tuple[float, float]:
    """Return a lower bound of the cost of all hinges, and the rounding that was taken off it.

    f(e) >= s e - conjugate(s) for every s, and e = A y + b, so that the sum of f is at least that of ``s b - conjugate(s)`` and
    ``y (A's)``, which is least at y = 0 or 1; hard hinges have f = 0 where they hold and s e <= 0. Rounding: Neumaier and Shcherbina,
    "Safe bounds in linear and mixed-integer linear programming" (2004), section 2.
    """
    # A dual is possible from 0 to the cost of a linear hinge, from minus that if it is also an equality, from 0 on if it is a squared or hard
    # inequality, and else anywhere. No multipliers need to sum to zero: the box takes what is left.
    value, size = _dual_value(hinges, dual)
    # Sums over hinges and atoms are compensated: their error is a few units of rounding of the sum of sizes.
    rounding = 8.0 * EPSILON * size
    return value - rounding, rounding


@kernel
def _dual_value(hinges: Hinges, dual: FloatArray) -> tuple[float, float]:
    n = hinges.atom_start[-1]
    gradient, size, terms = np.zeros(n), np.zeros(n), np.zeros(n)
    total, carried, sizes = 0.0, 0.0, 0.0
    for r in range(len(dual)):
        s, b = dual[r], hinges.constant[r]
        conjugate = conjugate_of(hinges.kind[r], hinges.cost[r], s)
        term = s * b - conjugate
        after = total + term
        carried += (total - after) + term if abs(total) >= abs(term) else (term - after) + total
        total = after
        sizes += abs(s * b) + conjugate
        for k in range(hinges.pointer[r], hinges.pointer[r + 1]):
            i, share = hinges.column[k], hinges.coefficient[k] * s
            gradient[i] += share
            size[i] += abs(share)
            terms[i] += 1.0
    for i in range(n):
        term = min(gradient[i], 0.0)
        after = total + term
        carried += (total - after) + term if abs(total) >= abs(term) else (term - after) + total
        total = after
        # Each of its additions may be wrong by a unit of rounding of what there was to add.
        sizes += size[i] * (1.0 + terms[i] / 8.0)
    return total + carried, sizes
