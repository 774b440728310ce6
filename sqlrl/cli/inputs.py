"""Models, evidence and examples as the command line names them; `-` is standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sqlrl.cli.options import DATA, Db, Drop, Evidence, Messages, ModelFile, Query, named_database, split_names
from sqlrl.cli.options import Database as DatabaseFile
from sqlrl.cli.session import Session, session
from sqlrl.errors import InputError, brief
from sqlrl.paths import is_file

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlrl.database.database import Database
    from sqlrl.logic import Model

STANDARD_INPUT = "standard input"


@dataclass(frozen=True)
class Job:
    """A command at work: the open database with the model, and where results go.

    `model` is without what `--drop` names, and with the predicates of `--query`; `examples` are a query or table,
    names, or None for all.
    """

    run: Session
    db: Database
    model: Model
    examples: str | list[str] | None


class Missing(StrEnum):
    """What to do with constants of the model's rules that the data lack."""

    error = "error"
    allow = "allow"


InMissing = Annotated[
    Missing,
    typer.Option(
        "--missing", help="Constants of rules that the data lack; a learned model may have some.", rich_help_panel=DATA
    ),
]


@dataclass(frozen=True)
class Inputs:
    """The options that name a model and data.

    `model` and `evidence` are files, or `-`; `database` is the argument, `db` the option. `missing` says whether rules
    may name constants that the data lack.
    """

    model: ModelFile
    database: DatabaseFile = None
    db: Db = None
    evidence: Evidence = None
    query: Query = None
    drop: Drop = None
    missing: InMissing = Missing.error

    @contextmanager
    def open(
        self, output: Messages, *, examples: str | None = None, labels: bool = False, read_only: bool = False
    ) -> Iterator[Job]:
        """Read the model and open the database, or make one in memory of evidence files.

        `examples` is what `--examples` says; `labels`: facts of predicates to predict are labels, not evidence.
        typer.BadParameter if no database is named, or one beside evidence files, or if two inputs are standard input;
        InputError if the model has no rules.
        """
        files = split_files(self.evidence)
        check_standard_input(model=[self.model], evidence=files, examples=[examples or ""])
        path = None if files else named_database(self.database, self.db)
        # SQLRL_DB may be set for other commands; a database that was typed is meant for this one.
        typed = self.database or (self.db if self.db != Path(os.environ.get("SQLRL_DB", "")) else None)
        if files and typed is not None:
            raise typer.BadParameter(
                "--evidence makes a database in memory: leave out the DATABASE, or load the file first with "
                "`sqlrl load --evidence`"
            )
        with session(output) as run:
            from sqlrl.logic.dropping import drop_predicates

            whole = read_model(self.model, self.query)
            dropped = split_names(self.drop)
            model = drop_predicates(whole, dropped)
            if not model.rules:
                without = f" without {', '.join(dropped)}" if dropped else ""
                raise InputError(
                    f"{self.model}: the model has no rules{without}, so there is nothing to do: write some"
                )
            if files or self.missing is Missing.allow:
                # What a learned model names and the data lack is counted and warned of. Alchemy's programs are read so, too.
                model = replace(model, learned=True)
            with run.database(path, read_only=read_only) as opened:
                if files:
                    with run.working("loading evidence"):
                        # As in Alchemy, a fact may stand twice, and a file may say nothing.
                        opened.load_evidence(
                            evidence_of(files, whole),
                            whole,
                            given=not labels,
                            duplicates="warn",
                            empty="warn",
                            drop=dropped,
                        )
                        fill_empty(opened, model)
                yield Job(run, opened, model, chosen_examples(examples))


def read_model(path: str, query: Sequence[str] | None = None) -> Model:
    """Read a model from a file or standard input, and name predicates to predict."""
    from sqlrl.logic import files

    model = files.parse_model(sys.stdin.read(), path=STANDARD_INPUT) if path == "-" else files.read_model(path)
    return replace(model, query=model.query | set(split_names(query)))


def chosen_examples(value: str | None) -> str | list[str] | None:
    """Return the examples that `--examples` names: names from a file or standard input, else a query or table.

    InputError if the file holds no names.

    Examples
    --------
    >>> chosen_examples("select bib from test")
    'select bib from test'
    """
    if value is None:
        return None
    path = Path(value)
    if value != "-" and not is_file(value):
        return value
    # Parquet and CSV files are tables, which the library reads itself.
    if path.suffix.lower() in (".parquet", ".csv", ".tsv"):
        return value
    text = sys.stdin.read() if value == "-" else path.read_text(encoding="utf-8")
    names = [line for line in text.splitlines() if line.strip()]
    if not names:
        raise InputError(f"{STANDARD_INPUT if value == '-' else value}: there are no names of examples")
    return names


def check_standard_input(**options: Sequence[str]) -> None:
    """Refuse to read standard input twice, with a typer.BadParameter that names the options.

    Examples
    --------
    >>> check_standard_input(model=["-"], evidence=["a.db", "b.db"])
    """
    readers = [f"--{name}" for name, values in options.items() for value in values if value == "-"]
    if len(readers) > 1:
        raise typer.BadParameter(f"{' and '.join(readers)} cannot both be standard input")


def split_files(values: Sequence[str] | None) -> list[str]:
    """Return files from options that are repeated, hold commas, or both; an existing file may have a comma in its name.

    Examples
    --------
    >>> split_files(["a.db,b.db", "-"])
    ['a.db', 'b.db', '-']
    """
    return [file for value in values or () for file in ([value] if is_file(value) else split_names([value]))]


def evidence_of(files: Sequence[str], model: Model) -> list[Any]:
    """Return evidence files as `Database.load_evidence` takes them, with the atoms of standard input in place of `-`."""
    from sqlrl.logic.evidence import parse_evidence

    found: list[Any] = [file for file in files if file != "-"]
    if "-" in files:
        found += parse_evidence(sys.stdin.read(), path=STANDARD_INPUT, model_or_predicates=model)
    return found


def fill_empty(db: Database, model: Model) -> None:
    """Make closed predicates that the evidence never mentions empty: what is absent is false, as in Alchemy."""
    import pyarrow as pa

    loaded = {name for name, record in db.catalog.predicates().items() if record.rows or record.open}
    for name, predicate in sorted(model.predicates.items()):
        if name not in loaded and name not in model.query:
            columns: dict[str, pa.Array] = {
                f"column{i}": pa.array([], pa.string()) for i in range(len(predicate.types))
            }
            db.catalog.load(name, pa.table(columns), types=predicate.types, empty="allow")


def read_table(db: Database, *, header: bool = True, delimiter: str | None = None, quote: str = '"') -> pa.Table:
    """Read Parquet or CSV from standard input; the columns of CSV are text.

    `header`, `delimiter` and `quote` say how CSV is written, see `Database.load`. InputError, with the line, if there
    is nothing, or it is neither.
    """
    import io

    import pyarrow as pa
    import pyarrow.parquet

    from sqlrl.catalog.delimited import Dialect
    from sqlrl.catalog.sources import read_delimited

    data = sys.stdin.buffer.read()
    if not data:
        raise InputError(f"{STANDARD_INPUT} is empty: send Parquet or CSV to it.")
    dialect = Dialect(header, delimiter, quote)
    if data[:4] != b"PAR1":
        return read_delimited(db.engine, data, STANDARD_INPUT, dialect)
    if dialect != Dialect():
        raise InputError(f"{STANDARD_INPUT} is Parquet: leave out what says how CSV is written.")
    try:
        return pyarrow.parquet.read_table(io.BytesIO(data))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{STANDARD_INPUT} is damaged Parquet: {brief(str(error))}") from error
