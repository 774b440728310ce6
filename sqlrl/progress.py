"""The tasks that show their progress now, and the stages of what they are at: whatever works inside a task says so, without a console.

What a user called is a *task*, which a console shows. What it consists of are *stages*: the room that does the work opens one, with the
number of its steps where it is known, and it is shown beside the task for as long as it is open. Where no task is at work
a stage costs next to nothing, and says nothing.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import TracebackType
from typing import ParamSpec, Protocol, Self, TypeVar

from sqlrl.errors import MemoryUsedUpError

Item = TypeVar("Item")
_Given = ParamSpec("_Given")


class Working(Protocol):
    """A task that shows its progress now."""

    @property
    def place(self) -> object:
        """Where it is shown: the stream that its console writes to."""
        ...

    @property
    def stages(self) -> list[Stage]:
        """The stages that are open in it, the innermost last."""
        ...

    def changed(self) -> None:
        """Note that a stage began or went on, which shows if it is time to."""
        ...

    def aside(self, note: str) -> None:
        """Show a note in place of the stages; an empty one gives them their place again."""
        ...


class Stage:
    """A stage of the task at work while the context is open, of `total` steps or an unknown number."""

    __slots__ = ("_begun", "_brief", "_done", "_even", "_note", "_share", "_task", "_total", "_what")

    def __init__(
        self,
        what: str,
        total: int | None = None,
        *,
        brief: bool = False,  # shown only once it lasts, as statements of SQL are, of which there are thousands
        even: bool = False,  # steps take about as long each, so that the remaining time is shown
        inside: Working | None = None,
    ) -> None:
        self._what, self._total, self._brief, self._even = what, total, brief, even
        self._task, self._begun = inside, 0.0
        self._done, self._note = 0, ""
        self._share: float | None = None

    def __enter__(self) -> Self:
        self._task = self._task or at_work()
        if self._task is not None:
            self._begun = time.monotonic()
            self._task.stages.append(self)
            if not self._brief:
                self._task.changed()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Those of other threads may be open, too: it need not be the last.
        if self._task is not None and self in self._task.stages:
            self._task.stages.remove(self)
        if isinstance(error, MemoryError):
            raise MemoryUsedUpError(self._what, str(error)) from error

    def advance(self, steps: int = 1, *, note: str = "", share: float | None = None) -> None:
        """Report that steps are done; `note` says what is at work now, `share` how much of all is done where steps do not tell."""
        self._done += steps
        self._note, self._share = note, share
        if self._task is not None:
            self._task.changed()

    def _left(self) -> str:
        """Say how long the rest will take, once a part of it has taken a while."""
        share = self._done / self._total if self._even and self._total else self._share
        if not share:
            return ""
        elapsed = time.monotonic() - self._begun
        return time_left(elapsed / share * (1 - share)) if elapsed >= 2 else ""

    def __str__(self) -> str:
        of = f" of {self._total:,}" if self._total is not None else ""
        steps = f"{self._done:,}{of}" if self._done or of else ""
        parts = ", ".join(part for part in (steps, self._left(), self._note) if part)
        return f"{self._what}: {parts}" if parts else self._what


@contextmanager
def enough_memory(what: str, size: Callable[[], str] = str) -> Iterator[None]:
    """Say, if memory is used up in this context, what was at work, and how much was expected (`size`), if that is known."""
    try:
        yield
    except MemoryError as error:
        raise MemoryUsedUpError(what, str(error), size()) from error
    except MemoryUsedUpError as error:
        if error.size or not (known := size()):
            raise
        raise MemoryUsedUpError(error.stage, error.reason, known) from error


def time_left(seconds: float) -> str:
    """Say how long something will take, roughly; nothing where that is soon."""
    if seconds < 10:
        return ""
    if seconds < 95:
        return f"about {round(seconds, -1):.0f} s left"
    return f"about {seconds / 60:.0f} min left" if seconds < 5400 else f"about {seconds / 3600:.1f} h left"


def at_stage(what: str) -> Callable[[Callable[_Given, Item]], Callable[_Given, Item]]:
    """Make each call of a function a stage."""

    def made(function: Callable[_Given, Item]) -> Callable[_Given, Item]:
        @wraps(function)
        def shown(*given: _Given.args, **named: _Given.kwargs) -> Item:
            with Stage(what):
                return function(*given, **named)

        return shown

    return made


def staged(what: str, items: Iterable[Item], total: int | None = None, *, even: bool = False) -> Iterator[Item]:
    """Yield the items, which are the steps of a stage; `total` is by default their number, if they are a collection."""
    if total is None and isinstance(items, Collection):
        total = len(items)
    with Stage(what, total, even=even) as stage:
        for item in items:
            yield item
            stage.advance()


class _Tasks(threading.local):
    """The tasks of a thread, the innermost last: what another thread does is no stage of them."""

    def __init__(self) -> None:
        self.all: list[Working] = []


_tasks = _Tasks()


def _forget() -> None:
    """Leave the tasks to the process that this one was forked from."""
    _tasks.all.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def doing(task: Working, description: str = "") -> str:
    """Return the stages of a task, the outermost first; a call that is at work for another of the same `description` says no more than that."""
    # Another thread may open and close some meanwhile.
    return "; ".join(text for text in map(str, tuple(task.stages)) if text != description)


def at_work() -> Working | None:
    """Return the innermost task of this thread that shows its progress now, on whatever console; None if there is none."""
    return _tasks.all[-1] if _tasks.all else None


def begin(task: Working) -> Working | None:
    """Note that a task shows its progress from now on; inside another one that is shown in the same place it does not: that is returned."""
    for other in _tasks.all:
        if other.place is task.place:
            return other
    _tasks.all.append(task)
    return None


def end(task: Working) -> None:
    """Note that a task is done, or does so no more."""
    if task in _tasks.all:
        _tasks.all.remove(task)
