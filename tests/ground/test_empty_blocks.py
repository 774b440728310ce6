"""Blocks without atoms: `F(d, f!)` says that an atom is true, as the hard clause `EXIST f F(d, f).` does."""

from __future__ import annotations

import pytest

import sqlrl
from sqlrl.errors import InfeasibleError

TEXT = "W(d, f)\nK(d)\nF(d, {})\n1 W(a, q) => F(a, q)\n"
BLOCK, HARD = TEXT.format("f!"), TEXT.format("f") + "EXIST q F(a, q)."


def make(*, given: bool) -> sqlrl.Database:
    """The example d3 has no constant of the type f."""
    db = sqlrl.connect()
    db.load("W", [("d1", "x"), ("d2", "y")], types=["d", "f"], example="d")
    db.load("K", [("d3",)], types=["d"])
    if given:
        db.load("F", [("d1", "x")], given=True)
    return db


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("text", [BLOCK, HARD])
def test_an_example_without_constants_breaks_a_block(given: bool, text: str) -> None:
    db, model = make(given=given), sqlrl.parse_mln(text, query=["F"])
    with pytest.raises(InfeasibleError, match=r"EXIST v1 \(F\(d3, v1\)\)"):
        db.predict(model)
    assert db.predict(model, examples=["d1", "d2"]).atoms().num_rows == 2 - given


def test_a_type_without_constants_breaks_a_block() -> None:
    db = sqlrl.connect()
    db.load("W", [("A",)], types=["p"])
    model = sqlrl.parse_mln("W(p)\nF(p, f!)\n1 W(a) ^ F(a, q) => W(a)", query=["F"])
    with pytest.raises(InfeasibleError, match=r"leaves a block without atoms of which one must be true.*F\(A, v1\)"):
        db.predict(model)


def test_the_scope_says_which_blocks_there_are() -> None:
    db = make(given=False)
    db.scope("F", [("d1", "x"), ("d2", "y")])
    assert db.predict(sqlrl.parse_mln(BLOCK, query=["F"])).atoms().num_rows == 2
