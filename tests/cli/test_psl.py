"""`sqlrl psl`: programs with their data, and rule files over a database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sqlrl
from sqlrl.errors import ParseError, ScriptError, UnsupportedError
from tests.cli.conftest import Run

PROGRAM = {
    "rules": ["2: Friends(A, B) & Smokes(A) -> Smokes(B) ^2", "1: !Smokes(A) ^2"],
    "predicates": {
        "Friends/2": {"observations": [["Anna", "Bob"], ["Bob", "Chris"]]},
        "Smokes/1": {"observations": [["Anna"]], "targets": [["Bob"], ["Chris"]], "truth": [["Bob", 1], ["Chris", 0]]},
    },
}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "smokers.json"
    path.write_text(json.dumps(PROGRAM), encoding="utf-8")
    return path


def test_a_program_is_inferred_on_its_own_data(run: Run, program: Path) -> None:
    done = run("psl", program, "--json")
    assert done.code == 0, done.err
    assert {row["UniqueStringID"]: row["value"] for row in done.rows()} == pytest.approx(
        {"Bob": 6 / 11, "Chris": 4 / 11}, abs=1e-4
    )
    assert "status      optimal" in done.err


def test_values_are_compared_with_the_truths(run: Run, program: Path) -> None:
    done = run("psl", program, "--evaluate", "--json")
    assert done.code == 0, done.err
    (row,) = done.rows()
    assert row["mean_absolute_error"] == pytest.approx((5 / 11 + 4 / 11) / 2, abs=1e-4)
    assert (row["auc_roc"], row["f1"], row["atoms"]) == (1.0, 1.0, 2)
    assert run("psl", program, "--evaluate", "--threshold", "0.6", "--json").rows()[0]["recall"] == 0.0


def test_what_pushes_an_atom_is_listed(run: Run, program: Path) -> None:
    rows = run("psl", program, "--atom", "Smokes(Chris)", "--json").rows()
    assert {(row["side"], row["hinge"]) for row in rows} == {
        ("down", "Smokes(Chris)"),
        ("up", "Smokes(Bob) - Smokes(Chris)"),
    }


def test_a_rule_file_is_inferred_over_a_database(run: Run, tmp_path: Path) -> None:
    rules, path = tmp_path / "rules.psl", tmp_path / "people.duckdb"
    rules.write_text("\n".join(PROGRAM["rules"]), encoding="utf-8")
    with sqlrl.connect(path, progress=False) as db:
        db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")], types=["person", "person"])
        db.load("Smokes", [("Anna",)], types=["person"], given=True)
    done = run("psl", rules, path, "--into", "smokers", "--keep")
    assert done.code == 0, done.err
    assert "the values are in smokers" in done.err
    with sqlrl.connect(path, progress=False) as db:
        found = dict(db.sql("select person, value from smokers").fetchall())
        kept = db.sql("select value from sqlrl.truth_value order by value").fetchall()
    assert found == pytest.approx({"Bob": 6 / 11, "Chris": 4 / 11}, abs=1e-4)
    assert [value for (value,) in kept] == sorted(found.values())
    again = run("psl", rules, path, "--into", "smokers")
    assert (again.code, "smokers" in again.err) == (1, True)


WRONG = [
    (["--into", "t"], 2, "--into needs a DATABASE"),
    (["--keep"], 2, "--keep needs a DATABASE that can be written"),
    (["--evaluate", "--atom", "Smokes(Bob)"], 2, "--evaluate prints scores"),
    (["--atom", "Smokes(Bo)"], 1, "there is no UniqueStringID 'Bo'"),
    (["--query", "Smoke"], 1, "Smoke"),
]


@pytest.mark.parametrize(("options", "code", "message"), WRONG)
def test_wrong_options_are_refused(run: Run, program: Path, options: list[str], code: int, message: str) -> None:
    done = run("psl", program, *options)
    assert (done.code, message in " ".join(done.err.split())) == (code, True), done.err


def test_data_outside_of_the_folder_of_a_stranger_are_not_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "program").mkdir()
    (tmp_path / "secret.txt").write_text("a\n", encoding="utf-8")
    path = tmp_path / "program" / "p.json"
    text = {"rules": ["1: !Q(A)"], "predicates": {"Q/1": {"targets": ["../secret.txt"]}}}
    path.write_text(json.dumps(text), encoding="utf-8")
    assert run("psl", path).code == 0
    done = run("psl", path, "--untrusted")
    assert done.code == 1
    assert "leads out of" in done.err


def test_missing_data_are_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    text = {"rules": ["1: !Q(A)"], "predicates": {"Q/1": {"targets": ["gone.txt"], "truth": ["lost.txt"]}}}
    path.write_text(json.dumps(text), encoding="utf-8")
    done = run("psl", path)
    assert done.code == 1
    assert "gone.txt" in done.err
    assert "lost.txt" in done.err


def test_atoms_that_rules_reach_and_no_list_has(run: Run, tmp_path: Path) -> None:
    data = {
        **PROGRAM["predicates"],
        "Smokes/1": {"observations": [["Anna"]], "targets": [["Chris"]], "truth": [["Chris", 0]]},
    }
    path = tmp_path / "smokers.json"
    path.write_text(json.dumps({**PROGRAM, "predicates": data}), encoding="utf-8")
    done = run("psl", path)
    assert done.code == 1
    for part in ("reaches Smokes(Bob)", "--scope where Smokes is loaded", "--missing open", "--missing false"):
        assert part in " ".join(done.err.split())
    found = {word: run("psl", path, "--missing", word, "--json").rows() for word in ("open", "false")}
    assert {row["UniqueStringID"]: row["value"] for row in found["open"]} == pytest.approx(
        {"Bob": 6 / 11, "Chris": 4 / 11}, abs=1e-4
    )
    assert [(row["UniqueStringID"], row["value"]) for row in found["false"]] == [
        ("Chris", pytest.approx(0.0, abs=1e-6))
    ]
    assert run("psl", path, "--missing", "allow").code == 2


@pytest.mark.parametrize(
    "text",
    [
        "3: Links(A, B) & Spam(A) -> Spam(B) ^2",
        "// hosts\n0.5: !Spam(H)",
        "Links(A, B) && Spam(A) >> Spam(B) .",
        "Spam(B) <- Links(A, B) & Spam(A) .",
        "Label(H, +C) = 1 .",
        "2.5: Spam(+A) + Spam(B) <= 1 ^2\n{A: Links(A, 'home')}",
        "1: Links('home', A) -> Spam(A)",
    ],
)
def test_programs_given_as_markov_logic_are_told_how_they_are_read(run: Run, text: str, tmp_path: Path) -> None:
    assert sqlrl.parse_psl(text).rules
    path = tmp_path / "rules.mln"
    path.write_text(text, encoding="utf-8")
    for read in (lambda: sqlrl.parse_mln(text), lambda: sqlrl.read_mln(path)):
        with pytest.raises((ParseError, UnsupportedError)) as caught:
            read()
        assert "read it with sqlrl.read_psl or sqlrl.parse_psl" in str(caught.value)
    with pytest.raises(ScriptError, match=r"CREATE MODEL \.\.\. OPTIONS \(format = 'psl'\) reads one"):
        sqlrl.connect().run(f"CREATE MODEL spam AS $${text}$$")
    done = run("infer", "--model", path, "--evidence", path)
    assert done.code == 1
    assert "name a file that ends in .psl" in " ".join(done.err.split())
