"""Loss-augmented most probable worlds: the separation oracle of margin-based learners."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from sqlrl.errors import InputError
from sqlrl.ground.network import BoolArray, FloatArray, Network
from sqlrl.solve.choose import Method, Options
from sqlrl.solve.differing import differing
from sqlrl.solve.mpe import Program, mpe
from sqlrl.solve.result import MPEResult, status_of
from sqlrl.solve.weighed import weigh

Loss = Literal["hamming", "zero_one"]


def hamming(world: BoolArray) -> FloatArray:
    """The Hamming loss of a world as `mpe(..., loss=)` wants it: what each true atom adds.

    Parameters
    ----------
    world : bool array, shape (n,)
        The observed world.

    Returns
    -------
    float array, shape (n,)
        1 for atoms that are false there, -1 for true ones; the number of true ones is left out, a constant.

    Examples
    --------
    >>> hamming(np.array([True, False])).tolist()
    [-1.0, 1.0]
    """
    return np.where(world, -1.0, 1.0)


def augmented_mpe(
    network: Network | Program,
    weights: npt.ArrayLike,
    observed: BoolArray,
    *,
    loss: Loss = "hamming",
    method: Method = "auto",
    deterministic_limit: float | None = None,
    seed: int = 0,
) -> MPEResult:
    """The world that maximises score plus loss against the observed world.

    Parameters
    ----------
    network, weights, method, deterministic_limit, seed
        As for `solve.mpe.mpe`.
    observed : bool array, shape (n,)
        The observed world; it need not keep the hard clauses.
    loss : {"hamming", "zero_one"}
        The number of atoms that differ from the observed world, or 1 for every other world.

    Returns
    -------
    MPEResult
        Its objective is the score plus the whole loss.

    Raises
    ------
    InputError
        An unknown loss, or an observed world of another shape.
    ConflictError, NumericError, UnsolvedError
        As `mpe`.

    Notes
    -----
    Source: Huynh (2011), section 4.3.2. There the 0/1 loss is left to ordinary inference, since it adds the same to
    every wrong world; that misses the best wrong world where the observed one is most probable, so that here it is
    looked for then (`solve.differing.differing`).

    Examples
    --------
    >>> from sqlrl.solve.sample import network
    >>> two = network(2, [(0, [1]), (1, [-2])])
    >>> observed = np.array([True, False])
    >>> augmented_mpe(two, [2.0, 0.25], observed).world.tolist()
    [True, True]
    >>> result = augmented_mpe(two, [2.0, 0.25], observed, loss="zero_one")
    >>> result.world.tolist(), result.objective
    ([True, True], 3.0)
    """
    ground = network.structure.network if isinstance(network, Program) else network
    if observed.shape != ground.atoms.shape:
        raise InputError(f"the observed world has shape {observed.shape}, but the network {len(ground.atoms)} atoms")
    if loss == "hamming":
        result = mpe(
            network, weights, method=method, loss=hamming(observed), deterministic_limit=deterministic_limit, seed=seed
        )
        return replace(result, report=replace(result.report, objective=result.objective + int(observed.sum())))
    if loss != "zero_one":
        raise InputError(f"unknown loss {loss!r}: choose 'hamming' or 'zero_one'")
    result = mpe(network, weights, method=method, deterministic_limit=deterministic_limit, seed=seed)
    if not np.array_equal(result.world, observed):
        return replace(result, report=replace(result.report, objective=result.objective + 1))
    options = Options(method, deterministic_limit, seed)
    other = differing(weigh(ground, weights), observed, options)
    taken = other.behind < 1
    gain = 1 - other.behind if taken else 0.0
    # No other world scores more than `lowest` less than the observed one.
    lowest = max(other.behind - other.gap, -result.gap)
    gap = max(1 - lowest - gain, 0.0)
    precision = result.report.precision
    report = replace(
        result.report,
        objective=result.objective + gain,
        gap=max(gap, precision),
        status=status_of(gap <= precision, precision, result.report.magnitude),
    )
    return MPEResult(other.world if taken else result.world, report)
