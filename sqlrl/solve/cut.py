"""Most probable worlds of rows of two literals as minimum cuts: exact for attractive pairs, and what is certain for all others (QPBO)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from ortools.graph.python import max_flow
from scipy import sparse
from scipy.sparse import csgraph

from sqlrl.distinct import distinct
from sqlrl.errors import NumericError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.progress import at_stage
from sqlrl.solve.restriction import UnsatisfiableError, Values, component_labels, select_each
from sqlrl.solve.result import Solution
from sqlrl.solve.solvers import Scaled, in_background, scale_to_integers
from sqlrl.solve.weighted import EPSILON, FREE, WeightedNetwork

# ---- the quadratic cost of pairs ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Quadratic:
    """A cost to be minimised: ``constant + linear @ y + sum of product[e] * y[a[e]] * y[b[e]]``, and hard rows."""

    linear: FloatArray  # shape (n,)
    a: IntArray  # shape (e,): the atoms of each product, a < b; every pair once
    b: IntArray
    product: FloatArray  # nonzero: negative where the two atoms attract each other, positive where they repel
    # Shape (h, 2): signed atoms +(k + 1) or -(k + 1), of which one must hold; both are the same for a row of one literal.
    hard: IntArray
    constant: float
    rounding: float  # the difference of two worlds is off by no more than this


def pairwise_atoms(weighted: WeightedNetwork, label: IntArray, count: int) -> BoolArray:
    """Return the atoms of components without blocks whose rows have at most two literals; labels are from `component_labels`."""
    fits = np.ones(count, dtype=np.bool_)
    long = np.flatnonzero(np.diff(weighted.indptr) > 2)
    fits[label[np.abs(weighted.literals[weighted.indptr[long]]) - 1]] = False
    fits[label[weighted.block >= 0]] = False
    return np.asarray(fits[label], dtype=np.bool_)


def quadratic(weighted: WeightedNetwork) -> Quadratic:
    """Return the quadratic cost of a pairwise network: minus the score of a world, without the constant of `weighted`."""
    n, length = len(weighted.atoms), np.diff(weighted.indptr)
    if np.any(length > 2) or len(weighted.block_exact):
        raise ValueError("a quadratic cost needs rows of up to two literals and no blocks")
    first = weighted.literals[weighted.indptr[:-1]]
    second = weighted.literals[weighted.indptr[1:] - 1]
    soft = ~weighted.hard
    left, right, cost = first[soft], second[soft], weighted.cost[soft]
    # A row costs cost * [left is false] * [right is false], where [literal is false] is y or 1 - y.
    literal = np.concatenate([left[right > 0], right[left > 0]])
    moved = np.concatenate([cost[right > 0], cost[left > 0]])
    atom = np.abs(literal) - 1
    linear = -weighted.linear + np.bincount(atom, weights=np.where(literal > 0, -moved, moved), minlength=n)
    size = np.abs(weighted.linear) + np.bincount(atom, weights=np.abs(moved), minlength=n)
    constant = float(cost[(left > 0) & (right > 0)].sum())
    pairs = distinct([np.abs(left) - 1, np.abs(right) - 1])
    index, first_of = pairs.inverse, pairs.first
    sign = np.where((left > 0) == (right > 0), 1, -1)
    product = np.bincount(index, weights=cost * sign, minlength=len(pairs)).astype(np.float64)
    weight = np.bincount(index, weights=np.abs(cost), minlength=len(pairs))
    # What cancels leaves a residue of rounding, which would be taken for a tiny weight.
    doubt = EPSILON * (pairs.counts - 1) * 2 * weight
    doubt_linear = EPSILON * np.bincount(atom, minlength=n) * 2 * size
    residue = np.abs(linear) <= doubt_linear
    kept = np.abs(product) > doubt
    return Quadratic(
        np.where(residue, 0.0, linear),
        np.abs(left)[first_of[kept]] - 1,
        np.abs(right)[first_of[kept]] - 1,
        product[kept],
        np.stack([first[~soft], second[~soft]], axis=1),
        constant,
        2 * float(doubt.sum() + doubt_linear.sum()),
    )


def switched(form: Quadratic) -> tuple[BoolArray, BoolArray]:
    """Return which atoms to negate so that all pairs attract each other, and the atoms of components where that is possible."""
    n = len(form.linear)
    if n == 0:
        return np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.bool_)
    pairs = form.hard[form.hard[:, 0] != form.hard[:, 1]]
    a = np.concatenate([form.a, np.abs(pairs[:, 0]) - 1])
    b = np.concatenate([form.b, np.abs(pairs[:, 1]) - 1])
    repels = np.concatenate([form.product > 0, (pairs[:, 0] > 0) == (pairs[:, 1] > 0)])
    # Two copies of each atom, as it is and negated; a pair joins the copies that must go together.
    tail = np.concatenate([a, a + n])
    head = np.concatenate([np.where(repels, b + n, b), np.where(repels, b, b + n)])
    graph = sparse.coo_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(2 * n, 2 * n))
    _, label = csgraph.connected_components(graph, directed=False)
    plain = sparse.coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(n, n))
    count, component = csgraph.connected_components(plain, directed=False)
    possible = np.ones(count, dtype=np.bool_)
    # A cycle with an odd number of repelling pairs joins both copies of its atoms.
    possible[component[label[:n] == label[n:]]] = False
    first = np.unique(component, return_index=True)[1]
    negated = label[:n] != label[first][component]
    return negated & possible[component], possible[component]


def negate(weighted: WeightedNetwork, atoms: BoolArray) -> WeightedNetwork:
    """Return the same pairwise network, written with some atoms negated."""
    return replace(
        weighted,
        literals=np.where(atoms[np.abs(weighted.literals) - 1], -weighted.literals, weighted.literals),
        linear=np.where(atoms, -weighted.linear, weighted.linear),
        constant=weighted.constant + float(weighted.linear[atoms].sum()),
    )


# ---- cuts --------------------------------------------------------------------------------------------


class _Arcs:
    # A flow network of n nodes, a source (node n) and a sink (n + 1), collected in whole arrays.

    def __init__(self, nodes: int) -> None:
        self.nodes, self.source, self.sink = nodes, nodes, nodes + 1
        self.tails: list[IntArray] = []
        self.heads: list[IntArray] = []
        self.capacity: list[IntArray] = []

    def add(self, tails: IntArray, heads: IntArray, capacity: IntArray) -> None:
        """Add arcs; those without capacity are left out."""
        used = np.flatnonzero(capacity)
        self.tails.append(tails[used])
        self.heads.append(heads[used])
        self.capacity.append(capacity[used])

    def add_terminals(self, nodes: IntArray, cost: IntArray) -> int:
        """Add linear costs of nodes on the source's side; a negative one is an arc from the source and a constant."""
        self.add(np.where(cost > 0, nodes, self.source), np.where(cost > 0, self.sink, nodes), np.abs(cost))
        return int(np.minimum(cost, 0).sum())

    @property
    def unlimited(self) -> int:
        """Return more than all arcs so far can carry."""
        return 1 + sum(int(c.sum()) for c in self.capacity)

    def source_side(self) -> tuple[BoolArray, int]:
        """Return the least set of nodes on the source's side of a minimum cut, and its capacity."""
        side = np.zeros(self.nodes + 2, dtype=np.bool_)
        tails = np.concatenate(self.tails)
        solver = max_flow.SimpleMaxFlow()
        solver.add_arc_with_capacity(self.source, self.sink, 0)  # both exist, whatever the costs are
        solver.add_arcs_with_capacity(
            tails.astype(np.int32), np.concatenate(self.heads).astype(np.int32), np.concatenate(self.capacity)
        )
        status = in_background(lambda: solver.solve(self.source, self.sink))
        if status != solver.OPTIMAL:
            raise NumericError(f"a maximum flow overflows 64 bits (status {status}): scale the weights down")
        side[solver.get_source_side_min_cut()] = True
        return side[: self.nodes], int(solver.optimal_flow())


def _scaled(form: Quadratic) -> tuple[Scaled, IntArray, IntArray]:
    scaled = scale_to_integers(np.concatenate([form.linear, form.product]))
    n = len(form.linear)
    return scaled, scaled.coefficients[:n], scaled.coefficients[n:]


def cut_attractive(form: Quadratic) -> tuple[BoolArray, Scaled]:
    """Return the least world of least cost of a form without pairs that repel."""
    scaled, linear, product = _scaled(form)
    n = len(linear)
    arcs = _Arcs(n)
    # -k * ya * yb = -k * ya + k * ya * (1 - yb): an arc from a to b, cut when a is true and b is not.
    reduced = linear.copy()
    np.add.at(reduced, form.a, product)
    arcs.add(form.a, form.b, -product)
    arcs.add_terminals(np.arange(n), reduced)
    # A hard row has one negative literal a and one positive b: an arc from a to b; or it has one literal only.
    low, high = form.hard.min(axis=1, initial=0), form.hard.max(axis=1, initial=0)
    unlimited = np.full(len(form.hard), arcs.unlimited)
    arcs.add(np.where(low < 0, -low - 1, arcs.source), np.where(high > 0, high - 1, arcs.sink), unlimited)
    return arcs.source_side()[0], scaled


def attractive(weighted: WeightedNetwork) -> BoolArray:
    """Return the atoms of components whose pairs all attract each other, once some atoms are negated, so that a minimum cut solves them."""
    return switched(quadratic(weighted))[1]


@at_stage("minimum cut")
def solve_cut(weighted: WeightedNetwork) -> Solution:
    """Return the most probable world of an attractive pairwise network, by one maximum flow (OR-Tools), optimal up to rounding.

    Source: Hammer, "Some network flow problems solved with pseudo-Boolean programming" (1965); Greig, Porteous and Seheult, "Exact maximum
    a posteriori estimation for binary images" (1989). Of equally good worlds it finds the one with the fewest true atoms (of negated
    atoms: with the fewest false ones).
    """
    form = quadratic(weighted)
    negated, possible = switched(form)
    if not possible.all():
        raise ValueError(f"the pairs of {int((~possible).sum())} atoms do not attract each other")
    try:
        # Written anew from the rows: other costs cancel once atoms are negated, and what is left of these must be known to be rounding.
        form = quadratic(negate(weighted, negated))
        side, scaled = cut_attractive(form)
    except NumericError:
        # Costs of different components may be too far apart for one scale, though each component has one.
        count, label = component_labels(weighted)
        if count == 1:
            raise
        return _apart(weighted, label, count)
    world = side != negated
    broken = np.flatnonzero(weighted.hard & weighted.violated(world))
    if len(broken):
        literal = int(weighted.literals[weighted.indptr[broken[0]]])
        raise UnsatisfiableError(int(weighted.atoms[abs(literal) - 1]))
    rounding = scaled.lost + form.rounding
    return Solution(world, rounding, rounding, scaled.scale)


def _apart(weighted: WeightedNetwork, label: IntArray, count: int) -> Solution:
    world, rounding, scale = np.zeros(len(weighted.atoms), dtype=np.bool_), 0.0, np.inf
    for atoms, part in select_each(weighted, label, count):
        solution = solve_cut(part)
        world[atoms] = solution.world
        rounding, scale = rounding + solution.rounding, min(scale, solution.scale)
    return Solution(world, rounding, rounding, scale)


@at_stage("persistency")
def persistent(weighted: WeightedNetwork) -> tuple[Values, float, float]:
    """Return the values that some best world has all at once (QPBO), -1 if free; a bound on every score, constant included; and the rounding in it.

    Source: Hammer, Hansen and Simeone (1984); Boros and Hammer, "Pseudo-Boolean optimization" (2002), section 5.1: a maximum flow over two
    nodes for each atom, itself and its negation, whose bound is that of the linear relaxation.
    """
    form = quadratic(weighted)
    scaled, linear, product = _scaled(form)
    n = len(linear)
    attracts, k = product < 0, np.abs(product)
    a, b = form.a, form.b
    # Every cost twice, once with the atoms and once with their negations (node k + n), so that halves are integers:
    # -2k ya yb = -k ya + k ya (1 - yb)  -  k + k na + k nb (1 - na);  2k ya yb = k ya (1 - nb) + k yb (1 - na).
    own, mirror = linear.copy(), -linear
    np.add.at(own, a[attracts], -k[attracts])
    np.add.at(mirror, a[attracts], k[attracts])
    arcs = _Arcs(2 * n)
    arcs.add(a, np.where(attracts, b, b + n), k)
    arcs.add(np.where(attracts, b + n, b), a + n, k)
    constant = int(linear.sum()) - int(k[attracts].sum())
    constant += arcs.add_terminals(np.arange(n), own) + arcs.add_terminals(np.arange(n, 2 * n), mirror)
    # If one literal of a hard row is false, the other is true.
    node = np.where(form.hard > 0, form.hard - 1, n - form.hard - 1)
    negation = np.where(form.hard > 0, node + n, node - n)
    unlimited = np.full(len(form.hard), arcs.unlimited)
    arcs.add(negation[:, 0], node[:, 1], unlimited)
    arcs.add(negation[:, 1], node[:, 0], unlimited)
    side, flow = arcs.source_side()
    # Hard rows that cannot all hold show only when these values are fixed.
    value = np.full(n, FREE, dtype=np.int8)
    value[side[:n] & ~side[n:]] = 1
    value[~side[:n] & side[n:]] = 0
    rounding = scaled.lost + form.rounding
    bound = weighted.constant - form.constant - (flow + constant) / 2 / scaled.scale
    return value, bound + rounding, rounding
