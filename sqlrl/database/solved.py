"""Worlds of the windows of a prediction, put together to one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sqlrl.ground.network import IntArray, Network, NetworkAtoms
from sqlrl.report.console import Progress
from sqlrl.solve.counts import counts
from sqlrl.solve.result import MPEResult, joined

Counts = npt.NDArray[np.object_]
Window = tuple[IntArray, Network, MPEResult]


@dataclass(frozen=True, eq=False)
class WorldCounts:
    """Exact counts of m clauses over the examples of a prediction; object arrays of int, shape (m,).

    Parameters
    ----------
    total, open, evidence_violated
        As in `Network`.
    predicted
        n in the predicted world.
    """

    total: Counts
    open: Counts
    evidence_violated: Counts
    predicted: Counts

    def __add__(self, other: WorldCounts) -> WorldCounts:
        """Return the counts over the examples of both."""
        return WorldCounts(
            self.total + other.total,
            self.open + other.open,
            self.evidence_violated + other.evidence_violated,
            self.predicted + other.predicted,
        )


@dataclass(frozen=True, eq=False)
class Solved:
    """A predicted world over all windows.

    Parameters
    ----------
    atoms : NetworkAtoms
        The n atoms of all windows.
    result : MPEResult
        Of all of them.
    network : Network or None
        None if there were several windows, of which only one is held at a time.
    counts : WorldCounts or None
        If they were asked for.
    """

    atoms: NetworkAtoms
    result: MPEResult
    network: Network | None
    counts: WorldCounts | None


def put_together(windows: Iterable[Window], task: Progress, *, examples: int, counted: bool) -> Solved:
    """Put the worlds of windows together; a network is let go before the next is asked for.

    Parameters
    ----------
    windows : iterable of (int64 array, Network, MPEResult)
        At least one: its examples, its network, and the world that was found.
    task : Progress
        Told how many examples are done.
    examples : int
        How many there are in all.
    counted : bool
        Whether to count all clauses in the world.

    Examples
    --------
    >>> from sqlrl.report import QuietConsole
    >>> from sqlrl.solve.mpe import mpe
    >>> from sqlrl.solve.sample import network
    >>> parts = [network(1, [(0, [1])]), network(2, [(0, [-1, 2])])]
    >>> windows = ((np.array([i]), part, mpe(part, [2.0])) for i, part in enumerate(parts))
    >>> found = put_together(windows, QuietConsole().progress(""), examples=2, counted=True)
    >>> found.result.objective, found.counts.predicted.tolist(), found.network is None
    (4.0, [2], True)
    """
    atoms: list[NetworkAtoms] = []
    results: list[MPEResult] = []
    total: WorldCounts | None = None
    kept: Network | None = None
    done = 0
    for window, network, result in windows:
        kept = network if len(window) == examples else None
        atoms.append(network.network_atoms)
        results.append(result)
        if counted:
            found = WorldCounts(network.total, network.open, network.evidence_violated, counts(network, result.world))
            total = found if total is None else total + found
        del network  # or else it would be there while the next is grounded
        done += len(window)
        tell(task, done, examples)
    whole, order = NetworkAtoms.joined(atoms)
    return Solved(whole, joined(results, order), kept, total)


def tell(task: Progress, done: int, examples: int) -> None:
    """Say on a task of unknown length how many examples are done, if some are left."""
    if done < examples:
        task.advance(0, note=f"{done:,} of {examples:,} examples")
