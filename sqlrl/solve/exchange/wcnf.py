"""Weighted partial MaxSAT: a weighted network as a WCNF file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from sqlrl.ground.network import BoolArray, IntArray, ragged_ranges
from sqlrl.solve.exchange.text import (
    ExportedNames,
    ExportedPlace,
    joined,
    map_path,
    names_or_local,
    new_file,
    pieces,
    texts,
    write_lines,
    write_map,
)
from sqlrl.solve.solvers import Scaled, scale_to_integers
from sqlrl.solve.structure import pointers
from sqlrl.solve.weighted import WeightedNetwork

# The first has a line `p wcnf variables clauses top`, and hard clauses have the weight `top`; the second is the format of the MaxSAT
# Evaluations from 2022 on, with `h` before hard clauses.
Dialect = Literal["classic", "2022"]

PAIRWISE = 40
"""Blocks of more members say "at most one" with variables of their own: their pairs would be too many."""


@dataclass(frozen=True, eq=False)
class Clauses:
    """Clauses of one kind; they are hard if `weight`, of shape (c,), is None."""

    weight: IntArray | None
    start: IntArray
    literals: IntArray

    def __len__(self) -> int:
        return len(self.start) - 1


def _equal_size(literals: IntArray, weight: IntArray | None = None) -> Clauses:
    # Clauses that are the rows of a matrix.
    count, size = literals.shape
    return Clauses(weight, np.arange(count + 1, dtype=np.int64) * size, literals.ravel())


def _some(weighted: WeightedNetwork, rows: IntArray, weight: IntArray | None) -> Clauses:
    size = np.diff(weighted.indptr)[rows]
    return Clauses(weight, pointers(size), weighted.literals[ragged_ranges(weighted.indptr[rows], size)])


def _rewarded(weighted: WeightedNetwork) -> IntArray:
    # Rows that are better violated; each has a variable.
    return np.flatnonzero(weighted.cost < 0)


def _block_sizes(weighted: WeightedNetwork) -> IntArray:
    return np.asarray(np.diff(weighted.block_members[0]), dtype=np.int64)


def variable_count(weighted: WeightedNetwork) -> int:
    """The number of variables of the file: the atoms, then those that only the file has."""
    size = _block_sizes(weighted)
    return len(weighted.atoms) + len(_rewarded(weighted)) + int((size[size > PAIRWISE] - 1).sum())


def _blocks(weighted: WeightedNetwork) -> Iterator[Clauses]:
    start, atoms = weighted.block_members
    size, members = _block_sizes(weighted), atoms + 1
    exact = np.flatnonzero(weighted.block_exact)
    yield Clauses(None, pointers(size[exact]), members[ragged_ranges(start[exact], size[exact])])
    free = len(weighted.atoms) + len(_rewarded(weighted)) + 1
    for k in np.unique(size[size > 1]).tolist():
        x = members[start[:-1][size == k][:, None] + np.arange(k)]
        if k <= PAIRWISE:
            first, second = np.triu_indices(k, 1)
            yield _equal_size(np.stack([-x[:, first], -x[:, second]], axis=2).reshape(-1, 2))
            continue
        # Sinz, "Towards an optimal CNF encoding of Boolean cardinality constraints" (2005): s_i: one of x_1..x_i is true.
        s = free + np.arange(len(x) * (k - 1)).reshape(len(x), k - 1)
        free += s.size
        for left, right in ((-x[:, :-1], s), (-s[:, :-1], s[:, 1:]), (-x[:, 1:], -s)):
            yield _equal_size(np.stack([left, right], axis=2).reshape(-1, 2))


def _mentioned(weighted: WeightedNetwork) -> BoolArray:
    # An at-most-one block of one atom says nothing.
    size = np.append(_block_sizes(weighted) + weighted.block_exact, 0)
    found = (weighted.linear != 0) | (size[weighted.block] > 1)
    found[np.abs(weighted.literals) - 1] = True
    return np.asarray(found, dtype=np.bool_)


def clauses_of(weighted: WeightedNetwork, scaled: Scaled) -> Iterator[Clauses]:
    """Yield all clauses, kind by kind; `scaled` are integers for `linear`, then for the costs of the soft rows."""
    n, hard = len(weighted.atoms), weighted.hard
    cost = np.zeros(len(weighted.cost), dtype=np.int64)
    cost[~hard] = scaled.coefficients[n:]
    yield _some(weighted, np.flatnonzero(hard), None)
    yield from _blocks(weighted)
    # A row that is better violated has a variable z that says so: z costs nothing only if all its literals are false.
    good = _rewarded(weighted)
    z = n + 1 + np.arange(len(good), dtype=np.int64)
    conjunction = _some(weighted, good, None)
    yield _equal_size(np.stack([np.repeat(-z, np.diff(conjunction.start)), -conjunction.literals], axis=1))
    # An atom that nothing depends on gets a clause that always holds, so that every solver gives it a value.
    untouched = np.flatnonzero(~_mentioned(weighted)) + 1
    yield _equal_size(np.stack([untouched, -untouched], axis=1))
    units = np.flatnonzero(weighted.linear)
    weight = scaled.coefficients[units]
    yield _equal_size((np.sign(weight) * (units + 1))[:, None], np.abs(weight))
    bad = np.flatnonzero(~hard & (weighted.cost > 0))
    yield _some(weighted, bad, cost[bad])
    yield _equal_size(z[:, None], -cost[good])


def scaled_costs(weighted: WeightedNetwork, ids: IntArray) -> Scaled:
    """Integers for `linear`, then for the costs of the soft rows; a NumericError if 64 bits cannot hold them all."""
    rows = np.flatnonzero(~weighted.hard)
    n = len(ids)

    def name(position: int) -> str:
        """Return what messages call a cost."""
        if position < n:
            return f"unit clauses and soft evidence of atom {ids[position]}"
        low, high = weighted.indptr[rows[position - n] : rows[position - n] + 2]
        atoms = ", ".join(str(ids[abs(x) - 1]) for x in weighted.literals[low : min(high, low + 6)].tolist())
        return f"a ground clause of atoms {atoms}{', ...' if high > low + 6 else ''}"

    return scale_to_integers(np.concatenate([weighted.linear, weighted.cost[rows]]), name)


def place_in_wcnf(weighted: WeightedNetwork) -> ExportedPlace:
    """The variable of each atom: 1 to n."""
    return ExportedPlace(np.arange(1, len(weighted.atoms) + 1, dtype=np.int64))


def write_wcnf(
    weighted: WeightedNetwork, path: str | Path, *, dialect: Dialect = "classic", names: ExportedNames | None = None
) -> None:
    """Write weighted partial MaxSAT, atom k as variable k + 1, and its map; costs too far apart for integers are a NumericError."""
    names = names_or_local(names, weighted)
    scaled = scaled_costs(weighted, names.of(weighted))
    cost = weighted.cost[np.isfinite(weighted.cost)]
    constant = weighted.constant + float(np.maximum(weighted.linear, 0).sum()) - float(np.minimum(cost, 0).sum())
    integers = np.abs(scaled.coefficients)
    # A cost is that of the violated soft clauses, with the file's own variables at their best.
    notes = [
        f"weights are log-odds times the scale {scaled.scale:.17g}, rounded, which lost {scaled.lost:.3g} in all",
        f"the score of a world is {constant!r} - (cost of its violated soft clauses) / {scaled.scale:.17g}",
    ]
    with new_file(path) as file:
        file.write("c a ground network as weighted partial MaxSAT\n")
        file.write(f"c variables 1 to {len(weighted.atoms)} are atoms, listed in {map_path(path).name}\n")
        file.writelines(f"c {note}\n" for note in notes)
        top = str(int(integers.sum()) + 1)
        if dialect == "classic":
            count = sum(map(len, clauses_of(weighted, scaled)))
            file.write(f"p wcnf {variable_count(weighted)} {count} {top}\n")
        for kind in clauses_of(weighted, scaled):
            for low, high in pieces(kind.start):
                start = kind.start[low : high + 1]
                literals = joined(start, texts(kind.literals[start[0] : start[-1]]))
                hard = top if dialect == "classic" else "h"
                write_lines(file, hard if kind.weight is None else texts(kind.weight[low:high]), literals, "0")
    write_map(weighted, path, place_in_wcnf(weighted), names, notes)
