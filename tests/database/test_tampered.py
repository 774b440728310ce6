"""Files whose JSON somebody has changed: whatever stands in a column of JSON, verbs work or say what is damaged."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlrl
from sqlrl.catalog.integrity import kept_json
from sqlrl.catalog.migrations import layout_script
from sqlrl.catalog.options import LoadOptions
from sqlrl.database.database import Database
from sqlrl.errors import CatalogError, SqlrlError
from tests.cli.conftest import Run, run  # noqa: F401
from tests.effort import draws

RULES = "*F(ex, t)\nL(ex, t)\n1 F(e, x) => L(e, x)"
SCRIPT = f"CREATE MODEL m AS $${RULES}$$; CREATE MODEL k OPTIONS (learner = 'likelihood', strength = 0.5) FROM MODEL m"
TEXTS = ["", "{", "nul", "NaN", "1e999", '"\\ud800"', '{"a": "\\udfff"}', "[" * 3000, "[" * 101 + "]" * 101, '{"a": 1, "a": 2}', "[1,]", "9" * 5000, "\x00"]  # fmt: skip
"""What is no JSON that sqlrl writes."""
VALUES: list[Any] = [None, 5, -1.5, "x", [], {}, [1, "a", None], {"a": {"b": [1]}}, True, 10**30, float("inf")]
LACKING = object()

Verb = Callable[[Database, Path], Any]
VERBS: dict[str, Verb] = {
    "runs": lambda db, _: repr(db.runs()),
    "run": lambda db, _: [(repr(db.runs[i]), db.runs[i]._repr_html_(), dict(db.runs[i].parameters)) for i in (1, 2, 3)],
    "report": lambda db, folder: [db.runs[i].report(folder / f"{i}.html") for i in (1, 2, 3)],
    "models": lambda db, _: [repr(db.models()), *(repr(db.models[name]) for name in ("m", "k", -1))],
    "tables": lambda db, _: repr(db.tables()),
    "predict": lambda db, _: db.predict(sqlrl.parse_mln(RULES), examples=["e1"]).table(),
    "resume": lambda db, _: sqlrl.AdaGrad().fit(db, sqlrl.parse_mln(RULES), resume=2),
    "refresh": lambda db, _: db.refresh(),
    "append": lambda db, _: db.load("F", [("e3", "a")], mode="append"),
    "load": lambda db, _: db.load("Q", [("e3", "9")], types=["ex", "num"]),
    "audit": lambda db, _: db.audit("L"),
    "script": lambda db, _: db.run(SCRIPT.replace("CREATE MODEL", "CREATE OR REPLACE MODEL"), resume=True),
}
OF: dict[str, tuple[str, ...]] = {
    "learner_state": ("resume", "runs"),
    "model": ("models", "run", "report"),
    "part": ("tables", "predict", "refresh", "append", "audit"),
    "run": ("run", "report", "runs", "resume"),
    "script_log": ("script",),
    "source": ("tables", "predict", "refresh", "append", "load", "audit", "report"),
    "state": ("predict", "append", "load"),
    "type": ("tables", "load", "predict"),
}
"""Which verbs read what a table has."""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file in which each column of JSON has some."""
    path = tmp_path_factory.mktemp("base") / "base.duckdb"
    with sqlrl.connect(path, progress=False) as db:
        db.sql("create table rows as from (values ('e1', 'a'), ('e1', 'b'), ('e2', 'c'), ('e2', 'a')) as v(e, x)")
        db.load("F", "rows", types=["ex", "t"], example="e")
        db.load("L", "select e, x from rows where x <> 'b'", types=["ex", "t"], example="e", target=True)
        db.load("N", [("a", "1"), ("b", "2"), ("c", "3")], types=["t", "num"], bins={"num": 2})
        db.run(SCRIPT)
        sqlrl.AdaGrad().fit(db, db.models["m"], checkpoint=True)
        db.sql("update sqlrl.run set status = 'interrupted' where run = 2")
        db.predict(db.models["k"], keep=True)
        db.load("F", [("e2", "b")], mode="append")
    return path


def columns(path: Path) -> dict[tuple[str, str], list[str]]:
    """The columns that hold JSON, and what they hold."""
    found: dict[tuple[str, str], list[str]] = {}
    with duckdb.connect(path, read_only=True) as connection:
        listed = connection.execute(
            "SELECT table_name, column_name FROM duckdb_columns() JOIN duckdb_tables() USING (schema_name, table_name) "
            "WHERE schema_name = 'sqlrl' AND data_type = 'VARCHAR'"
        ).fetchall()
        for table, column in listed:
            for (text,) in connection.execute(f'SELECT DISTINCT "{column}" FROM sqlrl."{table}"').fetchall():
                try:
                    value = json.loads(text)
                except (TypeError, ValueError):
                    continue
                if isinstance(value, dict | list):
                    found.setdefault((table, column), []).append(text)
    return found


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a value of JSON."""
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*place, key))


def changed(text: str, place: tuple[Any, ...], new: Any) -> str:
    """A text of JSON with another value at a place, or without one."""
    if not place:
        return json.dumps(new)
    value = json.loads(text)
    inner = value
    for key in place[:-1]:
        inner = inner[key]
    if new is LACKING:
        del inner[place[-1]]
    else:
        inner[place[-1]] = new
    return json.dumps(value)


def cases(path: Path, tables: tuple[str, ...] = tuple(OF)) -> Iterator[tuple[str, str, str, str]]:
    """Every text in every column, and every value at every place of it."""
    for (table, column), texts in sorted(columns(path).items()):
        for text in texts if table in tables else ():
            yield from ((table, column, text, new) for new in TEXTS)
            for place in places(json.loads(text)):
                yield from (
                    (table, column, text, changed(text, place, new)) for new in [*VALUES, *([LACKING] if place else [])]
                )


def survive(base: Path, folder: Path, case: tuple[str, str, str, str]) -> int:
    """Change a file, and call what reads it: all work, or say that something is wrong; return how many said so."""
    table, column, text, new = case
    path, said = folder / "tampered.duckdb", 0
    shutil.copy(base, path)
    with duckdb.connect(path) as connection:
        connection.execute(
            f'UPDATE sqlrl."{table}" SET "{column}" = $new WHERE "{column}" = $old', {"new": new, "old": text}
        )
    try:
        db = sqlrl.connect(path, progress=False)
    except SqlrlError:
        return 1
    with db:
        for name in OF[table]:
            try:
                VERBS[name](db, folder)
            except SqlrlError:
                said += 1
            except Exception as error:
                raise AssertionError(f"{name} with {table}.{column} = {new[:200]}") from error
    return said


def test_every_column_of_json_is_known(base: Path) -> None:
    found = columns(base)
    assert {table for table, _ in found} == set(OF)
    # Those that the layout calls JSON are among them.
    told = [line for line in layout_script().splitlines() if line.startswith("COMMENT ON COLUMN") and "JSON" in line]
    assert told
    for line in told:
        _, table, _, column, *_ = line.split('"')
        column = "value" if table == "state" else column
        assert {
            (table, column),
            ("source" if table == "part" else table, column),
        } & found.keys() or table == "learner_state", line


def test_some_changes_are_survived(base: Path, tmp_path: Path) -> None:
    # Those of all others take minutes.
    for table, column in (("model", "json"), ("type", "edges"), ("source", "options")):
        assert survive(base, tmp_path, (table, column, columns(base)[table, column][0], "{")) > 0


@pytest.mark.slow  # opens forty files for each, and with HYPOTHESIS_PROFILE=search all that there are
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "table", [("run",), ("model",), ("source", "part"), ("state", "type", "learner_state", "script_log")]
)
def test_changes_are_survived(table: tuple[str, ...], base: Path, tmp_path: Path) -> None:
    every = list(cases(base, table))
    chosen = random.Random(7).sample(every, min(len(every), draws(80)))
    assert sum(survive(base, tmp_path, case) for case in chosen) > len(chosen) // 6


@pytest.mark.parametrize("column", ["parameters", "versions", "timings"])
@pytest.mark.parametrize("text", ["", "{", "[]", '{"learning": "x"}', '{"a": "\\ud83d"}', "[" * 2000])
def test_what_is_said_of_a_run(column: str, text: str, base: Path, tmp_path: Path, run: Run) -> None:  # noqa: F811
    path = Path(shutil.copy(base, tmp_path / "a.duckdb"))
    with duckdb.connect(path) as connection:
        connection.execute(f"UPDATE sqlrl.run SET {column} = $text WHERE run = 1", {"text": text})
    if (column, text) in (("parameters", '{"learning": "x"}'), ("versions", '{"learning": "x"}')):
        return
    with sqlrl.connect(path) as db:
        for call in (lambda: db.runs[1], lambda: db.runs[1].report(tmp_path / "r.html")):
            with pytest.raises(CatalogError, match=rf"the database is damaged: the {column} of run 1 in sqlrl.run"):
                call()
        assert len(db.runs()) == 3
    found = run("report", path, "1", "--out", tmp_path / "r.html")
    assert found.code == 1
    assert f"the {column} of run 1" in found.err


def test_what_sqlrl_writes_is_read(base: Path) -> None:
    # Deep, long and strange, and JSON all the same.
    for value in (
        [[[]]],
        {"a": "[" * 500},
        {"a": ["{[" * 300, "]"]},
        {"😀": "\\ud83d"},
        list(range(100_000)),
        {"x": [1] * 500},
    ):
        assert kept_json(json.dumps(value), "a place") == value
        assert kept_json(json.dumps(value, ensure_ascii=False), "a place") == value
    whole = LoadOptions(columns={0: "a", "t": 1}, types=["t"], example="e", value=2, constants={"a": "b"}, files=["x"], bins={"t": [1, 2.5]}, kinds=["a b"])  # fmt: skip
    assert LoadOptions.from_json(whole.to_json()).to_json() == whole.to_json()
