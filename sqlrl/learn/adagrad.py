"""The update of ADAGRAD_FB: adaptive subgradient steps with an L1 penalty, and averages of the weights.

Huynh and Mooney, "Online Structure Learning for Markov Logic Networks" (2011), section 3.2, equation 1 and Algorithm 1,
lines 24 to 27. A step costs time only for the clauses whose counts differ: between two such steps of a clause its weight
moves towards 0 by the same amount at each step, so weight and sum of weights have closed forms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.kernels import kernel


class Rates(NamedTuple):
    """The numbers of equation 1.

    Parameters
    ----------
    regularization : float
        Lambda, the weight of the L1 penalty; 0 or more.
    learning_rate : float
        Eta; above 0.
    delta : float
        Added to the root of the summed squares; 0 or more.
    """

    regularization: float = 0.001
    learning_rate: float = 1.0
    delta: float = 1.0


class AdaGradState(NamedTuple):
    """What the learner remembers of m clauses; clause i has place i.

    Parameters
    ----------
    steps : int
        Number of steps so far.
    weight : float array, shape (m,)
        The weight (log-odds) right after step `last`. The L1 discounts since then are not taken off: see `weights_now`.
    squares : float array, shape (m,)
        Sum of the squared delta n of all steps.
    total : float array, shape (m,)
        Sum of the weights after each of the steps 1 to `last`.
    last : int64 array, shape (m,)
        The last step, counted from 1, with a delta n other than 0; 0 if there was none.
    """

    steps: int
    weight: FloatArray
    squares: FloatArray
    total: FloatArray
    last: IntArray


def new_state(clauses: int = 0) -> AdaGradState:
    """The state before the first step: all weights are 0 (Algorithm 1, line 1).

    Examples
    --------
    >>> new_state(2).weight.tolist()
    [0.0, 0.0]
    """
    return AdaGradState(0, np.zeros(clauses), np.zeros(clauses), np.zeros(clauses), np.zeros(clauses, dtype=np.int64))


def grown(state: AdaGradState, clauses: int) -> AdaGradState:
    """A copy with room for `clauses` clauses, at least as many as before.

    New clauses are as if they had been there from the first step with weight 0, so their averages, too, are over all
    steps.

    Examples
    --------
    >>> grown(new_state(1), 3).weight.tolist()
    [0.0, 0.0, 0.0]
    """
    weight, squares, total = (np.zeros(clauses) for _ in range(3))
    last, m = np.zeros(clauses, dtype=np.int64), len(state.weight)
    weight[:m], squares[:m], total[:m], last[:m] = state.weight, state.squares, state.total, state.last
    return AdaGradState(state.steps, weight, squares, total, last)


@kernel
def _discount(state: AdaGradState, i: int, rates: Rates) -> float:
    # lambda * eta / H of clause i. Called only for weights other than 0, whose squares are above 0: no division by 0.
    discount: float = rates.regularization * rates.learning_rate / (rates.delta + math.sqrt(state.squares[i]))
    return discount


@kernel
def weight_after(state: AdaGradState, i: int, step: int, rates: Rates) -> float:
    """Return the weight of clause i after `step` steps, if its delta n was 0 since step `last[i]`."""
    weight = state.weight[i]
    if weight == 0.0:
        return 0.0
    left: float = abs(weight) - (step - state.last[i]) * _discount(state, i, rates)
    if left <= 0.0:
        return 0.0
    return left if weight > 0.0 else -left


@kernel
def total_after(state: AdaGradState, i: int, step: int, rates: Rates) -> float:
    """Return the sum of the weights of clause i after each of the steps 1 to `step`."""
    # The arithmetic series of a weight that shrinks until it is 0.
    weight: float = state.weight[i]
    total: float = state.total[i]
    count: int = step - state.last[i]
    if weight == 0.0 or count == 0:
        return total
    size, discount = abs(weight), _discount(state, i, rates)
    if count * discount >= size:
        count = int(size / discount)
    series: float = count * (size - 0.5 * discount * (count + 1))
    return total + (series if weight > 0.0 else -series)


@kernel
def update_clause(state: AdaGradState, i: int, delta_n: int, step: int, rates: Rates) -> float:
    """Equation 1 for one clause with a delta n other than 0, in place; returns the weight after the step.

    Parameters
    ----------
    state : AdaGradState
        Its arrays are changed; `steps` is not looked at.
    i : int
        The clause.
    delta_n : int
        Its count in the observed minus its count in the predicted world.
    step : int
        The step, counted from 1.
    rates : Rates
    """
    before = weight_after(state, i, step - 1, rates)
    total = total_after(state, i, step - 1, rates)
    state.squares[i] += float(delta_n) * float(delta_n)
    rate: float = rates.learning_rate / (rates.delta + math.sqrt(state.squares[i]))
    moved: float = before + rate * delta_n
    left = abs(moved) - rates.regularization * rate
    weight = 0.0 if left <= 0.0 else (left if moved > 0.0 else -left)
    state.weight[i] = weight
    state.total[i] = total + weight
    state.last[i] = step
    return weight


@kernel
def _update(state: AdaGradState, clauses: IntArray, delta_n: IntArray, step: int, rates: Rates) -> None:
    for k in range(len(clauses)):
        if delta_n[k] != 0:
            update_clause(state, clauses[k], delta_n[k], step, rates)


@kernel
def _read(state: AdaGradState, step: int, rates: Rates, weights: FloatArray, totals: FloatArray) -> None:
    for i in range(len(weights)):
        weights[i] = weight_after(state, i, step, rates)
        totals[i] = total_after(state, i, step, rates)


def adagrad_step(state: AdaGradState, clauses: IntArray, delta_n: IntArray, rates: Rates) -> AdaGradState:
    """One step of equation 1 for all clauses: those that are not listed have delta n = 0 and are only discounted.

    With H = delta + sqrt(sum of squared delta n, this step included) and u = w + eta / H * delta n, the new weight is
    sign(u) * max(|u| - lambda * eta / H, 0).

    Parameters
    ----------
    state : AdaGradState
        Left as it is.
    clauses : int64 array, shape (k,)
        Distinct clauses.
    delta_n : int64 array, shape (k,)
        Their counts in the observed minus those in the predicted world.
    rates : Rates

    Returns
    -------
    AdaGradState

    Examples
    --------
    >>> rates = Rates(regularization=0.1)
    >>> state = adagrad_step(new_state(2), np.array([0]), np.array([1]), rates)
    >>> weights_now(state, rates).tolist()
    [0.45, 0.0]
    >>> state = adagrad_step(state, np.array([1]), np.array([-1]), rates)
    >>> weights_now(state, rates).tolist(), averaged_weights(state, rates).round(9).tolist()
    ([0.4, -0.45], [0.425, -0.225])
    """
    new = grown(state, len(state.weight))._replace(steps=state.steps + 1)
    _update(new, clauses, delta_n, new.steps, rates)
    return new


def weights_now(state: AdaGradState, rates: Rates) -> FloatArray:
    """The weights (log-odds) after the last step, shape (m,)."""
    weights = np.empty(len(state.weight))
    _read(state, state.steps, rates, weights, np.empty(len(weights)))
    return weights


def averaged_weights(state: AdaGradState, rates: Rates) -> FloatArray:
    """The averaged weights (log-odds): (w_1 + ... + w_T) / T, w_t the weights right after the update of step t.

    The zero weights before the first step are not counted. Steps before a clause was first met count as 0. Without any
    step all averages are 0.

    Returns
    -------
    float array, shape (m,)
    """
    totals = np.empty(len(state.weight))
    _read(state, state.steps, rates, np.empty(len(totals)), totals)
    return totals / max(state.steps, 1)
