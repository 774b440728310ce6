"""Runs of learners as the database keeps them: begun, saved window by window, gone on with, and finished with a model."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.catalog.integrity import damaged
from sqlrl.catalog.records import EARLIER, Kept, Records, model_json
from sqlrl.deprecated import recorded_parameters
from sqlrl.errors import CheckpointWarning, EngineError, InputError, Message, Parameter, SourceWarning, brief, warn
from sqlrl.ground.network import FloatArray
from sqlrl.logic.model import Model
from sqlrl.logic.printer import format_rule
from sqlrl.logic.psl import SoftModel
from sqlrl.training.records import STEP_TABLES, Checkpoint
from sqlrl.wording import counted

STREAM, MODEL, EXAMPLES = "stream", "model", "examples"
"""Names of what is saved beside the learner's own arrays: how far the stream is, and what the run is of."""

NUMBERED = "numbered"
"""From which id on a stopped run's history has added clauses; -1 while it has them by their provisional ids."""


def no_shapes() -> pa.Table:
    """Return what is kept of shapes that are not known."""
    return pa.schema([("shape", pa.int32()), ("text", pa.string()), ("literals", pa.int32())]).empty_table()


class KeptModel(Protocol):
    """A learned model and what is kept of it; `clauses` and `shapes` are as `Records.save_model` takes them."""

    @property
    def model(self) -> Model | SoftModel:
        """The model."""
        ...

    @property
    def clauses(self) -> pa.Table:
        """A row for each clause."""
        ...

    @property
    def shapes(self) -> pa.Table:
        """A row for each shape."""
        ...


def soft_clauses(model: SoftModel, weights: FloatArray) -> pa.Table:
    """Return a clause for each rule of a soft model under some weights, as `Records.save_model` takes them."""
    places = range(len(model.rules))
    return pa.table(
        {
            "clause": pa.array(places, pa.int64()),
            "text": pa.array([rule.formula + (" ^2" if rule.squared else "") for rule in model.rules], pa.string()),
            "weight": pa.array(
                [None if r.hard else float(w) for r, w in zip(model.rules, weights.tolist(), strict=True)], pa.float64()
            ),
            "hard": pa.array([rule.hard for rule in model.rules], pa.bool_()),
            "rule": pa.array(places, pa.int32()),
        }
    )


@dataclass(frozen=True)
class LearnedSoftModel:
    """A learned soft model, whose shapes are not kept."""

    model: SoftModel
    clauses: pa.Table

    @property
    def shapes(self) -> pa.Table:
        """None."""
        return no_shapes()


@dataclass(frozen=True)
class LearnedModel:
    """A learned model and what is kept of it; `clauses` and `shapes` are as `Records.save_model` takes them."""

    model: Model
    clauses: pa.Table
    shapes: pa.Table

    @classmethod
    def of_rules(cls, model: Model) -> LearnedModel:
        """Return a model with a clause for each rule; shapes are not known before it is ground."""
        places = range(len(model.rules))
        clauses = pa.table(
            {
                "clause": pa.array(places, pa.int64()),
                "text": pa.array([format_rule(replace(rule, weight=None)) for rule in model.rules], pa.string()),
                "weight": pa.array([None if rule.hard else rule.weight for rule in model.rules], pa.float64()),
                "hard": pa.array([rule.hard for rule in model.rules], pa.bool_()),
                "rule": pa.array(places, pa.int32()),
            }
        )
        return cls(model, clauses, no_shapes())


@dataclass(frozen=True)
class Provisional:
    """Ids that clauses which a learner adds have in the history until the run ends: those of the model may still grow."""

    first: int  # the first of them
    # Returns how many clauses the model has so far, after which the added ones are numbered.
    count: Callable[[], int]


class Run:
    """One run of a learner, as `training.stream.TrainingStream` describes runs; it is saved after each `unit`."""

    def __init__(self, records: Records, provisional: Provisional | None = None, *, unit: str = "window") -> None:
        # `provisional` is given if the learner adds clauses.
        self._records, self._provisional, self.unit = records, provisional, unit
        self.number: int | None = None
        self._ended_by: BaseException | None = None
        self._key: RunKey | None = None
        # Steps that the database has, whether there may be some, and whether the run has been resumed.
        self._done, self._saving, self._resumed = 0, False, False
        self._ended = False

    def begin(self, learner: str, parameters: Mapping[str, object], seed: int, key: RunKey | None = None) -> int:
        """Record that the run has begun; return its number. One that `save`s needs a key, by which it is known again."""
        self.number, self._key = self._records.begin_run(learner, parameters, seed), key
        return self.number

    def forgotten_beside(self) -> str | None:
        """Return the file in use if runs are not kept in any, None otherwise."""
        return self._records.forgotten_beside()

    def resume(self, run: int, key: RunKey) -> tuple[Checkpoint, Mapping[str, Any]]:
        """Go on with a run that was saved; return what the learner saved, and what the stream did."""
        saved: dict[str, Any] = _read_run(self._records, run, key)
        stream = saved[STREAM]
        rows = {
            table: self._records.rows(table, run, order=table).select(kept.names).cast(kept)
            for table, kept in STEP_TABLES.items()
        }
        ours = (STREAM, MODEL, EXAMPLES, NUMBERED)
        arrays = {name: value for name, value in saved.items() if name not in ours and not name.startswith(EARLIER)}
        self._records.end_run(run, "running")
        self.number, self._key = run, key
        self._done, self._saving, self._resumed = stream["windows"], True, True
        self._unsettle(saved.get(NUMBERED, -1))
        return Checkpoint(self._done, arrays, rows, stream["seconds"]), stream

    def save(self, checkpoint: Checkpoint, stream: Mapping[str, Any]) -> None:
        """Save the run after a step, with how far its stream is."""
        run, key = self.begun(), self._key
        # Ctrl-C may come when all is in the database, before anything else is noted.
        self._saving = True
        with self._records.together():
            if key is not None and not self._done:
                self._records.save_state(run, key.saved())
            state = {"windows": checkpoint.done, **stream, "seconds": dict(checkpoint.seconds)}
            self._records.save_state(run, {**checkpoint.arrays, STREAM: state})
            for table, rows in checkpoint.rows.items():
                if len(rows):
                    self._records.append(table, run, rows)
        self._done = checkpoint.done

    def history(self) -> History:
        """Open the place where changes are stored."""
        return History(self._records, self.begun())

    def finish(
        self,
        learned: KeptModel,
        rows: Mapping[str, pa.Table],
        *,
        origin: str,  # what put the clauses into the model
        seconds: Mapping[str, float],
        status: str = "done",  # "done", "interrupted" or "failed"
        **record: Any,  # what else `Records.end_run` takes
    ) -> None:
        """Keep the model with rows by table, and end the run, all or nothing; rows that were saved before are passed over."""
        run = self.begun()
        with self._records.together():
            name = f"{origin} run {run}"
            model = self._records.save_model(name, learned.model, learned.clauses, learned.shapes, origin=origin)
            if self._resumed:
                # Ctrl-C may have left it with a model of what there was so far.
                self._records.reopen(run)
            known = {table: self._records.count(table, run) for table in STEP_TABLES if self._saving}
            count = self._settle(run)
            if status == "interrupted" and self._done and self._provisional is not None:
                self._records.save_state(run, {NUMBERED: count})
            for table, data in rows.items():
                self._records.append(table, run, data.slice(known.get(table, 0)))
            self._records.end_run(run, status, model=model, timings=seconds, **record)
        self._ended = True

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Record that an error or Ctrl-C has ended the run, if it has begun; say how to go on, if it is saved."""
        try:
            yield
        except BaseException as error:
            if self._ended_by is error:
                raise  # an inner context has said so
            self._ended_by = error
            if self._done:
                error.add_note(
                    Message(
                        f"run {self.number} is saved after {self.unit} {self._done}: {Parameter('resume', self.number)} goes on"
                    )
                )
            try:
                self._stop("interrupted" if isinstance(error, KeyboardInterrupt) else "failed")
            except EngineError as refusal:
                # A full disk takes neither; what stopped the run is the news.
                error.add_note(f"the end of the run could not be recorded: {brief(refusal.reason)}")
            raise

    def begun(self) -> int:
        """Return the number of the run; an error if it has not begun."""
        if self.number is None:
            raise InputError("the run has not begun: call begin() before windows are learned")
        return self.number

    def _stop(self, status: str) -> None:
        """End the run, and give added clauses their ids in the history: those after the model's so far."""
        if self.number is None or self._ended:
            return
        if self._provisional is None:
            self._records.end_run(self.number, status)
            return
        with self._records.together():
            count = self._settle(self.number)
            if self._done:
                self._records.save_state(self.number, {NUMBERED: count})
            self._records.end_run(self.number, status)

    def _settle(self, run: int) -> int:
        """Give added clauses their ids in the history; return the first."""
        if self._provisional is None:
            return 0
        first, count = self._provisional.first, self._provisional.count()
        self._records.renumber("weight_history", run, first=first, by=count - first)
        return count

    def _unsettle(self, count: int) -> None:
        """Give added clauses their provisional ids again."""
        if count < 0 or self._provisional is None:
            return
        run, first = self.begun(), self._provisional.first
        with self._records.together():
            self._records.renumber("weight_history", run, first=count, by=first - count)
            self._records.save_state(run, {NUMBERED: -1})


class LearnerRun(ABC):
    """Data of a fit with the run that keeps it, as the driver of fits takes them: `training.fit.Fit`."""

    run: Run

    @abstractmethod
    def _key(self, learner: str, parameters: Mapping[str, object]) -> RunKey:
        """Return what makes the run the one that it is."""

    def check_kept(self) -> None:
        """Warn if the data are in a file and what `save` keeps is in memory. Called by runs that save, before they begin."""
        file = self.run.forgotten_beside()
        if file is not None:
            warn(
                f"the run cannot be resumed by another process: on this connection to {file} sqlrl keeps its runs in memory. To keep "
                f"them, pass sqlrl.connect the path in place of the connection, sqlrl.connect({file!r}), which writes a schema sqlrl in "
                "that file; or the path of another file, and attach this one there to load from it",
                CheckpointWarning,
            )

    def begin(self, learner: str, parameters: Mapping[str, object], seed: int) -> int:
        """Record that the run has begun; return its number. Called once, before anything else."""
        key = self._key(learner, parameters)
        return self.run.begin(learner, key.parameters, seed, key)

    def resume(self, run: int, learner: str, parameters: Mapping[str, object]) -> Checkpoint:
        """Resume a run that was saved, in place of `begin`; an InputError says which of learner, parameters, model, examples and data differs."""
        return self.run.resume(run, self._key(learner, parameters))[0]

    def save(self, checkpoint: Checkpoint) -> None:
        """Save the run after a step, all or nothing, in place of what was saved before."""
        self.run.save(checkpoint, {})


class History:
    """Stores what the steps of a run changed, in `sqlrl.weight_history`."""

    def __init__(self, records: Records, run: int) -> None:
        self._records, self._run = records, run

    def write(self, changes: pa.Table) -> None:
        """Append the changes of a window: columns step, clause, delta_n, weight."""
        self._records.append("weight_history", self._run, changes)


# ---- runs that were stopped --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RunKey:
    """What identifies a run, apart from the data."""

    learner: str  # the name of the estimator
    parameters: Mapping[str, object]  # arguments of its constructor
    model: Model | SoftModel
    examples: npt.NDArray[np.int64]  # ids of all passes, in order; of a stream its begin and end, -1 for no end

    def saved(self) -> dict[str, Kept]:
        """Return what is saved once, with the first window."""
        return {MODEL: _plain(model_json(self.model)), EXAMPLES: self.examples}


def _plain(value: object) -> Any:
    """Return a value as it comes back from JSON."""
    return json.loads(json.dumps(value, default=str))


def _read_run(records: Records, run: int, key: RunKey) -> dict[str, Kept]:
    """Return what a stopped run saved; an InputError says what differs from `key` or its data, or that nothing was saved."""
    row = records.run(run)
    if row is None:
        raise InputError(f"there is no run {run} to resume: the table sqlrl.run lists those that are there")
    if row["status"] == "done":
        raise InputError(f"run {run} is done: there is nothing to resume")
    saved = records.state(run)
    if STREAM not in saved:
        raise InputError(
            f"run {run} saved nothing from which it could be resumed: start anew, with {Parameter('checkpoint', True)} to save it as it goes on"
        )
    model = saved.get(MODEL)
    rules = model.get("rules") if isinstance(model, dict) else None
    if EXAMPLES not in saved or not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise damaged(f"sqlrl.learner_state has no model or examples of run {run}")
    for problem in _differences(records, row, saved, key):
        raise InputError(f"run {run} cannot be resumed: {problem}")
    return saved


def _differences(records: Records, row: Mapping[str, Any], saved: Mapping[str, Any], key: RunKey) -> Iterator[str]:
    """Yield what differs between a run and what it is to be resumed as, the plainest thing first."""
    if row["learner"] != key.learner:
        yield f"it is a run of {row['learner']}, not of {key.learner}"
    before, now = recorded_parameters(row["learner"], row["parameters"]), _plain(dict(key.parameters))
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            yield f"it began with {Parameter(name, before.get(name))}, not {Parameter(name, now.get(name))}: give the same"
    model = _plain(model_json(key.model))
    if model != saved[MODEL]:
        yield _model_difference(saved[MODEL], model)
    same = records.same_data(row["run"], row["fingerprint"])
    if same is None:
        warn(
            f"run {row['run']} was begun with an earlier version of DuckDB, whose fingerprint of the data this one cannot compute: "
            "whether they are the same was not checked",
            SourceWarning,
        )
    elif not same:
        yield (
            f"the data have changed since it began (fingerprint {row['fingerprint']} then, {records.data()} now: other facts, labels, "
            "scopes or examples): bring them back, or start anew"
        )
    if not np.array_equal(saved[EXAMPLES], key.examples):
        before_, now_ = (counted(len(np.unique(x)), "example") for x in (saved[EXAMPLES], key.examples))
        how = f"{before_} then, {now_} now" if before_ != now_ else "as many, but others or in another order"
        yield f"its examples differ ({how}): give the same {Parameter('examples')}"


def _model_difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return where two models differ first, as JSON has them."""
    old, new = before.get("rules", []), now.get("rules", [])
    for number, (a, b) in enumerate(zip(old, new, strict=False), 1):
        if a != b:
            same = a.get("formula") == b.get("formula")
            shown = "in its weight or options" if same else f"{a.get('formula')} then, {b.get('formula')} now"
            return f"its model differs in rule {number}: {shown}"
    if len(old) != len(new):
        return f"its model had {counted(len(old), 'rule')}, this one has {len(new)}"
    return "its model differs in its declarations"
