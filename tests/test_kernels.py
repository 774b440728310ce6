"""Kernels: people see why a first call takes long, and only then."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from sqlrl.kernels import COMPILING

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
