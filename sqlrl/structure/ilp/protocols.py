"""What the bottom-clause learner asks of a database: facts around target atoms, where components of bodies hold, and a session for a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from sqlrl.ground.coverage import ComponentCounts
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.ground.saturation import Saturated
from sqlrl.logic.bias import Bias
from sqlrl.logic.components import Component, Components
from sqlrl.logic.rules import Rule

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


class CoverageSource(Protocol):
    """The labelled query atoms of a target, and what the database knows around them.

    A clause covers the atoms that all components of its body cover (`Components.split`); its body groundings at an atom are the product of theirs.
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
        """Return the facts around seeds (places of target atoms), in one query for each depth; too many are a GroundingLimitError."""
        ...

    def evaluate(self, layer: Sequence[Component], *, keep: bool = True) -> ComponentCounts:
        """Return where canonical components hold, row i for `layer[i]`, in a few queries; `keep` keeps bindings for larger components to be built.

        Components are built from known ones and from missing ones, which are evaluated on the way; a row is empty if all ways lead over one with
        more bindings than the limit.
        """
        ...


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

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules that come before those that are found."""
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
        """Keep what was found, all or nothing, and end the run as "done", "interrupted" or "failed"; return the model with the rules added."""
        ...


class InducingData(Protocol):
    """Data that clauses can be learned from."""

    def induction_bias(self, target: Model | str, bias: Bias | None) -> Bias:
        """Return the bias for a target: the given one, checked against the data, or one from types and keys."""
        ...

    def induction(
        self, target: Model | str, bias: Bias, *, examples: Any, limit: int | None
    ) -> AbstractContextManager[InducingSession]:
        """Open a target with its data and a run, which keeps an error or Ctrl-C as its status; `limit` bounds bindings and facts around seeds."""
        ...


class InducingDatabase(Protocol):
    """A database that clauses can be learned from."""

    @property
    def learning(self) -> InducingData:
        """The data that clauses are learned from."""
        ...
