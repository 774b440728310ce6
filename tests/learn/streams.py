"""Random streams of small examples as plain lists."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from sqlrl.ground.windows import Window
from sqlrl.solve.sample_networks import chains, network
from tests.solve.networks import Problem, World, worlds


@dataclass
class Stream:
    """Examples that share clauses; each is a `Problem` of its own with the labels of its atoms."""

    examples: list[Problem]
    truths: list[World]
    known: list[int]  # how many clauses are known when each example comes
    hard: list[int]

    def window(self, first: int, last: int, rng: random.Random) -> Window:
        """Examples first to last - 1 as one network whose atoms are shuffled; example k has the id 10 * k."""
        chosen = range(first, last)
        owners = [k for k in chosen for _ in range(self.examples[k].atoms)]
        rng.shuffle(owners)
        places = {k: [i for i, owner in enumerate(owners) if owner == k] for k in chosen}
        ground, blocks, prior, truth = [], [], [0.0] * len(owners), [False] * len(owners)
        for k in chosen:
            problem, place = self.examples[k], places[k]
            for clause, literals, times in problem.ground:
                moved = [(place[abs(x) - 1] + 1) * (1 if x > 0 else -1) for x in literals]
                ground.append((clause, moved, times))
            blocks += [([place[a] for a in members], exact) for members, exact in problem.blocks]
            for a in range(problem.atoms):
                prior[place[a]], truth[place[a]] = problem.prior[a], self.truths[k][a]
        m = self.known[last - 1]
        net = network(
            len(owners),
            ground,
            clauses=m,
            hard=[i for i in self.hard if i < m],
            negated=[i for i in self.examples[0].negated if i < m],
            blocks=blocks,
            prior=prior,
            example=[10 * k for k in owners],
        )
        return Window(
            np.array([10 * k for k in chosen]), net, np.array(truth, dtype=bool), np.ones(len(owners), dtype=bool)
        )

    def windows(self, size: int, seed: int = 0) -> list[Window]:
        count, rng = len(self.examples), random.Random(seed)
        return [self.window(first, min(first + size, count), rng) for first in range(0, count, size)]


def _example(rng: random.Random, m: int, hard: list[int], negated: list[int], longest: int) -> Problem:
    n = rng.randint(0, 6)
    order, blocks, at = rng.sample(range(n), n), [], 0
    while at < n:
        size = rng.randint(1, 3)
        if rng.random() < 0.6:
            blocks.append((sorted(order[at : at + size]), rng.random() < 0.5))
        at += size
    ground = []
    for _ in range(rng.randint(0, 8) if n else 0):
        members = rng.sample(range(1, n + 1), rng.randint(1, min(n, longest)))
        ground.append((rng.randrange(m), [a if rng.random() < 0.5 else -a for a in members], rng.randint(1, 3)))
    # Soft evidence with random digits, so that no two worlds have the same score.
    prior = [rng.gauss(0, 0.4) for _ in range(n)]
    return Problem(n, ground, [0.0] * m, hard, negated, blocks, prior)


def random_stream(seed: int, *, longest: int = 2, count: int = 14, clauses: int = 7) -> Stream:
    """A stream in which clauses become known bit by bit, and labels may break hard clauses and blocks."""
    rng = random.Random(seed)
    hard = [i for i in range(clauses) if rng.random() < 0.15]
    negated = [i for i in range(clauses) if i not in hard and rng.random() < 0.3]
    known = sorted(rng.randint(1, clauses) for _ in range(count))
    examples, truths = [], []
    while len(examples) < count:
        problem = _example(rng, known[len(examples)], hard, negated, longest)
        if next(worlds(problem), None) is not None:
            examples.append(problem)
            truths.append(tuple(rng.random() < 0.5 for _ in range(problem.atoms)))
    return Stream(examples, truths, known, hard)


def chain_window(count: int, *, length: int = 8, states: int = 3, words: int = 12, seed: int = 0) -> Window:
    """Chains whose labels are functions of their words: they can be learned."""
    net = chains(count, length=length, states=states, words=words, seed=seed)
    column = net.units.indices.reshape(-1, states)[:, 0] - states * states
    label = (column // states) % states
    truth = (np.arange(states) == label[:, None]).ravel()
    return Window(np.arange(count), net, truth, np.ones(len(truth), dtype=bool))
