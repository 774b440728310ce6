"""Features against direct evaluation of the formulas."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlrl.errors import ModelError, UnsupportedError
from sqlrl.logic.compile import compile_rule
from sqlrl.logic.formulas import parse_formula
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.printer import check_names, format_formula
from sqlrl.logic.signs import split_signs
from sqlrl.logic.subformulas import subformulas, terms_of
from sqlrl.logic.terms import Argument, Atom, Equal, Exist, ExistsLiteral, ForAll, Literal, Predicate, Variable
from tests.effort import draws
from tests.logic.worlds import PREDICATES, TYPES, Reader, domains, formulas, rows, worlds

MODEL = Model({name: Predicate(name, tuple(map(Argument, types))) for name, types in PREDICATES.items()})
MANY = settings(max_examples=draws(500), deadline=None, suppress_health_check=list(HealthCheck))


def typed(formula) -> bool:
    """Whether quantified variables are used and typed by an atom somewhere, as the language requires."""
    try:
        compile_rule(Rule(formula), MODEL, frozenset(PREDICATES))
    except ModelError as error:
        return not any(text in str(error) for text in ("inferred", "occurs nowhere"))
    return True


def grounded(formula):
    """The formula under its outermost FORALLs, whose variables are grounding variables."""
    return grounded(formula.body) if isinstance(formula, ForAll) else formula


@pytest.mark.slow
@given(formulas(), st.sets(st.sampled_from(sorted(PREDICATES))), st.data())
@MANY
def test_n_is_the_number_of_true_groundings(formula, opened, data):
    if not typed(formula):
        return
    found = data.draw(domains())
    (feature,) = compile_rule(Rule(formula, 1.0), MODEL, frozenset(opened))
    for _ in range(3):
        reader = Reader(found, TYPES, data.draw(worlds(found)))
        true = sum(reader.holds(grounded(formula), row) for row in rows(feature.variables, found))
        assert reader.count(feature) == true
    check_form(feature, frozenset(opened))


@pytest.mark.slow
@given(formulas(), st.sets(st.sampled_from(sorted(PREDICATES))), st.data())
@MANY
def test_a_hard_feature_is_violated_exactly_if_the_formula_is(formula, opened, data):
    if not typed(formula):
        return
    found = data.draw(domains())
    (feature,) = compile_rule(Rule(formula, hard=True), MODEL, frozenset(opened))
    assert not feature.negated
    reader = Reader(found, TYPES, data.draw(worlds(found)))
    true = all(reader.holds(grounded(formula), row) for row in rows(feature.variables, found))
    broken = any(reader.violated(c, row, feature) for c in feature.clauses for row in rows(c.variables, found))
    assert broken == (not true)
    check_form(feature, frozenset(opened), plain=False)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize(
    ("text", "variables", "true"),
    [
        ("Friends(x, y) => Smokes(y)", {"x", "y"}, 7),
        ("FORALL y (Friends(x, y) => Smokes(y))", {"x", "y"}, 7),
        ("FORALL x,y (Friends(x, y) => Smokes(y))", {"x", "y"}, 7),
        ("FORALL x FORALL y (Friends(x, y) => Smokes(y))", {"x", "y"}, 7),
        # One truth value for each x, and one for all.
        ("!(EXIST y (Friends(x, y) ^ !Smokes(y)))", {"x"}, 1),
        ("!!(FORALL y (Friends(x, y) => Smokes(y)))", {"x"}, 1),
        ("!(EXIST x,y (Friends(x, y) ^ !Smokes(y)))", set(), 0),
    ],
)
def test_outermost_universal_quantifiers_bind_grounding_variables(text, variables, true, hard):
    """Three people: A smokes, and of the nine pairs (A, B) and (B, C) are friends who do not."""
    model = parse_mln(f"Friends(s, s)\nSmokes(s)\n{'' if hard else 1} {text}{'.' if hard else ''}")
    people = ("A", "B", "C")
    world = {("Friends", pair): pair in (("A", "B"), ("B", "C"), ("C", "A")) for pair in product(people, people)}
    world |= {("Smokes", (person,)): person == "A" for person in people}
    reader = Reader({"s": people}, {}, world)
    (feature,) = compile_rule(model.rules[0], model, frozenset({"Friends", "Smokes"}))
    assert {name for name, _ in feature.variables} == variables
    if hard:
        broken = [reader.violated(c, row, feature) for c in feature.clauses for row in rows(c.variables, {"s": people})]
        assert any(broken)
    else:
        assert reader.count(feature) == true


def test_a_new_name_of_a_quantified_variable_is_none_that_the_formula_has():
    """EXIST is distributed, and the second y would be called y_2, which ranges over another type."""
    model = parse_mln("Q(s)\nR(s)\nT(u)\n1 (EXIST y (Q(y) v R(y))) v (EXIST y_2 T(y_2))")
    (feature,) = compile_rule(model.rules[0], model, frozenset({"Q", "R", "T"}))
    types = {"Q": "s", "R": "s", "T": "u"}
    (clause,) = feature.clauses
    found = {literal.conjunction[0].predicate: literal for literal in clause.literals}
    assert {name: literal.variables[0][1] for name, literal in found.items()} == types
    assert len({literal.variables[0][0] for literal in found.values()}) == 3


def check_form(feature, opened, plain=True):
    """What the docstrings of the terms promise."""
    defined: set[str] = set()
    for helper in feature.helpers:
        used = {p.predicate for p in helper.definition.conjunction if isinstance(p, Literal)}
        assert {name for name in used if name.startswith("$")} <= defined
        defined.add(helper.name)
    for clause in feature.clauses:
        assert not plain or clause.variables == feature.variables
        assert len(set(clause.literals)) == len(clause.literals)
        for literal in clause.literals:
            if isinstance(literal, ExistsLiteral):
                predicates = [p.predicate for p in literal.conjunction if isinstance(p, Literal)]
                assert sum(p in opened or p.startswith("$") for p in predicates) <= 1
            elif isinstance(literal, Literal) and literal.predicate.startswith("$"):
                assert literal.predicate in defined


@given(formulas(quantifiers=False), st.data())
@settings(max_examples=draws(300), deadline=None, suppress_health_check=list(HealthCheck))
def test_alchemy_semantics_sum_up_its_normal_form(formula, data):
    """All clauses hold exactly if the formula does, and the factors add up to one."""
    if not typed(formula):
        return
    model = Model(MODEL.predicates, semantics="alchemy")
    features = compile_rule(Rule(formula, 1.0), model, frozenset(PREDICATES))
    assert not features or math.isclose(sum(f.factor for f in features), 1)
    found = data.draw(domains())
    reader = Reader(found, TYPES, data.draw(worlds(found)))
    for feature in features:
        total = len(rows(feature.variables, found))
        assert 0 <= reader.count(feature) <= total
    every = all(reader.holds(formula, row) for row in rows(tuple((v, TYPES[v]) for v in _free(formula)), found))
    assert every == all(reader.count(f) == len(rows(f.variables, found)) for f in features)


def _free(formula):
    return tuple(dict.fromkeys(t.name for t in terms_of(formula) if isinstance(t, Variable)))


@pytest.mark.slow
@given(formulas())
@settings(max_examples=draws(500), deadline=None, suppress_health_check=list(HealthCheck))
def test_printed_formulas_parse_to_themselves(formula):
    assert parse_formula(format_formula(formula)) == formula


# ---- the battery: two atoms, by enumeration ----------------------------------------------------------------------


def distribution(program: str, semantics: str = "exact") -> tuple[float, float]:
    """P(H) and P(S) of a program over the atoms H and S (and T), by enumeration of the features."""
    model = parse_mln("H()\nS()\nT()\nE(d)\n" + program, semantics=semantics)
    opened = frozenset("HSTE")
    weights: dict[tuple[bool, ...], float] = {}
    for values in product((False, True), repeat=5):
        world = {("H", ()): values[0], ("S", ()): values[1], ("T", ()): values[2],
                 ("E", ("A",)): values[3], ("E", ("B",)): values[4]}  # fmt: skip
        reader, log_weight = Reader({"d": ("A", "B")}, {"e": "d"}, world), 0.0
        for rule in model.rules:
            for feature in compile_rule(rule, model, opened):
                if rule.hard:
                    found = rows(feature.variables, {"d": ("A", "B")})
                    log_weight -= 0 if reader.count(feature) == len(found) else math.inf
                else:
                    log_weight += (rule.weight or 0) * feature.factor * reader.count(feature)
        weights[values] = math.exp(log_weight)
    total = sum(weights.values())
    return tuple(sum(w for v, w in weights.items() if v[i]) / total for i in range(2))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("program", "h", "s"),
    [
        ("H ^ S.", 1, 1),
        ("H v S.", 2 / 3, 2 / 3),
        ("1 H", math.e / (1 + math.e), 0.5),
        ("H => S.", 1 / 3, 2 / 3),
        ("2 H ^ S", 0.8075, 0.8075),
        ("-2 H v S", 0.1925, 0.1925),
    ],
)
def test_battery(program, h, s):
    assert distribution(program) == pytest.approx((h, s), abs=1e-4)


@pytest.mark.parametrize("weight", [1.5, -1.5])
@pytest.mark.parametrize(
    "formula", ["H <=> S", "H ^ (S v T)", "!(H => S)", "EXIST e (E(e) ^ H)", "H <=> EXIST e (E(e) ^ S)"]
)
def test_battery_by_enumeration(formula, weight):
    parsed = parse_formula(formula)
    total, h, s = 0.0, 0.0, 0.0
    for values in product((False, True), repeat=5):
        world = {("H", ()): values[0], ("S", ()): values[1], ("T", ()): values[2],
                 ("E", ("A",)): values[3], ("E", ("B",)): values[4]}  # fmt: skip
        mass = math.exp(weight * Reader({"d": ("A", "B")}, {"e": "d"}, world).holds(parsed, {}))
        total, h, s = total + mass, h + mass * values[0], s + mass * values[1]
    assert distribution(f"{weight} {formula}") == pytest.approx((h / total, s / total))


def test_alchemy_divides_the_weight():
    """`H <=> S` has two clauses of half the weight; `H ^ S` is one negated clause."""
    model = parse_mln("H()\nS()\n1 H <=> S\n1 H ^ S\n1 H ^ (H => S)", semantics="alchemy")
    features = [compile_rule(rule, model, frozenset("HS")) for rule in model.rules]
    assert [[(f.factor, f.negated) for f in found] for found in features] == [
        [(0.5, False), (0.5, False)], [(1.0, True)], [(0.5, False), (0.5, False)],
    ]  # fmt: skip


# ---- forms -----------------------------------------------------------------------------------------------------------


def shown(text: str, opened: str = "PQRH", hard: bool = False) -> list[str]:
    formula = parse_formula(text, MODEL)
    return [str(c) for f in compile_rule(Rule(formula, hard=hard), MODEL, frozenset(opened)) for c in f.clauses]


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("Q(x, z) ^ x != y ^ P(y) => H()", ["!Q(x, z) v x = y v !P(y) v H()"]),
        ("P(x) v P(x) v !Q(x, z)", ["P(x) v !Q(x, z)"]),
        ("P(x) v !P(x)", []),
        ("x = x => P(x)", ["P(x)"]),
        ("A = B v P(x)", ["P(x)"]),
        ("P(x) ^ (H() v Q(x, z))", ["P(x)", "!P(x) v H() v Q(x, z)"]),
        ("FORALL x P(x) => EXIST z Q(x, z)", ["!P(x) v EXIST z (Q(x, z))"]),
        ("EXIST w P(x) v Q(x, w)", ["P(x) v EXIST w (Q(x, w))"]),
        ("P(x) v (EXIST u P(u)) v EXIST u,w (Q(u, w) ^ u != x)",
         ["P(x) v EXIST u (P(u)) v EXIST u_2,w (Q(u_2, w) ^ u_2 != x)"]),
        ("H() v EXIST w (R(w, x) ^ EXIST u Q(u, w))", ["H() v $exist_*(x)"]),
    ],
)  # fmt: skip
def test_clauses(text, clauses):
    assert [_mask(c) for c in shown(text)] == clauses


def _mask(text: str) -> str:
    head, dollar, rest = text.partition("$exist_")
    return f"{head}{dollar}*{rest[12:]}" if dollar else text


def test_witnesses_with_one_open_literal_need_no_helper():
    model = parse_mln("Edge(n, n)\nReach(n)\n1 Reach(x) v EXIST y (Edge(x, y) ^ Reach(y))")
    (feature,) = compile_rule(model.rules[0], model, frozenset({"Reach"}))
    assert not feature.helpers
    assert str(feature.clauses[0]) == "Reach(x) v EXIST y (Edge(x, y) ^ Reach(y))"


def test_hard_equivalence_with_exist_needs_no_helper():
    assert shown("P(x) <=> EXIST w Q(x, w)", hard=True) == ["P(x) v !Q(x, w)", "!P(x) v EXIST w_2 (Q(x, w_2))"]


def test_equal_definitions_share_a_helper_and_have_names_that_no_program_can_write():
    model = parse_mln("P(t)\nQ(t, t)\n1 P(a) <=> EXIST b (P(b) ^ Q(a, b))\n2 P(x) v !EXIST y (P(y) ^ Q(x, y))")
    helpers = [f.helpers for rule in model.rules for f in compile_rule(rule, model, frozenset("PQ"))]
    assert helpers[0] == helpers[1]
    with pytest.raises(ModelError, match="cannot write"):
        check_names(Atom(helpers[0][0].name, (Variable("x"),)))


def test_plus_marks_every_occurrence_and_survives_helpers():
    model = parse_mln("P(t)\nQ(t, t)\n1 P(x) <=> EXIST y (P(y) ^ Q(+x, y))")
    (feature,) = compile_rule(model.rules[0], model, frozenset("PQ"))
    assert feature.plus == ("x",)
    assert all(c.plus_variables() == ("x",) for c in feature.clauses)
    assert all(not t.plus for h in feature.helpers for p in h.definition.conjunction for t in p.terms)


def test_both_signs_have_a_feature_each():
    model = parse_mln("P(t)\nQ(t)\n*P(x) ^ *Q(x)")
    found = [(f.negated, str(f.clauses[0])) for f in compile_rule(model.rules[0], model, frozenset("PQ"))]
    assert found == [(True, t) for t in ("!P(x) v !Q(x)", "P(x) v !Q(x)", "!P(x) v Q(x)", "P(x) v Q(x)")]
    assert len(split_signs(parse_formula("*P(x) v *P(y) v P(z)"))) == 4


def test_too_many_signs_are_refused():
    with pytest.raises(ModelError, match="at most 10"):
        split_signs(parse_formula(" v ".join(["*P(x)"] * 11)))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = y", "the type of x cannot be inferred"),
        ("Z(x)", "unknown predicate 'Z'"),
        ("P(x, y)", "is declared as P(s)"),
        ("P(x) v R(x, y)", "the variable x is of type 's' and of type 't'"),
        ("P(x) v EXIST u H()", "the quantified variable u occurs nowhere"),
    ],
)
def test_faults_of_formulas_made_in_python(text, problem):
    with pytest.raises(ModelError) as caught:
        compile_rule(Rule(parse_formula(text)), MODEL, frozenset("P"))
    assert problem in str(caught.value)


def test_a_formula_that_grows_too_large_is_refused():
    text = " v ".join(f"(A{i}() ^ B{i}())" for i in range(16))
    predicates = {f"{n}{i}": Predicate(f"{n}{i}", ()) for n in "AB" for i in range(16)}
    model = Model(predicates)
    with pytest.raises(ModelError, match="split it"):
        compile_rule(Rule(parse_formula(f"({text}) <=> ({text.replace('v', '^')})")), model, frozenset(predicates))


def test_alchemy_refuses_exist_over_conjunctions():
    model = parse_mln("P(t)\nQ(t)\n1 EXIST x P(x) ^ Q(x)", semantics="alchemy")
    with pytest.raises(UnsupportedError, match="exact"):
        compile_rule(model.rules[0], model, frozenset("PQ"))


def test_subformulas_cover_quantifiers():
    formula = parse_formula("EXIST x FORALL y x = y v P(x)")
    kinds = {type(part) for part in subformulas(formula)}
    assert {Exist, ForAll, Equal, Atom} <= kinds
