"""A database whose models are grounded once each for several learners of weights."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

import sqlrl
from sqlrl.ground.clauses import learned_model
from sqlrl.ground.windows import Window
from sqlrl.training.learning import Learning
from sqlrl.training.records import TrainingRecord
from sqlrl.training.stream import ExampleStream

Made = TypeVar("Made")
FloatArray = npt.NDArray[np.float64]


class _Kept(ExampleStream):
    """A stream of one window with all examples, as often as it is asked for; its runs are not kept in the database."""

    def __init__(self, db: sqlrl.Database, program: Any) -> None:
        ids = db.advanced.example_ids()
        super().__init__(program, db.advanced.session, [ids], size=max(len(ids), 1), limit=None)
        self.windows = list(super().__iter__())

    def __iter__(self) -> Generator[Window]:
        yield from self.windows

    def begin(self, *_: object) -> int:
        """Return no number of a run."""
        return 0

    def model(self, weights: FloatArray, record: TrainingRecord) -> sqlrl.Model:
        """Make the learned model."""
        full = np.zeros(self._program.clause_count)
        full[: len(weights)] = weights
        return learned_model(self._program, full)


class GroundedOnce:
    """Stands for a database in `fit` of batch learners: a model (the same object) is grounded when it is first learned.

    The data must not change while it is open.

    Parameters
    ----------
    db : Database

    Attributes
    ----------
    saved : float
        Seconds that the groundings which were not repeated would have taken.
    """

    def __init__(self, db: sqlrl.Database) -> None:
        self.db, self.saved = db, 0.0
        self._stack = ExitStack()
        self._made: dict[Hashable, Any] = {}
        # With the model, so that its id is never another one's.
        self._streams: dict[int, tuple[sqlrl.Model, _Kept, float]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what `make` makes the first time that it is asked for by this key."""
        if key not in self._made:
            self._made[key] = make()
        found: Made = self._made[key]
        return found

    @property
    def advanced(self) -> Self:
        """Whose `learning` learners ask for."""
        return self

    @property
    def learning(self) -> Learning:
        """What learners ask for: this has what batch learners call."""
        return cast(Learning, self)

    @contextmanager
    def training_windows(self, model: sqlrl.Model, **_: object) -> Iterator[_Kept]:
        """As a learner asks for them: all examples in one window."""
        yield self._stream(model)

    def _stream(self, model: sqlrl.Model) -> _Kept:
        if id(model) in self._streams:
            _, stream, seconds = self._streams[id(model)]
            self.saved += seconds
            return stream
        start = time.perf_counter()
        stream = _Kept(self.db, self._stack.enter_context(self.db.advanced.program(model, training=True)))
        self._streams[id(model)] = model, stream, time.perf_counter() - start
        return stream
