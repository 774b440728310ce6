"""Worlds to learn from: samples keep the distribution, relaxed worlds are those of the source."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from sqlrl import AdaGrad
from sqlrl.baselines import ContrastiveDivergence
from sqlrl.ground.windows import Window
from sqlrl.learn import OnlineLearner
from sqlrl.learn.worlds import relaxed_world, sampled_world, two_worlds
from sqlrl.solve import methods
from sqlrl.solve.conflict import ConflictingClausesError
from sqlrl.solve.counts import score
from sqlrl.solve.cpsat import solve_cpsat
from sqlrl.solve.mpe import mpe
from sqlrl.solve.randomness import streams
from sqlrl.solve.result import Solution
from sqlrl.solve.sample_networks import chains, network
from sqlrl.solve.weighted import WeightedNetwork
from tests.solve.networks import Problem, worlds

CASES = {
    "atoms": Problem(3, [(0, [1, -2], 1), (1, [2, 3], 2), (2, [-1], 1)], [1.2, -0.8, 0.5]),
    "blocks": Problem(
        5, [(0, [-1, 4], 1), (1, [-2, 5], 1), (2, [3], 1)], [0.9, 0.7, 0.4], blocks=[([0, 1, 2], True), ([3, 4], False)]
    ),
    "hard": Problem(4, [(0, [1, 2], 1), (1, [-2, 3], 1), (2, [3], 1), (1, [-1, 4], 1)], [0.0, 0.0, -0.7], hard=[0, 1]),
    "given": Problem(3, [(0, [-1, 3], 1), (1, [2], 1)], [1.0, 0.3], blocks=[([0, 1], False)], given=[-1]),
}


@pytest.mark.parametrize("count", [400, pytest.param(1500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CASES)
def test_a_chain_from_the_distribution_stays_in_it(name: str, count: int) -> None:
    problem = CASES[name]
    possible = list(worlds(problem))
    score = np.array([float(problem.score(world)) for world in possible])
    p = np.exp(score - score.max())
    p /= p.sum()
    chosen = np.random.default_rng(5).choice(len(possible), size=count, p=p)
    net, weights, stream = problem.network(), np.array(problem.weights), streams(9, 1)[0]
    found: Counter[tuple[bool, ...]] = Counter()
    for start in chosen:
        world = sampled_world(net, weights, np.array(possible[start]), sweeps=1, random=stream)
        found[tuple(world.tolist())] += 1
    assert set(found) <= set(possible)
    share = np.array([found[world] / count for world in possible])
    error = np.sqrt(2 * p * (1 - p) / count)  # of the starts, and of the steps
    assert np.all(np.abs(share - p) < 4.5 * error + 1e-12)
    assert sum(found[possible[i]] for i in range(len(possible))) == count


def test_a_step_moves_and_repeats_with_the_seed() -> None:
    net, truth = chains(1, length=8, states=3), np.zeros(24, dtype=bool)
    weights = np.zeros(len(net.clauses))
    one, other = streams(4, 2)
    first = sampled_world(net, weights, truth, sweeps=2, random=one.copy())
    assert first.tolist() == sampled_world(net, weights, truth, sweeps=2, random=one.copy()).tolist()
    assert first.tolist() != sampled_world(net, weights, truth, sweeps=2, random=other.copy()).tolist()
    assert first.any()
    assert not truth.any()


def test_labels_that_break_hard_clauses_are_a_start_all_the_same() -> None:
    ground = [(0, [1, 2], 1), (0, [3, -4], 1), (1, [5], 1)]
    problem = Problem(6, ground, [0.0, 0.0], hard=[0], blocks=[([4, 5], True)])
    truth, stream = np.array([False, False, True, True, True, True]), streams(2, 1)[0]
    seen = [sampled_world(problem.network(), np.zeros(2), truth, sweeps=1, random=stream) for _ in range(60)]
    found = np.array(seen)
    assert np.all(found[:, 4].astype(int) + found[:, 5] == 1)  # the block holds
    assert np.all(found[:, 2] | ~found[:, 3])  # so does the hard clause that the labels keep
    assert not np.all(found[:, 0] | found[:, 1])  # the one that they break is left out
    assert 0.3 < found[:, 0].mean() < 0.7


def test_helper_atoms_stay_functions_of_others() -> None:
    """Atom 3 is defined as atom 1 or atom 2 by hard clauses."""
    net = network(3, [(0, [-3, 1, 2]), (0, [3, -1]), (0, [3, -2]), (1, [3])], hard=[0])
    stream, seen = streams(0, 1)[0], set()
    for _ in range(100):
        world = sampled_world(net, np.array([0.0, 0.2]), np.array([True, False, True]), sweeps=1, random=stream)
        assert world[2] == (world[0] or world[1])
        seen.add(tuple(world.tolist()))
    assert len(seen) == 4


def test_relaxed_worlds_keep_blocks_and_are_the_best_where_mpe_proves_it() -> None:
    proved = 0
    for seed in range(8):
        net = chains(2, length=6, states=3, seed=seed)
        weights = np.random.default_rng(seed).normal(size=len(net.clauses))
        relaxed = relaxed_world(net, weights, None, seed=0, describe=None)
        assert np.all(np.bincount(net.block[relaxed], minlength=len(net.block_exact)) <= 1)
        best = mpe(net, weights)
        found = score(net, weights, relaxed)
        assert found <= best.objective + 1e-9
        proved += found > best.objective - 1e-9
    assert proved >= 2  # the others have a fractional relaxation


def test_ties_of_tiny_losses_are_seen_by_the_linear_solver() -> None:
    net = network(3, [(0, [1, 2]), (0, [-2, 3])])
    loss = 1e-9 * np.array([1.0, -1.0, 1.0])
    assert relaxed_world(net, np.zeros(1), loss, seed=0, describe=None).tolist() == [True, False, True]


def stubborn() -> tuple[list[tuple[int, list[int]]], list[float]]:
    """Atom 5 cannot be true (it needs atom 3 and its negation), but the relaxation makes everything one half."""
    ground = [(0, [5, 1]), (0, [5, 2]), (0, [5, 4]), (0, [-5, 3]), (0, [-5, -3]), (1, [5])]
    return ground, [-0.1, -0.1, 0.0, -0.1, 0.0]


def test_a_rounded_world_may_break_hard_clauses_and_is_learned_from() -> None:
    ground, prior = stubborn()
    net = network(5, ground, hard=[0], prior=prior)
    world = relaxed_world(net, np.array([0.0, 3.0]), None, seed=0, describe=None)
    assert world[4]  # which no world of the hard clauses has
    assert not mpe(net, [0.0, 3.0]).world[4]
    truth = np.array([True, True, False, True, False])
    learner = OnlineLearner(AdaGrad(inference="relaxed", ties="first").parameters())
    for _ in range(3):
        learner.learn_many(Window(np.array([0]), net, truth, np.ones(5, dtype=bool)))
    assert learner.steps == 3
    assert learner.weights[0] == 0.0
    contradiction = network(2, [(0, [1, 2]), (0, [-1]), (0, [-2])], hard=[0])
    with pytest.raises(ConflictingClausesError):
        relaxed_world(contradiction, np.zeros(1), None, seed=0, describe=None)


def test_relaxed_worlds_agree_with_enumeration_where_the_bound_is_met() -> None:
    rng, integral = random.Random(1), 0
    for _ in range(20):
        n = rng.randint(1, 6)
        ground = [
            (i, [a if rng.random() < 0.5 else -a for a in rng.sample(range(1, n + 1), rng.randint(1, min(2, n)))], 1)
            for i in range(rng.randint(1, 6))
        ]
        problem = Problem(n, ground, [rng.gauss(0, 1) for _ in ground])
        world = relaxed_world(problem.network(), np.array(problem.weights), None, seed=0, describe=None)
        best = max(float(problem.score(w)) for w in worlds(problem))
        value = float(problem.score(tuple(world.tolist())))
        assert value <= best + 1e-12
        integral += value > best - 1e-9
    assert integral > 12


@pytest.mark.slow
def test_samples_are_learned_from_without_a_proof_of_the_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Atoms that attract or repel each other at random: a wide component whose relaxation is fractional."""
    n, draw = 20, np.random.default_rng(2)
    net = network(n, [(0 if draw.random() < 0.5 else 1, [-(a + 1), -(b + 1)]) for a in range(n) for b in range(a)])
    asked: list[int] = []

    def counted(part: WeightedNetwork, **options: Any) -> Solution:
        asked.append(len(part.atoms))
        return solve_cpsat(part, **options)

    monkeypatch.setattr(methods, "solve_cpsat", counted)
    weights, unused = np.array([1.3, -1.0]), ContrastiveDivergence("gibbs").parameters()
    shown, learned = two_worlds(net, weights, None, unused, lambda *_: "")
    assert asked == []
    assert np.array_equal(shown, learned)
    best, _ = two_worlds(net, weights, None, ContrastiveDivergence("mpe", ties="first").parameters(), lambda *_: "")
    assert len(asked) == 1
    assert score(net, weights, best) >= score(net, weights, shown) > score(net, weights, np.zeros(n, dtype=bool))
