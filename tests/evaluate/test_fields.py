"""F1 of whole fields, against sets of positions in Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.errors import InputError
from sqlrl.evaluate import Counts, score_fields

CELLS = st.lists(st.tuples(st.integers(0, 3), st.integers(5, 7), st.booleans(), st.booleans()), max_size=40)


def by_sets(cells: list[tuple[int, int, bool, bool]]) -> Counts:
    """Each field of each example as the set of its positions."""
    right = wrong = missed = neither = 0
    for key in {(example, field) for example, field, _, _ in cells}:
        mine = [cell for cell in cells if cell[:2] == key]
        labelled = {i for i, cell in enumerate(mine) if cell[2]}
        guessed = {i for i, cell in enumerate(mine) if cell[3]}
        right += bool(labelled) and labelled == guessed
        missed += bool(labelled) and labelled != guessed
        wrong += bool(guessed) and labelled != guessed
        neither += not labelled and not guessed
    return Counts(right, wrong, missed, neither)


@given(CELLS)
def test_counts_are_those_of_sets(cells: list[tuple[int, int, bool, bool]]) -> None:
    columns = list(zip(*cells, strict=True)) or [(), (), (), ()]
    example, field, truth, predicted = (np.array(c) for c in columns)
    assert score_fields(truth, predicted, example, field) == by_sets(cells)


def test_one_wrong_token_spoils_both_fields() -> None:
    """A title token taken for the author: neither field is right; the venue is."""
    truth = np.array([[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]], bool)
    predicted = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 1]], bool)
    field = np.repeat(np.arange(3), 6)
    counts = score_fields(truth.ravel(), predicted.ravel(), np.zeros(18, int), field)
    assert (counts.true_positives, counts.false_positives, counts.false_negatives) == (1, 2, 2)
    assert counts.f1 == pytest.approx(1 / 3)


def test_a_field_in_two_pieces_is_one_field() -> None:
    counts = score_fields([True, False, True], [True, False, True], [1, 1, 1], [0, 0, 0])
    assert counts == Counts(1, 0, 0, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([True], [True, False], [1], [1]), "one length"),
        (([1], [True], [1], [1]), "`truth` must be an array of booleans"),
        (([True], [True], ["a"], [1]), "`example` must be an array of integers"),
        (([[True]], [[True]], [[1]], [[1]]), "one-dimensional"),
    ],
)
def test_bad_arrays_are_refused(arguments: tuple[list[object], ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        score_fields(*arguments)
