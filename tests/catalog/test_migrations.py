"""Layouts: created, kept, migrated in one transaction, refused if newer."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from sqlrl.catalog import migrations
from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.migrations import open_layout, read_migrations
from sqlrl.catalog.store import Store
from sqlrl.engine.connection import connect
from sqlrl.errors import EngineError, MigrationError
from sqlrl.logic.mln import parse_mln

FIXTURE = Path(__file__).parent.parent / "fixtures" / "layout_1.duckdb"
STEPS = {
    "0002_note.sql": "-- Runs carry a note,\n-- so that people find them.\nALTER TABLE run ADD COLUMN note VARCHAR;\n",
    "0003_mark.sql": "-- Clauses can be marked.\nALTER TABLE clause ADD COLUMN mark VARCHAR;\nUPDATE clause SET mark = 'old';\n",
}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return Path(shutil.copy(FIXTURE, tmp_path / "old.duckdb"))


def test_a_released_database_still_opens_and_binds(old: Path) -> None:
    catalog = Catalog(connect(old))
    model = parse_mln("Word(bib, position, word)\nField(bib, field!, position)\nWord(b, p, +w) => Field(b, +f, p)")
    layout = catalog.bind(model, training=True)
    assert layout.example_count == 2
    assert layout.predicates["Field"].atom_count == 6
    rows = catalog.engine.connection.sql("select clause, weight from sqlrl.strongest_clauses").fetchall()
    assert rows == [("Word(b, p, rules) => Field(b, title, p)", 1.5)]
    catalog.engine.close()


@pytest.mark.usefixtures("comments")
def test_every_table_and_column_has_a_comment(old: Path) -> None:
    connection = connect(old).connection
    ours = "database_name = 'old' and schema_name = 'sqlrl'"
    fixed = "table_name not similar to '(fact|label|atom|dictionary|domain|named)_.*'"
    views = "select view_name from duckdb_views()"
    assert (
        connection.sql(
            f"select table_name from duckdb_tables() where comment is null and {ours} and {fixed}"
        ).fetchall()
        == []
    )
    missing = f"select table_name, column_name from duckdb_columns() where comment is null and {ours} and {fixed} and table_name not in ({views})"
    assert connection.sql(missing).fetchall() == []
    connection.close()


def test_steps_run_once_in_order_with_their_reasons(old: Path) -> None:
    store = Store(connect(old))
    reasons: list[str] = []
    steps = read_migrations(STEPS)
    assert open_layout(store, steps, reasons.append) == (1, 3)
    assert reasons == ["Runs carry a note, so that people find them.", "Clauses can be marked."]
    assert open_layout(store, steps, reasons.append) == (3, 3)
    assert store.engine.connection.sql("select mark from sqlrl.clause").fetchall() == [("old",)]
    assert len(reasons) == 2


def test_a_failing_step_leaves_the_old_layout(old: Path) -> None:
    store = Store(connect(old))
    broken = {**STEPS, "0004_broken.sql": "-- It breaks.\nALTER TABLE nothing ADD COLUMN x VARCHAR;"}
    with pytest.raises(EngineError, match="migrate from layout 1 to 4: "):
        open_layout(store, read_migrations(broken))
    assert store.engine.connection.sql("select version from sqlrl.layout").fetchall() == [(1,)]
    assert "note" not in store.engine.connection.sql("from sqlrl.run").columns
    assert open_layout(store, read_migrations(STEPS)) == (1, 3)


def test_a_newer_file_names_the_version_that_reads_it(old: Path) -> None:
    with duckdb.connect(str(old)) as connection:
        connection.execute("update sqlrl.layout set version = 9, sqlrl = '7.2'")
    with pytest.raises(
        MigrationError, match=r"layout 9, written by sqlrl 7\.2; .* reads layouts up to 1\. Use sqlrl 7\.2 or newer"
    ):
        Catalog(connect(old))


def test_an_old_file_is_not_migrated_when_opened_for_reading(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "shipped_migrations", lambda: read_migrations(STEPS))
    with pytest.raises(MigrationError, match="open it once for writing"):
        Catalog(connect(old, read_only=True))


def test_a_file_that_is_not_ours_gets_a_schema_and_keeps_its_tables(tmp_path: Path) -> None:
    path = str(tmp_path / "theirs.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute("create table layout as select 1 as mine")
    catalog = Catalog(connect(path))
    assert catalog.engine.connection.sql("select mine from main.layout").fetchall() == [(1,)]
    assert catalog.engine.connection.sql("select version from sqlrl.layout").fetchall() == [(1,)]


def test_a_damaged_layout_is_refused(old: Path) -> None:
    with duckdb.connect(str(old)) as connection:
        connection.execute("delete from sqlrl.layout")
    with pytest.raises(MigrationError, match="must have one row and has 0"):
        Catalog(connect(old))


@pytest.mark.parametrize(
    ("scripts", "message"),
    [
        ({"0002_a.sql": "ALTER TABLE run ADD COLUMN x INTEGER"}, "state its reason"),
        ({"two.sql": "-- Why.\nSELECT 1"}, "start with its number"),
        ({"0003_a.sql": "-- Why.\nSELECT 1"}, "without gaps"),
        ({"0002_a.sql": "-- Why.\nSELECT 1", "0002_b.sql": "-- Why.\nSELECT 1"}, "without gaps"),
    ],
)
def test_wrong_scripts_are_refused(scripts: dict[str, str], message: str) -> None:
    with pytest.raises(MigrationError, match=message):
        read_migrations(scripts)
