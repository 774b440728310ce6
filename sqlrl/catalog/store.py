"""The catalog's own records, and the few statements from which its modules are built."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column
from sqlrl.errors import CatalogError


@dataclass(frozen=True, slots=True)
class TypeRecord:
    """A row of `sqlrl.type`; the comments of `schemas/layout.sql` describe the columns."""

    type: str
    dictionary: str
    local: bool = False
    choice: bool | None = None
    domain: str | None = None
    declared: bool = False
    numeric: bool = False
    size: int = 0


@dataclass(frozen=True, slots=True)
class ArgumentRecord:
    """A row of `sqlrl.argument` without its predicate and position."""

    name: str
    type: str | None
    block: bool = False
    example: bool = False


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """A row of `sqlrl.source`."""

    predicate: str
    role: str
    storage: str
    staged: bool
    signed: bool
    example: bool
    kind: str
    source: str
    fingerprint: str
    options: str
    rows: int


@dataclass(frozen=True, slots=True)
class PredicateRecord:
    """A row of `sqlrl.predicate` with the arguments."""

    predicate: str
    open: bool = False
    facts: str | None = None
    atoms: str | None = None
    source: str | None = None
    fingerprint: str | None = None
    rows: int = 0
    scope: str | None = None
    given: bool = False
    example: str | None = None
    readable: str | None = None
    arguments: tuple[ArgumentRecord, ...] = ()

    @property
    def types(self) -> tuple[str | None, ...]:
        """The types of the arguments, None where unknown."""
        return tuple(a.type for a in self.arguments)

    def known_types(self) -> tuple[str, ...]:
        """The types of the arguments.

        Raises
        ------
        CatalogError
            If one is unknown.
        """
        types = tuple(a.type for a in self.arguments if a.type is not None)
        if len(types) < len(self.arguments):
            raise CatalogError(f"The types of {self.predicate} are not known yet: declare a model or pass types=.")
        return types


def argument_columns(count: int) -> list[str]:
    """Return the names of the argument columns of a table: a0, a1, ..."""
    return [f"a{i}" for i in range(count)]


def equal_columns(names: Iterable[str], left: str, right: str) -> exp.Condition:
    """Return the conjunction of `left.name = right.name`; TRUE for no names."""
    conditions = [column(n, left).eq(column(n, right)) for n in names]
    return exp.and_(*conditions) if conditions else exp.true()


class Store:
    """Tables in sqlrl's own schema.

    Parameters
    ----------
    engine : DuckDBEngine
    on_created : callable, optional
        Called at the end of a transaction with the names of the tables and views that were made in it.
    """

    def __init__(
        self, engine: DuckDBEngine, on_created: Callable[[Store, Collection[str]], None] | None = None
    ) -> None:
        self.engine = engine
        self.catalog, self.schema = engine.home
        self._on_created = on_created
        self._created: set[str] = set()
        # What is known in the open transaction, not outside, where others may write: rows of records by table, names of tables.
        self._inside = False
        self._read: dict[str, list[dict[str, Any]]] = {}
        self._names: set[str] | None = None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Open a transaction that ends with what `on_created` does; one within another is part of it."""
        with self.engine.transaction():
            if self._inside:
                yield
                return
            self._inside = True
            try:
                yield
                if self._on_created is not None and self._created:
                    self._on_created(self, frozenset(self._created))
            finally:
                self._inside, self._names = False, None
                self._read.clear()
                self._created.clear()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write in a transaction.

        Raises
        ------
        CatalogError
            If the database was opened for reading.
        """
        self.check_writable()
        with self._transaction():
            yield

    @contextmanager
    def binding(self) -> Iterator[None]:
        """Write what follows from the data and a model, in a transaction; `ReadingStore` does so in memory."""
        with self._transaction():
            yield

    def check_writable(self) -> None:
        """Refuse to go on if the database was opened for reading.

        Raises
        ------
        CatalogError
        """
        if not self.engine.writable:
            raise CatalogError(f"{self.engine.path} was opened read-only: connect to it for writing.")

    def home(self, table: str) -> tuple[str, str]:
        """Return the catalog and schema of one of our tables."""
        return self.catalog, self.schema

    def replacing(self, table: str) -> None:
        """Make ready for a table or view to be created or replaced."""

    def changing(self, table: str) -> None:
        """Make ready for rows of a table to be added or deleted."""
        self._read.pop(table, None)

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

    def create(self, table: str, query: exp.Expr | pa.Table, step: str) -> None:
        """Create or replace one of our tables."""
        self.replacing(table)
        self.engine.create_table(*self.home(table), table, query, step=step)
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
        """Drop one of our tables; None drops nothing."""
        if table is not None:
            self.engine.drop_table(*self.home(table), table, step=f"drop {table}")
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
        rows: list[dict[str, Any]] = self.engine.fetch(query, step=step).to_pylist()
        return rows

    def columns(self, query: exp.Expr, step: str) -> list[str]:
        """Return the names of the columns of a query."""
        return [str(row["column_name"]) for row in self.rows(exp.Describe(this=query), step)]

    def number(self, query: exp.Expr, step: str) -> int:
        """Return the single number that a query yields."""
        return int(self.engine.fetch(query, step=step).column(0)[0].as_py() or 0)

    def count(self, table: exp.Expr, step: str) -> int:
        """Return the number of rows of a table or subquery."""
        return self.number(exp.select(exp.Count(this=exp.Star())).from_(table), step)

    def insert(self, table: str, data: pa.Table | exp.Expr, columns: list[str], step: str) -> None:
        """Append rows to the named columns of one of our tables."""
        self.changing(table)
        target = exp.Schema(this=self.table(table), expressions=[exp.to_identifier(c, quoted=True) for c in columns])
        if isinstance(data, exp.Expr):
            self.engine.execute(exp.Insert(this=target, expression=data), step=step)
            return
        with self.engine.attached(data) as source:
            query = exp.select(*[column(c) for c in columns]).from_(source)
            self.engine.execute(exp.Insert(this=target, expression=query), step=step)

    def delete(self, table: str, **where: str) -> None:
        """Delete the rows whose columns have these values."""
        known = self._read.get(table)
        self.changing(table)
        conditions = [column(c).eq(exp.convert(v)) for c, v in where.items()]
        statement = exp.Delete(this=self.table(table))
        if conditions:
            statement.set("where", exp.Where(this=exp.and_(*conditions)))
        self.engine.execute(statement, step=f"clear rows of {table}")
        if known is not None:
            self._read[table] = [row for row in known if any(row[c] != v for c, v in where.items())]

    def put(self, table: str, rows: list[Mapping[str, Any]], step: str) -> None:
        """Append rows given as mappings, of which all have the same keys."""
        if rows:
            columns, known = list(rows[0]), self._read.get(table)
            literals = [exp.Tuple(expressions=[exp.convert(row[c]) for c in columns]) for row in rows]
            self.insert(table, exp.Values(expressions=literals), columns, step)
            if known is not None:
                self._read[table] = [*known, *map(dict, rows)]

    # ---- records ----------------------------------------------------------------------------------------

    def _records(self, table: str, columns: list[str], order: list[str], step: str) -> list[dict[str, Any]]:
        """Return the rows of a table of records; a transaction reads them once and keeps `put` and `delete` up with them."""
        found = self._read.get(table)
        if found is None:
            found = self.rows(exp.select(*map(column, columns)).from_(self.table(table)), step)
            if self._inside:
                self._read[table] = found
        return sorted(found, key=lambda row: [row[name] for name in order])

    def types(self) -> dict[str, TypeRecord]:
        """Return the types by name, in order of their names."""
        names = [f.name for f in fields(TypeRecord)]
        return {row["type"]: TypeRecord(**row) for row in self._records("type", names, ["type"], "read the types")}

    def predicates(self) -> dict[str, PredicateRecord]:
        """Return the predicates by name, in order of their names."""
        names = [f.name for f in fields(PredicateRecord) if f.name != "arguments"]
        parts = [f.name for f in fields(ArgumentRecord)]
        order = ["predicate", "position"]
        arguments: dict[str, list[ArgumentRecord]] = {}
        for row in self._records("argument", [*order, *parts], order, "read the arguments"):
            arguments.setdefault(row["predicate"], []).append(ArgumentRecord(**{name: row[name] for name in parts}))
        return {
            row["predicate"]: PredicateRecord(**row, arguments=tuple(arguments.get(row["predicate"], ())))
            for row in self._records("predicate", names, ["predicate"], "read the predicates")
        }

    def sources(self) -> dict[tuple[str, str], SourceRecord]:
        """Return what was loaded by predicate and role, in order of both."""
        names = [f.name for f in fields(SourceRecord)]
        rows = self._records("source", names, ["predicate", "role"], "read the sources")
        return {(row["predicate"], row["role"]): SourceRecord(**row) for row in rows}

    def save_source(self, record: SourceRecord) -> None:
        """Write what was loaded."""
        self.delete("source", predicate=record.predicate, role=record.role)
        self.put("source", [asdict(record)], f"save the source of {record.predicate}")

    def save_type(self, record: TypeRecord) -> None:
        """Write a type."""
        self.delete("type", type=record.type)
        self.put("type", [asdict(record)], f"save type {record.type}")

    def save_predicate(self, record: PredicateRecord) -> None:
        """Write a predicate and its arguments."""
        self.delete("predicate", predicate=record.predicate)
        self.delete("argument", predicate=record.predicate)
        row = asdict(record)
        row.pop("arguments")
        self.put("predicate", [row], f"save predicate {record.predicate}")
        arguments: list[Mapping[str, Any]] = [
            {"predicate": record.predicate, "position": i, **asdict(a)} for i, a in enumerate(record.arguments)
        ]
        self.put("argument", arguments, f"save the arguments of {record.predicate}")

    def state(self, key: str) -> str | None:
        """Return an entry of the state, None if it is absent."""
        found = [
            row["value"]
            for row in self._records("state", ["key", "value"], ["key"], "read the state")
            if row["key"] == key
        ]
        return str(found[0]) if found else None

    def set_state(self, key: str, value: str) -> None:
        """Write an entry of the state."""
        self.delete("state", key=key)
        self.put("state", [{"key": key, "value": value}], f"write {key}")

    def touch(self) -> None:
        """Record that the data changed, so that what was built from them is built again."""
        self.set_state("data", str(int(self.state("data") or 0) + 1))

    def table_names(self) -> set[str]:
        """Return the names of our tables and views."""
        if self._names is not None:
            return set(self._names)
        tables = exp.select(column("table_name")).from_(exp.table_("tables", db="information_schema"))
        home = exp.and_(column("table_catalog").eq(self.catalog), column("table_schema").eq(self.schema))
        found = {str(row["table_name"]) for row in self.rows(tables.where(home), "list the tables")}
        if self._inside:
            self._names = set(found)
        return found

    def free_name(self, prefix: str, name: str) -> str:
        """Return a table name that no other table has; DuckDB ignores case even in quoted names.

        Examples
        --------
        >>> from sqlrl.engine.connecting import connect
        >>> store = Store(connect(":memory:"))
        >>> store.create("fact_p", exp.select("1 as x"), "example")
        >>> store.free_name("fact", "P")
        'fact_P_2'
        """
        taken = {found.casefold() for found in self.table_names()}
        wanted, number = f"{prefix}_{name}", 1
        while (wanted if number == 1 else f"{wanted}_{number}").casefold() in taken:
            number += 1
        return wanted if number == 1 else f"{wanted}_{number}"

    def type_record(self, name: str, types: dict[str, TypeRecord]) -> TypeRecord:
        """Return the record of a type, which is made with an empty dictionary if it is new."""
        if name not in types:
            record = TypeRecord(name, self.free_name("dictionary", name))
            empty = pa.table({"id": pa.array([], pa.int32()), "name": pa.array([], pa.string())})
            self.create(record.dictionary, empty, f"create the dictionary of {name}")
            self.save_type(record)
            types[name] = record
        return types[name]


def with_types(record: PredicateRecord, types: Iterable[str | None]) -> PredicateRecord:
    """Return a predicate with other types."""
    arguments = tuple(replace(a, type=t) for a, t in zip(record.arguments, types, strict=True))
    return replace(record, arguments=arguments)
