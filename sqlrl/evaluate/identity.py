"""How well labels are predicted by nothing but which entities are in an atom: baselines that know names, and no fact."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlrl.evaluate.probabilities import auc_roc
from sqlrl.progress import staged

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
SideArray = npt.NDArray[np.int8]

NEITHER, TRAIN, TEST = 0, 1, 2
"""The sides of a part in a fold."""

_PRECISE = 1e-5
"""Of the slope of the likelihood, for each square root of an atom."""

STRENGTH = 0.1
"""Of the penalty on squared scores of Bradley and Terry's model."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """How good a baseline is over all folds."""

    name: str
    places: tuple[int, ...]  # the arguments whose constants it knows
    atoms: int  # labels that were predicted
    majority: float  # the share that the more frequent truth value of the training atoms gets right
    accuracy: float
    # The mean area under the ROC curve over folds that test both true and false atoms; NaN if none does.
    auc: float


def identity_baselines(
    truth: BoolArray,
    part: IntArray,
    entities: Mapping[int, IntArray],  # by argument the entity there, from 0
    pairs: Sequence[tuple[int, int]],  # arguments of one type
    sides: SideArray,  # shape (folds, parts)
) -> list[Baseline]:
    """Learn baselines on the training atoms of each fold and score them on its test atoms; all arrays but `sides` are by atom."""
    kinds = [("majority", (place,)) for place in entities] + [("Bradley-Terry", pair) for pair in pairs]
    right, majority, areas = [0] * len(kinds), 0, [list[float]() for _ in kinds]
    tested = 0
    for row in staged("predicting by identity alone", list(sides), even=True):
        side = row[part]
        train, test = side == TRAIN, side == TEST
        if not train.any() or not test.any():
            continue
        tested += int(test.sum())
        more = bool(2 * truth[train].sum() > train.sum())
        majority += int((truth[test] == more).sum())
        both = truth[test].any() and not truth[test].all()
        for k, (name, places) in enumerate(kinds):
            if name == "majority":
                entity = entities[places[0]]
                score, predicted = _majority(entity[train], truth[train], entity[test], more)
            else:
                first, second = (entities[place] for place in places)
                score = bradley_terry(first[train], second[train], truth[train])(first[test], second[test])
                predicted = score > 0
            right[k] += int((predicted == truth[test]).sum())
            if both:
                areas[k].append(auc_roc(truth[test], score))
    if not tested:
        return []
    return [
        Baseline(
            name,
            places,
            tested,
            majority / tested,
            right[k] / tested,
            float(np.mean(areas[k])) if areas[k] else float("nan"),
        )
        for k, (name, places) in enumerate(kinds)
    ]


def _majority(known: IntArray, truth: BoolArray, asked: IntArray, more: bool) -> tuple[FloatArray, BoolArray]:
    """Return the share of true atoms of each entity, shrunk by one atom to that of all, and the more frequent value; ties and the unknown have that of all."""
    size = int(max(known.max(initial=-1), asked.max(initial=-1))) + 1
    atoms = np.bincount(known, minlength=size)
    true = np.bincount(known[truth], minlength=size)
    share = (true + truth.mean()) / (atoms + 1)
    value = np.where(2 * true == atoms, more, 2 * true > atoms)
    return share[asked], value[asked]


class _Scores:
    """Fitted scores; called with entities, it gives log-odds that the first wins, 0 for the score of one that is unknown."""

    def __init__(self, score: FloatArray, intercept: float) -> None:
        self.score, self.intercept = score, intercept

    def __call__(self, first: IntArray, second: IntArray) -> FloatArray:
        size = int(max(first.max(initial=-1), second.max(initial=-1), len(self.score) - 1)) + 1
        score = np.concatenate([self.score, np.zeros(size - len(self.score))])
        found: FloatArray = self.intercept + score[first] - score[second]
        return found


def bradley_terry(first: IntArray, second: IntArray, truth: BoolArray, *, strength: float = STRENGTH) -> _Scores:
    """Fit Bradley and Terry's (1952) log-odds `intercept + score[first] - score[second]` with a penalty `strength / 2` on squared scores."""
    from scipy.optimize import minimize

    size = int(max(first.max(initial=-1), second.max(initial=-1))) + 1
    if truth.all() or not truth.any():
        # The best intercept is infinite, and the scores are 0.
        return _Scores(np.zeros(size), np.inf if truth.all() else -np.inf)
    sign = np.where(truth, 1.0, -1.0)
    # In units in which the curvature is about 1 for each, however many atoms an entity has: conjugate gradients need few steps then.
    degree = (np.bincount(first, minlength=size) + np.bincount(second, minlength=size)) / 4 + strength
    unit = 1 / np.sqrt(np.append(degree, len(truth) / 4))

    def spread(weights: FloatArray) -> FloatArray:
        """Return the log-odds of each pair."""
        score = weights[:-1]
        found: FloatArray = weights[-1] + score[first] - score[second]
        return found

    def gathered(pull: FloatArray) -> FloatArray:
        """Return the transpose of `spread`."""
        return np.append(np.bincount(first, pull, size) - np.bincount(second, pull, size), pull.sum())

    # The intercept has no penalty. Without one, pairs of which few are true would have even odds.
    penalty = np.append(np.full(size, strength), 0.0)

    def objective(scaled: FloatArray) -> tuple[float, FloatArray]:
        weights = unit * scaled
        margin = sign * spread(weights)
        # By parts of both signs, neither of which overflows.
        small = np.exp(-np.abs(margin))
        value = (np.maximum(-margin, 0) + np.log1p(small)).sum() + (penalty * weights**2).sum() / 2
        wrong = np.where(margin > 0, small, 1.0) / (1 + small)
        return float(value), unit * (gathered(-sign * wrong) + penalty * weights)

    def curved(scaled: FloatArray, direction: FloatArray) -> FloatArray:
        small = np.exp(-np.abs(spread(unit * scaled)))
        along = unit * direction
        found: FloatArray = unit * (gathered(small / (1 + small) ** 2 * spread(along)) + penalty * along)
        return found

    start, precise = np.zeros(size + 1), {"gtol": _PRECISE * math.sqrt(len(truth)), "maxiter": 200}
    found: Any = minimize(objective, start, jac=True, hessp=curved, method="trust-ncg", options=precise)
    weights = unit * found.x
    return _Scores(weights[:-1], float(weights[-1]))
