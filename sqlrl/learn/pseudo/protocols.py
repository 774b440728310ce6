"""What learners of pseudo-likelihood ask of a database; `sqlrl.database` implements it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.ground.partitions import Partition
from sqlrl.learn.protocols import TrainingRecord

if TYPE_CHECKING:
    from sqlrl.logic.model import Model


class BlanketTraining(Protocol):
    """A model held against the training examples: their atoms by what its clauses say, and the run that learns from them."""

    @property
    def partitions(self) -> Mapping[str, Partition]:
        """The atoms of each predicate that counts, by the m clauses: those that have an id, hard ones that blocks state, and soft evidence."""
        ...

    @property
    def priors(self) -> FloatArray:
        """Log-odds of soft evidence, the first one 0; empty if there is none."""
        # Where there is some, the last of the m clauses is no clause: its `positive` is the place of an atom's log-odds
        # among these.
        ...

    @property
    def statements(self) -> int:
        """How many statements counted them."""
        ...

    @property
    def sign(self) -> IntArray:
        """1 for each clause whose n counts true groundings, -1 for one that counts violated ones, 0 for soft evidence, shape (m,)."""
        ...

    @property
    def hard(self) -> BoolArray:
        """Which clauses are hard, shape (m,)."""
        ...

    @property
    def fixed(self) -> FloatArray:
        """The weights that the model fixes, NaN for clauses that have none, shape (m,)."""
        ...

    @property
    def violated(self) -> pa.Table:
        """The hard clauses that the data violate: `clause` and `groundings`."""
        ...

    @property
    def clause_count(self) -> int:
        """The number of clauses that have an id: the first ones."""
        ...

    def known_weights(self, model: Model, first: int, last: int) -> tuple[FloatArray, int]:
        """Return what a model says of the weights of clauses; see `sqlrl.learn.protocols.TrainingStream`."""
        ...

    def begin(self, learner: str, parameters: Mapping[str, object], seed: int) -> int:
        """Record that the run has begun; return its number."""
        ...

    def keep(self, rows: Mapping[str, pa.Table]) -> None:
        """Keep further rows of tables with the run, when `model` does."""
        ...

    def model(self, weights: FloatArray, record: TrainingRecord) -> Model:
        """Make the model with learned weights and keep the run."""
        ...

    def clauses(self, weights: FloatArray, support: pa.Table) -> pa.Table:
        """Return the clauses as a table for reading."""
        ...


class BlanketData(Protocol):
    """Data that weights are learned from."""

    def blankets(
        self, model: Model, *, examples: object, limit: int | None, opened: bool
    ) -> AbstractContextManager[BlanketTraining]:
        """Hold a model against the training examples while the context is open; with `opened` atoms of open predicates alone count."""
        ...


class BlanketDatabase(Protocol):
    """What `fit` needs of its database."""

    @property
    def learning(self) -> BlanketData:
        """The data that weights are learned from."""
        ...
