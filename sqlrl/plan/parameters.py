"""The parameter table of a shape, with a row of constants for each of its clauses."""

from __future__ import annotations

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import column, named, star_count, subquery
from sqlrl.logic.shapes import Shape, Slot
from sqlrl.plan.sources import Source
from sqlrl.plan.sql import table


def parameter_source(parameters: TableName, shape: Shape, alias: str = "p", *, apart: bool = False) -> Source:
    """The parameter table; with `apart` each of its rows once.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, table_name
    >>> parameter_source(table_name("numbers"), friends_smoke(), apart=True).relation.sql("duckdb")
    '(SELECT DISTINCT "clause" FROM "db"."main"."numbers") AS "p"'
    """
    columns = tuple((f"k{i}", Slot(True, i)) for i in range(len(shape.parameters)))
    if not apart:
        return Source(table(parameters, alias), alias, columns)
    rows = exp.select(*map(column, parameter_keys(shape, apart=True))).distinct().from_(table(parameters))
    return Source(subquery(rows, alias), alias, columns)


def equal_rows(parameters: TableName, shape: Shape) -> exp.Select:
    """Plan how often each row stands in a parameter table, as `n` beside its columns.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, table_name
    >>> equal_rows(table_name("numbers"), friends_smoke()).sql("duckdb")
    'SELECT "clause", COUNT(*) AS "n" FROM "db"."main"."numbers" GROUP BY "clause"'
    """
    keys = [column(name) for name in parameter_keys(shape, apart=True)]
    return exp.select(*keys, named(star_count(), "n")).from_(table(parameters)).group_by(*(key.copy() for key in keys))


def parameter_keys(shape: Shape, *, apart: bool) -> tuple[str, ...]:
    """The columns of a parameter table that tell its clauses apart, or its rows.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke
    >>> parameter_keys(friends_smoke(), apart=True)
    ('clause',)
    """
    constants = tuple(f"k{i}" for i in range(len(shape.parameters)))
    return ("clause", *constants) if apart else ("clause",)
