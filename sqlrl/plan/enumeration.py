"""Counting by enumeration, for clauses with so many positive parts that inclusion-exclusion would have too many terms."""

from __future__ import annotations

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, named, star_count, subquery
from sqlrl.logic.shapes import Slot
from sqlrl.plan.body import Body
from sqlrl.plan.independent import IndependentPart
from sqlrl.plan.parameters import parameter_keys, parameter_source
from sqlrl.plan.slots import BoundShape, outer_slots
from sqlrl.plan.sources import Source
from sqlrl.plan.tuples import holding, true_source
from sqlrl.plan.worlds import World


def enumerate_violated(
    bound: BoundShape,
    part: IndependentPart,
    world: World,
    *,
    parameters: TableName | None = None,
    examples: TableName | None = None,
    apart: bool = False,
) -> exp.Select:
    """Plan the number of violated groundings of a part of each clause of a shape by joining all of its literals.

    Parameters
    ----------
    bound : BoundShape
        The shape.
    part : IndependentPart
    world : World
    parameters : TableName, optional
        The parameter table of the shape, if the part mentions a parameter.
    examples : TableName, optional
    apart : bool
        Count each different row of the parameter table by itself, and once.

    Returns
    -------
    exp.Select
        Columns `clause` (if there are parameters; with `apart` all columns of their table) and `n` (HUGEINT); one row for each clause
        that has any.

    Examples
    --------
    >>> from sqlrl.plan.independent import independent_parts
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> from sqlrl.plan.slots import bind
    >>> from sqlrl.plan.worlds import OBSERVED
    >>> bound = bind(friends_smoke(), people())
    >>> (part,) = independent_parts(bound)
    >>> print(enumerate_violated(bound, part, OBSERVED).sql("duckdb").replace('"', ""))
    SELECT CAST(COUNT(*) AS INT128) AS n FROM db.main.friends AS et0 WHERE NOT EXISTS(SELECT 1 FROM
    (SELECT a.a0 FROM db.main.atoms AS a WHERE a.truth) AS et1 WHERE et1.a0 = et0.a1)
    """
    shape = part.bound.shape
    body = Body(bound, "e")
    keys = () if parameters is None else parameter_keys(shape, apart=apart)
    if parameters is not None:
        body.join(parameter_source(parameters, shape, apart=apart))
    for literal in (x for x in shape.literals if not x.positive):
        body.join(true_source(bound, body, literal, world))
        body.learn_domains(literal)
    for slot in part.variables:
        body.require(slot)
    body.restrict(examples, part.asked)
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
    columns = [named(column(name, "p"), name) for name in keys]
    query = body.select([*columns, named(cast(star_count(), "HUGEINT"), "n")])
    return query.group_by(*(column(name, "p") for name in keys)) if keys else query
