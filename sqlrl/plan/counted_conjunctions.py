"""Conjunctions of literals that are counted: in how many ways they are true for each value of some variables; many of them are one query.

A row has the number of its conjunction as `part`:

    SELECT 0 AS part, a1 AS s0, NULL AS s1, count(*) AS n FROM friends JOIN smokes ON ... GROUP BY a1
    UNION ALL SELECT 1, a0, a1, count(*) FROM ...

Which ones a clause needs, `sqlrl.plan.blankets` says. Their variables are numbered, so that those of different clauses are one where they count the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations, product

from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.nodes import cast, column, integer, named, star_count, subquery, table, union_all
from sqlrl.logic.shapes import Shape, ShapeExists, ShapeLiteral, Slot
from sqlrl.plan.count_plan import CountPlan
from sqlrl.plan.disjunct_factors import factor_of, narrowed, true_tuples
from sqlrl.plan.disjuncts import renamed
from sqlrl.plan.semiring import Factor, QuerySteps
from sqlrl.plan.slots import BoundShape, outer_slots
from sqlrl.plan.sources import OBSERVED, SlotSource
from sqlrl.plan.tuples import Conjunction, holding

MOST_ORDERED = 4
"""Up to so many literals of one predicate all orders are tried for the least; of more, equal conjunctions may be counted twice."""


@dataclass(frozen=True)
class GroupRelation:
    """The relation of an existential group in a conjunction: the values of its outer variables for which it has a witness."""

    group: ShapeExists
    # A literal of the group: all witnesses are with one atom, whose arguments are in the relation, too, as the variables `atom`.
    anchor: ShapeLiteral | None = None
    atom: tuple[Slot, ...] = ()

    def __str__(self) -> str:
        only = "" if self.anchor is None else f"only {self.anchor} as ({', '.join(map(str, self.atom))}) of "
        return f"({only}{self.group})"

    @property
    def inside(self) -> tuple[Slot, ...]:
        """The variables of the group."""
        return tuple(Slot(False, i) for i in self.group.variables)

    def slots(self, bound: BoundShape) -> tuple[Slot, ...]:
        """Return its columns: outer slots, then the arguments of the anchor; one may repeat."""
        return (*outer_slots(bound, self.group), *self.atom)

    def renamed(self, name: Callable[[Slot], Slot]) -> GroupRelation:
        """Return it with other slots."""
        anchor = None if self.anchor is None else renamed(self.anchor, name)
        return GroupRelation(renamed(self.group, name), anchor, tuple(map(name, self.atom)))


@dataclass(frozen=True)
class CountedConjunction:
    """What is counted: the values of some variables for which literals are all true, for each value of some others."""

    # All negative: their atoms are true. Variables are numbered: those that are kept, those that are summed, those inside of groups, and the
    # hidden example last, if `hidden` says that there is one.
    literals: tuple[ShapeLiteral, ...]
    # Of all variables but the hidden example.
    types: tuple[str, ...]
    # How many of these are kept; they come first.
    key_count: int
    # Whether the hidden example is a variable here: "none", "kept" or "summed".
    hidden: str = "none"
    # For each variable the examples over whose domains it ranges, by their number.
    owners: tuple[tuple[int, ...], ...] = ()
    # Kept variables of which some values alone are wanted, those that the data have.
    values: tuple[tuple[int, tuple[int, ...]], ...] = ()
    # Kept variables that no literal keeps inside the domains of their examples.
    ranged: tuple[int, ...] = ()
    # Relations that must hold, too.
    groups: tuple[GroupRelation, ...] = ()
    # How many variables are inside of these.
    inner: int = 0

    def __str__(self) -> str:
        body = " ^ ".join([*(str(x).removeprefix("!") for x in self.literals), *map(str, self.groups)]) or "TRUE"
        names = [f"v{i}" for i in range(self.key_count)]
        if self.hidden == "kept":
            names.append("example")
        return f"{body} by {', '.join(names)}" if names else body

    @property
    def width(self) -> int:
        """The number of columns of its keys."""
        return self.key_count + (self.hidden == "kept")

    def plan(self, layout: Layout, examples: TableName | None, steps: QuerySteps) -> CountPlan:
        """Return the count of it, held against a layout, that keeps its keys."""
        shape = Shape(self.types, (), self.literals, (), tuple(x.group for x in self.groups))
        hidden = None if self.hidden == "none" else Slot(False, len(self.types))
        owners = {Slot(False, i): tuple(Slot(False, o) for o in own) for i, own in enumerate(self.owners)}
        bound = BoundShape(shape, layout, hidden, owners)
        summed = tuple(Slot(False, i) for i in range(self.key_count, len(self.types) - self.inner))
        summed += (hidden,) if hidden is not None and self.hidden == "summed" else ()
        asked = tuple(slot for slot in summed if bound.is_example(slot))
        variables = (*summed, *(Slot(False, i) for i in self.ranged))
        return CountPlan(bound, examples, steps, frozenset(self.key_slots()), variables, asked)

    def key_slots(self) -> tuple[Slot, ...]:
        """The variables that are kept, the hidden example last."""
        found = tuple(Slot(False, i) for i in range(self.key_count))
        return (*found, Slot(False, len(self.types))) if self.hidden == "kept" else found


@dataclass(frozen=True)
class ConjunctionUse:
    """A counted conjunction in a term: its keys are these slots of the clause, in order."""

    conjunction: CountedConjunction
    slots: tuple[Slot, ...]


def numbered_conjunction(
    literals: Sequence[ShapeLiteral],
    summed: Sequence[Slot],
    ranged: Sequence[Slot],
    kinds: Mapping[Slot, str | None],
    owners: Mapping[Slot, tuple[Slot, ...]],
    hidden: Slot | None,
    state: str,
    groups: Sequence[GroupRelation] = (),
    outer: Iterable[Slot] = (),
) -> ConjunctionUse:
    """Return a conjunction with its variables (kept, summed, inside of groups) numbered by first occurrence, in the least order of its literals."""
    found = []
    # `owners` are those of the slots that must be inside their domains, `outer` the columns of groups.
    inner = tuple(dict.fromkeys(slot for x in groups for slot in x.inside))
    for order in _orders(literals):
        mentioned = [*(slot for x in order for slot in x.terms), *outer, *ranged, *summed]
        everything = dict.fromkeys(
            (*mentioned, *(o for slot in dict.fromkeys((*mentioned, *inner)) for o in owners.get(slot, ())))
        )
        outside = [slot for slot in everything if slot not in summed and slot != hidden and slot not in inner]
        inside = [*(slot for slot in everything if slot in summed and slot != hidden), *inner]
        numbers = {slot: i for i, slot in enumerate((*outside, *inside, *([] if hidden is None else [hidden])))}
        types = tuple(str(kinds[slot]) for slot in (*outside, *inside))
        numbered = tuple(
            ShapeLiteral(x.predicate, False, tuple(Slot(False, numbers[slot]) for slot in x.terms)) for x in order
        )
        ranges = tuple(tuple(numbers[o] for o in owners.get(slot, ())) for slot in (*outside, *inside))
        within = tuple(sorted(numbers[slot] for slot in ranged))
        relations = tuple(x.renamed({slot: Slot(False, i) for slot, i in numbers.items()}.__getitem__) for x in groups)
        conjunction = CountedConjunction(
            numbered, types, len(outside), state, ranges, (), within, relations, len(inner)
        )
        slots = (*outside, hidden) if state == "kept" and hidden is not None else tuple(outside)
        found.append(ConjunctionUse(conjunction, slots))
    return found[0] if len(found) == 1 else min(found, key=_least)


def _least(use: ConjunctionUse) -> tuple[object, ...]:
    return use.conjunction.literals, use.conjunction.types, tuple(map(str, use.conjunction.groups))


def _orders(literals: Sequence[ShapeLiteral]) -> Iterator[list[ShapeLiteral]]:
    """Yield orders of literals by predicate; all of those of one predicate that are few."""
    of_predicate: dict[str, list[ShapeLiteral]] = {}
    for literal in sorted(literals):
        of_predicate.setdefault(literal.predicate, []).append(literal)
    ways = [permutations(x) if len(x) <= MOST_ORDERED else [tuple(x)] for x in of_predicate.values()]
    for way in product(*ways):
        yield [literal for some in way for literal in some]


# ---- conjunctions that differ in one predicate --------------------------------------------------------------------------


@dataclass(frozen=True)
class AnyPredicateConjunction:
    """A conjunction whose first literal has any predicate of some arguments; the predicate is one of its keys."""

    conjunction: CountedConjunction  # What is counted.
    predicate: int  # Which key is the predicate.
    keys: tuple[int, ...]  # Where the keys of the conjunction that it stands for are, in its order.


def any_predicate(conjunction: CountedConjunction, place: int, relation: str, kind: str) -> AnyPredicateConjunction:
    """Return a conjunction with the predicate of one literal as its first argument: the relation `relation`, and of the type `kind`."""
    assert not conjunction.groups, "searches have no quantifiers"
    # Parts that differ in that predicate alone are one then.
    predicate = Slot(True, 0)
    slots = [Slot(False, i) for i in range(len(conjunction.types))]
    hidden = None if conjunction.hidden == "none" else Slot(False, len(slots))
    literals = [
        ShapeLiteral(relation, False, (predicate, *x.terms)) if i == place else x
        for i, x in enumerate(conjunction.literals)
    ]
    summed = [*slots[conjunction.key_count :], *([hidden] if hidden and conjunction.hidden == "summed" else [])]
    ranged = tuple(Slot(False, i) for i in conjunction.ranged)
    owners = {Slot(False, i): tuple(Slot(False, o) for o in own) for i, own in enumerate(conjunction.owners) if own}
    kinds: dict[Slot, str | None] = {predicate: kind, **dict(zip(slots, conjunction.types, strict=True))}
    use = numbered_conjunction(literals, summed, ranged, kinds, owners, hidden, conjunction.hidden)
    at = {slot: i for i, slot in enumerate(use.slots)}
    values = tuple((at[Slot(False, i)], ids) for i, ids in conjunction.values)
    return AnyPredicateConjunction(
        replace(use.conjunction, values=values), at[predicate], tuple(at[slot] for slot in conjunction.key_slots())
    )


# ---- counts as one query --------------------------------------------------------------------------------------


def count_conjunctions(
    conjunctions: Sequence[CountedConjunction],
    layout: Layout,
    examples: TableName | None = None,
    *,
    keys_within: bool = False,
) -> exp.Select | None:
    """Plan the counts of conjunctions: `part` (its place), `s0, s1, ...` (its keys, NULL beyond), `n` (BIGINT; no row: 0); None if nothing is asked.

    With `keys_within` there are rows only for keys of the `examples`, and tables are read no further than these.
    """
    steps = QuerySteps([])
    width = max((x.width for x in conjunctions), default=0)
    within = examples if keys_within else None
    found = [_counted(i, x, x.plan(layout, examples, steps), width, within) for i, x in enumerate(conjunctions)]
    queries = [query for query in found if query is not None]
    if not queries:
        return None
    names = ("part", *(f"s{i}" for i in range(width)), "n")
    return steps.before(exp.select(*map(column, names)).from_(subquery(union_all(queries), "parts")))


def _counted(
    number: int, conjunction: CountedConjunction, plan: CountPlan, width: int, within: TableName | None
) -> exp.Select | None:
    """Plan the counts of one conjunction, for keys of the examples `within` alone if there are such; None if a domain is empty, so that all are 0."""
    bound, steps = plan.bound, plan.steps
    true = partial(true_tuples, bound, world=OBSERVED, examples=plan.examples)
    factors = [factor_of(bound, x, true, steps) for x in conjunction.literals]
    factors += [_group_factor(plan, x) for x in conjunction.groups]
    term = plan.term(factors)
    if term is None:
        return None
    if within is not None:
        chosen = exp.select(column("example")).from_(table(within))
        slots = dict.fromkeys((slot for slot in conjunction.key_slots() if bound.is_example(slot)), chosen)
        term = replace(term, factors=tuple(narrowed(x, slots, "x") for x in term.factors))
    wanted = [_wanted(bound, Slot(False, i), ids, f"w{steps.fresh()}") for i, ids in conjunction.values]
    term = replace(term, factors=(*term.factors, *wanted))
    if not term.factors:
        n: exp.Expression = integer(term.multiplier)
        return exp.select(named(integer(number), "part"), *_keys({}, (), width), named(cast(n, "BIGINT"), "n"))
    total = plan.sums(term)
    assert total.weight is not None, "a sum has a weight"
    alias = total.source.alias
    known = {slot: column(name, alias) for name, slot in total.source.columns}
    n = column(total.weight, alias)
    if term.multiplier != 1:
        n = exp.Mul(this=n, expression=integer(term.multiplier))
    query = exp.select(
        named(integer(number), "part"), *_keys(known, conjunction.key_slots(), width), named(cast(n, "BIGINT"), "n")
    )
    query = query.from_(total.source.relation.copy())
    return query.where(exp.NEQ(this=column(total.weight, alias), expression=integer(0)))


def _group_factor(plan: CountPlan, relation: GroupRelation) -> Factor:
    """Return the relation of an existential group as a factor."""
    group, bound, anchor = relation.group, plan.bound, relation.anchor
    if anchor is None:
        true = partial(true_tuples, bound, world=OBSERVED, examples=plan.examples)
        return factor_of(bound, group, true, plan.steps)
    outer, own = outer_slots(bound, group), tuple(dict.fromkeys(anchor.terms))
    inside = [slot for slot in relation.inside if slot not in own]
    shown = tuple(dict.fromkeys((*outer, *own)))
    conjunction = Conjunction(shown, group.literals, group.equalities, inside)
    witnesses = holding(bound, conjunction, OBSERVED, examples=plan.examples)
    alias = f"o{plan.steps.fresh()}"
    keys = [column(f"x{i}", f"{alias}w") for i in range(len(outer))]
    least = [exp.Min(this=column(f"x{shown.index(slot)}", f"{alias}w")) for slot in anchor.terms]
    names = [f"y{i}" for i in range(len(keys) + len(least))]
    query = exp.select(*(named(x, name) for x, name in zip((*keys, *least), names, strict=True)))
    query = query.from_(subquery(witnesses, f"{alias}w")).group_by(*(key.copy() for key in keys))
    query = query.having(exp.EQ(this=star_count(), expression=integer(1)))
    columns = tuple(zip(names, relation.slots(bound), strict=True))
    return Factor(SlotSource(subquery(query, alias), alias, columns), None, bound.info(anchor).rows + 1)


def _keys(known: Mapping[Slot, exp.Expression], slots: Sequence[Slot], width: int) -> list[exp.Expression]:
    """Return the key columns of a conjunction, as many as the widest one has."""
    found = [known[slot].copy() if slot in known else exp.null() for slot in slots]
    found += [exp.null() for _ in range(width - len(found))]
    return [named(cast(value, "INT"), f"s{i}") for i, value in enumerate(found)]


def _wanted(bound: BoundShape, slot: Slot, ids: Sequence[int], alias: str) -> Factor:
    """Return the factor that keeps a slot among some ids."""
    kind = bound.kind(slot)
    assert kind is not None, "constants of a clause have a type"
    chosen = exp.In(this=column("id"), expressions=[integer(i) for i in ids])
    query = exp.select(column("id")).from_(table(bound.layout.types[kind].dictionary)).where(chosen)
    return Factor(SlotSource(subquery(query, alias), alias, (("id", slot),)), None, len(ids))
