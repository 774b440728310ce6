"""What `infer --query` asks: atoms that are given, false, or that there are not, and nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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
