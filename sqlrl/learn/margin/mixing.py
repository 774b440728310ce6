"""Mixtures of worlds, improved atom by atom: where margin training starts, and a cut that thousands of worlds make together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.kernels import inner, kernel
from sqlrl.learn.batch.problem import TrainingProblem
from sqlrl.learn.margin.cuts import Cut
from sqlrl.progress import at_stage
from sqlrl.solve.counts import violated_rows
from sqlrl.solve.structure import grouped
from sqlrl.training.labels import infeasible_truth

# ---- one sweep over atoms, each reset with the probability that gains most, alone or with a partner --


LEAST = 1e-12
"""Steps that gain less are rounding."""

Near = tuple[IntArray, IntArray, FloatArray, IntArray, IntArray, IntArray, IntArray]
"""The arrays of `Adjacency`, in its order."""

State = tuple[FloatArray, FloatArray, FloatArray]
"""The mean truth of each atom, how probable the violation of each row is, and the weight of each clause: changed in place."""

Scratch = tuple[FloatArray, BoolArray, IntArray]
"""How counts change, by clause; which clauses were touched; and those in a list."""


@inner
def _after(own: int, other: int, value: int, truth: FloatArray) -> float:
    # How probable the violation of a row is once one of its atoms is `value`.
    if (own > 0) == (value == 1):
        return 0.0
    return float(1.0 - truth[other - 1] if other > 0 else truth[-other - 1])


@inner
def _direction(
    atom: int, value: int, near: Near, rows: tuple[IntArray, FloatArray], state: State, scratch: Scratch
) -> int:
    # Write how the counts of clauses change if the atom is reset; return how many clauses were touched.
    starts, clause, count, row_starts, row, own, other = near
    row_clause, fall = rows
    truth, violated, _ = state
    change, mark, touched = scratch
    step, n = value - truth[atom], 0
    for k in range(starts[atom], starts[atom + 1]):
        i = clause[k]
        change[i], mark[i], touched[n] = count[k] * step, True, i
        n += 1
    for k in range(row_starts[atom], row_starts[atom + 1]):
        j = row[k]
        i = row_clause[j]
        if not mark[i]:
            mark[i], touched[n] = True, i
            n += 1
        change[i] += fall[j] * (violated[j] - _after(own[k], other[k], value, truth))
    return n


@inner
def _clear(scratch: Scratch, n: int) -> None:
    change, mark, touched = scratch
    for k in range(n):
        change[touched[k]], mark[touched[k]] = 0.0, False


@inner
def _inner(scratch: Scratch, n: int, by: FloatArray) -> float:
    change, _, touched = scratch
    total = 0.0
    for k in range(n):
        total += change[touched[k]] * by[touched[k]]
    return total


@inner
def _slopes(atom: int, gain: float, near: Near, rows: tuple[IntArray, FloatArray], state: State) -> tuple[float, float]:
    # What the objective gains at first, for each unit of probability, by resets to false and to true.
    starts, clause, count, row_starts, row, own, other = near
    row_clause, fall = rows
    truth, violated, weights = state
    units = gain
    for k in range(starts[atom], starts[atom + 1]):
        units += weights[clause[k]] * count[k]
    false, true = -truth[atom] * units, (1.0 - truth[atom]) * units
    for k in range(row_starts[atom], row_starts[atom + 1]):
        j = row[k]
        weight = weights[row_clause[j]] * fall[j]
        if weight != 0.0:
            false += weight * (violated[j] - _after(own[k], other[k], 0, truth))
            true += weight * (violated[j] - _after(own[k], other[k], 1, truth))
    return false, true


@inner
def _reset(
    atom: int, value: int, probability: float, near: Near, rows: tuple[IntArray, FloatArray], state: State, price: float
) -> None:
    starts, clause, count, row_starts, row, own, other = near
    row_clause, fall = rows
    truth, violated, weights = state
    step = probability * (value - truth[atom])
    for k in range(starts[atom], starts[atom + 1]):
        weights[clause[k]] -= price * step * count[k]
    for k in range(row_starts[atom], row_starts[atom + 1]):
        j = row[k]
        moved = probability * (_after(own[k], other[k], value, truth) - violated[j])
        weights[row_clause[j]] += price * fall[j] * moved
        violated[j] += moved
    truth[atom] = value if probability == 1.0 else truth[atom] + step


@inner
def _step(slope: float, square: float, price: float) -> float:
    # The probability in [0, 1] that gains most along one direction.
    if slope <= 0.0:
        return 0.0
    return min(1.0, slope / (price * square)) if square > 0.0 else 1.0


@kernel
def best_pair(
    slopes: tuple[float, float], squares: tuple[float, float], product: float, price: float
) -> tuple[float, float, float]:
    """Return the x and y in [0, 1] that maximise ``x * a + y * b - price / 2 * |x * u + y * v|^2``, and the maximum."""
    a, b = slopes
    uu, vv = squares
    apart = uu * vv - product * product
    if apart > 1e-12 * uu * vv:
        x, y = (a * vv - b * product) / (price * apart), (b * uu - a * product) / (price * apart)
        if 0.0 <= x <= 1.0 and 0.0 <= y <= 1.0:
            return x, y, 0.5 * (a * x + b * y)
    best_x, best_y, best = 0.0, 0.0, 0.0
    for end in (0.0, 1.0):
        y = _step(b - price * product * end, vv, price)
        found = a * end + b * y - 0.5 * price * (uu * end * end + 2 * product * end * y + vv * y * y)
        if found > best:
            best_x, best_y, best = end, y, found
        x = _step(a - price * product * end, uu, price)
        found = a * x + b * end - 0.5 * price * (uu * x * x + 2 * product * x * end + vv * end * end)
        if found > best:
            best_x, best_y, best = x, end, found
    return best_x, best_y, best


@inner
def _joined(atom: int, partner: int, near: Near) -> bool:
    _, _, _, row_starts, _, _, other = near
    found = False
    for k in range(row_starts[atom], row_starts[atom + 1]):
        found = found or abs(other[k]) - 1 == partner
    return found


@kernel
def _sweep(
    near: Near,
    rows: tuple[IntArray, FloatArray],  # the clause of each row, and how much its count falls if the row is violated
    order: IntArray,  # atoms to visit
    gain: FloatArray,  # shape (n,): what loss and soft evidence gain when an atom becomes true
    group: IntArray,  # shape (n,): atoms connected by clauses
    partner: IntArray,  # by group, the last atom true in some worlds only, -1 for none; changed in place
    active: BoolArray,  # shape (n,): cleared where an atom could gain nothing and is the same in all worlds
    state: State,  # changed in place
    price: float,  # C, what the loss of one atom costs
) -> None:
    """Reset each atom once with the probability that gains most, alone or with the last mixed atom of its group."""
    truth, _, weights = state
    m = len(weights)
    first = (np.zeros(m), np.zeros(m, dtype=np.bool_), np.empty(m, dtype=np.int64))
    second = (np.zeros(m), np.zeros(m, dtype=np.bool_), np.empty(m, dtype=np.int64))
    for atom in order:
        if not active[atom]:
            continue
        slopes = _slopes(atom, gain[atom], near, rows, state)
        value, alone, best, square, slope = -1, 0.0, 0.0, 0.0, 0.0
        for to in range(2):
            if slopes[to] <= LEAST or truth[atom] == to:
                continue
            n = _direction(atom, to, near, rows, state, first)
            own = _inner(first, n, first[0])
            _clear(first, n)
            step = _step(slopes[to], own, price)
            found = step * (slopes[to] - 0.5 * price * step * own)
            if found > best:
                value, alone, best, square, slope = to, step, found, own, slopes[to]
        mixed = 0.0 < truth[atom] < 1.0
        if value < 0:
            active[atom] = mixed
            if mixed:
                partner[group[atom]] = atom
            continue
        # Of two atoms with clauses in common one undoes most of what the other does to the weights, unless both move.
        other, to_other, with_other, of_other = partner[group[atom]], -1, 0.0, 0.0
        if other >= 0 and other != atom and 0.0 < truth[other] < 1.0 and not _joined(atom, other, near):
            of_slopes = _slopes(other, gain[other], near, rows, state)
            n = _direction(atom, value, near, rows, state, first)
            for to in range(2):
                k = _direction(other, to, near, rows, state, second)
                own, product = _inner(second, k, second[0]), _inner(second, k, first[0])
                _clear(second, k)
                x, y, found = best_pair((slope, of_slopes[to]), (square, own), product, price)
                if found > best:
                    to_other, with_other, of_other, best = to, x, y, found
            _clear(first, n)
        if to_other >= 0:
            _reset(atom, value, with_other, near, rows, state, price)
            _reset(other, to_other, of_other, near, rows, state, price)
        else:
            _reset(atom, value, alone, near, rows, state, price)
        if 0.0 < truth[atom] < 1.0:
            partner[group[atom]] = atom


# ---- mixtures ----------------------------------------------------------------------------------------


SWEEPS = 200
"""See `Mixing`: each sweep costs a small part of a search for the most violated margin."""

ROUND = 5
"""Atoms that could not gain are visited again after so many sweeps."""

ENOUGH = 1e-3
"""See `Mixing`: with a thousandth a start costs as much as a few dozen searches for the most violated margin."""


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Clauses and rows of each atom, as the kernels read them."""

    starts: IntArray
    clause: IntArray  # atom k is alone in `clause[starts[k]:starts[k + 1]]`, none hard
    count: FloatArray  # how much their counts grow when the atom becomes true
    row_starts: IntArray
    row: IntArray  # atom k is in `row[row_starts[k]:row_starts[k + 1]]`
    own: IntArray  # signed literal of the atom itself
    other: IntArray  # signed literal of the other one in the row

    def alone(self) -> Adjacency:
        """The same without rows."""
        none = np.zeros(0, dtype=np.int64)
        return Adjacency(self.starts, self.clause, self.count, np.zeros_like(self.row_starts), none, none, none)


def adjacency(network: Network) -> Adjacency:
    """Return of each atom its clauses, and its rows of two literals."""
    units = network.units @ sparse.diags_array((~network.hard).astype(np.float64), format="csr")
    units = sparse.csr_array(units)
    units.eliminate_zeros()
    pairs = np.flatnonzero(np.diff(network.indptr) == 2)
    first = network.indptr[pairs]
    own = np.concatenate([network.literals[first], network.literals[first + 1]])
    other = np.concatenate([network.literals[first + 1], network.literals[first]])
    row, atom = np.tile(pairs, 2), np.abs(own) - 1
    row_starts, order = grouped(atom, len(network.atoms))
    wide = np.int64
    return Adjacency(
        units.indptr.astype(wide), units.indices.astype(wide), units.data.astype(np.float64),
        row_starts, row[order].astype(wide), own[order].astype(wide), other[order].astype(wide),
    )  # fmt: skip


def movable(network: Network) -> BoolArray:
    """Which atoms may be reset whatever others are: those in no block and no row but soft ones of two literals."""
    found = (network.block < 0) & ~network.helper
    length = np.diff(network.indptr)
    stiff = (length != 2) | network.hard[network.row_clause]
    found[np.abs(network.literals[np.repeat(stiff, length)]) - 1] = False
    found[np.abs(network.hard_units[:, 1]) - 1] = False
    return found


class Mixing:
    """A distribution over worlds that grows until no atom alone can make its cut better.

    Source: block-coordinate Frank-Wolfe (Lacoste-Julien, Jaggi, Schmidt and Pletscher 2013) on the dual of the margin
    problem with Hamming loss, with atoms in place of examples: where thousands of them matter, cuts of single worlds
    are too few. Two atoms that share clauses move together where that gains more, as in Platt (1998). Without rows this
    solves the problem; with them the mean is a cut all the same, and gives a lower bound of the objective.
    """

    def __init__(
        self, problem: TrainingProblem, *, seed: int = 0, enough: float = ENOUGH, sweeps: int = SWEEPS
    ) -> None:
        # Atoms of tied tables are in blocks, so that they stay as the labels have them.
        network = replace(problem.network, rows=problem.network.rows.rest)
        problem = replace(problem, network=network)
        self.problem, self.enough, self.sweeps = problem, enough, sweeps
        # Other atoms stay as the labels have them. After a reset of a movable one, whatever others are, mean truths and
        # violations are known, as its rows have two literals.
        self.atoms: IntArray = np.flatnonzero(movable(network))
        if len(infeasible_truth(network, problem.truth).clause):
            # Worlds that differ from the labels elsewhere are no worlds either.
            self.atoms = self.atoms[:0]
        self._random = np.random.default_rng(seed)
        self._near = adjacency(network)
        self._alone = self._near.alone()
        self._units = sparse.csr_array((self._near.count, self._near.clause, self._near.starts), network.units.shape)
        self._group = _groups(self._units)
        self._fall = np.where(network.hard, 0, network.sign)[network.row_clause] * network.multiplicity.astype(float)
        self._gain = network.prior + np.where(problem.truth, -1.0, 1.0)
        self._labels = problem.truth.astype(np.float64)
        self._label_violated = violated_rows(network, problem.truth).astype(np.float64)
        self._truth = self._labels.copy()

    def opening(self, price: float) -> tuple[FloatArray, Cut]:
        """Return what training starts from: the weights of `independent`, and then `cut`; `price` is C."""
        return self.independent(price), self.cut(price)

    @at_stage("margins of single atoms")
    def independent(self, price: float) -> FloatArray:
        """Return weights, shape (m,), best if clauses joining atoms had none; `price` is C, what one wrong atom costs."""
        truth = self._truth
        self._climb(self._alone, truth, self._label_violated.copy(), price)
        return np.asarray(price * (self._units.T @ (self._labels - truth)), dtype=np.float64)

    @at_stage("the mean of many worlds")
    def cut(self, price: float) -> Cut:
        """Return a cut of a distribution that starts where `independent` ended; its atoms are independent at first."""
        network, truth = self.problem.network, self._truth.copy()
        false = np.where(
            network.literals > 0, 1.0 - truth[np.abs(network.literals) - 1], truth[np.abs(network.literals) - 1]
        )
        violated = self._label_violated.copy()
        pairs = np.flatnonzero(np.diff(network.indptr) == 2)
        first = network.indptr[pairs]
        violated[pairs] = false[first] * false[first + 1]
        self._climb(self._near, truth, violated, price)
        delta = self._delta(truth, violated)
        clause = np.flatnonzero(delta)
        apart = np.abs(truth - self._labels)[~network.helper]
        return Cut(clause, delta[clause], float(apart.sum()), float(network.prior @ (self._labels - truth)))

    def _delta(self, truth: FloatArray, violated: FloatArray) -> FloatArray:
        # How much larger counts are in the labels than in the mean world.
        network = self.problem.network
        rows = np.bincount(
            network.row_clause, self._fall * (violated - self._label_violated), minlength=len(network.clauses)
        )
        return np.asarray(self._units.T @ (self._labels - truth) + rows, dtype=np.float64)

    def _climb(self, near: Adjacency, truth: FloatArray, violated: FloatArray, price: float) -> None:
        active = np.ones(len(truth), dtype=np.bool_)
        partner = np.full(int(self._group.max(initial=-1)) + 1, -1, dtype=np.int64)
        arrays = (near.starts, near.clause, near.count, near.row_starts, near.row, near.own, near.other)
        rows, value = (self.problem.network.row_clause, self._fall), -np.inf
        for done in range(0, self.sweeps, ROUND):
            # Weights without the rounding of many small steps.
            weights = price * self._delta(truth, violated)
            before, value = value, self._value(truth, weights, price)
            # The cuts find what is left.
            if value - before <= self.enough * abs(value):
                break
            active[:] = True
            state = (truth, violated, weights)
            for _ in range(min(ROUND, self.sweeps - done)):
                order = self._random.permutation(self.atoms)
                _sweep(arrays, rows, order, self._gain, self._group, partner, active, state, price)

    def _value(self, truth: FloatArray, weights: FloatArray, price: float) -> float:
        return price * float(self._gain @ (truth - self._labels)) - 0.5 * float(weights @ weights)


def _groups(units: sparse.csr_array) -> IntArray:
    # Atoms that clauses connect are in one group.
    n, m = units.shape
    starts = np.append(units.indptr, np.full(m, units.indptr[-1]))
    both = sparse.csr_array((np.ones(units.nnz, dtype=np.int8), units.indices + n, starts), shape=(n + m, n + m))
    return np.asarray(connected_components(both, connection="weak")[1][:n], dtype=np.int64)
