"""One way to fit: a learner goes step by step, and each step is timed, saved, shown and told; Ctrl-C keeps the best so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

import pyarrow as pa
from threadpoolctl import threadpool_limits

from sqlrl.errors import Message, Phrase
from sqlrl.progress import Stage
from sqlrl.training.options import FitOptions
from sqlrl.training.records import STEP_TABLES, Checkpoint, Iteration, iteration_table
from sqlrl.training.runs import LearnerRun

DONE, INTERRUPTED, FAILED = "done", "interrupted", "failed"
"""What `sqlrl.run.status` says of a run that has ended."""

Arrays = Mapping[str, Any]
"""What a learner goes on from: arrays, and values of JSON, by name."""

Found = TypeVar("Found")

SetAttributes = Callable[[], None]
"""Makes an estimator fitted, once what it learned is kept."""


def nothing() -> None:
    """What a fit has found besides what those who keep it know."""


class StepReport(Protocol):
    """What the callback is told of a step."""

    def note(self) -> str:
        """Say how far the learner is, for those who watch."""
        ...


_MODEL = Phrase("db.models[-1] is its model")
"""Where what Ctrl-C has kept is, of a learner of weights."""


class Fit:
    """One fit of a learner or finder, from the first step, or from where a saved run stopped, to a model that is kept."""

    def __init__(
        self,
        data: LearnerRun,
        learner: str,  # the name of the estimator
        parameters: Mapping[str, object],
        seed: int,
        options: FitOptions,
        *,
        stage: str = "learning weights",
        total: int | None = None,  # of what the stage advances by, if it is even
        things: str = "weights",  # what Ctrl-C keeps
        where: Phrase = _MODEL,  # they are then
        part: str = "learning",  # what the time of steps counts as
        since: float | None = None,  # when the work began, by `time.perf_counter`
    ) -> None:
        self._data, self._options, self._stage = data, options, Stage(stage, total, even=total is not None)
        self._things, self._where, self._part = things, where, part
        self.learner, self.parameters, self.seed, self.started = learner, parameters, seed, datetime.now(UTC)
        self._lap = time.perf_counter() if since is None else since
        if options.saving:
            data.check_kept()
        self.saved: Checkpoint | None = None
        if options.resume is None:
            self.run = data.begin(learner, parameters, seed)
        else:
            self.run, self.saved = options.resume, data.resume(options.resume, learner, parameters)
        self.done = 0  # steps, those of an earlier process among them
        self.seconds: dict[str, float] = {}  # wall time of each part, without callbacks and saving
        self._rows: dict[str, list[pa.Table]] = {}
        self._unsaved: dict[str, list[pa.Table]] = {}
        self._so_far: tuple[Callable[[], Any], str] | None = None
        if self.saved is not None:
            self.done, self.seconds = self.saved.done, dict(self.saved.seconds)
            self._rows = {table: [rows] for table, rows in self.saved.rows.items()}

    @property
    def saving(self) -> bool:
        """Whether steps are saved."""
        return self._options.saving

    def lap(self, part: str) -> None:
        """Count the time since this was called last for a part of the work."""
        now = time.perf_counter()
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self._lap
        self._lap = now

    def step(
        self,
        told: StepReport,
        done: int,  # steps so far
        *,
        rows: Mapping[str, pa.Table] | None = None,  # what the step adds to tables of the run
        state: Callable[[], Arrays] | None = None,  # what a run goes on from after this step; None if it cannot
        so_far: Callable[[], Any] | None = None,  # what there is to keep if learning stops now; None for what there was
        share: float | None = None,  # of the work that is done, as far as anybody can tell
        advance: int = 0,  # of the stage's total
    ) -> None:
        """Take a step: time it, save it, show it, and tell it."""
        self.lap(self._part)
        for table, some in (rows or {}).items():
            self._unsaved.setdefault(table, []).append(some)
        if self.saving and state is not None:
            new = {table: pa.concat_tables(parts) for table, parts in self._unsaved.items()}
            self._data.save(Checkpoint(done, state(), new, dict(self.seconds)))
        if not self.saving or state is not None:
            for table in self._unsaved.keys() & STEP_TABLES.keys():
                self._rows.setdefault(table, []).extend(self._unsaved[table])
            self._unsaved = {}
        self.done = done
        if so_far is not None:
            self._so_far = so_far, told.note()
        self._stage.advance(advance, note=told.note(), share=share)
        if self._options.callback is not None:
            self._options.callback(told)
        self._lap = time.perf_counter()

    def rows(self, table: str) -> pa.Table:
        """Return what all steps have added to a table of the run."""
        parts = [*self._rows.get(table, []), *self._unsaved.get(table, [])]
        return pa.concat_tables([STEP_TABLES[table].empty_table(), *parts])

    def learn(
        self,
        learn: Callable[[], Found],
        keep: Callable[[Callable[[], Found], str], SetAttributes],  # what was found, with what becomes of the run
        *,
        failed: bool = False,  # keep what there is so far also where an error ends the run
        part: str | None = None,  # what the time of steps counts as from now on
        again: bool = True,  # what was found can be kept once more, where Ctrl-C comes while it is
    ) -> SetAttributes:
        """Learn, and keep what was found; after Ctrl-C that is the best so far, and it is raised again."""
        if part is not None:
            self._part, self._stage = part, Stage(f"learning {part}")
        try:
            with self.at_work():
                found = learn()
        except BaseException as stop:
            if failed or isinstance(stop, KeyboardInterrupt):
                self._keep_so_far(stop, keep)
            raise
        try:
            return keep(lambda: found, DONE)
        except KeyboardInterrupt as stop:
            if again:
                self._so_far = (lambda: found), "its end"
                self._keep_so_far(stop, keep)
            raise

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Show and time the steps in this context."""
        try:
            # Matrices are small: threads would wait for each other, and sums would depend on their number.
            with threadpool_limits(limits=1, user_api="blas"), self._stage:
                yield
        finally:
            self.lap(self._part)

    def _keep_so_far(self, stop: BaseException, keep: Callable[[Callable[[], Any], str], SetAttributes]) -> None:
        """Keep the best so far of a run that was stopped, for the estimator, too, and note on the exception what became of it."""
        run, things = self.run, self._things
        status = INTERRUPTED if isinstance(stop, KeyboardInterrupt) else FAILED
        if self._so_far is None:
            # What a run that goes on had before is saved, of which another note tells.
            if self.saved is None:
                stop.add_note(f"run {run} had no {things} yet: it is marked as {status}, and has no model")
            return
        so_far, note = self._so_far
        try:
            set_attributes = keep(so_far, status)
        except KeyboardInterrupt as again:
            again.add_note(
                f"the {things} that run {run} had so far are not kept: it was interrupted again before they were"
            )
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the news is what has stopped the run
            stop.add_note(f"the {things} that run {run} had so far could not be kept: {error}")
            return
        stop.add_note(Message(f"run {run} is kept as {status}, with the best {things} up to {note}; {self._where}"))
        set_attributes()


class IterationFit(Fit):
    """A fit whose steps are iterations of a search for weights, numbered from the start of the run."""

    @property
    def after(self) -> Iteration | None:
        """The iteration after which a run goes on; None for a new run."""
        return None if self.saved is None else Iteration(iteration=self.saved.done, state=lambda: self.arrays)

    @property
    def arrays(self) -> Arrays:
        """What was saved of the run that goes on."""
        return {} if self.saved is None else self.saved.arrays

    def report(self, iteration: Iteration) -> None:
        """Take an iteration; the one after which a run goes on was taken before."""
        if self.saved is not None and iteration.iteration <= self.saved.done:
            return
        # What holds weights is let go of with the next iteration, also where users keep what they are told.
        told = replace(iteration, state=None, so_far=None)
        self.step(
            told,
            iteration.iteration,
            rows={"iteration": iteration_table([told])},
            state=iteration.state if iteration.iteration else None,
            so_far=iteration.so_far,
            share=iteration.share,
        )
