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
variable, and the term is the product of their counts. Such a part, a `CountedConjunction`, is mostly a single literal or two: "the friends of x
who smoke" is a number for each x, "the common friends of x and y" one for each pair that has any. None is as large as the
predicate has atoms: of `Friends(x, y) ^ Smokes(x) => Smokes(y)` the flips of the atoms of Friends need nothing but who smokes.

`Smokes(x) => Cancer(x)` and the atoms of Smokes: negative = 1 - (x has cancer), and positive = 0.

An existential group is one more positive literal, true where it has a witness. An atom of its own matters where it is in all of them, or where there is none and
it would be in one (`_AnchoredPlanner`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from sqlrl.errors import GroundingLimitError, UnsupportedError
from sqlrl.logic.shapes import Shape, ShapeEquality, ShapeExists, ShapeLiteral, Slot
from sqlrl.plan.count_plan import EqualSlots
from sqlrl.plan.counted_conjunctions import ConjunctionUse, CountedConjunction, GroupRelation, numbered_conjunction
from sqlrl.plan.disjunct_factors import domain_size
from sqlrl.plan.disjuncts import subsets
from sqlrl.plan.slots import BoundShape

MOST_TERMS = 4096
"""The most terms of a clause and predicate."""


@dataclass(frozen=True)
class Summand:
    """A number times the counts of parts where pairs of slots (arguments of the atom, or parameters) are equal, else 0."""

    factor: int
    conjunctions: tuple[ConjunctionUse, ...] = ()
    equal: tuple[tuple[Slot, Slot], ...] = ()


@dataclass(frozen=True)
class FlipTerm:
    """One term of the number of groundings in which an atom decides: a product of sums."""

    # The slots of the atom's arguments, its hidden example last; one that stands twice, or a parameter, restricts the atoms.
    places: tuple[Slot, ...]
    # What is multiplied: a sum for each set of parts that share variables.
    sums: tuple[tuple[Summand, ...], ...]
    # A constant factor of the product.
    factor: int
    # Parameters of the clause that must be equal, else the term is 0.
    equal: tuple[tuple[int, int], ...]
    # How the term counts in (`negative`, `positive`) of a true atom: 1, -1 or 0.
    true: tuple[int, int]
    # The same for a false atom.
    false: tuple[int, int]

    @property
    def conjunctions(self) -> tuple[ConjunctionUse, ...]:
        """The parts of all summands, in order."""
        return tuple(use for each in self.sums for summand in each for use in summand.conjunctions)


KnownConjunctions: TypeAlias = dict[object, tuple[CountedConjunction, tuple[int, ...]]]
"""Parts by how they are written, each with the slots there that its keys are: those of all planners that share them."""

TermSigns: TypeAlias = tuple[tuple[int, int], tuple[int, int]]
"""How a term counts in (`negative`, `positive`) of an atom that is true, and of one that is false."""

GroupSigns: TypeAlias = Sequence[tuple[int, bool]]
"""Existential groups, each with whether it must have no witness, as a positive literal must be false."""


class TermPlanner:
    """Plans the terms of one clause, for the atoms of one predicate after another; what terms share is planned once."""

    def __init__(
        self,
        bound: BoundShape,
        examples: int | None = None,
        known: KnownConjunctions | None = None,
        further: Sequence[GroupRelation] = (),
    ) -> None:
        # `examples` is how many there are, if not all; `further` are relations beside the groups of the clause.
        self.bound, self.examples = bound, examples
        # Planners of many clauses share it.
        self._known: KnownConjunctions = {} if known is None else known
        self._literals = tuple(dict.fromkeys(map(_unsigned, bound.shape.literals)))
        self._place = {x: i for i, x in enumerate(self._literals)}
        # Groups have the places after literals.
        self._relations = (*map(GroupRelation, bound.shape.exists), *further)
        self._groups = [(len(self._literals) + i, True) for i in range(len(bound.shape.exists))]
        self._merged: dict[object, _Merged] = {}
        self._products: dict[object, tuple[int, tuple[ConjunctionUse, ...]]] = {}
        self._parts: dict[object, ConjunctionUse] = {}
        self._planned = 0

    def flip_terms(self, predicate: str, shape: Shape | None = None) -> list[FlipTerm]:
        """Return the terms of the numbers of groundings in which a predicate's atoms decide; more than `MOST_TERMS` are a GroundingLimitError."""
        # The clause, without quantifiers, may be given with other signs: what is counted is the same.
        shape = shape or self.bound.shape
        self._planned = 0
        always, equal = _split(shape.equalities)
        found = []
        for members in filter(None, subsets([x for x in shape.literals if x.predicate == predicate])):
            counts = _signs(members, contained=False)
            if counts is not None:
                rest = [x for x in shape.literals if x not in members]
                found.append(self._term(members, always, rest, equal, counts, self._groups))
        if self._groups:
            found += self._anchored(predicate)
        return [term for term in found if term is not None]

    def _anchored(self, predicate: str) -> list[FlipTerm | None]:
        """Return the terms of atoms inside an existential group."""
        if not is_countable(self.bound, predicate):
            raise UnsupportedError(
                f"what an atom of {predicate} changes in clauses of the shape {self.bound.shape} is not counted: {BEYOND}"
            )
        inside = [group for group in self.bound.shape.exists if any(x.predicate == predicate for x in group.literals)]
        if not inside:
            return []
        return list(_AnchoredPlanner(self.bound, predicate, inside[0], self.examples, self._known).terms())

    def containing(self, predicate: str) -> list[FlipTerm]:
        """Return the terms of how many groundings have an atom in a negative and in a positive literal, whatever else holds."""
        found = []
        for members in filter(None, subsets([x for x in self.bound.shape.literals if x.predicate == predicate])):
            counts = _signs(members, contained=True)
            if counts is not None:
                found.append(self._term(members, (), (), (), counts, ()))
        return [term for term in found if term is not None]

    def _term(
        self,
        members: tuple[ShapeLiteral, ...],
        always: tuple[ShapeEquality, ...],
        rest: Sequence[ShapeLiteral],
        equal: Sequence[ShapeEquality],
        counts: TermSigns,
        groups: GroupSigns,
    ) -> FlipTerm | None:
        """Return the term in which some literals are one atom, and some slots equal; `equal` are those that must not be. None if it is 0."""
        merged = self._with(tuple(sorted({self._place[_unsigned(x)] for x in members})), always, ())
        factor, sums = 1, list[tuple[Summand, ...]]()
        for group in merged.groups([*((self._place[_unsigned(x)], x.positive) for x in rest), *groups], equal):
            found = self._sum(merged, group)
            if not found:
                return None
            if len(found) == 1 and not found[0].conjunctions and not found[0].equal:
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
        total: dict[tuple[tuple[ConjunctionUse, ...], tuple[tuple[Slot, Slot], ...]], int] = {}
        for some in subsets(chosen):
            true = group.true
            for x in some:
                true |= 1 << x if isinstance(x, int) else 0
            equal = tuple(x for x in some if isinstance(x, ShapeEquality)) if group.equalities else ()
            inner = self._with(merged.members, merged.always, equal) if equal else merged
            size, uses = self._product(inner, inner.unrepeated(true), slots, group.ranged)
            key = uses, inner.pairs
            total[key] = total.get(key, 0) + (-size if len(some) % 2 else size)
        return tuple(Summand(factor, *key) for key, factor in total.items() if factor)

    def _product(
        self, merged: _Merged, true: int, slots: tuple[Slot, ...], ranged: tuple[Slot, ...]
    ) -> tuple[int, tuple[ConjunctionUse, ...]]:
        """Return in how many ways literals of a group are true: a number, and parts whose counts it is multiplied by."""
        key = merged.key, true, slots, ranged
        if key not in self._products:
            size, uses = 1, list[ConjunctionUse]()
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
            self._merged[key] = _Merged(self.bound, self._literals, self._relations, *key, len(self._merged))
        return self._merged[key]

    def _size(self, slot: Slot) -> int:
        if self.bound.is_example(slot) and self.examples is not None:
            return self.examples
        return domain_size(self.bound, slot)

    def _part(self, merged: _Merged, group: _Group, summed: tuple[Slot, ...]) -> ConjunctionUse:
        """Return a part with its variables numbered, alike for all parts that differ in names alone."""
        literals, relations = merged.true_ones(group.true)
        # Variables that are summed range over their domains; others are there as the atom is, or are told apart.
        ranging = {slot: merged.owners[slot] for slot in (*summed, *group.ranged)}
        outer: dict[Slot, None] = {}
        for relation in relations:
            # It is made with the domains of its own.
            outer |= dict.fromkeys(merged.columns(relation))
            for slot in (*outer, *relation.inside):
                ranging.setdefault(slot, merged.owners.get(slot, ()))
        hidden = self.bound.hidden
        state = "none"
        if hidden is not None:
            if hidden in summed:
                state = "summed"
            elif (
                hidden in outer
                or any(self.bound.info(x).example_column for x in literals)
                or any(hidden in found for found in ranging.values())
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
            relations and tuple(x.renamed(lambda slot: Slot(False, local[slot])) for x in relations),
        )
        if key not in self._known:
            kinds = {slot: self.bound.kind(slot) for slot in local}
            use = numbered_conjunction(literals, summed, group.ranged, kinds, ranging, hidden, state, relations, outer)
            self._known[key] = use.conjunction, tuple(-1 if slot == hidden else local[slot] for slot in use.slots)
        part, numbers = self._known[key]
        named = tuple(local)
        return ConjunctionUse(part, tuple(hidden if i < 0 and hidden is not None else named[i] for i in numbers))


BEYOND = "under EXIST a predicate may stand once in a clause, and not negated, and variables not range over examples that EXIST alone has beside them"
"""Where what an atom changes is counted."""


def is_countable(bound: BoundShape, predicate: str) -> bool:
    """Return whether what atoms of a predicate change is counted: it is in existential groups once at most, and not negated."""
    shape = bound.shape
    anchors = [x for group in shape.exists for x in group.literals if x.predicate == predicate]
    atom = {slot for x in anchors for slot in x.terms}
    outer = {*bound.variables, *(Slot(True, i) for i in range(len(shape.parameters)))}
    # No variable of clause or atom may range over the domain of a quantified example, unless the atom has the example, too.
    within = all(outer.union(atom).issuperset(bound.owners.get(slot, ())) for slot in atom)
    within = within and all(outer.issuperset(bound.owners.get(slot, ())) for slot in outer)
    return within and len(anchors) <= 1 and all(x.positive for x in anchors)


class _AnchoredPlanner(TermPlanner):
    """Plans the terms that atoms in an existential group have beside those of sets of literals, which are all times 1 - W.

    W: the group has a witness; R: one with the atom if that is true; O: all are with it; T: a literal is true; I: it is the atom.
    a true:   positive += O times the product of T - I of negative and 1 - T + I of positive literals
    a false:  positive += R (1 - W) times that of T of negative and 1 - T - I of positive literals
              negative -= R (1 - W) times what counts in negative of sets of literals
    """

    def __init__(
        self, bound: BoundShape, predicate: str, group: ShapeExists, examples: int | None, known: KnownConjunctions
    ) -> None:
        self._shape, self._group = bound.shape, bound.shape.exists.index(group)
        (anchor,) = (x for x in group.literals if x.predicate == predicate)
        types = bound.shape.variables
        inside = {Slot(False, i) for i in group.variables}
        own = [slot for slot in dict.fromkeys(anchor.terms) if slot in inside]
        # The atom is a literal with variables of its own in place of those of the group, and R is what else the group says with these.
        new = {slot: Slot(False, len(types) + i) for i, slot in enumerate(own)}
        self._atom = replace(anchor, terms=tuple(new.get(slot, slot) for slot in anchor.terms))
        left = tuple(slot.index for slot in sorted(inside.difference(own)))
        others = tuple(x for x in group.literals if x != anchor)
        rest = (
            GroupRelation(ShapeExists(left, others, group.equalities)).renamed(lambda slot: new.get(slot, slot)).group
        )
        inside.difference_update(own)
        literals = [x for x in rest.literals if inside.isdisjoint(x.terms)]
        equalities = [x for x in rest.equalities if inside.isdisjoint((x.left, x.right))]
        # As those of a clause, which say what must not be.
        self._literals_needed = [replace(x, positive=not x.positive) for x in literals]
        self._equalities_needed = [replace(x, positive=not x.positive) for x in equalities]
        # What mentions no other variable of the group is said by literals and equalities, the rest by a group.
        further = [GroupRelation(group, anchor, self._atom.terms)]
        if left:
            further.append(
                GroupRelation(
                    ShapeExists(
                        left,
                        tuple(x for x in rest.literals if x not in literals),
                        tuple(x for x in rest.equalities if x not in equalities),
                    )
                )
            )
        shape = replace(
            bound.shape,
            variables=(*types, *(types[slot.index] for slot in own)),
            literals=(*bound.shape.literals, self._atom, *self._literals_needed),
        )
        # The new variables range as those do for which they stand; the hidden example comes last.
        hidden = None if bound.hidden is None else Slot(False, len(shape.variables))
        moved = {} if bound.hidden is None or hidden is None else {bound.hidden: hidden}
        owners = {slot: tuple(moved.get(x, x) for x in found) for slot, found in bound.owners.items()}
        owners |= {new[slot]: tuple(new.get(x, x) for x in owners.get(slot, ())) for slot in own}
        super().__init__(replace(bound, shape=shape, hidden=hidden, owners=owners), examples, known, further)

    def terms(self) -> Iterator[FlipTerm | None]:
        """Yield the terms."""
        always, equal = _split(self._shape.equalities)
        alike = [x for x in self._shape.literals if x.predicate == self._atom.predicate]
        others = [side for i, side in enumerate(self._groups) if i != self._group]
        # There is no witness without the atom where 1 - W of an atom that is false, and 1 - W + O of one that is true.
        only, *needed = range(len(self._literals) + len(self._groups), len(self._literals) + len(self._relations))
        groups = [*self._groups, *((place, False) for place in needed)]
        also, apart = _split(self._equalities_needed)
        for some in subsets(alike):
            positive = sum(x.positive for x in some)
            negative = len(some) - positive
            rest = [x for x in self._shape.literals if x not in some]
            members = (self._atom, *some)
            counts = (0, (-1) ** negative), (0, 0)
            yield self._term(members, always, rest, equal, counts, [*others, (only, False)])
            counts = (0, 0), ((-((-1) ** positive), 0) if negative else (0, (-1) ** positive))
            rest += self._literals_needed
            yield self._term(members, (*always, *also), rest, [*equal, *apart], counts, groups)


def _split(equalities: Iterable[ShapeEquality]) -> tuple[tuple[ShapeEquality, ...], list[ShapeEquality]]:
    """Return the equalities that must hold where a clause is violated, and those that must not."""
    return tuple(x for x in equalities if not x.positive), [x for x in equalities if x.positive]


def _unsigned(literal: ShapeLiteral) -> ShapeLiteral:
    return ShapeLiteral(literal.predicate, False, literal.terms) if literal.positive else literal


def _bits(mask: int) -> Iterator[int]:
    """Yield the places of the ones of a number."""
    while mask:
        last = mask & -mask
        yield last.bit_length() - 1
        mask ^= last


def _signs(members: Sequence[ShapeLiteral], *, contained: bool) -> TermSigns | None:
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
        relations: Sequence[GroupRelation],
        members: tuple[int, ...],
        always: tuple[ShapeEquality, ...],
        some: Sequence[ShapeEquality],
        key: int,
    ) -> None:
        first = literals[members[0]]
        self.key, self.members, self.always, self.predicate = key, members, always, first.predicate
        same = EqualSlots(frozenset(slot for _, slot in bound.columns(first)))
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
        self._relations = [x.renamed(find) for x in relations]
        if relations:
            self._bound = replace(bound, owners=self.owners)
            self._masks += [self._mask(self.columns(x)) for x in self._relations]
            self._first += range(len(literals), len(self._masks))
        self._alone: dict[Slot, _Group | None] = {}

    def _mask(self, slots: Iterable[Slot]) -> int:
        found = 0
        for slot in slots:
            found |= self._bit.get(slot, 0)
        return found

    def slots(self, mask: int) -> tuple[Slot, ...]:
        """Return variables by their places, ascending."""
        return tuple(self._free[i] for i in _bits(mask))

    def columns(self, relation: GroupRelation) -> tuple[Slot, ...]:
        """Return the columns of the relation of a group, whose slots are those that stand for its own."""
        return relation.slots(self._bound)

    def true_ones(self, true: int) -> tuple[list[ShapeLiteral], tuple[GroupRelation, ...]]:
        """Return the literals at some places, in order, and the groups, with the slots that stand for their own."""
        if not self._relations:
            return sorted(self._renamed[i] for i in _bits(true)), ()
        n = len(self._renamed)
        groups = tuple(self._relations[i] for i in _bits(true >> n))
        return sorted(self._renamed[i] for i in _bits(true) if i < n), groups

    def unrepeated(self, true: int) -> int:
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
