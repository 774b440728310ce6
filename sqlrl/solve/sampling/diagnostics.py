"""How far to trust averages over Markov chains: split R-hat, effective sample size, Monte Carlo standard error.

Chains add up what they draw in batches; no draw is stored, so memory is (numbers estimated) x chains x batches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlrl.ground.network import FloatArray, IntArray

MOST_BATCHES = 32

ROUNDING = 1e-13
"""Variances of numbers between 0 and 1 below this are noise of their sums."""

AGREED = 1.01
"""R-hat above this means that the chains have not forgotten where they started (Vehtari et al. 2021, section 4)."""


@dataclass(frozen=True, eq=False)
class SampleMoments:
    """Sums over the draws of several chains, in batches, of which there is an even number, or one."""

    draws: int  # of each chain
    bounds: IntArray  # batch i holds the draws `bounds[i]` to `bounds[i + 1] - 1` of each chain
    total: FloatArray  # shape (chains, batches, n): sums of each batch
    square: FloatArray  # shape (chains, 2, n): sums of the squares of the first and of the second half of the batches
    burned: int = 0  # draws of each chain before these, which are forgotten


def start_moments(n: int, chains: int, draws: int, burned: int = 0) -> SampleMoments:
    """Return sums, still 0, of n numbers, in about sqrt(draws) batches, at most `MOST_BATCHES` (Flegal & Jones 2010)."""
    # A batch is long beside the memory of a chain, and there are still enough of them.
    batches = max(1, min(MOST_BATCHES, int(np.sqrt(draws))) // 2 * 2)
    bounds = np.arange(batches + 1, dtype=np.int64) * draws // batches
    return SampleMoments(draws, bounds, np.zeros((chains, batches, n)), np.zeros((chains, 2, n)), burned)


@dataclass(frozen=True, eq=False)
class SampleEstimate:
    """Averages over chains and what they are worth, each of shape (n,)."""

    mean: FloatArray  # over all draws of all chains
    error: FloatArray  # Monte Carlo standard error; infinite if there are too few draws to tell
    # Split R-hat: 1 where chains agree, infinite where each stays at a value of its own, NaN if there are too few draws to tell.
    rhat: FloatArray
    ess: FloatArray  # how many independent draws would be worth as much
    draws: int  # of each chain, after `burned` ones
    chains: int
    burned: int


def estimate(moments: SampleMoments, component: IntArray | None = None) -> SampleEstimate:
    """Return averages over chains of numbers between 0 and 1, with errors; dependent numbers have the same label in `component`.

    R-hat is the classic one over split chains: Gelman et al., "Bayesian Data Analysis" (3rd edition), section 11.4; Vehtari et al.,
    "Rank-normalization, folding, and localization" (2021), equations 1 to 4, without ranks, which need all draws and do nothing for bounded
    numbers. The error comes from the means of batches around the mean of all chains (Flegal & Jones 2010).
    """
    chains, batches, n = moments.total.shape
    mean = moments.total.sum(axis=(0, 1)) / (chains * moments.draws)
    if batches < 2:
        unknown = np.full(n, np.inf)
        return SampleEstimate(mean, unknown, np.full(n, np.nan), np.ones(n), moments.draws, chains, moments.burned)
    length = np.diff(moments.bounds).astype(np.float64)
    between = _between_batches(moments, length, mean)
    half = length.reshape(2, -1).sum(axis=1)
    halves = moments.total.reshape(chains, 2, batches // 2, n).sum(axis=2) / half[:, None]
    within = (moments.square / half[:, None] - halves**2) * (half / (half - 1.0))[:, None]
    inside = np.maximum(within, 0.0).mean(axis=(0, 1))
    outside = halves.reshape(2 * chains, n).var(axis=0, ddof=1)
    inside[inside < ROUNDING] = 0.0
    outside[outside < ROUNDING] = 0.0
    size = float(half.mean())
    whole = inside * (size - 1) / size + outside
    with np.errstate(divide="ignore", invalid="ignore"):
        rhat = np.where(whole == 0, 1.0, np.sqrt(whole / inside))
        ess = np.where((whole > 0) & (between > 0), whole / between, np.inf)
    # Where chains disagree, batches of one chain are no independent evidence: the error is at least that of the means of half chains.
    squared = np.where(rhat > AGREED, np.maximum(between, outside / (2 * chains)), between)
    ess = np.clip(ess, 1.0, chains * moments.draws)
    label = np.zeros(n, dtype=np.int64) if component is None else component
    # Added in quadrature is 1 / (the smallest effective sample size of the component): a rare mode that so many independent worlds have never
    # met may still have that probability, and atoms that only change with it look perfectly mixed until then.
    slowest = np.full(int(label.max(initial=-1)) + 1, np.inf)
    np.minimum.at(slowest, label, ess)
    return SampleEstimate(
        mean, np.sqrt(squared + slowest[label] ** -2.0), rhat, ess, moments.draws, chains, moments.burned
    )


def _between_batches(moments: SampleMoments, length: FloatArray, mean: FloatArray) -> FloatArray:
    # The variance of the mean as the scatter of batch means around it tells it; batch by batch, to save memory.
    chains, batches, n = moments.total.shape
    squared = np.zeros(n)
    for chain in range(chains):
        for batch in range(batches):
            squared += (moments.total[chain, batch] / length[batch] - mean) ** 2
    return np.asarray(squared / (chains * batches * (chains * batches - 1)), dtype=np.float64)
