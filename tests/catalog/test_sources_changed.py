"""Sources that change or vanish after they were loaded."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlrl
from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.changes import quick_changes
from sqlrl.catalog.fingerprints import FileState, changed_since, file_fingerprint, parse_fingerprint
from sqlrl.engine.connection import connect
from sqlrl.errors import CatalogError, LoadError, SourceWarning
from sqlrl.logic.mln import parse_mln

MODEL = parse_mln("P(s)\nQ(s)\n1 P(x) => Q(x)", query=("Q",))


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(connect(":memory:", threads=1))


def bound(catalog: Catalog) -> int:
    """Bind the model and return the number of constants."""
    return catalog.bind(MODEL, training=False).types["s"].size


def write(path: Path, *names: str) -> Path:
    """Write names to a file of the kind that its ending says."""
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"a": list(names)}), path)
    else:
        path.write_text("a\n" + "".join(f"{name}\n" for name in names))
    return path


@pytest.mark.parametrize("ending", ["csv", pytest.param("parquet", marks=pytest.mark.slow)])
def test_a_changed_file_is_refused_until_it_is_loaded_again(catalog: Catalog, tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"p.{ending}", "x", "y")
    catalog.load("P", path, types=["s"])
    assert bound(catalog) == 2
    size = path.stat().st_size
    write(path, "x", "y", "zzzz")
    message = rf"P was loaded from .*p\.{ending}, which had {size:,} bytes, written \d{{4}}-.* and now has {path.stat().st_size:,} bytes"
    with pytest.raises(CatalogError, match=rf"{message}, written .*: call refresh\(\)"):
        bound(catalog)
    assert catalog.refresh() == ["P"]
    assert bound(catalog) == 3


def test_a_file_of_the_same_size_is_noticed_by_its_time(catalog: Catalog, tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", "x")
    catalog.load("P", path, types=["s"])
    write(path, "y")
    os.utime(path, ns=(1, 10**18))
    with pytest.raises(CatalogError, match="changed after it was loaded"):
        bound(catalog)
    write(path, "x")
    os.utime(path, ns=(1, 2 * 10**18))
    assert bound(catalog) == 1
    assert catalog.refresh() == []


def test_refresh_reads_what_a_glance_cannot_tell(catalog: Catalog, tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", "x")
    time = path.stat().st_mtime_ns
    catalog.load("P", path, types=["s"])
    write(path, "y")
    os.utime(path, ns=(time, time))
    assert bound(catalog) == 1
    assert catalog.refresh() == ["P"]
    catalog.engine.connection.execute("create table t as select 'u' as a; create view v as select * from t")
    catalog.load("P", "v", types=["s"])
    catalog.engine.connection.execute("update t set a = 'w'")
    assert bound(catalog) == 1
    assert catalog.refresh() == ["P"]


def test_a_file_that_is_gone_is_a_warning_since_its_facts_are_kept(catalog: Catalog, tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", "x", "y")
    catalog.load("P", path, types=["s"])
    path.unlink()
    with pytest.warns(
        SourceWarning, match=r"p\.csv, from which P was loaded, is gone: what was loaded from it is used"
    ):
        assert bound(catalog) == 2
    with pytest.raises(LoadError, match="there is no such file"):
        catalog.refresh()


def test_another_working_directory_is_no_change(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    write(here / "p.csv", "x")
    write(there / "p.csv", "other")
    monkeypatch.chdir(here)
    catalog.load("P", "p.csv", types=["s"])
    monkeypatch.chdir(there)
    assert bound(catalog) == 1
    assert catalog.refresh() == []


@pytest.mark.parametrize("ending", ["parquet", pytest.param("csv", marks=pytest.mark.slow)])
def test_a_pattern_changes_with_its_files(catalog: Catalog, tmp_path: Path, ending: str) -> None:
    write(tmp_path / f"a.{ending}", "x")
    catalog.load("P", str(tmp_path / f"*.{ending}"), types=["s"])
    assert bound(catalog) == 1
    write(tmp_path / f"b.{ending}", "y")
    with pytest.raises(CatalogError, match=r"which had 1 file, and now has 2 files, of which some are new or changed"):
        bound(catalog)
    assert catalog.refresh() == ["P"]
    assert bound(catalog) == 2
    for file in tmp_path.iterdir():
        file.unlink()
    with pytest.warns(SourceWarning, match="is gone"):
        assert bound(catalog) == 2


def test_the_rows_of_a_table_are_counted(tmp_path: Path) -> None:
    own = duckdb.connect(str(tmp_path / "own.duckdb"))
    own.execute("create table facts as select 'x' as a union all select 'y'")
    catalog = Catalog(connect(own))
    catalog.load("P", "facts", types=["s"])
    assert bound(catalog) == 2
    own.execute("insert into facts values ('z')")
    with pytest.raises(
        CatalogError, match=r"P was loaded from facts, which had 2 rows, and now has 3 rows: call refresh"
    ):
        bound(catalog)
    assert catalog.refresh() == ["P"]
    assert bound(catalog) == 3
    own.execute("drop table facts")
    assert bound(catalog) == 3


@pytest.mark.parametrize("name", ["here", "here, and there"])
def test_changed_evidence_is_to_be_loaded_again(catalog: Catalog, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    path, other = folder / "e.db", folder / "f.db"
    path.write_text("P(A)\n")
    other.write_text("P(B)\n")
    catalog.load_evidence(sqlrl.Evidence([path, other], MODEL))
    assert bound(catalog) == 2
    other.write_text("P(B)\nP(C)\n")
    with pytest.raises(CatalogError, match=r"which had 5 bytes.*: load evidence again with Evidence\."):
        bound(catalog)
    catalog.load_evidence(sqlrl.Evidence([path, other], MODEL))
    assert bound(catalog) == 3
    other.unlink()
    with pytest.warns(SourceWarning, match="is gone"):
        assert bound(catalog) == 3


def test_fingerprints_of_earlier_versions_are_understood(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", "x")
    now = parse_fingerprint(file_fingerprint(path))
    assert now is not None
    content_alone = f"{now.size}:{now.content}"
    assert parse_fingerprint(content_alone) == FileState(now.size, None, now.content)
    time_alone = f"{now.size}:{now.time}"
    for earlier in (content_alone, time_alone):
        assert changed_since(path, earlier, thorough=False) is None
        assert changed_since(path, earlier, thorough=True) is None
    write(path, "y")
    os.utime(path, ns=(1, 1))
    assert changed_since(path, content_alone, thorough=False) is not None
    assert changed_since(path, time_alone, thorough=False) is not None


def test_refresh_maps_columns_as_the_load_did(catalog: Catalog) -> None:
    mappings: list[dict[str | int, str | int]] = [
        {0: "b", 1: "a"},
        {1: 0, 0: "b"},
        {0: "b", "l": "a"},
        {"l": 0, "k": 1},
    ]
    run = catalog.engine.connection.execute
    for columns in mappings:
        run("create or replace table t as select 'x' as a, 'y' as b")
        catalog.load("P", "t", types=["k", "l"], columns=columns)
        before = catalog.store.sources()["P", "fact"].options
        run("insert into t values ('u', 'v')")
        assert catalog.refresh() == ["P"]
        assert run('from sqlrl."named_P" order by all').fetchall() == [("v", "u"), ("y", "x")], columns
        assert catalog.store.sources()["P", "fact"].options == before


@pytest.mark.slow
def test_a_glance_reads_no_file(catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(20):
        catalog.load(f"P{i}", write(tmp_path / f"p{i}.csv", "x"), types=["s"])
    records = list(catalog.store.sources().values())
    done: list[str] = []
    monkeypatch.setattr(Path, "read_bytes", lambda path: done.append(str(path)) or b"")
    monkeypatch.setattr(catalog.engine, "fetch", lambda query, *, step: done.append(step))
    assert quick_changes(catalog.engine, records) == []
    assert len(records) == 20
    assert done == []


@pytest.mark.parametrize("kind", ["table", "view"])
def test_a_table_that_is_gone_is_named_with_its_predicate(catalog: Catalog, kind: str) -> None:
    # DuckDB was asked whether its name was a query, and its syntax error was the message.
    catalog.engine.connection.execute(f"create {kind} edge as select 'a' as a")
    catalog.load("P", "edge", types=["s"])
    catalog.engine.connection.execute(f"drop {kind} edge")
    with pytest.raises(LoadError) as caught:
        catalog.refresh()
    assert str(caught.value) == (
        f"P was loaded from the {kind} edge, which is gone: make it again, or load P from something else; until then what was loaded "
        "is used."
    )
    assert bound(catalog) == 1
    catalog.engine.connection.execute(f"create {kind} edge as select 'b' as a union select 'c'")
    assert catalog.refresh() == ["P"]


def test_a_file_of_a_pattern_is_noticed_by_its_time(catalog: Catalog, tmp_path: Path) -> None:
    write(tmp_path / "p1.csv", "x")
    path = write(tmp_path / "p2.csv", "y")
    catalog.load("P", tmp_path / "p*.csv", types=["s"])
    assert bound(catalog) == 2
    write(path, "x")
    os.utime(path, ns=(1, 10**18))
    with pytest.raises(CatalogError, match="now has 2 files, of which some are new or changed"):
        bound(catalog)
