"""Minimum cuts and persistency against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sqlrl.errors import NumericError
from sqlrl.solve.cut import attractive, negate, pairwise_atoms, persistent, quadratic, solve_cut, switched
from sqlrl.solve.restriction import UnsatisfiableError, component_labels, select
from sqlrl.solve.sample_networks import network
from sqlrl.solve.weighted import FREE, WeightedNetwork, weigh
from tests.solve.networks import EXTREME, ORDINARY, Problem, problems
from tests.solve.test_weighted import enumerate_weighted, tolerance


@st.composite
def pairwise_problems(draw: st.DrawFn, weights: st.SearchStrategy[float] = ORDINARY) -> Problem:
    """Problems of up to eight atoms with rows of one or two literals and no blocks."""
    n = draw(st.integers(1, 8))
    m = draw(st.integers(1, 5))
    literal = st.integers(1, n).flatmap(lambda a: st.sampled_from([a, -a]))
    ground = draw(
        st.lists(
            st.tuples(
                st.integers(0, m - 1),
                st.lists(literal, min_size=1, max_size=2, unique_by=abs),
                st.integers(1, 2),
            ),
            max_size=14,
        )
    )
    hard = draw(st.lists(st.integers(0, m - 1), max_size=1))
    prior = draw(st.lists(weights, min_size=n, max_size=n))
    return Problem(n, ground, [draw(weights) for _ in range(m)], hard=hard, prior=prior)


def attractive_part(weighted: WeightedNetwork) -> WeightedNetwork:
    count, label = component_labels(weighted)
    fits = pairwise_atoms(weighted, label, count)
    part = select(weighted, fits)
    return select(part, attractive(part))


@given(pairwise_problems())
def test_the_quadratic_cost_is_minus_the_score(problem: Problem) -> None:
    weighted = weigh(problem.network(), problem.weights)
    form = quadratic(weighted)
    negated = negate(weighted, np.arange(problem.atoms) % 2 == 0)
    flipped = quadratic(negated)
    for world, score in enumerate_weighted(weighted).items():
        y = np.array(world, dtype=np.int64)
        cost = form.constant + form.linear @ y + form.product @ (y[form.a] * y[form.b])
        assert -cost == pytest.approx(score - weighted.constant, abs=1e-9)
        z = np.where(np.arange(problem.atoms) % 2 == 0, 1 - y, y)
        other = flipped.constant + flipped.linear @ z + flipped.product @ (z[flipped.a] * z[flipped.b])
        assert other - negated.constant == pytest.approx(cost - weighted.constant, abs=1e-9)


@given(pairwise_problems())
def test_switching_makes_all_pairs_attract(problem: Problem) -> None:
    weighted = weigh(problem.network(), problem.weights)
    negated, possible = switched(quadratic(weighted))
    other = quadratic(negate(weighted, negated))
    assert np.all(other.product[possible[other.a]] < 0)


@given(st.one_of(problems(ORDINARY), problems(EXTREME), pairwise_problems(EXTREME), pairwise_problems()))
def test_a_cut_is_a_best_world(problem: Problem) -> None:
    weighted = attractive_part(weigh(problem.network(), problem.weights))
    scores = enumerate_weighted(weighted)
    try:
        solution = solve_cut(weighted)
    except UnsatisfiableError:
        assert not scores
        return
    except NumericError:
        assume(False)
    best = max(scores.values())
    assert solution.optimal
    assert solution.gap < 1e-5 * float(problem.magnitude() + 1)
    assert weighted.score(solution.world) >= best - solution.gap - tolerance(problem)


@given(st.one_of(pairwise_problems(EXTREME), pairwise_problems()))
def test_some_best_world_has_the_persistent_values(problem: Problem) -> None:
    weighted = weigh(problem.network(), problem.weights)
    scores = enumerate_weighted(weighted)
    try:
        value, bound, rounding = persistent(weighted)
    except NumericError:
        assume(False)
    assume(bool(scores))
    best = max(scores.values())
    fixed = np.flatnonzero(value != FREE)
    agreeing = [s for w, s in scores.items() if all(w[k] == value[k] for k in fixed)]
    assert agreeing
    assert max(agreeing) >= best - rounding - tolerance(problem)
    assert bound >= best - tolerance(problem)


def test_persistency_solves_what_a_cut_solves() -> None:
    problem = Problem(3, [(0, [-1, 2], 1), (0, [-2, 3], 1), (1, [1], 1), (2, [-3], 1)], [2.0, 1.5, 0.5])
    value, bound, _ = persistent(weigh(problem.network(), problem.weights))
    assert value.tolist() == [1, 1, 1]
    assert bound == pytest.approx(max(enumerate_weighted(weigh(problem.network(), problem.weights)).values()))


def test_components_of_distant_weights_are_cut_apart() -> None:
    ground = [(0, [-1, 2], 1), (0, [1], 1), (1, [-3, 4], 1), (1, [3], 1)]
    problem = Problem(4, ground, [1e-9, 1e15])
    weighted = weigh(problem.network(), problem.weights)
    solution = solve_cut(weighted)
    assert solution.world.all()
    mixed = Problem(3, [(0, [-1, 2], 1), (1, [-2, 3], 1), (0, [1], 1)], [1e-9, 1e15])
    with pytest.raises(NumericError, match="integer weights cannot hold both"):
        solve_cut(weigh(mixed.network(), mixed.weights))


FAR = st.sampled_from([1000.0, 10.0, 1.0, 0.7, 2.1, 0.1, 0.3, 0.2, -0.1, -0.7])
"""Weights whose sums cancel but for rounding, beside large ones."""


@given(pairwise_problems(FAR))
def test_what_cancels_once_atoms_are_negated_leaves_no_tiny_cost(problem: Problem) -> None:
    weighted = attractive_part(weigh(problem.network(), problem.weights))
    scores = enumerate_weighted(weighted)
    try:
        solution = solve_cut(weighted)
    except UnsatisfiableError:
        assert not scores
        return
    assert weighted.score(solution.world) >= max(scores.values()) - solution.gap - tolerance(problem)
    assert solution.gap < 1e-5 * float(problem.magnitude() + 1)


@pytest.mark.parametrize("weights", [[1000.0, 0.7, 2.1], [10.0, 0.1, 0.3], [1e6, 0.7, 2.1]])
def test_a_cost_that_cancels_once_atoms_are_negated(weights: list[float]) -> None:
    """Three times 0.7 is not 2.1 in floats: what is left of both is 0 for the negated atom only."""
    ground = [(0, [-1, -2]), (1, [2, -3]), (1, [2, -4]), (1, [2, -5]), (2, [-2])]
    weighted = weigh(network(5, ground), weights)
    solution = solve_cut(weighted)
    best = max(enumerate_weighted(weighted).values())
    assert weighted.score(solution.world) == pytest.approx(best, abs=1e-9 * weights[0])


def test_one_component_of_distant_weights_says_which() -> None:
    repelling = weigh(network(3, [(0, [-1, -2]), (1, [-2, -3]), (0, [1])]), [1e-9, 1e15])
    with pytest.raises(NumericError, match="integer weights cannot hold both"):
        solve_cut(repelling)


def test_pairs_whose_costs_cancel_leave_no_tiny_one() -> None:
    """0.1 + 0.2 is not 0.3 in floats; the difference would be a cost that no integers hold beside the others."""
    net = network(2, [(0, [1, 2]), (1, [1, 2]), (2, [-1, 2]), (3, [1]), (4, [2])])
    form = quadratic(weigh(net, [0.1, 0.2, 0.3, 0.05, 1000.0]))
    assert form.product.tolist() == []
    assert form.linear.tolist() == pytest.approx([-0.05, -1000.3])
