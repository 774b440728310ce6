"""Scratch tables that live as long as a context."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.base import Engine

_numbers = count(1)


@contextmanager
def shown_rows(engine: Engine, layout: Layout, data: pa.Table | exp.Expr) -> Iterator[TableName]:
    """Show rows to SQL as a scratch table while the context is open.

    Parameters
    ----------
    engine : Engine
    layout : Layout
        Says where scratch tables are.
    data : pyarrow.Table or sqlglot expression
        The rows, or the query that gives them.

    Yields
    ------
    TableName

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> from sqlrl.plan.sql import table
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> with shown_rows(program.engine, program.layout, pa.table({"x": [1, 2]})) as name:
    ...     program.engine.fetch(exp.select("*").from_(table(name)), step="look").to_pylist()
    [{'x': 1}, {'x': 2}]
    """
    catalog, schema = layout.scratch
    name = TableName(catalog, schema, f"shown_{next(_numbers)}")
    engine.create_table(catalog, schema, name.name, data, step="show rows to SQL")
    try:
        yield name
    finally:
        engine.drop_table(catalog, schema, name.name, step="drop scratch tables")
