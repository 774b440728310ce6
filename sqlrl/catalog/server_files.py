"""Facts in Parquet that the server of Spark reads and encodes: the database gets views of the encoded files, and the names of types that are not too large."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from sqlrl import markup
from sqlrl.catalog.columns import Mapped, map_columns
from sqlrl.catalog.declarations import compact
from sqlrl.catalog.encoding import key_columns, missing_text
from sqlrl.catalog.image import PredicateRecord, SourceRecord, TypeRecord
from sqlrl.catalog.loading import argument_types, described, drop_load, forget_examples, kind_of_examples, register
from sqlrl.catalog.options import LoadOptions
from sqlrl.catalog.similar_names import warn_of_spellings
from sqlrl.catalog.sources import LoadSource
from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column, integer, named, star_count
from sqlrl.engine.stored import STORED, StoredPart, is_stored, stored_part, stored_query, stored_views, view_of
from sqlrl.errors import DoubleQuoted, EngineError, InputError, LoadError, Parameter, Phrase, Written, brief
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.engine.spark.encoding import Encoded, EncodedNames, EncodingTally, Known, ParquetToEncode
    from sqlrl.engine.spark.server import Server

SERVER = "server"
"""The kind of a source that a server reads."""

_KINDS = {
    "string": "VARCHAR", "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT", "boolean": "BOOLEAN",
    "date": "DATE",
}  # fmt: skip
"""Types of Spark's whose values have the same text in Spark and in DuckDB, and so have decimals without places: unsigned 64-bit integers are these."""

_WHOLE = re.compile(r"decimal\([0-9]+,0\)")

_TAKEN = {"columns", "types", "example", "target", "given", "truth", "duplicates", "nulls", "empty", "files", "kinds"}
"""The options of a load that a server follows, and what loads note of themselves."""

_PIECE = 1_000_000
"""How many constants are read at once to be sent."""

_SCHEME = re.compile(r"s3[an]://")


_SERVER = "open the database with sqlrl.connect(path, engine=sqlrl.Spark(address, storage=...)), or give the path itself to have DuckDB read the files"


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """Parquet that the server of Spark reads, for `db.load(predicate, ServerFiles(path), types=[...])`.

    For data too large for the machine that runs sqlrl: the server numbers the constants and writes the rows as ids below the storage.
    The database, which is opened with `engine=Spark(address, storage=...)`, gets views of these files, so DuckDB must be able to read the
    storage, too; the names of types with more constants than `Spark(dictionary=...)` stay there.

    Constants get the ids that DuckDB gives in a first load, in the order of their names, and new ones go on after those that are there.
    That order also holds for examples, which DuckDB numbers as they first appear.

    Parameters
    ----------
    path : str
        A file, a folder or a pattern, as the server finds it: on its own disk, or in an object store.

    Examples
    --------
    >>> ServerFiles("s3://bucket/token.parquet")
    ServerFiles('s3://bucket/token.parquet')
    >>> ServerFiles("")
    Traceback (most recent call last):
    sqlrl.errors.InputError: ServerFiles('') names no files: give the path of Parquet as the server of Spark finds it.
    """

    path: str
    _repr_html_ = markup.field_table

    def __post_init__(self) -> None:
        given: object = self.path
        if not isinstance(given, str) or not given.strip():
            raise InputError(
                f"ServerFiles({given!r}) names no files: give the path of Parquet as the server of Spark finds it."
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"


def load_files(store: Store, predicate: str, source: ServerFiles, options: LoadOptions) -> None:
    """Load the facts of a predicate by the server, in place of those of the same role; `sqlrl.Database.load` explains the options."""
    from sqlrl.engine.spark.encoding import Encoding

    where = f"{predicate} from {source.path}"
    server, storage = _server(store, where)
    _refuse(where, options)
    known = store.predicates().get(predicate)
    others = [s for (name, role), s in store.sources().items() if name == predicate and role != options.role]
    types = argument_types(predicate, known, options, others)
    if not types or None in types:
        raise LoadError(
            f"{where}: the types of its arguments are needed, since rows on a server wait for no model: pass {Parameter('types', Written('[...]'))}."
        )
    if any(other.valued for other in others):
        raise LoadError(
            f"{where}: other facts of {predicate} have values ({Parameter('value')}), which a server does not encode: load all facts of it from here."
        )
    with store.writing():
        opened, mapped, wanted = _wanted(server, source, where, predicate, options, types)
        record = described(predicate, known, mapped, types, alone=not others)
        old = store.sources().get((predicate, options.role))
        if old is not None:
            record = _forget(store, record, old)
        _check_types(store, where, wanted)
        kind_of_examples(store, record, mapped.example_argument, in_column=mapped.example_column is not None)
        kinds = tuple(opened.kind_of(name) for name in mapped.arguments)
        options = replace(options, kinds=kinds)
        with Encoding(server, most=server.spark.dictionary) as work:
            _check_storage(store, work.begin(), storage)
            with _read(where):
                tally = work.tally(wanted)
            if not (tally.kept_rows if wanted.complete else tally.rows) and options.empty == "error":
                raise LoadError(
                    f"{where}: there are no rows, or no files; pass {Parameter('empty', DoubleQuoted('allow'))} if it has no facts."
                )
            before = _known(store, wanted)
            encoded = work.encode(wanted, tally, before)
            _check(where, wanted, tally, encoded)
            if options.duplicates == "drop":
                store.dropped += (tally.kept_rows if wanted.complete else tally.rows) - encoded.rows
            work.finish()
        _take_names(store, storage, wanted, encoded, kinds, server.spark.dictionary)
        loaded = SourceRecord(
            predicate,
            options.role,
            _take_facts(store, storage, record, options.role, wanted, encoded),
            staged=False,
            signed=wanted.truth is not None,
            example=mapped.example_column is not None,
            kind=SERVER,
            source=source.path,
            fingerprint=tally.fingerprint,
            options=options.to_json(),
            rows=encoded.rows,
        )
        register(store, record, loaded, mapped)


def files_changed(store: Store, record: SourceRecord) -> bool:
    """Return whether the files of a load have other rows now (their number, and a hash by the server), or their encoding is gone."""
    from sqlrl.engine.spark.encoded_parts import still_there
    from sqlrl.engine.spark.encoding import Encoding

    where = f"{record.predicate} from {record.source}"
    server, _ = _server(store, where)
    source, options = ServerFiles(record.source), LoadOptions.from_json(record.options)
    types = store.predicates()[record.predicate].known_types()
    _, _, wanted = _wanted(server, source, where, record.predicate, options, types)
    if is_stored(record.storage) and not still_there(server, _parts(store, record.storage)):
        return True
    with Encoding(server, most=server.spark.dictionary) as work, _read(where):
        return work.tally(wanted).fingerprint != record.fingerprint


def has_server(store: Store) -> bool:
    """Return True if plans run on a server that can read files."""
    from sqlrl.engine.spark.engine import SparkEngine

    return isinstance(store.plans, SparkEngine)


# ---- what is refused before any work -----------------------------------------------------------------


def _server(store: Store, where: str) -> tuple[Server, str]:
    """Return the server and its storage as DuckDB calls it."""
    from sqlrl.engine.spark.engine import SparkEngine

    plans = store.plans
    if not isinstance(plans, SparkEngine):
        raise InputError(f"{where}: only a server of Spark reads ServerFiles: {Phrase(_SERVER)}.")
    server = plans.ready()
    storage = server.spark.folder
    if storage is None:
        raise InputError(
            f"{where}: encoded rows need a place: {Phrase('open the database with sqlrl.Spark(address, storage=...)')}."
        )
    if not store.engine.trusted:
        raise InputError(
            f"{where}: a database opened with {Parameter('trusted', False)} reads no files, and encoded rows are files: {Phrase('open it with trusted=True')}, if you trust it."
        )
    if "://" not in storage and not storage.startswith("/"):
        raise InputError(
            f"{Parameter('storage', storage)} is a path that DuckDB does not know: give a full one, or that of an object store that both read."
        )
    # As Hadoop calls S3.
    return server, _SCHEME.sub("s3://", storage)


def _refuse(where: str, options: LoadOptions) -> None:
    """Refuse options that the server does not follow."""
    standard = LoadOptions()
    others = [
        f.name
        for f in fields(options)
        if f.name not in _TAKEN and getattr(options, f.name) != getattr(standard, f.name)
    ]
    if others:
        raise LoadError(
            f"{where}: {' and '.join(f'{name}=' for name in others)} cannot be followed on a server: do with the Parquet what {'it says' if len(others) == 1 else 'they say'}, "
            "or load the path itself, which DuckDB reads."
        )


def _wanted(
    server: Server, source: ServerFiles, where: str, predicate: str, options: LoadOptions, types: Sequence[str | None]
) -> tuple[LoadSource, Mapped, ParquetToEncode]:
    """Look at the columns of a source and return which are to be encoded; those whose text differs between engines are an error, all together."""
    from sqlrl.engine.spark.encoding import Key, ParquetToEncode, source_columns

    with _read(where):
        columns = source_columns(server, source.path)
    if not columns:
        raise LoadError(
            f"{where}: there is no Parquet that the server can read, or none any more: give the path as the server finds it."
        )
    opened = LoadSource(
        exp.null(), {name: _KINDS.get(kind, kind.upper()) for name, kind in columns.items()}, source.path, SERVER, ""
    )
    mapped = map_columns(predicate, opened, options, types)
    names = [*([mapped.example_column] if mapped.example_column is not None else []), *mapped.arguments]
    faults = [
        f"column {name!r} has the type {columns[name]}, whose text is another one in Spark than in DuckDB: write it to the Parquet as text or as integers."
        for name in names
        if not _reads_alike(columns[name])
    ]
    if mapped.truth is not None and columns[mapped.truth] != "boolean":
        faults.append(f"the truth column {mapped.truth!r} has the type {columns[mapped.truth]}, expected boolean.")
    if faults:
        raise LoadError(f"{where}: " + "\n  ".join(faults))
    kinds = [*([None] if mapped.example_column is not None else []), *types]
    outputs = key_columns(len(mapped.arguments), mapped.example_column is not None)
    keys = [Key(o, c, k, columns[c] == "date") for o, c, k in zip(outputs, names, kinds, strict=True)]
    wanted = ParquetToEncode(
        source.path, tuple(keys), mapped.truth, options.nulls == "drop", options.duplicates == "drop"
    )
    return opened, mapped, wanted


def _reads_alike(kind: str) -> bool:
    """Return True for a type of Spark's whose values have the text that they have in DuckDB."""
    return kind in _KINDS or _WHOLE.fullmatch(kind) is not None


def _check_types(store: Store, where: str, wanted: ParquetToEncode) -> None:
    """Refuse types of numbers, which have one name for each number."""
    types = store.types()
    for kind in dict.fromkeys(key.type for key in wanted.keys):
        record = types.get(kind) if kind is not None else None
        if record is not None and (record.numeric or record.edges is not None):
            what = f"cut into pieces ({Parameter('bins')})" if record.edges is not None else "of numbers (set_numeric)"
            raise LoadError(
                f"{where}: the type {kind} is {what}, which a server does not name: load the path itself, which DuckDB reads."
            )


def _check_storage(store: Store, part: StoredPart, storage: str) -> None:
    """Refuse a storage that DuckDB cannot read."""
    query = exp.select(named(star_count(), "n")).from_(view_of([part.files(storage)], ["rows"]).subquery("begun"))
    try:
        found = store.number(query, "look whether the storage can be read")
    except EngineError as error:
        raise LoadError(
            f"DuckDB cannot read {part.path(storage)}, which the server has written: {brief(error.reason, lines=1)}. Views of encoded files need a {Parameter('storage')} that "
            "both read: a folder that the server shares with this machine, or an object store of which DuckDB has the keys (CREATE SECRET)."
        ) from error
    if found != 1:
        raise LoadError(
            f"DuckDB sees {counted(found, 'row')} of 1 in {part.path(storage)}: give a {Parameter('storage')} that it and the server both read."
        )


@contextmanager
def _read(where: str) -> Iterator[None]:
    """Say of files that the server cannot read what they are."""
    try:
        yield
    except EngineError as error:
        if type(error) is not EngineError:
            raise
        raise LoadError(f"{where}: the server cannot read it: {brief(error.reason, lines=1)}") from error


# ---- constants ---------------------------------------------------------------------------------------


def _forget(store: Store, record: PredicateRecord, old: SourceRecord) -> PredicateRecord:
    """Take away what a load replaces, and the constants that only it had: those of this load begin at their ids again."""
    record = drop_load(store, record, old)
    store.save_predicate(record)
    store.forget_source(old.predicate, old.role)
    if old.example:
        forget_examples(store)
    compact(store, leave=True)
    return record


def _known(store: Store, wanted: ParquetToEncode) -> dict[str | None, Known]:
    """Return the constants and examples that have ids, by the types of what is wanted."""
    from sqlrl.engine.spark.encoding import Known

    types, found = store.types(), dict[str | None, Known]()
    for kind in dict.fromkeys(key.type for key in wanted.keys):
        if kind is None:
            if store.state("examples") is None:
                # What is listed while all data are one example, or constants are, is none of a column.
                store.clear("example")
            size = store.count(store.table("example"), "count the examples")
            found[None] = Known(size, partial(_pieces, store, "example", "example", size))
            continue
        record = store.type_record(kind, types)
        if is_stored(record.dictionary):
            found[kind] = Known(record.size, parts=_parts(store, record.dictionary))
        else:
            found[kind] = Known(record.size, partial(_pieces, store, record.dictionary, "id", record.size))
    return found


def _pieces(store: Store, table: str, ident: str, size: int) -> Iterator[pa.Table]:
    """Read (id, name) of a dictionary piece by piece, within the open transaction."""
    for start in range(0, size, _PIECE):
        query = exp.select(named(column(ident), "id"), column("name")).from_(store.table(table))
        query = query.where(column(ident) >= integer(start), column(ident) < integer(start + _PIECE))
        yield store.engine.fetch(query.order_by(column(ident)), step=f"read {table}")


def _parts(store: Store, view: str) -> tuple[StoredPart, ...]:
    """Return the folders of which a table in the storage consists."""
    name = store.name(view)
    query = stored_query(name, stored_views(store.engine)[name])
    parts = [stored_part(str(each.this)) for each in query.find_all(exp.Literal)]
    return tuple(part for part in parts if part is not None)


def _take_names(
    store: Store, storage: str, wanted: ParquetToEncode, encoded: Encoded, kinds: Sequence[str], most: int
) -> None:
    """Add the new constants of each type to its dictionary, or make it a view where they are too many, and new examples to theirs."""
    types = store.types()
    for kind, names in encoded.names.items():
        if not names.new:
            continue
        if kind is None:
            files = view_of([part.files(storage) for part in names.added], ["id", "name"]).subquery("n")
            rows = exp.select(named(column("id"), "example"), column("name"), named(column("id"), "ordinal")).from_(
                files
            )
            store.insert("example", rows.order_by(column("id")), ["example", "name", "ordinal"], "extend the examples")
            continue
        record = types[kind]
        grown = _grown(store, storage, record, names, most)
        store.save_type(grown)
        if not is_stored(grown.dictionary):
            mine = [kinds[i] for i, key in enumerate(k for k in wanted.keys if k.type is not None) if key.type == kind]
            warn_of_spellings(store, grown, record.size, mine)


def _grown(store: Store, storage: str, record: TypeRecord, names: EncodedNames, most: int) -> TypeRecord:
    """Return a type with its new constants, in the database if there are no more than `most`."""
    grown, step = replace(record, size=record.size + names.new), f"extend the dictionary of {record.type}"
    if not is_stored(record.dictionary) and grown.size <= most:
        added = view_of([part.files(storage) for part in names.added], ["id", "name"])
        store.insert(record.dictionary, added.order_by(column("id")), ["id", "name"], step)
        return grown
    view = record.dictionary if is_stored(record.dictionary) else store.free_name(f"{STORED}dictionary", record.type)
    files = [part.files(storage) for part in (*names.before, *names.added)]
    store.create_view(view, view_of(files, ["id", "name"]), step)
    if view != record.dictionary:
        store.drop(record.dictionary)
    return replace(grown, dictionary=view)


# ---- rows --------------------------------------------------------------------------------------------


def _check(where: str, wanted: ParquetToEncode, tally: EncodingTally, encoded: Encoded) -> None:
    """Refuse rows that lack a constant or a truth, dates that engines write otherwise, and facts that occur twice or contradict each other."""
    faults = []
    for name, number in tally.missing.items():
        if number and not (wanted.complete and name != "truth"):
            faults.append(missing_text(number, name))
    for name, number in tally.beyond.items():
        if number:
            one = next(key.column for key in wanted.keys if key.output == name)
            faults.append(
                f"{counted(number, 'row')} {'has' if number == 1 else 'have'} a date before the year 1 or after 9999 in column {one!r}, which Spark and DuckDB write "
                "in two ways: write the column as text."
            )
    keys = [key.output for key in wanted.keys]
    for (number, rows), what, says, remedy in (
        (encoded.contradictory, "contradictory facts", "is both true and false", "remove one of each."),
        (
            encoded.repeated,
            "duplicate facts",
            "occurs {} times",
            f"remove them or pass {Parameter('duplicates', DoubleQuoted('drop'))}.",
        ),
    ):
        if number:
            shown = [f"({', '.join(str(row[k]) for k in keys)}) {says.format(row['times'])}" for row in rows]
            more = f"; and {counted(number - len(rows), 'other')}" if number > len(rows) else ""
            faults.append(f"{what}: {'; '.join(shown)}{more}: {remedy}")
    if faults:
        raise LoadError(f"{where}: " + "\n  ".join(faults))


def _take_facts(
    store: Store, storage: str, record: PredicateRecord, role: str, wanted: ParquetToEncode, encoded: Encoded
) -> str:
    """Make the view of the encoded rows, or an empty table where there are none, and return its name."""
    step = f"show the facts of {record.predicate}"
    if encoded.part is None:
        table = store.free_name(role, record.predicate)
        types = {name: "BOOLEAN" if name == "truth" else "INTEGER" for name in wanted.outputs}
        store.create_empty(table, types, step)
        return table
    view = store.free_name(f"{STORED}{role}", record.predicate)
    store.create_view(view, view_of([encoded.part.files(storage)], wanted.outputs), step)
    return view
