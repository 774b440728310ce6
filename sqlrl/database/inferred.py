"""What inference found, as data: the values of query atoms, and these atoms with their names. `InferenceResult` has what users do with them."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import aliased_table, column, table
from sqlrl.errors import InputError, Parameter
from sqlrl.ground.atoms import read_labels, read_values
from sqlrl.ground.clauses import named_atoms
from sqlrl.ground.limits import MissingAtoms
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network, NetworkAtoms
from sqlrl.ground.program import Program
from sqlrl.ground.unseen import Unseen
from sqlrl.logic.model import Model
from sqlrl.logic.psl import SoftModel
from sqlrl.progress import enough_memory
from sqlrl.slips import Helpful
from sqlrl.solve.result import MPEResult
from sqlrl.training.session import Query, Session
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.ground.hinge_network import HingeNetwork
    from sqlrl.ground.soft_program import SoftProgram
    from sqlrl.solve.hinge.result import HingeResult
    from sqlrl.solve.sampling.belief import MarginalResult

THRESHOLD = 0.5
"""An atom counts as true if its probability is above it; a truth value or a soft label must reach it, unless another threshold is given."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Inferred(Helpful, ABC):
    """What inference found about the query atoms of some examples: a value for each atom.

    Parameters
    ----------
    session : Session
    asked : Query
        The model and its examples; of a soft model its declarations.
    layout : Layout
        Without helper predicates.
    network_atoms : NetworkAtoms
        The n query atoms and the helper atoms.
    unseen : Unseen
        Combinations of template constants that no training example had, and how many query atoms they touch.
    seconds : dict of str to float
        Wall time of grounding, and of what came after it.
    built : str
        What the query atoms were built from: `records.atoms()` at the time.
    examples : int64 array
        Ids of the examples, also of those without atoms.
    unknown : int
        Constants in the clauses of the model that these data do not have; their clauses have no groundings.
    run : int, optional
        The number in `sqlrl.run`, if it was kept.
    """

    session: Session
    asked: Query
    layout: Layout
    network_atoms: NetworkAtoms
    unseen: Unseen
    seconds: dict[str, float]
    built: str
    examples: IntArray
    unknown: int
    run: int | None = None

    value_column: ClassVar[str]
    """The column of the values: `truth`, `probability` or `value`."""
    counts_missed: ClassVar[bool] = False
    """Whether a true label outside the scope, which has no query atom, counts as an atom predicted false."""
    _instead: ClassVar[str] = "prediction.atoms()"
    """What messages call that which holds the results without a database."""

    # ---- what the kinds differ in ----------------------------------------------------------------------

    @property
    @abstractmethod
    def atom_values(self) -> BoolArray | FloatArray:
        """The value of each of the n atoms, shape (n,)."""

    @abstractmethod
    def holds(self, threshold: float = THRESHOLD) -> BoolArray:
        """Return which of the n atoms count as true, shape (n,); `threshold` is of truth values."""

    def labels_of(self, atoms: IntArray) -> tuple[BoolArray | FloatArray, BoolArray]:
        """Return the labels of atoms, given by their ids, and which of them have one."""
        return read_labels(self.engine, self.layout, atoms, None)

    # ---- atoms and their names -------------------------------------------------------------------------

    @property
    def engine(self) -> DuckDBEngine:
        """Of the database in which the query atoms are."""
        return self.session.engine

    @property
    def asked_model(self) -> Model | SoftModel:
        """The model, as it was given."""
        return self.asked.model

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        kind, here = type(self).__name__, self._instead
        raise InputError(
            f"a {kind} cannot be pickled or copied, since its atoms have their names in an open database: take what it holds along, {here}, or "
            f"write it to a table with {Parameter('into')}."
        )

    def __copy__(self) -> Self:
        return dataclasses.replace(self)

    @property
    def open_predicates(self) -> list[str]:
        """The predicates that were predicted, sorted."""
        return [info.name for info in self._predicates]

    def of_predicate(self, predicate: str) -> BoolArray:
        """Return which of the atoms, helper atoms among them, belong to a predicate, shape (n,)."""
        mine: BoolArray = np.isin(self.network_atoms.ids, self._ids(self.chosen(predicate)))
        return mine

    def check_current(self, engine: DuckDBEngine | None = None) -> None:
        """Refuse to go on if the query atoms were numbered anew since, or are not those of the database of `engine`."""
        if engine is not None and not engine.same_database(self.engine):
            raise InputError(
                "the prediction was made in another database, whose query atoms have other ids: predict in this one, or give the "
                "atoms by the names of their constants, as prediction.atoms() returns them"
            )
        if self.session.records.atoms() != self.built:
            raise InputError(
                "the data, or which predicates are open, changed after this prediction, so that its atoms have other ids "
                "now: predict again, or read predicted atoms (into=...) before the change"
            )

    @cached_property
    def _predicates(self) -> list[PredicateInfo]:
        return [info for info in self.layout.open_predicates() if not info.hidden]

    @cached_property
    def reported(self) -> BoolArray:
        """Which of the n atoms are query atoms of predicates that are not hidden, shape (n,)."""
        atoms, first = self.network_atoms, 1
        found: BoolArray = ~atoms.helper
        for info in self.layout.open_predicates():
            if info.hidden:
                found &= (atoms.ids < first) | (atoms.ids >= first + info.atom_count)
            first += info.atom_count
        return found

    def chosen(self, predicate: str | None) -> PredicateInfo:
        """Return the predicate of a name, or the only one."""
        names = [p.name for p in self._predicates]
        if predicate is None and len(names) == 1:
            return self._predicates[0]
        if predicate not in names:
            raise InputError(f"name one of the open predicates {', '.join(names)}, not {predicate!r}")
        return self._predicates[names.index(predicate)]

    def _ids(self, info: PredicateInfo) -> IntArray:
        assert info.atoms is not None
        data = self.engine.fetch(exp.select(column("atom")).from_(table(info.atoms)), step="read atoms")
        ids: IntArray = data.column(0).to_numpy()
        return ids

    def named(self, predicate: str | None, atoms: IntArray, columns: Mapping[str, pa.Array]) -> pa.Table:
        """Return values of atoms with the names of those of one predicate: `example`, the arguments, `columns`; ordered by atom."""
        self.check_current()
        info = self.chosen(predicate)
        naming = enough_memory(f"naming the atoms of {info.name}", lambda: counted(len(atoms), "atom"))
        with naming, self.engine.attached(pa.table({"atom": atoms, **columns})) as source:
            query = named_atoms(self.layout, info)
            query = query.join(
                aliased_table(source, "w"), on=exp.EQ(this=column("atom", "w"), expression=column("atom", "a"))
            )
            query = query.select(*(column(name, "w") for name in columns)).order_by(column("atom", "a"))
            return self.engine.fetch(query, step=f"name the atoms of {info.name}")


# ---- the three kinds -----------------------------------------------------------------------------------


class InferredByClauses(Inferred):
    """What was inferred with a Markov logic network."""

    @contextmanager
    def held(self) -> Iterator[tuple[Program, TableName]]:
        """Hold the model against the same examples once more, while the context is open."""
        asked = self.asked
        with (
            self.session.program(asked.model, roles=asked.roles) as program,
            program.examples_table(self.examples) as chosen,
        ):
            program.expand(chosen)
            yield program, chosen


@dataclass(frozen=True, eq=False, kw_only=True)
class InferredWorld(InferredByClauses):
    """A world and what is proved about it; `Prediction` has its methods."""

    network: Network | None
    result: MPEResult
    options: Mapping[str, Any]
    margin: FloatArray | None = None

    value_column = "truth"
    counts_missed = True

    @property
    def atom_values(self) -> BoolArray:
        """The truth of each atom."""
        return self.result.world

    def holds(self, threshold: float = THRESHOLD) -> BoolArray:
        """Return which atoms are true."""
        return self.result.world

    @property
    def gap(self) -> float:
        """Bound minus objective, absolute."""
        return self.result.gap


@dataclass(frozen=True, eq=False, kw_only=True)
class InferredProbabilities(InferredByClauses):
    """The probability of each query atom; `Marginals` has its methods."""

    result: MarginalResult

    value_column = "probability"
    _instead = "marginals.probabilities()"

    @property
    def atom_values(self) -> FloatArray:
        """The probability of each atom."""
        return self.result.probability

    def holds(self, threshold: float = THRESHOLD) -> BoolArray:
        """Return which atoms are more probably true than false."""
        return self.result.probability > THRESHOLD

    @cached_property
    def visible(self) -> MarginalResult:
        """The result of the n query atoms that are reported, in the order of their ids."""
        return self.part(self.reported)

    def part(self, atoms: BoolArray) -> MarginalResult:
        """Return the result of some of the atoms."""
        arrays = {name: getattr(self.result, name)[atoms] for name in ("probability", "error", "rhat", "ess", "code")}
        return replace(self.result, **arrays)


@dataclass(frozen=True, eq=False, kw_only=True)
class InferredValues(Inferred):
    """The truth values of a soft model; `SoftPrediction` has its methods."""

    network: HingeNetwork | None
    result: HingeResult
    model: SoftModel
    observed_bodies: bool = False
    missing: MissingAtoms = "error"

    value_column = "value"

    @property
    def asked_model(self) -> SoftModel:
        """The model, as it was given."""
        return self.model

    @property
    def atom_values(self) -> FloatArray:
        """The truth value of each atom."""
        return self.result.y

    def holds(self, threshold: float = THRESHOLD) -> BoolArray:
        """Return which atoms reach a threshold."""
        return self.result.y >= threshold

    def labels_of(self, atoms: IntArray) -> tuple[FloatArray, BoolArray]:
        """Return the soft labels of atoms, NaN where there is none, and which of them have one."""
        return read_values(self.engine, self.layout, atoms), super().labels_of(atoms)[1]

    @property
    def gap(self) -> float:
        """Objective minus bound."""
        return self.result.gap

    @contextmanager
    def held(self) -> Iterator[SoftProgram]:
        """Hold the model against the data once more, while the context is open; refuse to if they number its atoms otherwise by now."""
        choices = self.asked.roles
        opens = self.model if self.missing == "open" else None
        with self.session.soft_program(self.model, choices, observed_bodies=self.observed_bodies, opens=opens) as soft:
            self.check_current()
            yield soft
