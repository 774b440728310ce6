"""What OSL is given: windows of a stream with what path finding needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Unpack

import pyarrow as pa

from sqlrl.ground.atoms import WindowFacts
from sqlrl.ground.network import FloatArray
from sqlrl.ground.windows import Window
from sqlrl.learn.protocols import Ordering, TrainingStream
from sqlrl.logic.modes import Modes
from sqlrl.logic.shapes import Shape
from sqlrl.structure.osl.accepted import PatternWindow
from sqlrl.structure.osl.additions import Addition
from sqlrl.structure.osl.patterns import Constants, PatternBook
from sqlrl.structure.osl.search import Target

if TYPE_CHECKING:
    from sqlrl.logic.model import Model


@dataclass(frozen=True, eq=False)
class GrowingWindow(Window):
    """A window of a stream, and what is true in it."""

    facts: WindowFacts  # the observed world
    bindings: PatternWindow  # of patterns in these examples
    # The model's clauses that are a single one, as canonical shapes with the least rows of constants that their symmetries allow: at least
    # those that are new since the last window.
    known: Sequence[tuple[Shape, Constants]]
    targets: Mapping[str, Target]  # the open predicates


class GrowingStream(TrainingStream, Protocol):
    """The windows that OSL learns from; iterating gives `GrowingWindow`s."""

    @property
    def modes(self) -> Modes:
        """Mode declarations, checked against the model."""
        ...

    @property
    def types(self) -> Mapping[str, tuple[str, ...]]:
        """The types of the arguments of each predicate."""
        ...

    @property
    def clause_count(self) -> int:
        """Number of clauses of the model so far."""
        ...

    def grow(self, book: PatternBook, additions: Sequence[Addition]) -> None:
        """Take the clauses that were added, before the learned model is made."""
        ...

    def added(self, weights: FloatArray) -> pa.Table:
        """Return what caused each clause that was added; must work after the stream was left."""
        ...


class GrowingData(Protocol):
    """Data that OSL learns from."""

    def training_windows(
        self, model: Model, *, examples: object, modes: Modes, **order: Unpack[Ordering]
    ) -> AbstractContextManager[GrowingStream]:
        """Hold a model against the data and stream the examples in windows; see `TrainingData`."""
        ...


class GrowingDatabase(Protocol):
    """What OSL needs of its database besides what weight learners need."""

    @property
    def learning(self) -> GrowingData:
        """The data that clauses and weights are learned from."""
        ...
