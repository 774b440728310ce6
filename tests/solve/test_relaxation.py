"""The linear relaxation and its rounding against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sqlrl.errors import InputError
from sqlrl.solve.relaxation import linear_program, relax, safe_bound
from sqlrl.solve.restriction import UnsatisfiableError
from sqlrl.solve.rounding import round_up, solve_relaxation
from sqlrl.solve.weighted import weigh
from tests.solve.networks import EXTREME, ORDINARY, Problem, problems
from tests.solve.test_cliques import grouped
from tests.solve.test_weighted import enumerate_weighted, tolerance


@given(
    st.one_of(problems(ORDINARY, hardness=2), grouped(), problems(EXTREME)), st.sampled_from(["highs", "glop", "pdlp"])
)
def test_bounds_hold_and_rounded_worlds_keep_their_claims(problem: Problem, solver: str) -> None:
    weighted = weigh(problem.network(), problem.weights)
    scores = enumerate_weighted(weighted)
    try:
        solution, relaxed = solve_relaxation(weighted, solver=solver)  # type: ignore[arg-type]
    except UnsatisfiableError:
        assert not scores
        return
    assume(bool(scores))
    best = max(scores.values())
    assert relaxed.bound >= best - tolerance(problem)
    if solution is not None:
        assert weighted.score(solution.world) >= best - solution.gap - tolerance(problem)


@given(problems(ORDINARY), st.lists(st.floats(-5, 5), min_size=60, max_size=60))
def test_any_dual_values_give_a_bound(problem: Problem, values: list[float]) -> None:
    weighted = weigh(problem.network(), problem.weights)
    assume(problem.atoms > 0)
    scores = enumerate_weighted(weighted)
    assume(bool(scores))
    program = linear_program(weighted)
    low, _ = safe_bound(program, np.resize(values, len(program.low)))
    assert weighted.constant - low >= max(scores.values()) - tolerance(problem)


def test_the_relaxation_of_a_clique_is_exact() -> None:
    n = 12
    ground = [(0, [-a, -b], 1) for a in range(1, n + 1) for b in range(a + 1, n + 1)] + [
        (1, [a], 1) for a in range(1, n + 1)
    ]
    weighted = weigh(Problem(n, ground, [1.0, 3.5]).network(), [1.0, 3.5])
    solution, relaxed = solve_relaxation(weighted)
    assert solution is not None
    assert solution.optimal
    assert int(solution.world.sum()) == 4
    assert relaxed.bound == pytest.approx(weighted.constant + 4 * 3.5 - 6)


def test_rounding_follows_the_algorithm_from_the_last_atom() -> None:
    # By hand: atom 3: 0.4 + 0.5 - 1, false; atom 2: 0.5 + 1 - 1.2 - 2, false; atom 1: 0.4 + 1, and !1 v !2 holds: true.
    ground = [(0, [-3], 1), (1, [3, 1], 1), (2, [2, 3], 1), (3, [-2], 1), (4, [1, 2], 1), (5, [-1, -2], 1)]
    weights = [1.0, 0.4, 0.5, 1.2, 1.0, 2.0]
    weighted = weigh(Problem(3, ground, weights).network(), weights)
    assert round_up(weighted, np.array([0.5, 0.5, 0.5])).tolist() == [True, False, False]


def test_an_unknown_solver_is_named() -> None:
    with pytest.raises(InputError, match="simplex"):
        relax(weigh(Problem(1, [], []).network(), []), solver="simplex")  # type: ignore[arg-type]


def test_truths_that_the_first_order_solver_does_not_find_are_found() -> None:
    """PDLP of OR-Tools 9.15 says of this program, which has solutions, that it has none."""
    ground = [
        (0, [4], 3), (1, [-6], 2), (2, [7, 8, 6, -3], 1), (2, [-5, 7, 2, 3], 1), (2, [-1], 2), (3, [3, 8, 1, -4], 1),
    ]  # fmt: skip
    weights = [-0.3, 1e-3, 100.0, 0.0]
    blocks = [([2], False), ([0, 7], False), ([1], True)]
    problem = Problem(8, ground, weights, hard=[3], blocks=blocks, prior=[0.5, 0.5, -1, 0, 0.5, -1, 0, 0.5])
    weighted = weigh(problem.network(), weights)
    for solver in ("pdlp", "glop", "highs"):
        assert relax(weighted, solver=solver).bound == pytest.approx(401.502)  # type: ignore[arg-type]


@pytest.mark.parametrize("solver", ["pdlp", "glop", "highs"])
def test_that_there_are_no_truths_is_still_an_error(solver: str) -> None:
    problem = Problem(2, [(0, [1, 2], 1), (0, [-1], 1), (0, [-2], 1)], [0.0], hard=[0])
    with pytest.raises(UnsatisfiableError):
        relax(weigh(problem.network(), [0.0]), solver=solver)  # type: ignore[arg-type]
