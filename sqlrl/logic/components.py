"""Components of clause bodies: literals that existential variables hold together, equal up to the names of these variables.

Given the arguments of the head, a body falls into components that know nothing of each other. So a clause covers what all of its
components cover, and the number of its body's groundings at an atom is the product of theirs. Clauses share components: there
are far fewer of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

ORDERINGS_TRIED = 5_040
"""Orders of look-alike literals that are tried; a component with more may have several forms, which costs time and no more."""


class BodyLiteral(NamedTuple):
    """A literal of a clause's body: an atom of a closed predicate that must be true."""

    predicate: int  # index into the sorted body predicates of the run
    # `0 .. h - 1` are the head's arguments in order, `h ..` existential variables; a constant is `-1 - id`, with its id
    # in the dictionary of that argument's type.
    terms: tuple[int, ...]


Component = tuple[BodyLiteral, ...]
"""Literals in canonical form: existential variables are numbered from h in order of first appearance, and the order of the
literals is the least one. Components that differ only in the names of existential variables are equal."""

Group = frozenset[BodyLiteral]
"""The literals of one component with the variables of the clause in which they stand."""


def constant(identity: int) -> int:
    """Return the term of a constant, from its id in the dictionary of its type; and its id from the term."""
    return -1 - identity


class Components:
    """Splits bodies into components and finds their canonical form, each once; `heads` is the number h of the head's arguments."""

    def __init__(self, heads: int) -> None:
        self.heads = heads
        self._known: dict[Group, tuple[Component, tuple[int, ...]]] = {}

    def split(self, body: Iterable[BodyLiteral]) -> tuple[Component, ...]:
        """Return the components of a body, ascending. A literal that occurs twice counts once, a component as often as it occurs."""
        return tuple(sorted(self.canonical(group) for group in self.groups(body)))

    def groups(self, body: Iterable[BodyLiteral]) -> tuple[Group, ...]:
        """Return the literals of each component of a body, under the names that its variables have there."""
        found: tuple[Group, ...] = ()
        for literal in body:
            found = self.grow(found, literal)
        return found

    def grow(self, groups: Sequence[Group], literal: BodyLiteral) -> tuple[Group, ...]:
        """Return the groups with one more literal, those that share an existential variable with it merged into the last."""
        variables = {term for term in literal.terms if term >= self.heads}
        merged: set[BodyLiteral] = {literal}
        apart: list[Group] = []
        for group in groups:
            if literal in group or any(term in variables for other in group for term in other.terms):
                merged |= group
            else:
                apart.append(group)
        return (*apart, frozenset(merged))

    def canonical(self, group: Group) -> Component:
        """Return the canonical form of the literals of one component."""
        return self.named(group)[0]

    def named(self, group: Group) -> tuple[Component, tuple[int, ...]]:
        """Return the canonical form, and the variable of the group that `h`, `h + 1`, ... stand for in it."""
        if group not in self._known:
            self._known[group] = _canonical(sorted(group), self.heads)
        return self._known[group]


class _Partial(NamedTuple):
    """The beginning of an order of literals."""

    left: tuple[BodyLiteral, ...]
    names: dict[int, int]
    done: Component


def _canonical(literals: Sequence[BodyLiteral], heads: int) -> tuple[Component, tuple[int, ...]]:
    """Take the least literal again and again; where several look alike, go on with each of them."""
    partial = [_Partial(tuple(literals), {}, ())]
    for _ in literals:
        best: tuple[bool, BodyLiteral] | None = None
        found: list[_Partial] = []
        for state in partial:
            for i, literal in enumerate(state.left):
                code, names = _coded(literal, state.names, heads)
                if best is not None and code > best:
                    continue
                if best is None or code < best:
                    best, found = code, []
                found.append(_Partial(state.left[:i] + state.left[i + 1 :], names, (*state.done, code[1])))
        partial = _different(found)[:ORDERINGS_TRIED]
    first = partial[0]
    return first.done, tuple(sorted(first.names, key=first.names.__getitem__))


def _coded(literal: BodyLiteral, names: dict[int, int], heads: int) -> tuple[tuple[bool, BodyLiteral], dict[int, int]]:
    """Return a literal under the names that its variables have or get now; literals that touch something known come first."""
    apart, terms = True, []
    for term in literal.terms:
        if term < heads:
            apart = apart and term < 0
            terms.append(term)
            continue
        if term in names:
            apart = False
        else:
            names = {**names, term: heads + len(names)}
        terms.append(names[term])
    return (apart, BodyLiteral(literal.predicate, tuple(terms))), names


def _different(states: list[_Partial]) -> list[_Partial]:
    """Drop states from which all goes on as from an earlier one: the same literals are left, under the same names."""
    if len(states) == 1:
        return states
    found: dict[tuple[BodyLiteral, ...], _Partial] = {}
    for state in states:
        # Variables that are not met again make no difference.
        left = tuple(
            sorted(BodyLiteral(x.predicate, tuple(_renamed(term, state.names) for term in x.terms)) for x in state.left)
        )
        found.setdefault(left, state)
    return list(found.values())


def _renamed(term: int, names: dict[int, int]) -> int:
    # Names that are chosen must not be mistaken for those of the clause.
    return names[term] - (1 << 40) if term in names else term
