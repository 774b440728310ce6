"""Names of tables with blanks, dots, quotes and other letters, and in other schemas, as sources."""

from __future__ import annotations

import pytest
from sqlglot import exp

from sqlrl.catalog.catalog import Catalog
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


@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
@pytest.mark.parametrize(("schema", "name"), PLACES)
def test_quoted_names_load(schema: str, name: str, kind: str) -> None:
    engine = connect(":memory:", threads=1)
    for number, (other, table) in enumerate(PLACES):
        place = exp.Table(db=exp.to_identifier(other, quoted=True))
        engine.execute(exp.Create(this=place, kind="SCHEMA", exists=True), step="make a schema")
        target = exp.table_(table, db=other, quoted=True)
        row = exp.select(exp.convert(f"row {number}").as_("a"))
        engine.execute(exp.Create(this=target, kind=kind, expression=row), step="make a table")
    wanted = f"row {PLACES.index((schema, name))}"
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
    catalog = Catalog(engine)
    for text in texts:
        catalog.load("P", text, types=["t"])
        view = exp.select("*").from_(catalog.store.table("named_P"))
        assert catalog.store.rows(view, "read") == [{"t": wanted}], text


@pytest.mark.parametrize("text", ['"my table"', '"no"."my table"', '"a.b', "\"a\".'b'", '"a"."b"."c"."d"', '""'])
def test_names_of_nothing_are_refused(text: str) -> None:
    engine = connect(":memory:", threads=1)
    engine.execute_sql('create schema "my schema"; create table "my schema"."my table" as select 1 as a', step="make")
    with pytest.raises(LoadError, match="is neither a file, nor a table or view, nor a query"):
        Catalog(engine).load("P", text, types=["t"])
