"""The density of a truth under its hinges: log Z, and expectations and covariances of what each rule adds, for all rows at once.

The exponent of a row is convex, and a polynomial of degree 1 or 2 between the points where hinges begin. It is split at its least
value too, so that it rises away from there in each piece, and `integrals` gives the piece's moments about both of its ends. The moments of all that
lies on one side of a point are then sums of what is not negative, and so is the expectation of each hinge: no digits are lost, however
large weights are. Nothing is divided by a weight or a curvature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.learn.soft.atom_hinges import AtomHinges
from sqlrl.learn.soft.integrals import mirrored, rising_moments, shortfall

EXPECTATIONS, VARIANCES, COVARIANCES = 0, 1, 2
"""What is asked for beside log Z and expectations: nothing; variances of rows of one rule; covariances of rules."""

NEARLY = 0.1
"""Where the exponent varies by less than this, log Z is taken from what Z is below the length, so that it has its digits near 0, too."""


@dataclass(frozen=True, eq=False)
class Densities:
    """Integrals of rows over their truths, for given weights."""

    log_z: FloatArray  # by row, equal ones as one: log of the integral of exp(-sum of weights times hinges)
    least: FloatArray  # the least exponent of these rows
    expected: FloatArray  # shape (m,): sum of the expected hinges of each rule over rows, each as often as it counts
    # sums of covariances, shape (m, m), or of variances where each row has one rule, (m, 1); else (m, 0)
    covariance: FloatArray


def densities(
    hinges: AtomHinges,
    weights: FloatArray,
    rows: IntArray | None = None,
    *,
    second: int = EXPECTATIONS,
    among: BoolArray | None = None,
) -> Densities:
    """Integrate rows, by default all, for weights of at least 0, with the second moments of rules in `among`, shape (m,)."""
    m = len(hinges.squared)
    rows = np.arange(len(hinges.count)) if rows is None else rows
    among = np.ones(m, dtype=np.bool_) if among is None else among
    found = Densities(
        np.zeros(len(rows)),
        np.zeros(len(rows)),
        np.zeros(m),
        np.zeros((m, {EXPECTATIONS: 0, VARIANCES: 1, COVARIANCES: m}[second])),
    )
    arrays = hinges.pointer, hinges.a, hinges.multiplicity, hinges.rule, hinges.point, hinges.level, hinges.lower
    more = (
        hinges.upper,
        hinges.count,
        hinges.squared,
        np.ascontiguousarray(weights, dtype=np.float64),
        rows,
        second,
        among,
    )
    _integrate(*arrays, *more, found.log_z, found.least, found.expected, found.covariance)
    return found


def least_incompatibility(hinges: AtomHinges) -> FloatArray:
    """Return the sum of the hinges of each rule where those of each row are least, shape (m,), if each row has one rule."""
    m = len(hinges.squared)
    owner = hinges.rule[hinges.pointer[:-1]]
    least = densities(hinges, np.ones(m)).least
    return np.bincount(owner, hinges.count * least, minlength=m).astype(np.float64)


@inner
def _profile(
    first: int,
    last: int,
    place: IntArray,
    ends: FloatArray,
    pieces: int,
    a: FloatArray,
    size: FloatArray,
    rule: IntArray,
    level: FloatArray,
    squared: BoolArray,
    weights: FloatArray,
    only: int,
    up: FloatArray,
    down: FloatArray,
) -> None:
    # A weighted sum of hinges, or of those of one rule, by pieces: `up` are those that rise, `down` those that fall. `up[i]` and
    # `down[i]` have the value at the end i, and the slope and the curvature that the rising ones have on the piece after their end, the
    # falling ones (as they rise the other way) on the piece before theirs. All are sums of what is not negative.
    value, slope, curve, k = 0.0, 0.0, 0.0, first
    for i in range(pieces + 1):
        while k < last and place[k - first] == i:
            if a[k] > 0 and (only < 0 or rule[k] == only):
                w = size[k] * (weights[rule[k]] if only < 0 else 1.0)
                if squared[rule[k]]:
                    curve += w * a[k] * a[k]
                    slope += 2.0 * w * a[k] * level[k]
                    value += w * level[k] * level[k]
                else:
                    slope += w * a[k]
                    value += w * level[k]
            k += 1
        up[i, 0], up[i, 1], up[i, 2] = value, slope, curve
        if i < pieces:
            length = ends[i + 1] - ends[i]
            value += (slope + curve * length) * length
            slope += 2.0 * curve * length
    value, slope, curve, k = 0.0, 0.0, 0.0, last - 1
    for i in range(pieces, -1, -1):
        while k >= first and place[k - first] == i:
            if a[k] < 0 and (only < 0 or rule[k] == only):
                w = size[k] * (weights[rule[k]] if only < 0 else 1.0)
                if squared[rule[k]]:
                    curve += w * a[k] * a[k]
                    slope -= 2.0 * w * a[k] * level[k]
                    value += w * level[k] * level[k]
                else:
                    slope -= w * a[k]
                    value += w * level[k]
            k -= 1
        down[i, 0], down[i, 1], down[i, 2] = value, slope, curve
        if i > 0:
            length = ends[i] - ends[i - 1]
            value += (slope + curve * length) * length
            slope += 2.0 * curve * length


@inner
def _add(
    rise: float,
    length: float,
    offset: float,
    slope: float,
    curve: float,
    top: int,
    work: FloatArray,
    unit: FloatArray,
    other: FloatArray,
    near: FloatArray,
    far: FloatArray,
) -> float:
    # Add the moments of exp(-rise - slope v - curve v^2), v from 0 to length, to those about a point `offset` before 0, `near`, and to those
    # about the end of the stretch, `far`; return what the integral is below the length.
    if length <= 0.0:
        return 0.0
    linear, square = slope * length, curve * length * length
    rising_moments(linear, square, top, work, unit)
    mirrored(unit, top, other)
    below = length * (np.exp(-rise) * shortfall(linear, square, unit) - np.expm1(-rise))
    scale = np.exp(-rise) * length
    for n in range(top + 1):
        unit[n] *= scale
        other[n] *= scale
        far[n] += other[n]
        scale *= length
    if offset == 0.0:
        for n in range(top + 1):
            near[n] += unit[n]
        return float(below)
    # (offset + v)^n, power by power.
    for n in range(top + 1):
        near[n] += unit[0]
        for k in range(top - n):
            unit[k] = offset * unit[k] + unit[k + 1]
    return float(below)


@inner
def _sweep(pieces: int, ends: FloatArray, moments: FloatArray, side: FloatArray, backward: bool) -> None:
    # `side[i]`: the moments of degree 0, 1, 2 about the end i of all that lies after it (`backward`) or before it, from those of pieces.
    start = pieces if backward else 0
    side[start, 0] = side[start, 1] = side[start, 2] = 0.0
    for step in range(pieces):
        i = pieces - 1 - step if backward else step
        before, now = (i + 1, i) if backward else (i, i + 1)
        length = ends[i + 1] - ends[i]
        side[now, 0] = moments[i, 0] + side[before, 0]
        side[now, 1] = moments[i, 1] + side[before, 1] + length * side[before, 0]
        side[now, 2] = moments[i, 2] + side[before, 2] + length * (2.0 * side[before, 1] + length * side[before, 0])


@inner
def _hinge(a: float, level: float, squared: bool, after: FloatArray, before: FloatArray) -> float:
    # The integral of a hinge, from the moments on either side of where it begins.
    side, slope = (after, a) if a > 0 else (before, -a)
    if squared:
        return float(slope * slope * side[2] + level * (2.0 * slope * side[1] + level * side[0]))
    return float(slope * side[1] + level * side[0])


@inner
def _single(
    a: float,
    level: float,
    squared: bool,
    size: float,
    weight: float,
    active: float,
    rest: float,
    second: int,
    work: FloatArray,
    unit: FloatArray,
    found: FloatArray,
) -> None:
    # A row of one hinge, which is above 0 on a stretch `active` and 0 on the `rest`: `found` gets log Z, the least exponent, the expectation of
    # the hinge and, if asked for, its variance.
    slope, w = abs(a), weight * size
    value = level * level if squared else level
    linear = 2.0 * slope * level if squared else slope
    curve = slope * slope if squared else 0.0
    degree = 2 if squared else 1
    top = degree if second == 0 else 2 * degree
    rising_moments(w * linear * active, w * curve * active * active, top, work, unit)
    below = active * shortfall(w * linear * active, w * curve * active * active, unit)
    scale = active
    for n in range(top + 1):
        unit[n] *= scale
        scale *= active
    z = unit[0] + rest
    mean = (value * unit[0] + linear * unit[1] + (curve * unit[2] if squared else 0.0)) / z
    near = w * (linear + curve * active) * active < NEARLY
    found[0] = (np.log1p(-below / (active + rest)) + np.log(active + rest) if near else np.log(z)) - w * value
    found[1], found[2] = w * value, size * mean
    if second == 0:
        return
    value -= mean
    spread = rest * mean * mean + value * value * unit[0] + 2.0 * value * linear * unit[1] + linear * linear * unit[2]
    if squared:
        spread += 2.0 * value * curve * unit[2] + 2.0 * linear * curve * unit[3] + curve * curve * unit[4]
    found[3] = size * size * max(spread, 0.0) / z


@kernel
def _integrate(
    pointer: IntArray,
    a: FloatArray,
    size: FloatArray,
    rule: IntArray,
    point: FloatArray,
    level: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    count: IntArray,
    squared: BoolArray,
    weights: FloatArray,
    rows: IntArray,
    second: int,
    among: BoolArray,
    log_z: FloatArray,
    least: FloatArray,
    expected: FloatArray,
    covariance: Annotated[FloatArray, 2],
) -> None:
    longest = 0
    for row in rows:
        longest = max(longest, pointer[row + 1] - pointer[row])
    place = np.empty(longest, np.int64)
    ends, share = np.empty(longest + 2), np.empty(longest)
    up, down, ups = np.empty((longest + 2, 3)), np.empty((longest + 2, 3)), np.empty((longest + 2, 3))
    downs, after, before = np.empty((longest + 2, 3)), np.empty((longest + 2, 3)), np.empty((longest + 2, 3))
    left, right = np.empty((longest + 1, 5)), np.empty((longest + 1, 5))
    tilted = np.empty((longest + 1, 3))
    tilted_right = np.empty((longest + 1, 3))
    work, unit, other, four = np.empty(5), np.empty(5), np.empty(5), np.empty(4)
    mean = np.zeros(len(squared))
    seen = np.full(len(squared), -1, np.int64)
    members = np.empty(len(squared), np.int64)
    top = 2 if second == 0 else 4
    for index in range(len(rows)):
        row = rows[index]
        first, last = pointer[row], pointer[row + 1]
        if last - first == 1:
            # Most rows of one rule and one atom.
            this, active = rule[first], upper[row] - point[first] if a[first] > 0 else point[first] - lower[row]
            rest = 0.0 if level[first] > 0 else upper[row] - lower[row] - active
            _single(
                a[first],
                level[first],
                squared[this],
                size[first],
                weights[this],
                active,
                rest,
                second,
                work,
                unit,
                four,
            )
            log_z[index], least[index] = four[0], four[1]
            expected[this] += count[row] * four[2]
            if second != 0 and among[this]:
                covariance[this, this if second == 2 else 0] += count[row] * four[3]
            continue
        pieces = 0
        ends[0] = lower[row]
        for k in range(first, last):
            if point[k] > ends[pieces] and point[k] < upper[row]:
                pieces += 1
                ends[pieces] = point[k]
            place[k - first] = pieces if point[k] < upper[row] else pieces + 1
        pieces += 1
        ends[pieces] = upper[row]
        _profile(first, last, place, ends, pieces, a, size, rule, level, squared, weights, -1, up, down)

        # The piece with the least exponent is the first at whose end it rises.
        lowest = pieces
        for i in range(pieces):
            if up[i, 1] + 2.0 * up[i, 2] * (ends[i + 1] - ends[i]) > down[i + 1, 1]:
                lowest = i
                break
        for i in range(pieces):
            for n in range(top + 1):
                left[i, n] = right[i, n] = 0.0
        rise, falling, below, least[index] = 0.0, 0.0, 0.0, up[pieces, 0] + down[pieces, 0]
        for i in range(lowest, pieces):
            length = ends[i + 1] - ends[i]
            curve = up[i, 2] + down[i + 1, 2]
            slope = up[i, 1] - (down[i + 1, 1] + 2.0 * down[i + 1, 2] * length)
            begin = 0.0
            if i == lowest:
                if slope < 0.0:
                    begin = min(-slope / (2.0 * curve), length)
                    falling = curve * begin * begin
                    below += _add(0.0, begin, length - begin, 0.0, curve, top, work, unit, other, right[i], left[i])
                    slope = 0.0
                rest = length - begin
                least[index] = (
                    up[i, 0]
                    + (up[i, 1] + up[i, 2] * begin) * begin
                    + down[i + 1, 0]
                    + (down[i + 1, 1] + down[i + 1, 2] * rest) * rest
                )
            slope = max(slope, 0.0)
            length -= begin
            below += _add(rise, length, begin, slope, curve, top, work, unit, other, left[i], right[i])
            rise += (slope + curve * length) * length
        for i in range(lowest - 1, -1, -1):
            length = ends[i + 1] - ends[i]
            curve = up[i, 2] + down[i + 1, 2]
            slope = max(down[i + 1, 1] - (up[i, 1] + 2.0 * up[i, 2] * length), 0.0)
            below += _add(falling, length, 0.0, slope, curve, top, work, unit, other, right[i], left[i])
            falling += (slope + curve * length) * length
        _sweep(pieces, ends, left, after, True)
        _sweep(pieces, ends, right, before, False)
        z, whole = after[0, 0], upper[row] - lower[row]
        log_z[index] = (np.log1p(-below / whole) + np.log(whole) if max(rise, falling) < NEARLY else np.log(z)) - least[
            index
        ]

        many = 0
        for k in range(first, last):
            if seen[rule[k]] != row:
                seen[rule[k]] = row
                mean[rule[k]] = 0.0
                members[many] = rule[k]
                many += 1
            i = place[k - first]
            share[k - first] = size[k] * _hinge(a[k], level[k], squared[rule[k]], after[i], before[i]) / z
            mean[rule[k]] += share[k - first]
        for j in range(many):
            expected[members[j]] += count[row] * mean[members[j]]
            seen[members[j]] = -1
        if second == 0:
            continue

        # Of each rule with all: hinges are integrated with its distance from its mean as one more factor.
        for j in range(many):
            this = members[j]
            if not among[this]:
                continue
            _profile(first, last, place, ends, pieces, a, size, rule, level, squared, weights, this, ups, downs)
            for i in range(pieces):
                length = ends[i + 1] - ends[i]
                curve = ups[i, 2] + downs[i + 1, 2]
                value = ups[i, 0] + downs[i, 0] - mean[this]
                slope = ups[i, 1] - (downs[i + 1, 1] + 2.0 * downs[i + 1, 2] * length)
                for n in range(3):
                    tilted[i, n] = value * left[i, n] + slope * left[i, n + 1] + curve * left[i, n + 2]
                value = ups[i + 1, 0] + downs[i + 1, 0] - mean[this]
                slope = downs[i + 1, 1] - (ups[i, 1] + 2.0 * ups[i, 2] * length)
                for n in range(3):
                    tilted_right[i, n] = value * right[i, n] + slope * right[i, n + 1] + curve * right[i, n + 2]
            _sweep(pieces, ends, tilted, after, True)
            _sweep(pieces, ends, tilted_right, before, False)
            for k in range(first, last):
                if not among[rule[k]]:
                    continue
                i = place[k - first]
                found = size[k] * _hinge(a[k], level[k], squared[rule[k]], after[i], before[i])
                # A rounded mean is not quite the mean: what is left of the distance from it must not count for the mean of this hinge.
                found -= share[k - first] * (after[0, 0] if a[k] > 0 else before[pieces, 0])
                covariance[rule[k], this if second == 2 else 0] += count[row] * found / z
