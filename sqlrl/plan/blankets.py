"""In how many groundings of a clause the truth of an atom decides, for all atoms of a predicate: sums of products of small counts.

A grounding is violated where all atoms of its negative literals are true and all of its positive literals false. The atom a *decides* it
where a is in it and all its other literals are false: a grounding that has a in negative literals is violated if a is true and not
if it is false (there are `negative` of these), one that has it in positive literals the other way round (`positive`). So n of
the clause is greater by `positive - negative` with a true than with a false.

Let U be a set of literals that are all a, so that their arguments are equal, and M(U) the groundings in which the other negative
literals are true and the other positive ones false, for what the arguments of U are. By inclusion and exclusion over U
(and, where a as it is does not keep the other literals from being a, too, over these):

    a true:   negative = sum over U of negative literals of (-1)^(|U| + 1) M(U)
              positive = sum over U with a positive literal of (-1)^(negative literals in U) M(U)
    a false:  negative = sum over U with a negative literal of (-1)^(positive literals in U) M(U)
              positive = sum over U of positive literals of (-1)^(|U| + 1) M(U)

That a positive literal is false is 1 minus that it is true, that two slots differ 1 minus that they are equal: so M(U) is a signed
sum of numbers of groundings in which some literals are true. Once the arguments of U are fixed, what is left of a term falls into parts that share no
variable, and the term is the product of their counts. Such a part, a `Part` here, is mostly a single literal or two: "the friends of x
who smoke" is a number for each x, "the common friends of x and y" one for each pair that has any. None is as large as the
predicate has atoms: of `Friends(x, y) ^ Smokes(x) => Smokes(y)` the flips of the atoms of Friends need nothing but who smokes.

`Smokes(x) => Cancer(x)` and the atoms of Smokes: negative = 1 - (x has cancer), and positive = 0.

The counts of many parts are one query, whose rows have the number of the part:

    SELECT 0 AS part, a1 AS s0, NULL AS s1, count(*) AS n FROM friends JOIN smokes ON ... GROUP BY a1
    UNION ALL SELECT 1, a0, a1, count(*) FROM ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, permutations, product

from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.nodes import cast, column, integer, named, subquery, union_all
from sqlrl.errors import GroundingLimitError
from sqlrl.logic.shapes import Shape, ShapeEquality, ShapeLiteral, Slot
from sqlrl.plan.semiring import Factor, Steps, partial_sums
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import OBSERVED, Source, table
from sqlrl.plan.terms import Context, Union, domain_size, part_factor, term_of, true_query

MOST_TERMS = 4096
"""The most terms of a clause and predicate."""

MOST_ORDERED = 4
"""Up to so many literals of one predicate all orders are tried for the least; of more, equal parts may be counted twice."""


# ---- parts: counts for the values of some slots ------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """What is counted: the values of some variables for which literals are all true, for each value of some others.

    Variables are numbered: those that are kept, those that are summed, and the hidden example last, if `hidden` says that there is one.

    Parameters
    ----------
    literals : tuple of ShapeLiteral
        All negative: their atoms are true.
    types : tuple of str
        Of all variables but the hidden example.
    kept : int
        How many of these are kept; they come first.
    hidden : {"none", "kept", "summed"}
        Whether the hidden example is a variable here.
    owners : tuple of tuple of int
        For each variable the examples over whose domains it ranges, by their number.
    values : tuple of (int, tuple of int)
        Kept variables of which some values alone are wanted, those that the data have.
    ranged : tuple of int
        Kept variables that no literal keeps inside the domains of their examples.

    Examples
    --------
    How many friends of each x smoke:

    >>> x, y = Slot(False, 0), Slot(False, 1)
    >>> literals = (ShapeLiteral("Friends", False, (x, y)), ShapeLiteral("Smokes", False, (y,)))
    >>> print(Part(literals, ("person", "person"), 1))
    Friends(v0, v1) ^ Smokes(v1) by v0
    """

    literals: tuple[ShapeLiteral, ...]
    types: tuple[str, ...]
    kept: int
    hidden: str = "none"
    owners: tuple[tuple[int, ...], ...] = ()
    values: tuple[tuple[int, tuple[int, ...]], ...] = ()
    ranged: tuple[int, ...] = ()

    def __str__(self) -> str:
        body = " ^ ".join(str(x).removeprefix("!") for x in self.literals) or "TRUE"
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
        shape = Shape(self.types, (), self.literals)
        hidden = None if self.hidden == "none" else Slot(False, len(self.types))
        owners = {Slot(False, i): tuple(Slot(False, o) for o in own) for i, own in enumerate(self.owners)}
        return BoundShape(shape, layout, hidden, owners)

    def summed(self, bound: BoundShape) -> tuple[Slot, ...]:
        """The variables that are summed."""
        found = tuple(Slot(False, i) for i in range(self.kept, len(self.types)))
        return (*found, Slot(False, len(self.types))) if self.hidden == "summed" else found

    def key_slots(self) -> tuple[Slot, ...]:
        """The variables that are kept, the hidden example last."""
        found = tuple(Slot(False, i) for i in range(self.kept))
        return (*found, Slot(False, len(self.types))) if self.hidden == "kept" else found


def count_parts(parts: Sequence[Part], layout: Layout, examples: TableName | None = None) -> exp.Select | None:
    """Plan the counts of several parts as one query.

    Columns `part` (its place among the parts), `s0, s1, ...` (its keys in order, NULL beyond) and `n` (BIGINT); a key without a row has 0.
    `examples` has a column `example`: groundings are of these alone. None if there is nothing to ask.

    Examples
    --------
    >>> from sqlrl.plan.sample_layout import people
    >>> x, y = Slot(False, 0), Slot(False, 1)
    >>> literals = (ShapeLiteral("Friends", False, (x, y)), ShapeLiteral("Smokes", False, (y,)))
    >>> query = count_parts([Part(literals, ("person", "person"), 1), Part(literals[:1], ("person",) * 2, 2)], people())
    >>> query.named_selects
    ['part', 's0', 's1', 'n']
    """
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
    context = Context(bound, None, examples, steps)
    factors = [part_factor(context, x, true_query(context, x, OBSERVED)) for x in part.literals]
    kept, summed = part.key_slots(), part.summed(bound)
    term = term_of(
        context,
        factors,
        (),
        1,
        variables=(*summed, *(Slot(False, i) for i in part.ranged)),
        kept=frozenset(kept),
        restricted=[slot for slot in summed if bound.is_example(slot)],
    )
    if term is None:
        return None
    wanted = [_wanted(bound, Slot(False, i), ids, f"w{steps.fresh()}") for i, ids in part.values]
    everything = [*term.factors, *wanted]
    if not everything:
        n: exp.Expression = integer(term.multiplier)
        return exp.select(named(integer(number), "part"), *_keys({}, (), width), named(cast(n, "BIGINT"), "n"))
    total = partial_sums(everything, frozenset(kept), steps)
    assert total.weight is not None, "a sum has a weight"
    alias = total.source.alias
    known = {slot: column(name, alias) for name, slot in total.source.columns}
    n = column(total.weight, alias)
    if term.multiplier != 1:
        n = exp.Mul(this=n, expression=integer(term.multiplier))
    query = exp.select(named(integer(number), "part"), *_keys(known, kept, width), named(cast(n, "BIGINT"), "n"))
    query = query.from_(total.source.relation.copy())
    return query.where(exp.NEQ(this=column(total.weight, alias), expression=integer(0)))


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


# ---- terms ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PartUse:
    """A part in a term: its keys are these slots of the clause, in order."""

    part: Part
    slots: tuple[Slot, ...]


@dataclass(frozen=True)
class FlipTerm:
    """One term of in how many groundings an atom decides.

    Parameters
    ----------
    places : tuple of Slot
        The slot of each argument of the atom, and of its hidden example last; one that stands twice, or a parameter, restricts the atoms.
    parts : tuple of PartUse
        Whose counts are multiplied.
    factor : int
        And by what.
    equal : tuple of (int, int)
        Parameters of the clause that must be equal, else the term is 0.
    true, false : (int, int)
        How it counts in (`negative`, `positive`) of an atom that is true, and of one that is false: 1, -1 or 0.
    """

    places: tuple[Slot, ...]
    parts: tuple[PartUse, ...]
    factor: int
    equal: tuple[tuple[int, int], ...]
    true: tuple[int, int]
    false: tuple[int, int]


class TermPlanner:
    """Plans the terms of one clause, for the atoms of one predicate after the other; what terms share is planned once.

    The clause has no quantifiers; `examples` is how many there are, if not all.

    Examples
    --------
    >>> from sqlrl.plan.sample_layout import friends_smoke, people
    >>> from sqlrl.plan.slots import bind
    >>> planner = TermPlanner(bind(friends_smoke(), people()))
    >>> for term in planner.flips("Smokes"):
    ...     print(term.true, term.false, [str(use.part) for use in term.parts])
    (0, 1) (0, 1) ['Friends(v1, v0) by v0']
    >>> for term in planner.flips("Friends"):
    ...     print(term.true, term.false, term.factor, [str(use.part) for use in term.parts])
    (1, 0) (1, 0) 1 []
    (1, 0) (1, 0) -1 ['Smokes(v0) by v0']
    """

    def __init__(self, bound: BoundShape, examples: int | None = None) -> None:
        assert not bound.shape.exists, "quantifiers are the caller's"
        self.bound, self.examples = bound, examples
        self._merged: dict[tuple[tuple[ShapeLiteral, ...], tuple[ShapeEquality, ...]], _Merged] = {}
        self._parts: dict[object, PartUse] = {}

    def flips(self, predicate: str) -> list[FlipTerm]:
        """Return the terms of in how many groundings the atoms of a predicate decide; a GroundingLimitError says that there are more than `MOST_TERMS`."""
        shape = self.bound.shape
        found = []
        number = 0
        for members in _sets([x for x in shape.literals if x.predicate == predicate]):
            counts = _signs(members, contained=False)
            if counts is None:
                continue
            rest = [x for x in shape.literals if x not in members]
            chosen: list[ShapeLiteral | ShapeEquality] = [x for x in rest if x.positive]
            chosen += [x for x in shape.equalities if x.positive]
            number += 2 ** len(chosen)
            if number > MOST_TERMS:
                raise GroundingLimitError(
                    f"what an atom of {predicate} changes in clauses of the shape {shape} is a sum of more than {MOST_TERMS:,} terms, two for each "
                    "literal that is not negated: write it with fewer of these"
                )
            for some in _subsets(chosen):
                holding = [x for x in rest if not x.positive] + [x for x in some if isinstance(x, ShapeLiteral)]
                same = [x for x in shape.equalities if not x.positive]
                same += [x for x in some if isinstance(x, ShapeEquality)]
                found.append(self._term(members, holding, same, -1 if len(some) % 2 else 1, counts))
        return [term for term in found if term is not None]

    def containing(self, predicate: str) -> list[FlipTerm]:
        """Return the terms of how many groundings have an atom in a negative and in a positive literal, whatever else holds."""
        found = []
        for members in _sets([x for x in self.bound.shape.literals if x.predicate == predicate]):
            counts = _signs(members, contained=True)
            if counts is not None:
                found.append(self._term(members, (), (), 1, counts))
        return [term for term in found if term is not None]

    def _term(
        self,
        members: tuple[ShapeLiteral, ...],
        holding: Sequence[ShapeLiteral],
        equal: Sequence[ShapeEquality],
        sign: int,
        counts: tuple[tuple[int, int], tuple[int, int]],
    ) -> FlipTerm | None:
        """Return the term in which some literals are one atom, others are true, and some slots equal; None if a domain is empty."""
        key = members, tuple(equal)
        if key not in self._merged:
            self._merged[key] = _Merged(self.bound, *key)
        merged = self._merged[key]
        factor = sign
        uses: list[PartUse] = []
        for group in merged.groups(holding):
            if group.literals or group.ranged or any(merged.owners[slot] for slot in group.slots):
                uses.append(self._part(merged, group))
            else:
                for slot in group.slots:
                    factor *= self._size(slot)
        if not factor:
            return None
        return FlipTerm(merged.places, tuple(uses), factor, merged.conditions, *counts)

    def _size(self, slot: Slot) -> int:
        if self.bound.is_example(slot) and self.examples is not None:
            return self.examples
        return domain_size(self.bound, slot)

    def _part(self, merged: _Merged, group: _Group) -> PartUse:
        """Return a part with its variables numbered, alike for all parts that differ in names alone."""
        # Variables that are summed range over their domains; others are there as the atom is, or are told apart.
        ranging = {slot: merged.owners[slot] for slot in (*sorted(group.slots), *group.ranged)}
        key = group, tuple(ranging.items())
        if key in self._parts:
            return self._parts[key]
        bound, hidden = self.bound, self.bound.hidden
        state = "none"
        if hidden is not None:
            columns = {slot for x in group.literals for _, slot in bound.columns(x)}
            if hidden in group.slots:
                state = "summed"
            elif hidden in columns or any(hidden in found for found in ranging.values()):
                state = "kept"
        mentioned = [slot for x in group.literals for slot in x.terms]
        kinds = {
            slot: bound.kind(slot) for slot in (*mentioned, *ranging, *(o for found in ranging.values() for o in found))
        }
        self._parts[key] = _numbered(group, kinds, ranging, hidden, state)
        return self._parts[key]


def _sets(own: Sequence[ShapeLiteral]) -> Iterator[tuple[ShapeLiteral, ...]]:
    """Yield the sets of literals that may be one atom, by size."""
    return chain.from_iterable(combinations(own, size) for size in range(1, len(own) + 1))


def _subsets(
    parts: Sequence[ShapeLiteral | ShapeEquality],
) -> Iterator[tuple[ShapeLiteral | ShapeEquality, ...]]:
    return chain.from_iterable(combinations(parts, size) for size in range(len(parts) + 1))


def _signs(members: Sequence[ShapeLiteral], *, contained: bool) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return how a set of literals that are one atom counts where it is true, and where it is false; None if it does not."""
    positive = sum(x.positive for x in members)
    negative = len(members) - positive
    alternating = -1 if len(members) % 2 == 0 else 1
    only_negative = alternating if not positive else 0
    only_positive = alternating if not negative else 0
    if contained:
        both = (only_negative, only_positive)
        return (both, both) if any(both) else None
    with_positive = (-1) ** negative if positive else 0
    with_negative = (-1) ** positive if negative else 0
    return (only_negative, with_positive), (with_negative, only_positive)


@dataclass(frozen=True)
class _Group:
    # What shares no variable with the rest but kept ones: summed variables, literals, and what must be inside its domain: constants that
    # a variable is equal to, and arguments of the atom in examples that are not its own.
    slots: frozenset[Slot]
    literals: tuple[ShapeLiteral, ...] = ()
    ranged: tuple[Slot, ...] = ()


class _Merged:
    # A clause in which some literals are one atom, and some slots equal: `places` are the slots of the atom's arguments, its hidden
    # example last; `conditions` parameters that must be equal; `owners` the examples over whose domains each slot ranges.

    def __init__(self, bound: BoundShape, members: Sequence[ShapeLiteral], equal: Sequence[ShapeEquality]) -> None:
        first = members[0]
        same = Union(frozenset(slot for _, slot in bound.columns(first)))
        conditions: dict[tuple[int, int], None] = {}
        pairs = [(x, y) for other in members[1:] for x, y in zip(first.terms, other.terms, strict=True)]
        pairs += [(x.left, x.right) for x in equal]
        for left, right in pairs:
            a, b = same.find(left), same.find(right)
            if a.parameter and b.parameter and a != b:
                conditions[min(a.index, b.index), max(a.index, b.index)] = None
            same.join(left, right)
        self.conditions = tuple(conditions)
        self._bound, self._same = bound, same
        info = bound.info(first)
        places = [same.find(slot) for slot in first.terms]
        own = next((s for s, kind in zip(places, info.types, strict=True) if kind == bound.layout.example_type), None)
        if bound.hidden is not None and info.example_column:
            places.append(bound.hidden)
            own = bound.hidden
        self.places = tuple(places)
        variables = dict.fromkeys(same.find(slot) for slot in bound.variables)
        self.owners: dict[Slot, tuple[Slot, ...]] = dict.fromkeys(variables, ())
        for member, owners in bound.owners.items():
            slot = same.find(member)
            known = self.owners.get(slot, ())
            self.owners[slot] = tuple(dict.fromkeys((*known, *map(same.find, owners))))
        kept = frozenset(places)
        self._free = frozenset(slot for slot in variables if slot not in kept and not slot.parameter)
        # Each variable, with the examples over whose domains it ranges, is in a part, if its domain is to be heeded at all.
        self._alone: list[_Group] = []
        for slot in variables:
            inside = self._free.intersection(self.owners[slot])
            if slot.parameter or (slot in kept and any(owner != own for owner in self.owners[slot])):
                self._alone.append(_Group(inside, (), (slot,)))
            elif slot not in kept:
                self._alone.append(_Group(inside | {slot}))

    def groups(self, holding: Sequence[ShapeLiteral]) -> list[_Group]:
        """Split literals that are true, and all variables, into what shares no variable but kept ones."""
        find = self._same.find
        literals = dict.fromkeys(ShapeLiteral(x.predicate, False, tuple(map(find, x.terms))) for x in holding)
        edges = [_Group(self._free.intersection(slot for _, slot in self._bound.columns(x)), (x,)) for x in literals]
        groups: list[_Group] = []
        for edge in (*edges, *self._alone):
            touched = [group for group in groups if not group.slots.isdisjoint(edge.slots)]
            if not touched:
                groups.append(edge)
                continue
            groups = [group for group in groups if group.slots.isdisjoint(edge.slots)]
            everything = [*touched, edge]
            groups.append(
                _Group(
                    frozenset().union(*(x.slots for x in everything)),
                    tuple(x for group in everything for x in group.literals),
                    tuple(x for group in everything for x in group.ranged),
                )
            )
        return groups


def _numbered(
    group: _Group,
    kinds: Mapping[Slot, str | None],
    owners: Mapping[Slot, tuple[Slot, ...]],
    hidden: Slot | None,
    state: str,
) -> PartUse:
    """Return a part whose variables are numbered: those that are kept, then those that are summed, each by first occurrence.

    Of the orders of its literals the one that gives the least part is chosen. `owners` are those of the slots that must be inside their domains.
    """
    found = []
    for order in _orders(group.literals):
        mentioned = [*(slot for x in order for slot in x.terms), *group.ranged, *sorted(group.slots)]
        everything = dict.fromkeys(
            (*mentioned, *(o for slot in dict.fromkeys(mentioned) for o in owners.get(slot, ())))
        )
        outside = [slot for slot in everything if slot not in group.slots and slot != hidden]
        inside = [slot for slot in everything if slot in group.slots and slot != hidden]
        numbers = {slot: i for i, slot in enumerate((*outside, *inside, *([] if hidden is None else [hidden])))}
        types = tuple(str(kinds[slot]) for slot in (*outside, *inside))
        literals = tuple(
            ShapeLiteral(x.predicate, False, tuple(Slot(False, numbers[slot]) for slot in x.terms)) for x in order
        )
        ranges = tuple(tuple(numbers[o] for o in owners.get(slot, ())) for slot in (*outside, *inside))
        ranged = tuple(sorted(numbers[slot] for slot in group.ranged))
        part = Part(literals, types, len(outside), state, ranges, (), ranged)
        slots = (*outside, hidden) if state == "kept" and hidden is not None else tuple(outside)
        found.append(PartUse(part, slots))
    return min(found, key=lambda use: (use.part.literals, use.part.types))


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
    """A part whose first literal is any predicate of some arguments: what is counted, and which of its keys are those of the part that it stands for.

    The predicate is a key, the one at `predicate`; the keys of the part are at `keys`, in its order.
    """

    part: Part
    predicate: int
    keys: tuple[int, ...]


def any_part(part: Part, place: int, relation: str, kind: str) -> AnyPart:
    """Return a part with the predicate of one literal as one more argument, the first one: the relation `relation`, and of the type `kind`.

    Parts that differ in that predicate alone are one then.

    Examples
    --------
    >>> x, y = Slot(False, 0), Slot(False, 1)
    >>> one, other = (
    ...     Part((ShapeLiteral("Friends", False, (x, y)), ShapeLiteral(p, False, (y,))), ("person", "person"), 1)
    ...     for p in ("Smokes", "Runs")
    ... )
    >>> print(any_part(one, 1, "any", "predicate").part)
    Friends(v0, v2) ^ any(v1, v2) by v0, v1
    >>> any_part(one, 1, "any", "predicate") == any_part(other, 1, "any", "predicate")
    True
    """
    predicate = Slot(True, 0)
    slots = [Slot(False, i) for i in range(len(part.types))]
    hidden = None if part.hidden == "none" else Slot(False, len(slots))
    literals = [
        ShapeLiteral(relation, False, (predicate, *x.terms)) if i == place else x for i, x in enumerate(part.literals)
    ]
    summed = frozenset(slots[part.kept :]) | (
        frozenset([hidden]) if hidden and part.hidden == "summed" else frozenset()
    )
    group = _Group(summed, tuple(literals), tuple(Slot(False, i) for i in part.ranged))
    owners = {Slot(False, i): tuple(Slot(False, o) for o in own) for i, own in enumerate(part.owners) if own}
    kinds: dict[Slot, str | None] = {predicate: kind, **dict(zip(slots, part.types, strict=True))}
    use = _numbered(group, kinds, owners, hidden, part.hidden)
    at = {slot: i for i, slot in enumerate(use.slots)}
    values = tuple((at[Slot(False, i)], ids) for i, ids in part.values)
    return AnyPart(replace(use.part, values=values), at[predicate], tuple(at[slot] for slot in part.key_slots()))
