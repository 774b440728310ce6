"""Piecewise pseudo-likelihood: each rule's weight against a search of its own over densities by numerical integration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from sqlrl.errors import InputError, UnboundedWeightError
from sqlrl.learn.soft.atom_hinges import atom_hinges
from sqlrl.learn.soft.piecewise import SoftPiecewiseLikelihood
from sqlrl.learn.soft.pseudo_likelihood import SoftPseudoLikelihood
from sqlrl.learn.soft.sample_hinges import hinge_network
from sqlrl.training.records import Iteration
from tests.learn.soft.oracles import Floats, log_pseudo_likelihood, only, random_network, random_truth


def score(network: Any, truth: Floats, rule: int, w: float, prior: float, l1: float) -> float:
    """What is maximised for a rule."""
    weights = np.zeros(len(network.hard))
    weights[rule] = w
    return log_pseudo_likelihood(only(network, rule), weights, truth) - prior / 2 * w * w - l1 * w


@pytest.mark.parametrize(
    ("seed", "prior", "l1"), [(1, 1e-3, 0.0), pytest.param(2, 0.0, 0.4, marks=pytest.mark.slow), (3, 0.3, 0.3)]
)
def test_each_weight_is_that_of_a_search(seed: int, prior: float, l1: float) -> None:
    network, truth = random_network(seed, rules=6, hinges=30), random_truth(seed)
    found = SoftPiecewiseLikelihood(penalty="elastic", strength=[prior, l1]).learn(network, truth)
    assert found.converged
    assert found.optimality <= 1e-8
    total = 0.0
    for rule in range(6):
        w = found.weights[rule]
        here = score(network, truth, rule, w, prior, l1)
        total += here
        step = 1e-4 * max(w, 1.0)
        right = (score(network, truth, rule, w + step, prior, l1) - here) / step
        if w == 0:
            assert right <= 1e-4
            continue
        left = (here - score(network, truth, rule, w - min(step, w), prior, l1)) / min(step, w)
        assert left > -1e-6
        assert right < 1e-6
        # A concave function has no other maximum.
        searched = minimize_scalar(
            lambda w, rule=rule: -score(network, truth, rule, w, prior, l1), bounds=(0, 4 * w), method="bounded", options={"xatol": 1e-4 * w}
        )  # fmt: skip
        assert w == pytest.approx(searched.x, rel=1e-3)
    assert found.objective == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_each_weight_is_that_of_the_rule_alone(seed: int) -> None:
    """The pseudo-likelihood of a model with one rule, by another method."""
    network, truth = random_network(seed, rules=5, hinges=25), random_truth(seed)
    found = SoftPiecewiseLikelihood(strength=0.05).learn(network, truth)
    for rule in range(5):
        alone = SoftPseudoLikelihood(strength=0.05, tolerance=1e-11).learn(only(network, rule), truth)
        assert found.weights[rule] == pytest.approx(alone.weights[rule], rel=1e-6, abs=1e-9)


def test_a_rule_that_labels_speak_against_has_exactly_0() -> None:
    """Rule r says that 8 atoms are 1, of whose labels r are: at 0 the gradient is 8 * .5 - (8 - r), so from the fifth on it is above 0."""
    listed = [(r, {8 * r + i: -1.0}, 1.0, 1) for r in range(9) for i in range(8)]
    truth = np.array([float(i < r) for r in range(9) for i in range(8)])
    network = hinge_network(listed)
    weights = SoftPiecewiseLikelihood().learn(network, truth).weights
    assert weights[:5].tolist() == [0.0] * 5
    assert (np.diff(weights[4:]) > 0).all()
    lasso = SoftPiecewiseLikelihood(penalty="l1", strength=2.0).learn(network, truth).weights
    assert lasso[:7].tolist() == [0.0] * 7
    assert (lasso[7:] > 0).all()


def test_weights_are_right_over_twelve_powers_of_ten() -> None:
    """A squared hinge of the label d, whose best weight without a prior is about 1 / (2 d^2), and the gradient is below the tolerance."""
    sizes = 10.0 ** -np.arange(0.0, 6.5, 0.5)
    listed = [(r, {r: 1.0}, 0.0, 1) for r in range(len(sizes))]
    network = hinge_network(listed, squared=range(len(sizes)))
    found = SoftPiecewiseLikelihood(strength=0, tolerance=1e-15).learn(network, sizes)
    assert found.weights[0] == 0
    assert found.weights[3:] == pytest.approx(1 / (2 * sizes[3:] ** 2), rel=1e-3)
    assert (np.abs(found.gradient[3:]) < 1e-15).all()


def test_the_best_weights_do_not_depend_on_a_start_and_rounds_are_few() -> None:
    network, truth = random_network(3, rules=20, hinges=200, atoms=12), random_truth(3, 12)
    seen: list[Iteration] = []
    cold = SoftPiecewiseLikelihood(strength=0.01).learn(network, truth, report=seen.append)
    assert cold.weights.any()
    assert 0 < len(seen) == cold.iterations <= 12
    warm = SoftPiecewiseLikelihood(strength=0.01).learn(network, truth, start=cold.weights * 1.5)
    assert warm.weights == pytest.approx(cold.weights, rel=1e-6, abs=1e-9)
    again = SoftPiecewiseLikelihood(strength=0.01).learn(network, truth)
    assert again.weights.tobytes() == cold.weights.tobytes()


@pytest.mark.parametrize("per_rule", [True, False])
def test_steps_are_those_of_the_algorithm(per_rule: bool) -> None:
    """Algorithm 2 with the right sign, written out with numerical gradients."""
    network, truth = random_network(8, rules=3, hinges=12), random_truth(8)
    learner = SoftPiecewiseLikelihood(method="steps", steps=4, learning_rate=0.3, strength=0.5, per_rule=per_rule)
    found = learner.learn(network, truth)
    alone = [only(network, r) for r in range(3)]
    ground = [each.multiplicity @ np.diff(each.pointer) for each in alone]
    weights = np.zeros(3)
    for _ in range(4):
        for r in range(3):
            w, h = weights[r], 1e-5
            up, down = (score(network, truth, r, w + x, 0.5, 0.0) for x in (h, -h))
            weights[r] = max(0.0, w + 0.3 / (ground[r] if per_rule else 1) * (up - down) / (2 * h))
    assert found.weights == pytest.approx(weights, abs=1e-7)
    assert found.iterations == 4
    assert not found.converged


def test_many_steps_end_where_the_maximum_is() -> None:
    network, truth = random_network(2, rules=5, hinges=25), random_truth(2)
    exact = SoftPiecewiseLikelihood().learn(network, truth)
    found = SoftPiecewiseLikelihood(method="steps", steps=6000, learning_rate=0.5).learn(network, truth)
    assert found.weights == pytest.approx(exact.weights, abs=1e-7)
    assert found.converged


def test_a_rule_that_is_never_violated_is_refused_by_number() -> None:
    listed = [
        (0, {0: -1.0}, 1.0, 1),
        (1, {0: 1.0}, 0.0, 1),
        (2, {1: 1.0}, 0.0, 1),
        (2, {0: -1.0}, 1.0, 3),
        (3, {1: -1.0}, 1.0, 1),
    ]
    network, truth = hinge_network(listed, squared=[2]), np.array([1.0, 0.0])
    with pytest.raises(
        UnboundedWeightError, match=r"never violate rule 0, rule 2, so that their weights would be infinite"
    ) as error:
        SoftPiecewiseLikelihood(strength=0).learn(network, truth)
    assert error.value.rules == (0, 2)
    for penalty in ({"strength": 1e-4}, {"penalty": "l1", "strength": 1e-4}):
        found = SoftPiecewiseLikelihood(**penalty).learn(network, truth)
        assert found.converged
        assert np.flatnonzero(found.weights).tolist() == [0, 2]


def test_hard_rules_bound_each_truth() -> None:
    """y in [0, .5] and exp(-w y) with the label .1: as y in [0, 1] and exp(-w y / 2) with .2."""
    half = hinge_network([(0, {0: 1.0}, 0.0, 1), (1, {0: 1.0}, -0.5, 1)], hard=[1])
    whole = hinge_network([(0, {0: 0.5}, 0.0, 1)])
    found = SoftPiecewiseLikelihood().learn(half, np.array([0.1]))
    wanted = SoftPiecewiseLikelihood().learn(whole, np.array([0.2]))
    assert found.weights[0] == pytest.approx(wanted.weights[0], rel=1e-12)
    assert found.objective == pytest.approx(wanted.objective + np.log(2))


def test_equal_rows_are_integrated_once() -> None:
    """1,000 atoms in 3 kinds of rows for each of 5 rules."""
    random = np.random.default_rng(0)
    times = random.integers(1, 4, (5, 1000))
    listed = [(r, {i: -1.0}, 1.0, int(times[r, i])) for r in range(5) for i in range(1000)]
    network, truth = hinge_network(listed), (random.random(1000) < 0.8).astype(float)
    hinges = atom_hinges(network, truth, piecewise=True)
    assert len(hinges.count) == 15
    found = SoftPiecewiseLikelihood().learn_hinges(hinges)
    assert found.weights.tolist() == SoftPiecewiseLikelihood().learn(network, truth).weights.tolist()
    for r in range(5):
        observed = times[r] @ (1 - truth)
        w = found.weights[r]
        expected = sum((1 / (w * t) - 1 / np.expm1(w * t)) * t * np.sum(times[r] == t) for t in (1, 2, 3))
        assert expected - observed - w == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strength": -1e-9}, "strength="),
        ({"penalty": "l1", "strength": float("nan")}, "strength=nan"),
        ({"method": "newton"}, "method='newton': choose 'exact' or 'steps'"),
        ({"steps": 0}, "steps=0"),
        ({"learning_rate": 0.0}, "learning_rate=0.0"),
        ({"per_rule": 1}, "per_rule=1: give True or False"),
    ],
)
def test_parameters_are_checked(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SoftPiecewiseLikelihood(**parameters)
