"""Every table, view and column in sqlrl's schema says what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

import sqlrl

pytestmark = pytest.mark.usefixtures("comments")
# In memory there are scratch tables beside ours, those of the program that was bound last.
MISSING = """
    SELECT table_name AS name FROM duckdb_tables()
    WHERE schema_name = 'sqlrl' AND comment IS NULL AND table_name NOT LIKE 'scratch_%'
    UNION ALL SELECT view_name FROM duckdb_views() WHERE schema_name = 'sqlrl' AND comment IS NULL
    UNION ALL SELECT table_name || '.' || column_name FROM duckdb_columns()
    WHERE schema_name = 'sqlrl' AND comment IS NULL AND table_name NOT LIKE 'scratch_%' ORDER BY ALL
"""


def missing(db: sqlrl.Database) -> list[str]:
    return [name for (name,) in db.sql(MISSING).fetchall()]


@pytest.mark.parametrize("where", [":memory:", pytest.param("data.duckdb", marks=pytest.mark.slow)])
def test_every_table_view_and_column_has_a_comment(tmp_path: Path, where: str) -> None:
    db = sqlrl.connect(where if where == ":memory:" else tmp_path / where)
    assert missing(db) == []
    db.load("Word", [("d1", 0, "it's"), ("d2", 0, "b")], types=["doc", "place", "word"], example="doc")
    db.load("Rain", [(True,)], types=[], truth=0)
    db.load("Next", [("0", "1")])
    db.load("Signed", [("d1", True), ("d2", False)], types=["doc"], truth=1)
    db.load("Bold", [("d1", "0")], types=["doc", "place"], target=True)
    db.load("Bold", [("d2", "0", True)], given=True, truth=2)
    db.load("Bold", [("d1", "0", 0.4)], probability=2)
    db.load("Odd", db.sql("select 'd1' as truth, 'it''s' as truth_2"), target=True)
    assert missing(db) == []
    db.scope("Bold", [("d1", "0")])
    assert missing(db) == []
    text = "Word(doc, place, word)\nNext(place, place)\nSigned(doc)\nBold(doc, place)\nRain\nOdd(doc, word)"
    rules = "1 Word(d, p, +w) ^ Rain ^ Signed(d) => Bold(d, p)\n1 Next(p, q) ^ Bold(d, p) => Bold(d, q)\n1 Odd(d, w)"
    model = sqlrl.parse_mln(f"{text}\n{rules}")
    db.predict(model)
    assert missing(db) == []
    named = "select column_name, comment from duckdb_columns() where table_name = 'named_Odd'"
    comments = dict(db.sql(named).fetchall())
    assert comments["doc"] == "Argument 1, of the type doc; the column truth of the source."
    assert comments["word"] == "Argument 2, of the type word; the column truth_2 of the source."
    assert comments["truth"].startswith("Whether it is true")


@pytest.mark.slow
def test_comments_hold_what_is_loaded_again(tmp_path: Path) -> None:
    db = sqlrl.connect(tmp_path / "data.duckdb")
    rows = db.sql("select 'w' || range as word from range(300_000)")
    db.load("Word", rows, types=["word"])
    db.load("Word", rows, types=["word"])
    assert missing(db) == []
    joined = "select count(*) from sqlrl.named_Word join sqlrl.dictionary_word on name = word"
    assert db.sql(joined).fetchall() == [(300_000,)]
