"""Whether a model fits the data: its types and constants, each misfit with its place."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.columns import map_columns, raw_query
from sqlrl.catalog.constants import clause_constants
from sqlrl.catalog.dictionary import (
    did_you_mean,
    missing_constants,
    nearest_constants,
    nearest_names,
    numeric_name,
)
from sqlrl.catalog.fingerprints import file_fingerprint
from sqlrl.catalog.options import LoadOptions, evidence_files
from sqlrl.catalog.sources import open_source
from sqlrl.catalog.store import PredicateRecord, SourceRecord, Store, TypeRecord, argument_columns
from sqlrl.engine.nodes import column, named
from sqlrl.errors import CatalogError, LoadWarning, SqlrlError, UnseenConstantWarning, warn
from sqlrl.logic.evidence import read_evidence
from sqlrl.logic.model import Model
from sqlrl.wording import counted, shortened

_SHOWN = 5


def check_types(model: Model) -> None:
    r"""Refuse types whose constants a model lists although no predicate has an argument of that type.

    Raises
    ------
    CatalogError

    Examples
    --------
    >>> from sqlrl.logic.mln import parse_mln
    >>> check_types(parse_mln("persn = {Anna}\nSmokes(person)"))
    Traceback (most recent call last):
    sqlrl.errors.CatalogError: the model lists constants of the type 'persn', which no predicate of it has; did you mean 'person'? ...
    """
    used = {t for p in model.predicates.values() for t in p.types}
    faults = [
        f"the model lists constants of the type {name!r}, which no predicate of it has{did_you_mean(nearest_names(name, used))}"
        for name in sorted(set(model.types) - used)
    ]
    if faults:
        raise CatalogError("\n".join(faults) + " Correct the name, or leave the list out.")


def warn_of_types(predicate: str, types: Iterable[str], known: Collection[str]) -> None:
    """Warn of new types that look like one that is known: they may be one type, misspelt.

    Examples
    --------
    >>> warn_of_types("Near", ["place1", "place2"], ["place1"])  # numbers are meant
    """
    for name in sorted(set(types) - set(known)):
        folded = {k.casefold(): k for k in known}
        like = [folded[m] for m in difflib.get_close_matches(name.casefold(), list(folded), 1, 0.85)]
        if like and like[0].rstrip("0123456789") != name.rstrip("0123456789"):
            warn(
                f"{predicate}: types= names {name!r}, a type that nothing else has; did you mean {like[0]!r}? Load it again with "
                "that type if so.",
                LoadWarning,
            )


def check_declared(store: Store, model: Model) -> None:
    """Refuse data with constants that a declared type does not list.

    Raises
    ------
    CatalogError
        With the first facts that have such constants, and their rows.
    """
    faults = []
    for name, record in store.types().items():
        if name not in model.types or record.size <= len(set(model.types[name])):
            continue
        extra = _unlisted(store, record, model.types[name])
        shown = [f"{constant!r} {_place(store, record, constant)}" for constant in extra[:_SHOWN]]
        more = f"\n  and {len(extra) - _SHOWN:,} more" if len(extra) > _SHOWN else ""
        faults.append(
            f"the model lists the constants of {name}, and the data have {counted(len(extra), 'other')}:\n  "
            + "\n  ".join(shown)
            + f"{more}\nAdd them to the list {name} = {{...}} in the model, leave the list out, or load the data again and rename "
            "them with constants={...}."
        )
    if faults:
        raise CatalogError("\n".join(faults))


def _unlisted(store: Store, record: TypeRecord, listed: Iterable[str]) -> list[str]:
    """Return the constants of a type that are not listed, in the order of their ids."""
    with store.engine.attached(pa.table({"name": pa.array(sorted(set(listed)), pa.string())})) as table:
        known = exp.select(column("name")).from_(table)
        query = exp.select(column("name")).from_(store.table(record.dictionary))
        query = query.where(exp.Not(this=exp.In(this=column("name"), query=known.subquery()))).order_by(column("id"))
        return [str(row["name"]) for row in store.rows(query, f"list the constants of {record.type}")]


def _place(store: Store, record: TypeRecord, constant: str) -> str:
    """Return the first fact with a constant, and where it came from."""
    predicates = store.predicates()
    for source in store.sources().values():
        predicate = predicates[source.predicate]
        places = [i for i, t in enumerate(predicate.types) if t == record.type and not source.staged]
        if not places:
            continue
        fact = _stored_fact(store, predicate, source, places, constant)
        if fact is None:
            continue
        if source.kind in ("file", "table", "view", "query"):
            found = _read_fact(store, predicate, source, record, places, constant)
            if found is None:
                return f"in {fact} from {shortened(source.source)}, which has changed since"
            return f"in {found[0]} from {shortened(source.source)}, row {found[1]:,}"
        return f"in {fact} from {_in_evidence(source, places, constant)}"
    return "in no fact (a scope or an earlier model names it)"


def _stored_fact(
    store: Store, predicate: PredicateRecord, source: SourceRecord, places: Sequence[int], constant: str
) -> str | None:
    """Return a fact of a source with a constant at one of some arguments, None if there is none."""
    types = store.types()
    query = exp.select().from_(store.table(source.storage, "f"))
    for i, type_name in enumerate(predicate.known_types()):
        on = column("id", f"d{i}").eq(column(f"a{i}", "f"))
        query = query.join(store.table(types[type_name].dictionary, f"d{i}"), on=on)
        query = query.select(named(column("name", f"d{i}"), f"a{i}")).order_by(column(f"a{i}", "f"))
    same = [column("name", f"d{i}").eq(exp.convert(constant)) for i in places]
    found = store.rows(query.where(exp.or_(*same)).limit(1), f"find {constant}")
    return f"{predicate.predicate}({', '.join(map(str, found[0].values()))})" if found else None


def _read_fact(
    store: Store,
    predicate: PredicateRecord,
    source: SourceRecord,
    record: TypeRecord,
    places: Sequence[int],
    constant: str,
) -> tuple[str, int] | None:
    """Return the first fact with a constant and its row from a source that can be read again, None if it changed."""
    options = LoadOptions.from_json(source.options)
    try:
        with open_source(store.engine, source.source, options.dialect) as opened:
            mapped = map_columns(predicate.predicate, opened, options, predicate.types)
            number = named(exp.Window(this=exp.RowNumber()), "row")
            rows = exp.select("*", number).from_(raw_query(opened, mapped, options).subquery("raw")).subquery("rows")
            values = [numeric_name(column(f"a{i}")) if record.numeric else column(f"a{i}") for i in places]
            names = [column(name) for name in argument_columns(len(mapped.arguments))]
            query = exp.select(*names, column("row")).from_(rows).order_by(column("row")).limit(1)
            query = query.where(exp.or_(*(exp.EQ(this=v, expression=exp.convert(constant)) for v in values)))
            found = store.rows(query, f"find the row of {constant}")
    except SqlrlError:
        return None
    if not found:
        return None
    *fact, row = found[0].values()
    return f"{predicate.predicate}({', '.join(map(str, fact))})", int(row)


def _in_evidence(source: SourceRecord, places: Sequence[int], constant: str) -> str:
    """Return the evidence file and the line in which a constant stands first, or what is known of a source that is no such file."""
    for path, fingerprint in evidence_files(source) if source.kind == "object" else []:
        if file_fingerprint(path) != fingerprint:
            continue
        for atom in read_evidence(path):
            if atom.predicate == source.predicate and any(atom.constants[i] == constant for i in places):
                return f"{path}, line {atom.line:,}"
    return source.source


def check_constants(store: Store, model: Model, *, strict: bool) -> None:
    """Look up the constants that the rules name.

    Raises
    ------
    CatalogError
        If `strict` and the data lack some; otherwise those are counted, with a warning.
    """
    types, unknown, count = store.types(), list[str](), 0
    for name, constants in sorted(clause_constants(model).items()):
        missing = missing_constants(store, types[name], constants)
        count += len(missing)
        for constant in missing[: _SHOWN - len(unknown)]:
            rule = constants[constant]
            where = f" ({rule.path}:{rule.line})" if rule.line else ""
            like = did_you_mean(nearest_constants(store, types[name], constant)) if strict else ""
            unknown.append(f"{constant!r} is no constant of {name}{where}{like}" if strict else repr(constant))
    if not count:
        return
    more = count - len(unknown)
    if strict:
        raise CatalogError(
            "\n".join([*unknown, *([f"and {more:,} more"] if more else [])])
            + "\nConstants match exactly: rename them with constants={...}, or list all constants of the type in the model "
            "(type = {...}). If the model was learned from other data, read it with read_mln(path, learned=True)."
        )
    listed = ", ".join(unknown) + (f" and {more:,} more" if more else "")
    verb = "does" if count == 1 else "do"
    warn(f"{counted(count, 'constant')} of the model {verb} not occur in these data: {listed}", UnseenConstantWarning)
