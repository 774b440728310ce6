"""Calls of outside solvers that Ctrl-C can leave."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def in_background(work: Callable[[], T], stop: Callable[[], object] | None = None) -> T:
    """Run a long call that releases Python's lock in a thread of its own, so that Ctrl-C reaches this one.

    Parameters
    ----------
    work : callable
        A call into a solver's own code.
    stop : callable, optional
        Asks the solver to stop; called when this thread is interrupted.

    Returns
    -------
    object
        What `work` returned; what it raised is raised here.

    Raises
    ------
    KeyboardInterrupt
        As soon as the solver has stopped; at once if it cannot. Then it ends by itself, and the process, if it is to
        end, waits for it: solvers have threads of their own, which must not outlive what they work on.

    Examples
    --------
    >>> in_background(lambda: 6 * 7)
    42
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        """Work, and keep what comes of it."""
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        if stop is not None:
            stop()
            thread.join()
        raise
    if errors:
        raise errors[0]
    return results[0]
