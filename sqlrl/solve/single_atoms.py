"""Networks in which every atom stands alone: no ground clause and no block joins two, so that each is true or false by its own weights.

What elimination finds of them, number for number, without the arrays of variables, components and states, which take ten times as much
memory as the network.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, Network

PIECE = 1 << 17
"""States that are weighed at a time, so that what is between takes little memory."""


@dataclass(frozen=True, eq=False)
class Alone:
    """The most probable world of n atoms that stand alone, and what elimination reports of it."""

    world: BoolArray
    longest: int  # the most clauses that an atom has
    terms: float  # the sum of the absolute terms of all atoms
    magnitude: float  # the sum of what the atoms add when they are true, in absolute values


def all_alone(network: Network) -> bool:
    """Whether all atoms of a network stand alone, and nothing is hard."""
    free = not network.rows.entries and not len(network.block_exact) and not len(network.hard_units)
    return free and len(network.atoms) > 0


def decided_alone(network: Network, soft: FloatArray, extra: FloatArray) -> Alone:
    """Decide each atom of a network in which all stand alone: true where its clauses and `extra` together add to the score."""
    piece = _Pieces(network, soft, extra)
    magnitude = piece.decide(0, 2 * len(network.atoms))
    # Of zeros for every atom, which `ground.atoms` keeps as one number, nothing is added up.
    none = extra.strides == (0,) and extra[0] == 0
    apart = 0.0 if none else float(np.abs(extra if piece.order is None else extra[piece.order]).sum())
    return Alone(piece.world, piece.longest, float(piece.terms @ np.abs(soft)) + apart, magnitude)


class _Pieces:
    # Decides atoms piece by piece; elimination's order is that of examples, and inside them of atoms.

    def __init__(self, network: Network, soft: FloatArray, extra: FloatArray) -> None:
        self.network, self.soft, self.extra = network, soft, extra
        self.world: BoolArray = np.zeros(len(network.atoms), dtype=np.bool_)
        self.terms, self.longest = np.zeros(len(soft)), 0
        example = network.example
        self.order = None if (example[1:] >= example[:-1]).all() else np.argsort(example, kind="stable")

    def decide(self, first: int, last: int) -> float:
        """Decide the atoms of some states, two an atom, false and true; return the sum of what these add, in absolute values."""
        if last - first > PIECE:
            # The halves into which numpy divides a sum of floats, whose last digits depend on that.
            half = (last - first) // 2
            half -= half % 8
            return self.decide(first, first + half) + self.decide(first + half, last)
        place = slice(first // 2, last // 2)
        atoms = place if self.order is None else self.order[place]
        units = self.network.units[atoms]
        gain = np.zeros(last - first)
        gain[1::2] = units @ self.soft + self.extra[atoms]
        self.world[atoms] = gain[1::2] > 0
        counted = (units.data != 0) & ~self.network.hard[units.indices]
        row = np.repeat(np.arange(len(gain) // 2), np.diff(units.indptr))
        self.longest = max(self.longest, int(np.bincount(row[counted], minlength=1).max()))
        size = np.abs(units.data[counted])
        self.terms += np.bincount(units.indices[counted], weights=size, minlength=len(self.soft))
        return float(np.abs(gain).sum())
