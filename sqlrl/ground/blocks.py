"""Blocks: query atoms of which exactly one or at most one is true, from declarations and from hard clauses that say so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from sqlrl.logic.terms import Clause, Constant, EqualityLiteral, Literal, Term, Variable


@dataclass(frozen=True)
class BlockRule:
    """Atoms that agree outside `positions` form a block: exactly one is true if `exact`, else at most one."""

    predicate: str
    positions: tuple[int, ...]
    exact: bool

    def clause(self, types: Sequence[str]) -> Clause:
        """Return that of two atoms of a block one is false, for a block of one position and the types of the arguments."""
        # That several arguments are not all equal would be several clauses.
        (place,) = self.positions
        first = tuple(Variable(f"v{i}") for i in range(len(types)))
        other = Variable(f"v{len(types)}")
        second = tuple(other if i == place else term for i, term in enumerate(first))
        literals = (
            Literal(self.predicate, first, False),
            Literal(self.predicate, second, False),
            EqualityLiteral(first[place], other),
        )
        variables = (*((term.name, kind) for term, kind in zip(first, types, strict=True)), (other.name, types[place]))
        return Clause(variables, literals)


def at_most_one(clause: Clause) -> tuple[str, int] | None:
    """Return (predicate, position) of a clause `!P(.., f1, ..) v !P(.., f2, ..) v f1 = f2`, else None."""
    plain = [x for x in clause.literals if isinstance(x, Literal)]
    equal = [x for x in clause.literals if isinstance(x, EqualityLiteral)]
    if len(clause.literals) != 3 or len(plain) != 2 or len(equal) != 1 or not equal[0].positive:
        return None
    position = _differ(plain[0], plain[1])
    if position is None or not _independent(plain[0].terms):
        return None
    pair = {plain[0].terms[position], plain[1].terms[position]}
    if pair != {equal[0].left, equal[0].right} or len(clause.variables) != len(plain[0].terms) + 1:
        return None
    return plain[0].predicate, position


def _differ(left: Literal, right: Literal) -> int | None:
    """Return the one position in which two negative literals of a predicate differ; None if they are not so."""
    if left.positive or right.positive or left.predicate != right.predicate:
        return None
    positions = [i for i, (a, b) in enumerate(zip(left.terms, right.terms, strict=True)) if a != b]
    return positions[0] if len(positions) == 1 else None


def _independent(terms: Sequence[Term]) -> bool:
    """True if the terms are distinct variables, none of them with a plus."""
    return all(isinstance(t, Variable) and not t.plus for t in terms) and len(set(terms)) == len(terms)


def written_out(clauses: Iterable[Clause], constants: Mapping[tuple[str, int], Sequence[str]]) -> set[tuple[str, int]]:
    """Return the (predicate, position) with hard clauses `!P(.., A, ..) v !P(.., B, ..)` for all pairs of `constants`."""
    pairs: dict[tuple[str, int], set[frozenset[str]]] = defaultdict(set)
    for clause in clauses:
        found = pair_of_constants(clause)
        if found is not None:
            predicate, position, pair = found
            pairs[predicate, position].add(pair)
    return {
        key
        for key, found in pairs.items()
        if len(constants.get(key, ())) > 1 and all(frozenset(p) in found for p in combinations(constants[key], 2))
    }


def pair_of_constants(clause: Clause) -> tuple[str, int, frozenset[str]] | None:
    """Return (predicate, position, constants) of a clause `!P(.., A, ..) v !P(.., B, ..)`, else None."""
    if len(clause.literals) != 2 or not all(isinstance(x, Literal) for x in clause.literals):
        return None
    left, right = clause.literals
    assert isinstance(left, Literal)
    assert isinstance(right, Literal)
    position = _differ(left, right)
    if position is None:
        return None
    a, b = left.terms[position], right.terms[position]
    rest = (*left.terms[:position], *left.terms[position + 1 :])
    if not isinstance(a, Constant) or not isinstance(b, Constant) or not _independent(rest):
        return None
    if len(clause.variables) != len(rest):
        return None
    return left.predicate, position, frozenset((a.name, b.name))
