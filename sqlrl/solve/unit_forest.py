"""Networks that differ only in ground clauses of one literal: where blocks and longer clauses form trees, these are compiled once.

The worlds are those of `mpe`, number for number: the same sums in the same order, and the same one of several best worlds.
"""

from __future__ import annotations

import numpy as np

from sqlrl.errors import NumericError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.solve.counts import soft_weights
from sqlrl.solve.mpe import compile_program
from sqlrl.solve.weighted import atom_terms


class UnitForest:
    """The trees of a network under given weights, to which ground clauses of one literal are added."""

    def __init__(self, network: Network, weights: FloatArray) -> None:
        # `fits` is False where some component is no tree: elimination does not solve it.
        program = compile_program(network)
        self.fits = bool(program.structure.forest.all())
        forest = self._forest = program.forest
        self._soft, self._extra = soft_weights(network, weights), atom_terms(network)
        _, self._pair = forest.weigh(self._soft, self._extra)
        atom = forest.arrays.state_atom
        self._true = np.flatnonzero(atom >= 0)
        self._state = np.empty(len(network.atoms), np.int64)
        self._state[atom[self._true]] = self._true
        self._added = self._extra[atom[self._true]]
        unary = forest.unary.tocoo()
        self._states, self._clauses = len(atom), len(self._soft)
        self._key = unary.row.astype(np.int64) * self._clauses + unary.col
        self._value = unary.data.astype(np.int64)

    def world(self, units: tuple[IntArray, IntArray, IntArray]) -> BoolArray | None:
        """Return the most probable world with ground clauses of one literal, given as atoms, clauses and changes of n; None if hard clauses cannot hold."""
        atom, clause, change = units
        key = np.concatenate([self._key, self._state[atom] * self._clauses + clause])
        value = np.concatenate([self._value, change])
        order = np.argsort(key, kind="stable")
        key, value = key[order], value[order]
        if len(key):
            first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
            if len(first) < len(key):
                key, value = key[first], np.add.reduceat(value, first)
        # Sums run in the order of clauses, as those of the matrix of the whole network do.
        terms = value * self._soft[key % self._clauses] if self._clauses else np.zeros(0)
        # Of no terms numpy counts integers.
        unary = np.bincount(key // max(self._clauses, 1), weights=terms, minlength=self._states).astype(np.float64)
        unary[self._true] += self._added
        if not np.isfinite(unary).all():
            raise NumericError("weights are so large that their sums overflow: scale them down")
        world: BoolArray = np.zeros(len(self._state), np.bool_)
        return world if self._forest.solve(unary, self._pair, world) < 0 else None
