"""Small builders of sqlglot nodes: quoted names, nothing by string."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Literal

from sqlglot import exp

from sqlrl.engine.base import TableName


def column(name: str, table: str | None = None) -> exp.Column:
    """Return a quoted column, of a table alias if one is given."""
    return exp.column(name, table=table, quoted=True)


def table(name: TableName, alias: str | None = None) -> exp.Table:
    """Return a fully qualified, quoted table; one without catalog and schema is a step of the query, as of `cte`."""
    node = exp.table_(name.name, db=name.schema or None, catalog=name.catalog or None, quoted=True)
    return node if alias is None else aliased_table(node, alias)


def cte(name: str, alias: str | None = None) -> exp.Table:
    """Return a reference to a named step of the same query."""
    node = exp.table_(name, quoted=True)
    return node if alias is None else aliased_table(node, alias)


def aliased_table(node: exp.Table, alias: str) -> exp.Table:
    """Return a table under an alias."""
    node.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return node


def subquery(query: exp.Query, alias: str) -> exp.Subquery:
    """Return a query as a source under an alias."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))


def join(
    query: exp.Select, relation: exp.Expr, on: exp.Expression | None, kind: Literal["INNER", "LEFT", "CROSS"]
) -> exp.Select:
    """Join a relation to a query, which is changed; `Select.join` reads the kind of the join with a parser each time."""
    found = exp.Join(this=relation, on=on)
    found.set("side" if kind == "LEFT" else "kind", kind)
    query.append("joins", found)
    return query


def named(node: exp.Expr, name: str) -> exp.Alias:
    """Return an expression under a column name."""
    return exp.Alias(this=node, alias=exp.to_identifier(name, quoted=True))


def integer(value: int) -> exp.Expression:
    """Return an integer literal (negative ones in parentheses)."""
    return exp.Literal.number(value) if value >= 0 else exp.paren(exp.Neg(this=exp.Literal.number(-value)))


def conjunction(conditions: Iterable[exp.Expression]) -> exp.Expression | None:
    """Return the conditions joined by AND, or None if there are none."""
    # sqlglot prints nodes as they nest: an OR below an AND needs its own parentheses.
    items = [exp.Paren(this=c) if isinstance(c, exp.Or) else c for c in conditions]
    return reduce(lambda a, b: exp.And(this=a, expression=b), items) if items else None


def cast(node: exp.Expression, kind: str) -> exp.Cast:
    """Return a cast to a type by sqlglot's name, which is no dialect's (`BIGINT`, `INT128`, `INT[]`)."""
    return exp.cast(node, exp.DataType.build(kind))


def element(values: exp.Expression, place: exp.Expression) -> exp.Bracket:
    """Return an element of a list; places count from 1."""
    return exp.Bracket(this=values, expressions=[place], offset=1, safe=False)


def star_count() -> exp.Count:
    """Return `COUNT(*)`."""
    return exp.Count(this=exp.Star())


def union_all(queries: Iterable[exp.Query]) -> exp.Query:
    """Return the queries joined by UNION ALL."""
    items = list(queries)
    return reduce(lambda a, b: exp.Union(this=a, expression=b, distinct=False), items)
