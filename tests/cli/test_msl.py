"""`sqlrl learn --learner msl`: what is printed, with a model and without, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import sqlrl
from tests.cli.conftest import Run


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of couples who live together."""
    path = tmp_path_factory.mktemp("town") / "town.duckdb"
    couples = [(f"Ann{k}", f"Bob{k}") for k in range(6)]
    with sqlrl.connect(path) as db:
        db.load("Married", [pair for a, b in couples for pair in ((a, b), (b, a))], types=["person", "person"])
        db.load("Lives", [(x, f"h{k}") for k, pair in enumerate(couples) for x in pair], types=["person", "house"])
    return path


def test_clauses_are_found_without_a_model(run: Run, town: Path, tmp_path: Path) -> None:
    out = tmp_path / "found.mln"
    done = run("learn", town, "--learner", "msl", "--max-literals", "3", "--literal-cost", "0.02", "--out", out)
    assert done.code == 0, done.err
    assert "clauses that were found, in order" in done.out
    assert "candidates by " in done.err
    rule = "Lives(v0, v1) v !Lives(v2, v1) v !Married(v2, v0)"
    assert rule in done.out
    model = sqlrl.read_mln(out)
    assert {p: model.predicates[p].types for p in model.predicates} == {
        "Lives": ("person", "house"),
        "Married": ("person", "person"),
    }
    assert sum("v" in str(each.formula) for each in model.rules) == len(model.rules)


@pytest.mark.slow
def test_a_model_that_was_found_is_one_to_begin_with(run: Run, town: Path, tmp_path: Path) -> None:
    out, rule = tmp_path / "found.mln", "Lives(v0, v1) v !Lives(v2, v1) v !Married(v2, v0)"
    out.write_text(f"Lives(person, house)\nMarried(person, person)\n1 {rule}\n", encoding="utf-8")
    again = run(
        "learn", town, "--learner", "msl", "--max-literals", "3", "--literal-cost", "0.2", "--model", out, "--json"
    )
    assert again.code == 0, again.err
    assert rule in [row["clause"] for row in again.rows()]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--query", "Lives"), "--query needs --model FILE"),
        (("--drop", "Lives"), "--drop needs --model FILE"),
        (("--evidence", "town.db"), "--evidence needs --model FILE"),
        (("--holdout", "0.2"), "--holdout is an option of learners with a target"),
        (("--start", "town.mln"), "--start is an option of learners of weights: msl learns clauses"),
        (("--beam", "0"), "--beam 0: give an integer of at least 1, a step must go on from some clause"),
        (("--max-literals", "0"), "--max-literals 0: give an integer of at least 1"),
        (("--literal-cost", "-1"), "--literal-cost -1"),
        (("--strength", "0.1,1"), "--strength 0.1,1: msl takes one number"),
        (("--strength", "0"), "--strength 0"),
        (("--random-state", "3"), "msl sees all examples at once"),
        (("--noise", "3"), "--noise is an option of ilp"),
    ],
)
def test_what_it_does_not_take_is_refused(run: Run, town: Path, options: tuple[str, ...], message: str) -> None:
    done = run("learn", *(() if "--evidence" in options else (town,)), "--learner", "msl", *options)
    assert done.code == 2 if "learners" in message else done.code in (1, 2)
    assert message in " ".join(done.err.replace("\u2502", " ").split())
