"""Sampled worlds, compiled: one Markov chain for a window, of which each example runs its own part from its labels.

For examples without hard clauses; the worlds are those of `sqlrl.learn.worlds.sampled_world`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.kernels import kernel
from sqlrl.learn.arrays import WindowArrays
from sqlrl.learn.slices import Slices, flagged_examples, of_examples
from sqlrl.learn.weighing import row_cost, unit_worth
from sqlrl.learn.worlds import start_world
from sqlrl.solve.occurrences import Int32Array, occurrences
from sqlrl.solve.randomness import Stream
from sqlrl.solve.sampling.chains import State as ChainState
from sqlrl.solve.sampling.chains import start_state, toggle
from sqlrl.solve.sampling.gibbs import Sweep, start_sweep, sweep_once
from sqlrl.solve.weighed import Weighed


class Chain(NamedTuple):
    """The chain of a window, between two examples always at its start.

    Parameters
    ----------
    state : ChainState
        Costs and linear terms are written before an example runs.
    start : bool array, shape (n,)
        Where each example starts.
    visit_start, visit : int64 and int32 arrays
        Example k draws `visit[visit_start[k]:visit_start[k + 1]]`, as in `Sweep`.
    gain, fixes : float and int64 arrays
        As in `Sweep`.
    total, square : float arrays, shape (n,)
        Sums that a sweep adds to, of no use here.
    """

    state: ChainState
    start: BoolArray
    visit_start: IntArray
    visit: Int32Array
    gain: FloatArray
    fixes: IntArray
    total: FloatArray
    square: FloatArray


def start_chain(slices: Slices, truth: BoolArray) -> Chain:
    """Return the chain of a window with these labels."""
    network = slices.network
    n, r = len(network.atoms), len(network.row_clause)
    rows = Weighed(
        np.arange(n, dtype=np.int64),
        np.zeros(n),
        network.indptr,
        network.literals,
        np.zeros(r),
        network.row_clause,
        network.block,
        network.block_exact,
        0.0,
        0.0,
    )
    start = start_world(network, truth)
    sweep, (member_start, members) = start_sweep(rows), rows.block_members
    block = -sweep.visit.astype(np.int64) - 1
    # There is nothing to draw for a block of one atom that must be true.
    sure = network.block_exact & (np.diff(member_start) == 1)
    drawn = np.append(~sure, True)[np.maximum(block, -1)]
    visit, block = sweep.visit[drawn], block[drawn]
    first = np.append(members, 0)[member_start]
    leader = np.where(block < 0, visit, first[np.maximum(block, -1)])
    visit_start, place = of_examples(network.example[leader], slices.examples)
    state = start_state(rows, occurrences(rows), start)
    return Chain(state, start, visit_start, visit[place], sweep.gain, sweep.fixes, *np.zeros((2, n)))


def soft_examples(slices: Slices) -> BoolArray:
    """Return which examples of the sequence have no hard ground clause, shape (e,)."""
    network = slices.network
    hard = np.zeros(len(network.atoms), dtype=np.bool_)
    inside = np.repeat(network.hard[network.row_clause], np.diff(network.indptr))
    hard[np.abs(network.literals[inside]) - 1] = True
    hard[np.abs(network.hard_units[:, 1]) - 1] = True
    return ~flagged_examples(slices, hard)


@kernel
def sample(
    window: WindowArrays, chain: Chain, k: int, now: FloatArray, sweeps: int, random: Stream, world: BoolArray
) -> None:
    """Write the world of the k-th example after some sweeps from its start, under the current weights `now`, to `world`."""
    state = chain.state
    first, last = window.atom_start[k], window.atom_start[k + 1]
    for a in range(first, last):
        atom = window.atom[a]
        state.atom[atom].linear = unit_worth(window, atom, now) + window.prior[atom]
    for r in range(window.row_start[k], window.row_start[k + 1]):
        state.row[window.row[r]].cost = row_cost(window, window.row[r], now)
    sweep = Sweep(chain.visit[chain.visit_start[k] : chain.visit_start[k + 1]], chain.gain, chain.fixes)
    for _ in range(sweeps):
        sweep_once(state, sweep, random, chain.total, chain.square)
    for a in range(first, last):
        world[window.atom[a]] = state.atom[window.atom[a]].true
    # Back to the start; what becomes false first, so that no block has two true atoms in between.
    for value in (False, True):
        for a in range(first, last):
            atom = window.atom[a]
            if state.atom[atom].true != value and chain.start[atom] == value:
                toggle(state, atom)
