"""The tasks that show their progress now, so that whatever they wait for can say so beside them, without a console of its own."""

from __future__ import annotations

import os
from typing import Protocol


class Working(Protocol):
    """A task that shows its progress now."""

    @property
    def console(self) -> object:
        """Where it is shown."""
        ...

    def aside(self, note: str) -> None:
        """Show a note in place of the task's own; an empty one gives that its place again."""
        ...


_tasks: list[Working] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_tasks.clear)


def at_work() -> Working | None:
    """Return the innermost task that shows its progress now, on whatever console; None if there is none.

    Examples
    --------
    >>> import sys
    >>> from sqlrl.report import PlainConsole
    >>> with PlainConsole(sys.stdout, delay=0).progress("predicting"):
    ...     at_work().aside("compiling")  # doctest: +ELLIPSIS
    predicting: ... s; compiling
    predicting: ... s; done
    >>> at_work() is None
    True
    """
    return _tasks[-1] if _tasks else None


def begin(task: Working) -> bool:
    """Note that a task shows its progress from now on; return False if it is inside another one of its console, and does not."""
    if any(other.console is task.console for other in _tasks):
        return False
    _tasks.append(task)
    return True


def end(task: Working) -> None:
    """Note that a task is done, or does so no more."""
    if task in _tasks:
        _tasks.remove(task)
