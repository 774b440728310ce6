"""The closed forms of every update rule against the papers' formulas applied at every step, and against other mathematics."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from sqlrl import CDA
from sqlrl.baselines import MIRA, Subgradient
from sqlrl.ground.windows import Window
from sqlrl.learn import OnlineLearner, additive, decaying, rules, scaled
from sqlrl.learn.additive import AdditiveRates, PenalisedRates
from sqlrl.learn.decaying import DecayingRates, harmonic_between
from sqlrl.learn.rules import grown, read, started
from sqlrl.learn.scaled import ScaledRates
from sqlrl.learn.settings import Parameters
from tests.effort import draws
from tests.learn.oracles import LEARNERS, Oracle, Told, cda, mira, oracle_of, run_oracle, subgradient
from tests.learn.streams import Stream, random_stream
from tests.solve.networks import Problem, problems, worlds

Floats = npt.NDArray[np.float64]


def close(found: Floats, wanted: list[float], least: float = 1e-12) -> bool:
    """Equal to 1e-12 of the largest weight: steps are sums over clauses, so that errors are those of the largest one."""
    scale = max([abs(x) for x in wanted], default=0.0)
    return bool(np.allclose(found, wanted, rtol=1e-12, atol=max(least, 1e-12 * scale)))


def learned(parameters: Parameters, windows: list[Window]) -> tuple[OnlineLearner, pa.Table]:
    learner = OnlineLearner(parameters)
    return learner, pa.concat_tables([learner.learn_many(window).steps for window in windows])


def agree(parameters: Parameters, stream: Stream, size: int, oracle: Oracle) -> None:
    learner, steps = learned(parameters, stream.windows(size, size))
    assert learner.steps == len(oracle.history)
    assert close(learner.weights, oracle.weights)
    assert close(learner.averaged_weights(), oracle.averages())
    assert steps["loss"].to_pylist() == oracle.losses


def equals_its_paper(parameters: Parameters, seeds: range, count: int) -> tuple[int, int]:
    """How many streams were compared, and how many weights of theirs are not 0."""
    moved = checked = 0
    for seed in seeds:
        stream = random_stream(seed, count=count)
        oracle = run_oracle(stream, parameters)
        if oracle.smallest_gap <= 1e-9:
            continue
        agree(parameters, stream, 1 + seed % 7, oracle)
        checked += 1
        moved += sum(w != 0 for w in oracle.weights)
    return checked, moved


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_equals_its_paper(name: str) -> None:
    checked, moved = equals_its_paper(LEARNERS[name], range(7), 14)
    assert checked > 5
    assert moved > 10


@pytest.mark.slow
def test_every_learner_equals_its_paper_on_longer_streams() -> None:
    for name, parameters in LEARNERS.items():
        checked, moved = equals_its_paper(parameters, range(7, 17), 24)
        assert checked > 7, name
        assert moved > 15, name


@pytest.mark.parametrize("name", LEARNERS)
def test_components_that_are_no_trees(name: str) -> None:
    parameters, checked = LEARNERS[name], 0
    for seed in range(100, 104):
        stream = random_stream(seed, longest=4, count=8)
        oracle = run_oracle(stream, parameters)
        if oracle.smallest_gap > 1e-4:  # CP-SAT's integer weights are that exact
            agree(parameters, stream, 3, oracle)
            checked += 1
    assert checked >= 2


@settings(max_examples=draws(40), deadline=None)
@given(examples=st.lists(problems(hardness=0), min_size=1, max_size=5), seed=st.integers(0, 999), data=st.data())
def test_random_networks(examples: list[Problem], seed: int, data: st.DataObject) -> None:
    rng, clauses = random.Random(seed), max(len(p.weights) for p in examples)
    negated = [i for i in range(clauses) if rng.random() < 0.3]
    # Soft evidence with random digits, so that no two worlds have the same score.
    chosen = [
        replace(
            p, weights=[0.0] * clauses, negated=negated, prior=[rng.gauss(0, 0.4) for _ in range(p.atoms)], evidence=[]
        )
        for p in examples
    ]
    truths = [tuple(rng.random() < 0.5 for _ in range(p.atoms)) for p in chosen]
    stream = Stream(chosen, truths, [clauses] * len(chosen), [])
    parameters = LEARNERS[data.draw(st.sampled_from(sorted(LEARNERS)))]
    oracle = run_oracle(stream, parameters)
    assume(oracle.smallest_gap > 1e-4)
    learner, _ = learned(parameters, stream.windows(2))
    assert close(learner.weights, oracle.weights)
    assert close(learner.averaged_weights(), oracle.averages())


# ---- long runs of one rule ----------------------------------------------------------------------------------

STEPS = st.lists(st.lists(st.sampled_from([0, 0, 0, 1, -1, 2, -5]), min_size=3, max_size=3), max_size=60)


def run_decaying(rates: DecayingRates, rows: list[list[int]], losses: list[float]) -> tuple[Floats, Floats]:
    state = decaying.new_state(3)
    for t, (row, loss) in enumerate(zip(rows, losses, strict=True), 1):
        weights, square = read(state._replace(steps=t - 1), rates)[0], float(sum(d * d for d in row))
        if square:
            size = decaying.step_size(rates, loss, float(weights @ row), square, t)
            for i in np.flatnonzero(row).tolist():
                decaying.update_clause(state, i, row[i], t, size)
        state = state._replace(steps=t)
    return read(state, rates)


def plain(update: object, rows: list[list[int]], losses: list[float]) -> tuple[list[float], list[float]]:
    weights, sums = [0.0] * 3, [[0.0] for _ in range(3)]
    for t, (row, loss) in enumerate(zip(rows, losses, strict=True), 1):
        weights = update(weights, Told(t, row, loss, 0.0))  # type: ignore[operator]
        for total, w in zip(sums, weights, strict=True):
            total.append(w)
    return weights, [math.fsum(s) / max(len(rows), 1) for s in sums]


@given(rows=STEPS, sigma=st.sampled_from([0.001, 0.1, 2.0]), ascent=st.booleans(), before=st.integers(0, 90))
def test_decaying_weights_over_many_steps(rows: list[list[int]], sigma: float, ascent: bool, before: int) -> None:
    rows = [[0, 0, 0]] * before + rows  # clauses that are first met late
    losses = [float(sum(map(abs, row))) for row in rows]
    weights, averages = run_decaying(DecayingRates(sigma, ascent), rows, losses)
    wanted, mean = plain(cda(sigma) if ascent else subgradient(sigma), rows, losses)
    assert close(weights, wanted)
    assert close(averages, mean)


@given(rows=STEPS, before=st.integers(0, 30))
def test_mira_over_many_steps(rows: list[list[int]], before: int) -> None:
    rows = [[0, 0, 0]] * before + rows
    losses = [float(sum(map(abs, row))) for row in rows]
    rates, state = AdditiveRates(margin=True), additive.new_state()
    state = grown(state._replace(steps=before), 3)
    for t, (row, loss) in enumerate(zip(rows, losses, strict=True), 1):
        square = float(sum(d * d for d in row))
        if square:
            size = additive.step_size(rates, loss, float(state.weight @ row), square)
            for i in np.flatnonzero(row).tolist():
                additive.update_clause(state, i, row[i], t, size)
        state = state._replace(steps=t)
    wanted, mean = plain(mira, rows, losses)
    assert close(state.weight, wanted)
    assert close(read(state, rates)[1], mean)


@pytest.mark.parametrize(
    ("rate", "penalty"), [(0.1, 0.01), (0.3, 2.5), (1.0, 1e-9), (0.5, 1.999), (1e-3, 1e-12), (2.0, 0.4999999)]
)
@pytest.mark.parametrize("begun", [False, True])
def test_penalised_weights_are_those_of_a_loop_over_all_steps_and_clauses(
    rate: float, penalty: float, begun: bool
) -> None:
    random = np.random.default_rng([int(1e6 * rate), int(1e6 * penalty), begun])
    clauses, steps = 40, 1_500
    # From clauses of nearly every step to one that is never met; large counts are a few.
    often = np.append(np.geomspace(0.9, 1e-3, clauses - 1), 0.0)
    delta = random.integers(-4, 5, size=(steps, clauses)) * (random.random((steps, clauses)) < often)
    delta[:, 3] *= 1_000
    start = random.normal(size=clauses) if begun else np.zeros(clauses)
    rates = PenalisedRates(rate, penalty)
    state = grown(additive.new_penalised_state(), clauses)
    if begun:
        state = started(state, rates, 0, start)
    weights, total, largest, checked = start.copy(), np.zeros(clauses), np.abs(start), 0
    for t, row in enumerate(delta, 1):
        weights = weights + rate * (row - penalty * (weights - start))
        total += weights
        largest = np.maximum(largest, np.abs(weights))
        for i in np.flatnonzero(row).tolist():
            additive.update_penalised_clause(state, i, int(row[i]), t, rates)
        if t % 617 == 0 or t == steps:
            found, mean = read(state._replace(steps=t), rates)
            # What large weights left of their rounding stays where they cross 0.
            for some, wanted in ((found, weights), (mean, total / t)):
                assert np.all(np.abs(some - wanted) <= 1e-9 * np.abs(wanted) + 1e-12 * largest)
            checked += 1
    assert checked == 3
    assert np.count_nonzero(delta.any(axis=0)) > 30
    assert np.count_nonzero(np.abs(total - steps * start) > 1e-6) > 30


@pytest.mark.parametrize(
    ("rate", "penalty"), [(0.1, 0.0), (0.1, 0.01), (0.3, 2.5), (1.0, 1e-9), (0.5, 1.999), (9.0, 0.1)]
)
@pytest.mark.parametrize("begun", [False, True])
def test_scaled_weights_are_those_of_a_loop_over_all_steps_and_clauses(
    rate: float, penalty: float, begun: bool
) -> None:
    random = np.random.default_rng([int(1e6 * rate), int(1e6 * penalty), begun, 7])
    clauses, steps = 40, 1_500
    often = np.append(np.geomspace(0.9, 1e-3, clauses - 1), 0.0)
    # Clauses of one grounding, of a hundred thousand, and of ever more of them.
    sizes = np.geomspace(1, 1e5, clauses).astype(np.int64)
    delta = random.integers(-4, 5, size=(steps, clauses)) * (random.random((steps, clauses)) < often) * sizes
    delta[:, 5] *= np.arange(steps)
    start = random.normal(size=clauses) if begun else np.zeros(clauses)
    rates = ScaledRates(rate, penalty)
    state = grown(scaled.new_state(), clauses)
    if begun:
        state = started(state, rates, 0, start)
    weights, total, checked = start.copy(), np.zeros(clauses), 0
    largest, squares, far = np.zeros(clauses), np.zeros(clauses), np.abs(start)
    for t, row in enumerate(delta, 1):
        grown_to = np.maximum(largest, np.abs(row))
        weights = start + (weights - start) * np.divide(largest, grown_to, out=np.ones(clauses), where=grown_to > 0)
        largest, squares = grown_to, squares + row.astype(float) ** 2
        own = np.divide(rate, largest * np.sqrt(squares), out=np.zeros(clauses), where=squares > 0)
        weights = weights + own * (row - penalty * (weights - start))
        total += weights
        far = np.maximum(far, np.abs(weights))
        for i in np.flatnonzero(row).tolist():
            scaled.update_clause(state, i, int(row[i]), t, rates)
        if t % 617 == 0 or t == steps:
            found, mean = read(state._replace(steps=t), rates)
            for some, wanted in ((found, weights), (mean, total / t)):
                assert np.all(np.abs(some - wanted) <= 1e-9 * np.abs(wanted) + 1e-12 * far)
            checked += 1
    assert checked == 3
    assert np.count_nonzero(np.abs(total - steps * start) > 1e-9) > 30


@given(rows=STEPS, times=st.sampled_from([2, 64, 1024]))
def test_scaled_steps_give_a_clause_of_more_groundings_as_much_less_weight(rows: list[list[int]], times: int) -> None:
    found = []
    for k in (1, times):
        state, rates = scaled.new_state(3), ScaledRates(0.25)
        for t, row in enumerate(rows, 1):
            for i in np.flatnonzero(row).tolist():
                scaled.update_clause(state, i, k * row[i], t, rates)
        found.append(read(state._replace(steps=len(rows)), rates))
    for one, more in zip(*found, strict=True):
        assert more * times == pytest.approx(one, rel=1e-12, abs=1e-15)


def test_a_penalised_weight_comes_to_rest_where_the_penalty_is_the_mean_count() -> None:
    rates, state = PenalisedRates(0.5, 0.25), additive.new_penalised_state(1)
    for t in range(1, 401):
        additive.update_penalised_clause(state, 0, 3, t, rates)
    assert read(state._replace(steps=400), rates)[0][0] == pytest.approx(3 / 0.25, rel=1e-12)
    # And rests at its start long after: sums of a geometric series, whose last terms are too small for a float.
    long = read(state._replace(steps=10**9), rates)
    assert long[0].tolist() == [0.0]
    assert long[1][0] * 1e9 == pytest.approx(state.total[0] + 12 * 0.875 / 0.125, rel=1e-12)


def test_harmonic_sums_are_exact_to_rounding() -> None:
    pairs = [(0, 0), (0, 1), (0, 63), (3, 9), (60, 70), (64, 65), (64, 5000), (5000, 5008), (5000, 5009), (0, 20_000)]
    for first, last in pairs:
        exact = sum((Fraction(1, s) for s in range(first + 1, last + 1)), Fraction(0))
        assert harmonic_between(first, last) == pytest.approx(float(exact), rel=4e-15, abs=0.0)
    assert harmonic_between(10**9, 10**9 + 10**6) == pytest.approx(math.log1p(1e-3) - 0.5e-9 + 0.5 / 1.001e9, rel=1e-13)


def test_averages_of_a_long_rest_are_harmonic_sums() -> None:
    rates, state = DecayingRates(1.0), decaying.new_state(1)
    decaying.update_clause(state, 0, 1, 4, 0.5)  # theta is 2 from step 4 on
    weights, averages = read(state._replace(steps=100_000), rates)
    assert weights.tolist() == [2 / 100_000]
    assert averages[0] == pytest.approx(2 * math.fsum(1 / s for s in range(4, 100_001)) / 100_000, rel=1e-14)


@given(
    t=st.integers(1, 50),
    sigma=st.sampled_from([0.01, 0.2, 1.0, 5.0]),
    loss=st.floats(-2, 9),
    delta=st.lists(st.integers(-3, 3), min_size=4, max_size=4).filter(any),
    weights=st.lists(st.floats(-2, 2), min_size=4, max_size=4),
)
def test_the_step_of_cda_maximises_the_dual(
    t: int, sigma: float, loss: float, delta: list[int], weights: list[float]
) -> None:
    """Equation 5.1 with lambda_{1:t-1} = -sigma (t - 1) w, as a function of alpha, by numerical maximisation."""
    w, d = np.array(weights), np.array(delta, dtype=float)
    dual = -sigma * (t - 1) * w

    def value(alpha: float) -> float:
        return -(sigma * t) / 2 * float(np.sum((-(dual - alpha * d) / (sigma * t)) ** 2)) + alpha * loss

    best = minimize_scalar(lambda alpha: -value(alpha), bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-10})
    size = decaying.step_size(DecayingRates(sigma), loss, float(w @ d), float(d @ d), t)
    alpha = size * sigma * t
    assert -1e-12 <= alpha <= 1 + 1e-12
    assert value(alpha) >= value(best.x) - 1e-9
    assert alpha == pytest.approx(best.x, abs=1e-4)
    after = -(dual - alpha * d) / (sigma * t)
    assert np.allclose(after, (t - 1) / t * w + size * d, rtol=1e-12, atol=1e-12)


def test_mira_makes_the_margin_the_loss() -> None:
    """The shortest change with that margin: after the step the labels score above the prediction by its loss."""
    rates, w, d = AdditiveRates(margin=True), np.array([0.3, -1.0, 0.5]), np.array([2.0, 1.0, -1.0])
    size = additive.step_size(rates, 3.0, float(w @ d), float(d @ d))
    assert float((w + size * d) @ d) == pytest.approx(3.0, rel=1e-14)
    assert additive.step_size(rates, -5.0, float(w @ d), float(d @ d)) == 0.0


def test_soft_evidence_is_part_of_the_margin_and_does_not_shrink() -> None:
    problem = Problem(1, [(0, [1], 1)], [0.0], prior=[-1.5])
    for parameters, wanted in (
        (CDA(0.001).parameters(), 2.5),
        (MIRA().parameters(), 2.5),
        (Subgradient(0.5).parameters(), 2.0),
    ):
        stream = Stream([problem] * 2, [(True,)] * 2, [1, 1], [])
        oracle = oracle_of(parameters, 1)
        oracle.step(problem, (True,))
        assert oracle.weights == [pytest.approx(wanted)]  # the loss is 1, and the prior says 1.5 against the label
        learner, _ = learned(parameters, stream.windows(1)[:1])
        assert learner.weights.tolist() == oracle.weights
        assert len(list(worlds(problem))) == 2


def test_functions_of_rules_have_names_of_their_own() -> None:
    """Machine code is kept by the name of a function: two lambdas of a module were once taken for each other."""
    given = [
        getattr(rule, name)
        for rule in set(rules._RULES.values())
        for name in ("weight_after", "total_after", "update_clause")
    ]
    names = [(each.__module__, each.__qualname__) for each in given]
    assert len(names) >= 15
    assert len(set(names)) == len(names)
    assert not [name for name in names if "<lambda>" in name[1]]
