"""Whether SQL that a user wrote only asks: a query of DuckDB's may delete rows or write a file in a common table (`WITH a AS (DELETE ...)`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

_ASKING = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
"""Kinds of queries that read alone, in the tree that DuckDB makes; others are INSERT_QUERY_NODE and the like."""

_WORDS = re.compile(r"\b(insert|update|delete|merge|copy|truncate|nextval|setval)\b", re.IGNORECASE)
"""Words without which nothing changes data inside of a query: keywords cannot be written in another way."""

_MOVES = ("nextval", "setval")
"""Functions that move a sequence."""

_TEXTS = ("query", "query_table")
"""Functions of tables that run a text."""

# Names are written in full, and nothing else is called: a macro may have the name of a function.
_SEQUENCES = "SELECT 1 FROM system.main.duckdb_sequences() LIMIT 1"
_STORED = """
    SELECT view_name, sql FROM system.main.duckdb_views() WHERE NOT internal
    UNION ALL SELECT function_name, macro_definition FROM system.main.duckdb_functions() WHERE NOT internal
"""

_CHANGES = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Copy, exp.Command)


def kind_of(statement: duckdb.Statement) -> str:
    """Return the kind of a statement as DuckDB calls it, such as SELECT; the first word of one whose kind its Python package does not know."""
    try:
        return str(statement.type.name)
    except ValueError:
        return (statement.query.split() or ["statement"])[0].upper()


def changing_part(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Return the verb of what SQL does beside asking, such as DELETE, "" if it only asks; duckdb.Error if DuckDB cannot read it.

    Several statements ask if each does; a PIVOT, which DuckDB runs as several, asks.
    """
    for statement in connection.extract_statements(sql):
        kind = kind_of(statement)
        if kind not in ("SELECT", "MULTI"):
            return kind.replace("_", " ")
        text, verb = statement.query, ""
        if _WORDS.search(text):
            verb = _pivot_verb(text) if kind == "MULTI" else _select_verb(connection, text)
        if verb := verb or _stored_verb(connection, text):
            return verb
    return ""


def _stored_verb(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Return what a view or a macro of the user's does that SQL names, if that moves a sequence, whatever others it does that by."""
    cursor = connection.cursor()
    try:
        if not cursor.execute(_SEQUENCES).fetchall():
            return ""
        stored = [(str(name), str(text)) for name, text in cursor.execute(_STORED).fetchall()]
    finally:
        cursor.close()
    moving = dict[str, str]()
    while True:
        more = {
            name: call
            for name, text in stored
            if name not in moving and (call := _move_in(text) or _named(text, moving))
        }
        if not more:
            break
        moving |= more
    return _named(sql, moving)


def _move_in(sql: str) -> str:
    """Return the call of a text that moves a sequence, "" if no word of it does."""
    word = _WORDS.search(sql)
    while word and word[1].lower() not in _MOVES:
        word = _WORDS.search(sql, word.end())
    return _call(word[1]) if word else ""


def _named(sql: str, moving: Mapping[str, str]) -> str:
    """Return the call behind the first of some views and macros that a text names."""
    for name, call in moving.items():
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sql, re.IGNORECASE):
            return call if " in " in call else f"{call} in {name}"
    return ""


def _call(function: str) -> str:
    return f"a call of {function.lower()}"


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
    return next(_changes(tree, sql), "")


def _changes(tree: Any, sql: str) -> Iterator[str]:
    """Yield the verbs of what changes something in the tree of a query."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            kind = node.get("type")
            # A constant has its value, which may read like a kind, under another key.
            if isinstance(kind, str) and kind.endswith("_NODE") and kind not in _ASKING:
                yield kind.split("_", maxsplit=1)[0]
            function = str(node.get("function_name", "")).lower()
            if function in _MOVES:
                yield _call(function)
            elif function in _TEXTS and (call := _move_in(sql)):
                yield call
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node


def _pivot_verb(sql: str) -> str:
    """Return the verb of the first part that changes something of a query which DuckDB shows no tree of; what is not understood counts as one."""
    try:
        tree = parse_one(sql, dialect="duckdb")
        found = tree.find(*_CHANGES)
    except SqlglotError:
        tree = found = exp.Command()
    if isinstance(found, exp.Command):
        word = _WORDS.search(sql)
        return word[1].upper() if word else "a statement"
    if found is not None:
        return found.key.upper()
    calls = (each.name for each in tree.find_all(exp.Anonymous) if each.name.lower() in (*_MOVES, *_TEXTS))
    return next(map(_call, calls), "")
