import numpy as np
import pytest
from scipy.optimize import linprog

from sqlrl.learn.margin.cuts import Cut, Cuts
from sqlrl.learn.margin.masters import ENTERING, AbsoluteNorm


def random_cuts(seed: int, count: int, clauses: int) -> Cuts:
    draw = np.random.default_rng(seed)
    cuts = Cuts(clauses, 2)
    for _ in range(count):
        clause = np.sort(draw.choice(clauses, clauses // 2, replace=False))
        cuts.add(Cut(clause, draw.choice([-2, -1, 1, 2], len(clause)), int(draw.integers(1, 30))))
    return cuts


def least(cuts: Cuts, strength: float) -> float:
    rows = cuts.matrix.toarray()
    cost = np.concatenate([np.ones(2 * rows.shape[1]), [strength]])
    below = np.hstack([-rows, rows, -np.ones((len(rows), 1))])
    return float(linprog(cost, A_ub=below, b_ub=-cuts.demand, bounds=(0, None), method="highs-ipm").fun)


@pytest.mark.parametrize(("seed", "count", "clauses"), [(0, 1, 4), (1, 6, 3), (2, 40, 3 * ENTERING), (3, 30, 20)])
@pytest.mark.parametrize("strength", [0.3, 100.0])
def test_linear_programs_agree_with_all_columns_at_once(seed: int, count: int, clauses: int, strength: float) -> None:
    cuts = random_cuts(seed, count, clauses)
    plan = AbsoluteNorm().solve_linear(cuts, np.ones(count, dtype=bool), strength)
    optimum = least(cuts, strength)
    assert plan.lower == pytest.approx(optimum)
    assert np.abs(plan.weights).sum() + strength * plan.slack == pytest.approx(optimum)
    assert plan.slack >= cuts.shortfall(plan.weights).max() - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_proximal_steps_reach_the_optimum_of_the_linear_program(seed: int) -> None:
    cuts = random_cuts(seed, 25, 60)
    used, optimum = np.ones(25, dtype=bool), least(cuts, 3.0)
    master = AbsoluteNorm()
    master.begin()
    best, lower = np.inf, 0.0
    # Nine turns hold no linear program.
    for _ in range(9):
        plan = master.solve(cuts, used, 3.0, 1e-6)
        here = master.penalty(plan.weights) + 3.0 * max(float(cuts.shortfall(plan.weights).max()), 0.0)
        assert plan.lower <= optimum + 1e-9
        best, lower = min(best, here), max(lower, plan.lower)
        master.observe(plan, here, 3.0)
    assert optimum - 1e-9 <= best <= 1.05 * optimum
    assert lower >= 0.5 * optimum
