"""Compilation: variables, reduced rows, components, forests; the forest program as a polynomial; ranges."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings

from sqlrl.solve.forest import compile_forest, solve_range, weigh_range
from sqlrl.solve.sample_networks import chains, network
from sqlrl.solve.structure import compile_network
from tests.effort import draws
from tests.solve.networks import Problem, problems, worlds


def test_none_comes_first_and_members_follow() -> None:
    small = compile_network(network(5, [], blocks=[([1, 3], False), ([2, 4], True)])).variables
    assert small.of_atom.tolist() == [0, 1, 2, 1, 2]
    assert small.size.tolist() == [2, 3, 2]
    assert small.atom.tolist() == [-1, 0, -1, 1, 3, 2, 4]
    assert small.state_of_atom.tolist() == [1, 1, 0, 2, 1]


def test_rows_that_blocks_satisfy_join_nothing() -> None:
    blocks = [([0, 1], False), ([2, 3], True)]
    ground = [(0, [-1, -2]), (0, [3, 4]), (0, [-1, -2, 5]), (0, [3, 4, 5])]
    structure = compile_network(network(5, ground, blocks=blocks))
    assert structure.row_component.tolist() == [-1, -1, -1, -1]
    assert structure.forest.tolist() == [True, True, True]


def test_long_rows_over_two_blocks_stay_a_forest() -> None:
    blocks = [([0, 1, 2], False), ([3, 4, 5], True)]
    structure = compile_network(network(6, [(0, [1, 2, 4, 5]), (0, [-1, 3, 4])], blocks=blocks))
    assert structure.forest.tolist() == [True]
    assert structure.edges.tolist() == [[0, 1]]


def test_cycles_and_long_rows_are_no_forests() -> None:
    assert compile_network(network(3, [(0, [1, 2]), (0, [2, 3]), (0, [1, 3])])).forest.tolist() == [False]
    assert compile_network(network(3, [(0, [1, 2, 3])])).forest.tolist() == [False]
    assert compile_network(network(4, [(0, [1, 2]), (0, [-1, 2]), (0, [3, 4])])).forest.tolist() == [True, True]


@settings(max_examples=draws(75), deadline=None)
@given(problem=problems(hardness=0))
def test_the_forest_program_is_the_score_up_to_a_constant(problem: Problem) -> None:
    """Integers only: for weights that are powers of 1000 a wrong coefficient cannot cancel."""
    structure = compile_network(problem.network())
    assume(structure.forest.all())
    program = compile_forest(structure)
    forest = program.arrays
    weights = [float(1000**i) for i in range(len(problem.weights))]
    plain = Problem(problem.atoms, problem.ground, weights, [], problem.negated, problem.blocks)
    unary, pair = program.weigh(np.array(weights), np.zeros(problem.atoms))
    offsets = set()
    for world in worlds(plain):
        state = []
        value = 0.0
        for v in range(len(program.variable)):
            atoms = forest.state_atom[forest.state_start[v] : forest.state_start[v + 1]]
            state.append(next((s for s, a in enumerate(atoms) if a >= 0 and world[a]), 0))
            value += unary[forest.state_start[v] + state[v]]
            if forest.parent[v] >= 0:
                cells = forest.pair_cell[forest.pair_start[v] : forest.pair_start[v + 1]]
                cell = state[forest.parent[v]] * len(atoms) + state[v]
                value += pair[forest.pair_start[v] : forest.pair_start[v + 1]][cells == cell].sum()
        offsets.add(plain.score(world) - Fraction(value))
    assert len(offsets) == 1


def test_examples_are_ranges_that_can_be_solved_alone() -> None:
    net = chains(5, length=6, states=3, words=4)
    program = compile_forest(compile_network(net))
    weights = np.random.default_rng(0).normal(size=len(net.clauses))
    unary, pair = program.weigh(weights, net.prior)
    whole = np.zeros(len(net.atoms), dtype=np.bool_)
    assert program.solve(unary, pair, whole) == -1
    for i, example in enumerate(program.examples):
        first, last = program.example_start[i : i + 2]
        one, two = np.zeros_like(unary), np.zeros_like(pair)
        states, pairs = program.arrays.state_start, program.arrays.pair_start
        matrix = program.unary
        weigh_range(matrix.indptr, matrix.indices, matrix.data, weights, states[first], states[last], one)
        matrix = program.pairs
        weigh_range(matrix.indptr, matrix.indices, matrix.data, weights, pairs[first], pairs[last], two)
        assert np.array_equal(one[states[first] : states[last]], unary[states[first] : states[last]])
        world = np.zeros_like(whole)
        found, value = solve_range(program.arrays, one, two, first, last, world)
        mine = net.example == example
        assert found == -1
        assert np.isfinite(value)
        assert np.array_equal(world[mine], whole[mine])
        assert not world[~mine].any()


def test_components_are_sorted_by_example() -> None:
    net = network(4, [(0, [1, 2]), (0, [3, 4])], example=[7, 7, 2, 2])
    program = compile_forest(compile_network(net))
    assert program.examples.tolist() == [2, 7]
    assert program.arrays.state_atom[program.arrays.state_atom >= 0].tolist() == [2, 3, 0, 1]
    assert program.component_start.tolist() == program.example_start.tolist() == [0, 2, 4]


def test_infeasible_range_leaves_the_world_alone() -> None:
    net = network(2, [(0, [1]), (0, [-1])], hard=[0])
    program = compile_forest(compile_network(net))
    world = np.ones(2, dtype=np.bool_)
    found, value = solve_range(program.arrays, np.zeros(4), np.zeros(0), 0, 2, world)
    assert (found, value) == (0, pytest.approx(-np.inf))
    assert world.all()
