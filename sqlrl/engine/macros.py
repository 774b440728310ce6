"""Macros under names of DuckDB's own functions: SQL calls them in its functions' place, operators and `count(*)` included."""

from __future__ import annotations

import re
from dataclasses import dataclass

import duckdb
from sqlglot import Dialect, Token, exp
from sqlglot.errors import SqlglotError

# Functions are named in full, and nothing else is called: a macro may have the name of one.
_USERS = "SELECT DISTINCT database_name, schema_name, function_name, function_type FROM system.main.duckdb_functions() WHERE NOT internal"
_OWN = "SELECT DISTINCT function_name FROM system.main.duckdb_functions() WHERE internal"
_PLACES = """
    SELECT system.main.current_database(), system.main.current_setting('search_path'), system.main.unnest(system.main.current_schemas(true))
"""
_PLAN = re.compile(r"\b(EXPLAIN|ANALYZE|ANALYSE)\b", re.IGNORECASE)
"""Words behind which sqlglot takes the rest of a statement for one text."""
_BEFORE = frozenset({"OR", "REPLACE", "TEMP", "TEMPORARY", "IF", "NOT", "EXISTS"})
"""Words between CREATE or MACRO and what follows."""


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: the database and the schema that it is in, "" if nothing names them, its name, and what DuckDB calls its kind."""

    base: str
    schema: str
    name: str
    kind: str = "macro"

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name

    @property
    def sql(self) -> str:
        """What SQL calls it, with its kind."""
        kind = "MACRO TABLE" if self.kind == "table_macro" else "MACRO"
        parts = (exp.to_identifier(part).sql("duckdb") for part in (self.base, self.schema, self.name) if part)
        return f"{kind} {'.'.join(parts)}"


def macros(connection: duckdb.DuckDBPyConnection) -> list[Macro]:
    """Return all macros that users have made."""
    return [Macro(*map(str, row)) for row in connection.execute(_USERS).fetchall()]


def hiding(connection: duckdb.DuckDBPyConnection, found: list[Macro]) -> list[Macro]:
    """Return those macros that have the name of a function of DuckDB's."""
    if not found:
        return []
    own = {str(name).casefold() for (name,) in connection.execute(_OWN).fetchall()}
    return sorted((each for each in found if each.name.casefold() in own), key=str)


def reached(connection: duckdb.DuckDBPyConnection, found: list[Macro], home: tuple[str, str]) -> list[Macro]:
    """Return those macros that a name alone can reach, from where the connection is or from the place of sqlrl's tables."""
    rows = connection.execute(_PLACES).fetchall()
    (current, path, _), schemas = rows[0], {str(row[2]) for row in rows}
    return [
        each
        for each in found
        if (each.base, each.schema) == home
        or (each.schema in schemas and (each.base in ("temp", current) or each.base in str(path)))
    ]


def created(sql: str) -> list[Macro]:
    """Return the macros that SQL creates; none of a text that cannot be read, whose error comes when it runs."""
    try:
        tokens = Dialect.get_or_raise("duckdb").tokenize(_PLAN.sub(" ", sql))
    except SqlglotError:
        return []
    words = [each.text.upper() for each in tokens]
    found = []
    for i, word in enumerate(words):
        if word != "CREATE":
            continue
        at = _behind(words, i + 1)
        if words[at : at + 1] in (["MACRO"], ["FUNCTION"]):
            found.append(_named(tokens, _behind(words, at + 1)))
    return found


def _behind(words: list[str], at: int) -> int:
    """Return where the next word stands that is no option."""
    while at < len(words) and words[at] in _BEFORE:
        at += 1
    return at


def _named(tokens: list[Token], at: int) -> Macro:
    """Return the macro whose name begins at a token, as [[database.]schema.]name."""
    parts = [tokens[at].text] if at < len(tokens) else [""]
    while at + 2 < len(tokens) and tokens[at + 1].text == ".":
        at += 2
        parts.append(tokens[at].text)
    return Macro(*["", "", *parts][-3:])
