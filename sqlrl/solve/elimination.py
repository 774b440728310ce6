"""Exact inference by elimination: best worlds, marginals, and best scores of each atom true and false.

All components at once, each of them within a bound on tables: a component of small treewidth over block variables.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.kernels import kernel
from sqlrl.progress import at_stage
from sqlrl.solve.restriction import UnsatisfiableError, component_labels, select
from sqlrl.solve.result import Solution
from sqlrl.solve.treewidth.buckets import Buckets, compile_buckets, component_sums, scratch_for
from sqlrl.solve.treewidth.messages import beliefs, best_worlds
from sqlrl.solve.treewidth.order import BUCKET_CELLS, COMPONENT_CELLS, Order, elimination_order, part_of_order
from sqlrl.solve.weighted import EPSILON, WeightedNetwork

SLICE = 50_000_000
"""Cells that one call of a kernel touches before Python looks for Ctrl-C: about a tenth of a second."""


@kernel
def _additions(parent: IntArray, own: IntArray, children: IntArray) -> IntArray:
    # How many additions any term of a score meets on its way to the root of its component, at most.
    depth = np.zeros(len(parent), dtype=np.int64)
    for i in range(len(parent)):
        depth[i] += own[i] + children[i]
        if parent[i] >= 0:
            depth[parent[i]] = max(depth[parent[i]], depth[i])
    return depth


def _rounding(weighted: WeightedNetwork, buckets: Buckets, order: Order) -> float:
    # A sum of terms that meet d additions each is off by d * epsilon / 2 * (sum of absolute terms), for two worlds.
    depth = _additions(buckets.parent, np.diff(buckets.row_start), buckets.children)
    roots = depth[buckets.component_start[1:] - 1]
    size = np.bincount(order.component[order.variables.of_atom], weights=np.abs(weighted.linear), minlength=len(roots))
    soft = np.flatnonzero(~weighted.hard & (np.diff(buckets.side_start) > 0))
    component = order.component[order.sides.variable[buckets.side_start[soft]]]
    size += np.bincount(component, weights=np.abs(weighted.cost[soft]), minlength=len(roots))
    return EPSILON * float((roots + 2) @ size)


class _Prepared:
    # A weighted network laid out for the kernels.

    def __init__(self, weighted: WeightedNetwork, order: Order | None) -> None:
        order = elimination_order(weighted) if order is None else order
        if not order.within.all():
            raise ValueError(
                f"{int((~order.within).sum())} of {len(order.within)} components need tables beyond the bound: take "
                "those that `bounded_part` finds"
            )
        self.weighted, self.order = weighted, order
        self.buckets = compile_buckets(order, weighted.linear, weighted.cost)
        self.scratch = scratch_for(self.buckets)
        per_bucket = 4 + 2 * self.buckets.children + np.diff(self.buckets.row_start)
        self.work = component_sums(self.buckets, self.buckets.cells * per_bucket)

    def refuse(self, component: int) -> UnsatisfiableError:
        """Return the error about a component that has no world."""
        variable = self.order.sequence[self.buckets.component_start[component + 1] - 1]
        return UnsatisfiableError(int(self.weighted.atoms[np.argmax(self.order.variables.of_atom == variable)]))

    def beliefs(self, total: bool) -> tuple[float, FloatArray, FloatArray]:
        """Return the best score or log partition function, and of each atom's state its share and the others'."""
        buckets = self.buckets
        value = np.empty(len(self.work))
        state, other = np.empty(len(buckets.state_atom)), np.empty(len(buckets.state_atom))
        at, work = 0, self.work if not total else 10 * self.work
        while at < len(work):
            at, possible = beliefs(buckets, self.scratch, work, at, total, value, state, other, SLICE)
            if not possible:
                raise self.refuse(at)
        real = np.flatnonzero(buckets.state_atom >= 0)
        mine, others = np.empty(len(self.weighted.atoms)), np.empty(len(self.weighted.atoms))
        mine[buckets.state_atom[real]], others[buckets.state_atom[real]] = state[real], other[real]
        return self.weighted.constant + float(value.sum()), mine, others


class Bounded(NamedTuple):
    """The components of a weighted network of n atoms that elimination solves with tables of bounded size."""

    atoms: BoolArray  # shape (n,): theirs
    part: WeightedNetwork  # the network over these atoms, as `select` returns it
    order: Order  # an elimination order of the part


def bounded_part(
    weighted: WeightedNetwork, *, bucket_cells: int = BUCKET_CELLS, component_cells: int = COMPONENT_CELLS
) -> Bounded:
    """Return the whole components that elimination solves with tables within the bounds of `elimination_order`, and in which order."""
    order = elimination_order(weighted, bucket_cells=bucket_cells, component_cells=component_cells)
    inside = order.within[order.component[order.variables.of_atom]]
    count, label = component_labels(weighted)
    # Rows that blocks satisfy join nothing in the order, but `select` keeps them whole.
    over = np.zeros(count, dtype=np.bool_)
    over[label[~inside]] = True
    atoms = np.asarray(~over[label], dtype=np.bool_)
    part = select(weighted, atoms)
    return Bounded(atoms, part, order if atoms.all() else part_of_order(order, part, atoms))


@at_stage("elimination")
def solve_elimination(weighted: WeightedNetwork, *, order: Order | None = None) -> Solution:
    """Return the most probable world, by max-sum elimination, optimal up to rounding; components beyond the bounds are a ValueError.

    Source: Dechter, "Bucket elimination: a unifying framework for reasoning" (1999), section 5. Of equally good worlds it finds the one
    whose variables have the lowest states (none or false first, then members by atom), the variable that is eliminated last first; in a
    tree that is its lowest.
    """
    prepared = _Prepared(weighted, order)
    buckets, world = prepared.buckets, np.zeros(len(weighted.atoms), dtype=np.bool_)
    chosen = np.zeros(len(buckets.parent), dtype=np.int64)
    at = 0
    while at < len(prepared.work):
        at, possible = best_worlds(buckets, prepared.scratch, prepared.work, at, chosen, world, SLICE)
        if not possible:
            raise prepared.refuse(at)
    rounding = _rounding(weighted, buckets, prepared.order)
    return Solution(world, rounding, rounding)


def sum_product(weighted: WeightedNetwork, *, order: Order | None = None) -> tuple[FloatArray, float]:
    """Return the exact probability of each atom, shape (n,), and the natural logarithm of Z, `weighted.constant` included.

    In logarithms throughout, with float64. Source: Shenoy and Shafer, "Axioms for probability and belief-function propagation" (1990);
    messages down divide out the message up, as in Lauritzen and Spiegelhalter (1988).
    """
    log_z, mine, _ = _Prepared(weighted, order).beliefs(total=True)
    return np.minimum(np.exp(mine), 1.0), log_z


def max_marginals(weighted: WeightedNetwork, *, order: Order | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the best scores, constant included, of worlds in which each atom is true, and is false; minus infinity if there are none."""
    best, mine, others = _Prepared(weighted, order).beliefs(total=False)
    return best + mine, best + others
