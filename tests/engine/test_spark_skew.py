"""Salted joins: the same rows, and no task with much more than its share, by a simulation of tasks that counts the rows that are sent to each."""

from __future__ import annotations

import zlib
from collections import Counter
from contextlib import closing
from math import prod

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from sqlrl.engine.base import TableName
from sqlrl.engine.connection import connect
from sqlrl.engine.spark import skew
from sqlrl.engine.spark.engine import SparkEngine
from sqlrl.engine.spark.server import Server, Spark
from sqlrl.engine.spark.skew import (
    Heavy,
    HeavyKeys,
    Joined,
    Key,
    heavy_of,
    heavy_of_pair,
    heavy_query,
    pair_query,
    salted,
    spreading,
)
from tests.effort import draws

TASKS = skew.TASKS
COLUMNS = ("a0", "a1")
EDGE = TableName("db", "main", "edge")
QUERIES = {
    "pairs": "SELECT e.a0 AS x, f.a1 AS y FROM db.main.edge AS e JOIN db.main.edge AS f ON e.a1 = f.a0",
    "triangles": """SELECT count(*) AS n FROM db.main.edge AS e JOIN db.main.edge AS f ON e.a1 = f.a0
        JOIN db.main.edge AS g ON g.a0 = f.a1 AND g.a1 = e.a0""",
    "paths": """WITH i AS (SELECT a1 AS k, count(*) AS n FROM db.main.edge GROUP BY a1), o AS (SELECT a0 AS k, count(*) AS n FROM db.main.edge GROUP BY a0)
        SELECT sum(i.n * o.n) AS n FROM db.main.edge AS e JOIN i ON i.k = e.a0 JOIN o ON o.k = e.a1""",
    "outer": """SELECT e.a0 AS x, f.a1 AS y FROM db.main.node AS v LEFT JOIN db.main.edge AS e ON e.a0 = v.a0
        JOIN db.main.edge AS f ON f.a0 = e.a1""",
    "other conditions": "SELECT e.a0 AS x, f.a1 AS y FROM db.main.edge AS e JOIN db.main.edge AS f ON e.a1 = f.a0 AND (e.a0 < f.a1 OR e.a0 = f.a0)",
    "one that is not in a join": "SELECT a0 AS x FROM db.main.edge WHERE EXISTS (SELECT 1 FROM db.main.node AS v WHERE v.a0 = a1)",
}  # fmt: skip


def parsed(query: str) -> exp.Expression:
    found = parse_one(query, dialect="duckdb")
    assert isinstance(found, exp.Expression)
    return found


def connected(edges: list[tuple[int, int]]) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute("ATTACH ':memory:' AS db")
    table = pa.table(
        {"a0": pa.array([a for a, _ in edges], pa.int32()), "a1": pa.array([b for _, b in edges], pa.int32())}
    )
    con.register("given", table)
    con.execute("CREATE TABLE db.main.edge AS SELECT DISTINCT * FROM given")
    con.execute("CREATE TABLE db.main.node AS SELECT DISTINCT a0 FROM db.main.edge")
    return con


class Counted:
    """The heavy keys of edges, counted apart from the plan: those with more rows than a share, and in pairs with more of the work."""

    def __init__(self, con: duckdb.DuckDBPyConnection, share: int) -> None:
        self.con, self.share = con, share

    def counts(self, key: str) -> dict[int, int]:
        return dict(self.con.execute(f"SELECT {key}, count(*) FROM db.main.edge GROUP BY {key}").fetchall())

    def heavy_keys(self, key: Key) -> Heavy | None:
        if key[0].name != "edge":
            return None
        found = {k: n for k, n in self.counts(key[1]).items() if n > self.share}
        return heavy_of(found, self.share * TASKS, spreading(COLUMNS, key[1]), TASKS)

    def heavy_pair(self, left: Key, right: Key) -> tuple[Heavy | None, Heavy | None] | None:
        if {left[0].name, right[0].name} != {"edge"}:
            return None
        one, two = self.counts(left[1]), self.counts(right[1])
        work = sum(n * two.get(k, 0) for k, n in one.items()) + sum(one.values()) + sum(two.values())
        work = min(work, self.share * TASKS)
        found = [Joined(k, n, two[k], work) for k, n in one.items() if k in two and n * two[k] * TASKS > work]
        rows = self.share * TASKS
        return heavy_of_pair(found, (rows, rows), (spreading(COLUMNS, left[1]), spreading(COLUMNS, right[1])), TASKS)


class Nothing:
    """No heavy keys."""

    def heavy_keys(self, key: Key) -> Heavy | None:
        return None

    def heavy_pair(self, left: Key, right: Key) -> tuple[Heavy | None, Heavy | None] | None:
        return None, None


def rewritten(query: str, heavy: HeavyKeys) -> exp.Expression:
    return salted(parsed(query), heavy)


@settings(max_examples=draws(60))
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=20), st.integers(1, 4), st.sampled_from(sorted(QUERIES)))  # fmt: skip
def test_salted_queries_have_the_same_rows(edges: list[tuple[int, int]], share: int, name: str) -> None:
    with closing(connected(edges)) as con:
        expected = Counter(con.execute(QUERIES[name]).fetchall())
        query = rewritten(QUERIES[name], Counted(con, share))
        assert Counter(con.execute(query.sql("duckdb")).fetchall()) == expected


def test_joins_with_heavy_keys_are_salted_and_others_are_not() -> None:
    hub = [(0, i) for i in range(1, 20)] + [(i, 0) for i in range(1, 20)] + [(i, i + 1) for i in range(20, 60)]
    with closing(connected(hub)) as con:
        heavy = Counted(con, share=5)
        for key in COLUMNS:
            assert heavy.heavy_keys((EDGE, key)) == Heavy(frozenset([0]), spreading(COLUMNS, key), salts=4)
        salts = {name: rewritten(query, heavy).sql("duckdb").count("CASE WHEN") for name, query in QUERIES.items()}
    # The third edge of a triangle is joined on both of its ends, which no two edges have in common.
    assert salts == {
        "pairs": 2, "triangles": 2, "paths": 2, "outer": 2, "other conditions": 2, "one that is not in a join": 0,
    }  # fmt: skip
    for query in QUERIES.values():
        assert rewritten(query, Nothing()).sql() == parsed(query).sql()


class Asked:
    """The heavy keys of edges by the queries of the engine."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        (self.rows,) = con.execute("SELECT count(*) FROM db.main.edge").fetchall()[0]
        self.edge = exp.table_("edge", db="main", catalog="db")

    def heavy_keys(self, key: Key) -> Heavy | None:
        if key[0].name != "edge":
            return None
        found = self.con.execute(heavy_query(self.edge, key[1], self.rows, TASKS).sql("duckdb")).fetchall()
        return heavy_of(dict(found), self.rows, spreading(COLUMNS, key[1]), TASKS)

    def heavy_pair(self, left: Key, right: Key) -> tuple[Heavy | None, Heavy | None] | None:
        if {left[0].name, right[0].name} != {"edge"}:
            return None
        sides = [(self.edge, key[1], self.rows) for key in (left, right)]
        found = [Joined(*row) for row in self.con.execute(pair_query(*sides, TASKS).sql("duckdb")).fetchall()]
        others = spreading(COLUMNS, left[1]), spreading(COLUMNS, right[1])
        return heavy_of_pair(found, (self.rows, self.rows), others, TASKS)


# ---- tasks -------------------------------------------------------------------------------------------


def sent(con: duckdb.DuckDBPyConnection, query: exp.Expression) -> list[tuple[Counter[int], Counter[tuple[int, ...]]]]:
    """The rows that each join sends to each task, and of each key, both sides together: rows go by the values that the join compares."""
    found = []
    steps = query.args.get("with_")
    for select in query.find_all(exp.Select):
        for join in select.args.get("joins") or []:
            if join.side:
                continue
            tasks, keys = Counter[int](), Counter[tuple[int, ...]]()
            # The key of the join comes first, and its salts after it.
            equal = sorted(join.args["on"].find_all(exp.EQ), key=lambda each: each.this.name.startswith("salt"))
            for source in (select.args["from_"].this, *(each.this for each in select.args["joins"])):
                alias = source.alias_or_name
                own = [next(end for end in (each.this, each.expression) if end.table == alias) for each in equal if alias in (each.this.table, each.expression.table)]  # fmt: skip
                if len(own) < len(equal):
                    continue
                rows = exp.select(*(end.copy() for end in own), "count(*)").from_(source.copy())
                rows = rows.group_by(*(end.copy() for end in own))
                if steps is not None:
                    rows.set("with_", steps.copy())
                for *key, number in con.execute(rows.sql("duckdb")).fetchall():
                    tasks[zlib.crc32(repr(key).encode()) % TASKS] += number
                    keys[tuple(key)] += number
            found.append((tasks, keys))
    return found


@pytest.fixture(scope="module")
def graph() -> duckdb.DuckDBPyConnection:
    """60,000 edges, of which a tenth begins at one node and a tenth ends there."""
    generator = np.random.default_rng(0)
    ends = generator.integers(1, 60_000, (60_000, 2))
    ends[generator.random(len(ends)) < 0.1, 0] = 0
    ends[generator.random(len(ends)) < 0.1, 1] = 0
    return connected([(int(a), int(b)) for a, b in ends])


@pytest.mark.slow
def test_no_task_has_much_more_than_its_share(graph: duckdb.DuckDBPyConnection) -> None:
    (rows,) = graph.execute("SELECT count(*) FROM db.main.edge").fetchall()[0]
    heavy = Asked(graph)
    query = parsed(QUERIES["pairs"])
    ((before, keys),) = sent(graph, query)
    ((after, salted_keys),) = sent(graph, salted(query.copy(), heavy))
    salts = [each.salts for each in heavy.heavy_pair((EDGE, "a1"), (EDGE, "a0")) or () if each is not None]
    mean = 2 * rows / TASKS
    assert max(keys.values()) / mean > 8, "one key has a tenth of the rows of each side"
    assert max(before.values()) / mean > 8
    # The heavy key is divided among the pairs of salts of both sides, and each has a part of either.
    parts = {key: number for key, number in salted_keys.items() if key[0] == 0}
    assert len(parts) == prod(salts) > 50
    assert max(parts.values()) < 1.1 * mean
    # Several parts may meet in one task by chance.
    assert max(after.values()) < 0.6 * max(before.values())
    # It makes nearly all pairs, one for each of its rows on one side and on the other.
    pairs, salted_pairs = made(graph, query), made(graph, salted(query.copy(), heavy))
    assert sum(pairs.values()) == sum(salted_pairs.values())
    assert max(pairs.values()) > 0.99 * sum(pairs.values())
    assert max(salted_pairs.values()) < 0.03 * sum(pairs.values())


def made(con: duckdb.DuckDBPyConnection, query: exp.Expression) -> Counter[int]:
    """The pairs that each task makes in a join of two sources."""
    pairs = exp.select("count(*)").from_(query.args["from_"].this.copy())
    (join,) = query.args["joins"]
    keys = [end for each in join.args["on"].find_all(exp.EQ) for end in (each.this,)]
    pairs = pairs.select(*(end.copy() for end in keys)).join(join.copy()).group_by(*(end.copy() for end in keys))
    tasks = Counter[int]()
    for number, *key in con.execute(pairs.sql("duckdb")).fetchall():
        tasks[zlib.crc32(repr(key).encode()) % TASKS] += number
    return tasks


@pytest.mark.slow
def test_no_task_makes_most_of_the_pairs() -> None:
    """Ten nodes have a two-hundredth of the edges each way, so that none has a task's share of the rows, and most of the pairs that meet."""
    generator = np.random.default_rng(1)
    ends = generator.integers(10, 20_000, (200_000, 2))
    for side in range(2):
        chosen = generator.random(len(ends)) < 0.05
        ends[chosen, side] = generator.integers(0, 10, chosen.sum())
    with closing(connected([(int(a), int(b)) for a, b in ends])) as con:
        heavy, query = Asked(con), parsed(QUERIES["pairs"])
        assert heavy.heavy_keys((EDGE, "a0")) is None
        before, after = made(con, query), made(con, salted(query.copy(), heavy))
        ((rows, _),), ((salted_rows, _),) = sent(con, query), sent(con, salted(query.copy(), heavy))
    assert sum(before.values()) == sum(after.values())
    mean = sum(before.values()) / TASKS
    assert max(before.values()) > 8 * mean
    assert max(after.values()) < 2.5 * mean
    assert sum(salted_rows.values()) < 1.5 * sum(rows.values()), "copies are few"


def test_what_is_aggregated_before_it_is_joined_has_no_heavy_key(graph: duckdb.DuckDBPyConnection) -> None:
    """Each of 100 tasks that read the table sends one row of a key, however many it has."""
    rows = graph.execute("SELECT a1, rowid % 100, count(*) FROM db.main.edge GROUP BY ALL").fetchall()
    partial = Counter(key for key, _, _ in rows)
    whole = Counter[int]()
    for key, _, number in rows:
        whole[key] += number
    assert whole[0] > 4_500
    assert partial[0] == 100
    assert max(partial.values()) <= 100


@pytest.mark.slow
def test_paths_send_the_rows_of_a_heavy_key_to_several_tasks(graph: duckdb.DuckDBPyConnection) -> None:
    """The edge in the middle is joined as it is, and the counts around it have a row for each key: copies of that are cheap."""
    (rows,) = graph.execute("SELECT count(*) FROM db.main.edge").fetchall()[0]
    heavy = Asked(graph)
    query = parsed(QUERIES["paths"])
    before = [max(tasks.values()) for tasks, _ in sent(graph, query)]
    after = [max(tasks.values()) for tasks, _ in sent(graph, salted(query.copy(), heavy))]
    total = [sum(tasks.values()) for tasks, _ in sent(graph, query)]
    salted_total = [sum(tasks.values()) for tasks, _ in sent(graph, salted(query.copy(), heavy))]
    mean = rows / TASKS
    assert all(each > 9 * mean for each in before)
    assert all(each < 3 * mean for each in after)
    assert all(new <= old + 2 * skew.MOST_SALTS for old, new in zip(total, salted_total, strict=True))


# ---- on a server -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [1, 100])
def test_the_engine_salts_what_is_heavy(tasks: int, spark: Spark, graph: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:  # fmt: skip
    monkeypatch.setattr(skew, "SALTED_ROWS", 1000)
    monkeypatch.setattr("sqlrl.engine.spark.engine.tasks_of", lambda plan: tasks)
    name = TableName("memory", "sqlrl", "edge")
    storage = tmp_path_factory.mktemp("storage")
    with (
        closing(connect(":memory:", threads=1)) as source,
        closing(SparkEngine(Server(Spark(spark.address, storage=storage)), source)) as engine,
    ):
        source.create_table(name, graph.sql("SELECT * FROM db.main.edge").to_arrow_table(), step="make a table")
        query = parsed(QUERIES["paths"].replace("db.main", "memory.sqlrl"))
        text = engine.render(query)
        assert ("salt1" in text) == (tasks > 1)
        (expected,) = graph.execute(QUERIES["paths"]).fetchall()[0]
        assert engine.fetch(query, step="count").column("n").to_pylist() == [expected]


def test_a_server_says_how_many_tasks_it_has(spark: Spark) -> None:
    """Rows that are divided by a key get to as many partitions as its plan says."""
    server = Server(spark)
    said = skew.tasks_of(server.fetch(skew.PROBE, step="probe").column(0)[0].as_py())
    query = "SELECT count(DISTINCT p) FROM (SELECT spark_partition_id() AS p FROM (SELECT id % 1000 AS k FROM range(100000) GROUP BY id % 1000))"
    assert server.fetch(query, step="count partitions").column(0).to_pylist() == [said]


def test_what_is_heavy() -> None:
    with closing(connected([(0, i) for i in range(9)] + [(1, i) for i in range(7)] + [(2, 0)])) as con:
        edge = exp.table_("edge", db="main", catalog="db")
        rows = con.execute(heavy_query(edge, "a0", 600, TASKS).sql("duckdb")).fetchall()
        assert sorted(rows) == [(0, 9), (1, 7)]
        # Of 17 edges each way 3, 2 and 2 end where 9, 7 and 1 begin: 43 pairs of 77 rows and pairs together.
        pairs = con.execute(pair_query((edge, "a1", 17), (edge, "a0", 17), TASKS).sql("duckdb")).fetchall()
        assert sorted(pairs) == [(0, 3, 9, 77.0), (1, 2, 7, 77.0), (2, 2, 1, 77.0)]
