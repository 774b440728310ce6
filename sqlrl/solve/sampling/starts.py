"""Where chains start: so far apart that chains which are held fast tell of it by disagreeing.

Chains that all begin in random worlds may all fall to the same side of a network with two; each then agrees with the others, and
nothing shows that half of the probability was never met. So they come in pairs, of which the second one starts opposite to where the
first one has settled: at the other side, where atoms pull each other to one. A side that scores so much less that it has hardly any
probability is left out, as a chain may be held there, too: the second one starts in a random world then.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.solve.occurrences import Occurrences, true_members
from sqlrl.solve.weighted import WeightedNetwork

SETTLE = 20
"""Sweeps of both chains of a pair before their worlds are compared: enough to fall to one side."""

HARDLY = 10.0
"""Natural logarithms of odds by which a side must score less to be left out; and the square root of the number of atoms more, about as
much as the scores of settled worlds vary."""


def much_worse(weighted: WeightedNetwork, label: IntArray, world: BoolArray, than: BoolArray) -> BoolArray:
    """Return the atoms of components in which a world scores so much less than another that it has hardly any probability."""
    size = np.bincount(label)
    gap = np.bincount(label, weights=weighted.linear * (than.astype(np.float64) - world))
    # Hard rows hold in both worlds.
    rows = np.flatnonzero(~weighted.hard & (np.diff(weighted.indptr) > 0))
    broken = weighted.violated(world)[rows].astype(np.float64) - weighted.violated(than)[rows]
    first = np.abs(weighted.literals[weighted.indptr[rows]]) - 1
    gap += np.bincount(label[first], weights=weighted.cost[rows] * broken, minlength=len(size))
    found: BoolArray = (gap > HARDLY + np.sqrt(size))[label]
    return found


def unless_much_worse(
    weighted: WeightedNetwork, label: IntArray, world: BoolArray, than: BoolArray, other: Callable[[], BoolArray]
) -> BoolArray:
    """Return a world, in the components in which it is much worse than a second one with what `other` returns."""
    left_out = much_worse(weighted, label, world, than)
    return np.where(left_out, other(), world) if left_out.any() else world


def opposite(occurrences: Occurrences, world: BoolArray) -> BoolArray:
    """Return the world in which every variable has another state than in `world`, in which blocks hold.

    Source: Gelman & Rubin, "Inference from iterative simulation using multiple sequences" (1992), who ask for starting points that are more
    spread out than the distribution, without saying how to find them. Antithetic worlds are our own.
    """
    other: BoolArray = ~world & (occurrences.block < 0)
    start, size = occurrences.member_start[:-1], np.diff(occurrences.member_start)
    position = np.zeros(len(world), dtype=np.int64)
    position[occurrences.member] = np.arange(len(occurrences.member))
    holder = true_members(occurrences, world)
    place = np.where(holder < 0, size, position[holder] - start)
    # The next member of a block is true, after the last one none if that may be, else the first: blocks that agreed agree again.
    place = (place + 1) % np.maximum(size + ~occurrences.exact, 1)
    some = place < size
    other[occurrences.member[(start + place)[some]]] = True
    return other
