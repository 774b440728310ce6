"""Learners of soft weights over a database: labels to weights, runs and models that are kept."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

import sqlrl
from sqlrl.errors import ConvergenceWarning, GroundingWarning, InputError, LabelWarning
from sqlrl.logic.psl_files import parse_psl

TEXT = "1: Friends(A, B) & Smokes(A) -> Smokes(B) ^2\n1: !Smokes(A) ^2"
LEARNERS = (
    sqlrl.SoftPseudoLikelihood(strength=0.1),
    sqlrl.SoftPiecewiseLikelihood(strength=0.1),
    sqlrl.SoftMapLikelihood(strength=0.1),
)


def people(labels=(("Bob", 1.0), ("Chris", 0.5))):
    db = sqlrl.connect(progress=False)
    db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")], types=["person", "person"])
    db.load("Smokes", [("Anna",)], types=["person"], given=True)
    db.load("Smokes", list(labels), columns=[0], types=["person"], value=1, target=True)
    return db


def log_likelihood(w, value, hinge):
    z = quad(lambda y: math.exp(-w * hinge(y)), 0, 1, epsabs=1e-13)[0]
    return -w * hinge(value) - math.log(z)


def test_a_weight_maximises_the_integrated_pseudo_likelihood():
    db = people()
    learner = sqlrl.SoftPseudoLikelihood(strength=0.1).fit(db, parse_psl(TEXT.splitlines()[0]))
    # Bob: (1 - b)^2 and (b - 0.5)^2 above 0.5; Chris: (1 - c)^2.
    parts = [(1.0, lambda y: (1 - y) ** 2 + max(0.0, y - 0.5) ** 2), (0.5, lambda y: (1 - y) ** 2)]
    best = minimize_scalar(
        lambda w: 0.05 * w * w - sum(log_likelihood(w, v, h) for v, h in parts),
        bounds=(0, 50),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert learner.weights_[0] == pytest.approx(best.x, abs=1e-4)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda x: type(x).__name__)
def test_runs_and_models_are_kept(learner):
    db, model = people(), parse_psl(TEXT)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        learner.fit(db, model)
    assert learner.model_.rules[0].weight == pytest.approx(learner.weights_[0])
    assert (learner.weights_ >= 0).all()
    assert learner.weights_[0] > learner.weights_[1]
    run = db.sql("select learner, status, model from sqlrl.run").fetchall()[0]
    assert run[:2] == (type(learner).__name__, "done")
    assert db.models[run[2]] == learner.model_
    rows = db.sql("select text, weight from sqlrl.clause order by clause").fetchall()
    assert rows == [(f"{r.formula} ^2", pytest.approx(w)) for r, w in zip(model.rules, learner.weights_, strict=True)]
    assert learner.clauses()["support"] == [2, 2]
    found = db.predict(learner.model_).evaluate()
    assert found.seen is not None
    assert found.seen.run == learner.run_


def test_labels_that_hard_rules_exclude_are_left_out_and_counted():
    db = people()
    model = parse_psl(TEXT + "\nSmokes('Bob') <= 0.5 .")
    with pytest.warns(LabelWarning, match="1 atom of 2 with a label was not learned from"):
        sqlrl.SoftPseudoLikelihood().fit(db, model)


def test_rules_without_hinges_are_named_and_stay_at_nothing():
    db = people()
    with pytest.warns(GroundingWarning, match=r"1 rule has no ground rule.*'Zoe'"):
        learner = sqlrl.SoftPseudoLikelihood().fit(db, parse_psl(TEXT + "\n3: Friends(A, 'Zoe') -> Smokes(A)"))
    assert learner.weights_[2] == 0.0


def test_a_search_that_ends_early_says_so():
    with pytest.warns(ConvergenceWarning, match="ended after 1 iteration"):
        sqlrl.SoftPseudoLikelihood(max_iterations=1, tolerance=1e-12, strength=1e-6).fit(people(), parse_psl(TEXT))


WRONG = [
    (lambda: (people(), sqlrl.parse_mln("P(t)\n1 P(x)"), {}), "sqlrl.read_psl"),
    (lambda: (people(), parse_psl("Smokes(A) <= 1 ."), {}), "no rules with a weight"),
    (lambda: (people(), parse_psl(TEXT), {"start": 2}), "start=2"),
    (lambda: (people(), parse_psl(TEXT + "\n1: Friends(A, B) & Smokes(B) -> Smokes(A)"), {"limit": -1}), "limit=-1"),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_what_cannot_be_learned_is_refused(make, message):
    db, model, options = make()
    with pytest.raises(InputError, match=message):
        sqlrl.SoftPseudoLikelihood().fit(db, model, **options)
    assert db.sql("select count(*) from sqlrl.run where status = 'done'").fetchall() == [(0,)]


def test_starts_at_the_weights_of_the_model():
    db, model = people(), parse_psl(TEXT)
    cold = sqlrl.SoftPseudoLikelihood(strength=0.1).fit(db, model)
    warm = sqlrl.SoftPseudoLikelihood(strength=0.1).fit(db, cold.model_, start=True)
    assert warm.weights_ == pytest.approx(cold.weights_, abs=1e-5)
    assert warm.iterations_.num_rows <= cold.iterations_.num_rows
    assert np.isfinite(warm.result_.objective)
