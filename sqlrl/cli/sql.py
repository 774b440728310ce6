"""`sqlrl sql`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, NoReturn, cast

import typer

from sqlrl.cli.options import Db, Json, Quiet, ReadOnly, Rows, Verbose, with_database
from sqlrl.cli.session import session
from sqlrl.engine.interruption import on_interrupt
from sqlrl.errors import EngineError

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlrl.database import Database as Opened

Arguments = Annotated[
    list[str], typer.Argument(metavar="[DATABASE] QUERY", help="The statements; - reads them from standard input.")
]


def sql(
    arguments: Arguments,
    db: Db = None,
    read_only: ReadOnly = False,
    rows: Rows = 40,
    as_json: Json = False,
    verbose: Verbose = 0,
    quiet: Quiet = False,
) -> None:
    """Run SQL on the database; what sqlrl keeps is in the schema `sqlrl`.

    sqlrl sql cite.duckdb "from sqlrl.strongest_clauses limit 10"
    """
    path, (text,) = with_database(arguments, db, "QUERY")
    with session(verbose, quiet, as_json=as_json, rows=rows) as run, run.database(path, read_only=read_only) as opened:
        statements = sys.stdin.read() if text == "-" else text
        with run.working("running"):
            result = rows_of(opened, statements)
        if result is not None:
            run.show(result)


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
        _fail(error, text)


def _fail(error: Exception, text: str) -> NoReturn:
    """Raise an EngineError, or KeyboardInterrupt if that is what stopped the query (DuckDB raises RuntimeError then)."""
    if "interrupted" in str(error).lower():
        raise KeyboardInterrupt from error
    raise EngineError("run your SQL", str(error).strip(), text) from error
