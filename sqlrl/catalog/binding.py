"""A model bound to the data: which predicates are open, their examples, domains and atoms, and the layout of it all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.appended_examples import grow
from sqlrl.catalog.atom_counts import atom_counts
from sqlrl.catalog.atoms import PredicateOpening, build_atoms, check_independent
from sqlrl.catalog.bins import is_number
from sqlrl.catalog.checks import (
    check_constants,
    check_declared,
    note_outside,
    note_unlabelled,
    warn_of_constants,
    warn_outside,
    warn_unlabelled,
)
from sqlrl.catalog.declarations import compact, declare, numbering
from sqlrl.catalog.dictionary import used_predicates
from sqlrl.catalog.domains import (
    BoundData,
    NamedConstants,
    bound_types,
    build_domains,
    local_types,
    named_alone,
    named_constants,
    show_named,
)
from sqlrl.catalog.encoding import encode, key_columns
from sqlrl.catalog.examples import ONLY_EXAMPLE, ExampleSource, build_examples, example_source
from sqlrl.catalog.image import PredicateRecord, TypeRecord
from sqlrl.catalog.layout import Layout, PredicateInfo, TypeInfo
from sqlrl.catalog.roles import NONE, Roles, refuse_missing
from sqlrl.catalog.scopes import no_numbers
from sqlrl.catalog.sizes import ATOM_LIMIT, check_atoms
from sqlrl.catalog.soft_truths import refuse_soft_evidence, refuse_values, values_between
from sqlrl.catalog.store import Store
from sqlrl.catalog.views import readable_views
from sqlrl.engine.nodes import column, named, star_count, union_all
from sqlrl.engine.stored import STORED, is_stored
from sqlrl.errors import CatalogError, Parameter
from sqlrl.logic.model import Model
from sqlrl.logic.saving import SOFT
from sqlrl.wording import did_you_mean, nearest_names


def bind(
    store: Store,
    model: Model,
    *,
    training: bool,
    roles: Roles = NONE,
    limit: int = ATOM_LIMIT,
    opened: Mapping[str, pa.Table] | None = None,
) -> Layout:
    """Fit a model to the data and return the layout; `Catalog.bind` explains it."""
    roles.check(model)
    soft = model.semantics == SOFT
    with store.binding():
        between = values_between(store)
        if not soft:
            refuse_values(between, model.predicates.keys() - set(roles.drop))
        declare(store, model)
        openings = find_openings(store, model, roles)
        used, named = used_predicates(model), model.query | roles.opened
        if soft:
            refuse_soft_evidence(store, used | named)
        chosen = {
            name: replace(opening, unlabelled=not training or soft)
            for name, opening in openings.items()
            if name in used or name in named
        }
        _forget_unused(store, chosen, opened or {})
        refuse_missing(used, {name for name, _ in store.sources()}, openings, roles, training=training)
        constants = named_constants(store, model)
        if not model.learned:
            # A learned model adds what it lists to the domains of other data.
            check_declared(store, model, constants)
        if model.strict:
            check_constants(store, model)
        # A Markov logic network reads true facts, and none of a predicate that has other values: it does not declare that, or drops it.
        values = Values(store.valued() if soft else set(), set() if soft else set(between))
        built = _build(store, _Asked(model, roles, values, chosen, openings, opened or {}), constants, limit)
        if built and any(opening.scope is not None for opening in chosen.values()):
            constants = named_constants(store, model)
        found = layout(store, chosen, openings, set(roles.hidden), values.unseen)
        found = replace(found, atom_limit=limit, training=training)
        # They may have been made under a greater limit.
        check_atoms({name: info.atom_count for name, info in found.predicates.items() if info.open}, limit)
    warn_of_constants(store, model, constants, first=training or built)
    if training or built:
        warn_outside(store, chosen)
        warn_unlabelled(store, chosen)
    return found


@dataclass(frozen=True)
class Values:
    """Predicates by how a model reads their soft truths."""

    # Closed predicates of which the model reads all facts, with their values; of others it reads the true ones.
    with_values: Collection[str] = ()
    # Closed predicates that it does not see.
    unseen: Collection[str] = ()


def find_openings(store: Store, model: Model, roles: Roles) -> dict[str, PredicateOpening]:
    """Return the open predicates of a model and how each is open; one that the model declares closed is an error."""
    records, sources = store.predicates(), store.sources()
    named = model.query | roles.opened
    unknown = sorted(model.query - set(model.predicates))
    if unknown:
        like = did_you_mean(nearest_names(unknown[0], model.predicates))
        raise CatalogError(
            f"{Parameter('query')} names predicates that the model does not declare: {', '.join(unknown)}{like}"
        )
    openings: dict[str, PredicateOpening] = {}
    for name in sorted(model.predicates):
        loaded = {role: s for (predicate, role), s in sources.items() if predicate == name}
        target = name in named or bool({"label", "given"} & loaded.keys()) or records[name].scope is not None
        if not target and "soft" not in loaded:
            continue
        if model.predicates[name].closed:
            star = "" if model.semantics == SOFT else f" (*{name})"
            raise CatalogError(
                f"{name} is declared closed{star}, but it is to be predicted: {'drop the star' if star else 'declare it open'}, or load it without target, given, "
                "soft evidence, scope and query."
            )
        openings[name] = PredicateOpening(records[name], loaded, target, records[name].scope)
    return openings


def _forget_unused(store: Store, chosen: Mapping[str, PredicateOpening], opened: Mapping[str, pa.Table]) -> None:
    """Remove constants that no fact, declaration or scope has any more: also those of a scope that this model does not use, or of what was opened."""
    built = json.loads(store.state("atoms") or "{}")
    left = set(built.get("scoped", ())) - set(_scoped(chosen))
    # Rules may name constants that the data lack, and reach atoms of them.
    same = "opened" not in built or (bool(opened) and built["opened"] == _digest(opened))
    if store.state("stale") != "1" and not left and same:
        return
    if compact(store):
        store.touch()
    store.set_state("stale", "0")


def _scoped(chosen: Mapping[str, PredicateOpening]) -> list[str]:
    """Return the predicates whose scope the user gave."""
    return sorted(name for name, opening in chosen.items() if opening.scope is not None)


@dataclass(frozen=True)
class _Asked:
    """What a model asks of the data: its open predicates, those that it uses (`chosen`) and all, and how it reads values."""

    model: Model
    roles: Roles
    values: Values
    chosen: Mapping[str, PredicateOpening]
    openings: Mapping[str, PredicateOpening]
    # Atoms beside those of a scope, by predicate, as names of constants in the columns of the scope.
    opened: Mapping[str, pa.Table]


def _build(store: Store, asked: _Asked, constants: NamedConstants, limit: int) -> bool:
    """Build examples, domains and atoms; False if they were built from the same data for the same open predicates and types."""
    built, chosen = _state(store, asked, constants), asked.chosen
    if store.state("atoms") == built:
        return False
    source = example_source(store)
    scoped = {name: _with_example(opening, source) for name, opening in chosen.items()}
    for opening in scoped.values():
        check_independent(opening, source)
    scoped = {name: _encoded_scope(store, opening, asked.opened.get(name)) for name, opening in scoped.items()}
    closed = _close(store, asked.openings.keys(), set(asked.roles.empty), asked.values)
    bound = BoundData(source, closed, scoped, local_types(source, closed.values(), store.types()))
    if grow(store, bound, built):
        records = [(opening, store.predicates()[name]) for name, opening in sorted(scoped.items())]
        note_outside(store, records)
        note_unlabelled(store, records)
        store.set_state("atoms", built)
        return True
    if any(opening.scope is not None for opening in scoped.values()):
        # The dictionaries have the constants of scopes by now.
        constants = named_constants(store, asked.model)
        built = _state(store, asked, constants)
    show_named(store, constants, bound.local, source)
    build_examples(store, source, bound_types(store))
    build_domains(store, bound)
    types, first = bound_types(store), 1
    check_atoms(atom_counts(store, list(scoped.values()), source, types), limit)
    records = []
    for name in sorted(scoped):
        record, count = build_atoms(store, scoped[name], source, types, first=first)
        first += count
        store.drop(scoped[name].scope)
        # The scope stays as text: its encoded copy was scratch.
        records.append((scoped[name], replace(record, scope=chosen[name].scope)))
        store.save_predicate(records[-1][1])
    note_outside(store, records)
    note_unlabelled(store, records)
    readable_views(store, closed.keys() | scoped.keys())
    store.set_state("atoms", built)
    return True


def _state(store: Store, asked: _Asked, constants: NamedConstants) -> str:
    """Return what atoms are built from, as it is kept."""
    chosen, empty = asked.chosen, asked.roles.empty
    return json.dumps(
        {
            "data": store.state("data"),
            "one": ONLY_EXAMPLE,
            "labels": "in scope",
            "open": {n: o.target for n, o in chosen.items()},
            "others": sorted(asked.openings.keys() - chosen.keys()),
            "scoped": _scoped(chosen),
            # Data fix the types of their predicate; of one without data each model may declare others.
            "types": {n: o.record.types for n, o in chosen.items()},
            # Where there are none, what an earlier version has built need not be built again.
            **({"named": key} if (key := constants.key()) else {}),
            **({"empty": {n: asked.model.predicates[n].types for n in empty}} if empty else {}),
            **({"false": false} if (false := [n for n, o in chosen.items() if o.labelled and not o.sources]) else {}),
            # Which tables have values; those of closed facts are other ones for a soft model.
            **({"values": sorted(found)} if (found := _with_values(asked)) else {}),
            # Those that rules reach may be more than a state should hold.
            **({"opened": _digest(asked.opened)} if asked.opened else {}),
        },
        sort_keys=True,
        ensure_ascii=False,
    )


def _digest(tables: Mapping[str, pa.Table]) -> str:
    """Return a hash of tables of text, by their rows in order."""
    found = hashlib.sha256()
    for name in sorted(tables):
        data = tables[name].combine_chunks()
        found.update(json.dumps([name, data.column_names, data.num_rows]).encode())
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, data.schema) as stream:
            stream.write_table(data)
        found.update(sink.getvalue())
    return found.hexdigest()[:12]


def _with_values(asked: _Asked) -> set[str]:
    valued = {name for name, opening in asked.chosen.items() if opening.valued}
    return valued | (set(asked.values.with_values) - asked.openings.keys())


def _with_example(opening: PredicateOpening, source: ExampleSource) -> PredicateOpening:
    """Return an opening whose record says where its example stands; without data that follows from the kind of examples."""
    record = opening.record
    if source.kind == "type" and source.type in record.types:
        record = replace(record, example="argument")
    elif not opening.sources:
        record = replace(record, example="column" if source.kind == "column" else None)
    return replace(opening, record=record)


def _encoded_scope(store: Store, opening: PredicateOpening, opened: pa.Table | None) -> PredicateOpening:
    """Return an opening whose scope, with what was opened beside it, is a table of ids."""
    if opening.scope is None:
        return opening
    record = opening.record
    table = store.table(opening.scope)
    found = store.columns(exp.select("*").from_(table), "describe a scope")
    wanted = key_columns(len(record.arguments), record.example == "column")
    if sorted(found) != sorted(wanted):
        beside = " and a column named example" if record.example == "column" else ""
        raise CatalogError(
            f"the scope of {record.predicate} has the columns {', '.join(found)}, expected one for each of its {len(record.arguments)} arguments"
            f"{beside}."
        )
    fault = no_numbers(store, record, opening.scope)
    if fault is not None:
        raise CatalogError(fault)
    encoded = store.free_name("scoped", record.predicate)
    listed: exp.Query = exp.select(*map(column, wanted)).from_(table)
    further = None
    if opened is not None:
        further = store.free_name("opened", record.predicate)
        store.create(further, opened, f"read what was opened of {record.predicate}")
        listed = union_all([listed, exp.select(*map(column, wanted)).from_(store.table(further))])
    encode(
        store,
        listed,
        encoded,
        record.known_types(),
        example_column=record.example == "column",
        example_type=store.state("example_type"),
    )
    types = store.types()
    # Texts of a scope are distinct, but those of numbers may be one number.
    if opened is not None or any(is_number(types[name]) for name in record.known_types()):
        distinct = exp.select("*").from_(store.table(encoded)).distinct()
        store.create(encoded, distinct, f"encode the scope of {record.predicate}")
    store.drop(further)
    return replace(opening, scope=encoded)


def _close(
    store: Store, openings: Collection[str], empty: Collection[str], values: Values
) -> dict[str, PredicateRecord]:
    """Give each closed predicate a table of its true facts, or of all with their values, and return those predicates; one of `empty` has none."""
    closed: dict[str, PredicateRecord] = {}
    sources = store.sources()
    storages = {s.storage for s in sources.values()}
    loaded = {name for name, _ in sources}
    for name, record in store.predicates().items():
        if name not in loaded and name not in openings:
            closed.update(_emptied(store, record, keep=name in empty))
            continue
        source = sources.get((name, "fact"))
        if name in openings or source is None or source.staged or any(n == name and r != "fact" for n, r in sources):
            continue
        old = record.facts if record.facts is not None and record.facts not in storages else None
        if name in values.unseen:
            if old is not None:
                store.drop(old)
                store.save_predicate(replace(record, facts=None))
            continue
        if source.signed and name not in values.with_values:
            keys = key_columns(len(record.arguments), source.example)
            keys = [*keys, "value"] if source.valued else keys or ["truth"]
            true = exp.select(*map(column, keys)).from_(store.table(source.storage)).where(column("truth"))
            stored = is_stored(source.storage)
            if old is not None and is_stored(old) != stored:
                store.drop(old)
                old = None
            facts = old or store.free_name(f"{STORED}fact" if stored else "fact", name)
            if stored:
                # Files of a server are not copied.
                store.create_view(facts, true, f"show the true facts of {name}")
                rows = store.count(store.table(facts), f"count the true facts of {name}")
            else:
                rows = store.create(facts, true, f"keep the true facts of {name}")
        else:
            store.drop(old)
            facts, rows = source.storage, source.rows
        store.drop(record.atoms)
        closed[name] = replace(record, open=False, facts=facts, atoms=None, rows=rows, given=False)
        if closed[name] != record:
            store.save_predicate(closed[name])
    return closed


def _emptied(store: Store, record: PredicateRecord, *, keep: bool) -> dict[str, PredicateRecord]:
    """Return a predicate without data by its name, with an empty table of facts; none if it is not taken as empty, or no longer."""
    store.drop(record.atoms)
    facts = record.facts
    if keep:
        facts = facts or store.free_name("fact", record.predicate)
        keys = key_columns(len(record.arguments), example=False) or ["present"]
        columns = dict.fromkeys(keys, "INTEGER" if record.arguments else "BOOLEAN")
        store.create_empty(facts, columns, f"make {record.predicate} empty")
    elif facts is not None:
        store.drop(facts)
        facts = None
    made = replace(record, open=False, facts=facts, atoms=None, rows=0, given=False, example=None)
    if made != record:
        store.save_predicate(made)
    return {record.predicate: made} if keep else {}


def layout(
    store: Store,
    chosen: Mapping[str, PredicateOpening],
    openings: Mapping[str, PredicateOpening],
    hidden: Collection[str] = (),
    apart: Collection[str] = (),
) -> Layout:
    """Return the layout of the database as it was built; the atoms of `hidden` predicates are not reported, and closed ones of `apart` are not there."""
    source = example_source(store)
    beyond = named_alone(store)
    types = {name: _type_info(store, record, *beyond.get(name, (0, 0))) for name, record in bound_types(store).items()}
    records = {
        name: record
        for name, record in store.predicates().items()
        if record.facts is not None and (name in chosen or not (name in openings or name in apart or record.open))
    }
    atoms = {name: record.atoms for name, record in records.items() if record.atoms is not None and name in chosen}
    count, *counts = _counts(store, ["example", *atoms.values()])
    atom_counts = dict(zip(atoms, counts, strict=True))
    valued = store.valued()
    predicates = {
        name: replace(
            _predicate_info(store, r, chosen, atom_counts.get(name, 0)), hidden=name in hidden, valued=name in valued
        )
        for name, r in records.items()
    }
    example_type = source.type if source.kind == "type" else None
    return Layout(
        predicates, types, example_type, store.name("example"), count, store.engine.scratch, numbering=numbering(store)
    )


def _counts(store: Store, tables: Sequence[str]) -> list[int]:
    """Return how many rows each of some tables has, by one query."""
    counts = [named(exp.select(star_count()).from_(store.table(t)).subquery(), f"n{i}") for i, t in enumerate(tables)]
    (row,) = store.rows(exp.select(*counts), "count the examples and the atoms")
    return [int(n) for n in row.values()]


def _type_info(store: Store, record: TypeRecord, declared: int, of_rules: int) -> TypeInfo:
    """Return what the layout says of a type, of whose constants the model alone declares some and rules name the last ones."""
    domain = store.name(record.domain) if record.domain is not None else None
    return TypeInfo(
        record.type, store.name(record.dictionary), record.size, record.local, domain, of_rules, record.bins, declared
    )


def _predicate_info(
    store: Store,
    record: PredicateRecord,
    chosen: Mapping[str, PredicateOpening],
    atom_count: int,
) -> PredicateInfo:
    """Return what the layout says of a predicate."""
    opening = chosen.get(record.predicate)
    if record.facts is None:
        raise CatalogError(f"{record.predicate} has no table of facts.")
    atoms = store.name(record.atoms) if opening is not None and record.atoms is not None else None
    return PredicateInfo(
        record.predicate,
        record.known_types(),
        opening is not None,
        store.name(record.facts),
        atoms,
        tuple(i for i, a in enumerate(record.arguments) if a.block),
        record.example == "column",
        opening.full if opening is not None else True,
        record.given,
        record.rows,
        atom_count,
    )
