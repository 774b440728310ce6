"""Metrics against a naive count."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.errors import InputError
from sqlrl.evaluate import Counts, score

atoms = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(-3, 5), st.integers(0, 2)), max_size=60)
NAMES = ("Smokes", "Cancer", "Friends")


def naive(rows: list[tuple[bool, bool]]) -> Counts:
    cases = {(True, True): 0, (False, True): 0, (True, False): 0, (False, False): 0}
    for row in rows:
        cases[row] += 1
    return Counts(cases[True, True], cases[False, True], cases[True, False], cases[False, False])


@given(atoms)
def test_counts_match_a_naive_count(rows: list[tuple[bool, bool, int, int]]) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
    scores = score(*columns[:3], predicate=columns[3], names=NAMES)
    assert scores.total == naive([(t, p) for t, p, _, _ in rows])
    assert list(scores.predicates) == sorted(NAMES)
    for k, name in enumerate(NAMES):
        assert scores.predicates[name] == naive([(t, p) for t, p, _, kind in rows if kind == k])
    examples = sorted({example for _, _, example, _ in rows})
    each = scores.examples
    assert each.example.tolist() == examples
    exact = 0
    for k, example in enumerate(examples):
        expected = naive([(t, p) for t, p, own, _ in rows if own == example])
        found = Counts(int(each.true_positives[k]), int(each.false_positives[k]), int(each.false_negatives[k]))
        assert (found.true_positives, found.errors) == (expected.true_positives, expected.errors)
        assert each.f1[k] == expected.f1
        assert each.exact[k] == (expected.errors == 0)
        exact += expected.errors == 0
    if examples:
        assert scores.example_accuracy == exact / len(examples)
    else:
        assert math.isnan(scores.example_accuracy)


@given(atoms)
def test_f1_is_the_harmonic_mean(rows: list[tuple[bool, bool, int, int]]) -> None:
    counts = naive([(t, p) for t, p, _, _ in rows])
    if counts.precision + counts.recall:
        mean = 2 * counts.precision * counts.recall / (counts.precision + counts.recall)
        assert counts.f1 == pytest.approx(mean)
    else:
        assert counts.f1 == 0


def test_a_wrong_field_is_one_false_positive_and_one_false_negative() -> None:
    # Position 1: label author, predicted title. Position 2: no label, predicted title. Position 3: right.
    truth = [True, False, False, False, True, False]
    predicted = [False, True, False, True, True, False]
    counts = score(truth, predicted, [1] * 6).total
    assert counts == Counts(true_positives=1, false_positives=2, false_negatives=1, true_negatives=2)


@pytest.mark.parametrize(
    ("counts", "precision", "recall", "f1"),
    [(Counts(0, 0, 0, 5), 1, 1, 1), (Counts(0, 0, 4), 0, 0, 0), (Counts(0, 3, 0), 0, 0, 0), (Counts(2, 0, 0), 1, 1, 1)],
)
def test_empty_denominators(counts: Counts, precision: float, recall: float, f1: float) -> None:
    assert (counts.precision, counts.recall, counts.f1) == (precision, recall, f1)


def test_tables() -> None:
    scores = score([True, False, True], [True, True, True], [4, 4, 2], predicate=[0, 0, 1], names=("B", "A"))
    table = scores.table().to_pylist()
    assert [row["predicate"] for row in table] == ["A", "B", "(all)"]
    assert table[2]["true_positives"] == 2
    assert table[1]["precision"] == 0.5
    assert scores.example_table().to_pylist()[0] == {
        "example": 2, "f1": 1.0, "true_positives": 1, "false_positives": 0, "false_negatives": 0, "exact": True,
    }  # fmt: skip
    assert score([True], [True], [0], names=("InField",)).table()["predicate"].to_pylist() == ["InField"]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([True], [True, False], [1]), {}, "one length"),
        (([1], [True], [1]), {}, "`truth` must be a one-dimensional array of booleans"),
        (([True], [True], [1.5]), {}, "`example` must be a one-dimensional array of integers"),
        (([True], [True], [1]), {"predicate": [2], "names": ("A", "B")}, "there are 2 names"),
        (([True], [True], [1]), {"names": ("A", "B")}, "need the array"),
        ((np.ones((2, 2), bool), [True], [1]), {}, r"of shape \(2, 2\)"),
    ],
)
def test_bad_arrays_are_refused(arguments: tuple[object, ...], options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        score(*arguments, **options)  # type: ignore[arg-type]
