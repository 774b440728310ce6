"""Atoms that no hinge connects with another one: a convex function of one truth value each, minimised in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlrl.ground.network import FloatArray
from sqlrl.kernels import inner, kernel
from sqlrl.solve.hinge.problem import Hinges, cost_of, violation_of
from sqlrl.solve.sorting import sort

ROUNDING = 8 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class SingleAtoms:
    """The best truth value of each atom, shape (p,), and what its hinges cost there."""

    y: FloatArray
    cost: FloatArray
    rounding: FloatArray  # how much of the cost may be rounding
    violation: FloatArray  # by how much a hard hinge is violated at most


def solve_single_atoms(hinges: Hinges) -> SingleAtoms:
    """Minimise the hinges of each atom over what its hard hinges leave of [0, 1]; if that is nothing, the middle of what they ask is taken."""
    count = len(hinges.atom_start) - 1
    found = SingleAtoms(*(np.zeros(count) for _ in range(4)))
    _minimise(hinges, found.y, found.cost, found.rounding, found.violation)
    return found


@inner
def _slope(hinges: Hinges, low: int, high: int, zero: FloatArray, y: float) -> tuple[float, float]:
    # The right derivative at y, and the second derivative there.
    slope, curve = 0.0, 0.0
    for r in range(low, high):
        kind, cost, a = hinges.kind[r], hinges.cost[r], hinges.coefficient[hinges.pointer[r]]
        if kind > 3:
            continue
        # Whether the expression is positive just above y, told by comparison with its zero so that rounding cannot tell otherwise.
        positive = (y >= zero[r - low]) if a > 0 else (y < zero[r - low])
        if kind == 0:
            slope += cost * a if positive else 0.0
        elif kind == 2:
            slope += cost * a if positive else -cost * a
        elif kind == 3 or positive:
            slope += 2.0 * cost * a * a * (y - zero[r - low])
            curve += 2.0 * cost * a * a
    return slope, curve


@kernel
def _minimise(hinges: Hinges, best: FloatArray, total: FloatArray, rounding: FloatArray, violation: FloatArray) -> None:
    for i in range(len(best)):
        first, last = hinges.hinge_start[i], hinges.hinge_start[i + 1]
        zero = np.empty(last - first)
        low, high = 0.0, 1.0
        for r in range(first, last):
            a, b = hinges.coefficient[hinges.pointer[r]], hinges.constant[r]
            at = -b / a
            zero[r - first] = at
            if hinges.kind[r] == 5 or (hinges.kind[r] == 4 and a < 0):
                low = max(low, at)
            if hinges.kind[r] == 5 or (hinges.kind[r] == 4 and a > 0):
                high = min(high, at)
        if low >= high:
            y = min(max((low + high) / 2.0, 0.0), 1.0)
        else:
            places, count = np.empty(last - first), 0
            for at in zero:
                if low < at < high:
                    places[count] = at
                    count += 1
            sort(places, count)
            # The first break point from which on the function does not fall; the minimum is between it and the one before.
            left, right = 0, count
            while left < right:
                middle = (left + right) // 2
                if _slope(hinges, first, last, zero, places[middle])[0] >= 0.0:
                    right = middle
                else:
                    left = middle + 1
            begin = low if left == 0 else places[left - 1]
            end = high if left == count else places[left]
            slope, curve = _slope(hinges, first, last, zero, begin)
            if slope >= 0.0:
                y = begin
            elif curve > 0.0:
                y = min(max(begin - slope / curve, begin), end)
            else:
                y = end
        steep = 0.0
        for r in range(first, last):
            kind, cost, a = hinges.kind[r], hinges.cost[r], hinges.coefficient[hinges.pointer[r]]
            e = a * y + hinges.constant[r]
            found = cost_of(kind, cost, e)
            total[i] += found
            violation[i] = max(violation[i], violation_of(kind, e))
            size = abs(a) + abs(hinges.constant[r])
            # Neither y nor e are exact: by so much the function may change between them and the exact ones.
            if kind < 4:
                steep += cost * size * (2.0 * abs(e) + size * ROUNDING if kind in (1, 3) else 1.0) + found
        best[i] = y
        rounding[i] = ROUNDING * (last - first + 1) * steep
