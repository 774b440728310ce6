"""Which rules of a program count: one for each logical form, as PSL has it, constants of declared types once, filters part by part."""

from __future__ import annotations

import itertools
import json
import random
import warnings
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import LoadError, ModelError, ParseError, RepeatedRuleWarning
from sqlrl.logic.psl import LogicalRule, SoftModel, soft_model_to_json
from sqlrl.logic.psl_arithmetic import ArithmeticRule
from sqlrl.logic.psl_constants import constant_text
from sqlrl.logic.psl_files import parse_psl, read_psl, soft_model_from_json
from sqlrl.logic.psl_literals import Both, Condition, Either, literals_of
from tests.effort import draws

# ---- pairs of rules --------------------------------------------------------------------------------------------

SAME = [
    ("1: A(X) & B(X) -> C(X)", "1: B(X) && A(X) >> C(X)"),
    ("1: A(X) & !C(X) -> B(X)", "1: A(X) & !B(X) -> C(X)"),
    ("1: A(X) -> B(X) ^2", "7.5: !A(X) | B(X) ^2"),
    ("A(X) -> B(X) .", "B(X) << A(X) ."),
    ("2: R(X, Y) & X != Y -> A(X)", "2: R(X, Y) -> A(X) | X == Y"),
    ("1: A('x') -> B(X)", '3: a("x") -> ~~B(X) ^1'),
    ("1: A(X) & B(X) & A(X) -> C(X)", "1: A(X) & B(X) -> C(X) | C(X)"),
    ("1: A(X) & B(X) -> !A(X)", "1: B(X) -> !A(X)"),
    ("A(X) + 1 <= B(X) .", "1 * A(X) - B(X) <= -1 ."),
    ("1: R(X, +Y) = 2 / 2 ^2 {Y: A(Y) & B(Y)}", "4: R(X, +Y) = 1 ^2 {Y: B(Y) && A(Y)}"),
    ("1: R(X, +Y) / |Y| = 1", "2: 1 / |Y| * R(X, +Y) = 1.0"),
]

OTHER = [
    ("1: A(X) -> B(X)", "1: A(Y) -> B(Y)"),
    ("1: A(X) -> B(X)", "1: A(X) -> B(X) ^2"),
    ("1: A(X) -> B(X)", "A(X) -> B(X) ."),
    ("1: A(X) -> B(X)", "1: B(X) -> A(X)"),
    ("1: A('x') -> B(X)", "1: A('X') -> B(X)"),
    ("1: R(X, Y) & X != Y -> A(X)", "1: R(X, Y) & Y != X -> A(X)"),
    ("1: R(X, Y) & (X % Y) -> A(X)", "1: R(X, Y) & X != Y -> A(X)"),
    # PSL compares the terms of sums in the order in which they stand.
    ("1: A(X) + B(X) <= 1", "1: B(X) + A(X) <= 1"),
    ("1: A(X) + B(X) <= 1", "1: A(X) + B(X) >= 1"),
    ("1: A(X) <= 0.5", "1: A(X) <= 0.25"),
    ("1: R(X, +Y) = 1", "1: R(X, +Z) = 1"),
    ("1: R(X, +Y) = 1 {Y: A(Y)}", "1: R(X, +Y) = 1 {Y: !A(Y)}"),
    ("1: R(X, +Y) = 1 {Y: A(Y)}", "1: R(X, +Y) = 1"),
]


@pytest.mark.parametrize(("first", "second"), SAME, ids=[f"{a} | {b}" for a, b in SAME])
def test_the_first_of_equal_rules_stands(first: str, second: str) -> None:
    (alone,) = parse_psl(first).rules
    with pytest.warns(RepeatedRuleWarning) as caught:
        model = parse_psl(f"// rules\n{first}\n\n{second}\n", path="m.psl")
    assert model.rules == (alone,)
    (said,) = [str(each.message) for each in caught]
    assert said.startswith("m.psl:4: the rule '")
    assert "repeats that of line 2" in said
    other = parse_psl(second).rules[0].weight
    assert ("whose weight is" in said) is (alone.weight != other)


@pytest.mark.parametrize(("first", "second"), OTHER, ids=[f"{a} | {b}" for a, b in OTHER])
def test_other_rules_count(first: str, second: str) -> None:
    assert len(parse_psl(f"{first}\n{second}").rules) == 2


def test_all_copies_of_a_program_are_named() -> None:
    with pytest.warns(RepeatedRuleWarning) as caught:
        model = parse_psl("1: A(X)\n2: B(X)\n" + "3: A(X)\n" * 7 + "4: B(X)", path="m.psl")
    assert [rule.weight for rule in model.rules] == [1.0, 2.0]
    (said,) = [str(each.message) for each in caught]
    assert all(f"m.psl:{line}" in said for line in range(3, 8))
    assert "and 3 others" in said


def test_rules_of_a_configuration_are_compared_over_all_its_sections(tmp_path: Path) -> None:
    text = """{"rules": ["1: A(X) -> B(X)"],
  "infer": {"rules": ["2: !A(X) | B(X)",
    "3: !B(X)"]},
  "predicates": {"A/1": {"observations": [["x"]]}, "B/1": {"targets": [["x"]]}}}"""
    (tmp_path / "p.json").write_text(text, encoding="utf-8")
    with pytest.warns(RepeatedRuleWarning, match=r"p\.json:2: the rule '2: !A\(X\) \| B\(X\)' repeats that of line 1"):
        model = read_psl(tmp_path / "p.json")
    assert [rule.weight for rule in model.rules] == [1.0, 3.0]
    assert len(read_psl(tmp_path / "p.json", task="learn").rules) == 1


# ---- many rules, held against what they cost in random worlds ----------------------------------------------------

Signed = tuple[str, tuple[str, ...], bool]
VARIABLES = ("X", "Y", "Z")

literals = st.one_of(
    st.tuples(st.sampled_from("AB"), st.tuples(st.sampled_from(VARIABLES)), st.booleans()),
    st.tuples(st.just("R"), st.tuples(st.sampled_from(VARIABLES), st.sampled_from((*VARIABLES, "'c'"))), st.booleans()),
)


def written(draw: st.DrawFn, clause: list[Signed]) -> str:
    """Write a clause as a rule: some literals in its body, some in its head, in any order, negated an even number of times."""

    def text(each: Signed, positive: bool) -> str:
        name, terms, sign = each
        atom = f"{name}({', '.join(terms)})"
        return f"{'!' * (2 * draw(st.integers(0, 1)) + (sign is not positive))}{atom}"

    order = draw(st.permutations(clause))
    split = draw(st.integers(0, len(order) - 1))
    body = " & ".join(text(each, False) for each in order[:split])
    head = " | ".join(text(each, True) for each in order[split:])
    if not body:
        return head
    return f"{body} -> {head}" if draw(st.booleans()) else f"{head} << {body}"


def costs(clause: list[Signed], names: tuple[str, ...]) -> list[tuple[float, ...]]:
    """Return the truths of a clause's literals in each grounding in one world of random truths; one that is repeated counts once."""
    world, constants = random.Random(7), ("a", "b", "c", "d")
    truth = {
        (p, xs): world.random()
        for p, n in (("A", 1), ("B", 1), ("R", 2))
        for xs in itertools.product(constants, repeat=n)
    }
    found = []
    for chosen in itertools.product(constants, repeat=len(names)):
        value = {**dict(zip(names, chosen, strict=True)), "'c'": "c"}
        values = [(truth[p, tuple(value[t] for t in terms)], sign) for p, terms, sign in set(clause)]
        # What a hinge sums: where it is 0, they tell clauses apart all the same.
        found.append(tuple(sorted(x if sign else 1 - x for x, sign in values)))
    return found


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[Signed], list[Signed], str, str]:
    """Two clauses, half of them equal up to order and copies, and rules that say them."""
    one = draw(st.lists(literals, min_size=1, max_size=4))
    kind = draw(st.sampled_from(["same", "copy", "sign", "other"]))
    if kind == "other":
        other = draw(st.lists(literals, min_size=1, max_size=4))
    else:
        other = list(one)
        place = draw(st.integers(0, len(one) - 1))
        name, terms, sign = one[place]
        if kind == "copy":
            other.append(one[place])
        elif kind == "sign":
            other[place] = (name, terms, not sign)
    return one, other, written(draw, one), written(draw, other)


@settings(max_examples=draws(400))
@given(pairs(), st.booleans(), st.booleans(), st.booleans())
def test_rules_are_one_exactly_if_they_cost_the_same_in_all_groundings(
    pair: tuple[list[Signed], list[Signed], str, str], squared: bool, other_squared: bool, hard: bool
) -> None:
    one, other, text, second = pair
    names = tuple(sorted({t for _, terms, _ in one for t in terms if t in VARIABLES}))
    others = tuple(sorted({t for _, terms, _ in other for t in terms if t in VARIABLES}))
    equal = names == others and costs(one, names) == costs(other, names)
    end = lambda square: " ." if hard else " ^2" if square else ""  # noqa: E731
    front = "" if hard else "2: "
    program = f"{front}{text}{end(squared)}\n{front.replace('2', '5')}{second}{end(other_squared)}"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = parse_psl(program)
    count = 1 if equal and (hard or squared == other_squared) else 2
    assert len(model.rules) == count
    assert len(caught) == 2 - count
    assert model.rules[0].weight == (None if hard else 2.0)
    # What is kept says what was written.
    for rule, clause in zip(model.rules, (one, other), strict=False):
        assert isinstance(rule, LogicalRule)
        kept = {(x.predicate, x.positive, tuple(t.name for t in x.terms)) for x in rule.clause}  # type: ignore[union-attr]
        assert kept == {(p, sign, tuple(t.strip("'") for t in terms)) for p, terms, sign in clause}
        assert len(rule.clause) == len(kept)


# ---- what counts in predictions ----------------------------------------------------------------------------------


def known_pair(text: str) -> float:
    db = sqlrl.connect(progress=False)
    db.load("Knows", [("a", "b")], types=["person", "person"])
    db.scope("Likes", [("a", "b")])
    (row,) = db.predict(parse_psl(text, query="Likes")).table()
    return float(row["value"])


@pytest.mark.parametrize("copy", ["3: Knows(A, B) -> Likes(A, B) ^2", "8: !Knows(A, B) | Likes(A, B) ^2"])
def test_a_copy_changes_no_answer(copy: str) -> None:
    program = "3: Knows(A, B) -> Likes(A, B) ^2\n2: !Likes(A, B) ^2"
    with pytest.warns(RepeatedRuleWarning):
        repeated = known_pair(f"{program}\n{copy}")
    assert repeated == pytest.approx(known_pair(program), abs=1e-6) == pytest.approx(0.6, abs=1e-4)
    # Under another name of a variable it counts: 6 against 2, or 11 against 2.
    renamed = known_pair(f"{program}\n{copy.replace('B', 'C')}")
    weight = 3 + float(copy.partition(":")[0])
    assert renamed == pytest.approx(weight / (weight + 2), abs=1e-4)


# ---- filters -----------------------------------------------------------------------------------------------------

FILTERS = [
    ("{Y: A(Y) | B(Y)}", ["{Y: A(Y)}", "{Y: B(Y)}"]),
    ("{Y: A(Y) | B(Y) | A(Y)}", ["{Y: A(Y)}", "{Y: B(Y)}"]),
    ("{Y: (A(Y) | B(Y)) & (C(Y) & Y != X)}", ["{Y: A(Y) & C(Y) & Y != X}", "{Y: B(Y) & C(Y) & Y != X}"]),
    ("{Y: (A(Y) | B(Y)) & A(Y)}", ["{Y: A(Y)}", "{Y: B(Y) & A(Y)}"]),
    ("{Y: A(Y) & B(Y)}", ["{Y: A(Y) & B(Y)}"]),
    ("{Y: A(Y) | B(Y) & !C(Y)}", ["{Y: A(Y)}", "{Y: B(Y) & !C(Y)}"]),
]


@pytest.mark.parametrize(("text", "parts"), FILTERS, ids=[text for text, _ in FILTERS])
def test_a_filter_is_a_rule_for_each_part(text: str, parts: list[str]) -> None:
    model = parse_psl(f"2: R(X, +Y) <= 1 ^2 {text}")
    assert [str(rule) for rule in model.rules] == [f"2: R(X, +Y) <= 1 ^2 {part}" for part in parts]
    assert parse_psl(str(model)) == model


def test_filters_of_two_sums_are_combined() -> None:
    model = parse_psl("R(+X, +Y) <= 1 . {X: A(X) | B(X)} {Y: A(Y) | B(Y) | C(Y)}")
    found = {tuple(str(each) for each in rule.filters) for rule in model.rules if isinstance(rule, ArithmeticRule)}
    assert found == {(f"{{X: {x}(X)}}", f"{{Y: {y}(Y)}}") for x in "AB" for y in "ABC"}


def test_parts_that_another_rule_has_count_once() -> None:
    text = "1: R(X, +Y) = 1 {Y: A(Y) | B(Y)}\n\n2: R(X, +Y) = 1 {Y: B(Y)}\n3: R(X, +Y) = 1 {Y: A(Y) & B(Y)}"
    with pytest.warns(
        RepeatedRuleWarning, match=r"<text>:3: the rule '2: .*' repeats that of line 1, whose weight is 1"
    ):
        model = parse_psl(text)
    assert [rule.weight for rule in model.rules] == [1.0, 1.0, 3.0]


conditions: st.SearchStrategy[str] = st.recursive(
    st.sampled_from(["A(Y)", "B(Y)", "!C(Y)", "Y != 'k'"]),
    lambda inner: st.builds(
        lambda sign, parts: f"({f' {sign} '.join(parts)})",
        st.sampled_from("|&"),
        st.lists(inner, min_size=2, max_size=3),
    ),
    max_leaves=6,
)


def holds(condition: Condition, true: set[str]) -> bool:
    match condition:
        case Both(parts):
            return all(holds(part, true) for part in parts)
        case Either(parts):
            return any(holds(part, true) for part in parts)
    return str(condition) in true


@settings(max_examples=draws(100))
@given(conditions)
def test_the_parts_of_a_filter_are_conjunctions_that_say_it_together(text: str) -> None:
    written = parse_psl(
        '// sqlrl {"predicates": {"R/2": null, "A/1": null, "B/1": null, "C/1": null}}\nR(X, +Y) = 1 . {Y: '
        + text
        + "}"
    )
    (whole,) = written.rules
    assert isinstance(whole, ArithmeticRule)
    atoms = sorted({str(x) for x in literals_of(whole.filters[0].condition)})
    rules = parse_psl(f"R(X, +Y) = 1 . {{Y: {text}}}").rules
    parts = [rule.filters[0].condition for rule in rules if isinstance(rule, ArithmeticRule)]
    assert len(parts) == len(rules)
    assert not any(
        isinstance(each, Either) or (isinstance(each, Both) and any(isinstance(x, Both | Either) for x in each.parts))
        for each in parts
    )
    for bits in itertools.product((False, True), repeat=len(atoms)):
        true = {atom for atom, bit in zip(atoms, bits, strict=True) if bit}
        assert any(holds(part, true) for part in parts) is holds(whole.filters[0].condition, true)


def test_filters_with_too_many_parts_are_refused_with_their_place() -> None:
    wide = " & ".join(f"(A(Y) | Y != 'k{i}')" for i in range(12))
    with pytest.raises(ModelError, match=r"more than 2,000 conjunctions"):
        parse_psl(f"R(X, +Y) = 1 . {{Y: {wide}}}")


def shared(filters: str, header: str = "") -> float:
    """Return the truth of the one target, whose constant both A and B have."""
    db = sqlrl.connect(progress=False)
    db.load("A", [("u",), ("v",)], types=["thing"])
    db.load("B", [("u",)], types=["thing"])
    db.load("Pair", [("x", "u")], types=["thing", "thing"])
    db.scope("R", [("x", "u")])
    model = parse_psl(f"{header}1: R(X, +Y) = 0 ^2 {filters}\n1: Pair(X, Y) -> R(X, Y) ^2", query="R")
    (row,) = db.predict(model).table()
    return float(row["value"])


def test_a_disjunction_costs_what_its_parts_cost() -> None:
    # v^2 + (1 - v)^2 for one sum, 2 v^2 + (1 - v)^2 for one of each part.
    assert shared("{Y: A(Y)}") == pytest.approx(1 / 2, abs=1e-4)
    assert shared("{Y: A(Y) | B(Y)}") == pytest.approx(1 / 3, abs=1e-4)
    # A model that was saved has one sum over the union, as before.
    header = '// sqlrl {"predicates": {"R/2": "open", "Pair/2": null, "A/1": null, "B/1": null}}\n'
    assert shared("{Y: A(Y) | B(Y)}", header) == pytest.approx(1 / 2, abs=1e-4)


# ---- what was saved keeps what it meant --------------------------------------------------------------------------

HEADER = '// sqlrl {"predicates": {"A/1": null, "B/1": "open", "R/2": null}}\n'
COPIES = "2: A(X) -> B(X) ^2\n5: A(X) -> B(X) ^2\n1: R(X, +Y) = 1 {Y: A(Y) | R(Y, Y)}\n1: A(X) & A(X) -> B(X)\n"


def with_copies() -> SoftModel:
    with pytest.warns(RepeatedRuleWarning, match="since sqlrl saved this file before it read rules as PSL does"):
        return parse_psl(HEADER + COPIES)


def test_models_with_copies_are_kept_in_every_form(tmp_path: Path) -> None:
    model = with_copies()
    assert [str(rule) for rule in model.rules] == COPIES.splitlines()
    assert soft_model_from_json(soft_model_to_json(model)) == model
    for name in ("m.json", "m.psl"):
        model.save(tmp_path / name)
        assert read_psl(tmp_path / name) == model
    assert '"rules": "as written"' in (tmp_path / "m.psl").read_text(encoding="utf-8")
    bare = SoftModel({name: model.predicates[name] for name in model.predicates}, model.rules)
    assert parse_psl(str(bare)) == bare
    db = sqlrl.connect(tmp_path / "kept.duckdb", progress=False)
    db.models["m"] = model
    db.close()
    again = sqlrl.connect(tmp_path / "kept.duckdb", progress=False)
    assert again.models["m"] == model


def test_a_saved_file_with_its_data_elsewhere_keeps_its_copies(tmp_path: Path) -> None:
    model = with_copies()
    model.save(tmp_path / "m.psl")
    (tmp_path / "m.json").write_text(
        json.dumps(
            {
                "rules": "m.psl",
                "predicates": {
                    "A/1": {"observations": [["x"]]},
                    "B/1": {"targets": [["x"]]},
                    "R/2": {"observations": []},
                },
            }
        ),
        encoding="utf-8",
    )
    assert read_psl(tmp_path / "m.json").rules == model.rules


def test_what_has_no_copies_needs_no_mark() -> None:
    assert "written" not in str(parse_psl("1: A(X) -> B(X)", query="B"))
    assert not str(parse_psl("1: A(X) -> B(X)")).startswith("//")


def test_a_file_saved_without_a_first_line_is_a_program(tmp_path: Path) -> None:
    (tmp_path / "m.psl").write_text(COPIES, encoding="utf-8")
    with pytest.warns(RepeatedRuleWarning, match=r"m\.psl:2: .* repeats that of line 1, whose weight is 2"):
        assert [rule.weight for rule in read_psl(tmp_path / "m.psl").rules] == [2.0, 1.0, 1.0, 1.0]


# ---- Markov logic networks ---------------------------------------------------------------------------------------

DECLARED = "P(t)\nQ(t)\nR(t, t)\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1 P(x) => Q(x)", "2 Q(x) v !P(x)"),
        ("1 P(x) ^ R(x, y) => Q(y)", "R(x, y) ^ P(x) => Q(y)"),
        ("-1 P(x) ^ Q(x)", "1 !(!P(x) v !Q(x))"),
        ("P(x) <=> Q(x)", "Q(x) <=> P(x)"),
        ("1 R(x, +y)", "1 R(x, +y)"),
    ],
)
def test_a_formula_that_stands_twice_is_told_and_counts_twice(tmp_path: Path, first: str, second: str) -> None:
    text = f"{DECLARED}{first}\n{second}\n"
    (tmp_path / "m.mln").write_text(text, encoding="utf-8")
    for read in (lambda: sqlrl.parse_mln(text, path="m.mln"), lambda: sqlrl.read_mln(tmp_path / "m.mln")):
        with pytest.warns(RepeatedRuleWarning, match=r"m\.mln:5: the rule '.*' repeats that of line 4.* each counts"):
            assert len(read().rules) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1 P(x) => Q(x)", "1 Q(x) => P(x)"),
        ("1 P(x) ^ Q(x)", "1 P(x) v Q(x)"),
        ("1 R(x, +y)", "1 R(x, y)"),
        ("1 P(A)", "1 P(B)"),
        ("P(x) => Q(x).", "P(x) => Q(x)."),
        ("1 FORALL y R(x, y)", "1 EXIST y R(x, y)"),
    ],
)
def test_formulas_that_differ_are_not_told(first: str, second: str) -> None:
    assert len(sqlrl.parse_mln(f"{DECLARED}{first}\n{second}\n").rules) == 2


# ---- constants of declared types ---------------------------------------------------------------------------------

integers = st.builds(
    lambda sign, zeros, n: f"{sign}{'0' * zeros}{n}",
    st.sampled_from(["", "+", "-"]),
    st.integers(0, 3),
    st.integers(0, 10**12),
)
numbers = (
    integers | st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.floats(-1e3, 1e3).map("{:.3f}".format)
)


@settings(max_examples=draws(300))
@given(st.sampled_from(["UniqueIntID", "Integer", "Long", "Double"]), st.data())
def test_texts_are_one_constant_exactly_if_their_values_are_equal(kind: str, data: st.DataObject) -> None:
    texts = numbers if kind == "Double" else integers
    value = float if kind == "Double" else int
    one = data.draw(texts)
    other = data.draw(texts | st.sampled_from([f"+{one}" if one[0] not in "+-" else one, f"{value(one)}"]))
    first, second = constant_text(one, kind), constant_text(other, kind)
    assert first is not None
    assert (first == second) is (value(one) == value(other))
    assert constant_text(first, kind) == first


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("UniqueIntID", "007", "7"),
        ("Integer", "-0", "0"),
        ("Long", "+12", "12"),
        ("UniqueIntID", "7.0", None),
        ("Integer", " 7", None),
        ("Integer", "٧", None),
        ("Double", "1e0", "1"),
        ("Double", "0.50", "0.5"),
        ("Double", "1,5", None),
        ("Double", "NaN", None),
        ("Date", "2024-01-31T00:00", "2024-01-31"),
        ("Date", "2024-01-31 12:00:00", "2024-01-31 12:00:00"),
        ("Date", "2024-01-31T12:00+02:00", "2024-01-31 10:00:00+00"),
        ("Date", "31.1.2024", None),
        ("String", "007", "007"),
        ("UniqueStringID", "007", "007"),
        ("person", "007", "007"),
    ],
)
def test_constants_of_kinds(kind: str, text: str, expected: str | None) -> None:
    assert constant_text(text, kind) == expected


def declared(kind: str, rules: list[str], **more: object) -> str:
    predicates = {
        "Likes": {
            "types": [kind, kind],
            "targets": [["9", "007"], ["+7", "9"]],
            "truth": [["09", "7", 1], ["7", "9", 0]],
        },
        "Knows": {"types": [kind, kind], "observations": [["0009", "07"], ["7", "+9"]]},
    }
    return json.dumps({"rules": rules, "predicates": predicates, **more})


@pytest.mark.parametrize("kind", ["UniqueIntID", "Integer", "Long", "Double"])
def test_an_entity_is_one_in_data_and_rules(kind: str) -> None:
    model = parse_psl(
        declared(
            kind,
            ["1: Knows(A, B) & A != '07' -> Likes(A, B)", "2: Likes('007', B) -> Likes(B, '07')", "1: !Likes(A, B)"],
        )
    )
    assert [str(rule) for rule in model.rules[:2]] == [
        "1: Knows(A, B) & A != '7' -> Likes(A, B)",
        "2: Likes('7', B) -> Likes(B, '7')",
    ]
    db = sqlrl.connect(progress=False)
    db.load(model)
    names = [tuple(row.values())[-3:-1] for row in db.predict(model).table()]
    assert sorted(names) == [("7", "9"), ("9", "7")]
    assert sorted(db.sql("select * from sqlrl.named_Knows").fetchall()) == [("7", "9"), ("9", "7")]


def test_without_types_texts_are_what_they_are_unless_an_option_says_otherwise() -> None:
    predicates = {"A/1": {"observations": [["07"]]}, "B/1": {"targets": [["7"]]}}
    for option, expected in ((None, "'07'"), ("false", "'07'"), ("true", "'7'")):
        options = {} if option is None else {"runtime.db.intids": option}
        model = parse_psl(json.dumps({"rules": ["1: A('07') -> B(X)"], "predicates": predicates, "options": options}))
        assert expected in str(model.rules[0])
        db = sqlrl.connect(progress=False)
        db.load(model)
        assert db.sql("select * from sqlrl.named_A").fetchall() == [(expected.strip("'"),)]


def test_an_option_leaves_types_that_are_declared() -> None:
    predicates = {
        "A/1": {"observations": [["07"]]},
        "B": {"types": ["UniqueStringID"], "targets": [["07"], ["x"]]},
    }
    options = {"runtime.db.intids": "true"}
    model = parse_psl(json.dumps({"rules": ["1: A('07') -> B('07')"], "predicates": predicates, "options": options}))
    assert str(model.rules[0]) == "1: A('7') -> B('07')"


def test_two_texts_of_one_constant_make_one_rule_and_one_term() -> None:
    with pytest.warns(RepeatedRuleWarning):
        model = parse_psl(
            declared(
                "Integer",
                [
                    "1: Knows('7', A) -> Likes(A, A)",
                    "1: Knows('07', A) -> Likes(A, A)",
                    "Likes('7', A) + Likes('07', A) <= 1 .",
                ],
            )
        )
    assert [str(rule) for rule in model.rules] == ["1: Knows('7', A) -> Likes(A, A)", "2 * Likes('7', A) <= 1 ."]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("1: Knows('x', A) -> Likes(A, A)", "'x' stands where UniqueIntID is declared: expected an integer, as 7"),
        ("1: Knows(A, B) & A == '1.5' -> Likes(A, A)", "'1.5' stands where UniqueIntID is declared"),
        ("Likes(A, +B) = 1 . {B: Knows(B, 'y')}", "'y' stands where UniqueIntID is declared"),
    ],
)
def test_constants_of_another_kind_are_refused_where_they_stand(rule: str, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse_psl(declared("UniqueIntID", [rule]), path="p.json")
    said, line, caret = str(caught.value).split("\n")
    assert said.startswith("p.json:1:")
    assert message in said
    assert line[caret.index("^")] == "'"


def test_rows_of_another_kind_are_refused_where_they_stand(tmp_path: Path) -> None:
    program = {
        "rules": ["1: A(X) -> B(X)"],
        "predicates": {
            "A": {"types": ["Integer"], "observations": ["a.txt"]},
            "B": {"types": ["Integer"], "targets": [["1"]]},
        },
    }
    (tmp_path / "a.txt").write_text("01\n2\nthree\n", encoding="utf-8")
    (tmp_path / "p.json").write_text(json.dumps(program), encoding="utf-8")
    model = read_psl(tmp_path / "p.json")
    with pytest.raises(
        LoadError, match=r"a\.txt: row 3 has 'three' at argument 1, where Integer is declared: expected an integer"
    ):
        sqlrl.connect(progress=False).load(model)
    program["predicates"]["B"]["targets"] = [["one"]]  # type: ignore[index]
    with pytest.raises(ParseError, match="a row of targets of B has 'one' where Integer is declared"):
        parse_psl(json.dumps(program))


def test_a_saved_model_keeps_its_texts() -> None:
    text = '// sqlrl {"predicates": {"A(Integer)": null}}\n1: A(\'007\')\n'
    assert "'007'" in str(parse_psl(text))
    assert soft_model_from_json(soft_model_to_json(parse_psl(text))) == parse_psl(text)


@settings(max_examples=draws(50))
@given(st.datetimes())
def test_dates_have_one_text(when: datetime) -> None:
    texts = {constant_text(when.isoformat(sep), "Date") for sep in "T "}
    assert len(texts) == 1
    assert constant_text(texts.pop() or "", "Date") == constant_text(when.isoformat(), "Date")
