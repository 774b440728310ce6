"""Blocks that hard rows state pair by pair, and rows that blocks satisfy in every world."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.solve.cliques import find_cliques
from sqlrl.solve.structure import pointers, ragged_ranges
from sqlrl.solve.weighed import Weighed


def keep_rows(weighed: Weighed, kept: BoolArray) -> Weighed:
    """The same network with some of its rows.

    Examples
    --------
    >>> from sqlrl.solve.sample import network
    >>> from sqlrl.solve.weighed import weigh
    >>> two = weigh(network(3, [(0, [1, 2]), (0, [2, 3])]), [1.0])
    >>> keep_rows(two, np.array([False, True])).literals.tolist()
    [2, 3]
    """
    rows = np.flatnonzero(kept)
    length = np.diff(weighed.indptr)[rows]
    return replace(
        weighed,
        indptr=pointers(length),
        literals=weighed.literals[ragged_ranges(weighed.indptr[rows], length)],
        cost=weighed.cost[rows],
        clause=weighed.clause[rows],
    )


def _satisfied(weighed: Weighed) -> BoolArray:
    # Rows with two negative literals of one block: it never has two true members.
    negative = np.flatnonzero(weighed.literals < 0)
    block = weighed.block[-weighed.literals[negative] - 1]
    inside = np.flatnonzero(block >= 0)
    key = weighed.row[negative[inside]] * (len(weighed.block_exact) + 1) + block[inside]
    keys, count = np.unique(key, return_counts=True)
    found = np.zeros(len(weighed.cost), dtype=np.bool_)
    found[keys[count > 1] // (len(weighed.block_exact) + 1)] = True
    return found


def _exact(weighed: Weighed, start: IntArray, members: IntArray) -> BoolArray:
    # Of which cliques a hard row says that some member is true.
    of_atom = np.full(len(weighed.atoms), -1, dtype=np.int64)
    size = np.diff(start)
    of_atom[members] = np.repeat(np.arange(len(size)), size)
    exact = np.zeros(len(size), dtype=np.bool_)
    if len(weighed.cost) == 0:
        return exact
    clique = np.where(weighed.literals > 0, of_atom[np.abs(weighed.literals) - 1], -1)
    low = np.minimum.reduceat(clique, weighed.indptr[:-1])
    high = np.maximum.reduceat(clique, weighed.indptr[:-1])
    # Atoms inside a row are distinct, so a row over members only, as many as there are, is over all of them.
    whole = weighed.hard & (low == high) & (low >= 0)
    whole[whole] = np.diff(weighed.indptr)[whole] == size[low[whole]]
    exact[low[whole]] = True
    return exact


def recognise_blocks(weighed: Weighed) -> Weighed:
    """Turn hard cliques into blocks, and leave out the rows that blocks satisfy.

    Parameters
    ----------
    weighed : Weighed
        n atoms.

    Returns
    -------
    Weighed
        With the same worlds and scores. A clique of three or more atoms in no block, of which hard rows say pair by pair
        that two are never true together, is a block; exactly one is true if a hard row says that some member is.

    Examples
    --------
    >>> from sqlrl.solve.sample import network
    >>> from sqlrl.solve.weighed import weigh
    >>> pairs = [(0, [-1, -2]), (0, [-1, -3]), (0, [-2, -3]), (1, [1, 2, 3])]
    >>> found = recognise_blocks(weigh(network(3, pairs, hard=[0, 1]), [0, 0]))
    >>> found.block.tolist(), found.block_exact.tolist(), len(found.cost)
    ([0, 0, 0], [True], 1)
    """
    cliques = find_cliques(weighed, hard_only=True)
    size = np.diff(cliques.start)
    label = np.repeat(np.arange(len(size)), size)
    atom = np.abs(cliques.literals) - 1
    unfit = np.zeros(len(size), dtype=np.bool_)
    unfit[label[(cliques.literals > 0) | (weighed.block[atom] >= 0)]] = True
    chosen = np.flatnonzero(np.isposinf(cliques.cost) & ~unfit)
    if len(chosen):
        start, members = pointers(size[chosen]), atom[ragged_ranges(cliques.start[chosen], size[chosen])]
        block = weighed.block.copy()
        block[members] = len(weighed.block_exact) + np.repeat(np.arange(len(chosen)), size[chosen])
        exact = np.concatenate([weighed.block_exact, _exact(weighed, start, members)])
        weighed = replace(weighed, block=block, block_exact=exact)
    satisfied = _satisfied(weighed)
    return keep_rows(weighed, ~satisfied) if satisfied.any() else weighed
