"""Facts around seed atoms: what the modes of a language bias reach, one query for each depth.

Source: Muggleton, "Inverse entailment and Progol" (1995), section 4: a fact is reached when the constants at its mode's `+` places
are known, and makes known those at its `-` places. A `#` place is a constant of the clause, and makes nothing known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.nodes import column, conjunction, integer, join, named, star_count, subquery, table, union_all
from sqlrl.logic.bias import INPUT, BiasMode
from sqlrl.plan.sources import argument_columns


@dataclass(frozen=True)
class SaturationTables:
    """What a query of saturation joins with facts."""

    # Columns `seed`, `example`: one row for each seed.
    seeds: TableName
    # Columns `seed`, `type` (see `types`), `id`, `depth`: the constants that are known, each once for a seed and type, with the depth at which
    # it became known (0 for those of the seed).
    known: TableName
    # A number for each type of the bias.
    types: Mapping[str, int]


def reached(
    modes: Sequence[BiasMode], depth: int, layout: Layout, tables: SaturationTables, *, most: int | None = None
) -> exp.Select | None:
    """Plan the facts that modes reach first at a depth: `seed`, `mode` (its index), `a0, ...` (-1 beyond its arity); None if no mode can."""
    width = max((mode.arity for mode in modes), default=0)
    branches = [
        _branch(i, mode, depth, layout, tables, width)
        for i, mode in enumerate(modes)
        # From depth 1 on some input became known at `depth - 1`; a mode without inputs reaches its facts at depth 1.
        if depth == 1 or mode.positions(INPUT)
    ]
    if not branches:
        return None
    names = ["seed", "mode", *(f"a{i}" for i in range(width))]
    found = exp.select(*(column(name, "s") for name in names)).from_(subquery(union_all(branches), "s"), copy=False)
    return found if most is None else found.limit(integer(most), copy=False)


def count_reached(query: exp.Select) -> exp.Select:
    """Plan how many facts each mode reaches: `mode`, `n`, most first."""
    number = column("n", "c")
    grouped = exp.select(named(column("mode", "g"), "mode"), named(star_count(), "n")).from_(subquery(query, "g"))
    order = [exp.Ordered(this=number, desc=True), exp.Ordered(this=column("mode", "c"), nulls_first=False)]
    return (
        exp.select(column("mode", "c"), number.copy())
        .from_(subquery(grouped.group_by(column("mode", "g")), "c"))
        .order_by(*order)
    )


def _branch(
    number: int, mode: BiasMode, depth: int, layout: Layout, tables: SaturationTables, width: int
) -> exp.Select:
    """Select the facts that one mode reaches."""
    info = layout.predicates[mode.predicate]
    inputs = mode.positions(INPUT)
    query = exp.select()
    facts, seed = table(info.facts, "f"), column("seed", "k0" if inputs else "e")
    where: list[exp.Expression] = []
    fresh: list[exp.Expression] = []
    first = True
    if info.example_column or not inputs:
        query = query.from_(table(tables.seeds, "e"), copy=False)
        same = _is(column("example", "f"), column("example", "e")) if info.example_column else None
        join(query, facts, same, "CROSS" if same is None else "INNER")
        first = False
    for i, place in enumerate(inputs):
        alias = f"k{i}"
        same_id = _is(column(f"a{place}", "f"), column("id", alias))
        known = table(tables.known, alias)
        if first:
            query = query.from_(known, copy=False)
            join(query, facts, same_id, "INNER")
            first = False
        else:
            owner = "e" if i == 0 else "k0"
            on = [_is(column("id", alias), column(f"a{place}", "f")), _is(column("seed", alias), column("seed", owner))]
            join(query, known, conjunction(on), "INNER")
        where.append(_is(column("type", alias), integer(tables.types[mode.places[place].type])))
        fresh.append(_is(column("depth", alias), integer(depth - 1)))
    if fresh:
        where.append(reduce(lambda one, other: exp.Or(this=one, expression=other), fresh))
    condition = conjunction(where)
    if condition is not None:
        query.where(condition, copy=False)
    values = [named(seed, "seed"), named(integer(number), "mode")]
    values += [named(column(f"a{i}", "f") if i < mode.arity else integer(-1), f"a{i}") for i in range(width)]
    query.select(*values, copy=False)
    return query if mode.recall is None else _first(query, mode, seed, argument_columns(info), width)


def _first(query: exp.Select, mode: BiasMode, seed: exp.Column, columns: Sequence[str], width: int) -> exp.Select:
    """Keep the first facts for the same inputs of a seed, in ascending order of their arguments."""
    assert mode.recall is not None
    same = [seed.copy(), *(column(f"a{i}", "f") for i in mode.positions(INPUT))]
    order = [exp.Ordered(this=column(name, "f"), nulls_first=False) for name in columns]
    rank = exp.Window(this=exp.RowNumber(), partition_by=same, order=exp.Order(expressions=order) if order else None)
    ranked = query.select(named(rank, "rank"), copy=False)
    names = ["seed", "mode", *(f"a{i}" for i in range(width))]
    kept = exp.select(*(column(name, "n") for name in names)).from_(subquery(ranked, "n"), copy=False)
    return kept.where(exp.LTE(this=column("rank", "n"), expression=integer(mode.recall)), copy=False)


def _is(left: exp.Expression, right: exp.Expression) -> exp.EQ:
    return exp.EQ(this=left, expression=right)
