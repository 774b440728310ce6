"""Compiled rules are known again only where all that they depend on is the same."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import sqlrl
from sqlrl.catalog.layout import Layout
from sqlrl.errors import UnsupportedError
from sqlrl.ground import binding
from sqlrl.ground.binding import CompiledRules, Compiling
from sqlrl.logic.limits import MOST_JOINED
from sqlrl.logic.model import Model
from sqlrl.plan.sample_layout import people

RULE = "Friends(x, y) ^ Smokes(x) => Smokes(y)"


def parse(text: str, declared: str = "Friends(person, person)\nSmokes(person)") -> Model:
    return sqlrl.parse_mln(f"{declared}\n{text}", query=("Smokes",))


def compiled(known: CompiledRules, model: Model, layout: Layout | None = None) -> list[binding.CompiledFeature]:
    of: Compiling = known.of(model, layout or people())
    return [each for rule in model.rules for each in of(rule)]


def test_equal_formulas_are_compiled_once() -> None:
    known = CompiledRules()
    [first] = compiled(known, parse(f"1 {RULE}"))
    [again, other, hard] = compiled(known, parse(f"-2.5 {RULE}\n1 Smokes(x)\n{RULE}."))
    assert again is first
    assert other is not first
    assert hard is not first


def test_other_semantics_are_others() -> None:
    known, model = CompiledRules(), parse(f"1 {RULE}")
    [first] = compiled(known, model)
    assert compiled(known, replace(model, semantics="alchemy"))[0] is not first
    assert compiled(known, model)[0] is first


def test_other_declarations_are_refused_as_if_nothing_were_known() -> None:
    known, model = CompiledRules(), parse(f"1 {RULE}")
    compiled(known, model)
    human = sqlrl.parse_mln("Friends(person, human)")
    with pytest.raises(sqlrl.SqlrlError, match="human"):
        compiled(known, replace(model, predicates={**model.predicates, **human.predicates}))


def test_rules_are_forgotten_when_they_are_many() -> None:
    known = CompiledRules(most=2)
    models = [parse("\n".join(f"1 Smokes(x{i}) v Smokes(P{k})" for i in range(2))) for k in range(3)]
    first = [compiled(known, model)[0] for model in models]
    again = [compiled(known, model)[0] for model in reversed(models)]
    assert again[0] is first[2]
    assert again[2] is not first[0]


def test_a_predicate_changes_its_role_between_calls() -> None:
    """One database and one formula: each time what another database says that has never seen it."""
    text = (
        "Friends(person, person)\nSmokes(person)\nHappy(person)\n1.5 (EXIST y (Friends(x, y) ^ Smokes(y))) => Happy(x)"
    )

    def with_friends() -> sqlrl.Database:
        """Return a database that knows who is whose friend."""
        db = sqlrl.connect()
        db.load("Friends", [("Anna", "Bob"), ("Bob", "Cid")], types=["person", "person"])
        return db

    db, found = with_friends(), []
    for query in (("Happy", "Smokes"), ("Happy",)):
        fresh = with_friends()
        if "Smokes" not in query:
            for each in (db, fresh):
                each.load("Smokes", [("Bob",)], types=["person"])
        model = sqlrl.parse_mln(text, query=query)
        old, new = (x.probabilities(model, method="exact").probabilities("Happy").to_pylist() for x in (db, fresh))
        assert old == new
        found.append(new)
    assert found[0] != found[1]


@pytest.mark.parametrize("sign", [" v ", " ^ "])
def test_a_clause_is_no_longer_than_its_query_can_be_planned(sign: str) -> None:
    atoms = sign.join(f"P(C{i})" for i in range(MOST_JOINED + 1))
    model = sqlrl.parse_mln(f"P(thing)\n1 {atoms}", query=["P"], path="a.mln")
    message = rf"^a\.mln:2: P\(C0\){re.escape(sign)}.{{250,290}}\.\.\.: {MOST_JOINED + 1} literals .*EXIST x \(Listed\(x\) \^ P\(x\)\)$"
    with sqlrl.connect() as db, pytest.raises(UnsupportedError, match=message):
        db.predict(model)


def test_what_it_advises_means_the_same() -> None:
    found = []
    for rule in ("P(A) v P(B) v P(C)", "EXIST x (Listed(x) ^ P(x))"):
        model = sqlrl.parse_mln(f"P(thing)\nListed(thing)\n1.3 {rule}\n-0.4 P(x)", query=["P"])
        with sqlrl.connect() as db:
            db.load("Listed", [("A",), ("B",), ("C",)])
            db.load("P", [("D",)], given=True)
            found.append(db.probabilities(model).table("P").to_arrow().column("probability").to_pylist())
    assert found[0] == pytest.approx(found[1])
