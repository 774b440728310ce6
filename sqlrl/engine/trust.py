"""Files that a stranger made: DuckDB kept from all that is outside of a file, and what is in it, listed without running any of it."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import duckdb

from sqlrl.engine.macros import Macro, hiding, macros
from sqlrl.engine.spill import SpillFolder
from sqlrl.errors import InputError, Parameter, UntrustedError
from sqlrl.paths import expanded, is_dir, leads_into
from sqlrl.wording import shortened

SEALED: Mapping[str, str | bool] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
}
"""Settings under which SQL reads no file, address, secret or variable of Python; DuckDB takes them as it opens a file, which may run
what waits in its log."""

REMEDY = f"do not use the file, or, if you know who made it so, open it without {Parameter('trusted', False)}"

_LISTS = {
    "table": "SELECT database_name, schema_name, table_name, sql FROM system.main.duckdb_tables()",
    "view": "SELECT database_name, schema_name, view_name, sql FROM system.main.duckdb_views()",
    "index": "SELECT database_name, schema_name, index_name, sql FROM system.main.duckdb_indexes()",
    "sequence": "SELECT database_name, schema_name, sequence_name, sql FROM system.main.duckdb_sequences()",
    "trigger": "SELECT database_name, schema_name, trigger_name, sql FROM system.main.duckdb_triggers()",
}
"""By kind the SQL that lists what is defined. Functions are named in full: a macro of the file may have the name of one."""

_OWN = ("system", "temp")
# What a database spills may be read by its SQL, so nobody may know the folder beforehand. Connections to one file must agree on it.
_SPILL = f".{secrets.token_hex(8)}.tmp"


@dataclass(frozen=True, slots=True)
class Item:
    """Something that a file defines: its kind (table, view, index, sequence, trigger or macro) and the SQL of its definition, if it has any."""

    kind: str
    schema: str
    name: str
    sql: str = ""


def checked_folder(folder: object, *, trusted: bool) -> Path | None:
    """Return the folder of the files of an untrusted database, links resolved; None if it has none."""
    if folder is None:
        return None
    if not isinstance(folder, str | PathLike) or "\0" in str(folder):
        raise InputError(f"{Parameter('folder', folder)} must be the path of a folder.")
    if trusted:
        raise InputError(
            f"{Parameter('folder')} limits a database opened with {Parameter('trusted', False)}: leave it out, or pass {Parameter('trusted', False)} too."
        )
    found = expanded(str(folder))
    if not str(folder) or not is_dir(found):
        raise InputError(f"{Parameter('folder', str(folder))} is not a folder: name one that exists.")
    return found.resolve()


def admitted(path: str, folder: Path | None) -> str:
    """Return where a path in a script leads, links resolved; UntrustedError unless that is in the folder. Files outside are not looked at."""
    shown = repr(shortened(path))
    if folder is None:
        raise UntrustedError(
            f"the script names the file {shown}, and a database opened with {Parameter('trusted', False)} reads and writes no files for a script: "
            f"pass {Parameter('folder')}, the folder that has the files of the script."
        )
    if _ADDRESS.match(path) or not leads_into(expanded(path), folder):
        raise UntrustedError(
            f"the script names {shown}, which is not in {folder}: move the file there, or pass another {Parameter('folder')}."
        )
    return str(expanded(path).resolve())


_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""A URL, or the prefix of an extension; a single letter is a drive."""


def spill_directory(chosen: str | Path | None, own: SpillFolder | None) -> str:
    """Return where a sealed database spills: a folder of its own, in the one that was chosen if one was; '' for nowhere."""
    if chosen is not None:
        return str(Path(chosen) / f"sqlrl{_SPILL}")
    return str(own.path) if own is not None else ""


def attach_sealed(connection: duckdb.DuckDBPyConnection, path: str) -> None:
    """Keep a database in memory from all files but one, which is to be attached, and what DuckDB writes beside it."""
    own = ", ".join(_quoted(path + ending) for ending in ("", ".wal", ".wal.checkpoint", ".wal.recovery"))
    connection.execute(f"SET allowed_paths = [{own}]")
    connection.execute("SET enable_external_access = false")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Let no SQL change settings any more, which could undo others or write logs; the bar of progress may be switched."""
    [(locked,)] = connection.execute("SELECT system.main.current_setting('lock_configuration')").fetchall()
    if not locked:
        connection.execute("SET allowed_configs = ['enable_progress_bar']")
        connection.execute("SET lock_configuration = true")


def contents(connection: duckdb.DuckDBPyConnection) -> list[Item]:
    """Return what the databases of a connection define; none of it is run."""
    found = [
        Item(kind, str(schema), str(name), str(sql))
        for kind, query in _LISTS.items()
        for base, schema, name, sql in connection.execute(query).fetchall()
        if base not in _OWN
    ]
    return [*found, *(Item("macro", each.schema, each.name) for each in macros(connection) if each.base not in _OWN)]


def check_macros(connection: duckdb.DuckDBPyConnection, path: str) -> None:
    """Refuse macros that would be called in place of DuckDB's own functions; to be done before any function is called."""
    if hidden := hiding(connection, macros(connection)):
        raise UntrustedError(f"{told_macros(path, hidden)}: {REMEDY}.")


def told_macros(path: str, hidden: Sequence[Macro]) -> str:
    """Say which macros of a database are called in place of DuckDB's own functions."""
    names = ", ".join(map(str, hidden[:5]))
    return f"{path} has macros with names of DuckDB's own functions, which SQL would call in their place: {names}"
