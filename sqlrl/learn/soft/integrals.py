"""Integrals of v^n exp(-s v - q v^2) from 0 to 1 for s, q >= 0, compiled, each to nearly all digits of a float.

A convex piecewise quadratic exponent falls apart into pieces that rise away from its least value, so these are all integrals that the
likelihood of an atom needs. Where it rises little they are a series. Else they are an integral to infinity less one that starts at 1,
and such an integral comes from erfcx or, far from the bell's middle, from a continued fraction, of which the exponential alone (q = 0)
is a case: nothing is divided by a small curvature.
"""

from __future__ import annotations

import math

import numpy as np

from sqlrl.ground.network import FloatArray
from sqlrl.kernels import inner, kernel

HIGHEST = 4
"""The highest power n: moments of a product of two squared hinges."""

FLAT = 1.0
"""Where s + q is below this the series is taken, of at most 40 terms: below, nearly equal integrals would be subtracted."""
FAR = 3.0
"""Standardised distance s / (2 sqrt(q)) from which the continued fraction is taken: from there the recurrence after erfc loses digits.

With both the largest relative errors of the moments 0 to 4 were 9e-16, 2e-14, 4e-13, 5e-12 and 8e-11, against 60 digits at 338 pairs of
s and q on either side of them.
"""

_BINOMIAL = np.array([[math.comb(n, k) for k in range(HIGHEST + 1)] for n in range(HIGHEST + 1)], dtype=np.float64)
_INVERSE = 1.0 / np.arange(1.0, 80.0)


@kernel
def rising_tail(s: float, q: float, top: int, found: FloatArray) -> None:
    """Fill `found[n]` with the integral of v^n exp(-s v - q v^2) from 0 to infinity, n = 0 to `top`; s and q are not both 0."""
    # The first is sqrt(pi / (4 q)) erfcx(z) at z = s / (2 sqrt(q)). By parts: n T[n - 1] = s T[n] + 2 q T[n + 1], and 1 = s T[0] + 2 q T[1].
    if s * s >= 4.0 * FAR * FAR * q:
        # Backward for the ratios T[n] / T[n - 1] (Gautschi 1961): the nearer the bell's middle, the more of them.
        near = 2.0 * math.sqrt(q) / s
        levels = top + 5 + int(near * (20.0 + 150.0 * near))
        ratio = 2.0 * (levels + 1) / (s + math.sqrt(s * s + 8.0 * q * (levels + 1)))
        for n in range(levels, 0, -1):
            ratio = n / (s + 2.0 * q * ratio)
            if n <= top:
                found[n] = ratio
        found[0] = 1.0 / (s + 2.0 * q * ratio)
        for n in range(1, top + 1):
            found[n] *= found[n - 1]
        return
    root = math.sqrt(q)
    z = s / (2.0 * root)
    found[0] = 0.5 * math.sqrt(math.pi) / root * math.exp(z * z) * math.erfc(z)
    if top >= 1:
        found[1] = (1.0 - s * found[0]) / (2.0 * q)
    for n in range(1, top):
        found[n + 1] = (n * found[n - 1] - s * found[n]) / (2.0 * q)


@kernel
def rising_moments(s: float, q: float, top: int, work: FloatArray, found: FloatArray) -> None:
    """Fill `found[n]` with the integral of v^n exp(-s v - q v^2) from 0 to 1, n = 0 to `top`; `work` has `top` + 1 places, too."""
    if s == 0.0 and q == 0.0:
        for n in range(top + 1):
            found[n] = 1.0 / (n + 1)
        return
    if s + q < FLAT:
        # The exponential's own series: (i + 1) c[i + 1] = -s c[i] - 2 q c[i - 1].
        for n in range(top + 1):
            found[n] = 0.0
        before, now, i = 0.0, 1.0, 0
        while abs(now) + abs(before) > 1e-18:
            for n in range(top + 1):
                found[n] += now * _INVERSE[i + n]
            before, now = now, -(s * now + 2.0 * q * before) / (i + 1)
            i += 1
        return
    rising_tail(s, q, top, found)
    rise = s + q
    if rise < 745.0:
        rest = math.exp(-rise)
        rising_tail(s + 2.0 * q, q, top, work)
        for n in range(top, -1, -1):
            beyond = 0.0
            for k in range(n + 1):
                beyond += _BINOMIAL[n, k] * work[k]
            found[n] -= rest * beyond


@inner
def shortfall(s: float, q: float, moments: FloatArray) -> float:
    """What moment 0 is below 1, where s + q is small to nearly all digits: by parts, from moments 1 and, unless q is 0, 2."""
    found = -math.expm1(-(s + q)) - s * moments[1]
    return float(found - 2.0 * q * moments[2]) if q > 0.0 else float(found)


@kernel
def mirrored(moments: FloatArray, top: int, found: FloatArray) -> None:
    """Fill `found[n]` with the integrals of (1 - v)^n in place of v^n, of a function that does not rise with v: no digit is lost."""
    for n in range(top + 1):
        total = 0.0
        for k in range(n, -1, -1):
            total += _BINOMIAL[n, k] * moments[k] * (1.0 if k % 2 == 0 else -1.0)
        found[n] = max(total, 0.0)
