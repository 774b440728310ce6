"""Ctrl-C around the beginning of a transaction leaves none open, and a file closes whatever could not be dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sqlrl

MODEL = sqlrl.parse_mln("Word(word, doc)\nGood(doc)\n1 Word(Sun, d) => Good(d)", query=["Good"])


def loaded(where: str | Path = ":memory:") -> sqlrl.Database:
    db = sqlrl.connect(where, progress=False)
    db.load("Word", [("Sun", "d1"), ("Rain", "d2")], types=["word", "doc"], example="doc")
    return db


@pytest.mark.parametrize("after", [True, False])
def test_ctrl_c_while_a_transaction_begins_leaves_none_open(after: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    db = loaded()
    engine = db.advanced.engine
    run = engine.execute_sql

    def stopped(sql: str, **options: Any) -> int:
        if sql.startswith("BEGIN"):
            if after:
                run(sql, **options)
            raise KeyboardInterrupt
        return run(sql, **options)

    monkeypatch.setattr(engine, "execute_sql", stopped)
    with pytest.raises(KeyboardInterrupt):
        db.predict(MODEL)
    monkeypatch.setattr(engine, "execute_sql", run)
    assert db.predict(MODEL).open_predicates == ["Good"]
    db.close()


def test_a_file_is_let_go_though_its_tables_cannot_be_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = loaded(tmp_path / "data.duckdb")
    db.predict(MODEL)

    def broken(*_: object, **__: object) -> None:
        raise sqlrl.errors.InputError("it cannot be dropped")

    monkeypatch.setattr(db.advanced.engine, "drop_table", broken)
    with pytest.raises(sqlrl.errors.InputError, match="cannot be dropped"):
        db.close()
    assert db.advanced.engine.closed
    with sqlrl.connect(tmp_path / "data.duckdb") as again:
        assert again.sql("select count(*) from sqlrl.predicate").fetchall() == [(2,)]


def test_cursors_that_nobody_closes_leave_no_tables() -> None:
    db = loaded()
    for _ in range(3):
        db.cursor().predict(MODEL)
    assert db.sql("select count(*) from duckdb_tables() where table_name like 'scratch%'").fetchall() == [(0,)]
