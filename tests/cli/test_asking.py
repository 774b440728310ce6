"""What `infer --query` asks: atoms that are given, false, or that there are not, and nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sqlrl
from sqlrl.cli.inputs import asked
from tests.cli.conftest import Run

MODEL = "p(t)\nq(t)\n20 p(x) => q(x)\n-40 q(x)\n"


@pytest.fixture
def files(tmp_path: Path) -> list[object]:
    (tmp_path / "m.mln").write_text(MODEL)
    (tmp_path / "e.db").write_text("p(Aa)\np(Bb)\n!q(Aa)\n")
    (tmp_path / "none.db").write_text("p(Aa)\np(Bb)\n")
    return ["infer", "--model", tmp_path / "m.mln", "--evidence", tmp_path / "e.db"]


@pytest.mark.parametrize("options", [(), ("--probabilities",)])
def test_an_atom_that_is_given_has_no_row_and_a_line_that_says_so(
    run: Run, files: list[object], options: tuple[str, ...]
) -> None:
    done = run(*files, "--query", "q(Aa)", "--json", *options)
    assert json.loads(done.out) == []
    assert "q(Aa) is given as false by the evidence" in done.err
    assert "(no rows)" in run(*files, "--query", "q(Aa)", *options).out


def test_an_atom_that_is_predicted_false_has_no_row(run: Run, files: list[object]) -> None:
    assert json.loads(run(*files, "--query", "q(Bb)", "--json").out) == []
    (row,) = json.loads(run(*files, "--query", "q(Bb)", "--json", "--probabilities").out)
    assert row["t"] == "Bb"
    # 20 for q(Bb) where p(Bb) holds, 40 against it.
    assert row["probability"] == pytest.approx(2.061153622438558e-09, rel=1e-9)


def test_a_constant_that_there_is_not_is_an_error_with_the_nearest(run: Run, files: list[object]) -> None:
    for query in ("q(Bbb)", "q(Aa), q(Bbb)"):
        done = run(*files, "--query", query)
        assert done.code == 1
        assert "q(Bbb): there is no t 'Bbb'; did you mean 'Bb'" in done.err


@pytest.mark.parametrize("query", [(), ("--query", "")])
def test_nothing_asked_is_an_error(run: Run, files: list[object], query: tuple[str, ...], tmp_path: Path) -> None:
    done = run(*files[:-1], tmp_path / "none.db", *query)
    assert done.code == 2
    assert "--query q" in " ".join(done.err.split())


def test_a_misspelt_query_is_named_before_anything_else_is_said(run: Run, files: list[object]) -> None:
    done = run(*files, "--query", "qq")
    assert done.code == 1
    assert done.err.strip() == "error: --query names predicates that the model does not declare: qq; did you mean 'q'?"


# ---- files ---------------------------------------------------------------------------------------------------

DECLARED = "p(t)\nq(t)\nr(t, t)\n1 q(x) => p(x)\n"

ASKED = [
    ("p\nq", ("p", "q"), ()),
    ("// what is asked\np, q // and no more\n", ("p", "q"), ()),
    ("/* p,\nr(Aa, Bb) */ q(Aa),\n\n q(Bb) /* , */ , p\n", ("q", "p"), ("q(Aa)", "q(Bb)")),
    ('q("a // b"), r("x, y", Aa)\n', ("q", "r"), ('q("a // b")', 'r("x, y", Aa)')),
    ("r(Aa,\n  x)\nq(x)\n", ("r", "q"), ("r(Aa, x)",)),
    ("r(x, x)", ("r",), ("r(x, x)",)),
    ("// nothing\n", (), ()),
    ("\ufeffp\r\nq(Aa)\r\n", ("p", "q"), ("q(Aa)",)),
]


@pytest.mark.parametrize(("text", "predicates", "atoms"), ASKED, ids=[repr(text) for text, _, _ in ASKED])
def test_files_of_queries_are_read_as_models_are(
    tmp_path: Path, text: str, predicates: tuple[str, ...], atoms: tuple[str, ...]
) -> None:
    model = sqlrl.parse_mln(DECLARED)
    (tmp_path / "q.txt").write_text(text, encoding="utf-8", newline="")
    found = asked([str(tmp_path / "q.txt")], model)
    assert (found.predicates, tuple(map(str, found.atoms))) == (predicates, atoms)
    if "\ufeff" not in text:
        assert asked([text], model) == found
    # An atom reads as it does in a rule.
    for atom in found.atoms:
        (rule,) = sqlrl.parse_mln(f"{DECLARED}1 {atom}").rules[1:]
        assert rule.formula == atom


WRONG = [
    ("p\nqq(Aa)\n", "2:1: unknown predicate 'qq'; did you mean 'q'"),
    ("// p\nw\n", "2:1: unknown predicate 'w'"),
    ("p q\n", "1:3: expected ',' or the end of the line, found 'q'"),
    ("p,\nq(Aa\n", "3:1: expected ',' or ')', found the end of the text"),
    ("q(Aa, Bb)\n", "1:1: q has 2 arguments here, but is declared as q(t)"),
    ("p\n!q(Aa)\n", "2:1: expected predicates or atoms, such as Cancer, Cancer(x) or Cancer(Anna)"),
    ("p /* q\n", "1:3: this comment does not end"),
    ("p(1.5)\n", "1:3: expected a term"),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[repr(text) for text, _ in WRONG])
def test_what_is_wrong_with_a_file_of_queries_names_the_file(
    run: Run, files: list[object], tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "q.txt").write_text(text, encoding="utf-8")
    (tmp_path / "m.mln").write_text(DECLARED, encoding="utf-8")
    done = run(*files, "--query", tmp_path / "q.txt")
    assert done.code == 1
    assert f"{tmp_path / 'q.txt'}:{message}" in done.err
    if message[:2] != "3:":
        # The line is shown.
        assert text.splitlines()[int(message[0]) - 1] in done.err


def test_programs_of_psl_take_the_same_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "m.psl").write_text("1: A(X) -> B(X)\n1: !B(X)\n", encoding="utf-8")
    (tmp_path / "q.txt").write_text("// to infer\nB\n", encoding="utf-8")
    (tmp_path / "a.csv").write_text("t\nx\n", encoding="utf-8")
    assert run("load", tmp_path / "d.duckdb", "A", tmp_path / "a.csv", "--types", "t").code == 0
    done = run("psl", tmp_path / "m.psl", tmp_path / "d.duckdb", "--query", tmp_path / "q.txt", "--json")
    assert [row["t"] for row in done.rows()] == ["x"], done.err
    (tmp_path / "q.txt").write_text("// to infer\nB(x)\n", encoding="utf-8")
    done = run("psl", tmp_path / "m.psl", tmp_path / "d.duckdb", "--query", tmp_path / "q.txt")
    assert f"{tmp_path / 'q.txt'}:2:1: expected a predicate, found an atom: write B" in done.err
