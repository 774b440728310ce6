"""QUESTIONS.md: its queries run as they stand, and print what stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sqlrl.cli.app import app

PAGE = Path(__file__).resolve().parent.parent.parent / "QUESTIONS.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
DATABASE = re.compile(r'connect\("(\w+\.duckdb)"\)')


def test_the_answers_are_those_that_stand_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert sum(language == "sql" for language, _ in blocks) >= 25
    database, asked = "", 0
    for (language, text), (following, printed) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language == "python":
            exec(compile(text, "QUESTIONS.md", "exec"), {})
            (database,) = DATABASE.findall(text)
        elif language == "sql":
            assert following == "text", text
            assert answer(database, text) == printed, text
            asked += 1
    assert asked == sum(language == "text" for language, _ in blocks)


def answer(database: str, query: str) -> str:
    """Return what the command line prints."""
    done = CliRunner().invoke(app, ["sql", database, query])
    assert done.exit_code == 0, f"{query}\n{done.output}"
    return done.stdout
