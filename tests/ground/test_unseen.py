"""What templates of a learned model have no clause for: combinations and the atoms that these touch, against enumeration."""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest

import sqlrl
from sqlrl.ground.program import Extent
from sqlrl.ground.unseen import Unseen, unseen
from sqlrl.logic.model import Expansions, Rule
from tests.ground.brute import Data, Formulas, Ground, Row

PEOPLE, THINGS, DOCS = ("Ann", "Bob"), ("1", "2", "3"), ("e1", "e2")
DECLARED = "A(a)\nB(b)\nF(d, b)\nS(a, b)\nT(d, a, b)\nQ(d, a)\n"
# The first example knows 1 alone.
F, S = {("e1", "1"), ("e2", "1"), ("e2", "2"), ("e2", "3")}, {("Ann", "1"), ("Ann", "2"), ("Bob", "3")}
GIVEN = {("e2", "Ann", "2"): True, ("e2", "Ann", "3"): False}
RULES = [
    # No open literal but those of a quantifier.
    "F(k, +s) => (EXIST y (T(k, y, +s)))",
    "F(k, +s) ^ (EXIST y (T(k, y, +s)))",
    "F(k, +s) => !(EXIST y (T(k, y, +s)))",
    "F(k, +s) ^ (FORALL y (T(k, y, +s)))",
    "F(k, +s) => (EXIST y (S(y, +s) ^ T(k, y, +s)))",
    "F(k, +s) => (EXIST y (T(k, y, +s))) v (EXIST z (S(z, +s) ^ Q(k, z)))",
    # Others beside them.
    "F(k, +s) ^ Q(k, z) => (EXIST y (T(k, y, +s)))",
    "F(k, +s) ^ S(z, +s) => Q(k, z) v (EXIST y (T(k, y, +s)))",
    # Several clauses for each combination, some of which mention only a part of it.
    "F(k, +s) <=> Q(k, z)",
    "F(k, +s) ^ F(k, +t) <=> Q(k, Ann)",
]
# Helper atoms are none of the atoms to predict: those of their definitions are. Without given atoms, since evidence may decide a
# helper atom, and a clause has it all the same.
HELPED = [
    "F(k, +s) => (EXIST y (T(k, y, +s) ^ Q(k, y)))",
    "F(k, +s) ^ S(z, +s) => (EXIST y (T(k, y, +s) ^ !Q(k, y))) v Q(k, z)",
    "F(k, +s) => !(EXIST y (Q(k, y) ^ !(EXIST x (S(y, x) ^ T(k, y, x) ^ Q(k, Bob)))))",
    "F(k, +s) ^ S(Ann, +s) => (EXIST y (Q(k, y) ^ T(k, y, 1)))",
    "F(k, +s) ^ S(z, +s) <=> (EXIST y (T(k, y, +s)))",
]


@cache
def evidence(given: bool) -> tuple[sqlrl.Database, Data]:
    """Two examples, and what the definitions say of them."""
    db = sqlrl.connect()
    db.load("A", [(a,) for a in PEOPLE], types=["a"])
    db.load("B", [(b,) for b in THINGS], types=["b"])
    db.load("F", sorted(F), types=["d", "b"], example="d")
    db.load("S", sorted(S), types=["a", "b"])
    true = {row for row, truth in GIVEN.items() if truth} if given else set()
    if given:
        db.load("T", [(*row, truth) for row, truth in GIVEN.items()], types=["d", "a", "b"], given=True, truth=3)
    for kind in "ab":
        db.load(local={kind: False})
    atoms: dict[Ground, bool | None] = {("Q", "", row): None for row in product(DOCS, PEOPLE)}
    scope = (row for row in product(DOCS, PEOPLE, THINGS) if not (given and row in GIVEN))
    atoms |= {("T", "", row): None for row in scope}
    predicates = {"F": ("d", "b"), "S": ("a", "b"), "T": ("d", "a", "b"), "Q": ("d", "a")}
    facts = {("F", "", row) for row in F} | {("S", "", row) for row in S} | {("T", "", row) for row in true}
    data = Data(
        "type",
        {"a": PEOPLE, "b": THINGS, "d": DOCS},
        {name: (types, False) for name, types in predicates.items()},
        DOCS,
        {},
        frozenset(),
        frozenset(facts),
        atoms,
        opened=frozenset({"T", "Q"}),
        example_type="d",
    )
    return db, data


def depends_on(formula: Formulas, row: Row) -> set[Ground]:
    """The query atoms that the truth of a grounding depends on."""
    keys = sorted(key for key in set(formula._keys(formula.formula, row)) if key in formula.data.atoms)
    worlds = [
        frozenset(k for k, true in zip(keys, bits, strict=True) if true) for bits in product([0, 1], repeat=len(keys))
    ]
    return {key for key in keys for w in worlds if formula.holds(row, w) != formula.holds(row, w ^ {key})}


# The quick tier has each rule with given atoms or without.
@pytest.mark.parametrize(
    ("rule", "given"),
    [
        *(
            pytest.param(rule, given, marks=[] if given == (i % 2 == 0) else pytest.mark.slow)
            for i, rule in enumerate(RULES)
            for given in (False, True)
        ),
        *product(HELPED, [False]),
    ],
)
def test_new_combinations_and_what_they_touch(rule: str, given: bool) -> None:
    db, data = evidence(given)
    model = sqlrl.parse_mln(DECLARED + rule, query=("T", "Q"))
    formula = model.rules[0].formula
    plus = ("s", "t") if "+t" in rule else ("s",)
    known = Expansions(plus, (("1",) * len(plus),), (1.0,))
    learned = model.with_rules((Rule(formula, expansions=known),))
    combinations, touched = 0, set[Ground]()
    for names in product(THINGS, repeat=len(plus)):
        filled = Formulas(formula, data, dict(zip(plus, names, strict=True)))
        found = [atoms for row in filled.groundings(frozenset({"e2"})) if (atoms := depends_on(filled, row))]
        if found and names not in known.rows:
            combinations += 1
            touched |= set[Ground]().union(*found)
    with db.advanced.program(learned) as program, program.examples_table(db.advanced.example_ids(["e2"])) as chosen:
        assert unseen(Extent(program, chosen)) == Unseen(combinations, len(touched))


def test_a_learned_template_over_a_quantifier_predicts_with_new_constants() -> None:
    db, _ = evidence(given=False)
    rule = "F(k, +s) => (EXIST y (T(k, y, +s)))"
    learned = sqlrl.parse_mln(DECLARED + rule, query=("T", "Q"))
    learned = learned.with_rules((Rule(learned.rules[0].formula, expansions=Expansions(("s",), (("1",),), (1.0,))),))
    prediction = db.predict(learned, examples=["e2"])
    assert "2 combinations of constants were never seen in training; they touch 4 query atoms" in str(prediction)
