"""The terms of inclusion-exclusion: what is true of each part of a clause, as factors, and sums of their products over its domains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, cte, integer, named, subquery, table, union_all
from sqlrl.logic.shapes import ShapeEquality, ShapeExists, ShapeLiteral, Slot
from sqlrl.plan.semiring import Factor, Steps, joined_rows, sum_product
from sqlrl.plan.slots import BoundShape, outer_slots
from sqlrl.plan.sources import (
    Source,
    World,
    absent,
    changed_rows,
    domain_source,
    fact_source,
    filter_source,
    parameter_keys,
    parameter_source,
    selected,
    some_example,
    true_rows,
)
from sqlrl.plan.tuples import holding

Part = ShapeLiteral | ShapeEquality | ShapeExists

Groups = tuple[tuple[str, Slot], ...]
"""Variables by whose constants groundings are counted, with the columns of these."""


# ---- parts of a clause as factors --------------------------------------------------------------------


@dataclass(frozen=True)
class Context:
    """What all terms of one counting query share."""

    bound: BoundShape
    parameters: TableName | None
    examples: TableName | None
    steps: Steps
    # Different rows of the parameter table are counted apart. Clauses of one formula that share a shape, as those of `P(A) <=> P(B)` do, have
    # the same number; those of `P(x, A) <=> P(y, A)` are equal rows, and counted once.
    apart: bool = False
    # The variables whose constants a count is for, beside the clause, each with its column.
    by: Groups = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the parameter table that a count is for."""
        return () if self.parameters is None else parameter_keys(self.bound.shape, apart=self.apart)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a count before `n`."""
        return (*self.keys, *(name for name, _ in self.by))

    @property
    def fixed(self) -> frozenset[Slot]:
        """The parameters."""
        return frozenset(Slot(True, i) for i in range(len(self.bound.shape.parameters)))

    @property
    def keep(self) -> frozenset[Slot]:
        """What is never summed out: the parameters, and the variables that a count is by."""
        return self.fixed.union(slot for _, slot in self.by)


def split_parts(bound: BoundShape) -> tuple[dict[ShapeLiteral, tuple[ShapeLiteral, ...]], tuple[Part, ...]]:
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


def is_positive(part: Part) -> bool:
    """True for what a violated clause needs to be false."""
    return isinstance(part, ShapeExists) or part.positive


def mentions_open(bound: BoundShape, part: ShapeLiteral | ShapeExists) -> bool:
    """True if a part has an open predicate, so that worlds differ about it."""
    literals = part.literals if isinstance(part, ShapeExists) else (part,)
    return any(bound.info(x).open for x in literals)


def subsets(parts: Sequence[Part]) -> Iterable[tuple[Part, ...]]:
    """Yield all subsets of some parts, the terms of inclusion-exclusion."""
    return chain.from_iterable(combinations(parts, k) for k in range(len(parts) + 1))


def true_query(context: Context, part: ShapeLiteral | ShapeExists, world: World) -> tuple[exp.Query, int]:
    """Return the tuples for which a literal's atom is true, or an existential group has a witness; and a bound on their number."""
    if isinstance(part, ShapeExists):
        return _witnessed(context, part, world)
    info = context.bound.info(part)
    return true_rows(info, world), info.rows + info.atom_count


def _witnessed(
    context: Context, group: ShapeExists, world: World, within: Source | None = None
) -> tuple[exp.Query, int]:
    """Select the distinct outer slots, among those of `within`, for which an existential group has a witness in a world."""
    bound = context.bound
    outer = outer_slots(bound, group)
    inside = [Slot(False, i) for i in group.variables]
    query = holding(
        bound, outer, group.literals, group.equalities, world, inside=inside, examples=context.examples, within=within
    )
    rows = 1
    for slot in outer:
        rows *= max(domain_size(bound, slot), 1)
    return query, rows


def part_columns(bound: BoundShape, part: ShapeLiteral | ShapeExists) -> tuple[tuple[str, Slot], ...]:
    """Return the columns of a part's tuples with their slots."""
    if isinstance(part, ShapeExists):
        return tuple((f"x{i}", slot) for i, slot in enumerate(outer_slots(bound, part)))
    return bound.columns(part)


def part_factor(context: Context, part: ShapeLiteral | ShapeExists, relation: tuple[exp.Query, int]) -> Factor:
    """Return a part as a factor of weight 1."""
    query, rows = relation
    alias = f"f{context.steps.fresh()}"
    if isinstance(part, ShapeLiteral) and not context.bound.info(part).open:
        source = fact_source(context.bound, part, alias)
    else:
        source = Source(subquery(query.copy(), alias), alias, part_columns(context.bound, part))
    return Factor(source, None, rows)


def guarded_factor(
    context: Context,
    literal: ShapeLiteral,
    guards: Sequence[ShapeLiteral],
    relation: Callable[[ShapeLiteral | ShapeExists], tuple[exp.Query, int]],
) -> Factor:
    """Return a negative literal as a factor, without the tuples for which a guard is true."""
    return guarded(context, part_factor(context, literal, relation(literal)), guards)


def guarded(context: Context, factor: Factor, guards: Sequence[ShapeLiteral]) -> Factor:
    """Return a factor without the rows for which a guard, whose slots it has, is true."""
    if not guards:
        return factor
    known = {slot: column(name, factor.source.alias) for name, slot in reversed(factor.source.columns)}
    absences = [absent(fact_source(context.bound, guard, f"g{i}"), known) for i, guard in enumerate(guards)]
    return _filtered(factor, absences, f"{factor.source.alias}g")


def asked_factor(context: Context, factor: Factor, slots: Sequence[Slot]) -> Factor:
    """Keep the rows of a factor of the examples that are asked for, which `slots` say, before anything is summed."""
    examples, alias = context.examples, factor.source.alias
    names = [name for name, slot in factor.source.columns if slot in slots]
    if examples is None or not names:
        return factor
    chosen = exp.select(column("example")).from_(table(examples))
    inside = [exp.In(this=column(n, alias), query=exp.Subquery(this=chosen.copy())) for n in names]
    return _filtered(factor, inside, alias)


def _filtered(factor: Factor, conditions: Iterable[exp.Expression], alias: str) -> Factor:
    """Return a factor with the rows that meet some conditions."""
    names = dict.fromkeys(name for name, _ in factor.source.columns)
    query = exp.select(*selected(names, factor.source.alias))
    if factor.weight is not None:
        query = query.select(column(factor.weight, factor.source.alias))
    query = query.from_(factor.source.relation).where(*conditions)
    return Factor(Source(subquery(query, alias), alias, factor.source.columns), factor.weight, factor.rows)


def change_factor(
    context: Context,
    part: ShapeLiteral | ShapeExists,
    first: World,
    second: World,
    known: dict[str | ShapeExists, str],
) -> Factor:
    """Return the tuples whose truth differs between two worlds, weighted with the sign, as a step; `known` has those planned already."""
    key = part if isinstance(part, ShapeExists) else part.predicate
    if isinstance(part, ShapeLiteral):
        info = context.bound.info(part)
        query, rows = changed_rows(info, first, second), info.atom_count
    else:
        touched = _touched(context, part, first, second, known)
        (here, rows), (there, _) = (_witnessed(context, part, world, touched) for world in (first, second))
        names = [name for name, _ in part_columns(context.bound, part)]
        query = union_all(
            exp.select(*(column(n) for n in names), named(integer(sign), "change")).from_(
                subquery(exp.Except(this=a.copy(), expression=b.copy(), distinct=True), "e")
            )
            for a, b, sign in ((here, there, 1), (there, here, -1))
        )
    name = known[key] if key in known else known.setdefault(key, context.steps.add("c", query))
    return Factor(Source(cte(name, name), name, part_columns(context.bound, part)), "change", rows)


def _touched(
    context: Context, group: ShapeExists, first: World, second: World, known: dict[str | ShapeExists, str]
) -> Source:
    """Return, as a step, the outer slots of a group for which some possible witness has a changed atom."""
    bound, outer = context.bound, outer_slots(context.bound, group)
    queries: list[exp.Query] = []
    for literal in (x for x in group.literals if bound.info(x).open):
        change = change_factor(context, literal, first, second, known).source
        relation = cte(change.relation.name, "t")
        closed = [x for x in group.literals if x.positive and not bound.info(x).open]
        source = Source(relation, "t", change.columns)
        queries.append(holding(bound, outer, closed, (), first, examples=context.examples, within=source))
    name = context.steps.add("t", union_all(queries))
    query = exp.select("*").distinct().from_(cte(name))
    alias = f"i{context.steps.fresh()}"
    return Source(subquery(query, alias), alias, part_columns(context.bound, group))


def reduced_factor(factor: Factor, change: Factor) -> Factor:
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


def reduced_factors(context: Context, factors: Sequence[Factor], change: Factor) -> list[Factor]:
    """Keep the rows of factors that share their slots with changed tuples, directly or through other factors."""
    found = [reduced_factor(factor, change) for factor in factors]
    reached = {i for i, factor in enumerate(found) if factor is not factors[i]}
    # A unary factor is a filter: it joins the reduced ones as it is.
    waiting = [i for i, factor in enumerate(found) if i not in reached and len(factor.slots) > 1]
    while True:
        pair = next(((i, j) for i in waiting for j in sorted(reached) if found[i].slots & found[j].slots), None)
        if pair is None:
            return found
        # A factor that is tied to the change through another one is reduced to a step that holds that one, reduced.
        i, j = pair
        if not isinstance(found[j].source.relation, exp.Table):
            found[j] = _as_step(context, found[j])
        found[i] = reduced_factor(found[i], found[j])
        waiting.remove(i)
        reached.add(i)


def _as_step(context: Context, factor: Factor) -> Factor:
    """Put the query of a factor into a named step."""
    assert isinstance(factor.source.relation, exp.Subquery)
    name = context.steps.add("r", factor.source.relation.this)
    return Factor(Source(cte(name, name), name, factor.source.columns), factor.weight, factor.rows)


def domain_size(bound: BoundShape, slot: Slot) -> int:
    """Return the number of constants over which a slot ranges, all examples together."""
    kind = bound.kind(slot)
    return bound.layout.example_count if kind is None else bound.layout.types[kind].size


# ---- sums of products --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pivot:
    """A factor by whose `columns` a sum is grouped; none of its slots is summed out."""

    factor: Factor
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Term:
    """A sum of products: factors over slots of which equal ones have become one, and a constant."""

    factors: tuple[Factor, ...]
    multiplier: int  # The sign times the domain sizes of variables that no factor mentions; not 0.
    same: Union  # Which slot stands for each.


def term_of(
    context: Context,
    factors: Sequence[Factor],
    chosen: Sequence[Part],
    sign: int,
    *,
    variables: Sequence[Slot],
    kept: frozenset[Slot],
    restricted: Sequence[Slot],
    equalities: bool = True,
) -> Term | None:
    """Return one term of inclusion-exclusion with domains for what its factors leave free; None if a domain is empty, so that it is 0."""
    bound, shape = context.bound, context.bound.shape
    # `factors` are the parts that are true in this term, `chosen` the positive ones among them; `kept` slots are not summed.
    same = Union(kept)
    for equality in shape.equalities if equalities else ():
        if not equality.positive or equality in chosen:
            same.join(equality.left, equality.right)
    literals = [x for x in shape.literals if not x.positive] + [x for x in chosen if isinstance(x, ShapeLiteral)]
    literals = literals if factors else []
    mentioned = {slot for f in factors for slot in f.slots}
    domains = [*_domains(context, variables, literals), *_constants(context, variables, mentioned, same)]
    # `restricted` are the example terms that must be among the examples asked for.
    domains += _asked_for(context, restricted)
    if not bound.layout.sized:
        # A number of constants that may change is no multiplier: the constants are counted.
        said = {same.find(slot) for f in (*factors, *domains) for slot in f.slots} | {same.find(k) for k in kept}
        free = dict.fromkeys(same.find(v) for v in variables)
        domains += [_domain(context, slot, None) for slot in free if slot not in said]
    everything = [_renamed(f, same) for f in (*factors, *domains)]
    everything += _ranges(context, everything, same)
    present = {slot for f in everything for slot in f.slots} | {same.find(k) for k in kept}
    multiplier = sign
    for slot in dict.fromkeys(same.find(v) for v in variables):
        if slot not in present:
            multiplier *= domain_size(bound, slot)
    return Term(tuple(everything), multiplier, same) if multiplier else None


def term_query(
    context: Context,
    factors: Sequence[Factor],
    chosen: Sequence[Part],
    sign: int,
    *,
    variables: Sequence[Slot] | None = None,
    restricted: Sequence[Slot] | None = None,
    equalities: bool = True,
    pivot: Pivot | None = None,
) -> exp.Select | None:
    """Plan one term of inclusion-exclusion, for the rows of a `pivot` if given: `clause` (with parameters), the pivot's columns, and `n`."""
    found = _with_keys(context, factors, chosen, sign, variables, restricted, equalities=equalities, pivot=pivot)
    if found is None:
        return None
    term, keep = found
    group = _group(context)
    if pivot is not None:
        group += [named(column(name, pivot.factor.source.alias), name) for name in pivot.columns]
    if not term.factors:
        return exp.select(named(cast(integer(term.multiplier), "INT128"), "n"))
    by = [(name, term.same.find(slot)) for name, slot in context.by]
    return sum_product(term.factors, keep, group, context.steps, multiplier=term.multiplier, by=by)


def joined_query(
    context: Context,
    factors: Sequence[Factor],
    chosen: Sequence[Part],
    *,
    variables: Sequence[Slot],
    restricted: Sequence[Slot],
    equalities: bool = True,
) -> exp.Select | None:
    """Plan how many rows `term_query` joins last when it counts by variables (columns without these); None if no more than a relation has."""
    found = _with_keys(context, factors, chosen, 1, variables, restricted, equalities=equalities)
    if found is None:
        return None
    term, keep = found
    query = joined_rows(term.factors, keep, _group(context), context.fixed, context.steps)
    return None if query is None else context.steps.before(query)


def _with_keys(
    context: Context,
    factors: Sequence[Factor],
    chosen: Sequence[Part],
    sign: int,
    variables: Sequence[Slot] | None,
    restricted: Sequence[Slot] | None,
    *,
    equalities: bool,
    pivot: Pivot | None = None,
) -> tuple[Term, frozenset[Slot]] | None:
    """Return a term with the factors of examples and parameters, and the slots that are not summed out."""
    bound = context.bound
    kept = context.keep if pivot is None else context.keep | pivot.factor.slots
    term = term_of(
        context,
        factors if pivot is None else [*factors, pivot.factor],
        chosen,
        sign,
        variables=bound.variables if variables is None else variables,
        kept=kept,
        restricted=bound.restricted if restricted is None else restricted,
        equalities=equalities,
    )
    if term is None:
        return None
    found = list(term.factors)
    if context.examples is not None and bound.undivided:
        found.append(_asked_at_all(context, context.examples))
    if context.parameters is not None:
        source = parameter_source(context.parameters, bound.shape, apart=context.apart)
        found.append(_renamed(Factor(source, None, 1), term.same))
    return replace(term, factors=tuple(found)), frozenset(term.same.find(k) for k in kept)


def _group(context: Context) -> list[exp.Expression]:
    """Return the columns of the parameter table that a count is for."""
    return [named(column(name, "p"), name) for name in context.keys]


def _ranges(context: Context, factors: Sequence[Factor], same: Union) -> list[Factor]:
    """Return the domains of the variables that a count is by and that no factor mentions: each of their constants has a count."""
    mentioned = {slot for f in factors for slot in f.slots}
    found = dict.fromkeys(same.find(slot) for _, slot in context.by)
    return [_domain(context, slot, None) for slot in found if slot not in mentioned and not slot.parameter]


def _domains(context: Context, variables: Sequence[Slot], literals: Sequence[ShapeLiteral]) -> list[Factor]:
    """Return the factors that keep local variables in their domains."""
    bound, found = context.bound, list[Factor]()
    for slot in variables:
        for owner in bound.owners.get(slot, ()):
            if not any(slot in x.terms and bound.in_domain(x, slot) for x in literals):
                found.append(_domain(context, slot, owner))
    return found


def _domain(context: Context, slot: Slot, owner: Slot | None) -> Factor:
    bound = context.bound
    rows = domain_size(bound, slot) * (bound.layout.example_count if owner is not None else 1)
    return Factor(domain_source(bound, slot, owner, f"d{context.steps.fresh()}"), None, rows)


def _constants(context: Context, variables: Sequence[Slot], mentioned: set[Slot], same: Union) -> list[Factor]:
    """Return the domains of variables that only an equality ties to a constant: the data may not have it."""
    bound = context.bound
    return [
        _domain(context, slot, None)
        for slot in variables
        if same.find(slot).parameter and slot not in mentioned and not bound.owners.get(slot)
    ]


def _asked_for(context: Context, slots: Sequence[Slot]) -> list[Factor]:
    """Return the factors that keep example terms in the examples asked for."""
    if context.examples is None:
        return []
    rows = context.bound.layout.example_count
    return [Factor(filter_source(context.examples, s, f"x{context.steps.fresh()}"), None, rows) for s in slots]


def _asked_at_all(context: Context, examples: TableName) -> Factor:
    """Return a factor without slots: one row if a query is about some example."""
    alias = f"x{context.steps.fresh()}"
    query = exp.select(named(integer(1), "one")).where(some_example(context.bound, examples))
    return Factor(Source(subquery(query, alias), alias, ()), None, 1)


class Union:
    """Slots that must be equal; a parameter stands for its class, else one of those that are kept, else the least variable."""

    def __init__(self, kept: frozenset[Slot] = frozenset()) -> None:
        self._parent: dict[Slot, Slot] = {}
        self._kept = kept

    @property
    def joined(self) -> bool:
        """Whether any two slots are one."""
        return bool(self._parent)

    def find(self, slot: Slot) -> Slot:
        """Return the slot that stands for the class of `slot`."""
        while slot in self._parent:
            slot = self._parent[slot]
        return slot

    def join(self, left: Slot, right: Slot) -> None:
        """Make two slots equal."""
        a, b = self.find(left), self.find(right)
        if a != b:
            first, second = sorted((a, b), key=lambda s: (not s.parameter, s not in self._kept, s.index))
            self._parent[second] = first


def _renamed(factor: Factor, same: Union) -> Factor:
    columns = tuple((name, same.find(slot)) for name, slot in factor.source.columns)
    return Factor(Source(factor.source.relation, factor.source.alias, columns), factor.weight, factor.rows)


def total_query(context: Context, terms: Sequence[exp.Select]) -> exp.Select:
    """Add up the terms of a query, with its steps in front."""
    group = [column(name) for name in context.columns]
    if not terms:
        empty = [named(integer(0), name) for name in context.columns]
        query = exp.select(*empty, named(integer(0), "n")).where(exp.false())
    elif len(terms) == 1:
        query = terms[0]
    elif context.by:
        # Most groups of a term may come to nothing beside the others.
        query = summed_terms(terms, context.columns, exp.NEQ)
    else:
        total = cast(exp.Sum(this=column("n")), "INT128")
        query = exp.select(*group, named(total, "n")).from_(subquery(union_all(terms), "terms"))
        query = query.group_by(*group) if group else query
    return context.steps.before(query)


def summed_terms(terms: Sequence[exp.Query], keys: Sequence[str], kept: type[exp.Binary]) -> exp.Select:
    """Add up the terms of a query by keys; sums stay that compare so with 0."""
    # Qualified, since Spark would take `n` for the sum where that is compared.
    total = cast(exp.Sum(this=column("n", "terms")), "INT128")
    if not terms:
        nothing = [named(integer(0), key) for key in keys]
        return exp.select(*nothing, named(cast(integer(0), "INT128"), "n")).where(exp.false())
    query = exp.select(*map(column, keys), named(total, "n")).from_(subquery(union_all(terms), "terms"))
    query = query.group_by(*map(column, keys))
    return query.having(kept(this=total.copy(), expression=integer(0)))
