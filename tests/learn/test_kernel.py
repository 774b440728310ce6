"""The compiled step: what it is made of."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.learn.kernel import sort


@given(values=st.lists(st.integers(-5, 30), max_size=60), data=st.data())
def test_the_first_values_are_sorted_in_place(values: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, len(values)))
    found = np.array(values, dtype=np.int64)
    sort(found, count)
    assert found.tolist() == sorted(values[:count]) + values[count:]
