"""Counting the violated groundings of a shape's clauses in a world, and the difference between two worlds, without enumerating.

A grounding violates a clause if every negative literal's atom is true and every positive literal's atom is false. The count
over negative literals is a sum of products; positive literals, equalities and existential groups enter by
inclusion-exclusion (count with them true, subtracted), closed ones that one negative literal covers by an anti-join.
"""

from __future__ import annotations

from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.nodes import column, integer, named, subquery
from sqlrl.logic.shapes import Shape, ShapeEquality, ShapeExists, ShapeLiteral
from sqlrl.plan.enumeration import enumerate_violated
from sqlrl.plan.parts import (
    Context,
    Part,
    change_factor,
    guarded_factor,
    is_positive,
    mentions_open,
    part_factor,
    reduced_factors,
    split_parts,
    subsets,
    true_query,
)
from sqlrl.plan.semiring import Steps
from sqlrl.plan.slots import bind
from sqlrl.plan.terms import term_query, total_query
from sqlrl.plan.worlds import World

MOST_POSITIVE = 8
"""Inclusion-exclusion has two to the power of the number of positive parts terms; past this a shape is enumerated."""


def count_violated(
    shape: Shape,
    layout: Layout,
    world: World,
    *,
    parameters: TableName | None = None,
    examples: TableName | None = None,
) -> exp.Select:
    """Plan the number of violated groundings of each clause of a shape in a world.

    Returns
    -------
    exp.Select
        Columns `clause` (if the shape has parameters) and `n` (HUGEINT). A clause without a row has none; without
        parameters there is one row, whose `n` may be NULL for none.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> from sqlrl.plan.worlds import OBSERVED
    >>> [str(c.alias) for c in count_violated(friends_smoke(), people(), OBSERVED).selects]
    ['n']
    """
    context = Context(bind(shape, layout, parameters=parameters), parameters, examples, Steps([]))
    shared = {}

    def relation(part: ShapeLiteral | ShapeExists) -> tuple[exp.Query, int]:
        if part not in shared:
            shared[part] = true_query(context, part, world)
        return shared[part]

    guards, parts = split_parts(context.bound)
    if len(parts) > MOST_POSITIVE:
        return enumerate_violated(context.bound, world, parameters=parameters, examples=examples)
    terms = []
    for chosen in subsets(parts):
        factors = [guarded_factor(context, x, guards.get(x, ()), relation) for x in shape.literals if not x.positive]
        factors += [part_factor(context, x, relation(x)) for x in chosen if not isinstance(x, ShapeEquality)]
        terms.append(term_query(context, factors, chosen, -1 if len(chosen) % 2 else 1))
    return total_query(context, [t for t in terms if t is not None])


def count_groundings(
    shape: Shape, layout: Layout, *, parameters: TableName | None = None, examples: TableName | None = None
) -> exp.Select:
    """Plan the number of groundings of each clause of a shape: the product of its variables' domain sizes.

    Returns
    -------
    exp.Select
        As `count_violated`.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> count_groundings(friends_smoke(), people()).sql("duckdb")
    'SELECT CAST(9 AS INT128) AS "n"'
    """
    context = Context(bind(shape, layout, parameters=parameters), parameters, examples, Steps([]))
    single = term_query(context, [], (), 1, equalities=False)
    return total_query(context, [] if single is None else [single])


def count_difference(
    shape: Shape,
    layout: Layout,
    first: World,
    second: World,
    *,
    parameters: TableName | None = None,
    examples: TableName | None = None,
) -> exp.Select:
    """Plan how many more groundings of each clause of a shape are violated in the first world than in the second.

    A product over literals changes by a telescoping sum: literal after literal, those before it in the first
    world, itself the changed atoms with their sign, those after it in the second world. Only groundings of
    changed atoms are touched: facts are reduced to those that a chain of facts ties to a changed atom.

    Returns
    -------
    exp.Select
        As `count_violated`; `n` may be negative.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people, table_name
    >>> from sqlrl.plan.worlds import OBSERVED, World
    >>> query = count_difference(friends_smoke(), people(), World(table_name("predicted")), OBSERVED)
    >>> [cte.alias for cte in query.ctes]
    ['c0']
    """
    context = Context(bind(shape, layout, parameters=parameters), parameters, examples, Steps([]))
    every: tuple[Part, ...] = (*shape.literals, *shape.equalities, *shape.exists)
    parts = tuple(p for p in every if is_positive(p))
    changes: dict[str | ShapeExists, str] = {}
    if len(parts) > MOST_POSITIVE:
        return _enumerated_difference(context, first, second)
    terms = []
    for chosen in subsets(parts):
        members = [x for x in shape.literals if not x.positive] + [
            x for x in chosen if not isinstance(x, ShapeEquality)
        ]
        changing = [x for x in members if mentions_open(context.bound, x)]
        sign = -1 if len(chosen) % 2 else 1
        for i, pivot in enumerate(changing):
            change = change_factor(context, pivot, first, second, changes)
            others = []
            for member in members:
                if member is not pivot:
                    world = first if member in changing[:i] else second
                    others.append(part_factor(context, member, true_query(context, member, world)))
            factors = [change, *reduced_factors(context, others, change)]
            terms.append(term_query(context, factors, chosen, sign))
    return total_query(context, [t for t in terms if t is not None])


def _enumerated_difference(context: Context, first: World, second: World) -> exp.Select:
    """Count both worlds and subtract."""
    group = [column("clause")] if context.parameters is not None else []
    signed = []
    for i, (world, sign) in enumerate(((first, 1), (second, -1))):
        query = enumerate_violated(context.bound, world, parameters=context.parameters, examples=context.examples)
        change = exp.Mul(this=column("n"), expression=integer(sign))
        signed.append(exp.select(*group, named(change, "n")).from_(subquery(query, f"world{i}")))
    return total_query(context, signed)
