"""Scores of probabilities against scikit-learn, and against all pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from sqlrl.errors import InputError
from sqlrl.evaluate import auc_roc, score_probabilities

labelled = st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.500001, 0.9, 1.0])), max_size=40)


@given(labelled)
def test_the_area_is_the_share_of_pairs_in_order(rows: list[tuple[bool, float]]) -> None:
    pairs = [(a, b) for t, a in rows if t for u, b in rows if not u]
    found = auc_roc([t for t, _ in rows], [p for _, p in rows])
    if not pairs:
        assert math.isnan(found)
        return
    assert found == pytest.approx(
        sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs) / len(pairs), abs=1e-15
    )


def test_scores_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(500) < 0.3
    chance = np.round(np.clip(0.35 * truth + 0.6 * rng.random(500), 0.01, 0.99), 2)
    found = score_probabilities(truth, chance)
    assert found.auc_roc == pytest.approx(metrics.roc_auc_score(truth, chance), abs=1e-12)
    assert found.mean_log_likelihood == pytest.approx(-metrics.log_loss(truth, chance), abs=1e-12)
    assert found.accuracy == metrics.accuracy_score(truth, chance > 0.5)
    assert (found.atoms, found.true) == (500, int(truth.sum()))
    assert score_probabilities(truth, chance, threshold=0.2).accuracy == metrics.accuracy_score(truth, chance > 0.2)


def test_edges() -> None:
    none = score_probabilities([], [])
    assert all(math.isnan(x) for x in (none.accuracy, none.auc_roc, none.mean_log_likelihood))
    assert score_probabilities([True, False], [1.0, 0.0]).log_likelihood == 0.0
    assert score_probabilities([True, False], [0.0, 0.0]).log_likelihood == -math.inf
    assert auc_roc([True, False, False], [math.inf, -math.inf, 3]) == 1.0
    assert str(none) == "no atoms to score"
    assert "AUC-ROC undefined where labels are of one kind" in str(score_probabilities([False, False], [0.5, 0.2]))
    assert "1 atom, 1 true" in str(score_probabilities([True], [0.5]))
    with pytest.raises(InputError, match=r"1 probability of 2 outside 0 to 1, the first 1.5 at position 1"):
        score_probabilities([True, False], [0.5, 1.5])
    with pytest.raises(InputError, match="lists of one length"):
        auc_roc([True], [0.5, 0.1])
    with pytest.raises(InputError, match="booleans, not int64"):
        auc_roc([1, 0], [0.5, 0.1])
    with pytest.raises(InputError, match="1 score of 1 NaN, the first at position 0"):
        auc_roc([True], [math.nan])
