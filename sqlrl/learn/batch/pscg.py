"""Preconditioned scaled conjugate gradient, as an estimator over a database."""

from __future__ import annotations

from typing import Any, Literal, Unpack, get_args

import numpy as np

from sqlrl.errors import InputError
from sqlrl.ground.network import FloatArray
from sqlrl.learn.batch.conjugate import Climbing, Point, climb
from sqlrl.learn.batch.estimator import BatchCommon, BatchEstimator
from sqlrl.learn.batch.expectation import SampledSource
from sqlrl.learn.batch.independent import ExactSource
from sqlrl.learn.batch.problem import Iteration, Problem, Report
from sqlrl.learn.parameters import check_choice, check_integer, check_number

HowMoments = Literal["mcsat", "exact"]


class PSCG(BatchEstimator):
    r"""Learns the weights of a model by preconditioned scaled conjugate gradient (Lowd and Domingos 2007).

    It climbs the conditional log-likelihood of the labels, minus an L2 penalty. Expected counts, variances and covariances are
    those of a few worlds drawn by MC-SAT, so that any model can be learned, roughly.

    Parameters
    ----------
    iterations : int
        Steps that are kept, at most. With few samples more iterations are not always better: choose their number on held-out
        examples (Huynh 2011, table 4.4).
    samples : int
        Worlds that are drawn for each iteration, 2 or more; one chain goes on through all iterations.
    most_samples : int, optional
        As long as it is not significant (two standard errors) whether a step helped, `samples` more are drawn, up to this
        many; by default none.
    burn_in : int
        Worlds that are drawn and forgotten after each change of weights.
    prior_deviation : float, optional
        Standard deviation of the Gaussian prior around 0 of each weight (log-odds); None for no prior.
    damping : float
        Lambda at first: the larger, the shorter the first steps.
    distrust : float
        Lambda grows fourfold after a step that gained less than this share of what was predicted.
    tolerance : float
        Stop where the next step can gain no more than this (log-likelihood).
    moments : {"mcsat", "exact"}
        "exact" needs a model whose ground clauses have one query atom each, blocks aside, such as non-recursive clauses.
    **common
        See `sqlrl.learn.BatchEstimator`, also for the attributes.

    Attributes
    ----------
    rejected_ : int
        Steps that were taken back.
    converged_ : bool
        Whether learning ended before `iterations`, because no step could gain more than `tolerance`.

    Notes
    -----
    Source: Lowd & Domingos, "Efficient weight learning for Markov logic networks" (2007); Moller, "A scaled conjugate gradient
    algorithm for fast supervised learning" (1993). The formulas are in `sqlrl.learn.batch.conjugate.climb`. Defaults
    (100 iterations, 5 samples without burn-in, prior deviation 2, lambda 100 at first, tolerance 1e-5) are those of the
    authors' own program, Alchemy. What the paper leaves open:

    - A step that is taken back is no iteration. Lambda grows, the samples at the weights before it are kept and as many drawn
      again, so that noise that led astray averages out, and the next direction is the preconditioned gradient.
    - The last step is tested like all others, and the weights after the last kept step are the result, not an average.
    - Lambda grows where a step gained less than a quarter of what was predicted, which is Fletcher's rule (1987); Alchemy has
      0 in place of a quarter, for the sake of noise (`distrust=0`). Lambda scales the identity, not the preconditioner.
    - The prior has part in the Hessian and in its diagonal. Without a prior, a count that does not vary among the samples is
      taken to differ by 1 in one of them.
    - The chain starts in a random world of the hard clauses. Labels that violate hard clauses are taken as they are; with
      "exact" moments, atoms and blocks whose labels no world has play no part.

    `iterations_` has a row for the starting weights and one for each kept step: its length alpha, and after it lambda and the
    largest entry of the gradient (`optimality`), with "mcsat" an estimate. Only "exact" moments give the objective.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Word", [("d1", "good"), ("d2", "bad"), ("d3", "good")], types=["doc", "word"])
    >>> db.load("Liked", [("d1",), ("d3",)], types=["doc"], target=True)
    >>> model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)")
    >>> fit = sqlrl.PSCG(moments="exact", tolerance=1e-12).fit(db, model)
    >>> [(row["clause"], round(row["weight"], 3)) for row in fit.clauses().to_pylist()]
    [('Word(d, "good") => Liked(d)', 1.482), ('Word(d, "bad") => Liked(d)', -1.043)]
    """

    own = (
        "iterations",
        "samples",
        "most_samples",
        "burn_in",
        "prior_deviation",
        "damping",
        "distrust",
        "tolerance",
        "moments",
    )
    learned = (*BatchEstimator.learned, "rejected_", "converged_")

    rejected_: int
    converged_: bool

    def __init__(
        self,
        iterations: int = 100,
        *,
        samples: int = 5,
        most_samples: int | None = None,
        burn_in: int = 0,
        prior_deviation: float | None = 2.0,
        damping: float = 100.0,
        distrust: float = 0.25,
        tolerance: float = 1e-5,
        moments: HowMoments = "mcsat",
        **common: Unpack[BatchCommon],
    ) -> None:
        super().__init__(**common)
        self.iterations, self.samples, self.most_samples, self.burn_in = iterations, samples, most_samples, burn_in
        self.prior_deviation, self.damping, self.distrust = prior_deviation, damping, distrust
        self.tolerance, self.moments = tolerance, moments

    def _check(self) -> None:
        super()._check()
        check_integer("iterations", self.iterations, 1)
        check_integer("samples", self.samples, 2)
        if self.most_samples is not None:
            check_integer("most_samples", self.most_samples, self.samples)
        check_integer("burn_in", self.burn_in, 0)
        if self.prior_deviation is not None:
            check_number("prior_deviation", self.prior_deviation, 0.0, True, "or give None for no prior")
        check_number("damping", self.damping, 0.0, False, "0 trusts the quadratic model wholly")
        check_number("distrust", self.distrust, 0.0, False, "it is a share of what a step was predicted to gain")
        if self.distrust > 0.75:
            raise InputError(
                f"distrust={self.distrust!r} is above 0.75, where a step is trusted: give a smaller number"
            )
        check_number("tolerance", self.tolerance, 0.0, False, "it is a gain in log-likelihood")
        check_choice("moments", self.moments, get_args(HowMoments))

    def _learn(self, problem: Problem, report: Report) -> FloatArray:
        plan = Climbing(
            iterations=self.iterations,
            decay=0.0 if self.prior_deviation is None else float(self.prior_deviation) ** -2,
            damping=float(self.damping),
            distrust=float(self.distrust),
            tolerance=float(self.tolerance),
        )

        def tell(kept: int, point: Point[Any], damping: float) -> None:
            optimality = float(np.abs(point.gradient).max(initial=0.0))
            report(
                Iteration(
                    iteration=kept, objective=point.objective, optimality=optimality, step=point.size, damping=damping
                )
            )

        if self.moments == "exact":
            found = climb(ExactSource(problem, seed=self.seed), plan, tell)
        else:
            most = self.most_samples or self.samples
            source = SampledSource(problem, samples=self.samples, most=most, burn_in=self.burn_in, seed=self.seed)
            found = climb(source, plan, tell)
        self.rejected_, self.converged_ = found.rejected, found.converged
        return found.weights
