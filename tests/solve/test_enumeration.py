"""Exact probabilities from the worlds of hard rows, against enumeration of all values, and against partitions."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.errors import InputError
from sqlrl.ground.network import Network
from sqlrl.solve.enumeration import MOST_ATOMS, enumerate_worlds
from sqlrl.solve.marginal import marginals
from sqlrl.solve.restriction import UnsatisfiableError
from sqlrl.solve.sample_networks import network
from sqlrl.solve.weighted import weigh
from tests.solve.networks import EXTREME, Problem, problems
from tests.solve.samplers import exact_marginals


@given(st.one_of(problems(), problems(EXTREME, hardness=3)))
def test_probabilities_of_enumeration(problem: Problem) -> None:
    weighted = weigh(problem.network(), problem.weights)
    expected = exact_marginals(weighted)
    if expected is None:
        with pytest.raises(UnsatisfiableError):
            enumerate_worlds(weighted)
        return
    found = enumerate_worlds(weighted)
    assert found is not None
    assert found[0] == pytest.approx(expected, abs=1e-9 + 4e-15 * float(problem.magnitude()))


def equivalence(records: int) -> tuple[Network, list[tuple[int, int]]]:
    """A symmetric and transitive relation over records, with a weight for each pair."""
    pairs = [(i, j) for i in range(records) for j in range(records) if i != j]
    atom = {pair: k + 1 for k, pair in enumerate(pairs)}
    rows = [(0, [-atom[i, j], atom[j, i]]) for i, j in pairs]
    rows += [(0, [-atom[i, j], -atom[j, k], atom[i, k]]) for i, j, k in permutations(range(records), 3)]
    rows += [(1 + k, [1 + k]) for k in range(len(pairs))]
    return network(len(pairs), [(c, sorted(literals, key=abs)) for c, literals in rows], hard=[0]), pairs


def partitions(records: int) -> list[list[int]]:
    """The block of each record, of all partitions."""
    found = [[0]]
    for _ in range(records - 1):
        found = [[*labels, block] for labels in found for block in range(max(labels) + 2)]
    return found


@pytest.mark.parametrize("records", [3, 6, 9])
def test_a_transitive_relation_has_the_worlds_of_its_partitions(records: int) -> None:
    ground, pairs = equivalence(records)
    weights = np.concatenate([[0.0], np.random.default_rng(records).normal(size=len(pairs))])
    labels = np.array(partitions(records))
    worlds = np.stack([labels[:, i] == labels[:, j] for i, j in pairs], axis=1)
    score = worlds @ weights[1:]
    chance = np.exp(score - score.max())
    result = marginals(ground, weights)
    assert result.exact.all()
    assert result.probability == pytest.approx(chance @ worlds / chance.sum(), abs=1e-12)


def test_ten_records_are_exact_and_twelve_are_sampled() -> None:
    for records, exact in ((10, True), (12, False)):
        ground, pairs = equivalence(records)
        weights = np.concatenate([[0.0], np.full(len(pairs), -0.1)])
        result = marginals(ground, weights, samples=50, burn_in=5, chains=1)
        assert bool(result.exact.all()) is exact
        assert ("enumeration" in {choice.method for choice in result.choices}) is exact


def test_what_is_too_large_is_given_up() -> None:
    loose = weigh(network(40, [(0, [k, k + 1]) for k in range(1, 40)], hard=[0]), [0.0])
    assert enumerate_worlds(loose, 1000) is None
    many = weigh(network(MOST_ATOMS + 1, [(0, [-1, k]) for k in range(2, MOST_ATOMS + 2)], hard=[0]), [0.0])
    assert enumerate_worlds(many) is None


def test_sampling_ends_with_the_time_limit() -> None:
    ground, pairs = equivalence(14)
    weights = np.concatenate([[0.0], np.random.default_rng(1).normal(size=len(pairs))])
    marginals(ground, weights, samples=2, burn_in=1)  # what is compiled
    result = marginals(ground, weights, samples=10**7, time_limit=0.3)
    assert 2 <= result.effort.samples < 10**7
    assert result.effort.stopped
    assert any(text.startswith("the time limit left ") for text in result.warnings)
    assert not marginals(ground, weights, samples=50, time_limit=600.0).effort.stopped


@pytest.mark.parametrize("limit", [0, -1.0, float("inf"), float("nan"), "3", True])
def test_a_time_limit_that_is_none_is_refused(limit: object) -> None:
    with pytest.raises(InputError, match=r"time_limit=.* must be a positive number of seconds"):
        marginals(network(1, [(0, [1])]), [1.0], time_limit=limit)  # type: ignore[arg-type]
