"""Where facts come from: files, tables, queries, frames and tuples, each made into something SQL can read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.errors import EngineError, LoadError

PARQUET = {".parquet", ".parq", ".pq"}
TEXT = {".csv", ".tsv", ".txt"}
_SMALL = 1 << 24


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
    fingerprint : str
    """

    table: exp.Expr
    columns: dict[str, str]
    label: str
    kind: str
    fingerprint: str


@contextmanager
def open_source(engine: DuckDBEngine, source: Any) -> Iterator[Source]:
    """Make a source readable while the context is open.

    Parameters
    ----------
    engine : DuckDBEngine
    source : path, str, Arrow table, pandas or polars frame, relation, or iterable of tuples
        Text is a path if it ends in .parquet, .csv or .tsv or names a file, else the name of a table or view, else a query.

    Raises
    ------
    LoadError
        If there is no such file or table, if a file is damaged, or if the object is of an unknown kind.
    """
    if isinstance(source, Path) or (isinstance(source, str) and _is_path(source)):
        yield _file(engine, Path(source))
    elif isinstance(source, str):
        found = find_table(engine, source)
        if found is not None:
            yield _described(engine, found[0], source, found[1], "")
        else:
            with engine.attached(_query(engine, source)) as name:
                yield _described(engine, name, source, "query", "")
    else:
        data, label = _object(source)
        kind = "object"
        if isinstance(data, duckdb.DuckDBPyRelation):
            data, kind = _reachable(engine, data)
        if isinstance(data, pa.Table) and not data.num_columns:
            nothing = exp.select(exp.true().as_("nothing")).where(exp.false()).subquery("nothing")
            yield Source(nothing, {}, label, "object", "0:")
            return
        with engine.attached(data) as name:
            yield _described(engine, name, label, kind, "")


def _is_path(text: str) -> bool:
    """Return True if the text names a file; a query that mentions one has blanks before it."""
    if "\n" in text or len(text) > 4096 or "\0" in text:
        return False
    if re.match(r"\s*(select|from|with|values|table)\b", text, re.IGNORECASE) and not Path(text).is_file():
        return False
    return Path(text).suffix.lower() in PARQUET | TEXT or Path(text).expanduser().is_file()


def _file(engine: DuckDBEngine, path: Path) -> Source:
    """Read a Parquet or CSV file, or the files that a pattern names."""
    path = path.expanduser()
    text, suffix = str(path), path.suffix.lower()
    if suffix not in PARQUET | TEXT:
        known = ", ".join(sorted(PARQUET | TEXT))
        raise LoadError(f"{text}: sqlrl reads files ending in {known}; evidence files (.db) go to load_evidence.")
    if path.is_dir():
        raise LoadError(f"{text} is a directory: name a file, or a pattern such as {path / '*.parquet'}")
    if not path.exists() and not re.search(r"[*?\[]", text):
        raise LoadError(f"{text}: there is no such file. The working directory is {Path.cwd()}.")
    # A file whose own name has wildcard characters in it is one file.
    name = re.sub(r"([*?\[])", r"[\1]", text) if path.exists() else text
    if suffix in PARQUET:
        table: exp.Expr = exp.Anonymous(this="read_parquet", expressions=[exp.convert(name)])
    else:
        # Automatic typing would turn `f` into a boolean; an empty unquoted field is missing, "" is an empty text.
        options: dict[str, Any] = {"all_varchar": True, "header": True, "allow_quoted_nulls": False}
        settings = [exp.EQ(this=exp.to_identifier(k), expression=exp.convert(v)) for k, v in options.items()]
        table = exp.Anonymous(this="read_csv", expressions=[exp.convert(name), *settings])
    return _described(engine, table, text, "file", file_fingerprint(path) if path.exists() else "")


def file_fingerprint(path: Path) -> str:
    """Return size, time of change and (of a small file) a hash of the content.

    Examples
    --------
    >>> file_fingerprint(Path("does not exist"))
    'missing'
    """
    if not path.exists():
        return "missing"
    state = path.stat()
    if state.st_size > _SMALL:
        return f"{state.st_size}:{state.st_mtime_ns}"
    return f"{state.st_size}:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def table_fingerprint(engine: DuckDBEngine, table: exp.Expr) -> str:
    """Return the number of rows and an order-free hash of all rows of a relation."""
    row_hash = exp.cast(exp.Anonymous(this="hash", expressions=[exp.column("s")]), "hugeint")
    total = exp.Sum(this=row_hash)
    query = exp.select(exp.Count(this=exp.Star()).as_("n"), exp.cast(total, "varchar").as_("h")).from_(
        exp.select("*").from_(table).subquery("s")
    )
    row = engine.fetch(query, step="fingerprint a source").to_pylist()[0]
    return f"{row['n']}:{row['h']}"


def find_table(engine: DuckDBEngine, name: str) -> tuple[exp.Table, str] | None:
    """Return the table or view that a text names (`t`, `schema.t` or `catalog.schema.t`, case ignored) and its kind.

    Names of tables come before names of views, and both before queries.
    """
    found: list[tuple[str, str, str, str]] = []
    for kind in ("table", "view"):
        query = exp.select("database_name", "schema_name", f"{kind}_name AS name").from_(
            exp.Anonymous(this=f"duckdb_{kind}s")
        )
        rows = engine.fetch(query, step="look for a table").to_pylist()
        found += [(r["database_name"], r["schema_name"], r["name"], kind) for r in rows]
    searched = engine.connection.execute("SELECT current_database(), current_schema()").fetchall()[0]
    wanted = name.casefold()
    for catalog, schema, table, kind in sorted(found, key=lambda f: (f[0] != "temp", f[:2] != searched, f)):
        short = (catalog, schema) == searched or catalog == "temp"
        names = {f"{schema}.{table}", f"{catalog}.{schema}.{table}"} | ({table} if short else set())
        if wanted in {n.casefold() for n in names}:
            return exp.table_(table, db=schema, catalog=catalog, quoted=True), kind
    return None


def _query(engine: DuckDBEngine, text: str) -> duckdb.DuckDBPyRelation:
    """Return the relation of a query that the user wrote; anything but one query is refused."""
    try:
        statements = engine.connection.extract_statements(text)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise LoadError(f"{_short(text)} must be one query (SELECT ...), the name of a table or view, or a file.")
        return engine.connection.sql(text)
    except duckdb.Error as error:
        raise LoadError(
            f"{_short(text)} is neither a file, nor a table or view, nor a query that DuckDB accepts: {error}"
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
            raise LoadError(f"the relation cannot be read: {failure}") from error


def _object(source: Any) -> tuple[Any, str]:
    """Return what DuckDB can read of a Python object, and what messages call it."""
    if isinstance(source, duckdb.DuckDBPyRelation):
        return source, "a relation"
    if isinstance(source, pa.Table):
        return source, "an Arrow table"
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source]), "an Arrow batch"
    if isinstance(source, pa.RecordBatchReader):
        return source.read_all(), "an Arrow reader"
    module = type(source).__module__.split(".")[0]
    if module == "pandas":
        return source, "a pandas frame"
    if module == "polars":
        frame = source.collect() if hasattr(source, "collect") else source
        return frame.to_arrow(), "a polars frame"
    if isinstance(source, Iterable) and not isinstance(source, bytes | dict):
        return _tuples(source), "the tuples"
    raise LoadError(
        f"cannot load from a {type(source).__name__}: pass a path, an Arrow table, a pandas or polars frame, a DuckDB relation, "
        "the name of a table, a query, or an iterable of tuples."
    )


def _tuples(rows: Iterable[Any]) -> pa.Table:
    """Return tuples as an Arrow table of texts (booleans and floats keep their types)."""
    data = [tuple(row) if isinstance(row, tuple | list) else (row,) for row in rows]
    if not data:
        return pa.table({})
    width = len(data[0])
    for number, row in enumerate(data, start=1):
        if len(row) != width:
            raise LoadError(
                f"row {number} of the tuples has {len(row)} values, row 1 has {width}: make them equally long."
            )
    names = [f"column{i}" for i in range(width)]
    return pa.table({name: _array([row[i] for row in data]) for i, name in enumerate(names)})


def _array(values: list[Any]) -> pa.Array:
    """Return a column of booleans or floats if all its values are, else of texts."""
    present = [v for v in values if v is not None]
    if present and all(isinstance(v, bool) for v in present):
        return pa.array(values, pa.bool_())
    if present and all(isinstance(v, float) for v in present):
        return pa.array(values, pa.float64())
    return pa.array([None if v is None else str(v) for v in values], pa.string())


def _described(engine: DuckDBEngine, table: exp.Expr, label: str, kind: str, fingerprint: str) -> Source:
    """Find the columns of a relation, which also shows whether it can be read at all."""
    try:
        found = engine.fetch(exp.Describe(this=exp.select("*").from_(table)), step=f"read {label}").to_pylist()
    except EngineError as error:
        if kind != "file":
            raise
        reason = error.reason.split("\n\nLINE")[0]
        raise LoadError(
            f"{label} cannot be read, it may be damaged: write it again or name another file. ({reason})"
        ) from error
    return Source(table, {r["column_name"]: r["column_type"] for r in found}, label, kind, fingerprint)
