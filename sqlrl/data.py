"""Data in a database: loading, scopes, examples, and plain SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.layout import TableName
from sqlrl.catalog.records import Records
from sqlrl.engine.nodes import column
from sqlrl.logic.model import Model
from sqlrl.plan.sql import table
from sqlrl.report import Console, QuietConsole, Table

if TYPE_CHECKING:
    import duckdb


class Data:
    """Predicates with their facts in one DuckDB database; `sqlrl.database.Database` adds models.

    Parameters
    ----------
    catalog : Catalog
    console : Console, optional
        Where progress on anything longer than a second is drawn; nowhere by default.
    """

    def __init__(self, catalog: Catalog, console: Console | None = None) -> None:
        self.catalog, self.engine = catalog, catalog.engine
        self.console = console or QuietConsole()
        self.records = Records(catalog.store)

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
        """Load the facts of a predicate; see `sqlrl.catalog.catalog.Catalog.load` for every option."""
        self.catalog.load(
            predicate,
            source,
            columns=columns,
            types=types,
            example=example,
            target=target,
            given=given,
            truth=truth,
            probability=probability,
            duplicates=duplicates,
            empty=empty,
            fold_case=fold_case,
            constants=constants,
        )

    def load_evidence(self, source: Any, model: Model, *, given: bool = False, target: bool = False) -> None:
        """Load an Alchemy `.db` file; see `sqlrl.catalog.catalog.Catalog.load_evidence`."""
        self.catalog.load_evidence(source, model, given=given, target=target)

    def scope(self, predicate: str, source: Any) -> None:
        """Set which tuples of an open predicate have atoms: a query, table or frame; None for all."""
        self.catalog.scope(predicate, source)

    def refresh(self) -> list[str]:
        """Load again what changed at its source; return the predicates."""
        return self.catalog.refresh()

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Run SQL on the same database and return DuckDB's relation.

        Raises
        ------
        EngineError
            If DuckDB refuses the query, with its message.
        """
        return self.engine.relation(query)

    def predicates(self) -> Table:
        """Return the predicates with their types, rows and whether they are open."""
        rows = [
            {
                "predicate": str(f"{name}({', '.join(kind or '?' for kind in record.types)})"),
                "open": record.open,
                "facts": record.rows,
                "example": record.example,
                "source": record.source,
            }
            for name, record in self.catalog.predicates().items()
        ]
        schema = pa.schema(
            [
                ("predicate", pa.string()),
                ("open", pa.bool_()),
                ("facts", pa.int64()),
                ("example", pa.string()),
                ("source", pa.string()),
            ]
        )
        return Table(pa.Table.from_pylist(rows, schema=schema), title="predicates")

    def example_ids(self, examples: Any = None) -> npt.NDArray[np.int64]:
        """Return ids of examples: in the order given, or in that of the data."""
        with self.only(examples) as chosen:
            source, key = (
                (table(self.catalog.store.name("example")), "ordinal")
                if chosen is None
                else (table(chosen), "position")
            )
            query = exp.select(column("example")).from_(source).order_by(column(key))
            ids: npt.NDArray[np.int64] = self.engine.fetch(query, step="read the examples").column(0).to_numpy()
        return ids.astype(np.int64)

    @contextmanager
    def only(self, examples: Any) -> Iterator[TableName | None]:
        """Show chosen examples as a table while the context is open; None for all."""
        if examples is None:
            yield None
            return
        catalog, schema = self.engine.scratch
        name = TableName(catalog, schema, self.catalog.example_filter(examples))
        try:
            yield name
        finally:
            self.engine.drop_table(name.catalog, name.schema, name.name, step="drop the chosen examples")

    def close(self) -> None:
        """Close the database; a connection of yours stays open."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.engine.path!r})\n{self.predicates()!r}"
