"""Samples of false atoms: what they count as on average, and how often a mean over one is beyond its bound."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import sqlrl
from sqlrl.learn.pseudo.sample import LARGEST, mean_error, sample_rows
from tests.learn.pseudo.town import MODEL, town


def partition(sizes: list[int], true: list[int]) -> Any:
    truth = np.isin(np.arange(len(sizes)), true)
    return SimpleNamespace(truth=truth, count=np.array(sizes, dtype=np.int64))


@pytest.mark.parametrize("sizes", [[50, 7, 900, 43, 5], [LARGEST // 2, 7, LARGEST * 3, LARGEST // 5, 5]])
@pytest.mark.parametrize("most", [10, 300])
def test_rows_count_as_their_share_of_a_sample(sizes: list[int], most: int) -> None:
    every = partition(sizes, [1, 4])
    false = ~every.truth
    total = int(every.count[false].sum())
    found = []
    for seed in range(400):
        weights, drawn = sample_rows(every, most, np.random.default_rng(seed))
        assert drawn == most
        assert weights[~false].tolist() == every.count[~false].tolist()
        assert weights.sum() == pytest.approx(every.count.sum())
        found.append(weights[false] * most / total)
    tallies = np.round(np.array(found))
    assert np.allclose(tallies, found)
    # Each row by itself is hypergeometric.
    for size, own in zip(every.count[false], tallies.T, strict=True):
        law = stats.hypergeom(total, size, most)
        assert own.mean() == pytest.approx(law.mean(), abs=4.5 * law.std() / 20 + 1e-9)
        if law.std() > 0.5:
            assert own.std() == pytest.approx(law.std(), rel=0.15)


def test_a_sample_of_nearly_all_leaves_out_few() -> None:
    every = partition([LARGEST // 1000, LARGEST * 2], [])
    total = int(every.count.sum())
    weights, drawn = sample_rows(every, total - 50, np.random.default_rng(0))
    left = every.count - weights * (total - 50) / total
    assert drawn == total - 50
    assert left.sum() == pytest.approx(50, abs=1e-3)
    assert left.min() > -1e-3


def test_small_predicates_count_whole() -> None:
    every = partition([3, 2, 9], [2])
    weights, drawn = sample_rows(every, 5, np.random.default_rng(0))
    assert (weights.tolist(), drawn) == ([3, 2, 9], 5)


def test_means_are_within_the_bound_as_often_as_it_says() -> None:
    values = np.array([0.0, -0.4, -2.5, -3.0])
    sizes = np.array([400, 500, 80, 20])
    mean = float(values @ sizes) / sizes.sum()
    for most in (20, 200, 900):
        error = mean_error(3.0, most, int(sizes.sum()))
        beyond = 0
        for seed in range(500):
            weights, _ = sample_rows(partition(sizes.tolist(), []), most, np.random.default_rng(seed))
            beyond += abs(float(values @ weights) / sizes.sum() - mean) > error
        assert beyond <= 25
        # Without replacement it is sharper than the bound by Hoeffding.
        assert error < 3.0 * np.sqrt(np.log(2 / 0.05) / (2 * most))
    assert mean_error(3.0, 900, 1000) < 0.4 * 3.0 * np.sqrt(np.log(2 / 0.05) / (2 * 900))


def test_an_estimator_looks_at_a_sample() -> None:
    db, _ = town(24)
    whole = sqlrl.PseudoLikelihood(strength=0.01).fit(db, MODEL)
    same = sqlrl.PseudoLikelihood(strength=0.01, sample=10_000).fit(db, MODEL)
    assert same.weights_.tobytes() == whole.weights_.tobytes()
    assert same.predicates_["error"] == whole.predicates_["error"] == [0.0, 0.0]
    some = [sqlrl.PseudoLikelihood(strength=0.01, sample=300, random_state=seed).fit(db, MODEL) for seed in (1, 1, 2)]
    assert some[0].weights_.tobytes() == some[1].weights_.tobytes() != some[2].weights_.tobytes()
    for fit in (some[0], some[2]):
        rows = {row["predicate"]: row for row in fit.predicates_.to_pylist()}
        exact = {row["predicate"]: row for row in whole.predicates_.to_pylist()}
        assert (rows["Friends"]["sampled"], rows["Smokes"]["sampled"]) == (300, exact["Smokes"]["sampled"])
        assert rows["Smokes"]["error"] == 0.0
        assert rows["Friends"]["error"] > 0
        assert abs(rows["Friends"]["log_likelihood"] - exact["Friends"]["log_likelihood"]) < rows["Friends"]["error"]
        assert fit.weights_ == pytest.approx(whole.weights_, abs=0.5)
    assert db.sql(f"select seed from sqlrl.run where run = {some[2].run_}").fetchall() == [(2,)]
