"""What is at fault where DuckDB fails: a file that is no database or is damaged; memory or disk that is used up, with the sizes there were."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import duckdb

from sqlrl.errors import InputError, Parameter, Phrase, brief
from sqlrl.paths import is_dir, is_file

_START = 4096
_LOAD = "connect to a database (such as {name}.duckdb) and load the file into it: db.load(PREDICATE, {path!r})"
_JSON = "connect to a database and load what the file holds: db.load(PREDICATE, \"from read_json('{path}')\")"
_EVIDENCE = (
    "connect to a database (such as {name}.duckdb) and load the file into it: db.load(sqlrl.Evidence({path!r}, model))"
)

_KINDS = {
    "a Parquet file": ((".parquet", ".parq", ".pq"), _LOAD),
    "a text file": ((".csv", ".tsv", ".txt", ".gz", ".zst"), _LOAD),
    "a JSON file": ((".json", ".jsonl", ".ndjson"), _JSON),
    "a model": ((".mln",), "connect to a database and read the model: read_mln({path!r})"),
    "a database of SQLite": ((), "copy its tables to Parquet or CSV files and load those: db.load(PREDICATE, FILE)"),
    "a text file, perhaps Alchemy's evidence": ((), _EVIDENCE),
}
"""Endings of names, and the remedy."""

_DAMAGE = re.compile(
    r'([\w ]+ Error: )?(Could not read enough bytes from file "(?P<file>.+)": attempted|Corrupt database file: )'
)
"""How DuckDB's messages about damaged files begin; of one that was cut off they say which."""

_LOST = re.compile(r'No files found that match the pattern "(?P<files>[^"]*/encoded/[0-9a-f]{32}/[^"]*)"')

_MEMORY = re.compile(
    r"([\w ]+ Error: )?(Failed to commit: )?(Out of Memory Error|[Oo]ut of memory|failed to (pin|allocate|offload)|could not allocate)"
)

_FULL = re.compile(r"No space left on device|Disk quota exceeded|not enough space on the disk")

# These quote data and SQL, in which such words may stand.
_QUOTING = re.compile(r"(Conversion|Invalid Input|Constraint|Binder|Catalog|Parser) Error: ")

_FILE = re.compile(r'file \\?"(.+?)\\?"')
_SPILLED = "max_temp_directory_size"
_LESS = f"or do less at once: pass fewer {Parameter('examples')}, give a predicate that is predicted a scope, load a part of the data"


# ---- files -------------------------------------------------------------------------------------------


def check_database_file(path: Path) -> None:
    """Refuse a file that is no DuckDB database, or a new one with the name of another kind; the error says how to load it."""
    # DuckDB itself opens a Parquet, CSV or JSON file as a database in memory, in which all work would be lost.
    if _is_database(path):
        return
    start = _first_bytes(path)
    kind = _kind(path, start)
    if kind is None and not start:
        return
    if kind is None:
        raise damaged(path)
    what = f"is {kind}, not a DuckDB database" if start else f"has the name of {kind}, not of a DuckDB database"
    raise InputError(f"{path} {what}: {_KINDS[kind][1].format(path=str(path), name=path.stem)}.")


def unwritable(path: Path) -> str:
    """Return why a database cannot be written, "" if it can, or if there is no folder for it."""
    if is_file(path) and not os.access(path, os.W_OK):
        return "the file may not be written"
    if is_dir(path.parent) and not os.access(path.parent, os.W_OK | os.X_OK):
        return f"its folder {path.parent} may not be written, where DuckDB keeps a log beside it"
    return ""


def damage_error(reason: str, path: str | Path) -> InputError | None:
    """Return what to raise if DuckDB's message `reason` tells of a damaged database, `path` where it names no file; else None."""
    found = _DAMAGE.match(reason)
    # The damaged file may be no database, such as a Parquet file that is being loaded.
    if found is None or (found["file"] and not _is_database(Path(found["file"]))):
        return None
    return damaged(found["file"] or path, reason)


def lost_files(reason: str) -> InputError | None:
    """Return what to raise if files are gone that a server has encoded, of which the database has views; None if it failed otherwise."""
    found = _LOST.search(reason)
    if found is None:
        return None
    return InputError(
        f"{found['files']}: what Spark has encoded is not there any more: restore it, or load its source again, {Phrase('db.load(predicate, sqlrl.ServerFiles(path))')}."
    )


def damaged(path: str | Path, reason: str = "") -> InputError:
    """Return the error that a file is no database, or damaged; `reason` is DuckDB's message, if it has tried to open it."""
    why = f" ({brief(reason)})" if reason else ""
    return InputError(f"{path} is not a DuckDB database, or it is damaged: restore a copy or name another file.{why}")


def _is_database(path: Path) -> bool:
    """Return True if a file begins as DuckDB's databases do, whether or not the rest of it is whole."""
    return _first_bytes(path)[8:12] == b"DUCK"


def _first_bytes(path: Path) -> bytes:
    """Return the start of a file, nothing if there is none."""
    if not is_file(path):
        return b""
    try:
        with path.open("rb") as content:
            return content.read(_START)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error


def _kind(path: Path, start: bytes) -> str | None:
    """Return what a file is that is no DuckDB database, None if nothing says so."""
    if start.startswith(b"PAR1"):
        return "a Parquet file"
    if start.startswith(b"SQLite format 3"):
        return "a database of SQLite"
    named = [kind for kind, (endings, _) in _KINDS.items() if path.suffix.lower() in endings]
    if named:
        return named[0]
    atom = re.search(rb"^\s*[!?]?([\d.]+\s+)?\w+\(.*\)\s*$", start, re.MULTILINE)
    return "a text file, perhaps Alchemy's evidence" if atom is not None and b"\0" not in start else None


# ---- memory and disk ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Storage:
    """How much memory and disk a database may use, as DuckDB's settings say it."""

    memory_limit: str
    temp_directory: str  # if empty, nothing spills
    max_temp_directory_size: str
    owned: bool = True  # whether sqlrl opened the database, so that `connect` takes the settings

    def setting(self, name: str, value: str | int) -> str:
        """Return how a user gives a setting."""
        if self.owned and name != _SPILLED:
            return f"{Parameter(name, value, 'connect({})')}"
        return f"SET {name} = {value!r}"


def read_storage(connection: duckdb.DuckDBPyConnection, *, owned: bool) -> Storage:
    """Read the settings of memory and disk; duckdb.Error if there is no memory for that, either."""
    names = ("memory_limit", "temp_directory", _SPILLED)
    # On a cursor, since the connection may be in a transaction that has failed.
    with connection.cursor() as cursor:
        row = cursor.execute("SELECT " + ", ".join(f"current_setting('{name}')" for name in names)).fetchall()[0]
    limit, folder, most = (str(value or "") for value in row)
    return Storage(limit, folder, most, owned)


def is_exhausted(reason: str) -> bool:
    """Return True if a message of DuckDB's says that memory or disk is used up."""
    return _MEMORY.match(reason) is not None or (_FULL.search(reason) is not None and not _QUOTING.match(reason))


def remedy(reason: str, storage: Storage) -> str:
    """Say what was used up, how much there was of it, and what to do, for a message of DuckDB's of which `is_exhausted` holds."""
    file = _FILE.search(reason)
    memory = f"raise the memory, {storage.setting('memory_limit', 'SIZE')}"
    folder = f"name a folder on a larger one, {storage.setting('temp_directory', 'FOLDER')}"
    if _FULL.search(reason):
        if file is None:
            return "a disk is full: free some of it, or use a larger one"
        if (
            not storage.temp_directory
            or Path(storage.temp_directory).absolute() not in Path(file[1]).absolute().parents
        ):
            return f"the disk of {file[1]} is full: free some of it, or use a larger one"
        return (
            f"what exceeds the memory (memory_limit is {storage.memory_limit}) spills to {storage.temp_directory}, and that disk is full: "
            f"free some of it, {folder}, {memory}, {_LESS}"
        )
    if _SPILLED in reason:
        return (
            f"what exceeds the memory (memory_limit is {storage.memory_limit}) spills to {storage.temp_directory}, as much as may be "
            f"({_SPILLED} is {storage.max_temp_directory_size}): raise that, {storage.setting(_SPILLED, 'SIZE')}, free the disk, "
            f"{folder}, {memory}, {_LESS}"
        )
    size = f"memory_limit is {storage.memory_limit}"
    if storage.temp_directory:
        size += f"; what exceeds it spills to {storage.temp_directory}, at most {storage.max_temp_directory_size}"
    else:
        memory += f", let what exceeds it spill, {storage.setting('temp_directory', 'FOLDER')}"
    return f"the memory is used up ({size}): {memory}, take fewer threads, {storage.setting('threads', 1)}, {_LESS}"
