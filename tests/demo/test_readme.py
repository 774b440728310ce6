"""The README: its first example runs as it stands, and its model and commands are the real ones."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from sqlrl.demo import MODEL

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_the_first_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks("python")[0], "README.md", "exec"), {})
    found = re.search(r"F1 (\d+\.\d+)", capsys.readouterr().out)
    assert found is not None
    assert float(found[1]) > 85


def test_all_examples_are_python() -> None:
    for block in blocks("python"):
        compile(block, "README.md", "exec")


def test_the_model_is_that_of_the_demo() -> None:
    assert blocks("mln")[0].strip() == "\n".join(line for line in MODEL.splitlines() if not line.startswith("//"))


def test_the_commands_use_what_the_project_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    demo, test = blocks("sh")
    assert demo.strip().endswith(".venv/bin/sqlrl demo")
    assert "sqlrl" in project["scripts"]
    assert "'.[dev]'" in test
    assert "dev" in project["optional-dependencies"]
