"""Random problems of two mega-examples as plain lists, and their max-margin weights with every constraint written out."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog, minimize

from sqlrl.learn.batch.problem import TrainingProblem as Learned
from sqlrl.solve.sample_networks import network
from sqlrl.training.labels import Names
from tests.solve.networks import Problem, World, worlds


@dataclass(frozen=True)
class Case:
    """Independent examples over the same clauses, with labels."""

    examples: list[Problem]
    truths: list[World]

    @property
    def clauses(self) -> int:
        return len(self.examples[0].weights)

    def learned(self) -> Learned:
        """All examples as one network."""
        ground, blocks, prior, example = [], [], [], []
        for k, one in enumerate(self.examples):
            at = len(example)
            ground += [(i, [x + at if x > 0 else x - at for x in lits], times) for i, lits, times in one.ground]
            blocks += [([a + at for a in members], exact) for members, exact in one.blocks]
            prior += one.prior or [0.0] * one.atoms
            example += [k] * one.atoms
        first = self.examples[0]
        whole = network(
            len(example), ground, clauses=self.clauses, hard=first.hard, negated=first.negated, blocks=blocks,
            prior=prior, example=example,
        )  # fmt: skip
        return Learned(whole, np.array(list(itertools.chain(*self.truths)), dtype=np.bool_), Names())

    def constraints(self, loss: str) -> list[list[tuple[tuple[int, ...], float]]]:
        """Of each example the count differences and the margin of every world that is possible."""
        return [self._constraints(one, truth, loss) for one, truth in zip(self.examples, self.truths, strict=True)]

    def _constraints(self, one: Problem, truth: World, loss: str) -> list[tuple[tuple[int, ...], float]]:
        found, own = {}, one.count(truth)
        for world in worlds(one):
            wrong = sum(a != b for a, b in zip(truth, world, strict=True))
            delta = tuple(
                0 if i in one.hard else a - b for i, (a, b) in enumerate(zip(own, one.count(world), strict=True))
            )
            priors = one.prior or [0.0] * one.atoms
            fixed = math.fsum(p * (a - b) for p, a, b in zip(priors, truth, world, strict=True))
            margin = (wrong if loss == "hamming" else min(wrong, 1)) - fixed
            found[delta] = max(found.get(delta, -math.inf), margin)
        return sorted(found.items())

    def shortfall(self, loss: str, weights: np.ndarray) -> float:
        """How much the labels fall short of the worst world, margins added up over examples."""
        return sum(max(m - float(np.dot(weights, d)) for d, m in one) for one in self.constraints(loss))

    def least_objective(self, penalty: str, loss: str, strength: float) -> float:
        """The optimum, by a general solver over the constraints of all pairs of worlds."""
        pairs = {}
        for pair in itertools.product(*self.constraints(loss)):
            delta = tuple(map(sum, zip(*(d for d, _ in pair), strict=True)))
            pairs[delta] = max(pairs.get(delta, -math.inf), sum(m for _, m in pair))
        rows, margin = np.array(list(pairs), dtype=float), np.array(list(pairs.values()))
        return _linear(rows, margin, strength) if penalty == "l1" else _quadratic(rows, margin, strength)


def _linear(rows: np.ndarray, margin: np.ndarray, strength: float) -> float:
    cost = np.concatenate([np.ones(2 * rows.shape[1]), [strength]])
    below = np.hstack([-rows, rows, -np.ones((len(rows), 1))])
    result = linprog(cost, A_ub=below, b_ub=-margin, bounds=(0, None), method="highs-ipm")
    assert result.status == 0
    return float(result.fun)


def _quadratic(rows: np.ndarray, margin: np.ndarray, strength: float) -> float:
    m = rows.shape[1]
    slopes = np.hstack([rows, np.ones((len(rows), 1))])
    result = minimize(
        lambda x: 0.5 * x[:m] @ x[:m] + strength * x[m],
        np.append(np.zeros(m), max(0.0, margin.max())),
        jac=lambda x: np.append(x[:m], strength),
        constraints={"type": "ineq", "fun": lambda x: slopes @ x - margin, "jac": lambda x: slopes},
        bounds=[(None, None)] * m + [(0, None)],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert result.status in (0, 8), result.message  # 8: rounding allows no better
    return float(result.fun)


def case(seed: int, *, hard: bool = True) -> Case:
    """Two examples of up to five atoms over three to five clauses, the first of them hard half of the time."""
    draw = random.Random(seed)
    clauses = draw.randint(3, 5)
    first_hard = hard and draw.random() < 0.5
    negated = [i for i in range(first_hard, clauses) if draw.random() < 0.4]
    examples, truths = [], []
    for _ in range(2):
        while True:
            n = draw.randint(2, 5)
            ground = []
            for _ in range(draw.randint(2, 8)):
                members = draw.sample(range(1, n + 1), draw.choice([1, 1, 2, min(3, n)]))
                ground.append(
                    (draw.randrange(clauses), [a * draw.choice([1, -1]) for a in members], draw.randint(1, 3))
                )
            size = draw.choice([0, 0, 2, min(3, n)])
            blocks = [(sorted(draw.sample(range(n), size)), draw.random() < 0.5)] if size else []
            prior = [draw.choice([0.0, 0.0, 0.5, -1.0]) for _ in range(n)]
            one = Problem(n, ground, [0.0] * clauses, [0] if first_hard else [], negated, blocks, prior)
            if any(True for _ in worlds(one)):
                break
        examples.append(one)
        truths.append(tuple(draw.random() < 0.5 for _ in range(n)))
    return Case(examples, truths)
