"""Consoles: nothing before the delay, nothing on standard output, hostile text as text."""

from __future__ import annotations

import io
import threading
import time

import pytest

from sqlrl.progress import Stage, at_work
from sqlrl.report import Console, PlainConsole, QuietConsole, RichConsole, console_for, track
from sqlrl.report import console as module


class Terminal(io.StringIO):
    """A stream that says it is a terminal, and notes when something is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.written.set()
        return super().write(text)


class Clock:
    """A clock that tests turn."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    # Lines come when the work reports: the thread that writes others waits by the clock of the machine.
    monkeypatch.setattr(module._PlainTask, "_start_showing", lambda task: None)
    return clock


def test_plain_progress_waits_then_paces_itself(clock: Clock) -> None:
    stream = io.StringIO()
    with PlainConsole(stream).progress("grounding", 10) as task:
        clock.now += 1.9
        task.advance()
        assert stream.getvalue() == ""
        clock.now += 0.2
        task.advance(2, note="shape 3")
        clock.now += 1.0
        task.advance()
        clock.now += 5.0
        task.advance()
    assert stream.getvalue().splitlines() == [
        "grounding: 3 of 10, 2.1 s; shape 3",
        "grounding: 5 of 10, 8.1 s",
        "grounding: 5 of 10, 8.1 s; done",
    ]


def test_short_work_shows_nothing(clock: Clock) -> None:
    for stream, console in ((plain := io.StringIO(), PlainConsole(plain)), (rich := Terminal(), RichConsole(rich))):
        assert list(track(console, range(5), "counting")) == [0, 1, 2, 3, 4]
        assert stream.getvalue() == ""


def test_an_error_ends_the_progress(clock: Clock) -> None:
    stream = io.StringIO()

    def fail() -> None:
        with PlainConsole(stream).progress("learning"):
            clock.now += 2.0
            raise KeyError("stop")

    with pytest.raises(KeyError):
        fail()
    assert stream.getvalue() == "learning: 2.0 s; stopped\n"


def test_a_bar_appears_during_one_long_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with RichConsole(stream, delay=0.0).progress("[red]loading", 3) as task:
        assert stream.written.wait(20)
        task.advance(note="[/] token")
    assert "[red]loading" in stream.getvalue()


@pytest.mark.parametrize("kind", [PlainConsole, RichConsole])
def test_the_delay_of_a_console_can_be_set_afterwards(kind: type[PlainConsole | RichConsole]) -> None:
    stream = Terminal()
    console = kind(stream, delay=3600)
    console.delay = 0
    with console.progress("loading", 3) as task:
        task.advance()
        assert stream.written.wait(5)


@pytest.mark.parametrize("kind", [PlainConsole, RichConsole])
def test_messages_are_text(kind: type[PlainConsole | RichConsole]) -> None:
    stream = io.StringIO()
    console: Console = kind(stream)
    console.message("[red]x[/] \x1b[2J :smile: " + "y" * 200)
    console.warning("two\nlines")
    assert stream.getvalue().splitlines() == [
        "[red]x[/] \\x1b[2J :smile: " + "y" * 200,
        "warning: two",
        "lines",
    ]


@pytest.mark.parametrize("make", [PlainConsole, RichConsole, QuietConsole])
def test_standard_output_stays_free(make: type[Console], capsys: pytest.CaptureFixture[str]) -> None:
    console = make()
    console.message("hello")
    console.warning("hello")
    with console.progress("work", 1) as task:
        task.advance()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert ("hello" in captured.err) == (make is not QuietConsole)


def test_the_stream_decides() -> None:
    assert isinstance(console_for(Terminal()), RichConsole)
    assert isinstance(console_for(io.StringIO()), PlainConsole)
    assert isinstance(console_for(Terminal(), quiet=True), QuietConsole)


def test_an_aside_goes_to_the_innermost_task(clock: Clock) -> None:
    stream, inner = io.StringIO(), io.StringIO()
    assert at_work() is None
    with PlainConsole(stream, delay=0).progress("outer") as outer:
        with PlainConsole(inner, delay=0).progress("inner") as task:
            assert at_work() is task
            task.aside("compiling")
            task.aside("")
        clock.now += 1
        assert at_work() is outer
        outer.aside("still compiling")
    assert at_work() is None
    assert inner.getvalue().splitlines() == ["inner: 0.0 s; compiling", "inner: 0.0 s; done"]
    assert stream.getvalue().splitlines() == ["outer: 1.0 s; still compiling", "outer: 1.0 s; done"]


@pytest.mark.parametrize("same", [True, False])
def test_a_task_inside_another_one_in_its_place_is_a_stage_of_it(clock: Clock, same: bool) -> None:
    stream = io.StringIO()
    console = PlainConsole(stream, delay=1, interval=1)
    other = console if same else PlainConsole(stream, delay=0)
    with console.progress("predicting") as outer:
        with other.progress("binding", 2) as inner:
            clock.now += 1
            inner.advance(note="Smokes")
            assert at_work() is outer
            clock.now += 6
        outer.advance(0, note="solving")
    with console.progress("binding"):
        clock.now += 1
    assert stream.getvalue().splitlines() == [
        "predicting: 1.0 s; binding: 1 of 2, Smokes",
        "predicting: 7.0 s; solving",
        "predicting: 7.0 s; done",
        "binding: 1.0 s; done",
    ]


def test_stages_show_where_they_are_the_outermost_first(clock: Clock) -> None:
    stream = io.StringIO()
    with PlainConsole(stream, delay=0, interval=0).progress("learning"):
        with Stage("weights") as weights, Stage("world"):
            with Stage("components", 3) as components, Stage("statement", brief=True):
                components.advance(note="large")
            weights.advance(7)
        with pytest.raises(KeyError), Stage("keeping"):
            raise KeyError
    assert stream.getvalue().splitlines() == [
        "learning: 0.0 s; weights",
        "learning: 0.0 s; weights; world",
        "learning: 0.0 s; weights; world; components: 0 of 3",
        "learning: 0.0 s; weights; world; components: 1 of 3, large; statement",
        "learning: 0.0 s; weights: 7; world",
        "learning: 0.0 s; keeping",
        "learning: 0.0 s; done",
    ]


def silent_work(stream: io.StringIO, error: type[BaseException] | None) -> None:
    """Work inside a stage that never reports, until two lines say so; then end it."""
    with PlainConsole(stream, delay=0.05, interval=0.05).progress("predicting"), Stage("CP-SAT", brief=True):
        while stream.getvalue().count("; CP-SAT") < 2:
            time.sleep(0.02)
        if error is not None:
            raise error


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_work_that_does_not_report_is_shown_by_a_timer_that_ends_with_it(error: type[BaseException] | None) -> None:
    stream = io.StringIO()
    if error is None:
        silent_work(stream, None)
    else:
        with pytest.raises(error):
            silent_work(stream, error)
    lines = stream.getvalue().splitlines()
    assert len(lines) >= 3
    assert all(line.startswith("predicting: ") and line.endswith(" s; CP-SAT") for line in lines[:-1])
    assert lines[-1].endswith("; done" if error is None else "; stopped")
    time.sleep(0.3)
    assert stream.getvalue().splitlines() == lines
    assert not [thread for thread in threading.enumerate() if thread.name == "sqlrl progress"]
    assert at_work() is None


def test_a_display_that_is_gone_stops_nothing() -> None:
    stream = io.StringIO()
    with PlainConsole(stream, delay=0, interval=0).progress("predicting", 2) as task:
        stream.close()
        task.advance()
        with Stage("grounding"):
            time.sleep(0.2)


def test_only_the_outer_bar_of_a_terminal_appears(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    stream = Terminal()
    console = RichConsole(stream, delay=0.0)
    with console.progress("predicting"), console.progress("binding") as inner:
        assert stream.written.wait(20)
        inner.advance(note="[red]Smokes")
        time.sleep(0.3)
    assert "predicting" in stream.getvalue()
    assert "binding: 1, [red]Smokes" in stream.getvalue()
    assert stream.getvalue().count("\x1b[?25l") == 1


def test_after_an_aside_a_bar_has_its_own_note_again() -> None:
    task = RichConsole(Terminal(), delay=60).progress("learning", 3)
    assert isinstance(task, module._RichTask)
    with task:
        task.advance(note="step 1")
        task.aside("compiling")
        assert task._doing() == "compiling"
        task.aside("")
        assert task._doing() == "step 1"
    task.__exit__(None, None, None)  # once more does no harm
    assert at_work() is None
