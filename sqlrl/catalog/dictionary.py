"""Types and their dictionaries: names of constants to dense integer ids."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.store import Store, TypeRecord
from sqlrl.engine.nodes import column, named

NEAREST = 3


def numeric_name(value: exp.Expr) -> exp.Expr:
    """Return the canonical name of a number: `1`, `01` and `1.0` become `1`; what is no number, as `nan` is none, becomes NULL.

    Integers are compared as integers, so that large ones keep all their digits.
    """
    number = exp.TryCast(this=value, to=exp.DataType.build("double"))
    text = exp.TryCast(this=value.copy(), to=exp.DataType.build("hugeint"))
    whole = exp.EQ(this=exp.Anonymous(this="floor", expressions=[number.copy()]), expression=number.copy())
    small = exp.LT(this=exp.Abs(this=number.copy()), expression=exp.convert(1e15))
    digits = exp.Anonymous(this="regexp_full_match", expressions=[value.copy(), exp.convert(r"[-+]?[0-9]+")])
    return (
        exp.Case()
        .when(digits, exp.cast(text, "varchar"))
        .when(exp.and_(whole, small), exp.cast(exp.cast(number.copy(), "bigint"), "varchar"))
        .when(exp.IsNan(this=number.copy()), exp.null())
        .else_(exp.cast(number, "varchar"))
    )


def no_number(value: exp.Expr) -> exp.Condition:
    """Return the condition under which a text is no number; NULL is none of those texts."""
    missing = exp.Is(this=value.copy(), expression=exp.null())
    return exp.and_(exp.Not(this=missing), exp.Is(this=numeric_name(value), expression=exp.null()))


def extend(
    store: Store, record: TypeRecord, names: Sequence[exp.Query], *, first_seen: exp.Query | None = None
) -> TypeRecord:
    """Add the names that a dictionary lacks and return the type's new record.

    Parameters
    ----------
    store : Store
    record : TypeRecord
    names : sequence of queries
        Each yields a column `name`; NULLs are left out.
    first_seen : query, optional
        Yields (name, place): then new ids follow the least place of each name, not the order of names.
    """
    new = _missing(store, record, names, first_seen)
    order = "place" if first_seen is not None else "name"
    number = exp.Window(
        this=exp.RowNumber(),
        order=exp.Order(expressions=[exp.Ordered(this=column(order)), exp.Ordered(this=column("name"))]),
    )
    size = exp.convert(record.size - 1)
    ids = exp.select(named(exp.cast(number + size, "int"), "id"), column("name")).from_(new.subquery("new"))
    store.insert(
        record.dictionary, ids.order_by(column("id")), ["id", "name"], f"extend the dictionary of {record.type}"
    )
    total = store.count(store.table(record.dictionary), f"count the constants of {record.type}")
    if total == record.size:
        return record
    result = replace(record, size=total)
    store.save_type(result)
    return result


def _missing(store: Store, record: TypeRecord, names: Sequence[exp.Query], first_seen: exp.Query | None) -> exp.Select:
    """Return the query of the names that are not in the dictionary, with their first place if asked for."""
    known = exp.select(column("name")).from_(store.table(record.dictionary))
    present = exp.Not(this=exp.Is(this=column("name"), expression=exp.null()))
    unseen = exp.Not(this=exp.In(this=column("name"), query=known.subquery()))
    if first_seen is not None:
        places = exp.select(column("name"), named(exp.Min(this=column("place")), "place")).from_(
            first_seen.subquery("seen")
        )
        condition = exp.and_(present, unseen) if record.size else present
        return places.where(condition).group_by(column("name"))
    union: exp.Query = names[0]
    for query in names[1:]:
        union = exp.union(union, query, distinct=False)
    distinct = exp.select(column("name")).from_(union.subquery("all_names")).distinct().subquery("distinct_names")
    condition = exp.and_(present, unseen) if record.size else present
    return exp.select(column("name")).from_(distinct).where(condition)


def add_constants(store: Store, record: TypeRecord, constants: Iterable[str]) -> TypeRecord:
    """Add constants given in Python, in their order, to a dictionary and return the type's new record."""
    wanted = list(dict.fromkeys(constants))
    unknown = set(missing_constants(store, record, wanted))
    new = [name for name in wanted if name in unknown]
    if not new:
        return record
    ids = pa.array(range(record.size, record.size + len(new)), pa.int32())
    data = pa.table({"id": ids, "name": pa.array(new, pa.string())})
    store.insert(record.dictionary, data, ["id", "name"], f"extend the dictionary of {record.type}")
    result = replace(record, size=record.size + len(new))
    store.save_type(result)
    return result


def missing_constants(store: Store, record: TypeRecord, constants: Iterable[str]) -> list[str]:
    """Return the constants that a dictionary lacks, sorted."""
    wanted = pa.table({"name": pa.array(sorted(set(constants)), pa.string())})
    if not len(wanted):
        return []
    known = exp.select(column("name")).from_(store.table(record.dictionary))
    with store.engine.attached(wanted) as table:
        query = exp.select(column("name")).from_(table)
        query = query.where(exp.Not(this=exp.In(this=column("name"), query=known.subquery())))
        rows = store.rows(query.order_by(column("name")), f"look up constants of {record.type}")
    return [str(row["name"]) for row in rows]


def nearest_constants(store: Store, record: TypeRecord, name: str) -> list[str]:
    """Return the names in a dictionary that are most like another one, the nearest first, at most three."""
    folded = exp.convert(name.casefold())
    distance = exp.Anonymous(this="levenshtein", expressions=[exp.Lower(this=column("name")), folded])
    query = (
        exp.select(column("name"))
        .from_(store.table(record.dictionary))
        .order_by(distance, column("name"))
        .limit(NEAREST)
    )
    return [str(row["name"]) for row in store.rows(query, f"find constants like {name}")]


def nearest_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that are most like another one, the nearest first.

    Examples
    --------
    >>> nearest_names("smokes", ["Smokes", "Friends"])
    ['Smokes']
    """
    folded: dict[str, str] = {}
    for candidate in sorted(known):
        folded.setdefault(candidate.casefold(), candidate)
    return [folded[match] for match in difflib.get_close_matches(name.casefold(), list(folded), NEAREST, 0.5)]


def did_you_mean(names: Sequence[str]) -> str:
    """Return the end of a message that names alternatives.

    Examples
    --------
    >>> did_you_mean(["a", "b"]), did_you_mean([])
    ("; did you mean 'a' or 'b'?", '')
    """
    return f"; did you mean {' or '.join(map(repr, names))}?" if names else ""
