"""What the ground clauses of a shape add to a factor graph, counted for every clause and example by one query a shape.

A node is a query atom that occurs in some ground clause that the evidence leaves open, a factor such a ground clause, an edge
an atom in a factor. Source: Huynh (2011), section 7.2.

`count_factors` is a sum of products: it joins no more than two literals at a time where the clause allows it, and no ground
clause ever exists. It counts groundings, so that ground clauses of one set of literals count once for each; `is_exact` says
where there are none. `list_factors` merges them, by aggregating the grounding query inside the database.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import combinations

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, conjunction, cte, integer, named, star_count, subquery, table, union_all
from sqlrl.logic.shapes import ShapeLiteral
from sqlrl.plan.count_plan import CountPlan, Pivot, clause_plan, summed_terms
from sqlrl.plan.counting import MOST_POSITIVE
from sqlrl.plan.disjunct_factors import examples_of, factor_of, narrowed, products, true_tuples
from sqlrl.plan.disjuncts import AtomDisjunct, Disjunct, is_open, split_positive
from sqlrl.plan.grounding import GroundingQuery, ground, open_literals
from sqlrl.plan.semiring import Factor, QuerySteps
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import OBSERVED, SlotSource, given_rows, selected

UnequalPairs = Collection[frozenset[int]]
"""Pairs of parameters that no clause of a shape fills with the same constant."""


def is_countable(bound: BoundShape) -> bool:
    """Return whether `count_factors` can plan a shape: no quantifier over query atoms, few positive parts, one example term."""
    quantified = any(is_open(bound, group) for group in bound.shape.exists)
    one_example = bound.undivided or len(bound.restricted) == 1
    return not quantified and one_example and len(split_positive(bound)[1]) <= MOST_POSITIVE


def is_exact(bound: BoundShape, unequal: UnequalPairs = ()) -> bool:
    """Return whether distinct groundings of a shape are distinct ground clauses, none of them true in every world."""
    literals = open_literals(bound)
    shown = {slot for x in literals for _, slot in bound.columns(x)}
    if not shown.issuperset(bound.variables) or any(not bound.covers(x) for x in literals if x.positive):
        return False
    if any(bound.info(x).has_given for x in literals):
        return False
    return not any(a.predicate == b.predicate and not _differ(a, b, unequal) for a, b in combinations(literals, 2))


def _differ(a: ShapeLiteral, b: ShapeLiteral, unequal: UnequalPairs) -> bool:
    """True if two literals never share an atom, because their constants differ at some place."""
    pairs = [(s, t) for s, t in zip(a.terms, b.terms, strict=True) if s.parameter and t.parameter]
    return any(frozenset((s.index, t.index)) in unequal for s, t in pairs)


def degree(bound: BoundShape) -> int:
    """Return how often query predicates appear in a shape."""
    return sum(bound.info(x).open for x in bound.every_literal)


def count_factors(bound: BoundShape, examples: TableName | None = None) -> exp.Select:
    """Plan `nodes`, `factors`, `edges` by `clause` (with parameters) and `example` of a shape that `is_countable`, without joining all literals."""
    plan = clause_plan(bound, examples)
    keys = [*plan.keys, "example"]
    atoms = [summed_terms(_open_terms(plan, x), [*keys, "atom"], exp.GT) for x in open_literals(bound)]
    factors = summed_terms(_unsatisfied_terms(plan), keys, exp.GT)
    edges = exp.Mul(this=column("n"), expression=integer(degree(bound)))
    sizes = exp.select(*map(column, keys), named(column("n"), "factors"), named(edges, "edges"))
    return _joined(plan.steps, atoms, sizes.from_(subquery(factors, "f")), keys)


OpenTuples = Callable[[BoundShape, ShapeLiteral], tuple[exp.Query, int]]
"""Which tuples of an open literal count as true, and a bound on their number."""


def _unsatisfied_terms(plan: CountPlan) -> list[exp.Select]:
    """Plan the groundings that the evidence does not satisfy, less those that it violates, by clause and example."""
    bound, alias = plan.bound, f"o{plan.steps.fresh()}"
    source = SlotSource(
        table(bound.layout.examples, alias), alias, tuple(("example", slot) for slot in bound.restricted)
    )
    each = plan.for_rows_of(Pivot(Factor(source, None, bound.layout.example_count), ("example",)))
    terms = _terms(each, _may_hold, _must_hold)
    if not any(_always_open(bound, x) for x in open_literals(bound)):
        terms += _terms(each, _must_hold, _may_hold, sign=-1)
    return terms


def _open_terms(plan: CountPlan, literal: ShapeLiteral) -> list[exp.Select]:
    """Plan the groundings that leave a literal and the whole clause open, by clause, example and atom of the literal."""
    info, alias = plan.bound.info(literal), f"o{plan.steps.fresh()}"
    assert info.atoms is not None
    source = SlotSource(table(info.atoms, alias), alias, plan.bound.columns(literal))
    each = plan.for_rows_of(Pivot(Factor(source, None, info.atom_count), ("example", "atom")))
    return _terms(each, _may_hold, _must_hold, open_literal=literal)


def _terms(
    plan: CountPlan, true: OpenTuples, barred: OpenTuples, *, sign: int = 1, open_literal: ShapeLiteral | None = None
) -> list[exp.Select]:
    """Plan inclusion-exclusion over positive disjuncts: negative open literals have tuples of `true`, positive ones must have none of `barred`."""
    bound, steps = plan.bound, plan.steps

    def tuples(of_open: OpenTuples, each: AtomDisjunct) -> tuple[exp.Query, int]:
        """Return what counts as true: evidence, or what is said of open literals."""
        if isinstance(each, ShapeLiteral) and bound.info(each).open:
            return of_open(bound, each)
        return true_tuples(bound, each, OBSERVED, plan.examples)

    # The literal `open_literal` has a query atom: what the plan counts for.
    positive = [x for x in split_positive(bound)[1] if x is not open_literal and not _is_empty(bound, x, barred)]
    # Where a positive literal always has a query atom, joining it changes nothing, but lets other variables be summed out.
    certain = [x for x in open_literals(bound) if x.positive and x is not open_literal and _always_open(bound, x)]
    asked = examples_of(bound, plan.examples)
    terms = []
    for factors, chosen, flip in products(bound, steps, partial(tuples, true), partial(tuples, barred), positive):
        also = [factor_of(bound, x, partial(_may_hold, bound), steps) for x in certain]
        wanted = [narrowed(factor, asked, "") for factor in (*factors, *also)]
        terms.append(plan.query(wanted, chosen, sign * flip))
    return [term for term in terms if term is not None]


def _may_hold(bound: BoundShape, literal: ShapeLiteral) -> tuple[exp.Query, int]:
    """Return the tuples of an open predicate that are query atoms or given true."""
    info = bound.info(literal)
    columns = [name for name, _ in bound.columns(literal)]
    assert info.atoms is not None
    atoms: exp.Query = exp.select(*selected(columns)).from_(table(info.atoms))
    found = [atoms, given_rows(info, truth=True)] if info.has_given else [atoms]
    return union_all(found), info.atom_count + info.rows


def _must_hold(bound: BoundShape, literal: ShapeLiteral) -> tuple[exp.Query, int]:
    """Return the tuples of an open predicate that are given true."""
    info = bound.info(literal)
    return given_rows(info, truth=True), info.rows


def _always_open(bound: BoundShape, literal: ShapeLiteral) -> bool:
    """True for an open literal whose atom is a query atom wherever the evidence does not make it true."""
    return (not literal.positive or bound.covers(literal)) and not bound.info(literal).has_given


def _is_empty(bound: BoundShape, part: Disjunct, how: OpenTuples) -> bool:
    """True for an open literal of which no evidence says that it is true."""
    opened = isinstance(part, ShapeLiteral) and bound.info(part).open
    return opened and how is _must_hold and isinstance(part, ShapeLiteral) and not bound.info(part).has_given


def _joined(steps: QuerySteps, atoms: Sequence[exp.Select], sizes: exp.Select, keys: Sequence[str]) -> exp.Select:
    """Count the distinct atoms of queries by keys, and put factors and edges beside them."""
    flat = [exp.select(*map(column, keys), column("atom")).from_(subquery(query, "a")) for query in atoms]
    count = exp.Count(this=exp.Distinct(expressions=[column("atom")]))
    nodes = exp.select(*map(column, keys), named(count, "nodes")).from_(subquery(union_all(flat), "a"))
    nodes = nodes.group_by(*map(column, keys))
    on = conjunction(exp.EQ(this=column(key, "x"), expression=column(key, "y")) for key in keys)
    query = exp.select(*(named(column(key, "x"), key) for key in keys), column("nodes", "x"))
    query = query.select(column("factors", "y"), column("edges", "y")).from_(subquery(nodes, "x"))
    return steps.before(query.join(subquery(sizes, "y"), on=on))


def list_factors(bound: BoundShape, examples: TableName | None = None) -> exp.Select:
    """Plan the numbers of `count_factors` from the ground clauses, of which those with equal literals are one; witnesses are edges."""
    plan = ground(bound, examples)
    keys = [*(["clause"] if plan.has_clause else []), "example"]
    steps = QuerySteps([])
    merged = exp.select(*map(column, keys[:-1]), named(_literals(plan), "literals")).from_(subquery(plan.query, "g"))
    clauses = steps.add("clauses", merged.distinct())
    opened = [info for info in bound.layout.predicates.values() if info.open and info.atoms is not None]
    atoms = [exp.select(column("atom"), column("example")).from_(table(i.atoms)) for i in opened if i.atoms is not None]
    # The atoms of a ground clause belong to one example, so that any of them says to which.
    first = exp.Abs(this=exp.Bracket(this=column("literals", "c"), expressions=[integer(0)]))
    placed = exp.select(*(column(key, "c") for key in keys[:-1]), column("example", "a"), column("literals", "c"))
    placed = placed.from_(cte(clauses, "c"))
    placed = placed.join(subquery(union_all(atoms), "a"), on=exp.EQ(this=column("atom", "a"), expression=first))
    if plan.list_signs:
        placed = placed.where(_no_tautology())
    factors = steps.add("factors", placed)
    edges = cast(exp.Sum(this=exp.ArraySize(this=column("literals"))), "INT128")
    sizes = exp.select(*map(column, keys), named(star_count(), "factors"), named(edges, "edges"))
    sizes = sizes.from_(cte(factors)).group_by(*map(column, keys))
    each = exp.Explode(this=column("literals"))
    signed = exp.select(*map(column, keys), named(each, "literal")).from_(cte(factors))
    atom = named(exp.Abs(this=column("literal")), "atom")
    shown = exp.select(*map(column, keys), atom).from_(subquery(signed, "s"))
    return _joined(steps, [shown], sizes, keys)


def _literals(plan: GroundingQuery) -> exp.Expression:
    """Return the set of signed atoms of a ground clause as an ascending list, what the evidence decided left out."""
    signs = enumerate(plan.signs)
    plain = [_signed(column(f"l{i}", "g"), sign) for i, sign in signs]
    lists: list[exp.Expression] = [exp.Array(expressions=plain)] if plain else []
    for i, sign in enumerate(plan.list_signs):
        some = exp.Coalesce(this=column(f"e{i}", "g"), expressions=[exp.Array(expressions=[])])
        lists.append(some if sign > 0 else _mapped(some, exp.Neg(this=exp.to_identifier("x"))))
    together = exp.ArrayConcat(this=lists[0], expressions=lists[1:]) if len(lists) > 1 else lists[0]
    decided = exp.NEQ(this=exp.to_identifier("x"), expression=integer(0))
    left = exp.ArrayFilter(this=together, expression=_lambda(decided))
    return exp.ArraySort(this=exp.ArrayDistinct(this=left))


def _no_tautology() -> exp.Expression:
    """Return the condition that a ground clause holds no atom with its negation, as one with witnesses may."""
    literals = column("literals", "c")
    atoms = exp.ArrayDistinct(this=_mapped(literals, exp.Abs(this=exp.to_identifier("x"))))
    return exp.EQ(this=exp.ArraySize(this=atoms), expression=exp.ArraySize(this=literals.copy()))


def _signed(atom: exp.Expression, sign: int) -> exp.Expression:
    return atom if sign > 0 else exp.Neg(this=atom)


def _lambda(body: exp.Expression) -> exp.Lambda:
    return exp.Lambda(this=body, expressions=[exp.to_identifier("x")])


def _mapped(values: exp.Expression, body: exp.Expression) -> exp.Transform:
    return exp.Transform(this=values, expression=_lambda(body))
