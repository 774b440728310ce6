"""The command line as a process: exit codes, Ctrl-C, closed pipes, a fast start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.cli.conftest import Project

ROOT = Path(__file__).resolve().parent.parent.parent
COMMAND = [sys.executable, "-m", "sqlrl"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def start(*arguments: str | Path) -> subprocess.Popen[str]:
    """Start a command with pipes."""
    pipe = subprocess.PIPE
    return subprocess.Popen([*COMMAND, *map(str, arguments)], env=ENVIRONMENT, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.slow
def test_exit_codes_and_streams(project: Project) -> None:
    wrong = start("sql", project / "absent.duckdb", "select 1")
    out, err = wrong.communicate()
    assert (wrong.returncode, out) == (1, "")
    assert err.startswith("error: ")
    assert "Traceback" not in err


@pytest.mark.slow
def test_ctrl_c_ends_with_130_and_leaves_the_database_whole(project: Project) -> None:
    """A process that starts, works, and is stopped: more than a second."""
    slow = "create table half as select max(a.range) as n from range(1000000000000) a where a.range % 7 = 1"
    working = start("sql", project / "cite.duckdb", slow, "-vv")
    # The library logs its first statement once the file is open.
    assert working.stderr is not None
    working.stderr.readline()
    with pytest.raises(subprocess.TimeoutExpired):
        working.wait(0.3)
    working.send_signal(signal.SIGINT)
    try:
        _, err = working.communicate()
    finally:
        working.kill()
    assert working.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    with duckdb.connect(str(project / "cite.duckdb")) as connection:
        tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    assert "half" not in tables
    assert "clause" in tables


@pytest.mark.slow
def test_a_closed_pipe_is_no_traceback(project: Project) -> None:
    reading = start("sql", project / "cite.duckdb", "from range(300000)", "--json")
    assert reading.stdout is not None
    assert reading.stderr is not None
    reading.stdout.readline()
    reading.stdout.close()
    assert reading.stderr.read() == ""
    reading.stderr.close()
    assert reading.wait(20) == 141


def test_starting_imports_nothing_heavy() -> None:
    heavy = {"duckdb", "numpy", "pyarrow", "sqlglot", "numba", "scipy", "ortools"}
    code = f"import sys, sqlrl.cli.app; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
