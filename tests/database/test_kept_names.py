"""The names of examples that runs keep: views name the same ones after other data were loaded, whose ids are other examples'."""

from __future__ import annotations

from typing import Any

import pytest

import sqlrl

WORDS = [("d1", "bad"), ("d2", "good"), ("d3", "good"), ("d4", "bad")]
SEEN = "select run, example, loss, step from sqlrl.worst_predicted_examples"
WHY = "select atom, example, truth, margin, run from sqlrl.explanation"


def by_type() -> tuple[dict[str, Any], sqlrl.Model, str]:
    rules = "Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)"
    return {"types": ["doc", "word"], "example": "doc"}, sqlrl.parse_mln(rules), 'Liked("{}")'


def by_column() -> tuple[dict[str, Any], sqlrl.Model, str]:
    rules = 'Word(word)\nLiked(grade)\ngrade = {Yes}\nWord(+w) => Liked("Yes")'
    return {"types": ["word"], "example": "column0"}, sqlrl.parse_mln(rules), "Liked(Yes)"


@pytest.mark.parametrize("kind", [by_type, pytest.param(by_column, marks=pytest.mark.slow)])
def test_views_name_the_examples_of_their_run(kind: Any) -> None:
    options, model, atom = kind()
    db = sqlrl.connect()
    db.load("Word", WORDS, **options)
    liked = [("d2",), ("d3",)] if kind is by_type else [("d2", "Yes"), ("d3", "Yes")]
    types = {"types": ["doc"]} if kind is by_type else {"types": ["grade"], "example": "column0"}
    db.load("Liked", liked, target=True, **types)
    fit = sqlrl.AdaGrad().fit(db, model)
    prediction = db.predict(fit.model_, keep=True)
    for name in ("d2", "d4"):
        prediction.why(atom.format(name), example=name)
    seen, why = db.sql(SEEN).fetchall(), db.sql(WHY).fetchall()
    assert sorted(row[1] for row in seen) == ["d1", "d2", "d3", "d4"]
    assert [row[1] for row in why] == ["d2", "d4"]
    # Now the ids are 0, 1, 2 for d2, d3, d4.
    db.load("Liked", liked[:1], target=True, **types)
    db.load("Word", WORDS[1:], **options)
    again = db.predict(fit.model_, keep=True)
    assert db.sql(SEEN).fetchall() == seen
    assert db.sql(WHY).fetchall() == why
    # The newest explanation of an atom counts, whatever ids its example has had.
    again.why(atom.format("d4"), example="d4")
    newest = db.sql(WHY).fetchall()
    assert [(row[1], row[-1]) for row in newest] == [("d2", prediction.run), ("d4", again.run)]
    db.close()
