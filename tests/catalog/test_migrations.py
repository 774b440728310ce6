"""Layouts: created, kept, migrated in one transaction, refused if newer."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

import sqlrl
from sqlrl.catalog import inspection, migrations
from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.migrations import open_layout, read_migrations
from sqlrl.catalog.store import Store
from sqlrl.engine.connection import connect
from sqlrl.errors import EngineError, MigrationError, UntrustedError
from sqlrl.logic.mln import parse_mln

FIXTURE = Path(__file__).parent.parent / "fixtures" / "layout_1.duckdb"
BEFORE_VALUES = FIXTURE.with_name("layout_4.duckdb")
BEFORE_KEPT_VALUES = FIXTURE.with_name("layout_5.duckdb")
STEPS = {
    "0002_note.sql": "-- Runs carry a note,\n-- so that people find them.\nALTER TABLE run ADD COLUMN note VARCHAR;\n",
    "0003_mark.sql": "-- Clauses can be marked.\nALTER TABLE clause ADD COLUMN mark VARCHAR;\nUPDATE clause SET mark = 'old';\n",
}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return Path(shutil.copy(FIXTURE, tmp_path / "old.duckdb"))


@pytest.fixture(params=[FIXTURE, BEFORE_VALUES, BEFORE_KEPT_VALUES], ids=["layout 1", "layout 4", "layout 5"])
def each(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return Path(shutil.copy(request.param, tmp_path / "old.duckdb"))


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
def test_a_migrated_layout_is_the_one_that_new_files_have(each: Path, tmp_path: Path) -> None:
    found = []
    for path in (each, tmp_path / "new.duckdb"):
        catalog = Catalog(connect(path))
        names = {item.name for item in inspection._layout(migrations.layout_script())}
        listed = catalog.engine.connection.sql(
            "select table_name, column_name, data_type, is_nullable, comment from duckdb_columns() where schema_name = 'sqlrl' "
            "union all select table_name, '', '', false, comment from duckdb_tables() where schema_name = 'sqlrl' order by all"
        ).fetchall()
        found.append([row for row in listed if row[0] in names])
        found.append(sorted((i.name, i.sql) for i in catalog.engine.contents() if i.name in names))
        catalog.engine.close()
    assert (set(found[0]) ^ set(found[2]), set(found[1]) ^ set(found[3])) == (set(), set())
    assert ("part", "options", "VARCHAR", False, "Options of the load as JSON.") in found[0]


@pytest.mark.slow
@pytest.mark.parametrize("trusted", [True, False])
def test_a_file_from_before_there_were_values_predicts_the_same_and_takes_some(tmp_path: Path, trusted: bool) -> None:
    """Facts, labels, evidence, parts, a scope, a model, and what it predicted then; soft truths can stand beside all that."""
    path = Path(shutil.copy(BEFORE_VALUES, tmp_path / "old.duckdb"))
    with sqlrl.connect(path, trusted=trusted) as db:
        assert db.sql("select version from sqlrl.layout").fetchall() == [(10,)]
        assert db.sql("select distinct value from sqlrl.source").fetchall() == [(None,)]
        model = db.models[-1]
        for _ in range(2):
            predicted = db.predict(model)
            for name in ("Smokes", "Cancer", "Likes"):
                was = db.sql(f'from "predicted_{name}" order by all').fetchall()
                rows = predicted.atoms(name).drop_columns("truth").to_pylist()
                assert sorted(tuple(row.values()) for row in rows) == was
            assert db.sql('select count(*) from "predicted_Cancer"').fetchall() == [(3,)]
            pairs = [("Anna", "Bob", 0.7), ("Bob", "Zoe", 0.0)]
            db.load("Trusts", pairs, types=["person", "person"], value=2)
            db.load("Knows", [("Anna", "Zoe", 0.25)], types=["person", "person"], value=2, target=True)
        db.scope("Knows", [("Anna", "Zoe")])
        layout = db.advanced.catalog.bind(
            sqlrl.parse_psl("1: Trusts(A, B) & Friends(A, B) -> Knows(A, B)"), training=True
        )
        assert [
            (p, i.open, i.valued, i.rows)
            for p, i in sorted(layout.predicates.items())
            if p in ("Friends", "Knows", "Trusts")
        ] == [
            ("Friends", False, False, 5),
            ("Knows", True, True, 1),
            ("Trusts", False, True, 2),
        ]
        assert db.sql("select truth, value from sqlrl.named_Knows").fetchall() == [(False, 0.25)]
        # The file goes on as before: parts are appended to and taken from what was loaded then.
        db.load("Friends", [("Zoe", "Anna")], mode="append")
        assert db.sql("select rows, value from sqlrl.source where predicate = 'Friends'").fetchall() == [(6, None)]
    with sqlrl.connect(path, trusted=trusted) as db:
        assert sorted(db.sql("select value from sqlrl.named_Trusts").fetchall()) == [(0.0,), (0.7,)]


@pytest.mark.parametrize("trusted", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_file_from_before_truth_values_were_kept_predicts_the_same_and_keeps_them(
    tmp_path: Path, trusted: bool
) -> None:
    path = Path(shutil.copy(BEFORE_KEPT_VALUES, tmp_path / "old.duckdb"))
    with sqlrl.connect(path, trusted=trusted) as db:
        was = [value for (value,) in db.sql("select value from predicted order by person").fetchall()]
        prediction = db.predict(db.models[-1], keep=True)
        assert prediction.atoms()["value"].to_pylist() == pytest.approx(was, abs=1e-9)
    with sqlrl.connect(path, trusted=trusted) as db:
        kept = db.sql("select value from sqlrl.truth_value where run = (select max(run) from sqlrl.run) order by atom")
        assert [value for (value,) in kept.fetchall()] == pytest.approx(was, abs=1e-9)
        assert db.sql("select status from sqlrl.optimum").fetchall() == [("optimal",)]


VIEWS = [
    *("strongest_clauses", "clause_history", "learning_curve", "worst_predicted_examples", "confusion"),
    *("block_confusion", "calibration", "clause_support", "clause_overlap", "explain_atom", "run_comparison"),
    "count_differences",
]


@pytest.mark.parametrize(
    "layout",
    [layout if layout in (1, 4, 7) else pytest.param(layout, marks=pytest.mark.slow) for layout in range(1, 10)],
)
def test_views_can_be_read_whatever_layout_a_file_had(old: Path, layout: int) -> None:
    store = Store(connect(old))
    open_layout(store, migrations.shipped_migrations()[: layout - 1])
    store.engine.close()
    sqlrl.connect(old, trusted=False).close()
    with sqlrl.connect(old, trusted=False, read_only=True) as db:
        assert db.sql("select version from sqlrl.layout").fetchall() == [(10,)]
        for view in VIEWS:
            db.sql(f"from sqlrl.{view}").fetchall()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "trusted"),
    [(1, True), (9, True), *((layout, False) for layout in range(1, 10))],
)
def test_views_are_there_whatever_layout_a_file_had(old: Path, layout: int, trusted: bool) -> None:
    store = Store(connect(old))
    open_layout(store, migrations.shipped_migrations()[: layout - 1])
    store.engine.close()
    with sqlrl.connect(old, trusted=trusted) as db:
        rules = "Word(bib, position, word)\nField(bib, field!, position)\nWord(b, p, +w) => Field(b, +f, p)"
        model = sqlrl.Likelihood().fit(db, sqlrl.parse_mln(rules)).model_
        prediction = db.predict(model, keep=True)
        prediction.evaluate()
        prediction.why(db.sql("select any_value(name) from sqlrl.outcome").fetchall()[0][0])
        db.probabilities(model, keep=True).evaluate()
        db.diagnose(model, kind="overlap")
        db.count(model, expected=True, keep=True)
        rows = {view: len(db.sql(f"from sqlrl.{view}").fetchall()) for view in VIEWS}
    assert {view for view in VIEWS if not rows[view]} <= {"clause_history", "clause_overlap"}
    with sqlrl.connect(old, trusted=trusted, read_only=True) as db:
        assert {view: len(db.sql(f"from sqlrl.{view}").fetchall()) for view in VIEWS} == rows


def test_a_view_that_a_migration_makes_anew_is_replaced_and_others_are_held_against_the_layout(old: Path) -> None:
    store = Store(connect(old))
    open_layout(store, migrations.shipped_migrations()[:6])
    store.engine.close()
    changes = {
        "create or replace view sqlrl.worst_predicted_examples as select 1 as mine": None,
        "drop view sqlrl.worst_predicted_examples": None,
        "drop view sqlrl.worst_predicted_examples; create table sqlrl.worst_predicted_examples (a INTEGER)": "is a table, not a view",
        "create view sqlrl.confusion as select 1 as mine": "view sqlrl.confusion is none of those",
        "create table sqlrl.outcome (a INTEGER)": None,
        "create or replace view sqlrl.added_clauses as select 1 as mine": "added_clauses is defined otherwise",
    }
    for change, message in changes.items():
        path = Path(shutil.copy(old, old.with_name("other.duckdb")))
        with duckdb.connect(str(path)) as connection:
            connection.execute(change)
        if message is not None:
            with pytest.raises(UntrustedError, match=message):
                sqlrl.connect(path, trusted=False)
        elif "outcome" in change:
            with pytest.raises(EngineError, match="migrate from layout 7 to 10"):
                sqlrl.connect(path, trusted=False)
        else:
            with sqlrl.connect(path, trusted=False) as db:
                assert db.sql("from sqlrl.worst_predicted_examples").columns[:2] == ["run", "example"]
                assert "mine" not in db.sql("from sqlrl.worst_predicted_examples").columns


@pytest.mark.slow
def test_a_file_of_an_older_layout_is_held_against_its_own(old: Path) -> None:
    for change in (None, "alter table sqlrl.type add column edges VARCHAR", "drop table sqlrl.step"):
        path = Path(shutil.copy(old, old.with_name("other.duckdb")))
        if change is not None:
            with duckdb.connect(str(path)) as connection:
                connection.execute(change)
            with pytest.raises(UntrustedError, match=r"defined otherwise|missing"):
                sqlrl.connect(path, trusted=False)
            continue
        db = sqlrl.connect(path, trusted=False)
        assert db.sql("select version from sqlrl.layout").fetchall() == [(10,)]
        db.advanced.engine.close()
        sqlrl.connect(path, trusted=False).advanced.engine.close()


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
        connection.execute("update sqlrl.layout set version = 11, sqlrl = '7.2'")
    with pytest.raises(
        MigrationError, match=r"layout 11, written by sqlrl 7\.2; .* reads layouts up to 10\. Use sqlrl 7\.2 or newer"
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
    assert catalog.engine.connection.sql("select version from sqlrl.layout").fetchall() == [(10,)]


@pytest.mark.usefixtures("comments")
def test_a_migrated_file_has_the_tables_of_a_new_one(old: Path, tmp_path: Path) -> None:
    """By their definitions, whichever way they came to be; what migrations make has its comments, too."""
    found = []
    for path in (old, tmp_path / "new.duckdb"):
        Catalog(connect(path)).engine.close()
        with duckdb.connect(str(path)) as connection:
            ours = "where schema_name = 'sqlrl' and table_name not similar to '(fact|label|atom|dictionary|domain|named)_.*'"
            tables = f"select table_name, sql, comment from duckdb_tables() {ours} order by 1"
            columns = "select column_name, comment from duckdb_columns() where table_name in ('learned_from', 'joint_count', 'formulation', 'rule_log', 'diagnosis', 'diagnosis_grounding', 'audit_atom', 'audit_fold', 'audit_baseline', 'leak', 'audit_seen', 'leaks', 'truth_value', 'rule_distance', 'optimum', 'outcome', 'support', 'overlap', 'named_model', 'script_log', 'clause_statistics', 'count_differences') order by table_name, column_index"
            views = "select view_name, sql, comment from duckdb_views() where schema_name = 'sqlrl' and view_name not like 'named_%' order by 1"
            found.append([connection.sql(query).fetchall() for query in (tables, columns, views)])
    assert found[0] == found[1]
    assert "learned_from" in {name for name, *_ in found[0][0]}


@pytest.mark.parametrize("trusted", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_released_database_goes_to_the_newest_layout(old: Path, trusted: bool) -> None:
    with sqlrl.connect(old, trusted=trusted) as db:
        assert db.sql("select version from sqlrl.layout").fetchall() == [(10,)]
        model = sqlrl.parse_mln(
            "Word(bib, position, word)\nField(bib, field!, position)\nWord(b, p, +w) => Field(b, +f, p)"
        )
        sqlrl.baselines.MIRA().fit(db, model)
        rows = db.sql("select run, example_name, predicate, constants from sqlrl.learned_from order by all").fetchall()
        assert rows == [(1, "b1", "Field", None), (1, "b2", "Field", None)]


def test_an_older_file_of_a_stranger_lacks_only_what_is_made_later(old: Path) -> None:
    with duckdb.connect(str(old)) as connection:
        connection.execute("drop table sqlrl.tuning")
    with pytest.raises(
        UntrustedError, match=r"^((?!learned_from).)*the table sqlrl\.tuning is missing((?!learned_from).)*$"
    ):
        sqlrl.connect(old, trusted=False)


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
