"""Opening a database: a file, memory, or the user's own connection."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
from sqlglot import exp

from sqlrl.arguments import refuse
from sqlrl.engine.duckdb import DuckDBEngine, check_ready
from sqlrl.engine.faults import check_database_file, damage_error, damaged, unwritable
from sqlrl.engine.interruption import heed
from sqlrl.engine.memory import Memory
from sqlrl.engine.settings import checked_directory, checked_memory, checked_threads, memory_bytes
from sqlrl.engine.spill import SpillFolder, spill_folder
from sqlrl.engine.trust import SEALED, attach_sealed, check_macros, checked_folder, lock, spill_directory
from sqlrl.errors import BusyError, EngineError, InputError, Parameter, Written, brief
from sqlrl.paths import exists, expanded, is_dir
from sqlrl.wording import check_characters

logger = logging.getLogger(__name__)

# A file of this name would make `sqlrl.clause` ambiguous between its catalog and its schema.
_RESERVED = {"sqlrl"}


def connect(
    target: str | Path | duckdb.DuckDBPyConnection = ":memory:",
    *,
    threads: int | None = None,
    memory_limit: str | None = None,  # such as "4GB", from 1 GB on for the whole process (`engine.memory`)
    temp_directory: str | Path | None = None,  # where the database spills what exceeds its share of the memory
    read_only: bool = False,
    trusted: bool = True,  # if False, SQL reaches nothing outside of the file, and its settings are locked
    folder: str | Path | None = None,  # whose files a script may name in an untrusted database
) -> DuckDBEngine:
    """Open a database and find the place of sqlrl's tables in it; a file is created if it is absent and its directory exists."""
    settings: dict[str, str | int | bool] = {}
    if threads is not None:
        settings["threads"] = checked_threads(threads)
    memory: Memory | None = None
    if memory_limit is not None:
        settings["memory_limit"] = checked_memory(memory_limit)
        memory = Memory.of(memory_bytes(memory_limit), fixed=not trusted)
        if not memory.apart:
            settings["memory_limit"] = _kilobytes(memory.share())
    if temp_directory is not None:
        settings["temp_directory"] = checked_directory(temp_directory)
    place = checked_folder(folder, trusted=trusted)
    given: object = target
    if not isinstance(given, str | os.PathLike | duckdb.DuckDBPyConnection):
        raise refuse("a path", given)
    if isinstance(target, duckdb.DuckDBPyConnection):
        if not trusted:
            raise InputError(
                f"{Parameter('trusted', False)} locks the settings of a database, and your connection has its own: pass the path of the file."
            )
        check_ready(target)
        try:
            _set(target, settings)
            # Unless the user's database has sqlrl's tables, they live in an attached one in memory, so that nothing of the user's is written.
            return _limited(
                _guest(target, owned=False, path="your connection"), memory or Memory.of_machine(apart=True)
            )
        except RuntimeError as error:
            heed(error)
            raise
    path = str(target) if str(target) == ":memory:" else str(expanded(target))
    check_characters(path, "the path")
    if "\0" in path:
        raise InputError(f"the path {path!r} has a NUL character, which ends the name of a file: leave it out.")
    if _ELSEWHERE.match(str(target)) and not exists(path):
        raise InputError(
            f"{str(target)!r} is no path of a file, which sqlrl opens: for a database elsewhere pass your own connection, "
            f"sqlrl.connect(duckdb.connect({str(target)!r}))."
        )
    file = None if path == ":memory:" else Path(path)
    existed = file is None or exists(file)
    if file is not None:
        check_database_file(file)
        if not read_only and (hindrance := unwritable(file)):
            raise _unwritable(file, hindrance, trusted)
    config: dict[str, Any] = {}
    if not trusted:
        settings.pop("temp_directory", None)
        config = dict(SEALED)
    with ExitStack() as undone:
        spill = None
        if temp_directory is None:
            spill = spill_folder(path)
            if spill is not None:
                undone.callback(spill.release)
        if not trusted:
            config["temp_directory"] = spill_directory(temp_directory, spill)
        connection = _open(path, read_only and path != ":memory:", config, trusted)
        undone.callback(connection.close)
        try:
            _check_opened(connection, path, trusted=trusted)
            if memory is None:
                memory = _default_memory(connection, path, settings, trusted=trusted)
            if temp_directory is None and trusted:
                _set_spill(connection, path, spill)
            engine = _prepared(connection, path, settings, read_only=read_only, trusted=trusted)
        except BaseException as error:
            if file is not None and not existed and isinstance(error, InputError):
                connection.close()
                file.unlink(missing_ok=True)
            heed(error)
            raise
        undone.pop_all()
        return _limited(engine, memory, place, spill)


def _check_opened(connection: duckdb.DuckDBPyConnection, path: str, *, trusted: bool) -> None:
    """Look at a connection of our own before anything is done on it."""
    if not trusted:
        # A file whose macros stand for functions of DuckDB's is refused before one is called.
        check_macros(connection, path)
    # Connections of one process to one file share their settings.
    if path != ":memory:":
        check_ready(connection)


def _prepared(
    connection: duckdb.DuckDBPyConnection,
    path: str,
    settings: dict[str, str | int | bool],
    *,
    read_only: bool,
    trusted: bool,
) -> DuckDBEngine:
    """Set up a connection of our own that was opened: settings, a schema, and scratch memory."""
    if _draws_bars(connection):
        settings["enable_progress_bar"] = False
    _set(connection, settings)
    if not trusted:
        lock(connection)
    catalog = _current_catalog(connection)
    if read_only and path != ":memory:":
        return _reader(connection, catalog, path, trusted=trusted)
    try:
        connection.execute("CREATE SCHEMA IF NOT EXISTS " + _qualified(catalog, "sqlrl"))
    except duckdb.Error as error:
        heed(error)
        raise _opening_error(path, str(error), read_only, trusted) from error
    # Scratch tables stay out of the file: a killed process leaves none behind, and nothing of them is logged.
    scratch, directory = _attach(connection, "sqlrl_scratch") if path != ":memory:" else (None, None)
    return DuckDBEngine(
        connection, (catalog, "sqlrl"), trusted=trusted, path=path, scratch=scratch, directory=directory
    )


def _limited(
    engine: DuckDBEngine, memory: Memory, folder: Path | None = None, spill: SpillFolder | None = None
) -> DuckDBEngine:
    """Tell an engine how much memory its process may take, which folder its scripts may name files of, and where its database spills."""
    engine.limit(memory, spill)
    engine.folder = folder
    return engine


def _kilobytes(size: int) -> str:
    return f"{size // 1000}KB"


def _setting(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return the value of a setting; nothing of a file is called for that."""
    query = "SELECT value FROM system.main.duckdb_settings() WHERE name = ?"
    return str(connection.execute(query, [name]).fetchall()[0][0])


@cache
def _usual_limit() -> str:
    """Return the memory limit of a database for which nobody has set one, as DuckDB writes it."""
    with closing(duckdb.connect(":memory:")) as connection:
        return _setting(connection, "memory_limit")


def _default_memory(
    connection: duckdb.DuckDBPyConnection, path: str, settings: dict[str, str | int | bool], *, trusted: bool
) -> Memory:
    """Return the memory where nobody gave a limit, and set the share of the database, unless somebody else in this process has set one."""
    untouched = path == ":memory:" or _setting(connection, "memory_limit") == _usual_limit()
    memory = Memory.of_machine(fixed=not trusted, apart=not untouched)
    if untouched:
        settings["memory_limit"] = _kilobytes(memory.share())
    return memory


def _set_spill(connection: duckdb.DuckDBPyConnection, path: str, spill: SpillFolder | None) -> None:
    """Let a database spill to a folder, or nowhere if there is none on a disk, unless somebody else in this process has said where."""
    if _setting(connection, "temp_directory") not in (".tmp", f"{path}.tmp"):
        return
    if spill is None:
        logger.warning(
            "no folder on a disk can be written, so that what exceeds the memory cannot be spilled: pass %s, or set TMPDIR to one",
            Parameter("temp_directory", Written("..."), "connect({})"),
        )
    folder = str(spill.path) if spill is not None else ""
    try:
        connection.execute(f"SET temp_directory = {exp.convert(folder).sql(dialect='duckdb')}")
    except duckdb.Error as error:
        # Another connection of this process to the same file has spilled already.
        logger.debug("the database goes on spilling to where it has: %s", error)


_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""A URL, or the prefix of a DuckDB extension; a single letter is a drive."""


def _open(path: str, read_only: bool, config: Mapping[str, Any], trusted: bool) -> duckdb.DuckDBPyConnection:
    """Open a database of our own and translate what can go wrong."""
    try:
        if Path(path).stem.casefold() not in _RESERVED:
            return duckdb.connect(path, read_only=read_only, config=dict(config))
        early = {name: value for name, value in config.items() if name != "enable_external_access"}
        connection = duckdb.connect(":memory:", config=early)
        if config:
            attach_sealed(connection, str(Path(path).absolute()))
        mode = " (READ_ONLY)" if read_only else ""
        connection.execute(f'ATTACH {exp.convert(path).sql(dialect="duckdb")} AS "data"{mode}')
        connection.execute('USE "data"')
        return connection
    except (duckdb.Error, RuntimeError) as error:
        heed(error)
        raise _opening_error(path, str(error), read_only, trusted) from error


def _opening_error(path: str, reason: str, read_only: bool, trusted: bool) -> BusyError | InputError:
    """Say why a file cannot be opened and what helps."""
    if "lock" in reason and ("Conflicting" in reason or "Could not set lock" in reason):
        process = re.search(r"PID (\d+)", reason)
        holder = f"process {process.group(1)}" if process else "another process"
        if read_only:
            return BusyError(f"{path} is held by {holder} for writing. Wait until it ends or close its connection.")
        held = f"{path} is held by {holder}. Wait until it ends or close its connection"
        return BusyError(held, f"several processes can read the file together: {_reading(trusted)}.")
    if "already" in reason and "attach" in reason.lower():
        return BusyError(
            f"{path} is already open in this process: pass that connection to connect(). ({brief(reason)})"
        )
    if "different configuration" in reason:
        return BusyError(
            f"{path} is already open in this process, and otherwise: close that connection first, or give both the same {Parameter('read_only')} and "
            f"{Parameter('trusted')}."
        )
    if is_dir(path):
        return InputError(f"{path} is a directory, not a database file.")
    if not is_dir(Path(path).parent):
        return InputError(f"{path}: there is no directory {Path(path).parent}. Create it first.")
    if read_only and not exists(path):
        return InputError(f"{path} does not exist, and {Parameter('read_only', True)} cannot create it.")
    if "not a valid DuckDB" in reason or "orrupt" in reason:
        return damaged(path, reason)
    if not read_only and ("Permission denied" in reason or "Read-only file system" in reason):
        return _unwritable(Path(path), brief(reason), trusted)
    return damage_error(reason, path) or InputError(f"{path} cannot be opened: {brief(reason)}")


def _reading(trusted: bool) -> str:
    """Return the call that opens a file for reading, and trusts it no more than the call that failed."""
    return f"{Parameter('read_only', True, 'connect(path, {})' if trusted else 'connect(path, {}, trusted=False)')}"


def _unwritable(path: Path, hindrance: str, trusted: bool) -> InputError:
    """Say why a file cannot be written, and how it can be read if there is one."""
    reading = f"To read it, open it with {_reading(trusted)}; to write, c" if exists(path) else "C"
    other = "copy it elsewhere" if exists(path) else "name a file elsewhere"
    return InputError(f"{path} cannot be written: {hindrance}. {reading}hange the permissions, or {other}.")


def _set(connection: duckdb.DuckDBPyConnection, settings: dict[str, str | int | bool]) -> None:
    """Apply settings."""
    for name, value in settings.items():
        try:
            connection.execute(f"SET {name} = {exp.convert(value).sql(dialect='duckdb')}")
        except duckdb.Error as error:
            raise InputError(f"{Parameter(name, value)} is not accepted by DuckDB: {brief(str(error))}") from error


def _draws_bars(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return True if DuckDB draws progress bars of its own beside ours."""
    # It does in processes without a main file and in notebooks with ipywidgets. In notebooks without ipywidgets it draws none, and refuses to be
    # told so.
    return bool(connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()[0][0])


def _current_catalog(connection: duckdb.DuckDBPyConnection) -> str:
    """Return the name of the connection's current database."""
    # fetchone would leave an unfinished result, which bars the connection from other work (DuckDB 2.0).
    return str(connection.execute("SELECT current_database()").fetchall()[0][0])


def _qualified(*parts: str) -> str:
    """Return a dotted name with every part quoted."""
    return ".".join(exp.to_identifier(part, quoted=True).sql(dialect="duckdb") for part in parts)


def _has_layout(connection: duckdb.DuckDBPyConnection, catalog: str, schema: str) -> bool:
    """Return True if the schema holds tables of sqlrl's."""
    query = "SELECT count(*) FROM duckdb_tables() WHERE database_name = ? AND schema_name = ? AND table_name = 'layout'"
    return bool(connection.execute(query, [catalog, schema]).fetchall()[0][0])


def _reader(connection: duckdb.DuckDBPyConnection, catalog: str, path: str, *, trusted: bool) -> DuckDBEngine:
    """Open a file for reading: its own catalog if it has one, with scratch tables in memory."""
    if not _has_layout(connection, catalog, "sqlrl"):
        return _guest(connection, owned=True, path=path, trusted=trusted)
    return _beside(connection, catalog, owned=True, path=path, trusted=trusted)


def _beside(
    connection: duckdb.DuckDBPyConnection, catalog: str, *, owned: bool, path: str, trusted: bool
) -> DuckDBEngine:
    """Read sqlrl's tables in a database that cannot be written, with scratch tables in memory."""
    scratch, directory = _attach(connection, "sqlrl_scratch")
    return DuckDBEngine(
        connection,
        (catalog, "sqlrl"),
        owned=owned,
        writable=False,
        trusted=trusted,
        path=path,
        scratch=scratch,
        directory=directory,
    )


def _guest(connection: duckdb.DuckDBPyConnection, *, owned: bool, path: str, trusted: bool = True) -> DuckDBEngine:
    """Keep sqlrl's tables in a database of its own, attached to a connection that must not be written."""
    with closing(connection.cursor()) as cursor:
        current = _current_catalog(connection)
        if _has_layout(cursor, "sqlrl", "main"):
            return DuckDBEngine(connection, ("sqlrl", "main"), owned=owned, trusted=trusted, path=path)
        if _has_layout(cursor, current, "sqlrl"):
            row = cursor.execute(
                "SELECT readonly FROM duckdb_databases() WHERE database_name = ?", [current]
            ).fetchall()
            if not row[0][0]:
                return DuckDBEngine(connection, (current, "sqlrl"), owned=owned, path=path)
            return _beside(connection, current, owned=owned, path=path, trusted=trusted)
        taken = {
            str(name).casefold()
            for (name,) in cursor.execute("SELECT database_name FROM duckdb_databases()").fetchall()
        }
        taken |= {
            str(name).casefold() for (name,) in cursor.execute("SELECT schema_name FROM duckdb_schemas()").fetchall()
        }
    name = "sqlrl"
    while name in taken:
        name += "_"
    home, directory = _attach(connection, name)
    return DuckDBEngine(connection, home, owned=owned, trusted=trusted, path=path, directory=directory)


def _attach(connection: duckdb.DuckDBPyConnection, name: str) -> tuple[tuple[str, str], TemporaryDirectory[str] | None]:
    """Attach an in-memory database, or a file in a fresh directory where the instance refuses one in memory."""
    alias = _qualified(name)
    try:
        # READ_WRITE is what a read-only instance needs to accept an in-memory database (DuckDB 2.0).
        connection.execute(f"ATTACH IF NOT EXISTS ':memory:' AS {alias} (READ_WRITE)")
        return (name, "main"), None
    except duckdb.Error as refusal:
        heed(refusal)
        directory = TemporaryDirectory(prefix="sqlrl-")
        file = exp.convert(str(Path(directory.name) / "sqlrl.duckdb")).sql(dialect="duckdb")
        try:
            connection.execute(f"ATTACH {file} AS {alias} (READ_WRITE)")
        except duckdb.Error as error:
            directory.cleanup()
            raise EngineError(
                "attach a database for sqlrl's tables", f"{refusal}; {error}", f"ATTACH {file}"
            ) from error
        return (name, "main"), directory
