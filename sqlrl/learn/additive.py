"""1-best MIRA, the structured perceptron and contrastive divergence: weights that change by a multiple of delta n and rest between.

Huynh (2011), section 5.3.2 (MIRA); Collins, "Discriminative training methods for hidden Markov models" (2002), for the
perceptron; Hinton, "Training products of experts by minimizing contrastive divergence" (2002), equation 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.kernels import kernel


class AdditiveRates(NamedTuple):
    """How long a step is.

    `learning_rate` is the factor of delta n without `margin`; with it (MIRA) a step is as long as the loss asks for. With `f1`
    the label loss is 1 - F1, else the number of wrong atoms.
    """

    learning_rate: float = 1.0
    margin: bool = False
    f1: bool = False


class AdditiveState(NamedTuple):
    """What the learner remembers of m clauses; clause i has place i.

    `weight`, of shape (m,), is in log-odds; `total` (m,) is the sum of the weights after each of the steps 1 to `last`, and
    `last` (m,) the last step, counted from 1, that changed the weight; 0 if there was none.
    """

    steps: int
    weight: FloatArray
    total: FloatArray
    last: IntArray


def new_state(clauses: int = 0) -> AdditiveState:
    """The state before the first step: all weights are 0.

    Examples
    --------
    >>> new_state(2).weight.tolist()
    [0.0, 0.0]
    """
    return AdditiveState(0, np.zeros(clauses), np.zeros(clauses), np.zeros(clauses, dtype=np.int64))


@kernel
def total_after(state: AdditiveState, i: int, step: int) -> float:
    """Return the sum of the weights of clause i after each of the steps 1 to `step`."""
    total: float = state.total[i] + (step - state.last[i]) * state.weight[i]
    return total


@kernel
def update_clause(state: AdditiveState, i: int, delta_n: int, step: int, size: float) -> None:
    """w_{t+1} = w_t + size * delta n for one clause, in place; the parameters are those of `decaying.update_clause`."""
    total = total_after(state, i, step - 1)
    state.weight[i] += size * delta_n
    state.total[i] = total + state.weight[i]
    state.last[i] = step


@kernel
def step_size(rates: AdditiveRates, loss: float, product: float, square: float) -> float:
    """The factor of delta n in an update; the parameters are those of `decaying.step_size`.

    Notes
    -----
    Source: Huynh (2011), section 5.3.2: the shortest change after which the margin is the loss is
    max(0, loss - product) / square.

    Examples
    --------
    >>> step_size(AdditiveRates(margin=True), 2.0, 1.0, 4.0), step_size(AdditiveRates(0.5), 2.0, 1.0, 4.0)
    (0.25, 0.5)
    """
    if not rates.margin:
        return rates.learning_rate
    asked: float = max(0.0, loss - product) / square
    return asked
