# ruff: noqa: DTZ001 - times without a zone are values too
"""One value has one name, whatever stored it: columns of the database, of files and frames, objects of Python, any session's zone."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqlrl
from sqlrl.catalog.values import text_of, value_text
from sqlrl.engine.nodes import column
from sqlrl.errors import LoadError, LoadWarning

BERLIN = dt.timezone(dt.timedelta(hours=2))
NOON = dt.datetime(2023, 7, 9, 12, 30, 0, 250_000)


@pytest.fixture(scope="module")
def db() -> Iterator[sqlrl.Database]:
    """A database to which tests add predicates."""
    with sqlrl.connect(progress=False) as found:
        yield found


# ---- a value of every type, in every storage ---------------------------------------------------------

# The name as this project states it, a value of Python, and the value in SQL.
VALUES: list[tuple[str, Any, str]] = [
    ("2023-07-09", dt.date(2023, 7, 9), "date '2023-07-09'"),
    ("2023-07-09", dt.datetime(2023, 7, 9), "timestamp '2023-07-09 00:00:00'"),
    ("2023-07-09 12:30:00.25", NOON, "timestamp '2023-07-09 12:30:00.25'"),
    ("2023-07-09 10:30:00.25+00", NOON.replace(tzinfo=BERLIN), "timestamptz '2023-07-09 12:30:00.25+02'"),
    ("2023-07-09 00:00:00+00", dt.datetime(2023, 7, 9, tzinfo=dt.UTC), "timestamptz '2023-07-09 02:00:00+02'"),
    ("12:30:00.25", NOON.time(), "time '12:30:00.250'"),
    ("2 days 03:00:00.5", dt.timedelta(hours=51, seconds=0.5), "interval '51 hours 0.5 seconds'"),
    ("-1 day -01:00:00", dt.timedelta(hours=-25), "interval '-25 hours'"),
    ("00:00:00", dt.timedelta(0), "interval '0 days'"),
    ("7", 7, "7::bigint"),
    ("7", 7.0, "7::double"),
    ("7.25", 7.25, "7.25::double"),
    ("7.25", Decimal("7.2500"), "7.2500::decimal(12, 4)"),
    ("-0.05", Decimal("-0.050"), "-0.050::decimal(12, 3)"),
    ("-0.5", Decimal("-.5"), "-0.5::decimal(38, 38)"),
    ("2.5e-06", Decimal("0.0000025"), "0.0000025::decimal(12, 8)"),
    ("2.5e-06", 0.0000025, "0.0000025::double"),
    ("true", True, "true"),
    ("00000000-0000-0000-0000-0000000000ff", UUID(int=255), "'00000000-0000-0000-0000-0000000000FF'::uuid"),
]


ALL, SOME = range(len(VALUES)), (0, 3, 4, 6, 12, 15, 17)
"""Places of values: a storage with others beside it has some in the quick tier, as it takes their types apart just as the first one does."""


def portions(places: Sequence[int]) -> list[Sequence[int]]:
    """Return places in portions: statements over many columns take more than their share."""
    return [places[start : start + 4] for start in range(0, len(places), 4)]


def named(db: sqlrl.Database, source: Any, width: int = 1, **options: Any) -> list[list[str]]:
    """Load a source, and return the constants of each of its columns in the order of their names."""
    predicate = f"P{width}"
    with warnings.catch_warnings(action="ignore", category=LoadWarning):  # some values look alike
        db.load(predicate, source, types=["n"] * width, **options)
    rows = db.sql(f"from sqlrl.named_{predicate}").fetchall()
    return [sorted(set(column)) for column in zip(*rows, strict=True)]


Columns = dict[str, Any]
STORAGES: dict[str, Callable[[Columns], Any]] = {
    "tuples": lambda columns: [tuple(columns.values())],
    "pandas": lambda columns: pd.DataFrame({name: [value] for name, value in columns.items()}),
    "mappings": lambda columns: [columns],
    "beside texts": lambda columns: [tuple(columns.values()), ("x",) * len(columns)],
    "objects of pandas": lambda columns: pd.DataFrame({a: pd.Series([v, "x"], dtype=object) for a, v in columns.items()}),
    "categories of pandas": lambda columns: pd.DataFrame({a: pd.Categorical([v]) for a, v in columns.items()}),
    "objects of numpy": lambda columns: np.array([list(columns.values())], dtype=object),
    "polars": lambda columns: pl.DataFrame({a: [v] for a, v in columns.items()}),
    "Arrow": lambda columns: pa.table({a: pa.array([v]) for a, v in columns.items()}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("storage", "places"),
    [
        *((storage, ALL if storage in ("tuples", "pandas") else SOME) for storage in STORAGES),
        *(pytest.param(storage, ALL, marks=pytest.mark.slow) for storage in STORAGES if storage not in ("tuples", "pandas")),
    ],
)  # fmt: skip
def test_storages_of_python_name_a_value_alike(storage: str, places: Sequence[int], db: sqlrl.Database) -> None:
    if storage in ("polars", "Arrow"):
        places = [place for place in places if not isinstance(VALUES[place][1], UUID)]  # for which they have no type
    for some in portions(places):
        found = named(db, STORAGES[storage]({f"a{place}": VALUES[place][1] for place in some}), len(some))
        assert [[name for name in each if name != "x"] for each in found] == [[VALUES[place][0]] for place in some]


def test_single_values_name_a_value_as_rows_do(db: sqlrl.Database) -> None:
    for name, value, _ in (VALUES[place] for place in SOME):
        assert named(db, [value]) == [[name]], name
    for name, value, _ in (VALUES[3], VALUES[12]):
        assert named(db, pd.Series([value])) == [[name]], name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("zone", "places"),
    [
        ("America/New_York", ALL),
        ("Asia/Kathmandu", ALL),
        ("UTC", SOME),
    ],
)
def test_storages_of_the_database_name_a_value_alike(zone: str, places: Sequence[int], tmp_path: Path) -> None:
    connection, other = duckdb.connect(), duckdb.connect()
    connection.execute(f"set timezone = '{zone}'")
    db = sqlrl.connect(connection)
    for number, some in enumerate(portions(places)):
        found = [[VALUES[place][0]] for place in some]
        columns = ", ".join(f"{VALUES[place][2]} as a{place}" for place in some)
        connection.execute(f"create table t{number} as select {columns}; create view v{number} as from t{number}")
        assert named(db, f"t{number}", len(some)) == found
        if places is ALL and zone == "America/New_York":
            continue
        relations = other.sql(f"select {columns}"), connection.sql(f"from t{number}")
        for source in (f"v{number}", f"select {columns}", *relations):
            assert named(db, source, len(some)) == found, source
        held = [place for place in some if "interval '-" not in VALUES[place][2]]  # which Parquet cannot hold
        path = tmp_path / f"{number}.parquet"
        connection.execute(f"copy (select {', '.join(f'a{place}' for place in held)} from t{number}) to '{path}'")
        assert named(db, path, len(held)) == [[VALUES[place][0]] for place in held]


def test_numpy_and_pandas_have_the_names_of_the_others() -> None:
    moments = ["2023-07-09T12", "2023-07-09T12:30", "2023-07-09T12:30:00.250", "2023-07-09T12:30:00.000000001"]
    found = ["2023-07-09 12:00:00", "2023-07-09 12:30:00", "2023-07-09 12:30:00.25", "2023-07-09 12:30:00.000000001"]
    assert [text_of(np.datetime64(moment)) for moment in moments] == found
    assert [text_of(np.datetime64(day)) for day in ("2023-07", "2023", "-0043-03-15")] == [
        *("2023-07-01", "2023-01-01", "0044-03-15 (BC)"),
    ]
    assert text_of(pd.Timestamp("2023-07-09 12:30:00.000000001")) == found[3]
    assert text_of(pd.Timestamp("2023-07-09", tz="Asia/Tokyo")) == "2023-07-08 15:00:00+00"
    for duration in (np.timedelta64(51, "h"), pd.Timedelta(hours=51), dt.timedelta(hours=51)):
        assert text_of(duration) == "2 days 03:00:00"
    assert [text_of(np.timedelta64(months, "M")) for months in (14, -14, 0)] == [
        *("1 year 2 months", "-1 year -2 months", "00:00:00"),
    ]
    assert text_of(np.timedelta64(1500, "ns")) == text_of(pd.Timedelta(1500, "ns")) == "00:00:00.0000015"
    assert text_of(dt.time(1, 2, tzinfo=BERLIN)) == "01:02:00+02"


# ---- Python's texts are those of the database --------------------------------------------------------

CONNECTION = duckdb.connect()
CONNECTION.execute("set timezone = 'America/St_Johns'")


def in_columns(values: Sequence[Any], kind: str) -> list[str | None]:
    """Return the names of values in a column of a type of the database."""
    written = value_text(column("value"), kind).sql("duckdb")
    rows = f"SELECT generate_subscripts($1, 1) AS place, unnest($1::{kind}[]) AS value"
    return [row[0] for row in CONNECTION.execute(f"SELECT {written} FROM ({rows}) ORDER BY place", [values]).fetchall()]


def lists(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, min_size=1, max_size=40)


moments = st.datetimes(min_value=dt.datetime(1, 1, 3), max_value=dt.datetime(9999, 12, 29))
midnights = st.dates().map(lambda day: dt.datetime(day.year, day.month, day.day))
few = st.sampled_from([0, 1, -1, 999_999, 500_000, 86_399_999_999, 86_400_000_000, -86_400_000_001])
durations = st.one_of(few, st.integers(-(10**17), 10**17)).map(lambda n: dt.timedelta(microseconds=n))


@given(lists(st.one_of(moments, midnights)))
def test_timestamps(values: list[dt.datetime]) -> None:
    assert in_columns(values, "TIMESTAMP") == list(map(text_of, values))
    dates = [value for value in values if value.time() == dt.time()]
    assert in_columns(dates, "DATE") == [text_of(value) for value in dates] == [str(value.date()) for value in dates]


@given(lists(moments), st.integers(-14 * 60, 14 * 60))
def test_instants(values: list[dt.datetime], offset: int) -> None:
    zone = dt.timezone(dt.timedelta(minutes=offset))
    zoned = [value.replace(tzinfo=dt.UTC).astimezone(zone) for value in values]
    written = value_text(column("value"), "TIMESTAMP WITH TIME ZONE").sql("duckdb")
    for value in zoned:
        [(found,)] = CONNECTION.execute(f"SELECT {written} FROM (SELECT $1::TIMESTAMPTZ AS value)", [value]).fetchall()
        assert found == text_of(value)
        assert dt.datetime.fromisoformat(found) == value


@given(lists(durations))
def test_durations(values: list[dt.timedelta]) -> None:
    found = in_columns(values, "INTERVAL")
    assert found == list(map(text_of, values))
    assert len(set(found)) == len(set(values))


@given(lists(st.decimals(allow_nan=False, allow_infinity=False, places=12, min_value=-(10**20), max_value=10**20)))
def test_decimals(values: list[Decimal]) -> None:
    found = in_columns(values, "DECIMAL(38,12)")
    assert found == list(map(text_of, values))
    assert [Fraction(name or "") for name in found] == list(map(Fraction, values))


@given(lists(st.floats(allow_nan=False)), lists(st.floats(allow_nan=False, width=32)))
def test_floats(values: list[float], small: list[float]) -> None:
    assert in_columns(values, "DOUBLE") == list(map(text_of, values))
    assert in_columns(small, "FLOAT") == [text_of(np.float32(value)) for value in small]


@given(lists(st.fractions(min_value=-1000, max_value=1000, max_denominator=64)))
def test_decimals_and_floats_that_are_equal_have_one_name(values: list[Fraction]) -> None:
    both = [v for v in values if v.denominator & (v.denominator - 1) == 0]
    decimals = [Decimal(v.numerator) / Decimal(v.denominator) for v in both]
    assert list(map(text_of, decimals)) == [text_of(float(v)) for v in both]


# ---- what DuckDB would refuse or cut -----------------------------------------------------------------

# Columns of two rows, each with the names of its values.
ODD: dict[Callable[[dict[str, Any]], Any], list[tuple[Any, list[str]]]] = {
    pl.DataFrame: [
        (pl.Series([2**100, -1], dtype=pl.Int128), [str(2**100), "-1"]),
        (pl.Series([2**128 - 1, 0], dtype=pl.UInt128), [str(2**128 - 1), "0"]),
        (pl.Series([1500] * 2, dtype=pl.Duration("ns")), ["00:00:00.0000015"]),
        (pl.Series([pd.Period("2023-07")] * 2, dtype=pl.Object), ["2023-07"]),
    ],
    pa.table: [
        (pa.array([Decimal("1.50"), Decimal(10) ** 45], pa.decimal256(60, 2)), ["1.5", str(10**45)]),
        (pa.array([Decimal("1.50")] * 2, pa.decimal256(60, 2)).dictionary_encode(), ["1.5"]),
        (pa.array(np.array([0.1, 2.0], np.float16)), ["0.1", "2"]),
        (pa.array([(14, 1, 7_200_000_000_000)] * 2, pa.month_day_nano_interval()), ["1 year 2 months 1 day 02:00:00"]),
        (pa.array([1, 1], pa.timestamp("ns", tz="Asia/Tokyo")), ["1970-01-01 00:00:00.000000001+00"]),
        (pa.RunEndEncodedArray.from_arrays([1, 2], ["x", "y"]), ["x", "y"]),
    ],
    pd.DataFrame: [
        (pd.period_range("2023-07", periods=2, freq="M"), ["2023-07", "2023-08"]),
        (pd.interval_range(0, 2), ["(0, 1]", "(1, 2]"]),
        (pd.cut([1, 5], [0, 2, 8]), ["(0, 2]", "(2, 8]"]),
        (pd.arrays.SparseArray([1.0, 2.5]), ["1", "2.5"]),
        (np.array([0.1, 2.5], np.float16), ["0.1", "2.5"]),
        (pd.to_timedelta([1500] * 2, unit="ns"), ["00:00:00.0000015"]),
        (pd.to_datetime([1, 1], unit="ns", utc=True), ["1970-01-01 00:00:00.000000001+00"]),
        (pd.array([Decimal("1.50")] * 2, pd.ArrowDtype(pa.decimal256(50, 2))), ["1.5"]),
        (np.array([Decimal("1.50"), True], object), ["1.5", "true"]),
        (np.array([2.0, dt.date(2023, 7, 9)], object), ["2", "2023-07-09"]),
    ],
}
# Beside them what has one column or a missing value.
ALONE: list[tuple[Any, list[str]]] = [
    (pl.Series("a", [2**127 - 1], dtype=pl.Int128), [str(2**127 - 1)]),
    (pa.table({"a": pa.array([1500, None], pa.duration("ns"))}), ["00:00:00.0000015"]),
    (
        pd.DataFrame({"a": np.array([Decimal("1.50"), True, 2.0, dt.date(2023, 7, 9)], object)}),
        ["1.5", "2", "2023-07-09", "true"],
    ),
]


@pytest.mark.parametrize("kind", ODD, ids=["polars", "Arrow", "pandas"])
def test_odd_types_are_loaded_exactly(kind: Callable[[dict[str, Any]], Any], db: sqlrl.Database) -> None:
    columns, found = zip(*ODD[kind], strict=True)
    source = kind({f"a{place}": column for place, column in enumerate(columns)})
    assert named(db, source, len(columns)) == [sorted(each) for each in found]


def test_odd_types_beside_missing_values_are_loaded_exactly(db: sqlrl.Database) -> None:
    for source, found in ALONE:
        assert named(db, source, nulls="drop") == [found]
    wide = f"select {2**127 - 1}::hugeint as a, {2**128 - 1}::uhugeint as b, '01:02:03+02'::timetz as c"
    assert named(db, duckdb.connect().sql(wide), 3) == [[str(2**127 - 1)], [str(2**128 - 1)], ["01:02:03+02"]]


def test_what_names_no_constant_is_refused_with_its_column(db: sqlrl.Database) -> None:
    frame = r"pandas frame .* in column 'z', which names no constant: convert it"
    refused: list[tuple[Any, str]] = [
        (pd.DataFrame({"z": [1 + 2j]}), frame),
        (pd.DataFrame({"z": [b"x"]}), frame),
        (pd.DataFrame({"z": [["x"]]}), frame),
        (pl.DataFrame({"z": pl.Series([object()], dtype=pl.Object)}), r"column 'z', which names no constant: convert"),
        (pl.DataFrame({"z": [[1]]}), r"column 'z' has type BIGINT\[\], which names no constant: convert it"),
        (pl.DataFrame({"z": [{"b": 1}]}), r"column 'z' has type STRUCT.*, which names no constant: convert it"),
        (pa.table({"z": pa.array([b"x"])}), r"column 'z' has type BLOB, which names no constant: convert it"),
        (pa.table({"z": pa.array([[1.5]])}), r"column 'z' has type DOUBLE\[\], which names no constant: convert it"),
    ]
    for source, message in refused:
        with pytest.raises(LoadError, match=message):
            named(db, source)


def test_a_reader_that_fails_is_named(db: sqlrl.Database) -> None:
    def batches() -> Any:
        yield pa.record_batch({"a": ["x"]})
        raise pa.ArrowInvalid("broken in the middle")

    with pytest.raises(LoadError, match=r"an Arrow reader cannot be read: broken in the middle"):
        named(db, pa.RecordBatchReader.from_batches(pa.schema({"a": pa.string()}), batches()))


# ---- what names constants beside the data ------------------------------------------------------------

ZONED = "select timestamptz '2023-07-01 00:00:00+00' + to_days(n::int) as moment, n % 2 = 0 as even from range(8) t(n)"
MODEL = "Even(at)\nHot(at)\n1 Even(a) => Hot(a)"


def in_zone(zone: str) -> sqlrl.Database:
    """Return a database on a connection whose session is in a zone."""
    connection = duckdb.connect()
    connection.execute(f"set timezone = '{zone}'; create table t as {ZONED}")
    db = sqlrl.connect(connection, progress=False)
    db.load("Even", "select moment from t where even", types=["at"])
    db.load("Hot", "select moment, even from t", types=["at"], truth="even", target=True)
    return db


@pytest.mark.slow
def test_a_model_learned_in_one_zone_predicts_the_same_in_another() -> None:
    here, there = in_zone("America/New_York"), in_zone("Europe/Berlin")
    learned = sqlrl.Likelihood(penalty="l2").fit(here, sqlrl.parse_mln("Even(at)\nHot(at)\nEven(+a) => Hot(+a)")).model_
    with warnings.catch_warnings(action="error"):
        tables = [db.probabilities(learned).table().to_arrow().to_pylist() for db in (here, there)]
    assert tables[0] == tables[1]
    assert len({row["probability"] for row in tables[0]}) > 1


def test_scopes_examples_and_worlds_name_values_of_any_type() -> None:
    with sqlrl.connect(progress=False) as db:
        days = [dt.date(2023, 7, n) for n in range(1, 5)]
        db.load("Even", [(day,) for day in days], types=["at"], example="at")
        db.scope("Hot", pd.DataFrame({"at": pd.to_datetime(days)}))
        model = sqlrl.parse_mln(MODEL, query=["Hot"])
        with warnings.catch_warnings(action="error"):
            prediction = db.predict(model, examples="select unnest([timestamp '2023-07-02', timestamp '2023-07-03'])")
            assert prediction.table()["at"] == ["2023-07-02", "2023-07-03"]
            counted = db.count(model, world=pl.DataFrame({"at": [dt.datetime(2023, 7, 4)]}))
        assert counted["n"] == [1]
        assert prediction.why('Hot("2023-07-02")') is not None


@given(lists(st.integers(-999_999, 999_999)), st.integers(0, 6))
def test_decimals_without_digits_before_their_point(values: list[int], more: int) -> None:
    found = in_columns([Decimal(value).scaleb(-6) for value in values], f"DECIMAL({6 + more},6)")
    assert [Fraction(name or "") for name in found] == [Fraction(value, 10**6) for value in values]
    assert found == [text_of(Decimal(value).scaleb(-6)) for value in values]
