"""What a learner is given: windows of a stream of examples; and what is kept of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sqlrl.catalog.records import Records
from sqlrl.database.grouping import atom_groups
from sqlrl.database.keeping import learned_statistics, window_statistics
from sqlrl.database.resuming import EXAMPLES, MODEL, NUMBERED, STREAM, RunKey, read_run
from sqlrl.errors import CheckpointWarning, InputError, warn
from sqlrl.ground.clauses import atom_texts, clause_table, example_names, learned_model, shape_table
from sqlrl.ground.program import Program
from sqlrl.ground.windows import Window, Windows
from sqlrl.learn.protocols import STEP_SCHEMA, Checkpoint, TrainingRecord
from sqlrl.logic.model import Model
from sqlrl.report import Console
from sqlrl.report.console import said

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Learned:
    """A learned model and what is kept of it.

    Parameters
    ----------
    model : Model
    clauses, shapes : pyarrow.Table
        As `Records.save_model` takes them.
    statistics : pyarrow.Table
        Rows of `sqlrl.clause_statistics`, without the run.
    """

    model: Model
    clauses: pa.Table
    shapes: pa.Table
    statistics: pa.Table


class TrainingStream:
    """Windows of training examples, grounded one after the other; `learn.protocols.TrainingStream` says what each part does.

    Parameters
    ----------
    program : Program
    records : Records
        Where the run is kept.
    console : Console
        Where progress is drawn.
    passes : list of int64 array
        For each pass the examples in order.
    size : int or None
        Examples in a window; see `Windows`.
    limit : int or None
        The most ground clauses of one shape in a window.
    """

    def __init__(
        self,
        program: Program,
        records: Records,
        console: Console,
        passes: list[IntArray],
        *,
        size: int | None,
        limit: int | None,
    ) -> None:
        self._program, self._records, self._console = program, records, console
        self._limit = limit
        # Closed by whoever opened the stream: an error in the middle leaves the iterator open as long as its traceback lives.
        self.drawing = ExitStack()
        self._windows = Windows(program, passes, size, limit)
        self.examples = np.sort(passes[0]) if passes else np.zeros(0, np.int64)
        self._ordered = np.concatenate([np.zeros(0, np.int64), *passes])
        self.run: int | None = None
        self._key: RunKey | None = None
        self._clauses: pa.Table | None = None
        self._open = np.zeros(0, dtype=object)
        # The window that holds all examples, if there is one: it has all counts.
        self._whole: Window | None = None
        # Windows and steps that the database has: of the run before it was resumed, and of this one.
        self._done = self._saved_steps = self._saved_windows = 0

    @property
    def program(self) -> TrainingStream:
        """The stream itself: what the database needs to make a model of it is here."""
        return self

    def __len__(self) -> int:
        return len(self._windows)

    def __iter__(self) -> Iterator[Window]:
        task = self.drawing.enter_context(self._console.progress("learning", len(self._ordered)))
        task.advance(self._windows.examples_of(self._done))
        for number, window in self._windows.after(self._done):
            if number == 0:
                self._count_open(window)
            if len(self) == 1:
                self._whole = window
            yield window
            task.advance(len(window.examples))
        self.drawing.close()

    def window(self, examples: IntArray) -> Window:
        """Ground some training examples by themselves; see `learn.protocols.TrainingStream`."""
        ((_, found),) = Windows(self._program, [examples], len(examples), self._limit)
        return found

    def clause_text(self, clause: int) -> str:
        """Return the text of a clause, with its constants."""
        listed = clause_table(self._program)
        place = int(np.searchsorted(listed.column("clause").to_numpy(), clause))
        text: str = listed.column("text")[place].as_py()
        return text

    def clause_rules(self) -> IntArray:
        """Return the place in the model of each clause's rule, by clause id; see `learn.protocols.TrainingStream`."""
        program = self._program
        place = {id(rule): owner for rule, owner in zip(program.model.rules, program.owners, strict=True)}
        of_feature = np.array([place.get(id(bound.rule), -1) for bound in program.features], dtype=np.int64)
        return of_feature[np.array(program.feature_of, dtype=np.int64)]

    def example_name(self, example: int) -> str:
        """Return the name of an example."""
        return example_names(self._program, np.array([example], dtype=np.int64))[example]

    def atom_text(self, atom: int) -> str:
        """Return the text of a query atom."""
        return atom_texts(self._program, np.array([atom], dtype=np.int64)).get(atom, f"atom {atom}")

    def atom_groups(self, groups: Any) -> tuple[IntArray, IntArray]:
        """Return ids of query atoms and a group of each; see `grouping.atom_groups`."""
        return atom_groups(self._program, groups)

    def check_kept(self) -> None:
        """Warn where what is saved ends with the connection; see `learn.protocols.TrainingStream`."""
        file = self._records.forgotten_beside()
        if file is not None:
            warn(
                f"the run cannot be resumed by another process: on this connection to {file} sqlrl keeps its runs in memory. To keep "
                f"them, pass sqlrl.connect the path in place of the connection, sqlrl.connect({file!r}), which writes a schema sqlrl in "
                "that file; or the path of another file, and attach this one there to load from it",
                CheckpointWarning,
            )

    def begin(self, learner: str, parameters: Mapping[str, object], seed: int) -> int:
        """Record that the run has begun; return its number."""
        self.run = self._records.begin_run(learner, parameters, seed)
        self._key = RunKey(learner, parameters, self._program.model, self._ordered)
        return self.run

    def resume(self, run: int, learner: str, parameters: Mapping[str, object]) -> Checkpoint:
        """Go on with a run that was saved; see `learn.protocols.TrainingStream`."""
        key = RunKey(learner, parameters, self._program.model, self._ordered)
        saved: dict[str, Any] = read_run(self._records, run, key)
        stream = saved[STREAM]
        self._open, self._done = np.array(stream["open"], dtype=object), stream["windows"]
        self._windows.first, self._windows.later = stream["first"], stream["window"]
        steps = self._records.rows("step", run, order="step").select(STEP_SCHEMA.names).cast(STEP_SCHEMA)
        self._saved_steps = len(steps)
        arrays = {name: value for name, value in saved.items() if name not in (STREAM, MODEL, EXAMPLES, NUMBERED)}
        self._records.end_run(run, "running")
        self.run, self._key, self._saved_windows = run, key, self._done
        self._renumbered(saved.get(NUMBERED, -1))
        return Checkpoint(self._done, arrays, steps, pa.table({}), stream["seconds"])

    def save(self, checkpoint: Checkpoint) -> None:
        """Save the run after a window."""
        run, key = self._begun(), self._key
        stream = {
            "windows": checkpoint.windows,
            "open": [int(n) for n in self._open],
            "first": self._windows.first,
            "window": self._windows.later,
            "seconds": dict(checkpoint.seconds),
        }
        with self._records.together():
            if key is not None and checkpoint.windows == 1:
                self._records.save_state(run, key.saved())
            self._records.save_state(run, {**checkpoint.arrays, STREAM: stream})
            self._records.append("step", run, checkpoint.steps)
            if len(checkpoint.changes):
                self._records.append("weight_history", run, checkpoint.changes)
        self._saved_steps += len(checkpoint.steps)
        self._saved_windows = checkpoint.windows

    def explain(self, error: BaseException) -> None:
        """Add to an error or Ctrl-C how to go on, if the run is saved."""
        if self._saved_windows:
            error.add_note(f"run {self.run} is saved after window {self._saved_windows}: resume={self.run} goes on")

    def stop(self, status: str) -> None:
        """Record that an error or Ctrl-C has ended the run, if it has begun."""
        if self.run is not None:
            self._records.end_run(self.run, status)

    def _renumbered(self, first: int) -> None:
        """Undo what `stop` did to the history of a run that goes on."""

    def history(self) -> History:
        """Open the place where changes are stored."""
        return History(self._records, self._begun())

    def _begun(self) -> int:
        if self.run is None:
            raise InputError("the run has not begun: call begin() before windows are learned")
        return self.run

    def model(self, weights: FloatArray, record: TrainingRecord) -> Model:
        """Make the learned model, and keep it with the run's parameters, steps and clause statistics, all or nothing."""
        # Thousands of clauses are named, counted and stored, after the last window has moved the bar to its end.
        with said(self._console, "keeping the model"):
            return self._kept(weights, record)

    def _kept(self, weights: FloatArray, record: TrainingRecord) -> Model:
        """Make and keep the learned model."""
        found, run = self._learned(weights, record.support), self._begun()
        with self._records.together():
            number = self._records.save_model(
                f"{record.learner} run {run}", found.model, found.clauses, found.shapes, origin=record.learner
            )
            self._records.append("step", run, record.steps.slice(self._saved_steps))
            for name, rows in (("iteration", record.iterations), ("tuning", record.tuning)):
                if len(rows):
                    self._records.append(name, run, rows)
            self._records.append("clause_statistics", run, found.statistics)
            self._keep(run)
            self._records.end_run(
                run, "done", model=number, timings=record.seconds, learner=record.learner, parameters=record.parameters, seed=record.seed
            )  # fmt: skip
        self._clauses = found.clauses
        return found.model

    def _learned(self, weights: FloatArray, support: pa.Table) -> Learned:
        """Make the learned model and what is kept of it."""
        program = self._program
        full = np.zeros(program.clause_count)
        full[: len(weights)] = weights
        clauses = clause_table(program, full)
        shown, whole = clauses.column("clause").to_numpy(), self._whole
        if whole is not None and len(whole.network.clauses) == program.clause_count:
            statistics = window_statistics(program, whole.network, whole.truth, support, shown)
        else:
            with program.only(self.examples) as chosen:
                statistics = learned_statistics(program, chosen, self._open, support, shown, limit=self._limit)
        return Learned(learned_model(program, full), clauses, shape_table(program), statistics)

    def _keep(self, run: int) -> None:
        """Keep what else is known of the run, in the same transaction."""

    def _count_open(self, window: Window) -> None:
        """Add the open groundings of a window; a clause that is not known yet has none in it."""
        opened = window.network.open
        self._open = np.concatenate([self._open, np.full(len(opened) - len(self._open), 0, dtype=object)]) + opened

    def clauses(self, weights: FloatArray, support: pa.Table) -> pa.Table:
        """Return the clauses with weights and support, the strongest first."""
        listed = self._clauses if self._clauses is not None else clause_table(self._program, weights)
        ids = listed.column("clause").to_numpy()
        # The definitions of helper atoms have support as well, but are not listed.
        support = support.filter(pc.is_in(support.column("clause"), listed.column("clause")))
        names = [name for name in support.column_names if name != "clause"]
        known = {name: np.zeros(int(ids.max(initial=-1)) + 1, np.int64) for name in names}
        for name, values in known.items():
            values[support.column("clause").to_numpy()] = support.column(name).to_numpy()
        strength = np.abs(listed.column("weight").fill_null(np.inf).to_numpy())
        data = pa.table(
            {
                "clause": listed.column("text"),
                "weight": listed.column("weight"),
                "hard": listed.column("hard"),
                **{name: values[ids] for name, values in known.items()},
                "id": ids,
            }
        )
        return data.take(pa.array(np.lexsort((ids, -strength))))


class History:
    """Stores what the steps of a run changed, in `sqlrl.weight_history`.

    Parameters
    ----------
    records : Records
    run : int
    """

    def __init__(self, records: Records, run: int) -> None:
        self._records, self._run = records, run

    def write(self, changes: pa.Table) -> None:
        """Append the changes of a window: columns step, clause, delta_n, weight."""
        self._records.append("weight_history", self._run, changes)
