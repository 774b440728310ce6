"""Max-margin weight learning for Markov logic networks (M3LN) as an estimator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Unpack

import numpy as np
import pyarrow as pa

from sqlrl.errors import ConvergenceWarning, InputError, Parameter, Phrase, Written, warn
from sqlrl.ground.network import FloatArray
from sqlrl.learn.batch.estimator import BatchCommon, WholeEstimator
from sqlrl.learn.batch.problem import TrainingProblem
from sqlrl.learn.convergence import warn_unconverged
from sqlrl.learn.margin.cuts import Loss, Penalty, Separation, penalty_of
from sqlrl.learn.parameters import Above, Option, Whole, listed
from sqlrl.training.records import TUNING_SCHEMA, Iteration, Report, share_of_fall
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.learn.margin.planes import MarginState, Stopping, Trained

CHOICES = pa.schema(
    [
        ("strength", pa.float64()),
        ("C", pa.float64()),
        ("f1", pa.float64()),
        ("objective", pa.float64()),
        ("bound", pa.float64()),
        ("gap", pa.float64()),
        ("iterations", pa.int64()),
        ("weights", pa.int64()),
        ("chosen", pa.bool_()),
    ]
)
"""Each strength with what training came to; see `MaxMargin.choices_`."""


class MaxMargin(WholeEstimator):
    r"""Max-margin weights (M3LN): the labels shall outscore every other world by its loss, as a structural SVM with one slack.

    Minimises ``penalty(w) + slack / strength`` such that for all worlds, all mega-examples together,
    ``w @ (n(labels) - n(world)) >= loss(world) - slack``.

    Parameters
    ----------
    strength : float, sequence of float or array
        Of the penalty, beside the slack, which is a sum over mega-examples: 1 / C where papers have C, the price of the slack. Of several, from the
        largest to the smallest, the one whose predictions of the training examples have the best average F1 is taken (the larger of equals), as in the
        thesis; see `folds`. Each starts from the cuts of those before.
    penalty : {"l2", "l1"}
        Half the squared 2-norm of the weights, or their 1-norm, which makes most weights 0.
    loss : {"hamming", "zero-one"}
        The number of wrong atoms of a mega-example, or 1 if any is wrong.
    separation : {"relaxed", "exact"}
        How the most violated margin is found where no cheap method is exact: by the linear relaxation, rounded, or proved. Where
        hard clauses and blocks alone join atoms, the worlds of "relaxed" are all those of the linear relaxation; see Notes.
    epsilon : float
        Training stops where the objective is at most ``1.1 * epsilon * max(1, bound)`` above its lower bound. Below C = 1 the 1 is C, and the whole is
        multiplied by C: weights are that small then.
    violation : float, optional
        Stop in place of that where margins are violated by this much more than the slack says, on the average of the mega-examples: the objective is then
        at most ``1.1 * violation / strength`` times the number of mega-examples above the least one, whatever that is.
    max_iterations : int
        Most violated margins looked for, or steps of the interior-point method, at most, for each strength. A `ConvergenceWarning` tells
        bound and gap if that is not enough, or if rounding or relaxed separation leaves a larger gap.
    cache : int
        Iterations without a part in the solution after which a cut is set aside; it comes back when it is violated.
    folds : int, optional
        Of several strengths (one alone is refused), take the one with the best average F1 on mega-examples that are held out: in turn each of so many
        parts of them. Costs as many trainings more for each strength, but weights that merely fit the training examples are not taken for good ones.
    **common
        See `sqlrl.learn.BatchEstimator`.

    Attributes
    ----------
    iterations_ : pyarrow.Table
        `objective` is the lowest so far, what the relaxation may have missed included, and `bound` the dual one: their
        difference is the duality gap. `optimality` is by how much the found margin is violated beyond the slack. The
        iterations of several strengths follow each other, with `folds` after those of the trainings that hold examples out. Where there
        are no cuts, `optimality`, `cuts` and `errors` are NULL.
    choices_ : pyarrow.Table
        A row for each strength, and `C`, which is 1 / strength: `f1` (average over training mega-examples, with `folds` each of them held out; NULL for a single one),
        `objective`, `bound` and `gap` as above, `iterations`, `weights` (other than 0), all NULL where `folds` chose a larger strength;
        `chosen`.
    gap_ : float
        The duality gap of the chosen strength.

    Notes
    -----
    Source: Huynh (2011), sections 2.4 and 4.2-4.4, Algorithm 2.1; Joachims, Finley and Yu, "Cutting-plane training of
    structural SVMs" (2009). The objective is OP4, where all training data are one mega-example; Algorithm 2.1 divides both sides of
    a margin by their number n, and has the same weights with a strength that is n times smaller. (The thesis' results for CiteSeer, alike for C from 1
    to 10000, are those of OP4: divided, C=1 is still far too small.) Only `violation` is meant on the average. Hard clauses and blocks hold in the worlds, and have no weight. Separation rounds the
    fractional solution of the relaxation (Algorithm 4.1) and mends the world until hard clauses hold; Finley and Joachims
    (2008) cut by the fractional point itself, whose bound is what the gap reported here is made of.

    Algorithm 2.1 stops by a violation of margins, which leaves C times that of the objective: with a large C any weights would do. The gap is the
    rule here. Above C = 1e6 weights are learned where slack costs less, and slightly stretched, so that the slack that rounding leaves is 0; bounds are those for
    the C that was asked for, and where they are too far apart the price rises. Where labels contradict each other most of the objective is slack that no
    weights avoid, and a small part of it is much of the weights: these are polished until the gap is small beside their own penalty, at lower prices where
    rounding asks for that, and a `ConvergenceWarning` tells of a gap that is more than the penalty.

    Beyond Algorithm 2.1, which takes the best weights for the cuts so far as the next ones, weights stay near the best known: with the
    2-norm as a level method (Lemarechal, Nemirovskii and Nesterov 1995), with the 1-norm by proximal steps. With the 2-norm and the Hamming
    loss training starts from the margins of single atoms, and from a cut that is the mean of many worlds (block-coordinate
    Frank-Wolfe, Lacoste-Julien et al. 2013). The optimum and its bounds are the same.

    Where hard clauses and blocks alone join atoms (or nothing does), the loss is "hamming", and there are no more than a few thousand
    query atoms, no cuts are needed: the worst world is a linear program, whose dual makes one quadratic program of the whole
    (Taskar, Guestrin and Koller 2004), or with the 1-norm a linear one, of as many variables as atoms. With hard clauses of two
    literals or more that are open, its worlds may be fractional, as in training with relaxations of Finley and Joachims (2008), section 4, and
    `objective` and `bound` are those of that problem: the weights' objective over true worlds is no higher. "exact" uses cuts
    then. Clauses with equal counts in every world share a weight with the 2-norm; with the 1-norm the first of them has it.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Word", [("d1", "good"), ("d2", "bad")], types=["doc", "word"], example="doc")
    >>> db.load("Liked", [("d1",)], types=["doc"], target=True)
    >>> model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)")
    >>> fit = MaxMargin(strength=0.1, epsilon=1e-6).fit(db, model)
    >>> sorted((row["clause"], round(row["weight"], 3)) for row in fit.clauses().to_pylist())
    [('Word(d, "bad") => Liked(d)', -1.0), ('Word(d, "good") => Liked(d)', 1.0)]
    """

    choices_: pa.Table
    gap_: float

    word = "max-margin"
    learned = (*WholeEstimator.learned, "choices_", "gap_")

    def __init__(
        self,
        *,
        strength: Annotated[
            float | Sequence[float] | FloatArray,
            Above(0.0, "it is 1 / C, and the thesis tries 1, 10, 100, 1000 and 10000 as C"),
            Option("strength of the penalty; of several the best by training examples, with --folds by held-out ones"),
        ] = 1.0,
        penalty: Annotated[Penalty, Option("penalty on the weights")] = "l2",
        loss: Annotated[Loss, Option("loss by which labels outscore other worlds")] = "hamming",
        separation: Annotated[Separation, Option("how violated margins are found")] = "relaxed",
        epsilon: Annotated[
            float, Above(0.0, "0.001 is the default"), Option("gap that is accepted, as a part of the bound")
        ] = 0.001,
        violation: Annotated[
            float | None,
            Above(0.0, "the thesis uses 0.001"),
            Option("violation of margins that is accepted, whatever the gap", default="none"),
        ] = None,
        max_iterations: Annotated[int, Whole(1), Option("most iterations")] = 1000,
        cache: Annotated[int, Whole(1)] = 50,
        folds: Annotated[int | None, Whole(2), Option("parts that are held out in turn", default="none")] = None,
        **common: Unpack[BatchCommon],
    ) -> None:
        super().__init__(**common)
        self.strength, self.penalty, self.loss, self.separation = strength, penalty, loss, separation
        self.epsilon, self.violation = epsilon, violation
        self.max_iterations, self.cache, self.folds = max_iterations, cache, folds

    @property
    def prices(self) -> list[float]:
        """What the slack may cost beside the penalty, ascending: C of the papers, 1 / strength."""
        return sorted(self._strengths())

    def _strengths(self) -> dict[float, float]:
        """Return the strength that each price comes from."""
        return {1.0 / value if value else math.inf: float(value) for value in listed("strength", self.strength)}

    def _check(self) -> None:
        super()._check()
        self._check_price(1)
        if self.folds is not None and len(self.prices) == 1:
            raise InputError(
                f"{Parameter('folds', self.folds)} says how examples are held out to choose a strength, and {Parameter('strength', Written(f'{self._strengths()[self.prices[0]]:g}'))} is only one value: give several to "
                f"choose from, or {Phrase('leave folds out')}"
            )

    def _check_price(self, examples: int) -> None:
        if not math.isfinite(self.prices[-1] * examples):
            raise InputError(
                f"{Parameter('strength', self.strength)} is too near to 0: 1 / strength, the price of the slack, is no finite number"
            )

    def _learn(self, problem: TrainingProblem, report: Report, after: Iteration | None = None) -> FloatArray:
        from sqlrl.learn.margin.planes import Stopping, Trained
        from sqlrl.learn.margin.scoring import average_f1, example_parts, held_out_f1
        from sqlrl.learn.margin.trainer import Settings, Trainer, predictor

        self._check_price(len(np.unique(problem.network.example)))
        done, trainings = 0 if after is None else after.iteration, 0
        trained: dict[float, Trained] = {}
        first: float = 0.0  # the gap of a training after its first iteration

        def so_far(state: MarginState) -> FloatArray:
            """Take the weights of the last strength that was trained to its end, of the first one those so far."""
            assert state.best is not None
            known = trained or {prices[0]: Trained(state.best(), state, False)}
            last = max(known)
            self._choose(known, f1, self.prices.index(last))
            return known[last].weights

        def tell(state: MarginState, *, whole: bool = True) -> None:
            """Report an iteration; one on a part of the examples has no weights to keep."""
            nonlocal done, trainings, first
            done += 1
            if state.iteration == 1:
                trainings, first = trainings + 1, state.gap
            here = share_of_fall(first, state.gap, self.epsilon * first) or 0.0
            best = state.best
            report(
                Iteration(
                    iteration=done,
                    objective=state.upper,
                    bound=state.lower,
                    optimality=state.violation,
                    cuts=state.cuts,
                    errors=state.errors,
                    share=min((trainings - 1 + here) / in_all, 1.0),
                    state=None if best is None or not whole else lambda: {"weight": best()},
                    so_far=partial(so_far, state) if whole else None,
                )
            )

        stopping, prices = Stopping(self.epsilon, self.max_iterations, self.cache, self.violation), self.prices
        settings = Settings(self.penalty, self.loss, self.separation, stopping, self.seed)
        several = len(prices) > 1
        in_all = len(prices) * (1 + (self.folds or 0)) if several else 1
        f1: list[float | None] = [None] * len(prices)
        if several and self.folds is not None:
            parts = example_parts(problem, self.folds, seed=self.seed)
            make = partial(Trainer, settings=settings, report=partial(tell, whole=False))
            predicts = partial(predictor, settings=settings)
            scores, held_out = held_out_f1(problem, parts, make, predicts, prices)
            self._warn_of(held_out)
            f1 = list(scores)
            # Those before give it the cuts that they gave it there.
            prices, several = prices[: _best(f1) + 1], False
        trainer = Trainer(problem, settings, tell)
        for price in prices:
            trained[price] = trainer.train(price)
        if several:
            f1 = [average_f1(problem.network, problem.truth, trainer.predicted(t.weights)) for t in trained.values()]
        chosen = _best(f1)
        self._choose(trained, f1, chosen)
        self._warn_of_stopped(trained, stopping)
        return trained[self.prices[chosen]].weights

    def _warn_of(self, held_out: Sequence[Trained]) -> None:
        stopped = [one for one in held_out if not one.converged]
        if stopped:
            worst = max(stopped, key=lambda one: one.state.gap)
            warn_unconverged(
                f"MaxMargin, in {len(stopped)} of {counted(len(held_out), 'training')} that held examples out to choose a strength, the worst of them,",
                worst.state.iteration,
                self._off(worst),
                self._remedy(),
            )

    def _choose(self, trained: Mapping[float, Trained], f1: Sequence[float | None], chosen: int) -> None:
        rows: list[dict[str, object]] = []
        strengths = self._strengths()
        for k, (price, score) in enumerate(zip(self.prices, f1, strict=True)):
            one = trained.get(price)
            found = {} if one is None else _found(one)
            rows.append({"strength": strengths[price], "C": price, "f1": score, **found, "chosen": k == chosen})
        self.choices_ = pa.Table.from_pylist(rows, CHOICES)
        self.gap_ = trained[self.prices[chosen]].state.gap

    def _warn_of_stopped(self, trained: Mapping[float, Trained], stopping: Stopping) -> None:
        for price, one in trained.items():
            if not one.converged:
                strength = Parameter("strength", Written(f"{self._strengths()[price]:g}"))
                warn_unconverged(f"MaxMargin with {strength}", one.state.iteration, self._off(one), self._remedy())
            elif one.state.gap > stopping.polished(price, 1, own := penalty_of(one.weights, self.penalty)):
                strength = Parameter("strength", Written(f"{self._strengths()[price]:g}"))
                warn(
                    f"MaxMargin with {strength}: {self._off(one)}. The penalty of the weights is only {own:.3g} of it, so that they may be "
                    f"far from the best ones. Slack that no weights avoid makes up the rest: raise strength, or lower {Parameter('epsilon', self.epsilon)}",
                    ConvergenceWarning,
                )

    def _off(self, one: Trained) -> str:
        """Say how far an objective may be from the least one."""
        state = one.state
        return f"the objective {state.upper:.6g} is at most {state.gap:.3g} above the least one, of which {state.lower:.6g} is a lower bound"

    def _remedy(self) -> str:
        given = Parameter("epsilon", self.epsilon) if self.violation is None else Parameter("violation", self.violation)
        relaxed = f", take {Parameter('separation', 'exact')}" if self.separation == "relaxed" else ""
        return f"raise {Parameter('max_iterations')}, now {self.max_iterations}{relaxed}, or accept more than {given}; where strength is near to 0, raise it"

    def _tuning(self) -> pa.Table:
        rows = [
            {
                "parameter": "strength",
                "value": row["strength"],
                "fold": None,
                "score": row["f1"],
                "chosen": row["chosen"],
            }
            for row in self.choices_.to_pylist()
            if row["f1"] is not None
        ]
        return pa.Table.from_pylist(rows, TUNING_SCHEMA)

    def _facts(self) -> list[tuple[str, str]]:
        row = next(row for row in self.choices_.to_pylist() if row["chosen"])
        return [
            *super()._facts(),
            (
                "objective",
                f"{row['objective']:.6g} at strength={row['strength']:g}, at most {row['gap']:.3g} above the least",
            ),
        ]


def _best(f1: Sequence[float | None]) -> int:
    """The place of the greatest F1, the first of equals; that of the only strength where there is none."""
    return int(np.argmax([score or 0.0 for score in f1]))


def _found(one: Trained) -> dict[str, object]:
    return {
        "objective": one.state.upper,
        "bound": one.state.lower,
        "gap": one.state.gap,
        "iterations": one.state.iteration,
        "weights": int((one.weights != 0).sum()),
    }
