"""The likelihood of labels that clauses join: against all worlds, against differences, and against what elimination need not reach."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy import optimize, special

import sqlrl
from sqlrl.errors import InputError, NumericError, UnsupportedError
from sqlrl.ground.network import FloatArray
from sqlrl.learn.batch.choice_design import Choices
from sqlrl.learn.batch.conditionals import conditionals
from sqlrl.learn.batch.expectation import SampledSource
from sqlrl.learn.batch.joint import JointLikelihood
from sqlrl.learn.batch.labelled import label_part, observations, with_loss
from sqlrl.learn.batch.penalised import fit_weights, make_design
from sqlrl.learn.batch.problem import TrainingProblem
from sqlrl.solve.conflict import ConflictingClausesError
from sqlrl.solve.log_linear import log_linear, reach
from sqlrl.solve.sample_networks import chains, network
from sqlrl.training.labels import Names
from sqlrl.training.shelf import InMemory, OnDisk, Shelf
from tests.effort import draws
from tests.learn.batch.enumerated import COUPLED, LABELS, counts_of, fixed_of, training
from tests.solve import networks
from tests.solve.networks import World, holds, problems

MANY = settings(max_examples=draws(400), deadline=None, suppress_health_check=list(HealthCheck))


def feasible_worlds(problem: networks.Problem, truth: World) -> list[World]:
    """Worlds in which all ground hard clauses hold that the labels do not violate; a block is the clauses that it stands for."""
    clauses = [literals for _, literals in problem.hard_ground()]
    for members, exact in problem.blocks:
        clauses += [[-a - 1, -b - 1] for a, b in itertools.combinations(members, 2)]
        clauses += [[a + 1 for a in members]] if exact else []
    kept = [literals for literals in clauses if holds(literals, truth)]
    return list(networks.worlds(replace(problem, blocks=[]), [(0, each) for each in kept]))


def satisfiable(problem: networks.Problem) -> bool:
    return next(networks.worlds(problem), None) is not None


def observed(problem: networks.Problem, truth: World, *, loss: bool = False) -> Choices | JointLikelihood:
    """All of the labels, whether elimination or a closed form says how likely they are."""
    shelf, given = Shelf(None), training(problem, truth)
    shelf.put(label_part(with_loss(given) if loss else given, "error", seed=0)[0])
    return observations(shelf, len(problem.weights))


@st.composite
def labelled(draw: st.DrawFn) -> tuple[networks.Problem, World]:
    """A problem with labels, which may violate hard clauses and blocks."""
    problem = draw(problems(hardness=2))
    return problem, tuple(draw(st.lists(st.booleans(), min_size=problem.atoms, max_size=problem.atoms)))


@pytest.mark.slow
@MANY
@given(labelled(), st.booleans())
def test_value_and_gradient_are_those_of_all_worlds(case: tuple[networks.Problem, World], loss: bool) -> None:
    problem, truth = case
    assume(satisfiable(problem))
    worlds = feasible_worlds(problem, truth)
    counts = np.array([counts_of(problem, world) for world in worlds]).reshape(len(worlds), len(problem.weights))
    weights = np.where(np.isin(np.arange(len(problem.weights)), problem.hard), 0.0, problem.weights)
    score = counts @ weights + [fixed_of(problem, world) for world in worlds]
    if loss:
        score = score + [sum(a != b for a, b in zip(world, truth, strict=True)) for world in worlds]
    own = worlds.index(truth)
    expected = counts[own] - special.softmax(score) @ counts
    size = 1.0 + np.abs(score).max()
    if len(worlds) == 1:
        with suppress(InputError):  # what units fix is nothing to learn from; of others the one world is certain
            assert observed(problem, truth, loss=loss).value_and_gradient(weights)[0] == pytest.approx(0.0, abs=1e-9)
        return
    found = observed(problem, truth, loss=loss)
    value, gradient = found.value_and_gradient(weights)
    assert value == pytest.approx(score[own] - special.logsumexp(score), abs=1e-9 * size)
    assert gradient == pytest.approx(expected, abs=1e-9 * size)
    assert found.log_likelihood(weights).sum() == pytest.approx(value, abs=1e-9 * size)


@settings(max_examples=draws(50), deadline=None, suppress_health_check=list(HealthCheck))
@given(labelled(), st.integers(0, 2**32 - 1))
def test_the_gradient_is_the_slope_of_the_value(case: tuple[networks.Problem, World], seed: int) -> None:
    problem, truth = case
    assume(satisfiable(problem) and len(feasible_worlds(problem, truth)) > 1)
    found = observed(problem, truth)
    weights = np.random.default_rng(seed).normal(size=len(problem.weights))
    numeric = optimize.approx_fprime(weights, lambda w: found.value_and_gradient(w)[0], 1e-6)
    assert found.value_and_gradient(weights)[1] == pytest.approx(numeric, abs=1e-4)


def conditional_value(
    problem: networks.Problem, truth: World, varied: list[list[int]], weights: FloatArray
) -> tuple[float, FloatArray]:
    """Sum over groups of atoms of the log-probability of their labels given those of all other atoms, and its gradient."""
    value, gradient = 0.0, np.zeros(len(weights))
    possible = feasible_worlds(problem, truth)
    for group in varied:
        worlds = [w for w in possible if all(w[a] == truth[a] for a in range(problem.atoms) if a not in group)]
        counts = np.array([counts_of(problem, w) for w in worlds])
        score = counts @ weights + [fixed_of(problem, w) for w in worlds]
        own = worlds.index(truth)
        value += float(score[own] - special.logsumexp(score))
        gradient += counts[own] - special.softmax(score) @ counts
    return value, gradient


@settings(max_examples=draws(120), deadline=None, suppress_health_check=list(HealthCheck))
@given(problems(hardness=2), st.data())
def test_each_atom_or_block_given_all_others(problem: networks.Problem, data: st.DataObject) -> None:
    possible = list(networks.worlds(problem))
    assume(len(possible) > 0)
    truth = data.draw(st.sampled_from(possible))
    weights = np.where(np.isin(np.arange(len(problem.weights)), problem.hard), 0.0, problem.weights)
    model = log_linear(problem.network())
    labels = np.array(truth, dtype=np.bool_)[model.free]
    inside = {a for members, _ in problem.blocks for a in members}
    alone = [[a] for a in range(problem.atoms)]
    blocks = [members for members, _ in problem.blocks] + [[a] for a in range(problem.atoms) if a not in inside]
    for whole, varied in ((False, alone), (True, blocks)):
        found = conditionals(model, labels, np.zeros(len(labels), dtype=np.int64), blocks=whole)
        value, gradient = conditional_value(problem, truth, varied, weights)
        got = found.value_and_gradient(weights)
        size = 1 + np.abs(gradient).max(initial=0.0) + abs(value)
        assert got[0] == pytest.approx(value, abs=1e-9 * size)
        assert got[1] == pytest.approx(gradient, abs=1e-9 * size)


def test_hard_clauses_that_cannot_all_hold_are_no_fault_of_the_labels() -> None:
    # No unit shows it: each pair of atoms must differ, and there are three of them.
    differ = [
        (clause, list(signs)) for a, b in [(1, 2), (2, 3), (1, 3)] for clause, signs in [(0, (a, b)), (1, (-a, -b))]
    ]
    found = network(4, [*differ, (2, [4, 1])], hard=[0, 1])
    with pytest.raises(ConflictingClausesError, match="cannot all hold"):
        label_part(TrainingProblem(found, np.array([True, True, False, True]), Names()), "error", seed=0)


def test_labels_that_violate_hard_clauses_have_a_largest_likelihood_all_the_same() -> None:
    """With the violated clause in Z alone the objective has no upper bound: n of the labels grows, and no world of Z has it."""
    naive = networks.Problem(2, [(0, [-1, -2], 1), (1, [1], 1), (1, [2], 1)], [0.0, 0.0], hard=[0])
    truth = (True, True)

    def against(weight: float) -> float:
        """The score of the labels less log Z over the worlds of the hard clause."""
        worlds = list(networks.worlds(naive))
        return 2 * weight - float(special.logsumexp([sum(w) * weight for w in worlds]))

    assert against(1000.0) > against(100.0) > against(10.0) > 0
    found = observed(naive, truth)
    values = [found.value_and_gradient(np.array([0.0, w]))[0] for w in (10.0, 100.0, 1000.0)]
    assert all(value <= 0 for value in values)
    fit = fit_weights(make_design(found), "l2", 1.0, tolerance=1e-10, max_iterations=100)
    assert fit.converged
    assert fit.weights == pytest.approx([0.0, optimize.brentq(lambda w: 2 - 2 * special.expit(w) - w, 0, 2)], abs=1e-8)


@pytest.mark.parametrize("name", sorted(COUPLED))
def test_sampled_gradients_scatter_around_the_exact_one(name: str) -> None:
    problem, truth = COUPLED[name], LABELS[name]
    weights = np.where(np.isin(np.arange(len(problem.weights)), problem.hard), 0.0, 0.7)
    source = SampledSource(training(problem, truth), samples=4000, most=4000, burn_in=100, seed=1)
    moments = source.at(weights)
    exact = observed(problem, truth).value_and_gradient(weights)[1]
    for i in range(len(weights)):
        unit = np.eye(len(weights))[i]
        # Worlds of a chain are not independent: their error is some times that of as many that are.
        assert abs(float(unit @ (source.observed - moments.mean - exact))) <= 6 * moments.error(unit) + 1e-9


def chain_parts(count: int, windows: int, shelf: Shelf) -> tuple[int, FloatArray]:
    """Chains in windows that know more and more clauses, on a shelf."""
    whole = chains(count, length=6, states=3, words=5, seed=3)
    rng = np.random.default_rng(0)
    m = len(whole.clauses)
    for members in np.array_split(np.arange(count), windows):
        part = chains(len(members), length=6, states=3, words=5, seed=3 + int(members[0]))
        truth = np.zeros(len(part.atoms), dtype=np.bool_)
        truth[np.arange(0, len(truth), 3) + rng.integers(0, 3, len(truth) // 3)] = True
        shelf.put(label_part(TrainingProblem(part, truth, Names()), "error", seed=0)[0])
    return m, rng.normal(size=m)


def test_parts_on_disk_say_the_same_bytes(tmp_path: Path) -> None:
    folder = tmp_path / "spilled"
    memory, disk = Shelf(None), Shelf(folder, most=0)
    m, weights = chain_parts(12, 4, memory)
    chain_parts(12, 4, disk)
    one, other = observations(memory, m), observations(disk, m)
    assert not disk.in_memory
    assert len(list(folder.rglob("*.bin"))) == 4
    first, second = one.value_and_gradient(weights), other.value_and_gradient(weights)
    assert first[0] == second[0]
    assert first[1].tobytes() == second[1].tobytes()
    assert one.equal_columns(np.arange(m)).tolist() == other.equal_columns(np.arange(m)).tolist()
    disk.close()
    assert not folder.exists()


def test_what_stays_in_memory_is_bounded(tmp_path: Path) -> None:
    sizes = Shelf(tmp_path / "sizes", most=0)
    chain_parts(12, 4, sizes)
    each = max(path.stat().st_size for path in tmp_path.rglob("*.bin"))
    sizes.close()
    shelf = Shelf(tmp_path / "shelf", most=2 * each)
    chain_parts(12, 4, shelf)
    assert [type(held) for held in shelf] == [InMemory, InMemory, OnDisk, OnDisk]
    shelf.close()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"written to .*file.*connect\(temp_directory"):
        chain_parts(4, 2, Shelf(tmp_path / "file" / "inside", most=0))


def test_some_components_are_the_sum_of_their_own() -> None:
    shelf = Shelf(None)
    m, weights = chain_parts(9, 3, shelf)
    whole = observations(shelf, m)
    assert isinstance(whole, JointLikelihood)
    which = np.random.default_rng(1).random(len(whole)) < 0.5
    some, others = whole.chosen(which), whole.chosen(~which)
    value, gradient = whole.value_and_gradient(weights)
    parts = [each.value_and_gradient(weights) for each in (some, others)]
    assert value == pytest.approx(parts[0][0] + parts[1][0], abs=1e-9)
    assert gradient == pytest.approx(parts[0][1] + parts[1][1], abs=1e-9)
    assert np.concatenate([some.log_likelihood(weights), others.log_likelihood(weights)]).sum() == pytest.approx(value)
    assert some.members()[0].size + others.members()[0].size == whole.members()[0].size


def test_columns_are_scaled_and_merged() -> None:
    doubled = network(3, [(0, [1, -2]), (1, [1, -2]), (2, [2, 3], 2), (3, [1]), (4, [-3])], hard=[4])
    shelf = Shelf(None)
    shelf.put(label_part(TrainingProblem(doubled, np.array([True, True, False]), Names()), "error", seed=0)[0])
    found = observations(shelf, 5)
    design = make_design(found)
    assert design.column.tolist() == [0, 0, 1, 2, -1]
    part = found.columns(np.array([2, 0]), np.array([0.5, 2.0]))
    value, gradient = part.value_and_gradient(np.array([1.0, -1.0]))
    full = found.value_and_gradient(np.array([-2.0, 0.0, 0.5, 0.0, 0.0]))
    assert value == pytest.approx(full[0], abs=1e-12)
    assert gradient == pytest.approx([0.5 * full[1][2], 2.0 * full[1][0]], abs=1e-12)


def test_columns_are_equal_where_the_parts_that_are_learned_from_do_not_tell_them_apart() -> None:
    """A pair whose clauses say the same, and an atom, held out, of one of them alone."""
    rows = [(0, [1, 2]), (1, [1, 2]), (1, [3])]
    shelf = Shelf(None)
    shelf.put(label_part(TrainingProblem(network(3, rows), np.array([True, False, True]), Names()), "error", seed=0)[0])
    found = observations(shelf, 2)
    assert isinstance(found, JointLikelihood)
    assert make_design(found).column.tolist() == [0, 1]
    assert make_design(found.chosen(np.array([True, False]))).column.tolist() == [0, 0]


def wide_grid() -> TrainingProblem:
    """A grid of 20 x 20 atoms, each joined to its neighbours by one clause, and on its diagonals by another."""
    side = 20
    place: Callable[[int, int], int] = lambda i, j: i * side + j + 1  # noqa: E731
    rows: list[tuple[int, list[int]]] = []
    for i, j in itertools.product(range(side), repeat=2):
        rows += [(0, [place(i, j), -place(i, j + 1)])] if j + 1 < side else []
        rows += [(1, [place(i, j), -place(i + 1, j)])] if i + 1 < side else []
    rows += [(2, [k]) for k in range(1, side * side + 1)] + [(3, [side * side + 1, side * side + 2])]
    truth = np.random.default_rng(0).random(side * side + 2) < 0.5
    truth[-1] = True
    return TrainingProblem(network(side * side + 2, rows), truth, Names())


def test_components_beyond_the_bound_are_named_or_approximated() -> None:
    problem = wide_grid()
    with pytest.raises(
        InputError, match=r"beyond the bound for 1 component, with 400 atoms.*without the 380 ground clauses"
    ) as caught:
        label_part(problem, "error", seed=0)
    assert "wide='pseudo-likelihood'" in str(caught.value)
    part, reached = label_part(problem, "composite-likelihood", seed=0)
    assert (reached.components, reached.choices, reached.wide) == (1, 0, 400)
    shelf = Shelf(None)
    shelf.put(part)
    found = observations(shelf, 4)
    # The pair is exact: its own violation has probability 1 / 4 at weights of 0.
    assert found.value_and_gradient(np.zeros(4))[1][3] == pytest.approx(0.25)
    assert found.value_and_gradient(np.zeros(4))[0] == pytest.approx(-402 * math.log(2))
    fit = fit_weights(make_design(found), "l2", 1.0, tolerance=1e-8, max_iterations=500)
    assert fit.converged


def test_what_blocks_decide_given_all_others_is_no_pseudo_likelihood() -> None:
    """Of an exact block each atom follows from the others: nothing would be learned, and the result would be said to be exact."""
    side, kinds = 12, 12
    place: Callable[[int, int], int] = lambda i, k: i * kinds + k + 1  # noqa: E731
    rows = [(k, [-place(i, k), place(j, k)]) for i, j in itertools.combinations(range(side), 2) for k in range(kinds)]
    blocks = [(list(range(i * kinds, (i + 1) * kinds)), True) for i in range(side)]
    truth = np.arange(side * kinds) % kinds == np.arange(side * kinds) // kinds % 3
    problem = TrainingProblem(network(side * kinds, rows, blocks=blocks), truth, Names())
    with pytest.raises(InputError, match=r"decide each atom .* have 144 atoms; use wide='composite-likelihood'"):
        label_part(problem, "pseudo-likelihood", seed=0)
    assert label_part(problem, "composite-likelihood", seed=0)[1].wide == side


def test_helper_atoms_do_not_stay_while_others_vary() -> None:
    """An atom that makes an existential formula true changes its helper atom: given this one it could not vary."""
    db, people = sqlrl.connect(progress=False), [f"p{i}" for i in range(30)]
    db.load("Person", [(p,) for p in people], types=["person"])
    db.load("Likes", list(itertools.pairwise(people)), types=["person", "person"], target=True)
    db.load("Nice", [("p0",), ("p3",)], types=["person"], target=True)
    text = "Person(person)\nLikes(person, person)\nNice(person)\nNice(x)\nPerson(x) ^ (EXIST y Likes(x, y) ^ Nice(y))"
    for wide in ("pseudo-likelihood", "composite-likelihood"):
        with pytest.raises(UnsupportedError, match=r"several targets.*as in Person\(x\) \^ \(EXIST y.*write the rule"):
            sqlrl.Likelihood(wide=wide).fit(db, sqlrl.parse_mln(text))


def test_infinite_odds_are_no_hard_clauses() -> None:
    part, _ = label_part(
        TrainingProblem(network(2, [(0, [-1, 2])] * 3), np.array([True, True]), Names()), "error", seed=0
    )
    with pytest.raises(NumericError, match="scale them down"):
        part.expectations(np.array([1e308]), np.ones(1, dtype=np.bool_))


def test_nothing_varies() -> None:
    one = TrainingProblem(network(1, [(0, [1]), (1, [1])], hard=[0]), np.array([True]), Names())
    shelf = Shelf(None)
    shelf.put(label_part(one, "error", seed=0)[0])
    with pytest.raises(InputError, match="there is nothing to learn"):
        observations(shelf, 2)


def test_reaching_nothing_compiles_nothing() -> None:
    found = reach(log_linear(network(0, [])))
    assert len(found.partition) == 0
    assert found.partition.expectations(np.zeros(0))[0].tolist() == []
