"""`sqlrl sql`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, NoReturn, cast

import typer

from sqlrl.cli.grouping import grouped
from sqlrl.cli.options import DatabaseFirst, Db, Output, ReadOnly, with_database
from sqlrl.cli.session import print_json, session
from sqlrl.engine.interruption import on_interrupt
from sqlrl.errors import EngineError, InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlrl.database.database import Database as Opened

Second = Annotated[
    str | None,
    typer.Argument(metavar="QUERY", help="The statements; - reads them from standard input.", show_default=False),
]
_MANY = Output(rows=40)


@grouped
def sql(
    first: DatabaseFirst = None,
    second: Second = None,
    db: Db = None,
    read_only: ReadOnly = False,
    output: Output = _MANY,
) -> None:
    """Run SQL on the database; what sqlrl keeps is in the schema `sqlrl`.

    sqlrl sql cite.duckdb "from sqlrl.strongest_clauses limit 10"
    """
    path, (text,) = with_database((first, second), db, "QUERY")
    with session(output) as run, run.database(path, read_only=read_only) as opened:
        statements = sys.stdin.read() if text == "-" else text
        if not statements.strip():
            raise InputError("there is no SQL to run: give statements, or - and statements on standard input")
        with run.working("running"):
            result = rows_of(opened, statements)
        if result is not None:
            run.show(result)
        elif run.as_json:
            print_json([])


def rows_of(db: Opened, text: str) -> pa.Table | None:
    """Run statements and return the rows of the last one, None if it has none.

    Raises
    ------
    EngineError
        If DuckDB refuses one.
    """
    import duckdb

    # DuckDB returns None where a statement has no rows.
    relation = cast("duckdb.DuckDBPyRelation | None", db.sql(text))
    if relation is None:
        return None
    try:
        with on_interrupt(db.engine.interrupt):
            return relation.to_arrow_table()
    except (duckdb.Error, RuntimeError) as error:
        _fail(db, error, text)


def _fail(db: Opened, error: Exception, text: str) -> NoReturn:
    """Raise an EngineError, or KeyboardInterrupt if that is what stopped the query (DuckDB raises RuntimeError then)."""
    if "interrupted" in str(error).lower():
        raise KeyboardInterrupt from error
    reason = str(error).strip()
    raise EngineError("run your SQL", reason, text, db.engine.remedy(reason)) from error
