"""Ctrl-C in the middle of batch learning keeps the best weights so far, as a run that says so."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sqlrl
from sqlrl.catalog.records import Records
from sqlrl.errors import EngineError, NumericError
from sqlrl.learn.batch.choice_design import Choices
from sqlrl.training.records import Iteration
from sqlrl.training.stream import ExampleStream
from tests.learn.batch.stopped import load, model

pytestmark = pytest.mark.filterwarnings(
    "ignore::sqlrl.errors.ConvergenceWarning", "ignore::sqlrl.errors.ValidationWarning"
)

LEARNERS: dict[str, tuple[Callable[..., Any], str, int]] = {
    # How it is made, what bounds its iterations, and the iteration after which it is stopped.
    "likelihood l1": (lambda **most: sqlrl.Likelihood("l1", 0.05, **most), "max_iterations", 5),
    "likelihood l2": (lambda **most: sqlrl.Likelihood("l2", 0.05, **most), "max_iterations", 3),
    "max-margin l2": (lambda **most: sqlrl.MaxMargin(strength=0.2, **most), "max_iterations", 4),
    "max-margin l2, cuts": (lambda **most: sqlrl.MaxMargin(strength=0.2, loss="zero-one", **most), "max_iterations", 6),
    "max-margin l1, cuts": (
        lambda **most: sqlrl.MaxMargin(strength=0.2, penalty="l1", loss="zero-one", **most),
        "max_iterations",
        3,
    ),
    "pscg exact": (lambda **most: sqlrl.PSCG(moments="exact", **most), "max_iterations", 3),
    "pscg": (sqlrl.PSCG, "max_iterations", 3),
    "voted-perceptron": (lambda **most: sqlrl.baselines.VotedPerceptron(0.5, **most), "max_iterations", 3),
    "perceptron": (lambda **most: sqlrl.baselines.VotedPerceptron(0.5, average=False, **most), "max_iterations", 3),
    "pseudo-likelihood": (sqlrl.PseudoLikelihood, "max_iterations", 2),
    "pseudo-likelihood of targets": (
        lambda **most: sqlrl.PseudoLikelihood("l1", 0.01, discriminative=True, **most),
        "max_iterations",
        2,
    ),
}


def press(at: int, seen: list[Iteration] | None = None) -> Callable[[Iteration], None]:
    def pressed(iteration: Iteration) -> None:
        if seen is not None:
            seen.append(iteration)
        if iteration.iteration == at:
            raise KeyboardInterrupt

    return pressed


@pytest.fixture
def db() -> sqlrl.Database:
    db = sqlrl.connect(progress=False)
    load(db)
    return db


@pytest.fixture(scope="module")
def shared() -> sqlrl.Database:
    """A database to which runs are added, and nothing else."""
    db = sqlrl.connect(progress=False)
    load(db)
    return db


@pytest.fixture(scope="module")
def small() -> sqlrl.Database:
    """Fewer documents, for learners that search for worlds."""
    db = sqlrl.connect(progress=False)
    load(db, 10)
    return db


SAME = ("likelihood l2", "max-margin l2, cuts", "pscg exact", "perceptron", "pseudo-likelihood of targets")
"""Those that keep their weights as another one does."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SAME else name for name in LEARNERS]
)
def test_the_best_weights_so_far_are_those_of_a_run_of_so_many_iterations(name: str, shared: sqlrl.Database) -> None:
    make, most, at = LEARNERS[name]
    whole = make(**{most: at}).fit(shared, model())
    seen: list[Iteration] = []
    fit = make()
    with pytest.raises(KeyboardInterrupt) as stop:
        fit.fit(shared, model(), callback=press(at, seen))
    rows, run = fit.iterations_.num_rows, whole.run_ + 1
    assert seen[-1].iteration == at
    assert len(seen) == rows == whole.iterations_.num_rows
    assert all(each.so_far is None for each in seen)
    assert fit.weights_.tobytes() == whole.weights_.tobytes()
    assert np.abs(fit.weights_).max() > 0
    assert fit.model_ == whole.model_ == shared.models[-1]
    assert fit.clauses().to_arrow() == whole.clauses().to_arrow()
    assert (fit.interrupted_, whole.interrupted_) == (True, False)
    for learned in set(type(fit).learned) - {"interrupted_", "infeasible_"}:
        mine, others = getattr(fit, learned), getattr(whole, learned)
        assert str(mine) == str(others), learned
    assert f"{rows:,}, interrupted there" in repr(fit)
    assert f"run {run} is kept as interrupted, with the best weights up to iteration {at}" in stop.value.__notes__[0]
    of_run = shared.sql(f"select count(*), max(iteration) from sqlrl.iteration where run = {run}").fetchall()
    assert of_run == [(rows, at)]
    counts = "select clause, groundings, n_observed from sqlrl.clause_statistics where run = {} order by clause"
    assert shared.sql(counts.format(run)).fetchall() == shared.sql(counts.format(whole.run_)).fetchall()


@pytest.mark.slow
def test_a_run_that_is_kept_is_in_the_file_and_begins_anew(tmp_path: Path) -> None:
    path, fit = tmp_path / "kept.duckdb", sqlrl.Likelihood("l1", 0.05)
    with sqlrl.connect(path, progress=False) as db:
        load(db, 16)
        sqlrl.Likelihood("l1", 5.0).fit(db, model())
        with pytest.raises(KeyboardInterrupt):
            fit.fit(db, model(), callback=press(5))
    with sqlrl.connect(path, progress=False) as db:
        assert db.models[-1] == fit.model_
        assert db.sql("select run, model, status, timings is not null from sqlrl.run").fetchall() == [
            (1, 1, "done", True),
            (2, 2, "interrupted", True),
        ]
        assert fit.fit(db, model()).run_ == 3
        assert not fit.interrupted_


@pytest.mark.slow
def test_the_best_iteration_is_not_the_last_one(small: sqlrl.Database) -> None:
    """Cutting planes try weights that are worse than the best ones: of these the objective is shown, and they are kept."""

    def fit_of(most: int) -> sqlrl.MaxMargin:
        return sqlrl.MaxMargin(strength=0.2, loss="zero-one", max_iterations=most).fit(small, model())

    objective = fit_of(1000).iterations_["objective"].to_pylist()
    idle = next(k for k in range(2, len(objective)) if objective[k] == objective[k - 1]) + 1
    fit = sqlrl.MaxMargin(strength=0.2, loss="zero-one")
    with pytest.raises(KeyboardInterrupt):
        fit.fit(small, model(), callback=press(idle))
    assert fit.weights_.tobytes() == fit_of(idle - 1).weights_.tobytes()
    # Of the penalty and all slack the objective is what the weights have, whatever was tried after them.
    assert fit.choices_["objective"][0].as_py() == objective[idle - 1] == objective[idle - 2]


def test_as_long_as_there_is_nothing_but_the_start_nothing_is_kept(db: sqlrl.Database) -> None:
    start = sqlrl.Likelihood("l2", 5.0).fit(db, model()).model_
    for learner in (sqlrl.Likelihood("l2"), sqlrl.PSCG(moments="exact")):
        with pytest.raises(KeyboardInterrupt) as stop:
            learner.fit(db, model(), callback=press(0), start=start)
        assert "had no weights yet: it is marked as interrupted, and has no model" in stop.value.__notes__[0]
        assert "model_" not in vars(learner)
    assert db.sql("select model, status from sqlrl.run where run > 1").fetchall() == [(None, "interrupted")] * 2
    assert db.models[-1] == start


@pytest.mark.slow
def test_ctrl_c_loses_no_step_that_was_taken(db: sqlrl.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    original = Choices.value_and_gradient

    def counted(self: Choices, weights: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 9:
            raise KeyboardInterrupt
        return original(self, weights)

    seen: list[Iteration] = []
    monkeypatch.setattr(Choices, "value_and_gradient", counted)
    fit = sqlrl.Likelihood("l2", 0.05)
    with pytest.raises(KeyboardInterrupt):
        fit.fit(db, model(), callback=press(-1, seen))
    monkeypatch.undo()
    steps = seen[-1].iteration
    assert 2 < steps < 9
    whole = sqlrl.Likelihood("l2", 0.05, max_iterations=steps).fit(db, model())
    assert fit.weights_.tobytes() == whole.weights_.tobytes()
    assert fit.iterations_ == whole.iterations_
    # Nor is one told beyond those that were asked for, however many were taken.
    calls = 0
    monkeypatch.setattr(Choices, "value_and_gradient", counted)
    with suppress(KeyboardInterrupt):
        sqlrl.Likelihood("l2", 0.05, max_iterations=2).fit(db, model())
    assert db.sql("select max(iteration) from sqlrl.iteration where run = 3").fetchall() == [(2,)]


def test_while_a_strength_is_chosen_there_are_no_weights(db: sqlrl.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sqlrl.learn.batch.likelihood.validate", stop)
    with pytest.raises(KeyboardInterrupt) as stopped:
        sqlrl.Likelihood(strength=[0.1, 1.0]).fit(db, model())
    assert "run 1 had no weights yet" in stopped.value.__notes__[0]
    monkeypatch.undo()
    fit = sqlrl.Likelihood(strength=[0.1, 1.0])
    with pytest.raises(KeyboardInterrupt):
        fit.fit(db, model(), callback=press(2))
    assert fit.strengths_.num_rows == 2
    assert fit.strength_ in (0.1, 1.0)
    assert "chosen from 2 values" in repr(fit)
    assert db.sql("select count(*) from sqlrl.tuning where run = 2").fetchall() == [(10,)]


@pytest.mark.slow
def test_of_several_strengths_the_last_one_that_was_trained_is_kept(small: sqlrl.Database) -> None:
    def learner(*prices: float, **options: Any) -> sqlrl.MaxMargin:
        return sqlrl.MaxMargin(strength=[1.0 / price for price in prices], loss="zero-one", **options)

    first = learner(0.1).fit(small, model())
    iterations = first.iterations_.num_rows
    fit = learner(0.1, 5.0, 50.0)
    with pytest.raises(KeyboardInterrupt):
        fit.fit(small, model(), callback=press(iterations + 2))
    assert fit.weights_.tobytes() == first.weights_.tobytes()
    rows = fit.choices_.to_pylist()
    assert [(row["C"], row["chosen"], row["objective"] is None) for row in rows] == [
        (0.1, True, False),
        (5.0, False, True),
        (50.0, False, True),
    ]
    assert "at strength=10" in repr(fit)
    # Weights of the first strength that is not trained to its end are better than none.
    with pytest.raises(KeyboardInterrupt):
        fit.fit(small, model(), callback=press(2))
    assert [row["chosen"] for row in fit.choices_.to_pylist()] == [True, False, False]
    assert fit.weights_.tobytes() == learner(0.1, max_iterations=2).fit(small, model()).weights_.tobytes()


@pytest.mark.slow
def test_weights_learned_from_a_part_of_the_examples_are_not_kept(small: sqlrl.Database) -> None:
    seen: list[Iteration] = []
    options: dict[str, Any] = {"strength": [10.0, 1.0], "loss": "zero-one", "folds": 2}
    with pytest.raises(KeyboardInterrupt) as stop:
        sqlrl.MaxMargin(**options).fit(small, model(), callback=press(3, seen))
    assert "had no weights yet" in stop.value.__notes__[0]
    whole = sqlrl.MaxMargin(**options).fit(small, model())
    last = whole.iterations_["iteration"][-1].as_py()
    fit = sqlrl.MaxMargin(**options)
    with pytest.raises(KeyboardInterrupt):
        fit.fit(small, model(), callback=press(last))
    assert [row["f1"] for row in fit.choices_.to_pylist()] == [row["f1"] for row in whole.choices_.to_pylist()]


# ---- what goes wrong while weights are kept ------------------------------------------------------------------


def test_a_second_ctrl_c_leaves_what_was_there_before(db: sqlrl.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = sqlrl.Likelihood().fit(db, model())
    tables = ("model", "clause", "shape", "iteration", "clause_statistics")
    counts = [db.sql(f"select count(*) from sqlrl.{table}").fetchall() for table in tables]
    for at in ("clause_statistics", None):
        original: Any = Records.append if at else ExampleStream.learned

        def again(self: Any, *args: Any, at: str | None = at, original: Any = original) -> Any:
            found = original(self, *args)
            if at is None or args[0] == at:
                raise KeyboardInterrupt
            return found

        monkeypatch.setattr(*((Records, "append") if at else (ExampleStream, "learned")), again)
        fit = sqlrl.Likelihood()
        with pytest.raises(KeyboardInterrupt) as stop:
            fit.fit(db, model(), callback=press(2))
        monkeypatch.undo()
        assert "are not kept: it was interrupted again" in stop.value.__notes__[0]
        assert not {"model_", "strength_", "optimality_"} & vars(fit).keys()
        assert [db.sql(f"select count(*) from sqlrl.{table}").fetchall() for table in tables] == counts
    assert db.sql("select model, status from sqlrl.run").fetchall() == [(1, "done"), *[(None, "interrupted")] * 2]
    assert db.models[-1] == earlier.model_
    assert sqlrl.Likelihood().fit(db, model()).model_ == earlier.model_


def test_what_cannot_be_kept_is_said(db: sqlrl.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise EngineError("keep clauses", "no space left on device", "insert")

    monkeypatch.setattr(Records, "save_model", lambda *_, **__: full())
    with pytest.raises(KeyboardInterrupt) as stop:
        sqlrl.Likelihood().fit(db, model(), callback=press(2))
    assert "could not be kept" in stop.value.__notes__[0]
    assert "no space left on device" in stop.value.__notes__[0]
    monkeypatch.undo()
    monkeypatch.setattr("sqlrl.learn.batch.penalised._of_clauses", lambda *_: np.full(7, np.nan))
    with pytest.raises(KeyboardInterrupt) as stop:
        sqlrl.Likelihood().fit(db, model(), callback=press(2))
    assert "grew out of range" in stop.value.__notes__[0]
    monkeypatch.undo()

    # An error keeps nothing: weights that grow out of range are no weights.
    def fail(_: Iteration) -> None:
        raise NumericError("out of range")

    with pytest.raises(NumericError):
        sqlrl.baselines.VotedPerceptron().fit(db, model(), callback=fail)
    assert db.sql("select model, status from sqlrl.run").fetchall() == [
        (None, "interrupted"),
        (None, "interrupted"),
        (None, "failed"),
    ]


def left_behind(path: Path, earlier: sqlrl.Model) -> None:
    """A run that was killed is there as interrupted, and with nothing else."""
    with sqlrl.connect(path, progress=False) as db:
        assert db.sql("select model, status from sqlrl.run").fetchall() == [(1, "done"), (None, "interrupted")]
        assert db.models[-1] == earlier
        for table in ("iteration", "clause_statistics"):
            assert db.sql(f"select distinct run from sqlrl.{table}").fetchall() == [(1,)]
        assert db.sql("select distinct model from sqlrl.clause").fetchall() == [(1,)]
        assert sqlrl.Likelihood().fit(db, model()).model_ == earlier


@pytest.mark.slow
def test_what_is_in_the_file_while_weights_are_kept_is_what_was_there_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a process leaves that is killed then, without the process."""
    path, image, append = tmp_path / "killed.duckdb", tmp_path / "image", Records.append
    image.mkdir()

    def appended(self: Records, table: str, number: int, data: Any) -> None:
        append(self, table, number, data)
        if table == "iteration":
            for part in tmp_path.glob("killed.duckdb*"):
                shutil.copy(part, image)

    with sqlrl.connect(path, progress=False) as db:
        load(db)
        earlier = sqlrl.Likelihood().fit(db, model()).model_
        monkeypatch.setattr(Records, "append", appended)
        with pytest.raises(KeyboardInterrupt):
            sqlrl.Likelihood().fit(db, model(), callback=press(2))
        monkeypatch.undo()
    left_behind(image / path.name, earlier)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["learning", "keeping"])
def test_a_killed_process_leaves_what_was_there_before(where: str, tmp_path: Path) -> None:
    path = tmp_path / "killed.duckdb"
    with sqlrl.connect(path, progress=False) as db:
        load(db)
        earlier = sqlrl.Likelihood().fit(db, model()).model_
    done = subprocess.run(
        [sys.executable, "-m", "tests.learn.batch.stopped", str(path), where], check=False, capture_output=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    left_behind(path, earlier)
