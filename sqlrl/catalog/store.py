"""The catalog's own records, kept in memory as an image of their tables, and the few statements from which its modules are built."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.damaged_tables import table_fault
from sqlrl.catalog.image import (
    COLUMNS,
    REMOVAL,
    Image,
    PartRecord,
    PredicateRecord,
    SourceRecord,
    TypeRecord,
    read_image,
    table_rows,
)
from sqlrl.catalog.integrity import damaged
from sqlrl.catalog.layout import TableName
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.duckdb import DuckDBEngine, rendered
from sqlrl.engine.nodes import column, named, union_all
from sqlrl.engine.stored import is_stored
from sqlrl.errors import CatalogError


@cache
def _image_query(catalog: str, schema: str) -> str:
    """Return the query of all records, a row with the name of its table and itself as JSON for each."""
    # A table is read as it is, and one that a user has widened as far as it is ours.
    parts = []
    for name, columns in COLUMNS.items():
        source = exp.table_(name, db=schema, catalog=catalog, quoted=True)
        row = exp.select(*map(column, columns)).from_(source).subquery("r")
        record = exp.cast(exp.Anonymous(this="to_json", expressions=[exp.column("r")]), "varchar")
        parts.append(exp.select(named(exp.convert(name), "table"), named(record, "record")).from_(row))
    return rendered(union_all(parts))


@cache
def _names_query(catalog: str, schema: str) -> str:
    """Return the query of the names of all tables and views of a schema; `information_schema` has them, too, and takes twice as long."""
    home = exp.and_(column("database_name").eq(catalog), column("schema_name").eq(schema))
    parts = [
        exp.select(column(f"{kind}_name")).from_(exp.Anonymous(this=f"duckdb_{kind}s")).where(home.copy())
        for kind in ("table", "view")
    ]
    return rendered(union_all(parts))


DICTIONARY = {"id": "INTEGER", "name": "VARCHAR"}
"""The columns of a dictionary."""


class Store:
    """Tables in sqlrl's own schema, whose records are read once and kept as an image."""

    def __init__(
        self, engine: DuckDBEngine, on_created: Callable[[Store, Collection[str]], None] | None = None
    ) -> None:
        self.engine = engine
        self.catalog, self.schema = engine.home
        # Runs the plans of models: `engine`, or a server that mirrors its tables and encodes the files that it alone reads (`server_files`).
        self.plans: QueryEngine = engine
        # Called at the end of a transaction with the tables and views made in it, unless nobody can see them yet (`engine.unseen`).
        self._on_created = on_created
        self._created: set[str] = set()
        # How many rows the last load has left out, since they repeat others.
        self.dropped = 0
        self._verbs = 0
        self._inside = False
        # Unless nobody else can write records (`engine.private`), the image is held against the tables once in a transaction, and once in a
        # verb outside of one; what changed is written when the transaction ends.
        # The image, what of it the tables hold, the text from which it was read, how many transactions had been rolled back when it was
        # (None: it was not), and whether it was held against the tables by now.
        self._image, self._held = Image(), Image()
        self._text: list[tuple[str, str]] | None = None
        self._known: int | None = None
        self._checked = False
        self._whole = False
        # The names of tables, as far as they are known, in the open transaction or to nobody else; and as `_known`, of the names.
        self._names: set[str] | None = None
        self._named: int | None = None

    @contextmanager
    def verb(self) -> Iterator[None]:
        """Refuse macros that stand for functions of DuckDB's, and take the records as they are when they are first read in this context."""
        with self.engine.turn, self.engine.without_macros(), self.read_once():
            yield

    @contextmanager
    def read_once(self) -> Iterator[None]:
        """Take the records as they are when they are first read in this context; one within another is part of it."""
        with self.engine.turn:
            self._verbs += 1
            try:
                yield
            finally:
                self._verbs -= 1
                self._checked = self._checked and (self._verbs > 0 or self._inside)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Open a transaction that ends with writing what changed and what `on_created` does; one within another is part of it."""
        with self.engine.turn:
            if self._inside:
                with self.engine.transaction():
                    yield
                return
            try:
                with self.engine.transaction():
                    # Others may have committed since the records were read.
                    self._inside, self._checked = True, False
                    if not self._is_last(self._named):
                        self._names = None
                    yield
                    self._write()
                    if self.engine.unseen is not None:
                        self.engine.unseen |= self._created
                    elif self._on_created is not None and self._created:
                        self._on_created(self, frozenset(self._created))
            except BaseException:
                self._undo()
                self._names = None
                raise
            finally:
                self._inside = False
                self._checked = self._checked and self._verbs > 0
                self._created.clear()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write in a transaction; an error if the database was opened for reading."""
        self.check_writable()
        with self._transaction():
            yield

    @contextmanager
    def binding(self) -> Iterator[None]:
        """Write what follows from the data and a model, in a transaction; `ReadingStore` does so in memory."""
        with self._transaction():
            yield

    def close(self) -> None:
        """Drop what no other store can use, before the connection is closed."""

    def check_writable(self) -> None:
        """Refuse to go on if the database was opened for reading."""
        if not self.engine.writable:
            raise CatalogError(f"{self.engine.path} was opened read-only: connect to it for writing.")

    def home(self, table: str) -> tuple[str, str]:
        """Return the catalog and schema of one of our tables."""
        return self.catalog, self.schema

    def replacing(self, table: str) -> None:
        """Make ready for a table or view to be created or replaced."""

    def changing(self, table: str) -> None:
        """Make ready for rows of a table to be added or deleted."""

    def name(self, table: str) -> TableName:
        """Return the full name of one of our tables."""
        return TableName(*self.home(table), table)

    def table(self, table: str, alias: str | None = None) -> exp.Table:
        """Return a reference to one of our tables."""
        catalog, schema = self.home(table)
        node = exp.table_(table, db=schema, catalog=catalog, quoted=True)
        if alias is not None:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
        return node

    def create(self, table: str, query: exp.Expr | pa.Table, step: str) -> int:
        """Create or replace one of our tables; return the number of its rows."""
        self.replacing(table)
        rows = self.engine.create_table(self.name(table), query, step=step)
        self._made(table)
        return rows

    def create_empty(self, table: str, columns: Mapping[str, str], step: str) -> None:
        """Create or replace one of our tables without rows, from the types of its columns."""
        self.replacing(table)
        self.engine.create_empty(self.name(table), columns, step=step)
        self._made(table)

    def create_view(self, view: str, query: exp.Expr, step: str) -> None:
        """Create or replace one of our views."""
        self.replacing(view)
        self.engine.execute(exp.Create(this=self.table(view), kind="VIEW", replace=True, expression=query), step=step)
        self._made(view)

    def _made(self, table: str) -> None:
        self._created.add(table)
        if self._names is not None:
            self._names.add(table)

    def drop(self, table: str | None) -> None:
        """Drop one of our tables, or a view of files that stands for one; None drops nothing."""
        if table is not None and is_stored(table):
            self.drop_view(table)
        elif table is not None:
            self.engine.drop_table(self.name(table), step=f"drop {table}")
            self._gone(table)

    def drop_view(self, view: str | None) -> None:
        """Drop one of our views; None drops nothing."""
        if view is not None:
            self.engine.execute(exp.Drop(tables=[self.table(view)], kind="VIEW", exists=True), step=f"drop {view}")
            self._gone(view)

    def _gone(self, table: str) -> None:
        if self._names is not None:
            self._names.discard(table)

    def rows(self, query: exp.Expr, step: str) -> list[dict[str, Any]]:
        """Return the rows of a small query."""
        names, rows = self.engine.fetch_rows(query, step=step)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def columns(self, query: exp.Expr, step: str) -> list[str]:
        """Return the names of the columns of a query."""
        return [str(row["column_name"]) for row in self.rows(exp.Describe(this=query), step)]

    def number(self, query: exp.Expr, step: str) -> int:
        """Return the single number that a query yields."""
        return int(self.engine.fetch_rows(query, step=step)[1][0][0] or 0)

    def count(self, table: exp.Expr, step: str) -> int:
        """Return the number of rows of a table or subquery."""
        return self.number(exp.select(exp.Count(this=exp.Star())).from_(table), step)

    def insert(self, table: str, data: pa.Table | exp.Expr, columns: list[str], step: str) -> int:
        """Append rows to the named columns of one of our tables; return their number."""
        self.changing(table)
        target = exp.Schema(this=self.table(table), expressions=[exp.to_identifier(c, quoted=True) for c in columns])
        if isinstance(data, exp.Expr):
            return self.engine.execute(exp.Insert(this=target, expression=data), step=step)
        with self.engine.attached(data) as source:
            query = exp.select(*[column(c) for c in columns]).from_(source)
            return self.engine.execute(exp.Insert(this=target, expression=query), step=step)

    def clear(self, table: str) -> None:
        """Delete all rows of one of our tables."""
        self.changing(table)
        self.engine.execute(exp.Delete(this=self.table(table)), step=f"clear {table}")

    def put(self, table: str, rows: list[Mapping[str, Any]], step: str) -> None:
        """Append rows given as mappings, of which all have the same keys."""
        if rows:
            self.insert(table, _values(rows), list(rows[0]), step)

    # ---- records ----------------------------------------------------------------------------------------

    def _records(self) -> Image:
        """Return the image, held against the tables unless that was done in this transaction or verb."""
        with self.engine.turn:
            if not self._checked:
                if not self._is_last(self._known):
                    self._check()
                    self._known = self.engine.rolled_back
                self._checked = self._inside or self._verbs > 0
            return self._image

    def _is_last(self, rolled_back: int | None) -> bool:
        """Whether nothing but this store can have changed what it knew when so many transactions had been rolled back."""
        return rolled_back == self.engine.rolled_back and self.engine.private

    def read_again(self) -> None:
        """Hold the image against the tables when it is next needed, also within a verb: another cursor may have changed them."""
        self._checked = self._inside and self._checked

    def _check(self) -> None:
        """Hold the image against the tables of records, all of which one statement reads."""
        query = _image_query(self.catalog, self.schema)
        text = self._read(query)
        if text != self._text:
            self._held = read_image(text)
            while not self._whole and (problem := table_fault(self._held, self.table_names, self.table, self.rows)):
                # Another cursor may have written between the two statements.
                if (again := self._read(query)) == text:
                    raise damaged(problem)
                text, self._held = again, read_image(again)
            self._whole = True
            self._image, self._text = self._held.copy(), text

    def _read(self, query: str) -> list[tuple[str, str]]:
        return [
            (str(table), str(record))
            for table, record in self.engine.fetch_rows(query, step="read the records of the catalog")[1]
        ]

    def _change(self) -> Image:
        """Return the image, to be changed in an open transaction."""
        assert self._inside, "records change in a transaction"
        return self._records()

    def _write(self) -> None:
        """Write the records that changed in this transaction, in one statement."""
        if self._image == self._held:
            return
        statements: list[exp.Expr] = []
        before, after = table_rows(self._held), table_rows(self._image)
        for table, rows in after.items():
            old = before[table]
            gone = [key for key, found in old.items() if found and rows.get(key) != found]
            new = [row for key, found in rows.items() if old.get(key) != found for row in found]
            if gone:
                conditions = [
                    exp.and_(*(column(c).eq(exp.convert(v)) for c, v in zip(COLUMNS[table], key, strict=False)))
                    for key in gone
                ]
                statements.append(exp.Delete(this=self.table(table), where=exp.Where(this=exp.or_(*conditions))))
            if new:
                columns = [exp.to_identifier(c, quoted=True) for c in new[0]]
                target = exp.Schema(this=self.table(table), expressions=columns)
                statements.append(exp.Insert(this=target, expression=_values(new)))
        self.engine.execute_sql("; ".join(map(self.engine.render, statements)), step="write records of the catalog")
        self._held, self._text = self._image.copy(), None

    def _undo(self) -> None:
        """Forget what a transaction changed that was rolled back."""
        self._image, self._held, self._text = Image(), Image(), None
        self._known, self._checked, self._names = None, False, None

    def forget(self) -> None:
        """Read the records again when they are next needed: a user's SQL may have changed them."""
        if not self._inside:
            self._undo()

    def types(self) -> dict[str, TypeRecord]:
        """Return the types by name, in order of their names."""
        return dict(sorted(self._records().types.items()))

    def predicates(self) -> dict[str, PredicateRecord]:
        """Return the predicates by name, in order of their names."""
        return dict(sorted(self._records().predicates.items()))

    def sources(self) -> dict[tuple[str, str], SourceRecord]:
        """Return what was loaded by predicate and role, in order of both."""
        return dict(sorted(self._records().sources.items()))

    def valued(self) -> set[str]:
        """Return the predicates of which some source has values."""
        return {name for (name, _), source in self._records().sources.items() if source.valued}

    def save_source(self, record: SourceRecord) -> None:
        """Keep what was loaded."""
        self._change().sources[record.predicate, record.role] = record

    def forget_source(self, predicate: str, role: str) -> None:
        """Keep nothing of what was loaded."""
        self.forget_parts(predicate, role)
        self._change().sources.pop((predicate, role), None)

    def load_parts(self, predicate: str, role: str) -> list[PartRecord]:
        """Return what was appended to a load and removed from it, in order."""
        found = self._records().load_parts
        return [found[key] for key in sorted(found) if key[:2] == (predicate, role)]

    def appended(self, base: SourceRecord) -> list[SourceRecord]:
        """Return what was appended to a load, as sources of their own."""
        return [
            replace(
                base,
                storage=part.storage,
                kind=part.kind,
                source=part.source,
                fingerprint=part.fingerprint,
                options=part.options,
                rows=part.rows,
            )
            for part in self.load_parts(base.predicate, base.role)
            if part.kind != REMOVAL
        ]

    def save_part(self, record: PartRecord) -> None:
        """Keep a part of a load."""
        self._change().load_parts[record.predicate, record.role, record.part] = record

    def forget_parts(self, predicate: str, role: str) -> None:
        """Keep nothing of what was appended to a load and removed from it."""
        for record in self.load_parts(predicate, role):
            self.drop(record.storage)
            del self._change().load_parts[predicate, role, record.part]

    def save_type(self, record: TypeRecord) -> None:
        """Keep a type."""
        self._change().types[record.type] = record

    def save_predicate(self, record: PredicateRecord) -> None:
        """Keep a predicate and its arguments."""
        self._change().predicates[record.predicate] = record

    def state(self, key: str) -> str | None:
        """Return an entry of the state, None if it is absent."""
        return self._records().state.get(key)

    def set_state(self, key: str, value: str) -> None:
        """Keep an entry of the state."""
        self._change().state[key] = value

    def forget_state(self, key: str) -> None:
        """Remove an entry of the state."""
        self._change().state.pop(key, None)

    def described(self, predicates: Iterable[str]) -> tuple[Any, ...]:
        """Return what is recorded of some predicates and their types, and of what is bound; it changes with what a program reads."""
        image, names = self._records(), sorted(set(predicates) & self._records().predicates.keys())
        records = [image.predicates[name] for name in names]
        types = sorted({kind for record in records for kind in record.types if kind is not None})
        return (
            records,
            sorted((key, source) for key, source in image.sources.items() if key[0] in names),
            [image.types[kind] for kind in types],
            [image.state.get(key) for key in ("atoms", "named")],
        )

    def touch(self) -> None:
        """Record that the data changed, so that what was built from them is built again."""
        self.set_state("data", str(int(self.state("data") or 0) + 1))

    def table_names(self) -> set[str]:
        """Return the names of our tables and views."""
        if self._names is None or not (self._inside or self._is_last(self._named)):
            _, rows = self.engine.fetch_rows(_names_query(self.catalog, self.schema), step="list the tables")
            self._names, self._named = {str(name) for (name,) in rows}, self.engine.rolled_back
        return set(self._names)

    def free_name(self, prefix: str, name: str) -> str:
        """Return a table name that no other table has; DuckDB ignores case even in quoted names."""
        taken = {found.casefold() for found in self.table_names()}
        wanted, number = f"{prefix}_{name}", 1
        while (wanted if number == 1 else f"{wanted}_{number}").casefold() in taken:
            number += 1
        return wanted if number == 1 else f"{wanted}_{number}"

    def type_record(self, name: str, types: dict[str, TypeRecord]) -> TypeRecord:
        """Return the record of a type, which is made with an empty dictionary if it is new."""
        if name not in types:
            record = TypeRecord(name, self.free_name("dictionary", name))
            self.create_empty(record.dictionary, DICTIONARY, f"create the dictionary of {name}")
            self.save_type(record)
            types[name] = record
        return types[name]


def _values(rows: list[Mapping[str, Any]] | list[dict[str, Any]]) -> exp.Values:
    """Return rows, all of which have the same keys, as a source."""
    return exp.Values(expressions=[exp.Tuple(expressions=[exp.convert(v) for v in row.values()]) for row in rows])
