"""The FROM and WHERE of a query over slots, built source by source; variables that only have to have a value are eliminated.

The elimination is that of `plan.semiring` with truth in place of sums, so that of `A(x, y), B(y, z), C(z)` the x that have a y
and a z are found without their triples: B and C give the y, those and A the x.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import column, conjunction, cte, integer, join, named, subquery, table
from sqlrl.logic.shapes import ShapeEquality, ShapeLiteral, Slot
from sqlrl.plan.semiring import QuerySteps
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import (
    ExampleRange,
    SlotSource,
    absent,
    connect,
    domain_source,
    fact_source,
    filter_source,
    some_example,
)

# ---- variables that only have to have a value: eliminated one after the other, over DISTINCT ---------


@dataclass(frozen=True)
class SlotCondition:
    """A condition on slots: an expression over their columns as some body knows them."""

    expression: exp.Expression
    slots: frozenset[Slot]


@dataclass(frozen=True)
class JoinedSources:
    """Sources that are joined on shared slots, and the conditions that their rows meet."""

    sources: tuple[SlotSource, ...]
    conditions: tuple[SlotCondition, ...]


def project(
    whole: JoinedSources,
    keep: frozenset[Slot],
    fixed: frozenset[str],
    known: Mapping[Slot, exp.Column],
    steps: QuerySteps,
) -> JoinedSources:
    """Eliminate slots outside `keep` as long as no result is larger than a source, and leave sources with an alias in `fixed` as they are."""
    # Rows of the result exist for the same values of the kept slots as of `whole`; its conditions, on the columns `known`, are some of those
    # of `whole`. Something mentions more columns of `fixed` sources than their slots: all their slots are kept.
    places = {(column.table, column.name): slot for slot, column in known.items()}
    left = whole
    while (bucket := _bucket(left, keep, fixed)) is not None:
        step = SlotSource(*_step(bucket, places, steps))
        others = tuple(x for x in left.sources if x not in bucket.sources)
        left = JoinedSources((step, *others), tuple(x for x in left.conditions if x not in bucket.conditions))
    return left


def _rewritten(
    condition: exp.Expression, places: Mapping[tuple[str, str], Slot], known: Mapping[Slot, exp.Column]
) -> exp.Expression:
    """Return a condition over the columns `known` of the same slots; `places` has alias and name of those it has."""

    def changed(node: exp.Expr) -> exp.Expr:
        """Return the new column of a slot; other nodes as they are."""
        slot = places.get((node.table, node.name)) if isinstance(node, exp.Column) else None
        return node if slot is None else known[slot].copy()

    found = condition.transform(changed)
    assert isinstance(found, exp.Expression), "columns become columns"
    return found


def _slots(source: SlotSource) -> frozenset[Slot]:
    return frozenset(slot for _, slot in source.columns)


def _bucket(left: JoinedSources, keep: frozenset[Slot], fixed: frozenset[str]) -> _Bucket | None:
    """Return what is to be joined to eliminate the slot that leaves the fewest others; None if it is not worth it."""
    every = [_slots(source) for source in left.sources]
    if any(slots >= frozenset[Slot]().union(*every) for slots in every):
        return None  # a join of the others to that source is no larger than it
    best: _Bucket | None = None
    for slot in sorted(frozenset[Slot]().union(*every) - keep):
        found = _around(slot, left, fixed)
        small = any(found.others <= slots for slots in every)
        if small and found.is_bound and (best is None or len(found.others) < len(best.others)):
            best = found
    return best


@dataclass(frozen=True)
class _Bucket:
    # What mentions a slot, and what can be tested beside it: sources with no slots but those that the former mention.
    sources: tuple[SlotSource, ...]
    conditions: tuple[SlotCondition, ...]
    others: frozenset[Slot]

    @property
    def is_bound(self) -> bool:
        """True if the sources have all slots that the conditions mention."""
        return self.others <= frozenset[Slot]().union(*map(_slots, self.sources))


def _around(slot: Slot, left: JoinedSources, fixed: frozenset[str]) -> _Bucket:
    sources = [x for x in left.sources if slot in _slots(x)]
    conditions = [x for x in left.conditions if slot in x.slots]
    others = frozenset[Slot]().union(*map(_slots, sources), *(x.slots for x in conditions)) - {slot}
    sources += [
        x for x in left.sources if x not in sources and x.alias not in fixed and _slots(x) and _slots(x) <= others
    ]
    return _Bucket(tuple(sources), tuple(conditions), others)


def _step(
    bucket: _Bucket, places: Mapping[tuple[str, str], Slot], steps: QuerySteps
) -> tuple[exp.Expression, str, tuple[tuple[str, Slot], ...]]:
    """Add the step that has the values of the other slots of a bucket; return its relation, alias and columns."""
    here: dict[Slot, exp.Column] = {}
    conditions: list[exp.Expression] = []
    query = exp.Select()
    for i, source in enumerate(bucket.sources):
        on = connect(source, here)
        if i == 0:
            query, conditions = query.from_(source.relation, copy=False), on
        else:
            join(query, source.relation, conjunction(on), "INNER" if on else "CROSS")
    conditions = conditions + [_rewritten(x.expression, places, here) for x in bucket.conditions]
    where = conjunction(conditions)
    columns = tuple((f"s{i}", slot) for i, slot in enumerate(sorted(bucket.others)))
    selected = [named(here[slot].copy(), name) for name, slot in columns] or [named(integer(1), "one")]
    query = query.select(*selected, copy=False).distinct(copy=False)
    name = steps.add("m", query if where is None else query.where(where, copy=False))
    return cte(name, name), name, columns


# ---- queries -----------------------------------------------------------------------------------------


class QueryBody:
    """Joins sources on shared slots; the first use of a slot fixes its column, later uses become join conditions."""

    def __init__(self, bound: BoundShape, prefix: str = "") -> None:
        self.bound = bound
        self.known: dict[Slot, exp.Column] = {}
        # Starts every alias, so that bodies nest.
        self.prefix = prefix
        # QuerySteps that stand in front of the query.
        self.steps = QuerySteps([], prefix=prefix)
        self._inner: list[tuple[SlotSource, list[exp.Expression]]] = []
        self._outer: list[tuple[exp.Expression, list[exp.Expression]]] = []
        self._where: list[exp.Expression] = []
        self._domains: set[tuple[Slot, Slot | None]] = set()
        # Example terms that are known to be in a window, and its first and last example.
        self._within: dict[Slot, tuple[int, int]] = {}
        self._count = 0

    def alias(self, kind: str) -> str:
        """Return a fresh alias."""
        self._count += 1
        return f"{self.prefix}{kind}{self._count - 1}"

    def join(self, source: SlotSource) -> None:
        """Join a source on the slots that are known, and learn its others."""
        self._inner.append((source, connect(source, self.known)))

    def outer_join(self, source: SlotSource) -> None:
        """Join a source whose slots are all known, keeping the rows that it does not match."""
        for _, slot in source.columns:
            self.require(slot)
        self._outer.append((source.relation, connect(source, self.known)))

    def facts(self, literal: ShapeLiteral) -> None:
        """Join the facts of a closed literal."""
        self.join(fact_source(self.bound, literal, self.alias("t")))
        self.learn_domains(literal)

    def learn_domains(self, literal: ShapeLiteral) -> None:
        """Note that the rows of a joined literal keep its local slots inside their domains."""
        for slot in literal.terms:
            if self.bound.is_local(slot) and self.bound.owners[slot] and self.bound.in_domain(literal, slot):
                self._domains.add((slot, self.bound.owners[slot][0]))

    def require(self, slot: Slot) -> None:
        """Make a slot known and keep it inside its domain."""
        if slot in self.known and slot.parameter:
            return
        owners: tuple[Slot | None, ...] = self.bound.owners.get(slot, ()) or (None,)
        for owner in owners:
            if (slot, owner) in self._domains or (owner is None and slot in self.known):
                continue
            if owner is not None and owner not in self.known:
                self.require(owner)
            self._domains.add((slot, owner))
            self.join(domain_source(self.bound, slot, owner, self.alias("d")))

    def require_parameters(self, slots: Iterable[Slot]) -> None:
        """Make those of `slots` known that are parameters, from the combinations that the clauses have."""
        wanted = [slot for slot in slots if slot.parameter]
        if self.bound.parameters is None or all(slot in self.known for slot in wanted):
            return
        names = [f"k{slot.index}" for slot in wanted]
        alias = self.alias("p")
        query = exp.select(*(column(name) for name in names)).from_(table(self.bound.parameters)).distinct()
        self.join(SlotSource(subquery(query, alias), alias, tuple(zip(names, wanted, strict=True))))

    def restrict(self, examples: TableName | None, slots: Iterable[Slot]) -> None:
        """Keep those of `slots` that say to which example a clause belongs inside the examples of a query."""
        if examples is None:
            return
        if self.bound.undivided:
            self.where(some_example(self.bound, examples))
        restricted = self.bound.restricted
        for slot in slots:
            if slot in restricted:
                self.join(filter_source(examples, slot, self.alias("x")))
                if isinstance(examples, ExampleRange):
                    self._within[slot] = (examples.first, examples.last)

    def equal(self, equality: ShapeEquality, holds: bool) -> None:
        """Demand that an equality literal holds, or that it does not."""
        self.require(equality.left)
        self.require(equality.right)
        self._where.append(self.equality(equality, holds))

    def equality(self, equality: ShapeEquality, holds: bool) -> exp.Expression:
        """Return the condition that an equality literal holds, or that it does not."""
        kind = exp.EQ if equality.positive == holds else exp.NEQ
        return kind(this=self.known[equality.left].copy(), expression=self.known[equality.right].copy())

    def without(self, source: SlotSource) -> None:
        """Drop the rows that agree with a row of a source (an anti-join); its slots are made known first."""
        for _, slot in source.columns:
            self.require(slot)
        self._where.append(absent(source, self.known))

    def without_facts(self, literal: ShapeLiteral) -> None:
        """Drop the rows for which a closed literal's atom is true."""
        self.without(fact_source(self.bound, literal, self.alias("n")))

    def where(self, condition: exp.Expression) -> None:
        """Add a condition."""
        self._where.append(condition)

    def project(self, keep: Iterable[Slot]) -> None:
        """Eliminate slots outside `keep` of which the query asks only whether they have a value; nothing can be joined any more."""
        places = {(column.table, column.name): slot for slot, column in self.known.items()}
        sources = {source.alias: source for source, _ in self._inner}
        outer = {relation.alias_or_name for relation, _ in self._outer}
        kept, fixed = set(keep), set[str]()

        def condition(expression: exp.Expression) -> SlotCondition:
            """Return a condition with its slots; it, and sources of which it mentions more than slots, stay in the query."""
            columns = [(column.table, column.name) for column in expression.find_all(exp.Column)]
            slots = {places[x] for x in columns if x in places}
            more = {alias for alias, name in columns if alias in sources and (alias, name) not in places}
            fixed.update(more)
            kept.update(slot for alias in more for _, slot in sources[alias].columns)
            if more or any(alias in outer for alias, _ in columns):
                kept.update(slots)
            return SlotCondition(expression, frozenset(slots))

        movable = [condition(x) for x in self._where]
        for _, on in self._outer:
            for x in on:
                condition(x)
        whole = JoinedSources(tuple(sources.values()), tuple(movable))
        left = project(whole, frozenset(kept), frozenset(fixed), self.known, self.steps)
        self.known = {}
        self._inner = [(source, connect(source, self.known)) for source in left.sources]
        self._where = [_rewritten(x.expression, places, self.known) for x in left.conditions]
        self._outer = [(relation, [_rewritten(x, places, self.known) for x in on]) for relation, on in self._outer]

    def select(self, columns: Iterable[exp.Expression]) -> exp.Select:
        """Return the query; each condition stands at the first join where all that it mentions is known."""
        query = exp.select(*columns)
        conditions = list(self._where) + [x for source, _ in self._inner for x in self._inside(source)]
        inner = self._inner
        if self._outer and not inner:
            # An outer join keeps the rows of what stands before it: of a clause without variables there is one.
            alias = f"{self.prefix}one"
            inner = [(SlotSource(subquery(exp.select(named(integer(1), "one")), alias), alias, ()), [])]
        for i, (source, on) in enumerate(inner):
            if i == 0:
                query = query.from_(source.relation, copy=False)
                conditions = on + conditions
            else:
                query = join(query, source.relation, conjunction(on), "INNER" if on else "CROSS")
        for relation, on in self._outer:
            query = join(query, relation, conjunction(on) or exp.true(), "LEFT")
        where = conjunction(conditions)
        return self.steps.before(query if where is None else query.where(where, copy=False))

    def _inside(self, source: SlotSource) -> list[exp.Expression]:
        """Return the conditions that a source is read no further than a window, which joins say as well: a join would read all of it."""
        return [
            exp.Between(this=column(name, source.alias), low=integer(first), high=integer(last))
            for name, slot in source.columns
            if slot in self._within
            for first, last in [self._within[slot]]
        ]
