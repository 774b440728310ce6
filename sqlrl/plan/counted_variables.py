"""Which variables of a clause are counted, not enumerated: those that occur in no open literal.

The closed literals that mention such variables fall into parts that share no counted variable. A part gives each value of
its other slots a multiplicity, which `plan.multiplicity` aggregates before anything is joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlrl.logic.shapes import Shape, ShapeEquality, ShapeExists, ShapeLiteral, Slot
from sqlrl.plan.slots import BoundShape, outer_slots
from sqlrl.plan.terms import split_parts

MOST_TERMS = 4
"""A part has two to the power of its positive literals terms, each a join; past this many literals it is enumerated."""

Item = ShapeLiteral | ShapeEquality | ShapeExists


@dataclass(frozen=True)
class CountedPart:
    """Parts of a clause, all closed, that are tied together by variables which nothing else mentions."""

    slots: frozenset[Slot]  # The variables that are counted.
    bound: BoundShape  # The clause reduced to these literals, equalities and existential groups.

    @property
    def items(self) -> tuple[Item, ...]:
        """The literals, equalities and existential groups."""
        return items_of(self.bound.shape)


def counted_parts(
    bound: BoundShape,
    variables: Sequence[Slot],
    shown: Iterable[Slot] = (),
    *,
    distinct: bool = False,
    freely: bool = False,
) -> tuple[CountedPart, ...]:
    """Return the parts of a clause that can be aggregated before they are joined; `shown` slots are returned beside those of open literals."""
    shape = bound.shape
    must = [item_slots(bound, x) for x in shape.literals if not (x.positive or bound.info(x).open)]
    everything = {*variables, *(Slot(True, i) for i in range(len(shape.parameters)))}
    # A closed literal that must be true has all slots: a join enumerates no more than its facts.
    if not shape.exists and any(slots >= everything for slots in must):
        return ()
    counted = set(variables) - _shown(bound, variables, shown)
    items = [x for x in items_of(shape) if item_slots(bound, x) & counted]
    # A `distinct` query returns each tuple of the other variables once, so that parts may be as large as that.
    within = frozenset(set(variables) - counted) if distinct else frozenset[Slot]()
    # All others are counted `freely`, however large what is summed may be.
    if not freely:
        counted &= _eliminable(bound, counted, items, within)
    found = []
    for slots in components([item_slots(bound, x) & counted for x in items], counted):
        mine = [x for x in items if item_slots(bound, x) & slots]
        part = CountedPart(slots, reduced(bound, mine))
        if not _merges(part) and len(split_parts(part.bound)[1]) <= MOST_TERMS:
            found.append(part)
    return tuple(found)


def without_parts(bound: BoundShape, parts: Sequence[CountedPart]) -> BoundShape:
    """Return a clause without what its counted parts hold."""
    if not parts:
        return bound
    gone = {item for part in parts for item in part.items}
    return reduced(bound, [x for x in items_of(bound.shape) if x not in gone])


def item_slots(bound: BoundShape, item: Item) -> frozenset[Slot]:
    """Return the slots that a literal, an equality or an existential group mentions."""
    if isinstance(item, ShapeLiteral):
        return frozenset(slot for _, slot in bound.columns(item))
    if isinstance(item, ShapeEquality):
        return frozenset((item.left, item.right))
    return frozenset(outer_slots(bound, item))


def items_of(shape: Shape) -> tuple[Item, ...]:
    """Return the literals, equalities and existential groups of a shape."""
    return (*shape.literals, *shape.equalities, *shape.exists)


def _is_open(bound: BoundShape, item: Item) -> bool:
    literals = item.literals if isinstance(item, ShapeExists) else (item,) if isinstance(item, ShapeLiteral) else ()
    return any(bound.info(x).open for x in literals)


def reduced(bound: BoundShape, items: Sequence[Item]) -> BoundShape:
    """Keep some items of a clause; its slots keep their numbers."""
    shape = replace(
        bound.shape,
        literals=tuple(x for x in items if isinstance(x, ShapeLiteral)),
        equalities=tuple(x for x in items if isinstance(x, ShapeEquality)),
        exists=tuple(x for x in items if isinstance(x, ShapeExists)),
    )
    return replace(bound, shape=shape)


def _shown(bound: BoundShape, variables: Sequence[Slot], shown: Iterable[Slot]) -> set[Slot]:
    """Return the slots of open literals, and the examples that own the domain of one of them."""
    found = set(shown)
    for item in items_of(bound.shape):
        if _is_open(bound, item):
            found |= item_slots(bound, item)
    found |= {owner for slot in variables if slot in found for owner in bound.owners.get(slot, ())}
    return found


def _eliminable(bound: BoundShape, counted: set[Slot], items: Sequence[Item], within: frozenset[Slot]) -> set[Slot]:
    """Return the slots that can be summed out so that what is left is no larger than some literal's tuples, or has slots `within` alone."""
    shape = bound.shape
    variable = {x: {s for s in item_slots(bound, x) if not s.parameter} for x in (*shape.literals, *items)}
    closed = [variable[x] for x in items if not isinstance(x, ShapeEquality)]
    full = [variable[x] for x in shape.literals if bound.info(x).open and bound.info(x).full_scope]
    must = [x for x in items if isinstance(x, ShapeLiteral) and not x.positive]
    bound_by_facts = {slot for x in must for slot in variable[x]}
    subtracted = {slot for x in split_parts(reduced(bound, items))[1] for slot in item_slots(bound, x)}
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


def components(edges: Iterable[frozenset[Slot]], slots: set[Slot]) -> list[frozenset[Slot]]:
    """Return the sets of slots that are tied together by edges, in order of their least slot."""
    found = [frozenset((slot,)) for slot in slots]
    for edge in edges:
        tied = [group for group in found if group & edge]
        if len(tied) > 1:
            found = [group for group in found if not group & edge] + [frozenset().union(*tied)]
    return sorted(found, key=min)


def _merges(part: CountedPart) -> bool:
    """True if the equalities of a part can make two slots from outside it equal."""
    groups = components(
        [item_slots(part.bound, x) for x in part.bound.shape.equalities],
        {s for x in part.bound.shape.equalities for s in item_slots(part.bound, x)},
    )
    return any(len(group - part.slots) > 1 for group in groups)
