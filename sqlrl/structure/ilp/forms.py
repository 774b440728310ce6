"""Canonical forms of components that grow by a literal, found once for each way to grow.

Bottom clauses of different seeds grow the same components in the same ways. What a way leads to depends only on the forms of the
components that are joined, and on where the new literal is attached to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlrl.logic.components import BodyLiteral, Component, Components

_NEW = -1
"""The parent of a variable that no parent has."""


class Part(NamedTuple):
    """A component of a bottom clause.

    Parameters
    ----------
    number : int
        That of its form in `Covers`.
    variables : tuple of int
        The bottom clause's variable for each existential variable of the form, in order.
    """

    number: int
    variables: tuple[int, ...]


Place = tuple[int, int]
"""A variable of a parent: which parent, which of its variables; `_NEW` and a number for one that the literal brings in."""


class Forms:
    """Finds forms, and remembers the ways to them.

    Parameters
    ----------
    names : Components

    Examples
    --------
    >>> forms = Forms(Components(1))
    >>> edge = BodyLiteral(0, (0, 5))
    >>> first = forms.grown([], edge, lambda: [edge])
    >>> first
    ((BodyLiteral(predicate=0, terms=(0, 1)),), (5,))
    >>> leaf = BodyLiteral(1, (5,))
    >>> forms.grown([Part(0, (5,))], leaf, lambda: [edge, leaf])[0]
    (BodyLiteral(predicate=0, terms=(0, 1)), BodyLiteral(predicate=1, terms=(1,)))
    """

    def __init__(self, names: Components) -> None:
        self._names = names
        self._ways: dict[tuple[object, ...], tuple[Component, tuple[Place, ...]]] = {}

    def grown(
        self, parents: Sequence[Part], literal: BodyLiteral, literals: Callable[[], Sequence[BodyLiteral]]
    ) -> tuple[Component, tuple[int, ...]]:
        """Return the form of parents joined by a literal, and the variables for those of the form.

        Parameters
        ----------
        parents : sequence of Part
            Those that share an existential variable with the literal.
        literal : BodyLiteral
        literals : callable
            Returns all literals of the new component; called for a way that is new.
        """
        places = {variable: (i, k) for i, parent in enumerate(parents) for k, variable in enumerate(parent.variables)}
        known = len(places)
        # Head variables and constants stand for themselves.
        attached = tuple(
            (term,) if term < self._names.heads else places.setdefault(term, (_NEW, len(places) - known))
            for term in literal.terms
        )
        way = (literal.predicate, attached, *(parent.number for parent in parents))
        found = self._ways.get(way)
        if found is None:
            form, variables = self._names.named(frozenset(literals()))
            self._ways[way] = form, tuple(places[variable] for variable in variables)
            return form, variables
        form, order = found
        own = {place: variable for variable, place in places.items()}
        return form, tuple(own[place] for place in order)
