"""Options of the batch learners, which see all training examples at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

_BATCH = "Batch learners"


class Penalty(StrEnum):
    """Penalties of weights."""

    l1 = "l1"
    l2 = "l2"


class Loss(StrEnum):
    """Losses that margins have."""

    hamming = "hamming"
    zero_one = "zero-one"


class Separation(StrEnum):
    """How violated margins are found."""

    relaxed = "relaxed"
    exact = "exact"


class Moments(StrEnum):
    """Where expected counts come from."""

    mcsat = "mcsat"
    exact = "exact"


def _option(name: str, words: str, *, metavar: str | None = None, default: str = "") -> Any:
    return typer.Option(name, metavar=metavar, help=words, show_default=default or False, rich_help_panel=_BATCH)


PenaltyBy = Annotated[
    Penalty | None,
    _option("--penalty", "likelihood, max-margin: of the weights.", default="l1, of max-margin l2"),
]
Strength = Annotated[
    str | None,
    _option(
        "--strength",
        "likelihood: weight of the penalty; of several the best is chosen by held-out labels.",
        metavar="X[,X...]",
        default="1",
    ),
]
Folds = Annotated[
    int | None,
    _option(
        "--folds",
        "likelihood, max-margin: parts that are held out in turn.",
        metavar="N",
        default="5, of max-margin none",
    ),
]
GroupsBy = Annotated[
    str | None,
    _option(
        "--groups",
        "likelihood: which atoms are held out together, as a query of their arguments and then a group.",
        metavar="QUERY",
    ),
]
Price = Annotated[
    str | None,
    _option(
        "--C",
        "max-margin: price of the slack; of several the best is chosen by training examples, with --folds by held-out ones.",
        metavar="X[,X...]",
        default="1",
    ),
]
LossBy = Annotated[Loss | None, _option("--loss", "max-margin: by which labels outscore others.", default="hamming")]
SeparationBy = Annotated[
    Separation | None,
    _option("--separation", "max-margin: how violated margins are found.", default="relaxed"),
]
Epsilon = Annotated[
    float | None, _option("--epsilon", "max-margin: violation that is accepted.", metavar="X", default="0.001")
]
Tolerance = Annotated[
    float | None,
    _option("--tolerance", "likelihood, pscg: when to stop.", metavar="X", default="1e-7, of pscg 1e-5"),
]
MaxIterations = Annotated[
    int | None,
    _option("--max-iterations", "likelihood, max-margin: at most.", metavar="N", default="2000, of max-margin 1000"),
]
Iterations = Annotated[
    int | None, _option("--iterations", "pscg, voted-perceptron: how many.", metavar="N", default="100")
]
Samples = Annotated[
    int | None, _option("--samples", "pscg: worlds drawn for each iteration.", metavar="N", default="5")
]
MomentsBy = Annotated[Moments | None, _option("--moments", "pscg: where expected counts come from.", default="mcsat")]
PriorDeviation = Annotated[
    float | None,
    _option(
        "--prior-deviation",
        "pscg, voted-perceptron: standard deviation of the Gaussian prior; inf is no prior.",
        metavar="X",
        default="2",
    ),
]


@dataclass(frozen=True)
class Batch:
    """How batch learners learn; see `sqlrl.Likelihood`, `PSCG`, `VotedPerceptron` and `MaxMargin`."""

    penalty: PenaltyBy = None
    strength: Strength = None
    folds: Folds = None
    groups: GroupsBy = None
    price: Price = None
    loss: LossBy = None
    separation: SeparationBy = None
    epsilon: Epsilon = None
    tolerance: Tolerance = None
    max_iterations: MaxIterations = None
    iterations: Iterations = None
    samples: Samples = None
    moments: MomentsBy = None
    prior_deviation: PriorDeviation = None

    def given(self, name: str) -> object:
        """Return an option's value as the estimators take it; None if it was not given.

        Raises
        ------
        typer.BadParameter
            It is no list of numbers.

        Examples
        --------
        >>> Batch(strength="0.1,1").given("strength"), Batch(price="10").given("price")
        ([0.1, 1.0], 10.0)
        """
        value = getattr(self, name)
        if name in ("strength", "price") and value is not None:
            return _numbers("--C" if name == "price" else "--strength", value)
        return value.value if isinstance(value, StrEnum) else value


def without_prior(deviation: object) -> bool:
    """Return whether a standard deviation says that there is no prior.

    Examples
    --------
    >>> without_prior(float("inf")), without_prior(2.0)
    (True, False)
    """
    return isinstance(deviation, float) and math.isinf(deviation) and deviation > 0


def _numbers(option: str, text: str) -> float | list[float]:
    """Return numbers with commas between them; one alone is no list."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"{option} {text}: give a number, or several with commas between them: 0.1,1,10"
        ) from None
    return found if len(found) > 1 else found[0]
