"""Mixtures of worlds, improved atom by atom: where margin training starts, and a cut that thousands of worlds make together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.learn.batch.problem import Problem
from sqlrl.learn.labels import infeasible_truth
from sqlrl.learn.margin.cuts import Cut
from sqlrl.learn.margin.sweeping import sweep
from sqlrl.solve.counts import violated_rows
from sqlrl.solve.structure import grouped

SWEEPS = 200
"""See `Mixing`: each sweep costs a small part of a search for the most violated margin."""

ROUND = 5
"""Atoms that could not gain are visited again after so many sweeps."""

ENOUGH = 1e-3
"""See `Mixing`: with a thousandth a start costs as much as a few dozen searches for the most violated margin."""


@dataclass(frozen=True, eq=False)
class Adjacency:
    """What the kernels read of a network, for each atom.

    Parameters
    ----------
    starts : int64 array, shape (n + 1,)
        Atom k has the clauses ``clause[starts[k]:starts[k + 1]]`` in which it is alone.
    clause, count : int64 and float arrays
        Those clauses, none hard, and how much their counts grow when the atom becomes true.
    row_starts : int64 array, shape (n + 1,)
        Atom k is in the rows ``row[row_starts[k]:row_starts[k + 1]]``.
    row, own, other : int64 arrays
        Those rows, and the signed literals, of the atom itself and of the other one.
    """

    starts: IntArray
    clause: IntArray
    count: FloatArray
    row_starts: IntArray
    row: IntArray
    own: IntArray
    other: IntArray

    def alone(self) -> Adjacency:
        """The same without rows.

        Examples
        --------
        >>> from sqlrl.solve.sample import network
        >>> adjacency(network(2, [(0, [1]), (1, [1, -2])])).alone().row_starts.tolist()
        [0, 0, 0]
        """
        none = np.zeros(0, dtype=np.int64)
        return Adjacency(self.starts, self.clause, self.count, np.zeros_like(self.row_starts), none, none, none)


def adjacency(network: Network) -> Adjacency:
    """Return of each atom its clauses, and its rows of two literals.

    Examples
    --------
    >>> from sqlrl.solve.sample import network
    >>> found = adjacency(network(2, [(0, [1]), (1, [1, -2])]))
    >>> found.row_starts.tolist(), found.own.tolist(), found.other.tolist()
    ([0, 1, 2], [1, -2], [-2, 1])
    """
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
    """Which atoms may be reset whatever others are: those in no block and no row but soft ones of two literals.

    Examples
    --------
    >>> from sqlrl.solve.sample import network
    >>> movable(network(6, [(0, [1, 2]), (1, [3, 4]), (0, [1, 5])], hard=[1], blocks=[([4], False)])).tolist()
    [True, True, False, False, False, True]
    """
    found = (network.block < 0) & ~network.helper
    length = np.diff(network.indptr)
    stiff = (length != 2) | network.hard[network.row_clause]
    found[np.abs(network.literals[np.repeat(stiff, length)]) - 1] = False
    found[np.abs(network.hard_units[:, 1]) - 1] = False
    return found


class Mixing:
    """A distribution over worlds that grows until no atom alone can make its cut better.

    Of the worlds it keeps the mean truth of each atom, and how probable the violation of each row is; the weights are C times what the
    counts of the labels are above their mean. To reset an atom to true or false with some probability, whatever other atoms
    are, gives another distribution of which the same is known, if the rows have two literals.

    Parameters
    ----------
    problem : Problem
        n atoms, m clauses.
    seed : int
        Of the order of atoms.
    enough : float
        Sweeps end when five of them gain no more than this part of the whole: what is left the cuts find.
    sweeps : int
        Over all atoms, at most.

    Notes
    -----
    The dual of the margin problem with Hamming loss is to find the distribution over worlds whose mean loss is large and whose mean
    counts are close to those of the labels. Cutting planes take it from as many worlds as there are cuts; where thousands of
    atoms each have a say, these are too few. Block-coordinate Frank-Wolfe (Lacoste-Julien, Jaggi, Schmidt and Pletscher 2013)
    moves the part of one example at a time with the best step in closed form; here the example is an atom, and its neighbours are as
    they are. Two atoms with clauses in common move together where that gains more, as most of what one does to the weights
    of their clauses the other undoes: in sequential minimal optimisation of support vector machines (Platt 1998) pairs do the same.

    Without rows this solves the problem. With them it ends where no atom gains alone; the mean is a cut all the same, and a lower
    bound of the objective. Atoms in blocks, in hard clauses, and in rows of three literals or more stay as the labels have them.

    Examples
    --------
    >>> from sqlrl.learn.labels import Names
    >>> from sqlrl.solve.sample import network
    >>> problem = Problem(network(2, [(0, [1]), (1, [2])]), np.array([True, False]), Names())
    >>> Mixing(problem).independent(10.0).round(6).tolist()
    [1.0, -1.0]
    """

    def __init__(self, problem: Problem, *, seed: int = 0, enough: float = ENOUGH, sweeps: int = SWEEPS) -> None:
        network = problem.network
        self.problem, self.enough, self.sweeps = problem, enough, sweeps
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

    def independent(self, price: float) -> FloatArray:
        """Return weights that are best if clauses joining atoms had none, shape (m,).

        Parameters
        ----------
        price : float
            C, what the loss of one atom costs.
        """
        truth = self._truth
        self._climb(self._alone, truth, self._label_violated.copy(), price)
        return np.asarray(price * (self._units.T @ (self._labels - truth)), dtype=np.float64)

    def cut(self, price: float) -> Cut:
        """Return a cut of a distribution that starts where `independent` ended; its atoms are independent at first.

        Parameters
        ----------
        price : float
            C, what the loss of one atom costs.
        """
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
            if value - before <= self.enough * abs(value):
                break
            active[:] = True
            state = (truth, violated, weights)
            for _ in range(min(ROUND, self.sweeps - done)):
                order = self._random.permutation(self.atoms)
                sweep(arrays, rows, order, self._gain, self._group, partner, active, state, price)

    def _value(self, truth: FloatArray, weights: FloatArray, price: float) -> float:
        return price * float(self._gain @ (truth - self._labels)) - 0.5 * float(weights @ weights)


def _groups(units: sparse.csr_array) -> IntArray:
    # Atoms that clauses connect are in one group.
    n, m = units.shape
    starts = np.append(units.indptr, np.full(m, units.indptr[-1]))
    both = sparse.csr_array((np.ones(units.nnz, dtype=np.int8), units.indices + n, starts), shape=(n + m, n + m))
    return np.asarray(connected_components(both, connection="weak")[1][:n], dtype=np.int64)
