"""Which variables of a clause are counted, not enumerated: those that occur in no open literal.

The closed literals that mention such variables fall into parts that share no counted variable. A part gives each value of
its other slots a multiplicity, which `plan.multiplicity` aggregates before anything is joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlrl.logic.shapes import ShapeEquality, ShapeLiteral, Slot
from sqlrl.plan.disjuncts import Disjunct, components, disjunct_slots, disjuncts, is_open, reduced, split_positive
from sqlrl.plan.slots import BoundShape

MOST_TERMS = 4
"""A part has two to the power of its positive literals terms, each a join; past this many literals it is enumerated."""


@dataclass(frozen=True)
class CountedPart:
    """Parts of a clause, all closed, that are tied together by variables which nothing else mentions."""

    slots: frozenset[Slot]  # The variables that are counted.
    bound: BoundShape  # The clause reduced to these literals, equalities and existential groups.

    @property
    def disjuncts(self) -> tuple[Disjunct, ...]:
        """The literals, equalities and existential groups."""
        return disjuncts(self.bound.shape)


def counted_parts(
    bound: BoundShape,
    variables: Sequence[Slot],
    shown: Iterable[Slot] = (),
    *,
    distinct_rows: bool = False,
    freely: bool = False,
) -> tuple[CountedPart, ...]:
    """Return the parts of a clause that can be aggregated before they are joined; `shown` slots are returned beside those of open literals."""
    shape = bound.shape
    must = [disjunct_slots(bound, x) for x in shape.literals if not (x.positive or bound.info(x).open)]
    everything = {*variables, *(Slot(True, i) for i in range(len(shape.parameters)))}
    # A closed literal that must be true has all slots: a join enumerates no more than its facts.
    if not shape.exists and any(slots >= everything for slots in must):
        return ()
    counted = set(variables) - _shown(bound, variables, shown)
    items = [x for x in disjuncts(shape) if disjunct_slots(bound, x) & counted]
    # A query of distinct rows returns each tuple of the other variables once, so that parts may be as large as that.
    within = frozenset(set(variables) - counted) if distinct_rows else frozenset[Slot]()
    # All others are counted `freely`, however large what is summed may be.
    if not freely:
        counted &= _eliminable(bound, counted, items, within)
    found = []
    for slots in components([disjunct_slots(bound, x) & counted for x in items], counted):
        mine = [x for x in items if disjunct_slots(bound, x) & slots]
        part = CountedPart(slots, reduced(bound, mine))
        if not _merges(part) and len(split_positive(part.bound)[1]) <= MOST_TERMS:
            found.append(part)
    return tuple(found)


def without_parts(bound: BoundShape, parts: Sequence[CountedPart]) -> BoundShape:
    """Return a clause without what its counted parts hold."""
    if not parts:
        return bound
    gone = {item for part in parts for item in part.disjuncts}
    return reduced(bound, [x for x in disjuncts(bound.shape) if x not in gone])


def _shown(bound: BoundShape, variables: Sequence[Slot], shown: Iterable[Slot]) -> set[Slot]:
    """Return the slots of open literals, and the examples that own the domain of one of them."""
    found = set(shown)
    for item in disjuncts(bound.shape):
        if is_open(bound, item):
            found |= disjunct_slots(bound, item)
    found |= {owner for slot in variables if slot in found for owner in bound.owners.get(slot, ())}
    return found


def _eliminable(bound: BoundShape, counted: set[Slot], items: Sequence[Disjunct], within: frozenset[Slot]) -> set[Slot]:
    """Return the slots that can be summed out so that what is left is no larger than some literal's tuples, or has slots `within` alone."""
    shape = bound.shape
    variable = {x: {s for s in disjunct_slots(bound, x) if not s.parameter} for x in (*shape.literals, *items)}
    closed = [variable[x] for x in items if not isinstance(x, ShapeEquality)]
    full = [variable[x] for x in shape.literals if bound.info(x).open and bound.info(x).full_scope]
    must = [x for x in items if isinstance(x, ShapeLiteral) and not x.positive]
    bound_by_facts = {slot for x in must for slot in variable[x]}
    subtracted = {slot for x in split_positive(reduced(bound, items))[1] for slot in disjunct_slots(bound, x)}
    edges = [variable[x] for x in items]
    edges += [{slot, owner} for slot in counted for owner in bound.owners.get(slot, ()) if not owner.parameter]
    left, done = set(counted), set[Slot]()
    while left:
        best: tuple[int, Slot] | None = None
        for slot in sorted(left):
            others = set[Slot]().union(*(e for e in edges if slot in e)) - {slot}
            # A slot that no fact binds would be enumerated over its whole domain, so it is summed out in any case.
            small = (
                len(others) <= 1 or slot not in bound_by_facts or others <= within or any(others <= e for e in closed)
            )
            small = small or (slot in subtracted and any(others <= e for e in full))
            if small and (best is None or (len(others), slot) < best):
                best = (len(others), slot)
        if best is None:
            break
        slot = best[1]
        others = set[Slot]().union(*(e for e in edges if slot in e)) - {slot}
        edges = [*(e for e in edges if slot not in e), others]
        left.discard(slot)
        done.add(slot)
    return done


def _merges(part: CountedPart) -> bool:
    """True if the equalities of a part can make two slots from outside it equal."""
    groups = components(
        [disjunct_slots(part.bound, x) for x in part.bound.shape.equalities],
        {s for x in part.bound.shape.equalities for s in disjunct_slots(part.bound, x)},
    )
    return any(len(group - part.slots) > 1 for group in groups)
