"""The most probable state of a network of hinges: single atoms in closed form, other components by Newton steps or a first-order method."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from sqlrl.errors import InputError
from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.progress import Stage
from sqlrl.solve.hinge import admm, newton, primal_dual
from sqlrl.solve.hinge.bound import EPSILON, dual_bound
from sqlrl.solve.hinge.interior_point import interior_points
from sqlrl.solve.hinge.iterates import Goal, Iterates, look_at, residuals, slopes, start
from sqlrl.solve.hinge.linear_programs import Conflict, hard_point, linear_point
from sqlrl.solve.hinge.problem import (
    ABSOLUTE,
    AT_MOST,
    EQUAL,
    LINEAR,
    QUADRATIC,
    SQUARED,
    HingePart,
    HingeProblem,
    problem_of,
)
from sqlrl.solve.hinge.result import HingeOptions, HingeResult, HingeState, HingeStatus, InfeasibleHingesError
from sqlrl.solve.hinge.single_atoms import SingleAtoms, solve_single_atoms

WORK = 20_000_000
"""Coefficients that are read between two chances to interrupt: about a tenth of a second."""

ENTRIES = 50_000
"""The most coefficients of a linear or quadratic program, of one component or of several small ones together."""

ATOMS = 2_000
"""The most atoms of a component for the interior-point method, whose matrices may become dense."""

SHARE = 0.9
"""The search aims at this part of the tolerances, so that the rounding that is taken off the bound does not open the gap again."""


def map_state(
    network: HingeNetwork,
    weights: npt.ArrayLike,
    options: HingeOptions | None = None,
    warm: HingeState | HingeResult | npt.ArrayLike | None = None,
) -> HingeResult:
    """Return the state, from [0, 1]^n, of the least weighted sum of distances in which the hard hinges hold.

    Inference in hinge-loss Markov random fields: Bach, Broecheler, Huang, Getoor, "Hinge-Loss Markov Random Fields and Probabilistic Soft
    Logic", JMLR 18 (2017), section 5. The search begins at `warm`: at a former result of the same network, also under other weights, or at
    truth values.
    """
    return _Search(problem_of(network, weights), options or HingeOptions(), warm).result()


class _Search:
    # One search: a problem, its options, and the iterates of its components.

    def __init__(
        self, problem: HingeProblem, options: HingeOptions, warm: HingeState | HingeResult | npt.ArrayLike | None
    ) -> None:
        self.begun = time.perf_counter()
        self.problem, self.options = problem, options
        self.goal = Goal(SHARE * options.relative, options.violation)
        self.by_program = np.zeros(problem.joint.components, dtype=np.bool_)
        self.by_interior_point = self.by_program.copy()
        # Components whose hinges are all squared and soft.
        self.by_newton = ~problem.joint.any_of(LINEAR, ABSOLUTE, AT_MOST, EQUAL) & (self.options.method == "auto")
        self.refuse_single_conflicts()
        # Atoms that share no hinge with others; each other connected component has step sizes, restarts and an end of its own.
        self.alone = self.solve_alone()
        self.points = self.begin(warm)
        self.run()

    def refuse_single_conflicts(self) -> None:
        """Refuse hard hinges that cannot hold by themselves."""
        for part in (self.problem.single, self.problem.joint):
            hinges = part.hinges
            rows = np.flatnonzero(hinges.kind >= AT_MOST)
            if not len(rows):
                continue
            below = np.add.reduceat(np.minimum(hinges.coefficient, 0.0), hinges.pointer[:-1])[rows]
            above = np.add.reduceat(np.maximum(hinges.coefficient, 0.0), hinges.pointer[:-1])[rows]
            constant = hinges.constant[rows]
            excess = np.where(
                hinges.kind[rows] == EQUAL, np.maximum(constant + below, -constant - above), constant + below
            )
            worst = int(excess.argmax())
            if excess[worst] > self.options.violation:
                self.refuse(part, Conflict(rows[[worst]], float(excess[worst])))

    def refuse(self, part: HingePart, conflict: Conflict) -> NoReturn:
        """Say which hard hinges cannot hold together."""
        rows = np.sort(part.rows[conflict.rows])
        raise InfeasibleHingesError(self.problem.named(rows), rows, conflict.excess)

    def solve_alone(self) -> SingleAtoms:
        """Solve the atoms that are connected with no other one."""
        part = self.problem.single
        found = solve_single_atoms(part.hinges)
        # The middle of what hard hinges of different slopes ask can be too far from one of them where another point is not.
        for c in np.flatnonzero(found.violation > self.options.violation):
            one = part.chosen(np.array([c]))
            point = hard_point(one.hinges, found.y[[c]], self.options.violation)
            if isinstance(point, Conflict):
                self.refuse(part, Conflict(one.rows[point.rows], point.excess))
            found.y[[c]] = point
        return found

    def begin(self, warm: HingeState | HingeResult | npt.ArrayLike | None) -> Iterates:
        """Return the iterates at the start."""
        network, part = self.problem.network, self.problem.joint
        n = len(network.atoms)
        state = warm.state if isinstance(warm, HingeResult) else warm
        if isinstance(state, HingeState):
            y, penalty = _checked(state.y, n), _checked(state.penalty, n, "penalty", np.inf)
            duals = _checked(state.duals, len(network.constants), "dual", np.inf)[part.rows] / self.problem.scale
        else:
            y = np.zeros(n) if state is None else _checked(np.asarray(state, dtype=np.float64), n)
            penalty, duals = np.zeros(n), np.zeros(len(part.rows))
            if state is not None:
                slopes(part.hinges, y[part.atoms], duals)
        first = part.atoms[part.hinges.atom_start[:-1]]
        absolute = SHARE * self.options.absolute
        points = start(part.hinges, y[part.atoms], duals, np.abs(penalty[first]), absolute)
        look_at(part.hinges, points, np.arange(part.components), self.goal)
        return points

    def closed(self) -> bool:
        """Whether the gap of all components together is closed."""
        points = self.points
        if points.done.all():
            return True
        rest = float(self.alone.cost.sum()) + self.base / self.problem.scale
        objective = float(points.objective.sum())
        gap = objective - float(points.bound.sum())
        return (
            math.isfinite(objective) and gap <= self.goal.relative * (objective + rest) + SHARE * self.options.absolute
        )

    @property
    def base(self) -> float:
        """What ground rules without query atoms cost."""
        return float(self.problem.weights @ np.where(self.problem.network.hard, 0.0, self.problem.network.base))

    def run(self) -> None:
        """Iterate until the gap is closed or the limit is reached; after `patience` other methods help."""
        method: Any = admm if self.options.method == "admm" else primal_dual
        hinges, points, limit = self.problem.joint.hinges, self.points, self.options.max_iterations
        patience = min(self.options.patience, limit)
        with Stage("most probable state") as stage:
            if self.closed() or self.take_newton_steps(stage, patience):
                return
            for number, allowance in enumerate(_allowances(patience, limit)):
                left = np.where(points.done, 0, np.minimum(allowance, limit - points.used))
                if self.advanced(method, method.prepare(hinges, points), left, stage):
                    return
                if number == 0:
                    self.consult_others(solving=limit >= self.options.patience)
                if self.closed():
                    return

    def take_newton_steps(self, stage: Stage, patience: int) -> bool:
        """Take steps where they are possible, and leave what they do not end to others; return whether the gap of all together is closed."""
        hinges, points = self.problem.joint.hinges, self.points
        if points.done[self.by_newton].all():
            return False
        state = newton.prepare(points)
        if self.advanced(newton, state, np.where(self.by_newton, patience, 0), stage):
            return True
        left = self.by_newton & ~points.done
        newton.leave(hinges, points, state, np.flatnonzero(left), self.goal)
        self.by_newton &= ~left
        return self.closed()

    def advanced(self, method: Any, state: Any, left: IntArray, stage: Stage) -> bool:
        """Iterate components as often as `left` says; return whether the gap of all together is closed, where this ends."""
        points, cursor = self.points, 0
        while cursor < len(points.done):
            before = int(points.used.sum())
            cursor = method.advance(self.problem.joint.hinges, points, state, left, self.goal, cursor, WORK)
            stage.advance(int(points.used.sum()) - before, note=self.told())
            if self.closed():
                return True
        return False

    def told(self) -> str:
        """Say how far the search is."""
        points = self.points
        found = points.objective < np.inf
        gap = float((points.objective[found] - points.bound[found]).sum()) * self.problem.scale
        return f"gap {gap:.3g}, {int(points.done.sum()):,} of {len(points.done):,} components"

    def consult_others(self, *, solving: bool) -> None:
        """Let other methods decide components that iterations did not: whether hard hinges can hold, and, if `solving`, what is best."""
        if solving:
            with Stage("linear programs"):
                self.consult_linear_programs()
        with Stage("hard hinges"):
            self.consult_hard_hinges()
        if solving:
            with Stage("interior points"):
                self.consult_interior_points()

    def consult_linear_programs(self) -> None:
        """Let linear programs end small components without squared hinges."""
        part, points = self.problem.joint, self.points
        if not part.components:
            return
        linear = ~part.any_of(SQUARED, QUADRATIC) & (part.entries <= ENTRIES)
        for chosen in _batches(np.flatnonzero(~points.done & linear), part.entries):
            piece = part.chosen(chosen)
            found = linear_point(piece.hinges)
            if found is not None:
                points.y[piece.atoms], points.dual[piece.rows] = found
                self.look_again(piece, chosen)
                self.by_program[chosen] = points.done[chosen]

    def consult_hard_hinges(self) -> None:
        """Give components for which no point was found at which the hard hinges hold such a point, or refuse them."""
        part, points = self.problem.joint, self.points
        if not part.components:
            return
        lost = ~points.done & (points.objective == np.inf) & part.any_of(AT_MOST, EQUAL)
        for chosen in _batches(np.flatnonzero(lost), part.entries):
            piece = part.chosen(chosen)
            point = hard_point(piece.hinges, points.y[piece.atoms], self.options.violation)
            if isinstance(point, Conflict):
                self.refuse(part, Conflict(piece.rows[point.rows], point.excess))
            else:
                points.y[piece.atoms] = point
                self.look_again(piece, chosen)

    def consult_interior_points(self) -> None:
        """Let an interior-point method end small components; the iterates stay where they are."""
        part, points = self.problem.joint, self.points
        small = (part.entries <= ENTRIES) & (np.diff(part.hinges.atom_start) <= ATOMS)
        for chosen in _batches(np.flatnonzero(~points.done & small), part.entries):
            piece = part.chosen(chosen)
            before = points.y[piece.atoms], points.dual[piece.rows]
            for y, dual in interior_points(piece.hinges):
                points.y[piece.atoms], points.dual[piece.rows] = y, dual
                self.look_again(piece, chosen)
                if points.done[chosen].all():
                    break
            self.by_interior_point[chosen] = points.done[chosen]
            points.y[piece.atoms], points.dual[piece.rows] = before

    def look_again(self, piece: HingePart, chosen: IntArray) -> None:
        """Evaluate components whose points were replaced."""
        hinges = self.problem.joint.hinges
        fresh = start(piece.hinges, self.points.y[piece.atoms], self.points.dual[piece.rows], np.ones(len(chosen)), 0.0)
        self.points.dual[piece.rows] = fresh.dual
        look_at(hinges, self.points, chosen, self.goal)

    def result(self) -> HingeResult:
        """Return what was found, evaluated again without shortcuts."""
        problem, points, part = self.problem, self.points, self.problem.joint
        network = problem.network
        unsolved = np.isinf(points.objective)
        y, penalty = np.zeros(len(network.atoms)), np.ones(len(network.atoms))
        duals = np.zeros(len(network.constants))
        of_atom = np.repeat(np.arange(part.components), np.diff(part.hinges.atom_start))
        best = np.where(unsolved[of_atom], np.clip(points.y, 0.0, 1.0), points.best_y)
        y[part.atoms], y[problem.single.atoms] = best, self.alone.y
        penalty[part.atoms] = points.penalty[of_atom]
        duals[part.rows] = points.best_dual * problem.scale
        primal, dual = residuals(part.hinges, best, points.best_dual) if part.components else (0.0, 0.0)
        bound, rounding = dual_bound(part.hinges, points.best_dual)
        alone = math.fsum(self.alone.cost), math.fsum(self.alone.rounding)
        rounding += alone[1]
        bound = (bound + alone[0] - alone[1]) * problem.scale + self.base
        # The costs themselves, products of weights and multiplicities over the scale, are rounded.
        bound -= 4.0 * EPSILON * len(network.hard) * (abs(bound) + self.base)
        objective = network.objective(problem.weights, y)
        violations = self.violations(y)
        tolerance = self.options.relative * objective + self.options.absolute * problem.scale
        violated = int((violations > self.options.violation).sum())
        hold = not (violated or unsolved.any())
        proved = hold and objective - bound <= tolerance + 2.0 * rounding * problem.scale
        by_others = self.by_newton | self.by_program | self.by_interior_point
        counts = {
            "closed form": problem.single.components,
            "newton": int(self.by_newton.sum()),
            "primal-dual" if self.options.method == "auto" else self.options.method: int((~by_others).sum()),
            "lp": int(self.by_program.sum()),
            "interior point": int(self.by_interior_point.sum()),
        }
        return HingeResult(
            state=HingeState(y, duals, penalty),
            status=HingeStatus.OPTIMAL if proved else HingeStatus.FEASIBLE if hold else HingeStatus.UNSOLVED,
            objective=objective,
            constant=self.base,
            bound=max(bound, self.base * (1.0 - 4.0 * EPSILON * len(network.hard))),
            tolerance=tolerance,
            primal_residual=primal,
            dual_residual=dual,
            violated=violated,
            violation=float(violations.max(initial=0.0)),
            iterations=int(points.used.max(initial=0)),
            total=int(points.used.sum()),
            untouched=problem.untouched,
            components=counts,
            unproved=0 if proved else int((~points.done).sum()),
            seconds=time.perf_counter() - self.begun,
        )

    def violations(self, y: FloatArray) -> FloatArray:
        """Return by how much each hard hinge is violated."""
        network = self.problem.network
        hard = network.hard[network.rule]
        found = network.expressions(y)[hard]
        violations: FloatArray = np.where(network.equal[network.rule][hard], np.abs(found), np.maximum(found, 0.0))
        return violations


def _allowances(patience: int, limit: int) -> Iterator[int]:
    # Iterations of each round: as many as before it; after the first one other methods help.
    done = 0
    while done < limit:
        yield (allowance := min(done or patience, limit - done))
        done += allowance


def _batches(components: IntArray, entries: IntArray) -> Iterator[IntArray]:
    # Components that fit into one linear program.
    if len(components):
        filled = np.cumsum(entries[components])
        cuts = np.flatnonzero(np.diff((filled - entries[components]) // ENTRIES)) + 1
        yield from np.split(components, cuts)


def _checked(values: FloatArray, size: int, what: str = "truth value", most: float = 1.0) -> FloatArray:
    if values.shape != (size,):
        raise InputError(f"a start has {what}s of shape {values.shape}: this network needs {size}")
    lowest = 0.0 if most == 1.0 else -most
    wrong: BoolArray = ~((values >= lowest) & (values <= most)) | ~np.isfinite(values)
    if wrong.any():
        k = int(wrong.argmax())
        raise InputError(
            f"a start has the {what} {values[k]} at {k}: it must be finite{' and in [0, 1]' if most == 1.0 else ''}"
        )
    return values
