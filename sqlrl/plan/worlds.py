"""Worlds as relations: which tuples of a predicate are true in one, and which differ between two."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sqlrl.catalog.layout import PredicateInfo, TableName
from sqlrl.engine.nodes import column, integer, named, subquery, union_all
from sqlrl.plan.sources import argument_columns, given_rows, selected
from sqlrl.plan.sql import table


@dataclass(frozen=True)
class World:
    """A truth value for every query atom.

    Parameters
    ----------
    atoms : TableName or None
        A table with a column `atom`: the query atoms that are true, each once. None: the observed world (the labels).
    every : bool
        Whether all query atoms are true; then there is no table.

    Examples
    --------
    >>> World(TableName("db", "main", "predicted")) == OBSERVED
    False
    """

    atoms: TableName | None = None
    every: bool = False


OBSERVED = World()

POSSIBLE = World(every=True)
"""All query atoms are true: the tuples that are true here are those that are true in some world."""


def true_rows(info: PredicateInfo, world: World) -> exp.Query:
    """Select the tuples of a predicate that are true in a world: one row for each.

    Examples
    --------
    >>> from sqlrl.plan.sample import people
    >>> true_rows(people().predicates["Smokes"], OBSERVED).sql("duckdb")
    'SELECT "a"."a0" FROM "db"."main"."atoms" AS "a" WHERE "a"."truth"'
    """
    columns = argument_columns(info)
    if not info.open:
        return exp.select(*selected(columns)).from_(table(info.facts))
    queries: list[exp.Query] = [_true_atoms(info, world, columns)]
    if info.has_given:
        queries.append(given_rows(info, truth=True))
    return union_all(queries)


def _true_atoms(info: PredicateInfo, world: World, columns: tuple[str, ...]) -> exp.Select:
    assert info.atoms is not None
    query = exp.select(*selected(columns, "a")).from_(table(info.atoms, "a"))
    if world.every:
        return query
    if world.atoms is None:
        return query.where(column("truth", "a"))
    return query.join(table(world.atoms, "w"), on=exp.EQ(this=column("atom", "w"), expression=column("atom", "a")))


def changed_rows(info: PredicateInfo, first: World, second: World) -> exp.Query:
    """Select the tuples whose truth differs: `change` is 1 where only the first world has it, -1 where only the second.

    Examples
    --------
    >>> from sqlrl.plan.sample import people, table_name
    >>> query = changed_rows(people().predicates["Smokes"], World(table_name("predicted")), OBSERVED)
    >>> [c.alias_or_name for c in query.selects]
    ['a0', 'change']
    """
    assert info.atoms is not None
    columns = argument_columns(info)

    def atoms_of(world: World) -> exp.Select:
        """Select the query atoms that are true in a world."""
        if world.atoms is None:
            assert info.atoms is not None
            every = exp.select(column("atom")).from_(table(info.atoms))
            return every if world.every else every.where(column("truth"))
        return exp.select(column("atom")).from_(table(world.atoms))

    def only(here: World, there: World, change: int) -> exp.Select:
        """Select the tuples that are true in one world only."""
        assert info.atoms is not None
        changed = exp.Except(this=atoms_of(here), expression=atoms_of(there), distinct=True)
        query = exp.select(*(column(c, "a") for c in columns), named(integer(change), "change"))
        return query.from_(table(info.atoms, "a")).join(
            subquery(changed, "w"), on=exp.EQ(this=column("atom", "w"), expression=column("atom", "a"))
        )

    return union_all([only(first, second, 1), only(second, first, -1)])
