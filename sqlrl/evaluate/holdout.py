"""A part that is held out for testing, as plain arrays: single items, or entities that are on one side only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sqlrl.errors import InputError, Parameter, Written
from sqlrl.wording import shortened

IntArray = npt.NDArray[np.int64]
SideArray = npt.NDArray[np.int8]

TRAIN, TEST, NEITHER = 0, 1, 2
"""The sides: what is learned from, what is held out, and what joins both."""

_FEW = 0.5
"""Less than this share of what was asked for, held out by whole components, is too few: one component is cut then."""


def check_fraction(fraction: object) -> None:
    """Refuse what is no share between 0 and 1."""
    number = isinstance(fraction, int | float | np.integer | np.floating) and not isinstance(fraction, bool)
    if not number or not 0 < float(fraction) < 1:  # type: ignore[arg-type]
        hint = ""
        if number and float(fraction) >= 1:  # type: ignore[arg-type]
            hint = " (not 20 for percent)"
        elif isinstance(fraction, str):
            hint = f"; a type whose constants are not to be shared is {Parameter('by', fraction)}"
        raise InputError(
            f"{Parameter('fraction', Written(shortened(repr(fraction), 60)))} must be a share between 0 and 1 that is held out, such as 0.2{hint}."
        )


def hold_out(size: int, fraction: float, *, seed: int = 0) -> SideArray:
    """Hold out a random share of two or more single items, at least one and not all; return the side of each, shape (size,)."""
    side = np.full(size, TRAIN, np.int8)
    side[np.random.default_rng(seed).permutation(size)[: _held(size, fraction)]] = TEST
    return side


def hold_out_entities(item: IntArray, entity: IntArray, items: int, fraction: float, *, seed: int = 0) -> SideArray:
    """Hold out a share of entities and the items that have no others; `item[r]` has `entity[r]`; return each item's side, shape (items,)."""
    # An item without an entity counts as an entity of its own.
    known = int(entity.max(initial=-1)) + 1
    lonely = np.setdiff1d(np.arange(items), item)
    item, entity = np.concatenate([item, lonely]), np.concatenate([entity, known + np.arange(len(lonely))])
    count = known + len(lonely)
    ones = np.ones(len(item), np.int8)
    graph = coo_array((ones, (entity, count + item)), shape=(count + items, count + items))
    _, component = connected_components(graph, directed=False)
    # Numbered by their first entity, so that what scipy calls the first does not matter.
    _, first, component = np.unique(component[:count], return_index=True, return_inverse=True)
    component = np.argsort(np.argsort(first))[component.reshape(-1)]
    size = np.bincount(component)
    random, wanted = np.random.default_rng(seed), _held(count, fraction)
    held, out = np.zeros(len(size), bool), 0
    # Entities that items connect stay together: components are held out whole until no more of them fit.
    for each in random.permutation(len(size)).tolist():
        if out + size[each] <= wanted:
            held[each] = True
            out += int(size[each])
    tested = held[component]
    # If that is too few, the largest other component is cut at random; items that join its parts are on neither side.
    if out < _FEW * wanted:
        largest = int(np.argmax(np.where(held, 0, size)))
        members = np.flatnonzero(component == largest)
        tested[random.permutation(members)[: wanted - out]] = True
    some = np.bincount(item[tested[entity]], minlength=items) > 0
    every = np.bincount(item[~tested[entity]], minlength=items) == 0
    return np.where(some & every, TEST, np.where(some, NEITHER, TRAIN)).astype(np.int8)


def _held(size: int, fraction: float) -> int:
    """Return how many of some are held out, at least one and not all."""
    return min(max(round(fraction * size), 1), size - 1)
