"""Canonical forms of components that grow by a literal, found once for each way to grow.

Bottom clauses of different seeds grow the same components in the same ways. What a way leads to depends only on the forms of the
components that are joined, and on where the new literal is attached to them. So all ways of a layer are looked up together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import IntArray
from sqlrl.logic.components import BodyLiteral, Component, Components
from sqlrl.structure.ilp.rows import Numbers, Rows, row_bytes

NOTHING = -1
"""No parent, no variable."""

_BITS = 16
"""Variables of a component are fewer than 2 ** _BITS. Where one comes from is one number: the parent and, in these bits, its place there."""

_BROUGHT = 1 << 30
"""Stands for the parent of a variable that no parent has; its place is that among the variables of the literal."""


class Literals(NamedTuple):
    """Literals of a bottom clause, as rows.

    Parameters
    ----------
    kind : int64 array, shape (j,)
        Equal where literals differ in the names of existential variables alone.
    variables : int64 array, shape (j, t)
        Their existential variables in order of first appearance, then `NOTHING`.
    """

    kind: IntArray
    variables: IntArray

    def take(self, rows: IntArray) -> Literals:
        """Return some of them."""
        return Literals(self.kind[rows], self.variables[rows])


class Parents(NamedTuple):
    """Components of a bottom clause that a literal joins.

    Parameters
    ----------
    number : int64 array, shape (q, p)
        Those of their forms in `Covers`, `NOTHING` after the last.
    variables : int64 array, shape (q, p, w)
        The bottom clause's variable for each existential variable of the form, in order, then `NOTHING`.
    """

    number: IntArray
    variables: IntArray


class Ways(NamedTuple):
    """How components grow, one way for each.

    Parameters
    ----------
    keys : list of bytes
        Equal where parents and literal are joined alike.
    new : dict of bytes to (Component, list of int)
        For ways that nobody has gone before the form, and where each of its variables comes from.
    """

    keys: list[bytes]
    new: dict[bytes, tuple[Component, list[int]]]


class Forms:
    """Finds forms, and remembers the ways to them.

    Parameters
    ----------
    names : Components
    arity : int
        The most arguments of a literal.

    Examples
    --------
    A literal by itself, and then joined to it one more:

    >>> forms, edge, leaf = Forms(Components(1), 2), BodyLiteral(0, (0, 5)), BodyLiteral(1, (5,))
    >>> literals, met = forms.literals([edge, leaf]), []
    >>> def grown(parents, literal, members):
    ...     ways = forms.ways(parents, literal, lambda i: members)
    ...     met.extend(form for form, _ in ways.new.values())
    ...     return forms.grown(ways, parents, literal, lambda new: np.array([met.index(form) for form in new]))
    >>> alone = Parents(np.zeros((1, 0), np.int64), np.zeros((1, 0, 1), np.int64))
    >>> found, variables = grown(alone, literals.take(np.array([0])), [edge])
    >>> found.tolist(), variables.tolist()
    ([0], [[5]])
    >>> joined = Parents(found[:, None], variables[:, None])
    >>> grown(joined, literals.take(np.array([1])), [edge, leaf])[0].tolist()
    [1]
    >>> met[1]
    (BodyLiteral(predicate=0, terms=(0, 1)), BodyLiteral(predicate=1, terms=(1,)))
    """

    def __init__(self, names: Components, arity: int) -> None:
        self._names, self._arity = names, arity
        self._kinds: dict[BodyLiteral, int] = {}
        self._ways = Numbers()
        # Ways without a number: what their forms cover is not known yet, and several searches may wait for it.
        self._met: dict[bytes, tuple[Component, list[int]]] = {}
        # Of each way the form's number, and where each variable of the form comes from.
        self._found = Rows(1, np.int64, NOTHING)

    def literals(self, literals: Sequence[BodyLiteral]) -> Literals:
        """Return literals as rows."""
        kinds, variables = [], np.full((len(literals), self._arity), NOTHING, dtype=np.int64)
        heads = self._names.heads
        for i, literal in enumerate(literals):
            own = {term: heads + k for k, term in enumerate(dict.fromkeys(x for x in literal.terms if x >= heads))}
            shape = BodyLiteral(literal.predicate, tuple(own.get(term, term) for term in literal.terms))
            kinds.append(self._kinds.setdefault(shape, len(self._kinds)))
            variables[i, : len(own)] = list(own)
        return Literals(np.array(kinds, dtype=np.int64), variables)

    def ways(self, parents: Parents, literal: Literals, members: Callable[[int], Sequence[BodyLiteral]]) -> Ways:
        """Return the ways on which components grow that are each made of parents and a literal.

        Parameters
        ----------
        parents : Parents
            Those that share an existential variable with the literal; in the order of their forms, so that ways are few.
        literal : Literals
            One for each component.
        members : callable
            Returns all literals of a component, given its row; called for a way that is new.
        """
        places = _places(parents, literal)
        keys = row_bytes(np.column_stack([literal.kind + 1, places + 1, parents.number + 1]))
        first = self._ways.unknown(keys)
        for key, row in first.items():
            if key not in self._met:
                self._met[key] = self._way(parents.variables[row], literal.variables[row], members(row))
        return Ways(keys, {key: self._met[key] for key in first})

    def _way(self, parents: IntArray, literal: IntArray, members: Sequence[BodyLiteral]) -> tuple[Component, list[int]]:
        """Return the form of a component, and where each of its variables comes from."""
        form, variables = self._names.named(frozenset(members))
        place = {variable: _BROUGHT << _BITS | i for i, variable in enumerate(literal.tolist())} | {
            variable: parent << _BITS | i
            for parent, own in enumerate(parents.tolist())
            for i, variable in enumerate(own)
        }
        return form, [place[variable] for variable in variables]

    def grown(
        self,
        ways: Ways,
        parents: Parents,
        literal: Literals,
        number: Callable[[Sequence[Component]], IntArray],
    ) -> tuple[IntArray, IntArray]:
        """Return the forms of components that have grown; their ways are remembered.

        Parameters
        ----------
        ways, parents, literal
            As of `ways`. Others may have gone the same ways since.
        number : callable
            Returns the numbers of forms in `Covers`; called with those that new ways lead to.

        Returns
        -------
        number : int64 array, shape (q,)
        variables : int64 array, shape (q, w)
            As in `Parents`.
        """
        if first := self._ways.unknown(list(ways.new)):
            self._learn(first, [ways.new[key] for key in first], number)
        way = self._ways.of(ways.keys)
        number_of, order = np.split(self._found.values[way], [1], axis=1)
        owned = parents.variables.shape[2]
        # The variables that each component can have, and NOTHING.
        known = np.concatenate(
            [parents.variables.reshape(len(way), -1), literal.variables, np.full((len(way), 1), NOTHING)], axis=1
        )
        parent, place = order >> _BITS, order & ((1 << _BITS) - 1)
        columns = np.where(parent == _BROUGHT, known.shape[1] - 1 - self._arity + place, parent * owned + place)
        columns[order == NOTHING] = known.shape[1] - 1
        return number_of[:, 0], np.take_along_axis(known, columns, axis=1)

    def _learn(
        self,
        keys: Collection[bytes],
        new: Sequence[tuple[Component, list[int]]],
        number: Callable[[Sequence[Component]], IntArray],
    ) -> None:
        """Remember new ways."""
        found = np.full((len(new), 1 + max(len(order) for _, order in new)), NOTHING, dtype=np.int64)
        found[:, 0] = number([form for form, _ in new])
        for row, (_, order) in zip(found, new, strict=True):
            row[1 : 1 + len(order)] = order
        self._found.add(found, len(self._ways))
        self._ways.add(keys)
        for key in keys:
            self._met.pop(key, None)


def _places(parents: Parents, literal: Literals) -> IntArray:
    """Return which parent has each variable of a literal, and where, as one number; `NOTHING` for those that none has."""
    count, width = len(literal.kind), parents.variables.shape[2]
    owned = parents.variables.reshape(count, -1)
    if not owned.shape[1]:
        return np.full_like(literal.variables, NOTHING)
    same = (owned[:, np.newaxis] == literal.variables[:, :, np.newaxis]) & (literal.variables >= 0)[:, :, np.newaxis]
    parent, place = np.divmod(same.argmax(axis=2), width)
    return np.where(same.any(axis=2), parent << _BITS | place, NOTHING)
