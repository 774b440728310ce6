"""Pseudo-likelihood against densities by numerical integration, numerical derivatives and scipy's optimiser."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import sqlrl.learn.soft.projected_newton as newton
from sqlrl.errors import InputError, UnboundedWeightError
from sqlrl.learn.soft.atom_hinges import atom_hinges
from sqlrl.learn.soft.projected_newton import maximise
from sqlrl.learn.soft.pseudo_likelihood import PenalisedPseudoLikelihood, SoftPseudoLikelihood
from sqlrl.learn.soft.sample_hinges import hinge_network
from sqlrl.training.records import Iteration
from tests.effort import draws
from tests.learn.soft.oracles import Floats, log_pseudo_likelihood, random_network, random_truth

seeds = st.integers(0, 10**6)


@settings(max_examples=draws(12))
@given(seeds, st.floats(-3, 5))
def test_value_and_derivatives(seed: int, power: float) -> None:
    network, truth = random_network(seed), random_truth(seed)
    weights = np.random.default_rng(seed).random(4) * 10.0**power
    function = PenalisedPseudoLikelihood(atom_hinges(network, truth), l2=0.7, l1=0.3)
    value, gradient = function(weights)

    def wanted(w: Floats) -> float:
        return log_pseudo_likelihood(network, w, truth) - 0.35 * float(w @ w) - 0.3 * w.sum()

    assert value == pytest.approx(wanted(weights), rel=1e-10)
    information = function.information(weights, np.arange(4))
    for r in range(4):
        # As far as the next digits of the value are those of the derivative.
        step = np.zeros(4)
        step[r] = 1e-4 * max(weights[r], 1e-3)
        up, down = weights + step, weights - step
        slope = (wanted(up) - wanted(down)) / (2 * step[r])
        assert gradient[r] == pytest.approx(slope, rel=1e-5, abs=1e-11 * abs(value) / step[r])
        bend = -(function(up)[1] - function(down)[1]) / (2 * step[r])
        assert information[r] == pytest.approx(bend, rel=1e-5, abs=1e-6 * information[r, r] + 1e-7)
    assert np.array_equal(function.information(weights, np.array([1, 3])), information[np.ix_([1, 3], [1, 3])])


def best(network: Any, truth: Floats, prior: float, l1: float) -> tuple[Floats, float]:
    """Weights of the most likely labels, by scipy without derivatives of ours."""

    def loss(w: Floats) -> float:
        w = np.maximum(w, 0)
        return -log_pseudo_likelihood(network, w, truth) + prior / 2 * float(w @ w) + l1 * float(w.sum())

    options = {"ftol": 1e-12, "gtol": 1e-6, "maxiter": 200, "maxfun": 10**5}
    m = len(network.hard)
    found = minimize(loss, np.full(m, 0.3), bounds=[(0, None)] * m, method="L-BFGS-B", options=options)
    return found.x, -float(found.fun)


@pytest.mark.parametrize(
    ("seed", "prior", "l1"),
    [
        pytest.param(0, 1.0, 0.0, marks=pytest.mark.slow),
        (3, 0.2, 0.4),
        pytest.param(2, 0.05, 0.0, marks=pytest.mark.slow),
    ],
)
def test_the_maximum_is_scipys(seed: int, prior: float, l1: float) -> None:
    network, truth = random_network(seed, hinges=20), random_truth(seed)
    found = SoftPseudoLikelihood(penalty="elastic", strength=[prior, l1], tolerance=1e-9).learn(network, truth)
    weights, value = best(network, truth, prior, l1)
    assert found.converged
    assert found.optimality <= 1e-9 * max(1.0, atom_hinges(network, truth).observed.max())
    assert found.objective >= value - 1e-9
    assert found.objective == pytest.approx(value, abs=1e-6)
    assert found.weights == pytest.approx(weights, abs=2e-3)
    assert (found.weights[found.gradient < -1e-6] == 0).all()
    assert log_pseudo_likelihood(network, found.weights, truth) - prior / 2 * found.weights @ found.weights - l1 * found.weights.sum() == pytest.approx(found.objective, abs=1e-10)  # fmt: skip


@pytest.mark.parametrize("per_rule", [True, False])
def test_steps_go_along_the_gradient(per_rule: bool) -> None:
    """Against numerical gradients of the oracle."""
    network, truth = random_network(8, rules=3, hinges=12), random_truth(8)
    learner = SoftPseudoLikelihood(method="steps", steps=4, learning_rate=0.3, strength=0.5, per_rule=per_rule)
    found = learner.learn(network, truth)
    ground = atom_hinges(network, truth).ground
    weights = np.zeros(3)
    for _ in range(4):
        slope = np.zeros(3)
        for r in range(3):
            h = 1e-5 * np.eye(3)[r]
            up, down = (
                log_pseudo_likelihood(network, weights + x, truth) - (weights + x) @ (weights + x) / 4 for x in (h, -h)
            )
            slope[r] = (up - down) / 2e-5
        weights = np.maximum(0.0, weights + 0.3 / (ground if per_rule else 1) * slope)
    assert found.weights == pytest.approx(weights, abs=1e-7)
    assert (found.iterations, found.converged) == (4, False)


def test_many_steps_end_where_the_maximum_is() -> None:
    network, truth = random_network(2, rules=5, hinges=25), random_truth(2)
    exact = SoftPseudoLikelihood().learn(network, truth)
    found = SoftPseudoLikelihood(method="steps", steps=6000, learning_rate=0.5).learn(network, truth)
    assert found.weights == pytest.approx(exact.weights, abs=1e-5)
    assert found.converged


@pytest.mark.parametrize("seed", range(2))
def test_any_start_leads_to_the_same_weights(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network, truth = random_network(seed, hinges=25), random_truth(seed)
    learner = SoftPseudoLikelihood(strength=0.01, tolerance=1e-10)
    cold = learner.learn(network, truth)
    for start in (np.full(4, 1e4), np.array([0.0, 5.0, 1e-9, 80.0])):
        assert learner.learn(network, truth, start=start).weights == pytest.approx(cold.weights, rel=1e-7, abs=1e-9)
    again = learner.learn(network, truth)
    assert again.weights.tobytes() == cold.weights.tobytes()
    # Many rules come near by quasi-Newton steps first.
    monkeypatch.setattr(newton, "MANY", 2)
    seen: list[Iteration] = []
    other = learner.learn(network, truth, report=seen.append)
    assert other.converged
    assert other.weights == pytest.approx(cold.weights, rel=1e-7, abs=1e-9)
    assert seen[0].optimality is None
    assert seen[-1].objective == other.objective


@pytest.mark.slow
@pytest.mark.parametrize("squared", [False, True])
def test_weights_that_labels_were_drawn_with_are_found_again(squared: bool) -> None:
    """5,000 atoms, each drawn given an evidence of its own by the inverse of its distribution function on a grid."""
    random = np.random.default_rng(11)
    evidence, weights = random.random((2, 5000)), np.array([6.0, 2.0, 0.5])
    listed = [(r, {i: -1.0}, float(evidence[r, i]), 1) for r in range(2) for i in range(5000)]
    listed += [(2, {i: 1.0}, 0.0, 1) for i in range(5000)]
    y = np.linspace(0, 1, 1001)[:, None]
    hinges = np.array([np.maximum(evidence[0] - y, 0), np.maximum(evidence[1] - y, 0), y + 0 * evidence[0]])
    energy = np.tensordot(weights, hinges**2 if squared else hinges, axes=1)
    share = np.cumsum(np.exp(-energy), axis=0)
    drawn = (share < random.random(5000) * share[-1]).sum(axis=0)
    network = hinge_network(listed, squared=range(3) if squared else ())
    found = SoftPseudoLikelihood(strength=1e-6).learn(network, y[drawn, 0])
    assert found.converged
    information = PenalisedPseudoLikelihood(atom_hinges(network, y[drawn, 0]), 0.0).information(
        found.weights, np.arange(3)
    )
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    assert (errors < 0.4).all()
    assert (np.abs(found.weights - weights) < 3.5 * errors).all()


def test_large_weights_are_found_where_labels_are_extreme() -> None:
    """One squared hinge 1 - y with the label 1 - d: without a prior the weight is near 1 / (2 d^2), where d^2 is the mean of a half of a bell."""
    for d in (1e-1, 1e-2, 1e-3):
        network = hinge_network([(0, {0: -1.0}, 1.0, 1)], squared=[0])
        found = SoftPseudoLikelihood(strength=0, tolerance=1e-14, max_iterations=500).learn(network, np.array([1 - d]))
        assert found.weights[0] == pytest.approx(1 / (2 * d * d), rel=1e-6)


def test_a_prior_is_per_rule_and_ground_rules_sum() -> None:
    """As one atom with a multiplicity, so several atoms with the same label: a weight for one, and the sum for all."""
    one = hinge_network([(0, {0: -1.0}, 1.0, 1)])
    many = hinge_network([(0, {i: -1.0}, 1.0, 1) for i in range(10)])
    truth = np.array([0.9])
    found = SoftPseudoLikelihood(strength=0.1, tolerance=1e-12).learn(one, truth)
    wide = SoftPseudoLikelihood(strength=1.0, tolerance=1e-12).learn(many, np.repeat(truth, 10))
    assert found.weights == pytest.approx(wide.weights, rel=1e-9)
    assert wide.objective == pytest.approx(10 * found.objective)


def test_rules_that_hold_for_no_labelled_atom_have_no_weight() -> None:
    network = hinge_network([(0, {0: -1.0}, 1.0, 1), (2, {1: 1.0}, 0.0, 1), (3, {0: 1.0}, -0.5, 1)], rules=5, hard=[3])
    found = SoftPseudoLikelihood().learn(network, np.array([0.4, np.nan]), start=np.full(5, 3.0))
    assert found.weights[1:].tolist() == [0.0] * 4
    assert (found.labelled, found.converged) == (1, True)


def test_atoms_that_hard_rules_decide_are_counted() -> None:
    listed = [(0, {i: -1.0}, 1.0, 1) for i in range(4)]
    hard = [(1, {0: 1.0}, -0.5, 1), (1, {1: 1.0}, 0.0, 1)]
    found = SoftPseudoLikelihood().learn(hinge_network(listed + hard, hard=[1]), np.array([0.9, 0.0, 0.9, 0.8]))
    assert (found.labelled, found.outside, found.narrow) == (4, 1, 1)
    wanted = SoftPseudoLikelihood().learn(
        hinge_network(listed[2:], atoms=4, rules=2), np.array([np.nan, np.nan, 0.9, 0.8])
    )
    assert found.weights.tolist() == wanted.weights.tolist()


def test_what_nothing_bounds_is_refused_by_number() -> None:
    """Rules 1 and 3 are never violated; rule 2 is as little as can be; rule 4 loses; rule 5 is sometimes violated."""
    listed = [
        (0, {0: 1.0}, 0.5, 1),
        (1, {0: 1.0}, 0.0, 1),
        (2, {1: -1.0}, 1.5, 2),
        (3, {0: 1.0, 1: -1.0}, 1.0, 1),
        (4, {1: 1.0}, 0.0, 1),
        (5, {0: 1.0}, 0.0, 1),
        (5, {1: 1.0}, -0.9, 1),
    ]
    network, truth = hinge_network(listed, hard=[]), np.array([0.0, 1.0])
    with pytest.raises(
        UnboundedWeightError, match=r"never violate rule 0, rule 1, rule 2, rule 3, so that their"
    ) as error:
        SoftPseudoLikelihood(strength=0).learn(network, truth)
    assert error.value.rules == (0, 1, 2, 3)
    assert SoftPseudoLikelihood(strength=1e-6).learn(network, truth).converged
    assert SoftPseudoLikelihood(penalty="l1", strength=1e-3).learn(network, truth).converged


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strength": -1.0}, "strength=-1.0 is not a finite number of at least 0"),
        ({"strength": float("nan")}, "strength=nan"),
        ({"penalty": "elastic", "strength": [1.0, -0.5]}, "strength=-0.5"),
        ({"penalty": "l1", "strength": float("inf")}, "strength=inf"),
        ({"tolerance": 0.0}, "tolerance=0.0 is not a finite number above 0"),
        ({"max_iterations": 0}, "max_iterations=0"),
        ({"unlabelled": "skip"}, "unlabelled='skip': choose 'error' or 'zero'"),
    ],
)
def test_parameters_are_checked(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SoftPseudoLikelihood(**parameters)


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_weights_to_start_from_are_checked(wrong: float) -> None:
    network = hinge_network([(0, {0: 1.0}, 0.0, 1), (1, {0: 1.0}, 0.0, 1)])
    with pytest.raises(InputError, match="the weight of rule 1 to start from is"):
        SoftPseudoLikelihood().learn(network, np.array([1.0]), start=np.array([1.0, wrong]))
    hard = replace(network, hard=np.array([False, True]), constants=np.array([0.0, -0.5]))
    assert SoftPseudoLikelihood().learn(hard, np.array([0.0]), start=np.array([1.0, wrong])).converged
    with pytest.raises(InputError, match=r"there are \(1,\) weights to start from for 2 rules"):
        SoftPseudoLikelihood().learn(network, np.array([1.0]), start=np.ones(1))


# ---- Newton's method by itself -----------------------------------------------------------------------


class Quadratic:
    """-x'Ax / 2 + b'x."""

    def __init__(self, matrix: Floats, linear: Floats) -> None:
        self.matrix, self.linear = matrix, linear

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        return float(self.linear @ x - x @ self.matrix @ x / 2), self.linear - self.matrix @ x

    def information(self, x: Floats, free: Any) -> Floats:
        return self.matrix[np.ix_(free, free)]


@pytest.mark.parametrize("seed", range(8))
def test_a_quadratic_has_its_maximum_by_nonnegative_least_squares(seed: int) -> None:
    from scipy.optimize import nnls

    random = np.random.default_rng(seed)
    root = random.normal(size=(12, 8)) * 10.0 ** random.uniform(-3, 3, 8)
    target = random.normal(size=12)
    found = maximise(
        Quadratic(root.T @ root, root.T @ target), np.ones(8), allowed=1e-9 * np.diag(root.T @ root) ** 0.5, max_iterations=300
    )  # fmt: skip
    assert found.converged
    assert found.point == pytest.approx(nnls(root, target)[0], rel=1e-6, abs=1e-9 / np.abs(root).max())


def test_rules_that_say_the_same_do_not_stop_it() -> None:
    """A singular matrix: any weights with the same sum are best."""
    found = maximise(Quadratic(np.ones((3, 3)), np.ones(3)), np.zeros(3), allowed=np.full(3, 1e-10), max_iterations=50)
    assert found.converged
    assert found.point.sum() == pytest.approx(1.0)
