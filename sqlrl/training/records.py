"""What is kept of a run, and how far it is: checkpoints, records, progress."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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

STEP_TABLES = {"step": STEP_SCHEMA, "iteration": ITERATION_SCHEMA}
"""Tables to which each step of a run may add rows, which its end needs again."""

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
    """What a run needs to resume after some steps: windows of an online learner, iterations, seeds, clauses."""

    done: int  # steps
    arrays: Mapping[str, Any]  # what the learner goes on from, arrays and values of JSON, as `OnlineLearner.state()`
    # Of tables of the run, by name: what steps have added since it was last saved; where it is read, all that was kept.
    rows: Mapping[str, pa.Table]
    seconds: Mapping[str, float]  # wall time of each stage so far


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
class WindowProgress:
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


@dataclass(frozen=True, kw_only=True)
class Iteration:
    """Progress of a learner that has all training examples at once; None where it has no such number."""

    iteration: int  # from 0 (the starting weights) where these are evaluated, else from 1
    objective: float | None = None  # what is maximised or minimised, penalty included
    bound: float | None = None  # bound on the optimal objective; the gap is its distance from `objective`
    optimality: float | None = None  # largest violation of the condition of optimality
    step: float | None = None  # length of the step along the direction of search
    damping: float | None = None  # lambda of scaled conjugate gradient
    cuts: int | None = None  # cutting planes so far
    errors: int | None = None  # atoms predicted wrongly
    share: float | None = None  # of the work that is done, as the learner estimates it
    # Makes what the learner goes on from after the iteration, `weight` among it; None if it cannot.
    state: Callable[[], Mapping[str, npt.NDArray[Any]]] | None = field(default=None, compare=False, repr=False)
    # What to keep if learning stops now: sets what the estimator learns beside the weights, and returns the best
    # weights so far, shape (m,), or what holds them. None while these are the starting weights or learned from a part of the examples.
    # Nothing is copied before it is called.
    so_far: Callable[[], Any] | None = field(default=None, compare=False, repr=False)

    def note(self) -> str:
        """Say how far the learner is, for those who watch."""
        goal = "" if self.objective is None else f", objective {self.objective:.6g}"
        gap = "" if self.objective is None or self.bound is None else f", gap {abs(self.objective - self.bound):.3g}"
        wrong = "" if self.errors is None else f", {self.errors:,} atoms wrong"
        return f"iteration {self.iteration}{goal}{gap}{wrong}"


def share_of_fall(first: float, now: float, goal: float) -> float | None:
    """Return how much is done of what falls from `first` to `goal` by about the same factor each time; None where that cannot be told."""
    if not (first > goal > 0 and now > 0):
        return None
    return float(min(max(math.log(first / now) / math.log(first / goal), 0.0), 1.0))


Report = Callable[[Iteration], None]
"""What a learner calls after each iteration."""


def iteration_table(iterations: Sequence[Iteration]) -> pa.Table:
    """Return iterations as a table of `ITERATION_SCHEMA`."""
    return pa.Table.from_pylist(
        [{name: getattr(each, name) for name in ITERATION_SCHEMA.names} for each in iterations], ITERATION_SCHEMA
    )
