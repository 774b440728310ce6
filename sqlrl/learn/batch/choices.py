"""The design of an exact conditional likelihood: independent choices among states, each with the counts that it adds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy import sparse

from sqlrl.errors import InputError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.learn.batch.problem import Problem, fixed_values
from sqlrl.solve.restriction import Values
from sqlrl.solve.structure import Sides, Variables, pointers, ragged_ranges, sides_of, variables_of
from sqlrl.solve.weighted import FREE
from sqlrl.wording import counted

ROWS = 4096
"""Rows that are made dense together."""
DENSE = 60.0
"""How many products of a dense matrix take the time of one of a sparse one."""


@dataclass(frozen=True, eq=False)
class Choices:
    """Independent choices: each is an atom (false or true) or a block (none where that is possible, or a member).

    Parameters
    ----------
    features : scipy.sparse.csr_array of float, shape (s, m)
        What each state adds to the counts of the m clauses; 0 for hard clauses.
    offset : float array, shape (s,)
        Log-odds of soft evidence.
    start : int64 array, shape (c + 1,)
        Choice u has the states `start[u]` to `start[u + 1] - 1`, two or more.
    observed : int64 array, shape (c,)
        The state that the labels say.
    example : int64 array, shape (c,)
        The example of each choice.
    label : int64 array, shape (c,)
        Which state of its choice is observed, from 0: 1 for a true atom, 0 for a false one.
    atom : int64 array, shape (s,), optional
        The atom (its place in the network) that each state makes true, -1 for none.

    Examples
    --------
    >>> features = sparse.csr_array([[0.0], [2.0], [0.0], [1.0]])
    >>> one = np.zeros(2, dtype=np.int64)
    >>> two = Choices(features, np.zeros(4), np.array([0, 2, 4]), np.array([1, 2]), one, np.array([1, 0]))
    >>> value, gradient = two.value_and_gradient(np.zeros(1))
    >>> round(value, 4), gradient.tolist()
    (-1.3863, [0.5])
    """

    features: sparse.csr_array
    offset: FloatArray
    start: IntArray
    observed: IntArray
    example: IntArray
    label: IntArray
    atom: IntArray | None = None

    def __len__(self) -> int:
        return len(self.observed)

    @cached_property
    def _transposed(self) -> sparse.csr_array:
        return self.features.T.tocsr()

    @cached_property
    def owner(self) -> IntArray:
        """The choice of each state, shape (s,)."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.start))

    def _shares(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The log-likelihood of each choice, and the probability of each state."""
        if len(self) == 0:
            return np.zeros(0), np.zeros(0)
        score = self.features @ weights + self.offset
        first = self.start[:-1]
        score -= np.maximum.reduceat(score, first)[self.owner]
        share = np.exp(score)
        total = np.add.reduceat(share, first)
        return score[self.observed] - np.log(total), share / total[self.owner]

    def log_likelihood(self, weights: FloatArray) -> FloatArray:
        """Return the log-likelihood of each choice, shape (c,), under weights of shape (m,)."""
        return self._shares(weights)[0]

    def value_and_gradient(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return the conditional log-likelihood of the labels, and its gradient: observed less expected counts.

        Weights and gradient have shape (m,).

        Notes
        -----
        Source: Huynh (2011), section 3.2.2: without clauses that join query atoms the conditional likelihood is a product over
        the query atoms (here: and blocks), so that it and its gradient are exact.
        """
        found, share = self._shares(weights)
        np.negative(share, out=share)
        share[self.observed] += 1.0
        return float(found.sum()), self._transposed @ share

    @cached_property
    def _differences(self) -> sparse.csc_array:
        """What each state but the first of its choice adds to the counts, less what the first one adds."""
        others = np.ones(len(self.offset), dtype=np.bool_)
        others[self.start[:-1]] = False
        rows = np.flatnonzero(others)
        first = self.features[self.start[:-1]]
        rest = self.features[rows]
        return (rest - first[self.owner[rows]] if first.nnz else rest).tocsc()

    def hessian(self, weights: FloatArray, columns: IntArray) -> FloatArray:
        """Return the negative Hessian in some of the clauses: the covariances of their counts.

        `weights` has shape (m,); `columns` are k clauses, ascending. The result has shape (k, k).
        """
        share = np.delete(self._shares(weights)[1], self.start[:-1])
        size = np.diff(self.start) - 1
        several = np.repeat(size > 1, size)
        rest = self._differences[:, columns].tocsr()
        # Of an atom p (1 - p) x x'; of a block sum p x x' less the square of its mean.
        found = weighted_squares(rest, np.where(several, share, share * (1.0 - share)))
        if several.any():
            blocks = pointers(size[size > 1])
            rows = np.flatnonzero(several)
            shape = (len(blocks) - 1, len(rows))
            means = sparse.csr_array((share[rows], np.arange(len(rows)), blocks), shape=shape) @ rest[rows]
            found -= weighted_squares(means.tocsr(), np.ones(shape[0]))
        return found

    def curvature(self, weights: FloatArray) -> FloatArray:
        """Return the diagonal of the negative Hessian, shape (m,): the variances of the counts."""
        share = np.delete(self._shares(weights)[1], self.start[:-1])
        size = np.diff(self.start) - 1
        rest = self._differences
        each = sparse.csr_array((share, np.arange(len(share)), pointers(size)), shape=(len(self), len(share)))
        means = each @ rest
        squares = rest.multiply(rest).T @ share
        return np.asarray(np.maximum(squares - means.multiply(means).sum(axis=0), 0.0), dtype=np.float64)

    def product(self, weights: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the negative Hessian times a vector, both of shape (m,)."""
        if len(self) == 0:
            return np.zeros_like(direction)
        share, grows = self._shares(weights)[1], self.features @ direction
        mean = np.add.reduceat(share * grows, self.start[:-1])
        return np.asarray(self._transposed @ (share * (grows - mean[self.owner])), dtype=np.float64)

    def chosen(self, which: BoolArray) -> Choices:
        """Return some of the choices, shape (c,)."""
        size = np.diff(self.start)[which]
        rows = ragged_ranges(self.start[:-1][which], size)
        start = pointers(size)
        return Choices(
            self.features[rows],
            self.offset[rows],
            start,
            start[:-1] + self.label[which],
            self.example[which],
            self.label[which],
        )

    def columns(self, which: IntArray, scale: FloatArray) -> Self:
        """Return the choices with some of the clauses only, their counts multiplied by `scale`."""
        kept = self.features.tocsc()[:, which] @ sparse.diags_array(scale)
        return replace(self, features=kept.tocsr())


def weighted_squares(rows: sparse.csr_array, weight: FloatArray) -> FloatArray:
    """The sum of `weight x x'` over the rows x, as a dense matrix."""
    n, k = rows.shape
    filled = np.diff(rows.indptr).astype(np.float64)
    if DENSE * float(filled @ filled) < float(n) * k * k:
        return np.asarray((rows.T @ (sparse.diags_array(weight) @ rows)).toarray(), dtype=np.float64)
    found, root = np.zeros((k, k)), np.sqrt(weight)
    for at in range(0, n, ROWS):
        part = rows[at : at + ROWS].toarray() * root[at : at + ROWS, None]
        found += part.T @ part
    return found


def make_choices(problem: Problem, *, seed: int) -> Choices:
    """Make the design of a model whose ground clauses have one query atom each, blocks aside.

    Atoms that hard clauses fix are no choices. Nor are those whose labels no world of the hard clauses and blocks has:
    their likelihood is 0 whatever the weights are. `seed` is for the error where hard clauses cannot all hold.
    InputError if a ground clause joins atoms that are not of one block, or no choice is left; ConflictError if the hard
    clauses cannot all hold.

    Examples
    --------
    >>> from sqlrl.learn.labels import Names
    >>> from sqlrl.solve.sample_networks import network
    >>> small = network(3, [(0, [1], 2), (1, [-2]), (1, [3])], blocks=[([1, 2], False)])
    >>> found = make_choices(Problem(small, np.array([True, False, False]), Names()), seed=0)
    >>> found.features.toarray().tolist(), found.start.tolist(), found.label.tolist()
    ([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0], [0.0, -1.0], [0.0, 1.0]], [0, 2, 5], [1, 0])
    """
    network, value = problem.network, fixed_values(problem, seed=seed)
    free = np.flatnonzero(value == FREE)
    rest = _left(network, value, free)
    variables = variables_of(rest)
    sides = sides_of(rest, variables)
    _check_independent(problem, rest, sides, free)
    features, forbidden = _features(network, rest, variables, sides, free)
    offset = np.where(variables.atom >= 0, network.prior[free][variables.atom], 0.0)
    state = _observed(problem.truth, value, network, variables, free)
    allowed = ~forbidden
    owner = np.repeat(np.arange(len(variables.exact)), variables.size)
    size = np.bincount(owner[allowed], minlength=len(variables.exact)).astype(np.int64)
    known = state >= 0
    known[known] = allowed[(variables.start[:-1] + state)[known]]
    kept = known & (size > 1)
    if not kept.any():
        raise InputError(
            "there is nothing to learn: hard clauses and blocks leave no query atom open whose label they allow; give one "
            "of the hard clauses a weight, or correct the labels"
        )
    rows = np.flatnonzero(allowed & np.repeat(kept, variables.size))
    before: IntArray = np.cumsum(allowed) - allowed
    label: IntArray = before[variables.start[:-1] + np.maximum(state, 0)] - before[variables.start[:-1]]
    start = pointers(size[kept])
    _, first = np.unique(variables.of_atom, return_index=True)
    example = network.example[free][first]
    atom = np.where(variables.atom >= 0, free[variables.atom], -1)[rows].astype(np.int64)
    return Choices(features[rows], offset[rows], start, start[:-1] + label[kept], example[kept], label[kept], atom)


@dataclass(frozen=True, eq=False)
class _Left:
    """The rows and blocks that are left of a network where atoms are fixed; atoms are places among the free ones."""

    indptr: IntArray
    literals: IntArray
    row: IntArray
    block: IntArray
    block_exact: BoolArray


def _left(network: Network, value: Values, free: IntArray) -> _Left:
    place = np.full(len(value), -1, dtype=np.int64)
    place[free] = np.arange(len(free))
    length = np.diff(network.indptr)
    row = np.repeat(np.arange(len(length), dtype=np.int64), length)
    atom, positive = np.abs(network.literals) - 1, network.literals > 0
    satisfied = np.zeros(len(length), dtype=np.bool_)
    satisfied[row[(value[atom] != FREE) & ((value[atom] == 1) == positive)]] = True
    kept = (value[atom] == FREE) & ~satisfied[row]
    # A row that fixed atoms violate is the same in all worlds.
    rows, count = np.unique(row[kept], return_counts=True)
    literals = np.where(positive[kept], 1, -1) * (place[atom[kept]] + 1)
    blocks, block = np.unique(network.block[free], return_inverse=True)
    none = int(len(blocks) > 0 and blocks[0] < 0)
    return _Left(pointers(count), literals, rows, (block - none).astype(np.int64), network.block_exact[blocks[none:]])


def _check_independent(problem: Problem, rest: _Left, sides: Sides, free: IntArray) -> None:
    """Refuse rows that join atoms of several choices."""
    network, names = problem.network, problem.names
    joining = np.flatnonzero(np.diff(sides.row_start) > 1)
    if len(joining) == 0:
        return
    first = joining[0]
    clause = network.row_clause[rest.row[first]]
    atoms = free[np.abs(rest.literals[rest.indptr[first] : rest.indptr[first + 1]]) - 1]
    shown = [names.atom(int(network.atoms[a])) for a in atoms if not network.helper[a]][:2]
    example = f", {' and '.join(shown)}" if len(shown) == 2 else ""
    others = len(np.unique(network.row_clause[rest.row[joining]])) - 1
    more = f" ({counted(others, 'other clause does', 'other clauses do')} so too)" if others else ""
    if network.hard[clause]:
        remedy = "leave this hard clause out while learning and add it to the learned model, or use PSCG (moments='mcsat') or MaxMargin"
    else:
        remedy = "use PSCG (moments='mcsat') or MaxMargin, or take the clause out of the model"
    raise InputError(
        f"the exact likelihood needs clauses of which each grounding has one query atom, blocks aside, but "
        f"{names.clause(int(network.clauses[clause]))} joins query atoms{example}{more}: {remedy}"
    )


def _features(
    network: Network, rest: _Left, variables: Variables, sides: Sides, free: IntArray
) -> tuple[sparse.csr_array, BoolArray]:
    """What each state adds to the counts of clauses that are not hard, and which states hard clauses forbid."""
    m, states = len(network.clauses), len(variables.atom)
    soft = (~network.hard).astype(np.float64)
    units = (network.units.astype(np.float64)[free] @ sparse.diags_array(soft)).tocoo()
    at = variables.start[variables.of_atom] + variables.state_of_atom  # the state that makes each free atom true
    # A row over one choice is violated in the state of its only term, or in all states but those of its terms.
    single = np.flatnonzero(np.diff(sides.row_start) == 1)
    side = sides.row_start[single]
    clause = network.row_clause[rest.row[single]]
    size = -(network.sign * (~network.hard))[clause] * network.multiplicity[rest.row[single]]
    terms = sides.term_start[side + 1] - sides.term_start[side]
    term_state = at[sides.term[ragged_ranges(sides.term_start[side], terms)]]
    others = np.where(sides.member[side], 0, variables.size[sides.variable[side]])
    other_state = ragged_ranges(variables.start[sides.variable[side]], others)
    state = np.concatenate([other_state, term_state])
    # Where it is violated in all states but some, those are taken off again.
    entry = np.concatenate([np.repeat(np.arange(len(single)), others), np.repeat(np.arange(len(single)), terms)])
    sign = np.concatenate([np.ones(len(other_state)), np.repeat(np.where(sides.member[side], 1.0, -1.0), terms)])
    data = np.concatenate([units.data, sign * size[entry]])
    places = (np.concatenate([at[units.row], state]), np.concatenate([units.col, clause[entry]]))
    features = sparse.coo_array((data, places), shape=(states, m)).tocsr()
    features.sum_duplicates()
    features.eliminate_zeros()
    hard = network.hard[clause[entry]]
    violated = np.bincount(state[hard], weights=sign[hard], minlength=states)
    return features, violated > 0


def _observed(truth: BoolArray, value: Values, network: Network, variables: Variables, free: IntArray) -> IntArray:
    """The state of each variable that the labels say, -1 if it has no such state."""
    label, count = truth[free], len(variables.exact)
    true = np.bincount(variables.of_atom[label], minlength=count)
    state = np.zeros(count, dtype=np.int64)
    state[variables.of_atom[label]] = variables.state_of_atom[label]
    state[(true > 1) | ((true == 0) & variables.exact)] = -1
    # A label that contradicts a fixed atom of the block.
    wrong = np.flatnonzero((value != FREE) & (truth != (value == 1)) & (network.block >= 0))
    spoiled = np.isin(network.block[free], network.block[wrong]) & (network.block[free] >= 0)
    state[variables.of_atom[spoiled]] = -1
    return state
