"""`sqlrl migrate`."""

from __future__ import annotations

from sqlrl.cli.options import Database, Db, Quiet, Verbose, named_database
from sqlrl.cli.session import check_file, session


def migrate(database: Database = None, db: Db = None, verbose: Verbose = 0, quiet: Quiet = False) -> None:
    """Bring a database file to the layout of this version of sqlrl; every command that writes does so, too."""
    with session(verbose, quiet) as run:
        from sqlrl.catalog.migrations import open_layout
        from sqlrl.catalog.store import Store
        from sqlrl.engine.connecting import connect

        path = named_database(database, db)
        check_file(path)
        engine = connect(path)
        try:
            before, after = open_layout(Store(engine), progress=run.message)
        finally:
            engine.close()
        if before == after:
            print(f"{path} has layout {after}, the newest")
        else:
            print(f"{path} had {f'layout {before}' if before else 'no layout'}, now it has layout {after}")
