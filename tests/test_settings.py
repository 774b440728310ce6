"""Settings of the user's connection: they change no result, or are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlglot import exp

import sqlrl
from sqlrl.engine.connection import connect
from sqlrl.engine.nodes import column
from sqlrl.errors import InputError

TEXT = """
Friends(person, friend)
Smokes(person)
Talks(person, friend)
0.7 Friends(x, y) ^ Smokes(x) => Talks(x, y)
-0.4 Smokes(x)
1.1 EXIST y Talks(x, y)
"""


def found(*settings: str) -> dict[str, Any]:
    """Return what a small job finds on a connection with some settings."""
    own = duckdb.connect()
    for setting in settings:
        own.execute(f"SET {setting}")
    db = sqlrl.connect(own)
    db.load("Friends", [("Anna", "f1"), ("Bob", "f2"), ("Anna", "f2"), ("Chris", "f1")], types=["person", "friend"])
    model = sqlrl.parse_mln(TEXT, query=("Smokes", "Talks"))
    prediction = db.predict(model, keep=True)
    network = db.advanced.ground(model)
    return {
        "predicates": db.tables()["predicate"],
        "facts": db.sql("from sqlrl.named_Friends").fetchall(),
        "dictionary": db.sql("from sqlrl.dictionary_person").fetchall(),
        "smokes": prediction.table("Smokes").to_arrow().to_pylist(),
        "talks": prediction.table("Talks").to_arrow().to_pylist(),
        "rows": (network.indptr.tolist(), network.literals.tolist()),
        "strongest": db.sql("select clause from sqlrl.strongest_clauses").fetchall(),
    }


@pytest.mark.slow
def test_default_orders_change_nothing() -> None:
    assert found("default_order = 'desc'", "default_null_order = 'nulls_first'") == found()


def test_statements_state_their_orders() -> None:
    own = duckdb.connect()
    own.execute("SET default_order = 'desc'")
    own.execute("SET default_null_order = 'nulls_first'")
    engine = connect(own)
    values = exp.select("*").from_("(values (2), (null), (1)) as t(x)")
    number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[exp.Ordered(this=column("x"))]))
    listed = exp.ArraySort(this=exp.ArrayAgg(this=column("x")))

    def fetched(query: exp.Select) -> list[Any]:
        return [row["x"] for row in engine.fetch(query, step="order").to_pylist()]

    assert fetched(values.order_by(column("x"))) == [1, 2, None]
    assert fetched(values.order_by(exp.Ordered(this=column("x"), desc=True))) == [2, 1, None]
    assert fetched(values.order_by(exp.Ordered(this=column("x"), nulls_first=True))) == [None, 1, 2]
    assert fetched(values.select(number.as_("n")).order_by(column("n"))) == [1, 2, None]
    assert fetched(values.select(listed.as_("x"), append=False)) == [[1, 2, None]]


@pytest.mark.parametrize(
    "collation", ["NOACCENT", *(pytest.param(name, marks=pytest.mark.slow) for name in ("nocase", "nocase.noaccent"))]
)
def test_a_default_collation_is_refused_when_sqlrl_connects_and_when_it_is_set_later(collation: str) -> None:
    message = rf"^your connection has default_collation = '{collation}', .*: run RESET default_collation"
    own = duckdb.connect()
    db = sqlrl.connect(own)
    db.load("Smokes", [("anna",), ("Anna",)], types=["person"])
    model = sqlrl.parse_mln("Smokes(person)\nCancer(person)\n1 Smokes(x) => Cancer(x)", query=("Cancer",))
    for scope in ("GLOBAL", "SESSION"):
        own.execute(f"SET {scope} default_collation = '{collation}'")
        for work in (
            lambda: sqlrl.connect(own),
            lambda: db.load("Smokes", [("bob",)], types=["person"]),
            lambda: db.scope("Cancer", [("anna",)]),
            lambda: db.predict(model),
            lambda: db.advanced.example_ids(["all"]),
            db.refresh,
        ):
            with pytest.raises(InputError, match=message):
                work()
        own.execute(f"RESET {scope} default_collation")
    assert len(db.predict(model).table("Cancer")) == 2


def test_a_default_collation_that_is_exact_is_taken() -> None:
    own = duckdb.connect()
    for collation in ("", "C", "posix", "BINARY"):
        own.execute(f"SET default_collation = '{collation}'")
        db = sqlrl.connect(own)
        db.load("Smokes", [("anna",), ("Anna",)], types=["person"])
        assert sorted(db.sql("from sqlrl.named_Smokes").fetchall()) == [("Anna",), ("anna",)], collation


def test_a_file_that_shares_a_default_collation_is_refused_and_not_held(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    own = duckdb.connect(str(path))
    own.execute("SET default_collation = 'nocase'")
    with pytest.raises(InputError, match="default_collation = 'nocase'"):
        sqlrl.connect(path)
    own.execute("RESET default_collation")
    sqlrl.connect(path).close()
