"""Heavy keys in joins of a distributed engine: their rows are spread over several tasks by a salt.

An engine sends the rows of both sides of a join to tasks by their key. A key that has more rows than a task's share makes one task late, and
all wait for it; so does one with a large part of the pairs that the join makes. What is aggregated before it is joined has no such key, since
each task sends one row of it. Where a table itself is joined, the rows of its heavy keys get a salt, a number that follows from their other
columns, and the other side has a copy of its rows of those keys for each salt; where both sides are tables, both are salted. Each pair of rows
then meets in exactly one task. Which keys are heavy is counted once for each column, and for each pair of columns that are joined. A server with
few tasks has few heavy keys, or none: salts cost rows, and hide from it how large its tables are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from sqlrl.engine.base import TableName
from sqlrl.engine.nodes import cast, column, cte, integer, named, star_count, subquery

TASKS = 100
"""A key is heavy if it has more rows, or makes more pairs, than one of the server's tasks would have of all, or of so many if it has more."""

PROBE = "EXPLAIN SELECT id % 100 AS k, COUNT(*) AS n FROM range(1000) GROUP BY id % 100"
"""A query whose plan says among how many tasks a server divides rows by a key. Its settings do not: Sail's are not what it does.

The key is no column of the range, by which Apache Spark has divided the rows already.
"""

_DIVIDED = re.compile(r"(?:hashpartitioning|Hash)\(.*?, (\d+)\)")

SALTED_ROWS = 1_000_000
"""Tables of fewer rows are joined as they are."""

MOST_SALTS = 64

FINER = 4
"""The pairs of a key are divided into so many parts of what a task would have, since several parts meet in one by chance."""


@dataclass(frozen=True, slots=True)
class Heavy:
    """The heavy keys of a column, the columns beside it, whose integers spread their rows, and among how many tasks these are divided."""

    keys: frozenset[int]
    others: tuple[str, ...]
    salts: int


Key = tuple[TableName, str]
"""A column of a table."""


class HeavyKeys(Protocol):
    """What is known of heavy keys; None where there are none, or the table is small or not one of the storage."""

    def heavy_keys(self, key: Key) -> Heavy | None:
        """Return those of a column that is joined with what is no such table."""

    def heavy_pair(self, left: Key, right: Key) -> tuple[Heavy | None, Heavy | None] | None:
        """Return those of two columns that are joined, None if not both are of such tables."""


def tasks_of(plan: str) -> int:
    """Return among how many tasks a server divides rows by a key, as its plan of `PROBE` says."""
    found = _DIVIDED.search(plan)
    if found is not None:
        return min(int(found[1]), TASKS)
    return TASKS if "Exchange" in plan or "Repartition" in plan else 1


def heavy_query(table: exp.Table, key: str, rows: int, tasks: int) -> exp.Select:
    """Plan the heavy keys of a column of a table with so many rows: `key` and the number `n` of rows of each."""
    return _counts(table, key).having(exp.GT(this=star_count(), expression=integer(rows // tasks)))


def _counts(table: exp.Table, key: str) -> exp.Select:
    query = exp.select(named(column(key), "key"), named(star_count(), "n"))
    return query.from_(table.copy()).group_by(column(key))


def heavy_of(row_counts: Mapping[int, int], rows: int, others: tuple[str, ...], tasks: int) -> Heavy | None:
    """Return the heavy keys of a column of a table from the numbers of their rows."""
    if not row_counts or not others:
        return None
    return Heavy(frozenset(row_counts), others, _salts(max(row_counts.values()) * tasks / rows))


def pair_query(left: tuple[exp.Table, str, int], right: tuple[exp.Table, str, int], tasks: int) -> exp.Select:
    """Plan the heavy keys of a join of two tables, each with column and rows: `key`, its rows `l` and `r`, and `work`, all rows and pairs."""
    # A rough number: what is heavy changes no result, so that a float does.
    pairs = exp.Mul(this=cast(column("n", "l"), "DOUBLE"), expression=column("n", "r"))
    joined = exp.select(column("key", "l"), named(column("n", "l"), "l"), named(column("n", "r"), "r"))
    joined = joined.select(named(pairs, "pairs")).from_(cte("l", "l"))
    joined = joined.join(cte("r", "r"), on=exp.EQ(this=column("key", "l"), expression=column("key", "r")))
    work = exp.Add(this=exp.Sum(this=column("pairs", "j")), expression=integer(left[2] + right[2]))
    total = exp.select(named(work, "work")).from_(cte("j", "j"))
    share = exp.Div(this=column("work", "t"), expression=integer(tasks))
    heavy = exp.or_(
        exp.GT(this=column("pairs", "j"), expression=share),
        *(
            exp.GT(this=column(name, "j"), expression=integer(rows // tasks))
            for name, (_, _, rows) in zip("lr", (left, right), strict=True)
        ),
    )
    found = exp.select(*(column(name, "j") for name in ("key", "l", "r")), column("work", "t")).from_(cte("j", "j"))
    found = found.join(cte("t", "t"), join_type="CROSS").where(heavy)
    for name, query in (("l", _counts(*left[:2])), ("r", _counts(*right[:2])), ("j", joined), ("t", total)):
        found = found.with_(exp.to_identifier(name, quoted=True), as_=query, copy=False)
    return found


@dataclass(frozen=True, slots=True)
class Joined:
    """A heavy key of a join: its rows on both sides, and the work of the whole join."""

    key: int
    left: int
    right: int
    work: float


def heavy_of_pair(
    joins: Sequence[Joined],
    rows: tuple[int, int],
    others: tuple[tuple[str, ...], tuple[str, ...]],
    tasks: int,
) -> tuple[Heavy | None, Heavy | None]:
    """Return the heavy keys of both sides of a join. Rows are divided so that the copies of the other side's are as few as can be."""
    keys: tuple[list[int], list[int]] = ([], [])
    most = [1, 1]
    for each in joins:
        own = (each.left, each.right)
        parts = each.left * each.right * tasks * FINER / each.work
        for side in range(2):
            by_pairs = min(parts, max(1.0, math.sqrt(parts * own[side] / own[1 - side])))
            salts = min(_salts(max(by_pairs, own[side] * tasks / rows[side])), own[side])
            if salts > 1 and others[side]:
                keys[side].append(each.key)
                most[side] = max(most[side], salts)
    left, right = (Heavy(frozenset(k), o, m) if k else None for k, o, m in zip(keys, others, most, strict=True))
    return left, right


def _salts(parts: float) -> int:
    return max(1, min(MOST_SALTS, math.ceil(parts)))


def salted(query: exp.Expression, heavy: HeavyKeys) -> exp.Expression:
    """Salt heavy keys of the tables that a query joins, in place, in inner joins on one column of each of two sources; return the query."""
    for select in list(query.find_all(exp.Select)):
        _salt(select, heavy)
    return query


@dataclass
class _Side:
    """What is added to a source: salts of its own rows, and copies of those that meet salted ones."""

    columns: list[exp.Expr] = field(default_factory=list)
    copies: list[tuple[exp.Expr, exp.Expression]] = field(default_factory=list)


def _salt(select: exp.Select, heavy: HeavyKeys) -> None:
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
    join: exp.Join, sources: Mapping[str, exp.Expression], heavy: HeavyKeys
) -> Iterator[tuple[tuple[str, str], tuple[str, str], Heavy]]:
    """Yield the sides of a join that are salted: source and column, those of the other side, and the heavy keys."""
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
    # What is heavy in one of several columns need not be together with the others.
    if len(equal) != 1 or any(alias not in sources for alias, _ in equal[0]):
        return
    first, second = equal[0]
    keys = [_key(sources[alias], name) for alias, name in (first, second)]
    if keys[0] is not None and keys[1] is not None and (both := heavy.heavy_pair(keys[0], keys[1])) is not None:
        found = list(both)
    else:
        found = [None if key is None else heavy.heavy_keys(key) for key in keys]
    for mine, other, own in ((first, second, found[0]), (second, first, found[1])):
        if own is not None:
            yield mine, other, own


def _key(source: exp.Expression, name: str) -> Key | None:
    """Return a column of a source, if that is a table."""
    if not isinstance(source, exp.Table) or not source.db:
        return None
    return TableName(source.catalog, source.db, source.name), name


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
    """Return the columns of a table that are joined: the example and the arguments."""
    return [name for name in columns if name == "example" or (name[:1] == "a" and name[1:].isdecimal())]


def spreading(columns: Sequence[str], key: str) -> tuple[str, ...]:
    """Return the columns that spread the rows of a key: the other arguments, whose ids are integers."""
    return tuple(name for name in joined_columns(columns) if name not in (key, "example"))
