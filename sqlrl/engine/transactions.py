"""Open transactions of the user's on a connection that sqlrl shares."""

from __future__ import annotations

import duckdb

from sqlrl.errors import InputError

_PROBE = "SELECT txid_current()"


def check_idle(connection: duckdb.DuckDBPyConnection) -> None:
    """Refuse to go on while the user's transaction is open, before anything can harm it.

    A BEGIN inside a transaction fails and takes the transaction down with it; and a transaction of DuckDB's can write to
    one database alone, so that sqlrl cannot work inside one that writes to the user's tables.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection

    Raises
    ------
    InputError
        A transaction is open, and as it was; or it was aborted already; or the connection is closed.

    Examples
    --------
    >>> connection = duckdb.connect()
    >>> check_idle(connection)
    >>> check_idle(connection.begin())
    Traceback (most recent call last):
    sqlrl.errors.InputError: your connection has an open transaction, and sqlrl needs its own: commit it or roll it back first. It was left as it is.
    """
    try:
        # Two statements have one number only inside a transaction.
        first, second = (connection.execute(_PROBE).fetchall() for _ in range(2))
    except duckdb.ConnectionException as error:
        raise InputError("the connection is closed: open it again.") from error
    except duckdb.TransactionException as error:
        raise InputError("your connection has a transaction that an error has aborted: roll it back first.") from error
    if first == second:
        raise InputError(
            "your connection has an open transaction, and sqlrl needs its own: commit it or roll it back first. It was left as "
            "it is."
        )
