"""What a file is that should be a database."""

from __future__ import annotations

import re
from pathlib import Path

from sqlrl.errors import InputError, brief

_START = 4096
_LOAD = "connect to a database (such as {name}.duckdb) and load the file into it: db.load(PREDICATE, {path!r})"
_JSON = "connect to a database and load what the file holds: db.load(PREDICATE, \"from read_json('{path}')\")"
_EVIDENCE = "connect to a database (such as {name}.duckdb) and load the file into it: db.load_evidence({path!r}, model)"
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


def check_database_file(path: Path) -> None:
    """Refuse a file that is no database of DuckDB's, and a new one with a name for something else.

    DuckDB itself opens a Parquet, CSV or JSON file as a database in memory, in which all work would be lost.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InputError
        Says what the file is and how to load it.

    Examples
    --------
    >>> check_database_file(Path("token.parquet"))
    Traceback (most recent call last):
    sqlrl.errors.InputError: token.parquet has the name of a Parquet file, not of a DuckDB database: connect to a database (such as token.duckdb) and load the file into it: db.load(PREDICATE, 'token.parquet').
    """
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


def damage(reason: str, path: str | Path) -> InputError | None:
    """Return what to raise if the database failed because of a damaged file of its own, None if it failed otherwise.

    Parameters
    ----------
    reason : str
        DuckDB's message.
    path : str or Path
        The database that was read, if the message does not name its file.

    Returns
    -------
    InputError or None
        None also for damaged files that are no databases, such as a Parquet file that is being loaded.

    Examples
    --------
    >>> print(damage("Corrupt database file: computed checksum 1 does not match stored checksum 2", "a.duckdb"))
    a.duckdb is not a DuckDB database, or it is damaged: restore a copy or name another file. (Corrupt database file: computed checksum 1 does not match stored checksum 2)
    >>> damage("Parser Error: syntax error", "a.duckdb") is None
    True
    """
    found = _DAMAGE.match(reason)
    if found is None or (found["file"] and not _is_database(Path(found["file"]))):
        return None
    return damaged(found["file"] or path, reason)


def damaged(path: str | Path, reason: str = "") -> InputError:
    """Return the error that says that a file is no database, or damaged.

    Parameters
    ----------
    path : str or Path
    reason : str
        DuckDB's message, if it has tried to open the file.
    """
    why = f" ({brief(reason)})" if reason else ""
    return InputError(f"{path} is not a DuckDB database, or it is damaged: restore a copy or name another file.{why}")


def _is_database(path: Path) -> bool:
    """Return True if a file begins as DuckDB's databases do, whether or not the rest of it is whole."""
    return _first_bytes(path)[8:12] == b"DUCK"


def _first_bytes(path: Path) -> bytes:
    """Return the start of a file, nothing if there is none."""
    if not path.is_file():
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
