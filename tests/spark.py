"""Plans that run on a Spark Connect server of this process, over copies of the tables that they read."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any
from unittest import mock

import pyarrow as pa
import sqlglot
from sqlglot import exp

from sqlrl.catalog.layout import Layout
from sqlrl.engine.base import QueryEngine, TableName
from sqlrl.engine.spark import SparkEngine
from sqlrl.plan.sources import table

_numbers = itertools.count(1)


SERVER = """
import sys
from pysail.spark import SparkConnectServer
server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
print("{}:{}".format(*server.listening_address), flush=True)
sys.stdin.read()
server.stop()
"""


@contextmanager
def server() -> Iterator[str]:
    """Start a server that needs no Java on a free port of this machine; give its address.

    It is a process of its own, which ends with this one: inside of it, it would take every Ctrl-C for a wish to stop.
    """
    # All that it says is how it starts and stops; errors reach the client.
    quiet = {**os.environ, "RUST_LOG": "error"}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=pipe, stdout=pipe, text=True, env=quiet, start_new_session=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, "the server of Spark Connect has not started"
        # Leaving closes its input, and waits.
        yield f"sc://{address}"


@contextmanager
def connected() -> Iterator[SparkEngine]:
    """Start a server and a session of it."""
    with server() as address:
        # In a worker of xdist, whose main module is no file, the client thinks that its own doctests run, and looks for a whole Spark.
        with mock.patch.object(sys.modules["__main__"], "__file__", __file__, create=True):
            from pyspark.sql import SparkSession

            session = SparkSession.builder.remote(address).getOrCreate()
        yield SparkEngine(session)
        session.stop()


def copy_of(name: TableName, source: QueryEngine, target: SparkEngine) -> TableName:
    """Copy a table of another engine into the session of this one, under a name of its own."""
    data = source.fetch(exp.select("*").from_(table(name)), step="copy a table")
    copied = TableName(*target.scratch, f"copy_{next(_numbers)}_{name.name}")
    target.create_table(copied, data, step="copy a table")
    return copied


def copied_layout(layout: Layout, source: QueryEngine, target: SparkEngine) -> Layout:
    """Copy all tables that a layout names; return the layout of the copies."""
    known: dict[TableName, TableName] = {}

    def copied(name: TableName | None) -> Any:
        if name is not None and name not in known:
            known[name] = copy_of(name, source, target)
        return None if name is None else known[name]

    predicates = {
        name: replace(info, facts=copied(info.facts), atoms=copied(info.atoms))
        for name, info in layout.predicates.items()
    }
    types = {
        name: replace(info, dictionary=copied(info.dictionary), domain=copied(info.domain))
        for name, info in layout.types.items()
    }
    examples = copied(layout.examples)
    return replace(layout, predicates=predicates, types=types, examples=examples, scratch=target.scratch)


def fetch(engine: SparkEngine, query: exp.Expression, source: QueryEngine) -> pa.Table:
    """Run a plan on copies of the tables of another engine that it reads, which go again."""
    copies: dict[TableName, TableName] = {}
    query = query.copy()
    try:
        for node in [node for node in query.find_all(exp.Table) if node.db]:
            name = TableName(node.catalog, node.db, node.name)
            if name not in copies:
                copies[name] = copy_of(name, source, engine)
            node.replace(table(copies[name], node.alias or node.name))
        return engine.fetch(query, step="run a plan on Spark")
    finally:
        for copied in copies.values():
            engine.drop_table(copied, step="drop a copy")


def unknown_functions(sql: str) -> set[str]:
    """The functions of a text in Spark's dialect that neither sqlglot knows nor this test: Spark has had these since 3.3."""
    found = sqlglot.parse_one(sql, dialect="spark").find_all(exp.Anonymous)
    return {node.name.upper() for node in found} - {"TRY_SUM", "RAISE_ERROR"}


def sorted_rows(data: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of a result in an order of their own, whatever integers and lists a dialect has."""

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(map(plain, value))
        return int(value) if isinstance(value, Decimal) else value

    rows = [tuple(map(plain, row.values())) for row in data.to_pylist()]
    return sorted(rows, key=lambda row: [(value is not None, value) for value in row])
