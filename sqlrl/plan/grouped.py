"""Facts that are counted before they meet the parents of a component, so that a number of bindings is found without enumerating them.

What no later join asks for is summed out, as in the elimination of variables: new variables, and parents that touch no argument of the
head (*loose* ones), one after the other. What is left has at most one row for each fact and component, however many bindings there are.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlrl.catalog.layout import PredicateInfo
from sqlrl.engine.nodes import column, conjunction, integer, join, named, star_count, subquery
from sqlrl.plan.patterns import CoverageTables, Kind, Pattern
from sqlrl.plan.sources import argument_columns
from sqlrl.plan.sql import table

COUNT = "n"
"""The column with the number of bindings that a row stands for."""

_FACTS, _PARENT, _LAYER, _BINDINGS = "f", "p", "r", "w"


def counted_facts(
    number: int, pattern: Pattern, info: PredicateInfo, tables: CoverageTables, alias: str
) -> exp.Subquery:
    """Count the facts of a pattern that agree in all that is left to be joined (`Pattern.left`).

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
        Columns `component`, if the pattern has loose parents, those of the arguments that are left, and `n`.

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
    for i, parent in enumerate(pattern.loose):
        # Those whose parent is still to come are kept until then.
        kept = [names[j] for j in sorted([*pattern.left, *_bound(pattern, pattern.loose[i + 1 :])])]
        source = table(info.facts, _FACTS) if found is None else subquery(found, _FACTS)
        found = _without_parent(number, pattern, parent, names, source, kept, tables, first=found is None)
        if i == 0 and conditions:
            found.where(conjunction(conditions), copy=False)
    if found is None:
        kept = [names[j] for j in pattern.left]
        found = exp.select(*(column(name, _FACTS) for name in kept), named(star_count(), COUNT))
        found = found.from_(table(info.facts, _FACTS), copy=False)
        if conditions:
            found.where(conjunction(conditions), copy=False)
        found.group_by(*(column(name, _FACTS) for name in kept), copy=False)
    return subquery(found, alias)


def _without_parent(
    number: int,
    pattern: Pattern,
    parent: int,
    names: Sequence[str],
    source: exp.Table | exp.Subquery,
    kept: Sequence[str],
    tables: CoverageTables,
    *,
    first: bool,
) -> exp.Select:
    """Sum a loose parent out of facts (`first`: as they are), or of what is left of them, which is by component and counted."""
    bound = _bound(pattern, [parent])
    constants = [i for i, x in enumerate(pattern.arguments) if x.kind == Kind.CONSTANT.value] if first else []
    conditions = [column(names[i], _FACTS).eq(column(f"x{i}", _PARENT)) for i in [*bound, *constants]]
    ways: exp.Expression = column(COUNT, _PARENT)
    if not first:
        conditions.append(column("component", _FACTS).eq(column("component", _PARENT)))
        ways = exp.Mul(this=ways, expression=column(COUNT, _FACTS))
    shown = [column("component", _PARENT), *(column(name, _FACTS) for name in kept)]
    query = exp.select(*shown, named(exp.Sum(this=ways), COUNT))
    query = query.from_(_grouped_parent(number, parent, bound, constants, tables), copy=False)
    join(query, source, conjunction(conditions), "INNER")
    return query.group_by(*(x.copy() for x in shown), copy=False)


def _grouped_parent(
    number: int, parent: int, bound: Sequence[int], constants: Sequence[int], tables: CoverageTables
) -> exp.Subquery:
    """Count the bindings of a loose parent that agree in what the literal takes of it, for each component, beside its constants."""
    values = [
        exp.Bracket(this=column("places", _BINDINGS), expressions=[column(f"x{i}", _LAYER)], offset=1, safe=False)
        for i in bound
    ]
    found = [named(value, f"x{i}") for i, value in zip(bound, values, strict=True)]
    found += [named(column(f"x{i}", _LAYER), f"x{i}") for i in constants]
    query = exp.select(named(column("component", _LAYER), "component"), *found, named(star_count(), COUNT))
    query = query.from_(table(tables.layer, _LAYER), copy=False)
    same = column("component", _BINDINGS).eq(column(f"p{parent}", _LAYER))
    join(query, table(tables.wanted, _BINDINGS), same, "INNER")
    query.where(column("pattern", _LAYER).eq(integer(number)), copy=False)
    # By place: names alone would be columns of the tables.
    places = [exp.Literal.number(i + 1) for i in range(1 + len(found))]
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
