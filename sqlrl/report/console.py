"""Progress and messages for people, on standard error: drawn by rich, as plain lines, as a text below a cell that is updated, or not at all.

Progress shows only once something has taken longer than two seconds, and then without being asked: a timer draws what is at work while a
solver or one statement of SQL takes its time.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TextIO, TypeVar

from sqlrl.markup import visible, visible_lines
from sqlrl.progress import Stage, begin, doing, end

if TYPE_CHECKING:
    from rich.console import Console as Terminal
    from rich.progress import Progress as RichBars
    from rich.progress import ProgressColumn

Item = TypeVar("Item")

_DELAY = 2.0
_INTERVAL = 5.0
_UPDATE = 0.5
"""Seconds between two texts in a notebook."""

_LEAST = 0.1
"""Seconds that the timer of plain lines waits at least, however often lines are wanted."""


class Progress(Protocol):
    """One task that advances; a context manager around the work."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def advance(self, steps: int = 1, *, note: str = "") -> None:
        """Report that steps are done; `note` says what is at work now."""
        ...


class Console(Protocol):
    """Where messages and progress go."""

    def message(self, text: str) -> None:
        """Show one line."""
        ...

    def warning(self, text: str) -> None:
        """Show a text that asks for attention; its lines stay lines."""
        ...

    def progress(self, description: str, total: int | None = None) -> Progress:
        """Return a task of `total` steps, or of an unknown number; inside another one on the same stream it is a stage of that."""
        ...


def track(console: Console, items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items, and show on a console how many are done; `total` is by default their length, if they have one.

    Examples
    --------
    >>> list(track(QuietConsole(), "ab", "letters"))
    ['a', 'b']
    """
    if total is None and isinstance(items, Sized):
        total = len(items)
    with console.progress(description, total) as task:
        for item in items:
            yield item
            task.advance()


class _Silent:
    """Progress that shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def advance(self, steps: int = 1, *, note: str = "") -> None:
        """Do nothing."""


class QuietConsole:
    """Shows nothing: the console of a library call."""

    def message(self, text: str) -> None:
        """Show nothing."""

    def warning(self, text: str) -> None:
        """Show nothing."""

    def progress(self, description: str, total: int | None = None) -> Progress:
        """Return progress that shows nothing."""
        return _Silent()


class _Shown:
    """A task that a console shows; inside another task shown in the same place it is a stage of that one."""

    def __init__(self, place: object, description: str, total: int | None) -> None:
        self.place, self.stages = place, list[Stage]()
        self._description, self._total = description, total
        self._done, self._note, self._aside = 0, "", ""
        self._inner: Stage | None = None

    def __enter__(self) -> Self:
        # The task that the user started stays shown until it ends, whatever tasks it starts.
        outer = begin(self)
        if outer is None:
            try:
                self._start_showing()
            except BaseException:
                end(self)
                raise
        else:
            self._inner = Stage(self._description, self._total, even=True, inside=outer).__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end(self)
        if self._inner is None:
            self._stop_showing(finished=kind is None)
        else:
            self._inner.__exit__(kind, error, trace)

    def advance(self, steps: int = 1, *, note: str = "") -> None:
        """Count the steps."""
        self._done, self._note = self._done + steps, note
        if self._inner is not None:
            self._inner.advance(steps, note=note)
        else:
            self.changed()

    def aside(self, note: str) -> None:
        """Show a note in place of the stages; an empty one gives them their place again."""
        self._aside = note
        if note and self._inner is None:
            self.changed()

    def changed(self) -> None:
        """Note that what is shown is another thing now."""

    def _doing(self) -> str:
        """Return what is at work beside the task's name and number of steps."""
        if self._aside:
            return visible(self._aside)
        return visible("; ".join(part for part in (self._note, doing(self, self._description)) if part))

    def _start_showing(self) -> None:
        raise NotImplementedError

    def _stop_showing(self, *, finished: bool) -> None:
        raise NotImplementedError


class _PlainTask(_Shown):
    """Progress as lines: the first after a delay, then one every few seconds, whether the work reports or not, and one at the end."""

    def __init__(self, stream: TextIO, description: str, total: int | None, delay: float, interval: float) -> None:
        super().__init__(stream, visible(description), total)
        self._stream, self._interval = stream, interval
        self._start = time.monotonic()
        self._due = self._start + delay
        self._written = False
        self._lock, self._over = threading.Lock(), threading.Event()

    def changed(self) -> None:
        """Write a line if one is due."""
        if time.monotonic() >= self._due:
            self._write()

    def _start_showing(self) -> None:
        # Where no thread can be started, at the end of the interpreter, lines come when the work reports.
        with suppress(RuntimeError):
            threading.Thread(target=self._tick, name="sqlrl progress", daemon=True).start()

    def _stop_showing(self, *, finished: bool) -> None:
        self._over.set()
        if self._written or time.monotonic() >= self._due:
            self._write("done" if finished else "stopped")

    def _tick(self) -> None:
        """Write a line whenever one is due, until the task is over."""
        while not self._over.wait(max(self._due - time.monotonic(), _LEAST)):
            if time.monotonic() >= self._due:
                self._write()

    def _write(self, last: str = "") -> None:
        """Write one line; after the last one there is none."""
        # A display that is gone, such as a closed file, is no reason for a computation to fail.
        with self._lock, suppress(OSError, ValueError):
            if self._over.is_set() and not last:
                return
            now = time.monotonic()
            of_total = f" of {self._total:,}" if self._total is not None else ""
            # One long step of which nobody counts the parts has no number to show.
            steps = f"{self._done:,}{of_total}, " if self._done or of_total else ""
            doing = last or self._doing()
            after = f"; {doing}" if doing else ""
            self._written, self._due = True, now + self._interval
            self._show(f"{self._description}: {steps}{now - self._start:.1f} s{after}")

    def _show(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


class PlainConsole:
    """Writes plain lines: the console of a log file or a pipe.

    `stream` is standard error by default; `delay` are the seconds before progress shows, `interval` those between two lines of
    one task.
    """

    def __init__(self, stream: TextIO | None = None, *, delay: float = _DELAY, interval: float = _INTERVAL) -> None:
        self._stream, self.delay, self._interval = stream, delay, interval

    def message(self, text: str) -> None:
        """Write one line."""
        self._write(visible(text))

    def warning(self, text: str) -> None:
        """Write a text that starts with `warning:`."""
        self._write(f"warning: {visible_lines(text)}")

    def progress(self, description: str, total: int | None = None) -> Progress:
        """Return progress that writes lines."""
        return _PlainTask(self._stream or sys.stderr, description, total, self.delay, self._interval)

    def _write(self, text: str) -> None:
        """Write lines; that nobody reads them any more (`2>&1 | head`) is no reason for a computation to fail."""
        with suppress(BrokenPipeError):
            print(text, file=self._stream or sys.stderr, flush=True)


class _RichTask(_Shown):
    """A bar that a timer starts, so that it appears even while one long step is at work; it is drawn anew several times a second."""

    def __init__(self, place: object, terminal: Terminal, description: str, total: int | None, delay: float) -> None:
        super().__init__(place, description, total)
        self._bars = _bars(terminal, self._doing, counted=total is not None)
        self._task = self._bars.add_task(_plain(description), total=total)
        self._lock, self._over, self._moved = threading.Lock(), False, 0
        self._timer = threading.Timer(delay, self._appear)
        self._timer.daemon = True

    def changed(self) -> None:
        """Move the bar; what is at work is looked at when the bar is drawn."""
        if self._done != self._moved:
            self._moved = self._done
            self._bars.update(self._task, completed=self._done)

    def _appear(self) -> None:
        """Draw the bar, unless the work ended in the meantime."""
        with self._lock:
            if not self._over:
                self._bars.start()

    def _start_showing(self) -> None:
        self._timer.start()

    def _stop_showing(self, *, finished: bool) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
            self._bars.stop()


def _bars(terminal: Terminal, shown: Callable[[], str], *, counted: bool) -> RichBars:
    """Return rich's bars: a spinner, what is done, how much of it, how long, and what is at work at the moment that it is drawn."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import Progress as RichBars
    from rich.progress import Task as RichTask
    from rich.text import Text

    class Doing(ProgressColumn):
        """What is at work, as text in which nothing is markup."""

        def render(self, task: RichTask) -> Text:
            """Return it."""
            return Text(shown(), overflow="ellipsis", no_wrap=True)

    steps = (BarColumn(), MofNCompleteColumn()) if counted else ()
    columns: tuple[ProgressColumn, ...] = (
        SpinnerColumn(), TextColumn("{task.description}"), *steps, TimeElapsedColumn(), Doing(),
    )  # fmt: skip
    return RichBars(*columns, console=terminal, transient=True)


class RichConsole:
    """Draws bars and colours with rich: the console of a terminal.

    `stream` is standard error by default; `delay` are the seconds before progress shows.
    """

    def __init__(self, stream: TextIO | None = None, *, delay: float = _DELAY) -> None:
        from rich.console import Console as Terminal

        self._terminal = Terminal(file=stream, stderr=stream is None, highlight=False)
        self._place, self.delay = stream or sys.stderr, delay

    def message(self, text: str) -> None:
        """Show one line; marks like `[red]` in it are shown as they are."""
        self._terminal.print(visible(text), markup=False, emoji=False, soft_wrap=True)

    def warning(self, text: str) -> None:
        """Show a text in yellow."""
        shown = f"warning: {visible_lines(text)}"
        self._terminal.print(shown, style="yellow", markup=False, emoji=False, soft_wrap=True)

    def progress(self, description: str, total: int | None = None) -> Progress:
        """Return a bar, or a spinner if the total is unknown; it vanishes when the work is done."""
        return _RichTask(self._place, self._terminal, description, total, self.delay)


def _plain(text: str) -> str:
    """Return a text in which rich sees no markup."""
    from rich.markup import escape

    return escape(visible(text))


class _Displays:
    """The texts of one cell of a notebook that can be updated: a task takes one that no other is at, so that a cell has one text, not one of each call."""

    def __init__(self, shell: Any) -> None:
        self._shell, self._lock = shell, threading.Lock()
        self._cell, self._free = 0, list[Any]()

    def take(self) -> Any:
        """Return what updates a text, a new one if all of the cell are in use."""
        from IPython.display import display

        with self._lock:
            if self._cell != self._shell.execution_count:
                self._cell, self._free = self._shell.execution_count, []
            if self._free:
                return self._free.pop()
        return display(_as_text(""), raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def give_back(self, handle: Any) -> None:
        """Leave a text to the next task of the cell, unless another cell is at work by now."""
        with self._lock:
            if self._cell == self._shell.execution_count:
                self._free.append(handle)


def _as_text(text: str) -> dict[str, str]:
    """Return what a notebook shows as text; it needs no widget for that."""
    return {"text/plain": text}


class _NotebookTask(_PlainTask):
    """Progress as one text below a cell, which is updated in place."""

    def __init__(self, displays: _Displays, place: object, description: str, total: int | None, delay: float) -> None:
        super().__init__(sys.stderr, description, total, delay, _UPDATE)
        self.place, self._displays = place, displays
        self._handle: Any = None

    def _show(self, line: str) -> None:
        if self._handle is None:
            self._handle = self._displays.take()
        self._handle.update(_as_text(line), raw=True)

    def _stop_showing(self, *, finished: bool) -> None:
        super()._stop_showing(finished=finished)
        if self._handle is not None:
            self._displays.give_back(self._handle)


class NotebookConsole(PlainConsole):
    """Updates one text below the cell of a notebook, which needs no widgets; messages are lines on standard error.

    `shell` is that of the kernel, `delay` are the seconds before progress shows.
    """

    def __init__(self, shell: Any, *, delay: float = _DELAY) -> None:
        super().__init__(delay=delay)
        self._shell, self._displays = shell, _Displays(shell)

    def progress(self, description: str, total: int | None = None) -> Progress:
        """Return progress that updates a text."""
        return _NotebookTask(self._displays, self._shell, description, total, self.delay)


def notebook() -> Any:
    """Return the shell of the kernel of a notebook in which this process is, None if it is in none."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return shell if hasattr(shell, "kernel") else None


def console_for(stream: TextIO | None = None, *, quiet: bool = False) -> Console:
    """Return the console that suits a stream: rich on a terminal, plain lines elsewhere. By default it is standard error, or in a notebook a text
    that is updated.

    With `quiet`, it is a console that shows nothing.

    Examples
    --------
    >>> type(console_for(quiet=True)).__name__
    'QuietConsole'
    """
    if quiet:
        return QuietConsole()
    if stream is None and (shell := notebook()) is not None:
        return NotebookConsole(shell)
    target = stream or sys.stderr
    return RichConsole(stream) if target.isatty() else PlainConsole(stream)
