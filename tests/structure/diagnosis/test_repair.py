"""Repair: one clause for each that is in question, where rules come back to, and what is said of those that do not."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import product

import numpy as np
import pytest

import sqlrl
from sqlrl.errors import InputError, NothingFoundWarning
from sqlrl.logic.model import Rule
from sqlrl.logic.printer import format_formula
from sqlrl.logic.shapes import Instance, Shape
from sqlrl.logic.terms import Literal, Variable
from sqlrl.structure.beam.clauses import SearchClause
from sqlrl.structure.beam.scores import Scored
from sqlrl.structure.beam.search import Added, SearchResult
from sqlrl.structure.diagnosis.estimator import Transfer
from sqlrl.structure.diagnosis.repair import in_place

DECLARED = "Old(car)\nDiesel(car)\nPaint(car, color)\nSlow(car)\nDear(car)\nTows(car, car)\n"
COLORS = ("red", "green", "blue")


@cache
def lent(seed: int) -> sqlrl.Database:
    """A database that tests share, which only read it."""
    return cars(seed)


def cars(seed: int = 0, number: int = 80) -> sqlrl.Database:
    """Cars of which old diesels are slow, red ones dear, and diesels tow what is old, but for one in thirty."""
    random = np.random.default_rng(seed)
    names = [f"c{i}" for i in range(number)]
    old, diesel = ({name for name in names if random.random() < 0.5} for _ in range(2))
    color = {name: COLORS[int(random.choice(3, p=[0.4, 0.4, 0.2]))] for name in names}

    def but_for_some(says: bool) -> bool:
        return says != (random.random() < 1 / 30)

    slow = [(name,) for name in names if but_for_some(name in old and name in diesel)]
    dear = [(name,) for name in names if but_for_some(color[name] == "red")]
    tows = [(a, b) for a, b in product(names, repeat=2) if but_for_some(a in diesel and b in old)]
    db = sqlrl.connect()
    db.load("Old", [(x,) for x in sorted(old)], types=["car"])
    db.load("Diesel", [(x,) for x in sorted(diesel)], types=["car"])
    db.load("Paint", sorted(color.items()), types=["car", "color"])
    db.load("Slow", slow, types=["car"])
    db.load("Dear", dear, types=["car"])
    db.load("Tows", tows, types=["car", "car"])
    return db


def repaired(db: sqlrl.Database, *rules: str, **given: object) -> Transfer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingFoundWarning)
        model = sqlrl.parse_mln(DECLARED + "\n".join(rules))
        return Transfer(further=True, strategy="shortest-first", max_literals=4, **given).fit(db, model)


RIGHT = ("Old(x) ^ Diesel(x) => Slow(x)", 'Paint(x, "red") => Dear(x)', "Diesel(x) ^ Old(y) => Tows(x, y)")
PRIORS = ("0.5 !Slow(x)", "0.5 !Dear(x)", "0.5 !Tows(x, y)")

FAULTS = {
    "a literal too many": (0, "Old(x) ^ Diesel(x) ^ Dear(x) => Slow(x)"),
    "a literal too few": (0, "Old(x) => Slow(x)"),
    "a sign of the body": (0, "Old(x) ^ !Diesel(x) => Slow(x)"),
    "a sign of the conclusion": (0, "Old(x) ^ Diesel(x) => !Slow(x)"),
    "a constant": (1, 'Paint(x, "green") => Dear(x)'),
    "a literal too few, of two variables": (2, "Old(y) => Tows(x, y)"),
    "a sign, of two variables": (2, "!Diesel(x) ^ Old(y) => Tows(x, y)"),
}


def literals(rule: str) -> set[str]:
    """Those of a rule as a clause."""
    body, _, head = rule.rpartition(" => ")
    if not body:
        return set(rule.split(" v "))
    return {*head.split(" v "), *(x.removeprefix("!") if x.startswith("!") else f"!{x}" for x in body.split(" ^ "))}


@pytest.mark.parametrize(
    "name", ["a constant", *(pytest.param(name, marks=pytest.mark.slow) for name in FAULTS if name != "a constant")]
)
def test_a_fault_is_mended_and_the_faulty_rule_is_gone(name: str) -> None:
    place, faulty = FAULTS[name]
    rules = [faulty if i == place else rule for i, rule in enumerate(RIGHT)]
    found = repaired(lent(0), *(f"1 {rule}" for rule in rules), *PRIORS)
    added = [row["clause"] for row in found.added_]
    assert [literals(each) for each in added] == [literals(RIGHT[place])]
    # What was an implication is read as one, with the conclusion that it had.
    assert [each.partition(" => ")[2] for each in added] == [RIGHT[place].partition(" => ")[2]]
    weights = {format_formula(rule.formula): rule.weight for rule in found.model_.rules}
    assert weights[found.added_.to_arrow().column("clause")[0].as_py()] > 1
    assert faulty not in weights
    # Others are there as they were written, though some are marked, and before unit clauses and what is new.
    assert list(weights)[:2] == [rule for i, rule in enumerate(RIGHT) if i != place]
    assert len(found.dropped_) == 0


@pytest.mark.slow
def test_each_clause_in_question_has_one_answer_at_the_most_with_a_positive_weight() -> None:
    rules = ["1 Old(x) ^ Diesel(x) => Slow(x)", "1 Old(x) => Tows(x, y)", "1 Diesel(x) => Dear(x)"]
    with cars(3) as db:
        found = repaired(db, *rules, unit_clauses=False, literal_cost=0.0)
    marked = found.diagnosis_.general | found.diagnosis_.specific
    assert marked == {0, 1, 2}
    assert 0 < len(found.added_) <= 3
    assert len(found.model_.rules) <= 3


@pytest.mark.slow
def test_right_rules_that_are_marked_come_back_as_they_were_written_and_where_they_were() -> None:
    # Of right rules on dense predicates more than a tenth of groundings are idle.
    with cars(5) as db:
        found = repaired(db, *(f"1 {rule}" for rule in RIGHT), *PRIORS)
    assert {0, 2} <= found.diagnosis_.general | found.diagnosis_.specific
    assert len(found.added_) == len(found.dropped_) == 0
    assert [format_formula(rule.formula) for rule in found.model_.rules][:3] == list(RIGHT)
    assert all(rule.weight > 1 for rule in found.model_.rules[:3])


def test_what_does_not_come_back_is_said() -> None:
    """Predicates have nothing to do with each other, so that all that a rule of them can do is to fit chance, which costs more than it brings."""
    random = np.random.default_rng(1)
    with sqlrl.connect() as db:
        for name in ("Loud", "Tall", "Wide"):
            db.load(name, [(f"c{i}",) for i in range(400) if random.random() < 0.5], types=["car"])
        # Else each is of one of them at least.
        db.load("Seen", [(f"c{i}",) for i in range(400)], types=["car"])
        model = sqlrl.parse_mln("Loud(car)\nTall(car)\nWide(car)\n1 Loud(x) ^ Tall(x) => Wide(x)\n0.1 Loud(x)")
        found = Transfer(further=True, strategy="shortest-first", least_weight=0.5).fit(db, model)
    assert found.diagnosis_.general >= {0}
    (row,) = found.dropped_
    assert (row["rule"], row["why"]) == ("Loud(x) ^ Tall(x) => Wide(x)", "marked")
    assert row["reason"] == "it is marked, and neither it nor a clause that is made of it raises the score with a positive weight"  # fmt: skip
    assert all("=>" not in format_formula(rule.formula) for rule in found.model_.rules)
    assert len(found.added_) == 0


@pytest.mark.parametrize("most", [0, 3])
def test_a_limit_would_leave_out_rules_that_come_back(most: int) -> None:
    with cars(number=6) as db, pytest.raises(InputError) as caught:
        repaired(db, "1 Old(x) => Slow(x)", max_clauses=most)
    assert str(caught.value) == (
        f"max_clauses={most} would leave out marked clauses that come back as they are: with further=True there is one clause for each that is marked at the most, so leave "
        "it None"
    )


# ---- places of rules -------------------------------------------------------------------------------------------------


def clause(origin: int, *, changed: bool) -> SearchClause:
    literal = Literal("P", (Variable("x"),))
    return SearchClause((("x", "t"),), (literal,), (-2 if changed else 0,), origin, 1)


@pytest.mark.parametrize("seed", range(10))
def test_places(seed: int) -> None:
    """Rules called by their places: those that are held or came back in order, then units, then what is new in the order in which it was found."""
    random = np.random.default_rng(seed)
    given = [Rule(sqlrl.parse_mln(f"P{i}(t)\nP{i}(x)").rules[0].formula) for i in range(8)]
    fates = random.choice(["held", "pruned", "back", "revised", "gone"], size=8).tolist()
    at: Mapping[str, list[int]] = {fate: [i for i, x in enumerate(fates) if x == fate] for fate in {*fates}}
    held = [i for i, fate in enumerate(fates) if fate in ("held", "pruned")]
    units = [Rule(sqlrl.parse_mln(f"U{i}(t)\nU{i}(x)").rules[0].formula) for i in range(3)]
    # The search has the rules that are held first, then unit clauses, of which it takes out some.
    kept = [k for k, i in enumerate(held) if fates[i] == "held"] + [len(held), len(held) + 2]
    answers = random.permutation([*at.get("back", []), *at.get("revised", [])]).astype(int).tolist()
    instance = Instance(Shape((), (), ()), ())
    added = [Added(clause(i, changed=fates[i] == "revised"), instance, 0.1, 5) for i in answers]
    fresh = {i: Rule(sqlrl.parse_mln(f"N{i}(t)\nN{i}(x)").rules[0].formula) for i in answers}
    rules = [*(given[i] for i in at.get("held", [])), units[0], units[2], *(fresh[i] for i in answers)]
    learned = SearchResult(Scored((), np.zeros(0), 0.0, {}, {}), kept, added, 17)
    found, all_rules, without = in_place(learned, rules, held, given)
    new = [i for i in answers if fates[i] == "revised"]
    expected = [given[i] for i, fate in enumerate(fates) if fate in ("held", "back")]
    assert all_rules == [*expected, units[0], units[2], *(fresh[i] for i in new)]
    assert [each.clause.origin for each in found.added] == new
    assert without == [given[i] for i in at.get("gone", [])]
    assert (found.candidates, Counter(kept)) == (17, Counter(found.remaining))


def old_cars(seed: int, shares: tuple[float, float]) -> sqlrl.Database:
    """Cars of which half are old; the shares of the old ones and of others that are slow."""
    random = np.random.default_rng(seed)
    names = [f"c{i}" for i in range(60)]
    old = [n for n in names if random.random() < 0.5]
    slow = [n for n in names if random.random() < shares[n not in old]]
    db = sqlrl.connect()
    for name, found in (("Car", names), ("Old", old), ("Slow", slow)):
        db.load(name, [(n,) for n in found], types=["car"])
    return db


@pytest.mark.parametrize("rule", [pytest.param("1 Old(x) ^ Slow(x)", marks=pytest.mark.slow), "-1 !Old(x) v !Slow(x)"])
def test_what_a_negation_says_comes_back_with_the_weight_that_it_needs(rule: str) -> None:
    model = sqlrl.parse_mln(f"Car(car)\nOld(car)\nSlow(car)\n{rule}")
    # In the first data the rule is right, in the second the contrary is.
    for shares, right in (((0.7, 0.3), True), ((0.08, 0.6), False)):
        with old_cars(3, shares) as db:
            found = sqlrl.Transfer(further=True, threshold=0.05).fit(db, model)
            kept = [
                x for x in found.model_.rules if format_formula(x.formula) == format_formula(model.rules[0].formula)
            ]
            sign = 1 if "^" in rule else -1
            assert [x.weight * sign > 0 for x in kept if x.weight is not None] == ([True] if right else [])
