"""Bindings of components of clause bodies: a whole layer of them in one query, after what its branches share.

A component is made of components that are known (its *parents*) and of one more literal. Parents keep their bindings in one table:
`component`, `key` (a number for the values of the head's arguments that the component touches), `h0, h1, ...` (these values, NULL
for arguments that it does not touch) and `places` (a list: the values of its existential variables). Components whose literals
fit into one *pattern* are joined together, through a table that has a row for each: so a query has a branch for each pattern.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.nodes import cast, column, conjunction, element, integer, join, named, star_count, subquery, union_all
from sqlrl.plan.grouped import COUNT, counted_facts, ways
from sqlrl.plan.patterns import CoverageTables, Kind, Pattern
from sqlrl.plan.sources import argument_columns
from sqlrl.plan.sql import table

_FACTS, _LAYER, _KEYS = "f", "r", "k"


def layer_bindings(patterns: Sequence[Pattern], layout: Layout, tables: CoverageTables, most: int) -> exp.Select:
    """Plan the bindings of a layer: one row for each assignment of the variables of one of its components.

    Parameters
    ----------
    patterns : sequence of Pattern
        By their numbers.
    layout : Layout
    tables : CoverageTables
    most : int
        How many rows to find at the most.

    Returns
    -------
    exp.Select
        Columns as the table of bindings has them.

    Examples
    --------
    >>> from sqlrl.plan.patterns import Argument
    >>> from sqlrl.plan.sample import people, table_name
    >>> keys = {(0,): table_name("keys")}
    >>> tables = CoverageTables(table_name("layer"), table_name("bindings"), keys, 1, table_name("wanted"), {})
    >>> pattern = Pattern("Friends", (Argument("head", 0), Argument("new", 0)), ())
    >>> print(layer_bindings([pattern], people(), tables, 9).sql("duckdb").replace('"', ""))
    SELECT b.component, b.key, b.h0, b.places FROM (SELECT r.component AS component, k.key AS key, f.a0 AS h0,
    [f.a1] AS places FROM db.main.layer AS r CROSS JOIN db.main.friends AS f INNER JOIN db.main.keys AS k
    ON k.h0 = f.a0 WHERE r.pattern = 0) AS b LIMIT 9
    """
    branches = [_branch(i, pattern, layout, tables) for i, pattern in enumerate(patterns)]
    found = exp.select(*(column(name, "b") for name in tables.columns)).from_(
        subquery(union_all(branches), "b"), copy=False
    )
    return found.limit(integer(most), copy=False)


def layer_counts(
    patterns: Sequence[Pattern], layout: Layout, tables: CoverageTables, grouped: Collection[int] = ()
) -> exp.Select:
    """Plan how many bindings the components of a layer have, without keeping them.

    Parameters
    ----------
    patterns, layout, tables
        As of `layer_bindings`.
    grouped : collection of int
        Patterns, by their numbers, whose facts are counted before they meet the parents; see `sqlrl.plan.grouped`. They are
        `groupable`.

    Returns
    -------
    exp.Select
        Columns `component`, `key`, `n` (64 bits; an overflow is an error of the database), in order.

    Examples
    --------
    >>> from sqlrl.plan.patterns import Argument
    >>> from sqlrl.plan.sample import people, table_name
    >>> keys = {(0,): table_name("keys")}
    >>> tables = CoverageTables(table_name("layer"), table_name("bindings"), keys, 1, table_name("wanted"), {})
    >>> pattern = Pattern("Friends", (Argument("bound", 0), Argument("new", 0)), ((0,),))
    >>> print(layer_counts([pattern], people(), tables).sql("duckdb").replace('"', ""))
    SELECT b.component, b.key, b.n FROM (SELECT r.component AS component, p0.key AS key, COUNT(*) AS n
    FROM db.main.layer AS r INNER JOIN db.main.wanted AS p0 ON p0.component = r.p0 INNER JOIN db.main.friends AS f
    ON f.a0 = p0.places[r.x0] WHERE r.pattern = 0 GROUP BY 1, 2) AS b ORDER BY b.component, b.key
    """
    branches = [
        _branch(i, pattern, layout, tables, counted=True, grouped=i in grouped) for i, pattern in enumerate(patterns)
    ]
    query = exp.select(*(column(name, "b") for name in ("component", "key", "n")))
    query = query.from_(subquery(union_all(branches), "b"), copy=False)
    order = [exp.Ordered(this=column(name, "b"), nulls_first=False) for name in ("component", "key")]
    return query.order_by(*order, copy=False)


def _branch(
    number: int,
    pattern: Pattern,
    layout: Layout,
    tables: CoverageTables,
    *,
    counted: bool = False,
    grouped: bool = False,
) -> exp.Select:
    """Select the bindings of the components of one pattern, or their number."""
    info, first = layout.predicates[pattern.predicate], pattern.facts_first
    heads, parts = _parents(pattern)
    places = [column("places", f"p{i}") for i in range(len(parts))]
    new: dict[int, exp.Column] = {}
    conditions: list[exp.Expression] = []
    for i, (name, argument) in enumerate(zip(argument_columns(info), pattern.arguments, strict=True)):
        here = column(name, _LAYER if first else _FACTS)
        if grouped and i not in pattern.remaining:
            continue
        match Kind(argument.kind):
            case Kind.HEAD:
                conditions += _equal(here, heads.setdefault(argument.number, here))
            case Kind.NEW:
                conditions += _equal(here, new.setdefault(argument.number, here))
            case Kind.BOUND:
                place = integer(argument.place) if first else column(f"x{i}", _LAYER)
                value = element(places[argument.number].copy(), place)
                # A condition on the facts alone and one parent: they can be joined by it.
                (parts[argument.number] if first else conditions).append(_is(here, value))
            case Kind.CONSTANT:
                conditions += [] if first else _equal(here, column(f"x{i}", _LAYER))
    query = exp.select().from_(table(tables.constants[number] if first else tables.layer, _LAYER), copy=False)
    for i, part in enumerate(parts):
        if not (grouped and i in pattern.loose):
            join(query, table(tables.wanted, f"p{i}"), conjunction(part), "INNER")
    if grouped and pattern.loose:
        conditions += [_is(column(name, _FACTS), column(name, _LAYER)) for name in ways(pattern, pattern.loose)]
    on = conjunction(conditions)
    if not first:
        facts = counted_facts(number, pattern, info, tables, _FACTS) if grouped else table(info.facts, _FACTS)
        join(query, facts, on, "CROSS" if on is None else "INNER")
    elif on is not None:
        query.where(on, copy=False)
    key = _key(query, pattern, heads, tables)
    if not first:
        query.where(_is(column("pattern", _LAYER), integer(number)), copy=False)
    columns: list[exp.Expression] = [named(column("component", _LAYER), "component"), named(key, "key")]
    if counted:
        total = exp.Sum(this=column(COUNT, _FACTS)) if grouped else None
        query.select(*columns, named(star_count() if total is None else cast(total, "BIGINT"), "n"), copy=False)
        # By place: `key` alone would be a column of the bindings.
        return query.group_by(exp.Literal.number(1), exp.Literal.number(2), copy=False)
    nothing = exp.cast(exp.null(), exp.DataType.build("INT"))
    values = [heads[j] if j in pattern.touched else nothing for j in range(tables.heads)]
    columns += [named(value.copy(), f"h{j}") for j, value in enumerate(values)]
    columns.append(named(_places(places, [new[i] for i in sorted(new)]), "places"))
    return query.select(*columns, copy=False)


def _parents(pattern: Pattern) -> tuple[dict[int, exp.Column], list[list[exp.Expression]]]:
    """Return the column of each argument of the head that a parent touches, and how the parents are joined."""
    heads: dict[int, exp.Column] = {}
    parts: list[list[exp.Expression]] = []
    for i, touched in enumerate(pattern.parents):
        conditions: list[exp.Expression] = [_is(column("component", f"p{i}"), column(f"p{i}", _LAYER))]
        for j in touched:
            here = column(f"h{j}", f"p{i}")
            conditions += _equal(here, heads.setdefault(j, here))
        parts.append(conditions)
    return heads, parts


def _key(
    query: exp.Select, pattern: Pattern, heads: Mapping[int, exp.Column], tables: CoverageTables
) -> exp.Expression:
    """Return the key of a binding: a parent's that touches as much, else that of a target atom, which is joined."""
    touched = pattern.touched
    if not touched:
        return integer(0)
    for i, known in enumerate(pattern.parents):
        if known == touched:
            return column("key", f"p{i}")
    on = conjunction([_is(column(f"h{j}", _KEYS), heads[j].copy()) for j in touched])
    join(query, table(tables.keys[touched], _KEYS), on, "INNER")
    return column("key", _KEYS)


def _places(parents: Sequence[exp.Column], new: Sequence[exp.Column]) -> exp.Expression:
    """Return the list of the values of all existential variables: those of the parents, then the new ones."""
    if new or not parents:
        own: exp.Expression = exp.Array(expressions=[value.copy() for value in new])
        if not new:
            own = cast(own, "INT[]")
        parts = [*(x.copy() for x in parents), own]
    else:
        parts = [x.copy() for x in parents]
    return parts[0] if len(parts) == 1 else exp.ArrayConcat(this=parts[0], expressions=parts[1:])


def _equal(left: exp.Expression, right: exp.Expression) -> list[exp.Expression]:
    """Return the condition that two columns are equal; none if they are the same."""
    return [] if left is right else [_is(left, right.copy())]


def _is(left: exp.Expression, right: exp.Expression) -> exp.EQ:
    return exp.EQ(this=left, expression=right)


def count_bindings(bindings: TableName, first: int) -> exp.Select:
    """Plan the number of bindings that are kept of each component from a number on, at each key.

    Returns
    -------
    exp.Select
        As `layer_counts`.

    Examples
    --------
    >>> from sqlrl.plan.sample import table_name
    >>> print(count_bindings(table_name("bindings"), 7).sql("duckdb").replace('"', ""))
    SELECT c.component, c.key, COUNT(*) AS n FROM (SELECT * FROM db.main.bindings AS b WHERE b.component >= 7) AS c
    GROUP BY c.component, c.key ORDER BY c.component, c.key
    """
    names = ["component", "key"]
    query = exp.select(*(column(name, "c") for name in names), named(star_count(), "n"))
    query = query.from_(subquery(bindings_from(bindings, first), "c"), copy=False)
    query = query.group_by(*(column(name, "c") for name in names), copy=False)
    order = [exp.Ordered(this=column(name, "c"), nulls_first=False) for name in names]
    return query.order_by(*order, copy=False)


def bindings_from(bindings: TableName, first: int) -> exp.Select:
    """Select the bindings of the components from a number on.

    Examples
    --------
    >>> from sqlrl.plan.sample import table_name
    >>> bindings_from(table_name("bindings"), 7).sql("duckdb")
    'SELECT * FROM "db"."main"."bindings" AS "b" WHERE "b"."component" >= 7'
    """
    known = exp.GTE(this=column("component", "b"), expression=integer(first))
    return exp.select(exp.Star()).from_(table(bindings, "b")).where(known, copy=False)
