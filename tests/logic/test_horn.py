"""Horn definitions: what is read, in both conventions, how it prints, its order of evaluation, its types, and faults."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.errors import InputError, ModelError, ParseError, SqlrlError, UnsupportedError
from sqlrl.logic.horn import Definitions, HornAtom, HornRule, components
from sqlrl.logic.horn_parser import parse_definitions
from sqlrl.logic.horn_types import infer_types
from sqlrl.logic.terms import Constant, Variable

X, Y = Variable("x"), Variable("y")


def test_both_conventions_say_the_same() -> None:
    models = """
    near(x, y) :- at(x, "Home"), at(y, "Home"), x != y.   % as in models
    near(x, _y) :- !far(x, _), at(x, Town), at(_y, 'Town'), at(_, -1.5)."""
    prolog = r"""near(X, Y) :- at(X, 'Home'), at(Y, "Home"), X \= Y. /* as in
    Prolog */ near(Who, _y) :- \+ far(Who, _), at(Who, 'Town'), at(_y, 'Town'), at(_, -1.5)."""
    renamed = str(parse_definitions(prolog, variables="upper")).replace("who", "x")
    assert parse_definitions(renamed) == parse_definitions(models)


def test_signs_of_negation_and_comparison() -> None:
    for negated in ("!q(x)", "not q(x)", "\\+ q(x)", "not(q(x))", "\\+(q(x))", "!(q(x))"):
        (rule,) = parse_definitions(f"p(x) :- r(x, y), {negated}, not(y, y).".replace("not(y, y)", "'not'(y, y)")).rules
        assert rule.negated == (HornAtom("q", (X,)),)
        assert rule.body[1] == HornAtom("not", (Y, Y))
    for sign in ("!=", "\\=", "\\=="):
        assert parse_definitions(f"p(x) :- r(x, y), x {sign} y.").rules[0].unequal == ((X, Y),)
    for sign in ("=", "=="):
        assert str(parse_definitions(f"p(x) :- r(y, z), x {sign} y, Ann {sign} z.")) == 'p(x) :- r(x, "Ann").\n'


def test_equalities_are_put_into_the_terms() -> None:
    (rule,) = parse_definitions("p(x, y) :- q(z, w), x = z, z = v, y = w, w = Ann, v != y, Ann != Bob.").rules
    assert str(rule) == 'p(x, "Ann") :- q(x, "Ann"), x != "Ann".'


def test_rules_without_a_body_and_predicates_without_arguments() -> None:
    definitions = parse_definitions('rain. wet(x) :- rain, out(x). wet("Ann").')
    assert definitions.rules[0] == HornRule(HornAtom("rain", ()))
    assert definitions.rules[2].head.terms == (Constant("Ann"),)
    assert (definitions.defined(), definitions.used()) == (("rain", "wet"), ("out",))


_names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
_terms = st.sampled_from([X, Y]) | st.builds(Constant, _names)


@given(st.lists(st.tuples(_names, st.lists(_terms, max_size=2)), min_size=1, max_size=4), st.integers(0, 2))
def test_printed_rules_parse_to_equal_ones(atoms: list[tuple[str, list[Variable | Constant]]], split: int) -> None:
    named = [HornAtom(f"{i}{name}", tuple(terms)) for i, (name, terms) in enumerate(atoms)]
    bind = HornAtom("bind it", (X, Y))
    unequal = ((X, Constant("a")),) if split else ()
    rule = HornRule(named[0], (bind, *named[1 : 1 + split]), tuple(named[1 + split :]), unequal)
    assert parse_definitions(str(Definitions((rule,)))) == Definitions((rule,))


def test_components_come_after_what_they_use() -> None:
    text = """
    a(x) :- b(x), !d(x).
    b(x) :- base(x, y), c(y).   c(x) :- base(x, y), b(y).   c(x) :- base(x, x).
    d(x) :- base(x, y), d(y).   d(x) :- base(x, "Ann").
    e(x, y) :- base(x, y).      e(x, z) :- e(x, y), e(y, z)."""
    found = [(c.predicates, c.recursive, c.linear, c.used()) for c in components(parse_definitions(text))]
    order = [c[0] for c in found]
    assert order.index(("b", "c")) < order.index(("a",)) > order.index(("d",))
    assert set(found) == {
        (("a",), False, True, ("b", "d")),
        (("b", "c"), True, True, ("base",)),
        (("d",), True, True, ("base",)),
        (("e",), True, False, ("base",)),
    }


def test_a_long_chain_of_definitions_has_no_limit_of_depth() -> None:
    text = "".join(f"p{i}(x) :- p{i + 1}(x). " for i in range(3000)) + "p3000(x) :- base(x)."
    found = components(parse_definitions(text))
    assert [c.predicates[0] for c in found] == [f"p{i}" for i in range(3000, -1, -1)]


def test_types_follow_from_bodies_by_way_of_other_definitions() -> None:
    text = """
    far(x, z) :- step(x, y), far(y, z).    far(x, y) :- far(y, x).    far(x, y) :- step(x, y).
    of(w, x) :- word(w), !far(x, x), home(x).   home("Rome").   empty :- of(_, _)."""
    known = {"step": ("place", "place"), "word": ("text",)}
    types = infer_types(parse_definitions(text), known)
    assert types == {"far": ("place",) * 2, "of": ("text", "place"), "home": ("place",), "empty": ()}


def check(text: str) -> None:
    definitions = parse_definitions(text)
    components(definitions)
    infer_types(definitions, {"q": ("drug",), "r": ("drug", "value")})


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("", ParseError, "<text>: there are no definitions: expected rules, as p(x) :- q(x, y)."),
        ("p(x) :- q(x)", ParseError, "1:13: expected '.' and a blank or the end of the line, found the end of the text"),
        ("p(x) :- .", ParseError, "1:9: expected an atom or a comparison, found '.'"),
        ("p(x :- q(x).", ParseError, "1:5: expected ')' or ',', found ':-'"),
        ("p(x) :- x.", ModelError, "1:1: x stands in the head, but in no positive literal"),
        ("p(x) :- q(x), 3.", ParseError, "1:16: expected '=' or '!=', found '.'"),
        ("p(x) :- q(x), !.", ParseError, "1:16: expected the name of a predicate, found '.'"),
        ("p(x) :- q(x) ; r(x).", UnsupportedError, "1:14: ';' is no part of a rule: write one rule for each alternative"),
        ("p(x) :- q(x) ^ r(x).", UnsupportedError, "1:14: '^' is no part of a rule: write ',' between literals"),
        ("p(x) :- q(f(x)).", UnsupportedError, "1:11: f(...) is a function, which is not supported"),
        ("p(x) :- q(x, y), x < y.", UnsupportedError, "1:20: '<' is not supported: only = and != compare"),
        ("p(x) :- q(x). p(x, y) :- r(x, y).", ModelError, "1:15: p has 2 arguments here and 1 in line 1: expected as many"),
        ("p(x, y) :- q(x).", ModelError, "1:1: y stands in the head, but in no positive literal of the body: add one that binds it"),
        ("p(x) :- q(x), !r(y).", ModelError, "1:16: y stands in a negated literal, but in no positive literal of the body: add one that binds it; write _ for any constant"),
        ("p(x) :- q(x), y != x.", ModelError, "1:17: y stands in a comparison, but in no positive literal"),
        ("p(_) :- q(x).", ModelError, "1:1: _ stands in the head: expected a variable that a positive literal binds"),
        ("p(x) :- q(x), x != x.", ModelError, "1:17: this comparison never holds: both sides are equal"),
        ("p(x) :- q(x), x = A, x = B.", ModelError, "1:24: this comparison never holds: two constants differ"),
        ("p(X) :- q(X).", ModelError, '1:1: this rule has no variable: names that begin with a capital are constants here, as in models; pass variables="upper"'),
        ("p(x) :- q(x), !p(x).", ModelError, "1:16: p is defined through its own negation"),
        ("p(x) :- q(x), !r(x). r(x) :- p(x).", ModelError, "1:16: p is defined through its own negation"),
        ("p(x) :- p(x).", ModelError, "1:1: p is defined only through itself, so no atom of it is true: add a rule without it"),
        ("p(x) :- r(x). r(x) :- p(x).", ModelError, "1:1: p, r are defined only through each other"),
        ("p(x) :- Q(x).", ModelError, "1:9: there is no closed predicate 'Q'; did you mean 'q'?"),
        ("p(x) :- zebra(x).", ModelError, "1:9: there is no closed predicate 'zebra': load it or define it"),
        ("p(x) :- q(x), r(x).", ModelError, "1:15: r has 1 argument here: expected 2"),
        ("p(x) :- q(x), r(x, _), r(_, x).", ModelError, "1:24: x is of the type 'value' as argument 2 of r, and of 'drug' as argument 1 of q: no constant is of both"),
        ("p(x) :- q(x). p(y) :- r(_, y).", ModelError, "1:15: argument 1 of p is of the type 'value' here, as argument 2 of r says, and of 'drug', as argument 1 of q says"),
        ("p(x) :- r(x, y), x != y.", ModelError, "1:1: x != y always holds: they are of the types 'drug' and 'value'"),
        ("p(A).", ModelError, "1:1: nothing says which type argument 1 of p has: expected a rule whose body has a variable there. A table of facts is loaded, with types: db.load('p', ...)"),
        ("p(x) :- q(x), /* no end", ParseError, "1:15: this comment does not end"),
        ('p(x) :- q("x).', ParseError, "1:11: this quoted constant does not end"),
        ("p(x) :- q(x), r(2x, x).", ParseError, "1:17: a name starts with a letter"),
    ],
)  # fmt: skip
def test_faults_are_shown_in_their_line(text: str, kind: type[SqlrlError], message: str) -> None:
    with pytest.raises(kind) as caught:
        check(text)
    assert message in str(caught.value)
    assert str(caught.value).endswith("^") == message.startswith("1:")


def test_bad_options() -> None:
    with pytest.raises(
        ModelError, match=r'this rule has no variable: names that begin with a small letter .* variables="lower"'
    ):
        parse_definitions("p(x) :- q(x).", variables="upper")
    with pytest.raises(InputError, match="variables is 'capital': expected"):
        parse_definitions("p(x) :- q(x).", variables="capital")
    with pytest.raises(InputError, match="the text of definitions is a str, not list"):
        parse_definitions([])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("zero(x) :- num(x), x = 0.", ("number",)),
        ("zero(x) :- num(x), num(y), x = y, y = 0.", ("number",)),
        ("one(x) :- two(x, y), y = 1, x = 0. two(x, y) :- num(x), num(y), x = 2.", ("number",)),
        ("bob(x, y) :- age(x, y), num(y), Bob = x.", ("person", "number")),
    ],
)
def test_a_constant_in_the_head_has_the_type_of_its_places_in_the_body(text: str, types: tuple[str, ...]) -> None:
    known = {"num": ("number",), "age": ("person", "number")}
    name = text.split("(", 1)[0]
    assert infer_types(parse_definitions(text), known)[name] == types


def test_a_constant_of_two_types_says_nothing() -> None:
    with pytest.raises(ModelError, match="nothing says which type argument 1 of p has"):
        infer_types(parse_definitions("p(x) :- q(x), r(x), x = A."), {"q": ("drug",), "r": ("group",)})


def test_constants_in_heads_of_two_types_are_refused() -> None:
    known = {"num": ("number",), "age": ("year",)}
    with pytest.raises(
        ModelError, match="argument 1 of z is of the type 'year' here, as argument 1 of age says, and of 'number'"
    ):
        infer_types(parse_definitions("z(x) :- num(x), x = 0. z(x) :- age(x), x = 1."), known)


UPPER = [
    ("p(X, Why) :- q(X).", r"^<text>:1:1: Why stands in the head"),
    ("p(X) :- q(X), X \\= Zeta.", r"Zeta stands in a comparison"),
    ("p(X) :- q(X), \\+ r(_Any).", r"_Any stands in a negated literal"),
]


@pytest.mark.parametrize(("text", "message"), UPPER)
def test_messages_name_variables_as_the_text_does(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        parse_definitions(text, variables="upper")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p(Xa) :- q(Xa), s(Xa).", r"Xa is of the type 'm' as argument 1 of s"),
        ("p(Xa) :- q(Xa), s(Yb), Xa \\= Yb.", r"Xa != Yb always holds"),
        ("p(Xa) :- q(Xa), s(Yb), Yb = Xa.", r"(Xa|Yb) is of the type 'm'"),
    ],
)
def test_messages_about_types_name_variables_as_the_text_does(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        infer_types(parse_definitions(text, variables="upper"), {"q": ("n",), "s": ("m",)})


@given(st.integers(1, 6), st.integers(0, 3), st.randoms(use_true_random=False))
def test_a_cycle_through_negation_is_shown(length: int, beside: int, chance: random.Random) -> None:
    names = [f"p{i}" for i in range(length)]
    rules = [f"{one}(x) :- q(x), {'!' if i == 0 else ''}{names[(i + 1) % length]}(x)." for i, one in enumerate(names)]
    rules += [f"{chance.choice(names)}(x) :- q(x)." for _ in range(beside)]
    chance.shuffle(rules)
    with pytest.raises(ModelError, match="its own negation") as caught:
        components(parse_definitions("\n".join(rules)))
    shown = re.findall(r"(\w+) uses (!?)(\w+)", str(caught.value))
    assert [sign for _, sign, _ in shown] == ["!"] + [""] * (length - 1)
    assert [one for one, _, _ in shown] == [*names]
    assert [other for _, _, other in shown] == [*names[1:], names[0]]
