"""Scores of clauses by hand, and m by maximum likelihood against another maximisation of another formula."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import betabinom

from sqlrl.errors import InputError
from sqlrl.structure.ilp.scores import Evaluation, Scorer, likelihood_m
from sqlrl.structure.ilp.settings import ILPParameters, resolved


@pytest.mark.parametrize(
    ("evaluation", "m", "expected"),
    [
        ("coverage", None, 8 - 2),
        ("compression", None, 8 - 2 - 4 + 1),
        ("accuracy", None, 0.8),
        ("laplace", None, 9 / 12),
        ("mestimate", 5.0, (8 + 5 * 0.25) / 15),
        ("mestimate", 0.0, 0.8),
        ("mestimate", None, (8 + math.sqrt(10) * 0.25) / (10 + math.sqrt(10))),
        ("auto_m", None, (8 + math.sqrt(10) * 0.25) / (10 + math.sqrt(10))),
    ],
)
def test_scores_by_hand(evaluation: Evaluation, m: float | None, expected: float) -> None:
    scorer = Scorer(evaluation, 0.25, m)
    assert scorer([8], [2], 4)[0] == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("evaluation", ["coverage", "compression", "accuracy", "laplace", "mestimate", "auto_m"])
def test_no_refinement_beats_its_hope(evaluation: Evaluation) -> None:
    for prior in (0.05, 0.5, 0.95):
        scorer = Scorer(evaluation, prior, 3.0 if evaluation == "mestimate" else None)
        p, n = (x.ravel() for x in np.meshgrid(np.arange(0, 30), np.arange(0, 30)))
        scores = scorer(p, n, 3)
        for most in (1, 5, 29):
            assert scores[p <= most].max() <= scorer.best([most], 3)[0] + 1e-12


@pytest.mark.parametrize(
    ("evaluation", "m", "start"),
    [
        ("accuracy", None, -math.inf),
        ("mestimate", 0.0, -math.inf),
        ("mestimate", 1.0, 1.25 / 2),
        ("laplace", None, 2 / 3),
        ("coverage", None, 1),
    ],
)
def test_a_clause_can_exceed_the_score_of_a_seed(evaluation: Evaluation, m: float | None, start: float) -> None:
    scorer = Scorer(evaluation, 0.25, m)
    assert scorer.seed() == start < scorer([1000], [0], 3)[0]


def test_a_clause_that_covers_nothing_is_the_worst() -> None:
    assert Scorer("laplace", 0.5)([0, 0], [0, 100], 2).tolist()[0] == -math.inf


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("m", [0.3, 4.0, 60.0])
def test_likely_m_against_a_grid_of_another_formula(seed: int, m: float) -> None:
    draw, prior = np.random.default_rng(seed), 0.4
    size = draw.integers(1, 60, 80)
    p = draw.binomial(size, draw.beta(m * prior, m * (1 - prior), 80))
    grid = np.exp(np.linspace(-4, 9, 4001))
    likelihood = [betabinom.logpmf(p, size, x * prior, x * (1 - prior)).sum() for x in grid]
    best = grid[int(np.argmax(likelihood))]
    assert likelihood_m(p, size - p, prior) == pytest.approx(best, rel=4e-3)
    assert 0.3 < best / m < 3.5


def test_likely_m_has_limits() -> None:
    pure, alike = (
        likelihood_m(np.array([3, 0]), np.array([0, 4]), 0.5),
        likelihood_m(np.full(9, 50), np.full(9, 50), 0.5),
    )
    assert pure < 1e-4
    assert alike > 1e5


def test_what_is_given_comes_before_the_bias_and_the_bias_before_defaults() -> None:
    settings = {"i": 6, "clauselength": 6, "nodes": 30000, "minpos": 2, "evalfn": "auto_m", "minscore": 0.6, "m": 3}
    found = resolved({"nodes": 77, "depth": None, "min_score": None}, settings)
    assert (found.depth, found.clause_length, found.nodes, found.min_score, found.noise) == (6, 6, 77, 0.6, 300)
    assert found.m is None
    assert resolved({"evaluation": "mestimate"}, settings).m == 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"command": "cover"}, "command='cover': choose 'induce'"),
        ({"clause_length": 0}, "clause_length=0"),
        ({"evaluation": "entropy"}, "evaluation='entropy'"),
        ({"m": 2.0}, "goes with evaluation='mestimate'"),
        ({"evaluation": "mestimate", "m": -1.0}, "m=-1.0"),
        ({"min_accuracy": 1.5}, "above 1"),
        ({"keep_above": math.nan}, "keep_above=nan"),
        ({"nodes": True}, "nodes=True"),
        ({"distinct": "cover"}, "distinct='cover'"),
        ({"explore": 1}, "explore=1"),
        ({"seed": -1}, "random_state=-1"),
    ],
)
def test_bad_parameters_are_named(given: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        ILPParameters(**given)  # type: ignore[arg-type]
