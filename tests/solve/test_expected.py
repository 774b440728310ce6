"""Expected counts and log partition functions, against sums over all worlds of lists of ground clauses."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.errors import InputError, NumericError
from sqlrl.ground.network import BLOCK
from sqlrl.solve import expected
from sqlrl.solve.conflict import ConflictingClausesError
from sqlrl.solve.counts import counts
from sqlrl.solve.expected import Expected, expected_counts
from sqlrl.solve.log_linear import log_linear
from sqlrl.solve.marginal import marginals
from sqlrl.solve.sample_networks import network
from sqlrl.solve.treewidth.expectations import LISTED
from sqlrl.solve.treewidth.order import elimination_order
from tests.effort import draws
from tests.solve.networks import EXTREME, Problem, problems, worlds


def every_world(problem: Problem) -> tuple[list[float], float]:
    """E[n] of every clause, and log Z; hard clauses have no weight."""
    score, n = [], []
    for world in worlds(problem):
        score.append(float(problem.score(world)))
        n.append(problem.count(world))
    top = max(score)
    share = np.exp(np.array(score) - top)
    return [float(x) for x in share @ np.array(n) / share.sum()], top + float(np.log(share.sum()))


def holds(problem: Problem, found: Expected) -> None:
    """Compare with the sums over all worlds."""
    n, log_z = every_world(problem)
    base = problem.network().base.astype(float)
    np.testing.assert_allclose(base + found.change, n, atol=1e-9)
    np.testing.assert_allclose(found.log_z, log_z, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@settings(max_examples=draws(300))
@given(problems(hardness=2))
def test_expected_counts_of_random_networks(problem: Problem) -> None:
    net = problem.network()
    if not list(worlds(problem)):
        with pytest.raises(ConflictingClausesError):
            expected_counts(net, problem.weights)
        return
    holds(problem, expected_counts(net, problem.weights))


@settings(max_examples=draws(150))
@given(problems(EXTREME, hardness=2))
def test_extreme_weights(problem: Problem) -> None:
    if list(worlds(problem)):
        net = problem.network()
        found = expected_counts(net, problem.weights)
        n, log_z = every_world(problem)
        np.testing.assert_allclose(net.base.astype(float) + found.change, n, atol=1e-6)
        np.testing.assert_allclose(found.log_z, log_z, rtol=1e-9, atol=1e-6)


@pytest.mark.slow
def test_large_tables_with_many_rows() -> None:
    """Each two of twelve atoms are joined, so that the first table has 4,096 cells, whose rows are not listed."""
    rng = np.random.default_rng(3)
    pairs = [
        (i % 3, [int(rng.choice([-1, 1])) * a, int(rng.choice([-1, 1])) * b], 1)
        for i, (a, b) in enumerate(itertools.combinations(range(1, 13), 2))
    ]
    problem = Problem(12, [*pairs, (3, [1, -12, 6], 1)], [0.7, -0.4, 0.2, 0.0], hard=[3])
    order = elimination_order(log_linear(problem.network()))
    assert 2 ** int(np.diff(order.scope_start).max()) >= LISTED
    holds(problem, expected_counts(problem.network(), problem.weights))


@settings(max_examples=draws(150))
@given(problems(hardness=3), st.integers(1, 8))
def test_wide_components_have_larger_tables_or_few_worlds(problem: Problem, cells: int) -> None:
    """With tiny bounds every way is taken: tables, larger tables, worlds one after the other, and refusal."""
    if not list(worlds(problem)):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expected, "BUCKET_CELLS", cells)
        patch.setattr(expected, "LARGE_BUCKET", 2 * cells)
        try:
            found = expected_counts(problem.network(), problem.weights)
        except InputError as error:
            assert "beyond the bound" in str(error)  # noqa: PT017
            return
    holds(problem, found)


def partitions(count: int, soft: int) -> tuple[int, list[tuple[int, list[int]]]]:
    """A transitive relation among records, with some soft clauses beside it."""
    number = {pair: i + 1 for i, pair in enumerate(itertools.combinations(range(count), 2))}
    rows = []
    for a, b, c in itertools.combinations(range(count), 3):
        x, y, z = number[a, b], number[b, c], number[a, c]
        rows += [(0, [-x, -y, z]), (0, [-x, -z, y]), (0, [-y, -z, x])]
    rows += [(1, [i]) for i in number.values()]
    rows += [(2, [-i, i + 1]) for i in range(1, soft + 1)]
    return len(number), rows


def test_few_worlds_are_enumerated() -> None:
    # 203 partitions of six records, among 2^15 values: enumerated with tables of any size switched off.
    atoms, rows = partitions(6, soft=5)
    problem = Problem(atoms, [(c, row, 1) for c, row in rows], [0.0, 0.3, 0.7], hard=[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expected, "BUCKET_CELLS", 2)
        patch.setattr(expected, "LARGE_BUCKET", 2)
        found = expected_counts(problem.network(), problem.weights)
    holds(problem, found)
    holds(problem, expected_counts(problem.network(), problem.weights))


def test_the_same_components_as_marginals() -> None:
    # Eight records: tables are too large, but there are 4,140 worlds.
    atoms, rows = partitions(8, soft=0)
    net = network(atoms, rows, hard=[0])
    exact = marginals(net, [0.0, 0.4], method="exact")
    found = expected_counts(net, [0.0, 0.4])
    np.testing.assert_allclose(net.base[1] + found.change[1], exact.probability.sum(), rtol=1e-9)


def test_hard_cliques_are_blocks() -> None:
    # Written out pair by pair, at most one of 40 is true; each is also linked to one variable.
    pairs = [(0, [-a, -b]) for a, b in itertools.combinations(range(1, 41), 2)]
    net = network(41, [*pairs, *((1, [-a, 41]) for a in range(1, 41))], hard=[0])
    found = expected_counts(net, [0.0, 1.0])
    # Atom 41 true: 41 worlds violate nothing; false: one violates nothing, 40 violate one ground clause.
    violated = 40 * np.exp(-1) / (42 + 40 * np.exp(-1))
    np.testing.assert_allclose(net.base[1] + found.change[1], 40 - violated, rtol=1e-12)


GRID = [(0, [a, a + 1]) for a in range(1, 900) if a % 30] + [(1, [a, a + 30]) for a in range(1, 871)]


def test_a_wide_component_is_named() -> None:
    chain = [(2, [i, i + 1]) for i in range(901, 905)]
    net = network(905, [*GRID, *chain])
    with pytest.raises(InputError) as caught:
        expected_counts(net, [1.0, 0.5, 2.0])
    assert str(caught.value) == (
        "exact expected counts need tables beyond the bound for 1 of 2 components, with 900 atoms: one of 900 atoms (atom 0, atom 1, "
        "atom 2, ...) would be within it without the 870 ground clauses of one clause, such as atom 0 v atom 1 (clause 0); leave the "
        "clause out, or choose fewer examples= (sampled probabilities of atoms: marginals with method='auto')"
    )

    def describe(clause: int, literals: Sequence[int]) -> str:
        return "A, B, C" if clause == BLOCK else f"{list(literals)} from {clause}"

    with pytest.raises(InputError, match=r"one of 900 atoms \(A, B, C, \.\.\.\) .* such as \[1, 2\] from 0; leave"):
        expected_counts(net, [1.0, 0.5, 2.0], describe=describe)


def test_conflicts_and_weights_that_are_none() -> None:
    net = network(2, [(0, [1, 2]), (0, [-1]), (0, [-2]), (1, [1])], hard=[0])
    with pytest.raises(ConflictingClausesError, match="hard clauses cannot all hold"):
        expected_counts(net, [0.0, 1.0])
    # Units do not show it: elimination finds no world.
    every = [[a * x, b * y] for x, y in itertools.combinations([1, 2], 2) for a in (1, -1) for b in (1, -1)]
    with pytest.raises(ConflictingClausesError, match="hard clauses cannot all hold"):
        expected_counts(network(4, [(1, [3, 4]), *((0, row) for row in every)], hard=[0]), [0.0, 1.0])
    loose = network(1, [(0, [1])])
    for weights in ([np.nan], [np.inf]):
        with pytest.raises(NumericError, match="give a finite"):
            expected_counts(loose, weights)
    with pytest.raises(NumericError, match="as many weights"):
        expected_counts(loose, [1.0, 2.0])
    with pytest.raises(NumericError, match="scale them down"):
        expected_counts(network(2, [(0, [1], 3), (1, [1, 2], 3)]), [1e308, 1e308])


def test_counts_of_large_integers() -> None:
    # What the evidence decides is beyond 64 bits, and stays apart from what is expected.
    net = network(1, [(0, [1])], evidence=[(0, 2**100, 7)])
    found = expected_counts(net, [0.0])
    assert net.base[0] == 2**100
    assert found.change.tolist() == [0.5]
    assert counts(net, np.array([True]))[0] == 2**100 + 1
