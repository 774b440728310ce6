"""What each labelled atom sees of the hinges of a network while the others have their labels: functions of its own truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from sqlrl.errors import InputError
from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, ragged_ranges
from sqlrl.kernels import inner, kernel
from sqlrl.solve.structure import pointers
from sqlrl.training.labels import Names
from sqlrl.wording import counted

Unlabelled = Literal["error", "zero"]

OUTSIDE = 1e-6
"""A label may be so far outside of the truths that hard rules leave its atom; it then counts as the nearest of them."""
NARROW = 1e-9
"""An atom to which hard rules leave less than this says nothing of weights."""


@dataclass(frozen=True, eq=False)
class AtomHinges:
    """Rows of hinges in one truth y from `lower` to `upper`: those of an atom, or of a rule and an atom; weights stay outside.

    Hinge j of a row is max(0, a y + b), to the power of 2 where its rule is squared, and counts `multiplicity` times;
    the two sides of an equality are two hinges. Hinges that are 0 for all truths of their row are left out, equal ones
    are summed, and equal rows are one.
    """

    pointer: IntArray  # shape (k + 1,): row i has the hinges `pointer[i]` to `pointer[i + 1] - 1`, in order of `point`
    a: FloatArray  # shape (z,), as all to `level`; none is 0
    b: FloatArray
    multiplicity: FloatArray
    rule: IntArray
    point: FloatArray  # the truth nearest to where the hinge begins, -b / a, that the row allows
    level: FloatArray  # a y + b there, at least 0
    lower: FloatArray  # shape (k,)
    upper: FloatArray  # shape (k,)
    count: IntArray  # shape (k,): how many rows are equal to this one
    squared: BoolArray  # shape (m,)
    observed: FloatArray  # shape (m,): the sum of the hinges of each rule at the labels
    support: IntArray  # shape (m,): the atoms that hinges of each rule are about
    ground: IntArray  # shape (m,): the ground rules of each rule, as often as they are about an atom here
    labelled: int  # atoms that have a label
    outside: int  # of these, left out since hard rules forbid the label
    narrow: int  # of these, left out since hard rules leave nearly no choice

    @property
    def atoms(self) -> int:
        """How many atoms there are to learn from."""
        return self.labelled - self.outside - self.narrow

    def rows(self, kept: IntArray) -> AtomHinges:
        """Return some rows, in the order given; what is counted of all of them stays as it is."""
        length = np.diff(self.pointer)[kept]
        place = ragged_ranges(self.pointer[kept], length)
        return replace(
            self,
            pointer=pointers(length),
            **{name: getattr(self, name)[place] for name in _OF_HINGES},
            **{name: getattr(self, name)[kept] for name in ("lower", "upper", "count")},
        )

    def of_rules(self, rules: IntArray) -> AtomHinges:
        """Return the rows of a model that has only some of the rules, numbered as they are given; rows that are then equal are one."""
        place = np.full(len(self.squared), -1, dtype=np.int64)
        place[rules] = np.arange(len(rules))
        moved = place[self.rule]
        kept = moved >= 0
        row = np.repeat(np.arange(len(self.count)), np.diff(self.pointer))
        length = np.bincount(row[kept], minlength=len(self.count)).astype(np.int64)
        small = replace(
            self,
            pointer=pointers(length),
            rule=moved[kept],
            **{name: getattr(self, name)[kept] for name in ("a", "b", "multiplicity", "point", "level")},
            **{name: getattr(self, name)[rules] for name in ("squared", "observed", "support", "ground")},
        )
        return _grouped(small)


def check_truth(network: HingeNetwork, truth: FloatArray, names: Names, unlabelled: Unlabelled) -> FloatArray:
    """Return the truths of all atoms, 0 where one has no label and that is allowed; refuse what cannot be learned from."""
    if truth.shape != network.atoms.shape:
        raise InputError(f"there are {truth.shape} truths for {counted(len(network.atoms), 'atom')}: give one for each")
    known = ~np.isnan(truth)
    if not known.any():
        raise InputError(
            f"none of {counted(len(truth), 'query atom')} has a label, so there is nothing to learn weights from: load the true "
            "values of some"
        )
    wrong = np.flatnonzero(known & ~((truth >= 0) & (truth <= 1)))
    if len(wrong):
        more = f" and {len(wrong) - 1:,} more are wrong" if len(wrong) > 1 else ""
        raise InputError(
            f"the label of {names.atom(int(network.atoms[wrong[0]]))} is {truth[wrong[0]]:g}{more}: a truth is a number from 0 to 1"
        )
    if unlabelled == "error":
        hinge = np.repeat(np.arange(len(network.constants)), np.diff(network.pointer))
        size = len(network.constants)
        some = np.bincount(hinge, known[network.columns], minlength=size)
        mixed = np.flatnonzero((some > 0) & (some < np.diff(network.pointer)))
        if len(mixed):
            inside = network.columns[network.pointer[mixed[0]] : network.pointer[mixed[0] + 1]]
            first = int(network.atoms[inside[~known[inside]][0]])
            raise InputError(
                f"{counted(len(mixed), 'hinge')} {'joins' if len(mixed) == 1 else 'join'} atoms with a label and atoms without one, the first "
                f"of rule {names.clause(int(network.rule[mixed[0]]))} with {names.atom(first)}: label them, or let them count as 0 "
                "(unlabelled='zero')"
            )
    return np.where(known, truth, 0.0)


def atom_hinges(
    network: HingeNetwork,
    truth: FloatArray,  # shape (n,): labels, NaN for none
    *,
    names: Names | None = None,
    # what an atom without a label is to those that it shares a hinge with: refused, or 0
    unlabelled: Unlabelled = "error",
    piecewise: bool = False,
) -> AtomHinges:
    """Return the hinges of each labelled atom (`piecewise`: of each rule and atom with some, by rule), given the labels of others."""
    names = names or Names()
    y = check_truth(network, truth, names, unlabelled)
    labelled = np.flatnonzero(~np.isnan(truth))
    slot = np.full(len(truth), -1, dtype=np.int64)
    slot[labelled] = np.arange(len(labelled))
    lower, upper = np.zeros(len(labelled)), np.ones(len(labelled))
    arrays = network.pointer, network.columns, network.coefficients, network.constants, network.multiplicity
    kinds = network.rule, network.hard, network.equal, slot
    length = np.zeros(len(labelled), dtype=np.int64)
    _bound(*arrays, *kinds, y, lower, upper, length)
    known = y[labelled]
    outside = (known < lower - OUTSIDE) | (known > upper + OUTSIDE)
    narrow = ~outside & (upper - lower < NARROW)
    kept = ~outside & ~narrow
    if not kept.any():
        raise InputError(
            f"no labelled atom is left to learn weights from: hard rules forbid the labels of {outside.sum():,} and leave "
            f"{narrow.sum():,} no choice; correct the labels, or take hard rules out of the model"
        )
    slot[labelled] = np.where(kept, np.cumsum(kept) - 1, -1)
    lower, upper, known = lower[kept], upper[kept], np.clip(known, lower, upper)[kept]
    pointer = pointers(length[kept])
    a, b, multiplicity = (np.zeros(pointer[-1]) for _ in range(3))
    rule = np.zeros(pointer[-1], dtype=np.int64)
    _fill(*arrays, *kinds, y, pointer[:-1].copy(), a, b, multiplicity, rule)
    row_of = np.repeat(np.arange(len(lower)), np.diff(pointer))
    m = len(network.squared)
    # Hinges of an atom come in order of their rules.
    first = np.flatnonzero(np.diff(row_of, prepend=-1) | np.diff(rule, prepend=-1))
    support = np.bincount(rule[first], minlength=m).astype(np.int64)
    ground = np.bincount(rule, multiplicity, minlength=m).astype(np.int64) // np.where(network.equal, 2, 1)
    atom = np.arange(len(lower))
    if piecewise:
        pointer, atom = np.append(first, len(a)).astype(np.int64), row_of[first]
    observed, point, level = np.zeros(m), np.zeros(len(a)), np.zeros(len(a))
    lower, upper, known = lower[atom], upper[atom], known[atom]
    length = np.zeros(len(atom), dtype=np.int64)
    _arrange(pointer, lower, upper, known, network.squared, a, b, multiplicity, rule, point, level, length, observed)
    found = AtomHinges(
        pointer, a, b, multiplicity, rule, point, level, lower, upper, np.ones(len(atom), np.int64), network.squared, observed, support, ground,
        len(labelled), int(outside.sum()), int(narrow.sum()),
    )  # fmt: skip
    place = ragged_ranges(pointer[:-1], length)
    found = replace(found, pointer=pointers(length), **{name: getattr(found, name)[place] for name in _OF_HINGES})
    found = _grouped(found)
    if not piecewise:
        return found
    some = np.flatnonzero(np.diff(found.pointer))
    return found.rows(some[np.argsort(found.rule[found.pointer[some]], kind="stable")])


_OF_HINGES = ("a", "b", "multiplicity", "rule", "point", "level")


@kernel
def _bound(
    pointer: IntArray,
    columns: IntArray,
    coefficients: FloatArray,
    constants: FloatArray,
    multiplicity: IntArray,  # noqa: ARG001 - the same arguments as `_fill`
    rule: IntArray,
    hard: BoolArray,
    equal: BoolArray,
    slot: IntArray,
    y: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    length: IntArray,
) -> None:
    # What hard rules leave each labelled atom, and how many hinges of others it has.
    for r in range(len(constants)):
        start, end = pointer[r], pointer[r + 1]
        if not hard[rule[r]]:
            for j in range(start, end):
                if slot[columns[j]] >= 0:
                    length[slot[columns[j]]] += 2 if equal[rule[r]] else 1
            continue
        after = 0.0
        for j in range(start, end):
            after += coefficients[j] * y[columns[j]]
        before = constants[r]
        for j in range(start, end):
            i, term = slot[columns[j]], coefficients[j] * y[columns[j]]
            after = _suffix(j + 1, end, columns, coefficients, y, after - term)
            if i >= 0:
                edge = -(before + after) / coefficients[j]
                if coefficients[j] > 0 or equal[rule[r]]:
                    upper[i] = min(upper[i], edge)
                if coefficients[j] < 0 or equal[rule[r]]:
                    lower[i] = max(lower[i], edge)
            before += term


@inner
def _suffix(
    start: int, end: int, columns: IntArray, coefficients: FloatArray, y: FloatArray, difference: float
) -> float:
    # The sum of the terms from `start` on: added up where they are few, so that the same neighbours give the same float whoever asks.
    if end - start > 16:
        return difference
    total = 0.0
    for j in range(start, end):
        total += coefficients[j] * y[columns[j]]
    return total


@kernel
def _fill(
    pointer: IntArray,
    columns: IntArray,
    coefficients: FloatArray,
    constants: FloatArray,
    multiplicity: IntArray,
    rule: IntArray,
    hard: BoolArray,
    equal: BoolArray,
    slot: IntArray,
    y: FloatArray,
    place: IntArray,
    a: FloatArray,
    b: FloatArray,
    size: FloatArray,
    owner: IntArray,
) -> None:
    # Hinges of rules that are not hard, for each labelled atom.
    for r in range(len(constants)):
        if hard[rule[r]]:
            continue
        start, end = pointer[r], pointer[r + 1]
        after = 0.0
        for j in range(start, end):
            after += coefficients[j] * y[columns[j]]
        before = constants[r]
        for j in range(start, end):
            i, term = slot[columns[j]], coefficients[j] * y[columns[j]]
            after = _suffix(j + 1, end, columns, coefficients, y, after - term)
            if i >= 0:
                for sign in range(2 if equal[rule[r]] else 1):
                    k = place[i]
                    place[i] += 1
                    # Adding 0 makes -0 the same float as 0.
                    a[k] = coefficients[j] * (1.0 - 2.0 * sign)
                    b[k] = (before + after) * (1.0 - 2.0 * sign) + 0.0
                    size[k], owner[k] = multiplicity[r], rule[r]
            before += term


@kernel
def _arrange(
    pointer: IntArray,
    lower: FloatArray,
    upper: FloatArray,
    known: FloatArray,
    squared: BoolArray,
    a: FloatArray,
    b: FloatArray,
    multiplicity: FloatArray,
    rule: IntArray,
    point: FloatArray,
    level: FloatArray,
    length: IntArray,
    observed: FloatArray,
) -> None:
    # In each row: sum the hinges at the label, leave out those that are always 0, sort them by where they begin, and sum equal ones.
    longest = 0
    for i in range(len(lower)):
        longest = max(longest, pointer[i + 1] - pointer[i])
    order, other = np.empty(longest, np.int64), np.empty(longest, np.int64)
    moved = np.empty((5, longest))
    owners = np.empty(longest, np.int64)
    for i in range(len(lower)):
        n = 0
        for k in range(pointer[i], pointer[i + 1]):
            now = max(0.0, a[k] * known[i] + b[k])
            observed[rule[k]] += multiplicity[k] * (now * now if squared[rule[k]] else now)
            far = upper[i] if a[k] > 0 else lower[i]
            if a[k] * far + b[k] <= 0:
                continue
            near = lower[i] if a[k] > 0 else upper[i]
            level[k] = max(0.0, a[k] * near + b[k])
            point[k] = near if level[k] > 0 else min(max(-b[k] / a[k], lower[i]), upper[i])
            order[n] = k
            n += 1
        _sort(order, other, n, point, rule, a, b)
        size = 0
        for j in range(n):
            k = order[j]
            if size > 0 and owners[size - 1] == rule[k] and moved[0, size - 1] == a[k] and moved[1, size - 1] == b[k]:
                moved[2, size - 1] += multiplicity[k]
                continue
            moved[0, size], moved[1, size], moved[2, size] = a[k], b[k], multiplicity[k]
            moved[3, size], moved[4, size], owners[size] = point[k], level[k], rule[k]
            size += 1
        for k in range(size):
            place = pointer[i] + k
            a[place], b[place], multiplicity[place] = moved[0, k], moved[1, k], moved[2, k]
            point[place], level[place], rule[place] = moved[3, k], moved[4, k], owners[k]
        length[i] = size


@inner
def _before(one: int, other: int, point: FloatArray, rule: IntArray, a: FloatArray, b: FloatArray) -> bool:
    if point[one] != point[other]:
        return bool(point[one] < point[other])
    if rule[one] != rule[other]:
        return bool(rule[one] < rule[other])
    if a[one] != a[other]:
        return bool(a[one] < a[other])
    return bool(b[one] < b[other])


@inner
def _sort(
    order: IntArray, other: IntArray, n: int, point: FloatArray, rule: IntArray, a: FloatArray, b: FloatArray
) -> None:
    # A merge sort: stretches of 8 by insertion, then doubled.
    for start in range(0, n, 8):
        for i in range(start + 1, min(start + 8, n)):
            k, j = order[i], i
            while j > start and _before(k, order[j - 1], point, rule, a, b):
                order[j] = order[j - 1]
                j -= 1
            order[j] = k
    width = 8
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            i, j = start, middle
            for k in range(start, end):
                if j >= end or (i < middle and not _before(order[j], order[i], point, rule, a, b)):
                    other[k] = order[i]
                    i += 1
                else:
                    other[k] = order[j]
                    j += 1
        for k in range(n):
            order[k] = other[k]
        width *= 2


# ---- rows that are equal -----------------------------------------------------------------------------


def _grouped(hinges: AtomHinges) -> AtomHinges:
    """Return the rows with equal ones as one, each where its first was."""
    a, b, multiplicity = (x.view(np.uint64) for x in (hinges.a, hinges.b, hinges.multiplicity))
    rule, lower, upper = (x.view(np.uint64) for x in (hinges.rule, hinges.lower, hinges.upper))
    first, count = _equal_rows(hinges.pointer, a, b, multiplicity, rule, lower, upper, hinges.count)
    return replace(hinges.rows(first), count=count)


Bits = npt.NDArray[np.uint64]

_MIX, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


@kernel
def _equal_rows(
    pointer: IntArray, a: Bits, b: Bits, multiplicity: Bits, rule: Bits, lower: Bits, upper: Bits, count: IntArray
) -> tuple[IntArray, IntArray]:
    # The first ones of equal rows and how many rows they stand for: a table of them, by a sum of their bits.
    k = len(lower)
    room = 4
    while room < 2 * k:
        room *= 2
    table, first, total = np.full(room, -1, np.int64), np.empty(k, np.int64), np.zeros(k, np.int64)
    found = 0
    for i in range(k):
        mixed = (lower[i] ^ (upper[i] * _MIX)) * _MIX
        for j in range(pointer[i], pointer[i + 1]):
            for word in (a[j], b[j], multiplicity[j], rule[j]):
                mixed = (mixed ^ (mixed >> _SHIFT) ^ word) * _MIX
        place = np.int64((mixed ^ (mixed >> _SHIFT)) & np.uint64(room - 1))
        while table[place] >= 0 and not _same(i, first[table[place]], pointer, a, b, multiplicity, rule, lower, upper):
            place = (place + 1) % room
        if table[place] < 0:
            table[place], first[found] = found, i
            found += 1
        total[table[place]] += count[i]
    return first[:found].copy(), total[:found].copy()


@inner
def _same(
    one: int, other: int, pointer: IntArray, a: Bits, b: Bits, multiplicity: Bits, rule: Bits, lower: Bits, upper: Bits
) -> bool:
    size = pointer[one + 1] - pointer[one]
    if size != pointer[other + 1] - pointer[other] or lower[one] != lower[other] or upper[one] != upper[other]:
        return False
    for k in range(size):
        i, j = pointer[one] + k, pointer[other] + k
        if a[i] != a[j] or b[i] != b[j] or multiplicity[i] != multiplicity[j] or rule[i] != rule[j]:
            return False
    return True
