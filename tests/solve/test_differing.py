"""Flipped atoms and other worlds against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sqlrl.solve.alternatives import differing, flip_losses, flipped
from sqlrl.solve.elimination import Bounded, bounded_part
from sqlrl.solve.methods import Chooser, Options
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
            patch.setattr("sqlrl.solve.alternatives.bounded_part", _nothing_bounded)
        other = differing(weighted, world, Options(prove=False))
    rest = [s for w, s in scores.items() if w != tuple(world.tolist())]
    slack = 2e-5 + tolerance(problem)
    if np.isfinite(other.behind):
        assert not np.array_equal(other.world, world)
        assert weighted.score(other.world) == pytest.approx(weighted.score(world) - other.behind, abs=1e-9 + slack)
    if rest:
        assert other.least <= weighted.score(world) - max(rest) + slack


def _nothing_bounded(weighted: WeightedNetwork) -> Bounded:
    return bounded_part(weighted)._replace(atoms=np.zeros(len(weighted.atoms), dtype=np.bool_))
