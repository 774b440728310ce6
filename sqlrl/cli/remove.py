"""`sqlrl remove`."""

from __future__ import annotations

from typing import Annotated

import typer

from sqlrl.cli.completion import predicates
from sqlrl.cli.grouping import grouped
from sqlrl.cli.opening import DatabaseOptions
from sqlrl.cli.options import DatabaseFirst, Db, Messages, Untrusted, with_database
from sqlrl.cli.session import session

Second = Annotated[
    str | None,
    typer.Argument(
        metavar="PREDICATE", autocompletion=predicates, help="The predicate whose facts these are.", show_default=False
    ),
]
Third = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help="The facts: a query, a table, a Parquet or CSV file, or - for standard input.",
        show_default=False,
    ),
]


@grouped
def remove(
    output: Messages,
    first: DatabaseFirst = None,
    second: Second = None,
    third: Third = None,
    db: Db = None,
    untrusted: Untrusted = False,
) -> None:
    """Remove facts of a predicate from the database; what they were loaded from stays as it is.

    sqlrl remove social.duckdb Friends "select 'Anna', 'Bob'"
    """
    path, (predicate, source) = with_database((first, second, third), db, "PREDICATE SOURCE")
    with session(output) as run, run.database(path, DatabaseOptions(untrusted=untrusted)) as database:
        from sqlrl.cli.inputs import read_table

        with run.working(f"removing from {predicate}"):
            removed = database.load(predicate, read_table(database) if source == "-" else source, mode="remove")
        run.message(f"removed {removed:,} fact{'' if removed == 1 else 's'} of {predicate}")
        run.show(database.tables())
