"""Penalised weights against scikit-learn, and against what the optimum has to satisfy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse
from sklearn import linear_model

from sqlrl.learn.batch import penalised
from sqlrl.learn.batch.choice_design import Choices
from sqlrl.learn.batch.owlqn import descend
from sqlrl.learn.batch.penalised import PenalisedFit, Penalty, fit_weights, make_design
from sqlrl.learn.batch.validation import make_parts, validate
from sqlrl.training.records import Iteration

Array = npt.NDArray[Any]

TOLERANCE: dict[Penalty, float] = {"l1": 1e-9, "l2": 1e-7}


def logistic(x: Array, y: Array, offset: Array | None = None) -> Choices:
    """Atoms with counts x, labels y and soft evidence."""
    n, m = x.shape
    rows = np.zeros((2 * n, m))
    rows[1::2] = x
    log_odds = np.zeros(2 * n)
    if offset is not None:
        log_odds[1::2] = offset
    start = np.arange(n + 1) * 2
    label = y.astype(np.int64)
    return Choices(sparse.csr_array(rows), log_odds, start, start[:-1] + label, np.zeros(n, dtype=np.int64), label)


def softmax(x: Array, y: Array, classes: int) -> Choices:
    """Blocks of `classes` atoms, exactly one true; a clause for each column of x and class."""
    n, m = x.shape
    rows = np.einsum("nm,kl->nkml", x, np.eye(classes)).reshape(n * classes, m * classes)
    start = np.arange(n + 1) * classes
    label = y.astype(np.int64)
    zero = np.zeros(n * classes)
    return Choices(sparse.csr_array(rows), zero, start, start[:-1] + label, np.zeros(n, dtype=np.int64), label)


def counts(n: int = 300, m: int = 25, seed: int = 0) -> tuple[Array, Array]:
    """Small counts, a constant one among them, and labels that depend on a few."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (n, m)).astype(float) * (rng.random((n, m)) < 0.4)
    x[:, 0] = 1.0
    score = x[:, :6] @ np.array([-0.5, 1.0, -1.2, 0.8, 0.5, -0.4])
    return x, rng.random(n) < 1 / (1 + np.exp(-score))


def learned(choices: Choices, penalty: Penalty, strength: float) -> PenalisedFit:
    fit = fit_weights(make_design(choices), penalty, strength, tolerance=TOLERANCE[penalty], max_iterations=3000)
    assert fit.converged
    return fit


def violation(choices: Choices, weights: Array, penalty: Penalty, strength: float) -> float:
    """Of the condition of optimality, from the definition of a subgradient."""
    gradient = choices.value_and_gradient(weights)[1]
    if penalty == "l2":
        return float(np.abs(gradient - strength * weights).max())
    zero = weights == 0
    outside = np.maximum(np.abs(gradient[zero]) - strength, 0.0)
    return float(max([*outside, *np.abs(gradient[~zero] - strength * np.sign(weights[~zero]))]))


@pytest.mark.parametrize("strength", [0.3, 2.0, 15.0])
def test_l1_is_what_liblinear_finds(strength: float) -> None:
    x, y = counts()
    fit = learned(logistic(x, y), "l1", strength)
    oracle = linear_model.LogisticRegression(
        C=1 / strength, l1_ratio=1, solver="liblinear", fit_intercept=False, tol=1e-10, max_iter=100_000, random_state=0
    ).fit(x, y)
    assert fit.weights == pytest.approx(oracle.coef_[0], abs=1e-4)
    assert 0 < np.count_nonzero(fit.weights) < 25 or strength < 1
    assert fit.optimality == pytest.approx(violation(logistic(x, y), fit.weights, "l1", strength), abs=1e-9)
    assert fit.optimality < 1e-5


@pytest.mark.parametrize("strength", [0.01, 1.0, 30.0])
def test_l2_is_what_lbfgs_finds(strength: float) -> None:
    x, y = counts(seed=1)
    fit = learned(logistic(x, y), "l2", strength)
    oracle = linear_model.LogisticRegression(
        C=1 / strength, l1_ratio=0, solver="newton-cg", fit_intercept=False, tol=1e-10, max_iter=100_000
    ).fit(x, y)
    assert fit.weights == pytest.approx(oracle.coef_[0], abs=1e-4)
    assert fit.optimality == pytest.approx(violation(logistic(x, y), fit.weights, "l2", strength), abs=1e-9)


def test_blocks_are_multinomial() -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(0, 3, (200, 6)).astype(float)
    y = ((x - 1) @ rng.normal(size=(6, 3)) + rng.gumbel(size=(200, 3))).argmax(axis=1)
    fit = learned(softmax(x, y, 3), "l2", 0.7)
    oracle = linear_model.LogisticRegression(C=1 / 0.7, l1_ratio=0, fit_intercept=False, tol=1e-10, max_iter=100_000)
    oracle.fit(x, y)
    assert pytest.approx(oracle.coef_, abs=1e-4) == fit.weights.reshape(6, 3).T
    sparse_fit = learned(softmax(x, y, 3), "l1", 4.0)
    assert violation(softmax(x, y, 3), sparse_fit.weights, "l1", 4.0) < 1e-5
    assert 0 < np.count_nonzero(sparse_fit.weights) < 18


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_soft_evidence_is_a_fixed_feature(penalty: Penalty) -> None:
    # Log-odds of 0.8 for all atoms are a constant count of weight 0.8.
    x, y = counts(seed=3)
    with_offset = learned(logistic(x, y, np.full(len(y), 0.8)), penalty, 1.0)
    assert not np.allclose(with_offset.weights, learned(logistic(x, y), penalty, 1.0).weights, atol=1e-3)
    choices = logistic(x, y, np.full(len(y), 0.8))
    assert violation(choices, with_offset.weights, penalty, 1.0) < 1e-5
    shifted = with_offset.weights.copy()
    shifted[0] += 0.8
    assert choices.log_likelihood(with_offset.weights) == pytest.approx(
        logistic(x, y).log_likelihood(shifted), abs=1e-12
    )


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_separable_labels_have_finite_weights(penalty: Penalty) -> None:
    x = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    y = np.array([True, True, False, False])
    fit = learned(logistic(x, y), penalty, 1e-3)
    assert 3 < np.abs(fit.weights).max() < 40
    assert violation(logistic(x, y), fit.weights, penalty, 1e-3) < 1e-6


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_clauses_with_equal_counts_and_without_any(penalty: Penalty) -> None:
    x, y = counts(seed=4)
    plain = learned(logistic(x, y), penalty, 2.0)
    more = np.concatenate([np.zeros((len(y), 1)), x, x[:, 1:2], x[:, 2:3], x[:, 1:2]], axis=1)
    fit = learned(logistic(more, y), penalty, 2.0)
    assert fit.weights[0] == 0
    assert violation(logistic(more, y), fit.weights, penalty, 2.0) < 1e-5
    if penalty == "l1":
        assert fit.weights[1:26] == pytest.approx(plain.weights, abs=1e-6)
        assert fit.weights[26:].tolist() == [0, 0, 0]
        assert fit.objective == pytest.approx(plain.objective, abs=1e-8)
    else:
        assert fit.weights[2] == fit.weights[26] == fit.weights[28]
        assert fit.weights[3] == fit.weights[27]
        assert fit.objective > plain.objective


def test_more_clauses_than_atoms() -> None:
    rng = np.random.default_rng(5)
    base = rng.random((60, 12)) < 0.5
    pairs = [(a, b) for a in range(12) for b in range(a, 12)]
    x = np.array([base[:, a] & base[:, b] for a, b in pairs]).T.astype(float) * rng.integers(1, 200, len(pairs))
    y = (base[:, 0] & base[:, 3]) | base[:, 5]
    for strength in (0.05, 1.0):
        fit = learned(logistic(x, y), "l1", strength)
        assert violation(logistic(x, y), fit.weights, "l1", strength) < 1e-9 * np.abs(x.sum(axis=0)).max()


def test_owlqn_alone_reaches_the_optimum() -> None:
    x, y = counts(n=120, m=10, seed=6)
    choices = logistic(x, y)

    def smooth(point: Array) -> tuple[float, Array]:
        value, gradient = choices.value_and_gradient(point)
        return -value, -gradient

    states = list(descend(smooth, np.zeros(10), np.full(10, 2.0)))
    values = [state.value for state in states]
    assert values == sorted(values, reverse=True)
    assert states[-1].point == pytest.approx(learned(choices, "l1", 2.0).weights, abs=1e-4)
    assert np.count_nonzero(states[-1].point) < 10


def test_a_start_changes_nothing_and_iterations_are_told() -> None:
    x, y = counts(seed=7)
    design = make_design(logistic(x, y))
    told: list[Iteration] = []
    cold = fit_weights(design, "l1", 1.0, tolerance=1e-9, max_iterations=500, report=told.append)
    assert [each.iteration for each in told] == list(range(len(told)))
    objectives = [each.objective for each in told if each.objective is not None]
    assert objectives == sorted(objectives)
    assert told[0].objective == pytest.approx(-len(y) * np.log(2))
    assert (told[-1].objective, told[-1].optimality) == (cold.objective, cold.optimality)
    warm = fit_weights(design, "l1", 1.0, start=cold.weights + 0.1, tolerance=1e-9, max_iterations=500)
    assert warm.weights == pytest.approx(cold.weights, abs=1e-6)
    short = fit_weights(design, "l1", 1.0, tolerance=1e-9, max_iterations=3, report=told.append)
    assert (short.converged, told[-1].iteration) == (False, 3)


@pytest.mark.slow
def test_validation_holds_each_part_out() -> None:
    x, y = counts(n=80, m=6, seed=8)
    choices = logistic(x, y)
    parts = make_parts(choices, 4, seed=1)
    assert parts.sum(axis=1).tolist() == [20, 20, 20, 20]
    assert parts.any(axis=0).all()
    assert np.ptp([int(y[part].sum()) for part in parts]) <= 1
    found = validate(choices, "l2", [0.1, 10.0], parts)
    for i, strength in enumerate([10.0, 0.1]):
        for fold in range(4):
            out = parts[fold]
            oracle = linear_model.LogisticRegression(
                C=1 / strength, l1_ratio=0, fit_intercept=False, tol=1e-10, max_iter=10_000
            ).fit(x[~out], y[~out])
            probability = oracle.predict_proba(x[out])[:, 1]
            expected = np.log(np.where(y[out], probability, 1 - probability)).sum()
            assert found.scores[i, fold] == pytest.approx(expected, abs=1e-2)
    table = found.table()
    assert table.column("strength").to_pylist() == [0.1, 10.0]
    totals = table.column("log_likelihood").to_pylist()
    assert table.column("chosen").to_pylist() == [t == max(totals) for t in totals]
    assert found.tuning().num_rows == 8
    assert (make_parts(choices, 4, seed=1) == parts).all()
    assert (make_parts(choices, 4, seed=2) != parts).any()


def test_clauses_that_depend_on_each_other() -> None:
    # 40 atoms, 60 clauses that are sums of 8: no matrix of them has a Cholesky factor.
    rng = np.random.default_rng(9)
    base = rng.integers(0, 9, (40, 8)).astype(float)
    x = base @ rng.integers(0, 3, (8, 60)).astype(float)
    y = rng.random(40) < 0.5
    for penalty in TOLERANCE:
        for strength in (0.01, 3.0):
            fit = fit_weights(make_design(logistic(x, y)), penalty, strength, tolerance=1e-7, max_iterations=2000)
            assert fit.converged
            assert (
                violation(logistic(x, y), fit.weights, penalty, strength) < 1e-7 * np.abs(x.T @ (y - 0.5)).max() * 1.01
            )


def test_owlqn_goes_on_alone_where_too_many_weights_are_not_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = counts(seed=10)
    expected = {penalty: learned(logistic(x, y), penalty, 1.0).weights for penalty in TOLERANCE}
    monkeypatch.setattr(penalised, "newton_step", lambda *_: None)
    for penalty, weights in expected.items():
        fit = fit_weights(make_design(logistic(x, y)), penalty, 1.0, tolerance=1e-5, max_iterations=2000)
        assert fit.converged
        assert fit.weights == pytest.approx(weights, abs=1e-3)


def test_without_a_penalty_a_model_is_minimised_by_one_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, 30))
    hessian, gradient, point = rows.T @ rows + 0.1 * np.eye(30), rng.normal(size=30), rng.normal(size=30)
    solved, calls = penalised._solved, []
    monkeypatch.setattr(penalised, "_solved", lambda *given: calls.append(given) or solved(*given))
    found = penalised._model_minimum(hessian, gradient, point, np.zeros(30))
    np.testing.assert_allclose(found, point - np.linalg.solve(hessian, gradient), rtol=1e-9, atol=1e-9)
    assert len(calls) == 1
