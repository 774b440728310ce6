"""Clauses that together rank atoms: what one says about labels beyond what others say, and a theory of those that say enough.

A clause is a feature of an atom: whether it covers it. With weights the features make a logistic model, and a clause that is right once
in ten times says much where one atom in a hundred is positive. The theory grows by the clause under which labels become likeliest, given
the clauses before it, as long as that is more than it costs to describe the clause. So weaker clauses come after strong ones, also
about atoms that these cover already, and a clause that says the same in other words does not come at all.

Source: Della Pietra, Della Pietra and Lafferty, "Inducing features of random fields" (1997), for the growth of a model by the feature with
the greatest gain; Quinlan, "Learning logical definitions from relations" (1990), section 4.2, for the length of a clause's description as its
cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit, xlogy

from sqlrl.ground.network import BoolArray, FloatArray
from sqlrl.logic.components import Component
from sqlrl.progress import Stage
from sqlrl.wording import counted

LITERAL = 0.25
"""What a literal of a clause costs, in nats."""

CONSTANT = 0.5
"""What a constant costs in nats, for each nat of the choice between the constants that stand in its place in other clauses."""

RIDGE = 0.1
"""The strength of a Gaussian prior of weights while a theory grows: a clause that covers no negative atom has no greatest one."""

_FAILURES = 20
"""Clauses in a row that turn out to gain less than they cost, after which no other one is tried."""

_STEPS, _PRECISION = 50, 1e-8
"""Newton's steps, and the share of the likelihood by which the last one changes it no more."""


def gains(
    positives: npt.ArrayLike, negatives: npt.ArrayLike, all_positives: npt.ArrayLike, all_negatives: npt.ArrayLike
) -> FloatArray:
    """Return in nats how much likelier c clauses make labels than their overall share does, from what each covers: half of its G statistic."""
    p, n = np.asarray(positives, dtype=np.float64), np.asarray(negatives, dtype=np.float64)
    positive, negative = np.asarray(all_positives, dtype=np.float64), np.asarray(all_negatives, dtype=np.float64)
    apart = _likelihood(p, n) + _likelihood(positive - p, negative - n)
    together = _likelihood(positive, negative)
    # What says nothing may be below 0 by the last digit.
    return np.maximum(apart - together, 0.0)


def costs(bodies: Sequence[Sequence[Component]]) -> FloatArray:
    """Return what it costs to describe the bodies of clauses, in nats, shape (c,)."""
    met: dict[tuple[int, int], set[int]] = {}
    places: list[list[tuple[int, int]]] = []
    for body in bodies:
        own = [(x.predicate, i, t) for component in body for x in component for i, t in enumerate(x.terms) if t < 0]
        for predicate, i, term in own:
            met.setdefault((predicate, i), set()).add(term)
        places.append([(predicate, i) for predicate, i, _ in own])
    # The choice is between the constants that any of the bodies has at the same argument of the same predicate.
    choice = {place: float(np.log(len(terms))) for place, terms in met.items()}
    literals = np.array([sum(map(len, body)) for body in bodies], dtype=np.float64)
    constants = np.array([sum(choice[place] for place in own) for own in places], dtype=np.float64)
    return LITERAL * literals + CONSTANT * constants


class Chosen(NamedTuple):
    """Clauses of a theory: their places, in the order in which they came, and the gain of each less its cost, in nats."""

    places: list[int]
    scores: list[float]


def rank(
    cover: sparse.csr_matrix,
    truth: BoolArray,
    cost: FloatArray,
    least: float = 0.0,
) -> Chosen:
    """Choose clauses one by one by gain less cost (nats), above `least`; `cover` is float64 of shape (c, n), 1 where a clause covers an atom."""
    found = Chosen([], [])
    label = truth.astype(np.float64)
    positives, size = cover @ label, np.asarray(cover.sum(axis=1)).reshape(-1)
    left = np.ones(cover.shape[0], dtype=np.bool_)
    fitted = _fitted(np.ones((len(label), 1)), label, np.array([float(np.log(label.mean() / (1 - label.mean())))]))
    failed = 0
    with Stage("choosing clauses") as stage:
        while left.any() and failed < _FAILURES:
            best = _hopeful(cover, fitted.probability, positives, size, np.where(left, cost, np.inf), least)
            if best is None:
                break
            left[best] = False
            columns = np.column_stack([fitted.columns, cover[best].toarray()[0]])
            longer = _fitted(columns, label, np.append(fitted.weights, 0.0))
            score = longer.value - fitted.value - float(cost[best])
            stage.advance(note=f"{counted(len(found.places), 'clause')} chosen")
            failed = failed + 1 if score <= least else 0
            if score > least:
                found.places.append(best)
                found.scores.append(score)
                fitted = longer
    return found


def _hopeful(
    cover: sparse.csr_matrix,
    probability: FloatArray,
    positives: FloatArray,
    size: FloatArray,
    cost: FloatArray,
    least: float,
) -> int | None:
    """Return the clause that gains most beyond its cost if the atoms that it covers are all alike; None if none gains enough."""
    expected = cover @ probability
    gain = xlogy(positives, positives / expected) + xlogy(size - positives, (size - positives) / (size - expected))
    hope = np.where(positives > expected, gain, 0.0) - cost
    best = int(np.argmax(hope))
    return best if hope[best] > least else None


class _Fitted(NamedTuple):
    """A logistic model: columns of shape (n, k), the first one constant; `value` is the log-likelihood less the penalty."""

    columns: FloatArray
    weights: FloatArray
    probability: FloatArray
    value: float


def _fitted(columns: FloatArray, label: FloatArray, weights: FloatArray) -> _Fitted:
    """Fit a logistic model by Newton's method, starting from weights; the constant has no penalty."""
    penalty = np.full(columns.shape[1], RIDGE)
    penalty[0] = 0.0

    def value(weights: FloatArray) -> float:
        sums = columns @ weights
        return float(label @ sums - np.logaddexp(0, sums).sum() - 0.5 * (penalty * weights**2).sum())

    now = value(weights)
    for _ in range(_STEPS):
        probability = expit(columns @ weights)
        gradient = columns.T @ (label - probability) - penalty * weights
        hessian = (columns * (probability * (1 - probability))[:, None]).T @ columns + np.diag(penalty)
        step, share = np.linalg.lstsq(hessian, gradient, rcond=None)[0], 1.0
        while (then := value(weights + share * step)) < now and share > _PRECISION:
            share /= 2
        if then <= now + _PRECISION * abs(now):
            break
        weights, now = weights + share * step, then
    return _Fitted(columns, weights, expit(columns @ weights), now)


def _likelihood(positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """Return the log-likelihood of labels under their own share of positive ones."""
    both = np.maximum(positives + negatives, 1e-300)
    found: FloatArray = xlogy(positives, positives / both) + xlogy(negatives, negatives / both)
    return found
