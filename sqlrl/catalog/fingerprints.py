"""Fingerprints: what tells that a file or a relation is no longer what was loaded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlglot import exp

from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column, named, star_count, subquery
from sqlrl.errors import LoadError

MISSING = "missing"
# The content of files up to this size counts, so that a copy or `touch` is no change; hashing it takes some milliseconds.
_SMALL = 1 << 22
_PATTERN = "files"


@dataclass(frozen=True, slots=True)
class FileState:
    """The parts of a file's fingerprint.

    Parameters
    ----------
    size : int
        In bytes.
    time : int or None
        When the content was last written, in nanoseconds since 1970.
    content : str or None
        SHA-256 of the content of a small file.
    """

    size: int
    time: int | None = None
    content: str | None = None

    def __str__(self) -> str:
        """Return size, time and hash as far as they are known, separated by colons."""
        return ":".join(str(part) for part in (self.size, self.time, self.content) if part is not None)

    def describe(self) -> str:
        """Say size and time.

        Examples
        --------
        >>> FileState(1).describe(), FileState(1200).describe()
        ('1 byte', '1,200 bytes')
        """
        size = f"{self.size:,} byte{'' if self.size == 1 else 's'}"
        if self.time is None:
            return size
        return f"{size}, written {datetime.fromtimestamp(self.time / 1e9).astimezone():%Y-%m-%d %H:%M:%S}"


def parse_fingerprint(text: str) -> FileState | None:
    """Return the state of a file from its fingerprint, None if it is that of something else.

    Examples
    --------
    >>> parse_fingerprint("12:1700000000000000000")
    FileState(size=12, time=1700000000000000000, content=None)
    >>> parse_fingerprint("missing") is None
    True
    """
    size, *rest = text.split(":")
    if not size.isdecimal() or not rest or not all(part.isalnum() for part in rest):
        return None
    hashes = [part for part in rest if len(part) == 64]
    times = [int(part) for part in rest if len(part) != 64 and part.isdecimal()]
    return FileState(int(size), times[0] if times else None, hashes[0] if hashes else None)


def file_fingerprint(path: Path) -> str:
    """Return size, time of change and (of a small file) a hash of the content.

    Raises
    ------
    LoadError
        If the file may not be read.

    Examples
    --------
    >>> file_fingerprint(Path("does not exist"))
    'missing'
    """
    try:
        if not path.exists():
            return MISSING
        state = path.stat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if state.st_size <= _SMALL else None
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror}.") from error
    return str(FileState(state.st_size, state.st_mtime_ns, content))


def changed_since(path: Path, fingerprint: str, *, thorough: bool) -> FileState | None:
    """Return how a file is now if it is not what its fingerprint describes, else None.

    Parameters
    ----------
    path : Path
        A file that exists.
    fingerprint : str
        Of the file.
    thorough : bool
        Compare the content of a small file even if size and time are the same; otherwise the content is looked at only
        if the time alone differs.
    """
    before = parse_fingerprint(fingerprint)
    state = path.stat()
    now = FileState(state.st_size, state.st_mtime_ns)
    if before is None or now.size != before.size:
        return now
    if not thorough and now.time == before.time:
        return None
    if before.content is not None:
        return None if hashlib.sha256(path.read_bytes()).hexdigest() == before.content else now
    return None if before.time in (now.time, None) else now


def matching_files(engine: DuckDBEngine, pattern: str) -> list[str]:
    """Return the files that a pattern names."""
    listed = exp.select(column("file")).from_(exp.Anonymous(this="glob", expressions=[exp.convert(pattern)]))
    return [str(row["file"]) for row in engine.fetch(listed, step=f"look for {pattern}").to_pylist()]


def pattern_fingerprint(files: Iterable[str]) -> str:
    """Return the fingerprint of several files: how many there are, and a hash of their names, sizes and times."""
    listed = []
    for file in sorted(files):
        state = Path(file).stat()
        listed.append(f"{Path(file).absolute()}:{state.st_size}:{state.st_mtime_ns}")
    return f"{_PATTERN}:{len(listed)}:{hashlib.sha256(chr(10).join(listed).encode()).hexdigest()}"


def is_pattern_fingerprint(text: str) -> bool:
    """Return True for the fingerprint of several files."""
    return text.startswith(f"{_PATTERN}:")


def rows_hash(table: exp.Expr) -> exp.Select:
    """Plan the number `n` of rows of a relation and an order-free hash `h` of all of them."""
    row = exp.cast(exp.Anonymous(this="hash", expressions=[exp.column("s")]), "hugeint")
    return exp.select(named(star_count(), "n"), named(exp.cast(exp.Sum(this=row), "varchar"), "h")).from_(
        subquery(exp.select("*").from_(table), "s")
    )


def table_fingerprint(engine: DuckDBEngine, table: exp.Expr) -> str:
    """Return the number of rows and an order-free hash of all rows of a relation."""
    row = engine.fetch(rows_hash(table), step="fingerprint a source").to_pylist()[0]
    return f"{row['n']}:{row['h']}"
