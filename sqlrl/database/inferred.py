"""What predicted worlds and marginal probabilities share: query atoms with names, and whether they still are what they were."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo
from sqlrl.catalog.readable import unique_name
from sqlrl.catalog.records import Records
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column
from sqlrl.errors import InputError
from sqlrl.ground.clauses import named_atoms
from sqlrl.ground.expanding import Unseen
from sqlrl.ground.network import BoolArray, IntArray, NetworkAtoms
from sqlrl.ground.program import shown_rows
from sqlrl.plan.sources import table
from sqlrl.wording import counted


class Inferred:
    """What inference found about the query atoms of some examples; the fields are those of `sqlrl.database.prediction.Prediction`."""

    engine: DuckDBEngine
    layout: Layout
    network_atoms: NetworkAtoms
    unseen: Unseen
    records: Records
    built: str
    examples: IntArray
    foreign: int

    @property
    def open_predicates(self) -> list[str]:
        """The predicates that were predicted, sorted."""
        return [info.name for info in self._predicates]

    def of_predicate(self, predicate: str) -> BoolArray:
        """Return which of the atoms, helper atoms among them, belong to a predicate, shape (n,)."""
        mine: BoolArray = np.isin(self.network_atoms.ids, self._ids(self._choose(predicate)))
        return mine

    def check_current(self, engine: DuckDBEngine | None = None) -> None:
        """Refuse to go on if the query atoms were numbered anew since.

        Parameters
        ----------
        engine : DuckDBEngine, optional
            Of the database whose query atoms these should be.

        Raises
        ------
        InputError
        """
        if engine is not None and not engine.same_database(self.engine):
            raise InputError(
                "the prediction was made in another database, whose query atoms have other ids: predict in this one, or give the "
                "atoms by the names of their constants, as prediction.atoms() returns them"
            )
        if self.records.atoms() != self.built:
            raise InputError(
                "the data, or which predicates are open, changed after this prediction, so that its atoms have other ids "
                "now: predict again, or read predicted atoms (into=...) before the change"
            )

    @cached_property
    def _predicates(self) -> list[PredicateInfo]:
        return sorted((p for p in self.layout.predicates.values() if p.open), key=lambda p: p.name)

    def _choose(self, predicate: str | None) -> PredicateInfo:
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

    def _named(self, predicate: str | None, atoms: IntArray, columns: Mapping[str, pa.Array]) -> pa.Table:
        """Return values of atoms with the names of those of one predicate: `example`, the arguments, `columns`; ordered by atom."""
        self.check_current()
        info = self._choose(predicate)
        query = named_atoms(self.layout, info)
        with shown_rows(self.engine, self.layout, pa.table({"atom": atoms, **columns})) as source:
            query = query.join(table(source, "w"), on=exp.EQ(this=column("atom", "w"), expression=column("atom", "a")))
            query = query.select(*(column(name, "w") for name in columns)).order_by(column("atom", "a"))
            return self.engine.fetch(query, step=f"name the atoms of {info.name}")

    def _write(self, into: str, rows_of: Callable[[str], pa.Table], *, replace: bool) -> None:
        """Create a table for each open predicate; all are checked before the first is written."""
        names = into_tables(self.layout, into)
        self.engine.check_free(names.values(), replace=replace)
        for predicate, name in names.items():
            self.engine.write_table(name, rows_of(predicate), replace=replace)

    def _notes(self) -> list[str]:
        """Return what a user should know of how far the model fits these examples."""
        notes = []
        if self.unseen.combinations:
            were = "was" if self.unseen.combinations == 1 else "were"
            touch = "it touches" if self.unseen.combinations == 1 else "they touch"
            notes.append(
                f"{counted(self.unseen.combinations, 'combination')} of constants {were} never seen in training; "
                f"{touch} {counted(self.unseen.atoms, 'query atom')}"
            )
        if self.foreign:
            do = "does" if self.foreign == 1 else "do"
            notes.append(f"{counted(self.foreign, 'constant')} of the model's clauses {do} not occur in these data")
        return notes


def into_tables(layout: Layout, into: str) -> dict[str, str]:
    """Return, by open predicate, the tables into which predictions are written.

    The database ignores case in names of tables, so that those of predicates `P` and `p` are `into_P` and `into_p_2`.
    """
    names = sorted(info.name for info in layout.predicates.values() if info.open)
    taken = set[str]()
    return {name: into if len(names) == 1 else unique_name(f"{into}_{name}", taken) for name in names}
