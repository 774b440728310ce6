"""The DuckDB engine: statements that stream Arrow, failures as errors of ours, and the tables that sqlrl makes, its own and the user's."""

from __future__ import annotations

import itertools
import json
import logging
import re
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp, parse_one
from sqlglot.generator import Generator
from sqlglot.generators.duckdb import DuckDBGenerator

from sqlrl.engine.base import TableName
from sqlrl.engine.faults import damage_error, is_exhausted, lost_files, read_storage, remedy
from sqlrl.engine.inputs import QueryInputs, inputs_of
from sqlrl.engine.interruption import heed, on_interrupt
from sqlrl.engine.macros import created, hiding, macros, reached
from sqlrl.engine.memory import Memory
from sqlrl.engine.nodes import table
from sqlrl.engine.queries import changing_part, kind_of
from sqlrl.engine.spill import SpillFolder
from sqlrl.engine.trust import Item, admitted, contents, told_macros
from sqlrl.engine.turns import busy, is_busy, turn_of
from sqlrl.errors import (
    ConflictError,
    EngineError,
    InputError,
    MemoryUsedUpError,
    OverflowEngineError,
    Parameter,
    UntrustedError,
    brief,
)
from sqlrl.progress import Stage
from sqlrl.wording import check_characters, in_bytes

logger = logging.getLogger(__name__)
_PROBE = "SELECT txid_current(), current_setting('default_collation')"
_EXACT = {"", "binary", "c", "posix"}
# Rows that leave DuckDB are allocated outside of its own memory, by whoever converts them.
_FAILURES = (duckdb.Error, RuntimeError, MemoryError)
_CONFLICT = re.compile(r"[Cc]onflict|has been altered|another transaction has")
_names = itertools.count(1)
_MOST_TEXTS = 256
"""So many parsed texts are kept."""
_NOTES = (["Count"], ["Success"])
"""Columns of what DuckDB returns of statements that ask nothing."""
_ASKING = {"SELECT", "MULTI", "EXPLAIN", "PRAGMA", "EXECUTE"}
"""Kinds of statements whose rows are an answer, whatever their columns are called."""
_DATA = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE_INTO", "COPY", "DROP"})
"""Kinds of statements that neither make macros nor move where names are looked for."""


class DuckDBEngine:
    """Runs sqlglot expressions on a DuckDB connection, for one thread at a time (`turn`), and streams on cursors; `connect` makes one."""

    dialect: str = "duckdb"

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        home: tuple[str, str],  # catalog and schema of sqlrl's own tables
        *,
        owned: bool = True,  # whether `close` may close the connection
        writable: bool = True,  # False if the tables in `home` can only be read
        trusted: bool = True,  # False for an untrusted file
        path: str = ":memory:",  # what messages call the database
        scratch: tuple[str, str] | None = None,  # of scratch tables; `home` by default
        directory: TemporaryDirectory[str] | None = None,  # removed when the engine is closed
        place: tuple[str, str] | None = None,  # where plain names are looked for, by default as on the connection
    ) -> None:
        self._connection = connection
        self.home = home
        self.owned = owned
        self.writable = writable
        self.trusted = trusted
        self.path = path
        self.scratch = scratch or home
        self.turn = turn_of(connection, path)
        self.closed = False
        self._directory = directory
        self._let_go: Callable[[], object] | None = None
        self._place = place or self._current_place()
        # How many transactions were rolled back: whoever knows what the last one wrote has to look again.
        self.rolled_back = 0
        # All engines on the same tables, and those that `cursor` of this one has made.
        self.family: weakref.WeakSet[DuckDBEngine] = weakref.WeakSet([self])
        self._made: weakref.WeakSet[DuckDBEngine] = weakref.WeakSet()
        self._is_cursor = False
        self._depth = 0
        self._unfinished = False
        self._left: list[str] = []
        self._registered: set[str] = set()
        # Nothing but SQL that the user runs here can have opened a transaction in memory of our own.
        self._alone = owned and path == ":memory:"
        # Whether macros that nobody has looked at may hide functions of DuckDB's.
        self.doubtful = not self._alone
        self._unready = False
        self._cursors: set[duckdb.DuckDBPyConnection] = set()
        self._texts: dict[str, duckdb.Statement | str] = {}
        # The only folder whose files the statements of a script may name in an untrusted database.
        self.folder: Path | None = None
        # Until `limit`, the database has its own limit, and no arrays are made.
        self.memory = Memory(0, given=False, apart=True)
        self._share = self._left_to_arrays = 0
        # Tables that were made while nobody could see them (None where somebody can), what makes views and then comments, and whether a
        # cursor waits for the comments.
        # Somebody can in a file, which another connection may open at any moment, or another process after this one was killed; and on the user's
        # connection.
        self.unseen: set[str] | None = set() if self._alone else None
        self.on_seen: list[Callable[[DuckDBEngine], None]] = []
        self._showing = threading.RLock()
        self._awaited = False
        self._moved = False

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection, on which its holder sees everything."""
        self.show()
        return self._connection

    def show(self) -> None:
        """Make the views and comments of sqlrl's tables before SQL of the user's runs, who alone can see them; at most once."""
        # Another thread may just be making them, for a cursor.
        with self._showing:
            if self.unseen is None:
                return
        # Nobody else sees memory of our own. What a user may hold after this, such as a relation, may look whenever it likes: nothing waits any more.
        # In an open transaction of sqlrl's this sees what others commit no more, and is rolled back with it.
        with self.turn, self._showing:
            self._show(self)

    def _show_beside(self, made: DuckDBEngine) -> None:
        """Do as `show` for a cursor, on its connection, whatever another thread does with this one."""
        with self._showing:
            if self.unseen is None:
                return
            if not self._depth:
                self._show(made)
                return
            # A comment on a table that the open transaction writes would make that one fail, so that comments wait for its end.
            self._awaited = True
            for make in self.on_seen[:-1]:
                with made.transaction():
                    make(made)
                # In place: where the open transaction is rolled back, this remains.
                self.on_seen.remove(make)

    def _show(self, by: DuckDBEngine) -> None:
        """Make views and comments by an engine on the tables, this one or its cursor, unless that is done."""
        # What is made from now on is shown by who makes it.
        unseen, making = self.unseen, self.on_seen
        self.unseen, self.on_seen = None, []
        if unseen is None or not making:
            return
        try:
            with by.transaction():
                for make in making:
                    make(by)
        except BaseException:
            self.unseen, self.on_seen = unseen, making
            raise

    @property
    def schema(self) -> str:
        """What SQL calls the place of sqlrl's tables: `sqlrl`, with `_` behind it where the user has something of that name."""
        catalog, schema = self.home
        return catalog if schema == "main" else schema

    def render(self, statement: exp.Expr) -> str:
        """Return the statement as SQL of this engine's dialect."""
        return rendered(statement)

    def execute(self, statement: exp.Expr, *, step: str) -> int:
        """Run a statement that returns no rows; return how many it wrote or deleted."""
        return self.execute_sql(self.render(statement), step=step)

    def execute_sql(self, sql: str, *, step: str) -> int:
        """Run statements given as text, sqlrl's own or the user's; return how many rows the last one wrote or deleted."""
        logger.debug("%s: %s", step, sql)
        try:
            # An unread result would bar the connection from other work (DuckDB 2.0).
            with self.turn, on_interrupt(self.interrupt), Stage(step, brief=True):
                rows = self._connection.execute(sql).fetchall()
                return rows[0][0] if rows and isinstance(rows[0][0], int) else 0
        except _FAILURES as error:
            self._fail(error, step, sql)

    def fetch(self, query: exp.Expr, *, step: str) -> pa.Table:
        """Run a query and return all of its rows."""
        sql = self.render(query)
        logger.debug("%s: %s", step, sql)
        try:
            with self.turn, on_interrupt(self.interrupt), Stage(step, brief=True):
                return self._connection.sql(sql).to_arrow_table()
        except _FAILURES as error:
            self._fail(error, step, sql)

    def fetch_rows(
        self, query: exp.Expr | str, *, step: str, values: Mapping[str, Any] | None = None
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a query that has few rows, perhaps as text of `render`, in half the time of `fetch`; return column names and Python rows."""
        sql = query if isinstance(query, str) else self.render(query)
        logger.debug("%s: %s", step, sql)
        try:
            with self.turn, on_interrupt(self.interrupt), Stage(step, brief=True):
                result = self._connection.execute(self._parsed(query) if isinstance(query, str) else sql, values)
                names = [str(column[0]) for column in result.description]
                return names, result.fetchall()
        except _FAILURES as error:
            self._fail(error, step, sql)

    def _parsed(self, sql: str) -> duckdb.Statement | str:
        """Return a text that is run again and again as DuckDB parsed it first, which is a third of its time where it has few rows."""
        found = self._texts.get(sql)
        if found is None:
            if len(self._texts) == _MOST_TEXTS:
                self._texts.clear()
            statements = self._connection.extract_statements(sql)
            # DuckDB runs several as they are written.
            found = self._texts[sql] = statements[0] if len(statements) == 1 else sql
        return found

    def stream(self, query: exp.Expr, *, step: str, rows: int = 131_072) -> Iterator[pa.RecordBatch]:
        """Run a query on a cursor of its own, which sees committed tables only, and yield its rows in batches."""
        sql = self.render(query)
        logger.debug("%s: %s", step, sql)
        cursor = self._connection.cursor()
        self._cursors.add(cursor)
        try:
            with on_interrupt(self.interrupt), Stage(step, brief=True):
                reader = cursor.sql(sql).to_arrow_reader(rows)
            while True:
                with on_interrupt(self.interrupt), Stage(step, brief=True):
                    batch = next(reader, None)
                if batch is None:
                    return
                yield batch
        except (*_FAILURES, pa.ArrowInvalid, OSError) as error:
            self._fail(error, step, sql)
        finally:
            self._cursors.discard(cursor)
            cursor.close()

    def numbers(self, query: exp.Expr, size: int, *, step: str) -> npt.NDArray[np.uint64]:
        """Run a query of one column of unsigned integers of 64 bits, in the transaction that is open, and return its `size` rows as an array."""
        # Batches are copied as they come: all of them beside the array would be twice the memory.
        found, filled = np.empty(size, np.uint64), 0

        def copy(batch: pa.RecordBatch) -> None:
            nonlocal found, filled
            if filled + len(batch) > len(found):  # somebody writes the source meanwhile
                found = np.concatenate([found, np.empty(max(size, len(batch)), np.uint64)])
            found[filled : filled + len(batch)] = batch.column(0).to_numpy()
            filled += len(batch)

        self.hand_over(query, copy, step=step)
        return found[:filled]

    def hand_over(self, query: exp.Expr, work: Callable[[pa.RecordBatch], None], *, step: str) -> None:
        """Run a query in the transaction that is open, and hand its rows in batches to what does not use the connection."""
        sql = self.render(query)
        logger.debug("%s: %s", step, sql)
        try:
            with self.turn, on_interrupt(self.interrupt), Stage(step, brief=True):
                for batch in self._connection.sql(sql).to_arrow_reader(131_072):
                    work(batch)
        except (*_FAILURES, pa.ArrowInvalid, OSError) as error:
            self._fail(error, step, sql)

    @contextmanager
    def beside(self, arrays: int) -> Iterator[None]:
        """Leave memory to arrays for a while, as `leave` does."""
        before = self._left_to_arrays
        self.leave(max(before, arrays))
        try:
            yield
        finally:
            self.leave(before)

    def renew(self, state: object) -> bool:
        """Do nothing: all tables are here."""
        return True

    def leave(self, arrays: int) -> None:
        """Limit the database to the memory that a given limit leaves beside arrays; EngineError if it holds more, and may not spill it."""
        self._left_to_arrays = arrays
        if self.memory.apart or self.memory.fixed:
            return
        share = self.memory.share(arrays)
        if share != self._share:
            self.execute_sql(f"SET memory_limit = '{share // 1000}KB'", step="leave memory to arrays")
            self._share = share

    def limit(self, memory: Memory, spill: SpillFolder | None = None) -> None:
        """Say how much memory there is, of which the database has its share, and in which folder of sqlrl's it spills, if in any."""
        self.memory, self._share = memory, memory.share()
        if spill is not None:
            # Where nobody closes the engine, the folder is let go of with it.
            self._let_go = weakref.finalize(self, spill.release)

    def interrupt(self) -> None:
        """Stop what runs now, streams included; may be called from another thread."""
        for connection in (self._connection, *tuple(self._cursors)):
            connection.interrupt()

    def relation(self, sql: str) -> duckdb.DuckDBPyRelation:
        """Run SQL that the user wrote and return DuckDB's relation."""
        check_characters(sql, "the SQL")
        self.show()
        self._unready = True
        try:
            with self.turn, on_interrupt(self.interrupt), self._watched(sql):
                return self._connection.sql(sql)
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            if self.schema == "sqlrl" or not re.search(r'\bsqlrl"?\s*\.', sql, re.IGNORECASE):
                self._fail(error, "run your SQL", sql)
            moved = f"something of yours is called sqlrl, so the tables of the library are in {self.schema}: from {self.schema}.TABLE"
            raise EngineError("run your SQL", str(error).strip(), sql, moved) from error
        except _FAILURES as error:
            self._fail(error, "run your SQL", sql)

    def rows_of(self, sql: str) -> pa.Table | None:
        """Run SQL that the user wrote and return the rows of its last statement, None if that has none."""
        # DuckDB returns None where a statement has no rows.
        relation: duckdb.DuckDBPyRelation | None = self.relation(sql)
        if relation is None:
            return None
        try:
            with self.turn, on_interrupt(self.interrupt), Stage("run your SQL", brief=True):
                return relation.to_arrow_table()
        except _FAILURES as error:
            self._fail(error, "run your SQL", sql)

    def statement(
        self, sql: str, parameters: Mapping[str, Any] | None = None, *, most: int | None = None
    ) -> tuple[pa.Table | int | None, bool]:
        """Run a statement that the user wrote; return its rows, how many it wrote, or None, and whether there are more rows than `most`."""
        self.show()
        self._unready = True
        try:
            with (
                self.turn,
                on_interrupt(self.interrupt),
                Stage("run your SQL", brief=True),
                self._watched(sql) as kinds,
            ):
                relation = self._connection.sql(sql, params=dict(parameters) if parameters else None)
                if relation.columns in _NOTES and not kinds & _ASKING:
                    rows = relation.fetchall()
                    count = rows[0][0] if rows else None
                    return (count if isinstance(count, int) and not isinstance(count, bool) else None), False
                return _first_rows(relation, most)
        except (duckdb.BinderException, duckdb.CatalogException) as error:
            self._fail(self._with_place(error, sql, parameters), "run your SQL", sql)
        except (*_FAILURES, pa.ArrowInvalid, OSError) as error:
            self._fail(error, "run your SQL", sql)

    @contextmanager
    def _watched(self, sql: str) -> Iterator[set[str]]:
        """Give the kinds of the user's statements that run in the context, which may make no macro that changes what SQL of sqlrl's means."""
        kinds = set(self._kinds(sql))
        if kinds <= _DATA:
            # Views of sqlrl's are SQL, too.
            if self.doubtful and re.search(rf"\b{self.schema}\b", sql, re.IGNORECASE):
                self._check_macros()
            yield kinds
            return
        # In another schema macros of a trusted database are called only after USE.
        near = [each for each in created(sql) if not self.trusted or each.schema.casefold() in ("", "main", "temp")]
        if hidden := hiding(self._connection, near):
            raise self._hidden(
                f"DuckDB has a function {hidden[0].name}, in whose place SQL of sqlrl's would call the macro: choose another name"
            )
        try:
            yield kinds
        finally:
            for each in tuple(self.family):
                each.doubtful = True

    @contextmanager
    def without_macros(self) -> Iterator[None]:
        """Refuse macros that SQL of sqlrl's would call in place of DuckDB's functions, once in nested contexts and if some may have been made."""
        doubted = self.doubtful
        if doubted:
            self._check_macros()
        try:
            yield
        finally:
            # On a connection of the user's macros come and go without us.
            self.doubtful = self.doubtful or (doubted and not self.owned)

    def _check_macros(self) -> None:
        try:
            found = hiding(self._connection, macros(self._connection))
            if found and self.trusted:
                found = reached(self._connection, found, self.home)
        except (duckdb.TransactionException, duckdb.ConnectionException):
            # An aborted transaction or a closed connection, of which the next statement says what to do.
            return
        except _FAILURES as error:
            self._fail(error, "look for macros", "duckdb_functions()")
        self.doubtful = bool(found)
        if found:
            more = "" if len(found) == 1 else " and the others"
            raise self._hidden(f"{told_macros(self.path, found)}: run DROP {found[0].sql}{more}, or rename them")

    def _hidden(self, problem: str) -> InputError:
        """Return the error for macros that hide functions."""
        return InputError(f"{problem}.") if self.trusted else UntrustedError(f"{problem}.")

    def changing_part(self, sql: str) -> str:
        """Return by which verb SQL of the user's changes something, "" if it only asks or cannot be read: its error comes when it runs."""
        try:
            with self.turn:
                return changing_part(self._connection, sql)
        except _FAILURES:
            return ""

    def statement_kind(self, sql: str) -> str:
        """Return the kind of a statement of the user's by DuckDB's parser, such as INSERT; "" of a text that it cannot read."""
        try:
            with self.turn:
                kinds = self._kinds(sql)
        except _FAILURES:
            return ""
        return kinds[0] if len(kinds) == 1 else "MULTI" if kinds else ""

    def _kinds(self, sql: str) -> list[str]:
        """Return the kind of each statement of a text."""
        return [kind_of(each) for each in self._connection.extract_statements(sql)]

    def _with_place(self, error: Exception, sql: str, parameters: Mapping[str, Any] | None) -> Exception:
        """Return why a query cannot be bound with the place in it, which only `execute` tells; it fails there for the same reason."""
        if "\nLINE " in str(error):
            return error
        try:
            if self._depth:
                # The error has aborted our transaction, which is rolled back by its end in any case.
                self._connection.execute("ROLLBACK")
                self._connection.execute("BEGIN TRANSACTION")
            self._connection.execute(sql, dict(parameters) if parameters else None)
        except duckdb.Error as placed:
            # In a transaction of the user's it only says that this is aborted.
            return placed if "\nLINE " in str(placed) else error
        return error

    def inputs(self, sql: str) -> QueryInputs:
        """Return what a query of the user's reads."""
        self.show()
        try:
            with self.turn:
                text = self._connection.execute("SELECT json_serialize_sql($sql)", {"sql": sql}).fetchall()[0][0]
                there = self._connection.execute(
                    "SELECT view_name FROM duckdb_views() UNION ALL SELECT table_name FROM duckdb_tables()"
                ).fetchall()
        except _FAILURES as error:
            self._fail(error, "look for the tables of a query", sql)
        tree = json.loads(text)
        if tree["error"]:
            raise EngineError("look for the tables of a query", tree["error_message"], sql)
        return inputs_of(tree, {row[0] for row in there}, self.macro_names())

    def macro_names(self) -> set[str]:
        """Return the names, in small letters, of the user's macros."""
        try:
            with self.turn:
                return {each.name.lower() for each in macros(self._connection)}
        except _FAILURES as error:
            self._fail(error, "look for macros", "duckdb_functions()")

    @property
    def place(self) -> tuple[str, str]:
        """The catalog and schema in which plain names are looked for, unless SQL has said another."""
        return self._place

    def databases(self) -> dict[str, str | None]:
        """Return the databases beside DuckDB's own and that of scratch tables, by name in small letters, with their files; None of one in memory."""
        query = "SELECT database_name, path FROM system.main.duckdb_databases() WHERE NOT internal"
        found = {str(name).lower(): path for name, path in self.fetch_rows(query, step="look for databases")[1]}
        if self.scratch[0] != self.home[0]:
            found.pop(self.scratch[0].lower(), None)
        return found

    def admitted(self, path: str) -> str:
        """Return a path that a script names as it may be opened; UntrustedError if an untrusted database keeps it out."""
        return path if self.trusted else admitted(path, self.folder)

    def in_transaction(self) -> bool:
        """Whether a transaction of the user's is open."""
        with self.turn:
            return len({self._connection.execute("SELECT txid_current()").fetchall()[0] for _ in range(2)}) == 1

    @contextmanager
    def no_transaction(self) -> Iterator[None]:
        """Run statements of the user's that leave no transaction open: what is left after an error is rolled back."""
        self.check_ready()
        try:
            yield
        except BaseException:
            self._roll_back()
            raise

    def estimate(self, query: exp.Expr, *, step: str) -> tuple[int, str]:
        """Return the database's estimate of the number of rows, 0 if there is none, and its plan as text, without running the query."""
        sql = self.render(query)
        try:
            with self.turn:
                tree = self._connection.execute(f"EXPLAIN (FORMAT JSON) {sql}").fetchall()[0][1]
                plan = self._connection.execute(f"EXPLAIN {sql}").fetchall()[0][1]
        except _FAILURES as error:
            self._fail(error, step, sql)
        return _estimated_rows(json.loads(tree)), str(plan)

    @contextmanager
    def attached(self, data: Any) -> Iterator[exp.Table]:
        """Show an Arrow table, a data frame or a relation to SQL of this engine, not to streams, under a fresh name in the context."""
        name = f"sqlrl attached {next(_names)}"
        with self.turn:
            try:
                self._connection.register(name, data)
            except _FAILURES as error:
                self._fail(error, "read a Python object", type(data).__name__)
            try:
                yield exp.table_(name, quoted=True)
            finally:
                self._forget(name)

    @property
    def registered(self) -> frozenset[str]:
        """Names, in small letters, of what the user has registered and not dropped."""
        if not self._registered:
            return frozenset()
        query = "SELECT lower(view_name) FROM duckdb_views() WHERE database_name = 'temp'"
        _, rows = self.fetch_rows(query, step="look for registered tables")
        return frozenset(self._registered & {str(name) for (name,) in rows})

    def register(self, name: str, data: Any) -> None:
        """Show an Arrow table or a data frame to SQL of this engine, not to cursors or streams, under a name, until the engine is closed."""
        self.show()
        # In a transaction of the user's the name would go with it.
        self.check_ready()
        if name.lower() not in self.registered:
            self._check_unhidden(name)
        with self.turn:
            try:
                self._connection.register(name, data)
            except _FAILURES as error:
                self._fail(error, f"register {name}", type(data).__name__)
        self._registered.add(name.lower())

    def _check_unhidden(self, name: str) -> None:
        """Refuse a name under which SQL finds a table or view already, or which sqlrl's own schema has."""
        listed = """
            SELECT database_name, schema_name, table_name AS name, 'table' AS kind, internal FROM duckdb_tables()
            UNION ALL SELECT database_name, schema_name, view_name, 'view', internal FROM duckdb_views()
        """
        near = exp.or_(
            "internal",
            "database_name = 'temp'",
            "database_name = current_database() AND schema_name IN ('main', current_schema())",
            exp.and_(exp.column("database_name").eq(self.home[0]), exp.column("schema_name").eq(self.home[1])),
        )
        source = exp.Subquery(
            this=parse_one(listed, dialect="duckdb"), alias=exp.TableAlias(this=exp.to_identifier("listed"))
        )
        query = exp.select("schema_name", "name", "kind").from_(source)
        query = query.where(near, exp.func("lower", exp.column("name")).eq(name.lower())).order_by("internal", "kind")
        found = self.fetch(query, step="look for tables").to_pylist()
        if found:
            first = found[0]
            kind, place = first["kind"], f"{first['schema_name']}.{first['name']}"
            raise InputError(
                f"there is a {kind} {place} already, which {name!r} would hide: register the data under another name."
            )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit at the end, or roll everything back if an error or Ctrl-C ends the context; nested ones join the outer."""
        with self.turn, ExitStack() as stack:
            if self._depth:
                yield
                return
            self.check_ready()
            stack.enter_context(self.without_macros())
            unseen, on_seen = self.unseen, self.on_seen
            try:
                # Ctrl-C may come while it begins, or right after that.
                with self._showing:
                    self._depth, unseen, on_seen = 1, self.unseen, self.on_seen
                self.execute_sql("BEGIN TRANSACTION", step="begin a transaction")
                yield
                self.execute_sql("COMMIT", step="commit")
            except BaseException:
                self._roll_back()
                self.unseen, self.on_seen = unseen, on_seen
                raise
            finally:
                self._depth = 0
            if self._awaited:
                self._awaited = False
                self.show()

    def check_ready(self) -> None:
        """Refuse to go on while the user's transaction is open or names that differ are equal (`check_ready`)."""
        if self._unfinished:
            self._roll_back()
        if self._unready or not self._alone:
            check_ready(self._connection, self.path if self.owned else None)
            self._unready = False

    def run_script(self, script: str, *, step: str) -> None:
        """Run SQL statements with unqualified names in `home`, all or none, in the open transaction or one of their own."""
        if self._depth:
            self._moved = True
            self.execute_sql(f"{_use(self.home)};\n{script}\n{_use(self._place)}", step=step)
            self._moved = False
            return
        cursor = self._connection.cursor()
        try:
            cursor.execute(_use(self.home))
            cursor.execute("BEGIN TRANSACTION")
            cursor.execute(script).fetchall()
            cursor.execute("COMMIT")
        except _FAILURES as error:
            self._fail(error, step, script)
        finally:
            cursor.close()

    def same_database(self, other: object) -> bool:
        """Return True if the tables of another engine are these very tables."""
        if not isinstance(other, DuckDBEngine) or self.home != other.home:
            return False
        if self.turn is other.turn or (self.family is other.family and self.writable):
            return True
        # What only can be read has its tables of atoms in the memory of one connection.
        files = [Path(e.path).resolve() for e in (self, other) if e.owned and e.writable and e.path != ":memory:"]
        return len(files) == 2 and files[0] == files[1]

    def cursor(self) -> DuckDBEngine:
        """Return an engine on the same tables with a connection of its own, for another thread; it is closed with this one at the latest."""
        # It takes no turn, since it may be called while this engine is at work.
        if self.closed:
            raise InputError(f"{self.path} is closed: open it again with connect().")
        try:
            connection = self._connection.cursor()
            connection.execute(_use(self._place))
        except _FAILURES as error:
            self._fail(error, "open a cursor", "USE")
        made = DuckDBEngine(
            connection,
            self.home,
            owned=self.owned,
            writable=self.writable,
            trusted=self.trusted,
            path=self.path,
            scratch=self.scratch,
            place=self._place,
        )
        made._is_cursor = True
        made.unseen = None
        self._show_beside(made)
        made.limit(self.memory)
        made.folder = self.folder
        made.family = self.family
        self.family.add(made)
        self._made.add(made)
        return made

    @property
    def private(self) -> bool:
        """True while nobody else can have written the tables: memory of our own, in which no SQL of the user's has run yet."""
        return self.unseen is not None and not self.shared

    @property
    def shared(self) -> bool:
        """True if other engines work on the same tables by connections of their own, which `cursor` gave them."""
        return sum(not each.closed for each in tuple(self.family)) > 1

    def close(self) -> None:
        """Close the connection if it is ours, and what `cursor` made; a connection of the user's only loses what `register` showed."""
        with ExitStack() as stack:
            # BusyError if another thread is at work with one of them: all stay open then.
            stack.enter_context(self.turn)
            for made in tuple(self._made):
                stack.enter_context(made.turn)
            for made in tuple(self._made):
                made.close()
            if self.owned or self._is_cursor:
                try:
                    self._connection.close()
                except duckdb.Error as error:
                    self._fail(error, "close the database", "")
            elif not self.closed:
                self._forget_registered()
            self.closed = True
        if self._let_go is not None:
            self._let_go()
        if self._directory is not None:
            self._directory.cleanup()

    def _current_place(self) -> tuple[str, str]:
        catalog, schema = self._connection.execute("SELECT current_database(), current_schema()").fetchall()[0]
        return str(catalog), str(schema)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be pickled or copied, whatever holds this."""
        raise InputError(
            f"what holds the open database {self.path} cannot be pickled or copied: keep what it found (as Arrow tables, or in tables of the "
            "database), and connect again where it is needed."
        )

    def contents(self) -> list[Item]:
        """Return what the databases of the connection define, none of which is run."""
        return contents(self._connection)

    # ---- tables --------------------------------------------------------------------------------------

    def write_table(self, name: str, data: pa.Table, *, replace: bool = False) -> None:
        """Create a table of the user's in the current schema of the connection; InputError if it is there and may not be replaced."""
        self.check_free([name], replace=replace)
        with self.attached(data) as source:
            statement = exp.Create(
                this=exp.table_(name, quoted=True),
                kind="TABLE",
                replace=replace,
                expression=exp.select("*").from_(source),
            )
            self.execute(statement, step=f"create the table {name}")

    def check_free(self, names: Iterable[str], *, replace: bool = False) -> None:
        """Refuse names of which no user's table can be created in the current schema; with `replace` tables may be there, views may not."""
        query = """
            SELECT lower(table_name) AS name, 'table' AS kind FROM duckdb_tables()
            WHERE database_name = current_database() AND schema_name = current_schema()
            UNION ALL SELECT lower(view_name), 'view' FROM duckdb_views()
            WHERE database_name = current_database() AND schema_name = current_schema()
        """
        rows = self.fetch(parse_one(query, dialect=self.dialect), step="look for tables").to_pylist()
        there, registered = {str(row["name"]): str(row["kind"]) for row in rows}, self.registered
        place = "SELECT database_name, readonly FROM duckdb_databases() WHERE database_name = current_database()"
        [database] = self.fetch(parse_one(place, dialect=self.dialect), step="look at the database").to_pylist()
        for name in names:
            if database["readonly"]:
                raise InputError(
                    f"the table {name} cannot be created, since the database {database['database_name']} was opened read-only: "
                    "open it for writing, or take the atoms as they are returned."
                )
            kind = there.get(name.lower())
            if name.lower() in registered:
                raise InputError(f"a table is registered as {name}, which would hide it: choose another name.")
            if kind == "view":
                raise InputError(f"there is a view {name} already: choose another name, or drop the view.")
            if kind == "table" and not replace:
                raise InputError(
                    f"there is a table {name} already: choose another name, or pass {Parameter('replace', True)}."
                )

    def forgotten_beside(self) -> str | None:
        """Return the file in use if sqlrl's own tables are not kept in any, None otherwise."""
        # So it is on a user's connection to a file in which sqlrl has kept nothing, and where such a file is only read. Who works in memory
        # alone knows that nothing stays.
        query = "SELECT database_name, path, database_name = current_database() AS used FROM duckdb_databases()"
        rows = self.fetch(parse_one(query, dialect=self.dialect), step="look where the tables are").to_pylist()
        [home] = [row["path"] for row in rows if row["database_name"] == self.home[0]]
        [file] = [row["path"] for row in rows if row["used"]]
        passing = self._directory is not None and home is not None and Path(home).is_relative_to(self._directory.name)
        return file if home is None or passing else None

    def create_table(self, name: TableName, query: exp.Expr | pa.Table, *, step: str) -> int:
        """Create (or replace) a table from a query or an Arrow table; return the number of its rows."""
        if not self._depth:
            self.check_ready()
        target = table(name)
        if isinstance(query, exp.Expr):
            return self.execute(exp.Create(this=target, kind="TABLE", replace=True, expression=query), step=step)
        with self.attached(query) as source:
            everything = exp.select("*").from_(source)
            if query.num_rows:
                return self.execute(
                    exp.Create(this=target, kind="TABLE", replace=True, expression=everything), step=step
                )
            described = self.fetch_rows(exp.Describe(this=everything), step=step)[1]
        self.create_empty(name, {row[0]: row[1] for row in described}, step=step)
        return 0

    def create_empty(self, name: TableName, columns: Mapping[str, str], *, step: str) -> None:
        """Create (or replace) a table without rows from the names and types of its columns."""
        # In DuckDB 2.0 a table created from no rows keeps the statistics of an empty one when a row group or more is inserted in the same
        # transaction, and joins then find nothing; not so one that is defined.
        definitions = [
            exp.ColumnDef(this=exp.to_identifier(column, quoted=True), kind=exp.DataType.build(kind, dialect="duckdb"))
            for column, kind in columns.items()
        ]
        target = exp.Schema(this=table(name), expressions=definitions)
        self.execute(exp.Create(this=target, kind="TABLE", replace=True), step=step)

    def append(self, name: TableName, query: exp.Expr, *, step: str) -> None:
        """Add the rows of a query, which may read the table, to a table."""
        self.execute(exp.Insert(this=table(name), expression=query), step=step)

    def drop_table(self, name: TableName, *, step: str) -> None:
        """Drop a table if it exists."""
        self.execute(exp.Drop(tables=[table(name)], kind="TABLE", exists=True), step=step)

    def create_view(self, name: TableName, query: exp.Expr, *, step: str) -> None:
        """Create (or replace) a view of a query, which is not run."""
        if not self._depth:
            self.check_ready()
        self.execute(exp.Create(this=table(name), kind="VIEW", replace=True, expression=query), step=step)

    def drop_view(self, name: TableName, *, step: str) -> None:
        """Drop a view if it exists."""
        self.execute(exp.Drop(tables=[table(name)], kind="VIEW", exists=True), step=step)

    # ---- failures ------------------------------------------------------------------------------------

    def _forget_registered(self) -> None:
        """Unregister what the user registered; what is not there any more is no matter, nor a connection that is closed already."""
        for name in self._registered:
            self._forget(name)
        self._registered.clear()

    def _forget(self, name: str) -> None:
        """Unregister a Python object; in an aborted transaction that must wait for the rollback."""
        try:
            self._connection.unregister(name)
        except duckdb.TransactionException:
            self._left.append(name)
        except duckdb.Error as error:
            if is_busy(error):
                self._left.append(name)
                return
            logger.debug("%s is gone already: %s", name, error)

    def _roll_back(self) -> None:
        """Roll back; a failed commit has already done so."""
        self.rolled_back += 1
        try:
            self._connection.execute("ROLLBACK").fetchall()
        except (duckdb.TransactionException, duckdb.ConnectionException):
            logger.debug("no transaction was left to roll back")
        except duckdb.Error as error:
            # A result of the user's is being read in another thread: the next call has to do it.
            self._unfinished = is_busy(error)
            if self._unfinished:
                return
            raise
        self._unfinished = False
        if self._moved:
            self._connection.execute(_use(self._place))
            self._moved = False
        left, self._left = self._left, []
        for name in left:
            self._forget(name)

    def remedy(self, reason: str) -> str:
        """Return what to do about a failure of the database, with the sizes it had; nothing if memory and disk are not to blame."""
        if not is_exhausted(reason):
            return ""
        try:
            storage = read_storage(self._connection, owned=self.owned)
        except _FAILURES as error:
            logger.debug("the settings of the database cannot be read: %s", error)
            return ""
        if not self.memory.apart:
            whole = f"{storage.memory_limit}, the database's share of {in_bytes(self.memory.limit)}"
            storage = replace(storage, memory_limit=whole)
        return remedy(reason, storage)

    def _fail(self, error: Exception, step: str, sql: str) -> NoReturn:
        """Raise what an error means: KeyboardInterrupt, InputError if a file is damaged or closed, else an EngineError."""
        heed(error)
        if is_busy(error):
            raise busy(self.path) from error
        if isinstance(error, duckdb.TransactionException) and _CONFLICT.search(str(error)):
            raise ConflictError(
                f"{step}: another cursor or connection of {self.path} changed the same at the same time; nothing of this call was kept: call it "
                f"again. ({brief(str(error))})"
            ) from error
        if isinstance(error, duckdb.ConnectionException) and "closed" in str(error):
            raise InputError(f"{self.path} is closed: open it again with connect().") from error
        reason = str(error).strip()
        if isinstance(error, MemoryError):
            raise MemoryUsedUpError(step, reason) from error
        broken = damage_error(reason, self.path if self.owned else "a file of your connection") or lost_files(reason)
        if broken is not None:
            raise broken from error
        # Messages show the beginning of either.
        logger.info("%s failed: %s\nwhile running: %s", step, reason, sql)
        kind = OverflowEngineError if _is_overflow(reason) else EngineError
        remedy = self.remedy(reason)
        if not self.trusted and isinstance(error, duckdb.PermissionException):
            remedy = f"it was opened with {Parameter('trusted', False)}, under which SQL reaches nothing outside of the database"
        raise kind(step, reason, sql, remedy) from error


def _use(place: tuple[str, str]) -> str:
    """Return the statement after which plain names are looked for in a catalog and schema."""
    return "USE " + ".".join(exp.to_identifier(part, quoted=True).sql(dialect="duckdb") for part in place)


def _is_overflow(reason: str) -> bool:
    """Tell whether DuckDB says that an integer does not fit into its type."""
    return "overflow" in reason.lower() or "out of range" in reason.lower()


def _estimated_rows(plan: list[dict[str, Any]]) -> int:
    """Return the first estimate met on the way down from the root of a plan."""
    nodes = list(plan)
    while nodes:
        node = nodes.pop(0)
        estimate = node.get("extra_info", {}).get("Estimated Cardinality")
        if estimate is not None:
            return int(str(estimate).lstrip("~"))
        nodes = list(node.get("children", [])) + nodes
    return 0


# ---- before anything is done on a connection that is shared ------------------------------------------


def check_ready(connection: duckdb.DuckDBPyConnection, path: str | None = None) -> None:
    """Refuse to go on while the user's transaction is open or names that differ are equal, before anything is harmed."""
    try:
        # Two statements have one number only inside a transaction.
        (first, collation), (second, _) = (connection.execute(_PROBE).fetchall()[0] for _ in range(2))
    except duckdb.ConnectionException as error:
        closed = "the connection is closed: open it again."
        raise InputError(closed if path is None else f"{path} is closed: open it again with connect().") from error
    except duckdb.ResourceInUseException as error:
        raise busy(path or "your connection") from error
    except duckdb.TransactionException as error:
        raise InputError("your connection has a transaction that an error has aborted: roll it back first.") from error
    except RuntimeError as error:
        heed(error)
        raise
    # A BEGIN inside a transaction fails and takes it down. And a transaction writes to one database alone, so that sqlrl cannot work inside one that
    # writes to the user's tables.
    if first == second:
        raise InputError(
            "your connection has an open transaction, and sqlrl needs its own: commit it or roll it back first. It was left as "
            "it is."
        )
    # Under a default collation such as NOCASE all texts are compared by it, also the names in sqlrl's own tables.
    if collation.lower() not in _EXACT:
        raise InputError(
            f"your connection has default_collation = {collation!r}, and sqlrl tells constants apart exactly: run RESET "
            "default_collation (RESET SESSION default_collation if it was set for the session). Columns may keep collations of their own."
        )


# ---- SQL that means the same whatever orders are the default -----------------------------------------


# The generator of sqlglot leaves out what DuckDB's settings default_order and default_null_order are by default; a user may have set others.
def _order(generator: Generator, node: exp.Order) -> str:
    """Return ORDER BY, with expressions alone taken as ascending."""
    _complete(node)
    return generator.order_sql(node)


def _window(generator: Generator, node: exp.Window) -> str:
    """Return a window, whose order is written without a look at what writes orders elsewhere."""
    order = node.args.get("order")
    if order is not None:
        _complete(order)
    return generator.window_sql(node)


def _complete(order: exp.Expr) -> None:
    """Take the keys of an order that are expressions alone as ascending."""
    keys = [key if isinstance(key, exp.Ordered) else exp.Ordered(this=key) for key in order.expressions]
    order.set("expressions", keys)


def _ordered(generator: Generator, node: exp.Ordered) -> str:
    """Return a key of an order with its direction and the place of NULL."""
    direction, place = (node.args.get(name) for name in ("desc", "nulls_first"))
    return f"{generator.sql(node, 'this')} {'DESC' if direction else 'ASC'} NULLS {'FIRST' if place else 'LAST'}"


def _sorted_list(generator: Generator, node: exp.ArraySort) -> str:
    """Return a list in ascending order, the only one of plans."""
    order = map(exp.Literal.string, ("ASC", "NULLS LAST"))
    return generator.func("LIST_SORT", node.this, *order)


@cache
def _dispatch() -> dict[type[exp.Expr], Callable[..., str]]:
    """Return by kind of node what writes it: the generator of sqlglot, but for orders."""
    # Where sqlglot is compiled (`sqlglot[c]`), no class of Python can inherit from its generators.
    own: dict[type[exp.Expr], Callable[..., str]] = {
        exp.Order: _order,
        exp.Window: _window,
        exp.Ordered: _ordered,
        exp.ArraySort: _sorted_list,
    }
    return {**DuckDBGenerator(dialect="duckdb")._dispatch, **own}  # noqa: SLF001


def rendered(statement: exp.Expr) -> str:
    """Return a statement as SQL of DuckDB's in which each order states its direction and where NULL stands."""
    # The generator writes what it makes of a node into it (above, keys of an order): that is the same the next time.
    generator = DuckDBGenerator(dialect="duckdb")
    generator._dispatch = _dispatch()  # noqa: SLF001
    return generator.generate(statement, copy=False)


def _first_rows(relation: duckdb.DuckDBPyRelation, most: int | None) -> tuple[pa.Table, bool]:
    """Return the rows of a relation, no more than `most`, and whether there are more."""
    if most is None:
        return relation.to_arrow_table(), False
    reader = relation.to_arrow_reader(min(most + 1, 100_000))
    batches, found = [], 0
    for batch in reader:
        batches.append(batch)
        found += len(batch)
        if found > most:
            break
    return pa.Table.from_batches(batches, reader.schema).slice(0, most), found > most
