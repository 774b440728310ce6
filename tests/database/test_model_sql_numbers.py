"""Views over columns of numbers: constants of rules meet the same numbers in each database, and names are those of the catalog."""

from __future__ import annotations

import math
import random
import sqlite3
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import partial

import duckdb
import pyarrow as pa
import pytest

import sqlrl
from sqlrl.catalog.values import text_of
from sqlrl.database.model_sql import ExportedSQL
from sqlrl.logic.model import Expansions
from tests import postgres as on_postgres
from tests.spark import connected

Found = dict[str, float]
"""Log-odds by the name of a number."""

View = Callable[[ExportedSQL, Sequence[object], str], Found]
"""Runs a view over a table `Price(item, price)` of a type of the database."""

CORNERS = [
    *(2 / 3, 1e-7, 1e-5, 1e-4, 0.1, 0.3, 1 / 3, 1e15, 1e16, 1e17, 1e22, 1e23, 2e23, 5e-324, 1e-310, 2.2250738585072014e-308),
    *(1.7976931348623157e308, 2.0**53, 2.0**53 - 1, 2.0**53 + 2, 2.0**63, 2.0**64, 2.0**-44, 9e15, 9007199254740000.0),
    *(1234567890123456.5, 999999999999999.9, 4503599627370497.5, 123456.789, 9.5, 100.0, 0.0, -0.0, 1e-4 - 1e-20, 9.999999999999999e22),
]  # fmt: skip


def doubles(count: int, seed: int) -> list[float]:
    """Distinct finite doubles of all sizes: of any bits, subnormal, beyond 2^53, powers of two, of few digits, and corners with their neighbours."""
    random_, found = random.Random(seed), list[float]()
    for corner in CORNERS:
        found += [corner, -corner, math.nextafter(corner, math.inf), math.nextafter(corner, -math.inf)]
    kinds: list[Callable[[], float]] = [
        lambda: struct.unpack("<d", struct.pack("<Q", random_.getrandbits(64)))[0],
        lambda: random_.uniform(-1e6, 1e6),
        lambda: random_.randrange(1, 1 << 51) * 5e-324,
        lambda: float(random_.randrange(-(1 << 70), 1 << 70)),
        lambda: math.ldexp(random_.choice([1, -1, 3]), random_.randrange(-1074, 1022)),
        lambda: round(random_.uniform(-100, 100), random_.randrange(1, 6)),
        lambda: random_.uniform(1e15, 2e16),
        lambda: random_.random() * 10.0 ** random_.randrange(-12, 20),
    ]
    while len(found) < count:
        found.append(random_.choice(kinds)())
    return list(dict.fromkeys(x for x in found if math.isfinite(x)))


def priced(numbers: Sequence[object], chosen: Sequence[str], dialect: str) -> ExportedSQL:
    """A view of a model whose rules name some numbers: the n-th one has the weight n + 1."""
    db = sqlrl.connect(progress=False)
    data = pa.table({"item": [str(i) for i in range(len(numbers))], "price": numbers})
    db.load("Price", data, types=["item", "price"], nulls="drop")
    text = "Price(item, price)\nFair(price)\nPrice(i, +p) => Fair(p)\n"
    model = sqlrl.parse_mln(text, query=["Fair"])
    expansions = Expansions(("p",), tuple((name,) for name in chosen), tuple(float(i + 1) for i in range(len(chosen))))
    model = model.with_rules((replace(model.rules[0], expansions=expansions),))
    exported = db.export(model, format="sql", dialect=dialect)
    db.close()
    return exported


# ---- databases ---------------------------------------------------------------------------------------


def in_duckdb(view: ExportedSQL, numbers: Sequence[object], kind: str = "DOUBLE") -> Found:
    with duckdb.connect() as con:
        given = pa.table({"item": [str(i) for i in range(len(numbers))], "price": numbers})
        con.register("given", given)
        con.execute(f"create table Price as select item, cast(price as {kind}) price from given")
        con.execute(view.text)
        return dict(con.execute(f"select price, log_odds from {view.view}").fetchall())


def in_sqlite(view: ExportedSQL, numbers: Sequence[object], kind: str = "REAL") -> Found:
    con = sqlite3.connect(":memory:")
    con.execute(f"create table Price(item text, price {kind})")
    rows = ((str(i), float(x) if isinstance(x, Decimal) else x) for i, x in enumerate(numbers))
    con.executemany("insert into Price values (?, ?)", rows)
    con.execute(view.text)
    found = con.execute(f"select price, log_odds from {view.view}").fetchall()
    con.close()
    assert len(dict(found)) == len(found)
    return dict(found)


def in_postgres(
    server: on_postgres.Postgres, view: ExportedSQL, numbers: Sequence[object], kind: str = "double precision"
) -> Found:
    rows = ",".join(f"('{i}', '{x}')" for i, x in enumerate(numbers))
    script = f'create table "Price"(item text, price {kind});\n'
    script += f'insert into "Price" values {rows};\n{view.text}select price, log_odds from {view.view};'
    return {str(name): float(value or "nan") for name, value in server.run(script)}


def in_spark(address: str, view: ExportedSQL, numbers: Sequence[object], kind: str = "DOUBLE") -> Found:
    with connected(address) as spark:
        data = pa.table({"item": [str(i) for i in range(len(numbers))], "price": numbers})
        spark.address.createDataFrame(data).createOrReplaceTempView("given")
        spark.address.sql(f"CREATE TEMPORARY VIEW `Price` AS SELECT item, CAST(price AS {kind}) AS price FROM given")
        found = spark.address.sql(f"SELECT price, log_odds FROM ({view.query})").toArrow().to_pylist()
    return {row["price"]: row["log_odds"] for row in found}


@contextmanager
def running(dialect: str, request: pytest.FixtureRequest) -> Iterator[View]:
    """Something that runs views of a dialect."""
    if dialect == "spark":
        yield partial(in_spark, request.getfixturevalue("spark_address"))
    elif dialect == "postgres":
        yield partial(in_postgres, request.getfixturevalue("postgres"))
    else:
        yield {"duckdb": in_duckdb, "sqlite": in_sqlite}[dialect]


DIALECTS = ["duckdb", "sqlite", "postgres", "spark"]


# ---- doubles -----------------------------------------------------------------------------------------


def check_doubles(run: View, dialect: str, count: int, rules: int, seed: int) -> int:
    """Each number that a rule names gets its weight, and no other one; return of how many the name is not the catalog's."""
    numbers = doubles(count, seed)
    names = list(dict.fromkeys(map(text_of, numbers)))
    corners = [text_of(x) for x in numbers[: 4 * len(CORNERS)]]
    random_ = random.Random(seed)
    chosen = list(dict.fromkeys([*corners, *random_.sample(names, rules)]))
    found = run(priced(numbers, chosen, dialect), numbers, {"postgres": "double precision"}.get(dialect, "DOUBLE"))
    assert len(found) == len(names), "each number has a name of its own"
    weights = {name: float(i + 1) for i, name in enumerate(chosen)}
    assert sorted(found.values()) == sorted(weights.get(name, 0.0) for name in names)
    other = found.keys() - set(names)
    for name in found.keys() & set(names):
        assert found[name] == weights.get(name, 0.0)
    # What SQLite's text misses of a number stands behind it.
    assert dialect == "sqlite" or {float(name) for name in other} <= set(map(float, names))
    return len(other)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_numbers_that_rules_name_meet_those_of_columns(dialect: str, request: pytest.FixtureRequest) -> None:
    # PostgreSQL and the server of Spark take seconds to start.
    with running(dialect, request) as run:
        other = check_doubles(run, dialect, 1000, 100, 3)
    # SQLite finds the shortest text of a normal number, but for some of the largest and smallest.
    assert other == 0 if dialect in ("duckdb", "postgres") else other < 200


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_twenty_thousand_numbers_have_names_of_their_own(dialect: str, request: pytest.FixtureRequest) -> None:
    # 20,000 numbers take each database seconds, and five times as many ten times as long.
    with running(dialect, request) as run:
        check_doubles(run, dialect, 20_000, 1000, 7)


# ---- other values ------------------------------------------------------------------------------------

DECIMALS = [
    Decimal(x) for x in ("0.6666666666666667", "1.50", "-0.00005", "12345678901234567890.5", "7", "-0.5", "0.0001")
]
"""Of one there are more digits than a double has."""

TIMES = ["2024-01-31T00:00:00", "2024-01-31T12:30:00.500000", "1999-12-31T00:00:00", "2024-02-29T00:00:01"]

VALUES: dict[str, tuple[list[object], dict[str, str]]] = {
    "decimals": (
        list(DECIMALS),
        {"duckdb": "DECIMAL(38, 16)", "sqlite": "NUMERIC", "postgres": "numeric(38, 16)", "spark": "DECIMAL(38, 16)"},
    ),
    "timestamps": (
        [*map(datetime.fromisoformat, TIMES)],
        {"duckdb": "TIMESTAMP", "sqlite": "TEXT", "postgres": "timestamp", "spark": "TIMESTAMP_NTZ"},
    ),
    "dates": (
        [date(2024, 1, 31), date(1999, 12, 31)],
        {"duckdb": "DATE", "sqlite": "TEXT", "postgres": "date", "spark": "DATE"},
    ),
    "integers": (
        [2**53, 2**53 + 1, -(2**63), 2**63 - 1, 0, 7],
        {"duckdb": "BIGINT", "sqlite": "INTEGER", "postgres": "bigint", "spark": "BIGINT"},
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("what", VALUES)
def test_values_have_the_names_of_the_catalog(what: str, dialect: str, request: pytest.FixtureRequest) -> None:
    # PostgreSQL and the server of Spark take seconds to start.
    values, kinds = VALUES[what]
    if what == "decimals" and dialect == "sqlite":
        values = [x for x in values if len(str(x)) < 19]
    names = [text_of(x) for x in values]
    given: Sequence[object] = values
    if dialect == "sqlite" and what in ("timestamps", "dates"):
        given = [str(x).rstrip("0") if "." in str(x) else str(x) for x in values]
    with running(dialect, request) as run:
        found = run(priced(values, names, dialect), given, kinds[dialect])
    assert found == {name: float(i + 1) for i, name in enumerate(names)}


@pytest.mark.filterwarnings("ignore::sqlrl.errors.LoadWarning")
@pytest.mark.parametrize("numeric", [False, True])
def test_numbers_of_several_columns_are_one_constant(numeric: bool) -> None:
    """Doubles, integers and texts of one type meet; texts as they are, but where the type is declared numeric."""
    db = sqlrl.connect(progress=False)
    prices, texts = [2 / 3, 1e-7, 3.0, 0.5, 1e16], ["0.6666666666666666", "1e-07", "3", "0.50", "10000000000000000"]
    if numeric:
        db.load("Price", pa.table({"item": list("abcde"), "price": prices}), types=["item", "price"], numeric=["price"])
    else:
        db.load("Price", pa.table({"item": list("abcde"), "price": prices}), types=["item", "price"])
    db.load("Asked", pa.table({"price": texts}), types=["price"])
    model = sqlrl.parse_mln(
        "Price(item, price)\nAsked(price)\nSold(item)\n1 Price(i, p) ^ Asked(p) => Sold(i)", query=["Sold"]
    )
    right = {r["item"]: r["probability"] for r in db.probabilities(model).probabilities().to_pylist()}
    view = db.export(model, format="sql", dialect="sqlite")
    con = sqlite3.connect(":memory:")
    con.execute("create table Price(item text, price real)")
    con.executemany("insert into Price values (?, ?)", zip("abcde", prices, strict=True))
    con.execute("create table Asked(price text)")
    con.executemany("insert into Asked values (?)", zip(texts))
    con.execute(view.text)
    found = {item: probability for item, _, probability in con.execute(f"select * from {view.view}")}
    assert found == pytest.approx(right)
    assert sum(p > 0.6 for p in found.values()) == (5 if numeric else 3)
    con.close()
    db.close()


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_missing_and_infinite_numbers(dialect: str) -> None:
    numbers = [math.nan, math.inf, -math.inf, 2.5]
    view = priced(numbers, ["inf", "-inf", "2.5"], dialect)
    given: list[object] = [None, *numbers[1:]] if dialect == "sqlite" else list(numbers)
    run = {"duckdb": in_duckdb, "sqlite": in_sqlite}[dialect]
    assert run(view, given, "DOUBLE") == {"inf": 1.0, "-inf": 2.0, "2.5": 3.0}
