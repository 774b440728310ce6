"""Grounding by array joins: a shape becomes its ground clauses over the facts of a few examples, without SQL.

What is joined is what `sqlrl.plan.grounding` joins in the database: a negative closed literal, an open literal and the domains of
variables are inner joins, a positive closed literal and what is certain of an EXIST are anti-joins, and a positive open literal that
may have no atom is looked up. Groundings of one clause with the same literals are added up. One join per shape: its clauses are the
rows of its parameter table.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from sqlrl.ground.array_joins import ArrayTable, Frame, Names, stacked
from sqlrl.ground.network import IntArray
from sqlrl.ground.rows import GroundRows, distinct_literals, in_order, repeated
from sqlrl.logic.shapes import ShapeEquality, ShapeExists, ShapeLiteral, Slot
from sqlrl.plan.slots import BoundShape, outer_slots

CLAUSE, ROW, ATOM = "clause", "row", "atom"
"""Names of columns that no slot stands for."""


# ---- what is known of some examples ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OpenRows:
    """The tuples of an open predicate: its example, if that is in a column, and its arguments."""

    atoms: ArrayTable  # with the ids of atoms, from 1, as the last column
    true: ArrayTable  # given true
    false: ArrayTable  # given false

    def decided(self, truth: bool) -> ArrayTable:
        """Return what is given so, with 0 in place of atoms."""
        given = self.true if truth else self.false
        return ArrayTable((*given.columns, np.zeros(given.size, np.int64)), given.size)


@dataclass(frozen=True, eq=False)
class ExampleFacts:
    """All that is known of some examples, by ids of constants."""

    examples: ArrayTable
    values: Mapping[str, ArrayTable]  # by global type its constants
    domains: Mapping[str, ArrayTable]  # by local type the rows (example, constant)
    closed: Mapping[str, ArrayTable]  # the facts of closed predicates, each once
    opened: dict[str, OpenRows]

    def of_open(self, name: str, truth: bool) -> ArrayTable:
        """Return the query atoms of a predicate and what is given so, with 0 for its atom."""
        rows = self.opened[name]
        given = rows.decided(truth)
        return stacked([rows.atoms, given]) if given.size else rows.atoms


# ---- joins over slots --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Source:
    table: ArrayTable
    names: Names


class ArrayBody:
    """Joins relations on the slots of a shape, in an order that keeps what is between small."""

    def __init__(self, bound: BoundShape, facts: ExampleFacts, frame: Frame | None = None) -> None:
        self.bound, self.facts = bound, facts
        self.frame = frame or Frame.one()
        self._left: list[_Source] = []
        self._slots: set[Hashable] = set(self.frame.columns)
        self._domains: set[tuple[Slot, Slot | None]] = set()

    def join(self, table: ArrayTable, names: Iterable[Hashable]) -> None:
        """Add a relation to what is to be joined."""
        source = _Source(table, tuple(names))
        self._left.append(source)
        self._slots.update(source.names)

    def literal(self, literal: ShapeLiteral, table: ArrayTable, *more: Hashable) -> None:
        """Add the tuples of a literal; they keep local slots inside their domains."""
        self.join(table, (*self.names(literal), *more))
        bound = self.bound
        for slot in literal.terms:
            if bound.is_local(slot) and bound.owners[slot] and bound.in_domain(literal, slot):
                self._domains.add((slot, bound.owners[slot][0]))

    def names(self, literal: ShapeLiteral) -> tuple[Slot, ...]:
        """Return the slots of the columns of a literal."""
        return tuple(slot for _, slot in self.bound.columns(literal))

    def require(self, slot: Slot) -> None:
        """Keep a slot inside its domain, and make it known."""
        if slot.parameter and slot in self._slots:
            return
        owners: tuple[Slot | None, ...] = self.bound.owners.get(slot, ()) or (None,)
        for owner in owners:
            if (slot, owner) in self._domains or (owner is None and slot in self._slots):
                continue
            self._domains.add((slot, owner))
            if owner is None:
                self.join(self._values(slot), (slot,))
                continue
            if owner not in self._slots:
                self.require(owner)
            self.join(self.facts.domains[str(self.bound.kind(slot))], (owner, slot))

    def _values(self, slot: Slot) -> ArrayTable:
        if self.bound.is_example(slot):
            return self.facts.examples
        return self.facts.values[str(self.bound.kind(slot))]

    def solve(self) -> Frame:
        """Join everything."""
        while self._left:
            source = min(self._left, key=self._cost)
            self._left.remove(source)
            self.frame.join(source.table, source.names)
        return self.frame

    def _cost(self, source: _Source) -> tuple[bool, float, bool, int]:
        # What only filters first; then what is tied to the frame by the greatest share of its columns; at last products. The first
        # relation is the smallest one, but parameters are joined to facts, not facts to all clauses.
        slots = set(source.names)
        known = sum(slot in self.frame for slot in slots)
        unknown = len(slots) - known
        share = unknown / len(slots) if slots else 0.0
        return bool(slots) and not known, share, CLAUSE in slots, source.table.size

    def equal(self, equality: ShapeEquality, *, holds: bool) -> None:
        """Keep the rows in which an equality literal holds, or those in which it does not."""
        same = self.frame[equality.left] == self.frame[equality.right]
        self.frame.keep(same if equality.positive == holds else ~same)


# ---- the ground clauses of a shape -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GroundFrame:
    """The groundings of a shape that the evidence does not satisfy, one a row of `frame`, with their open literals."""

    frame: Frame
    multiplicity: IntArray
    codes: tuple[
        IntArray, ...
    ]  # of the atom of each open literal, 2 k for local atom k and 2 k + 1 for its negation, -1 for none
    # For each EXIST with an open literal the row of each open witness, and its code.
    witnesses: tuple[tuple[IntArray, IntArray], ...]
    repeats: bool  # whether rows may hold a literal twice, lack one, or be equal

    def rows(self, clause: IntArray) -> GroundRows:
        """Return the ground clauses with distinct literals and without tautologies, in no order; `clause` is that of each row."""
        size, width = self.frame.size, len(self.codes)
        if not self.repeats and width <= 2 and size:
            codes = np.empty((size, width), np.int64)
            if width == 1:
                codes[:, 0] = self.codes[0]
            elif width == 2:
                np.minimum(self.codes[0], self.codes[1], out=codes[:, 0])
                np.maximum(self.codes[0], self.codes[1], out=codes[:, 1])
            return GroundRows(clause, _literals(codes.ravel()), repeated(width, size), self.multiplicity)
        owners, codes_of = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for each in self.codes:
            here = np.flatnonzero(each >= 0)
            owners.append(here)
            codes_of.append(each[here])
        for row, code in self.witnesses:
            owners.append(row)
            codes_of.append(code)
        return distinct_literals(clause, self.multiplicity, np.concatenate(owners), np.concatenate(codes_of))


def _literals(codes: IntArray) -> IntArray:
    found: IntArray = np.where(codes & 1, ~(codes >> 1), (codes >> 1) + 1)
    return found


def ground_frame(bound: BoundShape, parameters: ArrayTable | None, facts: ExampleFacts) -> GroundFrame:
    """Join a shape; `parameters` has the columns `clause, k0, k1, ...`."""
    shape = bound.shape
    body = ArrayBody(bound, facts)
    if parameters is not None:
        body.join(parameters, (CLAUSE, *(Slot(True, k) for k in range(len(shape.parameters)))))
    for literal in shape.literals:
        if not bound.info(literal).open and not literal.positive:
            body.literal(literal, facts.closed[literal.predicate])
    open_ = [x for x in shape.literals if bound.info(x).open]
    outer = [literal.positive and not bound.covers(literal) for literal in open_]
    for i, literal in enumerate(open_):
        if not outer[i]:
            body.literal(literal, facts.of_open(literal.predicate, not literal.positive), (ATOM, i))
    free = _unmentioned(bound)
    for slot in bound.variables:
        if slot not in free:
            body.require(slot)
    frame = body.solve()
    multiplicity: IntArray = np.ones(frame.size, np.int64)
    for slot in free:
        owner = next(iter(bound.owners.get(slot, ())), None)
        if owner is None:
            multiplicity = multiplicity * facts.values[str(bound.kind(slot))].size
        else:
            domain = facts.domains[str(bound.kind(slot))]
            multiplicity = multiplicity * domain.sorted_by((0,)).matches([frame[owner]])[1]
    frame.columns["multiplicity"] = multiplicity
    for i, literal in enumerate(open_):
        if outer[i]:
            _look_up(body, literal, (ATOM, i))
    for literal in shape.literals:
        if not bound.info(literal).open and literal.positive:
            frame.without(facts.closed[literal.predicate], body.names(literal))
    for equality in shape.equalities:
        body.equal(equality, holds=False)
    for group in shape.exists:
        _drop_certain(body, group)
    opened = tuple(found for group in shape.exists if (found := _open_witnesses(body, group)) is not None)
    codes, may_lack = [], any(outer)
    for i, literal in enumerate(open_):
        atom, rows = frame[ATOM, i], facts.opened[literal.predicate]
        may_lack = may_lack or (rows.false if literal.positive else rows.true).size > 0
        codes.append(np.where(atom > 0, 2 * (atom - 1) + (not literal.positive), -1))
    names = [literal.predicate for literal in open_]
    repeats = may_lack or len(set(names)) < len(names) or bool(opened) or not open_
    return GroundFrame(frame, frame.columns.pop("multiplicity"), tuple(codes), opened, repeats)


def ground_rows(bound: BoundShape, parameters: ArrayTable | None, facts: ExampleFacts) -> GroundRows:
    """Return the ground clauses of a shape in canonical order, equal ones added up; without parameters they are of clause 0."""
    found = ground_frame(bound, parameters, facts)
    clause = found.frame[CLAUSE] if parameters is not None else np.zeros(found.frame.size, np.int64)
    return in_order(found.rows(clause), merge=True)


def _unmentioned(bound: BoundShape) -> list[Slot]:
    """Return the variables that nothing in a shape mentions and no other variable depends on: only their number counts."""
    shape = bound.shape
    used = {slot for x in bound.every_literal for _, slot in bound.columns(x)}
    used |= {s for x in shape.equalities for s in (x.left, x.right)}
    used |= {s for group in shape.exists for x in group.equalities for s in (x.left, x.right)}
    used |= {owner for owners in bound.owners.values() for owner in owners}
    some = [slot for slot in bound.variables if slot not in used and not bound.is_example(slot)]
    return [slot for slot in some if len(bound.owners.get(slot, ())) < 2]


def _look_up(body: ArrayBody, literal: ShapeLiteral, name: Hashable) -> None:
    """Find the atom of a positive open literal, 0 where it is false, and drop the rows where it is given true."""
    facts, frame, names = body.facts, body.frame, body.names(literal)
    rows = facts.opened[literal.predicate]
    if rows.true.size:
        frame.without(rows.true, names)
    frame.columns[name] = frame.looked_up(rows.atoms, names, len(names))


# ---- existential groups ------------------------------------------------------------------------------


def _witness_body(body: ArrayBody, group: ShapeExists, *, decided: bool) -> Frame | None:
    """Join the witnesses of a group to the rows, those that the evidence makes certain or those that are open; None if there can be none."""
    bound, facts = body.bound, body.facts
    open_ = [x for x in group.literals if bound.info(x).open]
    if not open_ and not decided:
        return None
    outside: dict[Hashable, IntArray] = {slot: body.frame[slot] for slot in outer_slots(bound, group)}
    outside[ROW] = np.arange(body.frame.size)
    inner = ArrayBody(bound, facts, Frame(outside, body.frame.size))
    for literal in group.literals:
        if not bound.info(literal).open and literal.positive:
            inner.literal(literal, facts.closed[literal.predicate])
    absent: ShapeLiteral | None = None
    for literal in open_:
        rows = facts.opened[literal.predicate]
        if not decided:
            inner.literal(literal, rows.atoms, ATOM)
        elif literal.positive or bound.covers(literal):
            given = rows.true if literal.positive else rows.false
            if not given.size:
                return None
            inner.join(given, inner.names(literal))
        else:
            # A negative literal is also true of every tuple outside the scope.
            absent = literal
    for index in group.variables:
        inner.require(Slot(False, index))
    frame = inner.solve()
    if absent is not None:
        rows = facts.opened[absent.predicate]
        frame.without(ArrayTable(rows.atoms.columns[:-1], rows.atoms.size), inner.names(absent))
        frame.without(rows.true, inner.names(absent))
    for literal in group.literals:
        if not bound.info(literal).open and not literal.positive:
            frame.without(facts.closed[literal.predicate], inner.names(literal))
    for equality in group.equalities:
        inner.equal(equality, holds=True)
    return frame


def _drop_certain(body: ArrayBody, group: ShapeExists) -> None:
    """Drop the rows for which the evidence makes a witness of a group certain."""
    found = _witness_body(body, group, decided=True)
    if found is not None and found.size:
        certain = np.zeros(body.frame.size, np.bool_)
        certain[found[ROW]] = True
        body.frame.keep(~certain)


def _open_witnesses(body: ArrayBody, group: ShapeExists) -> tuple[IntArray, IntArray] | None:
    """Return the row and code of each open witness of a group; None if it has no open literal."""
    found = _witness_body(body, group, decided=False)
    if found is None:
        return None
    sign = next(x.positive for x in group.literals if body.bound.info(x).open)
    return found[ROW], 2 * (found[ATOM] - 1) + (not sign)


# ---- what holds of the evidence, or in some world ----------------------------------------------------


@dataclass(frozen=True, eq=False)
class ArrayConjunction:
    """Literals and equalities that hold together for values of `slots`, with some values of the slots `inside`."""

    bound: BoundShape
    parameters: ArrayTable | None
    slots: tuple[Slot, ...]
    literals: tuple[ShapeLiteral, ...]
    equalities: tuple[ShapeEquality, ...]
    inside: tuple[Slot, ...]

    def possible(self, facts: ExampleFacts) -> ArrayTable:
        """Return the distinct values of the slots for which it holds in some world, in order."""
        bound, body = self.bound, ArrayBody(self.bound, facts)
        if self.parameters is not None:
            body.join(self.parameters, (CLAUSE, *(Slot(True, k) for k in range(len(bound.shape.parameters)))))
        for literal in (x for x in self.literals if x.positive):
            body.literal(literal, _possible(bound, literal, facts))
        for slot in (*self.slots, *self.inside):
            body.require(slot)
        frame = body.solve()
        for literal in (x for x in self.literals if not x.positive):
            frame.without(_possible(bound, literal, facts), body.names(literal))
        for equality in self.equalities:
            body.equal(equality, holds=True)
        return ArrayTable([frame[slot] for slot in self.slots], frame.size).distinct()


def _possible(bound: BoundShape, literal: ShapeLiteral, facts: ExampleFacts) -> ArrayTable:
    """Return the tuples of a literal's predicate that are true in some world."""
    if not bound.info(literal).open:
        return facts.closed[literal.predicate]
    rows = facts.opened[literal.predicate]
    return stacked([ArrayTable(rows.atoms.columns[:-1], rows.atoms.size), rows.true])


# ---- how many groundings there are -------------------------------------------------------------------


def grounding_count(bound: BoundShape, facts: ExampleFacts) -> int:
    """Return the groundings of each clause of a shape: the product of its domain sizes, over the examples."""
    times, by_example = 1, np.ones(facts.examples.size, object)
    ids = facts.examples.columns[0]
    several = any(bound.is_example(slot) for slot in bound.variables)
    for slot in bound.variables:
        if bound.is_example(slot):
            continue
        kind = str(bound.kind(slot))
        if bound.owners.get(slot, ()):
            by_example = by_example * facts.domains[kind].sorted_by((0,)).matches([ids])[1].astype(object)
        else:
            times *= facts.values[kind].size
    return times * int(by_example.sum()) if several else times
