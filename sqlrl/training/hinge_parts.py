"""The hinges of training examples that do not fit into memory together, in parts that share no atom: kept in files, and read once in each pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.training.shelf import Shelf


@dataclass(frozen=True, eq=False)
class LabelledHinges:
    """The hinges of some examples, and the labels of their n atoms."""

    network: HingeNetwork
    truth: FloatArray  # shape (n,), NaN for none


class HingeParts:
    """Parts of a network, one after the other; a pass reads each once, and holds one at a time."""

    def __init__(self, networks: Iterable[HingeNetwork], shelf: Shelf[HingeNetwork]) -> None:
        self._shelf = shelf
        atoms: list[IntArray] = []
        ground: IntArray | None = None
        for network in networks:
            atoms.append(network.atoms)
            ground = network.ground_rules if ground is None else ground + network.ground_rules
            shelf.put(network)
            del network  # or else it would be there while the next is made
        assert ground is not None, "there is at least one part"
        self.ground = ground  # shape (m,): how many ground rules of each rule have a query atom
        self.sizes = [len(each) for each in atoms]
        self.atoms = np.concatenate(atoms)  # of all parts, one after the other
        self.truth: FloatArray = np.full(len(self.atoms), np.nan)

    def __iter__(self) -> Iterator[LabelledHinges]:
        start = 0
        for held, size in zip(self._shelf, self.sizes, strict=True):
            yield LabelledHinges(held.part(), self.truth[start : start + size])
            start += size
