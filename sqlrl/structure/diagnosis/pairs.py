"""Pairs of rules that do not need the data: one that implies another, and two that say the opposite of the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlrl.logic.implications import Implication, literal_of
from sqlrl.logic.isomorphism import Distinct
from sqlrl.logic.subformulas import conjuncts
from sqlrl.logic.terms import (
    Clause,
    Constant,
    Equal,
    EqualityLiteral,
    ExistsLiteral,
    Formula,
    Literal,
    Not,
    Term,
    Variable,
    terms_in,
)

REDUNDANT, EQUAL, CONTRADICTORY = "redundant", "equal", "contradictory"


@dataclass(frozen=True, slots=True)
class RulePair:
    """Two rules by their numbers: the first implies the second, is the same, or contradicts it."""

    kind: str
    first: int
    second: int


# ---- implied: theta-subsumption ------------------------------------------------------------------------

_Part = tuple[str, bool, tuple[Term, ...]]


class _Rule:
    """A clause as a set of literals, those of equalities under the name `=`."""

    __slots__ = ("kinds", "number", "parts")

    def __init__(self, number: int, parts: list[_Part]) -> None:
        self.number, self.parts = number, parts
        self.kinds: dict[tuple[str, bool], list[tuple[Term, ...]]] = {}
        for name, positive, terms in parts:
            self.kinds.setdefault((name, positive), []).append(terms)
            if name == "=" and terms[0] != terms[1]:
                self.kinds[name, positive].append(terms[::-1])


def _parts(clause: Clause) -> list[_Part] | None:
    """Return the literals of a clause; None if it has quantifiers inside."""
    parts: list[_Part] = []
    for literal in clause.literals:
        match literal:
            case Literal(predicate, terms, positive):
                parts.append((predicate, positive, terms))
            case EqualityLiteral(left, right, positive):
                parts.append(("=", positive, (left, right)))
            case ExistsLiteral():
                return None
    return parts


def implied_pairs(rules: Mapping[int, Sequence[Clause]]) -> Iterator[RulePair]:
    """Yield the pairs of rules, conjunctions of clauses by their numbers, of which the first implies the second: some clause of it subsumes each of that.

    A clause subsumes another if a substitution makes it a part of that. Source: Plotkin, "A note on inductive generalization" (1970).
    """
    read = {number: [_parts(clause) for clause in clauses] for number, clauses in rules.items()}
    clauses = [_Rule(number, part) for number, parts in read.items() if all(parts) for part in parts if part]
    by_kind: dict[tuple[str, bool], set[int]] = {}
    for place, clause in enumerate(clauses):
        for kind in clause.kinds:
            by_kind.setdefault(kind, set()).add(place)
    covered: dict[
        tuple[int, int], set[int]
    ] = {}  # by two rules the clauses of the second that one of the first subsumes
    for place, clause in enumerate(clauses):
        for other in set.intersection(*(by_kind[kind] for kind in clause.kinds)) - {place}:
            pair = clause.number, clauses[other].number
            if pair[0] != pair[1] and other not in covered.get(pair, ()) and _subsumes(clause, clauses[other]):
                covered.setdefault(pair, set()).add(other)
    order = {number: place for place, number in enumerate(rules)}
    implied = {pair for pair, found in covered.items() if len(found) == len(rules[pair[1]])}
    for first, second in sorted(implied, key=lambda pair: (order[pair[0]], order[pair[1]])):
        if (second, first) not in implied:
            yield RulePair(REDUNDANT, first, second)
        elif order[first] < order[second]:
            yield RulePair(EQUAL, first, second)


def _subsumes(general: _Rule, special: _Rule) -> bool:
    """Tell whether some constants or variables in place of those of a clause make its literals some of another's."""
    todo = []
    for name, positive, terms in general.parts:
        fits = [found for found in special.kinds.get((name, positive), ()) if _fits(terms, found)]
        if not fits:
            return False
        todo.append((terms, fits))
    # Those with the fewest choices first.
    return _match(sorted(todo, key=lambda pair: len(pair[1])), 0, {})


def _fits(terms: tuple[Term, ...], found: tuple[Term, ...]) -> bool:
    return len(terms) == len(found) and all(
        isinstance(a, Variable) or a == b for a, b in zip(terms, found, strict=True)
    )


def _match(todo: Sequence[tuple[tuple[Term, ...], list[tuple[Term, ...]]]], place: int, bound: dict[str, Term]) -> bool:
    """Match the literals from a place on, given what variables stand for."""
    if place == len(todo):
        return True
    terms, fits = todo[place]
    for found in fits:
        new = bound
        for a, b in zip(terms, found, strict=True):
            if isinstance(a, Constant):
                continue
            known = new.get(a.name)
            if known is None:
                new = {**new, a.name: b}
            elif known != b:
                break
        else:
            if _match(todo, place + 1, new):
                return True
    return False


# ---- contradictory: one body, complementary heads ------------------------------------------------------


def contradictory_pairs(
    rules: Mapping[int, Implication], types: Mapping[int, tuple[tuple[str, str], ...]]
) -> Iterator[RulePair]:
    """Yield the pairs of implications with the same body of which one head is the negation of the other.

    Names of variables and the order of a body do not matter; `types` has the variables of each rule with their types. A literal alone is a head
    whose body is always true.
    """
    distinct, found = Distinct(), dict[object, dict[bool, list[int]]]()
    for number, rule in rules.items():
        key = _key(distinct, rule, types[number])
        if key is not None:
            found.setdefault(key[0], {True: [], False: []})[key[1]].append(number)
    for signs in found.values():
        for first in signs[True]:
            yield from (RulePair(CONTRADICTORY, *sorted((first, second))) for second in signs[False])


def _key(distinct: Distinct, rule: Implication, variables: tuple[tuple[str, str], ...]) -> tuple[object, bool] | None:
    """Return what implications share that differ in names, order and the sign of the head, and that sign; None where that cannot be told."""
    head = _literal(rule.head)
    body = [_literal(part) for part in conjuncts(rule.body)]
    if head is None or None in body:
        return None
    # No predicate has such a name.
    marked = (
        Literal(f"=> {head.predicate}", head.terms)
        if isinstance(head, Literal)
        else Literal("=> =", tuple(sorted((head.left, head.right), key=str)))
    )
    literals = [marked, *dict.fromkeys(part for part in body if part is not None)]
    names = {term.name for literal in literals for term in terms_in(literal) if isinstance(term, Variable)}
    return distinct.key(tuple(v for v in variables if v[0] in names), literals), head.positive


def _literal(formula: Formula) -> Literal | EqualityLiteral | None:
    """Return a literal, `+` left out; None of any other formula."""
    found = literal_of(formula)
    if found is not None:
        return Literal(found[0].predicate, found[0].terms, found[1])
    match formula:
        case Equal(left, right):
            return EqualityLiteral(left, right)
        case Not(body):
            inner = _literal(body)
            return None if inner is None else replace(inner, positive=not inner.positive)
    return None
