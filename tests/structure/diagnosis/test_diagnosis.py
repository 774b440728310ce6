"""Diagnoses of small models, whose bins are known by hand or by enumerating all worlds of a target."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sqlrl
from sqlrl.errors import UnsupportedError
from sqlrl.logic.terms import Literal
from sqlrl.report import Table
from sqlrl.structure.beam.clauses import Language
from sqlrl.structure.beam.estimator import member_of
from sqlrl.structure.diagnosis.bins import NAMES
from sqlrl.structure.diagnosis.diagnosis import BINS_SCHEMA, GROUNDINGS_SCHEMA, Diagnosis
from sqlrl.training.clause_search import clause_search

PEOPLE = [f"p{i}" for i in range(4)]
FRIENDS = [("p0", "p1"), ("p1", "p2"), ("p2", "p0"), ("p3", "p3"), ("p1", "p0")]
SMOKE = ["p0", "p1"]


def rows(found: sqlrl.Table) -> list[dict]:
    return found.to_arrow().to_pylist()


def bins(found: sqlrl.Table) -> dict[tuple[int, str], tuple[float, ...]]:
    return {(row["rule"], row["target"]): tuple(row[name] for name in NAMES) for row in rows(found)}


@pytest.fixture(scope="module")
def ann() -> sqlrl.Database:
    """The relational database of the paper's running example."""
    db = sqlrl.connect()
    for name in ("Student", "Sleepy", "Sociable", "InClass"):
        db.load(name, [("Ann",)], types=["person"])
    db.load("HasJob", [], types=["person"], empty="allow")
    return db


@pytest.fixture(scope="module")
def friends() -> sqlrl.Database:
    db = sqlrl.connect()
    db.load("Person", [(p,) for p in PEOPLE], types=["person"])
    db.load("Friends", FRIENDS, types=["person", "person"])
    db.load("Smokes", [(p,) for p in SMOKE], types=["person"])
    return db


DECLARED = "Person(person)\nFriends(person, person)\nSmokes(person)\n"


@pytest.mark.parametrize(
    ("clause", "bin"),
    [
        ("!InClass(x) v Student(x)", "applies_good"),
        ("!Sociable(x) v !Student(x)", "applies_bad"),
        ("Sleepy(x) v !Student(x)", "idle_good"),
        ("!HasJob(x) v Student(x)", "idle_bad"),
    ],
)
def test_the_running_example(ann: sqlrl.Database, clause: str, bin: str) -> None:
    declared = "Student(person)\nSleepy(person)\nSociable(person)\nInClass(person)\nHasJob(person)\n"
    found = ann.diagnose(sqlrl.parse_mln(declared + f"1 {clause}"), kind="paper")
    (row,) = (row for row in rows(found.found) if row["target"] == "Student")
    assert {name: row[name] for name in NAMES} == {**dict.fromkeys(NAMES, 0.0), bin: 1.0}
    assert (row["too_general"], row["too_specific"]) == (bin == "applies_bad", bin == "idle_bad")


def test_a_clause_that_the_evidence_satisfies_everywhere_is_too_specific(ann: sqlrl.Database) -> None:
    found = ann.diagnose(
        sqlrl.parse_mln("Student(person)\nHasJob(person)\nSleepy(person)\n1 HasJob(x) ^ Sleepy(x) => Student(x)"),
        kind="paper",
    )
    (row,) = (row for row in rows(found.found) if row["target"] == "Student")
    assert row["idle_bad"] == 1
    assert row["too_specific"]
    assert not row["too_general"]
    assert 0 in found.specific
    shown = [each for each in rows(found.groundings) if each["target"] == "Student"]
    assert [(each["bin"], each["grounding"]) for each in shown] == [
        ("idle_bad", "!HasJob(Ann) v !Sleepy(Ann) v Student(Ann)")
    ]


# ---- several literals of a target --------------------------------------------------------------------


def holds(clause: list[tuple[str, tuple[str, ...], bool]], row: dict[str, str], world: frozenset) -> list[bool]:
    return [((name, tuple(row[v] for v in terms)) in world) == positive for name, terms, positive in clause]


def by_enumeration(
    clauses: list[tuple[float, list[tuple[str, tuple[str, ...], bool]]]], asked: int, target: str, hard: list[int] = ()
) -> tuple[float, ...]:
    """The expected bins of a clause under the distribution over all worlds of the target's atoms."""
    facts = {("Person", (p,)) for p in PEOPLE} | {("Friends", f) for f in FRIENDS} | {("Smokes", (p,)) for p in SMOKE}
    arity = {"Smokes": 1, "Person": 1}[target]
    atoms = [(target, c) for c in product(PEOPLE, repeat=arity)]
    evidence = {fact for fact in facts if fact[0] != target}
    total, sums = 0.0, Counter()

    def groundings(clause):
        names = sorted({v for _, terms, _ in clause for v in terms})
        return [dict(zip(names, c, strict=True)) for c in product(PEOPLE, repeat=len(names))]

    for values in product([False, True], repeat=len(atoms)):
        world = frozenset(evidence | {a for a, v in zip(atoms, values, strict=True) if v})
        if any(not any(holds(clauses[h][1], row, world)) for h in hard for row in groundings(clauses[h][1])):
            continue
        energy = sum(
            w * any(holds(c, row, world)) for i, (w, c) in enumerate(clauses) if i not in hard for row in groundings(c)
        )
        probability = np.exp(energy)
        total += probability
        clause = clauses[asked][1]
        for row in groundings(clause):
            # Literals of a ground clause with the same atom and sign are one; with both signs it holds whatever the atom is.
            ground = {(n, tuple(row[v] for v in t), positive) for n, t, positive in clause}
            for name, terms, positive in ground:
                if name != target:
                    continue
                others = [x for x in ground if x != (name, terms, positive)]
                idle = any(((n, t) in world) == p for n, t, p in others) or (name, terms, not positive) in ground
                good = (positive == ((name, terms) in facts)) != idle
                sums["idle" if idle else "applies", good] += probability
    return tuple(sums[k] / total for k in (("applies", True), ("applies", False), ("idle", True), ("idle", False)))


FRIENDLY = [("Friends", ("x", "y"), False), ("Smokes", ("x",), False), ("Smokes", ("y",), True)]
SMOKER = [("Smokes", ("x",), True)]
EITHER = [("Smokes", ("x",), True), ("Smokes", ("y",), True), ("Friends", ("x", "y"), True)]


@pytest.mark.parametrize("weights", [pytest.param((0.8, -0.3, 0.5), marks=pytest.mark.slow), (2.0, 1.0, -1.0)])
def test_bins_of_several_literals_are_those_of_all_worlds(friends: sqlrl.Database, weights: tuple[float, ...]) -> None:
    clauses = list(zip(weights, (FRIENDLY, SMOKER, EITHER), strict=True))
    model = sqlrl.parse_mln(
        DECLARED
        + f"{weights[0]} !Friends(x, y) v !Smokes(x) v Smokes(y)\n{weights[1]} Smokes(x)\n{weights[2]} Smokes(x) v Smokes(y) v Friends(x, y)\n"
    )
    # 2 ** 4 worlds are enumerated, so that nothing is sampled. With few samples the same component is sampled.
    found, drawn = (
        friends.diagnose(model, kind="paper"),
        friends.diagnose(model, kind="paper", samples=3, chains=2, burn_in=1),
    )
    assert {row["error"] for row in rows(found.found)} == {0.0}
    for asked in range(3):
        expected = by_enumeration(clauses, asked, "Smokes")
        if weights[asked] < 0:
            # It speaks for what its negation says.
            expected = tuple(expected[i] for i in (1, 0, 3, 2))
        assert bins(found.found)[asked, "Smokes"] == pytest.approx(expected, abs=1e-9)
        assert sum(bins(drawn.found)[asked, "Smokes"]) == pytest.approx(sum(expected))


@pytest.mark.parametrize(
    "formula", ["Smokes(x) ^ Smokes(y) <=> Friends(x, y)", "(Smokes(x) ^ Friends(x, y)) <=> Smokes(y)"]
)
def test_bins_of_formulas_of_several_clauses_are_those_of_all_worlds(friends: sqlrl.Database, formula: str) -> None:
    # Ground clauses `Smokes(p0)` and `!Smokes(p0)` of one formula cancel in the network.
    model = sqlrl.parse_mln(DECLARED + f"0.7 {formula}\n")
    with clause_search(friends.advanced.session, model, limit=None) as search:
        parts = [
            [
                (x.predicate, tuple(t.name for t in x.terms), x.positive)
                for x in clause.literals
                if isinstance(x, Literal)
            ]
            for clause in search.rules[0].clauses
        ]
    assert len(parts) > 1
    clauses = [(0.7, part) for part in parts]
    each = [by_enumeration(clauses, i, "Smokes") for i in range(len(parts))]
    expected = tuple(map(sum, zip(*each, strict=True)))
    assert bins(friends.diagnose(model, kind="paper").found)[0, "Smokes"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_bins_that_are_sampled_are_within_their_errors() -> None:
    db = sqlrl.connect()
    people = [f"p{i}" for i in range(10)]
    db.load(
        "Friends", [(a, b) for i, a in enumerate(people) for b in people[i + 1 : i + 4]], types=["person", "person"]
    )
    db.load("Smokes", [(p,) for p in people[:5]], types=["person"])
    model = sqlrl.parse_mln(
        "Friends(person, person)\nSmokes(person)\n0.5 !Friends(x, y) v !Smokes(x) v Smokes(y)\n-0.2 Smokes(x)"
    )
    exact = db.diagnose(model, kind="paper", samples=300)
    drawn = db.diagnose(model, kind="paper", samples=200, burn_in=20, chains=4, random_state=3)
    (one,) = (r for r in rows(exact.found) if (r["rule"], r["target"]) == (0, "Smokes"))
    (other,) = (r for r in rows(drawn.found) if (r["rule"], r["target"]) == (0, "Smokes"))
    total = sum(one[name] for name in NAMES)
    assert one["error"] == 0 < other["error"] < 0.05
    for name in NAMES:
        assert abs(one[name] - other[name]) / total < 4 * other["error"]
    again = db.diagnose(model, kind="paper", samples=200, burn_in=20, chains=4, random_state=3)
    assert again.found.to_arrow().equals(drawn.found.to_arrow())
    assert again.groundings.to_arrow().equals(drawn.groundings.to_arrow())


def test_hard_rules_that_the_data_violate_are_left_out_of_the_chain(friends: sqlrl.Database) -> None:
    # p1 smokes and is a friend of p2, who does not.
    model = sqlrl.parse_mln(
        DECLARED + "Friends(x, y) ^ Smokes(x) => Smokes(y).\n0.5 Smokes(x) v Smokes(y) v Friends(x, y)\n"
    )
    found = friends.diagnose(model, kind="paper")
    clauses = [(0.0, FRIENDLY), (0.5, EITHER)]
    assert bins(found.found)[1, "Smokes"] == pytest.approx(by_enumeration(clauses, 1, "Smokes"), abs=1e-9)
    # A hard rule that holds has its say.
    model = sqlrl.parse_mln(
        DECLARED + "Smokes(x) => Person(x).\n!Friends(x, x) v !Smokes(x).\n0.5 Smokes(x) v Smokes(y) v Friends(x, y)\n"
    )
    hard = [(0.0, [("Friends", ("x", "x"), False), ("Smokes", ("x",), False)]), (0.5, EITHER)]
    expected = by_enumeration(hard, 1, "Smokes", hard=[0])
    assert bins(friends.diagnose(model, kind="paper").found)[2, "Smokes"] == pytest.approx(expected, abs=1e-9)


# ---- groundings and rows ----------------------------------------------------------------------------------


MARKED = "1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n1 Friends(x, y) => Smokes(x)\n0.5 Smokes(x) ^ Person(x)\n1 Friends(x, y) ^ Friends(y, x) => x = y\n"


def test_rows_are_kept(friends: sqlrl.Database) -> None:
    found = friends.diagnose(sqlrl.parse_mln(DECLARED + MARKED), kind="paper")
    assert found.run
    for table, kept in (("diagnosis", found.found), ("diagnosis_grounding", found.groundings)):
        names = ", ".join(f'"{name}"' for name in kept.to_arrow().column_names)
        stored = friends.sql(f"select {names} from sqlrl.{table} where run = {found.run}").to_arrow_table()
        assert sorted(map(str, stored.to_pylist())) == sorted(map(str, rows(kept)))
        assert stored.num_rows > 0


def bin_of(literals: list[tuple[str, bool]], i: int, conjunction: bool) -> str:
    """The bin of a ground clause for one of its literals; each comes with whether it holds."""
    others = [true for text, true in literals if text != literals[i][0]]
    idle = not all(others) if conjunction else any(others)
    # A literal holds exactly if its sign is the truth of its atom.
    good = literals[i][1] != idle
    return f"{'idle' if idle else 'applies'}_{'good' if good else 'bad'}"


def test_groundings_are_in_their_bins(friends: sqlrl.Database) -> None:
    found = friends.diagnose(sqlrl.parse_mln(DECLARED + MARKED), kind="paper", shown=50)
    facts = (
        {f"Person({p!r})" for p in PEOPLE}
        | {f"Friends({a!r}, {b!r})" for a, b in FRIENDS}
        | {f"Smokes({p!r})" for p in SMOKE}
    )
    facts = {fact.replace("'", '"') for fact in facts}
    counted = Counter()
    for row in rows(found.groundings):
        conjunction = " ^ " in row["grounding"]
        literals = []
        for text in row["grounding"].split(" ^ " if conjunction else " v "):
            if "=" in text:
                left, right = text.replace("!=", "=").split(" = ")
                literals.append((text, (left == right) == ("!=" not in text)))
            else:
                literals.append((text, (text.removeprefix("!") in facts) == (not text.startswith("!"))))
        inside = [i for i, (text, _) in enumerate(literals) if text.removeprefix("!").startswith(row["target"] + "(")]
        assert inside

        assert row["bin"] in {bin_of(literals, i, conjunction) for i in inside}, row
        counted[row["rule"], row["target"], row["bin"]] += 1
    for row in rows(found.found):
        for name, mark in (("applies_bad", "too_general"), ("idle_bad", "too_specific")):
            n = counted[row["rule"], row["target"], name]
            assert (n > 0) <= row[mark]
            if row[mark] and row["rule"] in (1, 2):
                assert n == row[name], row


@pytest.mark.parametrize(
    ("clause", "negation"),
    [
        ("!Friends(x, y) v Smokes(x)", "Friends(x, y) ^ !Smokes(x)"),
        ("!Friends(x, y) v !Smokes(x) v Smokes(y)", "Friends(x, y) ^ Smokes(x) ^ !Smokes(y)"),
        ("Smokes(x)", "!Smokes(x)"),
    ],
)
def test_a_rule_with_a_negative_weight_is_diagnosed_as_its_negation(
    friends: sqlrl.Database, clause: str, negation: str
) -> None:
    other = "\n-0.4 Smokes(x) v Person(x)\n"
    one = friends.diagnose(sqlrl.parse_mln(f"{DECLARED}-0.7 {clause}{other}"), kind="paper", shown=50)
    two = friends.diagnose(sqlrl.parse_mln(f"{DECLARED}0.7 {negation}{other}"), kind="paper", shown=50)
    assert (one.general, one.specific) == (two.general, two.specific)
    for target in ("Friends", "Smokes"):
        if target in clause:
            assert bins(one.found)[0, target] == pytest.approx(bins(two.found)[0, target], abs=1e-9)

    def facts(found: sqlrl.Table) -> Counter[tuple[str, str, frozenset[str]]]:
        return Counter(
            (
                row["target"],
                row["bin"],
                frozenset(x.removeprefix("!") for x in row["grounding"].replace(" v ", " ^ ").split(" ^ ")),
            )
            for row in rows(found)
            if row["rule"] == 0
        )

    assert facts(one.groundings) == facts(two.groundings)


SHOWN = [
    "Smokes(x) v !Friends(x, y)",
    "Friends(x, y) ^ Friends(y, z) => Smokes(x) v x = z",
    "Smokes(x) ^ Friends(x, y)",
    # The variables of one clause are not those of the other.
    "(Smokes(x) v !Friends(x, y)) ^ (Person(z) v Smokes(x) v Smokes(z))",
]


# The quick tier has each rule with one number of examples.
@pytest.mark.parametrize(
    ("rule", "examples"),
    [
        pytest.param(rule, examples, marks=[] if (examples > 1) == (i % 2 == 1) else pytest.mark.slow)
        for i, rule in enumerate(SHOWN)
        for examples in (1, 4)
    ],
)
def test_a_few_groundings_are_the_first_ones_of_all(rule: str, examples: int) -> None:
    """Examples have the same constants and most of their facts in common, so that all of them have a grounding."""
    db = sqlrl.connect()
    names = [f"e{k}" for k in range(examples)]
    db.load("Person", [(p, e) for e in names for p in PEOPLE], types=["person"], example="column1")
    db.load("Friends", [(*f, e) for e in names for f in FRIENDS], types=["person", "person"], example="column2")
    db.load("Smokes", [(p, e) for e in names for p in SMOKE], types=["person"], example="column1")
    compared = 0
    with clause_search(
        db.advanced.session, sqlrl.parse_mln(f"{DECLARED}1 {rule}"), examples=None, limit=None
    ) as search:
        (given,) = search.rules
        member = member_of(given, Language(search.predicates, 9, 9, search.example_type))
        for instance, target, name in product(
            member.instances, ("Smokes", "Friends", "Person"), ("applies_bad", "idle_bad")
        ):
            if any(x.predicate == target for x in instance.shape.literals):
                every = search.source.groundings(instance, target, name, given.sign, 10_000)
                for most in range(1, 6):
                    few = search.source.groundings(instance, target, name, given.sign, most)
                    assert few == every[:most], (target, name, most)
                    compared += len(few) == most
    assert compared > 5


def test_a_predicate_of_no_example_is_not_sampled() -> None:
    db = sqlrl.connect()
    db.load("Smokes", [("a", "one"), ("b", "two")], types=["person"], example="column1")
    db.load("Friends", [("a", "b")], types=["person", "person"])
    declared = "Smokes(person)\nFriends(person, person)\n"
    with pytest.raises(
        UnsupportedError,
        match="has several literals of Friends, which belongs to no example though the data are several",
    ):
        db.diagnose(sqlrl.parse_mln(declared + "1 Friends(x, y) ^ Smokes(x) => Friends(y, x)"), kind="paper")
    assert len(db.diagnose(sqlrl.parse_mln(declared + "1 Friends(x, y) => Smokes(x)"), kind="paper").found) == 2


def pets() -> sqlrl.Database:
    db = sqlrl.connect()
    db.load("Cat", [("a",), ("b",)], types=["beast"])
    db.load("Dog", [("c",), ("d",)], types=["beast"])
    db.load("Barks", [("c",), ("d",)], types=["beast"])
    return db


@pytest.mark.slow
def test_predicates_that_exclude_each_other_are_no_slip() -> None:
    # Warnings are errors in tests.
    db = pets()
    found = db.diagnose(sqlrl.parse_mln("Cat(beast)\nDog(beast)\nBarks(beast)\n2 Cat(x) => !Dog(x)"), kind="paper")
    assert not found.general
    with pytest.warns(sqlrl.errors.GroundingWarning, match="Cat and Dog .*share no constant"):
        db.diagnose(
            sqlrl.parse_mln("Cat(beast)\nDog(beast)\nBarks(beast)\n2 Cat(x) ^ Dog(x) => Barks(x)"), kind="paper"
        )
    # A pair is spoken of once in a database.
    for formula in ("Cat(x) ^ Barks(y) ^ Dog(x)", "Cat(x) ^ Dog(x)"):
        with pytest.warns(sqlrl.errors.GroundingWarning, match="share no constant"), pets() as other:
            other.diagnose(sqlrl.parse_mln(f"Cat(beast)\nDog(beast)\nBarks(beast)\n2 {formula}"), kind="paper")


def test_predicates_of_a_rule_with_the_same_marks_stand_together() -> None:
    def row(rule: int, target: str, *bins: float) -> dict[str, Any]:
        marks = {"too_general": bins[1] > 1, "too_specific": bins[3] > 1}
        return {
            "rule": rule,
            "formula": f"R{rule}(x)",
            "target": target,
            **dict(zip(NAMES, bins, strict=True)),
            "error": 0.0,
            **marks,
        }

    rows = [
        row(0, "A", 6, 2, 0, 0), row(0, "B", 5, 2, 1, 0), row(0, "C", 0, 2, 6, 0),
        # The same share of another rule, another share, and marks of the other kind.
        row(1, "A", 6, 2, 0, 0), row(1, "B", 5, 2, 0, 0), row(1, "C", 6, 0, 0, 2), row(1, "D", 0, 0, 6, 2),
        row(2, "A", 8, 0, 0, 0),
    ]  # fmt: skip
    found = Diagnosis(
        Table(pa.Table.from_pylist(rows, BINS_SCHEMA)), Table(GROUNDINGS_SCHEMA.empty_table()), frozenset(), frozenset()
    )
    assert str(found).splitlines() == [
        "R0(x): of A, B and C too general (25 % against the truth)",
        "R1(x): of A too general (25 % against the truth)",
        "R1(x): of B too general (29 % against the truth)",
        "R1(x): of C and D too specific (25 % idle where it would speak for the truth)",
    ]
    assert len(found.found) == len(rows)
