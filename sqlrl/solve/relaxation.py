"""The linear relaxation of the most probable world, with cliques of rows as counts: a bound, and often the world itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from sqlrl.distinct import distinct
from sqlrl.errors import InputError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, ragged_ranges
from sqlrl.progress import at_stage
from sqlrl.solve.cut import persistent
from sqlrl.solve.restriction import UnsatisfiableError
from sqlrl.solve.result import UnsolvedError
from sqlrl.solve.solvers import in_background
from sqlrl.solve.structure import pointers
from sqlrl.solve.weighted import EPSILON, FREE, WeightedNetwork

LinearSolver = Literal["highs", "glop", "pdlp", "flow"]
INTEGRAL = 1e-6
"""A truth value this close to 0 or 1 is taken for it; the world is then scored, so nothing depends on it."""


# ---- cliques -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Cliques:
    """Disjoint groups of rows over all pairs of three or more literals, which cost ``cost * f * (f - 1) / 2`` if f are false; f <= 1 if hard."""

    start: IntArray
    literals: IntArray  # clique i has the signed atoms `literals[start[i]:start[i + 1]]`, ascending by atom
    cost: FloatArray  # shape (c,): what each of its rows costs: positive, infinite for hard rows
    inside: BoolArray  # shape (r,): the rows that belong to a clique


def find_cliques(weighted: WeightedNetwork, *, hard_only: bool = False) -> Cliques:
    """Find cliques of twin literals: each has rows of one cost with the same others, and with each other; ordered by cost, then by first atom.

    A soft functional constraint, `R(x, y) v R(x, z) v y = z` over negated atoms, grounds to such a clique for each x. The linear relaxation
    of its rows one by one is useless (all atoms one half), that of the count is exact, and CP-SAT needs one constraint in place of
    k (k - 1) / 2 (our own reformulation; convex counts as in Kohli, Ladicky and Torr, "Robust higher order potentials", 2009).
    """
    n = len(weighted.atoms)
    wanted = weighted.hard if hard_only else weighted.cost > 0
    rows = np.flatnonzero((np.diff(weighted.indptr) == 2) & wanted)
    first = weighted.literals[weighted.indptr[rows]]
    second = weighted.literals[weighted.indptr[rows] + 1]
    costs, kind = np.unique(weighted.cost[rows], return_inverse=True)
    # A node is a literal among the rows of one cost. The sum of random keys stands for the set of neighbours and itself.
    width = 2 * n + 1
    nodes, index = np.unique(np.concatenate([kind * width + first + n, kind * width + second + n]), return_inverse=True)
    tail, head = index[: len(rows)], index[len(rows) :]
    key = np.random.default_rng(0).integers(1, 2**62, size=len(nodes), dtype=np.uint64)
    signature = key.copy()
    np.add.at(signature, tail, key[head])
    np.add.at(signature, head, key[tail])
    twins = distinct([nodes // width, signature]).inverse
    size = np.bincount(twins)
    together = np.flatnonzero(twins[tail] == twins[head])
    pairs = np.bincount(twins[tail[together]], minlength=len(size))
    good = (size >= 3) & (pairs == size * (size - 1) // 2)
    inside = np.zeros(len(weighted.cost), dtype=np.bool_)
    inside[rows[together[good[twins[tail[together]]]]]] = True
    member = np.flatnonzero(good[twins])
    literal = nodes[member] % width - n
    lead = np.full(len(size), np.iinfo(np.int64).max)
    np.minimum.at(lead, twins[member], nodes[member] // width * width + np.abs(literal))
    order = np.lexsort((np.abs(literal), twins[member], lead[twins[member]]))
    member = member[order]
    begin = np.flatnonzero(np.diff(twins[member], prepend=-1))
    return Cliques(
        pointers(np.diff(begin, append=len(member))),
        literal[order],
        costs[nodes[member[begin]] // width],
        inside,
    )


# ---- the linear program ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """Minimise ``cost @ x`` subject to ``low <= matrix @ x`` and ``0 <= x <= 1``; the first `atoms` variables are the atoms."""

    cost: FloatArray
    matrix: sparse.csr_array  # shape (constraints, k), entries 1 or -1
    low: FloatArray
    atoms: int


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A solution of the linear relaxation."""

    truth: FloatArray  # shape (n,): of each atom, from 0 to 1
    # No world scores more, constant included. It is computed from the dual solution, so that it holds however inexact the solver was, and float
    # rounding is added.
    bound: float
    rounding: float  # that part of the bound

    @property
    def fractional(self) -> IntArray:
        """Atoms whose truth is neither 0 nor 1."""
        return np.flatnonzero(np.minimum(self.truth, 1 - self.truth) > INTEGRAL)


class _Constraints:
    # Collects constraints `sum of coefficients * variables >= low` as whole arrays.

    def __init__(self) -> None:
        self.row: list[IntArray] = []
        self.column: list[IntArray] = []
        self.data: list[FloatArray] = []
        self.low: list[FloatArray] = []
        self.count = 0

    def add(self, size: IntArray, column: IntArray, data: FloatArray, low: FloatArray) -> None:
        """Add constraints with `size` terms each, one after the other."""
        self.row.append(self.count + np.repeat(np.arange(len(size)), size))
        self.column.append(column)
        self.data.append(data)
        self.low.append(low)
        self.count += len(size)

    def add_literals(self, size: IntArray, literals: IntArray, low: FloatArray, extra: IntArray | None = None) -> None:
        """Add: the literals' truths (1 - y of a negative one) and a variable of its own sum up to `low` or more."""
        negative = np.add.reduceat(literals < 0, pointers(size)[:-1], dtype=np.int64) if len(size) else size
        self.add(size, np.abs(literals) - 1, np.sign(literals).astype(np.float64), low - negative)
        if extra is not None:
            self.row.append(self.count - len(size) + np.arange(len(size)))
            self.column.append(extra)
            self.data.append(np.ones(len(size)))

    def build(self, columns: int) -> tuple[sparse.csr_array, FloatArray]:
        """Return the matrix of all constraints, and their lower bounds."""
        parts = (np.concatenate(self.row), np.concatenate(self.column))
        matrix = sparse.coo_array((np.concatenate(self.data), parts), shape=(self.count, columns)).tocsr()
        return matrix, np.concatenate(self.low)


def _rows(weighted: WeightedNetwork, rows: IntArray) -> tuple[IntArray, IntArray]:
    size = np.diff(weighted.indptr)[rows]
    return size, weighted.literals[ragged_ranges(weighted.indptr[rows], size)]


def linear_program(weighted: WeightedNetwork) -> LinearProgram:
    """Return the relaxation of the integer program for the most probable world, with the cost of violation as its objective.

    Source: Huynh (2011), section 4.3.1, OP5 with 0 <= y, z <= 1: a row of positive weight gives one constraint, one of negative weight one
    for each literal (its z in terms of violation: z is at most each literal's falsehood), unit clauses none. Of our own: blocks and cliques
    are one constraint each.
    """
    n, cliques = len(weighted.atoms), find_cliques(weighted)
    outside = ~cliques.inside
    constraints = _Constraints()
    hard = np.flatnonzero(weighted.hard & outside)
    constraints.add_literals(*_rows(weighted, hard), np.ones(len(hard)))
    soft = np.flatnonzero(~weighted.hard & outside)
    z = n + np.arange(len(soft))
    good = weighted.cost[soft] > 0
    constraints.add_literals(*_rows(weighted, soft[good]), np.ones(int(good.sum())), z[good])
    size, literals = _rows(weighted, soft[~good])
    # z <= 1 - literal, as (1 - literal) - z >= 0.
    pair = np.stack([np.abs(literals) - 1, np.repeat(z[~good], size)], axis=1).ravel()
    sign = np.stack([-np.sign(literals), np.full(len(literals), -1)], axis=1).astype(np.float64).ravel()
    constraints.add(np.full(len(literals), 2), pair, sign, np.where(literals > 0, -1.0, 0.0))
    steps = _add_cliques(constraints, cliques, n + len(soft))
    _add_blocks(constraints, weighted)
    cost = np.concatenate([-weighted.linear, weighted.cost[soft], steps])
    matrix, low = constraints.build(len(cost))
    return LinearProgram(cost, matrix, low, n)


def _add_cliques(constraints: _Constraints, cliques: Cliques, first: int) -> FloatArray:
    # false literals - sum of steps <= 1, as literals + steps >= size - 1; returns the cost of each step.
    size = np.diff(cliques.start)
    constraints.add_literals(size, cliques.literals, (size - 1).astype(np.float64))
    soft = np.flatnonzero(np.isfinite(cliques.cost))
    steps = size[soft] - 1
    count = int(steps.sum())
    constraints.row.append(constraints.count - len(size) + np.repeat(soft, steps))
    constraints.column.append(first + np.arange(count))
    constraints.data.append(np.ones(count))
    return np.repeat(cliques.cost[soft], steps) * ragged_ranges(np.ones(len(steps), dtype=np.int64), steps)


def _add_blocks(constraints: _Constraints, weighted: WeightedNetwork) -> None:
    start, members = weighted.block_members
    size = np.diff(start)
    constraints.add_literals(size, -members - 1, (size - 1).astype(np.float64))
    exact = weighted.block_exact[weighted.block[members]]
    constraints.add_literals(size[weighted.block_exact], members[exact] + 1, np.ones(int(weighted.block_exact.sum())))


def safe_bound(program: LinearProgram, dual: FloatArray) -> tuple[float, float]:
    """Return a lower bound on the program's least cost from any dual values (negative ones count as 0), and the rounding that was taken off it.

    Source: Neumaier and Shcherbina, "Safe bounds in linear and mixed-integer linear programming" (2004), section 2:
    ``low @ dual + sum of min(0, reduced cost)`` holds for variables between 0 and 1.
    """
    multiplier = np.maximum(np.where(np.isfinite(dual), dual, 0.0), 0.0)
    reduced = program.cost - program.matrix.T @ multiplier
    size = np.abs(program.cost) + abs(program.matrix).T @ multiplier
    longest = int(np.diff(program.matrix.tocsc().indptr).max(initial=0)) + 2
    terms = max(len(program.low) + len(program.cost), 2)
    flat = float((np.abs(program.low) * multiplier).sum() + np.abs(np.minimum(reduced, 0.0)).sum())
    rounding = EPSILON * (longest * float(size.sum()) + (math.log2(terms) + 16) * flat)
    return float(program.low @ multiplier) + float(np.minimum(reduced, 0.0).sum()) - rounding, rounding


def _highs(program: LinearProgram) -> tuple[FloatArray, FloatArray] | None:
    result = in_background(
        lambda: linprog(program.cost, A_ub=-program.matrix, b_ub=-program.low, bounds=(0, 1), method="highs")
    )
    if result.status == 2:
        return None
    if result.x is None:
        raise UnsolvedError(f"HiGHS did not solve the linear relaxation: {result.message}")
    return np.asarray(result.x), -np.asarray(result.ineqlin.marginals)


def _ortools(program: LinearProgram, solver: str) -> tuple[FloatArray, FloatArray] | None:
    from ortools.linear_solver.python import model_builder, model_builder_helper

    helper: Any = model_builder.Model().helper  # type: ignore[no-untyped-call]
    k, constraints = len(program.cost), len(program.low)
    helper.fill_model_from_sparse_data(
        np.zeros(k),
        np.ones(k),
        program.cost,
        program.low,
        np.full(constraints, np.inf),
        sparse.csr_matrix(program.matrix),
    )
    runner = model_builder_helper.ModelSolverHelper(solver)
    in_background(lambda: runner.solve(helper), runner.interrupt_solve)
    status = runner.status()
    if status == model_builder_helper.SolveStatus.INFEASIBLE:
        # A first-order method says so also of programs that have solutions: only the simplex method's word counts.
        return _ortools(program, "glop") if solver == "pdlp" else None
    if not runner.has_solution():
        raise UnsolvedError(f"{solver.upper()} did not solve the linear relaxation: {runner.status_string()}")
    return np.asarray(runner.variable_values()), np.asarray(runner.dual_values())


@at_stage("linear relaxation")
def relax(weighted: WeightedNetwork, *, solver: LinearSolver = "highs") -> Relaxed:
    """Solve the linear relaxation by HiGHS, GLOP, PDLP for very large ones, or a maximum "flow", which is exact for pairwise networks."""
    if solver not in get_args(LinearSolver):
        raise InputError(f"unknown solver {solver!r} of linear programs: choose 'highs', 'glop', 'pdlp' or 'flow'")
    if len(weighted.atoms) == 0:
        return Relaxed(np.empty(0), weighted.constant, 0.0)
    if solver == "flow":
        value, bound, rounding = persistent(weighted)
        return Relaxed(np.where(value == FREE, 0.5, value), bound, rounding)
    program = linear_program(weighted)
    found = _highs(program) if solver == "highs" else _ortools(program, solver)
    if found is None:
        raise UnsatisfiableError(int(weighted.atoms[0]))
    values, dual = found
    low, rounding = safe_bound(program, dual)
    return Relaxed(np.clip(values[: program.atoms], 0.0, 1.0), weighted.constant - low, rounding)
