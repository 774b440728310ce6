"""Queries that users give in place of a table only ask, wherever they may be given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sqlrl
from sqlrl.database.database import Database
from sqlrl.errors import SqlrlError

MODEL = "*F(ex, t)\nL(ex, t)\n1 F(e, x) => L(e, x)"
ONE = "WITH a AS (DELETE FROM victim RETURNING name) SELECT name FROM a"
TWO = "WITH a AS (UPDATE victim SET name = 'e2' RETURNING name) SELECT name, 'a' AS x FROM a"
WRITES = "WITH a AS (INSERT INTO victim VALUES ('e3') RETURNING name) SELECT name FROM a"
FILE = "WITH a AS (COPY victim TO '{file}') SELECT 'e1' AS name"


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    """One database for all tests: what is refused leaves it as it was, which each of them checks."""
    with sqlrl.connect() as made:
        made.sql("create table victim as from (values ('e1'), ('e2')) as v(name)")
        made.sql("create table rows as from (values ('e1', 'a'), ('e1', 'b'), ('e2', 'c')) as v(e, x)")
        made.load("F", "rows", types=["ex", "t"], example="e")
        made.load("L", "select e, x from rows where x <> 'b'", types=["ex", "t"], example="e", target=True)
        made.load("One", [("a",)], types=["t"])
        made.models["m"] = sqlrl.parse_mln(MODEL, query=["L"])
        yield made


def model(db: Database) -> sqlrl.Model:
    return db.models["m"]


Call = Callable[[Database, str], Any]

IN_PYTHON: dict[str, Call] = {
    "load": lambda db, q: db.load("P", q, types=["t"]),
    "load as labels": lambda db, q: db.load("P", q, types=["t"], target=True),
    "load several": lambda db, q: db.load({"P": q}),
    "append": lambda db, q: db.load("One", q, mode="append"),
    "remove": lambda db, q: db.load("One", q, mode="remove"),
    "scope": lambda db, q: db.scope("One", q),
    "bins": lambda db, q: db.load("P", q, types=["new"], bins={"new": 2}),
    "predict": lambda db, q: db.predict(model(db), examples=q),
    "probabilities": lambda db, q: db.probabilities(model(db), examples=q),
    "count": lambda db, q: db.count(model(db), examples=q),
    "count in a world": lambda db, q: db.count(model(db), world=q),
    "count in worlds": lambda db, q: db.count(model(db), world={"L": q}),
    "count against": lambda db, q: db.count(model(db), world="observed", against=q),
    "diagnose": lambda db, q: db.diagnose(model(db), examples=q),
    "fit": lambda db, q: sqlrl.AdaGrad().fit(db, model(db), examples=q),
    "fit in groups": lambda db, q: sqlrl.Likelihood(strength=[0.1, 1.0]).fit(db, model(db), examples=["e1"], groups=q),
    "ilp": lambda db, q: sqlrl.ILP().fit(db, "L", examples=q),
    "export": lambda db, q: db.export(model(db), "never.wcnf", examples=q),
    "ego network": lambda db, q: sqlrl.EgoNetworks(db, q.replace("name", "name, name AS other", 1) if "other" not in q else q, target="P"),
    "centres": lambda db, q: (
        sqlrl.SubgraphQueries(db, q, {"P": "select example, example as x from centres"}).schemas()
    ),
    "query of a stream": lambda db, q: (
        sqlrl.SubgraphQueries(db, "select 'e1' as example", {"P": q}).schemas()
    ),
}  # fmt: skip

IN_SCRIPTS = [
    "CREATE PREDICATE P(t) AS {}",
    "SET VARIABLE v = 1; CREATE PREDICATE P(t) AS FROM ({}) WHERE $v = 1",
    "CREATE OR REPLACE PREDICATE One(t) OPTIONS (append = true) AS {}",
    "ALTER PREDICATE One SET SCOPE ({})",
    "CREATE MODEL n OPTIONS (learner = 'adagrad') FROM MODEL m TRAINED ON ({})",
    "FROM ML.PREDICT(MODEL m, ({}))",
    "FROM ML.EVALUATE(MODEL m, ({}))",
    "FROM ML.COUNT(MODEL m, world => ({}))",
    "CREATE TABLE kept AS FROM ML.PROBABILITIES(MODEL m, ({}))",
    "WITH b AS ({}) FROM ML.PREDICT(MODEL m, (FROM b))",
    "FROM ML.PREDICT(MODEL m, (SELECT DISTINCT example FROM ML.PREDICT(MODEL m, ({}))))",
    "FROM ML.PREDICT(MODEL m, (WITH b AS ({}) SELECT b.name FROM b, ML.WEIGHTS(MODEL m)))",
]


def refused(db: Database, call: Callable[[], Any], file: Path) -> None:
    """Check that a call is refused before anything changed."""
    state = db.sql("from victim order by all").fetchall()
    loaded = db.tables().to_arrow()
    with pytest.raises(SqlrlError, match=r"changes (something|nothing)|not understood as a query") as caught:
        call()
    assert db.sql("from victim order by all").fetchall() == state, str(caught.value)
    assert db.tables().to_arrow() == loaded
    assert not file.exists()


@pytest.mark.parametrize("query", [ONE, TWO, WRITES, FILE], ids=["delete", "update", "insert", "copy"])
@pytest.mark.parametrize("name", IN_PYTHON)
def test_in_python(name: str, query: str, db: Database, tmp_path: Path) -> None:
    file = tmp_path / "written.csv"
    refused(db, lambda: IN_PYTHON[name](db, query.format(file=file)), file)


@pytest.mark.parametrize("query", [ONE, TWO, WRITES, FILE], ids=["delete", "update", "insert", "copy"])
def test_in_scripts(query: str, db: Database, tmp_path: Path) -> None:
    file = tmp_path / "written.csv"
    for script in IN_SCRIPTS:
        refused(db, lambda script=script: db.run(script.format(query.format(file=file))), file)  # type: ignore[misc]


def test_a_query_that_a_file_keeps(tmp_path: Path) -> None:
    # What is loaded again is what somebody may have written into the file.
    path, file = tmp_path / "a.duckdb", tmp_path / "written.csv"
    with sqlrl.connect(path) as db:
        db.sql("create table victim as from (values ('e1'), ('e2')) as v(name)")
        db.load("P", "select name from victim", types=["t"])
        for query in (ONE, TWO, WRITES, FILE.format(file=file)):
            db.sql(f"update sqlrl.source set source = {_quoted(query)} where predicate = 'P'")
            db.advanced.catalog.store.forget()
            refused(db, db.refresh, file)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def test_what_only_asks_is_asked(db: Database) -> None:
    db.sql('create table words as select 1 as "delete", \'e1\' as "update"')
    assert len(db.predict(model(db), examples='select "update" from words where "delete" = 1').table()) > 0
    db.load("Asked", "select 'insert into victim values (1)' as x -- delete from victim", types=["t"])
    rows = db.run(
        "FROM ML.PREDICT(MODEL m, (SELECT update FROM words WHERE delete = 1 /* copy victim to 'x' */))"
    ).table
    assert rows is not None
    assert len(rows) == 2
