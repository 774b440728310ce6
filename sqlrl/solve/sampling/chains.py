"""Several Markov chains side by side: their worlds, their sums, and where their samples go."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sqlrl import markup
from sqlrl.errors import InputError, NumericError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.kernels import inner
from sqlrl.progress import Stage
from sqlrl.solve.occurrences import Int32Array, Occurrences
from sqlrl.solve.sampling.diagnostics import SampleMoments, start_moments
from sqlrl.solve.weighted import WeightedNetwork
from sqlrl.wording import counted

MEASURED, SURE = 4, 0.8
"""Under a time limit: so many worlds of each chain are drawn at once while their speed is measured, and that share of the time is used
that they should take, since speed varies."""

SLICE = 10_000_000
"""Literals that one call of a kernel touches before Python looks for Ctrl-C: about a tenth of a second."""

ROW = np.dtype(
    [
        ("cost", np.float64),  # infinite for hard rows
        ("first", np.int32),  # its literals: `literals[first:end]`
        ("end", np.int32),
        ("count", np.int32),  # true literals
        ("left", np.int32),  # of a slice: literals not frozen; -1 if the row is not kept, or a frozen literal is true
        ("stamp", np.int32),  # of a slice: the last piece that saw the row
        ("place", np.int32),  # where it stands among broken rows
    ]
)

ATOM = np.dtype(
    [
        ("linear", np.float64),
        ("first", np.int32),  # its rows: `occurrence[first:end]`
        ("end", np.int32),
        ("block", np.int32),  # -1 for none
        ("true", np.bool_),
        ("frozen", np.bool_),  # of a slice: all its worlds have this value
        ("seen", np.bool_),
        ("bit", np.int8),  # of a piece of a slice: its place in a world of the piece, -1 outside
    ],
    align=True,
)

BLOCK = np.dtype(
    [
        ("first", np.int32),  # its members: `member[first:end]`
        ("end", np.int32),
        ("holder", np.int32),  # its true member, -1 for none
        ("free", np.int32),  # of a slice: members not frozen
        ("exact", np.bool_),
        ("seen", np.bool_),
    ],
    align=True,
)

Records = npt.NDArray[np.void]


class ChainState(NamedTuple):
    """The world of one chain, as kernels read and change it; few arrays, because each costs a little at every call."""

    row: Annotated[Records, ROW]
    atom: Annotated[Records, ATOM]
    block: Annotated[Records, BLOCK]
    literals: Int32Array  # signed atoms of the rows
    occurrence: Int32Array  # of the atoms: 2 * row, plus 1 where the literal is positive
    member: Int32Array  # atoms of the blocks


def start_state(weighted: WeightedNetwork, occurrences: Occurrences, world: BoolArray) -> ChainState:
    """Return the state of a chain that starts in a world in which blocks and hard rows hold; chains share the arrays of `occurrences`."""
    if len(weighted.literals) >= 2**31:
        raise NumericError(f"{len(weighted.literals)} literals are too many for samplers, which index 2**31")
    row, atom = np.zeros(len(weighted.cost), ROW), np.zeros(len(weighted.atoms), ATOM)
    block = np.zeros(len(weighted.block_exact), BLOCK)
    row["cost"], row["first"], row["end"] = weighted.cost, weighted.indptr[:-1], weighted.indptr[1:]
    atom["linear"], atom["first"], atom["end"] = weighted.linear, occurrences.start[:-1], occurrences.start[1:]
    atom["block"], atom["bit"] = weighted.block, -1
    block["first"], block["end"] = occurrences.member_start[:-1], occurrences.member_start[1:]
    block["holder"], block["exact"] = -1, weighted.block_exact
    atom["true"] = world
    true = np.flatnonzero(world & (weighted.block >= 0))
    block["holder"][weighted.block[true]] = true
    holds = world[np.abs(weighted.literals) - 1] == (weighted.literals > 0)
    row["count"] = np.bincount(weighted.row[holds], minlength=len(row))
    return ChainState(row, atom, block, occurrences.literals, occurrences.occurrence, occurrences.member)


@inner
def toggle(state: ChainState, k: int) -> None:
    """Flip one atom, block or not, and keep the numbers of true literals."""
    atom = state.atom[k]
    value = not atom.true
    atom.true = value
    if atom.block >= 0:
        state.block[atom.block].holder = k if value else -1
    for o in range(atom.first, atom.end):
        occurrence = state.occurrence[o]
        if ((occurrence & 1) == 1) == value:
            state.row[occurrence >> 1].count += 1
        else:
            state.row[occurrence >> 1].count -= 1


@dataclass(frozen=True)
class Effort:
    """How much to sample; the same seed gives the same numbers, whatever `threads` is, unless time is limited."""

    samples: int = 1000  # worlds that each chain draws, 1 or more, after burn-in
    burn_in: int = 100  # worlds of each chain that are forgotten
    chains: int = 4
    seed: int = 0
    threads: int = 1  # chains that run at the same time
    # When sampling should end, by `time.perf_counter`: a quarter of the time that is left goes to burning in at the most, then as many worlds
    # are drawn as speed allows, two at least; if first worlds take long, there are fewer chains.
    until: float | None = None
    stopped: bool = False  # there are fewer samples or chains than asked for
    _repr_html_ = markup.field_table

    def __post_init__(self) -> None:
        for name, least in (("samples", 1), ("burn_in", 0), ("chains", 1), ("seed", 0), ("threads", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise InputError(f"{name} is {value!r}: give an integer of {least} or more")


@dataclass(frozen=True, eq=False)
class SampleBatch:
    """Consecutive samples of one chain."""

    chain: int
    first: int  # the number of the first sample after burn-in, from 0
    worlds: BoolArray  # shape (samples, n)
    # Shape (n,): the running estimate of each atom's probability over the samples of this chain so far.
    mean: FloatArray


class SampleSink(Protocol):
    """Where samples go, for example a table."""

    def write(self, batch: SampleBatch) -> None:
        """Take the next samples of a chain; batches of one chain come in order, and chains take turns."""


class Chain(Protocol):
    """One chain of a sampler."""

    def advance(self, total: FloatArray, square: FloatArray, samples: int, worlds: BoolArray) -> None:
        """Draw samples, and their worlds if `worlds` has rows; add each atom's probability given the rest to `total`, its square to `square`."""


def run_chains(
    chains: Sequence[Chain],
    weighted: WeightedNetwork,
    effort: Effort,
    write: Callable[[SampleBatch], None] | None = None,
) -> SampleMoments:
    """Run chains, which are at their first world, to their end, in slices, so that Ctrl-C stops them soon; `write` is called with the samples."""
    n, draws = len(weighted.atoms), effort.samples
    longest = max(1, SLICE // (n + len(weighted.literals) + len(weighted.cost) + 1))
    pool = ThreadPoolExecutor(min(effort.threads, len(chains)))
    what = f"drawing worlds with {counted(len(chains), 'chain')}"
    try:
        with Stage(what, effort.burn_in + effort.samples, even=True) as stage:
            scratch = [np.zeros((2, n)) for _ in chains]
            none = np.empty((0, n), dtype=np.bool_)
            begun, burned = time.perf_counter(), 0
            limit = None if effort.until is None else max(effort.until - begun, 0.0)
            # Speed is measured while burning in: without that, a few worlds are drawn to be forgotten.
            burn_in = effort.burn_in if limit is None else max(effort.burn_in, MEASURED)
            for _, step in _steps(np.array([0, burn_in]), longest if limit is None else min(longest, MEASURED)):
                turns = [pool.submit(c.advance, s[0], s[1], step, none) for c, s in zip(chains, scratch, strict=True)]
                for turn in turns:
                    turn.result()
                stage.advance(step)
                burned += step
                if limit is not None and time.perf_counter() - begun > limit / 4:
                    break
            if limit is not None:
                now = time.perf_counter()
                fitting = (limit - (now - begun)) / ((now - begun) / burned)
                draws = min(draws, max(int(SURE * fitting), 2))
            moments = start_moments(n, len(chains), draws, burned)
            done, batches = 0, len(moments.bounds) - 1
            for batch, step in _steps(moments.bounds, longest):
                half = min(1, 2 * batch // batches)
                worlds = [np.empty((step if write else 0, n), dtype=np.bool_) for _ in chains]
                turns = [
                    pool.submit(c.advance, moments.total[i, batch], moments.square[i, half], step, worlds[i])
                    for i, c in enumerate(chains)
                ]
                for i, turn in enumerate(turns):
                    turn.result()
                    if write:
                        mean = moments.total[i].sum(axis=0) / (done + step)
                        write(SampleBatch(i, done, worlds[i], mean))
                done += step
                stage.advance(step)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return moments


def _steps(bounds: IntArray, longest: int) -> list[tuple[int, int]]:
    # Each batch in steps of at most `longest` samples: (batch, samples).
    found = []
    for batch, size in enumerate(np.diff(bounds).tolist()):
        found += [(batch, min(longest, size - at)) for at in range(0, size, longest)]
    return found
