"""Completion in shells: the commands, their options and choices, and predicates of the database that is named."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sqlrl
from sqlrl.cli.app import app
from tests.cli.conftest import Project

ROOT = Path(__file__).parents[2]
SHELLS = ("bash", "zsh", "fish")
PROGRAM = Path(sys.executable).with_name("sqlrl")


def called(folder: Path, **settings: str) -> str:
    """What the program prints that a shell starts to complete a line."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**{k: v for k, v in os.environ.items() if k != "SQLRL_DB"}, "PYTHONPATH": path, **settings}
    if not PROGRAM.exists():
        pytest.skip("the console script is not installed beside this Python")
    done = subprocess.run([PROGRAM], capture_output=True, text=True, cwd=folder, env=environment, check=False)
    assert done.stderr == ""
    return done.stdout


def called_here(folder: Path, **settings: str) -> str:
    """What the program prints in this process, which starts no other."""
    with pytest.MonkeyPatch.context() as place:
        place.chdir(folder)
        place.delenv("SQLRL_DB", raising=False)
        done = CliRunner().invoke(app, [], prog_name="sqlrl", env=settings)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert done.stderr == ""
    return done.stdout


def completed(shell: str, folder: Path, line: str, call: Callable[..., str] = called_here, **settings: str) -> set[str]:
    """What a shell offers at the end of a line, asked as its script asks."""
    if shell == "bash":
        words = line.split(" ")
        asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    else:
        asked = {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    out = call(folder, **settings, _SQLRL_COMPLETE=f"complete_{shell}", **asked)
    if shell == "zsh":
        # _arguments '*: :(("word":"help" ...))'
        return set(re.findall(r'"((?:[^"\\]|\\.)*)"(?::"(?:[^"\\]|\\.)*")?', out))
    return {each.split("\t")[0] for each in out.splitlines() if each}


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_gets_a_script(shell: str, tmp_path: Path) -> None:
    script = called_here(tmp_path, _SQLRL_COMPLETE=f"source_{shell}")
    assert f"_SQLRL_COMPLETE=complete_{shell}" in script
    if found := shutil.which(shell):
        subprocess.run([found, "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_options_and_choices(shell: str, tmp_path: Path) -> None:
    assert "evaluate" in completed(shell, tmp_path, "sqlrl ev")
    assert "--learner" in completed(shell, tmp_path, "sqlrl learn --lear")
    assert "max-margin" in completed(shell, tmp_path, "sqlrl learn --learner max")


@pytest.mark.parametrize(("shell", "command"), [("bash", "infer"), ("zsh", "evaluate"), ("fish", "learn")])
def test_predicates_of_the_database(shell: str, command: str, lasting: Project) -> None:
    assert completed(shell, lasting.folder, f"sqlrl {command} cite.duckdb --query In") == {"InField"}


def test_predicates_of_lists_arguments_and_other_places(lasting: Project, tmp_path: Path) -> None:
    assert completed("bash", lasting.folder, "sqlrl infer cite.duckdb --query Token,") == {
        "Token,InField",
        "Token,Next",
    }
    assert completed("bash", lasting.folder, "sqlrl audit cite.duckdb In") == {"InField"}
    assert completed("bash", lasting.folder, "sqlrl infer --db cite.duckdb --drop Ne") == {"Next"}
    assert completed("bash", tmp_path, "sqlrl infer --query T", SQLRL_DB=str(lasting / "cite.duckdb")) == {"Token"}


def test_runs_of_the_database(project: Project) -> None:
    with sqlrl.connect(project / "cite.duckdb") as db:
        db.sql(
            "insert into sqlrl.run select * replace (7 as run, 'interrupted' as status) from sqlrl.run where run = 1"
        )
    for shell in SHELLS:
        assert completed(shell, project.folder, "sqlrl report cite.duckdb ") == {"1", "7"}
        assert completed(shell, project.folder, "sqlrl learn cite.duckdb --resume ") == {"7"}
        assert completed(shell, project.folder, "sqlrl report none.duckdb ") == set()


def test_where_there_is_no_database_nothing_is_offered_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "notes.duckdb").write_text("no database")
    for name in ("none.duckdb", "notes.duckdb"):
        assert completed("bash", tmp_path, f"sqlrl infer {name} --query T") == set()
    assert [each.name for each in tmp_path.iterdir()] == ["notes.duckdb"]


@pytest.mark.slow
def test_a_process_completes_as_this_one_does(lasting: Project) -> None:
    for shell, line in (("zsh", "sqlrl learn --learner max"), ("fish", "sqlrl report cite.duckdb ")):
        assert completed(shell, lasting.folder, line, called) == completed(shell, lasting.folder, line) != set()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
def test_a_real_bash_completes(lasting: Project) -> None:
    """Two processes of a second: the script that one prints starts the other."""
    script = called(lasting.folder, _SQLRL_COMPLETE="source_bash")
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    asked = f"""{script}
COMP_WORDS=(sqlrl infer cite.duckdb --query In); COMP_CWORD=4
_sqlrl_completion {PROGRAM}
echo "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "-c", asked], capture_output=True, text=True, cwd=lasting.folder, check=True,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.stdout.split() == ["InField"]
