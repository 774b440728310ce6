"""The exact conditional likelihood against all worlds, written out."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from sqlrl.errors import InfeasibleError, InputError
from sqlrl.learn.batch.choice_design import Choices
from sqlrl.learn.batch.conditionals import make_choices
from sqlrl.learn.batch.problem import TrainingProblem
from sqlrl.solve.sample_networks import network
from sqlrl.training.labels import Names
from tests.solve import networks


def random_problem(seed: int) -> networks.Problem:
    """Ground clauses whose literals are of one atom or one block, some of them hard, with soft evidence."""
    rng = random.Random(seed)
    blocks, groups, n = [], [], 0
    for _ in range(rng.randint(1, 4)):
        size = rng.randint(1, 3)
        members = list(range(n, n + size))
        n += size
        if size > 1 or rng.random() < 0.3:
            blocks.append((members, rng.random() < 0.5))
            groups.append(members)
        else:
            groups += [[a] for a in members]
    m = 4
    hard = [3] if rng.random() < 0.5 else []
    ground = []
    for _ in range(rng.randint(1, 10)):
        members = rng.choice(groups)
        chosen = rng.sample(members, rng.randint(1, len(members)))
        clause = rng.randrange(m)
        ground.append((clause, [(a + 1) * rng.choice([1, -1]) for a in chosen], rng.randint(1, 3)))
    ground.sort(key=lambda g: g[0])
    negated = [i for i in range(3) if rng.random() < 0.3]
    prior = [rng.gauss(0, 1) if rng.random() < 0.5 else 0.0 for _ in range(n)]
    weights = [rng.gauss(0, 1) for _ in range(m)]
    return networks.Problem(n, ground, weights, hard=hard, negated=negated, blocks=blocks, prior=prior)


def choices_of(problem: networks.Problem, truth: networks.World) -> Choices:
    return make_choices(TrainingProblem(problem.network(), np.array(truth), Names()), seed=0)


@pytest.mark.slow
def test_the_likelihood_is_that_of_all_worlds() -> None:
    compared = 0
    for seed in range(40):
        problem = random_problem(seed)
        possible = list(networks.worlds(problem))
        if len(possible) < 2:
            continue
        scores = [float(problem.score(world)) for world in possible]
        partition = math.log(math.fsum(map(math.exp, scores)))
        counts = np.array([problem.count(world) for world in possible], dtype=float)
        share = np.exp(np.array(scores) - partition)
        soft = np.array([i not in problem.hard for i in range(4)])
        for truth, score, count in list(zip(possible, scores, counts, strict=True))[:3]:
            found = choices_of(problem, truth)
            value, gradient = found.value_and_gradient(np.array(problem.weights))
            assert value == pytest.approx(score - partition, abs=1e-9)
            assert gradient == pytest.approx(np.where(soft, count - share @ counts, 0.0), abs=1e-9)
            assert found.log_likelihood(np.array(problem.weights)).sum() == pytest.approx(value, abs=1e-12)
            covariance = (counts.T * share) @ counts - np.outer(share @ counts, share @ counts)
            covariance[~soft], covariance[:, ~soft] = 0.0, 0.0
            hessian = found.hessian(np.array(problem.weights), np.arange(4))
            assert hessian == pytest.approx(covariance, abs=1e-9)
            assert found.curvature(np.array(problem.weights)) == pytest.approx(np.diag(covariance), abs=1e-9)
            compared += 1
    assert compared > 50


def test_the_gradient_is_that_of_the_value() -> None:
    problem = random_problem(3)
    found = choices_of(problem, next(networks.worlds(problem)))
    at = np.array([0.3, -0.7, 0.2, 0.0])
    gradient = found.value_and_gradient(at)[1]
    for i, step in itertools.product(range(4), [1e-5]):
        up, down = at.copy(), at.copy()
        up[i] += step
        down[i] -= step
        slope = (found.value_and_gradient(up)[0] - found.value_and_gradient(down)[0]) / (2 * step)
        assert slope == pytest.approx(gradient[i], abs=1e-7)
    assert np.abs(gradient).max() > 0.1


def test_scores_out_of_the_range_of_exp() -> None:
    found = make_choices(TrainingProblem(network(1, [(0, [1])]), np.array([False]), Names()), seed=0)
    value, gradient = found.value_and_gradient(np.array([2000.0]))
    assert (value, gradient.tolist()) == (-2000.0, [-1.0])


def test_fixed_atoms_and_impossible_labels_contribute_nothing() -> None:
    # Atom 0 is fixed by a hard unit clause; atoms 3 and 4 of the block are labelled both.
    net = network(
        5, [(0, [1]), (1, [1]), (1, [2]), (1, [3]), (1, [4]), (1, [5])], hard=[0], blocks=[([2, 3, 4], False)]
    )
    found = make_choices(TrainingProblem(net, np.array([False, True, False, True, True]), Names()), seed=0)
    assert (found.start.tolist(), found.label.tolist()) == ([0, 2], [1])
    value, gradient = found.value_and_gradient(np.zeros(2))
    assert (value, gradient.tolist()) == (pytest.approx(-math.log(2)), [0.0, 0.5])


def test_a_label_against_a_fixed_member_of_a_block() -> None:
    net = network(4, [(0, [-1]), (1, [2]), (1, [4])], hard=[0], blocks=[([0, 1, 2], False)])
    found = make_choices(TrainingProblem(net, np.array([True, False, False, True]), Names()), seed=0)
    assert len(found) == 1


def test_a_row_that_a_fixed_atom_makes_a_unit() -> None:
    # With atom 0 true, `!a0 v a1` says what `a1` says, and `a0 v a2` nothing.
    net = network(3, [(0, [1]), (1, [-1, 2], 2), (2, [1, 3])], hard=[0])
    found = make_choices(TrainingProblem(net, np.array([True, True, False]), Names()), seed=0)
    assert found.value_and_gradient(np.zeros(3))[1].tolist() == [0.0, 1.0, 0.0]


def test_rows_that_join_atoms_are_refused_by_name() -> None:
    names = Names(clause=["Likes(x, y) => Likes(y, x)", "Likes(x, y) ^ Likes(y, z) => Likes(x, z)"].__getitem__)
    net = network(3, [(0, [1, 2]), (1, [2, 3])])
    with pytest.raises(InputError, match="Likelihood or MaxMargin") as caught:
        make_choices(TrainingProblem(net, np.zeros(3, dtype=bool), names), seed=0)
    assert "Likes(x, y) => Likes(y, x) joins query atoms, atom 0 and atom 1 (1 other clause does so too)" in str(
        caught.value
    )
    net = network(3, [(1, [1, 2, 3])], hard=[1])
    with pytest.raises(InputError, match=r"leave this hard clause out while learning and add it to the learned model"):
        make_choices(TrainingProblem(net, np.zeros(3, dtype=bool), names), seed=0)


def test_nothing_open() -> None:
    with pytest.raises(InputError, match="hard clauses and blocks leave no query atom open"):
        make_choices(TrainingProblem(network(1, [(0, [1])], hard=[0]), np.array([True]), Names()), seed=0)
    with pytest.raises(InfeasibleError, match="hard clauses cannot all hold"):
        make_choices(TrainingProblem(network(1, [(0, [1]), (1, [-1])], hard=[0, 1]), np.array([True]), Names()), seed=0)
