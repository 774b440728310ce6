"""Sources that changed after they were loaded."""

from __future__ import annotations

import json

from sqlrl.catalog.columns import LoadOptions
from sqlrl.catalog.loading import load
from sqlrl.catalog.sources import open_source, table_fingerprint
from sqlrl.catalog.store import SourceRecord, Store


def changed_sources(store: Store) -> list[SourceRecord]:
    """Return the loads whose source can be read again and has other content now.

    Raises
    ------
    LoadError
        If a source is gone.
    """
    changed = []
    for record in store.sources().values():
        if record.kind in ("object", "relation"):
            continue
        with open_source(store.engine, record.source) as source:
            now = source.fingerprint or table_fingerprint(store.engine, source.table)
        if now != record.fingerprint:
            changed.append(record)
    return changed


def refresh(store: Store) -> list[str]:
    """Load changed sources again, all or none, and return their predicates."""
    changed = changed_sources(store)
    with store.writing():
        for record in changed:
            load(store, record.predicate, record.source, LoadOptions(**json.loads(record.options)))
    return sorted({record.predicate for record in changed})
