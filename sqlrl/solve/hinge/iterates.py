"""The iterates of a first-order method over the components of a problem: points, the best that was found of each, and when one is done."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.solve.hinge.problem import Hinges, conjugate_of, cost_of, dual_of, violation_of


class Iterates(NamedTuple):
    """The iterates over p atoms, q hinges and c components, in arrays that loops change in place."""

    y: FloatArray  # shape (p,)
    dual: FloatArray  # shape (q,)
    gradient: FloatArray  # shape (p,): the sum of coefficients times duals of each atom
    # The point of the lowest objective among those that were looked at and violate no hard hinge by more than the tolerance.
    best_y: FloatArray
    best_dual: FloatArray  # those of the highest bound
    objective: FloatArray  # shape (c,): of `best_y`; infinite before there is one
    bound: FloatArray  # shape (c,): of `best_dual`
    penalty: FloatArray  # shape (c,): weighs steps of `y` against those of the duals
    done: BoolArray  # shape (c,): whether the gap is closed
    used: IntArray  # shape (c,): iterations so far
    goal: FloatArray  # shape (c,): parts of the absolute tolerance


class Goal(NamedTuple):
    """When a component is done: its gap is at most `relative` times its objective, and its part of the absolute tolerance, `Iterates.goal`."""

    relative: float
    violation: float


def start(hinges: Hinges, y: FloatArray, dual: FloatArray, penalty: FloatArray, absolute: float) -> Iterates:
    """Return the iterates at a point; each component has a part of the absolute tolerance that goes by its size."""
    components = len(hinges.atom_start) - 1
    entries = np.diff(hinges.pointer[hinges.hinge_start])
    points = Iterates(
        np.clip(y, 0.0, 1.0),
        dual.copy(),
        np.zeros(len(y)),
        np.zeros(len(y)),
        np.zeros(len(dual)),
        np.full(components, np.inf),
        np.full(components, -np.inf),
        penalty.copy(),
        np.zeros(components, dtype=np.bool_),
        np.zeros(components, dtype=np.int64),
        absolute * entries / max(int(entries.sum()), 1),
    )
    _possible(hinges, points.dual, points.gradient)
    return points


@kernel
def _possible(hinges: Hinges, dual: FloatArray, gradient: FloatArray) -> None:
    # Duals become possible ones, the nearest, and the gradient is theirs.
    for r in range(len(dual)):
        if hinges.kind[r] == 1 or hinges.kind[r] == 4:
            dual[r] = max(dual[r], 0.0)
        elif hinges.kind[r] == 0 or hinges.kind[r] == 2:
            dual[r] = dual_of(hinges.kind[r], hinges.cost[r], dual[r], 1.0)
        for k in range(hinges.pointer[r], hinges.pointer[r + 1]):
            gradient[hinges.column[k]] += hinges.coefficient[k] * dual[r]


@kernel
def slopes(hinges: Hinges, y: FloatArray, dual: FloatArray) -> None:
    """Write the slope of each hinge's cost at a point, 0 of hard hinges, into `dual`: what it is if the point is the best."""
    for r in range(len(dual)):
        e = hinges.constant[r]
        for k in range(hinges.pointer[r], hinges.pointer[r + 1]):
            e += hinges.coefficient[k] * y[hinges.column[k]]
        kind, cost = hinges.kind[r], hinges.cost[r]
        if kind > 3:
            dual[r] = 0.0
        elif kind in (1, 3):
            dual[r] = 2.0 * cost * e if kind == 3 or e > 0 else 0.0
        else:
            dual[r] = cost if e > 0 else -cost if e < 0 and kind == 2 else 0.0


@inner
def note(
    hinges: Hinges,
    points: Iterates,
    c: int,
    objective: float,
    bound: float,
    y: FloatArray,
    dual: FloatArray,
    goal: Goal,
) -> bool:
    """Note what is best in a point of one component with its duals, and return whether the gap is closed."""
    if objective < points.objective[c]:
        points.objective[c] = objective
        # Copies of slices would take numba a second to compile.
        for i in range(hinges.atom_start[c], hinges.atom_start[c + 1]):
            points.best_y[i] = y[i]
    if bound > points.bound[c]:
        points.bound[c] = bound
        for r in range(hinges.hinge_start[c], hinges.hinge_start[c + 1]):
            points.best_dual[r] = dual[r]
    found = points.objective[c]
    closed: bool = found < np.inf and found - points.bound[c] <= goal.relative * found + points.goal[c]
    points.done[c] = closed
    return closed


@inner
def look(
    hinges: Hinges, points: Iterates, c: int, y: FloatArray, dual: FloatArray, gradient: FloatArray, goal: Goal
) -> bool:
    """Evaluate a point of one component, note what is best in it, and return whether the gap is closed; `gradient` is scratch.

    Source of the bound: Bach et al. (2017), section 5.1, whose Lagrangian this is; the multipliers of a hinge's copies are its dual times
    its coefficients, and the box takes what their sums leave: sum of s b - conjugate(s), and of min(0, A's) over the atoms.
    """
    first, last = hinges.atom_start[c], hinges.atom_start[c + 1]
    for i in range(first, last):
        gradient[i] = 0.0
    objective, bound, worst = 0.0, 0.0, 0.0
    for r in range(hinges.hinge_start[c], hinges.hinge_start[c + 1]):
        e, s = hinges.constant[r], dual[r]
        for k in range(hinges.pointer[r], hinges.pointer[r + 1]):
            i = hinges.column[k]
            e += hinges.coefficient[k] * y[i]
            gradient[i] += hinges.coefficient[k] * s
        kind, cost = hinges.kind[r], hinges.cost[r]
        objective += cost_of(kind, cost, e)
        bound += s * hinges.constant[r] - conjugate_of(kind, cost, s)
        worst = max(worst, violation_of(kind, e))
    for i in range(first, last):
        bound += min(gradient[i], 0.0)
    return note(hinges, points, c, objective if worst <= goal.violation else np.inf, bound, y, dual, goal)


@kernel
def look_at(hinges: Hinges, points: Iterates, wanted: IntArray, goal: Goal) -> None:
    """Evaluate the points of some components, given by their numbers."""
    for k in range(len(wanted)):
        look(hinges, points, wanted[k], points.y, points.dual, points.gradient, goal)


@kernel
def residuals(hinges: Hinges, y: FloatArray, dual: FloatArray) -> tuple[float, float]:
    """By how much the conditions of Karush, Kuhn and Tucker fail at most: of the hinges (primal), and of the atoms (dual)."""
    gradient = np.zeros(len(y))
    primal, other = 0.0, 0.0
    for r in range(len(dual)):
        e = hinges.constant[r]
        for k in range(hinges.pointer[r], hinges.pointer[r + 1]):
            e += hinges.coefficient[k] * y[hinges.column[k]]
            gradient[hinges.column[k]] += hinges.coefficient[k] * dual[r]
        primal = max(primal, abs(dual[r] - dual_of(hinges.kind[r], hinges.cost[r], dual[r] + e, 1.0)))
    for i in range(len(y)):
        other = max(other, abs(y[i] - min(max(y[i] - gradient[i], 0.0), 1.0)))
    return primal, other
