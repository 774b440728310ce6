"""One term of inclusion-exclusion: a sum of products over the domains of a clause."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlrl.engine.nodes import column, integer, named, subquery, union_all
from sqlrl.logic.shapes import ShapeLiteral, Slot
from sqlrl.plan.parts import Context, Part, domain_size
from sqlrl.plan.semiring import Factor, sum_product
from sqlrl.plan.sources import Source, domain_source, filter_source
from sqlrl.plan.sql import table


def term_query(
    context: Context, factors: list[Factor], chosen: Sequence[Part], sign: int, *, equalities: bool = True
) -> exp.Select | None:
    """Plan one term of inclusion-exclusion: the factors, domains for what they leave free, and the equalities that hold.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> from sqlrl.plan.semiring import Steps
    >>> from sqlrl.plan.slots import bind
    >>> term_query(Context(bind(friends_smoke(), people()), None, None, Steps([])), [], (), -1).sql("duckdb")
    'SELECT CAST((-9) AS INT128) AS "n"'
    """
    bound = context.bound
    shape = bound.shape
    same = _Union()
    for equality in shape.equalities if equalities else ():
        if not equality.positive or equality in chosen:
            same.join(equality.left, equality.right)
    variables = [Slot(False, i) for i in shape.universal()]
    if bound.hidden is not None:
        variables.append(bound.hidden)
    literals = [x for x in shape.literals if not x.positive] + [x for x in chosen if isinstance(x, ShapeLiteral)]
    literals = literals if factors else []
    factors = [*factors, *_domains(context, variables, literals)]
    multiplier = sign
    present = {same.find(slot) for f in factors for slot in f.slots} | {same.find(k) for k in context.keep}
    for slot in dict.fromkeys(same.find(v) for v in variables):
        if slot not in present:
            multiplier *= domain_size(bound, slot)
    if multiplier == 0:
        return None
    if context.parameters is not None:
        columns = tuple((f"k{i}", Slot(True, i)) for i in range(len(shape.parameters)))
        factors.append(Factor(Source(table(context.parameters, "p"), "p", columns), None, 1))
    factors = [_renamed(f, same) for f in factors]
    group = [named(column("clause", "p"), "clause")] if context.parameters is not None else []
    if not factors:
        return exp.select(named(exp.cast(integer(multiplier), exp.DataType.build("HUGEINT", dialect="duckdb")), "n"))
    keep = frozenset(same.find(k) for k in context.keep)
    return sum_product(factors, keep, group, context.steps, multiplier=multiplier)


def _domains(context: Context, variables: Sequence[Slot], literals: Sequence[ShapeLiteral]) -> list[Factor]:
    """Return the factors that keep local variables in their domains, and example terms in the examples asked for."""
    bound, found = context.bound, list[Factor]()
    for slot in variables:
        for owner in bound.owners.get(slot, ()):
            if not any(slot in x.terms and bound.in_domain(x, slot) for x in literals):
                alias = f"d{context.steps.fresh()}"
                found.append(
                    Factor(
                        domain_source(bound, slot, owner, alias),
                        None,
                        domain_size(bound, slot) * bound.layout.example_count,
                    )
                )
    if context.examples is not None:
        for slot in bound.restricted:
            source = filter_source(context.examples, slot, f"x{context.steps.fresh()}")
            found.append(Factor(source, None, bound.layout.example_count))
    return found


class _Union:
    """Slots that must be equal; a parameter stands for its class, else the least variable."""

    def __init__(self) -> None:
        self._parent: dict[Slot, Slot] = {}

    def find(self, slot: Slot) -> Slot:
        """Return the slot that stands for the class of `slot`."""
        while slot in self._parent:
            slot = self._parent[slot]
        return slot

    def join(self, left: Slot, right: Slot) -> None:
        """Make two slots equal."""
        a, b = self.find(left), self.find(right)
        if a != b:
            first, second = sorted((a, b), key=lambda s: (not s.parameter, s.index))
            self._parent[second] = first


def _renamed(factor: Factor, same: _Union) -> Factor:
    columns = tuple((name, same.find(slot)) for name, slot in factor.source.columns)
    return Factor(Source(factor.source.relation, factor.source.alias, columns), factor.weight, factor.rows)


def total_query(context: Context, terms: Sequence[exp.Select]) -> exp.Select:
    """Add up the terms of a query, with its steps in front.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> from sqlrl.plan.semiring import Steps
    >>> from sqlrl.plan.slots import bind
    >>> total_query(Context(bind(friends_smoke(), people()), None, None, Steps([])), []).sql("duckdb")
    'SELECT 0 AS "n" WHERE FALSE'
    """
    group = [column("clause")] if context.parameters is not None else []
    if not terms:
        empty = [named(integer(0), "clause")] if group else []
        query = exp.select(*empty, named(integer(0), "n")).where(exp.false())
    elif len(terms) == 1:
        query = terms[0]
    else:
        total = exp.cast(exp.Sum(this=column("n")), exp.DataType.build("HUGEINT", dialect="duckdb"))
        query = exp.select(*group, named(total, "n")).from_(subquery(union_all(terms), "terms"))
        query = query.group_by(*group) if group else query
    for name, step in context.steps.steps:
        query = query.with_(exp.to_identifier(name, quoted=True), as_=step, copy=False)
    return query
