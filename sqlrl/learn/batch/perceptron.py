"""The voted perceptron over all training examples at once."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal, Unpack

import numpy as np

from sqlrl.errors import Parameter
from sqlrl.ground.network import BoolArray, FloatArray, Network
from sqlrl.learn.batch.estimator import BatchCommon, WholeEstimator
from sqlrl.learn.batch.expectation import count_worlds
from sqlrl.learn.batch.problem import TrainingProblem
from sqlrl.learn.batch.pscg import Iterations, Strength
from sqlrl.learn.convergence import warn_unconverged
from sqlrl.learn.parameters import Above, Option
from sqlrl.learn.settings import TIE, AmongTies, Averaged
from sqlrl.learn.steps import describer
from sqlrl.learn.worlds import relaxed_world
from sqlrl.solve.mpe import compile_program, mpe
from sqlrl.training.labels import hamming_loss
from sqlrl.training.records import Iteration, Report
from sqlrl.wording import counted

HowWorlds = Literal["exact", "relaxed", "walksat"]


def true_groundings(network: Network, counts: FloatArray) -> FloatArray:
    """The true ones among the groundings that evidence leaves open, shape (m,), from the counts of a world by `count_worlds`."""
    # Of a conjunction n counts violated groundings, of others the satisfied ones.
    decided = np.where(
        network.sign > 0, network.total - network.open - network.evidence_violated, network.evidence_violated
    )
    return np.asarray((network.base - decided).astype(np.float64) + counts, dtype=np.float64)


class VotedPerceptron(WholeEstimator):
    r"""Learns the weights of a model with the voted perceptron (Singla and Domingos 2005).

    In each iteration the weights move by the counts of the labels minus those of the most probable world of all training
    examples, times a learning rate.

    Parameters
    ----------
    learning_rate : float
        Eta.
    max_iterations : int
        How many; none ends learning before.
    per_clause : bool
        Divide the rate of each clause by its number of true groundings in the labels, among those that the evidence leaves
        open (by 1 if there are none), so that clauses with many groundings do not outrun the others.
    average : bool
        The mean of the weights after each iteration is the result, not the last weights.
    strength : float
        Of the L2 penalty ``strength / 2 * sum(w^2)``, a Gaussian prior of mean 0 and variance 1 / strength; 0 for none.
    inference : {"exact", "relaxed", "walksat"}
        How most probable worlds are found: proven, by rounding the linear relaxation, or by MaxWalkSAT, which proves
        nothing, as in the source.
    ties : {"errors", "first"}
        Which of several most probable worlds to learn from: the one farthest from the labels, so that a tie counts as an
        error, or the solver's own. At first, with all weights 0, all worlds tie.
    **common
        See `sqlrl.learn.BatchEstimator`, also for the attributes.

    Notes
    -----
    Source: Singla & Domingos, "Discriminative training of Markov logic networks" (2005); the division by true groundings is of
    Lowd & Domingos, "Efficient weight learning for Markov logic networks" (2007), and leaves the prior's part of the gradient
    as it is. Defaults (rate 0.001, 100 iterations, a prior of standard deviation 2, which is the strength 0.25, `per_clause`) are those of the authors' own program,
    Alchemy. All weights start at 0; the source also starts them at the log-odds of clauses in the data. Weights that no
    prior holds grow in proportion to the rate, and a most probable world does not change when all weights do: then the rate
    only sets their scale.

    `iterations_` has the wrong atoms of each iteration's world (`errors`, helper atoms aside) and the length of the change of
    the weights (`step`).

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Word", [("d1", "good"), ("d2", "bad")], types=["doc", "word"])
    >>> db.load("Liked", [("d1",)], types=["doc"], target=True)
    >>> model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)")
    >>> fit = sqlrl.baselines.VotedPerceptron(1.0, 3, strength=0).fit(db, model)
    >>> [(row["clause"], row["weight"]) for row in fit.clauses().to_pylist()]
    [('Word(d, "bad") => Liked(d)', -1.0), ('Word(d, "good") => Liked(d)', 1.0)]
    """

    word = "voted-perceptron"

    def __init__(
        self,
        learning_rate: Annotated[float, Above(0.0, "without it nothing is learned"), Option("learning rate")] = 0.001,
        max_iterations: Iterations = 100,
        *,
        per_clause: bool = True,
        average: Averaged = True,
        strength: Strength = 0.25,
        inference: Annotated[HowWorlds, Option("worlds are exact, or the linear relaxation rounded")] = "exact",
        ties: AmongTies = "errors",
        **common: Unpack[BatchCommon],
    ) -> None:
        super().__init__(**common)
        self.learning_rate, self.max_iterations, self.per_clause = learning_rate, max_iterations, per_clause
        self.average, self.strength, self.inference, self.ties = average, strength, inference, ties

    def _learn(self, problem: TrainingProblem, report: Report, after: Iteration | None = None) -> FloatArray:
        network, truth = problem.network, problem.truth
        observed = count_worlds(network, truth[None, :])[0].astype(np.float64)
        scale = np.maximum(true_groundings(network, observed), 1.0) if self.per_clause else np.ones_like(observed)
        decay = float(self.strength)
        worlds = _Worlds(problem, self.inference, self.seed, self._tie(scale, network.hard))
        weights, total, done = problem.starting(), np.zeros(len(observed)), 0
        if after is not None and after.state is not None:
            going = after.state()
            weights, total, worlds.last, done = going["weight"], going["total"], going["world"], after.iteration
        errors, step = 0, 0.0
        for iteration in range(done + 1, self.max_iterations + 1):
            world = worlds.best(weights)
            delta = observed - count_worlds(network, world[None, :])[0]
            change = self.learning_rate * (delta / scale - decay * weights)
            weights = weights + change
            total = total + weights
            errors, step = int(np.count_nonzero((world != truth) & ~network.helper)), float(np.linalg.norm(change))
            report(
                Iteration(
                    iteration=iteration,
                    step=step,
                    errors=errors,
                    share=iteration / self.max_iterations,
                    state=partial(dict, weight=weights, total=total, world=world),
                    so_far=partial(np.divide, total, iteration) if self.average else partial(np.asarray, weights),
                )
            )
        if errors:
            warn_unconverged(
                type(self).__name__,
                self.max_iterations,
                f"the last one had {counted(errors, 'atom')} wrong and changed the weights, of length {float(np.linalg.norm(weights)):.3g}, by {step:.3g}",
                f"no number of iterations ends this where labels cannot be told apart: choose {Parameter('max_iterations')} and {Parameter('learning_rate')} on held-out examples",
            )
        return total / self.max_iterations if self.average else weights

    def _tie(self, scale: FloatArray, hard: BoolArray) -> float:
        # What a wrong atom adds, to break ties: far below any weight that an iteration makes.
        smallest = float(self.learning_rate / scale[~hard].max(initial=1.0))
        return TIE * min(1.0, smallest) if self.ties == "errors" else 0.0


class _Worlds:
    # Finds most probable worlds of one network for many weights.

    def __init__(self, problem: TrainingProblem, inference: HowWorlds, seed: int, tie: float) -> None:
        network = problem.network
        self.network, self.inference, self.seed = network, inference, seed
        self.describe = describer(network, problem.names)
        self.program = compile_program(network)
        self.loss = tie * hamming_loss(network, problem.truth) if tie else None
        self.last: BoolArray | None = None

    def best(self, weights: FloatArray) -> BoolArray:
        """Return the most probable world, as well as it is sought."""
        if self.inference == "relaxed":
            return relaxed_world(self.network, weights, self.loss, seed=self.seed, describe=self.describe)
        method: Literal["auto", "walksat"] = "walksat" if self.inference == "walksat" else "auto"
        self.last = mpe(
            self.program,
            weights,
            method=method,
            loss=self.loss,
            start=self.last,
            seed=self.seed,
            describe=self.describe,
        ).world
        return self.last
