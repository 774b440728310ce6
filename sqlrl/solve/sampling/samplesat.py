"""SampleSAT: worlds of a slice from a random start, nearly uniform, to pass between worlds that no short path joins."""

from __future__ import annotations

import numpy as np

from sqlrl.kernels import inner
from sqlrl.solve.occurrences import Int32Array
from sqlrl.solve.randomness import Stream, below, unit
from sqlrl.solve.sampling.chains import ChainState, toggle
from sqlrl.solve.sampling.slices import Slice, set_true, true_atom

ANNEALING = 0.5
"""Probability of a step of simulated annealing; the others are steps of WalkSAT (Wei, Erenrich & Selman 2004)."""

TEMPERATURE = 0.1
"""Of annealing, in broken rows, as in Alchemy: broken rows are hardly ever added, free moves always taken."""

NOISE = 0.5
"""Probability of a random flip in a step of WalkSAT."""


@inner
def _flip(state: ChainState, broken: Int32Array, size: int, k: int) -> int:
    # Flip an atom and keep the list of broken rows; returns its length.
    toggle(state, k)
    atom = state.atom[k]
    for o in range(atom.first, atom.end):
        j = state.occurrence[o] >> 1
        row = state.row[j]
        if row.left < 0:
            continue
        if ((state.occurrence[o] & 1) == 1) == atom.true:
            if row.count == 1:
                size -= 1
                state.row[broken[size]].place = row.place
                broken[row.place] = broken[size]
        elif row.count == 0:
            broken[size] = j
            row.place = size
            size += 1
    return size


@inner
def _other_state(state: ChainState, variable: int, random: Stream) -> tuple[int, int]:
    # A random other state of a variable: the atom that becomes false and the one that becomes true, -1 for none.
    if variable >= 0:
        return (variable, -1) if state.atom[variable].true else (-1, variable)
    block = state.block[-variable - 1]
    off, on, seen = block.holder, -1, 0 if block.exact or block.holder < 0 else 1
    for p in range(block.first, block.end):
        k = state.member[p]
        if k == off or state.atom[k].frozen:
            continue
        seen += 1
        if below(random, seen) == 0:
            on = k
    return off, on


@inner
def _go(state: ChainState, broken: Int32Array, size: int, off: int, on: int) -> int:
    if off >= 0:
        size = _flip(state, broken, size, off)
    if on >= 0:
        size = _flip(state, broken, size, on)
    return size


@inner
def _mend(state: ChainState, broken: Int32Array, size: int, random: Stream) -> int:
    # A step of WalkSAT: make a literal of a random broken row true, a random one or that which leaves the fewest broken.
    row = state.row[broken[below(random, size)]]
    noise = unit(random) < NOISE
    best_off, best_on, best, seen = -1, -1, np.int64(0), 0
    for p in range(row.first, row.end):
        k = abs(state.literals[p]) - 1
        atom = state.atom[k]
        if atom.frozen:
            continue
        off, on = (k, -1) if atom.true else (-1, k)
        if atom.block >= 0:
            if atom.true:
                off, on = _other_state(state, -atom.block - 1, random)
            else:
                off = state.block[atom.block].holder
        after = np.int64(0)
        if not noise:
            after = np.int64(_go(state, broken, size, off, on))
            _go(state, broken, int(after), on, off)
        if seen == 0 or after <= best:
            seen = 1 if seen == 0 or after < best else seen + 1
            if below(random, seen) == 0:
                best_off, best_on = off, on
            best = after
    return int(_go(state, broken, size, best_off, best_on))


@inner
def _anneal(state: ChainState, broken: Int32Array, size: int, variable: int, random: Stream) -> int:
    # A step of simulated annealing.
    off, on = _other_state(state, variable, random)
    after = _go(state, broken, size, off, on)
    if after <= size or unit(random) < np.exp((size - after) / TEMPERATURE):
        return int(after)
    return int(_go(state, broken, after, on, off))


@inner
def jump(state: ChainState, cut: Slice, variables: int, rows: int, random: Stream) -> None:
    """Move the component that `gather` found to a world that SampleSAT finds from a random start; back to its own if it finds none."""
    broken, size = np.empty(rows, dtype=np.int32), 0
    for i in range(variables):
        cut.before[i] = true_atom(state, cut.order[i])
        _randomise(state, cut.order[i], random)
    for i in range(rows):
        row = state.row[cut.rows[i]]
        if row.count == 0:
            broken[size] = cut.rows[i]
            row.place = size
            size += 1
    steps = 100 * (variables + rows)
    while size > 0 and steps > 0:
        steps -= 1
        if unit(random) < ANNEALING:
            size = _anneal(state, broken, size, cut.order[below(random, variables)], random)
        else:
            size = _mend(state, broken, size, random)
    if size > 0:
        for i in range(variables):
            set_true(state, cut.order[i], cut.before[i])


@inner
def _randomise(state: ChainState, variable: int, random: Stream) -> None:
    # Give a variable a random state; of its own state, as likely as the others, it keeps it.
    states = 2
    if variable < 0:
        block = state.block[-variable - 1]
        states = block.free if block.exact else block.free + 1
    if below(random, states) == 0:
        return
    off, on = _other_state(state, variable, random)
    if off >= 0:
        toggle(state, off)
    if on >= 0:
        toggle(state, on)
