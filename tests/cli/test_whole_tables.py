"""How many rows of a table are printed: all where a program may read them, some on a terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import sqlrl
from sqlrl.cli import session as sessions
from sqlrl.cli.options import SHOWN, Output, Summary
from tests.cli.conftest import Run

MODEL = "P(t)\nQ(t)\n1.5 P(x) => Q(x)\n"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path, names = tmp_path / "many.duckdb", [(f"c{k:02d}",) for k in range(57)]
    with sqlrl.connect(path, progress=False) as db:
        db.load("P", names, types=["t"])
        db.load("Q", names, types=["t"], target=True)
    (tmp_path / "m.mln").write_text(MODEL)
    return path


@pytest.mark.parametrize(
    "command",
    [
        ("infer", "--model", "{}/m.mln"),
        pytest.param(("infer", "--model", "{}/m.mln", "--probabilities"), marks=pytest.mark.slow),
        ("sql", "from sqlrl.named_P"),
    ],
    ids=["infer", "marginals", "sql"],
)
def test_a_pipe_gets_all_rows_unless_a_number_is_given(run: Run, database: Path, command: tuple[str, ...]) -> None:
    name, *options = (part.format(database.parent) for part in command)
    done = run(name, database, *options)
    assert [f"c{k:02d}" in done.out for k in range(57)] == [True] * 57
    assert "more of" not in done.out
    few = run(name, database, *options, "--rows", "5")
    assert sum(f"c{k:02d}" in few.out for k in range(57)) == 5
    assert "52 more of 57 rows" in few.out


@pytest.mark.parametrize(("terminal", "rows"), [(True, SHOWN), (False, sessions.EVERY)])
def test_a_terminal_gets_some(terminal: bool, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    with sessions.session(Output()) as run:
        assert run.rows == rows
    with sessions.session(Output(rows=7)) as run:
        assert run.rows == 7
    with sessions.session(Summary()) as run:
        assert run.rows == 10
