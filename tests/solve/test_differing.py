"""Flipped atoms and other worlds against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sqlrl.solve.elimination import Bounded, bounded_part
from sqlrl.solve.methods import Chooser, Options
from sqlrl.solve.other_worlds import differing, flip_losses, flipped
from sqlrl.solve.weighted import WeightedNetwork, weigh
from tests.solve.networks import ORDINARY, Problem, problems
from tests.solve.test_weighted import enumerate_weighted, tolerance


def best(weighted: WeightedNetwork) -> np.ndarray:
    chooser = Chooser(weighted, Options())
    chooser.run()
    return chooser.world


@given(problems(ORDINARY, hardness=2), st.data())
def test_a_margin_is_what_the_best_score_falls_by(problem: Problem, data: st.DataObject) -> None:
    assume(problem.atoms > 0)
    weighted = weigh(problem.network(), problem.weights)
    scores = enumerate_weighted(weighted)
    assume(bool(scores))
    world = best(weighted)
    atom = data.draw(st.integers(0, problem.atoms - 1))
    other = flipped(weighted, world, atom, Options())
    rest = [s for w, s in scores.items() if w[atom] != world[atom]]
    if not rest:
        assert other.behind == np.inf
        return
    assert other.world[atom] != world[atom]
    assert other.behind == pytest.approx(weighted.score(world) - max(rest), abs=2e-5 + other.gap + tolerance(problem))
    assert weighted.score(other.world) == pytest.approx(weighted.score(world) - other.behind, abs=1e-9)


@given(problems(ORDINARY, hardness=2))
def test_the_best_of_the_other_worlds(problem: Problem) -> None:
    weighted = weigh(problem.network(), problem.weights)
    scores = enumerate_weighted(weighted)
    assume(bool(scores))
    world = best(weighted)
    other = differing(weighted, world, Options())
    rest = [s for w, s in scores.items() if w != tuple(world.tolist())]
    if not rest:
        assert other.behind == np.inf
        return
    assert not np.array_equal(other.world, world)
    assert other.behind == pytest.approx(weighted.score(world) - max(rest), abs=2e-5 + other.gap + tolerance(problem))


@given(problems(ORDINARY, hardness=2))
def test_what_flipping_one_atom_loses(problem: Problem) -> None:
    weighted = weigh(problem.network(), problem.weights)
    scores = enumerate_weighted(weighted)
    assume(bool(scores))
    world = best(weighted)
    losses = flip_losses(weighted, world)
    assert losses.shape == (len(weighted.atoms),)
    for atom, loss in enumerate(losses.tolist()):
        neighbour = world.copy()
        neighbour[atom] = not neighbour[atom]
        expected = scores.get(tuple(neighbour.tolist()), -np.inf)
        assert loss == pytest.approx(weighted.score(world) - expected, abs=1e-9 + tolerance(problem))


@given(problems(ORDINARY, hardness=2), st.booleans())
def test_without_a_proof_the_gap_is_true(problem: Problem, wide: bool) -> None:
    weighted = weigh(problem.network(), problem.weights)
    scores = enumerate_weighted(weighted)
    assume(bool(scores))
    world = best(weighted)
    with pytest.MonkeyPatch.context() as patch:
        if wide:
            patch.setattr("sqlrl.solve.other_worlds.bounded_part", _nothing_bounded)
        other = differing(weighted, world, Options(prove=False))
    rest = [s for w, s in scores.items() if w != tuple(world.tolist())]
    slack = 2e-5 + tolerance(problem)
    if np.isfinite(other.behind):
        assert not np.array_equal(other.world, world)
        assert weighted.score(other.world) == pytest.approx(weighted.score(world) - other.behind, abs=1e-9 + slack)
    if rest:
        assert other.least <= weighted.score(world) - max(rest) + slack


def test_components_that_elimination_does_not_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each the best other world, against enumeration; one has no other world."""
    ground = [(0, [1, 2], 1), (0, [-1, -2], 1), (1, [1], 1), (2, [3, 4], 1), (3, [3], 1), (3, [-4], 1), (4, [5], 1)]
    problem = Problem(5, ground, [0.0, 2.0, 1.5, 0.75, 0.0], hard=[0, 4])
    weighted = weigh(problem.network(), problem.weights)
    scores = enumerate_weighted(weighted)
    world = best(weighted)
    monkeypatch.setattr("sqlrl.solve.other_worlds.bounded_part", _nothing_bounded)
    other = differing(weighted, world, Options())
    second = sorted(scores.values())[-2]
    assert other.behind == pytest.approx(weighted.score(world) - second)
    assert scores[tuple(other.world.tolist())] == pytest.approx(second)
    assert other.gap == pytest.approx(0, abs=1e-9)


def test_no_world_has_an_atom_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two rows are left of which no atom follows, a solver finds it; without a proof no single flip is possible."""
    ground = [(0, [1, *pair], 1) for pair in ([2, 3], [2, -3], [-2, 3], [-2, -3])]
    weighted = weigh(Problem(3, ground, [0.0], hard=[0]).network(), [0.0])
    world = best(weighted)
    assert world[0]
    assert flipped(weighted, world, 0, Options()).behind == np.inf
    same = weigh(Problem(2, [(0, [1, -2], 1), (0, [-1, 2], 1)], [0.0], hard=[0]).network(), [0.0])
    monkeypatch.setattr("sqlrl.solve.other_worlds.bounded_part", _nothing_bounded)
    other = differing(same, np.ones(2, dtype=np.bool_), Options(prove=False))
    assert (other.behind, other.least) == (np.inf, 0.0)


def _nothing_bounded(weighted: WeightedNetwork) -> Bounded:
    return bounded_part(weighted)._replace(atoms=np.zeros(len(weighted.atoms), dtype=np.bool_))
