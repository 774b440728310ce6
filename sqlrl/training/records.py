"""What is kept of a run, and how far it is: checkpoints, records, progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy.typing as npt
import pyarrow as pa

from sqlrl.ground.network import FloatArray

STEP_SCHEMA = pa.schema(
    [
        ("step", pa.int64()),
        ("example", pa.int64()),
        ("loss", pa.float64()),
        ("atoms", pa.int64()),
        ("correct", pa.int64()),
        ("score_truth", pa.float64()),
        ("score_prediction", pa.float64()),
    ]
)
"""Progressive validation as `sqlrl.step` keeps it, but for the run; see `WindowReport.steps`."""


ITERATION_SCHEMA = pa.schema(
    [
        ("iteration", pa.int64()),
        ("objective", pa.float64()),
        ("bound", pa.float64()),
        ("optimality", pa.float64()),
        ("step", pa.float64()),
        ("damping", pa.float64()),
        ("cuts", pa.int64()),
        ("errors", pa.int64()),
    ]
)
"""Iterations of a batch learner as `sqlrl.iteration` keeps them, but for the run; NULL where a learner has none."""

TUNING_SCHEMA = pa.schema(
    [
        ("parameter", pa.string()),
        ("value", pa.float64()),
        ("fold", pa.int64()),
        ("score", pa.float64()),
        ("chosen", pa.bool_()),
    ]
)
"""Scores by which a learner chose a parameter, as `sqlrl.tuning` keeps them, but for the run; the greatest sum is the best."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """What a run needs to resume after some windows."""

    windows: int  # done
    arrays: Mapping[str, npt.NDArray[Any]]  # `OnlineLearner.state()`
    steps: pa.Table  # progressive validation: of the last window where it is saved, of all windows where it is read
    changes: pa.Table  # of the last window, for the history; empty where it is read, and without `record_history`
    seconds: Mapping[str, float]  # wall time of each stage so far
    # of a batch learner, each of whose iterations counts as a window: those since it was last saved, or all where read
    iterations: pa.Table = field(default_factory=ITERATION_SCHEMA.empty_table)


@dataclass(frozen=True, eq=False)
class TrainingRecord:
    """What is kept of a run besides the weights."""

    learner: str  # name of the estimator
    parameters: Mapping[str, object]  # its constructor's arguments (JSON values)
    seed: int
    started: datetime  # in UTC
    seconds: Mapping[str, float]  # wall time of each stage
    steps: pa.Table  # progressive validation, of `STEP_SCHEMA`; steps that were saved before come first
    # `clause`, `support`; of online learners also `updates` and `delta_n`, see `OnlineLearner.support`
    support: pa.Table
    # of `ITERATION_SCHEMA`; empty for online learners
    iterations: pa.Table = field(default_factory=ITERATION_SCHEMA.empty_table)
    # of `TUNING_SCHEMA`; empty unless a parameter was chosen
    tuning: pa.Table = field(default_factory=TUNING_SCHEMA.empty_table)
    status: str = "done"  # "done", or "interrupted" by Ctrl-C: the weights are the best so far
    drop_zeros: bool = False  # leave clauses of weight 0 out of the model, and out of what is kept of it
    # n of the labels minus E[n] of each clause over the training examples, NaN if unknown; may lack the last clauses,
    # and is None if the learner does not know it. E[n] is without the ground hard clauses that labels violate.
    # `sqlrl.clause_statistics` has E[n].
    excess: FloatArray | None = None


@dataclass(frozen=True)
class Progress:
    """Progress of a learner after a window."""

    window: int  # windows done
    windows: int  # in all
    steps: int  # steps done
    clauses: int  # clauses met so far
    loss: int  # atoms of this window that were predicted wrongly, each example before it was learned
    atoms: int  # all atoms of this window
    seconds_grounding: float  # wall time so far, as `seconds_learning`
    seconds_learning: float
    run: int = 0  # the run's number in `sqlrl.run`

    def note(self) -> str:
        """Say how far the learner is, for those who watch."""
        right = f", {100 * (1 - self.loss / self.atoms):.2f} % of its atoms right" if self.atoms else ""
        return f"window {self.window} of {self.windows}, {self.clauses:,} clauses{right}"


OnWindow = Callable[[Progress], None]
