"""Arrow arrays of a few values are those of pyarrow."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.arrow import array


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]))))
def test_texts(values: list[str | None]) -> None:
    assert array(values, pa.string()).equals(pa.array(values, pa.string()))


@given(st.lists(st.none() | st.booleans()))
def test_truth_values(values: list[bool | None]) -> None:
    assert array(values, pa.bool_()).equals(pa.array(values, pa.bool_()))


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)), st.lists(st.none() | st.floats(allow_nan=False)))
def test_numbers(whole: list[int | None], floats: list[float | None]) -> None:
    assert array(whole, pa.int64()).equals(pa.array(whole, pa.int64()))
    assert array(floats, pa.float64()).equals(pa.array(floats, pa.float64()))


def test_many_values_and_half_characters() -> None:
    many = [str(i) for i in range(20_000)]
    assert array(many, pa.string()).equals(pa.array(many))
    for size in (1, 20_000):
        with pytest.raises(UnicodeEncodeError):
            array(["\ud800"] * size, pa.string())


@pytest.mark.slow
def test_a_small_load_and_its_table_do_without_pandas() -> None:
    code = "import sys, sqlrl; db = sqlrl.connect(); db.load('P', [('a', 0.5)], types=['p'], value=1); str(db); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
