"""Consensus ADMM over hinges: every hinge has its own copies of its truth values, and the truth values are the copies' means.

Sources: Bach et al. (2017), section 5; Boyd et al. (2011), sections 6.1 and 7.2: closed forms of the hinges' steps, and a mean that is cut to
[0, 1]. Over-relaxation by 1.6: Boyd et al., section 3.4.3. The penalty of each component balances its residuals, each relative to
its size: Wohlberg (2017), "ADMM penalty parameter selection by residual balancing", section 3.

After a hinge's step its multipliers are minus its coefficients times one number, its dual, from which the bound is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.solve.hinge.iterates import Goal, Iterates, look
from sqlrl.solve.hinge.problem import Hinges, dual_of

RELAXATION = 1.6

LOOK = 20
"""Iterations between two evaluations of objective and bound, after which the penalty is chosen anew."""


class Consensus(NamedTuple):
    """What ADMM keeps beside `Iterates`: the multiplier of each copy; how many copies an atom has, their sums, and the hinges' squared norms."""

    multiplier: FloatArray
    copies: FloatArray
    total: FloatArray
    norm: FloatArray
    gradient: FloatArray


def prepare(hinges: Hinges, points: Iterates) -> Consensus:
    """Return the state of an iteration that starts at the points; penalties that are 0 get a value."""
    points.penalty[points.penalty <= 0] = 1.0
    length = np.diff(hinges.pointer)
    n = len(points.y)
    return Consensus(
        -hinges.coefficient * np.repeat(points.dual, length),
        np.bincount(hinges.column, minlength=n).astype(np.float64),
        np.zeros(n),
        np.add.reduceat(hinges.coefficient**2, hinges.pointer[:-1]) if len(length) else np.zeros(0),
        np.zeros(n),
    )


@inner
def iterate(hinges: Hinges, points: Iterates, state: Consensus, c: int, turns: int, goal: Goal) -> int:
    """Iterate one component until its gap is closed, but at most so many times; return how many it were."""
    first, last = hinges.atom_start[c], hinges.atom_start[c + 1]
    low, high = hinges.hinge_start[c], hinges.hinge_start[c + 1]
    y, multiplier = points.y, state.multiplier
    for turn in range(turns):
        penalty = points.penalty[c]
        for i in range(first, last):
            state.total[i] = 0.0
        primal, size = 0.0, 0.0
        for r in range(low, high):
            e = hinges.constant[r]
            for k in range(hinges.pointer[r], hinges.pointer[r + 1]):
                e += hinges.coefficient[k] * (y[hinges.column[k]] - multiplier[k] / penalty)
            step = penalty / state.norm[r]
            s = dual_of(hinges.kind[r], hinges.cost[r], step * e, step)
            points.dual[r] = s
            for k in range(hinges.pointer[r], hinges.pointer[r + 1]):
                i = hinges.column[k]
                apart = -(multiplier[k] + s * hinges.coefficient[k]) / penalty
                primal += apart * apart
                # The multiplier is that of the relaxed copy; the mean of the copies, once it is known, is taken off it.
                multiplier[k] += penalty * (y[i] + RELAXATION * apart)
                state.total[i] += multiplier[k] / penalty
        moved, agreed = 0.0, 0.0
        for i in range(first, last):
            after = min(max(state.total[i] / state.copies[i], 0.0), 1.0)
            moved += state.copies[i] * (after - y[i]) ** 2
            agreed += state.copies[i] * after * after
            y[i] = after
        for k in range(hinges.pointer[low], hinges.pointer[high]):
            multiplier[k] -= penalty * y[hinges.column[k]]
            size += multiplier[k] * multiplier[k]
        points.used[c] += 1
        if points.used[c] % LOOK == 0:
            if look(hinges, points, c, y, points.dual, state.gradient, goal):
                return turn + 1
            one, other = np.sqrt(primal * size), penalty * np.sqrt(moved * agreed)
            if one > 0 and other > 0:
                factor = min(max(np.sqrt(one / other), 0.2), 5.0)
                if factor > 1.5 or factor < 1 / 1.5:
                    points.penalty[c] = min(max(penalty * factor, 1e-9), 1e9)
    return turns


@kernel
def advance(
    hinges: Hinges, points: Iterates, state: Consensus, left: IntArray, goal: Goal, cursor: int, work: int
) -> int:
    """Iterate components in turn, each as often as `left` says, until about so many coefficients were read; return where it ended."""
    while cursor < len(points.done) and work > 0:
        if points.done[cursor] or left[cursor] <= 0:
            cursor += 1
            continue
        entries = hinges.pointer[hinges.hinge_start[cursor + 1]] - hinges.pointer[hinges.hinge_start[cursor]]
        turns = iterate(hinges, points, state, cursor, min(left[cursor], work // entries + 1), goal)
        left[cursor] -= turns
        work -= turns * entries
    return cursor
