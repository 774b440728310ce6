"""CDA and the subgradient method: weights that shrink by (t - 1) / t at step t, and steps along delta n.

Huynh (2011), Algorithm 5.1 and section 5.2. With theta = t * w, which is the sum of the dual vectors over -sigma, a step
changes theta only where delta n is not 0: w after step s is theta / s until the next change, so that sums of weights are
theta times a difference of harmonic numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.kernels import kernel

DIRECT = 64
"""Reciprocals up to this number are added one by one; the series for the others is exact to rounding."""


class DecayingRates(NamedTuple):
    """How long a step is.

    `sigma`, above 0, is the weight of the regulariser: the longest step at step t is 1 / (sigma * t). With `ascent` (CDA) it is
    no longer than the loss asks for, else always 1 / (sigma * t), the subgradient method. With `f1` the label loss is 1 - F1,
    else the number of wrong atoms.
    """

    sigma: float = 0.0001
    ascent: bool = True
    f1: bool = False


class DecayingState(NamedTuple):
    """What the learner remembers of m clauses; clause i has place i.

    `theta`, of shape (m,), is step times weight: the weight after step t >= `last` is theta / t. `total` (m,) is the sum of the
    weights after each of the steps 1 to `last`, and `last` (m,) the last step, counted from 1, that changed theta; 0 if there
    was none.
    """

    steps: int
    theta: FloatArray
    total: FloatArray
    last: IntArray


def new_state(clauses: int = 0) -> DecayingState:
    """The state before the first step: all weights are 0 (Algorithm 5.1, line 2).

    Examples
    --------
    >>> new_state(2).theta.tolist()
    [0.0, 0.0]
    """
    return DecayingState(0, np.zeros(clauses), np.zeros(clauses), np.zeros(clauses, dtype=np.int64))


@kernel
def _tail(n: int) -> float:
    # The harmonic number of n, without log(n) and Euler's constant: their asymptotic series.
    square = 1.0 / (float(n) * float(n))
    tail: float = 0.5 / n - square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0))
    return tail


@kernel
def harmonic_between(first: int, last: int) -> float:
    """The sum of 1 / s for s from first + 1 to last, 0 <= first <= last, to the rounding of a few operations.

    Notes
    -----
    Euler and Maclaurin's series of both harmonic numbers, subtracted term by term, so that nothing cancels where they
    are close.

    Examples
    --------
    >>> harmonic_between(0, 2)
    1.5
    """
    direct = last if last - first <= 8 else min(last, DIRECT)
    total = 0.0
    for s in range(first + 1, direct + 1):
        total += 1.0 / s
    start = max(first, direct)
    if start < last:
        total += math.log1p((last - start) / start) + (_tail(last) - _tail(start))
    return total


@kernel
def weight_after(state: DecayingState, i: int, step: int) -> float:
    """Return the weight of clause i after `step` steps, if its delta n was 0 since step `last[i]`."""
    weight: float = state.theta[i] / step if step > 0 else 0.0
    return weight


@kernel
def total_after(state: DecayingState, i: int, step: int) -> float:
    """Return the sum of the weights of clause i after each of the steps 1 to `step`."""
    total: float = state.total[i]
    if state.theta[i] != 0.0:
        total += state.theta[i] * harmonic_between(state.last[i], step)
    return total


@kernel
def update_clause(state: DecayingState, i: int, delta_n: int, step: int, size: float) -> None:
    """w_{t+1} = (t - 1) / t * w_t + size * delta n for one clause, in place.

    `delta_n` is the count of clause i in the observed minus that in the other world, and `size` is from `step_size`; `step` is
    t, counted from 1, and `state.steps` is not looked at.
    """
    total = total_after(state, i, step - 1)
    state.theta[i] += step * size * delta_n
    state.total[i] = total + state.theta[i] / step
    state.last[i] = step


@kernel
def step_size(rates: DecayingRates, loss: float, product: float, square: float, step: int) -> float:
    """The factor of delta n in the update of step t, counted from 1.

    `loss` is the label loss of the other world, less what fixed features add to the score of the observed one over it;
    `product` the weights before the step times delta n; `square` the sum of the squares of delta n, above 0.

    Notes
    -----
    Source: Huynh (2011), Algorithm 5.1, lines 9 and 10: the exact maximiser of the dual (equation 5.1) along delta n is
    min(1 / (sigma t), max(0, loss - (t - 1) / t * product) / square). A fixed feature adds a constant to the margin, so
    that it belongs to the loss in the derivation and does not shrink.

    Examples
    --------
    >>> step_size(DecayingRates(0.5), 2.0, 1.0, 4.0, 2), step_size(DecayingRates(10.0), 2.0, 1.0, 4.0, 2)
    (0.375, 0.05)
    """
    longest: float = 1.0 / (rates.sigma * step)
    if not rates.ascent:
        return longest
    asked: float = max(0.0, loss - (step - 1) / step * product) / square
    return min(longest, asked)
