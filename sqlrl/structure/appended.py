"""A network with ground clauses of further clauses appended: the clauses that a structure learner has added so far."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from sqlrl.ground.network import IntArray, Network
from sqlrl.ground.rows import Rows
from sqlrl.solve.structure import pointers, ragged_ranges


def appended(network: Network, clauses: IntArray, rows: Rows) -> Network:
    """Append weighted clauses with their ground clauses to a network.

    Parameters
    ----------
    network : Network
        n atoms, m clauses.
    clauses : int64 array, shape (k,)
        Ids of the new clauses, ascending and greater than those of the network.
    rows : Rows
        Ground clauses with at least one literal over the network's atoms; `clause` counts the new clauses from 0.

    Returns
    -------
    Network
        The new clauses have the places m to m + k - 1 and count satisfied groundings. As in `example_network`, counts
        are those of the whole up to a constant: use differences.

    Examples
    --------
    >>> from sqlrl.solve.counts import delta_counts
    >>> from sqlrl.solve.sample import network
    >>> small = network(2, [(0, [1])])
    >>> rows = Rows(*(np.array(x) for x in ([0, 0, 1], [-1, 2, -2, -1], [2, 1, 1], [1, 1, 1])))
    >>> longer = appended(small, np.array([7, 9]), rows)
    >>> delta_counts(longer, np.array([True, False]), np.array([False, False])).tolist()
    [1, -1, -1]
    """
    m, k = len(network.clauses), len(clauses)
    _, unit, long = rows.split()
    order = np.argsort(long.clause, kind="stable")
    start, length = long.starts(), long.length[order]
    literals = long.literals[ragged_ranges(start[:-1][order], length)]
    nothing = np.zeros(k, dtype=object)
    return replace(
        network,
        clauses=np.concatenate([network.clauses, clauses]),
        sign=np.concatenate([network.sign, np.ones(k, dtype=np.int64)]),
        hard=np.concatenate([network.hard, np.zeros(k, dtype=np.bool_)]),
        indptr=np.concatenate([network.indptr, network.indptr[-1] + pointers(length)[1:]]),
        literals=np.concatenate([network.literals, literals]),
        row_clause=np.concatenate([network.row_clause, m + long.clause[order]]),
        multiplicity=np.concatenate([network.multiplicity, long.multiplicity[order]]),
        units=sparse.hstack([network.units, _units(unit, len(network.atoms), k)], format="csr"),
        base=np.concatenate([network.base, nothing]),
        total=np.concatenate([network.total, nothing]),
        evidence_violated=np.concatenate([network.evidence_violated, nothing]),
        open=np.concatenate([network.open, nothing]),
    )


def _units(rows: Rows, atoms: int, clauses: int) -> sparse.csr_array:
    """How much n of each clause grows when an atom becomes true."""
    grows = np.where(rows.literals > 0, rows.multiplicity, -rows.multiplicity)
    matrix = sparse.coo_array((grows, (np.abs(rows.literals) - 1, rows.clause)), shape=(atoms, clauses)).tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix
