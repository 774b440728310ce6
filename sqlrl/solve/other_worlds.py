"""Best worlds that differ from a given one: for the 0/1 loss, and for what it costs to flip an atom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray
from sqlrl.solve.cutting_plane_worlds import solve_network
from sqlrl.solve.elimination import Bounded, bounded_part, max_marginals
from sqlrl.solve.methods import Options
from sqlrl.solve.restriction import UnsatisfiableError, component_labels, restrict, select, select_each
from sqlrl.solve.weighted import FREE, WeightedNetwork


@dataclass(frozen=True, eq=False)
class Other:
    """The best of all worlds that differ from a given one, none of which is behind by less than `behind - gap`."""

    world: BoolArray
    # How much less (log-odds) it scores than the given world: negative if it scores more, infinite if there is none.
    behind: float
    gap: float  # infinite if nothing is known but that the given world is a most probable one
    # If False, the world may violate ground clauses that nobody looked at, and be behind by more.
    complete: bool = True

    @property
    def least(self) -> float:
        """No world that differs is behind by less than this."""
        return self.behind - self.gap if np.isfinite(self.gap) else 0.0


def _solved(part: WeightedNetwork, options: Options) -> tuple[BoolArray, float] | None:
    try:
        found = solve_network(part, options)
    except UnsatisfiableError:
        return None
    return found.world, found.gap


def flipped(weighted: WeightedNetwork, world: BoolArray, atom: int, options: Options) -> Other:
    """Return the best world in which one atom is flipped and other components keep their values."""
    _, label = component_labels(weighted)
    inside = label == label[atom]
    part = select(weighted, inside)
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
    # Hard rows and blocks hold in `world`. If it is a most probable one, this is the margin of the atom: how far the best score falls.
    return Other(other, part.score(world[inside]) - part.score(chosen), solved[1] + left.rounding)


def margins(weighted: WeightedNetwork, world: BoolArray) -> FloatArray:
    """Return how far the best score falls if each atom of a best world is flipped: infinite if impossible, NaN beyond small treewidth."""
    found = np.full(len(world), np.nan)
    bounded = bounded_part(weighted)
    if bounded.atoms.any():
        true, false = max_marginals(bounded.part, order=bounded.order)
        chosen = world[bounded.atoms]
        found[bounded.atoms] = np.where(chosen, true - false, false - true)
    return found


def differing(weighted: WeightedNetwork, world: BoolArray, options: Options) -> Other:
    """Return the best of all worlds that differ in at least one atom from `world`, which is a most probable one."""
    bounded = bounded_part(weighted)
    best, lowest = Other(world, np.inf, 0.0), np.inf
    # The answer differs in one component only, the one where that costs least.
    for other in _others(weighted, world, bounded, options):
        lowest = min(lowest, other.least)
        if other.behind < best.behind:
            best = other
    return best if lowest == np.inf else replace(best, gap=best.behind - lowest)


def _others(weighted: WeightedNetwork, world: BoolArray, bounded: Bounded, options: Options) -> Iterator[Other]:
    # The best other worlds that differ in some components, one after the other.
    if bounded.atoms.any():
        yield _bounded_other(weighted, world, bounded, options)
    if not bounded.atoms.all():
        yield from _wide_others(weighted, world, ~bounded.atoms, options)


def _wide_others(weighted: WeightedNetwork, world: BoolArray, inside: BoolArray, options: Options) -> Iterator[Other]:
    # The best other worlds that differ in one of the components of some atoms; without a proof the best flip of one atom.
    if not options.prove:
        yield _flipped_once(weighted, world, inside)
        return
    wide, rest = select(weighted, inside), np.flatnonzero(inside)
    count, label = component_labels(wide)
    for atoms, part in select_each(wide, label, count):
        own = world[rest[atoms]]
        solved = _solved(_but_not(part, own), options)
        if solved is not None:
            other = world.copy()
            other[rest[atoms]] = solved[0]
            yield Other(other, part.score(own) - part.score(solved[0]), solved[1])


def flip_losses(weighted: WeightedNetwork, world: BoolArray) -> FloatArray:
    """Return how far the score of a world falls if each atom alone is flipped: infinite if that breaks a hard row or a block, which hold before."""
    loss = np.where(world, weighted.linear, -weighted.linear)
    if len(weighted.cost):
        atom, row = np.abs(weighted.literals) - 1, weighted.row
        true = world[atom] == (weighted.literals > 0)
        holding = np.add.reduceat(true.astype(np.int64), weighted.indptr[:-1])
        # The only true literal of a row violates it when flipped; each literal of a violated row satisfies it.
        only, none = true & (holding[row] == 1), holding[row] == 0
        loss += np.bincount(atom[only], weights=weighted.cost[row[only]], minlength=len(world))
        loss -= np.bincount(atom[none], weights=weighted.cost[row[none]], minlength=len(world))
    inside = np.flatnonzero(weighted.block >= 0)
    block = weighted.block[inside]
    taken = np.bincount(block[world[inside]], minlength=len(weighted.block_exact)) > 0
    loss[inside[np.where(world[inside], weighted.block_exact[block], taken[block])]] = np.inf
    return loss


def _flipped_once(weighted: WeightedNetwork, world: BoolArray, among: BoolArray) -> Other:
    # Of a most probable world nothing is behind by less than 0.
    loss = np.where(among, flip_losses(weighted, world), np.inf)
    atom = int(np.argmin(loss))
    if not np.isfinite(loss[atom]):
        return Other(world, np.inf, np.inf)
    other = world.copy()
    other[atom] = not other[atom]
    return Other(other, float(loss[atom]), max(float(loss[atom]), 0.0))


def _bounded_other(weighted: WeightedNetwork, world: BoolArray, bounded: Bounded, options: Options) -> Other:
    # Of all components of small treewidth: flip the atom whose other truth value costs least.
    true, false = max_marginals(bounded.part, order=bounded.order)
    inside = world[bounded.atoms]
    margin = np.where(inside, true - false, false - true)
    return flipped(weighted, world, int(np.flatnonzero(bounded.atoms)[np.argmin(margin)]), options)


def _but_not(part: WeightedNetwork, world: BoolArray) -> WeightedNetwork:
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
