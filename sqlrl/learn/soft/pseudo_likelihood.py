"""Maximum pseudo-likelihood: each labelled atom as likely as can be, given the labels of the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import numpy as np

from sqlrl.deprecated import takes_old_parameters
from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.learn.parameters import Above, Option, Whole
from sqlrl.learn.soft.atom_hinges import AtomHinges, atom_hinges
from sqlrl.learn.soft.densities import COVARIANCES, densities, least_incompatibility
from sqlrl.learn.soft.estimator import SoftEstimator
from sqlrl.learn.soft.projected_newton import Progress, maximise
from sqlrl.learn.soft.settings import (
    Method,
    OnUnlabelled,
    Penalty,
    PerRule,
    Rate,
    SoftWeights,
    Steps,
    Strength,
    check_bounded,
    check_soft_parameters,
    gradient_steps,
    l2_and_l1,
    projected,
    saved,
    starting,
    step_rates,
)  # fmt: skip
from sqlrl.training.labels import Names
from sqlrl.training.records import Iteration, Report
from sqlrl.training.soft import SoftTraining

Tolerance = Annotated[float, Above(0, "1e-6 is the default"), Option("when to stop")]
MostIterations = Annotated[int, Whole(1), Option("most iterations")]


@dataclass(frozen=True, eq=False)
class PenalisedPseudoLikelihood:
    """The sum of the log-densities of labels given the other labels, less `l2 / 2 |w|^2` and `l1` times the sum of w.

    Source: Bach et al. (2017), section 6.2: the gradient of the log-density is the expectation of hinges less what they
    are at the labels; it is concave, with the covariances of hinges as second derivatives of log Z.
    """

    hinges: AtomHinges  # a row for each atom
    l2: float
    l1: float = 0.0

    def __call__(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and the gradient."""
        found = densities(self.hinges, weights)
        penalty = self.l2 / 2 * float(weights @ weights) + self.l1 * float(weights.sum())
        value = -float(self.hinges.count @ found.log_z) - float(weights @ self.hinges.observed) - penalty
        return value, found.expected - self.hinges.observed - self.l2 * weights - self.l1

    def information(self, weights: FloatArray, free: IntArray) -> FloatArray:
        """Return the Hessian of f weights, with its sign changed, shape (f, f)."""
        among = np.zeros(len(weights), dtype=np.bool_)
        among[free] = True
        found = densities(self.hinges, weights, second=COVARIANCES, among=among).covariance[np.ix_(free, free)]
        return (found + found.T) / 2 + self.l2 * np.eye(len(free))


@takes_old_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class SoftPseudoLikelihood(SoftEstimator):
    r"""Learns weights by maximum pseudo-likelihood.

    Parameters
    ----------
    penalty : {"l2", "l1", "elastic"}
    strength : float, or two
        What is maximised is the sum over atoms less ``strength / 2 * sum(w^2)``, or less ``strength * sum(w)``, which makes some weights exactly 0; or
        less both, "elastic", with the strength of the first and then that of the second. With 0, rules that labels never violate are refused.
    tolerance : float
        Done when no gradient violates the condition of optimality by more than this share of its rule's hinges at the labels (1 if they are less).
    max_iterations : int
    unlabelled : {"error", "zero"}
        What an atom without a label is to those that it shares a hinge with: refused, or 0.
    method : {"exact", "steps"}
        Find the maximum; or take `steps` steps along the gradient, each weight cut at 0.
    steps, learning_rate, per_rule
        As in `SoftPiecewiseLikelihood`; 15 steps are those of Embar et al. (2018) in each round of a greedy search.

    Notes
    -----
    Source: Bach, Broecheler, Huang, Getoor, "Hinge-Loss Markov Random Fields and Probabilistic Soft Logic", JMLR 18 (2017), section 6.2; steps by
    `projected_newton`. Rules are not normalised by their numbers of ground rules: steps of Newton's method do not depend on such a
    scale, and the prior is the same for all.

    Examples
    --------
    Two of three labels are 1, of which a rule says that they should be and another one that they should not:

    >>> from sqlrl.learn.soft.sample_hinges import hinge_network
    >>> rules = [(0, {i: -1.0}, 1.0, 1) for i in range(3)] + [(1, {i: 1.0}, 0.0, 1) for i in range(3)]
    >>> found = SoftPseudoLikelihood().learn(hinge_network(rules), np.array([1.0, 1.0, 0.0]))
    >>> found.weights.round(4).tolist(), found.converged
    ([0.4002, 0.0], True)
    """

    word: ClassVar[str] = "soft-pseudo-likelihood"

    penalty: Penalty = "l2"
    strength: Strength = 1.0
    tolerance: Tolerance = 1e-6
    max_iterations: MostIterations = 200
    unlabelled: OnUnlabelled = "error"
    method: Method = "exact"
    steps: Steps = 15
    learning_rate: Rate = 1.0
    per_rule: PerRule = True

    def __post_init__(self) -> None:
        check_soft_parameters(self)

    def _learned(
        self, training: SoftTraining, start: FloatArray | None, report: Report, after: Iteration | None
    ) -> SoftWeights:
        return self.learn(
            training.network, training.truth, names=training.names, start=start, report=report, after=after
        )

    def learn(
        self,
        network: HingeNetwork,
        truth: FloatArray,
        *,
        names: Names | None = None,
        start: FloatArray | None = None,
        report: Report | None = None,
        after: Iteration | None = None,
    ) -> SoftWeights:
        """Learn the weights of the rules of a network that are not hard.

        Parameters
        ----------
        network : HingeNetwork
            Of n atoms and m rules.
        truth : array of float64, shape (n,)
            Labels, NaN for none.
        names : Names, optional
            Words for messages.
        start : array of float64, shape (m,), optional
            Weights to start from, by default 0. The maximum does not depend on them.
        report : callable, optional
            Called with an `Iteration` after each.
        after : Iteration, optional
            As it was reported: go on from there, in place of `start`.

        Returns
        -------
        SoftWeights

        Raises
        ------
        InputError
            As `atom_hinges`; or a weight to start from is not a finite number of at least 0.
        UnboundedWeightError
            There is no penalty, and labels never violate a rule.
        """
        begun = starting(network.hard, start, 0.0)
        if not any(l2_and_l1(self)):
            pieces = atom_hinges(network, truth, names=names, unlabelled=self.unlabelled, piecewise=True)
            gains = densities(pieces, np.zeros(len(begun))).expected > pieces.observed
            check_bounded(gains, pieces, least_incompatibility(pieces), names.clause if names else None)
        hinges = atom_hinges(network, truth, names=names, unlabelled=self.unlabelled)
        return self.learn_hinges(hinges, start=begun, report=report, after=after)

    def learn_hinges(
        self,
        hinges: AtomHinges,
        *,
        start: FloatArray | None = None,
        report: Report | None = None,
        after: Iteration | None = None,
    ) -> SoftWeights:
        """Learn weights from rows that are there already; parameters as of `learn`, whose check for weights without bounds is left out."""
        m = len(hinges.squared)
        function = PenalisedPseudoLikelihood(hinges, *l2_and_l1(self))
        # Rules without hinges here would keep the weights that they start with.
        first = start if after is None else saved(after)["weight"]
        begun = np.where(hinges.support > 0, 0.0 if first is None else first, 0.0)
        done = 0 if after is None else after.iteration
        allowed = self.tolerance * np.maximum(np.ones(m), hinges.observed)
        if self.method == "steps":
            rate = step_rates(self.learning_rate, hinges.ground, per_rule=self.per_rule)
            weights = gradient_steps(lambda w: function(w)[1], begun, self.steps, rate, report, done=done)
            return self.ended(hinges, weights, self.steps)
        found = maximise(
            function, begun, allowed=allowed, max_iterations=self.max_iterations, done=done, report=_reporter(report)
        )
        return SoftWeights(
            found.point, found.gradient, found.value, found.iterations, found.converged, hinges.labelled, hinges.outside, hinges.narrow
        )  # fmt: skip

    def ended(self, hinges: AtomHinges, weights: FloatArray, iterations: int) -> SoftWeights:
        """Return weights that learning ended with after so many iterations, and how good they are."""
        value, gradient = PenalisedPseudoLikelihood(hinges, *l2_and_l1(self))(weights)
        best = bool((projected(weights, gradient) <= self.tolerance * np.maximum(1.0, hinges.observed)).all())
        return SoftWeights(weights, gradient, value, iterations, best, hinges.labelled, hinges.outside, hinges.narrow)


def _reporter(report: Report | None) -> Progress | None:
    if report is None:
        return None
    return lambda number, value, optimality, point: report(
        Iteration(
            iteration=number,
            objective=value,
            optimality=None if np.isnan(optimality) else optimality,
            state=partial(dict, weight=point),
        )
    )
