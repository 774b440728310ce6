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
variable, and the term is the product of their counts. Such a part (`sqlrl.plan.parts.Part`) is mostly a single literal or two: "the friends of x
who smoke" is a number for each x, "the common friends of x and y" one for each pair that has any. None is as large as the
predicate has atoms: of `Friends(x, y) ^ Smokes(x) => Smokes(y)` the flips of the atoms of Friends need nothing but who smokes.

`Smokes(x) => Cancer(x)` and the atoms of Smokes: negative = 1 - (x has cancer), and positive = 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import NamedTuple, TypeAlias

from sqlrl.errors import GroundingLimitError
from sqlrl.logic.shapes import Shape, ShapeEquality, ShapeLiteral, Slot
from sqlrl.plan.parts import Part, PartUse, numbered_part
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.terms import Union, domain_size

MOST_TERMS = 4096
"""The most terms of a clause and predicate."""


@dataclass(frozen=True)
class Summand:
    """What is added up in a factor of a term: the product of a number and of the counts of parts, where pairs of slots are equal, else 0.

    The slots are arguments of the atom, or parameters.
    """

    factor: int
    parts: tuple[PartUse, ...] = ()
    equal: tuple[tuple[Slot, Slot], ...] = ()


@dataclass(frozen=True)
class FlipTerm:
    """One term of in how many groundings an atom decides: a product of sums.

    Parameters
    ----------
    places : tuple of Slot
        The slot of each argument of the atom, and of its hidden example last; one that stands twice, or a parameter, restricts the atoms.
    sums : tuple of tuple of Summand
        What is multiplied: there is a sum for what shares variables.
    factor : int
        And by what.
    equal : tuple of (int, int)
        Parameters of the clause that must be equal, else the term is 0.
    true, false : (int, int)
        How it counts in (`negative`, `positive`) of an atom that is true, and of one that is false: 1, -1 or 0.
    """

    places: tuple[Slot, ...]
    sums: tuple[tuple[Summand, ...], ...]
    factor: int
    equal: tuple[tuple[int, int], ...]
    true: tuple[int, int]
    false: tuple[int, int]

    @property
    def parts(self) -> tuple[PartUse, ...]:
        """The parts of all summands, in order."""
        return tuple(use for each in self.sums for summand in each for use in summand.parts)


KnownParts: TypeAlias = dict[object, tuple[Part, tuple[int, ...]]]
"""Parts by how they are written, each with the slots there that its keys are: those of all planners that share them."""


class TermPlanner:
    """Plans the terms of one clause, for the atoms of one predicate after the other; what terms share is planned once.

    The clause has no quantifiers; `examples` is how many there are, if not all. Planners of many clauses share `known`.

    Examples
    --------
    >>> from sqlrl.plan.sample_layout import friends_smoke, people
    >>> from sqlrl.plan.slots import bind
    >>> planner = TermPlanner(bind(friends_smoke(), people()))
    >>> for predicate in ("Smokes", "Friends"):
    ...     for term in planner.flips(predicate):
    ...         sums = [
    ...             [(each.factor, *(str(use.part) for use in each.parts)) for each in found] for found in term.sums
    ...         ]
    ...         print(predicate, term.true, term.false, sums)
    Smokes (0, 1) (0, 1) [[(1, 'Friends(v1, v0) by v0')]]
    Friends (1, 0) (1, 0) [[(1,), (-1, 'Smokes(v0) by v0')]]
    """

    def __init__(self, bound: BoundShape, examples: int | None = None, known: KnownParts | None = None) -> None:
        assert not bound.shape.exists, "quantifiers are the caller's"
        self.bound, self.examples = bound, examples
        self._known: KnownParts = {} if known is None else known
        self._literals = tuple(dict.fromkeys(map(_unsigned, bound.shape.literals)))
        self._place = {x: i for i, x in enumerate(self._literals)}
        self._merged: dict[object, _Merged] = {}
        self._products: dict[object, tuple[int, tuple[PartUse, ...]]] = {}
        self._parts: dict[object, PartUse] = {}
        self._planned = 0

    def flips(self, predicate: str, shape: Shape | None = None) -> list[FlipTerm]:
        """Return the terms of in how many groundings the atoms of a predicate decide; a GroundingLimitError says that there are more than `MOST_TERMS`.

        `shape` is the clause with other signs: what is counted is the same.
        """
        shape = shape or self.bound.shape
        self._planned = 0
        always = tuple(x for x in shape.equalities if not x.positive)
        equal = [x for x in shape.equalities if x.positive]
        found = []
        for members in _sets([x for x in shape.literals if x.predicate == predicate]):
            counts = _signs(members, contained=False)
            if counts is not None:
                rest = [x for x in shape.literals if x not in members]
                found.append(self._term(members, always, rest, equal, counts))
        return [term for term in found if term is not None]

    def containing(self, predicate: str) -> list[FlipTerm]:
        """Return the terms of how many groundings have an atom in a negative and in a positive literal, whatever else holds."""
        found = []
        for members in _sets([x for x in self.bound.shape.literals if x.predicate == predicate]):
            counts = _signs(members, contained=True)
            if counts is not None:
                found.append(self._term(members, (), (), (), counts))
        return [term for term in found if term is not None]

    def _term(
        self,
        members: tuple[ShapeLiteral, ...],
        always: tuple[ShapeEquality, ...],
        rest: Sequence[ShapeLiteral],
        equal: Sequence[ShapeEquality],
        counts: tuple[tuple[int, int], tuple[int, int]],
    ) -> FlipTerm | None:
        """Return the term in which some literals are one atom, and some slots equal; `equal` are those that must not be. None if it is 0."""
        merged = self._with(tuple(sorted({self._place[_unsigned(x)] for x in members})), always, ())
        factor, sums = 1, list[tuple[Summand, ...]]()
        for group in merged.groups([(self._place[_unsigned(x)], x.positive) for x in rest], equal):
            found = self._sum(merged, group)
            if not found:
                return None
            if len(found) == 1 and not found[0].parts and not found[0].equal:
                factor *= found[0].factor
            else:
                sums.append(found)
        if not factor:
            return None
        return FlipTerm(merged.places, tuple(sums), factor, merged.conditions, *counts)

    def _sum(self, merged: _Merged, group: _Group) -> tuple[Summand, ...]:
        """Return in how many ways the negative literals of a group are true and its positive ones, and equalities, false; empty for none."""
        chosen: list[int | ShapeEquality] = [*group.false, *group.equalities]
        self._planned += 2 ** len(chosen)
        if self._planned > MOST_TERMS:
            raise GroundingLimitError(
                f"what an atom of {merged.predicate} changes in clauses of the shape {self.bound.shape} is a sum of more than {MOST_TERMS:,} terms, two for "
                "each literal that is not negated: write it with fewer of these"
            )
        slots = merged.slots(group.slots)
        total: dict[tuple[tuple[PartUse, ...], tuple[tuple[Slot, Slot], ...]], int] = {}
        for some in _subsets(chosen):
            true = group.true
            for x in some:
                true |= 1 << x if isinstance(x, int) else 0
            equal = tuple(x for x in some if isinstance(x, ShapeEquality)) if group.equalities else ()
            inner = self._with(merged.members, merged.always, equal) if equal else merged
            size, uses = self._product(inner, inner.distinct(true), slots, group.ranged)
            key = uses, inner.pairs
            total[key] = total.get(key, 0) + (-size if len(some) % 2 else size)
        return tuple(Summand(factor, *key) for key, factor in total.items() if factor)

    def _product(
        self, merged: _Merged, true: int, slots: tuple[Slot, ...], ranged: tuple[Slot, ...]
    ) -> tuple[int, tuple[PartUse, ...]]:
        """Return in how many ways literals of a group are true: a number, and parts whose counts it is multiplied by."""
        key = merged.key, true, slots, ranged
        if key not in self._products:
            size, uses = 1, list[PartUse]()
            for inner in merged.true_groups(true, slots, ranged):
                own = merged.slots(inner.slots)
                if inner.true or inner.ranged or any(merged.owners[slot] for slot in own):
                    part = merged.key, inner
                    if part not in self._parts:
                        self._parts[part] = self._part(merged, inner, own)
                    uses.append(self._parts[part])
                else:
                    for slot in own:
                        size *= self._size(slot)
            self._products[key] = size, tuple(uses)
        return self._products[key]

    def _with(
        self, members: tuple[int, ...], always: tuple[ShapeEquality, ...], some: tuple[ShapeEquality, ...]
    ) -> _Merged:
        key = members, always, some
        if key not in self._merged:
            self._merged[key] = _Merged(self.bound, self._literals, *key, len(self._merged))
        return self._merged[key]

    def _size(self, slot: Slot) -> int:
        if self.bound.is_example(slot) and self.examples is not None:
            return self.examples
        return domain_size(self.bound, slot)

    def _part(self, merged: _Merged, group: _Group, summed: tuple[Slot, ...]) -> PartUse:
        """Return a part with its variables numbered, alike for all parts that differ in names alone."""
        literals = sorted(merged.literal(i) for i in _bits(group.true))
        # Variables that are summed range over their domains; others are there as the atom is, or are told apart.
        ranging = {slot: merged.owners[slot] for slot in (*summed, *group.ranged)}
        hidden = self.bound.hidden
        state = "none"
        if hidden is not None:
            if hidden in summed:
                state = "summed"
            elif any(self.bound.info(x).example_column for x in literals) or any(
                hidden in found for found in ranging.values()
            ):
                state = "kept"
        # Slots by first occurrence: what is alike up to their names is numbered once.
        local: dict[Slot, int] = {}
        for x in literals:
            for slot in x.terms:
                local.setdefault(slot, len(local))
        for slot, owners in ranging.items():
            local.setdefault(slot, len(local))
            for owner in owners:
                local.setdefault(owner, len(local))
        key = (
            tuple((x.predicate, tuple(local[slot] for slot in x.terms)) for x in literals),
            tuple((self.bound.kind(slot), slot in summed) for slot in local),
            tuple((local[slot], tuple(local[owner] for owner in owners)) for slot, owners in ranging.items()),
            len(group.ranged),
            None if hidden is None else local.get(hidden, -1),
            state,
        )
        if key not in self._known:
            kinds = {slot: self.bound.kind(slot) for slot in local}
            use = numbered_part(literals, summed, group.ranged, kinds, ranging, hidden, state)
            self._known[key] = use.part, tuple(-1 if slot == hidden else local[slot] for slot in use.slots)
        part, numbers = self._known[key]
        named = tuple(local)
        return PartUse(part, tuple(hidden if i < 0 and hidden is not None else named[i] for i in numbers))


def _unsigned(literal: ShapeLiteral) -> ShapeLiteral:
    return ShapeLiteral(literal.predicate, False, literal.terms) if literal.positive else literal


def _bits(mask: int) -> Iterator[int]:
    """Yield the places of the ones of a number."""
    while mask:
        last = mask & -mask
        yield last.bit_length() - 1
        mask ^= last


def _sets(own: Sequence[ShapeLiteral]) -> Iterator[tuple[ShapeLiteral, ...]]:
    """Yield the sets of literals that may be one atom, by size."""
    return chain.from_iterable(combinations(own, size) for size in range(1, len(own) + 1))


def _subsets(parts: Sequence[int | ShapeEquality]) -> Iterator[tuple[int | ShapeEquality, ...]]:
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


class _Group(NamedTuple):
    # What shares no variable with the rest but kept ones, as numbers whose ones are places: summed variables, and literals that are true; and those
    # that are not; what must be inside its domain: constants that a variable is equal to, and arguments of the atom in examples that are not
    # its own; and equalities that must not hold.
    slots: int
    true: int = 0
    false: tuple[int, ...] = ()
    ranged: tuple[Slot, ...] = ()
    equalities: tuple[ShapeEquality, ...] = ()


def _joined(edges: Iterable[_Group]) -> list[_Group]:
    """Join what shares variables."""
    groups: list[_Group] = []
    for edge in edges:
        if edge.slots and any(group.slots & edge.slots for group in groups):
            touched = [group for group in groups if group.slots & edge.slots]
            groups = [group for group in groups if not group.slots & edge.slots]
            slots, true, false, ranged, equalities = edge
            for group in reversed(touched):
                slots, true = slots | group.slots, true | group.true
                false, ranged = group.false + false, group.ranged + ranged
                equalities = group.equalities + equalities
            groups.append(_Group(slots, true, false, ranged, equalities))
        else:
            groups.append(edge)
    return groups


class _Merged:
    # A clause in which some literals are one atom, and some slots equal: `places` are the slots of the atom's arguments, its hidden
    # example last; `conditions` parameters that must be equal; `owners` the examples over whose domains each slot ranges. Of `some`
    # equalities those of arguments and parameters with each other are `pairs`, and stay two slots.

    def __init__(
        self,
        bound: BoundShape,
        literals: Sequence[ShapeLiteral],
        members: tuple[int, ...],
        always: tuple[ShapeEquality, ...],
        some: Sequence[ShapeEquality],
        key: int,
    ) -> None:
        first = literals[members[0]]
        self.key, self.members, self.always, self.predicate = key, members, always, first.predicate
        same = Union(frozenset(slot for _, slot in bound.columns(first)))
        conditions: dict[tuple[int, int], None] = {}
        pairs = [(x, y) for i in members[1:] for x, y in zip(first.terms, literals[i].terms, strict=True)]
        pairs += [(x.left, x.right) for x in always]
        for left, right in pairs:
            a, b = same.find(left), same.find(right)
            if a.parameter and b.parameter and a != b:
                conditions[min(a.index, b.index), max(a.index, b.index)] = None
            same.join(left, right)
        self.conditions = tuple(conditions)
        self._same = same
        info = bound.info(first)
        places = [same.find(slot) for slot in first.terms]
        self._own = next(
            (s for s, kind in zip(places, info.types, strict=True) if kind == bound.layout.example_type), None
        )
        if bound.hidden is not None and info.example_column:
            places.append(bound.hidden)
            self._own = bound.hidden
        self.places, self._kept = tuple(places), frozenset(places)
        fixed: dict[tuple[Slot, Slot], None] = {}
        for each in some:
            a, b = sorted((same.find(each.left), same.find(each.right)))
            if all(slot.parameter or slot in self._kept for slot in (a, b)):
                if a != b:
                    fixed[a, b] = None
            else:
                same.join(a, b)
        self.pairs = tuple(fixed)
        self._variables = tuple(dict.fromkeys(same.find(slot) for slot in bound.variables))
        self.owners: dict[Slot, tuple[Slot, ...]] = dict.fromkeys(self._variables, ())
        for member, owners in bound.owners.items():
            slot = same.find(member)
            known = self.owners.get(slot, ())
            self.owners[slot] = tuple(dict.fromkeys((*known, *map(same.find, owners))))
        free = sorted(slot for slot in self._variables if slot not in self._kept and not slot.parameter)
        self._free, self._bit = tuple(free), {slot: 1 << i for i, slot in enumerate(free)}
        find = same.find
        self._renamed = [
            ShapeLiteral(x.predicate, False, tuple(map(find, x.terms))) if same.joined else x for x in literals
        ]
        self._masks = [
            self._mask(x.terms)
            | (self._bit.get(bound.hidden, 0) if bound.hidden and bound.info(x).example_column else 0)
            for x in self._renamed
        ]
        # Where two literals became one, the first of them stands for both.
        place: dict[ShapeLiteral, int] = {}
        self._first = [place.setdefault(x, i) for i, x in enumerate(self._renamed)]
        self._doubled = len(place) < len(literals)
        self._alone: dict[Slot, _Group | None] = {}

    def _mask(self, slots: Iterable[Slot]) -> int:
        found = 0
        for slot in slots:
            found |= self._bit.get(slot, 0)
        return found

    def slots(self, mask: int) -> tuple[Slot, ...]:
        """Return variables by their places, ascending."""
        return tuple(self._free[i] for i in _bits(mask))

    def literal(self, place: int) -> ShapeLiteral:
        """Return a literal with the slots that stand for its own."""
        return self._renamed[place]

    def distinct(self, true: int) -> int:
        """Return literals without those that are another one of them."""
        if not self._doubled:
            return true
        found = 0
        for i in _bits(true):
            found |= 1 << self._first[i]
        return found

    def _ranging(self, slot: Slot) -> _Group | None:
        """Return a variable with the examples over whose domains it ranges; None if it is an argument in its own example."""
        if slot not in self._alone:
            inside = self._mask(self.owners.get(slot, ()))
            found = None
            if slot in self._bit:
                found = _Group(inside | self._bit[slot])
            elif slot.parameter or any(owner != self._own for owner in self.owners.get(slot, ())):
                found = _Group(inside, ranged=(slot,))
            self._alone[slot] = found
        return self._alone[slot]

    def groups(self, literals: Sequence[tuple[int, bool]], equalities: Sequence[ShapeEquality]) -> list[_Group]:
        """Split literals, each with whether it is positive, equalities and all variables into what shares no variable but kept ones."""
        find = self._same.find
        edges = [
            _Group(self._masks[i], 0 if positive else 1 << i, (i,) if positive else ()) for i, positive in literals
        ]
        edges += [_Group(self._mask((find(x.left), find(x.right))), equalities=(x,)) for x in equalities]
        edges += [found for slot in self._variables if (found := self._ranging(slot)) is not None]
        return _joined(edges)

    def true_groups(self, true: int, slots: Sequence[Slot], ranged: Sequence[Slot]) -> list[_Group]:
        """Split literals that are true, and variables of a group, in the same way."""
        # Those that are summed, and what is ranged with them: an argument or a constant with which one of them became equal.
        variables = dict.fromkeys(map(self._same.find, (*slots, *ranged)))
        edges = [_Group(self._masks[i], 1 << i) for i in _bits(true)]
        edges += [found for slot in variables if (found := self._ranging(slot)) is not None]
        return _joined(edges)
