"""Counting by enumeration, for clauses with so many positive parts that inclusion-exclusion would have too many terms."""

from __future__ import annotations

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, named, star_count, subquery
from sqlrl.logic.shapes import Slot
from sqlrl.plan.body import Body
from sqlrl.plan.slots import BoundShape, outer_slots
from sqlrl.plan.sources import Source
from sqlrl.plan.sql import table
from sqlrl.plan.tuples import holding, true_source
from sqlrl.plan.worlds import World


def enumerate_violated(
    bound: BoundShape, world: World, *, parameters: TableName | None = None, examples: TableName | None = None
) -> exp.Select:
    """Plan the number of violated groundings of each clause of a shape by joining all of its literals.

    Returns
    -------
    exp.Select
        Columns `clause` (if the shape has parameters) and `n` (HUGEINT); one row for each clause that has any.

    Examples
    --------
    >>> from sqlrl.catalog.layout import Layout, PredicateInfo, TypeInfo
    >>> from sqlrl.logic.shapes import Shape, ShapeLiteral
    >>> from sqlrl.plan.slots import bind
    >>> from sqlrl.plan.worlds import OBSERVED
    >>> facts, people, examples = (TableName("db", "main", name) for name in ("smokes", "people", "examples"))
    >>> smokes = PredicateInfo("Smokes", ("person",), False, facts)
    >>> layout = Layout(
    ...     {"Smokes": smokes}, {"person": TypeInfo("person", people, 3)}, None, examples, 1, ("db", "main")
    ... )
    >>> shape = Shape(("person",), (), (ShapeLiteral("Smokes", False, (Slot(False, 0),)),))
    >>> enumerate_violated(bind(shape, layout), OBSERVED).sql("duckdb")
    'SELECT CAST(COUNT(*) AS INT128) AS "n" FROM "db"."main"."smokes" AS "et0"'
    """
    shape = bound.shape
    body = Body(bound, "e")
    columns: list[exp.Expression] = []
    if parameters is not None:
        slots = tuple((f"k{i}", Slot(True, i)) for i in range(len(shape.parameters)))
        body.join(Source(table(parameters, "p"), "p", slots))
        columns.append(named(column("clause", "p"), "clause"))
    for literal in (x for x in shape.literals if not x.positive):
        body.join(true_source(bound, body, literal, world))
        body.learn_domains(literal)
    variables = [Slot(False, i) for i in shape.universal()]
    if bound.hidden is not None:
        variables.append(bound.hidden)
    for slot in variables:
        body.require(slot)
    body.restrict(examples, [*variables, *(Slot(True, i) for i in range(len(shape.parameters)))])
    for literal in (x for x in shape.literals if x.positive):
        body.without(true_source(bound, body, literal, world))
    for group in shape.exists:
        outer = outer_slots(bound, group)
        inside = [Slot(False, i) for i in group.variables]
        query = holding(bound, outer, group.literals, group.equalities, world, inside=inside, examples=examples)
        alias = body.alias("g")
        body.without(Source(subquery(query, alias), alias, tuple((f"x{i}", s) for i, s in enumerate(outer))))
    for equality in shape.equalities:
        body.equal(equality, holds=False)
    query = body.select([*columns, named(cast(star_count(), "HUGEINT"), "n")])
    return query.group_by(column("clause", "p")) if columns else query
