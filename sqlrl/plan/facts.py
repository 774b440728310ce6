"""What is true in some examples: queries that read a predicate's atoms of the observed world, and domains."""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName, TypeInfo
from sqlrl.engine.nodes import column, integer, named, subquery
from sqlrl.plan.sources import argument_columns, given_rows, selected
from sqlrl.plan.sql import table
from sqlrl.plan.worlds import OBSERVED, true_rows

NO_EXAMPLE = -1
"""The example of the atoms of a global predicate."""


def example_columns(info: PredicateInfo, layout: Layout) -> tuple[str, ...]:
    """Return the columns that hold the examples of a predicate's facts; none for a global predicate.

    Examples
    --------
    >>> from sqlrl.plan.sample import people
    >>> example_columns(people().predicates["Friends"], people())
    ()
    """
    if info.example_column:
        return ("example",)
    return tuple(f"a{i}" for i, kind in enumerate(info.types) if kind == layout.example_type)


def true_atoms(info: PredicateInfo, layout: Layout, examples: TableName) -> exp.Select:
    """Plan what is true of a predicate in the observed world: one row for each atom and example that it is about, in order.

    Parameters
    ----------
    info : PredicateInfo
    layout : Layout
    examples : TableName
        Table with a column `example`, each once.

    Returns
    -------
    exp.Select
        Columns `example` (-1 if the predicate is global), `a0, a1, ...`.

    Examples
    --------
    >>> from sqlrl.plan.sample import people, table_name
    >>> query = true_atoms(people().predicates["Smokes"], people(), table_name("chosen"))
    >>> print(query.sql("duckdb").replace('"', ""))
    SELECT u.example, u.a0 FROM (SELECT (-1) AS example, r.a0 FROM
    (SELECT a.a0 FROM db.main.atoms AS a WHERE a.truth) AS r) AS u ORDER BY u.example, u.a0
    """
    return _in_examples(info, layout, true_rows(info, OBSERVED), examples, [])


def given_atoms(info: PredicateInfo, layout: Layout, examples: TableName) -> exp.Select:
    """Plan what is given true of an open predicate in some examples; columns as of `true_atoms`.

    Examples
    --------
    >>> from sqlrl.plan.sample import people, table_name
    >>> query = given_atoms(people().predicates["Smokes"], people(), table_name("chosen"))
    >>> query.named_selects
    ['example', 'a0']
    """
    return _in_examples(info, layout, given_rows(info, truth=True), examples, [])


def closed_atoms(info: PredicateInfo) -> exp.Select:
    """Plan all facts of a closed predicate: its example, if it has a column for it, and arguments; one row for each.

    Examples
    --------
    >>> from sqlrl.plan.sample import people
    >>> closed_atoms(people().predicates["Friends"]).sql("duckdb")
    'SELECT "a0", "a1" FROM "db"."main"."friends"'
    """
    return exp.select(*selected(argument_columns(info))).from_(table(info.facts))


def query_atoms(info: PredicateInfo, layout: Layout, examples: TableName) -> exp.Select:
    """Plan the query atoms of an open predicate in some examples: `example`, `a0, a1, ...` and `atom`, its id.

    Examples
    --------
    >>> from sqlrl.plan.sample import people, table_name
    >>> query_atoms(people().predicates["Smokes"], people(), table_name("chosen")).named_selects
    ['example', 'a0', 'atom']
    """
    assert info.atoms is not None
    names = [*argument_columns(info), "atom"]
    rows = exp.select(*(column(name) for name in names)).from_(table(info.atoms))
    return _in_examples(info, layout, rows, examples, ["atom"])


def atom_arguments(info: PredicateInfo, examples: TableName | None = None) -> exp.Select:
    """Plan the query atoms of a predicate by id: `atom`, `example`, `a0, a1, ...`.

    Examples
    --------
    >>> from sqlrl.plan.sample import people
    >>> atom_arguments(people().predicates["Smokes"]).sql("duckdb").replace('"', "")
    'SELECT a.atom, a.example, a.a0 FROM db.main.atoms AS a ORDER BY a.atom'
    """
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
    """Plan the domains of a local type in some examples: `example`, `id`, in order.

    Examples
    --------
    >>> from sqlrl.catalog.layout import TypeInfo
    >>> from sqlrl.plan.sample import table_name
    >>> kind = TypeInfo("position", table_name("positions"), 3, local=True, domain=table_name("inside"))
    >>> print(domain_rows(kind, table_name("chosen")).sql("duckdb").replace('"', ""))
    SELECT d.example, d.id FROM db.main.inside AS d JOIN db.main.chosen AS x ON x.example = d.example
    ORDER BY d.example, d.id
    """
    assert info.domain is not None
    names = [column(name, "d") for name in ("example", "id")]
    query = exp.select(*names).from_(table(info.domain, "d"))
    query = query.join(table(examples, "x"), on=exp.EQ(this=column("example", "x"), expression=column("example", "d")))
    return query.order_by(*(exp.Ordered(this=name.copy(), nulls_first=False) for name in names))
