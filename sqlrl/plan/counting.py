"""Counting the violated groundings of a shape's clauses in a world, and the difference between two worlds, without enumerating.

A grounding violates a clause if every negative literal's atom is true and every positive literal's atom is false. The count
over negative literals is a sum of products; positive literals, equalities and existential groups enter by
inclusion-exclusion (count with them true, subtracted), closed ones that one negative literal covers by an anti-join. Parts of a
clause that share no variable are counted alone, and their counts multiplied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, integer, named, star_count, subquery
from sqlrl.logic.shapes import ShapeEquality, ShapeExists, ShapeLiteral, Slot
from sqlrl.plan.body import Body
from sqlrl.plan.counted_variables import Item, components, item_slots, items_of, reduced
from sqlrl.plan.semiring import Factor, Steps
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import World, equal_rows, parameter_keys, parameter_source
from sqlrl.plan.terms import (
    Context,
    Groups,
    Part,
    change_factor,
    domain_size,
    guarded_factor,
    is_positive,
    joined_query,
    mentions_open,
    part_factor,
    reduced_factors,
    split_parts,
    subsets,
    term_query,
    total_query,
    true_query,
)
from sqlrl.plan.tuples import group_source, true_source

MOST_POSITIVE = 8
"""Inclusion-exclusion has two to the power of the number of positive parts terms; past this a part is enumerated."""

FEW_POSITIVE = 5
"""Past this the database plans longer than it joins, if a part has few groundings."""

FEW_GROUNDINGS = 100_000

MOST_CHANGING = 4
"""A difference has a term for each literal of each of these terms; past this many positive parts both worlds are counted."""


# ---- parts that share no variable --------------------------------------------------------------------


@dataclass(frozen=True)
class IndependentPart:
    """Literals, equalities and existential groups of a clause that share no variable with the others."""

    bound: BoundShape  # The clause reduced to them.
    variables: tuple[Slot, ...]
    asked: tuple[Slot, ...]  # Those of their slots to which `examples` of a query applies.
    keyed: bool  # They mention a parameter, so that each clause has a number of its own.


def independent_parts(bound: BoundShape) -> tuple[IndependentPart, ...]:
    """Split a clause into parts that share no variable; a grounding violates it if it violates each of them."""
    mentioned = {item: item_slots(bound, item) for item in items_of(bound.shape)}
    variables = {slot: frozenset((slot, *bound.owners.get(slot, ()))) for slot in bound.variables}
    edges = [frozenset(s for s in found if not s.parameter) for found in (*mentioned.values(), *variables.values())]
    groups: list[tuple[frozenset[Slot], list[Item]]] = []
    unmentioned = frozenset[Slot]()
    for slots in components(edges, set(bound.variables)):
        mine = [item for item, found in mentioned.items() if found & slots]
        if mine:
            groups.append((slots, mine))
        else:
            unmentioned |= slots
    groups += [(frozenset(), [item]) for item, found in mentioned.items() if all(slot.parameter for slot in found)]
    if len(groups) < 2:
        return (IndependentPart(bound, bound.variables, bound.restricted, keyed=True),)
    # Variables that occur in no literal belong to the first part.
    groups[0] = (groups[0][0] | unmentioned, groups[0][1])
    return tuple(_part(bound, slots, items) for slots, items in groups)


def _part(bound: BoundShape, slots: frozenset[Slot], items: Sequence[Item]) -> IndependentPart:
    used = slots.union(*(item_slots(bound, item) for item in items), *(bound.owners.get(slot, ()) for slot in slots))
    return IndependentPart(
        reduced(bound, items),
        tuple(slot for slot in bound.variables if slot in slots),
        tuple(slot for slot in bound.restricted if slot in used),
        any(slot.parameter for slot in used),
    )


def product_query(
    counts: Sequence[tuple[exp.Select, bool]], keys: Sequence[str] = ("clause",), by: Sequence[str] = ()
) -> exp.Select:
    """Multiply the counts of independent parts: columns `clause` (if some query is marked), those of `by`, and `n`."""
    # Marked queries have the columns `keys`: `clause`, and others where a clause has several rows, whose products are added up.
    # A marked one first: the others join on its clauses.
    ordered = sorted(counts, key=lambda pair: not pair[1])
    product: exp.Expression = column("n", "part0")
    for i in range(1, len(ordered)):
        product = exp.Mul(this=product, expression=column("n", f"part{i}"))
    clause = [column("clause", "part0")] if ordered[0][1] else []
    several = bool(clause) and len(keys) > 1
    product = cast(exp.Sum(this=product), "INT128") if several else product
    place = {name: f"part{i}" for i, (part, _) in enumerate(ordered) for name in part.named_selects}
    groups = [column(name, place[name]) for name in by]
    query = exp.select(*clause, *groups, named(product, "n")).from_(subquery(ordered[0][0], "part0"))
    for i, (other, keyed) in enumerate(ordered[1:], start=1):
        same = exp.and_(*(exp.EQ(this=column(k, f"part{i}"), expression=column(k, "part0")) for k in keys))
        query = query.join(
            subquery(other, f"part{i}"), on=same if keyed else None, join_type="INNER" if keyed else "CROSS"
        )
    if by:
        # Products of 0 are left out.
        # A count by no variable may be 0, or NULL for none.
        plain = [i for i, (part, _) in enumerate(ordered) if not set(by) & set(part.named_selects)]
        some = [exp.NEQ(this=column("n", f"part{i}"), expression=integer(0)) for i in plain]
        query = query.where(*some)
    return query.group_by(*(c.copy() for c in (*clause, *groups))) if several else query


# ---- enumeration, where inclusion-exclusion would have too many terms --------------------------------


def _enumerate_violated(
    bound: BoundShape,
    part: IndependentPart,
    world: World,
    *,
    parameters: TableName | None = None,
    examples: TableName | None = None,
    apart: bool = False,
    by: Groups = (),
) -> exp.Select:
    """Plan the violated groundings of a part of each clause by joining all its literals: clause keys, columns of `by`, and `n` (HUGEINT)."""
    shape = part.bound.shape
    body = Body(bound, "e")
    # `apart` counts each different row of the parameter table by itself, and once.
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
        body.without(group_source(bound, body, group, world, examples=examples))
    for equality in shape.equalities:
        body.equal(equality, holds=False)
    columns = [named(column(name, "p"), name) for name in keys]
    columns += [named(body.known[slot].copy(), name) for name, slot in by]
    query = body.select([*columns, named(cast(star_count(), "INT128"), "n")])
    return query.group_by(*(x.this.copy() for x in columns)) if columns else query


# ---- counting ----------------------------------------------------------------------------------------


def count_violated(bound: BoundShape, world: World, examples: TableName | None = None, by: Groups = ()) -> exp.Select:
    """Plan the violated groundings in a world: `clause` (with parameters), columns of `by` (ids), `n` (HUGEINT; none: no row, or NULL)."""
    shape, parameters = bound.shape, bound.parameters
    counts = violated_parts(bound, independent_parts(bound), world, examples, by)
    apart = sum(keyed for _, keyed in counts) > 1
    if parameters is not None and apart:
        counts.append((equal_rows(parameters, shape), True))
    if len(counts) == 1:
        return counts[0][0]
    return product_query(counts, parameter_keys(shape, apart=apart), [name for name, _ in by])


def part_contexts(
    bound: BoundShape, parts: Sequence[IndependentPart], examples: TableName | None, by: Groups = ()
) -> list[Context]:
    """Return what the terms of each part share; without parameters where the part mentions none."""
    # A product of sums over the rows of a clause would not be the sum of their products.
    parameters = bound.parameters
    apart = parameters is not None and sum(part.keyed for part in parts) > 1
    return [
        Context(
            part.bound,
            parameters if part.keyed else None,
            examples,
            Steps([]),
            apart,
            tuple((name, slot) for name, slot in by if slot in part.variables),
        )
        for part in parts
    ]


def violated_parts(
    bound: BoundShape,
    parts: Sequence[IndependentPart],
    world: World,
    examples: TableName | None,
    by: Groups = (),
) -> list[tuple[exp.Select, bool]]:
    """Plan the violated groundings of each part, by its variables of `by`, and tell which queries have the columns of `parameter_keys`."""
    contexts = part_contexts(bound, parts, examples, by)
    return [
        (_violated(bound, part, context, world), context.parameters is not None)
        for part, context in zip(parts, contexts, strict=True)
    ]


def _violated(bound: BoundShape, part: IndependentPart, context: Context, world: World) -> exp.Select:
    """Plan the number of violated groundings of a part of a clause."""
    if _is_enumerated(part):
        return _enumerate_violated(
            bound,
            part,
            world,
            parameters=context.parameters,
            examples=context.examples,
            apart=context.apart,
            by=context.by,
        )
    terms = []
    for chosen, factors in _products(bound, part, context, world):
        sign = -1 if len(chosen) % 2 else 1
        terms.append(term_query(context, factors, chosen, sign, variables=part.variables, restricted=part.asked))
    return total_query(context, [t for t in terms if t is not None])


def _products(
    bound: BoundShape, part: IndependentPart, context: Context, world: World
) -> Iterator[tuple[tuple[Part, ...], list[Factor]]]:
    """Yield the terms of inclusion-exclusion of a part: the positive parts that are true in it, and its factors."""
    # Where the tuples of a literal or group are sought is a matter of the whole clause.
    whole = replace(context, bound=bound)
    shared = dict[ShapeLiteral | ShapeExists, tuple[exp.Query, int]]()

    def relation(x: ShapeLiteral | ShapeExists) -> tuple[exp.Query, int]:
        """Return the true tuples of a literal or group, planned once."""
        if x not in shared:
            shared[x] = true_query(whole, x, world)
        return shared[x]

    guards, positive = split_parts(part.bound)
    for chosen in subsets(positive):
        factors = [guarded_factor(context, x, guards.get(x, ()), relation) for x in _negative(part.bound)]
        factors += [part_factor(context, x, relation(x)) for x in chosen if not isinstance(x, ShapeEquality)]
        yield chosen, factors


def enumerated_by_count(bound: BoundShape, world: World, examples: TableName | None = None) -> list[exp.Select]:
    """Plan, with the columns of `count_violated`, how many groundings it enumerates of each part with too many positive literals."""
    found = []
    for part in independent_parts(bound):
        if _is_enumerated(part):
            context = Context(part.bound, bound.parameters, examples, Steps([]))
            factors = [part_factor(context, x, true_query(context, x, world)) for x in _negative(part.bound)]
            term = term_query(context, factors, (), 1, variables=part.variables, restricted=part.asked)
            found.append(total_query(context, [] if term is None else [term]))
    return found


def joined_by_count(bound: BoundShape, world: World, examples: TableName | None, by: Groups) -> list[exp.Select]:
    """Plan how many rows `count_violated` joins for variables of `by` that no one literal has; empty if no join is larger than a relation."""
    # Each count has the columns of `count_violated` without `by`.
    found = []
    parts = independent_parts(bound)
    for part, context in zip(parts, part_contexts(bound, parts, examples, by), strict=True):
        # What ties the variables to each other is enumerated.
        if context.by and not _is_enumerated(part):
            for chosen, factors in _products(bound, part, context, world):
                # Each is a query of its own, with the steps that it needs.
                own = replace(context, steps=Steps([], aliases=context.steps.aliases))
                query = joined_query(own, factors, chosen, variables=part.variables, restricted=part.asked)
                found += [] if query is None else [query]
    return found


def _is_enumerated(part: IndependentPart) -> bool:
    number = len(split_parts(part.bound)[1])
    groundings = prod(domain_size(part.bound, slot) for slot in part.variables)
    return number > MOST_POSITIVE or (number > FEW_POSITIVE and groundings <= FEW_GROUNDINGS)


def _negative(bound: BoundShape) -> list[ShapeLiteral]:
    return [x for x in bound.shape.literals if not x.positive]


def count_groundings(bound: BoundShape, examples: TableName | None = None) -> exp.Select:
    """Plan the number of groundings of each clause, the product of its domain sizes, with the columns of `count_violated`."""
    context = Context(bound, bound.parameters, examples, Steps([]))
    single = term_query(context, [], (), 1, equalities=False)
    return total_query(context, [] if single is None else [single])


def alike_groundings(bound: BoundShape) -> int | tuple[object, ...] | None:
    """Return the number of groundings of each of a shape's clauses, or a key that determines it; None if it depends on their constants."""
    variables = tuple((slot, bound.kind(slot), bound.owners.get(slot, ())) for slot in bound.variables)
    asked = (*bound.restricted, *(owner for _, _, owners in variables for owner in owners))
    if not asked:
        # Nothing ties a variable to an example: the number is the product of the domain sizes.
        return prod(domain_size(bound, slot) for slot, _, _ in variables)
    # For all shapes with one key `count_groundings` without parameters gives the number of groundings of each clause.
    return None if any(slot.parameter for slot in asked) else (variables, bound.restricted)


def count_difference(bound: BoundShape, first: World, second: World, examples: TableName | None = None) -> exp.Select:
    """Plan how many more groundings are violated in the first world than in the second, in `count_violated` columns; `n` may be negative."""
    context = Context(bound, bound.parameters, examples, Steps([]))
    shape = bound.shape
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
        # A product over literals changes by a telescoping sum: literal after literal, those before it in the first world, itself the changed
        # atoms with their sign, those after it in the second world.
        for i, pivot in enumerate(changing):
            change = change_factor(context, pivot, first, second, changes)
            others = []
            for member in members:
                if member is not pivot:
                    world = first if member in changing[:i] else second
                    others.append(part_factor(context, member, true_query(context, member, world)))
            # Only groundings of changed atoms are touched: facts are reduced to those that a chain of facts ties to a changed atom.
            factors = [change, *reduced_factors(context, others, change)]
            terms.append(term_query(context, factors, chosen, sign))
    return total_query(context, [t for t in terms if t is not None])


def _subtracted(context: Context, first: World, second: World) -> exp.Select:
    """Count both worlds and subtract."""
    group = [column("clause")] if context.parameters is not None else []
    signed = []
    for i, (world, sign) in enumerate(((first, 1), (second, -1))):
        query = count_violated(context.bound, world, context.examples)
        change = exp.Mul(this=column("n"), expression=integer(sign))
        signed.append(exp.select(*group, named(change, "n")).from_(subquery(query, f"world{i}")))
    return total_query(context, signed)
