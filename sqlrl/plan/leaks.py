"""Leaks between the sides of folds: reversed atoms, entities on both sides, facts that name what is tested.

Queries read the tables in which an audit keeps its atoms, `audit_atom` and `audit_seen`, and views of facts with names, so that whoever
gets one as text can read and run it. One that shows a finding has a row for each case that it counts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import (
    aliased_table,
    cast,
    column,
    conjunction,
    element,
    integer,
    join,
    named,
    star_count,
    subquery,
    table,
    union_all,
)


@dataclass(frozen=True, slots=True)
class AuditedTarget:
    """A target under audit."""

    # Where the tables of the audit and the views of facts are.
    schema: str
    # The run under which the tables keep it.
    run: int
    name: str
    # Of its arguments.
    types: tuple[str, ...]
    # The argument that holds the example.
    example_place: int | None = None
    # Types whose constants stand in so many examples that they are places in them, such as positions, and no entities.
    common: frozenset[str] = frozenset()
    # Types of which each constant stands in one example alone: elsewhere the same thing has another name.
    private: frozenset[str] = frozenset()
    # The arguments that are values of the others: of each of these one is true at most.
    block: tuple[int, ...] = ()

    @property
    def entities(self) -> tuple[int, ...]:
        """The arguments that hold entities, which may be the same in several atoms and examples."""
        return tuple(
            i
            for i, kind in enumerate(self.types)
            if i not in self.block and i != self.example_place and kind not in self.common
        )

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs of arguments whose constants can be exchanged across examples."""
        places = self.entities
        return tuple((i, j) for i in places for j in places if i < j and self.types[i] == self.types[j])


@dataclass(frozen=True, slots=True)
class FactView:
    """A view of the facts of a closed predicate, with names."""

    predicate: str
    view: str
    columns: tuple[str, ...]  # One for each argument, as in `types`.
    types: tuple[str, ...]
    example: str | None = None  # The column beside the arguments that holds the example.
    example_place: int | None = None  # The argument that holds the example.
    value: str | None = None  # The column of soft truths.

    @property
    def example_column(self) -> str | None:
        """The column that holds the example, whichever it is."""
        return self.example if self.example_place is None else self.columns[self.example_place]

    @property
    def of_all(self) -> bool:
        """Whether the facts belong to no example."""
        return self.example is None and self.example_place is None

    def rows(self, schema: str, alias: str) -> exp.Select:
        """Return a query of its true facts, without columns yet."""
        query = exp.select().from_(relation(schema, self.view, alias))
        return query if self.value is None else query.where(column(self.value, alias) >= exp.Literal.number("0.5"))


def relation(schema: str, name: str, alias: str) -> exp.Table:
    """Return a table or view of sqlrl's schema as users write it."""
    return aliased_table(exp.table_(name, db=schema, quoted=True), alias)


def narrowed(query: exp.Select, *conditions: exp.Expression) -> exp.Select:
    """Add conditions to a query, which is changed; `Select.where` would put what it has in parentheses."""
    before = query.args.get("where")
    condition = conjunction([*([] if before is None else [before.this]), *conditions])
    query.set("where", exp.Where(this=condition))
    return query


# ---- atoms ---------------------------------------------------------------------------------------------


def atoms(target: AuditedTarget, alias: str, *, labelled: bool = False) -> exp.Select:
    """Return a query of the atoms under audit, without columns yet."""
    query = narrowed(exp.select().from_(relation(target.schema, "audit_atom", alias)), _of_run(target, alias))
    return narrowed(query, _labelled(alias)) if labelled else query


def argument(alias: str, place: int) -> exp.Expression:
    """Return an argument of an atom; places count from 0."""
    return element(column("arguments", alias), integer(place + 1))


def count_sides(target: AuditedTarget) -> exp.Select:
    """Count labelled atoms by their parts, whether a fold tests these, and the labels: `test`, `truth`, `n`."""
    tested = exp.Not(this=exp.Is(this=column("test", "t"), expression=exp.null()))
    query = atoms(target, "a", labelled=True)
    parts = subquery(_tested_parts(target).distinct(), "t")
    query = join(query, parts, column("test", "t").eq(column("part", "a")), "LEFT")
    query = query.select(named(tested, "test"), column("truth", "a"), named(star_count(), "n"))
    return query.group_by(column("test", "t"), column("truth", "a"))


def labelled_atoms(target: AuditedTarget) -> exp.Select:
    """Read the labels with what the baselines of identity need: `part`, `truth`, the constants `k0`, ...; one row for each labelled atom."""
    constants = [named(argument("a", place), f"k{place}") for place in target.entities]
    query = atoms(target, "a", labelled=True).select(column("part", "a"), column("truth", "a"), *constants)
    return query.order_by(column("example", "a"), column("arguments", "a"))


def examples_of_constants(kind: str, domain: TableName) -> exp.Select:
    """Count the constants of a local type, and the examples in which each stands: `type`, `constants`, `places`; one row."""
    constants = exp.Count(this=exp.Distinct(expressions=[column("id", "d")]))
    query = exp.select(named(exp.convert(kind), "type"), named(constants, "constants"), named(star_count(), "places"))
    return query.from_(table(domain, "d"))


def values_of(target: AuditedTarget, place: int) -> exp.Select:
    """Count the constants of an argument, true atoms, and the different rests of atoms and of true ones: `constants`, `true_atoms`, `rests`, `true_rests`."""
    rest = exp.Array(expressions=[argument("a", i) for i in range(len(target.types)) if i != place])
    rows = atoms(target, "a", labelled=True).select(
        named(argument("a", place), "constant"),
        named(exp.Array(expressions=[column("example", "a"), *rest.expressions]), "rest"),
        column("truth", "a"),
    )
    true = exp.Case().when(column("truth", "v"), column("rest", "v"))

    def different(node: exp.Expression) -> exp.Expression:
        return exp.Count(this=exp.Distinct(expressions=[node]))

    return exp.select(
        named(different(column("constant", "v")), "constants"),
        named(exp.Count(this=true), "true_atoms"),
        named(different(column("rest", "v")), "rests"),
        named(different(true.copy()), "true_rests"),
    ).from_(subquery(rows, "v"))


def counted_rows(query: exp.Query) -> exp.Select:
    """Count the rows of a query."""
    return exp.select(named(star_count(), "n")).from_(subquery(query, "shown"))


# ---- reversed atoms ------------------------------------------------------------------------------------


def reverse_labels(target: AuditedTarget, pair: tuple[int, int], *, across: bool) -> exp.Select:
    """Count (`n`) pairs of labelled atoms by `truth` and `reverse`; with `across` a fold tests the atom and trains on its reverse."""
    query = _reverses(target, pair, across=across)
    return query.select(
        column("truth", "a"), named(column("truth", "b"), "reverse"), named(star_count(), "n")
    ).group_by(column("truth", "a"), column("truth", "b"))


def reversed_atoms(target: AuditedTarget, pair: tuple[int, int], *, equal: bool, across: bool) -> exp.Select:
    """Show labelled atoms whose reverse has an equal or an opposite label: tested ones whose reverse is trained on, or with `across` false all true ones."""
    truth, reverse = column("truth", "a"), column("truth", "b")
    query = _reverses(target, pair, across=across)
    if across:
        narrowed(query, truth.eq(reverse) if equal else truth.neq(reverse))
    else:
        narrowed(query, truth, reverse if equal else exp.Not(this=reverse))
    return _shown(query)


def _reverses(target: AuditedTarget, pair: tuple[int, int], *, across: bool) -> exp.Select:
    """Join atoms `a` with their reverses `b`; an atom that is its own reverse has none."""
    first, second = pair
    swapped = {first: second, second: first}
    same = [column("run", "b").eq(column("run", "a"))]
    same += [argument("b", i).eq(argument("a", swapped.get(i, i))) for i in range(len(target.types))]
    query = join(atoms(target, "a"), relation(target.schema, "audit_atom", "b"), conjunction(same), "INNER")
    narrowed(query, argument("a", first).neq(argument("a", second)))
    return _seen(target, query, "a", "b") if across else query


# ---- entities ------------------------------------------------------------------------------------------


def shared_entities(target: AuditedTarget, places: Sequence[int]) -> exp.Select:
    """Show the constants at some arguments of atoms that a fold tests and of atoms that it trains on: one row each, with labelled and true atoms."""
    mentions = _mentions(target, places)
    query = exp.select(
        column("entity", "m"),
        named(cast(exp.Sum(this=column("atoms", "m")), "BIGINT"), "atoms"),
        named(cast(exp.Sum(this=column("true_atoms", "m")), "BIGINT"), "true_atoms"),
    )
    query = query.from_(exp.table_("mention", quoted=True).as_("m", quoted=True))
    both = _of_both_sides(target)
    query = query.where(exp.In(this=column("entity", "m"), query=exp.Subquery(this=both)))
    query = query.group_by(column("entity", "m")).order_by(column("entity", "m"))
    return query.with_("mention", as_=mentions, materialized=True)


def entities_of_tests(target: AuditedTarget, places: Sequence[int]) -> exp.Select:
    """Count the constants at some arguments of atoms that a fold tests: `n`."""
    tested = exp.In(this=column("part", "a"), query=exp.Subquery(this=_tested_parts(target)))
    each = [
        narrowed(atoms(target, "a"), tested.copy()).select(named(argument("a", place), "entity")) for place in places
    ]
    distinct = exp.Count(this=exp.Distinct(expressions=[column("entity", "e")]))
    return exp.select(named(distinct, "n")).from_(subquery(union_all(each), "e"))


def _mentions(target: AuditedTarget, places: Sequence[int]) -> exp.Select:
    """Count atoms and true ones by a constant and their part: `entity`, `part`, `atoms`, `true_atoms`."""
    each = [
        atoms(target, "a", labelled=True).select(
            named(argument("a", i), "entity"), column("part", "a"), column("truth", "a")
        )
        for i in places
    ]
    true = exp.Sum(this=exp.Case().when(column("truth", "e"), integer(1)).else_(integer(0)))
    query = exp.select(
        column("entity", "e"), column("part", "e"), named(star_count(), "atoms"), named(true, "true_atoms")
    )
    return query.from_(subquery(union_all(each), "e")).group_by(column("entity", "e"), column("part", "e"))


def _of_both_sides(target: AuditedTarget) -> exp.Select:
    """Return the constants of mentions that are tested in a fold which trains on others of theirs."""
    query = exp.select(column("entity", "t")).from_(exp.table_("mention", quoted=True).as_("t", quoted=True))
    other = exp.table_("mention", quoted=True).as_("r", quoted=True)
    query = join(query, other, column("entity", "r").eq(column("entity", "t")), "INNER")
    return _seen(target, query, "t", "r")


# ---- facts that name what is tested --------------------------------------------------------------------


def naming_facts(target: AuditedTarget, facts: FactView, place: int) -> exp.Select:
    """Show the facts of examples that a fold trains on which name, in another argument, an example that it tests."""
    own = facts.example_column
    assert own is not None, "facts of all examples name none of their own"
    query = facts.rows(target.schema, "p")
    for alias, name in (("t", facts.columns[place]), ("r", own)):
        on = conjunction([_of_run(target, alias), column("example", alias).eq(column(name, "p"))])
        query = join(query, relation(target.schema, "audit_atom", alias), on, "INNER")
    query = _seen(target, query, "t", "r")
    shown = [column(name, "p") for name in facts.columns]
    return query.select(*shown).distinct().order_by(*(node.copy() for node in shown))


def facts_of_all(target: AuditedTarget, facts: FactView, places: Sequence[tuple[int, int]]) -> exp.Select:
    """Show tested atoms all of whose entities a fact of all examples names, and no atom that the fold trains on."""
    # `places` are pairs of an argument of the target and one of the fact.
    keys = [(argument("a", i), column(facts.columns[j], "p")) for i, j in places]
    query = _shown(
        join(
            atoms(target, "a"),
            relation(target.schema, facts.view, "p"),
            conjunction([b.eq(a) for a, b in keys]),
            "INNER",
        )
    )
    narrowed(query, exp.In(this=column("part", "a"), query=exp.Subquery(this=_tested_parts(target))))
    if facts.value is not None:
        narrowed(query, column(facts.value, "p") >= exp.Literal.number("0.5"))
    for i, _ in places:
        alias = f"n{i}"
        same = [column("part", alias).eq(column("part", "a")), column("entity", alias).eq(argument("a", i))]
        same.append(column("type", alias).eq(exp.convert(target.types[i])))
        query = join(query, exp.table_("known", quoted=True).as_(alias, quoted=True), conjunction(same), "LEFT")
        narrowed(query, exp.Is(this=column("entity", alias), expression=exp.null()))
    return query.with_("known", as_=_known_entities(target), materialized=True)


def _known_entities(target: AuditedTarget) -> exp.Select:
    """Return the entities of atoms that are trained on where a part is tested: `part`, `type`, `entity`."""
    each = []
    for i in target.entities:
        query = _seen(target, atoms(target, "b"), None, "b")
        kind = named(exp.convert(target.types[i]), "type")
        each.append(query.select(named(column("test", "s"), "part"), kind, named(argument("b", i), "entity")))
    shown = [column(name, "k") for name in ("part", "type", "entity")]
    return exp.select(*shown).from_(subquery(union_all(each), "k")).distinct()


# ---- shared --------------------------------------------------------------------------------------------


def _of_run(target: AuditedTarget, alias: str) -> exp.Expression:
    return column("run", alias).eq(integer(target.run))


def _labelled(alias: str) -> exp.Expression:
    return exp.Not(this=exp.Is(this=column("truth", alias), expression=exp.null()))


def _tested_parts(target: AuditedTarget) -> exp.Select:
    """Return the parts that a fold tests."""
    return exp.select(column("test", "s")).from_(relation(target.schema, "audit_seen", "s")).where(_of_run(target, "s"))


def _seen(target: AuditedTarget, query: exp.Select, test: str | None, training: str | None) -> exp.Select:
    """Keep the rows in which a fold tests the part of one alias and trains on that of another."""
    on = [_of_run(target, "s")]
    on += [column("test", "s").eq(column("part", test))] if test is not None else []
    on += [column("training", "s").eq(column("part", training))] if training is not None else []
    return join(query, relation(target.schema, "audit_seen", "s"), conjunction(on), "INNER")


def _shown(query: exp.Select) -> exp.Select:
    """Show the atoms `a` of a query, each once."""
    shown = [column(name, "a") for name in ("example", "arguments", "truth")]
    return query.select(*shown).distinct().order_by(column("example", "a"), column("arguments", "a"))


def parts_of_examples(target: AuditedTarget) -> exp.Select:
    """Return the part of each example: `unit`, `part`."""
    return atoms(target, "a").select(named(column("example", "a"), "unit"), column("part", "a")).distinct()


def parts_of_entities(target: AuditedTarget, places: Collection[int]) -> exp.Select:
    """Return the parts of the atoms of each constant at some arguments: `unit`, `part`."""
    each = [atoms(target, "a").select(named(argument("a", i), "unit"), column("part", "a")) for i in sorted(places)]
    return exp.select(column("unit", "u"), column("part", "u")).from_(subquery(union_all(each), "u")).distinct()
