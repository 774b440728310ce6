"""Moments of the counts where only blocks join atoms, exact: expected counts, their variances and covariances times a vector."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sqlrl.ground.network import FloatArray
from sqlrl.learn.batch.choices import Choices, make_choices
from sqlrl.learn.batch.problem import Problem


@dataclass(frozen=True, eq=False)
class ExactMoments:
    """Moments of the counts of independent choices.

    Parameters
    ----------
    choices : Choices
        Of the counts of m clauses.
    weights : float array, shape (m,)

    Examples
    --------
    >>> from sqlrl.learn.labels import Names
    >>> from sqlrl.solve.sample import network
    >>> one = Problem(network(2, [(0, [1]), (0, [2])]), np.array([True, False]), Names())
    >>> found = ExactSource(one, seed=0).at(np.zeros(1))
    >>> found.mean.tolist(), found.variance.tolist(), found.product(np.array([2.0])).tolist()
    ([1.0], [0.5], [1.0])
    """

    choices: Choices
    weights: FloatArray

    @cached_property
    def _fit(self) -> tuple[float, FloatArray]:
        return self.choices.value_and_gradient(self.weights)

    @property
    def mean(self) -> FloatArray:
        """Expected counts, up to what is the same in all worlds."""
        return observed_counts(self.choices) - self._fit[1]

    @cached_property
    def variance(self) -> FloatArray:
        """Variances of the counts."""
        return self.choices.curvature(self.weights)

    @property
    def least(self) -> float:
        """Return 0."""
        return 0.0

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the labels."""
        return self._fit[0]

    def product(self, direction: FloatArray) -> FloatArray:
        """The covariance matrix times a vector."""
        return self.choices.product(self.weights, direction)

    def error(self, direction: FloatArray) -> float:
        """Return 0."""
        return 0.0


class ExactSource:
    """Exact moments of a network in which only blocks join atoms.

    Parameters
    ----------
    problem : Problem
        n atoms, m clauses.
    seed : int
        For the error where hard clauses cannot all hold.

    Attributes
    ----------
    observed : float array, shape (m,)
        The counts of the labels, up to the same constants as `ExactMoments.mean`.

    Raises
    ------
    InputError, ConflictError
        As `make_choices`.
    """

    def __init__(self, problem: Problem, *, seed: int) -> None:
        self._choices = make_choices(problem, seed=seed)
        self.observed = observed_counts(self._choices)

    def at(self, weights: FloatArray) -> ExactMoments:
        """The moments under some weights, shape (m,)."""
        return ExactMoments(self._choices, weights)

    def more(self, weights: FloatArray, moments: ExactMoments, *, moved: bool) -> ExactMoments:
        """Return what is known: there is nothing better."""
        return moments

    def enough(self, moments: ExactMoments) -> bool:
        """Return True."""
        return True


def observed_counts(choices: Choices) -> FloatArray:
    """The counts of the observed states, shape (m,)."""
    return np.asarray(choices.features[choices.observed].sum(axis=0), dtype=np.float64)
