"""Types of numbers or dates that are cut into pieces: edges at quantiles of rows, or as the user or a model gives them, and texts to pieces."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.dictionary import add_constants, no_number, numeric_name
from sqlrl.catalog.image import PredicateRecord, TypeRecord
from sqlrl.catalog.options import LoadOptions
from sqlrl.catalog.sources import LoadRows, LoadSource, open_source
from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column, integer, named, star_count, union_all
from sqlrl.errors import CatalogError, LoadError, LoadWarning, Parameter, Written, warn
from sqlrl.logic.bins import Edges, as_edges, dated, edges_fault, parsed_date, piece_names, piece_of, show_edges
from sqlrl.logic.model import Model
from sqlrl.wording import counted, shortened

_MOST = 1000
"""More pieces are no pieces: each is a constant that clauses are about."""


# ---- texts to constants ------------------------------------------------------------------------------


def constant_name(value: exp.Expr, record: TypeRecord) -> exp.Expr:
    """Return the name under which a text stands in the dictionary of a type; NULL if it is no constant of it."""
    if record.numeric:
        return numeric_name(value)
    return piece_name(value, record.type, record.bins) if record.edges is not None else value


def no_constant(value: exp.Expr, record: TypeRecord) -> exp.Condition:
    """Return the condition under which a text is no constant of a type of numbers; NULL is none of those texts."""
    if record.edges is None:
        return no_number(value)
    missing = exp.Is(this=value.copy(), expression=exp.null())
    return exp.and_(exp.Not(this=missing), exp.Is(this=constant_name(value, record), expression=exp.null()))


def is_number(record: TypeRecord) -> bool:
    """Return True if the constants of a type are numbers, or pieces of numbers or dates."""
    return record.numeric or record.edges is not None


def piece_name(value: exp.Expr, kind: str, edges: Edges) -> exp.Expr:
    """Return the piece in which a number or date lies that a text says; the name of a piece stays, and what is neither becomes NULL."""
    names = exp.Array(expressions=[exp.convert(name) for name in piece_names(kind, edges)])
    # As texts they are the floats that they were: decimals would be rounded twice.
    texts = exp.Array(expressions=[exp.convert(str(edge)) for edge in edges])
    listed = exp.cast(texts, "timestamp[]" if dated(edges) else "double[]")
    number = _moment(value) if dated(edges) else _number(value)
    edge = exp.to_identifier("edge", quoted=True)
    below = exp.Lambda(this=exp.LTE(this=exp.Column(this=edge), expression=number.copy()), expressions=[edge.copy()])
    place = exp.Anonymous(this="len", expressions=[exp.Anonymous(this="list_filter", expressions=[listed, below])])
    piece = exp.Anonymous(this="list_extract", expressions=[names, exp.Add(this=place, expression=integer(1))])
    known = exp.Anonymous(this="list_contains", expressions=[names.copy(), value.copy()])
    case = exp.Case().when(
        exp.Is(this=number.copy(), expression=exp.null()), exp.Case().when(known, value.copy()).else_(exp.null())
    )
    return case.else_(piece) if dated(edges) else case.when(exp.IsNan(this=number.copy()), exp.null()).else_(piece)


def _number(value: exp.Expr) -> exp.Expr:
    return exp.TryCast(this=value.copy(), to=exp.DataType.build("double"))


_DATE = r"-?infinity|[0-9]{1,6}-[0-9]{1,2}-[0-9]{1,2}( \(BC\))?([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?)?"
"""Texts of dates and times: a cast of DuckDB's reads more, and passes over zones without a word."""


def _moment(value: exp.Expr) -> exp.Expr:
    """Return the time that a text says, the midnight of a date; NULL if it says none, or one with a zone."""
    known = exp.Anonymous(this="regexp_full_match", expressions=[value.copy(), exp.convert(_DATE)])
    return exp.Case().when(known, exp.TryCast(this=value.copy(), to=exp.DataType.build("timestamp")))


# ---- what a load asks for ----------------------------------------------------------------------------


def cut_types(store: Store, loaded: LoadRows, raw: exp.Query) -> LoadOptions:
    """Choose the edges of the types that a load cuts, and return its options with edges in place of numbers of pieces."""
    record, options, where = loaded.record, loaded.options, loaded.where
    if not options.bins:
        if options.bins_from is not None:
            raise LoadError(
                f"{where}: {Parameter('bins_from')} says which rows choose the edges of {Parameter('bins')}, which is not given: leave it out."
            )
        return options
    # `raw` has the rows of the source as text: a0, a1, ..., and `example`.
    bins, rows, examples = _by_type(record, options.bins, where), raw, None
    if options.bins_from is not None:
        if not any(isinstance(wanted, int) for wanted in bins.values()):
            raise LoadError(
                f"{where}: {Parameter('bins_from')} says which rows choose edges, and {Parameter('bins')} gives them all: leave it out."
            )
        examples = _listed_examples(store, record.predicate, options.bins_from, where)
        rows = _of_examples(store, record, raw, examples, where)
    types = store.types()
    chosen: dict[str, Edges] = {}
    changed: list[TypeRecord] = []
    for name, wanted in bins.items():
        kind = store.type_record(name, types)
        if kind.numeric:
            raise LoadError(
                f"{where}: {name} is a type of numbers (set_numeric), of which pieces are none: name another type for the pieces."
            )
        if name == store.state("example_type") or any(a.example and a.type == name for a in record.arguments):
            raise LoadError(f"{where}: the constants of {name} are the examples, which cannot be cut into pieces.")
        places = [i for i, t in enumerate(record.types) if t == name]
        dates = _are_dates({record.arguments[i].name for i in places}, loaded.source, wanted, where)
        if isinstance(wanted, int):
            chosen[name] = _quantiles(store, rows, places, name, wanted, where, dates=dates)
        else:
            chosen[name] = wanted
        if kind.bins != chosen[name]:
            _set_edges(store, kind, chosen[name])
            changed.append(kind)
    store.drop(examples)
    # The load replaces what its predicate has in its role; other facts of the types stay, so that they must be cut alike.
    _check_others(store, changed, record.predicate, loaded.role, where)
    return replace(options, bins={name: list(edges) for name, edges in chosen.items()}, bins_from=None)


def check_same_edges(store: Store, record: PredicateRecord, options: LoadOptions, where: str) -> None:
    """Refuse `bins=` of rows that are appended, unless it names the edges that there are."""
    types = store.types()
    for name, wanted in (_by_type(record, options.bins, where) if options.bins else {}).items():
        now = types[name].bins
        if wanted != now:
            cut = f"is cut at {show_edges(now)}" if now else "is not cut"
            raise LoadError(
                f"{where}: {name} {cut}, and rows that are appended are cut as the others: leave {Parameter('bins')} out."
            )
    if options.bins_from is not None:
        raise LoadError(
            f"{where}: {Parameter('bins_from')} chooses edges, and appended rows are cut at those that there are: leave it out."
        )


def _set_edges(store: Store, record: TypeRecord, edges: Edges) -> None:
    """Cut a type; all its pieces are constants of it, whether data lie in them or not."""
    if record.size:
        store.set_state("stale", "1")
    record = replace(record, edges=json.dumps(edges))
    store.save_type(record)
    add_constants(store, record, piece_names(record.type, edges))
    store.touch()


def _are_dates(names: Collection[str], source: LoadSource, wanted: int | Edges, where: str) -> bool | None:
    """Return whether columns have dates, and not numbers; None if they have texts, which may be either. What is neither, or both, is refused."""
    found: dict[bool, str] = {}
    for name in sorted(names & source.columns.keys()):
        # Objects of Python are texts in their column, and have kinds.
        kinds = set(source.kind_of(name).split())
        column_type = source.columns[name]
        kind = column_type if column_type != "VARCHAR" else " and ".join(sorted(kinds)).upper()
        if kinds & _UNCUT or column_type.startswith(("TIME WITH", "ENUM")) or column_type in ("TIME", "TIME_NS"):
            raise LoadError(
                f"{where}: the column {name!r} has type {kind}, which {Parameter('bins')} does not cut: load a query that makes {_remedy(kind, name)}."
            )
        for dates in {each == "time" for each in kinds if each == "time" or each in _NUMBERS}:
            found[dates] = name
            if not isinstance(wanted, int) and dates != dated(wanted):
                remedy = f", or load a query that makes numbers of it, such as year({name})" if dates else ""
                raise LoadError(
                    f"{where}: the column {name!r} has {'dates' if dates else 'numbers'}, and {Parameter('bins')} cuts it at "
                    f"{show_edges(wanted)}: give edges that are {'dates' if dates else 'numbers'}{remedy}."
                )
    if len(found) > 1:
        raise LoadError(
            f"{where}: {found[False]!r} has numbers and {found[True]!r} has dates, which have no edges in common: give them two types with "
            f"{Parameter('types')}."
        )
    return next(iter(found), None)


_UNCUT = frozenset(("boolean", "duration", "instant", "uuid"))
"""Kinds of values (`catalog.values.column_kind`) that have no pieces."""

_NUMBERS = frozenset(("integer", "float", "decimal"))


def _remedy(kind: str, name: str) -> str:
    """Return what a query has to make of a column that is not cut, and how."""
    if kind.startswith(("TIMESTAMP", "INSTANT")):
        # Its dates depend on the place.
        return f"dates of it in one zone, such as {name} AT TIME ZONE 'UTC'"
    number = f"{name}::INTEGER" if kind.startswith(("BOOLEAN", "UUID", "ENUM")) else f"epoch({name})"
    return f"numbers of it, such as {number}"


def _check_others(store: Store, changed: Sequence[TypeRecord], predicate: str, role: str, where: str) -> None:
    """Refuse to cut a type in another way than facts that stay as they are; `changed` are the types as they were."""
    for old in changed:
        now = store.types()[old.type].bins
        others = _holders(store, old.type, predicate, role)
        if others and not (old.edges is None and _all_pieces(store, old, now)):
            cut = f"are cut at {show_edges(old.bins)}" if old.edges is not None else "were loaded uncut"
            raise LoadError(
                f"{where}: {old.type} would be cut at {show_edges(now)}, but facts of {' and '.join(others)} {cut}: "
                + (
                    f"leave {Parameter('bins')} out, which cuts at the edges that there are, or load into another database."
                    if old.edges is not None
                    else f"load those into another database after these, or name another type in {Parameter('types')}."
                )
            )


def _holders(store: Store, kind: str, predicate: str = "", role: str = "") -> list[str]:
    """Return the predicates with facts of a type that a load of a predicate and role leaves as they are."""
    records = store.predicates()
    others = [key[0] for key, source in store.sources().items() if key != (predicate, role) and not source.staged]
    return sorted({name for name in others if kind in records[name].types})


def _all_pieces(store: Store, record: TypeRecord, edges: Edges) -> bool:
    """Return whether all constants of a type are names of pieces."""
    pieces = [exp.convert(name) for name in piece_names(record.type, edges)]
    query = exp.select(column("name")).from_(store.table(record.dictionary))
    query = query.where(exp.Not(this=exp.In(this=column("name"), expressions=pieces)))
    return not store.count(query.subquery("others"), f"look for constants of {record.type} that are no pieces")


def _by_type(record: PredicateRecord, bins: Any, where: str) -> dict[str, int | Edges]:
    """Return numbers of pieces or edges by type."""
    if None in record.types:
        raise LoadError(
            f"{where}: {Parameter('bins')} cuts types, and those of the arguments are not known: pass {Parameter('types')} as well."
        )
    if isinstance(bins, Model):
        found: dict[str, int | Edges] = {t: bins.bins[t] for t in record.known_types() if t in bins.bins}
        if not found:
            cut = f"cuts {', '.join(sorted(bins.bins))}" if bins.bins else "cuts no type into pieces"
            raise LoadError(
                f"{where}: the model of {Parameter('bins')} {cut}, and the types here are {_types(record)}."
            )
        return found
    found = {}
    for key, wanted in bins.items():
        name = _type_of(record, key, where)
        value = _wanted(name, wanted, where)
        if found.setdefault(name, value) != value:
            raise LoadError(
                f"{where}: {Parameter('bins')} names the type {name} twice: once is enough, its arguments share the edges."
            )
    return found


def _types(record: PredicateRecord) -> str:
    return ", ".join(record.known_types())


def _type_of(record: PredicateRecord, key: str | int, where: str) -> str:
    """Return the type that a key of `bins=` names: itself, or by the position or the column of an argument."""
    types = record.known_types()
    if isinstance(key, int):
        if 0 <= key < len(types):
            return types[key]
        raise LoadError(f"{where}: {Parameter('bins')} names argument {key}, positions run from 0 to {len(types) - 1}.")
    if key in types:
        return key
    found = [t for t, a in zip(types, record.arguments, strict=True) if a.name.casefold() == key.casefold()]
    if len(found) != 1:
        columns = ", ".join(a.name for a in record.arguments)
        raise LoadError(
            f"{where}: {Parameter('bins')} names {key!r}, which is neither a type ({_types(record)}) nor the column of an argument ({columns})."
        )
    return found[0]


def _wanted(name: str, wanted: Any, where: str) -> int | Edges:
    """Return a number of pieces or edges, checked."""
    if isinstance(wanted, Model):
        if name not in wanted.bins:
            raise LoadError(f"{where}: the model of {Parameter('bins')} cuts no type {name} into pieces.")
        return wanted.bins[name]
    if isinstance(wanted, int):
        if 2 <= wanted <= _MOST:
            return wanted
        raise LoadError(
            f"{where}: {Parameter('bins', {name: wanted})} must be a number of pieces from 2 to {_MOST:,}, or edges."
        )
    fault = edges_fault(wanted)
    if fault is not None:
        raise LoadError(
            f"{where}: {Parameter('bins', {name: Written(shortened(repr(wanted), 80))})} must be a number of pieces, ascending edges or a model: {fault}."
        )
    return as_edges(wanted)


# ---- quantiles ---------------------------------------------------------------------------------------


def _of_examples(store: Store, record: PredicateRecord, raw: exp.Query, examples: str, where: str) -> exp.Select:
    """Return the query of the rows that belong to the examples that a table names."""
    places = [i for i, a in enumerate(record.arguments) if a.example]
    kind = store.state("example_type")
    if not places and kind in record.types:
        places = [record.types.index(kind)]
    if "example" in raw.named_selects or _has_column(store, raw, "example"):
        key = column("example")
    elif places:
        key = column(f"a{places[0]}")
    else:
        raise LoadError(
            f"{where}: {Parameter('bins_from')} names examples, and these rows have none: give the edges, {Parameter('bins', Written('{type: [10, 25]}'))}."
        )
    chosen = exp.select(column("name")).from_(store.table(examples))
    return exp.select("*").from_(raw.subquery("every_row")).where(exp.In(this=key, query=chosen.subquery()))


def _listed_examples(store: Store, predicate: str, examples: Any, where: str) -> str:
    """Write the examples of `bins_from=` into a table, and return its name."""
    with open_source(store.engine, _as_table(examples)) as opened:
        if len(opened.columns) != 1:
            raise LoadError(
                f"{where}: {Parameter('bins_from')} takes one column, the names of examples, and {opened.label} has {len(opened.columns)}."
            )
        names = exp.select(named(opened.text(next(iter(opened.columns))), "name")).from_(opened.table)
        table = store.free_name("bins", predicate)
        store.create(table, names, f"read the examples that choose edges of {where}")
    return table


def _has_column(store: Store, raw: exp.Query, name: str) -> bool:
    return name in store.columns(raw, "describe the rows")


def _as_table(names: Any) -> Any:
    """Return a list of names as a table, so that one without names is one, too."""
    if isinstance(names, Sequence) and not isinstance(names, str) and all(isinstance(name, str) for name in names):
        return pa.table({"name": pa.array(list(names), pa.string())})
    return names


def _quantiles(
    store: Store, rows: exp.Query, places: Sequence[int], kind: str, pieces: int, where: str, *, dates: bool | None
) -> Edges:
    """Return edges, each a number or date of the data, between which lie equally many rows of some columns, as far as ties allow."""

    def values(moments: bool) -> tuple[exp.Select, int]:
        value = _moment if moments else _number
        parts: list[exp.Query] = [
            exp.select(named(value(column(f"a{i}")), "number")).from_(rows.subquery("rows")) for i in places
        ]
        finite: exp.Condition = exp.Anonymous(this="isfinite", expressions=[column("number")])
        if moments:
            # Edges have years of four digits.
            low, high = (
                exp.cast(exp.convert(end), "timestamp") for end in ("0001-01-01", "9999-12-31 23:59:59.999999")
            )
            finite = exp.Between(this=column("number"), low=low, high=high)
        found = exp.select(column("number")).from_(union_all(parts).subquery("cells")).where(finite)
        return found, store.count(found.subquery("numbers"), f"count the numbers of {where}")

    numbers, total = values(bool(dates))
    if not total and dates is None:
        numbers, total = values(True)
    if not total:
        what = "dates" if dates else "numbers" if dates is False else "numbers or dates"
        raise LoadError(f"{where}: {kind} has no {what} that could be cut into pieces: give the edges.")
    # The k-th edge is the number before which the k-th part of the rows lies.
    wanted = sorted({0, *(k * total // pieces for k in range(1, pieces))})
    order = exp.Order(expressions=[exp.Ordered(this=column("number"))])
    place = exp.Sub(this=exp.Window(this=exp.RowNumber(), order=order), expression=integer(1))
    ranked = exp.select(column("number"), named(place, "place")).from_(numbers.subquery("numbers"))
    at = exp.In(this=column("place"), expressions=[integer(k) for k in wanted])
    query = exp.select(column("number"), named(star_count(), "times")).from_(ranked.subquery("ranked")).where(at)
    found = as_edges(
        sorted(row["number"] for row in store.rows(query.group_by(column("number")), f"find quantiles of {where}"))
    )
    # Nothing lies below the least number.
    edges = found[1:]
    if not edges:
        raise LoadError(
            f"{where}: {kind} would have one piece, as the rows that choose its edges have {show_edges(found[:1])} alone, or nearly so: give "
            f"the edges, or leave {Parameter('bins')} out."
        )
    if len(edges) + 1 < pieces:
        warn(
            f"{where}: {kind} has {counted(len(edges) + 1, 'piece')}, not {pieces}: equal {(what := 'dates' if dated(edges) else 'numbers')} are not parted, and several quantiles "
            f"are the same {what[:-1]}.",
            LoadWarning,
        )
    return edges


# ---- what models declare -----------------------------------------------------------------------------


def declare_bins(store: Store, model: Model) -> list[str]:
    """Adopt a model's edges for types whose facts wait for their types, and return how other data disagree with the model."""
    faults = []
    waiting = {name for (name, _), source in store.sources().items() if source.staged}
    kinds = {t for p in model.predicates.values() if p.name in waiting for t in p.types}
    types = store.types()
    for name, edges in sorted(model.bins.items()):
        record, holders = types.get(name), _holders(store, name)
        # Types without data stay as they are: a later load cuts them if `bins=` says so, and disagrees if not.
        if record is None and name not in kinds:
            continue
        record = store.type_record(name, types)
        if record.bins == edges or not (holders or name in kinds or record.edges is not None):
            continue
        if holders and record.edges is not None:
            faults.append(
                f"the model cuts {name} at {show_edges(edges)}, and the data of {' and '.join(holders)} are cut at {show_edges(record.bins)}: "
                "load them again with bins=model"
            )
        elif record.numeric or (holders and not _all_pieces(store, record, edges)):
            faults.append(
                f"the model cuts {name} into pieces at {show_edges(edges)}, and the data of {' and '.join(holders) or name} are not cut: load "
                "them again with bins=model"
            )
        else:
            _set_edges(store, record, edges)
    return faults


def check_pieces(record: TypeRecord, constants: Iterable[str], who: str) -> None:
    """Refuse constants of a type that is cut which are no names of pieces; `who` begins the error."""
    names = set(piece_names(record.type, record.bins))
    for constant in sorted(constants):
        if constant in names:
            continue
        edges, kind = record.bins, record.type
        value = parsed_date(constant) if dated(edges) else _parsed_number(constant)
        if value is None:
            remedy = f"its pieces are {shortened(', '.join(piece_names(kind, edges)), 120)}"
        elif isinstance(value, float) and math.isnan(value):
            remedy = "correct it"
        else:
            remedy = f'write "{piece_of(kind, edges, value)}"'
        raise CatalogError(
            f"{who} {constant!r} of {record.type}, whose {'dates' if dated(edges) else 'numbers'} are cut into pieces: {remedy}."
        )


def _parsed_number(text: str) -> float | None:
    """Return the number that a text says, None if it says none."""
    try:
        return float(text)
    except ValueError:
        return None
