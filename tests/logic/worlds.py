"""An independent reading of formulas and features over finite domains, by direct recursion and enumeration."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod

from hypothesis import strategies as st

from sqlrl.logic.terms import (
    And,
    Atom,
    Clause,
    ClauseLiteral,
    Constant,
    Equal,
    EqualityLiteral,
    Exist,
    ExistsLiteral,
    Feature,
    ForAll,
    Formula,
    Iff,
    Implies,
    Literal,
    Not,
    Or,
    Term,
    Variable,
)

Domains = Mapping[str, tuple[str, ...]]
Row = Mapping[str, str]
World = Mapping[tuple[str, tuple[str, ...]], bool]


def value(term: Term, row: Row) -> str:
    return term.name if isinstance(term, Constant) else row[term.name]


class Reader:
    """Truth of formulas and features in one world."""

    def __init__(self, domains: Domains, types: Mapping[str, str], world: World) -> None:
        self.domains, self.types, self.world = domains, types, world
        self.helpers: dict[str, object] = {}

    def holds(self, formula: Formula, row: Row) -> bool:
        match formula:
            case Atom(predicate, terms):
                return self.world[predicate, tuple(value(t, row) for t in terms)]
            case Equal(left, right):
                return value(left, row) == value(right, row)
            case Not(body):
                return not self.holds(body, row)
            case And(parts):
                return all(self.holds(p, row) for p in parts)
            case Or(parts):
                return any(self.holds(p, row) for p in parts)
            case Implies(left, right):
                return not self.holds(left, row) or self.holds(right, row)
            case Iff(left, right):
                return self.holds(left, row) == self.holds(right, row)
            case ForAll(variables, body):
                return all(self.holds(body, {**row, **more}) for more in self._rows(variables))
            case Exist(variables, body):
                return any(self.holds(body, {**row, **more}) for more in self._rows(variables))
            case _:
                raise TypeError(formula)

    def _rows(self, variables: tuple[str, ...]) -> list[dict[str, str]]:
        return rows(tuple((v, self.types[v]) for v in variables), self.domains)

    def literal(self, literal: ClauseLiteral, row: Row, feature: Feature) -> bool:
        match literal:
            case Literal(predicate, terms, positive):
                values = tuple(value(t, row) for t in terms)
                if predicate.startswith("$"):
                    (helper,) = [h for h in feature.helpers if h.name == predicate]
                    names = [name for name, _ in helper.variables]
                    inner = dict(zip(names, values, strict=True))
                    return self.literal(helper.definition, inner, feature) == positive
                return self.world[predicate, values] == positive
            case EqualityLiteral(left, right, positive):
                return (value(left, row) == value(right, row)) == positive
            case ExistsLiteral(variables, conjunction):
                assert not {v for v, _ in variables} & row.keys(), "quantified names are unique"
                found = rows(variables, self.domains)
                return any(all(self.literal(p, {**row, **more}, feature) for p in conjunction) for more in found)

    def violated(self, clause: Clause, row: Row, feature: Feature) -> bool:
        return not any(self.literal(literal, row, feature) for literal in clause.literals)

    def count(self, feature: Feature) -> int:
        """n of a feature, as its class defines it; no two clauses may be violated by one grounding."""
        violated = 0
        found = rows(feature.variables, self.domains)
        assert len(found) == prod(len(self.domains[t]) for _, t in feature.variables)
        for row in found:
            broken = sum(self.violated(clause, row, feature) for clause in feature.clauses)
            assert broken <= 1, "clauses are disjoint"
            violated += broken
        return violated if feature.negated else len(found) - violated


def rows(variables: tuple[tuple[str, str], ...], domains: Domains) -> list[dict[str, str]]:
    names = [name for name, _ in variables]
    return [dict(zip(names, v, strict=True)) for v in product(*(domains[t] for _, t in variables))]


# ---- random programs -------------------------------------------------------------------------------------------

PREDICATES: Mapping[str, tuple[str, ...]] = {"P": ("s",), "Q": ("s", "t"), "R": ("t", "s"), "H": ()}
FREE: Mapping[str, str] = {"x": "s", "y": "s", "z": "t"}
TYPES: Mapping[str, str] = {**FREE, "u": "s", "w": "t"}
CONSTANTS: Mapping[str, tuple[str, ...]] = {"s": ("A",), "t": ("C",)}


@st.composite
def domains(draw: st.DrawFn) -> Domains:
    size = st.integers(1, 3)
    return {"s": ("A", "B", "E")[: draw(size)], "t": ("C", "D", "F")[: draw(size)]}


@st.composite
def worlds(draw: st.DrawFn, found: Domains) -> World:
    atoms = [(p, values) for p, types in PREDICATES.items() for values in product(*(found[t] for t in types))]
    bits = draw(st.integers(0, 2 ** len(atoms) - 1))
    return {atom: bool(bits >> i & 1) for i, atom in enumerate(atoms)}


def _term(kind: str) -> st.SearchStrategy[Term]:
    variables = [Variable(name) for name, t in TYPES.items() if t == kind]
    return st.sampled_from([*variables, *variables, *(Constant(c) for c in CONSTANTS[kind])])


@st.composite
def _atom(draw: st.DrawFn) -> Formula:
    name = draw(st.sampled_from([*PREDICATES, "="]))
    if name == "=":
        kind = draw(st.sampled_from("st"))
        return Equal(draw(_term(kind)), draw(_term(kind)))
    return Atom(name, tuple(draw(_term(kind)) for kind in PREDICATES[name]))


def formulas(quantifiers: bool = True) -> st.SearchStrategy[Formula]:
    def larger(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        kinds = [
            inner.map(Not), several.map(And), several.map(Or),
            st.builds(Implies, inner, inner), st.builds(Iff, inner, inner),
        ]  # fmt: skip
        if quantifiers:
            names = st.sampled_from([("u",), ("w",), ("u", "w"), ("y",)])
            kinds += [st.builds(Exist, names, inner), st.builds(ForAll, names, inner)]
        return st.one_of(kinds)

    return st.recursive(_atom(), larger, max_leaves=6)
