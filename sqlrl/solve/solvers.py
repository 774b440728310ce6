"""What calls of outside solvers need: weights as integers, with what the rounding costs, and a thread that Ctrl-C can leave."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from sqlrl.errors import NumericError
from sqlrl.ground.network import FloatArray, IntArray

T = TypeVar("T")
RELATIVE_ERROR = 1e-6
"""How much of a coefficient rounding may lose."""

LARGEST_TOTAL = 2.0**58
"""Upper limit of the sum of absolute integer coefficients: CP-SAT adds them in 64 bits and needs room."""

WANTED_ERROR = 1e-9
"""What rounding loses at most while the sum stays below `COMFORTABLE_TOTAL`; CP-SAT is as fast with it."""

COMFORTABLE_TOTAL = 2.0**50
"""Sums below this are exact also in CP-SAT's floating-point relaxation."""

FEW = 64

SMALLEST = 2.0**-900
"""Coefficients below this, and sums above its inverse, leave no room for a scale in a float."""


def in_background(work: Callable[[], T], stop: Callable[[], object] | None = None) -> T:
    """Run a long call that releases Python's lock in a thread of its own, so that Ctrl-C reaches this one, which then asks it to `stop`."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        """Work, and keep what comes of it."""
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
            errors.append(error)

    # Not a daemon: a process that is to end waits for it, since solvers have threads of their own, which must not outlive what they work on.
    thread = threading.Thread(target=run)
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        if stop is not None:
            stop()
            thread.join()
        raise
    if errors:
        raise errors[0]
    return results[0]


@dataclass(frozen=True, eq=False)
class Scaled:
    """Integer coefficients, shape (k,): given ones times `scale`, a power of two, so that multiplying is exact, and rounded."""

    coefficients: IntArray
    scale: float
    # The sum of the absolute rounding errors in the units of the given coefficients: no difference between two worlds is off by more.
    lost: float


def _exponent(magnitude: FloatArray, smallest: float, total: float) -> int | None:
    # The smallest exact scale up to a relative error of `RELATIVE_ERROR` comes first; then the scale that `WANTED_ERROR` asks for, as far as
    # `COMFORTABLE_TOTAL` allows, but at least the one that `RELATIVE_ERROR` needs.
    enough = int(np.ceil(np.log2(0.5 / RELATIVE_ERROR) - np.log2(smallest)))
    few = magnitude[:FEW]
    for e in range(int(np.floor(-np.log2(smallest))), enough):
        # Of coefficients that no such scale makes integers, the first few show it.
        if np.all(np.ldexp(few, e) % 1.0 == 0) and np.all(np.ldexp(magnitude, e) % 1.0 == 0):
            enough = e
            break
    else:
        wanted = int(np.ceil(np.log2(0.5 / WANTED_ERROR) - np.log2(smallest)))
        enough = max(enough, min(wanted, int(np.floor(np.log2(COMFORTABLE_TOTAL) - np.log2(total)))))
    return enough if np.ldexp(total, enough) <= LARGEST_TOTAL else None


def scale_to_integers(coefficients: FloatArray, name: Callable[[int], str] = str) -> Scaled:
    """Scale finite coefficients by a power of two that loses nothing, or else a billionth to a millionth of each; zeros stay zero."""
    magnitude = np.abs(coefficients[coefficients != 0])
    if len(magnitude) == 0:
        return Scaled(np.zeros(len(coefficients), dtype=np.int64), 1.0, 0.0)
    with np.errstate(over="ignore"):
        smallest, total = float(magnitude.min()), float(magnitude.sum())
    exponent = _exponent(magnitude, smallest, total) if smallest > SMALLEST and total < 1 / SMALLEST else None
    if exponent is None:
        low = int(np.flatnonzero(np.abs(coefficients) == smallest)[0])
        high = int(np.argmax(np.abs(coefficients)))
        raise NumericError(
            f"integer weights cannot hold both {coefficients[low]:.6g} ({name(low)}) and {coefficients[high]:.6g} "
            f"({name(high)}): the sum of all {len(magnitude)} coefficients is {total:.6g}, and a coefficient below "
            f"{total * 0.5 / RELATIVE_ERROR / LARGEST_TOTAL:.3g} would lose more than {RELATIVE_ERROR:g} of itself; "
            "set such small weights to 0 or make the huge ones hard clauses"
        )
    integers = np.rint(np.ldexp(coefficients, exponent))
    lost = float(np.abs(np.ldexp(integers, -exponent) - coefficients).sum())
    return Scaled(integers.astype(np.int64), float(np.ldexp(1.0, exponent)), lost)
