"""`sqlrl export --format sql`: a view of a model, to a file or to standard output."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.cli.conftest import Run

PROGRAM = "*Friends(person, person)\nSmokes(person)\n1.5 Friends(x, y) => Smokes(y)\n-0.5 Smokes(x)\n"
JOINED = PROGRAM + "1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n"


@pytest.fixture
def inputs(tmp_path: Path) -> list[object]:
    (tmp_path / "p.mln").write_text(PROGRAM)
    (tmp_path / "joined.mln").write_text(JOINED)
    (tmp_path / "p.db").write_text("Friends(Anna, Bob)\n")
    return ["--evidence", tmp_path / "p.db", "--query", "Smokes"]


def test_a_view_runs_where_the_tables_are(tmp_path: Path, run: Run, inputs: list[object]) -> None:
    out = tmp_path / "scores.sql"
    names = ["--table", "Friends=friends", "--column", "Friends.person=a", "--column", "Friends.person_2=b"]
    done = run(
        "export", *inputs, "--model", tmp_path / "p.mln", "--out", out, "--dialect", "sqlite", *names, "--view", "s"
    )
    assert done.code == 0, done.err
    assert "s: the probability of each atom of Smokes" in done.err
    con = sqlite3.connect(":memory:")
    con.executescript("create table friends (a, b); insert into friends values ('Anna', 'Bob'), ('Bob', 'Chris');")
    con.executescript(out.read_text(encoding="utf-8"))
    rows = con.execute("select person, log_odds from s order by person").fetchall()
    assert rows == [("Anna", -0.5), ("Bob", 1.0), ("Chris", 1.0)]


def test_standard_output_has_the_statement_or_json(tmp_path: Path, run: Run, inputs: list[object]) -> None:
    arguments = ["export", *inputs, "--model", tmp_path / "p.mln", "--format", "sql", "--out", "-"]
    plain = run(*arguments)
    assert plain.code == 0, plain.err
    assert plain.out.startswith("-- The probability of each atom of Smokes(person)")
    assert plain.out.endswith(";\n")
    (row,) = json.loads(run(*arguments, "--json").out)
    assert row["sql"] == plain.out
    assert (row["target"], row["dialect"], row["tables"], row["left_out"]) == ("Smokes", "duckdb", ['"Friends"'], [])


def test_rules_that_join_atoms_are_refused_or_left_out(tmp_path: Path, run: Run, inputs: list[object]) -> None:
    arguments = ["export", *inputs, "--model", tmp_path / "joined.mln", "--format", "sql", "--out", "-"]
    refused = run(*arguments)
    assert refused.code == 1
    assert "joins 2 open literals: !Smokes, Smokes" in refused.err
    assert "leave it out with --partial, which" in refused.err
    partial = run(*arguments, "--partial")
    assert partial.code == 0, partial.err
    assert "left out: Friends(x, y) ^ Smokes(x) => Smokes(y)" in partial.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--out", "-", "--format", "sql", "--dialect", "2022"], "about WCNF files"),
        (["--out", "-", "--format", "sql", "--examples", "select 1"], "--examples: a view is about whatever"),
        (["--out", "a.lp", "--table", "Friends=f", "--partial"], "--table, --partial: only a view has that"),
        (["--out", "a.wcnf", "--dialect", "sqlite"], "add --format sql"),
        (["--out", "-"], "--out - is for --format sql"),
        (["--out", "-", "--format", "sql", "--table", "Friends"], "is no NAME=VALUE"),
        (["--out", "-", "--format", "sql", "--table", "Friends=a", "--table", "Friends=b"], "stands twice"),
        (["--out", "-", "--format", "sql", "--column", "person=b"], "write PREDICATE.OLD=NEW"),
        (["--out", "-", "--format", "sql", "--table", "Freinds=a"], "did you mean 'Friends'"),
        (["--out", "-", "--format", "sql", "--scope-table", "Smokes=a"], "not given by a scope"),
        (
            ["--out", "-", "--format", "sql", "--table", "Friends=a b c"],
            "--table of Friends: 'a b c' is no name of a table",
        ),
        (["--out", "-", "--format", "sql", "--column", "Friends.z=b"], "--column renames 'z'"),
        (["--out", "absent/a.sql"], "cannot write absent/a.sql"),
    ],
)
def test_wrong_options_are_told(tmp_path: Path, run: Run, inputs: list[object], options: list[str], words: str) -> None:
    failed = run("export", *inputs, "--model", tmp_path / "p.mln", *options)
    assert failed.code in (1, 2)
    assert words in failed.err
