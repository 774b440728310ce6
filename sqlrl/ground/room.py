"""Room for a ground network: how many atoms and literals it may hold before its examples had better be divided."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from sqlrl.errors import SqlrlError
from sqlrl.plan.grounding import GroundingQuery

ENTRIES = 2**22
"""Atoms and literals that a network of one window of examples may have: with what solvers make of it, half a GB. Predictions
of 20,000 citations take longer with windows of a quarter of that, which have more queries, and with larger ones, which fit no cache."""

FEWER = 4
"""A window without room is tried again with so many times fewer examples; what was grounded of it is lost, at most `ENTRIES`."""


class NoRoomError(SqlrlError):
    """A network would hold more than there is room for: whoever divides examples into windows takes fewer of them."""


class Room:
    """Counts the atoms and literals of a network while it is grounded.

    Parameters
    ----------
    entries : int or None
        The most it may have; None if they are only counted.

    Attributes
    ----------
    used : int

    Examples
    --------
    >>> room = Room(3)
    >>> room.take(2)
    >>> room.take(2)
    Traceback (most recent call last):
    sqlrl.ground.room.NoRoomError: a network of 4 atoms and literals so far does not fit into room for 3
    """

    def __init__(self, entries: int | None) -> None:
        self.entries, self.used = entries, 0

    def take(self, entries: int) -> None:
        """Count atoms or literals.

        Raises
        ------
        NoRoomError
        """
        self.used += entries
        if self.entries is not None and self.used > self.entries:
            raise NoRoomError(
                f"a network of {self.used:,} atoms and literals so far does not fit into room for {self.entries:,}"
            )

    def taken(self, batches: Iterator[pa.RecordBatch], plan: GroundingQuery) -> Iterator[pa.RecordBatch]:
        """Pass the batches of a grounding query on, and count their literals.

        Raises
        ------
        NoRoomError
        """
        for batch in batches:
            witnesses = sum(len(batch.column(f"e{i}").flatten()) for i in range(len(plan.list_signs)))
            self.take(batch.num_rows * len(plan.signs) + witnesses)
            yield batch
