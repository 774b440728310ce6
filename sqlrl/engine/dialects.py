"""What a dialect cannot say as it is planned, and what it says instead."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from sqlglot import exp

_INTEGERS = {"spark": "DECIMAL(38, 0)"}
"""What stands for 128-bit integers in a dialect that has none. 38 digits are 126 bits."""

DIGITS = 38

OVERFLOW = "overflow of a sum of integers"
"""What a sum says that does not fit. Spark reports that by itself in its ANSI mode, other servers of its protocol go on with a wrong number."""

_INT128 = exp.DataType.Type.INT128


def for_dialect(query: exp.Expression, dialect: str, *, copy: bool = True) -> exp.Expression:
    """Return a query in the types of a dialect, itself if the dialect has all of them, else a copy; without `copy` it is changed."""
    if dialect not in _INTEGERS:
        return query
    exact = exp.DataType.build(_INTEGERS[dialect], dialect=dialect)

    # As planned, counts are INT128, DuckDB's HUGEINT. A sum is widened before it is taken: DuckDB adds up BIGINT in 128 bits by itself, Spark
    # does not.
    changed = query.copy() if copy else query
    # The innermost first: what a sum adds may hold another one.
    for node in reversed(list(changed.find_all(exp.Cast))):
        if node.to.is_type(_INT128) and isinstance(node.this, exp.Sum):
            sum_ = _failing_sum(node.this.this, node.to)
            changed = sum_ if node is changed else changed
            node.replace(sum_)
    for number in list(changed.find_all(exp.Literal)):
        if not number.is_string and len(number.name) > DIGITS and number.name.isdigit():
            # Some servers would read its first 38 digits, and drop the others.
            number.replace(exp.cast(_failing(), exact.copy()))
    for kind in list(changed.find_all(exp.DataType)):
        if kind.is_type(_INT128):
            kind.replace(exact.copy())
    for step in changed.find_all(exp.CTE):
        # That a named step is computed once is DuckDB's to say.
        step.set("materialized", None)
    return _with_own_names(changed)


def _failing_sum(added: exp.Expression, kind: exp.DataType) -> exp.Expression:
    """Return a sum of wide integers that fails where it does not fit: each is cast before, as their own sum would overflow."""
    total = exp.Anonymous(this="TRY_SUM", expressions=[exp.cast(added, kind)])
    some = exp.GT(this=exp.Count(this=added.copy()), expression=exp.Literal.number(0))
    # A sum of nothing is NULL, too.
    return exp.Coalesce(this=total, expressions=[exp.Case().when(some, exp.cast(_failing(), kind))])


def _failing() -> exp.Expression:
    """Return what fails where it is computed."""
    return exp.Anonymous(this="RAISE_ERROR", expressions=[exp.Literal.string(OVERFLOW)])


@dataclass(frozen=True)
class ViewText:
    """A view as text: the statement that creates it, and its query alone."""

    statement: str
    query: str


def view_text(view: exp.Table, query: exp.Query, dialect: str) -> ViewText:
    """Write the query of a view, to be read, in a dialect (sqlglot's name)."""
    query = _finite(query.copy()) if dialect == "sqlite" else query.copy()
    create = exp.Create(this=view.copy(), kind="VIEW", expression=query)
    return ViewText(create.sql(dialect, pretty=True), query.sql(dialect, pretty=True))


def _finite(query: exp.Query) -> exp.Query:
    """Write infinity as a number too large, which is how SQLite has it: it casts its name to 0. The query is changed."""
    for node in list(query.find_all(exp.Cast)):
        if node.this.is_string and node.this.name == "Infinity":
            node.replace(exp.Literal(this="9E999", is_string=False))
    return query


def _with_own_names(query: exp.Expression) -> exp.Expression:
    """Give the named steps of a query names of their own, in place, as sqlglot puts those of its parts in front of the whole."""
    names = {str(step.alias) for step in query.find_all(exp.CTE)}
    seen = set[str]()
    for inside in query.find_all(exp.With):
        for step in inside.expressions:
            name = str(step.alias)
            if name in seen:
                new = next(x for x in (f"{name}_{i}" for i in itertools.count(2)) if x not in names)
                names.add(new)
                # Columns keep the aliases of the steps that they are of.
                _rename(inside, step, new)
            seen.add(step.alias)
    return query


def _rename(inside: exp.With, step: exp.CTE, new: str) -> None:
    """Rename a step where it is defined and wherever the query that it stands in front of reads it."""
    old = str(step.alias)
    whole = inside.parent
    assert whole is not None
    for read in whole.find_all(exp.Table):
        if read.name != old or read.db or _definer(read, old) is not inside:
            continue
        if not read.alias:
            read.set("alias", exp.TableAlias(this=read.this.copy()))
        read.this.set("this", new)
    alias = step.args["alias"]
    (alias if isinstance(alias, exp.Identifier) else alias.this).set("this", new)


def _definer(read: exp.Expr, name: str) -> exp.With | None:
    """Return the WITH whose step of a name is meant at a place of a query: the nearest one around it."""
    node = read.parent
    while node is not None:
        inside = node.args.get("with_")
        if isinstance(inside, exp.With) and any(step.alias == name for step in inside.expressions):
            return inside
        node = node.parent
    return None
