"""Arrow arrays of a few values of Python, made without pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

_FEW = 10_000
"""Values that are put together here in less time than pandas takes to be imported."""

_FIXED = {pa.int64(): np.int64, pa.float64(): np.float64}


def array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return strings, booleans, integers or floats as an Arrow array; None is missing."""
    # `pa.array` does the same, but imports pandas where it is installed: a fifth of a second, which a small load or a table for
    # a terminal can do without.
    size = len(values)
    missing = np.fromiter((value is None for value in values), np.bool_, size)
    valid = pa.py_buffer(np.packbits(~missing, bitorder="little").tobytes()) if missing.any() else None
    if kind == pa.string() and size <= _FEW:
        texts = [b"" if value is None else value.encode() for value in values]
        ends = np.cumsum([0, *map(len, texts)])
        if ends[-1] < 2**31:
            buffers = [valid, pa.py_buffer(ends.astype(np.int32).tobytes()), pa.py_buffer(b"".join(texts))]
            return pa.Array.from_buffers(kind, size, buffers)
    elif (kind == pa.bool_() or kind in _FIXED) and size <= _FEW:
        known = [0 if value is None else value for value in values]
        data = (
            np.array(known, dtype=_FIXED[kind])
            if kind in _FIXED
            else np.packbits(np.array(known, dtype=np.bool_), bitorder="little")
        )
        return pa.Array.from_buffers(kind, size, [valid, pa.py_buffer(data.tobytes())])
    return pa.array(values, kind)
