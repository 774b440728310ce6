"""A sample of the false atoms of a predicate in place of all of them, and how far a mean over it may be from theirs."""

from __future__ import annotations

import math

import numpy as np

from sqlrl.ground.atom_kinds import AtomKinds
from sqlrl.ground.network import FloatArray, IntArray

CONFIDENCE = 0.95
"""With this probability a mean is within its bound."""

LARGEST = 10**9
"""From so many atoms on they are numbered and drawn one by one."""


def sample_rows(kinds: AtomKinds, most: int, random: np.random.Generator) -> tuple[FloatArray, int]:
    """Draw at most `most` false atoms without replacement; return how many atoms each row counts as, and how many were drawn."""
    weights = kinds.count.astype(np.float64)
    false = np.flatnonzero(~kinds.truth)
    sizes = kinds.count[false]
    total = int(sizes.sum())
    if total <= most:
        return weights, total
    # The sample stands for all false atoms; true atoms are not drawn.
    weights[false] = _drawn(sizes, total, most, random) * (total / most)
    return weights, most


def _drawn(sizes: IntArray, total: int, number: int, random: np.random.Generator) -> IntArray:
    """Draw from groups of these sizes without replacement; return how many of each."""
    if total < LARGEST:
        return np.asarray(random.multivariate_hypergeometric(sizes, number, method="marginals"), dtype=np.int64)
    if number > total // 2:
        return sizes - _drawn(sizes, total, total - number, random)
    places = np.zeros(0, dtype=np.int64)
    while len(places) < number:
        # One that was drawn before is drawn anew; `choice` would list all atoms where the sample is not small.
        more = np.concatenate([places, random.integers(total, size=number - len(places))])
        places = more[np.sort(np.unique(more, return_index=True)[1])]
    return np.bincount(np.searchsorted(np.cumsum(sizes), places, side="right"), minlength=len(sizes))


def mean_error(width: float, drawn: int, total: int, confidence: float = CONFIDENCE) -> float:
    """Return how far a sample's mean is at most, with probability `confidence`, from that of all values, which span `width`.

    Source: Hoeffding (1963) as Kok and Domingos (2005), section 4.3, apply it; sharper, since nothing is drawn twice:
    Serfling, "Probability inequalities for the sum in sampling without replacement" (1974), corollary 1.1.
    """
    if drawn >= total:
        return 0.0
    left = 1.0 - (drawn - 1) / total
    return width * math.sqrt(left * math.log(2.0 / (1.0 - confidence)) / (2.0 * drawn))
