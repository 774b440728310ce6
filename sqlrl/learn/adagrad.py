"""The update of ADAGRAD_FB: adaptive subgradient steps with an L1 penalty, and averages of the weights.

Huynh and Mooney, "Online Structure Learning for Markov Logic Networks" (2011), section 3.2, equation 1 and Algorithm 1,
lines 24 to 27. A step costs time only for the clauses whose counts differ: between two such steps of a clause its weight
moves towards 0 by the same amount at each step, so weight and sum of weights have closed forms.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, NamedTuple, Unpack

import numpy as np

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.learn.online import OnlineCommon, OnlineEstimator
from sqlrl.learn.parameters import Above, AtLeast, Option
from sqlrl.learn.rules import UpdateRule, register, unit_step
from sqlrl.learn.settings import Update


class AdaGradRates(NamedTuple):
    """Parameters of equation 1."""

    regularization: float = 0.001  # lambda, the weight of the L1 penalty; 0 or more
    learning_rate: float = 1.0  # eta, above 0
    delta: float = 1.0  # 0 or more; added to the root of the summed squares


class AdaGradState(NamedTuple):
    """State of the update rule for m clauses; arrays have shape (m,)."""

    steps: int
    weight: FloatArray  # log-odds right after step `last`, without the L1 discounts since then: see `weight_after`
    squares: FloatArray  # sum of the squared delta n of all steps
    total: FloatArray  # sum of the weights after each of the steps 1 to `last`
    last: IntArray  # last step (from 1) with a delta n other than 0; 0 if there was none


def new_state(clauses: int = 0) -> AdaGradState:
    """The state before the first step: all weights are 0 (Algorithm 1, line 1)."""
    return AdaGradState(0, np.zeros(clauses), np.zeros(clauses), np.zeros(clauses), np.zeros(clauses, dtype=np.int64))


@inner
def _discount(state: AdaGradState, i: int, rates: AdaGradRates) -> float:
    # lambda * eta / H of clause i. Called only for weights other than 0; of one that is as it was before the first step H may be 0.
    scale: float = rates.delta + math.sqrt(state.squares[i])
    if scale == 0.0:
        return 0.0 if rates.regularization == 0.0 else math.inf
    discount: float = rates.regularization * rates.learning_rate / scale
    return discount


@kernel
def weight_after(state: AdaGradState, i: int, step: int, rates: AdaGradRates) -> float:
    """Return the weight of clause i after `step` steps, if its delta n was 0 since step `last[i]`."""
    weight = state.weight[i]
    if weight == 0.0:
        return 0.0
    left: float = abs(weight) - (step - state.last[i]) * _discount(state, i, rates)
    if left <= 0.0:
        return 0.0
    return left if weight > 0.0 else -left


@inner
def total_after(state: AdaGradState, i: int, step: int, rates: AdaGradRates) -> float:
    """Return the sum of the weights of clause i after each of the steps 1 to `step`."""
    # The arithmetic series of a weight that shrinks until it is 0.
    weight: float = state.weight[i]
    total: float = state.total[i]
    count: int = step - state.last[i]
    if weight == 0.0 or count == 0:
        return total
    size, discount = abs(weight), _discount(state, i, rates)
    if discount == math.inf:
        return total
    if count * discount >= size:
        count = int(size / discount)
    series: float = count * (size - 0.5 * discount * (count + 1))
    return total + (series if weight > 0.0 else -series)


@kernel
def update_clause(state: AdaGradState, i: int, delta_n: int, step: int, rates: AdaGradRates) -> float:
    """Apply equation 1 to one clause with a delta n other than 0, in place, and return its weight after step `step` (from 1).

    With H = delta + sqrt(sum of squared delta n, this step included) and u = w + eta / H * delta n, the new weight is
    sign(u) * max(|u| - lambda * eta / H, 0). `delta_n` is n in the observed world minus n in the predicted one.
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


# The functions of the rule have all arguments, used or not.
def _weight_of_rule(state: AdaGradState, i: int, step: int, rates: AdaGradRates) -> float:
    return weight_after(state, i, step, rates)


def _total_of_rule(state: AdaGradState, i: int, step: int, rates: AdaGradRates) -> float:
    return total_after(state, i, step, rates)


def _update_of_rule(state: AdaGradState, i: int, delta_n: int, step: int, rates: AdaGradRates, size: float) -> None:  # noqa: ARG001
    update_clause(state, i, delta_n, step, rates)


register(
    UpdateRule(
        AdaGradState,
        AdaGradRates,
        new_state,
        weight_after=_weight_of_rule,
        total_after=_total_of_rule,
        update_clause=_update_of_rule,
        step_size=unit_step,
        start="weight",
    )
)


# ---- the estimator -----------------------------------------------------------------------------------

Strength = Annotated[
    float,
    AtLeast(0.0, "use 0 for no L1 penalty; the OSL paper uses 0.001"),
    Option("strength of the L1 penalty"),
]
Eta = Annotated[float, Above(0.0, "the OSL paper uses 1"), Option("learning rate")]
Delta = Annotated[float, AtLeast(0.0, "the OSL paper uses 1"), Option("added to the root of the summed squares")]


def adagrad(strength: float, learning_rate: float, delta: float, *, loss_augmented: bool = False) -> Update:
    """Return how ADAGRAD_FB learns."""
    rates = AdaGradRates(float(strength), float(learning_rate), float(delta))
    return Update(rates=rates, remedy="lower learning_rate, or raise delta", loss_added=loss_augmented)


class AdaGrad(OnlineEstimator):
    """Learns the weights of a model online with ADAGRAD_FB (Huynh and Mooney 2011, section 3.2).

    Every clause learns at its own pace, and an L1 penalty draws weights to 0.

    Parameters
    ----------
    strength : float
        Lambda: ``strength * sum(|w|)`` is added to the loss of each example.
    learning_rate : float
        Eta.
    delta : float
        Added to the root of each clause's summed squares.
    loss : {"hamming"}
        The loss that is recorded: atoms predicted wrongly.
    loss_augmented : bool
        Learn from the world that is most probable when each wrong atom adds 1, instead of the most probable one.
    **common
        See `sqlrl.learn.OnlineEstimator`, also for the attributes.

    Examples
    --------
    >>> AdaGrad(strength=0.01)
    AdaGrad(strength=0.01)
    """

    word = "adagrad"

    def __init__(
        self,
        strength: Strength = 0.001,
        learning_rate: Eta = 1.0,
        delta: Delta = 1.0,
        *,
        loss: Literal["hamming"] = "hamming",
        loss_augmented: bool = False,
        **common: Unpack[OnlineCommon],
    ) -> None:
        super().__init__(**common)
        self.strength, self.learning_rate, self.delta = strength, learning_rate, delta
        self.loss, self.loss_augmented = loss, loss_augmented

    def _update(self) -> Update:
        return adagrad(self.strength, self.learning_rate, self.delta, loss_augmented=self.loss_augmented)
