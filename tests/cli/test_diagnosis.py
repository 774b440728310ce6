"""`sqlrl diagnose` and `sqlrl learn --learner transfer`: what is printed and kept, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import sqlrl
from tests.cli.conftest import Run

ZOO = "Bird(animal)\nPenguin(animal)\nFlies(animal)\n1 Bird(x) => Flies(x)\n1 Penguin(x) => Bird(x)\n"
FARM = "Poultry(beast)\nDuck(beast)\nWings(beast)\nTail(beast)\n1 Poultry(x) => Wings(x)\n1 Duck(x) => Poultry(x)\n2 Tail(x) => Wings(x)\n"
MAPPING = "Poultry -> Bird\nDuck -> Penguin\nWings -> Flies\nTail -> None\n"


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty birds, ten of which are penguins, and a cat; files of rules and a mapping beside the database."""
    folder = tmp_path_factory.mktemp("zoo")
    with sqlrl.connect(folder / "zoo.duckdb") as db:
        birds = [(f"b{i:02}",) for i in range(30)]
        db.load("Bird", birds, types=["animal"])
        db.load("Penguin", birds[:10], types=["animal"])
        db.load("Flies", birds[10:], types=["animal"])
        db.load("Swims", [*birds[:10], ("cat",)], types=["animal"])
    (folder / "zoo.mln").write_text(ZOO, encoding="utf-8")
    (folder / "farm.mln").write_text(FARM, encoding="utf-8")
    (folder / "farm.map").write_text(MAPPING, encoding="utf-8")
    return folder


def test_a_diagnosis_is_shown_and_kept(run: Run, zoo: Path) -> None:
    done = run("diagnose", zoo / "zoo.duckdb", "--model", zoo / "zoo.mln", "--kind", "paper", "--groundings", "2")
    assert done.code == 0, done.err
    assert "Bird(x) => Flies(x): of Bird and Flies too general (32 % against the truth)\n" in done.err
    assert done.out.count('!Bird("b0') == 4
    rows = run(
        "diagnose", zoo / "zoo.duckdb", "--model", zoo / "zoo.mln", "--kind", "paper", "--json", "--quiet"
    ).rows()
    first = {row["target"]: row for row in rows if row["rule"] == 0}
    # Ten birds do not fly, twenty do, and the cat is no bird.
    assert [first["Flies"][name] for name in ("applies_good", "applies_bad", "idle_good", "idle_bad")] == [20, 10, 1, 0]
    kept = run("sql", zoo / "zoo.duckdb", "select count(*) as n from sqlrl.diagnosis", "--json").rows()
    assert kept == [{"n": 2 * len(rows)}]
    none = run("diagnose", zoo / "zoo.duckdb", "--model", zoo / "zoo.mln", "--kind", "paper", "--threshold", "0.9")
    assert "no rule is marked" in none.err


LIST = """Bird(x) => Flies(x)
2 Penguin(x) => Bird(x).
Penguin(x) ^ Swims(x) => !Flies(x)
Birds fly.
Fish(x) => Swims(x)
Swims(x) => Penguin(x).
"""


@pytest.mark.parametrize("text", ["", "Birds fly.", "birds fly", "Bird(x) => Flies(x)", "1. Bird(x) => Flies(x)"])
def test_any_text_of_standard_input_is_a_list_of_rules(run: Run, zoo: Path, text: str) -> None:
    done = run("diagnose", zoo / "zoo.duckdb", "--model", "-", "--json", "--quiet", stdin=text)
    assert done.code == 0, done.err
    rows = done.rows()
    assert len(rows) == bool(text)
    for row in rows:
        assert (row["problem"] is None) == ("=>" in text)


def test_a_list_of_rules_is_put_on_trial(run: Run, zoo: Path) -> None:
    (zoo / "list.mln").write_text(LIST, encoding="utf-8")
    done = run("diagnose", zoo / "zoo.duckdb", "--model", zoo / "list.mln")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert "Swims(x) => Penguin(x)." in lines[3]
    assert "hard, but violated in 1 of 11 cases where it applies (9 %)" in lines[3]
    assert "violated in 10 of 30 cases where it applies (33 %)" in lines[4]
    assert "not counted: a weight and a final '.' contradict each other" in done.out
    assert "not counted: unknown predicate 'Fish'; did you mean 'Flies'?" in done.out
    rows = run("diagnose", zoo / "zoo.duckdb", "--model", zoo / "list.mln", "--json", "--quiet").rows()
    assert [row["rule"] for row in rows] == [5, 0, 2, 1, 3, 4]
    assert [row["violations"] for row in rows] == [1, 10, 0, None, None, None]
    listed = run("sql", zoo / "zoo.duckdb", rows[0]["violating_sql"], "--json").rows()
    assert listed == [{"x": "cat"}]
    kept = run("sql", zoo / "zoo.duckdb", "select rule, violations from sqlrl.rule_quality", "--json").rows()
    assert kept[:6] == [{"rule": row["rule"], "violations": row["violations"]} for row in rows]
    again = run("diagnose", zoo / "zoo.duckdb", "--model", "-", "--json", "--quiet", stdin=LIST).rows()
    assert again == rows
    dropped = run("diagnose", zoo / "zoo.duckdb", "--model", zoo / "list.mln", "--drop", "Penguin", "--json", "--quiet")
    assert [row["rule"] for row in dropped.rows()] == [0, 1, 3, 4]


def test_a_model_is_carried_over(run: Run, zoo: Path, tmp_path: Path) -> None:
    out = tmp_path / "learned.mln"
    done = run(
        "learn", zoo / "zoo.duckdb", "--model", zoo / "farm.mln", "--learner", "transfer", "--mapping", zoo / "farm.map",
        "--max-literals", "3", "--out", out,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "rules left out" in done.out
    assert "the mapping has no counterpart for Tail" in done.out
    assert "candidates by " in done.err
    learned = sqlrl.read_mln(out)
    assert {"Bird", "Penguin", "Flies", "Swims"} == set(learned.predicates)
    # Of the rule that is wrong of penguins one is made that leaves them out.
    assert "Bird(x) ^ !Penguin(x) => Flies(x)" in str(learned), str(learned)


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("diagnose", ("--kind", "paper", "--threshold", "10"), "--threshold 10.0 must be above 0 and below 1"),
        ("diagnose", ("--samples", "0"), "Invalid value for '--samples'"),
        ("diagnose", ("--query", "Wings"), "Wings"),
        (
            "diagnose",
            ("--threshold", "0.2", "--groundings", "1"),
            "--threshold 0.2, --groundings 1: a diagnosis of kind 'quality' has no such option; pass --kind paper",
        ),
        ("learn", (), "the data have no"),
        ("learn", ("--mapping", "no.map"), "no.map"),
        ("learn", ("--mapping", "farm.map", "--threshold", "1"), "--threshold 1"),
        ("learn", ("--mapping", "farm.map", "--beam", "0"), "--beam 0"),
        ("learn", ("--mapping", "farm.map", "--query", "Flies"), "--query does not go with --learner transfer"),
        ("learn", ("--mapping", "farm.map", "--drop", "Flies"), "--drop does not go with --learner transfer"),
        ("learn", ("--mapping", "twice.map"), "twice.map:2:1: Bird is already the counterpart of Poultry"),
        ("learn", ("--mapping", "farm.map", "--modes", "x"), "--modes is an option of osl: transfer has no such"),
    ],
)
def test_what_is_wrong_is_said(run: Run, zoo: Path, command: str, options: tuple[str, ...], message: str) -> None:
    (zoo / "twice.map").write_text("Poultry -> Bird\nDuck -> Bird\n", encoding="utf-8")
    given = [zoo / x if x.endswith(".map") else x for x in options]
    learner = ["--learner", "transfer"] if command == "learn" else []
    model = zoo / ("farm.mln" if command == "learn" else "zoo.mln")
    done = run(command, zoo / "zoo.duckdb", "--model", model, *learner, *given)
    assert done.code in (1, 2)
    assert message in " ".join(done.err.replace("\u2502", " ").split())


def test_a_model_is_needed(run: Run, zoo: Path) -> None:
    done = run("learn", zoo / "zoo.duckdb", "--learner", "transfer")
    assert "--model FILE is missing: it is what is carried over" in " ".join(done.err.replace("\u2502", " ").split())
