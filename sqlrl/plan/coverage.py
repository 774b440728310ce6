"""Bindings of components of clause bodies: a whole layer of them in one query, after what its branches share.

A component is made of components that are known (its *parents*) and of one more literal. Parents keep their bindings in one table:
`component`, `key` (a number for the values of the head's arguments that the component touches), `h0, h1, ...` (these values, NULL
for arguments that it does not touch) and `places` (a list: the values of its existential variables). Components whose literals
fit into one *pattern* are joined together, through a table that has a row for each: so a query has a branch for each pattern.

Facts may be counted before they meet the parents, so that a number of bindings is found without enumerating them. What no later
join asks for is summed out, as in the elimination of variables: new variables, and parents that touch no argument of the head
(*loose* ones), one after the other. What is left has at most one row for each fact and way to join it, however many bindings
there are. Components of a layer whose loose parents are joined in the same way share these rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.engine.nodes import (
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
from sqlrl.plan.sources import argument_columns

Heads = tuple[int, ...]
"""Arguments of the head, ascending; one past them stands for the example, where facts have a column for it."""

COUNT = "n"
"""The column with the number of bindings that a row stands for."""

_FACTS, _PARENT, _LAYER, _BINDINGS, _KEYS = "f", "p", "r", "w", "k"


# ---- patterns, and the tables that they are joined in ------------------------------------------------


class ArgumentKind(Enum):
    """What stands at an argument of the literal that is added."""

    HEAD = "head"  # An argument of the head.
    BOUND = "bound"  # An existential variable of a parent.
    NEW = "new"  # One that no parent has.
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True, order=True)
class PatternArgument:
    """An argument of a pattern."""

    # The value of a `ArgumentKind`.
    kind: str
    # Which argument of the head, which parent, or which new variable; 0 for a constant.
    number: int = 0
    # In patterns that begin with facts the place of a parent's variable in its list, from 1; else 0, and the layer's table has it.
    place: int = 0


@dataclass(frozen=True, slots=True, order=True)
class CoveragePattern:
    """What components of a layer have in common."""

    # The predicate of the literal that is added.
    predicate: str
    # One for each column of its facts: the example, if they have a column for it, then the arguments.
    arguments: tuple[PatternArgument, ...]
    # The arguments of the head that each parent touches.
    parents: tuple[Heads, ...]
    # The facts of constants are looked up before they meet the parents, of which the components may have one in common.
    facts_first: bool = False

    @property
    def touched(self) -> Heads:
        """The arguments of the head that the components touch."""
        own = {x.number for x in self.arguments if x.kind == ArgumentKind.HEAD.value}
        return tuple(sorted(own.union(*self.parents)))

    @property
    def new(self) -> int:
        """The number of new variables."""
        return len({x.number for x in self.arguments if x.kind == ArgumentKind.NEW.value})

    @property
    def loose(self) -> tuple[int, ...]:
        """The parents that touch no argument of the head."""
        return tuple(i for i, touched in enumerate(self.parents) if not touched)

    @property
    def remaining(self) -> tuple[int, ...]:
        """The places of the arguments that remain to be joined when facts were counted, with loose parents, if there are some."""
        owners = set(range(len(self.parents))).difference(self.loose)
        kinds = {ArgumentKind.HEAD.value} if self.loose else {ArgumentKind.HEAD.value, ArgumentKind.CONSTANT.value}
        return tuple(
            i
            for i, x in enumerate(self.arguments)
            if x.kind in kinds or (x.kind == ArgumentKind.BOUND.value and x.number in owners)
        )

    @property
    def groupable(self) -> bool:
        """Whether facts can be counted for all values of new variables and of loose parents before they meet the other parents."""
        return bool(self.loose or (self.new and self.remaining)) and not self.facts_first


@dataclass(frozen=True)
class CoverageTables:
    """The tables of a query of bindings."""

    # A row for each component: `pattern` (its number), `component`, `p0, p1, ...` (its parents), and for argument i of its pattern `x{i}`:
    # the place of a variable in the parent's list (from 1) or the id of a constant.
    layer: TableName
    bindings: TableName
    # For the arguments of the head that components touch: their distinct values at target atoms, `key, h0, ...`.
    keys: Mapping[Heads, TableName]
    # The number of columns `h0, h1, ...`.
    heads: int
    # The bindings of the parents (`wanted_bindings`). This and the next are tables, not steps of one query: DuckDB 2.0 can wait for itself for
    # ever where a limit stands above a union whose branches read common table expressions.
    wanted: TableName
    # For each pattern that begins with facts, by its number, the rows of `facts_of_constants`.
    constants: Mapping[int, TableName]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the tables of bindings."""
        return ("component", "key", *(f"h{j}" for j in range(self.heads)), "places")


def layer_columns(patterns: Sequence[CoveragePattern]) -> tuple[str, ...]:
    """Return the columns of the table of a layer."""
    parents = max(len(pattern.parents) for pattern in patterns)
    arguments = max(len(pattern.arguments) for pattern in patterns)
    named_columns = (*(f"p{i}" for i in range(parents)), *(f"x{i}" for i in range(arguments)))
    return ("pattern", "component", *named_columns)


# ---- what the branches of a layer share --------------------------------------------------------------


def wanted_bindings(patterns: Sequence[CoveragePattern], tables: CoverageTables) -> exp.Select | None:
    """Plan the bindings of a layer's parents, with the columns of the table of bindings; None if no component has parents."""
    parents = max(len(pattern.parents) for pattern in patterns)
    if not parents:
        return None
    named_parents = [
        exp.select(named(column(f"p{i}", "q"), "component")).from_(table(tables.layer, "q")) for i in range(parents)
    ]
    # Every branch reads these, and the table has the bindings of all components.
    known = exp.In(this=column("component", "b"), query=exp.Subquery(this=union_all(named_parents)))
    shown = [column(name, "b") for name in tables.columns]
    return exp.select(*shown).from_(table(tables.bindings, "b")).where(known, copy=False)


def facts_of_constants(number: int, pattern: CoveragePattern, layout: Layout, tables: CoverageTables) -> exp.Select:
    """Plan the components of a pattern that begins with facts: `component`, `p0, p1, ...`, then the columns of the facts of their constants."""
    info = layout.predicates[pattern.predicate]
    names = argument_columns(info)
    constants = [i for i, argument in enumerate(pattern.arguments) if argument.kind == ArgumentKind.CONSTANT.value]
    on = conjunction([column(names[i], "f").eq(column(f"x{i}", "r")) for i in constants])
    shown = [column("component", "r"), *(column(f"p{i}", "r") for i in range(len(pattern.parents)))]
    query = exp.select(*shown, *(column(name, "f") for name in names)).from_(table(tables.layer, "r"), copy=False)
    # The database would join the parents first: it cannot know that many components share one.
    join(query, table(info.facts, "f"), on, "INNER")
    return query.where(column("pattern", "r").eq(integer(number)), copy=False)


# ---- facts that are counted before they meet the parents ---------------------------------------------


def ways(pattern: CoveragePattern, loose: Sequence[int]) -> tuple[str, ...]:
    """Return the columns of the layer's table that say how loose parents are joined: which they are, where their variables stand, constants."""
    constants = [i for i, x in enumerate(pattern.arguments) if x.kind == ArgumentKind.CONSTANT.value]
    places = sorted([*_bound(pattern, loose), *constants])
    return (*(f"p{i}" for i in loose), *(f"x{i}" for i in places))


@dataclass(frozen=True)
class _Member:
    """A pattern of a layer, with its number there and its predicate."""

    number: int
    pattern: CoveragePattern
    info: PredicateInfo
    tables: CoverageTables


def _counted_facts(member: _Member) -> exp.Subquery:
    """Count (`n`) the facts of a groupable pattern that agree in the `ways` of its loose parents and in all that is left to be joined."""
    pattern, info, names = member.pattern, member.info, argument_columns(member.info)
    conditions = _repeated(pattern, names)
    found: exp.Select | None = None
    for i in range(len(pattern.loose)):
        # Those whose parent is still to come are kept until then.
        kept = [names[j] for j in sorted([*pattern.remaining, *_bound(pattern, pattern.loose[i + 1 :])])]
        source = table(info.facts, _FACTS) if found is None else subquery(found, _FACTS)
        found = _without_parent(member, i, source, kept)
        if i == 0 and conditions:
            found.where(conjunction(conditions), copy=False)
    if found is None:
        kept = [names[j] for j in pattern.remaining]
        found = exp.select(*(column(name, _FACTS) for name in kept), named(star_count(), COUNT))
        found = found.from_(table(info.facts, _FACTS), copy=False)
        if conditions:
            found.where(conjunction(conditions), copy=False)
        found.group_by(*(column(name, _FACTS) for name in kept), copy=False)
    return subquery(found, _FACTS)


def _without_parent(member: _Member, i: int, source: exp.Table | exp.Subquery, kept: Sequence[str]) -> exp.Select:
    """Sum the i-th loose parent out of facts, or of what the parents before it have left of them, which is counted."""
    pattern, names = member.pattern, argument_columns(member.info)
    before, known = ways(pattern, pattern.loose[:i]) if i else (), ways(pattern, pattern.loose[: i + 1])
    bound = _bound(pattern, [pattern.loose[i]])
    same = [name for name in known if name in (f"p{pattern.loose[i]}", *(f"x{j}" for j in bound))]
    # What the grouped parent does not say, constants and earlier parents, is joined to it.
    owner = _PARENT if same == list(known) else _LAYER
    conditions = [column(names[j], _FACTS).eq(column(f"v{j}", _PARENT)) for j in bound]
    if i:
        conditions += [column(name, _FACTS).eq(column(name, owner)) for name in before]
    else:
        constants = [j for j, x in enumerate(pattern.arguments) if x.kind == ArgumentKind.CONSTANT.value]
        conditions += [column(names[j], _FACTS).eq(column(f"x{j}", owner)) for j in constants]
    total: exp.Expression = column(COUNT, _PARENT)
    if i:
        total = exp.Mul(this=total, expression=column(COUNT, _FACTS))
    shown = [*(column(name, owner) for name in known), *(column(name, _FACTS) for name in kept)]
    query = exp.select(*shown, named(exp.Sum(this=total), COUNT))
    query = query.from_(_grouped_parent(member, pattern.loose[i], bound, same), copy=False)
    if owner == _LAYER:
        own = conjunction([column(name, _PARENT).eq(column(name, _LAYER)) for name in same])
        join(query, _distinct_ways(member, known), own, "INNER")
    join(query, source, conjunction(conditions), "INNER")
    return query.group_by(*(x.copy() for x in shown), copy=False)


def _distinct_ways(member: _Member, names: Sequence[str]) -> exp.Subquery:
    """Select the ways in which the components of a pattern join some parents, each once."""
    query = exp.select(*(column(name, "q") for name in names)).from_(table(member.tables.layer, "q"), copy=False)
    mine = column("pattern", "q").eq(integer(member.number))
    return subquery(query.distinct().where(mine, copy=False), _LAYER)


def _grouped_parent(member: _Member, parent: int, bound: Sequence[int], same: Sequence[str]) -> exp.Subquery:
    """Count the bindings of loose parents that agree in what the literal takes of them (`v`), for each way to take it."""
    values = [element(column("places", _BINDINGS), column(f"x{i}", _LAYER)) for i in bound]
    shown = [named(column(name, _LAYER), name) for name in same]
    shown += [named(value, f"v{i}") for i, value in zip(bound, values, strict=True)]
    query = exp.select(*shown, named(star_count(), COUNT)).from_(_distinct_ways(member, same), copy=False)
    mine = column("component", _BINDINGS).eq(column(f"p{parent}", _LAYER))
    join(query, table(member.tables.wanted, _BINDINGS), mine, "INNER")
    # By place: names alone would be columns of the tables.
    places = [exp.Literal.number(i + 1) for i in range(len(shown))]
    return subquery(query.group_by(*places, copy=False), _PARENT)


def _bound(pattern: CoveragePattern, parents: Sequence[int]) -> list[int]:
    """Return the places of the arguments that are variables of some parents."""
    return [i for i, x in enumerate(pattern.arguments) if x.kind == ArgumentKind.BOUND.value and x.number in parents]


def _repeated(pattern: CoveragePattern, names: Sequence[str]) -> list[exp.Expression]:
    """Return the conditions that a new variable is the same wherever it stands."""
    first: dict[int, str] = {}
    found: list[exp.Expression] = []
    for name, argument in zip(names, pattern.arguments, strict=True):
        if argument.kind == ArgumentKind.NEW.value and first.setdefault(argument.number, name) != name:
            found.append(column(name, _FACTS).eq(column(first[argument.number], _FACTS)))
    return found


# ---- layers ------------------------------------------------------------------------------------------


def layer_bindings(
    patterns: Sequence[CoveragePattern], layout: Layout, tables: CoverageTables, most: int
) -> exp.Select:
    """Plan at most `most` bindings of a layer: a row for each assignment of a component's variables, as the table of bindings has them."""
    branches = [_branch(member) for member in _members(patterns, layout, tables)]
    found = exp.select(*(column(name, "b") for name in tables.columns)).from_(
        subquery(union_all(branches), "b"), copy=False
    )
    return found.limit(integer(most), copy=False)


def layer_counts(
    patterns: Sequence[CoveragePattern], layout: Layout, tables: CoverageTables, grouped: Collection[int] = ()
) -> exp.Select:
    """Plan how many bindings the components of a layer have: `component`, `key`, `n` (64 bits, an overflow is an error), in order."""
    # The facts of `grouped` patterns, all groupable, are counted before they meet the parents.
    members = _members(patterns, layout, tables)
    branches = [_branch(member, counted=True, grouped=member.number in grouped) for member in members]
    query = exp.select(*(column(name, "b") for name in ("component", "key", "n")))
    query = query.from_(subquery(union_all(branches), "b"), copy=False)
    order = [exp.Ordered(this=column(name, "b"), nulls_first=False) for name in ("component", "key")]
    return query.order_by(*order, copy=False)


def _members(patterns: Sequence[CoveragePattern], layout: Layout, tables: CoverageTables) -> list[_Member]:
    return [_Member(i, x, layout.predicates[x.predicate], tables) for i, x in enumerate(patterns)]


def _branch(member: _Member, *, counted: bool = False, grouped: bool = False) -> exp.Select:
    """Select the bindings of the components of one pattern, or their number."""
    number, pattern, info, tables = member.number, member.pattern, member.info, member.tables
    first = pattern.facts_first
    heads, parts = _parents(pattern)
    places = [column("places", f"p{i}") for i in range(len(parts))]
    new: dict[int, exp.Column] = {}
    conditions: list[exp.Expression] = []
    for i, (name, argument) in enumerate(zip(argument_columns(info), pattern.arguments, strict=True)):
        here = column(name, _LAYER if first else _FACTS)
        if grouped and i not in pattern.remaining:
            continue
        match ArgumentKind(argument.kind):
            case ArgumentKind.HEAD:
                conditions += _equal(here, heads.setdefault(argument.number, here))
            case ArgumentKind.NEW:
                conditions += _equal(here, new.setdefault(argument.number, here))
            case ArgumentKind.BOUND:
                place = integer(argument.place) if first else column(f"x{i}", _LAYER)
                value = element(places[argument.number].copy(), place)
                # A condition on the facts alone and one parent: they can be joined by it.
                (parts[argument.number] if first else conditions).append(_is(here, value))
            case ArgumentKind.CONSTANT:
                conditions += [] if first else _equal(here, column(f"x{i}", _LAYER))
    query = exp.select().from_(table(tables.constants[number] if first else tables.layer, _LAYER), copy=False)
    for i, part in enumerate(parts):
        if not (grouped and i in pattern.loose):
            join(query, table(tables.wanted, f"p{i}"), conjunction(part), "INNER")
    if grouped and pattern.loose:
        conditions += [_is(column(name, _FACTS), column(name, _LAYER)) for name in ways(pattern, pattern.loose)]
    on = conjunction(conditions)
    if not first:
        facts = _counted_facts(member) if grouped else table(info.facts, _FACTS)
        join(query, facts, on, "CROSS" if on is None else "INNER")
    elif on is not None:
        query.where(on, copy=False)
    key = _key(query, pattern, heads, tables)
    if not first:
        query.where(_is(column("pattern", _LAYER), integer(number)), copy=False)
    columns: list[exp.Expression] = [named(column("component", _LAYER), "component"), named(key, "key")]
    if counted:
        total = exp.Sum(this=column(COUNT, _FACTS)) if grouped else None
        query.select(*columns, named(star_count() if total is None else cast(total, "BIGINT"), "n"), copy=False)
        # By place: `key` alone would be a column of the bindings.
        return query.group_by(exp.Literal.number(1), exp.Literal.number(2), copy=False)
    nothing = exp.cast(exp.null(), exp.DataType.build("INT"))
    values = [heads[j] if j in pattern.touched else nothing for j in range(tables.heads)]
    columns += [named(value.copy(), f"h{j}") for j, value in enumerate(values)]
    columns.append(named(_places(places, [new[i] for i in sorted(new)]), "places"))
    return query.select(*columns, copy=False)


def _parents(pattern: CoveragePattern) -> tuple[dict[int, exp.Column], list[list[exp.Expression]]]:
    """Return the column of each argument of the head that a parent touches, and how the parents are joined."""
    heads: dict[int, exp.Column] = {}
    parts: list[list[exp.Expression]] = []
    for i, touched in enumerate(pattern.parents):
        conditions: list[exp.Expression] = [_is(column("component", f"p{i}"), column(f"p{i}", _LAYER))]
        for j in touched:
            here = column(f"h{j}", f"p{i}")
            conditions += _equal(here, heads.setdefault(j, here))
        parts.append(conditions)
    return heads, parts


def _key(
    query: exp.Select, pattern: CoveragePattern, heads: Mapping[int, exp.Column], tables: CoverageTables
) -> exp.Expression:
    """Return the key of a binding: a parent's that touches as much, else that of a target atom, which is joined."""
    touched = pattern.touched
    if not touched:
        return integer(0)
    for i, known in enumerate(pattern.parents):
        if known == touched:
            return column("key", f"p{i}")
    on = conjunction([_is(column(f"h{j}", _KEYS), heads[j].copy()) for j in touched])
    join(query, table(tables.keys[touched], _KEYS), on, "INNER")
    return column("key", _KEYS)


def _places(parents: Sequence[exp.Column], new: Sequence[exp.Column]) -> exp.Expression:
    """Return the list of the values of all existential variables: those of the parents, then the new ones."""
    if new or not parents:
        own: exp.Expression = exp.Array(expressions=[value.copy() for value in new])
        if not new:
            own = cast(own, "INT[]")
        parts = [*(x.copy() for x in parents), own]
    else:
        parts = [x.copy() for x in parents]
    return parts[0] if len(parts) == 1 else exp.ArrayConcat(this=parts[0], expressions=parts[1:])


def _equal(left: exp.Expression, right: exp.Expression) -> list[exp.Expression]:
    """Return the condition that two columns are equal; none if they are the same."""
    return [] if left is right else [_is(left, right.copy())]


def _is(left: exp.Expression, right: exp.Expression) -> exp.EQ:
    return exp.EQ(this=left, expression=right)


def count_bindings(bindings: TableName, first: int) -> exp.Select:
    """Plan the number of kept bindings of each component from the number `first` on, at each key, with the columns of `layer_counts`."""
    names = ["component", "key"]
    query = exp.select(*(column(name, "c") for name in names), named(star_count(), "n"))
    query = query.from_(subquery(bindings_from(bindings, first), "c"), copy=False)
    query = query.group_by(*(column(name, "c") for name in names), copy=False)
    order = [exp.Ordered(this=column(name, "c"), nulls_first=False) for name in names]
    return query.order_by(*order, copy=False)


def bindings_from(bindings: TableName, first: int) -> exp.Select:
    """Select the bindings of the components from a number on."""
    known = exp.GTE(this=column("component", "b"), expression=integer(first))
    return exp.select(exp.Star()).from_(table(bindings, "b")).where(known, copy=False)
