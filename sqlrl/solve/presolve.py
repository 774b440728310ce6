"""What is certain before any solver runs: blocks that hard rows state pair by pair, and atoms that units or their own weight fix."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray, ragged_ranges
from sqlrl.kernels import inlined, inner, kernel
from sqlrl.progress import at_stage
from sqlrl.solve.relaxation import find_cliques
from sqlrl.solve.restriction import UnsatisfiableError, Values, restrict
from sqlrl.solve.structure import grouped, pointers
from sqlrl.solve.weighted import EPSILON, FREE, WeightedNetwork

# ---- blocks that hard rows state ---------------------------------------------------------------------


def keep_rows(weighted: WeightedNetwork, chosen: BoolArray) -> WeightedNetwork:
    """The same network with some of its rows."""
    rows = np.flatnonzero(chosen)
    length = np.diff(weighted.indptr)[rows]
    return replace(
        weighted,
        indptr=pointers(length),
        literals=weighted.literals[ragged_ranges(weighted.indptr[rows], length)],
        cost=weighted.cost[rows],
        clause=weighted.clause[rows],
    )


def _satisfied(weighted: WeightedNetwork) -> BoolArray:
    # Rows with two negative literals of one block: it never has two true members.
    negative = np.flatnonzero(weighted.literals < 0)
    block = weighted.block[-weighted.literals[negative] - 1]
    inside = np.flatnonzero(block >= 0)
    key = weighted.row[negative[inside]] * (len(weighted.block_exact) + 1) + block[inside]
    keys, count = np.unique(key, return_counts=True)
    found = np.zeros(len(weighted.cost), dtype=np.bool_)
    found[keys[count > 1] // (len(weighted.block_exact) + 1)] = True
    return found


def _exact(weighted: WeightedNetwork, start: IntArray, members: IntArray) -> BoolArray:
    # Of which cliques a hard row says that some member is true.
    of_atom = np.full(len(weighted.atoms), -1, dtype=np.int64)
    size = np.diff(start)
    of_atom[members] = np.repeat(np.arange(len(size)), size)
    exact = np.zeros(len(size), dtype=np.bool_)
    if len(weighted.cost) == 0:
        return exact
    clique = np.where(weighted.literals > 0, of_atom[np.abs(weighted.literals) - 1], -1)
    low = np.minimum.reduceat(clique, weighted.indptr[:-1])
    high = np.maximum.reduceat(clique, weighted.indptr[:-1])
    # Atoms inside a row are distinct, so a row over members only, as many as there are, is over all of them.
    whole = weighted.hard & (low == high) & (low >= 0)
    whole[whole] = np.diff(weighted.indptr)[whole] == size[low[whole]]
    exact[low[whole]] = True
    return exact


def recognise_blocks(weighted: WeightedNetwork) -> WeightedNetwork:
    """Turn hard cliques into blocks, and leave out the rows that blocks satisfy; worlds and scores stay the same."""
    # Three or more atoms in no block, of which hard rows say pair by pair that two are never true together.
    cliques = find_cliques(weighted, hard_only=True)
    size = np.diff(cliques.start)
    label = np.repeat(np.arange(len(size)), size)
    atom = np.abs(cliques.literals) - 1
    unfit = np.zeros(len(size), dtype=np.bool_)
    unfit[label[(cliques.literals > 0) | (weighted.block[atom] >= 0)]] = True
    chosen = np.flatnonzero(np.isposinf(cliques.cost) & ~unfit)
    if len(chosen):
        start, members = pointers(size[chosen]), atom[ragged_ranges(cliques.start[chosen], size[chosen])]
        block = weighted.block.copy()
        block[members] = len(weighted.block_exact) + np.repeat(np.arange(len(chosen)), size[chosen])
        exact = np.concatenate([weighted.block_exact, _exact(weighted, start, members)])
        weighted = replace(weighted, block=block, block_exact=exact)
    satisfied = _satisfied(weighted)
    return keep_rows(weighted, ~satisfied) if satisfied.any() else weighted


# ---- atoms that are fixed ----------------------------------------------------------------------------


class _State(NamedTuple):
    # What the kernel reads and changes; occurrence lists hold (row, sign) of each atom, member lists those of blocks.
    indptr: IntArray
    literals: IntArray
    cost: FloatArray
    occur_start: IntArray
    occur_row: IntArray
    occur_positive: BoolArray
    block: IntArray
    block_exact: BoolArray
    member_start: IntArray
    member: IntArray
    value: Values
    left: IntArray  # free literals of each row; -1 once it is satisfied
    low: FloatArray  # the score grows at least by this much when the atom becomes true, whatever the others are
    high: FloatArray  # and at most by this much
    demand: Annotated[IntArray, 2]  # (n, 2): hard rows that need the atom to be false, and to be true
    waiting: IntArray  # a stack of atoms to look at
    forced: IntArray  # a stack of signed atoms that must hold


@inner
def _share(state: _State, j: int, k: int, positive: bool, times: float) -> None:
    # Add (times = 1) or remove (-1) what row j contributes to the bounds of its free atom k.
    cost = state.cost[j]
    if cost == np.inf:
        state.demand[k, 1 if positive else 0] += np.int64(times)
        return
    gain = cost if positive else -cost
    if state.left[j] == 1:
        state.low[k] += times * gain
        state.high[k] += times * gain
    elif gain > 0:
        state.high[k] += times * gain
    else:
        state.low[k] += times * gain


@inlined
def _fix(state: _State, k: int, value: bool, top: int, forced: int) -> tuple[int, int, bool]:
    # Fix atom k; returns the heights of both stacks, and whether hard rows and blocks can still hold.
    state.value[k] = value
    for o in range(state.occur_start[k], state.occur_start[k + 1]):
        j = state.occur_row[o]
        if state.left[j] < 0:
            continue
        satisfied = state.occur_positive[o] == value
        changes = satisfied or (state.left[j] == 2 and state.cost[j] != np.inf)
        for p in range(state.indptr[j], state.indptr[j + 1]):
            other = abs(state.literals[p]) - 1
            if not changes or other == k or state.value[other] != FREE:
                continue
            _share(state, j, other, state.literals[p] > 0, -1.0)
            top = _wait(state, other, top)
        state.left[j] = -1 if satisfied else state.left[j] - 1
        if satisfied or state.left[j] > 1:
            continue
        if state.left[j] == 0:
            if state.cost[j] == np.inf:
                return top, forced, False
            continue
        for p in range(state.indptr[j], state.indptr[j + 1]):
            other = abs(state.literals[p]) - 1
            if state.value[other] != FREE:
                continue
            if state.cost[j] == np.inf:
                state.forced[forced] = state.literals[p]
                forced += 1
            else:
                _share(state, j, other, state.literals[p] > 0, 1.0)
    return top, forced, True


@inner
def _wait(state: _State, k: int, top: int) -> int:
    # Put atom k on the stack of atoms to look at, unless it is there (its place is marked in the last entries).
    n = len(state.value)
    if state.waiting[n + k] == 0:
        state.waiting[n + k] = 1
        state.waiting[top] = k
        return top + 1
    return top


@inlined
def _block_follows(state: _State, k: int, forced: int) -> tuple[int, bool]:
    # What the block of the just fixed atom k forces.
    b = state.block[k]
    if b < 0:
        return forced, True
    free, last, true = 0, -1, 0
    for p in range(state.member_start[b], state.member_start[b + 1]):
        other = state.member[p]
        if state.value[other] == FREE:
            free, last = free + 1, other
        elif state.value[other] == 1:
            true += 1
    if true > 1 or (true == 0 and free == 0 and state.block_exact[b]):
        return forced, False
    if true == 1 and state.value[k] == 1:
        for p in range(state.member_start[b], state.member_start[b + 1]):
            if state.value[state.member[p]] == FREE:
                state.forced[forced] = -state.member[p] - 1
                forced += 1
    if true == 0 and free == 1 and state.block_exact[b]:
        state.forced[forced] = last + 1
        forced += 1
    return forced, True


@inlined
def _judge(state: _State, k: int) -> int:
    # 0 or 1 if some best world has that value of atom k, whatever the others are; else FREE.
    b = state.block[k]
    may_be_false, may_be_true = state.demand[k, 1] == 0, state.demand[k, 0] == 0
    if may_be_false and state.high[k] <= 0 and (b < 0 or not state.block_exact[b]):
        return 0
    alone = True
    if b >= 0:
        for p in range(state.member_start[b], state.member_start[b + 1]):
            other = state.member[p]
            if other == k or state.value[other] != FREE:
                continue
            alone = False
            # Another member that is never worse: of equals the first stays.
            tied = state.high[k] == state.low[other] and other < k
            if may_be_false and state.demand[other, 0] == 0 and (state.high[k] < state.low[other] or tied):
                return 0
    if alone and may_be_true and state.low[k] >= 0:
        return 1
    return FREE


@kernel
def _run(state: _State, top: int, forced: int) -> int:
    # Fix what can be fixed; returns -1, or an atom whose component has no world.
    n = len(state.value)
    done = 0
    while True:
        value, k = FREE, -1
        if done < forced:
            k, value = abs(state.forced[done]) - 1, 1 if state.forced[done] > 0 else 0
            done += 1
            if state.value[k] != FREE:
                if state.value[k] != value:
                    return int(k)
                continue
        elif top > 0:
            top -= 1
            k = state.waiting[top]
            state.waiting[n + k] = 0
            if state.value[k] != FREE:
                continue
            value = _judge(state, k)
            if value == FREE:
                continue
        else:
            return -1
        if done == forced:
            done = forced = 0
        top, forced, holds = _fix(state, k, value == 1, top, forced)
        if not holds:
            return int(k)
        forced, holds = _block_follows(state, k, forced)
        if not holds:
            return int(k)
        b = state.block[k]
        if b >= 0 and value == 0:
            for p in range(state.member_start[b], state.member_start[b + 1]):
                if state.value[state.member[p]] == FREE:
                    top = _wait(state, state.member[p], top)


def _state(weighted: WeightedNetwork) -> tuple[_State, int]:
    # The state, and how many atoms wait in it.
    n = len(weighted.atoms)
    atom, row, positive = np.abs(weighted.literals) - 1, weighted.row, weighted.literals > 0
    occur_start, order = grouped(atom, n)
    soft = ~weighted.hard[row]
    gain = np.where(positive, weighted.cost[row], -weighted.cost[row])
    up, down = soft & (gain > 0), soft & (gain < 0)
    demand = [np.bincount(atom[~soft & (positive == side)], minlength=n) for side in (False, True)]
    # What no row and no block mentions is judged at once: by far the most atoms of the first round of cutting planes.
    alone = (np.diff(occur_start) == 0) & (weighted.block < 0)
    value = np.where(alone, weighted.linear > 0, FREE).astype(np.int8)
    left = np.flatnonzero(~alone)[::-1]
    waiting = np.zeros(2 * n, dtype=np.int64)
    waiting[: len(left)], waiting[n + left] = left, 1
    state = _State(
        weighted.indptr,
        weighted.literals,
        weighted.cost,
        occur_start,
        row[order],
        positive[order],
        weighted.block,
        weighted.block_exact,
        *weighted.block_members,
        value,
        np.diff(weighted.indptr).astype(np.int64),
        weighted.linear + np.bincount(atom[down], weights=gain[down], minlength=n),
        weighted.linear + np.bincount(atom[up], weights=gain[up], minlength=n),
        np.stack(demand, axis=1),
        waiting,
        np.empty(2 * len(weighted.literals) + 2 * n + 1, dtype=np.int64),
    )
    return state, len(left)


@at_stage("presolve")
def presolve(weighted: WeightedNetwork) -> tuple[Values, WeightedNetwork]:
    """Fix atoms that have the same value in some best world; return 0, 1 or -1 (free) for each, and the network over the free atoms."""
    # An atom is fixed if hard rows or blocks force it, as far as units show it, or if its linear term outweighs the rows that could oppose it:
    # then one best world survives, not every one.
    state, top = _state(weighted)
    n = len(weighted.atoms)
    units = np.flatnonzero((np.diff(weighted.indptr) == 1) & weighted.hard)
    state.forced[: len(units)] = weighted.literals[weighted.indptr[units]]
    stuck = _run(state, top, len(units))
    if stuck >= 0:
        raise UnsatisfiableError(int(weighted.atoms[stuck]))
    fixed = state.value != FREE
    if not fixed.any():
        return state.value, weighted
    # The bounds of a fixed atom were off by the rounding of as many additions as it has rows.
    degree = np.diff(state.occur_start)[fixed]
    soft = np.isfinite(weighted.cost[state.occur_row])
    size = np.where(soft, np.abs(np.where(soft, weighted.cost[state.occur_row], 0.0)), 0.0)
    atom = np.repeat(np.arange(n), np.diff(state.occur_start))
    magnitude = (np.abs(weighted.linear) + np.bincount(atom, weights=size, minlength=n))[fixed]
    left = restrict(weighted, state.value)
    lost = EPSILON * float(((2 * degree + 2) * magnitude).sum())
    return state.value, replace(left, rounding=left.rounding + lost)
