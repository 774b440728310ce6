"""Names of tables with blanks, dots, quotes and other letters, and in other schemas, as sources."""

from __future__ import annotations

import pytest
from sqlglot import exp

from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.sources import open_source
from sqlrl.engine.connection import connect
from sqlrl.errors import LoadError

PLACES = [
    ("main", "a.b"),
    ("my schema", "my table"),
    ("my schema", "a.b"),
    ("main", 'q"u"o'),
    ("é.漢", "é 漢.x"),
    ("main", "select"),
    ("my schema", "; drop table x --"),
]


@pytest.mark.parametrize("kind", [pytest.param("TABLE", marks=pytest.mark.slow), "VIEW"])
def test_quoted_names_load(kind: str) -> None:
    engine = connect(":memory:", threads=1)
    for number, (other, table) in enumerate(PLACES):
        place = exp.Table(db=exp.to_identifier(other, quoted=True))
        engine.execute(exp.Create(this=place, kind="SCHEMA", exists=True), step="make a schema")
        target = exp.table_(table, db=other, quoted=True)
        row = exp.select(exp.convert(f"row {number}").as_("a"))
        engine.execute(exp.Create(this=target, kind=kind, expression=row), step="make a table")
    catalog = Catalog(engine)
    for schema, name in PLACES:
        reads(catalog, schema, name, f"row {PLACES.index((schema, name))}")


def reads(catalog: Catalog, schema: str, name: str, wanted: str) -> None:
    """Load a table or view by its name in full, and read what its other names open."""
    quoted = [exp.to_identifier(part, quoted=True).sql("duckdb") for part in ("memory", schema, name)]
    texts = [
        ".".join(quoted),
        ".".join(quoted[1:]),
        f"{schema}.{quoted[2]}",
        ".".join(quoted).upper(),
        f"{schema}.{name}",
    ]
    if schema == "main":
        texts += [quoted[2], name] if name != "select" else [quoted[2]]
    if "." in schema or " " in schema:
        texts.remove(f"{schema}.{quoted[2]}")  # half quoted, it is no name in SQL
    catalog.load("P", texts[-1], types=["t"])
    view = exp.select("*").from_(catalog.store.table("named_P"))
    assert catalog.store.rows(view, "read") == [{"t": wanted}], texts[-1]
    for text in texts:
        with open_source(catalog.engine, text) as source:
            table = catalog.engine.fetch(exp.select("*").from_(source.table), step="read")
            assert table.to_pylist() == [{"a": wanted}], text


def test_names_of_nothing_are_refused() -> None:
    engine = connect(":memory:", threads=1)
    engine.execute_sql('create schema "my schema"; create table "my schema"."my table" as select 1 as a', step="make")
    catalog = Catalog(engine)
    for text in ('"my table"', '"no"."my table"', '"a.b', "\"a\".'b'", '"a"."b"."c"."d"', '""'):
        with pytest.raises(LoadError, match="is neither a file, nor a table or view, nor a query"):
            catalog.load("P", text, types=["t"])
