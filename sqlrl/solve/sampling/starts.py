"""Where chains start: so far apart that chains which are held fast tell of it by disagreeing.

Chains that all begin in random worlds may all fall to the same side of a network with two; each then agrees with the others, and
nothing shows that half of the probability was never met. So they come in pairs, of which the second one starts opposite to where the
first one has settled: at the other side, where atoms pull each other to one.
"""

from __future__ import annotations

import numpy as np

from sqlrl.ground.network import BoolArray
from sqlrl.solve.occurrences import Occurrences

SETTLE = 20
"""Sweeps of a first chain before the second one of its pair starts opposite to it: enough to fall to one side."""


def opposite(found: Occurrences, world: BoolArray) -> BoolArray:
    """Return the world in which every variable has another state.

    Parameters
    ----------
    found : Occurrences
        Of the network of n atoms.
    world : bool array, shape (n,)
        Blocks hold.

    Returns
    -------
    bool array, shape (n,)
        Atoms outside of blocks are flipped. The next member of a block is true, after the last one none if that may be, else the
        first: blocks that agreed agree again.

    Notes
    -----
    Source: Gelman & Rubin, "Inference from iterative simulation using multiple sequences" (1992), who ask for starting points that
    are more spread out than the distribution, without saying how to find them. Antithetic worlds are ours.

    Examples
    --------
    >>> from sqlrl.solve.occurrences import occurrences
    >>> from sqlrl.solve.sample import network
    >>> from sqlrl.solve.weighed import weigh
    >>> found = occurrences(weigh(network(6, [], blocks=[([1, 2, 3], True), ([4, 5], False)]), []))
    >>> world = np.array([True, False, False, True, False, True])
    >>> first = opposite(found, world)
    >>> first.astype(int).tolist(), opposite(found, first).astype(int).tolist()
    ([0, 1, 0, 0, 0, 0], [1, 0, 1, 0, 1, 0])
    """
    other: BoolArray = ~world & (found.block < 0)
    start = found.member_start[:-1]
    size = np.diff(found.member_start)
    states = size + ~found.exact
    holder = np.flatnonzero(world[found.member])
    place = size.copy()
    place[found.block[found.member[holder]]] = holder - start[found.block[found.member[holder]]]
    place = (place + 1) % np.maximum(states, 1)
    some = place < size
    other[found.member[(start + place)[some]]] = True
    return other
