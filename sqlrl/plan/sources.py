"""The relations behind literals: facts, query atoms, what is given, domains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from sqlrl.catalog.layout import PredicateInfo, TableName
from sqlrl.engine.nodes import column, conjunction, integer, named, subquery, union_all
from sqlrl.logic.shapes import ShapeLiteral, Slot
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sql import table


@dataclass(frozen=True)
class Source:
    """A relation that joins on slots.

    Parameters
    ----------
    relation : exp.Expression
        A table or subquery under `alias`.
    alias : str
    columns : tuple of (str, Slot)
        Its columns, each with the slot it carries; a slot may repeat.

    Examples
    --------
    The facts of `Friends(v0, v1)`:

    >>> from sqlrl.plan.sample import table_name
    >>> from sqlrl.plan.sql import table
    >>> source = Source(table(table_name("friends"), "t0"), "t0", (("a0", Slot(False, 0)), ("a1", Slot(False, 1))))
    >>> source.relation.sql("duckdb")
    '"db"."main"."friends" AS "t0"'
    """

    relation: exp.Expression
    alias: str
    columns: tuple[tuple[str, Slot], ...]


def argument_columns(info: PredicateInfo) -> tuple[str, ...]:
    """Return the columns that identify a fact: the hidden example if it has one, then the arguments.

    Examples
    --------
    >>> from sqlrl.plan.sample import people
    >>> argument_columns(people().predicates["Friends"])
    ('a0', 'a1')
    """
    plain = tuple(f"a{i}" for i in range(len(info.types)))
    return ("example", *plain) if info.example_column else plain


def selected(names: Iterable[str], alias: str | None = None) -> list[exp.Expression]:
    """Return columns for a SELECT: those names, or `1 AS one` if there are none, as for a predicate without arguments.

    Examples
    --------
    >>> [node.sql("duckdb") for node in (*selected(["a0"], "a"), *selected([]))]
    ['"a"."a0"', '1 AS "one"']
    """
    found: list[exp.Expression] = [column(name, alias) for name in names]
    return found or [named(integer(1), "one")]


def given_rows(info: PredicateInfo, truth: bool, atom: bool = False) -> exp.Select:
    """Select the given atoms of an open predicate with this truth value; one row for each, `atom` 0 on request.

    Examples
    --------
    >>> from sqlrl.plan.sample import people
    >>> given_rows(people().predicates["Smokes"], truth=True).sql("duckdb")
    'SELECT "a0" FROM "db"."main"."smokes" WHERE "given" AND "truth"'
    """
    names = argument_columns(info)
    columns = [named(integer(0), "atom"), *map(column, names)] if atom else selected(names)
    value = column("truth") if truth else exp.Not(this=column("truth"))
    return exp.select(*columns).from_(table(info.facts)).where(exp.And(this=column("given"), expression=value))


def atom_rows(info: PredicateInfo) -> exp.Select:
    """Select the query atoms of an open predicate: one row for each.

    Examples
    --------
    >>> from sqlrl.plan.sample import people
    >>> atom_rows(people().predicates["Smokes"]).sql("duckdb")
    'SELECT "atom", "a0" FROM "db"."main"."atoms"'
    """
    assert info.atoms is not None
    return exp.select(*(column(name) for name in ("atom", *argument_columns(info)))).from_(table(info.atoms))


def open_source(bound: BoundShape, literal: ShapeLiteral, alias: str) -> tuple[Source, bool]:
    """Return the relation of an open literal, with `atom` (0: decided), and whether it may be absent from it.

    A negative literal is false where its atom is given true, so its rows are query atoms and what is given true. A positive
    literal is false where its atom is given false or outside the scope. Where every grounding is a row, these
    are query atoms and what is given false; else the relation holds query atoms and what is given true, for an outer join
    that keeps unmatched rows and drops those with atom 0.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> from sqlrl.plan.slots import bind
    >>> bound = bind(friends_smoke(), people())
    >>> source, outer = open_source(bound, bound.shape.literals[1], "o")
    >>> source.relation.sql("duckdb"), outer
    ('"db"."main"."atoms" AS "o"', False)
    """
    info = bound.info(literal)
    outer = literal.positive and not bound.covers(literal)
    relation: exp.Expression
    if info.has_given:
        truth = (not literal.positive) or outer
        relation = subquery(union_all([atom_rows(info), given_rows(info, truth, atom=True)]), alias)
    else:
        assert info.atoms is not None
        relation = table(info.atoms, alias)
    return Source(relation, alias, bound.columns(literal)), outer


def atom_source(bound: BoundShape, literal: ShapeLiteral, alias: str) -> tuple[Source, bool]:
    """Return the query atoms of an open literal alone; as `open_source`.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> from sqlrl.plan.slots import bind
    >>> bound = bind(friends_smoke(), people())
    >>> atom_source(bound, bound.shape.literals[1], "o")[0].columns
    (('a0', Slot(parameter=False, index=1)),)
    """
    atoms = bound.info(literal).atoms
    assert atoms is not None
    return Source(table(atoms, alias), alias, bound.columns(literal)), False


def fact_source(bound: BoundShape, literal: ShapeLiteral, alias: str) -> Source:
    """Return the facts of a closed literal: one row for each tuple that is true.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> from sqlrl.plan.slots import bind
    >>> bound = bind(friends_smoke(), people())
    >>> fact_source(bound, bound.shape.literals[0], "t").relation.sql("duckdb")
    '"db"."main"."friends" AS "t"'
    """
    return Source(table(bound.info(literal).facts, alias), alias, bound.columns(literal))


def domain_source(bound: BoundShape, slot: Slot, owner: Slot | None, alias: str) -> Source:
    """Return the domain of a slot: (example, id) of a local type for its owner, else the ids of its type.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> from sqlrl.plan.slots import bind
    >>> domain_source(bind(friends_smoke(), people()), Slot(False, 0), None, "d").relation.sql("duckdb")
    '"db"."main"."people" AS "d"'
    """
    layout = bound.layout
    if slot == bound.hidden:
        return Source(table(layout.examples, alias), alias, (("example", slot),))
    kind = bound.kind(slot)
    assert kind is not None
    info = layout.types[kind]
    if owner is not None:
        assert info.domain is not None
        return Source(table(info.domain, alias), alias, (("example", owner), ("id", slot)))
    return Source(table(info.dictionary, alias), alias, (("id", slot),))


def filter_source(examples: TableName, slot: Slot, alias: str) -> Source:
    """Return the examples to which a query is restricted.

    Examples
    --------
    >>> from sqlrl.plan.sample import table_name
    >>> filter_source(table_name("chosen"), Slot(False, 0), "x").columns
    (('example', Slot(parameter=False, index=0)),)
    """
    return Source(table(examples, alias), alias, (("example", slot),))


def some_example(bound: BoundShape, examples: TableName) -> exp.Exists:
    """Return the condition that a query is about some example at all, where all data are one and no slot says which.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people, table_name
    >>> from sqlrl.plan.slots import bind
    >>> print(some_example(bind(friends_smoke(), people()), table_name("chosen")).sql("duckdb").replace('"', ""))
    EXISTS(SELECT 1 FROM db.main.chosen AS x JOIN db.main.example AS y ON y.example = x.example)
    """
    chosen, known = table(examples, "x"), table(bound.layout.examples, "y")
    same = exp.EQ(this=column("example", "y"), expression=column("example", "x"))
    return exp.Exists(this=exp.select(integer(1)).from_(chosen).join(known, on=same))


def absent(source: Source, known: dict[Slot, exp.Column]) -> exp.Not:
    """Return `NOT EXISTS` of a row of a source that agrees with what is known.

    Examples
    --------
    >>> from sqlrl.plan.sample import table_name
    >>> x = Slot(False, 0)
    >>> source = Source(table(table_name("smokes"), "n"), "n", (("a0", x),))
    >>> absent(source, {x: column("a1", "t")}).sql("duckdb")
    'NOT EXISTS(SELECT 1 FROM "db"."main"."smokes" AS "n" WHERE "n"."a0" = "t"."a1")'
    """
    inside = dict(known)
    where = conjunction(connect(source, inside))
    query = exp.select(integer(1)).from_(source.relation)
    return exp.Not(this=exp.Exists(this=query if where is None else query.where(where)))


def connect(source: Source, known: dict[Slot, exp.Column]) -> list[exp.Expression]:
    """Return the equalities that join a source to what is known; the first use of a slot fixes its column.

    Examples
    --------
    >>> from sqlrl.plan.sample import table_name
    >>> known: dict[Slot, exp.Column] = {}
    >>> x = Slot(False, 0)
    >>> source = Source(table(table_name("friends"), "t"), "t", (("a0", x), ("a1", x)))
    >>> [c.sql("duckdb") for c in connect(source, known)], known[x].sql("duckdb")
    (['"t"."a1" = "t"."a0"'], '"t"."a0"')
    """
    conditions: list[exp.Expression] = []
    for name, slot in source.columns:
        here = column(name, source.alias)
        if slot in known:
            conditions.append(exp.EQ(this=here, expression=known[slot].copy()))
        else:
            known[slot] = here
    return conditions
