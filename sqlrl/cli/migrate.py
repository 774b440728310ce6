"""`sqlrl migrate`."""

from __future__ import annotations

from sqlrl.cli.grouping import grouped
from sqlrl.cli.options import Database, Db, Messages, Untrusted, named_database
from sqlrl.cli.session import check_file, check_writable, print_json, session


@grouped
def migrate(output: Messages, database: Database = None, db: Db = None, untrusted: Untrusted = False) -> None:
    """Bring a database file to the layout of this version of sqlrl; every command that writes does so, too.

    sqlrl migrate cite.duckdb
    """
    path = named_database(database, db)
    with session(output) as run:
        from sqlrl.catalog.inspection import inspect
        from sqlrl.catalog.migrations import open_layout
        from sqlrl.catalog.store import Store
        from sqlrl.engine.connection import connect

        check_file(path)
        check_writable(path)
        engine = connect(path, trusted=not untrusted)
        try:
            if untrusted:
                inspect(engine)
            before, after = open_layout(Store(engine), progress=run.message)
        finally:
            engine.close()
        if run.as_json:
            print_json([{"database": str(path), "before": before, "after": after}])
        elif before == after:
            print(f"{path} has layout {after}, the newest")
        else:
            print(f"{path} had {f'layout {before}' if before else 'no layout'}, now it has layout {after}")
