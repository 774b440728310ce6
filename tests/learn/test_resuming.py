"""Runs that were killed go on as if nothing had happened; what is not the same run is refused."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import sqlrl
from sqlrl.catalog.records import Records, as_rows
from sqlrl.errors import CheckpointWarning, EngineError, InfeasibleTruthWarning, InputError
from sqlrl.learn import OnlineEstimator, WindowProgress
from tests.learn.stopped import KILLED, OPTIONS, estimator, load, model

PENALISED = "ContrastiveDivergence, constant, penalty 0.5"
SCALED = "ContrastiveDivergence, penalty 0.5"
SLOW = pytest.mark.slow
warned = pytest.mark.filterwarnings("ignore::sqlrl.errors.InfeasibleTruthWarning")


def killed(path: Path, name: str, where: str) -> None:
    command = [sys.executable, "-m", "tests.learn.stopped", str(path), name, where]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def kept(db: sqlrl.Database, run: int) -> dict[str, list[tuple[object, ...]]]:
    """What a run left in the database, byte for byte."""
    tables = ("step", "weight_history", "clause_statistics")
    found = {
        t: db.sql(f"select * exclude run from sqlrl.{t} where run = {run} order by all").fetchall() for t in tables
    }
    clauses = "select clause, text, weight, hard from sqlrl.clause join sqlrl.run using (model) where run = "
    found["clause"] = db.sql(f"{clauses}{run} order by all").fetchall()
    return found


def same(a: OnlineEstimator, b: OnlineEstimator) -> bool:
    arrays = all(getattr(a, x).tobytes() == getattr(b, x).tobytes() for x in ("weights_", "last_weights_"))
    tables = all(getattr(a, x) == getattr(b, x) for x in ("steps_", "support_", "n_steps_"))
    broken = all(getattr(a.infeasible_, x).tolist() == getattr(b.infeasible_, x).tolist() for x in ("clause", "count"))
    return arrays and tables and broken


@cache
def undisturbed(name: str) -> tuple[OnlineEstimator, dict[str, list[tuple[object, ...]]]]:
    """What a learner learns that nothing stops, and what it leaves, once for all tests."""
    db = sqlrl.connect()
    load(db)
    whole = estimator(name).fit(db, model())
    return whole, kept(db, 1)


@warned
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "where"),
    [(PENALISED, "learning"), ("ContrastiveDivergence", "saving")],
)
def test_a_killed_run_goes_on_as_if_nothing_had_happened(tmp_path: Path, name: str, where: str) -> None:
    path = tmp_path / "data.duckdb"
    with sqlrl.connect(path) as db:
        load(db)
    killed(path, name, where)
    with sqlrl.connect(path) as db:
        # Whatever opens the file next says so: the run could not.
        assert db.sql("select run, status from sqlrl.run").fetchall() == [(1, "interrupted")]
        seen: list[WindowProgress] = []
        resumed = estimator(name).fit(db, model(), callback=seen.append, resume=1)
        whole = estimator(name).fit(db, model())
        assert [p.window for p in seen] == list(range(KILLED + 1, 7))
        assert same(resumed, whole)
        assert (resumed.run_, whole.run_) == (1, 2)
        first, second = kept(db, 1), kept(db, 2)
        assert first == second
        assert all(first.values())
        assert db.sql("select status from sqlrl.run order by run").fetchall() == [("done",), ("done",)]
        assert len(resumed.steps_) == 80
        with pytest.raises(InputError, match="run 1 is done: there is nothing to resume"):
            estimator(name).fit(db, model(), resume=1)


def copied(path: Path, folder: Path) -> Path:
    """What a process that is killed now leaves behind: the file, and the log of what is not yet in it."""
    folder.mkdir()
    for part in path.parent.glob(f"{path.name}*"):
        shutil.copy(part, folder)
    return folder / path.name


# More than a second: a run, and two that go on. Without processes it looks at what a killed one leaves.
@pytest.mark.slow
@warned
def test_what_a_run_that_is_killed_leaves_in_its_file_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, images, steps = tmp_path / "data.duckdb", {}, 0
    append, end = Records.append, Records.end_run

    def appended(self: Records, table: str, number: int, data: Any) -> None:
        nonlocal steps
        append(self, table, number, data)
        steps += table == "step"
        if table == "step" and steps == KILLED + 1:
            images["saving"] = copied(path, tmp_path / "saving")

    def ended(self: Records, *given: Any, **options: Any) -> None:
        images["ending"] = copied(path, tmp_path / "ending")
        end(self, *given, **options)

    with sqlrl.connect(path) as db, monkeypatch.context() as patch:
        load(db)
        patch.setattr(Records, "append", appended)
        patch.setattr(Records, "end_run", ended)
        estimator("CDA").fit(db, model(), checkpoint=True)
    whole, left = undisturbed("CDA")
    for where, expected in (("saving", range(KILLED + 1, 7)), ("ending", range(0))):
        with sqlrl.connect(images[where]) as db:
            assert statuses(db) == [(1, "interrupted")]
            seen: list[WindowProgress] = []
            assert same(estimator("CDA").fit(db, model(), callback=seen.append, resume=1), whole)
            assert [p.window for p in seen] == list(expected)
            assert kept(db, 1) == left
            assert all(left.values())
            assert statuses(db) == [(1, "done")]
            with pytest.raises(InputError, match="run 1 is done: there is nothing to resume"):
                estimator("CDA").fit(db, model(), resume=1)


def statuses(db: sqlrl.Database) -> list[tuple[int, str]]:
    return db.sql("select run, status from sqlrl.run order by run").fetchall()


KILLED_RUN = (
    "insert into sqlrl.run (run, learner, parameters, versions, fingerprint, status) "
    "values (1, 'CDA', '{}', '{}', '0', 'running')"
)


def left_running(path: Path) -> None:
    """A file with a run of a process that was killed."""
    with sqlrl.connect(path) as db:
        load(db)
        db.sql(KILLED_RUN)


def opened_again(path: Path) -> list[list[tuple[int, str]]]:
    """What other connections of this process to the same file say of its runs, by its name, by another one, by the user's own."""
    link = path.with_name("link.duckdb")
    link.unlink(missing_ok=True)
    link.symlink_to(path)
    found = [statuses(sqlrl.connect(name)) for name in (path, link)]
    with duckdb.connect(str(path)) as connection:
        return [*found, statuses(sqlrl.connect(connection))]


@warned
@pytest.mark.parametrize("mine", [pytest.param(True, marks=SLOW), False])
def test_a_run_at_work_stays_running_whoever_else_opens_the_file(tmp_path: Path, mine: bool) -> None:
    path = tmp_path / "data.duckdb"
    left_running(path)
    seen: list[list[tuple[int, str]]] = []

    def look(progress: WindowProgress) -> None:
        if progress.window == 3:
            seen.extend(opened_again(path))
            raise KeyboardInterrupt

    with sqlrl.connect(duckdb.connect(str(path)) if mine else path) as db:
        assert statuses(db) == [(1, "interrupted")]
        stopped(db)
        assert statuses(db) == [(1, "interrupted"), (2, "interrupted")]
        # A run that goes on is at work again.
        with pytest.raises(KeyboardInterrupt):
            sqlrl.CDA(**OPTIONS).fit(db, model(), callback=look, resume=2)
        assert seen == [[(1, "interrupted"), (2, "running")]] * 3
        assert statuses(db) == [(1, "interrupted"), (2, "interrupted")]


def test_runs_of_a_file_that_is_only_read_and_of_memory_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "data.duckdb"
    left_running(path)
    with sqlrl.connect(path, read_only=True) as db:
        assert statuses(db) == [(1, "running")]
    connection = duckdb.connect()
    first = sqlrl.connect(connection)
    first.sql(KILLED_RUN)
    assert statuses(sqlrl.connect(connection)) == [(1, "running")]


def test_another_connection_does_not_end_a_run_that_is_about_to_be_done(tmp_path: Path) -> None:
    path = tmp_path / "data.duckdb"
    with sqlrl.connect(path) as db:
        run = db.advanced.records.begin_run("CDA", {}, 0)
        with db.advanced.records.together():
            db.advanced.records.end_run(run, "done")
            assert statuses(sqlrl.connect(path)) == [(1, "running")]
        assert statuses(db) == [(1, "done")]


def test_a_prediction_that_cannot_be_kept_is_no_run_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    db = sqlrl.connect()
    load(db)
    weighted = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\n1 Word(d, w) => Liked(d)")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Records, "append", stop)
    for ask in (db.predict, db.probabilities):
        with pytest.raises(KeyboardInterrupt):
            ask(weighted, keep=True)
    assert statuses(db) == [(1, "interrupted"), (2, "interrupted")]


def stopped(db: sqlrl.Database, name: str = "CDA", **options: object) -> None:
    """A run that Ctrl-C ends after two windows."""

    def stop(progress: WindowProgress) -> None:
        if progress.window == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        estimator(name, **options).fit(db, model(), callback=stop, checkpoint=True)


@pytest.mark.slow
@warned
@pytest.mark.parametrize("name", ["CDA", *(pytest.param(name, marks=SLOW) for name in (PENALISED, SCALED))])
def test_a_run_can_be_stopped_and_resumed_twice(name: str) -> None:
    db = sqlrl.connect()
    load(db)
    stopped(db, name)
    assert db.sql("select status from sqlrl.run").fetchall() == [("interrupted",)]

    def stop(progress: WindowProgress) -> None:
        if progress.window == 4:
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        estimator(name).fit(db, model(), callback=stop, resume=1)
    assert db.sql("select status from sqlrl.run").fetchall() == [("failed",)]
    whole, left = undisturbed(name)
    assert same(estimator(name).fit(db, model(), resume=1), whole)
    assert kept(db, 1) == left


@pytest.fixture(scope="module")
def stopped_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose run was stopped, to be copied."""
    path = tmp_path_factory.mktemp("stopped") / "data.duckdb"
    with sqlrl.connect(path) as db:
        load(db)
        stopped(db)
    return path


@pytest.fixture
def stopped_db(stopped_file: Path, tmp_path: Path) -> Iterator[sqlrl.Database]:
    path = tmp_path / "data.duckdb"
    shutil.copy(stopped_file, path)
    with sqlrl.connect(path) as db:
        yield db


@warned
def test_what_is_not_the_same_run_is_refused(stopped_db: sqlrl.Database) -> None:
    longer = sqlrl.parse_mln(str(model()) + "\nKind(d, K1)")
    other = sqlrl.parse_mln(str(model()).replace("^", "v"))
    named = {"examples": ["d01", "d02"]}
    cases: list[tuple[OnlineEstimator, sqlrl.Model, dict[str, Any], str]] = [
        (estimator("CDA"), model(), {"resume": 7}, r"there is no run 7 to resume: the table sqlrl.run"),
        (estimator("CDA"), model(), {"resume": 0}, r"resume=0: give an integer of at least 1"),
        (estimator("CDA"), model(), {"checkpoint": 1}, r"checkpoint=1: give True or False"),
        (estimator("MIRA"), model(), {"resume": 1}, r"run 1 cannot be resumed: it is a run of CDA, not of MIRA"),
        (
            estimator("CDA", strength=0.5),
            model(),
            {"resume": 1},
            r"run 1 cannot be resumed: it began with strength=0.0001, not strength=0.5: give the same",
        ),
        (estimator("CDA"), longer, {"resume": 1}, r"its model had 4 rules, this one has 5"),
        (
            estimator("CDA"),
            other,
            {"resume": 1},
            r"its model differs in rule 3: Liked\(d\) \^ Kind\(d, \+k\) then, Liked\(d\) v Kind\(d, \+k\) now",
        ),
        (
            estimator("CDA"),
            model(),
            {**named, "resume": 1},
            r"its examples differ \(40 examples then, 2 examples now\): give the same examples=",
        ),
    ]
    for learner, asked, options, message in cases:
        with pytest.raises(InputError, match=message):
            learner.fit(stopped_db, asked, **options)
        assert statuses(stopped_db) == [(1, "interrupted")], message
    # Nor has any of them changed what was saved.
    assert same(estimator("CDA").fit(stopped_db, model(), resume=1), undisturbed("CDA")[0])


@pytest.mark.slow
@warned
def test_a_script_that_loads_the_same_again_goes_on(stopped_db: sqlrl.Database) -> None:
    load(stopped_db)
    resumed = estimator("CDA").fit(stopped_db, model(), resume=1)
    assert resumed.clauses().to_pylist() == undisturbed("CDA")[0].clauses().to_pylist()


@warned
def test_changed_data_are_refused(stopped_db: sqlrl.Database) -> None:
    stopped_db.load("Word", [("d01", "w1")], types=["doc", "word"], example="doc")
    with pytest.raises(
        InputError,
        match=r"the data have changed since it began \(fingerprint mixed:\w{12} then, mixed:\w{12} now: .*start anew",
    ):
        estimator("CDA").fit(stopped_db, model(), resume=1)


@warned
def test_a_run_that_saved_nothing_cannot_be_resumed() -> None:
    db = sqlrl.connect()
    load(db)

    def stop(progress: WindowProgress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sqlrl.CDA(**OPTIONS).fit(db, model(), callback=stop)
    with pytest.raises(InputError, match=r"run 1 saved nothing from which it could be resumed: .* checkpoint=True"):
        sqlrl.CDA(**OPTIONS).fit(db, model(), resume=1)


@pytest.mark.slow
@warned
def test_saving_changes_nothing_and_can_be_read_with_sql() -> None:
    db = sqlrl.connect()
    load(db)
    with pytest.warns(InfeasibleTruthWarning):
        saved = estimator("CDA").fit(db, model(), checkpoint=True)
    plain, left = undisturbed("CDA")
    assert same(saved, plain)
    assert kept(db, 1) == left
    query = "select unnest(floats) from sqlrl.learner_state where run = 1 and name = 'theta'"
    assert len(db.sql(query).fetchall()) == len(saved.weights_)


@pytest.mark.slow
@warned
def test_steps_that_are_not_kept_are_not_needed() -> None:
    db = sqlrl.connect()
    load(db, 12)
    stopped(db, keep_steps=False, window=4)
    resumed = estimator("CDA", keep_steps=False, window=4).fit(db, model(), resume=1)
    assert (resumed.n_steps_, resumed.steps_.num_rows) == (24, 0)
    # Nor is a state of a run that nobody asked to be saved.
    estimator("CDA", window=12, passes=1).fit(db, model())
    states = "select distinct run from sqlrl.learner_state order by 1"
    assert db.sql(states).fetchall() == [(1,)]


def test_arrays_of_other_types_are_not_kept() -> None:
    with pytest.raises(ValueError, match="the array weight has the type float32: keep one of float64"):
        as_rows({"weight": np.zeros(1, dtype=np.float32)})


@warned
def test_a_full_disk_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    db = sqlrl.connect()
    load(db)
    full = EngineError("save a run", "IO Error: No space left on device", "INSERT")
    keep = Records.save_state

    def save(self: Records, run: int, state: Any) -> None:
        if "stream" in state and state["stream"]["windows"] > 2:
            raise full
        keep(self, run, state)

    def end(self: Records, run: int, status: str, **options: Any) -> None:
        raise EngineError("record the end of a run", "IO Error: No space left on device", "UPDATE")

    with monkeypatch.context() as patched:
        patched.setattr(Records, "save_state", save)
        patched.setattr(Records, "end_run", end)
        with pytest.raises(EngineError) as caught:
            estimator("CDA").fit(db, model(), checkpoint=True)
    assert caught.value is full
    assert full.__notes__ == [
        "run 1 is saved after window 2: resume=1 goes on",
        "the end of the run could not be recorded: IO Error: No space left on device",
    ]
    assert same(estimator("CDA").fit(db, model(), resume=1), undisturbed("CDA")[0])


@warned
def test_an_error_before_anything_is_saved_promises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    db = sqlrl.connect()
    load(db)
    monkeypatch.setattr(Records, "save_state", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        estimator("CDA").fit(db, model(), checkpoint=True)
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sqlrl.errors.InfeasibleTruthWarning")
def test_a_run_that_is_kept_in_memory_beside_a_file_warns(tmp_path: Path) -> None:
    path = tmp_path / "mine.duckdb"
    duckdb.connect(str(path)).close()
    # A read-only instance refuses a database in memory: what is derived is in a file that goes with the connection.
    for read_only in (False, True):
        connection = duckdb.connect(str(path), read_only=read_only)
        db = sqlrl.connect(connection)
        load(db, 6)
        with pytest.warns(
            CheckpointWarning, match=r"run cannot be resumed by another process: .*mine\.duckdb'\), which writes"
        ):
            stopped(db, window=2)
        connection.close()
    # As it advises.
    with warnings.catch_warnings():
        warnings.simplefilter("error", CheckpointWarning)
        warnings.simplefilter("ignore", InfeasibleTruthWarning)
        with sqlrl.connect(path) as kept_there:
            load(kept_there, 6)
            stopped(kept_there, window=2)
        with sqlrl.connect(duckdb.connect(str(path))) as again:
            estimator("CDA", window=2).fit(again, model(), resume=1)
