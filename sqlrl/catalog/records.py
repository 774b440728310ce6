"""What is kept of models and runs: rows of the tables that `schemas/layout.sql` describes."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.store import Store, column

_PACKAGES = ("sqlrl", "duckdb", "sqlglot", "numpy", "scipy", "ortools", "pyarrow", "numba")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


class Records:
    """Writes models, runs and what they produce.

    Parameters
    ----------
    store : Store
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def save_model(self, name: str, text: str, clauses: pa.Table, shapes: pa.Table, *, origin: str) -> int:
        """Keep a model with its clauses and shapes; return its number.

        Parameters
        ----------
        name, text : str
        clauses : pyarrow.Table
            Columns `clause`, `text`, `weight`, `hard`, `rule`.
        shapes : pyarrow.Table
            Columns `shape`, `text`, `literals`.
        origin : str
            What put the clauses into the model.
        """
        with self._store.engine.transaction():
            model = self._next("model", "model")
            self._store.put("model", [{"model": model, "name": name, "text": text}], "keep a model")
            size = len(clauses)
            none = pa.nulls(size, pa.int64())
            data = clauses.append_column("model", pa.array([model] * size, pa.int32()))
            data = data.append_column("origin", pa.array([origin] * size, pa.string())).append_column("step", none)
            columns = ["model", "clause", "text", "weight", "hard", "origin", "step", "rule"]
            self._store.insert("clause", data, columns, "keep clauses")
            data = shapes.append_column("model", pa.array([model] * len(shapes), pa.int32()))
            self._store.insert("shape", data, ["model", "shape", "text", "literals"], "keep shapes")
        return model

    def begin_run(self, learner: str, parameters: Mapping[str, Any], seed: int | None) -> int:
        """Record the start of a run; return its number."""
        run = self._next("run", "run")
        row = {
            "run": run,
            "learner": learner,
            "parameters": json.dumps(dict(parameters), sort_keys=True, default=str),
            "seed": seed,
            "versions": json.dumps(versions(), sort_keys=True),
            "fingerprint": self._store.state("data") or "",
            "status": "running",
        }
        self._store.put("run", [row], "record a run")
        return run

    def end_run(
        self,
        run: int,
        status: str,
        *,
        model: int | None = None,
        timings: Mapping[str, float] | None = None,
        learner: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> None:
        """Record the end of a run (done, interrupted or failed) and what is known only now."""
        known: dict[str, Any] = {"status": status, "model": model, "learner": learner, "seed": seed}
        known["timings"] = None if timings is None else json.dumps(dict(timings), sort_keys=True)
        known["parameters"] = None if parameters is None else json.dumps(dict(parameters), sort_keys=True, default=str)
        statement = exp.Update(
            this=self._store.table("run"),
            expressions=[column(name).eq(exp.convert(value)) for name, value in known.items() if value is not None],
            where=exp.Where(this=column("run").eq(exp.convert(run))),
        )
        self._store.engine.execute(statement, step="record the end of a run")

    def append(self, table: str, run: int, data: pa.Table) -> None:
        """Append rows of a run to `step`, `weight_history`, `clause_statistics` or `prediction`."""
        data = data.append_column("run", pa.array([run] * len(data), pa.int32()))
        self._store.insert(table, data, list(data.column_names), f"append to {table}")

    def _next(self, table: str, key: str) -> int:
        newest = exp.select(exp.Max(this=column(key))).from_(self._store.table(table))
        return self._store.number(newest, f"number a {table}") + 1
