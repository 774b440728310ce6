"""Models, evidence and examples as the command line names them; `-` is standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sqlrl.cli.options import named_database, split_names
from sqlrl.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlrl.cli.session import Session
    from sqlrl.database import Database
    from sqlrl.logic import Model

STANDARD_INPUT = "standard input"


def read_model(path: str, query: Sequence[str] | None = None) -> Model:
    """Read a model from a file or standard input and name predicates to predict.

    Parameters
    ----------
    path : str
    query : sequence of str, optional
        As `split_names` takes them.
    """
    from sqlrl.logic import serialize

    model = serialize.parse_model(sys.stdin.read(), path=STANDARD_INPUT) if path == "-" else serialize.read_model(path)
    return replace(model, query=model.query | set(split_names(query)))


def chosen_examples(value: str | None) -> str | list[str] | None:
    """Return the examples that `--examples` names: names from a file or standard input, else a query or table.

    Raises
    ------
    InputError
        The file holds no names.
    """
    if value is None:
        return None
    path = Path(value)
    if value != "-" and not (len(value) < 1000 and "\n" not in value and path.is_file()):
        return value
    # Parquet and CSV files are tables, which the library reads itself.
    if path.suffix.lower() in (".parquet", ".csv", ".tsv"):
        return value
    text = sys.stdin.read() if value == "-" else path.read_text(encoding="utf-8")
    names = [line for line in text.splitlines() if line.strip()]
    if not names:
        raise InputError(f"{STANDARD_INPUT if value == '-' else value}: there are no names of examples")
    return names


def check_inputs(**options: str | None) -> None:
    """Refuse to read standard input twice."""
    twice = [f"--{name}" for name, value in options.items() if value == "-"]
    if len(twice) > 1:
        raise typer.BadParameter(f"{' and '.join(twice)} cannot both be standard input")


@contextmanager
def open_data(
    run: Session,
    database: Path | None,
    db: Path | None,
    evidence: str | None,
    model: Model,
    *,
    labels: bool = False,
    read_only: bool = False,
) -> Iterator[Database]:
    """Open the database, or make one in memory of an evidence file.

    Parameters
    ----------
    run : Session
    database, db : Path or None
        The argument and the option.
    evidence : str or None
        A file, or `-`.
    model : Model
        Declares the predicates of the evidence.
    labels : bool
        Facts of predicates to predict are labels, not evidence.
    read_only : bool
    """
    if evidence is None:
        with run.database(named_database(database, db), read_only=read_only) as opened:
            yield opened
        return
    if database is not None:
        raise typer.BadParameter(
            "--evidence makes a database in memory: leave out DATABASE, or load the file first with `sqlrl load --evidence`"
        )
    with run.database(None) as opened:
        with run.working("loading evidence"):
            load_evidence(opened, evidence, model, given=not labels)
            fill_empty(opened, model)
        yield opened


def load_evidence(db: Database, source: str, model: Model, *, given: bool = False, target: bool = False) -> None:
    """Load an evidence file or standard input."""
    if source == "-":
        from sqlrl.logic.evidence import parse_evidence

        atoms = parse_evidence(sys.stdin.read(), path=STANDARD_INPUT, model_or_predicates=model)
        db.load_evidence(atoms, model, given=given, target=target)
        return
    db.load_evidence(source, model, given=given, target=target)


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


def read_table() -> pa.Table:
    """Read Parquet or CSV with a header from standard input; the columns of CSV are text.

    Raises
    ------
    InputError
        There is nothing, or it is neither.
    """
    import io

    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    data = sys.stdin.buffer.read()
    try:
        if data[:4] == b"PAR1":
            return pyarrow.parquet.read_table(io.BytesIO(data))
        header = pyarrow.csv.open_csv(io.BytesIO(data)).schema.names
        options = pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        )
        return pyarrow.csv.read_csv(io.BytesIO(data), convert_options=options)
    except pa.ArrowInvalid as error:
        raise InputError(f"{STANDARD_INPUT} is neither Parquet nor CSV with a header: {error}") from error
