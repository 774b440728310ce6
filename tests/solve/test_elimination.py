"""Elimination against enumeration, against the forest kernels on trees, and against transfer matrices on grids."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.ground.network import Network
from sqlrl.solve import elimination
from sqlrl.solve.counts import counts, weighted_score
from sqlrl.solve.cpsat import solve_cpsat
from sqlrl.solve.elimination import bounded_part, max_marginals, solve_elimination, sum_product
from sqlrl.solve.forest import compile_forest
from sqlrl.solve.restriction import UnsatisfiableError, component_labels, restrict, select
from sqlrl.solve.sample_networks import chains, network
from sqlrl.solve.structure import compile_network
from sqlrl.solve.treewidth.order import elimination_order
from sqlrl.solve.weighted import FREE, WeightedNetwork, weigh
from tests.effort import draws
from tests.solve.networks import EXTREME, ORDINARY, Problem, assert_equal, problems, worlds
from tests.solve.test_weighted import enumerate_weighted

Scores = dict[tuple[bool, ...], Fraction]


def total(scores: list[Fraction], best: Fraction) -> float:
    """Sum of the exponentials of exact scores, in units of that of the best."""
    return math.fsum(math.exp(s - best) for s in scores)


def check_against_worlds(weighted: WeightedNetwork, scores: Scores, slack: float) -> None:
    """Best world, marginals and max-marginals are those of the listed worlds, up to `slack` in scores."""
    best = max(scores.values())
    solution = solve_elimination(weighted)
    assert solution.optimal
    assert best - scores[tuple(solution.world.tolist())] <= slack + solution.gap
    probability, log_z = sum_product(weighted)
    z = total(list(scores.values()), best)
    assert log_z == pytest.approx(float(best) + math.log(z), rel=1e-12, abs=1e-9 + slack)
    true, false = max_marginals(weighted)
    for k in range(len(weighted.atoms)):
        on = [s for w, s in scores.items() if w[k]]
        off = [s for w, s in scores.items() if not w[k]]
        assert probability[k] == pytest.approx(total(on, best) / z, abs=1e-9 + slack)
        assert true[k] == pytest.approx(float(max(on)) if on else -np.inf, rel=1e-12, abs=1e-9 + slack)
        assert false[k] == pytest.approx(float(max(off)) if off else -np.inf, rel=1e-12, abs=1e-9 + slack)


@settings(max_examples=draws(150), deadline=None)
@given(st.one_of(problems(EXTREME, hardness=2), problems(ORDINARY, hardness=2)))
def test_elimination_is_enumeration(problem: Problem) -> None:
    weighted = weigh(problem.network(), problem.weights)
    scores = {world: problem.score(world) for world in worlds(problem)}
    if scores:
        assert bounded_part(weighted).atoms.all()
        check_against_worlds(weighted, scores, 1e-14 * float(problem.magnitude()))
        return
    for solver in (solve_elimination, sum_product, max_marginals):
        with pytest.raises(UnsatisfiableError) as caught:
            solver(weighted)
        _, label = component_labels(weighted)
        stuck = select(weighted, label == label[caught.value.atom])
        assert not enumerate_weighted(stuck)


@settings(max_examples=draws(100), deadline=None)
@given(problems(ORDINARY, hardness=1), st.integers(1, 40), st.integers(1, 80))
def test_what_is_within_a_bound_is_solved_within_it(problem: Problem, bucket: int, component: int) -> None:
    weighted = weigh(problem.network(), problem.weights)
    bounds = {"bucket_cells": bucket, "component_cells": component}
    inside, part, order = bounded_part(weighted, **bounds)
    assert_equal(part, select(weighted, inside))
    # Another search of the part alone finds the same order.
    assert_equal(order, elimination_order(part, **bounds))
    scores = enumerate_weighted(part)
    if scores:
        solution = solve_elimination(part, order=order)
        assert max(scores.values()) - scores[tuple(solution.world.tolist())] <= 1e-9
    if not inside.all():
        with pytest.raises(ValueError, match="beyond the bound"):
            solve_elimination(weighted, order=elimination_order(weighted, **bounds))


@pytest.mark.parametrize("exact", [False, True])
def test_chains_agree_with_the_forest_kernels(exact: bool) -> None:
    net = chains(40, length=30, states=4, exact=exact, words=20)
    weights = np.random.default_rng(3).normal(size=len(net.clauses))
    program = compile_forest(compile_network(net))
    world = np.zeros(len(net.atoms), dtype=np.bool_)
    assert program.solve(*program.weigh(weights, net.prior), world) == -1
    assert np.array_equal(solve_elimination(weigh(net, weights)).world, world)


def test_ties_go_where_the_forest_kernels_send_them() -> None:
    """Small integer weights make many equally good worlds, and exact sums."""
    for seed in range(20):
        net = chains(5, length=8, states=3, words=3, seed=seed)
        weights = np.random.default_rng(seed).integers(-1, 2, len(net.clauses)).astype(np.float64)
        program = compile_forest(compile_network(net))
        world = np.zeros(len(net.atoms), dtype=np.bool_)
        program.solve(*program.weigh(weights, net.prior), world)
        assert np.array_equal(solve_elimination(weigh(net, weights)).world, world)


def grid(rows: int, columns: int) -> Network:
    """Atoms column by column; clause 0: left => right, clause 1: not both of a column's neighbours."""
    atom = np.arange(rows * columns).reshape(columns, rows) + 1
    across = [(0, [-int(a), int(b)]) for a, b in zip(atom[:-1].ravel(), atom[1:].ravel(), strict=True)]
    down = [(1, [-int(a), -int(b)]) for a, b in zip(atom[:, :-1].ravel(), atom[:, 1:].ravel(), strict=True)]
    prior = np.random.default_rng(1).normal(size=rows * columns)
    return network(rows * columns, across + down, prior=prior.tolist())


def test_a_grid_agrees_with_transfer_matrices() -> None:
    rows, columns, (implies, apart) = 4, 20, (1.3, 0.8)
    net = grid(rows, columns)
    state = np.array(list(itertools.product([0, 1], repeat=rows)))
    inside = -apart * (state[:, :-1] * state[:, 1:]).sum(axis=1)
    step = -implies * (state[:, None, :] * (1 - state[None, :, :])).sum(axis=2)
    column = inside + net.prior.reshape(columns, rows) @ state.T
    constant = implies * rows * (columns - 1) + apart * (rows - 1) * columns
    best, total = column[0], column[0]
    for c in range(1, columns):
        best = (best[:, None] + step).max(axis=0) + column[c]
        total = np.logaddexp.reduce(total[:, None] + step, axis=0) + column[c]
    weighted = weigh(net, [implies, apart])
    solution = solve_elimination(weighted)
    assert weighted.score(solution.world) == pytest.approx(best.max() + constant, abs=1e-9)
    probability, log_z = sum_product(weighted)
    assert log_z == pytest.approx(np.logaddexp.reduce(total) + constant, abs=1e-9)
    last = np.exp(total - np.logaddexp.reduce(total)) @ state
    assert probability[-rows:] == pytest.approx(last, abs=1e-9)
    true, false = max_marginals(weighted)
    ends = [max(best[state[:, r] == y]) + constant for y in (1, 0) for r in range(rows)]
    assert np.concatenate([true[-rows:], false[-rows:]]) == pytest.approx(ends, abs=1e-9)
    assert np.maximum(true, false) == pytest.approx(np.full(len(true), best.max() + constant), abs=1e-9)


def block_worlds(weighted: WeightedNetwork) -> Scores:
    """Scores of all worlds in which blocks hold, for networks with too many atoms to list all truth values."""
    members = [np.flatnonzero(weighted.block == b).tolist() for b in range(len(weighted.block_exact))]
    choices = [[*m, *([] if exact else [-1])] for m, exact in zip(members, weighted.block_exact, strict=True)]
    found = {}
    for chosen in itertools.product(*choices):
        world = np.zeros(len(weighted.atoms), dtype=np.bool_)
        world[[a for a in chosen if a >= 0]] = True
        score = weighted.score(world)
        if score > -np.inf:
            found[tuple(world.tolist())] = Fraction(score)
    return found


@pytest.mark.slow
def test_rows_over_several_blocks_of_a_tree() -> None:
    """Rows of up to three blocks, with several atoms of one block, soft and hard."""
    random = np.random.default_rng(7)
    blocks = [(list(range(3 * b, 3 * b + 3)), b % 2 == 0) for b in range(7)]
    ground: list[tuple[int, list[int]]] = []
    for i in range(24):
        child = int(random.integers(1, 7))
        near = sorted({child, (child - 1) // 2, *([(child - 1) // 4] if i % 3 == 0 else [])})
        atoms = np.concatenate([random.choice(3, size=random.integers(1, 3), replace=False) + 3 * b for b in near])
        ground.append((i if i % 6 else 0, [int(a + 1) * int(random.choice([-1, 1])) for a in atoms]))
    net = network(21, ground, hard=[0], blocks=blocks, prior=random.normal(size=21).tolist())
    weighted = weigh(net, random.normal(size=len(net.clauses)))
    scores = block_worlds(weighted)
    assert 10 < len(scores) < 4**7
    check_against_worlds(weighted, scores, 1e-9)


def random_network(seed: int) -> WeightedNetwork:
    """About 45 variables of two to four states around a cycle, rows of two to four literals, some of them hard."""
    random = np.random.default_rng(seed)
    blocks = [(list(range(3 * b, 3 * b + 3)), bool(b % 2)) for b in range(15)]
    ground: list[tuple[int, list[int]]] = []
    for i in range(110):
        start = int(random.integers(75))
        atoms = np.unique((start + random.integers(0, 9, size=random.integers(2, 5))) % 75)
        if len(atoms) > 1:
            signs = random.choice([-1, 1], size=len(atoms))
            ground.append((0 if i % 12 == 0 else i, ((atoms + 1) * signs).tolist()))
    net = network(75, ground, hard=[0], blocks=blocks, prior=random.normal(size=75).tolist())
    return weigh(net, random.normal(size=len(net.clauses)))


@pytest.mark.parametrize("seed", range(6))
def test_larger_networks_agree_with_cpsat_and_with_fixing_atoms(seed: int) -> None:
    weighted = random_network(seed)
    assert bounded_part(weighted).atoms.all()
    solution, other = solve_elimination(weighted), solve_cpsat(weighted)
    best = weighted.score(solution.world)
    assert other.optimal
    assert best == pytest.approx(weighted.score(other.world), abs=other.gap + 1e-9)
    probability, log_z = sum_product(weighted)
    true, false = max_marginals(weighted)
    assert np.maximum(true, false) == pytest.approx(np.full(75, best), abs=1e-9)
    for k in range(45, 75):  # atoms in no block
        for value, score, share in ((1, true[k], probability[k]), (0, false[k], 1 - probability[k])):
            fixed = np.full(75, FREE, dtype=np.int8)
            fixed[k] = value
            part = restrict(weighted, fixed)
            assert part.score(solve_elimination(part).world) == pytest.approx(score, abs=1e-9)
            assert math.exp(sum_product(part)[1] - log_z) == pytest.approx(share, abs=1e-9)


def test_centred_messages_keep_long_chains_precise() -> None:
    """The chain of 20,000 atoms scores thousands, yet margins and marginals are exact to 1e-9: it repeats itself."""
    n = 20_000
    ground = [(0, [-k, k + 1]) for k in range(1, n)] + [(1, [k]) for k in range(1, n + 1)]
    weighted = weigh(network(n, ground), [0.7, 0.3])
    short = weigh(network(200, [g for g in ground if max(map(abs, g[1])) <= 200]), [0.7, 0.3])
    long_probability, _ = sum_product(weighted)
    short_probability, _ = sum_product(short)
    assert long_probability[:100] == pytest.approx(short_probability[:100], abs=1e-12)
    long_margin, short_margin = (np.subtract(*max_marginals(w))[:100] for w in (weighted, short))
    assert long_margin == pytest.approx(short_margin, abs=1e-9)


def test_the_score_of_the_best_world_is_the_networks() -> None:
    net = grid(3, 6)
    weights = np.array([0.4, 1.1])
    weighted = weigh(net, weights)
    world = solve_elimination(weighted).world
    true, _ = max_marginals(weighted)
    assert weighted_score(weights, counts(net, world), net.prior, world) == pytest.approx(true[world].max(), abs=1e-9)


def test_slices_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    net = chains(50, length=5, states=3, words=10)
    weighted = weigh(net, np.random.default_rng(0).normal(size=len(net.clauses)))
    world, (probability, log_z) = solve_elimination(weighted).world, sum_product(weighted)
    monkeypatch.setattr(elimination, "SLICE", 1000)
    assert np.array_equal(solve_elimination(weighted).world, world)
    again, log_z_again = sum_product(weighted)
    assert np.array_equal(probability, again)
    assert log_z == log_z_again


def test_no_atoms_and_no_rows() -> None:
    empty = weigh(network(0, []), [])
    assert solve_elimination(empty).world.shape == (0,)
    assert sum_product(empty)[1] == pytest.approx(0.0)
    alone = weigh(network(3, [], blocks=[([1, 2], True)]), [])
    assert solve_elimination(alone).world.tolist() == [False, True, False]
    assert sum_product(alone)[0] == pytest.approx([0.5, 0.5, 0.5])
    assert sum_product(alone)[1] == pytest.approx(2 * math.log(2))


def test_a_block_of_one_atom_is_true() -> None:
    net = network(2, [(0, [-1, 2])], blocks=[([0], True)])
    true, false = max_marginals(weigh(net, [1.5]))
    assert true.tolist() == [1.5, 1.5]
    assert false.tolist() == [-np.inf, 0.0]


def test_hard_rows_that_cannot_hold_name_their_component() -> None:
    ground = [(0, [1, 2]), (1, [3, 4]), (1, [-3, 4]), (1, [3, -4]), (1, [-3, -4])]
    weighted = weigh(network(4, ground, hard=[1]), [1.0, 0.0])
    for solver in (solve_elimination, sum_product, max_marginals):
        with pytest.raises(UnsatisfiableError) as caught:
            solver(weighted)
        assert caught.value.atom in (2, 3)
