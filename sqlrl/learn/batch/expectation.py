"""Moments of the counts under a model, sampled, or exact where only blocks join atoms.

They are expected counts, their variances, and their covariances times a vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Protocol

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, Indices, IntArray, Network
from sqlrl.kernels import kernel
from sqlrl.learn.batch.choice_design import Choices
from sqlrl.learn.batch.conditionals import make_choices
from sqlrl.learn.batch.problem import TrainingProblem, fixed_values, raise_conflict
from sqlrl.solve.occurrences import occurrences
from sqlrl.solve.presolve import recognise_blocks
from sqlrl.solve.randomness import streams
from sqlrl.solve.restriction import UnsatisfiableError, restrict
from sqlrl.solve.sampling.mcsat import draw_mcsat, first_world
from sqlrl.solve.weighted import FREE, WeightedNetwork, weigh

# ---- sampled -----------------------------------------------------------------------------------------


class CountMoments(Protocol):
    """Expected counts of m clauses and how they vary; hard clauses have none, so that their entries are 0."""

    @property
    def mean(self) -> FloatArray:
        """Expected counts up to the same constants as those of the labels, shape (m,)."""

    @property
    def variance(self) -> FloatArray:
        """Variances of the counts, the diagonal of the negative Hessian of the log-likelihood, shape (m,)."""

    @property
    def least(self) -> float:
        """The smallest variance above 0 that an estimate can have; 0 where variances are exact."""

    @property
    def log_likelihood(self) -> float | None:
        """The log-likelihood of the labels; None where it is not known."""

    def product(self, direction: FloatArray) -> FloatArray:
        """The covariance matrix of the counts times a vector, shape (m,)."""

    def error(self, direction: FloatArray) -> float:
        """The standard error of `direction @ mean`; 0 where it is exact."""


@kernel
def _subtract_violated(
    indptr: IntArray,
    literals: IntArray,
    clause: IntArray,
    size: IntArray,
    worlds: Annotated[BoolArray, 2],
    counts: Annotated[IntArray, 2],
) -> None:
    # From the counts of each world, shape (worlds, m), take the size of each row that it violates.
    for j in range(len(clause)):
        for s in range(len(worlds)):
            violated = True
            for p in range(indptr[j], indptr[j + 1]):
                literal = literals[p]
                if worlds[s, abs(literal) - 1] == (literal > 0):
                    violated = False
                    break
            if violated:
                counts[s, clause[j]] -= size[j]


@kernel
def _add_units(
    indptr: Indices, indices: Indices, unit: IntArray, worlds: Annotated[BoolArray, 2], counts: Annotated[IntArray, 2]
) -> None:
    # The counts of unit clauses in each world, from those of the world before: worlds of a chain differ in few atoms.
    for s in range(len(worlds)):
        if s > 0:
            for j in range(counts.shape[1]):
                counts[s, j] = counts[s - 1, j]
        for k in range(worlds.shape[1]):
            before = s > 0 and worlds[s - 1, k]
            if worlds[s, k] == before:
                continue
            change = 1 if worlds[s, k] else -1
            for p in range(indptr[k], indptr[k + 1]):
                counts[s, indices[p]] += change * unit[p]


def count_worlds(network: Network, worlds: BoolArray) -> IntArray:
    """The counts of all clauses in s worlds, shape (s, m): n minus `network.base`, 0 for hard clauses."""
    found: IntArray = np.zeros((len(worlds), network.units.shape[1]), dtype=np.int64)
    _add_units(network.units.indptr, network.units.indices, network.units.data, worlds, found)
    size = network.sign[network.row_clause] * network.multiplicity
    _subtract_violated(network.indptr, network.literals, network.row_clause, size, worlds, found)
    found[:, network.hard] = 0
    return found


@dataclass(frozen=True, eq=False)
class SampledMoments:
    """Moments of the counts in s sampled worlds; means and covariances divide by s.

    Source: Lowd & Domingos (2007), section 3: the Hessian is the negative covariance matrix of the counts, and its
    product with a vector d needs no matrix: E[n] E[d n] - E[n (d n)], over the samples.
    """

    counts: FloatArray  # shape (s, m), by `count_worlds`

    @cached_property
    def mean(self) -> FloatArray:
        """Average counts."""
        return np.asarray(self.counts.mean(axis=0), dtype=np.float64)

    @cached_property
    def _centred(self) -> FloatArray:
        return self.counts - self.mean

    @cached_property
    def variance(self) -> FloatArray:
        """Average squared deviations."""
        return np.asarray((self._centred**2).mean(axis=0), dtype=np.float64)

    @property
    def least(self) -> float:
        """The variance of a count that differs in one sample, by 1."""
        size = len(self.counts)
        return (size - 1) / size**2

    @property
    def log_likelihood(self) -> None:
        """Return None: the normalising constant is not known."""

    def product(self, direction: FloatArray) -> FloatArray:
        """The covariance matrix times a vector, in time s * m."""
        return np.asarray((self._centred @ direction) @ self._centred / len(self.counts), dtype=np.float64)

    def error(self, direction: FloatArray) -> float:
        """The standard error of `direction @ mean`, as if samples were independent; infinite for one sample."""
        size = len(self.counts)
        if size == 1:
            return float("inf")
        return float(np.sqrt(np.mean((self._centred @ direction) ** 2) / (size - 1)))


class SampledSource:
    """Moments from one MC-SAT chain over the worlds of a network, which continues from its last world when weights change."""

    def __init__(self, problem: TrainingProblem, *, samples: int, most: int, burn_in: int, seed: int) -> None:
        # `samples` worlds are drawn at a time, at most `most` under the same weights; `burn_in` are discarded after
        # each change.
        self.problem, self.samples, self.most, self.burn_in, self.seed = problem, samples, most, burn_in, seed
        self.observed: FloatArray = count_worlds(problem.network, problem.truth[None, :])[0].astype(np.float64)
        self._random = streams(seed, 1)[0]
        self._value = fixed_values(problem, seed=seed)
        self._free = self._value == FREE
        self._world: BoolArray | None = None

    def at(self, weights: FloatArray) -> SampledMoments:
        """Draw under weights that are others than before, shape (m,)."""
        return SampledMoments(self._draw(weights, self.burn_in))

    def more(self, weights: FloatArray, moments: SampledMoments, *, moved: bool) -> SampledMoments:
        """Draw again under weights for which samples are known, and keep both; `moved`: other weights came between."""
        drawn = self._draw(weights, self.burn_in if moved else 0)
        return SampledMoments(np.concatenate([moments.counts, drawn]))

    def enough(self, moments: SampledMoments) -> bool:
        """Whether no more samples are drawn to make sure."""
        return len(moments.counts) + self.samples > self.most

    def _draw(self, weights: FloatArray, forgotten: int) -> FloatArray:
        # The counts of the next worlds, shape (samples, m).
        left = self._left(weights)
        if self._world is None:
            self._world = self._start(left)
        drawn = draw_mcsat(left, self._world, forgotten + self.samples, self._random)
        self._world = drawn[-1]
        worlds = np.repeat((self._value == 1)[None, :], self.samples, axis=0)
        worlds[:, self._free] = drawn[forgotten:]
        return count_worlds(self.problem.network, worlds).astype(np.float64)

    def _left(self, weights: FloatArray) -> WeightedNetwork:
        weighted = weigh(self.problem.network, weights)
        return recognise_blocks(weighted if self._free.all() else restrict(weighted, self._value))

    def _start(self, left: WeightedNetwork) -> BoolArray:
        try:
            # The chain starts in a random world of the hard clauses; labels play no part.
            return first_world(left, occurrences(left), self.seed, self._random)
        except UnsatisfiableError:
            raise_conflict(self.problem, self.seed)
            raise


# ---- exact -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ExactMoments:
    """Moments of the counts of independent choices under weights of shape (m,)."""

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
    """Exact moments of a network in which only blocks join atoms; the errors are those of `make_choices`."""

    def __init__(self, problem: TrainingProblem, *, seed: int) -> None:
        self._choices = make_choices(problem, seed=seed)
        # Up to the same constants as `ExactMoments.mean`.
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
