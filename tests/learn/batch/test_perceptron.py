"""The voted perceptron against the same rule over listed worlds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

import sqlrl
from sqlrl.errors import InfeasibleError, InfeasibleTruthWarning, InputError
from sqlrl.learn.batch.perceptron import HowWorlds, VotedPerceptron, true_groundings
from sqlrl.learn.batch.problem import TrainingProblem as Training
from sqlrl.learn.settings import TIE
from sqlrl.solve.sample_networks import network
from sqlrl.training.labels import Names
from sqlrl.training.records import Iteration
from tests.learn.batch.enumerated import COUPLED, LABELS, counts_of, fixed_of, random_problem, training
from tests.solve.networks import Problem, World, holds, worlds

Floats = npt.NDArray[np.float64]


def open_and_true(problem: Problem, truth: World) -> Floats:
    """The true groundings of each clause that no evidence decided, one ground clause after the other."""
    found = np.zeros(len(problem.weights))
    for i, literals, times in problem.ground:
        if holds(literals, truth) != (i in problem.negated):
            found[i] += times
    return found


def by_listing(problem: Problem, truth: World, learner: VotedPerceptron) -> tuple[Floats, Floats, list[int], float]:
    """Last weights, their average, wrong atoms of each iteration, and by how little a best world was the best."""
    every = list(worlds(problem))
    wrong = [sum(a != b for a, b in zip(truth, world, strict=True)) for world in every]
    observed = counts_of(problem, truth)
    scale = np.maximum(open_and_true(problem, truth), 1.0) if learner.per_clause else np.ones(len(observed))
    weights, total, errors, narrowest = np.zeros(len(observed)), np.zeros(len(observed)), [], float("inf")
    for _ in range(learner.max_iterations):
        scores = [float(counts_of(problem, world) @ weights) + fixed_of(problem, world) for world in every]
        order = sorted(range(len(every)), key=lambda k: scores[k] + TIE * wrong[k], reverse=True)
        if len(every) > 1:
            narrowest = min(narrowest, scores[order[0]] - scores[order[1]])
        errors.append(wrong[order[0]])
        gradient = (observed - counts_of(problem, every[order[0]])) / scale - learner.strength * weights
        weights = weights + learner.learning_rate * gradient
        total = total + weights
    return weights, total / learner.max_iterations, errors, narrowest


@pytest.mark.parametrize("per_clause", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_weights_are_those_of_the_rule(seed: int, per_clause: bool) -> None:
    problem, truth = random_problem(seed, longest=3)
    # Soft evidence with random digits, so that no two worlds have the same score.
    prior = np.random.default_rng(seed).normal(0, 0.5, problem.atoms).tolist()
    problem = Problem(**{**vars(problem), "prior": prior})
    kinds: list[dict[str, object]] = [{"average": True}, {"average": False, "strength": 0.0}]
    for kind in kinds:
        seen: list[Iteration] = []
        learner = VotedPerceptron(0.3, 8, per_clause=per_clause, **kind)  # type: ignore[arg-type]
        weights = learner._learn(training(problem, truth), seen.append)
        last, average, errors, narrowest = by_listing(problem, truth, learner)
        assert narrowest > 1e-6
        assert np.allclose(weights, average if learner.average else last, rtol=0, atol=1e-9)
        assert [each.errors for each in seen] == errors
        assert weights[problem.hard].tolist() == [0.0] * len(problem.hard)


def test_ties_count_as_errors_or_as_the_solver_has_them() -> None:
    two = training(Problem(2, [(0, [1], 1), (1, [-2], 1)], [0.0, 0.0]), (False, False))
    seen: list[Iteration] = []
    VotedPerceptron(1.0, 1)._learn(two, seen.append)
    VotedPerceptron(1.0, 1, ties="first")._learn(two, seen.append)
    assert [each.errors for each in seen] == [2, 0]


@pytest.mark.parametrize(
    ("name", "inference", "iterations"),
    [
        ("blocks", "exact", 20),
        ("blocks", "relaxed", 20),
        ("hard", "exact", 20),
        ("hard", "relaxed", 20),
        ("hard", "walksat", 2),
    ],
)
def test_every_inference_learns_from_the_labels(name: str, inference: HowWorlds, iterations: int) -> None:
    problem, truth = COUPLED[name], LABELS[name]
    seen: list[Iteration] = []
    learner = VotedPerceptron(0.1, iterations, inference=inference, strength=0.0, random_state=2)
    one = learner._learn(training(problem, truth), seen.append)
    assert min(each.errors or 0 for each in seen) < (seen[0].errors or 0)
    assert one.tobytes() == learner._learn(training(problem, truth), seen.append).tobytes()
    assert seen[:iterations] == seen[iterations:]


def test_helper_atoms_are_no_errors_and_break_no_ties() -> None:
    net = replace(network(2, [(0, [1, 2]), (1, [1])], hard=[0]), helper=np.array([False, True]))
    seen: list[Iteration] = []
    VotedPerceptron(1.0, 1)._learn(Training(net, np.array([True, False]), Names()), seen.append)
    assert seen[0].errors == 1  # the first atom is false, the helper true


def test_true_groundings_are_open_ones() -> None:
    problem = Problem(
        2, [(0, [1, -2], 3), (1, [1], 2), (1, [-2], 1)], [0.0] * 2, negated=[1], evidence=[(0, 9, 4), (1, 8, 5)]
    )
    for world in worlds(problem):
        net = problem.network()
        counts = counts_of(problem, world) - net.base.astype(np.float64)
        assert true_groundings(net, counts).tolist() == open_and_true(problem, world).tolist()


def test_a_conflict_names_its_clauses() -> None:
    never = Training(network(1, [(0, [1]), (1, [-1])], hard=[0, 1]), np.array([True]), Names("rule {}".format))
    with pytest.raises(InfeasibleError, match="rule 1"):
        VotedPerceptron()._learn(never, lambda each: None)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate=0.0 is not a finite number above 0: without it nothing is learned"),
        ({"max_iterations": 0}, "max_iterations=0"),
        ({"per_clause": 1}, "per_clause=1: give True or False"),
        ({"average": "no"}, "average='no'"),
        ({"strength": -1.0}, "strength=-1.0"),
        ({"inference": "lp"}, "inference='lp': choose 'exact', 'relaxed' or 'walksat'"),
        ({"ties": "last"}, "ties='last': choose 'errors' or 'first'"),
    ],
)
def test_parameters_out_of_range(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        VotedPerceptron(**wrong)._check()  # type: ignore[arg-type]


def test_fit_keeps_iterations() -> None:
    db = sqlrl.connect()
    db.load("Word", [("d1", "good"), ("d2", "bad"), ("d3", "good")], types=["doc", "word"])
    db.load("Liked", [("d1",), ("d3",)], types=["doc"], target=True)
    fit = VotedPerceptron(max_iterations=5).fit(
        db, sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)")
    )
    assert fit.iterations_.column("errors").to_pylist() == [3, 0, 0, 0, 0]
    assert fit.iterations_.column("damping").null_count == 5
    # Two groundings of "good", none of them true in the first world: 2 / 2 * 0.001, then only the prior.
    weight = {row["clause"]: row["weight"] for row in fit.clauses().to_pylist()}
    assert weight['Word(d, "good") => Liked(d)'] == pytest.approx(0.001, rel=1e-3)
    assert weight['Word(d, "bad") => Liked(d)'] == pytest.approx(-0.001, rel=1e-3)


@pytest.mark.slow
def test_examples_that_are_skipped_are_as_if_they_were_not_there() -> None:
    names = [f"d{i:02}" for i in range(24)]
    rules = "Word(d, +w) => !Liked(d)\nLong(d) <=> Liked(d)\nWord(d, w) ^ Liked(d)\nSpam(d) => !Liked(d)."
    model = sqlrl.parse_mln("Word(doc, word)\nSpam(doc)\nLong(doc)\nLiked(doc)\n" + rules)

    db = sqlrl.connect()
    db.load("Word", [(d, "good") for d in names], types=["doc", "word"], example="doc")
    db.load("Spam", [(d,) for d in names[4:]], types=["doc"])
    db.load("Long", [(d,) for d in names[::3]], types=["doc"])
    db.load("Liked", [(d,) for d in names[1:]], types=["doc"], target=True)

    def fit(learner: VotedPerceptron, examples: list[str] | None = None) -> dict[str, float]:
        found = learner.fit(db, model, examples=examples).clauses().to_pylist()
        return {row["clause"]: row["weight"] for row in found}

    for per_clause in (True, False):
        with pytest.warns(InfeasibleTruthWarning, match="20 examples"):
            skipped = fit(VotedPerceptron(0.1, 5, per_clause=per_clause, on_infeasible_truth="skip"))
        # The divisor of a clause is a count, which the examples that are left out must not raise.
        assert skipped == fit(VotedPerceptron(0.1, 5, per_clause=per_clause), names[:4])
