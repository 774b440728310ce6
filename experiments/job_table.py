"""Jobs that are done, kept as rows of a DuckDB file by what they are: what is learned in hours is not learned again after each change of code.

`journal.py` is for the other experiments: its jobs are done again when any code has changed. Here each row says of which code its result
is, and `JobTable.stale` counts those of other code.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Protocol

import duckdb
from harness import Measured, versions
from journal import code_digest

TABLE = """
CREATE SCHEMA IF NOT EXISTS experiment;
CREATE TABLE IF NOT EXISTS experiment.job (
    key VARCHAR PRIMARY KEY, result JSON, seconds DOUBLE, memory_mb DOUBLE, warnings JSON, code VARCHAR, versions JSON, finished TIMESTAMPTZ
)
"""


READING = 60.0
"""Seconds that another process may have the file open before a result is lost."""


def _opened(path: Path) -> duckdb.DuckDBPyConnection:
    """Open a file to write, when no other process has it open any more."""
    end = time.monotonic() + READING
    while True:
        try:
            return duckdb.connect(str(path))
        except duckdb.IOException:
            if time.monotonic() > end:
                raise
        time.sleep(0.2)


class Result(Protocol):
    """What a job of this table returns: a dataclass of values that JSON can hold."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def lasting(self) -> bool:
        """False for what shall be tried again at the next call, such as a refusal."""
        ...


class JobTable:
    """Results of jobs in `experiment.job` of a DuckDB file.

    A job is known by its kind and the fields of its first argument, a dataclass that says all that its result depends on but code and data;
    further arguments (folders) have no part.

    Parameters
    ----------
    path : Path
    results : mapping of str to type
        The class of the results of each kind of job, by the name of the function that does it.
    """

    def __init__(self, path: Path, results: Mapping[str, type[Any]]) -> None:
        self.path, self._results, self._lock = path, results, threading.Lock()
        self._found: dict[str, Measured[Any]] = {}
        self._code: dict[str, str] = {}
        if not path.exists():
            return
        with duckdb.connect(str(path), read_only=True) as connection:
            if not connection.execute(
                "SELECT 1 FROM duckdb_tables() WHERE schema_name = 'experiment' AND table_name = 'job'"
            ).fetchone():
                return
            rows = connection.execute("SELECT key, result, seconds, memory_mb, warnings, code FROM experiment.job")
            for key, result, seconds, memory, warnings, code in rows.fetchall():
                kind = json.loads(key)["kind"]
                if kind in results:
                    value = results[kind](**json.loads(result))
                    self._found[key] = Measured(value, seconds, memory, tuple(json.loads(warnings)))
                    self._code[key] = code

    def __str__(self) -> str:
        return str(self.path)

    def key(self, function: Callable[..., object], job: tuple[object, ...]) -> str:
        """Return what a job is known by, as JSON."""
        first = job[0]
        assert is_dataclass(first)
        assert not isinstance(first, type)
        return json.dumps({"kind": function.__qualname__, **asdict(first)}, sort_keys=True)

    def get(self, key: str) -> Measured[Any] | None:
        """Return the result of a job, None if it is not done."""
        return self._found.get(key)

    def add(self, key: str, result: Measured[Any]) -> None:
        """Keep a result; jobs may end in several threads."""
        with self._lock:
            self._found[key] = result
            if not result.value.lasting:
                return
            self._code[key] = code_digest()
            row = [
                key, json.dumps(asdict(result.value)), result.seconds, result.memory_mb, json.dumps(result.warnings),
                code_digest(), json.dumps(versions()), datetime.now(UTC),
            ]  # fmt: skip
            # Open no longer than this takes: the file can be read while jobs run.
            with _opened(self.path) as connection:
                connection.execute(TABLE)
                connection.execute("INSERT OR REPLACE INTO experiment.job VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def forget(self, key: str) -> None:
        """Take a job for not done, such as one whose file is gone."""
        self._found.pop(key, None)
        self._code.pop(key, None)

    @property
    def seconds(self) -> float:
        """What all jobs that are done took."""
        return sum(found.seconds for found in self._found.values())

    def __len__(self) -> int:
        return len(self._found)

    def stale(self) -> int:
        """Return how many jobs were done by other code than this."""
        return sum(code != code_digest() for code in self._code.values())
