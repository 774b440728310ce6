"""Integer scaling: exact where it can be, a millionth where not, refused beyond 64 bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.errors import NumericError
from sqlrl.solve.solvers import LARGEST_TOTAL, RELATIVE_ERROR, scale_to_integers


@given(values=st.lists(st.floats(-100, 100).filter(lambda x: x == 0 or abs(x) > 1e-4), max_size=20))
def test_every_coefficient_keeps_a_millionth(values: list[float]) -> None:
    given_values = np.array(values, dtype=np.float64)
    scaled = scale_to_integers(given_values)
    error = np.abs(scaled.coefficients / scaled.scale - given_values)
    assert np.all(error <= RELATIVE_ERROR * np.abs(given_values))
    assert error.sum() <= scaled.lost + 1e-15 * np.abs(given_values).sum()
    assert np.abs(scaled.coefficients).sum() <= LARGEST_TOTAL
    assert np.log2(scaled.scale) % 1 == 0


@given(values=st.lists(st.integers(-1000, 1000), min_size=1, max_size=20))
def test_dyadic_weights_lose_nothing(values: list[int]) -> None:
    scaled = scale_to_integers(np.array(values) / 8)
    assert scaled.lost == 0.0
    assert scaled.scale <= 8


def test_far_apart_weights_are_refused_by_name() -> None:
    with pytest.raises(NumericError, match=r"1e-12 \(tiny\) and 1e\+12 \(huge\)"):
        scale_to_integers(np.array([1e12, 0.0, 1e-12]), lambda i: ["huge", "", "tiny"][i])


@pytest.mark.parametrize("values", [[5e-324], [5e-324, 1.0], [1e308, 1e308], [1e-300]])
def test_the_ends_of_the_float_range_are_refused(values: list[float]) -> None:
    with pytest.raises(NumericError, match="cannot hold"):
        scale_to_integers(np.array(values))
