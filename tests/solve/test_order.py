"""Elimination orders: what they stand for, the widths that are known, and what is given up."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.ground.network import Network
from sqlrl.solve.sample_networks import chains, network
from sqlrl.solve.structure import sides_of, variables_of
from sqlrl.solve.treewidth import interaction, minfill
from sqlrl.solve.treewidth.order import Order, elimination_order
from tests.effort import draws
from tests.solve.networks import Problem, problems


def naive_scopes(net: Network, order: Order) -> list[list[int]]:
    """Eliminate the variables of the order one by one, with Python sets."""
    variables = variables_of(net)
    sides = sides_of(net, variables)
    near: list[set[int]] = [set() for _ in variables.exact]
    for j in range(len(sides.row_start) - 1):
        members = sides.variable[sides.row_start[j] : sides.row_start[j + 1]].tolist()
        for a, b in itertools.permutations(members, 2):
            near[a].add(b)
    place = {v: i for i, v in enumerate(order.sequence.tolist())}
    scopes = []
    for v in order.sequence.tolist():
        scopes.append(sorted(place[u] for u in near[v]))
        for u in near[v]:
            near[u] |= near[v]
            near[u] -= {u, v}
    return scopes


def scopes(order: Order) -> list[list[int]]:
    return [s.tolist() for s in np.split(order.scope, order.scope_start[1:-1])] if len(order.sequence) else []


@settings(max_examples=draws(100), deadline=None)
@given(problems(), st.integers(2, 60))
def test_scopes_are_the_neighbours_at_elimination(problem: Problem, cells: int) -> None:
    net = problem.network()
    order = elimination_order(net, bucket_cells=cells)
    assert scopes(order) == naive_scopes(net, order)
    assert sorted(order.sequence.tolist()) == np.flatnonzero(order.within[order.component]).tolist()
    width = np.maximum(order.variables.size, 2)[order.sequence]
    for i, scope in enumerate(scopes(order)):
        assert not scope or width[i] * np.prod(width[scope]) <= cells


def edges_network(n: int, pairs: list[tuple[int, int]]) -> Network:
    return network(n, [(0, [a + 1, b + 1]) for a, b in pairs])


def random_pairs(n: int, count: int, seed: int) -> list[tuple[int, int]]:
    pair = np.random.default_rng(seed).integers(0, n, (count, 2))
    return [(int(a), int(b)) for a, b in pair if a != b]


def naive_min_fill(n: int, pairs: list[tuple[int, int]]) -> list[int]:
    """Leaves first, the highest first; then fewest new pairs, smallest table, highest variable."""
    near = {v: {b if a == v else a for a, b in pairs if v in (a, b)} for v in range(n)}
    order = []

    def eliminate(v: int) -> None:
        order.append(v)
        for u in near.pop(v):
            near[u] |= set(near.get(u, ())) | {w for w in near if w in neighbours and w != u}
            near[u].discard(v)

    while leaves := [v for v in near if len(near[v]) <= 1]:
        neighbours = near[max(leaves)]
        eliminate(max(leaves))
    while near:
        fill = {v: sum(b not in near[a] for a, b in itertools.combinations(near[v], 2)) for v in near}
        best = min(near, key=lambda v: (fill[v], len(near[v]), -v))
        neighbours = near[best]
        eliminate(best)
    return order


@pytest.mark.parametrize("seed", range(30))
def test_the_order_is_min_fill(seed: int) -> None:
    n = 12
    pairs = random_pairs(n, 8 + seed, seed)
    order = elimination_order(edges_network(n, pairs))
    whole = naive_min_fill(n, pairs)
    for c in range(len(order.within)):
        mine = order.sequence[order.component_start[c] : order.component_start[c + 1]].tolist()
        assert mine == [v for v in whole if order.component[v] == c]


def test_trees_are_eliminated_towards_their_lowest_variable() -> None:
    order = elimination_order(chains(2, length=5, states=3))
    assert order.sequence.tolist() == [4, 3, 2, 1, 0, 9, 8, 7, 6, 5]
    assert order.component_start.tolist() == [0, 5, 10]
    star = elimination_order(edges_network(6, [(5, v) for v in range(5)]))
    assert star.sequence.tolist() == [4, 3, 2, 1, 5, 0]
    assert np.diff(star.scope_start).max() == 1


@pytest.mark.parametrize(("rows", "columns"), [(2, 30), (3, 20), (4, 12)])
def test_grids_have_the_width_of_their_shorter_side(rows: int, columns: int) -> None:
    at = np.arange(rows * columns).reshape(columns, rows)
    pairs = [
        *zip(at[:-1].ravel(), at[1:].ravel(), strict=True),
        *zip(at[:, :-1].ravel(), at[:, 1:].ravel(), strict=True),
    ]
    order = elimination_order(edges_network(rows * columns, [(int(a), int(b)) for a, b in pairs]))
    assert np.diff(order.scope_start).max() == rows


def test_a_hub_is_no_obstacle() -> None:
    """A wheel has treewidth 3, though one variable has 3,000 neighbours."""
    n = 3001
    rim = [(v, v + 1) for v in range(1, n - 1)] + [(1, n - 1)]
    order = elimination_order(edges_network(n, [(0, v) for v in range(1, n)] + rim), bucket_cells=16)
    assert order.within.tolist() == [True]
    assert np.diff(order.scope_start).max() == 3


def test_components_are_given_up_one_by_one() -> None:
    clique = list(itertools.combinations(range(6), 2))
    pairs = [*clique, (6, 7), (7, 8), (6, 8)]
    order = elimination_order(edges_network(9, pairs), bucket_cells=16)
    assert order.within.tolist() == [False, True]
    assert sorted(order.sequence.tolist()) == [6, 7, 8]
    assert elimination_order(edges_network(9, pairs), bucket_cells=64).within.all()


def test_a_row_that_is_too_wide_is_given_up_before_its_pairs_are_listed() -> None:
    n = 20_000
    order = elimination_order(network(n + 1, [(0, list(range(1, n + 1)))]))
    assert order.within.tolist() == [False, True]


def test_the_bound_on_a_component_grows_with_its_length() -> None:
    assert elimination_order(chains(1, length=300, states=3), component_cells=100).within.tolist() == [True]
    assert elimination_order(chains(1, length=300, states=7), component_cells=100).within.tolist() == [False]
    assert elimination_order(chains(1, length=1, states=300), component_cells=100, bucket_cells=2).within.tolist() == [
        True
    ]


def test_slices_and_growth_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    net = edges_network(400, random_pairs(400, 430, seed=5))
    whole = elimination_order(net)
    # Never more room than the least that the next step needs.
    monkeypatch.setattr(minfill, "grown", lambda graph, room: interaction.grown(graph, min(room, 18 * 18 + 2)))
    monkeypatch.setattr(minfill, "SLICE", 50)
    tight = elimination_order(net)
    assert np.array_equal(whole.sequence, tight.sequence)
    assert np.array_equal(whole.scope, tight.scope)


def test_bounds_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="bucket_cells is 0"):
        elimination_order(network(1, []), bucket_cells=0)
