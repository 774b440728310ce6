"""Tied tables against the same ground clauses listed: counts, worlds, log-likelihoods with their gradients, and what numbers of atoms are said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlrl.errors import InfeasibleError
from sqlrl.ground.atoms import Atoms
from sqlrl.ground.network import Network, TiedRows, TiedTable
from sqlrl.ground.rows import GroundRows
from sqlrl.ground.tied import tied_rows
from sqlrl.learn.batch.joint import TiedPart
from sqlrl.learn.batch.labelled import label_part, observations
from sqlrl.learn.batch.problem import TrainingProblem, support_table
from sqlrl.solve.counts import counts, delta_counts, score, violated_rows
from sqlrl.solve.marginal import marginals
from sqlrl.solve.mpe import compile_program, mpe
from sqlrl.solve.result import MPEResult
from sqlrl.solve.sample_networks import network as sample_network
from sqlrl.solve.sampling.belief import MarginalResult
from sqlrl.training.labels import Names
from sqlrl.training.shelf import Shelf
from tests.effort import draws
from tests.solve.tied import tied_networks

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
    plain = network.listed()
    assert counts(network, one).tolist() == counts(plain, one).tolist()
    assert delta_counts(network, one, other).tolist() == delta_counts(plain, one, other).tolist()
    assert support_table(network).equals(support_table(plain))


@MANY
@given(tied_networks(), st.integers(0, 99), st.sampled_from([0.3, 3.0, 400.0]))
def test_worlds_score_as_those_of_the_listed_rows(network: Network, seed: int, size: float) -> None:
    weights = weights_of(network, seed, size)
    found, plain = mpe(network, weights), mpe(network.listed(), weights)
    assert compile_program(network).tied == isinstance(network.rows, TiedRows)
    best = score(network, weights, plain.world)
    assert score(network, weights, found.world) == pytest.approx(best, rel=1e-12, abs=1e-9)
    assert found.report.objective == pytest.approx(plain.report.objective, rel=1e-12, abs=1e-9)
    assert found.report.gap <= found.report.precision
    assert mpe(network, weights, method="cpsat").report.objective == pytest.approx(best, rel=1e-9, abs=1e-6)


def best(network: Network, weights: np.ndarray, loss: np.ndarray | None = None) -> MPEResult | str:
    """The most probable world, or the error."""
    try:
        return mpe(network, weights, loss=loss)
    except InfeasibleError as error:
        return str(error)


@MANY
@given(tied_networks(forest=False, examples=3, others=6), st.integers(0, 99), st.sampled_from([0.3, 3.0, 400.0]))
def test_what_is_no_forest_over_tables_is_listed(network: Network, seed: int, size: float) -> None:
    weights, loss = weights_of(network, seed, size), np.random.default_rng(seed).normal(size=len(network.atoms))
    found, wanted = (best(each, weights, loss) for each in (network, network.listed()))
    if isinstance(found, str) or isinstance(wanted, str):
        assert found == wanted
        return
    assert found.report.objective == pytest.approx(wanted.report.objective, rel=1e-9, abs=1e-6)
    assert found.report.gap <= found.report.precision
    reached = score(network, weights, found.world) + loss[found.world].sum()
    assert reached == pytest.approx(wanted.report.objective, rel=1e-9, abs=1e-6)
    rows = network.listed().rows.rest
    assert not (violated_rows(rows, found.world) & network.hard[rows.clause]).any()


@pytest.mark.parametrize("others", [0, 4])
@MANY
@given(st.data(), st.integers(0, 99), st.sampled_from([0.3, 3.0, 400.0]))
def test_probabilities_are_those_of_the_listed_rows(others: int, data: st.DataObject, seed: int, size: float) -> None:
    network = data.draw(tied_networks(examples=2, others=others))
    weights = weights_of(network, seed, size)
    found, plain = (believed(each, weights) for each in (network, network.listed()))
    if isinstance(found, str) or isinstance(plain, str):
        assert found == plain
        return
    np.testing.assert_allclose(found.probability, plain.probability, rtol=1e-9, atol=1e-12)
    assert found.code.tolist() == plain.code.tolist()
    assert [(each.method, each.components, each.atoms) for each in found.choices] == [
        (each.method, each.components, each.atoms) for each in plain.choices
    ]


def believed(network: Network, weights: np.ndarray) -> MarginalResult | str:
    """Probabilities, or the error."""
    try:
        return marginals(network, weights)
    except InfeasibleError as error:
        return str(error)


def test_hard_clauses_on_an_edge_that_leave_no_world_are_named() -> None:
    pairs = ([-1, -3], [-1, -4], [-2, -3], [-2, -4])
    rows = GroundRows(np.full(4, 4), np.array(pairs).ravel(), np.full(4, 2), np.ones(4, np.int64))
    block, exact, none = np.array([0, 0, 1, 1]), np.ones(2, np.bool_), np.zeros(4, np.bool_)
    left, right, one = np.zeros(1, np.int64), np.ones(1, np.int64), np.ones(1, np.int64)
    table = TiedTable(np.arange(4).reshape(2, 2), (False, True), left, right, one)
    atoms = Atoms(np.arange(4), np.zeros(4, np.int64), np.zeros(4), block, exact, none, none)
    made = sample_network(4, [(4, x) for x in pairs], clauses=5, hard=[4], blocks=[([0, 1], True), ([2, 3], True)])
    network = replace(made, rows=tied_rows([rows, table], atoms, 5))
    weights = np.array([0.5, -1.0, 0.25, 2.0, 0.0])
    said = [found(each, weights) for each in (network, network.listed()) for found in (believed, best)]
    assert said[0] == said[1] == said[2] == said[3]
    assert "hard clauses cannot all hold" in str(said[0])


@pytest.mark.parametrize("others", [0, 4])
@MANY
@given(st.data(), st.integers(0, 99), st.sampled_from([0.3, 3.0, 400.0]), st.booleans())
def test_likelihoods_are_those_of_the_listed_rows(
    others: int, data: st.DataObject, seed: int, size: float, part: bool
) -> None:
    network = data.draw(tied_networks(examples=2, others=others))
    weights, truth = weights_of(network, seed, size), world_of(network, seed)
    found = []
    for each in (network, network.listed()):
        shelf = Shelf(None)
        one, reach = label_part(TrainingProblem(each, truth, Names()), "error", seed=0)
        assert others or isinstance(one, TiedPart) == isinstance(each.rows, TiedRows)
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
