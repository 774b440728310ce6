"""A few groundings of a clause that are in a bin of self-diagnosis, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import column, integer, named, subquery, table, union_all
from sqlrl.logic.shapes import Shape, ShapeEquality, ShapeLiteral, Slot
from sqlrl.plan.body import QueryBody
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import (
    OBSERVED,
    SlotSource,
    argument_columns,
    atom_rows,
    domain_source,
    given_rows,
    parameter_source,
)
from sqlrl.plan.tuples import true_source


@dataclass(frozen=True)
class Way:
    """How a grounding comes to be in a bin."""

    literal: ShapeLiteral  # The literal of the atom that the bin is of.
    true: tuple[ShapeLiteral, ...]  # Literals whose atoms are true.
    false: tuple[ShapeLiteral, ...]  # Literals whose atoms are false.
    equalities: tuple[tuple[ShapeEquality, bool], ...] = ()  # Each with whether it holds.
    other_atoms: tuple[ShapeLiteral, ...] = ()  # Literals whose atoms are not that of `literal`.


def ways(shape: Shape, target: str, name: str, sign: int) -> list[Way]:
    """Return the ways in which groundings come into `applies_bad` or `idle_bad` of a target; with `sign` -1 those of the conjunction whose negation the clause is."""
    found = []
    for own in (x for x in shape.literals if x.predicate == target):
        others = [x for x in shape.literals if x is not own]
        same = [x for x in others if x.predicate == target]
        if name == "applies_bad":
            # Nothing else makes the clause true; it is false for the truth of the atom, and a conjunction true for what is not.
            holds = [(x, False) for x in others] + [(own, sign < 0)]
            equalities = tuple((equality, False) for equality in shape.equalities)
            apart = tuple(x for x in same if sign < 0 and x.positive != own.positive)
            found.append(_way(own, holds, equalities, apart))
            continue
        mine = (own, sign > 0)
        found += [_way(own, [mine, (x, True)], (), (x,) if x in same else ()) for x in others]
        found += [_way(own, [mine], ((equality, True),), ()) for equality in shape.equalities]
    return found


def _way(
    own: ShapeLiteral,
    holds: Sequence[tuple[ShapeLiteral, bool]],
    equalities: tuple[tuple[ShapeEquality, bool], ...],
    apart: tuple[ShapeLiteral, ...],
) -> Way:
    true = tuple(x for x, holding in holds if x.positive == holding)
    return Way(own, true, tuple(x for x, holding in holds if x.positive != holding), equalities, apart)


def some_groundings(
    bound: BoundShape, way: Way, *, examples: TableName | None, parameters: TableName | None, most: int, repeats: int
) -> exp.Select:
    """Plan the first groundings of a clause, by ids, that are in a bin in some way: names of constants as `v0, v1, ...`."""
    body = QueryBody(bound, "e")
    if parameters is not None:
        body.join(parameter_source(parameters, bound.shape, apart=False))
    for literal in way.true:
        body.join(true_source(bound, body, literal, OBSERVED))
        body.learn_domains(literal)
    if way.literal in way.false:
        _keep_to_atoms(bound, body, way.literal)
    for slot in bound.variables:
        body.require(slot)
    body.restrict(examples, bound.restricted)
    for literal in way.false:
        body.without(true_source(bound, body, literal, OBSERVED))
    for equality, holds in way.equalities:
        body.equal(equality, holds=holds)
    for literal in way.other_atoms:
        pairs = [(x, y) for x, y in zip(way.literal.terms, literal.terms, strict=True) if x != y]
        same = [exp.EQ(this=body.known[x].copy(), expression=body.known[y].copy()) for x, y in pairs]
        body.where(exp.Not(this=exp.and_(*same)))
    shape = bound.shape
    used = {slot for x in shape.literals for slot in x.terms} | {s for x in shape.equalities for s in (x.left, x.right)}
    # A clause of a formula may have variables that only others of its clauses mention.
    slots = [slot for slot in (Slot(False, i) for i in shape.universal()) if slot in used]
    ids = [named(body.known[slot].copy(), f"i{slot.index}") for slot in slots]
    order = [exp.Ordered(this=column(f"i{slot.index}"), nulls_first=False) for slot in slots]
    groundings = body.select(ids or [named(integer(1), "one")])
    if any(slot not in used and slot not in bound.restricted for slot in bound.variables):
        groundings = groundings.distinct()
    # What is distinct may be hundreds of millions of rows. Of each there is one for an example, so that the first ones are among as many.
    # `repeats` is how many examples there are, of which each may have the same constants.
    first = (groundings.order_by(*order) if order else groundings).limit(most * repeats)
    rows = exp.select("*").distinct().from_(subquery(first, "f"))
    names = []
    query = exp.select().from_(exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("g", quoted=True))))
    for slot in slots:
        kind = bound.kind(slot)
        assert kind is not None, "the hidden example is no variable of the clause"
        alias = f"d{slot.index}"
        on = exp.EQ(this=column("id", alias), expression=column(f"i{slot.index}", "g"))
        query = query.join(table(bound.layout.types[kind].dictionary, alias), on=on)
        names.append(named(column("name", alias), f"v{slot.index}"))
    query = query.select(*(names or [named(integer(1), "one")]))
    by = [exp.Ordered(this=column(f"i{slot.index}", "g"), nulls_first=False) for slot in slots]
    return (query.order_by(*by) if by else query).limit(most)


def _keep_to_atoms(bound: BoundShape, body: QueryBody, literal: ShapeLiteral) -> None:
    """Keep a literal to the atoms that there are of its predicate: of an open one query atoms and given ones, of a closed one what local domains allow."""
    info = bound.layout.predicates[literal.predicate]
    if not info.open:
        for slot in literal.terms:
            # Variables are kept to their domains anyway; a constant of a rule may be none of an example.
            if slot.parameter and bound.is_local(slot):
                for owner in bound.example_terms(literal):
                    body.join(domain_source(bound, slot, owner, body.alias("d")))
        return
    if info.full_scope and not any(slot.parameter for slot in literal.terms):
        return
    names = argument_columns(info)
    rows: list[exp.Query] = [exp.select(*map(column, names)).from_(subquery(atom_rows(info), "q"))]
    if info.has_given:
        rows += [given_rows(info, truth) for truth in (True, False)]
    alias = body.alias("s")
    body.join(SlotSource(subquery(union_all(rows), alias), alias, bound.columns(literal)))
