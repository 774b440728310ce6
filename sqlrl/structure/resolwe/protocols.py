"""What resolwe asks of a database: subgraphs in windows, the labels that candidates select in them, and a run that is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import numpy.typing as npt
import pyarrow as pa

from sqlrl.ground.candidates import JointCounts
from sqlrl.ground.network import IntArray
from sqlrl.learn.protocols import Ordering, TrainingDatabase
from sqlrl.logic.candidates import Candidate
from sqlrl.structure.resolwe.counts import StreamCounts

if TYPE_CHECKING:
    from sqlrl.logic.model import Model
    from sqlrl.logic.rules import Rule

FORMULATION_SCHEMA = pa.schema(
    [
        ("candidate", pa.int64()),
        ("template", pa.string()),
        ("formula", pa.string()),
        ("implied", pa.int32()),
        ("support", pa.int64()),
        ("matched", pa.int64()),
        ("recent", pa.float64()),
        ("probability", pa.float64()),
        ("bound", pa.float64()),
        ("g2", pa.float64()),
        ("p_value", pa.float64()),
        ("kept", pa.bool_()),
        ("reason", pa.string()),
    ]
)
"""Formulations as `sqlrl.formulation` keeps them, but for the run."""

RULE_LOG_SCHEMA = pa.schema(
    [
        ("step", pa.int64()),
        ("subgraphs", pa.int64()),
        ("event", pa.string()),
        ("candidate", pa.int64()),
        ("formula", pa.string()),
        ("implied", pa.int32()),
        ("recent", pa.float64()),
        ("probability", pa.float64()),
        ("bound", pa.float64()),
        ("reason", pa.string()),
    ]
)
"""What came and went as `sqlrl.rule_log` keeps it, but for the run."""


class SelectionSession(Protocol):
    """The subgraphs that choose structure, held against candidates, and a run that is kept."""

    @property
    def statements(self) -> int:
        """How many queries have counted labels so far, in this process."""
        ...

    @property
    def shapes(self) -> int:
        """How many queries count all candidates in a window."""
        ...

    def __len__(self) -> int:
        """Return how many windows there are; of a stream of unknown length, how many there were."""
        ...

    def windows(self, done: int) -> Iterator[IntArray]:
        """Yield the subgraphs of each window after the first `done`, by their ids."""
        ...

    def count(self, window: IntArray) -> JointCounts:
        """Count the labels that each candidate selects in the subgraphs of a window."""
        ...

    def begin(self, learner: str, parameters: Mapping[str, object], seed: int) -> int:
        """Record that the run has begun; return its number."""
        ...

    def resume(self, run: int, learner: str, parameters: Mapping[str, object]) -> Mapping[str, npt.NDArray[Any]]:
        """Go on with a run that was saved; return what it saved: the arrays of `StreamCounts`, and the run that learns weights if there is one."""
        ...

    def save(self, counts: StreamCounts, seconds: Mapping[str, float]) -> None:
        """Save the run after a window, with the counts where SQL can read them, in place of those before."""
        ...

    def follow(self, counts: StreamCounts, log: pa.Table) -> None:
        """Keep the counts, and what came and went (`RULE_LOG_SCHEMA`), where SQL can read them, in place of those before."""
        ...

    def learning(self, run: int) -> None:
        """Keep which run learns the weights."""
        ...

    def finish(self, model: Model, formulations: pa.Table, log: pa.Table, seconds: Mapping[str, float]) -> None:
        """Keep the model with what was found of formulations (`FORMULATION_SCHEMA`) and what came and went, and end the run, all or nothing."""
        ...

    def ending(self) -> AbstractContextManager[None]:
        """Record that an error or Ctrl-C has ended the run; say how to go on, if it is saved."""
        ...


class DriftingStructure(Protocol):
    """Structure that follows a stream; `sqlrl.structure.resolwe.drift.Drift` says what each part is."""

    counts: StreamCounts
    rules: list[Rule]
    statements: int

    @property
    def counted(self) -> Sequence[Candidate]:
        """Whose labels are to be counted."""
        ...

    @property
    def active(self) -> IntArray:
        """The places in `rules` of those in the model."""
        ...

    def add(self, counts: JointCounts, subgraphs: int) -> bool:
        """Take the counts of a window; tell whether the model has changed."""
        ...

    def log(self) -> pa.Table:
        """Return what came and went."""
        ...

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what is needed to go on, as arrays whose names are no learner's."""
        ...

    def events(self) -> list[dict[str, Any]]:
        """Return the log as JSON values."""
        ...

    def go_on(self, arrays: Mapping[str, npt.NDArray[Any]], events: Sequence[Mapping[str, Any]]) -> None:
        """Be what `arrays` and `events` had."""
        ...


class SelectionData(Protocol):
    """Data that structure is chosen from."""

    def drawn(self, examples: object) -> object:
        """Return examples, or a stream that is about to be read, as the other methods take them."""
        ...

    def targets(self, model: Model, examples: object) -> frozenset[str]:
        """Return the predicates of a model that are to be predicted."""
        ...

    def divided(
        self,
        model: Model,
        candidates: Sequence[Candidate],
        examples: object,
        order: Ordering,
        # How many choose, of so many, or of unknown length (None). Examples without query atoms, and with several that are all true or all
        # false, count there, and are left out.
        choose: Callable[[int | None], int],
    ) -> tuple[object, object]:
        """Return the examples that choose structure, and those left for weights, in stream order, both without those that nothing is learned from."""
        ...

    def selection(
        self,
        model: Model,
        candidates: Sequence[Candidate],
        examples: object,
        order: Ordering,
        *,
        saving: bool,  # whether the run shall be one that can be resumed
        decaying: bool,  # whether windows are smaller, if nobody says how large
    ) -> AbstractContextManager[SelectionSession]:
        """Hold candidates against examples while the context is open; what is kept of the run can be written after that, too."""
        ...

    def drifting(
        self,
        examples: object,
        drift: DriftingStructure,
        session: SelectionSession,
        size: int | None,  # how many loaded examples choose together; None if nobody says
    ) -> object:
        """Return the examples that are left for a learner of weights whose model follows them; `session` keeps what it counts."""
        ...


class SelectionDatabase(TrainingDatabase, Protocol):
    """A database that structure is chosen from."""

    @property
    def learning(self) -> Any:
        """The data: those of learners of weights, and `SelectionData`."""
        ...
