"""Comments on the tables and views that hold the user's data, so that SQL tools can say what each column is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from sqlrl.catalog.readable import unique_name
from sqlrl.catalog.store import PredicateRecord, Store
from sqlrl.engine.nodes import column

_ROLES = {
    "fact": "Facts of {}, as they were loaded.",
    "label": "Labels of {}: the true values that learners and evaluate compare with.",
    "given": "Given atoms of {}: evidence about what is predicted.",
    "soft": "Soft evidence about {}.",
}
_COLUMNS = {
    "atom": "Id of the query atom.",
    "example": "Id of its example.",
    "truth": "Whether it is true; of a query atom its label, NULL if there is none.",
    "given": "True if it is evidence, false for a label.",
    "prior": "Log-odds of soft evidence; NULL if there is none.",
    "row": "Number of the row in the source, from 1.",
    "present": "Nothing: the predicate has no arguments.",
    "id": "Id of the constant, from 0.",
    "name": "Name of the constant.",
}


@dataclass(frozen=True)
class _Described:
    """What a table holds, and what its columns are beside those that are the same everywhere."""

    text: str
    columns: Mapping[str, str]
    view: bool = False


def comment_tables(store: Store, tables: Collection[str]) -> None:
    """Put a comment on some of our tables and views and on every column of theirs.

    Parameters
    ----------
    store : Store
    tables : collection of str
        Those that were made; what is gone again is left out, and so is scratch.
    """
    described = {name: found for name, found in _described(store, tables) if name in tables}
    if not described:
        return
    listed = exp.select(column("table_name"), column("column_name"))
    listed = listed.from_(exp.Table(this=exp.Anonymous(this="duckdb_columns")))
    home = exp.and_(column("database_name").eq(store.catalog), column("schema_name").eq(store.schema))
    names = exp.In(this=column("table_name"), expressions=[exp.convert(name) for name in sorted(described)])
    rows = store.rows(listed.where(exp.and_(home, names)), "list the columns of new tables")
    statements = [
        _comment(store.table(name), "VIEW" if found.view else "TABLE", found.text) for name, found in described.items()
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
    types = store.types() if any(name.startswith(("dictionary_", "domain_")) for name in tables) else {}
    for name, kind in types.items():
        yield kind.dictionary, _Described(f"Dictionary of the type {name}.", {})
        if kind.domain is not None:
            columns = {"example": "Id of the example.", "id": "Id of a constant that occurs in its facts."}
            yield kind.domain, _Described(f"Constants of the type {name} in each example.", columns)
    predicates = store.predicates()
    for name, record in predicates.items():
        arguments = _arguments(record)
        if record.facts is not None:
            known = f"What is known of {name}: evidence and labels." if record.open else f"True facts of {name}."
            yield record.facts, _Described(known, arguments)
        if record.atoms is not None:
            yield record.atoms, _Described(f"Query atoms of {name}.", arguments)
        if record.scope is not None:
            scope = arguments | {"example": "Name of the example."}
            yield record.scope, _Described(f"Scope of {name}: the tuples that have atoms.", scope)
        if record.readable is not None:
            yield record.readable, _Described(f"Facts of {name} with names instead of ids.", _shown(record), view=True)
    for (name, role), source in store.sources().items():
        text = _ROLES[role].format(name) + (
            " They wait as text until a model says their types." if source.staged else ""
        )
        yield source.storage, _Described(text, _arguments(predicates[name], text=source.staged))


def _arguments(record: PredicateRecord, *, text: bool = False) -> dict[str, str]:
    """Return the comments on the argument columns a0, a1, ..."""
    what = "Text" if text else "Id of the constant"
    return {
        f"a{i}": f"{what} of argument {i + 1}{f', of the type {argument.type}' if argument.type is not None else ''}."
        for i, argument in enumerate(record.arguments)
    }


def _shown(record: PredicateRecord) -> dict[str, str]:
    """Return the comments on the argument columns of a view of facts, which are named as in the source."""
    taken: set[str] = set()
    names = {unique_name("example", taken): "Name of the example."} if record.example == "column" else {}
    for i, argument in enumerate(record.arguments):
        kind = f", of the type {argument.type}" if argument.type is not None else ""
        names[unique_name(argument.name, taken)] = f"Argument {i + 1}{kind}."
    # An argument may be named `truth`.
    return names | {unique_name(name, taken): text for name, text in _COLUMNS.items()}
