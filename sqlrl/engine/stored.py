"""Tables of ids that are in the storage of a server alone: the database has views of their files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp, parse_one

from sqlrl.engine.base import QueryEngine, TableName
from sqlrl.engine.nodes import column

PLACE = "encoded"
"""The folder below the storage that has a folder for each source that was encoded."""

STORED = "stored_"
"""How the names of views of such tables begin, in DuckDB."""

FACTS = "facts"
"""The name of the part with the rows as ids."""

_FILES = re.compile(r".*/encoded/(?P<attempt>[0-9a-f]{32})/(?P<name>[a-z]+(-[0-9]+)?)(/\*)?/\*\.parquet", re.DOTALL)
_TYPES = {"truth": pa.bool_(), "name": pa.string()}


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A folder of Parquet: facts, or constants that a type gained, of one source that was encoded."""

    attempt: str
    name: str

    def path(self, storage: str) -> str:
        """Return the folder below a storage."""
        return f"{storage}/{PLACE}/{self.attempt}/{self.name}"

    def folders(self, storage: str) -> str:
        """Return what names the folders that have its files: facts are in one for each range of examples."""
        return f"{self.path(storage)}/*" if self.name == FACTS else self.path(storage)

    def files(self, storage: str) -> str:
        """Return the pattern of its files."""
        return f"{self.folders(storage)}/*.parquet"


def is_stored(table: str) -> bool:
    """Return True for the name of a view of files in the storage."""
    return table.startswith(STORED)


def stored_part(files: str) -> StoredPart | None:
    """Return the folder that a pattern of files names, None if it is none of these."""
    found = _FILES.fullmatch(files)
    return StoredPart(found["attempt"], found["name"]) if found is not None else None


def view_of(files: Iterable[str], columns: Iterable[str]) -> exp.Select:
    """Return the query of a view of DuckDB's: some columns of the Parquet files that match patterns."""
    patterns = exp.Array(expressions=[exp.Literal.string(each) for each in files])
    return exp.select(*map(column, columns)).from_(exp.Table(this=exp.ReadParquet(expressions=[patterns])))


def stored_views(source: QueryEngine) -> dict[TableName, str]:
    """Return the definitions of the views of a database that mention files of a storage, or views of those, by the name of the view."""
    listed = exp.select("database_name", "schema_name", "view_name", "sql")
    listed = listed.from_(exp.Table(this=exp.Anonymous(this="duckdb_views")))
    mentions = exp.Anonymous(this="contains", expressions=[column("sql"), exp.Literal.string(STORED)])
    found = source.fetch_rows(listed.where(mentions), step="look for views of files")[1]
    return {TableName(str(catalog), str(schema), str(name)): str(text) for catalog, schema, name, text in found}


def stored_query(name: TableName, definition: str) -> exp.Expression:
    """Return the query of a view, with the database in the names of its tables."""
    query: exp.Expression = parse_one(definition, dialect="duckdb").args["expression"]
    for table in query.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and table.db and not table.catalog:
            table.set("catalog", exp.to_identifier(name.catalog, quoted=True))
    return query


def stored_parts(table: exp.Table) -> tuple[tuple[StoredPart, ...], pa.Schema] | None:
    """Return the parts that stand for a table of a view's query, with their columns; None if it is no such files."""
    if not isinstance(table.this, exp.ReadParquet):
        return None
    parts = [stored_part(str(each.this)) for each in table.this.find_all(exp.Literal)]
    query = table.find_ancestor(exp.Select)
    if query is None or None in parts:
        return None
    schema = pa.schema([(name, _TYPES.get(name, pa.int32())) for name in query.named_selects])
    return tuple(part for part in parts if part is not None), schema
