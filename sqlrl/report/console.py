"""Progress and messages for people, on standard error: drawn by rich, as plain lines, or not at all.

Progress shows only once something has taken longer than a second.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TextIO, TypeVar

from sqlrl.markup import visible, visible_lines
from sqlrl.progress import at_work, begin, end

if TYPE_CHECKING:
    from rich.progress import Progress as RichBars

Item = TypeVar("Item")

_DELAY = 1.0
_INTERVAL = 5.0


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
        """Return a task of `total` steps, or of an unknown number; inside another one of the same console it shows nothing."""
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


@contextmanager
def announced(console: Console, description: str) -> Iterator[None]:
    """Show what is at work: as a note beside a task that shows its progress, on whatever console, else as a task of its own.

    Examples
    --------
    >>> console = PlainConsole(sys.stdout, delay=0)
    >>> with announced(console, "keeping the model"):  # doctest: +ELLIPSIS
    ...     pass
    keeping the model: ... s; done
    >>> with console.progress("learning"), announced(QuietConsole(), "keeping the model"):  # doctest: +ELLIPSIS
    ...     pass
    learning: ... s; keeping the model
    learning: ... s; done
    """
    task = at_work()
    if task is None:
        with console.progress(description):
            yield
        return
    task.aside(description)
    try:
        yield
    finally:
        task.aside("")


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
    """Keeps the list of tasks at work.

    A task inside another one of its console shows nothing: what a user called is at work until it is done, whatever it calls.
    """

    def __init__(self, console: Console) -> None:
        self.console, self._inner = console, False

    def aside(self, note: str) -> None:
        """Show nothing yet."""

    def __enter__(self) -> Self:
        self._inner = not begin(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end(self)


class _PlainTask(_Shown):
    """Progress as lines: the first after a delay, then one every few seconds, and one at the end."""

    def __init__(
        self, console: Console, stream: TextIO, description: str, total: int | None, delay: float, interval: float
    ) -> None:
        super().__init__(console)
        self._stream, self._description, self._total = stream, visible(description), total
        self._interval = interval
        self._start = time.monotonic()
        self._due = self._start + delay
        self._done, self._shown = 0, False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if self._shown or time.monotonic() >= self._due:
            self._write("done" if kind is None else "stopped")

    def advance(self, steps: int = 1, *, note: str = "") -> None:
        """Count the steps, and write a line if one is due."""
        self._done += steps
        if time.monotonic() >= self._due:
            self._write(visible(note))

    def aside(self, note: str) -> None:
        """Write a line if one is due; lines stay, so that there is nothing to take away."""
        if note:
            self.advance(0, note=note)

    def _write(self, note: str) -> None:
        """Write one line."""
        if self._inner:
            return
        now = time.monotonic()
        of_total = f" of {self._total:,}" if self._total is not None else ""
        # One long step of which nobody counts the parts has no number to show.
        steps = f"{self._done:,}{of_total}, " if self._done or of_total else ""
        after = f"; {note}" if note else ""
        print(f"{self._description}: {steps}{now - self._start:.1f} s{after}", file=self._stream, flush=True)
        self._shown, self._due = True, now + self._interval


class PlainConsole:
    """Writes plain lines: the console of a log file or a pipe.

    `stream` is standard error by default; `delay` are the seconds before progress shows, `interval` those between two lines of
    one task.
    """

    def __init__(self, stream: TextIO | None = None, *, delay: float = _DELAY, interval: float = _INTERVAL) -> None:
        self._stream, self._delay, self._interval = stream, delay, interval

    def message(self, text: str) -> None:
        """Write one line."""
        print(visible(text), file=self._stream or sys.stderr, flush=True)

    def warning(self, text: str) -> None:
        """Write a text that starts with `warning:`."""
        print(f"warning: {visible_lines(text)}", file=self._stream or sys.stderr, flush=True)

    def progress(self, description: str, total: int | None = None) -> Progress:
        """Return progress that writes lines."""
        return _PlainTask(self, self._stream or sys.stderr, description, total, self._delay, self._interval)


class _RichTask(_Shown):
    """A bar that a timer starts, so that it appears even while one long step is at work."""

    def __init__(self, console: Console, bars: RichBars, description: str, total: int | None, delay: float) -> None:
        super().__init__(console)
        self._bars = bars
        self._task = bars.add_task(_plain(description), total=total, note="")
        self._lock = threading.Lock()
        self._over, self._note = False, ""
        self._timer = threading.Timer(delay, self._appear)
        self._timer.daemon = True

    def _appear(self) -> None:
        """Draw the bar, unless the work ended in the meantime."""
        with self._lock:
            if not self._over:
                self._bars.start()

    def __enter__(self) -> Self:
        super().__enter__()
        if not self._inner:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
            if not self._inner:
                self._bars.stop()
        super().__exit__(kind, error, trace)

    def advance(self, steps: int = 1, *, note: str = "") -> None:
        """Move the bar."""
        self._note = note
        self._bars.update(self._task, advance=steps, note=_plain(note))

    def aside(self, note: str) -> None:
        """Show the note beside the bar."""
        self._bars.update(self._task, note=_plain(note or self._note))


class RichConsole:
    """Draws bars and colours with rich: the console of a terminal.

    `stream` is standard error by default; `delay` are the seconds before progress shows.
    """

    def __init__(self, stream: TextIO | None = None, *, delay: float = _DELAY) -> None:
        from rich.console import Console as Terminal

        self._terminal = Terminal(file=stream, stderr=stream is None, highlight=False)
        self._delay = delay

    def message(self, text: str) -> None:
        """Show one line; marks like `[red]` in it are shown as they are."""
        self._terminal.print(visible(text), markup=False, emoji=False, soft_wrap=True)

    def warning(self, text: str) -> None:
        """Show a text in yellow."""
        shown = f"warning: {visible_lines(text)}"
        self._terminal.print(shown, style="yellow", markup=False, emoji=False, soft_wrap=True)

    def progress(self, description: str, total: int | None = None) -> Progress:
        """Return a bar, or a spinner if the total is unknown; it vanishes when the work is done."""
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichBars

        steps = (BarColumn(), MofNCompleteColumn()) if total is not None else ()
        bars = RichBars(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            *steps,
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=self._terminal,
            transient=True,
        )
        return _RichTask(self, bars, description, total, self._delay)


def _plain(text: str) -> str:
    """Return a text in which rich sees no markup."""
    from rich.markup import escape

    return escape(visible(text))


def console_for(stream: TextIO | None = None, *, quiet: bool = False) -> Console:
    """Return the console that suits a stream (standard error by default): rich on a terminal, plain lines elsewhere.

    With `quiet`, it is a console that shows nothing.

    Examples
    --------
    >>> type(console_for(quiet=True)).__name__
    'QuietConsole'
    """
    if quiet:
        return QuietConsole()
    target = stream or sys.stderr
    return RichConsole(stream) if target.isatty() else PlainConsole(stream)
