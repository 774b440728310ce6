"""Predictions written into tables of the user's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlrl
from sqlrl.errors import InputError
from sqlrl.logic.mln import parse_mln
from sqlrl.solve import mpe

MODEL = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
TWO = MODEL + "\nCancer(person)\n1 Smokes(x) => Cancer(x)"


@pytest.fixture
def db() -> Any:
    with sqlrl.connect() as db:
        db.load("Friends", [("Anna", "Bob")])
        db.load("Smokes", [("Anna",)], given=True)
        yield db


def count(db: Any, name: str) -> int:
    """Return the number of rows of a table."""
    return int(db.advanced.engine.connection.table(name).aggregate("count(*)").fetchall()[0][0])


def test_a_table_that_exists_is_replaced_only_on_request(db: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = parse_mln(MODEL)
    db.sql('create table "Found" as select 1 as x union all select 2 union all select 3')
    with monkeypatch.context() as patched:
        patched.setattr(mpe, "mpe", lambda *_, **__: pytest.fail("it was solved before the table was looked at"))
        with pytest.raises(
            InputError, match="there is a table found already: choose another name, or pass replace=True"
        ):
            db.predict(model, into="found")
    assert count(db, "Found") == 3
    prediction = db.predict(model, into="found", replace=True)
    assert count(db, "found") == 1
    with pytest.raises(InputError, match="there is a table found already"):
        prediction.write("found")
    prediction.write("found", replace=True)
    prediction.write("another")
    assert count(db, "another") == 1


def test_predicates_that_differ_in_case_alone_have_a_table_each() -> None:
    with sqlrl.connect() as db:
        db.load("K", [("a",), ("A",)], types=["t"])
        db.load("p", [("a",)], types=["t"], target=True)
        db.load("P", [("A",)], types=["t"], target=True)
        model = parse_mln("K(t)\np(t)\nP(t)\n1 K(x) => p(x)\n-1 P(x)")
        prediction = db.predict(model, into="out")
        db.probabilities(model, into="chance")
        for _ in range(2):
            assert (count(db, '"out_P"'), count(db, '"out_p_2"')) == (0, 2)
            for name, mean in (("chance_P", 0.27), ("chance_p_2", 0.73)):
                found = db.sql(f'select avg(probability) from "{name}"').fetchall()
                assert found == [(pytest.approx(mean, abs=0.01),)]
            prediction.write("out", replace=True)
            db.probabilities(model, into="chance", replace=True)


def test_a_view_is_never_replaced(db: Any) -> None:
    db.sql("create view seen as select 1 as x")
    with pytest.raises(InputError, match="there is a view seen already: choose another name, or drop the view"):
        db.predict(parse_mln(MODEL), into="seen", replace=True)


def test_of_several_tables_none_is_written_if_one_exists(db: Any) -> None:
    db.sql('create table "all_Smokes" as select 1 as x')
    model = parse_mln(TWO, query=("Cancer",))
    with pytest.raises(InputError, match="there is a table all_Smokes already"):
        db.predict(model, into="all")
    assert db.advanced.engine.connection.sql("from duckdb_tables() where table_name = 'all_Cancer'").fetchall() == []
    # The name alone is free: each predicate has a table of its own.
    db.sql('drop table "all_Smokes"; create table "all" as select 1 as x')
    db.predict(model, into="all")
    assert count(db, '"all_Cancer"') == 2


def test_a_database_that_can_only_be_read_says_so(tmp_path: Path) -> None:
    path = tmp_path / "own.duckdb"
    with duckdb.connect(str(path)) as own:
        own.execute("create table friends as select 'Anna' as a, 'Bob' as b")
    with duckdb.connect(str(path), read_only=True) as own:
        db = sqlrl.connect(own)
        db.load("Friends", "friends")
        db.load("Smokes", [("Anna",)], given=True)
        prediction = db.predict(parse_mln(MODEL))
        for write in (lambda: db.predict(parse_mln(MODEL), into="found"), lambda: prediction.write("found")):
            with pytest.raises(
                InputError, match="the table found cannot be created, since the database own was opened read-only"
            ):
                write()
