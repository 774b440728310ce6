"""The engine protocol: the only door through which SQL is run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp


class Engine(Protocol):
    """Runs sqlglot expressions. Every failure of the database becomes an `EngineError` with the step's name and the SQL."""

    dialect: str

    def same_database(self, other: object) -> bool:
        """Return True if the tables of another engine are these very tables."""
        ...

    def forgotten_beside(self) -> str | None:
        """Return the file in use if sqlrl's own tables are not kept in any, None otherwise."""
        ...

    def execute(self, statement: exp.Expr, *, step: str) -> int:
        """Run a statement that returns no rows; return how many it wrote or deleted."""
        ...

    def fetch(self, query: exp.Expr, *, step: str) -> pa.Table:
        """Run a query and return all of its rows."""
        ...

    def fetch_rows(self, query: exp.Expr | str, *, step: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a query that has few rows and return the names of its columns and the rows."""
        ...

    def stream(self, query: exp.Expr, *, step: str, rows: int = 131_072) -> Iterator[pa.RecordBatch]:
        """Run a query on a cursor of its own and yield its rows in batches."""
        ...

    def create_table(self, catalog: str, schema: str, name: str, query: exp.Expr | pa.Table, *, step: str) -> int:
        """Create (or replace) a table from a query or an Arrow table; return the number of its rows."""
        ...

    def drop_table(self, catalog: str, schema: str, name: str, *, step: str) -> None:
        """Drop a table if it exists."""
        ...

    def create_view(self, catalog: str, schema: str, name: str, query: exp.Expr, *, step: str) -> None:
        """Create (or replace) a view of a query, which is not run."""
        ...

    def drop_view(self, catalog: str, schema: str, name: str, *, step: str) -> None:
        """Drop a view if it exists."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Commit at the end, or roll everything back if an error or Ctrl-C ends the context; nested ones join the outer."""
        ...

    def estimate(self, query: exp.Expr, *, step: str) -> tuple[int, str]:
        """Return the database's estimate of the number of rows and its plan as text, without running the query."""
        ...

    def check_free(self, names: Iterable[str], *, replace: bool = False) -> None:
        """Check that tables of the user's can be created in the current schema of the connection."""
        ...

    def write_table(self, name: str, data: pa.Table, *, replace: bool = False) -> None:
        """Create a table of the user's in the current schema of the connection."""
        ...
