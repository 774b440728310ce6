"""The experiment on revision: what counts as mended, by hand and by enumeration of worlds, and what its table says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import revise
from harness import Measured
from planted_faults import KINDS, RULES, PlantedFaults, plant
from relations import Relations
from revise import (
    REQUIRED,
    Job,
    Outcome,
    Repair,
    clause_of,
    false_repairs,
    judge,
    lost,
    make_jobs,
    run,
    same_groundings,
    summarise,
)

import sqlrl
from sqlrl.logic.terms import Clause, EqualityLiteral, Literal, Variable

DECLARED = "Press(m)\nHeavy(m)\nWorn(m)\nSite(m, site)\nCold(m)\nShares(m, m)\nMarks(m, m)\n"
MODEL = sqlrl.parse_mln(DECLARED)

MACHINES, SITES = ("a", "b", "c"), ("North", "South", "West")
FACTS: Mapping[str, list[tuple[str, ...]]] = {
    "Press": [("a",), ("b",)],
    # Whatever is heavy is a press.
    "Heavy": [("a",)],
    "Worn": [("a",)],
    "Site": [("a", "North"), ("b", "South"), ("c", "West")],
    "Cold": [],
    "Shares": [("a", "b"), ("c", "c"), ("b", "a")],
    "Marks": [("a", "b")],
}
TYPES = {"Press": ("m",), "Heavy": ("m",), "Worn": ("m",), "Site": ("m", "site"), "Cold": ("m",), "Shares": ("m", "m"), "Marks": ("m", "m")}  # fmt: skip
DATA = Relations(None, TYPES, {"one": FACTS})


# ---- clauses that are the same ---------------------------------------------------------------------------------------


SAME = [
    ("Heavy(x) => Worn(x)", "Heavy(x) => Worn(x)", True),
    ("Heavy(x) => Worn(x)", "Heavy(u) => Worn(u)", True),
    # Of presses and what is heavy all that is both is heavy.
    ("Heavy(x) => Worn(x)", "Heavy(x) ^ Press(x) => Worn(x)", True),
    ("Press(x) => Worn(x)", "Heavy(x) ^ Press(x) => Worn(x)", False),
    # Neither is violated in this world, but of b they say something else.
    ("Heavy(x) => Worn(x)", "Cold(x) => Worn(x)", False),
    ("Heavy(x) => Worn(x)", "Heavy(x) => !Worn(x)", False),
    ("Heavy(x) => Worn(x)", "!Heavy(x) => Worn(x)", False),
    ("Heavy(x) => Worn(x)", "Heavy(x) => Cold(x)", False),
    # Two of three sites are not the third.
    ("Site(x, North) => Cold(x)", "!Site(x, South) ^ !Site(x, West) => Cold(x)", True),
    ("Site(x, North) => Cold(x)", "!Site(x, South) => Cold(x)", False),
    ("Site(x, North) => Cold(x)", "Site(x, South) => Cold(x)", False),
    # Every machine is somewhere, though not everywhere.
    ("Heavy(x) => Cold(x)", "Heavy(x) ^ Site(x, s) => Cold(x)", False),
    # Each shares with what shares with it, but only one of them is heavy.
    ("Shares(x, y) => Marks(x, y)", "Shares(y, x) => Marks(y, x)", True),
    ("Shares(x, y) => Marks(x, y)", "Shares(y, x) => Marks(x, y)", True),
    ("Shares(x, y) ^ Heavy(x) => Marks(x, y)", "Shares(x, y) ^ Heavy(y) => Marks(x, y)", False),
    ("Heavy(x) => Worn(x)", "Shares(x, y) ^ Heavy(x) => Worn(x)", False),
    ("Heavy(x) => Marks(x, y)", "Heavy(x) ^ Press(x) => Marks(x, y)", True),
    ("Heavy(x) => Marks(x, y)", "Heavy(x) => Marks(x, x)", False),
    # A second atom of the conclusion has the truth that it has.
    ("Heavy(x) => Worn(x)", "Heavy(x) ^ !Worn(y) => Worn(x)", False),
    ("Shares(x, y) ^ Cold(x) => Worn(x)", "Cold(x) ^ Press(x) => Worn(x)", True),
]  # fmt: skip


@pytest.mark.parametrize(("correct", "other", "expected"), SAME)
def test_clauses_that_say_the_same_of_all_groundings(correct: str, other: str, expected: bool) -> None:
    one, two = clause_of(correct, MODEL), clause_of(other, MODEL)
    assert same_groundings(one, two, DATA) is expected
    if expected:
        # It is stricter than to have the same truth in the world as it is.
        assert any(holds(one, one, FACTS) == found for found in readings(one, two, FACTS))


def holds(clause: Clause, of: Clause, facts: Mapping[str, list[tuple[str, ...]]]) -> list[bool]:
    """The truth of a clause in each grounding of the variables of one that has as many or more, by plain enumeration."""
    domains = {"m": MACHINES, "site": SITES}
    found = []
    for values in product(*(domains[kind] for _, kind in of.variables)):
        bound = {name: value for (name, _), value in zip(of.variables, values, strict=True)}
        truth = False
        for literal in clause.literals:
            assert isinstance(literal, Literal)
            row = tuple(bound[t.name] if isinstance(t, Variable) else t.name for t in literal.terms)
            truth |= (row in facts[literal.predicate]) == literal.positive
        found.append(truth)
    return found


def readings(one: Clause, two: Clause, facts: Mapping[str, list[tuple[str, ...]]]) -> list[list[bool]]:
    """The truth of the second clause in the groundings of the first, under each renaming of its variables."""
    names = [name for name, _ in one.variables]
    found = []
    for chosen in product(names, repeat=len(two.variables)):
        if len(set(chosen)) == len(chosen):
            new = dict(zip((name for name, _ in two.variables), chosen, strict=True))
            literals = tuple(
                Literal(x.predicate, tuple(Variable(new[t.name]) if isinstance(t, Variable) else t for t in x.terms), x.positive)
                for x in two.literals if isinstance(x, Literal)
            )  # fmt: skip
            found.append(holds(Clause(one.variables, literals), one, facts))
    return found


def random_clause(random: np.random.Generator, head: str) -> str:
    body = random.choice(["Press(x)", "Heavy(x)", "Press(y)", "Shares(x, y)", "Site(x, North)", "Site(y, West)", "Cold(x)"], size=int(random.integers(1, 4)), replace=False)  # fmt: skip
    return " ^ ".join(("!" if random.random() < 0.4 else "") + str(x) for x in body) + f" => {head}"


def test_the_same_whatever_is_concluded_by_worlds_of_the_conclusion() -> None:
    """Two clauses with the same variables are the same exactly if they agree in every grounding, be the atoms of their conclusion true or false."""
    random = np.random.default_rng(3)
    agreed = 0
    for _ in range(120):
        texts = [random_clause(random, "Marks(x, y)") for _ in range(2)]
        one, two = (clause_of(text, MODEL) for text in texts)
        same = same_groundings(one, two, DATA)
        pairs = list(product(MACHINES, repeat=2))
        # Each grounding has one atom of the conclusion, so that these two worlds are as good as all 512.
        worlds = [{**FACTS, "Marks": pairs}, {**FACTS, "Marks": []}]
        order = Clause((("x", "m"), ("y", "m")), ())
        assert same == all(holds(one, order, world) == holds(two, order, world) for world in worlds), texts
        agreed += same
    assert 5 < agreed < 115


def test_an_equality_counts() -> None:
    x, y = Variable("x"), Variable("y")
    correct = clause_of("Heavy(x) => Marks(x, y)", MODEL)
    for positive, expected in ((True, False), (False, False)):
        other = Clause(correct.variables, (*correct.literals, EqualityLiteral(x, y, positive)))
        assert same_groundings(correct, other, DATA) is expected
    # Where no machine shares with another one, to share is to be the same.
    alone = Relations(None, TYPES, {"one": {**FACTS, "Shares": [(m, m) for m in MACHINES]}})
    body = Literal("Marks", (x, y))
    correct = Clause((("x", "m"), ("y", "m")), (Literal("Shares", (x, y)), body))
    other = Clause((("x", "m"), ("y", "m")), (EqualityLiteral(x, y), body))
    assert same_groundings(correct, other, alone)
    assert not same_groundings(correct, other, DATA)


def test_all_examples_must_agree() -> None:
    two = Relations(None, TYPES, {"one": FACTS, "two": {**FACTS, "Heavy": [("c",)]}})
    one, other = (clause_of(text, MODEL) for text in ("Heavy(x) => Worn(x)", "Heavy(x) ^ Press(x) => Worn(x)"))
    assert same_groundings(one, other, DATA)
    assert not same_groundings(one, other, two)


# ---- what became of faults -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planted() -> PlantedFaults:
    return plant(100, train=2, held_out=2)


def model(planted: PlantedFaults, rules: list[str]) -> sqlrl.Model:
    declared = "".join(f"{name}({', '.join(types)})\n" for name, types in planted.train.types.items())
    return sqlrl.parse_mln(declared + "\n".join(rules))


def test_the_correct_model_mends_all_faults_and_the_faulty_one_none(planted: PlantedFaults) -> None:
    places = {fault.place for fault in planted.faults}
    for repair in judge(planted.correct, planted, places):
        assert (repair.marked, repair.same, repair.left) == (True, "clause", None)
        assert repair.weight in {rule.weight for rule in RULES}
    for repair, fault in zip(judge(planted.faulty, planted, []), planted.faults, strict=True):
        assert (repair.marked, repair.same, repair.clause, repair.weight) == (False, None, None, None)
        assert repair.left == RULES[fault.place].weight
    assert lost(planted.correct, planted) == lost(planted.faulty, planted) == ()
    assert false_repairs(planted.faulty, 0, planted) == ()


def test_a_repair_has_a_positive_weight_and_another_name_or_order_is_the_same_clause(planted: PlantedFaults) -> None:
    (sign,) = (x for x in planted.faults if x.kind == "sign")
    assert sign.correct == "Heavy(x) ^ Outdoor(x) => Worn(x)"
    for text, same in (
        ("1.5 Worn(z) v !Outdoor(z) v !Heavy(z)", "clause"),
        ("-1.5 Worn(z) v !Outdoor(z) v !Heavy(z)", None),
        ("1.5 Worn(z) v !Outdoor(z) v !Heavy(z) v Press(z)", None),
        ("1.5 Worn(z) v !Heavy(z)", None),
        # Said twice.
        ("1.5 Worn(z) v !Outdoor(z) v !Heavy(z) v !Outdoor(z)", "clause"),
    ):
        found = {x.kind: x for x in judge(model(planted, [text]), planted, [])}["sign"]
        assert (found.same, found.weight) == ((same, 1.5) if same else (None, None)), text
        assert false_repairs(model(planted, [text]), 1, planted) == (() if same else (text.partition(" ")[2],))


def test_a_clause_that_says_the_same_in_other_words_mends(planted: PlantedFaults) -> None:
    (constant,) = (x for x in planted.faults if x.kind == "constant")
    assert constant.correct == "Site(x, North) => Drained(x)"
    words = "2 Site(x, South) v Site(x, West) v Drained(x)"
    (found,) = (x for x in judge(model(planted, [words]), planted, []) if x.kind == "constant")
    assert (found.same, found.weight) == ("groundings", 2.0)
    both = model(planted, [words, "1 Drained(x) v !Site(x, North)"])
    (found,) = (x for x in judge(both, planted, []) if x.kind == "constant")
    assert (found.same, found.weight) == ("clause", 1.0)
    assert false_repairs(both, 2, planted) == ()


def test_correct_rules_that_are_gone_are_lost(planted: PlantedFaults) -> None:
    faulty = {fault.place for fault in planted.faults}
    some = [f"1 {rule.text}" for k, rule in enumerate(RULES) if k % 2 and k not in faulty]
    gone = lost(model(planted, some), planted)
    assert len(gone) == len(RULES) - len(faulty) - len(some)
    assert len(gone) > 1


# ---- one run ---------------------------------------------------------------------------------------------------------


def test_a_run_marks_all_faults_and_mends_them(monkeypatch: pytest.MonkeyPatch) -> None:
    small = plant(100, train=4, held_out=1)
    monkeypatch.setattr(revise, "plant", lambda seed: small)
    found = run(Job(100, "shortest-first"))
    assert all(x.marked for x in found.repairs)
    assert [(x.kind, x.correct) for x in small.faults] == [(x.kind, x.correct) for x in found.repairs]
    assert sum(x.same is not None for x in found.repairs) >= 4
    assert found.added >= sum(x.same == "clause" for x in found.repairs)
    assert len(found.false) == found.added - sum(x.same is not None for x in found.repairs)
    assert found.marked >= found.marked_rules >= 5
    assert found.candidates > 0
    assert found.statements > 0


def test_jobs_are_of_seeds_from_the_one_that_is_given_on() -> None:
    every = make_jobs(revise.Options(Path(), seed=7))
    assert [job.seed for job in every] == list(range(7, 27))
    assert {job.strategy for job in every} == {"shortest-first"}
    assert make_jobs(revise.Options(Path(), quick=True, chosen={"strategy": "beam"})) == [Job(0, "beam")]


# ---- the table -------------------------------------------------------------------------------------------------------


def repair(kind: str, marked: bool, same: str | None, left: float | None) -> Repair:
    text = None if same is None else "A(x) v B(x)"
    return Repair(kind, "", "", marked, same, text, None if same is None else 3.0, left)  # type: ignore[arg-type]


def test_the_table_counts_by_kind_and_over_all() -> None:
    one = tuple(repair(kind, True, "clause", None) for kind in KINDS)
    two = (
        repair("half", True, "groundings", 1.0), repair("constant", True, None, -0.5), repair("surplus", False, None, 2.0),
        repair("missing", True, "clause", None), repair("sign", True, "clause", None),
    )  # fmt: skip
    outcomes = [
        Outcome(one, 10, 8, 7, ("A(x)", "B(x)"), (), 100, 4, 2.0),
        Outcome(two, 15, 7, 3, (), ("C(x)",), 301, 7, 5.0),
    ]
    rows = {row["kind"]: row for row in summarise([Measured(x, 1.0, 10.0) for x in outcomes])}
    assert list(rows) == [*KINDS, "all", "required"]
    every = rows["all"]
    assert (every["faults"], every["recalled"], every["recall"]) == (10, 9, 0.9)
    assert (every["same_clause"], every["same_groundings"], every["mended"]) == (7, 1, 0.8)
    assert (every["precision"], every["precision_rules"]) == (9 / 25, 9 / 15)
    assert (every["added"], every["false_repairs"], every["lost"]) == (5.0, 1.0, 0.5)
    assert (every["candidates"], every["statements"], every["seconds"]) == (200.5, 5.5, 3.5)
    assert every["seconds_sd"] == pytest.approx(np.std([2, 5], ddof=1), abs=0.01)
    assert (every["left"], every["weight_left"]) == (3, round(2.5 / 3, 2))
    assert (rows["surplus"]["recall"], rows["surplus"]["mended"]) == (0.5, 0.5)
    assert (rows["half"]["same_groundings"], rows["half"]["mended"]) == (1, 1.0)
    assert (rows["constant"]["recall"], rows["constant"]["mended"]) == (1.0, 0.5)
    assert {name: rows["required"][name] for name in REQUIRED} == {"recall": 1.0, "mended": 0.9}
    json.dumps(list(rows.values()))
