"""Probabilities against labels: what `db.evaluate(marginals)` says is what labels and probabilities read one by one say."""

from __future__ import annotations

import math
from itertools import product

import pytest

import sqlrl
from sqlrl.errors import InputError

TEXT = 'Word(doc, word)\nLiked(doc)\nLong(doc)\n1.5 Word(d, "good") => Liked(d)\n-0.7 Liked(d)\n0.4 Word(d, w) ^ Liked(d) => Long(d)'
WORDS = {"d1": "good", "d2": "bad", "d3": "good", "d4": "fine", "d5": "bad"}
LABELS = {"Liked": {"d1", "d2", "d3"}, "Long": {"d2", "d5"}}


def texts() -> sqlrl.Database:
    db = sqlrl.connect()
    db.load("Word", list(WORDS.items()), types=["doc", "word"], example="doc")
    for name, true in LABELS.items():
        db.load(name, [(d,) for d in sorted(true)], types=["doc"], target=True)
    return db


def pairs(db: sqlrl.Database, model: sqlrl.Model, predicate: str) -> list[tuple[bool, float]]:
    table = db.marginals(model).probabilities(predicate).to_pylist()
    return [(row["doc"] in LABELS[predicate], row["probability"]) for row in table]


def test_scores_are_those_of_the_atoms_one_by_one() -> None:
    db, model = texts(), sqlrl.parse_mln(TEXT)
    found = db.evaluate(db.marginals(model), bins=4)
    assert list(found.predicates) == ["Liked", "Long"]
    parts = {name: pairs(db, model, name) for name in LABELS}
    parts["(all)"] = [pair for rows in parts.values() for pair in rows]
    for row in found.table().to_pylist():
        rows = parts[row["predicate"]]
        true, false = ([p for t, p in rows if t is side] for side in (True, False))
        wins = [1.0 if a > b + 1e-12 else 0.5 if abs(a - b) <= 1e-12 else 0.0 for a, b in product(true, false)]
        assert row["auc_roc"] == pytest.approx(sum(wins) / len(wins))
        precision = [sum(t for t, q in rows if q >= p - 1e-12) / sum(q >= p - 1e-12 for _, q in rows) for p in true]
        assert row["average_precision"] == pytest.approx(sum(precision) / len(precision))
        right = [math.log(p if t else 1 - p) for t, p in rows]
        assert row["log_likelihood"] == pytest.approx(sum(right) / len(rows))
        assert row["brier"] == pytest.approx(sum((t - p) ** 2 for t, p in rows) / len(rows))
        assert (row["atoms"], row["true"]) == (len(rows), len(true))
    for k, row in enumerate(found.calibration.table().to_pylist()):
        mine = [t for t, p in parts["(all)"] if k / 4 < p <= (k + 1) / 4]
        assert (row["atoms"], row["true"]) == (len(mine), sum(mine))


def test_only_labelled_atoms_count_and_labels_outside_are_said() -> None:
    db = sqlrl.connect()
    db.load("Word", list(WORDS.items()), types=["doc", "word"], example="doc")
    # d4 has no label at all, d5 is known to be false.
    db.load("Liked", [("d1", True), ("d2", True), ("d5", False)], types=["doc"], target=True, truth=1)
    db.scope("Liked", [("d1",), ("d5",)])
    with pytest.warns(sqlrl.errors.ScopeWarning):
        found = db.marginals(sqlrl.parse_mln('Word(doc, word)\nLiked(doc)\n2 Word(d, "good") => Liked(d)'))
    scores = db.evaluate(found)
    assert (scores.atoms, scores.true, scores.outside) == (2, 1, 1)
    assert "1 label lies outside the scope, without a probability" in str(scores)
    assert db.evaluate(found, outside="ignore").outside == 0


def test_hard_rules_against_labels_are_counted() -> None:
    db = texts()
    rules = 'Word(doc, word)\nLiked(doc)\nLong(doc)\nWord(d, "bad") => !Liked(d).\n!Long(d) v Liked(d).\n0.3 Long(d)'
    scores = db.evaluate(db.marginals(sqlrl.parse_mln(rules)))
    # Liked(d2), Long(d2) and Long(d5) are true, and hard rules forbid them.
    assert (scores.impossible, scores.log_likelihood) == (3, -math.inf)
    assert scores.predicates["Long"].impossible == 2
    assert math.isfinite(scores.possible_log_likelihood)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outside": "all"}, "outside='all' must be 'missed' or 'ignore'"),
        ({"bins": 0}, "bins=0 must be a whole number of bins"),
        ({"bins": "10"}, "bins='10' must be a whole number of bins"),
    ],
)
def test_options_that_cannot_be(options: dict[str, object], message: str) -> None:
    db = texts()
    with pytest.raises(InputError, match=message):
        db.evaluate(db.marginals(sqlrl.parse_mln(TEXT)), **options)  # type: ignore[call-overload]


def test_without_labels_and_of_another_database_it_says_so() -> None:
    db, other = texts(), texts()
    found = db.marginals(sqlrl.parse_mln(TEXT))
    with pytest.raises(InputError, match="made in another database"):
        other.evaluate(found)
    bare = sqlrl.connect()
    bare.load("Word", list(WORDS.items()), types=["doc", "word"], example="doc")
    with pytest.raises(InputError, match="no predicted atom has a label"):
        bare.evaluate(bare.marginals(sqlrl.parse_mln(TEXT, query=["Liked", "Long"])))
