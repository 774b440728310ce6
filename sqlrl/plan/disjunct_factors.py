"""Disjuncts of a clause as factors: the tuples for which a literal's atom is true, or an existential group has a witness."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import column, subquery, table
from sqlrl.logic.shapes import ShapeEquality, ShapeExists, ShapeLiteral, Slot
from sqlrl.plan.disjuncts import AtomDisjunct, Disjunct, negative_literals, split_positive, subsets
from sqlrl.plan.semiring import Factor, QuerySteps
from sqlrl.plan.slots import BoundShape, outer_slots
from sqlrl.plan.sources import SlotSource, World, absent, fact_source, selected, true_rows
from sqlrl.plan.tuples import Conjunction, holding

TrueTuples = Callable[[AtomDisjunct], tuple[exp.Query, int]]
"""Which tuples of a literal or group count as true, and a bound on their number."""


def domain_size(bound: BoundShape, slot: Slot) -> int:
    """Return the number of constants over which a slot ranges, all examples together."""
    kind = bound.kind(slot)
    return bound.layout.example_count if kind is None else bound.layout.types[kind].size


def true_tuples(
    bound: BoundShape, each: AtomDisjunct, world: World, examples: TableName | None
) -> tuple[exp.Query, int]:
    """Return the tuples for which a literal's atom is true, or an existential group has a witness; and a bound on their number."""
    if isinstance(each, ShapeExists):
        return witnessed_tuples(bound, each, world, examples)
    info = bound.info(each)
    return true_rows(info, world), info.rows + info.atom_count


def witnessed_tuples(
    bound: BoundShape, group: ShapeExists, world: World, examples: TableName | None, within: SlotSource | None = None
) -> tuple[exp.Query, int]:
    """Select the distinct outer slots, among those of `within`, for which an existential group has a witness in a world."""
    outer = outer_slots(bound, group)
    query = holding(bound, Conjunction.of(group, outer), world, examples=examples, within=within)
    rows = 1
    for slot in outer:
        rows *= max(domain_size(bound, slot), 1)
    return query, rows


def tuple_columns(bound: BoundShape, each: AtomDisjunct) -> tuple[tuple[str, Slot], ...]:
    """Return the columns of the tuples of a literal or group with their slots."""
    if isinstance(each, ShapeExists):
        return tuple((f"x{i}", slot) for i, slot in enumerate(outer_slots(bound, each)))
    return bound.columns(each)


def factor_of(bound: BoundShape, each: AtomDisjunct, tuples: TrueTuples, steps: QuerySteps) -> Factor:
    """Return the tuples of a literal or group as a factor of weight 1."""
    query, rows = tuples(each)
    alias = f"f{steps.fresh()}"
    if isinstance(each, ShapeLiteral) and not bound.info(each).open:
        source = fact_source(bound, each, alias)
    else:
        source = SlotSource(subquery(query.copy(), alias), alias, tuple_columns(bound, each))
    return Factor(source, None, rows)


ExpansionTerm = tuple[list[Factor], tuple[Disjunct, ...], int]
"""A term of inclusion-exclusion: its factors, the positive disjuncts that hold in it, and its sign."""


def products(
    bound: BoundShape,
    steps: QuerySteps,
    true: TrueTuples,
    barred: TrueTuples | None = None,
    among: Sequence[Disjunct] | None = None,
) -> Iterator[ExpansionTerm]:
    """Yield the terms of inclusion-exclusion of a clause over its positive disjuncts, or those of `among`; the one in which none holds is first."""
    # Negative literals have tuples of `true`, positive disjuncts that hold those of `barred`, if it is given.
    guards, positive = split_positive(bound)
    negative = negative_literals(bound.shape)
    for chosen in subsets(positive if among is None else among):
        factors = [_guarded(bound, factor_of(bound, x, true, steps), guards.get(x, ())) for x in negative]
        factors += [factor_of(bound, x, barred or true, steps) for x in chosen if not isinstance(x, ShapeEquality)]
        yield factors, chosen, -1 if len(chosen) % 2 else 1


def _guarded(bound: BoundShape, factor: Factor, guards: Sequence[ShapeLiteral]) -> Factor:
    """Return a factor without the rows for which a guard, whose slots it has, is true."""
    known = {slot: column(name, factor.source.alias) for name, slot in reversed(factor.source.columns)}
    absences = [absent(fact_source(bound, guard, f"g{i}"), known) for i, guard in enumerate(guards)]
    return _filtered(factor, absences, "g")


def narrowed(factor: Factor, wanted: Mapping[Slot, exp.Select], suffix: str) -> Factor:
    """Keep the rows of a factor whose slots have some values each; `suffix` ends its new alias."""
    alias = factor.source.alias
    inside = [
        exp.In(this=column(name, alias), query=exp.Subquery(this=wanted[slot].copy()))
        for name, slot in factor.source.columns
        if slot in wanted
    ]
    return _filtered(factor, inside, suffix)


def examples_of(bound: BoundShape, examples: TableName | None) -> dict[Slot, exp.Select]:
    """Return what `narrowed` wants of the example terms to which `examples` of a query apply."""
    if examples is None:
        return {}
    return dict.fromkeys(bound.restricted, exp.select(column("example")).from_(table(examples)))


def _filtered(factor: Factor, conditions: Iterable[exp.Expression], suffix: str) -> Factor:
    """Return a factor with the rows that meet some conditions, itself if there are none."""
    where = list(conditions)
    if not where:
        return factor
    source = factor.source
    query = exp.select(*selected(dict.fromkeys(name for name, _ in source.columns), source.alias))
    if factor.weight is not None:
        query = query.select(column(factor.weight, source.alias))
    query, alias = query.from_(source.relation).where(*where), f"{source.alias}{suffix}"
    return Factor(SlotSource(subquery(query, alias), alias, source.columns), factor.weight, factor.rows)
