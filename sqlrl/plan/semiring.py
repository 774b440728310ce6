"""Sums of products over joins, by variable elimination in the count semi-ring.

A factor is a relation with an optional integer weight. The sum over all assignments of the product of the weights is what
an enumeration of the join would count; where the join graph is acyclic each step here aggregates before it joins, and
no intermediate result is larger than an input. What is left of a cyclic graph is joined and summed at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from sqlrl.engine.nodes import cast, column, conjunction, cte, integer, join, named, star_count
from sqlrl.logic.shapes import Slot
from sqlrl.plan.sources import SlotSource, connect

BIGINT_LIMIT = 2**63 - 1


@dataclass(frozen=True)
class Factor:
    """A relation over slots with an integer weight."""

    source: SlotSource
    weight: str | None = None  # The column of the weight, None for 1.
    rows: int = 1  # An upper bound on the sum of the absolute weights.

    @property
    def slots(self) -> frozenset[Slot]:
        """The slots that the factor mentions."""
        return frozenset(slot for _, slot in self.source.columns)


@dataclass
class QuerySteps:
    """The named steps of one query, in order; names and aliases are unique inside it."""

    steps: list[tuple[str, exp.Query]]
    # How many aliases there are so far.
    aliases: int = 0
    # Starts the names of the steps, so that queries nest.
    prefix: str = ""
    # A slot is summed out also where the result may be larger than each factor: each step then joins what shares a slot, which a database
    # that orders joins badly cannot spoil.
    freely: bool = False

    def fresh(self) -> int:
        """Return a number that no other alias of the query has."""
        self.aliases += 1
        return self.aliases - 1

    def add(self, kind: str, query: exp.Query) -> str:
        """Add a step and return its name."""
        name = f"{self.prefix}{kind}{len(self.steps)}"
        self.steps.append((name, query))
        return name

    def before(self, query: exp.Select) -> exp.Select:
        """Put the steps in front of a query."""
        for name, step in self.steps:
            query = query.with_(exp.to_identifier(name, quoted=True), as_=step, copy=False)
        return query


def sum_product(
    factors: Sequence[Factor],
    keep: frozenset[Slot],
    group: Sequence[exp.Expression],
    steps: QuerySteps,
    *,
    # The domain sizes of variables that occur nowhere, and the sign of the term.
    multiplier: int = 1,
    by: Sequence[tuple[str, Slot]] = (),
) -> exp.Select:
    """Plan the sum of products over all slots that are not kept: columns of `group`, those of `by` (kept slots), then `n`."""
    # At least one factor brings the columns of `group` (the parameter table), whose slots are not summed out before the last step.
    hugeint = abs(multiplier) * _rows(factors) > BIGINT_LIMIT
    left = _eliminate(factors, keep, steps, hugeint)
    known: dict[Slot, exp.Column] = {}
    total = exp.Sum(this=_product(left, hugeint, multiplier))
    body = _join(exp.select(), left, known)
    shown = [*group, *(named(known[slot].copy(), name) for name, slot in by)]
    query = body.select(*shown, named(cast(total, "INT128"), "n"), append=False, copy=False)
    return query.group_by(*(g.this.copy() for g in shown)) if shown else query


def joined_rows(
    factors: Sequence[Factor],
    keep: frozenset[Slot],
    group: Sequence[exp.Expression],
    # The slots of `keep` that `group` is for.
    fixed: frozenset[Slot],
    steps: QuerySteps,
) -> exp.Select | None:
    """Plan how many rows the last step of `sum_product` joins (`group`, `n`); None if some factor has every slot, or the join is cyclic."""
    left = _eliminate(factors, keep, steps, hugeint=False)
    every = frozenset[Slot]().union(*(f.slots for f in left))
    # With every slot in a factor they are no more than its rows; to count a cyclic join is to join it.
    if any(every <= f.slots for f in left) or not is_acyclic(f.slots - fixed for f in left):
        return None
    plain = [Factor(f.source, None, f.rows) for f in left]
    return sum_product(plain, fixed, group, steps)


def partial_sums(factors: Sequence[Factor], keep: frozenset[Slot], steps: QuerySteps) -> Factor:
    """Plan the sums of products for each value of the kept slots as a factor; without slots it is one row, perhaps with 0 or NULL."""
    # The weight is BIGINT, or HUGEINT where that may not do.
    hugeint = _rows(factors) > BIGINT_LIMIT
    left = _eliminate(factors, keep, steps, hugeint)
    if len(left) == 1 and left[0].weight is not None and left[0].slots <= keep:
        return left[0]
    return _sum_out(left, keep, steps, hugeint)


def is_acyclic(edges: Iterable[frozenset[Slot]]) -> bool:
    """Return whether relations over slots can be joined without a result that is larger than necessary (GYO reduction).

    Source: Yu and Ozsoyoglu, "An algorithm for tree-query membership of a distributed query", COMPSAC 1979.
    """
    left, before = list(dict.fromkeys(edges)), None
    while left != before:
        before = left
        left = [frozenset(s for s in e if any(s in other for other in left if other is not e)) for e in left]
        left = list(dict.fromkeys(left))
        left = [e for e in left if not any(e < other for other in left)]
    return len(left) <= 1


def _rows(factors: Sequence[Factor]) -> int:
    """Return an upper bound on the sum of products."""
    return reduce(lambda a, b: a * max(b, 1), (f.rows for f in factors), 1)


def _eliminate(factors: Sequence[Factor], keep: frozenset[Slot], steps: QuerySteps, hugeint: bool) -> list[Factor]:
    """Sum out slot after slot, as long as no result is larger than a factor."""
    left = list(factors)
    while (slot := _eliminable(left, keep, freely=steps.freely)) is not None:
        bucket = [f for f in left if slot in f.slots]
        left = [f for f in left if slot not in f.slots]
        closing = _closing(bucket, left, slot)
        if closing is not None and len(left) == 1:
            return [*bucket, closing]
        if closing is not None and not closing.slots <= keep:
            # One of kept slots may be what brings columns by which the last step groups.
            bucket.append(closing)
            left.remove(closing)
        elsewhere = keep.union(*(f.slots for f in left))
        left.append(_sum_out(bucket, elsewhere, steps, hugeint))
    return left


def _eliminable(factors: Sequence[Factor], keep: frozenset[Slot], *, freely: bool) -> Slot | None:
    """Return the slot whose elimination gives the smallest relation, if that is no larger than a factor or may be so `freely`; else None."""
    best: tuple[int, int, Slot] | None = None
    every = frozenset[Slot]().union(*(f.slots for f in factors))
    if any(every <= f.slots for f in factors):
        return None  # rows of a factor are distinct, so the last join is no larger than the one that has every slot
    for slot in sorted({slot for f in factors for slot in f.slots} - keep):
        bucket = [f for f in factors if slot in f.slots]
        others = frozenset().union(*(f.slots for f in bucket)) - {slot}
        if (freely or any(others <= f.slots for f in factors)) and (
            best is None or (len(others), len(bucket), slot) < best
        ):
            best = (len(others), len(bucket), slot)
    return None if best is None else best[2]


def _closing(bucket: Sequence[Factor], others: Sequence[Factor], slot: Slot) -> Factor | None:
    """Return the factor that filters what is left of a bucket's join without its slot; None if one in the bucket does, or none can."""
    # It is joined before the sum: of the pairs of edges of a graph that meet, most are closed by no third one, and to filter them by the third
    # ones takes less time and memory than to sum for each pair. One with more slots would have several rows for each.
    ends = frozenset[Slot]().union(*(f.slots for f in bucket)) - {slot}
    if any(ends <= f.slots for f in bucket):
        return None
    return next((f for f in others if f.slots == ends), None)


def _sum_out(bucket: Sequence[Factor], elsewhere: frozenset[Slot], steps: QuerySteps, hugeint: bool) -> Factor:
    """Join factors and sum out every slot that is not mentioned elsewhere."""
    known: dict[Slot, exp.Column] = {}
    body = _join(exp.select(), bucket, known)
    others = sorted(known.keys() & elsewhere)
    columns = tuple((f"s{i}", other) for i, other in enumerate(others))
    weighted = any(f.weight for f in bucket)
    count: exp.Expression = exp.Sum(this=_product(bucket, hugeint, 1)) if weighted else star_count()
    if weighted or hugeint:
        count = cast(count, "INT128" if hugeint else "BIGINT")
    selected = [*(named(known[other].copy(), name) for name, other in columns), named(count, "n")]
    query = body.select(*selected, append=False, copy=False)
    if others:
        query = query.group_by(*(known[other].copy() for other in others), copy=False)
    name = steps.add("m", query)
    return Factor(SlotSource(cte(name, name), name, columns), "n", _rows(bucket))


def _product(factors: Sequence[Factor], hugeint: bool, multiplier: int) -> exp.Expression:
    """Return the product of the weights of the factors."""
    terms: list[exp.Expression] = [column(f.weight, f.source.alias) for f in factors if f.weight]
    if multiplier != 1 or not terms:
        terms.append(integer(multiplier))
    if hugeint:
        terms[0] = cast(terms[0], "INT128")
    return reduce(lambda a, b: exp.Mul(this=a, expression=b), terms)


def _connected(factors: Sequence[Factor]) -> list[Factor]:
    """Put factors in an order in which each shares a slot with one before it, as far as that can be."""
    left, ordered, seen = list(factors), list[Factor](), set[Slot]()
    while left:
        ordered.append(left.pop(next((i for i, f in enumerate(left) if f.slots & seen), 0)))
        seen |= ordered[-1].slots
    return ordered


def _join(query: exp.Select, factors: Sequence[Factor], known: dict[Slot, exp.Column]) -> exp.Select:
    """Join factors on shared slots; conditions inside the first one go to WHERE."""
    for i, factor in enumerate(_connected(factors)):
        on = connect(factor.source, known)
        relation = factor.source.relation.copy()
        if i == 0:
            query = query.from_(relation, copy=False)
            where = conjunction(on)
            query = query if where is None else query.where(where, copy=False)
        else:
            query = join(query, relation, conjunction(on), "INNER" if on else "CROSS")
    return query
