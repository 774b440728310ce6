"""How far a search for clauses is: what moves its bar, and what its stages took."""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlrl.structure.ilp.commands import SeedReport
from sqlrl.structure.ilp.session import Task

OnSeed = Callable[[SeedReport], None]
"""What is called after each seed."""


def shown(task: Task, on_seed: OnSeed | None) -> OnSeed:
    """Return what moves a bar by the positive atoms that a seed leaves behind, and passes the report on."""
    done = 0

    def show(report: SeedReport) -> None:
        """Move the bar after a seed."""
        nonlocal done
        gone = report.positives - report.left
        task.advance(gone - done, note=f"{report.theory:,} clauses in the theory, {report.candidates:,} in all")
        done = gone
        if on_seed is not None:
            on_seed(report)

    return show


class Clock:
    """Measures stages one after the other.

    Attributes
    ----------
    seconds : dict of str to float
        Wall time of each stage.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._start = time.perf_counter()

    def lap(self, stage: str) -> None:
        """End a stage."""
        now = time.perf_counter()
        self.seconds[stage], self._start = now - self._start, now
