"""`sqlrl sql`."""

from __future__ import annotations

from typing import Annotated

import typer

from sqlrl.cli.grouping import grouped
from sqlrl.cli.opening import DatabaseOptions
from sqlrl.cli.options import DatabaseFirst, Db, Output, ReadOnly, Untrusted, with_database
from sqlrl.cli.session import print_json, session
from sqlrl.cli.streams import read_input
from sqlrl.errors import InputError

Second = Annotated[
    str | None,
    typer.Argument(metavar="QUERY", help="The statements; - reads them from standard input.", show_default=False),
]


@grouped
def sql(
    first: DatabaseFirst = None,
    second: Second = None,
    db: Db = None,
    untrusted: Untrusted = False,
    read_only: ReadOnly = False,
    *,
    output: Output,
) -> None:
    """Run SQL on the database; what sqlrl keeps is in the schema `sqlrl`.

    sqlrl sql cite.duckdb "from sqlrl.strongest_clauses limit 10"
    """
    path, (text,) = with_database((first, second), db, "QUERY")
    with (
        session(output) as run,
        run.database(path, DatabaseOptions(untrusted=untrusted), read_only=read_only, reads=True) as opened,
    ):
        statements = read_input() if text == "-" else text
        if not statements.strip():
            raise InputError("there is no SQL to run: give statements, or - and statements on standard input")
        with run.working("running"):
            result = opened.advanced.engine.rows_of(statements)
        if result is not None:
            run.show(result)
        elif run.as_json:
            print_json([])
