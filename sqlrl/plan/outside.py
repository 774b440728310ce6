"""Groundings outside of a scope: where they are all that a variable ranges over, they are counted, not enumerated.

A positive open literal is false outside of its scope, so that the evidence violates a clause that has no other open literal there. As many
such groundings as there are, their number is all that anyone asks for.
"""

from __future__ import annotations

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import column, integer, named, subquery, union_all
from sqlrl.logic.shapes import ShapeLiteral
from sqlrl.plan.counting import count_violated
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import POSSIBLE


def loose_literal(bound: BoundShape) -> ShapeLiteral | None:
    """Return the literal outside of whose atoms the groundings of a clause are counted; None if all are enumerated."""
    shape = bound.shape
    # The literal is the only open one, positive, and has a variable that no literal with evidence joins.
    open_ = [x for x in shape.literals if bound.info(x).open]
    if len(open_) != 1 or shape.exists:
        return None
    (literal,) = open_
    if not literal.positive or bound.covers(literal):
        return None
    joined = {slot for x in shape.literals if not (x.positive or bound.info(x).open) for _, slot in bound.columns(x)}
    loose = any(not slot.parameter and slot not in joined for slot in literal.terms)
    return literal if loose else None


def with_outside(rows: exp.Select, bound: BoundShape, examples: TableName | None) -> exp.Select:
    """Add to the rows about a loose literal's atoms one for each clause: `l0` 0, and the groundings that evidence violates as `multiplicity`."""
    # The evidence violates what is violated even where every query atom is true.
    violated = count_violated(bound, POSSIBLE, examples)
    shown = [column("clause", "q")] if bound.parameters is not None else []
    outside = exp.select(*shown, named(integer(0), "l0"), named(column("n", "q"), "multiplicity"))
    outside = outside.from_(subquery(violated, "q")).where(exp.GT(this=column("n", "q"), expression=integer(0)))
    names = [*(["clause"] if bound.parameters is not None else []), "l0", "multiplicity"]
    together = subquery(union_all([rows, outside]), "g")
    return exp.select(*(column(name, "g") for name in names)).from_(together)
