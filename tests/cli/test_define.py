"""`sqlrl define`: rules as an argument, in a file, on standard input."""

from __future__ import annotations

from pathlib import Path

import pytest

import sqlrl
from tests.cli.conftest import Run

RULES = "Ancestor(x, y) :- Parent(x, y). Ancestor(x, z) :- Parent(x, y), Ancestor(y, z)."
PROLOG = "Ancestor(X, Y) :- Parent(X, Y). Ancestor(X, Z) :- Parent(X, Y), Ancestor(Y, Z)."


@pytest.fixture
def family(tmp_path: Path) -> Path:
    source = tmp_path / "parent.csv"
    source.write_text("a,b\nAnn,Bob\nBob,Cid\nCid,Dan\n", encoding="utf-8")
    with sqlrl.connect(tmp_path / "family.duckdb", progress=False) as db:
        db.load("Parent", source, types=["person", "person"])
    return tmp_path / "family.duckdb"


@pytest.mark.parametrize("way", ["argument", "file", "input", "prolog"])
def test_rules_define_a_predicate(run: Run, family: Path, way: str) -> None:
    if way == "argument":
        done = run("define", family, RULES, "--json")
    elif way == "file":
        (family.parent / "rules.txt").write_text(RULES, encoding="utf-8")
        done = run("define", family.parent / "rules.txt", "--db", family, "--json")
    elif way == "input":
        done = run("define", family, "-", "--json", stdin=RULES)
    else:
        done = run("define", family, PROLOG, "--variables", "upper", "--json")
    assert {row["predicate"]: row["facts"] for row in done.rows()} == {
        "Ancestor(person, person)": 6,
        "Parent(person, person)": 3,
    }


def test_what_is_no_definition_is_refused(run: Run, family: Path) -> None:
    for rules, words in {
        "rules.pl": ["'rules.pl' is neither a file nor a rule"],
        "Old(x) :- Parnt(x, y).": ["Parnt", "Parent"],
        "Old(x) :- Parent(x y).": ["^"],
        PROLOG: ["--variables upper"],
    }.items():
        done = run("define", family, rules)
        assert done.code == 1, rules
        assert all(word in done.err for word in words), done.err
    assert [row["predicate"] for row in run("load", family, "--refresh", "--json").rows()] == ["Parent(person, person)"]


def test_a_missing_database_is_not_created(run: Run, tmp_path: Path) -> None:
    assert run("define", tmp_path / "absent.duckdb", RULES).code == 1
    assert not (tmp_path / "absent.duckdb").exists()
