"""Integrals against scipy's functions and its quadrature."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from scipy.integrate import quad

from sqlrl.learn.soft.integrals import FAR, FLAT, HIGHEST, mirrored, rising_moments, rising_tail

DIGITS = [1e-14, 1e-12, 1e-11, 1e-10, 1e-9]
"""What each moment may be off, relative: no more than rounding and the cancellation that the module tells of."""

# On either side of all thresholds, and far from them.
CURVES = [0.0, 1e-20, 1e-10, 1e-7, 1e-6, 1e-4, 0.01, FLAT / 2, FLAT, 3.0, 50.0, 1e3, 1e6, 1e9]
SLOPES = [0.0, 1e-12, 1e-6, 0.1, FLAT * (1 - 1e-9), FLAT, 1.5, 6.0, 40.0, 1e3, 1e7]
DISTANCES = [0.0, 0.5, FAR * (1 - 1e-12), FAR, FAR + 0.01, 5.0, 12.0, 300.0]


def moments(s: float, q: float) -> np.ndarray:
    found = np.empty(HIGHEST + 1)
    rising_moments(s, q, HIGHEST, np.empty(HIGHEST + 1), found)
    return found


def numbers(s: float, q: float, *, mirror: bool = False) -> list[float]:
    """The same by quadrature, on stretches that the exponential falls by no more than a few powers in."""
    scale = min(1.0, 1.0 / (s + np.sqrt(q))) if s + q else 1.0
    cuts = [0.0, *(x for x in scale * 2.0 ** np.arange(-2, 8) if x < 1), 1.0]

    def f(v: float, n: int) -> float:
        return float(((1 - v) if mirror else v) ** n * np.exp(-s * v - q * v * v))

    parts = list(itertools.pairwise(cuts))
    # What is left after 128 scales is nothing.
    parts = [(a, b) for a, b in parts if s * a + q * a * a < 700]
    return [sum(quad(f, a, b, args=(n,), epsabs=0, epsrel=5e-14)[0] for a, b in parts) for n in range(HIGHEST + 1)]


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.parametrize("q", CURVES)
def test_moments_are_those_of_quadrature(q: float) -> None:
    for s in [*SLOPES, *(2 * z * np.sqrt(q) for z in DISTANCES)]:
        error = np.abs(moments(s, q) / numbers(s, q) - 1)
        assert (error < DIGITS).all(), (s, error)


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@given(st.floats(-8, 8).map(lambda x: 10.0**x), st.floats(-8, 8).map(lambda x: 10.0**x))
def test_moments_about_either_end_are_those_of_quadrature(s: float, q: float) -> None:
    found, other = moments(s, q), np.empty(HIGHEST + 1)
    mirrored(found, HIGHEST, other)
    assert (np.abs(found / numbers(s, q) - 1) < DIGITS).all()
    assert (np.abs(other / numbers(s, q, mirror=True) - 1) < 1e-9).all()
    assert (np.abs(other[:3] / numbers(s, q, mirror=True)[:3] - 1) < 1e-11).all()


def test_a_linear_exponent_needs_no_curvature() -> None:
    """The integral of exp(-s v) is -expm1(-s) / s, however small or large s is."""
    for s in 10.0 ** np.arange(-15.0, 12.0, 0.5):
        assert moments(s, 0.0)[0] == pytest.approx(-np.expm1(-s) / s, rel=1e-14)


def test_the_integral_to_infinity_is_scipys_scaled_error_function() -> None:
    found = np.empty(1)
    for z in [*np.linspace(0, 30, 700), *10.0 ** np.arange(1.0, 100.0, 7.0)]:
        rising_tail(2 * z, 1.0, 0, found)
        assert found[0] == pytest.approx(special.erfcx(z) * np.sqrt(np.pi) / 2, rel=4e-15)
