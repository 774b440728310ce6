"""What tests of samplers share: exact probabilities by enumeration, and how far an estimate may be from them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sqlrl.solve.sampling.diagnostics import SampleEstimate
from sqlrl.solve.weighted import WeightedNetwork
from tests.solve.networks import Problem, worlds

Floats = npt.NDArray[np.float64]


def exact_marginals(weighted: WeightedNetwork) -> Floats | None:
    """P of each atom by enumeration of all worlds, None if there is none."""
    n = len(weighted.atoms)
    worlds = np.array(list(itertools.product([False, True], repeat=n)), dtype=np.bool_).reshape(2**n, n)
    scores = np.array([weighted.score(world) for world in worlds])
    if scores.max() == -np.inf:
        return None
    weight = np.exp(scores - scores.max())
    return np.asarray((weight @ worlds) / weight.sum(), dtype=np.float64)


def problem_marginals(problem: Problem) -> Floats | None:
    """P of each atom from the lists of a problem; scores and their differences in exact arithmetic."""
    found = list(worlds(problem))
    if not found:
        return None
    scores = [problem.score(world) for world in found]
    best = max(scores)
    weight = np.array([math.exp(float(max(score - best, Fraction(-800)))) for score in scores])
    true = np.array(found, dtype=np.bool_).reshape(len(found), problem.atoms)
    return np.asarray((weight @ true) / weight.sum(), dtype=np.float64)


def assert_close(found: SampleEstimate, expected: Floats, errors: float = 4.0) -> None:
    """The estimate is within so many of its own standard errors."""
    wrong = np.abs(found.mean - expected) > errors * found.error
    assert not wrong.any(), (found.mean[wrong], expected[wrong], found.error[wrong])
