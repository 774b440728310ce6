"""A session of a Spark Connect server: queries and files by its client, with failures as errors of ours."""

from __future__ import annotations

import logging
import math
import re
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pyarrow as pa

from sqlrl import markup
from sqlrl.engine.dialects import OVERFLOW
from sqlrl.engine.interruption import on_interrupt
from sqlrl.engine.main_module import named_main
from sqlrl.errors import (
    EngineError,
    InputError,
    OverflowEngineError,
    Parameter,
    Phrase,
    ServerError,
    ServerTimeoutError,
    SqlrlError,
    brief,
)
from sqlrl.progress import Stage
from sqlrl.wording import counted

logger = logging.getLogger(__name__)
_Found = TypeVar("_Found")

RESIDENT = 65_536
"""Rows up to which a table is a part of the session, and no files: to send them is what one small query costs."""

DICTIONARY = 1_000_000
"""Constants of a type up to which data that are encoded on a server give names to the database."""

PIECE = 32_000_000
"""Bytes of rows that are sent at once: servers take messages of 128 MB."""

FUNCTIONS = """
SELECT TRY_SUM(x), COUNT_IF(x > 0), LN(MAX(x)), FLOOR(MIN(x)), ABS(SUM(x)), GREATEST(COUNT(x), 1), LEAST(COUNT(x), 1),
    CASE WHEN COUNT(x) > 9 THEN CAST(RAISE_ERROR('x') AS DECIMAL(38, 0)) END,
    SIZE(FILTER(ARRAY_DISTINCT(ARRAY_SORT(COLLECT_LIST(x))), y -> y > 0)), TRANSFORM(ARRAY(1), y -> y + 1), ELEMENT_AT(ARRAY(1), 1),
    CONCAT('a', 'b'), COALESCE(MAX(n), 0)
FROM (SELECT x, ROW_NUMBER() OVER (ORDER BY x) AS n FROM (SELECT EXPLODE(ARRAY(1, 2)) AS x) AS t) AS t
"""
"""A query with every function of Spark's that plans have: a server is asked before any work whether it knows them."""

_STORAGE = 'Spark(address, storage="..."), or a greater resident='
_UNCHANGED = "Nothing in the database was changed by this call."
_LONGER = "Spark(address, timeout=...)"
_ADDRESS = re.compile(r"sc://(\[[0-9A-Fa-f:.]+\]|[^\s/:;?@\[\]]+)(:\d+)?(/(;.*)?)?")
_SECRET = re.compile(r"(?<=://)[^/;?]*@|/?[;?].*", re.DOTALL)
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]+:/")
_LACKS = re.compile(r"unknown function:? *`?(?P<sail>\w+)|UNRESOLVED_ROUTINE\].*?`(?P<spark>\w+)`", re.IGNORECASE)
_DETAILS = re.compile(r'details = "(.*?)(?:;|"$)', re.MULTILINE)
_LOST = re.compile(r"INVALID_HANDLE\.SESSION_|incorrect server side session identifier|session \S+ is not running")
"""What a server says of a session that it has not, or the client of one that is another one."""
_FORGOTTEN = re.compile(
    r"not found.*\bsqlrl_\d+|TABLE_OR_VIEW_NOT_FOUND.*\bsqlrl_\d+|\bsqlrl_\d+.*cannot be found", re.IGNORECASE
)
"""What a server says that was started again, and takes the session for a new one: it has none of the views."""
_OVERFLOW = re.compile(
    rf"{OVERFLOW}|ARITHMETIC_OVERFLOW|NUMERIC_VALUE_OUT_OF_RANGE|(?i:arithmetic overflow|overflow happened)"
)
_AWAY = "UNAVAILABLE"
_TRACE = re.compile(r"\n\s*(?:JVM stacktrace|Driver stacktrace|at [\w.$]+\()")
_CHANNEL = (("grpc.use_local_subchannel_pool", 1), ("grpc.max_reconnect_backoff_ms", 1000))
"""A server that has come back is found within a second, also by a channel of a process that had one to it before."""

_ANSI = "spark.sql.ansi.enabled"
_NOISE = (r"\[RETRIES_EXCEEDED\]", "PySpark does not yet fully support pandas")
"""What the client warns of beside errors that say it, and of what is not used of it."""

IDLE = 5.0
"""Seconds without a call after which a session may have been forgotten: servers end those that are idle, some after minutes."""

TIMEOUT = 120.0
"""Seconds that a server may answer nothing, not even a greeting, while it is to do something."""

RETRIES = 6
"""How often a call is repeated that did not reach the server, over about 10 seconds; the client's own 15 take 10 minutes."""


@dataclass(frozen=True, eq=False)
class Spark:
    """A Spark Connect server on which the plans of models run, for `connect(path, engine=Spark(...))`.

    Data are loaded into DuckDB as ever, and models, runs and statistics stay there. What plans read of it, tables of integers and the
    names of constants, is copied once to where the server works; counts, ground clauses and names come back.

    Parameters
    ----------
    address : str or pyspark.sql.SparkSession
        Such as "sc://localhost:15002", or with options of the client's ("sc://host:443/;use_ssl=true;token=..."); or a session of Spark
        Connect that you have, which stays open.
    storage : str or path, optional
        A folder that the *server* can read and write, on its disk or in an object store ("s3://bucket/folder"). Tables of more than
        `resident` rows are kept there as Parquet, also for later sessions and other clients. Without one, larger tables are refused.
    resident : int
        Tables of no more rows are sent to each session of the server, and are in its memory.
    dictionary : int
        Of data that are encoded on the server (`ServerFiles`), types of no more constants have their names in the database, too. Those of
        larger types stay in the storage, where they are looked up for what is shown.
    timeout : float
        Seconds after which a call is given up with a `ServerTimeoutError` if the server answers nothing, not even that it is there. A query
        that runs longer goes on as long as the server greets new connections; so do all calls of a session of yours, whose client decides.

    Examples
    --------
    >>> Spark("sc://user.example:443/;use_ssl=true;token=secret", storage="s3://bucket/sqlrl")
    Spark('sc://user.example:443', storage='s3://bucket/sqlrl')
    >>> Spark("localhost:15002")
    Traceback (most recent call last):
    sqlrl.errors.InputError: 'localhost:15002' is no address of a Spark Connect server: write sc://host:port, such as sc://localhost:15002.
    """

    address: Any = field(repr=False)
    storage: str | Path | None = None
    resident: int = RESIDENT
    dictionary: int = DICTIONARY
    timeout: float = TIMEOUT

    def __post_init__(self) -> None:
        if isinstance(self.address, str) and not _ADDRESS.fullmatch(self.address):
            raise InputError(
                f"{self.shown!r} is no address of a Spark Connect server: write sc://host:port, such as sc://localhost:15002."
            )
        if not isinstance(self.address, str) and not (
            hasattr(self.address, "createDataFrame") and hasattr(self.address, "client")
        ):
            raise InputError(
                f"a Spark Connect server is an address, sc://host:port, or a session of its client (SparkSession.builder.remote), no {type(self.address).__name__}."
            )
        given: object = self.storage
        if given is not None and (not isinstance(given, str | Path) or not str(given)):
            raise InputError(
                f"{Parameter('storage', given)} is no folder: give a path that the server can write, or leave it out."
            )
        if given is not None and not _ABSOLUTE.match(str(given)):
            raise InputError(
                f"{Parameter('storage', str(given))} is a relative path, and the server's folder is not yours: give the full path, or that of an object store (s3://bucket/folder)."
            )
        for name, what in (("resident", "rows"), ("dictionary", "constants")):
            whole: object = getattr(self, name)
            if not isinstance(whole, int) or isinstance(whole, bool) or whole < 0:
                raise InputError(f"{Parameter(name, whole)} must be a whole number of {what}, 0 or more.")
        seconds: object = self.timeout
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds < math.inf:
            raise InputError(f"{Parameter('timeout', seconds)} must be a number of seconds above 0.")

    @property
    def folder(self) -> str | None:
        """The storage without a slash at its end."""
        return None if self.storage is None else str(self.storage).rstrip("/")

    @property
    def shown(self) -> str:
        """The address without options of the client's, among which may be a token."""
        return without_secret(self.address) if isinstance(self.address, str) else "your session of Spark"

    def __repr__(self) -> str:
        stored = "" if self.storage is None else f", storage={str(self.storage)!r}"
        return f"{type(self).__name__}({self.shown!r}{stored})"

    def _repr_html_(self) -> str:
        return markup.pairs([("server", self.shown), ("storage", self.folder or "none")])


def without_secret(address: str) -> str:
    """Return an address without what may be a token or a password."""
    return _SECRET.sub("", address)


class Server:
    """An open session, `lost` once the server has forgotten it; its frames are queries that run when their rows are wanted."""

    def __init__(self, spark: Spark) -> None:
        self.spark = spark
        self.lost = False
        self.session: Any = None
        self._owned = isinstance(spark.address, str)
        # By what calls are told from others of a session that is the user's.
        self._tag = f"sqlrl-{uuid.uuid4().hex}"
        self._failures: tuple[type[Exception], ...] = ()
        self._asked = time.monotonic()
        # Whether the call at work was given up, as the server answers nothing.
        self._silent = False
        self.open()

    def open(self) -> None:
        """Begin a session; SqlrlError if the client is not installed, ServerError if no server answers."""
        for message in _NOISE:
            warnings.filterwarnings("ignore", message=message)
        try:
            with named_main():
                import grpc
                from pyspark.errors import PySparkException
                from pyspark.sql.connect.client import DefaultChannelBuilder
                from pyspark.sql.connect.client.retries import DefaultPolicy
                from pyspark.sql.connect.session import SparkSession
        except ImportError as error:
            raise SqlrlError(f"a server of Spark needs its client: pip install 'sqlrl[spark]' ({error})") from error
        # What is wrong with what is asked, the wire, rows that cannot be read, and values that the client refuses.
        self._failures = (PySparkException, grpc.RpcError, pa.ArrowException, OSError, ValueError)
        if not self._owned:
            self.session = self.spark.address
            if str(self.run(lambda: self.session.conf.get(_ANSI), "look at your session of Spark", _ANSI)) != "true":
                raise InputError(
                    f"your session of Spark has {_ANSI} off, under which numbers that do not fit are NULL: set it to true, or give an address."
                )
            self._check()
            self.run(lambda: self.session.conf.set(self._mark, "open"), "mark your session of Spark", self._mark)
            return

        def opened() -> Any:
            channel = DefaultChannelBuilder(self.spark.address, channelOptions=list(_CHANNEL))
            # Not by the builder, which would make it the session of all code in this process that asks for one.
            self.session = session = SparkSession(connection=channel)
            try:
                session.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES, max_backoff=4000)])
                # It answers, and names what it is.
                logger.debug("%s is Spark %s", self.spark.shown, session.version)
                # Whatever the server's default is: a product that does not fit is an error, not NULL.
                session.conf.set(_ANSI, "true")
                # A server that was started again may take the session for a new one, and say nothing.
                session.conf.set(self._mark, "open")
            except BaseException:
                self.session = None
                _leave(session)
                raise

        if self.session is not None:
            _leave(self.session)
        self.lost = False
        self.run(opened, "connect to Spark", self.spark.shown)
        try:
            self._check()
        except BaseException:
            self.close()
            raise

    def _check(self) -> None:
        """Raise if the server lacks a function that plans have; nothing runs there."""
        self.run(lambda: self.session.sql(FUNCTIONS).schema, "look for the functions that plans have", FUNCTIONS)

    def look(self) -> None:
        """Note whether the server still has the session, if it was asked nothing for `IDLE` seconds; ServerError if it does not answer."""
        if self.lost or time.monotonic() - self._asked < IDLE:
            return
        try:
            known = (
                self.run(lambda: self.session.conf.get(self._mark, ""), "look for the session", self._mark) == "open"
            )
        except ServerTimeoutError:
            raise
        except ServerError as error:
            if _status(error.__cause__) == _AWAY:
                raise
            known = False
        if not known:
            self.lost = True
            logger.debug("%s has forgotten a session", self.spark.shown)

    def close(self) -> None:
        """End the session, unless it is the user's."""
        if not self._owned or self.session is None:
            return
        session, self.session = self.session, None
        if self.lost:
            _leave(session)
            return
        try:
            with self._watched(session):
                session.stop()
        except Exception as error:  # noqa: BLE001
            # The server forgets a session by itself that nobody uses.
            logger.debug("the session of %s could not be ended: %s", self.spark.shown, error)

    # ---- queries -----------------------------------------------------------------------------------------

    def frame(self, sql: str, *, step: str) -> Any:
        """Return the frame of a query, which the server looks at and does not run."""
        logger.debug("%s: %s", step, sql)
        return self.run(lambda: self.session.sql(sql), step, sql)

    def fetch(self, sql: str, *, step: str) -> pa.Table:
        """Run a query and return all of its rows."""
        logger.debug("%s: %s", step, sql)
        return self.run(lambda: self.session.sql(sql).toArrow(), step, sql)

    def stream(self, frame: Any, *, step: str, sql: str) -> Generator[pa.RecordBatch]:
        """Run the query of a frame and yield its rows in batches as they come."""
        client, plan = self.session.client, frame._plan  # noqa: SLF001 (it has no public name)
        # Arrow's protocol (`__arrow_c_stream__`) would run a function of Python on every executor, which needs a Python with pyarrow there.
        found = client.to_table_as_iterator(self.run(lambda: plan.to_proto(client), step, sql), plan.observations)
        try:
            while True:
                item = self.run(lambda: next(found, None), step, sql)
                if item is None:
                    return
                # Before the rows comes their schema.
                if isinstance(item, pa.Table):
                    yield from item.to_batches()
        finally:
            found.close()

    # ---- tables and files --------------------------------------------------------------------------------

    def rows(self, data: pa.Table, *, step: str) -> Any:
        """Return the frame of rows that the client holds, which are sent with the query that reads them."""
        data = data.cast(pa.schema([pa.field(each.name, signed(each.type)) for each in data.schema]))
        if data.num_rows:
            return self.run(lambda: self.session.createDataFrame(data), step, "rows of the client")
        # The client takes no table without rows, whatever its types.
        row = pa.table([pa.nulls(1, each.type) for each in data.schema], schema=data.schema)
        return self.run(lambda: self.session.createDataFrame(row).limit(0), step, "rows of the client")

    def show(self, view: str, frame: Any, *, step: str) -> None:
        """Give a frame a name in this session."""
        self.run(lambda: frame.createOrReplaceTempView(view), step, f"create {view}")

    def hide(self, view: str, *, step: str) -> None:
        """Take a name away."""
        self.run(lambda: self.session.catalog.dropTempView(view), step, f"drop {view}")

    def write(self, frame: Any, path: str, *, step: str, by: str | None = None) -> None:
        """Write the rows of a frame as Parquet into a folder, in place of what it holds; with `by` into a folder for each value of a column."""
        writer = frame.write.mode("overwrite")
        self.run(lambda: (writer if by is None else writer.partitionBy(by)).parquet(path), step, f"write {path}")

    def read(self, paths: Sequence[str], schema: pa.Schema, *, step: str) -> Any:
        """Return the frame of the rows of folders of Parquet."""
        columns = ", ".join(f"`{each.name}` {spark_type(each.type)}" for each in schema)
        return self.run(lambda: self.session.read.schema(columns).parquet(*paths), step, f"read {paths[0]}")

    def found(self, paths: Sequence[str], schema: pa.Schema, *, step: str) -> list[dict[str, Any]]:
        """Return the rows of folders of Parquet; none where one is not there, or those of the others."""
        try:
            rows = self.run(self.read(paths, schema, step=step).toArrow, step, paths[0])
        except EngineError as error:
            if "PATH_NOT_FOUND" in error.reason:
                return []
            raise
        return list(rows.to_pylist())

    # ---- failures ----------------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """Stop what the server does for this session; may be called from another thread."""
        if self._owned:
            self.session.interruptAll()
        else:
            self.session.interruptTag(self._tag)

    def run(self, call: Callable[[], _Found], step: str, sql: str) -> _Found:
        """Call the client; what fails is an EngineError with the step."""
        if self.lost:
            raise self._gone(step, "the server has forgotten this session", sql)
        try:
            with on_interrupt(self._interrupted), Stage(step, brief=True), self._tagged(), self._watched():
                found = call()
        except KeyboardInterrupt:
            self._interrupted()
            raise
        except self._failures as error:
            self._fail(error, step, sql)
        self._asked = time.monotonic()
        return found

    @property
    def _mark(self) -> str:
        """The setting of a session by which it is told from a later one of the same name."""
        return f"sqlrl.{self._tag}"

    @contextmanager
    def _watched(self, session: Any = None) -> Iterator[None]:
        """Give a call up, by closing its channel, once the server has answered nothing for `timeout` seconds."""
        self._silent = False
        if not self._owned:
            # Its channel is the user's.
            yield
            return
        done = threading.Event()

        def watch() -> None:
            while not done.wait(self.spark.timeout / 2):
                if not _greets(self.spark.address, self.spark.timeout / 2) and not done.is_set():
                    self._silent = True
                    hung = session or self.session
                    if hung is not None:
                        hung.client._channel.close()  # noqa: SLF001 (its `close` waits for calls to end)
                    return

        watcher = threading.Thread(target=watch, name="sqlrl-spark", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()

    @contextmanager
    def _tagged(self) -> Iterator[None]:
        if self._owned:
            yield
            return
        self.session.addTag(self._tag)
        try:
            yield
        finally:
            self.session.removeTag(self._tag)

    def _interrupted(self) -> None:
        try:
            self.interrupt()
        except Exception as error:  # noqa: BLE001
            logger.debug("the server could not be told to stop: %s", error)

    def _gone(self, step: str, reason: str, sql: str, remedy: str = "") -> ServerError:
        self.lost = True
        there = f"{self.spark.shown} does not answer (any more): start a server of Spark Connect there, and call again"
        return ServerError(step, reason, sql, f"{remedy or there}. {_UNCHANGED}")

    def _fail(self, error: Exception, step: str, sql: str) -> NoReturn:
        """Raise what an error of the server or the client means."""
        whole = str(error).strip() or type(error).__name__
        logger.info("%s failed: %s\nwhile running: %s", step, whole, sql)
        # What follows are places in the server's own code.
        reason = _TRACE.split(whole)[0].strip()
        if self._silent:
            self.lost = True
            waited = f"{self.spark.shown} has answered nothing for {self.spark.timeout:g} s"
            remedy = "look whether the server is overloaded or stopped, and call again, or let it take longer"
            raise ServerTimeoutError(step, waited, sql, f"{remedy}: {Phrase(_LONGER)}. {_UNCHANGED}") from error
        if _FORGOTTEN.search(reason):
            forgotten = f"{self.spark.shown} was started again, and has none of the tables of this session"
            raise self._gone(step, forgotten, sql, "call again, which begins a new session") from error
        if _status(error) == _AWAY or _LOST.search(reason):
            told = _DETAILS.search(reason)
            raise self._gone(step, told[1] if told else brief(reason, lines=1), sql) from error
        if _OVERFLOW.search(reason):
            raise OverflowEngineError(step, reason, sql) from error
        if lacks := _LACKS.search(reason):
            name = lacks["sail"] or lacks["spark"]
            remedy = f"the server has no function {name}, which sqlrl needs: use one that has it, or DuckDB alone"
            raise EngineError(step, reason, sql, remedy) from error
        raise EngineError(step, reason, sql) from error


def _status(error: BaseException | None) -> str:
    """Return the name of the gRPC status with which a call ended, "" of another error."""
    # The text of an error may say as much of something else, such as an object store that the server cannot reach.
    for name in ("getGrpcStatusCode", "code"):
        found = getattr(error, name, None)
        if callable(found):
            return str(getattr(found(), "name", ""))
    return ""


def _greets(address: str, seconds: float) -> bool:
    """Return whether a server takes a new connection within some seconds."""
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    channel = DefaultChannelBuilder(address, channelOptions=list(_CHANNEL)).toChannel()
    try:
        grpc.channel_ready_future(channel).result(timeout=seconds)
    except grpc.FutureTimeoutError:
        return False
    finally:
        channel.close()
    return True


def _leave(session: Any) -> None:
    """Close the channel of a session that the server has not, for which the client would wait when the process ends."""
    try:
        session.client.close()
    except Exception as error:  # noqa: BLE001
        logger.debug("a channel could not be closed: %s", error)


_SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20)}


def signed(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column on a server, which has no unsigned integers."""
    return _SIGNED.get(kind, kind) if not pa.types.is_dictionary(kind) else signed(kind.value_type)


_TYPES = {
    pa.bool_(): "BOOLEAN", pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INT", pa.int64(): "BIGINT",
    pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.string(): "STRING", pa.large_string(): "STRING",
}  # fmt: skip


def spark_type(kind: pa.DataType) -> str:
    """Return what Spark calls a type of Arrow's."""
    kind = signed(kind)
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_list(kind):
        return f"ARRAY<{spark_type(kind.value_type)}>"
    if kind not in _TYPES:
        raise InputError(f"a column of type {kind} has no type in Spark.")
    return _TYPES[kind]


@contextmanager
def explained(fault: Callable[[EngineError], InputError]) -> Iterator[None]:
    """Say of what fails on a server that is there what it means; `fault` returns the error."""
    try:
        yield
    except ServerError:
        raise
    except EngineError as error:
        raise fault(error) from error


def unreadable(path: str, error: EngineError) -> InputError:
    """Return the error for a folder that the server cannot read."""
    return InputError(
        f"the server of Spark cannot read {path}: {brief(error.reason, lines=1)}. Give a {Parameter('storage')} that it can read and write; if what is there "
        "is damaged, remove it to have it copied again."
    )


def unwritable(path: str, error: EngineError) -> InputError:
    """Return the error for a folder that the server cannot write."""
    return InputError(
        f"the server of Spark cannot write {path}: {brief(error.reason, lines=1)}. Give a {Parameter('storage')} that it can write, on its own disk or in an "
        "object store that it has the keys of."
    )


def too_large(rows: int, name: str, resident: int) -> InputError:
    """Return the error for a table that a session does not hold without storage."""
    return InputError(
        f"the table {name} has {counted(rows, 'row')} or more, and without storage a session of Spark holds tables of up to {resident:,}, and of {PIECE // 10**6} MB: "
        f"give a folder that the server can write, {Phrase(_STORAGE)}."
    )
