"""The update rules of the papers in plain Python, clause by clause and step by step, over all worlds of each example."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import sqlrl
from sqlrl import CDA, AdaGrad
from sqlrl.baselines import MIRA, ContrastiveDivergence, Perceptron, Subgradient
from sqlrl.learn.adagrad import AdaGradRates
from sqlrl.learn.additive import AdditiveRates, PenalisedRates
from sqlrl.learn.decaying import DecayingRates
from sqlrl.learn.online import OnlineEstimator
from sqlrl.learn.scaled import ScaledRates
from sqlrl.learn.settings import TIE, Parameters
from tests.learn.streams import Stream
from tests.offered import OFFERED
from tests.solve.networks import Problem, World, worlds


@dataclass
class Told:
    """What an update rule reads of a step: t from 1, delta n, the label loss, and the fixed part of the margin."""

    t: int
    delta_n: list[int]
    loss: float
    fixed: float


@dataclass
class Oracle:
    """Predict, compare, update; `update` gives all weights after a step from all weights before it."""

    clauses: int
    update: Callable[[list[float], Told], list[float]]
    augmentation: float = TIE
    f1: bool = False
    weights: list[float] = field(default_factory=list)
    history: list[list[float]] = field(default_factory=list)
    losses: list[int] = field(default_factory=list)
    smallest_gap: float = math.inf

    def __post_init__(self) -> None:
        self.weights = [0.0] * self.clauses

    def best(self, problem: Problem, truth: World | None) -> World:
        scored = []
        for world, n in counted(problem, self.clauses).items():
            terms = [w * k for w, k in zip(self.weights, n, strict=True)]
            terms += [p for p, y in zip(problem.prior, world, strict=True) if y]
            if truth is not None:
                terms.append(self.augmentation * hamming(truth, world))
            scored.append((math.fsum(terms), world))
        scored.sort(reverse=True)
        if len(scored) > 1:
            self.smallest_gap = min(self.smallest_gap, scored[0][0] - scored[1][0])
        return scored[0][1]

    def counts(self, problem: Problem, world: World) -> list[int]:
        # Labels may be a world that hard clauses forbid.
        return counted(problem, self.clauses).get(world) or counts_of(problem, self.clauses, world)

    def step(self, problem: Problem, truth: World) -> None:
        predicted = self.best(problem, None)
        self.losses.append(hamming(truth, predicted))
        target = self.best(problem, truth) if self.augmentation else predicted
        pairs = zip(self.counts(problem, truth), self.counts(problem, target), strict=True)
        priors = problem.prior or [0.0] * problem.atoms
        fixed = math.fsum(p * (a - b) for p, a, b in zip(priors, truth, target, strict=True))
        loss = one_minus_f1(truth, target) if self.f1 else float(hamming(truth, target))
        told = Told(len(self.history) + 1, [a - b for a, b in pairs], loss, fixed)
        self.weights = self.update(self.weights, told)
        self.history.append(self.weights)

    def averages(self) -> list[float]:
        return [math.fsum(column) / len(self.history) for column in zip(*self.history, strict=True)]


_counted: dict[str, dict[World, list[int]]] = {}


def counted(problem: Problem, clauses: int) -> dict[World, list[int]]:
    """The counts of all worlds of a problem, enumerated once for all learners."""
    key = repr((problem, clauses))
    if key not in _counted:
        _counted[key] = {world: counts_of(problem, clauses, world) for world in worlds(problem)}
    return _counted[key]


def counts_of(problem: Problem, clauses: int, world: World) -> list[int]:
    n = replace(problem, weights=[0.0] * clauses).count(world)
    return [0 if i in problem.hard else x for i, x in enumerate(n)]


def hamming(truth: World, world: World) -> int:
    return sum(a != b for a, b in zip(truth, world, strict=True))


def one_minus_f1(truth: World, world: World) -> float:
    hits = sum(a and b for a, b in zip(truth, world, strict=True))
    if sum(truth) + sum(world) == 0:
        return 0.0
    precision, recall = (hits / sum(x) if sum(x) else 0.0 for x in (world, truth))
    return 1.0 - (2 * precision * recall / (precision + recall) if hits else 0.0)


def adagrad(parameters: AdaGradRates, clauses: int) -> Callable[[list[float], Told], list[float]]:
    """Huynh and Mooney (2011), equation 1."""
    squares = [0.0] * clauses

    def update(weights: list[float], told: Told) -> list[float]:
        after = []
        for i, (w, dn) in enumerate(zip(weights, told.delta_n, strict=True)):
            squares[i] += dn * dn
            h = parameters.delta + math.sqrt(squares[i])
            if h == 0:
                after.append(w)
                continue
            u = w + parameters.learning_rate / h * dn
            left = abs(u) - parameters.regularization * parameters.learning_rate / h
            after.append(math.copysign(max(left, 0.0), u))
        return after

    return update


def cda(sigma: float) -> Callable[[list[float], Told], list[float]]:
    """Huynh (2011), Algorithm 5.1."""

    def update(weights: list[float], told: Told) -> list[float]:
        t, dn = told.t, told.delta_n
        square = sum(d * d for d in dn)
        inner = math.fsum(w * d for w, d in zip(weights, dn, strict=True))
        loss = max(0.0, told.loss - told.fixed - (t - 1) / t * inner)
        size = min(1 / (sigma * t), loss / square) if square else 0.0
        return [(t - 1) / t * w + size * d for w, d in zip(weights, dn, strict=True)]

    return update


def subgradient(sigma: float) -> Callable[[list[float], Told], list[float]]:
    """Huynh (2011), section 5.2: w - 1 / (sigma t) * (sigma w - delta n)."""

    def update(weights: list[float], told: Told) -> list[float]:
        rate = 1 / (sigma * told.t)
        return [w - rate * (sigma * w - d) for w, d in zip(weights, told.delta_n, strict=True)]

    return update


def mira(weights: list[float], told: Told) -> list[float]:
    """Huynh (2011), section 5.3.2."""
    square = sum(d * d for d in told.delta_n)
    inner = math.fsum(w * d for w, d in zip(weights, told.delta_n, strict=True))
    size = max(0.0, told.loss - told.fixed - inner) / square if square else 0.0
    return [w + size * d for w, d in zip(weights, told.delta_n, strict=True)]


def additive(rate: float) -> Callable[[list[float], Told], list[float]]:
    def update(weights: list[float], told: Told) -> list[float]:
        return [w + rate * d for w, d in zip(weights, told.delta_n, strict=True)]

    return update


def penalised(rate: float, penalty: float) -> Callable[[list[float], Told], list[float]]:
    """A step against the gradient of penalty / 2 * sum(w^2), for every clause."""

    def update(weights: list[float], told: Told) -> list[float]:
        return [w + rate * (d - penalty * w) for w, d in zip(weights, told.delta_n, strict=True)]

    return update


def scaled(rate: float, penalty: float, clauses: int) -> Callable[[list[float], Told], list[float]]:
    """A rate for each clause: divided by the largest delta n so far and by the norm of all of them; weights shrink as the largest grows."""
    seen: list[list[int]] = [[] for _ in range(clauses)]

    def update(weights: list[float], told: Told) -> list[float]:
        after = []
        for old, d, before in zip(weights, told.delta_n, seen, strict=True):
            most = max(map(abs, before), default=0)
            w = old * most / abs(d) if abs(d) > most else old
            before.append(d)
            norm = math.hypot(*before)
            own = rate / (max(map(abs, before)) * norm) if norm else 0.0
            after.append(w + own * (d - penalty * w))
        return after

    return update


def oracle_of(parameters: Parameters, clauses: int) -> Oracle:
    """The oracle of a learner whose worlds are most probable ones."""
    added = 1.0 if parameters.loss_added else TIE
    match parameters.rates:
        case AdaGradRates() as rates:
            return Oracle(clauses, adagrad(rates, clauses), added)
        case DecayingRates(sigma=sigma, ascent=True, f1=f1):
            return Oracle(clauses, cda(sigma), added, f1)
        case DecayingRates(sigma=sigma):
            return Oracle(clauses, subgradient(sigma), added)
        case AdditiveRates(margin=True, f1=f1):
            return Oracle(clauses, mira, f1=f1)
        case AdditiveRates(learning_rate=rate) if not parameters.sweeps:
            return Oracle(clauses, additive(rate))
        case PenalisedRates(learning_rate=rate, regularization=penalty) if not parameters.sweeps:
            return Oracle(clauses, penalised(rate, penalty))
        case ScaledRates(learning_rate=rate, regularization=penalty) if not parameters.sweeps:
            return Oracle(clauses, scaled(rate, penalty, clauses))
    raise AssertionError(parameters)


def run_oracle(stream: Stream, parameters: Parameters) -> Oracle:
    oracle = oracle_of(parameters, stream.known[-1])
    for problem, truth in zip(stream.examples, stream.truths, strict=True):
        oracle.step(problem, truth)
    return oracle


LEARNERS: dict[str, Parameters] = {
    "adagrad": AdaGrad().parameters(),
    "adagrad-ml": AdaGrad(0.05, 0.7, 0.1, loss_augmented=True).parameters(),
    "cda-ml": CDA(0.05).parameters(),
    "cda-ml-bold": CDA().parameters(),
    "cda-pl": CDA(0.05, update="prediction").parameters(),
    "cda-pl-f1": CDA(0.05, update="prediction", loss="f1").parameters(),
    "subgradient-ml": Subgradient(0.1).parameters(),
    "subgradient-pl": Subgradient(0.1, update="prediction").parameters(),
    "mira": MIRA().parameters(),
    "mira-f1": MIRA(loss="f1").parameters(),
    "perceptron": Perceptron().parameters(),
    "cd-mpe": ContrastiveDivergence("mpe").parameters(),
    "cd-mpe-gaussian": ContrastiveDivergence("mpe", learning_rate=0.9, strength=0.7).parameters(),
    "cd-mpe-constant": ContrastiveDivergence("mpe", step_size="constant").parameters(),
    "cd-mpe-constant-gaussian": ContrastiveDivergence(
        "mpe", step_size="constant", learning_rate=0.3, strength=0.05
    ).parameters(),
}
"""Learners whose worlds are most probable ones."""

SAMPLING: dict[str, Parameters] = {
    "cd-gibbs": ContrastiveDivergence(sweeps=2).parameters(),
    "cd-gibbs-gaussian": ContrastiveDivergence(sweeps=2, strength=0.2).parameters(),
    "cd-gibbs-constant": ContrastiveDivergence(sweeps=2, step_size="constant").parameters(),
    "cd-gibbs-constant-gaussian": ContrastiveDivergence(sweeps=2, step_size="constant", strength=0.2).parameters(),
}
_LISTED = {AdaGrad, CDA, MIRA, Subgradient, Perceptron, ContrastiveDivergence}
OTHERS: dict[str, Parameters] = {
    kind.word: kind().parameters()
    for kind in OFFERED.values()
    if isinstance(kind, type) and issubclass(kind, OnlineEstimator) and kind not in _LISTED | {sqlrl.OSL}
}
"""Learners that have no oracle here yet; the contract holds for them, too."""
EVERY = LEARNERS | SAMPLING | OTHERS
SAME = {"cda-ml-bold", "cda-pl", "subgradient-ml", "mira-f1", "cd-mpe-constant", "cd-mpe-gaussian", "cd-gibbs-gaussian"}
"""Learners that differ from one of the others in numbers, or in choices that still another one has."""
