"""The catalog: predicates and their data, types, examples, scopes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlrl.catalog import binding, evidence, examples, loading, refreshing, scopes
from sqlrl.catalog.atoms import ATOM_LIMIT
from sqlrl.catalog.declaring import declare
from sqlrl.catalog.dictionary import did_you_mean, nearest_names
from sqlrl.catalog.fitting import warn_of_types
from sqlrl.catalog.layout import Layout
from sqlrl.catalog.migrations import open_layout
from sqlrl.catalog.options import LoadOptions, checked_options
from sqlrl.catalog.reading import open_store
from sqlrl.catalog.store import PredicateRecord, Store, TypeRecord
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.errors import CatalogError
from sqlrl.logic.model import Model

_filters = itertools.count(1)


class Catalog:
    r"""Predicates and their tables in one database.

    Making a catalog creates sqlrl's tables where there are none, and migrates older ones.

    Parameters
    ----------
    engine : DuckDBEngine
    follow : callable, optional
        Called when the facts of predicates changed, with the store and their names; loads what was derived from them and
        returns its predicates (`sqlrl.defined`).

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

    def __init__(
        self, engine: DuckDBEngine, follow: Callable[[Store, Collection[str]], list[str]] | None = None
    ) -> None:
        self.engine, self._follows = engine, follow
        self.store = open_store(engine)
        open_layout(self.store)

    def load(
        self,
        predicate: str,
        source: Any,
        *,
        columns: Sequence[str | int] | Mapping[str | int, str | int] | None = None,
        types: Sequence[str] | None = None,
        example: str | int | None = None,
        target: bool = False,
        given: bool = False,
        truth: str | int | None = None,
        probability: str | int | None = None,
        duplicates: str = "error",
        nulls: str = "error",
        empty: str = "error",
        fold_case: bool = False,
        constants: Mapping[str, str] | None = None,
        header: bool = True,
        delimiter: str | None = None,
        quote: str = '"',
    ) -> None:
        """Load the facts of a predicate, in place of those loaded before in the same role (fact, label, given, soft).

        Parameters
        ----------
        predicate : str
        source : path, str, Arrow table, pandas or polars frame, DuckDB relation, or iterable of rows
            Text is a Parquet or CSV file, the name of a table or view, or a query. The columns of a CSV file are read as text.
            Rows are tuples, lists, arrays, or mappings, whose keys name the columns. None and NaN are missing values. An empty
            tuple is the fact of a predicate without arguments.
        columns : sequence or mapping, optional
            Columns of the arguments in order, by name or position from 0; or from argument (position, or type where
            only one argument has it) to column. By default columns are arguments by their position.
        types : sequence of str, optional
            Types of the arguments. If neither they nor a model's declaration are there, the facts wait as text for the model.
            Other types than before need a load that replaces all facts of the predicate.
        example : str or int, optional
            The type, the column or the position (from 0) of an argument whose constants are the examples, or a column
            beside the arguments that holds the example.
        target : bool
            The predicate is to be predicted and the facts are its labels.
        given : bool
            The predicate is to be predicted and the facts are evidence about it.
        truth : str or int, optional
            A boolean column: false rows are facts known to be false. Of a target other tuples in its scope count as false as well.
        probability : str or int, optional
            A column of probabilities: soft evidence. 0 and 1 are hard evidence.
        duplicates : {"error", "drop"}
            What to do with facts that occur more than once.
        nulls : {"error", "drop"}
            What to do with rows that have NULL for an argument or the example; the log says how many were dropped.
        empty : {"error", "allow"}
            What to do with a source that has no rows.
        fold_case : bool
            Lower the case of all constants.
        constants : mapping of str to str, optional
            New names of constants (after `fold_case`).
        header : bool
            The first line of a CSV file names its columns; without a header they are chosen by position.
        delimiter : str, optional
            What separates the fields of a CSV file, one character; by default a tab in .tsv files, else a comma.
        quote : str
            What encloses fields of a CSV file that hold a delimiter, one character; "" if there is none.

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
        given_options = LoadOptions(
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
            {} if constants is None else constants,
            header=header,
            delimiter=delimiter,
            quote=quote,
            nulls=nulls,
        )
        options = checked_options(predicate, given_options)
        known = self.store.types()
        with self.store.writing():
            loading.load(self.store, predicate, source, options)
            self._follow({predicate})
        if known and options.types is not None:
            warn_of_types(predicate, options.types, known)

    def load_evidence(
        self,
        source: evidence.Evidence,
        model: Model,
        *,
        given: bool = False,
        target: bool = False,
        duplicates: str = "error",
        empty: str = "error",
        replace: bool = False,
        drop: Iterable[str] = (),
    ) -> None:
        r"""Load evidence atoms (Alchemy's `.db` files); constants take the model's types.

        A later call may load other predicates or roles. The same files again take the place of what they held before;
        other files with facts of the same predicates and roles are refused, unless they are to replace them.

        Parameters
        ----------
        source : path, list of paths, or iterable of EvidenceAtom
            `P(A)` true, `!P(A)` false, `0.8 P(A)` soft, `?P(A)` unknown. Several files count as one.
        model : Model
            Declares the predicates.
        given : bool
            Facts of open predicates are evidence, not labels.
        target : bool
            Every predicate in the files is to be predicted.
        duplicates : {"error", "drop", "warn"}
            What to do with atoms that stand more than once with the same value; "warn" drops them with a warning.
        empty : {"error", "allow", "warn"}
            What to do with a file that has no atoms.
        replace : bool
            Facts loaded before, of the same predicates and roles, are replaced.
        drop : iterable of str
            Predicates of the model whose facts are skipped.

        Raises
        ------
        ParseError
            A line does not parse.
        LoadError, CatalogError
            With all faults, their files and lines; nothing has changed then.

        Examples
        --------
        >>> from sqlrl.engine.connecting import connect
        >>> from sqlrl.logic.evidence import parse_evidence
        >>> from sqlrl.logic.mln import parse_mln
        >>> model = parse_mln("Smokes(person)\n1 Smokes(x)")
        >>> catalog = Catalog(connect(":memory:"))
        >>> catalog.load_evidence(parse_evidence("Smokes(Anna)\nSmokes(Anna)"), model)
        Traceback (most recent call last):
        sqlrl.errors.LoadError: the evidence: duplicate facts: Smokes(Anna) (lines 1 and 2): remove the repetitions or pass duplicates="drop"
        >>> catalog.load_evidence(parse_evidence("Smokes(Anna)\nSmokes(Bob)"), model)
        >>> catalog.predicates()["Smokes"].rows
        2
        """
        options = evidence.EvidenceOptions(given, target, duplicates, empty, replace, frozenset(drop))
        with self.store.writing():
            evidence.load_evidence(self.store, source, model, options)
            self._follow(model.predicates)

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
            named = sorted({s.predicate for s in self.store.sources().values() if s.example})
            if named:
                raise CatalogError(
                    f"examples come from a column of the data of {', '.join(named)}: load them again without it."
                )
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
            The model is to be learned from these data. Only a learned model (`Model.learned`, or with expansions) that meets
            other data may name constants that these lack: they are counted, with a warning; otherwise they are an error.
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
            If model and data do not fit, or if a source changed after it was loaded (as far as that shows without reading it:
            size and time of files, the number of rows of tables).
        """
        refreshing.check_sources(self.store)
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
        with self.store.writing():
            loaded = refreshing.refresh(self.store)
            return sorted({*loaded, *self._follow(loaded)})

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

    def _follow(self, changed: Collection[str]) -> list[str]:
        """Load what follows from predicates whose facts changed, and return its predicates."""
        return self._follows(self.store, changed) if self._follows is not None else []

    def _type(self, name: str) -> TypeRecord:
        """Return a type that exists."""
        types = self.store.types()
        if name not in types:
            raise CatalogError(f"there is no type {name!r}{did_you_mean(nearest_names(name, types))}")
        return types[name]
