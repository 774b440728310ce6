"""The relations behind literals: facts, query atoms, what is given, domains, worlds, and the constants of a shape's clauses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName, TypeInfo
from sqlrl.engine.nodes import column, conjunction, integer, named, star_count, subquery, table, union_all
from sqlrl.logic.shapes import Shape, ShapeLiteral, Slot
from sqlrl.plan.slots import BoundShape

NO_EXAMPLE = -1
"""The example of the atoms of a global predicate."""


@dataclass(frozen=True)
class ExampleRange(TableName):
    """A table of examples that are known to be a small part of all, from `first` to `last`: other tables are read no further than these."""

    first: int
    last: int


@dataclass(frozen=True)
class SlotSource:
    """A relation that joins on slots."""

    relation: exp.Expression
    alias: str
    # Those of `relation`, a table or subquery under `alias`, each with the slot it carries; a slot may repeat.
    columns: tuple[tuple[str, Slot], ...]


def argument_columns(info: PredicateInfo) -> tuple[str, ...]:
    """Return the columns that identify a fact: the hidden example if it has one, then the arguments."""
    plain = tuple(f"a{i}" for i in range(len(info.types)))
    return ("example", *plain) if info.example_column else plain


def selected(names: Iterable[str], alias: str | None = None) -> list[exp.Expression]:
    """Return columns for a SELECT: those names, or `1 AS one` if there are none, as for a predicate without arguments."""
    found: list[exp.Expression] = [column(name, alias) for name in names]
    return found or [named(integer(1), "one")]


def given_rows(info: PredicateInfo, truth: bool, atom: bool = False) -> exp.Select:
    """Select the given atoms of an open predicate with this truth value; one row for each, `atom` 0 on request."""
    names = argument_columns(info)
    columns = [named(integer(0), "atom"), *map(column, names)] if atom else selected(names)
    value = column("truth") if truth else exp.Not(this=column("truth"))
    return exp.select(*columns).from_(table(info.facts)).where(exp.And(this=column("given"), expression=value))


def atom_rows(info: PredicateInfo) -> exp.Select:
    """Select the query atoms of an open predicate: one row for each."""
    assert info.atoms is not None
    return exp.select(*(column(name) for name in ("atom", *argument_columns(info)))).from_(table(info.atoms))


def open_source(bound: BoundShape, literal: ShapeLiteral, alias: str) -> tuple[SlotSource, bool]:
    """Return the relation of an open literal, with `atom` (0: decided), and whether groundings may be absent from it (outer join)."""
    info = bound.info(literal)
    outer = literal.positive and not bound.covers(literal)
    relation: exp.Expression
    if info.has_given:
        # A negative literal is false where its atom is given true; a positive one where it is given false or outside the scope. Where not every
        # grounding is a row, an outer join keeps unmatched rows and drops those with atom 0, which are given true.
        truth = (not literal.positive) or outer
        relation = subquery(union_all([atom_rows(info), given_rows(info, truth, atom=True)]), alias)
    else:
        assert info.atoms is not None
        relation = table(info.atoms, alias)
    return SlotSource(relation, alias, bound.columns(literal)), outer


def atom_source(bound: BoundShape, literal: ShapeLiteral, alias: str) -> tuple[SlotSource, bool]:
    """Return the query atoms of an open literal alone; as `open_source`."""
    atoms = bound.info(literal).atoms
    assert atoms is not None
    return SlotSource(table(atoms, alias), alias, bound.columns(literal)), False


def fact_source(bound: BoundShape, literal: ShapeLiteral, alias: str) -> SlotSource:
    """Return the facts of a closed literal: one row for each tuple that is true."""
    return SlotSource(table(bound.info(literal).facts, alias), alias, bound.columns(literal))


def domain_source(bound: BoundShape, slot: Slot, owner: Slot | None, alias: str) -> SlotSource:
    """Return the domain of a slot: (example, id) of a local type for its owner, else the ids of its type."""
    layout = bound.layout
    if slot == bound.hidden:
        return SlotSource(table(layout.examples, alias), alias, (("example", slot),))
    kind = bound.kind(slot)
    assert kind is not None
    info = layout.types[kind]
    if owner is not None:
        assert info.domain is not None
        return SlotSource(table(info.domain, alias), alias, (("example", owner), ("id", slot)))
    return SlotSource(table(info.dictionary, alias), alias, (("id", slot),))


def filter_source(examples: TableName, slot: Slot, alias: str) -> SlotSource:
    """Return the examples to which a query is restricted."""
    return SlotSource(table(examples, alias), alias, (("example", slot),))


def some_example(bound: BoundShape, examples: TableName) -> exp.Exists:
    """Return the condition that a query is about some example at all, where all data are one and no slot says which."""
    chosen, known = table(examples, "x"), table(bound.layout.examples, "y")
    same = exp.EQ(this=column("example", "y"), expression=column("example", "x"))
    return exp.Exists(this=exp.select(integer(1)).from_(chosen).join(known, on=same))


def absent(source: SlotSource, known: dict[Slot, exp.Column]) -> exp.Not:
    """Return `NOT EXISTS` of a row of a source that agrees with what is known."""
    inside = dict(known)
    where = conjunction(connect(source, inside))
    query = exp.select(integer(1)).from_(source.relation)
    return exp.Not(this=exp.Exists(this=query if where is None else query.where(where)))


def connect(source: SlotSource, known: dict[Slot, exp.Column]) -> list[exp.Expression]:
    """Return the equalities that join a source to what is known; the first use of a slot fixes its column."""
    conditions: list[exp.Expression] = []
    for name, slot in source.columns:
        here = column(name, source.alias)
        if slot in known:
            conditions.append(exp.EQ(this=here, expression=known[slot].copy()))
        else:
            known[slot] = here
    return conditions


# ---- the parameter table of a shape, with a row of constants for each of its clauses -----------------


def parameter_source(parameters: TableName, shape: Shape, alias: str = "p", *, apart: bool = False) -> SlotSource:
    """The parameter table; with `apart` each of its rows once."""
    columns = tuple((f"k{i}", Slot(True, i)) for i in range(len(shape.parameters)))
    if not apart:
        return SlotSource(table(parameters, alias), alias, columns)
    rows = exp.select(*map(column, parameter_keys(shape, apart=True))).distinct().from_(table(parameters))
    return SlotSource(subquery(rows, alias), alias, columns)


def equal_rows(parameters: TableName, shape: Shape) -> exp.Select:
    """Plan how often each row stands in a parameter table, as `n` beside its columns."""
    keys = [column(name) for name in parameter_keys(shape, apart=True)]
    return exp.select(*keys, named(star_count(), "n")).from_(table(parameters)).group_by(*(key.copy() for key in keys))


def parameter_keys(shape: Shape, *, apart: bool) -> tuple[str, ...]:
    """The columns of a parameter table that tell its clauses apart, or its rows."""
    constants = tuple(f"k{i}" for i in range(len(shape.parameters)))
    return ("clause", *constants) if apart else ("clause",)


# ---- worlds: which tuples of a predicate are true in one, and which differ between two ---------------


@dataclass(frozen=True)
class World:
    """A truth value for every query atom."""

    # A table with a column `atom`: the query atoms that are true, each once; None is the observed world (the labels).
    atoms: TableName | None = None
    # All query atoms are true, and there is no table.
    all_true: bool = False


OBSERVED = World()

POSSIBLE = World(all_true=True)
"""All query atoms are true: the tuples that are true here are those that are true in some world."""


def true_rows(info: PredicateInfo, world: World) -> exp.Query:
    """Select the tuples of a predicate that are true in a world: one row for each."""
    columns = argument_columns(info)
    if not info.open:
        return exp.select(*selected(columns)).from_(table(info.facts))
    queries: list[exp.Query] = [_true_atoms(info, world, columns)]
    if info.has_given:
        queries.append(given_rows(info, truth=True))
    return union_all(queries)


def false_rows(info: PredicateInfo) -> exp.Query:
    """Select the tuples of an open predicate whose label or evidence says that they are false: one row for each."""
    assert info.atoms is not None
    columns = argument_columns(info)
    labels = exp.select(*selected(columns, "a")).from_(table(info.atoms, "a")).where(exp.Not(this=column("truth", "a")))
    return union_all([labels, given_rows(info, truth=False)]) if info.has_given else labels


def _true_atoms(info: PredicateInfo, world: World, columns: tuple[str, ...]) -> exp.Select:
    assert info.atoms is not None
    query = exp.select(*selected(columns, "a")).from_(table(info.atoms, "a"))
    if world.all_true:
        return query
    if world.atoms is None:
        return query.where(column("truth", "a"))
    return query.join(table(world.atoms, "w"), on=exp.EQ(this=column("atom", "w"), expression=column("atom", "a")))


def changed_rows(info: PredicateInfo, first: World, second: World) -> exp.Query:
    """Select the tuples whose truth differs: `change` is 1 where only the first world has it, -1 where only the second."""
    assert info.atoms is not None
    columns = argument_columns(info)

    def atoms_of(world: World) -> exp.Select:
        """Select the query atoms that are true in a world."""
        if world.atoms is None:
            assert info.atoms is not None
            every = exp.select(column("atom")).from_(table(info.atoms))
            return every if world.all_true else every.where(column("truth"))
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


# ---- what is true in some examples -------------------------------------------------------------------


def example_columns(info: PredicateInfo, layout: Layout) -> tuple[str, ...]:
    """Return the columns that hold the examples of a predicate's facts; none for a global predicate."""
    if info.example_column:
        return ("example",)
    return tuple(f"a{i}" for i, kind in enumerate(info.types) if kind == layout.example_type)


def true_atoms(info: PredicateInfo, layout: Layout, examples: TableName) -> exp.Select:
    """Plan the true atoms of a predicate in `examples` (each once) of the observed world: `example` (-1: global), `a0, a1, ...`, in order."""
    return _in_examples(info, layout, true_rows(info, OBSERVED), examples, [])


def given_atoms(info: PredicateInfo, layout: Layout, examples: TableName) -> exp.Select:
    """Plan what is given true of an open predicate in some examples; columns as of `true_atoms`."""
    return _in_examples(info, layout, given_rows(info, truth=True), examples, [])


def closed_atoms(info: PredicateInfo) -> exp.Select:
    """Plan all facts of a closed predicate: its example, if it has a column for it, and arguments; one row for each."""
    return exp.select(*selected(argument_columns(info))).from_(table(info.facts))


def query_atoms(info: PredicateInfo, layout: Layout, examples: TableName) -> exp.Select:
    """Plan the query atoms of an open predicate in some examples: `example`, `a0, a1, ...` and `atom`, its id."""
    assert info.atoms is not None
    names = [*argument_columns(info), "atom"]
    rows = exp.select(*(column(name) for name in names)).from_(table(info.atoms))
    return _in_examples(info, layout, rows, examples, ["atom"])


def atom_arguments(info: PredicateInfo, examples: TableName | None = None) -> exp.Select:
    """Plan the query atoms of a predicate by id: `atom`, `example`, `a0, a1, ...`."""
    assert info.atoms is not None
    names = ["atom", "example", *(f"a{i}" for i in range(len(info.types)))]
    query = exp.select(*(column(name, "a") for name in names)).from_(table(info.atoms, "a"))
    if examples is not None:
        same = exp.EQ(this=column("example", "x"), expression=column("example", "a"))
        query = query.join(table(examples, "x"), on=same)
    return query.order_by(exp.Ordered(this=column("atom", "a"), nulls_first=False))


def _in_examples(
    info: PredicateInfo, layout: Layout, rows: exp.Query, examples: TableName, further: list[str]
) -> exp.Select:
    """Select the rows that are about some examples, once for each of these, in order."""
    plain = [*(f"a{i}" for i in range(len(info.types))), *further]
    parts: list[exp.Query] = []
    for name in example_columns(info, layout) or (None,):
        example = integer(NO_EXAMPLE) if name is None else column(name, "r")
        part = exp.select(named(example, "example"), *(column(c, "r") for c in plain)).from_(subquery(rows.copy(), "r"))
        if name is not None:
            on = exp.EQ(this=column("example", "x"), expression=column(name, "r"))
            part = part.join(table(examples, "x"), on=on)
        parts.append(part)
    union = reduce(lambda a, b: exp.Union(this=a, expression=b, distinct=True), parts)
    names = [column(c, "u") for c in ("example", *plain)]
    order = [exp.Ordered(this=c.copy(), nulls_first=False) for c in names]
    return exp.select(*names).from_(subquery(union, "u")).order_by(*order)


def domain_rows(info: TypeInfo, examples: TableName) -> exp.Select:
    """Plan the domains of a local type in some examples: `example`, `id`, in order."""
    assert info.domain is not None
    names = [column(name, "d") for name in ("example", "id")]
    query = exp.select(*names).from_(table(info.domain, "d"))
    query = query.join(table(examples, "x"), on=exp.EQ(this=column("example", "x"), expression=column("example", "d")))
    return query.order_by(*(exp.Ordered(this=name.copy(), nulls_first=False) for name in names))
