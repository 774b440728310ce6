"""Progress of commands is on standard error, whatever is on standard output, and not there with `--quiet`."""

from __future__ import annotations

import pytest

import sqlrl.report
from sqlrl.report import Console, PlainConsole, console_for
from tests.cli.conftest import Project, Run

COMMANDS: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "load": (["--refresh"], ("loading what changed",)),
    "ground": (["--model", "chain.mln"], ("grounding shapes of clauses", "ground clauses")),
    "count": (["--model", "learned.json"], ("counting shapes of clauses",)),
    "learn": (
        ["--model", "chain.mln", "--examples", "test.txt"],
        ("choosing a learner", "examples: 0 of 10", "learning weights: iteration"),
    ),
    "infer": (["--model", "learned.json", "--examples", "test.txt"], ("predicting", "most probable world")),
    "evaluate": (["--model", "learned.json", "--examples", "test.txt"], ("evaluating", "most probable world")),
    "explain": (["--model", "chain.mln"], ("planning",)),
    "sql": (["select count(*) from sqlrl.clause"], ("running",)),
}


@pytest.mark.parametrize(
    ("command", "quiet"),
    [
        pytest.param(command, quiet, marks=pytest.mark.slow if quiet and command != "infer" else [])
        for command in COMMANDS
        for quiet in (False, True)
    ],
)
def test_standard_output_is_json_whatever_is_shown(
    run: Run, project: Project, monkeypatch: pytest.MonkeyPatch, command: str, quiet: bool
) -> None:
    def shown(*, quiet: bool) -> Console:
        return console_for(quiet=True) if quiet else PlainConsole(delay=0, interval=0)

    monkeypatch.setattr(sqlrl.report, "console_for", shown)
    options, words = COMMANDS[command]
    named = [str(project / x) if "." in x and " " not in x else x for x in options]
    done = run(command, project / "cite.duckdb", *named, "--json", *(["--quiet"] if quiet else []))
    assert done.code == 0, done.err
    assert isinstance(done.rows(), list)
    if quiet:
        assert done.err == ""
    else:
        assert [each for each in words if each not in done.err] == []
