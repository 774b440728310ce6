"""The ground network: ground clauses over query atoms, as arrays, without weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sqlrl import markup

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
Indices = TypeVar("Indices", npt.NDArray[np.int32], npt.NDArray[np.int64])
"""Both arrays of indices of a sparse matrix, which SciPy makes as short as they can be."""

BLOCK = -2
"""In place of a local clause, where words for a ground clause are asked for: the atoms are those of a block, and are only named."""


def ragged_ranges(start: IntArray, length: IntArray) -> IntArray:
    """Return the ranges `start[i] .. start[i] + length[i] - 1` one after the other."""
    found: IntArray = np.arange(int(length.sum()), dtype=np.int64)
    found += np.repeat(start - (np.cumsum(length) - length), length)
    return found


@dataclass(frozen=True, eq=False)
class NetworkAtoms:
    """The atoms of one network, or of several."""

    ids: IntArray  # shape (n,), in the database, ascending
    example: IntArray  # shape (n,)
    helper: BoolArray  # shape (n,), atoms that are functions of others, invisible to users

    @property
    def visible(self) -> IntArray:
        """The ids of those that are no helper atoms."""
        return self.ids[~self.helper]

    @staticmethod
    def joined(parts: Sequence[NetworkAtoms]) -> tuple[NetworkAtoms, IntArray]:
        """Return the atoms of several networks as those of one, and which of them, one part after the other, each is."""
        if len(parts) == 1:
            return parts[0], np.arange(len(parts[0].ids))
        ids = np.concatenate([each.ids for each in parts])
        order = np.argsort(ids, kind="stable")
        example = np.concatenate([each.example for each in parts])
        helper = np.concatenate([each.helper for each in parts])
        return NetworkAtoms(ids[order], example[order], helper[order]), order


@dataclass(frozen=True, eq=False)
class NetworkRows:
    """Ground clauses of two or more literals, listed: r of them, in order of their clauses."""

    indptr: IntArray  # shape (r + 1,): row j has literals[indptr[j]:indptr[j + 1]]
    literals: IntArray  # +(k + 1) or -(k + 1) for local atom k, distinct atoms inside a row, ascending by k
    clause: IntArray  # shape (r,), the local clause of each row, ascending
    multiplicity: IntArray  # shape (r,), how many groundings the row stands for
    _repr_html_ = markup.field_table

    @property
    def listed(self) -> NetworkRows:
        """Return these rows."""
        return self

    @property
    def rest(self) -> NetworkRows:
        """Return these rows."""
        return self

    @property
    def tied(self) -> tuple[TiedTable, ...]:
        """Return no tables."""
        return ()

    @property
    def entries(self) -> int:
        """How many literals are held."""
        return len(self.literals)


@dataclass(frozen=True, eq=False)
class TiedTable:
    """Soft ground clauses of one shape with two literals, alike for e distinct pairs of blocks: for each pair one of each clause.

    The k members of every left block, in ascending order of atoms, stand for the same k constants; so do the l members of the right ones.
    """

    clause: IntArray  # shape (k, l): the local clause between each member of the left block and of the right one, -1 for none
    positive: tuple[bool, bool]  # of the literal of the left block, and of the right one
    left: IntArray  # shape (e,): blocks
    right: IntArray  # shape (e,): other blocks
    multiplicity: IntArray  # shape (e,): how many groundings each ground clause of a pair stands for
    _repr_html_ = markup.field_table

    @property
    def clauses(self) -> IntArray:
        """The clauses of the table, ascending."""
        return np.sort(self.clause[self.clause >= 0])

    def select(self, pairs: IntArray | BoolArray) -> TiedTable:
        """Return the table for some of its pairs of blocks."""
        return replace(self, left=self.left[pairs], right=self.right[pairs], multiplicity=self.multiplicity[pairs])

    def violated(self, pairs: FloatArray | IntArray) -> FloatArray | IntArray:
        """Sum how often each clause is violated, shape (k, l), if its pair of blocks is so often in each pair of states, shape (k + 1, l + 1).

        The last state of a block is that none of its members is true.
        """
        found = pairs[:-1] if not self.positive[0] else pairs.sum(axis=0) - pairs[:-1]
        if not self.positive[1]:
            return found[:, :-1]
        return np.asarray(found.sum(axis=1, keepdims=True) - found[:, :-1])


@dataclass(frozen=True, eq=False)
class TiedRows:
    """Ground clauses of which some are tied tables; who asks for all of them row by row gets them listed."""

    rest: NetworkRows  # those that stand in no table
    tied: tuple[TiedTable, ...]
    # Lists all, in the order that they would have without tables.
    whole: Callable[[], NetworkRows] = field(repr=False)
    _repr_html_ = markup.field_table

    @cached_property
    def listed(self) -> NetworkRows:
        """All ground clauses, row by row."""
        return self.whole()

    @property
    def entries(self) -> int:
        """How many literals and pairs of blocks are held."""
        return self.rest.entries + sum(2 * len(table.left) for table in self.tied)


@dataclass(frozen=True, eq=False)
class Network:
    """Ground clauses over n atoms and the exact counts of their m clauses.

    For a world y in {0,1}^n, with `violated_i(y)` the number of violated groundings of clause i,
    `n_i(y) = base_i + (units.T @ y)_i - sign_i * (multiplicities of the violated rows of clause i)`.
    """

    atoms: IntArray  # shape (n,), ids in the database, ascending; local atom k (from 0) is atoms[k]
    example: IntArray  # shape (n,)
    clauses: IntArray  # shape (m,), ids, ascending; local clause i is clauses[i]
    sign: IntArray  # shape (m,), +1: n counts groundings that satisfy ground clauses, -1 (conjunctions): violated ones
    hard: BoolArray  # shape (m,), clauses that must hold; they have no weight
    rows: NetworkRows | TiedRows  # ground clauses of two or more literals
    # Shape (n, m), int64: how much n_i grows when atom k becomes true, from ground clauses with one literal. Those of
    # hard clauses are counted here too, and listed in `hard_units`.
    units: sparse.csr_array
    # Shape (m,): n_i if every unit literal is counted as if its atom were false, and no row is violated.
    base: npt.NDArray[np.object_]
    total: npt.NDArray[np.object_]  # shape (m,), groundings (product of domain sizes)
    evidence_violated: npt.NDArray[np.object_]  # shape (m,), groundings that the evidence alone violates
    # Shape (m,): groundings that the evidence leaves open; of a partial network those that it has.
    open: npt.NDArray[np.object_]
    prior: FloatArray  # shape (n,), log-odds of soft evidence, 0 for none
    block: IntArray  # shape (n,), from 0; -1 for an atom in none
    block_exact: BoolArray  # shape (b,), True for exactly one true atom, False for at most one
    helper: BoolArray  # shape (n,), atoms that are functions of others, invisible to users
    # Shape (h, 2): (local clause, signed local atom as in `literals`) of each hard ground clause with one literal.
    # Local clause -1: no clause says so, but a given atom of the same block is true.
    hard_units: IntArray
    partial: bool = False  # whether it lacks ground clauses that nobody has asked for so far
    _repr_html_ = markup.field_table

    @property
    def indptr(self) -> IntArray:
        """Where the literals of each row begin, shape (r + 1,): row j has `literals[indptr[j]:indptr[j + 1]]`."""
        return self.rows.listed.indptr

    @property
    def literals(self) -> IntArray:
        """The literals of all rows: +(k + 1) or -(k + 1) for local atom k, distinct atoms inside a row, ascending by k."""
        return self.rows.listed.literals

    @property
    def row_clause(self) -> IntArray:
        """The local clause of each row, ascending, shape (r,)."""
        return self.rows.listed.clause

    @property
    def multiplicity(self) -> IntArray:
        """How many groundings each row stands for, shape (r,)."""
        return self.rows.listed.multiplicity

    def listed(self) -> Network:
        """Return the same network with all ground clauses row by row."""
        return replace(self, rows=self.rows.listed) if self.rows.tied else self

    @property
    def network_atoms(self) -> NetworkAtoms:
        """Its atoms without what is known of them."""
        return NetworkAtoms(self.atoms, self.example, self.helper)
