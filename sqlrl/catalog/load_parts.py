"""Parts of a load: rows that are appended to it or removed from it later, at the cost of those rows, and all of it once again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from sqlrl.catalog.appended_examples import before_append, note_append
from sqlrl.catalog.atoms import atom_name
from sqlrl.catalog.bins import check_same_edges, constant_name
from sqlrl.catalog.columns import Mapped, map_columns, raw_query
from sqlrl.catalog.encoding import key_columns
from sqlrl.catalog.examples import list_examples
from sqlrl.catalog.fingerprints import table_fingerprint
from sqlrl.catalog.image import REMOVAL, PartRecord, PredicateRecord, SourceRecord, argument_columns, equal_columns
from sqlrl.catalog.loading import empty_rows, load, reads_alike, register, with_sources, write_rows
from sqlrl.catalog.options import LoadOptions, check_name, origin
from sqlrl.catalog.server_files import SERVER, ServerFiles, load_files
from sqlrl.catalog.sources import LoadRows, LoadSource, open_source
from sqlrl.catalog.store import Store
from sqlrl.catalog.views import show_loaded
from sqlrl.engine.nodes import column, integer, named, union_all
from sqlrl.errors import DoubleQuoted, LoadError, LoadWarning, Parameter, Phrase, warn
from sqlrl.wording import counted

_SHOWN = 5


# ---- appending ---------------------------------------------------------------------------------------


def append(store: Store, predicate: str, source: Any, options: LoadOptions) -> None:
    """Append rows to a predicate's facts in a role, or load them if there are none; facts that are there already are duplicates."""
    options = _in_role(store, predicate, options)
    base = store.sources().get((predicate, options.role))
    if base is None:
        load(store, predicate, source, options)
        return
    record = store.predicates()[predicate]
    _check_base(record, base, "append to", "rows are appended")
    with store.writing(), open_source(store.engine, source, options.dialect) as opened:
        where = f"{predicate} from {opened.label}"
        if options.types is not None and tuple(options.types) != record.types:
            raise LoadError(
                f"{where}: {predicate} has the types ({', '.join(record.known_types())}), not ({', '.join(options.types)}): leave {Parameter('types')} out."
            )
        check_same_edges(store, record, options, where)
        options = replace(options, bins=None, example=_example(record, base, options))
        mapped = map_columns(predicate, opened, options, record.types)
        _check_columns(where, base, mapped)
        raw = raw_query(opened, mapped, options) if not opened.nothing else empty_rows(len(record.types), base.example)
        before = before_append(store)
        again = opened.kind not in ("relation", "object")
        rows = LoadRows(
            record, raw, opened, options.role, opened.fingerprint, options, base.example, mapped.extra, mapped.value
        )
        added = write_rows(store, rows, again=reads_alike(opened))
        if not added.rows and options.empty == "error":
            raise LoadError(
                f"{where}: there are no rows; pass {Parameter('empty', DoubleQuoted('allow'))} if it has no facts."
            )
        if again and not opened.fingerprint:
            # After what may be refused, since it takes as long as reading.
            added = replace(added, fingerprint=table_fingerprint(store.engine, opened.table, opened.columns))
        note_append(store, before, _add(store, base, added, where))


def _in_role(store: Store, predicate: str, options: LoadOptions) -> LoadOptions:
    """Return options with the role that the facts have, where the load names none and all have the same."""
    roles = {role for name, role in store.sources() if name == predicate}
    if options.role == "fact" and len(roles) == 1:
        return replace(options, target="label" in roles, given=options.given or "given" in roles)
    return options


def _check_base(record: PredicateRecord, base: SourceRecord, what: str, when: str) -> None:
    """Refuse to change facts that follow from rules, whose types are unknown, or that are in files of a server."""
    if base.kind == SERVER:
        raise LoadError(
            f"cannot {what} {record.predicate}, whose facts are in files that Spark has encoded: write Parquet with all of its facts, and load it "
            "again, in place of those."
        )
    if base.kind == "definition":
        raise LoadError(f"cannot {what} {record.predicate}, which rules define: change the facts that they are about.")
    if base.staged:
        raise LoadError(
            f"cannot {what} {record.predicate}, whose facts wait for their types: load it with {Parameter('types')}, or bind a model, before {when}."
        )


def _example(record: PredicateRecord, base: SourceRecord, options: LoadOptions) -> str | int | None:
    """Return what names the examples of new rows, by default what named those of the others."""
    known = LoadOptions.from_json(base.options).example
    if options.example is not None or not base.example:
        return options.example
    return known if known is not None else next((a.name for a in record.arguments if a.example), None)


def _check_columns(where: str, base: SourceRecord, mapped: Mapped) -> None:
    """Refuse rows that have the example, truth or values otherwise than the rows that are there."""
    if base.example != (mapped.example_column is not None):
        has, lacks = ("those loaded before", "these") if base.example else ("these", "those loaded before")
        raise LoadError(
            f"{where}: {has} have their example in a column beside the arguments, {lacks} have none: load them alike."
        )
    if (mapped.value is not None) != (base.value is not None):
        has, lacks = ("these", "those loaded before") if base.value is None else ("those loaded before", "these")
        raise LoadError(
            f"{where}: {has} have values, {lacks} none: load them alike, all with {Parameter('value')} or all without it."
        )
    if mapped.truth is not None and not base.signed:
        raise LoadError(
            f"{where}: the rows loaded before say nothing of {Parameter('truth')}: load all rows again with it, or append the true ones without it."
        )


def _add(store: Store, base: SourceRecord, added: SourceRecord, where: str) -> PartRecord:
    """Put new rows, which are a table of their own, to those that are there, and record them as a part, which is returned."""
    record = store.predicates()[base.predicate]
    rows = added.rows - _repeated(store, record, base, added, where)
    columns = [*key_columns(len(record.arguments), base.example), *base.extra]
    if columns:
        outputs = [named(exp.true(), c) if c == "truth" and not added.signed else column(c) for c in columns]
        query = exp.select(*outputs).from_(store.table(added.storage))
    else:
        columns, query = ["present"], exp.select(named(exp.true(), "present")).from_(store.table(added.storage))
    store.insert(base.storage, query, columns, f"append to {base.predicate}")
    parts = store.load_parts(base.predicate, base.role)
    number = 1 + max((part.part for part in parts), default=0)
    part = PartRecord(
        base.predicate,
        base.role,
        number,
        added.storage,
        added.kind,
        added.source,
        # What cannot be read again is never compared.
        added.fingerprint,
        added.options,
        rows,
    )
    store.save_part(part)
    _changed(store, replace(base, rows=base.rows + rows))
    list_examples(store)
    return part


def _repeated(store: Store, record: PredicateRecord, base: SourceRecord, added: SourceRecord, where: str) -> int:
    """Remove facts that exist already from new rows and return their number; refuse contradictions, and duplicates unless dropped."""
    keys = key_columns(len(record.arguments), base.example)
    truth: exp.Expr = column("truth", "n") if added.signed else exp.true()
    pairs = [(column("truth", "o") if base.signed else exp.true(), truth)]
    pairs += [(column(name, "o"), column(name, "n")) for name in base.extra if name != "truth"]
    same = exp.and_(*(exp.NullSafeEQ(this=one, expression=other) for one, other in pairs))
    query = exp.select(*(column(k, "n") for k in keys), named(same, "same")).from_(store.table(added.storage, "n"))
    query = query.join(store.table(base.storage, "o"), on=equal_columns(keys, "n", "o"))
    found = store.rows(query, f"look for facts of {where} that are there already")
    contradicted = [row for row in found if not row["same"]]
    options = LoadOptions.from_json(added.options)
    # Facts that are there with another truth, probability or value are refused in any case.
    if contradicted or (found and options.duplicates == "error"):
        shown = sorted(atom_name(store, record, row) for row in (contradicted or found)[:_SHOWN])
        more = (
            f" and {counted(len(contradicted or found) - _SHOWN, 'other')}"
            if len(contradicted or found) > _SHOWN
            else ""
        )
        if contradicted:
            what = "truth or probability" if base.value is None else "value"
            removing = Phrase("db.load({!r}, ..., mode='remove')", (record.predicate,))
            raise LoadError(
                f"{where}: contradictory facts: {', '.join(shown)}{more}, which are there already with another {what}: remove "
                f"them before, with {removing}."
            )
        raise LoadError(
            f"{where}: duplicate facts: {', '.join(shown)}{more}, which are there already: remove them or pass {Parameter('duplicates', DoubleQuoted('drop'))}, which "
            f"drops {counted(len(found), 'row')}."
        )
    if found:
        there = (
            exp.select(integer(1)).from_(store.table(base.storage, "o")).where(equal_columns(keys, "o", added.storage))
        )
        _delete(store, added.storage, exp.Exists(this=there))
        store.dropped += len(found)
    return len(found)


def _delete(store: Store, table: str, condition: exp.Expr) -> None:
    """Delete the rows of a table for which a condition holds, in which the table has its own name."""
    store.changing(table)
    store.engine.execute(
        exp.Delete(this=store.table(table), where=exp.Where(this=condition)), step=f"delete rows of {table}"
    )


def _changed(store: Store, source: SourceRecord) -> None:
    """Record that rows of a source changed."""
    store.save_source(source)
    record = with_sources(store, store.predicates()[source.predicate])
    store.save_predicate(record)
    if record.open or record.facts != source.storage:
        # What a model was bound to shows the facts of before.
        show_loaded(store, source.predicate)
    store.touch()


# ---- removing ----------------------------------------------------------------------------------------


def remove(store: Store, predicate: str, source: Any) -> int:
    """Remove facts from what is loaded of a predicate, in every role; `sqlrl.Database.load` explains it."""
    check_name(predicate)
    with store.writing():
        sources = {role: s for (name, role), s in store.sources().items() if name == predicate}
        if not sources:
            raise LoadError(f"nothing is loaded of {predicate}, so that nothing can be removed.")
        record = store.predicates()[predicate]
        for each in sources.values():
            _check_base(record, each, "remove from", "facts are removed")
        example = any(s.example for s in sources.values())
        with open_source(store.engine, source) as opened:
            wanted, label = _wanted(store, record, opened, example=example), opened.label
        asked = store.count(store.table(wanted), "count what is to be removed")
        removed = [part for s in sources.values() if (part := _remove(store, record, s, wanted, label)) is not None]
        known = _known(store, record, wanted, removed, example=example)
        store.drop(wanted)
    if known < asked:
        warn(
            f"{counted(asked - known, 'row')} of {label} {'is no fact' if asked - known == 1 else 'are no facts'} of {predicate}: the others "
            "were removed.",
            LoadWarning,
        )
    return sum(part.rows for part in removed)


def _wanted(store: Store, record: PredicateRecord, source: LoadSource, *, example: bool) -> str:
    """Write the distinct rows of a source as names into a table, and return its name."""
    names = list(source.columns)
    keys = key_columns(len(record.arguments), example)
    beside = [n for n in names if n.casefold() == "example"] if example else []
    others = [n for n in names if n not in beside]
    if len(names) != len(keys) or len(others) != len(record.arguments):
        expected = ", ".join([*(["example"] if example else []), *record.known_types()]) or "no column"
        raise LoadError(
            f"facts to remove from {record.predicate} have the columns {expected}, and {source.label} has {', '.join(names) or 'none'}."
        )
    types = store.types()
    outputs = [named(source.text(n), "example") for n in beside]
    outputs += [
        named(constant_name(source.text(n), types[kind]), f"a{i}")
        for i, (n, kind) in enumerate(zip(others, record.known_types(), strict=True))
    ]
    query = exp.select(*(outputs or [named(exp.true(), "present")])).from_(source.table).distinct()
    table = store.free_name("removed", record.predicate)
    store.create(table, query, f"read what to remove from {record.predicate}")
    return table


def _known(store: Store, record: PredicateRecord, wanted: str, removed: Sequence[PartRecord], *, example: bool) -> int:
    """Return how many of the wanted rows were removed in some role."""
    keys = key_columns(len(record.arguments), example) or ["present"]
    if not removed:
        return 0
    rows = union_all([exp.select(*map(column, keys)).from_(store.table(part.storage)) for part in removed])
    found = exp.select(integer(1).as_("one")).from_(store.table(wanted, "w"))
    found = found.join(rows.subquery("r"), on=equal_columns(keys, "w", "r"), join_type="semi")
    return store.count(found.subquery("known"), "count what was found")


def _remove(store: Store, record: PredicateRecord, base: SourceRecord, wanted: str, label: str) -> PartRecord | None:
    """Remove wanted facts from one role, and record them as a part, which is returned; None if there are none."""
    keys = key_columns(len(record.arguments), base.example)
    found = _rows_as_names(store, record, base.storage, base.example, ids=True)
    query = exp.select("f.*").from_(found.subquery("f"))
    on = exp.and_(*(column(f"name {k}", "f").eq(column(k, "w")) for k in keys)) if keys else exp.true()
    query = query.join(store.table(wanted, "w"), on=on, join_type="semi")
    scratch = store.free_name("removing", record.predicate)
    rows, part = store.create(scratch, query, f"find what to remove from {record.predicate}"), None
    if rows:
        gone = exp.select(integer(1)).from_(store.table(scratch, "g"))
        for table in [
            base.storage,
            *(p.storage for p in store.load_parts(base.predicate, base.role) if p.kind != REMOVAL),
        ]:
            _delete(store, table, exp.Exists(this=gone.copy().where(equal_columns(keys, "g", table))))
        parts = store.load_parts(base.predicate, base.role)
        number, storage = 1 + max((p.part for p in parts), default=0), store.free_name("removed", record.predicate)
        names: list[exp.Expr] = [named(column(f"name {k}"), k) for k in keys]
        names = names or [named(exp.true(), "present")]
        store.create(storage, exp.select(*names).from_(store.table(scratch)), f"keep what {record.predicate} lost")
        options = LoadOptions().to_json()
        part = PartRecord(base.predicate, base.role, number, storage, REMOVAL, label, "", options, rows)
        store.save_part(part)
        # Constants may be left without a fact.
        store.set_state("stale", "1")
        _changed(store, replace(base, rows=base.rows - rows))
    store.drop(scratch)
    return part


def _rows_as_names(
    store: Store, record: PredicateRecord, storage: str, example: bool, *, values: Sequence[str] = (), ids: bool = False
) -> exp.Select:
    """Return the query of rows of ids with names in their place; with `ids` beside them, and names as `name a0`."""
    types = store.types()
    query = exp.select().from_(store.table(storage, "t"))
    keys: list[tuple[str, exp.Expr]] = []
    if example:
        query = query.join(store.table("example", "e"), on=column("example", "e").eq(column("example", "t")))
        keys.append(("example", column("name", "e")))
    for i, kind in enumerate(record.known_types()):
        dictionary = store.table(types[kind].dictionary, f"d{i}")
        query = query.join(dictionary, on=column("id", f"d{i}").eq(column(f"a{i}", "t")))
        keys.append((f"a{i}", column("name", f"d{i}")))
    outputs: list[exp.Expr] = [named(text, f"name {name}" if ids else name) for name, text in keys]
    if ids:
        outputs += [column(name, "t") for name, _ in keys]
    outputs += [column(name, "t") for name in values]
    return query.select(*(outputs or [named(exp.true(), "present")]))


# ---- all of it once again ----------------------------------------------------------------------------


def load_again(store: Store, base: SourceRecord) -> None:
    """Load a source again, and then append and remove what was appended and removed since, in that order."""
    if base.kind == SERVER:
        load_files(store, base.predicate, ServerFiles(base.source), LoadOptions.from_json(base.options))
        return
    parts = store.load_parts(base.predicate, base.role)
    if not parts:
        load(store, base.predicate, origin(base), LoadOptions.from_json(base.options))
        return
    record = store.predicates()[base.predicate]
    kept: dict[int, str] = {}
    for part in parts:
        # What cannot be read again, objects of Python, keeps its rows.
        if part.kind == REMOVAL or not _reads_again(store, part.kind):
            kept[part.part] = _keep(store, record, base, part)
    own = None if _reads_again(store, base.kind) else _keep(store, record, base, None)
    records = store.appended(base)
    if own is None:
        load(store, base.predicate, origin(base), LoadOptions.from_json(base.options))
    else:
        register(store, record, _write(store, record, own, base), Mapped(tuple(argument_columns(len(record.types)))))
    of_part = dict(zip([part.part for part in parts if part.kind != REMOVAL], records, strict=True))
    for part in parts:
        now = store.sources()[base.predicate, base.role]
        record = store.predicates()[base.predicate]
        if part.kind == REMOVAL:
            _remove(store, record, now, kept[part.part], part.source)
        elif part.part in kept:
            added = _write(store, record, kept[part.part], of_part[part.part])
            _add(store, now, added, f"{base.predicate} from {part.source}")
        else:
            append(store, base.predicate, origin(part), LoadOptions.from_json(part.options))
    for table in [*kept.values(), own]:
        store.drop(table)


def _reads_again(store: Store, kind: str) -> bool:
    return kind in ("table", "view", "query") or (kind == "file" and store.engine.trusted)


def _keep(store: Store, record: PredicateRecord, base: SourceRecord, part: PartRecord | None) -> str:
    """Copy rows as names, those of a part or those that are of none, and return the name of the table."""
    table = store.free_name("again", base.predicate)
    if part is not None and part.kind == REMOVAL:
        query = exp.select("*").from_(store.table(part.storage))
    else:
        storage = base.storage if part is None else part.storage
        present = store.columns(exp.select("*").from_(store.table(storage)), "describe rows")
        values = [name for name in base.extra if name in present]
        query = _rows_as_names(store, record, storage, base.example, values=values)
        if part is None:
            keys = key_columns(len(record.arguments), base.example)
            for other in store.load_parts(base.predicate, base.role):
                if other.kind != REMOVAL:
                    there = (
                        exp.select(integer(1))
                        .from_(store.table(other.storage, "p"))
                        .where(equal_columns(keys, "p", "t"))
                    )
                    query = query.where(exp.Not(this=exp.Exists(this=there)))
    store.create(table, query, f"keep rows of {base.predicate}")
    return table


def _write(store: Store, record: PredicateRecord, table: str, source: SourceRecord) -> SourceRecord:
    """Write rows that were kept as names into a table of ids, as the source that they are of."""
    rows = exp.select("*").from_(store.table(table))
    columns = store.columns(rows, "describe rows")
    extra = [name for name in ("truth", "prior", "value") if name in columns]
    names = [*key_columns(len(record.arguments), source.example), *extra]
    raw = exp.select(*(map(column, names) if names else [column("present")])).from_(store.table(table))
    known = LoadSource(store.table(table), {}, source.source, source.kind, source.fingerprint, source.source)
    options = LoadOptions.from_json(source.options)
    loaded = LoadRows(record, raw, known, source.role, source.fingerprint, options, source.example, extra, source.value)
    return write_rows(store, loaded)
