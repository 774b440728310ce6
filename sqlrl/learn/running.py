"""The loop over the windows of one fit: learning, what is kept, and going on with a run that was stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy.typing as npt
import pyarrow as pa

from sqlrl.ground.network import FloatArray
from sqlrl.learn.labels import InfeasibleTruth, Names
from sqlrl.learn.parameters import Parameters
from sqlrl.learn.protocols import STEP_SCHEMA, Checkpoint, OnWindow, Progress, TrainingStream
from sqlrl.learn.reports import WindowReport

if TYPE_CHECKING:
    from sqlrl.ground.windows import Window


class Learner(Protocol):
    """What the loop asks of a learner; `sqlrl.learn.learner.OnlineLearner` says what each part is."""

    names: Names

    @property
    def parameters(self) -> Parameters:
        """How it learns."""
        ...

    @property
    def steps(self) -> int:
        """Number of steps so far."""
        ...

    @property
    def clauses(self) -> int:
        """Number of clauses so far."""
        ...

    @property
    def weights(self) -> FloatArray:
        """The weights after the last step."""
        ...

    @property
    def infeasible(self) -> InfeasibleTruth:
        """Hard clauses that the labels violate."""
        ...

    def averaged_weights(self) -> FloatArray:
        """Return the mean of the weights."""
        ...

    def support(self) -> pa.Table:
        """Return how often each clause mattered."""
        ...

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything needed to go on later."""
        ...

    def learn_many(self, window: Any) -> WindowReport:
        """Learn from a window of the kind that its stream has."""
        ...


def _no_seconds() -> dict[str, float]:
    return {"grounding": 0.0, "learning": 0.0}


@dataclass
class Run:
    """One fit.

    Parameters
    ----------
    learner : Learner
    stream : TrainingStream
        Begun or resumed.
    number : int
        The run's number.
    on_window : callable, optional
    keep_steps : bool
        Keep progressive validation.
    saving : bool
        Save the run after each window.
    windows : int
        Windows done.
    atoms : int
        Atoms predicted so far, in this process.
    steps : list of pyarrow.Table
        Progressive validation, a table for each window.
    seconds : dict of str to float
        Wall time of grounding and of learning.
    """

    learner: Learner
    stream: TrainingStream
    number: int
    on_window: OnWindow | None
    keep_steps: bool
    saving: bool
    windows: int = 0
    atoms: int = 0
    steps: list[pa.Table] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=_no_seconds)

    def go_on(self, checkpoint: Checkpoint) -> None:
        """Count what an earlier process did."""
        self.windows, self.seconds = checkpoint.windows, _no_seconds() | dict(checkpoint.seconds)
        self.steps = [checkpoint.steps]

    def learn(self) -> None:
        """Learn from all windows that are left."""
        recording = self.learner.parameters.record_history
        sink = self.stream.history() if recording and not self.saving else None
        for window in self._grounded():
            report = self.learner.learn_many(window)
            self.windows += 1
            self.seconds["learning"] += report.seconds
            self.atoms += int(sum(report.steps["atoms"].to_pylist()))
            kept = report.steps if self.keep_steps else STEP_SCHEMA.empty_table()
            self.steps.append(kept)
            if sink is not None:
                sink.write(report.changes)
            if self.saving:
                changes = report.changes if recording else report.changes.slice(0, 0)
                state = self.learner.state()
                self.stream.save(Checkpoint(self.windows, state, kept, changes, dict(self.seconds)))
            if self.on_window is not None:
                self.on_window(self._progress(report))

    def all_steps(self) -> pa.Table:
        """Return progressive validation of all windows."""
        return pa.concat_tables([STEP_SCHEMA.empty_table(), *self.steps])

    def _grounded(self) -> Iterator[Window]:
        windows = iter(self.stream)
        while True:
            start = time.perf_counter()
            window = next(windows, None)
            self.seconds["grounding"] += time.perf_counter() - start
            if window is None:
                return
            yield window

    def _progress(self, report: WindowReport) -> Progress:
        rows = report.steps
        wrong, atoms = (int(sum(rows[name].to_pylist())) for name in ("loss", "atoms"))
        return Progress(
            window=self.windows,
            windows=len(self.stream),
            steps=self.learner.steps,
            clauses=self.learner.clauses,
            loss=wrong,
            atoms=atoms,
            seconds_grounding=self.seconds["grounding"],
            seconds_learning=self.seconds["learning"],
            run=self.number,
        )
