"""SQL that only asks: what a query of DuckDB's changes is told before it runs. The oracle is DuckDB, which runs each on a copy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.engine.queries import changing_part

CHANGES = {
    "DELETE": ["DELETE FROM t RETURNING x", "delete from t using u where t.x = u.x returning t.x"],
    "UPDATE": ["UPDATE t SET x = x + 1 RETURNING x", "update t set x = u.x + 9 from u where t.x = u.x returning t.x"],
    "INSERT": ["INSERT INTO t VALUES (9) RETURNING x", "Insert Into t (SELECT x FROM u) RETURNING x", "INSERT INTO t BY NAME SELECT 7 AS x RETURNING x"],
    "COPY": ["COPY t TO '{file}'", "copy (select x from t) to '{file}' (format csv)"],
}  # fmt: skip
ASKS = [
    "SELECT x FROM t",
    "VALUES (1)",
    "FROM t",
    "SELECT 'DELETE FROM t' AS x",
    "SELECT x AS delete FROM t",
    'SELECT "insert" FROM words',
    "SELECT delete + copy AS x FROM words",
    "SELECT $$INSERT_QUERY_NODE$$ AS x /* DELETE FROM t */",
    "SELECT x FROM t -- update t set x = 3",
    "SELECT replace('update', 'copy', 'merge') AS x",
    "SELECT x FROM t UNION ALL SELECT x FROM u",
    "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r WHERE x < 3) SELECT x FROM r",
    "FROM query('SELECT x FROM t')",
]
SHAPES = [
    "WITH a AS ({}) SELECT x FROM a",
    "with A as materialized ({}) select 1",
    "WITH b AS (SELECT 1 AS x), a AS NOT MATERIALIZED ({}) FROM a",
    "WITH a(delete) AS ({}) SELECT * FROM a",
    "WITH a AS (/* only asks */ {} -- yes\n) SELECT * FROM a",
    "WITH a AS ({}) PIVOT a ON x",
    "WITH a AS ({}) (SELECT 1 UNION SELECT x FROM a ORDER BY 1)",
    "WITH a AS ({}) SELECT x FROM t",
]
NESTED = ["SELECT * FROM ({}) AS a", "SELECT (SELECT max(x) FROM ({}) AS a) AS x", "({}) UNION ALL SELECT 1", "FROM query($q${}$q$)"]  # fmt: skip


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        made.execute("CREATE TABLE t AS FROM (VALUES (1), (2)) AS v(x)")
        made.execute("CREATE TABLE u AS FROM (VALUES (2), (3)) AS v(x)")
        made.execute('CREATE TABLE words AS SELECT 1 AS "insert", 2 AS "delete", 3 AS copy')
        yield made


def changed(connection: duckdb.DuckDBPyConnection, sql: str, file: Path) -> bool | None:
    """Whether a query changes a table or writes a file; None if DuckDB does not run it."""
    before = connection.execute("FROM t").fetchall()
    try:
        connection.execute(sql).fetchall()
        after = connection.execute("FROM t").fetchall()
    except duckdb.Error:
        return None
    finally:
        connection.execute("DELETE FROM t")
        connection.execute("INSERT INTO t VALUES (1), (2)")
    wrote = file.exists()
    file.unlink(missing_ok=True)
    return before != after or wrote


def test_every_change_in_every_place_is_told(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    file, run = tmp_path / "written.csv", 0
    parts = [(verb, text.format(file=file)) for verb, texts in CHANGES.items() for text in texts]
    for verb, text in [*parts, *(("", text) for text in ASKS)]:
        for shape in [*SHAPES, *NESTED, "{}"]:
            sql = shape.format(text)
            if verb and shape == "{}":
                continue
            try:
                connection.extract_statements(sql)
            except duckdb.Error:
                with pytest.raises(duckdb.Error):
                    changing_part(connection, sql)
                continue
            told = changing_part(connection, sql)
            real = changed(connection, sql, file)
            run += real is not None
            if real is not None:
                assert (told, bool(told)) == (verb, real), sql
    assert run > 150


@pytest.mark.parametrize(
    ("sql", "verb"),
    [
        ("DELETE FROM t", "DELETE"),
        ("SELECT 1; DROP TABLE t", "DROP"),
        ("CREATE TABLE s AS SELECT 1", "CREATE"),
        ("EXPLAIN ANALYZE DELETE FROM t", "EXPLAIN"),
        ("ATTACH ':memory:' AS b", "ATTACH"),
        ("SET threads = 1", "SET"),
        ("MERGE INTO t USING u ON t.x = u.x WHEN MATCHED THEN DELETE", "MERGE INTO"),
        ("SELECT 1; SELECT 2", ""),
        ("PIVOT t ON x", ""),
        ("DESCRIBE t", ""),
        ("SUMMARIZE t", ""),
    ],
)
def test_statements_of_other_kinds(connection: duckdb.DuckDBPyConnection, sql: str, verb: str) -> None:
    assert changing_part(connection, sql) == verb


TEXTS = st.sampled_from([text for texts in CHANGES.values() for text in texts if "{file}" not in text] + ASKS)
CTES = st.lists(TEXTS, min_size=1, max_size=4)


@given(CTES, st.booleans(), st.sampled_from([" ", "\n", "/**/", " -- x\n"]), st.integers(0, 3))
def test_common_tables_in_any_number_and_depth(texts: list[str], inside: bool, blank: str, last: int) -> None:
    steps = [f"c{i}{blank}AS{blank}({blank}{text}{blank}\n)" for i, text in enumerate(texts)]
    sql = f"WITH{blank}{', '.join(steps)} SELECT * FROM c{min(last, len(texts) - 1)}"
    if inside:
        sql = f"WITH z AS (SELECT 1) {sql.replace('WITH', ',', 1)}".replace(") ,", "),", 1)
    with duckdb.connect() as made:
        made.execute("CREATE TABLE t AS FROM (VALUES (1), (2)) AS v(x)")
        made.execute("CREATE TABLE u AS FROM (VALUES (2), (3)) AS v(x)")
        made.execute('CREATE TABLE words AS SELECT 1 AS "insert", 2 AS "delete", 3 AS copy')
        told = changing_part(made, sql)
        assert bool(told) == any(text not in ASKS for text in texts), sql


def test_a_stream_on_the_connection_goes_on(connection: duckdb.DuckDBPyConnection) -> None:
    reader = connection.sql("SELECT i FROM range(1000000) AS r(i)").to_arrow_reader(1000)
    first = next(reader)
    assert changing_part(connection, "WITH a AS (DELETE FROM t RETURNING x) FROM a") == "DELETE"
    assert len(first) + sum(len(batch) for batch in reader) == 1_000_000


# ---- sequences -------------------------------------------------------------------------------------------

STORED = """
    CREATE TABLE t AS FROM (VALUES (1), (2)) AS v(x);
    CREATE SEQUENCE sq;
    CREATE SEQUENCE other;
    CREATE TABLE words AS SELECT 'nextval(1)' AS setval, 2 AS "nextval";
    CREATE VIEW taken AS SELECT nextval('sq') AS x;
    CREATE VIEW "through it" AS SELECT x FROM taken;
    CREATE MACRO step() AS nextval('sq');
    CREATE MACRO steps() AS TABLE SELECT step() AS x;
    CREATE VIEW quiet AS SELECT x FROM t;
"""
MOVES = [
    ("SELECT nextval('sq')::varchar", "a call of nextval"),
    ("SELECT setval('sq', 50) + x FROM t", "a call of setval"),
    ("SELECT x FROM t WHERE x < (SELECT max(NextVal('sq')) FROM t)", "a call of nextval"),
    ("SELECT list_transform([1, 2], lambda y: nextval('sq'))", "a call of nextval"),
    ("SELECT x FROM t ORDER BY \"setval\"('sq', x)", "a call of setval"),
    ("WITH a AS (SELECT main.nextval('sq') AS n) FROM a", "a call of nextval"),
    ("SELECT x FROM t UNION ALL SELECT nextval('sq')", "a call of nextval"),
    ("FROM query('SELECT nextval(''sq'')')", "a call of nextval"),
    ("PIVOT (SELECT nextval('sq') AS x FROM t) ON x", "a call of nextval"),
    ("FROM taken", "a call of nextval in taken"),
    ('SELECT x FROM "through it"', "a call of nextval in taken"),
    ("SELECT x + Step() FROM t", "a call of nextval in step"),
    ("FROM steps()", "a call of nextval in step"),
    ("SELECT 'nextval(sq)'", ""),
    ('SELECT setval, "nextval" FROM words', ""),
    ("SELECT x AS nextval FROM quiet", ""),
    ("SELECT lastval FROM (SELECT x AS lastval FROM t)", ""),
    ("SELECT x AS taken_away FROM t", ""),
]


@pytest.mark.parametrize(("sql", "verb"), MOVES, ids=[sql for sql, _ in MOVES])
def test_a_query_that_moves_a_sequence_does_not_only_ask(sql: str, verb: str) -> None:
    with duckdb.connect() as made:
        made.execute(STORED)
        assert changing_part(made, sql) == verb
        position = "SELECT last_value FROM duckdb_sequences() ORDER BY sequence_name"
        before = made.execute(position).fetchall()
        made.execute(sql).fetchall()
        assert (made.execute(position).fetchall() != before) == bool(verb)


def test_a_statement_of_a_kind_without_a_name_is_no_query(connection: duckdb.DuckDBPyConnection) -> None:
    # The Python package of DuckDB 2.0 has no name for the kind of it.
    assert changing_part(connection, "UPDATE EXTENSIONS") == "UPDATE"
    assert changing_part(connection, "SELECT 1; update extensions (httpfs)") == "UPDATE"
