"""`sqlrl audit`: what is printed, as text and as JSON, and what is refused."""

from __future__ import annotations

import re
from itertools import permutations
from pathlib import Path

import pytest

import sqlrl
from tests.cli.conftest import Run

TEAMS = [f"t{k}" for k in range(9)]
PAIRS = list(permutations(TEAMS, 2))


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine teams, each of which beats those after it."""
    path = tmp_path_factory.mktemp("league") / "league.duckdb"
    with sqlrl.connect(path) as db:
        db.load("Beats", [pair for pair in PAIRS if pair[0] < pair[1]], types=["team", "team"], target=True)
        db.scope("Beats", PAIRS)
        db.load("Fold", [(a, b, f"f{k % 3}") for k, (a, b) in enumerate(PAIRS)], types=["team", "team", "fold"])
        db.load("Home", [(team,) for team in TEAMS], types=["team"])
    return path


def test_findings_are_printed_with_their_sql_and_the_baselines(run: Run, league: Path) -> None:
    done = run("audit", league, "Beats", "--folds", "Fold")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "Beats, 3 folds of query atoms: 3 findings"
    assert lines[1] == "1. antisymmetry: in all the data, all 36 true atoms have a reverse, Beats(y, x), that is false"
    assert re.search(r"^Bradley-Terry +team +72 ", done.out, re.MULTILINE)
    shown = run("sql", league, lines[2].strip(), "--json").rows()
    assert len(shown) == 36
    kept = run("sql", league, "select kind, count from sqlrl.leaks", "--json").rows()
    assert kept[0] == {"kind": "antisymmetry", "count": 36}
    assert [row["kind"] for row in kept] == re.findall(r"^\d\. ([a-z ]+):", done.out, re.MULTILINE)


@pytest.mark.slow
def test_findings_are_rows_of_json(run: Run, league: Path) -> None:
    rows = run("audit", league, "Beats", "--folds", "4", "--random-state", "1", "--json", "--quiet").rows()
    assert list(rows[0]) == ["kind", "predicate", "what", "count", "share", "severity", "show_sql"]
    with sqlrl.connect(league, read_only=True) as db:
        for row in rows:
            assert len(db.sql(row["show_sql"]).fetchall()) == row["count"]
    query = "select team, team_2, fold from sqlrl.named_Fold"
    by_query = run("audit", league, "Beats", "--folds", query, "--json", "--quiet").rows()
    by_name = run("audit", league, "Beats", "--folds", "Fold", "--json", "--quiet").rows()
    assert [row["what"] for row in by_query] == [row["what"] for row in by_name]


def test_two_parts_are_given_as_queries_and_files(run: Run, league: Path, tmp_path: Path) -> None:
    test = tmp_path / "test.csv"
    test.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in PAIRS[:10]), encoding="utf-8")
    train = f"select team, team_2 from sqlrl.named_Fold anti join '{test}' on team = a and team_2 = b"
    rows = run("audit", league, "Beats", "--train", train, "--test", test, "--json", "--quiet").rows()
    (found,) = [row for row in rows if row["kind"] == "opposite reverse"]
    assert found["count"] == sum((b, a) not in PAIRS[:10] for a, b in PAIRS[:10])
    model = tmp_path / "league.mln"
    model.write_text("Beats(team, team)\nHome(team)\n", encoding="utf-8")
    assert run("audit", league, "Beats", "--model", model, "--json", "--quiet").code == 0


def test_what_was_not_looked_for_is_said_beside_json(run: Run, league: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlrl.database.audit.MOST_PAIRS", -1)
    for words, place in ((["--json"], "err"), ([], "out")):
        done = run("audit", league, "Beats", "--folds", "Fold", "--near", "0.9", *words)
        assert done.code == 0
        (said,) = [line for line in getattr(done, place).splitlines() if "were not looked for" in line]
        assert said.endswith("give a larger --near")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["Beat"], "there is no predicate 'Beat'; did you mean 'Beats'?"),
        (["Home"], "Home is closed, so there is nothing to audit: load its labels with --target"),
        (["Beats", "--folds", "1"], "--folds 1 must lie between 2 and the number of units"),
        (["Beats", "--folds", " "], "--folds is empty"),
        (["Beats", "--folds", "Home"], "Home(team) does not say which fold a query atom of Beats is in"),
        (["Beats", "--train", "select 't0', 't1'"], "--test is missing: give both --train and --test, or --folds"),
        (["Beats", "--near", "0.2"], "--near 0.2 must be a Jaccard similarity from 0.5 to 1"),
    ],
)
def test_what_is_given_wrongly_is_said(run: Run, league: Path, words: list[str], message: str) -> None:
    done = run("audit", league, *words)
    assert (done.code, done.out) == (1, "")
    assert message in done.err
