"""The README: its example runs as it stands, its commands and its links are real, and it is short."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_example_runs_and_prints_what_stands_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It learns, predicts and explains, which takes a second."""
    monkeypatch.chdir(tmp_path)
    (example,), (printed,) = blocks("python"), blocks("text")
    exec(compile(example, "README.md", "exec"), {})
    # An empty line after a table of DuckDB's is left out.
    assert re.sub(r"\n\n+", "\n", capsys.readouterr().out).strip() == printed.strip()


def test_the_commands_use_what_the_project_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    demo, test = blocks("sh")
    assert demo.strip().endswith(".venv/bin/sqlrl demo")
    assert "sqlrl" in project["scripts"]
    assert "'.[dev]'" in test
    assert "dev" in project["optional-dependencies"]


def test_the_pages_that_it_names_are_there() -> None:
    targets = re.findall(r"\]\((\S+?)\)", README)
    assert len(targets) > 10
    assert [target for target in targets if not (ROOT / target).is_file()] == []


def test_it_is_a_screen_and_a_half() -> None:
    assert len(README.splitlines()) <= 90
