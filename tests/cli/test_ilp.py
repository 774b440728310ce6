"""`sqlrl learn --learner ilp`: the theory that is printed, what is kept, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import sqlrl
from sqlrl.training.fit import Fit
from tests.cli.conftest import Run

PARENTS = [
    ("Ann", "Bob"),
    ("Ann", "Eve"),
    ("Bob", "Cid"),
    ("Bob", "Dan"),
    ("Eve", "Fay"),
    ("Gus", "Hal"),
    ("Hal", "Ida"),
]
GRANDPARENTS = [("Ann", "Cid"), ("Ann", "Dan"), ("Ann", "Fay"), ("Gus", "Ida")]
BIAS = """\
:- set(noise, 0).
:- modeh(1, grandparent(+person,+person)).
:- modeb(*, parent(+person,-person)).
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database, loaded once."""
    folder = tmp_path_factory.mktemp("family")
    (folder / "family.modes").write_text(BIAS, encoding="utf-8")
    with sqlrl.connect(folder / "family.duckdb") as db:
        db.load("parent", PARENTS, types=["person", "person"])
        db.load("grandparent", GRANDPARENTS, types=["person", "person"], target=True)
    return folder


@pytest.fixture
def family(loaded: Path, tmp_path: Path) -> Path:
    """A copy that the test may change."""
    shutil.copytree(loaded, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_the_theory_is_printed_and_the_model_saved(run: Run, family: Path) -> None:
    out = family / "found.mln"
    done = run("learn", family / "family.duckdb", "--learner", "ilp", "--bias", family / "family.modes", "--out", out)
    assert done.code == 0, done.err
    title, header, _, row = done.out.strip().splitlines()
    assert title == "theory"
    assert header.split() == ["clause", "positives", "negatives", "score", "p_value", "seed"]
    clause = "parent(p1, p3) ^ parent(p3, p2) => grandparent(p1, p2)"
    assert row.startswith(clause)
    assert "clauses scored, 1 clause, 1 in the theory" in done.err
    assert clause in out.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_clauses_of_a_theory_are_the_model_of_a_learner_of_weights(run: Run, family: Path) -> None:
    out = family / "found.mln"
    assert (
        run("learn", family / "family.duckdb", "--learner", "ilp", "--bias", family / "family.modes", "--out", out).code
        == 0
    )
    weighted = run("learn", family / "family.duckdb", "--model", out, "--passes", "20", "--json")
    assert weighted.code == 0, weighted.err
    assert weighted.rows()[0]["weight"] > 0


def test_json_rows_are_all_clauses(run: Run, family: Path) -> None:
    options = ["--explore", "--noise", "100", "--keep-above", "0.01", "--command", "induce_max", "--json"]
    done = run("learn", family / "family.duckdb", "--learner", "ilp", "--query", "grandparent", *options)
    assert done.code == 0, done.err
    query = "select clause, positives, negatives, score, p_value, seed, in_theory from sqlrl.found_clauses"
    assert run("sql", family / "family.duckdb", query, "--json").rows() == done.rows()
    assert {row["in_theory"] for row in done.rows()} == {True, False}


def test_the_query_names_one_of_several_heads(run: Run, family: Path) -> None:
    modes = family / "two.modes"
    modes.write_text(
        f"{(family / 'family.modes').read_text()}\n:- modeh(1, parent(+person,+person)).\n", encoding="utf-8"
    )
    options = ["--learner", "ilp", "--bias", modes]
    done = run("learn", family / "family.duckdb", *options)
    assert "2 heads (grandparent, parent): choose the predicate to learn, as --query grandparent" in " ".join(
        done.err.split()
    )
    done = run(
        "learn", family / "family.duckdb", *options, "--query", "grandparent", "--evaluation", "mestimate", "--m", "2"
    )
    assert done.code == 0, done.err
    assert "parent(p1, p3) ^ parent(p3, p2) => grandparent(p1, p2)" in done.out
    stored = run(
        "sql",
        family / "family.duckdb",
        "select parameters ->> 'm' as m from sqlrl.run order by run desc limit 1",
        "--json",
    )
    assert stored.rows() == [{"m": "2.0"}]


def test_a_model_gives_the_declarations(run: Run, family: Path) -> None:
    model = family / "start.mln"
    model.write_text("parent(person, person)\ngrandparent(person, person)\n!grandparent(x, x).\n", encoding="utf-8")
    options = ["--bias", family / "family.modes", "--model", model, "--out", "-"]
    done = run("learn", family / "family.duckdb", "--learner", "ilp", *options)
    assert done.code == 0, done.err
    assert "!grandparent(x, x)." in done.out
    assert "parent(p1, p3) ^ parent(p3, p2) => grandparent(p1, p2)" in done.out


def test_ctrl_c_says_what_is_kept(run: Run, family: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = Fit.step

    def stop(fit: Fit, *given: Any, **options: Any) -> None:
        step(fit, *given, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(Fit, "step", stop)
    done = run("learn", family / "family.duckdb", "--learner", "ilp", "--bias", family / "family.modes")
    assert done.code == 130
    assert "interrupted; what was finished is kept" in done.err
    assert (
        "run 1 is kept as interrupted, with the best clauses up to seed 1, 1 clause in the theory, 1 in all" in done.err
    )
    assert "`sqlrl sql` with 'from sqlrl.found_clauses' shows them" in done.err
    (row,) = run("sql", family / "family.duckdb", "from sqlrl.found_clauses", "--json").rows()
    assert (row["in_theory"], row["run"]) == (True, 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--learner", "ilp"], ["--learner ilp needs to know what to learn", "--bias FILE"]),
        (["--learner", "ilp", "--query", "a,b"], ["--query names 2 predicates"]),
        (["--learner", "ilp", "--bias", "absent.modes"], ["absent.modes"]),
        (["--learner", "ilp", "--bias", "modeh(1, p(+a))."], ["if this is the text itself, save it in a file and name that"]),
        (["--learner", "ilp", "--query", "grandfather"], ["there is no predicate 'grandfather'", "grandparent"]),
        (["--learner", "ilp", "--query", "grandparent", "--learning-rate", "1"], ["--learning-rate is an option of adagrad, cd", "ilp has no such number"]),
        (["--learner", "ilp", "--query", "grandparent", "--nodes", "0"], ["--nodes 0: give an integer of at least 1"]),
        (["--learner", "ilp", "--query", "grandparent", "--evidence", "a.db"], ["--evidence does not go with --learner ilp"]),
        (["--learner", "ilp", "--query", "grandparent", "--m", "often", "--evaluation", "mestimate"], ["--m often is not a finite number", "or `likelihood`; without it, the root"]),
        (["--learner", "ilp", "--query", "grandparent", "--bottom-limit", "1"], ["more than the limit of 1", "raise --bottom-limit"]),
        (["--learner", "ilp", "--query", "grandparent", "--limit", "1"], ["raise --limit"]),
        (["--nodes", "7", "--model", "a.mln"], ["--nodes is an option of ilp: adagrad"]),
        ([], ["--model FILE is missing"]),
    ],
)  # fmt: skip
def test_wrong_options_are_named(run: Run, family: Path, options: list[str], words: list[str]) -> None:
    done = run("learn", family / "family.duckdb", *options)
    said = " ".join(done.err.replace("│", " ").split())
    assert done.code != 0
    assert all(word in said for word in words), said
    assert "Traceback" not in said


def test_a_bias_is_printed_to_be_edited(run: Run, family: Path) -> None:
    done = run("bias", family / "family.duckdb", "grandparent")
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == ":- modeh(1, grandparent(+person,+person))."
    assert ":- modeb(10, parent(+person,-person))." in done.out.splitlines()
    (family / "printed.modes").write_text(done.out, encoding="utf-8")
    learned = run("learn", family / "family.duckdb", "--learner", "ilp", "--bias", family / "printed.modes", "--json")
    assert "parent(p1, p3) ^ parent(p3, p2) => grandparent(p1, p2)" in [row["clause"] for row in learned.rows()]
    rows = run(
        "bias", "grandparent", "--db", family / "family.duckdb", "--constants", "0", "--body", "parent", "--json"
    )
    assert {row["mode"] for row in rows.rows()} <= set(done.out.splitlines())
    refused = run("bias", family / "family.duckdb", "grandparent", "--body", "parents")
    assert refused.code == 1
    assert "parent" in refused.err


def test_options_reach_the_learner(run: Run, loaded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[dict[str, object]] = []
    monkeypatch.setattr("sqlrl.cli.learn.induce", lambda inputs, own, *_, **__: found.append(own))
    options = ["--distinct", "coverage", "--keep-coverage", "--below-seed", "--explore", "--keep-above", "0"]
    assert run("learn", loaded / "family.duckdb", "--learner", "ilp", "--query", "grandparent", *options).code == 0
    wanted = {"distinct": "coverage", "keep_coverage": True, "above_seed": False, "explore": True, "keep_above": 0.0}
    assert {name: found[0][name] for name in wanted} == wanted


@pytest.mark.slow
def test_what_a_theory_may_have_and_what_is_kept(run: Run, family: Path) -> None:
    db, bias = family / "family.duckdb", family / "family.modes"
    common = (
        "learn",
        db,
        "--learner",
        "ilp",
        "--bias",
        bias,
        "--keep-above",
        "0",
        "--explore",
        "--noise",
        "40",
        "--json",
    )
    same = len(run(*common).rows())
    assert len(run(*common, "--distinct", "coverage").rows()) < same
    covered = "select count(distinct candidate) n from sqlrl.coverage where run = (select max(run) from sqlrl.run)"
    few = run("sql", db, covered, "--json").rows()[0]["n"]
    assert len(run(*common, "--keep-coverage").rows()) == same
    assert run("sql", db, covered, "--json").rows()[0]["n"] == same > few
    weak = (*common[:6], "--noise", "100", "--min-score", "0", "--clause-length", "1", "--json")
    assert run(*weak).rows() == []
    assert [row["clause"] for row in run(*weak, "--below-seed").rows()] == ["grandparent(p1, p2)"]


def test_the_bar_of_a_seed_is_said_with_its_option(run: Run, family: Path) -> None:
    common = ("learn", family / "family.duckdb", "--learner", "ilp", "--bias", family / "family.modes")
    done = run(*common, "--noise", "100", "--min-score", "0", "--clause-length", "1")
    assert "above_seed" not in done.err
    assert "--below-seed" in done.err


def test_facts_in_a_mode_file_are_told_the_commands_that_take_them(run: Run, family: Path) -> None:
    (family / "facts.modes").write_text("parent(ann, bob).", encoding="utf-8")
    done = run("learn", family / "family.duckdb", "--learner", "ilp", "--bias", family / "facts.modes")
    assert "load facts with `sqlrl load` and write rules with `sqlrl define`" in done.err
