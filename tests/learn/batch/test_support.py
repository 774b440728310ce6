"""How many query atoms a clause says something about."""

from __future__ import annotations

import sqlrl

DECLARED = "Has(machine, part)\nBad(part)\nOld(machine)\nFails(machine)\n"


def test_a_quantified_rule_is_about_the_atoms_that_the_same_rule_without_a_quantifier_is_about() -> None:
    db = sqlrl.connect(progress=False)
    db.load("Has", [("m1", "p1"), ("m2", "p2")], types=["machine", "part"])
    db.load("Bad", [("p1",)], types=["part"])
    db.load("Old", [("m1",), ("m2",), ("m3",)], types=["machine"])
    db.load("Fails", [("m1",)], types=["machine"], target=True)
    rules = "(EXIST p Has(m, p) ^ Bad(p)) ^ Old(m) => Fails(m)\nHas(m, p) ^ Bad(p) ^ Old(m) => Fails(m)"
    fit = sqlrl.Likelihood("l2").fit(db, sqlrl.parse_mln(DECLARED + rules))
    # Of m2 and m3 the parts of the first rule say the same whether they fail or not.
    assert fit.clauses()["support"] == [1, 1]
