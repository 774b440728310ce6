"""Ctrl-C at any moment of a process: a line and 130, no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sqlrl.cli.interrupts import INTERRUPTED
from tests.cli.conftest import EVIDENCE, SMOKERS

ROOT = Path(__file__).resolve().parent.parent.parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}

SCRIPT = "import sys; from sqlrl.cli import main; sys.exit(main())"
"""What installers write as the script `sqlrl`."""

HOOKED = f"""
import signal, sys

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            signal.raise_signal(signal.SIGINT)

wanted = sys.argv.pop(1)
sys.meta_path.insert(0, Press())
{SCRIPT}
"""
"""The same, where Ctrl-C is pressed when a module is looked for, also by the code of compiled libraries."""

LONG = ["--probabilities", "--method", "gibbs", "--samples", "1000000000", "--query", "Smokes,Cancer", "-q"]


@pytest.fixture
def inference(tmp_path: Path) -> list[str]:
    (tmp_path / "smokers.mln").write_text(SMOKERS)
    (tmp_path / "smokers.db").write_text(EVIDENCE)
    return ["infer", "--model", str(tmp_path / "smokers.mln"), "--evidence", str(tmp_path / "smokers.db")]


def started(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *command], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


IMPORTS = [
    ("typing", "; nothing was begun"),  # of the program itself
    # Which compiled libraries ask for: they make an ImportError of what is raised there.
    ("numba._devicearray", "\n"),
    ("ortools.util", "\n"),
]


@pytest.mark.slow
@pytest.mark.parametrize("imports", [IMPORTS[:1], IMPORTS[1:]], ids=["own", "compiled"])
def test_imports_end_before_the_command_does(inference: list[str], imports: list[tuple[str, str]]) -> None:
    running = [(started("-c", HOOKED, module, *inference, *LONG[-3:]), module, words) for module, words in imports]
    for process, module, words in running:
        out, err = process.communicate()
        assert (module, process.returncode, out) == (module, INTERRUPTED, "")
        assert err.startswith(f"error: interrupted{words}"), module
        assert len(err.splitlines()) == 1


@pytest.mark.slow
def test_the_first_seconds(inference: list[str]) -> None:
    for delay, command in ((0.05, ("-m", "sqlrl")), (0.2, ("-c", SCRIPT)), (0.9, ("-m", "sqlrl"))):
        process = started(*command, *inference, *LONG)
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate()
        finally:
            process.kill()
            process.wait()
        if process.returncode != INTERRUPTED and "in main" not in err:
            continue  # `main` was not reached: this is the start of Python itself, with a traceback of its own or killed
        assert process.returncode == INTERRUPTED, (delay, err)
        assert err.startswith("error: interrupted")
        assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        # Where Ctrl-C is ignored, as in the background of a script, it stays so.
        ("signal.signal(signal.SIGINT, signal.SIG_IGN); watch(); signal.raise_signal(signal.SIGINT); print(1)", "1"),
        # A callback of the garbage collector cannot raise; the run ends all the same.
        (
            (
                "watch()\n"
                "class Gone:\n"
                "    def __del__(self): signal.raise_signal(signal.SIGINT)\n"
                "try:\n"
                "    with AtWork(): Gone(); print(2, flush=True); time.sleep(60)\n"
                "except KeyboardInterrupt: print(3)"
            ),
            "2 3",
        ),
        # When only the end of the interpreter is left, the exit code is settled.
        (
            (
                "watch()\n"
                "class Last:\n"
                "    def __del__(self, press=signal.raise_signal, key=signal.SIGINT, write=os.write): press(key); write(1, b'4')\n"
                "last = Last()"
            ),
            "4",
        ),
    ],
    ids=["ignored", "garbage", "end"],
)
def test_other_moments(code: str, printed: str) -> None:
    process = started("-c", f"import os, signal, time\nfrom sqlrl.cli.interrupts import AtWork, watch\n{code}")
    out, err = process.communicate()
    assert (process.returncode, out.split(), err) == (0, printed.split(), "")
