"""Opening files, memory and the user's own connections."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlglot import exp

import sqlrl
from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.base import TableName
from sqlrl.engine.connection import connect
from sqlrl.errors import BusyError, CatalogError, EngineError, InputError


def load(engine_target: object, **options: object) -> Catalog:
    """Open and load two facts."""
    catalog = Catalog(connect(engine_target, **options))  # type: ignore[arg-type]
    catalog.load("P", [("a",), ("b",)], types=["t"])
    return catalog


@pytest.mark.parametrize(
    "name",
    [
        *("sqlrl.duckdb", "temp.db", 'it\'s "x" é.db'),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("plain.duckdb", "SQLRL.db", "main.db", "system.db")),
    ],
)
def test_any_file_name_works_and_users_write_sqlrl_dot_table(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    catalog = load(path)
    assert catalog.engine.connection.sql("select predicate from sqlrl.predicate").fetchall() == [("P",)]
    catalog.engine.close()
    again = Catalog(connect(str(path)))
    assert list(again.predicates()) == ["P"]
    again.engine.close()


def test_a_second_process_is_told_who_holds_the_file(tmp_path: Path) -> None:
    path = tmp_path / "busy.duckdb"
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == "open"
        with pytest.raises(BusyError, match=rf"held by process {other.pid}.*read_only=True"):
            connect(path)
        with pytest.raises(BusyError, match=r"connect\(path, read_only=True, trusted=False\)"):
            connect(path, trusted=False)
        # Who asked for reading alone needs no advice to do so.
        with pytest.raises(BusyError, match=rf"held by process {other.pid} for writing\. Wait until") as caught:
            connect(path, read_only=True)
        assert "read_only" not in str(caught.value)
        other.communicate("")
    connect(path).close()


def test_what_cannot_be_opened_says_why(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.duckdb"
    damaged.write_bytes(b"no database" * 1000)
    for path, reason in (
        (tmp_path / "no" / "such" / "x.db", "there is no directory"),
        (damaged, "is not a DuckDB database"),
        (tmp_path, "is a directory"),
        (f"{tmp_path}/a\0b", "has a NUL character"),
        ("md:mine", r"is no path of a file.*sqlrl.connect\(duckdb.connect\('md:mine'\)\)"),
        ("http://localhost:1/x.duckdb", "is no path of a file"),
    ):
        with pytest.raises(InputError, match=reason):
            connect(path)
    with pytest.raises(InputError, match="does not exist"):
        connect(tmp_path / "new.db", read_only=True)
    with pytest.raises(InputError, match="memory_limit='lots'"):
        connect(":memory:", memory_limit="lots")
    with pytest.raises(InputError, match="threads=0"):
        connect(":memory:", threads=0)


def read(file: Path, read_only: bool) -> str:
    """What opening and reading a file fails with, nothing if it does not fail."""
    try:
        with sqlrl.connect(file, read_only=read_only) as db:
            db.advanced.engine.fetch(exp.select("*").from_(exp.table_("named_P", db="sqlrl")), step="look")
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_was_cut_off_is_said_to_be_damaged_wherever_that_is_noticed(
    tmp_path: Path, read_only: bool
) -> None:
    whole, file = tmp_path / "whole.duckdb", tmp_path / "cut.duckdb"
    with sqlrl.connect(whole) as db:
        db.load("P", "select repeat(md5(i::text), 20) from range(2000) t(i)", types=["t"])
    content = whole.read_bytes()
    # The half of it has all that DuckDB reads when it opens the file, but not the tables.
    for size in (100, len(content) // 2):
        file.write_bytes(content[:size])
        found = read(file, read_only)
        assert found.startswith(f"{file} is not a DuckDB database, or it is damaged: restore a copy")
        assert "Could not read enough bytes" in found
        # Nothing of it stays in memory: a copy can be restored at once.
        file.write_bytes(content)
        assert read(file, read_only) == ""


def test_what_is_not_damage_of_a_database_is_not_called_so() -> None:
    engine = connect(":memory:")
    engine.execute_sql("create table t as select 'Corrupt database file: ' as x", step="make")
    with pytest.raises(EngineError, match="Could not convert string 'Corrupt database file"):
        engine.execute_sql("select x::int from t", step="read")


def test_a_setting_that_is_refused_leaves_no_file_and_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "new.duckdb"
    with pytest.raises(InputError, match="threads=0"):
        connect(path, threads=0)
    assert not path.exists()
    load(path).engine.close()
    with pytest.raises(InputError, match="threads=0"):
        connect(path, threads=0)
    with connect(path).connection as again:
        assert again.execute("select count(*) from sqlrl.predicate").fetchall() == [(1,)]


OTHERS: list[tuple[str, bytes, str]] = [
    ("x.parquet", b"PAR1" * 100, r"is a Parquet file, not a DuckDB database: .*db\.load\(PREDICATE, '.*x\.parquet'\)"),
    ("parquet.duckdb", b"PAR1" * 100, "is a Parquet file, not a DuckDB database"),
    ("x.csv", b"a,b\n1,2\n", r"is a text file, not a DuckDB database: .*\(such as x\.duckdb\).*db\.load\("),
    ("x.json", b'[{"a": 1}]', r"is a JSON file, not a DuckDB database: .*db\.load\(PREDICATE, \"from read_json\('"),
    (
        "e.db",
        b"// comment\nFriends(Anna, Bob)\n!Smokes(Bob)\n",
        r"perhaps Alchemy's evidence, .*db\.load\(sqlrl\.Evidence\('",
    ),
    ("m.mln", b"1 P(x)\n", r"is a model, not a DuckDB database: .*read_mln\("),
    ("s.db", b"SQLite format 3\0" * 10, "is a database of SQLite, not a DuckDB database: copy its tables"),
    ("n.db", b"Friends\n", "is not a DuckDB database, or it is damaged: restore a copy"),
    ("new.parquet", b"", r"has the name of a Parquet file, not of a DuckDB database: .*\(such as new\.duckdb\)"),
    ("new.csv", b"", "has the name of a text file, not of a DuckDB database"),
]


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(("name", "content", "message"), OTHERS, ids=[o[0] for o in OTHERS])
def test_files_of_another_kind_are_named_and_left_alone(
    tmp_path: Path, name: str, content: bytes, message: str, read_only: bool
) -> None:
    path = tmp_path / name
    if content:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        connect(path, read_only=read_only)
    assert (path.read_bytes() if content else b"") == content
    assert [file.name for file in tmp_path.iterdir()] == ([name] if content else [])


def test_nothing_is_written_to_the_users_database(tmp_path: Path) -> None:
    own = duckdb.connect(str(tmp_path / "own.duckdb"))
    own.execute("create table facts as select 'a' as x union all select 'b'")
    before = own.execute("select database_name, schema_name, table_name from duckdb_tables()").fetchall()
    catalog = Catalog(connect(own))
    catalog.load("P", "facts", types=["t"])
    catalog.load("Q", own.sql("select x from facts"), types=["t"])
    assert catalog.engine.home == ("sqlrl", "main")
    assert own.sql("select count(*) from sqlrl.predicate").fetchall() == [(2,)]
    tables = own.execute("select database_name, schema_name, table_name from duckdb_tables()").fetchall()
    assert [t for t in tables if t[0] != "sqlrl"] == before
    assert own.execute("select current_database(), current_schema()").fetchall() == [("own", "main")]
    catalog.engine.close()
    assert own.execute("select count(*) from facts").fetchall() == [(2,)]


def test_a_connection_can_be_passed_again(tmp_path: Path) -> None:
    own = duckdb.connect()
    load(own)
    assert list(Catalog(connect(own)).predicates()) == ["P"]
    with duckdb.connect(str(tmp_path / "a.duckdb")) as first:
        first.execute("create schema sqlrl; create table sqlrl.mine as select 1 as x")
        catalog = load(first)
        assert catalog.engine.home == ("sqlrl_", "main")


def test_a_read_only_connection_serves_as_a_source(tmp_path: Path) -> None:
    path = str(tmp_path / "own.duckdb")
    with duckdb.connect(path) as own:
        own.execute("create table facts as select 'a' as x union all select 'b'")
    with duckdb.connect(path, read_only=True) as own:
        catalog = Catalog(connect(own))
        catalog.load("P", "facts", types=["t"])
        assert own.sql("select name from sqlrl.dictionary_t order by id").fetchall() == [("a",), ("b",)]


def test_a_file_of_ours_opens_for_reading(tmp_path: Path) -> None:
    path = tmp_path / "ours.duckdb"
    load(path).engine.close()
    catalog = Catalog(connect(path, read_only=True))
    assert list(catalog.predicates()) == ["P"]
    with pytest.raises(CatalogError, match="was opened read-only"):
        catalog.load("Q", [("a",)], types=["t"])
    query = exp.select(exp.convert(1).as_("x"))
    catalog.engine.create_table(TableName(*catalog.engine.scratch, "scratch table"), query, step="scratch")
    catalog.engine.close()
    with duckdb.connect(str(path), read_only=True) as own:
        assert list(Catalog(connect(own)).predicates()) == ["P"]


def test_a_foreign_file_opens_for_reading(tmp_path: Path) -> None:
    path = tmp_path / "foreign.duckdb"
    with duckdb.connect(str(path)) as own:
        own.execute("create table facts as select 'a' as x")
    catalog = Catalog(connect(path, read_only=True))
    catalog.load("P", "facts", types=["t"])
    catalog.engine.close()


def test_no_bar_of_the_engine_is_drawn_where_there_is_no_main_file() -> None:
    # DuckDB takes such a process for an interactive one.
    code = (
        "import duckdb; from sqlrl.engine.connection import connect; ask = \"select current_setting('enable_progress_bar')\"; "
        "print(duckdb.connect().execute(ask).fetchall(), connect(':memory:').connection.cursor().execute(ask).fetchall())"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["[(True,)]", "[(False,)]"]


NOTEBOOK = """
import sys, types
from pathlib import Path
from typing import Any

class Shell:
    config = {"IPKernelApp": {}}

sys.modules["IPython"] = types.SimpleNamespace(get_ipython=Shell)
sys.modules["ipywidgets"] = None
import duckdb
import sqlrl
for database in sys.argv[1:]:
    try:
        duckdb.connect().execute("set enable_progress_bar = false")
    except duckdb.Error as refusal:
        print("ipywidgets" in str(refusal))
    for opened, read_only in ((str, False), (str, True), (duckdb.connect, False)):
        with sqlrl.connect(opened(database), read_only=read_only) as db:
            if not read_only:
                db.load("P", [("a",)], types=["t"])
            print(db.sql("select count(*) as n from range(1000)").fetchall())
"""


@pytest.mark.slow
def test_a_notebook_without_ipywidgets_can_do_all(tmp_path: Path) -> None:
    # DuckDB asks these two modules whether it is in a notebook, and refuses to switch a bar off there (seen in a kernel of ipykernel 7).
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK, ":memory:", str(tmp_path / "x.duckdb")],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == ["True", *["[(1000,)]"] * 3] * 2


class Interrupted:
    """A connection in which Ctrl-C ends a statement."""

    def __init__(self, connection: Any, left: int) -> None:
        self.connection, self.left = connection, left

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)

    def execute(self, *args: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("Query interrupted")
        return self.connection.execute(*args)


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("path", [":memory:", "a.duckdb"])
def test_ctrl_c_in_any_statement_of_connecting_is_that(
    path: str, trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB raises RuntimeError where it notices Ctrl-C by itself; nothing stays open."""
    opened, statements = duckdb.connect, list[Interrupted]()
    target = path if path == ":memory:" else str(tmp_path / path)
    for left in range(100):

        def interrupted(*args: Any, left: int = left, **given: Any) -> Any:
            statements.append(Interrupted(opened(*args, **given), left))
            return statements[-1]

        monkeypatch.setattr(duckdb, "connect", interrupted)
        try:
            engine = connect(target, trusted=trusted)
        except KeyboardInterrupt:
            with pytest.raises(duckdb.ConnectionException, match="closed"):
                statements[-1].connection.execute("SELECT 1")
            continue
        engine.close()
        break
    assert left >= 3
