"""Local search for the most probable world: MaxWalkSAT with blocks, hard rows and tabu, millions of flips a second."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sqlrl.errors import InputError, Parameter
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.progress import at_stage
from sqlrl.solve.local_search.moves import apply, greedy, noisy, switch
from sqlrl.solve.local_search.state import LocalSearch, flip, less, load, start_search
from sqlrl.solve.occurrences import occurrences, randomise
from sqlrl.solve.randomness import Stream, below, streams, unit
from sqlrl.solve.result import Solution, UnsolvedError
from sqlrl.solve.structure import pointers
from sqlrl.solve.weighted import EPSILON, WeightedNetwork

SLICE = 5_000_000
"""Literals that one call of a kernel touches before Python looks for Ctrl-C: below a tenth of a second."""


@kernel
def _walk(search: LocalSearch, random: Stream, now: int, last: int, noise: float, tabu: int, budget: int) -> int:
    # Steps from number `now` to `last`, until nothing is bad or the work exceeds the budget; returns the next number.
    while now < last and budget > 0:
        hard, soft = search.size[0], search.size[1]
        if hard + soft == 0:
            return last
        # Hard rows first, but not always: one component that cannot be satisfied must not starve the others.
        level = 0 if hard > 0 and (soft == 0 or below(random, 8) > 0) else 1
        j = search.bad[level, below(random, search.size[level])]
        if unit(random) < noise:
            off, on = noisy(search, j, random)
        else:
            off, on = greedy(search, j, now - tabu, random)
        now += 1
        budget -= search.row[j].end - search.row[j].first
        if off >= 0 or on >= 0:
            budget -= apply(search, off, on, now)
    return now


@inner
def _near(search: LocalSearch, k: int, random: Stream) -> int:
    # A random bad row of atom k, -1 for none.
    found, seen = -1, 0
    for o in range(search.atom[k].first, search.atom[k].end):
        row = search.row[search.occurrence[o] >> 1]
        if (row.count == 0) == (row.cost > 0):
            seen += 1
            if below(random, seen) == 0:
                found = search.occurrence[o] >> 1
    return found


@inner
def _go_back(search: LocalSearch, c: int) -> int:
    # Return to the best world of component c; returns the literals touched.
    part = search.component[c]
    count, work = part.changes, 1
    for p in range(part.first, part.first + count):
        atom = search.atom[search.changed[p]]
        if atom.true != atom.best:
            work += flip(search, search.changed[p])
        atom.changed = False
    part.changes = 0
    return work


@kernel
def _explore(search: LocalSearch, random: Stream, now: int, last: int, noise: float, length: int, budget: int) -> int:
    # Excursions from the best worlds: a chain of moves, each at a bad row of the last flipped atom, that flips no atom
    # twice except by noise; what leads to no better world is taken back.
    while now < last and budget > 0:
        hard, soft = search.size[0], search.size[1]
        if hard + soft == 0:
            return last
        level = 0 if hard > 0 and (soft == 0 or below(random, 8) > 0) else 1
        j = search.bad[level, below(random, search.size[level])]
        c = search.atom[abs(search.literals[search.row[j].first]) - 1].component
        begin, end = now, now + length
        while j >= 0 and now < end:
            off, on = noisy(search, j, random) if unit(random) < noise else greedy(search, j, begin, random)
            now += 1
            budget -= search.row[j].end - search.row[j].first
            if off < 0 and on < 0:
                break
            budget -= apply(search, off, on, now)
            j = _near(search, off if on < 0 else on, random)
        part = search.component[c]
        if less(part.lowest_hard, part.lowest_soft, part.hard, part.soft):
            budget -= _go_back(search, c)
    return now


@kernel
def _descend(search: LocalSearch, first: int, budget: int) -> tuple[int, bool]:
    # Take every move that lowers the cost, atom by atom from `first`; returns the next atom and whether any was taken.
    improved = False
    for k in range(first, len(search.atom)):
        atom = search.atom[k]
        off, on, hard, soft = -1, k, np.int64(atom.hard), atom.soft
        if atom.block >= 0:
            off, on, hard, soft = switch(search, k)
        budget -= 1
        if less(hard, soft, 0, 0):
            budget -= apply(search, off, on, 0)
            improved = True
        if budget <= 0:
            return k + 1, improved
    return len(search.atom), improved


def _local_optimum(search: LocalSearch) -> None:
    # Descend to a world that no single move improves.
    improved = True
    while improved:
        first, improved = 0, False
        while first < len(search.atom):
            first, some = _descend(search, first, SLICE)
            improved = improved or some


class _Effort(NamedTuple):
    flips: int
    tries: int
    noise: float
    tabu: int
    excursion: int
    deadline: float


def _checked(flips: int, tries: int, noise: float, tabu: int, excursion: int, seconds: float | None) -> _Effort:
    if flips < 0 or tries < 1 or tabu < 0 or excursion < 1:
        raise InputError(
            f"{Parameter('flips', flips)}, {Parameter('tries', tries)}, {Parameter('tabu', tabu)}, {Parameter('excursion', excursion)}: give at least 0, 1, 0 and 1"
        )
    if not 0.0 <= noise <= 1.0:
        raise InputError(f"noise is {noise}: it is a probability, give a number from 0 to 1")
    if seconds is not None and not seconds >= 0:
        raise InputError(f"seconds is {seconds}: give a number of 0 or more")
    return _Effort(flips, tries, noise, tabu, excursion, np.inf if seconds is None else time.monotonic() + seconds)


def _try(search: LocalSearch, random: Stream, effort: _Effort) -> bool:
    # One try from the loaded world; False if time is over.
    _local_optimum(search)
    search.atom["flipped"] = -effort.tabu - 1
    now = 0
    # In large components a walk soon loses its way, so that the second half makes short excursions from the best states instead.
    half = effort.flips // 2
    while now < effort.flips:
        # At least one local optimum is always reached; a result that time limits depends on the machine.
        if time.monotonic() >= effort.deadline:
            return False
        if now < half:
            now = _walk(search, random, now, half, effort.noise, effort.tabu, SLICE)
            if now >= half:
                load(search, search.atom["best"].copy())
        else:
            now = _explore(search, random, now, effort.flips, effort.noise, effort.excursion, SLICE)
    return True


def _solved(search: LocalSearch) -> BoolArray:
    # Components in whose best world nothing is bad.
    part = search.component
    return np.asarray((part["lowest_hard"] == 0) & (part["lowest_soft"] == 0), dtype=np.bool_)


def _shortfall(weighted: WeightedNetwork, world: BoolArray) -> tuple[float, float]:
    # By how much a world scores less than if every row and every variable were at its best, and the rounding of that.
    bad = weighted.violated(world) == (weighted.cost > 0)
    rows = float(np.abs(weighted.cost[bad & ~weighted.hard]).sum())
    inside = weighted.block >= 0
    free = weighted.linear[~inside]
    singles = float(np.abs(free[(free > 0) != world[~inside]]).sum())
    count = len(weighted.block_exact)
    best = np.where(weighted.block_exact, -np.inf, 0.0)
    np.maximum.at(best, weighted.block[inside], weighted.linear[inside])
    true = inside & world
    own = np.bincount(weighted.block[true], weights=weighted.linear[true], minlength=count)
    filled = np.bincount(weighted.block[inside], minlength=count) > 0
    blocks = float((best - own)[filled].sum())
    total = rows + singles + blocks
    return total, weighted.rounding + 2 * EPSILON * (len(bad) + len(world)) * total


@at_stage("local search")
def solve_walksat(
    weighted: WeightedNetwork,
    *,
    flips: int = 1_000_000,
    tries: int = 1,
    noise: float = 0.2,
    tabu: int = 10,
    excursion: int = 20,
    seed: int = 0,
    start: BoolArray | None = None,
    component: IntArray | None = None,
    seconds: float | None = None,
) -> Solution:
    """Return a world of high score by MaxWalkSAT, the best state of every component kept apart, from `tries` of `flips` steps each.

    Source: Kautz, Selman & Jiang, "A general stochastic approach to solving problems with hard and soft constraints" (1997), with tabu as in
    Alchemy: an atom is not flipped again for `tabu` steps, except by a random flip or to reach a new best state. Excursions are ejection
    chains (Glover 1996). If hard rows are broken in the best world that was found, that is an UnsolvedError.
    """
    effort = _checked(flips, tries, noise, tabu, excursion, seconds)
    world = _search(weighted, effort, seed, start, component)
    if np.any(weighted.hard & weighted.violated(world)):
        raise UnsolvedError(
            f"MaxWalkSAT found no world in which all hard clauses hold within {tries} tries of {flips} flips: "
            "there may be none; a complete method such as cpsat decides it"
        )
    # The gap is to what scored if every row and every variable were at its best: the world is optimal where nothing is left of it.
    gap, rounding = _shortfall(weighted, world)
    return Solution(world, gap + rounding, rounding)


def hard_world(weighted: WeightedNetwork, *, seed: int, start: BoolArray) -> BoolArray:
    """Return a world near `start` in which blocks, as in `start`, and as many hard rows as could be mended hold; soft costs play no part."""
    kept = weighted.hard[weighted.row]
    length = np.diff(weighted.indptr)[weighted.hard]
    hard = replace(
        weighted,
        linear=np.zeros_like(weighted.linear),
        indptr=pointers(length),
        literals=weighted.literals[kept],
        cost=weighted.cost[weighted.hard],
        clause=weighted.clause[weighted.hard],
    )
    return _search(hard, _checked(200_000, 5, 0.2, 10, 20, None), seed, start, None)


def _search(
    weighted: WeightedNetwork, effort: _Effort, seed: int, start: BoolArray | None, component: IntArray | None
) -> BoolArray:
    # The best world that was found, hard rows broken or not.
    random = streams(seed, 1)[0]
    search, blocks = start_search(weighted, component), occurrences(weighted)
    world = np.zeros(len(weighted.atoms), dtype=np.bool_)
    randomise(blocks, world, random)
    if start is not None:
        world = _repaired(weighted, np.asarray(start), world)
    for number in range(effort.tries):
        if number:
            randomise(blocks, world, random)
            solved = _solved(search)[search.atom["component"]]
            world[solved] = search.atom["best"][solved]
        load(search, world)
        if not _try(search, random, effort) or _solved(search).all():
            break
    load(search, search.atom["best"].copy())
    _local_optimum(search)
    return np.asarray(search.atom["best"].copy(), dtype=np.bool_)


def _repaired(weighted: WeightedNetwork, start: BoolArray, other: BoolArray) -> BoolArray:
    # The start, with the states of `other` in blocks that do not hold.
    if start.shape != weighted.atoms.shape:
        raise InputError(f"{len(weighted.atoms)} atoms need a start of as many values, but it has shape {start.shape}")
    world = start.astype(np.bool_)
    inside = weighted.block >= 0
    true = np.bincount(weighted.block[inside & world], minlength=len(weighted.block_exact))
    wrong = (true > 1) | (weighted.block_exact & (true == 0))
    mended = inside & np.append(wrong, False)[weighted.block]
    world[mended] = other[mended]
    return world
