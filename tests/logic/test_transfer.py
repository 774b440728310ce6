"""A model under a mapping: clause by clause by hand, and what it says against the mapped formulas themselves in random worlds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations, product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlrl.errors import ModelError, UnsupportedError
from sqlrl.logic.expansions import rename_variables
from sqlrl.logic.mapping import PredicateMapping
from sqlrl.logic.mapping_parser import parse_mapping
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.model import Expansions, Model, Rule
from sqlrl.logic.subformulas import subformulas, terms_of, with_parts
from sqlrl.logic.terms import And, Argument, Atom, Constant, Equal, Formula, Implies, Not, Or, Predicate, Term, Variable
from sqlrl.logic.transfer import Dropped, transferred
from tests.effort import draws
from tests.logic.worlds import PREDICATES, TYPES, Reader, formulas, rows

SOURCE = """
student(person)
professor(person)
advisedBy(person, person)
publication(title, person)
inPhase(person, phase)
hasPosition(person, position)
"""
TARGET = parse_mln(
    "actor(person)\ndirector(person)\nworkedUnder(person, person)\nmovie(movie, person)\ngender(person, gender)"
).predicates
MAPPING = parse_mapping(
    "student -> actor\nprofessor -> director\nadvisedBy -> workedUnder\npublication -> movie\ninPhase -> gender\n"
    "hasPosition -> None\nphase = {Pre -> Male, Post -> Female, Quals -> Female, Gone -> None}\ntitle = {T -> M}"
)


def rules_of(model: Model) -> list[str]:
    return str(model).split("\n\n")[-1].splitlines() if model.rules else []


@pytest.mark.parametrize(
    ("rules", "mapped", "dropped"),
    [
        # Whatever is one clause is one, with its weight.
        ("1.5 student(x)", ["1.5 actor(x)"], []),
        ("1.5 student(x) => professor(x)", ["1.5 actor(x) => director(x)"], []),
        ("student(x) ^ !professor(y) => advisedBy(x, y) v x = y", ["actor(x) ^ !director(y) => workedUnder(x, y) v x = y"], []),
        ("-2 !(student(x) ^ publication(t, x))", ["-2.0 !actor(x) v !movie(t, x)"], []),
        ("@0.5 student(x) v !professor(x)", ["@0.5 actor(x) v !director(x)"], []),
        ("FORALL x (student(x) => !professor(x)).", ["!actor(x) v !director(x)."], []),
        ("1 publication(T, x)", ["1.0 movie(M, x)"], []),
        ("1 student(x) v student(x)", ["1.0 actor(x)"], []),
        # A conjunction is its negated clause; one that is hard, and an equivalence that is, is several.
        ("1.5 student(x) ^ !professor(x)", ["-1.5 !actor(x) v director(x)"], []),
        ("student(x) ^ professor(x)", ["!actor(x) v !director(x)"], []),
        ("student(x) ^ !professor(y).", ["actor(x).", "!director(y)."], []),
        ("student(x) <=> professor(x).", ["actor(x) v !director(x).", "!actor(x) v director(x)."], []),
        ("professor(x) v (FORALL y (advisedBy(y, x) => student(y))).", ["director(x) v !workedUnder(y, x) v actor(y)."], []),
        ("1 *student(x) v professor(x)", ["1.0 actor(x) v director(x)", "1.0 !actor(x) v director(x)"], []),
        # An implication stays one, whatever else is in it or falls together; what is none becomes none.
        ("1 student(x) ^ student(x) => professor(x)", ["1.0 actor(x) => director(x)"], []),
        ("1 inPhase(x, Post) ^ inPhase(x, Quals) => student(x)", ["1.0 gender(x, Female) => actor(x)"], []),
        ("1 student(x) => !student(x) v !student(x)", ["1.0 !actor(x)"], []),
        ("1 student(x) => (professor(x) => advisedBy(x, y))", ["1.0 !actor(x) v !director(x) v workedUnder(x, y)"], []),
        # Equalities stay, and constants in them have the type of the other side.
        ("1 inPhase(x, p) => p = Pre", ["1.0 gender(x, p) => p = Male"], []),
        ("1 inPhase(x, p) ^ inPhase(x, q) => p = q", ["1.0 gender(x, p) ^ gender(x, q) => p = q"], []),
        ("1 student(x) ^ x != y => !professor(y)", ["1.0 actor(x) ^ x != y => !director(y)"], []),
        ("1 x = y ^ y = z => advisedBy(x, x)", ["1.0 x = y ^ y = z => workedUnder(x, x)"], []),
        # Predicates without a counterpart.
        ("1 hasPosition(x, p) => professor(x)\n2 professor(x)", ["2.0 director(x)"], [
            ("predicate", "<text>:8: hasPosition(x, p) => professor(x): the mapping has no counterpart for hasPosition"),
        ]),
        ("hasPosition(x, p) <=> professor(x)", [], [
            ("predicate", "<text>:8: hasPosition(x, p) <=> professor(x): the mapping has no counterpart for hasPosition"),
        ]),
        # Quantifiers that no clauses can say; what else is wrong with such a rule is said first.
        ("student(x) => (EXIST y advisedBy(x, y)).\n2 !(EXIST y advisedBy(x, y)) v student(x)\n1 EXIST p hasPosition(x, p)", [], [
            ("quantifier", "<text>:8: student(x) => (EXIST y advisedBy(x, y)): only disjunctions of literals are transferred, and it has quantifiers"),
            ("quantifier", "<text>:9: !(EXIST y advisedBy(x, y)) v student(x): only disjunctions of literals are transferred, and it has quantifiers"),
            ("predicate", "<text>:10: EXIST p hasPosition(x, p): the mapping has no counterpart for hasPosition"),
        ]),
        # Constants without.
        ("1 inPhase(x, Gone)\n1 inPhase(x, Away)\n1 advisedBy(Bob, x)\n1 publication(T, Bob) v x != Ann v student(x)", [], [
            ("constant", "<text>:8: inPhase(x, Gone): the mapping has no counterpart for the constant Gone of the type phase"),
            ("constant", "<text>:9: inPhase(x, Away): the mapping has no counterpart for the constant Away of the type phase"),
            ("constant", "<text>:10: advisedBy(Bob, x): the mapping has no counterpart for the constant Bob of the type person"),
            ("constant", ("<text>:11: publication(T, Bob) v x != Ann v student(x): the mapping has no counterpart for the constant Bob of the type "
             "person and Ann of the type person")),
        ]),
        # Tautologies: from the first, and by constants that are merged.
        ("1 student(x) => student(x)\n1 inPhase(x, Post) => inPhase(x, Quals)\n1 inPhase(x, Post) => inPhase(x, Pre)", [
            "1.0 gender(x, Female) => gender(x, Male)",
        ], [
            ("tautology", "<text>:8: student(x) => student(x): it is always true"),
            ("tautology", "<text>:9: inPhase(x, Post) => inPhase(x, Quals): as gender(x, Female) => gender(x, Female) it is always true"),
        ]),
        ("1 inPhase(x, p) ^ p = Post => p = Quals", [], [
            ("tautology", "<text>:8: inPhase(x, p) ^ p = Post => p = Quals: as gender(x, p) ^ p = Female => p = Female it is always true"),
        ]),
        ("1 inPhase(x, Post) v inPhase(x, Quals)", ["1.0 gender(x, Female)"], []),
        # Clauses that are the same.
        ("1.5 student(x) => advisedBy(x, y)\n-0.25 advisedBy(a, b) v !student(a)\n1 advisedBy(b, a) v !student(a)", [
            "1.25 actor(x) => workedUnder(x, y)",
            "1.0 workedUnder(b, a) v !actor(a)",
        ], [
            ("equal", ("<text>:9: advisedBy(a, b) v !student(a): as workedUnder(a, b) v !actor(a) it is the same clause as that of <text>:8, "
             "actor(x) => workedUnder(x, y), to which its weight is added")),
        ]),
        ("1 inPhase(x, Post)\n2 inPhase(y, Quals)\n4 inPhase(y, Pre)", ["3.0 gender(x, Female)", "4.0 gender(y, Male)"], [
            ("equal", ("<text>:9: inPhase(y, Quals): as gender(y, Female) it is the same clause as that of <text>:8, gender(x, Female), to which "
             "its weight is added")),
        ]),
        ("1 student(x)\nstudent(y)", ["actor(x)"], [
            ("equal", "<text>:9: student(y): as actor(y) it is the same clause as that of <text>:8, actor(x), to which its weight is added"),
        ]),
        ("@1 student(x)\n@1 student(y)\n@1 professor(x)\n1 professor(y)", ["@2.0 actor(x)", "2.0 director(x)"], [
            ("equal", "<text>:9: student(y): as actor(y) it is the same clause as that of <text>:8, actor(x), to which its weight is added"),
            ("equal", "<text>:11: professor(y): as director(y) it is the same clause as that of <text>:10, director(x), to which its weight is added"),
        ]),
        ("1 student(x)\nstudent(y).\nstudent(z).\n2 student(u)", ["actor(y)."], [
            ("equal", f"<text>:{line}: student({x}): as actor({x}) it is the same clause as that of <text>:9, actor(y), which is hard")
            for line, x in [(8, "x"), (10, "z"), (11, "u")]
        ]),
        # The sides of an equality have no order, and what is not the same stays apart.
        ("1 advisedBy(x, y) v x = y\n1 advisedBy(x, y) v y = x\n1 advisedBy(x, x)", [
            "2.0 workedUnder(x, y) v x = y", "1.0 workedUnder(x, x)",
        ], [
            ("equal", ("<text>:9: advisedBy(x, y) v y = x: as workedUnder(x, y) v x = y it is the same clause as that of <text>:8, "
             "workedUnder(x, y) v x = y, to which its weight is added")),
        ]),
        # Templates stay templates, and are no clauses of variables.
        ("inPhase(x, +p) => student(x)\n1 inPhase(x, p) => student(x)\ninPhase(y, +q) => student(y)", [
            "gender(x, +p) => actor(x)", "1.0 gender(x, p) => actor(x)",
        ], [
            ("equal", ("<text>:10: inPhase(y, +q) => student(y): as gender(y, +q) => actor(y) it is the same clause as that of <text>:8, "
             "gender(x, +p) => actor(x), to which its weight is added")),
        ]),
    ],
)  # fmt: skip
def test_what_rules_become(rules: str, mapped: list[str], dropped: list[tuple[str, str]]) -> None:
    found = transferred(parse_mln(SOURCE + rules), MAPPING, TARGET)
    assert rules_of(found.model) == mapped
    assert [(each.why, str(each)) for each in found.dropped] == dropped
    # It is a model of the target that reads back.
    assert parse_mln(str(found.model)).rules == found.model.rules
    assert found.model.predicates == TARGET


def test_rules_keep_their_lines_and_what_is_dropped_its_rule() -> None:
    model = parse_mln(SOURCE + "1 student(x)\n\n2 hasPosition(x, p)", path="uw.mln")
    found = transferred(model, MAPPING, TARGET)
    assert [rule.place for rule in found.model.rules] == ["uw.mln:8"]
    assert found.dropped == (Dropped(model.rules[1], "predicate", "the mapping has no counterpart for hasPosition"),)


def test_predicates_that_the_mapping_does_not_name_have_no_counterpart() -> None:
    model = parse_mln(SOURCE + "1 student(x)\n1 student(x) => professor(x) v inPhase(x, p) v inPhase(x, q)")
    found = transferred(model, PredicateMapping({"student": "actor", "professor": None}), TARGET)
    assert rules_of(found.model) == ["1.0 actor(x)"]
    assert [each.reason for each in found.dropped] == ["the mapping has no counterpart for professor, inPhase"]


@pytest.mark.parametrize(
    ("rules", "faults"),
    [
        ("1 student(x) <=> professor(x)", ["8: student(x) <=> professor(x)"]),
        ("1 student(x)\n1 student(x) ^ (professor(x) v advisedBy(x, y))\n2 !(EXIST y advisedBy(x, y)) v student(x)\n1 !(student(x) <=> professor(x))", [
            "9: student(x) ^ (professor(x) v advisedBy(x, y))",
            "11: !(student(x) <=> professor(x))",
        ]),
        ("student(x) ^ (x = y v professor(z)) ^ advisedBy(y, z).", ["8: student(x) ^ (x = y v professor(z)) ^ advisedBy(y, z)"]),
        ("(student(x) v y = z) ^ advisedBy(y, z).", ["8: (student(x) v y = z) ^ advisedBy(y, z)"]),
    ],
)  # fmt: skip
def test_rules_that_are_no_clauses_are_named_together(rules: str, faults: list[str]) -> None:
    with pytest.raises(UnsupportedError) as caught:
        transferred(parse_mln(SOURCE + rules), MAPPING, TARGET)
    end = (
        ": the rule is no clause, and only disjunctions of literals are transferred: write in its place the clauses that it stands for, or "
        "leave it out of the source model"
    )
    assert str(caught.value).splitlines() == [f"<text>:{fault}{end}" for fault in faults]


@pytest.mark.parametrize("rule", ["1 student(x) ^ !student(x)", "student(x) ^ !student(x).", "student(x) ^ A = B."])
def test_a_rule_that_is_never_true_is_refused(rule: str) -> None:
    with pytest.raises(
        UnsupportedError, match=r"<text>:8: .* is never true, whatever the data: leave it out of the source"
    ):
        transferred(parse_mln(SOURCE + rule), MAPPING, TARGET)


def test_a_mapping_that_does_not_fit_is_refused_first() -> None:
    with pytest.raises(
        ModelError,
        match=r"there is no source predicate 'studnt'; did you mean 'student'\?\nthere is no target predicate 'x'",
    ):
        transferred(
            parse_mln(SOURCE + "student(x) <=> professor(x)"),
            PredicateMapping({"studnt": "actor", "student": "x"}),
            TARGET,
        )


def test_what_a_model_is_beside_its_rules() -> None:
    text = "title = {T, U}\n" + SOURCE + "1 student(x)"
    model = replace(
        parse_mln(text, query=["student", "hasPosition"], semantics="alchemy", learned=True), bins={"phase": (1.0,)}
    )
    found = transferred(model, MAPPING, TARGET).model
    assert (found.query, found.semantics, found.learned) == ({"actor"}, "alchemy", True)
    assert (dict(found.types), dict(found.bins)) == ({}, {})


def test_alchemy_reads_a_conjunction_otherwise() -> None:
    rules = "1 student(x) => professor(x)\nstudent(x) ^ professor(x)."
    model = parse_mln(SOURCE + rules, semantics="alchemy")
    assert rules_of(transferred(model, MAPPING, TARGET).model) == [
        "1.0 actor(x) => director(x)",
        "actor(x).",
        "director(x).",
    ]
    with pytest.raises(UnsupportedError, match="is no clause"):
        transferred(parse_mln(SOURCE + "1 student(x) ^ professor(x)", semantics="alchemy"), MAPPING, TARGET)


def test_clauses_of_templates() -> None:
    model = parse_mln(SOURCE + "inPhase(x, +p) => student(x)")
    rows_of_constants = (("Pre",), ("Gone",), ("Post",), ("Quals",))
    learned = Expansions(("p",), rows_of_constants, (1.0, 2.0, 4.0, 8.0))
    found = transferred(model.with_rules((replace(model.rules[0], expansions=learned),)), MAPPING, TARGET)
    # Those that were learned for the source's constants are for the target's data to choose anew.
    assert rules_of(found.model) == ["gender(x, +p) => actor(x)"]
    assert (found.model.rules[0].expansions, found.dropped) == (None, ())
    each = replace(model.rules[0], expansions=replace(learned, found=True))
    found = transferred(model.with_rules((each,)), MAPPING, TARGET)
    assert rules_of(found.model) == ["1.0 gender(x, Male) => actor(x)", "12.0 gender(x, Female) => actor(x)"]
    assert [(d.why, d.rule.weight) for d in found.dropped] == [("constant", 2.0), ("equal", 8.0)]


# ---- against the mapped formulas themselves --------------------------------------------------------------------

DECLARED = {name: Predicate(name, tuple(map(Argument, types))) for name, types in PREDICATES.items()}
IMAGES = {"P": "Pt", "Q": "Qt", "R": "Rt", "H": "Ht"}
MAPPED = {new: Predicate(new, tuple(Argument(f"{t}t") for t in PREDICATES[old])) for old, new in IMAGES.items()}
KNOWN = {"s": ("A", "B", "E"), "t": ("C", "D", "F")}


def naive(formula: Formula, constants: Mapping[str, str]) -> Formula:
    """The formula with other names, part by part."""

    def term(old: Term) -> Term:
        return Constant(constants[old.name]) if isinstance(old, Constant) else old

    match formula:
        case Atom(predicate, terms):
            return Atom(IMAGES[predicate], tuple(map(term, terms)))
        case Equal(left, right):
            return Equal(term(left), term(right))
        case _:
            return with_parts(formula, lambda part: naive(part, constants))


def with_constants(formula: Formula, chosen: Mapping[str, str]) -> Formula:
    """The formula with constants in place of some variables, quantified ones too; an equality of two constants becomes `x = x`."""

    def term(old: Term) -> Term:
        return Constant(chosen[old.name]) if isinstance(old, Variable) and old.name in chosen else old

    match formula:
        case Atom(predicate, terms):
            return Atom(predicate, tuple(map(term, terms)))
        case Equal(left, right):
            one, two = term(left), term(right)
            return formula if isinstance(one, Constant) and isinstance(two, Constant) else Equal(one, two)
        case _:
            return with_parts(formula, lambda part: with_constants(part, chosen))


def is_plain(formula: Formula) -> bool:
    return not any(
        isinstance(p, Equal) and isinstance(p.left, Constant) and isinstance(p.right, Constant)
        for p in subformulas(formula)
    )


def free(formula: Formula) -> set[str]:
    return {t.name for t in terms_of(formula) if isinstance(t, Variable)}


LITERALS = formulas(quantifiers=False)
NO_LIMITS = settings(max_examples=draws(200), deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def rule_lists(draw: st.DrawFn) -> list[Rule]:
    """Rules of all kinds, with several constants, some of them twice with other names for their variables."""
    found = []
    for _ in range(draw(st.integers(1, 4))):
        formula = draw(LITERALS)
        chosen = {
            v: draw(st.sampled_from(KNOWN[TYPES[v]])) for v in draw(st.sets(st.sampled_from(sorted(TYPES)), max_size=3))
        }
        formula = with_constants(formula, chosen)
        hard = draw(st.integers(0, 3)) == 0
        weight = None if hard else draw(st.sampled_from([-2.0, 0.5, 1.0, 4.0]))
        found.append(Rule(formula, weight, hard))
        if draw(st.booleans()):
            found.append(replace(found[-1], formula=rename_variables(formula, {"x": "y", "y": "x"})))
    return found


def score(
    rules: list[tuple[Formula, float | None]], reader: Reader, domains: Mapping[str, tuple[str, ...]]
) -> float | None:
    """The sum of weights over true groundings, each over its own variables; None if a rule without a weight is violated."""
    total = 0.0
    for formula, weight in rules:
        variables = tuple((v, f"{TYPES[v]}t") for v in sorted(free(formula)))
        truths = [reader.holds(formula, row) for row in rows(variables, domains)]
        if weight is None and not all(truths):
            return None
        total += (weight or 0.0) * sum(truths)
    return total


@pytest.mark.slow
@given(rule_lists(), st.data())
@NO_LIMITS
def test_a_mapped_model_says_what_the_mapped_formulas_say(rules: list[Rule], data: st.DataObject) -> None:
    # Constants are merged at times.
    constants = {c: data.draw(st.sampled_from([f"{k}1", f"{k}2"])) for k, names in KNOWN.items() for c in names}
    mapping = PredicateMapping(IMAGES, {k: {c: constants[c] for c in names} for k, names in KNOWN.items()})
    taken: list[Rule] = []
    mapped: list[Rule] = []
    for rule in rules:
        if not is_plain(rule.formula):
            continue
        try:
            found = transferred(Model(DECLARED, rules=(rule,)), mapping, MAPPED)
        except (UnsupportedError, ModelError):
            continue
        # A variable that falls out of a clause multiplies the weight by the size of its domain, of which a clause says nothing.
        if not rule.hard and any(free(each.formula) != free(rule.formula) for each in found.model.rules):
            continue
        taken.append(rule)
    found = transferred(Model(DECLARED, rules=tuple(taken)), mapping, MAPPED)
    mapped = list(found.model.rules)
    for rule in mapped:
        parts = disjuncts(rule.formula)
        assert all(isinstance(p.body if isinstance(p, Not) else p, Atom | Equal) for p in parts)
        assert len(set(parts)) == len(parts)
        assert not any(Not(p) in parts for p in parts)
    for one, other in permutations(mapped, 2):
        assert not same(one.formula, other.formula)
    domains = {"st": ("s1", "s2", "s3"), "tt": ("t1", "t2")}
    atoms = [(p, values) for p, d in MAPPED.items() for values in product(*(domains[t] for t in d.types))]
    left = [(naive(rule.formula, constants), rule.weight) for rule in taken]
    right = [(rule.formula, rule.weight) for rule in mapped]
    differences = set()
    for _ in range(4):
        bits = data.draw(st.integers(0, 2 ** len(atoms) - 1))
        reader = Reader(domains, {}, {atom: bool(bits >> i & 1) for i, atom in enumerate(atoms)})
        one, two = score(left, reader, domains), score(right, reader, domains)
        assert (one is None) == (two is None)
        if one is not None and two is not None:
            differences.add(one - two)
    # Weights are multiples of a half, so that sums are exact; hard clauses that make others superfluous hold in all of these worlds.
    assert len(differences) <= 1


def disjuncts(formula: Formula) -> tuple[Formula, ...]:
    """The parts of a clause, which may be written as an implication."""
    if isinstance(formula, Implies):
        body = formula.left.parts if isinstance(formula.left, And) else (formula.left,)
        return (*(each.body if isinstance(each, Not) else Not(each) for each in body), *disjuncts(formula.right))
    return formula.parts if isinstance(formula, Or) else (formula,)


def literals(formula: Formula) -> frozenset[tuple[object, ...]]:
    """The literals of a clause, the sides of equalities without order."""

    def literal(part: Formula) -> tuple[object, ...]:
        body = part.body if isinstance(part, Not) else part
        if isinstance(body, Equal):
            return (isinstance(part, Not), "=", frozenset((body.left, body.right)))
        assert isinstance(body, Atom)
        return (isinstance(part, Not), body.predicate, body.terms)

    return frozenset(map(literal, disjuncts(formula)))


def same(one: Formula, other: Formula) -> bool:
    """Whether some renaming of the variables makes one clause the other, by trying them all."""
    left, right = sorted(free(one)), sorted(free(other))
    if len(left) != len(right):
        return False
    renamed = (rename_variables(one, dict(zip(left, order, strict=True))) for order in permutations(right))
    return any(literals(each) == literals(other) for each in renamed)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("R(w, x) v !R(w, y)", "!R(w, x) v R(w, y)", True),
        ("R(w, x) v !R(w, y)", "!R(w, x) v R(w, x)", False),
        ("P(x) v x = y", "y = x v P(y)", True),
        ("P(x) v P(A)", "P(A) v P(y)", True),
        ("P(x) v P(A)", "P(B) v P(y)", False),
    ],
)
def test_the_comparison_of_the_tests(one: str, other: str, equal: bool) -> None:
    read = [parse_mln(f"P(s)\nR(t, s)\n1 {text}").rules[0].formula for text in (one, other)]
    assert same(*read) == equal


@pytest.mark.slow
@given(rule_lists())
@NO_LIMITS
def test_there_and_back_is_where_it_was(rules: list[Rule]) -> None:
    mapping = PredicateMapping(IMAGES, {k: {c: f"{c}t" for c in names} for k, names in KNOWN.items()})
    identity = PredicateMapping(
        {name: name for name in DECLARED}, {k: {c: c for c in names} for k, names in KNOWN.items()}
    )
    plain = []
    for rule in rules:
        try:
            plain += transferred(Model(DECLARED, rules=(rule,)), identity, DECLARED).model.rules
        except (UnsupportedError, ModelError):
            continue
    there = transferred(Model(DECLARED, rules=tuple(plain)), mapping, MAPPED)
    back = transferred(there.model, mapping.inverse(DECLARED, MAPPED), DECLARED)
    assert back.dropped == ()
    assert {each.why for each in there.dropped} <= {"equal"}
    assert len(back.model.rules) == len(there.model.rules)
    for rule in plain:
        (found,) = [each for each in back.model.rules if same(each.formula, rule.formula)]
        twins = [each for each in plain if same(each.formula, rule.formula)]
        hard = any(each.hard for each in twins)
        assert found.hard == hard
        assert found.weight == (None if hard else sum(each.weight or 0.0 for each in twins))
