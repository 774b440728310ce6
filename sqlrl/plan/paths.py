"""Relational paths: which sequences of relations connect the two constants of target atoms, and how many atoms each of them connects.

The facts are one graph: a row of the *edges* is a relation (a predicate, read from one of its arguments to another) with the entities that it
connects. Names of predicates are values there, so that no query grows with their number. Walks are never enumerated. From the first
entities of all pairs, and backwards from the last ones, a *frontier* says which sequences of relations reach which entities, each once;
two frontiers that meet at an entity are the paths of a pair.

Whether a walk that meets another one visits no entity twice depends on the entities that both have passed. A frontier of two steps has
passed one entity, which must differ from a few others: as many witnesses as these are, and one more, tell whether there is
a walk that does, since what is beyond them can be no worse. Two steps that meet one step have one entity to avoid, and the smallest and the
largest of what they passed suffice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product
from typing import Self

from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.engine.nodes import (
    cast,
    column,
    conjunction,
    cte,
    integer,
    join,
    named,
    star_count,
    subquery,
    table,
    union_all,
)

LARGEST_CODE = 2**63 - 1
"""The largest number of a sequence of relations."""

MIDDLE = 0.5
"""Truth values are rounded: from here on a fact is one of the graph, and a label is positive."""


# ---- relations and entities ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PathRelation:
    """A predicate as an edge of a graph: from the constant at one place to that at another; `end` is None if it has no other one."""

    predicate: str
    start: int
    end: int | None

    @property
    def inverse(self) -> PathRelation:
        """The relation read the other way."""
        assert self.end is not None, "a fact of one argument has no other way"
        return PathRelation(self.predicate, self.end, self.start)

    def __str__(self) -> str:
        if self.end is None or (self.start, self.end) == (0, 1):
            return self.predicate
        if (self.start, self.end) == (1, 0):
            return f"{self.predicate}^-1"
        return f"{self.predicate}[{self.start}, {self.end}]"


def relations(layout: Layout, names: Iterable[str]) -> tuple[PathRelation, ...]:
    """Return the relations of predicates: each beside its inverse (their numbers differ in the last bit), then facts of one argument."""
    infos = [layout.predicates[name] for name in sorted(names)]
    both = [PathRelation(x.name, i, j) for x in infos for i, j in combinations(range(len(x.types)), 2)]
    found = [direction for each in both for direction in (each, each.inverse)]
    return (*found, *(PathRelation(x.name, 0, None) for x in infos if len(x.types) == 1))


@dataclass(frozen=True)
class Numbering:
    """The numbers of entities: constants of all types one after the other, in each example apart if facts have examples (`divided`)."""

    offsets: Mapping[str, int]
    total: int
    divided: bool

    @classmethod
    def of(cls, layout: Layout, names: Iterable[str]) -> Self:
        """Return the numbers of what occurs in the facts of predicates."""
        infos = [layout.predicates[name] for name in names]
        offsets, total = dict[str, int](), 0
        for kind in sorted({kind for info in infos for kind in info.types}):
            offsets[kind] = total
            total += layout.types[kind].size
        return cls(offsets, total, any(info.example_column for info in infos))

    def entity(self, kind: str, constant: exp.Expression, example: exp.Expression) -> exp.Expression:
        """Return the number of a constant of a type in an example."""
        number = exp.Add(this=cast(constant, "BIGINT"), expression=integer(self.offsets[kind]))
        if not self.divided:
            return number
        before = exp.Mul(this=cast(example, "BIGINT"), expression=integer(self.total))
        return exp.Add(this=before, expression=number)

    def constant(self, entity: int) -> tuple[str, int]:
        """Return which constant of which type an entity is."""
        kind = max((k for k in self.offsets if self.offsets[k] <= entity), key=lambda k: (self.offsets[k], k))
        return kind, entity - self.offsets[kind]


def _rounded(truth: exp.Expression) -> exp.Expression:
    return exp.GTE(this=cast(truth, "DOUBLE"), expression=exp.Literal.number(MIDDLE))


def _observed(info: PredicateInfo, layout: Layout, numbers: Numbering) -> tuple[exp.Select, exp.Column]:
    """Return a query of the facts of a predicate that is still without columns, under `t`, and the column of their example."""
    query = exp.select().from_(table(info.facts, "t"))
    if info.open:
        query = query.where(exp.And(this=column("given", "t"), expression=_rounded(column("truth", "t"))), copy=False)
    elif info.valued:
        query = query.where(_rounded(column("value", "t")), copy=False)
    return _in_examples(query, info, layout, numbers)


def _in_examples(
    query: exp.Select, info: PredicateInfo, layout: Layout, numbers: Numbering
) -> tuple[exp.Select, exp.Column]:
    """Let rows of a predicate stand in the examples that they belong to: all of them, if it is global, whose domains have its constants."""
    if not numbers.divided or info.example_column:
        return query, column("example", "t")
    query = join(query, table(layout.examples, "x"), None, "CROSS")
    for i, kind in enumerate(info.types):
        domain = layout.types[kind].domain if layout.types[kind].local else None
        if domain is not None:
            same = conjunction(
                [column("example", f"d{i}").eq(column("example", "x")), column("id", f"d{i}").eq(column(f"a{i}", "t"))]
            )
            query = join(query, table(domain, f"d{i}"), same, "INNER")
    return query, column("example", "x")


def fact_edges(layout: Layout, numbers: Numbering, steps: Sequence[PathRelation]) -> exp.Query:
    """Select the edges of the relations with even numbers: rows `start`, `relation`, `stop`, each once."""
    parts = []
    for number, relation in enumerate(steps):
        if relation.end is None or number % 2:
            continue
        info = layout.predicates[relation.predicate]
        query, example = _observed(info, layout, numbers)
        ends = [
            named(numbers.entity(info.types[i], column(f"a{i}", "t"), example.copy()), name)
            for i, name in ((relation.start, "start"), (relation.end, "stop"))
        ]
        outputs = [ends[0], named(cast(integer(number), "BIGINT"), "relation"), ends[1]]
        query = query.select(*outputs, copy=False)
        # Facts of more arguments may differ in the others alone.
        parts.append(query.distinct() if len(info.types) > 2 else query)
    return union_all(parts) if parts else _no_rows("start", "relation", "stop")


def edges_both_ways(facts: TableName) -> exp.Query:
    """Select all edges: those of facts, and their inverses."""
    other = exp.Add(this=column("relation"), expression=integer(1))
    inverse = [named(column("stop"), "start"), named(other, "relation"), named(column("start"), "stop")]
    return union_all(
        [
            exp.select(*map(column, ("start", "relation", "stop"))).from_(table(facts)),
            exp.select(*inverse).from_(table(facts)),
        ]
    )


def fact_marks(layout: Layout, numbers: Numbering, steps: Sequence[PathRelation]) -> exp.Query:
    """Select the entities with facts of one argument: rows `start`, `relation`, and -1 as `stop`, which is no entity."""
    parts = []
    for number, relation in enumerate(steps):
        if relation.end is None:
            info = layout.predicates[relation.predicate]
            query, example = _observed(info, layout, numbers)
            start = named(numbers.entity(info.types[0], column("a0", "t"), example), "start")
            outputs = [start, named(cast(integer(number), "BIGINT"), "relation"), named(_nothing(), "stop")]
            parts.append(query.select(*outputs, copy=False))
    return union_all(parts) if parts else _no_rows("start", "relation", "stop")


def _nothing() -> exp.Expression:
    return cast(integer(-1), "BIGINT")


def _no_rows(*names: str) -> exp.Select:
    return exp.select(*(named(_nothing(), name) for name in names)).where(exp.false())


def _among(node: exp.Expression, name: str, tables: Sequence[TableName]) -> exp.In:
    """Return the condition that a value is in a column of some of the tables."""
    return exp.In(
        this=node, query=exp.Subquery(this=union_all([exp.select(column(name)).from_(table(x)) for x in tables]))
    )


# ---- target atoms ----------------------------------------------------------------------------------------


def labelled_atoms(info: PredicateInfo, examples: TableName | None = None) -> exp.Select:
    """Select the query atoms that have a label: rows `target`, `positive`, `a0`, `a1`, and `example` if they have one."""
    assert info.atoms is not None, "query atoms are those of an open predicate"
    outputs = [named(column("atom", "t"), "target"), named(_rounded(column("truth", "t")), "positive")]
    outputs += [named(column(f"a{i}", "t"), f"a{i}") for i in range(len(info.types))]
    outputs += [named(column("example", "t"), "example")] if info.example_column else []
    query = exp.select(*outputs).from_(table(info.atoms, "t"))
    query = query.where(exp.Not(this=exp.Is(this=column("truth", "t"), expression=exp.null())), copy=False)
    if examples is not None:
        query = query.where(_among(column("example", "t"), "example", [examples]), copy=False)
    return query


def target_pairs(
    atoms: TableName, info: PredicateInfo, layout: Layout, numbers: Numbering, *, symmetric: bool
) -> exp.Query:
    """Select the ends of target atoms: rows `number` (of the atom, from 0), `positive`, `first`, `last`."""
    place = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[column("target")]))
    rows = exp.select(exp.Star(), named(exp.Sub(this=place, expression=integer(1)), "number")).from_(table(atoms))
    parts = []
    # An atom has several rows if it can be read both ways (`symmetric`), and one in each example if it belongs to all.
    for ends in ((0, 1), (1, 0)) if symmetric else ((0, 1),):
        query, example = _in_examples(exp.select().from_(subquery(rows.copy(), "t")), info, layout, numbers)
        outputs: list[exp.Expression] = [column("number", "t"), column("positive", "t")]
        for i, name in zip(ends, ("first", "last"), strict=True):
            outputs.append(named(numbers.entity(info.types[i], column(f"a{i}", "t"), example.copy()), name))
        parts.append(query.select(*outputs, copy=False))
    return union_all(parts)


def target_counts(pairs: TableName) -> exp.Select:
    """Select how many targets are positive, and how many negative: a row `positive`, `n` for each that there are."""
    distinct = exp.select(column("number"), column("positive")).distinct().from_(table(pairs))
    query = exp.select(column("positive", "t"), named(star_count(), "n")).from_(subquery(distinct, "t"))
    return query.group_by(column("positive", "t"))


def target_ends(pairs: TableName, end: str) -> exp.Select:
    """Select the entities at one end of targets: rows `origin`, and how many `targets` have it."""
    number = exp.Count(this=exp.Distinct(expressions=[column("number")]))
    query = exp.select(named(column(end), "origin"), named(number, "targets")).from_(table(pairs))
    return query.group_by(column(end))


def own_facts(pairs: TableName, edges: TableName, target: int) -> exp.Select:
    """Count the targets that are facts of the graph themselves; `target` is the number of their relation."""
    same = conjunction(
        [
            column("relation", "e").eq(integer(target)),
            column("start", "e").eq(column("first", "t")),
            column("stop", "e").eq(column("last", "t")),
        ]
    )
    return join(exp.select(named(star_count(), "n")).from_(table(pairs, "t")), table(edges, "e"), same, "INNER")


# ---- frontiers -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PathSearch:
    """What all queries of a search have in common."""

    # This and the next two are the tables of `edges_both_ways`, `fact_marks` and `target_pairs`.
    edges: TableName
    marks: TableName
    pairs: TableName
    # Those of `target_ends`: of the first entities of pairs and of the last.
    starts: TableName
    stops: TableName
    # How many relations there are; a sequence of them is a number to this base, the first one its first digit.
    relations: int
    # Whether walks that visit an entity twice are left out.
    simple: bool
    # Sequences that cannot connect so many targets are left out.
    least: int
    # The relation of the targets, if some of them are facts of the graph, which their own walks do without.
    target_relation: int | None = None
    # Whether the fact the other way is as much the target's own.
    symmetric: bool = False


@dataclass(frozen=True)
class Frontier:
    """The entities that walks from one end of the targets reach: rows `origin`, `path`, `entity`, each once, and what they have passed."""

    # `path` is a sequence of relations in the direction of the targets, whatever that of the walk. Without steps it is the table of the ends.
    table: TableName
    steps: int
    forward: bool
    # For each entity between origin and end, in the direction of the walk, the columns that hold it: one, or several that hold some of those
    # that walks have passed there, each of them another one or NULL.
    passed: tuple[tuple[str, ...], ...] = ()

    def walks(self, alias: str) -> Iterator[tuple[exp.Expression, ...]]:
        """Yield for each choice of what was passed the entities of the walk, from the origin to the end."""
        end = ("entity",) if self.steps else ()
        for columns in product(*self.passed):
            yield tuple(column(name, alias) for name in ("origin", *columns, *end))


def passed_columns(steps: int, witnesses: int | None) -> tuple[tuple[str, ...], ...]:
    """Return what a frontier of some steps has passed, as `Frontier` has it; for `witnesses` see `next_frontier`."""
    if witnesses is None:
        return tuple((f"m{i}",) for i in range(1, steps))
    return (tuple(f"w{i}" for i in range(1, witnesses + 1)),) if witnesses and steps == 2 else ()


def next_frontier(
    search: PathSearch,
    old: Frontier,
    witnesses: int | None = None,
    reached: Sequence[TableName] = (),
    *,
    stopping: bool = False,
) -> exp.Select:
    """Select the frontier of one step more; `witnesses` is how many passed entities are kept, None for all, each in a row of its own."""
    keys = ["origin", "path", "entity"]
    if witnesses is None:
        names = [name for (name,) in passed_columns(old.steps + 1, None)]
        found = exp.select(*map(column, (*keys, *names))).distinct().from_(cte("walks"))
    else:
        # Of more than two steps no passed entities are kept.
        found = _with_witnesses(keys, witnesses if old.steps == 1 else 0)
    # With `reached` it ends at entities of these frontiers alone; a `stopping` last step may be a fact of one argument.
    steps = {"walks": _steps(search, old, reached, stopping=stopping)}
    if search.least > 1:
        steps["found"], found = found, _supported(search, old)
    for name, query in steps.items():
        # What was found is read twice.
        once = True if name == "found" else None
        found = found.with_(exp.to_identifier(name, quoted=True), as_=query, materialized=once, copy=False)
    return found


def _steps(search: PathSearch, old: Frontier, reached: Sequence[TableName], *, stopping: bool) -> exp.Select:
    """Select the walks of one step more: rows `origin`, `path`, `entity`, and `m1`, ... that they have passed."""
    near, far = ("start", "stop") if old.forward else ("stop", "start")
    here, there = column("entity" if old.steps else "origin", "f"), column(far, "e")
    edges: exp.Expr = table(search.edges, "e")
    if stopping:
        names = ("start", "relation", "stop")
        # A mark is about its start, from whichever end the walk comes.
        marks = [named(column(one), other) for one, other in zip((near, "relation", far), names, strict=True)]
        both = [
            exp.select(*map(column, names)).from_(table(search.edges)),
            exp.select(*marks).from_(table(search.marks)),
        ]
        edges = subquery(union_all(both), "e")
    query = join(exp.select().from_(table(old.table, "f")), edges, here.eq(column(near, "e")), "INNER")
    passed = [column(name, "f") for (name,) in old.passed]
    before = [column("origin", "f"), *passed, *([column("entity", "f")] if old.steps else [])]
    conditions: list[exp.Expression] = []
    if search.simple:
        conditions += [there.neq(entity) for entity in before]
    if reached:
        conditions.append(_among(there, "entity", reached))
    where = conjunction(conditions)
    query = query if where is None else query.where(where, copy=False)
    relation: exp.Expression = column("relation", "e")
    path: exp.Expression = relation
    if old.steps and old.forward:
        path = _appended(search, column("path", "f"), relation, 1)
    elif old.steps:
        path = _appended(search, relation, column("path", "f"), old.steps)
    outputs = [named(column("origin", "f"), "origin"), named(path, "path"), named(there.copy(), "entity")]
    outputs += [named(node.copy(), f"m{i}") for i, node in enumerate(before[1:], 1)]
    return query.select(*outputs, copy=False)


def _appended(search: PathSearch, path: exp.Expression, after: exp.Expression, steps: int) -> exp.Expression:
    """Return the number of a sequence of relations and another one, of so many steps, after it."""
    return exp.Add(this=exp.Mul(this=path, expression=integer(search.relations**steps)), expression=after)


def _with_witnesses(keys: Sequence[str], witnesses: int) -> exp.Select:
    """Select the distinct walks, each with some of the entities that they have passed."""
    if witnesses > 2:
        place = exp.Window(
            this=exp.RowNumber(),
            partition_by=[column(key) for key in keys],
            order=exp.Order(expressions=[column("m1")]),
        )
        ranked = exp.select(*map(column, (*keys, "m1")), named(place, "place")).from_(cte("walks"))
        values: list[exp.Expression] = [
            exp.Max(this=exp.Case().when(column("place", "r").eq(integer(i)), column("m1", "r"), copy=False))
            for i in range(1, witnesses + 1)
        ]
        query = exp.select().from_(subquery(ranked, "r"))
        query = query.where(exp.LTE(this=column("place", "r"), expression=integer(witnesses)), copy=False)
    else:
        # Of one witness, the smallest; where there is one alone, the largest is the same.
        query = exp.select().from_(cte("walks", "r"))
        values = [kind(this=column("m1", "r")) for kind in (exp.Min, exp.Max)[:witnesses]]
    outputs = [named(value, f"w{i}") for i, value in enumerate(values, 1)]
    grouped = [column(key, "r") for key in keys]
    return query.select(*grouped, *outputs, copy=False).group_by(*(node.copy() for node in grouped), copy=False)


def _supported(search: PathSearch, old: Frontier) -> exp.Select:
    """Select what was found, but for paths whose origins have fewer targets than a path must connect."""
    ends = search.starts if old.forward else search.stops
    having = exp.select(column("origin"), column("path")).distinct().from_(cte("found"))
    kept = exp.select(named(column("path", "a"), "path")).from_(subquery(having, "a"))
    kept = join(kept, table(ends, "b"), column("origin", "a").eq(column("origin", "b")), "INNER")
    total = exp.Sum(this=column("targets", "b"))
    kept = kept.group_by(column("path", "a")).having(exp.GTE(this=total, expression=integer(search.least)))
    return exp.select(exp.Star()).from_(cte("found")).where(exp.In(this=column("path"), query=exp.Subquery(this=kept)))


def count_walks(
    search: PathSearch, old: Frontier, reached: Sequence[TableName] = (), *, stopping: bool = False
) -> exp.Select:
    """Count what a step makes before anything is aggregated: one row `n`."""
    total = exp.Coalesce(this=cast(exp.Sum(this=column("n", "d")), "INT128"), expressions=[integer(0)])
    return _with_degrees(search, old, reached, stopping=stopping).select(named(total, "n"), copy=False)


def busiest_entity(
    search: PathSearch, old: Frontier, reached: Sequence[TableName] = (), *, stopping: bool = False
) -> exp.Select:
    """Select the entity through which most walks of a step go, and how many: one row `entity`, `n`."""
    entity, total = column("entity", "d"), cast(exp.Sum(this=column("n", "d")), "INT128")
    query = _with_degrees(search, old, reached, stopping=stopping)
    query = query.select(named(entity, "entity"), named(total, "n"), copy=False)
    first = [exp.Ordered(this=column("n"), desc=True), exp.Ordered(this=column("entity"))]
    return query.group_by(entity.copy(), copy=False).order_by(*first, copy=False).limit(1, copy=False)


def _with_degrees(search: PathSearch, old: Frontier, reached: Sequence[TableName], *, stopping: bool) -> exp.Select:
    """Return a query, still without columns, of a frontier with how many steps `n` go on from each of its entities (`d`)."""
    near, far = ("start", "stop") if old.forward else ("stop", "start")
    edges = exp.select(named(column(near), "entity")).from_(table(search.edges))
    if reached:
        edges = edges.where(_among(column(far), "entity", reached), copy=False)
    marks = [exp.select(named(column("start"), "entity")).from_(table(search.marks))] if stopping else []
    degree = exp.select(column("entity", "e"), named(star_count(), "n")).from_(
        subquery(union_all([edges, *marks]), "e")
    )
    degree = degree.group_by(column("entity", "e"))
    here = column("entity" if old.steps else "origin", "f")
    query = exp.select().from_(table(old.table, "f"))
    return join(query, subquery(degree, "d"), here.eq(column("entity", "d")), "INNER")


# ---- paths -----------------------------------------------------------------------------------------------


def _meeting(search: PathSearch, one: Frontier, other: Frontier | None) -> exp.Select:
    """Return a query, still without columns, of targets `t` with the walks that connect them, `f` from the first entity and `b` from the last."""
    same = [column("origin", "f").eq(column("first", "t"))]
    if other is None:
        same.append(column("entity", "f").eq(column("last", "t")))
    query = exp.select().from_(table(search.pairs, "t"))
    query = join(query, table(one.table, "f"), conjunction(same), "INNER")
    if other is None:
        return query
    back = [column("origin", "b").eq(column("last", "t")), column("entity", "b").eq(column("entity", "f"))]
    return join(query, table(other.table, "b"), conjunction(back), "INNER")


def path_supports(
    search: PathSearch, one: Frontier, other: Frontier | None, numbers: tuple[int, int] | None = None
) -> exp.Select:
    """Select how many targets, of the range `numbers` or all, each path connects: rows `path`, `positive`, `negative`."""
    # A walk of `one` from the first entity meets one of `other` from the last; without the other, the first walk ends there.
    query = _meeting(search, one, other)
    path: exp.Expression = column("path", "f")
    if other is not None:
        path = _appended(search, path, column("path", "b"), other.steps)
    return _counted(query, {"path": path}, _allowed(search, one, other), numbers)


def path_walks(search: PathSearch, one: Frontier, other: Frontier | None) -> exp.Select:
    """Select how many walks of frontiers meet, for each target: rows `number`, `n`."""
    sides = [(one, "f")] if other is None else [(one, "f"), (other, "b")]
    query = exp.select().from_(table(search.pairs, "t"))
    for side, alias in sides:
        counts = exp.select(column("origin"), column("entity"), named(star_count(), "n")).from_(table(side.table))
        counts = counts.group_by(column("origin"), column("entity"))
        on = [column("origin", alias).eq(column("first" if side.forward else "last", "t"))]
        if alias == "b":
            on.append(column("entity", "b").eq(column("entity", "f")))
        elif other is None:
            on.append(column("entity", "f").eq(column("last", "t")))
        query = join(query, subquery(counts, alias), conjunction(on), "INNER")
    return _sizes(query, [column("n", alias) for _, alias in sides])


def _sizes(query: exp.Select, factors: list[exp.Column]) -> exp.Select:
    n: exp.Expression = reduce(lambda a, b: exp.Mul(this=a, expression=b), map(_wide, factors))
    query = query.select(
        named(column("number", "t"), "number"), named(cast(exp.Sum(this=n), "INT128"), "n"), copy=False
    )
    return query.group_by(column("number", "t")).order_by(column("number", "t"))


def _wide(node: exp.Expression) -> exp.Expression:
    return cast(node, "INT128")


def stopped_supports(
    search: PathSearch, one: Frontier, constants: int, numbers: tuple[int, int] | None = None
) -> exp.Select:
    """Select how many targets have a walk from one end to a constant: rows `path`, `constant`, `positive`, `negative`."""
    here = "first" if one.forward else "last"
    query = exp.select().from_(table(search.pairs, "t"))
    query = join(query, table(one.table, "f"), column("origin", "f").eq(column(here, "t")), "INNER")
    # Entities of one constant in several examples become one: they are equal modulo the number of all `constants`.
    constant = exp.Mod(this=column("entity", "f"), expression=integer(constants))
    outputs = {
        "path": column("path", "f"),
        "constant": exp.Case()
        .when(exp.LT(this=column("entity", "f"), expression=integer(0)), column("entity", "f"), copy=False)
        .else_(constant, copy=False),
    }
    return _counted(query, outputs, _allowed(search, one, None, stopped=True), numbers)


def stopped_walks(search: PathSearch, one: Frontier) -> exp.Select:
    """Select how many walks end at constants, for each target: rows `number`, `n`."""
    counts = exp.select(column("origin"), named(star_count(), "n")).from_(table(one.table)).group_by(column("origin"))
    same = column("origin", "f").eq(column("first" if one.forward else "last", "t"))
    query = join(exp.select().from_(table(search.pairs, "t")), subquery(counts, "f"), same, "INNER")
    return _sizes(query, [column("n", "f")])


def _counted(
    query: exp.Select,
    outputs: Mapping[str, exp.Expression],
    allowed: exp.Expression | None,
    numbers: tuple[int, int] | None,
) -> exp.Select:
    """Count the distinct targets of each path, positive and negative apart."""
    found = [column("number", "t"), column("positive", "t"), *(named(node, name) for name, node in outputs.items())]
    query = query.select(*found, copy=False).distinct(copy=False)
    if allowed is not None:
        query = query.where(allowed, copy=False)
    if numbers is not None:
        low = exp.GTE(this=column("number", "t"), expression=integer(numbers[0]))
        query = query.where(low, exp.LT(this=column("number", "t"), expression=integer(numbers[1])), copy=False)
    keys = [column(name, "s") for name in outputs]
    truth = column("positive", "s")
    counts = [
        named(exp.CountIf(this=x), name) for name, x in (("positive", truth), ("negative", exp.Not(this=truth.copy())))
    ]
    return exp.select(*keys, *counts).from_(subquery(query, "s")).group_by(*(key.copy() for key in keys))


def summed_supports(supports: TableName, keys: Sequence[str], least: int) -> exp.Select:
    """Add up supports of parts of the targets: rows of `keys`, `positive`, `negative`, for the paths that connect enough targets, in order."""
    shown = [column(key, "s") for key in keys]
    sums: list[exp.Expression] = [cast(exp.Sum(this=column(name, "s")), "BIGINT") for name in ("positive", "negative")]
    query = exp.select(*shown, *(named(x, name) for x, name in zip(sums, ("positive", "negative"), strict=True)))
    query = query.from_(table(supports, "s")).group_by(*(key.copy() for key in shown))
    total = exp.Add(this=sums[0].copy(), expression=sums[1].copy())
    return query.having(exp.GTE(this=total, expression=integer(least))).order_by(*(key.copy() for key in shown))


# ---- which walks count -------------------------------------------------------------------------------------


def _allowed(
    search: PathSearch, one: Frontier, other: Frontier | None, *, stopped: bool = False
) -> exp.Expression | None:
    """Return the condition that a walk counts for a target: None if all do."""
    backs = [()] if other is None else [tuple(reversed(walk)) for walk in other.walks("b")]
    # What the frontiers themselves see to is not said again: that a walk from one end visits nothing twice.
    ways = [_conditions(search, one, walk, back, stopped) for walk in one.walks("f") for back in backs]
    if not all(ways):
        return None
    either = [conjunction(way) for way in ways]
    return _either([x for x in either if x is not None])


def _conditions(
    search: PathSearch,
    one: Frontier,
    walk: tuple[exp.Expression, ...],
    back: tuple[exp.Expression, ...],
    stopped: bool,
) -> list[exp.Expression]:
    """Return the conditions on one choice of the entities between; `back` begins where `walk` ends."""
    found: list[exp.Expression] = []
    if search.simple:
        found += [left.copy().neq(right.copy()) for left in walk[:-1] for right in back[1:]]
    # A walk between different entities that visits none twice takes the edge between them in one step or never.
    if search.target_relation is None or (search.simple and not stopped and len(walk) + max(len(back) - 1, 0) > 2):
        return found
    entities = [*walk, *back[1:]]
    if not one.forward:
        entities.reverse()
    steps = len(entities) - 1
    path: exp.Expression = column("path", "f")
    if back:
        path = exp.Paren(this=_appended(search, path, column("path", "b"), len(back) - 1))
    for i in range(steps):
        digit: exp.Expression = path.copy()
        if steps - 1 - i:
            digit = exp.IntDiv(this=digit, expression=integer(search.relations ** (steps - 1 - i)))
        if i:
            digit = exp.Mod(this=exp.Paren(this=digit), expression=integer(search.relations))
        found.append(exp.Not(this=exp.Paren(this=_own(search, digit, entities[i], entities[i + 1]))))
    return found


def _own(search: PathSearch, relation: exp.Expression, start: exp.Expression, stop: exp.Expression) -> exp.Expression:
    """Return the condition that a step goes along the fact that its target is."""
    assert search.target_relation is not None, "some targets are facts"
    ways: list[exp.Expression] = []
    for number, ends in ((search.target_relation, ("first", "last")), (search.target_relation + 1, ("last", "first"))):
        for order in (ends, ends[::-1]) if search.symmetric else (ends,):
            same: list[exp.Expression] = [
                relation.copy().eq(integer(number)),
                start.copy().eq(column(order[0], "t")),
                stop.copy().eq(column(order[1], "t")),
            ]
            ways.append(reduce(lambda a, b: exp.And(this=a, expression=b), same))
    return _either(ways)


def _either(conditions: Sequence[exp.Expression]) -> exp.Expression:
    parts: list[exp.Expression] = [exp.Paren(this=each) for each in conditions]
    return reduce(lambda a, b: exp.Or(this=a, expression=b), parts)
