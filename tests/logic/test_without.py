"""Models without some of their predicates."""

from __future__ import annotations

import pytest

import sqlrl
from sqlrl.errors import ModelError
from sqlrl.logic.mln import parse_mln

TEXT = "A(t)\nB(t)\nC(t)\n1 A(x) => B(x)\n2 B(x) v (EXIST y (C(y) ^ x != y))\nA(x) => A(x)."


def test_rules_and_declarations_go_also_below_quantifiers() -> None:
    model = parse_mln(TEXT)
    left = model.without(["C"])
    assert list(left.predicates) == ["A", "B"]
    assert left.rules == (model.rules[0], model.rules[2])
    assert model.without(["B"]).rules == (model.rules[2],)
    assert model.without([]) is model


@pytest.mark.parametrize(
    ("names", "problem"),
    [(["c"], "did you mean 'C'"), (["Unlike"], "the model declares A, B, C"), (["A"], "both be dropped and predicted")],
)
def test_what_cannot_be_dropped_is_named(names: list[str], problem: str) -> None:
    with pytest.raises(ModelError, match=problem):
        parse_mln(TEXT, query=["A"]).without(names)


def test_a_rule_of_another_model_about_what_is_not_declared_is_named() -> None:
    db = sqlrl.connect(progress=False)
    db.load({"A": [("x",)], "C": [("x",)]}, types={"A": ["t"], "C": ["t"]})
    small = parse_mln("A(t)\nB(t)\n1 A(x) => B(x)", query=["B"])
    both = small.with_rules((*small.rules, *parse_mln("B(t)\nC(t)\n1 B(x) => C(x)").rules))
    with pytest.raises(ModelError, match=r"B\(x\) => C\(x\) mentions C, which this model does not declare"):
        db.predict(both)
