"""Large networks of attractive pairs, solved straight from their ground clauses, against enumeration and the general way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.solve import pairwise
from sqlrl.solve.mpe import mpe
from sqlrl.solve.pairwise import best_of_pairs
from tests.solve.networks import Problem

WEIGHTS = st.floats(-3, 3).filter(lambda w: abs(w) > 1e-3)


@pytest.fixture(autouse=True)
def _all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairwise, "LARGE", 1)


@st.composite
def attractive_problems(draw: st.DrawFn) -> Problem:
    """Atoms in a circle and chords between some, whose ground clauses attract: implications either way, folded and repeated ones among them."""
    n = draw(st.integers(3, 7))
    pairs = [(i, i % n + 1) for i in range(1, n + 1)]
    pairs += draw(st.lists(st.sampled_from([(i, j) for i in range(1, n + 1) for j in range(1, n + 1) if i != j])))
    ground = [(0, sorted([-a, b], key=abs), draw(st.sampled_from([1, 2, 2**33]))) for a, b in pairs]
    ground += [(1, sorted([a, -b], key=abs), 1) for a, b in draw(st.lists(st.sampled_from(pairs)))]
    ground += [(2, [draw(st.sampled_from([a, -a]))], 1) for a in range(1, n + 1)]
    # Two clauses attract under positive weights, and cancel or repel where one is negative and outweighs the other.
    weights = [draw(st.floats(0.01, 2)), draw(st.floats(0, 2)), draw(WEIGHTS)]
    return Problem(n, ground, weights, prior=draw(st.lists(st.floats(-4, 4), min_size=n, max_size=n)))


@given(attractive_problems(), st.booleans())
def test_the_cut_finds_what_the_general_way_finds(problem: Problem, lossy: bool) -> None:
    network = problem.network()
    loss = np.linspace(-1, 1, problem.atoms) if lossy else None
    found = mpe(network, problem.weights, loss=loss)
    # Costs may be too far apart for one scale: their components are then cut one by one.
    far_apart = any(times == 2**33 for _, _, times in problem.ground)
    assert [choice.reason for choice in found.report.choices] == ["pairwise and attractive"] or far_apart
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairwise, "LARGE", 10**9)
        other = mpe(network, problem.weights, loss=loss)
    assert found.objective == pytest.approx(other.objective, rel=1e-9, abs=1e-6)
    assert found.status is other.status
    assert found.cost == other.cost or found.cost == pytest.approx(other.cost, rel=1e-9, abs=1e-6)
    assert found.objective + found.gap >= other.objective - other.gap
    if not lossy:
        best = max(problem.score(world) for world in np.ndindex(*(2,) * problem.atoms))
        assert found.gap >= 0
        assert found.objective == pytest.approx(float(best), rel=1e-9, abs=1e-6)


REFUSED = {
    "a hard row": Problem(3, [(0, [-1, 2], 1), (0, [-2, 3], 1), (0, [1, -3], 1), (1, [1, 2], 1)], [1.0, 0.0], hard=[1]),
    "a hard unit": Problem(3, [(0, [-1, 2], 1), (0, [-2, 3], 1), (0, [1, -3], 1), (1, [1], 1)], [1.0, 0.0], hard=[1]),
    "three literals": Problem(3, [(0, [-1, 2, 3], 1), (0, [-2, 3], 1)], [1.0]),
    "a block": Problem(3, [(0, [-1, 2], 1), (0, [-2, 3], 1), (0, [1, -3], 1)], [1.0], blocks=[([1, 2], True)]),
    "a pair that repels": Problem(3, [(0, [-1, 2], 1), (0, [-2, 3], 1), (0, [1, -3], 1), (0, [-1, -2], 3)], [1.0]),
    "a tree": Problem(4, [(0, [-1, 2], 1), (0, [-2, 3], 1)], [1.0]),
    "no pairs": Problem(3, [(0, [1], 1)], [1.0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_others_are_left_to_the_general_way(name: str) -> None:
    problem = REFUSED[name]
    network = problem.network()
    assert best_of_pairs(network, np.array(problem.weights), np.zeros(problem.atoms)) is None
    best = max(problem.score(w) for w in np.ndindex(*(2,) * problem.atoms) if _possible(problem, w))
    assert mpe(network, problem.weights).objective == pytest.approx(float(best), abs=1e-6)


def _possible(problem: Problem, world: tuple[int, ...]) -> bool:
    blocks = all(sum(world[k - 1] for k in members) == 1 for members, _ in problem.blocks)
    hard = all(any(world[abs(x) - 1] == (x > 0) for x in literals) for _, literals in problem.hard_ground())
    return blocks and hard


def test_weights_too_far_apart_for_one_scale_are_left_to_the_general_way() -> None:
    ring = [[-1, 2], [-2, 3], [1, -3]]
    ground = [(0, x, 1) for x in ring] + [(1, [x - 3 if x < 0 else x + 3 for x in row], 1) for row in ring]
    problem = Problem(6, ground, [1e-200, 1e200], prior=[1e-200, -1e-201, 0, 1e200, -1e199, 0])
    with np.errstate(over="ignore", invalid="ignore"):
        assert best_of_pairs(problem.network(), np.array(problem.weights), np.array(problem.prior)) is None
    assert mpe(problem.network(), problem.weights).world.tolist() == [True] * 6
