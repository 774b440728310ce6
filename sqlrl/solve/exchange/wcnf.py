"""Weighted partial MaxSAT: a weighed network as a WCNF file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.solve.exchange.text import (
    Names,
    Place,
    joined,
    map_path,
    names_or_local,
    new_file,
    pieces,
    texts,
    write_lines,
    write_map,
)
from sqlrl.solve.scaling import Scaled, scale_to_integers
from sqlrl.solve.structure import pointers, ragged_ranges
from sqlrl.solve.weighed import Weighed

Dialect = Literal["classic", "2022"]

PAIRWISE = 40
"""Blocks of more members say "at most one" with variables of their own: their pairs would be too many."""


@dataclass(frozen=True, eq=False)
class Clauses:
    """Clauses of one kind.

    Parameters
    ----------
    weight : int64 array, shape (c,), or None
        None: they are hard.
    start, literals : int64 arrays, shapes (c + 1,) and (literals,)
    """

    weight: IntArray | None
    start: IntArray
    literals: IntArray

    def __len__(self) -> int:
        return len(self.start) - 1


def _equal_size(literals: IntArray, weight: IntArray | None = None) -> Clauses:
    # Clauses that are the rows of a matrix.
    count, size = literals.shape
    return Clauses(weight, np.arange(count + 1, dtype=np.int64) * size, literals.ravel())


def _some(weighed: Weighed, rows: IntArray, weight: IntArray | None) -> Clauses:
    size = np.diff(weighed.indptr)[rows]
    return Clauses(weight, pointers(size), weighed.literals[ragged_ranges(weighed.indptr[rows], size)])


def _rewarded(weighed: Weighed) -> IntArray:
    # Rows that are better violated; each has a variable.
    return np.flatnonzero(weighed.cost < 0)


def _block_sizes(weighed: Weighed) -> IntArray:
    return np.asarray(np.diff(weighed.block_members[0]), dtype=np.int64)


def variable_count(weighed: Weighed) -> int:
    """The number of variables of the file: the atoms, then those that only the file has.

    Examples
    --------
    >>> from sqlrl.solve.sample import network
    >>> from sqlrl.solve.weighed import weigh
    >>> variable_count(weigh(network(2, [(0, [1, 2])]), [-1.0]))
    3
    """
    size = _block_sizes(weighed)
    return len(weighed.atoms) + len(_rewarded(weighed)) + int((size[size > PAIRWISE] - 1).sum())


def _blocks(weighed: Weighed) -> Iterator[Clauses]:
    start, atoms = weighed.block_members
    size, members = _block_sizes(weighed), atoms + 1
    exact = np.flatnonzero(weighed.block_exact)
    yield Clauses(None, pointers(size[exact]), members[ragged_ranges(start[exact], size[exact])])
    free = len(weighed.atoms) + len(_rewarded(weighed)) + 1
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


def _mentioned(weighed: Weighed) -> BoolArray:
    # An at-most-one block of one atom says nothing.
    size = np.append(_block_sizes(weighed) + weighed.block_exact, 0)
    found = (weighed.linear != 0) | (size[weighed.block] > 1)
    found[np.abs(weighed.literals) - 1] = True
    return np.asarray(found, dtype=np.bool_)


def clauses_of(weighed: Weighed, scaled: Scaled) -> Iterator[Clauses]:
    """All clauses, kind by kind.

    A row that is better violated has a variable z that says so: z costs nothing only if all its literals are false. An
    atom that nothing depends on gets a clause that always holds, so that every solver gives it a value.

    Parameters
    ----------
    weighed : Weighed
        n atoms, r rows.
    scaled : Scaled
        Integers for `linear`, then for the costs of the soft rows.

    Yields
    ------
    Clauses
    """
    n, hard = len(weighed.atoms), weighed.hard
    cost = np.zeros(len(weighed.cost), dtype=np.int64)
    cost[~hard] = scaled.coefficients[n:]
    yield _some(weighed, np.flatnonzero(hard), None)
    yield from _blocks(weighed)
    good = _rewarded(weighed)
    z = n + 1 + np.arange(len(good), dtype=np.int64)
    conjunction = _some(weighed, good, None)
    yield _equal_size(np.stack([np.repeat(-z, np.diff(conjunction.start)), -conjunction.literals], axis=1))
    untouched = np.flatnonzero(~_mentioned(weighed)) + 1
    yield _equal_size(np.stack([untouched, -untouched], axis=1))
    units = np.flatnonzero(weighed.linear)
    weight = scaled.coefficients[units]
    yield _equal_size((np.sign(weight) * (units + 1))[:, None], np.abs(weight))
    bad = np.flatnonzero(~hard & (weighed.cost > 0))
    yield _some(weighed, bad, cost[bad])
    yield _equal_size(z[:, None], -cost[good])


def scaled_costs(weighed: Weighed, ids: IntArray) -> Scaled:
    """Integers for `linear`, then for the costs of the soft rows.

    Raises
    ------
    NumericError
        64 bits cannot hold them all.
    """
    rows = np.flatnonzero(~weighed.hard)
    n = len(ids)

    def name(position: int) -> str:
        """Return what messages call a cost."""
        if position < n:
            return f"unit clauses and soft evidence of atom {ids[position]}"
        low, high = weighed.indptr[rows[position - n] : rows[position - n] + 2]
        atoms = ", ".join(str(ids[abs(x) - 1]) for x in weighed.literals[low : min(high, low + 6)].tolist())
        return f"a ground clause of atoms {atoms}{', ...' if high > low + 6 else ''}"

    return scale_to_integers(np.concatenate([weighed.linear, weighed.cost[rows]]), name)


def place_in_wcnf(weighed: Weighed) -> Place:
    """The variable of each atom: 1 to n."""
    return Place(np.arange(1, len(weighed.atoms) + 1, dtype=np.int64))


def write_wcnf(weighed: Weighed, path: str | Path, *, dialect: Dialect = "classic", names: Names | None = None) -> None:
    """Write a weighed network as weighted partial MaxSAT, and beside it the map from variables to atoms.

    Parameters
    ----------
    weighed : Weighed
        n atoms; atom k is variable k + 1.
    path : str or Path
    dialect : {"classic", "2022"}
        "classic" has a line `p wcnf variables clauses top`, and hard clauses have the weight `top`; "2022" is the format
        of the MaxSAT Evaluations from 2022 on, with `h` before hard clauses.
    names : Names, optional
        For the map; local atoms by default.

    Raises
    ------
    NumericError
        Costs are too far apart for integers; see `sqlrl.solve.scaling`.
    InputError
        The file cannot be written.

    Notes
    -----
    A world of cost c (the sum of the weights of violated soft clauses, with the file's own variables at their best)
    scores ``constant - c / scale``, up to what integers lost; the comments of the file give all three. Blocks are hard
    clauses.

    Examples
    --------
    >>> import tempfile
    >>> from sqlrl.solve.sample import network
    >>> from sqlrl.solve.weighed import weigh
    >>> weighed = weigh(network(2, [(0, [-1, 2]), (1, [1]), (2, [-2])]), [2.0, 1.5, 0.5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_wcnf(weighed, Path(folder, "a.wcnf"), dialect="2022")
    ...     lines = Path(folder, "a.wcnf").read_text().splitlines()
    >>> [line for line in lines if not line.startswith("c")]
    ['3 1 0', '1 -2 0', '4 -1 2 0']
    """
    names = names_or_local(names, weighed)
    scaled = scaled_costs(weighed, names.of(weighed))
    cost = weighed.cost[np.isfinite(weighed.cost)]
    constant = weighed.constant + float(np.maximum(weighed.linear, 0).sum()) - float(np.minimum(cost, 0).sum())
    integers = np.abs(scaled.coefficients)
    notes = [
        f"weights are log-odds times the scale {scaled.scale:.17g}, rounded, which lost {scaled.lost:.3g} in all",
        f"the score of a world is {constant!r} - (cost of its violated soft clauses) / {scaled.scale:.17g}",
    ]
    with new_file(path) as file:
        file.write("c a ground network as weighted partial MaxSAT\n")
        file.write(f"c variables 1 to {len(weighed.atoms)} are atoms, listed in {map_path(path).name}\n")
        file.writelines(f"c {note}\n" for note in notes)
        top = str(int(integers.sum()) + 1)
        if dialect == "classic":
            count = sum(map(len, clauses_of(weighed, scaled)))
            file.write(f"p wcnf {variable_count(weighed)} {count} {top}\n")
        for kind in clauses_of(weighed, scaled):
            for low, high in pieces(kind.start):
                start = kind.start[low : high + 1]
                literals = joined(start, texts(kind.literals[start[0] : start[-1]]))
                hard = top if dialect == "classic" else "h"
                write_lines(file, hard if kind.weight is None else texts(kind.weight[low:high]), literals, "0")
    write_map(weighed, path, place_in_wcnf(weighed), names, notes)
