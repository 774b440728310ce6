"""`SoftStructure` over a database: planted rules come out, labels stand in no body, runs are kept."""

from __future__ import annotations

import random

import pytest

import sqlrl
from sqlrl.errors import InputError, MissingAtomError, NothingFoundWarning, UnsupportedError


def families(seed=0, size=30):
    """Parents at random; grandparents are those of parents; as many pairs that are none."""
    rng = random.Random(seed)
    people = [f"p{i}" for i in range(size)]
    parents = sorted({(a, b) for b in people for a in rng.sample(people, 2) if a != b})
    friends = sorted({(a, b) for a in people for b in rng.sample(people, 2) if a != b})
    true = sorted({(a, c) for a, b in parents for x, c in parents if x == b and a != c})
    every = [(a, c) for a in people for c in people if a != c and (a, c) not in set(true)]
    false = rng.sample(every, len(true))
    labels = [(*pair, 1.0) for pair in true] + [(*pair, 0.0) for pair in false]
    rng.shuffle(labels)
    return parents, friends, labels


def loaded(labels, parents, friends, observed=()):
    db = sqlrl.connect(progress=False)
    db.load("Parent", parents, types=["person", "person"])
    db.load("Friend", friends, types=["person", "person"])
    if observed:
        db.load("Grandparent", list(observed), types=["person", "person"], given=True)
    db.load("Grandparent", labels, columns=[0, 1], types=["person", "person"], value=2, target=True)
    db.scope("Grandparent", [row[:2] for row in labels])
    return db


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ppll", "gls"])
def test_a_planted_rule_is_the_strongest_of_its_kind(method):
    parents, friends, labels = families()
    half = len(labels) // 2
    db = loaded(labels[:half], parents, friends)
    learner = sqlrl.SoftStructure(method=method, length=2, min_targets=3, strength=0.1).fit(db, "Grandparent")
    up = [row["clause"] for row in learner.clauses() if "!Grandparent" not in row["clause"]]
    assert learner.weights_[0] >= learner.least_prior
    assert up[0] == "Parent(E1, E2) & Parent(E2, E3) -> Grandparent(E1, E3)"
    test = loaded(labels[half:], parents, friends)
    # Paths connect more pairs than those that are asked for.
    scores = test.predict(learner.model_, observed_bodies=True, missing="false").evaluate()
    assert scores.auc_roc > 0.95
    # Without the prior rules that are learned each by itself lift atoms to 1, whatever they weigh, and many atoms tie.
    plain = sqlrl.SoftStructure(method=method, length=2, min_targets=3, strength=0.1, least_prior=0.0).fit(
        db, "Grandparent"
    )
    assert test.predict(plain.model_, observed_bodies=True, missing="false").evaluate().auc_roc <= scores.auc_roc
    run = db.sql("select learner, status, model from sqlrl.run").fetchall()
    assert run[0][:2] == ("SoftStructure", "done")
    assert db.models[run[0][2]] == learner.model_
    assert all(rule.weight > 0 for rule in learner.model_.rules)


@pytest.mark.filterwarnings("ignore:SoftStructure ended after:sqlrl.errors.ConvergenceWarning")
@pytest.mark.slow  # thousands of steps are taken for each rule that is tried
@pytest.mark.parametrize("method", ["ppll", "gls"])
def test_steps_of_the_source_come_near_the_maximum(method):
    parents, friends, labels = families(size=14)
    db = loaded(labels, parents, friends)
    best, walked, short = (
        sqlrl.SoftStructure(method=method, length=2, min_targets=3, steps=steps).fit(db, "Grandparent")
        for steps in (None, 3000, 1)
    )
    assert walked.weights_ == pytest.approx(best.weights_, abs=1e-3)
    assert short.weights_ != pytest.approx(best.weights_, abs=1e-3)


@pytest.mark.slow
def test_labels_stand_in_no_body():
    parents, friends, labels = families(1, 16)
    observed = [row[:2] for row in labels if row[2] == 1.0][:20]
    left = [row for row in labels if row[:2] not in set(observed)]
    db = loaded(left, parents, friends, observed)
    options = {"length": 2, "min_targets": 2, "top": None}
    learner = sqlrl.SoftStructure(**options).fit(db, "Grandparent")
    # Bodies read what is observed alone: other labels leave paths with the target as they are.
    flipped = loaded([(a, b, 1.0 - v) for a, b, v in left], parents, friends, observed)
    other = sqlrl.SoftStructure(**options).fit(flipped, "Grandparent")
    assert {str(c): c.support for c in learner.candidates_} == {str(c): c.support for c in other.candidates_}
    assert any("Grandparent(E1" in str(c).split("->")[0] for c in learner.candidates_)


def test_rules_of_a_model_are_candidates_too():
    parents, friends, labels = families()
    db = loaded(labels, parents, friends)
    rule = "0: Friend(A, B) & Parent(B, C) -> Grandparent(A, C) ^2"
    model = sqlrl.parse_psl(rule, query=["Grandparent"]).with_types(
        {name: ["person", "person"] for name in ("Friend", "Parent", "Grandparent")}
    )
    # The rule, as paths do, connects more pairs than those with labels.
    learner = sqlrl.SoftStructure(length=1, min_targets=3).fit(db, model, missing="false")
    assert len(learner.weights_) == 2 + len(learner.candidates_)
    alone = sqlrl.SoftPiecewiseLikelihood().fit(db, model, missing="false")
    assert learner.weights_[0] == pytest.approx(alone.weights_[0], abs=1e-6)
    with pytest.raises(MissingAtomError, match="Friend") as error:
        sqlrl.SoftStructure(length=1, min_targets=3).fit(db, model)
    assert error.value.rule == 0


def test_the_prior_is_left_out_where_it_is_not_asked_for():
    parents, friends, labels = families()
    db = loaded(labels, parents, friends)
    learner = sqlrl.SoftStructure(length=1, min_targets=3, negative_prior=False).fit(db, "Grandparent")
    assert len(learner.weights_) == len(learner.candidates_)


def test_nothing_found_is_said():
    db = sqlrl.connect(progress=False)
    db.load("Near", [("a", "b")], types=["t", "t"])
    db.load("Like", [("a", "b", 0.0)], columns=[0, 1], types=["t", "t"], value=2, target=True)
    db.scope("Like", [("a", "b")])
    with pytest.warns(NothingFoundWarning, match=r"none of .* got a weight above 0"):
        sqlrl.SoftStructure(length=1, min_targets=1, negations=False, negative_prior=False).fit(db, "Like")


WRONG = [
    ({"length": 0}, "Grandparent", InputError, "length=0"),
    ({"method": "beam"}, "Grandparent", InputError, "method='beam'"),
    ({"min_targets": 10_000}, "Grandparent", InputError, "min_targets=10000"),
    ({}, "Grandparents", InputError, "did you mean 'Grandparent'"),
    ({}, 7, InputError, "neither the name of a predicate"),
    ({}, "Happy", UnsupportedError, "Happy"),
]


@pytest.fixture(scope="module")
def shared():
    """A database that tests share, which only read it."""
    parents, friends, labels = families()
    db = loaded(labels, parents, friends)
    db.load("Happy", [("p1",)], types=["person"], target=True)
    return db


@pytest.mark.parametrize(("options", "target", "kind", "message"), WRONG)
def test_what_cannot_be_learned_is_refused(shared, options, target, kind, message):
    db = shared
    with pytest.raises(kind, match=message):
        sqlrl.SoftStructure(**options).fit(db, target)
    assert db.sql("select count(*) from sqlrl.run where status = 'done'").fetchall() == [(0,)]


def test_soft_facts_are_rounded_for_paths_and_read_as_they_are_by_hinges():
    db = sqlrl.connect(progress=False)
    near = [("a", "b", 0.9), ("c", "d", 0.4), ("e", "f", 0.5)]
    db.load("Near", near, columns=[0, 1], types=["t", "t"], value=2)
    labels = [("a", "b", 1.0), ("c", "d", 1.0), ("e", "f", 1.0)]
    db.load("Like", labels, columns=[0, 1], types=["t", "t"], value=2, target=True)
    db.scope("Like", [row[:2] for row in labels])
    learner = sqlrl.SoftStructure(length=1, min_targets=1, negations=False).fit(db, "Like")
    (clause,) = learner.candidates_
    assert (str(clause), clause.positive) == ("Near(E1, E2) -> Like(E1, E2)", 2)
    rules = [rule for rule in learner.model_.rules if rule.body]
    network_pairs = db.predict(learner.model_.with_rules(rules)).atoms()["value"].to_pylist()
    assert network_pairs == pytest.approx([0.9, 0.4, 0.5], abs=2e-2)
