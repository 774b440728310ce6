"""Compiled predictions of forests and components of small treewidth against enumeration of all worlds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqlrl.solve.bounded_treewidth as module
from sqlrl.learn.arrays import component_arrays, window_arrays
from sqlrl.learn.kernel import predict
from sqlrl.learn.slices import cut
from sqlrl.solve.bounded_treewidth import BoundedProgram, compile_bounded
from sqlrl.solve.forest import compile_forest
from sqlrl.solve.sample_networks import network
from sqlrl.solve.structure import Structure, compile_network
from tests.solve.networks import Problem, World, holds, problems, worlds


def predicted(problem: Problem, linear: list[float]) -> tuple[int, Structure, BoundedProgram, World]:
    """The variable that has no world, or -1, and the world."""
    net = problem.network()
    structure = compile_network(net)
    bounded = compile_bounded(structure)
    only = np.array([0])
    window = window_arrays(cut(net, only), np.zeros(problem.atoms, dtype=np.bool_))
    components = component_arrays(compile_forest(structure), bounded, only)
    trees = components.forest.arrays
    theta = np.empty(len(trees.state_atom)), np.empty(len(trees.pair_cell))
    now = np.where(net.hard, 0.0, np.array(problem.weights))
    world = np.zeros(problem.atoms, dtype=np.bool_)
    stuck = predict(window, *components, 0, *theta, net.prior + np.array(linear), now, world)
    return stuck, structure, bounded, tuple(world.tolist())


@given(problems(), st.data())
def test_compiled_worlds_are_the_best_by_enumeration(problem: Problem, data: st.DataObject) -> None:
    linear = data.draw(st.lists(st.floats(-2, 2), min_size=problem.atoms, max_size=problem.atoms))
    stuck, structure, bounded, world = predicted(problem, linear)
    forest = structure.forest[structure.component[structure.variables.of_atom]]
    assert np.array_equal(bounded.inside, ~forest)
    scores = {w: problem.score(w, linear) for w in worlds(problem)}
    if not scores:
        assert stuck >= 0
        of_stuck = structure.component[structure.variables.of_atom] == structure.component[stuck]
        atoms = set((np.flatnonzero(of_stuck) + 1).tolist())
        alone = [(i, x) for i, x in problem.hard_ground() if {abs(literal) for literal in x} <= atoms]
        assert next(worlds(problem, alone), None) is None
        return
    assert stuck == -1
    assert world in scores
    assert max(scores.values()) - scores[world] <= 1e-9 * (1 + abs(float(max(scores.values()))))


def test_components_beyond_the_bounds_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    # A square of atoms, a triangle with blocks, and a pair: tables of 8, 27 and none.
    square = [(0, [1, 2], 1), (0, [2, 3], 1), (0, [3, 4], 1), (0, [-1, -4], 1)]
    triangle = [(1, [-5, -7], 1), (1, [-7, -9], 1), (1, [-5, -9], 1)]
    blocks = [([4, 5], False), ([6, 7], False), ([8, 9], False)]
    prior = [0.5, 0.1, -0.2, 0.3, 1.0, 0.2, 0.8, 0.1, 0.9, 0.4, -0.6, -0.3]
    problem = Problem(12, [*square, *triangle, (0, [11, 12], 2)], [1.5, -2.0], blocks=blocks, prior=prior)
    best = max(worlds(problem), key=problem.score)
    for cells, inside in ((27, [*range(10)]), (8, [0, 1, 2, 3]), (4, [])):
        monkeypatch.setattr(module, "BUCKET_CELLS", cells)
        _, _, bounded, world = predicted(problem, [0.0] * 12)
        assert np.flatnonzero(bounded.inside).tolist() == inside
        assert [world[a] for a in (*inside, 10, 11)] == [best[a] for a in (*inside, 10, 11)]


def test_examples_have_their_own_components() -> None:
    """Three triangles whose atoms are interleaved, of two examples: one of them has two."""
    atoms = {k: [k, 3 + k, 6 + k] for k in (1, 2, 3)}
    ground = [(0, [-a, -b]) for x in atoms.values() for a, b in zip(x, [*x[1:], x[0]], strict=True)]
    net = network(9, ground, example=[20, 10, 20] * 3)
    bounded = compile_bounded(compile_network(net))
    arrays = component_arrays(compile_forest(compile_network(net)), bounded, np.array([20, 15, 10])).bounded
    assert arrays is not None
    owned = []
    for first, last in zip(arrays.first, arrays.last, strict=True):
        start = bounded.buckets.component_start
        places = [np.arange(start[c], start[c + 1]) for c in arrays.component[first:last]]
        owned.append(sorted(int(v) + 1 for p in places for v in bounded.variable[p]))
    assert owned == [[1, 3, 4, 6, 7, 9], [], [2, 5, 8]]


def test_hard_rows_cost_infinitely_and_others_what_weights_say() -> None:
    square = [(0, [1, 2], 3), (0, [2, 3], 1), (1, [3, 4], 1), (0, [-1, -4], 1)]
    problem = Problem(4, square, [-0.7, 0.0], hard=[1], given=[-2])
    _, _, bounded, world = predicted(problem, [0.0, 5.0, 0.0, 0.0])
    assert sorted(bounded.row.tolist()) == [-1, 0, 1, 2, 3]
    assert not world[1]
    assert all(holds(x, world) for _, x in problem.hard_ground())
