"""Labels that say less than they seem to: false without a row beside false rows, and all alike."""

from __future__ import annotations

import warnings

import pytest

import sqlrl
from sqlrl.errors import LabelWarning

MODEL = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, w) => Liked(d)\nLiked(d)")
WORDS = [("d1", "a"), ("d2", "b"), ("d3", "b"), ("d4", "a")]


def words(liked: list[tuple[str, bool]]) -> sqlrl.Database:
    db = sqlrl.connect()
    db.load("Word", WORDS, types=["doc", "word"], example="doc")
    db.load("Liked", liked, types=["doc"], truth=1, target=True)
    return db


def said(db: sqlrl.Database, examples: list[str] | None = None) -> list[str]:
    with warnings.catch_warnings(record=True, action="always") as caught:
        sqlrl.AdaGrad(window=1, passes=2).fit(db, MODEL, examples=examples)
    assert all(w.category is LabelWarning for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.slow
def test_tuples_that_are_false_without_a_row_are_counted() -> None:
    db = words([("d1", True), ("d2", False)])
    (message,) = said(db)
    assert message.startswith(
        "1 row of Liked is false, but 2 more tuples of the right types have no row and count as false, too."
    )
    assert message.endswith("which sqlrl.named_Liked lists: db.scope('Liked', ...)")
    db.scope("Liked", [("d1",), ("d2",), ("d3",)])
    (message,) = said(db, ["d1", "d2", "d3"])
    assert "1 more tuple in its scope has no row and counts as false" in message
    db.scope("Liked", "select * exclude (truth, given, prior) from sqlrl.named_Liked")
    assert said(db, ["d1", "d2"]) == []


def test_labels_of_examples_that_are_appended_are_counted_again() -> None:
    db = words([("d1", True), ("d2", False)])
    with pytest.warns(LabelWarning, match=r"^1 row of Liked is false, but 2 more tuples"):
        db.advanced.catalog.bind(MODEL, training=True)
    db.load("Word", [("d5", "a"), ("d6", "b")], mode="append")
    db.load("Liked", [("d5", False)], truth=1, target=True, mode="append")
    with pytest.warns(LabelWarning, match=r"^2 rows of Liked are false, but 3 more tuples"):
        db.advanced.catalog.bind(MODEL, training=True)


@pytest.mark.slow
def test_true_rows_alone_are_the_closed_world() -> None:
    assert said(words([("d1", True)])) == []
    db = words([("d1", True)])
    db.load("Liked", [("d3", False)], truth=1, given=True)
    assert said(db, ["d1", "d2", "d4"]) == []


@pytest.mark.parametrize(
    "learner",
    [
        sqlrl.Likelihood(strength=1.0),
        *(pytest.param(kind(), marks=pytest.mark.slow) for kind in (sqlrl.CDA, sqlrl.MaxMargin)),
    ],
)
def test_labels_that_are_all_alike_are_said_once(learner: sqlrl.CDA | sqlrl.Likelihood | sqlrl.MaxMargin) -> None:
    db = words([("d1", True), ("d2", False), ("d3", False), ("d4", True)])
    with pytest.warns(
        LabelWarning, match=r"^all 2 labels of Liked are true, .* db\.scope\('Liked', \.\.\.\), .*examples="
    ) as caught:
        learner.fit(db, MODEL, examples=["d1", "d4"])
    assert len(caught) == 1
    with pytest.warns(
        LabelWarning, match=r"^the only label of Liked is false, .* load true atoms of it with target=True"
    ):
        learner.fit(db, MODEL, examples=["d2"])
    learner.fit(db, MODEL, examples=["d1", "d2"])


def test_views_of_predicates_that_differ_in_case_are_two() -> None:
    """A predicate that is only asked for gets its view when that of another, whose name it would take, is made anew."""
    db = sqlrl.connect(":memory:")
    db.load("p", [("a",), ("b",)], types=["t"])
    model = sqlrl.parse_mln("p(t)\nP(t)\n1 p(x) => P(x)")
    for _ in range(2):
        db.predict(model, roles=sqlrl.Roles(query=["P"]))
        views = dict(db.sql("select predicate, readable from sqlrl.predicate").fetchall())
        assert sorted(views) == ["P", "p"]
        shown = {name: db.sql(f'describe sqlrl."{view}"').fetchall() for name, view in views.items()}
        assert [[row[0] for row in shown[name]] for name in ("p", "P")] == [
            ["t"],
            ["t", "truth", "given", "prior"],
        ]
        db.load("p", [("a",), ("b",), ("c",)], types=["t"])


@pytest.mark.slow
def test_examples_without_query_atoms_are_said() -> None:
    db = words([("d1", True), ("d2", False)])
    db.scope("Liked", [("d1",), ("d2",)])
    (message,) = said(db)
    assert message.startswith("2 of 4 examples have no query atoms, d3 among them: nothing is learned from them,")
    (message,) = said(db, ["d2", "d1", "d4"])
    assert message.startswith("1 of 3 examples has no query atoms, d4: nothing is learned from it,")
    assert said(db, ["d1", "d2"]) == []
