"""The update of one clause after the other against equation 1 applied at every step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.learn.adagrad import Rates, adagrad_step, averaged_weights, grown, new_state, weights_now

RATES = st.builds(
    Rates,
    st.sampled_from([0.0, 0.001, 0.1, 0.5, 3.0]),
    st.sampled_from([0.01, 1.0, 7.0]),
    st.sampled_from([0.0, 1e-3, 1.0, 10.0]),
)
DELTAS = st.lists(st.lists(st.sampled_from([0, 0, 0, 0, 1, -1, 2, -5]), min_size=3, max_size=3), max_size=40)


def plain(deltas: list[list[int]], rates: Rates) -> tuple[list[float], list[float]]:
    """Equation 1 for every clause at every step; the weights and their averages."""
    weights, squares, sums = [0.0] * 3, [0.0] * 3, [[0.0] for _ in range(3)]
    for row in deltas:
        for i, dn in enumerate(row):
            squares[i] += dn * dn
            h = rates.delta + math.sqrt(squares[i])
            if h > 0:
                u = weights[i] + rates.learning_rate / h * dn
                left = abs(u) - rates.regularization * rates.learning_rate / h
                weights[i] = math.copysign(max(left, 0.0), u)
            sums[i].append(weights[i])
    return weights, [math.fsum(s) / max(len(deltas), 1) for s in sums]


@given(deltas=DELTAS, rates=RATES)
def test_every_step_is_equation_1(deltas: list[list[int]], rates: Rates) -> None:
    state = new_state(3)
    for row in deltas:
        state = adagrad_step(state, np.arange(3), np.array(row), rates)
    weights, averages = plain(deltas, rates)
    assert weights_now(state, rates) == pytest.approx(weights, rel=1e-12, abs=1e-12)
    assert averaged_weights(state, rates) == pytest.approx(averages, rel=1e-12, abs=1e-12)


@given(deltas=DELTAS, rates=RATES, before=st.integers(0, 10))
def test_late_clauses_are_as_if_there_from_the_start(deltas: list[list[int]], rates: Rates, before: int) -> None:
    state = new_state(0)
    for _ in range(before):
        state = adagrad_step(state, np.empty(0, np.int64), np.empty(0, np.int64), rates)
    state = grown(state, 3)
    for row in deltas:
        state = adagrad_step(state, np.arange(3), np.array(row), rates)
    weights, averages = plain([[0] * 3] * before + deltas, rates)
    assert weights_now(state, rates) == pytest.approx(weights, rel=1e-12, abs=1e-12)
    assert averaged_weights(state, rates) == pytest.approx(averages, rel=1e-12, abs=1e-12)


def test_a_step_leaves_its_argument_alone() -> None:
    state = new_state(1)
    adagrad_step(state, np.array([0]), np.array([3]), Rates())
    assert (state.steps, state.weight.tolist(), state.last.tolist()) == (0, [0.0], [0])


def test_the_penalty_zeroes_and_keeps_zero() -> None:
    """With delta = 0 the first step moves by sign(dn) * (1 - lambda); then lambda goes off at each step."""
    rates = Rates(0.25, 1.0, 0.0)
    state = adagrad_step(new_state(2), np.array([0, 1]), np.array([1, -1]), rates)
    seen = []
    for _ in range(5):
        seen.append(weights_now(state, rates).tolist())
        state = adagrad_step(state, np.empty(0, np.int64), np.empty(0, np.int64), rates)
    assert seen == [[0.75, -0.75], [0.5, -0.5], [0.25, -0.25], [0.0, 0.0], [0.0, 0.0]]
    assert averaged_weights(state, rates).tolist() == [0.25, -0.25]


def test_averages_of_long_decays_are_exact() -> None:
    """A million steps of discount, in dyadic numbers, where every sum is exact."""
    rates = Rates(2.0**-20, 1.0, 1.0)
    state = adagrad_step(new_state(1), np.array([0]), np.array([1]), rates)._replace(steps=2**18)
    first = 0.5 - 2.0**-21
    assert weights_now(state, rates).tolist() == [first - (2**18 - 1) * 2.0**-21]
    total = 2**18 * first - 2.0**-21 * (2**18 - 1) * 2**18 / 2
    assert averaged_weights(state, rates).tolist() == [total / 2**18]
