"""Choosing sigma, the parameter of CDA and of the subgradient method, on training examples alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

import sqlrl

SIGMAS = (0.00001, 0.0001, 0.001, 0.01, 0.1, 1.0)


class Estimator(Protocol):
    """What the experiments ask of a learner."""

    model_: sqlrl.Model
    steps_: pa.Table

    def fit(self, db: sqlrl.Database, model: sqlrl.Model, *, examples: object = None) -> Estimator:
        """Learn from examples."""
        ...


Make = Callable[[float], Estimator]
"""Makes a learner from sigma."""


@dataclass(frozen=True)
class Chosen:
    """A learner that was fitted with the sigma that was chosen.

    Parameters
    ----------
    estimator : Estimator
    sigma : float or None
        None for a learner without that parameter.
    seconds : float
        Wall time of its fit, grounding included, without those of the other values.
    """

    estimator: Estimator
    sigma: float | None
    seconds: float


def choose_sigma(
    db: sqlrl.Database,
    model: sqlrl.Model,
    make: Make,
    examples: Sequence[str],
    sigmas: Sequence[float | None] = SIGMAS,
) -> Chosen:
    """Fit a learner for each sigma and keep that of the fewest mistakes over its pass.

    Each example is predicted before it is learned, so a mistake is one on an example not yet seen; no test example is
    looked at. The thesis sets sigma "based on training performance" and does not say how.
    """
    best: tuple[float, Chosen] | None = None
    for sigma in sigmas:
        fitted = _fitted(db, model, make, examples, sigma)
        mistakes = float(pc.sum(fitted.estimator.steps_.column("loss")).as_py())
        if best is None or mistakes < best[0]:
            best = (mistakes, fitted)
    assert best is not None
    return best[1]


HELD_OUT = 5
"""Every so many training examples one is held out."""


def choose_held_out(
    db: sqlrl.Database,
    model: sqlrl.Model,
    make: Make,
    examples: Sequence[str],
    sigmas: Sequence[float | None] = SIGMAS,
) -> Chosen:
    """Fit a learner on four fifths of the examples for each sigma, and on all with that of the best F1 on the other fifth.

    Of equals the smallest. Mistakes on the way (`choose_sigma`) are those of the weights so far, but what predicts are averaged
    weights. Where labels are wrong these two part: steps that are far too short (a large sigma) make the fewest mistakes on the way.
    """
    held = list(examples[::HELD_OUT])
    others = [example for i, example in enumerate(examples) if i % HELD_OUT]
    scores = [0.0]
    if len(sigmas) > 1:
        models = (_fitted(db, model, make, others, sigma).estimator.model_ for sigma in sigmas)
        scores = [db.evaluate(db.predict(each, examples=held)).f1 for each in models]
    return _fitted(db, model, make, examples, sigmas[scores.index(max(scores))])


def _fitted(db: sqlrl.Database, model: sqlrl.Model, make: Make, examples: Sequence[str], sigma: float | None) -> Chosen:
    """Fit a learner with one sigma, and measure it."""
    estimator = make(sigma if sigma is not None else 0.0)
    start = time.perf_counter()
    estimator.fit(db, model, examples=list(examples))
    return Chosen(estimator, sigma, time.perf_counter() - start)
