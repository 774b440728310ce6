"""The ground network: ground clauses over query atoms, as arrays, without weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, eq=False)
class NetworkAtoms:
    """The atoms of one network, or of several.

    Parameters
    ----------
    ids : int64 array, shape (n,)
        In the database, ascending.
    example : int64 array, shape (n,)
        The example of each atom.
    helper : bool array, shape (n,)
        Atoms that are functions of others, invisible to users.
    """

    ids: IntArray
    example: IntArray
    helper: BoolArray

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
class Network:
    """Ground clauses over n atoms and the clauses' exact counts.

    For a world y in {0,1}^n, with `violated_i(y)` the number of violated groundings of clause i,
    `n_i(y) = base_i + (units.T @ y)_i - sign_i * (multiplicities of the violated rows of clause i)`.

    Parameters
    ----------
    atoms : int64 array, shape (n,)
        Ids of the query atoms in the database, ascending. Local atom k (from 0) is `atoms[k]`.
    example : int64 array, shape (n,)
        The example of each atom.
    clauses : int64 array, shape (m,)
        Ids of the clauses, ascending. Local clause i is `clauses[i]`.
    sign : int64 array, shape (m,)
        +1: n counts groundings that satisfy the ground clauses; -1 (conjunctions): that violate them.
    hard : bool array, shape (m,)
        Clauses that must hold; they have no weight.
    indptr : int64 array, shape (r + 1,)
        Row j (a ground clause with two or more literals) has literals `literals[indptr[j]:indptr[j + 1]]`.
    literals : int64 array
        Signed atoms: +(k + 1) or -(k + 1) for local atom k. Distinct atoms inside a row, ascending by k.
    row_clause : int64 array, shape (r,)
        The local clause of each row, ascending.
    multiplicity : int64 array, shape (r,)
        How many groundings the row stands for.
    units : scipy.sparse.csr_array of int64, shape (n, m)
        Entry (k, i): how much n_i grows when atom k becomes true, from ground clauses with one literal. Those of hard
        clauses are counted here too, and listed in `hard_units`.
    base : object array of int, shape (m,)
        n_i of the world in which every unit literal is counted as if its atom were false and no row is violated.
    total : object array of int, shape (m,)
        Number of groundings (product of domain sizes) of each clause.
    evidence_violated : object array of int, shape (m,)
        Groundings that the evidence alone violates.
    open : object array of int, shape (m,)
        Groundings that the evidence leaves open; of a partial network those that it has.
    prior : float array, shape (n,)
        Log-odds of soft evidence on each atom, 0 where there is none.
    block : int64 array, shape (n,)
        The block of each atom, numbered from 0; -1 for an atom in none.
    block_exact : bool array, shape (b,)
        True for blocks of which exactly one atom is true, False for at most one.
    helper : bool array, shape (n,)
        Atoms that are functions of others, invisible to users.
    hard_units : int64 array, shape (h, 2)
        (local clause, signed local atom as in `literals`) of each hard ground clause with one literal. Local clause
        -1: no clause says so, but a given atom of the same block is true.
    partial : bool
        Whether it lacks ground clauses that nobody has asked for so far.
    """

    atoms: IntArray
    example: IntArray
    clauses: IntArray
    sign: IntArray
    hard: BoolArray
    indptr: IntArray
    literals: IntArray
    row_clause: IntArray
    multiplicity: IntArray
    units: sparse.csr_array
    base: npt.NDArray[np.object_]
    total: npt.NDArray[np.object_]
    evidence_violated: npt.NDArray[np.object_]
    open: npt.NDArray[np.object_]
    prior: FloatArray
    block: IntArray
    block_exact: BoolArray
    helper: BoolArray
    hard_units: IntArray
    partial: bool = False
    _repr_html_ = markup.field_table

    @property
    def network_atoms(self) -> NetworkAtoms:
        """Its atoms without what is known of them."""
        return NetworkAtoms(self.atoms, self.example, self.helper)
