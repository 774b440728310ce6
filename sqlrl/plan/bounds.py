"""How many rows the joins of a grounding query enumerate at the most, counted without enumerating them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.logic.shapes import Shape, ShapeLiteral, Slot
from sqlrl.plan.counted import counted_parts, reduced, without_parts
from sqlrl.plan.parts import Context, domain_size
from sqlrl.plan.semiring import Factor, Steps
from sqlrl.plan.slots import BoundShape, bind, outer_slots
from sqlrl.plan.sources import fact_source, open_source
from sqlrl.plan.terms import term_query, total_query


def domain_bound(shape: Shape, layout: Layout) -> int:
    """Return a bound that needs no query: the domain sizes of a shape's variables, those of its quantifiers among them.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> domain_bound(friends_smoke(), people())
    9
    """
    bound = bind(shape, layout)
    size = 1
    for slot in {Slot(False, i) for i in range(len(shape.variables))} | set(bound.variables):
        size *= max(domain_size(bound, slot), 1)
    return size


def enumerated(
    shape: Shape,
    layout: Layout,
    *,
    parameters: TableName | None = None,
    examples: TableName | None = None,
    foreign: frozenset[int] = frozenset(),
) -> list[exp.Select]:
    """Plan bounds on what the grounding query of a shape enumerates, clause by clause.

    What evidence joins is counted exactly; anti-joins, inequalities and query atoms of a whole domain are left out. The
    witnesses of a quantifier are enumerated beside the groundings, and again as the literals of the ground clauses.

    Returns
    -------
    list of exp.Select
        Each with the columns of `plan.counting.count_violated`. The sum over the clauses of each one bounds the rows of the query, of
        its witnesses, or the literals of its ground clauses.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> [query.sql("duckdb") for query in enumerated(friends_smoke(), people())]
    ['SELECT CAST(SUM(1) AS INT128) AS "n" FROM "db"."main"."friends" AS "f0"']
    """
    whole = bind(shape, layout, foreign, parameters)
    parts = counted_parts(whole, whole.variables)
    counted = frozenset[Slot]().union(*(part.slots for part in parts))
    main = without_parts(whole, parts)
    variables = [slot for slot in whole.variables if slot not in counted]
    must = [x for x in main.shape.literals if not x.positive]
    found = [_joined(whole, must, variables, examples)]
    for group in main.shape.exists:
        if any(whole.info(x).open for x in group.literals):
            inside = [Slot(False, i) for i in group.variables]
            witnesses = [x for x in group.literals if x.positive]
            around = [slot for slot in outer_slots(whole, group) if not slot.parameter]
            found.append(_joined(whole, witnesses, [*around, *inside], examples))
            found.append(_joined(whole, [*must, *witnesses], [*variables, *inside], examples))
    return found


def _joined(
    whole: BoundShape, literals: Sequence[ShapeLiteral], variables: Sequence[Slot], examples: TableName | None
) -> exp.Select:
    """Plan the number of assignments for which literals have a row: facts of closed ones, atoms of open ones with a scope."""
    known = [x for x in literals if not (whole.info(x).open and whole.info(x).full_scope)]
    parameters = {Slot(True, i) for i in range(len(whole.shape.parameters))}
    same = [x for x in whole.shape.equalities if not x.positive and {x.left, x.right} <= {*variables, *parameters}]
    bound = reduced(whole, [*(ShapeLiteral(x.predicate, False, x.terms) for x in known), *same])
    context = Context(bound, whole.parameters, examples, Steps([]))
    factors = []
    for literal in bound.shape.literals:
        alias, info = f"f{context.steps.fresh()}", whole.info(literal)
        source = open_source(whole, literal, alias)[0] if info.open else fact_source(whole, literal, alias)
        factors.append(Factor(source, None, info.rows + info.atom_count))
    asked = [slot for slot in whole.restricted if slot.parameter or slot in variables]
    term = term_query(context, factors, (), 1, variables=variables, restricted=asked)
    return total_query(context, [] if term is None else [term])
