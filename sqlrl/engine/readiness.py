"""What must hold of a connection that sqlrl shares with its user before anything is done on it."""

from __future__ import annotations

import duckdb

from sqlrl.errors import InputError

_PROBE = "SELECT txid_current(), current_setting('default_collation')"
_EXACT = {"", "binary", "c", "posix"}


def check_ready(connection: duckdb.DuckDBPyConnection, path: str | None = None) -> None:
    """Refuse to go on while the user's transaction is open or names that differ are equal, before anything is harmed.

    A BEGIN inside a transaction fails and takes the transaction down with it; and a transaction of DuckDB's can write to
    one database alone, so that sqlrl cannot work inside one that writes to the user's tables. Under a default collation
    such as NOCASE all texts are compared by it, also the names in sqlrl's own tables.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    path : str, optional
        What messages call the database, if `connect` opened the connection.

    Raises
    ------
    InputError
        A transaction is open, and as it was; or it was aborted already; or a default collation is set; or the connection is
        closed.

    Examples
    --------
    >>> connection = duckdb.connect()
    >>> check_ready(connection)
    >>> check_ready(connection.execute("SET default_collation = 'nocase'"))
    Traceback (most recent call last):
    sqlrl.errors.InputError: your connection has default_collation = 'nocase', and sqlrl tells constants apart exactly: run RESET default_collation (RESET SESSION default_collation if it was set for the session). Columns may keep collations of their own.
    >>> check_ready(connection.execute("RESET default_collation").begin())
    Traceback (most recent call last):
    sqlrl.errors.InputError: your connection has an open transaction, and sqlrl needs its own: commit it or roll it back first. It was left as it is.
    """
    try:
        # Two statements have one number only inside a transaction.
        (first, collation), (second, _) = (connection.execute(_PROBE).fetchall()[0] for _ in range(2))
    except duckdb.ConnectionException as error:
        closed = "the connection is closed: open it again."
        raise InputError(closed if path is None else f"{path} is closed: open it again with connect().") from error
    except duckdb.TransactionException as error:
        raise InputError("your connection has a transaction that an error has aborted: roll it back first.") from error
    if first == second:
        raise InputError(
            "your connection has an open transaction, and sqlrl needs its own: commit it or roll it back first. It was left as "
            "it is."
        )
    if collation.lower() not in _EXACT:
        raise InputError(
            f"your connection has default_collation = {collation!r}, and sqlrl tells constants apart exactly: run RESET "
            "default_collation (RESET SESSION default_collation if it was set for the session). Columns may keep collations of their own."
        )
