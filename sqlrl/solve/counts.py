"""The counts n of every clause in a world, and the score that weights give it, in whole-array numpy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sqlrl.errors import NumericError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.ground.tied import block_ranks
from sqlrl.solve.structure import LiteralRows


def violated_rows(rows: LiteralRows, world: BoolArray) -> BoolArray:
    """Which rows a world of shape (n,) violates, shape (r,)."""
    if len(rows.indptr) == 1:
        return np.zeros(0, dtype=np.bool_)
    false = world[np.abs(rows.literals) - 1] == (rows.literals < 0)
    return np.asarray(np.logical_and.reduceat(false, rows.indptr[:-1]), dtype=np.bool_)


def _tied_violations(network: Network, worlds: Sequence[BoolArray]) -> list[IntArray] | None:
    """Return how many ground clauses of tied tables each of some worlds violates by clause, shape (m,); None where they must be listed."""
    inside = np.flatnonzero(network.block >= 0)
    block, rank = network.block[inside], block_ranks(network.block, len(network.block_exact))[0][inside]
    found = []
    for world in worlds:
        true = world[inside]
        member = np.full(len(network.block_exact), -1, dtype=np.int64)
        member[block[true]] = rank[true]
        if np.count_nonzero(true) > np.count_nonzero(member >= 0):
            # A world with several true members of a block.
            return None
        violated = np.zeros(len(network.clauses), dtype=np.int64)
        for table in network.rows.tied:
            sizes = table.clause.shape
            left, right = (
                np.where(member[blocks] < 0, size, member[blocks])
                for blocks, size in zip((table.left, table.right), sizes, strict=True)
            )
            shape = sizes[0] + 1, sizes[1] + 1
            pairs = np.zeros(shape, dtype=np.int64)
            np.add.at(pairs, (left, right), table.multiplicity)
            some = table.clause >= 0
            violated[table.clause[some]] += table.violated(pairs)[some].astype(np.int64)
        found.append(violated)
    return found


def _violations(network: Network, worlds: Sequence[BoolArray]) -> list[IntArray]:
    """Return how many groundings of each clause, of two literals or more, each of some worlds violates, shape (m,)."""
    tied = _tied_violations(network, worlds) if network.rows.tied else None
    rows = network.rows.listed if tied is None else network.rows.rest
    found = []
    for k, world in enumerate(worlds):
        violated = np.zeros(len(network.clauses), dtype=np.int64) if tied is None else tied[k]
        wrong = np.flatnonzero(violated_rows(rows, world))
        np.add.at(violated, rows.clause[wrong], rows.multiplicity[wrong])
        found.append(violated)
    return found


def _variable_part(network: Network, violated: IntArray, difference: npt.NDArray[np.int64]) -> IntArray:
    # units.T @ difference - sign * violated groundings by clause, all in int64.
    return np.asarray(network.units.T @ difference, dtype=np.int64) - network.sign * violated


def open_counts(network: Network, world: BoolArray) -> IntArray:
    """The part of the counts that depends on the world: n minus `network.base`, shape (m,)."""
    return _variable_part(network, _violations(network, [world])[0], world.astype(np.int64))


def counts(network: Network, world: BoolArray) -> npt.NDArray[np.object_]:
    """Return the exact counts n of all clauses in a world, shape (m,): Python integers, as base counts may exceed 64 bits."""
    return np.asarray(network.base + open_counts(network, world).astype(object), dtype=object)


def delta_counts(network: Network, a: BoolArray, b: BoolArray) -> IntArray:
    """Return how much larger the counts are in world `a` than in world `b`, shape (m,); the base counts cancel."""
    mine, other = _violations(network, [a, b])
    return _variable_part(network, mine - other, a.astype(np.int64) - b.astype(np.int64))


def soft_weights(network: Network, weights: npt.ArrayLike) -> FloatArray:
    """Weights as a float array in which hard clauses have 0; a NumericError if a weight of another clause is not finite."""
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != network.clauses.shape:
        raise NumericError(
            f"{network.clauses.size} clauses need as many weights, but the array has shape {given.shape}"
        )
    soft = np.where(network.hard, 0.0, given)
    wrong = np.flatnonzero(~np.isfinite(soft))
    if len(wrong):
        raise NumericError(
            f"the weight of clause {network.clauses[wrong[0]]} is {soft[wrong[0]]} ({len(wrong)} such weights): give a "
            "finite weight, or make the clause hard by ending it with a full stop"
        )
    return soft


def narrow(numbers: npt.NDArray[np.object_]) -> npt.NDArray[Any]:
    """Return exact integers as integers of 64 bits, with which sums of some are a tenth of the work, if they are far from overflow."""
    try:
        found = numbers.astype(np.int64)
    except OverflowError:
        return numbers
    return found if _are_narrow(found) else numbers


def narrow_sum(numbers: npt.NDArray[np.object_], more: IntArray) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return exact integers, and their sums with others, as `narrow` does."""
    found = narrow(numbers)
    if found.dtype != np.int64 or not _are_narrow(more):
        return numbers, numbers + more.astype(object)
    return found, found + more


def _are_narrow(numbers: IntArray) -> bool:
    return not len(numbers) or bool(numbers.max() < _NARROW and numbers.min() > -_NARROW)


_NARROW = 2**58


def score(network: Network, weights: npt.ArrayLike, world: BoolArray) -> float:
    """Return the unnormalised log-probability of a world: sum of w_i n_i over soft clauses (hard ones are not checked), plus the prior."""
    return weighted_score(soft_weights(network, weights), counts(network, world), network.prior, world)


def weighted_score(soft: FloatArray, number: npt.NDArray[Any], linear: FloatArray, world: BoolArray) -> float:
    """Sum of w_i n_i and of `linear`, shape (n,), over the true atoms, rounded once at the end."""
    # A number beyond the floats is the OverflowError that `float` raises, too.
    return _sum(chain(_terms(soft, number), _of_atoms(lambda part, true: np.where(true, part, 0.0), linear, world)))


PIECE = 1 << 16
"""So many atoms' numbers are Python's at a time: a float takes 32 bytes in a list."""


def _of_atoms(
    function: Callable[[FloatArray, BoolArray], FloatArray], linear: FloatArray, world: BoolArray
) -> Iterator[float]:
    """Yield what a function makes of the numbers of atoms and their truth, without zeros, which change no sum."""
    if linear.strides == (0,) and len(linear) and linear[0] == 0:
        return
    for start in range(0, len(linear), PIECE):
        found = function(linear[start : start + PIECE], world[start : start + PIECE])
        yield from found[found != 0].tolist()


def _sum(terms: Iterable[float]) -> float:
    """Add up, rounded once at the end; a NumericError if that overflows."""
    try:
        # Rounded once, so that the order of clauses does not matter.
        return math.fsum(terms)
    except (OverflowError, ValueError):
        raise NumericError("weights are so large that their sums overflow: scale them down") from None


class ViolationCost(NamedTuple):
    """What a world loses against one in which every grounding earns the most, whether or not there is such a world."""

    open: float  # of what the world decides; of a formula that is several clauses at most this
    constant: float  # of what the evidence alone decides: alike for all worlds


def violation_cost(
    network: Network,
    soft: FloatArray,
    number: npt.NDArray[Any],
    linear: FloatArray,
    world: BoolArray,
    *,
    supposed: npt.NDArray[np.object_] | None = None,
) -> ViolationCost:
    """Return what a world costs, in two parts.

    That is the weights (`soft`, 0 for hard clauses) of violated groundings, the absolute negative weights of satisfied ones, and the
    same of `linear`, shape (n,). `supposed` are the counts if what a partial network lacks were satisfied.
    """
    mine = np.flatnonzero(soft)
    weights, sign = soft[mine], network.sign[mine]
    total, broken, number = (narrow(x)[mine] for x in (network.total, network.evidence_violated, number))
    # Whole arrays of integers: learners ask thousands of times.
    violated = np.where(sign > 0, total - broken - number, number - broken)
    known = violated
    if supposed is not None:
        supposed = narrow(supposed)[mine]
        known = np.where(sign > 0, total - broken - supposed, supposed - broken)
    # What a partial network lacks of clauses that ought to fail does fail. Of a formula that is several clauses under one id the evidence may
    # satisfy some groundings: with a negative weight this is what they cost at most.
    satisfied = np.minimum(narrow(network.open)[mine] - known, total - broken - violated)
    wrong = np.where(weights * sign > 0, violated, satisfied)
    every = np.where(weights > 0, total - number, number)
    apart = _of_atoms(lambda part, true: np.maximum(np.where(true, -part, part), 0.0), linear, world)
    with np.errstate(over="ignore"):  # what overflows is no sum
        size = np.abs(weights)
        opened = _sum(chain(_terms(size, wrong), apart))
        return ViolationCost(opened, _sum(_terms(size, every - wrong)))


def _terms(size: FloatArray, number: npt.NDArray[Any]) -> list[float]:
    """Return products without zeros, which change no sum."""
    terms = size * number.astype(np.float64)
    found: list[float] = terms[terms != 0].tolist()
    return found
