"""Refinement of many clauses at once: each gets one more literal of the bottom clause.

A clause is a row: the places of its literals in the bottom clause, ascending, and the numbers of the components into which its body
falls. So children are made and told apart by array operations; only components that no clause of the search has had before are
looked at one by one, and there are few of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.logic.components import Component
from sqlrl.structure.ilp.bottom import BottomClause
from sqlrl.structure.ilp.covers import Bits, Covers
from sqlrl.structure.ilp.forms import Forms, Part

NONE = 0
"""The number of no component."""

Keys = npt.NDArray[np.generic]


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
        # Component i has the literals members[i], as bits masks[i]; touches[i] are those that share an existential variable with it.
        self._members: list[tuple[int, ...]] = [()]
        self._masks: list[int] = [0]
        self._numbers: dict[int, int] = {0: NONE}
        self._parts: list[Part] = [Part(-1, ())]
        self._touches: BoolArray = np.zeros((64, len(bottom.literals)), dtype=np.bool_)
        self._global: IntArray = np.full(64, -1, dtype=np.int64)

    def root(self) -> Nodes:
        """Return the clause without a body."""
        return Nodes(*(np.zeros((1, 0), dtype=np.int64) for _ in range(2)))

    def components(self, nodes: Nodes) -> IntArray:
        """Return the components of clauses by their numbers in `Covers`, shape (c, k); -1 where there are fewer."""
        return self._global[nodes.parts]

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

    def children(self, nodes: Nodes, clause: IntArray, literal: IntArray, rows: IntArray, *, keep: bool) -> Nodes:
        """Return clauses with one more literal; what their new components cover is known then.

        Parameters
        ----------
        nodes : Nodes
        clause, literal : int64 arrays, shape (q,)
            What is refined, by which literal.
        rows : int64 array, shape (q, k + 1)
            The literals of the children.
        keep : bool
            Whether children will be refined in turn.
        """
        parts = nodes.parts[clause]
        touched = self._touches[parts, literal[:, None]]
        merged = np.concatenate([np.sort(np.where(touched, parts, NONE), axis=1), literal[:, None]], axis=1)
        _, first, place = np.unique(
            row_keys(merged, max(len(self._masks), len(self.bottom.literals))), return_index=True, return_inverse=True
        )
        new = self._merge(merged[first], keep)[place]
        return Nodes(rows, np.concatenate([np.where(touched, NONE, parts), new[:, None]], axis=1))

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
            covers[some] &= self._covers.bits[self._global[part[some]]]
        return covers

    def added(self, children: Nodes) -> Bits:
        """Return what the component that each child got last covers."""
        found: Bits = self._covers.bits[self._global[children.parts[:, -1]]]
        return found

    def _variables(self, nodes: Nodes) -> BoolArray:
        """Return the variables that clauses have, shape (c, v)."""
        known = np.repeat(self.bottom.inputs[None], len(nodes), axis=0)
        for literal in nodes.literals.T:
            known |= self.bottom.variables[literal]
        return known

    def _merge(self, merged: IntArray, keep: bool) -> IntArray:
        """Return the numbers of components that are made of others and of a literal; new ones are evaluated, all at once."""
        found: list[int] = []
        new: list[tuple[list[int], int]] = []
        masks = self._masks
        for *row, literal in merged.tolist():
            mask = 1 << literal
            for part in row:
                mask |= masks[part]
            number = self._numbers.get(mask)
            if number is None:
                number = self._numbers[mask] = len(masks)
                masks.append(mask)
                new.append(([part for part in row if part != NONE], literal))
            found.append(number)
        if new:
            self._learn(new, keep)
        return np.array(found, dtype=np.int64)

    def _learn(self, new: Sequence[tuple[Sequence[int], int]], keep: bool) -> None:
        """Find out what new components, the last ones, cover and which literals touch them."""
        total, known = len(self._masks), len(self._masks) - len(new)
        if total > len(self._global):
            more = max(total, 2 * len(self._global)) - len(self._global)
            self._global = np.concatenate([self._global, np.full(more, -1, dtype=np.int64)])
            self._touches = np.concatenate([self._touches, np.zeros((more, self._touches.shape[1]), dtype=np.bool_)])
        forms, variables = [], []
        for parts, literal in new:
            members = (*(i for part in parts for i in self._members[part]), literal)
            self._members.append(members)
            form, own = self._grown(parts, literal, members)
            forms.append(form)
            variables.append(own)
        self._global[known:total] = numbers = self._covers.numbers(forms, keep=keep)
        self._parts += [Part(number, own) for number, own in zip(numbers.tolist(), variables, strict=True)]
        inside = np.zeros((len(new), self._inner.shape[1]), dtype=np.float32)
        first, owner = len(self.bottom.head), np.repeat(np.arange(len(new)), [len(own) for own in variables])
        inside[owner, [variable - first for own in variables for variable in own]] = 1
        self._touches[known:total] = inside @ self._inner.T > 0

    def _grown(self, parts: Sequence[int], literal: int, members: Sequence[int]) -> tuple[Component, tuple[int, ...]]:
        """Return the form of a new component, and its variables."""
        literals = self.bottom.literals
        # In the order of their forms: then the ways that lead to a component are few.
        parents = sorted(self._parts[part] for part in parts)
        return self._forms.grown(parents, literals[literal], lambda: [literals[i] for i in members])


def row_keys(rows: IntArray, bound: int) -> Keys:
    """Return keys of rows of integers from 0 to `bound` - 1: equal for equal rows only.

    Examples
    --------
    >>> row_keys(np.array([[0, 3], [2, 1]]), 4).tolist()
    [3, 9]
    """
    bits = max(int(bound - 1).bit_length(), 1)
    if bits * rows.shape[1] <= 63:
        keys = np.zeros(len(rows), dtype=np.int64)
        for column in rows.T:
            keys = (keys << bits) | column
        return keys
    # Rows of bytes of one length: zeros at the end that numpy leaves out are the same for equal rows only.
    return np.ascontiguousarray(rows.astype(">u4")).view(f"S{4 * rows.shape[1]}")[:, 0]
