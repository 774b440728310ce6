"""Settings of the user's connection: they change no result, or are refused."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import sqlrl
from sqlrl.errors import InputError


@pytest.mark.parametrize("collation", ["nocase", "NOACCENT", "nocase.noaccent"])
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
            lambda: db.example_ids(["all"]),
            db.refresh,
        ):
            with pytest.raises(InputError, match=message):
                work()
        own.execute(f"RESET {scope} default_collation")
    assert len(db.predict(model).table("Cancer")) == 2


@pytest.mark.parametrize("collation", ["", "C", "posix", "BINARY"])
def test_a_default_collation_that_is_exact_is_taken(collation: str) -> None:
    own = duckdb.connect()
    own.execute(f"SET default_collation = '{collation}'")
    db = sqlrl.connect(own)
    db.load("Smokes", [("anna",), ("Anna",)], types=["person"])
    assert sorted(db.sql("from sqlrl.named_Smokes").fetchall()) == [("Anna",), ("anna",)]


def test_a_file_that_shares_a_default_collation_is_refused_and_not_held(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    own = duckdb.connect(str(path))
    own.execute("SET default_collation = 'nocase'")
    with pytest.raises(InputError, match="default_collation = 'nocase'"):
        sqlrl.connect(path)
    own.execute("RESET default_collation")
    sqlrl.connect(path).close()
