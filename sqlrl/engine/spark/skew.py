"""Heavy keys in joins of a distributed engine: their rows are spread over several tasks by a salt.

An engine sends the rows of both sides of a join to tasks by their key. A key that has more rows than a task's share makes one task late, and
all wait for it. What is aggregated before it is joined has no such key, since each task sends one row of it. Where a table itself is joined,
the rows of its heavy keys get a salt, a number that follows from their other columns, and the other side has a copy of its rows
of those keys for each salt; where both sides have heavy keys, both are salted. Each pair of rows then meets in exactly one task. Which keys are
heavy is counted once for each table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sqlrl.engine.base import TableName
from sqlrl.engine.nodes import cast, column, integer, named, star_count, subquery

TASKS = 100
"""A key is heavy if it has more rows than one of so many tasks would have of all."""

SALTED_ROWS = 1_000_000
"""Tables of fewer rows are joined as they are."""

MOST_KEYS = 1000
MOST_SALTS = 64


@dataclass(frozen=True, slots=True)
class Heavy:
    """The heavy keys of a column, by the number of their rows, and the columns beside it, whose integers spread these."""

    keys: Mapping[int, int]
    others: tuple[str, ...]
    share: int
    """Rows that a task has of the whole table."""

    @property
    def salts(self) -> int:
        """Among how many tasks the rows of a key are divided.

        Examples
        --------
        >>> Heavy({7: 250, 9: 120}, ("a1",), share=100).salts
        3
        """
        return min(MOST_SALTS, math.ceil(max(self.keys.values()) / self.share))


def heavy_query(name: exp.Table, key: str, rows: int) -> exp.Select:
    """Plan the heavy keys of a column of a table with so many rows: `key` and the number `n` of rows of each, the heaviest first.

    Examples
    --------
    >>> print(heavy_query(exp.table_("edge"), "a0", 1000).sql("duckdb").replace('"', ""))
    SELECT a0 AS key, COUNT(*) AS n FROM edge GROUP BY a0 HAVING COUNT(*) > 10 ORDER BY n DESC, key LIMIT 1000
    """
    found = exp.select(named(column(key), "key"), named(star_count(), "n")).from_(name.copy()).group_by(column(key))
    found = found.having(exp.GT(this=star_count(), expression=integer(rows // TASKS)))
    return found.order_by(exp.Ordered(this=column("n"), desc=True), column("key")).limit(MOST_KEYS)


def salted(query: exp.Expression, heavy: Callable[[TableName], Mapping[str, Heavy]]) -> exp.Expression:
    """Return a query in which heavy keys of tables that are joined are salted: the query itself where none is; it is changed.

    `heavy` says by column which keys of a table are heavy. A join is left alone unless it is an inner one, and on one column of each of two sources.

    Examples
    --------
    >>> ends, begins = (exp.table_("edge", db="main", catalog="g", alias=alias) for alias in "fg")
    >>> pairs = exp.select("f.a0", "g.a1").from_(ends).join(begins, on="f.a1 = g.a0")
    >>> key = {"a0": Heavy({7: 250}, ("a1",), share=125)}
    >>> print(salted(pairs, lambda name: key).sql("duckdb", pretty=True).replace('"', ""))
    SELECT
      f.a0,
      g.a1
    FROM (
      SELECT
        f.*,
        COALESCE(h0.salt, 0) AS salt0
      FROM g.main.edge AS f
      LEFT JOIN (VALUES
        (7, 0),
        (7, 1)) AS h0(key, salt)
        ON h0.key = f.a1
    ) AS f
    JOIN (
      SELECT
        g.*,
        CASE WHEN g.a0 IN (7) THEN CAST(g.a1 AS BIGINT) % 2 ELSE 0 END AS salt0
      FROM g.main.edge AS g
    ) AS g
      ON f.a1 = g.a0 AND f.salt0 = g.salt0
    """
    for select in list(query.find_all(exp.Select)):
        _salt(select, heavy)
    return query


@dataclass
class _Side:
    """What is added to a source: salts of its own rows, and copies of those that meet salted ones."""

    columns: list[exp.Expr] = field(default_factory=list)
    copies: list[tuple[exp.Expr, exp.Expression]] = field(default_factory=list)


def _salt(select: exp.Select, heavy: Callable[[TableName], Mapping[str, Heavy]]) -> None:
    """Salt the joins of one SELECT."""
    joins, first = select.args.get("joins") or [], select.args.get("from_")
    if not joins or first is None or any(each.is_star for each in select.selects):
        return
    sources = {each.this.alias_or_name: each.this for each in (first, *joins)}
    sides: dict[str, _Side] = {}
    number = 0
    for join in joins:
        if join.side or join.kind not in ("", "INNER") or join.args.get("on") is None:
            continue
        for (salting, own), (copied, other), found in _choices(join, sources, heavy):
            name = f"salt{number}"
            number += 1
            sides.setdefault(salting, _Side()).columns.append(named(_salt_of(salting, own, found), name))
            sides.setdefault(copied, _Side()).copies.append(_copies(copied, other, found, name))
            equal = exp.EQ(this=column(name, copied), expression=column(name, salting))
            join.set("on", exp.and_(join.args["on"], equal, copy=False))
    for alias, side in sides.items():
        sources[alias].replace(_widened(sources[alias].copy(), alias, side))


def _choices(
    join: exp.Join, sources: Mapping[str, exp.Expression], heavy: Callable[[TableName], Mapping[str, Heavy]]
) -> Iterator[tuple[tuple[str, str], tuple[str, str], Heavy]]:
    """Yield the sides of a join that are salted: source and column, those of the other side, and the heavy keys.

    There are none of a join on several columns, as what is heavy in one of them need not be together with the others.
    """
    target = join.this.alias_or_name
    equal = []
    for each in exp.and_(join.args["on"]).find_all(exp.EQ):
        ends = (each.this, each.expression)
        # One below OR or NOT is no key of the join.
        within = each.find_ancestor(exp.Or, exp.Not, exp.Case, exp.Select)
        if within is None and all(isinstance(end, exp.Column) for end in ends):
            places = [(end.table, end.name) for end in ends]
            if places[0][0] != places[1][0] and target in (places[0][0], places[1][0]):
                equal.append(places)
    if len(equal) != 1:
        return
    for mine, other in (equal[0], equal[0][::-1]):
        source = sources.get(mine[0])
        if isinstance(source, exp.Table) and source.db and other[0] in sources:
            found = heavy(TableName(source.catalog, source.db, source.name)).get(mine[1])
            if found is not None and found.keys and found.others:
                yield mine, other, found


def _salt_of(alias: str, own: str, heavy: Heavy) -> exp.Expression:
    """Return the salt of a row: what its other columns say if its key is heavy, else 0."""
    spread: exp.Expression = cast(column(heavy.others[0], alias), "BIGINT")
    for each in heavy.others[1:]:
        spread = exp.Add(this=spread, expression=column(each, alias))
    spread = exp.Mod(this=exp.Paren(this=spread) if len(heavy.others) > 1 else spread, expression=integer(heavy.salts))
    listed = exp.In(this=column(own, alias), expressions=[integer(key) for key in sorted(heavy.keys)])
    return exp.Case().when(listed, spread).else_(integer(0))


def _copies(alias: str, other: str, heavy: Heavy, name: str) -> tuple[exp.Expr, exp.Expression]:
    """Return the salt of a copy, and the join that makes copies of rows whose key is heavy."""
    listed = f"h{name.removeprefix('salt')}"
    rows = [
        exp.Tuple(expressions=[integer(key), integer(salt)])
        for key in sorted(heavy.keys)
        for salt in range(heavy.salts)
    ]
    names = [exp.to_identifier(each, quoted=True) for each in ("key", "salt")]
    values = exp.Values(
        expressions=rows, alias=exp.TableAlias(this=exp.to_identifier(listed, quoted=True), columns=names)
    )
    on = exp.EQ(this=column("key", listed), expression=column(other, alias))
    salt = exp.Coalesce(this=column("salt", listed), expressions=[integer(0)])
    return named(salt, name), exp.Join(this=values, side="LEFT", on=on)


def _widened(source: exp.Expression, alias: str, side: _Side) -> exp.Subquery:
    """Return a source with its salts, under its alias."""
    every = exp.Column(this=exp.Star(), table=exp.to_identifier(alias, quoted=True))
    query = exp.select(every, *side.columns, *(salt for salt, _ in side.copies)).from_(source)
    for _, join in side.copies:
        query.append("joins", join)
    return subquery(query, alias)


def joined_columns(columns: Sequence[str]) -> list[str]:
    """Return the columns of a table that are joined: the example and the arguments.

    Examples
    --------
    >>> joined_columns(["example", "a0", "a1", "truth"])
    ['example', 'a0', 'a1']
    """
    return [name for name in columns if name == "example" or (name[:1] == "a" and name[1:].isdecimal())]


def spreading(columns: Sequence[str], key: str) -> tuple[str, ...]:
    """Return the columns that spread the rows of a key: the other arguments, whose ids are integers.

    Examples
    --------
    >>> spreading(["example", "a0", "a1", "truth"], "a0")
    ('a1',)
    """
    return tuple(name for name in joined_columns(columns) if name not in (key, "example"))
