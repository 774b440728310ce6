"""How many more groundings of a shape's clauses are violated in one world than in another, from the atoms that differ and what they touch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import column, cte, integer, named, subquery, union_all
from sqlrl.logic.shapes import ShapeEquality, ShapeExists, ShapeLiteral
from sqlrl.plan.count_plan import CountPlan, clause_plan
from sqlrl.plan.counting import count_violated
from sqlrl.plan.disjunct_factors import factor_of, narrowed, true_tuples, tuple_columns, witnessed_tuples
from sqlrl.plan.disjuncts import AtomDisjunct, is_open, negative_literals, positive_disjuncts, subsets
from sqlrl.plan.semiring import Factor, QuerySteps
from sqlrl.plan.slots import BoundShape, outer_slots
from sqlrl.plan.sources import SlotSource, World, changed_rows
from sqlrl.plan.tuples import Conjunction, holding

MOST_CHANGING = 4
"""A difference has a term for each literal of each of these terms; past this many positive disjuncts both worlds are counted."""


def count_difference(bound: BoundShape, first: World, second: World, examples: TableName | None = None) -> exp.Select:
    """Plan how many more groundings are violated in the first world than in the second, in `count_violated` columns; `n` may be negative."""
    plan = clause_plan(bound, examples)
    positive = positive_disjuncts(bound.shape)
    if len(positive) > MOST_CHANGING:
        return plan.total(_signed(plan, first, second))
    changes = _Changes(bound, first, second, examples, plan.steps)
    terms = []
    for chosen in subsets(positive):
        members = [*negative_literals(bound.shape), *(x for x in chosen if not isinstance(x, ShapeEquality))]
        changing = [x for x in members if is_open(bound, x)]
        # A product over literals changes by a telescoping sum: literal after literal, those before it in the first world, itself the changed
        # atoms with their sign, those after it in the second world.
        for i, pivot in enumerate(changing):
            change = changes.factor(pivot)
            others = []
            for member in members:
                if member is not pivot:
                    world = first if member in changing[:i] else second
                    true = partial(true_tuples, bound, world=world, examples=examples)
                    others.append(factor_of(bound, member, true, plan.steps))
            # Only groundings of changed atoms are touched: facts are reduced to those that a chain of facts ties to a changed atom.
            factors = [change, *_reduced_factors(plan.steps, others, change)]
            terms.append(plan.query(factors, chosen, -1 if len(chosen) % 2 else 1))
    return plan.total(terms)


def _signed(plan: CountPlan, first: World, second: World) -> Iterator[exp.Select]:
    """Count both worlds, the second one negated."""
    for i, (world, sign) in enumerate(((first, 1), (second, -1))):
        query = count_violated(plan.bound, world, plan.examples)
        change = exp.Mul(this=column("n"), expression=integer(sign))
        yield exp.select(*map(column, plan.keys), named(change, "n")).from_(subquery(query, f"world{i}"))


@dataclass(frozen=True)
class _Changes:
    # The tuples whose truth differs between two worlds, a step for each predicate and existential group.
    bound: BoundShape
    first: World
    second: World
    examples: TableName | None
    steps: QuerySteps
    known: dict[str | ShapeExists, str] = field(default_factory=dict)

    def factor(self, changed: AtomDisjunct) -> Factor:
        """Return the tuples whose truth differs, weighted with the sign, as a step."""
        key = changed if isinstance(changed, ShapeExists) else changed.predicate
        if isinstance(changed, ShapeLiteral):
            info = self.bound.info(changed)
            query, rows = changed_rows(info, self.first, self.second), info.atom_count
        else:
            touched, worlds = self._touched(changed), (self.first, self.second)
            (here, rows), (there, _) = (
                witnessed_tuples(self.bound, changed, world, self.examples, touched) for world in worlds
            )
            names = [name for name, _ in tuple_columns(self.bound, changed)]
            query = union_all(
                exp.select(*map(column, names), named(integer(sign), "change")).from_(
                    subquery(exp.Except(this=a.copy(), expression=b.copy(), distinct=True), "e")
                )
                for a, b, sign in ((here, there, 1), (there, here, -1))
            )
        if key not in self.known:
            self.known[key] = self.steps.add("c", query)
        name = self.known[key]
        return Factor(SlotSource(cte(name, name), name, tuple_columns(self.bound, changed)), "change", rows)

    def _touched(self, group: ShapeExists) -> SlotSource:
        """Return, as a step, the outer slots of a group for which some possible witness has a changed atom."""
        bound, outer = self.bound, outer_slots(self.bound, group)
        queries: list[exp.Query] = []
        for literal in (x for x in group.literals if bound.info(x).open):
            change = self.factor(literal).source
            closed = [x for x in group.literals if x.positive and not bound.info(x).open]
            source = SlotSource(cte(change.relation.name, "t"), "t", change.columns)
            queries.append(
                holding(bound, Conjunction(outer, closed), self.first, examples=self.examples, within=source)
            )
        name = self.steps.add("t", union_all(queries))
        alias = f"i{self.steps.fresh()}"
        query = exp.select("*").distinct().from_(cte(name))
        return SlotSource(subquery(query, alias), alias, tuple_columns(bound, group))


def _reduced(factor: Factor, change: Factor) -> Factor:
    """Keep the rows of a factor that share their slots with some changed tuple."""
    source = change.source
    wanted = {slot: exp.select(column(name)).from_(cte(source.alias)) for name, slot in source.columns}
    return narrowed(factor, wanted, "r")


def _reduced_factors(steps: QuerySteps, factors: Sequence[Factor], change: Factor) -> list[Factor]:
    """Keep the rows of factors that share their slots with changed tuples, directly or through other factors."""
    found = [_reduced(factor, change) for factor in factors]
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
            found[j] = _as_step(steps, found[j])
        found[i] = _reduced(found[i], found[j])
        waiting.remove(i)
        reached.add(i)


def _as_step(steps: QuerySteps, factor: Factor) -> Factor:
    """Put the query of a factor into a named step."""
    assert isinstance(factor.source.relation, exp.Subquery)
    name = steps.add("r", factor.source.relation.this)
    return Factor(SlotSource(cte(name, name), name, factor.source.columns), factor.weight, factor.rows)
