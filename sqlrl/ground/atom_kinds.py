"""Kinds of atoms: those of a predicate of which clauses say the same, with how many they are, whichever windows of examples they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sqlrl.errors import CountOverflowError
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.ground.partitions import Matrix, Partition, first_places, row_classes

LARGEST = 2**62
"""More atoms of a predicate than that are not counted."""


@dataclass(frozen=True, eq=False)
class AtomKinds:
    """The atoms of a predicate, counted: a row for each kind."""

    predicate: str
    total: int  # how many atoms there are
    truth: BoolArray  # shape (r,), of the atoms of each row
    count: IntArray  # shape (r,), how many atoms it has
    # Shape (r, m): in how many groundings of each clause such an atom decides; see `sqlrl.plan.blankets`.
    negative: Matrix
    positive: Matrix

    @property
    def entries(self) -> int:
        """How many counts are held of all rows and clauses."""
        matrices = (self.negative, self.positive)
        return sum(int(x.size if isinstance(x, np.ndarray) else x.nnz) for x in matrices)

    @staticmethod
    def of(partition: Partition) -> AtomKinds:
        """Return the kinds of a partition, without what is needed to refine it."""
        return AtomKinds(
            partition.domain.predicate, partition.domain.count, partition.truth, partition.count,
            partition.negative, partition.positive,
        )  # fmt: skip


class Folded:
    """The kinds of atoms of sets of examples that come one after the other; equal kinds are one row."""

    def __init__(self) -> None:
        self._parts: list[AtomKinds] = []

    def add(self, kinds: AtomKinds) -> None:
        """Add the atoms of further examples."""
        self._parts.append(kinds)
        # Those of as many rows are put together, so that each row is sorted a logarithmic number of times, and few rows are there twice.
        while len(self._parts) > 1 and len(self._parts[-2].count) <= 2 * len(self._parts[-1].count):
            self._parts[-2:] = [folded(self._parts[-2:])]

    @property
    def entries(self) -> int:
        """How many counts are held so far."""
        return sum(part.entries for part in self._parts)

    def kinds(self) -> AtomKinds:
        """Return the kinds of all atoms so far, of at least one set."""
        self._parts = [folded(self._parts)]
        return self._parts[0]


def folded(parts: Sequence[AtomKinds]) -> AtomKinds:
    """Return the kinds of atoms of several sets of examples as those of all of them: in the order in which a partition has them."""
    if len(parts) == 1:
        return parts[0]
    total = sum(part.total for part in parts)
    if total > LARGEST:
        raise CountOverflowError(f"{parts[0].predicate} has {total:,} atoms, whose number does not fit into 64 bits")
    truth = np.concatenate([part.truth for part in parts])
    negative, positive = _stacked([part.negative for part in parts]), _stacked([part.positive for part in parts])
    kind = row_classes(truth.astype(np.int64), negative, positive)
    first, _ = first_places(kind)
    count = np.zeros(len(first), dtype=np.int64)
    np.add.at(count, kind, np.concatenate([part.count for part in parts]))
    return AtomKinds(parts[0].predicate, total, truth[first], count, negative[first], positive[first])


def _stacked(parts: Sequence[Matrix]) -> Matrix:
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return sparse.csr_array(sparse.vstack(parts))
