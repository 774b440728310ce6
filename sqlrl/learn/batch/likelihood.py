"""Exact conditional likelihood of models whose clauses have one open literal, with an L1 or L2 penalty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

import pyarrow as pa

from sqlrl.errors import ConvergenceWarning, InputError, warn
from sqlrl.ground.network import FloatArray
from sqlrl.learn.batch.choices import make_choices
from sqlrl.learn.batch.estimator import BatchCommon, BatchEstimator
from sqlrl.learn.batch.penalised import Penalty, fit_weights, make_design
from sqlrl.learn.batch.problem import Problem, Report
from sqlrl.learn.batch.validation import STRENGTH_SCHEMA, Validation, make_parts, validate
from sqlrl.learn.parameters import check_choice, check_integer, check_number
from sqlrl.learn.protocols import TUNING_SCHEMA
from sqlrl.wording import counted

if TYPE_CHECKING:
    from typing import Any


class Likelihood(BatchEstimator):
    r"""Learns weights by exact conditional likelihood where each ground clause has one query atom (Huynh 2011, section 3.2.2).

    Then the query atoms are independent given the evidence, the likelihood of the labels and its gradient have no sum over
    worlds, and the best weights are found exactly: with penalty "l1" by OWL-QN (many weights are exactly 0), with "l2" by
    L-BFGS, and the last digits of both by Newton steps.

    Parameters
    ----------
    penalty : {"l1", "l2"}
        What is maximised: the log-likelihood less `strength * sum(|w|)`, a Laplacian prior; or less
        `strength / 2 * sum(w^2)`, a Gaussian prior of mean 0 and variance 1 / strength.
    strength : float or sequence of float
        Beta in the thesis, above 0, in the units of the log-likelihood summed over all atoms (of liblinear it is 1 / C). Of
        several the one whose weights make held-out labels most likely is chosen, and weights are learned again from all.
    folds : int
        Parts for that choice: whole examples if there are several (then no more parts than examples), else query atoms and
        blocks, with labels in proportion.
    tolerance : float
        Done when the optimality condition is violated by at most this share of the largest gradient at weights of 0.
    max_iterations : int
    **common
        See `BatchEstimator`, also for more attributes.

    Attributes
    ----------
    strength_ : float
        The strength that was used.
    strengths_ : pyarrow.Table
        How strengths did, see `Validation.table`; empty if only one was given. `sqlrl.tuning` has each part.
    log_likelihood_ : float
        Of the training labels.
    optimality_ : float
        The largest violation of the optimality condition at `weights_`, in counts: of the derivative of the objective for a
        weight that is not 0, else of the gradient of the log-likelihood beyond the L1 strength. 0 proves the optimum.

    Notes
    -----
    Source: Huynh (2011), section 3.2.2; OWL-QN by Andrew and Gao, "Scalable training of L1-regularized log-linear models" (2007), L-BFGS
    by scipy. Both end with Newton steps, since columns of clauses depend on each other and quasi-Newton steps creep there.

    Blocks are choices among their atoms, and exact too. Soft evidence counts with its fixed log-odds. An atom that hard
    clauses fix contributes nothing, nor does one whose label they forbid. No constant feature is added: write the unit
    clause `Target(x)` if the model is to have one; it is penalised as all clauses are. Of clauses with equal counts "l1" gives
    the first all the weight, "l2" each the same.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Word", [("d1", "good"), ("d2", "bad"), ("d3", "bad")], types=["doc", "word"])
    >>> db.load("Liked", [("d1",)], types=["doc"], target=True)
    >>> model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)")
    >>> fit = Likelihood("l2", strength=0.1).fit(db, model)
    >>> [(row["clause"], round(row["weight"], 3), row["support"]) for row in fit.clauses().to_pylist()]
    [('Word(d, "bad") => Liked(d)', -2.128, 2), ('Word(d, "good") => Liked(d)', 1.634, 1)]
    """

    strength_: float
    strengths_: pa.Table
    log_likelihood_: float
    optimality_: float

    own = ("penalty", "strength", "folds", "tolerance", "max_iterations")
    learned = (*BatchEstimator.learned, "strength_", "strengths_", "log_likelihood_", "optimality_")

    def __init__(
        self,
        penalty: Penalty = "l1",
        strength: float | Sequence[float] = 1.0,
        *,
        folds: int = 5,
        tolerance: float = 1e-7,
        max_iterations: int = 2000,
        **common: Unpack[BatchCommon],
    ) -> None:
        super().__init__(**common)
        self.penalty, self.strength, self.folds = penalty, strength, folds
        self.tolerance, self.max_iterations = tolerance, max_iterations
        self._validation: Validation | None = None

    def _check(self) -> None:
        super()._check()
        check_choice("penalty", self.penalty, ("l1", "l2"))
        for strength in _listed(self.strength):
            check_number(
                "strength", strength, 0, True, "it weighs the penalty, without which weights can grow without bounds"
            )
        check_integer("folds", self.folds, 2)
        check_number("tolerance", self.tolerance, 0, True, "1e-7 is the default")
        check_integer("max_iterations", self.max_iterations, 1)

    def _learn(self, problem: Problem, report: Report) -> FloatArray:
        choices = make_choices(problem, seed=self.seed)
        strengths = _listed(self.strength)
        self._validation = None
        if len(strengths) > 1:
            parts = make_parts(choices, self.folds, seed=self.seed)
            self._validation = validate(choices, self.penalty, strengths, parts)
        strength = float(strengths[0]) if self._validation is None else self._validation.best
        found = fit_weights(
            make_design(choices),
            self.penalty,
            strength,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            report=report,
        )
        if not found.converged:
            warn(
                f"the optimality condition is still violated by {found.optimality:.3g}: raise max_iterations, now "
                f"{self.max_iterations}, or tolerance, now {self.tolerance:g}, or a strength above {strength:g} makes it easier",
                ConvergenceWarning,
            )
        self.strength_, self.optimality_ = strength, found.optimality
        self.strengths_ = STRENGTH_SCHEMA.empty_table() if self._validation is None else self._validation.table()
        self.log_likelihood_ = float(choices.log_likelihood(found.weights).sum())
        return found.weights

    def _tuning(self) -> pa.Table:
        return TUNING_SCHEMA.empty_table() if self._validation is None else self._validation.tuning()

    def _facts(self) -> list[tuple[str, str]]:
        facts = [
            (
                "likelihood",
                f"log-likelihood {self.log_likelihood_:.6g} of the labels, optimality within {self.optimality_:.2g}",
            )
        ]
        if self.strengths_.num_rows:
            facts.append(("strength", self._choice()))
        return [*super()._facts(), *facts]

    def _choice(self) -> str:
        """Say which strength was chosen, and whether the best one may lie outside those that were tried."""
        tried = self.strengths_.column("strength").to_pylist()
        ends = {
            min(tried): "the smallest: perhaps a smaller one is better",
            max(tried): "the largest: perhaps a larger one is better",
        }
        note = f", {ends[self.strength_]}" if self.strength_ in ends else ""
        return f"{self.strength_:g}, chosen from {counted(len(tried), 'value')}{note}"


def _listed(strength: Any) -> list[Any]:
    """Return one or several strengths as a list.

    Raises
    ------
    InputError
        There are none.

    Examples
    --------
    >>> _listed(1.0), _listed((0.1, 1))
    ([1.0], [0.1, 1])
    """
    if isinstance(strength, str) or not hasattr(strength, "__iter__"):
        return [strength]
    found = list(strength)
    if not found:
        raise InputError(f"strength={strength!r} is empty: give a number above 0, or several to choose from")
    return found
