"""Types of dates cut into pieces: bisection as the oracle, edges that are kept with data and models, views of models, and what is refused."""

# ruff: noqa: DTZ001 - times without a zone are what is cut

from __future__ import annotations

import bisect
import sqlite3
from datetime import UTC, date, datetime, time, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import CatalogError, LoadError
from sqlrl.logic.bins import parsed_date, read_pieces
from tests import postgres as on_postgres
from tests.effort import draws
from tests.spark import connected

TYPES = ["item", "day"]
TEXT = "On(item, day)\nGood(item)\nOn(i, +d) => Good(i)\nGood(i)"
DAYS = [date(2023, 12, 25) + timedelta(days=9 * k) for k in range(12)]

NEAR = st.datetimes(datetime(2024, 2, 27, 22), datetime(2024, 3, 1, 2)).map(lambda x: x.replace(microsecond=0))
MOMENTS = st.one_of(st.datetimes(), NEAR, st.dates().map(lambda d: datetime.combine(d, time())))


def connect() -> sqlrl.Database:
    return sqlrl.connect(progress=False)


def text_of(moment: datetime) -> str:
    """Write a time as the names of pieces do: by a way of its own."""
    day = f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}"
    if moment.time() == time():
        return day
    clock = f"{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}"
    return f"{day} {clock}" + (f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else "")


def right_piece(edges: list[datetime], moment: datetime) -> str:
    """Find the piece of a time by bisection."""
    place = bisect.bisect_right(edges, moment)
    low = f"[{text_of(edges[place - 1])}" if place else "(-inf"
    return f"day{low},{text_of(edges[place]) if place < len(edges) else 'inf'})"


def pieces(db: sqlrl.Database, predicate: str = "On") -> list[str]:
    query = f"select day from sqlrl.named_{predicate} order by item[2:]::int"
    return [row[0] for row in db.sql(query).fetchall()]


def as_given(moments: list[datetime], form: str) -> Any:
    """Return rows of times in a form in which users have them."""
    items = [f"i{k}" for k in range(len(moments))]
    if form == "objects":
        return list(zip(items, moments, strict=True))
    if form == "texts":
        return list(zip(items, (x.isoformat("T" if k % 2 else " ") for k, x in enumerate(moments)), strict=True))
    kind = pa.date32() if form == "dates" else pa.timestamp("us")
    days = [x.date() if form == "dates" else x for x in moments]
    return pa.table({"item": items, "day": pa.array(days, kind)})


@settings(max_examples=draws(25), deadline=None)
@given(
    st.lists(MOMENTS, min_size=1, max_size=12),
    st.lists(MOMENTS, min_size=1, max_size=5, unique=True).map(sorted),
    st.sampled_from(["objects", "texts", "dates", "timestamps"]),
    st.sampled_from(["objects", "texts", "numpy"]),
)
def test_pieces_are_those_that_bisection_finds(
    moments: list[datetime], edges: list[datetime], form: str, written: str
) -> None:
    # An edge is also among the values, half the time.
    moments = [*moments, *edges[: len(moments) // 2]]
    ways: dict[str, Any] = {
        "objects": edges,
        "texts": [x.isoformat() for x in edges],
        "numpy": np.array(edges, dtype="datetime64[us]"),
    }
    db = connect()
    db.load("On", as_given(moments, form), types=TYPES, bins={"day": ways[written]})
    meant = [datetime.combine(x.date(), time()) if form == "dates" else x for x in moments]
    assert pieces(db) == [right_piece(edges, x) for x in meant]


@settings(max_examples=draws(15), deadline=None)
@given(st.lists(MOMENTS, min_size=6, max_size=30, unique=True), st.integers(2, 5), st.sampled_from(["objects", "texts", "timestamps"]))  # fmt: skip
def test_quantiles_are_those_of_sorted_times(moments: list[datetime], count: int, form: str) -> None:
    db = connect()
    db.load("On", as_given(moments, form), types=TYPES, bins={"day": count})
    ordered = sorted(moments)
    edges = [ordered[k * len(ordered) // count] for k in range(1, count)]
    assert pieces(db) == [right_piece(edges, x) for x in moments]


def test_infinite_and_distant_dates_lie_in_the_outer_pieces_and_choose_no_edge() -> None:
    days = ["-infinity", "0044-03-15 (BC)", "2024-01-01", "2024-01-02", "2024-01-03", "12024-01-01", "infinity"]
    db = connect()
    source = " union all ".join(f"select 'i{k}' as item, date '{x}' as day" for k, x in enumerate(days))
    db.load("On", source, types=TYPES, bins={"day": 3})
    first, second, third = "day(-inf,2024-01-02)", "day[2024-01-02,2024-01-03)", "day[2024-01-03,inf)"
    assert pieces(db) == [first] * 3 + [second] + [third] * 3


@pytest.mark.parametrize("ending", ["mln", "json"])
def test_a_model_cuts_other_dates_where_it_was_learned(ending: str, tmp_path: Path) -> None:
    db = connect()
    db.load("On", [(f"i{k}", x) for k, x in enumerate(DAYS)], types=TYPES, bins={"day": [date(2024, 1, 31), "2024-03-01 12:30"]})  # fmt: skip
    db.load("Good", [(f"i{k}",) for k in (0, 1, 2, 9)], types=["item"], target=True)
    learned = sqlrl.Likelihood(penalty="l2").fit(db, sqlrl.parse_mln(TEXT)).model_
    assert learned.bins == {"day": ("2024-01-31", "2024-03-01 12:30:00")}
    sqlrl.save_model(learned, tmp_path / f"m.{ending}")
    again = sqlrl.read_model(tmp_path / f"m.{ending}")
    assert again == learned
    if ending == "json":
        path = tmp_path / "m.json"
        assert '"version": 4' in path.read_text()
        older = tmp_path / "older.json"
        older.write_text(path.read_text().replace('"version": 4', '"version": 2'))
        assert sqlrl.read_model(older) == learned
    other = connect()
    other.load("On", "select 'i0' as item, timestamp '2024-03-01 12:29:59.999999' as day", types=TYPES, bins=again)
    assert pieces(other) == ["day[2024-01-31,2024-03-01 12:30:00)"]
    # What waits for its types takes the model's edges, and so do rows that come later.
    waiting = connect()
    waiting.load("On", [("i0", date(2024, 1, 30)), ("i1", date(2024, 3, 2))])
    waiting.load("Good", [("i0",)], target=True)
    waiting.advanced.bind(again)
    waiting.load("On", [("i2", "2024-01-31")], mode="append")
    assert pieces(waiting) == ["day(-inf,2024-01-31)", "day[2024-03-01 12:30:00,inf)", "day[2024-01-31,2024-03-01 12:30:00)"]  # fmt: skip
    uncut = connect()
    uncut.load("On", [("i0", date(2024, 1, 30))], types=TYPES)
    with pytest.raises(
        CatalogError, match="the model cuts day into pieces at 2024-01-31, 2024-03-01 12:30:00, and the data of On"
    ):
        uncut.advanced.bind(again)


@pytest.mark.parametrize("constant", ["2024-05-01", "2024-05-01T00:00"])
def test_a_date_in_a_rule_names_its_piece(constant: str) -> None:
    db = connect()
    db.load("On", [("i0", DAYS[0])], types=TYPES, bins={"day": ["2024-02-01"]})
    db.load("Good", [("i0",)], types=["item"], target=True)
    model = sqlrl.parse_mln(f'On(item, day)\nGood(item)\n1 On(i, "{constant}") => Good(i)')
    with pytest.raises(CatalogError, match=r"whose dates are cut into pieces: write \"day\[2024-02-01,inf\)\""):
        db.advanced.bind(model)


EDGES = [datetime(2024, 1, 31), datetime(2024, 2, 29, 12), datetime(2024, 3, 31, 2, 30), datetime(2024, 6, 30, 0, 0, 1, 500_000)]  # fmt: skip
AROUND = [x + timedelta(microseconds=us) for x in EDGES for us in (-500_000, 0, 500_000)]


def exported(dialect: str) -> tuple[sqlrl.ExportedSQL, dict[str, float]]:
    """Export a model with a weight for each piece, and score each time by bisection."""
    db = connect()
    table = pa.table({"item": [f"i{k}" for k in range(len(AROUND))], "day": pa.array(AROUND, pa.timestamp("us"))})
    db.load("On", table, types=TYPES, bins={"day": EDGES})
    weights = {right_piece(EDGES, x): 2.0**k for k, x in enumerate([datetime(2000, 1, 1), *EDGES])}
    lines = "".join(f'{w} On(i, "{piece}") => Good(i)\n' for piece, w in weights.items())
    model = sqlrl.parse_mln(f"On(item, day)\nGood(item)\n{lines}", query=["Good"])
    return db.export(model, format="sql", dialect=dialect, options=sqlrl.SQLOptions(tables={"On": "happened"})), {
        f"i{k}": weights[right_piece(EDGES, x)] for k, x in enumerate(AROUND)
    }


QUESTION = "select item, log_odds from good_scores"


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
@pytest.mark.parametrize("form", ["timestamp", "text"])
def test_views_cut_dates_where_the_model_cuts_them(dialect: str, form: str) -> None:
    view, right = exported(dialect)
    rows = [(f"i{k}", x.isoformat("T" if form == "text" and k % 2 else " ")) for k, x in enumerate(AROUND)]
    make = f"create table happened (item text, day {form});"
    insert = f"insert into happened values {', '.join(map(str, rows))};"
    found: Any
    if dialect == "postgres":
        if not on_postgres.installed():
            pytest.skip("no PostgreSQL is installed")
        with on_postgres.server() as served:
            found = served.run(f"set client_min_messages = warning;\n{make}{insert}\n{view.text}{QUESTION};")
    elif dialect == "duckdb":
        with duckdb.connect() as con:
            con.execute(make + insert + view.text)
            found = con.execute(QUESTION).fetchall()
    else:
        lite = sqlite3.connect(":memory:")
        lite.executescript(make + insert + view.text)
        found = lite.execute(QUESTION).fetchall()
        lite.close()
    assert {row[0]: float(row[1]) for row in found} == right


@pytest.mark.slow  # Spark starts.
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_views_cut_dates_in_spark_also_in_hours_that_do_not_exist(zone: str, spark_address: str) -> None:
    view, right = exported("spark")
    with connected(spark_address) as spark:
        session = spark.address
        before = session.conf.get("spark.sql.session.timeZone")
        session.conf.set("spark.sql.session.timeZone", zone)
        rows = ", ".join(f"('i{k}', TIMESTAMP_NTZ '{x.isoformat(' ')}')" for k, x in enumerate(AROUND))
        session.sql(f"CREATE OR REPLACE TEMPORARY VIEW happened AS SELECT * FROM VALUES {rows} AS t(item, day)")
        found = session.sql(view.query).toArrow().to_pylist()
        session.conf.set("spark.sql.session.timeZone", before)
        session.sql("DROP VIEW happened")
    assert {row["item"]: row["log_odds"] for row in found} == right


@pytest.mark.parametrize(
    ("rows", "bins", "message"),
    [
        ("dates", [10, 20], "'day' has dates, and bins= cuts it at 10, 20: give edges that are dates, or load a query that makes numbers of it, such as year(day)"),
        ("numbers", ["2024-01-31"], "'day' has numbers, and bins= cuts it at 2024-01-31: give edges that are numbers"),
        ("dates", ["2024-02-01", "2024-01-31"], "2024-01-31 does not come after 2024-02-01"),
        ("dates", [date(2024, 2, 1), datetime(2024, 2, 1)], "2024-02-01 does not come after 2024-02-01"),
        ("dates", ["2024-02-30"], "'2024-02-30' is no number, and no date such as 2024-01-31"),
        ("dates", ["2024"], "'2024' is no number, and no date"),
        ("dates", [datetime(2024, 2, 1, tzinfo=UTC)], "(without a zone)"),
        ("dates", ["2024-02-01 12:00:00.1234567"], "is no number, and no date"),
        ("dates", [date(2024, 2, 1), 7], "'2024-02-01' is a date, and others are numbers"),
        ("dates", [pd.Timestamp("2024-02-01 12:00:00.000000001")], "is no number, and no date"),
        ("dates", [pd.NaT], "'NaT' is no number, and no date"),
        ("dates", [np.datetime64("NaT")], "'NaT' is no number, and no date"),
        ("zoned", ["2024-01-31"], "dates of it in one zone, such as day AT TIME ZONE 'UTC'"),
        ("instants", 2, "the column 'day' has type INSTANT, which bins= does not cut"),
        ("texts", ["2024-01-31"], "1 row has an argument 2 that is no date, such as '2024-01-31 10:00:00+02' (row 1)"),
        ("words", 2, "day has no numbers or dates that could be cut into pieces"),
    ],
)  # fmt: skip
def test_edges_and_columns_that_do_not_fit_are_refused(rows: str, bins: Any, message: str) -> None:
    sources: dict[str, Any] = {
        "dates": "select 'a' as item, date '2024-02-01' as day",
        "numbers": "select 'a' as item, 2024 as day",
        "zoned": "select 'a' as item, timestamptz '2024-02-01 00:00:00+00' as day",
        "instants": [{"item": "a", "day": datetime(2024, 2, 1, tzinfo=timezone(timedelta(hours=2)))}],
        "texts": [("a", "2024-01-31 10:00:00+02")],
        "words": [("a", "January"), ("b", "May")],
    }
    db = connect()
    with pytest.raises(LoadError) as caught:
        db.load("On", sources[rows], types=TYPES, bins={"day": bins})
    assert message in str(caught.value)
    assert db.tables()["predicate"] == []


def test_numbers_and_dates_have_no_edges_in_common() -> None:
    db = connect()
    query = "select 1 as a, date '2024-02-01' as b"
    with pytest.raises(LoadError, match="'a' has numbers and 'b' has dates, which have no edges in common"):
        db.load("Both", query, types=["day", "day"], bins={"day": 2})


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("4", 4),
        ("10:", [10.0]),
        ("2024-01-31", ["2024-01-31"]),
        ("2024-01-31:", ["2024-01-31"]),
        ("2024-01-31:2024-06-30", ["2024-01-31", "2024-06-30"]),
        ("2024-01-31 12:30:2024-06-30T01:02:03.5:2025-01-01", ["2024-01-31 12:30", "2024-06-30T01:02:03.5", "2025-01-01"]),
    ],
)  # fmt: skip
def test_pieces_are_read_between_colons(text: str, meant: object) -> None:
    assert read_pieces(text) == meant


@given(st.datetimes(datetime(1, 1, 1)))
def test_times_are_written_in_the_order_of_time(moment: datetime) -> None:
    text = parsed_date(moment)
    assert text is not None
    assert text == text_of(moment)
    assert parsed_date(text) == text
    assert parsed_date(moment.isoformat()) == text
    for other in (moment - timedelta(seconds=1) if moment > datetime(1, 1, 2) else moment,):
        assert (text_of(other) < text) == (other < moment)
