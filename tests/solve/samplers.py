"""What tests of samplers share: exact probabilities by enumeration, and how far an estimate may be from them."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from sqlrl.solve.diagnostics import Estimate
from sqlrl.solve.weighed import Weighed

Floats = npt.NDArray[np.float64]


def exact_marginals(weighed: Weighed) -> Floats | None:
    """P of each atom by enumeration of all worlds, None if there is none."""
    n = len(weighed.atoms)
    worlds = np.array(list(itertools.product([False, True], repeat=n)), dtype=np.bool_).reshape(2**n, n)
    scores = np.array([weighed.score(world) for world in worlds])
    if scores.max() == -np.inf:
        return None
    weight = np.exp(scores - scores.max())
    return np.asarray((weight @ worlds) / weight.sum(), dtype=np.float64)


def assert_close(found: Estimate, expected: Floats, errors: float = 4.0) -> None:
    """The estimate is within so many of its own standard errors."""
    wrong = np.abs(found.mean - expected) > errors * found.error
    assert not wrong.any(), (found.mean[wrong], expected[wrong], found.error[wrong])
