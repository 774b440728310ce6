"""What a solver of a weighed network returns: a world, and how far from the best it can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlrl.ground.network import BoolArray


@dataclass(frozen=True, eq=False)
class Solution:
    """A world of a weighed network and what is proved about it.

    Parameters
    ----------
    world : bool array, shape (n,)
        Truth of each atom; all hard rows and blocks hold.
    gap : float
        No world scores more than this above it: absolute, rounding included; infinite where nothing is proved.
    rounding : float
        The part of the gap that comes from sums of floats and from rounding costs to integers.
    scale : float
        The factor (a power of two) between the costs and a solver's integers; infinite if it has none.
    """

    world: BoolArray
    gap: float
    rounding: float
    scale: float = np.inf

    @property
    def optimal(self) -> bool:
        """Whether nothing but rounding is left of the gap."""
        return self.gap <= self.rounding
