"""How the counts of clauses change when one atom alone changes, for all atoms of a network at once: what each clause says about each atom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.solve.counts import soft_weights


@dataclass(frozen=True, eq=False)
class Flips:
    """What clauses say about the values that n atoms have in a world, all other atoms being as they are."""

    # Integers, shape (n, m): n of clause i in the world minus n in the world in which atom k alone is the other way round.
    change: sparse.csr_array
    # Shape (m,): clauses with helper atoms, which change with others, so that nothing is known of these clauses.
    helped: BoolArray
    unsure: BoolArray  # shape (n,): atoms of their ground clauses with helper atoms

    def log_odds(self, network: Network, weights: npt.ArrayLike, world: BoolArray) -> FloatArray:
        """Return the log-odds that weights and soft evidence, not hard clauses and blocks, give each atom's value; NaN where they are not known."""
        prior = np.where(world, network.prior, -network.prior)
        found: FloatArray = np.asarray(self.change @ soft_weights(network, weights), dtype=np.float64) + prior
        found[self.unsure] = np.nan
        return found


def flip_counts(network: Network, world: BoolArray) -> Flips:
    """Return what the clauses of a network, which is not partial, say about the atoms of a world of shape (n,)."""
    n, m = len(network.atoms), len(network.clauses)
    atom, clause, change = _of_rows(network, world)
    units = network.units.tocoo()
    true = world[units.row]
    rows = sparse.coo_array(
        (
            np.concatenate([change, np.where(true, units.data, -units.data)]),
            (np.concatenate([atom, units.row]), np.concatenate([clause, units.col])),
        ),
        shape=(n, m),
    ).tocsr()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    helped, unsure = _helped(network)
    return Flips(rows, helped, unsure)


def _of_rows(network: Network, world: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return atoms, clauses and changes of rows that an atom alone decides: all atoms if no literal is true, that of a single true literal."""
    length = np.diff(network.indptr)
    if not len(length):
        none = np.zeros(0, np.int64)
        return none, none, none
    atom = np.abs(network.literals) - 1
    true = world[atom] == (network.literals > 0)
    number = np.add.reduceat(true.astype(np.int64), network.indptr[:-1])
    row = np.repeat(np.arange(len(length)), length)
    decides = np.where(true, number[row] == 1, number[row] == 0)
    row = row[decides]
    worth = network.sign[network.row_clause[row]] * network.multiplicity[row]
    return atom[decides], network.row_clause[row], np.where(number[row] == 1, worth, -worth)


def _helped(network: Network) -> tuple[BoolArray, BoolArray]:
    """Return the clauses that mention helper atoms, and the atoms that these clauses mention beside them."""
    helped, unsure = np.zeros(len(network.clauses), dtype=bool), np.zeros(len(network.atoms), dtype=bool)
    if not network.helper.any():
        return helped, unsure
    atom = np.abs(network.literals) - 1
    row = np.repeat(np.arange(len(network.row_clause)), np.diff(network.indptr))
    with_helper = np.zeros(len(network.row_clause), dtype=bool)
    with_helper[row[network.helper[atom]]] = True
    helped[network.row_clause[with_helper]] = True
    units = network.units.tocoo()
    helped[units.col[network.helper[units.row]]] = True
    unsure[atom[with_helper[row]]] = True
    return helped, unsure
