"""What a clause finder is given of the data: the facts around target atoms, and where components of bodies hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlrl.ground.evaluated import ComponentCounts, Saturated
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.logic.components import BodyLiteral, Component, Components, Group

__all__ = ["BodyLiteral", "Component", "ComponentCounts", "Components", "CoverageSource", "Group", "Saturated"]


class CoverageSource(Protocol):
    """The labelled query atoms of a target, and what the database knows around them.

    A clause `l1 ^ l2 ^ ... => target(A, B, ...)` is searched as the components of its body (`Components.split`). It covers the
    atoms that all of its components cover; its number of body groundings at an atom is the product of theirs.
    """

    @property
    def truth(self) -> BoolArray:
        """The label of each target atom, shape (n,)."""
        ...

    @property
    def atoms(self) -> IntArray:
        """The ids of the target atoms in the database, ascending, shape (n,)."""
        ...

    @property
    def arguments(self) -> IntArray:
        """The ids of their constants, shape (n, h); column j is of the type of the target's argument j."""
        ...

    @property
    def predicates(self) -> tuple[str, ...]:
        """The body predicates, ascending; `BodyLiteral.predicate` is an index into them."""
        ...

    def saturate(self, seeds: IntArray, depth: int) -> Saturated:
        """Return the facts around seeds (places of target atoms), in one query for each depth, whatever the number of seeds.

        Raises
        ------
        GroundingLimitError
            If there are more than the source's limit; names the mode that explodes.
        """
        ...

    def evaluate(self, layer: Sequence[Component], *, keep: bool = True) -> ComponentCounts:
        """Return where components hold, in a few queries, whatever their number. Known ones are not asked for again.

        The source finds by itself how to build them: a component is made of the components that are left when one of its literals
        is taken away, and of that literal. Those of the clauses that a search has refined are known, if they were evaluated;
        what is missing is evaluated on the way.

        Parameters
        ----------
        layer : sequence of Component
            In canonical form; repeats are allowed.
        keep : bool
            Whether components will be built from these: their bindings are kept as long as the source is open. Clauses of the greatest
            length need no bindings.

        Returns
        -------
        ComponentCounts
            Row i for `layer[i]`; empty for one that can only be made of components with more bindings than the source's limit.
        """
        ...
