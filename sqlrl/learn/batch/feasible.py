"""What is left of hard clauses and blocks where labels violate some of them: labels have positive probability."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sqlrl.ground.network import BoolArray, IntArray, Network, ragged_ranges
from sqlrl.solve.log_linear import hard_part
from sqlrl.solve.structure import pointers
from sqlrl.solve.weighted import WeightedNetwork


def feasible_part(network: Network, truth: BoolArray) -> WeightedNetwork:
    """Return the hard rows and blocks of a network without the ground hard clauses that its labels, shape (n,), violate."""
    hard = hard_part(network)
    kept = np.flatnonzero(~hard.violated(truth))
    length = np.diff(hard.indptr)[kept]
    rows = [(length, hard.literals[ragged_ranges(hard.indptr[kept], length)], hard.clause[kept])]
    inside = hard.block >= 0
    true = np.bincount(hard.block[inside & truth], minlength=len(hard.block_exact))
    # An exactly-one block without a true member is left as an at-most-one block.
    exact = hard.block_exact & (true > 0)
    block = hard.block.copy()
    # Of a block with several true members only the pairs of those are dropped: each still excludes the other members.
    for b in np.flatnonzero(true > 1).tolist():
        members = np.flatnonzero(hard.block == b)
        several, others = members[truth[members]], members[~truth[members]]
        block[several if len(others) > 1 else members] = -1
        pairs = np.stack([np.repeat(several, len(others)), np.tile(others, len(several))], axis=1)
        rows.append(_clauses(-1 - np.sort(pairs, axis=1)))
        if exact[b]:
            rows.append(_clauses(1 + members[None, :]))
            exact[b] = False
    sizes, literals, clauses = (np.concatenate(columns) for columns in zip(*rows, strict=True))
    used, number = np.unique(block[block >= 0], return_inverse=True)
    block[block >= 0] = number
    return replace(
        hard,
        indptr=pointers(sizes),
        literals=literals,
        cost=np.full(len(sizes), np.inf),
        clause=clauses,
        block=block,
        block_exact=exact[used],
    )


def _clauses(literals: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    # Sizes, literals and clauses of hard rows that no clause of the model is: one for each row of the literals.
    count, size = literals.shape
    return np.full(count, size, dtype=np.int64), literals.ravel(), np.full(count, -1, dtype=np.int64)
