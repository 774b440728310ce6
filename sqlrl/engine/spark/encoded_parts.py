"""What a server has encoded, read there: a folder whose mark says that it is complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from typing import Any

import pyarrow as pa

from sqlrl.engine.spark.server import Server, explained
from sqlrl.engine.stored import StoredPart
from sqlrl.errors import InputError, Parameter, Written, brief
from sqlrl.wording import counted

FORMAT = 1
"""The version of what such a folder holds."""

MARK = pa.schema([("part", pa.string()), ("format", pa.int32()), ("rows", pa.int64())])


def mark_rows(rows: int) -> dict[str, int]:
    """Return what a mark says of a part."""
    return {"format": FORMAT, "rows": rows}


def part_frame(server: Server, part: StoredPart, schema: pa.Schema) -> Any:
    """Return the frame of a part that this session has written."""
    return server.read([part.folders(str(server.spark.folder))], schema, step="read what was encoded")


def stored_frame(server: Server, parts: Sequence[StoredPart], schema: pa.Schema) -> Any:
    """Return the frame of the rows of parts that are complete, as their marks say; InputError if one is not, or is elsewhere."""
    return reduce(lambda frame, other: frame.union(other), [_complete(server, part, schema) for part in parts])


def _marks(part: StoredPart, storage: str) -> str:
    """Return the folder of the marks of the source that a part is of."""
    return StoredPart(part.attempt, "done").path(storage)


def still_there(server: Server, parts: Sequence[StoredPart]) -> bool:
    """Return whether the marks of parts that were read are there still."""
    storage, listed = str(server.spark.folder), list(dict.fromkeys(parts))
    sources = list(dict.fromkeys(_marks(part, storage) for part in listed))
    marks = server.found(sources, MARK, step="look whether what was encoded is still there")
    known = Counter(str(row["part"]) for row in marks)
    return all(known[name] >= number for name, number in Counter(part.name for part in listed).items())


def _complete(server: Server, part: StoredPart, schema: pa.Schema) -> Any:
    storage, step = server.spark.folder, "read what was encoded on Spark"
    if storage is None:
        raise InputError(
            f"some data were encoded on Spark, into its storage, and this session of it has none: give the same one, Spark(address, {Parameter('storage', Written('...'))})."
        )
    folder, marks = part.path(storage), server.found([_marks(part, storage)], MARK, step=step)
    known = {str(row["part"]): row for row in marks}
    if any(row["format"] != FORMAT for row in marks):
        raise InputError(
            f"{folder} was written by another version of sqlrl (format {marks[0]['format']}, this one has {FORMAT}): load its source again."
        )
    if part.name not in known:
        raise InputError(
            f"{folder} is not there, or not complete: open the database with the storage into which its data were encoded, or load their source again."
        )
    frame, rows = part_frame(server, part, schema), int(known[part.name]["rows"])
    with explained(
        lambda error: _damaged(folder, f"cannot be read ({brief(error.reason, lines=1)}): files of it are damaged")
    ):
        there = int(server.run(frame.count, step, folder))
    # A server may take a folder that is not there for one without rows.
    if there != rows:
        raise _damaged(folder, f"has {counted(there, 'row')} of {rows:,}: files of it are missing")
    return frame


def _damaged(folder: str, what: str) -> InputError:
    return InputError(
        f"{folder} {what}, or not to be seen from every machine of the server. Restore them, or load the source again."
    )
