"""How many groundings a ground clause stands for: the counted parts of its shape, aggregated before anything is joined.

Each part is a sum of products with inclusion-exclusion over its positive literals, as in `plan.counting`, but with one value for each
value of the slots that it shares with the rest of the clause. The multiplicity is the product over the parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, integer, table
from sqlrl.logic.shapes import Slot
from sqlrl.plan.body import QueryBody
from sqlrl.plan.count_plan import CountPlan
from sqlrl.plan.counted_variables import CountedPart
from sqlrl.plan.disjunct_factors import ExpansionTerm, examples_of, narrowed, products, true_tuples
from sqlrl.plan.disjuncts import disjunct_slots, negative_literals
from sqlrl.plan.semiring import BIGINT_LIMIT, Factor, QuerySteps
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import OBSERVED


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

    def value(self, hugeint: bool) -> exp.Expression:
        """Return the number as an expression over what is joined: HUGEINT if `hugeint`, else BIGINT."""
        kind = "INT128" if hugeint else "BIGINT"
        found: list[exp.Expression] = []
        for i, (constant, factor) in enumerate(self.terms):
            assert factor.weight is not None
            count: exp.Expression = column(factor.weight, factor.source.alias)
            if self.first is None or i:
                count = exp.Coalesce(this=count, expressions=[integer(0)])
            count = cast(count, kind) if hugeint else count
            found.append(count if constant == 1 else exp.Mul(this=integer(constant), expression=count))
        if self.constant or not found:
            found.insert(0, cast(integer(self.constant), kind))
        total = reduce(lambda a, b: exp.Add(this=a, expression=b), found)
        return exp.Paren(this=total) if len(found) > 1 else total


class Multiplicity:
    """Joins the counted parts of the whole clause `bound` to a body, which receives the steps and the joins."""

    def __init__(
        self, bound: BoundShape, body: QueryBody, parts: Sequence[CountedPart], examples: TableName | None = None
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
                for literal in negative_literals(part.bound.shape):
                    self._body.learn_domains(literal)

    def join_last(self) -> None:
        """Join what may lack a row, and drop what has no grounding."""
        for part in self._sums:
            for _, factor in part.others:
                self._body.outer_join(factor.source)
            if not part.certain:
                positive = exp.GT(this=part.value(part.most > BIGINT_LIMIT), expression=integer(0))
                self._body.where(positive)

    def value(self, hugeint: bool) -> exp.Expression:
        """Return the product over the parts: HUGEINT if `hugeint`, else BIGINT."""
        varying = [part for part in self._sums if part.terms]
        constant = reduce(lambda a, b: a * b, (part.constant for part in self._sums if not part.terms), 1)
        values = [part.value(hugeint) for part in varying]
        if constant != 1 or not values:
            values.insert(0, cast(integer(constant), "INT128" if hugeint else "BIGINT"))
        return reduce(lambda a, b: exp.Mul(this=a, expression=b), values)


def present(
    bound: BoundShape, parts: Iterable[CountedPart], examples: TableName | None, steps: QuerySteps
) -> list[Factor]:
    """Return, for each counted part that must have a row, the values of its other slots for which it may have one."""
    found = []
    for part in parts:
        plan = _part_plan(bound, steps, part, examples)
        term = plan.term(*next(_part_products(bound, plan)))
        if term is not None and term.factors:
            factor = plan.sums(term)
            found.append(Factor(factor.source, None, factor.rows))
    return [factor for factor in found if factor.slots]


def _part_sum(bound: BoundShape, body: QueryBody, part: CountedPart, examples: TableName | None) -> PartSum | None:
    """Plan a part's terms; None if it has no grounding whatever its other slots are."""
    constant, most, first = 0, 0, None
    others: list[tuple[int, Factor]] = []
    plan = _part_plan(bound, body.steps, part, examples)
    for factors, chosen, sign in _part_products(bound, plan):
        term = plan.term(factors, chosen, sign)
        if term is None and not chosen:
            return None
        if term is None:
            continue
        if not term.factors:
            constant, most = constant + term.multiplier, most + abs(term.multiplier)
            continue
        found = (term.multiplier, plan.sums(term))
        most += abs(term.multiplier) * max(found[1].rows, 1)
        if chosen:
            others.append(found)
        else:
            first = found
    return PartSum(part.bound, constant, first, tuple(others), most)


def _part_plan(bound: BoundShape, steps: QuerySteps, part: CountedPart, examples: TableName | None) -> CountPlan:
    """Plan the count of a part for each value of the slots that it shares with the rest of the clause."""
    outside = {slot for x in part.disjuncts for slot in disjunct_slots(bound, x)}
    outside |= {owner for slot in part.slots for owner in bound.owners.get(slot, ())}
    asked = tuple(slot for slot in bound.restricted if slot in part.slots)
    return CountPlan(part.bound, examples, steps, frozenset(outside - part.slots), tuple(sorted(part.slots)), asked)


def _part_products(bound: BoundShape, plan: CountPlan) -> Iterator[ExpansionTerm]:
    """Yield the terms of a part's inclusion-exclusion; its factors hold no more than the clauses and examples ask for."""
    wanted = examples_of(bound, plan.examples)
    if bound.parameters is not None:
        for i in range(len(bound.shape.parameters)):
            wanted[Slot(True, i)] = exp.select(column(f"k{i}")).from_(table(bound.parameters))
    # Witnesses of a closed group are sought in all examples: which are asked for is a matter of the whole clause.
    true = partial(true_tuples, plan.bound, world=OBSERVED, examples=None)
    for factors, chosen, sign in products(plan.bound, plan.steps, true):
        yield [narrowed(factor, wanted, "w") for factor in factors], chosen, sign
