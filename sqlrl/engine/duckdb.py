"""The DuckDB engine: statements that stream Arrow, and the tables that sqlrl makes, its own and the user's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
from sqlglot import exp, parse_one

from sqlrl.engine.base import TableName
from sqlrl.engine.statements import Statements
from sqlrl.errors import InputError


class DuckDBEngine(Statements):
    """Runs sqlglot expressions on a DuckDB connection.

    Use `connect` to make one.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Every statement runs on it; every stream runs on a cursor of its own.
    home : (str, str)
        Catalog and schema of sqlrl's own tables.
    owned : bool
        True if `close` may close the connection.
    writable : bool
        False if the tables in `home` can only be read.
    path : str
        What messages call the database.
    scratch : (str, str), optional
        Catalog and schema of scratch tables; `home` by default.
    directory : TemporaryDirectory, optional
        Removed when the engine is closed.

    Examples
    --------
    >>> from sqlglot import select
    >>> from sqlrl.engine.connection import connect
    >>> engine = connect(":memory:")
    >>> engine.fetch(select("1 + 1 as two"), step="add").to_pylist()
    [{'two': 2}]
    """

    def write_table(self, name: str, data: pa.Table, *, replace: bool = False) -> None:
        """Create a table of the user's in the current schema of the connection.

        Raises
        ------
        InputError
            If it exists and may not be replaced, or if the database can only be read.
        """
        self.check_free([name], replace=replace)
        with self.attached(data) as source:
            statement = exp.Create(
                this=exp.table_(name, quoted=True),
                kind="TABLE",
                replace=replace,
                expression=exp.select("*").from_(source),
            )
            self.execute(statement, step=f"create the table {name}")

    def check_free(self, names: Iterable[str], *, replace: bool = False) -> None:
        """Check that tables of the user's can be created in the current schema of the connection.

        Parameters
        ----------
        names : iterable of str
        replace : bool
            Tables that exist may be replaced; views may not.

        Raises
        ------
        InputError
            If one is there already, or if the database can only be read.
        """
        query = """
            SELECT lower(table_name) AS name, 'table' AS kind FROM duckdb_tables()
            WHERE database_name = current_database() AND schema_name = current_schema()
            UNION ALL SELECT lower(view_name), 'view' FROM duckdb_views()
            WHERE database_name = current_database() AND schema_name = current_schema()
        """
        rows = self.fetch(parse_one(query, dialect=self.dialect), step="look for tables").to_pylist()
        there = {str(row["name"]): str(row["kind"]) for row in rows}
        place = "SELECT database_name, readonly FROM duckdb_databases() WHERE database_name = current_database()"
        [database] = self.fetch(parse_one(place, dialect=self.dialect), step="look at the database").to_pylist()
        for name in names:
            if database["readonly"]:
                raise InputError(
                    f"the table {name} cannot be created, since the database {database['database_name']} was opened read-only: "
                    "open it for writing, or take the atoms as they are returned."
                )
            kind = there.get(name.lower())
            if kind == "view":
                raise InputError(f"there is a view {name} already: choose another name, or drop the view.")
            if kind == "table" and not replace:
                raise InputError(f"there is a table {name} already: choose another name, or pass replace=True.")

    def forgotten_beside(self) -> str | None:
        """Return the file in use if sqlrl's own tables are not kept in any, None otherwise.

        So it is on a user's connection to a file in which sqlrl has kept nothing, and where such a file is only read. Who works in
        memory alone knows that nothing stays.
        """
        query = "SELECT database_name, path, database_name = current_database() AS used FROM duckdb_databases()"
        rows = self.fetch(parse_one(query, dialect=self.dialect), step="look where the tables are").to_pylist()
        [home] = [row["path"] for row in rows if row["database_name"] == self.home[0]]
        [file] = [row["path"] for row in rows if row["used"]]
        passing = self._directory is not None and home is not None and Path(home).is_relative_to(self._directory.name)
        return file if home is None or passing else None

    def create_table(self, name: TableName, query: exp.Expr | pa.Table, *, step: str) -> int:
        """Create (or replace) a table from a query or an Arrow table; return the number of its rows.

        Raises
        ------
        EngineError
            If the database fails, with the step and the SQL.
        InputError
            If a transaction of the user's is open, which is left as it is.
        """
        if not self._depth:
            self.check_ready()
        target = _table(name)
        if isinstance(query, exp.Expr):
            return self.execute(exp.Create(this=target, kind="TABLE", replace=True, expression=query), step=step)
        with self.attached(query) as source:
            everything = exp.select("*").from_(source)
            if query.num_rows:
                return self.execute(
                    exp.Create(this=target, kind="TABLE", replace=True, expression=everything), step=step
                )
            described = self.fetch_rows(exp.Describe(this=everything), step=step)[1]
        self.create_empty(name, {row[0]: row[1] for row in described}, step=step)
        return 0

    def create_empty(self, name: TableName, columns: Mapping[str, str], *, step: str) -> None:
        """Create (or replace) a table without rows from the names and types of its columns.

        In DuckDB 2.0 a table created from no rows keeps the statistics of an empty one when a row group or more is inserted in
        the same transaction, and joins then find nothing; not so one that is defined.

        Raises
        ------
        EngineError
            If the database fails, with the step and the SQL.
        """
        definitions = [
            exp.ColumnDef(this=exp.to_identifier(column, quoted=True), kind=exp.DataType.build(kind, dialect="duckdb"))
            for column, kind in columns.items()
        ]
        target = exp.Schema(this=_table(name), expressions=definitions)
        self.execute(exp.Create(this=target, kind="TABLE", replace=True), step=step)

    def append(self, name: TableName, query: exp.Expr, *, step: str) -> None:
        """Add the rows of a query, which may read the table, to a table."""
        self.execute(exp.Insert(this=_table(name), expression=query), step=step)

    def drop_table(self, name: TableName, *, step: str) -> None:
        """Drop a table if it exists."""
        self.execute(exp.Drop(tables=[_table(name)], kind="TABLE", exists=True), step=step)

    def create_view(self, name: TableName, query: exp.Expr, *, step: str) -> None:
        """Create (or replace) a view of a query, which is not run.

        Raises
        ------
        EngineError, InputError
            As `create_table`.
        """
        if not self._depth:
            self.check_ready()
        self.execute(exp.Create(this=_table(name), kind="VIEW", replace=True, expression=query), step=step)

    def drop_view(self, name: TableName, *, step: str) -> None:
        """Drop a view if it exists."""
        self.execute(exp.Drop(tables=[_table(name)], kind="VIEW", exists=True), step=step)


def _table(name: TableName) -> exp.Table:
    return exp.table_(name.name, db=name.schema, catalog=name.catalog, quoted=True)
