"""A small layout by hand, for examples and tests: people, their friends (closed) and who of them smokes (open)."""

from __future__ import annotations

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName, TypeInfo
from sqlrl.logic.shapes import Shape, ShapeLiteral, Slot


def table_name(name: str) -> TableName:
    """Return a table of the sample."""
    return TableName("db", "main", name)


def people() -> Layout:
    """Return the layout: `Friends(person, person)` is closed, `Smokes(person)` open."""
    friends = PredicateInfo("Friends", ("person", "person"), False, table_name("friends"), rows=2)
    smokes = PredicateInfo("Smokes", ("person",), True, table_name("smokes"), table_name("atoms"), atom_count=3)
    types = {"person": TypeInfo("person", table_name("people"), 3)}
    predicates = {"Friends": friends, "Smokes": smokes}
    return Layout(predicates, types, None, table_name("example"), 1, ("db", "main"))


def friends_smoke() -> Shape:
    """Return the shape `!Friends(v0, v1) v Smokes(v1)`."""
    x, y = Slot(False, 0), Slot(False, 1)
    literals = (ShapeLiteral("Friends", False, (x, y)), ShapeLiteral("Smokes", True, (y,)))
    return Shape(("person", "person"), (), literals)
