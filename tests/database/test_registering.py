"""Tables of Python's under a name: what asks them, what their name may be, and what a change of them means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sqlrl
from sqlrl.errors import CatalogError, InputError, LoadError

MODEL = sqlrl.parse_mln("Student(person)\nSmart(person)\n1 Student(x) => Smart(x)")


def people(*names: str) -> pa.Table:
    return pa.table({"name": list(names)})


@pytest.fixture
def db() -> sqlrl.Database:
    return sqlrl.connect()


@pytest.mark.parametrize(
    "make",
    [
        people,
        lambda *n: people(*n).to_batches()[0],
        lambda *n: pd.DataFrame({"name": n}),
        lambda *n: pl.DataFrame({"name": n}),
    ],
)
def test_what_is_a_table_is_asked_by_its_name(db: sqlrl.Database, make: Callable[..., Any]) -> None:
    db.load("people", make("Ann", "Bob"), mode="view")
    assert db.sql("select name from people order by name").fetchall() == [("Ann",), ("Bob",)]
    db.load("People", make("Cid"), mode="view")
    assert db.sql("from people").fetchall() == [("Cid",)]


def test_results_go_into_queries_loads_scopes_and_examples(db: sqlrl.Database) -> None:
    db.load("Student", [("Ann",), ("Bob",), ("Cid",)], types=["person"], example="person")
    db.load("Smart", [("Ann",)], types=["person"], target=True)
    counts = db.count("Student(x)", by="x")
    db.load("counts", counts, mode="view")
    assert db.sql("select count(*) from counts").fetchall() == [(len(counts),)]
    db.load("Known", "select x from counts where x < 'C'", types=["person"])
    assert db.sql("select person from sqlrl.named_Known order by all").fetchall() == [("Ann",), ("Bob",)]
    db.scope("Smart", "select x from counts where x <> 'Cid'")
    assert db.predict(MODEL).table()["person"] == ["Ann", "Bob"]
    assert db.predict(MODEL, examples="select x from counts where x = 'Bob'").table()["person"] == ["Bob"]
    result = db.run("create table copied as select x from counts; select count(*) as n from copied;")
    assert result.table is not None
    assert result.table["n"] == [3]


@pytest.mark.parametrize("source", ["people", "select name from people"])
def test_a_target_is_loaded_from_it_and_again_when_it_changed(db: sqlrl.Database, source: str) -> None:
    db.load("Student", [("Ann",), ("Bob",), ("Cid",)], types=["person"])
    db.load("people", people("Ann", "Bob"), mode="view")
    db.load("Smart", source, types=["person"], target=True)
    db.predict(MODEL)
    assert db.refresh() == []
    db.load("people", people("Ann", "Bob", "Cid"), mode="view")
    if source == "people":
        with pytest.raises(
            CatalogError, match="Smart was loaded from people, which had 2 rows, and now has 3 rows: call refresh"
        ):
            db.predict(MODEL)
    assert db.refresh() == ["Smart"]
    # As many rows, but others: as of a table, only reading them all tells.
    db.load("people", people("Ann", "Bob", "Dan"), mode="view")
    db.predict(MODEL)
    assert db.refresh() == ["Smart"]
    assert db.sql("select person from sqlrl.named_Smart order by all").fetchall() == [("Ann",), ("Bob",), ("Dan",)]


def test_names_that_would_hide_something_are_refused(db: sqlrl.Database) -> None:
    db.load("Student", [("Ann",)], types=["person"])
    for made in (
        "create table mine as select 1",
        "create view seen as select 1",
        "create temp table passing as select 1",
    ):
        db.sql(made)
    for name, found in {
        "MINE": "table main.mine",
        "seen": "view main.seen",
        "passing": "table main.passing",
        "predicate": "table sqlrl.predicate",
        "named_student": "view sqlrl.named_Student",
        "duckdb_tables": "view main.duckdb_tables",
    }.items():
        with pytest.raises(InputError, match=f"there is a {found} already, which '{name}' would hide"):
            db.load(name, people("Ann"), mode="view")
    assert db.sql("from mine").fetchall() == [(1,)]


def test_predictions_are_not_written_behind_it(db: sqlrl.Database) -> None:
    db.load("Student", [("Ann",)], types=["person"])
    db.load("Smart", [("Ann",)], types=["person"], target=True)
    db.load("found", people("Ann"), mode="view")
    with pytest.raises(InputError, match="a table is registered as found, which would hide it: choose another name"):
        db.predict(MODEL, into="found", replace=True)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (3, people("a"), "the name of a table is needed, not an object of type int: give a str"),
        ("", people("a"), "'' is no name of a table"),
        ("sqlrl.predicate", people("a"), "'sqlrl.predicate' is no name of a table: give one without a dot"),
        ("t", [("a",)], "an Arrow table or a frame is needed, not an object of type list"),
        ("t", "select 1", r"not the text 'select 1': .*; a query has a name as a view, db.sql\('create view"),
        (
            "t",
            duckdb.connect().sql("select 1"),
            "an Arrow table or a frame is needed, not an object of type DuckDBPyRelation",
        ),
        ("t", pa.table({}), "an Arrow table without columns is no table of SQL"),
    ],
)
def test_what_is_no_table_or_name_is_refused(db: sqlrl.Database, name: Any, data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        db.load(name, data, mode="view")


def test_nothing_is_written_and_it_ends_with_the_database(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with sqlrl.connect(path) as db:
        db.load("people", people("Ann"), mode="view")
        db.load("Student", "select name from people", types=["person"])
    with pytest.raises(InputError, match="closed"):
        db.load("people", people("Ann"), mode="view")
    with sqlrl.connect(path) as again:
        assert again.sql("select count(*) from duckdb_views() where view_name = 'people'").fetchall() == [(0,)]
        assert again.tables()["facts"] == [1]
        with pytest.raises(LoadError, match=r"Table with name people does not exist[\s\S]*mode='view'"):
            again.refresh()
        again.load("people", people("Bob"), mode="view")
        assert again.refresh() == ["Student"]
    with sqlrl.connect(path, read_only=True) as reader:
        reader.load("people", people("Cid"), mode="view")
        assert reader.sql("from people").fetchall() == [("Cid",)]
    with sqlrl.connect(path, trusted=False) as sealed:
        sealed.load("people", people("Cid"), mode="view")
        assert sealed.sql("from people").fetchall() == [("Cid",)]


def test_a_connection_of_the_users_is_left_as_it_was() -> None:
    connection = duckdb.connect()
    connection.register("theirs", people("Ann"))
    db = sqlrl.connect(connection)
    with pytest.raises(InputError, match=r"there is a view main\.theirs already"):
        db.load("theirs", people("Bob"), mode="view")
    db.load("ours", people("Bob"), mode="view")
    db.load("dropped", people("Bob"), mode="view")
    db.sql("drop view dropped")
    db.close()
    assert connection.sql("from theirs").fetchall() == [("Ann",)]
    with pytest.raises(duckdb.CatalogException, match="ours does not exist"):
        connection.sql("from ours")


def test_a_name_that_was_dropped_is_looked_for_again(db: sqlrl.Database) -> None:
    db.load("people", people("Ann"), mode="view")
    db.sql("drop view people")
    db.sql("create table people as select 'Bob' as name")
    with pytest.raises(InputError, match=r"there is a table main\.people already"):
        db.load("people", people("Cid"), mode="view")


def test_a_transaction_of_the_users_is_refused(db: sqlrl.Database) -> None:
    db.sql("begin")
    with pytest.raises(InputError, match="open transaction"):
        db.load("people", people("Ann"), mode="view")
    db.sql("rollback")


def test_a_cursor_has_tables_of_its_own(db: sqlrl.Database) -> None:
    db.load("people", people("Ann"), mode="view")
    db.load("Student", "people", types=["person"])
    with db.cursor() as other:
        other.load("people", people("Bob", "Cid"), mode="view")
        assert other.sql("from people").fetchall() == [("Bob",), ("Cid",)]
    assert db.sql("from people").fetchall() == [("Ann",)]


def test_scripts_that_go_on_notice_other_data(tmp_path: Path) -> None:
    script = "CREATE OR REPLACE TABLE copied AS SELECT name FROM people; SELECT count(*) AS n FROM copied;"
    with sqlrl.connect(tmp_path / "a.duckdb") as db:
        db.load("people", people("Ann", "Bob"), mode="view")
        db.run(script)
        assert [each.skipped for each in db.run(script, resume=True).statements] == [True, False]
        db.load("people", people("Ann", "Cid"), mode="view")
        assert [each.skipped for each in db.run(script, resume=True).statements] == [False, False]
        assert db.sql("from copied").fetchall() == [("Ann",), ("Cid",)]
