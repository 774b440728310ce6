"""One form of --json for programs: standard output is a list of rows with the columns in snake case, and nothing else."""

from __future__ import annotations

import re

import pytest
import typer

from tests.cli.conftest import Project, Run
from tests.cli.test_help import COMMANDS, GROUP, name_of

TYPES = {"UniqueStringID"}
"""Columns of arguments are called like their types, as in the tables: names that are the user's, or PSL's where a program has none."""

PSL = (
    '{"rules": ["1: A(X) -> B(X)"], "predicates": {"A/1": {"observations": [["x", 0.5]]}, "B/1": {"targets": [["x"]]}}}'
)

CALLS: dict[str, list[str]] = {
    "load": ["new.duckdb", "Word", "select 'd1' as doc, 'a' as word"],
    "remove": ["cite.duckdb", "Next", "select 'p0', 'p1'"],
    "define": ["cite.duckdb", "after(x, y) :- Next(x, y)."],
    "bias": ["cite.duckdb", "InField"],
    "ego": ["graph.duckdb", "friends", "--target", "Friend", "--relation", "Knows=friends"],
    "ground": ["cite.duckdb", "--model", "learned.json", "--examples", "test.txt"],
    "count": ["cite.duckdb", "--model", "learned.json", "--examples", "test.txt"],
    "diagnose": ["--model", "smokers.mln", "--evidence", "smokers.db", "--closed", "Cancer"],
    "overlap": ["cite.duckdb", "--model", "chain.mln", "--examples", "test.txt"],
    "audit": ["cite.duckdb", "InField", "--folds", "2"],
    "learn": ["cite.duckdb", "--model", "chain.mln", "--examples", "test.txt", "--learner", "adagrad"],
    "infer": ["--model", "smokers.mln", "--evidence", "smokers.db", "--query", "Cancer", "--all"],
    "evaluate": ["cite.duckdb", "--model", "learned.json", "--examples", "test.txt"],
    "why": ["--model", "smokers.mln", "--evidence", "smokers.db", "--query", "Cancer", "--atom", "Cancer(Anna)"],
    "psl": ["soft.json"],
    "export": ["--model", "smokers.mln", "--evidence", "smokers.db", "--query", "Cancer", "--out", "out.wcnf"],
    "explain": ["cite.duckdb", "--model", "chain.mln"],
    "report": ["cite.duckdb", "1", "--out", "report.html"],
    "sql": ["cite.duckdb", "from sqlrl.predicate"],
    "run": ["cite.duckdb", "script.sql"],
    "migrate": ["cite.duckdb"],
    "version": [],
    "doctor": [],
    "demo": ["--citations", "20"],
}


def test_each_command_is_tried_and_has_the_option() -> None:
    assert set(CALLS) == set(GROUP.commands)
    for function in COMMANDS.values():
        name = name_of(function)
        _, command, _ = GROUP.resolve_command(typer.Context(GROUP), [name, "--help"])
        assert "--json" in {option for each in command.params for option in each.opts}, name


LIKE_OTHERS = {
    "demo",
    "evaluate",
    "learn",
    "load",
    "diagnose",
    "overlap",
    "count",
    "migrate",
    "remove",
    "export",
    "explain",
}
"""Commands whose rows in JSON other tests of theirs read, and those that take long."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LIKE_OTHERS else []) for name in CALLS]
)
@pytest.mark.filterwarnings("ignore::sqlrl.errors.SqlrlWarning")
def test_standard_output_is_a_list_of_rows(
    run: Run, project: Project, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.folder)
    (project / "soft.json").write_text(PSL, encoding="utf-8")
    (project / "script.sql").write_text("create table t as select 1 as one; from t;", encoding="utf-8")
    if name == "ego":
        import duckdb

        with duckdb.connect(project / "graph.duckdb") as graph:
            graph.execute("create table friends as from (values ('Ann', 'Bob'), ('Bob', 'Carl')) t(a, b)")
    done = run(name, *CALLS[name], "--json")
    assert done.code == 0, done.err
    rows = done.rows()
    assert isinstance(rows, list)
    assert rows or name in {"overlap", "audit"}
    for row in rows:
        assert isinstance(row, dict)
        assert all(re.fullmatch(r"[a-z][a-z0-9_]*", column) for column in {*row} - TYPES), row
    assert len({tuple(row) for row in rows}) <= 1 + (name == "infer")


def test_an_error_is_text_on_standard_error_and_a_code(
    run: Run, lasting: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = lasting.folder
    monkeypatch.chdir(folder)
    for name in set(CALLS) - {"version", "doctor", "demo", "ego", "define", "remove", "psl", "run"}:
        arguments = [str(folder / "none.duckdb") if each.endswith(".duckdb") else each for each in CALLS[name]]
        arguments = [f"{folder}/none.mln" if each == "smokers.mln" else each for each in arguments]
        done = run(name, *arguments, *(["--types", "one"] if name == "load" else []), "--json")
        assert done.code in (1, 2), name
        assert done.out == "", name
        assert "none" in done.err or name == "load", name
        assert not done.err.startswith(("[", "{")), name
