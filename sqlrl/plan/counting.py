"""Counting the violated groundings of a shape's clauses in a world, and their groundings, without enumerating.

A grounding violates a clause if every negative literal's atom is true and every positive literal's atom is false. The count
over negative literals is a sum of products; positive literals, equalities and existential groups enter by
inclusion-exclusion (count with them true, subtracted), closed ones that one negative literal covers by an anti-join. Parts of a
clause that share no variable are counted alone, and their counts multiplied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from math import prod

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, integer, named, star_count, subquery
from sqlrl.logic.shapes import Slot
from sqlrl.plan.body import QueryBody
from sqlrl.plan.count_plan import CountPlan, GroupColumns, clause_plan, part_plan
from sqlrl.plan.disjunct_factors import ExpansionTerm, domain_size, factor_of, products, true_tuples
from sqlrl.plan.disjuncts import (
    Disjunct,
    components,
    disjunct_slots,
    disjuncts,
    negative_literals,
    reduced,
    split_positive,
)
from sqlrl.plan.semiring import QuerySteps
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import World, equal_rows, parameter_keys, parameter_source
from sqlrl.plan.tuples import group_source, true_source

MOST_POSITIVE = 8
"""Inclusion-exclusion has two to the power of the number of positive disjuncts terms; past this a part is enumerated."""

FEW_POSITIVE = 5
"""Past this the database plans longer than it joins, if a part has few groundings."""

FEW_GROUNDINGS = 100_000


# ---- parts that share no variable --------------------------------------------------------------------


def independent_counts(bound: BoundShape, examples: TableName | None, by: GroupColumns = ()) -> list[CountPlan]:
    """Split a clause into counts of parts that share no variable, those with parameters by clause; a grounding violates it if it violates each."""
    mentioned = {x: disjunct_slots(bound, x) for x in disjuncts(bound.shape)}
    variables = {slot: frozenset((slot, *bound.owners.get(slot, ()))) for slot in bound.variables}
    edges = [frozenset(s for s in found if not s.parameter) for found in (*mentioned.values(), *variables.values())]
    groups: list[tuple[frozenset[Slot], list[Disjunct]]] = []
    unmentioned = frozenset[Slot]()
    for slots in components(edges, set(bound.variables)):
        mine = [x for x, found in mentioned.items() if found & slots]
        if mine:
            groups.append((slots, mine))
        else:
            unmentioned |= slots
    groups += [(frozenset(), [x]) for x, found in mentioned.items() if all(slot.parameter for slot in found)]
    if len(groups) < 2:
        return [clause_plan(bound, examples, by)]
    # Variables that occur in no literal belong to the first part.
    groups[0] = (groups[0][0] | unmentioned, groups[0][1])
    plans = [part_plan(bound, examples, slots, mine, by=by) for slots, mine in groups]
    # A product of sums over the rows of a clause would not be the sum of their products.
    apart = sum(plan.parameters is not None for plan in plans) > 1
    return [replace(plan, by_row=apart) for plan in plans]


def multiplied(counts: Sequence[exp.Select], keys: Sequence[str] = ("clause",), by: Sequence[str] = ()) -> exp.Select:
    """Multiply the counts of independent parts: columns `clause` (if some have it), those of `by`, and `n`."""
    # Counts by clause have the columns `keys`: `clause`, and others where a clause has several rows, whose products are added up.
    if len(counts) == 1:
        return counts[0]
    # One by clause first: the others join on its clauses.
    ordered = sorted(counts, key=lambda count: not _is_keyed(count))
    keyed = [_is_keyed(count) for count in ordered]
    product: exp.Expression = column("n", "part0")
    for i in range(1, len(ordered)):
        product = exp.Mul(this=product, expression=column("n", f"part{i}"))
    several = keyed[0] and len(keys) > 1
    product = cast(exp.Sum(this=product), "INT128") if several else product
    place = {name: f"part{i}" for i, count in enumerate(ordered) for name in count.named_selects}
    groups = [*([column("clause", "part0")] if keyed[0] else []), *(column(name, place[name]) for name in by)]
    query = exp.select(*groups, named(product, "n")).from_(subquery(ordered[0], "part0"))
    for i, other in enumerate(ordered[1:], start=1):
        same = exp.and_(*(exp.EQ(this=column(k, f"part{i}"), expression=column(k, "part0")) for k in keys))
        on, join_type = (same, "INNER") if keyed[i] else (None, "CROSS")
        query = query.join(subquery(other, f"part{i}"), on=on, join_type=join_type)
    if by:
        # Products of 0 are left out.
        # A count by no variable may be 0, or NULL for none.
        plain = [i for i, count in enumerate(ordered) if not set(by) & set(count.named_selects)]
        query = query.where(*(exp.NEQ(this=column("n", f"part{i}"), expression=integer(0)) for i in plain))
    return query.group_by(*(c.copy() for c in groups)) if several else query


def _is_keyed(count: exp.Select) -> bool:
    return "clause" in count.named_selects


# ---- enumeration, where inclusion-exclusion would have too many terms --------------------------------


def _is_enumerated(plan: CountPlan) -> bool:
    number = len(split_positive(plan.bound)[1])
    groundings = prod(domain_size(plan.bound, slot) for slot in plan.variables)
    return number > MOST_POSITIVE or (number > FEW_POSITIVE and groundings <= FEW_GROUNDINGS)


def _enumerated(bound: BoundShape, plan: CountPlan, world: World) -> exp.Select:
    """Plan the violated groundings of a part of a clause by joining all its literals, with the columns of the count."""
    shape = plan.bound.shape
    body = QueryBody(bound, "e")
    if plan.parameters is not None:
        body.join(parameter_source(plan.parameters, shape, apart=plan.by_row))
    for literal in negative_literals(shape):
        body.join(true_source(bound, body, literal, world))
        body.learn_domains(literal)
    for slot in plan.variables:
        body.require(slot)
    body.restrict(plan.examples, plan.example_slots)
    for literal in (x for x in shape.literals if x.positive):
        body.without(true_source(bound, body, literal, world))
    for group in shape.exists:
        body.without(group_source(bound, body, group, world, examples=plan.examples))
    for equality in shape.equalities:
        body.equal(equality, holds=False)
    columns = [named(column(name, "p"), name) for name in plan.keys]
    columns += [named(body.known[slot].copy(), name) for name, slot in plan.by]
    query = body.select([*columns, named(cast(star_count(), "INT128"), "n")])
    return query.group_by(*(x.this.copy() for x in columns)) if columns else query


def enumerated_by_count(bound: BoundShape, world: World, examples: TableName | None = None) -> list[exp.Select]:
    """Plan, with the columns of `count_violated`, how many groundings it enumerates of each part with too many positive literals."""
    found = []
    for part in filter(_is_enumerated, independent_counts(bound, examples)):
        plan = replace(part, parameters=bound.parameters, by_row=False)
        true = partial(true_tuples, bound, world=world, examples=examples)
        factors = [factor_of(plan.bound, x, true, plan.steps) for x in negative_literals(plan.bound.shape)]
        found.append(plan.total([plan.query(factors)]))
    return found


# ---- counting ----------------------------------------------------------------------------------------


def count_violated(
    bound: BoundShape, world: World, examples: TableName | None = None, by: GroupColumns = ()
) -> exp.Select:
    """Plan the violated groundings in a world: `clause` (with parameters), columns of `by` (ids), `n` (HUGEINT; none: no row, or NULL)."""
    counts, keys = violated_parts(bound, world, examples, by)
    if bound.parameters is not None and len(keys) > 1:
        counts.append(equal_rows(bound.parameters, bound.shape))
    return multiplied(counts, keys, [name for name, _ in by])


def violated_parts(
    bound: BoundShape, world: World, examples: TableName | None, by: GroupColumns = ()
) -> tuple[list[exp.Select], tuple[str, ...]]:
    """Plan the violated groundings of each part of a clause, by its variables of `by`; and the columns that tell rows of a clause apart."""
    plans = independent_counts(bound, examples, by)
    counts = []
    for plan in plans:
        if _is_enumerated(plan):
            counts.append(_enumerated(bound, plan, world))
        else:
            counts.append(plan.total([plan.query(*term) for term in _products(bound, plan, world)]))
    return counts, parameter_keys(bound.shape, apart=plans[0].by_row)


def joined_by_count(bound: BoundShape, world: World, examples: TableName | None, by: GroupColumns) -> list[exp.Select]:
    """Plan how many rows `count_violated` joins for variables of `by` that no one literal has; empty if no join is larger than a relation."""
    # Each count has the columns of `count_violated` without `by`.
    found = []
    for plan in independent_counts(bound, examples, by):
        # What ties the variables to each other is enumerated.
        if plan.by and not _is_enumerated(plan):
            for factors, chosen, _ in _products(bound, plan, world):
                # Each is a query of its own, with the steps that it needs.
                own = replace(plan, steps=QuerySteps([], aliases=plan.steps.aliases))
                found.append(own.joined(factors, chosen))
    return [query for query in found if query is not None]


def _products(bound: BoundShape, plan: CountPlan, world: World) -> Iterator[ExpansionTerm]:
    """Yield the terms of inclusion-exclusion of a part of a clause."""
    # Where the tuples of a literal or group are sought is a matter of the whole clause. They are planned once.
    return products(plan.bound, plan.steps, cache(partial(true_tuples, bound, world=world, examples=plan.examples)))


def count_groundings(bound: BoundShape, examples: TableName | None = None) -> exp.Select:
    """Plan the number of groundings of each clause, the product of its domain sizes, with the columns of `count_violated`."""
    plan = replace(clause_plan(bound, examples), bound=reduced(bound, ()))
    return plan.total([plan.query(())])


def alike_groundings(bound: BoundShape) -> int | tuple[object, ...] | None:
    """Return the number of groundings of each of a shape's clauses, or a key that determines it; None if it depends on their constants."""
    variables = tuple((slot, bound.kind(slot), bound.owners.get(slot, ())) for slot in bound.variables)
    asked = (*bound.restricted, *(owner for _, _, owners in variables for owner in owners))
    if not asked:
        # Nothing ties a variable to an example: the number is the product of the domain sizes.
        return prod(domain_size(bound, slot) for slot, _, _ in variables)
    # For all shapes with one key `count_groundings` without parameters gives the number of groundings of each clause.
    return None if any(slot.parameter for slot in asked) else (variables, bound.restricted)
