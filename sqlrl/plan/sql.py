"""Nodes of queries over the catalog's tables."""

from __future__ import annotations

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import aliased_table


def table(name: TableName, alias: str | None = None) -> exp.Table:
    """Return a fully qualified, quoted table.

    Examples
    --------
    >>> table(TableName("db", "main", "facts"), "t").sql("duckdb")
    '"db"."main"."facts" AS "t"'
    """
    node = exp.table_(name.name, db=name.schema, catalog=name.catalog, quoted=True)
    return node if alias is None else aliased_table(node, alias)
