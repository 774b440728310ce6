"""Cliques against the rows that they stand for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.errors import NumericError
from sqlrl.solve.cpsat import solve_cpsat
from sqlrl.solve.relaxation import find_cliques
from sqlrl.solve.weighted import weigh
from tests.solve.networks import Problem


@st.composite
def grouped(draw: st.DrawFn) -> Problem:
    """Groups of literals, all pairs of each with one clause, among other rows."""
    n = draw(st.integers(3, 9))
    atoms = draw(st.permutations(range(1, n + 1)))
    ground: list[tuple[int, list[int], int]] = []
    at = 0
    while at < n:
        size = draw(st.integers(1, 5))
        members = [a if draw(st.booleans()) else -a for a in atoms[at : at + size]]
        clause = draw(st.integers(0, 2))
        ground += [(clause, list(pair), 1) for pair in itertools.combinations(members, 2)]
        at += size
    for _ in range(draw(st.integers(0, 3))):
        pair = draw(st.lists(st.integers(1, n), min_size=2, max_size=2, unique=True))
        ground.append((draw(st.integers(0, 2)), pair, 1))
    return Problem(n, ground, [1.0, 0.5, 0.0], hard=[2])


@given(grouped(), st.integers(0, 2**9 - 1))
def test_cliques_cost_what_their_rows_cost(problem: Problem, bits: int) -> None:
    weighted = weigh(problem.network(), problem.weights)
    cliques = find_cliques(weighted)
    world = np.array([bits >> k & 1 for k in range(problem.atoms)], dtype=np.bool_)
    violated = weighted.violated(world) & cliques.inside
    total = 0.0
    for c, cost in enumerate(cliques.cost.tolist()):
        literals = cliques.literals[cliques.start[c] : cliques.start[c + 1]]
        assert len(literals) >= 3
        false = int((world[np.abs(literals) - 1] == (literals < 0)).sum())
        total += cost * (false * (false - 1) // 2) if false > 1 else 0.0
    assert weighted.cost[violated].sum() == pytest.approx(total)


def test_isolated_cliques_are_found() -> None:
    ground = [(0, [-a, -b], 1) for a, b in itertools.combinations([1, 3, 5, 7], 2)]
    ground += [(0, [a, b], 1) for a, b in itertools.combinations([2, 4, 6], 2)]
    ground += [(1, [-1, -2], 1)]
    cliques = find_cliques(weigh(Problem(7, ground, [1.0, 2.0]).network(), [1.0, 2.0]))
    assert cliques.literals.tolist() == [-1, -3, -5, -7, 2, 4, 6] or cliques.literals.tolist() == [
        2,
        4,
        6,
        -1,
        -3,
        -5,
        -7,
    ]
    assert cliques.inside.sum() == 9


def test_no_rows_have_no_cliques() -> None:
    cliques = find_cliques(weigh(Problem(1, [], []).network(), []))
    assert len(cliques.cost) == 0
    assert cliques.start.tolist() == [0]


def test_cpsat_keeps_hard_cliques_and_names_costs_too_far_apart() -> None:
    def pairs(clause: int, atoms: list[int]) -> list[tuple[int, list[int], int]]:
        return [(clause, [-a, -b], 1) for a, b in itertools.combinations(atoms, 2)]

    units = [(1, [1], 1), (2, [2], 1), (1, [3], 1)]
    problem = Problem(3, pairs(0, [1, 2, 3]) + units, [0.0, 1.0, 2.0], hard=[0])
    assert solve_cpsat(weigh(problem.network(), problem.weights)).world.tolist() == [False, True, False]
    for ground, weights, said in (
        ([(0, [1], 1), (1, [1, 2], 1)], [1e-8, 1e15], r"unit clauses and soft evidence of local atom 0\) .*a ground clause of local clause 1\)"),
        ([*pairs(0, [1, 2, 3]), (1, [4], 1)], [1e15, 1e-8], r"atom 3\) and 2e\+15 \(a group of ground clauses\)"),
    ):  # fmt: skip
        weighted = weigh(Problem(4, ground, weights).network(), weights)
        with pytest.raises(NumericError, match=said):
            solve_cpsat(weighted)
