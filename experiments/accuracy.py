"""How well a model infers one predicate of a mega-example from all others, as in "Transfer Learning with Markov Logic Networks" (Mihalkova and Mooney 2006)."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np
from relations import Relations

import sqlrl

CLIP = 1e-6
"""Least and, from 1, greatest probability that the log-likelihood is taken of."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How likely and how well ranked the atoms of a predicate are.

    Parameters
    ----------
    cll : float
        Conditional log-likelihood per atom, of probabilities that are clipped; NaN without atoms.
    auc : float
        The area under the curve of precision and recall, as average precision; NaN without a true atom.
    atoms, true : int
    sampled : int
        Atoms whose probabilities are not exact.
    seconds : float
        Of loading, grounding and inference.
    """

    cll: float
    auc: float
    atoms: int
    true: int
    sampled: int
    seconds: float


def accuracy(model: sqlrl.Model, test: Relations, target: str, seed: int = 0) -> Accuracy:
    """Infer all atoms of a predicate of the one mega-example of `test`, all others being evidence."""
    (area,) = test.areas
    if not test.pairs(area, target):
        return Accuracy(math.nan, math.nan, 0, 0, 0, 0.0)
    start = time.perf_counter()
    found = replace(test, target=target).load().probabilities(model, random_state=seed).probabilities()
    seconds = time.perf_counter() - start
    arguments = [found.column(k).to_pylist() for k in range(1, 1 + len(test.types[target]))]
    true = {tuple(row) for row in test.areas[area][target]}
    labels = np.array([row in true for row in zip(*arguments, strict=True)])
    probability = found.column("probability").to_numpy()
    chance = np.clip(probability, CLIP, 1 - CLIP)
    return Accuracy(
        float(np.log(np.where(labels, chance, 1 - chance)).mean()),
        float(sqlrl.average_precision(labels, probability)) if labels.any() else math.nan,
        len(labels),
        int(labels.sum()),
        int((found.column("error").to_numpy() > 0).sum()),
        seconds,
    )
