"""Runs of soft learners that were stopped go on: by steps byte for byte, to a maximum within the tolerance."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

import sqlrl
from sqlrl.errors import CheckpointWarning, InputError
from sqlrl.training.records import Iteration
from tests.learn.soft.stopped import EXACT, KILLED, estimator, load, model

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.filterwarnings("ignore:SoftPiecewiseLikelihood ended after 8:sqlrl.errors.ConvergenceWarning")


def rows(db: sqlrl.Database, run: int) -> list[tuple[object, ...]]:
    query = f"select * exclude run from sqlrl.iteration where run = {run} order by iteration"
    return db.sql(query).fetchall()


@pytest.mark.parametrize(
    "name", ["pseudo", *(pytest.param(name, marks=pytest.mark.slow) for name in ("many rules", "piecewise"))]
)
def test_a_run_that_was_stopped_goes_on(name: str) -> None:
    """As a killed run does, without the process."""
    db = sqlrl.connect(progress=False)
    load(db)
    interrupted(db, name, KILLED)
    goes_on(db, name)


def goes_on(db: sqlrl.Database, name: str) -> None:
    """Resume run 1, and compare it with one that was never stopped."""
    before = rows(db, 1)
    assert before[-1][0] == KILLED
    seen: list[Iteration] = []
    resumed = estimator(name).fit(db, model(name), callback=seen.append, resume=1)
    whole = estimator(name).fit(db, model(name))
    assert seen[0].iteration == KILLED + 1
    assert rows(db, 1)[: len(before)] == before
    assert rows(db, 1) == [tuple(row.values()) for row in resumed.iterations_.to_pylist()]
    assert len(rows(db, 1)) == len(before) + len(seen)
    assert (resumed.weights_ > 0).sum() >= 2
    if name in EXACT:
        assert resumed.weights_.tobytes() == whole.weights_.tobytes()
        assert rows(db, 1) == rows(db, 2)
        assert resumed.result_.iterations == whole.result_.iterations
    else:
        assert resumed.result_.converged
        assert resumed.weights_ == pytest.approx(whole.weights_, abs=2e-4)
        assert resumed.result_.objective == pytest.approx(whole.result_.objective, rel=1e-9)
    assert db.models[-1] == whole.model_
    assert db.sql("select run, status from sqlrl.run order by run").fetchall() == [(1, "done"), (2, "done")]
    with pytest.raises(InputError, match="run 1 is done: there is nothing to resume"):
        estimator(name).fit(db, model(name), resume=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["map", "pseudo"])
def test_a_killed_run_goes_on(tmp_path: Path, name: str) -> None:
    path = tmp_path / "data.duckdb"
    with sqlrl.connect(path, progress=False) as db:
        load(db)
    command = [sys.executable, "-m", "tests.learn.soft.stopped", str(path), name]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    with sqlrl.connect(path, progress=False) as db:
        assert db.sql("select status from sqlrl.run").fetchall() == [("interrupted",)]
        goes_on(db, name)


def interrupted(db: sqlrl.Database, name: str, at: int, *, resume: int | None = None, start: bool = False) -> None:
    def stop(iteration: Iteration) -> None:
        if iteration.iteration == at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        estimator(name).fit(db, model(name), callback=stop, checkpoint=True, resume=resume, start=start)
    kept, saved = caught.value.__notes__
    assert f"run 1 is kept as interrupted, with the best weights up to iteration {at}" in kept
    assert saved == f"run 1 is saved after iteration {at}: resume=1 goes on"


@pytest.mark.parametrize(("name", "last"), [("map", 8), pytest.param("steps", 3, marks=pytest.mark.slow)])
def test_a_run_can_be_stopped_twice_and_after_its_last_iteration(name: str, last: int) -> None:
    db = sqlrl.connect(progress=False)
    load(db)
    interrupted(db, name, 1)
    interrupted(db, name, last, resume=1)
    resumed = estimator(name).fit(db, model(name), resume=1)
    whole = estimator(name).fit(db, model(name), checkpoint=True)
    assert resumed.weights_.tobytes() == whole.weights_.tobytes()
    assert resumed.result_.gradient.tobytes() == whole.result_.gradient.tobytes()
    assert rows(db, 1) == rows(db, 2)
    assert resumed.seconds_.keys() == whole.seconds_.keys()


def test_the_most_iterations_are_those_of_all_parts() -> None:
    db = sqlrl.connect(progress=False)
    load(db)
    learner = sqlrl.SoftPseudoLikelihood(strength=1e-3, tolerance=1e-13, max_iterations=3)

    def stop(iteration: Iteration) -> None:
        if iteration.iteration == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learner.fit(db, model("pseudo"), callback=stop, checkpoint=True)
    with pytest.warns(sqlrl.errors.ConvergenceWarning, match="ended after 3 iterations"):
        learner.fit(db, model("pseudo"), resume=1)
    assert learner.iterations_.column("iteration").to_pylist() == [0, 1, 2, 3]


@pytest.fixture(scope="module")
def stopped_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose run was stopped, to be copied."""
    path = tmp_path_factory.mktemp("stopped") / "data.duckdb"
    with sqlrl.connect(path, progress=False) as db:
        load(db)
        interrupted(db, "map", 2)
    return path


def other_data(db: sqlrl.Database) -> None:
    db.load("Said", [("p0", "w0")], types=["person", "word"])
    estimator("map").fit(db, model("map"), resume=1)


def other_model(db: sqlrl.Database) -> None:
    whole = model("map")
    estimator("map").fit(db, whole.with_rules((*whole.rules[:2], whole.rules[3])), resume=1)


CHANGED: list[tuple[Callable[[sqlrl.Database], object], str]] = [
    (lambda db: estimator("map").fit(db, model("map"), resume=7), "there is no run 7 to resume"),
    (lambda db: estimator("map").fit(db, model("map"), resume=0), "resume=0: give an integer of at least 1"),
    (lambda db: estimator("map").fit(db, model("map"), checkpoint=1), "checkpoint=1: give True or False"),
    (lambda db: estimator("steps").fit(db, model("map"), resume=1), "it is a run of SoftMapLikelihood, not of SoftPiece"),
    (lambda db: estimator("map", strength=2.0).fit(db, model("map"), resume=1), r"it began with strength=1.0, not strength=2.0"),
    (lambda db: estimator("map").fit(db, model("map"), resume=1, start=True), "it began with start=None, not start=True"),
    (other_model, r"its model differs in rule 3: !Glad\(A\) then, .*'p0'.* now"),
    (other_data, "the data have changed since it began"),
]  # fmt: skip


@pytest.mark.slow
def test_what_is_not_the_same_run_is_refused(stopped_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "data.duckdb"
    shutil.copy(stopped_file, path)
    with sqlrl.connect(path, progress=False) as db:
        for change, message in CHANGED:
            with pytest.raises(InputError, match=message):
                change(db)
            assert db.sql("select run, status from sqlrl.run").fetchall() == [(1, "interrupted")], message


def test_a_run_that_saved_nothing_cannot_be_resumed() -> None:
    db = sqlrl.connect(progress=False)
    load(db)

    def stop(_: Iteration) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        estimator("map").fit(db, model("map"), callback=stop)
    (kept,) = caught.value.__notes__
    assert "run 1 is kept as interrupted" in kept
    with pytest.raises(InputError, match=r"run 1 saved nothing .* checkpoint=True"):
        estimator("map").fit(db, model("map"), resume=1)
    assert db.sql("select count(*) from sqlrl.iteration").fetchall() == [(1,)]


def test_what_is_saved_can_be_read_with_sql() -> None:
    db = sqlrl.connect(progress=False)
    load(db)
    fit = estimator("map", average=False).fit(db, model("map"), checkpoint=True)
    query = "select unnest(floats) from sqlrl.learner_state where run = 1 and name = 'weight'"
    assert np.array([row[0] for row in db.sql(query).fetchall()]).tobytes() == fit.weights_.tobytes()


def test_a_run_that_is_kept_in_memory_beside_a_file_warns(tmp_path: Path) -> None:
    path = tmp_path / "mine.duckdb"
    duckdb.connect(str(path)).close()
    db = sqlrl.connect(duckdb.connect(str(path)))
    load(db)
    with pytest.warns(CheckpointWarning, match="run cannot be resumed by another process"):
        estimator("map").fit(db, model("map"), checkpoint=True)
