"""A clause in parts that share no variable: of such parts the violated groundings are counted alone and multiplied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlrl.engine.nodes import cast, column, named, subquery
from sqlrl.logic.shapes import Slot
from sqlrl.plan.counted import Item, components, item_slots, items_of, reduced
from sqlrl.plan.slots import BoundShape


@dataclass(frozen=True)
class IndependentPart:
    """Literals, equalities and existential groups of a clause that share no variable with the others.

    Parameters
    ----------
    bound : BoundShape
        The clause reduced to them.
    variables : tuple of Slot
        Their variables.
    asked : tuple of Slot
        Those of their slots to which `examples` of a query applies.
    keyed : bool
        Whether they mention a parameter, so that each clause has a number of its own.
    """

    bound: BoundShape
    variables: tuple[Slot, ...]
    asked: tuple[Slot, ...]
    keyed: bool


def independent_parts(bound: BoundShape) -> tuple[IndependentPart, ...]:
    """Split a clause into parts that share no variable; a grounding violates it if it violates each of them.

    Variables that occur in no literal belong to the first part.

    Examples
    --------
    >>> from sqlrl.logic.shapes import Shape, ShapeLiteral
    >>> from sqlrl.plan.sample import people
    >>> from sqlrl.plan.slots import bind
    >>> x, y, z = (Slot(False, i) for i in range(3))
    >>> literals = (ShapeLiteral("Friends", False, (x, y)), ShapeLiteral("Smokes", True, (z,)))
    >>> parts = independent_parts(bind(Shape(("person",) * 3, (), literals), people()))
    >>> [(str(part.bound.shape), [str(slot) for slot in part.variables]) for part in parts]
    [('!Friends(v0, v1)', ['v0', 'v1']), ('Smokes(v2)', ['v2'])]
    """
    mentioned = {item: item_slots(bound, item) for item in items_of(bound.shape)}
    variables = {slot: frozenset((slot, *bound.owners.get(slot, ()))) for slot in bound.variables}
    edges = [frozenset(s for s in found if not s.parameter) for found in (*mentioned.values(), *variables.values())]
    groups: list[tuple[frozenset[Slot], list[Item]]] = []
    unmentioned = frozenset[Slot]()
    for slots in components(edges, set(bound.variables)):
        mine = [item for item, found in mentioned.items() if found & slots]
        if mine:
            groups.append((slots, mine))
        else:
            unmentioned |= slots
    groups += [(frozenset(), [item]) for item, found in mentioned.items() if all(slot.parameter for slot in found)]
    if len(groups) < 2:
        return (IndependentPart(bound, bound.variables, bound.restricted, keyed=True),)
    groups[0] = (groups[0][0] | unmentioned, groups[0][1])
    return tuple(_part(bound, slots, items) for slots, items in groups)


def _part(bound: BoundShape, slots: frozenset[Slot], items: Sequence[Item]) -> IndependentPart:
    used = slots.union(*(item_slots(bound, item) for item in items), *(bound.owners.get(slot, ()) for slot in slots))
    return IndependentPart(
        reduced(bound, items),
        tuple(slot for slot in bound.variables if slot in slots),
        tuple(slot for slot in bound.restricted if slot in used),
        any(slot.parameter for slot in used),
    )


def product_query(counts: Sequence[tuple[exp.Select, bool]], keys: Sequence[str] = ("clause",)) -> exp.Select:
    """Multiply the counts of independent parts.

    Parameters
    ----------
    counts : sequence of (exp.Select, bool)
        Counting queries; those marked have the columns `keys` beside `n`.
    keys : sequence of str
        `clause`, and after it other columns where a clause has several rows: their products are added up.

    Returns
    -------
    exp.Select
        Columns `clause` (if some query is marked) and `n`.

    Examples
    --------
    >>> from sqlrl.engine.nodes import integer
    >>> three, five = (exp.select(named(integer(n), "n")) for n in (3, 5))
    >>> print(product_query([(three, False), (five, False)]).sql("duckdb").replace('"', ""))
    SELECT part0.n * part1.n AS n FROM (SELECT 3 AS n) AS part0 CROSS JOIN (SELECT 5 AS n) AS part1
    """
    # A marked one first: the others join on its clauses.
    ordered = sorted(counts, key=lambda pair: not pair[1])
    product: exp.Expression = column("n", "part0")
    for i in range(1, len(ordered)):
        product = exp.Mul(this=product, expression=column("n", f"part{i}"))
    clause = [column("clause", "part0")] if ordered[0][1] else []
    several = bool(clause) and len(keys) > 1
    product = cast(exp.Sum(this=product), "HUGEINT") if several else product
    query = exp.select(*clause, named(product, "n")).from_(subquery(ordered[0][0], "part0"))
    for i, (other, keyed) in enumerate(ordered[1:], start=1):
        same = exp.and_(*(exp.EQ(this=column(k, f"part{i}"), expression=column(k, "part0")) for k in keys))
        query = query.join(
            subquery(other, f"part{i}"), on=same if keyed else None, join_type="INNER" if keyed else "CROSS"
        )
    return query.group_by(*(c.copy() for c in clause)) if several else query
