"""Where facts come from: files, tables, queries, frames and tuples, each made into something SQL can read."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.delimited import COMPRESSED, SUFFIXES, Dialect, delimited_fault, delimited_table, is_delimited
from sqlrl.catalog.fingerprints import file_fingerprint, matching_files, pattern_fingerprint
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column
from sqlrl.errors import EngineError, LoadError, UntrustedError, brief
from sqlrl.paths import exists, expanded, is_file
from sqlrl.wording import check_characters, counted

_SCALARS = (str, Real, Decimal, date, time, timedelta, UUID, np.bool_, np.datetime64, np.timedelta64)

# pandas is optional, so its missing values are known by the names of their types.
_NOTHING = ("NAType", "NaTType")

_PART = r'("(?:[^"]|"")+"|[^\s".]+)'
_NAME = re.compile(rf"\s*{_PART}(?:\.{_PART})?(?:\.{_PART})?\s*")

PARQUET = {".parquet", ".parq", ".pq"}

# These say nothing of the source, only of the machine.
_OURS = (duckdb.OutOfMemoryException, duckdb.InternalException, duckdb.FatalException, duckdb.TransactionException)

_EXACT = {"FLOAT": 2**24 - 1, "DOUBLE": 2**53 - 1}
"""Up to these every integer is a float of its own."""

_Named = tuple[str, str, str, str]
"""Database, schema, name and kind (table or view)."""


# ---- objects of Python -------------------------------------------------------------------------------


def readable(source: Any) -> tuple[Any, str]:
    """Return what DuckDB can read of an object, and what messages call it.

    A row of an iterable is a sequence, an array or a mapping, or the one value that it would hold. An object of an unknown
    kind, or rows that differ in their values or hold what is no value, raise LoadError.

    Examples
    --------
    >>> table, label = readable([{"person": "Anna", "age": 7}, {"age": None, "person": "Bob"}])
    >>> label, table.to_pylist()
    ('the rows', [{'person': 'Anna', 'age': '7'}, {'person': 'Bob', 'age': None}])
    """
    if isinstance(source, duckdb.DuckDBPyRelation):
        return source, "a relation"
    if isinstance(source, pa.Table):
        return source, "an Arrow table"
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source]), "an Arrow batch"
    if isinstance(source, pa.RecordBatchReader):
        return source.read_all(), "an Arrow reader"
    if isinstance(source, pa.Array | pa.ChunkedArray):
        return pa.table({"column0": source}), "an Arrow array"
    modules = {kind.__module__.split(".")[0] for kind in type(source).__mro__}
    if "pandas" in modules and hasattr(source, "iloc"):
        return source, "a pandas frame"
    if "polars" in modules:
        frame = source.collect() if hasattr(source, "collect") else source
        return frame.to_arrow(), "a polars frame"
    if isinstance(source, Iterable) and not isinstance(source, bytes | dict):
        return _rows(source)
    raise LoadError(
        f"cannot load from an object of type {type(source).__name__}: pass a path, an Arrow table, a pandas or polars frame, a DuckDB relation, "
        "the name of a table, a query, or an iterable of tuples."
    )


def _rows(rows: Iterable[Any]) -> tuple[pa.Table, str]:
    """Return rows as an Arrow table, and what messages call them; the first row says which values all have."""
    data: list[Sequence[Any]] = []
    names: list[str] = []
    named, label = False, "the tuples"
    for number, row in enumerate(rows, start=1):
        keys, values = _row(row)
        if not data:
            names = keys or [f"column{i}" for i in range(len(values))]
            named, label = bool(keys), "the rows" if keys else label
            if len(set(names)) < len(names):
                raise LoadError(f"{label} name two values alike ({', '.join(names)}): give each a name of its own.")
        elif named != bool(keys):
            one, other = (1, number) if named else (number, 1)
            raise LoadError(
                f"row {one} of {label} names its values and row {other} does not: make all of them tuples or all mappings."
            )
        elif not keys and len(values) != len(names):
            raise LoadError(
                f"row {number} of {label} has {counted(len(values), 'value')}, row 1 has {len(names)}: make them equally long."
            )
        elif keys and keys != names:
            if sorted(keys) != sorted(names):
                raise LoadError(
                    f"row {number} of {label} has the values {', '.join(keys)}, row 1 has {', '.join(names)}: name them alike in "
                    "every row, None where there is none."
                )
            values = [values[keys.index(name)] for name in names]
        data.append(values)
    columns = {name: _array([row[i] for row in data], i, label) for i, name in enumerate(names)}
    if not columns:
        # Rows without values are still rows, which a table keeps if all its columns are taken away.
        return pa.table({"none": pa.nulls(len(data))}).select([]), label
    return pa.table(columns), label


def _row(row: Any) -> tuple[list[str], Sequence[Any]]:
    """Return the names (none if only their order counts) and the values of a row; what is none is its only value."""
    if isinstance(row, tuple | list):
        return [], row
    if isinstance(row, np.void) and row.dtype.names:
        return list(row.dtype.names), [row[name] for name in row.dtype.names]
    if hasattr(row, "keys") and hasattr(row, "__getitem__"):
        # Mappings, and rows of databases and frames, which are none but have names as well.
        keys = list(row.keys())
        return list(map(str, keys)), [row[key] for key in keys]
    sequence = isinstance(row, Sequence) and not isinstance(row, str | bytes | bytearray | memoryview)
    if sequence or (isinstance(row, np.ndarray) and row.ndim):
        return [], tuple(row)
    return [], (row,)


def _array(values: list[Any], position: int, label: str) -> pa.Array:
    """Return a column of booleans or floats if all its values are, else of texts; missing values become NULL."""
    kinds = set(map(type, values)) - {type(None)}
    if any(issubclass(kind, pa.Scalar) for kind in kinds):
        values = [value.as_py() if isinstance(value, pa.Scalar) else value for value in values]
        kinds = set(map(type, values)) - {type(None)}
    strange = {kind for kind in kinds if not issubclass(kind, _SCALARS) and kind.__name__ not in _NOTHING}
    if strange:
        number = next(i for i, value in enumerate(values, start=1) if type(value) in strange)
        raise LoadError(
            f"row {number} of {label} has an object of type {type(values[number - 1]).__name__} as value {position + 1}, which names "
            "no constant: convert it to text or numbers."
        )
    if not all(issubclass(kind, str | int) for kind in kinds):
        values = [None if _missing(value) else value for value in values]
    if kinds and all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return pa.array([None if v is None else bool(v) for v in values], pa.bool_())
    if kinds and all(issubclass(kind, float) for kind in kinds):
        return pa.array(values, pa.float64())
    texts = [None if v is None else _text(v) for v in values]
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError as error:
        number = next(i for i, text in enumerate(texts, start=1) if text is not None and not _unicode(text))
        raise LoadError(
            f"row {number} of {label} has {texts[number - 1]!r} as value {position + 1}, which no database can store: half a character "
            "(a surrogate) comes from reading text in another encoding than it was written in."
        ) from error


def _text(value: Any) -> str:
    """Return a value as text; a whole number is written as an integer, as it is in a column of floats or decimals."""
    if isinstance(value, float | np.floating):
        digits = np.finfo(type(value)).nmant if isinstance(value, np.floating) else 52
        # Of larger ones several integers are the same float.
        exact = math.isfinite(value) and value.is_integer() and abs(int(value)) < 2 ** (int(digits) + 1)
    else:
        exact = isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value()
    return str(int(value)) if exact else str(value)


def _unicode(text: str) -> bool:
    """Return True for a text without surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _missing(value: Any) -> bool:
    """Return True for what stands where frames and arrays have no value."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return value is None or type(value).__name__ in _NOTHING


# ---- names of tables, with quotes or without ---------------------------------------------------------


class WrittenName:
    """A text that may name a table: `t`, `schema.t`, `catalog.t` or `catalog.schema.t`, case ignored.

    Its parts may be quoted as in SQL (`"my schema"."my table"`); without quotes they may hold any character.

    Examples
    --------
    >>> WrittenName('Main."a.b"').names("memory", "main", "a.b", short=False)
    True
    >>> WrittenName("main.a.b").names("memory", "main", "a.b", short=False)
    True
    >>> WrittenName('"a.b"').names("memory", "other", "a.b", short=False)
    False
    """

    def __init__(self, text: str) -> None:
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
        """Return whether the text names this table as one in the schema `main` of a database: `catalog.t`.

        Examples
        --------
        >>> WrittenName("Other.t").names_in_database("other", "main", "t")
        True
        """
        named = (catalog.casefold(), table.casefold())
        return schema.casefold() == "main" and (
            self._parts == named or ("." not in table and self._plain == ".".join(named))
        )


# ---- sources -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """A relation to load from.

    Parameters
    ----------
    table : sqlglot expression
        Can stand in FROM.
    columns : dict of str to str
        The database's type of each column.
    label : str
        What messages call it.
    kind : {"file", "table", "view", "query", "relation", "object"}
        How it can be read again; a relation or another object of Python cannot.
    address : str
        What finds it again: the full path of a file; by default the label.
    bare_rows : int
        Rows of a source without columns: each is the fact of a predicate without arguments.
    """

    table: exp.Expr
    columns: dict[str, str]
    label: str
    kind: str
    fingerprint: str
    address: str = ""
    bare_rows: int = 0

    @property
    def nothing(self) -> bool:
        """True if this has neither rows nor columns."""
        return not (self.columns or self.bare_rows)

    @property
    def delimited(self) -> bool:
        """True if this is delimited text, in which an empty field is NULL."""
        return isinstance(self.table, exp.Anonymous) and self.table.name == "read_csv"

    def text(self, name: str, alias: str | None = None) -> exp.Expr:
        """Return a column (of the source under an alias) as text that is compared exactly, whatever the column's collation.

        NaN, with which arrays and frames mark a missing number, is NULL as None is. A number that is whole has the name of that
        integer, `2`, also where its column has fractions: integers beside a missing value become floats in pandas.
        """
        # A cast keeps a collation, under which The and the may be one constant; DuckDB does not tell which columns have one.
        return exp.Collate(this=_written(column(name, alias), self.columns[name]), expression=exp.var("POSIX"))


def _written(value: exp.Expr, kind: str) -> exp.Expr:
    """Return a value of a type of the database as text; NaN is NULL."""
    text = exp.cast(value, "varchar")
    if kind in _EXACT:
        integer: exp.Cast = exp.TryCast(this=value.copy(), to=exp.DataType.build("bigint"))
        # Of larger ones several integers are the same float: which one was meant is not known.
        exact = exp.LTE(this=exp.Abs(this=value.copy()), expression=exp.convert(_EXACT[kind]))
        case = exp.Case().when(exp.IsNan(this=value.copy()), exp.null())
        return case.when(exp.and_(exact, integer.eq(value.copy())), exp.cast(integer.copy(), "varchar")).else_(text)
    if kind.startswith("DECIMAL"):
        integer = exp.cast(value.copy(), "hugeint")
        return exp.Case().when(integer.eq(value.copy()), exp.cast(integer.copy(), "varchar")).else_(text)
    return text


@contextmanager
def open_source(engine: DuckDBEngine, source: Any, dialect: Dialect | None = None) -> Iterator[Source]:
    """Make a source readable while the context is open.

    Text is a path if it ends in .parquet, .csv or .tsv or names a file, else the name of a table or view, else a query;
    `readable` tells what else can be read. `dialect` is how a CSV file is written. A LoadError can also come later, while a
    damaged file is read.
    """
    with _opened(engine, source, dialect or Dialect()) as opened:
        try:
            yield opened
        except EngineError as error:
            fault = _reading_fault(engine, opened, error)
            if fault is None:
                raise
            raise LoadError(fault) from error


@contextmanager
def _opened(engine: DuckDBEngine, source: Any, dialect: Dialect) -> Iterator[Source]:
    """Make a source readable while the context is open."""
    if isinstance(source, Path) or (isinstance(source, str) and _is_path(source)):
        yield _file(engine, Path(source), dialect)
        return
    _no_dialect(dialect, _short(source) if isinstance(source, str) else f"a {type(source).__name__}")
    if isinstance(source, str):
        found = find_table(engine, source)
        if found is not None:
            yield _described(engine, Source(found[0], {}, source, found[1], ""))
        else:
            with engine.attached(_query(engine, source)) as name:
                yield _described(engine, Source(name, {}, source, "query", ""))
    else:
        data, label = readable(source)
        kind = "object"
        if isinstance(data, duckdb.DuckDBPyRelation):
            data, kind = _reachable(engine, data)
        if isinstance(data, pa.Table) and not data.num_columns:
            yield _bare(label, data.num_rows) if data.num_rows else _nothing(label, "object", "0:")
            return
        with _attached(engine, data, label) as name:
            yield _described(engine, Source(name, {}, label, kind, ""))


@contextmanager
def _attached(engine: DuckDBEngine, data: Any, label: str) -> Iterator[exp.Table]:
    """Show an object of Python to SQL; one that DuckDB does not take is named."""
    with ExitStack() as stack:
        try:
            name = stack.enter_context(engine.attached(data))
        except EngineError as error:
            raise LoadError(f"{label} cannot be read: {brief(error.reason)}") from error
        yield name


def _nothing(label: str, kind: str, fingerprint: str, address: str = "") -> Source:
    """Return a source that has neither rows nor columns."""
    nothing = exp.select(exp.true().as_("nothing")).where(exp.false()).subquery("nothing")
    return Source(nothing, {}, label, kind, fingerprint, address)


def _bare(label: str, rows: int) -> Source:
    """Return a source that has rows without values."""
    numbers = exp.Anonymous(this="range", expressions=[exp.convert(rows)])
    return Source(
        exp.select(exp.true().as_("present")).from_(numbers).subquery("bare"), {}, label, "object", "", "", rows
    )


def _no_dialect(dialect: Dialect, label: str) -> None:
    """Refuse options of CSV files for other sources."""
    if dialect != Dialect():
        raise LoadError(
            f"header, delimiter and quote say how a CSV file is written, but {label} is none: leave them out."
        )


def _reading_fault(engine: DuckDBEngine, source: Source, error: EngineError) -> str | None:
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


def _is_path(text: str) -> bool:
    """Return True if the text names a file; a query that mentions one has blanks before it."""
    if "\n" in text or len(text) > 4096 or "\0" in text:
        return False
    if re.match(r"\s*(select|from|with|values|table)\b", text, re.IGNORECASE) and not is_file(text):
        return False
    path = Path(text)
    return path.suffix.lower() in PARQUET or is_delimited(path) or is_file(expanded(path))


def _file(engine: DuckDBEngine, path: Path, dialect: Dialect) -> Source:
    """Read a Parquet or CSV file, or the files that a pattern names."""
    path = expanded(path)
    if not engine.trusted:
        raise UntrustedError(
            f"{path}: a database opened with trusted=False reads no files: read it yourself and pass what you read (an Arrow table, a "
            "frame, rows), or open the database without trusted=False."
        )
    text, parquet = str(path), path.suffix.lower() in PARQUET
    if not parquet and not is_delimited(path):
        known = ", ".join(sorted(PARQUET | SUFFIXES))
        raise LoadError(
            f"{text}: sqlrl reads files ending in {known} (text also compressed: {', '.join(sorted(COMPRESSED))}); evidence files "
            "(.db) go to load_evidence."
        )
    there = exists(path)
    if there and path.is_dir():
        raise LoadError(f"{text} is a directory: name a file, or a pattern such as {path / '*.parquet'}")
    if not there and not re.search(r"[*?\[]", text):
        raise LoadError(f"{text}: there is no such file. The working directory is {Path.cwd()}.")
    if parquet:
        _no_dialect(dialect, text)
    # A file whose own name has wildcard characters in it is one file.
    name = re.sub(r"([*?\[])", r"[\1]", text) if there else text
    files = matching_files(engine, name)
    if not files:
        raise LoadError(f"{text}: there is no such file. The working directory is {Path.cwd()}.")
    fingerprint = file_fingerprint(path) if there else pattern_fingerprint(files)
    address = str(path.absolute())
    if parquet:
        table: exp.Expr = exp.Anonymous(this="read_parquet", expressions=[exp.convert(name)])
        return _described(engine, Source(table, {}, text, "file", fingerprint, address))
    table, columns = delimited_table(engine, name, files, path, dialect)
    if not columns:
        return _nothing(text, "file", fingerprint, address)
    return Source(table, dict.fromkeys(columns, "VARCHAR"), text, "file", fingerprint, address)


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
            raise LoadError(str(error).replace(str(path), label)) from error


def find_table(engine: DuckDBEngine, name: str) -> tuple[exp.Table, str] | None:
    """Return the table or view that a text names (as `WrittenName` reads it) and its kind.

    Names of tables come before names of views, and both before queries.
    """
    listed: list[_Named] = []
    for kind in ("table", "view"):
        query = exp.select("database_name", "schema_name", f"{kind}_name AS name").from_(
            exp.Anonymous(this=f"duckdb_{kind}s")
        )
        rows = engine.fetch(query, step="look for a table").to_pylist()
        listed += [(r["database_name"], r["schema_name"], r["name"], kind) for r in rows]
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
    """Return the first of the tables and views that a text names.

    `a.t` is the table of a schema in the database in use, else that of another database, else that of a schema there.
    """
    wanted, near = WrittenName(name), (searched[0], "temp")

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


def _query(engine: DuckDBEngine, text: str) -> duckdb.DuckDBPyRelation:
    """Return the relation of a query that the user wrote; anything but one query is refused."""
    check_characters(text, "the query")
    try:
        statements = engine.connection.extract_statements(text)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise LoadError(f"{_short(text)} must be one query (SELECT ...), the name of a table or view, or a file.")
        return engine.connection.sql(text)
    except duckdb.Error as error:
        raise LoadError(
            f"{_short(text)} is neither a file, nor a table or view, nor a query that DuckDB accepts: {brief(str(error))}"
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
            return relation.to_arrow_table(), "object"
        except duckdb.Error as failure:
            raise LoadError(f"the relation cannot be read: {brief(str(failure))}") from error


def _described(engine: DuckDBEngine, source: Source) -> Source:
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
