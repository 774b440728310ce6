"""Options that several commands share, and how arguments are told apart."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

_DATA, _OUTPUT = "Data", "Output"

Database = Annotated[Path | None, typer.Argument(metavar="[DATABASE]", help="The DuckDB file.", show_default=False)]
Db = Annotated[
    Path | None,
    typer.Option(
        "--db", envvar="SQLRL_DB", metavar="FILE", help="The DuckDB file, if no argument names it.", show_default=False
    ),
]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="Open the file for reading; several processes can.")]
ModelFile = Annotated[
    str, typer.Option("--model", "-m", metavar="FILE", help="The model, .mln or .json; - is standard input.")
]
Evidence = Annotated[
    str | None,
    typer.Option(
        "--evidence", "-e", metavar="FILE", help="An Alchemy .db file instead of a database; - is standard input.",
        rich_help_panel=_DATA,
    ),
]  # fmt: skip
Query = Annotated[
    list[str] | None,
    typer.Option(
        "--query", metavar="NAMES", help="Predicates to predict, with commas or repeated.", rich_help_panel=_DATA
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        metavar="NAMES",
        help="Predicates without data; rules that mention them are left out.",
        rich_help_panel=_DATA,
    ),
]
Examples = Annotated[
    str | None,
    typer.Option(
        "--examples",
        metavar="QUERY",
        help="The examples: a query, a table, a file with a name on each line, or - for standard input.",
        rich_help_panel=_DATA,
    ),
]
Limit = Annotated[
    int, typer.Option("--limit", min=1, help="The most ground clauses of one shape.", rich_help_panel=_DATA)
]
Rows = Annotated[
    int, typer.Option("--rows", "-n", min=0, help="Rows of a table that are shown.", rich_help_panel=_OUTPUT)
]
Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON rows, all of them.", rich_help_panel=_OUTPUT)
]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose", "-v", count=True, help="Log to standard error; -vv with the SQL.", rich_help_panel=_OUTPUT
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Neither progress nor messages.", rich_help_panel=_OUTPUT)]

GROUNDING_LIMIT = 200_000_000


class Method(StrEnum):
    """Solvers of the most probable world."""

    auto = "auto"
    elimination = "elimination"
    cpsat = "cpsat"


def split_names(values: Sequence[str] | None) -> tuple[str, ...]:
    """Return names from options that are repeated, hold commas, or both.

    Examples
    --------
    >>> split_names(["Smokes,Cancer", "Friends"])
    ('Smokes', 'Cancer', 'Friends')
    """
    return tuple(name for value in values or () for part in value.split(",") if (name := part.strip()))


def named_database(argument: Path | None, option: Path | None) -> Path:
    """Return the database that the argument names or, failing that, `--db` or SQLRL_DB.

    Raises
    ------
    typer.BadParameter
        Neither does.
    """
    found = argument or option
    if found is None:
        raise typer.BadParameter("name the database: as the first argument, with --db FILE, or in SQLRL_DB")
    return found


def with_database(arguments: Sequence[str], option: Path | None, names: str) -> tuple[Path, list[str]]:
    """Split arguments into the database, which may come first, and the others.

    Parameters
    ----------
    arguments : sequence of str
    option : Path or None
        `--db` or SQLRL_DB, used if the database is not among the arguments.
    names : str
        The names of the other arguments.

    Raises
    ------
    typer.BadParameter
        Too few or too many arguments.

    Examples
    --------
    >>> with_database(["a.duckdb", "select 1"], None, "QUERY")
    (PosixPath('a.duckdb'), ['select 1'])
    >>> with_database(["select 1"], Path("b.duckdb"), "QUERY")
    (PosixPath('b.duckdb'), ['select 1'])
    """
    own = len(names.split())
    if len(arguments) == own + 1:
        return Path(arguments[0]), list(arguments[1:])
    if len(arguments) == own and option is not None:
        return option, list(arguments)
    if len(arguments) == own:
        raise typer.BadParameter(
            f"expected DATABASE {names}".rstrip() + "; the database can also stand in --db FILE or SQLRL_DB"
        )
    raise typer.BadParameter(f"expected [DATABASE] {names}".rstrip() + f", found {len(arguments)} arguments")
