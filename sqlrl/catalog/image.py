"""The catalog's records: types, predicates, sources and parts, as the rows of their tables and as one image of them all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sqlglot import exp

from sqlrl.catalog.integrity import check_state, damaged, is_object, kept_json
from sqlrl.engine.nodes import column
from sqlrl.errors import CatalogError, Parameter
from sqlrl.logic.bins import Edges, as_edges, edges_fault


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
    edges: str | None = None

    @property
    def bins(self) -> Edges:
        """Where its numbers are cut into pieces; none if they are not."""
        return () if self.edges is None else as_edges(json.loads(self.edges))


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
    value: str | None = None

    @property
    def valued(self) -> bool:
        """Whether some row has a value."""
        return self.value is not None and self.rows > 0

    @property
    def extra(self) -> tuple[str, ...]:
        """The columns of its table beside the keys: `truth`, `prior` (log-odds) and `value`, as far as there are any."""
        there = {"truth": self.signed, "prior": self.role == "soft", "value": self.value is not None}
        return tuple(name for name, has in there.items() if has)


REMOVAL = "removal"
"""The kind of a part that says what was removed."""


@dataclass(frozen=True, slots=True)
class PartRecord:
    """A row of `sqlrl.part`."""

    predicate: str
    role: str
    part: int
    storage: str
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
        """The types of the arguments; an error if one is unknown."""
        types = tuple(a.type for a in self.arguments if a.type is not None)
        if len(types) < len(self.arguments):
            raise CatalogError(
                f"The types of {self.predicate} are not known yet: declare a model or pass {Parameter('types')}."
            )
        return types


def argument_columns(count: int) -> list[str]:
    """Return the names of the argument columns of a table: a0, a1, ..."""
    return [f"a{i}" for i in range(count)]


def equal_columns(names: Iterable[str], left: str, right: str) -> exp.Condition:
    """Return the conjunction of `left.name = right.name`; TRUE for no names."""
    conditions = [column(n, left).eq(column(n, right)) for n in names]
    return exp.and_(*conditions) if conditions else exp.true()


@dataclass
class Image:
    """The records as their tables hold them, by name; sources by predicate and role, parts by these and their number."""

    types: dict[str, TypeRecord] = field(default_factory=dict)
    predicates: dict[str, PredicateRecord] = field(default_factory=dict)
    sources: dict[tuple[str, str], SourceRecord] = field(default_factory=dict)
    state: dict[str, str] = field(default_factory=dict)
    load_parts: dict[tuple[str, str, int], PartRecord] = field(default_factory=dict)

    def copy(self) -> Image:
        """Return an image that changes by itself; records are frozen."""
        return Image(
            dict(self.types), dict(self.predicates), dict(self.sources), dict(self.state), dict(self.load_parts)
        )


COLUMNS = {
    "type": [f.name for f in fields(TypeRecord)],
    "predicate": [f.name for f in fields(PredicateRecord) if f.name != "arguments"],
    "argument": ["predicate", "position", *(f.name for f in fields(ArgumentRecord))],
    "source": [f.name for f in fields(SourceRecord)],
    "state": ["key", "value"],
    "part": [f.name for f in fields(PartRecord)],
}
"""The tables of records and their columns."""


def read_image(rows: Iterable[tuple[str, str]]) -> Image:
    """Return the image that rows of (table, record as JSON) describe."""
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in COLUMNS}
    for table, text in rows:
        record = json.loads(text)
        # DuckDB takes the name of a column that is not there for that of the table, and returns its whole row.
        missing = [name for name, value in record.items() if isinstance(value, dict)]
        if missing:
            raise damaged(f"sqlrl.{table} has no column {missing[0]}")
        tables[table].append(record)
    arguments: dict[str, list[ArgumentRecord]] = {}
    for row in sorted(tables["argument"], key=lambda row: (str(row["predicate"]), row["position"] or 0)):
        name, position = row.pop("predicate"), row.pop("position")
        if position != len(arguments.setdefault(name, [])) or row["name"] is None:
            raise damaged(
                f"the arguments of {name} in sqlrl.argument are not those from 0 on, each once and with a name"
            )
        arguments[name].append(ArgumentRecord(**row))
    image = Image(
        {row["type"]: TypeRecord(**row) for row in tables["type"]},
        {
            row["predicate"]: PredicateRecord(**row, arguments=tuple(arguments.get(row["predicate"], ())))
            for row in tables["predicate"]
        },
        {(row["predicate"], row["role"]): SourceRecord(**row) for row in tables["source"]},
        {row["key"]: row["value"] for row in tables["state"]},
        {(row["predicate"], row["role"], row["part"]): PartRecord(**row) for row in tables["part"]},
    )
    _check_image(image, {name: len(found) for name, found in tables.items()}, arguments)
    return image


_NAMED_BY = {
    "type": "type",
    "predicate": "predicate",
    "source": "predicate and role",
    "state": "key",
    "part": "predicate, role and part",
}


def _check_image(image: Image, rows: Mapping[str, int], arguments: Mapping[str, list[ArgumentRecord]]) -> None:
    """Refuse records that do not belong together, at which later stages would stumble."""
    parts: dict[str, Mapping[Any, Any]] = {
        "type": image.types,
        "predicate": image.predicates,
        "source": image.sources,
        "state": image.state,
        "part": image.load_parts,
    }
    for table, records in parts.items():
        if len(records) < rows[table]:
            raise damaged(f"two rows of sqlrl.{table} have the same {_NAMED_BY[table]}")
        for record in () if table == "state" else records.values():
            empty = [f.name for f in fields(record) if getattr(record, f.name) is None and "None" not in str(f.type)]
            if empty:
                raise damaged(f"{empty[0]} is NULL in sqlrl.{table}")
    check_state(image.state)
    for name in arguments.keys() - image.predicates.keys():
        raise damaged(f"sqlrl.argument has the predicate {name!r}, which sqlrl.predicate lacks")
    for name, record in image.predicates.items():
        unknown = [kind for kind in record.types if kind is not None and kind not in image.types]
        if unknown:
            raise damaged(f"an argument of {name} has the type {unknown[0]!r}, which sqlrl.type lacks")
    for name, _ in image.sources:
        if name not in image.predicates:
            raise damaged(f"sqlrl.source has the predicate {name!r}, which sqlrl.predicate lacks")
    for name, role, _ in image.load_parts:
        if (name, role) not in image.sources:
            raise damaged(f"sqlrl.part has the predicate {name!r} with the role {role!r}, which sqlrl.source lacks")
    for name, kind in image.types.items():
        if kind.edges is not None:
            kept_json(kind.edges, f"the edges of {name} in sqlrl.type", lambda value: edges_fault(value) is None)
    for name in kept_json(image.state.get("named") or "{}", "the entry 'named' of sqlrl.state", is_object):
        if name not in image.types:
            raise damaged(f"the entry 'named' of sqlrl.state has the type {name!r}, which sqlrl.type lacks")
    built = kept_json(image.state.get("atoms") or "{}", "the entry 'atoms' of sqlrl.state", is_object)
    # What was built from earlier data is built again.
    for name in built.get("open") or () if built.get("data") == image.state.get("data") else ():
        if name not in image.predicates or image.predicates[name].atoms is None:
            raise damaged(f"sqlrl.predicate has no table of query atoms of {name}, which sqlrl.state says was built")
    example = image.state.get("example_type")
    if image.state.get("examples") == "column" and example is not None and example not in image.types:
        raise damaged(f"the type of examples is {example!r}, which sqlrl.type lacks")


def table_rows(image: Image) -> dict[str, dict[tuple[str | int, ...], list[dict[str, Any]]]]:
    """Return the rows of each table of records by the values of the columns that name the record, which come first."""

    def row(table: str, record: object, **more: Any) -> dict[str, Any]:
        return {name: more[name] if name in more else getattr(record, name) for name in COLUMNS[table]}

    return {
        "type": {(name,): [row("type", record)] for name, record in image.types.items()},
        "predicate": {(name,): [row("predicate", record)] for name, record in image.predicates.items()},
        "argument": {
            (name,): [row("argument", a, predicate=name, position=i) for i, a in enumerate(record.arguments)]
            for name, record in image.predicates.items()
        },
        "source": {key: [row("source", record)] for key, record in image.sources.items()},
        "state": {(key,): [{"key": key, "value": value}] for key, value in image.state.items()},
        "part": {(*key,): [row("part", record)] for key, record in image.load_parts.items()},
    }


def with_types(record: PredicateRecord, types: Iterable[str | None]) -> PredicateRecord:
    """Return a predicate with other types."""
    arguments = tuple(replace(a, type=t) for a, t in zip(record.arguments, types, strict=True))
    return replace(record, arguments=arguments)
