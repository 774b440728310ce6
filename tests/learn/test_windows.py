"""How many examples a window has where nobody says so."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

import sqlrl
import sqlrl.ground.windows as module
from sqlrl.errors import GroundingLimitError, InfeasibleTruthWarning
from sqlrl.learn import WindowProgress
from tests.learn.stopped import OPTIONS, load, model

UNSAID: dict[str, Any] = {**OPTIONS, "window": None}
ONCE: dict[str, Any] = {**UNSAID, "passes": 1}
warned = pytest.mark.filterwarnings(f"ignore::{InfeasibleTruthWarning.__module__}.{InfeasibleTruthWarning.__name__}")


@pytest.fixture
def db(monkeypatch: pytest.MonkeyPatch) -> sqlrl.Database:
    """12 documents; the first window has 2 and about 15 atoms and literals of units."""
    monkeypatch.setattr(module, "FIRST", 2)
    monkeypatch.setattr(module, "MOST", 6)
    database = sqlrl.connect()
    load(database, 12)
    return database


def sizes(
    db: sqlrl.Database, entries: int, monkeypatch: pytest.MonkeyPatch, *, passes: int = 2, most: int | None = None
) -> list[int]:
    monkeypatch.setattr(module, "ENTRIES", entries)
    with db.advanced.learning.training_windows(model(), passes=passes) as stream:
        stream.begin("sizes", {}, 0)
        windows = list(islice(stream, most))
        assert most or len(stream) == len(windows)
        first = windows[0].network
    assert 12 < len(first.atoms) + len(first.literals) + first.units.nnz < 100
    return [len(window.examples) for window in windows]


@pytest.mark.slow
def test_small_examples_come_in_larger_windows(db: sqlrl.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sizes(db, 10_000, monkeypatch) == [2, 6, 4, 6, 6]
    assert sizes(db, 1, monkeypatch, passes=1) == [2] * 6


@pytest.mark.slow
def test_a_window_of_average_examples_stays_below_the_bound(
    db: sqlrl.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with db.advanced.learning.training_windows(model(), size=2) as stream:
        stream.begin("sizes", {}, 0)
        network = next(iter(stream)).network
    entries = len(network.atoms) + len(network.literals) + network.units.nnz
    assert sizes(db, 2 * entries, monkeypatch, most=3) == [2, 4, 4]
    assert sizes(db, 2 * entries - 1, monkeypatch, most=3) == [2, 2, 2]


@pytest.mark.slow
@warned
def test_windows_do_not_change_what_is_learned(db: sqlrl.Database) -> None:
    chosen, given = sqlrl.CDA(**UNSAID).fit(db, model()), sqlrl.CDA(**OPTIONS).fit(db, model())
    assert chosen.steps_["loss"] == given.steps_["loss"]
    found = [
        {row["clause"]: row["weight"] for row in fit.clauses().to_pylist() if not row["hard"]}
        for fit in (chosen, given)
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-12, abs=1e-12)


@pytest.mark.slow
@warned
@pytest.mark.parametrize("after", [1, 4])
def test_a_resumed_run_has_the_windows_that_it_had(db: sqlrl.Database, after: int) -> None:
    seen: list[WindowProgress] = []

    def stop(progress: WindowProgress) -> None:
        seen.append(progress)
        if progress.window == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sqlrl.AdaGrad(**UNSAID).fit(db, model(), callback=stop, checkpoint=True)
    resumed = sqlrl.AdaGrad(**UNSAID).fit(db, model(), callback=seen.append, resume=1)
    assert [(p.window, p.windows) for p in seen] == [(k, 5) for k in range(1, 6)]
    assert [p.steps for p in seen] == [2, 8, 12, 18, 24]
    whole = sqlrl.AdaGrad(**UNSAID).fit(db, model())
    assert resumed.weights_.tobytes() == whole.weights_.tobytes()
    assert resumed.last_weights_.tobytes() == whole.last_weights_.tobytes()
    assert resumed.steps_ == whole.steps_


@pytest.fixture
def dense(db: sqlrl.Database, monkeypatch: pytest.MonkeyPatch) -> sqlrl.Database:
    """8 documents would be the first window, but the budget allows a quarter of them."""
    monkeypatch.setattr(module, "FIRST", 8)
    with db.advanced.learning.training_windows(model(), size=2) as stream:
        stream.begin("sizes", {}, 0)
        network = next(iter(stream)).network
    monkeypatch.setattr(module, "MOST_ENTRIES", 2 * (len(network.atoms) + len(network.literals) + network.units.nnz))
    return db


@pytest.mark.slow
def test_a_first_window_without_room_is_made_smaller(dense: sqlrl.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sizes(dense, 10_000, monkeypatch, passes=1) == [2] * 6
    monkeypatch.setattr(module, "MOST_ENTRIES", 2)
    with dense.advanced.learning.training_windows(model()) as stream:
        stream.begin("sizes", {}, 0)
        assert [len(window.examples) for window in stream] == [1] * 12


@pytest.mark.slow
@warned
def test_a_limit_of_ground_clauses_makes_the_first_window_smaller(dense: sqlrl.Database) -> None:
    whole = sqlrl.CDA(**ONCE).fit(dense, model())
    counted: list[WindowProgress] = []
    limited = sqlrl.CDA(**ONCE).fit(dense, model(), callback=counted.append, limit=16)
    assert len(counted) > 6
    assert limited.steps_["loss"] == whole.steps_["loss"]
    with pytest.raises(GroundingLimitError):
        sqlrl.CDA(**ONCE).fit(dense, model(), limit=1)


@warned
@pytest.mark.parametrize("after", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_a_resumed_run_with_a_smaller_first_window_gives_clauses_the_ids_they_had(
    dense: sqlrl.Database, after: int
) -> None:
    def stop(progress: WindowProgress) -> None:
        if progress.window == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sqlrl.AdaGrad(**ONCE).fit(dense, model(), callback=stop, checkpoint=True)
    resumed = sqlrl.AdaGrad(**ONCE).fit(dense, model(), resume=2)  # run 1 is that of `dense`
    whole = sqlrl.AdaGrad(**ONCE).fit(dense, model())
    assert resumed.clauses() == whole.clauses()
    assert resumed.weights_.tobytes() == whole.weights_.tobytes()
    assert resumed.steps_ == whole.steps_
