"""Exact probabilities by enumerating the worlds of hard rows: for components that hard rows leave few worlds, whatever their treewidth.

The worlds of a transitive and symmetric relation over ten records are the 115,975 partitions of them, though 90 atoms have 2^90 values
and no order of elimination has small tables.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from sqlrl.ground.network import FloatArray, IntArray, ragged_ranges
from sqlrl.kernels import kernel
from sqlrl.solve.restriction import UnsatisfiableError
from sqlrl.solve.structure import grouped, pointers
from sqlrl.solve.weighted import WeightedNetwork

MOST_ATOMS = 256
"""Components with more atoms are not tried: hard rows that leave few worlds of so many would have fixed most of them."""

STEPS, ALL_STEPS = 2**23, 2**26
"""A component whose worlds take more steps to meet is given up: about half a second; and no more are tried after so many steps in all.
A step gives one atom one value."""


@kernel
def _walk(
    linear: FloatArray,
    row_start: IntArray,
    cost: FloatArray,
    literal_start: IntArray,
    literals: IntArray,
    top: float,
    sums: FloatArray,
    steps: int,
) -> Any:
    # Depth-first over values of the atoms in order, false first; rows of atom d are those that need it last. Without `sums` it finds
    # the greatest score, with them it adds exp(score - top) over all worlds, and of each atom over the worlds in which it is true.
    n = len(linear)
    value = np.full(n, -1, np.int8)
    score, mark = np.zeros(n + 1), np.zeros(n)
    best, total, depth, taken = -np.inf, 0.0, 0, 0
    adding = len(sums) > 0
    while depth >= 0:
        if depth == n:
            if adding:
                total += np.exp(score[n] - top)
            elif score[n] > best:
                best = score[n]
            depth -= 1
            continue
        if value[depth] == 1:
            if adding:
                sums[depth] += total - mark[depth]
            value[depth] = -1
            depth -= 1
            continue
        taken += 1
        if taken > steps:
            return -1, best, total
        value[depth] += 1
        now = score[depth]
        if value[depth] == 1:
            now += linear[depth]
            mark[depth] = total
        holds = True
        for r in range(row_start[depth], row_start[depth + 1]):
            satisfied = False
            for p in range(literal_start[r], literal_start[r + 1]):
                literal = literals[p]
                if (value[abs(literal) - 1] == 1) == (literal > 0):
                    satisfied = True
                    break
            if not satisfied:
                if cost[r] == np.inf:
                    holds = False
                    break
                now -= cost[r]
        if holds:
            depth += 1
            score[depth] = now
    return taken, best, total


def _with_blocks(part: WeightedNetwork) -> tuple[IntArray, IntArray, FloatArray]:
    # Its rows, and those that blocks stand for: pointers, literals, costs.
    more: list[list[int]] = []
    start, member = part.block_members
    for b, exact in enumerate(part.block_exact.tolist()):
        atoms = (member[start[b] : start[b + 1]] + 1).tolist()
        more += [[-one, -other] for one, other in combinations(atoms, 2)]
        more += [atoms] if exact else []
    length = np.concatenate([np.diff(part.indptr), np.array([len(row) for row in more], dtype=np.int64)])
    literals = np.concatenate([part.literals, np.array([x for row in more for x in row], dtype=np.int64)])
    return pointers(length), literals, np.concatenate([part.cost, np.full(len(more), np.inf)])


def _order(atoms: int, indptr: IntArray, literals: IntArray) -> IntArray:
    # Atoms so that rows end early: next the one that ends the most rows, then the one in the most rows that have begun.
    atom, row = np.abs(literals) - 1, np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    left = np.diff(indptr)
    begun, placed = np.zeros(len(left), dtype=np.bool_), np.zeros(atoms, dtype=np.bool_)
    order = np.empty(atoms, dtype=np.int64)
    for place in range(atoms):
        worth = np.bincount(atom, weights=(left[row] == 1) * float(len(row) + 1) + begun[row], minlength=atoms)
        worth[placed] = -1.0
        order[place] = chosen = int(np.argmax(worth))
        placed[chosen] = True
        mine = row[atom == chosen]
        left[mine] -= 1
        begun[mine] = True
    return order


class Worlds(NamedTuple):
    """Sums over all worlds of a component: the probability of each atom, shape (n,), the log partition function, and the steps that they took."""

    probability: FloatArray
    log_z: float
    steps: int


def enumerate_worlds(part: WeightedNetwork, steps: int = STEPS) -> Worlds | None:
    """Sum over the worlds of a component; None if that takes more than so many steps, or it has too many atoms."""
    n = len(part.atoms)
    if n == 0 or n > MOST_ATOMS:
        return None if n else Worlds(np.zeros(0), 0.0, 0)
    indptr, literals, cost = _with_blocks(part)
    order = _order(n, indptr, literals)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    moved = np.sign(literals) * (place[np.abs(literals) - 1] + 1)
    last = np.maximum.reduceat(np.abs(moved), indptr[:-1]) - 1 if len(cost) else np.zeros(0, dtype=np.int64)
    row_start, rows = grouped(last, n)
    length = np.diff(indptr)[rows]
    moved = moved[ragged_ranges(indptr[rows], length)]
    shape = (part.linear[order], row_start, cost[rows], pointers(length), moved)
    taken, top, _ = _walk(*shape, 0.0, np.empty(0), steps)
    if taken < 0:
        return None
    if top == -np.inf:
        raise UnsatisfiableError(int(part.atoms[0]))
    sums = np.zeros(n)
    _, _, total = _walk(*shape, top, sums, steps)
    found = np.empty(n)
    found[order] = sums / total
    return Worlds(found, float(top + np.log(total)), taken)
