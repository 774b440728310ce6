"""Ids of the constants that a model mentions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.base import Engine
from sqlrl.engine.nodes import column
from sqlrl.logic.shapes import Instance
from sqlrl.logic.terms import Constant
from sqlrl.plan.sql import table

FOREIGN = -1
"""The id of a constant that the data do not have; it joins with nothing."""


class ConstantIds:
    """Looks up ids in the dictionaries, one query a type, and remembers them.

    Parameters
    ----------
    engine : Engine
    layout : Layout
    prefix : str
        Starts the names of scratch tables.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> constants = ConstantIds(program.engine, program.layout, "example")
    >>> constants.learn([("person", "Anna"), ("person", "Zoe")])
    >>> constants.of("person")["Anna"], constants.of("person")["Zoe"] == FOREIGN
    (0, True)
    >>> constants.names("person", most=10), constants.names("person", most=2)
    (['Anna', 'Bob', 'Chris'], [])
    """

    def __init__(self, engine: Engine, layout: Layout, prefix: str) -> None:
        self.engine, self.layout = engine, layout
        self.tables: list[TableName] = []
        self._prefix = prefix
        self._ids: dict[str, dict[str, int]] = {}
        self._rows: dict[tuple[int, ...], TableName] = {}

    def scratch(self, kind: str, query: exp.Expression | pa.Table) -> TableName:
        """Create a scratch table under a fresh name."""
        catalog, schema = self.layout.scratch
        name = TableName(catalog, schema, f"{self._prefix}_{kind}_{len(self.tables)}")
        self.engine.create_table(catalog, schema, name.name, query, step=f"create a scratch table ({kind})")
        self.tables.append(name)
        return name

    def learn(self, constants: Iterable[tuple[str, str]]) -> None:
        """Look up constants, given as (type, name)."""
        wanted: dict[str, set[str]] = {}
        for kind, name in constants:
            if name not in self._ids.setdefault(kind, {}):
                wanted.setdefault(kind, set()).add(name)
        for kind, names in wanted.items():
            found = dict.fromkeys(names, FOREIGN)
            if kind in self.layout.types:
                listed = self.scratch("names", pa.table({"name": pa.array(sorted(names), pa.string())}))
                query = (
                    exp.select(column("name", "d"), column("id", "d"))
                    .from_(table(self.layout.types[kind].dictionary, "d"))
                    .join(table(listed, "n"), on=exp.EQ(this=column("name", "n"), expression=column("name", "d")))
                )
                data = self.engine.fetch(query, step=f"look up constants of type {kind}")
                found.update(zip(data.column("name").to_pylist(), data.column("id").to_pylist(), strict=True))
            self._ids[kind].update(found)

    def of(self, kind: str) -> Mapping[str, int]:
        """Return the ids of the constants of a type that were learned; FOREIGN for those that the data lack."""
        return self._ids.get(kind, {})

    @property
    def foreign(self) -> int:
        """How many of the constants that were learned the data lack."""
        return sum(identity == FOREIGN for ids in self._ids.values() for identity in ids.values())

    def names(self, kind: str, most: int) -> list[str]:
        """Return all constants of a type; none if there are more than `most`."""
        if self.layout.types[kind].size > most:
            return []
        query = exp.select(column("name")).from_(table(self.layout.types[kind].dictionary)).order_by(column("id"))
        names: list[str] = self.engine.fetch(query, step=f"read the constants of type {kind}").column(0).to_pylist()
        return names

    def learn_instances(self, instances: Iterable[Instance]) -> None:
        """Look up the constants of instances."""
        self.learn(
            (kind, term.name)
            for instance in instances
            for kind, term in zip(instance.shape.parameters, instance.arguments, strict=True)
            if isinstance(term, Constant)
        )

    def close(self) -> None:
        """Drop the scratch tables."""
        for name in self.tables:
            self.engine.drop_table(name.catalog, name.schema, name.name, step="drop scratch tables")
        self.tables.clear()

    def single_row(self, instance: Instance) -> TableName | None:
        """Return a parameter table with one row: the instance's constants in order, its `+` variables left out."""
        self.learn_instances([instance])
        fixed = tuple(
            self._ids[kind][term.name]
            for kind, term in zip(instance.shape.parameters, instance.arguments, strict=True)
            if isinstance(term, Constant)
        )
        if not fixed:
            return None
        if fixed not in self._rows:
            columns = {f"k{j}": pa.array([value], pa.int32()) for j, value in enumerate(fixed)}
            self._rows[fixed] = self.scratch("row", pa.table({"clause": pa.array([0], pa.int64()), **columns}))
        return self._rows[fixed]
