"""Seeded random graphs for the benchmarks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def graph(nodes: int, edges: int, *, skewed: bool, seed: int) -> pa.Table:
    """Return distinct directed edges as a table of names `x`, `y`, in random order.

    Both ends are drawn alike: node = N u for uniform u, or N u^2 if skewed.
    """
    rng = np.random.default_rng(seed)
    pairs = np.zeros(0, np.int64)
    while len(pairs) < edges:
        u = rng.random((2, edges))
        ends = (nodes * (u**2 if skewed else u)).astype(np.int64)
        pairs = np.unique(np.concatenate([pairs, ends[0] * nodes + ends[1]]))
    chosen = rng.permutation(pairs)[:edges]
    names = np.array([f"n{i:07d}" for i in range(nodes)])
    return pa.table({"x": names[chosen // nodes], "y": names[chosen % nodes]})
