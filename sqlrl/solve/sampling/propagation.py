"""Atoms that hard rows and blocks decide, by unit propagation: unlike `presolve`, it changes no probability."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.solve.occurrences import Int32Array, Occurrences, occurrences
from sqlrl.solve.presolve import keep_rows
from sqlrl.solve.restriction import UnsatisfiableError, Values
from sqlrl.solve.weighted import FREE, WeightedNetwork


class _Forcing(NamedTuple):
    value: Values
    left: IntArray  # literals of each row that are not looked at yet; -1 once one is true
    waiting: IntArray  # members of each block that are not looked at yet
    queue: Int32Array  # atoms whose value is known


@inner
def _force(forcing: _Forcing, literal: int, size: int) -> int:
    # Give an atom its value and put it on the queue; returns the length of the queue, -1 if it has the other value.
    k, value = abs(literal) - 1, 1 if literal > 0 else 0
    if forcing.value[k] != FREE:
        return size if forcing.value[k] == value else -1
    forcing.value[k] = value
    forcing.queue[size] = k
    return size + 1


@inner
def _follow_row(rows: Occurrences, forcing: _Forcing, j: int, size: int) -> int:
    # A row with one literal left: unless another is true, it must be.
    free = 0
    for p in range(rows.indptr[j], rows.indptr[j + 1]):
        literal = rows.literals[p]
        value = forcing.value[abs(literal) - 1]
        if value == FREE:
            free = literal
        elif (value == 1) == (literal > 0):
            return size
    return _force(forcing, free, size) if free != 0 else -1


@inner
def _follow_block(rows: Occurrences, forcing: _Forcing, b: int, size: int) -> int:
    # What the values of the members of a block force: all others false, or the last one true.
    true, free, count = -1, -1, 0
    for p in range(rows.member_start[b], rows.member_start[b + 1]):
        k = rows.member[p]
        if forcing.value[k] == 1:
            if true >= 0:
                return -1
            true = k
        elif forcing.value[k] == FREE:
            free, count = k, count + 1
    if true < 0:
        if not rows.exact[b] or count > 1:
            return size
        return _force(forcing, free + 1, size) if count == 1 else -1
    for p in range(rows.member_start[b], rows.member_start[b + 1]):
        if rows.member[p] != true and count > 0:
            size = _force(forcing, -rows.member[p] - 1, size)
    return size


@kernel
def _propagate(rows: Occurrences, forcing: _Forcing) -> int:
    # Follow hard rows of one literal, blocks of one member, and what comes of them; returns -1, or an atom that
    # would need both values.
    size, done = 0, 0
    for j in range(len(forcing.left)):
        if forcing.left[j] == 1:
            size = _force(forcing, rows.literals[rows.indptr[j]], size)
            if size < 0:
                return int(abs(rows.literals[rows.indptr[j]]) - 1)
    for b in range(len(rows.exact)):
        if rows.exact[b] and forcing.waiting[b] == 1:
            k = rows.member[rows.member_start[b]]
            size = _force(forcing, k + 1, size)
            if size < 0:
                return int(k)
    while done < size:
        k = forcing.queue[done]
        done += 1
        for o in range(rows.start[k], rows.start[k + 1]):
            j = rows.occurrence[o] >> 1
            if forcing.left[j] < 0:
                continue
            if (rows.occurrence[o] & 1) == forcing.value[k]:
                forcing.left[j] = -1
                continue
            forcing.left[j] -= 1
            if forcing.left[j] == 0:
                return int(k)
            if forcing.left[j] == 1:
                size = _follow_row(rows, forcing, j, size)
                if size < 0:
                    return int(k)
        b = rows.block[k]
        if b >= 0:
            forcing.waiting[b] -= 1
            if forcing.value[k] == 1 or (rows.exact[b] and forcing.waiting[b] <= 1):
                size = _follow_block(rows, forcing, b, size)
                if size < 0:
                    return int(k)
    return -1


def propagate(weighted: WeightedNetwork) -> Values:
    """Return the value that atoms have in every world in which hard rows and blocks hold, as far as units show it, else -1 (free)."""
    rows = occurrences(keep_rows(weighted, weighted.hard))
    n = len(weighted.atoms)
    forcing = _Forcing(
        np.full(n, FREE, dtype=np.int8),
        np.diff(rows.indptr),
        np.diff(rows.member_start),
        np.empty(n, dtype=np.int32),
    )
    stuck = _propagate(rows, forcing)
    if stuck >= 0:
        raise UnsatisfiableError(int(weighted.atoms[stuck]))
    return forcing.value
