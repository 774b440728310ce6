"""Steps that are scaled for each clause by the counts that it has had, with a Gaussian penalty.

After Ross, Mineiro and Langford, "Normalized Online Learning" (2013), Algorithm 2: a clause's rate is divided by the largest of its delta n and by
the root of their summed squares; and when a delta n is larger than all before, the weight is divided by as much, since what it was learned on says
too little of counts of that size. If a clause had k times as many groundings, its weight would be a k-th, and without a penalty the model would be
the same, so that one learning rate serves clauses of one grounding and of a hundred thousand. The penalty is on weights as they are, so that
it says the less to a clause, the more groundings it has. Lowd and Domingos, "Efficient weight
learning for Markov logic networks" (2007), divide the rate by a clause's true groundings for that reason; on a stream nobody knows them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.learn.rules import UpdateRule, register, unit_step


class ScaledRates(NamedTuple):
    """Learning rate and penalty; their product is below 1."""

    learning_rate: float = 0.1  # eta, above 0
    regularization: float = 0.0  # lambda, the weight of the Gaussian penalty; 0 or more


class ScaledState(NamedTuple):
    """State of the update rule for m clauses; arrays have shape (m,)."""

    steps: int
    moved: FloatArray  # weight (log-odds) right after step `last`, less `start`
    total: FloatArray  # sum of these differences after each of the steps 1 to `last`
    largest: FloatArray  # largest absolute delta n
    squares: FloatArray  # sum of the squared delta n
    last: IntArray  # last step (from 1) with a delta n other than 0; 0 if there was none
    start: FloatArray  # weights before the first step, to which the penalty pulls


def new_state(clauses: int = 0) -> ScaledState:
    """The state before the first step: all weights are 0."""
    moved, total, largest, squares, start = np.zeros((5, clauses))
    return ScaledState(0, moved, total, largest, squares, np.zeros(clauses, dtype=np.int64), start)


@inner
def rate(state: ScaledState, i: int, rates: ScaledRates) -> float:
    """Return the factor of delta n of clause i: eta / (largest * sqrt(squares)), which is at most eta; 0 before its first step."""
    if state.squares[i] == 0.0:
        return 0.0
    found: float = rates.learning_rate / (state.largest[i] * math.sqrt(state.squares[i]))
    return found


@inner
def shrunk(share: float, steps: int) -> tuple[float, float]:
    """Return what is left of a weight after steps that each take away a share of it, above 0, and the sum of what is left after each of them."""
    # With q = 1 - share: q^k, and q + q^2 + ... + q^k. Written so that nothing cancels where q is close to 1.
    exponent = steps * math.log1p(-share)
    return math.exp(exponent), (1.0 - share) * (-math.expm1(exponent) / share)


@inner
def _moved_after(state: ScaledState, i: int, step: int, rates: ScaledRates) -> tuple[float, float]:
    # How far clause i is from its start after `step` steps, and the sum of that over the steps 1 to `step`.
    moved: float = state.moved[i]
    total: float = state.total[i]
    steps = step - state.last[i]
    if moved == 0.0 or steps == 0:
        return moved, total
    share: float = rate(state, i, rates) * rates.regularization
    if share == 0.0:
        return moved, total + steps * moved
    power, series = shrunk(share, steps)
    return moved * power, total + moved * series


@kernel
def weight_after(state: ScaledState, i: int, step: int, rates: ScaledRates) -> float:
    """Return the weight of clause i after `step` steps, if its delta n was 0 since step `last[i]`."""
    weight: float = state.start[i] + _moved_after(state, i, step, rates)[0]
    return weight


@inner
def total_after(state: ScaledState, i: int, step: int, rates: ScaledRates) -> float:
    """Return the sum of the weights of clause i after each of the steps 1 to `step`."""
    total: float = state.start[i] * step + _moved_after(state, i, step, rates)[1]
    return total


@kernel
def update_clause(state: ScaledState, i: int, delta_n: int, step: int, rates: ScaledRates) -> None:
    """Apply w_{t+1} = w_t + r * (delta n - lambda * (w_t - start)), with r = `rate`, to one clause at step t = `step`, in place."""
    moved, total = _moved_after(state, i, step - 1, rates)
    size = float(delta_n)
    # If this delta n is k times as large as any before, w_t - start is divided by k first.
    if abs(size) > state.largest[i]:
        moved *= state.largest[i] / abs(size)
        state.largest[i] = abs(size)
    state.squares[i] += size * size
    moved += rate(state, i, rates) * (size - rates.regularization * moved)
    state.moved[i] = moved
    state.total[i] = total + moved
    state.last[i] = step


# The functions of the rule have all arguments, used or not.
def _weight_of_rule(state: ScaledState, i: int, step: int, rates: ScaledRates) -> float:
    return weight_after(state, i, step, rates)


def _total_of_rule(state: ScaledState, i: int, step: int, rates: ScaledRates) -> float:
    return total_after(state, i, step, rates)


def _update_of_rule(state: ScaledState, i: int, delta_n: int, step: int, rates: ScaledRates, size: float) -> None:  # noqa: ARG001
    update_clause(state, i, delta_n, step, rates)


register(
    UpdateRule(
        ScaledState,
        ScaledRates,
        new_state,
        weight_after=_weight_of_rule,
        total_after=_total_of_rule,
        update_clause=_update_of_rule,
        step_size=unit_step,
        start="start",
        sampled=True,
    )
)
