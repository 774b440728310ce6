"""Where facts come from: files, tables, queries, frames and tuples, each made into something SQL can read."""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.delimited import Dialect, delimited_fault
from sqlrl.catalog.files import file_paths, file_table, no_source
from sqlrl.catalog.image import PredicateRecord
from sqlrl.catalog.objects import column_kinds, readable
from sqlrl.catalog.options import LoadOptions
from sqlrl.catalog.values import column_kind, value_text
from sqlrl.engine.connection import connect
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column, named
from sqlrl.engine.queries import kind_of
from sqlrl.errors import EngineError, LoadError, Phrase, brief, marked
from sqlrl.wording import check_characters

_PART = r'("(?:[^"]|"")+"|[^\s".]+)'
_NAME = re.compile(rf"\s*{_PART}(?:\.{_PART})?(?:\.{_PART})?\s*")

# These say nothing of the source, only of the machine.
_OURS = (duckdb.OutOfMemoryException, duckdb.InternalException, duckdb.FatalException, duckdb.TransactionException)

_NOT_CARRIED = {"HUGEINT", "UHUGEINT", "BIGNUM", "TIME WITH TIME ZONE"}
"""Types that have no Arrow type of their own."""

_Named = tuple[str, str, str, str]
"""Database, schema, name and kind (table or view)."""


# ---- names of tables, with quotes or without ---------------------------------------------------------


class WrittenName:
    """A text that may name a table (`t`, `schema.t`, `catalog.t` or `catalog.schema.t`), case ignored, perhaps with parts quoted as in SQL."""

    def __init__(self, text: str) -> None:
        # Parts without quotes may hold any character.
        self._plain = text.casefold()
        found = _NAME.fullmatch(self._plain) if '"' in text else None
        parts = found.groups() if found is not None else ()
        self._parts = tuple(p[1:-1].replace('""', '"') if p.startswith('"') else p for p in parts if p is not None)

    def names(self, catalog: str, schema: str, table: str, *, short: bool) -> bool:
        """Return whether the text names this table; `short` if the table's own name is enough."""
        full = tuple(part.casefold() for part in (catalog, schema, table))
        if self._plain in (".".join(full), ".".join(full[1:])) or (short and self._plain == full[2]):
            return True
        size = len(self._parts)
        return size > (0 if short else 1) and self._parts == full[-size:]

    def names_in_database(self, catalog: str, schema: str, table: str) -> bool:
        """Return whether the text names this table as one in the schema `main` of a database: `catalog.t`."""
        named = (catalog.casefold(), table.casefold())
        return schema.casefold() == "main" and (
            self._parts == named or ("." not in table and self._plain == ".".join(named))
        )


# ---- sources -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoadSource:
    """A relation to load from."""

    # Can stand in FROM.
    table: exp.Expr
    # The database's type of each column.
    columns: dict[str, str]
    # What messages call it.
    label: str
    # "file", "table", "view", "query", "server", "relation" or "object": how it can be read again, which the last two cannot.
    kind: str
    fingerprint: str
    # What finds it again: the full path of a file; by default the label.
    address: str = ""
    # Rows of a source without columns: each is the fact of a predicate without arguments.
    bare_rows: int = 0
    # The paths and patterns of a source of several files.
    files: tuple[str, ...] = ()
    # The rows, where they are at hand and cannot be read again.
    rows: pa.Table | None = None
    # Kinds of the values of columns of texts that stand for other values (`catalog.objects`).
    kinds: dict[str, str] = field(default_factory=dict)

    @property
    def nothing(self) -> bool:
        """True if this has neither rows nor columns."""
        return not (self.columns or self.bare_rows)

    @property
    def delimited(self) -> bool:
        """True if this is delimited text, in which an empty field is NULL."""
        call = self.table.find(exp.Anonymous)
        return call is not None and call.name == "read_csv"

    def kind_of(self, name: str) -> str:
        """Return the kinds of the values of a column (`catalog.values.column_kind`), with blanks between them."""
        return self.kinds.get(name) or column_kind(self.columns[name])

    def text(self, name: str, alias: str | None = None) -> exp.Expr:
        """Return a column (of the source under an alias) as text that is compared exactly; NaN, a missing number in frames, is NULL."""
        # Equal values have one text: integers beside a missing value become floats in pandas, and dates timestamps.
        # A cast keeps a collation, under which The and the may be one constant; DuckDB does not tell which columns have one.
        return exp.Collate(this=value_text(column(name, alias), self.columns[name]), expression=exp.var("POSIX"))


@dataclass(frozen=True)
class LoadRows:
    """Rows of a source as text, and what of a predicate they are."""

    record: PredicateRecord
    query: exp.Query
    source: LoadSource
    role: str
    fingerprint: str
    options: LoadOptions
    example: bool  # whether a column has the examples
    extra: Sequence[str]  # the columns beside the keys
    value: str | None = None  # the source's name of the column of values

    @property
    def where(self) -> str:
        """What messages call them."""
        return f"{self.record.predicate} from {self.source.label}"


@contextmanager
def open_source(engine: DuckDBEngine, source: Any, dialect: Dialect | None = None) -> Iterator[LoadSource]:
    """Open a source: a text is a path (by its ending, or to a file), else a table or view, else a query; `readable` takes other objects."""
    with _opened(engine, source, dialect or Dialect()) as opened:
        try:
            yield opened
        # A damaged file may be found only while it is read.
        except EngineError as error:
            fault = _reading_fault(engine, opened, error)
            if fault is None:
                raise
            raise LoadError(fault) from error


@contextmanager
def _opened(engine: DuckDBEngine, source: Any, dialect: Dialect) -> Iterator[LoadSource]:
    """Make a source readable while the context is open."""
    if isinstance(source, Iterator) and not isinstance(source, pa.RecordBatchReader | io.IOBase):
        # Its items may be paths, as those of `Path.glob`.
        source = list(source)
    paths = file_paths(source)
    if paths is not None:
        yield _files(engine, paths, dialect)
        return
    _no_dialect(dialect, _short(source) if isinstance(source, str) else f"a {type(source).__name__}")
    if isinstance(source, str):
        engine.show()
        found = find_table(engine, source)
        if found is not None:
            if found[1] == "view":
                _check_asks(engine, engine.render(exp.select("*").from_(found[0])), source)
            yield _described(engine, LoadSource(found[0], {}, source, found[1], ""))
        else:
            with engine.attached(_query(engine, source)) as name:
                yield _described(engine, LoadSource(name, {}, source, "query", ""))
    else:
        data, label = readable(source)
        kind = "object"
        if isinstance(data, duckdb.DuckDBPyRelation):
            data, kind = _reachable(engine, data)
        if isinstance(data, pa.Table) and not data.num_columns:
            yield _bare(label, data.num_rows) if data.num_rows else _nothing(label, "object", "0:")
            return
        with _attached(engine, data, label) as name:
            rows = data if isinstance(data, pa.Table) else None
            yield _described(engine, LoadSource(name, {}, label, kind, "", rows=rows, kinds=column_kinds(data)))


def _files(engine: DuckDBEngine, paths: Sequence[Path], dialect: Dialect) -> LoadSource:
    """Return the source of files."""
    found = file_table(engine, paths, dialect)
    if found.columns == ():
        return replace(_nothing(found.label, "file", found.fingerprint, found.address), files=found.files)
    source = LoadSource(found.table, {}, found.label, "file", found.fingerprint, found.address, files=found.files)
    if found.columns is None:
        return _described(engine, source)
    return replace(source, columns=dict.fromkeys(found.columns, "VARCHAR"))


def rows_of_files(files: Sequence[str], dialect: Dialect) -> pa.Table:
    """Return the rows of files, read by a database of their own: the SQL of an untrusted one opens no file."""
    with closing(connect()) as engine, open_source(engine, [Path(file) for file in files], dialect) as source:
        query = exp.select(*map(column, source.columns)).from_(source.table)
        return engine.fetch(query, step=f"read {source.label}")


@contextmanager
def _attached(engine: DuckDBEngine, data: Any, label: str) -> Iterator[exp.Table]:
    """Show an object of Python to SQL; one that DuckDB does not take is named."""
    with ExitStack() as stack:
        try:
            name = stack.enter_context(engine.attached(data))
        except EngineError as error:
            raise LoadError(f"{label} cannot be read: {brief(error.reason)}") from error
        yield name


def _nothing(label: str, kind: str, fingerprint: str, address: str = "") -> LoadSource:
    """Return a source that has neither rows nor columns."""
    nothing = exp.select(exp.true().as_("nothing")).where(exp.false()).subquery("nothing")
    return LoadSource(nothing, {}, label, kind, fingerprint, address)


def _bare(label: str, rows: int) -> LoadSource:
    """Return a source that has rows without values."""
    numbers = exp.Anonymous(this="range", expressions=[exp.convert(rows)])
    return LoadSource(
        exp.select(exp.true().as_("present")).from_(numbers).subquery("bare"), {}, label, "object", "", "", rows
    )


def _no_dialect(dialect: Dialect, label: str) -> None:
    """Refuse options of CSV files for other sources."""
    if dialect != Dialect():
        raise LoadError(
            f"header, delimiter and quote say how a CSV file is written, but {label} is none: leave them out."
        )


def _reading_fault(engine: DuckDBEngine, source: LoadSource, error: EngineError) -> str | None:
    """Return what to say if a statement failed because of the source that it read, None if it failed for another reason."""
    full = "No space left" in error.reason
    if full or isinstance(error.__cause__, _OURS) or engine.render(source.table) not in error.sql:
        return None
    if source.delimited:
        return delimited_fault(error.reason, source.label, pattern=not Path(source.label).exists())
    # The line that DuckDB shows is of a statement of ours.
    reason = brief(error.reason.split("\n\nLINE ")[0])
    if source.kind == "file":
        return f"{source.label} cannot be read, it may be damaged: write it again or name another file. ({reason})"
    if source.kind in ("table", "view"):
        return f"the {source.kind} {source.label} cannot be read: {reason}\nRead it by itself and mend what fails."
    if source.kind == "query":
        return f"the query {_short(source.label)} fails: {reason}\nRun it by itself and mend what fails."
    return f"{source.label} cannot be read: {reason}"


def read_delimited(engine: DuckDBEngine, data: bytes, label: str, dialect: Dialect) -> pa.Table:
    """Return delimited text that is no file as an Arrow table of texts; `label` is what messages call it."""
    with tempfile.TemporaryDirectory(prefix="sqlrl-") as folder:
        path = Path(folder) / "text.csv"
        path.write_bytes(data)
        try:
            with open_source(engine, path, dialect) as source:
                if not source.columns:
                    return pa.table({})
                return engine.fetch(exp.select("*").from_(source.table), step=f"read {label}")
        except LoadError as error:
            raise LoadError(marked(error.message).replace(str(path), label)) from error


def find_table(engine: DuckDBEngine, name: str) -> tuple[exp.Table, str] | None:
    """Return the table or view that a text names (as `WrittenName` reads it) and its kind, None if there is none."""
    listed: list[_Named] = []
    for kind in ("table", "view"):
        query = exp.select("database_name", "schema_name", f"{kind}_name AS name").from_(
            exp.Anonymous(this=f"duckdb_{kind}s")
        )
        rows = engine.fetch(query, step="look for a table").to_pylist()
        listed += [(r["database_name"], r["schema_name"], r["name"], kind) for r in rows]
    # A table that is registered is a view for DuckDB, of rows that may be counted at once.
    registered = engine.registered
    listed = [(*f[:3], "table") if f[0] == "temp" and f[2].lower() in registered else f for f in listed]
    return _first(listed, _searched(engine), name)


def find_tables(engine: DuckDBEngine, names: Iterable[str]) -> dict[str, exp.Table]:
    """Return the tables in files of DuckDB's or in memory that texts name, as far as they exist."""
    ours = (
        exp.select("database_name").from_(exp.Anonymous(this="duckdb_databases")).where(exp.column("type").eq("duckdb"))
    )
    query = exp.select("database_name", "schema_name", "table_name").from_(exp.Anonymous(this="duckdb_tables"))
    query = query.where(exp.In(this=exp.column("database_name"), query=ours.subquery()))
    rows = engine.fetch(query, step="look for tables").to_pylist()
    listed: list[_Named] = [(r["database_name"], r["schema_name"], r["table_name"], "table") for r in rows]
    listed += [("temp", "main", name, "table") for name in engine.registered]
    searched = _searched(engine)
    found = {name: _first(listed, searched, name) for name in names}
    return {name: match[0] for name, match in found.items() if match is not None}


def _searched(engine: DuckDBEngine) -> tuple[str, str]:
    """Return the database and schema in which plain names are looked for."""
    _, [(catalog, schema)] = engine.fetch_rows(
        "SELECT current_database(), current_schema()", step="look at the search path"
    )
    return catalog, schema


def _first(listed: Iterable[_Named], searched: tuple[str, str], name: str) -> tuple[exp.Table, str] | None:
    """Return the first of the tables and views that a text names, and its kind."""
    wanted, near = WrittenName(name), (searched[0], "temp")

    # `a.t` is the table of a schema in the database in use, else that of another database, else that of a schema there.
    def rank(found: _Named) -> int | None:
        """Return how far away a table is that the text names; None if it does not name it."""
        catalog, schema, table, _ = found
        if wanted.names(catalog, schema, table, short=(catalog, schema) == searched or catalog == "temp"):
            return 0 if catalog in near else 2
        return 1 if wanted.names_in_database(catalog, schema, table) else None

    ordered = sorted(listed, key=lambda f: (f[0] != "temp", f[:2] != searched, f))
    ranked = [(place, found) for found in ordered if (place := rank(found)) is not None]
    if not ranked:
        return None
    _, (catalog, schema, table, kind) = min(ranked, key=lambda each: each[0])
    return exp.table_(table, db=schema, catalog=catalog, quoted=True), kind


def _check_asks(engine: DuckDBEngine, query: str, shown: str) -> None:
    """Refuse a query that changes something."""
    if verb := engine.changing_part(query):
        raise LoadError(
            f"{_short(shown)} has a part that changes something ({verb}): run that first, and give a query that only asks."
        )


def _query(engine: DuckDBEngine, text: str) -> duckdb.DuckDBPyRelation:
    """Return the relation of a query that the user wrote; anything but one query is refused."""
    check_characters(text, "the query")
    instead = no_source(text)
    if instead is not None:
        raise LoadError(instead)
    try:
        statements = engine.connection.extract_statements(text)
        if len(statements) != 1 or kind_of(statements[0]) != "SELECT":
            raise LoadError(f"{_short(text)} must be one query (SELECT ...), the name of a table or view, or a file.")
        _check_asks(engine, text, text)
        return engine.connection.sql(text)
    except duckdb.Error as error:
        unknown = re.search(r"Table with name \S+ does not exist", str(error))
        hint = (
            format(
                Phrase(
                    "\nIf that is a variable of Python, pass the object itself, or show it with db.load(name, data, mode='view')."
                )
            )
            if unknown
            else ""
        )
        raise LoadError(
            f"{_short(text)} is neither a file, nor a table or view, nor a query that DuckDB accepts: {brief(str(error))}{hint}"
        ) from error


def _short(text: str) -> str:
    """Return a text shortened for a message."""
    return repr(text if len(text) <= 120 else text[:117] + "...")


def _reachable(engine: DuckDBEngine, relation: duckdb.DuckDBPyRelation) -> tuple[Any, str]:
    """Return a relation as it is, or its rows if it reads another connection's database, with its kind."""
    try:
        with engine.attached(relation):
            return relation, "relation"
    except EngineError as error:
        try:
            return _carried(relation).to_arrow_table(), "object"
        except duckdb.Error as failure:
            raise LoadError(f"the relation cannot be read: {brief(str(failure))}") from error


def _carried(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return a relation with texts in place of what Arrow would refuse or cut on its way to another database."""
    kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
    if not set(kinds.values()) & _NOT_CARRIED:
        return relation
    parts = [
        named(exp.cast(column(name), "varchar"), name) if kind in _NOT_CARRIED else column(name)
        for name, kind in kinds.items()
    ]
    return relation.project(", ".join(part.sql(dialect="duckdb") for part in parts))


def _described(engine: DuckDBEngine, source: LoadSource) -> LoadSource:
    """Find the columns of a relation, which also shows whether it can be read at all."""
    describe = exp.Describe(this=exp.select("*").from_(source.table))
    try:
        found = engine.fetch(describe, step=f"read {source.label}").to_pylist()
    except EngineError as error:
        fault = _reading_fault(engine, source, error)
        if fault is None:
            raise
        raise LoadError(fault) from error
    return replace(source, columns={r["column_name"]: r["column_type"] for r in found})
