"""Every iterative learner that ends before it has converged says so, in the same words, with numbers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import pytest

import sqlrl
from sqlrl.errors import ConvergenceWarning
from sqlrl.learn.soft.map_likelihood import most_probable
from sqlrl.learn.soft.sample_hinges import hinge_network

RULES = "Knows(person, person)\nOld(person)\nVotes(person)\nKnows(x, y) ^ Votes(x) => Votes(y)\nOld(x) => Votes(x)\nVotes(x)"
PEOPLE = [f"p{k}" for k in range(12)]
SOFT = "1: Knows(A, B) & Votes(A) -> Votes(B) ^2\n1: Old(A) -> Votes(A) ^2\n1: !Votes(A) ^2"


def ring() -> sqlrl.Database:
    db = sqlrl.connect()
    db.load("Knows", list(zip(PEOPLE, PEOPLE[1:] + PEOPLE[:1], strict=True)), types=["person", "person"])
    db.load("Old", [(p,) for p in PEOPLE[::3]], types=["person"])
    return db


def boolean(learner: Any) -> Any:
    db = ring()
    db.load("Votes", [(p,) for p in PEOPLE[:5]], types=["person"], target=True)
    return learner.fit(db, sqlrl.parse_mln(RULES))


def soft(learner: Any) -> Any:
    db = ring()
    values = [(p, (7 * k % 12) / 12) for k, p in enumerate(PEOPLE)]
    db.load("Votes", values, columns=[0], types=["person"], value=1, target=True)
    return learner.fit(db, sqlrl.parse_psl(SOFT))


SMALL: dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]] = {
    "Likelihood, l1": (boolean, lambda: sqlrl.Likelihood("l1", 0.1, max_iterations=1)),
    "Likelihood, l2": (boolean, lambda: sqlrl.Likelihood("l2", 0.1, max_iterations=1)),
    "MaxMargin, l2": (boolean, lambda: sqlrl.MaxMargin(strength=0.01, loss="zero-one", max_iterations=1)),
    "MaxMargin, l1": (boolean, lambda: sqlrl.MaxMargin(strength=0.01, loss="zero-one", penalty="l1", max_iterations=1)),
    "PSCG": (boolean, lambda: sqlrl.PSCG(2)),
    "PSCG, exact": (boolean, lambda: sqlrl.PSCG(1, tolerance=1e-12)),
    "VotedPerceptron": (boolean, lambda: sqlrl.baselines.VotedPerceptron(0.1, 3)),
    "PseudoLikelihood": (boolean, lambda: sqlrl.PseudoLikelihood(max_iterations=1)),
    "SoftMapLikelihood": (soft, sqlrl.SoftMapLikelihood),
    "SoftPseudoLikelihood": (soft, lambda: sqlrl.SoftPseudoLikelihood(strength=0.1, max_iterations=1)),
    "SoftPseudoLikelihood, steps": (soft, lambda: sqlrl.SoftPseudoLikelihood(strength=0.1, method="steps", steps=2)),
    "SoftPiecewiseLikelihood, steps": (
        soft,
        lambda: sqlrl.SoftPiecewiseLikelihood(strength=0.1, method="steps", steps=2),
    ),
}
"""Learners that are given too few iterations: how they are fitted, and what makes them."""

ENOUGH: dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]] = {
    "Likelihood, l1": (boolean, lambda: sqlrl.Likelihood("l1", 0.1)),
    "Likelihood, l2": (boolean, lambda: sqlrl.Likelihood("l2", 0.1)),
    "MaxMargin, l2": (boolean, lambda: sqlrl.MaxMargin(strength=0.01)),
    "PseudoLikelihood": (boolean, sqlrl.PseudoLikelihood),
    "SoftPseudoLikelihood": (soft, lambda: sqlrl.SoftPseudoLikelihood(strength=0.1)),
    "SoftPiecewiseLikelihood": (soft, lambda: sqlrl.SoftPiecewiseLikelihood(strength=0.1)),
}

SAID = re.compile(r"^(MaxMargin with strength=0\.01|\w+) ended after \d+ iterations? and has not converged: .*\d.*; .+")


def told(how: Callable[[Any], Any], learner: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        how(learner)
    return [str(each.message) for each in caught if issubclass(each.category, ConvergenceWarning)]


@pytest.mark.parametrize("name", SMALL)
def test_a_learner_that_ends_early_says_so_once_with_numbers(name: str) -> None:
    how, make = SMALL[name]
    learner = make()
    (text,) = told(how, learner)
    assert SAID.match(text), text
    assert text.startswith(type(learner).__name__)


@pytest.mark.parametrize("name", ENOUGH)
def test_a_learner_that_has_converged_says_nothing(name: str) -> None:
    how, make = ENOUGH[name]
    assert told(how, make()) == []


def test_all_learners_with_a_number_of_iterations_are_in_the_table() -> None:
    """A learner that is added with `max_iterations` belongs into `SMALL`."""
    names = {name.partition(",")[0] for name in SMALL}
    public = {name: getattr(place, name) for place in (sqlrl, sqlrl.baselines) for name in place.__all__}
    learners = {
        name
        for name, value in public.items()
        if isinstance(value, type) and hasattr(value, "fit") and "max_iterations" in signature(value).parameters
    }
    assert len(learners) > 5
    assert learners <= names


def test_the_objective_of_steps_along_the_most_probable_state_is_best_at_no_weights() -> None:
    """Why no rule for the length of its steps makes `SoftMapLikelihood` converge to something useful."""
    network = hinge_network([(0, {0: -1.0}, 1.0, 2), (1, {0: 1.0, 1: -1.0}, 0.0, 2), (2, {1: 1.0}, 0.0, 1)])
    labels = np.array([0.7, 0.4])
    for seed in range(20):
        weights = np.random.default_rng(seed).gamma(1.0, size=3)
        state = most_probable(network, weights, None)
        assert weights @ (network.incompatibility(state) - network.incompatibility(labels)) <= 1e-6


def test_steps_that_find_the_labels_most_probable_have_converged() -> None:
    network = hinge_network([(0, {0: -1.0}, 1.0, 2), (1, {0: 1.0}, 0.0, 2)])
    labels, learner = np.array([0.5]), sqlrl.SoftMapLikelihood(strength=0, max_iterations=3)
    assert learner.learn(network, labels, lambda *_: labels).converged
    assert not learner.learn(network, labels, lambda *_: np.array([0.9])).converged
