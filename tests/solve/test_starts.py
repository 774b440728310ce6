"""Chains that start far apart: what one alone would hide, they show."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

from sqlrl.ground.network import Network
from sqlrl.solve.occurrences import occurrences, randomise
from sqlrl.solve.randomness import streams
from sqlrl.solve.restriction import component_labels
from sqlrl.solve.sample_networks import network
from sqlrl.solve.sampling.chains import Effort
from sqlrl.solve.sampling.diagnostics import AGREED, SampleEstimate
from sqlrl.solve.sampling.gibbs import sample_gibbs
from sqlrl.solve.sampling.mcsat import sample_mcsat
from sqlrl.solve.sampling.starts import much_worse, opposite
from sqlrl.solve.weighted import WeightedNetwork, weigh
from tests.solve.networks import Problem, problems


@given(problem=problems())
def test_every_variable_has_another_state(problem: Problem) -> None:
    weighted = weigh(problem.network(), problem.weights)
    found = occurrences(weighted)
    world = np.zeros(len(weighted.atoms), dtype=np.bool_)
    randomise(found, world, streams(0, 1)[0])
    other = opposite(found, world)
    assert weighted.blocks_hold(other)
    assert (other != world)[found.block < 0].all()
    for b, exact in enumerate(found.exact.tolist()):
        inside = found.block == b
        assert (other[inside] != world[inside]).any() == (inside.sum() > exact)


def crowd(people: int) -> Network:
    """Everybody is like everybody else."""
    rows = [(0, [-a, b]) for x, y in combinations(range(1, people + 1), 2) for a, b in ((x, y), (y, x))]
    return network(people, rows)


def parties(people: int, states: int) -> Network:
    """Everybody is in one of some parties, and gladly in the same one as the others."""
    member = np.arange(1, people * states + 1).reshape(people, states)
    rows = [(0, [-a, b]) for x, y in combinations(member.tolist(), 2) for a, b in zip(x, y, strict=True)]
    return network(people * states, rows, blocks=[((row - 1).tolist(), True) for row in member])


@pytest.mark.parametrize("sample", [sample_gibbs, sample_mcsat])
@pytest.mark.parametrize("ground", [crowd(30), parties(12, 3)], ids=["crowd", "parties"])
def test_sides_that_no_chain_passes_between_are_seen(
    sample: Callable[[WeightedNetwork, Effort], SampleEstimate], ground: Network
) -> None:
    """Random starts alone fell to one side, R-hat 1, in about one of eight runs."""
    weighted = weigh(ground, [0.6])
    for seed in range(12):
        found = sample(weighted, Effort(samples=100, burn_in=20, seed=seed))
        assert found.rhat.max() > AGREED
        assert found.error.max() > 0.1


@pytest.mark.parametrize("sample", [sample_gibbs, sample_mcsat])
def test_a_side_with_hardly_any_probability_is_left_out(
    sample: Callable[[WeightedNetwork, Effort], SampleEstimate],
) -> None:
    """Alone among those who do not, nobody begins; but all together score thirty more."""
    people = 30
    rows = [(0, [-a, b]) for x, y in combinations(range(1, people + 1), 2) for a, b in ((x, y), (y, x))]
    weighted = weigh(network(people, [*rows, *((1, [k]) for k in range(1, people + 1))]), [0.1, 1.0])
    for seed in range(6):
        found = sample(weighted, Effort(samples=200, burn_in=20, seed=seed))
        assert (found.mean > 0.95).all()
        assert (found.rhat < 1.1).all()


def test_much_worse_is_told_of_each_component() -> None:
    weighted = weigh(network(5, [(0, [1, 2]), (1, [3, -4]), (2, [5])]), [40.0, 40.0, 5.0])
    none, label = np.array([False, False, False, True, False]), component_labels(weighted)[1]
    assert much_worse(weighted, label, none, np.array([True, False, True, True, True])).tolist() == [True] * 4 + [False]
    assert not much_worse(weighted, label, np.ones(5, dtype=np.bool_), none).any()
