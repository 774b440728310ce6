"""`sqlrl learn` without `--learner`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.database.test_choice import DECLARED


@pytest.mark.parametrize(
    ("model", "options", "said", "learner"),
    [
        ("Word(d, +w) => Good(d)", [], "--learner likelihood --penalty l2, since there are 8 examples", "Likelihood"),
        ("Word(d, +w) => Good(d)", ["--penalty", "l1"], "--learner likelihood, since no other one has", "Likelihood"),
        ("Cites(d, d) ^ Good(d) => Topic(d, Fun)", ["--seed", "3"], "--learner likelihood --penalty l2, since there are 8 examples, and", "Likelihood"),
        ("Word(d, +w) => Good(d)", ["--iterations", "3"], "--learner pscg, since no other one has", "PSCG"),
        ("Word(d, +w) => Good(d)", ["--passes", "2"], "--learner adagrad, since no other one has", "AdaGrad"),
        ("Word(d, +w) => Good(d)", ["--checkpoint"], "--learner adagrad --passes 100, since no other one has", "AdaGrad"),
        ("Word(d, +w) => Good(d)", ["--learner", "adagrad"], "", "AdaGrad"),
        ("Word(d, +w) => Good(d)", ["--quiet"], "", "Likelihood"),
    ],
)  # fmt: skip
def test_the_command_line_says_what_was_chosen_and_why(
    run: Run, tmp_path: Path, model: str, options: list[str], said: str, learner: str
) -> None:
    for name, arguments in {
        "Doc": ["select 'd' || range as doc from range(8)", "--example", "doc"],
        "Word": ["select 'd' || range as doc, 'w' || range % 3 as word from range(8)"],
        "Cites": ["select 'd' || range as doc, 'd' || range as cited from range(8)", "--types", "doc,doc"],
        "Good": ["select 'd' || range * 2 as doc from range(4)", "--target"],
        "Topic": ["select 'd' || range as doc, if(range < 5, 'Fun', 'Art') as topic from range(8)", "--target"],
    }.items():
        done = run("load", tmp_path / "a.duckdb", name, *arguments)
        assert done.code == 0, done.err
    (tmp_path / "a.mln").write_text(DECLARED + model, encoding="utf-8")
    done = run(
        "learn", tmp_path / "a.duckdb", "--model", tmp_path / "a.mln", "--query", "Good,Topic", "--json", *options
    )
    assert done.code == 0, done.err
    assert done.rows()
    lines = [line for line in done.err.splitlines() if re.match("--learner", line)]
    assert len(lines) == bool(said)
    assert all(line.startswith(said) for line in lines), lines
    query = "select learner from sqlrl.run order by run desc limit 1"
    assert run("sql", tmp_path / "a.duckdb", query, "--json").rows() == [{"learner": learner}]
