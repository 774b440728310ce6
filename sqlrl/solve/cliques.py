"""Cliques: literals of which every pair has a row of the same cost, so that what they cost depends on a count alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.solve.structure import pointers
from sqlrl.solve.weighed import Weighed


@dataclass(frozen=True, eq=False)
class Cliques:
    """Disjoint groups of rows, each over all pairs of three or more literals.

    If f literals of a clique are false, its rows together cost ``cost * f * (f - 1) / 2``; a hard clique says that at
    most one is false.

    Parameters
    ----------
    start, literals : int64 arrays, shapes (c + 1,) and (literals,)
        Clique i has the signed atoms `literals[start[i]:start[i + 1]]`, ascending by atom.
    cost : float array, shape (c,)
        What each of its rows costs: positive, infinite for hard rows.
    inside : bool array, shape (r,)
        The rows that belong to a clique.
    """

    start: IntArray
    literals: IntArray
    cost: FloatArray
    inside: BoolArray


def find_cliques(weighed: Weighed, *, hard_only: bool = False) -> Cliques:
    """Find cliques of literals that are twins: each has a row of one cost with the same others, and with each other.

    Parameters
    ----------
    weighed : Weighed
        r rows; rows of two literals and positive or infinite cost can be in cliques.
    hard_only : bool
        Look at hard rows only.

    Returns
    -------
    Cliques
        Ordered by cost, then by the first atom.

    Notes
    -----
    A soft functional constraint, `R(x, y) v R(x, z) v y = z` over negated atoms, grounds to such a clique for each x.
    The linear relaxation of its rows one by one is useless (all atoms one half), that of the count is exact, and
    CP-SAT needs one constraint in place of k (k - 1) / 2 (our own reformulation; convex counts as in Kohli, Ladicky
    and Torr, "Robust higher order potentials", 2009).

    Examples
    --------
    >>> from sqlrl.solve.sample import network
    >>> from sqlrl.solve.weighed import weigh
    >>> ground = [(0, [-1, -2]), (0, [-1, -3]), (0, [-2, -3]), (0, [-3, 4])]
    >>> cliques = find_cliques(weigh(network(4, ground), [0.5]))
    >>> cliques.literals.tolist(), cliques.inside.tolist()
    ([], [False, False, False, False])
    >>> cliques = find_cliques(weigh(network(3, ground[:3]), [0.5]))
    >>> cliques.literals.tolist(), cliques.cost.tolist(), cliques.inside.tolist()
    ([-1, -2, -3], [0.5], [True, True, True])
    """
    n = len(weighed.atoms)
    wanted = weighed.hard if hard_only else weighed.cost > 0
    rows = np.flatnonzero((np.diff(weighed.indptr) == 2) & wanted)
    first = weighed.literals[weighed.indptr[rows]]
    second = weighed.literals[weighed.indptr[rows] + 1]
    costs, kind = np.unique(weighed.cost[rows], return_inverse=True)
    # A node is a literal among the rows of one cost. The sum of random keys stands for the set of neighbours and itself.
    width = 2 * n + 1
    nodes, index = np.unique(np.concatenate([kind * width + first + n, kind * width + second + n]), return_inverse=True)
    tail, head = index[: len(rows)], index[len(rows) :]
    key = np.random.default_rng(0).integers(1, 2**62, size=len(nodes), dtype=np.uint64)
    signature = key.copy()
    np.add.at(signature, tail, key[head])
    np.add.at(signature, head, key[tail])
    _, twins = np.unique(
        np.stack([nodes.astype(np.uint64) // np.uint64(width), signature]), axis=1, return_inverse=True
    )
    size = np.bincount(twins)
    together = np.flatnonzero(twins[tail] == twins[head])
    pairs = np.bincount(twins[tail[together]], minlength=len(size))
    good = (size >= 3) & (pairs == size * (size - 1) // 2)
    inside = np.zeros(len(weighed.cost), dtype=np.bool_)
    inside[rows[together[good[twins[tail[together]]]]]] = True
    member = np.flatnonzero(good[twins])
    literal = nodes[member] % width - n
    lead = np.full(len(size), np.iinfo(np.int64).max)
    np.minimum.at(lead, twins[member], nodes[member] // width * width + np.abs(literal))
    order = np.lexsort((np.abs(literal), twins[member], lead[twins[member]]))
    member = member[order]
    begin = np.flatnonzero(np.diff(twins[member], prepend=-1))
    return Cliques(
        pointers(np.diff(begin, append=len(member))),
        literal[order],
        costs[nodes[member[begin]] // width],
        inside,
    )
