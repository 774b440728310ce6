"""Scripts that make things and change them later, stopped behind each statement and resumed: they end as if they had never been stopped."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import sqlrl
from sqlrl.errors import ScriptError
from sqlrl.script.runner import Done, run_script

BASE = [
    "CREATE OR REPLACE TABLE people AS FROM (VALUES ('Anna', 1), ('Bob', 2)) AS v(name, n)",
    "CREATE OR REPLACE PREDICATE Smokes(person) AS SELECT name FROM people",
]
MAKE = {
    "table": "CREATE TABLE t AS SELECT name, n FROM people",
    "empty table": "CREATE TABLE t (name VARCHAR, n INTEGER)",
    "model": "CREATE MODEL m AS $$ Smokes(person)\nCough(person)\n1 Smokes(x) => Cough(x) $$",
    "learned": "CREATE MODEL m OPTIONS (learner = 'likelihood') AS $$ *Smokes(person)\nCough(person)\nSmokes(x) => Cough(x) $$",
    "predicate": "CREATE PREDICATE Cough(person) OPTIONS (target = true) AS SELECT name FROM people WHERE n = 1",
    "defined": "CREATE PREDICATE Both AS RULES $$ both(x) :- Smokes(x), Old(x). $$".replace("both", "Both"),
}
CHANGE = {
    "insert": "INSERT INTO t (name, n) SELECT 'Chris', 3",
    "insert again": "INSERT INTO t (name, n) SELECT 'Chris', 3",
    "insert from itself": "INSERT INTO main.t (name, n) SELECT name || '!', n + 1 FROM t",
    "update": "UPDATE t SET n = n * 2 + 1",
    "delete": "DELETE FROM T WHERE n > 5",
    "alter": "ALTER TABLE t ADD COLUMN IF NOT EXISTS more INTEGER DEFAULT 7",
    "merge": "MERGE INTO t USING people AS p ON t.name = p.name WHEN MATCHED THEN UPDATE SET n = t.n + p.n",
    "rule": "ALTER MODEL m ADD RULE 'Cough(x)' WEIGHT -0.5",
    "rule again": "ALTER MODEL m ADD RULE 'Cough(x)' WEIGHT -0.5",
    "another model": "CREATE MODEL k FROM MODEL m",
    "append": "CREATE PREDICATE Cough(person) OPTIONS (target = true, append = true) AS SELECT 'Dora'",
    "append facts": "CREATE PREDICATE Smokes(person) OPTIONS (append = true) AS SELECT 'Emil'",
    "scope": "ALTER PREDICATE Cough SET SCOPE (SELECT name FROM people UNION SELECT 'Dora')",
    "another predicate": "CREATE PREDICATE Late(day) AS SELECT 'Monday'",
}
SCRIPTS: dict[str, list[str]] = {
    f"{name}, {one}, {two}": [MAKE[name], CHANGE[one], CHANGE[two]]
    for names, changes in (
        (("table", "empty table"), ("insert", "insert again", "insert from itself", "update", "delete", "alter", "merge")),
        (("model",), ("rule", "rule again", "another model", "append facts", "another predicate")),
        (("predicate",), ("append", "append facts", "scope", "another predicate")),
    )
    for name, one, two in product(names, changes, changes)
    if one != two
} | {
    "dropped": [MAKE["table"], "DROP TABLE t", MAKE["table"], CHANGE["insert"]],
    "dropped model": [MAKE["model"], "DROP MODEL m", MAKE["model"], CHANGE["rule"]],
    "read between": [MAKE["table"], CHANGE["insert"], "CREATE TABLE u AS SELECT count(*) AS c FROM t", CHANGE["insert again"], "INSERT INTO u SELECT count(*) FROM t"],
    "replaced": [MAKE["table"], CHANGE["insert"], "CREATE OR REPLACE TABLE t AS SELECT name, n + 10 AS n FROM people", CHANGE["update"]],
    "learned from what grows": [MAKE["predicate"], MAKE["learned"], CHANGE["append"], CHANGE["append facts"], "CREATE MODEL k OPTIONS (learner = 'likelihood') FROM MODEL m"],
    "defined by what grows": ["CREATE PREDICATE Old(person) AS SELECT 'Anna'", MAKE["defined"], CHANGE["append facts"], "CREATE PREDICATE Old(person) OPTIONS (append = true) AS SELECT 'Emil'"],
    "by a function": [MAKE["predicate"], MAKE["model"], "CREATE TABLE t AS SELECT person AS name, 1 AS n FROM ML.PREDICT(MODEL m, 'Cough')", CHANGE["rule"], "INSERT INTO t SELECT person, 2 FROM ML.PREDICT(MODEL m, 'Cough')"],
}  # fmt: skip


class StoppedError(Exception):
    """Raised behind a statement."""


def state(db: Any) -> dict[str, Any]:
    """All that a script may have made: rows of tables, rules of models, what is loaded."""
    found: dict[str, Any] = {}
    for (name,) in db.sql("select table_name from duckdb_tables() where schema_name = 'main'").fetchall():
        found[name] = db.sql(f'select * from main."{name}" order by all').fetchall()
    for name in db.models()["name"]:
        if name:
            found[f"model {name}"] = str(db.models[name])
    for row in db.tables().to_arrow().to_pylist():
        found[f"predicate {row['predicate']}"] = row["facts"], row["open"]
    for (name,) in db.sql(
        "select view_name from duckdb_views() where schema_name = 'sqlrl' and view_name like 'named_%'"
    ).fetchall():
        found[name] = db.sql(f'select * from sqlrl."{name}" order by all').fetchall()
    return found


def run(path: Path, script: str, *, stop: int | None = None, resume: bool = False) -> tuple[dict[str, Any], list[bool]]:
    """Run a script, perhaps up to a statement; return what is there then, and which statements were skipped."""
    skipped: list[bool] = []

    def seen(done: Done) -> None:
        skipped.append(done.skipped)
        if stop is not None and len(skipped) == stop:
            raise StoppedError

    with sqlrl.connect(path, progress=False) as db:
        with suppress(StoppedError):
            run_script(db, script, path="s.sql", resume=resume, on_statement=seen)
        return state(db), skipped


FEW = [
    "table, insert, update",
    "model, rule, another model",
    "predicate, append, scope",
    "read between",
    "by a function",
]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FEW[:3] else pytest.mark.slow) for name in SCRIPTS]
)
@pytest.mark.filterwarnings("ignore")
def test_it_ends_as_if_it_had_never_been_stopped(name: str, tmp_path: Path) -> None:
    statements = [*BASE, *SCRIPTS[name]]
    script = ";\n".join(statements)
    whole, _ = run(tmp_path / "whole.duckdb", script)
    for stop in range(len(BASE) + 1, len(statements) + 1):
        path = tmp_path / f"{stop}.duckdb"
        run(path, script, stop=stop)
        found, skipped = run(path, script, resume=True)
        assert found == whole, stop
        assert skipped == [i < stop for i in range(len(statements))], stop
        # Once more, nothing is left to do.
        again, skipped = run(path, script, resume=True)
        assert (again, all(skipped)) == (whole, True), stop


def test_stopped_at_each_step_again_and_again(tmp_path: Path) -> None:
    statements = [*BASE, *SCRIPTS["read between"], CHANGE["insert from itself"], CHANGE["delete"]]
    script, path = ";\n".join(statements), tmp_path / "a.duckdb"
    whole, _ = run(tmp_path / "whole.duckdb", script)
    for stop in range(1, len(statements) + 1):
        _, skipped = run(path, script, stop=stop, resume=True)
        assert skipped == [True] * (stop - 1) + [False]
    assert run(path, script, resume=True)[0] == whole


def test_an_edited_statement_is_not_run_on_what_came_later(tmp_path: Path) -> None:
    statements = [*BASE, *SCRIPTS["read between"]]
    path = tmp_path / "a.duckdb"
    before, _ = run(path, ";\n".join(statements))
    edited = ";\n".join(statements).replace("count(*) AS c FROM t", "count(*) + 1 AS c FROM t")
    with pytest.raises(ScriptError, match=r"has to run again, and later ones have changed the table \"t\" already"):
        run(path, edited, resume=True)
    with sqlrl.connect(path) as db:
        assert state(db) == before


def test_a_variable_is_not_set_by_what_came_later(tmp_path: Path) -> None:
    statements = [*BASE, MAKE["table"], "SET VARIABLE size = (SELECT count(*) FROM t)", CHANGE["insert"]]
    path = tmp_path / "a.duckdb"
    run(path, ";\n".join(statements))
    with pytest.raises(ScriptError, match=r":4:1: this statement has to run again, and later ones have changed"):
        run(path, ";\n".join(statements), resume=True)


def test_what_somebody_else_changed_runs_again(tmp_path: Path) -> None:
    script, path = ";\n".join([*BASE, MAKE["table"], CHANGE["insert"]]), tmp_path / "a.duckdb"
    run(path, script)
    with sqlrl.connect(path) as db:
        db.sql("insert into t values ('Zed', 9)")
    with pytest.raises(ScriptError, match="write CREATE OR REPLACE"):
        run(path, script, resume=True)
