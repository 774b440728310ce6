"""The best world of a network that gains ground clauses: only the components that gained some are solved again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sqlrl.ground.network import BoolArray
from sqlrl.solve.methods import Chooser, Options
from sqlrl.solve.restriction import select, with_components
from sqlrl.solve.result import MethodChoice, merged
from sqlrl.solve.weighted import WeightedNetwork


class BestWorld:
    """The best world so far of a network of n atoms that gains ground clauses, and what is proved about it."""

    def __init__(self, atoms: int, world: BoolArray | None = None, *, known: BoolArray | None = None) -> None:
        # In it each component is as good as when it was last solved; it may begin with the best world of the network that will grow.
        self.world: BoolArray = np.zeros(atoms, dtype=np.bool_) if world is None else world
        # Worlds, shape (k, n), from the best of which solvers start.
        self._known = known
        # For one atom of each component: how much better than when it was last solved a world can be, beside rounding.
        self.excess = np.zeros(atoms)
        self.rounding = 0.0  # over all that was ever solved
        self.scale = np.inf  # as in `Chooser`
        self._choices: list[MethodChoice] = []
        self._solved = world is not None

    @property
    def choices(self) -> tuple[MethodChoice, ...]:
        """What was chosen, whenever it was: a component that was solved again counts again."""
        return merged(self._choices)

    @property
    def proved(self) -> bool:
        """Whether nothing but rounding can make a world better."""
        return not self.excess.any()

    def unproved(self, weighted: WeightedNetwork) -> BoolArray:
        """Return the atoms of the components that could be better, shape (n,)."""
        return with_components(weighted, self.excess > 0)

    def solve(self, weighted: WeightedNetwork, changed: BoolArray, options: Options) -> None:
        """Solve the components of the atoms that changed from their worlds so far; after an error of `Chooser.run` all is as before."""
        again = with_components(weighted, changed)
        part = select(weighted, again)
        chooser = Chooser(part, replace(options, start=self.world if self._solved else self._known))
        chooser.run()
        self._solved, self.world = True, self.world.copy()
        self.world[again], self.excess[again] = chooser.world, chooser.excess
        self.rounding += chooser.rounding
        self.scale = min(self.scale, chooser.scale)
        self._choices += chooser.choices
