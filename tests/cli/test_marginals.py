"""`sqlrl infer --probabilities` and `sqlrl why`."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import sqlrl
from tests.cli.conftest import Project, Run


def options(project: Project) -> list[object]:
    return ["--model", project / "smokers.mln", "--evidence", project / "smokers.db", "--query", "Cancer"]


def test_probabilities_of_evidence_files(run: Run, project: Project) -> None:
    done = run("infer", *options(project), "--probabilities", "--json")
    assert done.code == 0, done.err
    anna = 1 / (1 + math.exp(-0.5))
    rows = {row["person"]: row["probability"] for row in done.rows()}
    assert rows == pytest.approx({"Anna": anna, "Bob": 0.5, "Chris": 0.5}, rel=1e-12)
    assert {row["method"] for row in done.rows()} == {"logistic"}
    assert "Probabilities of Cancer: 3 query atoms, all exact" in done.err
    shown = run("infer", *options(project), "--probabilities").out
    assert "0.622459" in shown


def test_sampling_options_and_warnings(run: Run, project: Project) -> None:
    done = run("infer", *options(project), "--probabilities", "--method", "mcsat", "--samples", "3", "--chains", "2")
    assert done.code == 0, done.err
    assert "3 of 2 chain" in done.err
    assert done.err.count("warning") == 1
    assert "draw more (--samples)" in done.err


def test_tables_of_a_database(run: Run, project: Project) -> None:
    done = run(
        *("infer", project / "cite.duckdb", "--model", project / "learned.json", "--examples", project / "test.txt"),
        *("--probabilities", "--into", "p", "--samples-into", "drawn", "--means-into", "means", "--samples", "20"),
    )
    assert done.code == 0, done.err
    assert "the probabilities are in p" in done.err
    assert "what was sampled is in drawn, means" in done.err
    query = "select bib, position, round(sum(probability), 6) as total from p group by all having total > 1.000001"
    assert run("sql", project / "cite.duckdb", query, "--json").rows() == []
    rows = run("sql", project / "cite.duckdb", "select count(distinct sample) as n from drawn", "--json").rows()
    assert rows == [{"n": 20}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--samples", "5"], "--samples is about probabilities: add --probabilities"),
        (["--chains", "5", "--burn-in", "1"], "--burn-in, --chains are about probabilities"),
        (["--method", "gibbs"], "finds probabilities: add --probabilities"),
        (["--probabilities", "--method", "cpsat"], "--method cpsat finds a most probable world"),
        (["--probabilities", "--all"], "--all is about a most probable world"),
        (["--probabilities", "--deterministic-limit", "3"], "--deterministic-limit is about a most probable world"),
        (["--probabilities", "--samples-into", "x"], "needs a database that can be written"),
        (["--probabilities", "--samples", "0"], "give at least 1, not '0'"),
    ],
)
def test_options_that_do_not_go_together(run: Run, lasting: Project, arguments: list[str], message: str) -> None:
    done = run("infer", *options(lasting), *arguments)
    assert done.code == 2
    assert message in " ".join(done.err.replace("│", " ").split())


def test_evaluate_scores_probabilities_as_the_library_does(run: Run, project: Project) -> None:
    arguments = ["evaluate", project / "cite.duckdb", "--model", project / "learned.json", "--probabilities"]
    arguments += ["--examples", project / "test.txt"]
    done = run(*arguments, "--json")
    assert done.code == 0, done.err
    with sqlrl.connect(project / "cite.duckdb") as db:
        examples = (project / "test.txt").read_text(encoding="utf-8").split()
        scores = db.evaluate(db.probabilities(sqlrl.read_model(project / "learned.json"), examples=examples))
    assert done.rows() == scores.table().to_pylist()
    assert str(scores) in done.err
    bins = run(*arguments, "--calibration", "--json").rows()
    assert bins == scores.calibration.table().to_pylist()
    assert len(bins) == 10
    done = run(*arguments, "--by-example", "--json")
    rankings = scores.by_example()
    assert [row["example"] for row in done.rows()] != examples
    assert sorted(done.rows(), key=lambda row: row["example"]) == sorted(
        rankings.table().to_pylist(), key=lambda row: row["example"]
    )
    worst = [row["average_precision"] for row in done.rows()]
    assert worst == sorted(worst)
    assert str(rankings) in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--probabilities", "--by-example", "--calibration"], "--calibration and --by-example are two tables"),
        (["--by-example", "--calibration"], "--calibration and --by-example are two tables"),
        (["--calibration"], "--calibration is about probabilities: add --probabilities"),
        (["--samples", "5"], "--samples is about probabilities: add --probabilities"),
        (["--method", "mcsat"], "--method mcsat finds probabilities: add --probabilities"),
    ],
)
def test_options_of_evaluate_that_do_not_go_together(
    run: Run, lasting: Project, arguments: list[str], message: str
) -> None:
    done = run("evaluate", *options(lasting), *arguments)
    assert done.code == 2
    assert message in " ".join(done.err.replace("│", " ").split())


def test_why(run: Run, project: Project) -> None:
    done = run("why", *options(project), "--atom", "Cancer(Anna)", "-a", "Cancer(Bob)")
    assert done.code == 0, done.err
    assert "Cancer(Anna) is predicted true; margin 0.5" in done.out
    assert "Smokes(Anna) => [Cancer(Anna)]" in done.out
    assert "Cancer(Bob) is predicted false; margin 0" in done.out
    (row,) = run("why", *options(project), "--atom", "Cancer(Anna)", "--json").rows()
    assert row == {
        "atom": "Cancer(Anna)",
        "truth": True,
        "margin": 0.5,
        "side": "for",
        "clause": "Smokes(x) => Cancer(x)",
        "ground_clause": "!Smokes(Anna) v Cancer(Anna)",
        "weight": 0.5,
        "times": 1,
        "contribution": 0.5,
    }


def test_why_is_kept_for_sql(run: Run, project: Project) -> None:
    database = project / "cite.duckdb"
    given = ["--model", project / "learned.json", "--examples", project / "test.txt"]
    done = run("why", database, *given, "--atom", "InField(b0021, Author, p00)", "--keep", "--neutral", "--json")
    assert done.code == 0, done.err
    kept = run("sql", database, "select side, ground_clause, contribution from sqlrl.explanation", "--json").rows()
    assert kept == [{k: row[k] for k in ("side", "ground_clause", "contribution")} for row in done.rows()]
    assert {row["side"] for row in kept} >= {"for"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--atom", "Cancer(Ann)"], "did you mean 'Anna'"),
        (["--atom", "Smokes(Bob)"], "Smokes is evidence and not predicted; Cancer is"),
        (["--atom", "Cancer(Anna)", "--example", "x"], "no query atom of an example 'x'"),
    ],
)
def test_atoms_that_are_not_there(
    run: Run, lasting: Project, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(*_: object, **__: object) -> None:
        raise AssertionError("predicted before the atom was looked up")

    monkeypatch.setattr("sqlrl.database.database.Database.predict", too_late)
    done = run("why", *options(lasting), *arguments)
    assert done.code == 1
    assert message in done.err


def test_why_needs_an_atom_and_a_database_to_keep_it_in(run: Run, lasting: Project) -> None:
    assert run("why", *options(lasting)).code == 2
    assert run("why", *options(lasting), "--atom", "Cancer(Anna)", "--keep").code == 2


def test_a_command_warns_once(run: Run, tmp_path: Path) -> None:
    """`why` binds its model for the atom, for the prediction and for the reasons."""
    with sqlrl.connect(tmp_path / "people.duckdb") as db:
        db.load("Friends", [("Anna", "Bob")], types=("person", "person"))
        db.load("Smokes", [("Anna",), ("Bob",)], types=("person",), target=True)
        db.scope("Smokes", "select 'Anna'")
    model = tmp_path / "model.mln"
    model.write_text("Friends(person, person)\nSmokes(person)\n1 Friends(x, y) => Smokes(x)\n")
    done = run("why", tmp_path / "people.duckdb", "--model", model, "--atom", "Smokes(Anna)")
    assert done.code == 0, done.err
    assert done.err.count("1 label of Smokes lies outside the scope") == 1


@pytest.mark.parametrize(
    "weight", [pytest.param(20, marks=pytest.mark.slow), -25, pytest.param(16.123456789, marks=pytest.mark.slow)]
)
def test_json_has_all_digits(run: Run, tmp_path: Path, weight: float) -> None:
    (tmp_path / "sure.mln").write_text(f"P(t)\nQ(t)\n{weight} P(x) => Q(x)\n", encoding="utf-8")
    (tmp_path / "sure.db").write_text("P(A)\n", encoding="utf-8")
    options = ("--model", tmp_path / "sure.mln", "--evidence", tmp_path / "sure.db", "--query", "Q", "--probabilities")
    (row,) = run("infer", *options, "--json").rows()
    assert 0 < row["probability"] < 1
    assert row["probability"] == pytest.approx(1 / (1 + math.exp(-weight)), rel=1e-12)


def test_errors_of_json_are_not_rounded(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pairs.mln").write_text("P(t)\nQ(t)\n0.3 P(x) ^ P(y) ^ Q(x) => Q(y)\n", encoding="utf-8")
    (tmp_path / "pairs.db").write_text("P(A)\nP(B)\nP(C)\n", encoding="utf-8")
    options = (
        "--model",
        tmp_path / "pairs.mln",
        "--evidence",
        tmp_path / "pairs.db",
        "--query",
        "Q",
        "--probabilities",
    )
    drawn = run("infer", *options, "--json", "--method", "gibbs", "--samples", "50").rows()
    assert {row["method"] for row in drawn} == {"gibbs"}
    for row in drawn:
        assert {"rhat", "ess"} <= row.keys()
        assert row["error"] != float(f"{row['error']:.2g}")
        assert row["probability"] != round(row["probability"], 6)
