"""The disjuncts of a clause, which are its literals, equalities and existential groups: their slots, and what of a clause some of them are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeVar

from sqlrl.logic.shapes import Shape, ShapeEquality, ShapeExists, ShapeLiteral, Slot
from sqlrl.plan.slots import BoundShape, outer_slots

AtomDisjunct = ShapeLiteral | ShapeExists
Disjunct = AtomDisjunct | ShapeEquality

AnyDisjunct = TypeVar("AnyDisjunct", ShapeLiteral, ShapeEquality, ShapeExists)
Member = TypeVar("Member")


def disjuncts(shape: Shape) -> tuple[Disjunct, ...]:
    """Return the literals, equalities and existential groups of a shape."""
    return (*shape.literals, *shape.equalities, *shape.exists)


def disjunct_slots(bound: BoundShape, disjunct: Disjunct) -> frozenset[Slot]:
    """Return the slots that a literal, an equality or an existential group mentions."""
    if isinstance(disjunct, ShapeLiteral):
        return frozenset(slot for _, slot in bound.columns(disjunct))
    if isinstance(disjunct, ShapeEquality):
        return frozenset((disjunct.left, disjunct.right))
    return frozenset(outer_slots(bound, disjunct))


def reduced(bound: BoundShape, kept: Iterable[Disjunct]) -> BoundShape:
    """Keep some disjuncts of a clause; its slots keep their numbers."""
    chosen = list(kept)
    shape = replace(
        bound.shape,
        literals=tuple(x for x in chosen if isinstance(x, ShapeLiteral)),
        equalities=tuple(x for x in chosen if isinstance(x, ShapeEquality)),
        exists=tuple(x for x in chosen if isinstance(x, ShapeExists)),
    )
    return replace(bound, shape=shape)


def components(edges: Iterable[frozenset[Slot]], slots: set[Slot]) -> list[frozenset[Slot]]:
    """Return the sets of slots that are tied together by edges, in order of their least slot."""
    found = [frozenset((slot,)) for slot in slots]
    for edge in edges:
        tied = [group for group in found if group & edge]
        if len(tied) > 1:
            found = [group for group in found if not group & edge] + [frozenset().union(*tied)]
    return sorted(found, key=min)


def is_open(bound: BoundShape, disjunct: Disjunct) -> bool:
    """Return whether a disjunct has an open predicate, so that worlds differ about it."""
    if isinstance(disjunct, ShapeEquality):
        return False
    literals = disjunct.literals if isinstance(disjunct, ShapeExists) else (disjunct,)
    return any(bound.info(x).open for x in literals)


def negative_literals(shape: Shape) -> list[ShapeLiteral]:
    """Return the literals whose atoms a violated clause needs to be true."""
    return [x for x in shape.literals if not x.positive]


def positive_disjuncts(shape: Shape) -> list[Disjunct]:
    """Return what a violated clause needs to be false."""
    return [x for x in disjuncts(shape) if isinstance(x, ShapeExists) or x.positive]


def split_positive(bound: BoundShape) -> tuple[dict[ShapeLiteral, tuple[ShapeLiteral, ...]], tuple[Disjunct, ...]]:
    """Split the positive disjuncts: closed literals that a negative literal covers guard it; the rest is counted by inclusion-exclusion."""
    guards: dict[ShapeLiteral, tuple[ShapeLiteral, ...]] = {}
    rest: list[Disjunct] = []
    negative = negative_literals(bound.shape)
    for each in positive_disjuncts(bound.shape):
        host = None
        if isinstance(each, ShapeLiteral) and not bound.info(each).open:
            slots = disjunct_slots(bound, each)
            host = next((x for x in negative if slots <= disjunct_slots(bound, x)), None)
        if host is not None and isinstance(each, ShapeLiteral):
            guards[host] = (*guards.get(host, ()), each)
        else:
            rest.append(each)
    return guards, tuple(rest)


def renamed(disjunct: AnyDisjunct, name: Callable[[Slot], Slot]) -> AnyDisjunct:
    """Return a disjunct with other slots; variables of a group stay variables."""
    if isinstance(disjunct, ShapeLiteral):
        return replace(disjunct, terms=tuple(map(name, disjunct.terms)))
    if isinstance(disjunct, ShapeEquality):
        return replace(disjunct, left=name(disjunct.left), right=name(disjunct.right))
    return replace(
        disjunct,
        variables=tuple(name(Slot(False, i)).index for i in disjunct.variables),
        literals=tuple(renamed(x, name) for x in disjunct.literals),
        equalities=tuple(renamed(x, name) for x in disjunct.equalities),
    )


def subsets(chosen: Sequence[Member]) -> Iterator[tuple[Member, ...]]:
    """Yield all subsets, the terms of inclusion-exclusion, by size."""
    for size in range(len(chosen) + 1):
        yield from combinations(chosen, size)
