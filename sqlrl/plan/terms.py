"""One term of inclusion-exclusion: a sum of products over the domains of a clause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, integer, named, subquery, union_all
from sqlrl.logic.shapes import ShapeLiteral, Slot
from sqlrl.plan.parameters import parameter_source
from sqlrl.plan.parts import Context, Part, domain_size
from sqlrl.plan.semiring import Factor, sum_product
from sqlrl.plan.sources import Source, domain_source, filter_source, some_example


@dataclass(frozen=True)
class Term:
    """A sum of products: factors over slots of which equal ones have become one, and a constant.

    Parameters
    ----------
    factors : tuple of Factor
    multiplier : int
        The sign and the domain sizes of variables that no factor mentions; not 0.
    same : Union
        Which slot stands for each.
    """

    factors: tuple[Factor, ...]
    multiplier: int
    same: Union


def term_of(
    context: Context,
    factors: Sequence[Factor],
    chosen: Sequence[Part],
    sign: int,
    *,
    variables: Sequence[Slot],
    kept: frozenset[Slot],
    restricted: Sequence[Slot],
    equalities: bool = True,
) -> Term | None:
    """Return one term of inclusion-exclusion: the factors, domains for what they leave free, and the equalities that hold.

    Parameters
    ----------
    context : Context
    factors : sequence of Factor
        The parts that are true in this term.
    chosen : sequence of Part
        The positive ones among them.
    sign : int
    variables : sequence of Slot
        Those that are summed over.
    kept : frozenset of Slot
        Slots that are not.
    restricted : sequence of Slot
        The example terms that must be among the examples asked for.
    equalities : bool
        Whether the equalities of the clause count at all.

    Returns
    -------
    Term or None
        None if a domain is empty, so that the sum is 0.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> from sqlrl.plan.semiring import Steps
    >>> from sqlrl.plan.slots import bind
    >>> context = Context(bind(friends_smoke(), people()), None, None, Steps([]))
    >>> term_of(context, [], (), -1, variables=[Slot(False, 0)], kept=frozenset(), restricted=()).multiplier
    -3
    """
    bound, shape = context.bound, context.bound.shape
    same = Union(kept)
    for equality in shape.equalities if equalities else ():
        if not equality.positive or equality in chosen:
            same.join(equality.left, equality.right)
    literals = [x for x in shape.literals if not x.positive] + [x for x in chosen if isinstance(x, ShapeLiteral)]
    literals = literals if factors else []
    mentioned = {slot for f in factors for slot in f.slots}
    domains = [*_domains(context, variables, literals), *_constants(context, variables, mentioned, same)]
    domains += _asked_for(context, restricted)
    everything = [_renamed(f, same) for f in (*factors, *domains)]
    present = {slot for f in everything for slot in f.slots} | {same.find(k) for k in kept}
    multiplier = sign
    for slot in dict.fromkeys(same.find(v) for v in variables):
        if slot not in present:
            multiplier *= domain_size(bound, slot)
    return Term(tuple(everything), multiplier, same) if multiplier else None


def term_query(
    context: Context,
    factors: Sequence[Factor],
    chosen: Sequence[Part],
    sign: int,
    *,
    variables: Sequence[Slot] | None = None,
    restricted: Sequence[Slot] | None = None,
    equalities: bool = True,
) -> exp.Select | None:
    """Plan one term of inclusion-exclusion, summed over variables: those of the clause unless others are given.

    Parameters
    ----------
    context, factors, chosen, sign, variables, restricted, equalities
        As for `term_of`.

    Returns
    -------
    exp.Select or None
        Columns `clause` (if the shape has parameters) and `n`.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> from sqlrl.plan.semiring import Steps
    >>> from sqlrl.plan.slots import bind
    >>> term_query(Context(bind(friends_smoke(), people()), None, None, Steps([])), [], (), -1).sql("duckdb")
    'SELECT CAST((-9) AS INT128) AS "n"'
    """
    bound = context.bound
    term = term_of(
        context,
        factors,
        chosen,
        sign,
        variables=bound.variables if variables is None else variables,
        kept=context.keep,
        restricted=bound.restricted if restricted is None else restricted,
        equalities=equalities,
    )
    if term is None:
        return None
    found = list(term.factors)
    if context.examples is not None and bound.undivided:
        found.append(_asked_at_all(context, context.examples))
    if context.parameters is not None:
        source = parameter_source(context.parameters, bound.shape, apart=context.apart)
        found.append(_renamed(Factor(source, None, 1), term.same))
    group = [named(column(name, "p"), name) for name in context.keys]
    if not found:
        return exp.select(named(cast(integer(term.multiplier), "HUGEINT"), "n"))
    keep = frozenset(term.same.find(k) for k in context.keep)
    return sum_product(found, keep, group, context.steps, multiplier=term.multiplier)


def _domains(context: Context, variables: Sequence[Slot], literals: Sequence[ShapeLiteral]) -> list[Factor]:
    """Return the factors that keep local variables in their domains."""
    bound, found = context.bound, list[Factor]()
    for slot in variables:
        for owner in bound.owners.get(slot, ()):
            if not any(slot in x.terms and bound.in_domain(x, slot) for x in literals):
                found.append(_domain(context, slot, owner))
    return found


def _domain(context: Context, slot: Slot, owner: Slot | None) -> Factor:
    bound = context.bound
    rows = domain_size(bound, slot) * (bound.layout.example_count if owner is not None else 1)
    return Factor(domain_source(bound, slot, owner, f"d{context.steps.fresh()}"), None, rows)


def _constants(context: Context, variables: Sequence[Slot], mentioned: set[Slot], same: Union) -> list[Factor]:
    """Return the domains of variables that only an equality ties to a constant: the data may not have it."""
    bound = context.bound
    return [
        _domain(context, slot, None)
        for slot in variables
        if same.find(slot).parameter and slot not in mentioned and not bound.owners.get(slot)
    ]


def _asked_for(context: Context, slots: Sequence[Slot]) -> list[Factor]:
    """Return the factors that keep example terms in the examples asked for."""
    if context.examples is None:
        return []
    rows = context.bound.layout.example_count
    return [Factor(filter_source(context.examples, s, f"x{context.steps.fresh()}"), None, rows) for s in slots]


def _asked_at_all(context: Context, examples: TableName) -> Factor:
    """Return a factor without slots: one row if a query is about some example."""
    alias = f"x{context.steps.fresh()}"
    query = exp.select(named(integer(1), "one")).where(some_example(context.bound, examples))
    return Factor(Source(subquery(query, alias), alias, ()), None, 1)


class Union:
    """Slots that must be equal; a parameter stands for its class, else one of those that are kept, else the least variable.

    Parameters
    ----------
    kept : frozenset of Slot

    Examples
    --------
    >>> x, y = Slot(False, 0), Slot(False, 1)
    >>> same = Union(frozenset([y]))
    >>> same.join(x, y)
    >>> str(same.find(x))
    'v1'
    """

    def __init__(self, kept: frozenset[Slot] = frozenset()) -> None:
        self._parent: dict[Slot, Slot] = {}
        self._kept = kept

    def find(self, slot: Slot) -> Slot:
        """Return the slot that stands for the class of `slot`."""
        while slot in self._parent:
            slot = self._parent[slot]
        return slot

    def join(self, left: Slot, right: Slot) -> None:
        """Make two slots equal."""
        a, b = self.find(left), self.find(right)
        if a != b:
            first, second = sorted((a, b), key=lambda s: (not s.parameter, s not in self._kept, s.index))
            self._parent[second] = first


def _renamed(factor: Factor, same: Union) -> Factor:
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
    group = [column(name) for name in context.keys]
    if not terms:
        empty = [named(integer(0), name) for name in context.keys]
        query = exp.select(*empty, named(integer(0), "n")).where(exp.false())
    elif len(terms) == 1:
        query = terms[0]
    else:
        total = exp.cast(exp.Sum(this=column("n")), exp.DataType.build("HUGEINT", dialect="duckdb"))
        query = exp.select(*group, named(total, "n")).from_(subquery(union_all(terms), "terms"))
        query = query.group_by(*group) if group else query
    return context.steps.before(query)
