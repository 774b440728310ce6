"""Marginals by Gibbs sampling: each atom or block in turn, given all others; tens of millions of updates a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.progress import at_stage
from sqlrl.solve.occurrences import Int32Array, Occurrences, occurrences, randomise
from sqlrl.solve.randomness import Stream, streams, unit
from sqlrl.solve.restriction import component_labels
from sqlrl.solve.sampling.chains import ChainState, Effort, SampleBatch, run_chains, start_state, toggle
from sqlrl.solve.sampling.diagnostics import SampleEstimate, estimate
from sqlrl.solve.sampling.starts import SETTLE, opposite, unless_much_worse
from sqlrl.solve.weighted import WeightedNetwork


class Sweep(NamedTuple):
    """What a sweep needs besides the state of its chain."""

    # Atoms outside of blocks as they are, blocks b as -b - 1, in ascending order of their first atoms.
    visit: Int32Array
    gain: FloatArray  # room for what each state of the widest block is worth
    fixes: IntArray  # room for the hard rows that each of them mends


def start_sweep(weighted: WeightedNetwork) -> Sweep:
    """The variables of a weighted network and scratch memory for one chain."""
    start, members = weighted.block_members
    size = np.diff(start)
    blocks = np.flatnonzero(size)
    alone = np.flatnonzero(weighted.block < 0)
    at = np.concatenate([alone, members[start[blocks]]])
    visit = np.concatenate([alone, -blocks - 1])[np.argsort(at, kind="stable")].astype(np.int32)
    widest = int(size.max(initial=0)) + 1
    return Sweep(visit, np.empty(widest), np.empty(widest, dtype=np.int64))


@inner
def _worth(state: ChainState, k: int) -> tuple[float, int, int]:
    # What the false atom k of a block adds when it becomes true; hard rows that it mends and that it breaks.
    gain, fixes, breaks = state.atom[k].linear, 0, 0
    for o in range(state.atom[k].first, state.atom[k].end):
        occurrence = state.occurrence[o]
        row = state.row[occurrence >> 1]
        if (occurrence & 1) == 1:
            if row.count == 0:
                if row.cost == np.inf:
                    fixes += 1
                else:
                    gain += row.cost
        elif row.count == 1:
            if row.cost == np.inf:
                breaks += 1
            else:
                gain -= row.cost
    return gain, fixes, breaks


@inner
def _update_block(
    state: ChainState, sweep: Sweep, b: int, random: Stream, total: FloatArray, square: FloatArray
) -> None:
    # Draw the true member of a block given all other atoms.
    block = state.block[b]
    first, size, before = block.first, block.end - block.first, block.holder
    if before >= 0:
        toggle(state, before)
    needed, best = 0, -np.inf
    for i in range(size):
        gain, fixes, breaks = _worth(state, state.member[first + i])
        sweep.gain[i], sweep.fixes[i] = gain, -1 if breaks > 0 else fixes
        if state.member[first + i] == before:
            needed = fixes
    for i in range(size):
        if sweep.fixes[i] == needed:
            best = max(best, sweep.gain[i])
    none = 0.0
    if not block.exact and needed == 0:
        best = max(best, 0.0)
        none = np.exp(-best)
    weight = none
    for i in range(size):
        sweep.gain[i] = np.exp(sweep.gain[i] - best) if sweep.fixes[i] == needed else 0.0
        weight += sweep.gain[i]
    left, after = unit(random) * weight - none, -1
    for i in range(size):
        k = state.member[first + i]
        p = sweep.gain[i] / weight
        total[k] += p
        square[k] += p * p
        if left >= 0.0 and p > 0.0:
            after = k
            left -= sweep.gain[i]
    if after >= 0:
        toggle(state, after)


@kernel
def sweep_once(state: ChainState, sweep: Sweep, random: Stream, total: FloatArray, square: FloatArray) -> None:
    """Draw each variable given all others, adding its probabilities before that to `total`, squares to `square`; hard rows that hold keep holding."""
    for v in range(len(sweep.visit)):
        k = sweep.visit[v]
        if k < 0:
            _update_block(state, sweep, -k - 1, random, total, square)
            continue
        atom = state.atom[k]
        true, field = atom.true, atom.linear
        for o in range(atom.first, atom.end):
            occurrence = state.occurrence[o]
            row = state.row[occurrence >> 1]
            positive = (occurrence & 1) == 1
            if row.count == (1 if positive == true else 0):
                field += row.cost if positive else -row.cost
        p = 1.0 / (1.0 + np.exp(-field))
        total[k] += p
        square[k] += p * p
        if (unit(random) < p) != true:
            toggle(state, k)


@kernel
def _sweeps(
    state: ChainState,
    sweep: Sweep,
    random: Stream,
    total: FloatArray,
    square: FloatArray,
    samples: int,
    worlds: Annotated[BoolArray, 2],
) -> None:
    for i in range(samples):
        sweep_once(state, sweep, random, total, square)
        if len(worlds):
            for k in range(len(state.atom)):
                worlds[i, k] = state.atom[k].true


def random_world(occurrences: Occurrences, random: Stream) -> BoolArray:
    """Return a uniformly random world in which the blocks hold, shape (n,)."""
    world = np.zeros(len(occurrences.block), dtype=np.bool_)
    randomise(occurrences, world, random)
    return world


class _GibbsChain:
    def __init__(self, weighted: WeightedNetwork, found: Occurrences, world: BoolArray, random: Stream) -> None:
        self.state, self.sweep, self.random = start_state(weighted, found, world), start_sweep(weighted), random

    def advance(self, total: FloatArray, square: FloatArray, samples: int, worlds: BoolArray) -> None:
        """Draw samples and add them up."""
        _sweeps(self.state, self.sweep, self.random, total, square, samples, worlds)


def settled(weighted: WeightedNetwork, state: ChainState, sweep: Sweep, random: Stream) -> BoolArray:
    """Sweep over the world of a chain that has just started, in place; return where it is then, shape (n,)."""
    n = len(weighted.atoms)
    unused = np.zeros((2, n))
    for _ in range(SETTLE):  # Ctrl-C is heeded between them
        _sweeps(state, sweep, random, unused[0], unused[1], 1, np.empty((0, n), dtype=np.bool_))
    return np.asarray(state.atom["true"]).copy()


def second_world(
    weighted: WeightedNetwork, occurrences: Occurrences, label: IntArray, first: BoolArray, random: Stream
) -> BoolArray:
    """Return where the second chain of a pair starts in a network without hard rows; `first` is where the first one has settled."""
    state = start_state(weighted, occurrences, opposite(occurrences, first))
    world = settled(weighted, state, start_sweep(weighted), random)
    return unless_much_worse(weighted, label, world, first, lambda: random_world(occurrences, random))


def is_gibbs(weighted: WeightedNetwork) -> bool:
    """Whether Gibbs sampling reaches every world: there are no hard rows."""
    return not weighted.hard.any()


@at_stage("Gibbs sampling")
def sample_gibbs(
    weighted: WeightedNetwork, effort: Effort | None = None, *, write: Callable[[SampleBatch], None] | None = None
) -> SampleEstimate:
    """Return marginals by Gibbs sampling of atoms and blocks: averages of each atom's probabilities given all others (Rao-Blackwell).

    Source: Geman & Geman (1984); Gelfand & Smith (1990), section 2.3, for the averages, which vary less than those of truths do. Chains come
    in pairs: the first starts in a random world, the second opposite to where the first has settled (`opposite`), unless that side has hardly
    any probability (`much_worse`).
    """
    if not is_gibbs(weighted):
        raise ValueError(
            "Gibbs sampling cannot pass between worlds that hard clauses keep apart: use MC-SAT (method='mcsat')"
        )
    plan, found = effort or Effort(), occurrences(weighted)
    label = component_labels(weighted)[1]
    chains: list[_GibbsChain] = []
    for number, random in enumerate(streams(plan.seed, plan.chains)):
        if number % 2:
            first = chains[-1]
            world = second_world(
                weighted, found, label, settled(weighted, first.state, first.sweep, first.random), random
            )
        else:
            world = random_world(found, random)
        chains.append(_GibbsChain(weighted, found, world, random))
    return estimate(run_chains(chains, weighted, plan, write), label)
