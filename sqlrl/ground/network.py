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
    indptr: IntArray  # shape (r + 1,): row j, of two or more literals, has literals[indptr[j]:indptr[j + 1]]
    literals: IntArray  # +(k + 1) or -(k + 1) for local atom k, distinct atoms inside a row, ascending by k
    row_clause: IntArray  # shape (r,), the local clause of each row, ascending
    multiplicity: IntArray  # shape (r,), how many groundings the row stands for
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
    def network_atoms(self) -> NetworkAtoms:
        """Its atoms without what is known of them."""
        return NetworkAtoms(self.atoms, self.example, self.helper)
