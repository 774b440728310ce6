"""The engine protocol: what the code that plans and grounds asks of a database, and the names of the tables that it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from sqlrl.engine.memory import Memory


@dataclass(frozen=True, slots=True)
class TableName:
    """A fully qualified table."""

    catalog: str
    schema: str
    name: str


class QueryEngine(Protocol):
    """Runs plans, sqlglot expressions in no dialect, over tables that are there, and makes scratch tables of its own."""

    # A second database needs these methods; what else `sqlrl.engine.duckdb.DuckDBEngine` has, only the catalog and the user's methods know.
    # Every failure of the database becomes an `EngineError` with the step's name and the SQL.
    dialect: str
    memory: Memory

    def renew(self, state: object) -> bool:
        """Read tables of others anew if `state`, which describes them, differs from the last time; return False if scratch tables are gone."""
        ...

    def leave(self, arrays: int) -> None:
        """Take no more memory than a limit leaves beside arrays of so many bytes."""
        ...

    def fetch(self, query: exp.Expr, *, step: str) -> pa.Table:
        """Run a query and return all of its rows; `OverflowEngineError` if an integer does not fit into its type."""
        ...

    def render(self, query: exp.Expr) -> str:
        """Return a query as SQL of the engine's dialect, over its tables as they are now."""
        ...

    def fetch_rows(
        self, query: exp.Expr | str, *, step: str, values: Mapping[str, Any] | None = None
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a query that has few rows, perhaps as text of `render`, with values of its parameters, and return the names of its columns and the rows."""
        ...

    def stream(self, query: exp.Expr, *, step: str, rows: int = 131_072) -> Iterator[pa.RecordBatch]:
        """Run a query, beside whatever else runs, and yield its rows in batches."""
        ...

    def estimate(self, query: exp.Expr, *, step: str) -> tuple[int, str]:
        """Return the database's estimate of the number of rows and its plan as text, without running the query."""
        ...

    def create_table(self, name: TableName, query: exp.Expr | pa.Table, *, step: str) -> int:
        """Create (or replace) a table from a query, which may read the table, or from Arrow rows; return the number of its rows."""
        ...

    # Bindings of millions of rows and the clauses of a template grow by a few rows at a time: to replace the table would copy them.
    def append(self, name: TableName, query: exp.Expr, *, step: str) -> None:
        """Add the rows of a query, which may read the table, to a table."""
        ...

    def drop_table(self, name: TableName, *, step: str) -> None:
        """Drop a table if it exists."""
        ...

    def create_view(self, name: TableName, query: exp.Expr, *, step: str) -> None:
        """Create (or replace) a view of a query, which is not run: it stands for a table that would be too large to make."""
        ...

    def drop_view(self, name: TableName, *, step: str) -> None:
        """Drop a view if it exists."""
        ...

    def close(self) -> None:
        """End the work with the database; whoever closes it twice does no harm."""
        ...

    # One commit halves their price. An engine without transactions makes them one by one.
    def transaction(self) -> AbstractContextManager[None]:
        """Make the tables of a context with one commit, and none if it fails; nested ones join the outer."""
        ...
