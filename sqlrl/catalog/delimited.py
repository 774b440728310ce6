"""Delimited text (CSV): how it is read, and what DuckDB's complaints about it mean.

Nothing is guessed: the header, the delimiter and the quote are what the user says or the defaults, every column is text, and
every row has as many fields as the first one.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlglot import exp

from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column
from sqlrl.errors import EngineError, LoadError, LoadWarning, Parameter, Phrase, brief, warn
from sqlrl.wording import counted

SUFFIXES = {".csv", ".tsv", ".txt"}
COMPRESSED = {".gz", ".zst"}
_OTHERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
# The first record may go over several lines; more lines than these are an unclosed quote.
_HEAD = 1000


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written."""

    header: bool = True  # The first line has the names of the columns; without it they are column0, column1, ...
    delimiter: str | None = None  # One character; None for a tab in .tsv files, else a comma.
    quote: str = '"'  # One character around fields that hold a delimiter, doubled inside them; "" for none.

    def check(self) -> None:
        r"""Refuse what cannot be a dialect."""
        if self.header not in (True, False):
            raise LoadError(
                f"{Parameter('header', self.header)} must be {Phrase('True')} (the first line names the columns) or {Phrase('False')}."
            )
        given: dict[str, object] = {"delimiter": self.delimiter, "quote": self.quote}
        for name, value in given.items():
            if value is None or (name == "quote" and value == ""):
                continue
            if not isinstance(value, str) or len(value) != 1 or value in "\r\n\0":
                raise LoadError(f"{Parameter(name, value)} must be one character, such as {_SUCH_AS[name]}.")


_SUCH_AS = {"delimiter": "',', ';' or '\\t'", "quote": "'\"', or '' if fields are never quoted"}


def is_delimited(path: Path) -> bool:
    """Return True if the name of a file is that of delimited text, perhaps compressed."""
    return _inner_suffix(path) in SUFFIXES


def _inner_suffix(path: Path) -> str:
    """Return the ending of a name without that of a compression."""
    outer = path.suffix.lower()
    return Path(path.stem).suffix.lower() if outer in COMPRESSED else outer


def delimited_table(
    engine: DuckDBEngine, patterns: Sequence[str], files: Sequence[str], paths: Sequence[Path], dialect: Dialect
) -> tuple[exp.Expr, list[str]]:
    """Return the expression that reads delimited text in FROM, and its columns; no columns if the files are empty."""
    # `patterns` may have wildcards of DuckDB (`*`, `?` and `[`), `files` are those that they name, and messages have `paths`.
    dialect.check()
    tabs = {_inner_suffix(path) == ".tsv" for path in paths}
    if len(tabs) > 1 and dialect.delimiter is None:
        raise LoadError(
            f"{', '.join(map(str, paths))}: some of the files are .tsv, with tabs, and some are not: load those of one kind at once, or pass "
            f"{Parameter('delimiter')}."
        )
    delimiter = dialect.delimiter or ("\t" if True in tabs else ",")
    if dialect.quote == delimiter:
        raise LoadError(f"{Parameter('delimiter', delimiter)} and {Parameter('quote', dialect.quote)} must differ.")
    names: list[str] = []
    first = ""
    for file in files if len(paths) > 1 else sorted(files):
        label = str(paths[0]) if len(files) == 1 and paths[0].exists() else file
        found = _columns(engine, file, label, dialect, delimiter)
        if found and names and found != names:
            raise LoadError(
                f"{label} has the columns {', '.join(found)}, but {first} has {', '.join(names)}: load files with other columns "
                "separately."
            )
        if found and not names:
            names, first = found, label
    options: dict[str, exp.Expr] = {
        "auto_detect": exp.false(),
        "header": exp.convert(dialect.header),
        "delim": exp.convert(delimiter),
        "quote": exp.convert(dialect.quote),
        "escape": exp.convert(dialect.quote),
        # An empty unquoted field is missing, "" is an empty text.
        "allow_quoted_nulls": exp.false(),
        "columns": _struct(names),
    }
    read = _read_csv(patterns, options)
    if len(names) != 1:
        return read, names
    # A line without any character is no row, even of one column, where an empty text is written "".
    # DuckDB passes over empty lines where there are more columns.
    there = exp.Not(this=exp.Is(this=column(names[0]), expression=exp.null()))
    return exp.select("*").from_(read).where(there).subquery("lines"), names


def _read_csv(patterns: Sequence[str], options: dict[str, exp.Expr]) -> exp.Anonymous:
    """Return a call of read_csv."""
    settings = [exp.EQ(this=exp.to_identifier(name), expression=value) for name, value in options.items()]
    files = exp.convert(patterns[0] if len(patterns) == 1 else list(patterns))
    return exp.Anonymous(this="read_csv", expressions=[files, *settings])


def _struct(names: list[str]) -> exp.Struct:
    """Return the columns as read_csv takes them, all of them text."""
    return exp.Struct(
        expressions=[
            exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=exp.convert("VARCHAR"))
            for name in names
        ]
    )


def _columns(engine: DuckDBEngine, file: str, label: str, dialect: Dialect, delimiter: str) -> list[str]:
    """Return the columns of a file by its first record; none if the file is empty."""
    lines = _first_lines(engine, file, label)
    if not lines:
        return []
    if not lines[0].strip("\r\n"):
        raise LoadError(f"{label}, line 1: the first line is empty: remove it.")
    quoted = dialect.quote or None
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        quotechar=quoted,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    try:
        record = next(reader)
    except csv.Error as error:
        raise LoadError(
            f"{label}, line 1: a quote ({dialect.quote}) is not closed, or text follows a closing one: mend the line, or pass "
            f"{Parameter('quote', '')} if {dialect.quote} does not enclose fields."
        ) from error
    if len(record) == 1 and dialect.delimiter is None:
        _check_delimiter(lines[0], label, delimiter)
    if not dialect.header:
        return [f"column{i}" for i in range(len(record))]
    _check_header(record, label)
    return _distinct(record)


def _first_lines(engine: DuckDBEngine, file: str, label: str) -> list[str]:
    """Return the first lines of a file, each with a line feed at its end."""
    # DuckDB reads them, since it knows the compressions; no text holds this delimiter.
    options: dict[str, exp.Expr] = {
        "auto_detect": exp.false(),
        "header": exp.false(),
        "delim": exp.convert("\x01"),
        "quote": exp.convert(""),
        "escape": exp.convert(""),
        "columns": _struct(["line"]),
    }
    name = re.sub(r"([*?\[])", r"[\1]", file)
    query = exp.select(column("line")).from_(_read_csv([name], options)).limit(_HEAD)
    try:
        rows = engine.fetch(query, step=f"read the first line of {label}").column(0).to_pylist()
    except EngineError as error:
        raise LoadError(delimited_fault(error.reason, label)) from error
    lines = [f"{row or ''}\n" for row in rows]
    return [lines[0].removeprefix("\ufeff"), *lines[1:]] if lines else []


def _check_delimiter(line: str, label: str, delimiter: str) -> None:
    """Refuse a line without the delimiter, which nobody named, if it has another one."""
    found = [d for d in _OTHERS if d != delimiter and d in line]
    if found:
        words = " or ".join(_OTHERS[d] for d in found)
        raise LoadError(
            f"{label}, line 1: there is no {delimiter!r} but {words}: pass {Parameter('delimiter', found[0])}, or {Parameter('delimiter', delimiter)} if "
            "there is one column."
        )


def _check_header(names: list[str], label: str) -> None:
    """Warn of a header that looks like data."""
    repeated = [name for name, times in Counter(names).items() if times > 1 and name]
    if repeated or all(re.fullmatch(r"[-+]?[0-9]+(\.[0-9]*)?", name) for name in names):
        why = f"{repeated[0]!r} stands in it twice" if repeated else "it holds numbers alone"
        warn(
            f"{label}: the first line is taken for names of columns, but {why}: pass {Parameter('header', False)} if it is data",
            LoadWarning,
        )


def _distinct(names: list[str]) -> list[str]:
    """Return names of columns that differ, also without case, as DuckDB needs them."""
    taken: set[str] = set()
    result = []
    for position, name in enumerate(names):
        wanted = name or f"column{position}"
        free, number = wanted, 0
        while free.casefold() in taken:
            number += 1
            free = f"{wanted}_{number}"
        taken.add(free.casefold())
        result.append(free)
    return result


def delimited_fault(reason: str, label: str, *, pattern: bool = False) -> str:
    """Return DuckDB's message about delimited text with file, line and remedy instead of hints; with `pattern` it names the file, not `label`."""
    file = re.search(r"^\s*file = (.*)$", reason, re.MULTILINE)
    where = file[1].strip() if pattern and file else label
    line = re.search(r"CSV Error on Line: (\d+)", reason)
    where += f", line {int(line[1]):,}" if line else ""
    if "unterminated quote" in reason:
        return f"{where}: a quote is not closed, or text follows a closing one: close it, or pass {Parameter('quote', '')} if fields are never quoted."
    if "unicode" in reason or "not utf-8" in reason:
        return f"{where}: the text is not UTF-8: save the file in that encoding."
    counts = re.search(r"^Expected Number of Columns: (\d+) Found: (\d+)", reason, re.MULTILINE)
    if counts:
        text = re.search(r"^Original Line: (.*)$", reason, re.MULTILINE)
        shown = f": {_cut(text[1])!r}" if text else ""
        return (
            f"{where}: {counted(int(counts[2]), 'field')}, expected {counts[1]} as in the first line{shown}. Add or remove fields; "
            "a field that holds the delimiter needs quotes."
        )
    if "Maximum line size" in reason:
        return f"{where}: the line is too long; perhaps a quote is not closed."
    if "state machine" in reason:
        return f"{where}: the file is not well-formed CSV, perhaps its lines end in different ways (\\n and \\r\\n): write it again with one."
    return f"{where} cannot be read, it may be damaged: write it again or name another file. ({brief(reason)})"


def _cut(text: str) -> str:
    """Return the start of a text."""
    return text if len(text) <= 80 else text[:77] + "..."
