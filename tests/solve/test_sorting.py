"""Sorting in compiled code."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.solve.sorting import sort


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@given(values=st.lists(st.integers(-5, 30), max_size=60), data=st.data())
def test_the_first_values_are_sorted_in_place(values: list[int], data: st.DataObject, dtype: type) -> None:
    count = data.draw(st.integers(0, len(values)))
    found = np.array(values, dtype=dtype)
    sort(found, count)
    assert found.tolist() == sorted(values[:count]) + values[count:]


def test_many_values_are_sorted() -> None:
    values = np.random.default_rng(0).integers(0, 100, 1000)
    found = values.copy()
    sort(found, len(found))
    assert found.tolist() == sorted(values.tolist())
