"""MaxWalkSAT against enumeration, and its incremental state against a fresh one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.errors import InputError, NumericError
from sqlrl.solve.local_search.state import flip, load, overlap, start_search
from sqlrl.solve.local_search.walksat import solve_walksat
from sqlrl.solve.result import UnsolvedError
from sqlrl.solve.sample_networks import chains, network
from sqlrl.solve.weighted import WeightedNetwork, weigh
from tests.effort import draws
from tests.solve.networks import EXTREME, Problem, problems
from tests.solve.test_weighted import enumerate_weighted, tolerance


def random_3sat(n: int, rows: int, seed: int = 0) -> WeightedNetwork:
    """Random rows of three literals, cost 1 each."""
    rng = np.random.default_rng(seed)
    atoms = np.sort(np.array([rng.choice(n, 3, replace=False) for _ in range(rows)]), axis=1)
    literals = ((atoms + 1) * rng.choice([-1, 1], atoms.shape)).ravel()
    return WeightedNetwork(
        np.arange(n),
        np.zeros(n),
        np.arange(0, 3 * rows + 1, 3),
        literals,
        np.ones(rows),
        np.zeros(rows, dtype=np.int64),
        np.full(n, -1),
        np.zeros(0, dtype=np.bool_),
        0.0,
        0.0,
    )


@settings(max_examples=draws(150))
@given(problem=problems(EXTREME, hardness=2), seed=st.integers(0, 3))
def test_bounded_by_enumeration_and_by_its_own_gap(problem: Problem, seed: int) -> None:
    weighted = weigh(problem.network(), problem.weights)
    scores = enumerate_weighted(weighted)
    if not scores:
        with pytest.raises(UnsolvedError, match="hard clauses hold"):
            solve_walksat(weighted, flips=300, seed=seed)
        return
    found = solve_walksat(weighted, flips=1000, tries=3, seed=seed)
    score, best = weighted.score(found.world), max(scores.values())
    assert score > -np.inf
    assert best - score <= found.gap + tolerance(problem)
    assert found.rounding <= found.gap
    if found.optimal:
        assert best - score <= found.rounding + tolerance(problem)


@settings(max_examples=draws(120))
@given(problem=problems(hardness=1))
def test_finds_the_best_world_of_small_problems(problem: Problem) -> None:
    weighted = weigh(problem.network(), problem.weights)
    scores = enumerate_weighted(weighted)
    if scores:
        found = solve_walksat(weighted, flips=4000, tries=3)
        assert weighted.score(found.world) == pytest.approx(max(scores.values()), abs=1e-9)


@settings(max_examples=draws(150))
@given(problem=problems(EXTREME, hardness=2), data=st.data())
def test_incremental_state_equals_a_fresh_one(problem: Problem, data: st.DataObject) -> None:
    weighted = weigh(problem.network(), problem.weights)
    search, fresh = start_search(weighted), start_search(weighted)
    load(search, np.zeros(problem.atoms, dtype=np.bool_))
    picks = data.draw(st.lists(st.integers(0, problem.atoms - 1), max_size=25)) if problem.atoms else []
    for k in picks:
        flip(search, k)
    load(fresh, search.atom["true"].copy())
    for name in ("soft", "hard"):
        assert search.atom[name].tolist() == fresh.atom[name].tolist()
        assert search.component[name].tolist() == fresh.component[name].tolist()
    for name in ("count", "critical"):
        assert search.row[name].tolist() == fresh.row[name].tolist()
    assert search.size.tolist() == fresh.size.tolist()
    for level in range(2):
        size = int(search.size[level])
        bad = search.bad[level, :size].tolist()
        assert sorted(bad) == sorted(fresh.bad[level, :size].tolist())
        assert [search.row["place"][j] for j in bad] == list(range(size))


@settings(max_examples=draws(100))
@given(problem=problems(hardness=2), data=st.data())
def test_what_two_flips_of_a_block_cost_together(problem: Problem, data: st.DataObject) -> None:
    weighted = weigh(problem.network(), problem.weights)
    pairs = [(a, b) for members, _ in problem.blocks for a in members for b in members if a != b]
    if not pairs:
        return
    off, on = data.draw(st.sampled_from(pairs))
    world = np.zeros(problem.atoms, dtype=np.bool_)
    world[off] = True
    search = start_search(weighted)
    load(search, world)
    before = search.component[["hard", "soft"]].copy()
    hard, soft = overlap(search, off, on)
    atom = search.atom
    hard, soft = hard + atom["hard"][off] + atom["hard"][on], soft + atom["soft"][off] + atom["soft"][on]
    flip(search, off)
    flip(search, on)
    assert search.component["hard"].sum() - before["hard"].sum() == hard
    assert search.component["soft"].sum() - before["soft"].sum() == soft


def test_the_best_state_of_each_component_is_kept() -> None:
    """Random flips all the time: no single world of the walk is best everywhere."""
    part = [(0, [-1, 2]), (0, [-2, 3]), (0, [-3, 1]), (1, [-1, -2]), (2, [1]), (3, [-3])]
    copies = 300
    ground = [(i, [x + 3 * c if x > 0 else x - 3 * c for x in literals]) for c in range(copies) for i, literals in part]
    weights = [2.0, 1.0, 1.5, 0.7]
    weighted = weigh(network(3 * copies, ground), weights)
    best = max(enumerate_weighted(weigh(network(3, part), weights)).values())
    found = solve_walksat(weighted, flips=100_000, noise=1.0)
    assert weighted.score(found.world) == pytest.approx(copies * best)


def test_a_satisfiable_network_is_proved_optimal() -> None:
    """No cost is left, so nothing can be better: also with rows that should be violated, and blocks."""
    found = solve_walksat(random_3sat(500, 1500), flips=200_000)
    assert found.gap == found.rounding == 0.0
    ground = [(0, [-1, 2]), (1, [-3, -4]), (2, [5])]
    blocks = [([4, 5, 6], True)]
    weighted = weigh(network(7, ground, negated=[1], blocks=blocks), [1.0, 2.0, 3.0])
    solution = solve_walksat(weighted, flips=100)
    assert solution.optimal
    assert solution.world[[2, 3, 4]].tolist() == [True, True, True]


def test_chains_of_blocks_reach_their_optimum() -> None:
    from sqlrl.solve.mpe import mpe

    problem = chains(6, length=10, states=5, exact=True)
    weights = np.random.default_rng(3).normal(size=len(problem.clauses))
    weighted = weigh(problem, weights)
    found = solve_walksat(weighted, flips=200_000, tries=2)
    best = mpe(problem, weights).objective
    assert weighted.score(found.world) <= best + 1e-9
    assert weighted.score(found.world) == pytest.approx(best, rel=0.01)
    assert found.gap >= best - weighted.score(found.world)


def test_same_seed_same_world_and_a_good_start_is_not_lost() -> None:
    weighted = random_3sat(200, 900, seed=5)
    worlds = [solve_walksat(weighted, flips=20_000, seed=s).world for s in (1, 1, 2)]
    assert np.array_equal(worlds[0], worlds[1])
    assert not np.array_equal(worlds[0], worlds[2])
    good = solve_walksat(weighted, flips=500_000, seed=9).world
    again = solve_walksat(weighted, flips=0, start=good)
    assert weighted.score(again.world) >= weighted.score(good)


def test_a_start_that_breaks_blocks_is_mended() -> None:
    weighted = weigh(network(4, [(0, [1])], blocks=[([0, 1], True), ([2, 3], False)]), [1.0])
    found = solve_walksat(weighted, flips=0, start=np.ones(4, dtype=np.bool_))
    assert weighted.blocks_hold(found.world)
    with pytest.raises(InputError, match="4 atoms need a start"):
        solve_walksat(weighted, start=np.ones(3, dtype=np.bool_))


def test_hard_rows_outweigh_any_soft_cost() -> None:
    weighted = weigh(network(2, [(0, [1]), (1, [-1]), (1, [-1, 2]), (2, [-2])], hard=[0]), [0.0, 1e12, 1e12])
    found = solve_walksat(weighted, flips=500)
    assert found.world[0]
    assert weighted.score(found.world) == max(enumerate_weighted(weighted).values())


def test_no_atoms_and_no_time() -> None:
    assert solve_walksat(weigh(network(0, []), [])).optimal
    weighted = random_3sat(300, 1400)
    found = solve_walksat(weighted, seconds=0.0)
    assert weighted.score(found.world) > -weighted.cost.sum()


@pytest.mark.parametrize(
    "option", [{"noise": 1.5}, {"noise": float("nan")}, {"tries": 0}, {"flips": -1}, {"seconds": -1.0}, {"seed": -1}]
)
def test_options_out_of_range_are_refused(option: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(option))}|random_state"):
        solve_walksat(random_3sat(10, 20), **option)  # type: ignore[arg-type]


def test_too_many_rows_are_refused() -> None:
    class Many(WeightedNetwork):
        @property
        def cost(self) -> np.ndarray:  # type: ignore[override]
            return np.broadcast_to(np.float64(1.0), 2**30)

    from sqlrl.solve.occurrences import occurrences

    small = random_3sat(10, 20)
    many = object.__new__(Many)
    for name in ("atoms", "linear", "indptr", "literals", "clause", "block", "block_exact"):
        object.__setattr__(many, name, getattr(small, name))
    with pytest.raises(NumericError, match="too many"):
        occurrences(many)
