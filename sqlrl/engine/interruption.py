"""Ctrl-C while DuckDB works.

DuckDB 2.0 with several threads can wait for its workers without looking at signals, so that Ctrl-C came after minutes
or never. Python's handler of a signal runs only between two instructions of the main thread; the byte that it writes to
the wake-up file is written at once, and a thread that waits for it can interrupt the query.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import duckdb

logger = logging.getLogger(__name__)


def heed(error: BaseException) -> None:
    """Raise KeyboardInterrupt if an error of DuckDB says that Ctrl-C ended a statement: it has three kinds of those."""
    noticed = isinstance(error, RuntimeError) and not isinstance(error, duckdb.Error) and "interrupted" in str(error)
    # What DuckDB reads of Python while it is interrupted says so in its own words.
    if noticed or isinstance(error, duckdb.InterruptException) or "KeyboardInterrupt" in str(error):
        raise KeyboardInterrupt from error


PATIENCE = 1.0
"""Seconds to wait for the watcher to have read what arrived."""


class _Watcher:
    # One thread for the whole process: to start one for each query would cost as much as a small query.

    def __init__(self) -> None:
        self.process = os.getpid()
        self.receiver, self.sender = socket.socketpair()
        self.sender.setblocking(False)
        self.lock = threading.Lock()
        self.stop: Callable[[], None] | None = None
        self.settled = threading.Event()
        threading.Thread(target=self._watch, name="sqlrl-interrupt", daemon=True).start()

    def _watch(self) -> None:
        while arrived := self.receiver.recv(64):
            with self.lock:
                if signal.SIGINT in arrived and self.stop is not None:
                    try:
                        self.stop()
                    except Exception:
                        # A connection may be closed by now; without this thread no later query would stop.
                        logger.debug("a query could not be interrupted", exc_info=True)
            if 0 in arrived:
                self.settled.set()

    def settle(self) -> None:
        """Wait until all bytes are read, so that a late one does not stop the next query."""
        self.settled.clear()
        self.sender.send(b"\0")
        self.settled.wait(PATIENCE)


_watchers: list[_Watcher] = []


def _watcher() -> _Watcher:
    # The watcher of this process: a fork has a copy of its parent's, but not its thread.
    if not _watchers or _watchers[-1].process != os.getpid():
        _watchers[:] = [_Watcher()]
    return _watchers[-1]


@contextmanager
def on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop`, which lets the main thread return from a wait, in another thread on Ctrl-C; KeyboardInterrupt follows."""
    # The main thread alone gets KeyboardInterrupt.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    watcher = _watcher()
    with watcher.lock:
        outer, watcher.stop = watcher.stop, stop
    before = signal.set_wakeup_fd(watcher.sender.fileno(), warn_on_full_buffer=False)
    failed = True
    try:
        yield
        failed = False
    finally:
        signal.set_wakeup_fd(before)
        with watcher.lock:
            watcher.stop = outer
        if failed:  # perhaps DuckDB saw the signal itself, before the watcher did
            watcher.settle()
