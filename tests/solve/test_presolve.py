"""Recognised blocks leave worlds and scores as they are."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from sqlrl.solve.presolve import recognise_blocks
from sqlrl.solve.weighted import weigh
from tests.solve.networks import Problem, problems
from tests.solve.test_cliques import grouped
from tests.solve.test_weighted import enumerate_weighted


@given(st.one_of(problems(hardness=3), grouped()))
def test_worlds_and_scores_stay(problem: Problem) -> None:
    weighted = weigh(problem.network(), problem.weights)
    assert enumerate_weighted(recognise_blocks(weighted)) == enumerate_weighted(weighted)


def test_fields_written_out_pair_by_pair_are_blocks() -> None:
    ground: list[tuple[int, list[int], int]] = []
    for position in range(3):
        fields = range(4 * position + 1, 4 * position + 5)
        ground += [(0, [-a, -b], 1) for a, b in itertools.combinations(fields, 2)]
    ground += [(1, [1, 2, 3, 4], 1), (2, [5, 6], 1), (3, [-1, 9], 1)]
    found = recognise_blocks(weigh(Problem(12, ground, [0, 0, 0, 1.0], hard=[0, 1, 2]).network(), [0, 0, 0, 1.0]))
    assert found.block.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert found.block_exact.tolist() == [True, False, False]
    assert len(found.cost) == 3
