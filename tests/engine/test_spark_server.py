"""What goes wrong between a database and its server of Spark: no server, one that dies, storage, versions, two clients at once."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

import sqlrl
from sqlrl.database.database import Database
from sqlrl.engine.base import TableName
from sqlrl.engine.nodes import table
from sqlrl.engine.spark.engine import SparkEngine
from sqlrl.engine.spark.mirror import Mirror
from sqlrl.engine.spark.server import Server, Spark
from sqlrl.errors import ConflictError, EngineError, InputError, ServerError, ServerTimeoutError
from tests.spark import connected, server

MODEL = sqlrl.parse_mln(
    "Friends(person, person)\nSmokes(person)\n1.5 Friends(x, y) ^ Smokes(x) => Smokes(y)\n-0.2 Smokes(x)",
    query=["Smokes"],
)
PEOPLE = [("Anna", "Bob"), ("Bob", "Chris"), ("Dora", "Chris")]
LARGE = pa.table({"example": [1, 0, 2, 0], "a0": [5, 6, 7, 8], "name": ["x", "", "o'y", "☃"]})
NAME = TableName("memory", "sqlrl", "large")


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no server longer than a test should take."""
    monkeypatch.setattr("sqlrl.engine.spark.server.RETRIES", 4)


@contextmanager
def opened(spark: Spark, path: str | Path = ":memory:") -> Iterator[Database]:
    with sqlrl.connect(path, engine=spark, progress=False) as db:
        yield db


def world(db: Database) -> dict[str, Any]:
    return db.predict(MODEL).table().to_arrow().to_pydict()


def shown(spark: Spark, storage: Path, resident: int = 1) -> Spark:
    return Spark(spark.address, storage=storage, resident=resident)


def duck(rows: pa.Table = LARGE) -> Any:
    from sqlrl.engine.connection import connect

    engine = connect(":memory:", threads=1)
    engine.create_table(NAME, rows, step="make a table")
    return engine


def rows_of(engine: SparkEngine) -> list[Any]:
    found = engine.fetch(exp.select("*").from_(table(NAME)), step="read")
    return sorted(tuple(row.values()) for row in found.to_pylist())


EVERY = sorted(tuple(row.values()) for row in LARGE.to_pylist())


# ---- the server --------------------------------------------------------------------------------------


def test_no_server_is_said_at_once_and_leaves_no_lock(tmp_path: Path) -> None:
    file = tmp_path / "a.duckdb"
    with pytest.raises(ServerError, match=r"connect to Spark: .*\nsc://127.0.0.1:1 does not answer"):
        sqlrl.connect(file, engine=Spark("sc://127.0.0.1:1/;token=geheim"))
    with sqlrl.connect(file) as db:
        db.load("Friends", PEOPLE)


def test_no_message_has_the_token() -> None:
    with pytest.raises(ServerError) as caught:
        sqlrl.connect(engine=Spark("sc://127.0.0.1:1/;token=geheim"))
    assert "geheim" not in str(caught.value)
    assert "geheim" not in repr(Spark("sc://127.0.0.1:1/;token=geheim"))


@pytest.mark.parametrize(
    "address", ["sc://a:1;token=geheim", "sc://a:1/path;token=geheim", "sc://user:geheim@a:1", "sc://a:1?token=geheim"]
)
def test_no_refusal_has_the_token(address: str) -> None:
    for given in (lambda: Spark(address), lambda: sqlrl.connect(engine=address)):  # type: ignore[arg-type]
        with pytest.raises(InputError) as caught:
            given()
        assert "geheim" not in str(caught.value)


@pytest.mark.slow
def test_a_process_does_not_wait_for_servers_that_were_not_there(tmp_path: Path) -> None:
    with server() as address:
        port = address.rpartition(":")[2]
        code = f"""if True:
            import sqlrl, sys, time
            db = sqlrl.connect(engine=sqlrl.Spark("sc://127.0.0.1:{port}"), progress=False)
            print("open", flush=True)
            sys.stdin.readline()
            import sqlrl.engine.spark.server as server
            server.RETRIES = 1
            for use in (lambda: db.predict(sqlrl.parse_mln("Smokes(person)\\n1 Smokes(x)", query=["Smokes"])),
                        lambda: sqlrl.connect(engine=sqlrl.Spark("sc://127.0.0.1:1"))):
                try:
                    use()
                except sqlrl.errors.ServerError:
                    print("refused", flush=True)
            db.close()
            print(time.time(), flush=True)
        """
        pipe = subprocess.PIPE
        process = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
    said, errors = process.communicate("\n")
    ended = time.time()
    *refused, left = said.split()
    assert refused == ["refused"] * 2
    assert ended - float(left) < 60, errors  # it would be ten minutes


def test_a_server_that_dies_and_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "people.duckdb"
    with server() as address:
        port = int(address.rpartition(":")[2])
        db = sqlrl.connect(file, engine=Spark(address), progress=False)
        db.load("Friends", PEOPLE)
        before = world(db)
    with pytest.raises(ServerError, match="does not answer") as caught:
        world(db)
    assert caught.value.step
    # What was loaded is there, and can be asked.
    assert db.sql("select count(*) from sqlrl.named_friends").fetchall() == [(3,)]
    with server(port):
        assert world(db) == before
        db.close()
    with sqlrl.connect(file) as alone:
        assert alone.predict(MODEL).table().to_arrow().to_pydict() == before


@pytest.mark.parametrize("idle", [0.0, 60.0])
def test_a_server_that_is_started_again_unseen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, idle: float) -> None:
    """It takes the session for a new one: a call fails by name at the most, the next one goes on, and closing never fails."""
    monkeypatch.setattr("sqlrl.engine.spark.server.IDLE", idle)
    with server() as address:
        port = int(address.rpartition(":")[2])
        db = sqlrl.connect(engine=Spark(address, storage=tmp_path, resident=1), progress=False)
        db.load("Friends", PEOPLE)
        before = world(db)
    with server(port):
        if idle:
            # As soon after the call before it that nothing was looked at.
            with pytest.raises(ServerError, match=r"was started again.*\n.*call again, which begins a new session"):
                world(db)
        assert world(db) == before
    with server(port):
        db.close()


class Proxy:
    """A way to a server that can be blocked: what is sent then stays under way; so do new connections, if `anew`."""

    def __init__(self, address: str, *, anew: bool = True) -> None:
        self.port, self.anew = int(address.rpartition(":")[2]), anew
        self.open = threading.Event()
        self.open.set()
        self.sockets = [socket.create_server(("127.0.0.1", 0))]
        self.address = f"sc://127.0.0.1:{self.sockets[0].getsockname()[1]}"
        self.threads = [threading.Thread(target=self._accept, daemon=True)]
        self.threads[0].start()

    def close(self) -> None:
        self.open.set()
        for each in self.sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        for each in self.sockets:
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                ends = [self.sockets[0].accept()[0], socket.create_connection(("127.0.0.1", self.port))]
                self.sockets += ends
                blocked = self.anew or self.open.is_set()
                for one, other in (ends, ends[::-1]):
                    thread = threading.Thread(target=self._pass, args=(one, other, blocked), daemon=True)
                    self.threads.append(thread)
                    thread.start()

    def _pass(self, one: socket.socket, other: socket.socket, blocked: bool) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                if blocked:
                    self.open.wait()
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)


@pytest.mark.slow
def test_a_server_that_answers_nothing_is_given_up() -> None:
    # It is waited for twice, and at closing, three seconds each.
    with server() as address, closing(Proxy(address)) as proxy:
        db = sqlrl.connect(engine=Spark(proxy.address, timeout=3), progress=False)
        db.load("Friends", PEOPLE)
        before = world(db)
        proxy.open.clear()
        for _ in range(2):
            with pytest.raises(ServerTimeoutError, match=r"answered nothing for 3 s\n.*timeout=\.\.\."):
                world(db)
        proxy.open.set()
        assert world(db) == before
        proxy.open.clear()
        db.close()


@pytest.mark.slow
def test_a_server_that_never_greeted_is_given_up() -> None:
    # A socket to which nobody listens takes connections, and says nothing; it is waited for three seconds.
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        address = f"sc://127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(ServerTimeoutError, match=r"connect to Spark: .*answered nothing for 3 s"):
            sqlrl.connect(engine=Spark(address, timeout=3))


@pytest.mark.slow
def test_a_query_may_take_longer_than_a_server_may_be_silent() -> None:
    # The answer comes after ten seconds, while the server greets new connections.
    with (
        server() as address,
        closing(Proxy(address, anew=False)) as proxy,
        closing(Server(Spark(proxy.address, timeout=4))) as session,
    ):
        proxy.open.clear()
        later = threading.Timer(10, proxy.open.set)
        later.start()
        assert session.fetch("SELECT 1 AS one", step="count").to_pylist() == [{"one": 1}]
        later.join()


@pytest.mark.slow
def test_a_session_that_was_idle_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlrl.engine.spark.server.IDLE", 1.0)
    with server(idle=1) as address, opened(Spark(address)) as db:
        db.load("Friends", PEOPLE)
        before = world(db)
        time.sleep(3)
        assert world(db) == before


@pytest.mark.slow
def test_a_session_that_is_forgotten_amid_a_call_is_said() -> None:
    with server(idle=1) as address, closing(Server(Spark(address))) as session:
        time.sleep(3)
        with pytest.raises(ServerError, match=r"count: .*is not running"):
            session.fetch("SELECT 1", step="count")


@pytest.mark.slow
def test_a_process_without_a_main_file(spark_address: str, tmp_path: Path) -> None:
    path = tmp_path / "smokes.mln"
    path.write_text("Friends(person, person)\nSmokes(person)\n1 Friends(x, y) => Smokes(x)\n")
    code = f"""if True:
        import sys, sqlrl
        assert not hasattr(sys.modules["__main__"], "__file__")
        with sqlrl.connect(engine=sqlrl.Spark({spark_address!r}), progress=False) as db:
            db.load("Friends", [("Anna", "Bob")])
            model = sqlrl.parse_mln(open({str(path)!r}).read(), query=["Smokes"])
            print([row["person"] for row in db.predict(model).table()])
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "['Anna']\n"), done.stderr


@pytest.mark.slow
def test_a_server_that_dies_is_no_reason_not_to_close(tmp_path: Path) -> None:
    file = tmp_path / "people.duckdb"
    with server() as address:
        db = sqlrl.connect(file, engine=Spark(address), progress=False)
        db.load("Friends", PEOPLE)
        world(db)
    db.close()
    with sqlrl.connect(file) as again:
        assert again.sql("select count(*) from sqlrl.named_friends").fetchall() == [(3,)]


def test_a_function_that_the_server_lacks_is_named(spark: Spark) -> None:
    with closing(duck()) as source, closing(SparkEngine(Server(spark), source)) as engine:
        lacking = exp.select(exp.Anonymous(this="no_such_function", expressions=[exp.Literal.number(1)]))
        with pytest.raises(EngineError, match=r"(?i)count: .*\nthe server has no function no_such_function"):
            engine.fetch(lacking, step="count")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"address": "localhost:15002"}, "'localhost:15002' is no address of a Spark Connect server"),
        ({"address": 3}, "or a session of its client .*, no int"),
        ({"address": "sc://a:1", "storage": 7}, "storage=7 is no folder"),
        ({"address": "sc://a:1", "storage": ""}, "storage='' is no folder"),
        ({"address": "sc://a:1", "storage": "~/x"}, "storage='~/x' is a relative path"),
        ({"address": object()}, "or a session of its client .*, no object"),
        ({"address": "sc://a:1", "resident": -1}, "resident=-1 must be a whole number of rows"),
    ],
)
def test_what_is_no_server(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Spark(**given)


def test_connect_takes_a_server_alone() -> None:
    with pytest.raises(
        InputError, match=r"a server of Spark is needed.*engine=sqlrl.Spark\('sc://host:port', storage=\.\.\.\)"
    ):
        sqlrl.connect(engine="sc://a:1")  # type: ignore[arg-type]


# ---- copies ------------------------------------------------------------------------------------------


def attempts(storage: Path) -> set[Path]:
    return {path for path in storage.glob("*/*") if path.parent.name != "scratch" and path.name != "done"}


def test_a_table_is_copied_once_and_found_by_later_sessions(spark: Spark, tmp_path: Path) -> None:
    with closing(duck()) as source:
        for _ in range(2):
            with closing(SparkEngine(Server(shown(spark, tmp_path)), source)) as engine:
                assert rows_of(engine) == EVERY
        assert len(attempts(tmp_path)) == 1
    (folder,) = attempts(tmp_path)
    written = pa.concat_tables(pq.read_table(file) for file in sorted(folder.rglob("*.parquet")))
    assert written.column("example").to_pylist() == [0, 0, 1, 2], "in the order of examples"


def test_a_table_that_changes_is_looked_at_again_when_it_is_said(spark: Spark, tmp_path: Path) -> None:
    with closing(duck()) as source, closing(SparkEngine(Server(shown(spark, tmp_path)), source)) as engine:
        engine.renew("first")
        assert rows_of(engine) == EVERY
        source.create_table(NAME, LARGE.slice(1), step="change it")
        engine.renew("first")
        assert rows_of(engine) == EVERY
        engine.renew("second")
        assert rows_of(engine) == sorted(tuple(row.values()) for row in LARGE.slice(1).to_pylist())
    assert len(attempts(tmp_path)) == 2


@pytest.mark.parametrize("resident", [0, 10])
def test_equal_numbers_of_other_types_are_other_tables(spark: Spark, tmp_path: Path, resident: int) -> None:
    for rows in (pa.table({"x": pa.array([1], pa.int32())}), pa.table({"x": pa.array([1], pa.int64())})):
        with (
            closing(duck(rows)) as source,
            closing(SparkEngine(Server(shown(spark, tmp_path, resident)), source)) as engine,
        ):
            assert engine.fetch(exp.select("*").from_(table(NAME)), step="read").schema.types == rows.schema.types


def test_a_copy_without_its_mark_is_made_again(spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrote = Mirror._write

    def stopped(mirror: Mirror, data: pa.Table, path: str, step: str) -> None:
        if "/done/" in path:
            raise KeyboardInterrupt
        wrote(mirror, data, path, step)

    with closing(duck()) as source, closing(SparkEngine(Server(shown(spark, tmp_path)), source)) as engine:
        with monkeypatch.context() as patch:
            patch.setattr(Mirror, "_write", stopped)
            with pytest.raises(KeyboardInterrupt):
                rows_of(engine)
        assert len(attempts(tmp_path)) == 1
        assert rows_of(engine) == EVERY
    assert len(attempts(tmp_path)) == 2


def test_two_clients_that_copy_at_once(spark_address: str, tmp_path: Path) -> None:
    at_once, found, failed = threading.Barrier(2), [], list[BaseException]()

    def client() -> None:
        try:
            with (
                closing(duck()) as source,
                closing(SparkEngine(Server(Spark(spark_address, tmp_path, resident=1)), source)) as engine,
            ):
                at_once.wait()
                found.append(rows_of(engine))
                found.append(rows_of(engine))
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    clients = [threading.Thread(target=client) for _ in range(2)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    assert not failed
    assert found == [EVERY] * 4


def test_a_copy_of_a_table_that_changes_meanwhile_is_not_marked(
    spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, other = Mirror.look, LARGE.set_column(1, "a0", pa.array([5, 6, 7, 9]))

    def changed(mirror: Mirror, name: TableName) -> Any:
        found = looked(mirror, name)
        source.create_table(NAME, other, step="change it")
        return found

    with closing(duck()) as source, closing(SparkEngine(Server(shown(spark, tmp_path)), source)) as engine:
        with monkeypatch.context() as patch:
            patch.setattr(Mirror, "look", changed)
            with pytest.raises(ConflictError, match="large was changed while it was copied to Spark: call again"):
                rows_of(engine)
        assert rows_of(engine) == sorted(tuple(row.values()) for row in other.to_pylist())
        source.create_table(NAME, LARGE, step="as it was")
        engine.renew("as it was")
        assert rows_of(engine) == EVERY


def test_copies_that_go_while_a_session_is_open_are_made_again(spark: Spark, tmp_path: Path) -> None:
    with closing(duck()) as source, closing(SparkEngine(Server(shown(spark, tmp_path)), source)) as engine:
        engine.renew("data")
        assert rows_of(engine) == EVERY
        assert engine.renew("data")
        for folder in tmp_path.iterdir():
            shutil.rmtree(folder)
        assert not engine.renew("data"), "scratch tables may be gone, too"
        assert rows_of(engine) == EVERY


def test_a_copy_that_is_cut_off_or_a_mark_that_is_damaged_is_said(spark: Spark, tmp_path: Path) -> None:
    with closing(duck()) as source:
        with closing(SparkEngine(Server(shown(spark, tmp_path)), source)) as engine:
            rows_of(engine)
        (attempt,) = attempts(tmp_path)
        for files, message in (
            (attempt.rglob("*.parquet"), "the copy of large in .* cannot be used: .*remove the folder"),
            ((attempt.parent / "done").rglob("*.parquet"), "the server of Spark cannot read .*remove it"),
        ):
            for file in files:
                file.write_bytes(file.read_bytes()[:-5])
            with (
                closing(SparkEngine(Server(shown(spark, tmp_path)), source)) as engine,
                pytest.raises(InputError, match=rf"(?s){message}"),
            ):
                rows_of(engine)


def test_a_copy_of_another_version_is_refused(spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(duck()) as source:
        with closing(SparkEngine(Server(shown(spark, tmp_path)), source)) as engine:
            rows_of(engine)
        monkeypatch.setattr("sqlrl.engine.spark.mirror.FORMAT", 2)
        with (
            closing(SparkEngine(Server(shown(spark, tmp_path)), source)) as engine,
            pytest.raises(InputError, match=r"another version of sqlrl \(format 1, this one has 2\)"),
        ):
            rows_of(engine)


def test_a_copy_that_has_lost_files_is_refused(spark: Spark, tmp_path: Path) -> None:
    with closing(duck()) as source:
        with closing(SparkEngine(Server(shown(spark, tmp_path)), source)) as engine:
            rows_of(engine)
        for file in next(iter(attempts(tmp_path))).rglob("*.parquet"):
            file.unlink()
        with (
            closing(SparkEngine(Server(shown(spark, tmp_path)), source)) as engine,
            pytest.raises(InputError, match=r"it has 0 rows of 4.*remove the folder"),
        ):
            rows_of(engine)


def test_storage_that_cannot_be_written(spark: Spark, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with (
        closing(duck()) as source,
        closing(SparkEngine(Server(shown(spark, tmp_path / "file")), source)) as engine,
        pytest.raises(InputError, match=r"(?s)the server of Spark cannot (read|write) .*storage="),
    ):
        rows_of(engine)


def test_a_large_table_without_storage_is_refused_with_a_remedy(spark: Spark) -> None:
    with (
        closing(duck()) as source,
        closing(SparkEngine(Server(Spark(spark.address, resident=1)), source)) as engine,
        pytest.raises(InputError, match=r"the table large has 4 rows.*storage="),
    ):
        rows_of(engine)


# ---- scratch tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize("resident", [0, 3, 100])
def test_scratch_tables_of_any_size(spark: Spark, tmp_path: Path, resident: int) -> None:
    name = TableName("any", "place", "made")
    everything = exp.select("*").from_(table(name))
    few = exp.select("*").from_(table(NAME)).where(exp.GT(this=exp.column("a0"), expression=exp.Literal.number(6)))
    with (
        closing(duck()) as source,
        closing(SparkEngine(Server(shown(spark, tmp_path, resident)), source)) as engine,
    ):
        assert engine.create_table(name, exp.select("*").from_(table(NAME)), step="make") == 4
        engine.append(name, few, step="grow")
        engine.append(name, few.where(exp.false()), step="grow by nothing")
        found = engine.fetch(everything, step="read")
        assert found.num_rows == 6
        assert sorted(found.column("a0").to_pylist()) == [5, 6, 7, 7, 8, 8]
        assert engine.create_table(name, few, step="replace") == 2
        assert engine.create_table(name, LARGE, step="replace by rows") == 4
        engine.drop_table(name, step="drop")
    assert not [file for file in tmp_path.glob("scratch/**/*.parquet") if pq.read_metadata(file).num_rows]


def test_rows_that_no_message_takes_go_to_files(spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("engine", "mirror", "server"):
        monkeypatch.setattr(f"sqlrl.engine.spark.{module}.PIECE", 50)
    name = TableName("any", "place", "made")
    with closing(duck()) as source:
        with closing(SparkEngine(Server(shown(spark, tmp_path, 1000)), source)) as engine:
            assert rows_of(engine) == EVERY
            assert engine.create_table(name, LARGE, step="make") == 4
            assert engine.create_table(name, exp.select("*").from_(table(name)), step="make it of itself") == 4
            assert engine.fetch(exp.select("*").from_(table(name)), step="read").num_rows == 4
        with (
            closing(SparkEngine(Server(Spark(spark.address)), source)) as engine,
            pytest.raises(InputError, match=r"the table that is made to make a world has 4 rows.*storage="),
        ):
            engine.create_table(name, LARGE, step="make a world")


def test_an_error_that_mentions_an_overflow_is_none(spark: Spark) -> None:
    with closing(duck()) as source, closing(SparkEngine(Server(spark), source)) as engine:
        with pytest.raises(EngineError) as caught:
            engine.fetch_rows("SELECT overflow FROM (SELECT 1 AS x) AS overflow_of", step="read")
        assert type(caught.value) is EngineError


# ---- Ctrl-C ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "own"),
    [
        ("fetch", False),
        ("stream", True),
        *(
            pytest.param(*cell, marks=pytest.mark.slow)
            for cell in (("create_table", False), ("stream", False), ("fetch", True), ("create_table", True))
        ),
    ],
)
def test_ctrl_c_stops_a_query_and_the_session_goes_on(spark_address: str, tmp_path: Path, how: str, own: bool) -> None:
    name, made = TableName("any", "place", "numbers"), TableName("any", "place", "made")
    with (
        connected(spark_address) if own else nullcontext(Spark(spark_address)) as spark,
        closing(duck()) as source,
        closing(SparkEngine(Server(Spark(spark.address, storage=tmp_path)), source)) as engine,
    ):
        engine.create_table(name, pa.table({"x": range(3000)}), step="make")
        one, two, three = (table(name, alias) for alias in "abc")
        crossed = (
            exp.select(exp.Count(this=exp.Star()).as_("n"))
            .from_(one)
            .join(two, join_type="cross")
            .join(three, join_type="cross")
        )
        odd = exp.EQ(
            this=exp.Mod(
                this=exp.column("x", "a") + exp.column("x", "b") * exp.column("x", "c"),
                expression=exp.Literal.number(7),
            ),
            expression=exp.Literal.number(3),
        )
        query = crossed.where(odd)
        asked = {
            "fetch": lambda: engine.fetch(query, step="count"),
            "stream": lambda: list(engine.stream(query, step="count")),
            "create_table": lambda: engine.create_table(made, query, step="count"),
        }
        timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            asked[how]()
        assert rows_of(engine) == EVERY
