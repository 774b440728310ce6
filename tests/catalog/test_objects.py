"""Objects of Python as sources: rows of every kind yield the same facts, and what is no value is refused."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.errors import LoadError

PAIRS = [("Anna", "Bob"), ("Bob", "Chris")]
FRAME = pd.DataFrame(PAIRS, columns=["a", "b"])


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(connect(":memory:", threads=1))


@pytest.fixture(scope="module")
def shared() -> Catalog:
    """A catalog for loads that fail, or that replace what others loaded."""
    return Catalog(connect(":memory:", threads=1))


def loaded(catalog: Catalog, source: Any, **options: Any) -> list[tuple[Any, ...]]:
    """Load a source and return its facts."""
    catalog.load("P", source, **options)
    view = catalog.predicates()["P"].readable
    return sorted(catalog.engine.connection.execute(f'from sqlrl."{view}"').fetchall())


_opened: list[sqlite3.Connection] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close what `cursor` opens: Python 3.13 warns of connections that are left open."""
    yield
    while _opened:
        _opened.pop().close()


def cursor(factory: Any) -> sqlite3.Cursor:
    connection = sqlite3.connect(":memory:")
    _opened.append(connection)
    connection.row_factory = factory
    return connection.execute("select 'Anna' as a, 'Bob' as b union all select 'Bob', 'Chris'")


class Frame(pd.DataFrame):
    """A frame of another module, as geopandas has them."""


Pair = namedtuple("Pair", "a b")
ROWS: list[Callable[[], Any]] = [
    lambda: np.array(PAIRS),
    lambda: np.array(PAIRS, dtype=object),
    lambda: np.array(PAIRS, dtype=[("a", "U9"), ("b", "U9")]),
    lambda: [np.array(pair) for pair in PAIRS],
    lambda: cursor(None),
    lambda: cursor(sqlite3.Row),
    lambda: [dict(zip("ab", pair, strict=True)) for pair in PAIRS],
    lambda: [{"a": "Anna", "b": "Bob"}, OrderedDict(b="Chris", a="Bob")],
    lambda: [Pair(*pair) for pair in PAIRS],
    lambda: FRAME.itertuples(index=False),
    lambda: (row for _, row in FRAME.iterrows()),
    lambda: zip(*(pa.array(side) for side in zip(*PAIRS, strict=True)), strict=True),
    lambda: pd.MultiIndex.from_tuples(PAIRS),
    lambda: Frame(FRAME),
    lambda: pl.DataFrame(PAIRS, schema=["a", "b"], orient="row").iter_rows(),
]


@pytest.mark.parametrize("rows", ROWS)
def test_rows_of_every_kind_are_the_same_facts(shared: Catalog, rows: Callable[[], Any]) -> None:
    assert loaded(shared, rows(), types=["person", "person"]) == PAIRS


def test_names_of_rows_are_columns(catalog: Catalog) -> None:
    rows = [{"who": "Anna", "sure": True, "at": "x"}, {"at": "y", "who": "Bob", "sure": False}]
    found = loaded(catalog, rows, types=["person", "place"], columns=["who", "at"], truth="sure", target=True)
    assert [row[:3] for row in found] == [("Anna", "x", True), ("Bob", "y", False)]


@pytest.mark.parametrize("values", [["Anna", "Bob"], np.array(["Anna", "Bob"]), pa.array(["Anna", "Bob"])])
def test_rows_may_be_single_values(shared: Catalog, values: Any) -> None:
    assert loaded(shared, values, types=["person"]) == [("Anna",), ("Bob",)]


def test_values_say_what_they_are(catalog: Catalog) -> None:
    values = [np.int64(3), Decimal("1.25"), Fraction(1, 3), np.datetime64("2020-01-02"), UUID(int=7), "x"]
    assert loaded(catalog, values, types=["thing"]) == sorted((str(value),) for value in values)
    assert loaded(catalog, [np.True_, False], types=["thing"]) == [("false",), ("true",)]


@pytest.mark.parametrize(
    "nothing", [None, float("nan"), np.nan, np.float32("nan"), Decimal("nan"), np.datetime64("nat", "s"), pd.NaT, pd.NA]
)
@pytest.mark.parametrize("other", ["Anna", 1.5])
def test_what_marks_a_missing_value_is_no_constant(shared: Catalog, nothing: Any, other: Any) -> None:
    with pytest.raises(LoadError, match=r"1 row has NULL for argument 1 \(row 2\): fill or remove it"):
        shared.load("P", [(other,), (nothing,)], types=["t"])


@pytest.mark.parametrize(
    "source",
    [
        "select unnest([1.5, 'nan'::double])",
        "select unnest([1.5, 'nan'::float])::float",
        pa.table({"a": [1.5, float("nan")]}),
        pl.DataFrame({"a": [1.5, float("nan")]}),
        pa.array(["x", None]),
    ],
)
def test_so_it_is_in_columns_of_numbers(catalog: Catalog, source: Any) -> None:
    for types in (["t"], None):
        with pytest.raises(LoadError, match=r"1 row has NULL for argument 1 \(row 2\)"):
            catalog.load("P", source, types=types)
    with pytest.raises(LoadError, match=r"the scope of P from .* has NULL constants"):
        catalog.scope("P", source)


def test_no_number_is_not_a_number(catalog: Catalog) -> None:
    catalog.set_numeric("year")
    with pytest.raises(LoadError, match=r"1 row has an argument 1 that is no number, such as 'NaN' \(row 2\)"):
        catalog.load("P", [("1",), ("NaN",)], types=["year"])
    assert loaded(catalog, [("NaN",)], types=["word"]) == [("NaN",)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [("a",), (b"x",)],
            "row 2 of the tuples has an object of type bytes as value 1, which names no constant: conv",
        ),
        ([("a", "b"), ("c", ["d"])], "row 2 of the tuples has an object of type list as value 2"),
        ([{"a", "b"}], "row 1 of the tuples has an object of type set as value 1"),
        ([("a", object())], "row 1 of the tuples has an object of type object as value 2"),
        (np.array([b"x"]), "object of type bytes_"),
        (np.zeros((1, 2, 2)), "object of type ndarray"),
        ([FRAME], "row 1 of the rows has an object of type Series as value 1"),
        ([{"a": "x", "b": "y"}, {"a": "x"}], "row 2 of the rows has the values a, row 1 has a, b: name them alike"),
        ([{"a": "x"}, ("x",)], "row 1 of the rows names its values and row 2 does not: make all"),
        ([("x",), {"a": "x"}], "row 2 of the tuples names its values and row 1 does not: make all"),
        (["a", "\ud800b"], r"row 2 of the tuples has '\\ud800b' as value 1, which no database can store"),
        ([{"1": "x", 1: "y"}], r"the rows name two values alike \(1, 1\): give each a name of its own"),
    ],
)
def test_what_is_no_value_is_refused(shared: Catalog, rows: Any, message: str) -> None:
    before = shared.predicates()
    with pytest.raises(LoadError, match=message):
        shared.load("P", rows)
    assert shared.predicates() == before
