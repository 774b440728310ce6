"""From a source to a table of facts: read, check, and encode once the types are known; the files of a folder at once."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlrl.catalog.bins import cut_types, is_number
from sqlrl.catalog.columns import Mapped, map_columns, raw_query
from sqlrl.catalog.delimited import is_delimited
from sqlrl.catalog.encoding import (
    ROW,
    SourceRows,
    check_repeated,
    check_rows,
    drop_duplicates,
    encode,
    first_rows,
    key_columns,
    number_rows,
    without_nulls,
)
from sqlrl.catalog.examples import list_examples
from sqlrl.catalog.files import PARQUET
from sqlrl.catalog.fingerprints import rows_fingerprint, table_fingerprint
from sqlrl.catalog.image import ArgumentRecord, PredicateRecord, SourceRecord, TypeRecord, with_types
from sqlrl.catalog.options import LoadOptions
from sqlrl.catalog.soft_truths import check_kinds, check_roles
from sqlrl.catalog.sources import LoadRows, LoadSource, open_source
from sqlrl.catalog.store import Store
from sqlrl.catalog.views import show_loaded
from sqlrl.engine.nodes import column
from sqlrl.errors import DoubleQuoted, InputError, LoadError, Parameter, Phrase, Written
from sqlrl.logic.bias import Bias
from sqlrl.logic.model import Model
from sqlrl.paths import is_dir
from sqlrl.wording import counted, did_you_mean, nearest_names, shortened

Sources = str | Path | Mapping[str, Any]
Types = Bias | Mapping[str, Sequence[str]]
Chosen = tuple[Any, tuple[str, ...] | None]

logger = logging.getLogger(__name__)
_DIRECT = ("table", "object")


# ---- several predicates at once ----------------------------------------------------------------------


def chosen_sources(sources: Sources, types: Types | None) -> dict[str, Chosen]:
    """Return the source and the argument types of each predicate to load; a folder has Parquet, CSV and TSV files named after predicates."""
    found = dict(sources) if isinstance(sources, Mapping) else _files(sources)
    if types is None:
        return {name: (source, None) for name, source in found.items()}
    where = "sources" if isinstance(sources, Mapping) else str(sources)
    # Only the predicates that bodies of a bias have are loaded, and each argument must have one type.
    if isinstance(types, Bias):
        known = _bias_types(types)
        mine: dict[str, Chosen] = {name: (source, known[name]) for name, source in found.items() if name in known}
        if not mine:
            raise LoadError(f"{where} has none of the predicates of {types.path}: {', '.join(known)}")
        return mine
    if not isinstance(types, Mapping):
        raise InputError(
            f"{Parameter('types', types)}: give a mapping from predicates to the types of their arguments, or a bias"
        )
    for name in types:
        if name not in found:
            raise LoadError(
                f"{Parameter('types')} names {name}, which {where} does not have{did_you_mean(nearest_names(name, found))}"
            )
    return {name: (source, tuple(types[name]) if name in types else None) for name, source in found.items()}


def _files(folder: object) -> dict[str, Path]:
    """Return the files of a folder by the names of their predicates, sorted."""
    if not isinstance(folder, str | Path):
        raise InputError(f"{folder!r}: give a folder, or a mapping from predicates to what load takes")
    if not is_dir(folder):
        raise LoadError(f"there is no folder {folder}: one source is loaded with load(predicate, source)")
    found: dict[str, Path] = {}
    for path in sorted(Path(folder).iterdir()):
        if path.suffix.lower() not in PARQUET and not is_delimited(path):
            continue
        name = path.name.split(".", maxsplit=1)[0]
        if name in found:
            raise LoadError(f"{folder} has two files for {name}: {found[name].name} and {path.name}; move one away")
        found[name] = path
    if not found:
        raise LoadError(f"{folder} has no Parquet, CSV or TSV file")
    return found


def _bias_types(bias: Bias) -> dict[str, tuple[str, ...]]:
    """Return the types of each predicate of a bias that bodies have."""
    known: dict[str, tuple[str, ...]] = {}
    for mode in (*bias.body, *bias.unused):
        if mode.predicate == bias.head.predicate:
            continue
        types = tuple(place.type for place in mode.places)
        if known.setdefault(mode.predicate, types) != types:
            raise LoadError(
                f"the modes of {mode.predicate} in {bias.path} have the types ({', '.join(known[mode.predicate])}) and "
                f"({', '.join(types)}): give {Parameter('types')} as a mapping"
            )
    return known


def shared_bins(chosen: Mapping[str, Chosen], bins: Any) -> dict[str, dict[str | int, Any] | None]:
    """Return for each predicate where it cuts types: the first one that has a type chooses the edges, which the others share."""
    if isinstance(bins, Model):
        bins = dict(bins.bins)
    if not isinstance(bins, Mapping | None):
        raise LoadError(
            f"{Parameter('bins', Written(shortened(repr(bins), 80)))} must be a mapping from types to numbers of pieces or edges, or a model."
        )
    left: dict[str, Any] = dict(bins or {})
    kinds = {kind for _, types in chosen.values() for kind in types or ()}
    for name in left:
        if name not in kinds:
            raise LoadError(
                f"{Parameter('bins')} names {name!r}, which is no type of the predicates{did_you_mean(nearest_names(str(name), kinds))}"
            )
    return {
        predicate: {kind: left.pop(kind) for kind in dict.fromkeys(types or ()) if kind in left} or None
        for predicate, (_, types) in chosen.items()
    }


# ---- one predicate -----------------------------------------------------------------------------------


def load(store: Store, predicate: str, source: Any, options: LoadOptions) -> None:
    """Load the facts of a predicate in place of those with the same role; a LoadError lists every fault, and changes nothing."""
    known = store.predicates().get(predicate)
    others = [s for (name, role), s in store.sources().items() if name == predicate and role != options.role]
    types = argument_types(predicate, known, options, others)
    with store.writing(), open_source(store.engine, source, options.dialect) as opened:
        mapped = map_columns(predicate, opened, options, types)
        kinds = tuple(opened.kind_of(name) for name in mapped.arguments) if not opened.nothing else ()
        options = replace(options, files=opened.files, kinds=kinds)
        record = described(predicate, known, mapped, types, alone=not others)
        loaded = _read(store, record, opened, mapped, options)
        register(store, record, loaded, mapped)


def argument_types(
    predicate: str, known: PredicateRecord | None, options: LoadOptions, others: Sequence[SourceRecord]
) -> tuple[str | None, ...] | None:
    """Return the types of a predicate's arguments as far as they are known, None if not even their number is."""
    if options.types is not None:
        if isinstance(options.types, str):
            raise LoadError(
                f"{predicate}: {Parameter('types')} must be a list with one type for each argument, not {options.types!r}."
            )
        if others and known is not None and None not in known.types and known.types != tuple(options.types):
            roles = " and ".join(f"those loaded as {s.role} from {shortened(s.source)}" for s in others)
            raise LoadError(
                f"{predicate} has the types ({', '.join(map(str, known.types))}), not ({', '.join(options.types)}), as other facts "
                f"of it have them, {roles}: leave {Parameter('types')} out, or load all its facts into another database."
            )
        return tuple(options.types)
    # Earlier types bind a load only if facts of other roles have them.
    if known is None or (not others and None in known.types):
        return None
    return known.types


def described(
    name: str,
    known: PredicateRecord | None,
    mapped: Mapped,
    types: tuple[str | None, ...] | None,
    *,
    alone: bool,
) -> PredicateRecord:
    """Return the record of the predicate as the load describes it; if it stays `alone`, earlier loads say nothing any more."""
    types = types if types is not None else (None,) * len(mapped.arguments)
    old = known.arguments if known is not None else ()
    # One argument has the example: the one that this load names, else the one that the facts of another role have named.
    kept = mapped.example_argument is None and not alone
    arguments = tuple(
        ArgumentRecord(
            column_name,
            types[i],
            block=i < len(old) and old[i].block,
            example=i == mapped.example_argument or (kept and i < len(old) and old[i].example),
        )
        for i, column_name in enumerate(mapped.arguments)
    )
    return replace(known or PredicateRecord(name), arguments=arguments)


def _read(
    store: Store, record: PredicateRecord, source: LoadSource, mapped: Mapped, options: LoadOptions
) -> SourceRecord:
    """Write the rows of a source into a table: as ids if all types are known, else as text."""
    example = mapped.example_column is not None
    raw = raw_query(source, mapped, options) if not source.nothing else empty_rows(len(record.arguments), example)
    # A relation cannot be read again, and running it a second time may be costly: its rows are taken as they were stored.
    again = not source.nothing and source.kind != "relation"
    rows = LoadRows(record, raw, source, options.role, source.fingerprint, options, example, mapped.extra, mapped.value)
    loaded = write_rows(store, rows, again=reads_alike(source))
    if not loaded.rows and options.empty == "error":
        raise LoadError(
            f"{record.predicate} from {source.label}: there are no rows; pass {Parameter('empty', DoubleQuoted('allow'))} if it has no facts."
        )
    if source.fingerprint:
        return loaded
    if source.rows is not None:
        return replace(loaded, fingerprint=rows_fingerprint(source.rows))
    # It takes as long as half the load, and rows may be refused.
    columns = (source.table, source.columns) if again else (store.table(loaded.storage), None)
    return replace(loaded, fingerprint=table_fingerprint(store.engine, *columns))


def reads_alike(source: LoadSource) -> bool:
    """Return True if reading a source a second time yields the same rows at little cost."""
    return source.kind in _DIRECT or (
        source.kind == "file" and isinstance(source.table, exp.Anonymous) and source.table.name == "read_parquet"
    )


def empty_rows(arity: int, example: bool) -> exp.Select:
    """Return the query of no rows."""
    columns = [exp.cast(exp.null(), "varchar").as_(name, quoted=True) for name in key_columns(arity, example)]
    return exp.select(*(columns or [exp.true().as_("present")])).where(exp.false())


def write_rows(store: Store, rows: LoadRows, *, again: bool = True) -> SourceRecord:
    """Check rows of text and write them into a table of the predicate; return the record of what was loaded."""
    record, raw, source, role, options = rows.record, rows.query, rows.source, rows.role, rows.options
    where, example, extra = rows.where, rows.example, rows.extra
    keys = key_columns(len(record.arguments), example)
    needed = [*keys, *(["value"] if "value" in extra else [])]
    storage = store.free_name(role, record.predicate)
    known = all(t is not None for t in record.types)
    staged: str | None = None
    if not (known and again):
        # A query may be costly or yield other rows the second time, and rows without types must wait.
        staged = store.free_name("staged", record.predicate)
        store.create(staged, raw, f"read {where}")
        raw = exp.select("*").from_(store.table(staged))
    numbered = options.nulls == "drop" and bool(needed)
    if numbered:
        raw = _present(store, raw, needed, where)
    options = cut_types(store, rows, raw)
    null, drops = "an empty field" if source.delimited else "NULL", options.duplicates == "drop"
    checked = SourceRows(
        where, keys, extra, raw if numbered else number_rows(raw), _numeric(store, record), null, drops
    )
    # What costs the most comes after what may be refused.
    unique = known and not drops and check_repeated(store, checked)
    dropped = 0
    if known:
        _encode(store, raw, storage, record, extra, example, options.kinds)
    elif drops or numbered:
        # Messages number the rows of the source: those stay until they are checked, and what is kept knows its number.
        storage = store.free_name("staged", record.predicate)
        kept = first_rows(raw, [*keys, *extra], numbered=numbered) if drops else raw
        store.create(storage, kept, f"drop rows of {where}")
        if drops:
            dropped = store.count(raw.subquery("rows"), f"count the rows of {where}")
            dropped -= store.count(store.table(storage), f"count the rows of {where} that are kept")
    else:
        assert staged is not None, "what has no types is staged"
        storage = staged
    if drops and known:
        dropped = drop_duplicates(store, storage)
    sizes = _sizes(store, record, example) if known else []
    # The types may be new, and some are of numbers.
    checked = replace(checked, numeric=_numeric(store, record))
    number = check_rows(store, storage, checked, sizes, unique=unique)
    if drops:
        _tell_dropped(store, where, dropped)
    loaded = SourceRecord(
        record.predicate,
        role,
        storage,
        not known,
        "truth" in extra,
        example,
        source.kind,
        source.address or source.label,
        rows.fingerprint,
        options.to_json(),
        number,
        rows.value,
    )
    check_roles(store, record, loaded, checked)
    if storage != staged:
        store.drop(staged)
    return loaded


def _present(store: Store, raw: exp.Query, keys: Sequence[str], where: str) -> exp.Select:
    """Return the query of the rows that miss no key and no value, with their numbers; the log says how many there are beside them."""
    kept = without_nulls(raw, keys)
    number = store.count(raw.subquery("every_row"), f"count the rows of {where}")
    number -= store.count(kept.subquery("kept"), f"count the rows of {where} without NULL")
    logger.info("%s: %s with NULL dropped", where, counted(number, "row"))
    return kept


def _tell_dropped(store: Store, where: str, dropped: int) -> None:
    """Count rows that were left out, since they repeat others."""
    store.dropped += dropped
    logger.info("%s: %s dropped", where, counted(dropped, "duplicate row"))


def _encode(
    store: Store,
    raw: exp.Query,
    storage: str,
    record: PredicateRecord,
    extra: Sequence[str],
    example: bool,
    kinds: Sequence[str],
) -> None:
    """Encode rows of text with the types of the predicate."""
    named = [a.type for a in record.arguments if a.example]
    example_type = named[0] if named else store.state("example_type")
    types = record.known_types()
    encode(store, raw, storage, types, extra=extra, example_column=example, example_type=example_type, kinds=kinds)


def _sizes(store: Store, record: PredicateRecord, example: bool) -> list[int]:
    """Return how many ids each key column can have."""
    types = store.types()
    sizes = [types[t].size for t in record.known_types()]
    return [store.count(store.table("example"), "count the examples"), *sizes] if example else sizes


def _numeric(store: Store, record: PredicateRecord) -> dict[str, TypeRecord]:
    """Return the types of the argument columns that hold numbers, or pieces of them."""
    numbers = {name: known for name, known in store.types().items() if is_number(known)}
    return {f"a{i}": numbers[name] for i, name in enumerate(record.types) if name in numbers}


def register(store: Store, record: PredicateRecord, loaded: SourceRecord, mapped: Mapped) -> None:
    """Record what was loaded, in place of an earlier load of the same role."""
    old = store.sources().get((record.predicate, loaded.role))
    check_kinds(store, record.predicate, loaded)
    if old is not None:
        record = drop_load(store, record, old)
    store.save_source(loaded)
    record = replace(
        with_sources(store, record),
        source=loaded.source,
        fingerprint=loaded.fingerprint,
        open=record.open or loaded.role in ("label", "given", "soft"),
        readable=record.readable or store.free_name("named", record.predicate),
    )
    store.save_predicate(record)
    if old is not None and old.example:
        forget_examples(store)
    _note_examples(store, record, mapped.example_argument, loaded.example)
    show_loaded(store, record.predicate)
    list_examples(store)
    store.touch()


def drop_load(store: Store, record: PredicateRecord, old: SourceRecord) -> PredicateRecord:
    """Drop the tables of a load that another one replaces, and return the record of its predicate without them."""
    store.drop_view(record.readable)
    facts = None if record.facts == old.storage else record.facts
    store.drop(old.storage)
    store.forget_parts(record.predicate, old.role)
    store.set_state("stale", "1")
    return replace(record, facts=facts)


def forget_examples(store: Store) -> None:
    """Forget the examples that a column named if no source has such a column any more."""
    if not any(s.example for s in store.sources().values()):
        store.forget_state("examples")
        store.clear("example")


def with_sources(store: Store, record: PredicateRecord) -> PredicateRecord:
    """Return a predicate with what its loads say together: the number of rows, and where the example stands."""
    sources = [s for (name, _), s in store.sources().items() if name == record.predicate]
    named = "argument" if any(a.example for a in record.arguments) else None
    example = "column" if any(s.example for s in sources) else named
    return replace(record, rows=sum(s.rows for s in sources), example=example)


def _note_examples(store: Store, record: PredicateRecord, argument: int | None, in_column: bool) -> None:
    """Remember where the examples come from; two places that differ are an error."""
    found = kind_of_examples(store, record, argument, in_column=in_column)
    if found is None:
        # Of a staged source only its types will tell whether the example is an argument.
        return
    kind, type_name = found
    old = store.state("examples")
    if old is None and in_column and store.state("atoms") is not None:
        # What was bound before left examples that are none of the column.
        store.set_state("stale", "1")
    if old is None and not in_column:
        store.clear("example")
    store.set_state("examples", kind)
    if type_name is not None:
        store.set_state("example_type", type_name)


def kind_of_examples(
    store: Store, record: PredicateRecord, argument: int | None, *, in_column: bool
) -> tuple[str, str | None] | None:
    """Return where a load says that examples come from, None if it does not; what other loads said otherwise is an error."""
    if in_column:
        kind, type_name = "column", None
    elif argument is not None and record.arguments[argument].type is not None:
        kind, type_name = "type", record.arguments[argument].type
    else:
        return None
    old, known = store.state("examples"), store.state("example_type")
    if old is not None and old != kind:
        raise LoadError(
            f"{record.predicate}: examples come from a {old} so far, not from a {kind}: use one kind of examples for all predicates."
        )
    if type_name is not None and known is not None and known != type_name:
        raise LoadError(
            f"{record.predicate}: the examples are the constants of {known!r}, not of {type_name!r}: name the same "
            f"type{Phrase(', or call load(example={!r}) before', (type_name,))}."
        )
    return kind, type_name


def resolve(store: Store, record: PredicateRecord, types: Sequence[str]) -> PredicateRecord:
    """Encode the facts that waited for their types and return the predicate's new record."""
    staged = [s for (name, _), s in store.sources().items() if name == record.predicate and s.staged]
    beside = [i for i, a in enumerate(record.arguments) if a.example]
    # One staged argument more than there are types, named as the example, is the example column beside the arguments.
    moved = len(types) == len(record.arguments) - 1 and bool(beside)
    if len(types) != len(record.arguments) and not moved:
        names = ", ".join(a.name for a in record.arguments)
        raise LoadError(
            f"{record.predicate} was loaded from {record.source} with {counted(len(record.arguments), 'column')} ({names}), but has "
            f"{counted(len(types), 'argument')} ({', '.join(types)}): load it again and name their columns with {Parameter('columns', Written('[...]'))}."
        )
    if moved:
        kept = tuple(a for i, a in enumerate(record.arguments) if i != beside[0])
        record = replace(record, arguments=kept)
    # The view of text goes before the rows that it shows.
    store.drop_view(record.readable)
    record = with_types(record, types)
    for source in staged:
        _encode_staged(store, record, source, beside[0] if moved else None)
    store.save_predicate(with_sources(store, record))
    named = [a.type for a in record.arguments if a.example]
    if moved:
        _note_examples(store, record, None, in_column=True)
    elif named and named[0] is not None:
        _note_examples(store, record, [a.example for a in record.arguments].index(True), in_column=False)
    show_loaded(store, record.predicate)
    list_examples(store)
    store.touch()
    return store.predicates()[record.predicate]


def _encode_staged(store: Store, record: PredicateRecord, source: SourceRecord, moved: int | None) -> None:
    """Encode one staged table."""
    raw = exp.select("*").from_(store.table(source.storage))
    options = LoadOptions.from_json(source.options)
    dropped = options.duplicates == "drop"
    # Files of earlier versions have no numbers of rows beside what was kept of duplicates.
    numbered = (dropped or options.nulls == "drop") and ROW in store.columns(raw, "describe what was loaded")
    example = source.example or moved is not None
    if moved is not None:
        old = [i for i in range(len(record.arguments) + 1) if i != moved]
        parts = [column(f"a{moved}").as_("example", quoted=True)]
        parts += [column(f"a{i}").as_(f"a{new}", quoted=True) for new, i in enumerate(old)]
        raw = exp.select(*parts, *map(column, [*source.extra, *([ROW] if numbered else [])])).from_(
            store.table(source.storage)
        )
    storage = store.free_name(source.role, record.predicate)
    kinds = [k for i, k in enumerate(options.kinds) if i != moved]
    _encode(store, raw, storage, record, source.extra, example, kinds)
    if dropped:
        # Texts that differ may be one number.
        drop_duplicates(store, storage)
    keys, where = key_columns(len(record.arguments), example), f"{record.predicate} from {source.source}"
    numbers = raw if numbered else number_rows(raw)
    checked = SourceRows(where, keys, source.extra, numbers, _numeric(store, record), distinct=dropped)
    rows = check_rows(store, storage, checked, _sizes(store, record, example))
    text = replace(options, kinds=tuple(kinds)).to_json()
    encoded = replace(source, storage=storage, staged=False, example=example, rows=rows, options=text)
    check_roles(store, record, encoded, checked)
    store.drop(source.storage)
    store.save_source(encoded)


def guessed_types(record: PredicateRecord) -> tuple[str, ...]:
    """Return the types that the names of columns suggest: the name itself, without digits at its end."""
    return tuple(a.type or a.name.rstrip("0123456789") or a.name for a in record.arguments)
