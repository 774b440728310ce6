"""Plans that run on a Spark Connect server of this process, over copies of the tables that they read."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlrl.plan.dialects import for_dialect

_numbers = itertools.count(1)


@contextmanager
def server() -> Iterator[str]:
    """Start a server that needs no Java on a free port of this machine; give its address."""
    os.environ.setdefault("RUST_LOG", "error")
    from pysail.spark import SparkConnectServer

    found = SparkConnectServer("127.0.0.1", 0)
    found.start(background=True)
    try:
        host, port = found.listening_address
        yield f"sc://{host}:{port}"
    finally:
        found.stop()


def fetch(session: Any, query: exp.Expression, table: Callable[[exp.Table], pa.Table]) -> pa.Table:
    """Run a plan on copies of the tables that it reads, which go again."""
    copies: dict[str, str] = {}
    copied = for_dialect(query, "spark").copy()
    try:
        for node in list(copied.find_all(exp.Table)):
            if not node.db:
                continue
            if node.name not in copies:
                copies[node.name] = f"copy_{next(_numbers)}_{node.name}"
                data = table(exp.table_(node.name, node.db, node.catalog, quoted=True))
                session.createDataFrame(data).createOrReplaceTempView(copies[node.name])
            name = exp.to_identifier(copies[node.name], quoted=True)
            alias = node.args.get("alias") or exp.TableAlias(this=node.this.copy())
            node.replace(exp.Table(this=name, alias=alias))
        return session.sql(copied.sql("spark")).toArrow()
    finally:
        for name in copies.values():
            session.catalog.dropTempView(name)


def sorted_rows(data: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of a result in an order of their own, whatever integers and lists a dialect has."""

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(map(plain, value))
        return int(value) if isinstance(value, Decimal) else value

    rows = [tuple(map(plain, row.values())) for row in data.to_pylist()]
    return sorted(rows, key=lambda row: [(value is not None, value) for value in row])
