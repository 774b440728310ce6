"""What the bottom-clause learner asks of a database; `sqlrl.database.inducing` implements it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from sqlrl.logic.bias import Bias
from sqlrl.logic.components import Components
from sqlrl.logic.rules import Rule
from sqlrl.structure.ilp.protocols import CoverageSource

if TYPE_CHECKING:
    from sqlrl.logic.model import Model

CANDIDATE_SCHEMA = pa.schema(
    [
        ("candidate", pa.int64()),
        ("clause", pa.string()),
        ("literals", pa.int32()),
        ("positives", pa.int64()),
        ("negatives", pa.int64()),
        ("score", pa.float64()),
        ("in_theory", pa.bool_()),
        ("atom", pa.int64()),
        ("atom_name", pa.string()),
    ]
)
"""Found clauses as `sqlrl.candidate` keeps them, but for the run."""

COVERAGE_SCHEMA = pa.schema([("candidate", pa.int64()), ("atom", pa.int64())])
"""What found clauses cover as `sqlrl.coverage` keeps it, but for the run."""


class Task(Protocol):
    """Progress that is shown."""

    def advance(self, steps: int = 1, *, note: str = "") -> None:
        """Go on by some steps."""
        ...


class InducingSession(Protocol):
    """A target with its data, and a run that is kept."""

    @property
    def source(self) -> CoverageSource:
        """The target's labelled atoms, and what is known around them."""
        ...

    @property
    def components(self) -> Components:
        """Canonical forms of components."""
        ...

    @property
    def types(self) -> Mapping[str, tuple[str, ...]]:
        """The types of the arguments of each predicate."""
        ...

    def names(self, kind: str) -> Sequence[str]:
        """Return the names of a type's constants, by id."""
        ...

    def atom_texts(self, atoms: Sequence[int]) -> Mapping[int, str]:
        """Return atoms as text, by id."""
        ...

    def passed_over(self) -> str | None:
        """Say which clauses could not be evaluated and how to change that; None if all could."""
        ...

    def progress(self, description: str, total: int) -> AbstractContextManager[Task]:
        """Show progress on work of so many steps."""
        ...

    def begin(self, learner: str, parameters: Mapping[str, object], seed: int) -> int:
        """Record that the run has begun; return its number."""
        ...

    def keep(
        self, rules: Sequence[Rule], candidates: pa.Table, coverage: pa.Table, seconds: Mapping[str, float], status: str
    ) -> Model:
        """Keep what was found, all or nothing, and end the run; return the model with the rules added.

        Parameters
        ----------
        rules : sequence of Rule
        candidates : pyarrow.Table
            Of `CANDIDATE_SCHEMA`.
        coverage : pyarrow.Table
            Of `COVERAGE_SCHEMA`.
        seconds : mapping of str to float
        status : {"done", "interrupted", "failed"}
        """
        ...


class InducingDatabase(Protocol):
    """A database that clauses can be learned from."""

    def induction_bias(self, target: Model | str, bias: Bias | None) -> Bias:
        """Return the bias for a target: the given one, checked against the data, or one from types and keys."""
        ...

    def induction(
        self, target: Model | str, bias: Bias, *, examples: Any, limit: int | None
    ) -> AbstractContextManager[InducingSession]:
        """Open a target with its data; a run that an error or Ctrl-C ends is kept with that status.

        Parameters
        ----------
        target : Model or str
        bias : Bias
        examples : query or list of names, optional
        limit : int, optional
            The most bindings of a layer of components, and facts around seeds.
        """
        ...
