"""What DuckDB raises while it reads a source of the user's names the source; what has other causes is left as it is."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlrl
from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.sources import open_source
from sqlrl.engine.connection import connect
from sqlrl.errors import EngineError, LoadError, SqlrlError, brief
from sqlrl.logic.mln import parse_mln


@pytest.fixture
def catalog() -> Catalog:
    catalog = Catalog(connect(":memory:", threads=1))
    connection = catalog.engine.connection
    connection.execute("create table raw as select 'x' as a; create view v as select cast(a as integer) as a from raw")
    connection.execute("create view w as select error('broken ' || a) as a from raw; create view gone as from raw")
    return catalog


@pytest.mark.parametrize(
    "compression", ["snappy", *(pytest.param(name, marks=pytest.mark.slow) for name in ("zstd", "none"))]
)
def test_damage_anywhere_in_a_parquet_file_is_a_fault_of_that_file(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"a": [f"name{i}" for i in range(20_000)]}), path, compression=compression)
    content, chance = path.read_bytes(), random.Random(7)
    refusals: list[LoadError] = []
    catalog = Catalog(connect(":memory:", threads=1))
    for _ in range(12):
        damaged = bytearray(content)
        start = chance.randrange(4, len(content) - 3000)
        damaged[start : start + 1500] = chance.randbytes(1500)
        path.write_bytes(bytes(damaged))
        try:
            catalog.load("P", path, types=["s"] if chance.random() < 0.5 else None, duplicates="drop")
        except LoadError as error:
            refusals.append(error)
    assert refusals
    start_of_all = f"{path} cannot be read, it may be damaged: write it again or name another file."
    assert [str(error) for error in refusals if not str(error).startswith(start_of_all)] == []
    assert [error for error in refusals if not isinstance(error.__cause__, EngineError)] == []


@pytest.mark.parametrize("types", [["s"], None])
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("v", r"^the view v cannot be read: Conversion Error: Could not convert string 'x'.*\nRead it by itself"),
        ("w", r"^the view w cannot be read: .*broken x"),
        ("select cast(a as integer) as a from raw", r"^the query 'select cast.*' fails: Conversion Error.*\nRun it by"),
    ],
)
def test_a_view_or_query_that_fails_is_named(
    catalog: Catalog, source: str, message: str, types: list[str] | None
) -> None:
    before = catalog.engine.connection.execute("select count(*) from duckdb_tables()").fetchall()
    with pytest.raises(LoadError, match=message) as caught:
        catalog.load("P", source, types=types)
    assert "LINE" not in str(caught.value)
    assert catalog.predicates() == {}
    assert catalog.engine.connection.execute("select count(*) from duckdb_tables()").fetchall() == before


def test_relations_and_frames_that_fail_are_named(catalog: Catalog) -> None:
    relation = catalog.engine.connection.sql("select cast(a as integer) as a from raw")
    with pytest.raises(LoadError, match=r"^a relation cannot be read: Conversion Error"):
        catalog.load("P", relation, types=["s"])
    frame = pd.DataFrame({"a": [1 + 2j]})
    with pytest.raises(LoadError, match=r"^row 1 of a pandas frame has .* type complex in column 'a', .*: convert it"):
        catalog.load("P", frame, types=["s"])


def test_scopes_and_examples_say_the_same(catalog: Catalog) -> None:
    with pytest.raises(LoadError, match="the view v cannot be read"):
        catalog.scope("P", "v")


def test_what_is_no_fault_of_the_source_is_not_blamed_on_it(catalog: Catalog) -> None:
    failures: list[Any] = [
        EngineError("encode", "Conversion Error: elsewhere", 'SELECT * FROM "other"'),
        EngineError("encode", "IO Error: No space left on device", 'SELECT * FROM "memory"."main"."raw"'),
    ]
    full = EngineError("encode", "Out of Memory", 'SELECT * FROM "memory"."main"."raw"')
    full.__cause__ = duckdb.OutOfMemoryException("full")
    for failure in [*failures, full]:
        with pytest.raises(EngineError) as caught, open_source(catalog.engine, "raw"):
            raise failure
        assert caught.value is failure
    blamed = EngineError("encode", "IO Error: read failed", 'SELECT * FROM "memory"."main"."raw"')
    with (
        pytest.raises(LoadError, match="the table raw cannot be read: IO Error: read failed"),
        open_source(catalog.engine, "raw"),
    ):
        raise blamed


def test_long_messages_of_the_database_are_cut_and_kept_in_full(
    catalog: Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    columns = ", ".join(f"{i} as column_{i}" for i in range(3000))
    with caplog.at_level("INFO", logger="sqlrl"), pytest.raises(SqlrlError) as caught:
        catalog.engine.execute_sql(f"select {columns} from nowhere", step="try")
    error = caught.value
    assert isinstance(error, EngineError)
    assert len(str(error)) < 2500
    assert str(error).startswith("try: Catalog Error: Table with name nowhere does not exist!")
    assert "column_2999" in error.sql
    assert isinstance(error.__cause__, duckdb.Error)
    assert "column_2999" in caplog.text


def test_hints_for_functions_of_the_database_are_left_out() -> None:
    text = "Invalid Input Error: CSV Error\n\nPossible fixes:\n* Disable the parser's strict mode\n\n  file = a\n" * 2
    assert brief(text) == "Invalid Input Error: CSV Error"
    assert brief("\n".join(map(str, range(20)))) == "0\n1\n2\n3\n4\n5\n..."
    assert brief("x" * 1000) == "x" * 297 + "..."


LONG = "select " + ", ".join(f"'{'x' * 40}{i}' as c{i}" for i in range(8))


def test_a_query_of_one_line_may_be_longer_than_the_name_of_a_file(catalog: Catalog) -> None:
    assert len(LONG) > 255
    for text in (LONG, f"({LONG})", f"select * from ({LONG}) -- p.csv"):
        catalog.load("P", text, types=[f"t{i}" for i in range(8)])
        assert catalog.predicates()["P"].rows == 1
    catalog.scope("P", LONG)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x" * 300, r"is neither a file, nor a table or view, nor a query"),
        ("x" * 300 + ".csv", r"there is no such file"),
        ("x" * 300 + "*.parquet", r"there is no such file"),
        ("~no such user/x.csv", r"^~no such user/x\.csv: there is no such file"),
    ],
)
def test_names_that_no_file_can_have_are_refused(catalog: Catalog, text: str, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        catalog.load("P", text)
    with pytest.raises(LoadError):
        catalog.load_evidence(sqlrl.Evidence(text, parse_mln("P(s)\n1 P(x)")))
