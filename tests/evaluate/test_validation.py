"""Splits: every example is held out once, order is kept, seeds decide."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.errors import InputError
from sqlrl.evaluate import Fold, k_fold, leave_one_group_out, mean_and_deviation


def check_partition(examples: list[int], folds: list[Fold[int]]) -> None:
    assert sorted(e for fold in folds for e in fold.test) == sorted(examples)
    rank = {e: k for k, e in enumerate(examples)}
    for fold in folds:
        assert sorted(fold.train + fold.test) == sorted(examples)
        assert list(fold.train) == sorted(fold.train, key=rank.__getitem__)
        assert list(fold.test) == sorted(fold.test, key=rank.__getitem__)


@given(st.lists(st.integers(), unique=True, min_size=2, max_size=40), st.integers(2, 10), st.integers(0, 5))
def test_k_fold_partitions_evenly(examples: list[int], count: int, seed: int) -> None:
    count = min(count, len(examples))
    folds = k_fold(examples, count, random_state=seed)
    check_partition(examples, folds)
    sizes = [len(fold.test) for fold in folds]
    assert max(sizes) - min(sizes) <= 1
    assert folds == k_fold(examples, count, random_state=seed)


def test_k_fold_depends_on_the_seed() -> None:
    assert k_fold(range(50), 5, random_state=1) != k_fold(range(50), 5, random_state=2)


@given(st.dictionaries(st.integers(), st.sampled_from("abcd"), min_size=2, max_size=40))
def test_groups_stay_together(group: dict[int, str]) -> None:
    examples = list(group)
    if len(set(group.values())) < 2:
        with pytest.raises(InputError, match="two groups"):
            leave_one_group_out(examples, list(group.values()))
        return
    folds = leave_one_group_out(examples, list(group.values()))
    check_partition(examples, folds)
    assert [fold.name for fold in folds] == list(dict.fromkeys(group.values()))
    for fold in folds:
        assert {group[e] for e in fold.test} == {fold.name}
        assert fold.name not in {group[e] for e in fold.train}


def test_bad_splits_are_refused() -> None:
    with pytest.raises(InputError, match="occurs twice"):
        k_fold(["a", "b", "a"], 2)
    with pytest.raises(InputError, match="between 2 and"):
        k_fold(["a", "b"], 3)
    with pytest.raises(InputError, match="3 examples but 1 groups"):
        leave_one_group_out([1, 2, 3], ["a"])


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20))
def test_mean_and_deviation(values: list[float]) -> None:
    found = mean_and_deviation(values)
    assert found.mean == pytest.approx(sum(values) / len(values), abs=1e-6)
    assert found.deviation == pytest.approx(statistics.stdev(values))


def test_mean_of_one_and_of_none() -> None:
    assert mean_and_deviation([3.0]) == (3.0, 0.0)
    with pytest.raises(InputError, match="no values"):
        mean_and_deviation([])
