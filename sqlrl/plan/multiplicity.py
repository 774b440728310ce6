"""How many groundings a ground clause stands for: the counted parts of its shape, aggregated before anything is joined.

Each part is a sum of products with inclusion-exclusion over its positive literals, as in `plan.counting`, but with one value for each
value of the slots that it shares with the rest of the clause. The multiplicity is the product over the parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, integer, subquery, table
from sqlrl.logic.shapes import ShapeEquality, ShapeExists, ShapeLiteral, Slot
from sqlrl.plan.body import Body
from sqlrl.plan.counted_variables import CountedPart, item_slots
from sqlrl.plan.semiring import BIGINT_LIMIT, Factor, Steps, partial_sums
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import OBSERVED, Source
from sqlrl.plan.terms import Context, Part, Term, guarded_factor, part_factor, split_parts, subsets, term_of, true_query


@dataclass(frozen=True)
class PartSum:
    """The number of groundings of a counted part, as relations to be joined."""

    bound: BoundShape
    # What does not depend on any slot outside it.
    constant: int
    # A constant factor and the term without positive literals: where that has no row there is no grounding.
    first: tuple[int, Factor] | None
    # The other terms, each with a constant factor: where one has no row it is 0.
    others: tuple[tuple[int, Factor], ...]
    # An upper bound.
    most: int

    @property
    def terms(self) -> tuple[tuple[int, Factor], ...]:
        """All terms but the constant."""
        return self.others if self.first is None else (self.first, *self.others)

    @property
    def certain(self) -> bool:
        """True if the number is positive wherever the first term has a row."""
        return not self.others and (self.first is None or bool(self.first[1].slots))

    def value(self, wide: bool) -> exp.Expression:
        """Return the number as an expression over what is joined: HUGEINT if `wide`, else BIGINT."""
        kind = "INT128" if wide else "BIGINT"
        found: list[exp.Expression] = []
        for i, (constant, factor) in enumerate(self.terms):
            assert factor.weight is not None
            count: exp.Expression = column(factor.weight, factor.source.alias)
            if self.first is None or i:
                count = exp.Coalesce(this=count, expressions=[integer(0)])
            count = cast(count, kind) if wide else count
            found.append(count if constant == 1 else exp.Mul(this=integer(constant), expression=count))
        if self.constant or not found:
            found.insert(0, cast(integer(self.constant), kind))
        total = reduce(lambda a, b: exp.Add(this=a, expression=b), found)
        return exp.Paren(this=total) if len(found) > 1 else total


class Multiplicity:
    """Joins the counted parts of the whole clause `bound` to a body, which receives the steps and the joins."""

    def __init__(
        self, bound: BoundShape, body: Body, parts: Sequence[CountedPart], examples: TableName | None = None
    ) -> None:
        self._body = body
        # The variables that are counted.
        self.slots = frozenset[Slot]().union(*(part.slots for part in parts))
        sums = [_part_sum(bound, body, part, examples) for part in parts]
        self._empty = None in sums
        self._sums = [found for found in sums if found is not None]
        # An upper bound on the product.
        self.most = reduce(lambda a, b: a * max(b, 1), (part.most for part in self._sums), 1)

    def join_first(self) -> None:
        """Join what must have a row."""
        if self._empty:
            self._body.where(exp.false())
        for part in self._sums:
            if part.first is not None:
                self._body.join(part.first[1].source)
                for literal in (x for x in part.bound.shape.literals if not x.positive):
                    self._body.learn_domains(literal)

    def join_last(self) -> None:
        """Join what may lack a row, and drop what has no grounding."""
        for part in self._sums:
            for _, factor in part.others:
                self._body.outer_join(factor.source)
            if not part.certain:
                positive = exp.GT(this=part.value(part.most > BIGINT_LIMIT), expression=integer(0))
                self._body.where(positive)

    def value(self, wide: bool) -> exp.Expression:
        """Return the product over the parts: HUGEINT if `wide`, else BIGINT."""
        varying = [part for part in self._sums if part.terms]
        constant = reduce(lambda a, b: a * b, (part.constant for part in self._sums if not part.terms), 1)
        values = [part.value(wide) for part in varying]
        if constant != 1 or not values:
            values.insert(0, cast(integer(constant), "INT128" if wide else "BIGINT"))
        return reduce(lambda a, b: exp.Mul(this=a, expression=b), values)


def present(bound: BoundShape, parts: Iterable[CountedPart], examples: TableName | None, steps: Steps) -> list[Factor]:
    """Return, for each counted part that must have a row, the values of its other slots for which it may have one."""
    found = []
    for part in parts:
        outside = _outside(bound, part)
        term = _part_term(bound, steps, part, (), outside, examples)
        if term is not None and term.factors:
            factor = partial_sums(term.factors, outside, steps)
            found.append(Factor(factor.source, None, factor.rows))
    return [factor for factor in found if factor.slots]


def _outside(bound: BoundShape, part: CountedPart) -> frozenset[Slot]:
    """Return the slots that a part shares with the rest of the clause."""
    outside = frozenset(slot for x in part.items for slot in item_slots(bound, x)) - part.slots
    return outside | ({owner for slot in part.slots for owner in bound.owners.get(slot, ())} - part.slots)


def _part_sum(bound: BoundShape, body: Body, part: CountedPart, examples: TableName | None) -> PartSum | None:
    """Plan a part's terms; None if it has no grounding whatever its other slots are."""
    constant, most, first = 0, 0, None
    others: list[tuple[int, Factor]] = []
    outside = _outside(bound, part)
    for chosen in subsets(split_parts(part.bound)[1]):
        term = _part_term(bound, body.steps, part, chosen, outside, examples)
        if term is None and not chosen:
            return None
        if term is None:
            continue
        if not term.factors:
            constant, most = constant + term.multiplier, most + abs(term.multiplier)
            continue
        found = (term.multiplier, partial_sums(term.factors, outside, body.steps))
        most += abs(term.multiplier) * max(found[1].rows, 1)
        if chosen:
            others.append(found)
        else:
            first = found
    return PartSum(part.bound, constant, first, tuple(others), most)


def _part_term(
    bound: BoundShape,
    steps: Steps,
    part: CountedPart,
    chosen: Sequence[Part],
    outside: frozenset[Slot],
    examples: TableName | None,
) -> Term | None:
    """Return one term of a part's inclusion-exclusion; its factors hold no more than the clauses and examples ask for."""
    context = Context(part.bound, bound.parameters, examples, steps)
    guards, _ = split_parts(part.bound)

    def relation(x: ShapeLiteral | ShapeExists) -> tuple[exp.Query, int]:
        """Return the true tuples of a closed literal or group."""
        # Witnesses of a closed group are sought in all examples: which are asked for is a matter of the whole clause.
        return true_query(replace(context, examples=None), x, OBSERVED)

    negative = [x for x in part.bound.shape.literals if not x.positive]
    factors = [guarded_factor(context, x, guards.get(x, ()), relation) for x in negative]
    factors += [part_factor(context, x, relation(x)) for x in chosen if not isinstance(x, ShapeEquality)]
    factors = [_narrowed(bound, factor, examples) for factor in factors]
    sign = -1 if len(chosen) % 2 else 1
    asked = [slot for slot in bound.restricted if slot in part.slots]
    return term_of(context, factors, chosen, sign, variables=sorted(part.slots), kept=outside, restricted=asked)


def _narrowed(bound: BoundShape, factor: Factor, examples: TableName | None) -> Factor:
    """Keep the rows of a factor whose constants some clause has and whose examples are asked for."""
    alias = factor.source.alias
    conditions: list[exp.Expression] = []
    for name, slot in factor.source.columns:
        wanted: exp.Select | None = None
        if slot.parameter and bound.parameters is not None:
            wanted = exp.select(column(f"k{slot.index}")).from_(table(bound.parameters))
        elif examples is not None and slot in bound.restricted:
            wanted = exp.select(column("example")).from_(table(examples))
        if wanted is not None:
            conditions.append(exp.In(this=column(name, alias), query=exp.Subquery(this=wanted)))
    if not conditions:
        return factor
    columns = [column(name, alias) for name in dict.fromkeys(name for name, _ in factor.source.columns)]
    query = exp.select(*columns).from_(factor.source.relation).where(*conditions)
    source = Source(subquery(query, f"{alias}w"), f"{alias}w", factor.source.columns)
    return Factor(source, factor.weight, factor.rows)
