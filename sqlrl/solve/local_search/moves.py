"""Moves of a local search: flips of an atom, or of the true member of a block, that mend a bad row."""

from __future__ import annotations

from typing import Any

import numpy as np

from sqlrl.kernels import inner
from sqlrl.solve.local_search.state import LocalSearch, flip, keep, less, overlap
from sqlrl.solve.randomness import Stream, below


@inner
def switch(search: LocalSearch, k: int) -> tuple[Any, ...]:
    """Return the best move that flips atom k of a block: atoms that become false and true (-1: none), and added broken hard rows and soft cost."""
    atom = search.atom[k]
    block = search.block[atom.block]
    if not atom.true:
        refill: tuple[Any, ...] = _both(search, block.holder, k)
        return refill
    off, on, hard, soft = -1, -1, 0, 0
    if not block.exact:
        off, hard, soft = k, atom.hard, atom.soft
    for p in range(block.first, block.end):
        member = search.member[p]
        if member == k:
            continue
        _, _, other_hard, other_soft = _both(search, k, member)
        if off < 0 or less(other_hard, other_soft, hard, soft):
            off, on, hard, soft = k, member, other_hard, other_soft
    return off, on, np.int64(hard), np.int64(soft)


@inner
def _both(search: LocalSearch, off: int, on: int) -> tuple[Any, ...]:
    # The move that makes `off` (unless -1) false and `on` true.
    hard, soft = np.int64(search.atom[on].hard), search.atom[on].soft
    if off >= 0:
        hard += search.atom[off].hard
        soft += search.atom[off].soft
        if search.block[search.atom[on].block].shared:
            more_hard, more_soft = overlap(search, off, on)
            hard += more_hard
            soft += more_soft
    return off, on, hard, soft


@inner
def noisy(search: LocalSearch, j: int, random: Stream) -> tuple[int, int]:
    """A random move that flips a literal of the bad row j, as in `switch`; of a row to be violated a true one."""
    row = search.row[j]
    wanted = row.cost > 0
    left = below(random, row.end - row.first if wanted else row.count)
    k = -1
    for p in range(row.first, row.end):
        k = abs(search.literals[p]) - 1
        if wanted or search.atom[k].true == (search.literals[p] > 0):
            if left == 0:
                break
            left -= 1
    atom = search.atom[k]
    if atom.block < 0:
        return (k, -1) if atom.true else (-1, k)
    block = search.block[atom.block]
    if not atom.true:
        return block.holder, k
    size = block.end - block.first
    states = size - 1 if block.exact else size
    if states == 0:
        return -1, -1
    choice = below(random, states)
    if choice == size - 1:
        return k, -1
    on = search.member[block.first + choice]
    return k, (on if on != k else search.member[block.end - 1])


@inner
def greedy(search: LocalSearch, j: int, before: int, random: Stream) -> tuple[int, int]:
    """Return the cheapest move that flips a literal of the bad row j, (-1, -1) for none; a tabu one counts only if it gives a new best world."""
    row = search.row[j]
    part = search.component[search.atom[abs(search.literals[row.first]) - 1].component]
    wanted = row.cost > 0
    best_off, best_on, best_hard, best_soft, ties = -1, -1, np.int64(0), np.int64(0), 0
    for p in range(row.first, row.end):
        k = abs(search.literals[p]) - 1
        atom = search.atom[k]
        if not wanted and atom.true != (search.literals[p] > 0):
            continue
        if atom.block < 0:
            off, on, hard, soft = -1, k, np.int64(atom.hard), atom.soft
            recent = atom.flipped > before
        else:
            off, on, hard, soft = switch(search, k)
            if off < 0 and on < 0:
                continue
            recent = (off >= 0 and search.atom[off].flipped > before) or (on >= 0 and search.atom[on].flipped > before)
        # Flipped after step `before`: tabu, unless that leads to a new best world of the component.
        if recent and not less(part.hard + hard, part.soft + soft, part.lowest_hard, part.lowest_soft):
            continue
        if ties > 0 and hard == best_hard and soft == best_soft:
            ties += 1
            if below(random, ties) > 0:
                continue
        elif ties > 0 and not less(hard, soft, best_hard, best_soft):
            continue
        else:
            ties = 1
        best_off, best_on, best_hard, best_soft = off, on, hard, soft
    return best_off, best_on


@inner
def apply(search: LocalSearch, off: int, on: int, now: int) -> int:
    """Make a move and keep the world if it is the best of its component; returns the literals touched."""
    work = 1
    if off >= 0:
        work += flip(search, off)
        search.atom[off].flipped = now
    if on >= 0:
        work += flip(search, on)
        search.atom[on].flipped = now
    keep(search, search.atom[off if off >= 0 else on].component)
    return work
