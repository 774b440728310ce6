"""Probabilities against labels: what `db.evaluate(marginals)` says is what labels and probabilities read one by one say."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pyarrow as pa
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
    table = db.probabilities(model).probabilities(predicate).to_pylist()
    return [(row["doc"] in LABELS[predicate], row["probability"]) for row in table]


def test_scores_are_those_of_the_atoms_one_by_one() -> None:
    db, model = texts(), sqlrl.parse_mln(TEXT)
    found = db.evaluate(db.probabilities(model), bins=4)
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
        found = db.probabilities(sqlrl.parse_mln('Word(doc, word)\nLiked(doc)\n2 Word(d, "good") => Liked(d)'))
    scores = db.evaluate(found)
    assert (scores.atoms, scores.true, scores.outside) == (2, 1, 1)
    assert "1 label lies outside the scope, without a probability" in str(scores)
    assert db.evaluate(found, outside="ignore").outside == 0


def test_hard_rules_against_labels_are_counted() -> None:
    db = texts()
    rules = 'Word(doc, word)\nLiked(doc)\nLong(doc)\nWord(d, "bad") => !Liked(d).\n!Long(d) v Liked(d).\n0.3 Long(d)'
    scores = db.evaluate(db.probabilities(sqlrl.parse_mln(rules)))
    # Liked(d2), Long(d2) and Long(d5) are true, and hard rules forbid them.
    assert (scores.impossible, scores.log_likelihood) == (3, -math.inf)
    assert scores.predicates["Long"].impossible == 2
    assert math.isfinite(scores.possible_log_likelihood)


@pytest.fixture(scope="module")
def asked() -> tuple[sqlrl.Database, sqlrl.Marginals]:
    db = texts()
    return db, db.probabilities(sqlrl.parse_mln(TEXT))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": 0}, "bins=0 must be a whole number of bins"),
        ({"bins": "10"}, "bins='10' must be a whole number of bins"),
    ],
)
def test_options_that_cannot_be(
    options: dict[str, object], message: str, asked: tuple[sqlrl.Database, sqlrl.Marginals]
) -> None:
    db, marginals = asked
    with pytest.raises(InputError, match=message):
        db.evaluate(marginals, **options)  # type: ignore[call-overload]


def test_rankings_of_examples_are_those_of_their_atoms() -> None:
    # An author writes texts, of which some are liked; author 3 has only liked ones, author 4 none that is known.
    db = sqlrl.connect()
    wrote = [(f"t{a}{k}", f"a{a}") for a in range(1, 5) for k in range(a + 1)]
    long = [row for row in wrote if row[0][-1] in "02"]
    label = {t: t in {"t10", "t21", "t22"} or a == "a3" for t, a in wrote if a != "a4"}
    known = [row for row in wrote if row[0] in label]
    liked = [row for row in known if label[row[0]]]
    for name, facts in {"Wrote": wrote, "Long": long, "Liked": liked, "known": known}.items():
        source = pa.table(dict(zip(("text", "example"), zip(*facts, strict=True), strict=True)))
        if name == "known":
            db.scope("Liked", source)
        else:
            db.load(name, source, types=["text"], example="example", target=name == "Liked")
    model = sqlrl.parse_mln("Wrote(text)\nLong(text)\nLiked(text)\n0.5 Wrote(t) ^ Long(t) => Liked(t)")
    scores = db.evaluate(db.probabilities(model))
    found = scores.by_example()
    chance = db.probabilities(model).probabilities().to_pylist()
    for row in found.table().to_pylist():
        mine = [
            (label[r["text"]], r["probability"])
            for r in chance
            if r["example"] == row["example"] and r["text"] in label
        ]
        assert (row["atoms"], row["true"]) == (len(mine), sum(t for t, _ in mine))
    rows = {row["example"]: (row["average_precision"], row["auc"]) for row in found.table().to_pylist()}
    # a1: the liked text is the long one. a2: liked are a short one and one of two long ones, which are tied:
    # half of the time places 1 and 3, else 2 and 3.
    assert rows["a1"] == (1.0, 1.0)
    assert rows["a2"] == (pytest.approx((1 + 2 / 3 + 1 / 2 + 2 / 3) / 4), 0.25)
    assert rows["a3"] == rows["a4"] == (None, None)
    assert found.left_out == (1, 0, 1)
    assert found.mean_average_precision == pytest.approx((1 + 17 / 24) / 2)
    assert scores.predicates["Liked"].by_example().table() == found.table()


def test_one_network_is_one_example() -> None:
    db = sqlrl.connect()
    db.load("Friends", [("A", "B"), ("B", "C")], types=["person", "person"])
    db.load("Smokes", [("B",)], types=["person"], target=True)
    rule = "1 Friends(x, y) ^ Friends(y, z) => Smokes(y)"
    found = db.evaluate(
        db.probabilities(sqlrl.parse_mln(f"Friends(person, person)\nSmokes(person)\n{rule}"))
    ).by_example()
    assert found.table().to_pylist() == [
        {"example": "all", "average_precision": 1.0, "auc": 1.0, "atoms": 3, "true": 1}
    ]


def test_atoms_that_are_alike_are_tied_however_they_are_numbered() -> None:
    # Copies of one graph, its people named and its edges listed in other orders: sums of exact probabilities differ in their last digit.
    random = np.random.default_rng(0)
    edges = [(a, b) for a in range(9) for b in range(a) if random.random() < 0.3]
    alike: dict[str, int] = {}
    friends = []
    for copy in range(6):
        name = [f"p{copy}_{k}" for k in random.permutation(9)]
        alike |= {name[k]: k for k in range(9)}
        friends += [(name[edges[e][0]], name[edges[e][1]]) for e in random.permutation(len(edges))]
    people = {person for pair in friends for person in pair}
    smokes = sorted(person for person in people if person[:2] in ("p0", "p3", "p4"))
    db = sqlrl.connect()
    db.load("Friends", friends, types=["person", "person"])
    db.load("Smokes", [(person,) for person in smokes], types=["person"], target=True)
    rules = "0.37 Friends(x, y) ^ Smokes(y) => Smokes(x)\n-0.3 Smokes(x)"
    found = db.probabilities(sqlrl.parse_mln(f"Friends(person, person)\nSmokes(person)\n{rules}"))
    chances: dict[int, set[float]] = {}
    for row in found.probabilities().to_pylist():
        chances.setdefault(alike[row["person"]], set()).add(row["probability"])
    assert max(map(len, chances.values())) > 1, "nothing is rounded here: take another graph"
    # Whoever smokes has a double who does not.
    scores = db.evaluate(found)
    assert scores.auc_roc == scores.by_example().mean_auc == 0.5
