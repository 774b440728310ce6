"""Networks that differ only in ground clauses of one literal: where blocks and longer clauses form trees, these are compiled once.

The worlds are those of `mpe`, number for number: the same sums in the same order, and the same one of several best worlds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sqlrl.errors import NumericError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.kernels import kernel
from sqlrl.solve.counts import soft_weights
from sqlrl.solve.forest import ForestArrays, solve_range
from sqlrl.solve.mpe import compile_program
from sqlrl.solve.structure import pointers
from sqlrl.solve.weighted import atom_terms


@dataclass(frozen=True, eq=False)
class UnitClauses:
    """The ground clauses of one literal of several networks, in any order."""

    network: IntArray  # shape (u,), as all: from 0
    atom: IntArray  # the local atom
    clause: IntArray
    change: IntArray  # how much the clause's n grows when the atom becomes true


@kernel
def weigh_each(
    indptr: IntArray,
    indices: IntArray,
    data: IntArray,
    start: IntArray,
    clause: IntArray,
    value: IntArray,
    weights: FloatArray,
    out: Annotated[FloatArray, 2],
) -> None:
    """Write what each state of each network adds to the score, shape (networks, states): its row of a CSR matrix with entries of its own."""
    # Those of state s in network e are `start[e * states + s]` to the next start, in order of clauses. Sums run in that order, equal
    # clauses added first, as in the matrix of a whole network.
    networks, states = out.shape
    for e in range(networks):
        for s in range(states):
            i, last = indptr[s], indptr[s + 1]
            j, end = start[e * states + s], start[e * states + s + 1]
            total = 0.0
            while i < last or j < end:
                if j >= end or (i < last and indices[i] < clause[j]):
                    total += data[i] * weights[indices[i]]
                    i += 1
                    continue
                here = clause[j]
                times = 0
                while j < end and clause[j] == here:
                    times += value[j]
                    j += 1
                if i < last and indices[i] == here:
                    times += data[i]
                    i += 1
                total += times * weights[here]
            out[e, s] = total


@kernel
def solve_each(
    forest: ForestArrays,
    unary: Annotated[FloatArray, 2],
    pair: FloatArray,
    variables: int,
    worlds: Annotated[BoolArray, 2],
) -> int:
    """Write the most probable states of one forest under each row of `unary` into the same row of `worlds`; return -1, or a row that has no world."""
    for e in range(len(unary)):
        stuck, _ = solve_range(forest, unary[e], pair, 0, variables, worlds[e])
        if stuck >= 0:
            return e
    return -1


class UnitForest:
    """The trees of a network under given weights, to which ground clauses of one literal are added."""

    def __init__(self, network: Network, weights: FloatArray) -> None:
        # `fits` is False where some component is no tree: elimination does not solve it.
        program = compile_program(network)
        self.fits = bool(program.structure.forest.all())
        forest = self._forest = program.forest
        self._soft, extra = soft_weights(network, weights), atom_terms(network)
        _, self._pair = forest.weigh(self._soft, extra)
        atom = forest.arrays.state_atom
        self._true = np.flatnonzero(atom >= 0)
        self._state = np.empty(len(network.atoms), np.int64)
        self._state[atom[self._true]] = self._true
        self._extra = extra[atom[self._true]]
        self._states = len(atom)
        unary = forest.unary
        # Kernels are compiled for one kind of integers.
        self._unary: tuple[IntArray, IntArray, IntArray] = (
            unary.indptr.astype(np.int64),
            unary.indices.astype(np.int64),
            unary.data.astype(np.int64),
        )

    def worlds(self, units: UnitClauses, networks: int) -> BoolArray | None:
        """Return the most probable worlds, shape (networks, n), with the ground clauses of each; None if hard clauses cannot hold."""
        place = units.network * self._states + self._state[units.atom]
        order = np.lexsort((units.clause, place))
        start = pointers(np.bincount(place, minlength=networks * self._states))
        unary: FloatArray = np.empty((networks, self._states))
        weigh_each(*self._unary, start, units.clause[order], units.change[order], self._soft, unary)
        unary[:, self._true] += self._extra
        if not np.isfinite(unary).all():
            raise NumericError("weights are so large that their sums overflow: scale them down")
        worlds: BoolArray = np.zeros((networks, len(self._state)), np.bool_)
        stuck = solve_each(self._forest.arrays, unary, self._pair, len(self._forest.variable), worlds)
        return worlds if stuck < 0 else None
