"""What opening a database leaves for later: heavy libraries, and in memory what only somebody sees who looks."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sqlrl
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.errors import SqlrlError

HEAVY = ("numba", "ortools", "pyspark", "scipy")
KINDS = [("table", "duckdb_tables()", "table_name"), ("view", "duckdb_views()", "view_name")]


def comments(run: Callable[[str], Any]) -> dict[str, str | None]:
    """The comments on tables and views of sqlrl's, and on their columns, by what they are on."""
    found = dict[str, "str | None"]()
    for _, listed, name in KINDS:
        found |= dict(run(f"select {name}, comment from {listed} where schema_name = 'sqlrl'").fetchall())
    columns = "select table_name || '.' || column_name, comment from duckdb_columns() where schema_name = 'sqlrl'"
    return found | dict(run(columns).fetchall())


@pytest.mark.parametrize(
    "work",
    [
        pytest.param("sqlrl.connect()", marks=pytest.mark.slow),
        "sqlrl.connect().load('Knows', [('a', 'b')], types=['p', 'p'])",
    ],
)
def test_opening_and_loading_import_nothing_heavy(work: str) -> None:
    code = f"import sys, sqlrl; {work}; print(*sorted({set(HEAVY)} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps of scripts that ran."""
    steps: list[str] = []
    run = DuckDBEngine.run_script

    def noted(self: DuckDBEngine, script: str, *, step: str) -> None:
        steps.append(step)
        run(self, script, step=step)

    monkeypatch.setattr(DuckDBEngine, "run_script", noted)
    return steps


LOOKS: dict[str, Callable[[sqlrl.Database], object]] = {
    "sql": lambda db: db.sql("select 1"),
    "script": lambda db: db.run("select 1 as one;"),
    "query": lambda db: db.load("Seen", "select column_name from duckdb_columns() where schema_name = 'sqlrl'", duplicates="drop"),
    "name of a view": lambda db: db.load("Seen", "sqlrl.strongest_clauses", columns=["clause"], empty="allow"),
    "examples": lambda db: db.scope("Knows", "select 'a', 'b'"),
    "connection": lambda db: db.advanced.engine.connection,
    "register": lambda db: db.load("mine", pa.table({"a": [1]}), mode="view"),
    "cursor": lambda db: db.cursor(),
}  # fmt: skip


@pytest.mark.usefixtures("comments")
@pytest.mark.parametrize("look", LOOKS)
def test_comments_of_memory_are_there_for_who_looks(look: str, shown: list[str]) -> None:
    db = sqlrl.connect()
    db.load("Knows", [("a", "b")], types=["p", "p"])
    assert shown == ["create the layout"]
    LOOKS[look](db)
    assert shown == ["create the layout", "create the views of the layout", "comment on the layout"]
    # On the connection itself, past what makes them.
    found = comments(db.advanced.engine._connection.execute)
    assert "strongest_clauses" in found
    assert [name for name, text in found.items() if not text] == []
    # Nothing waits any more.
    db.load("Later", [("a",)], types=["p"])
    assert [name for name, text in comments(db.advanced.engine._connection.execute).items() if not text] == []
    assert len(shown) == 3


@pytest.mark.usefixtures("comments")
def test_memory_has_the_comments_and_views_of_a_file(tmp_path: Path) -> None:
    found = []
    for target in (":memory:", str(tmp_path / "a.duckdb")):
        with sqlrl.connect(target) as db:
            db.load("Knows", [("a", "b")], types=["p", "p"])
            definitions = "select view_name, sql from duckdb_views() where schema_name = 'sqlrl' order by all"
            found.append(
                (comments(db.sql), db.sql(definitions).fetchall(), db.sql("select current_schema()").fetchall())
            )
    assert found[0] == found[1]


@pytest.mark.usefixtures("comments")
def test_a_file_and_a_connection_of_the_users_never_wait(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect() as connection:
        db = sqlrl.connect(connection)
        assert [n for n, t in connection.sql("select table_name, comment from duckdb_tables() where database_name = 'sqlrl'").fetchall() if not t] == []  # fmt: skip
        db.close()
    path = tmp_path / "a.duckdb"
    db = sqlrl.connect(path)
    with duckdb.connect(str(path)) as other:
        assert [name for name, text in comments(other.execute).items() if not text] == []
    db.close()


@pytest.mark.usefixtures("comments")
def test_what_was_shown_in_a_transaction_that_fails_is_shown_again() -> None:
    db = sqlrl.connect()
    with pytest.raises(SqlrlError):
        db.load("Knows", "select 'a', 'b' from range(2)")
    assert db.advanced.engine.unseen is not None
    found = comments(db.sql)
    assert "strongest_clauses" in found
    assert [name for name, text in found.items() if not text] == []
    assert db.sql("select current_schema()").fetchall() == [("main",)]


@pytest.mark.usefixtures("comments")
@pytest.mark.parametrize("late", [False, True])
def test_ctrl_c_while_they_are_shown(monkeypatch: pytest.MonkeyPatch, late: bool) -> None:
    db = sqlrl.connect()
    run = DuckDBEngine.execute_sql

    def interrupted(self: DuckDBEngine, sql: str, *, step: str) -> int:
        if step == "comment on the layout":
            sql = sql if late else sql.replace("COMMENT ON", "COMENT ON", 1)
        rows = run(self, sql, step=step)
        if step == "commit" and late:
            raise KeyboardInterrupt
        return rows

    with monkeypatch.context() as patch:
        patch.setattr(DuckDBEngine, "execute_sql", interrupted)
        with pytest.raises(KeyboardInterrupt if late else SqlrlError):
            db.sql("select 1")
    found = comments(db.sql)
    assert "strongest_clauses" in found
    assert [name for name, text in found.items() if not text] == []
    assert db.sql("select current_schema()").fetchall() == [("main",)]


@pytest.mark.usefixtures("comments")
@pytest.mark.parametrize("writing", [False, True])
def test_a_cursor_made_while_another_thread_is_at_work(writing: bool) -> None:
    db, inside, go, found = sqlrl.connect(), threading.Event(), threading.Event(), list[dict[str, "str | None"]]()

    def load() -> None:
        with db.advanced.catalog.store.writing() if writing else db.advanced.engine.turn:
            inside.set()
            go.wait(0.3)
        db.load("Knows", [("a", "b")], types=["p", "p"])

    def look() -> None:
        with db.cursor() as mine:
            found.append(comments(mine.sql))

    loading = threading.Thread(target=load)
    loading.start()
    inside.wait()
    looking = [threading.Thread(target=look) for _ in range(2)]
    for each in looking:
        each.start()
    for each in (*looking, loading):
        each.join()
    assert len(found) == 2
    for each in found:
        assert "strongest_clauses" in each
        # Comments wait for the end of an open transaction.
        assert writing or [name for name, text in each.items() if not text] == []
    assert db.tables()["facts"] == [1]
    assert [name for name, text in comments(db.sql).items() if not text] == []


def test_records_of_memory_are_read_once_until_others_can_write_them(monkeypatch: pytest.MonkeyPatch) -> None:
    read, steps = DuckDBEngine.fetch_rows, list[str]()

    def noted(self: DuckDBEngine, query: Any, *, step: str) -> Any:
        steps.append(step)
        return read(self, query, step=step)

    monkeypatch.setattr(DuckDBEngine, "fetch_rows", noted)
    db, reading = sqlrl.connect(), "read the records of the catalog"
    db.load("Knows", [("a", "b")], types=["p", "p"])
    with pytest.raises(SqlrlError):
        db.load("Knows", [("a", "b"), ("a", "b")], types=["p", "q"])
    records = db.advanced.catalog.store.predicates
    assert list(records()) == ["Knows"]
    # Once, and once more after what was rolled back.
    assert steps.count(reading) == 2
    db.load("Likes", [("a", "b")], types=["p", "p"])
    assert steps.count(reading) == 2
    with db.cursor() as other:
        other.load("Later", [("a",)], types=["p"])
    assert list(records()) == ["Knows", "Later", "Likes"]
    db.sql("update sqlrl.predicate set rows = 7 where predicate = 'Likes'")
    assert records()["Likes"].rows == 7
