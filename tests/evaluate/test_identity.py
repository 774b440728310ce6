"""Baselines that know identities alone, against scikit-learn and counting by hand."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from sqlrl.evaluate.identity import NEITHER, TEST, TRAIN, bradley_terry, identity_baselines


@pytest.mark.parametrize(("seed", "strength"), [(0, 0.1), (1, 1.0)])
def test_bradley_and_terry_are_a_logistic_regression_on_differences(seed: int, strength: float) -> None:
    random = np.random.default_rng(seed)
    first, second = random.integers(0, 7, (2, 200))
    skill = random.normal(size=7)
    truth = random.random(200) < 1 / (1 + np.exp(-(skill[first] - skill[second] - 0.5)))
    features = np.zeros((200, 7))
    np.add.at(features, (np.arange(200), first), 1)
    np.add.at(features, (np.arange(200), second), -1)
    oracle = LogisticRegression(C=1 / strength, tol=1e-10, max_iter=10_000).fit(features, truth)
    fitted = bradley_terry(first, second, truth, strength=strength)
    found = fitted(first, second)
    # What cannot be told apart from the intercept is found by either; log-odds agree.
    assert found == pytest.approx(oracle.decision_function(features), abs=2e-3)
    assert fitted(np.array([0, 99]), np.array([99, 0])).tolist() == pytest.approx(
        [fitted.intercept + fitted.score[0], fitted.intercept - fitted.score[0]]
    )


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans(), st.integers(0, 3)), min_size=1, max_size=30
    ),
    st.lists(st.lists(st.sampled_from([TRAIN, TEST, NEITHER]), min_size=4, max_size=4), min_size=1, max_size=3),
)
def test_majorities_are_those_of_counting(rows: list[tuple[int, int, bool, int]], sides: list[list[int]]) -> None:
    first, second, truth, part = (np.array(x) for x in zip(*rows, strict=True))
    found = identity_baselines(truth, part, {0: first, 1: second}, [(0, 1)], np.array(sides, dtype=np.int8))
    right, majority, tested, areas = {0: 0, 1: 0}, 0, 0, {0: [], 1: []}
    for row in sides:
        train = [x for x in rows if row[x[3]] == TRAIN]
        test = [x for x in rows if row[x[3]] == TEST]
        if not train or not test:
            continue
        more = 2 * sum(x[2] for x in train) > len(train)
        tested += len(test)
        majority += sum(x[2] == more for x in test)
        share = sum(x[2] for x in train) / len(train)
        for place in (0, 1):
            scores = []
            for x in test:
                mine = [y[2] for y in train if y[place] == x[place]]
                votes = sum(1 if y else -1 for y in mine)
                right[place] += x[2] == (more if votes == 0 else votes > 0)
                scores.append((sum(mine) + share) / (len(mine) + 1))
            if len({x[2] for x in test}) == 2:
                areas[place].append(roc_auc_score([x[2] for x in test], scores))  # type: ignore[attr-defined]
    if not tested:
        assert found == []
        return
    for baseline in found[:2]:
        (place,) = baseline.places
        assert (baseline.atoms, baseline.majority) == (tested, majority / tested)
        assert baseline.accuracy == right[place] / tested
        expected = np.mean(areas[place]) if areas[place] else np.nan
        assert baseline.auc == pytest.approx(expected, nan_ok=True)
    assert found[2].places == (0, 1)


def test_what_a_fold_neither_trains_nor_tests_on_does_not_count() -> None:
    truth, part = np.array([True, False, True]), np.array([0, 1, 2])
    sides = np.array([[TRAIN, TEST, NEITHER]], dtype=np.int8)
    found = identity_baselines(truth, part, {0: np.array([0, 0, 0])}, [], sides)
    assert [(x.atoms, x.majority, x.accuracy) for x in found] == [(1, 0.0, 0.0)]
    assert np.isnan(found[0].auc)


def test_an_order_is_learned_from_half_of_its_pairs() -> None:
    """Every pair with its reverse as the opposite, as of drugs that are compared: the score of 12 items says all that is to be said."""
    random = np.random.default_rng(0)
    pairs = np.array([(i, j) for i in range(12) for j in range(12) if i != j])
    truth, part = pairs[:, 0] < pairs[:, 1], random.integers(0, 4, len(pairs))
    sides = np.where(np.eye(4, dtype=bool), TEST, TRAIN).astype(np.int8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = identity_baselines(truth, part, {0: pairs[:, 0], 1: pairs[:, 1]}, [(0, 1)], sides)
    assert found[2].accuracy > 0.93
    assert found[2].auc > 0.99
    assert found[0].accuracy < found[2].accuracy
    one = identity_baselines(np.ones(len(pairs), bool), part, {0: pairs[:, 0], 1: pairs[:, 1]}, [(0, 1)], sides)
    assert [x.accuracy for x in one] == [1.0, 1.0, 1.0]
