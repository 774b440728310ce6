"""Moments of the counts, sampled and exact, against all worlds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from sqlrl.errors import InputError
from sqlrl.ground.network import BoolArray
from sqlrl.learn.batch import expectation
from sqlrl.learn.batch.expectation import ExactSource, SampledMoments, SampledSource, count_worlds
from sqlrl.learn.batch.problem import TrainingProblem as Training
from sqlrl.solve.conflict import ConflictingClausesError
from sqlrl.solve.randomness import Stream
from sqlrl.solve.sample_networks import network
from sqlrl.solve.sampling.mcsat import draw_mcsat
from sqlrl.solve.weighted import WeightedNetwork
from sqlrl.training.labels import Names
from tests.learn.batch.enumerated import (
    COUPLED,
    LABELS,
    counts_of,
    enumerate_worlds,
    fixed_of,
    random_problem,
    training,
)
from tests.solve.networks import Problem, problems, worlds


@given(problems())
def test_counts_of_many_worlds_are_those_of_each(problem: Problem) -> None:
    net, every = problem.network(), list(worlds(problem, []))
    found = count_worlds(net, np.array(every, dtype=np.bool_).reshape(len(every), problem.atoms))
    base = np.where(net.hard, 0, net.base).astype(np.int64)
    assert (found + base).tolist() == [counts_of(problem, world).tolist() for world in every]


def test_moments_of_samples() -> None:
    counts = np.random.default_rng(2).integers(0, 5, (30, 4)).astype(np.float64)
    found, direction = SampledMoments(counts), np.array([0.5, -1.0, 2.0, 0.0])
    covariance = np.cov(counts.T, bias=True)
    assert np.allclose(found.mean, counts.mean(axis=0), rtol=0, atol=1e-12)
    assert np.allclose(found.variance, np.diag(covariance), rtol=0, atol=1e-12)
    assert np.allclose(found.product(direction), covariance @ direction, rtol=0, atol=1e-12)
    assert found.error(direction) == pytest.approx(np.std(counts @ direction, ddof=1) / np.sqrt(30))
    assert found.log_likelihood is None
    # The least variance is that of one sample that differs by 1.
    assert found.least == pytest.approx(np.var([1.0] + [0.0] * 29))
    assert SampledMoments(counts[:1]).error(direction) == np.inf


@pytest.mark.parametrize("seed", range(20))
def test_exact_moments_are_those_of_all_worlds(seed: int) -> None:
    problem, truth = random_problem(seed, longest=1)
    every, rng = enumerate_worlds(problem), np.random.default_rng(seed)
    soft = np.array([i not in problem.hard for i in range(len(problem.weights))])
    weights, direction = rng.normal(0, 1.5, (2, len(soft))) * soft
    if len(every.counts) == 1:
        with pytest.raises(InputError, match="there is nothing to learn"):
            ExactSource(training(problem, truth), seed=0)
        return
    source = ExactSource(training(problem, truth), seed=0)
    found, covariance = source.at(weights), every.covariance(weights)
    expected_gradient = counts_of(problem, truth) - every.mean(weights)
    assert np.allclose(source.observed - found.mean, expected_gradient, rtol=0, atol=1e-10)
    assert np.allclose(found.variance, np.diag(covariance), rtol=0, atol=1e-10)
    assert np.allclose(found.product(direction), covariance @ direction, rtol=0, atol=1e-10)
    expected = every.log_likelihood(weights, counts_of(problem, truth), fixed_of(problem, truth))
    assert found.log_likelihood == pytest.approx(expected, rel=0, abs=1e-10)
    assert found.error(direction) == 0.0


@pytest.mark.parametrize("name", COUPLED)
def test_sampled_moments_come_near_those_of_all_worlds(name: str) -> None:
    problem = COUPLED[name]
    every, rng = enumerate_worlds(problem), np.random.default_rng(8)
    soft = np.array([i not in problem.hard for i in range(len(problem.weights))])
    weights, direction = rng.normal(0, 1, (2, len(soft))) * soft
    base = np.where(problem.network().hard, 0, problem.network().base).astype(np.float64)
    runs = [
        SampledSource(training(problem, LABELS[name]), samples=400, most=400, burn_in=10, seed=seed).at(weights)
        for seed in range(16)
    ]
    covariance = every.covariance(weights)
    for found, expected in (
        ([run.mean + base for run in runs], every.mean(weights)),
        ([run.variance for run in runs], np.diag(covariance)),
        ([run.product(direction) for run in runs], covariance @ direction),
    ):
        error = np.std(found, axis=0, ddof=1) / np.sqrt(len(runs))
        assert np.all(np.abs(np.mean(found, axis=0) - expected) < 4 * error + 1e-12)
        assert np.any(error > 0)


def test_a_chain_goes_on_where_it_stopped_and_burns_in_after_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    starts, ends, numbers = [], [], []

    def recorded(left: WeightedNetwork, world: BoolArray, samples: int, random: Stream) -> BoolArray:
        starts.append(world.tolist())
        numbers.append(samples)
        drawn = draw_mcsat(left, world, samples, random)
        ends.append(drawn[-1].tolist())
        return drawn

    monkeypatch.setattr(expectation, "draw_mcsat", recorded)
    source = SampledSource(training(COUPLED["hard"], LABELS["hard"]), samples=5, most=5, burn_in=3, seed=1)
    moments = source.at(np.zeros(4))
    moments = source.more(np.zeros(4), moments, moved=False)
    other = source.at(np.array([0.0, 0.0, 1.0, -1.0]))
    back = source.more(np.zeros(4), moments, moved=True)
    assert starts[1:] == ends[:-1]
    assert numbers == [8, 5, 8, 8]
    assert [len(each.counts) for each in (moments, other, back)] == [10, 5, 15]
    assert back.counts[:10].tolist() == moments.counts.tolist()


def test_more_samples_until_there_are_enough() -> None:
    source = SampledSource(training(COUPLED["rows"], LABELS["rows"]), samples=4, most=10, burn_in=0, seed=0)
    moments = source.at(np.zeros(3))
    assert not source.enough(moments)
    moments = source.more(np.zeros(3), moments, moved=False)
    assert len(moments.counts) == 8
    assert source.enough(moments)


def test_exact_moments_are_refused_where_clauses_join_atoms() -> None:
    names = Names(clause=lambda i: f"rule number {i}")
    joined = Training(network(2, [(0, [1]), (1, [1, -2])]), np.array([True, True]), names)
    with pytest.raises(InputError, match=r"rule number 1 joins query atoms.* use PSCG \(moments='mcsat'\)"):
        ExactSource(joined, seed=0)
    hard = Training(network(2, [(0, [1]), (1, [1, -2])], hard=[1]), np.array([True, True]), names)
    with pytest.raises(InputError, match="rule number 1"):
        ExactSource(hard, seed=0)


@pytest.mark.parametrize("exact", [True, False])
def test_hard_clauses_that_cannot_hold_are_named(exact: bool) -> None:
    names = Names(clause=lambda i: f"rule number {i}")
    never = Training(network(1, [(0, [1]), (1, [-1])], hard=[0, 1]), np.array([True]), names)
    with pytest.raises(ConflictingClausesError, match="rule number 1"):
        ExactSource(never, seed=0) if exact else SampledSource(never, samples=2, most=2, burn_in=0, seed=0)


def test_a_conflict_that_units_do_not_show_is_named_too() -> None:
    ground = [(0, [1, 2]), (0, [1, -2]), (0, [-1, 2]), (0, [-1, -2])]
    never = Training(network(2, ground, hard=[0]), np.array([True, True]), Names())
    with pytest.raises(ConflictingClausesError):
        SampledSource(never, samples=2, most=2, burn_in=0, seed=0).at(np.zeros(1))
