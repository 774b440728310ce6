"""The groups of a count by the constants of some variables: how many groundings each has, and how many groups there are.

A group is a choice of these constants that some grounding has. Variables of an example's domains are tied to each other by it; all
others range by themselves, so that the groups are a product, and so is the number of groundings of each.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, conjunction, integer, join, named, star_count, subquery, table
from sqlrl.plan.count_plan import CountPlan, GroupColumns, part_plan
from sqlrl.plan.counting import multiplied, violated_parts
from sqlrl.plan.disjuncts import components
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import World, domain_source


def _tied(bound: BoundShape, examples: TableName | None, by: GroupColumns) -> list[CountPlan]:
    """Share out the variables of a clause to counts of their values; those that no variable of `by` is tied to come last, all together."""
    edges = [frozenset((v, *(o for o in bound.owners.get(v, ()) if not o.parameter))) for v in bound.variables]
    named_slots = {slot for _, slot in by}
    tied = [slots for slots in components(edges, set(bound.variables)) if slots & named_slots]
    found = [part_plan(bound, examples, slots, by=by) for slots in tied]
    asked = () if examples is None else bound.restricted
    rest = frozenset(bound.variables).difference(*tied)
    further = [slot for slot in asked if not any(slot in each.example_slots for each in found)]
    last = part_plan(bound, examples, rest, further=further)
    return found if found and not (last.variables or further) else [*found, last]


def _has_whole_type(plan: CountPlan) -> bool:
    """Whether what is counted are the values of one variable, by itself, that has all constants of its type."""
    free = plan.examples is None or not (plan.example_slots or plan.bound.undivided)
    return free and len(plan.variables) == len(plan.by) == 1 and not plan.bound.owners.get(plan.variables[0])


def _groundings(plan: CountPlan) -> exp.Select:
    """Plan the number of values of some variables by those of `by`: `clause` if it is by clause, the columns of `by`, `n`."""
    if _has_whole_type(plan):
        ((name, slot),) = plan.by
        source = domain_source(plan.bound, slot, None, "d0")
        id_ = column(source.columns[0][0], "d0")
        return exp.select(named(id_, name), named(cast(integer(1), "INT128"), "n")).from_(source.relation)
    return plan.total([plan.query(())])


def group_groundings(bound: BoundShape, examples: TableName | None, by: GroupColumns) -> exp.Select:
    """Plan the groundings of each group: `clause` (where their number depends on its constants), columns of `by` (ids), and `n` (HUGEINT)."""
    return multiplied([_groundings(plan) for plan in _tied(bound, examples, by)], by=[name for name, _ in by])


def groundings_of(
    bound: BoundShape, examples: TableName | None, by: GroupColumns, groups: TableName, columns: Sequence[str]
) -> exp.Select:
    """Plan the groundings of the groups of a table, and no others: its `clause` and `columns`, which include those of `by`, and `n`."""
    # Each constant of a variable that has all of its type is one, and needs no look.
    tied = [plan for plan in _tied(bound, examples, by) if not _has_whole_type(plan)]
    product: exp.Expression = cast(integer(1), "INT128")
    query = exp.select(*(column(name, "g") for name in ("clause", *columns))).from_(table(groups, "g"))
    for i, plan in enumerate(tied):
        part = f"part{i}"
        n = column("n", part)
        product = exp.Mul(this=product, expression=n) if i else n
        on = conjunction(exp.EQ(this=column(k, part), expression=column(k, "g")) for k in plan.columns)
        join(query, subquery(_groundings(plan), part), on, "INNER" if plan.columns else "CROSS")
    return query.select(named(product, "n"))


def joined_by_groups(bound: BoundShape, examples: TableName | None, by: GroupColumns) -> list[exp.Select]:
    """Plan how many rows `group_groundings` joins where several variables that it is by are of one example: each as of `CountPlan.joined`."""
    found = [plan.joined(()) for plan in _tied(bound, examples, by) if len(plan.by) > 1]
    return [query for query in found if query is not None]


# ---- how many groups there are -----------------------------------------------------------------------


def group_count(bound: BoundShape, examples: TableName | None, by: GroupColumns) -> exp.Select:
    """Plan how many groups each clause of a shape has: `clause`, where that depends on its constants, and `n`."""
    return _sizes([_groundings(plan) for plan in _tied(bound, examples, by)])


def violated_group_count(bound: BoundShape, world: World, examples: TableName | None, by: GroupColumns) -> exp.Select:
    """Plan in how many groups a clause of a shape is violated, at the most where its groundings have several rows of parameters."""
    return _sizes(*violated_parts(bound, world, examples, by))


def _sizes(counts: Sequence[exp.Select], keys: Sequence[str] = ("clause",)) -> exp.Select:
    """Plan the number of rows of a product of counts, which is that of products of rows."""
    sizes = []
    for query in counts:
        mine = [column(name) for name in keys if name in query.named_selects]
        size = exp.select(*mine, named(cast(star_count(), "INT128"), "n")).from_(subquery(query, "rows_of"))
        size = size.where(exp.NEQ(this=column("n", "rows_of"), expression=integer(0)))
        sizes.append(size.group_by(*(c.copy() for c in mine)) if mine else size)
    return multiplied(sizes, keys)
