"""Choosing a setting for each test group on the other groups, of folds that leave one group out.

A training leaves two groups out and predicts both: where one is the test group, the score on the other chooses. So each training serves
two folds, and no label of a test group has a part in what is chosen for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, TypeVar

from sqlrl.evaluate import Fold, mean_and_deviation

Setting = TypeVar("Setting")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One training for choosing.

    Parameters
    ----------
    fold : Fold
        What to train on; `test` is empty.
    held : tuple of Fold
        The two folds whose test examples are in neither.
    """

    fold: Fold[str]
    held: tuple[Fold[str], Fold[str]]


@dataclass(frozen=True, slots=True)
class Tried(Generic[Setting]):
    """What an attempt with one setting gave: the score of each group that it left out, higher is better."""

    setting: Setting
    scores: Mapping[str, float]


def attempts(folds: Sequence[Fold[str]], only: str | None = None) -> list[Attempt]:
    """Return a training for each pair of groups that it leaves out.

    Parameters
    ----------
    folds : sequence of Fold
        One for each group, at least 3; the test examples are those of the group.
    only : str, optional
        The only group for which a setting is chosen.
    """
    found = []
    for first, second in combinations(folds, 2):
        if only in (None, first.name, second.name):
            others = [fold for fold in folds if fold.name not in (first.name, second.name)]
            examples = tuple(example for fold in others for example in fold.test)
            found.append(Attempt(Fold(" + ".join(fold.name for fold in others), examples, ()), (first, second)))
    return found


def choose(tried: Sequence[Tried[Setting]], test: str) -> Setting:
    """Return the setting with the best mean score on the other groups, of equals the first in the order of `tried`.

    Parameters
    ----------
    tried : sequence of Tried
        For each setting one of each attempt.
    test : str
        The test group; its scores have no part, and neither have trainings on it.
    """
    scores: dict[Setting, list[float]] = {}
    for one in tried:
        if test in one.scores:
            (score,) = (score for group, score in one.scores.items() if group != test)
            scores.setdefault(one.setting, []).append(score)
    return max(scores, key=lambda setting: mean_and_deviation(scores[setting]).mean)
