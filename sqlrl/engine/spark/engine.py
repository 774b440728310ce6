"""The engine of a Spark server: plans read tables that are mirrored there, and scratch tables that stay there."""

from __future__ import annotations

import itertools
import logging
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from sqlrl.engine.base import QueryEngine, TableName
from sqlrl.engine.dialects import for_dialect
from sqlrl.engine.memory import Memory
from sqlrl.engine.nodes import table
from sqlrl.engine.spark import skew
from sqlrl.engine.spark.encoded_parts import still_there, stored_frame
from sqlrl.engine.spark.mirror import Content, Mirror
from sqlrl.engine.spark.server import PIECE, Server, spark_type, too_large
from sqlrl.engine.spark.skew import (
    PROBE,
    Heavy,
    Joined,
    Key,
    heavy_of,
    heavy_of_pair,
    heavy_query,
    joined_columns,
    pair_query,
    salted,
    spreading,
    tasks_of,
)
from sqlrl.engine.stored import StoredPart, stored_parts, stored_query, stored_views
from sqlrl.errors import ServerError

logger = logging.getLogger(__name__)
_views = itertools.count(1)


@dataclass(frozen=True, slots=True)
class _Copied:
    """A table of the source that the server has as a view; `current` until the data may have changed."""

    view: str
    content: Content
    mark: str | None
    current: bool = True


@dataclass(frozen=True, slots=True)
class _Made:
    """A scratch table: rows that this client holds, and folders of Parquet with more of them."""

    view: str
    rows: pa.Table
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Size:
    """How many rows a table has, and its columns."""

    rows: int
    columns: tuple[str, ...]


@dataclass(slots=True)
class _Tables:
    """What the engine has, by name."""

    copied: dict[TableName, _Copied] = field(default_factory=dict)
    made: dict[TableName, _Made] = field(default_factory=dict)
    shown: dict[TableName, exp.Expression] = field(default_factory=dict)
    sizes: dict[TableName, _Size] = field(default_factory=dict)
    heavy: dict[Key, Heavy | None] = field(default_factory=dict)
    pairs: dict[tuple[Key, Key], tuple[Heavy | None, Heavy | None]] = field(default_factory=dict)
    tasks: int | None = None
    # Views of the source over files in the storage, None until they are looked for, and the views of the session of such files.
    stored: dict[TableName, str] | None = None
    files: dict[tuple[StoredPart, ...], str] = field(default_factory=dict)


class SparkEngine:
    """Runs plans on a server of Spark Connect, over the tables of `source`."""

    dialect = "spark"

    def __init__(self, server: Server, source: QueryEngine) -> None:
        self.server, self.source = server, source
        self.memory: Memory = source.memory
        # It copies a table of the source when a plan first reads it; after `renew` it is looked at again.
        self._mirror = Mirror(source, server)
        # Scratch tables with few rows are held here and sent; larger ones are written to the storage by the server, and emptied when they are
        # dropped. A view is a query that takes its place in the plans that read it, since what it reads may be replaced.
        self._tables = _Tables()
        self._state: object = None
        self._anew = False
        self._scratch = f"scratch/{uuid.uuid4().hex}"
        self._folders = itertools.count(1)

    def close(self) -> None:
        """Drop what this engine has on the server, and end the session."""
        try:
            for name in [*self._tables.made, *self._tables.copied]:
                self.drop_table(name, step="drop the tables of a session")
            while self._tables.files and not self.server.lost:
                self.server.hide(self._tables.files.popitem()[1], step="drop the tables of a session")
        except ServerError as error:
            # They went with the session.
            logger.debug("the tables of a session could not be dropped: %s", error)
        finally:
            self.server.close()

    def ready(self) -> Server:
        """Return the server, in a new session if it has forgotten the last one."""
        self.server.look()
        if self.server.lost:
            self._tables = _Tables()
            self.server.open()
            self._anew = True
        return self.server

    # ---- queries -----------------------------------------------------------------------------------------

    def renew(self, state: object) -> bool:
        """Look at the source's tables again before they are next read, if `state` is another one; return False if scratch tables may be gone."""
        self.ready()
        anew, self._anew = self._anew, False
        lost = self._forget_lost()
        if state != self._state:
            self._tables.copied = {name: replace(each, current=False) for name, each in self._tables.copied.items()}
            self._tables.stored = None
            self._tables.sizes, self._tables.heavy, self._tables.pairs = {}, {}, {}
            self._state = state
        return not anew and not lost

    def _forget_lost(self) -> bool:
        """Look at all copies again if files of one are gone, which a server may take for tables without rows; True if some are."""
        tables, lost = self._tables, False
        marks = sorted({each.mark for each in tables.copied.values() if each.mark is not None})
        if marks and not self._mirror.there(marks):
            lost = True
            for name in [name for name, each in tables.copied.items() if each.mark is not None]:
                self.drop_table(name, step="forget copies that are gone")
        parts = [part for each in tables.files for part in each]
        if parts and not still_there(self.server, parts):
            lost = True
            while tables.files:
                self.server.hide(tables.files.popitem()[1], step="forget files that are gone")
        return lost

    def render(self, query: exp.Expr) -> str:
        """Return a plan as SQL of Spark's, with the views of this session in place of tables; those that are not there are made."""
        assert isinstance(query, exp.Expression)
        return for_dialect(self._placed(query), self.dialect, copy=False).sql(self.dialect, copy=False)

    def leave(self, arrays: int) -> None:
        """Leave memory of this process to arrays: the source's, as the server has its own."""
        self.source.leave(arrays)

    def fetch(self, query: exp.Expr, *, step: str) -> pa.Table:
        """Run a query and return all of its rows."""
        return self.server.fetch(self.render(query), step=step)

    def fetch_rows(
        self, query: exp.Expr | str, *, step: str, values: Mapping[str, Any] | None = None
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a query that has few rows, without parameters, and return the names of its columns and the rows."""
        assert values is None, "no plan on a server has parameters"
        found = self.server.fetch(query if isinstance(query, str) else self.render(query), step=step)
        columns = [column.to_pylist() for column in found.columns]
        return found.column_names, list(zip(*columns, strict=True))

    def stream(self, query: exp.Expr, *, step: str, rows: int = 131_072) -> Iterator[pa.RecordBatch]:
        """Run a query and yield its rows in batches, as they come."""
        sql = self.render(query)
        for batch in self.server.stream(self.server.frame(sql, step=step), step=step, sql=sql):
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)

    def estimate(self, query: exp.Expr, *, step: str) -> tuple[int, str]:
        """Return 0, since Spark states no number of rows without statistics, and the plan as text."""
        _, rows = self.fetch_rows(f"EXPLAIN {self.render(query)}", step=step)
        return 0, str(rows[0][0])

    # ---- tables ------------------------------------------------------------------------------------------

    def create_table(self, name: TableName, query: exp.Expr | pa.Table, *, step: str) -> int:
        """Create (or replace) a table from a query, which may read the table, or from Arrow rows; return the number of its rows."""
        made = self._run(name, query, step) if isinstance(query, exp.Expr) else self._held(name, query, (), step)
        old = self._tables.made.get(name)
        self._show(name, made, step)
        if old is not None:
            self._empty(old, step)
        return self._size(made, step)

    def append(self, name: TableName, query: exp.Expr, *, step: str) -> None:
        """Add the rows of a query, which may read the table, to a table."""
        old = self._tables.made[name]
        new = self._run(name, query, step, old.rows.schema)
        rows = pa.concat_tables([old.rows, new.rows])
        self._show(name, self._held(name, rows, (*old.folders, *new.folders), step), step)

    def create_view(self, name: TableName, query: exp.Expr, *, step: str) -> None:
        """Create (or replace) a view of a query, which is not run."""
        assert isinstance(query, exp.Expression)
        self._tables.shown[name] = query.copy()

    def drop_table(self, name: TableName, *, step: str) -> None:
        """Drop a table if it exists; one of the source's is forgotten."""
        made, copied = self._tables.made.pop(name, None), self._tables.copied.pop(name, None)
        try:
            if made is not None:
                self.server.hide(made.view, step=step)
                self._empty(made, step)
            if copied is not None:
                self.server.hide(copied.view, step=step)
        except ServerError as error:
            # The views went with the session.
            logger.debug("%s: %s", step, error)

    def drop_view(self, name: TableName, *, step: str) -> None:
        """Drop a view if it exists."""
        self._tables.shown.pop(name, None)

    def transaction(self) -> AbstractContextManager[None]:
        """Do nothing: tables of a session have no transactions."""
        return nullcontext()

    # ---- names -------------------------------------------------------------------------------------------

    def _placed(self, query: exp.Expression) -> exp.Expression:
        """Return a copy of a plan in which every table is a view of the session, and every view its query."""
        copied = salted(query.copy(), self)
        for node in [node for node in copied.find_all(exp.Table) if node.db]:
            name = TableName(node.catalog, node.db, node.name)
            alias = exp.TableAlias(this=exp.to_identifier(node.alias or node.name, quoted=True))
            if name in self._tables.shown:
                shown: exp.Expression | None = self._tables.shown[name]
            else:
                shown = self._stored(name)
            if shown is not None:
                node.replace(exp.Subquery(this=self._placed(shown), alias=alias))
                continue
            placed = exp.table_(self._view(name), quoted=True)
            placed.set("alias", alias)
            node.replace(placed)
        return copied

    @property
    def _tasks(self) -> int:
        """Among how many tasks the server divides the rows of a join."""
        if self._tables.tasks is None:
            _, rows = self.fetch_rows(PROBE, step="look among how many tasks rows are divided")
            self._tables.tasks = tasks_of(str(rows[0][0]))
        return self._tables.tasks

    def heavy_keys(self, key: Key) -> Heavy | None:
        """Return the heavy keys of a column of a large table of the source (`HeavyKeys`)."""
        size = self._size_of(key[0])
        if size is None or key[1] not in joined_columns(size.columns):
            return None
        if key not in self._tables.heavy:
            query = self.render(heavy_query(table(key[0]), key[1], size.rows, self._tasks))
            rows = self.server.fetch(query, step=f"look for heavy keys of {key[0].name}").to_pylist()
            counts = {int(row["key"]): int(row["n"]) for row in rows}
            self._tables.heavy[key] = heavy_of(counts, size.rows, spreading(size.columns, key[1]), self._tasks)
        return self._tables.heavy[key]

    def heavy_pair(self, left: Key, right: Key) -> tuple[Heavy | None, Heavy | None] | None:
        """Return the heavy keys of two such columns that are joined."""
        one, two = (self._size_of(key[0]) for key in (left, right))
        if one is None or two is None:
            return None
        sizes = (one, two)
        if any(key[1] not in joined_columns(each.columns) for key, each in zip((left, right), sizes, strict=True)):
            return None, None
        if (left, right) not in self._tables.pairs:
            first, second = ((table(key[0]), key[1], each.rows) for key, each in zip((left, right), sizes, strict=True))
            query = self.render(pair_query(first, second, self._tasks))
            rows = self.server.fetch(query, step=f"look for heavy keys of {left[0].name} and {right[0].name}")
            found = [Joined(int(r["key"]), int(r["l"]), int(r["r"]), float(r["work"])) for r in rows.to_pylist()]
            others = spreading(one.columns, left[1]), spreading(two.columns, right[1])
            self._tables.pairs[left, right] = heavy_of_pair(found, (one.rows, two.rows), others, self._tasks)
        return self._tables.pairs[left, right]

    def _size_of(self, name: TableName) -> _Size | None:
        """Return rows and columns of a table of the source, None of a small one, a view or a scratch table, and where there is one task."""
        if self._tasks == 1 or name in self._tables.made or name in self._tables.shown:
            return None
        if name not in self._tables.sizes:
            if self._stored(name) is None:
                self._view(name)
                content = self._tables.copied[name].content
                found = _Size(content.rows, tuple(content.schema.names))
            else:
                step = f"count the rows of {name.name}"
                frame = self.server.frame(self.render(exp.select("*").from_(table(name))), step=step)
                found = _Size(int(self.server.run(frame.count, step, name.name)), tuple(frame.columns))
            self._tables.sizes[name] = found
        found = self._tables.sizes[name]
        return found if found.rows >= skew.SALTED_ROWS else None

    def _stored(self, name: TableName) -> exp.Expression | None:
        """Return what stands for a view of the source over files in the storage, which are read where they are; None for other tables."""
        if name in self._tables.made:
            return None
        if self._tables.stored is None:
            self._tables.stored = stored_views(self.source)
        if name not in self._tables.stored:
            return None
        query = stored_query(name, self._tables.stored[name])
        for node in list(query.find_all(exp.Table)):
            found = stored_parts(node)
            if found is not None:
                node.replace(exp.table_(self._files(*found), quoted=True))
        return query

    def _files(self, parts: tuple[StoredPart, ...], schema: pa.Schema) -> str:
        """Return the view of the session of some parts of the storage."""
        if parts not in self._tables.files:
            view = self._new_view()
            self.server.show(view, stored_frame(self.server, parts, schema), step="show what was encoded")
            self._tables.files[parts] = view
        return self._tables.files[parts]

    def _view(self, name: TableName) -> str:
        """Return the view of the session that a table is."""
        made = self._tables.made.get(name)
        if made is not None:
            return made.view
        known = self._tables.copied.get(name)
        if known is not None and known.current:
            return known.view
        found = self._mirror.look(name)
        if known is None or known.content != found.content:
            view = known.view if known is not None else self._new_view()
            copy = self._mirror.copy(name, found)
            self.server.show(view, copy.frame, step=f"show {name.name} to Spark")
            known = _Copied(view, found.content, copy.mark)
        self._tables.copied[name] = replace(known, current=True)
        return known.view

    def _new_view(self) -> str:
        # The names of tables are a user's, and may have any character.
        return f"sqlrl_{next(_views)}"

    # ---- scratch tables ----------------------------------------------------------------------------------

    def _run(self, name: TableName, query: exp.Expr, step: str, schema: pa.Schema | None = None) -> _Made:
        """Run a query whose rows are to be a table, or a part of one with the columns of `schema`."""
        sql = self.render(query)
        frame = self.server.frame(sql, step=step)
        found, rows, size = list[pa.RecordBatch](), 0, 0
        # What is too much to be held here is broken off.
        with closing(self.server.stream(frame, step=step, sql=sql)) as batches:
            for batch in batches:
                found.append(batch)
                rows, size = rows + batch.num_rows, size + batch.nbytes
                if not self._few(rows, size):
                    break
        if self._few(rows, size):
            held = pa.Table.from_batches(found) if found else self.server.run(frame.limit(0).toArrow, step, sql)
            if schema is not None:
                held = held.rename_columns(schema.names).cast(schema)
            return _Made(self._view_of(name), held)
        kinds = schema or found[0].schema
        cast = [
            f"CAST(`{old}` AS {spark_type(each.type)}) AS `{each.name}`"
            for old, each in zip(frame.columns, kinds, strict=True)
        ]
        folder = self._folder(rows, step)
        self.server.write(self.server.run(lambda: frame.selectExpr(*cast), step, sql), folder, step=step)
        return _Made(self._view_of(name), kinds.empty_table(), (folder,))

    def _held(self, name: TableName, rows: pa.Table, folders: tuple[str, ...], step: str) -> _Made:
        """Return a table with rows of this client, which are written where they are too many to be sent."""
        if not self._few(rows.num_rows, rows.nbytes):
            size = max(1, rows.num_rows * PIECE // max(rows.nbytes, 1))
            for start in range(0, rows.num_rows, size):
                folder = self._folder(rows.num_rows, step)
                self.server.write(self.server.rows(rows.slice(start, size), step=step), folder, step=step)
                folders = (*folders, folder)
            rows = rows.schema.empty_table()
        return _Made(self._view_of(name), rows, folders)

    def _few(self, rows: int, size: int) -> bool:
        """Return whether rows of so many bytes are held here, and sent in one message."""
        return rows <= self.server.spark.resident and size <= PIECE

    def _view_of(self, name: TableName) -> str:
        made = self._tables.made.get(name)
        return self._new_view() if made is None else made.view

    def _folder(self, rows: int, step: str) -> str:
        """Return a new folder for rows that a step makes."""
        storage = self.server.spark.folder
        if storage is None:
            raise too_large(rows, f"that is made to {step}", self.server.spark.resident)
        return f"{storage}/{self._scratch}/{next(self._folders)}"

    def _show(self, name: TableName, made: _Made, step: str) -> None:
        """Make a table known to the server."""
        frame = self.server.rows(made.rows, step=step)
        if made.folders:
            stored = self.server.read(made.folders, made.rows.schema, step=step)
            frame = stored if not made.rows.num_rows else frame.union(stored)
        self.server.show(made.view, frame, step=step)
        self._tables.made[name] = made

    def _size(self, made: _Made, step: str) -> int:
        if not made.folders:
            return int(made.rows.num_rows)
        stored = self.server.read(made.folders, made.rows.schema, step=step)
        return int(made.rows.num_rows) + int(self.server.run(stored.count, step, made.view))

    def _empty(self, made: _Made, step: str) -> None:
        """Leave nothing in the folders of a table that is gone: a client can remove none."""
        for folder in made.folders:
            self.server.write(self.server.rows(made.rows.slice(0, 0), step=step), folder, step=step)


if TYPE_CHECKING:
    _: type[QueryEngine] = SparkEngine
