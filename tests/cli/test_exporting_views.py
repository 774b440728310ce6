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


TASTE = "Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)\nLiked(d)"


def test_scripts_and_the_command_line_advise_in_their_own_words(tmp_path: Path, run: Run) -> None:
    script, view, file = tmp_path / "s.sql", tmp_path / "v.sql", tmp_path / "m.mln"
    script.write_text(
        f"""
        CREATE PREDICATE Word(doc, word) OPTIONS (example = 'doc') AS
            SELECT 'd' || k, CASE WHEN k % 3 = 0 THEN 'good' ELSE 'bad' END FROM range(12) t(k);
        CREATE PREDICATE Liked(doc) OPTIONS (target = true) AS SELECT 'd' || k FROM range(0, 12, 3) t(k);
        CREATE MODEL taste OPTIONS (learner = 'mira') AS $${TASTE}$$;
        ALTER MODEL taste ADD RULE 'Word(d, "bad") => !Liked(d)' WEIGHT 0.5;
        FROM ML.PROBABILITIES(MODEL taste);
        EXPORT MODEL taste TO '{view}';
        EXPORT MODEL taste TO '{file}';
        """,
        encoding="utf-8",
    )
    done = run("run", tmp_path / "d.duckdb", script)
    assert done.code == 0, done.err
    told = [
        line
        for line in done.err.splitlines()
        if line.startswith("warning: the weights of this model are those of MIRA")
    ]
    assert len(told) == 2
    assert all("OPTIONS (learner = 'likelihood')" in line and "db." not in line for line in told)
    assert told[0].endswith("ML.PREDICT")
    assert "Not calibrated: its weights are those of MIRA" in view.read_text(encoding="utf-8")
    for words in (("infer", "--probabilities"), ("export", "--format", "sql", "--out", tmp_path / "w.sql")):
        done = run(words[0], tmp_path / "d.duckdb", "--model", file, *words[1:])
        assert done.code == 0, done.err
        assert "learn its weights with --learner likelihood" in done.err
        assert "db." not in done.err
    assert "Not calibrated" in (tmp_path / "w.sql").read_text(encoding="utf-8")
