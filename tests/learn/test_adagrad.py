"""The update of one clause after the other against equation 1 applied at every step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.ground.network import FloatArray
from sqlrl.learn.adagrad import AdaGradRates, new_state, update_clause
from sqlrl.learn.rules import grown, read

RATES = st.builds(
    AdaGradRates,
    st.sampled_from([0.0, 0.001, 0.1, 0.5, 3.0]),
    st.sampled_from([0.01, 1.0, 7.0]),
    st.sampled_from([0.0, 1e-3, 1.0, 10.0]),
)
DELTAS = st.lists(st.lists(st.sampled_from([0, 0, 0, 0, 1, -1, 2, -5]), min_size=3, max_size=3), max_size=40)


def plain(deltas: list[list[int]], rates: AdaGradRates) -> tuple[list[float], list[float]]:
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


def run(deltas: list[list[int]], rates: AdaGradRates, before: int = 0) -> tuple[FloatArray, FloatArray]:
    """Weights and averages of three clauses that are first met after `before` steps."""
    state = grown(new_state()._replace(steps=before), 3)
    for step, row in enumerate(deltas, before + 1):
        for i in np.flatnonzero(row).tolist():
            update_clause(state, i, row[i], step, rates)
    return read(state._replace(steps=before + len(deltas)), rates)


@given(deltas=DELTAS, rates=RATES, before=st.sampled_from([0, 0, 1, 10]))
def test_every_step_is_equation_1(deltas: list[list[int]], rates: AdaGradRates, before: int) -> None:
    """Clauses that are met late are as if there from the start."""
    for found, wanted in zip(run(deltas, rates, before), plain([[0] * 3] * before + deltas, rates), strict=True):
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12)


def test_the_penalty_zeroes_and_keeps_zero() -> None:
    """With delta = 0 the first step moves by sign(dn) * (1 - lambda); then lambda goes off at each step."""
    rates = AdaGradRates(0.25, 1.0, 0.0)
    found = [run([[1, -1, 0], *[[0] * 3] * later], rates) for later in range(5)]
    assert [weights.tolist() for weights, _ in found] == [
        [0.75, -0.75, 0.0],
        [0.5, -0.5, 0.0],
        [0.25, -0.25, 0.0],
        [0.0] * 3,
        [0.0] * 3,
    ]
    assert run([[1, -1, 0], *[[0] * 3] * 5], rates)[1].tolist() == [0.25, -0.25, 0.0]


def test_averages_of_long_decays_are_exact() -> None:
    """A quarter of a million steps of discount, in dyadic numbers, where every sum is exact."""
    rates, state = AdaGradRates(2.0**-20, 1.0, 1.0), new_state(1)
    update_clause(state, 0, 1, 1, rates)
    weights, averages = read(state._replace(steps=2**18), rates)
    first = 0.5 - 2.0**-21
    assert weights.tolist() == [first - (2**18 - 1) * 2.0**-21]
    total = 2**18 * first - 2.0**-21 * (2**18 - 1) * 2**18 / 2
    assert averages.tolist() == [total / 2**18]
