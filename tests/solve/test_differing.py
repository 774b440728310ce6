"""Flipped atoms and other worlds against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sqlrl.solve.choose import Chooser, Options
from sqlrl.solve.differing import differing, flipped
from sqlrl.solve.weighed import Weighed, weigh
from tests.solve.networks import ORDINARY, Problem, problems
from tests.solve.test_weighed import enumerate_weighed, tolerance


def best(weighed: Weighed) -> np.ndarray:
    chooser = Chooser(weighed, Options())
    chooser.run()
    return chooser.world


@given(problems(ORDINARY, hardness=2), st.data())
def test_a_margin_is_what_the_best_score_falls_by(problem: Problem, data: st.DataObject) -> None:
    assume(problem.atoms > 0)
    weighed = weigh(problem.network(), problem.weights)
    scores = enumerate_weighed(weighed)
    assume(bool(scores))
    world = best(weighed)
    atom = data.draw(st.integers(0, problem.atoms - 1))
    other = flipped(weighed, world, atom, Options())
    rest = [s for w, s in scores.items() if w[atom] != world[atom]]
    if not rest:
        assert other.behind == np.inf
        return
    assert other.world[atom] != world[atom]
    assert other.behind == pytest.approx(weighed.score(world) - max(rest), abs=2e-5 + other.gap + tolerance(problem))
    assert weighed.score(other.world) == pytest.approx(weighed.score(world) - other.behind, abs=1e-9)


@given(problems(ORDINARY, hardness=2))
def test_the_best_of_the_other_worlds(problem: Problem) -> None:
    weighed = weigh(problem.network(), problem.weights)
    scores = enumerate_weighed(weighed)
    assume(bool(scores))
    world = best(weighed)
    other = differing(weighed, world, Options())
    rest = [s for w, s in scores.items() if w != tuple(world.tolist())]
    if not rest:
        assert other.behind == np.inf
        return
    assert not np.array_equal(other.world, world)
    assert other.behind == pytest.approx(weighed.score(world) - max(rest), abs=2e-5 + other.gap + tolerance(problem))
