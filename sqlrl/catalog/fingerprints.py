"""Fingerprints: what tells that a file or a relation is no longer what was loaded."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.values import instant_count
from sqlrl.distinct import mixed
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column, integer, named, star_count, subquery
from sqlrl.errors import LoadError
from sqlrl.paths import exists

MISSING = "missing"
# The content of files up to this size counts, so that a copy or `touch` is no change; hashing it takes some milliseconds.
_SMALL = 1 << 22
_PATTERN = "files"
_ROWS = "rows"
_PIECE = 1 << 16
MARK = "md5"
"""The format of hashes of rows: `rows_hash`."""
CONTENTS_MARK = "mixed"
"""The format of fingerprints of all data: `numbers_hash` of tables of numbers, and `rows_hash` of others; before it was `MARK`."""
_HASH_OF_ONE_ROW = 16_502_148_336_771_693_136
"""What `hash` of DuckDB 2.0 gives for the row (1, 'x', true, 0.5)."""


@dataclass(frozen=True, slots=True)
class FileState:
    """The parts of a file's fingerprint."""

    size: int  # In bytes.
    time: int | None = None  # When the content was last written, in nanoseconds since 1970.
    content: str | None = None  # SHA-256 of the content of a small file.

    def __str__(self) -> str:
        """Return size, time and hash as far as they are known, separated by colons."""
        return ":".join(str(part) for part in (self.size, self.time, self.content) if part is not None)

    def describe(self) -> str:
        """Say size and time."""
        size = f"{self.size:,} byte{'' if self.size == 1 else 's'}"
        if self.time is None:
            return size
        return f"{size}, written {datetime.fromtimestamp(self.time / 1e9).astimezone():%Y-%m-%d %H:%M:%S}"


def parse_fingerprint(text: str) -> FileState | None:
    """Return the state of a file from its fingerprint, None if it is that of something else."""
    size, *rest = text.split(":")
    if not size.isdecimal() or not rest or not all(part.isalnum() for part in rest):
        return None
    hashes = [part for part in rest if len(part) == 64]
    times = [int(part) for part in rest if len(part) != 64 and part.isdecimal()]
    return FileState(int(size), times[0] if times else None, hashes[0] if hashes else None)


def file_fingerprint(path: Path) -> str:
    """Return size, time of change and (of a small file) a hash of the content."""
    try:
        if not exists(path):
            return MISSING
        state = path.stat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if state.st_size <= _SMALL else None
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror}.") from error
    return str(FileState(state.st_size, state.st_mtime_ns, content))


def changed_since(path: Path, fingerprint: str, *, thorough: bool) -> FileState | None:
    """Return the present state of a file that differs from its fingerprint, None if it does not."""
    before = parse_fingerprint(fingerprint)
    state = path.stat()
    now = FileState(state.st_size, state.st_mtime_ns)
    if before is None or now.size != before.size:
        return now
    # The content of a small file is compared if the time alone differs, or in any case if `thorough`.
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


def rows_hash(table: exp.Expr, columns: Mapping[str, str] | None = None) -> exp.Select:
    """Plan the number `n` of rows of a relation and a hash `h` of all of them, whatever their order."""
    # The text of a time with a zone depends on the session.
    zoned = {name: function for name, kind in (columns or {}).items() if (function := instant_count(kind)) is not None}
    instants = [
        exp.Anonymous(this=function, expressions=[column(name)]).as_(name, quoted=True)
        for name, function in zoned.items()
    ]
    # JSON text and MD5 are defined outside the database, whose own `hash` is not, and has changed between its releases.
    # `md5_number_lower` takes four times as long (DuckDB 2.0).
    row = exp.MD5(this=exp.Anonymous(this="to_json", expressions=[exp.column("s")]))
    digits = exp.DPipe(this=exp.convert("0x"), expression=exp.Left(this=row, expression=integer(16)))
    digest = exp.cast(digits, exp.DataType.Type.UBIGINT, copy=False)
    # The hashes are added up, so that equal rows do not cancel each other.
    return _summed(digest, exp.select(exp.Star(replace=instants) if instants else exp.Star()).from_(table))


def _summed(digest: exp.Expr, rows: exp.Select) -> exp.Select:
    """Plan the number `n` of rows `s` and the sum `h` of a hash of each."""
    total = exp.cast(exp.Sum(this=exp.cast(digest, "hugeint", copy=False)), "varchar", copy=False)
    return exp.select(named(star_count(), "n"), named(total, "h")).from_(subquery(rows, "s"))


def numbers_hash(engine: DuckDBEngine, table: exp.Expr) -> tuple[int, int] | None:
    """Return the number of rows of a relation and a hash of all of them, whatever their order; None if not all columns have numbers or truths.

    It takes a tenth of the time of `rows_hash`. Each value is mixed with its column's name, and the sum of these for each row once more.
    """
    query = exp.select(exp.Star()).from_(table)
    names, columns = engine.fetch_rows(exp.Describe(this=query), step="look at the columns of a table")
    kind = names.index("column_type")
    if not all(row[kind] in _NUMBERS for row in columns):
        return None
    rows, total = 0, np.zeros(1, np.uint64)

    def add(batch: pa.RecordBatch) -> None:
        nonlocal rows
        digest = np.zeros(len(batch), np.uint64)
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            digest += mixed(_bits(values) + _seed(name))
        rows += len(batch)
        total[:] += mixed(digest).sum()

    engine.hand_over(query, add, step="fingerprint the data")
    return rows, int(total[0])


_NUMBERS = frozenset(("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE"))
_NULL = np.uint64(0xD6E8FEB86659FD93)
"""Bits of a value that is missing: those of no number that data have."""


@cache
def _seed(name: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big"))


def _bits(values: pa.Array) -> npt.NDArray[np.uint64]:
    # The bits of each number, in a type that has all of its kind, so that an integer hashes alike whatever the width of its column.
    filled = values.fill_null(False if pa.types.is_boolean(values.type) else 0) if values.null_count else values
    numbers = filled.to_numpy(zero_copy_only=False)
    wide = numbers.astype(np.float64 if numbers.dtype.kind == "f" else np.int64, copy=False)
    found: npt.NDArray[np.uint64] = wide.view(np.uint64)
    if values.null_count:
        found = np.where(values.is_null().to_numpy(zero_copy_only=False), _NULL, found)
    return found


def table_fingerprint(engine: DuckDBEngine, table: exp.Expr, columns: Mapping[str, str] | None = None) -> str:
    """Return the mark of its format, the number of rows, and an order-free hash of all rows of a relation; as `rows_hash`."""
    row = engine.fetch(rows_hash(table, columns), step="fingerprint a source").to_pylist()[0]
    return f"{MARK}:{row['n']}:{row['h']}"


def rows_fingerprint(rows: pa.Table) -> str:
    """Return the number of rows, and a hash of their bytes in this order, of a table that cannot be read again."""
    # Its rows are at hand as they were given: no database has to write each as text, which takes ten times as long.
    digest = _Digest()
    fields = [pa.field(field.name, field.type) for field in rows.schema]
    with pa.PythonFile(digest, mode="w") as sink, pa.ipc.new_stream(sink, pa.schema(fields)) as stream:
        # Pieces of one size, each put together anew: chunks, and rows before and behind a slice, are no content.
        for start in range(0, len(rows), _PIECE):
            chunks = [column.chunks for column in rows.slice(start, _PIECE).columns]
            columns = [pa.concat_arrays([*found, found[0].slice(0, 0)]) for found in chunks]
            stream.write_batch(pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields)))
    return f"{_ROWS}:{len(rows)}:{digest.hash.hexdigest()}"


class _Digest(io.RawIOBase):
    """A file whose content is hashed, and not kept."""

    def __init__(self) -> None:
        super().__init__()
        self.hash = hashlib.sha256()

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Take what Arrow writes, buffers as they are."""
        self.hash.update(data)
        return memoryview(data).nbytes


def row_count(fingerprint: str) -> int | None:
    """Return the number of rows that the fingerprint of a relation holds, None for one of something else."""
    count = fingerprint.removeprefix(f"{MARK}:").split(":")[0]
    return int(count) if count.isdecimal() else None


def is_marked(fingerprint: str) -> bool:
    """Return True if a hash in a fingerprint is of this format; before it had a mark, it rested on DuckDB's own `hash`."""
    return fingerprint.startswith(f"{MARK}:")


def unmarked_hash(table: exp.Expr, columns: Mapping[str, str] | None = None) -> exp.Select:
    """Plan the hash of earlier versions of `rows_hash`, to check once the fingerprints without a mark that were kept."""
    # `hash` did not heed collations when most of these fingerprints were kept.
    texts = [name for name, kind in (columns or {}).items() if kind == "VARCHAR"]
    plain = [exp.Collate(this=column(name), expression=exp.var("POSIX")).as_(name, quoted=True) for name in texts]
    digest = exp.Anonymous(this="hash", expressions=[exp.column("s")])
    return _summed(digest, exp.select(exp.Star(replace=plain) if plain else exp.Star()).from_(table))


def unmarked_fingerprint(engine: DuckDBEngine, table: exp.Expr, columns: Mapping[str, str] | None = None) -> str:
    """Return what `table_fingerprint` returned before fingerprints had a mark."""
    row = engine.fetch(unmarked_hash(table, columns), step="fingerprint a source as before").to_pylist()[0]
    return f"{row['n']}:{row['h']}"


def can_check_unmarked(engine: DuckDBEngine) -> bool:
    """Return True if this DuckDB's `hash` is the one of the release with which fingerprints without a mark were made."""
    row = exp.select(
        exp.cast(exp.convert(1), "integer").as_("a"),
        exp.convert("x").as_("b"),
        exp.true().as_("c"),
        exp.cast(exp.convert(0.5), "double").as_("d"),
    )
    digest = exp.Anonymous(this="hash", expressions=[exp.column("s")])
    found = engine.fetch(exp.select(named(digest, "h")).from_(subquery(row, "s")), step="look at the hash of rows")
    return int(found.column("h")[0].as_py()) == _HASH_OF_ONE_ROW
