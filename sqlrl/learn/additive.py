"""1-best MIRA, the structured perceptron and contrastive divergence: weights that change by a multiple of delta n and rest between.

Huynh (2011), section 5.3.2 (MIRA); Collins, "Discriminative training methods for hidden Markov models" (2002), for the
perceptron; Hinton, "Training products of experts by minimizing contrastive divergence" (2002), equation 5. With a Gaussian
penalty (Mihalkova and Moustafa, "Structure Selection from Streaming Relational Data", section 4) weights do not rest: between two steps of a
clause its weight shrinks by the same factor at each step, so that weight and sum of weights have closed forms.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, Unpack

import numpy as np

from sqlrl.errors import InputError, Parameter
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.learn.online import OnlineCommon, OnlineEstimator
from sqlrl.learn.parameters import Above, AtLeast, Option, Whole
from sqlrl.learn.rules import Rates, UpdateRule, margin_terms, register, unit_step
from sqlrl.learn.scaled import ScaledRates, shrunk
from sqlrl.learn.settings import LabelLoss, Update


class AdditiveRates(NamedTuple):
    """Length of a step."""

    learning_rate: float = 1.0  # factor of delta n, unless `margin` is set
    margin: bool = False  # MIRA: the loss determines the length of a step
    f1: bool = False  # the label loss is 1 - F1, not the number of wrong atoms


class AdditiveState(NamedTuple):
    """State of the update rule for m clauses; arrays have shape (m,)."""

    steps: int
    weight: FloatArray  # log-odds
    total: FloatArray  # sum of the weights after each of the steps 1 to `last`
    last: IntArray  # last step (from 1) that changed the weight; 0 if there was none


def new_state(clauses: int = 0) -> AdditiveState:
    """The state before the first step: all weights are 0."""
    return AdditiveState(0, np.zeros(clauses), np.zeros(clauses), np.zeros(clauses, dtype=np.int64))


@inner
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
    """Return the factor of delta n in an update; the parameters are those of `decaying.step_size`.

    Source: Huynh (2011), section 5.3.2: max(0, loss - product) / square is the shortest change after which the margin
    is the loss.
    """
    if not rates.margin:
        return rates.learning_rate
    asked: float = max(0.0, loss - product) / square
    return asked


# The functions of the rule have all arguments, used or not.
# ruff: noqa: ARG001
def _step_size(state: Any, rates: Any, window: Any, k: Any, work: Any, count: Any, step: Any) -> Any:
    loss, product, square = margin_terms(window, k, work, count, rates.f1)
    return step_size(rates, loss, product, square)


def _additive_weight_of_rule(state: AdditiveState, i: int, step: int, rates: AdditiveRates) -> float:
    weight: float = state.weight[i]
    return weight


def _additive_total_of_rule(state: AdditiveState, i: int, step: int, rates: AdditiveRates) -> float:
    return total_after(state, i, step)


def _additive_update_of_rule(
    state: AdditiveState, i: int, delta_n: int, step: int, rates: AdditiveRates, size: float
) -> None:
    update_clause(state, i, delta_n, step, size)


register(
    UpdateRule(
        AdditiveState,
        AdditiveRates,
        new_state,
        weight_after=_additive_weight_of_rule,
        total_after=_additive_total_of_rule,
        update_clause=_additive_update_of_rule,
        step_size=_step_size,
        start="weight",
        sampled=True,
    )
)


# ---- with a Gaussian penalty -------------------------------------------------------------------------
# A rule of its own: without a penalty the arithmetic, and what saved runs hold, stay as they are.


class PenalisedRates(NamedTuple):
    """Learning rate and penalty; their product, the share of a weight that a step takes away, is below 1."""

    learning_rate: float = 0.1  # eta, the factor of delta n; above 0
    regularization: float = 0.001  # lambda, the weight of the Gaussian penalty; above 0


class PenalisedState(NamedTuple):
    """State of the penalised update rule for m clauses; arrays have shape (m,)."""

    steps: int
    moved: FloatArray  # weight (log-odds) right after step `last`, less `start`
    total: FloatArray  # sum of these differences after each of the steps 1 to `last`
    last: IntArray  # last step (from 1) with a delta n other than 0; 0 if there was none
    start: FloatArray  # weights before the first step, to which the penalty pulls


def new_penalised_state(clauses: int = 0) -> PenalisedState:
    """The state before the first step: all weights are 0."""
    return PenalisedState(0, np.zeros(clauses), np.zeros(clauses), np.zeros(clauses, dtype=np.int64), np.zeros(clauses))


@inner
def _moved_after(state: PenalisedState, i: int, step: int, rates: PenalisedRates) -> tuple[float, float]:
    # How far clause i is from its start after `step` steps, and the sum of that over the steps 1 to `step`.
    moved: float = state.moved[i]
    total: float = state.total[i]
    steps = step - state.last[i]
    if moved == 0.0 or steps == 0:
        return moved, total
    power, series = shrunk(rates.learning_rate * rates.regularization, steps)
    return moved * power, total + moved * series


@kernel
def penalised_weight_after(state: PenalisedState, i: int, step: int, rates: PenalisedRates) -> float:
    """Return the weight of clause i after `step` steps, if its delta n was 0 since step `last[i]`."""
    weight: float = state.start[i] + _moved_after(state, i, step, rates)[0]
    return weight


@inner
def penalised_total_after(state: PenalisedState, i: int, step: int, rates: PenalisedRates) -> float:
    """Return the sum of the weights of clause i after each of the steps 1 to `step`."""
    total: float = state.start[i] * step + _moved_after(state, i, step, rates)[1]
    return total


@kernel
def update_penalised_clause(state: PenalisedState, i: int, delta_n: int, step: int, rates: PenalisedRates) -> None:
    """Apply w_{t+1} = w_t + eta * (delta n - lambda * (w_t - start)) to one clause at step t = `step` (from 1), in place."""
    moved, total = _moved_after(state, i, step - 1, rates)
    moved += rates.learning_rate * (delta_n - rates.regularization * moved)
    state.moved[i] = moved
    state.total[i] = total + moved
    state.last[i] = step


def _penalised_weight_of_rule(state: PenalisedState, i: int, step: int, rates: PenalisedRates) -> float:
    return penalised_weight_after(state, i, step, rates)


def _penalised_total_of_rule(state: PenalisedState, i: int, step: int, rates: PenalisedRates) -> float:
    return penalised_total_after(state, i, step, rates)


def _penalised_update_of_rule(
    state: PenalisedState, i: int, delta_n: int, step: int, rates: PenalisedRates, size: float
) -> None:
    update_penalised_clause(state, i, delta_n, step, rates)


register(
    UpdateRule(
        PenalisedState,
        PenalisedRates,
        new_penalised_state,
        weight_after=_penalised_weight_of_rule,
        total_after=_penalised_total_of_rule,
        update_clause=_penalised_update_of_rule,
        step_size=unit_step,
        start="start",
        sampled=True,
    )
)


# ---- the estimators ----------------------------------------------------------------------------------


class MIRA(OnlineEstimator):
    """Learns the weights of a model online with 1-best MIRA (McDonald, Crammer and Pereira 2005; Huynh 2011, section 5.3.2).

    Each step is the shortest one after which the labels score higher than the prediction by its loss.

    Parameters
    ----------
    loss : {"hamming", "f1"}
        As for `CDA`.
    **common
        See `sqlrl.learn.OnlineEstimator`, also for the attributes.

    Examples
    --------
    >>> MIRA(passes=2)
    MIRA(passes=2)
    """

    word = "mira"

    def __init__(self, *, loss: LabelLoss = "hamming", **common: Unpack[OnlineCommon]) -> None:
        super().__init__(**common)
        self.loss = loss

    def _update(self) -> Update:
        remedy = "look for soft evidence near 0 or 1, which makes single steps long, or learn with CDA"
        return Update(rates=AdditiveRates(1.0, True, self.loss == "f1"), remedy=remedy)


class Perceptron(OnlineEstimator):
    """Learns the weights of a model online with the structured perceptron (Collins 2002).

    Where the prediction is wrong, the difference of the counts is added to the weights.

    Parameters
    ----------
    **common
        See `sqlrl.learn.OnlineEstimator`, also for the attributes.

    Examples
    --------
    >>> Perceptron(average=False)
    Perceptron(average=False)
    """

    word = "perceptron"

    def _update(self) -> Update:
        remedy = "learn with a learner whose steps can be made shorter, such as AdaGrad"
        return Update(rates=AdditiveRates(1.0, False, False), remedy=remedy)


Counts = Literal["gibbs", "mpe"]
StepSize = Literal["scaled", "constant"]


class ContrastiveDivergence(OnlineEstimator):
    """Learns the weights of a model online by contrastive divergence (Hinton 2002; Lowd and Domingos 2007).

    Parameters
    ----------
    counts : {"gibbs", "mpe"}
        Learn from the world after some sweeps of Gibbs sampling that starts at the labels, or from the most probable world.
        Sampling draws blocks as one; where hard clauses are left that are no blocks, it takes steps of MC-SAT. The predicted world
        then serves progressive validation alone: what only a long search could prove is the linear relaxation's world, rounded and
        improved by local search.
    step_size : {"scaled", "constant"}
        Divide each clause's learning rate by its largest difference of counts and by the root of their summed squares, so that clauses of one
        grounding and of a hundred thousand learn at the same pace; or take it as it is.
    learning_rate : float
        The factor of each difference of counts; with scaled steps, of their size: the first step makes a world that differs by as much
        more or less probable by this factor (log-odds).
    sweeps : int
        Sweeps of sampling in each step.
    strength : float
        Lambda: ``strength / 2 * sum(w^2)`` is added to the loss of each example; 0 for no penalty. `learning_rate * strength` must be below 1.
    **common
        See `sqlrl.learn.OnlineEstimator`, also for the attributes.

    Notes
    -----
    A step is w + eta * (delta n - lambda * w), for every clause, whether it occurs in the example or not: a step against the gradient of
    lambda / 2 * sum(w^2), which is taken once for each example. So T examples are penalised as in `Likelihood("l2", strength=T *
    lambda)`; a clause whose delta n has the mean d comes to rest near d / lambda. Where `fit` is given a `start`, the penalty pulls to
    its weights in place of 0, as the regulariser of `CDA` and `Subgradient` does.

    With scaled steps eta is another one for each clause and step, eta / (max |delta n| * sqrt(sum of squared delta n)), over the steps so
    far (`sqlrl.learn.scaled`), and a weight is divided by k when a difference is k times as large as all before. Constant steps fit models
    whose clauses have similar counts alone: what suits a clause of few groundings takes the weight of one of many from one extreme to the
    other, and what suits that one leaves the first at 0.

    Source: Mihalkova and Moustafa, "Structure Selection from Streaming Relational Data" (resolwe), section 4, which adapts contrastive divergence to a
    stream "and used a Gaussian penalty on the weights". It leaves open how strong the penalty is, whether it is taken at each step or
    over the whole stream, whether clauses that do not occur in an example are penalised there, and whether weights are averaged.

    Examples
    --------
    >>> ContrastiveDivergence("mpe", learning_rate=0.5, strength=0.01)
    ContrastiveDivergence(counts='mpe', learning_rate=0.5, strength=0.01)
    """

    word = "cd"

    def __init__(
        self,
        counts: Annotated[Counts, Option("of a sampled or the most probable world")] = "gibbs",
        *,
        step_size: Annotated[
            StepSize, Option("steps of a clause, scaled by its differences of counts or not")
        ] = "scaled",
        learning_rate: Annotated[
            float,
            Above(0.0, "each step moves weights by learning_rate * delta n"),
            Option("learning rate"),
        ] = 0.1,
        sweeps: Annotated[int, Whole(1), Option("sweeps of sampling in each step")] = 1,
        strength: Annotated[float, AtLeast(0.0, "use 0 for no penalty"), Option("strength of the L2 penalty")] = 0.0,
        **common: Unpack[OnlineCommon],
    ) -> None:
        super().__init__(**common)
        self.counts, self.step_size, self.learning_rate, self.sweeps = counts, step_size, learning_rate, sweeps
        self.strength = strength

    def _update(self) -> Update:
        rate, penalty = float(self.learning_rate), float(self.strength)
        if rate * penalty >= 1.0:
            raise InputError(
                f"{Parameter('learning_rate', self.learning_rate)} and {Parameter('strength', self.strength)} take {rate * penalty:g} times its "
                f"value from each weight in each step, which must be less than the whole: use {Parameter('strength')} below "
                f"{1 / rate:g}, or {Parameter('learning_rate')} below {1 / penalty:g}"
            )
        rates: Rates
        if self.step_size == "scaled":
            rates = ScaledRates(rate, penalty)
        else:
            rates = PenalisedRates(rate, penalty) if penalty > 0.0 else AdditiveRates(rate, False, False)
        return Update(rates=rates, remedy="lower learning_rate", sweeps=self.sweeps if self.counts == "gibbs" else 0)
