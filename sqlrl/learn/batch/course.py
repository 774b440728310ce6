"""The iterations of one fit of a batch learner: told, timed, and kept with the best weights so far where Ctrl-C ends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

import pyarrow as pa
from threadpoolctl import threadpool_limits

from sqlrl.errors import SqlrlError, SqlrlWarning
from sqlrl.ground.network import FloatArray
from sqlrl.learn.batch.problem import Iteration, iteration_table
from sqlrl.progress import Stage

DONE, INTERRUPTED = "done", "interrupted"
"""What `sqlrl.run.status` says of a run that has a model."""

Kept = TypeVar("Kept")


class Course:
    """The iterations of a fit; `seconds` gets the wall time of "learning"."""

    def __init__(self, on_iteration: Callable[[Iteration], None] | None, seconds: dict[str, float]) -> None:
        self._on_iteration, self._seconds = on_iteration, seconds
        self._iterations: list[Iteration] = []
        self._stage = Stage("learning weights")
        self._best: Iteration | None = None

    def __len__(self) -> int:
        return len(self._iterations)

    def report(self, iteration: Iteration) -> None:
        """Take an iteration."""
        if iteration.so_far is not None:
            self._best = iteration
        # What holds weights is let go of with the next iteration, also where users keep what they are told.
        iteration = replace(iteration, so_far=None)
        self._iterations.append(iteration)
        self._stage.advance(0, note=iteration.note())
        if self._on_iteration is not None:
            self._on_iteration(iteration)

    @contextmanager
    def learning(self) -> Iterator[None]:
        """Show that weights are learned, and measure it."""
        start = time.perf_counter()
        try:
            # Its matrices are small: threads would wait for each other, and sums would depend on their number.
            with threadpool_limits(limits=1, user_api="blas"), self._stage:
                yield
        finally:
            self._seconds["learning"] = time.perf_counter() - start

    def table(self) -> pa.Table:
        """Return the iterations as `sqlrl.iteration` keeps them."""
        return iteration_table(self._iterations)

    def keep_so_far(self, stop: KeyboardInterrupt, run: int, keep: Callable[[FloatArray, str], Kept]) -> Kept | None:
        """Pass the best weights of a run that Ctrl-C has stopped to `keep`, note that on the exception, and return the result or None."""
        best = self._best
        if best is None or best.so_far is None:
            stop.add_note(f"run {run} had no weights yet: it is marked as interrupted, and has no model")
            return None
        try:
            kept = keep(best.so_far(), INTERRUPTED)
        except KeyboardInterrupt as again:
            again.add_note(
                f"the weights that run {run} had so far are not kept: it was interrupted again before they were"
            )
            raise
        except (SqlrlError, SqlrlWarning) as error:
            stop.add_note(f"the weights that run {run} had so far could not be kept: {error}")
            return None
        stop.add_note(stopped(run, best))
        return kept


def stopped(run: int, best: Iteration) -> str:
    """Say what is kept of a run that Ctrl-C has stopped, and how to have it."""
    return f"run {run} is kept as interrupted, with the best weights up to {best.note()}; db.model() is its model"
