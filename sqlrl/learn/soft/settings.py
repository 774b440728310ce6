"""What learners of soft weights share: declarations of parameters, what is refused, and what is learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, Protocol

import numpy as np

from sqlrl import markup
from sqlrl.errors import InputError, Parameter, Phrase, UnboundedWeightError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.learn.parameters import Above, AtLeast, Option, Whole, check_parameters, listed, several
from sqlrl.learn.soft.atom_hinges import AtomHinges
from sqlrl.training.labels import SHOWN, Names
from sqlrl.training.records import Iteration, Report
from sqlrl.wording import counted

Penalty = Annotated[Literal["l2", "l1", "elastic"], Option("penalty on the weights")]
Strength = Annotated[
    float | Sequence[float],
    AtLeast(0.0, "use 0 for no penalty; 1 is the default"),
    Option("strength of the penalty; of elastic two numbers, L2 first, then L1"),
]
OnUnlabelled = Annotated[
    Literal["error", "zero"], Option("what atoms without a label are to others: refused, or 0", name="--unlabelled")
]
Method = Annotated[Literal["exact", "steps"], Option("the maximum, or so many steps towards it")]
Steps = Annotated[int, Whole(1), Option("steps along the gradient (--method steps)", name="--gradient-steps")]
Rate = Annotated[float, Above(0.0, "without it nothing is learned"), Option("learning rate")]
PerRule = Annotated[bool, Option("steps are not divided by how many ground rules a rule has", name="--one-rate")]


class Penalised(Protocol):
    """What has a penalty on its weights."""

    penalty: Literal["l2", "l1", "elastic"]
    strength: float | Sequence[float]


def check_soft_parameters(learner: Penalised) -> None:
    """Refuse parameters that are out of range, and strengths that the penalty has not."""
    check_parameters(learner)
    given: object = learner.strength
    count = 0 if isinstance(given, Set) else len(listed("strength", given))  # a set has no order
    if count != (2 if learner.penalty == "elastic" else 1) or several(learner.strength) != (count == 2):
        raise InputError(
            f"{Parameter('penalty', learner.penalty)} cannot go with {Parameter('strength', learner.strength)}: give one number, or "
            f"two with {Parameter('penalty', 'elastic')}, that of the L2 penalty and that of the L1 penalty"
        )


def l2_and_l1(learner: Penalised) -> tuple[float, float]:
    """Return how strong the two penalties of a learner are."""
    given = listed("strength", learner.strength)
    if learner.penalty == "elastic":
        return given[0], given[1]
    return (given[0], 0.0) if learner.penalty == "l2" else (0.0, given[0])


ROUNDING = 1e-12
"""A hinge of at most this at a label, which may come from sums of truths, is not taken for a violation; nor is so small a share of a sum."""


@dataclass(frozen=True, eq=False)
class SoftWeights:
    """Learned weights, and how learning ended."""

    weights: FloatArray  # shape (m,): 0 for hard rules and those without hinges in labelled atoms
    gradient: FloatArray  # shape (m,): of the objective at `weights`
    objective: float  # what was maximised, penalties included; NaN where it cannot be computed
    iterations: int
    converged: bool  # whether the condition of optimality holds within the tolerance
    labelled: int  # atoms with a label
    outside: int = 0  # of these, not learned from, as `narrow`: see `AtomHinges`
    narrow: int = 0
    step: float = float(
        "nan"
    )  # of learners without an objective: how much the last iteration changed the weights (2-norm)
    _repr_html_ = markup.field_table

    @property
    def optimality(self) -> float:
        """The largest violation of the condition of optimality."""
        return float(projected(self.weights, self.gradient).max(initial=0.0))

    @property
    def off(self) -> str:
        """How far off the weights are, as a phrase."""
        gradient = f"the gradient is off by {self.optimality:.3g}"
        if np.isnan(self.step):
            return gradient
        return f"{gradient}, and the last iteration changed the weights, of length {float(np.linalg.norm(self.weights)):.3g}, by {self.step:.3g}"


def projected(weights: FloatArray, gradient: FloatArray) -> FloatArray:
    """How much the gradient of what is maximised over weights of at least 0 violates optimality, by weight."""
    return np.where(weights > 0, np.abs(gradient), np.maximum(gradient, 0.0))


def saved(after: Iteration) -> Mapping[str, FloatArray]:
    """Return what was saved of the iteration after which a run goes on."""
    assert after.state is not None, "it was saved"
    return after.state()


def starting(hard: BoolArray, start: FloatArray | None, default: float) -> FloatArray:
    """Return the weights to start from, 0 for hard rules; refuse those that no soft model has."""
    if start is None:
        return np.where(hard, 0.0, default)
    if start.shape != hard.shape:
        raise InputError(
            f"there are {start.shape} weights to start from for {counted(len(hard), 'rule')}: give one for each"
        )
    wrong = np.flatnonzero(~hard & ~((start >= 0) & np.isfinite(start)))
    if len(wrong):
        raise InputError(
            f"the weight of rule {wrong[0]} to start from is {start[wrong[0]]:g}: give a finite number of at least 0, or {Phrase('None')} for those of the "
            "learner"
        )
    return np.where(hard, 0.0, start)


def step_rates(rate: float, ground: IntArray | FloatArray, *, per_rule: bool) -> FloatArray:
    """Return what the gradient is taken times in a step, shape (m,): of each rule by its number of ground rules, or the same of all."""
    return rate / np.maximum(ground, 1.0) if per_rule else np.full(len(ground), rate)


def gradient_steps(
    gradient: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    steps: int,
    rate: FloatArray,  # shape (m,): the factor of the gradient
    report: Report | None = None,
    *,
    done: int = 0,
) -> FloatArray:
    """Take the steps `done` + 1 to `steps` along the gradient, cut weights at 0 after each, and return them, shape (m,)."""
    weights = start
    for step in range(done + 1, steps + 1):
        moved = np.maximum(weights + rate * gradient(weights), 0.0)
        if report is not None:
            length = float(np.linalg.norm(moved - weights))
            report(Iteration(iteration=step, step=length, share=step / steps, state=partial(dict, weight=moved)))
        weights = moved
    return weights


def check_bounded(
    gains: BoolArray, hinges: AtomHinges, least: FloatArray, names: Callable[[int], str] | None = None
) -> None:
    """Refuse rules that would get infinite weights: they gain by weight, and no truth violates them less than the labels do."""
    names = names or Names(clause="rule {}".format).clause
    # The likelihood rises with a weight of 0 in `gains`; `least` are the sums of hinges where those of each atom are
    # least.
    rounding = hinges.ground * np.where(hinges.squared, ROUNDING**2, ROUNDING) + ROUNDING * hinges.observed
    wrong: IntArray = np.flatnonzero(gains & (hinges.observed - least <= rounding))
    if not len(wrong):
        return
    said = ", ".join(names(int(rule)) for rule in wrong[:SHOWN])
    more = f" and {len(wrong) - SHOWN:,} more" if len(wrong) > SHOWN else ""
    its = "its weight" if len(wrong) == 1 else "their weights"
    raise UnboundedWeightError(
        f"training data never violate {said}{more}, so that {its} would be infinite without a penalty: give {Parameter('strength')} a value above 0",
        tuple(wrong.tolist()),
    )
