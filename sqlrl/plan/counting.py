"""Counting the violated groundings of a shape's clauses in a world, and the difference between two worlds, without enumerating.

A grounding violates a clause if every negative literal's atom is true and every positive literal's atom is false. The count
over negative literals is a sum of products; positive literals, equalities and existential groups enter by
inclusion-exclusion (count with them true, subtracted), closed ones that one negative literal covers by an anti-join. Parts of a
clause that share no variable are counted alone, and their counts multiplied.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.nodes import column, integer, named, subquery
from sqlrl.logic.shapes import Shape, ShapeEquality, ShapeExists, ShapeLiteral
from sqlrl.plan.enumeration import enumerate_violated
from sqlrl.plan.independent import IndependentPart, independent_parts, product_query
from sqlrl.plan.parameters import equal_rows, parameter_keys
from sqlrl.plan.parts import (
    Context,
    Part,
    change_factor,
    domain_size,
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
from sqlrl.plan.slots import BoundShape, bind
from sqlrl.plan.terms import term_query, total_query
from sqlrl.plan.worlds import World

MOST_POSITIVE = 8
"""Inclusion-exclusion has two to the power of the number of positive parts terms; past this a part is enumerated."""

FEW_POSITIVE = 5
"""Past this the database plans longer than it joins, if a part has few groundings."""

FEW_GROUNDINGS = 100_000

MOST_CHANGING = 4
"""A difference has a term for each literal of each of these terms; past this many positive parts both worlds are counted."""


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
        parameters there is at most one row, whose `n` may be NULL for none.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> from sqlrl.plan.worlds import OBSERVED
    >>> [str(c.alias) for c in count_violated(friends_smoke(), people(), OBSERVED).selects]
    ['n']
    """
    bound = bind(shape, layout, parameters=parameters)
    parts = independent_parts(bound)
    # A product of sums over the rows of a clause would not be the sum of their products.
    apart = parameters is not None and sum(part.keyed for part in parts) > 1
    counts = []
    for number, part in enumerate(parts):
        keyed = parameters is not None and part.keyed
        # Other engines put the steps of all parts in front of the whole query.
        steps = Steps([], prefix=f"part{number}_" if len(parts) > 1 else "")
        context = Context(part.bound, parameters if keyed else None, examples, steps, apart)
        counts.append((_violated(bound, part, context, world), keyed))
    if parameters is not None and apart:
        counts.append((equal_rows(parameters, shape), True))
    return counts[0][0] if len(counts) == 1 else product_query(counts, parameter_keys(shape, apart=apart))


def _violated(bound: BoundShape, part: IndependentPart, context: Context, world: World) -> exp.Select:
    """Plan the number of violated groundings of a part of a clause."""
    # Where the tuples of a literal or group are sought is a matter of the whole clause.
    whole = replace(context, bound=bound)
    shared = dict[ShapeLiteral | ShapeExists, tuple[exp.Query, int]]()

    def relation(x: ShapeLiteral | ShapeExists) -> tuple[exp.Query, int]:
        """Return the true tuples of a literal or group, planned once."""
        if x not in shared:
            shared[x] = true_query(whole, x, world)
        return shared[x]

    guards, positive = split_parts(part.bound)
    if _is_enumerated(part):
        return enumerate_violated(
            bound, part, world, parameters=context.parameters, examples=context.examples, apart=context.apart
        )
    terms = []
    for chosen in subsets(positive):
        factors = [guarded_factor(context, x, guards.get(x, ()), relation) for x in _negative(part.bound)]
        factors += [part_factor(context, x, relation(x)) for x in chosen if not isinstance(x, ShapeEquality)]
        sign = -1 if len(chosen) % 2 else 1
        terms.append(term_query(context, factors, chosen, sign, variables=part.variables, restricted=part.asked))
    return total_query(context, [t for t in terms if t is not None])


def enumerated_by_count(
    shape: Shape,
    layout: Layout,
    world: World,
    *,
    parameters: TableName | None = None,
    examples: TableName | None = None,
) -> list[exp.Select]:
    """Plan what `count_violated` enumerates: for each part of a clause with too many positive literals the groundings that it joins.

    Returns
    -------
    list of exp.Select
        Each as `count_violated`; none if nothing is enumerated.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> from sqlrl.plan.worlds import OBSERVED
    >>> enumerated_by_count(friends_smoke(), people(), OBSERVED)
    []
    """
    bound = bind(shape, layout, parameters=parameters)
    found = []
    for part in independent_parts(bound):
        if _is_enumerated(part):
            context = Context(part.bound, parameters, examples, Steps([]))
            factors = [part_factor(context, x, true_query(context, x, world)) for x in _negative(part.bound)]
            term = term_query(context, factors, (), 1, variables=part.variables, restricted=part.asked)
            found.append(total_query(context, [] if term is None else [term]))
    return found


def _is_enumerated(part: IndependentPart) -> bool:
    number = len(split_parts(part.bound)[1])
    groundings = prod(domain_size(part.bound, slot) for slot in part.variables)
    return number > MOST_POSITIVE or (number > FEW_POSITIVE and groundings <= FEW_GROUNDINGS)


def _negative(bound: BoundShape) -> list[ShapeLiteral]:
    return [x for x in bound.shape.literals if not x.positive]


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


def alike_groundings(shape: Shape, layout: Layout) -> int | tuple[object, ...] | None:
    """Return what the number of groundings of a shape's clauses depends on; None if it depends on their constants.

    An integer is that number itself. Where two shapes have the same, `count_groundings` without parameters gives the number of groundings of each clause of both.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> alike_groundings(friends_smoke(), people())
    9
    """
    bound = bind(shape, layout)
    variables = tuple((slot, bound.kind(slot), bound.owners.get(slot, ())) for slot in bound.variables)
    asked = (*bound.restricted, *(owner for _, _, owners in variables for owner in owners))
    if not asked:
        # Nothing ties a variable to an example: the number is the product of the domain sizes.
        return prod(domain_size(bound, slot) for slot, _, _ in variables)
    return None if any(slot.parameter for slot in asked) else (variables, bound.restricted)


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
    changed atoms are touched: facts are reduced to those that a chain of facts ties to a changed atom. Of clauses with many
    positive literals both worlds are counted.

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
    if len(parts) > MOST_CHANGING:
        return _subtracted(context, first, second)
    terms = []
    for chosen in subsets(parts):
        members = [*_negative(context.bound), *(x for x in chosen if not isinstance(x, ShapeEquality))]
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


def _subtracted(context: Context, first: World, second: World) -> exp.Select:
    """Count both worlds and subtract."""
    group = [column("clause")] if context.parameters is not None else []
    signed = []
    for i, (world, sign) in enumerate(((first, 1), (second, -1))):
        shape, layout = context.bound.shape, context.bound.layout
        query = count_violated(shape, layout, world, parameters=context.parameters, examples=context.examples)
        change = exp.Mul(this=column("n"), expression=integer(sign))
        signed.append(exp.select(*group, named(change, "n")).from_(subquery(query, f"world{i}")))
    return total_query(context, signed)
