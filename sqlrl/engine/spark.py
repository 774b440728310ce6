"""A trial engine on Spark Connect, which shows what a second database needs: it answers counts, and is used by tests alone.

Its client, pyspark, is no dependency of sqlrl: whoever has a session has it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
from sqlglot import exp

from sqlrl.engine.base import QueryEngine, TableName
from sqlrl.engine.dialects import for_dialect
from sqlrl.engine.memory import Memory
from sqlrl.errors import EngineError, OverflowEngineError

logger = logging.getLogger(__name__)


class SparkEngine:
    """Runs plans in a session of Spark Connect; tables are temporary views of it, which no other session sees.

    Notes
    -----
    A table is made from rows that the client holds: what a query gives goes to the client and back. Temporary views have neither catalog
    nor schema, so that those of a `TableName` are empty.
    """

    dialect = "spark"
    scratch = ("", "")

    def __init__(self, session: Any) -> None:
        self.session = session
        self._views: set[str] = set()
        self.memory = Memory.of_machine()

    def render(self, query: exp.Expr) -> str:
        """Return a plan as SQL of Spark's."""
        assert isinstance(query, exp.Expression)
        return for_dialect(query, self.dialect).sql(self.dialect)

    def leave(self, arrays: int) -> None:
        """Do nothing: the server is another process."""

    def fetch(self, query: exp.Expr, *, step: str) -> pa.Table:
        """Run a query and return all of its rows."""
        return self._fetch(self.render(query), step)

    def fetch_rows(self, query: exp.Expr | str, *, step: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a query that has few rows and return the names of its columns and the rows."""
        found = self._fetch(query if isinstance(query, str) else self.render(query), step)
        columns = [column.to_pylist() for column in found.columns]
        return found.column_names, list(zip(*columns, strict=True))

    def stream(self, query: exp.Expr, *, step: str, rows: int = 131_072) -> Iterator[pa.RecordBatch]:
        """Run a query and yield its rows in batches, once all are there."""
        # The Arrow stream of a DataFrame takes the types of its analysis for those of the rows, and reads others wrongly.
        yield from self.fetch(query, step=step).to_batches(max_chunksize=rows)

    def estimate(self, query: exp.Expr, *, step: str) -> tuple[int, str]:
        """Return 0, since Spark states no number of rows without statistics, and the plan as text."""
        _, rows = self.fetch_rows(f"EXPLAIN {self.render(query)}", step=step)
        return 0, str(rows[0][0])

    def create_table(self, name: TableName, query: exp.Expr | pa.Table, *, step: str) -> int:
        """Create (or replace) a table from a query, which may read the table, or from Arrow rows; return the number of its rows."""
        data = self.fetch(query, step=step) if isinstance(query, exp.Expr) else query
        self._show(name, self._run(lambda: self._frame(data), step, "rows of the client"), step)
        return int(data.num_rows)

    def append(self, name: TableName, query: exp.Expr, *, step: str) -> None:
        """Add the rows of a query to a table, which is made anew: temporary views know no INSERT."""
        old = exp.select("*").from_(exp.table_(name.name, quoted=True))
        known = self.fetch(old, step=step)
        new = self.fetch(query, step=step).rename_columns(known.column_names).cast(known.schema)
        self.create_table(name, pa.concat_tables([known, new]), step=step)

    def create_view(self, name: TableName, query: exp.Expr, *, step: str) -> None:
        """Create (or replace) a view of a query, which is not run."""
        sql = self.render(query)
        self._show(name, self._run(lambda: self.session.sql(sql), step, sql), step)

    def drop_table(self, name: TableName, *, step: str) -> None:
        """Drop a table if it exists."""
        if name.name in self._views:
            self._run(lambda: self.session.catalog.dropTempView(name.name), step, f"drop {name.name}")
            self._views.discard(name.name)

    def drop_view(self, name: TableName, *, step: str) -> None:
        """Drop a view if it exists."""
        self.drop_table(name, step=step)

    def transaction(self) -> AbstractContextManager[None]:
        """Do nothing: temporary views have no transactions."""
        return nullcontext()

    def _frame(self, data: pa.Table) -> Any:
        if data.num_rows:
            return self.session.createDataFrame(data)
        # The client takes no table without rows, whatever its types.
        row = pa.table([pa.nulls(1, field.type) for field in data.schema], names=data.column_names)
        return self.session.createDataFrame(row).limit(0)

    def _show(self, name: TableName, frame: Any, step: str) -> None:
        self._views.add(name.name)
        self._run(lambda: frame.createOrReplaceTempView(name.name), step, f"create {name.name}")

    def _fetch(self, sql: str, step: str) -> pa.Table:
        logger.debug("%s: %s", step, sql)
        return self._run(lambda: self.session.sql(sql).toArrow(), step, sql)

    def _run(self, call: Any, step: str, sql: str) -> Any:
        try:
            return call()
        except Exception as error:  # noqa: BLE001
            self._fail(error, step, sql)

    def _fail(self, error: Exception, step: str, sql: str) -> NoReturn:
        """Raise what an error of the server or the client means."""
        reason = str(error).strip()
        kind = OverflowEngineError if "overflow" in reason.lower() else EngineError
        raise kind(step, reason, sql) from error


if TYPE_CHECKING:
    _: type[QueryEngine] = SparkEngine
