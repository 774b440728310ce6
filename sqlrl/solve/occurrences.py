"""A weighted network as compiled loops flip it: where each atom occurs, and the members of each block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sqlrl.errors import NumericError
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.kernels import kernel
from sqlrl.solve.randomness import Stream, below
from sqlrl.solve.structure import grouped
from sqlrl.solve.weighted import WeightedNetwork

Int32Array = npt.NDArray[np.int32]


class Occurrences(NamedTuple):
    """Rows and blocks of a `WeightedNetwork`, with the rows of each atom; 32-bit indices, so that more of it stays in cache."""

    indptr: IntArray
    literals: Int32Array
    start: IntArray  # shape (n + 1,): atom k occurs in `occurrence[start[k]:start[k + 1]]`
    occurrence: Int32Array  # 2 * row, plus 1 where the literal is positive; ascending for each atom
    block: Int32Array  # shape (n,); -1 for none
    exact: BoolArray  # shape (b,): exactly one member is true
    member_start: IntArray  # shape (b + 1,)
    member: Int32Array  # the atoms of each block, ascending


def occurrences(weighted: WeightedNetwork) -> Occurrences:
    """Where each atom of a weighted network occurs; 2**30 or more rows are a NumericError."""
    n, rows = len(weighted.atoms), len(weighted.cost)
    if rows >= 2**30:
        raise NumericError(f"{rows} ground clauses are too many for local search and sampling, which index 2**30")
    atom = np.abs(weighted.literals) - 1
    start, order = grouped(atom, n)
    member_start, members = weighted.block_members
    return Occurrences(
        weighted.indptr,
        weighted.literals.astype(np.int32),
        start,
        (2 * weighted.row + (weighted.literals > 0))[order].astype(np.int32),
        weighted.block.astype(np.int32),
        weighted.block_exact,
        member_start,
        members.astype(np.int32),
    )


@kernel
def randomise(rows: Occurrences, truth: BoolArray, random: Stream) -> None:
    """Overwrite a world with a uniformly random one in which the blocks hold."""
    for k in range(len(truth)):
        truth[k] = rows.block[k] < 0 and below(random, 2) == 1
    for b in range(len(rows.exact)):
        size = rows.member_start[b + 1] - rows.member_start[b]
        choice = below(random, size) if rows.exact[b] else below(random, size + 1)
        if choice < size:
            truth[rows.member[rows.member_start[b] + choice]] = True


def true_members(rows: Occurrences, truth: BoolArray) -> Int32Array:
    """The true atom of each block, -1 for none, shape (b,)."""
    found = np.full(len(rows.exact), -1, dtype=np.int32)
    true = np.flatnonzero(truth & (rows.block >= 0))
    found[rows.block[true]] = true
    return found
