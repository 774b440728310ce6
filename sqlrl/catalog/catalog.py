"""The catalog: predicates and their data, types, examples, scopes."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from sqlrl.arrow import array
from sqlrl.catalog import binding, changes, evidence, examples, load_parts, loading, scopes
from sqlrl.catalog.checks import warn_of_types
from sqlrl.catalog.declarations import declare
from sqlrl.catalog.image import PredicateRecord, TypeRecord
from sqlrl.catalog.layout import Layout
from sqlrl.catalog.migrations import open_layout, open_store
from sqlrl.catalog.options import LoadOptions, checked_options
from sqlrl.catalog.roles import NONE, Roles
from sqlrl.catalog.server_files import ServerFiles, load_files
from sqlrl.catalog.sizes import ATOM_LIMIT
from sqlrl.catalog.soft_models import declarations, typed
from sqlrl.catalog.store import Store
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.errors import CatalogError, ConflictError, LoadError, Parameter
from sqlrl.logic.model import Model
from sqlrl.logic.psl import SoftModel
from sqlrl.progress import enough_memory
from sqlrl.wording import did_you_mean, nearest_names

_LISTED = (
    ("predicate", pa.string()),
    ("open", pa.bool_()),
    ("facts", pa.int64()),
    ("example", pa.string()),
    ("source", pa.string()),
)

NOTHING: Mapping[str, pa.Table] = MappingProxyType({})
"""No atoms beside those of the scopes."""

_filters = itertools.count(1)
_PAUSES = (0.01, 0.05, 0.2)
"""Seconds after which tables of query atoms are looked at again that another cursor was making at the same time."""

logger = logging.getLogger(__name__)


class Catalog:
    """Predicates and their tables in one database; creating one makes or migrates sqlrl's tables, or raises MigrationError."""

    def __init__(
        self,
        engine: DuckDBEngine,
        follow: Callable[[Store, Collection[str]], list[str]] | None = None,
        *,
        atom_limit: int = ATOM_LIMIT,
    ) -> None:
        # `follow` gets the store and the predicates whose facts changed, loads what was derived from them, and returns its predicates.
        # `atom_limit` is the most query atoms of all open predicates with helper atoms, and the most clauses of templates.
        self.engine, self._follows, self.atom_limit = engine, follow, atom_limit
        self.store = open_store(engine)
        open_layout(self.store)

    def load(self, predicate: str, source: Any, *, append: bool = False, **given: Any) -> None:
        """Load or append the facts of a predicate (`given`: LoadOptions); a LoadError lists all faults and the remedy, and changes nothing."""
        options = checked_options(predicate, LoadOptions(**given))
        self.store.dropped = 0
        with enough_memory(f"loading {predicate}"), self.store.writing():
            known = self.store.types()
            if isinstance(source, ServerFiles):
                if append:
                    raise LoadError(
                        f"{predicate}: {Parameter('append')} cannot be followed on a server: write Parquet with all facts, and load it in place of those before."
                    )
                load_files(self.store, predicate, source, options)
            else:
                (load_parts.append if append else loading.load)(self.store, predicate, source, options)
            self._follow({predicate})
        if known and options.types is not None:
            warn_of_types(predicate, options.types, known)

    def remove(self, predicate: str, source: Any) -> int:
        """Remove facts; `sqlrl.Database.load` explains it."""
        with enough_memory(f"removing from {predicate}"), self.store.writing():
            removed = load_parts.remove(self.store, predicate, source)
            if removed:
                self._follow({predicate})
        return removed

    def load_evidence(self, given: evidence.Evidence) -> Model:
        """Load evidence atoms; an error lists all faults with files and lines, and changes nothing."""
        with enough_memory("loading evidence"), self.store.writing():
            model = evidence.load_evidence(self.store, given)
            self._follow(model.predicates)
        return model

    def declare(self, model: Model) -> None:
        """Take over the declarations of a model: types, blocks, constants. Facts that waited for their types are encoded."""
        with self.store.writing():
            declare(self.store, model)

    def scope(self, predicate: str, source: Any) -> None:
        """Set which tuples of an open predicate have atoms, read at once: a column per argument, and `example`; None restores the full scope."""
        with enough_memory(f"reading the scope of {predicate}"):
            scopes.set_scope(self.store, predicate, source, self.atom_limit)

    def examples(self, *, argument_type: str | None) -> None:
        """Name the type whose constants are the examples (None: all data are one); an error if examples come from a column."""
        with self.store.writing():
            named = sorted({s.predicate for s in self.store.sources().values() if s.example})
            if named:
                raise CatalogError(
                    f"examples come from a column of the data of {', '.join(named)}: load them again without it."
                )
            for key in ("examples", "example_type"):
                self.store.forget_state(key)
            self.store.clear("example")
            if argument_type is not None:
                self.store.set_state("examples", "type")
                self.store.set_state("example_type", argument_type)
                examples.list_examples(self.store)
            self.store.touch()

    def set_local(self, type_name: str, local: bool | None) -> None:
        """Make a type local or global, None: as it is by default."""
        with self.store.writing():
            self.store.save_type(replace(self._type(type_name), choice=local))
            self.store.touch()

    def set_numeric(self, type_name: str) -> None:
        """Declare that a type's constants are numbers, before data of the type are loaded: `1` and `1.0` are one constant."""
        with self.store.writing():
            record = self.store.type_record(type_name, self.store.types())
            if record.size and not record.numeric:
                raise CatalogError(f"{type_name!r} has {record.size} constants: declare it numeric before loading.")
            if record.edges is not None:
                raise CatalogError(
                    f"{type_name!r} is cut into pieces ({Parameter('bins')}), which are no numbers: name another type."
                )
            self.store.save_type(replace(record, numeric=True))

    def bind(
        self,
        model: Model | SoftModel,
        *,
        training: bool,
        roles: Roles = NONE,
        opened: Mapping[str, pa.Table] = NOTHING,
    ) -> Layout:
        """Build examples, domains and atom tables for a model as far as the data changed, and return their layout; a changed source is an error."""
        # `opened` are further atoms of predicates with a scope, as names of constants: `example`, if it has a column, and `a0, a1, ...`.

        def bind() -> Layout:
            with self.store.binding():
                self.check_sources()
                # A soft model reads the values of facts, and a fact without one as 1; it has the types of the data (`typed`).
                held = declarations(typed(self.store, model)) if isinstance(model, SoftModel) else model
                # In training a target of which nothing was loaded is false everywhere. Constants that rules name and the data lack are further
                # ones of their types, unless the model is strict.
                return binding.bind(
                    self.store, held, training=training, roles=roles, limit=self.atom_limit, opened=opened
                )

        for pause in _PAUSES:
            try:
                return bind()
            except ConflictError as error:
                # Another cursor has made the same tables, or others: what is bound now is looked at again.
                logger.info("binding again after %.2f seconds: %s", pause, error)
                time.sleep(pause)
        return bind()

    def check_sources(self) -> None:
        """Refuse sources that changed, as far as that takes no reading: by size and time of files, and the number of rows of tables."""
        changes.check_sources(self.store)

    def typed(self, model: SoftModel) -> SoftModel:
        """Return a soft model with the types of the data, or of an argument that shares a variable of a rule where the data have none."""
        return typed(self.store, model)

    def example_filter(self, chosen: Any) -> str:
        """Write chosen examples into a scratch table of INTEGER `example` and `position`, in the order of their names, and return its name."""
        table = f"chosen_examples_{next(_filters)}"
        examples.example_filter(self.store, chosen, table)
        return table

    def refresh(self, *, run_queries: bool = False) -> list[str]:
        """Load changed sources again and return their predicates; a LoadError changes nothing."""
        with enough_memory("loading what changed"), self.store.writing():
            # Queries and views of a file that is not trusted run only with `run_queries`.
            loaded = changes.refresh(self.store, run_queries=run_queries)
            return sorted({*loaded, *self._follow(loaded)})

    def resolve(self) -> None:
        """Give types to facts that wait for a model, from the names of their columns (`position` from `position1`)."""
        with self.store.writing():
            waiting = {name for (name, _), s in self.store.sources().items() if s.staged}
            for name, record in self.store.predicates().items():
                if name in waiting:
                    loading.resolve(self.store, record, loading.guessed_types(record))

    def table(self) -> pa.Table:
        """Return what is recorded of predicates, as `sqlrl.Database.tables` shows it."""
        values = self.values()
        rows = [
            {
                "predicate": str(f"{name}({', '.join(kind or '?' for kind in record.types)})"),
                "open": record.open,
                "facts": record.rows,
                "example": record.example,
                "source": record.source,
                "value": values.get(name),
            }
            for name, record in self.predicates().items()
        ]
        schema = pa.schema([*_LISTED, *([("value", pa.string())] if values else [])])
        return pa.table([array([row[field.name] for row in rows], field.type) for field in schema], schema=schema)

    def predicates(self) -> dict[str, PredicateRecord]:
        """Return what is recorded of each predicate."""
        return self.store.predicates()

    def values(self) -> dict[str, str]:
        """Return the columns of sources that hold soft truths, by predicate, those of several roles with a comma."""
        found: dict[str, list[str]] = {}
        for (name, _), source in self.store.sources().items():
            if source.valued and source.value is not None:
                found.setdefault(name, []).append(source.value)
        return {name: ", ".join(dict.fromkeys(columns)) for name, columns in found.items()}

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
