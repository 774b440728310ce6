"""A command line in this process, and a small database that the tests of it share."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from sqlrl.cli import words
from sqlrl.cli.app import app
from sqlrl.errors import SqlrlError

MODEL = """\
Token(token, position, bib)
Next(position, position)
InField(bib, field, position)

Token(+t, p, c) => InField(c, +f, p)
Next(p1, p2) ^ InField(c, +f1, p1) => InField(c, +f2, p2)
InField(c, f1, p) ^ (f1 != f2) => !InField(c, f2, p).
"""

SMOKERS = """\
*Friends(person, person)
Smokes(person)
Cancer(person)

0.5 Smokes(x) => Cancer(x)
0.4 Friends(x, y) ^ Smokes(x) => Smokes(y)
"""

EVIDENCE = "Friends(Anna, Bob)\nFriends(Bob, Chris)\n!Friends(Chris, Anna)\nSmokes(Anna)\n"


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def rows(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Outcome]


class SeenError(SqlrlError):
    """Ends a command at the place where a test looks at it."""


@pytest.fixture(scope="session", autouse=True)
def _commands_made_once() -> Iterator[None]:
    """Make the commands with their hundreds of options once; making them is most of what a command takes that is refused."""
    made = typer.main.get_command
    whole = made(app)

    def found(of: typer.Typer) -> Any:
        return whole if of is app else made(of)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.main.get_command", found)
        patch.setattr("typer.testing._get_command", found)
        yield


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command; it must end by itself, with an exit code and without a traceback."""
    monkeypatch.delenv("SQLRL_DB", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    # A process runs one command, whose learner says which options its parameters are, beside those of all learners.
    import_module("sqlrl.cli.learners")
    monkeypatch.setattr(words, "OPTIONS", dict(words.OPTIONS))

    def call(*arguments: str | Path, stdin: str | bytes | None = None) -> Outcome:
        result = CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        # A mention that nobody has worded would be shown as these.
        assert not any(sign in result.stdout + result.stderr for sign in ("\ufdd0", r"\ufdd0"))
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return call


@dataclass(frozen=True)
class Project:
    """A folder with data, models and a database that holds the data."""

    folder: Path

    def __truediv__(self, name: str) -> Path:
        return self.folder / name


@pytest.fixture(scope="session")
def _prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Load a small bibliography once and learn from it."""
    from sqlrl.demo import generate

    folder = tmp_path_factory.mktemp("prepared")
    bibliography = generate(30, seed=1)
    bibliography.write(folder)
    (folder / "chain.mln").write_text(MODEL, encoding="utf-8")
    (folder / "smokers.mln").write_text(SMOKERS, encoding="utf-8")
    (folder / "smokers.db").write_text(EVIDENCE, encoding="utf-8")
    (folder / "train.txt").write_text("\n".join(bibliography.citations[:20]), encoding="utf-8")
    (folder / "test.txt").write_text("\n".join(bibliography.citations[20:]), encoding="utf-8")
    database = str(folder / "cite.duckdb")
    for arguments in (
        ["load", database, "Token", str(folder / "token.parquet"), "--types", "token,position,bib", "--example", "bib"],
        ["load", database, "Next", str(folder / "next.parquet"), "--types", "position,position"],
        ["load", database, "InField", str(folder / "field.parquet"), "--columns", "bib,field,2", "--target"],
        [
            *("learn", database, "--model", str(folder / "chain.mln"), "--examples", str(folder / "train.txt")),
            *("--out", str(folder / "learned.json")),
        ],
    ):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="session")
def lasting(_prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy for commands that are refused, or that only read it."""
    return Project(shutil.copytree(_prepared, tmp_path_factory.mktemp("lasting"), dirs_exist_ok=True))


@pytest.fixture
def project(_prepared: Path, tmp_path: Path) -> Project:
    """A copy that the test may change."""
    shutil.copytree(_prepared, tmp_path, dirs_exist_ok=True)
    return Project(tmp_path)
