"""What was bound grows by new examples: their domains, facts and atoms are added, and what was built of the others stays."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from sqlrl.catalog.atoms import PredicateOpening, atom_rows, counted_facts, known_rows
from sqlrl.catalog.domains import BoundData
from sqlrl.catalog.examples import ExampleSource
from sqlrl.catalog.image import PartRecord, PredicateRecord
from sqlrl.catalog.store import Store
from sqlrl.catalog.views import readable_views
from sqlrl.engine.nodes import column, integer, named, union_all

_STATE = "appended"
"""The entry of the state that holds what was appended since atoms were built, if nothing else changed."""


# ---- what was appended -------------------------------------------------------------------------------


def before_append(store: Store) -> dict[str, Any] | None:
    """Return what is known of the data before rows are appended: as it was when atoms were built; None if other changes came since."""
    data, known = store.state("data"), json.loads(store.state(_STATE) or "null")
    if known is not None and known["to"] == data:
        found: dict[str, Any] = known
        return found
    built = json.loads(store.state("atoms") or "{}")
    if built.get("data") != data or store.state("stale") == "1":
        return None
    sizes = {name: record.size for name, record in store.types().items()}
    return {"examples": store.count(store.table("example"), "count the examples"), "sizes": sizes, "parts": []}


def note_append(store: Store, before: dict[str, Any] | None, part: PartRecord) -> None:
    """Keep that a part was appended, and nothing else changed, since atoms were built."""
    if before is None:
        store.forget_state(_STATE)
        return
    parts = [*before["parts"], [part.predicate, part.role, part.part]]
    store.set_state(_STATE, json.dumps({**before, "parts": parts, "to": store.state("data")}, ensure_ascii=False))


# ---- growing -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Appended:
    """Parts of a predicate that were appended, with the record of it."""

    record: PredicateRecord
    role: str
    part: PartRecord


def grow(store: Store, data: BoundData, built: str) -> bool:
    """Add new examples to what was built; False, with nothing done, if more changed (`built` describes what is to be built)."""
    source, chosen, local = data.source, data.openings, data.local
    note, before = json.loads(store.state(_STATE) or "null"), json.loads(store.state("atoms") or "{}")
    if note is None or note["to"] != store.state("data") or source.kind == "one":
        return False
    now = json.loads(built)
    if {**before, "data": None} != {**now, "data": None} or "named" in now:
        return False
    types, first = store.types(), note["examples"]
    if any(record.local != local[name] for name, record in types.items()):
        return False
    for opening in chosen.values():
        if not opening.full or opening.record.atoms is None or len(opening.sources) > 1 or "soft" in opening.sources:
            return False
        # Other examples would have new constants of these types in their atoms, too.
        kinds = {t for t in opening.record.known_types() if not local[t] and t != source.type}
        if any(types[kind].size != note["sizes"].get(kind) for kind in kinds):
            return False
    appended = _parts(store, note["parts"])
    if appended is None or not _about_new(store, appended, source, first):
        return False
    _grow_domains(store, appended, data)
    atoms = 1 + sum(_count(store, o.record.atoms) for o in chosen.values() if o.record.atoms is not None)
    for name in sorted(chosen):
        record, added = _grow_atoms(store, chosen[name], appended, source, first, atoms)
        atoms += added
        store.save_predicate(record)
    readable_views(store, data.closed.keys() | chosen.keys(), only={each.record.predicate for each in appended})
    store.forget_state(_STATE)
    return True


def _parts(store: Store, listed: Iterable[tuple[str, str, int]]) -> list[_Appended] | None:
    """Return the appended parts, None if one is not there any more."""
    records, found = store.predicates(), []
    for predicate, role, number in listed:
        parts = [part for part in store.load_parts(predicate, role) if part.part == number]
        if not parts:
            return None
        found.append(_Appended(records[predicate], role, parts[0]))
    return found


def _about_new(store: Store, appended: Iterable[_Appended], source: ExampleSource, first: int) -> bool:
    """Return whether all appended rows are about examples from an id on."""
    old: list[exp.Query] = []
    for each in appended:
        example = source.of(each.record)
        if example is None:
            return False
        rows = exp.select(named(integer(1), "one")).from_(store.table(each.part.storage))
        old.append(rows.where(exp.LT(this=example, expression=integer(first))))
    return not store.count(union_all(old).subquery("old"), "look for appended rows of earlier examples")


def _count(store: Store, table: str) -> int:
    return store.count(store.table(table), f"count {table}")


def _grow_domains(store: Store, appended: Iterable[_Appended], data: BoundData) -> None:
    """Add the constants of new examples to the domains of local types."""
    rows: dict[str, list[exp.Query]] = {}
    for each in appended:
        name, example = each.record.predicate, data.source.of(each.record)
        opening = data.openings.get(name)
        if example is None or not (name in data.closed or (opening is not None and opening.is_evidence(each.role))):
            continue
        loaded = store.sources()[name, each.role]
        signed = name in data.closed and loaded.signed
        for i, kind in enumerate(each.record.known_types()):
            if data.local[kind]:
                part = exp.select(named(example.copy(), "example"), named(column(f"a{i}"), "id"))
                part = part.from_(store.table(each.part.storage))
                # A part without truth has true facts alone.
                has_truth = signed and "truth" in store.columns(part.select("*", append=False), "describe a part")
                if name in data.closed and loaded.value is not None:
                    part = part.where(column("value") > integer(0))
                elif has_truth:
                    part = part.where(column("truth"))
                rows.setdefault(kind, []).append(part)
    for kind, parts in sorted(rows.items()):
        record = store.types()[kind]
        if record.domain is not None:
            new = exp.select(column("example"), column("id")).from_(union_all(parts).subquery("all_rows")).distinct()
            order = (column("example"), column("id"))
            store.insert(record.domain, new.order_by(*order), ["example", "id"], f"extend the domain of {kind}")


def _grow_atoms(
    store: Store,
    opening: PredicateOpening,
    appended: Iterable[_Appended],
    source: ExampleSource,
    first: int,
    atoms: int,
) -> tuple[PredicateRecord, int]:
    """Add the facts and atoms of new examples to an open predicate; return its new record and how many atoms there are more."""
    record = opening.record
    assert record.facts is not None
    assert record.atoms is not None
    for each in appended:
        if each.record.predicate == record.predicate:
            base = opening.sources[each.role]
            query = exp.select("*").from_(store.table(each.part.storage)).limit(0)
            signed = "truth" in store.columns(query, "describe a part")
            part = {each.role: replace(base, storage=each.part.storage, signed=signed)}
            rows = known_rows(store, replace(opening, sources=part))
            store.insert(record.facts, rows, opening.known, f"extend the facts of {record.predicate}")
    query, names = atom_rows(store, opening, source, store.types(), record.facts, first=atoms, since=first)
    added = store.insert(record.atoms, query, names, f"extend the atoms of {record.predicate}")
    return counted_facts(store, replace(record, open=True), record.facts), added
