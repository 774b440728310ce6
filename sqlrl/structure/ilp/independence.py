"""What the test of clauses takes for independent: groups that are given, constants within which labels are found to be alike, examples, or each atom."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sqlrl.distinct import distinct
from sqlrl.errors import InputError, Parameter
from sqlrl.ground.network import IntArray
from sqlrl.structure.ilp.chance import MANY
from sqlrl.structure.ilp.settings import ILPParameters
from sqlrl.training.clusters import Cluster

GROUP = "group of groups="
"""What atoms have in common that the caller has grouped."""


class LabelSource(Protocol):
    """What is known of labelled atoms beside their labels; `training.induction.TargetSource` is one."""

    @property
    def examples(self) -> IntArray:
        """The example of each atom, shape (n,)."""
        ...

    def alike_within(self, depth: int) -> list[Cluster]:
        """Return the constants within which labels are alike, the most so first; at most `depth` facts lead to them."""
        ...

    def clustered(self, cluster: Cluster) -> IntArray:
        """Return a number for each atom, equal for those that belong to one constant, shape (n,)."""
        ...

    def grouped(self, groups: object) -> IntArray:
        """Return a number for each atom, equal for those that groups join, shape (n,)."""
        ...


@dataclass(frozen=True, eq=False)
class Independence:
    """Which atoms have labels that depend on each other, so that the test counts them together."""

    unit: IntArray | None = (
        None  # equal for such atoms, shape (n,); None where those of an example are, or each counts alone
    )
    name: str = "atom"  # what they have in common
    # Further constants within which labels are alike, of which the test knows nothing; with a unit of each.
    others: tuple[tuple[Cluster, IntArray], ...] = ()

    @property
    def found(self) -> bool:
        """Whether it was found in the labels."""
        return self.unit is not None and self.name != GROUP

    def recorded(self) -> dict[str, object]:
        """Return what a run keeps of it, and what must be the same where it goes on."""
        if self.unit is None:
            return {}
        return {"test_unit": self.name, "test_unit_crc": zlib.crc32(np.ascontiguousarray(self.unit).tobytes())}


def independence(source: LabelSource, parameters: ILPParameters, groups: object) -> Independence:
    """Choose what counts together: groups if they are given, else many examples, else the constants within which labels are most alike."""
    examples = len(np.unique(source.examples))
    if groups is not None:
        if examples >= MANY:
            raise InputError(
                f"{Parameter('groups')} is for atoms of few examples, and there are {examples:,}: whole examples stay together"
            )
        unit = source.grouped(groups)
        if not (unit != unit[0]).any():
            raise InputError(
                f"{Parameter('groups')} joins all atoms, and none is left to search while they are tested on: use finer groups"
            )
        return Independence(unit, GROUP)
    if examples > 1 or parameters.test_units == "atoms" or parameters.significance == 1:
        return Independence(name="example" if examples >= MANY else "atom")
    alike = source.alike_within(parameters.depth)
    # A clause may be about one constant that bodies name, and nothing but further atoms of that one can confirm it. Of a relation labels are often alike within one constant or the
    # other, and without some of its constants little of it is left to search.
    chosen = next((each for each in alike if not each.nameable and not each.own), None)
    rest = [(each, source.clustered(each)) for each in alike if each is not chosen]
    if chosen is None:
        return Independence(others=tuple(rest))
    unit = source.clustered(chosen)
    others = tuple((each, own) for each, own in rest if each.nameable or not _nested(own, unit))
    return Independence(unit, f"{chosen.type} in {chosen.link}", others)


def _nested(one: IntArray, other: IntArray) -> bool:
    """Tell whether atoms that are together in one division always are in the other."""
    (first, second), (sizes, more) = zip(*(_numbered(each) for each in (one, other)), strict=True)
    return bool(len(distinct([first, second])) == max(sizes, more))


def _numbered(values: IntArray) -> tuple[IntArray, int]:
    """Return values as numbers from 0 on, and how many differ."""
    own, place = np.unique(values, return_inverse=True)
    return place.reshape(-1), len(own)
