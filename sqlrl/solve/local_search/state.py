"""The state of a local search: a world, what each flip would change, and the best world of every component.

Costs are integers, so that millions of flips add them without drift; each component has a scale of its own. A change
has two parts, compared in this order: hard rows broken, and soft cost.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sqlrl.errors import NumericError
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.solve.occurrences import Int32Array, occurrences
from sqlrl.solve.restriction import component_labels
from sqlrl.solve.structure import pointers
from sqlrl.solve.weighted import WeightedNetwork

LARGEST = 60
"""The costs of one component add up to less than 2**LARGEST."""


ROW = np.dtype(
    [
        ("cost", np.int64),  # signed; 1 for hard rows
        ("first", np.int32),  # its literals: `literals[first:end]`
        ("end", np.int32),
        ("count", np.int32),  # true literals
        ("critical", np.int32),  # exclusive or of the atoms of true literals: the atom itself where there is one only
        ("place", np.int32),  # where it stands in its list of bad rows
        ("level", np.int32),  # 0 for hard rows, 1 for soft ones
    ]
)
"""A row is *bad* when it is violated and costs more than 0, or satisfied and costs less. One record is half a cache line."""

ATOM = np.dtype(
    [
        ("soft", np.int64),  # what flipping it adds to the soft cost
        ("flipped", np.int64),  # the step of its last flip
        ("hard", np.int32),  # what flipping it adds to the broken hard rows
        ("first", np.int32),  # its rows: `occurrence[first:end]`
        ("end", np.int32),
        ("block", np.int32),  # -1 for none
        ("component", np.int32),
        ("true", np.bool_),
        ("best", np.bool_),  # its value in the best world of its component
        ("changed", np.bool_),  # it is on the list of atoms flipped since then
    ],
    align=True,
)

BLOCK = np.dtype(
    [
        ("first", np.int32),  # its members: `member[first:end]`
        ("end", np.int32),
        ("holder", np.int32),  # its true member, -1 for none
        ("exact", np.bool_),
        ("shared", np.bool_),  # some row has two members or more
    ],
    align=True,
)

COMPONENT = np.dtype(
    [
        ("hard", np.int64),  # broken hard rows of the world
        ("soft", np.int64),  # its soft cost
        ("lowest_hard", np.int64),  # those of the best world
        ("lowest_soft", np.int64),
        ("first", np.int64),  # atoms flipped since the best world: `changed[first:first + changes]`
        ("changes", np.int64),
    ]
)

Records = npt.NDArray[np.void]


class LocalSearch(NamedTuple):
    """What the kernels read and change; few arrays, because each costs a little at every call."""

    row: Annotated[Records, ROW]  # shape (r,), linear terms too, as rows of one literal
    atom: Annotated[Records, ATOM]
    block: Annotated[Records, BLOCK]
    component: Annotated[Records, COMPONENT]
    literals: Int32Array  # signed atoms of the rows
    occurrence: Int32Array  # of the atoms: 2 * row, plus 1 where the literal is positive
    member: Int32Array  # atoms of the blocks
    bad: Annotated[Int32Array, 2]  # shape (2, r): the bad hard rows and the bad soft rows
    size: IntArray  # shape (2,): how many there are
    # Shape (n,): atoms flipped since the best world of their component: few, so that keeping a better one is cheap.
    changed: Int32Array


def _with_units(weighted: WeightedNetwork) -> WeightedNetwork:
    # Linear terms as rows of one literal: what is bad about them can be picked like any other row.
    atom = np.flatnonzero(weighted.linear)
    linear = weighted.linear[atom]
    units = np.where(linear > 0, atom + 1, -atom - 1)
    return WeightedNetwork(
        weighted.atoms,
        np.zeros_like(weighted.linear),
        np.concatenate([weighted.indptr, weighted.indptr[-1] + 1 + np.arange(len(atom))]),
        np.concatenate([weighted.literals, units]),
        np.concatenate([weighted.cost, np.abs(linear)]),
        np.concatenate([weighted.clause, np.full(len(atom), -1)]),
        weighted.block,
        weighted.block_exact,
        weighted.constant,
        weighted.rounding,
    )


def _integers(full: WeightedNetwork, component: IntArray, count: int) -> IntArray:
    # Costs of each component times a power of two; what would round to 0 keeps its sign.
    hard = full.hard
    row_component = component[np.abs(full.literals[full.indptr[:-1]]) - 1]
    size = np.where(hard, 0.0, np.abs(full.cost))
    peak = np.zeros(count)
    np.maximum.at(peak, row_component, size)
    # Relative to the largest, so that no sum overflows.
    share = np.bincount(row_component, weights=size / np.where(peak > 0, peak, 1.0)[row_component], minlength=count)
    exponent = LARGEST - np.ceil(np.log2(np.maximum(share, 1.0))).astype(np.int64) - np.frexp(peak)[1]
    scaled = np.rint(np.ldexp(np.where(hard, 0.0, full.cost), exponent[row_component])).astype(np.int64)
    scaled = np.where((scaled == 0) & ~hard, np.sign(np.where(hard, 0.0, full.cost)).astype(np.int64), scaled)
    return np.where(hard, 1, scaled)


def _shared(full: WeightedNetwork) -> BoolArray:
    # Blocks of which some row has two members.
    block = full.block[np.abs(full.literals) - 1]
    inside = block >= 0
    key = np.sort(full.row[inside] * max(len(full.block_exact), 1) + block[inside])
    shared = np.zeros(len(full.block_exact), dtype=np.bool_)
    if len(shared):
        shared[key[1:][key[1:] == key[:-1]] % len(shared)] = True
    return shared


def start_search(weighted: WeightedNetwork, component: IntArray | None = None) -> LocalSearch:
    """Compile a weighted network for local search, to `load` a world before anything else; `component` of atoms is found if not given."""
    full = _with_units(weighted)
    if len(full.literals) >= 2**31:
        raise NumericError(f"{len(full.literals)} literals are too many for local search, which indexes 2**31")
    label = component_labels(weighted)[1] if component is None else np.asarray(component, dtype=np.int64)
    c = int(label.max(initial=-1)) + 1
    found = occurrences(full)
    row, atom = np.zeros(len(full.cost), ROW), np.zeros(len(full.atoms), ATOM)
    block, parts = np.zeros(len(full.block_exact), BLOCK), np.zeros(c, COMPONENT)
    row["cost"], row["level"] = _integers(full, label, c) if len(row) else 0, ~full.hard
    row["first"], row["end"] = full.indptr[:-1], full.indptr[1:]
    atom["first"], atom["end"] = found.start[:-1], found.start[1:]
    atom["block"], atom["component"] = full.block, label
    block["first"], block["end"] = found.member_start[:-1], found.member_start[1:]
    block["exact"], block["shared"] = full.block_exact, _shared(full)
    parts["first"] = pointers(np.bincount(label, minlength=c))[:-1]
    parts["lowest_hard"] = parts["lowest_soft"] = np.iinfo(np.int64).max
    return LocalSearch(
        row,
        atom,
        block,
        parts,
        found.literals,
        found.occurrence,
        found.member,
        np.zeros((2, len(row)), dtype=np.int32),
        np.zeros(2, dtype=np.int64),
        np.zeros(len(atom), dtype=np.int32),
    )


@inner
def _set_bad(search: LocalSearch, j: int, bad: bool) -> None:
    # Put row j on its list of bad rows, or take it off: the last of the list takes its place.
    row = search.row[j]
    level = row.level
    if bad:
        row.place = search.size[level]
        search.bad[level, search.size[level]] = j
        search.size[level] += 1
    else:
        search.size[level] -= 1
        last = search.bad[level, search.size[level]]
        search.bad[level, row.place] = last
        search.row[last].place = row.place


@inner
def _add(search: LocalSearch, k: int, level: int, change: int) -> None:
    if level == 0:
        search.atom[k].hard += change
    else:
        search.atom[k].soft += change


@kernel
def load(search: LocalSearch, world: BoolArray) -> None:
    """Start from a world in which the blocks hold, and keep it for each component that has had no better one."""
    for j in range(len(search.size)):
        search.size[j] = 0
    for part in search.component:
        part.hard = part.soft = part.changes = 0
    for block in search.block:
        block.holder = -1
    for k in range(len(world)):
        atom = search.atom[k]
        atom.true = world[k]
        atom.soft = atom.hard = 0
        atom.changed = world[k] != atom.best
        if world[k] and atom.block >= 0:
            search.block[atom.block].holder = k
        if atom.changed:
            part = search.component[atom.component]
            search.changed[part.first + part.changes] = k
            part.changes += 1
    for j in range(len(search.row)):
        _load_row(search, j)
    for c in range(len(search.component)):
        keep(search, c)


@inner
def _load_row(search: LocalSearch, j: int) -> None:
    row = search.row[j]
    row.count = row.critical = 0
    for p in range(row.first, row.end):
        k = abs(search.literals[p]) - 1
        if search.atom[k].true == (search.literals[p] > 0):
            row.count += 1
            row.critical ^= k
    if (row.count == 0) == (row.cost > 0):
        _set_bad(search, j, True)
        part = search.component[search.atom[abs(search.literals[row.first]) - 1].component]
        if row.level == 0:
            part.hard += abs(row.cost)
        else:
            part.soft += abs(row.cost)
    if row.count == 0:
        for p in range(row.first, row.end):
            _add(search, abs(search.literals[p]) - 1, row.level, -row.cost)
    elif row.count == 1:
        _add(search, row.critical, row.level, row.cost)


@inner
def less(hard: Any, soft: Any, other_hard: Any, other_soft: Any) -> bool:
    """Whether the first cost is below the other: broken hard rows come first."""
    below: bool = hard < other_hard or (hard == other_hard and soft < other_soft)
    return below


@inner
def keep(search: LocalSearch, c: int) -> None:
    """Keep the world of component c if it is its best."""
    part = search.component[c]
    if not less(part.hard, part.soft, part.lowest_hard, part.lowest_soft):
        return
    part.lowest_hard, part.lowest_soft = part.hard, part.soft
    for p in range(part.first, part.first + part.changes):
        atom = search.atom[search.changed[p]]
        atom.best = atom.true
        atom.changed = False
    part.changes = 0


@kernel
def flip(search: LocalSearch, k: int) -> int:
    """Flip one atom, block or not, and bring everything but the best world up to date; returns the literals touched."""
    atom = search.atom[k]
    value = not atom.true
    atom.true = value
    part = search.component[atom.component]
    part.hard += atom.hard
    part.soft += atom.soft
    if atom.block >= 0:
        block = search.block[atom.block]
        if value:
            block.holder = k
        elif block.holder == k:
            block.holder = -1
    if not atom.changed:
        atom.changed = True
        search.changed[part.first + part.changes] = k
        part.changes += 1
    work = atom.end - atom.first
    for o in range(atom.first, atom.end):
        occurrence = search.occurrence[o]
        row = search.row[occurrence >> 1]
        cost, count = row.cost, row.count
        row.critical ^= k
        if ((occurrence & 1) == 1) == value:
            row.count = count + 1
            if count == 0:
                # Satisfied now: flips of the others no longer do that, and a flip of k violates it again.
                for p in range(row.first, row.end):
                    _add(search, abs(search.literals[p]) - 1, row.level, cost)
                _add(search, k, row.level, cost)
                _set_bad(search, occurrence >> 1, cost < 0)
            elif count == 1:
                _add(search, row.critical ^ k, row.level, -cost)
        else:
            row.count = count - 1
            if count == 1:
                for p in range(row.first, row.end):
                    _add(search, abs(search.literals[p]) - 1, row.level, -cost)
                _add(search, k, row.level, -cost)
                _set_bad(search, occurrence >> 1, cost > 0)
            elif count == 2:
                _add(search, row.critical, row.level, cost)
        work += row.end - row.first
    return int(work)


@kernel
def overlap(search: LocalSearch, off: int, on: int) -> tuple[int, int]:
    """Return what making `off` false and `on` true in a block costs besides the sum of both flips: not 0 only for rows with both atoms."""
    hard, soft = 0, 0
    for o in range(search.atom[on].first, search.atom[on].end):
        row = search.row[search.occurrence[o] >> 1]
        up = 1 if (search.occurrence[o] & 1) == 1 else -1
        for p in range(row.first, row.end):
            if abs(search.literals[p]) - 1 != off:
                continue
            down = -1 if search.literals[p] > 0 else 1
            count = row.count
            wrong = (count + up + down == 0) - (count + up == 0) - (count + down == 0) + (count == 0)
            if row.level == 0:
                hard += row.cost * wrong
            else:
                soft += row.cost * wrong
    return hard, soft
