"""Constants numbered on a server: in the order of names, whatever ranges they are cut into, after those that have ids."""

from __future__ import annotations

import logging
import shutil
from bisect import bisect_right
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from sqlrl.engine.nodes import column, named
from sqlrl.engine.spark import encoding
from sqlrl.engine.spark.encoded_parts import MARK, stored_frame
from sqlrl.engine.spark.encoding import Encoded, Encoding, Key, Known, ParquetToEncode, range_of, ranges, source_columns
from sqlrl.engine.spark.server import Server, Spark
from sqlrl.engine.stored import StoredPart
from sqlrl.errors import EngineError, InputError
from tests.effort import draws

DICTIONARY = pa.schema([("id", pa.int32()), ("name", pa.string())])
AWKWARD = (
    "",
    "a",
    "A",
    "aa",
    "ab",
    "b",
    "é",
    "e\u0301",
    "\U0001f600",
    "\uffff",
    "\x00",
    "'",
    '"',
    "\\",
    "\\n",
    "\n",
    "%",
    "{x}",
    " a",
    "a ",
)
names = st.one_of(st.sampled_from(AWKWARD), st.text("ab\\'\U0001f600\uffffé", max_size=4))


@pytest.fixture
def server(spark: Spark, tmp_path: Path) -> Server:
    return Server(Spark(spark.address, storage=tmp_path / "storage"))


def write(path: Path, **columns: Any) -> str:
    pq.write_table(pa.table(columns), path)
    return str(path)


def rows(part: StoredPart | None, server: Server) -> list[tuple[Any, ...]]:
    """The rows of a part, as DuckDB reads them."""
    assert part is not None
    files = part.files(str(server.spark.storage))
    return duckdb.sql(f"FROM read_parquet('{files}', hive_partitioning = false)").fetchall()


def known(*old: str) -> Known:
    """Constants that have ids, one piece for each two."""
    pieces = [old[i : i + 2] for i in range(0, len(old), 2)]
    tables = [
        pa.table({"id": range(2 * i, 2 * i + len(piece)), "name": list(piece)}, schema=DICTIONARY)
        for i, piece in enumerate(pieces)
    ]
    return Known(len(old), lambda: tables)


# ---- ranges ------------------------------------------------------------------------------------------


@given(st.lists(names, max_size=30), st.integers(1, 9))
def test_ranges_are_in_the_order_of_bytes_and_no_more_than_asked_for(sample: list[str], number: int) -> None:
    found = ranges(sample, number)
    assert found == sorted(set(found), key=str.encode)
    assert len(found) < max(number, 2)
    assert set(found) <= set(sample)


@settings(max_examples=draws(15))
@given(st.lists(names, min_size=1, max_size=12, unique=True), st.lists(names, max_size=12, unique=True))
def test_a_search_by_halves_finds_the_range_of_a_name(found: list[str], cuts: list[str]) -> None:
    boundaries = sorted(cuts, key=str.encode)
    values = [7 * i for i in range(len(boundaries) + 1)]
    query = exp.select(column("name"), named(range_of(column("name"), boundaries, values), "v"))
    with duckdb.connect() as connection:
        connection.register("t", pa.table({"name": found}))
        rows = connection.sql(query.from_("t").sql("duckdb")).fetchall()
    keys = [cut.encode() for cut in boundaries]
    assert dict(rows) == {name: 7 * bisect_right(keys, name.encode()) for name in found}


# ---- ids ---------------------------------------------------------------------------------------------


@settings(max_examples=draws(8))
@given(st.lists(names, max_size=4, unique=True), st.lists(st.tuples(names, names), min_size=1, max_size=25))
@example(["b"], [(name, "b") for name in AWKWARD])
def test_ids_follow_names_after_those_known(
    spark: Spark, tmp_path_factory: pytest.TempPathFactory, old: list[str], facts: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("encoding")
    # Known ones are written in pieces, as they are more than a session holds.
    server = Server(Spark(spark.address, storage=folder / "storage", resident=1))
    path = write(folder / "facts.parquet", x=[x for x, _ in facts], y=[y for _, y in facts])
    wanted = ParquetToEncode(path, (Key("a0", "x", "t"), Key("a1", "y", "t")))
    with Encoding(server, most=0, task=2) as work:
        tally = work.tally(wanted)
        found = work.encode(wanted, tally, {"t": known(*old)})
        work.finish()
    new = sorted({name for fact in facts for name in fact} - set(old), key=str.encode)
    ids = {name: i for i, name in enumerate([*old, *new])}
    added = found.names["t"]
    assert added.new == len(new)
    assert sorted(rows(added.added[0], server) if new else []) == [(ids[name], name) for name in new]
    # Where new ones stay in the storage, those before are there, too.
    assert [row for part in added.before for row in sorted(rows(part, server))] == (
        [(i, name) for i, name in enumerate(old)] if new else []
    )
    assert sorted(rows(found.part, server)) == sorted((ids[x], ids[y]) for x, y in facts)
    assert (tally.rows, tally.kept_rows, found.rows) == (len(facts), len(facts), len(facts))


@pytest.mark.parametrize(("task", "ranges_", "least", "most"), [(100, 10, 100, 100), (350, 3, 334, 500)])
def test_no_task_has_all_names(
    task: int, ranges_: int, least: int, most: int, server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "x.parquet", x=[f"w{i * 7919 % 1000:03d}" for i in range(1000)])
    wanted = ParquetToEncode(path, (Key("a0", "x", "word"),))
    with caplog.at_level(logging.INFO), Encoding(server, most=10_000, task=task) as work:
        found = work.encode(wanted, work.tally(wanted), {"word": Known()})
        work.finish()
    (text,) = [record.message for record in caplog.records if "ranges" in record.message]
    names, number, largest = [int(word) for word in text.split() if word.isdigit()]
    assert (names, number) == (1000, ranges_)
    # Those of 350 are cut by a sample.
    assert least <= largest <= most
    assert sorted(rows(found.names["word"].added[0], server)) == [(i, f"w{i:03d}") for i in range(1000)]


def test_folders_hold_ranges_of_the_first_key(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "ROWS", 30)
    path = write(tmp_path / "x.parquet", x=[*(f"w{i * 7919 % 50:03d}" for i in range(100)), None])
    found, _ = encoded(server, path)
    assert found.part is not None
    folders = sorted(Path(found.part.path(str(server.spark.storage))).glob("range=*"))
    assert [folder.name for folder in folders] == [f"range={i}" for i in range(4)]
    held = [duckdb.sql(f"SELECT DISTINCT a0 FROM '{folder}/*.parquet' ORDER BY 1").fetchall() for folder in folders]
    assert [[i for (i,) in part if i is not None] for part in held] == [
        list(range(start, min(start + 13, 50))) for start in range(0, 50, 13)
    ]
    assert len(rows(found.part, server)) == 101


def encoded(server: Server, path: str, *, finish: bool = True, **options: Any) -> tuple[Encoded, Encoding]:
    wanted = ParquetToEncode(path, (Key("a0", "x", "t"),), **options)
    with Encoding(server, most=1000) as work:
        found = work.encode(wanted, work.tally(wanted), {"t": Known()})
        if finish:
            work.finish()
    return found, work


@pytest.mark.slow
def test_what_is_wrong_with_rows_is_counted(server: Server, tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.parquet", x=["b", "b", "a", "a", "c", None, None], t=[True, True, True, False, None, True, True]
    )
    found, _ = encoded(server, path, truth="t")
    assert found.repeated == (1, [{"times": 2, "a0": "b"}])
    assert found.contradictory == (1, [{"times": 2, "a0": "a"}])
    wanted = ParquetToEncode(path, (Key("a0", "x", "t"),), "t")
    with Encoding(server, most=1000) as work:
        tally = work.tally(wanted)
    assert (tally.rows, tally.kept_rows, tally.missing) == (7, 5, {"a0": 2, "truth": 1})
    clean, _ = encoded(server, path, truth="t", complete=True, distinct=True)
    assert (clean.rows, clean.repeated, clean.contradictory[0]) == (4, (0, []), 1)


def test_a_fingerprint_knows_no_order_and_where_null_stands(server: Server, tmp_path: Path) -> None:
    def found(*pairs: tuple[str | None, str | None]) -> str:
        path = write(tmp_path / "x.parquet", x=pa.array([x for x, _ in pairs], pa.string()), y=pa.array([y for _, y in pairs], pa.string()))  # fmt: skip
        with Encoding(server, most=0) as work:
            return work.tally(ParquetToEncode(path, (Key("a0", "x", "t"), Key("a1", "y", "t")))).fingerprint

    assert found(("a", "b"), ("c", None)) == found(("c", None), ("a", "b"))
    assert (
        len({found(("a", None)), found((None, "a")), found(("a", "a")), found(("a", None), ("a", None)), found()}) == 5
    )


def test_columns_of_what_is_not_there(server: Server, tmp_path: Path) -> None:
    path = write(tmp_path / 'a"b.parquet', **{"a b`c": ["x"], "e.f": [1]})
    assert source_columns(server, path) == {"a b`c": "string", "e.f": "bigint"}
    wanted = ParquetToEncode(path, (Key("a0", "a b`c", "t"), Key("a1", "e.f", "t")))
    with Encoding(server, most=5) as work:
        found = work.encode(wanted, work.tally(wanted), {"t": Known()})
        work.finish()
    assert rows(found.part, server) == [(1, 0)]
    assert nothing_there(server, str(tmp_path / "nowhere"))


def nothing_there(server: Server, path: str) -> bool:
    """Whether a server says that there is no Parquet: some find no columns, others that there is no such path."""
    try:
        return source_columns(server, path) == {}
    except EngineError as error:
        return "PATH_NOT_FOUND" in error.reason


# ---- parts -------------------------------------------------------------------------------------------


def test_what_is_not_marked_is_emptied_and_not_read(server: Server, tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", x=["a", "b"])
    found, work = encoded(server, path, finish=False)
    assert found.part is not None
    # Some servers write a file without rows.
    assert not sum(pq.read_metadata(file).num_rows for file in Path(str(server.spark.storage)).rglob("*.parquet"))
    with pytest.raises(InputError, match="is not there, or not complete: open the database with the storage"):
        stored_frame(server, [found.part], pa.schema([("a0", pa.int32())]))
    assert not [view.name for view in server.session.catalog.listTables() if view.name in work._shown]


def test_parts_that_lost_files_or_are_of_another_version_are_refused(server: Server, tmp_path: Path) -> None:
    found, work = encoded(server, write(tmp_path / "x.parquet", x=["a", "b"]))
    assert found.part is not None
    schema, folder = pa.schema([("a0", pa.int32())]), Path(found.part.path(str(server.spark.storage)))
    assert stored_frame(server, [found.part], schema).count() == 2
    with pytest.raises(InputError, match=r"into its storage, and this session of it has none: give the same one"):
        stored_frame(Server(Spark(server.spark.address)), [found.part], schema)
    for file in folder.rglob("*.parquet"):
        file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(
        InputError, match=r"(?s)cannot be read .*: files of it are damaged, or .* load the source again"
    ):
        stored_frame(server, [found.part], schema)
    for file in folder.rglob("*.parquet"):
        file.unlink()
    with pytest.raises(InputError, match="has 0 rows of 2: files of it are missing"):
        stored_frame(server, [found.part], schema)
    done = folder.parent / "done"
    shutil.rmtree(done)
    done.mkdir()
    pq.write_table(pa.table({"part": ["facts"], "format": [99], "rows": [2]}, schema=MARK), done / "x.parquet")
    with pytest.raises(
        InputError, match=r"another version of sqlrl \(format 99, this one has 1\): load its source again"
    ):
        stored_frame(server, [found.part], schema)
    assert work.attempt == found.part.attempt


def test_a_storage_that_cannot_be_written_is_named(spark: Spark, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    said = r"(?s)cannot write .*file/encoded/.*Give a storage= that it can write"
    with (
        Encoding(Server(Spark(spark.address, storage=tmp_path / "file")), most=0) as work,
        pytest.raises(InputError, match=said),
    ):
        work.begin()
