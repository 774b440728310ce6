"""Options that several commands share, and how arguments are told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from sqlrl.cli.completion import predicates

FLAG = ""
"""What the help shows as the value of an option that has none."""

DATA, _OUTPUT = "Data", "Output"

DatabaseFirst = Annotated[str | None, typer.Argument(metavar="DATABASE", help="The DuckDB file.", show_default=False)]
"""The database as the first of several arguments, which `with_database` splits."""
Database = Annotated[Path | None, typer.Argument(metavar="DATABASE", help="The DuckDB file.", show_default=False)]
Db = Annotated[
    Path | None,
    typer.Option(
        "--db", envvar="SQLRL_DB", metavar="FILE", help="The DuckDB file, if no argument names it.", show_default=False
    ),
]
ReadOnly = Annotated[
    bool, typer.Option("--read-only", metavar=FLAG, help="Open the file for reading; several processes can.")
]
Untrusted = Annotated[
    bool,
    typer.Option(
        "--untrusted",
        metavar=FLAG,
        help="Files of a stranger: SQL and models reach nothing beside them, and no query that they keep is run.",
        rich_help_panel=DATA,
    ),
]
ModelFile = Annotated[
    str, typer.Option("--model", "-m", metavar="FILE", help="The model, .mln or .json; - is standard input.")
]
Evidence = Annotated[
    list[str] | None,
    typer.Option(
        "--evidence",
        "-e",
        metavar="FILES",
        help="Alchemy .db files instead of a database, with commas or repeated; - is standard input.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
Query = Annotated[
    list[str] | None,
    typer.Option(
        "--query",
        metavar="NAMES",
        autocompletion=predicates,
        help="Predicates to predict, with commas or repeated.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        metavar="NAMES",
        autocompletion=predicates,
        help="Predicates without data, with commas or repeated; rules that mention them are left out.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
Closed = Annotated[
    list[str] | None,
    typer.Option(
        "--closed",
        "-cw",
        metavar="NAMES",
        autocompletion=predicates,
        help="Predicates without facts that are false, with commas or repeated.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
Open = Annotated[
    list[str] | None,
    typer.Option(
        "--open",
        "-ow",
        metavar="NAMES",
        autocompletion=predicates,
        help="Predicates whose unknown atoms are inferred, and not printed, with commas or repeated.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
Examples = Annotated[
    str | None,
    typer.Option(
        "--examples",
        metavar="QUERY",
        help="The examples: a query, a table, a CSV file with a header or a Parquet file, a text file with a name on each line, or - for standard input.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
DataFile = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FILE",
        help="The .data file that belongs to a rule file of soft logic.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
Limit = Annotated[
    int,
    typer.Option("--limit", metavar="N", min=1, help="The most ground clauses of one shape.", rich_help_panel=DATA),
]
AtomLimit = Annotated[
    int | None,
    typer.Option(
        "--atom-limit",
        metavar="N",
        min=1,
        help="The most query atoms, helper atoms included; more are refused before they are made.",
        show_default="20000000",
        rich_help_panel=DATA,
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        "--memory-limit",
        metavar="SIZE",
        help="The memory of the whole process, such as 4GB; what would take more is refused before it is grounded.",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
SHOWN = 20
"""Rows of a table that are shown on a terminal, where nobody says how many."""


def _rows(default: str | bool) -> Any:
    """Return the option that says how many rows of a table are shown; its help states the default."""
    return typer.Option(
        "--rows",
        "-n",
        metavar="N",
        min=0,
        help="Rows of a table that are shown.",
        rich_help_panel=_OUTPUT,
        show_default=default,
    )


Rows = Annotated[int | None, _rows(f"{SHOWN} on a terminal, else all")]
FewRows = Annotated[int, _rows(True)]
Json = Annotated[
    bool,
    typer.Option("--json", metavar=FLAG, help="Print the result as JSON rows, all of them.", rich_help_panel=_OUTPUT),
]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        metavar=FLAG,
        count=True,
        help="Log to standard error; -vv with the SQL.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", metavar=FLAG, help="Neither progress nor messages.", rich_help_panel=_OUTPUT)
]


@dataclass(frozen=True)
class Messages:
    """The options of every command that prints: how results and messages look."""

    as_json: Json = False
    verbose: Verbose = 0  # 0: warnings, 1: also the log, 2: also every SQL statement
    quiet: Quiet = False  # no progress, messages or warnings


@dataclass(frozen=True)
class Output(Messages):
    """`Messages`, and how much of a table is shown."""

    rows: Rows = None  # None: some on a terminal, else all; JSON always has all rows


@dataclass(frozen=True)
class Summary(Messages):
    """`Messages`, and how many rows of tables are shown that say the most in the first of them."""

    rows: FewRows = 10


def split_names(values: Sequence[str] | None) -> tuple[str, ...]:
    """Return names from options that are repeated, hold commas, or both."""
    return tuple(name for value in values or () for part in value.split(",") if (name := part.strip()))


def named_database(argument: Path | None, option: Path | None) -> Path:
    """Return the database that the argument names, else that of `--db` or SQLRL_DB."""
    found = argument or option
    if found is None:
        raise typer.BadParameter("name the database: as the first argument, with --db FILE, or in SQLRL_DB")
    return found


def with_database(arguments: Sequence[str | None], option: Path | None, names: str) -> tuple[Path, list[str]]:
    """Return the database and the other arguments, called `names`; the database is the first argument, else `option`."""
    given = [argument for argument in arguments if argument is not None]
    own = len(names.split())
    if len(given) == own + 1:
        return Path(given[0]), given[1:]
    if len(given) == own and option is not None:
        return option, given
    wanted = f"DATABASE {names}".rstrip()
    if len(given) <= own:
        beside = f" {option}" if option is not None else "; the database can also stand in --db FILE or SQLRL_DB"
        found = f" beside the database{beside}" if option is not None else beside
        raise typer.BadParameter(f"expected {wanted}, found {' '.join(given) or 'nothing'}{found}")
    raise typer.BadParameter(f"expected {wanted}, found {' '.join(given)}")
