"""Views that show facts with names instead of ids: `named_...`, one for each predicate."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from sqlglot import exp

from sqlrl.catalog.atoms import Opening, known_rows
from sqlrl.catalog.encoding import key_columns
from sqlrl.catalog.store import PredicateRecord, SourceRecord, Store
from sqlrl.engine.nodes import column, named


def show_loaded(store: Store, predicate: str) -> None:
    """Make the view of a predicate as it was loaded, before any model is bound; an earlier view is replaced.

    It has the columns that it will have once a model is bound; while types are unknown, those of the source. A predicate
    whose facts are gone loses its view.
    """
    record = store.predicates()[predicate]
    sources = {role: s for (name, role), s in store.sources().items() if name == predicate}
    if sources:
        _show(store, record, _loaded_rows(store, record, sources))
    elif record.readable is not None:
        store.drop_view(record.readable)
        store.save_predicate(replace(record, readable=None))


def readable_views(store: Store, bound: Collection[str]) -> None:
    """Make the views of predicates that are bound; one that only an earlier model had shows what is loaded of it now."""
    for name, record in store.predicates().items():
        if record.facts is None:
            continue
        if name in bound:
            _show(store, record, _bound_rows(store, record, record.facts))
        else:
            show_loaded(store, name)


def _bound_rows(store: Store, record: PredicateRecord, facts: str) -> exp.Select:
    """Return the query of the table of facts of a predicate that is bound."""
    names = key_columns(len(record.arguments), record.example == "column")
    if record.open:
        names = [*names, "truth", "given", "prior"]
    elif not names:
        names = ["truth" if store.sources()[record.predicate, "fact"].signed else "present"]
    return exp.select(*map(column, names)).from_(store.table(facts))


def _loaded_rows(store: Store, record: PredicateRecord, sources: Mapping[str, SourceRecord]) -> exp.Query:
    """Return the query of the facts of a predicate: true facts of a closed one, of an open one also `truth`, `given`, `prior`."""
    fact = sources.get("fact")
    if len(sources) > 1 or fact is None:
        target = bool({"label", "given"} & sources.keys()) or record.scope is not None
        return known_rows(store, Opening(record, sources, target))
    keys = key_columns(len(record.arguments), fact.example) or ["truth" if fact.signed else "present"]
    rows = exp.select(*map(column, keys)).from_(store.table(fact.storage))
    return rows.where(column("truth")) if fact.signed else rows


def _show(store: Store, record: PredicateRecord, rows: exp.Query) -> None:
    """Make the view of a predicate over rows of ids, or of text while a type is unknown."""
    typed = None not in record.types
    query = exp.select().from_(rows.subquery("f"))
    outputs: list[exp.Expr] = []
    taken: set[str] = set()
    types = store.types() if typed else {}
    for name in rows.named_selects:
        if name.startswith("a") and name[1:].isdigit():
            i = int(name[1:])
            shown = column(name, "f")
            if typed:
                dictionary = types[record.known_types()[i]].dictionary
                query = query.join(store.table(dictionary, f"d{i}"), on=column("id", f"d{i}").eq(column(name, "f")))
                shown = column("name", f"d{i}")
            outputs.append(named(shown, unique_name(record.arguments[i].name, taken)))
        elif name == "example" and typed:
            on = column("example", "e").eq(column("example", "f"))
            query = query.join(store.table("example", "e"), on=on, join_type="left")
            outputs.append(named(column("name", "e"), unique_name("example", taken)))
        else:
            outputs.append(named(column(name, "f"), unique_name(name, taken)))
    view = record.readable or store.free_name("named", record.predicate)
    store.create_view(view, query.select(*outputs), f"show {record.predicate}")
    if view != record.readable:
        store.save_predicate(replace(record, readable=view))


def unique_name(name: str, taken: set[str]) -> str:
    """Return a name of a column or table that is not taken, and take it; case is ignored as in the database."""
    free, number = name or "column", 1
    while free.casefold() in taken:
        number += 1
        free = f"{name}_{number}"
    taken.add(free.casefold())
    return free
