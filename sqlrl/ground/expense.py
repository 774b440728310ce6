"""Whether a constraint is cheap to enforce: the "inexpensive" test of selectively constrained training.

Huynh (2011), section 7.2: a constraint is inexpensive if the number of its factors times their degree is linear in the
number of its nodes. The source does not say how to see that in data. Here:

- if the examples differ enough in size, by the exponent of growth: the slope of log(factors * degree) over log(nodes), a point for
  each example. A chain of n atoms has n - 1 factors of degree 2, so a slope near 1 (a little above, as the n - 1 tells in short
  chains); all pairs have a slope near 2, all triples near 3;
- if they do not, as where all data are one example, by density: factors for each node. A chain has less than one, whatever its
  degree, a grid two; all pairs have as many as half the atoms.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sqlrl.errors import InputError

GROWTH = 1.5
"""Halfway between a chain and all pairs; chains of three atoms or more stay below it."""

DENSITY = 2.0
"""Factors for each node: what a grid has."""

SPREAD = 2.0
"""The largest example must have this many times the nodes of the smallest for a slope to mean anything."""


def growth_exponent(nodes: npt.ArrayLike, edges: npt.ArrayLike) -> float | None:
    """Return the slope of log(edges) over log(nodes) by least squares, one point for each example.

    Parameters
    ----------
    nodes, edges : int array, shape (e,)
        Positive.

    Returns
    -------
    float or None
        None if the largest example has less than `SPREAD` times the nodes of the smallest.

    Raises
    ------
    InputError
        The arrays differ in length, or a number is not positive.

    Examples
    --------
    A chain of 10, 20 and 40 atoms, and all pairs of as many:

    >>> n = np.array([10, 20, 40])
    >>> round(growth_exponent(n, 2 * (n - 1)), 2), round(growth_exponent(n, n * (n - 1)), 2)
    (1.06, 2.06)
    >>> growth_exponent([10, 11], [18, 20]) is None
    True
    """
    x, y = np.asarray(nodes, dtype=np.float64), np.asarray(edges, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or (x <= 0).any() or (y <= 0).any():
        raise InputError(f"nodes and edges must be positive and of one length, not of shapes {x.shape} and {y.shape}")
    if not len(x) or x.max() < SPREAD * x.min():
        return None
    x, y = np.log(x), np.log(y)
    x -= x.mean()
    return float(x @ y / (x @ x))


def is_inexpensive(
    nodes: npt.ArrayLike,
    factors: npt.ArrayLike,
    edges: npt.ArrayLike,
    *,
    growth: float = GROWTH,
    density: float = DENSITY,
) -> bool:
    """Return whether a constraint is inexpensive, given its sizes in the examples where it has factors.

    Parameters
    ----------
    nodes, factors, edges : int array, shape (e,)
        Positive; edges are factors times their degree.
    growth : float
        The largest exponent of growth that counts as linear.
    density : float
        The most factors for each node, all examples together, where sizes do not differ.

    Examples
    --------
    >>> is_inexpensive([10, 20, 40], [9, 19, 39], [18, 38, 78]), is_inexpensive([20], [190], [380])
    (True, False)
    >>> is_inexpensive([], [], [])
    True
    """
    slope = growth_exponent(nodes, edges)
    if slope is not None:
        return slope <= growth
    return float(np.sum(factors)) <= density * float(np.sum(nodes))


def check_thresholds(growth: object, density: object) -> None:
    """Refuse thresholds that are no positive numbers.

    Raises
    ------
    InputError

    Examples
    --------
    >>> check_thresholds(0, 2)
    Traceback (most recent call last):
    sqlrl.errors.InputError: growth=0 must be a positive number: a chain has 1, all pairs have 2
    """
    for name, value, hint in (
        ("growth", growth, "a chain has 1, all pairs have 2"),
        ("density", density, "a chain has 1 factor for each node, a grid 2"),
    ):
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value <= 0:  # type: ignore[arg-type,operator]
            raise InputError(f"{name}={value!r} must be a positive number: {hint}")
