"""Columns with a collation of their own: constants match exactly all the same."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

import sqlrl
from sqlrl.errors import CatalogError, InputError
from sqlrl.training.stream import atom_groups

NAMES = {"nocase": ("The", "the"), "noaccent": ("cafe", "caf\u00e9")}
MODEL = sqlrl.parse_mln("Word(doc, word)\nLiked(word)\n1 Word(d, w) => Liked(w)", query=("Liked",))


@pytest.fixture(params=["nocase", pytest.param("noaccent", marks=pytest.mark.slow)])
def own(request: pytest.FixtureRequest) -> duckdb.DuckDBPyConnection:
    """Return a connection with a table whose two rows a collation takes for one, and the collation on every text."""
    connection = duckdb.connect()
    connection.execute(
        f"CREATE TABLE words (doc VARCHAR COLLATE {request.param}, word VARCHAR COLLATE {request.param})"
    )
    connection.executemany("INSERT INTO words VALUES (?, ?)", [(name, name) for name in NAMES[request.param]])
    connection.execute("CREATE VIEW seen AS SELECT * FROM words")
    return connection


def names(own: duckdb.DuckDBPyConnection) -> list[str]:
    return [str(name) for (name,) in own.execute("SELECT word FROM words").fetchall()]


@pytest.mark.parametrize(
    ("kind", "typed", "duplicates"),
    [
        *(("table", True, "error"), ("view", False, "drop"), ("query", True, "drop"), ("relation", False, "error")),
        *(
            pytest.param(kind, *how, marks=pytest.mark.slow)
            for kind in ("table", "view", "query", "relation")
            for how in ((True, "error"), (False, "drop"))
        ),
    ],
)
def test_names_that_a_collation_takes_for_one_are_two_constants(
    own: duckdb.DuckDBPyConnection, kind: str, typed: bool, duplicates: str
) -> None:
    source: Any = {"table": "words", "view": "seen", "query": "select * from words"}.get(kind)
    db = sqlrl.connect(own)
    db.load(
        "Word",
        own.sql("select doc, word from words") if source is None else source,
        types=["doc", "word"] if typed else None,
        duplicates=duplicates,
    )
    assert db.advanced.bind(MODEL).types["word"].size == 2
    assert sorted(db.sql("from sqlrl.named_Word").fetchall()) == sorted((name, name) for name in names(own))


def test_options_of_load_match_exactly(own: duckdb.DuckDBPyConnection) -> None:
    db = sqlrl.connect(own)
    first, second = names(own)
    db.load("Word", "words", types=["doc", "word"], constants={first: "renamed"})
    assert sorted(db.sql("from sqlrl.named_Word").fetchall()) == sorted([("renamed", "renamed"), (second, second)])
    db.load("Word", "select *, doc = word as same from words", types=["doc", "word"], truth="same")
    assert db.advanced.bind(MODEL).types["word"].size == 2


def test_examples_in_a_column_or_chosen_match_exactly(own: duckdb.DuckDBPyConnection) -> None:
    db = sqlrl.connect(own)
    db.load("Word", "select word, doc as example from words", types=["word"], example="example")
    db.load("Liked", "select word, doc as example from words", types=["word"], example="example", target=True)
    db.advanced.bind(sqlrl.parse_mln("Word(word)\nLiked(word)\n1 Word(w) => Liked(w)"))
    assert db.advanced.example_ids("select doc from words").tolist() == [0, 1]
    assert db.advanced.example_ids("select doc from words limit 1 offset 1").tolist() == [1]
    with pytest.raises(CatalogError, match=names(own)[1].upper()):
        db.advanced.example_ids("select upper(doc) from words offset 1")


def test_a_scope_and_a_world_match_exactly(own: duckdb.DuckDBPyConnection) -> None:
    db = sqlrl.connect(own)
    db.load("Word", "words", types=["doc", "word"])
    db.scope("Liked", "select word from words")
    assert db.advanced.bind(MODEL).predicates["Liked"].atom_count == 2
    assert db.count(MODEL, world="select word from words limit 1")["n"] == [3]
    with pytest.raises(InputError, match="no query atom"):
        db.count(MODEL, world="select upper(word) as word from words")


def test_groups_match_exactly(own: duckdb.DuckDBPyConnection) -> None:
    db = sqlrl.connect(own)
    db.load("Word", "words", types=["doc", "word"])
    db.load("Liked", "select word from words limit 1", types=["word"], target=True)
    layout = db.advanced.bind(MODEL, training=True)
    atoms, group = atom_groups(db.advanced.engine, layout, "select word, doc from words")
    assert len(set(atoms.tolist())) == len(set(group.tolist())) == 2


def test_a_change_of_case_is_a_change(own: duckdb.DuckDBPyConnection) -> None:
    db = sqlrl.connect(own)
    db.load("Word", "words", types=["doc", "word"])
    first, second = names(own)
    own.execute("UPDATE words SET word = $1 WHERE encode(word) = encode($2)", [second, first])
    assert db.refresh() == ["Word"]
    assert sorted(db.sql("from sqlrl.named_Word").fetchall()) == sorted([(first, second), (second, second)])
