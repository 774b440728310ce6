"""Splits of examples for cross-validation, as plain functions over names, and means over folds and examples."""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, stdev
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from sqlrl import markup
from sqlrl.arguments import refuse
from sqlrl.deprecated import takes_old_arguments
from sqlrl.errors import InputError, Parameter

Example = TypeVar("Example", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Fold(Generic[Example]):
    """One split; both parts keep the order in which the examples were given.

    `name` is the group that is held out, or the number of the fold, from 1.
    """

    name: str
    train: tuple[Example, ...]
    test: tuple[Example, ...]
    _repr_html_ = markup.field_table


def leave_one_group_out(examples: Sequence[Example], groups: Sequence[Hashable]) -> list[Fold[Example]]:
    """Hold out each group once: one fold for each of two or more groups, in the order in which they first occur.

    Parameters
    ----------
    examples : sequence
        Names of examples, each once.
    groups : sequence
        The group of each.

    Returns
    -------
    list of Fold
        With `name`, `train` and `test`; the last two are what `examples=` takes.

    Raises
    ------
    InputError
        There are fewer than two groups, as many groups as examples are not given, or an example occurs twice.

    Examples
    --------
    >>> for fold in leave_one_group_out(["a", "b", "c"], ["face", "logic", "face"]):
    ...     print(fold.name, fold.train, fold.test)
    face ('b',) ('a', 'c')
    logic ('a', 'c') ('b',)
    """
    _check_list(examples)
    _check_list(groups)
    if len(examples) != len(groups):
        raise InputError(f"there are {len(examples)} examples but {len(groups)} groups")
    names = dict.fromkeys(groups)
    if len(names) < 2:
        raise InputError(f"leaving one group out needs two groups or more, not {len(names)}")
    _check_distinct(examples)
    pairs = list(zip(examples, groups, strict=True))
    return [
        Fold(
            str(name), tuple(e for e, group in pairs if group != name), tuple(e for e, group in pairs if group == name)
        )
        for name in names
    ]


@partial(takes_old_arguments, name="k_fold")
def k_fold(examples: Sequence[Example], folds: int = 5, *, random_state: int = 0) -> list[Fold[Example]]:
    """Hold out each of k random parts once; the sizes of the parts differ by one at most.

    Parameters
    ----------
    examples : sequence
        Names of examples, each once.
    folds : int
        From 2 to their number.
    random_state : int
        The same examples and number give the same parts.

    Returns
    -------
    list of Fold
        With `name` (`1`, `2`, ...), `train` and `test`; the last two are what `examples=` takes.

    Raises
    ------
    InputError
        There cannot be so many folds, or an example occurs twice.

    Examples
    --------
    >>> [len(fold.test) for fold in k_fold(range(10), 3)]
    [4, 3, 3]
    """
    _check_list(examples)
    if not 2 <= folds <= len(examples):
        raise InputError(f"folds must lie between 2 and the number of examples, {len(examples)}, not be {folds}")
    _check_distinct(examples)
    order = list(range(len(examples)))
    random.Random(random_state).shuffle(order)  # noqa: S311 (no secret)
    part = [0] * len(examples)
    for rank, index in enumerate(order):
        part[index] = rank % folds
    return [
        Fold(
            str(k + 1),
            tuple(e for e, own in zip(examples, part, strict=True) if own != k),
            tuple(e for e, own in zip(examples, part, strict=True) if own == k),
        )
        for k in range(folds)
    ]


class MeanDeviation(NamedTuple):
    """A mean and the standard deviation of the sample (n - 1 below; 0 for a single value)."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.deviation:.2f}"


def mean_and_deviation(values: Sequence[float]) -> MeanDeviation:
    """Return the mean and the standard deviation of the sample, of at least one value.

    Examples
    --------
    >>> print(mean_and_deviation([80.0, 82.0, 84.0]))
    82.00 ± 2.00
    """
    if not values:
        raise InputError("the mean of no values is not defined")
    return MeanDeviation(fmean(values), stdev(values) if len(values) > 1 else 0.0)


CONFIDENCE = 0.95
"""Of intervals."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean of the differences of two measurements of the same things, and where it may lie.

    Parameters
    ----------
    mean : float
    error : float
        Its standard error.
    low, high : float
        The ends of its interval by Student's t.
    pairs : int
        How many things were measured.
    confidence : float
        Of the interval, such as 0.95.
    """

    mean: float
    error: float
    low: float
    high: float
    pairs: int
    confidence: float = CONFIDENCE
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ({100 * self.confidence:g} % interval {self.low:+.4f} to {self.high:+.4f}, {self.pairs:,} pairs)"


def paired_difference(
    first: npt.ArrayLike, second: npt.ArrayLike, *, confidence: float = CONFIDENCE
) -> PairedDifference:
    """Return the mean of first - second over pairs of numbers, with its interval by Student's t.

    Parameters
    ----------
    first, second : float array, shape (n,)
        Two measurements of each of two or more things.
    confidence : float
        Of the interval, between 0 and 1.

    Returns
    -------
    PairedDifference

    Raises
    ------
    InputError
        There are fewer than two pairs, a number is not finite, or the confidence is no share.

    Examples
    --------
    >>> print(paired_difference([0.5, 0.75, 1.0], [0.5, 0.5, 0.5]))
    +0.2500 (95 % interval -0.3710 to +0.8710, 3 pairs)
    """
    from scipy.special import stdtrit

    asked: object = confidence
    if isinstance(asked, bool) or not isinstance(asked, int | float | np.number) or not 0 < float(asked) < 1:
        raise InputError(
            f"{Parameter('confidence', confidence)} must be a share between 0 and 1, such as 0.95 (not 95 for percent)."
        )
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.ndim != 1 or one.shape != other.shape or len(one) < 2:
        raise InputError(
            f"an interval needs two lists of one length, 2 or more, not of shapes {one.shape} and {other.shape}"
        )
    if not np.isfinite(one).all() or not np.isfinite(other).all():
        raise InputError("the difference of numbers that are not finite is not defined: leave such pairs out")
    mean, error = mean_and_error(one - other)
    half = float(stdtrit(len(one) - 1, (1 + float(confidence)) / 2)) * error
    return PairedDifference(mean, error, mean - half, mean + half, len(one), float(confidence))


def mean_and_error(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean of a sample and its standard error, NaN where they are not defined."""
    size = len(values)
    if size == 0:
        return math.nan, math.nan
    mean = math.fsum(values.tolist()) / size
    if size == 1:
        return mean, math.nan
    return mean, math.sqrt(math.fsum(((values - mean) ** 2).tolist()) / (size - 1) / size)


def _check_list(examples: object) -> None:
    """Refuse what is no list of names."""
    if isinstance(examples, str) or not (hasattr(examples, "__len__") and hasattr(examples, "__iter__")):
        raise refuse("names of examples", examples)


def _check_distinct(examples: Sequence[Hashable]) -> None:
    """Refuse an example that occurs twice, which could stand in both parts of a split, and what is no list of examples."""
    seen: set[Hashable] = set()
    for example in examples:
        if example in seen:
            raise InputError(f"the example {example!r} occurs twice")
        seen.add(example)
