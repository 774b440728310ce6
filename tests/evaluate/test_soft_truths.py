"""Scores of soft truth values against their definitions, pair by pair."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.errors import InputError
from sqlrl.evaluate import score_values

VALUES = st.lists(st.tuples(*[st.sampled_from([0.0, 0.2, 0.5, 0.7, 1.0])] * 2), min_size=1, max_size=12)


@given(VALUES, st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_scores_follow_their_definitions(pairs, threshold):
    label, value = zip(*pairs, strict=True)
    scores = score_values(label, value, threshold=threshold)
    true = [x >= threshold for x in label]
    claimed = [x >= threshold for x in value]
    hits = sum(a and b for a, b in zip(true, claimed, strict=True))
    assert scores.mean_absolute_error == pytest.approx(sum(abs(a - b) for a, b in pairs) / len(pairs))
    assert scores.mean_squared_error == pytest.approx(sum((a - b) ** 2 for a, b in pairs) / len(pairs))
    # The best of all constants: some label is one, and none on a fine grid is better.
    errors = {c: sum(abs(x - c) for x in label) / len(label) for c in (*label, *np.linspace(0, 1, 101))}
    assert scores.constant_error == pytest.approx(min(errors.values()))
    assert scores.constant_error == pytest.approx(min(errors[c] for c in label))
    ranks = [
        (value[i] > value[j]) + 0.5 * (value[i] == value[j])
        for i, j in itertools.product(range(len(pairs)), repeat=2)
        if true[i] and not true[j]
    ]
    assert scores.auc_roc == pytest.approx(sum(ranks) / len(ranks)) if ranks else math.isnan(scores.auc_roc)
    precision = hits / sum(claimed) if any(claimed) else math.nan
    recall = hits / sum(true) if any(true) else math.nan
    assert scores.precision == pytest.approx(precision, nan_ok=True)
    assert scores.recall == pytest.approx(recall, nan_ok=True)
    if hits:
        assert scores.f1 == pytest.approx(2 * precision * recall / (precision + recall))
    else:
        assert math.isnan(scores.f1) or scores.f1 == 0.0


def test_predicates_and_examples_are_scored_apart():
    label, value = np.array([1.0, 0.0, 1.0, 0.0]), np.array([0.9, 0.1, 0.2, 0.8])
    scores = score_values(
        label, value, predicate=[0, 0, 1, 1], names=["Q", "P"], example=[0, 0, 1, 1], examples=["x", "y"]
    )
    assert list(scores.predicates) == ["P", "Q"]
    assert [s.auc_roc for s in scores.predicates.values()] == [0.0, 1.0]
    assert scores.table()["predicate"] == ["P", "Q", "(all)"]
    assert scores.by_example().auc.tolist() == [1.0, 0.0]
    # Each with the constant that is best for it.
    apart = score_values([1.0, 0.8, 0.0, 0.0], [0.5] * 4, predicate=[0, 0, 1, 1], names=["P", "Q"])
    found = [s.constant_error for s in (apart.predicates["P"], apart.predicates["Q"], apart)]
    assert found == pytest.approx([0.1, 0.0, 0.45])
    assert "MAE 0.450 (the best constant has 0.450), MSE" in str(apart)


def test_labels_of_one_kind_leave_areas_undefined():
    scores = score_values([1.0, 1.0], [0.3, 0.9])
    assert math.isnan(scores.auc_roc)
    assert "undefined where labels are of one kind" in str(scores)
    assert scores.table()["auc_roc"] == [None]
    nothing = score_values([], [])
    assert str(nothing) == "no atoms to score"
    assert math.isnan(nothing.constant_error)


@pytest.mark.parametrize(
    ("truth", "value", "options", "message"),
    [
        ([1.0], [1.5], {}, r"value has .*1.5.* at 0"),
        ([math.nan], [1.0], {}, "truth has"),
        ([1.0, 0.0], [1.0], {}, "truth has 2 numbers and value 1"),
        (["a"], [1.0], {}, "truth is no array of numbers"),
        ([[1.0]], [1.0], {}, "shape"),
        ([1.0], [1.0], {"threshold": 2}, "threshold=2"),
        ([1.0], [1.0], {"threshold": True}, "threshold=True"),
    ],
)
def test_wrong_arrays_are_refused(truth, value, options, message):
    with pytest.raises(InputError, match=message):
        score_values(truth, value, **options)


def test_scores_without_examples_rank_nothing():
    with pytest.raises(InputError, match="without their examples"):
        score_values([1.0, 0.0], [0.5, 0.5]).by_example()
