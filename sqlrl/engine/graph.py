"""A database of the user's that is only read: a graph on a connection, and tables in memory shown to its queries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import duckdb
import pyarrow as pa

from sqlrl.engine.queries import changing_part, kind_of
from sqlrl.engine.turns import turn_of
from sqlrl.errors import InputError, brief

_numbers = count(1)


class GraphConnection:
    """A connection that has a graph: one of the user's own, or that of a `Database`."""

    def __init__(self, source: object) -> None:
        engine = getattr(getattr(source, "advanced", None), "engine", None)
        connection = source if engine is None else getattr(engine, "connection", None)
        if not isinstance(connection, duckdb.DuckDBPyConnection):
            raise InputError(
                f"source is a Database or a DuckDB connection that has the graph, not an object of type {type(source).__name__}"
            )
        self._connection = connection
        self._turn = turn_of(connection, "the graph") if engine is None else engine.turn

    def rows(self, query: str, what: str) -> pa.Table:
        """Return the rows of a query that a user wrote; an InputError about `what` if it fails."""
        with self._asking(query, what) as found:
            return found.to_arrow_table()

    def columns(self, query: str, what: str) -> list[str]:
        """Return the columns of a query."""
        with self._asking(query, what) as found:
            return list(found.columns)

    def check_statements(self, text: str, what: str) -> None:
        """Refuse a text that is no SQL, with an InputError about `what`."""
        with self._turn:
            try:
                self._connection.extract_statements(text)
            except duckdb.Error as error:
                raise InputError(f"{what} is no SQL: {brief(str(error))}") from error

    @contextmanager
    def named_table(self, data: pa.Table) -> Iterator[str]:
        """Show a table to queries while the context is open, under a name that nothing else has; nothing is written."""
        with self._turn:
            name = f"sqlrl_shown_{next(_numbers)}_{id(self):x}"
            self._connection.register(name, data)
            try:
                yield name
            finally:
                self._connection.unregister(name)

    def named(self, name: str) -> str | None:
        """Return the full name of a table or view of that name, whatever its case, None if there is none."""
        listed = (
            "SELECT concat_ws('.', database_name, schema_name, table_name) FROM duckdb_tables() WHERE lower(table_name) = $name "
            "UNION ALL SELECT concat_ws('.', database_name, schema_name, view_name) FROM duckdb_views() WHERE lower(view_name) = $name"
        )
        with self._turn:
            found = self._connection.execute(listed, {"name": name.lower()}).fetchall()
        return str(found[0][0]) if found else None

    @contextmanager
    def _asking(self, query: str, what: str) -> Iterator[duckdb.DuckDBPyRelation]:
        """Give the relation of a query, whose rows are read in this context."""
        try:
            with self._turn:
                statements = self._connection.extract_statements(query)
                one = [kind_of(each) for each in statements] == ["SELECT"]
                if not one or changing_part(self._connection, query):
                    raise InputError(f"{what} must be one SELECT, which changes nothing: {brief(query, lines=1)}")
                yield self._connection.sql(query)
        except duckdb.Error as error:
            raise InputError(f"{what} fails: {brief(self._placed(query, error))}") from error

    def _placed(self, query: str, error: duckdb.Error) -> str:
        """Return DuckDB's reason with the line of the query: a relation has none where it is bound, and passes over empty lines before it."""
        try:
            with self._turn:
                self._connection.execute(f"EXPLAIN {query}").fetchall()
        except duckdb.Error as again:
            return str(again)
        passed = query[: len(query) - len(query.lstrip())].count("\n")
        return re.sub(r"^LINE (\d+):", lambda found: f"LINE {int(found[1]) + passed}:", str(error), flags=re.MULTILINE)


def trimmed(query: str) -> str:
    r"""Return a query without what would end it before what stands around it does."""
    return re.sub(r"[\s;]+\Z", "", query)
