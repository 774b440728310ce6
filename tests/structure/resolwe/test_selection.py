"""Which formulations are kept, against counts by hand, scipy's intervals and its likelihood ratio."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sqlrl.structure.resolwe.selection import Criteria, Default, formulations, likelihood_ratio, wilson

ANY = Criteria(threshold=0.0, min_support=0, confidence=0.5)


@given(st.integers(1, 500), st.data(), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_bounds_are_those_of_a_two_sided_interval_of_half_the_doubt(
    support: int, data: st.DataObject, confidence: float
) -> None:
    matched = data.draw(st.integers(0, support))
    low, high = wilson(np.array([matched]), np.array([support]), confidence)
    expected = stats.binomtest(matched, support).proportion_ci(2 * confidence - 1, method="wilson")
    assert low[0] == pytest.approx(expected.low, abs=1e-12)
    assert high[0] == pytest.approx(expected.high, abs=1e-12)


@given(st.lists(st.integers(0, 200), min_size=2, max_size=8), st.data())
def test_the_likelihood_ratio_is_scipys(observed: list[int], data: st.DataObject) -> None:
    more = data.draw(st.lists(st.integers(0, 300), min_size=len(observed), max_size=len(observed)))
    default = [a + b for a, b in zip(observed, more, strict=True)]
    if not sum(observed) or sum(x > 0 for x in default) < 2:
        return
    some = [i for i, x in enumerate(default) if x]
    expected = np.array([default[i] for i in some]) / sum(default) * sum(observed)
    found = stats.power_divergence([observed[i] for i in some], expected, lambda_="log-likelihood")
    g2, p = likelihood_ratio(np.array(observed), np.array(default))
    assert g2 == pytest.approx(found.statistic, abs=1e-9)
    assert p == pytest.approx(found.pvalue, abs=1e-9)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_probabilities_are_shares_of_worlds(size: int) -> None:
    random = np.random.default_rng(size)
    worlds = random.integers(0, 2, (60, size))
    n = np.zeros((1, 8), dtype=np.int64)
    for world in worlds:
        n[0, sum(int(bit) << i for i, bit in enumerate(world))] += 1
    found = formulations(n, [[True] * size], ANY)
    expected = [(-1, len(worlds), int(worlds.all(axis=1).sum()))]
    if size > 1:
        for i in range(size):
            others = np.delete(worlds, i, axis=1).all(axis=1)
            expected.append((i, int(others.sum()), int((worlds.all(axis=1)).sum())))
    assert list(zip(found.literal.tolist(), found.support.tolist(), found.matched.tolist(), strict=True)) == expected


@pytest.mark.parametrize("positive", [True, False])
def test_a_single_literal_is_taken_as_it_is_written(positive: bool) -> None:
    found = formulations(np.array([[30, 10]]), [[positive]], ANY)
    assert found.probability.tolist() == [0.25 if positive else 0.75]


def test_the_first_criterion_that_is_missed_is_the_reason() -> None:
    n = np.array([[0, 3], [60, 40], [1, 99], [5, 95]])
    found = formulations(n, [[True]] * 4, Criteria(top=1))
    assert found.reason == ["support 3 < 10", "bound of the probability 0.323 < 0.5", "", "beyond the top 1"]
    assert found.in_model.tolist() == [False, False, True, False]


def test_without_a_bound_the_probability_itself_must_reach_the_threshold() -> None:
    found = formulations(np.array([[9, 11], [11, 9]]), [[True]] * 2, Criteria(confidence=0.5))
    assert found.bound.tolist() == found.probability.tolist() == [0.55, 0.45]
    assert found.reason == ["", "probability 0.45 < 0.5"]


def test_what_nothing_selects_is_not_kept() -> None:
    found = formulations(np.zeros((1, 4), np.int64), [[True, True]], Criteria(min_support=0))
    assert not found.in_model.any()
    assert np.isnan(found.bound).all()


def test_with_an_estimated_default_low_probabilities_are_kept_where_they_differ() -> None:
    defaults = np.array([[500, 500]] * 4)
    n = np.array([[95, 5], [5, 95], [52, 48], [60, 40]])
    criteria = Criteria(default="estimated", threshold=0.8)
    found = formulations(n, [[True]] * 4, criteria, defaults)
    assert found.in_model.tolist() == [True, True, False, False]
    assert found.reason[2].startswith("no different from the default, p = 0.6")
    assert found.reason[3].startswith("no different from the default") or found.reason[3].startswith("bound of")
    sparse = formulations(n, [[True]] * 4, Criteria(threshold=0.8))
    assert sparse.in_model.tolist() == [False, True, False, False]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=8), st.integers(0, 4))
def test_the_top_are_the_best_of_those_that_meet_the_rest(counts: list[tuple[int, int]], top: int) -> None:
    n, signs = np.array(counts, dtype=np.int64), [[True]] * len(counts)
    every, best = formulations(n, signs, Criteria()), formulations(n, signs, Criteria(top=top))
    assert best.in_model.sum() == min(top, every.in_model.sum())
    worst = best.bound[best.in_model].min(initial=np.inf)
    assert all(b <= worst for b, k in zip(every.bound[every.in_model & ~best.in_model], product([True]), strict=False))


@given(
    st.lists(st.lists(st.integers(0, 60), min_size=4, max_size=4), min_size=1, max_size=6),
    st.sampled_from([0.5, 0.55, 0.7, 0.9]),
    st.sampled_from([None, 0.5, 0.6, 0.8, 1.0]),
    st.sampled_from(["sparse", "estimated"]),
    st.sampled_from([None, 0, 40, 120]),
)
def test_implications_have_a_threshold_of_their_own(
    n: list[list[int]], threshold: float, implied: float | None, default: Default, joint: int | None
) -> None:
    criteria = Criteria(threshold, 5, 0.5, None, default, 1.0, implied, joint)
    enough = 5 if joint is None else joint
    found = formulations(np.array(n), [[True, True]] * len(n), criteria, np.array([[1, 1, 1, 1]] * len(n)))
    for i, (none, first, second, both) in enumerate(n):
        total = none + first + second + both
        # The first literal is implied by the second, and so on.
        for j, (of, least) in enumerate([(total, threshold), (second + both, implied), (first + both, implied)]):
            limit = threshold if least is None else least
            share = both / of if of else math.nan
            kept = (
                of >= enough
                and of
                and (share >= limit or (default == "estimated" and share < 0.5 and share <= 1 - limit))
            )
            # No selected grounding deviates from the default where all patterns are equally frequent.
            different = default == "sparse" or len({none, first, second, both}) > 1
            assert found.in_model[3 * i + j] == bool(kept and different)
            assert bool(found.reason[3 * i + j]) != found.in_model[3 * i + j]
            if default == "sparse" and of >= max(enough, 1) and share < limit:
                assert found.reason[3 * i + j].endswith(f"< {limit:.3g}")


def test_a_joint_support_is_not_asked_of_single_literals() -> None:
    criteria = Criteria(0.0, 20, 0.5, joint_support=50)
    found = formulations(
        np.array([[20, 10, 0, 0], [1, 9, 10, 20], [15, 15, 15, 15]]), [[True], [True] * 2, [False, True]], criteria
    )
    assert found.in_model.tolist() == [True, False, False, False, True, False, False]
    assert found.reason[1:4] == ["support 40 < 50", "support 30 < 50", "support 29 < 50"]
