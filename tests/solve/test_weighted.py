"""WeightedNetwork networks, fixing atoms, and presolve against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.solve.presolve import presolve
from sqlrl.solve.restriction import UnsatisfiableError, component_labels, restrict, select, select_each
from sqlrl.solve.weighted import FREE, WeightedNetwork, weigh
from tests.solve.networks import EXTREME, Problem, assert_equal, problems, worlds


def enumerate_weighted(weighted: WeightedNetwork) -> dict[tuple[bool, ...], float]:
    """Scores of all worlds in which hard rows and blocks hold."""
    found = {}
    for world in itertools.product([False, True], repeat=len(weighted.atoms)):
        score = weighted.score(np.array(world, dtype=np.bool_))
        if score > -np.inf:
            found[world] = score
    return found


def tolerance(problem: Problem) -> float:
    return 1e-12 * float(problem.magnitude() + 1)


@given(problems(EXTREME, hardness=2))
def test_scores_are_those_of_the_problem(problem: Problem) -> None:
    scores = enumerate_weighted(weigh(problem.network(), problem.weights))
    expected = {world: float(problem.score(world)) for world in worlds(problem)}
    assert scores.keys() == expected.keys()
    for world, score in scores.items():
        assert score == pytest.approx(expected[world], rel=1e-12, abs=tolerance(problem))


@given(problems())
def test_members_of_blocks(problem: Problem) -> None:
    weighted = weigh(problem.network(), problem.weights)
    start, atoms = weighted.block_members
    members = [found.tolist() for found in np.split(atoms, start[1:-1])] if len(weighted.block_exact) else []
    assert members == [np.flatnonzero(weighted.block == b).tolist() for b in range(len(weighted.block_exact))]
    assert len(start) == len(weighted.block_exact) + 1


@given(problems(EXTREME, hardness=3))
def test_presolve_keeps_a_best_world(problem: Problem) -> None:
    weighted = weigh(problem.network(), problem.weights)
    expected = enumerate_weighted(weighted)
    try:
        value, left = presolve(weighted)
    except UnsatisfiableError:
        assert not expected
        return
    scores = enumerate_weighted(left)
    assert bool(scores) == bool(expected)
    assert np.array_equal(left.atoms, np.flatnonzero(value == FREE))
    if scores:
        assert max(scores.values()) == pytest.approx(max(expected.values()), rel=1e-12, abs=tolerance(problem))
    for world, score in scores.items():
        whole = value == 1
        whole[left.atoms] = world
        assert score == pytest.approx(weighted.score(whole), rel=1e-12, abs=tolerance(problem))


@given(problems(EXTREME, hardness=2))
def test_components_add_up(problem: Problem) -> None:
    weighted = weigh(problem.network(), problem.weights)
    count, label = component_labels(weighted)
    parts = [select(weighted, label == c) for c in range(count)]
    for world, score in enumerate_weighted(weighted).items():
        total = weighted.constant + sum(part.score(np.array(world, dtype=np.bool_)[part.atoms]) for part in parts)
        assert score == pytest.approx(total, rel=1e-12, abs=tolerance(problem))
    assert sum(len(part.cost) for part in parts) == len(weighted.cost)


@given(problems(EXTREME, hardness=2), st.integers(1, 4))
def test_parts_one_after_the_other_are_those_that_are_selected(problem: Problem, parts: int) -> None:
    weighted = weigh(problem.network(), problem.weights)
    label = component_labels(weighted)[1] % parts
    found = list(select_each(weighted, label, parts))
    assert len(found) == parts
    for k, (atoms, part) in enumerate(found):
        assert atoms.tolist() == np.flatnonzero(label == k).tolist()
        assert_equal(part, select(weighted, label == k))


def test_a_chain_of_hard_units_is_followed_to_its_end() -> None:
    n = 1000
    ground = [(0, [-k, k + 1], 1) for k in range(1, n)] + [(1, [1], 1)]
    problem = Problem(n, ground, [0.0, 0.0], hard=[0, 1])
    value, left = presolve(weigh(problem.network(), problem.weights))
    assert value.all()
    assert len(left.atoms) == 0


def test_a_free_atom_beside_a_true_member_is_refused() -> None:
    problem = Problem(2, [], [], blocks=[([0, 1], False)])
    with pytest.raises(ValueError, match="true one"):
        restrict(weigh(problem.network(), []), np.array([1, FREE], dtype=np.int8))
