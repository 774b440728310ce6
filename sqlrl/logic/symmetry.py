"""Symmetries of shapes: exchanges of parameters that leave a clause the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from math import factorial, prod

from sqlrl.logic.shapes import ORDERINGS_TRIED, Shape, ShapeLiteral, Slot


def parameter_symmetries(shape: Shape) -> tuple[tuple[int, ...], ...]:
    """Return the exchanges of a shape's parameters under which it stays the same clause.

    A shape has one parameter table, but `!Token(k0, v0) v !Token(k1, v0)` is one clause for (A, B) and for (B, A). The least
    of the rows that symmetries lead to stands for all of them.

    Parameters
    ----------
    shape : Shape
        Of plain literals alone.

    Returns
    -------
    tuple of tuple of int
        For each exchange the old parameter at each place, the identity first: `row[p[0]], row[p[1]], ...`. The identity alone
        for a shape with so many look-alike literals that `Shaper` does not try all of their orders either.

    Examples
    --------
    >>> token = [ShapeLiteral("Token", False, (Slot(True, k), Slot(False, 0))) for k in (0, 1)]
    >>> parameter_symmetries(Shape(("position",), ("word", "word"), tuple(token)))
    ((0, 1), (1, 0))
    """
    if shape.equalities or shape.exists:
        raise ValueError(f"symmetries are known for shapes of plain literals alone, not for {shape}")
    identity = tuple(range(len(shape.parameters)))
    sizes = Counter((x.predicate, x.positive) for x in shape.literals)
    if prod(map(factorial, sizes.values())) > ORDERINGS_TRIED:
        return (identity,)
    found = {_parameters(shape, order) for order in _orders(shape.literals)}
    return (identity, *sorted(x for x in found if x is not None and x != identity))


def _orders(literals: Sequence[ShapeLiteral]) -> Iterator[tuple[ShapeLiteral, ...]]:
    """Yield the orders of literals that put a literal of the same predicate and sign at each place."""
    places: dict[tuple[str, bool], list[int]] = {}
    for i, literal in enumerate(literals):
        places.setdefault((literal.predicate, literal.positive), []).append(i)
    for chosen in product(*(permutations(group) for group in places.values())):
        order = list(literals)
        for group, images in zip(places.values(), chosen, strict=True):
            for place, image in zip(group, images, strict=True):
                order[place] = literals[image]
        yield tuple(order)


def _parameters(shape: Shape, order: Sequence[ShapeLiteral]) -> tuple[int, ...] | None:
    """Return the parameters at each place if renaming slots one to one turns the shape's literals into these."""
    image: dict[Slot, Slot] = {}
    for old, new in zip(shape.literals, order, strict=True):
        for a, b in zip(old.terms, new.terms, strict=True):
            if image.setdefault(a, b) != b or a.parameter != b.parameter:
                return None
    # The literals are the same ones in another order, so that no two slots get one name.
    parameters = [image.get(Slot(True, k), Slot(True, k)).index for k in range(len(shape.parameters))]
    return tuple(parameters)
