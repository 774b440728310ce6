"""Scopes that the user gives: the tuples of an open predicate that have atoms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from sqlrl.catalog.bins import is_number, no_constant
from sqlrl.catalog.encoding import number_rows, row_numbers
from sqlrl.catalog.image import ArgumentRecord, PredicateRecord, argument_columns
from sqlrl.catalog.options import check_name
from sqlrl.catalog.similar_names import close_names
from sqlrl.catalog.sizes import check_scope
from sqlrl.catalog.sources import open_source
from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column, named
from sqlrl.errors import LoadError, ScopeWarning, warn
from sqlrl.wording import counted, did_you_mean, shortened


def set_scope(store: Store, predicate: str, source: Any, limit: int) -> None:
    """Keep the tuples of a scope as text until the predicate is bound; NULL or no number for a numeric type is a LoadError."""
    check_name(predicate)
    with store.writing():
        record = store.predicates().get(predicate)
        if source is None:
            if record is not None and record.scope is not None:
                _replace(store, record, None)
            return
        with open_source(store.engine, source) as opened:
            names = list(opened.columns)
            if not names and not opened.bare_rows:
                _replace(store, *_nothing(store, predicate, record, opened.label))
                return
            outside = [n for n in names if n.casefold() == "example"] if store.state("examples") == "column" else []
            arguments = [n for n in names if n not in outside]
            pairs = [*((n, "example") for n in outside), *zip(arguments, argument_columns(len(arguments)), strict=True)]
            _check_arity(store, predicate, record, arguments, opened.label)
            outputs = [named(opened.text(name), output) for name, output in pairs]
            if not outputs:
                raise LoadError(f"the scope of {predicate} from {opened.label} has no columns.")
            table = store.free_name("scope", predicate)
            raw = exp.select(*outputs).from_(opened.table)
            # Rows are counted before any is kept.
            check_scope(predicate, store.count(opened.table, f"count the scope of {predicate}"), limit)
            store.create(table, raw.distinct(), f"read the scope of {predicate}")
            # A query may yield other rows, or the same in another order, when it runs again.
            again = None if opened.kind in ("query", "relation", "view") else number_rows(raw)
            null = exp.or_(*(exp.Is(this=column(output), expression=exp.null()) for _, output in pairs))
            empty = exp.select(exp.convert(1).as_("one")).from_(store.table(table)).where(null)
            if store.count(empty.subquery("empty"), "look for NULL"):
                raise LoadError(
                    f"the scope of {predicate} from {opened.label} has NULL constants{row_numbers(store, again, null)}: leave those "
                    "rows out."
                )
            # Without data the types are those of the model before, and the next one may declare others.
            loaded = any(name == predicate for name, _ in store.sources())
            if record is not None and loaded and len(record.types) == len(arguments):
                fault = no_numbers(store, record, table, again)
                if fault is not None:
                    raise LoadError(fault)
        if record is None:
            record = PredicateRecord(predicate, arguments=tuple(ArgumentRecord(n, None) for n in arguments))
        _replace(store, record, table)


def _nothing(store: Store, predicate: str, record: PredicateRecord | None, label: str) -> tuple[PredicateRecord, str]:
    """Return the record of a predicate and a table for a scope without rows and columns: it has those of the arguments that are known."""
    if record is None or not record.arguments:
        raise LoadError(
            f"the scope of {predicate} from {label} is empty, and how many arguments {predicate} has is unknown: bind a model that declares it "
            "first, or give an empty table with a column for each argument."
        )
    outside = ["example"] if store.state("examples") == "column" else []
    columns = (*outside, *argument_columns(len(record.arguments)))
    table = store.free_name("scope", predicate)
    store.create_empty(table, dict.fromkeys(columns, "VARCHAR"), f"read the scope of {predicate}")
    return record, table


def _check_arity(
    store: Store, predicate: str, record: PredicateRecord | None, columns: Sequence[str], label: str
) -> None:
    """Refuse a scope that has not a column for each argument of loaded facts, and warn of a predicate whose name is like a loaded one."""
    loaded = {name for name, _ in store.sources()}
    if record is None or predicate not in loaded:
        near = close_names(predicate, loaded)
        if near and record is None:
            warn(
                f"the scope is that of {predicate}, of which nothing was loaded{did_you_mean(near)}",
                ScopeWarning,
            )
        return
    if not columns or len(columns) == len(record.types):
        return
    types = ", ".join(kind or "?" for kind in record.types)
    raise LoadError(
        f"the scope of {predicate}({types}) needs {counted(len(record.types), 'column')}, one for each argument in order, and {label} has "
        f"{len(columns)}: {', '.join(columns)}. Select those that are the arguments."
    )


def no_numbers(store: Store, record: PredicateRecord, table: str, source: exp.Query | None = None) -> str | None:
    """Return what is wrong with a scope whose arguments of numeric types are no numbers, else None; `source` has rows with numbers."""
    types = store.types()
    for output, name in zip(argument_columns(len(record.types)), record.types, strict=True):
        if name is None or name not in types or not is_number(types[name]):
            continue
        strange = no_constant(column(output), types[name])
        query = exp.select(column(output)).from_(store.table(table)).where(strange).order_by(column(output)).limit(1)
        found = store.rows(query, "look for what is no number")
        if found:
            return (
                f"the scope of {record.predicate} has constants of {name}, a type of numbers, that are no numbers, such as "
                f"{shortened(found[0][output])!r}{row_numbers(store, source, strange)}: correct those rows or leave them out."
            )
    return None


def _replace(store: Store, record: PredicateRecord, table: str | None) -> None:
    """Put a scope in place of the one before, whose constants may have been part of domains."""
    if record.scope is not None:
        store.drop(record.scope)
        store.set_state("stale", "1")
    store.save_predicate(replace(record, scope=table))
    store.touch()
