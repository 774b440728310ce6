"""Files opened for reading: what binding a model writes goes to memory, and the file stays as it is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import exp

from sqlrl.catalog.comments import comment_tables
from sqlrl.catalog.store import Store
from sqlrl.engine.duckdb import DuckDBEngine

KEPT = frozenset({"model", "shape", "clause", "run", "clause_statistics", "weight_history", "step", "prediction"})
"""Tables that outlive the connection: a copy of them in memory would be lost without a word."""

_numbers = itertools.count(1)


class ReadingStore(Store):
    """Tables of a file that only can be read, with copies in scratch memory of those that were changed.

    A table is copied when its first row changes; from then on its name stands for the copy. So a model can be bound to a
    file that it never met.

    Parameters
    ----------
    engine : DuckDBEngine
    """

    def __init__(self, engine: DuckDBEngine) -> None:
        super().__init__(engine)
        # Two connections to one file share the scratch memory, so each has a schema of its own.
        self._memory = (engine.scratch[0], f"bound_{next(_numbers)}")
        self._copied: frozenset[str] = frozenset()
        self._dropped: frozenset[str] = frozenset()

    @contextmanager
    def binding(self) -> Iterator[None]:
        """Write to memory in a transaction; after an error every name stands for what it stood for before."""
        before = self._copied, self._dropped
        try:
            with self._transaction():
                yield
        except BaseException:
            self._copied, self._dropped = before
            raise

    def _check(self) -> None:
        """Read the records once: the file does not change, and what was bound since is known here alone."""
        if self._text is None:
            super()._check()

    def _write(self) -> None:
        """Keep records that changed in memory."""
        self._held = self._image.copy()

    def _undo(self) -> None:
        """Go back to the records of before."""
        self._image = self._held.copy()

    def forget(self) -> None:
        """Keep the records: SQL cannot change them."""

    def home(self, table: str) -> tuple[str, str]:
        """Return where a table stands: in memory if it was changed, else in the file."""
        return self._memory if table in self._copied else super().home(table)

    def replacing(self, table: str) -> None:
        """Let a name stand for a table in memory.

        Raises
        ------
        CatalogError
            If the table holds what is to be kept.
        """
        if table in KEPT:
            self.check_writable()
        if not self._copied:
            catalog, name = (exp.to_identifier(part, quoted=True) for part in self._memory)
            schema = exp.Table(db=name, catalog=catalog)
            self.engine.execute(exp.Create(this=schema, kind="SCHEMA", exists=True), step="keep tables in memory")
        self._copied |= {table}
        self._dropped -= {table}

    def changing(self, table: str) -> None:
        """Copy a table of the file to memory before its first change.

        Raises
        ------
        CatalogError
            If the table holds what is to be kept.
        """
        if table in self._copied:
            return
        rows = exp.select("*").from_(self.table(table))
        # Created from a definition: a table that starts as an empty query result loses joins later (DuckDB 2.0).
        empty = self.engine.fetch(rows.limit(0), step=f"describe {table}")
        self.replacing(table)
        self.engine.create_table(self.name(table), empty, step=f"copy {table}")
        self.engine.execute(exp.Insert(this=self.table(table), expression=rows), step=f"copy {table}")

    def drop(self, table: str | None) -> None:
        """Drop a table in memory; one of the file is forgotten."""
        if table in self._copied:
            super().drop(table)
        self._forget(table)

    def drop_view(self, view: str | None) -> None:
        """Drop a view in memory; one of the file is forgotten."""
        if view in self._copied:
            super().drop_view(view)
        self._forget(view)

    def table_names(self) -> set[str]:
        """Return the names of the tables and views as they are seen."""
        return (super().table_names() - self._dropped) | self._copied

    def _forget(self, table: str | None) -> None:
        if table is not None:
            self._copied -= {table}
            self._dropped |= {table}


def open_store(engine: DuckDBEngine) -> Store:
    """Return the store of a database, which writes to the database if that is allowed."""
    return Store(engine, comment_tables) if engine.writable else ReadingStore(engine)
