"""Refinement of many clauses at once: each gets one more literal of the bottom clause.

A clause is a row: the places of its literals in the bottom clause, ascending, and the numbers of the components into which its body
falls. So children are made and told apart by array operations, and so are their components; only ways to a component that no search
has gone before are looked at one by one (see `forms`), and there are few of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.logic.components import Component
from sqlrl.structure.ilp.bottom import BottomClause
from sqlrl.structure.ilp.covers import Bits, Covers
from sqlrl.structure.ilp.forms import NOTHING, Forms, Literals, Parents, Ways
from sqlrl.structure.ilp.rows import Keys, Numbers, Rows, row_bytes, row_keys

NONE = 0
"""The number of no component."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """Clauses of one length.

    Parameters
    ----------
    literals : int64 array, shape (c, k)
        Places of literals in the bottom clause, ascending in each row.
    parts : int64 array, shape (c, k)
        Components of each body, as the refiner numbers them; `NONE` where there are fewer.
    """

    literals: IntArray
    parts: IntArray

    def __len__(self) -> int:
        return len(self.literals)

    def take(self, rows: IntArray | BoolArray | slice) -> Nodes:
        """Return some of them."""
        return Nodes(self.literals[rows], self.parts[rows])


class _New(NamedTuple):
    """Components that a refiner meets for the first time: their keys, literals, and parents and literal of each."""

    keys: list[bytes]
    members: IntArray
    parents: Parents
    literals: Literals
    ways: Ways


@dataclass(frozen=True, eq=False)
class Refinement:
    """Clauses with one more literal, before it is known what they cover.

    Parameters
    ----------
    literals : int64 array, shape (q, k + 1)
    others : int64 array, shape (q, k)
        The components that the new literal does not join; `NONE` elsewhere.
    keys : list of bytes
        Of the components with the new literal.
    new : _New or None
        Those that were never met.
    """

    literals: IntArray
    others: IntArray
    keys: list[bytes]
    new: _New | None

    @property
    def forms(self) -> list[Component]:
        """The forms of components that nobody has met; what they cover must be known before clauses are made."""
        return [] if self.new is None else [form for form, _ in self.new.ways.new.values()]


class Refiner:
    """Refines clauses that are parts of one bottom clause.

    Parameters
    ----------
    bottom : BottomClause
    covers : Covers
    forms : Forms
    """

    def __init__(self, bottom: BottomClause, covers: Covers, forms: Forms) -> None:
        self.bottom, self._covers, self._forms = bottom, covers, forms
        self._needs = bottom.needs.T.astype(np.float32)
        self._starts = np.searchsorted(bottom.option, np.arange(len(bottom.literals)))
        inner = bottom.variables[:, len(bottom.head) :]
        self._inner = inner.astype(np.float32)
        self._literals = forms.literals(bottom.literals)
        # Of each component its literals, descending and counted from 1, the number of its form, the variable for each one of the
        # form, and the literals that share an existential variable with it.
        self._numbers = Numbers()
        self._members, self._global = Rows(1, np.int64), Rows(1, np.int64, NOTHING)
        self._variables_of, self._touches = Rows(1, np.int64, NOTHING), Rows(len(bottom.literals), np.bool_)
        for rows in (self._members, self._global, self._variables_of, self._touches):
            rows.add(np.zeros((1, 0), dtype=np.int64))
        self._numbers.add(row_bytes(self._members.values))

    def root(self) -> Nodes:
        """Return the clause without a body."""
        return Nodes(*(np.zeros((1, 0), dtype=np.int64) for _ in range(2)))

    def components(self, nodes: Nodes) -> IntArray:
        """Return the components of clauses by their numbers in `Covers`, shape (c, k); -1 where there are fewer."""
        found: IntArray = self._global.values[nodes.parts, 0]
        return found

    def complete(self, nodes: Nodes) -> BoolArray:
        """Tell which clauses have all variables of the head's `-` places."""
        wanted = self.bottom.wanted
        if not wanted.any():
            return np.ones(len(nodes), dtype=np.bool_)
        return np.asarray(self._variables(nodes)[:, wanted].all(axis=1))

    def pairs(self, nodes: Nodes) -> tuple[IntArray, IntArray]:
        """Return which literals can be added to which clauses: those that they lack and whose inputs they have.

        Returns
        -------
        clause, literal : int64 arrays, shape (q,)
            Ascending.
        """
        if not self.bottom.literals:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        lacking = (~self._variables(nodes)).astype(np.float32) @ self._needs
        allowed = np.logical_or.reduceat(lacking == 0, self._starts, axis=1)
        allowed[np.arange(len(nodes))[:, None], nodes.literals] = False
        clause, literal = np.nonzero(allowed)
        return clause, literal

    def keys(self, nodes: Nodes, clause: IntArray, literal: IntArray) -> tuple[IntArray, Keys]:
        """Return the literals of children, ascending, and a key for each set of literals."""
        rows = np.sort(np.concatenate([nodes.literals[clause], literal[:, None]], axis=1), axis=1)
        return rows, row_keys(rows, len(self.bottom.literals))

    def refine(self, nodes: Nodes, clause: IntArray, literal: IntArray, rows: IntArray) -> Refinement:
        """Add a literal to clauses.

        Parameters
        ----------
        nodes : Nodes
        clause, literal : int64 arrays, shape (q,)
            What is refined, by which literal.
        rows : int64 array, shape (q, k + 1)
            The literals of the children.
        """
        parts = nodes.parts[clause]
        touched = self._touches.values[parts, literal[:, None]]
        joined = np.where(touched, parts, NONE)
        apart = self._members.values[joined].reshape(len(literal), -1)
        members = -np.sort(-np.concatenate([apart, literal[:, None] + 1], axis=1), axis=1)[:, : parts.shape[1] + 1]
        keys, new = row_bytes(members), None
        if first := self._numbers.unknown(keys):
            places = np.array(list(first.values()))
            new = self._new(list(first), members[places], joined[places], literal[places])
        return Refinement(rows, np.where(touched, NONE, parts), keys, new)

    def children(self, refinement: Refinement) -> Nodes:
        """Return the clauses; what the forms of the refinement cover is known now."""
        if refinement.new is not None:
            self._learn(refinement.new)
        own = self._numbers.of(refinement.keys)
        return Nodes(refinement.literals, np.concatenate([refinement.others, own[:, None]], axis=1))

    def cover(self, nodes: Nodes, head: Bits) -> Bits:
        """Return what clauses cover.

        Parameters
        ----------
        nodes : Nodes
        head : uint64 array, shape (w,)
            What the head alone covers.
        """
        covers = np.repeat(head[None], len(nodes), axis=0)
        for part in nodes.parts.T:
            some = np.flatnonzero(part != NONE)
            covers[some] &= self._covers.bits[self._global.values[part[some], 0]]
        return covers

    def added(self, children: Nodes) -> Bits:
        """Return what the component that each child got last covers."""
        found: Bits = self._covers.bits[self._global.values[children.parts[:, -1], 0]]
        return found

    def _variables(self, nodes: Nodes) -> BoolArray:
        """Return the variables that clauses have, shape (c, v)."""
        known = np.repeat(self.bottom.inputs[None], len(nodes), axis=0)
        for literal in nodes.literals.T:
            known |= self.bottom.variables[literal]
        return known

    def _new(self, keys: list[bytes], members: IntArray, parts: IntArray, literal: IntArray) -> _New:
        """Return how components that were never met are made of others and of a literal."""
        # In the order of their forms, and so that those that are none come last. Two of one form have no variable in common.
        number, own = self._global.values[parts, 0], self._variables_of.values
        order = np.lexsort((own[parts, 0], np.where(number == NOTHING, np.iinfo(np.int64).max, number)), axis=1)
        parts = np.take_along_axis(parts, order, axis=1)
        parents, literals = Parents(np.take_along_axis(number, order, axis=1), own[parts]), self._literals.take(literal)
        ways = self._forms.ways(
            parents, literals, lambda row: [self.bottom.literals[i - 1] for i in members[row].tolist() if i]
        )
        return _New(keys, members, parents, literals, ways)

    def _learn(self, new: _New) -> None:
        """Find out what new components cover, and which literals touch them."""
        found, variables = self._forms.grown(new.ways, new.parents, new.literals, self._covers.numbers)
        inside = np.zeros((len(new.members), self._inner.shape[1]), dtype=np.float32)
        row, place = np.nonzero(variables != NOTHING)
        inside[row, variables[row, place] - len(self.bottom.head)] = 1
        self._members.add(new.members)
        self._global.add(found[:, None])
        self._variables_of.add(variables)
        self._touches.add(inside @ self._inner.T > 0)
        self._numbers.add(new.keys)
