"""Database files that were damaged or changed by hand: whatever is in the catalog's tables, a call works or says what is wrong."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

import sqlrl
from sqlrl.errors import CatalogError, SqlrlError

MODEL = "*Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n0.5 Smokes(Zed)\n"


@pytest.fixture(scope="module")
def _whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "whole.duckdb"
    with sqlrl.connect(path) as db:
        db.load("Friends", [("Anna", "Bob")], types=["person", "person"])
        db.load("Smokes", [("Anna",)], types=["person"], target=True)
        db.load("Old", [("Ann", "1")], types=["person", "year"])
        db.scope("Smokes", [("Anna",), ("Bob",)])
        db.predict(sqlrl.parse_mln(MODEL), keep=True)
    return path


@pytest.fixture
def file(_whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(_whole, tmp_path / "given.duckdb"))


def used(file: Path) -> None:
    """Do with a file what users do."""
    with sqlrl.connect(file) as db:
        db.tables()
        db.models[-1]
        db.predict(sqlrl.parse_mln(MODEL), keep=True).table()
        db.load("New", [("Dora",)], types=["person"])
        db.predict(sqlrl.parse_mln(MODEL)).table()


def change(file: Path, *statements: str) -> None:
    with duckdb.connect(file) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("insert into sqlrl.dictionary_person from sqlrl.dictionary_person limit 1", "sqlrl.dictionary_person has not one row"),
        ("delete from sqlrl.dictionary_person where id = 0", "sqlrl.dictionary_person has not one row"),
        ("update sqlrl.dictionary_year set id = 7", "sqlrl.dictionary_year has not one row"),
        ("update sqlrl.dictionary_person set name = null where id = 1", "sqlrl.dictionary_person has not one row"),
        ("delete from sqlrl.type", "which sqlrl.type lacks"),
        ("delete from sqlrl.type where type = 'year'", "'year', which sqlrl.type lacks"),
        ("update sqlrl.type set size = 1000", "has not one row"),
        ("insert into sqlrl.type from sqlrl.type", "two rows of sqlrl.type"),
        ("insert into sqlrl.predicate from sqlrl.predicate", "two rows of sqlrl.predicate"),
        ("delete from sqlrl.predicate", "which sqlrl.predicate lacks"),
        ("insert into sqlrl.argument from sqlrl.argument", "in sqlrl.argument are not those from 0 on"),
        ("update sqlrl.argument set position = position + 1", "in sqlrl.argument are not those from 0 on"),
        ("update sqlrl.argument set type = 'nothing'", "'nothing', which sqlrl.type lacks"),
        ("update sqlrl.source set predicate = 'Gone' where predicate = 'Smokes'", "'Gone', which sqlrl.predicate lacks"),
        ("update sqlrl.model set json = '{'", "the model newest of sqlrl.model is no JSON"),
        ("update sqlrl.model set json = '[1]'", "the model newest of sqlrl.model says"),
        ("insert into sqlrl.example select * from sqlrl.example", "sqlrl.example has not one row"),
        ("update sqlrl.example set example = 5", "sqlrl.example has not one row"),
        ("update sqlrl.fact_Friends set a1 = 99999999", "sqlrl.fact_Friends has constants that its dictionary lacks"),
        ("update sqlrl.fact_Smokes set a0 = -5", "sqlrl.fact_Smokes has constants that its dictionary lacks"),
        ("update sqlrl.label_Smokes set a0 = 12", "sqlrl.label_Smokes has constants that its dictionary lacks"),
        ("alter table sqlrl.predicate drop column predicate", "sqlrl.predicate has no column predicate"),
        ("update sqlrl.source set options = 'x'", "the options of a row of sqlrl.source is no JSON"),
        ("update sqlrl.source set options = '{\"more\": 1}'", "the options of a row of sqlrl.source says"),
    ],
)  # fmt: skip
def test_a_damaged_catalog_is_named_with_what_to_do(file: Path, statement: str, problem: str) -> None:
    change(file, statement)
    with pytest.raises(CatalogError, match=f"the database is damaged: .*{problem}.*: take a copy of the file"):
        used(file)


KEYS = ["atoms", "declared", "listed", "named", "outside", "unlabelled", "data", "stale", "examples"]
VALUES = ["{", "[]", '{"person": 1}', '{"person": ["a"]}', "[" * 5000, '{"x": [1, 2, 3]}']


@pytest.mark.parametrize(
    ("key", "values"),
    [
        *((key, [VALUES[(place + 2) % len(VALUES)]]) for place, key in enumerate(KEYS)),
        *(pytest.param(key, VALUES, marks=pytest.mark.slow) for key in KEYS),
    ],
)
def test_whatever_the_state_says_is_used_or_refused(file: Path, key: str, values: list[str]) -> None:
    for value in values:
        copy = Path(shutil.copy(file, file.with_name("copy.duckdb")))
        with duckdb.connect(copy) as connection:
            connection.execute("delete from sqlrl.state where key = ?", [key])
            connection.execute("insert into sqlrl.state values (?, ?)", [key, value])
        try:
            used(copy)
        except SqlrlError as error:
            assert str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("table", "most"),
    [
        *((table, 2) for table in ("state", "predicate", "type", "source")),
        *(pytest.param(table, 100, marks=pytest.mark.slow) for table in ("predicate", "type", "source")),
    ],
)
def test_a_value_that_is_missing_is_used_or_refused(file: Path, table: str, most: int) -> None:
    with duckdb.connect(file) as connection:
        columns = [row[0] for row in connection.execute(f"describe sqlrl.{table}").fetchall()]
    for column in columns[-most:]:
        copy = Path(shutil.copy(file, file.with_name("copy.duckdb")))
        # A file may come without its constraints.
        change(
            copy,
            f"alter table sqlrl.{table} alter column {column} drop not null",
            f"update sqlrl.{table} set {column} = null",
        )
        try:
            used(copy)
        except SqlrlError as error:
            assert str(error)  # noqa: PT017
