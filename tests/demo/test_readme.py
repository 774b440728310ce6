"""The README: its examples run as they stand, and its model and commands are the real ones."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import pytest
from typer.testing import CliRunner

import sqlrl
import sqlrl.demo
from sqlrl.cli.app import app
from sqlrl.demo import MODEL

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.filterwarnings("ignore::sqlrl.errors.ScopeWarning", "ignore:5 of 90 subgraphs:sqlrl.errors.LabelWarning")
def test_the_python_examples_run_and_print_what_stands_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    *printing, last, _ = blocks("python")
    names: dict[str, object] = {}
    for block, printed in zip(printing, blocks("text"), strict=True):
        exec(compile(block, "README.md", "exec"), names)
        # An empty line after a table of DuckDB's is left out.
        assert re.sub(r"\n\n+", "\n", capsys.readouterr().out).strip() == printed.strip()
    exec(compile(last, "README.md", "exec"), names)
    assert Path("cite.mln").is_file()


def test_records_are_resolved_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    people = [
        ("rec-10-org", "mitchell", "green", "cleveland", "2119", "19560409"),
        ("rec-10-dup-1", "mitchell", "green", "cleveland", "2119", "19560409"),
        ("rec-11-org", "harley", "green", "marsden", "3165", "19080419"),
    ]
    head = "id,given_name,surname,suburb,postcode,date_of_birth"
    Path("people.csv").write_text("\n".join([head, *map(",".join, people)]), encoding="utf-8")
    names: dict[str, Any] = {"sqlrl": sqlrl}
    exec(compile(blocks("python")[-1], "README.md", "exec"), names)
    rows = names["db"].clusters(names["prediction"], "Same")
    assert {row["person"]: row["cluster"] for row in rows} == {"rec-10-dup-1": 0, "rec-10-org": 0, "rec-11-org": 1}
    names["db"].close()


def test_the_commands_run_as_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SQLRL_DB", raising=False)
    _, session = blocks("console")
    for line in session.splitlines():
        run(line)


def test_the_script_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sqlrl.demo.generate(600, seed=0).write("bibliography")
    *_, script = blocks("sql")
    tables = [each.table.to_pylist() for each in sqlrl.connect().run(script).statements if each.table is not None]
    scores, wrong = tables
    # As the first example says of the same citations.
    assert round(100 * scores[0]["f1"], 2) == 92.89
    assert len(wrong) == 3


def test_the_stream_is_learned_from_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SQLRL_DB", raising=False)
    with duckdb.connect("graph.duckdb") as graph:
        # Every third person likes it, and knows four others who do.
        graph.execute(
            "create table friends as select i as a, (i + k) % 60 as b from range(60) t(i), (values (1), (3), (6), (9), (12)) u(k)"
        )
        graph.execute("create table ratings as select i as person, if(i % 3 = 0, 5, 1) as score from range(60) t(i)")
    views, _ = blocks("sql")
    Path("likes.sql").write_text(views, encoding="utf-8")
    Path("likes.mln").write_text("Likes(person)\nKnows(person, person)", encoding="utf-8")
    Path("likes.grammar").write_text("Knows(x, y) ^ Likes(x) ^ Likes(y)", encoding="utf-8")
    stream, _ = blocks("console")
    run(stream)
    assert "Knows(x, y) ^ Likes(x) ^ !Likes(y)" in Path("learned.mln").read_text(encoding="utf-8")


def run(line: str) -> None:
    """Run a command of the README, which must succeed."""
    name, *arguments = shlex.split(line)
    assert name == "sqlrl"
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, f"{line}\n{done.output}"


def test_every_command_is_described() -> None:
    names = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    described = re.findall(r"^\| (`.*`) \|", README.split("## On the command line")[1], flags=re.MULTILINE)
    assert names <= {name for row in described for name in re.findall(r"`(\w+)`", row)}


def test_the_model_is_that_of_the_demo() -> None:
    assert blocks("mln")[0].strip() == "\n".join(line for line in MODEL.splitlines() if not line.startswith("//"))


def test_the_commands_use_what_the_project_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    demo, test = blocks("sh")
    assert demo.strip().endswith(".venv/bin/sqlrl demo")
    assert "sqlrl" in project["scripts"]
    assert "'.[dev]'" in test
    assert "dev" in project["optional-dependencies"]
