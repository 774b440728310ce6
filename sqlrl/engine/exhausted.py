"""What to do when the database has run out of memory or disk: in words, with the sizes it had."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import duckdb

_MEMORY = re.compile(
    r"([\w ]+ Error: )?(Failed to commit: )?(Out of Memory Error|[Oo]ut of memory|failed to (pin|allocate|offload)|could not allocate)"
)
_FULL = re.compile(r"No space left on device|Disk quota exceeded|not enough space on the disk")
# These quote data and SQL, in which such words may stand.
_QUOTING = re.compile(r"(Conversion|Invalid Input|Constraint|Binder|Catalog|Parser) Error: ")
_FILE = re.compile(r'file \\?"(.+?)\\?"')
_SPILLED = "max_temp_directory_size"
_LESS = "or do less at once: pass fewer examples=, load a part of the data"


@dataclass(frozen=True, slots=True)
class Room:
    """How much memory and disk a database may use, as DuckDB's settings say it.

    Parameters
    ----------
    memory_limit, temp_directory, max_temp_directory_size : str
        An empty directory: nothing spills.
    owned : bool
        Whether sqlrl opened the database, so that `connect` takes the settings.
    """

    memory_limit: str
    temp_directory: str
    max_temp_directory_size: str
    owned: bool = True

    def setting(self, name: str, value: str | int) -> str:
        """Return how a user gives a setting."""
        if self.owned and name != _SPILLED:
            return f"connect({name}={value!r})"
        return f"SET {name} = {value!r}"


def read_room(connection: duckdb.DuckDBPyConnection, *, owned: bool) -> Room:
    """Read the settings on a cursor, since the connection may be in a transaction that has failed.

    Raises
    ------
    duckdb.Error
        There is no memory for that, either.
    """
    names = ("memory_limit", "temp_directory", _SPILLED)
    with connection.cursor() as cursor:
        row = cursor.execute("SELECT " + ", ".join(f"current_setting('{name}')" for name in names)).fetchall()[0]
    limit, folder, most = (str(value or "") for value in row)
    return Room(limit, folder, most, owned)


def is_exhausted(reason: str) -> bool:
    """Return True if a message of DuckDB's says that memory or disk is used up.

    Examples
    --------
    >>> is_exhausted('IO Error: Could not write file "a.duckdb": No space left on device')
    True
    >>> is_exhausted("Parser Error: syntax error")
    False
    """
    return _MEMORY.match(reason) is not None or (_FULL.search(reason) is not None and not _QUOTING.match(reason))


def remedy(reason: str, room: Room) -> str:
    """Say what was used up, how much there was of it, and what to do.

    Parameters
    ----------
    reason : str
        DuckDB's message, of which `is_exhausted` holds.
    room : Room

    Examples
    --------
    >>> room = Room("3.7 GiB", "data.duckdb.tmp", "1.0 GiB")
    >>> print(remedy("Out of Memory Error: failed to pin block of size 256.0 KiB", room))
    the memory is used up (memory_limit is 3.7 GiB; what exceeds it spills to data.duckdb.tmp, at most 1.0 GiB): raise the memory, connect(memory_limit='SIZE'), take fewer threads, connect(threads=1), or do less at once: pass fewer examples=, load a part of the data
    >>> print(remedy('IO Error: Could not write file "data.duckdb": No space left on device', room))
    the disk of data.duckdb is full: free some of it, or use a larger one
    """
    file = _FILE.search(reason)
    memory = f"raise the memory, {room.setting('memory_limit', 'SIZE')}"
    folder = f"name a folder on a larger one, {room.setting('temp_directory', 'FOLDER')}"
    if _FULL.search(reason):
        if file is None:
            return "a disk is full: free some of it, or use a larger one"
        if not room.temp_directory or Path(room.temp_directory).absolute() not in Path(file[1]).absolute().parents:
            return f"the disk of {file[1]} is full: free some of it, or use a larger one"
        return (
            f"what exceeds the memory (memory_limit is {room.memory_limit}) spills to {room.temp_directory}, and that disk is full: "
            f"free some of it, {folder}, {memory}, {_LESS}"
        )
    if _SPILLED in reason:
        return (
            f"what exceeds the memory (memory_limit is {room.memory_limit}) spills to {room.temp_directory}, as much as may be "
            f"({_SPILLED} is {room.max_temp_directory_size}): raise that, {room.setting(_SPILLED, 'SIZE')}, free the disk, "
            f"{folder}, {memory}, {_LESS}"
        )
    size = f"memory_limit is {room.memory_limit}"
    if room.temp_directory:
        size += f"; what exceeds it spills to {room.temp_directory}, at most {room.max_temp_directory_size}"
    else:
        memory += f", let what exceeds it spill, {room.setting('temp_directory', 'FOLDER')}"
    return f"the memory is used up ({size}): {memory}, take fewer threads, {room.setting('threads', 1)}, {_LESS}"
