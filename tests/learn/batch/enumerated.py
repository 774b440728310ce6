"""Small problems for batch learners, and their counts, moments and optimal weights by listing all worlds."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from sqlrl.learn.batch.problem import TrainingProblem as Training
from sqlrl.training.labels import Names
from tests.solve.networks import Problem, worlds

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Enumerated:
    """All worlds of a problem: counts of soft clauses, and what soft evidence adds to each."""

    counts: Floats
    fixed: Floats

    def probability(self, weights: Floats) -> Floats:
        return np.asarray(special.softmax(self.counts @ weights + self.fixed), dtype=np.float64)

    def mean(self, weights: Floats) -> Floats:
        return np.asarray(self.probability(weights) @ self.counts, dtype=np.float64)

    def covariance(self, weights: Floats) -> Floats:
        p, away = self.probability(weights), self.counts - self.mean(weights)
        return np.asarray(away.T @ (p[:, None] * away), dtype=np.float64)

    def log_likelihood(self, weights: Floats, counts: Floats, fixed: float) -> float:
        return float(counts @ weights + fixed - special.logsumexp(self.counts @ weights + self.fixed))

    def optimum(self, counts: Floats, decay: float) -> Floats:
        """The weights that maximise the penalised log-likelihood of some counts."""

        def loss(weights: Floats) -> tuple[float, Floats]:
            value = self.log_likelihood(weights, counts, 0.0) - decay / 2 * weights @ weights
            return -value, -(counts - self.mean(weights) - decay * weights)

        def hessian(weights: Floats) -> Floats:
            return self.covariance(weights) + decay * np.eye(len(weights))

        start = np.zeros(self.counts.shape[1])
        found = optimize.minimize(loss, start, jac=True, hess=hessian, method="trust-exact", options={"gtol": 1e-11})
        return np.asarray(found.x, dtype=np.float64)


def counts_of(problem: Problem, world: tuple[bool, ...]) -> Floats:
    """The counts of a world; 0 for hard clauses."""
    return np.array([0.0 if i in problem.hard else n for i, n in enumerate(problem.count(world))])


def fixed_of(problem: Problem, world: tuple[bool, ...]) -> float:
    return sum(p for p, y in zip(problem.prior, world, strict=False) if y)


def enumerate_worlds(problem: Problem) -> Enumerated:
    every = list(worlds(problem))
    counts = np.array([counts_of(problem, world) for world in every]).reshape(len(every), len(problem.weights))
    return Enumerated(counts, np.array([fixed_of(problem, world) for world in every]))


def training(problem: Problem, truth: tuple[bool, ...]) -> Training:
    return Training(problem.network(), np.array(truth, dtype=np.bool_), Names())


def random_problem(seed: int, *, longest: int) -> tuple[Problem, tuple[bool, ...]]:
    """A problem of up to eight atoms with blocks, soft evidence, conjunctions, hard units, and a world of it as labels."""
    rng = random.Random(seed)
    n, m = rng.randint(1, 8), rng.randint(1, 5)
    order, blocks, at = rng.sample(range(n), n), [], 0
    while at < n:
        size = rng.randint(1, 4)
        if rng.random() < 0.5:
            blocks.append((sorted(order[at : at + size]), rng.random() < 0.5))
        at += size
    ground = []
    for _ in range(rng.randint(3, 12)):
        atoms = rng.sample(range(1, n + 1), rng.randint(1, min(n, longest)))
        ground.append((rng.randrange(m), [a if rng.random() < 0.5 else -a for a in atoms], rng.randint(1, 3)))
    negated = [i for i in range(m) if rng.random() < 0.3]
    prior = [rng.gauss(0, 1) for _ in range(n)] if rng.random() < 0.5 else []
    evidence = [(i, rng.randint(0, 3), rng.randint(0, 3)) for i in range(m)]
    free = [a for a in range(n) if not any(a in members for members, _ in blocks)]
    hard = []
    if free and rng.random() < 0.4:  # one more clause, which must hold, fixes an atom
        ground.append((m, [rng.choice([1, -1]) * (free[0] + 1)], 1))
        hard.append(m)
        m += 1
    problem = Problem(n, ground, [0.0] * m, hard, negated, blocks, prior, evidence)
    return problem, rng.choice(list(worlds(problem)))


COUPLED = {
    "rows": Problem(4, [(0, [-1, 2], 1), (0, [-2, 3], 1), (0, [-3, 4], 1), (1, [1], 1), (1, [3], 1), (2, [-4, 2], 2)],
                    [0.0] * 3, negated=[2]),
    "blocks": Problem(6, [(0, [-1, 4], 1), (0, [-2, 5], 1), (1, [1], 1), (1, [4], 1), (2, [6], 1), (2, [2], 1)],
                      [0.0] * 3, blocks=[([0, 1, 2], True), ([3, 4], False)], prior=[0.3, 0, 0, 0, -0.5, 0]),
    "hard": Problem(4, [(0, [1, 2], 1), (1, [-2, 3], 1), (2, [1, -3], 1), (2, [3], 1), (3, [-1, 4], 1)],
                    [0.0] * 4, hard=[0, 1]),
}  # fmt: skip
"""Problems whose ground clauses join atoms, small enough to know what samples should say."""

LABELS = {
    "rows": (True, True, False, True),
    "blocks": (False, True, False, False, True, True),
    "hard": (True, False, True, True),
}
