"""Counts by direct evaluation: formulas as written, over domain products, in Python; nothing of plan/ or ground/."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from sqlrl.logic.terms import And, Atom, Constant, Equal, Exist, ForAll, Formula, Iff, Implies, Not, Or, Term, Variable

Ground = tuple[str, str, tuple[str, ...]]
"""Predicate, example (from a column, else ''), constants."""
Row = dict[str, str]


@dataclass(frozen=True)
class Data:
    """What a model is held against, by the definitions of the design.

    `kind` is "one", "type" (the constants of `example_type` are the examples) or "column". `domains` gives the constants of a
    local type in an example. `predicates` gives argument types and whether the examples' column belongs to the predicate.
    `facts` is what is true beside the query atoms; `atoms` has the label of each query atom.
    """

    kind: str
    types: Mapping[str, tuple[str, ...]]
    predicates: Mapping[str, tuple[tuple[str, ...], bool]]
    examples: tuple[str, ...]
    domains: Mapping[tuple[str, str], frozenset[str]]
    local: frozenset[str]
    facts: frozenset[Ground]
    atoms: Mapping[Ground, bool | None]
    priors: Mapping[Ground, float] = field(default_factory=dict)
    opened: frozenset[str] = frozenset()
    example_type: str = "bib"

    def example_of(self, atom: Ground) -> str:
        """The example of a query atom."""
        predicate, example, constants = atom
        if self.kind != "type":
            return example
        return constants[self.predicates[predicate][0].index(self.example_type)]


class Formulas:
    """A formula held against data; the constants of `+` variables are filled in first."""

    def __init__(self, formula: Formula, data: Data, plus: Mapping[str, str] | None = None) -> None:
        self.data, self.fixed = data, dict(plus or {})
        self.formula = formula
        while isinstance(self.formula, ForAll):
            self.formula = self.formula.body
        self.types = variable_types(formula, data)
        self.variables = tuple(v for v in free_variables(self.formula) if v not in self.fixed)
        beside, terms = self._beside()
        terms |= {("v", v) for v in self.variables if self.types[v] == data.example_type and data.kind == "type"}
        self.owners = {v: beside.get(v) or (terms if len(terms) == 1 else set()) for v in self.types}

    def _term(self, term: Term) -> tuple[str, str]:
        if isinstance(term, Constant):
            return "c", term.name
        return ("c", self.fixed[term.name]) if term.name in self.fixed else ("v", term.name)

    def _beside(self) -> tuple[dict[str, set[tuple[str, str]]], set[tuple[str, str]]]:
        """The example terms beside each variable, and all of them. The column's example is the variable ''."""
        data = self.data
        beside: dict[str, set[tuple[str, str]]] = {}
        every = {("v", "")} if data.kind == "column" else set()
        if data.kind == "column":
            return {v: {("v", "")} for v in self.types}, every
        for atom in atoms_of(self.formula):
            types, _ = data.predicates[atom.predicate]
            here = {
                self._term(t)
                for t, kind in zip(atom.terms, types, strict=True)
                if data.kind == "type" and kind == data.example_type
            }
            every |= here
            for t in atom.terms:
                if isinstance(t, Variable) and here:
                    beside.setdefault(t.name, set()).update(here)
        return beside, every

    def example_terms(self, predicates: Iterable[str]) -> set[tuple[str, str]]:
        """The example terms in atoms of some predicates."""
        found = set()
        for atom in atoms_of(self.formula):
            if atom.predicate in predicates and self.data.kind == "type":
                kinds = self.data.predicates[atom.predicate][0]
                terms = zip(atom.terms, kinds, strict=True)
                found |= {self._term(t) for t, kind in terms if kind == self.data.example_type}
        return found

    def _domain(self, name: str, row: Row) -> Iterable[str]:
        data, kind = self.data, self.types[name]
        found = data.types[kind]
        if kind not in data.local:
            return found
        inside = [data.domains[kind, row[o] if tag == "v" else o] for tag, o in self.owners[name]]
        return [c for c in found if all(c in domain for domain in inside)]

    def groundings(self, examples: frozenset[str] | None = None) -> Iterator[Row]:
        """The assignments of the grounding variables; only those of some examples where these are given."""
        data = self.data
        chosen = frozenset(data.examples) if examples is None else examples
        bibs = [v for v in self.variables if data.kind == "type" and self.types[v] == data.example_type]
        restricted = self.example_terms(data.opened) or self.example_terms(data.predicates.keys()) | {
            ("v", v) for v in bibs
        }
        if data.kind == "column":
            bibs, restricted = [""], {("v", "")}
        if examples is not None and not {name for tag, name in restricted if tag == "c"} <= chosen:
            return
        others = [v for v in self.variables if v not in bibs]
        for outer in product(*(sorted(chosen if ("v", b) in restricted else data.examples) for b in bibs)):
            row = {**self.fixed, **dict(zip(bibs, outer, strict=True))}
            for inner in product(*(self._domain(v, row) for v in others)):
                yield {**row, **dict(zip(others, inner, strict=True))}

    def holds(self, row: Row, world: frozenset[Ground], formula: Formula | None = None) -> bool:
        """Truth of the formula under an assignment; `world` has the query atoms that are true."""
        match self.formula if formula is None else formula:
            case Atom() as atom:
                return (key := self.key(atom, row)) in self.data.facts or key in world
            case Equal(left, right):
                return self.value(left, row) == self.value(right, row)
            case Not(body):
                return not self.holds(row, world, body)
            case And(parts):
                return all(self.holds(row, world, p) for p in parts)
            case Or(parts):
                return any(self.holds(row, world, p) for p in parts)
            case Implies(left, right):
                return not self.holds(row, world, left) or self.holds(row, world, right)
            case Iff(left, right):
                return self.holds(row, world, left) == self.holds(row, world, right)
            case Exist(variables, body):
                return any(self.holds(more, world, body) for more in self._inside(variables, row))
            case ForAll(variables, body):
                return all(self.holds(more, world, body) for more in self._inside(variables, row))
            case other:
                raise TypeError(other)

    def _inside(self, variables: tuple[str, ...], row: Row) -> Iterator[Row]:
        for values in product(*(self._domain(v, row) for v in variables)):
            yield {**row, **dict(zip(variables, values, strict=True))}

    def value(self, term: Term, row: Row) -> str:
        return term.name if isinstance(term, Constant) else row[term.name]

    def key(self, atom: Atom, row: Row) -> Ground:
        beside = self.data.predicates[atom.predicate][1]
        return atom.predicate, row[""] if beside else "", tuple(self.value(t, row) for t in atom.terms)

    def n(self, world: frozenset[Ground], examples: frozenset[str] | None = None) -> int:
        """Number of true groundings."""
        return sum(self.holds(row, world) for row in self.groundings(examples))

    def total(self, examples: frozenset[str] | None = None) -> int:
        """Number of groundings."""
        return sum(1 for _ in self.groundings(examples))

    def touched(self, row: Row) -> list[Ground]:
        """The query atoms in a grounding, sorted."""
        return sorted({k for k in self._keys(self.formula, row) if k in self.data.atoms})

    def is_open(self, row: Row) -> bool:
        """True if the truth of a grounding depends on the query atoms."""
        touched = self.touched(row)
        values = set()
        for bits in range(2 ** len(touched)):
            world = frozenset(k for i, k in enumerate(touched) if bits >> i & 1)
            values.add(self.holds(row, world))
            if len(values) == 2:
                return True
        return False

    def _keys(self, formula: Formula, row: Row) -> Iterator[Ground]:
        match formula:
            case Atom():
                yield self.key(formula, row)
            case Exist(variables, body) | ForAll(variables, body):
                for more in self._inside(variables, row):
                    yield from self._keys(body, more)
            case _:
                for part in parts_of(formula):
                    yield from self._keys(part, row)


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    match formula:
        case Not(body) | Exist(_, body) | ForAll(_, body):
            return (body,)
        case And(parts) | Or(parts):
            return parts
        case Implies(left, right) | Iff(left, right):
            return left, right
        case _:
            return ()


def atoms_of(formula: Formula) -> Iterator[Atom]:
    if isinstance(formula, Atom):
        yield formula
    for part in parts_of(formula):
        yield from atoms_of(part)


def equalities_of(formula: Formula) -> Iterator[Equal]:
    if isinstance(formula, Equal):
        yield formula
    for part in parts_of(formula):
        yield from equalities_of(part)


def variable_types(formula: Formula, data: Data) -> dict[str, str]:
    """The type of each variable; names are unique inside a formula."""
    found: dict[str, str] = {}
    for atom in atoms_of(formula):
        for term, kind in zip(atom.terms, data.predicates[atom.predicate][0], strict=True):
            if isinstance(term, Variable):
                found[term.name] = kind
    for _ in range(3):
        for equal in equalities_of(formula):
            for one, other in ((equal.left, equal.right), (equal.right, equal.left)):
                if isinstance(one, Variable) and isinstance(other, Variable) and other.name in found:
                    found.setdefault(one.name, found[other.name])
    return found


def free_variables(formula: Formula, bound: frozenset[str] = frozenset()) -> list[str]:
    """Free variables in order of appearance."""
    match formula:
        case Atom(_, terms):
            names = [t.name for t in terms if isinstance(t, Variable) and t.name not in bound]
        case Equal(left, right):
            names = [t.name for t in (left, right) if isinstance(t, Variable) and t.name not in bound]
        case Exist(variables, body) | ForAll(variables, body):
            names = free_variables(body, bound | set(variables))
        case _:
            names = [v for part in parts_of(formula) for v in free_variables(part, bound)]
    return list(dict.fromkeys(names))
