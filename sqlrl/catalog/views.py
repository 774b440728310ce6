"""What SQL sees of the user's data: views with names instead of ids, `named_...`, and a comment on every table and column."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp, parse_one

from sqlrl.catalog.atoms import PredicateOpening, known_rows
from sqlrl.catalog.encoding import key_columns
from sqlrl.catalog.image import REMOVAL, PredicateRecord, SourceRecord
from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column, join, named
from sqlrl.engine.stored import STORED, is_stored

_ROLES = {
    "fact": "Facts of {}, as they were loaded.",
    "label": "Labels of {}: the true values that learners and evaluate compare with.",
    "given": "Given atoms of {}: evidence about what is predicted.",
    "soft": "Soft evidence about {}.",
}

_TAKEN = ("example", "truth", "probability", "error", "rhat", "ess", "method", "given", "prior")
"""Columns that views of facts, predictions and probabilities have beside the arguments."""

_COLUMNS = {
    "atom": "Id of the query atom.",
    "example": "Id of its example.",
    "truth": "Whether it is true; of a query atom its label, NULL if there is none.",
    "given": "True if it is evidence, false for a label.",
    "prior": "Log-odds of soft evidence; NULL if there is none.",
    "value": "Soft truth, from 0 to 1; of a query atom that of its label, NULL if there is none.",
    "row": "Number of the row in the source, from 1.",
    "present": "Nothing: the predicate has no arguments.",
    "id": "Id of the constant, from 0.",
    "name": "Name of the constant.",
}


# ---- views -------------------------------------------------------------------------------------------


def show_loaded(store: Store, predicate: str) -> None:
    """Make the view of a predicate as it was loaded, before any model is bound, in place of an earlier one; drop it if the facts are gone."""
    record = store.predicates()[predicate]
    sources = {role: s for (name, role), s in store.sources().items() if name == predicate}
    # It has the columns that it will have once a model is bound; while types are unknown, those of the source.
    if sources:
        _show(store, record, _loaded_rows(store, record, sources))
    elif record.readable is not None:
        store.drop_view(record.readable)
        store.save_predicate(replace(record, readable=None))


def readable_views(store: Store, bound: Collection[str], *, only: Collection[str] | None = None) -> None:
    """Make the views of predicates that are bound, or of some; one that only an earlier model had shows what is loaded of it now."""
    for name, record in store.predicates().items():
        if record.facts is None or (only is not None and name not in only):
            continue
        if name in bound:
            _show(store, record, _bound_rows(store, record, record.facts))
        else:
            show_loaded(store, name)


def rename_views(store: Store) -> None:
    """Make views again whose columns have the names of an earlier version: those of sources, where types are known now."""
    valued, expected = store.valued(), dict[str, tuple[PredicateRecord, list[str]]]()
    for record in store.predicates().values():
        if record.readable is not None and record.arguments and None not in record.types:
            shown = shown_arguments(record, valued=record.predicate in valued)
            expected[record.readable] = record, [*(["example"] if record.example == "column" else []), *shown]
    if not expected:
        return
    there = _columns(store, expected)
    stale = [record for view, (record, names) in expected.items() if there[view][: len(names)] != names]
    for record in stale:
        if record.facts is not None and _reads(store, str(record.readable), record.facts):
            _show(store, record, _bound_rows(store, record, record.facts))
        else:
            show_loaded(store, record.predicate)


def _columns(store: Store, views: Collection[str]) -> dict[str, list[str]]:
    """Return the columns of views in their order, none of one that is not there."""
    listed = exp.select(column("table_name"), column("column_name"))
    listed = listed.from_(exp.Table(this=exp.Anonymous(this="duckdb_columns"))).where(_home(store, views, "table_name"))
    found: dict[str, list[str]] = {view: [] for view in views}
    for row in store.rows(listed.order_by(column("column_index")), "list the columns of views"):
        found[str(row["table_name"])].append(str(row["column_name"]))
    return found


def _reads(store: Store, view: str, table: str) -> bool:
    """Return whether a view reads a table of ours."""
    text = exp.select(column("sql")).from_(exp.Table(this=exp.Anonymous(this="duckdb_views")))
    rows = store.rows(text.where(_home(store, [view], "view_name")), f"look up {view}")
    return any(
        read.name == table for row in rows for read in parse_one(str(row["sql"]), dialect="duckdb").find_all(exp.Table)
    )


def _home(store: Store, names: Collection[str], name: str) -> exp.Condition:
    """Return the condition that a row of a list of DuckDB's is about some of our tables or views."""
    some = exp.In(this=column(name), expressions=[exp.convert(each) for each in sorted(names)])
    return exp.and_(column("database_name").eq(store.catalog), column("schema_name").eq(store.schema), some)


def _bound_rows(store: Store, record: PredicateRecord, facts: str) -> exp.Select:
    """Return the query of the table of facts of a predicate that is bound."""
    names = key_columns(len(record.arguments), record.example == "column")
    if record.open:
        names = [*names, "truth", "given", "prior"]
    if record.predicate in store.valued():
        names = [*names, "value"]
    elif not names:
        # One that is taken as empty has no source.
        source = store.sources().get((record.predicate, "fact"))
        names = ["truth" if source is not None and source.signed else "present"]
    return exp.select(*map(column, names)).from_(store.table(facts))


def _loaded_rows(store: Store, record: PredicateRecord, sources: Mapping[str, SourceRecord]) -> exp.Query:
    """Return the query of the facts of a predicate: true facts of a closed one, of an open one also `truth`, `given`, `prior`."""
    fact = sources.get("fact")
    if len(sources) > 1 or fact is None:
        target = bool({"label", "given"} & sources.keys()) or record.scope is not None
        return known_rows(store, PredicateOpening(record, sources, target))
    keys = key_columns(len(record.arguments), fact.example)
    if fact.valued:
        return exp.select(*map(column, [*keys, "value"])).from_(store.table(fact.storage))
    keys = keys or ["truth" if fact.signed else "present"]
    rows = exp.select(*map(column, keys)).from_(store.table(fact.storage))
    return rows.where(column("truth")) if fact.signed else rows


def _show(store: Store, record: PredicateRecord, rows: exp.Query) -> None:
    """Make the view of a predicate over rows of ids, or of text while a type is unknown."""
    typed = None not in record.types
    query = exp.select().from_(rows.subquery("f"))
    outputs: list[exp.Expr] = []
    arguments = shown_arguments(record, valued="value" in rows.named_selects)
    taken = set() if typed else {name.casefold() for name in arguments}
    types = store.types() if typed else {}
    for name in rows.named_selects:
        if name.startswith("a") and name[1:].isdigit():
            i = int(name[1:])
            shown = column(name, "f")
            if typed:
                dictionary = types[record.known_types()[i]].dictionary
                query = join(
                    query, store.table(dictionary, f"d{i}"), column("id", f"d{i}").eq(column(name, "f")), "INNER"
                )
                shown = column("name", f"d{i}")
            outputs.append(named(shown, arguments[i]))
        elif name == "example" and typed:
            on = column("example", "e").eq(column("example", "f"))
            query = join(query, store.table("example", "e"), on, "LEFT")
            outputs.append(named(column("name", "e"), unique_name("example", taken)))
        else:
            outputs.append(named(column(name, "f"), unique_name(name, taken)))
    view = record.readable or store.free_name("named", record.predicate)
    store.create_view(view, query.select(*outputs, copy=False), f"show {record.predicate}")
    if view != record.readable:
        store.save_predicate(replace(record, readable=view))


def shown_arguments(record: PredicateRecord, *, valued: bool) -> list[str]:
    """Return the names of the arguments in a view: their types, as in predictions; as in the source while a type is unknown."""
    if None in record.types:
        taken: set[str] = set()
        return [unique_name(argument.name, taken) for argument in record.arguments]
    return typed_names(record.known_types(), [*_TAKEN, "value"] if valued else _TAKEN)


def typed_names(types: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return distinct column names for arguments: the types, numbered from the second one of a type; none is one that is taken."""
    names = {name.casefold() for name in taken}
    return [unique_name(kind, names) for kind in types]


def unique_name(name: str, taken: set[str]) -> str:
    """Return a name of a column or table that is not taken, and take it; case is ignored as in the database."""
    free, number = name or "column", 1
    while free.casefold() in taken:
        number += 1
        free = f"{name}_{number}"
    taken.add(free.casefold())
    return free


# ---- comments ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Described:
    """What a table holds, and what its columns are beside those that are the same everywhere."""

    text: str
    columns: Mapping[str, str]
    view: bool = False


def comment_tables(store: Store, tables: Collection[str]) -> None:
    """Put a comment on new tables and views of sqlrl's and on all of their columns; those that are gone again, and scratch, are left out."""
    described = {name: found for name, found in _described(store, tables) if name in tables}
    if not described:
        return
    listed = exp.select(column("table_name"), column("column_name"))
    listed = listed.from_(exp.Table(this=exp.Anonymous(this="duckdb_columns")))
    rows = store.rows(listed.where(_home(store, described, "table_name")), "list the columns of new tables")
    there = {str(row["table_name"]) for row in rows}
    statements = [
        _comment(store.table(name), "VIEW" if found.view else "TABLE", found.text)
        for name, found in described.items()
        if name in there
    ]
    for row in rows:
        table, name = str(row["table_name"]), str(row["column_name"])
        text = described[table].columns.get(name) or _COLUMNS.get(name)
        if text is None:
            # A scope may have more columns than the arguments that are known so far; binding refuses those that do not fit.
            continue
        target = exp.column(name, table=table, db=store.schema, catalog=store.catalog, quoted=True)
        statements.append(_comment(target, "COLUMN", text))
    script = "; ".join(store.engine.render(statement) for statement in statements)
    store.engine.execute_sql(script, step="comment on new tables")


def _comment(target: exp.Expr, kind: str, text: str) -> exp.Comment:
    return exp.Comment(this=target, kind=kind, expression=exp.Literal.string(text))


def _described(store: Store, tables: Collection[str]) -> Iterator[tuple[str, _Described]]:
    """Yield the tables and views of every predicate and, if some are among the tables, of every type, with what they hold."""
    types = store.types() if any(name.startswith(("dictionary_", "domain_", STORED)) for name in tables) else {}
    for name, kind in types.items():
        yield kind.dictionary, _Described(f"Dictionary of the type {name}.", {}, view=is_stored(kind.dictionary))
        if kind.domain is not None:
            columns = {"example": "Id of the example.", "id": "Id of a constant that occurs in its facts."}
            yield kind.domain, _Described(f"Constants of the type {name} in each example.", columns)
    predicates, valued = store.predicates(), store.valued()
    for name, record in predicates.items():
        arguments = _arguments(record)
        if record.facts is not None:
            closed = "Facts of {}, with their values." if name in valued else "True facts of {}."
            known = f"What is known of {name}: evidence and labels." if record.open else closed.format(name)
            yield record.facts, _Described(known, arguments, view=is_stored(record.facts))
        if record.atoms is not None:
            yield record.atoms, _Described(f"Query atoms of {name}.", arguments)
        if record.scope is not None:
            scope = arguments | {"example": "Name of the example."}
            yield record.scope, _Described(f"Scope of {name}: the tuples that have atoms.", scope)
        if record.readable is not None:
            text = f"Facts of {name} with names instead of ids."
            yield record.readable, _Described(text, _shown(record, valued=name in valued), view=True)
    for (name, role), source in store.sources().items():
        text = _ROLES[role].format(name) + (
            " They wait as text until a model says their types." if source.staged else ""
        )
        comments = _arguments(predicates[name], text=source.staged)
        yield source.storage, _Described(text, comments, view=is_stored(source.storage))
        for part in store.load_parts(name, role):
            done = "removed from" if part.kind == REMOVAL else "appended to"
            yield (
                part.storage,
                _Described(f"Rows that were {done} {name}.", _arguments(predicates[name], text=part.kind == REMOVAL)),
            )


def _arguments(record: PredicateRecord, *, text: bool = False) -> dict[str, str]:
    """Return the comments on the argument columns a0, a1, ..."""
    what = "Text" if text else "Id of the constant"
    return {
        f"a{i}": f"{what} of argument {i + 1}{f', of the type {argument.type}' if argument.type is not None else ''}."
        for i, argument in enumerate(record.arguments)
    }


def _shown(record: PredicateRecord, *, valued: bool) -> dict[str, str]:
    """Return the comments on the argument columns of a view of facts, which are named as in the source."""
    arguments = shown_arguments(record, valued=valued)
    taken = {name.casefold() for name in arguments} if None in record.types else set()
    # While types are unknown, an argument may be named `truth`.
    names = {unique_name(name, taken): text for name, text in _COLUMNS.items() if valued or name != "value"}
    if record.example == "column":
        names[unique_name("example", taken) if None in record.types else "example"] = "Name of the example."
    for i, (name, argument) in enumerate(zip(arguments, record.arguments, strict=True)):
        kind = f", of the type {argument.type}" if argument.type is not None else ""
        source = f"; the column {argument.name} of the source" if argument.name != name else ""
        names[name] = f"Argument {i + 1}{kind}{source}."
    return names
