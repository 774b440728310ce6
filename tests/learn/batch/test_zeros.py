"""Clauses of weight 0 that are left out of a learned model: nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sqlrl
from tests.learn.batch.stopped import load, model

pytestmark = pytest.mark.filterwarnings(
    "ignore::sqlrl.errors.LabelWarning",
    "ignore::sqlrl.errors.ConvergenceWarning",
    "ignore::sqlrl.errors.UnseenConstantWarning",
)

TOPICS = """
Word(doc, word)
Topic(doc, kind!)
Rare(doc)
Long(doc)

Word(d, +w) => Topic(d, +k)
Topic(d, +k)
Word(d, "w1") => Rare(d)
Long(d) => Rare(d)
Long(d) => !Topic(d, K2).
@0 Long(d) => Topic(d, K0)
"""


def topics(seed: int = 0) -> sqlrl.Database:
    """Documents of three kinds, whose words say which, and labels of another predicate that are by chance."""
    random = np.random.default_rng(seed)
    db = sqlrl.connect(progress=False)
    kinds = {f"d{i:02}": int(random.integers(3)) for i in range(40)}
    words = [(d, f"w{random.choice([k, 3, 4, 5])}") for d, k in kinds.items() for _ in range(3)]
    db.load("Word", sorted({*words}), types=["doc", "word"], example="doc")
    db.load("Topic", [(d, f"K{k}") for d, k in kinds.items()], types=["doc", "kind"], target=True)
    long = [d for d, k in kinds.items() if k != 2 and random.random() < 0.5]
    db.load("Long", [(d,) for d in long], types=["doc"], example="doc")
    rare = [d for d, k in kinds.items() if random.random() < (0.7 if k == 1 else 0.3)]
    db.load("Rare", [(d,) for d in rare], types=["doc"], target=True)
    return db


def probabilities(db: sqlrl.Database, learned: sqlrl.Model, *predicates: str) -> tuple[list[Any], np.ndarray[Any, Any]]:
    marginals = db.probabilities(learned)
    found = [marginals.probabilities(predicate) for predicate in predicates]
    atoms = [each.drop_columns(["probability"]) for each in found]
    return atoms, np.concatenate([each["probability"].to_numpy() for each in found])


@pytest.fixture(scope="module")
def shared() -> sqlrl.Database:
    """For runs that only read these documents."""
    return topics()


@pytest.mark.slow
@pytest.mark.parametrize(("strength", "suffix"), [(3.0, ".mln"), (1000.0, ".json")])
def test_what_is_left_predicts_the_same(strength: float, suffix: str, tmp_path: Path, shared: sqlrl.Database) -> None:
    db, rules = shared, sqlrl.parse_mln(TOPICS)
    whole = sqlrl.Likelihood(strength=strength).fit(db, rules)
    fit = sqlrl.Likelihood(strength=strength, drop_zeros=True).fit(db, rules)
    assert fit.weights_.tobytes() == whole.weights_.tobytes()
    assert fit.model_.types == whole.model_.types
    assert fit.model_.predicates == whole.model_.predicates
    atoms, each = probabilities(db, whole.model_, "Rare", "Topic")
    left, others = probabilities(db, fit.model_, "Rare", "Topic")
    assert left == atoms
    assert others == pytest.approx(each, abs=1e-12)
    fit.model_.save(tmp_path / f"left{suffix}")
    read = sqlrl.read_model(tmp_path / f"left{suffix}")
    assert sqlrl.models_equal(read, fit.model_)
    assert probabilities(db, read, "Rare", "Topic")[1].tobytes() == others.tobytes()
    # Other documents, one with a word whose clauses are left out: nobody takes it for one that was never seen.
    new = sqlrl.connect(progress=False)
    new.load("Word", [("e1", "w5"), ("e2", "w0")], types=["doc", "word"], example="doc")
    new.load("Long", [("e1",)], types=["doc"], example="doc")
    found = [new.predict(each.model_, roles=sqlrl.Roles(hidden=["Rare", "Topic"])).unseen for each in (whole, fit)]
    assert found[0] == found[1]


@pytest.mark.slow
def test_clauses_of_weight_0_are_nowhere() -> None:
    db, rules = topics(), sqlrl.parse_mln(TOPICS)
    whole = sqlrl.Likelihood(strength=3.0).fit(db, rules)
    fit = sqlrl.Likelihood(strength=3.0, drop_zeros=True).fit(db, rules)
    assert sum(row["weight"] == 0 for row in whole.clauses()) > 5
    kept = [row for row in whole.clauses() if row["weight"] != 0 or row["clause"].startswith("Long(d) => Topic(d, K0")]
    # Of the predicate that only clauses of weight 0 mention the first one stays.
    (first,) = [row for row in whole.clauses() if row["clause"] == 'Word(d, "w1") => Rare(d)']
    assert first["weight"] == 0
    assert sorted(fit.clauses(), key=str) == sorted([*kept, first], key=str)
    listed = "select clause, text, weight, hard, rule from sqlrl.clause where model = {} order by clause"
    before, after = (db.sql(listed.format(each)).fetchall() for each in (1, 2))
    ids = {row["id"] for row in fit.clauses()}
    assert [row[:4] for row in after] == [row[:4] for row in before if row[0] in ids]
    # The places of rules are those in the model that is left.
    places = {text: place for _, text, _, _, place in after}
    assert len(fit.model_.rules) == 1 + max(places.values())
    for text, place in places.items():
        one = fit.model_.with_rules(fit.model_.rules[place : place + 1])
        assert any(line.endswith(text) for line in str(one).splitlines()), text
    counts = "select * exclude (run) from sqlrl.clause_statistics where run = {} order by clause"
    statistics = {row[0]: row for row in db.sql(counts.format(1)).fetchall()}
    assert db.sql(counts.format(2)).fetchall() == [statistics[row[0]] for row in after]


def test_a_predicate_to_predict_keeps_a_clause() -> None:
    db = topics()
    rules = sqlrl.parse_mln(TOPICS.replace("Long(d) => !Topic(d, K2).\n", ""))
    fit = sqlrl.Likelihood(strength=1000.0, drop_zeros=True).fit(db, rules)
    shown = [(row["clause"], row["weight"]) for row in fit.clauses()]
    assert sorted(shown) == [("Long(d) => Topic(d, K0)", 0.0), ('Word(d, "w1") => Rare(d)', 0.0)]
    assert [rule.fixed for rule in fit.model_.rules] == [False, True]
    assert db.sql("select text, rule from sqlrl.clause order by rule").fetchall() == [
        ('Word(d, "w1") => Rare(d)', 0),
        ("Long(d) => Topic(d, K0)", 1),
    ]
    assert len(probabilities(db, fit.model_, "Rare", "Topic")[1]) == 40 + 3 * 40


SILENT = sqlrl.parse_mln(str(model()) + "\nSilent(doc)\nWord(d, w) ^ Silent(d) ^ !Silent(d) => Liked(d)")


@pytest.fixture(scope="module")
def silent() -> sqlrl.Database:
    db = sqlrl.connect(progress=False)
    load(db)
    db.load("Silent", [("d00",)], types=["doc"], example="doc")
    with pytest.warns(sqlrl.errors.GroundingWarning, match="no ground clause"):
        sqlrl.MaxMargin().fit(db, SILENT)
    return db


@pytest.mark.parametrize(
    "learner",
    [
        lambda **given: sqlrl.MaxMargin(strength=3.3333333333333335, penalty="l1", **given),
        lambda **given: sqlrl.PseudoLikelihood("l1", 0.03, discriminative=True, **given),
        lambda **given: sqlrl.PSCG(moments="exact", **given),
        lambda **given: sqlrl.baselines.VotedPerceptron(0.1, 5, average=False, strength=0.0, **given),
    ],
    ids=["max-margin", "pseudo-likelihood", "pscg", "voted-perceptron"],
)
@pytest.mark.filterwarnings("ignore::sqlrl.errors.CalibrationWarning")
def test_every_batch_learner_can(learner: Any, silent: sqlrl.Database) -> None:
    db = silent
    whole = learner().fit(db, SILENT)
    fit = learner(drop_zeros=True).fit(db, SILENT)
    assert 0 in whole.weights_
    assert list(fit.clauses()) == [row for row in whole.clauses() if row["weight"] != 0]
    assert not any("Silent" in row["clause"] for row in fit.clauses())
    assert probabilities(db, fit.model_, "Liked")[1] == pytest.approx(
        probabilities(db, whole.model_, "Liked")[1], abs=1e-12
    )


@pytest.mark.slow
def test_it_is_left_as_it_was_unless_asked() -> None:
    db = sqlrl.connect(progress=False)
    load(db)
    kept = [sqlrl.Likelihood(strength=4.0, drop_zeros=given).fit(db, model()) for given in (None, False)]
    assert kept[0].model_ == kept[1].model_
    assert len(kept[0].clauses()) == 7
    assert len(sqlrl.Likelihood(strength=4.0, drop_zeros=True).fit(db, model()).clauses()) < 7
