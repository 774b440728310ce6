"""What the branches of a layer of components share, as tables that are made before its query."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlrl.catalog.layout import Layout
from sqlrl.engine.nodes import column, conjunction, integer, join, named, union_all
from sqlrl.plan.patterns import CoverageTables, Kind, Pattern
from sqlrl.plan.sources import argument_columns
from sqlrl.plan.sql import table


def wanted_bindings(patterns: Sequence[Pattern], tables: CoverageTables) -> exp.Select | None:
    """Plan the bindings of the parents: every branch reads them, and the table has those of all components.

    Returns
    -------
    exp.Select or None
        Columns as the table of bindings has them; None if no component of the layer has parents.

    Examples
    --------
    >>> from sqlrl.plan.patterns import Argument
    >>> from sqlrl.plan.sample import table_name
    >>> tables = CoverageTables(table_name("layer"), table_name("bindings"), {}, 1, table_name("wanted"), {})
    >>> pattern = Pattern("Friends", (Argument("bound", 0), Argument("new", 0)), ((0,),))
    >>> print(wanted_bindings([pattern], tables).sql("duckdb").replace('"', ""))
    SELECT b.component, b.key, b.h0, b.places FROM db.main.bindings AS b
    WHERE b.component IN (SELECT q.p0 AS component FROM db.main.layer AS q)
    """
    parents = max(len(pattern.parents) for pattern in patterns)
    if not parents:
        return None
    named_parents = [
        exp.select(named(column(f"p{i}", "q"), "component")).from_(table(tables.layer, "q")) for i in range(parents)
    ]
    known = exp.In(this=column("component", "b"), query=exp.Subquery(this=union_all(named_parents)))
    shown = [column(name, "b") for name in tables.columns]
    return exp.select(*shown).from_(table(tables.bindings, "b")).where(known, copy=False)


def facts_of_constants(number: int, pattern: Pattern, layout: Layout, tables: CoverageTables) -> exp.Select:
    """Plan the components of a pattern that begins with facts, with the facts that have their constants.

    The database would join the parents first: it cannot know that many components share one.

    Returns
    -------
    exp.Select
        Columns `component`, `p0, p1, ...`, then those of the facts.

    Examples
    --------
    >>> from sqlrl.plan.patterns import Argument
    >>> from sqlrl.plan.sample import people, table_name
    >>> tables = CoverageTables(table_name("layer"), table_name("bindings"), {}, 1, table_name("wanted"), {})
    >>> pattern = Pattern("Friends", (Argument("bound", 0, 1), Argument("constant")), ((0,),), True)
    >>> print(facts_of_constants(0, pattern, people(), tables).sql("duckdb").replace('"', ""))
    SELECT r.component, r.p0, f.a0, f.a1 FROM db.main.layer AS r INNER JOIN db.main.friends AS f ON f.a1 = r.x1
    WHERE r.pattern = 0
    """
    info = layout.predicates[pattern.predicate]
    names = argument_columns(info)
    constants = [i for i, argument in enumerate(pattern.arguments) if argument.kind == Kind.CONSTANT.value]
    on = conjunction([column(names[i], "f").eq(column(f"x{i}", "r")) for i in constants])
    shown = [column("component", "r"), *(column(f"p{i}", "r") for i in range(len(pattern.parents)))]
    query = exp.select(*shown, *(column(name, "f") for name in names)).from_(table(tables.layer, "r"), copy=False)
    join(query, table(info.facts, "f"), on, "INNER")
    return query.where(column("pattern", "r").eq(integer(number)), copy=False)
