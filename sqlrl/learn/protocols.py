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
    """How examples come in windows, and how large they may be; keywords of `TrainingData.training_windows`.

    Parameters
    ----------
    size : int or None
        Examples in a window, chosen by the first ones if None. A window never spans two passes.
    order : {"file", "shuffle"}
        Order of `examples`, or of first appearance in the data without them; or random orders.
    seed : int
        Determines the random orders; every pass has another one.
    passes : int
        How often each example comes.
    limit : int or None
        The most ground clauses of one shape that a window may have; None for no limit.
    """

    size: int | None
    order: Order
    seed: int
    passes: int
    limit: int | None


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
        """Store the changes of a window.

        Parameters
        ----------
        changes : pyarrow.Table
            `step` (int64, from 0), `clause` (int64), `delta_n` (int64), `weight` (float64, after the step); ascending by
            step, then clause. A clause has a row only for steps with a delta n other than 0.
        """
        ...


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A run after some windows: what it needs to go on.

    Parameters
    ----------
    windows : int
        Windows done.
    arrays : mapping of str to array
        `OnlineLearner.state()`.
    steps : pyarrow.Table
        Progressive validation: of the last window where it is saved, of all windows where it is read.
    changes : pyarrow.Table
        What the steps of the last window changed, for the history; empty where it is read, and without `record_history`.
    seconds : mapping of str to float
        Wall time of each stage so far.
    iterations : pyarrow.Table
        Of a batch learner, each of whose iterations counts as a window: those since it was saved last, and all where it is read.
    """

    windows: int
    arrays: Mapping[str, npt.NDArray[Any]]
    steps: pa.Table
    changes: pa.Table
    seconds: Mapping[str, float]
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
        """Return the place of each clause's rule in the model that was given, from 0, by clause id; -1 for definitions of helper atoms.

        Rules that a rule with `*`, or one of Alchemy's semantics, stands for have its place. Hard rules that state blocks have no clause.
        """
        ...

    def with_fixed(self, weights: FloatArray) -> FloatArray:
        """Return learned weights, shape (m,), with those that the model fixes in their places, where learners have 0."""
        ...

    def known_weights(self, model: Model, first: int, last: int) -> tuple[FloatArray, int]:
        """Return what a model says of the weights of the clauses from `first` to `last - 1`, and of how many it says something.

        Clauses are the same that have the same formula and constants, whatever their variables are called; of others it says 0.
        A model of another semantics is an InputError.
        """
        ...

    def example_name(self, example: int) -> str:
        """Return the name of an example."""
        ...

    def atom_text(self, atom: int) -> str:
        """Return the text of a query atom."""
        ...

    def atom_groups(self, groups: object) -> tuple[IntArray, IntArray]:
        """Return ids of query atoms and a group of each, from 0, as a query or other rows say; an atom may have several or none.

        Raises
        ------
        InputError
            There are several open predicates, or the rows are not its arguments and a group.
        """
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
        """Go on with a run that was saved, in place of `begin`.

        Raises
        ------
        InputError
            There is no such run, it saved nothing, or it is done; or learner, parameters, model, examples or data are not
            those that it had: the message says which differs.
        """
        ...

    def save(self, checkpoint: Checkpoint) -> None:
        """Save a run after a window, all or nothing, with its steps and changes, in place of what was saved before."""
        ...

    def history(self) -> HistorySink:
        """Open the place where changes are stored. Called at most once, only with `record_history`, and not by a run that `save`s."""
        ...

    def model(self, weights: FloatArray, record: TrainingRecord) -> Model:
        """Make the model with learned weights and keep the run; called before the stream is left.

        Parameters
        ----------
        weights : float array, shape (m,)
            Weights (log-odds) by clause id; 0 for hard clauses. May be shorter than the number of clauses if the last
            ones occur in no window: their weights are 0.
        record : TrainingRecord
            What to keep of the run.
        """
        ...

    def clauses(self, weights: FloatArray, support: pa.Table) -> pa.Table:
        """Return the clauses as a table for reading; must work after the stream was left.

        Parameters
        ----------
        weights
            As for `model`.
        support : pyarrow.Table
            As in `TrainingRecord`.

        Returns
        -------
        pyarrow.Table
            One row for each clause: `clause` (text), `weight` (null if hard), `hard`, the columns of `support`, `id`; the
            strongest first.
        """
        ...


@dataclass(frozen=True, eq=False)
class TrainingRecord:
    """What is kept of a run besides the weights.

    Parameters
    ----------
    learner : str
        Name of the estimator.
    parameters : mapping of str to object
        Its constructor's arguments (JSON values).
    seed : int
        The seed that was used.
    started : datetime
        In UTC.
    seconds : mapping of str to float
        Wall time of each stage.
    steps : pyarrow.Table
        Progressive validation, with the columns of `sqlrl.step` but `run`; those that were saved before come first.
    support : pyarrow.Table
        `clause`, `support`; of online learners also `updates` and `delta_n`, see `OnlineLearner.support`.
    iterations : pyarrow.Table
        Of `ITERATION_SCHEMA`; empty for online learners.
    tuning : pyarrow.Table
        Of `TUNING_SCHEMA`; empty unless a parameter was chosen.
    status : {"done", "interrupted"}
        How the run ended; "interrupted" if Ctrl-C did, and the weights are the best so far.
    drop_zeros : bool
        Leave clauses of weight 0 out of the model, and out of what is kept of it.
    excess : float array, shape (m,), optional
        n of the labels less E[n] under the learned weights of each clause, over the training examples: `sqlrl.clause_statistics` has E[n].
        As `weights` of `TrainingStream.model`, it may be shorter, and NaN is unknown. None of learners that do not know it. Where labels violate
        hard clauses and are learned from all the same, E[n] is that of the distribution without these ground clauses.
    """

    learner: str
    parameters: Mapping[str, object]
    seed: int
    started: datetime
    seconds: Mapping[str, float]
    steps: pa.Table
    support: pa.Table
    iterations: pa.Table = field(default_factory=ITERATION_SCHEMA.empty_table)
    tuning: pa.Table = field(default_factory=TUNING_SCHEMA.empty_table)
    status: str = "done"
    drop_zeros: bool = False
    excess: FloatArray | None = None


class TrainingData(Protocol):
    """Data that weights are learned from."""

    def training_windows(
        self, model: Model, *, examples: object, **order: Unpack[Ordering]
    ) -> AbstractContextManager[TrainingStream]:
        """Hold a model against the data and stream the examples in windows.

        Parameters
        ----------
        model : Model
            What to learn.
        examples : object
            A query, a list of names, or None for all examples.
        **order
            See `Ordering`.

        Returns
        -------
        context manager of TrainingStream
            Leaving it drops scratch tables. An exception that leaves it, KeyboardInterrupt included, must leave the
            database consistent.
        """
        ...


class TrainingDatabase(Protocol):
    """What `fit` needs of its database."""

    @property
    def learning(self) -> TrainingData:
        """The data that weights are learned from."""
        ...


@dataclass(frozen=True)
class Progress:
    """How far a learner is, after each window.

    Parameters
    ----------
    window, windows : int
        Windows done and in all.
    steps : int
        Steps done.
    clauses : int
        Clauses met so far.
    loss, atoms : int
        Wrongly predicted atoms and all atoms of this window, each example predicted before it was learned.
    seconds_grounding, seconds_learning : float
        Wall time so far.
    run : int
        The run's number in `sqlrl.run`.
    """

    window: int
    windows: int
    steps: int
    clauses: int
    loss: int
    atoms: int
    seconds_grounding: float
    seconds_learning: float
    run: int = 0

    def note(self) -> str:
        """Say how far the learner is, for those who watch."""
        right = f", {100 * (1 - self.loss / self.atoms):.2f} % of its atoms right" if self.atoms else ""
        return f"window {self.window} of {self.windows}, {self.clauses:,} clauses{right}"


OnWindow = Callable[[Progress], None]
