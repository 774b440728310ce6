"""Quantifiers that the evidence decides: what is said of some examples is what enumeration says, and what is said of them among all."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import pytest

import sqlrl
from tests.ground.brute import Data, Formulas, Ground

EXAMPLES, CONSTANTS = ("e1", "e2", "e3"), ("Ann", "Bob", "Cid")
BESIDE = {"e1": ("Ann", "Cid"), "e2": ("Bob",), "e3": ("Ann", "Bob")}
WITH = {"e1": ("Ann",), "e2": (), "e3": ("Bob",)}
LABELS = {"W": [("e1",), ("e3",)], "T": [("e1", "Ann"), ("e2", "Bob"), ("e3", "Ann"), ("e3", "Bob")]}
SUBSETS = [None, ("e2",), ("e2", "e3")]
SHARED = {
    "type": (("Ann", "Bob"),),
    "local": (("Ann", "Bob"), ("Bob", "Bob")),
    "column": (("Bob", "Bob"), ("Ann", "Cid")),
}
RULES = [
    "1 U(k, Ann) <=> (EXIST x (W(k) ^ S(x, x)))\n.5 W(k)",
    "-2 U(k, Ann) <=> (FORALL x (W(k) v S(x, Bob)))",
    "1 (!U(k, Ann) v (S(Ann, Ann) => W(k))) <=> (FORALL x (W(k) v S(x, x)))",
    "1 T(k, y) <=> (EXIST x (S(x, y)))",
    "1 T(k, y) <=> !(EXIST x (S(x, y) ^ !(EXIST z (S(y, z) ^ R(k, z)))))",
    "1 W(k) <=> (FORALL x (EXIST y (S(x, y) ^ x != y)))",
    "1 T(k, Bob) <=> (EXIST x (x != Ann ^ !S(x, Bob)))",
    "1 ((EXIST y (R(k, y))) <=> (EXIST y, x (!S(y, x)))) v (FORALL x (T(k, x) <=> U(k, x)))",
    "W(k) <=> (EXIST x (S(x, x))).\n1 W(k) <=> T(k, y)",
    "1 !(EXIST x (T(k, x) ^ !(EXIST y (S(x, y)))))\n.5 T(k, x)",
]


@cache
def loaded(kind: str) -> sqlrl.Database:
    """Three examples: U, R and what is to be predicted, W and T, belong to them; S to all. One database for all rules.

    `local`: an example, which is an argument, has the constants of its facts alone; else it has all.
    """
    db = sqlrl.connect()
    rows = {
        "U": [(e, c) for e, found in BESIDE.items() for c in found],
        "R": [(e, c) for e, found in WITH.items() for c in found],
        **LABELS,
    }
    db.load("S", list(SHARED[kind]), types=["a", "a"])
    db.load("A", [(c,) for c in CONSTANTS], types=["a"])
    for name, found in rows.items():
        target, types = name in "WT", ["a"] * (len(found[0]) - 1)
        if kind != "column":
            db.load(name, found, types=["d", *types], example="d", target=target)
        else:
            places = list(range(1, len(found[0])))
            db.load(name, found, types=types, columns=places, example="column0", target=target)
    db.load(local={"a": kind == "local"})
    return db


def model(kind: str, rules: str) -> sqlrl.Model:
    declared = "S(a, a)\nA(a)\nU(d, a)\nR(d, a)\nW(d)\nT(d, a)\n"
    text = declared + rules
    if kind == "column":
        for name, less in (("(k, ", "("), ("(d, ", "("), ("(k)", "()"), ("(d)", "()")):
            text = text.replace(name, less)
    return sqlrl.parse_mln(text, query=["W", "T"])


def enumerated(kind: str) -> Data:
    """The same data for direct evaluation."""
    own = {"U": ("d", "a"), "R": ("d", "a"), "W": ("d",), "T": ("d", "a")}
    beside = kind == "column"
    predicates = {n: (types[1:] if beside else types, beside) for n, types in own.items()}
    facts = {
        atom(kind, n, e, c) for n, rows in (("U", BESIDE), ("R", WITH)) for e, found in rows.items() for c in found
    }
    facts |= {("S", "", row) for row in SHARED[kind]} | {("A", "", (c,)) for c in CONSTANTS}
    domains = {e: BESIDE[e] + WITH[e] if kind == "local" else CONSTANTS for e in EXAMPLES}
    names = [atom(kind, "W", e) for e in EXAMPLES] + [atom(kind, "T", e, c) for e in EXAMPLES for c in domains[e]]
    return Data(
        "column" if beside else "type",
        {"a": CONSTANTS, "d": EXAMPLES},
        {**predicates, "S": (("a", "a"), False), "A": (("a",), False)},
        EXAMPLES,
        {("a", e): frozenset(found) for e, found in domains.items()},
        frozenset("a" if kind == "local" else ""),
        frozenset(facts),
        dict.fromkeys(names),
        opened=frozenset("WT"),
        example_type="d",
    )


def atom(kind: str, name: str, example: str, *constants: str) -> Ground:
    return (name, example, constants) if kind == "column" else (name, "", (example, *constants))


def expected(data: Data, rules: sqlrl.Model) -> tuple[dict[Ground, float], dict[str, float]]:
    """The probability of each atom and the best score of each example, by enumeration of its worlds."""
    found, best = dict[Ground, float](), dict[str, float]()
    formulas = [(rule, Formulas(rule.formula, data)) for rule in rules.rules]
    for example in EXAMPLES:
        mine, only = [x for x in data.atoms if data.example_of(x) == example], frozenset((example,))
        scores = dict[frozenset[Ground], float]()
        for bits in product((False, True), repeat=len(mine)):
            world = frozenset(x for x, true in zip(mine, bits, strict=True) if true)
            if all(f.n(world, only) == f.total(only) for rule, f in formulas if rule.hard):
                scores[world] = sum((rule.weight or 0) * f.n(world, only) for rule, f in formulas if not rule.hard)
        best[example] = max(scores.values())
        z = sum(map(math.exp, scores.values()))
        found |= {x: sum(math.exp(s) for world, s in scores.items() if x in world) / z for x in mine}
    return found, best


def told(kind: str, data: Data, rows: list[dict[str, object]], name: str, column: str) -> dict[Ground, object]:
    """What a table says of atoms, by the atoms of the enumeration."""
    found = {}
    for row in rows:
        constants = [str(row["a"])] if "a" in row else []
        example = str(row.get("example", row.get("d")))
        found[atom(kind, name, example, *constants)] = row[column]
    assert found.keys() <= data.atoms.keys()
    return found


# The quick tier has each rule with data of one kind.
CASES = [
    pytest.param(rules, kind, marks=[] if i % len(SHARED) == k else pytest.mark.slow)
    for k, kind in enumerate(SHARED)
    for i, rules in enumerate(RULES)
    if kind != "column" or i % 2 == 0 or i % len(SHARED) == k
]


@pytest.mark.parametrize(("rules", "kind"), CASES)
def test_some_examples_are_told_what_enumeration_says(rules: str, kind: str) -> None:
    parsed, data = model(kind, rules), enumerated(kind)
    probability, best = expected(data, parsed)
    formulas = [(rule.weight or 0, Formulas(rule.formula, data)) for rule in parsed.rules]
    db = loaded(kind)
    for chosen in SUBSETS:
        marginals = db.probabilities(parsed, examples=chosen and list(chosen), method="exact")
        found = dict[Ground, object]()
        for name in "WT":
            found |= told(kind, data, marginals.probabilities(name).to_pylist(), name, "probability")
        asked = {x: p for x, p in probability.items() if chosen is None or data.example_of(x) in chosen}
        assert found == pytest.approx(asked, abs=1e-6)
    predicted, true = db.predict(parsed, examples=["e2"]), dict[Ground, object]()
    for name in "WT":
        true |= told(kind, data, predicted.atoms(name, every=True).to_pylist(), name, "truth")
    world = frozenset(x for x, value in true.items() if value)
    assert sum(w * f.n(world, frozenset(("e2",))) for w, f in formulas) == pytest.approx(best["e2"])


@pytest.mark.parametrize("rules", RULES[:4])
def test_examples_with_such_rules_are_learned_from(rules: str) -> None:
    parsed, data, chosen = model("type", rules), enumerated("type"), ["e2", "e3"]
    observed = frozenset((name, "", row) for name, rows in LABELS.items() for row in rows)
    db = loaded("type")
    n = [Formulas(rule.formula, data).n(observed, frozenset(chosen)) for rule in parsed.rules]
    assert db.count(parsed, examples=chosen)["n"] == n
    assert len(sqlrl.baselines.Perceptron().fit(db, parsed, examples=chosen).weights_) == len(n)
