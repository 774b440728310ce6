"""Ctrl-C while DuckDB works.

DuckDB 2.0 with several threads can wait for its workers without looking at signals, so that Ctrl-C came after minutes
or never. Python's handler of a signal runs only between two instructions of the main thread; the byte that it writes to
the wake-up file is written at once, and a thread that waits for it can interrupt the query.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext


@contextmanager
def on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """Call a function in another thread as soon as Ctrl-C is pressed; KeyboardInterrupt follows in the main thread.

    Parameters
    ----------
    stop : callable
        Lets the main thread return from what it waits for.
    """
    with interruptible(stop) as watched, watched():
        yield


@contextmanager
def interruptible(stop: Callable[[], None]) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Give what makes contexts like those of `on_interrupt`, for work in many short pieces: one thread serves them all.

    Parameters
    ----------
    stop : callable
        Lets the main thread return from what it waits for.
    """
    if threading.current_thread() is not threading.main_thread():
        yield nullcontext
        return
    receiver, sender = socket.socketpair()
    sender.setblocking(False)

    def watch() -> None:
        """Wait for the bytes of signals, until the other end is closed."""
        while arrived := receiver.recv(64):
            if signal.SIGINT in arrived:
                stop()

    @contextmanager
    def watched() -> Iterator[None]:
        before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)

    watcher = threading.Thread(target=watch, name="sqlrl-interrupt", daemon=True)
    watcher.start()
    try:
        yield watched
    finally:
        sender.close()
        watcher.join()
        receiver.close()
