"""How an online learner learns, as values that were checked: what its update rule asks of a step, and what all rules share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from sqlrl.learn.parameters import Option, Whole
from sqlrl.training.ordering import Order

if TYPE_CHECKING:
    from sqlrl.learn.rules import Rates

OnInfeasibleTruth = Literal["warn", "skip", "error"]
Ties = Literal["errors", "first"]
Inference = Literal["exact", "relaxed"]

RUN = "Run"
"""The group of options that say how a run goes, whatever the learner is."""

Seed = Annotated[int | None, Whole(0, 2**31 - 1), Option("seed of order and sampling", panel=RUN, default="0")]
OnTruth = Annotated[OnInfeasibleTruth, Option("for examples whose labels violate hard clauses", panel=RUN)]
InOrder = Annotated[Order, Option("order of the examples", panel=RUN)]
Passes = Annotated[int, Whole(1), Option("passes over the examples", panel=RUN)]
DropZeros = Annotated[bool | None, Option("leave clauses of weight 0 out of the model", panel=RUN)]
AmongTies = Annotated[Ties, Option("of several most probable worlds: the one with most errors, or the first")]
LabelLoss = Annotated[
    Literal["hamming", "f1"], Option("loss by which labels outscore other worlds; f1 of cda with --update prediction")
]
Averaged = Annotated[bool, Option("the last weights in place of their averages", name="--last")]

TIE = 1e-9
"""Worlds whose scores differ by less than this for each atom in which they differ are tied (log-odds): far below any weight that
a step makes, far above the rounding of sums."""


@dataclass(frozen=True, kw_only=True)
class Update:
    """What an update rule asks of a step."""

    rates: Rates  # their type says which rule it is
    remedy: str  # what to change when weights grow out of range
    loss_added: bool = False  # delta n is from the world that is most probable when each wrong atom adds 1
    sweeps: int = 0  # above 0: delta n is from the end of a Markov chain of so many sweeps


@dataclass(frozen=True, kw_only=True)
class Parameters(Update):
    """How a learner learns; `OnlineEstimator` says what the parameters mean that all have."""

    ties: Ties = "errors"
    on_infeasible_truth: OnInfeasibleTruth = "warn"
    record_history: bool = False
    inference: Inference = "exact"
    seed: int = 0

    @property
    def augmentation(self) -> float:
        """What each wrong atom adds to the world from which delta n is taken (log-odds)."""
        if self.loss_added:
            return 1.0
        return TIE if self.ties == "errors" and self.sweeps == 0 else 0.0

    @property
    def one_world(self) -> bool:
        """Whether one world serves prediction and delta n: a relaxation is too dear to be solved twice for ties alone."""
        return self.inference == "relaxed" and not self.loss_added and self.sweeps == 0
