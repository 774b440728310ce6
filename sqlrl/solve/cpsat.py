"""Exact most probable world of a weighted network by OR-Tools CP-SAT.

The program is the integer program of Huynh, "Statistical Relational Learning with Discriminative Markov Logic
Networks" (2011), section 4.3.1, with the objective as cost of violation: a ground clause of positive weight gives one
constraint, one of negative weight and k literals k constraints, unit clauses need no auxiliary variable. Blocks are
exactly-one and at-most-one constraints, cliques of rows one constraint each (`solve.relaxation`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from sqlrl.ground.network import BoolArray, IntArray, ragged_ranges
from sqlrl.progress import at_stage
from sqlrl.solve.components import Component, block_members
from sqlrl.solve.relaxation import Cliques, find_cliques
from sqlrl.solve.restriction import UnsatisfiableError
from sqlrl.solve.result import Solution, UnsolvedError
from sqlrl.solve.solvers import Scaled, in_background, scale_to_integers
from sqlrl.solve.structure import Structure
from sqlrl.solve.weighted import WeightedNetwork


def local_references(component: Component) -> dict[int, int]:
    """CP-SAT's reference of each signed atom: i for the component's atom i, -i - 1 for its negation."""
    references: dict[int, int] = {}
    for i, atom in enumerate(component.atoms.tolist()):
        references[atom + 1] = i
        references[-atom - 1] = -i - 1
    return references


def add_or(proto: Any, literals: Iterable[int], only_if: Sequence[int] = ()) -> None:
    """Add the constraint that some literal holds, if all of `only_if` do, straight to the model's proto."""
    constraint = proto.constraints.add()
    if only_if:
        constraint.enforcement_literal.extend(list(only_if))
    constraint.bool_or.literals.extend(list(literals))


def add_booleans(proto: Any, count: int) -> None:
    """Add Boolean variables to the model's proto."""
    if not count:
        return
    first = proto.variables.add()
    first.domain.extend([0, 1])
    proto.variables.extend([first] * (count - 1))


def add_blocks(proto: Any, structure: Structure, component: Component, references: dict[int, int]) -> None:
    """Add the blocks of a component to the model's proto."""
    for members, exact in block_members(structure, component):
        constraint = proto.constraints.add()
        target = constraint.exactly_one if exact else constraint.at_most_one
        target.literals.extend([references[a + 1] for a in members])


def _reference(literal: int) -> int:
    # CP-SAT's reference of a signed atom: k for the atom k, -k - 1 for its negation.
    return literal - 1 if literal > 0 else literal


def _scale(weighted: WeightedNetwork, rows: IntArray, cliques: Cliques) -> Scaled:
    # Integers for what atoms add, what rows cost, and what one more false literal of each clique costs.
    n = len(weighted.atoms)

    def name(position: int) -> str:
        """Return what messages call a cost."""
        if position < n:
            return f"unit clauses and soft evidence of local atom {weighted.atoms[position]}"
        if position < n + len(rows):
            return f"a ground clause of local clause {weighted.clause[rows[position - n]]}"
        return "a group of ground clauses"

    soft = np.isfinite(cliques.cost)
    steps = np.diff(cliques.start)[soft] - 1
    step = ragged_ranges(np.ones(len(steps), dtype=np.int64), steps)
    cost = np.repeat(cliques.cost[soft], steps) * step
    return scale_to_integers(np.concatenate([weighted.linear, weighted.cost[rows], cost]), name)


class _Builder:
    # Collects the constraints and the objective of one model; its first n variables are the atoms.

    def __init__(self, weighted: WeightedNetwork) -> None:
        self.model = cp_model.CpModel()
        self.proto: Any = self.model.proto
        self.size = len(weighted.atoms)
        self.coefficients: list[int] = []
        add_booleans(self.proto, self.size)

    def cost(self, coefficient: int) -> int:
        """Add a Boolean variable that costs this much when it is true."""
        add_booleans(self.proto, 1)
        self.coefficients.append(coefficient)
        self.size += 1
        return self.size - 1

    def row(self, references: list[int], coefficient: int) -> None:
        """Add a soft row."""
        z = self.cost(coefficient)
        if coefficient > 0:  # z: the row is violated
            add_or(self.proto, [*references, z])
        else:  # z: the row is violated, as its negative cost likes
            constraint = self.proto.constraints.add()
            constraint.enforcement_literal.append(z)
            constraint.bool_and.literals.extend([-x - 1 for x in references])

    def clique(self, literals: list[int], coefficients: Sequence[int]) -> None:
        """Add a clique of soft rows."""
        # f false literals need f - 1 of the new variables: the cheapest cost once, twice, ... what a row costs.
        steps = [self.cost(c) for c in coefficients]
        positive = sum(x > 0 for x in literals)
        constraint = self.proto.constraints.add()
        # sum of [literal is false] - sum of steps <= 1, with [positive literal is false] = 1 - y
        constraint.linear.vars.extend([abs(x) - 1 for x in literals] + steps)
        constraint.linear.coeffs.extend([-1 if x > 0 else 1 for x in literals] + [-1] * len(steps))
        constraint.linear.domain.extend([np.iinfo(np.int64).min, 1 - positive])

    def at_most_one(self, references: list[int], *, exact: bool = False) -> None:
        """Add a block."""
        constraint = self.proto.constraints.add()
        (constraint.exactly_one if exact else constraint.at_most_one).literals.extend(references)

    def minimise(self, linear: IntArray) -> None:
        """Write the objective: what atoms cost, then what the other variables do."""
        coefficients = np.concatenate([linear, np.array(self.coefficients, dtype=np.int64)])
        used = np.flatnonzero(coefficients)
        self.proto.objective.vars.extend(used.tolist())
        self.proto.objective.coeffs.extend(coefficients[used].tolist())


def _build(weighted: WeightedNetwork, rows: IntArray, cliques: Cliques, scaled: Scaled) -> _Builder:
    builder = _Builder(weighted)
    n = len(weighted.atoms)
    integers = scaled.coefficients.tolist()
    bounds, members = weighted.block_members
    for (low, high), exact in zip(pairwise(bounds.tolist()), weighted.block_exact.tolist(), strict=True):
        builder.at_most_one(members[low:high].tolist(), exact=exact)
    flat, start = (weighted.literals - (weighted.literals > 0)).tolist(), weighted.indptr.tolist()
    for j in np.flatnonzero(weighted.hard & ~cliques.inside).tolist():
        add_or(builder.proto, flat[start[j] : start[j + 1]])
    for j, coefficient in zip(rows.tolist(), integers[n : n + len(rows)], strict=True):
        builder.row(flat[start[j] : start[j + 1]], coefficient)
    place = n + len(rows)
    for (low, high), cost in zip(pairwise(cliques.start.tolist()), cliques.cost.tolist(), strict=True):
        literals = cliques.literals[low:high].tolist()
        if np.isinf(cost):
            builder.at_most_one([-_reference(x) - 1 for x in literals])
        else:
            builder.clique(literals, integers[place : place + len(literals) - 1])
            place += len(literals) - 1
    builder.minimise(-scaled.coefficients[:n])
    return builder


def new_solver(seed: int, deterministic_limit: float | None) -> cp_model.CpSolver:
    """A CP-SAT solver whose answers depend on its input and seed only: one worker, no wall-clock limit."""
    solver = cp_model.CpSolver()
    parameters: Any = solver.parameters
    parameters.num_workers = 1
    # CP-SAT's own handler would swallow Ctrl-C: see `run_solver`.
    parameters.catch_sigint_signal = False
    parameters.random_seed = seed
    parameters.linearization_level = 2
    parameters.absolute_gap_limit = 0.0
    parameters.relative_gap_limit = 0.0
    if deterministic_limit is not None:
        parameters.max_deterministic_time = deterministic_limit
    return solver


def run_solver(solver: cp_model.CpSolver, model: cp_model.CpModel) -> cp_model.CpSolverStatus:
    """Solve so that Ctrl-C stops the search and raises KeyboardInterrupt."""
    return in_background(lambda: solver.solve(model), solver.stop_search)


@at_stage("CP-SAT")
def solve_cpsat(
    weighted: WeightedNetwork,
    *,
    start: BoolArray | None = None,
    bound: float = np.inf,
    seed: int = 0,
    deterministic_limit: float | None = None,
) -> Solution:
    """Return the most probable world, best of one component, by CP-SAT: no worse than `start` if hard rows hold there; none exceeds `bound`."""
    if len(weighted.atoms) == 0:
        return Solution(np.zeros(0, dtype=np.bool_), 0.0, 0.0)
    cliques = find_cliques(weighted)
    rows = np.flatnonzero(~weighted.hard & ~cliques.inside)
    scaled = _scale(weighted, rows, cliques)
    builder = _build(weighted, rows, cliques, scaled)
    n, initial = len(weighted.atoms), -np.inf
    if start is not None:
        builder.proto.solution_hint.vars.extend(range(n))
        builder.proto.solution_hint.values.extend(start.astype(int).tolist())
        initial = weighted.score(start)
    solver = new_solver(seed, deterministic_limit)
    status = run_solver(solver, builder.model)
    if status == cp_model.INFEASIBLE:
        raise UnsatisfiableError(int(weighted.atoms[0]))
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        if start is None or initial == -np.inf:
            raise UnsolvedError(
                f"CP-SAT found no world of a component with {n} atoms and {len(weighted.cost)} ground clauses (status "
                f"{solver.status_name(status)}): raise the deterministic limit ({deterministic_limit})"
            )
        return Solution(start, max(bound - initial, 0.0) + scaled.lost, scaled.lost, scaled.scale)
    response: Any = solver.response_proto
    solution = np.asarray(list(response.solution), dtype=np.int64)
    world = solution[:n].astype(np.bool_)
    if status == cp_model.OPTIMAL:
        return Solution(world, scaled.lost, scaled.lost, scaled.scale)
    # In Python integers: the response's own objective and bound are floats that round above 2**53.
    terms: Any = builder.proto.objective
    reached = sum(c * int(solution[v]) for v, c in zip(terms.vars, terms.coeffs, strict=True))
    gap = (reached - int(response.inner_objective_lower_bound)) / scaled.scale
    score = weighted.score(world)
    if start is not None and initial > score:
        world, gap, score = start, gap + score - initial, initial
    gap = max(min(gap, bound - score), 0.0)
    return Solution(world, gap + scaled.lost, scaled.lost, scaled.scale)
