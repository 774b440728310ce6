"""Facts that occur more than once: refused before they are encoded, counted as a dictionary counts them, and told when they are dropped."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import sqlrl
from sqlrl.catalog import encoding, loading
from sqlrl.cli.app import app
from sqlrl.errors import LoadError, ScriptError
from tests.effort import draws

ROWS = [("a", "x"), ("b", "x"), ("a", "x"), ("b", "y"), ("a", "x")]


def connect(**options: Any) -> sqlrl.Database:
    return sqlrl.connect(**{"progress": False, **options})


def sources(folder: Path, db: sqlrl.Database) -> dict[str, Any]:
    """The same rows in every form."""
    db.sql(f"create table events as select * from (values {', '.join(map(str, ROWS))}) t(who, what)")
    for kind in ("csv", "parquet"):
        db.sql(f"copy events to '{folder / 'events'}.{kind}'")
    return {
        "tuples": ROWS,
        "table": "events",
        "query": "select * from events",
        "csv": folder / "events.csv",
        "parquet": folder / "events.parquet",
        "arrow": pa.table({"who": [a for a, _ in ROWS], "what": [b for _, b in ROWS]}),
        "relation": db.sql("from events"),
    }


@pytest.mark.parametrize("form", ["tuples", "table", "query", "csv", "parquet", "arrow", "relation"])
@pytest.mark.parametrize("options", [{}, {"target": True}, {"nulls": "drop"}, {"example": "person"}], ids=str)
@pytest.mark.parametrize("few", [encoding.FEW, 0])
def test_duplicates_are_refused_before_anything_is_encoded(
    form: str, options: dict[str, Any], few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = connect()
    monkeypatch.setattr(encoding, "FEW", few)
    source = sources(tmp_path, db)[form]

    def encode(*_: Any, **__: Any) -> None:
        raise AssertionError("rows that are refused were encoded")

    monkeypatch.setattr(loading, "encode", encode)
    monkeypatch.setattr(loading, "table_fingerprint", encode)
    with pytest.raises(LoadError, match=r"\(a, x\) occurs 3 times \(rows 1 and 5\): .*which drops 2 rows\."):
        db.load("Did", source, types=["person", "thing"], **options)
    assert db.tables()["predicate"] == []


TEXTS = st.sampled_from(["1", "1.0", "01", "2", "2.50", "2.5", "many", None])


@settings(max_examples=draws(40), deadline=None)
@given(
    st.lists(st.tuples(TEXTS, st.sampled_from([True, False, None])), max_size=8),
    st.booleans(),
    st.booleans(),
    st.sampled_from([encoding.FEW, 0]),
)
@pytest.mark.filterwarnings("ignore:.* are two constants of the type t:sqlrl.errors.LoadWarning")
def test_faults_are_those_that_counting_finds(
    rows: list[tuple[Any, Any]], numeric: bool, signed: bool, few: int
) -> None:
    """Missing constants and truths come first; then what is true and false, and what occurs twice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "FEW", few)
        check_faults(rows, numeric, signed)


def check_faults(rows: list[tuple[Any, Any]], numeric: bool, signed: bool) -> None:
    names = [None if k is None else float(k) if numeric and k != "many" else k for k, _ in rows]
    truths = [truth if signed else True for _, truth in rows]
    strange = any(n is None or (numeric and n == "many") for n in names) or None in truths
    facts = Counter(zip(names, truths, strict=True))
    more = sum(n - 1 for n in facts.values())
    both = any((name, False) in facts for name, truth in facts if truth)
    db = connect()
    if numeric:
        db.load(numeric=["t"])
    table = pa.table(
        {"k": pa.array([k for k, _ in rows], pa.string()), "truth": pa.array([t for _, t in rows], pa.bool_())}
    )
    given_table = table if signed else table.select(["k"])
    options: dict[str, Any] = {"types": ["t"], "truth": "truth" if signed else None, "empty": "allow"}
    if strange or both or more:
        with pytest.raises(LoadError) as caught:
            db.load("P", given_table, **options)
        text = str(caught.value)
        assert ("duplicate facts" in text) == (bool(more) and not strange)
        assert ("contradictory facts" in text) == (both and not strange)
        if more and not strange:
            assert re.search(rf"which drops {more} rows?\.", text)
    else:
        db.load("P", given_table, **options)
        assert db.tables()["facts"] == [len(rows)]
    if not strange and not both:
        db.load("P", given_table, duplicates="drop", **options)
        assert db.tables()["facts"] == [len(facts)]
        assert db.advanced.catalog.store.dropped == more


def test_many_rows_do_not_take_more_than_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes of rows are one array only where the limit has room for it, else slices of it, and the database gets its share back."""
    monkeypatch.setattr(encoding, "FEW", 0)
    rows = pa.table({"who": [f"p{i}" for i in range(1_000)]})
    taken: list[int] = []
    for limit in ("2GB", None):
        db = connect(memory_limit=limit)
        engine = db.advanced.engine
        beside = engine.beside
        monkeypatch.setattr(engine, "beside", lambda size, of=beside: taken.append(size) or of(size))
        share = "select value from duckdb_settings() where name = 'memory_limit'"
        before = db.sql(share).fetchall()
        db.load("P", rows, types=["person"])
        assert db.sql(share).fetchall() == before
        monkeypatch.setattr(type(engine.memory), "arrays", property(lambda _: 8 * 8 * 999))
        db.load("Q", rows, types=["person"])
        monkeypatch.undo()
        monkeypatch.setattr(encoding, "FEW", 0)
    assert taken == [8_000, 4_000] * 2


@pytest.mark.parametrize("types", [["person", "thing"], None])
def test_python_says_how_many_are_dropped(types: list[str] | None, capsys: pytest.CaptureFixture[str]) -> None:
    db = connect(progress=True)
    with pytest.raises(LoadError, match=r'pass duplicates="drop", which drops 2 rows'):
        db.load("Did", ROWS, types=types)
    db.load("Did", ROWS, types=types, duplicates="drop")
    assert "Did: 2 duplicate rows dropped" in capsys.readouterr().err
    if types is not None:
        # Two are there already, and one is new, twice.
        db.load("Did", [("a", "x"), ("b", "x"), ("c", "x"), ("c", "x")], duplicates="drop", mode="append")
        assert "Did: 3 duplicate rows dropped" in capsys.readouterr().err
        db.load("Did", ROWS[:2], types=types, duplicates="drop")
        assert "duplicate" not in capsys.readouterr().err


def test_scripts_say_how_many_are_dropped() -> None:
    db = connect()
    rows = f"FROM (VALUES {', '.join(map(str, ROWS))}) t(who, what)"
    with pytest.raises(ScriptError, match="pass duplicates = 'drop', which drops 2 rows"):
        db.run(f"CREATE PREDICATE Did(person, thing) AS {rows}")
    found = db.run(f"CREATE PREDICATE Did(person, thing) OPTIONS (duplicates = 'drop') AS {rows}")
    assert "CREATE PREDICATE Did: 3 rows, 2 duplicate rows dropped" in str(found)
    found = db.run("CREATE PREDICATE Do(person) OPTIONS (duplicates = 'drop') AS SELECT 'a'")
    assert "dropped" not in str(found)


@pytest.mark.parametrize("json", [False, True])
def test_a_run_of_statements_says_each_number_once(tmp_path: Path, json: bool) -> None:
    script = tmp_path / "load.sql"
    script.write_text(
        "CREATE PREDICATE Met(guest) OPTIONS (duplicates = 'drop') AS FROM (VALUES ('a'), ('a'), ('b')) t(x);\n"
        "CREATE PREDICATE Paid(guest, bill) OPTIONS (duplicates = 'drop') AS SELECT 'g' || k % 4, 7 FROM range(9) t(k);\n"
        "CREATE PREDICATE Met(guest) OPTIONS (duplicates = 'drop', append = true) AS SELECT 'b';\n"
    )
    done = CliRunner().invoke(app, ["run", str(script), *(["--json"] if json else [])])
    assert done.exit_code == 0, done.output
    assert re.findall(r"(\d+) duplicate rows? dropped", done.output) == ["1", "5", "1"]


def test_the_command_line_says_how_many_are_dropped(tmp_path: Path) -> None:
    file = tmp_path / "did.csv"
    file.write_text("who,what\n" + "".join(f"{a},{b}\n" for a, b in ROWS))
    words = ["load", str(tmp_path / "d.duckdb"), "Did", str(file), "--types", "person,thing"]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 1
    assert "pass --duplicates drop, which drops 2 rows" in " ".join(refused.output.split())
    done = CliRunner().invoke(app, [*words, "--duplicates", "drop"])
    assert done.exit_code == 0
    assert "Did: 2 duplicate rows dropped" in done.stderr
