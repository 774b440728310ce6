"""Restarted reflected Halpern iteration of the primal-dual hybrid gradient method over hinges.

The method of Chambolle and Pock alternates a gradient step of the truth values, cut to [0, 1], and one of each hinge's dual, for which there is
a closed form: it is ADMM with the consensus step made explicit ("preconditioned ADMM": Chambolle and Pock 2011, section 4.3), and its state is one
number for each atom and each hinge instead of two for each atom of each hinge. Sources of the parts:

- steps: diagonal preconditioning (Pock and Chambolle 2011, lemma 2, alpha = 1) after ten equilibrations of rows and columns (Ruiz 2001);
- iteration: reflected, and anchored at the last restart (Lu and Yang 2024, "Restarted Halpern PDHG for linear programming", r2HPDHG);
- restarts when the fixed-point residual has fallen enough, and the primal weight (here: penalty) of each component from how far `y` and duals
  moved since the last one: Applegate et al. 2021 ("Practical large-scale linear programming using PDHG", PDLP), section 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.solve.hinge.iterates import Goal, Iterates, look
from sqlrl.solve.hinge.problem import Hinges, dual_of

SUFFICIENT, NECESSARY, ARTIFICIAL = 0.2, 0.8, 0.36
"""Restart if the residual fell to 0.2 of that after the last restart; to 0.8 and grows again; or after 0.36 of all iterations."""

LOOK = 40
"""Iterations between two evaluations of objective and bound, beside those at restarts."""

EQUILIBRATIONS = 10


class Halpern(NamedTuple):
    """What the iteration keeps beside `Iterates`."""

    step_y: FloatArray
    step_dual: FloatArray
    anchor_y: FloatArray  # the point at the last restart
    anchor_dual: FloatArray
    next_y: FloatArray  # the point that the operator gave
    next_dual: FloatArray
    reflected: FloatArray  # scratch for atoms, as are the next two
    moved: FloatArray
    gradient: FloatArray
    since: IntArray  # of each component: iterations since the restart
    first: FloatArray  # the first residual after it, negative before there is one
    last: FloatArray  # the last residual, negative before there is one


def prepare(hinges: Hinges, points: Iterates) -> Halpern:
    """Return the state of an iteration that starts at the points; penalties that are 0 get a value."""
    step_y, step_dual = steps(hinges)
    components = len(points.done)
    fresh = points.penalty <= 0
    points.penalty[fresh] = 1.0
    n, h = len(points.y), len(points.dual)
    return Halpern(
        step_y, step_dual, points.y.copy(), points.dual.copy(), np.zeros(n), np.zeros(h), np.zeros(n), np.zeros(n), np.zeros(n),
        np.zeros(components, dtype=np.int64), np.full(components, -1.0), np.full(components, -1.0),
    )  # fmt: skip


@kernel
def steps(hinges: Hinges) -> tuple[FloatArray, FloatArray]:
    """Return steps of atoms and hinges, shapes (n,) and (h,), such that the iteration is nonexpansive."""
    n, h = hinges.atom_start[-1], len(hinges.constant)
    row, column = np.ones(h), np.ones(n)
    for _ in range(EQUILIBRATIONS):
        largest = np.zeros(n)
        scaled = np.zeros(h)
        for r in range(h):
            for k in range(hinges.pointer[r], hinges.pointer[r + 1]):
                i = hinges.column[k]
                size = abs(hinges.coefficient[k]) * row[r] * column[i]
                scaled[r] = max(scaled[r], size)
                largest[i] = max(largest[i], size)
        for r in range(h):
            row[r] /= np.sqrt(scaled[r])
        for i in range(n):
            column[i] /= np.sqrt(largest[i])
    # For any positive weights R of rows and C of columns: C / sum(R |a|) of a column and R / sum(C |a|) of a row.
    step_y, step_dual = np.zeros(n), np.zeros(h)
    for r in range(h):
        size = 0.0
        for k in range(hinges.pointer[r], hinges.pointer[r + 1]):
            i = hinges.column[k]
            size += abs(hinges.coefficient[k]) * column[i]
            step_y[i] += abs(hinges.coefficient[k]) * row[r]
        step_dual[r] = row[r] / size
    for i in range(n):
        step_y[i] = column[i] / step_y[i]
    return step_y, step_dual


@inner
def restart(hinges: Hinges, points: Iterates, state: Halpern, c: int) -> None:
    """Go on from the point that the operator gave, with the penalty that balances the last moves."""
    first, last = hinges.atom_start[c], hinges.atom_start[c + 1]
    low, high = hinges.hinge_start[c], hinges.hinge_start[c + 1]
    moved, turned = 0.0, 0.0
    for i in range(first, last):
        moved += (state.next_y[i] - state.anchor_y[i]) ** 2 / state.step_y[i]
        points.y[i] = state.next_y[i]
        state.anchor_y[i] = state.next_y[i]
        points.gradient[i] = 0.0
    for r in range(low, high):
        s = state.next_dual[r]
        turned += (s - state.anchor_dual[r]) ** 2 / state.step_dual[r]
        points.dual[r] = s
        state.anchor_dual[r] = s
        for k in range(hinges.pointer[r], hinges.pointer[r + 1]):
            points.gradient[hinges.column[k]] += hinges.coefficient[k] * s
    if moved > 1e-20 and turned > 1e-20:
        penalty = np.sqrt(np.sqrt(turned / moved) * points.penalty[c])
        points.penalty[c] = min(max(penalty, 1e-9), 1e9)
    state.since[c] = 0
    state.first[c] = -1.0
    state.last[c] = -1.0


@inner
def iterate(hinges: Hinges, points: Iterates, state: Halpern, c: int, turns: int, goal: Goal) -> int:
    """Iterate one component until its gap is closed, but at most so many times; return how many it were."""
    first, last = hinges.atom_start[c], hinges.atom_start[c + 1]
    low, high = hinges.hinge_start[c], hinges.hinge_start[c + 1]
    y, dual, gradient = points.y, points.dual, points.gradient
    for turn in range(turns):
        penalty = points.penalty[c]
        residual = 0.0
        for i in range(first, last):
            after = min(max(y[i] - state.step_y[i] / penalty * gradient[i], 0.0), 1.0)
            move = y[i] - after
            state.next_y[i] = after
            state.moved[i] = move
            state.reflected[i] = after - move
            gradient[i] = 0.0
            residual += move * move * penalty / state.step_y[i]
        since = state.since[c] + 1
        share = since / (since + 1.0)
        for r in range(low, high):
            e = hinges.constant[r]
            for k in range(hinges.pointer[r], hinges.pointer[r + 1]):
                e += hinges.coefficient[k] * state.reflected[hinges.column[k]]
            step = state.step_dual[r] * penalty
            s = dual_of(hinges.kind[r], hinges.cost[r], dual[r] + step * e, step)
            move = dual[r] - s
            residual += move * move / step
            state.next_dual[r] = s
            s = share * (s - move) + (1.0 - share) * state.anchor_dual[r]
            dual[r] = s
            if s != 0.0:
                for k in range(hinges.pointer[r], hinges.pointer[r + 1]):
                    gradient[hinges.column[k]] += hinges.coefficient[k] * s
        for i in range(first, last):
            y[i] = share * state.reflected[i] + (1.0 - share) * state.anchor_y[i]
        points.used[c] += 1
        state.since[c] = since
        residual = np.sqrt(max(residual, 0.0))
        if state.first[c] < 0:
            state.first[c] = residual
        fallen = residual / state.first[c] if state.first[c] > 0 else 0.0
        turned = since > 1 and (
            fallen <= SUFFICIENT
            or (fallen <= NECESSARY and residual > state.last[c])
            or since >= ARTIFICIAL * points.used[c]
        )
        state.last[c] = residual
        if (turned or points.used[c] % LOOK == 0) and look(
            hinges, points, c, state.next_y, state.next_dual, state.gradient, goal
        ):
            return turn + 1
        if turned:
            restart(hinges, points, state, c)
    return turns


@kernel
def advance(
    hinges: Hinges, points: Iterates, state: Halpern, left: IntArray, goal: Goal, cursor: int, work: int
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
