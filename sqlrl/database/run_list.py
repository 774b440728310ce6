"""The runs of a database as users ask for them: all as a table, or one by its number."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sqlrl.database.run_records import RunRecord
from sqlrl.engine.nodes import column
from sqlrl.report import Table
from sqlrl.training.session import Session

_COLUMNS = ("run", "learner", "model", "status", "started")


class Runs:
    """The runs that a database keeps; `Database.runs` are its own.

    Parameters
    ----------
    session : Session

    Examples
    --------
    >>> import sqlrl
    >>> len(sqlrl.connect().runs())
    0
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def __call__(self) -> Table:
        """Return the runs as a table.

        Returns
        -------
        Table
            Columns `run`, `learner` (or what else it was: predict, marginals, audit), `model` (its number in `sqlrl.model`, NULL if it has none),
            `status` and `started`; `sqlrl.run` has more.
        """
        store = self._session.catalog.store
        query = exp.select(*map(column, _COLUMNS)).from_(store.table("run")).order_by(column("run"))
        return Table(store.engine.fetch(query, step="list the runs"), title="runs")

    def __getitem__(self, key: int) -> RunRecord:
        """Return the run of a number, -1 for the newest; InputError, with the numbers that there are, if there is none."""
        return RunRecord.read(self._session, None if key is not True and key == -1 else key)

    def __iter__(self) -> Iterator[int]:
        return iter(self()["run"])

    def __len__(self) -> int:
        return len(self())

    def __repr__(self) -> str:
        return repr(self())

    def _repr_html_(self) -> str:
        return self()._repr_html_()
