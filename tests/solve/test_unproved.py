"""Most probable worlds without CP-SAT's proof, and relaxations by a maximum flow."""

import numpy as np
import pytest
from hypothesis import given, settings

from sqlrl.solve.local_search.walksat import solve_walksat
from sqlrl.solve.mpe import mpe
from sqlrl.solve.relaxation import relax
from sqlrl.solve.result import Status
from sqlrl.solve.sample_networks import network
from sqlrl.solve.weighted import weigh
from tests.effort import draws
from tests.solve.networks import Problem, problems, worlds


def odd(atoms: int, seed: int) -> tuple[Problem, np.ndarray]:
    """Pairs that repel and attract at random, all with all."""
    draw = np.random.default_rng(seed)
    ground, weights = [], []
    for a in range(1, atoms + 1):
        ground.append((len(weights), [a], 1))
        weights.append(float(draw.normal()))
        for b in range(a + 1, atoms + 1):
            ground.append((len(weights), [int(draw.choice([-a, a])), b], 1))
            weights.append(float(draw.normal()))
    return Problem(atoms, ground, weights), np.array(weights)


@pytest.mark.parametrize("seed", range(5))
def test_a_flow_solves_the_relaxation_of_pairs(seed: int) -> None:
    problem, weights = odd(9, seed)
    weighted = weigh(problem.network(), weights)
    flow, program = relax(weighted, solver="flow"), relax(weighted, solver="highs")
    assert flow.bound == pytest.approx(program.bound, abs=1e-6)
    assert set(flow.truth.tolist()) <= {0.0, 0.5, 1.0}


@settings(max_examples=draws(60), deadline=None)
@given(problems())
def test_without_a_proof_the_world_is_possible_and_the_gap_is_true(problem: Problem) -> None:
    possible = {world: problem.score(world) for world in worlds(problem)}
    if not possible:
        return
    result = mpe(problem.network(), problem.weights, prove=False)
    best = float(max(possible.values()))
    assert tuple(result.world.tolist()) in possible
    assert result.objective <= best + 1e-6
    assert result.bound >= best - 1e-6


def test_without_a_proof_no_component_meets_cpsat() -> None:
    problem, weights = odd(40, 1)
    quick = mpe(problem.network(), weights, prove=False)
    assert [choice.method for choice in quick.report.choices if choice.components] == ["lp"]
    # What is not proved is the distance to the bound of the relaxation, and no rounding.
    relaxed = relax(weigh(problem.network(), weights), solver="highs")
    assert quick.status is Status.FEASIBLE
    assert quick.gap > 1
    assert quick.bound == pytest.approx(relaxed.bound, abs=1e-6)
    # The relaxation of all pairs is all one half; rounding and local search do better than that by far.
    assert quick.objective > weigh(problem.network(), weights).score(np.zeros(40, dtype=bool)) + 10


def test_hard_clauses_hold_where_rounding_broke_them() -> None:
    triple = network(3, [(0, [1, 2]), (0, [1, 3]), (0, [2, 3]), (1, [-1]), (1, [-2]), (1, [-3])], hard=[0])
    world = mpe(triple, [0.0, 1.0], prove=False).world
    assert world.sum() == 2


def test_the_best_of_several_known_worlds_is_not_lost() -> None:
    """Whichever comes first: separation gives the labels and the worst world that it knows."""
    problem, weights = odd(100, 1)
    weighted, none = weigh(problem.network(), weights), np.zeros(100, dtype=bool)
    known = solve_walksat(weighted, flips=50_000).world
    assert mpe(problem.network(), weights, prove=False, start=none).objective < weighted.score(known) - 1
    for start in (np.stack([none, known]), np.stack([known, none])):
        found = mpe(problem.network(), weights, prove=False, start=start)
        assert found.objective >= weighted.score(known) - 1e-9
