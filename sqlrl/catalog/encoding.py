"""Rows of text to rows of ids, and the checks on both."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from sqlglot import exp

from sqlrl.catalog.bins import constant_name, is_number, no_constant
from sqlrl.catalog.dictionary import extend
from sqlrl.catalog.image import TypeRecord, argument_columns
from sqlrl.catalog.similar_names import warn_of_spellings
from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column, join, named, star_count, union_all
from sqlrl.errors import DoubleQuoted, LoadError, Parameter
from sqlrl.logic.bins import dated
from sqlrl.wording import counted

ROW = "row"
"""The column of rows whose duplicates were dropped that says where in the source each stood, from 1."""

FEW = 100_000
"""Of so many rows the database says as quickly whether two are alike as their hashes can be sorted."""

_PROBED = 2_048
"""Of so many rows the constants show whether those of all may be known."""

MOST_SLICES = 64
"""In more slices than that hashes are not sorted, since the source would be read too often: the database counts distinct ones, and spills."""

_SHOWN = 5
_WIDTH = 60


def key_columns(arity: int, example: bool) -> list[str]:
    """Return the columns that identify a row."""
    return [*(["example"] if example else []), *argument_columns(arity)]


def encode(
    store: Store,
    raw: exp.Query,
    storage: str,
    types: Sequence[str],
    *,
    extra: Sequence[str] = (),
    example_column: bool = False,
    example_type: str | None = None,
    kinds: Sequence[str] = (),
) -> None:
    """Give every constant an id, and write rows of text (`example`, a0, a1, ..., and `extra`, kept as they are) as ids to a table."""
    records = store.types()
    if (
        all(name in records and records[name].size > FEW for name in types)
        and types
        and _known(store, raw, types, records)
    ):
        # Rows of constants that are known need no look for new ones.
        _write(store, raw, storage, types, records, extra, example_column)
        if not _lacks_ids(store, storage, key_columns(len(types), example_column)):
            return
    by_type: dict[str, list[exp.Query]] = {}
    for i, name in enumerate(types):
        record = store.type_record(name, records)
        text = constant_name(column(f"a{i}"), record)
        by_type.setdefault(name, []).append(exp.select(named(text, "name")).from_(raw.subquery("raw")))
    for name, queries in by_type.items():
        places = [i for i, t in enumerate(types) if t == name]
        # Examples get ids in the order of their first appearance.
        seen = _first_seen(raw, places) if name == example_type and not is_number(records[name]) else None
        before, records[name] = records[name].size, extend(store, records[name], queries, first_seen=seen)
        if before < records[name].size and not is_number(records[name]):
            # Kinds of values are as `catalog.values.column_kind` has them.
            mine = [kinds[i].split() if i < len(kinds) else ["text"] for i in places]
            warn_of_spellings(store, records[name], before, chain.from_iterable(mine))
    if example_column:
        _extend_examples(store, raw)
    _write(store, raw, storage, types, records, extra, example_column)


def _known(store: Store, raw: exp.Query, types: Sequence[str], records: Mapping[str, TypeRecord]) -> bool:
    """Return whether the constants of the first rows are in the dictionaries."""
    some = raw.subquery("all_rows")
    query = exp.select(exp.convert(1).as_("one")).from_(exp.select("*").from_(some).limit(_PROBED).subquery("raw"))
    unknown = []
    for i, name in enumerate(types):
        query = _with_constant(store, query, i, records[name])
        unknown.append(exp.Is(this=column("id", f"d{i}"), expression=exp.null()))
    new = query.where(exp.or_(*unknown)).limit(1)
    return not store.count(new.subquery("new"), "look for new constants among the first rows")


def _lacks_ids(store: Store, storage: str, keys: Sequence[str]) -> bool:
    """Return whether some key of encoded rows is NULL."""
    empty = exp.or_(*(exp.Is(this=column(key), expression=exp.null()) for key in keys))
    found = exp.select(exp.convert(1).as_("one")).from_(store.table(storage)).where(empty).limit(1)
    return bool(store.count(found.subquery("found"), "look for new constants"))


def _first_seen(raw: exp.Query, positions: Sequence[int]) -> exp.Query:
    """Return the query of (name, place) of some arguments in the order of the rows, within a row from left to right."""
    parts: list[exp.Query] = []
    for number, position in enumerate(positions):
        row = exp.Mul(this=exp.Window(this=exp.RowNumber()), expression=exp.convert(len(positions)))
        place = exp.Add(this=row, expression=exp.convert(number))
        parts.append(
            exp.select(named(column(f"a{position}"), "name"), named(place, "place")).from_(raw.subquery("raw"))
        )
    return union_all(parts)


def _extend_examples(store: Store, raw: exp.Query) -> None:
    """Add the examples that a column names, in order of first appearance."""
    place = exp.Window(this=exp.RowNumber())
    seen = exp.select(named(column("example"), "name"), named(place, "place")).from_(raw.subquery("raw"))
    known = exp.select(column("name")).from_(store.table("example"))
    new = exp.select(column("name"), named(exp.Min(this=column("place")), "place")).from_(seen.subquery("seen"))
    new = new.where(
        exp.Not(this=exp.Is(this=column("name"), expression=exp.null())),
        exp.Not(this=exp.In(this=column("name"), query=known.subquery())),
    ).group_by(column("name"))
    start = store.count(store.table("example"), "count the examples")
    number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[exp.Ordered(this=column("place"))]))
    ident = exp.cast(number + exp.convert(start - 1), "int")
    rows = exp.select(named(ident, "example"), column("name"), named(ident.copy(), "ordinal")).from_(
        new.subquery("new")
    )
    store.insert("example", rows, ["example", "name", "ordinal"], "extend the examples")


def _write(
    store: Store,
    raw: exp.Query,
    storage: str,
    types: Sequence[str],
    records: dict[str, TypeRecord],
    extra: Sequence[str],
    example_column: bool,
) -> None:
    """Join the rows with the dictionaries; a NULL constant stays NULL and is found by the checks."""
    outputs: list[exp.Expr] = []
    query = exp.select().from_(raw.subquery("raw"))
    if example_column:
        outputs.append(named(column("example", "e"), "example"))
        query = join(query, store.table("example", "e"), column("name", "e").eq(column("example", "raw")), "LEFT")
    for i, name in enumerate(types):
        outputs.append(named(column("id", f"d{i}"), f"a{i}"))
        query = _with_constant(store, query, i, records[name])
    outputs += [named(column(c, "raw"), c) for c in extra]
    if not outputs:
        outputs = [named(exp.true(), "present")]
    store.create(storage, query.select(*outputs, copy=False), f"encode {storage}")


def _with_constant(store: Store, query: exp.Select, i: int, record: TypeRecord) -> exp.Select:
    """Join rows with the dictionary `d0`, `d1`, ... of an argument."""
    on = column("name", f"d{i}").eq(constant_name(column(f"a{i}", "raw"), record))
    return join(query, store.table(record.dictionary, f"d{i}"), on, "LEFT")


@dataclass(frozen=True, slots=True)
class SourceRows:
    """Rows of a source that are checked, with what messages say about them."""

    where: str
    keys: Sequence[str]
    extra: Sequence[str]  # the columns beside the keys
    text: exp.Query  # all of them, as text in the order of the source, with their numbers in the column `ROW`
    numeric: Mapping[str, TypeRecord]  # the types of keys whose constants are numbers, or pieces of them
    null: str = "NULL"  # what messages call NULL
    distinct: bool = False  # whether equal rows are dropped, so that only contradictions are faults


def check_repeated(store: Store, rows: SourceRows) -> bool:
    """Refuse rows that repeat others, before they are encoded; return whether it is known that no two have one key."""
    if not rows.keys:
        return False
    if not _some_share_a_hash(store, rows):
        # Two texts may be one number.
        return not rows.numeric
    with _constants(store, rows) as every:
        strange: list[exp.Condition] = [exp.Is(this=column(k), expression=exp.null()) for k in rows.keys]
        strange += [check.condition for check in _value_checks(rows.extra)]
        # What else is wrong `check_rows` tells before.
        others = exp.select("*").from_(every.copy()).where(exp.or_(*strange))
        faults = (
            [] if store.count(others.subquery("others"), "look for other faults") else _repetitions(store, rows, every)
        )
    if faults:
        raise _faulty(rows, faults)
    return False


def _some_share_a_hash(store: Store, rows: SourceRows) -> bool:
    """Tell whether the texts of two rows have one hash, as those of equal rows do."""
    texts, step = rows.text.subquery("raw"), f"look for duplicates of {rows.where}"
    size, engine = store.count(texts, f"count the rows of {rows.where}"), store.engine
    # A set of hashes takes five times the memory of an array of them. More than fit beside all else are looked at slice by slice: the source is
    # read once for each, which takes a few percent of the time in which the database would spill a set of them.
    slices = -(-8 * size // max(engine.memory.arrays // 8, 1))
    if size <= FEW or slices > MOST_SLICES:
        query = exp.select(named(_distinct_keys(texts, rows.keys, []), "keys"))
        return store.number(query, step) < size
    hashed = exp.select(named(_hash(rows.keys), "k")).from_(texts)
    with engine.beside(8 * size // slices):
        return any(_repeat(store, hashed, size, number, slices, step) for number in range(slices))


def _repeat(store: Store, hashed: exp.Select, size: int, number: int, slices: int, step: str) -> bool:
    """Tell whether a query of `size` hashes, the column k, has one twice in a slice: of `slices` the one with this number."""
    if slices > 1:
        inside = exp.Mod(this=column("k"), expression=exp.convert(slices)).eq(exp.convert(number))
        # Slices of random numbers differ by next to nothing in size.
        hashed, size = exp.select(column("k")).from_(hashed.subquery("h")).where(inside), round(1.001 * size) // slices
    hashes = store.engine.numbers(hashed, size, step=step)
    hashes.sort()
    return bool((hashes[1:] == hashes[:-1]).any())


def _faulty(rows: SourceRows, faults: Sequence[str]) -> LoadError:
    return LoadError(f"{rows.where}: " + "\n  ".join(faults))


def check_rows(store: Store, storage: str, rows: SourceRows, sizes: Sequence[int], *, unique: bool = False) -> int:
    """Check keys, repetitions, contradictions, probabilities and values of rows, and return their number; a LoadError lists all faults."""
    # Of keys that are ids `sizes` has how many there are: then a row's key packs into one integer. Those that are `unique` need no count.
    faults: list[str] = []
    table, keys = store.table(storage), rows.keys
    counts = [named(exp.Count(this=column(k)), k) for k in keys]
    checks = _value_checks(rows.extra)
    counts += [named(exp.Anonymous(this="count_if", expressions=[x.condition]), x.what) for x in checks]
    counts.append(named(star_count() if unique else _distinct_keys(table, keys, sizes), "keys"))
    query = exp.select(named(exp.Count(this=exp.Star()), "all rows"), *counts).from_(table)
    (row,) = store.rows(query, f"check {rows.where}")
    for key in keys:
        if row[key] < row["all rows"]:
            faults += _missing(store, rows, key, row["all rows"] - row[key])
    for what, condition, remedy, shown in checks:
        if row[what]:
            number = _count_rows(store, rows.text, condition) or row[what]
            such = f", such as {_least(store, table, shown, condition)}" if shown else ""
            faults.append(
                f"{counted(number, 'row')} {'has' if number == 1 else 'have'} {what}{such}{row_numbers(store, rows.text, condition)}: "
                f"{remedy.format('it' if number == 1 else 'them')}"
            )
    if not faults and row["keys"] < row["all rows"]:
        with _constants(store, rows) as every:
            faults += _repetitions(store, rows, every)
    if faults:
        raise _faulty(rows, faults)
    return int(row["all rows"])


def _missing(store: Store, rows: SourceRows, key: str, number: int) -> list[str]:
    """Describe the rows without a constant: those with NULL and, of a type of numbers or dates, those with what is none."""
    raw, kind = rows.text, rows.numeric.get(key)
    empty: exp.Condition = exp.Is(this=column(key), expression=exp.null())
    texts: list[str] = []
    nulls = _count_rows(store, raw, empty)
    if kind is not None:
        strange = no_constant(column(key), kind)
        others = _count_rows(store, raw, strange)
        if others:
            query = exp.select(column(key)).from_(raw.subquery("raw")).where(strange)
            shown = store.rows(query.limit(1), "find what is no number or date")[0][key]
            verb, what = "has" if others == 1 else "have", "date" if dated(kind.bins) else "number"
            texts.append(
                f"{counted(others, 'row')} {verb} an {_word(key)} that is no {what}, such as {_cut(shown)!r}"
                f"{row_numbers(store, raw, strange)}: correct or remove {'it' if others == 1 else 'them'}."
            )
    number = nulls or (0 if texts else number)
    if number:
        texts.insert(0, missing_text(number, key, rows.null, row_numbers(store, raw, empty)))
    return texts


def missing_text(number: int, key: str, null: str = "NULL", rows: str = "") -> str:
    """Say that so many rows have no constant for a key, or no truth; `rows` has the numbers of some."""
    has, them = ("has", "it") if number == 1 else ("have", "them")
    if key == "truth":
        return f"{counted(number, 'row')} {has} a truth that is neither true nor false{rows}: correct {them}."
    return f"{counted(number, 'row')} {has} {null} for {_word(key)}{rows}: fill or remove {them}, or pass {Parameter('nulls', DoubleQuoted('drop'))}."


def _count_rows(store: Store, raw: exp.Query, condition: exp.Condition) -> int:
    """Return for how many rows of the source a condition holds."""
    # The table has fewer such rows where duplicates were dropped.
    found = exp.select("*").from_(raw.subquery("raw")).where(condition)
    return store.count(found.subquery("found"), "count the rows at fault")


def _cut(text: str) -> str:
    """Return the start of a text."""
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."


class _Check(NamedTuple):
    """What messages call a truth, probability or value that is none, the condition under which it is, the remedy, and a column to show."""

    what: str
    condition: exp.Condition
    remedy: str
    shown: str = ""


def _least(store: Store, table: exp.Table, name: str, condition: exp.Condition) -> object:
    """Return the least entry of a column for which a condition holds."""
    query = exp.select(named(exp.Min(this=column(name)), "least")).from_(table.copy()).where(condition)
    return store.rows(query, "find a value at fault")[0]["least"]


def _value_checks(extra: Collection[str]) -> list[_Check]:
    """Return what truth, probability and value of a row may be that is none."""
    missing = {name: exp.Is(this=column(name), expression=exp.null()) for name in extra}
    if "value" in extra:
        # NaN stands for a text that is no number, and is greater than every number.
        value, none = column("value"), exp.IsNan(this=column("value"))
        outside = exp.or_(value < exp.convert(0), exp.and_(value.copy() > exp.convert(1), exp.Not(this=none)))
        remedy = "correct {}, or bring the values into that range with a query."
        return [
            _Check(
                "NULL or NaN for the value",
                missing["value"],
                f"fill or remove {{}}, or pass {Parameter('nulls', DoubleQuoted('drop'))}.",
            ),
            _Check("a value that is no number", none.copy(), "correct or remove {}."),
            _Check("a value outside [0, 1]", outside, remedy, "value"),
        ]
    if "prior" in extra:
        none_at_all = exp.and_(missing["truth"], missing["prior"])
        return [_Check("a probability outside [0, 1] or not a number", none_at_all, "correct {}.")]
    return [_Check("a truth that is neither true nor false", missing["truth"], "correct {}.")] if extra else []


def _word(key: str) -> str:
    """Return what messages call a key column."""
    return "the example" if key == "example" else f"argument {int(key[1:]) + 1}"


def _distinct_keys(table: exp.Table | exp.Subquery, keys: Sequence[str], sizes: Sequence[int]) -> exp.Expr:
    """Return how many keys the rows of a table have, of texts by their hashes, perhaps fewer; one where there are no columns of keys."""
    if not keys:
        return exp.convert(1)
    table = table.copy()
    space = 1
    for size in sizes:
        space *= max(size, 1)
    if sizes and space < 2**62:
        packed: exp.Expr = exp.cast(column(keys[0]), "bigint")
        for key, size in zip(keys[1:], sizes[1:], strict=True):
            packed = exp.Add(
                this=exp.Mul(this=exp.Paren(this=packed), expression=exp.convert(size)), expression=column(key)
            )
        distinct = exp.select(named(packed, "k")).from_(table).distinct()
    else:
        distinct = exp.select(named(_hash(keys), "k")).from_(table).distinct()
    return exp.select(star_count()).from_(distinct.subquery("keys")).subquery()


def _hash(keys: Sequence[str]) -> exp.Expr:
    """Return a number of 64 bits that rows of equal keys share, and others hardly ever."""
    return exp.Anonymous(this="hash", expressions=[column(k) for k in keys])


def number_rows(raw: exp.Query) -> exp.Select:
    """Return the query of rows with their numbers, from 1, in the column `ROW`."""
    # DuckDB hands rows to a window without an order in the order of the source, however many threads read it.
    return exp.select("*", named(exp.Window(this=exp.RowNumber()), ROW)).from_(raw.subquery("raw"))


def row_numbers(store: Store, raw: exp.Query | None, condition: exp.Condition) -> str:
    """Return the numbers (column `ROW` of `raw`) of the first rows that meet a condition, as messages have them; empty without `raw`."""
    if raw is None:
        return ""
    query = exp.select(column(ROW)).from_(raw.subquery("raw")).where(condition).order_by(column(ROW)).limit(_SHOWN + 1)
    found = [str(r[ROW]) for r in store.rows(query, "find the rows")]
    if len(found) > _SHOWN:
        found = [*found[:_SHOWN], "..."]
    return f" (row{'' if len(found) == 1 else 's'} {', '.join(found)})" if found else ""


@contextmanager
def _constants(store: Store, source: SourceRows) -> Iterator[exp.Table | exp.Subquery]:
    """Make rows with the constants that their texts name, the columns beside the keys, and their numbers."""
    # Numbers are equal by what they say, 1 and 1.0, and by the piece in which they lie.
    numeric = source.numeric
    names = [named(constant_name(column(k), numeric[k]) if k in numeric else column(k), k) for k in source.keys]
    rows = exp.select(*names, *map(column, (*source.extra, ROW))).from_(source.text.subquery("raw"))
    if not numeric:
        yield rows.subquery("every_row")
        return
    # Names of numbers are costly, and are read several times.
    table = store.free_name("constants", "rows")
    store.create(table, rows, f"read the constants of {source.where}")
    yield store.table(table)
    store.drop(table)


def _repetitions(store: Store, source: SourceRows, every: exp.Table | exp.Subquery) -> list[str]:
    """Describe the first facts that contradict each other, and the first that occur more than once, among rows with constants."""
    keys, values = source.keys, source.extra
    rows = exp.select("*").from_(every.copy())
    if keys:
        # Few rows repeat others, as a rule: only those are grouped by their texts.
        more = exp.GT(this=star_count(), expression=exp.convert(1))
        hashes = exp.select(named(_hash(keys), "k")).from_(every.copy())
        again = exp.select(column("k")).from_(hashes.subquery("hashes")).group_by(column("k")).having(more)
        rows = rows.where(exp.In(this=_hash(keys), query=again.subquery()))
    repeated = store.free_name("repeated", "rows")
    store.create(repeated, rows, f"find rows of {source.where} that repeat others")
    numbered = store.table(repeated)
    faults = _contradictions(store, numbered, keys, values) if values else []
    if not source.distinct:
        faults += _duplicates(store, numbered, keys, values)
    store.drop(repeated)
    return faults


def _duplicates(store: Store, numbered: exp.Table, keys: Sequence[str], values: Sequence[str]) -> list[str]:
    """Describe the first facts that occur more than once, and say how many rows are too many."""
    outputs = [
        *[column(k) for k in keys],
        named(star_count(), "times"),
        named(exp.Min(this=column(ROW)), "first"),
        named(exp.Max(this=column(ROW)), "last"),
    ]
    query = exp.select(*outputs).from_(numbered.copy())
    if keys or values:
        query = query.group_by(*[column(c) for c in (*keys, *values)])
    groups = query.having(exp.GT(this=star_count(), expression=exp.convert(1))).subquery("groups")
    total = exp.func("sum", exp.Sub(this=column("times"), expression=exp.convert(1)))
    (all_rows,) = store.rows(exp.select(named(total, "more")).from_(groups), "count the duplicates")
    if not all_rows["more"]:
        return []
    shown = exp.select("*").from_(groups.copy()).order_by(column("first")).limit(_SHOWN)
    texts = [
        f"({', '.join(str(row[k]) for k in keys)}) occurs {row['times']} times (rows {row['first']} and {row['last']})"
        for row in store.rows(shown, "find the duplicates")
    ]
    remedy = f"remove them or pass {Parameter('duplicates', DoubleQuoted('drop'))}, which drops {counted(int(all_rows['more']), 'row')}"
    return [f"duplicate facts: {'; '.join(texts)}: {remedy}."]


def _contradictions(store: Store, numbered: exp.Table, keys: Sequence[str], extra: Collection[str]) -> list[str]:
    """Describe facts with two truths, probabilities or values: a row of each."""
    # Of soft evidence a probability of 0 or 1 is a truth, any other one log-odds.
    odds = exp.Case().when(column("truth"), exp.cast(exp.convert("inf"), "double"))
    odds = odds.when(exp.Not(this=column("truth")), exp.cast(exp.convert("-inf"), "double"))
    soft = "prior" in extra
    value: exp.Expr = column("value") if "value" in extra else odds.else_(column("prior")) if soft else odds
    valued = exp.select(*[column(k) for k in keys], column("row"), named(value, "value")).from_(numbered)
    least, most = (
        named(exp.Anonymous(this=f"arg_{end}", expressions=[column("row"), column("value")]), end)
        for end in ("min", "max")
    )
    low, high = (
        named(exp.Anonymous(this=end, expressions=[column("value")]), f"{end} value") for end in ("min", "max")
    )
    query = exp.select(*[column(k) for k in keys], least, most, low, high).from_(valued.subquery("valued"))
    if keys:
        query = query.group_by(*[column(k) for k in keys])
    query = query.having(exp.LT(this=exp.Min(this=column("value")), expression=exp.Max(this=column("value"))))
    order = exp.Anonymous(this="least", expressions=[column("min"), column("max")])
    texts = []
    for row in store.rows(query.order_by(order).limit(_SHOWN), "find the contradictions"):
        what, rows = "is both true and false", sorted((row["min"], row["max"]))
        if soft:
            low_p, high_p = ((1 + math.tanh(row[f"{end} value"] / 2)) / 2 for end in ("min", "max"))
            what = f"has the probabilities {low_p:.6g} and {high_p:.6g}"
        elif "value" in extra:
            what = f"has the values {row['min value']} and {row['max value']}"
        texts.append(f"({', '.join(str(row[k]) for k in keys)}) {what} (rows {rows[0]} and {rows[1]})")
    return [f"contradictory facts: {'; '.join(texts)}: remove one of each."] if texts else []


def drop_duplicates(store: Store, storage: str) -> int:
    """Keep one of each set of equal rows, and return how many go; rows that contradict each other stay and are found by `check_rows`."""
    before = store.count(store.table(storage), f"count the rows of {storage}")
    store.create(storage, exp.select("*").from_(store.table(storage)).distinct(), f"drop duplicates of {storage}")
    return before - store.count(store.table(storage), f"count the rows of {storage}")


def without_nulls(raw: exp.Query, keys: Sequence[str]) -> exp.Select:
    """Return the query of the rows without NULL in a key, or in the value, with their numbers in the column `ROW`."""
    there = [exp.Not(this=exp.Is(this=column(key), expression=exp.null())) for key in keys]
    return exp.select("*").from_(number_rows(raw).subquery("every_row")).where(*there)


def first_rows(raw: exp.Query, columns: Sequence[str], *, numbered: bool = False) -> exp.Select:
    """Return the query of the first of each set of equal rows, in order, with its number in `ROW` (which `numbered` rows have already)."""
    rows = (raw if numbered else number_rows(raw)).subquery("numbered")
    least = named(exp.Min(this=column(ROW)), ROW)
    return exp.select(*map(column, columns), least).from_(rows).group_by(*map(column, columns)).order_by(column(ROW))
