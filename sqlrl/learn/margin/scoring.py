"""F1 on training examples, seen or held out, by which C is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from sqlrl.errors import InputError, Parameter, Phrase, ValidationWarning, warn
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.learn.batch.problem import TrainingProblem, without_examples
from sqlrl.learn.margin.planes import Trained
from sqlrl.progress import staged
from sqlrl.wording import counted

JOINED = "cannot be held out", format(Phrase("leave folds out"))
"""What an error says of mega-examples that clauses join, and the remedy."""


def average_f1(network: Network, truth: BoolArray, world: BoolArray) -> float:
    """Return the mean F1 of the true atoms of mega-examples (Huynh 2011, section 4.4.2); one without any counts as 1."""
    real = ~network.helper
    examples, example = np.unique(network.example[real], return_inverse=True)
    if len(examples) == 0:
        return 1.0
    hits = np.bincount(example, weights=truth[real] & world[real], minlength=len(examples))
    wrong = np.bincount(example, weights=truth[real] != world[real], minlength=len(examples))
    return float(np.where(wrong == 0, 1.0, 2 * hits / np.maximum(2 * hits + wrong, 1)).mean())


def example_parts(problem: TrainingProblem, folds: int, *, seed: int) -> list[IntArray]:
    """Deal mega-examples evenly to `folds` parts at random, or one to each if there are fewer; a single one is an InputError."""
    examples = np.unique(problem.network.example)
    if len(examples) < 2:
        raise InputError(
            f"{Parameter('folds', folds)}, but there is only one mega-example to hold out: load the data with {Parameter('example')}, or {Phrase('leave folds out')}, so "
            "that C is the one that is best on the training data"
        )
    order = np.random.default_rng(seed).permutation(examples)
    parts = [np.sort(order[k::folds]) for k in range(min(folds, len(examples)))]
    _check_parts(problem, parts)
    return parts


def _check_parts(problem: TrainingProblem, parts: Sequence[IntArray]) -> None:
    """Warn of parts without which there are labels of one kind only; whole data of one kind have had their own warning."""
    real = ~problem.network.helper
    label, example = problem.truth[real], problem.network.example[real]
    alone = [k + 1 for k, part in enumerate(parts) if len(np.unique(label[~np.isin(example, part)])) == 1]
    if alone and len(np.unique(label)) > 1:
        kind = "true" if label[~np.isin(example, parts[alone[0] - 1])].all() else "false"
        others = f", and so without {counted(len(alone) - 1, 'other part')}" if len(alone) > 1 else ""
        warn(
            f"C is chosen by mega-examples that are held out, but without part {alone[0]} of {len(parts)} all labels are {kind}{others}, so that "
            f"nothing tells what to learn: {Phrase('use more folds')}, or more examples, or {Phrase('leave folds out')}",
            ValidationWarning,
        )


class Trains(Protocol):
    """Trains weights for one C after the other; see `sqlrl.learn.margin.trainer.Trainer`."""

    def train(self, price: float) -> Trained:
        """Find the weights where slack costs `price`."""
        ...


def held_out_f1(
    problem: TrainingProblem,
    parts: Sequence[IntArray],
    make: Callable[[TrainingProblem], Trains],  # makes what trains on the problem that is left
    # makes what predicts a world of a problem from weights, shape (m,)
    predictor: Callable[[TrainingProblem], Callable[[FloatArray], BoolArray]],
    prices: Sequence[float],
) -> tuple[list[float], list[Trained]]:
    """Return the average F1 for each C on mega-examples of which the weights have seen none, and what was trained by part and C."""
    network, known = problem.network, np.unique(problem.network.example)
    worlds = np.zeros((len(prices), len(problem.truth)), dtype=np.bool_)
    trained: list[Trained] = []
    for part in staged("parts held out", parts, even=True):
        trainer = make(without_examples(problem, part, JOINED))
        predict = predictor(without_examples(problem, np.setdiff1d(known, part), JOINED))
        inside = np.isin(network.example, part)
        for k, price in enumerate(prices):
            trained.append(trainer.train(price))
            worlds[k, inside] = predict(trained[-1].weights)
    return [average_f1(network, problem.truth, world) for world in worlds], trained
