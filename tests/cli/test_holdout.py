"""`sqlrl learn --holdout`: what is held out is not learned from, and the scores are those of what is held out."""

from __future__ import annotations

from pathlib import Path

import pytest

import sqlrl
from tests.cli.conftest import Project, Run


@pytest.mark.filterwarnings("ignore::sqlrl.errors.InfeasibleTruthWarning")
@pytest.mark.parametrize(
    "learner",
    [
        pytest.param(["--learner", "mira"], marks=pytest.mark.slow),
        ["--learner", "likelihood", "--strength", "1"],
        pytest.param([], marks=pytest.mark.slow),
    ],
)
def test_examples(run: Run, project: Project, learner: list[str]) -> None:
    text = (project / "chain.mln").read_text(encoding="utf-8")
    (project / "words.mln").write_text(text.replace("Next(p1, p2)", "//"), encoding="utf-8")
    out = project / "out.json"
    done = run(
        "learn", project / "cite.duckdb", "-m", project / "words.mln", *learner, "--holdout", "0.3", "--out", out
    )
    assert done.code == 0, done.err
    assert "21 examples to learn from, 9 to test on" in done.err
    with sqlrl.connect(project / "cite.duckdb") as db:
        split = db.split(0.3)
        scores = db.evaluate(db.predict(sqlrl.read_model(out), examples=split.test))
    assert f"held out: {scores}" in " ".join(done.err.split())


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Pairs in blocks of four records; a scope that the user gave."""
    pairs = [(f"r{a}", f"r{b}") for a in range(24) for b in range(24) if a != b and a // 4 == b // 4]
    with sqlrl.connect(tmp_path / "same.duckdb") as db:
        db.load("Alike", [p for i, p in enumerate(pairs) if i % 3], types=["record", "record"])
        db.load("Same", [p for i, p in enumerate(pairs) if i % 3 and i % 5], types=["record", "record"], target=True)
        db.scope("Same", pairs[:70])
    model = "Alike(record, record)\nSame(record, record)\nAlike(a, b) => Same(a, b)\nSame(a, b)\n"
    (tmp_path / "same.mln").write_text(model, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sqlrl.errors.ScopeWarning")
def test_one_network_by_its_entities(run: Run, people: Path) -> None:
    asked = ["learn", people / "same.duckdb", "-m", people / "same.mln", "--holdout", "0.25", "--holdout-by", "record"]
    done = run(*asked, "--out", people / "out.json", "--learner", "likelihood")
    assert done.code == 0, done.err
    assert "to test on, with no record in common" in done.err
    with sqlrl.connect(people / "same.duckdb") as db:
        layout = db.advanced.bind(sqlrl.read_model(people / "same.mln"))
        assert layout.predicates["Same"].atom_count == 70  # the scope is what it was
        split = db.split(0.25, by="record")
        db.scope("Same", split.test)
        scores = db.evaluate(db.predict(sqlrl.read_model(people / "out.json")), outside="ignore")
    assert f"held out: {scores}" in " ".join(done.err.split())


def test_a_run_that_fails_leaves_the_scope_as_it_was(run: Run, people: Path) -> None:
    asked = ["learn", people / "same.duckdb", "-m", people / "same.mln", "--holdout", "0.25", "--holdout-by", "record"]
    done = run(*asked, "--learner", "likelihood", "--limit", "1")
    assert done.code == 1
    assert "the limit of 1" in done.err
    with sqlrl.connect(people / "same.duckdb") as db, pytest.warns(sqlrl.errors.ScopeWarning):
        assert db.advanced.bind(sqlrl.read_model(people / "same.mln")).predicates["Same"].atom_count == 70


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--holdout", "20"], "--holdout 20 must be a share between 0 and 1"),
        (["--holdout", "0"], "--holdout 0 must be a share between 0 and 1"),
        (["--holdout-by", "bib"], "add --holdout SHARE"),
        (
            ["--holdout", "0.2", "--learner", "ilp"],
            "ilp alone learns clauses, which predict nothing; add --then likelihood",
        ),
        (
            ["--holdout", "0.2", "--holdout-by", "feild"],
            "--holdout-by feild is no type of an argument; did you mean 'field'",
        ),
    ],
)
def test_what_does_not_go_together(run: Run, lasting: Project, options: list[str], message: str) -> None:
    done = run("learn", lasting / "cite.duckdb", "-m", lasting / "chain.mln", *options)
    assert done.code in (1, 2)
    assert message in " ".join(done.err.replace("│", " ").split())
