"""The parameters of ADAGRAD_FB, checked when they are made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sqlrl.errors import InputError
from sqlrl.learn.adagrad import Rates

OnInfeasibleTruth = Literal["warn", "skip", "error"]
Ties = Literal["errors", "first"]

TIE = 1e-9
"""Worlds whose scores differ by less than this for each atom in which they differ are tied (log-odds): far below any weight that
a step makes, far above the rounding of sums."""
POLICIES = ("warn", "skip", "error")


@dataclass(frozen=True)
class AdaGradParameters:
    """How ADAGRAD_FB learns.

    Parameters
    ----------
    regularization, learning_rate, delta : float
        Lambda, eta and delta of equation 1.
    loss_augmented : bool
        Take delta n against the world that is most probable when each wrong atom adds 1, instead of the most probable
        world (Algorithm 1, line 4).
    ties : {"errors", "first"}
        Which of several most probable worlds to learn from, which the source leaves open. "errors": the one farthest from the
        labels, so that a tie counts as an error, as it does in the loss; what is learned then does not depend on how
        a solver orders worlds. "first": the solver's own.
    on_infeasible_truth : {"warn", "skip", "error"}
        What to do with examples whose labels violate hard clauses: learn from them, pass over them (they are no
        steps), or raise an error.
    record_history : bool
        Report every clause and weight that a step changed.
    seed : int
        Seed of CP-SAT, from 0 to 2**31 - 1.

    Raises
    ------
    InputError
        A value is out of range; the message says which.
    """

    regularization: float = 0.001
    learning_rate: float = 1.0
    delta: float = 1.0
    loss_augmented: bool = False
    ties: Ties = "errors"
    on_infeasible_truth: OnInfeasibleTruth = "warn"
    record_history: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low, strict, remedy in (
            ("regularization", 0.0, False, "use 0 for no L1 penalty; the OSL paper uses 0.001"),
            ("learning_rate", 0.0, True, "the OSL paper uses 1"),
            ("delta", 0.0, False, "the OSL paper uses 1"),
        ):
            check_number(name, getattr(self, name), low, strict, remedy)
        if self.ties not in ("errors", "first"):
            raise InputError(f"ties={self.ties!r}: choose 'errors' or 'first'")
        if self.on_infeasible_truth not in POLICIES:
            raise InputError(f"on_infeasible_truth={self.on_infeasible_truth!r}: choose 'warn', 'skip' or 'error'")
        check_integer("seed", self.seed, 0, 2**31 - 1)

    @property
    def augmentation(self) -> float:
        """What each wrong atom adds to a world from which delta n is taken (log-odds)."""
        if self.loss_augmented:
            return 1.0
        return TIE if self.ties == "errors" else 0.0

    @property
    def rates(self) -> Rates:
        """The numbers of equation 1 as floats."""
        return Rates(float(self.regularization), float(self.learning_rate), float(self.delta))


def check_number(name: str, value: object, low: float, strict: bool, remedy: str) -> None:
    """Refuse anything but a finite number of at least (if `strict`, above) `low`; the message ends with the remedy."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < low or (strict and value == low):  # type: ignore[arg-type,operator]
        wanted = f"a finite number {'above' if strict else 'of at least'} {low:g}"
        raise InputError(f"{name}={value!r} is not {wanted}: {remedy}")


def check_integer(name: str, value: object, low: int, high: int | None = None) -> None:
    """Refuse anything but an integer from `low` to `high`."""
    integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not integer or value < low or (high is not None and value > high):  # type: ignore[operator]
        raise InputError(f"{name}={value!r}: give an integer of at least {low}{f' and at most {high}' if high else ''}")
