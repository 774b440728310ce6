"""Probabilities by weights that rank worlds are told of, once for each model."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import sqlrl
from sqlrl.errors import CalibrationWarning, ParseError
from sqlrl.logic.saving import model_to_json
from sqlrl.training.provenance import RANKING

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
FITTED = [
    # What a learner is decides, which a test here says of all; each is fitted in the slow tier.
    pytest.param(n, marks=[] if n in ("AdaGrad", "MaxMargin", "Likelihood") else [pytest.mark.slow])
    for n in LEARNERS
]


def documents() -> sqlrl.Database:
    db = sqlrl.connect()
    rows = [(f"d{k}", word) for k in range(12) for word in ("good", "bad", "odd")[k % 3 :: 2]]
    db.load("Word", rows, types=["doc", "word"], example="doc")
    db.load("Liked", [(f"d{k}",) for k in range(0, 12, 3)], types=["doc"], target=True)
    return db


def test_learners_whose_weights_rank() -> None:
    assert {name for name, (_, ranks) in LEARNERS.items() if ranks} == set(RANKING) & LEARNERS.keys()


@pytest.mark.parametrize("name", FITTED)
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


def told_by(call: Callable[[], object]) -> list[str]:
    """Return what a call says of calibration."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in caught if issubclass(each.category, CalibrationWarning)]


@pytest.mark.parametrize("name", FITTED)
def test_views_and_files_keep_that_weights_rank_worlds(name: str, tmp_path: Path) -> None:
    make, ranks = LEARNERS[name]
    db = documents()
    fit = make().fit(db, sqlrl.parse_mln(RULES))
    path = tmp_path / "view.sql"
    for call in range(2):
        told = told_by(lambda: db.export(fit.model_, path, format="sql"))
        assert len(told) == (ranks and call == 0)
        assert (f"-- Not calibrated: its weights are those of {name}," in path.read_text(encoding="utf-8")) == ranks
    assert fit.model_.ranked_by == db.models[-1].ranked_by == (name if ranks else "")
    for file in ("m.mln", "m.json"):
        fit.model_.save(tmp_path / file)
        read = sqlrl.read_model(tmp_path / file)
        assert read == fit.model_
        for ask in (sqlrl.Database.probabilities, lambda other, model: other.export(model, format="sql")):
            told = told_by(partial(ask, documents(), read))
            assert [name in text for text in told] == [True] * ranks
    # Files of other weights are as they were.
    said = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert (said["version"], said.get("ranked_by")) == ((5, name) if ranks else (1, None))
    assert ("ranked_by" in (tmp_path / "m.mln").read_text(encoding="utf-8")) == ranks


def test_other_weights_are_not_said_to_rank(tmp_path: Path) -> None:
    db = documents()
    ranked = sqlrl.AdaGrad().fit(db, sqlrl.parse_mln(RULES)).model_
    for learner in (sqlrl.Likelihood("l2"), sqlrl.PSCG(3), sqlrl.PseudoLikelihood()):
        assert learner.fit(db, ranked).model_.ranked_by == ""
    assert ranked.with_rules(ranked.rules[1:]).ranked_by == ""
    assert ranked.without(["Word"]).ranked_by == "AdaGrad"
    assert "ranked_by" not in model_to_json(sqlrl.parse_mln(RULES))


@pytest.mark.parametrize("value", [3, ["AdaGrad"], "a\n-- b", "two words"])
def test_what_no_learner_is_called_is_refused(value: object) -> None:
    with pytest.raises(ParseError, match="the first line says ranked_by"):
        sqlrl.parse_mln(f"// sqlrl {json.dumps({'ranked_by': value})}\nLiked(doc)\n1 Liked(d)")
