"""A file that an older commit wrote, with stopped runs: it opens, its runs go on, and what it keeps can be read."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import sqlrl
from sqlrl.errors import InputError
from sqlrl.learn import OnlineEstimator
from tests.fixtures.build_stopped_run import EXPLAINED, TEST, TRAIN, adagrad, nothing, osl, whole

FIXTURE = Path(__file__).parent.parent / "fixtures" / "stopped_run.duckdb"
DONE, KEPT, STOPPED, STOPPED_OSL = 1, 2, 3, 4
pytestmark = pytest.mark.filterwarnings("ignore::sqlrl.errors.InfeasibleTruthWarning")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlrl.Database]:
    with sqlrl.connect(shutil.copy(FIXTURE, tmp_path / "older.duckdb")) as opened:
        yield opened


def clauses(db: sqlrl.Database, run: int) -> list[tuple[str, float | None]]:
    query = f"select text, weight from sqlrl.clause join sqlrl.run using (model) where run = {run} order by clause"
    return db.sql(query).fetchall()


def test_what_it_keeps_can_be_read(db: sqlrl.Database) -> None:
    runs = db.sql("select run, learner, status from sqlrl.run order by run").fetchall()
    assert runs == [
        (DONE, "AdaGrad", "done"),
        (KEPT, "predict", "done"),
        (STOPPED, "AdaGrad", "interrupted"),
        (STOPPED_OSL, "OSL", "interrupted"),
    ]
    assert db.sql("select count(distinct fingerprint) from sqlrl.run").fetchall() == [(1,)]
    learned = db.models[1]
    listed = [weight for _, weight in clauses(db, DONE) if weight is not None]
    weights = [w for rule in learned.rules if rule.expansions for w in rule.expansions.weights]
    assert sorted(listed) == sorted(weights)
    assert len(listed) > 30
    reasons = db.sql("select atom, example, side, weight, contribution, run from sqlrl.explanation").fetchall()
    assert {(atom, example, run) for atom, example, *_, run in reasons} == {('Liked("d12")', TEST[0], KEPT)}
    assert all(abs(weight) == abs(contribution) for *_, weight, contribution, _ in reasons)
    assert {weight for *_, weight, _, _ in reasons} <= set(weights)


def test_its_model_predicts_what_it_predicted(db: sqlrl.Database) -> None:
    prediction = db.predict(db.models[1], examples=TEST, keep=True)
    worlds = [
        db.sql(
            f"select predicate, atom, example, truth from sqlrl.prediction where run = {run} order by all"
        ).fetchall()
        for run in (KEPT, prediction.run)
    ]
    assert worlds[0] == worlds[1]
    assert len(worlds[0]) == 5
    margin = db.sql("select any_value(margin) from sqlrl.explanation").fetchall()
    assert [(prediction.why(EXPLAINED).margin,)] == [pytest.approx(row) for row in margin]


@pytest.mark.slow
def test_its_run_that_is_done_is_what_is_learned_now(db: sqlrl.Database) -> None:
    fit = adagrad().fit(db, whole(), examples=TRAIN)
    same(clauses(db, DONE), clauses(db, fit.run_))


def same(one: list[tuple[str, float | None]], other: list[tuple[str, float | None]]) -> None:
    """Compare clauses and weights; the last bits may be those of the processor on which the file was written."""
    assert [text for text, _ in one] == [text for text, _ in other]
    weights = [np.array([0.0 if w is None else w for _, w in each]) for each in (one, other)]
    np.testing.assert_allclose(*weights, rtol=1e-9, atol=1e-12)
    assert weights[0].any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "estimator", "model"), [(STOPPED, adagrad, whole), (STOPPED_OSL, osl, nothing)], ids=["AdaGrad", "OSL"]
)
def test_a_stopped_run_goes_on(
    db: sqlrl.Database, run: int, estimator: Callable[[], OnlineEstimator], model: Callable[[], sqlrl.Model]
) -> None:
    windows: list[int] = []
    resumed = estimator().fit(
        db, model(), examples=TRAIN, resume=run, callback=lambda seen: windows.append(seen.window)
    )
    uninterrupted = estimator().fit(db, model(), examples=TRAIN)
    assert windows == [5, 6]
    assert resumed.run_ == run
    same(clauses(db, run), clauses(db, uninterrupted.run_))
    assert resumed.steps_.select(["step", "example", "loss"]).equals(
        uninterrupted.steps_.select(["step", "example", "loss"])
    )
    assert resumed.support_.equals(uninterrupted.support_)
    assert db.sql(f"select status from sqlrl.run where run = {run}").fetchall() == [("done",)]
    assert (
        db.predict(resumed.model_, examples=TEST)
        .atoms("Kind", every=True)
        .equals(db.predict(uninterrupted.model_, examples=TEST).atoms("Kind", every=True))
    )


def test_its_fingerprints_are_verified_and_not_only_accepted(db: sqlrl.Database) -> None:
    # The table was not changed since it was loaded; one row with another kind leaves their number as it was.
    assert db.refresh() == []
    db.sql("update kinds set kind = case kind when 'K0' then 'K1' else 'K0' end where doc = 'd03'")
    assert db.refresh() == ["Kind"]
    with pytest.raises(InputError, match="the data have changed since it began"):
        adagrad().fit(db, whole(), examples=TRAIN, resume=STOPPED)
    # As before: the run, which was not touched, goes on.
    db.sql("update kinds set kind = case kind when 'K0' then 'K1' else 'K0' end where doc = 'd03'")
    assert db.refresh() == ["Kind"]
    adagrad().fit(db, whole(), examples=TRAIN, resume=STOPPED)


@pytest.mark.slow
def test_a_script_that_loads_the_same_again_goes_on(db: sqlrl.Database) -> None:
    words = db.sql("from sqlrl.named_Word").fetchall()
    db.load("Word", words[::-1], types=["doc", "word"], example="doc")
    adagrad().fit(db, whole(), examples=TRAIN, resume=STOPPED)
