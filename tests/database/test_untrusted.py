"""Files of strangers: with `trusted=False` nothing outside of them is read, whatever stands in place of sqlrl's own tables."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

import sqlrl
from sqlrl.catalog.migrations import layout_script
from sqlrl.errors import InputError, LoadError, SourceWarning, SqlrlError, UntrustedError

MARKER = "nobody-may-see-this"
MODEL = "*Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file outside of the database, whose content is looked for in all that comes out."""
    path = tmp_path / "outside" / "secret.csv"
    path.parent.mkdir()
    path.write_text(f"a,b\n{MARKER},{MARKER}\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def _plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all kinds of tables and views that sqlrl makes of data."""
    path = tmp_path_factory.mktemp("plain") / "plain.duckdb"
    with sqlrl.connect(path) as db:
        db.sql("create table pairs as select 'Anna' as a, 'Bob' as b")
        db.sql("create view people as select a from pairs")
        db.load("Friends", "pairs", types=["person", "person"])
        db.load("Smokes", [("Anna",)], types=["person"], given=True)
        db.load("Known", [("Anna", 0.3)], types=["person"], probability=1)
        db.load("Waiting", [("x",)])
        db.load(numeric=["year"])
        db.load("Old", [("1",)], types=["year"])
        db.scope("Smokes", "select 'Anna' union select 'Bob'")
        db.define("near(x, y) :- Friends(x, y).")
        db.predict(sqlrl.parse_mln(MODEL + "0.5 Smokes(Zed)"), keep=True)
    return path


@pytest.fixture
def file(_plain: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(_plain, tmp_path / "given.duckdb"))


def run(file: Path, *statements: str) -> None:
    """Do what a stranger does to a file."""
    with duckdb.connect(file) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def told(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Iterator[Callable[..., None]]:
    """Check that the marker is in none of some values, nor was it printed or logged."""
    caplog.set_level("DEBUG", "sqlrl")

    def check(*values: object) -> None:
        assert not any(MARKER in f"{value!r} {value}" for value in values)

    yield check
    assert MARKER not in caplog.text + "".join(capfd.readouterr())


# ---- in place of what sqlrl makes --------------------------------------------------------------------

LAYOUT = sorted(
    line.split('"')[1] for line in layout_script().splitlines() if line.startswith(("CREATE TABLE", "CREATE VIEW"))
)
DATA = ["dictionary_person", "fact_Friends", "atom_Smokes", "given_Smokes", "named_Friends", "bound_person"]
VIEWS = {n for n in LAYOUT if f'CREATE VIEW "{n}"' in layout_script()} | {"named_Friends", "bound_person"}


def in_place(name: str, secret: Path) -> dict[str, list[str]]:
    """What a stranger can put in place of a table or view, by what it is."""
    table = f'sqlrl."{name}"'
    drop = f"DROP {'VIEW' if name in VIEWS else 'TABLE'} {table}"
    return {
        "view of a file": [drop, f"CREATE VIEW {table} AS SELECT * FROM read_csv('{secret}')"],
        "view of a copy": [f"CREATE TABLE stolen AS FROM {table}", drop, f"CREATE VIEW {table} AS FROM stolen"],
        "macro": [drop, f"CREATE MACRO {table}() AS TABLE SELECT * FROM read_text('{secret}')"],
        "other columns": [drop, f"CREATE TABLE {table} (x STRUCT(y INTEGER))"],
        "default": [drop, f"CREATE TABLE {table} (x INTEGER DEFAULT (length(current_setting('home_directory'))))"],
        "generated": [drop, f"CREATE TABLE {table} (x INTEGER, y VARCHAR GENERATED ALWAYS AS (md5(x::VARCHAR)))"],
        "check": [drop, f"CREATE TABLE {table} (x VARCHAR CHECK (length(x) > random()))"],
        "collation": [drop, f"CREATE TABLE {table} (x VARCHAR COLLATE NOCASE)"],
    }


DISGUISES = sorted(in_place("state", Path()))


FEW = ["run", "strongest_clauses", *DATA]
"""A table and a view of the layout, and all kinds that data have."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FEW else pytest.mark.slow) for name in [*LAYOUT, *DATA]]
)
def test_nothing_stands_in_place_of_a_table(name: str, file: Path, secret: Path, told: Callable[..., None]) -> None:
    # Each disguise is met by one of the few and by some of the others: all of them by all would take minutes.
    place = FEW.index(name) if name in FEW else LAYOUT.index(name)
    disguise, read_only = DISGUISES[place % len(DISGUISES)], place // 2 % 2 == 0
    run(file, *in_place(name, secret)[disguise])
    with pytest.raises(UntrustedError, match=rf"\bsqlrl\.{name}\b") as caught:
        sqlrl.connect(file, trusted=False, read_only=read_only)
    told(caught.value, caught.value.__cause__)
    # Nothing holds the file after a refusal.
    run(file, "CREATE TABLE mine (x INTEGER)")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in FEW else pytest.mark.slow) for name in LAYOUT])
def test_nothing_of_the_layout_is_missing(name: str, file: Path) -> None:
    run(file, f'DROP {"VIEW" if name in VIEWS else "TABLE"} sqlrl."{name}"')
    with pytest.raises(UntrustedError, match=rf"(table|view) sqlrl\.{name} is missing"):
        sqlrl.connect(file, trusted=False)


@pytest.mark.parametrize(
    ("statements", "named"),
    [
        (["CREATE MACRO sqlrl.helper(x) AS x"], "macro sqlrl.helper"),
        (["CREATE INDEX i ON sqlrl.run (lower(learner))"], "index sqlrl.i"),
        (["CREATE SEQUENCE sqlrl.s"], "sequence sqlrl.s"),
        (["CREATE TABLE other (x INTEGER)", "CREATE TRIGGER t AFTER INSERT ON sqlrl.run FOR EACH STATEMENT INSERT INTO other VALUES (1)"], "trigger sqlrl.t"),
        (["ALTER TABLE sqlrl.run ADD COLUMN more VARCHAR DEFAULT md5('x')"], "sqlrl.run is defined otherwise"),
        (["CREATE VIEW sqlrl.more AS SELECT md5(name) FROM sqlrl.dictionary_person"], "view sqlrl.more"),
        (["CREATE VIEW sqlrl.more AS FROM pairs"], "view sqlrl.more"),
        (["CREATE VIEW sqlrl.more AS FROM sqlrl.dictionary_person"], "view sqlrl.more"),
        (
            [
                "CREATE TABLE sqlrl.copy AS FROM sqlrl.dictionary_person",
                "DROP TABLE sqlrl.dictionary_person CASCADE",
                "CREATE VIEW sqlrl.dictionary_person AS FROM sqlrl.copy",
            ],
            "view sqlrl.dictionary_person",
        ),
        (["CREATE TYPE mood AS ENUM ('a')", "CREATE TABLE sqlrl.more (x mood)"], "table sqlrl.more"),
        (["CREATE MACRO lower(x) AS 'HIJACKED'"], "main.lower"),
        (["CREATE MACRO \"||\"(x, y) AS 'HIJACKED'"], r"main.\|\|"),
        (["CREATE MACRO current_database() AS 'HIJACKED'"], "main.current_database"),
        (["CREATE MACRO txid_current() AS 1"], "main.txid_current"),
        (["CREATE MACRO CURRENT_SETTING(x) AS 'nocase'"], "main.CURRENT_SETTING"),
        (["CREATE MACRO duckdb_tables() AS TABLE SELECT 1 AS x"], "main.duckdb_tables"),
        (["CREATE MACRO duckdb_functions() AS TABLE SELECT 1 AS x", "CREATE MACRO md5(x) AS 1"], "main.duckdb_functions"),
        (["CREATE SCHEMA s", "CREATE MACRO s.count(x) AS 1"], "s.count"),
    ],
)  # fmt: skip
def test_nothing_is_there_that_our_sql_would_call(
    statements: list[str], named: str, file: Path, told: Callable[..., None]
) -> None:
    run(file, *statements)
    with pytest.raises(UntrustedError, match=named) as caught:
        sqlrl.connect(file, trusted=False)
    assert "HIJACKED" not in str(caught.value)
    told(caught.value)


def test_a_schema_without_our_tables_is_refused_however_it_is_opened(tmp_path: Path, secret: Path) -> None:
    file = tmp_path / "a.duckdb"
    run(file, "CREATE SCHEMA sqlrl", f"CREATE VIEW sqlrl.layout AS FROM read_csv('{secret}')")
    for read_only in (False, True):
        with pytest.raises(UntrustedError, match="layout is a view, not a table"):
            sqlrl.connect(file, trusted=False, read_only=read_only)


# ---- what passes -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_sqlrl_makes_passes_and_works(file: Path) -> None:
    model = sqlrl.parse_mln(MODEL)
    with sqlrl.connect(file) as db:
        expected = db.predict(model).table().to_arrow()
    for read_only in (True, False):
        with sqlrl.connect(file, trusted=False, read_only=read_only) as db:
            assert db.predict(model).table().to_arrow() == expected
    with sqlrl.connect(file, trusted=False) as db:
        db.load("Friends", [("Anna", "Zoe")], types=["person", "person"])
        db.scope("Smokes", None)
        assert db.predict(model, into="found", keep=True).table()["person"] == ["Zoe"]
        assert sqlrl.models_equal(db.models[-1], model)
    # It is as sqlrl makes it still.
    sqlrl.connect(file, trusted=False).close()


@pytest.mark.slow
def test_a_new_file_a_foreign_one_and_memory_can_be_untrusted(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.duckdb"
    run(foreign, "CREATE TABLE pairs AS SELECT 'Anna' AS a", "CREATE MACRO twice(x) AS 2 * x")
    for path in (":memory:", tmp_path / "new.duckdb", foreign, tmp_path / "sqlrl.duckdb"):
        for _ in range(2):
            with sqlrl.connect(path, trusted=False, threads=1, temp_directory=tmp_path / "spill") as db:
                db.load("P", "pairs" if path == foreign else [("Anna",)], types=["person"])
                assert db.tables()["facts"] == [1]


OUTSIDE = [
    "FROM spy",
    "SELECT spy_too()",
    "FROM read_csv('{secret}')",
    "FROM '{secret}'",
    "FROM read_blob('{secret}')",
    "FROM glob('{secret}')",
    "COPY pairs TO '{secret}.out'",
    "ATTACH '{secret}.duckdb'",
    "EXPORT DATABASE '{secret}.folder'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET allowed_directories = ['/']",
    "SET temp_directory = '{folder}'",
    "SET lock_configuration = false",
    "SET python_enable_replacements = true",
    "FROM enable_logging(storage = 'file', storage_config = {{'path': '{secret}.log'}})",
    "FROM of_python",
]


@pytest.mark.parametrize("name", ["given.duckdb", "sqlrl.duckdb"])
def test_sql_reaches_nothing_outside(name: str, file: Path, secret: Path, told: Callable[..., None]) -> None:
    of_python = pytest.importorskip("pyarrow").table({"a": [MARKER]})
    assert of_python.num_rows == 1
    file = file.rename(file.with_name(name))
    before = sorted(secret.parent.iterdir())
    run(
        file,
        f"CREATE VIEW spy AS SELECT * FROM read_csv('{secret}')",
        f"CREATE MACRO spy_too() AS (SELECT content FROM read_text('{secret}'))",
    )
    with sqlrl.connect(file, trusted=False) as db:
        for sql in OUTSIDE:
            with pytest.raises(SqlrlError) as caught:
                db.advanced.engine.rows_of(sql.format(secret=secret, folder=secret.parent))
            told(caught.value)
            assert db.tables()["facts"], sql
    assert sorted(secret.parent.iterdir()) == before


def test_loading_says_that_files_are_not_read(file: Path, secret: Path, told: Callable[..., None]) -> None:
    run(file, f"CREATE VIEW spy AS SELECT * FROM read_csv('{secret}')")
    with sqlrl.connect(file, trusted=False) as db:
        for source in (secret, str(secret), "spy", f"select * from read_csv('{secret}')", f"select * from '{secret}'"):
            for call in (lambda s: db.load("Q", s), lambda s: db.scope("Smokes", s)):
                with pytest.raises(SqlrlError, match=r"trusted=False|disabled by configuration") as caught:
                    call(source)
                told(caught.value)
            with pytest.raises(SqlrlError) as caught:
                db.advanced.example_ids(source)
            told(caught.value)


# ---- what a file remembers ---------------------------------------------------------------------------


@pytest.mark.slow
def test_a_kept_query_is_run_only_with_a_yes(tmp_path: Path) -> None:
    file, kept = tmp_path / "a.duckdb", "from sqlrl.named_Query union all from sqlrl.named_View order by all"
    with sqlrl.connect(file) as db:
        db.sql("create table pairs as select 'Anna' as a")
        # A query that is run has other rows than before.
        db.sql("create view spy as select a || uuid() as a from pairs")
        db.load("Table_", "pairs", types=["person"])
        db.load("View", "spy", types=["person"])
        db.load("Query", "select a || uuid() as a from pairs", types=["person"])
        before = db.sql(kept).fetchall()
    with sqlrl.connect(file, trusted=False) as db:
        with pytest.raises(UntrustedError, match=r"Query from .select .*View from 'spy'.*run_queries=True"):
            db.refresh()
        assert db.sql(kept).fetchall() == before
        assert db.refresh(run_queries=True) == ["Query", "View"]
        db.load("View", [("Anna",)], types=["person"])
        db.load("Query", [("Anna",)], types=["person"])
        assert db.refresh() == []
        db.sql("insert into pairs values ('Bob')")
        assert db.refresh() == ["Table_"]
    with sqlrl.connect(file) as db:
        db.load("Query", "select a || uuid() as a from pairs", types=["person"])
        assert db.refresh() == ["Query"]


def test_a_table_that_became_a_view_is_a_query(file: Path) -> None:
    run(file, "ALTER TABLE pairs RENAME TO those", "CREATE VIEW pairs AS SELECT a, b FROM those")
    with sqlrl.connect(file, trusted=False) as db, pytest.raises(UntrustedError, match="Friends from 'pairs'"):
        db.refresh()


@pytest.mark.parametrize("kind", ["file", "query", "table", "object"])
def test_a_file_that_is_remembered_is_not_looked_at(
    kind: str, file: Path, secret: Path, told: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Path] = []
    for name in ("stat", "read_bytes", "open"):
        real = getattr(Path, name)
        monkeypatch.setattr(
            Path,
            name,
            lambda self, *a, real=real, **o: looked.append(self) or real(self, *a, **o),  # type: ignore[misc]
        )
    time, size = secret.stat().st_mtime_ns, secret.stat().st_size
    run(
        file,
        f"UPDATE sqlrl.source SET kind = '{kind}', source = '{secret}', fingerprint = '{size + 1}:{time}' WHERE predicate = 'Friends'",
    )
    looked.clear()
    with sqlrl.connect(file, trusted=False) as db:
        prediction = db.predict(sqlrl.parse_mln(MODEL))
        told(prediction.table(), db.tables())
        try:
            with pytest.warns(SourceWarning, match="does not read") if kind == "file" else pytest.MonkeyPatch.context():
                db.refresh(run_queries=True)
        except SqlrlError as error:
            told(error)
    assert not {path for path in looked if path == secret}


def test_a_connection_of_ones_own_is_no_untrusted_file() -> None:
    with pytest.raises(InputError, match="pass the path"):
        sqlrl.connect(duckdb.connect(), trusted=False)


def test_one_process_opens_a_file_in_one_way(file: Path) -> None:
    with sqlrl.connect(file, trusted=False) as db, pytest.raises(SqlrlError, match="already open in this process"):
        sqlrl.connect(file)
    with sqlrl.connect(file), pytest.raises(SqlrlError, match="already open in this process"):
        sqlrl.connect(file, trusted=False)
    with sqlrl.connect(file, trusted=False) as db, sqlrl.connect(file, trusted=False) as other:
        assert other.tables().to_arrow() == db.tables().to_arrow()


def test_a_folder_to_spill_to_is_no_folder_to_read(file: Path, secret: Path) -> None:
    with sqlrl.connect(file, trusted=False, temp_directory=secret.parent) as db, pytest.raises(SqlrlError):
        db.advanced.engine.rows_of(f"FROM read_text('{secret}')")
    with sqlrl.connect(file, trusted=False) as db:
        # Nor one that came along with the file.
        folder = file.with_name(file.name + ".tmp")
        folder.mkdir()
        (folder / "link").symlink_to(secret)
        with pytest.raises(SqlrlError):
            db.advanced.engine.rows_of(f"FROM read_text('{folder}/link')")


# ---- names that act on a terminal --------------------------------------------------------------------


def test_messages_have_no_characters_that_act_on_a_terminal(file: Path, tmp_path: Path) -> None:
    run(file, 'CREATE TABLE sqlrl."\x1b[31mred\u202e\x07" (x STRUCT(y INTEGER))')
    with pytest.raises(UntrustedError) as caught:
        sqlrl.connect(file, trusted=False)
    assert r"\x1b[31mred\u202e\x07" in str(caught.value)
    strange = tmp_path / "a\x1b[2Jb.csv"
    with sqlrl.connect() as db, pytest.raises(LoadError) as missing:
        db.load("P", strange)
    assert str(missing.value).replace("\n", "").isprintable()
