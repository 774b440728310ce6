"""The clauses that differ from one in a literal, against all clauses of small languages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sqlrl.logic.terms import Constant, EqualityLiteral, Literal, Variable
from sqlrl.structure.beam.clauses import ADD, CONSTANT, DELETE, FLIP, KEEP, NEW, Language, SearchClause
from tests.structure.beam.brute import Plain, canonical, connected, differ_by_one, namer, plain, terms, universe

LANGUAGES = {
    "one type": ({"P": ("a",), "Q": ("a", "a")}, 3, 3),
    "two types": ({"P": ("a",), "R": ("a", "b")}, 3, 4),
    "more literals": ({"P": ("a",), "R": ("a", "b")}, 4, 4),
    "two relations": ({"R": ("a", "b"), "S": ("b", "a")}, 3, 4),
}
# All pairs of some thousand clauses are compared under all renamings.
CHOSEN = [
    "one type",
    "two types",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("more literals", "two relations")),
]


def search_clause(literals: frozenset[Plain], predicates: dict[str, tuple[str, ...]]) -> SearchClause:
    kinds = {name: kind for p, _, names in literals for name, kind in zip(names, predicates[p], strict=True)}
    found = tuple(Literal(p, terms(*names), sign) for p, sign, names in sorted(literals))
    return SearchClause(tuple(kinds.items()), found, (NEW,) * len(found))


@pytest.mark.parametrize("name", CHOSEN)
def test_neighbours_are_all_clauses_at_distance_one(name: str) -> None:
    predicates, literals, variables = LANGUAGES[name]
    language = Language(predicates, literals, variables, equalities=False)
    everything = universe(predicates, literals, variables)
    assert len(everything) > 40
    some = sorted(everything)[:: max(1, len(everything) // 12)]
    for key in some:
        clause = search_clause(everything[key], predicates)
        found = [canonical(plain(each.literals)) for each in language.neighbours(clause)]
        expected = {other for other, each in everything.items() if differ_by_one(everything[key], each)}
        assert set(found) == expected, str(clause)


@pytest.mark.parametrize("name", CHOSEN)
def test_canonical_forms_are_equal_where_renaming_makes_clauses_equal(name: str) -> None:
    predicates, literals, variables = LANGUAGES[name]
    language = Language(predicates, literals, variables, equalities=False)
    form = namer(language)
    by_form: dict[object, set[object]] = {}
    by_renaming: dict[object, set[object]] = {}
    for each in [*universe(predicates, literals, variables).values()][::3]:
        for neighbour in language.neighbours(search_clause(each, predicates)):
            one, other = form(neighbour), canonical(plain(neighbour.literals))
            by_form.setdefault(one, set()).add(other)
            by_renaming.setdefault(other, set()).add(one)
    assert all(len(x) == 1 for x in by_form.values())
    assert all(len(x) == 1 for x in by_renaming.values())


def test_a_clause_does_not_fall_apart() -> None:
    predicates = {"P": ("a",), "R": ("a", "b"), "T": ("b",)}
    language = Language(predicates, 3, 4)
    chain = search_clause(frozenset({("P", True, ("x",)), ("R", False, ("x", "y")), ("T", True, ("y",))}), predicates)
    found = [plain(each.literals) for each in language.neighbours(chain) if len(each.literals) == 2]
    assert len(found) == 2
    assert all(map(connected, found))


@pytest.mark.parametrize(
    ("operations", "count"),
    [({DELETE}, 2), ({FLIP}, 2), ({ADD}, 10), (set(), 0), ({DELETE, FLIP}, 4), ({KEEP}, 1), ({KEEP, FLIP}, 3)],
)
def test_operations_say_what_may_be_done(operations: set[str], count: int) -> None:
    # P(x) v Q(x, y): P of y, and Q of (y, x), (x, x), (y, y), twice for the sign.
    language = Language({"P": ("a",), "Q": ("a", "a")}, 3, 2, equalities=False)
    clause = SearchClause(
        (("x", "a"), ("y", "a")),
        (Literal("P", terms("x")), Literal("Q", terms("x", "y"))),
        (NEW, NEW),
        operations=frozenset(operations),
    )
    if operations == {ADD}:
        count = 2 * (1 + 3)
    found = list(language.neighbours(clause))
    assert len(found) == count
    assert all(each.operations == clause.operations for each in found)
    assert (clause in found) == (KEEP in operations)


def test_equalities_are_added_and_variables_merged() -> None:
    language = Language({"P": ("a",), "Q": ("a", "a"), "R": ("a", "b")}, 4, 4)
    clause = SearchClause(
        (("x", "a"), ("y", "a"), ("z", "b")),
        (Literal("Q", terms("x", "y")), Literal("R", terms("y", "z"), positive=False)),
        (0, 1),
        origin=7,
        size=2,
        operations=frozenset({ADD}),
    )
    found = list(language.neighbours(clause))
    equal = [each for each in found if any(isinstance(x, EqualityLiteral) for x in each.literals)]
    assert [str(each) for each in equal] == ["Q(x, y) v !R(y, z) v x = y"]
    assert [each.distance for each in equal] == [1]
    merged = [each for each in found if each.merged]
    assert [(str(each), each.distance, each.variables) for each in merged] == [
        ("Q(x, x) v !R(x, z)", 1, (("x", "a"), ("z", "b")))
    ]
    # Nothing is merged that says something twice then, and no equality comes twice.
    twice = SearchClause(
        (("x", "a"), ("y", "a")),
        (Literal("P", terms("x")), Literal("P", terms("y"), positive=False), EqualityLiteral(*terms("x", "y"))),
        (NEW,) * 3,
    )
    assert all(str(each).count("=") <= 1 and not each.merged for each in language.neighbours(twice))
    # An equality goes with the literal that mentions its variable.
    left = {str(each) for each in language.neighbours(twice) if len(each.literals) < 3}
    assert "P(x)" in left
    assert "!P(y)" in left


def test_the_example_is_one_variable() -> None:
    language = Language({"P": ("e", "a"), "Q": ("e", "a", "e")}, 3, 4, example_type="e")
    unit = language.unit("Q")
    assert [str(unit), unit.variables] == ["Q(v0, v1, v0)", (("v0", "e"), ("v1", "a"))]
    for each in language.neighbours(unit):
        assert sum(kind == "e" for _, kind in each.variables) == 1


def walk(language: Language, clause: SearchClause, *steps: str) -> SearchClause:
    """Go to the neighbours that are written like this."""
    for step in steps:
        (clause,) = [each for each in language.neighbours(clause) if str(each) == step]
    return clause


@pytest.mark.parametrize(
    ("steps", "distance"),
    [
        ((), 0),
        (("!P(x) v R(x, y)",), 1),
        (("!P(x) v R(x, y)", "P(x) v R(x, y)"), 0),
        (("!P(x) v R(x, y)", "!P(x) v !R(x, y)"), 2),
        (("!P(x) v R(x, y)", "R(x, y)"), 1),
        (("P(x)",), 1),
        (("P(x)", "P(x) v !R(x, v0)"), 2),
        (("P(x) v R(x, y) v R(x, v0)",), 1),
        (("P(x) v R(x, y) v R(x, v0)", "P(x) v R(x, y) v !R(x, v0)"), 1),
        (("P(x) v R(x, y) v R(x, v0)", "P(x) v R(x, v0)"), 2),
        (("P(x) v R(x, y) v R(x, v0)", "P(x) v R(x, v0)", "P(x)"), 1),
        (("P(x) v R(x, y) v R(x, v0)", "P(x) v R(x, y)"), 0),
    ],
)
def test_distances_count_literals_that_differ_from_the_origin(steps: tuple[str, ...], distance: int) -> None:
    language = Language({"P": ("a",), "R": ("a", "b")}, 3, 3, equalities=False)
    origin = SearchClause(
        (("x", "a"), ("y", "b")), (Literal("P", terms("x")), Literal("R", terms("x", "y"))), (0, 1), origin=0, size=2
    )
    assert walk(language, origin, *steps).distance == distance
    # Without an origin it is how many literals there are.
    fresh = SearchClause(origin.variables, origin.literals, (NEW, NEW))
    found = walk(language, fresh, *steps)
    assert found.distance == len(found.literals)


def test_constants_take_the_place_of_others_of_their_type() -> None:
    language = Language({"Color": ("thing", "color")}, 2, 2, constants={"color": ("red", "green", "blue")})
    clause = SearchClause(
        (("x", "thing"),),
        (Literal("Color", (Variable("x"), Constant("red"))),),
        (0,),
        origin=0,
        size=1,
        operations=frozenset({CONSTANT}),
    )
    found = list(language.neighbours(clause))
    assert [str(each) for each in found] == ['Color(x, "green")', 'Color(x, "blue")']
    assert [each.distance for each in found] == [1, 1]
    (back,) = [each for each in language.neighbours(found[0]) if str(each) == str(clause)]
    assert back.distance <= 1


@pytest.mark.parametrize("order", [(CONSTANT, FLIP), (FLIP, CONSTANT)])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_literal_with_another_constant_and_another_sign_is_not_what_it_was(order: tuple[str, str], size: int) -> None:
    """One literal differs, in whatever order it was changed; that its sign is changed back does not make its constant the old one."""
    language = Language({"Color": ("thing", "color"), "P": ("thing",)}, 4, 2, constants={"color": ("red", "green")})
    literals = [Literal("P", (Variable("x"),)), Literal("P", (Variable("y"),)), Literal("Color", (Variable("x"), Constant("red")))]  # fmt: skip
    given = SearchClause(
        (("x", "thing"), ("y", "thing")), tuple(literals[-size:]), tuple(range(size)), origin=0, size=size
    )
    signs = {CONSTANT: "Color(x, green)", FLIP: "!Color(x, red)"}

    def after(clause: SearchClause, operation: str) -> SearchClause:
        """Change the literal with a constant."""
        (found,) = [
            each
            for each in language.neighbours(replace(clause, operations=frozenset({operation})))
            if each.literals[:-1] == clause.literals[:-1]
        ]
        return found

    once = after(given, order[0])
    assert (once.literals[-1], once.distance) == (literal_of(signs[order[0]]), 1)
    twice = after(once, order[1])
    assert (twice.literals[-1], twice.distance) == (literal_of("!Color(x, green)"), 1)
    back = after(twice, FLIP)
    assert (back.literals[-1], back.distance) == (literal_of("Color(x, green)"), 1)


def literal_of(text: str) -> Literal:
    """The literal of `Color` that is written like this."""
    constant = text.rstrip(")").rpartition(", ")[2]
    return Literal("Color", (Variable("x"), Constant(constant)), not text.startswith("!"))


@pytest.mark.parametrize(
    ("types", "literal", "count"),
    [
        # Of P: of y; of Q: (y, x), (x, x), (y, y); of R nothing, which would need a variable of another type.
        ({"P": ("a",), "Q": ("a", "a"), "R": ("a", "b")}, "Q(x, y)", 2 + 3),
        ({"P": ("a",), "Q": ("a", "a"), "R": ("a", "b")}, "P(x)", 1),
        ({"R": ("a", "b"), "S": ("b", "a")}, "R(x, y)", 1),
    ],
)
def test_a_language_without_fresh_variables_adds_literals_over_those_of_the_clause(
    types: dict[str, tuple[str, ...]], literal: str, count: int
) -> None:
    name, _, arguments = literal.rstrip(")").partition("(")
    names = arguments.split(", ")
    clause = SearchClause(
        tuple(zip(names, types[name], strict=True)),
        (Literal(name, terms(*names)),),
        (NEW,),
        operations=frozenset({ADD}),
    )
    own = Language(types, 4, 4, equalities=False, new_variables=False)
    found = {str(each) for each in own.neighbours(clause)}
    assert len(found) == 2 * count
    assert found == {
        str(each)
        for each in Language(types, 4, 4, equalities=False).neighbours(clause)
        if each.variables == clause.variables
    }
