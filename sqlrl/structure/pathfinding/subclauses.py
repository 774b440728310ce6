"""Candidates that say less than longer ones: sub-clauses, found as sub-sets of paths.

Not in the paper, which names it as future work: long clauses and all their sub-clauses are learned side by side.
"""

from __future__ import annotations

import numpy as np

from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.kernels import kernel
from sqlrl.structure.pathfinding.distinct import slot_of, table_of
from sqlrl.structure.pathfinding.paths import Paths


def sub_clauses(paths: Paths, row: IntArray, kept: BoolArray) -> BoolArray:
    """Tell which candidates are sub-clauses of longer kept ones.

    A candidate is one if the atoms of one of its paths are a part of the atoms of a path of a kept candidate with the same
    start: its literals are then some of the other's (or more general ones, if the longer path keeps a constant as such that the
    shorter one turns into a variable). No two clauses are compared.

    Parameters
    ----------
    paths : Paths
        All paths of the candidates.
    row : int64 array, shape (p,)
        The candidate of each path, as `PatternBook.grouped` returns it.
    kept : bool array, shape (c,)
        Which candidates are kept.

    Returns
    -------
    bool array, shape (c,)

    Examples
    --------
    >>> paths = Paths(np.array([0, 2, 4, 7]), np.array([0, 2, 0, 3, 0, 1, 2]))
    >>> sub_clauses(paths, np.array([0, 1, 2]), np.array([True, True, True])).tolist()
    [True, False, False]
    """
    longest = int(np.diff(paths.indptr).max(initial=0))
    atoms = np.full((len(paths), longest), -1, dtype=np.int64)
    for which, members in paths.by_length():
        atoms[which, : members.shape[1]] = members
    found = np.zeros(len(kept), dtype=np.bool_)
    _mark(atoms, np.diff(paths.indptr), row, kept, found)
    return found


@kernel
def _mark(atoms: IntArray, length: IntArray, row: IntArray, kept: BoolArray, found: BoolArray) -> None:
    table = table_of(atoms, len(atoms), len(atoms))
    part = np.empty(atoms.shape[1], dtype=np.int64)
    for i in range(len(atoms)):
        others = length[i] - 1
        # Bit j says that atom j + 1 is in the part; neither none nor all.
        for chosen in range(1, (1 << others) - 1 if kept[row[i]] else 0):
            part[:] = -1
            part[0] = atoms[i, 0]
            count = 1
            for j in range(others):
                if chosen >> j & 1:
                    part[count] = atoms[i, j + 1]
                    count += 1
            slot = slot_of(table, atoms, part)
            if table[slot] >= 0:
                found[row[table[slot]]] = True
