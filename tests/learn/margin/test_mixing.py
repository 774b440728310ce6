"""Mixtures against all worlds written out, and against solvers that know nothing of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.svm import LinearSVC

from sqlrl.learn.batch.problem import TrainingProblem as Learned
from sqlrl.learn.margin.masters import SquaredNorm
from sqlrl.learn.margin.mixing import Mixing, best_pair
from sqlrl.learn.margin.planes import CuttingPlanes, Stopping
from sqlrl.learn.margin.separation import Oracle
from sqlrl.solve.sample_networks import network
from sqlrl.training.labels import Names
from tests.learn.margin.margins import Case, case


def greatest_margin(one: Case, delta: np.ndarray) -> float:
    """The greatest mean margin of a distribution over all worlds, the labels among them, with these mean count differences."""
    worlds = [[(tuple(np.zeros(one.clauses)), 0.0), *rows] for rows in one.constraints("hamming")]
    rows = [(k, np.array(d), m) for k, own in enumerate(worlds) for d, m in own]
    equal = [np.concatenate([d, np.eye(len(worlds))[k]]) for k, d, _ in rows]
    result = linprog(
        [-m for _, _, m in rows], A_eq=np.array(equal).T, b_eq=np.concatenate([delta, np.ones(len(worlds))]),
        bounds=(0, None), method="highs",
    )  # fmt: skip
    return -float(result.fun) if result.status == 0 else -np.inf


@pytest.mark.parametrize("seed", range(20))
def test_a_mixture_is_a_distribution_over_worlds(seed: int) -> None:
    one = case(400 + seed)
    problem = one.learned()
    mixing, product = Mixing(problem, seed=seed), Mixing(problem, seed=seed, sweeps=0)
    for price in (0.05, 0.7, 20.0):
        mixing.independent(price)
        product._truth = mixing._truth
        values = []
        for each in (product, mixing):
            cut, delta = each.cut(price), np.zeros(one.clauses)
            delta[cut.clause] = cut.delta
            margin = cut.loss - cut.fixed
            assert greatest_margin(one, delta) >= margin - 1e-7
            values.append(price * margin - 0.5 * price**2 * float(delta @ delta))
        # Sweeps only ever make the bound better, which they would not if they kept wrong account of rows.
        assert values[1] >= values[0] - 1e-9


def test_some_of_these_mixtures_violate_rows_in_some_worlds_only() -> None:
    found = 0
    for seed in range(400, 460):
        problem = case(seed).learned()
        mixing = Mixing(problem, seed=seed)
        violated = mixing._label_violated.copy()
        mixing._climb(mixing._near, mixing._truth, violated, 0.7)
        found += bool(((violated > 1e-6) & (violated < 1 - 1e-6)).any())
    assert found > 5


def independent(seed: int, atoms: int, clauses: int) -> Learned:
    """Atoms that nothing joins, each in most clauses, so that all pull at the same weights."""
    draw = np.random.default_rng(seed)
    ground = [
        (int(i), [int(a + 1) * int(draw.choice([1, -1]))], int(draw.integers(1, 4)))
        for a in range(atoms)
        for i in range(clauses)
        if draw.random() < 0.8
    ]
    return Learned(network(atoms, ground, clauses=clauses), draw.random(atoms) < 0.4, Names())


@pytest.mark.parametrize("price", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("seed", range(5))
def test_where_nothing_joins_atoms_weights_are_those_of_a_support_vector_machine(seed: int, price: float) -> None:
    problem = independent(seed, 12, 6)
    units, side = problem.network.units.toarray().astype(float), np.where(problem.truth, 1.0, -1.0)
    machine = LinearSVC(loss="hinge", C=price, fit_intercept=False, tol=1e-8, max_iter=1_000_000)
    theirs = machine.fit(units, problem.truth).coef_[0]

    def objective(weights: np.ndarray) -> float:
        return float(0.5 * weights @ weights + price * np.maximum(1.0 - side * (units @ weights), 0.0).sum())

    found = Mixing(problem, seed=seed, enough=1e-14, sweeps=5000).independent(price)
    assert objective(found) == pytest.approx(objective(theirs), rel=1e-5)


def test_the_best_step_of_a_pair_is_that_of_a_fine_grid() -> None:
    draw = np.random.default_rng(0)
    line = np.linspace(0.0, 1.0, 401)
    x, y = np.meshgrid(line, line)
    for _ in range(200):
        u, v = draw.normal(size=(2, 3)) * draw.choice([0.3, 1.0, 3.0])
        a, b = draw.normal(size=2)
        price = float(draw.choice([0.1, 1.0, 10.0]))
        uu, uv, vv = float(u @ u), float(u @ v), float(v @ v)
        value = a * x + b * y - 0.5 * price * (uu * x * x + 2 * uv * x * y + vv * y * y)
        found = best_pair((float(a), float(b)), (uu, vv), uv, price)
        own = (
            a * found[0]
            + b * found[1]
            - 0.5 * price * (uu * found[0] ** 2 + 2 * uv * found[0] * found[1] + vv * found[1] ** 2)
        )
        assert found[2] == pytest.approx(own, abs=1e-9)
        assert found[2] >= value.max() - 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_training_that_starts_from_a_mixture_finds_the_same_optimum(seed: int) -> None:
    one = case(500 + seed)
    problem, strength = one.learned(), [0.05, 1.0, 20.0][seed % 3]
    planes = CuttingPlanes(
        Oracle(problem),
        SquaredNorm(),
        one.clauses,
        2,
        Stopping(1e-5, 400, 50),
        lambda state: None,
        Mixing(problem).opening,
    )
    for each in (0.3 * strength, strength):
        found, least = planes.train(2 * each), one.least_objective("l2", "hamming", each)
        assert found.converged
        assert found.state.lower <= least + 1e-6 * (1 + least)
        assert found.state.objective == pytest.approx(least, abs=1e-4 * (1 + each))


def test_labels_that_break_hard_clauses_are_no_start() -> None:
    broken = network(3, [(0, [1, 2]), (1, [3]), (2, [2])], hard=[0])
    problem = Learned(broken, np.array([False, False, True]), Names())
    mixing = Mixing(problem)
    assert mixing.independent(10.0).tolist() == [0.0, 0.0, 0.0]
    assert len(mixing.cut(10.0).clause) == 0


def test_a_start_saves_searches_where_many_atoms_have_a_say() -> None:
    draw = np.random.default_rng(3)
    atoms, clauses = 60, 40
    ground = [(int(i), [a + 1], 1) for a in range(atoms) for i in draw.choice(clauses, 12, replace=False)]
    ground += [(clauses, [-a, a + 1], 1) for a in range(1, atoms)]
    problem = Learned(network(atoms, ground, clauses=clauses + 1), draw.random(atoms) < 0.4, Names())
    needed = []
    for start in (None, Mixing(problem).opening):
        planes = CuttingPlanes(
            Oracle(problem),
            SquaredNorm(),
            clauses + 1,
            1,
            Stopping(0.001, 2000, 50, violation=1e-2),
            lambda state: None,
            start,
        )
        found = planes.train(1.0)
        assert found.converged
        needed.append((found.state.iteration, found.state.objective))
    assert needed[0][1] == pytest.approx(needed[1][1], abs=2.2e-2)
    assert needed[1][0] < 0.85 * needed[0][0], needed
