"""Tables of another engine on a Spark server: copied once, found again by what they hold, and refreshed when they change."""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlrl.engine.base import QueryEngine, TableName
from sqlrl.engine.nodes import cast, column, named, star_count, table
from sqlrl.engine.spark.server import PIECE, Server, explained, too_large, unreadable, unwritable
from sqlrl.errors import ConflictError, InputError, Parameter, brief
from sqlrl.progress import Stage
from sqlrl.wording import counted

logger = logging.getLogger(__name__)

FORMAT = 1
"""The version of what a folder of a mirror holds."""

_MARK = pa.schema([("attempt", pa.string()), ("format", pa.int32()), ("rows", pa.int64())])
_ROWS_AT_ONCE = 1_000_000
_ORDER = ("example", "a0", "id")
"""By which column rows are put in order, so that each file has a range of it: examples, else what shapes join on."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a table holds: its columns, the number of its rows, and a hash of all of them that does not depend on their order."""

    schema: pa.Schema
    rows: int
    digest: int | str

    @property
    def fingerprint(self) -> str:
        """The name of its folder: 32 hexadecimal digits."""
        text = f"{self.schema.to_string(show_schema_metadata=False)}|{self.rows}|{self.digest}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True, eq=False)
class MirroredTable:
    """A table as it was looked at: what it holds, and its rows if they are few."""

    content: Content
    rows: pa.Table | None


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """A table on the server: the frame of its rows, and the mark of its files in the storage, if it has any."""

    frame: Any
    mark: str | None = None


def _digest(rows: pa.Table) -> str:
    """Return a hash of rows in their order."""
    sink = hashlib.sha256()
    for batch in rows.combine_chunks().to_batches():
        sink.update(batch.serialize())
    return sink.hexdigest()


class Mirror:
    """Copies tables of an engine to a server."""

    def __init__(self, source: QueryEngine, server: Server) -> None:
        self._source, self._server = source, server
        # Tables of few rows are sent to the session. Others are Parquet below `storage/<fingerprint>/`: rows below an attempt, a folder of each
        # client that copied them, in files that each hold a range of examples; below `done` a mark for each attempt once all its rows are there.
        self._storage = server.spark.folder
        self._resident = server.spark.resident

    def look(self, name: TableName) -> MirroredTable:
        """Look at a table, and read it if its rows are few."""
        everything = exp.select("*").from_(table(name))
        rows = self._source.fetch(everything.limit(self._resident + 1), step=f"look at {name.name}")
        if rows.num_rows <= self._resident and rows.nbytes <= PIECE:
            return MirroredTable(Content(rows.schema, rows.num_rows, _digest(rows)), rows)
        return MirroredTable(self._content(name, rows.schema), None)

    def _content(self, name: TableName, schema: pa.Schema) -> Content:
        values: list[exp.Expr] = [
            exp.Anonymous(this="encode", expressions=[column(each.name)])
            if pa.types.is_string(each.type)
            else column(each.name)
            for each in schema
        ]
        # The hash of many rows is DuckDB's, of numbers and bytes, which no collation changes. Another release may have another one: then a table is
        # copied again.
        row = exp.cast(exp.Anonymous(this="hash", expressions=values), exp.DataType.Type.INT128)
        query = exp.select(named(star_count(), "n"), named(cast(exp.Sum(this=row), "INT128"), "h")).from_(table(name))
        (found,) = self._source.fetch(query, step=f"look whether {name.name} has changed").to_pylist()
        return Content(schema, int(found["n"]), int(found["h"] or 0))

    def copy(self, name: TableName, mirrored: MirroredTable) -> Copy:
        """Return a table's rows on the server, which are copied unless they are there."""
        content = mirrored.content
        if mirrored.rows is not None:
            return Copy(self._server.rows(mirrored.rows, step=f"send {name.name} to Spark"))
        if self._storage is None:
            raise too_large(content.rows, name.name, self._resident)
        folder = f"{self._storage}/{content.fingerprint}"
        attempt = self._attempt(folder, content, name)
        if attempt is None:
            self._copy(folder, content, name)
            attempt = self._attempt(folder, content, name)
            if attempt is None:
                raise self._unreadable(folder, name, "the mark that was written is not there")
        frame = self._server.read([f"{folder}/{attempt}/*"], content.schema, step=f"read the copy of {name.name}")
        with explained(lambda error: self._unreadable(folder, name, brief(error.reason, lines=1))):
            there = self._server.run(frame.count, f"count the rows of the copy of {name.name}", folder)
        # A server may take a folder that is not there for one without rows.
        if there != content.rows:
            raise self._unreadable(folder, name, f"it has {counted(there, 'row')} of {content.rows:,}")
        return Copy(frame, f"{folder}/done/{attempt}")

    def there(self, marks: Sequence[str]) -> bool:
        """Return whether all marks of copies that a session has read are there still."""
        found = self._server.found(marks, _MARK, step="look whether copies are still there")
        return {str(row["attempt"]) for row in found} == {mark.rpartition("/")[2] for mark in marks}

    def _attempt(self, folder: str, content: Content, name: TableName) -> str | None:
        """Return the attempt whose rows are to be read, None if none is complete."""
        step = f"look for the copy of {name.name}"
        with explained(partial(unreadable, folder)):
            marks = self._server.found([f"{folder}/done/*"], _MARK, step=step)
        for mark in marks:
            if mark["format"] != FORMAT:
                raise InputError(
                    f"{folder} was written by another version of sqlrl (format {mark['format']}, this one has {FORMAT}): give another {Parameter('storage')}, "
                    "or remove the folder."
                )
        # Clients that copy a table at once do not see each other's attempts, and all take the least of those that are marked.
        return min((str(mark["attempt"]) for mark in marks if mark["rows"] == content.rows), default=None)

    def _copy(self, folder: str, content: Content, name: TableName) -> None:
        """Write a table, piece by piece, and then its mark."""
        attempt, written = uuid.uuid4().hex, 0
        logger.info("copying %s (%d rows) to %s/%s", name.name, content.rows, folder, attempt)
        with Stage(f"copying {name.name} to Spark", content.rows, even=True) as stage:
            for number, piece in enumerate(self._pieces(name, content.schema)):
                path = f"{folder}/{attempt}/{number:06d}"
                self._write(piece, path, f"copy {name.name} to Spark")
                written += piece.num_rows
                stage.advance(piece.num_rows)
        if written != content.rows:
            raise self._changed(name)
        # Another connection may have changed it since it was looked at, and others will trust the mark.
        if self._content(name, content.schema) != content:
            raise self._changed(name)
        mark = pa.table({"attempt": [attempt], "format": [FORMAT], "rows": [written]}, schema=_MARK)
        self._write(mark, f"{folder}/done/{attempt}", f"mark the copy of {name.name} as complete")

    def _write(self, data: pa.Table, path: str, step: str) -> None:
        """Write rows as one file; done once more it is the same."""
        with explained(partial(unwritable, path)):
            self._server.write(self._server.rows(data, step=step).coalesce(1), path, step=step)

    def _pieces(self, name: TableName, schema: pa.Schema) -> Iterator[pa.Table]:
        """Read a table in the order of its examples, in pieces that one message takes."""
        query = exp.select("*").from_(table(name))
        keys = [each for each in _ORDER if each in schema.names][:1]
        query = query.order_by(*(column(key) for key in keys)) if keys else query
        for batch in self._source.stream(query, step=f"read {name.name}", rows=_ROWS_AT_ONCE):
            whole = pa.Table.from_batches([batch])
            size = max(1, whole.num_rows * PIECE // max(whole.nbytes, 1))
            for start in range(0, whole.num_rows, size):
                yield whole.slice(start, size)

    def _changed(self, name: TableName) -> ConflictError:
        return ConflictError(f"{name.name} was changed while it was copied to Spark: call again.")

    def _unreadable(self, folder: str, name: TableName, why: str) -> InputError:
        return InputError(
            f"the copy of {name.name} in {folder} cannot be used: {why}. The server must read there what it has written: if the storage is a "
            "folder, on every machine of it; remove the folder to have it copied again."
        )
