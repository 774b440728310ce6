"""Steps over the examples of a window, compiled: current weights, prediction or samples, scores, delta n, update by any rule.

`learn_compiled` does whole steps of examples whose components are forests or have small treewidth; for others a caller predicts by other
means between `refresh` and `finish`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.learn.arrays import (
    BoundedComponents,
    ClauseTally,
    CountChanges,
    Forest,
    StepRows,
    StepScratch,
    TiedArrays,
    WindowArrays,
)
from sqlrl.learn.rules import Rates, RuleState, step_size, update_clause, weight_after
from sqlrl.learn.slices import Slices, flagged_examples, of_examples
from sqlrl.learn.worlds import start_world
from sqlrl.solve.forest import solve_range, weigh_range
from sqlrl.solve.occurrences import Int32Array, occurrences
from sqlrl.solve.randomness import Stream
from sqlrl.solve.sampling.chains import ChainState, start_state, toggle
from sqlrl.solve.sampling.gibbs import Sweep, start_sweep, sweep_once
from sqlrl.solve.sorting import sort
from sqlrl.solve.treewidth.messages import best_world
from sqlrl.solve.weighted import WeightedNetwork

# ---- what atoms and rows are worth -------------------------------------------------------------------


@inner
def _unit_worth(window: WindowArrays, atom: int, now: FloatArray) -> float:
    """What the unit clauses of an atom add when it is true."""
    value = 0.0
    for u in range(window.units.indptr[atom], window.units.indptr[atom + 1]):
        value += window.units.data[u] * now[window.units.indices[u]]
    return value


@inner
def _row_cost(window: WindowArrays, row: int, now: FloatArray) -> float:
    """What violating a row costs; it may be negative, and is 0 for hard rows, whose weights in `now` are 0."""
    clause = window.row_clause[row]
    return float(window.sign[clause] * window.multiplicity[row] * now[clause])


# ---- the most probable world of an example -----------------------------------------------------------


@inner
def _predict_forest(
    forest: Forest,
    k: int,
    theta_unary: FloatArray,
    theta_pair: FloatArray,
    linear: FloatArray,
    now: FloatArray,
    world: BoolArray,
) -> int:
    arrays, first, last = forest.arrays, forest.first[k], forest.last[k]
    begin, end = arrays.state_start[first], arrays.state_start[last]
    weigh_range(forest.unary.indptr, forest.unary.indices, forest.unary.data, now, begin, end, theta_unary)
    for s in range(begin, end):
        if arrays.state_atom[s] >= 0:
            theta_unary[s] += linear[arrays.state_atom[s]]
    pairs = forest.pairs
    begin, end = arrays.pair_start[first], arrays.pair_start[last]
    weigh_range(pairs.indptr, pairs.indices, pairs.data, now, begin, end, theta_pair)
    # Examples share tables, but not the weights of a step.
    for place in range(forest.table_start[k], forest.table_start[k + 1]):
        t = forest.table[place]
        begin, end = arrays.table_start[t], arrays.table_start[t + 1]
        weigh_range(pairs.indptr, pairs.indices, pairs.data, now, begin, end, theta_pair)
    stuck: int = solve_range(arrays, theta_unary, theta_pair, first, last, world)[0]
    return stuck if stuck < 0 else int(forest.variable[stuck])


@inner
def _weigh_bounded(
    window: WindowArrays, bounded: BoundedComponents, c: int, linear: FloatArray, now: FloatArray
) -> None:
    # Write what states add and what violated rows cost into the tables of component c.
    buckets = bounded.buckets
    for i in range(buckets.component_start[c], buckets.component_start[c + 1]):
        for s in range(buckets.state_start[i], buckets.state_start[i + 1]):
            atom = buckets.state_atom[s]
            if atom >= 0:
                buckets.state_value[s] = _unit_worth(window, atom, now) + linear[atom]
        for r in range(buckets.row_start[i], buckets.row_start[i + 1]):
            j = buckets.row[r]
            row = bounded.row[j]
            if row >= 0 and not window.hard[window.row_clause[row]]:
                buckets.cost[j] = _row_cost(window, row, now)


@inner
def _predict_bounded(
    window: WindowArrays, bounded: BoundedComponents, k: int, linear: FloatArray, now: FloatArray, world: BoolArray
) -> int:
    for p in range(bounded.first[k], bounded.last[k]):
        c = bounded.component[p]
        _weigh_bounded(window, bounded, c, linear, now)
        if not best_world(bounded.buckets, bounded.scratch, c, bounded.chosen, world):
            return int(bounded.variable[bounded.buckets.component_start[c]])
    return -1


@kernel
def predict(
    window: WindowArrays,
    forest: Forest,
    bounded: BoundedComponents | None,  # components of small treewidth, the only others; its tables are overwritten
    k: int,
    theta_unary: FloatArray,  # room for what each state adds
    theta_pair: FloatArray,  # room for what each pair entry adds
    linear: FloatArray,  # shape (n,): what each atom adds when it is true, besides the clauses
    now: FloatArray,  # shape (m,): weights, 0 for hard clauses
    world: BoolArray,
) -> int:
    """Write the most probable world of the k-th example to `world`; return -1, or a variable whose component has no world."""
    stuck: int = _predict_forest(forest, k, theta_unary, theta_pair, linear, now, world)
    # Alone, so that numba leaves it out where there is None.
    if bounded is not None:  # noqa: SIM102
        if stuck < 0:
            stuck = _predict_bounded(window, bounded, k, linear, now, world)
    return stuck


# ---- sampled worlds: one Markov chain for a window, of which each example runs its own part ----------


class WindowChain(NamedTuple):
    """The Markov chain of a window, between two examples always at its start."""

    state: ChainState  # costs and linear terms are written to it before an example runs
    start: BoolArray  # shape (n,)
    visit_start: IntArray
    visit: Int32Array  # example k draws `visit[visit_start[k]:visit_start[k + 1]]`, as in `Sweep`
    gain: FloatArray
    fixes: IntArray
    total: FloatArray  # shape (n,), as `square`: sums that a sweep adds to, unused here
    square: FloatArray


def start_chain(slices: Slices, truth: BoolArray) -> WindowChain:
    """Return the chain of a window with these labels."""
    network = slices.network
    n, r = len(network.atoms), len(network.row_clause)
    rows = WeightedNetwork(
        np.arange(n, dtype=np.int64),
        np.zeros(n),
        network.indptr,
        network.literals,
        np.zeros(r),
        network.row_clause,
        network.block,
        network.block_exact,
        0.0,
        0.0,
    )
    start = start_world(network, truth)
    sweep, (member_start, members) = start_sweep(rows), rows.block_members
    block = -sweep.visit.astype(np.int64) - 1
    # There is nothing to draw for a block of one atom that must be true.
    sure = network.block_exact & (np.diff(member_start) == 1)
    drawn = np.append(~sure, True)[np.maximum(block, -1)]
    visit, block = sweep.visit[drawn], block[drawn]
    first = np.append(members, 0)[member_start]
    leader = np.where(block < 0, visit, first[np.maximum(block, -1)])
    visit_start, place = of_examples(network.example[leader], slices.examples)
    state = start_state(rows, occurrences(rows), start)
    return WindowChain(state, start, visit_start, visit[place], sweep.gain, sweep.fixes, *np.zeros((2, n)))


def soft_examples(slices: Slices) -> BoolArray:
    """Return which examples of the sequence have no hard ground clause, shape (e,)."""
    network = slices.network
    hard = np.zeros(len(network.atoms), dtype=np.bool_)
    inside = np.repeat(network.hard[network.row_clause], np.diff(network.indptr))
    hard[np.abs(network.literals[inside]) - 1] = True
    hard[np.abs(network.hard_units[:, 1]) - 1] = True
    return ~flagged_examples(slices, hard)


@kernel
def sample(
    window: WindowArrays, chain: WindowChain, k: int, now: FloatArray, sweeps: int, random: Stream, world: BoolArray
) -> None:
    """Write the world of the k-th example after some sweeps from its start, under the current weights `now`, to `world`."""
    state = chain.state
    first, last = window.atom_start[k], window.atom_start[k + 1]
    for a in range(first, last):
        atom = window.atom[a]
        state.atom[atom].linear = _unit_worth(window, atom, now) + window.prior[atom]
    for r in range(window.row_start[k], window.row_start[k + 1]):
        state.row[window.row[r]].cost = _row_cost(window, window.row[r], now)
    sweep = Sweep(chain.visit[chain.visit_start[k] : chain.visit_start[k + 1]], chain.gain, chain.fixes)
    for _ in range(sweeps):
        sweep_once(state, sweep, random, chain.total, chain.square)
    for a in range(first, last):
        world[window.atom[a]] = state.atom[window.atom[a]].true
    # Back to the start; what becomes false first, so that no block has two true atoms in between.
    for value in (False, True):
        for a in range(first, last):
            atom = window.atom[a]
            if state.atom[atom].true != value and chain.start[atom] == value:
                toggle(state, atom)


# ---- steps -------------------------------------------------------------------------------------------


@inner
def _meet(
    window: WindowArrays, state: RuleState, tally: ClauseTally, rates: Rates, work: StepScratch, i: int, step: int
) -> None:
    if work.seen[i] != step and not window.hard[i]:
        work.seen[i] = step
        work.now[i] = weight_after(state, i, step - 1, rates)
        tally.met[i] += 1


@kernel
def refresh(
    window: WindowArrays,
    tied: TiedArrays,
    k: int,
    state: RuleState,
    tally: ClauseTally,
    rates: Rates,
    work: StepScratch,
    step: int,
) -> None:
    """Bring the current weights of the clauses that occur in the k-th example up to date, before step `step`."""
    for a in range(window.atom_start[k], window.atom_start[k + 1]):
        atom = window.atom[a]
        for u in range(window.units.indptr[atom], window.units.indptr[atom + 1]):
            _meet(window, state, tally, rates, work, window.units.indices[u], step)
    for r in range(window.row_start[k], window.row_start[k + 1]):
        _meet(window, state, tally, rates, work, window.row_clause[window.row[r]], step)
    for place in range(tied.used_start[k], tied.used_start[k + 1]):
        t = tied.used[place]
        for cell in range(tied.cell_start[t], tied.cell_start[t + 1]):
            if tied.cell[cell] >= 0:
                _meet(window, state, tally, rates, work, tied.cell[cell], step)


@inner
def _violated(window: WindowArrays, row: int, world: BoolArray) -> bool:
    violated = True
    for x in window.literals[window.indptr[row] : window.indptr[row + 1]]:
        violated = violated and world[abs(x) - 1] != (x > 0)
    return violated


@inner
def _violated_of_pair(tied: TiedArrays, pair: int, world: BoolArray) -> int:
    # Write the clauses of a table that are violated between a pair of blocks to `violated`, whatever is true of these; how many they are.
    t, count = tied.table[pair], 0
    left, right = tied.left[pair], tied.right[pair]
    first, last = tied.member_start[right], tied.member_start[right + 1]
    cell = tied.cell_start[t]
    for a in tied.member[tied.member_start[left] : tied.member_start[left + 1]]:
        if world[a] != tied.left_positive[t]:
            for place in range(first, last):
                clause = tied.cell[cell + place - first]
                if clause >= 0 and world[tied.member[place]] != tied.right_positive[t]:
                    tied.violated[count] = clause
                    count += 1
        cell += last - first
    return count


@inner
def _same_block(tied: TiedArrays, block: int, one: BoolArray, other: BoolArray) -> bool:
    same = True
    for a in tied.member[tied.member_start[block] : tied.member_start[block + 1]]:
        same = same and one[a] == other[a]
    return same


@inner
def _score(window: WindowArrays, k: int, now: FloatArray, world: BoolArray) -> float:
    score = 0.0
    for a in range(window.atom_start[k], window.atom_start[k + 1]):
        atom = window.atom[a]
        if world[atom]:
            score += window.prior[atom]
            for u in range(window.units.indptr[atom], window.units.indptr[atom + 1]):
                score += window.units.data[u] * now[window.units.indices[u]]
    for r in range(window.row_start[k], window.row_start[k + 1]):
        row = window.row[r]
        if _violated(window, row, world):
            score -= _row_cost(window, row, now)
    return score


@inner
def _tied_cost(sign: IntArray, tied: TiedArrays, k: int, now: FloatArray, world: BoolArray) -> float:
    cost = 0.0
    for pair in tied.pair[tied.pair_start[k] : tied.pair_start[k + 1]]:
        for clause in tied.violated[: _violated_of_pair(tied, pair, world)]:
            cost += sign[clause] * tied.multiplicity[pair] * now[clause]
    return cost


@inner
def _add_delta(work: StepScratch, count: int, clause: int, value: int) -> int:
    # `seen` is minus the step while a clause is in the list of this step.
    if work.seen[clause] > 0:
        work.seen[clause] = -work.seen[clause]
        work.changed[count] = clause
        work.delta[clause] = 0
        count += 1
    work.delta[clause] += value
    return count


@inner
def _delta_counts(window: WindowArrays, k: int, work: StepScratch) -> int:
    # Delta n of all weighted clauses; how many of them are listed in `changed`.
    count = 0
    for a in range(window.atom_start[k], window.atom_start[k + 1]):
        atom = window.atom[a]
        if window.truth[atom] != work.target[atom]:
            way = 1 if window.truth[atom] else -1
            for u in range(window.units.indptr[atom], window.units.indptr[atom + 1]):
                clause = window.units.indices[u]
                if not window.hard[clause]:
                    count = _add_delta(work, count, clause, way * window.units.data[u])
    for r in range(window.row_start[k], window.row_start[k + 1]):
        row = window.row[r]
        clause = window.row_clause[row]
        if window.hard[clause]:
            continue
        broken, predicted = _violated(window, row, window.truth), _violated(window, row, work.target)
        if broken != predicted:
            way = 1 if predicted else -1
            count = _add_delta(work, count, clause, way * window.sign[clause] * window.multiplicity[row])
    return count


@inner
def _tied_delta_counts(
    sign: IntArray, tied: TiedArrays, k: int, truth: BoolArray, work: StepScratch, count: int
) -> int:
    # As `_delta_counts`, after which `count` clauses are listed.
    for pair in tied.pair[tied.pair_start[k] : tied.pair_start[k + 1]]:
        left, right = tied.left[pair], tied.right[pair]
        if _same_block(tied, left, truth, work.target) and _same_block(tied, right, truth, work.target):
            continue
        # What both worlds violate cancels.
        for clause in tied.violated[: _violated_of_pair(tied, pair, truth)]:
            count = _add_delta(work, count, clause, -sign[clause] * tied.multiplicity[pair])
        for clause in tied.violated[: _violated_of_pair(tied, pair, work.target)]:
            count = _add_delta(work, count, clause, sign[clause] * tied.multiplicity[pair])
    return count


@kernel
def finish(
    window: WindowArrays,
    tied: TiedArrays,
    k: int,
    state: RuleState,
    tally: ClauseTally,
    rates: Rates,
    work: StepScratch,
    step: int,
    rows: StepRows,
) -> int:
    """Record the worlds in `work` and learn from the k-th example, in place; return how many clauses have a delta n
    other than 0: `work.changed` then begins with them, ascending.
    """
    wrong, atoms, same = 0, 0, True
    for a in range(window.atom_start[k], window.atom_start[k + 1]):
        atom = window.atom[a]
        same = same and window.truth[atom] == work.target[atom]
        if not window.helper[atom]:
            atoms += 1
            wrong += window.truth[atom] != work.predicted[atom]
    rows.loss[k], rows.atoms[k] = wrong, atoms
    rows.score_truth[k] = _score(window, k, work.now, window.truth)
    rows.score_prediction[k] = _score(window, k, work.now, work.predicted)
    # Calls count references to all arrays that they are given, which takes longer than a small step.
    joined = tied.pair_start[k + 1] > tied.pair_start[k]
    if joined:
        rows.score_truth[k] -= _tied_cost(window.sign, tied, k, work.now, window.truth)
        rows.score_prediction[k] -= _tied_cost(window.sign, tied, k, work.now, work.predicted)
    if same:
        return 0
    listed, count = _delta_counts(window, k, work), 0
    if joined:
        listed = _tied_delta_counts(window.sign, tied, k, window.truth, work, listed)
    sort(work.changed, listed)
    for j in range(listed):
        clause = work.changed[j]
        if work.delta[clause] != 0:
            tally.delta_n[clause] += work.delta[clause]
            work.changed[count] = clause
            count += 1
    size = step_size(state, rates, window, k, work, count, step) if count > 0 else 0.0
    if size != 0.0:
        for clause in work.changed[:count]:
            update_clause(state, clause, work.delta[clause], step, rates, size)
            tally.updates[clause] += 1
    return count


def no_changes() -> CountChanges:
    """An empty list of changes."""
    return CountChanges(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))


@kernel
def record(
    changes: CountChanges, used: int, state: RuleState, rates: Rates, work: StepScratch, step: int, count: int
) -> tuple[CountChanges, int]:
    """Append the `count` changed clauses of a step to a list of which `used` places are taken; it grows by doubling."""
    size = len(changes.step)
    if used + count > size:
        new = max(2 * size, used + count, 1024)
        longer = CountChanges(
            np.empty(new, np.int64), np.empty(new, np.int64), np.empty(new, np.int64), np.empty(new, np.float64)
        )
        # Copies of slices and np.sort would take numba seconds to compile.
        for j in range(used):
            longer.step[j], longer.clause[j] = changes.step[j], changes.clause[j]
            longer.delta_n[j], longer.weight[j] = changes.delta_n[j], changes.weight[j]
        changes = longer
    for j in range(count):
        clause = work.changed[j]
        changes.step[used + j], changes.clause[used + j] = step, clause
        changes.delta_n[used + j] = work.delta[clause]
        changes.weight[used + j] = weight_after(state, clause, step, rates)
    return changes, used + count


@kernel
def learn_compiled(
    window: WindowArrays,
    tied: TiedArrays,
    forest: Forest,
    bounded: BoundedComponents | None,
    chain: WindowChain | None,  # if given, learn from its samples; no example has hard clauses then
    begin: int,
    end: int,
    state: RuleState,  # one place for each local clause, as in `tally` and `work`
    tally: ClauseTally,
    rates: Rates,
    work: StepScratch,
    done: int,  # steps before the first example here
    rows: StepRows,
    changes: CountChanges,  # appended to if `recording`
    used: int,
    augmentation: float,  # what each wrong atom adds to the world of delta n; 0 for the predicted world
    sweeps: int,
    random: Stream,
    recording: bool,
) -> tuple[int, CountChanges, int]:
    """Predict, compare and update for the examples begin to end - 1, all forests and components of small treewidth, in
    place; return -1 or a variable whose component has no world, the changes, and how many of them are used.
    """
    trees = forest.arrays
    theta_unary, theta_pair = np.empty(len(trees.state_atom)), np.empty(len(trees.pair_cell))
    with_loss = window.prior + augmentation * window.loss
    for k in range(begin, end):
        step = done + 1 + k - begin
        refresh(window, tied, k, state, tally, rates, work, step)
        stuck = predict(window, forest, bounded, k, theta_unary, theta_pair, window.prior, work.now, work.predicted)
        if stuck < 0 and augmentation > 0:
            stuck = predict(window, forest, bounded, k, theta_unary, theta_pair, with_loss, work.now, work.target)
        if stuck >= 0:
            return stuck, changes, used
        # Numba leaves this out where there is None.
        if chain is not None:
            sample(window, chain, k, work.now, sweeps, random, work.target)
        count = finish(window, tied, k, state, tally, rates, work, step, rows)
        if recording:
            changes, used = record(changes, used, state, rates, work, step, count)
    return -1, changes, used
