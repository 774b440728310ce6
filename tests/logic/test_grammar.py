"""Grammars of declarative bias: what templates expand to, how grammars print, and faults with their places."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import InputError, ModelError, ParseError, SqlrlError, UnsupportedError
from sqlrl.logic.candidates import Candidate
from sqlrl.logic.conjunctions import format_part
from sqlrl.logic.grammar import Grammar
from sqlrl.logic.grammar_parser import parse_grammar
from sqlrl.logic.limits import LONGEST_CLAUSE, MOST_CANDIDATES
from sqlrl.logic.mln import parse_formula, parse_mln
from sqlrl.logic.templates import KINDS, Expansion, Symbol, Template
from sqlrl.logic.terms import Atom, BothSigns, Constant, EqualityLiteral, Literal, Term, Variable, terms_in
from tests.effort import draws

# ---- a second expansion, written after the definition --------------------------------------------------------

Row = tuple[str, bool, tuple[Term, ...]]
"""A literal as (predicate or "=", sign, terms)."""

TYPES = {
    "e": ("s", "s"), "f": ("s", "s"), "p": ("s", "t"), "q": ("t", "s"), "m": ("t", "t"), "r": ("s",), "g": ("s",), "h": ("s", "s"),
}  # fmt: skip
TARGETS = ("g", "h")
MODEL = parse_mln("\n".join(f"{name}({', '.join(kinds)})" for name, kinds in TYPES.items()))


def row(literal: Literal | EqualityLiteral) -> Row:
    name = literal.predicate if isinstance(literal, Literal) else "="
    return name, literal.positive, tuple(terms_in(literal))


def renamed(expansion: Expansion, names: dict[str, str], use: int) -> Iterator[Row]:
    """The literals of an expansion with the names of its symbol's variables replaced, and all others made new for this use."""
    for literal in expansion.literals:
        name, sign, terms = row(literal)
        new = [Variable(names.get(t.name, f"{t.name}_{use}")) if isinstance(t, Variable) else t for t in terms]
        yield name, sign, tuple(new)


def first_type(expansion: Expansion, variable: str) -> str:
    atoms = [x for x in expansion.literals if isinstance(x, Literal)]
    return next(k for x in atoms for t, k in zip(x.terms, TYPES[x.predicate], strict=True) if t == Variable(variable))


def uses(
    symbol: Symbol, arguments: tuple[str, ...], types: dict[str, str]
) -> list[list[tuple[Expansion, dict[str, str]]]]:
    """What a symbol in a template stands for: expansions, each with what the variables of the symbol are there."""
    names = dict(zip(symbol.variables, arguments, strict=True))
    if symbol.kind == "one":
        return [[(x, names)] for x in symbol.expansions]
    if symbol.kind == "compounder":
        subsets = (c for k in range(1, symbol.most + 1) for c in combinations(symbol.expansions, k))
        return [[(x, names) for x in subset] for subset in subsets]
    x, y = symbol.variables
    found = []
    for length in range(1, symbol.most + 1):
        for chain in product(symbol.expansions, repeat=length):
            starts, ends = [first_type(e, x) for e in chain], [first_type(e, y) for e in chain]
            fits = starts[1:] == ends[:-1]
            fits &= starts[0] == types.get(arguments[0], starts[0]) and ends[-1] == types.get(arguments[1], ends[-1])
            if fits:
                stations = [arguments[0], *(f"{symbol.name}{i}@{arguments}" for i in range(1, length)), arguments[1]]
                found.append([(e, {x: stations[i], y: stations[i + 1]}) for i, e in enumerate(chain)])
    return found


def brute(grammar: Grammar) -> list[list[Row]]:
    """All conjunctions of a grammar whose literals beside symbols say the type of each variable that two parts have."""
    symbols = {symbol.name: symbol for symbol in grammar.symbols}
    found = []
    for template in grammar.templates:
        types: dict[str, str] = {}
        for part in template.parts:
            atom = part.atom if isinstance(part, BothSigns) else part
            if isinstance(atom, Literal | Atom) and atom.predicate in TYPES:
                types |= {
                    t.name: k for t, k in zip(atom.terms, TYPES[atom.predicate], strict=True) if isinstance(t, Variable)
                }
        options: list[list[object]] = []
        for part in template.parts:
            if isinstance(part, BothSigns):
                options.append([[(part.atom.predicate, sign, part.atom.terms)] for sign in (True, False)])
            elif isinstance(part, Literal) and part.predicate in symbols:
                arguments = tuple(t.name for t in part.terms)
                options.append(list(uses(symbols[part.predicate], arguments, types)))
            else:
                options.append([[row(part)]])
        for choice in product(*options):
            rows: list[Row] = []
            use = 0
            for number, each in enumerate(choice):
                for what in each:  # type: ignore[attr-defined]
                    if isinstance(what[0], Expansion):
                        use += 1
                        names = {k: f"{v}@{number}" if "@" in v else v for k, v in what[1].items()}
                        rows += renamed(what[0], names, use)
                    else:
                        rows.append(what)
            found.append(rows)
    return found


def rows_of(candidate: Candidate) -> list[Row]:
    return [row(literal) for literal in (*candidate.selector, *candidate.enforcer)]


def isomorphic(one: list[Row], two: list[Row]) -> bool:
    """Whether renaming the variables of one conjunction, one to one, makes it the other as a set; by trying."""
    left, right = list(dict.fromkeys(map(unordered, one))), list(dict.fromkeys(map(unordered, two)))
    if Counter(x[:2] for x in left) != Counter(x[:2] for x in right):
        return False

    def match(rest: list[Row], free: list[Row], there: dict[Term, Term], back: dict[Term, Term]) -> bool:
        if not rest:
            return not free
        name, sign, terms = rest[0]
        for k, (other, other_sign, images) in enumerate(free):
            if (name, sign, len(terms)) != (other, other_sign, len(images)):
                continue
            for image in {images, images[::-1]} if name == "=" else {images}:
                t, b = dict(there), dict(back)
                pairs = list(zip(terms, image, strict=True))
                fits = all(
                    (
                        x == y
                        if isinstance(x, Constant) or isinstance(y, Constant)
                        else t.setdefault(x, y) == y and b.setdefault(y, x) == x
                    )
                    for x, y in pairs
                )
                if fits and match(rest[1:], free[:k] + free[k + 1 :], t, b):
                    return True
        return False

    return match(left, right, {}, {})


def unordered(literal: Row) -> Row:
    name, sign, terms = literal
    return (name, sign, tuple(sorted(terms, key=repr))) if name == "=" else literal


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("e(x, y) ^ e(y, z)", "e(b, c) ^ e(a, b)", True),
        ("e(x, y) ^ e(y, x)", "e(x, y) ^ e(y, z)", False),
        ("e(x, y) ^ e(x, z)", "e(x, y) ^ e(z, y)", False),
        ("p(x, A) ^ x != y ^ r(y)", "r(u) ^ p(w, A) ^ u != w", True),
        ("p(x, A)", "p(x, B)", False),
        ("p(x, A)", "p(x, a)", False),
    ],
)
def test_the_comparison_of_the_tests_tells_conjunctions_apart(one: str, two: str, same: bool) -> None:
    def read(text: str) -> list[Row]:
        return [row(part) for part in Template(text).parts if not isinstance(part, BothSigns)]

    assert isomorphic(read(one), read(two)) == same


# ---- random grammars -----------------------------------------------------------------------------------------

_S = ["x", "y", "u"]
_T = ["a", "b"]


def literal(draw: st.DrawFn, variables: dict[str, list[str]], names: list[str]) -> Literal:
    name = draw(st.sampled_from(names))
    terms = []
    for kind in TYPES[name]:
        constant = draw(st.integers(0, 9)) == 0
        terms.append(
            Constant("A" if kind == "s" else "T 1") if constant else Variable(draw(st.sampled_from(variables[kind])))
        )
    return Literal(name, tuple(terms))


EVIDENCE = ["e", "f", "p", "q", "r"]


@st.composite
def expansions(draw: st.DrawFn, ends: list[tuple[str, str]]) -> Expansion:
    """A conjunction in which each of some variables, given with their types, has a positive literal."""
    variables = {"s": [*(v for v, k in ends if k == "s"), "u"], "t": [*(v for v, k in ends if k == "t"), "b"]}
    found: list[Literal | EqualityLiteral] = []
    for name, kind in ends:
        bound = {t for x in found for t in terms_in(x)}
        if Variable(name) not in bound:
            predicate = draw(st.sampled_from([n for n in [*EVIDENCE, "m"] if kind in TYPES[n]]))
            place = draw(st.sampled_from([i for i, k in enumerate(TYPES[predicate]) if k == kind]))
            terms = [Variable(draw(st.sampled_from(variables[k]))) for k in TYPES[predicate]]
            found.append(Literal(predicate, (*terms[:place], Variable(name), *terms[place + 1 :])))
    known = [t for x in found for t in terms_in(x) if isinstance(t, Variable)]
    typed = {t: k for x in found if isinstance(x, Literal) for t, k in zip(x.terms, TYPES[x.predicate], strict=True)}
    if draw(st.integers(0, 3)) == 0:
        left = draw(st.sampled_from(known))
        right = draw(st.sampled_from([*(t for t in known if typed[t] == typed[left]), Constant("A")]))
        found.append(EqualityLiteral(left, right, draw(st.booleans())))
    if draw(st.integers(0, 3)) == 0 and typed[known[0]] == "s":
        found.append(Literal("r", (known[0],), positive=False))
    return Expansion(tuple(found))


@st.composite
def symbols(draw: st.DrawFn, name: str) -> Symbol:
    kind = draw(st.sampled_from(KINDS))
    if kind != "extender":
        variables = draw(st.sampled_from([("x",), ("x", "y"), ("y", "a")]))
        some = expansions([(v, "t" if v == "a" else "s") for v in variables])
        found = draw(st.lists(some, min_size=1, max_size=3, unique=True))
        return Symbol(name, variables, found, kind, 1 if kind == "one" else draw(st.integers(1, 3)))
    types = draw(
        st.sampled_from([["ss"], ["ss", "ss"], ["ss"] * 3, ["st", "ts"], ["ss", "st", "ts"], ["st", "tt", "ts"]])
    )
    found = [draw(expansions(list(zip(("x", "y"), pair, strict=True)))) for pair in types]
    return Symbol(name, ("x", "y"), dict.fromkeys(found), kind, draw(st.integers(1, 3)))


@st.composite
def grammars(draw: st.DrawFn) -> Grammar:
    defined = [draw(symbols(name)) for name in draw(st.sampled_from([["ONE"], ["B_2", "EXTRA"]]))]
    templates = []
    for _ in range(draw(st.integers(1, 2))):
        parts: list[Literal | EqualityLiteral | BothSigns] = []
        for symbol in draw(st.lists(st.sampled_from(defined), min_size=1, max_size=2)):
            kinds = "st" if "a" in symbol.variables else "ss"[: len(symbol.variables)]
            parts.append(
                Literal(symbol.name, tuple(Variable(draw(st.sampled_from(_T if k == "t" else _S))) for k in kinds))
            )
        bound = sorted({t.name for x in parts for t in terms_in(x) if t.name in _S})  # type: ignore[arg-type]
        within = {"s": bound if draw(st.integers(0, 9)) else _S, "t": _T}
        if draw(st.integers(0, 2)) == 0:
            parts.append(literal(draw, within, EVIDENCE))
        if draw(st.integers(0, 4)) == 0:
            parts.append(EqualityLiteral(Variable(bound[0]), Variable(bound[-1]), draw(st.booleans())))
        ends = {
            t
            for x in parts
            if isinstance(x, Literal)
            for t in x.terms
            for s in defined
            if s.name == x.predicate and s.kind == "extender"
        }
        atoms = dict.fromkeys([*(Atom("g", (t,)) for t in sorted(ends)), Atom("g", (Variable(bound[0]),))])
        if draw(st.booleans()):
            other = literal(draw, within, list(TARGETS))
            atoms[Atom(other.predicate, other.terms)] = None
        for atom in atoms:
            sign = draw(st.sampled_from([True, False, None]))
            parts.append(BothSigns(atom) if sign is None else Literal(atom.predicate, atom.terms, sign))
        templates.append(Template(draw(st.permutations(list(dict.fromkeys(parts))))))
    return Grammar(tuple(defined), tuple(templates))


def unsafe(candidate: list[Row]) -> bool:
    evidence = [x for x in candidate if x[0] not in TARGETS]
    bound = {t for name, sign, terms in evidence if sign and name != "=" for t in terms}
    return bool(evidence) and any(
        isinstance(t, Variable) and t not in bound for _, _, terms in candidate for t in terms
    )


def ends_fit(grammar: Grammar) -> bool:
    """Whether the types of the ends of extenders are said by literals, as `brute` needs, and expansions of these are all used."""
    symbols = {symbol.name: symbol for symbol in grammar.symbols}
    for template in grammar.templates:
        said = {
            t.name: k
            for part in template.parts
            for x in [part.atom if isinstance(part, BothSigns) else part]
            if isinstance(x, Literal | Atom) and x.predicate in TYPES
            for t, k in zip(x.terms, TYPES[x.predicate], strict=True)
        }
        for part in template.parts:
            if isinstance(part, Literal) and part.predicate in symbols and symbols[part.predicate].kind == "extender":
                arguments = tuple(t.name for t in part.terms)
                if not set(arguments) <= said.keys():
                    return False
                chains = uses(symbols[part.predicate], arguments, said)
                if {x for chain in chains for x, _ in chain} != set(symbols[part.predicate].expansions):
                    return False
    return True


@pytest.mark.slow
@settings(max_examples=draws(150))
@given(grammars())
def test_a_grammar_expands_to_what_its_definition_says(grammar: Grammar) -> None:
    assume(ends_fit(grammar))
    every = brute(grammar)
    assume(len(every) <= 120)
    assert grammar.count(MODEL, TARGETS) == len(every)
    if any(map(unsafe, every)):
        with pytest.raises(ModelError, match="no positive literal of the evidence has"):
            grammar.expand(MODEL, TARGETS)
        return
    distinct: list[list[Row]] = []
    for each in every:
        if not any(isomorphic(each, other) for other in distinct):
            distinct.append(each)
    found = grammar.expand(MODEL, TARGETS)
    assert len(found) == len(distinct)
    assert all(isomorphic(rows_of(candidate), other) for candidate, other in zip(found, distinct, strict=True))


@pytest.mark.slow
@settings(max_examples=draws(80))
@given(grammars())
def test_candidates_say_what_they_are(grammar: Grammar) -> None:
    try:
        found = grammar.expand(MODEL, TARGETS, limit=300)
    except ModelError:
        assume(False)
    texts = {str(template) for template in grammar.templates}
    for candidate in found:
        assert parse_formula(str(candidate), MODEL) == candidate.formula
        assert all(
            (x.predicate in TARGETS) == (x in candidate.enforcer) for x in candidate.selector if isinstance(x, Literal)
        )
        assert candidate.enforcer
        assert all(x.predicate in TARGETS for x in candidate.enforcer)
        assert candidate.template in texts
        literals = [x for x in (*candidate.enforcer, *candidate.selector) if isinstance(x, Literal)]
        types = {
            t.name: k
            for x in literals
            for t, k in zip(x.terms, TYPES[x.predicate], strict=True)
            if isinstance(t, Variable)
        }
        assert dict(candidate.variables) == types
        assert len(candidate.variables) == len(types)
        size = len({t for x in candidate.enforcer for t in x.terms if isinstance(t, Variable)})
        assert {n for n, _ in candidate.variables[:size]} == {
            t.name for x in candidate.enforcer for t in x.terms if isinstance(t, Variable)
        }
    assert grammar.expand(MODEL, TARGETS, limit=300) == found


@settings(max_examples=draws(100))
@given(grammars())
def test_a_printed_grammar_parses_to_an_equal_one(grammar: Grammar) -> None:
    read = parse_grammar(str(grammar))
    assert read == grammar
    assert str(read) == str(grammar)
    assert [t.line for t in read.templates] == [
        1 + str(grammar).split("\n").index(str(t), len(str(grammar).split("\n")) - 1 - len(grammar.templates) + i)
        for i, t in enumerate(grammar.templates)
    ]
    assert pickle.loads(pickle.dumps(read)) == grammar


# ---- by hand -------------------------------------------------------------------------------------------------

LASTFM = """
// Friends of the centre of an ego network.
CENTRE(v) = {taggedBefore(a, v), taggedAfter(a, v), taggedSame(a, v), listens(a, v), usedTag(t, v)} compounder 2
USERS(v, w) = {
    friends,  /* thresholds 1, 3, 10 of what pairs share */
    sameArtist, sameArtist3, sameArtist10,
    sameTag, sameTag3, sameTag10
} extender 2
CENTRE(v) ^ [!]cFriends(v)
USERS(v, w) ^ cFriends(v) ^ cFriends(w)
CENTRE(v) ^ USERS(v, w) ^ cFriends(v) ^ cFriends(w)
"""
LASTFM_MODEL = parse_mln(
    "\n".join(f"{name}(artist, user)" for name in ("taggedBefore", "taggedAfter", "taggedSame", "listens"))
    + "\nusedTag(tag, user)\ncFriends(user)\n"
    + "\n".join(f"{name}(user, user)" for name in ("friends", "sameArtist", "sameArtist3", "sameArtist10", "sameTag", "sameTag3", "sameTag10"))
)  # fmt: skip


def test_the_grammar_of_lastfm_has_as_many_candidates_as_are_counted_by_hand() -> None:
    grammar = parse_grammar(LASTFM)
    found = grammar.expand(LASTFM_MODEL, ["cFriends"])
    # CENTRE: 5 alone and 5 * 4 / 2 = 10 pairs. USERS: 7 alone and 7 * 7 = 49 chains of two, all of one type.
    centre, users = 5 + 10, 7 + 49
    # With both signs; with two targets; with both symbols. A chain leads from v to w, so its reverse is another one.
    assert len(found) == 2 * centre + users + centre * users == 926
    assert grammar.count(LASTFM_MODEL, "cFriends") == 926
    assert [sum(c.template == str(t) for c in found) for t in grammar.templates] == [30, 56, 840]
    assert list(map(str, found[:2])) == ["taggedBefore(a, v) ^ cFriends(v)", "taggedBefore(a, v) ^ !cFriends(v)"]
    last = found[-1]
    assert str(last) == "listens(a, v) ^ usedTag(t, v) ^ sameTag10(v, z) ^ sameTag10(z, w) ^ cFriends(v) ^ cFriends(w)"
    assert last.variables == (("v", "user"), ("w", "user"), ("a", "artist"), ("t", "tag"), ("z", "user"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # One template without evidence is a prior.
        ("[!]g(x)", ["g(x)", "!g(x)"]),
        ("h(x, A)", ["h(x, A)"]),
        # v <- z <- w is v -> z -> w from the other side, as is w -> v alone.
        (
            "S(v, w) = {e, e(w, v)} extender 2\nS(v, w) ^ g(v) ^ g(w)",
            [
                "e(v, w) ^ g(v) ^ g(w)",
                "e(v, z) ^ e(z, w) ^ g(v) ^ g(w)",
                "e(v, z) ^ e(w, z) ^ g(v) ^ g(w)",
                "e(z, v) ^ e(z, w) ^ g(v) ^ g(w)",
            ],
        ),
        # Negation, constants and equality; fresh variables beside those of the template.
        (
            "S(v) = {p(v, a) ^ !q(a, v), p(v, T) ^ e(v, u) ^ u != v} compounder 2\nS(u) ^ r(a) ^ g(u) ^ g(a)",
            [
                "p(u, a2) ^ !q(a2, u) ^ r(a) ^ g(u) ^ g(a)",
                "p(u, T) ^ e(u, u2) ^ u2 != u ^ r(a) ^ g(u) ^ g(a)",
                "p(u, a2) ^ !q(a2, u) ^ p(u, T) ^ e(u, u2) ^ u2 != u ^ r(a) ^ g(u) ^ g(a)",
            ],
        ),
        # What constants are makes a difference, also in look-alikes, and the order of an equality none.
        (
            "S(x, y) = {p(x, A) ^ p(y, B), p(x, B) ^ p(y, A), p(x, A) ^ p(y, A)}\nS(x, y) ^ g(x) ^ g(y)",
            ["p(x, A) ^ p(y, B) ^ g(x) ^ g(y)", "p(x, A) ^ p(y, A) ^ g(x) ^ g(y)"],
        ),
        ("S(x, y) = {e ^ x != y, e ^ y != x}\nS(x, y) ^ x != y ^ g(x)", ["e(x, y) ^ x != y ^ g(x)"]),
        ("S(x) = {r ^ x = A, r ^ A = x, r ^ x != A}\nS(x) ^ g(x)", ["r(x) ^ x = A ^ g(x)", "r(x) ^ x != A ^ g(x)"]),
        # Nothing tells x from y.
        (
            "S(x, y) = {e ^ e(y, x) ^ x != y, e(y, x) ^ e ^ y != x, e ^ e(y, x) ^ x = y}\nS(x, y) ^ g(x) ^ g(y)",
            ["e(x, y) ^ e(y, x) ^ x != y ^ g(x) ^ g(y)", "e(x, y) ^ e(y, x) ^ x = y ^ g(x) ^ g(y)"],
        ),
        # One symbol twice; a literal that comes twice stands once.
        ("S(x) = {r, p(x, A)}\nS(x) ^ r(x) ^ g(x)", ["r(x) ^ g(x)", "p(x, A) ^ r(x) ^ g(x)"]),
        (
            "S(x) = {r, p(x, A)}\nS(x) ^ S(y) ^ g(x) ^ g(y)",
            ["r(x) ^ r(y) ^ g(x) ^ g(y)", "r(x) ^ p(y, A) ^ g(x) ^ g(y)", "p(x, A) ^ p(y, A) ^ g(x) ^ g(y)"],
        ),
        # Chains through another type: s -> t -> s and s -> t -> t -> s, not s -> t alone.
        (
            "S(x, y) = {p, m, q} extender 3\nS(x, y) ^ g(x) ^ g(y)",
            ["p(x, z) ^ q(z, y) ^ g(x) ^ g(y)", "p(x, z) ^ m(z, z2) ^ q(z2, y) ^ g(x) ^ g(y)"],
        ),
        # An end that nothing else has may be of any type.
        ("S(x, y) = {p, e} extender 1\nS(x, y) ^ g(x)", ["p(x, y) ^ g(x)", "e(x, y) ^ g(x)"]),
        ("S(x, y) = {p, e}\nS(x, y) ^ g(x)", ["p(x, y) ^ g(x)", "e(x, y) ^ g(x)"]),
        ("S(x, y) = {p, e} compounder 1\nS(x, y) ^ g(x)", ["p(x, y) ^ g(x)", "e(x, y) ^ g(x)"]),
        # More than there are; no variables; a template before its symbols, over several lines.
        ("S(x) = {r} compounder 9\nS(x) ^ g(x)", ["r(x) ^ g(x)"]),
        ("ANY() = {r(u)}\nr(x) ^ ANY() ^ g(x)", ["r(x) ^ r(u) ^ g(x)"]),
        ("S(x) ^\n  g(x)\n\nS(x) = {\n r\n}", ["r(x) ^ g(x)"]),
        # Symbols that nothing uses, and a predicate in capitals.
        ("S(x) = {r}\nR(x) ^ g(x)", ["R(x) ^ g(x)"]),
        # Both signs of two targets.
        ("e(x, y) ^ [!]g(x) ^ [!]h(x, y)", ["e(x, y) ^ g(x) ^ h(x, y)", "e(x, y) ^ g(x) ^ !h(x, y)", "e(x, y) ^ !g(x) ^ h(x, y)", "e(x, y) ^ !g(x) ^ !h(x, y)"]),
        # The words of formulas are names here.
        ("S(v) = {r}\nS(v) ^ v != exist ^ r(exist) ^ g(v)", ["r(v) ^ v != exist ^ r(exist) ^ g(v)"]),
    ],
)  # fmt: skip
def test_small_grammars(text: str, expected: list[str]) -> None:
    model = parse_mln("\n".join(f"{n}({', '.join(k)})" for n, k in TYPES.items()) + "\nR(s x)")
    grammar = parse_grammar(text)
    assert list(map(str, grammar.expand(model, TARGETS))) == expected
    assert parse_grammar(str(grammar)) == grammar


@pytest.mark.slow
def test_candidates_of_many_literals_that_look_alike_are_told_apart() -> None:
    # Where nothing leads from x to y, only the number of variables between the ends is left of two chains: 0 to 4, with four
    # choices of signs. Up to six literals of each of three kinds have 720 * 720 * 720 orders.
    text = "S(x, y) = {p(x, b) ^ e(y, y) ^ b = A} extender 3\nS(x, u) ^ S(x, y) ^ [!]g(y) ^ [!]g(x) ^ !g(u)"
    found = parse_grammar(text).expand(MODEL, "g")
    assert parse_grammar(text).count(MODEL, "g") == 3 * 3 * 4
    assert Counter(len(c.selector) for c in found) == dict.fromkeys((6, 9, 12, 15, 18), 4)
    # Fourteen compounds at x and at y, which may be exchanged; up to 14 literals of one predicate.
    text = """
        S(x) = {
            e(x, a) ^ e(a, b) ^ e(a, c), e(a, x) ^ e(a, b) ^ f(b, c), e(x, a) ^ f(a, b) ^ e(b, a),
            e(x, a) ^ e(x, b) ^ f(a, b) ^ f(b, a) ^ e(a, c)
        } compounder 3
        S(x) ^ S(y) ^ g(x) ^ g(y)"""
    assert parse_grammar(text).count(MODEL, "g") == 14 * 14
    assert len(parse_grammar(text).expand(MODEL, "g")) == 14 * 15 // 2


@pytest.mark.parametrize("most", [1, 2, 5, 7])
def test_chains_and_their_reverse_are_one_where_both_ends_are_alike(most: int) -> None:
    found = parse_grammar(f"S(x, y) = {{e, e(y, x)}} extender {most}\nS(x, y) ^ g(x) ^ g(y)").expand(MODEL, "g")
    # Of 2^n chains of n links those are their own reverse whose second half is the first one read backwards, turned around.
    own = {n: 2 ** (n // 2) if n % 2 == 0 else 0 for n in range(1, most + 1)}
    assert Counter(len(c.selector) for c in found) == {n: (2**n + own[n]) // 2 for n in own}


def test_a_long_definition_has_a_line_for_each_expansion() -> None:
    names = [f"tagged{i}(artist, v)" for i in range(9)]
    symbol = Symbol("CENTRE", ("v",), names, "compounder", 2)
    grammar = Grammar((symbol,), (Template("CENTRE(v) ^ t(v)"),))
    assert str(grammar).splitlines()[:3] == ["CENTRE(v) = {", "    tagged0(artist, v),", "    tagged1(artist, v),"]
    assert str(grammar).splitlines()[9:] == ["    tagged8(artist, v)", "} compounder 2", "", "CENTRE(v) ^ t(v)"]
    assert parse_grammar(str(grammar)) == grammar
    assert eval(repr(grammar), {"parse_grammar": parse_grammar}) == grammar


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "friends.grammar"
    path.write_bytes(b"\xef\xbb\xbf" + LASTFM.replace("\n", "\r\n").encode())
    grammar = sqlrl.read_grammar(path)
    assert grammar == sqlrl.parse_grammar(LASTFM)
    assert grammar.path == str(path)
    assert [s.line for s in grammar.symbols] == [3, 4]
    with pytest.raises(ParseError, match=r"none\.grammar: cannot read the file"):
        sqlrl.read_grammar(tmp_path / "none.grammar")


# ---- faults of the text --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("S(v) = {p(v)} compounder 0\nS(v) ^ t(v)", ParseError, "1:26: the compounder is of 0 expansions: expected an integer from 1 to 250\n  S(v) = {p(v)} compounder 0\n                           ^"),
        ("S(v) = {p(v)} compounder -1", ParseError, "1:26: the compounder is of -1 expansions"),
        ("S(v) = {p(v)} extender 2.5", ParseError, "1:24: the extender is of 2.5 expansions"),
        ("S(v) = {p(v)} extender 251", ParseError, "1:24: the extender is of 251 expansions"),
        ("S(v) = {p(v)} extender", ParseError, "1:23: expected how many expansions at most, as 'extender 2', found the end of the text"),
        ("S(v) = {p(v)} compunder 2", ParseError, "1:15: expected 'compounder k', 'extender k' or the end of the line; did you mean 'compounder', found 'compunder'"),
        ("S(v) = {p(v)} 2", ParseError, "1:15: expected 'compounder k', 'extender k' or the end of the line, found '2'"),
        ("S(v) = {p(v)} compounder 2 2", ParseError, "1:28: expected the end of the line, found '2'"),
        ("S(v) = {p(v)} extender 2\nS(v) ^ t(v)", ModelError, "1:1: the extender S has 1 variable: expected two, from which and to which its chains lead"),
        ("S(v, w) = {e, p(v)} extender 2\nS(v, w) ^ t(v)", ModelError, "1:15: the expansion 'p(v)' of the extender S has no atom with w: expected both of v and w"),
        ("S(v, w) = {e(v, u) ^ u = w} extender 2\nS(v, w) ^ t(v)", ModelError, "1:12: the expansion 'e(v, u) ^ u = w' of the extender S has no atom with w"),
        ("S(v, w) = {p(v)}\nS(v, w) ^ t(v)", ModelError, "1:1: no expansion of S has its variable w: leave it out of S(v, w)"),
        ("S(v) = {}\nS(v) ^ t(v)", ModelError, "1:1: S has no expansions"),
        ("S(v) = {p(v), q(v), p}\nS(v) ^ t(v)", ModelError, "1:21: S has the expansion 'p(v)' twice: leave one out"),
        ("S(v, v) = {p(v)}\nS(v) ^ t(v)", ModelError, "1:1: S has the variable v twice"),
        ("S(v) = {p(v)}\nS(v) = {q(v)}\nS(v) ^ t(v)", ModelError, "2:1: S is defined already in line 1: give one of the two another name\n  S(v) = {q(v)}\n  ^"),
        ("S(v) = {p(v)}\nR(v) = {q(v) ^ S(v)}\nR(v) ^ t(v)", ModelError, "2:16: the symbol S stands in an expansion of R: write its expansions there instead, or put both symbols into the templates"),
        ("S(v) = {S}\nS(v) ^ t(v)", ModelError, "1:9: the symbol S stands in an expansion of S"),
        ("S(v) = {p(v)}\nS(v, w) ^ t(v)", ModelError, "2:1: S has 2 variables here, but is defined as S(v) in line 1"),
        ("S(v) = {p(v)}\nt(v) ^ S", ModelError, "2:8: S has 0 variables here, but is defined as S(v) in line 1"),
        ("S(v) = {p(v)}\nt(v) ^ !S(v)", ModelError, "2:8: '!S(v)' negates a symbol: write '!' into the expansions of S"),
        ("S(v) = {p(v)}\nt(v) ^ [!]S(v)", ModelError, "2:8: '[!]S(v)' negates a symbol"),
        ("S(v) = {p(v)}\nt(v) ^ S(Anna)", ModelError, "2:8: S has the constant Anna: write a variable x, and x = Anna beside it"),
        ("Users(v) = {p(v)}", ParseError, "1:1: 'Users' is no name of a symbol: expected one in capitals, as CENTRE or USERS_2"),
        ("S = {p(v)}", ParseError, "1:3: expected the symbol's variables, as S(x), found '='"),
        ("S(v) = p(v)", ParseError, "1:8: expected '{' and the expansions of the symbol, found 'p'"),
        ("S(v) = {p(v)\nS(v) ^ t(v)", ParseError, "2:1: expected ',', '^' or '}', found 'S'"),
        ("S(v) = {p(v)", ParseError, "1:13: expected ',', '^' or '}', found the end of the text: the '{' in line 1 is never closed"),
        ("S(v) = {p(v), }", ParseError, "1:15: expected a literal, as p(x), !p(x) or x != y, found '}'"),
        ("S(Anna) = {p(v)}", ParseError, "1:3: expected a variable (its name starts with a small letter), found 'Anna'"),
        ("S(v w) = {p(v)}", ParseError, "1:5: expected ',' or ')', found 'w'"),
        ("S(v) = {p(+a, v)}", UnsupportedError, "1:11: '+' variables are not supported in templates: write an expansion for each constant"),
        ("S(v) ^ t(+v)", UnsupportedError, "1:10: '+' variables are not supported in templates"),
        ("+v != w ^ t(v)", UnsupportedError, "1:1: '+' variables are not supported in templates"),
        ("EXIST a p(a, v) ^ t(v)", UnsupportedError, "1:1: quantifiers ('EXIST') are not supported in a template: leave it out"),
        ("S(v) = {p(v) ^ forall a q(a)}", UnsupportedError, "1:16: quantifiers ('forall') are not supported in an expansion"),
        ("t(v) ^ !EXIST a p(a, v)", UnsupportedError, "1:9: quantifiers"),
        ("p(f(v)) ^ t(v)", UnsupportedError, "1:3: the function f is not supported"),
        ("f(v) = w ^ t(v)", ParseError, "1:1: 'f' is no name of a symbol"),
        ("t(v) ^ f(v) = w", UnsupportedError, "1:8: the function f is not supported"),
        ("p(v) v t(v)", ParseError, "1:6: a template is a conjunction of literals: expected '^', found 'v'; write one for each case"),
        ("p(v) => t(v)", ParseError, "1:6: a template is a conjunction of literals: expected '^', found '=>'"),
        ("S(v) = {p(v) <=> q(v)}", ParseError, "1:14: an expansion is a conjunction of literals: expected '^', found '<=>'"),
        ("p(v) & t(v)", ParseError, "1:6: expected '^' or the end of the line, found '&' (expected '^' for and)"),
        ("p(v) ^ t(v).", ParseError, "1:12: expected '^' or the end of the line, found '.'"),
        ("1.5 p(v) ^ t(v)", ParseError, "1:1: a template has no weight: expected a literal, since a learner weighs the candidates"),
        ("(p(v)) ^ t(v)", ParseError, "1:1: expected a literal: a template has literals with '^' between them, without parentheses around them, found '('"),
        ("!!p(v) ^ t(v)", ParseError, "1:2: expected a literal, as p(x), !p(x) or x != y, found '!'"),
        ("p(v) ^ *t(v)", ParseError, "1:8: expected a literal (Alchemy's '*' before an atom is '[!]' in a template), found '*'"),
        ("p(v) ^ [t(v)]", ParseError, "1:9: expected '!' (as in '[!]p(x)'), found 't'"),
        ("p(v) ^ [!t(v)]", ParseError, "1:10: expected ']' (as in '[!]p(x)'), found 't'"),
        ("p(v) ^ [!]v = w", ParseError, "1:11: expected an atom after '[!]', found 'v'"),
        ("S(v) = {[!]p(v)}", ParseError, "1:9: '[!]' stands before a literal of a target in a template: write an expansion with '!' and one without"),
        ("p(v) ^ Anna = Bob ^ t(v)", ModelError, "1:8: 'Anna = Bob' compares two constants"),
        ("p(v) ^", ParseError, "1:7: expected a literal, as p(x), !p(x) or x != y, found the end of the text"),
        ("p(v) ^ t(v", ParseError, "1:11: expected ',' or ')', found the end of the text: the '(' in line 1 is never closed"),
        ("S(v) = {p(v)}", ParseError, "<text>: there is no template: expected one, as CENTRE(v) ^ cFriends(v)"),
        ("", ParseError, "<text>: there is no template"),
        ("/* no end", ParseError, "1:1: this comment does not end"),
    ],
)  # fmt: skip
def test_faults_of_the_text_are_shown_in_their_line(text: str, kind: type[SqlrlError], message: str) -> None:
    with pytest.raises(kind) as caught:
        parse_grammar(text)
    assert message in str(caught.value)
    assert isinstance(caught.value, InputError)


@pytest.mark.parametrize(
    ("text", "targets", "message"),
    [
        ("CENTRE(x) = {r}\nCENTER(x) ^ g(x)", "g", "2:1: 'CENTER' is neither a symbol of the grammar nor a predicate of the model; did you mean 'CENTRE'?\n  CENTER(x) ^ g(x)\n  ^"),
        ("OTHER(x) ^ g(x)", "g", "1:1: 'OTHER' is neither a symbol of the grammar nor a predicate of the model: define it, as OTHER(x) = {p(x), q(x)}, or declare it"),
        ("S(x) = {ee(x, y)}\nS(x) ^ g(x)", "g", "1:9: 'ee' is no predicate of the model; did you mean 'e'?"),
        ("S(x) = {e}\nS(x) ^ g(x)", "g", "1:9: e has 1 argument here, but is declared as e(s, s)"),
        ("r(x, y) ^ g(x)", "g", "1:1: r has 2 arguments here, but is declared as r(s)"),
        ("UP(x) = {r}\nUP(x) ^ g(x)", "g", "1:1: UP is a predicate of the model, and a symbol here: give the symbol another name"),
        ("S(x) = {r, g ^ r}\nS(x) ^ g(x)", "g", "1:12: the target g stands in an expansion of S, but what targets are cannot select: write it into the templates"),
        ("S(x) = {r, !h(x, y) ^ e(x, y)}\nr(x) ^ g(x)", ["g", "h"], "1:12: the target h stands in an expansion of S"),
        ("r(x) ^ g(x)\ne(x, y) ^ r(x)", "g", "2:1: the template has no literal of a target (here: g): add one"),
        ("r(x) ^ [!]e(x, y) ^ g(x)", "g", "1:8: '[!]e(x, y)' stands for two signs, but e is no target: write a symbol with both as expansions"),
        ("r(x) ^ g(x) ^ !g(x)", "g", "1:15: the template has g(x) twice: leave one out, or give it other variables"),
        # Types: inside an expansion, in a literal, of literals, of expansions with literals, of two symbols, inside a compound.
        ("S(x) = {r(x) ^ p(x, x)}\nS(x) ^ g(x)", "g", "1:16: the variable x is of type 't' in p(x, x) in line 1, but of type 's' in r(x) in line 1"),
        ("e(x, y) ^ p(x, y) ^ g(x)", "g", "1:11: the variable y is of type 't' in p(x, y), but of type 's' in e(x, y)"),
        ("S(v) = {r, p(x, v)}\nS(x) ^ g(x)", "g", "1:12: the variable x is of type 't' in the expansion 'p(x, v)' of S in line 1 (as v), but of type 's' in g(x) in line 2"),
        ("S(x, y) = {e, p}\nS(x, y) ^ r(y) ^ g(x)", "g", "1:15: the variable y is of type 't' in the expansion 'p(x, y)' of S in line 1, but of type 's' in r(y) in line 2"),
        ("S(x, y) = {e, p}\nT(y) = {r}\nS(x, y) ^ T(y) ^ g(x)", "g", "1:15: the variable y is of type 't' in the expansion 'p(x, y)' of S in line 1, but of type 's' in the expansion 'e(x, y)' of S in line 1"),
        ("S(x, y) = {e, p} compounder 2\nS(x, y) ^ g(x)", "g", "1:15: the variable y is of type 't' in the expansion 'p(x, y)' of S in line 1, but of type 's' in the expansion 'e(x, y)'"),
        ("S(x, y) = {e, p} extender 2\nS(x, y) ^ S(y, x) ^ g(x)", "g", "1:15: the variable y is of type 't' in the expansion 'p(x, y)' of S in line 1, but of type 's' in the expansion 'e(x, y)'"),
        ("S(x) = {e(x, y) ^ p(x, a) ^ y != a}\nS(x) ^ g(x)", "g", "1:29: 'y != a' compares the types 's' and 't': no constant is of both"),
        ("S(x, y) = {e, p} extender 3\nS(x, y) ^ g(x) ^ g(y)", "g", "1:15: the expansion 'p(x, y)' of S in line 1 leads from type 's' to type 't' and fits into no chain of up to 3, whose ends are x of type 's' and y of type 's' in the template"),
        ("S(x, y) = {p, m, q} extender 2\nS(x, y) ^ g(x) ^ g(y)", "g", "1:15: the expansion 'm(x, y)' of S in line 1 leads from type 't' to type 't' and fits into no chain of up to 2"),
        # Constants of types that list them.
        ("S(x) = {l(x, Red), l(x, Rad)}\nS(x) ^ g(x)", "g", "1:20: the constant Rad is not among those declared for the type 'colour'; did you mean 'Red'?"),
        ("S(x) = {l(x, c) ^ c = Rad}\nS(x) ^ g(x)", "g", "1:19: the constant Rad is not among those declared for the type 'colour'; did you mean 'Red'?"),
        # Variables that nothing binds.
        ("S(x) = {r, !r}\nS(x) ^ g(x)", "g", "1:12: no positive literal of the evidence has x, which '!r(x)' needs, in the candidate !r(x) ^ g(x): add one, as p(x)"),
        ("S(x) = {r ^ !e(x, u)}\nS(x) ^ g(x)", "g", "1:13: no positive literal of the evidence has u, which '!e(x, u)' needs"),
        ("S(x) = {r ^ x != u}\nS(x) ^ g(x)", "g", "1:13: no positive literal of the evidence has u, which 'x != u' needs"),
        ("r(x) ^ g(x)\nr(x) ^ h(x, w)", ["g", "h"], "2:8: no positive literal of the evidence has w, which 'h(x, w)' needs, in the candidate r(x) ^ h(x, w): add one, as p(w)"),
        ("x != y ^ h(x, y)", "h", "1:1: no positive literal of the evidence has x, which 'x != y' needs"),
        # The caller's targets.
        ("r(x) ^ g(x)", [], "there are no targets: name the predicates to predict"),
        ("r(x) ^ g(x)", ["gg"], "the target 'gg' is no predicate of the model; did you mean 'g'?"),
        ("r(x) ^ g(x)", "xyz", "the target 'xyz' is no predicate of the model; it declares e, f"),
        ("r(x) ^ g(x)", "known", "the target known is declared as evidence ('*known')"),
        ("r(x) ^ g(x)", [3], "targets= takes names of predicates, and 3 is none"),
    ],
)  # fmt: skip
def test_what_does_not_fit_a_model_is_shown_in_its_line(text: str, targets: str | list[str], message: str) -> None:
    declared = (
        "\n".join(f"{n}({', '.join(k)})" for n, k in TYPES.items())
        + "\nUP(s x)\nl(s, colour)\n*known(s)\ncolour = {Red, Green}"
    )
    model = parse_mln(declared)
    grammar = parse_grammar(text)
    with pytest.raises(InputError) as caught:
        grammar.expand(model, targets)
    assert message.replace("in line 1", "in line 1" if "\n" in text else "") in str(caught.value)


def test_what_is_no_model_is_told() -> None:
    with pytest.raises(InputError, match=r"a model is needed, not the path 'a\.mln': .*reads that file"):
        parse_grammar("g(x)").expand("a.mln", "g")  # type: ignore[arg-type]


# ---- limits --------------------------------------------------------------------------------------------------


def chain(expansions: int, most: int) -> tuple[Grammar, sqlrl.Model]:
    names = [f"e{i}" for i in range(expansions)]
    model = parse_mln("\n".join(f"{name}(s, s)" for name in [*names, "r"]) + "\ng(s)")
    return parse_grammar(
        f"A(x) = {{e0(x, u), e1(x, u)}}\nMANY(x, y) = {{{', '.join(names)}}} extender {most}\nA(x) ^ MANY(x, y) ^ [!]g(x)"
    ), model


def test_too_many_candidates_are_counted_before_any_is_made() -> None:
    grammar, model = chain(10, 4)
    with pytest.raises(ModelError) as caught:
        grammar.expand(model, "g")
    # 10 + 100 + 1,000 + 10,000 chains, two expansions of A, two signs.
    assert (
        "3:1: the template expands to 44,440 candidates, and the limit is 10,000: MANY alone has 11,110 expansions (extender 4 of 10: "
        "lower the 4); or leave expansions out, split it into symbols for different templates, or raise limit=\n"
        "  A(x) ^ MANY(x, y) ^ [!]g(x)\n  ^"
    ) in str(caught.value)
    assert grammar.count(model, "g") == 44_440
    grammar, model = chain(100, 200)
    with pytest.raises(
        ModelError,
        match=r"to more than 10\^15 candidates, .* MANY alone has more than 10\^15 expansions \(extender 200 of 100: lower the 200\)",
    ):
        grammar.expand(model, "g")


def test_the_limit_is_of_all_templates() -> None:
    grammar = parse_grammar("S(x) = {r, p(x, a), q(a, x)} compounder 2\nS(x) ^ [!]g(x)\nr(x) ^ g(x)")
    assert len(grammar.expand(MODEL, "g", limit=13)) == 12
    with pytest.raises(
        ModelError,
        match=r"2:1: the grammar expands to 13 candidates, of which this template has 12 candidates, and the limit is 12: S alone has 6 expansions \(compounder 2 of 3: lower the 2\)",
    ):
        grammar.expand(MODEL, "g", limit=12)
    signs = parse_grammar("[!]g(x) ^ [!]g(y) ^ e(x, y)")
    with pytest.raises(ModelError, match=r"expands to 4 candidates, and the limit is 3: it has 2 times '\[!\]'"):
        signs.expand(MODEL, "g", limit=3)
    for wrong in (0, -1, 2.5, True, None):
        with pytest.raises(
            InputError, match=r"limit is .*: expected how many candidates there may be, an integer from 1 on"
        ):
            grammar.expand(MODEL, "g", limit=wrong)  # type: ignore[arg-type]


def test_candidates_with_more_literals_than_a_clause_may_have_are_refused() -> None:
    text = "S(x, y) = {{e(x, u) ^ e(u, y)}} extender {}\nS(x, y) ^ g(x) ^ g(y)"
    with pytest.raises(
        ModelError, match="2:1: candidates of this template have up to 252 literals, and there may be 250"
    ):
        parse_grammar(text.format(125)).expand(MODEL, "g")
    # One expansion of as many literals as there may be.
    long = "S(x) = {{{}}}\nS(x) ^ g(x)"
    literals = [f"p(x, C{i})" for i in range(LONGEST_CLAUSE)]
    with pytest.raises(ModelError, match="have up to 251 literals, and there may be 250"):
        parse_grammar(long.format(" ^ ".join(literals))).expand(MODEL, "g")
    (found,) = parse_grammar(long.format(" ^ ".join(literals[1:]))).expand(MODEL, "g")
    assert len(found.selector) == LONGEST_CLAUSE - 1


# To put the literals of a long chain in order takes the square of its length.
@pytest.mark.slow
def test_chains_are_as_long_as_a_clause_may_be() -> None:
    text = "S(x, y) = {e(x, u) ^ e(u, y)} extender 124\nS(x, y) ^ g(x) ^ g(y)"
    found = parse_grammar(text).expand(MODEL, "g")
    assert [len(c.selector) for c in found] == list(range(2, 250, 2))


@pytest.mark.parametrize("links", [6, pytest.param(16, marks=pytest.mark.slow)])
def test_thousands_of_candidates_are_all_different(links: int) -> None:
    grammar, model = chain(links, 3)
    found = replace(grammar, templates=(Template("MANY(x, y) ^ g(x)"), Template("MANY(x, y) ^ !g(y)"))).expand(
        model, "g"
    )
    assert len(found) == len(set(map(str, found))) == 2 * (links + links**2 + links**3) <= MOST_CANDIDATES


# ---- made by hand --------------------------------------------------------------------------------------------

X, Y = Variable("x"), Variable("y")


def test_a_grammar_made_by_hand_is_the_same_as_one_that_is_read() -> None:
    near = Symbol("NEAR", ["x", "y"], ["e", "f ^ x != y", Expansion((Literal("e", (Y, X)),))], "extender", 2)
    grammar = Grammar((near,), (Template([Literal("NEAR", (X, Y)), BothSigns(Atom("h", (X, Y)))]), "r(x) ^ g(x)"))
    read = parse_grammar("NEAR(x, y) = {e, f(x, y) ^ x != y, e(y, x)} extender 2\nNEAR(x, y) ^ [!]h(x, y)\nr(x) ^ g(x)")
    assert grammar == read
    assert hash(grammar) == hash(read)
    assert grammar.expand(MODEL, TARGETS) == read.expand(MODEL, TARGETS)
    assert (near.line, grammar.templates[0].line, read.templates[1].line) == (0, 0, 3)


@pytest.mark.parametrize(
    ("symbol", "template", "message"),
    [
        (Symbol("S", ("x",), ["r", "p(x, a) ^ nothing(x)"]), "S(x) ^ g(x)", "<expansion of S>:1:11: 'nothing' is no predicate"),
        (Symbol("S", ("x",), [Expansion((Literal("r", (X,)), Literal("g", (X,))))]), "S(x) ^ g(x)", "<expansion>:1:8: the target g stands in an expansion of S"),
        (Symbol("S", ("x",), ["r"]), "S(x) ^ g(y)", "<template>:1:8: no positive literal of the evidence has y"),
        (Symbol("S", ("x",), ["r"]), "S(x) ^ r(x)", "<template>:1:1: the template has no literal of a target"),
        (Symbol("S", ("x",), [Expansion((Literal("r", (X,), False),))]), "S(x) ^ g(x)", "<expansion>:1:1: no positive literal of the evidence has x, which '!r(x)' needs"),
    ],
)  # fmt: skip
def test_faults_of_what_was_made_by_hand_show_its_text(symbol: Symbol, template: str, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        Grammar((symbol,), (Template(template),)).expand(MODEL, "g")
    assert message in str(caught.value)
    assert str(caught.value).endswith("^")
    with pytest.raises(ModelError) as again:
        Grammar((symbol,), (Template(Template(template).parts),)).expand(MODEL, "g")
    assert str(again.value) == str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Symbol("Users", ("x",), ["r"]), "'Users' is no name of a symbol: expected one in capitals"),
        (lambda: Symbol(3, ("x",), ["r"]), "'3' is no name of a symbol"),
        (lambda: Symbol("S", "x", ["r"]), "the variables of S are 'x': give a tuple"),
        (lambda: Symbol("S", 3, ["r"]), "the variables of S are 3: give a tuple"),
        (lambda: Symbol("S", ("X",), ["r"]), "S has 'X' as a variable: expected a name that starts with a small letter"),
        (lambda: Symbol("S", ("x y",), ["r"]), "S has 'x y' as a variable"),
        (lambda: Symbol("S", ("",), ["r"]), "S has '' as a variable"),
        (lambda: Symbol("S", (X,), ["r"]), "S has Variable(name='x', plus=False) as a variable"),
        (lambda: Symbol("S", ("x",), "r"), "the expansions of S are 'r': give a list"),
        (lambda: Symbol("S", ("x",), None), "the expansions of S are None: give a list"),
        (lambda: Symbol("S", ("x",), [3]), "3 is no expansion of S: give its text or an Expansion"),
        (lambda: Symbol("S", ("x",), ["r(x"]), "<expansion of S>:1:4: expected ',' or ')', found the end of the text"),
        (lambda: Symbol("S", ("x",), ["r(x), p(x)"]), "<expansion of S>:1:5: expected '^' or the end of an expansion, found ','"),
        (lambda: Symbol("S", ("x",), ["[!]r(x)"]), "<expansion of S>:1:1: '[!]' stands before a literal of a target"),
        (lambda: Symbol("S", ("x",), ["r(x)"], "chain", 2), "S is a 'chain': expected one of one, compounder, extender"),
        (lambda: Symbol("S", ("x",), ["r(x)"], "compounder", 0), "S is a compounder of up to 0 expansions: expected an integer from 1 to 250"),
        (lambda: Symbol("S", ("x",), ["r(x)"], "compounder", "2"), "S is a compounder of up to '2' expansions"),
        (lambda: Symbol("S", ("x",), ["r(x)"], most=2), "S stands for up to 2 expansions: say whether as a compounder or an extender"),
        (lambda: Symbol("S", ("x",), ["r(x)"], "extender", 2), "the extender S has 1 variable: expected two"),
        (lambda: Symbol("S", ("x",), []), "S has no expansions"),
        (lambda: Symbol("S", ("x",), [Expansion(())]), "an expansion of S has no literals"),
        (lambda: Symbol("S", ("x",), [Expansion((Atom("r", (X,)),))]), "is no literal of an expansion of S"),
        (lambda: Symbol("S", ("x",), [Expansion((BothSigns(Atom("r", (X,))),))]), "is no literal of an expansion of S"),
        (lambda: Symbol("S", ("x",), [Expansion((Literal("r", (Variable("x", True),)),))]), "'+x' is a '+' variable, which an expansion of S cannot have"),
        (lambda: Symbol("S", ("x",), [Expansion((Literal("a b", (X,)),))]), "the language cannot write the predicate name 'a b'"),
        (lambda: Symbol("S", ("x",), [Expansion((Literal("r", (Variable("X"),)),))]), "the language cannot write the variable name 'X'"),
        (lambda: Template([]), "a template has no literals"),
        (lambda: Template("r(x) ^"), "<template>:1:7: expected a literal"),
        (lambda: Template("r(x)\nq(x)"), "<template>:2:1: expected '^' or the end of a template, found 'q'"),
        (lambda: Template([3]), "3 is no literal of a template"),
        (lambda: Template("r(\ud800)"), "has half a character"),
        (lambda: Grammar((), ()), "<text>: the grammar has no template"),
        (lambda: Grammar((), "r(x) ^ g(x)"), "the templates of a grammar are 'r(x) ^ g(x)': give a list of their texts"),
        (lambda: Grammar((), [3]), "the templates of a grammar are [3]: give a list of their texts"),
        (lambda: Grammar((), ["r(x) ^"]), "<template>:1:7: expected a literal"),
        (lambda: Grammar("S", (Template("g(x)"),)), "the symbols of a grammar are 'S': give a list of sqlrl.Symbol"),
        (lambda: Grammar(None, ["g(x)"]), "the symbols of a grammar are None: give a list of sqlrl.Symbol"),
        (lambda: Grammar((Symbol("S", ("x",), ["r"]), Symbol("S", ("x",), ["q"])), (Template("g(x)"),)), "S is defined already: give one of the two another name"),
    ],
)  # fmt: skip
def test_values_made_by_hand_are_checked(make: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        make()  # type: ignore[operator]
    assert message in str(caught.value)


def test_parts_print_as_they_are_written() -> None:
    text = '[!]h(x, "new york") ^ !r(x) ^ x != Anna ^ 3 = y ^ q(x\', y)'
    assert " ^ ".join(map(format_part, Template(text).parts)) == text
