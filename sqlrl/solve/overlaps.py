"""Which clauses have ground clauses in common, so that they say the same of the same atoms; for all pairs of clauses at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sqlrl.distinct import distinct
from sqlrl.errors import InputError
from sqlrl.ground.network import BoolArray, IntArray, Network

MOST_PAIRS = 200_000_000
"""So many times two clauses may share a ground clause in one window: the sum over ground clauses of the pairs of clauses that have it."""

PIECE = 1_000
"""Pairs of clauses whose atoms are compared at a time."""


@dataclass(frozen=True, eq=False)
class Overlaps:
    """The pairs of clauses that share a ground clause, in order; counts over examples that share no atom add up."""

    pairs: IntArray  # shape (p, 2): local clauses, of which the first is smaller
    shared: IntArray  # shape (p,): how many distinct ground clauses both have
    atoms: IntArray  # shape (p,): how many atoms both mention
    size: IntArray  # shape (m,): the distinct ground clauses of each clause
    reach: IntArray  # shape (m,): the atoms of each clause

    def __add__(self, other: Overlaps) -> Overlaps:
        """Return the counts over the examples of both."""
        pairs = distinct(np.concatenate([self.pairs, other.pairs]).T)
        added = [np.zeros(len(pairs), np.int64) for _ in range(2)]
        for total, name in zip(added, ("shared", "atoms"), strict=True):
            np.add.at(total, pairs.inverse, np.concatenate([getattr(self, name), getattr(other, name)]))
        return Overlaps(pairs.rows, added[0], added[1], self.size + other.size, self.reach + other.reach)


def overlaps(network: Network, chosen: BoolArray) -> Overlaps:
    """Return which of the chosen clauses share ground clauses that the evidence leaves open; too many of them are an InputError."""
    m, n = len(network.clauses), len(network.atoms)
    # One literal is its atom, whichever sign it has: with the opposite weight it says the same; so do a clause and the conjunction that is its
    # negation.
    ground, clause, count = _ground_clauses(network)
    mine = chosen[clause]
    having = _matrix(ground[mine], clause[mine], (count, m))
    times = np.diff(having.indptr).astype(np.int64)
    often = int((times * (times - 1) // 2).sum())
    if often > MOST_PAIRS:
        raise InputError(
            f"these clauses share ground clauses {often:,} times, in pairs, of which at most {MOST_PAIRS:,} are looked at: choose fewer examples, or "
            "a model with fewer rules"
        )
    common = sparse.triu(having[times > 1].T @ having[times > 1], k=1, format="coo")
    order = np.lexsort((common.col, common.row))
    pairs = np.stack([common.row[order], common.col[order]], axis=1).astype(np.int64)
    atom, of = _mentions(network)
    mine = chosen[of] & ~network.helper[atom]
    reached = _matrix(of[mine], atom[mine], (m, n))
    atoms = np.zeros(len(pairs), np.int64)
    for start in range(0, len(pairs), PIECE):
        first, second = (reached[pairs[start : start + PIECE, i]] for i in range(2))
        atoms[start : start + PIECE] = np.diff(first.multiply(second).tocsr().indptr)
    size = np.bincount(having.indices, minlength=m).astype(np.int64)
    return Overlaps(pairs, common.data[order].astype(np.int64), atoms, size, np.diff(reached.indptr).astype(np.int64))


def _matrix(row: IntArray, column: IntArray, shape: tuple[int, int]) -> sparse.csr_array:
    """Return an array of int64 that is 1 at some places."""
    found = sparse.coo_array((np.ones(len(row), np.int64), (row, column)), shape=shape).tocsr()
    found.sum_duplicates()
    found.data[:] = 1
    return found


def _ground_clauses(network: Network) -> tuple[IntArray, IntArray, int]:
    """Return a number for each ground clause, the same for equal ones, with the clause that has it; and how many numbers there are."""
    atom, clause = _units(network)
    parts, clauses, first = [atom], [clause], len(network.atoms)
    length = np.diff(network.indptr)
    for size in np.unique(length).tolist():
        rows = np.flatnonzero(length == size)
        # Literals of a row are in order, so that equal sets are equal rows.
        different = distinct([network.literals[network.indptr[rows] + place] for place in range(size)])
        parts.append(different.inverse + first)
        clauses.append(network.row_clause[rows])
        first += len(different)
    return np.concatenate(parts), np.concatenate(clauses), first


def _mentions(network: Network) -> tuple[IntArray, IntArray]:
    """Return pairs of an atom and a clause with a ground clause that mentions it."""
    atom, clause = _units(network)
    of = np.repeat(network.row_clause, np.diff(network.indptr))
    return np.concatenate([atom, np.abs(network.literals) - 1]), np.concatenate([clause, of])


def _units(network: Network) -> tuple[IntArray, IntArray]:
    """Return the atoms and clauses of ground clauses with one literal, without those that cancel each other."""
    units = network.units.tocoo()
    some = units.data != 0
    return units.row[some].astype(np.int64), units.col[some].astype(np.int64)
