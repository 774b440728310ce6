"""Types and their dictionaries: names of constants to dense integer ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.image import TypeRecord
from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column, named, subquery, union_all
from sqlrl.engine.stored import is_stored
from sqlrl.errors import CatalogError, LoadError, Parameter, Phrase, Written
from sqlrl.logic.model import Model
from sqlrl.logic.subformulas import atoms_of
from sqlrl.wording import NEAREST

_LEAST_PLACE, _MOST_PLACES = -3, 39
"""Numbers are written without an exponent from 0.0001 to the 39 digits that a HUGEINT can have."""


# ---- predicates of a model's rules -------------------------------------------------------------------


def used_predicates(model: Model) -> frozenset[str]:
    """Return the predicates that occur in the rules of a model."""
    return frozenset(atom.predicate for rule in model.rules for atom in atoms_of(rule.formula))


# ---- dictionaries ------------------------------------------------------------------------------------


def numeric_name(value: exp.Expr) -> exp.Expr:
    """Return the canonical name of a number (`1`, `01` and `1.0` become `1`); other texts, such as `nan`, become NULL."""
    # No digit is rounded away, however many there are. Whole numbers have names without an exponent up to 39 digits, as many as a
    # HUGEINT has; others have one as floats do: `0.00001` becomes `1e-05`.
    number = exp.TryCast(this=value, to=exp.DataType.build("double"))
    whole = exp.TryCast(this=value.copy(), to=exp.DataType.build("hugeint"))
    digits = exp.Anonymous(this="regexp_full_match", expressions=[value.copy(), exp.convert(r"[-+]?[0-9]+")])
    short = exp.and_(digits, exp.Not(this=exp.Is(this=whole.copy(), expression=exp.null())))
    none = exp.or_(exp.Is(this=number, expression=exp.null()), exp.IsNan(this=number.copy()))
    infinite = exp.Not(this=exp.RegexpLike(this=value.copy(), expression=exp.convert("[0-9]")))
    return (
        exp.Case()
        .when(short, exp.cast(whole, "varchar"))
        .when(none, exp.null())
        .when(infinite, exp.cast(number.copy(), "varchar"))
        .when(_is_name(value, number), value.copy())
        .else_(_decimal_name(value))
    )


def _is_name(value: exp.Expr, number: exp.Expr) -> exp.Condition:
    """Return the condition that a text is a canonical name already: a float as DuckDB writes it, neither whole nor with an exponent."""
    # Most floats are, and this takes a third of the time of `_decimal_name`.
    written = exp.cast(number.copy(), "varchar").eq(value.copy())
    return exp.and_(written, exp.Not(this=exp.RegexpLike(this=value.copy(), expression=exp.convert("e|[.]0$"))))


def _decimal_name(value: exp.Expr) -> exp.Expr:
    """Return the canonical name of a number by its digits, from a text that a cast to DOUBLE accepts."""
    # The cast also accepts blanks around a number and underscores in it.
    text = _call("regexp_replace", value.copy(), "[^-+.eE0-9]", "", "g")
    pattern = "^([-+]?)0*([0-9]*)[.]?([0-9]*)[eE]([-+]?[0-9]+)"
    fields = exp.convert(["sign", "whole", "fraction", "exponent"])
    parts = _call("regexp_extract", _call("concat", text, "e0"), pattern, fields)
    sign, whole, fraction, exponent = (column(field, "parts") for field in ("sign", "whole", "fraction", "exponent"))
    both = _call("concat", whole, fraction)
    power = exp.TryCast(this=exponent, to=exp.DataType.build("int"))
    # The number is 0.d1d2d3... times ten to the power of `place`, with neither d1 nor the last digit zero.
    decimal = _struct(
        sign=_call("replace", sign, "+", ""),
        digits=_call("trim", both, "0"),
        place=_call("length", _call("ltrim", both, "0")) - _call("length", fraction) + power,
    )
    return _let("parts", parts, _let("decimal", decimal, _written()))


def _written() -> exp.Expr:
    """Return the text of a struct `decimal`, written as Python and DuckDB write floats."""
    sign, digits, place = (column(field, "decimal") for field in ("sign", "digits", "place"))
    padded = _call(
        "concat",
        _call("repeat", "0", _call("greatest", exp.convert(1) - place, 0)),
        digits,
        _call("repeat", "0", _call("greatest", place - _call("length", digits), 0)),
    )
    scientific = _call("concat", sign, _pointed(digits, 1), _call("format", "e{:+03d}", place - 1))
    plain = exp.Between(this=place, low=exp.convert(_LEAST_PLACE), high=exp.convert(_MOST_PLACES))
    return (
        exp.Case()
        .when(digits.eq(""), exp.convert("0"))
        .when(plain, _call("concat", sign, _pointed(padded, _call("greatest", place, 1))))
        # The exponent is no INTEGER: such a number has no name.
        .when(exp.Is(this=place, expression=exp.null()), exp.null())
        .else_(scientific)
    )


def _pointed(digits: exp.Expr, place: exp.Expr | int) -> exp.Expr:
    """Return digits with a point behind some of them, without one if none are left."""
    start = exp.convert(place)
    return _call(
        "rtrim", _call("concat", _call("left", digits, start), ".", _call("substring", digits, start + 1)), "."
    )


def _call(name: str, *arguments: exp.Expr | str | int) -> exp.Expr:
    """Return a call of a function of DuckDB."""
    return exp.Anonymous(this=name, expressions=[exp.convert(argument, copy=True) for argument in arguments])


def _struct(**fields: exp.Expr) -> exp.Struct:
    """Return a struct."""
    pairs = [exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=e) for name, e in fields.items()]
    return exp.Struct(expressions=pairs)


def _let(name: str, value: exp.Expr, body: exp.Expr) -> exp.Expr:
    """Return an expression in which a name stands for a value, so that the value is written, and computed, once."""
    function = exp.Lambda(this=body, expressions=[exp.to_identifier(name, quoted=True)])
    return _call("list_extract", _call("list_transform", exp.Array(expressions=[value]), function), 1)


def no_number(value: exp.Expr) -> exp.Condition:
    """Return the condition under which a text is no number; NULL is none of those texts."""
    missing = exp.Is(this=value.copy(), expression=exp.null())
    return exp.and_(exp.Not(this=missing), exp.Is(this=numeric_name(value), expression=exp.null()))


def extend(
    store: Store, record: TypeRecord, names: Sequence[exp.Query], *, first_seen: exp.Query | None = None
) -> TypeRecord:
    """Add the names (column `name`, NULLs left out) that a dictionary lacks, and return the type's new record."""
    new = _missing(store, record, names, first_seen)
    if is_stored(record.dictionary):
        for row in store.rows(new.copy().limit(1), f"look for new constants of {record.type}"):
            raise _closed(record, str(row["name"]))
        return record
    # With `first_seen`, a query of (name, place), new ids follow the least place of each name.
    order = [column("name")] if first_seen is None else [column("place"), column("name")]
    # A window without an order numbers rows as they come: one with an order would sort them once more, and hold all of them.
    number = exp.Window(this=exp.RowNumber()) + exp.convert(record.size - 1)
    ids = exp.select(named(exp.cast(number, "int"), "id"), column("name"))
    ids = ids.from_(subquery(new.order_by(*order, copy=False), "new"), copy=False)
    added = store.insert(record.dictionary, ids, ["id", "name"], f"extend the dictionary of {record.type}")
    if not added:
        return record
    result = replace(record, size=record.size + added)
    store.save_type(result)
    return result


def _closed(record: TypeRecord, name: str) -> LoadError:
    """Return the error for a constant that cannot join a dictionary which is in the storage of a server alone."""
    return LoadError(
        f"{name!r} is a new constant of {record.type}, whose {record.size:,} constants are in the storage of Spark, too many for the database: "
        f"load what has new ones with {Phrase('sqlrl.ServerFiles')}, or have all of {record.type} in the database, by a greater {Parameter('dictionary', Written('...'), 'Spark({})')} when it is loaded."
    )


def _missing(store: Store, record: TypeRecord, names: Sequence[exp.Query], first_seen: exp.Query | None) -> exp.Select:
    """Return the query of the names that are not in the dictionary, with their first place if asked for."""
    known = exp.select(column("name")).from_(store.table(record.dictionary))
    present = exp.Not(this=exp.Is(this=column("name"), expression=exp.null()))
    unseen = exp.Not(this=exp.In(this=column("name"), query=known.subquery(copy=False)))
    condition = exp.and_(present, unseen, copy=False) if record.size else present
    if first_seen is not None:
        places = exp.select(column("name"), named(exp.Min(this=column("place")), "place"))
        places = places.from_(subquery(first_seen, "seen"), copy=False).where(condition, copy=False)
        return places.group_by(column("name"), copy=False)
    distinct = exp.select(column("name")).from_(subquery(union_all(names), "all_names"), copy=False)
    distinct = distinct.distinct(copy=False)
    return exp.select(column("name")).from_(subquery(distinct, "distinct_names")).where(condition, copy=False)


def add_constants(store: Store, record: TypeRecord, constants: Iterable[str]) -> None:
    """Add constants that data list, in their order, to a dictionary."""
    wanted = list(dict.fromkeys(constants))
    unknown = set(missing_constants(store, record, wanted))
    new = [name for name in wanted if name in unknown]
    if new and is_stored(record.dictionary):
        raise _closed(record, new[0])
    if new:
        ids = pa.array(range(record.size, record.size + len(new)), pa.int32())
        data = pa.table({"id": ids, "name": pa.array(new, pa.string())})
        store.insert(record.dictionary, data, ["id", "name"], f"extend the dictionary of {record.type}")
        store.save_type(replace(record, size=record.size + len(new)))


def check_numbers(store: Store, record: TypeRecord, constants: Iterable[str], who: str) -> None:
    """Refuse constants of a numeric type that are not written as its numbers are; `who` begins the error."""
    with store.engine.attached(pa.table({"name": pa.array(sorted(constants), pa.string())})) as table:
        written = numeric_name(column("name"))
        other = exp.Or(this=exp.Is(this=written, expression=exp.null()), expression=written.copy().neq(column("name")))
        query = exp.select(column("name"), named(written.copy(), "written")).from_(table).where(other)
        rows = store.rows(query.order_by(column("name")).limit(1), f"look for what is no number in {record.type}")
    for row in rows:
        remedy = "correct it" if row["written"] is None else f"write {row['written']}"
        raise CatalogError(
            f"{who} {row['name']!r} of {record.type}, a type of numbers, which are not written so: {remedy}."
        )


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
