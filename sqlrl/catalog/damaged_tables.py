"""Tables of a database file whose rows no version of sqlrl wrote: constants twice or without a name, and rows of constants that there are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlglot import exp

from sqlrl.catalog.image import Image
from sqlrl.engine.nodes import column, named, union_all
from sqlrl.engine.stored import is_stored

Rows = Callable[[exp.Query, str], list[dict[str, Any]]]
"""Runs a query for a step, and returns its rows."""

Tables = Callable[[str], exp.Table]
"""Returns a table of the layout by its name."""


def table_fault(image: Image, names: Callable[[], set[str]], table: Tables, rows: Rows) -> str:
    """Return what is wrong with the rows of a table, in words; empty if nothing is. What lacks altogether is an error once it is used."""
    if not (image.types or image.predicates):
        return ""
    # Files of a server are held against their marks when they are read there; to read all of them at each start would take too long.
    there = {name for name in names() if not is_stored(name)}
    return _numbering_fault(image, there, table, rows) or _constants_fault(image, there, table, rows)


def _numbering_fault(image: Image, there: set[str], table_of: Tables, rows_of: Rows) -> str:
    """Return which dictionary, or the table of examples, has not the ids from 0 on, each once and with a name."""
    tables = {record.dictionary: ("id", record.size) for record in image.types.values() if record.dictionary in there}
    if "example" in there:
        tables["example"] = ("example", -1)
    parts = []
    for table, (number, _) in tables.items():
        found: dict[str, exp.Expr] = {
            "n": exp.Count(this=exp.Star()),
            "names": exp.Count(this=column("name")),
            "least": exp.Min(this=column(number)),
            "most": exp.Max(this=column(number)),
            "total": exp.Sum(this=exp.cast(column(number), "hugeint")),
        }
        query = exp.select(named(exp.convert(table), "table")).from_(table_of(table))
        parts.append(query.select(*(named(value, name) for name, value in found.items())))
    for row in rows_of(union_all(parts), "look at the dictionaries") if parts else ():
        # Only the dictionaries' sizes are kept elsewhere.
        known = tables[row["table"]][1]
        size = row["n"] if known < 0 else known
        last = size - 1
        expected = (size, size, 0, last, size * last // 2) if size else (0, 0, None, None, None)
        if tuple(row[name] for name in ("n", "names", "least", "most", "total")) != expected:
            return f"sqlrl.{row['table']} has not one row with a name for each id from 0 to {last}"
    return ""


def _constants_fault(image: Image, there: set[str], table_of: Tables, rows_of: Rows) -> str:
    """Return which table of facts has constants that are in no dictionary."""
    parts = []
    for table, kinds in _encoded(image):
        if table not in there:
            continue
        query = exp.select(named(exp.convert(table), "table")).from_(table_of(table))
        beyond: list[exp.Expr] = []
        for place, kind in enumerate(kinds):
            if kind is not None:
                own = column(f"a{place}")
                beyond.append(exp.LT(this=exp.Min(this=own), expression=exp.convert(0)))
                beyond.append(exp.GTE(this=exp.Max(this=own.copy()), expression=exp.convert(image.types[kind].size)))
        if beyond:
            parts.append(query.having(exp.or_(*beyond)))
    for row in rows_of(union_all(parts), "look at the facts") if parts else ():
        return f"sqlrl.{row['table']} has constants that its dictionary lacks"
    return ""


def _encoded(image: Image) -> Iterator[tuple[str, tuple[str | None, ...]]]:
    """Yield the tables of facts whose constants are ids, with the types of the arguments."""
    for (name, _), source in image.sources.items():
        # A staged one waits for its types, as texts.
        if not source.staged:
            yield source.storage, image.predicates[name].types
    storages = {source.storage for source in image.sources.values()}
    for record in image.predicates.values():
        if record.facts is not None and record.facts not in storages and None not in record.types:
            yield record.facts, record.types
