"""Densities of one atom against numerical integration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sqlrl.learn.soft.atom_hinges import atom_hinges
from sqlrl.learn.soft.densities import COVARIANCES, VARIANCES, densities
from sqlrl.learn.soft.sample_hinges import hinge_network
from tests.effort import draws
from tests.learn.soft.oracles import CONSTANTS, SLOPES, WEIGHTS, Floats, integrals

HINGES = st.lists(st.tuples(st.integers(0, 2), SLOPES, CONSTANTS, st.integers(1, 3)), min_size=1, max_size=7)
KINDS = st.lists(st.booleans(), min_size=3, max_size=3)
BOUNDS = st.one_of(st.just((0.0, 1.0)), st.tuples(st.floats(0, 0.45), st.floats(0.55, 1)))

Listed = list[tuple[int, float, float, int]]


def hinge(kind: tuple[bool, bool], a: float, b: float, y: Floats) -> Floats:
    squared, equal = kind
    found = np.abs(a * y + b) if equal else np.maximum(a * y + b, 0.0)
    return found * found if squared else found


@settings(max_examples=draws(80))
@given(HINGES, KINDS, KINDS, st.lists(WEIGHTS, min_size=3, max_size=3), BOUNDS)
@example([(0, 1.0, 0.0, 1), (1, -1.0, 1.0, 1), (2, 1.0, -0.5, 3)], [True] * 3, [False] * 3, [1e6] * 3, (0.0, 1.0))
@example(
    [(0, 1.0, -0.5, 1), (1, 1.0, -0.5 - 1e-15, 1), (0, -1.0, 0.5, 2)],
    [False] * 3,
    [True] * 3,
    [1e6, 3.0, 0.0],
    (0.0, 1.0),
)
# A curvature of 1e-7 and less beside a slope, and alone.
@example([(0, 1.0, 1.0, 1), (1, 1.0, 0.0, 1)], [True, False, False], [False] * 3, [1e-7, 2.0, 0.0], (0.0, 1.0))
@example([(0, 1.0, 0.0, 1)], [True, False, False], [False] * 3, [1e-9, 0.0, 0.0], (0.1, 0.9))
def test_log_z_and_expectations_are_those_of_numerical_integration(
    listed: Listed, squared: list[bool], equal: list[bool], weights: list[float], bounds: tuple[float, float]
) -> None:
    lower, upper = bounds
    kinds = list(zip(squared, equal, strict=True))
    hard = [(3, {0: 1.0}, -upper, 1), (3, {0: -1.0}, lower, 1)]
    network = hinge_network(
        [(rule, {0: a}, b, times) for rule, a, b, times in listed] + hard,
        rules=4, hard=[3], squared=np.flatnonzero(squared).tolist(), equal=np.flatnonzero(equal).tolist(),
    )  # fmt: skip
    rows = atom_hinges(network, np.array([0.5]))
    found = densities(rows, np.array([*weights, 7.0]), second=COVARIANCES)

    def sums(y: Floats) -> Floats:
        total = np.zeros((3, len(y)))
        for rule, a, b, times in listed:
            total[rule] += times * hinge(kinds[rule], a, b, y)
        return total

    def energy(y: Floats) -> Floats:
        return np.array(weights) @ sums(y)

    points = [-b / a for _, a, b, _ in listed]
    log_z, expected = integrals(energy, [lambda y, r=r: sums(y)[r] for r in range(3)], lower, upper, points)
    # The nodes of the rule are rounded to floats, which shifts what it sums by that times how much the exponent varies where it matters.
    nodes = 4e-16 * min(float(energy(np.array([lower, upper])).max()), 50.0)
    assert found.log_z[0] == pytest.approx(log_z, rel=1e-9, abs=nodes)
    assert found.expected[:3] == pytest.approx(expected, rel=1e-8, abs=1e-15)
    assert found.expected[3] == 0
    spread = [
        lambda y, r=r, s=s: (sums(y)[r] - expected[r]) * (sums(y)[s] - expected[s]) for r, s in [(0, 0), (0, 1), (2, 1)]
    ]
    wanted = integrals(energy, spread, lower, upper, points)[1]
    # Far from where a hinge begins it is large and hardly varies, which costs digits.
    scale = 1e-7 * max(wanted[0], 0.0) + 1e-13 * (1.0 + max(expected) ** 2)
    assert [found.covariance[0, 0], found.covariance[0, 1], found.covariance[2, 1]] == pytest.approx(
        wanted, rel=1e-6, abs=scale
    )
    assert found.covariance[1, 0] == pytest.approx(found.covariance[0, 1], rel=1e-6, abs=scale)
    among = np.array([True, False, True, False])
    some = densities(rows, np.array([*weights, 7.0]), second=COVARIANCES, among=among).covariance
    assert np.array_equal(some[np.ix_(among, among)], found.covariance[np.ix_(among, among)])
    assert not some[~among].any()


@settings(max_examples=draws(60))
@given(st.tuples(SLOPES, CONSTANTS, st.integers(1, 3)), st.booleans(), WEIGHTS, BOUNDS)
def test_a_row_of_one_hinge_is_as_one_of_that_hinge_in_halves(
    one: tuple[float, float, int], square: bool, weight: float, bounds: tuple[float, float]
) -> None:
    """Rows of one hinge have code of their own; two rules with half its weight each have the general one."""
    a, b, times = one
    hard = [(2, {0: 1.0}, -bounds[1], 1), (2, {0: -1.0}, bounds[0], 1)]
    kind = {"rules": 3, "hard": [2], "squared": [0, 1] if square else []}
    single = atom_hinges(hinge_network([(0, {0: a}, b, times), *hard], **kind), np.array([0.5]))
    halves = atom_hinges(hinge_network([(0, {0: a}, b, times), (1, {0: a}, b, times), *hard], **kind), np.array([0.5]))
    found = densities(single, np.array([weight, 0.0, 0.0]), second=VARIANCES)
    other = densities(halves, np.array([weight / 2, weight / 2, 0.0]), second=COVARIANCES)
    assert found.log_z == pytest.approx(other.log_z, rel=1e-12, abs=1e-300)
    assert found.least == pytest.approx(other.least, rel=1e-14)
    assert found.expected[0] == pytest.approx(other.expected[0], rel=1e-11)
    assert found.covariance[0, 0] == pytest.approx(
        other.covariance[0, 1], rel=1e-6, abs=1e-15 * (1 + found.expected[0] ** 2)
    )


def test_a_hinge_that_begins_a_rounding_below_the_end_is_integrated_all_the_same() -> None:
    """Of (2 y - b)^2 with b an ulp below 2 there is 4 h^3 / 3, h = (2 - b) / 2, on which quadrature has no nodes; with a hinge that is 0 beside it."""
    h = (2 - np.nextafter(2.0, 0.0)) / 2
    listed = [(0, {0: 2.0}, -float(np.nextafter(2.0, 0.0)), 1), (1, {0: 1.0}, -0.5, 1)]
    rows = atom_hinges(hinge_network(listed, squared=[0, 1]), np.array([0.5]))
    found = densities(rows, np.array([1.0, 0.0]))
    assert found.log_z[0] == pytest.approx(-4 * h**3 / 3, rel=1e-12, abs=0)
    assert found.expected == pytest.approx([4 * h**3 / 3, 1 / 24], rel=1e-12, abs=0)


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 1.0), (0.25, 0.75), (0.1, 0.3)])
def test_without_weights_log_z_is_that_of_the_length(lower: float, upper: float) -> None:
    hard = [(1, {0: 1.0}, -upper, 1), (1, {0: -1.0}, lower, 1)]
    listed = [(0, {0: 1.0}, -0.2, 1), (0, {0: -1.0}, 0.7, 2), (0, {0: 1.0}, -0.26, 1)]
    rows = atom_hinges(hinge_network(listed + hard, hard=[1]), np.array([(lower + upper) / 2]))
    assert densities(rows, np.zeros(2)).log_z[0] == np.log(upper - lower)
