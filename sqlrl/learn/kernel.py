"""Steps over the examples of a window, compiled: current weights, prediction, scores, delta n, update by any rule.

`learn_compiled` does whole steps of examples whose components are forests or narrow; for others a caller predicts by other
means between `refresh` and `finish`.
"""

from __future__ import annotations

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.kernels import kernel
from sqlrl.learn.arrays import Changes, Forest, Narrow, Scratch, StepRows, Tally, WindowArrays
from sqlrl.learn.prediction import predict
from sqlrl.learn.rules import AnyRates, State, step_size, update_clause, weight_after
from sqlrl.learn.sampling import Chain, sample
from sqlrl.learn.weighing import row_cost
from sqlrl.solve.randomness import Stream


@kernel
def _meet(window: WindowArrays, state: State, tally: Tally, rates: AnyRates, work: Scratch, i: int, step: int) -> None:
    if work.seen[i] != step and not window.hard[i]:
        work.seen[i] = step
        work.now[i] = weight_after(state, i, step - 1, rates)
        tally.met[i] += 1


@kernel
def refresh(
    window: WindowArrays, k: int, state: State, tally: Tally, rates: AnyRates, work: Scratch, step: int
) -> None:
    """Bring the current weights of the clauses that occur in the k-th example up to date, before step `step`."""
    for a in range(window.atom_start[k], window.atom_start[k + 1]):
        atom = window.atom[a]
        for u in range(window.units.indptr[atom], window.units.indptr[atom + 1]):
            _meet(window, state, tally, rates, work, window.units.indices[u], step)
    for r in range(window.row_start[k], window.row_start[k + 1]):
        _meet(window, state, tally, rates, work, window.row_clause[window.row[r]], step)


@kernel
def _violated(window: WindowArrays, row: int, world: BoolArray) -> bool:
    violated = True
    for x in window.literals[window.indptr[row] : window.indptr[row + 1]]:
        violated = violated and world[abs(x) - 1] != (x > 0)
    return violated


@kernel
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
            score -= row_cost(window, row, now)
    return score


@kernel
def _add_delta(work: Scratch, count: int, clause: int, value: int) -> int:
    # `seen` is minus the step while a clause is in the list of this step.
    if work.seen[clause] > 0:
        work.seen[clause] = -work.seen[clause]
        work.changed[count] = clause
        work.delta[clause] = 0
        count += 1
    work.delta[clause] += value
    return count


@kernel
def _delta_counts(window: WindowArrays, k: int, work: Scratch) -> int:
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


@kernel
def sort(values: IntArray, count: int) -> None:
    """Sort the first `count` values, in place (a heap sort).

    Examples
    --------
    >>> values = np.array([3, 1, 2, 0])
    >>> sort(values, 3)
    >>> values.tolist()
    [1, 2, 3, 0]
    """
    size = count
    for step in range(count // 2 + count - 1):
        # First make a heap from its last inner node on, then move the greatest value behind what is left.
        start = count // 2 - 1 - step
        if start < 0:
            start, size = 0, size - 1
            values[0], values[size] = values[size], values[0]
        value, i = values[start], start
        while 2 * i + 1 < size:
            child = 2 * i + 1
            if child + 1 < size and values[child + 1] > values[child]:
                child += 1
            if values[child] <= value:
                break
            values[i] = values[child]
            i = child
        values[i] = value


@kernel
def finish(
    window: WindowArrays,
    k: int,
    state: State,
    tally: Tally,
    rates: AnyRates,
    work: Scratch,
    step: int,
    rows: StepRows,
) -> int:
    """Score and record the worlds in `work`, then learn from the k-th example, in place.

    Returns
    -------
    int
        How many clauses have a delta n other than 0: `work.changed` begins with them, ascending.
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
    if same:
        return 0
    listed, count = _delta_counts(window, k, work), 0
    sort(work.changed, listed)
    for j in range(listed):
        clause = work.changed[j]
        if work.delta[clause] != 0:
            tally.delta_n[clause] += work.delta[clause]
            work.changed[count] = clause
            count += 1
    size = step_size(rates, window, k, work, count, step) if count > 0 else 0.0
    if size != 0.0:
        for clause in work.changed[:count]:
            update_clause(state, clause, work.delta[clause], step, rates, size)
            tally.updates[clause] += 1
    return count


@kernel
def no_changes() -> Changes:
    """An empty list of changes."""
    return Changes(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))


@kernel
def record(
    changes: Changes, used: int, state: State, rates: AnyRates, work: Scratch, step: int, count: int
) -> tuple[Changes, int]:
    """Append the `count` changed clauses of a step to a list of which `used` places are taken; it grows by doubling."""
    size = len(changes.step)
    if used + count > size:
        new = max(2 * size, used + count, 1024)
        longer = Changes(
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
    forest: Forest,
    narrow: Narrow | None,
    chain: Chain | None,
    begin: int,
    end: int,
    state: State,
    tally: Tally,
    rates: AnyRates,
    work: Scratch,
    done: int,
    rows: StepRows,
    changes: Changes,
    used: int,
    augmentation: float,
    sweeps: int,
    random: Stream,
    recording: bool,
) -> tuple[int, Changes, int]:
    """Predict, compare and update for the examples begin to end - 1, all of forests and narrow components; in place.

    Parameters
    ----------
    window, forest, narrow
        The window.
    chain : Chain or None
        To learn from samples; the examples then have no hard clauses.
    begin, end : int
        Places in the sequence of examples.
    state, tally, rates, work
        Arrays of one place for each local clause of the network.
    done : int
        Steps so far; the first example here is step `done + 1`.
    rows : StepRows
        Filled at the places begin to end - 1.
    changes, used
        Appended to if `recording`.
    augmentation : float
        What each wrong atom adds to the world of delta n; 0 for the predicted world.
    sweeps, random
        Of the chain.
    recording : bool
        Whether to note what each step changes.

    Returns
    -------
    tuple of int, Changes and int
        -1 or a variable whose component has no world; the changes; how many of them are used.
    """
    trees = forest.arrays
    theta_unary, theta_pair = np.empty(len(trees.state_atom)), np.empty(len(trees.pair_cell))
    with_loss = window.prior + augmentation * window.loss
    for k in range(begin, end):
        step = done + 1 + k - begin
        refresh(window, k, state, tally, rates, work, step)
        stuck = predict(window, forest, narrow, k, theta_unary, theta_pair, window.prior, work.now, work.predicted)
        if stuck < 0 and augmentation > 0:
            stuck = predict(window, forest, narrow, k, theta_unary, theta_pair, with_loss, work.now, work.target)
        if stuck >= 0:
            return stuck, changes, used
        # Numba leaves this out where there is None.
        if chain is not None:
            sample(window, chain, k, work.now, sweeps, random, work.target)
        count = finish(window, k, state, tally, rates, work, step, rows)
        if recording:
            changes, used = record(changes, used, state, rates, work, step, count)
    return -1, changes, used
