"""`sqlrl learn` without `--learner`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import sqlrl
from tests.cli.conftest import Outcome, Run, SeenError
from tests.database.test_learner_choice import DECLARED

# fmt: off
CASES: list[tuple[str, list[str], str, str]] = [
    ("Word(d, +w) => Good(d)", [], "--learner likelihood --penalty l2, since there are 8 examples", "Likelihood"),
    ("Word(d, +w) => Good(d)", ["--penalty", "l1"], "--learner likelihood, since no other one has", "Likelihood"),
    ("Cites(d, d) ^ Good(d) => Topic(d, Fun)", ["--random-state", "3"], "--learner likelihood --penalty l2, since there are 8 examples, and", "Likelihood"),
    ("Word(d, +w) => Good(d)", ["--strength", "0.5"], "--learner likelihood --penalty l2, since no other one has", "Likelihood"),
    ("Word(d, +w) => Good(d)", ["--strength", "0.5", "--delta", "2"], "--learner adagrad --passes 100, since no other one has", "AdaGrad"),
    ("Word(d, +w) => Good(d)", ["--samples", "4"], "--learner pscg, since no other one has", "PSCG"),
    ("Word(d, +w) => Good(d)", ["--passes", "2"], "--learner adagrad, since no other one has", "AdaGrad"),
    ("Word(d, +w) => Good(d)", ["--window", "10"], "--learner adagrad --passes 100, since no other one has", "AdaGrad"),
    ("Word(d, +w) => Good(d)", ["--learner", "adagrad"], "", "AdaGrad"),
    ("Word(d, +w) => Good(d)", ["--quiet"], "", "Likelihood"),
]
# fmt: on


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight documents with their words, citations and labels."""
    path = tmp_path_factory.mktemp("texts") / "a.duckdb"
    with sqlrl.connect(path, progress=False) as db:
        docs = range(8)
        db.load("Doc", [(f"d{i}",) for i in docs], types=["doc"], example="doc")
        db.load("Word", [(f"d{i}", f"w{i % 3}") for i in docs], types=["doc", "word"])
        db.load("Cites", [(f"d{i}", f"d{i}") for i in docs], types=["doc", "doc"])
        db.load("Good", [(f"d{i * 2}",) for i in range(4)], types=["doc"], target=True)
        db.load("Topic", [(f"d{i}", "Fun" if i < 5 else "Art") for i in docs], types=["doc", "topic"], target=True)
    return path


def learn(run: Run, texts: Path, model: str, options: list[str]) -> Outcome:
    text = texts.with_name("a.mln")
    text.write_text(DECLARED + model, encoding="utf-8")
    return run("learn", texts, "--model", text, "--query", "Good,Topic", "--json", *options)


def check_said(done: Outcome, said: str) -> None:
    lines = [line for line in done.err.splitlines() if re.match("--learner", line)]
    assert len(lines) == bool(said)
    assert all(line.startswith(said) for line in lines), lines


@pytest.mark.slow
def test_the_command_line_says_what_was_chosen_and_why(run: Run, texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def begun(job: object, training: Any, *_: object) -> None:
        seen.append(type(training).__name__)
        raise SeenError("seen")

    for how in ("batch", "online"):
        monkeypatch.setattr(f"sqlrl.cli.learn.learn_{how}", begun)
    for model, options, said, learner in CASES:
        done = learn(run, texts, model, options)
        assert (done.code, seen.pop()) == (1, learner), (model, options)
        check_said(done, said)


# The first of the cases of each learner.
LEARN = [
    case if i in (0,) else pytest.param(*case, marks=pytest.mark.slow) for i, case in enumerate(CASES) if i in (0, 3, 4)
]


@pytest.mark.parametrize(("model", "options", "said", "learner"), LEARN)
def test_what_was_chosen_learns(run: Run, texts: Path, model: str, options: list[str], said: str, learner: str) -> None:
    done = learn(run, texts, model, options)
    assert done.code == 0, done.err
    assert done.rows()
    check_said(done, said)
    query = "select learner from sqlrl.run order by run desc limit 1"
    assert run("sql", texts, query, "--json").rows() == [{"learner": learner}]
