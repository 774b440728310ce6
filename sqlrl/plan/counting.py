"""Counting the violated groundings of a shape's clauses in a world, and the difference between two worlds, without enumerating.

A grounding violates a clause if every negative literal's atom is true and every positive literal's atom is false. The count
over negative literals is a sum of products; positive literals, equalities and existential groups enter by
inclusion-exclusion (count with them true, subtracted), closed ones that one negative literal covers by an anti-join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.logic.shapes import Shape, ShapeEquality, ShapeExists, ShapeLiteral, Slot
from sqlrl.plan.enumeration import enumerate_violated
from sqlrl.plan.semiring import Factor, Steps, sum_product
from sqlrl.plan.slots import BoundShape, bind, outer_slots
from sqlrl.plan.sources import Source, absent, domain_source, fact_source, filter_source
from sqlrl.plan.sql import column, cte, integer, named, subquery, table, union_all
from sqlrl.plan.tuples import holding
from sqlrl.plan.worlds import World, changed_rows, true_rows

MOST_POSITIVE = 8
"""Inclusion-exclusion has two to the power of the number of positive parts terms; past this a shape is enumerated."""

Part = ShapeLiteral | ShapeEquality | ShapeExists


@dataclass(frozen=True)
class _Context:
    """What every term of one counting query shares."""

    bound: BoundShape
    parameters: TableName | None
    examples: TableName | None
    steps: Steps

    @property
    def keep(self) -> frozenset[Slot]:
        return frozenset(Slot(True, i) for i in range(len(self.bound.shape.parameters)))


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
    context = _Context(bind(shape, layout, parameters=parameters), parameters, examples, Steps([]))
    shared = {}

    def relation(part: ShapeLiteral | ShapeExists) -> tuple[exp.Query, int]:
        if part not in shared:
            shared[part] = _true_query(context, part, world)
        return shared[part]

    guards, parts = _split(context.bound)
    if len(parts) > MOST_POSITIVE:
        return enumerate_violated(context.bound, world, parameters=parameters, examples=examples)
    terms = []
    for chosen in _subsets(parts):
        factors = [_guarded(context, x, guards.get(x, ()), relation) for x in shape.literals if not x.positive]
        factors += [_factor(context, x, relation(x)) for x in chosen if not isinstance(x, ShapeEquality)]
        terms.append(_term(context, factors, chosen, -1 if len(chosen) % 2 else 1))
    return _total(context, [t for t in terms if t is not None])


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
    context = _Context(bind(shape, layout, parameters=parameters), parameters, examples, Steps([]))
    term = _term(context, [], (), 1, equalities=False)
    return _total(context, [] if term is None else [term])


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
    changed atoms are touched: facts that share a slot with the changed atoms are reduced to them.

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
    context = _Context(bind(shape, layout, parameters=parameters), parameters, examples, Steps([]))
    every: tuple[Part, ...] = (*shape.literals, *shape.equalities, *shape.exists)
    parts = tuple(p for p in every if _is_positive(p))
    changes: dict[str | ShapeExists, str] = {}
    if len(parts) > MOST_POSITIVE:
        return _enumerated_difference(context, first, second)
    terms = []
    for chosen in _subsets(parts):
        members = [x for x in shape.literals if not x.positive] + [
            x for x in chosen if not isinstance(x, ShapeEquality)
        ]
        changing = [x for x in members if _mentions_open(context.bound, x)]
        sign = -1 if len(chosen) % 2 else 1
        for i, pivot in enumerate(changing):
            change = _change(context, pivot, first, second, changes)
            factors = [change]
            for member in members:
                if member is pivot:
                    continue
                world = first if member in changing[:i] else second
                factor = _factor(context, member, _true_query(context, member, world))
                factors.append(_reduced(factor, change))
            terms.append(_term(context, factors, chosen, sign))
    return _total(context, [t for t in terms if t is not None])


def _enumerated_difference(context: _Context, first: World, second: World) -> exp.Select:
    """Count both worlds and subtract."""
    group = [column("clause")] if context.parameters is not None else []
    signed = []
    for i, (world, sign) in enumerate(((first, 1), (second, -1))):
        query = enumerate_violated(context.bound, world, parameters=context.parameters, examples=context.examples)
        change = exp.Mul(this=column("n"), expression=integer(sign))
        signed.append(exp.select(*group, named(change, "n")).from_(subquery(query, f"world{i}")))
    return _total(context, signed)


def _total(context: _Context, terms: Sequence[exp.Select]) -> exp.Select:
    """Add up the terms of a query, with its steps in front."""
    group = [column("clause")] if context.parameters is not None else []
    if not terms:
        empty = [named(integer(0), "clause")] if group else []
        query = exp.select(*empty, named(integer(0), "n")).where(exp.false())
    elif len(terms) == 1:
        query = terms[0]
    else:
        total = exp.cast(exp.Sum(this=column("n")), exp.DataType.build("HUGEINT", dialect="duckdb"))
        query = exp.select(*group, named(total, "n")).from_(subquery(union_all(terms), "terms"))
        query = query.group_by(*group) if group else query
    for name, step in context.steps.steps:
        query = query.with_(exp.to_identifier(name, quoted=True), as_=step, copy=False)
    return query


def _split(bound: BoundShape) -> tuple[dict[ShapeLiteral, tuple[ShapeLiteral, ...]], tuple[Part, ...]]:
    """Share out the positive parts: closed literals that a negative literal covers guard it; the rest is counted by terms."""
    shape = bound.shape
    guards: dict[ShapeLiteral, tuple[ShapeLiteral, ...]] = {}
    rest: list[Part] = []
    for literal in (x for x in shape.literals if x.positive):
        slots = {slot for _, slot in bound.columns(literal)}
        host = next((x for x in shape.literals if not x.positive and slots <= {s for _, s in bound.columns(x)}), None)
        if host is not None and not bound.info(literal).open:
            guards[host] = (*guards.get(host, ()), literal)
        else:
            rest.append(literal)
    rest += [x for x in shape.equalities if x.positive]
    rest += shape.exists
    return guards, tuple(rest)


def _is_positive(part: Part) -> bool:
    return isinstance(part, ShapeExists) or part.positive


def _mentions_open(bound: BoundShape, part: ShapeLiteral | ShapeExists) -> bool:
    literals = part.literals if isinstance(part, ShapeExists) else (part,)
    return any(bound.info(x).open for x in literals)


def _subsets(parts: Sequence[Part]) -> Iterable[tuple[Part, ...]]:
    return chain.from_iterable(combinations(parts, k) for k in range(len(parts) + 1))


def _true_query(context: _Context, part: ShapeLiteral | ShapeExists, world: World) -> tuple[exp.Query, int]:
    """Return the tuples for which a literal's atom is true, or an existential group has a witness; and a bound on their number."""
    if isinstance(part, ShapeExists):
        return _witnessed(context, part, world)
    info = context.bound.info(part)
    return true_rows(info, world), info.rows + info.atom_count


def _witnessed(context: _Context, group: ShapeExists, world: World) -> tuple[exp.Query, int]:
    """Select the distinct outer slots for which an existential group has a witness in a world."""
    bound = context.bound
    outer = outer_slots(bound, group)
    inside = [Slot(False, i) for i in group.variables]
    query = holding(bound, outer, group.literals, group.equalities, world, inside=inside, examples=context.examples)
    rows = 1
    for slot in outer:
        rows *= max(_domain_size(bound, slot), 1)
    return query, rows


def _columns(context: _Context, part: ShapeLiteral | ShapeExists) -> tuple[tuple[str, Slot], ...]:
    if isinstance(part, ShapeExists):
        return tuple((f"x{i}", slot) for i, slot in enumerate(outer_slots(context.bound, part)))
    return context.bound.columns(part)


def _factor(context: _Context, part: ShapeLiteral | ShapeExists, relation: tuple[exp.Query, int]) -> Factor:
    """Return a part as a factor of weight 1."""
    query, rows = relation
    alias = f"f{context.steps.fresh()}"
    if isinstance(part, ShapeLiteral) and not context.bound.info(part).open:
        source = fact_source(context.bound, part, alias)
    else:
        source = Source(subquery(query.copy(), alias), alias, _columns(context, part))
    return Factor(source, None, rows)


def _guarded(
    context: _Context,
    literal: ShapeLiteral,
    guards: Sequence[ShapeLiteral],
    relation: Callable[[ShapeLiteral | ShapeExists], tuple[exp.Query, int]],
) -> Factor:
    """Return a negative literal as a factor, without the tuples for which a guard is true."""
    factor = _factor(context, literal, relation(literal))
    if not guards:
        return factor
    known = {slot: column(name, factor.source.alias) for name, slot in reversed(factor.source.columns)}
    query = exp.select(*(column(name, factor.source.alias) for name, _ in factor.source.columns))
    query = query.from_(factor.source.relation)
    for i, guard in enumerate(guards):
        query = query.where(absent(fact_source(context.bound, guard, f"g{i}"), known))
    alias = f"{factor.source.alias}g"
    return Factor(Source(subquery(query, alias), alias, factor.source.columns), None, factor.rows)


def _change(
    context: _Context,
    part: ShapeLiteral | ShapeExists,
    first: World,
    second: World,
    known: dict[str | ShapeExists, str],
) -> Factor:
    """Return the tuples whose truth differs between two worlds, weighted with the sign, as a step of the query.

    `known` has the steps there are: one for each predicate and existential group.
    """
    key = part if isinstance(part, ShapeExists) else part.predicate
    if isinstance(part, ShapeLiteral):
        info = context.bound.info(part)
        query, rows = changed_rows(info, first, second), info.atom_count
    else:
        (here, rows), (there, _) = (_witnessed(context, part, world) for world in (first, second))
        names = [name for name, _ in _columns(context, part)]
        query = union_all(
            exp.select(*(column(n) for n in names), named(integer(sign), "change")).from_(
                subquery(exp.Except(this=a.copy(), expression=b.copy(), distinct=True), "e")
            )
            for a, b, sign in ((here, there, 1), (there, here, -1))
        )
    name = known[key] if key in known else known.setdefault(key, context.steps.add("c", query))
    return Factor(Source(cte(name, name), name, _columns(context, part)), "change", rows)


def _reduced(factor: Factor, change: Factor) -> Factor:
    """Keep the rows of a factor that share their slots with some changed tuple."""
    shared = {slot: name for name, slot in change.source.columns}
    alias = f"{factor.source.alias}r"
    conditions = [
        exp.In(
            this=column(name, factor.source.alias),
            query=exp.Subquery(this=exp.select(column(shared[slot])).from_(cte(change.source.alias))),
        )
        for name, slot in factor.source.columns
        if slot in shared
    ]
    if not conditions:
        return factor
    columns = [column(name, factor.source.alias) for name, _ in factor.source.columns]
    query = exp.select(*columns).from_(factor.source.relation).where(*conditions)
    return Factor(Source(subquery(query, alias), alias, factor.source.columns), factor.weight, factor.rows)


def _term(
    context: _Context, factors: list[Factor], chosen: Sequence[Part], sign: int, *, equalities: bool = True
) -> exp.Select | None:
    """Plan one term of inclusion-exclusion: the factors, domains for what they leave free, and the equalities that hold."""
    bound = context.bound
    shape = bound.shape
    same = _Union()
    for equality in shape.equalities if equalities else ():
        if not equality.positive or equality in chosen:
            same.join(equality.left, equality.right)
    variables = [Slot(False, i) for i in shape.universal()]
    if bound.hidden is not None:
        variables.append(bound.hidden)
    literals = [x for x in shape.literals if not x.positive] + [x for x in chosen if isinstance(x, ShapeLiteral)]
    literals = literals if factors else []
    factors = [*factors, *_domains(context, variables, literals)]
    multiplier = sign
    present = {same.find(slot) for f in factors for slot in f.slots} | {same.find(k) for k in context.keep}
    for slot in dict.fromkeys(same.find(v) for v in variables):
        if slot not in present:
            multiplier *= _domain_size(bound, slot)
    if multiplier == 0:
        return None
    if context.parameters is not None:
        columns = tuple((f"k{i}", Slot(True, i)) for i in range(len(shape.parameters)))
        factors.append(Factor(Source(table(context.parameters, "p"), "p", columns), None, 1))
    factors = [_renamed(f, same) for f in factors]
    group = [named(column("clause", "p"), "clause")] if context.parameters is not None else []
    if not factors:
        return exp.select(named(exp.cast(integer(multiplier), exp.DataType.build("HUGEINT", dialect="duckdb")), "n"))
    keep = frozenset(same.find(k) for k in context.keep)
    return sum_product(factors, keep, group, context.steps, multiplier=multiplier)


def _domains(context: _Context, variables: Sequence[Slot], literals: Sequence[ShapeLiteral]) -> list[Factor]:
    """Return the factors that keep local variables in their domains, and example terms in the examples asked for."""
    bound, found = context.bound, list[Factor]()
    for slot in variables:
        for owner in bound.owners.get(slot, ()):
            if not any(slot in x.terms and bound.in_domain(x, slot) for x in literals):
                alias = f"d{context.steps.fresh()}"
                found.append(
                    Factor(
                        domain_source(bound, slot, owner, alias),
                        None,
                        _domain_size(bound, slot) * bound.layout.example_count,
                    )
                )
    if context.examples is not None:
        for slot in bound.restricted:
            source = filter_source(context.examples, slot, f"x{context.steps.fresh()}")
            found.append(Factor(source, None, bound.layout.example_count))
    return found


def _domain_size(bound: BoundShape, slot: Slot) -> int:
    """Return the number of constants over which a slot ranges, all examples together."""
    kind = bound.kind(slot)
    return bound.layout.example_count if kind is None else bound.layout.types[kind].size


class _Union:
    """Slots that must be equal; a parameter stands for its class, else the least variable."""

    def __init__(self) -> None:
        self._parent: dict[Slot, Slot] = {}

    def find(self, slot: Slot) -> Slot:
        """Return the slot that stands for the class of `slot`."""
        while slot in self._parent:
            slot = self._parent[slot]
        return slot

    def join(self, left: Slot, right: Slot) -> None:
        """Make two slots equal."""
        a, b = self.find(left), self.find(right)
        if a != b:
            first, second = sorted((a, b), key=lambda s: (not s.parameter, s.index))
            self._parent[second] = first


def _renamed(factor: Factor, same: _Union) -> Factor:
    columns = tuple((name, same.find(slot)) for name, slot in factor.source.columns)
    return Factor(Source(factor.source.relation, factor.source.alias, columns), factor.weight, factor.rows)
