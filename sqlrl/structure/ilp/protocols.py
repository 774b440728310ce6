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


class InducingData(Protocol):
    """Data that clauses can be learned from."""

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


class InducingDatabase(Protocol):
    """A database that clauses can be learned from."""

    @property
    def learning(self) -> InducingData:
        """The data that clauses are learned from."""
        ...
