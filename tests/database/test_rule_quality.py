"""Rules on trial: counts, intervals and queries against enumeration in Python, problems of single rules, pairs, verdicts, and what is kept."""

from __future__ import annotations

import random
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from scipy.stats import binomtest

import sqlrl
from sqlrl.errors import GroundingWarning, InputError
from sqlrl.logic.printer import format_formula
from sqlrl.logic.subformulas import atoms_of, subformulas
from sqlrl.logic.terms import And, Atom, Constant, Equal, Exist, Formula, Implies, Not, Or, Variable
from sqlrl.structure.diagnosis.quality import head_words, percent, wilson

TYPES = {"person": ("Ann", "Bob", "Cid"), "thing": ("Hat", "Pen")}
PREDICATES = {"P": ("person",), "Q": ("person",), "R": ("person", "thing"), "S": ("person", "person")}
X, Y = Variable("x"), Variable("y")
KINDS = {"x": "person", "y": "person", "z": "person", "t": "thing", "u": "thing"}

Fact = tuple[str, tuple[str, ...]]


# ---- the oracle: formulas over assignments -------------------------------------------------------------


def holds(formula: Formula, row: dict[str, str], facts: frozenset[Fact]) -> bool:
    """Evaluate a formula under an assignment."""

    def value(term: Variable | Constant) -> str:
        return row[term.name] if isinstance(term, Variable) else term.name

    match formula:
        case Atom(name, terms):
            return (name, tuple(map(value, terms))) in facts
        case Equal(left, right):
            return value(left) == value(right)
        case Not(body):
            return not holds(body, row, facts)
        case And(parts):
            return all(holds(part, row, facts) for part in parts)
        case Or(parts):
            return any(holds(part, row, facts) for part in parts)
        case Implies(left, right):
            return not holds(left, row, facts) or holds(right, row, facts)
        case Exist(names, body):
            choices = product(*(TYPES[KINDS[name]] for name in names))
            return any(holds(body, {**row, **dict(zip(names, each, strict=True))}, facts) for each in choices)
    raise TypeError(formula)


def free(formula: Formula) -> set[str]:
    """Return the free variables of a formula."""
    match formula:
        case Atom(_, terms):
            return {term.name for term in terms if isinstance(term, Variable)}
        case Equal(left, right):
            return {term.name for term in (left, right) if isinstance(term, Variable)}
        case Not(body):
            return free(body)
        case And(parts) | Or(parts):
            return set[str]().union(*map(free, parts))
        case Implies(left, right):
            return free(left) | free(right)
        case Exist(names, body):
            return free(body) - set(names)
    raise TypeError(formula)


def bindings(names: set[str]) -> Iterator[dict[str, str]]:
    """Yield all assignments of some variables."""
    ordered = sorted(names)
    for values in product(*(TYPES[KINDS[name]] for name in ordered)):
        yield dict(zip(ordered, values, strict=True))


@dataclass(frozen=True)
class Expected:
    applies: int
    violations: list[dict[str, str]]
    base: tuple[int, int]
    known: int | None
    interval: tuple[float, float] | None


def expected(rule: Implies, facts: frozenset[Fact], opened: str) -> Expected:
    """Enumerate what the data say of a rule."""
    rows = [row for row in bindings(free(rule)) if holds(rule.left, row, facts)]
    wrong = [row for row in rows if not holds(rule.right, row, facts)]
    heads = list(bindings(free(rule.right)))
    known = None
    if isinstance(rule.right, Atom) and rule.right.predicate == opened and len(rule.right.terms) == 2:
        mine = [constants for name, constants in facts if name == opened]
        # The argument of which the other has the most values a fact, the last one if they are alike.
        others = [len({constants[1 - i] for constants in mine}) for i in (0, 1)]
        place = 1 if others[1] >= others[0] else 0
        subject = rule.right.terms[1 - place]
        there = {constants[1 - place] for constants in mine}
        known = sum((row[subject.name] if isinstance(subject, Variable) else subject.name) in there for row in rows)
    return Expected(
        len(rows),
        wrong,
        (sum(holds(rule.right, row, facts) for row in heads), len(heads)),
        known,
        interval(rule, rows, len(rows) - len(wrong)),
    )


def interval(rule: Implies, cases: list[dict[str, str]], held: int) -> tuple[float, float] | None:
    """Return the interval of 95 % if all cases with one head, or with what one condition has of it, are one draw."""
    if not cases:
        return None
    of_body, of_head = free(rule.left), free(rule.right)
    sizes = [1] * len(cases)
    if not of_body <= of_head:
        found = [free(atom) & of_body & of_head for atom in atoms_of(rule.left)]
        names = sorted(max(found, key=len, default=set()))
        sizes = list(Counter(tuple(case[name] for name in names) for case in cases).values())
    return wilson(held, len(cases), len(cases) ** 2 / sum(n * n for n in sizes))


EVERY = [(n, c) for n, kinds in PREDICATES.items() for c in product(*(TYPES[kind] for kind in kinds))]
WORLDS = [frozenset(EVERY[i] for i in np.flatnonzero(kept)) for kept in np.random.default_rng(5).random((50, len(EVERY))) < 0.5]  # fmt: skip

# ---- random data and rules -----------------------------------------------------------------------------


def terms(kind: str, names: str) -> st.SearchStrategy[Variable | Constant]:
    known = [Variable(name) for name in names if KINDS[name] == kind]
    return st.sampled_from([*known * 3, Constant(TYPES[kind][0])])


def atoms(names: str) -> st.SearchStrategy[Formula]:
    return st.sampled_from(sorted(PREDICATES)).flatmap(
        lambda name: st.tuples(*(terms(kind, names) for kind in PREDICATES[name])).map(lambda found: Atom(name, found))
    )


def literals(names: str) -> st.SearchStrategy[Formula]:
    return st.one_of(atoms(names), atoms(names), atoms(names).map(Not))


@st.composite
def witnesses(draw: st.DrawFn) -> Formula:
    """EXIST over one or two literals."""
    name = draw(st.sampled_from("zu"))
    parts = draw(st.lists(literals(f"xyt{name}"), min_size=1, max_size=2))
    body = parts[0] if len(parts) == 1 else And(tuple(parts))
    return Exist((name,), body) if name in free(body) else body


@st.composite
def implications(draw: st.DrawFn) -> Implies:
    """A rule of one to three conditions; variables of equalities stand in a literal, too."""
    parts = draw(st.lists(st.one_of(literals("xyt"), literals("xyt"), witnesses()), min_size=1, max_size=3))
    several = st.lists(literals("xyt"), min_size=2, max_size=2).map(lambda found: Or(tuple(found)))
    head = draw(st.one_of(literals("xyt"), literals("xyt"), several, witnesses()))
    # The head alone may say the types of the two.
    if {"x", "y"} <= set[str]().union(*map(free, [*parts, head])) and draw(st.booleans()):
        equal = Equal(Variable("x"), Variable("y"))
        parts.append(draw(st.sampled_from([equal, Not(equal)])))
    join = And if draw(st.integers(0, 3)) else Or
    body = parts[0] if len(parts) == 1 else join(tuple(parts))
    return Implies(body, head)


@st.composite
def data(draw: st.DrawFn) -> frozenset[Fact]:
    return frozenset(draw(st.sets(st.sampled_from(EVERY), max_size=len(EVERY))))


def whole(rule: Implies, facts: frozenset[Fact]) -> bool:
    """Return whether a rule holds for all bindings."""
    return all(holds(rule, row, facts) for row in bindings(free(rule)))


def loaded(facts: frozenset[Fact], opened: str = "", absent: str = "") -> sqlrl.Database:
    """Return a database of facts, of which one predicate is to be predicted, and one has no data."""
    db = sqlrl.connect()
    db.load("Person", [(name,) for name in TYPES["person"]], types=["person"])
    db.load("Thing", [(name,) for name in TYPES["thing"]], types=["thing"])
    for name, kinds in PREDICATES.items():
        if name == absent:
            continue
        rows = sorted(constants for predicate, constants in facts if predicate == name)
        db.load(name, rows or _empty(len(kinds)), types=kinds, target=name == opened, empty="allow")
    return db


def _empty(width: int) -> Any:
    return pa.table({f"c{i}": pa.array([], pa.string()) for i in range(width)})


def model(rules: list[Implies]) -> str:
    return "\n".join(map(format_formula, rules))


@given(data(), st.lists(implications(), min_size=1, max_size=6), st.sampled_from(["", "Q", "S", "R"]))
def test_numbers_and_violating_rows_are_those_of_enumeration(
    facts: frozenset[Fact], rules: list[Implies], opened: str
) -> None:
    with loaded(facts, opened) as db:
        found = {row["rule"]: row for row in db.diagnose(model(rules)).table}
        assert sorted(found) == list(range(len(rules)))
        for i, rule in enumerate(rules):
            row, want = found[i], expected(rule, facts, opened)
            assert row["problem"] is None, row
            assert (row["applies"], row["violations"]) == (want.applies, len(want.violations)), row["text"]
            held = want.applies - len(want.violations)
            assert row["confidence"] == (held / want.applies if want.applies else None)
            assert between(row) == want.interval, row["text"]
            # What is true of all data, or of none, says nothing of its head.
            empty = "whatever the data are" in row["verdict"]
            if empty:
                assert len({whole(rule, world) for world in WORLDS}) == 1, row["text"]
            assert row["base_rate"] == (None if empty else want.base[0] / want.base[1])
            lifted = want.applies and want.base[0] and not empty
            assert row["lift"] == (pytest.approx(row["confidence"] / row["base_rate"]) if lifted else None)
            assert row["pca_confidence"] == (held / want.known if want.known else None), row["text"]
            names = sorted(free(rule))
            query = row["violating_sql"] if not names else f"select {', '.join(names)} from ({row['violating_sql']})"
            listed = sorted(db.sql(query).fetchall())
            assert listed == sorted(tuple(each[name] for name in names) or (True,) for each in want.violations)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GroundingWarning)  # some rules join what shares no constant
            counted = db.count(sqlrl.parse_mln(_declared() + model(rules)))
        assert counted["applies"] == [found[i]["applies"] for i in range(len(rules))]


def between(row: dict[str, Any]) -> object:
    """Return an interval to be compared with that of the oracle, or None."""
    low, high = row["confidence_low"], row["confidence_high"]
    return None if low is None else pytest.approx((low, high))


def _declared() -> str:
    kinds = {"Person": ("person",), "Thing": ("thing",), **PREDICATES}
    return "".join(f"{name}({', '.join(types)})\n" for name, types in kinds.items())


@pytest.mark.parametrize(
    ("rule", "applies", "violations"),
    [
        ("Late(o) ^ o != p => Refunded(p)", 16 * 39, 16 * 28 - 6),
        ('Late("o00") ^ s != t => Placed("o00", t)', 90, 81),
        ("Late(o) ^ o = p => Refunded(p)", 16, 6),
        ('Late(o) ^ (p = "o38" v p = o) => Refunded(p)', 32, 6),
    ],
)
def test_types_that_only_the_head_says(shop: sqlrl.Database, rule: str, applies: int, violations: int) -> None:
    (row,) = shop.diagnose(f"{rule}\n").table.to_pylist()
    assert (row["applies"], row["violations"]) == (applies, violations)
    assert None not in (row["confidence"], row["confidence_low"], row["base_rate"], row["lift"])
    assert len(shop.sql(row["violating_sql"]).fetchall()) == violations
    declared = "Placed(order, shop)\nLate(order)\nRefunded(order)\n"
    assert shop.count(sqlrl.parse_mln(declared + rule))["applies"] == [applies]


# ---- atoms without a label -----------------------------------------------------------------------------


def known(formula: Formula, row: dict[str, str], facts: frozenset[Fact], unknown: frozenset[Fact]) -> bool | None:
    """Evaluate a formula by Kleene's tables; None if nobody knows."""

    def both(values: list[bool | None]) -> bool | None:
        """Return a conjunction."""
        return False if False in values else None if None in values else True

    def negation(value: bool | None) -> bool | None:
        return None if value is None else not value

    match formula:
        case Atom(name, terms):
            atom = name, tuple(row[t.name] if isinstance(t, Variable) else t.name for t in terms)
            return None if atom in unknown else atom in facts
        case Not(body):
            return negation(known(body, row, facts, unknown))
        case And(parts):
            return both([known(part, row, facts, unknown) for part in parts])
        case Or(parts):
            return negation(both([negation(known(part, row, facts, unknown)) for part in parts]))
        case Implies(left, right):
            return known(Or((Not(left), right)), row, facts, unknown)
        case Exist(names, body):
            rows = [
                {**row, **dict(zip(names, each, strict=True))}
                for each in product(*(TYPES[KINDS[name]] for name in names))
            ]
            return negation(both([negation(known(body, each, facts, unknown)) for each in rows]))
    return holds(formula, row, facts)


@given(
    data(), data(), st.lists(implications(), min_size=1, max_size=5), st.sampled_from("QRS"), st.booleans(), st.booleans()
)  # fmt: skip
def test_what_has_no_label_is_no_case(
    facts: frozenset[Fact], other: frozenset[Fact], rules: list[Implies], opened: str, scoped: bool, given_too: bool
) -> None:
    every = frozenset((opened, c) for c in product(*(TYPES[kind] for kind in PREDICATES[opened])))
    unknown = every & other
    rest = sorted(every - unknown)
    # Of a target without rows or scope all atoms are false.
    assume(rest)
    with loaded(facts, absent=opened) as db:
        labels = [(*c, (opened, c) in facts) for _, c in rest]
        width = len(PREDICATES[opened])
        # What is given is known, too, whatever the scope is.
        options = {"given": True} if given_too else {"target": True}
        db.load(opened, labels, types=PREDICATES[opened], truth=width, **options)
        if scoped or not given_too:
            db.scope(opened, [c for _, c in rest])
        found = {row["rule"]: row for row in db.diagnose(model(rules)).table}
        for i, rule in enumerate(rules):
            row, truths = found[i], list[tuple[bool | None, bool | None]]()
            assert row["problem"] is None, row
            wrong, cases = [], []
            for each in bindings(free(rule)):
                truths.append((known(rule.left, each, facts, unknown), known(rule.right, each, facts, unknown)))
                if truths[-1] in ((True, True), (True, False)):
                    cases.append(each)
                if truths[-1] == (True, False):
                    wrong.append(each)
            held, bare = truths.count((True, True)), truths.count((True, None))
            assert (row["applies"], row["violations"]) == (held + len(wrong), len(wrong)), row["text"]
            if row["confidence_low"] is not None:
                assert between(row) == interval(rule, cases, held), row["text"]
            elif cases:
                # Heads and bodies with several alternatives each: what is counted of one fails in several ways.
                assert any(isinstance(part, Or) for part in subformulas(rule)), row["text"]
            heads = [known(rule.right, each, facts, unknown) for each in bindings(free(rule.right))]
            sure = [value for value in heads if value is not None]
            empty = "whatever the data are" in row["verdict"]
            if empty:
                assert len({whole(rule, world) for world in WORLDS}) == 1, row["text"]
            assert row["base_rate"] == (sum(sure) / len(sure) if sure and not empty else None)
            said = re.search(r"(\d+) (more )?(cases?) (has|have) no label", row["verdict"])
            assert int(said[1] if said else 0) == bare, row["verdict"]
            names = sorted(free(rule))
            query = row["violating_sql"] if not names else f"select {', '.join(names)} from ({row['violating_sql']})"
            listed = sorted(db.sql(query).fetchall())
            assert listed == sorted(tuple(each[name] for name in names) or (True,) for each in wrong)


# ---- numbers -------------------------------------------------------------------------------------------


@given(st.integers(1, 10**9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_intervals_are_those_of_scipy(pair: tuple[int, int]) -> None:
    low, high = wilson(*pair)
    other = binomtest(*pair).proportion_ci(method="wilson")
    assert low == pytest.approx(other.low, abs=1e-12)
    assert high == pytest.approx(other.high, abs=1e-12)
    assert 0 <= low <= pair[0] / pair[1] <= high <= 1


@pytest.mark.slow  # Three hundred predicates are loaded.
@pytest.mark.parametrize("tail", [0.8, 3.0])
def test_chance_is_called_so_where_cases_share_their_heads(tail: float) -> None:
    draw = random.Random(5)
    customers = [f"c{i}" for i in range(300)]
    # Half of the customers order, and some of them very often.
    orders = [(c, f"{c}-{j}") for c in customers[::2] for j in range(min(int(draw.paretovariate(tail)), 400))]
    chance, planted = [f"Chance{k}" for k in range(150)], [f"Planted{k}" for k in range(30)]
    with sqlrl.connect() as db:
        db.load("Customer", [(c,) for c in customers], types=["customer"])
        db.load("Placed", orders, types=["customer", "order"])
        for name in chance:
            db.load(name, [(c,) for c in customers if draw.random() < 0.4], types=["customer"])
        for name in planted:
            rates = (0.9, 0.2)
            rows = [(c,) for i, c in enumerate(customers) if draw.random() < rates[i % 2]]
            db.load(name, rows, types=["customer"])
        table = db.diagnose("\n".join(f"Placed(c, o) => {name}(c)" for name in chance + planted)).table.to_pylist()
        rows = {row["rule"]: row for row in table}
    found = [not row["confidence_low"] <= row["base_rate"] <= row["confidence_high"] for _, row in sorted(rows.items())]
    naive = [wilson(row["applies"] - row["violations"], row["applies"]) for _, row in sorted(rows.items())]
    bare = [
        not low <= row["base_rate"] <= high for (low, high), (_, row) in zip(naive, sorted(rows.items()), strict=True)
    ]
    # Of 150 intervals of 95 % 13 or fewer miss with a probability of 97 %.
    assert sum(found[:150]) <= 13
    if tail < 1:
        assert sum(bare[:150]) > 60
    else:
        assert sum(found[150:]) == 30


def test_cases_with_one_head_are_one_draw() -> None:
    with sqlrl.connect() as db:
        db.load("Placed", [("a", f"o{i}") for i in range(1000)] + [("b", "p")], types=["customer", "order"])
        db.load("Vip", [("a",)], types=["customer"])
        db.load("Open", [("Rome",)], types=["city"])
        rows = {row["rule"]: row for row in db.diagnose('Placed(c, o) => Vip(c)\nPlaced(c, o) => Open("Rome")\n').table}
        size = 1001**2 / (1000**2 + 1)
        assert (rows[0]["confidence_low"], rows[0]["confidence_high"]) == wilson(1000, 1001, size)
        # One atom, however often it is looked at.
        assert (rows[1]["applies"], rows[1]["confidence"], rows[1]["confidence_low"]) == (1001, 1, wilson(1, 1)[0])


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 5, "0 %"), (5, 5, "100 %"), (20, 63, "32 %"), (1, 1000, "0.1 %"), (9999, 10000, "99.99 %"), (1, 10**9, "under 0.001 %")],
)  # fmt: skip
def test_only_what_is_none_or_all_is_called_so(part: int, whole: int, text: str) -> None:
    assert percent(part, whole) == text


# ---- single rules that are wrong -----------------------------------------------------------------------


@pytest.fixture
def shop() -> Iterator[sqlrl.Database]:
    """Forty orders of ten shops; 16 are late, 10 of these refunded, as are 2 others."""
    with sqlrl.connect() as db:
        orders = [f"o{i:02}" for i in range(40)]
        db.load("Placed", [(o, f"s{i % 10}") for i, o in enumerate(orders)], types=["order", "shop"])
        db.load("Late", [(o,) for o in orders[:16]], types=["order"])
        db.load("Refunded", [(o,) for o in orders[:10] + orders[38:]], types=["order"], target=True)
        db.load("Price", [(o, i) for i, o in enumerate(orders)], types=["order", "money"])
        yield db


PROBLEMS = [
    ("Late(o => Refunded(o)", r"expected ',' or '\)'"),
    ("Late(o) → Refunded(o)", "unexpected character '→'"),
    ("late orders are refunded", "expected an operator or the end of the line"),
    ("Delayed(o) => Refunded(o)", "unknown predicate 'Delayed'"),
    ("Lat(o) => Refunded(o)", "unknown predicate 'Lat'; did you mean 'Late'"),
    ("Placed(o) => Refunded(o)", "Placed has 1 argument here"),
    ("Placed(o, s) => Refunded(s)", "the variable s is of type 'order' here"),
    ("2 Late(o) => Refunded(o).", "contradict each other"),
    ("inf Late(o) => Refunded(o)", "a weight must be finite"),
    ("Refunded(o) :- Late(o)", "rules with ':-' are not supported"),
    ("Late(o) ^ o > 3 => Refunded(o)", "not supported"),
    ("x = y => x = y", "cannot be inferred"),
    ('Late("o01) => Refunded(o)', "does not end"),
]


def test_one_bad_line_leaves_the_others_alone(shop: sqlrl.Database) -> None:
    lines = [line for bad, _ in PROBLEMS for line in (bad, "Late(o) => Refunded(o)")]
    found = shop.diagnose("\n".join(lines))
    rows = {row["rule"]: row for row in found.table}
    assert [rows[i]["line"] for i in sorted(rows)] == list(range(1, len(lines) + 1))
    for i, (bad, message) in enumerate(PROBLEMS):
        assert rows[2 * i]["text"] == bad
        assert re.search(message, rows[2 * i]["problem"]), rows[2 * i]["problem"]
        assert rows[2 * i]["verdict"] == f"not counted: {rows[2 * i]['problem']}"
        assert (rows[2 * i + 1]["applies"], rows[2 * i + 1]["violations"]) == (16, 6)
    assert [row["rule"] for row in found.problems] == list(range(0, len(lines), 2))
    # Each is equal to those before.
    assert len(found.pairs) == len(PROBLEMS) * (len(PROBLEMS) - 1) / 2


MARKS = [
    ("1. ", "1."), ("2) ", "2)"), ("(3) ", "(3)"), ("  12.  ", "12."), ("* ", "*"), ("- ", "-"), ("+ ", "+"), ("• ", "•"), ("– ", "–"), ("\t-\t", "-"),
]  # fmt: skip


@pytest.mark.parametrize("rule", ["Late(o) => Refunded(o)", "Late(o) => Refunded(o).", "!Late(o) v Refunded(o)"])
def test_numbers_and_bullets_of_a_list_are_no_part_of_rules(shop: sqlrl.Database, rule: str) -> None:
    rows = shop.diagnose("Rules:\n" + "\n".join(mark + rule for mark, _ in MARKS)).table.to_pylist()
    counted = sorted((row for row in rows if row["line"] > 1), key=lambda row: row["line"])
    assert len(counted) == len(MARKS)
    (alone,) = shop.diagnose(f"{rule}\n").table.to_pylist()
    for row, (_, said) in zip(counted, MARKS, strict=True):
        assert (row["text"], row["weight"], row["violations"]) == (rule, None, alone["violations"])
        assert f"read without the {said!r} before it" in row["verdict"]


@pytest.mark.parametrize(
    ("text", "weight"),
    [("1 Late(o) => Refunded(o)", 1.0), ("-1.5 Late(o) => Refunded(o)", -1.5), ("3. -0.5 Late(o) => Refunded(o)", -0.5), ("- 2 Late(o) => Refunded(o)", 2.0), ("* 2 Late(o) => Refunded(o)", 2.0)],
)  # fmt: skip
def test_weights_are_no_numbers_of_a_list(shop: sqlrl.Database, text: str, weight: float) -> None:
    for row in shop.diagnose(f"{text}\n").table:
        assert row["weight"] == weight


def test_both_signs_are_no_bullet(shop: sqlrl.Database) -> None:
    assert len(shop.diagnose("*Late(o) => Refunded(o)\n").table) == 2


def test_any_text_is_a_list_of_rules(shop: sqlrl.Database, tmp_path: Path) -> None:
    good, bad = "Late(o) => Refunded(o)", "Penguins can swim."
    (tmp_path / "none.mln").write_text("", encoding="utf-8")
    for text in ("", "\n", [], tmp_path / "none.mln"):
        assert str(shop.diagnose(text)) == "there are no rules"
    assert str(shop.diagnose(bad)).startswith(f"{bad}: not counted: ")
    assert shop.diagnose([good, bad]).table.to_arrow() == shop.diagnose(f"{good}\n{bad}").table.to_arrow()
    for wrong in (None, 3, [3], b"x"):
        with pytest.raises(InputError, match=r"a model, or rules, is needed, not .*: give the rules as a text"):
            shop.diagnose(wrong)
    shop.models["shop rules"] = sqlrl.parse_mln(f"Late(order)\nRefunded(order)\n{good}")
    with pytest.raises(InputError, match=re.escape("db.models['Shop rules']")):
        shop.diagnose("Shop rules")


def test_rules_that_data_or_limits_refuse_are_listed(shop: sqlrl.Database) -> None:
    shop.load("Size", [(f"o{i:02}", i) for i in range(40)], types=["order", "money"])
    many = " v ".join(f"Placed(o{i}, s)" for i in range(9))
    text = f"Late(o) => Refunded(o)\nLate(o) ^ Placed(o, s) => {many}\nAngry(order)\nAngry(o) => Refunded(o)\nPlaced(o, s) => Late(o)"
    found = {row["rule"]: row for row in shop.diagnose(text, limit=10_000).table}
    assert "more than the limit" in found[1]["problem"]
    # A line that declares a predicate is no rule; it has no data.
    assert found[2]["problem"] == "no data of Angry"
    assert {i: found[i]["violations"] for i in (0, 3)} == {0: 6, 3: 24}


def test_a_model_may_have_rules_without_data(shop: sqlrl.Database) -> None:
    declared = "Placed(order, shop)\nLate(order)\nRefunded(order)\nLost(order)\n"
    model = sqlrl.parse_mln(declared + "Late(o) => Refunded(o)\nLost(o) => Refunded(o)\nLost(o) => Late(o)")
    problems = {row["rule"]: row["problem"] for row in shop.diagnose(model).table}
    assert problems == {0: None, 1: "no data of Lost; did you mean 'Late'?", 2: "no data of Lost; did you mean 'Late'?"}
    empty = {row["rule"]: row for row in shop.diagnose(model, roles=sqlrl.Roles(empty=["Lost"])).table}
    assert empty[1]["verdict"] == "never applies: nothing satisfies its body; of all 40 orders 30 % are refunded"
    assert [row["rule"] for row in shop.diagnose(model, roles=sqlrl.Roles(drop=["Lost"])).table] == [0]


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("target", [False, True])
def test_soft_truths_are_nothing_to_rules_without_them(shop: sqlrl.Database, declared: bool, target: bool) -> None:
    shop.load("Liked", [("o00", 0.9), ("o01", 0.2)], types=["order"], value=1, target=target)
    text = 'Late(o) => Refunded(o)\nLate(o) => Liked(o)\nLiked(o) => (EXIST s Placed(o, s))\n2 Late(o) => Liked("o00")'
    rules: Any = text
    if declared:
        rules = sqlrl.parse_mln("Placed(order, shop)\nLate(order)\nRefunded(order)\nLiked(order)\n" + text)
    found = {row["rule"]: row for row in shop.diagnose(rules).table}
    assert (found[0]["applies"], found[0]["violations"]) == (16, 6)
    for i in (1, 2, 3):
        assert found[i]["problem"].startswith("Liked has 2 values between 0 and 1"), found[i]
    (kept,) = shop.diagnose(rules, roles=sqlrl.Roles(drop=["Liked"])).table
    assert kept["violations"] == 6


def test_a_rule_of_too_many_groundings_leaves_the_others_alone(shop: sqlrl.Database) -> None:
    many = " v ".join(f"Late(x{i})" for i in range(25))
    found = {row["rule"]: row for row in shop.diagnose(f"{many}\nLate(o) => Refunded(o)\nLate(o) => {many}").table}
    assert "more than 10^38 groundings" in found[0]["problem"]
    assert "more than 10^38 groundings" in found[2]["problem"]
    assert (found[1]["applies"], found[1]["violations"]) == (16, 6)


# ---- verdicts and order --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        ("Late(o) => Refunded(o)", "violated in 6 of 16 cases where it applies (38 %); of all 40 orders 30 % are refunded"),
        ("Late(o) => Refunded(o).", "hard, but violated in 6 of 16 cases where it applies (38 %); of all 40 orders 30 % are refunded"),
        ("Refunded(o) => !Late(o)", "violated in 10 of 12 cases where it applies (83 %); of all 40 orders 60 % are not late; worse than chance"),
        ('Placed(o, "s0") => Refunded(o)', "violated in 3 of 4 cases where it applies (75 %); of all 40 orders 30 % are refunded; no better than chance"),
        ('Placed(o, "s9") ^ Late(o) => Refunded(o)', "holds in the 1 case where it applies; of all 40 orders 30 % are refunded"),
        ("Refunded(o) => (EXIST s Placed(o, s))", "holds in all 12 cases where it applies; of all 40 orders 100 % satisfy EXIST s Placed(o, s)"),
        ("Late(o) v Refunded(o)", "violated in 22 of 40 groundings (55 %)"),
        ("!Late(o) v Refunded(o).", "hard, but violated in 6 of 40 groundings (15 %)"),
        ("-1 Late(o) => Refunded(o)", "violated in 6 of 16 cases where it applies (38 %); of all 40 orders 30 % are refunded; worse than chance; its weight is negative, so it speaks for what violates it"),
        ("-1 Refunded(o) => !Late(o)", "violated in 10 of 12 cases where it applies (83 %); of all 40 orders 60 % are not late; its weight is negative, so it speaks for what violates it"),
        ('Placed(o, "s77") => Refunded(o)', "never applies: nothing satisfies its body; of all 40 orders 30 % are refunded; the data have no shop 's77'"),
        ("Placed(o, s) ^ Placed(o, t) => s = t.", "holds in all 40 cases where it applies"),
    ],
)  # fmt: skip
def test_verdicts(shop: sqlrl.Database, rule: str, verdict: str) -> None:
    found = shop.diagnose(rule + "\n")
    assert found.table["verdict"] == [verdict]
    assert str(found) == f"{found.table['text'][0]}: {verdict}"


@pytest.mark.parametrize(
    ("head", "kinds", "words"),
    [
        (Atom("Blocked", (X,)), ["customer"], ("customers", "are blocked")),
        (Not(Atom("Overdue", (X,))), ["company"], ("companies", "are not overdue")),
        (Atom("Bird", (X,)), ["box"], ("boxes", "satisfy Bird(x)")),
        (Atom("Churn", (X,)), ["branch"], ("branches", "satisfy Churn(x)")),
        (Atom("Fails", (X,)), ["key"], ("keys", "satisfy Fails(x)")),
        (Atom("Speed", (X,)), ["address"], ("addresses", "satisfy Speed(x)")),
        (Atom("HasMoved", (X,)), ["news"], ("news", "satisfy HasMoved(x)")),
        (Atom("Company", (X,)), ["p"], ("constants of type p", "satisfy Company(x)")),
        (Atom("Lives", (X, Y)), ["person", "city"], ("combinations (person, city)", "satisfy Lives(x, y)")),
        (Atom("Lives", (X, Constant("Rome"))), ["person"], ("persons", "satisfy Lives(x, Rome)")),
        (Atom("Knows", (X, X)), ["person"], ("persons", "satisfy Knows(x, x)")),
        (Exist(("y",), Atom("Lives", (X, Y))), ["person"], ("persons", "satisfy EXIST y Lives(x, y)")),
        (Atom("Blocked", (Constant("Ann"),)), [], ("bindings", "satisfy Blocked(Ann)")),
    ],
)
def test_heads_in_words(head: Formula, kinds: list[str], words: tuple[str, str]) -> None:
    assert head_words(head, dict(zip("xy", kinds, strict=False))) == words


@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        ("Late(o) => Late(o)", "holds in all 16 cases where it applies; always true, whatever the data are"),
        ("Late(o) ^ Placed(o, s) => Late(o)", "holds in all 16 cases where it applies; always true, whatever the data are"),
        ("Late(o) ^ !Late(o) => Refunded(o)", "never applies: nothing satisfies its body; always true, whatever the data are"),
        ("Late(o) ^ !Late(o)", "violated in 40 of 40 groundings (100 %); always false, whatever the data are"),
    ],
)  # fmt: skip
def test_rules_that_say_nothing_are_told(shop: sqlrl.Database, rule: str, verdict: str) -> None:
    (row,) = shop.diagnose(f"{rule}\n").table.to_pylist()
    assert (row["verdict"], row["base_rate"], row["lift"]) == (verdict, None, None)


def test_hard_rules_that_are_violated_come_first(shop: sqlrl.Database) -> None:
    text = "Refunded(o) => !Late(o)\nLate(o) => Refunded(o).\nPlaced(o, s) => Late(o).\nPlaced(o, s) ^ Placed(o, t) => s = t.\nbad\nbad line\nLate(o) => Refunded(o)"
    assert shop.diagnose(text).table["rule"] == [2, 1, 0, 5, 3, 4]
    # What speaks against a rule that is mostly violated is mostly right.
    assert shop.diagnose("-1 Refunded(o) => !Late(o)\nLate(o) => Refunded(o)").table["rule"] == [1, 0]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("Placed(o, s3) => Refunded(o)", ["s3"]),
        ("Late(o) => Placed(o, s3)", ["s3"]),
        ("Placed(o, s3) ^ Placed(o01, s4) => Refunded(o)", ["o01", "s3", "s4"]),
        ('Placed(o, "s3") => Refunded(o)', []),
        # Of the same name, and of another type.
        ("Placed(s3, s) => Refunded(s3)", []),
        ("Late(s3) v Refunded(o)", []),
        # It joins, or is meant to be one.
        ("Placed(o, s3) ^ Placed(p, s3) => Late(o)", []),
        ("Late(o) => (EXIST s3 Placed(o, s3))", []),
        ("Placed(o, +s3) => Refunded(o)", []),
    ],
)
def test_variables_that_are_called_as_constants_are_told(shop: sqlrl.Database, rule: str, said: list[str]) -> None:
    for row in shop.diagnose(f"{rule}\n").table:
        found = re.findall(r"(\S+) is a variable here, and the data have the \S+ '(\S+)'", row["verdict"])
        assert sorted(found) == [(name, name) for name in said]


def test_a_hard_rule_that_states_a_block_is_counted() -> None:
    with sqlrl.connect() as db:
        db.load("Lives", [("a", "Rome"), ("a", "Oslo"), ("b", "Rome")], types=["person", "city"], target=True)
        found = db.diagnose('Lives(p, c) ^ Lives(p, d) => c = d.\nLives(p, c) => Lives(p, "Rome")')
        assert [(row["applies"], row["violations"]) for row in found.table] == [(5, 2), (3, 0)]
        assert sorted(db.sql(found.table["violating_sql"][0]).fetchall()) == [
            ("a", "Oslo", "Rome"),
            ("a", "Rome", "Oslo"),
        ]


def test_templates_have_a_row_for_each_clause(shop: sqlrl.Database) -> None:
    found = shop.diagnose("Placed(o, +s) => Refunded(o)")
    assert sorted(found.table["text"])[0] == 'Placed(o, "s0") => Refunded(o)'
    assert found.table["applies"] == [4] * 10
    assert sum(found.table["violations"]) == 28
    for row in found.table:
        assert len(shop.sql(row["violating_sql"]).fetchall()) == row["violations"]
    nowhere = shop.diagnose("Placed(o, +s) ^ Placed(o, +t) ^ s != t => Refunded(o)").table
    assert nowhere["problem"] == ["+s and +t have no constants with which its conditions hold anywhere"]


def test_weights_are_those_of_the_model(shop: sqlrl.Database) -> None:
    text = "1.5 Late(o) => Refunded(o)\nLate(o) => Refunded(o).\nRefunded(o) => Late(o)"
    rows = {row["rule"]: row for row in shop.diagnose(text).table}
    assert [(rows[i]["weight"], rows[i]["hard"]) for i in range(3)] == [(1.5, False), (None, True), (None, False)]


def test_examples_narrow_what_is_counted(shop: sqlrl.Database) -> None:
    with sqlrl.connect() as db:
        rows = [(f"d{i % 3}", f"w{i}") for i in range(12)]
        db.load("Word", rows, types=["doc", "word"], example="doc")
        db.load("Good", rows[::2], types=["doc", "word"], example="doc", target=True)
        whole, part = (db.diagnose("Word(d, w) => Good(d, w)", examples=some).table for some in (None, ["d0", "d2"]))
        assert (whole["applies"], whole["violations"]) == ([12], [6])
        assert (part["applies"], part["violations"]) == ([8], [4])


OF_DOCS = [
    "Word(d, w) => Good(d, w)",
    "!Word(d, w) => Good(d, w)",
    'Word("d1", w) => Good("d1", w)',
    "Word(d, w) ^ Word(e, v) ^ d != e => Good(d, w)",
    "Word(d, w) => (EXIST v Good(d, v))",
    "Word(d, w) v Good(d, w)",
    "Late(o) => Paid(o)",
]
OF_WORDS = ["Word(w) => Good(w)", "!Word(w) => Good(w)", "Word(w) ^ Word(v) ^ w != v => Good(v)", "Late(o) => Paid(o)"]
EXAMPLES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "argument": ({"types": ["doc", "word"], "example": "doc"}, OF_DOCS),
    "column": ({"types": ["word"], "columns": ["word"], "example": "doc"}, OF_WORDS),
    "none": ({"types": ["doc", "word"]}, OF_DOCS),
}


@pytest.mark.parametrize("kind", sorted(EXAMPLES))
# Each case loads and diagnoses a database of its own.
@pytest.mark.parametrize("own", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("chosen", [None, ["d1"], ["d2", "it's"], "select 'it''s'"])
def test_violating_rows_are_those_of_chosen_examples(kind: str, own: bool, chosen: Any) -> None:
    rows = [(d, f"{d}{i}" if own else f"w{i}") for d in ("d1", "d2", "it's") for i in range(4)]
    options, rules = EXAMPLES[kind]
    if kind == "none" and chosen is not None:
        chosen = ["all"]
    with sqlrl.connect() as db:
        for name, some in (("Word", rows), ("Good", rows[::3])):
            table = pa.table({"doc": [d for d, _ in some], "word": [w for _, w in some]})
            db.load(name, table, target=name == "Good", **options)
        db.load("Late", [("a",), ("b",)], types=["order"])
        db.load("Paid", [("a",)], types=["order"])
        found = db.diagnose("\n".join(rules), examples=chosen).table.to_pylist()
        assert len(found) == len(rules)
        for row in found:
            assert len(db.sql(row["violating_sql"]).fetchall()) == row["violations"], row["text"]


def test_what_a_rule_names_is_no_part_of_the_domains_of_others(shop: sqlrl.Database) -> None:
    rule = 'Late("o00") => Placed(o, "s1")'
    alone = shop.diagnose(rule).table.to_pylist()[0]
    beside = shop.diagnose(f'{rule}\nLate("o99") => Placed(o, "s1")\nLate(o) => Placed("o98", "s1")').table
    assert {row["rule"]: row for row in beside}[0]["violations"] == alone["violations"] == 36
    for row in beside:
        assert len(shop.sql(row["violating_sql"]).fetchall()) == row["violations"]


def test_what_a_text_declares_is_a_part_of_the_domains() -> None:
    with sqlrl.connect() as db:
        db.load("Friends", [("Ann", "Bob")], types=["person", "person"])
        db.load("Old", [("Ann",)], types=["person"])
        row = db.diagnose('person = {Ann, Bob, Cid, "D\'Or"}\nOld(x) => Friends(x, y)\n').table.to_pylist()[0]
        assert (row["applies"], row["violations"]) == (4, 3)
        assert sorted(db.sql(row["violating_sql"]).fetchall()) == [("Ann", "Ann"), ("Ann", "Cid"), ("Ann", "D'Or")]


# ---- pairs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "pairs"),
    [
        (["Late(o) => Refunded(o)", "Late(p) ^ Placed(p, s) => Refunded(p)"], [("redundant", 0, 1)]),
        (["Placed(o, s) => Refunded(o)", 'Placed(p, "s1") => Refunded(p)'], [("redundant", 0, 1)]),
        (["Placed(o, s) ^ Late(o) => Refunded(o)", "!Late(a) v Refunded(a) v !Placed(a, b)"], [("equal", 0, 1)]),
        (["Late(o) => Refunded(o)", "Late(x) => !Refunded(x)"], [("contradictory", 0, 1)]),
        (
            ["Late(o) ^ Placed(o, s) => Refunded(o)", "Placed(x, t) ^ Late(x) => !Refunded(x)"],
            [("contradictory", 0, 1)],
        ),
        (["Late(o) => Refunded(o)", "Placed(o, s) => !Refunded(o)"], []),
        (["Placed(o, s) => Late(o)", "Placed(o, s) ^ Placed(p, s) => Late(p)"], [("equal", 0, 1)]),
        (["Placed(o, s) ^ Placed(p, s) => Late(p)", "Placed(o, s) => Late(o)"], [("equal", 0, 1)]),
        (["Late(o)", "Late(o) v Refunded(p)"], [("redundant", 0, 1)]),
        (["Late(o) ^ Refunded(o)", "Late(o) => Refunded(o)"], [("redundant", 0, 1)]),
        (["Late(o)", "!Late(p)"], [("contradictory", 0, 1)]),
        (["!Refunded(o).", "Refunded(o)"], [("contradictory", 0, 1)]),
        (["Late(o)", "Placed(p, s) => !Late(p)"], []),
        (["Placed(o, s) => Late(o) ^ Refunded(o)", "Placed(p, t) => Refunded(p)"], [("redundant", 0, 1)]),
        (["Placed(o, s) => Late(o)", "Placed(p, t) => Refunded(p) ^ Late(p)"], [("redundant", 1, 0)]),
        (["Placed(o, s) => Late(o) ^ Refunded(o)", "Placed(p, t) => Refunded(p) ^ Late(p)"], [("equal", 0, 1)]),
        (["Placed(o, s) => Late(o) ^ Refunded(o)", 'Late(o) ^ Placed(o, "s1") => Refunded(o)'], [("redundant", 0, 1)]),
        (["Late(o) => Late(o)", "Late(o) => Refunded(o)"], []),
        (["Placed(o, s) => Late(o) ^ (Refunded(o) ^ !Late(o))", "Placed(p, t) => Refunded(p)"], [("redundant", 0, 1)]),
        (
            ["Placed(o, s) ^ s != t => Late(o) ^ Placed(o, t)", "Placed(p, s) ^ s != t => Placed(p, t)"],
            [("redundant", 0, 1)],
        ),
        # A head alone does not say what s and t are.
        (["Late(o) ^ s != t => Refunded(o) ^ Placed(o, t)", "Late(o) ^ s != t => Placed(o, t)"], []),
    ],
)
def test_redundant_and_contradictory_pairs_are_named(
    shop: sqlrl.Database, rules: list[str], pairs: list[tuple[str, int, int]]
) -> None:
    found = shop.diagnose("\n".join(rules))
    assert [(row["kind"], row["first"], row["second"]) for row in found.pairs] == pairs
    rows = {row["rule"]: row for row in found.table}
    for kind, first, second in pairs:
        if kind == "contradictory":
            assert rows[first]["contradicts"] == [second]
            assert f"contradicts line {first + 1}" in rows[second]["verdict"]
        else:
            assert rows[second]["implied_by"] == [first]
            assert f"implied by line {first + 1}" in rows[second]["verdict"]


def test_rules_without_lines_are_told_by_their_texts(shop: sqlrl.Database) -> None:
    text = "Late(o) => Refunded(o)\nLate(o) ^ Placed(o, s) => Refunded(o)\nLate(o) => !Refunded(o)"
    model = sqlrl.parse_mln("Placed(order, shop)\nLate(order)\nRefunded(order)\n" + text)
    bare = model.with_rules(tuple(replace(rule, line=0) for rule in model.rules))
    rows = {row["rule"]: row["verdict"] for row in shop.diagnose(bare).table}
    assert rows[1].endswith("; implied by Late(o) => Refunded(o)")
    assert rows[2].endswith("; contradicts Late(o) => Refunded(o)")
    lines = {row["rule"]: row["verdict"] for row in shop.diagnose(model).table}
    assert lines[1].endswith("; implied by line 4")


# ---- forms, kinds, and what is kept --------------------------------------------------------------------


def test_rules_are_read_from_files(shop: sqlrl.Database, tmp_path: Path) -> None:
    path = tmp_path / "rules.mln"
    path.write_text("// a handbook\nLate(o) => Refunded(o)\n\n?\n", encoding="utf-8")
    for source in (path, str(path)):
        assert [(row["line"], row["problem"] is None) for row in shop.diagnose(source).table] == [(2, True), (4, False)]
    fit = sqlrl.parse_mln("Placed(order, shop)\nLate(order)\nRefunded(order)\n0.5 Late(o) => Refunded(o)")
    fit.save(tmp_path / "saved.mln")
    fit.save(tmp_path / "saved.json")
    for name in ("saved.mln", "saved.json"):
        assert shop.diagnose(tmp_path / name).table["weight"] == [0.5]


def test_the_latest_diagnosis_of_the_same_rules_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "kept.duckdb"
    with sqlrl.connect(path) as db:
        db.load("Late", [("a",), ("b",)], types=["order"])
        db.load("Paid", [("a",)], types=["order"])
        first = db.diagnose("Late(o) => Paid(o)\nNo(")
        other = db.diagnose("Paid(o) => Late(o)\n")
        again = db.diagnose("Late(o) => Paid(o)\nNo(")
        kept = db.sql("select run, rule, text, violations, verdict from sqlrl.rule_quality").fetchall()
        assert [row[0] for row in kept] == [again.run, again.run, other.run]
        assert kept[0][1:] == (0, "Late(o) => Paid(o)", 1, first.table["verdict"][0])
    with sqlrl.connect(path, read_only=True) as db:
        found = db.diagnose("Late(o) => Paid(o)\nNo(")
        assert found.run is None
        assert found.table.to_arrow() == again.table.to_arrow()


def test_options_of_another_kind_are_refused(shop: sqlrl.Database) -> None:
    with pytest.raises(InputError, match=r"threshold=0\.2: .*kind='paper'"):
        shop.diagnose("Late(o) => Refunded(o)", threshold=0.2)
    with pytest.raises(InputError, match=r"kind='papr' must be one of .*did you mean 'paper'"):
        shop.diagnose("Late(o) => Refunded(o)", kind="papr")
    with pytest.raises(InputError, match="a model is needed"):
        shop.diagnose("Late(o) => Refunded(o)", kind="paper")
    model = sqlrl.parse_mln("Late(order)\nRefunded(order)\n1 Late(o) => Refunded(o)")
    with pytest.warns(FutureWarning, match="kind='paper'"):
        old = shop.diagnose(model, kind="rules")
    assert old.found.to_arrow() == shop.diagnose(model, kind="paper").found.to_arrow()


def test_what_is_not_known_of_a_pair_is_no_violation_under_the_open_world() -> None:
    with sqlrl.connect() as db:
        db.load("Born", [("a", "Rome"), ("b", "Oslo"), ("c", "Rome")], types=["person", "city"])
        # Nobody knows where c lives; that b lives elsewhere is known.
        db.load("Lives", [("a", "Rome"), ("b", "Rome")], types=["person", "city"], target=True)
        row = db.diagnose("Born(p, c) => Lives(p, c)").table.to_arrow().to_pylist()[0]
        assert (row["applies"], row["violations"], row["confidence"], row["pca_confidence"]) == (3, 2, 1 / 3, 1 / 2)


def test_queries_of_violations_run_on_the_connection_of_the_user() -> None:
    with duckdb.connect() as connection:
        connection.sql("create table late as select 'o' || range as name from range(5)")
        db = sqlrl.connect(connection)
        db.load("Late", connection.sql("from late"), types=["order"])
        db.load("Paid", connection.sql("from late limit 3"), types=["order"])
        query = db.diagnose("Late(o) => Paid(o)").table["violating_sql"][0]
        assert len(connection.sql(query).fetchall()) == len(db.sql(query).fetchall()) == 2
        assert connection.sql("select violations from sqlrl.rule_quality").fetchall() == [(2,)]


UNLABELLED = [
    ("Overdue(c) => Blocked(c)", 20, 2, "violated in 2 of 20 cases with a label where it applies (10 %); 80 more cases have no label; of all 20 customers with a label 90 % are blocked; no better than chance"),
    ("Blocked(c) => Overdue(c)", 18, 0, "holds in all 18 cases where it applies; of all 100 customers 100 % are overdue"),
    ("Late(c) => Blocked(c)", 0, 0, "30 cases have no label; of all 20 customers with a label 90 % are blocked"),
    ("Late(c) => !Blocked(c)", 0, 0, "30 cases have no label; of all 20 customers with a label 10 % are not blocked"),
    ("Blocked(c).", None, 2, "hard, but violated in 2 of 20 groundings with a label (10 %); 80 more groundings have no label"),
    ("Late(c) v Blocked(c)", None, 2, "violated in 2 of 50 groundings with a label (4 %); 50 more groundings have no label"),
]  # fmt: skip


@pytest.mark.parametrize("role", ["target", "given"])
def test_atoms_without_a_label_are_told(role: str) -> None:
    customers = [f"c{i}" for i in range(100)]
    with sqlrl.connect() as db:
        db.load("Overdue", [(c,) for c in customers], types=["customer"])
        db.load("Late", [(c,) for c in customers[40:70]], types=["customer"])
        db.load(
            "Blocked", [(c, i < 18) for i, c in enumerate(customers[:20])], types=["customer"], truth=1, **{role: True}
        )
        if role == "target":
            db.scope("Blocked", [(c,) for c in customers[:20]])
        for rule, applies, violations, verdict in UNLABELLED:
            row = db.diagnose(f"{rule}\n").table.to_pylist()[0]
            assert (row["applies"], row["violations"], row["verdict"]) == (applies, violations, verdict)
            assert len(db.sql(row["violating_sql"]).fetchall()) == violations


def test_what_has_no_label_is_no_case_under_the_open_world() -> None:
    with sqlrl.connect() as db:
        db.load("Born", [(p, c) for p in "abcd" for c in ("Rome", "Oslo")], types=["person", "city"])
        labels = [("a", "Rome", True), ("a", "Oslo", False), ("b", "Rome", False), ("c", "Rome", True)]
        db.load("Lives", labels, types=["person", "city"], truth=2, given=True)
        row = db.diagnose("Born(p, c) => Lives(p, c)").table.to_pylist()[0]
        # Of b nothing is known but where it does not live.
        assert (row["applies"], row["violations"], row["confidence"], row["pca_confidence"]) == (4, 2, 1 / 2, 2 / 3)


HUGE: dict[str, str] = {
    "Placed(c, o) ^ Placed(c, p) ^ Placed(c, q) ^ o != p ^ p != q": "n * (n - 1) * (n - 1)",
    "Placed(c, o) ^ Placed(c, p) ^ Placed(c, q) ^ o != p ^ p != q ^ o != q": "n * (n - 1) * (n - 2)",
    'Placed(c, o) ^ Placed(c, p) ^ Bill(i, p, s) ^ o != p ^ !Region(c, "r1")': "CASE WHEN r1 THEN 0 ELSE b * (n - 1) END",
    'Placed(c, o) ^ Bill(i, o, "s0") ^ Placed(c, p) ^ Bill(j, p, s) ^ i != j': "s0 * b - s0",
    'Placed(c, o) ^ Placed(c, p) ^ !Bill(i, p, "s1") ^ Bill(i, o, "s1")': "s1 * (n - 1)",
}
"""Bodies, and how many bindings each has for a customer of n orders, b bills of which s0 and s1 have a status, and perhaps the region r1."""


@pytest.mark.parametrize("body", HUGE)
def test_bindings_that_nobody_could_enumerate_are_counted(body: str) -> None:
    db = sqlrl.connect(progress=False)
    # The first customer has half of the 30,000 orders: some of the bodies hold in 10^12 cases.
    rng = np.random.default_rng(7)
    customers = (rng.random(30_000) ** 9 * 500).astype(int)
    orders = pa.table({"c": [f"c{k}" for k in customers], "o": [f"o{k}" for k in range(len(customers))]})
    billed, status = rng.permutation(len(customers))[:10_000], rng.integers(0, 3, 10_000)
    bills = pa.table(
        {"i": [f"i{k}" for k in range(len(billed))], "o": [f"o{k}" for k in billed], "s": [f"s{k}" for k in status]}
    )
    regions = pa.table({"c": [f"c{k}" for k in range(500)], "r": [f"r{k % 3}" for k in range(500)]})
    blocked = pa.table({"c": [f"c{k}" for k in range(0, 500, 7)]})
    db.load("Placed", orders, types=["customer", "order"])
    db.load("Bill", bills, types=["bill", "order", "status"])
    db.load("Region", regions, types=["customer", "region"])
    db.load("Blocked", blocked, types=["customer"])
    with duckdb.connect() as plain:
        for name, rows in {"orders": orders, "bills": bills, "regions": regions, "blocked": blocked}.items():
            plain.register(name, rows)
        ((applies, violations),) = plain.execute(
            f"""
            SELECT sum({HUGE[body]}), sum(CASE WHEN f.c IN (FROM blocked) THEN 0 ELSE {HUGE[body]} END)
            FROM (
                SELECT orders.c, count(DISTINCT orders.o)::int128 AS n, count(i)::int128 AS b, count(*) FILTER (s = 's0') AS s0,
                    count(*) FILTER (s = 's1') AS s1, orders.c IN (SELECT c FROM regions WHERE r = 'r1') AS r1
                FROM orders LEFT JOIN bills USING (o) GROUP BY orders.c
            ) f
            """
        ).fetchall()
    (row,) = db.diagnose(f"{body} => Blocked(c)").table.to_pylist()
    assert (row["applies"], row["violations"]) == (applies, violations)
    assert applies > 10**8 or "Bill" in body
