"""A Spark Connect server for tests, and plans that run on it over the tables of another engine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from typing import Any

import pyarrow as pa
import sqlglot
from sqlglot import exp

from sqlrl.engine.base import QueryEngine
from sqlrl.engine.main_module import named_main
from sqlrl.engine.spark.engine import SparkEngine
from sqlrl.engine.spark.server import Server, Spark

SERVER = """
import sys
from pysail.spark import SparkConnectServer
server = SparkConnectServer("127.0.0.1", int(sys.argv[1]))
server.start(background=True)
print("{}:{}".format(*server.listening_address), flush=True)
sys.stdin.read()
server.stop()
"""


@contextmanager
def server(port: int = 0, idle: int = 900, **environment: str) -> Iterator[str]:
    """Start a server that needs no Java on a port of this machine, by default a free one; give its address.

    It forgets sessions that are idle for some seconds; variables are added to its environment.

    It is a process of its own, which ends with this one: inside of it, it would take every Ctrl-C for a wish to stop.
    """
    # All that it says is how it starts and stops; errors reach the client.
    quiet = {**os.environ, **environment, "RUST_LOG": "error", "SAIL_SPARK__SESSION_TIMEOUT_SECS": str(idle)}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(port)], stdin=pipe, stdout=pipe, text=True, env=quiet, start_new_session=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, "the server of Spark Connect has not started"
        # Leaving closes its input, and waits.
        yield f"sc://{address}"


@contextmanager
def connected(address: str) -> Iterator[Spark]:
    """Open a session of a server that many engines use."""
    # A worker of xdist has a main module without a file.
    with named_main():
        from pyspark.sql.connect.session import SparkSession
    session = SparkSession.builder.remote(address).create()
    yield Spark(session)
    session.stop()


@contextmanager
def beside(spark: Spark, source: QueryEngine) -> Iterator[SparkEngine]:
    """Make an engine that reads the tables of another one, which go again."""
    with closing(SparkEngine(Server(spark), source)) as engine:
        yield engine


def fetch(spark: Spark, query: exp.Expression, source: QueryEngine) -> pa.Table:
    """Run a plan over the tables of another engine."""
    with beside(spark, source) as engine:
        return engine.fetch(query, step="run a plan on Spark")


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
