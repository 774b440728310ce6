"""Best worlds that differ from a given one: for the 0/1 loss, and for what it costs to flip an atom."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sqlrl.ground.network import BoolArray
from sqlrl.solve.choose import Chooser, Options
from sqlrl.solve.elimination import Narrow, max_marginals, narrow_part
from sqlrl.solve.restrict import UnsatisfiableError, component_labels, restrict, select
from sqlrl.solve.weighed import FREE, Weighed


@dataclass(frozen=True, eq=False)
class Other:
    """The best world of those that differ from a given one.

    Parameters
    ----------
    world : bool array, shape (n,)
    behind : float
        How much less it scores than the given world (log-odds); negative if it scores more, infinite if there is none.
    gap : float
        No world that differs is behind by less than `behind - gap`.
    """

    world: BoolArray
    behind: float
    gap: float


def _solved(part: Weighed, options: Options) -> tuple[BoolArray, float] | None:
    chooser = Chooser(part, options)
    try:
        chooser.run()
    except UnsatisfiableError:
        return None
    return chooser.world, chooser.gap


def flipped(weighed: Weighed, world: BoolArray, atom: int, options: Options) -> Other:
    """The best world in which one atom has the other truth value than in a given world.

    Parameters
    ----------
    weighed : Weighed
        n atoms.
    world : bool array, shape (n,)
        A world in which hard rows and blocks hold.
    atom : int
        The atom to flip. Only its component is solved; the others stay as they are.
    options : Options

    Returns
    -------
    Other
        Of a most probable world, `behind` is the margin of the atom: how much the best score falls when it is flipped.

    Examples
    --------
    >>> from sqlrl.solve.sample import network
    >>> from sqlrl.solve.weighed import weigh
    >>> friends = weigh(network(2, [(0, [-1, 2]), (0, [1, -2]), (1, [1])]), [2.0, 1.5])
    >>> other = flipped(friends, np.array([True, True]), 1, Options())
    >>> other.world.tolist(), other.behind
    ([False, False], 1.5)
    """
    _, label = component_labels(weighed)
    inside = label == label[atom]
    part = select(weighed, inside)
    value = np.full(len(part.atoms), FREE, dtype=np.int8)
    place = int(np.flatnonzero(inside).searchsorted(atom))
    value[place] = not world[atom]
    if value[place] == 1 and part.block[place] >= 0:
        value[part.block == part.block[place]] = 0
        value[place] = 1
    try:
        left = restrict(part, value)
    except UnsatisfiableError:
        return Other(world, np.inf, 0.0)
    solved = _solved(left, options)
    if solved is None:
        return Other(world, np.inf, 0.0)
    chosen = value == 1
    chosen[np.flatnonzero(value == FREE)] = solved[0]
    other = world.copy()
    other[inside] = chosen
    return Other(other, part.score(world[inside]) - part.score(chosen), solved[1] + left.rounding)


def differing(weighed: Weighed, world: BoolArray, options: Options) -> Other:
    """The best of all worlds that differ from a given one in at least one atom.

    Parameters
    ----------
    weighed : Weighed
        n atoms.
    world : bool array, shape (n,)
        A most probable world: in each component, only one of its best worlds can be the answer.
    options : Options

    Returns
    -------
    Other

    Notes
    -----
    The answer differs in one component only, the one where that costs least. Narrow components are done at once, by the
    max-marginals of all their atoms; each other one is solved once more with a hard row: some atom of it differs.

    Examples
    --------
    >>> from sqlrl.solve.sample import network
    >>> from sqlrl.solve.weighed import weigh
    >>> other = differing(weigh(network(2, [(0, [1]), (1, [-2])]), [2.0, 1.5]), np.array([True, False]), Options())
    >>> other.world.tolist(), other.behind
    ([True, True], 1.5)
    """
    narrow = narrow_part(weighed)
    found = [_narrow_other(weighed, world, narrow, options)] if narrow.atoms.any() else []
    count, label = component_labels(select(weighed, ~narrow.atoms))
    rest = np.flatnonzero(~narrow.atoms)
    for c in range(count):
        inside = np.zeros(len(world), dtype=np.bool_)
        inside[rest[label == c]] = True
        part = select(weighed, inside)
        solved = _solved(_but_not(part, world[inside]), options)
        if solved is not None:
            other = world.copy()
            other[inside] = solved[0]
            found.append(Other(other, part.score(world[inside]) - part.score(solved[0]), solved[1]))
    best = min(found, key=lambda other: other.behind, default=Other(world, np.inf, 0.0))
    lowest = min((other.behind - other.gap for other in found), default=np.inf)
    return replace(best, gap=best.behind - lowest) if np.isfinite(best.behind) else best


def _narrow_other(weighed: Weighed, world: BoolArray, narrow: Narrow, options: Options) -> Other:
    # Of all narrow components: flip the atom whose other truth value costs least.
    true, false = max_marginals(narrow.part, order=narrow.order)
    inside = world[narrow.atoms]
    margin = np.where(inside, true - false, false - true)
    return flipped(weighed, world, int(np.flatnonzero(narrow.atoms)[np.argmin(margin)]), options)


def _but_not(part: Weighed, world: BoolArray) -> Weighed:
    # One hard row more: some atom has the other truth value.
    n = len(part.atoms)
    literals = np.where(world, -1, 1) * np.arange(1, n + 1)
    return replace(
        part,
        indptr=np.append(part.indptr, part.indptr[-1] + n),
        literals=np.concatenate([part.literals, literals]),
        cost=np.append(part.cost, np.inf),
        clause=np.append(part.clause, -1),
    )
