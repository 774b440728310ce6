"""Which runs are at work in this process, and what became of those of a process that was killed.

One process alone can hold a file for writing. So a run that is recorded as running, and is not one of this process, has ended:
whatever ran it could not say so. Other connections of this process may be in the middle of a run; theirs are listed here.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from sqlglot import exp

from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column

logger = logging.getLogger(__name__)

RUNNING, INTERRUPTED = "running", "interrupted"

_File = tuple[int, int] | None
_live: set[tuple[_File, int]] = set()
if hasattr(os, "register_at_fork"):
    # A forked process does not go on with the runs of its parent.
    os.register_at_fork(after_in_child=_live.clear)


class LiveRuns:
    """The runs of a database that this process has begun and not ended, through whatever connection.

    Parameters
    ----------
    store : Store
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        path = _path(store)
        self._in_memory = path is None
        self._file = None if path is None else _identity(path)

    def add(self, run: int) -> None:
        """Note that a run is at work; before that is recorded, since other connections look at the record first."""
        if not self._in_memory:
            _live.add((self._file, run))

    def discard(self, run: int) -> None:
        """Note that a run has ended."""
        _live.discard((self._file, run))

    def end_others(self) -> list[int]:
        """Record that runs of processes that were killed are interrupted; return their numbers.

        In memory there are none: it ends with its process.
        """
        if self._in_memory or self._file is None or not self._store.engine.writable:
            return []
        running = column("status").eq(exp.convert(RUNNING))
        query = exp.select(column("run")).from_(self._store.table("run")).where(running).order_by(column("run"))
        recorded = [int(row["run"]) for row in self._store.rows(query, "look for runs that were killed")]
        # A run of a file that could not be told from others may be one of this file.
        found = [run for run in recorded if not {(self._file, run), (None, run)} & _live]
        if found:
            mine = exp.In(this=column("run"), expressions=[exp.convert(run) for run in found])
            statement = exp.Update(
                this=self._store.table("run"),
                expressions=[column("status").eq(exp.convert(INTERRUPTED))],
                where=exp.Where(this=exp.and_(running.copy(), mine)),
            )
            self._store.engine.execute(statement, step="record the end of runs that were killed")
            logger.info("%s: runs %s were killed and are interrupted", self._store.engine.path, found)
        return found


def _path(store: Store) -> str | None:
    """Return the path of the file that holds sqlrl's tables, None if they are in memory."""
    listed = exp.select(column("path")).from_(exp.Anonymous(this="duckdb_databases"))
    query = listed.where(column("database_name").eq(exp.convert(store.catalog)))
    rows = store.rows(query, "look for the file of the database")
    return rows[0]["path"] or None if rows else None


def _identity(path: str) -> _File:
    """Return what is the same for all names of a file; None if it cannot be found, as after a change of directory."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
