"""From a fractional solution of the linear relaxation to a world: the modified ROUNDUP procedure."""

from __future__ import annotations

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.solve.relaxation import INTEGRAL, LinearSolver, Relaxed, relax
from sqlrl.solve.restriction import Values
from sqlrl.solve.result import Solution, UnsolvedError
from sqlrl.solve.structure import grouped
from sqlrl.solve.weighted import FREE, WeightedNetwork

PROVED = 1e-9
"""A gap below this part of what the costs add up to is the linear solver's tolerance, and counts as rounding."""


@inner
def _fix(
    k: int,
    value: bool,
    world: Values,
    satisfied: BoolArray,
    start: IntArray,
    row: IntArray,
    positive: BoolArray,
) -> None:
    world[k] = value
    for o in range(start[k], start[k + 1]):
        if positive[o] == value:
            satisfied[row[o]] = True


@kernel
def _roundup(
    order: IntArray,
    world: Values,
    linear: FloatArray,
    cost: FloatArray,
    start: IntArray,
    row: IntArray,
    positive: BoolArray,
    block: IntArray,
    exact: BoolArray,
    member_start: IntArray,
    member: IntArray,
) -> None:
    satisfied = np.zeros(len(cost), dtype=np.bool_)
    for k in range(len(world)):
        if world[k] != FREE:
            _fix(k, world[k] == 1, world, satisfied, start, row, positive)
    for k in order:
        if world[k] != FREE:
            continue
        balance, hard = linear[k], 0
        for o in range(start[k], start[k + 1]):
            j = row[o]
            if satisfied[j]:
                continue
            if cost[j] == np.inf:
                hard += 1 if positive[o] else -1
            else:
                balance += cost[j] if positive[o] else -cost[j]
        true, last = False, False
        b = block[k]
        if b >= 0:
            last = exact[b]
            for p in range(member_start[b], member_start[b + 1]):
                true |= world[member[p]] == 1
                last &= member[p] == k or world[member[p]] == 0
        value = not true and (last or hard > 0 or (hard == 0 and balance > 0))
        _fix(k, value, world, satisfied, start, row, positive)


def round_up(weighted: WeightedNetwork, truth: FloatArray) -> BoolArray:
    """Round a fractional solution, shape (n,), to a world, in which hard rows need not hold, nor blocks that integral atoms break.

    Source: Huynh (2011), Algorithm 4.1: from the last fractional atom to the first, an atom becomes true if the weights of the rows not yet
    satisfied in which it is positive outweigh those in which it is negative. What the source leaves open: hard rows outweigh all others; an
    atom whose block has a true member becomes false, the last free one of an exactly-one block without any true.
    """
    n = len(weighted.atoms)
    world = np.full(n, FREE, dtype=np.int8)
    world[truth >= 1 - INTEGRAL] = 1
    world[truth <= INTEGRAL] = 0
    atom = np.abs(weighted.literals) - 1
    start, occur = grouped(atom, n)
    _roundup(
        np.flatnonzero(world == FREE)[::-1].copy(),
        world,
        weighted.linear,
        weighted.cost,
        start,
        weighted.row[occur],
        weighted.literals[occur] > 0,
        weighted.block,
        weighted.block_exact,
        *weighted.block_members,
    )
    return np.asarray(world == 1, dtype=np.bool_)


def solve_relaxation(weighted: WeightedNetwork, *, solver: LinearSolver = "highs") -> tuple[Solution | None, Relaxed]:
    """Solve the linear relaxation and round it to a world (None if a hard row breaks), whose gap is the distance to the bound."""
    relaxed = relax(weighted, solver=solver)
    world = round_up(weighted, relaxed.truth)
    score = weighted.score(world)
    if score == -np.inf:
        return None, relaxed
    gap = max(relaxed.bound - score, 0.0)
    size = float(np.abs(weighted.linear).sum() + np.abs(weighted.cost[~weighted.hard]).sum())
    # Optimal where the gap is nothing but rounding: so is every integral solution.
    return Solution(world, gap, gap if gap <= relaxed.rounding + PROVED * size else relaxed.rounding), relaxed


def require(solution: Solution | None, weighted: WeightedNetwork) -> Solution:
    """The solution, or an UnsolvedError that says what to use instead where rounding found no world."""
    if solution is None:
        raise UnsolvedError(
            f"rounding the linear relaxation of {len(weighted.atoms)} atoms breaks a hard clause: use method 'auto' or "
            "'cpsat'"
        )
    return solution
