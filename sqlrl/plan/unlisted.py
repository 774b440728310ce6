"""Atoms of open predicates that groundings of a shape reach, and that are neither observed nor query atoms.

Source: PSL grounds a rule over what is observed above 0 or a target of the atoms of its body, passes over what an observed atom satisfies, and
stops where an atom of the head with an open predicate is neither observed nor a target. Arithmetic rules have none: they are ground where each of
their atoms with an open predicate is there.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from sqlrl.catalog.layout import PredicateInfo, TableName
from sqlrl.engine.nodes import column, integer, named, subquery, table, union_all
from sqlrl.logic.shapes import ShapeLiteral
from sqlrl.plan.body import QueryBody
from sqlrl.plan.hinges import compare, decimal, groundings, observed_rows, without_true
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import SlotSource, argument_columns, selected


def unlisted_literals(bound: BoundShape) -> tuple[int, ...]:
    """Return the places of the literals that groundings of a shape may have about atoms which no list of query atoms has."""
    listed = [i for i, x in enumerate(bound.shape.literals) if bound.info(x).open and not bound.info(x).full_scope]
    if not any(bound.shape.literals[i].positive for i in listed):
        return ()
    outer = groundings(bound).outer
    return tuple(i for i in listed if i in outer)


def growing_literals(bound: BoundShape) -> tuple[int, ...]:
    """Return the places of the literals whose query atoms make groundings: more of them make more."""
    found = groundings(bound)
    return tuple(
        i for i, x in enumerate(bound.shape.literals) if bound.info(x).open and (not x.positive or i in found.inner)
    )


def unlisted_atoms(
    bound: BoundShape,
    place: int,
    examples: TableName | None = None,
    *,
    among: Mapping[int, TableName] | None = None,
    before: int | None = None,
    clauses: bool = False,
) -> exp.Select:
    """Plan the atoms of a literal that are neither observed nor query atoms, as `argument_columns` has them, not each once; with `clauses` also `clause`."""
    # Literals in `among` are about the atoms of a table alone; clauses of the parameter table have numbers `before` one.
    literal = bound.shape.literals[place]
    found = groundings(bound, examples, among)
    body = found.body
    body.without(_source(bound, body, literal, _known(bound.info(literal))))
    for i in found.inner:
        # What is observed to be 1 leaves nothing to violate, whatever the other atoms are.
        value = found.told[i].value
        if not isinstance(value, float):
            body.where(exp.LT(this=value.copy(), expression=decimal(1.0)))
    for i, each in found.outer.items():
        other = bound.shape.literals[i]
        if i != place and (each.atom is None or bound.info(other).has_given):
            body.without(_source(bound, body, other, _true(bound.info(other))))
    without_true(bound, body)
    compare(bound, body)
    if bound.parameters is not None and before is not None:
        body.where(exp.LT(this=column("clause", "p"), expression=integer(before)))
    columns: list[exp.Expression] = [named(body.known[slot].copy(), name) for name, slot in bound.columns(literal)]
    if clauses:
        columns.append(named(column("clause", "p"), "clause"))
    return body.select(columns or [named(integer(1), "one")])


def _source(bound: BoundShape, body: QueryBody, literal: ShapeLiteral, rows: exp.Query) -> SlotSource:
    alias = body.alias("u")
    return SlotSource(subquery(rows, alias), alias, bound.columns(literal))


def _known(info: PredicateInfo) -> exp.Query:
    """Select the query atoms of an open predicate and what is observed of it, 0 or not."""
    assert info.atoms is not None
    names = argument_columns(info)
    atoms = exp.select(*selected(names)).from_(table(info.atoms))
    if not info.has_given:
        return atoms
    given = exp.select(*selected(names)).from_(table(info.facts)).where(column("given"))
    return union_all([atoms, given])


def _true(info: PredicateInfo) -> exp.Select:
    """Select what is observed of a predicate to be 1."""
    rows = subquery(observed_rows(info), "r")
    query = exp.select(*selected(argument_columns(info), "r")).from_(rows)
    return query.where(exp.GTE(this=column("value", "r"), expression=decimal(1.0)))
