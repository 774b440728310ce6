"""Whose turn it is: one thread at a time works on a connection, and another one is told so instead of breaking what is under way."""

from __future__ import annotations

import threading
import weakref

import duckdb

from sqlrl.errors import BusyError


class Turn:
    """A reentrant context that one thread at a time is in; another thread that enters it meanwhile is refused."""

    def __init__(self, path: str) -> None:
        self._path = path  # what the message calls the database
        self._lock = threading.Lock()
        self._owner: threading.Thread | None = None
        self._depth = 0

    def __enter__(self) -> None:
        me = threading.current_thread()
        with self._lock:
            # A thread that has ended without leaving is in it no more.
            if self._owner is not None and self._owner is not me and self._owner.is_alive():
                raise busy(self._path)
            if self._owner is not me:
                self._owner, self._depth = me, 0
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            # A generator that a thread has left behind may be closed by another one.
            if self._owner is threading.current_thread():
                self._depth -= 1
                self._owner = self._owner if self._depth else None


_turns: weakref.WeakKeyDictionary[duckdb.DuckDBPyConnection, Turn] = weakref.WeakKeyDictionary()


def turn_of(connection: duckdb.DuckDBPyConnection, path: str) -> Turn:
    """Return the turn of a connection, which all have in common that work on it."""
    return _turns.setdefault(connection, Turn(path))


def busy(path: str) -> BusyError:
    """Return the error for a call while another thread works on the same connection."""
    return BusyError(
        f"{path} is at work in another thread, and a Database serves one at a time: give each thread one of its own, db.cursor(), on "
        "the same data."
    )


def is_busy(error: Exception) -> bool:
    """Return True if DuckDB refuses a statement because another thread runs one on the same connection."""
    return isinstance(error, duckdb.ResourceInUseException) and "connection is busy with another call" in str(error)
