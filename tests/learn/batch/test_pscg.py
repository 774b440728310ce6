"""Scaled conjugate gradient: it reaches the optimum that another optimiser finds, and repeats with its seed."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest

import sqlrl
from sqlrl.errors import InputError
from sqlrl.learn.batch.expectation import CountMoments, ExactSource, SampledMoments
from sqlrl.learn.batch.pscg import PSCG, Climbing, Point, climb
from sqlrl.training.records import Iteration
from tests.learn.batch.enumerated import (
    COUPLED,
    LABELS,
    counts_of,
    enumerate_worlds,
    fixed_of,
    random_problem,
    training,
)

Floats = npt.NDArray[np.float64]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("deviation", [2.0, 0.7])
def test_exact_moments_lead_to_the_optimum(seed: int, deviation: float) -> None:
    problem, truth = random_problem(seed, longest=1)
    every = enumerate_worlds(problem)
    seen: list[Iteration] = []
    learner = PSCG(1000, moments="exact", tolerance=1e-15, strength=deviation**-2)
    weights = learner._learn(training(problem, truth), seen.append)
    expected = every.optimum(counts_of(problem, truth), deviation**-2)
    assert np.allclose(weights, expected, rtol=0, atol=1e-6)
    assert learner.converged_
    # The objective is that of all worlds, and never falls.
    objective = [each.objective if each.objective is not None else np.nan for each in seen]
    value = every.log_likelihood(weights, counts_of(problem, truth), fixed_of(problem, truth))
    assert objective[-1] == pytest.approx(value - weights @ weights / (2 * deviation**2), rel=0, abs=1e-9)
    assert all(b >= a - 1e-12 for a, b in itertools.pairwise(objective))
    assert [each.iteration for each in seen] == list(range(len(seen)))


def test_without_a_prior_the_optimum_is_that_of_maximum_likelihood() -> None:
    problem, truth = random_problem(4, longest=1)
    every = enumerate_worlds(problem)
    counts = 0.9 * counts_of(problem, truth) + 0.1 * every.mean(np.zeros(len(problem.weights)))  # inside of their range
    source = ExactSource(training(problem, truth), seed=0)
    source.observed = source.observed - counts_of(problem, truth) + counts
    found = climb(source, Climbing(iterations=1000, decay=0.0, damping=1.0, tolerance=1e-16))
    assert np.allclose(every.mean(found.weights), counts, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", COUPLED)
def test_samples_lead_near_the_optimum(name: str) -> None:
    problem, truth, size = COUPLED[name], LABELS[name], 1500
    every = enumerate_worlds(problem)
    expected = every.optimum(counts_of(problem, truth), 0.25)
    learner = PSCG(25, samples=size, burn_in=20, damping=1.0, random_state=3)
    weights = learner._learn(training(problem, truth), lambda each: None)
    covariance = every.covariance(expected)
    bend = np.linalg.inv(covariance + 0.25 * np.eye(len(expected)))
    error = np.sqrt(np.diag(bend @ covariance @ bend) / size)
    # Samples of a chain are worth less than independent ones: allow for two thirds of them being lost.
    assert np.all(np.abs(weights - expected) <= 4 * np.sqrt(3) * error)
    assert weights[problem.hard].tolist() == [0.0] * len(problem.hard)


class _Downhill:
    """The function -w**2 / 2 around 3 whose first step is told to lead downhill by noise."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, float]] = []
        self.observed = np.array([3.0])

    def at(self, weights: Floats) -> SampledMoments:
        self.asked.append(("at", float(weights[0])))
        if len(self.asked) == 2:
            return _moments(9.0)
        return _moments(float(weights[0]))

    def more(self, weights: Floats, moments: SampledMoments, *, moved: bool) -> SampledMoments:
        assert moved
        self.asked.append(("more", float(weights[0])))
        return moments

    def enough(self, moments: CountMoments) -> bool:
        return True


def _moments(mean: float) -> SampledMoments:
    return SampledMoments(np.array([[mean - 1.0], [mean + 1.0]]))  # variance 1


def test_a_step_that_leads_downhill_is_taken_back_and_shortened() -> None:
    source = _Downhill()
    seen: list[tuple[object, ...]] = []

    def report(kept: int, point: Point[SampledMoments], damping: float, rejected: int) -> None:
        seen.append((kept, float(point.weights[0]), point.size, damping, rejected))

    found = climb(source, Climbing(iterations=2, decay=0.0, damping=1.0), report)
    assert found.rejected == 1
    # With lambda 1 the step is half of Newton's, to 1.5; taken back, lambda is 4 and it is a fifth, to 0.6.
    assert source.asked[:4] == [("at", 0.0), ("at", 1.5), ("more", 0.0), ("at", pytest.approx(0.6))]
    # The quadratic model is right: the step gains 0.6 * 2.4 at least, of 1.62 predicted, so that lambda is halved.
    assert seen[0] == (0, 0.0, None, 1.0, 0)
    assert seen[1] == (1, pytest.approx(0.6), pytest.approx(0.2), 2.0, 1)


@pytest.mark.parametrize(("distrust", "after"), [(0.25, 4.0), (0.0, 1.0)])
def test_a_poor_step_is_kept_and_lambda_grows(distrust: float, after: float) -> None:
    class Poor(_Downhill):
        def at(self, weights: Floats) -> SampledMoments:
            self.asked.append(("at", float(weights[0])))
            return _moments(2.9 if len(self.asked) == 2 else float(weights[0]))

    seen: list[float] = []
    plan = Climbing(iterations=1, decay=0.0, damping=1.0, distrust=distrust)
    found = climb(Poor(), plan, lambda kept, point, damping, rejected: seen.append(damping))
    assert found.rejected == 0
    assert seen == [1.0, after]


def test_where_every_step_leads_downhill_it_ends() -> None:
    class Never(_Downhill):
        def at(self, weights: Floats) -> SampledMoments:
            return _moments(9.0 if weights[0] else 0.0)

    # Lambda grows until the step can gain nothing any more: 9 / (1 + 4**k) <= 0.01 from k = 5 on.
    found = climb(Never(), Climbing(iterations=5, decay=0.0, damping=1.0, tolerance=0.01))
    assert (found.weights.tolist(), found.rejected, found.converged) == ([0.0], 5, True)
    # From nothing it grows to 0.001 first: 9 / (1 + 0.001 * 4**k) <= 0.01 from k = 10 on.
    found = climb(Never(), Climbing(iterations=5, decay=0.0, damping=0.0, tolerance=0.01))
    assert (found.weights.tolist(), found.rejected, found.converged) == ([0.0], 11, True)


def test_more_samples_are_drawn_until_a_step_is_significant() -> None:
    drawn = []

    class Counting(_Downhill):
        def at(self, weights: Floats) -> SampledMoments:
            return _moments(float(weights[0]))

        def more(self, weights: Floats, moments: SampledMoments, *, moved: bool) -> SampledMoments:
            drawn.append(moved)
            return SampledMoments(np.concatenate([moments.counts, moments.counts]))

        def enough(self, moments: CountMoments) -> bool:
            return False

    climb(Counting(), Climbing(iterations=1, decay=0.0, damping=1.0))
    # The gain is 1.5 * 1.5, its error 1.5 / sqrt(s - 1) with s samples: 2.25 > 3 / sqrt(s - 1) from s = 4 on.
    assert drawn == [False]


def test_the_same_seed_gives_the_same_bytes() -> None:
    problem = training(COUPLED["blocks"], LABELS["blocks"])

    def run(seed: int | None) -> tuple[bytes, list[Iteration]]:
        seen: list[Iteration] = []
        weights = PSCG(12, random_state=seed)._learn(problem, seen.append)
        return weights.tobytes(), seen

    assert run(5) == run(5)
    assert run(None) == run(0)
    assert run(5)[0] != run(6)[0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"max_iterations": 0}, "max_iterations=0: give an integer of at least 1"),
        ({"samples": 1}, "samples=1: give an integer of at least 2"),
        ({"samples": 5, "most_samples": 4}, "most_samples=4: give an integer of at least 5"),
        ({"burn_in": -1}, "burn_in=-1"),
        ({"strength": -0.5}, "strength=-0.5 is not a finite number of at least 0: use 0 for no penalty"),
        ({"damping": -1.0}, "damping=-1.0"),
        ({"distrust": 0.8}, "distrust=0.8 is above 0.75"),
        ({"tolerance": float("nan")}, "tolerance=nan"),
        ({"moments": "gibbs"}, "moments='gibbs': choose 'mcsat' or 'exact'"),
    ],
)
def test_parameters_out_of_range(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        PSCG(**wrong)._check()  # type: ignore[arg-type]


# ---- over a database -------------------------------------------------------------------------------------------


def people() -> sqlrl.Database:
    db = sqlrl.connect()
    names = [f"p{i}" for i in range(8)]
    db.load("Friends", [(a, b) for i, a in enumerate(names) for b in names[:i]], types=["person", "person"])
    db.load("Tall", [(a,) for a in names[::2]], types=["person"])
    db.load("Smokes", [(a,) for a in names[:5]], types=["person"], target=True)
    return db


SMOKING = """
Friends(person, person)
Tall(person)
Smokes(person)
Friends(a, b) ^ Smokes(a) => Smokes(b)
Tall(a) => Smokes(a)
Smokes(a)
"""


def test_fit_keeps_iterations_and_weights() -> None:
    db = people()
    told: list[Iteration] = []
    fit = PSCG(4, random_state=1).fit(db, sqlrl.parse_mln(SMOKING), callback=told.append)
    assert fit.iterations_.column("iteration").to_pylist() == [0, 1, 2, 3, 4] == [each.iteration for each in told]
    assert fit.iterations_.column("objective").null_count == 5
    assert fit.iterations_.column("damping").to_pylist()[0] == 100.0
    assert fit.rejected_ >= 0
    assert fit.converged_ is False
    assert "PSCG(max_iterations=4, random_state=1)" in repr(fit)
    stored = db.sql(f'select * exclude (run) from "sqlrl".iteration where run = {fit.run_} order by iteration')
    assert stored.to_arrow_table().to_pylist() == fit.iterations_.to_pylist()
    again = PSCG(4, random_state=1).fit(db, sqlrl.parse_mln(SMOKING))
    assert again.weights_.tobytes() == fit.weights_.tobytes()


@pytest.mark.slow
def test_ctrl_c_keeps_what_there_is_and_leaves_the_database_usable() -> None:
    db, model = people(), sqlrl.parse_mln(SMOKING)

    def interrupt(iteration: Iteration) -> None:
        if iteration.iteration == 2:
            raise KeyboardInterrupt

    learner = PSCG(4, random_state=1)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(db, model, callback=interrupt)
    assert learner.rejected_ >= 0
    assert (learner.converged_, learner.interrupted_) == (False, True)
    assert db.sql('select iteration from "sqlrl".iteration').fetchall() == [(0,), (1,), (2,)]
    after = PSCG(4, random_state=1).fit(db, model)
    assert after.weights_.tobytes() == PSCG(4, random_state=1).fit(people(), model).weights_.tobytes()


def test_exact_moments_name_the_clause_that_joins_atoms() -> None:
    with pytest.raises(
        InputError, match=r"Friends\(a, b\) \^ Smokes\(a\) => Smokes\(b\) joins query atoms.*moments='mcsat'"
    ):
        PSCG(moments="exact").fit(people(), sqlrl.parse_mln(SMOKING))
