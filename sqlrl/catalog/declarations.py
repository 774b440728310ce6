"""A model's declarations and the data: types, blocks, declared constants, and constants that nothing knows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from sqlrl.catalog.bins import declare_bins
from sqlrl.catalog.checks import check_types
from sqlrl.catalog.dictionary import add_constants
from sqlrl.catalog.image import ArgumentRecord, PredicateRecord, SourceRecord, with_types
from sqlrl.catalog.loading import resolve
from sqlrl.catalog.store import DICTIONARY, Store
from sqlrl.engine.nodes import column, named, union_all
from sqlrl.engine.stored import is_stored
from sqlrl.errors import CatalogError, LoadError, Parameter, Phrase, marked
from sqlrl.logic.bins import piece_names
from sqlrl.logic.model import Model
from sqlrl.logic.terms import Predicate
from sqlrl.wording import counted, nearest_names


def declare(store: Store, model: Model) -> None:
    """Adopt a model's types, blocks and constants, and encode facts that waited for types; a CatalogError lists all disagreements with the data."""
    check_types(model)
    kinds = {t for p in model.predicates.values() for t in p.types}
    # Before what waits for its types is encoded.
    faults = declare_bins(store, model)
    known, sources = store.predicates(), store.sources()
    loaded = {name for name, _ in sources}
    waiting = {name for (name, _), s in sources.items() if s.staged}
    for predicate in model.predicates.values():
        record = known.get(predicate.name)
        try:
            if record is None or predicate.name not in loaded:
                _note(store, predicate, record)
            elif predicate.name in waiting:
                _blocks(store, predicate, resolve(store, record, predicate.types))
            elif len(record.types) != len(predicate.types):
                types = ", ".join(map(str, record.types))
                faults.append(
                    f"{predicate.name} has {counted(len(predicate.types), 'argument')} in the model, and its data have {len(record.types)}, of the "
                    f"types ({types}): write it with {len(record.types)} there, or load it with {counted(len(predicate.types), 'column')}."
                )
            elif record.types != predicate.types:
                types = ", ".join(map(str, record.types))
                faults.append(
                    f"{predicate} is declared, but its data have the types ({types}){_meant(record, predicate)}: load them again with "
                    f"{Parameter('types', list(predicate.types))}, or with {Phrase('Evidence')} and this model."
                )
            else:
                _blocks(store, predicate, record)
        except LoadError as error:
            faults.append(marked(error.message))
    if faults:
        raise CatalogError("\n".join(faults))
    known_types = store.types()
    for name in sorted(kinds | set(model.types)):
        store.type_record(name, known_types)
    _mark_declared(store, model)


def _meant(record: PredicateRecord, predicate: Predicate) -> str:
    """Name the type that a type of the data may have been meant for."""
    for name in record.types:
        like = nearest_names(name, set(predicate.types)) if name is not None and name not in predicate.types else []
        if like:
            return f", in which {name!r} may be meant for {like[0]!r}"
    return ""


def _note(store: Store, predicate: Predicate, record: PredicateRecord | None) -> None:
    """Record a predicate that has no data."""
    old = record.arguments if record is not None and len(record.arguments) == len(predicate.arguments) else ()
    arguments = tuple(
        ArgumentRecord(old[i].name if old else a.type, a.type, a.block) for i, a in enumerate(predicate.arguments)
    )
    noted = replace(record or PredicateRecord(predicate.name), arguments=arguments)
    if noted != record:
        store.save_predicate(noted)


def _blocks(store: Store, predicate: Predicate, record: PredicateRecord) -> None:
    """Take over the `!` marks."""
    arguments = tuple(replace(a, block=d.block) for a, d in zip(record.arguments, predicate.arguments, strict=True))
    marked = with_types(replace(record, arguments=arguments), predicate.types)
    if marked != record:
        store.save_predicate(marked)


def _mark_declared(store: Store, model: Model) -> None:
    """Record of which types the model lists the constants."""
    for name, record in store.types().items():
        if record.declared != (name in model.types):
            store.save_type(replace(record, declared=name in model.types))
    # Earlier versions put those into the dictionaries: there they stay as long as models list them, and are removed then.
    before: dict[str, list[str]] = json.loads(store.state("declared") or "{}")
    if any(set(before[name]) - set(model.types.get(name, ())) for name in before):
        store.set_state("stale", "1")
        store.forget_state("declared")
        store.touch()


def list_constants(store: Store, address: str, listed: Mapping[str, Sequence[str]]) -> None:
    """Add constants by type that evidence of an address lists beside its facts, in place of those that it listed before."""
    known: dict[str, dict[str, list[str]]] = json.loads(store.state("listed") or "{}")
    before = known.pop(address, {})
    if not listed and not before:
        return
    if listed:
        known[address] = {name: list(constants) for name, constants in listed.items()}
    store.set_state("listed", json.dumps(known, ensure_ascii=False))
    if any(set(before[name]) - set(listed.get(name, ())) for name in before):
        store.set_state("stale", "1")
    types = store.types()
    for name, constants in listed.items():
        add_constants(store, store.type_record(name, types), constants)
    store.touch()


def _kept_without_facts(store: Store) -> dict[str, list[str]]:
    """Return, by type, the constants that stay in dictionaries though no fact may have them: those that data list, and pieces."""
    # Those that a model lists, since an earlier version of sqlrl added them.
    found: dict[str, list[str]] = json.loads(store.state("declared") or "{}")
    for listed in json.loads(store.state("listed") or "{}").values():
        for name, constants in listed.items():
            found[name] = [*found.get(name, ()), *constants]
    for name, record in store.types().items():
        if record.edges is not None:
            found[name] = [*found.get(name, ()), *piece_names(name, record.bins)]
    return found


def compact(store: Store, *, leave: bool = False) -> bool:
    """Remove constants and examples that no fact has and no data list, so that ids stay dense; return whether there were any."""
    predicates, declared, removed = store.predicates(), _kept_without_facts(store), False
    # Constants of scopes go, too: binding adds those that a model uses.
    sources = [s for s in store.sources().values() if not s.staged]
    sources += [part for source in sources for part in store.appended(source)]
    for name, record in store.types().items():
        uses = [(s.storage, f"a{i}") for s in sources for i, t in enumerate(predicates[s.predicate].types) if t == name]
        if is_stored(record.dictionary) and not uses and not declared.get(name):
            # Of names that nothing has, nobody need read the files, which may be gone.
            dictionary = store.free_name("dictionary", name)
            store.create_empty(dictionary, DICTIONARY, f"compact {name}")
            store.drop(record.dictionary)
            store.save_type(replace(record, dictionary=dictionary, size=0))
            removed = True
            continue
        kept = _kept(store, store.table(record.dictionary), "id", uses, declared.get(name, ()))
        if kept == record.size:
            store.drop(_MAP)
            continue
        # Files of a server keep their ids: constants whose removal would change those stay with `leave`, and are an error without.
        if _is_fixed(store, record.dictionary, uses):
            store.drop(_MAP)
            if leave:
                continue
            raise _fixed(f"{counted(record.size - kept, 'constant')} of {name}", uses, sources)
        removed = True
        names = exp.select(column("new", "m").as_("id", quoted=True), column("name", "d")).from_(store.table(_MAP, "m"))
        names = names.join(store.table(record.dictionary, "d"), on=column("id", "d").eq(column("old", "m")))
        dictionary = record.dictionary
        if is_stored(dictionary):
            dictionary = store.free_name("dictionary", name)
        store.create(dictionary, names.order_by(column("new", "m")), f"compact {name}")
        if dictionary != record.dictionary:
            store.drop(record.dictionary)
        for storage in sorted({s for s, _ in uses if not is_stored(s)}):
            _renumber(store, storage, {c for s, c in uses if s == storage})
        store.save_type(replace(record, dictionary=dictionary, size=kept))
        store.drop(_MAP)
    if removed:
        store.set_state(NUMBERING, str(numbering(store) + 1))
    in_column = [(s.storage, "example") for s in sources if s.example]
    return (bool(in_column) and _compact_examples(store, in_column, sources, leave=leave)) or removed


def _is_fixed(store: Store, dictionary: str, uses: Sequence[tuple[str, str]]) -> bool:
    """Return True if the new numbers that `_kept` found would change ids in files of a server."""
    stored = [(storage, name) for storage, name in uses if is_stored(storage)]
    if not stored or is_stored(dictionary):
        return bool(stored)
    moved = exp.select(named(exp.Min(this=column("old")), "first")).from_(store.table(_MAP))
    (row,) = store.rows(moved.where(column("old").neq(column("new"))), "find the first id that changes")
    if row["first"] is None:
        return False
    most = [exp.select(named(exp.Max(this=column(name)), "most")).from_(store.table(s)) for s, name in stored]
    return any(found["most"] >= row["first"] for found in store.rows(union_all(most), "find the last ids of files"))


def _fixed(what: str, uses: Sequence[tuple[str, str]], sources: Sequence[SourceRecord]) -> CatalogError:
    """Return the error for constants or examples that would have to be removed, though files of a server have ids after them."""
    stored = {storage for storage, _ in uses if is_stored(storage)}
    names = ", ".join(sorted({s.predicate for s in sources if s.storage in stored}))
    return CatalogError(
        f"no fact has {what} any more, and the ids after them are in files that Spark has encoded, of {names}: load {names} again, "
        "or, if that does not help, all predicates into another database."
    )


_MAP = "renumbering"

NUMBERING = "numbering"
"""The entry of the state that counts how often constants got other ids than they had."""


def numbering(store: Store) -> int:
    """Return how often constants got other ids than they had; new constants get new ids, and change none."""
    return int(store.state(NUMBERING) or 0)


def _kept(
    store: Store, table: exp.Table, ident: str, uses: list[tuple[str, str]], declared: list[str] | tuple[str, ...]
) -> int:
    """Write (old, new) of the ids that are still used, in their order, and return their number."""
    parts: list[exp.Query] = [exp.select(column(c).as_("old", quoted=True)).from_(store.table(s)) for s, c in uses]
    if declared:
        names = exp.In(this=column("name"), expressions=[exp.convert(n) for n in declared])
        parts.append(exp.select(column(ident).as_("old", quoted=True)).from_(table.copy()).where(names))
    if not parts:
        parts.append(exp.select(column(ident).as_("old", quoted=True)).from_(table.copy()).where(exp.false()))
    used = exp.select(column("old")).from_(union_all(parts).subquery("uses")).distinct().subquery("used")
    number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[exp.Ordered(this=column("old"))]))
    new = exp.cast(exp.Sub(this=number, expression=exp.convert(1)), "int").as_("new", quoted=True)
    store.create(_MAP, exp.select(column("old"), new).from_(used), "find unused constants")
    return store.count(store.table(_MAP), "count used constants")


def _renumber(store: Store, storage: str, columns: set[str]) -> None:
    """Give the ids in these columns of a table their new numbers."""
    outputs: list[exp.Expr] = []
    query = exp.select().from_(store.table(storage, "t"))
    for name in store.columns(exp.select("*").from_(store.table(storage)), f"describe {storage}"):
        if name in columns:
            alias = f"m {name}"
            query = query.join(store.table(_MAP, alias), on=column("old", alias).eq(column(name, "t")))
            outputs.append(column("new", alias).as_(name, quoted=True))
        else:
            outputs.append(column(name, "t"))
    store.create(storage, query.select(*outputs), f"renumber {storage}")


def _compact_examples(
    store: Store, uses: list[tuple[str, str]], sources: Sequence[SourceRecord], *, leave: bool
) -> bool:
    """Remove the examples of a column that no fact has any more; False if there are none."""
    total = store.count(store.table("example"), "count the examples")
    used = _kept(store, store.table("example"), "example", uses, ())
    fewer = used < total
    if fewer and _is_fixed(store, "example", uses):
        if not leave:
            raise _fixed(counted(total - used, "example"), uses, sources)
        fewer = False
    if fewer:
        names = exp.select(
            column("new", "m").as_("example", quoted=True),
            column("name", "e"),
            column("new", "m").as_("ordinal", quoted=True),
        ).from_(store.table(_MAP, "m"))
        names = names.join(store.table("example", "e"), on=column("example", "e").eq(column("old", "m")))
        store.create("kept_examples", names.order_by(column("new", "m")), "compact the examples")
        store.clear("example")
        kept = exp.select(column("example"), column("name"), column("ordinal")).from_(store.table("kept_examples"))
        store.insert("example", kept, ["example", "name", "ordinal"], "compact the examples")
        store.drop("kept_examples")
        for storage in sorted({s for s, _ in uses if not is_stored(s)}):
            _renumber(store, storage, {"example"})
    store.drop(_MAP)
    return fewer
