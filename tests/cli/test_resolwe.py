"""`sqlrl learn --learner resolwe`: what is printed, kept and refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sqlrl
from tests.cli.conftest import Run
from tests.structure.resolwe.test_resolwe import DECLARED, TEMPLATES, load, planted

pytestmark = pytest.mark.filterwarnings("ignore:3 of 60 subgraphs are left out:sqlrl.errors.LabelWarning")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of subgraphs with a model of declarations and a file of templates."""
    folder = tmp_path_factory.mktemp("users")
    load(planted(), folder / "users.duckdb").close()
    (folder / "users.mln").write_text(DECLARED, encoding="utf-8")
    (folder / "users.grammar").write_text(TEMPLATES, encoding="utf-8")
    return folder


def learn(run: Run, project: Path, *more: object) -> tuple[int, str, str]:
    given = ["--model", project / "users.mln", "--learner", "resolwe", "--templates", project / "users.grammar"]
    done = run("learn", project / "users.duckdb", *given, *more)
    return done.code, done.out, done.err


@pytest.mark.slow
def test_what_was_kept_and_dropped_is_printed_and_the_model_saved(run: Run, project: Path, tmp_path: Path) -> None:
    code, out, err = learn(run, project, "--weights", "adagrad(ties=first)", "--out", tmp_path / "found.mln")
    assert code == 0, err
    clauses, formulations = out.split("\n\n")
    assert clauses.splitlines()[0] == "strongest clauses"
    assert formulations.splitlines()[1].split() == ["formula", "support", "probability", "kept", "reason"]
    assert "bound of the probability" in formulations
    assert "of 24 formulations of 12 candidates kept, counted by 4 queries" in err
    with sqlrl.connect(project / "users.duckdb", progress=False) as db:
        assert sqlrl.read_mln(tmp_path / "found.mln") == db.models[-1]


@pytest.mark.slow
def test_the_model_is_what_python_learns(run: Run, project: Path, tmp_path: Path) -> None:
    assert learn(run, project, "--weights", "adagrad(ties=first)", "--out", tmp_path / "found.mln")[0] == 0
    found = sqlrl.read_mln(tmp_path / "found.mln")
    fit = sqlrl.Resolwe(sqlrl.parse_grammar(TEMPLATES), weights=sqlrl.AdaGrad(ties="first")).fit(
        load(planted()), sqlrl.parse_mln(DECLARED)
    )
    assert found.rules == fit.model_.rules


@pytest.mark.slow
def test_json_has_every_formulation_with_its_reason(run: Run, project: Path) -> None:
    code, out, err = learn(run, project, "--weights", "adagrad", "--threshold", "0.9", "--json")
    assert code == 0, err
    rows = json.loads(out)
    assert len(rows) == 24
    assert all(row["kept"] == (row["reason"] == "") for row in rows)
    assert all(row["bound"] >= 0.9 for row in rows if row["kept"])


def test_with_a_half_life_the_rules_that_came_and_went_are_printed(run: Run, project: Path) -> None:
    code, out, err = learn(run, project, "--weights", "mira", "--half-life", "20", "--window", "20", "--select", "40")
    assert code == 0, err
    log = out.split("\n\n")[2].splitlines()
    assert log[0] == "rules that came and went"
    assert log[1].split() == ["step", "subgraphs", "event", "formula", "probability", "reason"]
    assert any(line.split()[0] == "2" and line.split()[2:4] == ["came", "Old(u)"] for line in log)


@pytest.mark.slow
def test_a_part_can_be_held_out(run: Run, project: Path) -> None:
    code, _, err = learn(run, project, "--weights", "adagrad", "--holdout", "0.2")
    assert code == 0, err
    assert "48 examples to learn from, 12 to test on" in err
    assert "held out: F1" in err


@pytest.mark.slow
def test_osl_learns_from_declarations_alone(run: Run, project: Path, tmp_path: Path) -> None:
    modes = tmp_path / "modes.txt"
    modes.write_text(
        "modeP(2, Talks(+,-))\nmodeP(0, Links(-,-))\nmodeP(1, Old(+))\nmodeP(0, Swims(-))\nmodeP(1, Good(-))",
        encoding="utf-8",
    )
    given = ["--model", project / "users.mln", "--learner", "osl", "--modes", modes]
    done = run("learn", project / "users.duckdb", *given)
    assert done.code == 0, done.err
    assert "Old(" in done.out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--weights", "foo"], "--weights foo: there is no such learner; choose among adagrad, cd, cda"),
        (["--weights", "osl"], "--weights osl: there is no such learner"),
        (["--weights", "adagrad(eta=1)"], "AdaGrad has no parameter 'eta'; did you mean 'learning_rate'?"),
        (["--weights", "likelihood(strength=1)"], "weights must be an online learner"),
        (["--ties", "first"], "as in --weights 'adagrad(ties=first)'"),
        (["--threshold", "2"], "threshold 2"),
        (["--min-support", "-1"], "--min-support -1"),
        (["--select", "0"], "--select 0"),
        (["--start", "x.mln"], "--start is an option of learners of weights: resolwe learns clauses"),
        (["--constraints", "sct"], "--constraints is an option of learners of weights: resolwe learns clauses"),
        (["--templates", "absent.grammar"], "absent.grammar"),
    ],
)
def test_what_is_wrong_is_said(run: Run, project: Path, more: list[str], message: str) -> None:
    code, _, err = learn(run, project, *more)
    assert code != 0
    assert message in " ".join(err.replace("│", " ").split())


def test_templates_are_asked_for(run: Run, project: Path) -> None:
    done = run("learn", project / "users.duckdb", "--model", project / "users.mln", "--learner", "resolwe")
    assert "--learner resolwe needs --templates FILE" in " ".join(done.err.replace("│", " ").split())
