"""Progress of library calls: each draws one task, whatever it calls, and none where nothing is to be drawn."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

import sqlrl
from sqlrl.report import PlainConsole

FRIENDS = [("Ann", "Bob"), ("Bob", "Cid")]
MODEL = sqlrl.parse_mln(
    "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n!Smokes(x) v Smokes(x)."
)
CALLS: dict[str, tuple[str, Callable[[sqlrl.Database], object]]] = {
    "load": ("loading Likes", lambda db: db.load("Likes", FRIENDS, types=["person", "person"])),
    "load_evidence": ("loading evidence", lambda db: db.load_evidence([], MODEL, empty="allow")),
    "load_all": ("loading", lambda db: db.load_all({"A": FRIENDS, "B": FRIENDS})),
    "scope": ("setting the scope of Smokes", lambda db: db.scope("Smokes", [("Ann",)])),
    "define": ("defining", lambda db: db.define("Known(x) :- Friends(x, y).")),
    "refresh": ("loading what changed", lambda db: db.refresh()),
    "derive_bias": ("deriving a bias", lambda db: db.derive_bias("Smokes")),
    "bind": ("binding", lambda db: db.bind(MODEL)),
    "ground": ("grounding", lambda db: db.ground(MODEL)),
    "explain": ("planning", lambda db: db.explain(MODEL)),
    "constraint_costs": ("counting", lambda db: db.constraint_costs(MODEL)),
    "count": ("counting", lambda db: db.count(MODEL)),
    "count_difference": ("counting", lambda db: db.count_difference(MODEL, "observed")),
    "predict": ("predicting", lambda db: db.predict(MODEL)),
}


def database() -> sqlrl.Database:
    db = sqlrl.connect(progress=False)
    db.load("Friends", FRIENDS, types=["person", "person"])
    db.load("Smokes", [("Ann",)], types=["person"], target=True)
    return db


@pytest.mark.parametrize("name", CALLS)
def test_each_call_draws_one_task(name: str) -> None:
    db, stream = database(), io.StringIO()
    db.console = PlainConsole(stream, delay=0, interval=60)
    description, call = CALLS[name]
    call(db)
    drawn = stream.getvalue().splitlines()
    assert [line.split(": ")[0] for line in drawn if line.endswith("; done")] == [description]
    assert {line.split(": ")[0] for line in drawn} == {description}


def test_an_evaluation_draws_one_task_through_the_prediction_or_the_database() -> None:
    db, stream = database(), io.StringIO()
    db.console = PlainConsole(stream, delay=0)
    prediction = db.predict(MODEL, keep=True)
    for evaluate in (prediction.evaluate, lambda: db.evaluate(prediction)):
        stream.seek(0)
        stream.truncate()
        evaluate()
        assert [line.split(": ")[0] for line in stream.getvalue().splitlines()] == ["evaluating"]


def test_after_the_last_window_the_model_is_kept_before_all_eyes() -> None:
    db, stream = database(), io.StringIO()
    db.console = PlainConsole(stream, delay=0, interval=60)
    sqlrl.AdaGrad().fit(db, MODEL)
    lines = [line.split(": ")[0] for line in stream.getvalue().splitlines() if line.endswith("; done")]
    assert lines[-2:] == ["learning", "keeping the model"]
    # What is drawn around it says so in a note.
    with PlainConsole(stream, delay=0, interval=0).progress("all"):
        sqlrl.AdaGrad().fit(db, MODEL)
    assert any(
        line.startswith("all: ") and line.endswith("; keeping the model") for line in stream.getvalue().splitlines()
    )


def test_learning_that_stops_draws_no_more_though_its_error_is_kept() -> None:
    db, stream = database(), io.StringIO()
    db.console = PlainConsole(stream, delay=0)
    kept: list[Exception] = []

    def stop(_: object) -> None:
        raise RuntimeError("stop")

    try:
        sqlrl.AdaGrad().fit(db, MODEL, on_window=stop)
    except RuntimeError as error:
        kept.append(error)
    assert kept
    assert stream.getvalue().splitlines()[-1].endswith("; stopped")
    stream.seek(0)
    db.count(MODEL)
    assert "counting" in stream.getvalue()


@pytest.mark.parametrize("name", ["load", "load_all", "count", "predict"])
def test_nothing_is_drawn_if_that_is_not_wanted(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    CALLS[name][1](database())
    assert capsys.readouterr() == ("", "")
