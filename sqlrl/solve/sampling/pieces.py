"""Uniform draws from a slice, piece by piece: a few variables of a component at a time, from the list of their worlds.

A piece drawn uniformly given all else leaves the uniform distribution over the slice as it is, whatever its size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sqlrl.kernels import inner
from sqlrl.solve.randomness import Stream, below
from sqlrl.solve.sampling.chains import ChainState, toggle
from sqlrl.solve.sampling.slices import WORLDS, Slice

_ONE, _ZERO = np.uint64(1), np.uint64(0)


@inner
def resample(state: ChainState, cut: Slice, variables: int, random: Stream) -> None:
    """Draw each variable of a component, many at a time, uniformly given the rest of the slice."""
    done = 0
    while done < variables:
        first, atoms, combinations = done, 0, 1
        while done < variables:
            more, choices = _size(state, cut.order[done])
            if done > first and (atoms + more > 64 or combinations * choices > WORLDS):
                break
            atoms, combinations, done = atoms + more, combinations * choices, done + 1
            if atoms > 64 or combinations > WORLDS:
                break
        if atoms > 64 or combinations > WORLDS:
            _draw_block(state, -cut.order[first] - 1, random)
        else:
            _draw_piece(state, cut, first, done, random)


@inner
def _size(state: ChainState, variable: int) -> tuple[int, int]:
    # Free atoms and states of a variable.
    if variable >= 0:
        return 1, 2
    block = state.block[-variable - 1]
    return block.free, block.free if block.exact else block.free + 1


@inner
def _breaks(state: ChainState, k: int) -> bool:
    # Whether flipping atom k leaves a kept row without a true literal.
    atom = state.atom[k]
    for o in range(atom.first, atom.end):
        occurrence = state.occurrence[o]
        row = state.row[occurrence >> 1]
        if row.left > 0 and row.count == 1 and ((occurrence & 1) == 1) == atom.true:
            return True
    return False


@inner
def _mended(state: ChainState, k: int) -> int:
    # How many kept rows without a true literal get one when atom k is flipped.
    found, atom = 0, state.atom[k]
    for o in range(atom.first, atom.end):
        occurrence = state.occurrence[o]
        row = state.row[occurrence >> 1]
        if row.left > 0 and row.count == 0 and ((occurrence & 1) == 1) != atom.true:
            found += 1
    return found


@inner
def _draw_block(state: ChainState, b: int, random: Stream) -> None:
    # Draw the true member of a block that is too large for a piece: the last of the possible ones met with chance
    # 1/1, 1/2, 1/3, ... is uniform.
    block = state.block[b]
    before = block.holder
    needed = 0
    if before >= 0:
        toggle(state, before)
        needed = _mended(state, before)
    after, possible = -1, 0 if block.exact or needed > 0 else 1
    for p in range(block.first, block.end):
        k = state.member[p]
        if state.atom[k].frozen or _breaks(state, k) or _mended(state, k) != needed:
            continue
        possible += 1
        if below(random, possible) == 0:
            after = k
    if after >= 0:
        toggle(state, after)


@inner
def _draw_piece(state: ChainState, cut: Slice, first: int, end: int, random: Stream) -> None:
    # Draw the variables order[first:end] uniformly from the worlds that satisfy the kept rows.
    if end - first == 1 and cut.order[first] >= 0:
        k = cut.order[first]
        if below(random, 2) == 1 and not _breaks(state, k):
            toggle(state, k)
        return
    atoms = 0
    for i in range(first, end):
        variable = cut.order[i]
        cut.at[i - first] = atoms
        cut.last[i - first] = -1
        if variable >= 0:
            atoms = _enter(state, cut, variable, atoms)
            continue
        block = state.block[-variable - 1]
        for p in range(block.first, block.end):
            if not state.atom[state.member[p]].frozen:
                atoms = _enter(state, cut, state.member[p], atoms)
    cut.at[end - first] = atoms
    _list_rows(state, cut, end - first)
    found = _list_worlds(state, cut, first, end - first)
    world = cut.worlds[below(random, found)]
    # Members that become false go first: a block has one holder.
    for value in (False, True):
        for i in range(atoms):
            k = cut.inside[i]
            if ((world >> np.uint64(i)) & _ONE == _ONE) == value and state.atom[k].true != value:
                toggle(state, k)
    for i in range(atoms):
        state.atom[cut.inside[i]].bit = -1


@inner
def _enter(state: ChainState, cut: Slice, k: int, atoms: int) -> int:
    cut.inside[atoms] = k
    state.atom[k].bit = atoms
    return atoms + 1


@inner
def _list_rows(state: ChainState, cut: Slice, variables: int) -> None:
    # The kept rows of a piece that no literal outside of it satisfies, as bits, by the last variable that they need.
    cut.stamp[0] += 1
    stamp, rows = cut.stamp[0], 0
    for v in range(variables):
        for i in range(cut.at[v], cut.at[v + 1]):
            atom = state.atom[cut.inside[i]]
            for o in range(atom.first, atom.end):
                row = state.row[state.occurrence[o] >> 1]
                if row.left < 0 or row.stamp == stamp:
                    continue
                row.stamp = stamp
                positive, negative, settled, highest = _ZERO, _ZERO, False, 0
                for p in range(row.first, row.end):
                    other = state.atom[abs(state.literals[p]) - 1]
                    if other.bit < 0:
                        settled = settled or other.true == (state.literals[p] > 0)
                        continue
                    highest = max(highest, int(other.bit))
                    if state.literals[p] > 0:
                        positive |= _ONE << np.uint64(other.bit)
                    else:
                        negative |= _ONE << np.uint64(other.bit)
                if settled:
                    continue
                need = v
                while cut.at[need + 1] <= highest:
                    need += 1
                cut.positive[rows], cut.negative[rows] = positive, negative
                cut.following[rows] = cut.last[need]
                cut.last[need] = rows
                rows += 1


@inner
def _list_worlds(state: ChainState, cut: Slice, first: int, variables: int) -> int:
    # All worlds of a piece that satisfy its rows, by depth-first search; returns how many.
    found, depth = 0, 0
    # States of each variable: -1 for none or false, then its atoms; worlds so far.
    tried = np.empty(65, dtype=np.int64)
    world = np.zeros(66, dtype=np.uint64)
    tried[0] = _first_state(state, cut.order[first])
    while depth >= 0:
        if depth == variables:
            cut.worlds[found] = world[depth]
            found += 1
            depth -= 1
            continue
        bit = cut.at[depth] + tried[depth]
        if tried[depth] >= 0 and bit >= cut.at[depth + 1]:
            depth -= 1
            continue
        world[depth + 1] = world[depth] if tried[depth] < 0 else world[depth] | (_ONE << np.uint64(bit))
        tried[depth] += 1
        if _satisfied(cut, depth, world[depth + 1]):
            depth += 1
            if depth < variables:
                tried[depth] = _first_state(state, cut.order[first + depth])
    return found


@inner
def _first_state(state: ChainState, variable: int) -> int:
    return 0 if variable < 0 and state.block[-variable - 1].exact else -1


@inner
def _satisfied(cut: Slice, depth: int, world: Any) -> bool:
    # Whether a world satisfies the rows whose last variable is `depth`.
    j = cut.last[depth]
    while j >= 0:
        if (world & cut.positive[j]) | (~world & cut.negative[j]) == _ZERO:
            return False
        j = cut.following[j]
    return True
