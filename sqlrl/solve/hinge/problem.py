"""A network of hinges under weights, as compiled loops read it: the hinges that count, one connected component after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from sqlrl.errors import InputError, NumericError
from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, ragged_ranges
from sqlrl.kernels import inlined
from sqlrl.solve.structure import pointers

KindArray = npt.NDArray[np.int8]

LINEAR, SQUARED, ABSOLUTE, QUADRATIC, AT_MOST, EQUAL = range(6)
"""Kinds of hinges, of the expression e: c max(0, e), c max(0, e)^2, c |e|, c e^2, and the hard e <= 0 and e = 0."""


class Hinges(NamedTuple):
    """Hinges over atoms that are numbered from 0; those of a group, and its atoms, stand together."""

    pointer: IntArray  # shape (h + 1,); it, `column` and `coefficient` are as in `HingeNetwork`
    column: npt.NDArray[np.uint32]
    coefficient: FloatArray
    constant: FloatArray
    kind: KindArray
    cost: FloatArray  # shape (h,): weight times multiplicity, up to a scale; 1 for hard hinges
    atom_start: IntArray  # group c has the atoms `atom_start[c]:atom_start[c + 1]`
    hinge_start: IntArray  # group c has the hinges `hinge_start[c]:hinge_start[c + 1]`


def matrix_of(hinges: Hinges) -> sparse.csr_array:
    """The coefficients, shape (h, n): expressions are this times truth values, and constants."""
    shape = len(hinges.constant), int(hinges.atom_start[-1])
    return sparse.csr_array((hinges.coefficient, hinges.column.astype(np.int64), hinges.pointer), shape=shape)


@dataclass(frozen=True, eq=False)
class HingePart:
    """Some of the connected components of a network, each a group of `hinges`."""

    hinges: Hinges
    atoms: IntArray  # which atoms of the network they have
    rows: IntArray  # which hinges of the network they have

    @property
    def components(self) -> int:
        """How many."""
        return len(self.hinges.atom_start) - 1

    @property
    def entries(self) -> IntArray:
        """The number of coefficients of each component."""
        return np.diff(self.hinges.pointer[self.hinges.hinge_start])

    def any_of(self, *kinds: int) -> BoolArray:
        """Whether each component has a hinge of one of these kinds."""
        found = np.isin(self.hinges.kind, kinds)
        return np.add.reduceat(found, self.hinges.hinge_start[:-1], dtype=np.int64) > 0 if self.components else found

    def chosen(self, components: IntArray) -> HingePart:
        """Return some of the components, by their numbers, in the given order; `atoms` and `rows` are those of this part."""
        start, stop = self.hinges.atom_start[components], self.hinges.atom_start[components + 1]
        first, last = self.hinges.hinge_start[components], self.hinges.hinge_start[components + 1]
        atoms, rows = ragged_ranges(start, stop - start), ragged_ranges(first, last - first)
        return _part(self.hinges, atoms, rows, stop - start, last - first)


@dataclass(frozen=True, eq=False)
class HingeProblem:
    """A network under weights, as what there is to minimise."""

    network: HingeNetwork
    weights: FloatArray
    scale: float  # the largest cost, by which all are divided
    single: HingePart  # atoms in hinges of one atom only
    joint: HingePart  # atoms in components of several
    untouched: int  # how many atoms are in no hinge that is hard or costs anything

    def named(self, rows: IntArray) -> IntArray:
        """The rules of some hinges of the network, each once."""
        return np.unique(self.network.rule[rows])


def check_weights(network: HingeNetwork, weights: npt.ArrayLike) -> FloatArray:
    """Return the weights as an array of shape (m,), with 0 for hard rules, or say what is wrong with them."""
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != network.hard.shape:
        raise InputError(
            f"the weights have the shape {given.shape}: give one for each of the {len(network.hard)} rules"
        )
    checked = np.where(network.hard, 0.0, given)
    wrong = np.flatnonzero(~np.isfinite(checked) | (checked < 0))
    if len(wrong):
        raise NumericError(
            f"the weight of rule {wrong[0]} is {checked[wrong[0]]:g}: weights of soft rules are finite and at least 0; "
            "a rule that must hold is hard, and one to avoid is written as its negation"
        )
    return checked


def _part(source: Hinges, atoms: IntArray, rows: IntArray, sizes: IntArray, counts: IntArray) -> HingePart:
    # Atoms and rows stand group by group; `sizes` and `counts` are how many each group has.
    place = np.zeros(int(source.atom_start[-1]), dtype=np.uint32)
    place[atoms] = np.arange(len(atoms), dtype=np.uint32)
    length = source.pointer[rows + 1] - source.pointer[rows]
    entry = ragged_ranges(source.pointer[rows], length)
    return HingePart(
        Hinges(
            pointers(length),
            place[source.column[entry]],
            source.coefficient[entry],
            source.constant[rows],
            source.kind[rows],
            source.cost[rows],
            pointers(sizes),
            pointers(counts),
        ),
        atoms,
        rows,
    )


def _components(network: HingeNetwork, used: BoolArray) -> IntArray:
    # The component of each atom, -1 of those in no hinge that is used.
    length = np.diff(network.pointer)
    entry = np.repeat(used, length)
    first = np.repeat(network.columns[network.pointer[:-1]], length)[entry]
    column = network.columns[entry]
    touched = np.zeros(len(network.atoms), dtype=np.bool_)
    touched[column] = True
    between = first != column
    pairs = sparse.coo_array(
        (np.ones(int(between.sum()), dtype=np.int8), (first[between], column[between])),
        shape=(len(touched), len(touched)),
    )
    label = csgraph.connected_components(pairs.tocsr(), directed=False)[1].astype(np.int64)
    return np.where(touched, label, -1)


def problem_of(network: HingeNetwork, weights: npt.ArrayLike) -> HingeProblem:
    """Weigh a network and take it apart into connected components."""
    checked = check_weights(network, weights)
    hard = network.hard[network.rule]
    with np.errstate(over="ignore"):
        cost = checked[network.rule] * network.multiplicity
    if not np.isfinite(cost).all():
        rule = int(network.rule[np.flatnonzero(~np.isfinite(cost))[0]])
        raise NumericError(
            f"the weight of rule {rule} times a number of equal ground rules is infinite: divide all weights"
        )
    used = hard | (cost > 0)
    scale = float(cost.max(initial=0.0)) or 1.0
    soft = network.squared[network.rule] + 2 * network.equal[network.rule].astype(np.int8)
    kind = np.where(hard, AT_MOST + network.equal[network.rule], soft).astype(np.int8)
    label = _components(network, used)
    sizes = np.bincount(label[label >= 0], minlength=int(label.max(initial=-1)) + 1)
    source = Hinges(
        network.pointer,
        network.columns.astype(np.uint32),
        network.coefficients,
        network.constants,
        kind,
        np.where(hard, 1.0, cost / scale),
        np.array([0, len(network.atoms)]),
        np.array([0, len(cost)]),
    )
    rows = np.flatnonzero(used)
    of_row = label[network.columns[network.pointer[rows]]] if len(rows) else np.zeros(0, dtype=np.int64)
    parts = []
    for wanted in (sizes == 1, sizes > 1):
        number = np.where(wanted, np.cumsum(wanted) - 1, -1)
        groups = int(wanted.sum())
        of_atom = np.where(label >= 0, number[label], -1) if groups else np.full(len(label), -1)
        atoms = np.argsort(of_atom, kind="stable")[int((of_atom < 0).sum()) :]
        of_hinge = number[of_row] if groups else np.full(len(of_row), -1)
        kept = rows[np.argsort(of_hinge, kind="stable")[int((of_hinge < 0).sum()) :]]
        counts = np.bincount(of_hinge[of_hinge >= 0], minlength=groups)
        parts.append(_part(source, atoms, kept, sizes[wanted], counts))
    return HingeProblem(network, checked, scale, parts[0], parts[1], int((label < 0).sum()))


# ---- what loops ask of a hinge -----------------------------------------------------------------------


@inlined
def dual_of(kind: int, cost: float, value: float, step: float) -> float:
    """Return the dual of a hinge that is nearest to `value`: the proximal map of `step` times the conjugate of its cost.

    It is the slope of the cost where the expression is `value / step - dual / step`. Source: Boyd et al. (2011), section 6.1, and Bach et
    al. (2017), section 5.2, whose closed forms in the truth values these are, seen from the duals by Moreau's identity.
    """
    if kind == 0:
        return min(max(value, 0.0), cost)
    if kind == 1:
        return max(value, 0.0) / (1.0 + step / (2.0 * cost))
    if kind == 2:
        return min(max(value, -cost), cost)
    if kind == 3:
        return value / (1.0 + step / (2.0 * cost))
    if kind == 4:
        return max(value, 0.0)
    return value


@inlined
def cost_of(kind: int, cost: float, expression: float) -> float:
    """What a hinge costs; nothing where it is hard."""
    if kind == 0:
        return cost * max(expression, 0.0)
    if kind == 1:
        return cost * max(expression, 0.0) ** 2
    if kind == 2:
        return cost * abs(expression)
    if kind == 3:
        return cost * expression * expression
    return 0.0


@inlined
def conjugate_of(kind: int, cost: float, dual: float) -> float:
    """The convex conjugate of the cost at a dual that is possible."""
    if kind in (1, 3):
        return dual * dual / (4.0 * cost)
    return 0.0


@inlined
def violation_of(kind: int, expression: float) -> float:
    """By how much a hard hinge is violated; 0 of others."""
    if kind == 4:
        return max(expression, 0.0)
    if kind == 5:
        return abs(expression)
    return 0.0
