"""Steps along the hinges of most probable states, with states in closed form or by scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sqlrl.errors import InputError, NumericError
from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.learn.soft.map_likelihood import SoftMapLikelihood
from sqlrl.learn.soft.sample_hinges import hinge_network
from sqlrl.training.records import Iteration
from tests.learn.soft.oracles import Floats, random_network, random_truth


def balance(network: HingeNetwork, weights: Floats, warm: Floats | None) -> Floats:
    """Of rules (1 - y)^2 and y^2 the best truth is w0 / (w0 + w1)."""
    return np.full(len(network.atoms), weights[0] / (weights[0] + weights[1]))


def tug(atoms: int) -> HingeNetwork:
    listed = [(0, {i: -1.0}, 1.0, 1) for i in range(atoms)] + [(1, {i: 1.0}, 0.0, 1) for i in range(atoms)]
    return hinge_network(listed, squared=[0, 1])


@pytest.mark.parametrize("label", [0.2, 0.5, 0.7])
@pytest.mark.parametrize("atoms", [1, 50])
def test_the_most_probable_state_becomes_the_labels(label: float, atoms: int) -> None:
    """Without penalties the gradient is 0 where it is, and steps divided by ground rules do not depend on how many there are."""
    found = SoftMapLikelihood(strength=0, max_iterations=2000, average=False).learn(
        tug(atoms), np.full(atoms, label), balance
    )
    assert found.weights[0] / found.weights.sum() == pytest.approx(label, abs=1e-6)
    assert np.abs(found.gradient).max() < 1e-4
    assert found.weights == pytest.approx(SoftMapLikelihood(strength=0, max_iterations=2000, average=False).learn(tug(1), np.full(1, label), balance).weights)  # fmt: skip


def test_iterations_are_those_of_the_algorithm() -> None:
    """Written out for a network at random, with all penalties, the mean of the weights, and states that depend on weights and the last one."""
    network, truth = random_network(5, rules=4, hinges=20), random_truth(5)
    warms: list[Floats | None] = []

    def solve(network: HingeNetwork, weights: Floats, warm: Floats | None) -> Floats:
        warms.append(warm)
        pushed = np.cos(np.arange(20).reshape(5, 4) @ weights) / 2 + 0.5
        return pushed if warm is None else (pushed + warm) / 2

    seen: list[Iteration] = []
    start = np.array([0.3, 1.0, 2.0, 0.01])
    learner = SoftMapLikelihood(learning_rate=0.7, max_iterations=5, penalty="elastic", strength=[0.2, 0.1])
    found = learner.learn(network, truth, solve, start=start, report=seen.append)
    kept = list(warms)
    ground = np.array([network.multiplicity[network.rule == r].sum() for r in range(4)])
    weights, state, total = start, None, np.zeros(4)
    for _ in range(5):
        state = solve(network, weights, state)
        gradient = network.incompatibility(state) - network.incompatibility(truth) - 0.2 * weights - 0.1
        weights = np.maximum(0, weights + 0.7 * gradient / ground)
        total = total + weights
    assert found.weights == pytest.approx(total / 5, rel=1e-12)
    assert found.gradient == pytest.approx(gradient, rel=1e-12)
    assert [each.iteration for each in seen] == [1, 2, 3, 4, 5]
    assert kept[0] is None
    assert all(warm is not None for warm in kept[1:])
    assert not found.converged
    assert np.isnan(found.objective)


def test_a_weight_never_falls_below_0() -> None:
    """Its label is 0, so the rule that says 1 loses all."""
    network = hinge_network([(0, {0: -1.0}, 1.0, 1), (1, {0: 1.0}, 0.0, 1)])
    found = SoftMapLikelihood(learning_rate=5.0, strength=0, average=False).learn(
        network, np.zeros(1), lambda n, w, y: np.array([float(w[0] >= w[1])])
    )
    assert found.weights.tolist() == [0.0, 6.0]


def test_hard_rules_and_rules_without_hinges_get_no_weight() -> None:
    network = hinge_network([(0, {0: -1.0}, 1.0, 1), (1, {0: 1.0}, -0.5, 1)], rules=3, hard=[1])
    found = SoftMapLikelihood(max_iterations=3).learn(network, np.array([0.4]), lambda n, w, y: np.array([0.5]))
    assert found.weights[1:].tolist() == [0.0, 0.0]
    assert found.weights[0] > 0


@pytest.mark.parametrize(
    ("state", "kind", "message"),
    [
        (np.array([0.5]), InputError, r"inference returned \(1,\) truths for 2 atoms"),
        (np.array([0.5, np.nan]), NumericError, "the truth nan of atom 1"),
        (np.array([1.1, 0.0]), NumericError, r"the truth 1\.1 of atom 0"),
    ],
)
def test_what_is_no_state_is_refused(state: Floats, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        SoftMapLikelihood().learn(tug(2), np.zeros(2), lambda n, w, y: state)


def test_rounded_states_are_states() -> None:
    found = SoftMapLikelihood(max_iterations=1, strength=0, average=False).learn(
        tug(1), np.ones(1), lambda n, w, y: np.array([-1e-9])
    )
    assert found.weights == pytest.approx([1.2, 0.8])


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ([np.nan, np.nan], "none of 2 query atoms has a label"),
        ([0.5, 2.0], "the label of atom 1 is 2"),
        ([0.5, np.nan], "1 hinge joins atoms with a label and atoms without one"),
    ],
)
def test_labels_are_checked(truth: list[float], message: str) -> None:
    network = hinge_network([(0, {0: 1.0, 1: -1.0}, 0.0, 1)])
    with pytest.raises(InputError, match=message):
        SoftMapLikelihood().learn(network, np.array(truth), lambda n, w, y: np.zeros(2))


@pytest.mark.parametrize(
    "parameters",
    [{"learning_rate": -1.0}, {"max_iterations": 0}, {"strength": -1}, {"average": "yes"}, {"strength": np.nan}],
)
def test_parameters_are_checked(parameters: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(parameters))}="):
        SoftMapLikelihood(**parameters)
