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
    """Show rows to SQL as a scratch table while the context is open."""
    catalog, schema = layout.scratch
    name = TableName(catalog, schema, f"shown_{next(_numbers)}")
    engine.create_table(catalog, schema, name.name, data, step="show rows to SQL")
    try:
        yield name
    finally:
        engine.drop_table(catalog, schema, name.name, step="drop scratch tables")
