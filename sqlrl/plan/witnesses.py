"""Existential groups of a clause: witnesses that the evidence makes true, and those that it leaves open."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import column, integer, named, subquery
from sqlrl.logic.shapes import ShapeExists, ShapeLiteral, Slot
from sqlrl.plan.body import Body
from sqlrl.plan.slots import BoundShape, outer_slots
from sqlrl.plan.sources import Source, given_rows, open_source
from sqlrl.plan.sql import table


def witness_lists(bound: BoundShape, body: Body, examples: TableName | None) -> list[tuple[str | None, int]]:
    """Join the open witnesses of each existential group; return the alias with the list `atoms` and the literal's sign.

    Examples
    --------
    >>> from sqlrl.logic.shapes import Shape
    >>> from sqlrl.plan.sample import people
    >>> from sqlrl.plan.slots import bind
    >>> group = ShapeExists((0,), (ShapeLiteral("Smokes", True, (Slot(False, 0),)),), ())
    >>> bound = bind(Shape(("person",), (), (), (), (group,)), people())
    >>> witness_lists(bound, Body(bound), None)
    [('w0o', 1)]
    """
    return [_witnesses(bound, body, group, examples) for group in bound.shape.exists]


def list_columns(lists: Sequence[tuple[str | None, int]]) -> tuple[list[exp.Alias], tuple[int, ...]]:
    """Return the columns `e0, e1, ...` of the lists that `witness_lists` has joined, and the sign of each.

    A group without open literals has none: the columns are numbered by themselves.

    Examples
    --------
    >>> columns, signs = list_columns([(None, 0), ("w1o", -1)])
    >>> [each.sql("duckdb") for each in columns], signs
    (['"w1o"."atoms" AS "e0"'], (-1,))
    """
    opened = [(alias, sign) for alias, sign in lists if alias is not None]
    columns = [named(column("atoms", alias), f"e{i}") for i, (alias, _) in enumerate(opened)]
    return columns, tuple(sign for _, sign in opened)


def _witnesses(bound: BoundShape, body: Body, group: ShapeExists, examples: TableName | None) -> tuple[str | None, int]:
    """Drop groundings with a witness that the evidence makes true, and join the list of the open ones.

    Returns the alias with the column `atoms` (None if no literal of the group is open) and the literal's sign.
    """
    prefix = body.alias("w")
    certain = _witness_body(bound, group, f"{prefix}c", examples, decided=True)
    if certain is not None:
        query, columns = certain
        body.without(Source(subquery(query, f"{prefix}c"), f"{prefix}c", columns))
    opened = _witness_body(bound, group, f"{prefix}o", examples, decided=False)
    if opened is None:
        return None, 0
    query, columns = opened
    atoms = exp.ArraySort(this=exp.ArrayAgg(this=exp.Distinct(expressions=[query.selects[-1].this.copy()])))
    keys = query.selects[:-1]
    query.set("expressions", [*keys, named(atoms, "atoms")])
    if keys:
        query = query.group_by(*(k.this.copy() for k in keys))
    alias = f"{prefix}o"
    body.outer_join(Source(subquery(query, alias), alias, columns))
    sign = next(1 if x.positive else -1 for x in group.literals if bound.info(x).open)
    return alias, sign


def _witness_body(
    bound: BoundShape, group: ShapeExists, prefix: str, examples: TableName | None, *, decided: bool
) -> tuple[exp.Select, tuple[tuple[str, Slot], ...]] | None:
    """Select the outer slots for which the conjunction has a witness that is decided true, or open (then with its atom).

    Returns None if there can be no such witness.
    """
    open_ = [x for x in group.literals if bound.info(x).open]
    if not open_ and not decided:
        return None
    inner = Body(bound, f"{prefix}_")
    for literal in group.literals:
        if not bound.info(literal).open and literal.positive:
            inner.facts(literal)
    if open_ and not _witness_atom(bound, inner, open_[0], decided):
        return None
    inside = tuple(Slot(False, i) for i in group.variables)
    outer = outer_slots(bound, group)
    inner.require_parameters(outer)
    for slot in (*outer, *inside):
        inner.require(slot)
    inner.restrict(examples, [*outer, *inside])
    for literal in group.literals:
        if not bound.info(literal).open and not literal.positive:
            inner.without_facts(literal)
    for equality in group.equalities:
        inner.equal(equality, holds=True)
    columns = tuple((f"x{i}", slot) for i, slot in enumerate(outer))
    selects: list[exp.Expression] = [named(inner.known[slot].copy(), name) for name, slot in columns]
    if not decided:
        selects.append(named(column("atom", f"{prefix}_atom"), "atom"))
    return inner.select(selects or [named(integer(1), "one")]), columns


def _witness_atom(bound: BoundShape, inner: Body, literal: ShapeLiteral, decided: bool) -> bool:
    """Join the atoms that leave an open literal open, or those that decide it true; False if there are none."""
    info = bound.info(literal)
    if not decided:
        assert info.atoms is not None
        alias = f"{inner.prefix}atom"
        inner.join(Source(table(info.atoms, alias), alias, bound.columns(literal)))
        inner.learn_domains(literal)
        return True
    alias = inner.alias("g")
    if literal.positive or bound.covers(literal):
        if not info.has_given:
            return False
        inner.join(Source(subquery(given_rows(info, literal.positive), alias), alias, bound.columns(literal)))
        return True
    # A negative literal is also true of every tuple outside the scope.
    exists = open_source(bound, ShapeLiteral(literal.predicate, False, literal.terms), alias)[0]
    inner.without(exists)
    return True
