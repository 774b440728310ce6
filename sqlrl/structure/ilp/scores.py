"""Scores of clauses from what they cover: Aleph's evaluation functions.

Source: Srinivasan, "The Aleph Manual" (2001), section 3.6; the m-estimate is Cestnik's (1990) and Dzeroski's (1991), and its m is
discussed by Cussens, "Bayes and pseudo-Bayes estimates of conditional probabilities and their reliability" (ECML 1993).

P and N are the positive and negative atoms that a clause covers, n = P + N, L its number of literals with the head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import betaln

from sqlrl.ground.network import FloatArray, IntArray

Evaluation = Literal["coverage", "compression", "accuracy", "laplace", "mestimate", "auto_m"]
EVALUATIONS: tuple[Evaluation, ...] = get_args(Evaluation)

_LOG_M = (-12.0, 16.0)
_GRID = 113


@dataclass(frozen=True)
class Scorer:
    """Scores clauses; one that covers nothing scores minus infinity.

    coverage: P - N; compression: P - N - L + 1; accuracy: P / n; laplace: (P + 1) / (n + 2); mestimate: (P + m * prior) / (n + m) for a given m;
    auto_m: the same with m = sqrt(n) of each clause.
    """

    evaluation: Evaluation
    prior: float  # the share of positive atoms among all
    m: float | None = None  # of mestimate; None is sqrt(n), as in Aleph

    def __call__(self, positives: npt.ArrayLike, negatives: npt.ArrayLike, length: int) -> FloatArray:
        """Return the scores of clauses, shape (c,), given their P (`positives`), N (`negatives`) and one L (`length`)."""
        p, n = np.asarray(positives, dtype=np.float64), np.asarray(negatives, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self._score(p, n, length)
        return np.where(p + n > 0, found, -np.inf)

    def best(self, positives: npt.ArrayLike, length: int) -> FloatArray:
        """Return the greatest scores that clauses can have that cover no more positive atoms than these: with no negative one."""
        # All scores grow with P and fall with N, so no refinement of a clause scores more.
        return self(positives, np.zeros_like(np.asarray(positives)), length)

    def seed(self) -> float:
        """Return the score of a seed's own fact as a clause, from which Aleph's search starts; minus infinity if no clause could exceed it."""
        # With accuracy, and the m-estimate with an m of 0, it is 1, which no clause could exceed.
        score = float(self([1], [0], 2)[0])
        bounded = self.evaluation not in ("coverage", "compression")
        return -np.inf if bounded and score >= 1 else score

    def _score(self, p: FloatArray, n: FloatArray, length: int) -> FloatArray:
        match self.evaluation:
            case "coverage":
                return p - n
            case "compression":
                return p - n - length + 1
            case "accuracy":
                return p / (p + n)
            case "laplace":
                return (p + 1) / (p + n + 2)
            case "mestimate" | "auto_m":
                # Aleph's manual calls auto_m the maximum likelihood estimate of the best m, which `likelihood_m` finds; its program computes
                # sqrt(n), with which the worst expected squared error of a binomial share is least if the prior is 1/2.
                m = np.sqrt(p + n) if self.evaluation == "auto_m" or self.m is None else self.m
                return (p + m * self.prior) / (p + n + m)


def likelihood_m(positives: IntArray, negatives: IntArray, prior: float) -> float:
    """Return the m, from exp(-12) to exp(16), under which the coverage of some clauses is most likely, given a prior above 0 and below 1.

    Source: Cussens (1993), section 3: the m-estimate is the mean accuracy given P and N if accuracies are drawn from a Beta distribution with mean
    `prior` and sum of parameters m; the likelihood is a product of Beta-binomial probabilities, as if clauses were independent.
    """
    p, n = np.asarray(positives, dtype=np.float64), np.asarray(negatives, dtype=np.float64)

    def loss(log_m: float) -> float:
        """Return the negative log-likelihood."""
        a, b = np.exp(log_m) * prior, np.exp(log_m) * (1 - prior)
        return -float(np.sum(betaln(p + a, n + b) - betaln(a, b)))

    # The ends stand for 0 and infinity: m of clauses that are all pure, as one alone may be, and of those that differ only by chance.
    # The likelihood may be flat at both ends, so a grid finds the hill first.
    grid = np.linspace(*_LOG_M, _GRID)
    top = int(np.argmin([loss(x) for x in grid]))
    low, high = grid[max(top - 1, 0)], grid[min(top + 1, _GRID - 1)]
    return float(np.exp(minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-9}).x))
