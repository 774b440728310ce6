"""The names of numbers: equal numbers have one, different numbers have different ones."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqlrl
from sqlrl.catalog.dictionary import numeric_name
from sqlrl.engine.nodes import column

CONNECTION = duckdb.connect()


def names(values: Sequence[str | float], kind: str = "VARCHAR") -> list[str | None]:
    """Return the names of numbers, given as texts or in a column of another type."""
    name = numeric_name(column("text")).sql("duckdb")
    rows = f"SELECT generate_subscripts($1, 1) AS place, unnest($1::{kind}[])::VARCHAR AS text"
    found = CONNECTION.execute(f"SELECT {name} FROM ({rows}) ORDER BY place", [list(values)]).fetchall()
    return [row[0] for row in found]


signs = st.sampled_from(["", "+", "-"])
digits = st.text("0123456789", min_size=1, max_size=45)
few = st.text("019", max_size=4)  # so that equal numbers are met
integers = st.builds(str, st.integers(-(10**38) + 1, 10**38 - 1))
plain = st.builds("{}{}.{}".format, signs, digits, st.one_of(few, digits))
small = st.builds("{}0{}.{}".format, signs, few, few)
exponents = st.integers(-400, 400)
scientific = st.builds("{}{}{}".format, st.one_of(small, plain, integers), st.sampled_from("eE"), exponents)
near = st.builds("{}e{:+d}".format, small, st.integers(-6, 6))
floats = st.builds(repr, st.floats(allow_nan=False, allow_infinity=False))
numbers = st.one_of(integers, plain, small, scientific, near, floats)


@given(st.lists(numbers, min_size=1, max_size=60))
def test_names_are_equal_as_the_numbers_are(texts: list[str]) -> None:
    values = [Fraction(text) for text in texts]
    named = names(texts)
    assert [Fraction(name or "") for name in named] == values
    assert len(set(named)) == len(set(values))
    assert names([name or "" for name in named]) == named
    pairs = zip(named, values, strict=True)
    assert all(name == str(value) for name, value in pairs if value.denominator == 1 and abs(value) < 10**39)


@given(st.integers(), st.integers(0, 12), st.integers(-50, 50))
def test_a_number_has_one_name_however_it_is_written(mantissa: int, zeros: int, power: int) -> None:
    sign, written, more = "-" if mantissa < 0 else "", str(abs(mantissa)), "0" * zeros
    texts = [
        f"{mantissa}e{power}",
        f"{sign}{more}{written}.{more}E{power:+d}",
        f"{sign}.{more}{written}e{power + zeros + len(written)}",
        f" {sign}{written}{more}e{power - zeros} ",
    ]
    assert len(set(names(texts))) == 1


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=60))
def test_columns_of_floats(values: list[float]) -> None:
    found = names(values, "DOUBLE")
    assert [float(name or "") for name in found] == values
    pairs = zip(found, values, strict=True)
    assert all(name == repr(value) for name, value in pairs if not value.is_integer())


WRITTEN: list[tuple[str, str | None]] = [
    *[("1", "1"), ("01", "1"), ("1.0", "1"), ("+1.50", "1.5"), ("-2", "-2"), ("-0.0", "0"), (".5", "0.5"), ("5.", "5")],
    *[("1e3", "1000"), ("0.0001", "0.0001"), ("0.00001", "1e-05"), ("1e-05", "1e-05"), ("-1.5E-7", "-1.5e-07")],
    *[("1_000", "1000"), (" 1\n", "1"), ("1e15", "1" + "0" * 15), ("1e+22", "1" + "0" * 22), ("1e300", "1e+300")],
    *[("1e39", "1e+39"), ("9" * 40, f"9.{'9' * 39}e+39"), ("1e400", "1e+400"), ("1e-400", "1e-400"), ("0e999", "0")],
    *[("inf", "inf"), ("-Infinity", "-inf"), ("nan", None), ("x", None), ("", None), ("1e", None), ("1e99999999999", None)],
]  # fmt: skip


def test_names() -> None:
    texts, expected = zip(*WRITTEN, strict=True)
    assert names(texts) == list(expected)


@pytest.mark.slow
def test_columns_of_several_types_have_one_constant() -> None:
    with sqlrl.connect() as db:
        db.load(numeric=["n"])
        for i, kind in enumerate(["bigint", "decimal(20, 2)", "double", "varchar"]):
            db.sql(f"create table t{i} as select 1234567890123456::{kind} as id")
            db.load(f"P{i}", f"t{i}", types=["n"])
        assert db.sql("from sqlrl.dictionary_n").fetchall() == [(0, "1234567890123456")]
        db.load("Q", [("1234567890123456.01",), ("1234567890123456.11",), ("7" * 40,)], types=["n"])
        assert db.advanced.catalog.predicates()["Q"].rows == 3
