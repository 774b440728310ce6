"""Facts that are counted before they meet the parents of a component, so that a number of bindings is found without enumerating them.

What no later join asks for is summed out, as in the elimination of variables: new variables, and parents that touch no argument of the
head (*loose* ones), one after the other. What is left has at most one row for each fact and way to join it, however many bindings there
are. Components of a layer whose loose parents are joined in the same way share these rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlrl.catalog.layout import PredicateInfo
from sqlrl.engine.nodes import column, conjunction, element, integer, join, named, star_count, subquery
from sqlrl.plan.patterns import CoverageTables, Kind, Pattern
from sqlrl.plan.sources import argument_columns
from sqlrl.plan.sql import table

COUNT = "n"
"""The column with the number of bindings that a row stands for."""

_FACTS, _PARENT, _LAYER, _BINDINGS = "f", "p", "r", "w"


def ways(pattern: Pattern, loose: Sequence[int]) -> tuple[str, ...]:
    """Return the columns of the layer's table that say how loose parents are joined: which they are, where their variables stand, constants.

    Examples
    --------
    >>> from sqlrl.plan.patterns import Argument
    >>> ways(Pattern("Three", (Argument("bound", 0), Argument("bound", 1), Argument("constant")), ((), (0,))), [0])
    ('p0', 'x0', 'x2')
    """
    constants = [i for i, x in enumerate(pattern.arguments) if x.kind == Kind.CONSTANT.value]
    places = sorted([*_bound(pattern, loose), *constants])
    return (*(f"p{i}" for i in loose), *(f"x{i}" for i in places))


def counted_facts(
    number: int, pattern: Pattern, info: PredicateInfo, tables: CoverageTables, alias: str
) -> exp.Subquery:
    """Count the facts of a pattern that agree in all that is left to be joined (`Pattern.remaining`).

    Parameters
    ----------
    number : int
        Of the pattern, which is `groupable`.
    pattern : Pattern
    info : PredicateInfo
        Of its predicate.
    tables : CoverageTables
    alias : str

    Returns
    -------
    exp.Subquery
        Columns `ways(pattern, pattern.loose)`, if the pattern has loose parents, those of the arguments that are left, and `n`.

    Examples
    --------
    How many friends somebody has, in `Friends(C, D)` with C of a parent that is not loose:

    >>> from sqlrl.plan.patterns import Argument
    >>> from sqlrl.plan.sample import people, table_name
    >>> tables = CoverageTables(table_name("layer"), table_name("bindings"), {}, 1, table_name("wanted"), {})
    >>> pattern = Pattern("Friends", (Argument("bound", 0), Argument("new", 0)), ((0,),))
    >>> print(counted_facts(0, pattern, people().predicates["Friends"], tables, "f").sql("duckdb").replace('"', ""))
    (SELECT f.a0, COUNT(*) AS n FROM db.main.friends AS f GROUP BY f.a0) AS f
    """
    names = argument_columns(info)
    conditions = _repeated(pattern, names)
    found: exp.Select | None = None
    for i in range(len(pattern.loose)):
        # Those whose parent is still to come are kept until then.
        kept = [names[j] for j in sorted([*pattern.remaining, *_bound(pattern, pattern.loose[i + 1 :])])]
        source = table(info.facts, _FACTS) if found is None else subquery(found, _FACTS)
        found = _without_parent(number, pattern, i, names, source, kept, tables)
        if i == 0 and conditions:
            found.where(conjunction(conditions), copy=False)
    if found is None:
        kept = [names[j] for j in pattern.remaining]
        found = exp.select(*(column(name, _FACTS) for name in kept), named(star_count(), COUNT))
        found = found.from_(table(info.facts, _FACTS), copy=False)
        if conditions:
            found.where(conjunction(conditions), copy=False)
        found.group_by(*(column(name, _FACTS) for name in kept), copy=False)
    return subquery(found, alias)


def _without_parent(
    number: int,
    pattern: Pattern,
    i: int,
    names: Sequence[str],
    source: exp.Table | exp.Subquery,
    kept: Sequence[str],
    tables: CoverageTables,
) -> exp.Select:
    """Sum the i-th loose parent out of facts, or of what the parents before it have left of them, which is counted."""
    before, known = ways(pattern, pattern.loose[:i]) if i else (), ways(pattern, pattern.loose[: i + 1])
    bound = _bound(pattern, [pattern.loose[i]])
    same = [name for name in known if name in (f"p{pattern.loose[i]}", *(f"x{j}" for j in bound))]
    # What the grouped parent does not say, constants and earlier parents, is joined to it.
    owner = _PARENT if same == list(known) else _LAYER
    conditions = [column(names[j], _FACTS).eq(column(f"v{j}", _PARENT)) for j in bound]
    if i:
        conditions += [column(name, _FACTS).eq(column(name, owner)) for name in before]
    else:
        constants = [j for j, x in enumerate(pattern.arguments) if x.kind == Kind.CONSTANT.value]
        conditions += [column(names[j], _FACTS).eq(column(f"x{j}", owner)) for j in constants]
    total: exp.Expression = column(COUNT, _PARENT)
    if i:
        total = exp.Mul(this=total, expression=column(COUNT, _FACTS))
    shown = [*(column(name, owner) for name in known), *(column(name, _FACTS) for name in kept)]
    query = exp.select(*shown, named(exp.Sum(this=total), COUNT))
    query = query.from_(_grouped_parent(number, pattern.loose[i], bound, same, tables), copy=False)
    if owner == _LAYER:
        own = conjunction([column(name, _PARENT).eq(column(name, _LAYER)) for name in same])
        join(query, _distinct_ways(number, known, tables), own, "INNER")
    join(query, source, conjunction(conditions), "INNER")
    return query.group_by(*(x.copy() for x in shown), copy=False)


def _distinct_ways(number: int, names: Sequence[str], tables: CoverageTables) -> exp.Subquery:
    """Select the ways in which the components of a pattern join some parents, each once."""
    query = exp.select(*(column(name, "q") for name in names)).from_(table(tables.layer, "q"), copy=False).distinct()
    return subquery(query.where(column("pattern", "q").eq(integer(number)), copy=False), _LAYER)


def _grouped_parent(
    number: int, parent: int, bound: Sequence[int], same: Sequence[str], tables: CoverageTables
) -> exp.Subquery:
    """Count the bindings of loose parents that agree in what the literal takes of them (`v`), for each way to take it."""
    values = [element(column("places", _BINDINGS), column(f"x{i}", _LAYER)) for i in bound]
    shown = [named(column(name, _LAYER), name) for name in same]
    shown += [named(value, f"v{i}") for i, value in zip(bound, values, strict=True)]
    query = exp.select(*shown, named(star_count(), COUNT)).from_(_distinct_ways(number, same, tables), copy=False)
    mine = column("component", _BINDINGS).eq(column(f"p{parent}", _LAYER))
    join(query, table(tables.wanted, _BINDINGS), mine, "INNER")
    # By place: names alone would be columns of the tables.
    places = [exp.Literal.number(i + 1) for i in range(len(shown))]
    return subquery(query.group_by(*places, copy=False), _PARENT)


def _bound(pattern: Pattern, parents: Sequence[int]) -> list[int]:
    """Return the places of the arguments that are variables of some parents."""
    return [i for i, x in enumerate(pattern.arguments) if x.kind == Kind.BOUND.value and x.number in parents]


def _repeated(pattern: Pattern, names: Sequence[str]) -> list[exp.Expression]:
    """Return the conditions that a new variable is the same wherever it stands."""
    first: dict[int, str] = {}
    found: list[exp.Expression] = []
    for name, argument in zip(names, pattern.arguments, strict=True):
        if argument.kind == Kind.NEW.value and first.setdefault(argument.number, name) != name:
            found.append(column(name, _FACTS).eq(column(first[argument.number], _FACTS)))
    return found
