"""Sources that changed after they were loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlglot import exp

from sqlrl.catalog.files import listed_files
from sqlrl.catalog.fingerprints import (
    MISSING,
    changed_since,
    is_marked,
    is_pattern_fingerprint,
    parse_fingerprint,
    pattern_fingerprint,
    row_count,
    table_fingerprint,
    unmarked_fingerprint,
)
from sqlrl.catalog.image import SourceRecord
from sqlrl.catalog.load_parts import load_again
from sqlrl.catalog.options import LoadOptions, evidence_files, origin
from sqlrl.catalog.server_files import SERVER, files_changed, has_server
from sqlrl.catalog.sources import find_table, find_tables, open_source
from sqlrl.catalog.store import Store
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import integer, named, star_count, union_all
from sqlrl.errors import CatalogError, LoadError, Parameter, Phrase, SourceWarning, UntrustedError, warn
from sqlrl.wording import counted, shortened


@dataclass(frozen=True, slots=True)
class Change:
    """A source that is not what was loaded."""

    record: SourceRecord
    then: str  # What it had when it was loaded, in words.
    now: str  # What it has now, in words.
    gone: bool = False  # A file that no longer exists.

    @property
    def again(self) -> bool:
        """True if `refresh` can load it again."""
        return self.record.kind not in ("object", "relation")


def quick_changes(engine: DuckDBEngine, records: Iterable[SourceRecord]) -> list[Change]:
    """Return the sources that changed, as far as names, sizes and times of files, and numbers of rows of tables, show it."""
    records = list(records)
    # Of a file whose time alone differs the content is compared, too, if it is small. Views, queries, tables of other systems and those
    # that are gone would have to be read and are left to `changed_sources`; objects of Python cannot be looked at again.
    changes = [change for record in records if (change := _changed_files(engine, record)) is not None]
    return changes + _changed_tables(engine, [r for r in records if r.kind == "table"])


def _changed_files(engine: DuckDBEngine, record: SourceRecord) -> Change | None:
    """Return the change of a source that is files, None if there is none."""
    if record.kind == "file" and is_pattern_fingerprint(record.fingerprint):
        listed = LoadOptions.from_json(record.options).files
        files = listed_files(engine, listed or [record.source])
        number = int(record.fingerprint.split(":")[1])
        if not files:
            return Change(record, counted(number, "file"), MISSING, gone=True)
        if pattern_fingerprint(files) == record.fingerprint:
            return None
        return Change(
            record, counted(number, "file"), f"{counted(len(files), 'file')}, of which some are new or changed"
        )
    if record.kind not in ("file", "object"):
        return None
    evidence = record.kind == "object"
    for path, fingerprint in evidence_files(record) if evidence else [(Path(record.source), record.fingerprint)]:
        before = parse_fingerprint(fingerprint)
        if before is None or (evidence and before.time is None):
            continue
        if not path.exists():
            # Other objects are no files, and only the name of old evidence is known that the user gave.
            return (
                None if evidence and not path.is_absolute() else Change(record, before.describe(), MISSING, gone=True)
            )
        now = changed_since(path, fingerprint, thorough=False)
        if now is not None:
            return Change(record, before.describe(), now.describe())
    return None


def _changed_tables(engine: DuckDBEngine, records: Sequence[SourceRecord]) -> list[Change]:
    """Return the tables that have another number of rows now."""
    if not records:
        return []
    found = find_tables(engine, [record.source for record in records])
    queries: list[exp.Query] = [
        exp.select(named(integer(i), "i"), named(star_count(), "n")).from_(table)
        for i, record in enumerate(records)
        if (table := found.get(record.source)) is not None
    ]
    if not queries:
        return []
    rows = engine.fetch(union_all(queries), step="count the rows of sources").to_pylist()
    changes = []
    for row in sorted(rows, key=lambda r: int(r["i"])):
        record = records[row["i"]]
        before = row_count(record.fingerprint)
        if before is not None and before != row["n"]:
            changes.append(Change(record, counted(before, "row"), counted(row["n"], "row")))
    return changes


def check_sources(store: Store) -> None:
    """Raise a CatalogError if sources have changed (`quick_changes`), and warn of those that are gone, whose facts are kept."""
    records = _every_source(store)
    if not store.engine.trusted:
        # A file that is not trusted may name any other file.
        records = [record for record in records if record.kind == "table"]
    changes = quick_changes(store.engine, records)
    for change in changes:
        if change.gone:
            warn(
                f"{change.record.source}, from which {change.record.predicate} was loaded, is gone: what was loaded from it is used.",
                SourceWarning,
            )
    changed = [change for change in changes if not change.gone]
    if not changed:
        return
    texts = [
        f"{c.record.predicate} was loaded from {c.record.source}, which had {c.then}, and now has {c.now}"
        for c in changed
    ]
    remedies = []
    if any(change.again for change in changed):
        remedies.append(f"{Phrase('call refresh()')} to load what changed again")
    if any(not change.again for change in changed):
        remedies.append(f"load evidence again with {Phrase('Evidence')}")
    raise CatalogError(f"a source changed after it was loaded: {'; '.join(texts)}: {', and '.join(remedies)}.")


def _every_source(store: Store) -> list[SourceRecord]:
    """Return the loads, each with what was appended to it."""
    return [each for source in store.sources().values() for each in (source, *store.appended(source))]


def changed_sources(store: Store) -> list[SourceRecord]:
    """Return the loads whose source, which is read, has other content now; a source that is gone is a LoadError."""
    return [record for record, now in _read_again(store) if now is None]


def _read_again(store: Store) -> Iterator[tuple[SourceRecord, str | None]]:
    """Yield the loads whose source can be read again with the fingerprint of what was loaded; None if it is another content now."""
    for record in _every_source(store):
        # Definitions follow what they use when that is loaded again.
        if record.kind in ("object", "relation", "definition"):
            continue
        if record.kind == SERVER and not has_server(store):
            warn(
                f"{record.predicate} was loaded from {record.source}, which only a server of Spark reads, and this database was opened without one: "
                "what was loaded from it is used.",
                SourceWarning,
            )
        elif record.kind == SERVER:
            yield record, None if files_changed(store, record) else record.fingerprint
        elif record.kind == "file" and not store.engine.trusted:
            warn(
                f"{record.predicate} was loaded from the file {record.source}, which a database opened with {Parameter('trusted', False)} does not read: what "
                "was loaded from it is used.",
                SourceWarning,
            )
        else:
            yield record, _confirmed(store.engine, record)


def _confirmed(engine: DuckDBEngine, record: SourceRecord) -> str | None:
    """Return the fingerprint of a source, which is read, if it has the content that was loaded, else None."""
    # A table that is gone would be read as a query, which DuckDB does not understand.
    if record.kind in ("table", "view") and find_table(engine, record.source) is None:
        raise LoadError(
            f"{record.predicate} was loaded from the {record.kind} {record.source}, which is gone: make it again, or load "
            f"{record.predicate} from something else; until then what was loaded is used."
        )
    options = LoadOptions.from_json(record.options)
    with open_source(engine, origin(record), options.dialect) as source:
        if parse_fingerprint(source.fingerprint) is not None:
            changed = changed_since(Path(record.source), record.fingerprint, thorough=True)
            return record.fingerprint if changed is None else None
        now = source.fingerprint or table_fingerprint(engine, source.table, source.columns)
        before = now
        if is_marked(now) and not is_marked(record.fingerprint):
            before = unmarked_fingerprint(engine, source.table, source.columns)
        return now if before == record.fingerprint else None


def refresh(store: Store, *, run_queries: bool = False) -> list[str]:
    """Load changed sources again, with what was appended to them and removed since, all or none, and return their predicates; `Catalog.refresh` says what `run_queries` is."""
    with store.writing():
        if not (store.engine.trusted or run_queries):
            _check_tables(store)
        changed = []
        for record, now in list(_read_again(store)):
            if now is None:
                changed.append(record)
            elif now != record.fingerprint:
                _confirm(store, record, now)
        for key in sorted({(record.predicate, record.role) for record in changed}):
            load_again(store, store.sources()[key])
    return sorted({record.predicate for record in changed})


def _check_tables(store: Store) -> None:
    """Refuse to read sources that are no tables: to read a query or a view is to run it."""
    kept = {}
    for record in _every_source(store):
        if record.kind in ("object", "relation", "definition", "file", SERVER):
            continue
        found = find_table(store.engine, record.source)
        if record.kind == "query" or (found is not None and found[1] != "table"):
            kept[record.predicate] = f"{record.predicate} from {shortened(record.source, 120)!r}"
    if kept:
        raise UntrustedError(
            f"refresh would run what the file keeps: {'; '.join(kept.values())}: if you want that, {Phrase('pass run_queries=True')}."
        )


def _confirm(store: Store, record: SourceRecord, fingerprint: str) -> None:
    """Keep the fingerprint of a source in its present format."""
    for part in store.load_parts(record.predicate, record.role):
        if part.storage == record.storage:
            store.save_part(replace(part, fingerprint=fingerprint))
            return
    store.save_source(replace(record, fingerprint=fingerprint))
    known = store.predicates()[record.predicate]
    if known.fingerprint == record.fingerprint:
        store.save_predicate(replace(known, fingerprint=fingerprint))
