"""What learners of weights ask of a database; `sqlrl.database` implements it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack

import numpy.typing as npt
import pyarrow as pa

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.learn.settings import Order

if TYPE_CHECKING:
    from sqlrl.ground.windows import Window
    from sqlrl.logic.model import Model


class Ordering(TypedDict):
    """How examples come in windows, and how large these may be; keywords of `TrainingData.training_windows`."""

    size: int | None  # examples in a window, chosen by the first ones if None; a window never spans two passes
    order: Order  # "file": as in `examples`, or as they first appear in the data; "shuffle": random
    seed: int  # of the random orders; every pass has another one
    passes: int
    limit: int | None  # the most ground clauses of one shape in a window; None for no limit


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


class HistorySink(Protocol):
    """Takes what steps changed, in batches."""

    def write(self, changes: pa.Table) -> None:
        """Store the changes of a window, as `WindowReport.changes` has them, ascending by step, then clause."""
        ...


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


class TrainingStream(Protocol):
    """The windows of all passes over the training examples."""

    def __len__(self) -> int:
        """Number of windows of all passes."""
        ...

    def __iter__(self) -> Iterator[Window]:
        """Ground one window after the other, when it is asked for; after `resume` those that are left. Called once."""
        ...

    def window(self, examples: IntArray) -> Window:
        """Ground some training examples by themselves; clauses keep their ids. Called after all windows that hold them."""
        ...

    def clause_text(self, clause: int) -> str:
        """Return the text of a clause, with its constants."""
        ...

    def clause_rules(self) -> IntArray:
        """Return the place of each clause's rule in the given model, from 0, by clause id; -1 for definitions of helper atoms."""
        # Rules that a rule with `*`, or one of Alchemy's semantics, stands for have its place; hard rules that state
        # blocks have no clause.
        ...

    def with_fixed(self, weights: FloatArray) -> FloatArray:
        """Return learned weights, shape (m,), with those that the model fixes in their places, where learners have 0."""
        ...

    def known_weights(self, model: Model, first: int, last: int) -> tuple[FloatArray, int]:
        """Return what a model says of the weights of clauses `first` to `last - 1`, else 0, and of how many it says something."""
        # Clauses are equal that have the same formula and constants, whatever their variables are called; a model of
        # another semantics is an InputError.
        ...

    def example_name(self, example: int) -> str:
        """Return the name of an example."""
        ...

    def atom_text(self, atom: int) -> str:
        """Return the text of a query atom."""
        ...

    def atom_groups(self, groups: object) -> tuple[IntArray, IntArray]:
        """Return ids of query atoms and a group of each, from 0, as a query or other rows say; an atom may have several, or none."""
        # Several open predicates, or rows that are not its arguments and a group, are an InputError.
        ...

    def spill_directory(self) -> Path | None:
        """Return where arrays go that are too large for the memory; None if nothing is to go to files."""
        ...

    def check_kept(self) -> None:
        """Warn if the data are in a file and what `save` keeps is in memory. Called by runs that save, before they begin."""
        ...

    def begin(self, learner: str, parameters: Mapping[str, object], seed: int) -> int:
        """Record that the run has begun, with what `TrainingRecord` says; return its number. Called once, before anything else."""
        ...

    def resume(self, run: int, learner: str, parameters: Mapping[str, object]) -> Checkpoint:
        """Resume a run that was saved, in place of `begin`; where that cannot be, an InputError says what differs."""
        # The run must exist, have saved something and not be done, with the same learner, parameters, model, examples
        # and data.
        ...

    def save(self, checkpoint: Checkpoint) -> None:
        """Save a run after a window, all or nothing, with its steps and changes, in place of what was saved before."""
        ...

    def history(self) -> HistorySink:
        """Open the place where changes are stored. Called at most once, only with `record_history`, and not by a run that `save`s."""
        ...

    def model(self, weights: FloatArray, record: TrainingRecord) -> Model:
        """Make the model with learned weights and keep the run; called before the stream is left."""
        # Weights (log-odds) are by clause id, 0 for hard clauses. Those at the end may be missing, if their clauses
        # occur in no window: they are 0.
        ...

    def clauses(self, weights: FloatArray, support: pa.Table) -> pa.Table:
        """Return the clauses as a table for reading, the strongest first; must work after the stream was left."""
        # Columns are `clause` (text), `weight` (null if hard), `hard`, those of `support`, and `id`.
        ...


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


class TrainingData(Protocol):
    """Data that weights are learned from."""

    def training_windows(
        self, model: Model, *, examples: object, **order: Unpack[Ordering]
    ) -> AbstractContextManager[TrainingStream]:
        """Bind a model to the data, and stream the training examples in windows while the context is open."""
        # `examples` is a query, a list of names, or None for all. Leaving drops scratch tables; an exception that
        # leaves, KeyboardInterrupt included, must leave the database consistent.
        ...


class TrainingDatabase(Protocol):
    """What `fit` needs of its database."""

    @property
    def learning(self) -> TrainingData:
        """The data that weights are learned from."""
        ...


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
