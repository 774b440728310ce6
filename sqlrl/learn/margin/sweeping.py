"""The kernel of `mixing`: one sweep over atoms, each reset with the probability that gains most, alone or with a partner."""

from __future__ import annotations

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.kernels import kernel

LEAST = 1e-12
"""Steps that gain less are rounding."""

Near = tuple[IntArray, IntArray, FloatArray, IntArray, IntArray, IntArray, IntArray]
"""The arrays of `mixing.Adjacency`, in its order."""

State = tuple[FloatArray, FloatArray, FloatArray]
"""The mean truth of each atom, how probable the violation of each row is, and the weight of each clause: changed in place."""

Scratch = tuple[FloatArray, BoolArray, IntArray]
"""How counts change, by clause; which clauses were touched; and those in a list."""


@kernel
def _after(own: int, other: int, value: int, truth: FloatArray) -> float:
    # How probable the violation of a row is once one of its atoms is `value`.
    if (own > 0) == (value == 1):
        return 0.0
    return float(1.0 - truth[other - 1] if other > 0 else truth[-other - 1])


@kernel
def _direction(
    atom: int, value: int, near: Near, rows: tuple[IntArray, FloatArray], state: State, scratch: Scratch
) -> int:
    # Write how the counts of clauses change if the atom is reset; return how many clauses were touched.
    starts, clause, count, row_starts, row, own, other = near
    row_clause, fall = rows
    truth, violated, _ = state
    change, mark, touched = scratch
    step, n = value - truth[atom], 0
    for k in range(starts[atom], starts[atom + 1]):
        i = clause[k]
        change[i], mark[i], touched[n] = count[k] * step, True, i
        n += 1
    for k in range(row_starts[atom], row_starts[atom + 1]):
        j = row[k]
        i = row_clause[j]
        if not mark[i]:
            mark[i], touched[n] = True, i
            n += 1
        change[i] += fall[j] * (violated[j] - _after(own[k], other[k], value, truth))
    return n


@kernel
def _clear(scratch: Scratch, n: int) -> None:
    change, mark, touched = scratch
    for k in range(n):
        change[touched[k]], mark[touched[k]] = 0.0, False


@kernel
def _inner(scratch: Scratch, n: int, by: FloatArray) -> float:
    change, _, touched = scratch
    total = 0.0
    for k in range(n):
        total += change[touched[k]] * by[touched[k]]
    return total


@kernel
def _slopes(atom: int, gain: float, near: Near, rows: tuple[IntArray, FloatArray], state: State) -> tuple[float, float]:
    # What the objective gains at first, for each unit of probability, by resets to false and to true.
    starts, clause, count, row_starts, row, own, other = near
    row_clause, fall = rows
    truth, violated, weights = state
    units = gain
    for k in range(starts[atom], starts[atom + 1]):
        units += weights[clause[k]] * count[k]
    false, true = -truth[atom] * units, (1.0 - truth[atom]) * units
    for k in range(row_starts[atom], row_starts[atom + 1]):
        j = row[k]
        weight = weights[row_clause[j]] * fall[j]
        if weight != 0.0:
            false += weight * (violated[j] - _after(own[k], other[k], 0, truth))
            true += weight * (violated[j] - _after(own[k], other[k], 1, truth))
    return false, true


@kernel
def _reset(
    atom: int, value: int, probability: float, near: Near, rows: tuple[IntArray, FloatArray], state: State, price: float
) -> None:
    starts, clause, count, row_starts, row, own, other = near
    row_clause, fall = rows
    truth, violated, weights = state
    step = probability * (value - truth[atom])
    for k in range(starts[atom], starts[atom + 1]):
        weights[clause[k]] -= price * step * count[k]
    for k in range(row_starts[atom], row_starts[atom + 1]):
        j = row[k]
        moved = probability * (_after(own[k], other[k], value, truth) - violated[j])
        weights[row_clause[j]] += price * fall[j] * moved
        violated[j] += moved
    truth[atom] = value if probability == 1.0 else truth[atom] + step


@kernel
def _step(slope: float, square: float, price: float) -> float:
    # The probability in [0, 1] that gains most along one direction.
    if slope <= 0.0:
        return 0.0
    return min(1.0, slope / (price * square)) if square > 0.0 else 1.0


@kernel
def best_pair(
    slopes: tuple[float, float], squares: tuple[float, float], product: float, price: float
) -> tuple[float, float, float]:
    """Maximise ``x * a + y * b - price / 2 * |x * u + y * v|^2`` for x, y in [0, 1].

    Parameters
    ----------
    slopes : tuple of float
        a, b.
    squares : tuple of float
        The squared norms of u and v.
    product : float
        Their inner product.
    price : float

    Returns
    -------
    tuple of float
        x, y and the maximum.

    Examples
    --------
    >>> best_pair((1.0, 0.5), (1.0, 1.0), 0.0, 1.0), best_pair((1.0, -0.5), (4.0, 4.0), -3.5, 0.5)
    ((1.0, 0.5, 0.625), (1.0, 0.625, 0.390625))
    """
    a, b = slopes
    uu, vv = squares
    apart = uu * vv - product * product
    if apart > 1e-12 * uu * vv:
        x, y = (a * vv - b * product) / (price * apart), (b * uu - a * product) / (price * apart)
        if 0.0 <= x <= 1.0 and 0.0 <= y <= 1.0:
            return x, y, 0.5 * (a * x + b * y)
    best_x, best_y, best = 0.0, 0.0, 0.0
    for end in (0.0, 1.0):
        y = _step(b - price * product * end, vv, price)
        found = a * end + b * y - 0.5 * price * (uu * end * end + 2 * product * end * y + vv * y * y)
        if found > best:
            best_x, best_y, best = end, y, found
        x = _step(a - price * product * end, uu, price)
        found = a * x + b * end - 0.5 * price * (uu * x * x + 2 * product * x * end + vv * end * end)
        if found > best:
            best_x, best_y, best = x, end, found
    return best_x, best_y, best


@kernel
def _joined(atom: int, partner: int, near: Near) -> bool:
    _, _, _, row_starts, _, _, other = near
    found = False
    for k in range(row_starts[atom], row_starts[atom + 1]):
        found = found or abs(other[k]) - 1 == partner
    return found


@kernel
def sweep(
    near: Near,
    rows: tuple[IntArray, FloatArray],
    order: IntArray,
    gain: FloatArray,
    group: IntArray,
    partner: IntArray,
    active: BoolArray,
    state: State,
    price: float,
) -> None:
    """Reset each atom once with the probability that gains most, alone or together with the last one of its group that is neither.

    Parameters
    ----------
    near : tuple of arrays
        See `Near`.
    rows : tuple of arrays, each of shape (r,)
        The clause of each row, and how much its count falls if the row is violated.
    order : int64 array
        The atoms to visit.
    gain : float array, shape (n,)
        What the loss and soft evidence gain when an atom becomes true.
    group : int64 array, shape (n,)
        Atoms of one group have clauses in common.
    partner : int64 array
        By group the last atom that is true in some worlds only, -1 for none; changed in place.
    active : bool array, shape (n,)
        Atoms to visit; those that could gain nothing and are the same in all worlds are taken out in place.
    state : tuple of arrays
        See `State`; changed in place.
    price : float
        C, what the loss of one atom costs.
    """
    truth, _, weights = state
    m = len(weights)
    first = (np.zeros(m), np.zeros(m, dtype=np.bool_), np.empty(m, dtype=np.int64))
    second = (np.zeros(m), np.zeros(m, dtype=np.bool_), np.empty(m, dtype=np.int64))
    for atom in order:
        if not active[atom]:
            continue
        slopes = _slopes(atom, gain[atom], near, rows, state)
        value, alone, best, square, slope = -1, 0.0, 0.0, 0.0, 0.0
        for to in range(2):
            if slopes[to] <= LEAST or truth[atom] == to:
                continue
            n = _direction(atom, to, near, rows, state, first)
            own = _inner(first, n, first[0])
            _clear(first, n)
            step = _step(slopes[to], own, price)
            found = step * (slopes[to] - 0.5 * price * step * own)
            if found > best:
                value, alone, best, square, slope = to, step, found, own, slopes[to]
        mixed = 0.0 < truth[atom] < 1.0
        if value < 0:
            active[atom] = mixed
            if mixed:
                partner[group[atom]] = atom
            continue
        other, to_other, with_other, of_other = partner[group[atom]], -1, 0.0, 0.0
        if other >= 0 and other != atom and 0.0 < truth[other] < 1.0 and not _joined(atom, other, near):
            of_slopes = _slopes(other, gain[other], near, rows, state)
            n = _direction(atom, value, near, rows, state, first)
            for to in range(2):
                k = _direction(other, to, near, rows, state, second)
                own, product = _inner(second, k, second[0]), _inner(second, k, first[0])
                _clear(second, k)
                x, y, found = best_pair((slope, of_slopes[to]), (square, own), product, price)
                if found > best:
                    to_other, with_other, of_other, best = to, x, y, found
            _clear(first, n)
        if to_other >= 0:
            _reset(atom, value, with_other, near, rows, state, price)
            _reset(other, to_other, of_other, near, rows, state, price)
        else:
            _reset(atom, value, alone, near, rows, state, price)
        if 0.0 < truth[atom] < 1.0:
            partner[group[atom]] = atom
