"""Clauses over a small world, evaluated by their definition, and all clauses of a small language."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product

from sqlrl.logic.shapes import Instance
from sqlrl.logic.terms import Clause, EqualityLiteral, Literal, Variable
from sqlrl.structure.beam.clauses import Language, Part, SearchClause

Ground = tuple[str, tuple[str, ...]]
Plain = tuple[str, bool, tuple[str, ...]]


@dataclass(frozen=True)
class World:
    """What is true, and the constants of each type."""

    facts: frozenset[Ground]
    constants: Mapping[str, tuple[str, ...]]
    predicates: Mapping[str, tuple[str, ...]]

    def atoms(self, predicate: str) -> list[Ground]:
        """All atoms of a predicate."""
        return [(predicate, row) for row in product(*(self.constants[t] for t in self.predicates[predicate]))]

    def groundings(self, clause: Clause) -> Iterator[dict[str, str]]:
        """All assignments of a clause's variables."""
        names = [name for name, _ in clause.variables]
        for values in product(*(self.constants[kind] for _, kind in clause.variables)):
            yield dict(zip(names, values, strict=True))

    def changes(self, clause: Clause, atom: Ground) -> tuple[int, bool]:
        """How many more groundings hold if an atom is true than if it is false; whether a grounding that holds does not once it is flipped."""
        with_it, without = self.facts | {atom}, self.facts - {atom}
        here, there = (with_it, without) if atom in self.facts else (without, with_it)
        n, breaks = 0, False
        for row in self.groundings(clause):
            n += holds(clause, row, with_it) - holds(clause, row, without)
            breaks = breaks or (holds(clause, row, here) and not holds(clause, row, there))
        return n, breaks


def holds(clause: Clause, row: Mapping[str, str], true: frozenset[Ground]) -> bool:
    """Whether a grounding of a clause is true."""
    return any(_holds(literal, row, true) for literal in clause.literals)


def _holds(literal: object, row: Mapping[str, str], true: frozenset[Ground]) -> bool:
    if isinstance(literal, EqualityLiteral):
        return (row[literal.left.name] == row[literal.right.name]) is literal.positive
    assert isinstance(literal, Literal)
    return ((literal.predicate, tuple(row[t.name] for t in literal.terms)) in true) is literal.positive


# ---- clauses of a language -------------------------------------------------------------------------------------------


def plain(literals: Sequence[Part]) -> frozenset[Plain]:
    """Literals as tuples."""
    found = []
    for x in literals:
        assert isinstance(x, Literal)
        found.append((x.predicate, x.positive, tuple(t.name for t in x.terms)))
    return frozenset(found)


def names_of(literals: frozenset[Plain]) -> list[str]:
    """Variables of literals."""
    return sorted({name for _, _, terms in literals for name in terms})


def renamed(literals: frozenset[Plain], names: Mapping[str, str]) -> frozenset[Plain]:
    """Literals with other variables."""
    return frozenset((p, sign, tuple(names[t] for t in terms)) for p, sign, terms in literals)


def canonical(literals: frozenset[Plain]) -> tuple[Plain, ...]:
    """The least of all ways to name a clause's variables; its types follow from its literals."""
    names = names_of(literals)
    ways = (dict(zip(names, way, strict=True)) for way in permutations([f"x{i}" for i in range(len(names))]))
    return min(tuple(sorted(renamed(literals, way))) for way in ways)


def connected(literals: frozenset[Plain]) -> bool:
    """Whether a clause does not fall apart."""
    groups: list[set[str]] = []
    for _, _, terms in literals:
        touched = [g for g in groups if g & set(terms)]
        groups = [g for g in groups if not g & set(terms)] + [set(terms).union(*touched)]
    return len(groups) == 1


def universe(
    predicates: Mapping[str, Sequence[str]], literals: int, variables: int
) -> dict[tuple[Plain, ...], frozenset[Plain]]:
    """All connected clauses without a tautology up to names, with variables v0, v1, ... of every type."""
    kinds = sorted({kind for types in predicates.values() for kind in types})
    pool = {kind: [f"{kind}{i}" for i in range(variables)] for kind in kinds}
    atoms = [(p, terms) for p, types in predicates.items() for terms in product(*(pool[kind] for kind in types))]
    found: dict[tuple[Plain, ...], frozenset[Plain]] = {}
    for size in range(1, literals + 1):
        for some in combinations(atoms, size):
            bare = frozenset((p, True, terms) for p, terms in some)
            if not connected(bare) or len(names_of(bare)) > variables:
                continue
            for signs in product((True, False), repeat=size):
                clause = frozenset((p, sign, terms) for (p, terms), sign in zip(some, signs, strict=True))
                found.setdefault(canonical(clause), clause)
    return found


def differ_by_one(a: frozenset[Plain], b: frozenset[Plain]) -> bool:
    """Whether some naming of b's variables makes it a with one literal more, one less, or one of the other sign."""
    if abs(len(a) - len(b)) > 1:
        return False
    of_a, of_b = names_of(a), names_of(b)
    spare = [f"new{i}" for i in range(len(of_b))]
    for way in permutations([*of_a, *spare], len(of_b)):
        other = renamed(b, dict(zip(of_b, way, strict=True)))
        if len(a ^ other) == 1 and (a < other or other < a):
            return True
        if len(a) == len(b) and len(a ^ other) == 2:
            (p, _, terms), (q, _, rest) = a ^ other
            if (p, terms) == (q, rest):
                return True
    return False


def terms(*names: str) -> tuple[Variable, ...]:
    """Variables by name."""
    return tuple(map(Variable, names))


def namer(language: Language) -> Callable[[SearchClause], Instance]:
    """What names clauses, alike for those that are the same."""
    shaper = language.shaper()
    return lambda clause: shaper(clause.clause)
