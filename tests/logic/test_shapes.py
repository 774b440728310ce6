"""Shapes: clauses that say the same up to names, order and constants share one, and an instance gives the clause back."""

from __future__ import annotations

import random
from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from sqlrl.logic.compile import compile_rule
from sqlrl.logic.formulas import parse_formula
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.shapes import Instance, ShapeEquality, ShapeLiteral, Shaper, Slot, in_given_order
from sqlrl.logic.terms import (
    Argument,
    Clause,
    ClauseLiteral,
    Constant,
    EqualityLiteral,
    ExistsLiteral,
    Literal,
    Predicate,
    Term,
    Variable,
)

TYPES = {"P": ("s", "s"), "Q": ("s",), "R": ("s", "t")}
VARIABLES = {"x": "s", "y": "s", "z": "s", "w": "t"}
MODEL = Model({name: Predicate(name, tuple(map(Argument, types))) for name, types in TYPES.items()})


def type_of(predicate: str, place: int) -> str:
    return TYPES[predicate][place]


def shaper() -> Shaper:
    return Shaper(type_of)


def test_an_example_named_twice_is_one_parameter_and_other_constants_are_one_each() -> None:
    a, t = Constant("A"), Constant("T")
    clause = Clause((("x", "s"),), (Literal("R", (a, t)), Literal("R", (Variable("x"), t)), Literal("Q", (a,), False)))
    for found in (in_given_order(clause, type_of, "s"), Shaper(type_of, "s")(clause)):
        assert sorted(map(str, found.arguments)) == ["A", "T", "T"]
        assert count(rebuilt(found), frozenset()) == count(clause, frozenset())
    assert sorted(map(str, shaper()(clause).arguments)) == ["A", "A", "T", "T"]


def terms(kind: str, inside: tuple[str, ...]) -> st.SearchStrategy[Term]:
    names = [v for v, k in {**VARIABLES, "u": "s"}.items() if k == kind and (v != "u" or inside)]
    return st.sampled_from([*map(Variable, names), Constant("A" if kind == "s" else "T"), Constant("B")])


@st.composite
def literals(draw: st.DrawFn, inside: tuple[str, ...] = ()) -> Literal | EqualityLiteral:
    name = draw(st.sampled_from([*TYPES, "P", "="]))
    positive = draw(st.booleans())
    if name == "=":
        return EqualityLiteral(draw(terms("s", inside)), draw(terms("s", inside)), positive)
    return Literal(name, tuple(draw(terms(k, inside)) for k in TYPES[name]), positive)


@st.composite
def clauses(draw: st.DrawFn) -> Clause:
    found: list[ClauseLiteral] = list(dict.fromkeys(draw(st.lists(literals(), min_size=1, max_size=4))))
    if draw(st.booleans()):
        parts = tuple(dict.fromkeys(draw(st.lists(literals(("u",)), min_size=1, max_size=2))))
        found.append(ExistsLiteral((("u", "s"),), parts))
    return Clause(tuple(VARIABLES.items()), tuple(found))


def holds(clause: Clause, row: dict[str, str], world: frozenset[tuple[str, tuple[str, ...]]]) -> bool:
    def value(term: Term, row: dict[str, str]) -> str:
        return term.name if isinstance(term, Constant) else row[term.name]

    def literal(x: ClauseLiteral, row: dict[str, str]) -> bool:
        match x:
            case Literal(predicate, args, positive):
                return ((predicate, tuple(value(t, row) for t in args)) in world) == positive
            case EqualityLiteral(left, right, positive):
                return (value(left, row) == value(right, row)) == positive
            case ExistsLiteral(variables, conjunction):
                names = [n for n, _ in variables]
                found = product(("A", "B"), repeat=len(names))
                return any(
                    all(literal(p, {**row, **dict(zip(names, v, strict=True))}) for p in conjunction) for v in found
                )

    return any(literal(x, row) for x in clause.literals)


def rebuilt(instance: Instance) -> Clause:
    """The clause of an instance, with its variables named by their slots."""
    shape = instance.shape

    def term(slot: Slot) -> Term:
        return instance.arguments[slot.index] if slot.parameter else Variable(str(slot))

    def literal(x: ShapeLiteral) -> Literal:
        return Literal(x.predicate, tuple(map(term, x.terms)), x.positive)

    def equality(x: ShapeEquality) -> EqualityLiteral:
        return EqualityLiteral(term(x.left), term(x.right), x.positive)

    exists = tuple(
        ExistsLiteral(
            tuple((f"v{i}", shape.variables[i]) for i in g.variables),
            (*map(literal, g.literals), *map(equality, g.equalities)),
        )
        for g in shape.exists
    )
    parts = (*map(literal, shape.literals), *map(equality, shape.equalities), *exists)
    return Clause(tuple((f"v{i}", shape.variables[i]) for i in shape.universal()), parts)


def count(clause: Clause, world: frozenset[tuple[str, tuple[str, ...]]]) -> int:
    domains = {"s": ("A", "B"), "t": ("T", "B")}
    names = [n for n, _ in clause.variables]
    rows = product(*(domains[k] for _, k in clause.variables))
    return sum(holds(clause, dict(zip(names, row, strict=True)), world) for row in rows)


def renamed(clause: Clause, names: dict[str, str]) -> Clause:
    def term(t: Term) -> Term:
        return Variable(names[t.name], t.plus) if isinstance(t, Variable) else t

    def literal(x: ClauseLiteral) -> ClauseLiteral:
        match x:
            case Literal(predicate, args, positive):
                return Literal(predicate, tuple(map(term, args)), positive)
            case EqualityLiteral(left, right, positive):
                return EqualityLiteral(term(left), term(right), positive)
            case ExistsLiteral(variables, conjunction):
                parts = tuple(literal(p) for p in conjunction)
                return ExistsLiteral(tuple((names[n], k) for n, k in variables), parts)  # type: ignore[arg-type]

    return Clause(tuple((names[n], k) for n, k in clause.variables), tuple(map(literal, clause.literals)))


@given(clauses(), st.integers(0, 10_000))
def test_an_instance_says_what_its_clause_says(clause: Clause, seed: int) -> None:
    atoms = [
        (p, row) for p, kinds in TYPES.items() for row in product("AB", *(("AB", "TB")[k == "t"] for k in kinds[1:]))
    ]
    again = rebuilt(shaper()(clause))
    generator = random.Random(seed)
    for _ in range(4):
        world = frozenset(a for a in atoms if generator.random() < 0.5)
        assert count(clause, world) == count(again, world)


@given(clauses(), st.randoms(use_true_random=False))
def test_names_and_order_do_not_matter(clause: Clause, generator: random.Random) -> None:
    names = dict(zip([*VARIABLES, "u"], generator.sample("abcdefghij", 5), strict=True))
    other = renamed(clause, names)
    shuffled = Clause(
        tuple(generator.sample(other.variables, len(other.variables))),
        tuple(generator.sample(other.literals, len(other.literals))),
    )
    one, two = shaper()(clause), shaper()(shuffled)
    assert one.shape == two.shape
    assert sorted(map(str, one.arguments)) == sorted(map(str, two.arguments))


def test_clauses_that_differ_in_constants_share_a_shape() -> None:
    make = shaper()
    texts = ["P(x, A) v Q(x)", "Q(y) v P(y, B)", "P(x, x) v Q(x)"]
    found = [
        make(compile_rule(Rule(parse_formula(t), 1.0), MODEL, frozenset(TYPES))[0].clauses[0]).shape for t in texts
    ]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_a_plus_variable_that_a_clause_does_not_mention_is_no_grounding_variable() -> None:
    (feature,) = compile_rule(Rule(parse_formula("Q(x) ^ (Q(y) v P(y, +z))"), 1.0), MODEL, frozenset(TYPES))
    sizes = {len(shaper()(c, feature.plus).shape.universal()) for c in feature.clauses}
    assert feature.plus == ("z",)
    assert sizes == {2}


@given(st.integers(2, 9), st.sampled_from(["path", "cycle", "star"]), st.randoms(use_true_random=False))
def test_many_literals_that_look_alike_have_one_shape(size: int, figure: str, generator: random.Random) -> None:
    # 9 of them have 362,880 orders.
    names = [*map(Variable, generator.sample("abcdefghijklm", size + 1))]
    ends = {"path": range(1, size + 1), "cycle": [*range(1, size), 0], "star": range(1, size + 1)}[figure]
    starts = [0] * size if figure == "star" else range(size)
    found = [Literal("P", (names[i], names[k])) for i, k in zip(starts, ends, strict=True)]
    clause = Clause(tuple((v.name, "s") for v in names), tuple(generator.sample(found, size)))
    shape = shaper()(clause).shape
    chain = [ShapeLiteral("P", True, (Slot(False, i), Slot(False, i + 1))) for i in range(size - 1)]
    last = ShapeLiteral("P", True, (Slot(False, size - 1), Slot(False, size if figure == "path" else 0)))
    star = [ShapeLiteral("P", True, (Slot(False, 0), Slot(False, i + 1))) for i in range(size)]
    assert list(shape.literals) == (star if figure == "star" else [*chain, last])


def test_what_comes_after_many_literals_that_look_alike_is_ordered_too() -> None:
    # A path has one least order, however many literals it has, so the two quantifiers behind it can be tried in both.
    names = [*map(Variable, "abcdefgh")]
    path = [Literal("P", pair) for pair in pairwise(names)]
    ends = [
        ExistsLiteral(((name, "s"),), (Literal("P", (names[k], Variable(name))),)) for k, name in ((1, "y"), (3, "z"))
    ]
    found = set()
    for seed in range(20):
        generator = random.Random(seed)
        shuffled = tuple(generator.sample([*path, *ends], len(path) + 2))
        found.add(shaper()(Clause(tuple((v.name, "s") for v in names), shuffled)).shape)
    assert len(found) == 1
