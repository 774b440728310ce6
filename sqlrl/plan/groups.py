"""The groups of a count by the constants of some variables: how many groundings each has, and how many groups there are.

A group is a choice of these constants that some grounding has. Variables of an example's domains are tied to each other by it; all
others range by themselves, so that the groups are a product, and so is the number of groundings of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, conjunction, integer, join, named, star_count, subquery, table
from sqlrl.logic.shapes import Slot
from sqlrl.plan.counted_variables import components
from sqlrl.plan.counting import independent_parts, product_query, violated_parts
from sqlrl.plan.semiring import Steps
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import World, domain_source, parameter_keys
from sqlrl.plan.terms import Context, Groups, joined_query, term_query, total_query

Counted = tuple[exp.Select, bool]
"""A counting query, and whether it has a row, or several, for each clause; as of `product_query`."""


@dataclass(frozen=True)
class _Tied:
    # Variables that examples tie to each other, with the example terms among those asked for that are theirs.
    variables: tuple[Slot, ...]
    asked: tuple[Slot, ...]
    by: Groups
    keyed: bool

    def context(self, bound: BoundShape, examples: TableName | None) -> Context:
        """Return what its terms share."""
        return Context(bound, bound.parameters if self.keyed else None, examples, Steps([]), by=self.by)

    def whole_type(self, bound: BoundShape, examples: TableName | None) -> bool:
        """Whether it is one variable, which a count is by, that has all constants of its type."""
        free = not self.asked and not (bound.undivided and examples is not None)
        return free and len(self.variables) == len(self.by) == 1 and not bound.owners.get(self.variables[0])


def _tied(bound: BoundShape, examples: TableName | None, by: Groups) -> list[_Tied]:
    """Share out the variables of a clause; those that no variable of `by` is tied to come last, all together."""
    asked = bound.restricted if examples is not None else ()
    edges = [frozenset((v, *(o for o in bound.owners.get(v, ()) if not o.parameter))) for v in bound.variables]
    found: list[_Tied] = []
    rest = set(bound.variables)
    named_slots = {slot for _, slot in by}

    def tied(slots: set[Slot], more: Sequence[Slot]) -> _Tied:
        """Return some variables with the examples that own them."""
        owners = {owner for slot in slots for owner in bound.owners.get(slot, ())}
        mine = tuple(slot for slot in asked if slot in slots or slot in owners or slot in more)
        keyed = any(slot.parameter for slot in (*owners, *mine))
        variables = tuple(slot for slot in bound.variables if slot in slots)
        return _Tied(variables, mine, tuple(pair for pair in by if pair[1] in slots), keyed)

    for slots in components(edges, set(bound.variables)):
        if slots & named_slots:
            found.append(tied(set(slots), ()))
            rest -= slots
    last = tied(rest, [slot for slot in asked if not any(slot in each.asked for each in found)])
    return found if found and not (last.variables or last.asked) else [*found, last]


def _groundings(bound: BoundShape, tied: _Tied, examples: TableName | None) -> exp.Select:
    """Plan the number of values of some variables by those of `by`: `clause` if it is keyed, the columns of `by`, `n`."""
    if tied.whole_type(bound, examples):
        ((name, slot),) = tied.by
        source = domain_source(bound, slot, None, "d0")
        id_ = column(source.columns[0][0], "d0")
        return exp.select(named(id_, name), named(cast(integer(1), "INT128"), "n")).from_(source.relation)
    context = tied.context(bound, examples)
    single = term_query(context, [], (), 1, variables=tied.variables, restricted=tied.asked, equalities=False)
    return total_query(context, [] if single is None else [single])


def group_groundings(bound: BoundShape, examples: TableName | None, by: Groups) -> exp.Select:
    """Plan the groundings of each group: `clause` (where their number depends on its constants), columns of `by` (ids), and `n` (HUGEINT)."""
    counts = [(_groundings(bound, each, examples), each.keyed) for each in _tied(bound, examples, by)]
    return counts[0][0] if len(counts) == 1 else product_query(counts, by=[name for name, _ in by])


def groundings_of(
    bound: BoundShape, examples: TableName | None, by: Groups, groups: TableName, columns: Sequence[str]
) -> exp.Select:
    """Plan the groundings of the groups of a table, and no others: its `clause` and `columns`, which include those of `by`, and `n`."""
    # Each constant of a variable that has all of its type is one, and needs no look.
    tied = [each for each in _tied(bound, examples, by) if not each.whole_type(bound, examples)]
    product: exp.Expression = cast(integer(1), "INT128")
    query = exp.select(*(column(name, "g") for name in ("clause", *columns))).from_(table(groups, "g"))
    for i, each in enumerate(tied):
        part = f"part{i}"
        n = column("n", part)
        product = exp.Mul(this=product, expression=n) if i else n
        keys = [*(["clause"] if each.keyed else []), *(name for name, _ in each.by)]
        on = conjunction(exp.EQ(this=column(k, part), expression=column(k, "g")) for k in keys)
        join(query, subquery(_groundings(bound, each, examples), part), on, "INNER" if keys else "CROSS")
    return query.select(named(product, "n"))


def joined_by_groups(bound: BoundShape, examples: TableName | None, by: Groups) -> list[exp.Select]:
    """Plan how many rows `group_groundings` joins where several variables that it is by are of one example: each as of `joined_query`."""
    found = []
    for each in _tied(bound, examples, by):
        if len(each.by) > 1:
            query = joined_query(
                each.context(bound, examples), [], (), variables=each.variables, restricted=each.asked, equalities=False
            )
            found += [] if query is None else [query]
    return found


# ---- how many groups there are -----------------------------------------------------------------------


def group_count(bound: BoundShape, examples: TableName | None, by: Groups) -> exp.Select:
    """Plan how many groups each clause of a shape has: `clause`, where that depends on its constants, and `n`."""
    counts = [(_groundings(bound, each, examples), each.keyed) for each in _tied(bound, examples, by)]
    return _sizes(counts, ("clause",))


def violated_group_count(bound: BoundShape, world: World, examples: TableName | None, by: Groups) -> exp.Select:
    """Plan in how many groups a clause of a shape is violated, at the most where its groundings have several rows of parameters."""
    counts = violated_parts(bound, independent_parts(bound), world, examples, by)
    apart = sum(keyed for _, keyed in counts) > 1
    return _sizes(counts, parameter_keys(bound.shape, apart=apart) if bound.parameters is not None else ("clause",))


def _sizes(counts: Sequence[Counted], keys: Sequence[str]) -> exp.Select:
    """Plan the number of rows of a product of counts, which is that of products of rows."""
    sizes: list[Counted] = []
    for query, keyed in counts:
        mine = [column(name) for name in keys] if keyed else []
        size = exp.select(*mine, named(cast(star_count(), "INT128"), "n")).from_(subquery(query, "rows_of"))
        size = size.where(exp.NEQ(this=column("n", "rows_of"), expression=integer(0)))
        sizes.append((size.group_by(*(c.copy() for c in mine)) if mine else size, keyed))
    return sizes[0][0] if len(sizes) == 1 else product_query(sizes, keys)
