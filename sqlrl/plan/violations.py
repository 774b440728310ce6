"""Groundings that the evidence alone violates, with the constants of their variables."""

from __future__ import annotations

from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.nodes import column, integer, named
from sqlrl.logic.shapes import Shape, Slot
from sqlrl.plan.body import Body
from sqlrl.plan.grounding import clause_body, open_literals
from sqlrl.plan.slots import bind
from sqlrl.plan.witnesses import witness_lists


def violated_by_evidence(
    shape: Shape,
    layout: Layout,
    *,
    parameters: TableName | None = None,
    examples: TableName | None = None,
    foreign: frozenset[int] = frozenset(),
) -> exp.Select:
    """Plan the groundings of a shape in which evidence makes every literal false.

    Parameters
    ----------
    shape, layout, parameters, examples, foreign
        As for `plan.grounding.ground`.

    Returns
    -------
    exp.Select
        One row for each: `clause` (if the shape has parameters), `v0, ...` and `k0, ...`: ids of the constants of the
        grounding variables and parameters; `one` if there are none.

    Examples
    --------
    >>> from sqlrl.catalog.layout import PredicateInfo, TypeInfo
    >>> from sqlrl.logic.shapes import ShapeLiteral
    >>> facts, people, examples = (TableName("db", "main", name) for name in ("smokes", "people", "examples"))
    >>> smokes = PredicateInfo("Smokes", ("person",), False, facts)
    >>> layout = Layout(
    ...     {"Smokes": smokes}, {"person": TypeInfo("person", people, 3)}, None, examples, 1, ("db", "main")
    ... )
    >>> shape = Shape(("person",), (), (ShapeLiteral("Smokes", False, (Slot(False, 0),)),))
    >>> violated_by_evidence(shape, layout).sql("duckdb")
    'SELECT "t0"."a0" AS "v0" FROM "db"."main"."smokes" AS "t0"'
    """
    bound = bind(shape, layout, foreign, parameters)
    body = Body(bound)
    aliases, outer = clause_body(bound, body, parameters, examples)
    lists = witness_lists(bound, body, examples)
    for i, alias in enumerate(aliases):
        atom = column("atom", alias)
        if i in outer:
            body.where(exp.Is(this=atom, expression=exp.null()))
        elif bound.info(open_literals(bound)[i]).has_given:
            body.where(exp.EQ(this=atom, expression=integer(0)))
        else:
            body.where(exp.false())
    for alias_of_list, _ in lists:
        if alias_of_list is not None:
            body.where(exp.Is(this=column("atoms", alias_of_list), expression=exp.null()))
    slots = [Slot(False, i) for i in shape.universal()]
    slots += [Slot(True, i) for i in range(len(shape.parameters))]
    columns = [named(column("clause", "p"), "clause")] if parameters is not None else []
    columns += [named(body.known[slot].copy(), str(slot)) for slot in slots]
    return body.select(columns or [named(integer(1), "one")])
