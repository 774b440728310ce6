"""The engine: what it runs, how it fails, and what an interruption leaves."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp, parse_one, select

from sqlrl.engine.base import TableName
from sqlrl.engine.connection import connect
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.errors import EngineError, InputError, OverflowEngineError


@pytest.fixture
def engine() -> DuckDBEngine:
    return connect(":memory:", threads=1)


def sql(text: str) -> exp.Expression:
    return parse_one(text, dialect="duckdb")


def test_tables_come_from_queries_and_from_arrow(engine: DuckDBEngine) -> None:
    catalog, schema = engine.home
    engine.create_table(TableName(catalog, schema, "a b"), sql("select 1 as x union all select 2"), step="make")
    engine.create_table(TableName(catalog, schema, "A'B"), pa.table({'x"y': ["z"]}), step="make")
    name = exp.table_("a b", db=schema, catalog=catalog, quoted=True)
    assert engine.fetch(select("sum(x) as s").from_(name), step="sum").to_pylist() == [{"s": 3}]
    engine.create_table(TableName(catalog, schema, "a b"), sql("select 5 as x"), step="replace")
    assert engine.fetch(select("x").from_(name), step="read").to_pylist() == [{"x": 5}]
    engine.drop_table(TableName(catalog, schema, "a b"), step="drop")
    engine.drop_table(TableName(catalog, schema, "a b"), step="drop what is gone")
    with pytest.raises(EngineError, match=r"^read: Catalog Error(.|\n)*while running: SELECT"):
        engine.fetch(select("x").from_(name), step="read")


def test_a_table_grows_and_is_replaced_by_a_part_of_itself(engine: DuckDBEngine) -> None:
    name = TableName(*engine.home, "t")
    everything = sql("select x from sqlrl.t")
    engine.create_table(name, sql("select 1 as x union all select 2"), step="make")
    engine.append(name, sql("select x + 2 from sqlrl.t"), step="grow")
    assert sorted(engine.fetch(everything, step="read").column("x").to_pylist()) == [1, 2, 3, 4]
    engine.create_table(name, sql("select x from sqlrl.t where x > 2"), step="replace")
    assert sorted(engine.fetch(everything, step="read").column("x").to_pylist()) == [3, 4]


@pytest.mark.parametrize(
    "query",
    [
        f"select sum(x) from (values ({2**127 - 1}::hugeint), (1)) as t(x)",
        f"select {2**127 - 1}::hugeint * x from (values (2)) as t(x)",
        f"select x::bigint from (values ({2**64}::hugeint)) as t(x)",
        f"select sum(x)::bigint from (values ({2**63 - 1}), (1)) as t(x)",
    ],
)
def test_what_does_not_fit_is_an_error_of_its_own(query: str, engine: DuckDBEngine) -> None:
    with pytest.raises(OverflowEngineError, match=r"^count: "):
        engine.fetch(sql(query), step="count")
    with pytest.raises(OverflowEngineError, match=r"^count: "):
        list(engine.stream(sql(query), step="count"))
    with pytest.raises(EngineError) as other:
        engine.fetch(sql("select nothing from nowhere"), step="count")
    assert not isinstance(other.value, OverflowEngineError)


def test_streams_run_side_by_side_and_beside_other_statements(engine: DuckDBEngine) -> None:
    query = sql("select range as x from range(300000)")
    first, second = engine.stream(query, step="one", rows=1000), engine.stream(query, step="two", rows=1000)
    assert next(first).num_rows == next(second).num_rows
    engine.execute(sql("create table between_batches as select 1 as x"), step="write")
    assert engine.fetch(sql("select count(*) as n from between_batches"), step="read").to_pylist() == [{"n": 1}]
    assert sum(b.num_rows for b in first) + sum(b.num_rows for b in second) + 2 * 1000 >= 600000 - 300000
    third = list(engine.stream(query, step="three", rows=1000))
    assert sum(b.num_rows for b in third) == 300000


@pytest.mark.parametrize("expected", [0, 7, 300_000, 400_000])
def test_numbers_are_those_of_the_open_transaction(engine: DuckDBEngine, expected: int) -> None:
    query = exp.select("n").from_("many")
    with engine.transaction():
        engine.execute_sql(
            "CREATE TABLE many AS SELECT range::UBIGINT + 18446744073709251616 AS n FROM range(300000)", step=""
        )
        found = engine.numbers(query, expected, step="read numbers")
    assert found.dtype == np.uint64
    np.testing.assert_array_equal(found, np.arange(300_000, dtype=np.uint64) + np.uint64(2**64 - 300_000))
    with pytest.raises(EngineError, match="read nothing"):
        engine.numbers(exp.select("*").from_("nowhere"), 5, step="read nothing")


def test_a_stream_that_fails_names_its_step(engine: DuckDBEngine) -> None:
    with pytest.raises(EngineError, match="divide: "):
        list(engine.stream(sql("select cast('x' || range as integer) as x from range(3)"), step="divide"))


def test_estimates_do_not_run_the_query(engine: DuckDBEngine) -> None:
    engine.execute(sql("create table t as select range as x from range(1000)"), step="make")
    rows, plan = engine.estimate(sql("select a.x from t as a cross join t as b"), step="estimate")
    assert rows > 1000
    assert "Cross Product" in plan or "CROSS_PRODUCT" in plan
    with pytest.raises(EngineError, match="estimate: "):
        engine.estimate(sql("select nothing from t"), step="estimate")


def test_counts_keep_all_their_digits(engine: DuckDBEngine) -> None:
    big = 2**100 + 1
    value = engine.fetch(sql(f"select cast('{big}' as hugeint) as n"), step="big").column("n")[0].as_py()
    assert int(value) == big


def test_a_failed_transaction_leaves_nothing(engine: DuckDBEngine) -> None:
    def work() -> None:
        with engine.transaction():
            engine.execute(sql("create table t as select 1 as x"), step="make")
            with engine.transaction():
                engine.execute(sql("create table u as select 1 as x"), step="make")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    with pytest.raises(EngineError):
        engine.fetch(sql("select * from u"), step="read")
    with engine.transaction():
        engine.execute(sql("create table t as select 1 as x"), step="make")
    assert engine.fetch(sql("select x from t"), step="read").num_rows == 1


def test_a_failing_statement_rolls_back_what_went_before(engine: DuckDBEngine) -> None:
    def work() -> None:
        with engine.transaction():
            engine.execute(sql("create table t as select 1 as x"), step="make")
            engine.execute(sql("create table t as select 1 as x"), step="make again")

    with pytest.raises(EngineError, match="make again"):
        work()
    engine.execute(sql("create table t as select 1 as x"), step="make")


@pytest.mark.parametrize("work", ["transaction", "create_table", "create_view", "connect"])
def test_the_users_own_transaction_survives_that_it_is_refused(work: str) -> None:
    own = duckdb.connect()
    engine = connect(own)
    own.execute("BEGIN TRANSACTION")
    own.execute("CREATE TABLE mine AS SELECT 1 AS x")

    def refused() -> None:
        if work == "transaction":
            with engine.transaction():
                pass
        elif work == "create_table":
            engine.create_table(TableName(*engine.home, "t"), sql("select 1 as x"), step="make")
        elif work == "create_view":
            engine.create_view(TableName(*engine.home, "v"), sql("select 1 as x"), step="make")
        else:
            connect(own)

    with pytest.raises(
        InputError, match=r"^your connection has an open transaction, .*commit it or roll it back first"
    ):
        refused()
    own.execute("COMMIT")
    assert own.execute("FROM mine").fetchall() == [(1,)]
    with engine.transaction():
        engine.create_table(TableName(*engine.home, "t"), sql("select 1 as x"), step="make")
        engine.create_view(TableName(*engine.home, "v"), sql("select 1 as x"), step="make")


def test_an_aborted_transaction_and_a_closed_connection_are_named() -> None:
    own = duckdb.connect()
    engine = connect(own)
    own.execute("BEGIN TRANSACTION")
    with pytest.raises(duckdb.Error):
        own.execute("SELECT nothing")
    with pytest.raises(InputError, match="that an error has aborted: roll it back"):
        connect(own)
    own.execute("ROLLBACK")
    own.close()
    with pytest.raises(InputError, match=r"^the connection is closed: open it again\.$"):
        connect(own)
    with pytest.raises(InputError, match=r"^your connection is closed: open it again with connect"):
        engine.fetch(sql("select 1 as x"), step="read")


@pytest.mark.parametrize("stream", [False, True])
def test_ctrl_c_rolls_back_and_leaves_the_connection_usable(engine: DuckDBEngine, stream: bool) -> None:
    endless = sql("select count(*) as n from range(100000000000) as a, range(7) as b where a.range % 7 = b.range")
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))

    def work() -> None:
        with engine.transaction():
            engine.execute(sql("create table t as select 1 as x"), step="make")
            timer.start()
            if stream:
                list(engine.stream(endless, step="endless"))
            else:
                engine.fetch(endless, step="endless")

    with pytest.raises(KeyboardInterrupt):
        work()
    timer.join()
    with pytest.raises(EngineError):
        engine.fetch(sql("select * from t"), step="read")


def test_settings_are_applied(tmp_path: Path) -> None:
    engine = connect(":memory:", threads=1, memory_limit="100MB", temp_directory=tmp_path)
    row = engine.fetch(
        sql(
            "select current_setting('threads') as t, current_setting('memory_limit') as m, current_setting('temp_directory') as d"
        ),
        step="read",
    ).to_pylist()[0]
    assert row["t"] == 1
    assert row["m"].startswith("95.3")
    assert row["d"] == str(tmp_path)


def test_python_objects_are_forgotten_after_a_failure(engine: DuckDBEngine) -> None:
    with pytest.raises(EngineError, match="wrong: "), engine.transaction(), engine.attached(pa.table({"x": [1]})):
        engine.execute(sql("select nothing from nowhere"), step="wrong")
    views = engine.fetch(sql("select view_name from duckdb_views() where not internal"), step="list")
    assert views.num_rows == 0


def test_python_objects_are_shown_for_a_while_only(engine: DuckDBEngine) -> None:
    with engine.attached(pa.table({"x": [1, 2]})) as table:
        assert engine.fetch(select("count(*) as n").from_(table), step="count").to_pylist() == [{"n": 2}]
    with pytest.raises(EngineError):
        engine.fetch(select("*").from_(table), step="gone")


ORDERED = (
    "with t as (select 1 as x union all select 2) select x, list(x order by x desc, x), row_number() over (order by x) from "
    "(select x from t order by x) where exists (select 1 from t as s where s.x > t.x) group by x having count(*) > 0 order by x, 2"
)


def test_what_is_rendered_twice_is_the_same_text_as_a_copy(engine: DuckDBEngine) -> None:
    statement = sql(ORDERED)
    copy = engine.render(statement.copy())
    assert engine.render(statement) == engine.render(statement) == copy
    assert "NULLS LAST" in copy
