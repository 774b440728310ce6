"""Whole numbers are one constant, whatever the type of their column; texts stay as they are."""

from __future__ import annotations

import functools
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqlrl

FLOATS = [1.0, 2.0, 2.5, -3.0, -0.0, 1e16, 2.0**53 - 1]
NAMES = ["1", "2", "2.5", "-3", "0", "1e+16", "9007199254740991"]


@functools.cache
def database() -> sqlrl.Database:
    """One database for all that `names` loads, each in place of what was there."""
    return sqlrl.connect()


def names(source: Any, **options: Any) -> set[str]:
    """Return the constants that a source gives."""
    database().load("P", source, types=["n"], **options)
    return {row[0] for row in database().sql("from sqlrl.named_P").fetchall()}


@pytest.mark.parametrize(
    "source",
    [
        pd.DataFrame({"a": FLOATS}),
        pl.DataFrame({"a": FLOATS}),
        pa.table({"a": FLOATS}),
        [(value,) for value in FLOATS],
        np.array(FLOATS),
        [("1",), *((np.float64(value),) for value in FLOATS[1:])],
        f"select unnest({FLOATS}::double[])",
    ],
)
def test_whole_floats_are_integers(source: Any) -> None:
    assert names(source) == set(NAMES)


def test_whole_decimals_are_integers() -> None:
    assert names("select unnest([2.00, 2.50, -7, 0]::decimal(20, 2)[])") == {"2", "2.5", "-7", "0"}
    assert names([(Decimal("2.00"),), (Decimal("2.50"),), ("x",)]) == {"2", "2.5", "x"}
    assert names(f"select {'9' * 34}.0000::decimal(38, 4)") == {"9" * 34}


def test_floats_that_several_integers_share_keep_their_names() -> None:
    assert names("select unnest([16777215, 123456789]::float[])") == {"16777215", "123456790.0"}
    assert names([("x",), (np.float32(16777215),), (np.float32(123456789),)]) == {"x", "16777215", "123456790.0"}
    assert names("select 9007199254740993::double") == {"9007199254740992.0"}


@given(st.lists(st.integers(-(2**53) + 1, 2**53 - 1), min_size=1, unique=True))
def test_integers_survive_floats(values: list[int]) -> None:
    with sqlrl.connect() as db:
        db.load("P", pa.table({"a": values}), types=["n"])
        db.load("Q", pa.table({"a": pa.array(values, pa.float64())}), types=["n"])
        assert db.sql("select count(*) from sqlrl.dictionary_n").fetchall() == [(len(values),)]


def test_an_integer_column_that_had_a_missing_value_joins() -> None:
    edges = pd.DataFrame({"a": [1, 2, 3, 4], "b": [2, 3, None, 1]}).dropna()
    with sqlrl.connect() as db:
        db.load("P", [(1,), (2,), (3,), (4,)], types=["p"])
        db.load("E", edges, types=["p", "p"])
        db.load("T", [(1,), (2,)], types=["p"], target=True)
        model = sqlrl.parse_mln("P(p)\nE(p, p)\nT(p)\n1 E(a, 2) => T(a)\n1 P(a) ^ E(a, b) => T(b)")
        assert sorted(db.sql("from sqlrl.named_E").fetchall()) == [("1", "2"), ("2", "3"), ("4", "1")]
        assert db.predict(model).table()["p"] == ["1", "2", "3"]
        # What names constants takes floats, too.
        db.scope("T", pd.DataFrame({"p": [1.0, 3.0]}))
        with pytest.warns(sqlrl.errors.ScopeWarning):
            assert db.predict(model).table()["p"] == ["1", "3"]


def test_texts_stay_and_are_said(tmp_path: Any) -> None:
    (tmp_path / "e.csv").write_text("a\n2.0\n10000012.0\n")
    with sqlrl.connect() as db:
        db.load("P", tmp_path / "e.csv", types=["n"])
        assert set(db.sql("from sqlrl.named_P").fetchall()) == {("2.0",), ("10000012.0",)}
    with sqlrl.connect() as db:
        db.load("P", [(2,), (3,)], types=["n"])
        with pytest.warns(sqlrl.errors.LoadWarning, match=r"'2' and '2\.0' are two constants of the type n.*numeric="):
            db.load("Q", tmp_path / "e.csv", types=["n"])
        with warnings.catch_warnings(action="error"):
            db.load("R", [(4,)], types=["n"])  # said once
    with sqlrl.connect() as db:
        db.load("Q", tmp_path / "e.csv", types=["n"])
        with pytest.warns(sqlrl.errors.LoadWarning, match="two constants"):
            db.load("P", [(2,), (3,)], types=["n"])


def test_texts_with_points_are_meant() -> None:
    with sqlrl.connect() as db, warnings.catch_warnings(action="error"):
        for kind, others in zip(
            "abcde", (["2.0", "2.1"], ["2.0", "p."], ["2.0", "v2.0"], ["02.0"], ["x.0", "x"]), strict=True
        ):
            db.load("P", ["2", "3", *others], types=[4 * kind])


def test_numbers_have_one_constant_without_a_warning() -> None:
    with sqlrl.connect() as db, warnings.catch_warnings(action="error"):
        db.load(numeric=["n"])
        db.load("P", [("2",)], types=["n"])
        db.load("Q", [("2.0",)], types=["n"])
        assert db.sql("select name from sqlrl.dictionary_n").fetchall() == [("2",)]
