"""What a learner is given: windows of a stream of examples, and groups of atoms; what is kept of a run, and whether it can go on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sqlrl.catalog.dictionary import numeric_name
from sqlrl.catalog.layout import PredicateInfo
from sqlrl.catalog.records import Kept, Records
from sqlrl.catalog.sources import Source, open_source
from sqlrl.database.statistics import learned_statistics, window_statistics
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column, named
from sqlrl.errors import CheckpointWarning, InputError, SourceWarning, warn
from sqlrl.ground.clauses import atom_texts, clause_table, example_names, learned_model, shape_table
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.ground.program import Program
from sqlrl.ground.windows import Window, Windows
from sqlrl.learn.protocols import STEP_SCHEMA, Checkpoint, TrainingRecord
from sqlrl.logic.model import Model
from sqlrl.logic.saving import model_to_json
from sqlrl.plan.sources import table
from sqlrl.report import Console
from sqlrl.report.console import said
from sqlrl.wording import counted

STREAM, MODEL, EXAMPLES = "stream", "model", "examples"
"""Names of what is saved beside the learner's own arrays: how far the stream is, and what the run is of."""

NUMBERED = "numbered"
"""From which id on a stopped run's history has added clauses; -1 while it has them by their provisional ids."""


# ---- runs that were stopped --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RunKey:
    """What makes a run the one that it is, apart from the data.

    Parameters
    ----------
    learner : str
        Name of the estimator.
    parameters : mapping of str to object
        Its constructor's arguments.
    model : Model
    examples : int64 array
        The examples of all passes, in order.
    """

    learner: str
    parameters: Mapping[str, object]
    model: Model
    examples: npt.NDArray[np.int64]

    def saved(self) -> dict[str, Kept]:
        """Return what is saved once, with the first window."""
        return {MODEL: _plain(model_to_json(self.model)), EXAMPLES: self.examples}


def _plain(value: object) -> Any:
    """Return a value as it comes back from JSON."""
    return json.loads(json.dumps(value, default=str))


def _read_run(records: Records, run: int, key: RunKey) -> dict[str, Kept]:
    """Return what a stopped run saved, if it is the run that `key` describes, on the same data.

    Parameters
    ----------
    records : Records
    run : int
    key : RunKey

    Raises
    ------
    InputError
        There is no such run, it saved nothing, or it is done; or something differs: the message says what.
    """
    row = records.run(run)
    if row is None:
        raise InputError(f"there is no run {run} to resume: the table sqlrl.run lists those that are there")
    if row["status"] == "done":
        raise InputError(f"run {run} is done: there is nothing to resume")
    saved = records.state(run)
    if STREAM not in saved:
        raise InputError(
            f"run {run} saved nothing from which it could be resumed: start anew, with checkpoint=True to save each window"
        )
    for problem in _differences(records, row, saved, key):
        raise InputError(f"run {run} cannot be resumed: {problem}")
    return saved


def _differences(records: Records, row: Mapping[str, Any], saved: Mapping[str, Any], key: RunKey) -> Iterator[str]:
    """Yield what differs between a run and what it is to be resumed as, the plainest thing first."""
    if row["learner"] != key.learner:
        yield f"it is a run of {row['learner']}, not of {key.learner}"
    before, now = row["parameters"], _plain(dict(key.parameters))
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            yield f"it began with {name}={before.get(name)!r}, not {name}={now.get(name)!r}: give the same"
    model = _plain(model_to_json(key.model))
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
        yield f"its examples differ ({how}): give the same examples="


def _model_difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return where two models differ first, as `model_to_json` writes them."""
    old, new = before.get("rules", []), now.get("rules", [])
    for number, (a, b) in enumerate(zip(old, new, strict=False), 1):
        if a != b:
            same = a.get("formula") == b.get("formula")
            shown = "in its weight or options" if same else f"{a.get('formula')} then, {b.get('formula')} now"
            return f"its model differs in rule {number}: {shown}"
    if len(old) != len(new):
        return f"its model had {counted(len(old), 'rule')}, this one has {len(new)}"
    return "its model differs in its declarations"


# ---- groups of query atoms ---------------------------------------------------------------------------


def atom_groups(program: Program, groups: Any) -> tuple[IntArray, IntArray]:
    r"""Return which query atom is in which group.

    Parameters
    ----------
    program : Program
        With one open predicate.
    groups : query, table, path, relation, frame or tuples
        A column for each argument of the open predicate, in order, and then one for the group. Rows that name no query atom are
        passed over.

    Returns
    -------
    atoms : int64 array, shape (r,)
        Ids of query atoms, ascending; one occurs as often as it has groups.
    group : int64 array, shape (r,)
        From 0.

    Raises
    ------
    InputError
        There are several open predicates, the columns are too few or too many, or there are NULLs.
    LoadError
        The source cannot be read.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Better", [("a", "b")], types=["drug", "drug"], target=True)
    >>> db.scope("Better", [("a", "b"), ("b", "a"), ("a", "c")])
    >>> with db.program(sqlrl.parse_mln("Better(drug, drug)\n0 Better(x, y)")) as program:
    ...     atoms, group = atom_groups(
    ...         program, [("a", "b", "ab"), ("b", "a", "ab"), ("a", "c", "ac"), ("c", "a", "ac")]
    ...     )
    >>> atoms.tolist(), group.tolist()
    ([1, 2, 3], [0, 1, 0])
    """
    opened = [info for info in program.public_layout.predicates.values() if info.atoms is not None]
    if len(opened) != 1:
        names = ", ".join(info.name for info in opened)
        raise InputError(
            f"groups= is for models with one open predicate, and this one has {len(opened)} ({names}): leave it out, or give "
            "the examples a column, since whole examples stay together"
        )
    (info,) = opened
    engine = program.engine
    assert isinstance(engine, DuckDBEngine), "programs are held against a catalog, which DuckDB keeps"
    with open_source(engine, groups) as source:
        _check_columns(source, info)
        data = _read(program, source, info)
    nulls = data.column("nulls").to_numpy(zero_copy_only=False).astype(np.bool_)
    if nulls.any():
        raise InputError(
            f"groups= has NULL in {counted(int(nulls.sum()), 'row')} of {source.label}: leave those rows out, or say which group "
            "they belong to"
        )
    data = data.drop_null().sort_by([("atom", "ascending"), ("grp", "ascending")])
    _, group = np.unique(data.column("grp").to_numpy(zero_copy_only=False).astype(str), return_inverse=True)
    return data.column("atom").to_numpy().astype(np.int64), group.astype(np.int64)


def _check_columns(source: Source, info: PredicateInfo) -> None:
    """Refuse a source that has not a column for each argument and one for the group."""
    needed = len(info.types) + 1
    if len(source.columns) == needed:
        return
    has = f"{counted(len(source.columns), 'column')}: {', '.join(source.columns)}" if source.columns else "none"
    raise InputError(
        f"groups= takes {needed} columns, {counted(len(info.types), 'argument')} of {info.name}({', '.join(info.types)}) and then the "
        f"group, and {source.label} has {has}"
    )


def _read(program: Program, source: Source, info: PredicateInfo) -> pa.Table:
    """Read distinct rows: `atom` (NULL if there is none), `grp`, and whether something else is NULL."""
    names, arity = list(source.columns), len(info.types)
    texts = [named(source.text(name), f"t{i}") for i, name in enumerate(names)]
    rows = exp.select(*texts).distinct().from_(source.table)
    null = exp.or_(*(exp.Is(this=column(f"t{i}", "g"), expression=exp.null()) for i in range(arity + 1)))
    query = exp.select(column("atom", "a"), named(column(f"t{arity}", "g"), "grp"), named(null, "nulls"))
    query = query.from_(rows.subquery("g"))
    ids = []
    for i, kind in enumerate(info.types):
        # As it is written; else, since a type of numbers knows 1.0 as 1, by its value.
        for alias, text in ((f"d{i}", column(f"t{i}", "g")), (f"n{i}", numeric_name(column(f"t{i}", "g")))):
            on = exp.EQ(this=column("name", alias), expression=text)
            query = query.join(table(program.layout.types[kind].dictionary, alias), on=on, join_type="left")
        ids.append(exp.func("coalesce", column("id", f"d{i}"), column("id", f"n{i}")))
    assert info.atoms is not None
    same = exp.and_(*(exp.EQ(this=column(f"a{i}", "a"), expression=found) for i, found in enumerate(ids)))
    query = query.join(table(info.atoms, "a"), on=same, join_type="left")
    return program.engine.fetch(query, step="read groups of atoms")


# ---- streams of examples -----------------------------------------------------------------------------


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
        file = self._program.engine.forgotten_beside()
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
        saved: dict[str, Any] = _read_run(self._records, run, key)
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
