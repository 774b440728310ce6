"""Closed forms of hinges, held against minimisation of one number by scipy and by a grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from sqlrl.kernels import kernel
from sqlrl.solve.hinge.problem import dual_of, problem_of
from sqlrl.solve.hinge.single_atoms import solve_single_atoms
from tests.solve.hinges import Soft, feasible, softs

DISTANCES = {
    0: lambda c, e: c * max(e, 0.0),
    1: lambda c, e: c * max(e, 0.0) ** 2,
    2: lambda c, e: c * abs(e),
    3: lambda c, e: c * e * e,
    4: lambda c, e: 0.0 if e <= 0 else np.inf,
    5: lambda c, e: 0.0 if e == 0 else np.inf,
}


@kernel
def closed(kind: int, cost: float, value: float, step: float) -> float:
    return dual_of(kind, cost, value, step)


@pytest.mark.parametrize("kind", [0, 1, 2, 3])
@pytest.mark.parametrize("value", [-3.0, -0.4, 0.0, 0.1, 0.7, 5.0])
@pytest.mark.parametrize(("cost", "step"), [(0.5, 1.0), (2.0, 0.3), (0.01, 4.0)])
def test_the_dual_is_that_of_the_nearest_expression(kind: int, value: float, cost: float, step: float) -> None:
    # Moreau: e = (value - dual) / step is where distance + step / 2 (e - value / step)^2 is least.
    def moved(e: float) -> float:
        return float(DISTANCES[kind](cost, e)) + step / 2 * (e - value / step) ** 2

    dual = closed(kind, cost, value, step)
    found = (value - dual) / step
    scale = abs(value / step) + 1
    around = minimize_scalar(moved, bounds=(-scale, scale), method="bounded", options={"xatol": 1e-10})
    assert moved(found) <= min(around.fun, moved(0.0)) + 1e-12
    assert found == pytest.approx(around.x, abs=1e-4 * scale)


@pytest.mark.parametrize("value", [-3.0, 0.0, 0.7])
def test_the_dual_of_a_hard_hinge_leaves_the_nearest_point_where_it_holds(value: float) -> None:
    step = 0.5
    assert (value - closed(4, 1.0, value, step)) / step == pytest.approx(min(value / step, 0.0))
    assert (value - closed(5, 1.0, value, step)) / step == 0.0


@given(softs(), st.integers(0, 3))
def test_single_atoms_are_where_a_grid_has_its_least_value(soft: Soft, atom: int) -> None:
    hinges = [(r, {0: next(iter(terms.values()))}, b, k) for r, terms, b, k in soft.hinges]
    one = Soft(1, soft.rules, hinges, soft.weights)
    problem = problem_of(one.network, one.weights)
    if not len(problem.single.atoms) or not feasible(one):
        return
    found = solve_single_atoms(problem.single.hinges)
    grid = np.linspace(0.0, 1.0, 2001)
    zeros = [-b / terms[0] for _, terms, b, _ in hinges]
    costs = [one.cost(np.array([y])) for y in [*grid, *zeros] if 0 <= y <= 1 and one.excess(np.array([y])) <= 1e-12]
    cost = one.cost(found.y)
    assert one.excess(found.y) <= 1e-12
    assert found.cost[0] * problem.scale == pytest.approx(cost, rel=1e-9, abs=1e-12)
    assert cost <= min(costs, default=np.inf) + 1e-12
    # The least value is between two points of the grid, where a slope is at most the sum of all.
    assert cost - found.rounding[0] * problem.scale <= min(costs, default=np.inf)


@pytest.mark.parametrize("seed", range(20))
def test_an_atom_of_many_hinges(seed: int) -> None:
    random = np.random.default_rng(seed)
    rules = ["", "2", "=", "2="]
    hinges = [
        (int(k), {0: float(random.normal() or 1.0)}, float(random.normal()), 1)
        for k in np.sort(random.integers(0, 4, 300))
    ]
    soft = Soft(1, rules, hinges, random.uniform(0.1, 2, 4).tolist())
    found = solve_single_atoms(problem_of(soft.network, soft.weights).single.hinges)
    around = minimize_scalar(
        lambda y: soft.cost(np.array([y])), bounds=(0, 1), method="bounded", options={"xatol": 1e-12}
    )
    assert soft.cost(found.y) <= around.fun + 1e-9
    assert found.y[0] == pytest.approx(around.x, abs=1e-4)
