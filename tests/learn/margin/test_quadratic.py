import numpy as np
import pytest
from scipy.optimize import minimize

from sqlrl.learn.margin.masters import solve_dual


def problem(seed: int, cuts: int, clauses: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    rows = draw.integers(-5, 6, (cuts, clauses)).astype(float)
    return rows @ rows.T, draw.uniform(-1, 8, cuts)


def least(gram: np.ndarray, demand: np.ndarray, strength: float) -> float:
    result = minimize(
        lambda a: 0.5 * a @ gram @ a - demand @ a,
        np.zeros(len(demand)),
        jac=lambda a: gram @ a - demand,
        bounds=[(0, None)] * len(demand),
        constraints={"type": "ineq", "fun": lambda a: strength - a.sum(), "jac": lambda a: -np.ones_like(a)},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    assert result.status in (0, 8), result.message  # 8: rounding allows no better
    return -float(result.fun)


@pytest.mark.parametrize("strength", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(("seed", "cuts", "clauses"), [(0, 1, 1), (1, 4, 6), (2, 8, 3), (3, 12, 30), (4, 12, 2)])
def test_the_dual_agrees_with_a_general_solver(seed: int, cuts: int, clauses: int, strength: float) -> None:
    gram, demand = problem(seed, cuts, clauses)
    alpha = solve_dual(gram, demand, strength, 1e-9)
    assert alpha.min() >= 0
    assert alpha.sum() <= strength * (1 + 1e-12)
    assert demand @ alpha - 0.5 * alpha @ gram @ alpha == pytest.approx(least(gram, demand, strength), abs=1e-6)


def test_equal_cuts_and_cuts_without_counts_are_no_trouble() -> None:
    gram = np.array([[4.0, 4.0, 0.0], [4.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    alpha = solve_dual(gram, np.array([1.0, 1.0, 0.25]), 2.0, 1e-12)
    # The third asks for a slack of 0.25, whatever the weights are.
    assert alpha @ gram @ alpha == pytest.approx(0.75**2 / 4)
    assert alpha.sum() == pytest.approx(2.0)


def test_a_start_beyond_the_bounds_is_brought_inside() -> None:
    alpha = solve_dual(np.eye(2), np.array([1.0, 1.0]), 0.5, 1e-12, np.array([3.0, -1.0]))
    assert alpha == pytest.approx([0.25, 0.25], abs=1e-6)
