"""How the facts of a predicate are read from a source, as the command line says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from sqlrl.cli.inputs import read_table
from sqlrl.cli.options import flag, option, split_names

if TYPE_CHECKING:
    from sqlrl.database.database import Database
    from sqlrl.logic.model import Model


class Duplicates(StrEnum):
    """What to do with facts that occur more than once."""

    error = "error"
    drop = "drop"


class Nulls(StrEnum):
    """What to do with rows that have NULL for an argument, the example or the value."""

    error = "error"
    drop = "drop"


class Empty(StrEnum):
    """What to do with a source that has no facts."""

    error = "error"
    allow = "allow"


Columns = Annotated[
    str | None, option("--columns", "NAMES", "Columns of the arguments, in order, by name or number from 0.")
]
Types = Annotated[str | None, option("--types", "NAMES", "Types of the arguments, in order.")]
Example = Annotated[str | None, option("--example", "NAME", "The type, or the column, whose values are the examples.")]
Numeric = Annotated[
    str | None,
    option("--numeric", "NAMES", "Types whose constants are numbers: 1 and 1.0 are one; before they have any."),
]
Truth = Annotated[str | None, option("--truth", "COLUMN", "A boolean column: false rows are known to be false.")]
Probability = Annotated[str | None, option("--probability", "COLUMN", "A column of probabilities: soft evidence.")]
Value = Annotated[str | None, option("--value", "COLUMN", "A column of soft truths from 0 to 1, for soft models.")]
Scope = Annotated[
    str | None,
    option(
        "--scope",
        "SOURCE",
        "Which tuples there are to predict, all by default: a query, a table or a file with a column for each argument.",
    ),
]
InNulls = Annotated[
    Nulls, typer.Option("--nulls", help="Rows with NULL (in CSV files an empty field) for an argument or the example.")
]
FoldCase = Annotated[bool, flag("--fold-case", "Lower the case of all constants.")]
Rename = Annotated[list[str] | None, option("--rename", "OLD=NEW", "A new name of a constant; repeatable.")]
NoHeader = Annotated[bool, flag("--no-header", "The first line of a CSV file is a fact, not names of columns.")]
Delimiter = Annotated[
    str | None,
    option("--delimiter", "CHARACTER", "What separates the fields of a CSV file: a comma, in .tsv files a tab (\\t)."),
]
Quote = Annotated[
    str,
    typer.Option(
        "--quote", metavar="CHARACTER", help="What encloses fields of a CSV file; an empty text: nothing does."
    ),
]


InBins = Annotated[
    list[str] | None,
    option(
        "--bins",
        "TYPE=N",
        "Cut the numbers or dates of a type into N pieces of equally many rows, or at edges (price=10:25:40, day=2024-01-31:2024-06-30), or as a model file says; repeatable.",
    ),
]
BinsFrom = Annotated[
    str | None,
    option(
        "--bins-from",
        "QUERY",
        "The examples whose rows choose the edges: a query, a table or a file; all rows by default.",
    ),
]


Append = Annotated[bool, flag("--append", "Add the facts to those that are there, not in their place.")]


OnServer = Annotated[
    bool, flag("--on-server", "SOURCE is Parquet that the server of --spark reads, and encodes into --spark-storage.")
]


class CsvOptions(TypedDict, total=False):
    """How a CSV file is written; see `Database.load`."""

    header: bool
    delimiter: str | None
    quote: str


@dataclass(frozen=True)
class FactOptions:
    """How the source of a predicate is read; see `Database.load`."""

    types: Types = None
    numeric: Numeric = None
    columns: Columns = None
    example: Example = None
    truth: Truth = None
    probability: Probability = None
    value: Value = None
    scope: Scope = None
    fold_case: FoldCase = False
    rename: Rename = None
    nulls: InNulls = Nulls.error
    no_header: NoHeader = False
    delimiter: Delimiter = None
    quote: Quote = '"'
    bins: InBins = None
    bins_from: BinsFrom = None
    append: Append = False
    on_server: OnServer = False

    def written(self) -> CsvOptions:
        """Return how CSV files are written."""
        delimiter = "\t" if self.delimiter == "\\t" else self.delimiter
        return CsvOptions(header=not self.no_header, delimiter=delimiter, quote=self.quote)

    def _declare(self, db: Database) -> None:
        """Declare types of numbers."""
        for name in split_names([self.numeric or ""]):
            if self.types is not None and name not in (types := split_names([self.types])):
                raise typer.BadParameter(f"--numeric {name}: the types that --types names are {', '.join(types)}")
            db.load(numeric=[name])

    def _bins(self, *, trusted: bool) -> Mapping[Any, int | Sequence[float | str] | Model] | Model | None:
        """Return where types are cut into pieces."""
        found: dict[str, int | Sequence[float | str] | Model] = {}
        for text in self.bins or ():
            if "=" not in text:
                from sqlrl.cli.inputs import read_model

                if len(self.bins or ()) > 1:
                    raise typer.BadParameter(f"--bins {text}: a model says all edges, leave the others out")
                return read_model(text, trusted=trusted)
            name, wanted = _pieces(text)
            if found.setdefault(name, wanted) is not wanted:
                raise typer.BadParameter(f"--bins names {name} twice")
        return found or None

    def load_all(self, db: Database, folder: Path, bias: Path | None, *, duplicates: Duplicates, empty: Empty) -> None:
        """Load the files of a folder."""
        from sqlrl.logic.bias_parser import read_bias

        self._declare(db)
        db.load(
            folder,
            types=None if bias is None else read_bias(bias),
            duplicates=duplicates.value,
            nulls=self.nulls.value,
            empty=empty.value,
            fold_case=self.fold_case,
            constants=renamed(self.rename or []),
            bins=self._bins(trusted=db.advanced.engine.trusted),
            **self.written(),
        )

    def load(
        self,
        db: Database,
        predicate: str,
        source: str,
        *,
        target: bool,
        given: bool,
        duplicates: Duplicates,
        empty: Empty,
    ) -> None:
        """Load the facts of a predicate."""
        written = self.written()
        found: object = source
        if self.on_server:
            from sqlrl.catalog.server_files import ServerFiles

            found = ServerFiles(source)
        elif source == "-":
            # It is a table once it is read.
            found, written = read_table(db, **written), CsvOptions()
        with db.advanced.catalog.store.writing():
            self._declare(db)
            db.load(
                predicate,
                found,
                columns=_places(self.columns),
                types=split_names([self.types]) if self.types else None,
                example=self.example,
                target=target,
                given=given,
                truth=_place(self.truth),
                probability=_place(self.probability),
                value=_place(self.value),
                duplicates=duplicates.value,
                nulls=self.nulls.value,
                empty=empty.value,
                fold_case=self.fold_case,
                constants=renamed(self.rename or []),
                bins=self._bins(trusted=db.advanced.engine.trusted),
                bins_from=self.bins_from,
                mode="append" if self.append else "replace",
                **written,
            )
            if self.scope is not None:
                db.scope(predicate, self.scope)


def _pieces(text: str) -> tuple[str, int | list[float] | list[str]]:
    """Return a type, and its number of pieces or its edges."""
    from sqlrl.logic.bins import read_bins

    try:
        return read_bins(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"--bins takes TYPE=N for a number of pieces, TYPE=10:25:40 for edges (10: for one), TYPE=2024-01-31:2024-06-30 for dates, or the "
            f"file of a model, not {text!r}"
        ) from error


def _place(name: str | None) -> str | int | None:
    """Return a column by name or, if it is a number, by position."""
    return int(name) if name is not None and name.isdecimal() else name


def _places(names: str | None) -> list[str | int] | None:
    """Return columns by name or position."""
    return None if names is None else [int(name) if name.isdecimal() else name for name in split_names([names])]


def renamed(pairs: list[str]) -> dict[str, str]:
    """Return new names of constants by their old ones."""
    found: dict[str, str] = {}
    for pair in pairs:
        old, sign, new = pair.partition("=")
        if not sign or not old or not new:
            raise typer.BadParameter(f"--rename takes OLD=NEW, not {pair!r}")
        found[old] = new
    return found
