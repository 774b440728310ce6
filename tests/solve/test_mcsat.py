"""MC-SAT against enumeration, within its own error bars: hard rows, nearly hard ones, blocks, negative costs."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings

from sqlrl.solve.cpsat import solve_cpsat
from sqlrl.solve.elimination import sum_product
from sqlrl.solve.local_search.walksat import solve_walksat
from sqlrl.solve.occurrences import occurrences
from sqlrl.solve.randomness import streams
from sqlrl.solve.restriction import UnsatisfiableError
from sqlrl.solve.sample_networks import network
from sqlrl.solve.sampling.chains import Effort, SampleBatch
from sqlrl.solve.sampling.gibbs import sample_gibbs
from sqlrl.solve.sampling.mcsat import draw_mcsat, first_world, sample_mcsat
from sqlrl.solve.treewidth.order import elimination_order
from sqlrl.solve.weighted import WeightedNetwork, weigh
from tests.effort import draws
from tests.solve.networks import EXTREME, Problem, problems
from tests.solve.samplers import assert_close, exact_marginals


@pytest.mark.slow
@settings(max_examples=draws(60))
@given(problem=problems(hardness=2))
def test_within_its_error_bars(problem: Problem) -> None:
    weighted = weigh(problem.network(), problem.weights)
    expected = exact_marginals(weighted)
    if expected is None:
        with pytest.raises(UnsatisfiableError):
            sample_mcsat(weighted, Effort(samples=10))
        return
    assert_close(sample_mcsat(weighted, Effort(samples=1000)), expected)


@settings(max_examples=draws(40))
@given(problem=problems(EXTREME, hardness=1))
def test_extreme_costs(problem: Problem) -> None:
    weighted = weigh(problem.network(), problem.weights)
    expected = exact_marginals(weighted)
    if expected is not None:
        assert_close(sample_mcsat(weighted, Effort(samples=1000)), expected)


def random_network(n: int, rows: int, hard: int, seed: int, size: int = 3, cost: float = 2.0) -> WeightedNetwork:
    rng = np.random.default_rng(seed)
    hidden = rng.random(n) < 0.5
    ground = []
    for j in range(rows):
        atoms = rng.choice(n, size, replace=False)
        signs = rng.random(size) < 0.5
        if j < hard and not (signs == hidden[atoms]).any():
            signs[0] = not signs[0]  # one world satisfies all hard rows
        ground.append((0 if j < hard else 1, [int(a + 1 if s else -a - 1) for a, s in zip(atoms, signs, strict=True)]))
    ground += [(2 + k, [k + 1]) for k in range(n)]
    return weigh(network(n, ground, hard=[0]), [0.0, cost, *rng.normal(size=n)])


@pytest.mark.parametrize(
    ("n", "rows", "hard", "cost"), [(14, 30, 30, 1.0), (14, 45, 45, 1.0), (13, 50, 15, 4.0), (14, 40, 0, 8.0)]
)
@pytest.mark.parametrize("seed", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_components_too_large_to_list(n: int, rows: int, hard: int, cost: float, seed: int) -> None:
    """Hard and nearly hard rows of three literals, in one component: pieces, and jumps by SampleSAT."""
    weighted = random_network(n, rows, hard, seed, cost=cost)
    expected = exact_marginals(weighted)
    assert expected is not None
    assert_close(sample_mcsat(weighted, Effort(samples=2000, burn_in=200, seed=seed)), expected)


@pytest.mark.parametrize(
    ("n", "rows", "hard", "cost", "seed"),
    [(24, 60, 60, 1.0, 0), pytest.param(30, 80, 20, 5.0, 1, marks=pytest.mark.slow)],
)
def test_components_whose_worlds_cannot_be_counted(n: int, rows: int, hard: int, cost: float, seed: int) -> None:
    """SampleSAT and pieces, against elimination."""
    weighted = random_network(n, rows, hard, seed, cost=cost)
    expected, _ = sum_product(weighted, order=elimination_order(weighted, bucket_cells=2**20, component_cells=2**24))
    found = sample_mcsat(weighted, Effort(samples=2000, burn_in=200, seed=seed))
    assert_close(found, expected)
    assert np.all(found.error < 0.1)


def drawn(n: int, rows: list[tuple[int, int]], samples: int) -> list[int]:
    """How many atoms are true in the samples of a chain, of atoms where all worlds of the hard rows are as probable."""
    weighted = weigh(network(n, [(0, list(row)) for row in rows], hard=[0]), [0.0])
    random = streams(3, 1)[0]
    worlds = draw_mcsat(weighted, first_world(weighted, occurrences(weighted), 3, random), samples, random)
    return [int(world.sum()) for world in worlds]


def test_a_large_component_with_few_worlds_is_drawn_as_a_whole() -> None:
    """A chain of implications has n + 1 worlds: draws of all of them have nothing to do with the world before."""
    n, samples = 30, 600
    true = np.array(drawn(n, [(-k, k + 1) for k in range(1, n)], samples)) / n
    assert abs(true.mean() - 0.5) < 5 * np.sqrt(1 / 12 / samples)
    assert abs(true.var() - 1 / 12) < 0.02
    assert abs(np.corrcoef(true[1:], true[:-1])[0, 1]) < 5 / np.sqrt(samples)


def test_two_worlds_that_are_found_late_are_drawn_as_a_whole() -> None:
    """400 equal atoms are true, as only a search finds out; 30 others are equal, too, and change in half of the draws."""
    n, others = 400, 30
    last = n + others
    chains = [(k, n) for k in range(1, n)] + [(k, last) for k in range(n + 1, last)]
    equal = [row for k, end in chains for row in ((-k, k + 1), (k, -k - 1)) if k < end]
    forced = [(1, n + 1), (1, -n - 1), (n, n + 1), (n, -n - 1)]
    true = np.array(drawn(last, equal + forced, 300))
    assert set(true.tolist()) == {n, last}
    assert 100 < (true[1:] != true[:-1]).sum() < 200


def test_a_large_component_with_many_worlds_is_left_to_pieces() -> None:
    """400 leaves of a star may be true where its centre is, so that in nearly all worlds the centre and half of the leaves are."""
    n = 401
    true = np.array(drawn(n, [(1, -k) for k in range(2, n + 1)], 50))
    assert (np.abs(true - 1 - (n - 1) / 2) < 60).all()


def test_two_worlds_that_no_short_path_joins() -> None:
    """A hard chain of equivalences of 20 atoms: all true or all false, and e**1.5 times as likely to be true."""
    n = 20
    ground = [(0, [-k, k + 1]) for k in range(1, n)] + [(0, [k, -k - 1]) for k in range(1, n)] + [(1, [1])]
    weighted = weigh(network(n, ground, hard=[0]), [0.0, 1.5])
    found = sample_mcsat(weighted, Effort(samples=2000))
    assert_close(found, np.full(n, 1 / (1 + np.exp(-1.5))))
    assert np.all(found.rhat < 1.05)


def test_blocks_too_large_to_list() -> None:
    """100 members, some of which hard rows exclude once another atom is true."""
    linear = np.random.default_rng(1).normal(size=100)
    ground = [(1 + i, [i + 1]) for i in range(100)] + [
        (0, [-101, i + 1] if i == 5 else [-101, -i - 1]) for i in range(40)
    ]
    for exact in (True, False):
        weighted = weigh(network(101, ground, hard=[0], blocks=[(range(100), exact)]), [0.0, *linear])
        weights = np.exp(linear)
        none = 0.0 if exact else 1.0
        inside = weights.copy()
        inside[np.arange(100) != 5] = 0.0  # row 5 needs member 5 if atom 100 is true
        z = none + weights.sum() + inside.sum()
        expected = np.append((weights + inside) / z, inside.sum() / z)
        assert_close(sample_mcsat(weighted, Effort(samples=4000)), expected)


def test_strong_evidence_about_an_order_is_heeded() -> None:
    # Hard rows of a transitive relation let a chain hardly move; what is drawn cannot be far worse than the best world.
    things, rng = range(12), np.random.default_rng(0)
    atom = {pair: k for k, pair in enumerate(permutations(things, 2))}
    rows = [(0, [-atom[a, b] - 1, -atom[b, a] - 1]) for a, b in combinations(things, 2)]
    rows += [(0, [-atom[a, b] - 1, -atom[b, c] - 1, atom[a, c] + 1]) for a, b, c in permutations(things, 3)]
    height = rng.normal(size=len(things))
    prior = np.array([30 * (height[a] - height[b] + rng.normal()) for a, b in atom])
    weighted = weigh(network(len(atom), rows, hard=[0], prior=prior.tolist()), [0.0])
    best = float(prior @ solve_cpsat(weighted).world)
    for seed in range(5):
        found = sample_mcsat(weighted, Effort(samples=100, burn_in=20, chains=1, seed=seed))
        assert float(prior @ found.mean) > 0.95 * best


def test_hard_rows_hold_in_every_sample() -> None:
    weighted = random_network(60, 200, 200, 4)
    batches: list[SampleBatch] = []
    sample_mcsat(weighted, Effort(samples=200, chains=2), write=batches.append)
    worlds = np.concatenate([b.worlds for b in batches])
    assert len(worlds) == 400
    assert all(weighted.score(world) > -np.inf for world in worlds)
    assert len(np.unique(worlds, axis=0)) > 50


def test_same_seed_same_numbers_on_any_number_of_threads() -> None:
    weighted = random_network(40, 90, 60, 1)
    runs = [sample_mcsat(weighted, Effort(200, 10, 3, seed, threads)) for seed, threads in ((1, 1), (1, 2), (2, 1))]
    assert runs[0].mean.tolist() == runs[1].mean.tolist()
    assert runs[0].mean.tolist() != runs[2].mean.tolist()


def test_a_network_without_atoms() -> None:
    assert len(sample_mcsat(weigh(network(0, []), [])).mean) == 0


@pytest.mark.slow
@pytest.mark.parametrize("solve", [sample_mcsat, *(solve for solve in (sample_gibbs, solve_walksat))])
def test_ctrl_c_is_heeded_at_once(solve: Callable[..., object]) -> None:
    weighted = random_network(5000, 20_000, 0, 0)
    options = {"flips": 10**9} if solve is solve_walksat else {"effort": Effort(samples=10**6)}
    solve(random_network(5, 5, 0, 0))  # compiled code is loaded now
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    start = time.process_time()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            solve(weighted, **options)
    finally:
        timer.cancel()
    assert time.process_time() - start < 30  # CPU seconds, as a loaded machine has fewer of them
