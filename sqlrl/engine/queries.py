"""Whether SQL that a user wrote only asks: a query of DuckDB's may delete rows or write a file in a common table (`WITH a AS (DELETE ...)`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import duckdb
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

_ASKING = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
"""Kinds of queries that read alone, in the tree that DuckDB makes; others are INSERT_QUERY_NODE and the like."""

_WORDS = re.compile(r"\b(insert|update|delete|merge|copy|truncate)\b", re.IGNORECASE)
"""Words without which nothing changes data inside of a query: keywords cannot be written in another way."""

_CHANGES = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Copy, exp.Command)


def changing_part(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Return the verb of what SQL does beside asking, such as DELETE, "" if it only asks; duckdb.Error if DuckDB cannot read it.

    Several statements ask if each does; a PIVOT, which DuckDB runs as several, asks.
    """
    for statement in connection.extract_statements(sql):
        if statement.type not in (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI):
            return str(statement.type.name).replace("_", " ")
        text = statement.query
        if not _WORDS.search(text):
            continue
        verb = _pivot_verb(text) if statement.type == duckdb.StatementType.MULTI else _select_verb(connection, text)
        if verb:
            return verb
    return ""


def _select_verb(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Return the verb of the first part of a SELECT that changes something."""
    cursor = connection.cursor()  # what is streamed on the connection goes on
    try:
        [(text,)] = cursor.execute("SELECT system.main.json_serialize_sql($sql::VARCHAR)", {"sql": sql}).fetchall()
    except duckdb.CatalogException:  # a build of DuckDB without JSON
        return _pivot_verb(sql)
    finally:
        cursor.close()
    tree = json.loads(text)
    if tree["error"]:
        return _pivot_verb(sql)
    kinds = [kind for kind in _node_kinds(tree) if kind not in _ASKING]
    return kinds[0].split("_", maxsplit=1)[0] if kinds else ""


def _node_kinds(tree: Any) -> Iterator[str]:
    """Yield the kinds of the queries in a tree."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            kind = node.get("type")
            # A constant has its value, which may read like a kind, under another key.
            if isinstance(kind, str) and kind.endswith("_NODE"):
                yield kind
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node


def _pivot_verb(sql: str) -> str:
    """Return the verb of the first part that changes something of a query which DuckDB shows no tree of; what is not understood counts as one."""
    try:
        found = parse_one(sql, dialect="duckdb").find(*_CHANGES)
    except SqlglotError:
        found = exp.Command()
    if isinstance(found, exp.Command):
        word = _WORDS.search(sql)
        return word[1].upper() if word else "a statement"
    return "" if found is None else found.key.upper()
