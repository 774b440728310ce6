"""Hashes of rows: what they are, what they see, and how those of earlier versions are checked."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

import sqlrl
from sqlrl.catalog import records
from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.changes import changed_sources
from sqlrl.catalog.fingerprints import (
    can_check_unmarked,
    is_marked,
    numbers_hash,
    rows_fingerprint,
    table_fingerprint,
    unmarked_fingerprint,
)
from sqlrl.catalog.store import Store
from sqlrl.engine.connection import connect
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.errors import InputError, SourceWarning
from tests.learn.stopped import estimator, load, model


def table(name: str) -> exp.Table:
    return exp.table_(name, quoted=True)


def digest(row: dict[str, Any]) -> int:
    """The first eight bytes of MD5 of the row's JSON text."""
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[:8], "big")


@given(
    st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.text(st.characters(exclude_categories=["C"])) | st.none()))
)
def test_a_fingerprint_is_the_sum_of_md5_of_json(rows: list[tuple[int, str | None]]) -> None:
    engine = connect(":memory:")
    engine.connection.execute("create table t (a0 integer, name varchar)")
    if rows:
        engine.connection.executemany("insert into t values (?, ?)", rows)
    expected = sum(digest({"a0": number, "name": text}) for number, text in rows)
    assert table_fingerprint(engine, table("t")) == f"md5:{len(rows)}:{expected if rows else None}"


def mixed(bits: int) -> int:
    """The finalizer of SplitMix64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = ((bits ^ (bits >> shift)) * factor) % 2**64
    return bits ^ (bits >> 31)


def mixed_row(row: dict[str, int | float | bool | None]) -> int:
    """The mixed sum of the mixed bits of each value and the name of its column."""
    total = 0
    for name, value in row.items():
        if value is None:
            bits = 0xD6E8FEB86659FD93
        elif isinstance(value, float):
            [bits] = struct.unpack("<Q", struct.pack("<d", value))
        else:
            bits = int(value) % 2**64
        total += mixed((bits + int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")) % 2**64)
    return mixed(total % 2**64)


@given(
    st.lists(
        st.tuples(
            st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1) | st.none(),
            st.floats(allow_nan=False) | st.none(), st.booleans() | st.none(),
        )
    ),
    st.randoms(),
)  # fmt: skip
def test_a_fingerprint_of_numbers_is_the_sum_of_mixed_rows_in_any_order(rows: list[Any], random: Random) -> None:
    names = ("a0", "a1", "prior", "truth")
    expected = sum(mixed_row(dict(zip(names, row, strict=True))) for row in rows) % 2**64
    engine = connect(":memory:")
    engine.connection.execute("create table t (a0 integer, a1 bigint, prior double, truth boolean)")
    random.shuffle(rows)
    if rows:
        engine.connection.executemany("insert into t values (?, ?, ?, ?)", rows)
    assert numbers_hash(engine, table("t")) == (len(rows), expected)
    # The same numbers in wider columns are no change.
    engine.connection.execute("alter table t alter a0 type bigint")
    assert numbers_hash(engine, table("t")) == (len(rows), expected)


@pytest.mark.parametrize(
    "other",
    [
        "select i as a0, i + 1 as a1 from range(100) as r(i) where i <> 7",
        "select i + 1 as a0, i as a1 from range(100) as r(i)",
        "select i as a1, i + 1 as a0 from range(100) as r(i)",
        "select i as a0, if(i = 3, 5, if(i = 4, 4, i + 1)) as a1 from range(100) as r(i)",
        "select i as a0, if(i = 3, null, i + 1) as a1 from range(100) as r(i)",
        "select i as a0, i + 1 as a1, true as truth from range(100) as r(i)",
        "select * from (select i as a0, i + 1 as a1 from range(99) as r(i)) union all select 98, 99",
    ],
)
def test_other_numbers_have_another_fingerprint(other: str) -> None:
    engine = connect(":memory:")
    found = set()
    for query in ("select i as a0, i + 1 as a1 from range(100) as r(i)", other):
        engine.connection.execute(f"create or replace table t as {query}")
        found.add(numbers_hash(engine, table("t")))
    assert len(found) == 2


def test_equal_rows_of_numbers_do_not_cancel_and_texts_are_no_numbers() -> None:
    engine = connect(":memory:")
    found = set()
    for copies in range(5):
        engine.connection.execute(f"create or replace table t as select 1 as a0, 2 as a1 from range({copies})")
        found.add(numbers_hash(engine, table("t")))
    assert len(found) == 5
    engine.connection.execute("create or replace table t as select 1 as id, 'x' as name")
    assert numbers_hash(engine, table("t")) is None


VALUES = {
    "string": ["a", "bc", None, "", "a"],
    "large_string": ["a", "bc", None, "", "a"],
    "int64": [1, 2, None, -1, 1],
    "bool": [True, False, None, False, True],
    "double": [0.5, float("inf"), None, -0.0, 0.5],
    "date32": [0, 1, None, 20_000, 0],
}


@pytest.mark.parametrize("kind", VALUES)
def test_rows_that_nobody_can_read_again_have_a_fingerprint_that_sees_each_value(kind: str) -> None:
    rows = pa.array(VALUES[kind], pa.type_for_alias(kind))
    whole = pa.table({"a": rows, "b": ["x"] * 5})
    first = rows_fingerprint(whole)
    assert first.startswith("rows:5:")
    assert rows_fingerprint(pa.table({"a": rows, "b": ["x"] * 5}, metadata={"made": "today"})) == first
    padded = pa.concat_tables([whole.slice(1, 2), whole, whole]).combine_chunks()
    assert rows_fingerprint(padded.slice(2, 5)) == first, "the place in a larger table is no content"
    others = [whole.slice(1), whole.take(pa.array([1, 0, 2, 3, 4])), whole.rename_columns(["a", "c"])]
    for place, other in ((0, 1), (1, 0), (1, 2), (3, 0)):
        others.append(whole.take(pa.array([other if i == place else i for i in range(5)])))
    assert len({first, *map(rows_fingerprint, others)}) == 1 + len(others)


def test_rows_of_python_are_loaded_with_one() -> None:
    found = []
    for rows in ([("a", "b")], [("a", "b")], [("a", "c")], pa.table({"x": ["a"], "y": ["b"]})):
        db = sqlrl.connect()
        db.load("P", rows, types=["t", "t"])
        found += db.sql("select fingerprint from sqlrl.source").fetchall()
    assert found[0] == found[1]
    assert len(set(found)) == 3
    assert all(text.startswith("rows:1:") for (text,) in found)


def test_equal_rows_do_not_cancel() -> None:
    engine = connect(":memory:")
    found = set()
    for copies in range(4):
        engine.connection.execute(f"create or replace table t as select 1 as a from range({copies})")
        found.add(table_fingerprint(engine, table("t")))
    assert len(found) == 4


def test_the_zone_of_the_session_is_no_change() -> None:
    own = duckdb.connect()
    own.execute("set timezone = 'UTC'")
    own.execute("create table t as select 'x' as a, timestamptz '2026-01-01 00:00:00+00' as seen")
    catalog = Catalog(connect(own))
    catalog.load("P", "select a from t where seen is not null", types=["s"])
    catalog.load("Q", "t", types=["s"], columns={0: "a"})
    own.execute("set timezone = 'Asia/Kolkata'")
    assert changed_sources(catalog.store) == []
    own.execute("update t set seen = seen + interval 1 second")
    assert [s.predicate for s in changed_sources(catalog.store)] == ["Q"]


def unmark(catalog: Catalog, predicate: str, columns: dict[str, str]) -> str:
    """Put the fingerprint of earlier versions in place of that of a table."""
    record = catalog.store.sources()[predicate, "fact"]
    old = unmarked_fingerprint(catalog.engine, table(record.source), columns)
    with catalog.store.writing():
        catalog.store.save_source(replace(record, fingerprint=old))
        known = catalog.store.predicates()[predicate]
        catalog.store.save_predicate(replace(known, fingerprint=old))
    return old


def test_the_fingerprint_of_an_earlier_version_is_checked_once() -> None:
    own = duckdb.connect()
    own.execute("create table t (a varchar collate nocase)")
    own.execute("insert into t values ('The'), ('the')")
    catalog = Catalog(connect(own))
    catalog.load("P", "t", types=["s"])
    marked = catalog.store.sources()["P", "fact"].fingerprint
    old = unmark(catalog, "P", {"a": "VARCHAR"})
    assert is_marked(marked)
    assert not is_marked(old)
    assert catalog.refresh() == []
    assert catalog.store.sources()["P", "fact"].fingerprint == marked
    assert catalog.store.predicates()["P"].fingerprint == marked
    unmark(catalog, "P", {"a": "VARCHAR"})
    own.execute("update t set a = upper(a) where encode(a) = encode('the')")
    assert catalog.refresh() == ["P"]


EARLIER: dict[str, Callable[[Store], str]] = {
    "unmarked": lambda store: records._hashed(store, records.unmarked_hash),
    "md5, with what models declare": lambda store: f"md5:{records._hashed(store, records.rows_hash, declared=True)}",
    "md5": lambda store: f"md5:{records._hashed(store, records.rows_hash)}",
}


@pytest.fixture(params=EARLIER)
def stopped(request: pytest.FixtureRequest) -> sqlrl.Database:
    """A database with a run that was stopped and has the fingerprint of an earlier version."""
    db = sqlrl.connect()
    load(db)

    def stop(progress: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        estimator("CDA").fit(db, model(), callback=stop, checkpoint=True)
    old = EARLIER[request.param](db.advanced.catalog.store)
    db.sql(f"update sqlrl.run set fingerprint = '{old}'")
    return db


def kept(db: sqlrl.Database) -> str:
    [(fingerprint,)] = db.sql("select fingerprint from sqlrl.run").fetchall()
    return str(fingerprint)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sqlrl.errors.InfeasibleTruthWarning")
def test_a_run_of_an_earlier_version_resumes_and_keeps_the_fingerprint_of_today(stopped: sqlrl.Database) -> None:
    estimator("CDA").fit(stopped, model(), resume=1)
    assert kept(stopped) == stopped.advanced.records.data()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sqlrl.errors.InfeasibleTruthWarning")
def test_a_run_of_an_earlier_version_on_other_data_is_refused(stopped: sqlrl.Database) -> None:
    stopped.load("Word", [("d01", "w1")], types=["doc", "word"], example="doc")
    with pytest.raises(
        InputError, match=r"the data have changed since it began \(fingerprint (md5:)?\w{12} then, mixed:\w{12} now"
    ):
        estimator("CDA").fit(stopped, model(), resume=1)
    assert not kept(stopped).startswith("mixed:")


@pytest.mark.filterwarnings("ignore::sqlrl.errors.InfeasibleTruthWarning")
def test_a_fingerprint_that_this_duckdb_cannot_compute_is_a_warning(
    stopped: sqlrl.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped.sql("update sqlrl.run set fingerprint = '0123456789ab'")
    monkeypatch.setattr(records, "can_check_unmarked", lambda engine: False)
    with pytest.warns(SourceWarning, match="run 1 was begun with an earlier version of DuckDB"):
        estimator("CDA").fit(stopped, model(), resume=1)
    assert kept(stopped) == stopped.advanced.records.data()


def test_what_another_hash_of_the_database_would_be_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = connect(":memory:")
    # If a newer DuckDB has another one, this fails: then files of before cannot be checked, as their warning says.
    assert can_check_unmarked(engine)
    monkeypatch.setattr(
        DuckDBEngine, "fetch", lambda *args, **options: duckdb.sql("select 1::ubigint as h").to_arrow_table()
    )
    assert not can_check_unmarked(engine)
