"""Bins of self-diagnosis against the definition, atom by atom and world by world, and against exact marginals where those are enough."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.errors import InputError, NumericError
from sqlrl.ground.binding import bind_program
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.network import Network
from sqlrl.ground.program import Extent
from sqlrl.ground.sample_programs import sample_program
from sqlrl.logic.mln import parse_mln
from sqlrl.solve import bins
from sqlrl.solve.bins import Bins, applied_bins, unit_bins
from sqlrl.solve.conflict import ConflictingClausesError
from sqlrl.solve.marginal import marginals
from sqlrl.solve.sample_networks import chains, network
from sqlrl.solve.sampling.chains import Effort
from tests.effort import draws
from tests.solve.networks import EXTREME, Problem, World, holds, problems, worlds

Bools = npt.NDArray[np.bool_]
Four = npt.NDArray[np.float64]


def four_bins(problem: Problem, world: World, truth: World, labelled: World, *, units: bool = False) -> Four:
    """The pairs of all ground clauses in a world: applies and good, applies and bad, does not and good, does not and bad.

    Whether a formula applies is whether it changes its value with the atom; what it approves of is the value that makes it true.
    """
    found = np.zeros((4, len(problem.weights)))
    for i, literals, times in problem.ground:
        if (len(literals) > 1) == units:
            continue
        for literal in literals:
            k = abs(literal) - 1
            if not labelled[k]:
                continue
            values = [
                holds(literals, (*world[:k], value, *world[k + 1 :])) != (i in problem.negated)
                for value in (False, True)
            ]
            sigma = (literal > 0) != (i in problem.negated)
            if values[0] != values[1]:
                assert values[sigma]
                found[0 if values[truth[k]] else 1, i] += times
            else:
                found[3 if sigma == truth[k] else 2, i] += times
    return found


def expected_bins(problem: Problem, truth: World, labelled: World) -> Four | None:
    """Their expectations, shape (4, m), over the worlds of the model; None if there is none."""
    found = list(worlds(problem))
    if not found:
        return None
    scores = [problem.score(world) for world in found]
    best = max(scores)
    weight = np.array([math.exp(float(max(score - best, Fraction(-800)))) for score in scores])
    tallies = np.array([four_bins(problem, world, truth, labelled) for world in found])
    return np.asarray(np.tensordot(weight / weight.sum(), tallies, axes=1), dtype=np.float64)


def as_four(found: Bins) -> Four:
    same, opposite = found.same.astype(np.float64), found.opposite.astype(np.float64)
    return np.stack([found.good, found.bad, opposite - found.bad, same - found.good])


def assert_within(found: Bins, expected: Four, errors: float = 5.0) -> None:
    """Each bin is within so many of its standard errors, which are those of the pairs of one sign."""
    doubt = np.stack([found.good_error, found.bad_error, found.bad_error, found.good_error])
    wrong = np.abs(as_four(found) - expected) > errors * doubt + 1e-9
    assert not wrong.any(), (as_four(found)[wrong], expected[wrong], doubt[wrong])


def values(world: World) -> Bools:
    return np.array(world, dtype=np.bool_)


def drawn_world(data: st.DataObject, atoms: int) -> World:
    return tuple(data.draw(st.lists(st.booleans(), min_size=atoms, max_size=atoms)))


@settings(max_examples=draws(80))
@given(problem=problems(EXTREME, hardness=2), data=st.data())
def test_enumerated_bins_are_those_of_the_definition(problem: Problem, data: st.DataObject) -> None:
    truth, labelled = drawn_world(data, problem.atoms), drawn_world(data, problem.atoms)
    expected = expected_bins(problem, truth, labelled)
    assume(expected is not None)
    assert expected is not None
    found = applied_bins(problem.network(), problem.weights, values(truth), labelled=values(labelled))
    assert found.exact.all()
    assert not found.good_error.any()
    assert not found.bad_error.any()
    # Scores of 1e9 are rounded to 1e-7, and odds with them.
    rounding = 1e-9 + 1e-15 * float(problem.magnitude()) * expected.sum(axis=0)
    assert np.all(np.abs(as_four(found) - expected) <= rounding)


@settings(max_examples=draws(40))
@given(problem=problems(hardness=0), data=st.data())
def test_gibbs_samples_are_within_their_errors(problem: Problem, data: st.DataObject) -> None:
    truth = drawn_world(data, problem.atoms)
    # Wherever a row, also one merged from several, is nearly hard, the chain is another one.
    assume(all(abs(w) * sum(t for i, _, t in problem.ground) < 3 for w in problem.weights))
    everything = (True,) * problem.atoms
    expected = expected_bins(problem, truth, everything)
    assert expected is not None
    found = applied_bins(problem.network(), problem.weights, values(truth), effort=Effort(2000, 200), most_worlds=0)
    assert_within(found, expected)


@settings(max_examples=draws(30))
@given(problem=problems(hardness=2), data=st.data())
def test_samples_among_hard_clauses_are_within_their_errors(problem: Problem, data: st.DataObject) -> None:
    truth = drawn_world(data, problem.atoms)
    expected = expected_bins(problem, truth, (True,) * problem.atoms)
    assume(expected is not None)
    assert expected is not None
    found = applied_bins(problem.network(), problem.weights, values(truth), effort=Effort(2000, 200), most_worlds=0)
    assert_within(found, expected)


# ---- the example of the paper ------------------------------------------------------------------------

PUBLISHED = [
    "!InClass(x) v Student(x)",
    "!Sociable(x) v !Student(x)",
    "Sleepy(x) v !Student(x)",
    "!HasJob(x) v Student(x)",
]
"""In [applies; good], [applies; bad], [does not apply; good] and [does not apply; bad] with respect to Student(Ann), which is true."""


def test_the_example_of_the_paper_in_a_database() -> None:
    """Evidence decides all: of Ann's two ground clauses are units, the others are satisfied and no part of the network."""
    model = "InClass(who)\nSociable(who)\nSleepy(who)\nHasJob(who)\nStudent(who)\n" + "\n".join(
        f"1 {x}" for x in PUBLISHED
    )
    facts = {"InClass": [("Ann",)], "Sociable": [("Ann",)], "Sleepy": [("Ann",)], "HasJob": [("Bob",)]}
    net = ground_network(Extent(sample_program(model, ["Student"], facts)))
    assert net.total.tolist() == [2, 2, 2, 2]
    found = unit_bins(net, np.array([True, False]), labelled=np.array([True, False]))
    assert found.good.tolist() == [1, 0, 0, 0]
    assert found.bad.tolist() == [0, 1, 0, 0]
    assert found.exact.all()
    rows = applied_bins(net, np.ones(4), np.array([True, False]))
    assert not as_four(rows).any()


@pytest.mark.parametrize("most_worlds", [None, 0])
@pytest.mark.parametrize("truth", [True, False])
def test_the_example_of_the_paper_in_a_network(most_worlds: int | None, truth: bool) -> None:
    """With the evidence as hard clauses all four bins are in the network, and nothing depends on the chain."""
    facts = [(4, [1]), (4, [2]), (4, [3]), (4, [-4])]
    net = network(5, [(0, [-1, 5]), (1, [-2, -5]), (2, [3, -5]), (3, [-4, 5]), *facts], hard=[4])
    found = applied_bins(
        net,
        [1.0, -0.5, 2.0, 0.25, 0.0],
        np.array([True, True, True, False, truth]),
        labelled=np.array([False, False, False, False, True]),
        most_worlds=most_worlds,
    )
    if truth:
        assert as_four(found)[:, :4].tolist() == np.eye(4).tolist()
    else:
        # Where Ann is no student good and bad change places.
        assert as_four(found)[:, :4].tolist() == np.eye(4)[[1, 0, 3, 2]].tolist()


def published(problem: Problem, truth: World, rounds: int, seed: int) -> npt.NDArray[np.float64]:
    """The four bins as published: of each atom at the moment at which it is drawn, in each round, shape (rounds, 4, m)."""
    rng, world = np.random.default_rng(seed), [False] * problem.atoms
    found = np.zeros((rounds, 4, len(problem.weights)))
    for round_ in range(rounds):
        for k in range(problem.atoms):
            only = tuple(k == other for other in range(problem.atoms))
            found[round_] += four_bins(problem, tuple(world), truth, only)
            scores = [float(problem.score((*world[:k], value, *world[k + 1 :]))) for value in (False, True)]
            world[k] = bool(rng.random() < 1 / (1 + math.exp(scores[0] - scores[1])))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("batches", [9, 29])
def test_tallies_at_the_moment_of_drawing_have_the_same_expectation(batches: int) -> None:
    rng = np.random.default_rng(11)
    ground = []
    for _ in range(9):
        atoms = sorted(int(x) for x in rng.choice(5, int(rng.integers(2, 4)), replace=False) + 1)
        ground.append((int(rng.integers(3)), [x if rng.random() < 0.5 else -x for x in atoms], int(rng.integers(1, 3))))
    problem = Problem(5, ground, [0.9, -0.7, 0.4], negated=[2])
    truth = tuple(bool(x) for x in rng.random(5) < 0.5)
    drawn = published(problem, truth, 100 + 100 * batches, seed=1)[100:].reshape(batches, 100, 4, 3).mean(axis=1)
    found = applied_bins(problem.network(), problem.weights, values(truth))
    error = drawn.std(axis=0, ddof=1) / np.sqrt(batches)
    assert np.all(error < (0.1 if batches > 9 else 0.2))
    assert np.all(np.abs(drawn.mean(axis=0) - as_four(found)) < 4 * error + 1e-9)


# ---- by hand -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("most_worlds", [None, 0])
@pytest.mark.parametrize(
    ("negated", "expected"),
    [
        # A v B over two independent atoms, A true and B false: A decides where B is false, for the good, B where A is false.
        ([], [1.0, 0.5, 1.5, 1.0]),
        # A ^ !B, the negation of the same row with other signs: A decides where B is false; B, which is false, where A is true.
        ([0], [2.5, 0.0, 0.0, 1.5]),
    ],
)
def test_a_clause_and_a_conjunction(negated: list[int], expected: list[float], most_worlds: int | None) -> None:
    literals = [-1, 2] if negated else [1, 2]
    ground = [(0, literals, 2), (1, [1]), (2, [2])]
    net = network(2, ground, negated=negated)
    weights = [0.0, math.log(3), 0.0]
    found = applied_bins(net, weights, np.array([True, False]), effort=Effort(20_000), most_worlds=most_worlds)
    assert_within(found, np.array([expected, [0] * 4, [0] * 4]).T)
    if most_worlds is None:
        assert as_four(found)[:, 0] == pytest.approx(expected)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("most_worlds", [None, 0])
def test_members_of_one_block(exact: bool, most_worlds: int | None) -> None:
    """Others of the same block are read as they are: `!A v !B` applies to A where B is true, `A v B` where it is not."""
    net = network(3, [(0, [-1, -2]), (1, [1, 2])], blocks=[([0, 1, 2], exact)])
    found = applied_bins(
        net, [5.0, 0.0], np.array([True, False, False]), effort=Effort(20_000), most_worlds=most_worlds
    )
    p = 1 / 3 if exact else 1 / 4
    # Of `!A v !B`, !A is bad where B is true, !B good where A is true; of `A v B`, A is good where B is false, B bad where A is.
    assert_within(found, np.array([[p, 1 - p], [p, 1 - p], [1 - p, p], [1 - p, p]]))


def test_only_labelled_atoms_that_are_no_helpers_are_tallied() -> None:
    ground = [(0, [1, 2, 3])]
    net = replace(network(3, ground), helper=np.array([False, False, True]))
    truth = np.array([True, True, True])
    found = applied_bins(net, [0.0], truth)
    assert found.same.tolist() == [2]
    assert found.good.tolist() == [0.5]
    found = applied_bins(net, [0.0], truth, labelled=np.array([True, False, True]))
    assert found.same.tolist() == [1]
    assert found.good.tolist() == [0.25]


@pytest.mark.parametrize("most_worlds", [None, 0])
def test_pairs_beyond_64_bits_are_counted_exactly(most_worlds: int | None) -> None:
    net = network(3, [(0, [1, -2, 3], 2**62), (0, [1, 2, 3], 2**60), (1, [1, 2]), (1, [2, 3], 2**63 - 2)])
    found = applied_bins(net, [0.0, 0.0], np.array([True, True, True]), effort=Effort(20_000), most_worlds=most_worlds)
    assert found.same.tolist() == [2 * 2**62 + 3 * 2**60, 2 * (2**63 - 1)]
    assert found.opposite.tolist() == [2**62, 0]
    # Each pair of a row with three literals applies in a quarter of all worlds, with two in a half.
    expected = np.array([[2**61 + 3 * 2**58, 2**63], [2**60, 0]], dtype=np.float64)
    if most_worlds is None:
        assert found.good.tolist() == expected[0].tolist()
        assert found.bad.tolist() == expected[1].tolist()
    assert np.all(np.abs(found.good - expected[0]) <= 5 * found.good_error)
    assert np.all(np.abs(found.bad - expected[1]) <= 5 * found.bad_error)


@given(problem=problems(), data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_tallies_of_given_worlds(problem: Problem, data: st.DataObject, seed: int) -> None:
    """Sums and sums of squares over any number of worlds, read 64 at a time, are those of the definition."""
    truth, labelled = drawn_world(data, problem.atoms), drawn_world(data, problem.atoms)
    net, m = problem.network(), len(problem.weights)
    count = data.draw(st.sampled_from([0, 1, 5, 63, 64, 65, 130]))
    drawn = np.random.default_rng(seed).random((count, problem.atoms)) < 0.4
    pairs = bins._pairs(net, values(truth), values(labelled))
    size = bins._sizes(pairs, m)
    total, square = np.zeros((2, 2, m))
    bins._tally(drawn, pairs, size, total, square)
    counts = np.array([four_bins(problem, tuple(world), truth, labelled)[:2] for world in drawn.tolist()])
    shares = counts.reshape(count, 2, m) / np.maximum(size, 1)
    np.testing.assert_allclose(total, shares.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(square, (shares**2).sum(axis=0), rtol=1e-12)


# ---- larger networks ---------------------------------------------------------------------------------


def pairwise(net: Network, truth: Bools, probability: npt.NDArray[np.float64]) -> tuple[Four, Four]:
    """What exact marginals say of rows with two literals of which each decides where the other one is false."""
    good, bad = np.zeros((2, len(net.clauses)))
    for j, (start, end) in enumerate(zip(net.indptr[:-1], net.indptr[1:], strict=True)):
        assert end - start == 2
        for at, other in ((start, end - 1), (end - 1, start)):
            x, y = net.literals[at], net.literals[other]
            false = 1 - probability[y - 1] if y > 0 else probability[-y - 1]
            into = good if (x > 0) == truth[abs(x) - 1] else bad
            into[net.row_clause[j]] += net.multiplicity[j] * false
    return good, bad


@pytest.mark.parametrize("exact", [True, False])
def test_chains_of_blocks_against_elimination(exact: bool) -> None:
    net = chains(3, length=12, states=4, exact=exact, seed=2)
    rng = np.random.default_rng(3)
    weights = rng.normal(scale=0.7, size=len(net.clauses))
    truth = rng.random(len(net.atoms)) < 0.3
    good, bad = pairwise(net, truth, marginals(net, weights, method="exact").probability)
    found = applied_bins(net, weights, truth)
    assert not found.exact[:16].any()
    assert np.all(np.abs(found.good - good) <= 4 * found.good_error)
    assert np.all(np.abs(found.bad - bad) <= 4 * found.bad_error)
    assert np.all(found.good_error[:16] < 0.5)
    assert np.all(found.rhat < 1.05)
    assert np.all(found.good <= found.same.astype(float))
    assert np.all(found.bad <= found.opposite.astype(float))


@pytest.mark.parametrize("hard", [False, True])
def test_small_and_large_components_of_one_clause(hard: bool) -> None:
    """A clause whose ground clauses are partly enumerated and partly sampled; others are of one kind alone."""
    rng = np.random.default_rng(5)
    tree = [(0, [-int(rng.integers(1, k)), k]) for k in range(2, 41)]
    pairs = [(0, [-(41 + 2 * i), 42 + 2 * i], 2) for i in range(10)]
    ground = [*tree, *pairs, (1, [41, 42]), (2, [1, 2]), *((3, [k]) for k in range(1, 61)), (4, [50, -51])]
    net = network(60, ground, hard=[2] if hard else [])
    weights = [0.8, 1.0, -0.6, -0.4, 0.0]
    truth = rng.random(60) < 0.5
    good, bad = pairwise(net, truth, marginals(net, weights, method="exact").probability)
    found = applied_bins(net, weights, truth)
    assert found.exact.tolist() == [False, True, False, True, True]
    assert np.all(np.abs(found.good - good) <= 4 * found.good_error + 1e-9)
    assert np.all(np.abs(found.bad - bad) <= 4 * found.bad_error + 1e-9)
    fewer = applied_bins(net, weights, truth, most_worlds=15)
    assert fewer.exact.tolist() == [False, True, False, True, False]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [60, 150])
def test_errors_are_neither_too_small_nor_too_large(seeds: int) -> None:
    """Over many seeds the deviation from the truth is about as large as it is said to be."""
    rng = np.random.default_rng(7)
    rows = [(int(rng.integers(3)), [int(x) for x in rng.choice(10, 2, replace=False) + 1]) for _ in range(20)]
    net = network(10, [(i, [x if rng.random() < 0.5 else -x for x in row]) for i, row in rows])
    weights, truth = [0.7, -0.6, 0.9], rng.random(10) < 0.5
    exact = applied_bins(net, weights, truth)
    deviations = []
    for seed in range(seeds):
        found = applied_bins(net, weights, truth, effort=Effort(400, 50, seed=seed), most_worlds=0)
        deviations.append([(found.good - exact.good) / found.good_error, (found.bad - exact.bad) / found.bad_error])
    scale = np.array(deviations).std(axis=0)
    assert np.all(scale > 0.6), scale
    assert np.all(scale < 1.3), scale
    assert np.all(np.abs(np.array(deviations).mean(axis=0)) < 0.4)


def test_same_seed_same_bytes_on_any_number_of_threads() -> None:
    net = chains(2, length=8, states=5)
    rng = np.random.default_rng(0)
    weights, truth = rng.normal(size=len(net.clauses)), rng.random(len(net.atoms)) < 0.2
    runs = [
        applied_bins(net, weights, truth, effort=Effort(200, 20, 3, seed, threads))
        for seed, threads in ((1, 1), (1, 3), (2, 1))
    ]
    for name in ("good", "bad", "good_error", "bad_error", "rhat"):
        assert getattr(runs[0], name).tobytes() == getattr(runs[1], name).tobytes()
    assert runs[0].good.tolist() != runs[2].good.tolist()


# ---- ground clauses with one literal -----------------------------------------------------------------


@given(problem=problems(hardness=1), data=st.data())
def test_units_are_exact_or_say_that_they_are_not(problem: Problem, data: st.DataObject) -> None:
    truth, labelled = drawn_world(data, problem.atoms), drawn_world(data, problem.atoms)
    found = unit_bins(problem.network(), values(truth), labelled=values(labelled))
    expected = four_bins(problem, (False,) * problem.atoms, truth, labelled, units=True)
    assert not expected[2:].any()
    alone = [
        {lits[0] for j, lits, _ in problem.ground if j == i and len(lits) == 1} for i in range(len(problem.weights))
    ]
    assert found.exact.tolist() == [not any(-x in each for x in each) for each in alone]
    right = np.flatnonzero(found.exact)
    assert found.good[right].tolist() == expected[0, right].tolist()
    assert found.bad[right].tolist() == expected[1, right].tolist()


@pytest.mark.parametrize(
    ("rule", "known", "exact"),
    [
        ("R(x, y) ^ T(x) => T(y)", [], True),
        ("R(x, y) ^ T(x) => T(y)", [("A", True)], True),
        # B must be true as A is, and must not as C is not.
        ("R(x, y) ^ T(x) => T(y)", [("A", True), ("C", False)], False),
        ("T(x) v T(y)", [("A", False)], True),
        ("T(x) <=> Q(x, y)", [], False),
        ("T(x) <=> Q(x, x)", [], True),
        ("T(x) ^ Q(x, y)", [], True),
    ],
)
def test_where_units_of_a_database_cancel(rule: str, known: list[tuple[str, bool]], exact: bool) -> None:
    model = parse_mln(f"R(thing, thing)\nQ(thing, thing)\nT(thing)\n1 {rule}", query=("T",))
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    catalog.load("R", [("A", "B"), ("B", "C")])
    catalog.load("Q", [("A", "A"), ("B", "C")])
    if known:
        catalog.load("T", known, given=True, truth=1)
    net = ground_network(Extent(bind_program(catalog.engine, catalog.bind(model, training=True), model)))
    assert len(net.atoms) == 3 - len(known)
    assert unit_bins(net, np.zeros(len(net.atoms), dtype=np.bool_)).exact.tolist() == [exact]


# ---- bad input ---------------------------------------------------------------------------------------


def test_bad_input() -> None:
    net = network(2, [(0, [1, 2])])
    with pytest.raises(InputError, match=r"truth has shape \(3,\)"):
        applied_bins(net, [1.0], np.zeros(3, dtype=np.bool_))
    with pytest.raises(InputError, match="labelled has shape"):
        unit_bins(net, np.zeros(2, dtype=np.bool_), labelled=np.zeros(1, dtype=np.bool_))
    with pytest.raises(InputError, match=r"truth has .* type float64"):
        applied_bins(net, [1.0], np.zeros(2))  # type: ignore[arg-type]
    with pytest.raises(NumericError, match="of clause 0 is nan"):
        applied_bins(net, [np.nan], np.zeros(2, dtype=np.bool_))
    with pytest.raises(NumericError, match="1 clauses need as many weights"):
        applied_bins(net, [], np.zeros(2, dtype=np.bool_))


@pytest.mark.parametrize("most_worlds", [None, 0])
def test_hard_clauses_that_cannot_all_hold(most_worlds: int | None) -> None:
    ground = [(0, [1, 2]), (0, [1, -2]), (0, [-1, 2]), (0, [-1, -2]), (1, [2, 3]), (1, [3, 4])]
    net = network(4, ground, hard=[0])
    with pytest.raises(ConflictingClausesError, match="these 4 ground clauses conflict"):
        applied_bins(net, [0.0, 1.0], np.zeros(4, dtype=np.bool_), most_worlds=most_worlds)


def test_networks_without_rows() -> None:
    for net in (network(0, [], clauses=2), network(3, [(0, [1]), (1, [-2])])):
        found = applied_bins(net, [1.0, 1.0], np.ones(len(net.atoms), dtype=np.bool_))
        assert not as_four(found).any()
        assert found.exact.all()


def test_too_few_rounds_have_no_error() -> None:
    net = network(2, [(0, [1, 2])])
    found = applied_bins(net, [1.0], np.array([True, False]), effort=Effort(1, 0, 1), most_worlds=0)
    assert found.good_error.tolist() == [np.inf]
    assert not found.exact.any()
