"""Scopes that the user gives: the tuples of an open predicate that have atoms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from sqlrl.catalog.columns import check_name
from sqlrl.catalog.encoding import number_rows, row_numbers
from sqlrl.catalog.sources import open_source
from sqlrl.catalog.store import ArgumentRecord, PredicateRecord, Store, argument_columns
from sqlrl.engine.nodes import column, named
from sqlrl.errors import LoadError


def set_scope(store: Store, predicate: str, source: Any) -> None:
    """Keep the tuples of a scope as text until the predicate is bound; `Catalog.scope` explains it.

    Raises
    ------
    LoadError
        If a constant is NULL.
    """
    check_name(predicate)
    with store.writing():
        record = store.predicates().get(predicate)
        if source is None:
            if record is not None and record.scope is not None:
                _replace(store, record, None)
            return
        with open_source(store.engine, source) as opened:
            names = list(opened.columns)
            outside = [n for n in names if n.casefold() == "example"] if store.state("examples") == "column" else []
            arguments = [n for n in names if n not in outside]
            pairs = [*((n, "example") for n in outside), *zip(arguments, argument_columns(len(arguments)), strict=True)]
            outputs = [named(exp.cast(column(name), "varchar"), output) for name, output in pairs]
            if not outputs:
                raise LoadError(f"the scope of {predicate} from {opened.label} has no columns.")
            table = store.free_name("scope", predicate)
            raw = exp.select(*outputs).from_(opened.table)
            store.create(table, raw.distinct(), f"read the scope of {predicate}")
            null = exp.or_(*(exp.Is(this=column(output), expression=exp.null()) for _, output in pairs))
            empty = exp.select(exp.convert(1).as_("one")).from_(store.table(table)).where(null)
            if store.count(empty.subquery("empty"), "look for NULL"):
                # A query may yield other rows, or the same in another order, when it runs again.
                again = None if opened.kind in ("query", "relation", "view") else number_rows(raw)
                raise LoadError(
                    f"the scope of {predicate} from {opened.label} has NULL constants{row_numbers(store, again, null)}: leave those "
                    "rows out."
                )
        if record is None:
            record = PredicateRecord(predicate, arguments=tuple(ArgumentRecord(n, None) for n in arguments))
        _replace(store, record, table)


def _replace(store: Store, record: PredicateRecord, table: str | None) -> None:
    """Put a scope in place of the one before, whose constants may have been part of domains."""
    if record.scope is not None:
        store.drop(record.scope)
        store.set_state("stale", "1")
    store.save_predicate(replace(record, scope=table))
    store.touch()
