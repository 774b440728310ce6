"""The tuples of slots for which a conjunction holds in a world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import integer, named, subquery, table
from sqlrl.logic.shapes import ShapeEquality, ShapeExists, ShapeLiteral, Slot
from sqlrl.plan.body import QueryBody
from sqlrl.plan.slots import BoundShape, outer_slots
from sqlrl.plan.sources import SlotSource, World, parameter_source, true_rows


def hold(
    bound: BoundShape,
    body: QueryBody,
    slots: Sequence[Slot],
    literals: Sequence[ShapeLiteral],
    equalities: Sequence[ShapeEquality],
    world: World,
    *,
    inside: Sequence[Slot],
    examples: TableName | None,
) -> None:
    """Let all literals and equalities hold in a body, for values of `slots` and of `inside` from their domains, in some examples."""
    for literal in (x for x in literals if x.positive):
        body.join(true_source(bound, body, literal, world))
        body.learn_domains(literal)
    body.require_parameters(slots)
    for slot in (*slots, *inside):
        body.require(slot)
    body.restrict(examples, [*slots, *inside])
    for literal in (x for x in literals if not x.positive):
        body.without(true_source(bound, body, literal, world))
    for equality in equalities:
        body.equal(equality, holds=True)


def holding(
    bound: BoundShape,
    slots: Sequence[Slot],
    literals: Sequence[ShapeLiteral],
    equalities: Sequence[ShapeEquality],
    world: World,
    *,
    inside: Sequence[Slot] = (),
    parameters: TableName | None = None,
    examples: TableName | None = None,
    prefix: str = "w",
    within: SlotSource | None = None,
) -> exp.Select:
    """Plan the distinct values `x0, ...` of `slots` (`one` for none) for which, with some value of `inside`, literals and equalities hold."""
    body = QueryBody(bound, prefix)
    if parameters is not None:
        body.join(parameter_source(parameters, bound.shape, body.alias("p")))
    # A relation in which the values must be found.
    if within is not None:
        body.join(replace(within, relation=within.relation.copy()))
    hold(bound, body, slots, literals, equalities, world, inside=inside, examples=examples)
    selected = [named(body.known[slot].copy(), f"x{i}") for i, slot in enumerate(slots)]
    return body.select(selected or [named(integer(1), "one")]).distinct()


def true_source(bound: BoundShape, body: QueryBody, literal: ShapeLiteral, world: World) -> SlotSource:
    """Return the tuples for which a literal's atom is true in a world, under a fresh alias."""
    alias = body.alias("t")
    info = bound.info(literal)
    relation = subquery(true_rows(info, world), alias) if info.open else table(info.facts, alias)
    return SlotSource(relation, alias, bound.columns(literal))


def group_source(
    bound: BoundShape, body: QueryBody, group: ShapeExists, world: World, *, examples: TableName | None = None
) -> SlotSource:
    """Return the tuples of outer slots for which an existential group has a witness in a world, under a fresh alias."""
    outer, inside = outer_slots(bound, group), [Slot(False, i) for i in group.variables]
    query = holding(bound, outer, group.literals, group.equalities, world, inside=inside, examples=examples)
    alias = body.alias("g")
    return SlotSource(subquery(query, alias), alias, tuple((f"x{i}", slot) for i, slot in enumerate(outer)))
