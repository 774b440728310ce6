"""Random numbers inside compiled loops: xoshiro256++, one independent stream for each chain or search."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sqlrl.errors import InputError
from sqlrl.kernels import inlined, inner, kernel

Stream = npt.NDArray[np.uint64]
"""The state of a generator, shape (4,); every draw changes it."""

_A, _B, _C, _D, _E = (np.uint64(x) for x in (23, 41, 17, 45, 19))
_UNIT = 2.0**-53


def streams(seed: int, count: int) -> npt.NDArray[np.uint64]:
    """Return independent streams, a `Stream` in each row, the same on every machine; the first ones do not depend on `count`."""
    if seed < 0:
        raise InputError(f"the seed is {seed}: give an integer of 0 or more")
    children = np.random.SeedSequence(int(seed)).spawn(count)
    return np.array([child.generate_state(4, np.uint64) for child in children], dtype=np.uint64).reshape(count, 4)


@inlined
def _word(state: Stream) -> Any:
    # xoshiro256++ 1.0 (Blackman & Vigna 2021).
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    x = s0 + s3
    word = ((x << _A) | (x >> _B)) + s0
    t = s1 << _C
    s2 ^= s0
    s3 ^= s1
    state[0] = s0 ^ s3
    state[1] = s1 ^ s2
    state[2] = s2 ^ t
    state[3] = (s3 << _D) | (s3 >> _E)
    return word


@kernel
def unit(state: Stream) -> float:
    """A number in [0, 1), uniform over the multiples of 2**-53."""
    return float(np.int64(_word(state) >> np.uint64(11)) * _UNIT)


@inner
def below(state: Stream, count: int) -> int:
    """An integer from 0 to count - 1, for counts below 2**31; off uniform by less than 2**-32 of it."""
    return int((np.int64(_word(state) >> np.uint64(33)) * np.int64(count)) >> 31)
