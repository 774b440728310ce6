"""Approximate maximum likelihood: the expectation of hinges is taken to be what they are in the most probable state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Protocol

import numpy as np

from sqlrl.deprecated import takes_old_parameters
from sqlrl.errors import InputError, NumericError
from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.learn.parameters import Option, Whole
from sqlrl.learn.settings import Averaged
from sqlrl.learn.soft.atom_hinges import Unlabelled, check_truth
from sqlrl.learn.soft.estimator import SoftEstimator
from sqlrl.learn.soft.settings import (
    OnUnlabelled,
    Penalty,
    PerRule,
    Rate,
    SoftWeights,
    Strength,
    check_soft_parameters,
    l2_and_l1,
    projected,
    saved,
    starting,
    step_rates,
)
from sqlrl.solve.hinge.inference import map_state
from sqlrl.training.hinge_parts import LabelledHinges
from sqlrl.training.labels import Names
from sqlrl.training.records import Iteration, Report
from sqlrl.training.soft import SoftTraining

Iterations = Annotated[int, Whole(1), Option("most iterations")]

SETTLED = 1e-6
"""Gradients of at most this share of the labels' hinges are 0 but for inference, which ends about as near."""


class Inference(Protocol):
    """Finds a most probable state."""

    def __call__(self, network: HingeNetwork, weights: FloatArray, warm: FloatArray | None, /) -> FloatArray:
        """Return truths of the n atoms for weights, perhaps starting from the truths of the last call, None at the first."""
        ...


def most_probable(network: HingeNetwork, weights: FloatArray, warm: FloatArray | None, /) -> FloatArray:
    """Find a most probable state with the default options."""
    return map_state(network, weights, warm=warm).y


@takes_old_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class SoftMapLikelihood(SoftEstimator):
    r"""Learns weights by steps along the hinges of the most probable state less those of the labels.

    Parameters
    ----------
    learning_rate : float
        What the gradient is taken times in a step.
    max_iterations : int
        How many; none ends learning before. A `ConvergenceWarning` tells how much the last one changed the weights.
    per_rule : bool
        Divide the gradient of each rule, penalties included, by its number of ground rules that atoms are in, as PSL's own program does: rules with
        many ground rules do not outrun the others then, and the point where gradients are 0 stays where it is.
    average : bool
        The mean of the weights after each iteration is the result, not the last weights.
    penalty, strength
        As in `SoftPseudoLikelihood`; of the gradient ``strength * w`` is taken, or `strength`.
    unlabelled : {"error", "zero"}
        What atoms without a label count as at the labels: refused, or 0.

    Notes
    -----
    Source: Bach, Broecheler, Huang, Getoor, "Hinge-Loss Markov Random Fields and Probabilistic Soft Logic", JMLR 18 (2017), section 6.1: the gradient
    of the log-likelihood is the expectation of hinges less what they are at the labels, and the expectation is approximated by the most
    probable state, as in the voted perceptron of Collins (2002). Steps end at 0 where they would lead below it. A most
    probable state is the same for all multiples of the weights, so that only penalties say how large they are; where all weights are 0 every state is
    most probable, which is why the default start is 1. What the steps climb, ``min over y of w @ hinges(y)`` less ``w @ hinges(labels)`` and the penalty, is
    concave and at most 0, which it is at ``w = 0``: with a penalty smaller steps or more of them lead there, and weights are useful because steps end before. So
    no rule for the length of steps makes them converge to something better, and learning warns.

    Examples
    --------
    One atom, whose most probable truth is that of the heavier rule:

    >>> from sqlrl.learn.soft.sample_hinges import hinge_network
    >>> network = hinge_network([(0, {0: -1.0}, 1.0, 1), (1, {0: 1.0}, 0.0, 1)])
    >>> heavier = lambda network, weights, warm: np.array([float(weights[0] > weights[1])])
    >>> learner = SoftMapLikelihood(learning_rate=0.5, max_iterations=4, strength=0, average=False)
    >>> learner.learn(network, np.array([1.0]), heavier).weights.tolist()
    [1.5, 0.5]
    """

    word: ClassVar[str] = "soft-map-likelihood"
    remedy: ClassVar[str] = (
        "steps along this gradient end where max_iterations says, and with a penalty at weights of 0: compare predictions of other max_iterations and "
        "learning_rate on held-out data, or take soft-pseudo-likelihood, which has an optimum"
    )

    in_parts: ClassVar[bool] = True

    learning_rate: Rate = 0.2
    max_iterations: Iterations = 25
    per_rule: PerRule = True
    average: Averaged = True
    penalty: Penalty = "l2"
    strength: Strength = 1.0
    unlabelled: OnUnlabelled = "error"

    def __post_init__(self) -> None:
        check_soft_parameters(self)

    def _learned(
        self, training: SoftTraining, start: FloatArray | None, report: Report, after: Iteration | None
    ) -> SoftWeights:
        parts = training.parts or [LabelledHinges(training.network, training.truth)]
        return self._steps(parts, most_probable, training.names, start, report, after)

    def _weights_after(self, iteration: Iteration) -> FloatArray:
        state = saved(iteration)
        return state["total"] / iteration.iteration if self.average else state["weight"]

    def learn(
        self,
        network: HingeNetwork,
        truth: FloatArray,
        solve: Inference,
        *,
        names: Names | None = None,
        start: FloatArray | None = None,
        report: Report | None = None,
        after: Iteration | None = None,
    ) -> SoftWeights:
        """Learn the weights of the rules of a network that are not hard.

        Parameters
        ----------
        network, truth, names
            As `SoftPseudoLikelihood.learn`.
        solve : Inference
        start : array of float64, shape (m,), optional
            Weights to start from; 1 by default.
        report : callable, optional
            Called with an `Iteration` after each: `step` is the length of the change of the weights, `optimality` the largest violation of the
            condition of optimality by the approximate gradient.
        after : Iteration, optional
            As it was reported: go on from there, in place of `start`.

        Returns
        -------
        SoftWeights
            Its gradient is the approximate one of the last iteration, before its step. It has converged if that is 0 within a millionth.

        Raises
        ------
        InputError
            No atom has a label, one that shares a hinge with others has none, a label is not from 0 to 1, or a weight to start from is not
            a finite number of at least 0.
        NumericError
            Inference returned what is no state.
        """
        return self._steps([LabelledHinges(network, truth)], solve, names or Names(), start, report, after)

    def _steps(
        self,
        parts: Iterable[LabelledHinges],
        solve: Inference,
        names: Names,
        start: FloatArray | None,
        report: Report | None,
        after: Iteration | None,
    ) -> SoftWeights:
        """Take the steps over parts that share no atom; each is looked at once in a step."""
        l2, l1 = l2_and_l1(self)
        labels = _labels(parts, names, self.unlabelled)
        observed, ground, hard, m = labels.observed, labels.ground, labels.hard, len(labels.hard)
        weights = starting(hard, start, 1.0)
        soft = ~hard & (ground > 0)
        weights = np.where(soft, weights, 0.0)
        rate = step_rates(self.learning_rate, ground, per_rule=self.per_rule)
        total, gradient, state, done, length, settled = np.zeros(m), np.zeros(m), None, 0, 0.0, False
        if after is not None:
            going = saved(after)
            weights, total, gradient, state = (going[name] for name in ("weight", "total", "gradient", "truth"))
            done = after.iteration
        for iteration in range(done + 1, self.max_iterations + 1):
            state, found = _states(parts, weights, state, solve)
            difference = found - observed
            gradient = np.where(soft, difference - l2 * weights - l1, 0.0)
            moved = np.maximum(weights + rate * gradient, 0.0)
            violated, length = projected(weights, gradient), float(np.linalg.norm(moved - weights))
            settled = bool((violated <= SETTLED * np.maximum(1.0, observed)).all())
            weights, total = moved, total + moved
            if report is not None:
                report(
                    Iteration(
                        iteration=iteration,
                        step=length,
                        optimality=float(violated.max(initial=0.0)),
                        share=iteration / self.max_iterations,
                        state=partial(dict, weight=weights, total=total, gradient=gradient, truth=state),
                    )
                )
        found = total / self.max_iterations if self.average else weights
        return SoftWeights(found, gradient, float("nan"), self.max_iterations, settled, labels.number, step=length)


@dataclass(frozen=True, eq=False)
class _Labels:
    """What labels say of m rules."""

    observed: FloatArray  # shape (m,): distances at the labels
    ground: IntArray  # shape (m,): ground rules that atoms are in
    hard: BoolArray
    number: int  # how many labels there are


def _labels(parts: Iterable[LabelledHinges], names: Names, unlabelled: Unlabelled) -> _Labels:
    """Add up what labels say in all parts; refuse what cannot be learned from."""
    found: _Labels | None = None
    for part in parts:
        network, number = part.network, int(np.count_nonzero(~np.isnan(part.truth)))
        known = check_truth(network, part.truth, names, unlabelled)
        here, observed = network.ground_rules, network.incompatibility(known)
        if found is not None:
            observed, here, number = found.observed + observed, found.ground + here, found.number + number
        found = _Labels(observed, here, network.hard, number)
    assert found is not None, "there is at least one part"
    return found


def _states(
    parts: Iterable[LabelledHinges], weights: FloatArray, warm: FloatArray | None, solve: Inference
) -> tuple[FloatArray, FloatArray]:
    """Return the most probable state of all parts, one after the other, and the distances of each rule there."""
    states: list[FloatArray] = []
    distances, begin = np.zeros(len(weights)), 0
    for part in parts:
        size = len(part.network.atoms)
        state = _checked(
            solve(part.network, weights, None if warm is None else warm[begin : begin + size]), part.network
        )
        distances += part.network.incompatibility(state)
        states.append(state)
        begin += size
    return np.concatenate(states), distances


def _checked(state: FloatArray, network: HingeNetwork) -> FloatArray:
    """Refuse what is no state; truths that rounding left outside of 0 to 1 are taken for the nearest."""
    if state.shape != network.atoms.shape:
        raise InputError(
            f"inference returned {state.shape} truths for {len(network.atoms):,} atoms: return one for each"
        )
    wrong = np.flatnonzero(~((state >= -1e-6) & (state <= 1 + 1e-6)))
    if len(wrong):
        raise NumericError(
            f"inference returned the truth {state[wrong[0]]:g} of atom {network.atoms[wrong[0]]}: weights have grown out of range, or it did not "
            "converge; take smaller steps"
        )
    return np.clip(state, 0.0, 1.0)
