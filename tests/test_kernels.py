"""Kernels: people see why a first call takes long, and only then."""

from __future__ import annotations

import errno
import importlib.util
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest
from numba.core.caching import IndexDataCacheFile

import sqlrl.kernels
from sqlrl.errors import InputError, UnkeptCodeWarning
from sqlrl.kernels import COMPILING, inner, kernel

CALL = """
import sys
from sqlrl.report import PlainConsole
from sqlrl.solve.randomness import streams, unit
random = streams(0, 1)[0]
with PlainConsole(sys.stdout, delay=0, interval=0).progress("drawing"):
    print(0 <= unit(random) < 1)
"""


@pytest.mark.slow
def test_a_first_call_says_that_it_compiles_and_a_later_one_does_not(tmp_path: Path) -> None:
    kept = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, later = (
        subprocess.run([sys.executable, "-c", CALL], env=kept, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert COMPILING in first
    assert COMPILING not in later
    assert "True" in first
    assert "True" in later


def compiled(body: str, module: str | None) -> Any:
    """A function that is compiled when it is called, as if it were of a module."""
    names: dict[str, Any] = {"numba": numba, "__name__": module}
    exec(body, names)
    return names["outer"]


NESTED = """
@numba.njit
def inner(x):
    return x + 1
@numba.njit
def outer(x):
    return inner(x) + 1
"""


class Notes:
    """A task that keeps what is said beside it."""

    def __init__(self, error: type[Exception] | None = None) -> None:
        self.said: list[str] = []
        self.error = error

    def aside(self, note: str) -> None:
        self.said.append(note)
        if self.error:
            raise self.error("gone")


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> Notes:
    notes = Notes()
    monkeypatch.setattr(sqlrl.kernels, "at_work", lambda: notes)
    return notes


def test_the_note_goes_when_the_outermost_function_is_compiled(notes: Notes) -> None:
    assert compiled(NESTED, "sqlrl.made_up")(1) == 3
    assert notes.said == [COMPILING, COMPILING, ""]


def test_a_function_that_cannot_be_compiled_takes_its_note_away(notes: Notes) -> None:
    with pytest.raises(numba.TypingError):
        compiled(NESTED, "sqlrl.made_up")("text")
    assert notes.said[-1] == ""
    assert compiled(NESTED, "sqlrl.made_up")(1) == 3


@pytest.mark.parametrize("module", ["sqlrlike", None])
def test_functions_of_others_are_nothing_to_say(notes: Notes, module: str | None) -> None:
    assert compiled(NESTED, module)(1) == 3
    assert notes.said == []


def test_a_display_that_is_gone_stops_nothing(notes: Notes) -> None:
    notes.error = ValueError
    assert compiled(NESTED, "sqlrl.made_up")(1) == 3
    assert len(notes.said) == 3


INTERRUPTED = """
import os, signal, sys
from numba.core import event
from sqlrl.solve.randomness import streams, unit

class Interrupts(event.Listener):  # in the midst of it: what is kept is read, and code is made, under this lock
    sent = False
    def on_start(self, found):
        if not self.sent:
            self.sent = True
            os.kill(os.getpid(), signal.SIGINT)
    def on_end(self, found):
        pass

random, there = streams(0, 1)[0], Interrupts()
event.register("numba:compiler_lock", there)
try:
    unit(random)
    print("went on")
except KeyboardInterrupt:
    event.unregister("numba:compiler_lock", there)
    print("stopped", len(unit.signatures))
    print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, 0 <= unit(random) < 1)
"""


@pytest.mark.slow
def test_an_interrupt_waits_until_the_code_is_there(tmp_path: Path) -> None:
    kept = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for _ in range(2):  # made, and read
        ended = subprocess.run(
            [sys.executable, "-c", INTERRUPTED], env=kept, capture_output=True, text=True, check=True
        )
        assert ended.stdout.splitlines() == ["stopped 1", "True True"]
        assert ended.stderr == ""


@kernel
def _scaled(value: int, factor: int, halved: bool) -> int:
    return value * factor // 2 if halved else value * factor


@kernel
def _both(value: int, few: npt.NDArray[np.int32]) -> int:
    return _scaled(value, 3, True) + _scaled(value, value, False) + _scaled(few[0], factor=-1, halved=value > 0)


@inner
def _halved(value: int) -> int:
    return value // 2


def test_what_only_kernels_call_is_refused_to_python() -> None:
    def outer(value: int) -> int:
        return _halved(value) + 1

    assert numba.njit(outer)(6) == 4
    with pytest.raises(InputError, match=r"_halved has no code by which Python can call it: make it a `kernel`"):
        _halved(6)


SIGNATURES = """
import numpy as np
from tests.test_kernels import _both, _scaled
print(_both(4, np.array([5], dtype=np.int32)), _scaled.signatures)
"""


@pytest.mark.slow
def test_constants_and_short_integers_of_a_caller_make_no_machine_code_of_their_own(tmp_path: Path) -> None:
    kept = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", SIGNATURES], env=kept, cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{6 + 16 - 2 - 1} [(int64, int64, bool)]\n"


DOUBLED = "from sqlrl.kernels import kernel\n\n\n@kernel\ndef doubled(x):\n    return 2 * x\n"


def doubled(path: Path) -> Any:
    """The kernel of a file, as a new process has it."""
    spec = importlib.util.spec_from_file_location("kept", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.doubled


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module with a kernel, beside which code is kept."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(sqlrl.kernels, "_unkept", {})
    monkeypatch.setattr(sqlrl.kernels, "_said", [])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    # Python's own cache would take a source of the same second and size for the one before.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "package" / "kept.py"
    path.parent.mkdir()
    path.write_text(DOUBLED)
    return path


VERSION = pickle.dumps(numba.__version__, protocol=-1)


@pytest.mark.parametrize(
    ("ending", "content"),
    [
        ("nbi", VERSION + b"csqlrl.kernels\nGone\n."),  # a type that is gone, as pickle writes it
        ("nbi", VERSION),
        ("nbi", b""),
        ("nbi", b"\xff\x00 nothing"),
        ("nbi", VERSION + pickle.dumps(7)),
        ("nbi", VERSION + b"\x8c\x02\xff\xfe."),
        ("nbi", None),
        ("nbc", b""),
        ("nbc", b"csqlrl.kernels\nGone\n."),
        ("nbc", pickle.dumps(("too", "few"))),
        ("nbc", None),
    ],
)
def test_code_that_is_kept_and_cannot_be_read_is_made_again(source: Path, ending: str, content: bytes | None) -> None:
    assert doubled(source)(2) == 4
    (file,) = source.parent.glob(f"__pycache__/*.{ending}")
    if content is None:  # it cannot be opened
        file.unlink()
        (file / "in the way").mkdir(parents=True)
    else:
        file.write_bytes(content)
    with warnings.catch_warnings(record=True, action="always") as told:
        made = doubled(source)
        assert made(3) == 6
    assert not made.stats.cache_hits
    # What cannot be written is told, the rest is mended for the next one.
    assert [w.category for w in told] == [UnkeptCodeWarning] * (content is None)
    again = doubled(source)
    assert again(4) == 8
    assert bool(again.stats.cache_hits) == (content is not None)


def no_folder(source: Path) -> Any:
    """Neither the folder of the module nor that of the user takes files, which root could write where permissions forbid it."""
    (source.parent / "__pycache__").touch()
    (source.parents[1] / "home").touch()
    return doubled(source)


def gone_folder(source: Path) -> Any:
    """The folder is lost after it was found."""
    kernel_ = doubled(source)
    (source.parent / "__pycache__").rmdir()
    (source.parent / "__pycache__").touch()
    return kernel_


def full(source: Path, monkeypatch: pytest.MonkeyPatch, ending: str, number: int) -> Any:
    """The disk takes no file of an ending."""
    there = IndexDataCacheFile._open_for_write

    @contextmanager
    def refused(self: Any, path: str) -> Iterator[Any]:
        if path.endswith(ending):
            raise OSError(number, os.strerror(number), path)
        with there(self, path) as file:
            yield file

    monkeypatch.setattr(IndexDataCacheFile, "_open_for_write", refused)
    return doubled(source)


UNKEPT: list[tuple[Callable[[Path, pytest.MonkeyPatch], Any], str]] = [
    (lambda source, _: no_folder(source), r"neither .*package nor a folder of HOME can be written"),
    (lambda source, _: gone_folder(source), "__pycache__: File exists"),
    *(
        (partial(full, ending=ending, number=number), rf"__pycache__/.*\.{ending}: {os.strerror(number)}")
        for ending in ("nbi", "nbc")
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
    ),
]


@pytest.mark.parametrize(("hindrance", "reason"), UNKEPT)
def test_code_that_cannot_be_kept_works_and_is_told_once(
    source: Path, monkeypatch: pytest.MonkeyPatch, hindrance: Callable[..., Any], reason: str
) -> None:
    made = hindrance(source, monkeypatch)
    with pytest.warns(UnkeptCodeWarning, match=rf"not kept \(.*{reason}\).*NUMBA_CACHE_DIR") as told:
        assert made(2) == 4
    assert told[0].filename == __file__
    assert (made(2.5), doubled(source)(1)) == (5.0, 2)  # other signatures and kernels tell it no more


def test_code_of_an_older_source_is_not_taken_for_that_of_a_newer_one_that_found_no_room(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert doubled(source)(2) == 4
    source.write_text(DOUBLED.replace("2 * x", "3 * x"))
    with monkeypatch.context() as when, pytest.warns(UnkeptCodeWarning):
        assert full(source, when, "nbc", errno.ENOSPC)(2) == 6
    assert doubled(source)(2) == 6


def test_that_nothing_may_be_compiled_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    with pytest.raises(InputError, match="NUMBA_DISABLE_JIT is set"):
        kernel(_scaled.py_func)
