"""Slices of MC-SAT: which rows the next world must satisfy, what follows from them, and their components.

The current world lies in its slice, so that unit propagation fixes atoms at the values that they have: it *freezes*
them. Atoms that are not frozen fall into components. Nothing here depends on the values of atoms that are not frozen, so
that drawing those uniformly, all or some of them given the others, leaves the distribution of the chain as it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.kernels import inner
from sqlrl.solve.occurrences import Int32Array
from sqlrl.solve.randomness import Stream, unit
from sqlrl.solve.sampling.chains import ChainState, toggle
from sqlrl.solve.weighted import WeightedNetwork

WORLDS = 64
"""A piece (see `pieces`) has at most so many combinations of values: larger pieces mix better and cost more."""

STIFF = 3.0
"""Rows that cost this much are kept in 19 of 20 slices: single pieces may not get past them."""


class Slice(NamedTuple):
    """Scratch memory of one chain for its slices of n atoms and r rows."""

    # Shape (r,): the probability, 1 - exp(-|cost|), that a row is kept which the world satisfies (or violates, if it costs less than 0); 2 if hard.
    keep: FloatArray
    keep_linear: FloatArray  # shape (n,): likewise for linear terms, as rows of one literal
    queue: Int32Array  # shape (n,): frozen atoms, in the order in which they were found
    order: Int32Array  # shape (n,): the variables of a component: atoms k as they are, blocks b as -b - 1
    rows: Int32Array  # shape (r,): the rows of a component
    # Shapes (n,): of each variable in `order`, its true atom (-1 for none) before and after a draw, and states tried by a search.
    before: Int32Array
    drawn: Int32Array
    tried: Int32Array
    position: Int32Array  # shape (n,): the place of each atom's variable in `order`, of the component that is listed
    at: IntArray  # where the variables of a piece begin in `inside`
    inside: Int32Array  # the atoms of a piece; bit i of a world of the piece is atom i
    positive: npt.NDArray[np.uint64]  # shapes (r,): the literals of the rows of a piece, as bits
    negative: npt.NDArray[np.uint64]
    # Rows as lists, by the last variable that they need: the first row of each list, shape (at least n + 2,), and the next, shape (r,).
    last: Int32Array
    following: Int32Array
    worlds: npt.NDArray[np.uint64]  # shape (WORLDS,): the worlds of a piece
    stamp: IntArray  # shape (1,): the number of the piece


def start_slice(weighted: WeightedNetwork) -> Slice:
    """Scratch memory for the slices of one chain."""
    n, r = len(weighted.atoms), len(weighted.cost)
    return Slice(
        np.where(weighted.hard, 2.0, -np.expm1(-np.abs(weighted.cost))),
        -np.expm1(-np.abs(weighted.linear)),
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.empty(r, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.empty(66, dtype=np.int64),
        np.empty(65, dtype=np.int32),
        np.empty(r, dtype=np.uint64),
        np.empty(r, dtype=np.uint64),
        np.empty(max(n, 64) + 2, dtype=np.int32),
        np.empty(r, dtype=np.int32),
        np.empty(WORLDS, dtype=np.uint64),
        np.zeros(1, dtype=np.int64),
    )


@inner
def choose(state: ChainState, cut: Slice, random: Stream) -> int:
    """Choose which rows (negated if they cost less than 0) and linear terms the next world must satisfy; return how many atoms are frozen."""
    frozen = 0
    for k in range(len(state.atom)):
        atom = state.atom[k]
        atom.frozen = atom.linear != 0.0 and (atom.linear > 0.0) == atom.true and unit(random) < cut.keep_linear[k]
        atom.seen = False
        if atom.frozen:
            cut.queue[frozen] = k
            frozen += 1
    for block in state.block:
        block.free = block.end - block.first
        block.seen = False
    for j in range(len(state.row)):
        row = state.row[j]
        row.left = -1
        if (row.count > 0) != (row.cost > 0.0) or unit(random) >= cut.keep[j]:
            continue
        size = row.end - row.first
        if row.cost > 0.0 and size > 1:
            row.left = size
            continue
        for p in range(row.first, row.end):
            k = abs(state.literals[p]) - 1
            if not state.atom[k].frozen:
                state.atom[k].frozen = True
                cut.queue[frozen] = k
                frozen += 1
    return frozen


@inner
def freeze(state: ChainState, cut: Slice, frozen: int) -> None:
    """Freeze what follows from the frozen atoms by unit propagation through kept rows and blocks."""
    done = 0
    while done < frozen:
        atom = state.atom[cut.queue[done]]
        done += 1
        for o in range(atom.first, atom.end):
            occurrence = state.occurrence[o]
            row = state.row[occurrence >> 1]
            if row.left < 0:
                continue
            if ((occurrence & 1) == 1) == atom.true:
                row.left = -1
                continue
            row.left -= 1
            if row.left > 1:
                continue
            for p in range(row.first, row.end):
                k = abs(state.literals[p]) - 1
                if not state.atom[k].frozen:
                    state.atom[k].frozen = True
                    cut.queue[frozen] = k
                    frozen += 1
        if atom.block < 0:
            continue
        block = state.block[atom.block]
        block.free -= 1
        if not (atom.true or (block.exact and block.free == 1)):
            continue
        for p in range(block.first, block.end):
            k = state.member[p]
            if not state.atom[k].frozen:
                state.atom[k].frozen = True
                cut.queue[frozen] = k
                frozen += 1


@inner
def gather(state: ChainState, cut: Slice, k: int) -> tuple[int, int, bool]:
    """Write the component of an atom that is not frozen to `cut.order`, depth-first, and `cut.rows`; return both sizes and whether a row is stiff."""
    cut.stamp[0] += 1
    variables, rows, stiff = 0, 0, False
    # The stack of variables to visit grows down from the end of `order`; each is there once.
    top = len(cut.order)
    top = _push(state, cut.order, k, top)
    while top < len(cut.order):
        variable = cut.order[top]
        top += 1
        cut.order[variables] = variable
        variables += 1
        if variable >= 0:
            top, rows, stiff = _follow(state, cut, variable, top, rows, stiff)
            continue
        block = state.block[-variable - 1]
        for p in range(block.first, block.end):
            if not state.atom[state.member[p]].frozen:
                top, rows, stiff = _follow(state, cut, state.member[p], top, rows, stiff)
    return variables, rows, stiff


@inner
def _push(state: ChainState, order: Int32Array, k: int, top: int) -> int:
    # Put the variable of atom k on the stack, unless it has been there.
    atom = state.atom[k]
    if atom.seen or atom.frozen:
        return top
    if atom.block < 0:
        atom.seen = True
        order[top - 1] = k
        return top - 1
    block = state.block[atom.block]
    if block.seen:
        return top
    block.seen = True
    order[top - 1] = -atom.block - 1
    return top - 1


@inner
def _follow(state: ChainState, cut: Slice, k: int, top: int, rows: int, stiff: bool) -> tuple[int, int, bool]:
    # The kept rows of atom k that no frozen literal satisfies, and the variables in them.
    stamp, order = cut.stamp[0], cut.order
    for o in range(state.atom[k].first, state.atom[k].end):
        j = state.occurrence[o] >> 1
        row = state.row[j]
        if row.left < 0 or row.stamp == stamp:
            continue
        row.stamp = stamp
        cut.rows[rows] = j
        rows += 1
        stiff = stiff or row.cost >= STIFF
        for p in range(row.first, row.end):
            top = _push(state, order, abs(state.literals[p]) - 1, top)
    return top, rows, stiff


@inner
def true_atom(state: ChainState, variable: int) -> int:
    """The true atom of a variable, -1 for none."""
    if variable < 0:
        return int(state.block[-variable - 1].holder)
    return int(variable) if state.atom[variable].true else -1


@inner
def set_true(state: ChainState, variable: int, k: int) -> None:
    """Make atom k the true one of a variable, -1 for none."""
    before = true_atom(state, variable)
    if before == k:
        return
    if before >= 0:
        toggle(state, before)
    if k >= 0:
        toggle(state, k)
