"""A few groundings of a clause in which some literals are true and some false, by name."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import column, integer, named
from sqlrl.logic.shapes import ShapeLiteral, Slot
from sqlrl.plan.body import Body
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import OBSERVED, parameter_source, table
from sqlrl.plan.tuples import true_source


def some_groundings(
    bound: BoundShape,
    true: Sequence[ShapeLiteral],
    false: Sequence[ShapeLiteral],
    *,
    differ: bool,
    examples: TableName | None,
    parameters: TableName | None,
    most: int,
) -> exp.Select:
    """Plan groundings of a clause in which the atoms of some literals are true, and those of others false.

    With `differ` its equalities are false, too. Columns `v0, v1, ...`, the names of the constants of its variables; the first ones in the order of ids.

    Examples
    --------
    >>> from sqlrl.plan.sample_layout import friends_smoke, people
    >>> from sqlrl.plan.slots import bind
    >>> bound = bind(friends_smoke(), people())
    >>> friends, smokes = bound.shape.literals
    >>> query = some_groundings(bound, [friends], [smokes], differ=True, examples=None, parameters=None, most=3)
    >>> query.named_selects, query.sql("duckdb").count("NOT EXISTS")
    (['v0', 'v1'], 1)
    """
    body = Body(bound, "e")
    if parameters is not None:
        body.join(parameter_source(parameters, bound.shape, apart=False))
    for literal in true:
        body.join(true_source(bound, body, literal, OBSERVED))
        body.learn_domains(literal)
    for slot in bound.variables:
        body.require(slot)
    body.restrict(examples, bound.restricted)
    for literal in false:
        body.without(true_source(bound, body, literal, OBSERVED))
    for equality in bound.shape.equalities:
        if differ:
            body.equal(equality, holds=False)
    slots = [Slot(False, i) for i in bound.shape.universal()]
    ids = [named(body.known[slot].copy(), f"i{slot.index}") for slot in slots]
    rows = body.select(ids or [named(integer(1), "one")])
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
    order = [exp.Ordered(this=column(f"i{slot.index}", "g"), nulls_first=False) for slot in slots]
    return query.order_by(*order).limit(most) if order else query.limit(most)
