"""What tests of scripts share: documents with words, some of which people like, and a model of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sqlrl
from sqlrl import Database

DOCUMENTS = """
CREATE TABLE words AS FROM (VALUES
    ('d1', 'good'), ('d1', 'new'), ('d2', 'bad'), ('d2', 'new'), ('d3', 'good'), ('d4', 'bad'), ('d5', 'good'), ('d5', 'bad'), ('d6', 'new'), ('d6', 'good')
) AS t(doc, word);
CREATE TABLE liked AS FROM (VALUES ('d1'), ('d3'), ('d5')) AS t(doc);
CREATE TABLE links AS FROM (VALUES ('d1', 'd3'), ('d3', 'd5'), ('d2', 'd4'), ('d6', 'd2')) AS t(a, b);
CREATE PREDICATE Word(doc, word) AS SELECT doc, word FROM words;
CREATE PREDICATE Link(doc, doc) AS FROM links;
CREATE PREDICATE Liked(doc) OPTIONS (target = true) AS FROM liked;
"""

RULES = """
Word(doc, word)
Link(doc, doc)
Liked(doc)
1.5 Word(d, "good") => Liked(d)
-0.5 Word(d, "bad") => Liked(d)
0.75 Link(x, y) ^ Liked(x) => Liked(y)
-0.25 Liked(d)
"""


@pytest.fixture(scope="session")
def _documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the documents. Opening a copy takes a fifth of what loading them takes."""
    path = tmp_path_factory.mktemp("documents") / "documents.duckdb"
    with sqlrl.connect(path) as made:
        made.run(DOCUMENTS)
    return path


@pytest.fixture
def documents(_documents: Path, tmp_path: Path) -> Iterator[Callable[[], Database]]:
    """Open databases with the documents: what one does is not in the others."""
    opened: list[Database] = []

    def another() -> Database:
        opened.append(sqlrl.connect(shutil.copy(_documents, tmp_path / f"documents{len(opened)}.duckdb")))
        return opened[-1]

    yield another
    for each in opened:
        each.close()


@pytest.fixture
def db(documents: Callable[[], Database]) -> Database:
    """Six documents, and the model `taste`."""
    made = documents()
    made.run(f"CREATE MODEL taste AS $${RULES}$$")
    return made


@pytest.fixture(scope="module")
def read_only_db() -> Database:
    """The same, for tests that change nothing."""
    made = sqlrl.connect()
    made.run(f"{DOCUMENTS}; CREATE MODEL taste AS $${RULES}$$")
    return made
