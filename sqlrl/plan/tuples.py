"""The tuples of slots for which a conjunction holds in a world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import integer, named, subquery, table
from sqlrl.logic.shapes import ShapeEquality, ShapeExists, ShapeLiteral, Slot
from sqlrl.plan.body import QueryBody
from sqlrl.plan.slots import BoundShape, outer_slots
from sqlrl.plan.sources import SlotSource, World, parameter_source, true_rows


@dataclass(frozen=True)
class Conjunction:
    """Literals and equalities that hold together for values of `slots`, with some values of the slots `inside`."""

    slots: Sequence[Slot]
    literals: Sequence[ShapeLiteral]
    equalities: Sequence[ShapeEquality] = ()
    inside: Sequence[Slot] = ()

    @classmethod
    def of(cls, group: ShapeExists, slots: Sequence[Slot]) -> Conjunction:
        """Return what holds where an existential group has a witness, for values of slots outside it."""
        return cls(slots, group.literals, group.equalities, [Slot(False, i) for i in group.variables])


def holding(
    bound: BoundShape,
    conjunction: Conjunction,
    world: World,
    *,
    parameters: TableName | None = None,
    examples: TableName | None = None,
    prefix: str = "w",
    within: SlotSource | None = None,
) -> exp.Select:
    """Plan the distinct values `x0, ...` of slots (`one` for none) for which a conjunction holds, with all values from their domains, in some examples."""
    body = QueryBody(bound, prefix)
    if parameters is not None:
        body.join(parameter_source(parameters, bound.shape, body.alias("p")))
    # A relation in which the values must be found.
    if within is not None:
        body.join(replace(within, relation=within.relation.copy()))
    for literal in (x for x in conjunction.literals if x.positive):
        body.join(true_source(bound, body, literal, world))
        body.learn_domains(literal)
    body.require_parameters(conjunction.slots)
    slots = [*conjunction.slots, *conjunction.inside]
    for slot in slots:
        body.require(slot)
    body.restrict(examples, slots)
    for literal in (x for x in conjunction.literals if not x.positive):
        body.without(true_source(bound, body, literal, world))
    for equality in conjunction.equalities:
        body.equal(equality, holds=True)
    selected = [named(body.known[slot].copy(), f"x{i}") for i, slot in enumerate(conjunction.slots)]
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
    outer = outer_slots(bound, group)
    query = holding(bound, Conjunction.of(group, outer), world, examples=examples)
    alias = body.alias("g")
    return SlotSource(subquery(query, alias), alias, tuple((f"x{i}", slot) for i, slot in enumerate(outer)))
