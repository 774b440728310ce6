"""Tables of ids that are in the storage of a server alone: DuckDB has views of their files, and plans on the server read the files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlglot import exp, parse_one

from sqlrl.engine.base import QueryEngine, TableName
from sqlrl.engine.nodes import column
from sqlrl.engine.spark.server import Server
from sqlrl.errors import EngineError, InputError
from sqlrl.wording import counted

PLACE = "encoded"
"""The folder below the storage that has a folder for each source that was encoded."""

STORED = "stored_"
"""How the names of views of such tables begin, in DuckDB."""

FORMAT = 1
"""The version of what such a folder holds."""

FACTS = "facts"
"""The name of the part with the rows as ids."""

MARK = pa.schema([("part", pa.string()), ("format", pa.int32()), ("rows", pa.int64())])
_FILES = re.compile(r".*/encoded/(?P<attempt>[0-9a-f]{32})/(?P<name>[a-z]+(-[0-9]+)?)(/\*)?/\*\.parquet", re.DOTALL)
_TYPES = {"truth": pa.bool_(), "name": pa.string()}


@dataclass(frozen=True, slots=True)
class Part:
    """A folder of Parquet: facts, or constants that a type gained, of one source that was encoded."""

    attempt: str
    name: str

    def path(self, storage: str) -> str:
        """Return the folder below a storage.

        Examples
        --------
        >>> Part("0" * 32, "facts").path("s3://bucket/sqlrl")
        's3://bucket/sqlrl/encoded/00000000000000000000000000000000/facts'
        """
        return f"{storage}/{PLACE}/{self.attempt}/{self.name}"

    def folders(self, storage: str) -> str:
        """Return what names the folders that have its files: facts are in one for each range of examples."""
        return f"{self.path(storage)}/*" if self.name == FACTS else self.path(storage)

    def files(self, storage: str) -> str:
        """Return the pattern of its files.

        Examples
        --------
        >>> Part("0" * 32, "names-1").files("/data"), Part("0" * 32, "facts").files("/data").removeprefix("/data")
        ('/data/encoded/00000000000000000000000000000000/names-1/*.parquet', '/encoded/00000000000000000000000000000000/facts/*/*.parquet')
        """
        return f"{self.folders(storage)}/*.parquet"


def is_stored(table: str) -> bool:
    """Return True for the name of a view of files in the storage.

    Examples
    --------
    >>> is_stored("stored_fact_Token"), is_stored("fact_Token")
    (True, False)
    """
    return table.startswith(STORED)


def stored_part(files: str) -> Part | None:
    """Return the folder that a pattern of files names, None if it is none of these.

    Examples
    --------
    >>> (
    ...     stored_part(Part("a" * 32, "names-2").files("/data")).name,
    ...     stored_part(Part("a" * 32, "facts").files("s3://b")).name,
    ... )
    ('names-2', 'facts')
    """
    found = _FILES.fullmatch(files)
    return Part(found["attempt"], found["name"]) if found is not None else None


def view_of(files: Iterable[str], columns: Iterable[str]) -> exp.Select:
    """Return the query of a view of DuckDB's: some columns of the Parquet files that match patterns.

        Examples
        --------
    X\\" FROM READ_PARQUET(['/x/*.parquet'])"
    """
    patterns = exp.Array(expressions=[exp.Literal.string(each) for each in files])
    return exp.select(*map(column, columns)).from_(exp.Table(this=exp.ReadParquet(expressions=[patterns])))


def mark_rows(rows: int) -> dict[str, int]:
    """Return what a mark says of a part."""
    return {"format": FORMAT, "rows": rows}


def part_frame(server: Server, part: Part, schema: pa.Schema) -> Any:
    """Return the frame of a part that this session has written."""
    storage = str(server.spark.storage).rstrip("/")
    return server.read([part.folders(storage)], schema, step="read what was encoded")


def stored_frame(server: Server, part: Part, schema: pa.Schema) -> Any:
    """Return the frame of a part that is complete, as its mark says; InputError if it is not, or is elsewhere."""
    storage, step = str(server.spark.storage or "").rstrip("/"), "read what was encoded on Spark"
    folder = part.path(storage)
    if server.spark.storage is None:
        raise InputError(
            "some data were encoded on Spark, into its storage, and this session of it has none: give the same one, Spark(address, storage=...)."
        )
    mark = server.read([Part(part.attempt, "done").path(storage)], MARK, step=step)
    try:
        marks = server.run(mark.toArrow, step, folder).to_pylist()
    except EngineError as error:
        if "PATH_NOT_FOUND" not in error.reason:
            raise
        marks = []
    known = {str(row["part"]): row for row in marks}
    if any(row["format"] != FORMAT for row in marks):
        raise InputError(
            f"{folder} was written by another version of sqlrl (format {marks[0]['format']}, this one has {FORMAT}): load its source again."
        )
    if part.name not in known:
        raise InputError(
            f"{folder} is not there, or not complete: open the database with the storage into which its data were encoded, or load their source again."
        )
    frame, rows = part_frame(server, part, schema), int(known[part.name]["rows"])
    # A server may take a folder that is not there for one without rows.
    there = int(server.run(frame.count, step, folder))
    if there != rows:
        raise InputError(
            f"{folder} has {counted(there, 'row')} of {rows:,}: files of it are missing, or not to be seen from every machine of the server. "
            "Restore them, or load the source again."
        )
    return frame


def stored_views(source: QueryEngine) -> dict[TableName, str]:
    """Return the definitions of the views of a database that mention files of a storage, or views of those, by the name of the view."""
    listed = exp.select("database_name", "schema_name", "view_name", "sql")
    listed = listed.from_(exp.Table(this=exp.Anonymous(this="duckdb_views")))
    mentions = exp.Anonymous(this="contains", expressions=[column("sql"), exp.Literal.string(STORED)])
    found = source.fetch_rows(listed.where(mentions), step="look for views of files")[1]
    return {TableName(str(catalog), str(schema), str(name)): str(text) for catalog, schema, name, text in found}


def stored_query(name: TableName, definition: str) -> exp.Expression:
    """Return the query of a view, with the database in the names of its tables.

    Examples
    --------
    >>> stored_query(TableName("memory", "sqlrl", "v"), "CREATE VIEW sqlrl.v AS SELECT id FROM sqlrl.stored_t;").sql(
    ...     "duckdb"
    ... )
    'SELECT id FROM "memory".sqlrl.stored_t'
    """
    query: exp.Expression = parse_one(definition, dialect="duckdb").args["expression"]
    for table in query.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and table.db and not table.catalog:
            table.set("catalog", exp.to_identifier(name.catalog, quoted=True))
    return query


def stored_parts(table: exp.Table) -> tuple[tuple[Part, ...], pa.Schema] | None:
    """Return the parts that stand for a table of a view's query, with their columns; None if it is no such files."""
    if not isinstance(table.this, exp.ReadParquet):
        return None
    parts = [stored_part(str(each.this)) for each in table.this.find_all(exp.Literal)]
    query = table.find_ancestor(exp.Select)
    if query is None or None in parts:
        return None
    schema = pa.schema([(name, _TYPES.get(name, pa.int32())) for name in query.named_selects])
    return tuple(part for part in parts if part is not None), schema
