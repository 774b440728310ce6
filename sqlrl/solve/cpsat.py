"""Exact most probable world of one connected component by OR-Tools CP-SAT.

The program is the integer program of Huynh, "Statistical Relational Learning with Discriminative Markov Logic
Networks" (2011), section 4.3.1, with the objective as cost of violation: a ground clause of positive weight gives one
constraint, one of negative weight and k literals k constraints, unit clauses need no auxiliary variable. Blocks are
exactly-one and at-most-one constraints.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.solve.components import Component, block_members, row_literals
from sqlrl.solve.result import UnsolvedError
from sqlrl.solve.scaling import Scaled, scale_to_integers
from sqlrl.solve.structure import Structure

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class ComponentSolution:
    """The best world of one component.

    Parameters
    ----------
    truth : bool array
        Truth of the component's atoms, in their order.
    proved : bool
        CP-SAT proved the integer program optimal.
    gap : float
        No world of the component is better by more than this, rounding included.
    lost : float
        The part of the gap that comes from rounding.
    scale : float
        Integer weights are this many times the weights.
    """

    truth: BoolArray
    proved: bool
    gap: float
    lost: float
    scale: float


@dataclass(frozen=True, eq=False)
class _Terms:
    # Coefficients of the component's atoms and of its distinct soft rows (cost of violation), rounding noise removed.
    linear: FloatArray
    literals: list[list[int]]
    cost: FloatArray
    clause: IntArray
    noise: float


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
    constraint.enforcement_literal.extend(list(only_if))
    constraint.bool_or.literals.extend(list(literals))


def add_booleans(proto: Any, count: int) -> None:
    """Add Boolean variables to the model's proto."""
    for _ in range(count):
        proto.variables.add().domain.extend([0, 1])


def add_blocks(proto: Any, structure: Structure, component: Component, references: dict[int, int]) -> None:
    """Add the blocks of a component to the model's proto."""
    for members, exact in block_members(structure, component):
        constraint = proto.constraints.add()
        target = constraint.exactly_one if exact else constraint.at_most_one
        target.literals.extend([references[a + 1] for a in members])


def _terms(
    structure: Structure, component: Component, soft: FloatArray, linear: FloatArray, noise: FloatArray
) -> _Terms:
    network = structure.network
    rows = component.rows
    cost = soft[network.row_clause[rows]] * (network.sign[network.row_clause[rows]] * network.multiplicity[rows])
    rows, cost = rows[cost != 0], cost[cost != 0]
    # Rows with equal literals become one; costs add up in the order of rows.
    groups: dict[tuple[int, ...], int] = {}
    group = np.array([groups.setdefault(tuple(r), len(groups)) for r in row_literals(structure, rows)], dtype=np.int64)
    summed = np.bincount(group, weights=cost, minlength=len(groups)).astype(np.float64)
    _, first = np.unique(group, return_index=True)
    # Sums that cancel leave a residue of rounding, which would demand an absurd scale: it goes to the slack instead.
    doubt = EPSILON * (len(cost) + 2) * np.bincount(group, weights=np.abs(cost), minlength=len(groups))
    own, own_doubt = linear[component.atoms], noise[component.atoms]
    kept, own_kept = np.abs(summed) > doubt, np.abs(own) > own_doubt
    lost = own_doubt.sum() + doubt.sum() + np.abs(own[~own_kept]).sum() + np.abs(summed[~kept]).sum()
    literals = [list(r) for r, k in zip(groups, kept.tolist(), strict=True) if k]
    clause = network.row_clause[rows[first[kept]]]
    return _Terms(np.where(own_kept, own, 0.0), literals, summed[kept], clause, float(lost))


def _scale(structure: Structure, component: Component, terms: _Terms) -> Scaled:
    network, k = structure.network, len(component.atoms)

    def name(position: int) -> str:
        if position < k:
            return f"unit clauses and soft evidence of atom {network.atoms[component.atoms[position]]}"
        return f"ground clause of clause {network.clauses[terms.clause[position - k]]}"

    return scale_to_integers(np.concatenate([terms.linear, terms.cost]), name)


def _build(structure: Structure, component: Component, terms: _Terms, integers: IntArray) -> cp_model.CpModel:
    model = cp_model.CpModel()
    proto: Any = model.proto
    k = len(component.atoms)
    references = local_references(component)
    add_booleans(proto, k + len(terms.literals))
    add_blocks(proto, structure, component, references)
    network = structure.network
    hard = component.rows[network.hard[network.row_clause[component.rows]]]
    for row in row_literals(structure, hard):
        add_or(proto, [references[x] for x in row])
    for literal in network.hard_units[component.hard_units, 1].tolist():
        add_or(proto, [references[literal]])
    for z, (row, cost) in enumerate(zip(terms.literals, terms.cost.tolist(), strict=True), k):
        if cost > 0:  # z: the clause is violated
            add_or(proto, [*(references[x] for x in row), z])
        else:  # z: the clause is violated, as its negative weight likes
            constraint = proto.constraints.add()
            constraint.enforcement_literal.append(z)
            constraint.bool_and.literals.extend([references[-x] for x in row])
    coefficients = np.concatenate([-integers[:k], integers[k:]])
    used = np.flatnonzero(coefficients)
    proto.objective.vars.extend(used.tolist())
    proto.objective.coeffs.extend(coefficients[used].tolist())
    return model


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
    """Solve in a thread, so that Ctrl-C reaches this one, stops the search and raises KeyboardInterrupt."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(solver.solve, model)
        try:
            return running.result()
        except KeyboardInterrupt:
            solver.stop_search()
            raise


def solve_component(
    structure: Structure,
    component: Component,
    soft: FloatArray,
    linear: FloatArray,
    noise: FloatArray,
    *,
    seed: int = 0,
    deterministic_limit: float | None = None,
) -> ComponentSolution | None:
    """The most probable world of one component.

    Parameters
    ----------
    structure : Structure
        The compiled network.
    component : Component
        Any of its components.
    soft : float array, shape (m,)
        The weights (log-odds), 0 for hard clauses.
    linear : float array, shape (n,)
        What each true atom adds: unit clauses, soft evidence, loss.
    noise : float array, shape (n,)
        How far rounding may have put each entry of `linear` off; smaller entries count as 0.
    seed : int
        CP-SAT's random seed.
    deterministic_limit : float, optional
        CP-SAT's deterministic time, roughly seconds.

    Returns
    -------
    ComponentSolution or None
        None if the hard clauses cannot all hold.

    Raises
    ------
    NumericError
        Weights do not fit integers.
    UnsolvedError
        No world within the limit.
    """
    terms = _terms(structure, component, soft, linear, noise)
    scaled = _scale(structure, component, terms)
    model = _build(structure, component, terms, scaled.coefficients)
    solver = new_solver(seed, deterministic_limit)
    status = run_solver(solver, model)
    if status == cp_model.INFEASIBLE:
        return None
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise UnsolvedError(
            f"CP-SAT found no world of a component with {len(component.atoms)} atoms and {len(component.rows)} ground "
            f"clauses (status {solver.status_name(status)}): raise the deterministic limit ({deterministic_limit})"
        )
    response: Any = solver.response_proto
    solution = np.asarray(list(response.solution), dtype=np.int64)
    lost = terms.noise + scaled.lost
    gap = 0.0
    if status == cp_model.FEASIBLE:
        # In Python integers: the response's own objective and bound are floats that round above 2**53.
        coefficients: Any = model.proto.objective
        reached = sum(c * int(solution[v]) for v, c in zip(coefficients.vars, coefficients.coeffs, strict=True))
        gap = (reached - int(response.inner_objective_lower_bound)) / scaled.scale
    truth = solution[: len(component.atoms)].astype(np.bool_)
    return ComponentSolution(truth, status == cp_model.OPTIMAL, max(gap, 0.0) + lost, lost, scaled.scale)
