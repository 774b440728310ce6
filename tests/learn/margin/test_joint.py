import random

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from sqlrl.learn.batch.problem import TrainingProblem as Learned
from sqlrl.learn.margin.cuts import Cut
from sqlrl.learn.margin.joint import group_clauses, is_joint
from sqlrl.learn.margin.masters import AbsoluteNorm, SquaredNorm
from sqlrl.learn.margin.planes import CuttingPlanes, MarginState, Stopping, Trained
from sqlrl.learn.margin.separation import ViolatedMargin
from sqlrl.learn.margin.trainer import JointTraining
from sqlrl.solve.relaxation import relax
from sqlrl.solve.sample_networks import network
from sqlrl.solve.weighted import weigh
from sqlrl.training.labels import Names, infeasible_truth
from tests.learn.margin.margins import Case
from tests.solve.networks import Problem, worlds

MASTERS = {"l2": SquaredNorm, "l1": AbsoluteNorm}


def units(seed: int, *, rows: int = 0) -> Case:
    """Two examples whose weighted clauses have one atom each, with blocks, and perhaps rows of a hard clause, number 0."""
    draw = random.Random(seed)
    examples, truths = [], []
    for _ in range(2):
        while True:
            n = draw.randint(3, 5)
            ground = [
                (draw.randint(1, 3), [draw.choice([1, -1]) * draw.randint(1, n)], draw.randint(1, 3))
                for _ in range(draw.randint(3, 8))
            ]
            for _ in range(rows):
                size = draw.choice([1, 2, 3, 3])
                ground.append((0, [a * draw.choice([1, -1]) for a in draw.sample(range(1, n + 1), size)], 1))
            size = draw.choice([0, 2, 3])
            blocks = [(sorted(draw.sample(range(n), size)), draw.random() < 0.5)] if size else []
            prior = [draw.choice([0.0, 0.0, 0.5, -1.0]) for _ in range(n)]
            one = Problem(n, ground, [0.0] * 5, [0], [], blocks, prior)
            possible = list(worlds(one))
            if possible:
                break
        examples.append(one)
        truths.append(draw.choice(possible) if draw.random() < 0.7 else tuple(draw.random() < 0.5 for _ in range(n)))
    return Case(examples, truths)


def trained(
    problem: Learned, penalty: str, strength: float, *, epsilon: float = 1e-6
) -> tuple[Trained | None, list[MarginState]]:
    states: list[MarginState] = []
    training = JointTraining(problem, penalty, Stopping(epsilon, 400, 50), states.append)
    return training.train(strength * training.examples), states


def norm(weights: np.ndarray, penalty: str) -> float:
    return float(np.abs(weights).sum() if penalty == "l1" else 0.5 * weights @ weights)


class Relaxed:
    """The worst point of the linear relaxation, as another module of the library writes it."""

    least_margin = 0.0

    def __init__(self, problem: Learned) -> None:
        self.problem = problem

    def rounded(self, weights: np.ndarray) -> np.ndarray:
        return weights

    def most_violated(self, weights: np.ndarray, known: int = -1) -> ViolatedMargin:
        network, truth = self.problem.network, self.problem.truth.astype(float)
        found = relax(weigh(network, weights, loss=1 - 2 * truth)).truth
        delta = np.where(network.hard, 0.0, network.units.T @ (truth - found))
        clause = np.flatnonzero(delta)
        loss = float((1 - 2 * truth) @ found + truth.sum())
        return ViolatedMargin(Cut(clause, delta[clause], loss, float(network.prior @ (truth - found))), 0.0, 0)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("strength", [0.05, 1.0, 300.0])
def test_without_rows_weights_are_those_of_all_constraints_written_out(penalty: str, strength: float) -> None:
    solved = 0
    for seed in range(8):
        one = units(seed)
        problem = one.learned()
        assert is_joint(problem.network, relaxed=False)
        least = one.least_objective(penalty, "hamming", strength)
        found, states = trained(problem, penalty, strength)
        slack = 1e-5 * strength + 1e-6 * (1 + least)
        for state in states:
            assert state.lower <= least + slack
            assert state.objective >= least - slack
        if found is None:
            assert len(infeasible_truth(problem.network, problem.truth).clause)
            continue
        solved += 1
        own = norm(found.weights, penalty) + strength * max(one.shortfall("hamming", found.weights), 0.0)
        assert found.converged
        assert own == pytest.approx(found.state.objective, abs=slack)
        assert own == pytest.approx(least, abs=slack)
    assert solved >= 6


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("strength", [0.2, 20.0])
def test_with_hard_clauses_weights_are_those_of_cuts_by_the_relaxation(penalty: str, strength: float) -> None:
    solved = fractional = 0
    for seed in range(50, 56):
        one = units(seed, rows=4)
        problem = one.learned()
        found, states = trained(problem, penalty, strength)
        if found is None:
            assert len(infeasible_truth(problem.network, problem.truth).clause)
            continue
        solved += 1
        planes = CuttingPlanes(
            Relaxed(problem), MASTERS[penalty](), one.clauses, 2, Stopping(1e-6, 500, 500), lambda state: None
        )
        other = planes.train(2 * strength)
        assert other.converged
        slack = 1e-5 * strength + 1e-5 * (1 + other.state.objective)
        assert found.converged
        assert found.state.objective == pytest.approx(other.state.objective, abs=slack)
        assert found.state.lower <= found.state.objective + 1e-9
        # Over true worlds the objective is no higher.
        own = norm(found.weights, penalty) + strength * max(one.shortfall("hamming", found.weights), 0.0)
        assert own <= found.state.objective + slack
        fractional += own < found.state.objective - 10 * slack
        assert len(states) > 1 or penalty == "l1"
    assert solved >= 4


@pytest.mark.parametrize("strength", [0.01, 1.0, 100.0])
def test_without_blocks_and_rows_it_is_the_support_vector_machine(strength: float) -> None:
    draw = np.random.default_rng(3)
    features = draw.integers(0, 4, (60, 8))
    truth = features @ draw.normal(size=8) + draw.normal(size=60) > 0
    ground = [(i, [k + 1], int(times)) for k, row in enumerate(features) for i, times in enumerate(row) if times]
    found, _ = trained(Learned(network(60, ground, clauses=8), truth, Names()), "l2", strength, epsilon=1e-8)
    other = LinearSVC(C=strength, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10_000_000, random_state=0)
    theirs = other.fit(features, truth).coef_[0]
    assert found is not None

    def objective(weights: np.ndarray) -> float:
        return norm(weights, "l2") + strength * float(
            np.maximum(0, 1 - np.where(truth, 1, -1) * (features @ weights)).sum()
        )

    assert found.state.objective == pytest.approx(objective(found.weights), rel=1e-7)
    assert found.state.objective == pytest.approx(objective(theirs), rel=1e-5)
    assert found.state.lower <= objective(theirs)


def test_clauses_with_equal_counts_share_a_weight_or_the_first_has_it() -> None:
    three = network(3, [(0, [1]), (1, [2]), (2, [1]), (3, [-3]), (4, [1], 2)], clauses=6)
    problem = Learned(three, np.array([True, False, False]), Names())
    assert group_clauses(three).group.tolist() == [0, 1, 0, 2, 3, -1]
    squared, _ = trained(problem, "l2", 10.0, epsilon=1e-9)
    absolute, _ = trained(problem, "l1", 10.0)
    assert squared is not None
    assert absolute is not None
    # The weights w, w, 2w of the first atom's clauses outweigh its margin of 1 with the least norm.
    assert squared.weights == pytest.approx([1 / 6, -1.0, 1 / 6, 1.0, 1 / 3, 0.0], abs=1e-4)
    assert absolute.weights == pytest.approx([0.0, -1.0, 0.0, 1.0, 0.5, 0.0])


def test_where_labels_outscore_all_worlds_but_are_none_cuts_take_over() -> None:
    # The block asks for exactly one true atom of two, and both are: any world has one error, and counts that a weight can punish.
    one = network(2, [(0, [1]), (1, [2])], blocks=[([0, 1], True)])
    problem = Learned(one, np.array([True, True]), Names())
    found, _ = trained(problem, "l2", 100.0)
    assert found is None
    absolute, _ = trained(problem, "l1", 100.0)
    assert absolute is not None
    # w >= 1 for the atom that a world lacks, whichever it is.
    assert absolute.weights == pytest.approx([1.0, 1.0])


def test_weighted_clauses_of_two_atoms_and_large_problems_need_cuts() -> None:
    pair = network(2, [(0, [1, 2])])
    assert not is_joint(pair, relaxed=True)
    hard = network(2, [(0, [1, 2]), (1, [1])], hard=[0])
    assert is_joint(hard, relaxed=True)
    assert not is_joint(hard, relaxed=False)
    assert is_joint(network(2001, [(0, [1])]), relaxed=True)
    assert not is_joint(network(2001, [(0, [1])], blocks=[([0, 1], False)]), relaxed=True)
