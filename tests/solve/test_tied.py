"""Tied tables against the same ground clauses listed: counts, worlds, log-likelihoods with their gradients, and what numbers of atoms are said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlrl.ground.network import Network, TiedRows
from sqlrl.learn.batch.joint import TiedPart
from sqlrl.learn.batch.labelled import label_part, observations
from sqlrl.learn.batch.problem import TrainingProblem, support_table
from sqlrl.solve.counts import counts, delta_counts, score
from sqlrl.solve.marginal import marginals
from sqlrl.solve.mpe import compile_program, mpe
from sqlrl.training.labels import Names
from sqlrl.training.shelf import Shelf
from tests.effort import draws
from tests.solve.tied import listed, tied_networks

MANY = settings(max_examples=draws(60), deadline=None, suppress_health_check=list(HealthCheck))


def weights_of(network: Network, seed: int, size: float) -> np.ndarray:
    return np.random.default_rng(seed).normal(scale=size, size=len(network.clauses))


def world_of(network: Network, seed: int) -> np.ndarray:
    """A random world in which blocks hold."""
    draw = np.random.default_rng(seed)
    world = np.zeros(len(network.atoms), dtype=np.bool_)
    for b, exact in enumerate(network.block_exact):
        members = np.flatnonzero(network.block == b)
        if exact or draw.random() < 0.7:
            world[draw.choice(members)] = True
    return world


@MANY
@given(tied_networks(forest=False), st.integers(0, 99), st.booleans())
def test_counts_are_those_of_the_listed_rows(network: Network, seed: int, any_world: bool) -> None:
    one, other = world_of(network, seed), world_of(network, seed + 1)
    if any_world:
        one = np.random.default_rng(seed).random(len(one)) < 0.5
    plain = listed(network)
    assert counts(network, one).tolist() == counts(plain, one).tolist()
    assert delta_counts(network, one, other).tolist() == delta_counts(plain, one, other).tolist()
    assert support_table(network).equals(support_table(plain))


@MANY
@given(tied_networks(), st.integers(0, 99), st.sampled_from([0.3, 3.0, 400.0]))
def test_worlds_score_as_those_of_the_listed_rows(network: Network, seed: int, size: float) -> None:
    weights = weights_of(network, seed, size)
    found, plain = mpe(network, weights), mpe(listed(network), weights)
    assert compile_program(network).tied == isinstance(network.rows, TiedRows)
    best = score(network, weights, plain.world)
    assert score(network, weights, found.world) == pytest.approx(best, rel=1e-12, abs=1e-9)
    assert found.report.objective == pytest.approx(plain.report.objective, rel=1e-12, abs=1e-9)
    assert found.report.gap <= found.report.precision
    assert mpe(network, weights, method="cpsat").report.objective == pytest.approx(best, rel=1e-9, abs=1e-6)


@MANY
@given(tied_networks(), st.integers(0, 99), st.sampled_from([0.3, 3.0, 400.0]))
def test_probabilities_are_those_of_the_listed_rows(network: Network, seed: int, size: float) -> None:
    weights = weights_of(network, seed, size)
    found, plain = marginals(network, weights), marginals(listed(network), weights)
    np.testing.assert_allclose(found.probability, plain.probability, rtol=1e-9, atol=1e-12)
    assert found.code.tolist() == plain.code.tolist()
    assert [(each.method, each.components, each.atoms) for each in found.choices] == [
        (each.method, each.components, each.atoms) for each in plain.choices
    ]


@MANY
@given(tied_networks(), st.integers(0, 99), st.sampled_from([0.3, 3.0, 400.0]), st.booleans())
def test_likelihoods_are_those_of_the_listed_rows(network: Network, seed: int, size: float, part: bool) -> None:
    weights, truth = weights_of(network, seed, size), world_of(network, seed)
    found = []
    for each in (network, listed(network)):
        shelf = Shelf(None)
        one, reach = label_part(TrainingProblem(each, truth, Names()), "error", seed=0)
        assert isinstance(one, TiedPart) == isinstance(each.rows, TiedRows)
        shelf.put(one)
        labels = observations(shelf, len(weights))
        if part and len(labels) > 1:
            chosen = np.array([min(atoms) % 2 == 0 for atoms in _members(labels)])
            labels = labels.chosen(chosen)
        found.append((*labels.value_and_gradient(weights), labels.log_likelihood(weights).sum(), reach))
    (value, gradient, total, reached), (plain, slope, whole, known) = found
    assert value == pytest.approx(plain, rel=1e-11, abs=1e-9)
    assert total == pytest.approx(whole, rel=1e-11, abs=1e-9)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-9)
    assert reached.words("error") == known.words("error")


def _members(labels: object) -> list[list[int]]:
    atoms, owners = labels.members()  # type: ignore[attr-defined]
    return [atoms[owners == k].tolist() for k in range(int(owners.max(initial=-1)) + 1)]
