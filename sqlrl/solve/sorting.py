"""Sorting in compiled code: `np.sort` takes numba a second to compile for each type."""

from __future__ import annotations

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.kernels import kernel

_FEW = 32
"""Below this number of values insertion is faster than a heap."""


@kernel
def sort(values: IntArray | FloatArray, count: int) -> None:
    """Sort the first `count` values, in place: few by insertion, many by a heap."""
    if count < _FEW:
        for i in range(1, count):
            value, j = values[i], i
            while j > 0 and values[j - 1] > value:
                values[j] = values[j - 1]
                j -= 1
            values[j] = value
        return
    size = count
    for step in range(count // 2 + count - 1):
        # First make a heap from its last inner node on, then move the greatest value behind what is left.
        start = count // 2 - 1 - step
        if start < 0:
            start, size = 0, size - 1
            values[0], values[size] = values[size], values[0]
        value, i = values[start], start
        while 2 * i + 1 < size:
            child = 2 * i + 1
            if child + 1 < size and values[child + 1] > values[child]:
                child += 1
            if values[child] <= value:
                break
            values[i] = values[child]
            i = child
        values[i] = value
