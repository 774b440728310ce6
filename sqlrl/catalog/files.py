"""Files as sources: one, those that a pattern names, or a list of them; and what to pass in place of a text that names nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlrl.catalog.delimited import COMPRESSED, SUFFIXES, Dialect, delimited_table, is_delimited
from sqlrl.catalog.fingerprints import file_fingerprint, matching_files, pattern_fingerprint
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column, named
from sqlrl.errors import EngineError, LoadError, Parameter, Phrase, UntrustedError
from sqlrl.paths import exists, expanded, is_file

PARQUET = {".parquet", ".parq", ".pq"}

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/{1,2}[^/\s]")
"""How a URL begins; a path of Windows has one letter, and `Path` takes one of the slashes away."""

_QUERY = re.compile(r"\s*(select|from|with|values|table)\b", re.IGNORECASE)

_ATOMS = 'sqlrl.Evidence, or pass the constants as tuples, such as [("Anna", "Bob")]'
_NEITHER = "is neither a file, nor a table or view, nor a query"

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class FileTable:
    """Files that SQL can read in FROM."""

    table: exp.Expr
    columns: tuple[str, ...] | None  # Of delimited text, none if it is empty; None where the database finds them.
    label: str  # What messages call the files.
    fingerprint: str
    address: str  # What finds one file or pattern again; `files` finds several.
    files: tuple[str, ...] = ()


def file_paths(source: Any) -> list[Path] | None:
    """Return the paths that a source names, None if it names no files; a list of paths and of items that cannot be paths is a LoadError."""
    if isinstance(source, os.PathLike):
        return [Path(source)]
    if isinstance(source, str):
        return [Path(source)] if _is_path(source) else None
    if not isinstance(source, list | tuple | set | frozenset) or not source:
        return None
    if not any(isinstance(item, os.PathLike) for item in source):
        if not all(isinstance(item, str) and _is_path(item) for item in source):
            return None
    elif not all(isinstance(item, str | os.PathLike) for item in source):
        other = next(item for item in source if not isinstance(item, str | os.PathLike))
        raise LoadError(
            f"a list of paths has the item {other!r}, which is none: name files alone, or give facts alone."
        )
    paths = [Path(item) for item in source]
    # A set has no order of its own, and ids follow that of the rows.
    return paths if isinstance(source, list | tuple) else sorted(paths)


def _is_path(text: str) -> bool:
    """Return True if the text names a file; a query that mentions one has blanks before it."""
    if "\n" in text or len(text) > 4096 or "\0" in text:
        return False
    if _QUERY.match(text) and not is_file(text):
        return False
    path = Path(text)
    return path.suffix.lower() in PARQUET or is_delimited(path) or is_file(expanded(path))


def file_table(engine: DuckDBEngine, paths: Sequence[Path], dialect: Dialect) -> FileTable:
    """Return what reads Parquet or CSV files, each named by its path or by a pattern."""
    paths = [expanded(path) for path in paths]
    named_files = [(path, _named(engine, path)) for path in paths]
    kinds = {path.suffix.lower() in PARQUET: path for path in paths}
    if len(kinds) > 1:
        raise LoadError(
            f"{kinds[True]} is Parquet and {kinds[False]} is text: name files of one kind, or join them in a "
            "query, \"from '...' union all from '...'\"."
        )
    label, (parquet,) = _label(paths), kinds
    if parquet and dialect != Dialect():
        raise LoadError(
            f"header, delimiter and quote say how a CSV file is written, but {label} is none: leave them out."
        )
    # A file whose own name has wildcard characters in it is one file.
    patterns = [re.sub(r"([*?\[])", r"[\1]", str(path)) if exists(path) else str(path) for path in paths]
    files = [file for _, found in named_files for file in found]
    repeated = [file for i, file in enumerate(files) if file in files[:i]] if len(paths) > 1 else []
    if repeated:
        raise LoadError(f"{repeated[0]} is named twice in the list of files: name each file once.")
    alone = len(paths) == 1 and exists(paths[0])
    fingerprint = file_fingerprint(paths[0]) if alone else pattern_fingerprint(files)
    address = str(paths[0].absolute()) if len(paths) == 1 else label
    listed = tuple(str(path.absolute()) for path in paths) if len(paths) > 1 else ()
    if parquet:
        table = _parquet(engine, patterns, label, several=len(files) > 1)
        return FileTable(table, None, label, fingerprint, address, listed)
    read, columns = delimited_table(engine, patterns, files, paths, dialect)
    return FileTable(read, tuple(columns), label, fingerprint, address, listed)


def _label(paths: Sequence[Path]) -> str:
    """Return what messages call files."""
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(map(str, paths[:_SHOWN])) + more


def _named(engine: DuckDBEngine, path: Path) -> list[str]:
    """Return the files that a path or a pattern names; there is at least one."""
    text = str(path)
    if _URL.match(text):
        raise LoadError(no_source(re.sub(r":/(?!/)", "://", text, count=1)) or text)
    if not engine.trusted:
        raise UntrustedError(
            f"{path}: a database opened with {Parameter('trusted', False)} reads no files: read it yourself and pass what you read (an Arrow table, a "
            f"frame, rows), or open the database without {Parameter('trusted', False)}."
        )
    there = exists(path)
    if there and path.is_dir():
        raise LoadError(_folder(path))
    if path.suffix.lower() not in PARQUET and not is_delimited(path):
        raise LoadError(f"{text}: {_known()}")
    if not there and not re.search(r"[*?\[]", text):
        raise LoadError(f"{text}: there is no such file. The working directory is {Path.cwd()}.")
    files = [text] if there else matching_files(engine, text)
    if not files:
        raise LoadError(f"{text}: there is no such file. The working directory is {Path.cwd()}.")
    return files


def listed_files(engine: DuckDBEngine, patterns: Iterable[str]) -> list[str]:
    """Return the files that paths and patterns name now, as far as there are any."""
    return [f for each in patterns for f in ([each] if exists(each) else matching_files(engine, each))]


def _known() -> str:
    """Return which files there are readers for."""
    known = ", ".join(sorted(PARQUET | SUFFIXES))
    return (
        f"sqlrl reads files ending in {known} (text also compressed: {', '.join(sorted(COMPRESSED))}); evidence files (.db) go to "
        f"{Phrase('sqlrl.Evidence')}."
    )


def _folder(path: Path) -> str:
    """Return what to pass in place of a folder."""
    return (
        f"{path} is a directory: name a file, or a pattern such as {path / '*.parquet'}; {Phrase('db.load(folder)')} loads each of its files as the "
        "predicate that it is named after."
    )


def _parquet(engine: DuckDBEngine, patterns: Sequence[str], label: str, *, several: bool) -> exp.Expr:
    """Return what reads Parquet files; of several whose columns have other types, each is read in a type that holds all values."""
    files = exp.convert(patterns[0] if len(patterns) == 1 else list(patterns))
    table = exp.Anonymous(this="read_parquet", expressions=[files])
    if not several:
        return table
    schema = exp.Anonymous(this="parquet_schema", expressions=[files.copy()])
    kind = exp.Anonymous(
        this="concat_ws",
        expressions=[exp.convert(" "), *(column(c) for c in ("type", "converted_type", "logical_type"))],
    )
    kinds = exp.Anonymous(this="list", expressions=[exp.Distinct(expressions=[kind])])
    query = exp.select(column("name"), named(kinds, "kinds"), named(exp.Min(this=column("file_name")), "file")).from_(
        schema
    )
    try:
        rows = engine.fetch(query.group_by(column("name")), step=f"look at the columns of {label}").to_pylist()
    except EngineError:
        # Whoever reads it next says what is wrong with which file.
        return table
    other = {row["name"]: " ".join(row["kinds"]) for row in rows if len(row["kinds"]) > 1}
    if not other:
        return table
    for name, kinds_of in sorted(other.items()):
        if re.search(r"FLOAT|DOUBLE", kinds_of) and re.search(r"INT32|INT64|FIXED|BYTE_ARRAY \w*DECIMAL", kinds_of):
            raise LoadError(
                f"{label}: the column {name!r} has floats in one of the files and other numbers in another, which no type holds exactly: "
                "write them with one type, or load a query that casts them."
            )
    # DuckDB would read all of them in the types of the first, and cut what does not fit.
    together = exp.EQ(this=exp.to_identifier("union_by_name"), expression=exp.true())
    return exp.Anonymous(this="read_parquet", expressions=[files.copy(), together])


# ---- texts that name no source -----------------------------------------------------------------------


def no_source(text: str) -> str | None:
    r"""Return what to pass in place of a text that is neither a file, nor a table, nor a query; None if it may be a query that fails."""
    plain = text.strip()
    shown = repr(plain if len(plain) <= 120 else plain[:117] + "...")
    if _URL.match(plain) and not re.search(r"\s", plain):
        if plain.lower().startswith("file:"):
            return (
                f"{shown} is a URL of a file: pass its path, {re.sub('^file:/*', '/', plain, flags=re.IGNORECASE)!r}."
            )
        return (
            f"{shown} is a URL, and sqlrl reads files: pass a query, \"from '{plain}'\", which DuckDB reads with its extension httpfs, or "
            "download it and pass its path."
        )
    path = expanded(plain) if "\n" not in plain and "\0" not in plain else None
    if path is not None and exists(path) and path.is_dir():
        return _folder(path)
    if (
        not _QUERY.match(plain)
        and re.match(r"(?:[0-9.eE+-]+\s+|[!?*])?[^\W\d]\w*\([^()]*\)\s*\.?\s*(?:$|\n|//)", plain)
        and not plain.endswith(";")
    ):
        return f"{shown} is text of evidence: save it as a file (.db) and pass that to {Phrase(_ATOMS)}."
    first, _, rest = plain.partition("\n")
    if rest and re.search(r"[,;\t|]", first) and not _QUERY.match(first):
        return f"{shown} is text of a table: save it as a file (.csv) and pass its path{Phrase(', or pass its rows as tuples')}."
    if re.fullmatch(r"[^\W\d]\w*", plain):
        return f"{shown} {_NEITHER}{Phrase(': if it is a variable of Python, pass the object itself, without quotes')}."
    if re.fullmatch(r"\S*[/\\]\S*|\S+\.[A-Za-z][A-Za-z0-9]{0,7}", plain):
        return f"{shown} {_NEITHER}. The working directory is {Path.cwd()}; {_known()}"
    return None
