"""Gibbs sampling against enumeration, within its own error bars."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings

from sqlrl.solve.sample_networks import network
from sqlrl.solve.sampling.chains import Effort, SampleBatch
from sqlrl.solve.sampling.gibbs import is_gibbs, sample_gibbs
from sqlrl.solve.weighted import weigh
from tests.effort import draws
from tests.solve.networks import Problem, problems
from tests.solve.samplers import assert_close, exact_marginals


@settings(max_examples=draws(60))
@given(problem=problems(hardness=0))
def test_within_its_error_bars(problem: Problem) -> None:
    weighted = weigh(problem.network(), problem.weights)
    # Costs of 9 and more keep single flips in one place: what MC-SAT is for.
    assume(np.abs(weighted.cost).max(initial=0.0) < 5)
    expected = exact_marginals(weighted)
    assert expected is not None
    found = sample_gibbs(weighted, Effort(samples=2000, burn_in=200))
    assert_close(found, expected)
    assert np.all(found.error < 0.1)


def test_hard_rows_are_refused() -> None:
    weighted = weigh(network(2, [(0, [1, 2])], hard=[0]), [0.0])
    assert not is_gibbs(weighted)
    with pytest.raises(ValueError, match="MC-SAT"):
        sample_gibbs(weighted)


def test_same_seed_same_numbers_on_any_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    rows = [(0, sorted(rng.choice(50, 2, replace=False) + 1)) for _ in range(80)]
    weighted = weigh(network(50, [(i, [int(x) for x in row]) for i, row in rows]), [-0.8])
    runs = [sample_gibbs(weighted, Effort(300, 10, 3, seed, threads)) for seed, threads in ((1, 1), (1, 3), (2, 1))]
    assert runs[0].mean.tolist() == runs[1].mean.tolist()
    assert runs[0].error.tolist() == runs[1].error.tolist()
    assert runs[0].mean.tolist() != runs[2].mean.tolist()


def test_samples_are_the_worlds_that_the_averages_come_from() -> None:
    """Each chain's batches come in order, complete; blocks hold; frequencies are near the probabilities."""
    ground = [(0, [-1, 2]), (1, [3]), (2, [5])]
    weighted = weigh(network(6, ground, blocks=[([2, 3], True), ([4, 5], False)]), [1.0, 0.5, -0.5])
    batches: list[SampleBatch] = []
    found = sample_gibbs(weighted, Effort(samples=4000, chains=2, seed=4), write=batches.append)
    for chain in range(2):
        own = [b for b in batches if b.chain == chain]
        assert [b.first for b in own] == np.cumsum([0, *(len(b.worlds) for b in own[:-1])]).tolist()
        worlds = np.concatenate([b.worlds for b in own])
        assert worlds.shape == (4000, 6)
        assert all(weighted.blocks_hold(world) for world in worlds)
        assert worlds.mean(axis=0) == pytest.approx(own[-1].mean, abs=0.05)
    assert np.mean([b.mean for b in batches if b.first == batches[-1].first], axis=0) == pytest.approx(found.mean)


def test_blocks_with_hundreds_of_members() -> None:
    linear = np.random.default_rng(1).normal(size=300)
    ground = [(i, [i + 1]) for i in range(300)] + [(300, [-1, 301])]
    weighted = weigh(network(301, ground, blocks=[(range(300), True)]), [*linear, 2.0])
    found = sample_gibbs(weighted, Effort(samples=3000))
    other = (1 + np.exp(2.0)) / np.exp(2.0)
    odds = np.exp(linear) * np.array([1 + np.exp(0.0) * 0 + np.exp(-2.0), *[2.0] * 299])
    expected = odds / odds.sum()
    assert_close(found, np.append(expected, 0.5 + expected[0] * (1 / other - 0.5)))


def test_a_network_without_atoms() -> None:
    assert len(sample_gibbs(weigh(network(0, []), [])).mean) == 0
