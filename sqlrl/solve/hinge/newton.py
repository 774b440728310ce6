"""Projected Newton steps over hinges that are all squared and soft, whose cost has a slope everywhere: a convex quadratic function in pieces.

A step solves, by conjugate gradients, for the best point of the piece that the present point is in, with the atoms at an end of [0, 1] from which
the slope does not lead away left out; it is cut to the box, and shortened until the cost falls enough. The pieces near the optimum are found
after a few steps. Sources of the parts:

- which atoms are left out, and when a step is short enough: Bertsekas (1982), "Projected Newton methods for optimization problems with simple
  constraints", section 2;
- steps that need not be exact: Dembo, Eisenstat and Steihaug (1982), "Inexact Newton methods"; conjugate gradients are scaled by the diagonal.

The slopes of the hinges are the duals, so that each point has a bound. A turn is one pass over the hinges, as an iteration of the other methods
is: either a point is evaluated, or a matrix is multiplied by a vector.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.solve.hinge.iterates import Goal, Iterates, note
from sqlrl.solve.hinge.problem import QUADRATIC, Hinges

FALL = 1e-4
"""The part of what the slope promises by which the cost has to fall."""

EXACT = 0.1
"""Conjugate gradients end when the residual fell to this part, or to the square root of that of the slope since the start if this is less."""

SOLVING = 100
"""The most multiplications of one step."""

SHORTEST = 1e-10
"""A step that has to be shorter is that of a point that rounding lets no step improve."""

NEAR = 1e-3
"""The farthest from an end of [0, 1] that an atom is left out: a step would be cut there."""

DAMPING = 1e-9
"""What is added to the diagonal, in parts of it, so that matrices are regular."""

EVALUATE, SOLVE, STUCK = range(3)
"""What the next turn of a component does; after `STUCK` there is none."""


class Steps(NamedTuple):
    """What the method keeps beside `Iterates`, over p atoms, q hinges and c components."""

    tried: FloatArray  # shape (p,), as are all down to `free`: the point to evaluate
    slope: FloatArray  # at `tried`
    curvature: FloatArray  # the diagonal of the matrix of the piece of `tried`
    step: FloatArray  # what is taken off `y` before the cut
    residual: FloatArray
    direction: FloatArray  # of conjugate gradients
    product: FloatArray  # the matrix times `direction`
    free: BoolArray  # which atoms are not left out
    rows: npt.NDArray[np.uint32]  # shape (q,): the hinges of the piece of `tried`, those of each component at its start
    bent: IntArray  # shape (c,), as are all below: how many these are
    stage: IntArray  # what the next turn does
    solved: IntArray  # multiplications of this step
    cost: FloatArray  # at `y`, infinite at the start
    promised: FloatArray  # by how much the cost falls, to the first order, along the free atoms of a step of length 1
    length: FloatArray
    first: FloatArray  # the squared size of the first slope, negative before there is one
    aim: FloatArray  # conjugate gradients end at this squared residual
    left: FloatArray  # the squared residual, scaled


def prepare(points: Iterates) -> Steps:
    """Return the state of steps that start at the points."""
    n, h, c = len(points.y), len(points.dual), len(points.done)
    return Steps(
        points.y.copy(), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, np.bool_),
        np.zeros(h, np.uint32), np.zeros(c, np.int64), np.zeros(c, np.int64), np.zeros(c, np.int64),
        np.full(c, np.inf), np.zeros(c), np.ones(c), np.full(c, -1.0), np.zeros(c), np.zeros(c),
    )  # fmt: skip


@inner
def evaluate(hinges: Hinges, points: Iterates, state: Steps, c: int, goal: Goal) -> float:
    """Evaluate the tried point of a component, with its slope, its piece and its bound, and return what it costs."""
    first, last = hinges.atom_start[c], hinges.atom_start[c + 1]
    low = hinges.hinge_start[c]
    for i in range(first, last):
        state.slope[i] = 0.0
        state.curvature[i] = 0.0
    cost, bound, bent = 0.0, 0.0, 0
    for r in range(low, hinges.hinge_start[c + 1]):
        e = hinges.constant[r]
        for k in range(hinges.pointer[r], hinges.pointer[r + 1]):
            e += hinges.coefficient[k] * state.tried[hinges.column[k]]
        if e <= 0.0 and hinges.kind[r] != QUADRATIC:
            points.dual[r] = 0.0
            continue
        state.rows[low + bent] = r
        bent += 1
        weight = hinges.cost[r]
        s = 2.0 * weight * e
        points.dual[r] = s
        cost += weight * e * e
        bound += s * hinges.constant[r] - weight * e * e
        for k in range(hinges.pointer[r], hinges.pointer[r + 1]):
            a, i = hinges.coefficient[k], hinges.column[k]
            state.slope[i] += a * s
            state.curvature[i] += 2.0 * weight * a * a
    state.bent[c] = bent
    for i in range(first, last):
        bound += min(state.slope[i], 0.0)
    note(hinges, points, c, cost, bound, state.tried, points.dual, goal)
    return cost


@inner
def begin(hinges: Hinges, points: Iterates, state: Steps, c: int) -> None:
    """Take the tried point, and begin to solve for the next step."""
    first, last = hinges.atom_start[c], hinges.atom_start[c + 1]
    far, size = 0.0, 0.0
    for i in range(first, last):
        y, g = state.tried[i], state.slope[i]
        points.y[i] = y
        points.gradient[i] = g
        if state.curvature[i] > 0.0:
            far = max(far, abs(y - min(max(y - g / state.curvature[i], 0.0), 1.0)))
    near, left = min(NEAR, far), 0.0
    for i in range(first, last):
        y, g, d = points.y[i], state.slope[i], state.curvature[i]
        state.direction[i] = 0.0
        state.residual[i] = 0.0
        state.free[i] = False
        if d == 0.0:
            # No hinge is bent here, and so the slope is 0.
            state.step[i] = 0.0
        elif (y <= near and g > 0.0) or (y >= 1.0 - near and g < 0.0):
            state.step[i] = g / d
        else:
            state.free[i] = True
            state.step[i] = 0.0
            state.residual[i] = g
            state.direction[i] = g / d
            left += g * g / d
        moved = y - min(max(y - g / d, 0.0), 1.0) if d > 0.0 else 0.0
        size += moved * moved * d
    if state.first[c] < 0.0:
        state.first[c] = size
    share = size / state.first[c] if state.first[c] > 0.0 else 0.0
    state.left[c] = left
    state.aim[c] = left * min(EXACT * EXACT, share)
    state.solved[c] = 0
    state.stage[c] = SOLVE
    if left <= 0.0:
        propose(hinges, points, state, c, 1.0)


@inner
def propose(hinges: Hinges, points: Iterates, state: Steps, c: int, length: float) -> None:
    """Let the next turn evaluate the point at the end of the step, of a part of its length."""
    promised = 0.0
    for i in range(hinges.atom_start[c], hinges.atom_start[c + 1]):
        state.tried[i] = min(max(points.y[i] - length * state.step[i], 0.0), 1.0)
        if state.free[i]:
            promised += points.gradient[i] * state.step[i]
    state.length[c] = length
    state.promised[c] = promised
    state.stage[c] = EVALUATE


@inner
def look(hinges: Hinges, points: Iterates, state: Steps, c: int, goal: Goal) -> None:
    """Evaluate the tried point; take it, or let the next turn try a shorter step."""
    cost = evaluate(hinges, points, state, c, goal)
    if points.done[c]:
        return
    before, length = state.cost[c], state.length[c]
    fall = length * state.promised[c]
    if before < np.inf:
        for i in range(hinges.atom_start[c], hinges.atom_start[c + 1]):
            if not state.free[i]:
                fall += points.gradient[i] * (points.y[i] - state.tried[i])
    if before == np.inf or cost <= before - FALL * fall:
        state.cost[c] = cost
        begin(hinges, points, state, c)
    elif length < SHORTEST:
        state.stage[c] = STUCK
    else:
        # The least of the parabola through both costs, with the slope at the start.
        excess = cost - before + fall
        part = 0.5 * fall / excess if excess > 0.0 else 0.5
        propose(hinges, points, state, c, length * min(max(part, 0.1), 0.5))


@inner
def solve(hinges: Hinges, points: Iterates, state: Steps, c: int) -> None:
    """Multiply once, and end the step if it is exact enough."""
    first, last = hinges.atom_start[c], hinges.atom_start[c + 1]
    low = hinges.hinge_start[c]
    for i in range(first, last):
        state.product[i] = DAMPING * state.curvature[i] * state.direction[i]
    for j in range(low, low + state.bent[c]):
        r = state.rows[j]
        e = 0.0
        for k in range(hinges.pointer[r], hinges.pointer[r + 1]):
            e += hinges.coefficient[k] * state.direction[hinges.column[k]]
        if e != 0.0:
            e *= 2.0 * hinges.cost[r]
            for k in range(hinges.pointer[r], hinges.pointer[r + 1]):
                state.product[hinges.column[k]] += hinges.coefficient[k] * e
    curved = 0.0
    for i in range(first, last):
        if state.free[i]:
            curved += state.direction[i] * state.product[i]
    length = state.left[c] / curved
    left = 0.0
    for i in range(first, last):
        if state.free[i]:
            state.step[i] += length * state.direction[i]
            state.residual[i] -= length * state.product[i]
            left += state.residual[i] * state.residual[i] / state.curvature[i]
    state.solved[c] += 1
    if left <= state.aim[c] or state.solved[c] >= SOLVING:
        propose(hinges, points, state, c, 1.0)
        return
    share = left / state.left[c]
    state.left[c] = left
    for i in range(first, last):
        if state.free[i]:
            state.direction[i] = state.residual[i] / state.curvature[i] + share * state.direction[i]


@inner
def iterate(hinges: Hinges, points: Iterates, state: Steps, c: int, turns: int, goal: Goal) -> int:
    """Take so many turns of a component, but at most until its gap is closed or no step improves it; return how many it were."""
    for turn in range(turns):
        if state.stage[c] == EVALUATE:
            look(hinges, points, state, c, goal)
        else:
            solve(hinges, points, state, c)
        points.used[c] += 1
        if points.done[c] or state.stage[c] == STUCK:
            return turn + 1
    return turns


@kernel
def advance(hinges: Hinges, points: Iterates, state: Steps, left: IntArray, goal: Goal, cursor: int, work: int) -> int:
    """Iterate components in turn, each as often as `left` says, until about so many coefficients were read; return where it ended."""
    while cursor < len(points.done) and work > 0:
        if points.done[cursor] or left[cursor] <= 0 or state.stage[cursor] == STUCK:
            cursor += 1
            continue
        entries = hinges.pointer[hinges.hinge_start[cursor + 1]] - hinges.pointer[hinges.hinge_start[cursor]]
        turns = iterate(hinges, points, state, cursor, min(left[cursor], work // entries + 1), goal)
        left[cursor] -= turns
        work -= turns * entries
    return cursor


@kernel
def leave(hinges: Hinges, points: Iterates, state: Steps, wanted: IntArray, goal: Goal) -> None:
    """Let another method go on with some components, given by their numbers: duals and gradients become those of the last points."""
    for k in range(len(wanted)):
        c = wanted[k]
        first, last = hinges.atom_start[c], hinges.atom_start[c + 1]
        for i in range(first, last):
            state.tried[i] = points.y[i]
        evaluate(hinges, points, state, c, goal)
        for i in range(first, last):
            points.gradient[i] = state.slope[i]
