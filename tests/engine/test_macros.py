"""Macros under names of DuckDB's functions never change an answer: they are refused as they are made, or before the next verb."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqlrl
from sqlrl.engine.macros import created
from sqlrl.errors import InputError, ScriptError, UntrustedError

MODEL = sqlrl.parse_mln("P(t)\nQ(t)\n2 Q(x) => P(x)\n-1 P(x)")
FUNCTIONS = sorted(
    {
        str(name)
        for (name,) in duckdb.connect()
        .execute("SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate')")
        .fetchall()
    }
)


def filled(db: sqlrl.Database) -> sqlrl.Database:
    db.load("P", [("a",), ("b",)], types=["t"], target=True)
    db.load("Q", [("a",), ("c",)], types=["t"])
    return db


VERBS: dict[str, Callable[[sqlrl.Database], object]] = {
    "load": lambda db: db.load("R", [("a",)], types=["t"]),
    "scope": lambda db: db.scope("P", [("a",)]),
    "define": lambda db: db.define("R(x) :- Q(x)."),
    "count": lambda db: db.count(MODEL),
    "predict": lambda db: db.predict(MODEL),
    "probabilities": lambda db: db.probabilities(MODEL),
    "evaluate": lambda db: db.run("FROM ML.EVALUATE(MODEL m)"),
    "diagnose": lambda db: db.diagnose(MODEL),
    "split": lambda db: db.split(0.5, predicate="P"),
    "models": lambda db: db.models.__setitem__("k", MODEL),
    "fit": lambda db: sqlrl.Likelihood().fit(db, MODEL),
}


@pytest.fixture(scope="module", params=[True, False], ids=["trusted", "untrusted"])
def shared(request: pytest.FixtureRequest) -> sqlrl.Database:
    return filled(sqlrl.connect(trusted=request.param, progress=False))


@given(
    name=st.sampled_from(FUNCTIONS),
    start=st.sampled_from(
        ["CREATE MACRO", "create or replace function", "CREATE TEMP MACRO", "CREATE MACRO IF NOT EXISTS"]
    ),
    place=st.sampled_from(["", "main.", '"MAIN" . ', "/* of ours */ "]),
    body=st.sampled_from(["(x) AS 5", "(a, b) AS TABLE SELECT 7 AS n", "() AS 1, (x) AS 2"]),
)
def test_no_macro_takes_the_name_of_a_function(
    shared: sqlrl.Database, name: str, start: str, place: str, body: str
) -> None:
    if "TEMP" in start and "main" in place.lower():
        place = ""
    quoted = '"' + name.replace('"', '""') + '"'
    sql = f"SELECT 1;\n{start} {place}{quoted}{body}"
    expected = f"DuckDB has a function {name}"
    with pytest.raises(ScriptError, match=r":2:1: DuckDB has a function") as script:
        shared.run(sql)
    with pytest.raises(InputError) as relation:
        shared.sql(sql)
    assert expected in str(script.value)
    assert expected in str(relation.value)
    assert shared.count(MODEL).to_arrow().column("n").to_pylist() == [2, 2]


@given(st.from_regex(r"[a-z]{1,6}", fullmatch=True).map(lambda text: f"my_{text}"))
def test_other_macros_are_made_and_called(shared: sqlrl.Database, name: str) -> None:
    shared.run(f"CREATE OR REPLACE MACRO {name}(x) AS x || '!'")
    shared.run(f"CREATE OR REPLACE PREDICATE Called(t) AS SELECT {name}('a')")
    assert shared.sql("FROM sqlrl.named_Called").fetchall() == [("a!",)]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "macro",
    [
        "sum(x) AS 77",
        "range(x) AS TABLE SELECT 7",
        # Each case fills a database, and asks one verb twice.
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ('"+"(a, b) AS 5', "count_star() AS 3", "list_value(x) AS 9")
        ),
    ],
)
def test_no_verb_answers_by_a_macro_made_outside(verb: str, macro: str) -> None:
    connection = duckdb.connect()
    db = filled(sqlrl.connect(connection, progress=False))
    db.models["m"] = MODEL
    connection.execute(f"CREATE MACRO {macro}")
    with pytest.raises((InputError, ScriptError), match="has macros with names of DuckDB's own functions") as refused:
        VERBS[verb](db)
    # The message says what to run.
    db.sql(str(refused.value).split("run ", 1)[1].split(", or")[0])
    VERBS[verb](db)


SCHEMA = 'CREATE SCHEMA other; CREATE MACRO other.sum(x) AS 77; CREATE MACRO other."+"(a, b) AS 5;'


@pytest.mark.parametrize("path", ["SET search_path = 'other'", "USE other", "SET schema = 'other'"])
def test_macros_of_another_schema_count_once_names_are_looked_for_there(path: str) -> None:
    db = filled(sqlrl.connect(progress=False))
    db.run(SCHEMA)
    expected = db.count(MODEL).to_arrow()
    assert db.sql("SELECT other.sum(1)").fetchall() == [(77,)]
    db.run(path)
    for ask in (lambda: db.count(MODEL), lambda: db.sql("FROM sqlrl.named_P")):
        with pytest.raises(
            InputError, match=r"other\.\+, other\.sum: run DROP MACRO memory\.other\.\"\+\" and the others"
        ):
            ask()
    db.run("USE memory.main")
    assert db.count(MODEL).to_arrow() == expected
    with pytest.raises(ScriptError, match="DuckDB has a function sum"):
        filled(sqlrl.connect(trusted=False, progress=False)).run(SCHEMA)


def test_macros_of_another_cursor_are_seen() -> None:
    db = filled(sqlrl.connect(progress=False))
    with db.cursor() as other:
        other.run("CREATE SCHEMA o; CREATE MACRO o.count_star() AS 3")
    db.sql("USE o")
    with pytest.raises(InputError, match=r"o\.count_star"):
        db.count(MODEL)


def test_macros_that_a_file_brings_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    with sqlrl.connect(path, progress=False) as db:
        filled(db).count(MODEL)
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE MACRO max(x) AS 5")
    with sqlrl.connect(path, progress=False) as db:
        with pytest.raises(InputError, match=r"main\.max: run DROP MACRO x\.main\.max, or rename them"):
            db.count(MODEL)
        db.run("DROP MACRO max")
        db.count(MODEL)
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE MACRO max(x) AS 5")
    with pytest.raises(UntrustedError, match=r"main\.max"):
        sqlrl.connect(path, trusted=False)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("CREATE MACRO f(x) AS x", ["f"]),
        ('create or replace temp macro "F x"() as 1; CREATE FUNCTION s.g(x) AS 2', ["F x", "s.g"]),
        ("CREATE MACRO IF NOT EXISTS db.s.h(x) AS x", ["s.h"]),
        ("EXPLAIN ANALYZE CREATE MACRO f(x) AS x", ["f"]),
        ("CREATE TABLE macro(x INT); SELECT 'CREATE MACRO sum(x)' -- CREATE MACRO sum(x)", []),
        ("CREATE MACRO", [""]),
        ("CREATE MACRO 'never ends", []),
    ],
)
def test_the_names_of_macros_are_read(sql: str, names: list[str]) -> None:
    assert [str(each) for each in created(sql)] == names


def test_a_verb_on_a_database_of_ours_asks_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlrl.engine import duckdb as engine

    asked: list[object] = []
    monkeypatch.setattr(engine, "macros", lambda connection: asked.append(connection) or [])
    db = filled(sqlrl.connect(progress=False))
    db.count(MODEL)
    db.run("CREATE TABLE t AS SELECT 'a' AS x")
    db.run("INSERT INTO t VALUES ('b'); SELECT * FROM t")
    before = len(asked)
    db.run("INSERT INTO t VALUES ('b'); SELECT * FROM t")
    for _ in range(3):
        db.count(MODEL)
    assert (before <= 1, len(asked)) == (True, 1)
    # On a connection of the user's, which may make macros meanwhile, one statement in a verb.
    db = filled(sqlrl.connect(duckdb.connect(), progress=False))
    asked.clear()
    db.count(MODEL)
    assert len(asked) == 1
