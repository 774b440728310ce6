"""Probabilities by weights that rank worlds are told of, once for each model."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import sqlrl
from sqlrl.database.calibration import RANKING
from sqlrl.errors import CalibrationWarning

RULES = "Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)\nLiked(d)"
LEARNERS: dict[str, tuple[Callable[[], Any], bool]] = {
    "AdaGrad": (sqlrl.AdaGrad, True),
    "CDA": (sqlrl.CDA, True),
    "MIRA": (sqlrl.baselines.MIRA, True),
    "Subgradient": (sqlrl.baselines.Subgradient, True),
    "Perceptron": (sqlrl.baselines.Perceptron, True),
    "VotedPerceptron": (sqlrl.baselines.VotedPerceptron, True),
    "MaxMargin": (sqlrl.MaxMargin, True),
    "Likelihood": (lambda: sqlrl.Likelihood("l2"), False),
    "PSCG": (lambda: sqlrl.PSCG(3), False),
    "PseudoLikelihood": (sqlrl.PseudoLikelihood, False),
    "ContrastiveDivergence": (sqlrl.baselines.ContrastiveDivergence, False),
}


def documents() -> sqlrl.Database:
    db = sqlrl.connect()
    rows = [(f"d{k}", word) for k in range(12) for word in ("good", "bad", "odd")[k % 3 :: 2]]
    db.load("Word", rows, types=["doc", "word"], example="doc")
    db.load("Liked", [(f"d{k}",) for k in range(0, 12, 3)], types=["doc"], target=True)
    return db


def test_learners_whose_weights_rank() -> None:
    assert {name for name, (_, ranks) in LEARNERS.items() if ranks} == set(RANKING) & LEARNERS.keys()


@pytest.mark.parametrize(
    "name",
    # What a learner is, which all say above, decides; each is fitted once in the slow tier.
    [
        pytest.param(n, marks=[] if n in ("AdaGrad", "MaxMargin", "Likelihood") else [pytest.mark.slow])
        for n in LEARNERS
    ],
)
def test_probabilities_of_ranking_weights_are_told_of_once(name: str) -> None:
    make, ranks = LEARNERS[name]
    db = documents()
    fit = make().fit(db, sqlrl.parse_mln(RULES))
    for call in range(3):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            db.probabilities(fit.model_, examples=["d0", "d1"] if call else None)
        told = [str(each.message) for each in caught if issubclass(each.category, CalibrationWarning)]
        assert len(told) == (ranks and call == 0)
        assert all(f"those of {name} (run {fit.run_})" in text and "Likelihood" in text for text in told)
    # Weights that somebody wrote are whatever he says they are.
    with warnings.catch_warnings():
        warnings.simplefilter("error", CalibrationWarning)
        db.probabilities(sqlrl.parse_mln('Word(doc, word)\nLiked(doc)\n2 Word(d, "good") => Liked(d)'))


def test_weights_that_are_learned_again_by_likelihood_are_log_odds() -> None:
    db = documents()
    first = sqlrl.AdaGrad().fit(db, sqlrl.parse_mln(RULES))
    again = sqlrl.Likelihood("l2").fit(db, sqlrl.parse_mln(RULES), start=first.model_)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CalibrationWarning)
        db.probabilities(again.model_)
