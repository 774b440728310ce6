"""Pairs of rules: subsumption and complementary heads against all substitutions and all renamings."""

from __future__ import annotations

from itertools import permutations, product

import hypothesis.strategies as st
import pytest
from hypothesis import given

from sqlrl.logic.implications import Implication, literal_of
from sqlrl.logic.terms import And, Atom, Clause, Constant, EqualityLiteral, Formula, Literal, Not, Term, Variable
from sqlrl.structure.diagnosis.pairs import CONTRADICTORY, contradictory_pairs, implied_pairs

NAMES = "xyz"
ARITY = {"P": 1, "R": 2, "S": 2}

Part = tuple[str, bool, tuple[Term, ...]]


def terms() -> st.SearchStrategy[Term]:
    return st.sampled_from([*map(Variable, NAMES), *map(Variable, NAMES), Constant("A"), Constant("B")])


def atoms() -> st.SearchStrategy[Atom]:
    return st.sampled_from(sorted(ARITY)).flatmap(
        lambda name: st.tuples(*[terms()] * ARITY[name]).map(lambda found: Atom(name, found))
    )


def literals() -> st.SearchStrategy[Literal | EqualityLiteral]:
    plain = st.builds(lambda atom, positive: Literal(atom.predicate, atom.terms, positive), atoms(), st.booleans())
    return st.one_of(plain, plain, plain, st.builds(EqualityLiteral, terms(), terms(), st.booleans()))


def clauses() -> st.SearchStrategy[Clause]:
    types = tuple((name, "t") for name in NAMES)
    return st.lists(literals(), min_size=1, max_size=4).map(lambda found: Clause(types, tuple(found)))


def parts(clause: Clause, replaced: dict[str, Term]) -> set[object]:
    """Return the literals of a clause with terms in place of its variables; an equality has no sides."""

    def put(term: Term) -> Term:
        return replaced.get(term.name, term) if isinstance(term, Variable) else term

    return {
        ("=", x.positive, frozenset((put(x.left), put(x.right))))
        if isinstance(x, EqualityLiteral)
        else (x.predicate, x.positive, tuple(map(put, x.terms)))
        for x in clause.literals
        if isinstance(x, Literal | EqualityLiteral)
    }


def subsumes(general: Clause, special: Clause) -> bool:
    """Try all substitutions."""
    whole = parts(special, {})
    there = [*map(Variable, NAMES), Constant("A"), Constant("B")]
    return any(
        parts(general, dict(zip(NAMES, values, strict=True))) <= whole for values in product(there, repeat=len(NAMES))
    )


@given(st.lists(clauses(), min_size=2, max_size=5))
def test_implied_pairs_are_those_of_all_substitutions(found: list[Clause]) -> None:
    pairs = {
        (pair.kind, pair.first, pair.second) for pair in implied_pairs({i: [clause] for i, clause in enumerate(found)})
    }
    expected = set()
    for i, j in permutations(range(len(found)), 2):
        if subsumes(found[i], found[j]):
            if not subsumes(found[j], found[i]):
                expected.add(("redundant", i, j))
            elif i < j:
                expected.add(("equal", i, j))
    assert pairs == expected


def implications() -> st.SearchStrategy[Implication]:
    signed = st.one_of(atoms(), atoms().map(Not))
    body = st.lists(signed, min_size=1, max_size=3, unique=True)
    return st.builds(lambda b, h: Implication(b[0] if len(b) == 1 else And(tuple(b)), h), body, signed)


def written(formula: Formula, names: dict[str, str]) -> Part:
    """Return a literal with other names."""
    literal = literal_of(formula)
    assert literal is not None
    atom, positive = literal
    renamed = tuple(Variable(names[t.name]) if isinstance(t, Variable) else t for t in atom.terms)
    return atom.predicate, positive, renamed


def contradict(one: Implication, other: Implication) -> bool:
    """Try all renamings of the variables."""
    same = {name: name for name in NAMES}
    body = {written(x, same) for x in (one.body.parts if isinstance(one.body, And) else (one.body,))}
    predicate, positive, where = written(one.head, same)
    for order in permutations(NAMES):
        names = dict(zip(NAMES, order, strict=True))
        mine = {written(x, names) for x in (other.body.parts if isinstance(other.body, And) else (other.body,))}
        if mine == body and written(other.head, names) == (predicate, not positive, where):
            return True
    return False


@given(implications(), st.permutations(NAMES), st.randoms(), st.lists(implications(), max_size=3))
def test_contradictory_pairs_are_those_of_all_renamings(
    rule: Implication, names: list[str], random: object, others: list[Implication]
) -> None:
    renamed = dict(zip(NAMES, names, strict=True))
    literals = [written(x, renamed) for x in (rule.body.parts if isinstance(rule.body, And) else (rule.body,))]
    random.shuffle(literals)  # type: ignore[attr-defined]
    body = [Atom(name, where) if positive else Not(Atom(name, where)) for name, positive, where in literals]
    name, positive, where = written(rule.head, renamed)
    head: Formula = Not(Atom(name, where)) if positive else Atom(name, where)
    opposite = Implication(body[0] if len(body) == 1 else And(tuple(body)), head)
    rules = [rule, opposite, *others]
    types = {i: tuple((name, "t") for name in NAMES) for i in range(len(rules))}
    pairs = {(pair.first, pair.second) for pair in contradictory_pairs(dict(enumerate(rules)), types)}
    expected = {(i, j) for i in range(len(rules)) for j in range(i + 1, len(rules)) if contradict(rules[i], rules[j])}
    assert (0, 1) in pairs
    assert pairs == expected


@pytest.mark.parametrize("negated", [0, 1, 2, 3])
def test_heads_are_complementary_whatever_negations_they_have(negated: int) -> None:
    atom: Formula = Atom("P", (Variable("x"),))
    head = atom
    for _ in range(negated):
        head = Not(head)
    body = Atom("R", (Variable("x"), Constant("A")))
    types = {0: (("x", "t"),), 1: (("x", "t"),)}
    found = list(contradictory_pairs({0: Implication(body, atom), 1: Implication(body, head)}, types))
    assert [pair.kind for pair in found] == ([CONTRADICTORY] if negated % 2 else [])
