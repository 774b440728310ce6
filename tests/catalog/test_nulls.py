"""`nulls="drop"`: rows without a constant are left out, and messages still number the rows of the source."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import sqlrl
from sqlrl.errors import CatalogError, LoadError

ROWS = [("a", "b"), (None, "b"), ("c", None), (None, None), ("d", "e")]
SOURCES: dict[str, Any] = {
    "tuples": ROWS,
    "frame": pd.DataFrame(ROWS, columns=["x", "y"]),
    "arrow": pa.table({"x": [r[0] for r in ROWS], "y": [r[1] for r in ROWS]}),
    "query": "select * from (values ('a', 'b'), (null, 'b'), ('c', null), (null, null), ('d', 'e')) t(x, y)",
}


@pytest.fixture
def db() -> sqlrl.Database:
    return sqlrl.connect()


def facts(db: sqlrl.Database) -> list[tuple[Any, ...]]:
    return sorted(db.sql("from sqlrl.named_P").fetchall())


@pytest.mark.parametrize(
    ("source", "types", "duplicates"),
    [
        ("tuples", None, "error"),
        ("tuples", ["s", "t"], "drop"),
        ("frame", ["s", "t"], "error"),
        ("arrow", None, "drop"),
        ("query", ["s", "t"], "error"),
        ("query", None, "drop"),
    ],
)
def test_rows_with_null_are_left_out(db: sqlrl.Database, source: str, types: list[str] | None, duplicates: str) -> None:
    db.load("P", SOURCES[source], types=types, nulls="drop", duplicates=duplicates)
    assert facts(db) == [("a", "b"), ("d", "e")]
    assert db.tables()["facts"] == [2]
    db.advanced.bind(sqlrl.parse_mln("P(s, t)\nQ(s)\n1 P(x, y) => Q(x)", query=["Q"]))
    assert facts(db) == [("a", "b"), ("d", "e")]
    assert db.sql("select name from sqlrl.dictionary_s order by id").fetchall() == [("a",), ("d",)]


def test_the_log_says_how_many(db: sqlrl.Database, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "sqlrl"):
        db.load("P", ROWS, types=["s", "t"], nulls="drop")
    assert "P from the tuples: 3 rows with NULL dropped" in caplog.messages


def test_empty_fields_examples_and_nan(db: sqlrl.Database, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("x,y\na,b\nc,\n,d\n")
    db.load("P", tmp_path / "p.csv", types=["s", "t"], nulls="drop")
    assert facts(db) == [("a", "b")]
    (tmp_path / "p.csv").write_text("x,y\na,b\nc,\n,d\ne,f\n")
    assert db.refresh() == ["P"]
    assert facts(db) == [("a", "b"), ("e", "f")]
    db.load("N", [(1.0,), (float("nan"),)], types=["n"], nulls="drop")
    assert db.tables()["facts"] == [1, 2]


def test_a_row_without_an_example_is_left_out(db: sqlrl.Database) -> None:
    table = pa.table({"doc": ["d1", None, "d2"], "word": ["a", "b", "c"]})
    db.load("P", table, types=["word"], example="doc", nulls="drop")
    assert db.tables()["facts"] == [2]


@pytest.mark.parametrize("types", [None, ["s", "t"]])
def test_faults_are_said_with_the_rows_of_the_source(db: sqlrl.Database, types: list[str] | None) -> None:
    with pytest.raises(LoadError, match=r"\(a, b\) occurs 2 times \(rows 3 and 5\)"):
        db.load("P", [("x", None), ("c", "d"), ("a", "b"), (None, "b"), ("a", "b")], types=types, nulls="drop")
    rows = [("a", None, True), ("a", "b", True), (None, "b", False), ("a", "b", False), ("c", "d", None)]
    with pytest.raises(LoadError, match=r"\(row 5\)"):
        db.load("P", rows, types=types, truth=2, nulls="drop")
    for duplicates in ("error", "drop"):
        with pytest.raises(LoadError, match=r"\(a, b\) is both true and false \(rows 2 and 4\)"):
            db.load("P", rows[:4], types=types, truth=2, nulls="drop", duplicates=duplicates)


def test_rows_keep_their_numbers_until_types_are_known(db: sqlrl.Database) -> None:
    db.load(numeric=["year"])
    db.load("P", [("7",), (None,), ("8",), ("later",)], nulls="drop")
    model = sqlrl.parse_mln("P(year)\n1 P(x)")
    with pytest.raises((CatalogError, LoadError), match=r"no number, such as 'later' \(row 4\)"):
        db.advanced.bind(model)
    db.load("P", [("7",), (None,), ("8",), ("7.0",)], nulls="drop")
    with pytest.raises((CatalogError, LoadError), match=r"\(7\) occurs 2 times \(rows 1 and 4\)"):
        db.advanced.bind(model)


def test_nothing_is_left(db: sqlrl.Database) -> None:
    with pytest.raises(LoadError, match="there are no rows"):
        db.load("P", [(None,)], types=["s"], nulls="drop")
    db.load("P", [(None,)], types=["s"], nulls="drop", empty="allow")
    db.load("Wet", [()], types=[], nulls="drop")
    assert db.tables()["facts"] == [0, 1]


def test_null_is_refused_by_default_with_the_option(db: sqlrl.Database) -> None:
    with pytest.raises(
        LoadError, match=r'2 rows have NULL for argument 1 \(rows 2, 4\): fill or remove them, or pass nulls="drop"'
    ):
        db.load("P", ROWS, types=["s", "t"])
    with pytest.raises(LoadError, match="nulls='keep' must be 'error' or 'drop'"):
        db.load("P", ROWS, types=["s", "t"], nulls="keep")


def test_several_predicates(db: sqlrl.Database) -> None:
    db.load({"P": ROWS, "Q": [("a",), (None,)]}, nulls="drop")
    assert db.tables()["facts"] == [2, 1]
