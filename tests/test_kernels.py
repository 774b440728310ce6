"""Kernels: people see why a first call takes long, and only then."""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest

import sqlrl.kernels
from sqlrl.kernels import COMPILING, kernel

CALL = """
import sys
from sqlrl.report import PlainConsole
from sqlrl.solve.randomness import streams, unit
random = streams(0, 1)[0]
with PlainConsole(sys.stdout, delay=0, interval=0).progress("drawing"):
    print(0 <= unit(random) < 1)
"""


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


SIGNATURES = """
import numpy as np
from tests.test_kernels import _both, _scaled
print(_both(4, np.array([5], dtype=np.int32)), _scaled.signatures)
"""


def test_constants_and_short_integers_of_a_caller_make_no_machine_code_of_their_own(tmp_path: Path) -> None:
    kept = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", SIGNATURES], env=kept, cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{6 + 16 - 2 - 1} [(int64, int64, bool)]\n"


def test_what_an_earlier_version_kept_is_forgiven(tmp_path: Path) -> None:
    path = tmp_path / "kept.py"
    path.write_text("from sqlrl.kernels import kernel\n\n\n@kernel\ndef doubled(x):\n    return 2 * x\n")

    def fresh() -> Any:
        spec = importlib.util.spec_from_file_location("kept", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.doubled

    assert fresh()(2) == 4
    (index,) = (tmp_path / "__pycache__").glob("*.nbi")
    # A type that is gone, as pickle writes it.
    index.write_bytes(pickle.dumps(numba.__version__, protocol=-1) + b"csqlrl.kernels\nGone\n.")
    doubled = fresh()
    assert doubled(3) == 6
    assert not doubled.stats.cache_hits
    again = fresh()
    assert again(4) == 8
    assert again.stats.cache_hits
