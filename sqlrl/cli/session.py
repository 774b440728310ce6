"""What every command has around it: the log, warnings, progress, the database, standard input, and where results go."""

from __future__ import annotations

import codecs
import io
import json
import logging
import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sqlrl.cli.options import (
    SHOWN,
    DatabaseFirst,
    DatabaseOptions,
    Db,
    Messages,
    Output,
    Summary,
    Untrusted,
    is_database,
    with_database,
)
from sqlrl.cli.words import in_options
from sqlrl.errors import BusyError, InputError, SqlrlWarning
from sqlrl.markup import printable
from sqlrl.paths import exists, expanded

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlrl.database.database import Database
    from sqlrl.report import Console, Table


# ---- streams ------------------------------------------------------------------------------------------

STANDARD_INPUT = "standard input"

_PLAIN = str.maketrans({"…": "...", "±": "+/-", "─": "-", "━": "-", "│": "|", **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼", "+")})
"""Characters of ours, and what is written for them where an encoding lacks them."""


def prepare_streams() -> None:
    """Let standard output and error escape what their encodings lack, in place of an error."""
    codecs.register_error("sqlrl", _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="sqlrl")


def _escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    written = error.object[error.start : error.end].translate(_PLAIN)
    return written.encode("ascii", "backslashreplace").decode("ascii"), error.end


def only_ascii() -> bool:
    """Return True if standard output may lack characters, so that JSON must escape them in its own way."""
    return "utf" not in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()


def write_file(text: str) -> None:
    """Write the content of a file, such as a model, to standard output; like all files it is UTF-8."""
    if only_ascii():
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()
    else:
        print(text, end="")


def read_input() -> str:
    """Read standard input, which like all files is UTF-8; InputError if it is not."""
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{STANDARD_INPUT} is no UTF-8 text: byte {error.start} is damaged") from error


def check_arguments(arguments: Sequence[str]) -> None:
    r"""Refuse arguments, and what the environment names in place of one, that are not in the encoding of the system."""
    named = [*(("the argument", value) for value in arguments), ("SQLRL_DB", os.environ.get("SQLRL_DB", ""))]
    for what, value in named:
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            encoding = sys.getfilesystemencoding()
            shown = "".join(f"\\x{ord(c) - 0xDC00:02x}" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in value)
            raise typer.BadParameter(
                f"{what} '{shown}' is no text in {encoding}, the encoding here: write it in that encoding, and rename the "
                "file if it is one"
            ) from None


# ---- the session --------------------------------------------------------------------------------------

EVERY = sys.maxsize
"""Rows that a command without `--rows` shows."""

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


@dataclass(frozen=True)
class CommandSession:
    """One run of a command."""

    console: Console  # for messages and progress: standard error
    as_json: bool
    rows: int  # how many rows of a table are shown
    quiet: bool = False

    @contextmanager
    def database(
        self,
        path: Path | None,
        opening: DatabaseOptions,
        *,
        create: bool = False,
        read_only: bool = False,
        # Nothing is written that has to last, so that a file that cannot be written is opened for reading.
        reads: bool = False,
        folder: Path | None = None,  # whose files a script may name in an untrusted database
        whole: bool = False,  # a file that is created is removed again if what is done with it fails
    ) -> Iterator[Database]:
        """Open a database, in memory if the path is None, and close it again."""
        from sqlrl.catalog.sizes import ATOM_LIMIT
        from sqlrl.database.database import connect
        from sqlrl.engine.faults import unwritable

        if path is not None:
            check_file(path, create=create)
            if not read_only and reads and unwritable(expanded(path)):
                read_only = True
                self.message(f"{path} cannot be written: it is opened as with --read-only")
            if not read_only:
                check_writable(path)
        new = path is not None and not exists(expanded(path))
        try:
            try:
                database = connect(
                    path or ":memory:",
                    memory_limit=opening.memory_limit,
                    atom_limit=ATOM_LIMIT if opening.atom_limit is None else opening.atom_limit,
                    read_only=read_only,
                    trusted=not opening.untrusted,
                    folder=folder,
                    progress=False,
                    engine=opening.engine,
                )
            except BusyError as error:
                raise error if reads or not error.reading else BusyError(error.held.rstrip(".") + ".") from error
            with database:
                database.advanced.console = self.console
                yield database
        except BaseException as error:
            if path is not None and new and whole:
                file = expanded(path)
                for left in (file, file.with_name(file.name + ".wal")):
                    left.unlink(missing_ok=True)
            elif path is not None and not read_only and isinstance(error, KeyboardInterrupt):
                error.__notes__ = [f"what was finished is kept in {path}", *getattr(error, "__notes__", [])]
            raise

    @contextmanager
    def working(self, description: str) -> Iterator[None]:
        """Show that something is at work, once it has taken longer than two seconds."""
        with self.console.progress(description):
            yield

    def show(self, *tables: Table | pa.Table, title: str = "") -> None:
        """Print tables, or all their rows as one JSON list."""
        from sqlrl.report import Table

        shown = [table if isinstance(table, Table) else Table(table, title=title) for table in tables]
        if self.as_json:
            print_json(row for table in shown for row in table)
            return
        for number, table in enumerate(shown):
            limited = Table(table.to_arrow(), title=table.title, limit=self.rows, whole=table.whole)
            if number:
                print()
            if sys.stdout.isatty():
                from rich.console import Console as Terminal

                Terminal().print(limited)
            else:
                print(limited)

    def confirm(self, table: Table) -> None:
        """Print a table that tells what was done, which nobody asked for: with --quiet only as JSON."""
        if self.as_json or not self.quiet:
            self.show(table)

    def message(self, text: str) -> None:
        """Write lines to standard error."""
        for line in text.splitlines():
            self.console.message(line)


@contextmanager
def session(output: Messages) -> Iterator[CommandSession]:
    """Set up logging and warnings for a command, and take them down again."""
    from sqlrl.report import console_for

    console = console_for(quiet=output.quiet)
    logger = logging.getLogger("sqlrl")
    handler = logging.StreamHandler()
    handler.setFormatter(_Printable("%(asctime)s %(levelname)s %(name)s: %(message)s", "%H:%M:%S"))
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.CRITICAL if output.quiet and not output.verbose else _LEVELS[min(output.verbose, 2)])

    try:
        with warnings_shown(console):
            rows = output.rows if isinstance(output, Output | Summary) else EVERY
            if rows is None:
                rows = SHOWN if sys.stdout.isatty() else EVERY
            yield CommandSession(console, output.as_json, rows, output.quiet)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


@contextmanager
def warnings_shown(console: Console) -> Iterator[None]:
    """Show warnings in this context on a console."""
    shown = set[str]()

    def warn(message: Warning | str, *_: object, **__: object) -> None:
        """Show a warning once, without the place in the code, which says nothing to a user."""
        said = message.args[0] if isinstance(message, Warning) and message.args else message
        text = printable(in_options(said if isinstance(said, str) else str(message)))
        if text not in shown:
            shown.add(text)
            console.warning(text)

    with warnings.catch_warnings():
        warnings.showwarning = warn
        warnings.simplefilter("always", SqlrlWarning)
        yield


@dataclass(frozen=True)
class NamedDatabase:
    """The database as the first of several arguments, for commands that name no model."""

    first: DatabaseFirst = None
    db: Db = None
    untrusted: Untrusted = False

    @contextmanager
    def open(
        self,
        output: Messages,
        others: Sequence[str | None],  # the other arguments
        names: str,  # what these are called
        *,
        read_only: bool = False,
        reads: bool = False,  # as in `CommandSession.database`
    ) -> Iterator[tuple[CommandSession, Database, list[str]]]:
        """Open the database for a command, with the other arguments."""
        path, given = with_database((self.first, *others), self.db, names)
        opening = DatabaseOptions(untrusted=self.untrusted)
        with session(output) as run, run.database(path, opening, read_only=read_only, reads=reads) as database:
            yield run, database, given


class _Printable(logging.Formatter):
    """Writes records of the log without characters that act on a terminal, which may stand in SQL and names."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record."""
        return printable(super().format(record))


def check_file(path: Path, *, create: bool = False) -> None:
    """Refuse a file that does not exist, or that is no DuckDB database."""
    file = expanded(path)
    if not exists(file):
        if create:
            return
        raise InputError(f"{path}: there is no such database; `sqlrl load` creates one.")
    # DuckDB itself opens a Parquet or CSV file as a database in memory, in which all work would be lost.
    if file.is_file() and file.stat().st_size and not is_database(file):
        raise InputError(f"{path} is not a DuckDB database: name the database first, then what to do with it.")


def check_writable(path: Path) -> None:
    """Refuse a database that a command has to write and cannot; `--read-only` would be no remedy."""
    from sqlrl.engine.faults import unwritable

    if hindrance := unwritable(expanded(path)):
        raise InputError(
            f"{path} cannot be written, which this command has to: {hindrance}. Change the permissions, or use a file elsewhere."
        )


def print_json(rows: Iterable[Mapping[str, object]]) -> None:
    """Print rows as a JSON list, one row on each line; counts stay exact integers, and NaN and infinity are null."""
    first, escaped = True, only_ascii()
    for row in rows:
        print("[" if first else ",\n ", json.dumps(_plain(row), ensure_ascii=escaped, allow_nan=False), sep="", end="")
        first = False
    print("[]" if first else "]")


def _plain(value: object) -> Any:
    """Return a value as JSON has it."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case dict():
            return {str(k): _plain(v) for k, v in value.items()}
        case tuple() if hasattr(value, "nanoseconds"):
            # An interval, as Arrow has it.
            return {part: getattr(value, part) for part in ("months", "days", "nanoseconds")}
        case list() | tuple():
            return [_plain(v) for v in value]
        case bytes():
            return value.hex()
        case _:
            return value.isoformat() if hasattr(value, "isoformat") else str(value)
