"""Parts of terms: in how many ways some literals are true, for each value of some of their variables; many of them are one query.

The rows of the query have the number of the part:

    SELECT 0 AS part, a1 AS s0, NULL AS s1, count(*) AS n FROM friends JOIN smokes ON ... GROUP BY a1
    UNION ALL SELECT 1, a0, a1, count(*) FROM ...

Which parts a clause needs, `sqlrl.plan.blankets` says. Variables of a part are numbered, so that parts of different clauses are one where they count the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations, product

from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.nodes import cast, column, integer, named, star_count, subquery, table, union_all
from sqlrl.logic.shapes import Shape, ShapeEquality, ShapeExists, ShapeLiteral, Slot
from sqlrl.plan.count_plan import CountPlan
from sqlrl.plan.disjunct_factors import factor_of, true_tuples
from sqlrl.plan.semiring import Factor, Steps
from sqlrl.plan.slots import BoundShape, outer_slots
from sqlrl.plan.sources import OBSERVED, Source
from sqlrl.plan.tuples import holding

MOST_ORDERED = 4
"""Up to so many literals of one predicate all orders are tried for the least; of more, equal parts may be counted twice."""


@dataclass(frozen=True)
class PartGroup:
    """The relation of an existential group in a part: the values of its outer variables for which it has a witness."""

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

    def renamed(self, name: Callable[[Slot], Slot]) -> PartGroup:
        """Return it with other slots."""

        def literal(x: ShapeLiteral) -> ShapeLiteral:
            return ShapeLiteral(x.predicate, x.positive, tuple(map(name, x.terms)))

        group = ShapeExists(
            tuple(name(slot).index for slot in self.inside),
            tuple(map(literal, self.group.literals)),
            tuple(ShapeEquality(x.positive, name(x.left), name(x.right)) for x in self.group.equalities),
        )
        return PartGroup(group, None if self.anchor is None else literal(self.anchor), tuple(map(name, self.atom)))


@dataclass(frozen=True)
class Part:
    """What is counted: the values of some variables for which literals are all true, for each value of some others."""

    # All negative: their atoms are true. Variables are numbered: those that are kept, those that are summed, those inside of groups, and the
    # hidden example last, if `hidden` says that there is one.
    literals: tuple[ShapeLiteral, ...]
    # Of all variables but the hidden example.
    types: tuple[str, ...]
    # How many of these are kept; they come first.
    kept: int
    # Whether the hidden example is a variable here: "none", "kept" or "summed".
    hidden: str = "none"
    # For each variable the examples over whose domains it ranges, by their number.
    owners: tuple[tuple[int, ...], ...] = ()
    # Kept variables of which some values alone are wanted, those that the data have.
    values: tuple[tuple[int, tuple[int, ...]], ...] = ()
    # Kept variables that no literal keeps inside the domains of their examples.
    ranged: tuple[int, ...] = ()
    # Relations that must hold, too.
    groups: tuple[PartGroup, ...] = ()
    # How many variables are inside of these.
    inner: int = 0

    def __str__(self) -> str:
        body = " ^ ".join([*(str(x).removeprefix("!") for x in self.literals), *map(str, self.groups)]) or "TRUE"
        names = [f"v{i}" for i in range(self.kept)]
        if self.hidden == "kept":
            names.append("example")
        return f"{body} by {', '.join(names)}" if names else body

    @property
    def width(self) -> int:
        """The number of columns of its keys."""
        return self.kept + (self.hidden == "kept")

    def bound(self, layout: Layout) -> BoundShape:
        """Return it as a shape that is held against a layout."""
        shape = Shape(self.types, (), self.literals, (), tuple(x.group for x in self.groups))
        hidden = None if self.hidden == "none" else Slot(False, len(self.types))
        owners = {Slot(False, i): tuple(Slot(False, o) for o in own) for i, own in enumerate(self.owners)}
        return BoundShape(shape, layout, hidden, owners)

    def summed(self, bound: BoundShape) -> tuple[Slot, ...]:
        """The variables that are summed."""
        found = tuple(Slot(False, i) for i in range(self.kept, len(self.types) - self.inner))
        return (*found, Slot(False, len(self.types))) if self.hidden == "summed" else found

    def key_slots(self) -> tuple[Slot, ...]:
        """The variables that are kept, the hidden example last."""
        found = tuple(Slot(False, i) for i in range(self.kept))
        return (*found, Slot(False, len(self.types))) if self.hidden == "kept" else found


@dataclass(frozen=True)
class PartUse:
    """A part in a term: its keys are these slots of the clause, in order."""

    part: Part
    slots: tuple[Slot, ...]


def numbered_part(
    literals: Sequence[ShapeLiteral],
    summed: Sequence[Slot],
    ranged: Sequence[Slot],
    kinds: Mapping[Slot, str | None],
    owners: Mapping[Slot, tuple[Slot, ...]],
    hidden: Slot | None,
    state: str,
    groups: Sequence[PartGroup] = (),
    outer: Iterable[Slot] = (),
) -> PartUse:
    """Return a part with its variables (kept, summed, inside of groups) numbered by first occurrence, in the least order of its literals."""
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
        part = Part(numbered, types, len(outside), state, ranges, (), within, relations, len(inner))
        slots = (*outside, hidden) if state == "kept" and hidden is not None else tuple(outside)
        found.append(PartUse(part, slots))
    return found[0] if len(found) == 1 else min(found, key=_least)


def _least(use: PartUse) -> tuple[object, ...]:
    return use.part.literals, use.part.types, tuple(map(str, use.part.groups))


def _orders(literals: Sequence[ShapeLiteral]) -> Iterator[list[ShapeLiteral]]:
    """Yield orders of literals by predicate; all of those of one predicate that are few."""
    of_predicate: dict[str, list[ShapeLiteral]] = {}
    for literal in sorted(literals):
        of_predicate.setdefault(literal.predicate, []).append(literal)
    ways = [permutations(x) if len(x) <= MOST_ORDERED else [tuple(x)] for x in of_predicate.values()]
    for way in product(*ways):
        yield [literal for some in way for literal in some]


# ---- parts that differ in one predicate --------------------------------------------------------------------------


@dataclass(frozen=True)
class AnyPart:
    """A part whose first literal has any predicate of some arguments; the predicate is one of its keys."""

    part: Part  # What is counted.
    predicate: int  # Which key is the predicate.
    keys: tuple[int, ...]  # Where the keys of the part that it stands for are, in its order.


def any_part(part: Part, place: int, relation: str, kind: str) -> AnyPart:
    """Return a part with the predicate of one literal as its first argument: the relation `relation`, and of the type `kind`."""
    assert not part.groups, "searches have no quantifiers"
    # Parts that differ in that predicate alone are one then.
    predicate = Slot(True, 0)
    slots = [Slot(False, i) for i in range(len(part.types))]
    hidden = None if part.hidden == "none" else Slot(False, len(slots))
    literals = [
        ShapeLiteral(relation, False, (predicate, *x.terms)) if i == place else x for i, x in enumerate(part.literals)
    ]
    summed = [*slots[part.kept :], *([hidden] if hidden and part.hidden == "summed" else [])]
    ranged = tuple(Slot(False, i) for i in part.ranged)
    owners = {Slot(False, i): tuple(Slot(False, o) for o in own) for i, own in enumerate(part.owners) if own}
    kinds: dict[Slot, str | None] = {predicate: kind, **dict(zip(slots, part.types, strict=True))}
    use = numbered_part(literals, summed, ranged, kinds, owners, hidden, part.hidden)
    at = {slot: i for i, slot in enumerate(use.slots)}
    values = tuple((at[Slot(False, i)], ids) for i, ids in part.values)
    return AnyPart(replace(use.part, values=values), at[predicate], tuple(at[slot] for slot in part.key_slots()))


# ---- counts as one query --------------------------------------------------------------------------------------


def count_parts(parts: Sequence[Part], layout: Layout, examples: TableName | None = None) -> exp.Select | None:
    """Plan the counts of parts: `part` (its place), `s0, s1, ...` (its keys, NULL beyond), `n` (BIGINT; no row: 0); None if nothing is asked."""
    steps = Steps([])
    width = max((part.width for part in parts), default=0)
    found = [_counted(i, part, layout, examples, steps, width) for i, part in enumerate(parts)]
    queries = [query for query in found if query is not None]
    if not queries:
        return None
    names = ("part", *(f"s{i}" for i in range(width)), "n")
    return steps.before(exp.select(*map(column, names)).from_(subquery(union_all(queries), "parts")))


def _counted(
    number: int, part: Part, layout: Layout, examples: TableName | None, steps: Steps, width: int
) -> exp.Select | None:
    """Plan the counts of one part; None if a domain is empty, so that all are 0."""
    bound = part.bound(layout)
    kept, summed = part.key_slots(), part.summed(bound)
    variables = (*summed, *(Slot(False, i) for i in part.ranged))
    asked = tuple(slot for slot in summed if bound.is_example(slot))
    plan = CountPlan(bound, examples, steps, frozenset(kept), variables, asked)
    true = partial(true_tuples, bound, world=OBSERVED, examples=examples)
    factors = [factor_of(bound, x, true, steps) for x in part.literals]
    factors += [_group_factor(plan, x) for x in part.groups]
    term = plan.term(factors)
    if term is None:
        return None
    wanted = [_wanted(bound, Slot(False, i), ids, f"w{steps.fresh()}") for i, ids in part.values]
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
    query = exp.select(named(integer(number), "part"), *_keys(known, kept, width), named(cast(n, "BIGINT"), "n"))
    query = query.from_(total.source.relation.copy())
    return query.where(exp.NEQ(this=column(total.weight, alias), expression=integer(0)))


def _group_factor(plan: CountPlan, found: PartGroup) -> Factor:
    """Return the relation of an existential group as a factor."""
    group, bound, anchor = found.group, plan.bound, found.anchor
    if anchor is None:
        true = partial(true_tuples, bound, world=OBSERVED, examples=plan.examples)
        return factor_of(bound, group, true, plan.steps)
    outer, own = outer_slots(bound, group), tuple(dict.fromkeys(anchor.terms))
    inside = [slot for slot in found.inside if slot not in own]
    shown = tuple(dict.fromkeys((*outer, *own)))
    witnesses = holding(bound, shown, group.literals, group.equalities, OBSERVED, inside=inside, examples=plan.examples)
    alias = f"o{plan.steps.fresh()}"
    keys = [column(f"x{i}", f"{alias}w") for i in range(len(outer))]
    least = [exp.Min(this=column(f"x{shown.index(slot)}", f"{alias}w")) for slot in anchor.terms]
    names = [f"y{i}" for i in range(len(keys) + len(least))]
    query = exp.select(*(named(x, name) for x, name in zip((*keys, *least), names, strict=True)))
    query = query.from_(subquery(witnesses, f"{alias}w")).group_by(*(key.copy() for key in keys))
    query = query.having(exp.EQ(this=star_count(), expression=integer(1)))
    columns = tuple(zip(names, found.slots(bound), strict=True))
    return Factor(Source(subquery(query, alias), alias, columns), None, bound.info(anchor).rows + 1)


def _keys(known: Mapping[Slot, exp.Expression], kept: Sequence[Slot], width: int) -> list[exp.Expression]:
    """Return the key columns of a part, as many as the widest one has."""
    found = [known[slot].copy() if slot in known else exp.null() for slot in kept]
    found += [exp.null() for _ in range(width - len(found))]
    return [named(cast(value, "INT"), f"s{i}") for i, value in enumerate(found)]


def _wanted(bound: BoundShape, slot: Slot, ids: Sequence[int], alias: str) -> Factor:
    """Return the factor that keeps a slot among some ids."""
    kind = bound.kind(slot)
    assert kind is not None, "constants of a clause have a type"
    chosen = exp.In(this=column("id"), expressions=[integer(i) for i in ids])
    query = exp.select(column("id")).from_(table(bound.layout.types[kind].dictionary)).where(chosen)
    return Factor(Source(subquery(query, alias), alias, (("id", slot),)), None, len(ids))
