"""Scores of probabilities against scikit-learn, and against all pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import calibration as sk_calibration
from sklearn import metrics

from sqlrl.errors import InputError
from sqlrl.evaluate import Seen, auc_roc, average_precision, calibration, score_probabilities

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
    assert found.average_precision == pytest.approx(metrics.average_precision_score(truth, chance), abs=1e-12)
    assert found.brier == pytest.approx(metrics.brier_score_loss(truth, chance), abs=1e-12)
    assert (found.atoms, found.true) == (500, int(truth.sum()))
    assert score_probabilities(truth, chance, threshold=0.2).accuracy == metrics.accuracy_score(truth, chance > 0.2)


@given(labelled)
def test_average_precision_is_that_of_its_definition(rows: list[tuple[bool, float]]) -> None:
    # For each true atom the precision among all atoms that score as high as it.
    each = []
    for t, p in rows:
        if t:
            as_high = [u for u, q in rows if q >= p]
            each.append(sum(as_high) / len(as_high))
    found = average_precision([t for t, _ in rows], [p for _, p in rows])
    if not each:
        assert math.isnan(found)
        return
    assert found == pytest.approx(sum(each) / len(each), abs=1e-12)


@given(labelled, st.integers(1, 7))
def test_calibration_is_that_of_its_definition(rows: list[tuple[bool, float]], bins: int) -> None:
    error, listed = 0.0, []
    for k in range(bins):
        mine = [(t, p) for t, p in rows if k / bins < p <= (k + 1) / bins or (k == 0 and p == 0)]
        listed.append((len(mine), sum(t for t, _ in mine)))
        if mine:
            share, mean = sum(t for t, _ in mine) / len(mine), sum(p for _, p in mine) / len(mine)
            error += len(mine) / len(rows) * abs(share - mean)
    found = calibration([t for t, _ in rows], [p for _, p in rows], bins=bins)
    table = found.table().to_pylist()
    assert [(row["atoms"], row["true"]) for row in table] == listed
    assert [row["share"] is None for row in table] == [n == 0 for n, _ in listed]
    if rows:
        assert found.error == pytest.approx(error, abs=1e-12)
    else:
        assert math.isnan(found.error)


def test_bins_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    chance = rng.random(700)
    truth = rng.random(700) < chance**2
    found = calibration(truth, chance, bins=8)
    share, mean = sk_calibration.calibration_curve(truth, chance, n_bins=8)
    assert found.share == pytest.approx(share, abs=1e-12)
    assert found.probability == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize(
    ("truth", "chance", "impossible", "rest", "said"),
    [
        ([True, False], [1.0, 0.0], 0, 0.0, "log-likelihood 0.000 per atom"),
        ([True, True, False], [0.0, 0.5, 0.5], 1, 2 * math.log(0.5), "-inf (1 label has probability 0; -0.693 per"),
        ([True, False, False], [0.0, 1.0, 0.75], 2, math.log(0.25), "-inf (2 labels have probability 0; -1.386 per"),
        ([False], [1.0], 1, 0.0, "-inf (1 label has probability 0),"),
        ([True], [5e-324], 0, math.log(5e-324), "log-likelihood -744.440 per atom"),
    ],
)
def test_probabilities_0_and_1_are_not_clipped(
    truth: list[bool], chance: list[float], impossible: int, rest: float, said: str
) -> None:
    found = score_probabilities(truth, chance)
    assert (found.impossible, found.possible_log_likelihood) == (impossible, pytest.approx(rest))
    assert found.log_likelihood == (-math.inf if impossible else pytest.approx(rest))
    assert said in str(found)


def test_each_predicate_is_scored_by_itself() -> None:
    truth, chance = [True, False, True, False, True], [0.9, 0.2, 0.3, 0.4, 0.8]
    found = score_probabilities(truth, chance, predicate=[1, 1, 0, 0, 0], names=["Smokes", "Cancer"], outside=2)
    assert list(found.predicates) == ["Cancer", "Smokes"]
    alone = score_probabilities(truth[:2], chance[:2])
    assert str(found.predicates["Cancer"]) == str(alone)
    table = found.table()
    assert table["predicate"].to_pylist() == ["Cancer", "Smokes", "(all)"]
    assert table["auc_roc"].to_pylist() == [1.0, 0.5, pytest.approx(auc_roc(truth, chance))]
    assert table["atoms"].to_pylist() == [2, 3, 5]
    assert str(found).endswith("; 2 labels lie outside the scope, without a probability")
    assert found._repr_html_().count("<tr>") == 4
    one = score_probabilities([True], [0.5], predicate=[0], names=["P"], seen=Seen(4, 1, 1))
    assert one.table()["auc_roc"].to_pylist() == [None]
    assert str(one).endswith("; note: run 4 learned the model from the atom evaluated here")


def test_edges() -> None:
    none = score_probabilities([], [])
    assert all(math.isnan(x) for x in (none.accuracy, none.auc_roc, none.mean_log_likelihood))
    assert score_probabilities([True, False], [1.0, 0.0]).log_likelihood == 0.0
    assert score_probabilities([True, False], [0.0, 0.0]).log_likelihood == -math.inf
    assert auc_roc([True, False, False], [math.inf, -math.inf, 3]) == 1.0
    assert str(none) == "no atoms to score"
    assert "AUC-ROC undefined where labels are of one kind" in str(score_probabilities([False, False], [0.5, 0.2]))
    assert "1 atom, 1 true" in str(score_probabilities([True], [0.5]))
    for bins in (0, -1, 2.5, True, "ten"):
        with pytest.raises(InputError, match="must be a whole number of bins, 1 or more"):
            calibration([True], [0.5], bins=bins)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"1 probability of 2 outside 0 to 1, the first 1.5 at position 1"):
        score_probabilities([True, False], [0.5, 1.5])
    with pytest.raises(InputError, match="lists of one length"):
        auc_roc([True], [0.5, 0.1])
    with pytest.raises(InputError, match="booleans, not int64"):
        auc_roc([1, 0], [0.5, 0.1])
    with pytest.raises(InputError, match="1 score of 1 NaN, the first at position 0"):
        auc_roc([True], [math.nan])
