"""Weights that a model fixes (`@1.5 P(x)`): inference has them, and every learner learns the others around them."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import sqlrl
from sqlrl.errors import InputError, UnsupportedError

TYPES = "Item(doc, item)\nShape(doc, item, shape)\nRed(doc, item)\n"
LEARNED = "Shape(d, i, +s) => Red(d, i)\nRed(d, i)\n"
ODDS = math.log(3.0)

# Of learners whose steps are compiled, those that read the fixed part of a margin in other ways.
LEARNERS: dict[str, Any] = {
    "AdaGrad": sqlrl.AdaGrad(passes=2),
    "CDA": sqlrl.CDA(0.01),
    "MIRA": sqlrl.baselines.MIRA(),
    "ContrastiveDivergence": sqlrl.baselines.ContrastiveDivergence(sweeps=2),
    "Likelihood": sqlrl.Likelihood("l2", 0.5),
    "MaxMargin": sqlrl.MaxMargin(),
    "VotedPerceptron": sqlrl.baselines.VotedPerceptron(max_iterations=3),
    "PSCG": sqlrl.PSCG(3),
    "PseudoLikelihood": sqlrl.PseudoLikelihood("l2", 0.5, averaged=False, discriminative=True),
}


def rows() -> tuple[list[tuple[str, str, str]], list[tuple[str, str]]]:
    """Items of three shapes, and which of them are red."""
    rng = random.Random(5)
    shapes = [(f"D{d}", f"I{d}{k}", f"S{rng.randrange(3)}") for d in range(12) for k in range(3)]
    return shapes, [(d, i) for d, i, s in shapes if rng.random() < {"S0": 0.7, "S1": 0.2, "S2": 0.5}[s]]


def database(*, soft: bool) -> sqlrl.Database:
    """Those items; with soft evidence of .75 that those of shape S0 are red, if asked."""
    db = sqlrl.connect(progress=False)
    shapes, red = rows()
    db.load("Item", [row[:2] for row in shapes], types=["doc", "item"], example="doc")
    db.load("Shape", shapes, types=["doc", "item", "shape"], example="doc")
    db.load("Red", red, types=["doc", "item"], target=True)
    if soft:
        likely = [(d, i, 0.75) for d, i, s in shapes if s == "S0"]
        db.load("Red", likely, types=["doc", "item"], probability=2)
    return db


@pytest.fixture(scope="module")
def hard_facts() -> sqlrl.Database:
    return database(soft=False)


@pytest.fixture(scope="module")
def soft_facts() -> sqlrl.Database:
    return database(soft=True)


@pytest.mark.filterwarnings("ignore::sqlrl.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in ("CDA", "PSCG") else name for name in LEARNERS]
)
def test_what_is_learned_around_a_fixed_weight_is_what_is_learned_with_that_soft_evidence(
    name: str, hard_facts: sqlrl.Database, soft_facts: sqlrl.Database
) -> None:
    learner = LEARNERS[name]
    fixed = f"@{ODDS!r} Shape(d, i, S0) => Red(d, i)\n"
    around = learner.fit(hard_facts, sqlrl.parse_mln(TYPES + fixed + LEARNED))
    weights = {row["clause"]: row["weight"] for row in around.clauses().to_pylist()}
    assert sorted(w for w in around.weights_ if w == ODDS) == [ODDS]
    assert around.model_.rules[0] == sqlrl.parse_mln(TYPES + fixed).rules[0]
    other = type(learner)(**learner.get_params()).fit(soft_facts, sqlrl.parse_mln(TYPES + LEARNED))
    expected = {row["clause"]: row["weight"] for row in other.clauses().to_pylist()}
    text = "Shape(d, i, S0) => Red(d, i)"
    # With a template there are two clauses of this text, the fixed one and the learned one; a table has them as two rows.
    assert len(around.clauses()) == len(other.clauses()) + 1
    (same,) = [row for row in around.clauses().to_pylist() if row["clause"] == text and row["weight"] != ODDS]
    assert same["weight"] == pytest.approx(expected[text], rel=1e-6, abs=1e-9)
    for clause in expected.keys() - {text}:
        assert weights[clause] == pytest.approx(expected[clause], rel=1e-6, abs=1e-9), clause


def test_the_most_likely_weight_beside_a_fixed_one(hard_facts: sqlrl.Database) -> None:
    """The expected number of red items is the observed one, less the penalty's part: solved by bisection, for both signs."""
    for odds, shown in ((1.25, "1.25"), (-0.5, "-0.5")):
        model = sqlrl.parse_mln(f"{TYPES}@{shown} Shape(d, i, S1) => Red(d, i)\nRed(d, i)")
        fit = sqlrl.Likelihood("l2", 1.0).fit(hard_facts, model)
        shapes, reds = rows()
        some, every, red = sum(s == "S1" for *_, s in shapes), len(shapes), len(reds)

        def slope(b: float, *, odds: float = odds, some: int = some, every: int = every, red: int = red) -> float:
            return red - some / (1 + math.exp(-odds - b)) - (every - some) / (1 + math.exp(-b)) - b

        assert fit.weights_.tolist() == pytest.approx([odds, brentq(slope, -9, 9)], abs=1e-6)


def test_inference_has_a_fixed_weight_like_any_other(hard_facts: sqlrl.Database) -> None:
    rules = "0.7 Shape(d, i, S0) => Red(d, i)\n{}-0.4 Red(d, i) ^ Red(d, j) ^ i != j\n"
    fixed, plain = (sqlrl.parse_mln(TYPES + rules.format(mark)) for mark in ("@", ""))
    found = [hard_facts.probabilities(model, method="exact").table("Red") for model in (fixed, plain)]
    assert found[0].to_arrow().equals(found[1].to_arrow())


def test_a_fixed_weight_that_joins_query_atoms_is_refused_by_learners(hard_facts: sqlrl.Database) -> None:
    model = sqlrl.parse_mln(TYPES + "@-0.4 Red(d, i) ^ Red(d, j) ^ i != j\nRed(d, i)")
    for learner in (sqlrl.AdaGrad(), sqlrl.PSCG(2)):
        with pytest.raises(UnsupportedError, match=r"Red\(d, i\) \^ Red\(d, j\) .* is fixed \('@'\).* remove the '@'"):
            learner.fit(hard_facts, model)


def test_where_all_weights_are_fixed_there_is_nothing_to_learn(hard_facts: sqlrl.Database) -> None:
    model = sqlrl.parse_mln(TYPES + "@1 Red(d, i)")
    with pytest.raises(InputError, match="no rules with a weight to learn"):
        sqlrl.Likelihood().fit(hard_facts, model)
    fit = sqlrl.AdaGrad().fit(hard_facts, model)
    assert np.array_equal(fit.weights_, [1.0])
