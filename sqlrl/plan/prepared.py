"""Queries whose text stays the same from call to call: examples, or the only one, are a parameter, and queries with few rows are one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, cte, integer, named, subquery, table, union_all

EXAMPLES = TableName("", "", "examples")
"""In place of a table of examples: the step of a query that lists them, `over_examples` or `over_names`."""

NAMED = -1
"""The part of `over_names` with the examples themselves."""

_EXAMPLE_COLUMNS = ("position", "example")


@dataclass(frozen=True)
class Part:
    """One of the queries that are run as one, with the columns that are read of it."""

    query: exp.Query
    columns: tuple[str, ...]
    lists: tuple[str, ...] = ()  # columns with lists of numbers


def fused(parts: Sequence[tuple[int, Part]]) -> exp.Query:
    """Return the rows of some queries as one: `part`, the number of the query, its `columns` and its `lists`, either filled up with NULL."""
    width, lists = (max(len(x) for x in found) for found in zip(*((p.columns, p.lists) for _, p in parts), strict=True))
    found = []
    for i, (number, part) in enumerate(parts):
        alias = f"q{i}"
        columns: list[exp.Expr] = [column(name, alias) for name in part.columns]
        columns += [exp.null() for _ in range(width - len(columns))]
        columns += [column(name, alias) for name in part.lists]
        columns += [exp.null() for _ in range(width + lists - len(columns))]
        found.append(
            exp.select(named(integer(number), "part"), *(named(each, f"c{j}") for j, each in enumerate(columns))).from_(
                subquery(part.query, alias)
            )
        )
    return union_all(found)


def over_examples(query: exp.Query) -> exp.Query:
    """Return a query over `EXAMPLES`, which are the parameter `$examples`: ids, each once."""
    return _first(query, [("examples", exp.select(named(_unnested("examples", "INT[]"), "example")))])


def of_one(query: exp.Query, only: exp.Expr) -> exp.Query | None:
    """Return a query over `EXAMPLES` with an expression for the only example in place of the table; None if it does more than join with it."""
    # Without the join the database plans, which is what it does all the time here, in half the time.
    query = query.copy()
    for found in list(query.find_all(exp.Table)):
        if found.name != EXAMPLES.name or found.db:
            continue
        joined, alias = found.parent, found.alias
        if not isinstance(joined, exp.Join) or joined.side:
            return None
        select, on = joined.parent, joined.args.get("on")
        if not isinstance(on, exp.EQ) or not isinstance(select, exp.Select):
            return None
        sides = [on.left, on.right]
        others = [x for x in sides if not (isinstance(x, exp.Column) and x.table == alias)]
        joined.pop()
        if len(others) != 1 or any(x.table == alias for x in select.find_all(exp.Column)):
            return None
        select.where(exp.EQ(this=others[0], expression=only.copy()), copy=False)
    return query


def over_example(query: exp.Query) -> exp.Query | None:
    """Return a query over `EXAMPLES`, which are the parameter `$example`, the id of one; None as for `of_one`."""
    return of_one(query, _parameter("example", "INT"))


def over_name(parts: Sequence[tuple[int, Part]], examples: TableName, most: int) -> exp.Query | None:
    """Return `over_names` for one name, the parameter `$name`; without a row of the part `NAMED` there is no such example. None as for `of_one`."""
    name = exp.Collate(this=_parameter("name", "TEXT"), expression=exp.Var(this="POSIX"))
    same = exp.EQ(this=column("name", "e"), expression=name)
    found = exp.select(column("example", "e")).from_(table(examples, "e")).where(same)
    listed = exp.select(named(integer(1), "position"), column("example", "e")).from_(table(examples, "e"))
    rest = [(number, part, of_one(part.query, exp.Subquery(this=found))) for number, part in parts]
    if any(query is None for _, _, query in rest):
        return None
    known = Part(listed.where(same.copy()), _EXAMPLE_COLUMNS)
    whole = fused([(NAMED, known), *((number, replace(part, query=query)) for number, part, query in rest if query)])
    return exp.select("*").from_(subquery(whole, "few")).limit(most)


def over_names(parts: Sequence[tuple[int, Part]], examples: TableName, most: int) -> exp.Query:
    """Return queries over `EXAMPLES`, fused, where the parameter `$names` has names; part `NAMED` has position and id, NULL for none, of each name; no more than `most` rows."""
    place = exp.Anonymous(this="generate_subscripts", expressions=[_parameter("names", "TEXT[]"), integer(1)])
    given = exp.select(named(_unnested("names", "TEXT[]"), "name"), named(place, "position"))
    # The collation of the connection may take two names for one.
    name = exp.Collate(this=column("name", "n"), expression=exp.Var(this="POSIX"))
    same = exp.EQ(this=column("name", "e"), expression=name)
    found = exp.select(column("position", "n"), column("example", "e")).from_(cte("given", "n"))
    found = found.join(table(examples, "e"), on=same, join_type="LEFT")
    listed = Part(exp.select(*map(column, _EXAMPLE_COLUMNS)).from_(cte("found")), _EXAMPLE_COLUMNS)
    chosen = exp.select(column("example")).from_(cte("found"))
    steps = [("given", given), ("found", found), ("examples", chosen)]
    rows = exp.select("*").from_(subquery(fused([(NAMED, listed), *parts]), "few")).limit(most)
    return _first(rows, steps)


def _parameter(name: str, kind: str) -> exp.Cast:
    return cast(exp.Placeholder(this=name), kind)


def _unnested(name: str, kind: str) -> exp.Anonymous:
    return exp.Anonymous(this="UNNEST", expressions=[_parameter(name, kind)])


def _first(query: exp.Query, steps: Sequence[tuple[str, exp.Query]]) -> exp.Query:
    """Put steps before those of a query."""
    there = query.args.get("with_") or exp.With(expressions=[])
    new = [exp.CTE(this=step, alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True))) for name, step in steps]
    there.set("expressions", [*new, *there.expressions])
    query.set("with_", there)
    return query
