"""CDA and the subgradient method: weights that shrink by (t - 1) / t at step t, and steps along delta n.

Huynh (2011), Algorithm 5.1 and section 5.2. With theta = t * w, which is the sum of the dual vectors over -sigma, a step
changes theta only where delta n is not 0: w after step s is theta / s until the next change, so that sums of weights are
theta times a difference of harmonic numbers.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, NamedTuple, Unpack

import numpy as np

from sqlrl.errors import InputError, Parameter
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.learn.arrays import StepScratch
from sqlrl.learn.online import OnlineCommon, OnlineEstimator
from sqlrl.learn.parameters import Above, Option
from sqlrl.learn.rules import UpdateRule, margin_terms, register
from sqlrl.learn.settings import LabelLoss, Update

DIRECT = 64
"""Reciprocals up to this number are added one by one; the series for the others is exact to rounding."""


class DecayingRates(NamedTuple):
    """Length of a step."""

    sigma: float = 0.0001  # weight of the regulariser, above 0: the longest step at step t is 1 / (sigma * t)
    ascent: bool = True  # CDA: the loss may make a step shorter; else it is always the longest, the subgradient method
    f1: bool = False  # the label loss is 1 - F1, not the number of wrong atoms


class DecayingState(NamedTuple):
    """State of the update rule for m clauses; arrays have shape (m,)."""

    steps: int
    theta: FloatArray  # step times weight: the weight after step t >= `last` is theta / t, plus `start`
    total: FloatArray  # sum of the weights, less `start`, after each of the steps 1 to `last`
    last: IntArray  # last step (from 1) that changed theta; 0 if there was none
    start: FloatArray  # weights before the first step, to which the regulariser pulls


def new_state(clauses: int = 0) -> DecayingState:
    """The state before the first step: all weights are 0 (Algorithm 5.1, line 2)."""
    return DecayingState(0, np.zeros(clauses), np.zeros(clauses), np.zeros(clauses, dtype=np.int64), np.zeros(clauses))


@inner
def _tail(n: int) -> float:
    # The harmonic number of n, without log(n) and Euler's constant: their asymptotic series.
    square = 1.0 / (float(n) * float(n))
    tail: float = 0.5 / n - square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0))
    return tail


@kernel
def harmonic_between(first: int, last: int) -> float:
    """Return the sum of 1 / s for s from first + 1 to last, 0 <= first <= last, to the rounding of a few operations."""
    direct = last if last - first <= 8 else min(last, DIRECT)
    total = 0.0
    for s in range(first + 1, direct + 1):
        total += 1.0 / s
    start = max(first, direct)
    # Euler and Maclaurin's series of both harmonic numbers, term by term: nothing cancels where they are close.
    if start < last:
        total += math.log1p((last - start) / start) + (_tail(last) - _tail(start))
    return total


@inner
def weight_after(state: DecayingState, i: int, step: int) -> float:
    """Return the weight of clause i after `step` steps, if its delta n was 0 since step `last[i]`."""
    moved: float = state.theta[i] / step if step > 0 else 0.0
    weight: float = state.start[i] + moved
    return weight


@inner
def total_after(state: DecayingState, i: int, step: int) -> float:
    """Return the sum of the weights of clause i after each of the steps 1 to `step`."""
    total: float = state.start[i] * step + _moved_after(state, i, step)
    return total


@inner
def _moved_after(state: DecayingState, i: int, step: int) -> float:
    # The same sum, of weights less those of the start.
    total: float = state.total[i]
    if state.theta[i] != 0.0:
        total += state.theta[i] * harmonic_between(state.last[i], step)
    return total


@kernel
def update_clause(state: DecayingState, i: int, delta_n: int, step: int, size: float) -> None:
    """Apply w_{t+1} = (t - 1) / t * w_t + size * delta n to one clause at step t = `step`, in place; delta n is observed minus other."""
    total = _moved_after(state, i, step - 1)
    state.theta[i] += step * size * delta_n
    state.total[i] = total + state.theta[i] / step
    state.last[i] = step


@kernel
def step_size(rates: DecayingRates, loss: float, product: float, square: float, step: int) -> float:
    """Return the factor of delta n in the update of step t = `step`, counted from 1.

    Source: Huynh (2011), Algorithm 5.1, lines 9 and 10: the exact maximiser of the dual (equation 5.1) along delta n is
    min(1 / (sigma t), max(0, loss - (t - 1) / t * product) / square), where `product` is the weights before the step
    times delta n, `square` the sum of squared delta n, and `loss` the label loss minus what fixed features add to the
    margin, as that does not shrink.
    """
    longest: float = 1.0 / (rates.sigma * step)
    if not rates.ascent:
        return longest
    asked: float = max(0.0, loss - (step - 1) / step * product) / square
    return min(longest, asked)


@inner
def _start_product(state: DecayingState, work: StepScratch, count: int) -> float:
    # The weights of the start times delta n.
    product = 0.0
    for j in range(count):
        clause = work.changed[j]
        product += state.start[clause] * float(work.delta[clause])
    return product


# The functions of the rule have all arguments, used or not.
def _step_size(state: Any, rates: Any, window: Any, k: Any, work: Any, count: Any, step: Any) -> Any:
    loss, product, square = margin_terms(window, k, work, count, rates.f1)
    # Weights of the start do not shrink: like a fixed feature, what they add belongs to the loss.
    kept = _start_product(state, work, count)
    return step_size(rates, loss - kept, product - kept, square, step)


def _weight_of_rule(state: DecayingState, i: int, step: int, rates: DecayingRates) -> float:  # noqa: ARG001
    return weight_after(state, i, step)


def _total_of_rule(state: DecayingState, i: int, step: int, rates: DecayingRates) -> float:  # noqa: ARG001
    return total_after(state, i, step)


def _update_of_rule(state: DecayingState, i: int, delta_n: int, step: int, rates: DecayingRates, size: float) -> None:  # noqa: ARG001
    update_clause(state, i, delta_n, step, size)


register(
    UpdateRule(
        DecayingState,
        DecayingRates,
        new_state,
        weight_after=_weight_of_rule,
        total_after=_total_of_rule,
        update_clause=_update_of_rule,
        step_size=_step_size,
        start="start",
    )
)


# ---- the estimators ----------------------------------------------------------------------------------

World = Literal["maximal", "prediction"]
Strength = Annotated[
    float,
    Above(0.0, "the longest step at step t is 1 / (strength * t); the default is 0.0001"),
    Option("strength of the L2 penalty"),
]
FromWorld = Annotated[World, Option("learn from the maximal loss label or the prediction")]


class CDA(OnlineEstimator):
    """Learns the weights of a model online by coordinate dual ascent (Huynh 2011, Algorithm 5.1).

    Steps are as long as the loss asks for, and at most 1 / (strength * t): bold at first, careful later.

    Parameters
    ----------
    strength : float
        Sigma: what is minimised over the examples is the sum of their losses and of ``strength / 2 * sum(w^2)`` for each. Choose it on training data.
    update : {"maximal", "prediction"}
        CDA-ML: learn from the maximal loss label, the world that is most probable when each wrong atom adds 1; or CDA-PL:
        from the most probable world.
    loss : {"hamming", "f1"}
        What the labels should score above the other world: its number of wrong atoms, or 1 - F1 of its true atoms. The
        maximal loss label needs Hamming loss, since 1 - F1 is no sum over atoms.
    **common
        See `sqlrl.learn.OnlineEstimator`, also for the attributes.

    Notes
    -----
    Soft evidence is a feature with a fixed weight: what it adds to the labels' score over the other world's counts towards
    the loss, and does not shrink.

    Examples
    --------
    >>> CDA(0.01, update="prediction", loss="f1")
    CDA(strength=0.01, update='prediction', loss='f1')
    """

    word = "cda"

    def __init__(
        self,
        strength: Strength = 0.0001,
        *,
        update: FromWorld = "maximal",
        loss: LabelLoss = "hamming",
        **common: Unpack[OnlineCommon],
    ) -> None:
        super().__init__(**common)
        self.strength, self.update, self.loss = strength, update, loss

    def _update(self) -> Update:
        if self.loss == "f1" and self.update == "maximal":
            raise InputError(
                f"{Parameter('loss', 'f1')} cannot go with {Parameter('update', 'maximal')}: the maximal loss label needs a loss that is a sum over atoms, "
                f"as Hamming loss is, and 1 - F1 is a quotient of such sums; use {Parameter('update', 'prediction')}, or {Parameter('loss', 'hamming')}"
            )
        rates = DecayingRates(float(self.strength), True, self.loss == "f1")
        return Update(rates=rates, remedy="raise strength", loss_added=self.update == "maximal")


class Subgradient(OnlineEstimator):
    """Learns the weights of a model online by the subgradient method (Ratliff, Bagnell and Zinkevich 2007; Huynh 2011, section 5.2).

    Steps have the length 1 / (strength * t), whatever the loss is.

    Parameters
    ----------
    strength, update
        As for `CDA`.
    **common
        See `sqlrl.learn.OnlineEstimator`, also for the attributes.

    Examples
    --------
    >>> Subgradient(0.01)
    Subgradient(strength=0.01)
    """

    word = "subgradient"

    def __init__(
        self, strength: Strength = 0.0001, *, update: FromWorld = "maximal", **common: Unpack[OnlineCommon]
    ) -> None:
        super().__init__(**common)
        self.strength, self.update = strength, update

    def _update(self) -> Update:
        rates = DecayingRates(float(self.strength), False, False)
        return Update(rates=rates, remedy="raise strength", loss_added=self.update == "maximal")
