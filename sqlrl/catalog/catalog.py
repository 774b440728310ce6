"""The catalog: predicates and their data, types, examples, scopes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlrl.catalog import binding, evidence, examples, loading, refreshing, scopes
from sqlrl.catalog.atoms import ATOM_LIMIT
from sqlrl.catalog.columns import LoadOptions
from sqlrl.catalog.declaring import declare
from sqlrl.catalog.dictionary import did_you_mean, nearest_names
from sqlrl.catalog.layout import Layout
from sqlrl.catalog.migrations import open_layout
from sqlrl.catalog.store import PredicateRecord, Store, TypeRecord
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.errors import CatalogError
from sqlrl.logic.evidence import EvidenceAtom
from sqlrl.logic.model import Model

_filters = itertools.count(1)


class Catalog:
    r"""Predicates and their tables in one database.

    Making a catalog creates sqlrl's tables where there are none, and migrates older ones.

    Parameters
    ----------
    engine : DuckDBEngine

    Raises
    ------
    MigrationError
        If the database was written by a newer version of sqlrl.

    Examples
    --------
    >>> from sqlrl.engine.connecting import connect
    >>> from sqlrl.logic.mln import parse_mln
    >>> catalog = Catalog(connect(":memory:"))
    >>> catalog.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
    >>> model = parse_mln("Friends(person, person)\nSmokes(person)\nFriends(x, y) => Smokes(y)", query=("Smokes",))
    >>> layout = catalog.bind(model, training=True)
    >>> layout.types["person"].size, layout.predicates["Smokes"].atom_count
    (3, 3)
    """

    def __init__(self, engine: DuckDBEngine) -> None:
        self.engine = engine
        self.store = Store(engine)
        open_layout(self.store)

    def load(
        self,
        predicate: str,
        source: Any,
        *,
        columns: Sequence[str | int] | Mapping[str | int, str | int] | None = None,
        types: Sequence[str] | None = None,
        example: str | None = None,
        target: bool = False,
        given: bool = False,
        truth: str | int | None = None,
        probability: str | int | None = None,
        duplicates: str = "error",
        empty: str = "error",
        fold_case: bool = False,
        constants: Mapping[str, str] | None = None,
    ) -> None:
        """Load the facts of a predicate, in place of those loaded before in the same role (fact, label, given, soft).

        Parameters
        ----------
        predicate : str
        source : path, str, Arrow table, pandas or polars frame, DuckDB relation, or iterable of tuples
            Text is a Parquet or CSV file, the name of a table or view, or a query. A CSV file has a header; its columns are read as text.
        columns : sequence or mapping, optional
            Columns of the arguments in order, by name or position from 0; or from argument (position, or type where
            only one argument has it) to column. By default columns are arguments by their position.
        types : sequence of str, optional
            Types of the arguments. If neither they nor a model's declaration are there, the facts wait as text for the model.
        example : str, optional
            The type or the column of an argument whose constants are the examples, or a column beside the arguments
            that holds the example.
        target : bool
            The predicate is to be predicted and the facts are its labels.
        given : bool
            The predicate is to be predicted and the facts are evidence about it.
        truth : str or int, optional
            A boolean column: false rows are facts known to be false.
        probability : str or int, optional
            A column of probabilities: soft evidence. 0 and 1 are hard evidence.
        duplicates : {"error", "drop"}
            What to do with facts that occur more than once.
        empty : {"error", "allow"}
            What to do with a source that has no rows.
        fold_case : bool
            Lower the case of all constants.
        constants : mapping of str to str, optional
            New names of constants (after `fold_case`).

        Raises
        ------
        LoadError
            With all faults, the rows and the remedy; nothing has changed then.

        Examples
        --------
        >>> from sqlrl.engine.connecting import connect
        >>> catalog = Catalog(connect(":memory:"))
        >>> catalog.load("Smokes", [("Anna", 0.8), ("Bob", 0.5)], types=["person"], probability=1)
        >>> catalog.load("Smokes", [("Anna",), ("Anna",)], types=["person"])
        Traceback (most recent call last):
        sqlrl.errors.LoadError: Smokes from the tuples: duplicate facts: (Anna) occurs 2 times (rows 1 and 2): remove them or pass duplicates="drop".
        """
        options = LoadOptions(
            columns,
            types,
            example,
            target,
            given,
            truth,
            probability,
            duplicates,
            empty,
            fold_case,
            dict(constants or {}),
        )
        loading.load(self.store, predicate, source, options)

    def load_evidence(
        self, atoms: Iterable[EvidenceAtom] | str | Path, model: Model, *, given: bool = False, target: bool = False
    ) -> None:
        """Load the evidence atoms of a file (Alchemy's `.db`) or of an iterable; constants take the model's types.

        Parameters
        ----------
        atoms : path or iterable of EvidenceAtom
            `P(A)` true, `!P(A)` false, `0.8 P(A)` soft, `?P(A)` unknown.
        model : Model
            Declares the predicates.
        given : bool
            Facts of open predicates are evidence, not labels.
        target : bool
            Every predicate in the file is to be predicted.

        Raises
        ------
        LoadError, CatalogError
            With all faults; nothing has changed then.
        """
        evidence.load_evidence(self.store, atoms, model, given=given, target=target)

    def declare(self, model: Model) -> None:
        """Take over the declarations of a model: types, blocks, constants. Facts that waited for their types are encoded.

        Raises
        ------
        CatalogError
            If declarations and data disagree.
        """
        with self.store.writing():
            declare(self.store, model)

    def scope(self, predicate: str, source: Any) -> None:
        """Set which tuples of an open predicate have atoms; None makes the scope full again.

        Parameters
        ----------
        predicate : str
        source : query, table, path, relation, frame, tuples or None
            One column for each argument, in order, and one named `example` if examples come from a column.
            It is read at once.
        """
        scopes.set_scope(self.store, predicate, source)

    def examples(self, *, argument_type: str | None) -> None:
        """Name the type whose constants are the examples; None makes all data one example.

        Raises
        ------
        CatalogError
            If examples come from a column.
        """
        with self.store.writing():
            if self.store.state("examples") == "column":
                raise CatalogError("examples come from a column of the data: load the data again without it.")
            for key in ("examples", "example_type"):
                self.store.delete("state", key=key)
            if argument_type is not None:
                self.store.set_state("examples", "type")
                self.store.set_state("example_type", argument_type)
            self.store.touch()

    def set_local(self, type_name: str, local: bool | None) -> None:
        """Make a type local or global, None: as it is by default.

        Raises
        ------
        CatalogError
            If there is no such type.
        """
        with self.store.writing():
            self.store.save_type(replace(self._type(type_name), choice=local))
            self.store.touch()

    def set_numeric(self, type_name: str) -> None:
        """Declare that the constants of a type are numbers, before data of the type are loaded: `1` and `1.0` are one constant.

        Raises
        ------
        CatalogError
            If the type has constants already.
        """
        with self.store.writing():
            record = self.store.type_record(type_name, self.store.types())
            if record.size and not record.numeric:
                raise CatalogError(f"{type_name!r} has {record.size} constants: declare it numeric before loading.")
            self.store.save_type(replace(record, numeric=True))

    def bind(
        self,
        model: Model,
        *,
        training: bool,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
        limit: int = ATOM_LIMIT,
    ) -> Layout:
        """Fit a model to the data: build examples, domains and atom tables as far as the data changed, and describe them.

        Parameters
        ----------
        model : Model
        training : bool
            True: a constant of a clause that the data do not have is an error. False: such constants are counted, with a warning.
        drop : iterable of str
            Predicates that may lack data; they are absent from the layout.
        query : iterable of str
            Predicates that are open, beside those of the model and the data.
        limit : int
            The most atoms that the full scope of a predicate may have.

        Returns
        -------
        Layout

        Raises
        ------
        CatalogError
            If model and data do not fit.
        """
        return binding.bind(self.store, model, training=training, drop=drop, query=query, limit=limit)

    def example_filter(self, chosen: Any) -> str:
        """Write chosen examples (names as a list, query, relation or frame) into a scratch table and return its name.

        The table has the columns example and position (both INTEGER), in the order of the names.

        Raises
        ------
        CatalogError
            If a name is unknown or occurs twice.
        """
        table = f"chosen_examples_{next(_filters)}"
        examples.example_filter(self.store, chosen, table)
        return table

    def refresh(self) -> list[str]:
        """Load what changed at its source again and return the predicates.

        Raises
        ------
        LoadError
            If a source is gone or its new content cannot be loaded; nothing has changed then.
        """
        return refreshing.refresh(self.store)

    def check_fresh(self) -> None:
        """Refuse to go on if a source changed after it was loaded.

        Raises
        ------
        CatalogError
        """
        changed = refreshing.changed_sources(self.store)
        if changed:
            texts = ", ".join(f"{s.predicate} ({s.source})" for s in changed)
            raise CatalogError(
                f"the sources of these predicates changed after they were loaded: {texts}: call refresh()."
            )

    def resolve(self) -> None:
        """Give types to facts that wait for a model, from the names of their columns (`position` from `position1`)."""
        with self.store.writing():
            waiting = {name for (name, _), s in self.store.sources().items() if s.staged}
            for name, record in self.store.predicates().items():
                if name in waiting:
                    loading.resolve(self.store, record, loading.guessed_types(record))

    def predicates(self) -> dict[str, PredicateRecord]:
        """Return what is recorded of each predicate."""
        return self.store.predicates()

    def types(self) -> dict[str, TypeRecord]:
        """Return what is recorded of each type."""
        return self.store.types()

    def _type(self, name: str) -> TypeRecord:
        """Return a type that exists."""
        types = self.store.types()
        if name not in types:
            raise CatalogError(f"there is no type {name!r}{did_you_mean(nearest_names(name, types))}")
        return types[name]
