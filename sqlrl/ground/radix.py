"""Packed rows, sorted and unpacked by compiled loops.

numpy sorts 64-bit integers with vector instructions on some processors and ten times slower on others. Keys of b bits need
b / 10 passes of a radix sort, a few nanoseconds a key each, wherever they run.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sqlrl.ground.network import IntArray
from sqlrl.kernels import kernel

DIGIT_BITS = 10
"""The most bits of a digit: with more, the places written to in turn no longer stay in the processor's caches."""

Keys = npt.NDArray[np.uint64]


def radix_sort(keys: IntArray, bits: int) -> IntArray:
    """Return contiguous keys, from 0 to 2^bits - 1 (`bits` <= 63), in ascending order; the array given is overwritten."""
    passes = max(-(-bits // DIGIT_BITS), 1)
    digit = -(-bits // passes)
    found: Keys = _sort(keys.view(np.uint64), np.empty(len(keys), np.uint64), digit, passes)
    return found.view(np.int64)


@kernel
def _sort(keys: Keys, spare: Keys, digit: int, passes: int) -> Keys:
    """Sort by the digits from the last to the first, to and fro between two arrays; return the one that has the result."""
    size = 1 << digit
    mask = np.uint64(size - 1)
    counts = np.zeros((passes, size), np.uint64)
    for key in keys:
        for k in range(passes):
            counts[k, (key >> np.uint64(k * digit)) & mask] += np.uint64(1)
    for k in range(passes):
        shift = np.uint64(k * digit)
        place = np.zeros(size, np.uint64)
        for b in range(1, size):
            place[b] = place[b - 1] + counts[k, b - 1]
        for key in keys:
            b = (key >> shift) & mask
            spare[place[b]] = key
            place[b] += np.uint64(1)
        keys, spare = spare, keys
    return keys


@kernel
def unpack(keys: IntArray, width: int, code_bits: int) -> IntArray:
    """Return the literals, shape (r, width), of packed rows, shape (r,), as `rows.Packing.literals` does."""
    literals = np.empty((len(keys), width), np.int64)
    mask = (1 << code_bits) - 1
    for i in range(width):
        shift = (width - 1 - i) * code_bits
        for row in range(len(keys)):
            code = (keys[row] >> shift) & mask
            literals[row, i] = -(code >> 1) - 1 if code & 1 else (code >> 1) + 1
    return literals


@kernel
def ranks(block: IntArray, count: int) -> IntArray:
    """Return how many earlier atoms of its block each atom has, shape (n,); 0 for those in none, which have a negative one."""
    met = np.zeros(count, np.int64)
    found = np.zeros(len(block), np.int64)
    for k in range(len(block)):
        if block[k] >= 0:
            found[k] = met[block[k]]
            met[block[k]] += 1
    return found
